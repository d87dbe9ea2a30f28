"""Experiments: what is made, what is left as it is, what fails, and what a kill does to it: nothing."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation import evaluate
from cranfield.experiment import Event, perform, plan
from cranfield.experiment.efficiency import _asked_by_topic
from cranfield.experiment.plan import measuring
from cranfield.experiment.worker_pool import WorkerPool
from cranfield.experiment.workspace import open_workspace
from cranfield.io import read_run
from cranfield.lab.systems_under_test import function_subject
from cranfield.pooling.ranked_lists import rank_documents
from tests.soak import SOAK
from tests.waiting import wait_until

KILLS = 100 if SOAK else 3

TOML = """
[collection]
title = "lamps"
documents = "docs.jsonl"
topics = "topics.jsonl"
qrels = "qrels.txt"

[systems]
bm25 = "bm25"
lm = { system = "lm:mu=300", fields = "title,description" }
rrf = { fuse = ["bm25", "lm"] }

[evaluation]
measures = ["AP", "nDCG@10"]
baseline = "bm25"

[pool]
depth = 2

[report]
file = ""
"""
DOCS = {
    "a": "a red lamp for a bicycle",
    "b": "a bell that rings",
    "c": "red paint, red lamps, red bells",
    "d": "lamps are lit at dusk",
    "e": "nothing of the kind",
}
TOPICS = {"1": "red lamps", "2": "bells that ring", "3": "dusk"}
QRELS = "1 0 a 2\n1 0 c 1\n1 0 b 0\n2 0 b 1\n3 0 d 1\n3 0 e 0\n"
SYSTEMS = '[systems]\nbm25 = "bm25"\n'


def write(folder: Path, toml: str = TOML) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "cranfield.toml").write_text(toml)
    (folder / "docs.jsonl").write_text("".join(json.dumps({"_id": d, "text": t}) + "\n" for d, t in DOCS.items()))
    topics = ({"_id": q, "text": t, "description": f"{t}?"} for q, t in TOPICS.items())
    (folder / "topics.jsonl").write_text("".join(json.dumps(topic) + "\n" for topic in topics))
    (folder / "qrels.txt").write_text(QRELS)
    return folder


def done(folder: Path, **options: bool) -> dict[str, Event]:
    """What became of each output."""
    events = perform(open_workspace(folder), **options)
    return {event.output: event for event in events if event.state != "begun"}


def states(folder: Path, **options: bool) -> dict[str, str]:
    return {output: event.state for output, event in done(folder, **options).items()}


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file with its content, and every folder."""
    found = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in found}


@pytest.fixture(scope="module")
def lamps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small experiment that was made; not to be changed."""
    folder = write(tmp_path_factory.mktemp("lamps"))
    assert set(states(folder).values()) == {"made"}
    return folder


@pytest.fixture
def copy(lamps: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lamps, tmp_path / "copy"))


# What is made


def test_everything_asked_for_is_made(lamps: Path) -> None:
    made = {name for name in tree(lamps) if not name.startswith((".cranfield", "index/"))}
    assert made == {
        *("cranfield.toml", "docs.jsonl", "topics.jsonl", "qrels.txt", "index", "runs", "runs/bm25.run", "runs/lm.run"),
        *(
            "runs/rrf.run",
            "pool.jsonl",
            "scores.tsv",
            "summary.txt",
            "pool.provenance.jsonl",
            "comparison.json",
            "comparison.txt",
        ),
    }
    scores = evaluate(str(lamps / "qrels.txt"), [str(lamps / "runs/bm25.run")], ["AP"])
    rows = [line.split("\t") for line in (lamps / "scores.tsv").read_text().splitlines()]
    assert ["bm25", "AP", "all", repr(scores.mean("AP"))] in rows and len(rows) == 3 * 2 * 4
    assert json.loads((lamps / "comparison.json").read_text())["systems"] == ["bm25", "lm", "rrf"]
    first, second, third = (lamps / "summary.txt").read_text().splitlines()
    assert first.startswith("3 systems on 3 topics of lamps: ") and "AP" in first
    assert "bm25" in second and "unjudged" in third


@pytest.mark.slow
def test_the_summary_is_three_sentences_the_second_about_the_leader(tmp_path: Path) -> None:
    folder = example(tmp_path / "example", '[report]\nfile = ""\n')
    done(folder)
    first, second, _ = (folder / "summary.txt").read_text().splitlines()
    leader = re.search(
        r": (\S+) leads with nDCG@10 0\.\d{4} \[0\.\d{3}, 0\.\d{3}\]; \S+ follows with 0\.\d{4}\.$", first
    )
    assert leader is not None and leader[1] in second.split(" ")
    assert not re.search(r"\. [A-Z]", second)


def test_a_run_opens_with_a_header_of_six_parts(lamps: Path) -> None:
    yaml = pytest.importorskip("yaml")
    lines = (lamps / "runs/lm.run").read_text().splitlines()
    end = lines.index("# ir_metadata.end")
    assert lines[0] == "# ir_metadata.start" and not lines[end + 1].startswith("#")
    # as repro_eval reads it
    content = yaml.safe_load("\n".join(line.strip("#") for line in lines[1:end]))
    assert set(content) == {"tag", "actor", "platform", "research goal", "implementation", "method", "data"}
    assert content["tag"] == "lm" and content["method"]["retrieval"] == [
        {"name": "lm", "method": "lm:mu=300", "mu": 300}
    ]
    assert (
        content["data"]["test collection"]["name"] == "lamps" and len(content["data"]["sha256"]["topics.jsonl"]) == 64
    )


def test_a_header_changes_nothing_in_an_evaluation(lamps: Path, tmp_path: Path) -> None:
    text = (lamps / "runs/bm25.run").read_text()
    (tmp_path / "bare.run").write_text("".join(line for line in text.splitlines(True) if line[0] != "#"))
    with_header, without = lamps / "runs/bm25.run", tmp_path / "bare.run"
    assert read_run(with_header).to_dict() == read_run(without).to_dict() and read_run(with_header).tag == "bm25"
    scores = evaluate(str(lamps / "qrels.txt"), [str(with_header), str(without)], ["AP"])
    assert scores.per_query("AP", "bm25.run") == scores.per_query("AP", "bare.run")


def test_the_pool_has_the_first_documents_of_each_run_and_no_others(lamps: Path) -> None:
    header, *lines = map(json.loads, (lamps / "pool.jsonl").read_text().splitlines())
    runs = [read_run(lamps / f"runs/{name}.run") for name in ("bm25", "lm", "rrf")]
    expected = {(q, d) for run in runs for i, q in enumerate(run.queries) for d in rank_documents(run, i, 2)}
    assert [set(line) for line in lines] == [{"query", "doc"}] * len(lines)
    assert {(line["query"], line["doc"]) for line in lines} == expected and len(lines) == len(expected)
    assert header == {"pool": {"version": 1, "topics": 3, "documents": len(lines)}}
    about = json.loads((lamps / "pool.provenance.jsonl").read_text().splitlines()[0])["provenance"]
    assert (about["strategy"], [run["name"] for run in about["runs"]]) == ("depth", ["bm25", "lm", "rrf"])


@pytest.mark.slow
def test_the_report_bears_no_date(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    folder = write(tmp_path, TOML.replace('file = ""', 'file = "pages/lamps.html"'))
    assert states(folder)["pages/lamps.html"] == "made"
    page = (folder / "pages/lamps.html").read_text()
    assert not re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", page) and str(tmp_path) not in page
    assert "runs/bm25.run" in page and "cranfield experiment" in page and "./qrels.txt" not in page


def test_without_judgments_there_is_a_pool_to_be_judged(tmp_path: Path) -> None:
    folder = write(tmp_path, TOML.replace('qrels = "qrels.txt"\n', ""))
    assert list(states(folder)) == ["index", "runs/bm25.run", "runs/lm.run", "runs/rrf.run", "pool.jsonl"]


def test_runs_alone_are_evaluated_without_documents(tmp_path: Path) -> None:
    toml = '[collection]\nqrels = "qrels.txt"\n[systems]\nmine = { run = "mine.csv" }\n[report]\nfile = ""\n'
    folder = write(tmp_path, toml)
    (folder / "mine.csv").write_text("query,doc,score\n1,a,2\n1,c,1\n2,b,1\n3,e,1\n")
    assert list(states(folder)) == ["mine.csv", "pool.jsonl", "scores.tsv", "summary.txt"]
    assert "mine\tnDCG@10\t1\t1.0\n" in (folder / "scores.tsv").read_text()
    assert "With one system there is nothing to compare." in (folder / "summary.txt").read_text()


@pytest.mark.slow
def test_several_collections_are_compared_together(tmp_path: Path) -> None:
    toml = TOML.replace("[collection]", "[collections.one]") + (
        '[collections.two]\ndocuments = "docs.jsonl"\ntopics = "topics.jsonl"\nqrels = "qrels.txt"\n'
        'index = { stemmer = "none" }\n'
    )
    folder = write(tmp_path, toml)
    assert set(states(folder).values()) == {"made"}
    assert {"one/runs/bm25.run", "two/runs/bm25.run", "one/index", "two/summary.txt"} <= set(tree(folder))
    assert (folder / "one/runs/bm25.run").read_bytes() != (folder / "two/runs/bm25.run").read_bytes()
    found = json.loads((folder / "comparison.json").read_text())
    assert [column["collection"] for column in found["columns"]] == ["one", "one", "two", "two"]


def test_an_engine_is_filled_and_searched(tmp_path: Path) -> None:
    folder = write(tmp_path, TOML.replace("[evaluation]", 'fts = { engine = "sqlite:fts.db" }\n[evaluation]'))
    assert states(folder)["runs/fts.run"] == "made"
    assert read_run(folder / "runs/fts.run").tag == "fts" and not (folder / ".cranfield/answers").exists()


@pytest.mark.slow
def test_a_collection_by_name_is_an_experiment_in_one_word(shared_data: Path, tmp_path: Path) -> None:
    (tmp_path / "med").symlink_to(shared_data / "classic" / "med")
    (tmp_path / "cranfield.toml").write_text(f'[collection]\ndocuments = "med:med"\n{SYSTEMS}[report]\nfile = ""\n')
    assert set(states(tmp_path).values()) == {"made"}
    assert set(states(tmp_path).values()) == {"unchanged"}


# What systems cost

COSTLY = "[efficiency]\nrepetitions = 2\nclients = 1\nseconds = 0.05\n"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same experiment with costs, an engine and a run that was given; not to be changed."""
    more = 'fts = { engine = "sqlite:fts.db" }\nmine = { run = "mine.run" }\n[evaluation]'
    page = 'file = "report.html"' if find_spec("vl_convert") else 'file = ""'
    toml = TOML.replace("[evaluation]", more).replace('file = ""', page) + COSTLY
    folder = write(tmp_path_factory.mktemp("measured"), toml)
    (folder / "mine.run").write_text("1 Q0 a 1 2 me\n2 Q0 b 1 1 me\n")
    assert set(states(folder).values()) == {"made"}
    return folder


@pytest.mark.slow
def test_costs_are_measured_of_systems_that_search(measured: Path) -> None:
    found = json.loads((measured / "efficiency.json").read_text())
    assert [each["system"] for each in found["latency"]] == ["bm25", "lm", "fts"]
    assert all(each["searches"] == 3 * 2 and each["p50"]["value"] > 0 for each in found["latency"])
    assert {each["system"]: each["kind"] for each in found["systems"]} == {
        **{"bm25": "embedded", "lm": "embedded"},
        "fts": "sqlite",
    }
    assert all(each["index_bytes"] > 0 and not each["errors"] for each in found["systems"])
    assert found["indexing"]["documents"] == len(DOCS) and found["machine"]["processor"]
    assert found["unmeasured"] == {"rrf": "a fusion of runs", "mine": "a run that was given"}
    rows = [line.split("\t") for line in (measured / "latencies.tsv").read_text().splitlines()]
    assert rows[0] == ["query", "system", "repetition", "ms"] and len(rows) == 1 + 3 * 3 * 2
    assert {row[0] for row in rows[1:]} == set(TOPICS)


def test_each_system_is_measured_with_the_text_that_it_searches_with(measured: Path) -> None:
    workspace = open_workspace(measured)
    there = {workspace.run_file(system, workspace.collections[0]) for system in workspace.systems}
    (step,) = measuring(workspace, there)
    fields = {name: own["fields"] for name, own in step.settings["systems"].items()}
    assert fields == {"bm25": ["title"], "lm": ["title", "description"], "fts": ["title"]}
    asked: list[str] = []
    subject = _asked_by_topic(function_subject("echo", lambda: asked.append), {"1": "red lamps", "2": "bells"})
    for query in ("2", "1"):
        subject.start()(query)
    assert asked == ["bells", "red lamps"]


def test_the_summary_and_the_report_have_the_costs(measured: Path) -> None:
    lines = (measured / "summary.txt").read_text().splitlines()
    assert len(lines) == 3 and lines[0].startswith("5 systems on 3 topics of lamps: ") and "AP" in lines[0]
    assert " ms" in lines[2] and "unjudged" in lines[1]
    if find_spec("vl_convert"):
        page = (measured / "report.html").read_text()
        assert 'id="efficiency"' in page and "No costs were measured for rrf (a fusion of runs), mine (a run" in page


@pytest.mark.slow
def test_costs_are_not_measured_again_unless_something_has_changed(measured: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(measured, tmp_path / "copy"))
    before = tree(folder)
    assert set(states(folder).values()) == {"unchanged"} and tree(folder) == before
    toml = (folder / "cranfield.toml").read_text()
    (folder / "cranfield.toml").write_text(toml.replace("repetitions = 2", "repetitions = 1"))
    assert {one.output for one in plan(open_workspace(folder)) if one.why} >= {"efficiency.json", "summary.txt"}
    found = states(folder)
    assert found["runs/bm25.run"] == found["scores.tsv"] == "unchanged" and found["efficiency.json"] == "made"
    assert found["summary.txt"] == "made"


@pytest.mark.slow
def test_nothing_else_is_made_while_costs_are_measured(tmp_path: Path) -> None:
    folder = write(tmp_path, TOML + COSTLY)
    events = [(event.state, event.output) for event in perform(open_workspace(folder), jobs=2)]
    begun, made = (events.index((state, "efficiency.json")) for state in ("begun", "made"))
    assert made == begun + 1
    busy = {output for state, output in events[:begun] if state == "begun"}
    assert busy == {output for state, output in events[:begun] if state == "made"}


def test_without_a_table_nothing_is_measured_and_costs_from_before_are_not_told(measured: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(measured, tmp_path / "copy"))
    toml = (folder / "cranfield.toml").read_text()
    (folder / "cranfield.toml").write_text(toml.replace(COSTLY, "").replace('file = "report.html"', 'file = ""'))
    assert "efficiency.json" not in states(folder)
    assert " ms" not in (folder / "summary.txt").read_text()


@pytest.mark.slow
def test_a_system_that_fails_is_told_and_the_others_are_measured(tmp_path: Path) -> None:
    failing = 'bad = { engine = "command:false {query}" }\n[evaluation]'
    folder = write(tmp_path, TOML.replace("[evaluation]", failing) + COSTLY)
    found = done(folder)
    assert found["runs/bad.run"].state == "failed" and found["efficiency.json"].state == "made"
    assert "bad (its run could not be made)" in " ".join(found["efficiency.json"].notes)


# What is left as it is


def test_the_second_time_nothing_is_made_wherever_the_folder_is(copy: Path) -> None:
    before = tree(copy)
    assert set(states(copy).values()) == {"unchanged"} and tree(copy) == before
    assert {planned.why for planned in plan(open_workspace(copy))} == {None}


def test_what_has_changed_is_made_again_and_nothing_else(copy: Path) -> None:
    toml = (copy / "cranfield.toml").read_text()
    (copy / "cranfield.toml").write_text(toml.replace("lm:mu=300", "lm:mu=20").replace('["AP", ', '["RR", '))
    planned = {one.output: one.why for one in plan(open_workspace(copy))}
    assert planned["runs/lm.run"] == "other system" and planned["runs/rrf.run"] == "made of runs/lm.run"
    found = states(copy)
    assert [output for output, state in found.items() if state == "unchanged"] == ["index", "runs/bm25.run"]
    assert "RR" in (copy / "summary.txt").read_text()


def test_a_changed_input_is_seen_by_its_content_not_by_its_time(copy: Path) -> None:
    os.utime(copy / "docs.jsonl", (1, 1))
    status = (copy / "topics.jsonl").stat()
    text = (copy / "topics.jsonl").read_text()
    (copy / "topics.jsonl").write_text(text.replace("dusk", "bell"))
    os.utime(copy / "topics.jsonl", ns=(status.st_atime_ns, status.st_mtime_ns))
    planned = {one.output: one.why for one in plan(open_workspace(copy))}
    assert planned["index"] is None and planned["runs/bm25.run"] == "topics.jsonl changed"


def test_outputs_that_were_lost_or_edited_are_made_again(copy: Path) -> None:
    before = tree(copy)
    with (copy / "runs/bm25.run").open("a") as run:
        run.write("9 Q0 x 1 1 mine\n")
    (copy / "index/docs.txt").write_text("a\n")
    (copy / "comparison.txt").unlink()
    (copy / ".cranfield/stamps/pool.jsonl.json").write_text("{")
    found = states(copy)
    assert {output for output, state in found.items() if state == "made"} == {
        *("index", "runs/bm25.run", "pool.jsonl", "comparison.json")
    }
    assert tree(copy) == before


@pytest.mark.slow
def test_a_file_that_is_not_ours_is_not_replaced_unless_forced(copy: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "new")
    (folder / "runs").mkdir()
    (folder / "runs/lm.run").write_text("mine\n")
    found = done(folder)
    assert found["runs/lm.run"].state == "failed" and "was not made by this experiment" in found["runs/lm.run"].why
    assert found["runs/rrf.run"].state == "left" and found["scores.tsv"].state == "made"
    assert (folder / "runs/lm.run").read_text() == "mine\n"
    planned = {one.output: one.why or "" for one in plan(open_workspace(folder))}
    assert "was not made by this experiment" in planned["runs/lm.run"]
    assert set(states(folder, force=True).values()) == {"made"}
    assert tree(folder) == tree(copy)


def test_a_folder_of_somebody_else_is_not_replaced_by_force_either(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "index").mkdir()
    (folder / "index/letters.txt").write_text("dear reader")
    found = done(folder, force=True)
    assert found["index"].state == "failed" and "is no index. Move it." in found["index"].why
    assert (folder / "index/letters.txt").exists()


@pytest.mark.slow
def test_a_pool_of_ones_own_is_kept_and_is_no_failure(copy: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "new")
    own = '{"pool": {"documents": 1}}\n{"query": "1", "doc": "b003"}\n'
    (folder / "pool.jsonl").write_text(own)
    assert {one.output: one.why for one in plan(open_workspace(folder))}["pool.jsonl"] is None
    found = done(folder)
    assert found["pool.jsonl"].state == "left" and "it is kept" in found["pool.jsonl"].why
    assert (folder / "pool.jsonl").read_text() == own and found["scores.tsv"].state == "made"
    assert not any(event.state == "failed" for event in found.values())
    assert set(states(folder, force=True).values()) == {"made"}
    assert tree(folder) == tree(copy)


# What fails


@pytest.mark.slow
def test_a_system_that_fails_does_not_keep_others_from_being_made(copy: Path) -> None:
    toml = (copy / "cranfield.toml").read_text()
    more = 'gone = { run = "gone.run" }\nbad = { run = "bad.run" }\ntwo = { fuse = ["bm25", "bad"] }\n'
    (copy / "cranfield.toml").write_text(toml.replace("[evaluation]", f"{more}[evaluation]"))
    (copy / "bad.run").write_text("1 Q0 a 1 high me\n")
    found = done(copy)
    assert found["gone.run"].state == "failed" and "there is no such file" in found["gone.run"].why
    assert found["bad.run"].state == "failed" and "bad.run, line 1" in found["bad.run"].why
    assert found["runs/two.run"].state == "left" and "'bad.run'" in found["runs/two.run"].why
    assert found["comparison.json"].state == "unchanged" == found["runs/lm.run"].state
    (copy / "gone.run").write_text("1 Q0 a 1 1 me\n")
    (copy / "bad.run").write_text("1 Q0 a 1 1 me\n")
    found = done(copy)
    assert {output for output, event in found.items() if event.state == "unchanged"} == {
        *("index", "runs/bm25.run", "runs/lm.run", "runs/rrf.run")
    }
    assert (copy / "summary.txt").read_text().startswith("6 systems")


def test_without_the_baseline_nothing_is_compared(copy: Path) -> None:
    toml = (copy / "cranfield.toml").read_text().replace('bm25 = "bm25"', 'bm25 = { run = "gone.run" }')
    (copy / "cranfield.toml").write_text(toml)
    found = done(copy)
    assert found["the comparison and the report"].state == "left" and found["scores.tsv"].state == "made"
    assert "summary.txt" not in found and "comparison.json" not in found


def test_what_all_hang_on_is_said_once_more_and_no_traceback(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "topics.jsonl").unlink()
    (folder / "docs.jsonl").write_text('{"_id": "a", "text": "x"}\n{"_id": \n')
    found = done(folder)
    assert found["index"].state == "failed" and "docs.jsonl, line 2" in found["index"].why
    assert {event.state for event in found.values()} == {"failed", "left"}
    write(folder)
    assert set(states(folder).values()) == {"made"}


def test_a_process_that_dies_is_a_step_that_failed(copy: Path) -> None:
    toml = (copy / "cranfield.toml").read_text()
    killing = 'killer = { engine = "shell:kill -9 $PPID; echo {query}" }\n'
    (copy / "cranfield.toml").write_text(toml.replace("[evaluation]", f"{killing}[evaluation]"))
    found = done(copy)
    assert found["runs/killer.run"].state == "failed" and "was ended by signal 9" in found["runs/killer.run"].why
    assert {event.state for output, event in found.items() if output != "runs/killer.run"} == {"unchanged"}


def test_a_process_that_cannot_be_started_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/none/such/python")
    with pytest.raises(CranfieldError, match="/none/such/python cannot be started: No such file or directory."):
        done(write(tmp_path / "lamps"))


def test_answers_of_an_engine_that_fails_are_kept(copy: Path) -> None:
    toml = (copy / "cranfield.toml").read_text()
    (copy / "ask.sh").write_text('echo "$1" >> asked\n[ "$1" != dusk ] || [ -e awake ] || exit 1\necho "a 1"\n')
    asking = 'asked = { engine = "command:sh ask.sh {query}" }\n'
    (copy / "cranfield.toml").write_text(toml.replace("[evaluation]", f"{asking}[evaluation]"))
    found = done(copy)["runs/asked.run"]
    assert found.state == "failed" and "1 of 3 queries failed" in found.why
    assert "The answers to 2 of 3 are kept." in found.why
    (copy / "awake").touch()
    assert states(copy)["runs/asked.run"] == "made"
    assert (copy / "asked").read_text().split("\n")[:-1] == ["red lamps", "bells that ring", "dusk", "dusk"]
    assert list(read_run(copy / "runs/asked.run").queries) == ["1", "2", "3"]
    assert not (copy / ".cranfield/answers").exists()


def test_systems_compare_vectors_that_a_workspace_names(tmp_path: Path) -> None:
    dense = 'dense = { system = "dense", vectors = "docs.npy", query_vectors = "topics.npy" }\n'
    folder = write(
        tmp_path / "dense", TOML.replace("[evaluation]", f"{dense}[evaluation]") + "[efficiency]\nseconds = 0.1\n"
    )
    np.save(folder / "docs.npy", np.eye(5))
    np.save(folder / "topics.npy", np.array([[0, 0, 1, 0.5, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]))
    made = done(folder)
    assert made["runs/dense.run"].state == "made"
    assert read_run(folder / "runs/dense.run").of("1").docs[:2].tolist() == ["c", "d"]
    assert 'vectors: "docs.npy"' in (folder / "runs/dense.run").read_text()
    costs = json.loads((folder / "efficiency.json").read_text())
    assert {(each["system"], each["kind"], each["errors"]) for each in costs["systems"]} >= {("dense", "vectors", 0)}
    np.save(folder / "topics.npy", np.eye(5)[:3])
    assert states(folder)["runs/dense.run"] == "made"
    np.save(folder / "topics.npy", np.eye(4)[:3])
    failed = done(folder)["runs/dense.run"]
    assert failed.state == "failed" and "both must come from the same model" in failed.why


@pytest.mark.parametrize(
    "old, new, says",
    [
        (
            '"bm25"\nlm',
            '{ system = "bm25", vectors = "x.npy" }\nlm',
            "vectors are for dense and mmr; bm25 compares words",
        ),
        ('"bm25"\nlm', '"bm26"\nlm', "systems.bm25: no system 'bm26'"),
        (
            '"bm25"\nlm',
            '"dense"\nlm',
            "systems.bm25: dense compares vectors: name the files, vectors = and query_vectors =",
        ),
        ('["AP"', '["APP"', "evaluation.measures: "),
        ('["bm25", "lm"] }', '["bm25", "lm"], method = "x" }', "systems.rrf: unknown fusion method 'x'"),
        ('["bm25", "lm"] }', '["bm25", "lm"], method = "wsum" }', "systems.rrf: wsum needs weights"),
        ("[pool]", 'test = "x"\n[pool]', 'evaluation.test: is "x", expected one of t, '),
        ("[systems]", 'index = { stemmer = "elvish" }\n[systems]', "collection.index: no stemmer for 'elvish'"),
        ('"bm25"\nlm', '{ engine = "bm25" }\nlm', "systems.bm25: engine is"),
    ],
)
def test_a_wrong_name_is_told_before_anything_is_made(tmp_path: Path, old: str, new: str, says: str) -> None:
    folder = write(tmp_path, TOML.replace(old, new, 1))
    with pytest.raises(InputError, match=re.escape(says)):
        done(folder)
    assert not (folder / ".cranfield").exists()


def test_a_full_disk_is_told_and_what_was_made_is_kept(tmp_path: Path) -> None:
    folder, undisturbed = (example(tmp_path / name, '[report]\nfile = ""\n') for name in ("full", "undisturbed"))
    command = [sys.executable, "-m", "cranfield", "experiment", str(folder), "--quiet"]
    limit = 100_000  # enough for the index and the run of bm25
    full = subprocess.run(
        command,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
    )
    assert full.returncode == 2 and "lm.run: cannot be written: File too large." in full.stderr
    assert "Traceback" not in full.stderr and "the other outputs are kept" in full.stderr
    assert (folder / "runs/bm25.run").exists() and not (folder / "runs/lm.run").exists()
    assert not list((folder / ".cranfield").glob("tmp-*"))
    found = states(folder)
    assert found["index"] == found["runs/bm25.run"] == "unchanged" and found["runs/lm.run"] == "made"
    done(undisturbed)
    assert without_engines(tree(folder)) == without_engines(tree(undisturbed))


def test_only_one_experiment_works_in_a_folder(copy: Path) -> None:
    holding = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(copy)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert holding.stdout is not None and holding.stdin is not None
    with holding:
        assert holding.stdout.readline() == "held\n"
        with pytest.raises(CranfieldError, match=rf"another experiment is at work here \(process {holding.pid}\)"):
            done(copy)
        holding.kill()
    assert set(states(copy).values()) == {"unchanged"}


HOLD = """
import sys
from cranfield.experiment.fingerprints import Store
from cranfield.experiment.workspace import open_workspace
with Store(open_workspace(sys.argv[1])).opened():
    print("held", flush=True)
    sys.stdin.read()
"""


# Killing


def example(folder: Path, more: str = "") -> Path:
    """The bundled collection with systems of several kinds."""
    folder.mkdir()
    for name in ("documents.jsonl", "topics.xml", "qrels.txt"):
        shutil.copy(str(files("cranfield") / "example" / name), folder)
    (folder / "cranfield.toml").write_text(
        '[collection]\ndocuments = "documents.jsonl"\ntopics = "topics.xml"\nqrels = "qrels.txt"\n'
        '[systems]\nbm25 = "bm25"\nlm = { system = "lm", fields = "title,description,narrative" }\nlsi = "lsi:k=20"\n'
        'rrf = { fuse = ["bm25", "lsi"] }\nfts = { engine = "sqlite:engines/fts.db" }\n'
        + ('tantivy = { engine = "tantivy:engines/tantivy" }\n' if find_spec("tantivy") else "")
        + "[evaluation]\nresamples = 1000\n"
        + more
    )
    return folder


def started(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cranfield", "experiment", str(folder), "--quiet", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


@pytest.mark.slow
@pytest.mark.soak("crashes")
def test_killed_at_any_moment_and_run_again_it_ends_in_the_same_files(tmp_path: Path) -> None:
    start = time.monotonic()
    undisturbed = example(tmp_path / "undisturbed")
    with started(undisturbed) as process:
        assert process.wait() == 0
    expected, whole = without_engines(tree(undisturbed)), time.monotonic() - start
    assert "runs/fts.run" in expected
    chance = random.Random(1)
    kills = 0
    while kills < KILLS:
        folder = example(tmp_path / f"killed-{kills}")
        while True:
            with started(folder, "--jobs", chance.choice("12")) as process:
                try:
                    assert process.wait(timeout=chance.uniform(0.1, 0.8) * whole if kills < KILLS else None) == 0
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    kills += 1
        assert without_engines(tree(folder)) == expected
        shutil.rmtree(folder)


def without_engines(found: dict[str, bytes | None]) -> dict[str, bytes | None]:
    """Files but for the indexes that engines make, which name their parts as they like."""
    return {name: content for name, content in found.items() if not name.startswith("engines/")}


MEASURED = re.compile(r"(\.cranfield/stamps/)?(efficiency\.json|latencies\.tsv|summary\.txt|report\.html)")


@pytest.mark.slow
@pytest.mark.soak("crashes")
def test_killed_while_it_measures_it_ends_in_the_same_files_but_for_what_is_measured(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole", TOML + COSTLY)
    with started(whole) as process:
        assert process.wait() == 0
    expected = {name: content for name, content in tree(whole).items() if not MEASURED.match(name)}
    folder = write(tmp_path / "killed", TOML + COSTLY)
    for attempt in range(10 if SOAK else 2):
        with started(folder) as process:
            while not (folder / "runs/rrf.run").exists():
                time.sleep(0.02)
            time.sleep(0.2 * attempt)
            process.send_signal(signal.SIGKILL)
    with started(folder) as process:
        assert process.wait() == 0
    found = tree(folder)
    assert {name: content for name, content in found.items() if not MEASURED.match(name)} == expected
    assert set(found) == set(tree(whole)) and not list((folder / ".cranfield").glob("tmp-*"))
    assert set(states(folder).values()) == {"unchanged"}


@pytest.mark.slow
@pytest.mark.soak("crashes")
@pytest.mark.parametrize("renames", range(1, 14) if SOAK else (1, 4))
def test_killed_between_a_stamp_and_its_output_it_ends_in_the_same_files(
    lamps: Path, tmp_path: Path, renames: int
) -> None:
    folder = write(tmp_path / "killed")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(renames)])
    assert killed.returncode == -signal.SIGKILL
    assert list((folder / ".cranfield").glob("tmp-*"))  # what it was at
    assert "made" in states(folder).values() and tree(folder) == tree(lamps)


KILLED = """
import os, signal, sys
from cranfield.experiment import perform, fingerprints
from cranfield.experiment.workspace import open_workspace
put, left = fingerprints._replace, int(sys.argv[2])
def put_and_die(*args):
    global left
    put(*args)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
fingerprints._replace = put_and_die
list(perform(open_workspace(sys.argv[1])))
"""


@pytest.mark.slow
def test_processes_end_with_the_one_that_asks(tmp_path: Path) -> None:
    folder = write(
        tmp_path, TOML.replace("[evaluation]", 'slow = { engine = "command:sh slow.sh {query}" }\n[evaluation]')
    )
    (folder / "slow.sh").write_text("echo $PPID > worker\nsleep 5\n")
    with started(folder, "--jobs", "2") as process:
        pid = folder / "worker"
        wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"))
        worker = int(pid.read_text())
        process.kill()
    wait_until(lambda: not _is_alive(worker))


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False


def test_a_pool_starts_no_more_processes_than_jobs(tmp_path: Path) -> None:
    task = {"settings": {}, "inputs": {}, "kind": "none", "force": False}
    with WorkerPool(tmp_path, jobs=2, delay=0) as pool:
        for i in range(3):
            pool.submit({**task, "outputs": [f"{i}"], "into": f"tmp/{i}"})
        answers = [pool.next_result() for _ in range(3)]
        assert len(pool._workers) == 2
    assert sorted(task["outputs"][0] for task, _ in answers) == ["0", "1", "2"]
    assert all("internal error" in answer["error"] for _, answer in answers)
