"""cranfield index and cranfield search with engines: what they print, what they keep, how they fail."""

from __future__ import annotations

import importlib
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cranfield as package
from cranfield.errors import InputError
from cranfield.lab import engines
from tests.cli.conftest import Cranfield
from tests.lab.servers import FakeElastic, Request, Response, serving
from tests.waiting import TIMEOUT

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
        (("index", "docs.jsonl"), "no output: give -o INDEX"),
        (("index", "docs.jsonl", "--engine", "sqlite"), "--engine sqlite needs an output: -o INDEX"),
        (("index", "docs.jsonl", "--engine", "lucene", "-o", "x"), "-o x is for the engines embedded, tantivy, sqlite"),
        (("index", "docs.jsonl", "--engine", "lucene"), "unknown engine 'lucene': expected embedded, tantivy, sqlite"),
        (("index", "docs.jsonl", "--engine", "solr://me:pw@host/x"), "no engine for 'solr://***@host/x': expected one"),
        (("index", "docs.jsonl", "--engine", "sqlite:x", "-o", "y"), "-o y is for the engines"),
        (("index", "docs.jsonl", "--engine", "sqlite:x", "--stemmer", "none"), "need our own index"),
        (("index", "docs.jsonl", "--engine", "sqlite:"), "needs a place, as in sqlite:FILE"),
        (("index", "docs.jsonl", "--engine", "sqlite:other/letter.txt"), "was not made by 'cranfield index'"),
        (("index", "docs.jsonl", "--engine", "command:./x {query}"), "a command can only be searched"),
        (
            ("index", "docs.jsonl", "--engine", "http-get:http://h/{query}?key=k1"),
            "http://h/{query}?key=***: a template",
        ),
        (("search", "sqlite:none.db", "topics.jsonl"), "none.db: there is no such index."),
        (
            ("search", "lamps.db", "topics.jsonl", "--system", "lm"),
            "--system, --feedback and vectors need our own index",
        ),
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
        assert "The answers to 2 queries are in run.part; --continue searches for the rest." in failed.err
        assert not Path("run").exists() and package.read_run("run.part").to_dict() == {"1": {"a": 2.5}}
        printed = cranfield(*search[:3], "--retries", 0)
        assert (
            printed.code == 2
            and printed.out == "1 Q0 a 1 2.5 http\n"
            and "The results so far are printed" in printed.err
        )
        healed = True
        asked.clear()
        assert cranfield(*search, "--continue").code == 0
        assert asked == ["bells"]
        assert package.read_run("run").to_dict() == {"1": {"a": 2.5}, "2": {"a": 2.5}}
        assert not Path("run.part").exists()


def test_notes_say_what_is_odd_about_answers(cranfield: Cranfield, folder: Path) -> None:
    Path("search.py").write_text("print('a 1\\nb 2\\na 3')")
    found = cranfield("search", f"command:{sys.executable} search.py {{query}}", "topics.jsonl", "-o", "run")
    assert found.code == 0 and "Note: 3 documents came again for the same query; the first place counts." in found.err
    assert "Note: 3 queries came in an order that is not that of the scores; scores rank" in found.err


@pytest.mark.parametrize("engine", ["tantivy", "sqlite"])
def test_a_text_that_was_changed_since_an_attempt_failed_is_indexed_as_it_is_now(
    engine: str, cranfield: Cranfield, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "tantivy":
        pytest.importorskip("tantivy")
    monkeypatch.setattr(importlib.import_module(f"cranfield.lab.engines.{engine}"), "COMMIT", 20)
    lines = [f'{{"_id": "d{i}", "text": "lamp {i}"}}\n' for i in range(50)]
    index = ("index", "many.jsonl", "-o", "index", "--engine", engine)
    Path("many.jsonl").write_text("".join(lines) + "{broken\n")
    assert cranfield(*index).code == 2
    Path("many.jsonl").write_text("".join(lines))
    kept = cranfield(*index)
    assert (
        kept.code == 0
        and "50 documents, 40 documents of them from before" in kept.err
        and "started over" not in kept.err
    )
    Path("many.jsonl").write_text("".join(lines) + "{broken\n")
    assert cranfield(*index).code == 2
    Path("many.jsonl").write_text("".join(['{"_id": "d0", "text": "zeppelin"}\n', *lines[1:]]))
    made = cranfield(*index)
    assert made.code == 0 and "50 documents," in made.err and "from before" not in made.err
    assert "Note: started over: the collection has changed since 40 documents were indexed." in made.err
    assert "\n3 Q0 d0 1 " in cranfield("search", "index", "topics.jsonl").out


def test_postgresql_without_its_library_says_what_to_install(
    cranfield: Cranfield, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {"psycopg", "psycopg.sql", *(name for name in sys.modules if name.partition(".")[0] == "psycopg")}:
        monkeypatch.setitem(sys.modules, name, None)
    url = "postgresql://lab@127.0.0.1:9/x?table=docs"
    for args in (("search", url, "topics.jsonl"), ("index", "docs.jsonl", "--engine", url)):
        failed = cranfield(*args)
        assert failed.code == 2
        assert failed.err == "cranfield: PostgreSQL needs an extra: pip install 'cranfield[postgres]'\n"


def ten_each(request: Request) -> Response:
    query = request.query["q"][0]
    return Response.of([{"id": f"{query}-{i}", "score": 10 - i} for i in range(10)])


def forty_topics() -> dict[str, dict[str, float]]:
    """Topics in a file, and what is found for each."""
    with Path("forty.jsonl").open("w") as out:
        for i in range(40):
            out.write(f'{{"_id": "t{i}", "text": "word{i}"}}\n')
    return {f"t{i}": {f"word{i}-{j}": 10.0 - j for j in range(10)} for i in range(40)}


@pytest.mark.slow
def test_answers_are_kept_as_they_come_so_that_a_full_disk_loses_none_that_fitted(folder: Path) -> None:
    everything = forty_topics()
    asked: list[str] = []

    def answer(request: Request) -> Response:
        asked.append(request.query["q"][0])
        return ten_each(request)

    with serving(answer) as host:
        search = [sys.executable, "-m", "cranfield", "search", f"http-get:http://{host}/?q={{query}}", "forty.jsonl"]
        search += ["-o", "r.run"]

        def run(*more: str, bytes_: int | None = None) -> subprocess.CompletedProcess[str]:
            limit = None if bytes_ is None else limiting(bytes_)
            return subprocess.run([*search, *more], preexec_fn=limit, capture_output=True, text=True, timeout=TIMEOUT)

        failed = run(bytes_=2048)
        kept = package.read_run("r.run.part").to_dict()
        assert failed.returncode == 2 and 3 < len(kept) < 20, failed.stderr
        assert failed.stderr == (
            f"cranfield: r.run.part: cannot be written: File too large. The answers to {len(kept)} queries are in "
            "r.run.part; --continue searches for the rest.\n"
        )
        assert kept == {query: everything[query] for query in kept} and len(asked) == len(kept) + 1
        # once more without room for more, then with room for all answers but not for the run
        assert run("--continue", bytes_=2048).returncode == 2
        assert package.read_run("r.run.part").to_dict() == kept
        asked.clear()
        assert run("--continue", bytes_=1 << 20).returncode == 0
        assert asked == [f"word{i}" for i in range(len(kept), 40)] and not Path("r.run.part").exists()
        assert package.read_run("r.run").to_dict() == everything
        Path("r.run").unlink()
        search[-1] = "r.csv"
        assert run().returncode == 0


def limiting(size: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def test_a_run_that_does_not_fit_on_the_disk_is_written_later_from_the_answers(
    cranfield: Cranfield, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = forty_topics()

    def full(*_: Any) -> None:
        raise InputError("cannot be written: No space left on device.", "r.run")

    with serving(ten_each) as host:
        search = ("search", f"http-get:http://{host}/?q={{query}}", "forty.jsonl", "-o", "r.run")
        with monkeypatch.context() as patched:
            patched.setattr("cranfield.cli.search.write_run", full)
            failed = cranfield(*search)
        assert failed.code == 2 and "All results are in r.run.part; --continue writes them." in failed.err
    assert cranfield(*search, "--continue").code == 0  # nobody is there to be asked any more
    assert package.read_run("r.run").to_dict() == everything


def test_a_search_that_is_killed_has_kept_its_answers(cranfield: Cranfield, folder: Path) -> None:
    everything = forty_topics()
    reached, go_on = threading.Event(), threading.Event()
    asked: list[str] = []

    def answer(request: Request) -> Response:
        asked.append(request.query["q"][0])
        if request.query["q"] == ["word25"] and not go_on.is_set():
            reached.set()
            go_on.wait(TIMEOUT)
        return ten_each(request)

    with serving(answer) as host:
        search = ("search", f"http-get:http://{host}/?q={{query}}", "forty.jsonl", "-o", "r.run")
        process = subprocess.Popen([sys.executable, "-m", "cranfield", *search], stderr=subprocess.DEVNULL)
        assert reached.wait(TIMEOUT)
        process.send_signal(signal.SIGKILL)
        process.wait()
        go_on.set()
        content = Path("r.run.part").read_bytes()
        Path("r.run.part").write_bytes(content[:-40])  # as if the last answer had been cut short
        asked.clear()
        assert cranfield(*search, "--continue").code == 0
    assert asked == [f"word{i}" for i in range(24, 40)]
    assert package.read_run("r.run").to_dict() == everything and not Path("r.run.part").exists()


def test_answers_are_kept_until_the_first_new_one(cranfield: Cranfield, folder: Path) -> None:
    forty_topics()
    with serving(ten_each) as host:
        search = ("search", f"http-get:http://{host}/?q={{query}}", "forty.jsonl", "--retries", 0, "-o", "r.run")
        assert cranfield(*search).code == 0
    Path("r.run.part").write_text("t0 Q0 x 1 1 kept\n# t0 answered\n")
    assert cranfield(*search).code == 2  # the server is gone
    assert Path("r.run.part").read_text() == "t0 Q0 x 1 1 kept\n# t0 answered\n"
    Path("r.run.part").write_text("a letter\n")
    wrong = cranfield(*search, "--continue")
    assert wrong.code == 2 and "r.run.part: these are no answers that a search has kept. Remove it." in wrong.err


def test_an_id_with_white_space_goes_into_a_format_that_can_hold_it(cranfield: Cranfield, folder: Path) -> None:
    with serving(lambda request: Response.of([["a b", 2.0], ["c", 1.0]])) as host:
        found = cranfield("search", f"http-get:http://{host}/?q={{query}}", "topics.jsonl", "-o", "r.csv")
    assert found.code == 0 and package.read_run("r.csv").to_dict()["1"] == {"a b": 2.0, "c": 1.0}


@pytest.mark.slow
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

    failed = subprocess.run(index, preexec_fn=limit, capture_output=True, text=True, timeout=TIMEOUT)
    assert failed.returncode == 2, failed.stderr
    assert failed.stderr.startswith("cranfield: ") and "internal error" not in failed.stderr
    assert "Traceback" not in failed.stderr and "panicked" not in failed.stderr
    assert "2 topics" not in failed.stderr
    found = subprocess.run([*run, "search", "index", "topics.jsonl"], capture_output=True, text=True)
    assert found.stdout.startswith("1 Q0 a 1 ")
    again = subprocess.run(index, capture_output=True, text=True, timeout=TIMEOUT)
    assert again.returncode == 0 and "3,000 documents" in again.stderr
