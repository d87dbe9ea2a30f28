"""cranfield demo: a whole experiment, in a folder of its own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from cranfield.errors import InputError
from cranfield.evaluation import evaluate
from cranfield.experiment.demo import FILES, lay_out, toml
from cranfield.experiment.workspace import Fusion, Search, parse_workspace
from cranfield.io import read_documents, read_qrels, read_topics
from tests.cli.conftest import Cranfield

has_plots = find_spec("vl_convert") is not None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The demo as a newcomer runs it: the folder and what it printed."""
    here = tmp_path_factory.mktemp("here")
    command = [sys.executable, "-m", "cranfield", "demo"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True)
    return here / "cranfield-demo", done


@pytest.mark.slow
def test_it_ends_with_three_sentences_and_the_address_of_the_report(
    made: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, done = made
    assert done.returncode == 0
    leader, hidden, costs, *where = done.stdout.splitlines()
    first = r"8 systems on 30 topics of bicycles: \S+ leads with nDCG@10 0\.\d{4} \[0\.\d{3}, 0\.\d{3}\], .*\(p .*\)\."
    assert re.fullmatch(first, leader), leader
    assert hidden.startswith("The mean hides that on ") and "judged" in hidden
    assert re.search(r" takes [\d.,]+ ms \[[\d.,]+, [\d.,]+\] a query, ", costs), costs
    if has_plots:
        assert where[-1] == f"Open {(folder / 'report.html').as_uri()} in a browser."
        assert 'id="efficiency"' in (folder / "report.html").read_text()
    judge, change = done.stderr.splitlines()[-2:]
    # what can be pasted in the folder where it was called
    start = subprocess.run(
        ["sh", "-c", f"{judge.partition(': ')[2]} --port x"], cwd=folder.parent, capture_output=True, text=True
    )
    assert start.returncode == 2 and "--port" in start.stderr
    again = subprocess.run(
        ["sh", "-c", f"{change.partition(': ')[2]} --dry-run"], cwd=folder.parent, capture_output=True, text=True
    )
    assert again.returncode == 0 and "index: unchanged" in again.stdout
    assert done.stdout.splitlines()[:3] == (folder / "summary.txt").read_text().splitlines()
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_it_leaves_a_whole_experiment_behind(made: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder = made[0]
    workspace = parse_workspace((folder / "cranfield.toml").read_text())
    assert len(workspace.systems) >= 6
    assert len({system.system.partition(":")[0] for system in workspace.systems if isinstance(system, Search)}) >= 6
    assert any(isinstance(system, Fusion) for system in workspace.systems)
    about = json.loads((folder / "pool.provenance.jsonl").read_text().splitlines()[0])["provenance"]
    assert about["strategy"] == "depth" and about["parameters"]["depth"] == 20
    assert {each.name for each in (folder / "runs").iterdir()} == {f"{system.name}.run" for system in workspace.systems}
    measured = {each["system"] for each in json.loads((folder / "efficiency.json").read_text())["latency"]}
    assert measured == {system.name for system in workspace.systems if not isinstance(system, Fusion)}
    assert {"comparison.json", "scores.tsv", "latencies.tsv", "index"} <= set(os.listdir(folder))
    table = evaluate(
        folder / "qrels.txt", {s.name: folder / f"runs/{s.name}.run" for s in workspace.systems}, ["nDCG@10"]
    )
    values = np.array([table.values("nDCG@10", s.name) for s in workspace.systems])
    alone = (values == values.max(axis=0)) & ((values == values.max(axis=0)).sum(axis=0) == 1)
    assert alone.any(axis=1).all()  # every system wins some topic
    counts = (
        sum(1 for _ in read_documents(folder / "documents.jsonl")),
        len(read_topics(folder / "topics.xml")),
        len(read_qrels(folder / "qrels.txt")),
    )
    assert counts == (223, 30, 1653)


@pytest.mark.slow
def test_a_second_time_it_says_the_same_and_makes_nothing(
    made: tuple[Path, subprocess.CompletedProcess[str]], cranfield: Cranfield, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, done = made
    monkeypatch.chdir(folder.parent)
    again = cranfield("demo")
    assert (again.code, again.out) == (0, done.stdout) and ": made" not in again.err
    assert cranfield("experiment", folder).code == 0
    assert cranfield("demo", "--quiet").err == ""


def test_path_is_the_folder_of_the_built_in_collection(cranfield: Cranfield, example: Path) -> None:
    assert cranfield("demo", "--path").out.strip() == str(example)


# Where it goes


def test_a_folder_that_holds_something_else_is_left_alone(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader")
    refused = cranfield("demo", "-o", tmp_path)
    assert refused.code == 2 and "this folder is not empty, and holds no demo. Name another with -o." in refused.err
    (tmp_path / "letter.txt").unlink()
    (tmp_path / "cranfield.toml").write_text("title = 'mine'\n")
    refused = cranfield("demo", "-o", tmp_path)
    assert refused.code == 2 and f"`cranfield experiment {tmp_path}` runs it" in refused.err
    assert (tmp_path / "cranfield.toml").read_text() == "title = 'mine'\n"
    (tmp_path / "file").touch()
    assert "cannot be written" in cranfield("demo", "-o", tmp_path / "file").err


def test_what_an_older_demo_wrote_is_replaced_and_what_a_user_changed_is_not(tmp_path: Path) -> None:
    lay_out(str(tmp_path / "demo"))
    (tmp_path / "demo/qrels.txt").write_text("1 0 b001 1\n")
    file = tmp_path / "demo/cranfield.toml"
    older = json.loads((tmp_path / "demo/.cranfield/demo.json").read_text())
    file.write_text("# of an older version\n")
    older["cranfield.toml"] = hashlib.sha256(file.read_bytes()).hexdigest()
    (tmp_path / "demo/.cranfield/demo.json").write_text(json.dumps(older))
    lay_out(str(tmp_path / "demo"))
    assert "[systems]" in file.read_text() and (tmp_path / "demo/qrels.txt").read_text() == "1 0 b001 1\n"
    file.write_text(file.read_text() + "# mine\n")
    with pytest.raises(InputError, match="this is not as the demo has it"):
        lay_out(str(tmp_path / "demo"))


def test_interrupted_while_files_are_written_it_goes_on(tmp_path: Path) -> None:
    lay_out(str(tmp_path / "demo"))
    for name in (*FILES[1:], "cranfield.toml"):
        (tmp_path / "demo" / name).unlink()
        lay_out(str(tmp_path / "demo"))
        assert (tmp_path / "demo" / name).exists()


def test_where_nothing_can_be_written_it_goes_where_temporary_files_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a file stands where the folder would go, which root cannot change either
    (tmp_path / "cranfield-demo").touch()
    monkeypatch.chdir(tmp_path)
    demo = lay_out()
    try:
        assert (demo.workspace.folder / "documents.jsonl").exists() and demo.workspace.folder.is_absolute()
        assert demo.notes[0] == f"nothing can be written here, so that the demo is in {demo.workspace.folder}."
        assert os.listdir(tmp_path) == ["cranfield-demo"]
    finally:
        shutil.rmtree(demo.workspace.folder.parent)


# What is missing


@pytest.mark.slow
def test_without_extras_the_rest_goes_on(cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    for name in ("vl_convert", "snowballstemmer"):
        (hidden / f"{name}.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", str(hidden))
    command = [sys.executable, "-m", "cranfield", "demo", "-o", str(tmp_path / "demo")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    assert "Note: words are not cut to their stems: that needs an extra, pip install 'cranfield[lab]'" in done.stderr
    assert "report.html not made: a report needs an extra: pip install 'cranfield[plots]'" in done.stderr


@pytest.mark.parametrize("stems", [True, False])
@pytest.mark.parametrize("sqlite", [True, False])
def test_every_form_of_the_file_is_an_experiment(stems: bool, sqlite: bool) -> None:
    workspace = parse_workspace(toml(stems, sqlite))
    assert ("sqlite" in [system.name for system in workspace.systems]) == sqlite
    assert (workspace.collections[0].index.stemmer == "english") == stems
    assert workspace.efficiency is not None
