"""cranfield feedback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield


@pytest.fixture
def index(cranfield: Cranfield, example: Path, tmp_path: Path) -> Path:
    pytest.importorskip("snowballstemmer")
    cranfield("index", example / "documents.jsonl", "-o", tmp_path / "index", "--quiet")
    return tmp_path / "index"


def test_three_ways_to_learn_are_compared_in_a_table(cranfield: Cranfield, example: Path, index: Path) -> None:
    args = ("feedback", index, example / "topics.xml", example / "qrels.txt", "--given", 3)
    text = cranfield(*args)
    assert text.code == 0 and "AP, to all" in text.out and max(map(len, text.out.splitlines()[:14])) <= 100
    rows = [line.split()[0] for line in text.out.splitlines()[2:] if line[:1].isalpha()]
    assert rows[:6] == ["none", "blind", "all", "best", "fused", "hindsight"]
    found = json.loads(cranfield(*args, "--format", "json", "-m", "AP").out)
    ways = {way["name"]: way for way in found["ways"]}
    assert ways["fused"]["system"] == "bm25+rm3-fused" and ways["hindsight"]["system"] is None
    assert f"Fusing subsets gives {abs(ways['fused']['against_all']['AP']['difference']):.4f}" in text.out
    assert len(ways["all"]["per_topic"]["AP"]) == found["topics"] == 27


def test_runs_and_what_is_left_of_the_judgments_are_written(
    cranfield: Cranfield, example: Path, index: Path, tmp_path: Path
) -> None:
    out = tmp_path / "learned"
    args = ("feedback", index, example / "topics.xml", example / "qrels.txt", "-m", "AP")
    table = cranfield(*args, "-o", out)
    assert table.code == 0 and sorted(path.name for path in out.iterdir()) == [
        *("all.run", "best.run", "blind.run", "fused.run", "given.txt", "hindsight.run", "none.run", "qrels.txt"),
    ]
    scores = cranfield("eval", out / "qrels.txt", out / "all.run", "-m", "AP", "--format", "json")
    means = json.loads(cranfield(*args, "--format", "json").out)["ways"][2]["means"]
    assert f"{means['AP']:.10f}"[:10] in scores.out
    # given.txt is what the system learned from
    search = (
        "search",
        index,
        example / "topics.xml",
        "--system",
        "bm25+rm3",
        "--feedback",
        out / "given.txt",
        "--quiet",
    )
    lines = cranfield(*search).out.splitlines()
    given = {tuple(line.split()[::2][:2]) for line in (out / "given.txt").read_text().splitlines()}
    kept = [line.split()[2] for line in lines if line.startswith("1 ") and ("1", line.split()[2]) not in given]
    assert kept[:20] == [line.split()[2] for line in (out / "all.run").read_text().splitlines()][:20]


def test_what_is_wrong_is_said(cranfield: Cranfield, example: Path, index: Path) -> None:
    files = (index, example / "topics.xml", example / "qrels.txt")
    for args, says in (
        (("--system", "bm25+rocchio"), "expected a model with rm3, as in bm25+rm3:terms=20"),
        (("--system", "bm25+rm5"), "no feedback 'rm5'"),
        (("-m", "NDGC"), "NDGC"),
        (("--rel", "9"), "no topic has both a relevant document"),
    ):
        failed = cranfield("feedback", *files, *args)
        assert failed.code == 2 and says in failed.err, failed.err
