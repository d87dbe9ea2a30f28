"""cranfield bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

QUICK = ("--repetitions", "2", "--seconds", "0.1", "--clients", "1,2")


@pytest.fixture
def index(cranfield: Cranfield, example: Path, tmp_path: Path) -> Path:
    assert cranfield("index", example / "documents.jsonl", "-o", tmp_path / "index").code == 0
    return tmp_path / "index"


def test_latency_throughput_and_indexing_are_told_with_the_machine(
    cranfield: Cranfield, index: Path, example: Path
) -> None:
    options = ("--system", "bm25", "--system", "lm", "--rate", "100", "--collection", example / "documents.jsonl")
    found = cranfield("bench", index, example / "topics.xml", *QUICK, *options)
    assert found.code == 0
    for part in (
        "latency in ms, one query at a time",
        "latency in ms at 100 queries a second",
        "queries a second",
        "indexing ",
        "lm takes ",
        "Cold, the first search of each query after a start: ",
        " cores",
    ):
        assert part in found.out


def test_json_holds_all_figures_and_latencies_go_into_a_file(
    cranfield: Cranfield, index: Path, example: Path, tmp_path: Path
) -> None:
    file = tmp_path / "latencies.tsv"
    systems = ("--system", "bm25", "--system", "tfidf")
    found = cranfield("bench", index, example / "topics.xml", *QUICK, *systems, "-o", file, "--format", "json")
    content = json.loads(found.out)
    assert {one["system"] for one in content["latency"]} == {"bm25", "tfidf"} and len(content["throughput"]) == 4
    assert content["ratios"][0]["queries"] == content["queries"] and content["machine"]["cores"] >= 1
    again = json.loads(cranfield("bench", "--latencies", file, "--baseline", "tfidf", "--format", "json").out)
    assert again["ratios"][0]["system"] == "bm25"
    searches = {one["system"]: one["searches"] for one in again["latency"]}
    assert searches == {"bm25": 2 * content["queries"], "tfidf": 2 * content["queries"]}


@pytest.mark.parametrize(
    "args, says",
    [
        ((), "expected INDEX and TOPICS, or --latencies FILE"),
        (("nowhere", "topics.xml"), "topics.xml"),
        (("--latencies", "none.tsv"), "no such file"),
    ],
)
def test_what_is_missing_is_said(cranfield: Cranfield, args: tuple[str, ...], says: str) -> None:
    failed = cranfield("bench", *args)
    assert failed.code == 2 and says in failed.err


def test_clients_are_numbers(cranfield: Cranfield, index: Path, example: Path) -> None:
    failed = cranfield("bench", index, example / "topics.xml", "--clients", "1,two")
    assert failed.code == 2 and "expected numbers from 1" in failed.err
