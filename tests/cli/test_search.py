"""cranfield search with vectors, hybrids, feedback and diversity."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cranfield as package
from tests.cli.conftest import Cranfield
from tests.lab.servers import Request, Response, serving
from tests.lab.test_embeddings import Server, vector
from tests.waiting import TIMEOUT

DOCS = """{"_id": "a", "title": "Lamps", "text": "a red bicycle lamp"}
{"_id": "b", "text": "bells"}
{"_id": "c", "text": "lamp oil"}
"""
TOPICS = '{"_id": "1", "text": "red lamps"}\n{"_id": "2", "text": "bells"}\n'
VECTORS = np.array([[1.0, 0.0], [0.0, 5.0], [0.8, 0.6]], dtype=np.float32)
QUERIES = np.array([[1.0, 0.2], [0.5, 0.5]], dtype=np.float16)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cranfield: Cranfield) -> Path:
    pytest.importorskip("snowballstemmer")
    (tmp_path / "docs.jsonl").write_text(DOCS)
    (tmp_path / "topics.jsonl").write_text(TOPICS)
    np.save(tmp_path / "docs.npy", VECTORS)
    np.save(tmp_path / "topics.npy", QUERIES)
    monkeypatch.chdir(tmp_path)
    cranfield("index", "docs.jsonl", "-o", "index", "--quiet")
    return tmp_path


DENSE = ("search", "index", "topics.jsonl", "--system", "dense", "--vectors", "docs.npy")


def test_vectors_are_searched_and_the_output_says_how(cranfield: Cranfield, folder: Path) -> None:
    inner = cranfield(*DENSE, "--query-vectors", "topics.npy", "-o", "inner.run")
    assert inner.code == 0 and "2 topics, 6 documents (dense, inner product)." in inner.err
    assert package.read_run("inner.run").tag == "dense"
    assert list(package.read_run("inner.run").to_dict()["1"]) == ["a", "b", "c"]
    cosine = cranfield(*DENSE, "--query-vectors", "topics.npy", "--similarity", "cosine", "-o", "cosine.run")
    assert "6 documents (dense:similarity=cosine)." in cosine.err
    run = package.read_run("cosine.run")
    assert run.tag == "dense:similarity=cosine" and list(run.to_dict()["2"]) == ["c", "a", "b"]
    assert run.to_dict()["1"]["a"] == pytest.approx(1 / np.hypot(1, float(np.float16(0.2))))
    named = cranfield(
        *DENSE[:4], "dense:similarity=cosine", *DENSE[5:], "--query-vectors", "topics.npy", "--quiet", "-o", "named.run"
    )
    assert named.err == "" and Path("named.run").read_bytes() == Path("cosine.run").read_bytes()


def test_no_index_is_needed_where_vectors_have_ids(cranfield: Cranfield, folder: Path) -> None:
    cranfield(*DENSE, "--query-vectors", "topics.npy", "-o", "with.run")
    Path("docs.ids.txt").write_text("a\nb\nc\n")
    alone = cranfield("search", "docs.npy", "topics.jsonl", "--query-vectors", "topics.npy", "-o", "alone.run")
    assert alone.code == 0 and "(dense, inner product)" in alone.err
    Path("topics.ids.txt").write_text("1\n2\n")
    assert cranfield("search", "docs.npy", "topics.npy", "-o", "only.run").code == 0
    assert Path("with.run").read_bytes() == Path("alone.run").read_bytes() == Path("only.run").read_bytes()
    assert cranfield("search", "docs.npy", "topics.npy", "--system", "dense+mmr").code == 0


def test_a_hybrid_by_one_command_is_what_fuse_makes_of_two_runs(cranfield: Cranfield, folder: Path) -> None:
    given = ("--query-vectors", "topics.npy", "--similarity", "cosine")
    cranfield("search", "index", "topics.jsonl", "-o", "bm25.run")
    cranfield(*DENSE, *given, "-o", "dense.run")
    for method in ("rrf", "combsum"):
        fused = cranfield("fuse", "bm25.run", "dense.run", "--method", method, "-o", "fused.run")
        assert fused.code == 0
        hybrid = cranfield(*DENSE[:3], "--system", "bm25", *DENSE[3:], *given, "--fuse", method, "-o", "hybrid.run")
        assert hybrid.code == 0 and f"({method} of bm25; dense:similarity=cosine)" in hybrid.err
        found = package.read_run("hybrid.run")
        assert found.to_dict() == package.read_run("fused.run").to_dict() and set(found.to_dict()["2"]) == {*"abc"}
        assert found.tag == f"{method}(bm25,dense:similarity=cosine)"


def test_diversity_is_by_words_or_by_the_vectors_given(cranfield: Cranfield, folder: Path) -> None:
    words = cranfield("search", "index", "topics.jsonl", "--system", "bm25+rm3+mmr:lambda=0.7", "-o", "words.run")
    assert words.code == 0 and "(bm25+rm3+mmr:lambda=0.7, mmr by cosines of words)." in words.err
    scores = list(package.read_run("words.run").to_dict()["1"].values())
    assert all(np.diff(scores) < 0)
    given = cranfield("search", "index", "topics.jsonl", "--system", "bm25+mmr", "--vectors", "docs.npy", "-o", "x.run")
    assert given.code == 0 and "(bm25+mmr, mmr by cosines of docs.npy)." in given.err


def test_feedback_from_judgments_is_for_systems_that_learn(cranfield: Cranfield, folder: Path) -> None:
    Path("qrels").write_text("1 0 c 1\n1 0 gone 1\n2 0 b 0\n")
    for system in ("bm25+rm3", "bm25+rm3-best", "bm25+rm3-fused", "bm25+rocchio", "bm25+rsj"):
        found = cranfield("search", "index", "topics.jsonl", "--system", system, "--feedback", "qrels", "-o", "x.run")
        assert found.code == 0 and "Note: 1 document given as relevant not in the index: 'gone'." in found.err
        assert "c" in package.read_run("x.run").to_dict()["1"]
    failed = cranfield("search", "index", "topics.jsonl", "--feedback", "qrels")
    assert failed.code == 2 and "--feedback needs a system that learns from documents, such as bm25+rm3" in failed.err


def test_what_is_wrong_is_said(cranfield: Cranfield, folder: Path) -> None:
    np.save("short.npy", VECTORS[:2])
    np.save("wide.npy", np.ones((2, 3)))
    np.save("nan.npy", np.where(VECTORS > 1, np.nan, VECTORS))
    np.save("zero.npy", np.where(VECTORS > 1, 0, VECTORS))
    given, search = ("--query-vectors", "topics.npy"), ("search", "index", "topics.jsonl")
    for args, says in (
        ((*search, "--system", "dense"), "dense needs vectors of documents and of topics: --vectors and"),
        ((*search, "--system", "dense", *given), "dense needs vectors of documents"),
        (DENSE, "dense needs vectors of documents and of topics"),
        ((*search, "--vectors", "docs.npy"), "vectors are for dense and mmr; bm25 compares words"),
        ((*search, "--similarity", "cosine"), "--similarity is for dense; bm25 compares words"),
        ((*search, "--model", "small"), "--model, --api-key-env and --collection need an endpoint"),
        ((*DENSE[:-1], "short.npy", *given), "short.npy: 2 vectors for 3 documents in index."),
        ((*DENSE, "--query-vectors", "wide.npy"), "wide.npy: vectors of 3 numbers, but those of documents (docs.npy)"),
        ((*DENSE[:-1], "nan.npy", *given), "nan.npy: 1 vector with NaN, infinity"),
        ((*DENSE[:-1], "zero.npy", *given, "--similarity", "cosine"), "zero.npy: 1 vector of zeros only"),
        ((*DENSE[:-1], "none.npy", *given), "none.npy: there is no such file"),
        (("search", "docs.npy", "topics.jsonl", *given), "docs.npy: of which documents are these vectors?"),
        (("search", "index", "topics.npy", "--system", "dense"), "topics.npy: these vectors have no topic ids"),
        (
            ("search", "sqlite:x.db", "topics.jsonl", "--vectors", "docs.npy"),
            "vectors need our own index; other engines rank",
        ),
        ((*search, "--system", "dense", "--embeddings", "host:80", "--model", "m"), "not a URL of a server: 'host:80'"),
        ((*search, "--system", "dense+rm3"), "feedback adds words to a query, and dense has none"),
        (
            (*search, "--system", "dense:similarity=l2"),
            "dense: similarity='l2' is unknown: expected one of inner, cosine.",
        ),
        ((*search, "--system", "bm25+mmr:beta=1"), "mmr has no parameter 'beta': it has lambda, docs."),
        ((*search, "--system", "bm25", "--system", "lm", "--fuse", "mean"), "'mean'"),
        (("search", "docs.npy", "topics.jsonl", "--system", "bm25+mmr"), "docs.npy: of which documents"),
    ):
        failed = cranfield(*args)
        assert failed.code == 2 and says in failed.err, (args, failed.err)


def test_an_endpoint_gives_vectors_of_documents_once_and_of_queries_each_time(
    cranfield: Cranfield, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-s3cret")
    server = Server()
    with serving(server) as host:
        search = ("search", "index", "topics.jsonl", "--system", "dense", "--embeddings", f"http://{host}/v1")
        first = cranfield(*search, "--model", "lab/small", "--api-key-env", "LAB_KEY", "--batch", 2, "-o", "one.run")
        assert first.code == 0 and "2 topics, 6 documents (dense, inner product)." in first.err, first.err
        assert server.asked == [["Lamps a red bicycle lamp", "bells"], ["lamp oil"], ["red lamps", "bells"]]
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-s3cret"}
        assert package.read_run("one.run").to_dict()["2"]["b"] == pytest.approx(
            np.dot(vector("bells"), vector("bells"))
        )
        server.asked = []
        kept = "index.lab-small.npy"
        assert cranfield(*search, "--model", "lab/small", "-o", "two.run").code == 0
        assert server.asked == [["red lamps", "bells"]]
        assert Path("one.run").read_bytes() == Path("two.run").read_bytes()
        # vectors alone know the model they are of
        assert cranfield("search", kept, *search[2:], "-o", "three.run").code == 0
        assert Path("one.run").read_bytes() == Path("three.run").read_bytes()
        assert json_of(server.requests[-1])["model"] == "lab/small"
        server.asked = []
        assert cranfield(*search[:3], "--system", "bm25+mmr", *search[5:], "--model", "lab/small").code == 0
        assert server.asked == []  # mmr compares documents
        other = cranfield(*search, "--model", "large", "--vectors", kept)
        assert other.code == 2 and 'were made otherwise (model "lab/small", now "large")' in other.err
        unnamed = cranfield(*search)
        assert unnamed.code == 2 and "which model? Name it with --model" in unnamed.err


def json_of(request: Request) -> dict[str, str]:
    import json

    found: dict[str, str] = json.loads(request.body)
    return found


def test_an_endpoint_that_fails_leaves_what_it_gave_and_the_search_goes_on(cranfield: Cranfield, folder: Path) -> None:
    server = Server(lambda n, texts: Response(500, b"out of memory") if "lamp oil" in texts else None)
    with serving(server) as host:
        search = (
            *("search", "index", "topics.jsonl", "--system", "dense", "--embeddings", f"http://{host}"),
            *("--model", "small", "--batch", 1, "-o", "x.run"),
        )
        failed = cranfield(*search, "--retries", 0)
        assert failed.code == 2 and "answered 500 Internal Server Error: out of memory" in failed.err
        assert "2 vectors got so far kept in index.small.npy.part; the same command goes on from there." in failed.err
        server.fail, server.asked = lambda n, texts: None, []
        assert cranfield(*search).code == 0 and server.asked == [["lamp oil"], ["red lamps"], ["bells"]]


def test_documents_that_moved_or_changed_are_told(cranfield: Cranfield, folder: Path) -> None:
    server = Server()
    with serving(server) as host:
        search = (*DENSE[:-2], "--embeddings", f"http://{host}", "--model", "small")
        Path("docs.jsonl").rename("moved.jsonl")
        gone = cranfield(*search)
        assert gone.code == 2 and "not where the index was made from ('docs.jsonl'). Name them with" in gone.err
        Path("other.jsonl").write_text('{"_id": "z", "text": "zeppelin"}\n')
        other = cranfield(*search, "--collection", "other.jsonl")
        assert other.code == 2 and "other.jsonl: document 'z' is not in the index" in other.err
        assert not server.requests
        Path("other.jsonl").write_text('{"_id": "a", "text": "lamp"}\n')
        fewer = cranfield(*search, "--collection", "other.jsonl")
        assert fewer.code == 2 and "index.small.npy: 2 documents in index without a vector: 'b', 'c'." in fewer.err
        Path("index.small.npy").unlink()
        assert cranfield(*search, "--collection", "moved.jsonl").code == 0


def test_a_disk_that_fills_leaves_what_was_got(folder: Path) -> None:
    lines = (f'{{"_id": "d{i}", "text": "word{i}"}}\n' for i in range(200))
    Path("many.jsonl").write_text("".join(lines))
    run = [sys.executable, "-m", "cranfield"]
    subprocess.run([*run, "index", "many.jsonl", "-o", "many"], check=True, capture_output=True)
    server = Server()
    with serving(server) as host:
        search = [*run, "search", "many", "topics.jsonl", "--system", "dense", "--embeddings", f"http://{host}"]
        search += ["--model", "small", "--batch", "20", "-o", "x.run"]

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))

        failed = subprocess.run(search, preexec_fn=limit, capture_output=True, text=True, timeout=TIMEOUT)
        assert failed.returncode == 2 and "many.small.npy: cannot be written: File too large." in failed.stderr
        assert "What was got is kept; the same command goes on from there." in failed.stderr
        assert 3 < len(server.asked) < 10
        part = Path("many.small.npy.part").read_bytes()
        kept = (len(part) - part.index(b"\n") - 1) // (16 + 4 * 4)  # the last one was cut short
        assert len(part) == 4000 and kept > 80
        server.asked = []
        done = subprocess.run(search, capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 0 and server.asked[0][0] == f"word{kept}"
        assert sum(map(len, server.asked[:-1])) == 200 - kept


def test_an_index_of_other_words_gets_other_vectors(cranfield: Cranfield, folder: Path) -> None:
    server = Server()
    with serving(server) as host:
        search = (*DENSE[:-2], "--embeddings", f"http://{host}", "--model", "small", "-o", "x.run")
        assert cranfield(*search).code == 0
        lines = Path("docs.jsonl").read_text().splitlines()
        Path("docs.jsonl").write_text("\n".join([lines[1], lines[0].replace("red", "old"), *lines[2:]]) + "\n")
        assert cranfield("index", "docs.jsonl", "-o", "index").code == 0
        server.asked = []
        assert cranfield(*search).code == 0
        assert server.asked[0] == ["Lamps a old bicycle lamp"] and len(server.asked) == 2
        expected = np.dot(vector("red lamps"), vector("Lamps a old bicycle lamp"))
        assert package.read_run("x.run").to_dict()["1"]["a"] == pytest.approx(expected)


def test_a_field_that_no_topic_has_is_an_error(cranfield: Cranfield, folder: Path) -> None:
    for fields, says in (
        ("titel", "topics.jsonl: no topic has a field 'titel'; there are title. Choose with fields=/--fields."),
        ("title,description", "no topic has a field 'description'; there are title."),
        (",", "no field of the topics is named; there are title."),
    ):
        failed = cranfield("search", "index", "topics.jsonl", "--fields", fields, "-o", "x.run")
        assert failed.code == 2 and says in failed.err and not Path("x.run").exists(), failed.err


def test_a_format_of_topics_that_is_not_recognised_is_named_by_its_option(cranfield: Cranfield, folder: Path) -> None:
    Path("topics.odd").write_text("hello world\n")
    failed = cranfield("search", "index", "topics.odd")
    assert failed.code == 2 and "name it with format=/--topics-format." in failed.err


def test_a_note_ends_with_one_full_stop(cranfield: Cranfield, folder: Path) -> None:
    found = cranfield(
        *("search", "index", "topics.jsonl", "--system", "bm25", "--system", "dense", "--depth", 2, "-o", "x.run"),
        *("--vectors", "docs.npy", "--query-vectors", "topics.npy"),
    )
    assert found.code == 0 and found.err.endswith("Note: 1 document below rank 2 left out.\n"), found.err
