"""cranfield index and cranfield search with engines: what they print, what they keep, how they fail."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import cranfield as package
from cranfield.lab import engines
from tests.cli.conftest import Cranfield
from tests.lab.servers import FakeElastic, Request, Response, serving

DOCS = '{"_id": "a", "title": "Lamps", "text": "a red bicycle lamp"}\n{"_id": "b", "text": "bells"}\n'
TOPICS = '{"_id": "1", "text": "red lamps"}\n{"_id": "2", "text": "bells"}\n{"_id": "3", "text": "zeppelin"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs.jsonl").write_text(DOCS)
    (tmp_path / "topics.jsonl").write_text(TOPICS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("engine", ["tantivy", "sqlite", "embedded"])
def test_an_engine_is_chosen_by_name_or_by_url_and_found_again(engine: str, cranfield: Cranfield, folder: Path) -> None:
    if engine != "sqlite":
        pytest.importorskip("tantivy" if engine == "tantivy" else "snowballstemmer")
    made = cranfield("index", "docs.jsonl", "-o", "one", "--engine", engine)
    assert made.code == 0 and "2 documents" in made.err
    assert cranfield("index", "docs.jsonl", "--engine", f"{engine}:two", "--quiet").err == ""
    runs = [cranfield("search", index, "topics.jsonl", "--quiet").out for index in ("one", f"{engine}:two")]
    assert runs[0] == runs[1] and [line.split()[:3] for line in runs[0].splitlines()] == [
        ["1", "Q0", "a"],
        ["2", "Q0", "b"],
    ]
    said = cranfield("search", "one", "topics.jsonl", "-o", "run").err
    assert "3 topics, 2 documents" in said and "Nothing found for 1 topic: '3'." in said


def test_much_text_goes_to_tantivy(cranfield: Cranfield, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tantivy")
    pytest.importorskip("snowballstemmer")
    monkeypatch.setattr(engines, "LARGE", 50)
    made = cranfield("index", "docs.jsonl", "-o", "index")
    assert made.code == 0 and made.err.startswith("tantivy:index: 2 documents")
    assert cranfield("index", "docs.jsonl", "-o", "own", "--engine", "embedded").err.startswith("own: 2 documents")


def test_what_is_wrong_is_said(cranfield: Cranfield, folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "letter.txt").write_text("not ours")
    cranfield("index", "docs.jsonl", "-o", "lamps.db", "--engine", "sqlite")
    for args, says in (
        (("index", "docs.jsonl"), "where to? Give -o INDEX"),
        (("index", "docs.jsonl", "--engine", "sqlite"), "--engine sqlite needs -o INDEX"),
        (("index", "docs.jsonl", "--engine", "lucene", "-o", "x"), "-o x is for the engines embedded, tantivy, sqlite"),
        (("index", "docs.jsonl", "--engine", "lucene"), "no engine 'lucene': expected embedded, tantivy, sqlite"),
        (("index", "docs.jsonl", "--engine", "solr://me:pw@host/x"), "no engine for 'solr://***@host/x': expected one"),
        (("index", "docs.jsonl", "--engine", "sqlite:x", "-o", "y"), "-o y is for the engines"),
        (("index", "docs.jsonl", "--engine", "sqlite:x", "--stemmer", "none"), "are for our own index"),
        (("index", "docs.jsonl", "--engine", "sqlite:"), "needs a place, as in sqlite:FILE"),
        (("index", "docs.jsonl", "--engine", "sqlite:other/letter.txt"), "was not made by 'cranfield index'"),
        (("index", "docs.jsonl", "--engine", "command:./x {query}"), "a command can only be searched"),
        (
            ("index", "docs.jsonl", "--engine", "http-get:http://h/{query}?key=k1"),
            "http://h/{query}?key=***: a template",
        ),
        (("search", "sqlite:none.db", "topics.jsonl"), "none.db: there is no such index."),
        (("search", "lamps.db", "topics.jsonl", "--system", "lm"), "--system and --feedback are for our own index"),
        (("search", "command:no-such-program {query}", "topics.jsonl"), "no-such-program: cannot be started: No such"),
        (("search", "http-get:http://host/", "topics.jsonl"), "there is no {query} in it"),
    ):
        failed = cranfield(*args)
        assert failed.code == 2 and says in failed.err, failed.err
    assert (folder / "other" / "letter.txt").read_text() == "not ours"


def test_a_server_is_indexed_and_searched_and_no_secret_is_printed(cranfield: Cranfield, folder: Path) -> None:
    server = FakeElastic("lab", "s3cret/word")
    server.wrong.add("b")
    with serving(server) as host:
        url = f"opensearch+http://lab:s3cret%2Fword@{host}/docs"
        made = cranfield("index", "docs.jsonl", "--engine", url)
        assert made.code == 2 and "s3cret" not in made.err
        assert "1 document refused, the others are indexed: b: 400 mapper_parsing_exception" in made.err
        server.wrong.clear()
        made = cranfield("index", "docs.jsonl", "--engine", url)
        assert made.code == 0 and "//***@127" in made.err and "2 documents, 0.0 MB (title, text; opensearch" in made.err
        found = cranfield("search", url, "topics.jsonl", "-o", "run")
        assert found.code == 0 and package.read_run("run").to_dict() == {"1": {"a": 2.0}, "2": {"b": 1.0}}


def test_what_was_found_before_a_failure_is_kept_and_gone_on_from(cranfield: Cranfield, folder: Path) -> None:
    asked: list[str] = []

    def answer(request: Request) -> Response:
        asked.append(request.query["q"][0])
        if request.query["q"] == ["bells"] and not healed:
            return Response(500, b"out of memory")
        return Response.of({"hits": [{"id": "a", "score": 2.5}] if request.query["q"] != ["zeppelin"] else []})

    healed = False
    with serving(answer) as host:
        search = ("search", f"http-get:http://{host}/search?q={{query}}&k={{depth}}", "topics.jsonl", "-o", "run")
        failed = cranfield(*search, "--retries", 0)
        assert failed.code == 2 and "1 of 3 queries failed: '2'. The first: http://127.0.0.1" in failed.err
        assert "answered 500 Internal Server Error: out of memory" in failed.err
        assert "What was found is in run.part; --continue searches for the rest." in failed.err
        assert not Path("run").exists() and package.read_run("run.part").to_dict() == {"1": {"a": 2.5}}
        printed = cranfield(*search[:3], "--retries", 0)
        assert printed.code == 2 and printed.out == "1 Q0 a 1 2.5 http\n" and "What was found is printed" in printed.err
        healed = True
        asked.clear()
        assert cranfield(*search, "--continue").code == 0
        assert asked == ["bells", "zeppelin"]
        assert package.read_run("run").to_dict() == {"1": {"a": 2.5}, "2": {"a": 2.5}}
        assert not Path("run.part").exists()


def test_notes_say_what_is_odd_about_answers(cranfield: Cranfield, folder: Path) -> None:
    Path("search.py").write_text("print('a 1\\nb 2\\na 3')")
    found = cranfield("search", f"command:{sys.executable} search.py {{query}}", "topics.jsonl", "-o", "run")
    assert found.code == 0 and "Note: 3 documents came again for the same query; the first place counts." in found.err
    assert "Note: 3 queries came in an order that is not that of the scores; scores rank" in found.err


@pytest.mark.parametrize("engine", ["tantivy", "sqlite", "embedded"])
def test_a_disk_that_fills_is_said_and_the_old_index_stays(engine: str, folder: Path) -> None:
    if engine != "sqlite":
        pytest.importorskip("tantivy" if engine == "tantivy" else "snowballstemmer")
    with Path("many.jsonl").open("w") as out:
        for i in range(3000):
            out.write(f'{{"_id": "d{i}", "text": "word{i} lamp{i * 7} bell{i * 13} oil{i * 17} wheel{i * 19}"}}\n')
    run = [sys.executable, "-m", "cranfield"]
    index = [*run, "index", "many.jsonl", "-o", "index", "--engine", engine]
    subprocess.run([*run, "index", "docs.jsonl", "-o", "index", "--engine", engine], check=True, capture_output=True)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    failed = subprocess.run(index, preexec_fn=limit, capture_output=True, text=True, timeout=60)
    assert failed.returncode == 2, failed.stderr
    assert failed.stderr.startswith("cranfield: ") and "mistake of ours" not in failed.stderr
    assert "Traceback" not in failed.stderr and "panicked" not in failed.stderr
    assert "2 topics" not in failed.stderr
    found = subprocess.run([*run, "search", "index", "topics.jsonl"], capture_output=True, text=True)
    assert found.stdout.startswith("1 Q0 a 1 ")
    again = subprocess.run(index, capture_output=True, text=True, timeout=60)
    assert again.returncode == 0 and "3,000 documents" in again.stderr
