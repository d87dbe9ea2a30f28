"""How long searches take: one after another, at a given rate, by many clients at once.

A searcher is a function of a query's text, and a starter makes one: what it connects to or opens is its own. Times are
in milliseconds, from the side of whoever waits. A search that fails has no time; it is counted, with the reason.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import numpy as np

from cranfield.base import Record, format_id, join_names, pluralize
from cranfield.data import Floats
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation import interval
from cranfield.io import Input, PathLike, open_output

Searcher = Callable[[str], Any]  # with a method close, if there is something to let go of
Starter = Callable[[], Searcher]
Showing = Callable[[Iterable[Any], int | None, str], Iterable[Any]]  # items as they are gone through, how many, what
PERCENTILES = (50, 90, 95, 99)
RESAMPLES = 2000
CONNECTIONS = 64  # clients at most that wait for answers at a rate
MAX_FAILURES = 10  # consecutive searches that may fail before a system is given up
STRETCHES = 20  # of time that are resampled as a whole: what waits behind a slow answer waits together


class Clock(Record):
    """Seconds that pass, and waiting for them."""

    now: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep


CLOCK = Clock()


class Latency(Record):
    """One search: what was asked, of which system, in which repetition, and how long it took."""

    query: str
    system: str
    repetition: int
    ms: float


class Failure(Record):
    """A search without an answer, and why; repetitions up to 0 are those to warm up and to connect."""

    query: str
    system: str
    repetition: int
    message: str


class Searched(Record):
    """What became of searches: how long those took that were answered, and which were not."""

    latencies: tuple[Latency, ...]
    failures: tuple[Failure, ...] = ()
    seconds: float = 0.0  # until the last was answered


class Figure(Record):
    """A number with its 95 % interval, where there is one."""

    value: float
    low: float | None = None
    high: float | None = None


class Summary(Record):
    """The latencies of a system: mean, percentiles and the longest."""

    system: str
    searches: int
    mean: Figure
    percentiles: Mapping[int, Figure]
    longest: float
    longest_low: float | None = None  # what the longest of as many searches again would reach; see `least_longest`


class Ratio(Record):
    """How many times as long one system takes as another for the same queries."""

    system: str
    baseline: str
    queries: int
    ratio: Figure
    faster_on: int
    left_out: tuple[str, ...]  # queries that only one of them has
    without_time: tuple[str, ...] = ()  # queries that one of them answers in 0 ms, which have no ratio


class Throughput(Record):
    """How many searches a second some clients get done together; those that fail do not count."""

    system: str
    clients: int
    searches: int
    seconds: float
    errors: int = 0
    first_error: str = ""

    @property
    def rate(self) -> float:
        return self.searches / self.seconds if self.seconds > 0 else 0.0


def silently(items: Iterable[Any], total: int | None, label: str) -> Iterable[Any]:
    """Items, without showing anybody how far it is."""
    return items


def closed_loop(
    searchers: Mapping[str, Searcher],
    queries: Mapping[str, str],
    repetitions: int = 5,
    warm_up: int = 1,
    seed: int = 1,
    showing: Showing = silently,
    clock: Clock = CLOCK,
) -> Searched:
    """One client that waits for each answer; queries and systems in another random order each time.

    Repetitions up to `warm_up` are searched but not counted. A system that fails time after time is asked no more.
    """
    found: list[Latency] = []
    failures: list[Failure] = []
    in_a_row = dict.fromkeys(searchers, 0)
    rng = np.random.default_rng(seed)
    pairs = [(query, system) for query in queries for system in searchers]
    rounds = [(r, *pairs[i]) for r in range(1 - warm_up, repetitions + 1) for i in rng.permutation(len(pairs))]
    begun = clock.now()
    for repetition, query, system in showing(rounds, len(rounds), "searching"):
        if in_a_row[system] >= MAX_FAILURES:
            why = f"not asked after {pluralize(MAX_FAILURES, 'failure')} in a row"
            failures.append(Failure(query, system, repetition, why))
            continue
        started = clock.now()
        why = attempted(searchers[system], queries[query])
        ms = 1000 * (clock.now() - started)
        in_a_row[system] = in_a_row[system] + 1 if why else 0
        if why:
            failures.append(Failure(query, system, repetition, why))
        elif repetition > 0:
            found.append(Latency(query, system, repetition, ms))
    return Searched(tuple(found), tuple(failures), clock.now() - begun)


def first_answers(
    starts: Mapping[str, Starter],
    queries: Mapping[str, str],
    times: int,
    seed: int = 1,
    before: Callable[[str], None] = lambda system: None,
    showing: Showing = silently,
    clock: Clock = CLOCK,
) -> Searched:
    """Each system started anew several times: how long from the start to the answer to one query, drawn at random.

    Systems take turns in random order, with the same query; `before` each start caches may be emptied. What cannot be
    started for want of a file or a program is an error, whatever else fails is counted.
    """
    found: list[Latency] = []
    failures: list[Failure] = []
    rng = np.random.default_rng(seed)
    names, texts = list(starts), list(queries)
    asked = [texts[i] for i in rng.integers(0, len(texts), times)]
    rounds = [(r, asked[r - 1], names[i]) for r in range(1, times + 1) for i in rng.permutation(len(names))]
    for repetition, query, system in showing(rounds, len(rounds), "starting"):
        before(system)
        ms, why = _from_start(starts[system], queries[query], clock)
        if why:
            failures.append(Failure(query, system, repetition, why))
        else:
            found.append(Latency(query, system, repetition, ms))
    return Searched(tuple(found), tuple(failures))


def _from_start(start: Starter, text: str, clock: Clock) -> tuple[float, str]:
    """How long it takes from a start to an answer; nothing of it is held any longer afterwards."""
    started = clock.now()
    with using(start) as search:
        why = attempted(search, text, (InputError,))
        return 1000 * (clock.now() - started), why


def open_loop(
    system: str,
    start: Starter,
    queries: Mapping[str, str],
    rate: float,
    seconds: float,
    clients: int = CONNECTIONS,
    seed: int = 1,
    clock: Clock = CLOCK,
    connect: bool = True,
) -> Searched:
    """Queries that arrive at a rate, at random moments, whether or not those before are answered.

    The time counts from when a query was due, not from when a client was free to send it: what a slow answer keeps
    waiting is part of the latency (no coordinated omission). Clients are connected before the first is due, unless
    there is nothing to connect.
    """
    if rate <= 0 or seconds <= 0:
        raise CranfieldError(f"{rate:g} queries a second for {seconds:g} seconds: expected more than 0 of both.")
    rng = np.random.default_rng(seed)
    due = np.cumsum(rng.exponential(1 / rate, max(1, round(rate * seconds))))
    names = list(queries)
    asked = [names[i] for i in rng.integers(0, len(names), len(due))]
    waiting = iter(enumerate(zip(asked, due.tolist(), strict=True), 1))
    found: list[Latency] = []
    failures: list[Failure] = []
    ended: list[float] = [0.0]

    def client(search: Searcher, number: int, begun: float) -> None:
        for repetition, (query, moment) in _taken(waiting):
            clock.sleep(max(0.0, begun + moment - clock.now()))
            why = attempted(search, queries[query])
            now = clock.now() - begun
            if why:
                failures.append(Failure(query, system, repetition, why))
            else:
                found.append(Latency(query, system, repetition, 1000 * (now - moment)))
            ended.append(now)

    for query, why in _together(start, client, min(clients, len(due)), queries if connect else {}, clock):
        failures.append(Failure(query, system, 0, why))
    ordered = sorted(found, key=lambda latency: latency.repetition)
    return Searched(tuple(ordered), tuple(failures), max(ended))


def throughput(
    system: str,
    start: Starter,
    queries: Mapping[str, str],
    clients: int,
    seconds: float,
    seed: int = 1,
    clock: Clock = CLOCK,
    connect: bool = True,
) -> Throughput:
    """Clients that each send the next query as soon as they have an answer, each in a random order of its own."""
    names = list(queries)
    finished: list[tuple[int, float]] = []
    failed: list[str] = []

    def client(search: Searcher, number: int, begun: float) -> None:
        rng = np.random.default_rng([seed, number])
        done, order = 0, list[int]()
        while clock.now() - begun < seconds:
            order = order or rng.permutation(len(names)).tolist()
            why = attempted(search, queries[names[order.pop()]])
            done += not why
            if why:
                failed.append(why)
        finished.append((done, clock.now() - begun))

    failed += [why for _, why in _together(start, client, clients, queries if connect else {}, clock)]
    searches, last = sum(done for done, _ in finished), max(end for _, end in finished)
    return Throughput(system, clients, searches, last, len(failed), failed[0] if failed else "")


def attempted(search: Searcher, text: str, fatal: tuple[type[Exception], ...] = ()) -> str:
    """Search, and say why that failed; nothing if it was answered."""
    try:
        search(text)
    except fatal:
        raise
    except Exception as error:  # whatever an engine or a user's function raises
        reasons = getattr(error, "failed", None)  # a run of one query fails for the reason of the query
        first = next(iter(reasons.values()), "") if isinstance(reasons, Mapping) else ""
        return " ".join((first or str(error) or type(error).__name__).split())
    return ""


@contextmanager
def using(start: Starter) -> Iterator[Searcher]:
    """A searcher from its start until it lets go of what it holds."""
    search = start()
    try:
        yield search
    finally:
        close = getattr(search, "close", None)
        if close is not None:
            close()


def summary(
    latencies: Sequence[Latency], seed: int = 1, together: Callable[[Latency], Any] = lambda latency: latency.query
) -> list[Summary]:
    """The figures of each system, with intervals from resampling its queries, or whatever else goes `together`."""
    times: dict[str, dict[Any, list[float]]] = {}
    for latency in latencies:
        times.setdefault(latency.system, {}).setdefault(together(latency), []).append(latency.ms)
    return [_summary(system, list(map(np.array, groups.values())), seed) for system, groups in times.items()]


def stretches(latencies: Sequence[Latency]) -> Callable[[Latency], int]:
    """In which stretch of time a search at a rate was: those of a stretch waited for the same things."""
    last = max((latency.repetition for latency in latencies), default=0)
    return lambda latency: (latency.repetition - 1) * min(STRETCHES, last) // max(1, last)


def least_longest(longest: Sequence[float], error: float = 0.025) -> float | None:
    """What the longest of as many searches again would reach, 39 times in 40; None for too few.

    It is the t-th longest of m: m others all stay below it with the chance that, of both together, the t longest are
    among the first m. From above nothing bounds the longest: in half of all cases the others have a longer one.

    >>> least_longest([1, 2, 3, 4, 5, 6, 7, 8, 9]), least_longest([1, 2, 3])
    (5, None)
    """
    m = len(longest)
    chance = 1.0
    for t, value in enumerate(sorted(longest, reverse=True)):
        chance *= (m - t) / (2 * m - t)
        if chance <= error:
            return value
    return None


def compared(latencies: Sequence[Latency], baseline: str) -> list[Ratio]:
    """Each system against a baseline, query by query: latencies are skewed, but their log ratios hardly are.

    A system that has no query in common with the baseline is not among them.
    """
    times: dict[str, dict[str, list[float]]] = {}
    for latency in latencies:
        times.setdefault(latency.system, {}).setdefault(latency.query, []).append(latency.ms)
    if baseline not in times:
        raise CranfieldError(f"no latencies of {baseline!r}: there are those of {join_names(times)}.")
    medians = {s: {q: float(np.median(ms)) for q, ms in queries.items()} for s, queries in times.items()}
    found = (_ratio(system, baseline, medians) for system in medians if system != baseline)
    return [ratio for ratio in found if ratio is not None]


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
    with open_output(path) as out:
        out.write(b"query\tsystem\trepetition\tms\n")
        for one in latencies:
            check_names((one.query, one.system))
            text = f"{one.query}\t{one.system}\t{one.repetition}\t{one.ms:.6g}\n"
            out.write(text.encode("utf-8", "surrogateescape"))


def check_names(names: Iterable[str]) -> None:
    """Refuse names of queries and systems that a file of latencies cannot hold."""
    for name in names:
        if not name.strip() or not {"\t", "\n", "\r"}.isdisjoint(name):
            raise InputError(
                f"{format_id(name)} cannot name a query or a system: it is empty, or has tabs or line ends."
            )


def _latency(fields: list[str], file: str, line: int) -> Latency:
    if len(fields) != 4:
        message = f"expected query, system, repetition, ms, parted by tabs, found {pluralize(len(fields), 'column')}."
        raise InputError(message, file, line)
    for what, name in zip(("query", "system"), fields, strict=False):
        if not name.strip():
            raise InputError(f"the name of the {what} is empty.", file, line)
    try:
        if "_" in fields[2] + fields[3]:  # Python would take it for a number
            raise ValueError
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
    percentiles = dict(zip(PERCENTILES, figures[1:], strict=True))
    longest = [float(each.max()) for each in times]
    return Summary(system, len(every), figures[0], percentiles, max(longest), least_longest(longest))


def _resampled(times: list[Floats], seed: int) -> Floats:
    """Mean and percentiles of other draws of the groups; all searches of a group go together."""
    rng = np.random.default_rng(seed)
    sizes = [len(each) for each in times]
    draws = min(RESAMPLES, max(200, 20_000_000 // sum(sizes)))
    if len(set(sizes)) > 1:
        drawn = (np.concatenate([times[j] for j in rng.integers(0, len(times), len(times))]) for _ in range(draws))
        return np.concatenate([_figures(some[np.newaxis]) for some in drawn])
    # many draws at once, as there is no group longer than another
    together, some = np.stack(times), max(1, 1_000_000 // sum(sizes))
    parts = []
    for begun in range(0, draws, some):
        chosen = rng.integers(0, len(times), (min(some, draws - begun), len(times)))
        parts.append(_figures(together[chosen].reshape(len(chosen), -1)))
    return np.concatenate(parts)


def _figures(rows: Floats) -> Floats:
    """Mean and percentiles of each row."""
    found: Floats = np.column_stack([rows.mean(axis=1), *np.percentile(rows, PERCENTILES, axis=1)])
    return found


def _ratio(system: str, baseline: str, medians: Mapping[str, Mapping[str, float]]) -> Ratio | None:
    ours, theirs = medians[system], medians[baseline]
    common = [query for query in ours if query in theirs]
    timed = [query for query in common if ours[query] > 0 and theirs[query] > 0]
    logs = [math.log(ours[query] / theirs[query]) for query in timed]
    if not logs:
        return None
    found = interval(logs)
    mean = math.exp(math.fsum(logs) / len(logs))
    figure = Figure(mean) if found is None else Figure(mean, math.exp(found.low), math.exp(found.high))
    left_out = tuple(sorted({*ours, *theirs} - set(common)))
    without = tuple(sorted(set(common) - set(timed)))
    return Ratio(system, baseline, len(timed), figure, sum(log < 0 for log in logs), left_out, without)


def _taken(items: Iterator[Any]) -> Iterator[Any]:
    """Each item by one thread only: advancing this kind of iterator cannot be interrupted."""
    while True:
        try:
            yield next(items)
        except StopIteration:
            return


def _together(
    start: Starter,
    work: Callable[[Searcher, int, float], None],
    clients: int,
    before: Mapping[str, str],
    clock: Clock,
) -> list[tuple[str, str]]:
    """The same work by several clients that begin at the same moment, each with a searcher of its own.

    With queries `before` that each searches once, so that connecting is not part of what is measured; gives back
    which of these searches failed, and why. The first error of any client is raised.
    """
    errors: list[BaseException] = []
    failed: list[tuple[str, str]] = []
    begun: list[float] = []
    meeting = Barrier(clients, lambda: begun.append(clock.now()))
    numbers, names = count(), list(before)

    def client() -> None:
        try:
            number = next(numbers)
            with using(start) as search:
                query = names[number % len(names)] if names else None
                if query is not None and (why := attempted(search, before[query])):
                    failed.append((query, why))
                meeting.wait()
                work(search, number, begun[0])
        except BrokenBarrierError:
            return  # somebody else has an error to tell
        except BaseException as error:
            errors.append(error)
            meeting.abort()

    threads = [Thread(target=client, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return failed
