"""How long searches take: one after another, at a given rate, by many clients at once.

A searcher is a function of a query's text. Times are in milliseconds, from the side of whoever waits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import Any

import numpy as np

from cranfield.averages import interval
from cranfield.collection import Floats
from cranfield.errors import CranfieldError, InputError
from cranfield.opening import Input, PathLike, writing
from cranfield.wording import counted, listed

Searcher = Callable[[str], Any]
PERCENTILES = (50, 90, 95, 99)
RESAMPLES = 2000


@dataclass(frozen=True)
class Latency:
    """One search: what was asked, of which system, in which repetition, and how long it took."""

    query: str
    system: str
    repetition: int
    ms: float


@dataclass(frozen=True)
class Figure:
    """A number with its 95 % interval, where there is one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Summary:
    """The latencies of a system: mean, percentiles and the longest."""

    system: str
    searches: int
    mean: Figure
    percentiles: Mapping[int, Figure]
    longest: float


@dataclass(frozen=True)
class Ratio:
    """How many times as long one system takes as another for the same queries."""

    system: str
    baseline: str
    queries: int
    ratio: Figure
    faster_on: int
    left_out: tuple[str, ...]  # queries that only one of them has


@dataclass(frozen=True)
class Throughput:
    """How many searches a second some clients get done together."""

    system: str
    clients: int
    searches: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.searches / self.seconds


def closed_loop(
    searchers: Mapping[str, Searcher],
    queries: Mapping[str, str],
    repetitions: int = 5,
    warm_up: int = 1,
    seed: int = 1,
    passing: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> list[Latency]:
    """One client that waits for each answer; queries and systems in another random order each time.

    Repetitions up to `warm_up` are searched but not counted: without them (0) the first is the one after a start.
    """
    found = []
    rng = np.random.default_rng(seed)
    pairs = [(query, system) for query in queries for system in searchers]
    rounds = [(r, *pairs[i]) for r in range(1 - warm_up, repetitions + 1) for i in rng.permutation(len(pairs))]
    for repetition, query, system in passing(rounds):
        started = time.perf_counter()
        searchers[system](queries[query])
        ms = 1000 * (time.perf_counter() - started)
        if repetition > 0:
            found.append(Latency(query, system, repetition, ms))
    return found


def open_loop(
    system: str,
    searcher: Searcher,
    queries: Mapping[str, str],
    rate: float,
    seconds: float,
    clients: int = 64,
    seed: int = 1,
) -> list[Latency]:
    """Queries that arrive at a rate, at random moments, whether or not those before are answered.

    The time counts from when a query was due, not from when a client was free to send it: what a slow answer keeps
    waiting is part of the latency (no coordinated omission).
    """
    if rate <= 0 or seconds <= 0:
        raise CranfieldError(f"{rate:g} queries a second for {seconds:g} seconds: expected more than 0 of both.")
    rng = np.random.default_rng(seed)
    due = np.cumsum(rng.exponential(1 / rate, max(1, round(rate * seconds))))
    names = list(queries)
    asked = [names[i] for i in rng.integers(0, len(names), len(due))]
    waiting = iter(enumerate(zip(asked, due.tolist(), strict=True)))
    found: list[Latency] = []
    started = time.perf_counter()

    def client() -> None:
        for number, (query, moment) in _taken(waiting):
            time.sleep(max(0.0, started + moment - time.perf_counter()))
            searcher(queries[query])
            found.append(Latency(query, system, number + 1, 1000 * (time.perf_counter() - started - moment)))

    _together(client, min(clients, len(due)))
    return sorted(found, key=lambda latency: latency.repetition)


def throughput(system: str, searcher: Searcher, queries: Mapping[str, str], clients: int, seconds: float) -> Throughput:
    """Clients that each send the next query as soon as they have an answer."""
    texts = list(queries.values())
    finished: list[int] = []
    started = time.perf_counter()

    def client() -> None:
        done = 0
        while time.perf_counter() - started < seconds:
            searcher(texts[(done * clients + len(finished)) % len(texts)])
            done += 1
        finished.append(done)

    _together(client, clients)
    return Throughput(system, clients, sum(finished), time.perf_counter() - started)


def summary(latencies: Sequence[Latency], seed: int = 1) -> list[Summary]:
    """The figures of each system, with intervals from resampling its queries."""
    found = []
    for system in dict.fromkeys(latency.system for latency in latencies):
        by_query: dict[str, list[float]] = {}
        for latency in latencies:
            if latency.system == system:
                by_query.setdefault(latency.query, []).append(latency.ms)
        found.append(_summary(system, [np.array(times) for times in by_query.values()], seed))
    return found


def compared(latencies: Sequence[Latency], baseline: str) -> list[Ratio]:
    """Each system against a baseline, query by query: latencies are skewed, but their log ratios hardly are."""
    times: dict[str, dict[str, list[float]]] = {}
    for latency in latencies:
        times.setdefault(latency.system, {}).setdefault(latency.query, []).append(latency.ms)
    if baseline not in times:
        raise CranfieldError(f"no latencies of {baseline!r}: there are those of {listed(times)}.")
    medians = {s: {q: float(np.median(ms)) for q, ms in queries.items()} for s, queries in times.items()}
    return [_ratio(system, baseline, medians) for system in medians if system != baseline]


def read_latencies(path: PathLike) -> list[Latency]:
    """Latencies from a file: `query⇥system⇥repetition⇥ms`, with or without a header."""
    found = []
    with Input(path) as source:
        for number, line in source.lines():
            fields = line.decode("utf-8", "surrogateescape").rstrip("\r\n").split("\t")
            if not line.strip() or (number == 1 and fields[-1].strip().lower() == "ms"):
                continue
            found.append(_latency(fields, source.name, number))
    if not found:
        raise InputError("no latency in this file: expected query, system, repetition, ms, parted by tabs.", str(path))
    return found


def write_latencies(latencies: Iterable[Latency], path: PathLike) -> None:
    """Write `query⇥system⇥repetition⇥ms`, a line a search."""
    with writing(path) as out:
        out.write(b"query\tsystem\trepetition\tms\n")
        for one in latencies:
            text = f"{one.query}\t{one.system}\t{one.repetition}\t{one.ms:.6g}\n"
            out.write(text.encode("utf-8", "surrogateescape"))


def _latency(fields: list[str], file: str, line: int) -> Latency:
    if len(fields) != 4:
        message = f"expected query, system, repetition, ms, parted by tabs, found {counted(len(fields), 'column')}."
        raise InputError(message, file, line)
    try:
        repetition, ms = int(fields[2]), float(fields[3])
    except ValueError:
        raise InputError(f"repetition {fields[2]!r} and ms {fields[3]!r}: expected numbers.", file, line) from None
    if not math.isfinite(ms) or ms < 0:
        raise InputError(f"ms {fields[3]!r}: expected a number from 0.", file, line)
    return Latency(fields[0], fields[1], repetition, ms)


def _summary(system: str, times: list[Floats], seed: int) -> Summary:
    every = np.concatenate(times)
    values = [float(every.mean()), *np.percentile(every, PERCENTILES).tolist()]
    low: list[float | None] = [None] * len(values)
    high: list[float | None] = [None] * len(values)
    if len(times) > 1:
        drawn = _resampled(times, seed)
        low, high = np.percentile(drawn, 2.5, axis=0).tolist(), np.percentile(drawn, 97.5, axis=0).tolist()
    figures = [Figure(*each) for each in zip(values, low, high, strict=True)]
    return Summary(system, len(every), figures[0], dict(zip(PERCENTILES, figures[1:], strict=True)), float(every.max()))


def _resampled(times: list[Floats], seed: int) -> Floats:
    """Mean and percentiles of other draws of the queries; all searches of a query go together."""
    rng = np.random.default_rng(seed)
    sizes = np.array([len(each) for each in times])
    draws = min(RESAMPLES, max(200, 20_000_000 // int(sizes.sum())))
    found = np.empty((draws, 1 + len(PERCENTILES)))
    for i in range(draws):
        some = np.concatenate([times[j] for j in rng.integers(0, len(times), len(times))])
        found[i] = [some.mean(), *np.percentile(some, PERCENTILES)]
    return found


def _ratio(system: str, baseline: str, medians: Mapping[str, Mapping[str, float]]) -> Ratio:
    ours, theirs = medians[system], medians[baseline]
    common = [query for query in ours if query in theirs and ours[query] > 0 and theirs[query] > 0]
    logs = [math.log(ours[query] / theirs[query]) for query in common]
    if not logs:
        raise CranfieldError(f"{system!r} and {baseline!r} have no query in common.")
    found = interval(logs)
    mean = math.exp(math.fsum(logs) / len(logs))
    figure = Figure(mean) if found is None else Figure(mean, math.exp(found.low), math.exp(found.high))
    left_out = tuple(sorted({*ours, *theirs} - set(common)))
    return Ratio(system, baseline, len(common), figure, sum(log < 0 for log in logs), left_out)


def _taken(items: Iterator[Any]) -> Iterator[Any]:
    """Each item by one thread only: advancing this kind of iterator cannot be interrupted."""
    while True:
        try:
            yield next(items)
        except StopIteration:
            return


def _together(work: Callable[[], None], clients: int) -> None:
    """The same work by several threads; the first error of any is raised."""
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=guarded, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
