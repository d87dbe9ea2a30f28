"""cranfield experiment."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

TOML = """
[collection]
documents = "documents.jsonl"
topics = "topics.xml"
qrels = "qrels.txt"

[systems]
bm25 = "bm25"
lm = "lm"

[evaluation]
resamples = 100
"""


@pytest.fixture
def folder(example: Path, tmp_path: Path) -> Path:
    for name in ("documents.jsonl", "topics.xml", "qrels.txt"):
        (tmp_path / name).write_bytes((example / name).read_bytes())
    (tmp_path / "cranfield.toml").write_text(TOML)
    return tmp_path


@pytest.mark.slow
def test_it_says_what_it_found_and_where_the_report_is(cranfield: Cranfield, folder: Path) -> None:
    planned = cranfield("experiment", folder, "--dry-run")
    assert planned.code == 0 and "index: to be made (new)\n" in planned.out
    assert "runs/lm.run: to be made (made of index)\n" in planned.out and not (folder / "index").exists()
    made = cranfield("experiment", folder, "--jobs", 2)
    lines = made.out.splitlines()
    assert made.code == 0 and lines[0].startswith("2 systems on ") and lines[2].endswith(".")
    if find_spec("vl_convert"):
        assert lines[3:] == [f"Report: {folder / 'report.html'}"] and (folder / "report.html").exists()
        assert "runs/lm.run: made\n" in made.err and "8 outputs made." in made.err
    again = cranfield("experiment", folder)
    assert (again.code, again.out) == (0, made.out) and "outputs unchanged." in again.err
    assert "runs/lm.run: unchanged\n" in cranfield("experiment", folder, "--dry-run").out
    assert cranfield("experiment", folder, "--quiet").err == ""


def test_what_fails_is_said_once_and_ends_with_2(cranfield: Cranfield, folder: Path) -> None:
    (folder / "topics.xml").unlink()
    failed = cranfield("experiment", folder)
    assert failed.code == 2 and failed.out == ""
    says = f"cranfield: runs/bm25.run, runs/lm.run not made: {folder}/topics.xml: there is no such file.\n"
    assert says in failed.err and failed.err.count("no such file") == 1
    assert failed.err.endswith("cranfield: the other outputs are kept; fix this and rerun.\n")
    assert (folder / "index").exists()


def test_a_wrong_file_ends_with_2(cranfield: Cranfield, folder: Path) -> None:
    (folder / "cranfield.toml").write_text(TOML.replace("[systems]", "[system]"))
    failed = cranfield("experiment", folder)
    assert failed.code == 2 and "cranfield.toml: system is unknown. Did you mean systems?" in failed.err
    failed = cranfield("experiment", folder / "none")
    assert failed.code == 2 and "there is no such folder" in failed.err


@pytest.mark.slow
def test_a_report_that_nobody_asked_for_is_no_failure_without_its_extra(
    cranfield: Cranfield, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = folder / "hidden"
    hidden.mkdir()
    (hidden / "vl_convert.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", str(hidden))
    done = cranfield("experiment", folder)
    assert done.code == 0 and "report.html not made: " in done.err and "cranfield[plots]" in done.err
    (folder / "cranfield.toml").write_text(TOML + '[report]\nfile = "report.html"\n')
    assert cranfield("experiment", folder).code == 2
