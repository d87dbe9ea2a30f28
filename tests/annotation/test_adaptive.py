"""Adaptive pools: documents join as judgments arrive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cranfield.annotation import AssessorSession, JudgmentLog, make_refill, open_log
from cranfield.annotation.adaptive import build_selectors, load_grades, start_adaptive_pool
from cranfield.cli import commands
from cranfield.errors import InputError
from cranfield.pooling.pool import Pool, write_pool
from tests.annotation.conftest import with_pairs

RUNS = {
    "good": {"1": {f"r{i}": 30.0 - i for i in range(15)}},
    "bad": {"1": {f"n{i}": 30.0 - i for i in range(15)}},
}


def test_a_strategy_is_asked_for_more_when_everything_is_judged(log: JudgmentLog) -> None:
    log.add_pairs({"1": ["r0", "n0"]})
    askers = build_selectors(RUNS, "mm-ns", depth=15)
    session = AssessorSession(log, "ada", refill=make_refill(log, askers, budget=12, batch=1))
    seen = []
    item = session.next("1")
    while item is not None:
        seen.append(item.doc)
        item = session.save("judge", "1", item.place, 2 if item.doc.startswith("r") else 0).next
    assert len(seen) == len(set(seen)) == 12 and set(seen[:2]) == {"r0", "n0"}
    # it learns where relevant documents are
    assert sum(doc.startswith("r") for doc in seen) > 6
    assert [pair.doc for pair in log.pairs()][:2] == ["r0", "n0"] and len(log.pairs()) == 12


def test_what_nobody_can_judge_is_not_asked_for_again(log: JudgmentLog) -> None:
    log.add_pairs({"1": ["r0", "n0"]})
    session = AssessorSession(log, "ada", refill=make_refill(log, build_selectors(RUNS, "mm", depth=3)))
    item = session.next("1")
    seen = []
    while item is not None:
        seen.append(item.doc)
        item = session.save("cannot", "1", item.place).next
    assert sorted(seen) == ["n0", "n1", "n2", "r0", "r1", "r2"]


def test_nothing_is_asked_for_while_others_still_judge(log: JudgmentLog) -> None:
    with_pairs(log, 1, 2)
    asked: list[str] = []
    ada, bob = AssessorSession(log, "ada", refill=lambda query: asked.append(query) or 0), AssessorSession(log, "bob")  # type: ignore[func-returns-value]
    one, other = ada.next("1"), bob.next("1")
    assert one is not None and other is not None and asked == []
    assert ada.save("judge", "1", one.place, 1).next is None and asked == ["1"]
    refill = make_refill(log, build_selectors(RUNS, "mm", depth=3))
    assert refill("1") == 0 and refill("no such topic") == 0
    assert load_grades(log, "1")[1] == 1


def test_the_topics_of_a_pool_that_grows_are_those_of_the_pool(log: JudgmentLog) -> None:
    log.add_pairs({"1": ["r0"]})
    runs = {name: {**queries, "2": {"x": 1.0}} for name, queries in RUNS.items()}
    start_adaptive_pool(log, runs, "mtf", depth=5, batch=2)
    assert log.topics() == ("1",)


def test_the_topics_of_an_empty_pool_that_grows_are_those_asked_for(log: JudgmentLog) -> None:
    runs = {name: {**queries, "2": {"x": 1.0}, "3": {"y": 1.0}} for name, queries in RUNS.items()}
    start_adaptive_pool(log, runs, "mtf", depth=5, batch=2, topics={"1", "3", "4"})
    assert log.topics() == ("1", "3")


def test_an_empty_pool_begins_with_what_is_asked_for_first(log: JudgmentLog) -> None:
    start_adaptive_pool(log, RUNS, "mtf", depth=5, batch=2)
    assert len(log.pairs("1")) == 2
    start_adaptive_pool(log, RUNS, "mtf", depth=5, batch=2)
    assert len(log.pairs("1")) == 2  # to begin again adds nothing


def test_a_strategy_that_needs_more_than_runs_is_refused_in_a_sentence(log: JudgmentLog) -> None:
    with pytest.raises(InputError, match="autotar needs more than runs; .* can use mtf, mm, mm-ns"):
        start_adaptive_pool(log, RUNS, "autotar")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pool of two documents, two runs of fifteen, texts of all."""
    write_pool(Pool({"1": ("r0", "n0")}), tmp_path / "pool.jsonl")
    for name, queries in RUNS.items():
        rows = [f"1 Q0 {doc} {n} {score} {name}\n" for n, (doc, score) in enumerate(queries["1"].items(), 1)]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    (tmp_path / "topics.tsv").write_text("1\tflat tyres\n")
    docs = [doc for queries in RUNS.values() for doc in queries["1"]]
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps({"id": d, "text": f"of {d}"}) + "\n" for d in docs))
    return tmp_path


def judge(folder: Path, *more: str, lines: str = "") -> tuple[int, str]:
    """What the command says to some lines of input."""
    files = ["--topics", str(folder / "topics.tsv"), "--documents", str(folder / "documents.jsonl")]
    given = [str(folder / one) if one.endswith(".run") else one for one in more]
    call = ["judge", str(folder / "pool.jsonl"), *files, "--assessor", "ada", *given]
    done = CliRunner().invoke(commands, call, input="".join(f"{line}\n" for line in lines))
    return done.exit_code, f"{done.output}{done.exception or ''}"


def test_in_the_terminal_a_pool_grows_by_an_option(folder: Path) -> None:
    start_adaptive_pool = [
        "--adaptive",
        "mm-ns",
        "--run",
        "good.run",
        "--run",
        "bad.run",
        "--depth",
        "10",
        "--budget",
        "6",
    ]
    code, said = judge(folder, *start_adaptive_pool, "--batch", "2", lines="2222222")
    assert code == 0 and "6 documents judged" in said
    assert said.count("Document ") == 6 and "There is no text" not in said
    with open_log(folder / "pool.judgments.db") as log:
        assert len(log.pairs()) == 6
    code, said = judge(folder, lines="2")  # without the option it stays as it is
    assert code == 0 and "Everything is judged." in said


def test_in_the_terminal_runs_bring_no_other_topics(folder: Path) -> None:
    with open(folder / "good.run", "a") as run:
        run.write("2 Q0 r0 1 1.0 good\n")
    start_adaptive_pool = ["--adaptive", "mtf", "--run", "good.run", "--depth", "3"]
    code, said = judge(folder, *start_adaptive_pool, lines="2222222")
    assert code == 0 and "Everything is judged." in said and "Topic 2" not in said
    write_pool(Pool({}), folder / "pool.jsonl")
    code, said = judge(folder, *start_adaptive_pool, "--log", str(folder / "other.db"), lines="2222222")
    assert code == 0 and "3 documents judged" in said and "Topic 2" not in said


def test_options_of_a_pool_that_grows_go_together(folder: Path) -> None:
    for more, wrong in (
        (["--budget", "6"], "need --adaptive STRATEGY"),
        (["--adaptive", "mtf"], "--adaptive and --run go together"),
        (["--run", "good.run"], "--adaptive and --run go together"),
        (["--adaptive", "mft", "--run", "good.run"], "unknown strategy 'mft'"),
    ):
        code, said = judge(folder, *more)
        assert code != 0 and wrong in said, said
