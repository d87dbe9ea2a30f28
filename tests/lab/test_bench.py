"""What systems cost, measured together: our own index, engines on disk, servers, commands and functions."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cranfield.data.collection import Document
from cranfield.errors import CranfieldError, InputError
from cranfield.lab import systems_under_test as subjects_module
from cranfield.lab.bench import Bench, Load, measure_indexing, of_indexing, of_latencies, run_bench
from cranfield.lab.costs import Cost, Indexing
from cranfield.lab.engines import Options, open_engine
from cranfield.lab.latency import Latency
from cranfield.lab.systems_under_test import CONNECTED, FRESH, KEPT, engine_subject, subjects_named
from tests.lab.servers import FakeElastic, Request, Response, serving

DOCUMENTS = [Document(f"d{i}", f"bicycle number {i}", "wheels and lamps " * (i + 1)) for i in range(8)]
QUERIES = {"1": "bicycle", "2": "lamps", "3": "wheels"}
QUICK = Load(repetitions=2, warm_up=1, clients=(1, 2), seconds=0.05, rate=100, cold=2)
HITS = Response.of([["d1", 2.5]])
Serving = Callable[[Callable[[Request], Response]], str]


@pytest.fixture
def serve() -> Iterator[Serving]:
    """Servers that end with the test."""
    from contextlib import ExitStack

    with ExitStack() as open_ones:
        yield lambda answer: f"http-get:http://{open_ones.enter_context(serving(answer))}/s?q={{query}}&k={{depth}}"


def account(found: Bench, system: str) -> Any:
    return next(one for one in found.systems if one.system == system)


def test_functions_are_measured_and_compared() -> None:
    found = run_bench({"a": lambda: str.upper, "b": lambda: str.lower}, QUERIES, QUICK, baseline="b")
    assert len(found.latencies) == 2 * 2 * 3 and len(found.cold) == 2 * 2 and found.queries == 3
    assert [one.system for one in found.closed] == [one.system for one in found.started] == ["a", "b"]
    assert [(one.system, one.clients) for one in found.throughputs] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert [(one.system, one.baseline) for one in found.ratios] == [("a", "b")]
    assert [(one.kind, one.errors, one.index_bytes) for one in found.systems] == [("function", 0, None)] * 2
    assert [one.searches for one in found.opened] == [5, 5] and found.energy is None and not found.notes


def test_an_index_an_engine_a_server_and_a_command_are_compared_in_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serving
) -> None:
    pytest.importorskip("tantivy")
    monkeypatch.chdir(tmp_path)
    for kind in ("embedded", "sqlite", "tantivy"):
        open_engine(f"{kind}:own.{kind}").index(DOCUMENTS)
    program = tmp_path / "search.py"
    program.write_text("print('d1 2.5')")
    command = f"command:{sys.executable} -S -I {program} {{query}}"
    texts = ["bm25", "lsi", "own.sqlite", "own.tantivy", f"ours={serve(lambda request: HITS)}", command]
    found = run_bench(subjects_named(texts, "own.embedded"), QUERIES, QUICK, baseline="command")
    names = ["bm25", "lsi", "sqlite", "tantivy", "ours", "command"]
    assert [one.system for one in found.systems] == names == [one.system for one in found.closed]
    assert [one.errors for one in found.systems] == [0] * 6 and not found.unanswered
    assert [one.documents for one in found.systems] == [8, 8, 8, 8, None, None]
    assert len(found.latencies) == 6 * 6 and len(found.throughputs) == 12 and len(found.opened) == 6
    # starting a program takes milliseconds, asking a library does not: orders of magnitude apart
    ratios = {one.system: one.ratio.value for one in found.ratios}
    assert set(ratios) == set(names) - {"command"} and ratios["sqlite"] < 1 > ratios["bm25"]
    assert found.machine["engines"].keys() == {"embedded", "sqlite", "tantivy"}
    means = [one.cold_means for one in found.systems]
    assert set(means[:4]) <= {FRESH, KEPT} and means[4] == CONNECTED and "started for every search" in means[5]


def test_each_client_has_its_own_connection_to_a_server(serve: Serving) -> None:
    asking: list[int] = []
    all_ask = threading.Event()

    def answer(request: Request) -> Response:
        asking.append(1)
        if len(asking) == 3:
            all_ask.set()
        all_ask.wait(0.25)  # for the others
        asking.pop()
        return HITS

    subject = engine_subject("", serve(answer))
    load = Load(repetitions=1, warm_up=0, clients=(3,), seconds=0.3, cold=0)
    (found,) = run_bench({"s": subject}, QUERIES, load).throughputs
    assert all_ask.is_set() and found.errors == 0 and found.searches >= 3


def test_a_stall_of_a_server_is_charged_to_all_queries_that_were_due_meanwhile(serve: Serving) -> None:
    """A server that answers one request at a time, and once takes 0.8 s: at 100 queries a second, some 70 wait."""
    lock, asked = threading.Lock(), [0]

    def answer(request: Request) -> Response:
        with lock:
            asked[0] += 1
            if asked[0] == 40:  # after the first start, three to search and some to connect
                time.sleep(0.8)
            return HITS

    load = Load(repetitions=1, warm_up=0, clients=(), seconds=1.0, rate=100, cold=0, connections=8)
    found = run_bench({"s": engine_subject("s", serve(answer))}, QUERIES, load)
    (at_rate,) = found.opened
    # about 70 of 100 were due while the server stood still; counted from when they were sent, only 8 would be slow
    assert at_rate.searches == 100 and at_rate.percentiles[50].value > 50 and at_rate.longest >= 790


def test_answers_of_500_are_counted_with_the_first_message_and_the_rest_is_kept(serve: Serving) -> None:
    def answer(request: Request) -> Response:
        return Response(500, b"out of memory") if "lamps" in request.query["q"] else HITS

    found = run_bench({"ours": engine_subject("ours", serve(answer)), "other": lambda: str.upper}, QUERIES, QUICK)
    ours = account(found, "ours")
    warm = [x for x in found.latencies if x.system == "ours"]
    assert len(warm) == 4 and {x.query for x in warm} == {"1", "3"}
    assert "answered 500" in ours.first_error and "out of memory" in ours.first_error
    assert [x.repetition for x in found.failures["latency"]] == [0, 1, 2]
    assert ours.errors >= 3 + sum(one.errors for one in found.throughputs) > 3
    assert account(found, "other").errors == 0
    (ratio,) = found.ratios
    assert ratio.queries == 2 and ratio.left_out == ("2",)


def test_a_server_that_is_down_spoils_nothing_but_its_own_figures(serve: Serving) -> None:
    down = serve(lambda request: Response(fault="drop"))
    found = run_bench({"down": engine_subject("down", down), "up": lambda: str.upper}, QUERIES, QUICK)
    assert {x.system for x in found.latencies} == {"up"} == {one.system for one in found.throughputs}
    assert [one.system for one in found.unanswered] == ["down"] and "the request failed" in found.unanswered[
        0
    ].first_error
    assert found.ratios == () and "no query was answered by both: 'up'" in found.notes[0]


def test_broken_json_and_a_time_limit_are_failures_too(serve: Serving) -> None:
    broken = engine_subject("broken", serve(lambda request: Response(body=b"{")))
    slow = engine_subject(
        "slow", serve(lambda request: Response(body=HITS.body, fault="slow")), options=Options(timeout=0.05, retries=0)
    )
    load = Load(repetitions=1, warm_up=0, clients=(), cold=1)
    found = run_bench({"broken": broken, "slow": slow}, {"1": "x"}, load)
    assert "not JSON" in account(found, "broken").first_error
    assert "no answer within 0.05 s" in account(found, "slow").first_error


def test_a_system_that_cannot_be_started_is_an_error_before_anything_is_measured(tmp_path: Path) -> None:
    asked: list[str] = []
    for url, says in (
        (f"sqlite:{tmp_path}/none.db", "no such index"),
        ("command:no-such {query}", "cannot be started"),
    ):
        systems = {"other": lambda: asked.append, "gone": engine_subject("gone", url)}
        with pytest.raises(InputError, match=says):
            run_bench(systems, QUERIES, QUICK)
    assert len(asked) <= 2


def test_names_and_the_baseline_are_checked_first() -> None:
    with pytest.raises(InputError, match="no system 'x' to compare with: there are 'a'"):
        run_bench({"a": lambda: str.upper}, QUERIES, QUICK, baseline="x")
    with pytest.raises(InputError, match="cannot name a query or a system"):
        run_bench({"a\tb": lambda: str.upper}, QUERIES, QUICK)
    with pytest.raises(InputError, match="nothing to measure"):
        run_bench({}, QUERIES, QUICK)
    with pytest.raises(InputError, match="nothing to measure"):
        run_bench({"a": lambda: str.upper}, {}, QUICK)


def test_an_overloaded_system_is_said_not_to_keep_up() -> None:
    lock = threading.Lock()

    def search(text: str) -> None:
        with lock:
            time.sleep(0.02)

    load = Load(repetitions=1, warm_up=0, clients=(), seconds=0.3, rate=200, cold=0, connections=8)
    found = run_bench({"slow": lambda: search, "quick": lambda: str.upper}, QUERIES, load)
    assert [note.partition(" answers")[0] for note in found.notes if "slow" in note] == ["At 200 queries a second slow"]


def test_cold_is_without_the_files_in_memory_where_that_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_engine(f"embedded:{tmp_path}/own").index(DOCUMENTS)
    systems = subjects_named(["bm25"], str(tmp_path / "own"))
    for can, means in ((True, FRESH), (False, KEPT)):
        dropped: list[Path] = []
        monkeypatch.setattr(
            subjects_module, "dropped", lambda place, can=can, dropped=dropped: dropped.append(place) or can
        )
        found = run_bench(systems, QUERIES, Load(1, 0, (), cold=3))
        assert dropped == [tmp_path / "own"] * 3 and found.systems[0].cold_means == means and len(found.cold) == 3


def test_no_more_programs_run_than_clients_or_queries_ask_for(tmp_path: Path) -> None:
    """A program has no connection to make, so that none is started before the time begins."""
    ran = tmp_path / "ran"
    subject = engine_subject("", f"shell:echo x >> {ran}; echo d1 1; : {{query}}")
    load = Load(repetitions=1, warm_up=0, clients=(), seconds=0.2, rate=30, cold=1)
    found = run_bench({"s": subject}, QUERIES, load)
    # one at first, one cold, three one at a time, six at the rate
    assert len(ran.read_text().split()) == 1 + 1 + 3 + 6 and found.opened[0].searches == 6


def test_phases_are_shown_as_they_go() -> None:
    shown: list[tuple[str, int | None]] = []

    def showing(items: Any, total: int | None, label: str) -> Any:
        shown.append((label, total))
        return items

    run_bench({"a": lambda: str.upper}, QUERIES, QUICK, showing=showing)
    assert shown == [("starting", 2), ("searching", 9), ("at a rate", 1), ("by clients", 2)]


@pytest.mark.parametrize("engine", ["embedded", "sqlite", "tantivy"])
def test_indexing_is_measured_with_every_engine_on_disk(tmp_path: Path, engine: str) -> None:
    if engine == "tantivy":
        pytest.importorskip("tantivy")
    file = tmp_path / "documents.tsv"
    file.write_text("".join(f"{one.id}\t{one.text}\n" for one in DOCUMENTS))
    documents = [Document(one.id, "", one.text) for one in DOCUMENTS]
    found = measure_indexing(str(file), documents, engine=engine)
    assert found.documents == 8 and found.text_bytes == sum(len(one.text) for one in DOCUMENTS)
    assert found.index_bytes and found.engine == engine and found.version
    assert found.cost.wall > 0 and found.cost.cpu > 0 and found.cost.memory > 5e6
    assert found.temporary_bytes is not None and found.temporary_bytes >= 0


def test_of_a_server_the_size_is_asked_for_and_the_disk_is_not_seen(tmp_path: Path) -> None:
    file = tmp_path / "documents.tsv"
    file.write_text("".join(f"{one.id}\t{one.text}\n" for one in DOCUMENTS))
    with serving(FakeElastic()) as host:
        url = f"opensearch+http://me:s3cret@{host}/bicycles"
        found = measure_indexing(str(file), DOCUMENTS, engine=url)
        assert found.documents == 8 and found.cost.disk is None and found.temporary_bytes is None
        assert "s3cret" not in found.engine and found.engine.startswith("opensearch+http://")


def test_postgresql_is_measured_like_any_other(postgres: str, tmp_path: Path) -> None:
    file = tmp_path / "documents.tsv"
    file.write_text("".join(f"{one.id}\t{one.text}\n" for one in DOCUMENTS))
    url = f"{postgres}?table=bicycles"
    indexing = measure_indexing(str(file), DOCUMENTS, engine=url)
    assert indexing.index_bytes and indexing.version and "s3cret" not in indexing.engine
    found = run_bench({"pg": engine_subject("", url)}, QUERIES, QUICK, indexing=indexing)
    (one,) = found.systems
    assert (one.kind, one.errors, one.cold_means) == ("postgresql", 0, CONNECTED) and one.index_bytes
    assert len(found.latencies) == 6 and found.throughputs[1].searches > 0


def test_an_attempt_that_goes_on_is_not_taken_for_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "documents.tsv"
    file.write_text("".join(f"{one.id}\t{one.text}\n" for one in DOCUMENTS))
    monkeypatch.setattr("cranfield.lab.engines.elastic.MOST_DOCUMENTS", 2)

    def interrupted() -> Iterator[Document]:
        yield from DOCUMENTS[:5]
        raise KeyboardInterrupt

    with serving(FakeElastic()) as host:
        url = f"opensearch+http://{host}/bicycles"
        with closing(open_engine(url)) as elastic, pytest.raises(KeyboardInterrupt):
            elastic.index(interrupted())
        # as PostgreSQL does, and 'cranfield index' then says
        said = f"{url}: 8 documents, 4 documents of them from before (title, text; postgresql 15)."
        with monkeypatch.context() as patched:
            patched.setattr("cranfield.lab.bench.cost_and_words", lambda command: (Cost(1.0, 1.0, 10, 60), said))
            with pytest.raises(CranfieldError, match="only the rest was measured. Run the same again"):
                measure_indexing(str(file), DOCUMENTS, engine=url)
        assert measure_indexing(str(file), DOCUMENTS, engine=url).documents == 8


def test_what_an_engine_refuses_to_index_is_said_in_its_own_words(tmp_path: Path) -> None:
    file = tmp_path / "documents.tsv"
    file.write_text("d1\tlamps\nd1\tlamps\n")
    with pytest.raises(CranfieldError, match="^indexing with sqlite: .*'d1' comes twice"):
        measure_indexing(str(file), DOCUMENTS, engine="sqlite")
    with pytest.raises(CranfieldError, match="a command can only be searched"):
        measure_indexing(str(file), DOCUMENTS, engine="command:true {query}")


def test_figures_of_indexing_alone_and_of_a_file_alone() -> None:
    indexing = Indexing(8, 100, 50, Cost(1.0, 1.0, 10, 60), "sqlite", "3.40")
    alone = of_indexing([indexing])
    assert alone.indexing is indexing and alone.machine["engines"] == {"sqlite": "3.40"} and alone.systems == ()
    found = of_latencies([Latency("1", s, 1, 2.0) for s in "ab"], "b")
    assert found.ratios[0].system == "a" and [one.kind for one in found.systems] == ["file"] * 2
    with pytest.raises(CranfieldError, match="no latencies of 'x'"):
        of_latencies([Latency("1", "a", 1, 2.0)], "x")
    both = run_bench({"a": lambda: str.upper}, QUERIES, Load(1, 0, (), cold=0), indexing=indexing)
    assert both.indexings == (indexing,) and both.machine["engines"] == {"sqlite": "3.40"}
