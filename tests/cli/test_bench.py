"""cranfield bench."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Cranfield
from tests.lab.servers import Request, Response, serving

QUICK = ("--repetitions", "2", "--seconds", "0.1", "--clients", "1,2", "--cold", "2")


@pytest.fixture
def index(cranfield: Cranfield, example: Path, tmp_path: Path) -> Path:
    assert cranfield("index", example / "documents.jsonl", "-o", tmp_path / "index").code == 0
    return tmp_path / "index"


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    """Three queries, so that slow systems are soon done."""
    (tmp_path / "few.tsv").write_text("1\tbroom wagon\n2\tlamp\n3\tchain\n")
    return tmp_path / "few.tsv"


@pytest.mark.slow
def test_latency_throughput_and_indexing_are_told_with_the_machine(
    cranfield: Cranfield, index: Path, example: Path
) -> None:
    options = ("--system", "bm25", "--system", "lm", "--rate", "100", "--collection", example / "documents.jsonl")
    found = cranfield("bench", index, example / "topics.xml", *QUICK, *options)
    assert found.code == 0
    for part in (
        "latency in ms, one query at a time",
        "latency in ms at 100 queries per second",
        "latency in ms, cold: from a start to the first result",
        "queries per second",
        "indexing 223 documents",
        "documents/s",
        "temporary, MB",
        "index/text",
        "lm takes ",
        "index opened anew",  # the files of one may be gone from memory, those of the other not
        "max has only a lower limit",
        " core",
        "Python 3.",
    ):
        assert part in found.out


def test_json_holds_all_figures_and_latencies_go_into_a_file(
    cranfield: Cranfield, index: Path, example: Path, tmp_path: Path
) -> None:
    file, saved = tmp_path / "latencies.tsv", tmp_path / "bench.json"
    systems = ("--system", "bm25", "--system", "tfidf", "-o", file, "--json", saved)
    found = cranfield("bench", index, example / "topics.xml", *QUICK, *systems, "--format", "json")
    content = json.loads(found.out)
    assert json.loads(saved.read_text()) == content
    assert {one["system"] for one in content["latency"]} == {"bm25", "tfidf"} and len(content["throughput"]) == 4
    assert content["ratios"][0]["queries"] == content["queries"] and content["machine"]["cores"] >= 1
    one = content["systems"][0]
    assert (one["system"], one["kind"], one["documents"], one["errors"]) == ("bm25", "embedded", 223, 0)
    assert one["index_bytes"] > 0 and content["energy"] is None and content["indexing"] is None
    assert content["latency"][0].keys() >= {"mean", "p50", "p90", "p95", "p99", "max", "max_low", "searches", "errors"}
    assert [one["searches"] for one in content["latency_cold"]] == [2, 2] and content["latency_at_rate"] == []
    again = json.loads(cranfield("bench", "--latencies", file, "--baseline", "tfidf", "--format", "json").out)
    assert again["ratios"][0]["system"] == "bm25" and again["machine"] == {}
    searches = {one["system"]: one["searches"] for one in again["latency"]}
    assert searches == {"bm25": 2 * content["queries"], "tfidf": 2 * content["queries"]}


def test_an_index_an_engine_an_endpoint_and_a_command_stand_in_one_table(
    cranfield: Cranfield, index: Path, example: Path, topics: Path, tmp_path: Path
) -> None:
    fts = tmp_path / "fts.db"
    assert cranfield("index", example / "documents.jsonl", "-o", fts, "--engine", "sqlite").code == 0
    (tmp_path / "search.py").write_text("print('b1 2.5')")
    asked: list[Request] = []

    def answer(request: Request) -> Response:
        asked.append(request)
        return Response.of({"found": [{"key": "b1"}, {"key": "b2"}]})

    with serving(answer) as host:
        systems = ["bm25", f"fts=sqlite:{fts}", f"ours=http-get:http://{host}/s?q={{query}}&k={{depth}}"]
        systems.append(f"program=command:{sys.executable} -S {tmp_path / 'search.py'} {{query}}")
        named: list[Any] = [part for system in systems for part in ("--system", system)]
        more = ("--ids", "ours=$.found[*].key", "--header", "ours=X-Tenant: lab", "--rate", "50", "--depth", "7")
        found = cranfield("bench", index, topics, *QUICK, *named, *more, "--format", "json")
    content = json.loads(found.out)
    kinds = [(one["system"], one["kind"], one["errors"]) for one in content["systems"]]
    assert found.code == 0
    assert kinds == [
        ("bm25", "embedded", 0),
        ("fts", "sqlite", 0),
        ("ours", "http-get", 0),
        ("program", "command", 0),
    ]
    assert len(content["ratios"]) == 3 and len(content["latency_at_rate"]) == 4 and len(content["throughput"]) == 8
    assert asked[0].query["k"] == ["7"] and all(request.headers["x-tenant"] == "lab" for request in asked)


def test_failures_of_a_server_are_told_and_everything_else_is_kept(
    cranfield: Cranfield, index: Path, topics: Path, tmp_path: Path
) -> None:
    def answer(request: Request) -> Response:
        return Response(500, b"no shard") if "lamp" in request.query["q"] else Response.of([["b1", 1]])

    with serving(answer) as host:
        ours = f"ours=http-get:http://{host}/s?q={{query}}"
        found = cranfield("bench", index, topics, *QUICK, "--system", "bm25", "--system", ours)
    assert found.code == 0
    assert " searches failed and have no latency. The first error: http://127.0.0.1:" in found.out
    assert "answered 500 Internal Server Error: no shard" in found.out
    assert "Left out, answered by only one: '2'." in found.out


def test_a_server_that_never_answers_ends_with_2_after_the_figures_of_the_others(
    cranfield: Cranfield, index: Path, topics: Path, tmp_path: Path
) -> None:
    file = tmp_path / "latencies.tsv"
    with serving(lambda request: Response(503, b"closed")) as host:
        ours = f"ours=http-get:http://{host}/s?q={{query}}"
        found = cranfield("bench", index, topics, *QUICK, "--system", "bm25", "--system", ours, "-o", file)
    assert found.code == 2 and "ours answered no query. The first error: http://127.0.0.1:" in found.err
    assert "answered 503" in found.err and "latency in ms, one query at a time" in found.out
    assert len(file.read_text().splitlines()) == 1 + 2 * 3


def test_topics_alone_are_enough_for_engines_by_url(cranfield: Cranfield, topics: Path) -> None:
    found = cranfield("bench", topics, *QUICK, "--system", "shell:echo b1 1; : {query}", "--format", "json")
    assert found.code == 0 and [one["kind"] for one in json.loads(found.out)["systems"]] == ["shell"]


def test_indexing_alone_by_several_engines(cranfield: Cranfield, example: Path) -> None:
    documents = example / "documents.jsonl"
    options = ("--collection", documents, "--engine", "embedded", "--engine", "sqlite")
    found = cranfield("bench", *options, "--format", "json")
    content = json.loads(found.out)
    assert found.code == 0 and [one["engine"] for one in content["indexings"]] == ["embedded", "sqlite"]
    assert content["indexing"] == content["indexings"][0] and content["latency"] == []
    for one in content["indexings"]:
        assert one["documents"] == 223 and one["index_bytes"] > 0 and one["temporary_bytes"] >= 0
        assert one["ratio_to_text"] == one["index_bytes"] / one["text_bytes"] and one["cost"]["memory"] > 5e6


def test_a_collection_by_name_gives_topics_and_documents(cranfield: Cranfield, tmp_path: Path) -> None:
    folder = tmp_path / "mini"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "title": "lamps", "text": "lamps for bicycles"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "1", "text": "lamps"}\n')
    assert cranfield("index", f"beir:{folder}", "-o", tmp_path / "index").code == 0
    options = ("--collection", f"beir:{folder}", "--format", "json")
    found = cranfield("bench", tmp_path / "index", f"beir:{folder}", *QUICK, *options)
    content = json.loads(found.out)
    assert found.code == 0 and content["queries"] == 1 and content["indexing"]["documents"] == 1
    assert content["latency"][0]["p50"]["low"] is None and content["latency"][0]["max_low"] is None


def test_energy_without_the_extra_is_an_error_before_anything_is_measured(
    cranfield: Cranfield, index: Path, topics: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tirex_tracker", None)
    failed = cranfield("bench", index, topics, "--energy")
    assert failed.code == 2 and "pip install 'cranfield[energy]'" in failed.err and not failed.out


@pytest.mark.parametrize(
    "args, says",
    [
        ((), "expected INDEX and TOPICS, TOPICS and --system URL"),
        (("topics.xml",), "expected INDEX and TOPICS"),
        (("nowhere", "topics.xml"), "topics.xml"),
        (("a", "b", "c"), "expected INDEX and TOPICS, found a b c"),
        (("--latencies", "none.tsv"), "no such file"),
        (("a", "b", "--latencies", "none.tsv"), "give no INDEX, TOPICS or systems with it"),
        (("--engine", "sqlite"), "--engine needs a collection to index"),
        (("--collection", "none.jsonl"), "none.jsonl"),
        (("t.xml", "--system", "bm25"), "of which index"),
        (("t.xml", "--system", "http-get:http://host/"), "there is no {query} in it"),
    ],
)
def test_what_is_missing_is_said(cranfield: Cranfield, args: tuple[str, ...], says: str) -> None:
    failed = cranfield("bench", *args)
    assert failed.code == 2 and says in failed.err


@pytest.mark.parametrize(
    "options, says",
    [
        (("--clients", "1,two"), "expected comma-separated numbers from 1"),
        (("--system", "bm26"), "no system 'bm26'"),
        (("--baseline", "lm"), "no system 'lm' to compare with"),
        (("--system", "sqlite:none.db"), "no such index"),
        (("--system", "command:no-such-program {query}"), "cannot be started"),
        (("--collection", "none.jsonl", "--engine", "lucene"), "no engine 'lucene'"),
    ],
)
def test_what_cannot_be_is_said(
    cranfield: Cranfield, index: Path, example: Path, options: tuple[str, ...], says: str
) -> None:
    failed = cranfield("bench", index, example / "topics.xml", *options)
    assert failed.code == 2 and says in failed.err


def test_an_engine_nobody_knows_is_said_with_those_that_there_are(cranfield: Cranfield, example: Path) -> None:
    failed = cranfield("bench", "--collection", example / "documents.jsonl", "--engine", "lucene")
    assert failed.code == 2 and "no engine 'lucene': expected embedded, tantivy, sqlite, or a URL" in failed.err
    failed = cranfield("bench", "--collection", example / "documents.jsonl", "--engine", "sqlite:mine.db")
    assert failed.code == 2 and "give sqlite alone" in failed.err and not Path("mine.db").exists()


@pytest.mark.slow
def test_dense_is_measured_with_vectors_and_told_what_it_lacks_without(
    cranfield: Cranfield, index: Path, topics: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    np.save(tmp_path / "docs.npy", rng.normal(size=(223, 8)))
    np.save(tmp_path / "queries.npy", rng.normal(size=(3, 8)))
    vectors = ("--vectors", tmp_path / "docs.npy", "--query-vectors", tmp_path / "queries.npy")
    systems = ("--system", "bm25", "--system", "dense", "--system", "bm25+mmr")
    found = cranfield("bench", index, topics, *QUICK, *systems, *vectors, "--format", "json")
    told = {one["system"]: (one["kind"], one["errors"]) for one in json.loads(found.out)["systems"]}
    assert told == {"bm25": ("embedded", 0), "dense": ("vectors", 0), "bm25+mmr": ("embedded", 0)}
    failed = cranfield("bench", index, topics, *QUICK, "--system", "dense")
    assert failed.code == 2 and "name the files with --vectors and --query-vectors" in failed.err
