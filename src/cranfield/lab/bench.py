"""What systems cost: indexing, latency one query at a time and at a rate, throughput by many clients, energy."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.base import Record, join_names, pluralize, replace
from cranfield.data import Document
from cranfield.errors import CranfieldError, InputError
from cranfield.lab.costs import Indexing, cost_and_words, hardware, indexing_cost
from cranfield.lab.energy import Energy, Use, metered
from cranfield.lab.engines import LOCAL, engine_url, is_url, open_engine
from cranfield.lab.index import FIELDS, field_of
from cranfield.lab.latency import (
    CONNECTIONS,
    Failure,
    Latency,
    Ratio,
    Searched,
    Searcher,
    Showing,
    Starter,
    Summary,
    Throughput,
    check_names,
    closed_loop,
    compared,
    first_answers,
    open_loop,
    silently,
    stretches,
    summary,
    throughput,
    using,
)
from cranfield.lab.secrets import mask_url
from cranfield.lab.systems_under_test import COLD, CONNECTED, FRESH, Facts, Subject, function_subject


class Load(Record):
    """How systems are put to the test."""

    repetitions: int = 5
    warm_up: int = 1
    clients: tuple[int, ...] = (1, 2, 4)
    seconds: float = 2.0  # for each number of clients, and at the rate
    rate: float | None = None  # queries a second, for the open loop
    seed: int = 1
    cold: int = 5  # starts
    connections: int = CONNECTIONS  # at most, for the open loop
    energy: bool = False


class Account(Record):
    """A system that was measured: what it is, and how often it failed."""

    system: str
    kind: str
    version: str = ""
    index_bytes: int | None = None
    documents: int | None = None
    errors: int = 0
    first_error: str = ""
    cold_means: str = ""


class Bench(Record, eq=False):
    """Everything that was measured, and on what."""

    load: Load
    queries: int
    latencies: tuple[Latency, ...]
    cold: tuple[Latency, ...]  # from a start to the first answer
    closed: tuple[Summary, ...]
    opened: tuple[Summary, ...]
    throughputs: tuple[Throughput, ...]
    ratios: tuple[Ratio, ...]
    indexings: tuple[Indexing, ...]
    machine: Mapping[str, Any]
    systems: tuple[Account, ...] = ()
    failures: Mapping[str, tuple[Failure, ...]] = field(default_factory=dict)  # latency, latency_at_rate, latency_cold
    energy: Energy | None = None
    notes: tuple[str, ...] = ()

    @property
    def indexing(self) -> Indexing | None:
        """What the first engine takes to index, if that was measured."""
        return self.indexings[0] if self.indexings else None

    @property
    def started(self) -> tuple[Summary, ...]:
        """From a start to the first answer."""
        return _in_order(summary(self.cold, self.load.seed, lambda latency: latency.repetition), self.systems)

    @property
    def unanswered(self) -> tuple[Account, ...]:
        """The systems that have answered no search one at a time."""
        answered = {latency.system for latency in self.latencies}
        return tuple(one for one in self.systems if one.system not in answered)


def run_bench(
    start: Mapping[str, Starter | Subject],
    queries: Mapping[str, str],
    load: Load | None = None,
    baseline: str | None = None,
    indexing: Indexing | Sequence[Indexing] | None = None,
    showing: Showing = silently,
) -> Bench:
    """Measure systems on the same queries: functions that start a searcher, or subjects.

    First each is started anew several times (cold), then kept: one query at a time, at a rate, by several clients.
    A search that fails is counted, with the reason; a system that never answers is asked no more.

    >>> found = run_bench({"echo": lambda: str.upper}, {"1": "cats"}, Load(clients=(), cold=2))
    >>> len(found.latencies), found.systems[0].kind, found.systems[0].errors
    (5, 'function', 0)
    """
    load = load or Load()
    subjects = {name: _subject(name, one) for name, one in start.items()}
    _check(subjects, queries, baseline)
    cold, evicted = _cold(subjects, queries, load, showing)
    with ExitStack() as open_ones:
        searchers = {name: open_ones.enter_context(using(one.start)) for name, one in subjects.items()}
        warm = closed_loop(searchers, queries, load.repetitions, load.warm_up, load.seed, showing)
        answering = {latency.system for latency in warm.latencies}
        clients = [_client(one, searchers[name]) for name, one in subjects.items() if name in answering]
        opened = _at_rate(clients, queries, load, showing)
        together = _by_clients(clients, queries, load, showing)
        energy, meanwhile = _energy(clients, queries, load, showing)
    failures = {
        "latency_cold": cold.failures,
        "latency": warm.failures,
        "latency_at_rate": tuple(failure for one in opened for failure in one.failures),
    }
    facts = {name: one.facts() for name, one in subjects.items()}
    accounts = [
        _account(one, facts[name], chain(*failures.values()), (*together, *meanwhile), evicted.get(name, False))
        for name, one in subjects.items()
    ]
    ratios, uncompared = _ratios(warm.latencies, list(subjects), baseline)
    indexings = _several(indexing)
    engines = {
        **{one.kind: facts[name].version for name, one in subjects.items() if facts[name].version},
        **{one.engine.partition(":")[0]: one.version for one in indexings if one.version},
    }
    return Bench(
        load,
        len(queries),
        warm.latencies,
        cold.latencies,
        _in_order(summary(warm.latencies, load.seed), accounts),
        tuple(each for phase in opened for each in summary(phase.latencies, load.seed, stretches(phase.latencies))),
        together,
        ratios,
        indexings,
        hardware(engines),
        tuple(accounts),
        failures,
        energy,
        (*_later_and_later(opened, load), *uncompared),
    )


def of_latencies(latencies: Sequence[Latency], baseline: str | None = None) -> Bench:
    """The same figures from latencies that were measured elsewhere."""
    systems = list(dict.fromkeys(latency.system for latency in latencies))
    if baseline is not None and baseline not in systems:
        raise CranfieldError(f"no latencies of {baseline!r}: there are those of {join_names(systems)}.")
    ratios, notes = _ratios(latencies, systems, baseline)
    found = len({latency.query for latency in latencies})
    accounts = tuple(Account(system, "file") for system in systems)
    closed = tuple(summary(latencies))
    return Bench(Load(), found, tuple(latencies), (), closed, (), (), ratios, (), {}, accounts, notes=notes)


def of_indexing(indexings: Sequence[Indexing]) -> Bench:
    """What engines take to index, and nothing else."""
    engines = {one.engine.partition(":")[0]: one.version for one in indexings if one.version}
    return Bench(Load(), 0, (), (), (), (), (), (), tuple(indexings), hardware(engines))


def measure_indexing(
    collection: str,
    documents: Iterable[Document],
    fields: Sequence[str] = FIELDS,
    options: Sequence[str] = (),
    engine: str = "embedded",
    energy: bool = False,
) -> Indexing:
    """What `cranfield index` takes for a collection, in a process of its own.

    An engine by URL indexes where the URL says, and keeps it. Of a server only the client's side can be seen.
    """
    _check_engine(engine)
    number = size = 0
    for document in documents:
        number += 1
        size += sum(len(field_of(document, field).encode("utf-8", "surrogateescape")) for field in fields)
    command = [sys.executable, "-m", "cranfield", "index", collection, "--fields", ",".join(fields), *options]

    def work() -> Indexing:
        if engine in LOCAL:
            return _local_indexing(command, engine, number, size)
        return _remote_indexing(command, engine, number, size)

    if not energy:
        return work()
    found, joules = metered(work)
    return replace(found, joules=joules)


def _check_engine(engine: str) -> None:
    kind = engine.partition(":")[0].lower()
    if engine not in LOCAL and kind in LOCAL:
        what = "what is measured is made in a temporary folder, and not kept"
        raise InputError(f"--engine {engine}: give {kind} alone; {what}.")
    if engine not in LOCAL and not is_url(engine):
        raise InputError(f"no engine {mask_url(engine)!r}: expected {', '.join(LOCAL)}, or a URL.")


def _local_indexing(command: Sequence[str], engine: str, documents: int, text_bytes: int) -> Indexing:
    folder = Path(tempfile.mkdtemp(prefix="cranfield-bench-"))
    try:
        index = folder / "index"
        version = open_engine(f"{engine}:{index}").about.version
        said = [*command, "--engine", engine, "-o", str(index), "--quiet"]
        return indexing_cost(said, index, documents, text_bytes, engine, version)
    except CranfieldError as error:
        raise CranfieldError(f"indexing with {engine}: {_last_words(error)}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remote_indexing(command: Sequence[str], engine: str, documents: int, text_bytes: int) -> Indexing:
    url = engine_url(engine)
    try:
        cost, said = cost_and_words([*command, "--engine", url])
    except CranfieldError as error:
        raise CranfieldError(f"indexing with {mask_url(url)}: {_last_words(error)}") from None
    if "of them from before" in said:
        what = "went on where it had been interrupted, so that only the rest was measured. Run the same again"
        raise CranfieldError(f"indexing with {mask_url(url)} {what}.")
    with closing(open_engine(url)) as opened:
        size, version = opened.size(), opened.about.version
    return Indexing(documents, text_bytes, size, replace(cost, disk=None), mask_url(url), version)


def _last_words(error: CranfieldError) -> str:
    """What a command complained of, without its own name."""
    return str(error).partition("cranfield: ")[2] or str(error)


def _subject(name: str, start: Starter | Subject) -> Subject:
    return replace(start, name=name) if isinstance(start, Subject) else function_subject(name, start)


def _check(subjects: Mapping[str, Subject], queries: Mapping[str, str], baseline: str | None) -> None:
    """Say what is wrong before it has taken an hour."""
    if not subjects or not queries:
        raise InputError("there is nothing to measure: expected a system and a query at least.")
    check_names((*subjects, *queries))
    if baseline is not None and baseline not in subjects:
        raise InputError(f"no system {baseline!r} to compare with: there are {join_names(subjects)}.")


def _several(indexing: Indexing | Sequence[Indexing] | None) -> tuple[Indexing, ...]:
    if indexing is None:
        return ()
    return (indexing,) if isinstance(indexing, Indexing) else tuple(indexing)


def _cold(
    subjects: Mapping[str, Subject], queries: Mapping[str, str], load: Load, showing: Showing
) -> tuple[Searched, dict[str, bool]]:
    """From a start to the first answer; of which systems the files were out of memory each time."""
    starts = {name: one.start for name, one in subjects.items()}
    evicted: dict[str, bool] = {}

    def forget(name: str) -> None:
        evicted[name] = subjects[name].forget() and evicted.get(name, True)

    # the first start of all loads libraries; it is not counted, and says what cannot be started
    first = first_answers(starts, queries, 1, load.seed + 1)
    found = first_answers(starts, queries, load.cold, load.seed, forget, showing) if load.cold else Searched(())
    failures = (*(replace(failure, repetition=0) for failure in first.failures), *found.failures)
    return Searched(found.latencies, failures), evicted


def _in_order(found: Iterable[Summary], accounts: Sequence[Account]) -> tuple[Summary, ...]:
    """Summaries in the order that the systems were named, not that of their first search."""
    names = [one.system for one in accounts]
    return tuple(sorted(found, key=lambda one: names.index(one.system)))


class _Client(Record):
    """Whoever searches a system: how it gets its searcher, and whether there is something to connect."""

    system: str
    start: Starter
    connect: bool


def _client(one: Subject, searcher: Searcher) -> _Client:
    # what is shared is not closed by any of them
    return _Client(one.name, (lambda: lambda text: searcher(text)) if one.shared else one.start, not one.shared)


def _at_rate(clients: Sequence[_Client], queries: Mapping[str, str], load: Load, showing: Showing) -> list[Searched]:
    """Each system at the rate, if there is one."""
    if load.rate is None:
        return []
    rate, most = load.rate, load.connections
    return [
        open_loop(one.system, one.start, queries, rate, load.seconds, most, load.seed, connect=one.connect)
        for one in showing(clients, len(clients), "at a rate")
    ]


def _later_and_later(opened: Iterable[Searched], load: Load) -> Iterator[str]:
    """A note on each system whose answers take longer the longer the queries come."""
    for one in opened:
        fifth = len(one.latencies) // 5
        if fifth < 4:
            continue
        times = [latency.ms for latency in one.latencies]
        first, last = float(np.median(times[:fifth])), float(np.median(times[-fifth:]))
        if last > 3 * first:
            what = f"At {load.rate:g} queries a second {one.latencies[0].system} answers later and later"
            yield f"{what} (median of the first fifth {first:.3g} ms, of the last {last:.3g} ms): it does not keep up."


def _by_clients(
    clients: Sequence[_Client], queries: Mapping[str, str], load: Load, showing: Showing
) -> tuple[Throughput, ...]:
    """Every system with every number of clients, in random order."""
    cells = [(one, number) for one in clients for number in load.clients]
    order = np.random.default_rng(load.seed).permutation(len(cells)).tolist()
    found = {i: _throughput(*cells[i], queries, load) for i in showing(order, len(order), "by clients")}
    return tuple(found[i] for i in range(len(cells)))


def _throughput(one: _Client, clients: int, queries: Mapping[str, str], load: Load) -> Throughput:
    return throughput(one.system, one.start, queries, clients, load.seconds, load.seed, connect=one.connect)


def _energy(
    clients: Sequence[_Client], queries: Mapping[str, str], load: Load, showing: Showing
) -> tuple[Energy | None, list[Throughput]]:
    """If asked for, what each system takes while one client searches, and the machine while nobody does."""
    if not load.energy:
        return None, []
    _, idle = metered(lambda: time.sleep(load.seconds))
    found: list[Throughput] = []
    uses: list[Use] = []
    for one in showing(clients, len(clients), "energy"):
        done, joules = metered(partial(_throughput, one, 1, queries, load))
        found.append(done)
        uses.append(Use(one.system, done.searches, done.seconds, joules))
    return Energy(Use("", 0, load.seconds, idle), tuple(uses)), found


def _account(
    one: Subject, facts: Facts, failures: Iterable[Failure], together: Sequence[Throughput], evicted: bool
) -> Account:
    mine = [failure.message for failure in failures if failure.system == one.name]
    later = [each for each in together if each.system == one.name and each.errors]
    first = mine[0] if mine else later[0].first_error if later else ""
    cold = FRESH if evicted else COLD.get(one.kind, CONNECTED)
    errors = len(mine) + sum(each.errors for each in later)
    return Account(one.name, one.kind, facts.version, facts.index_bytes, facts.documents, errors, first, cold)


def _ratios(
    latencies: Sequence[Latency], systems: Sequence[str], baseline: str | None
) -> tuple[tuple[Ratio, ...], tuple[str, ...]]:
    """Each system against the baseline; a note on those that cannot be compared."""
    first = baseline or systems[0]
    others = [system for system in systems if system != first]
    answered = {latency.system for latency in latencies}
    ratios = compared(latencies, first) if first in answered and others else []
    ratios.sort(key=lambda ratio: others.index(ratio.system))
    missing = [system for system in others if system not in {ratio.system for ratio in ratios}]
    if not missing:
        return tuple(ratios), ()
    what = f"{pluralize(len(missing), 'system')} cannot be compared with {first}"
    return tuple(ratios), (f"{what}, as no query was answered by both: {join_names(missing)}.",)
