"""What systems cost: indexing, latency one query at a time and at a rate, throughput by many clients."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cranfield.collection import Document
from cranfield.lab.costs import Indexing, hardware, indexing_cost
from cranfield.lab.index import field_of
from cranfield.lab.latency import (
    Latency,
    Ratio,
    Searcher,
    Summary,
    Throughput,
    closed_loop,
    compared,
    open_loop,
    summary,
    throughput,
)

Passing = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Load:
    """How systems are put to the test."""

    repetitions: int = 5
    warm_up: int = 1
    clients: tuple[int, ...] = (1, 2, 4)
    seconds: float = 2.0  # for each number of clients, and at the rate
    rate: float | None = None  # queries a second, for the open loop
    seed: int = 1


@dataclass(frozen=True, eq=False)
class Bench:
    """Everything that was measured, and on what."""

    load: Load
    queries: int
    latencies: tuple[Latency, ...]
    cold: tuple[Latency, ...]  # the first search of each query after a start
    closed: tuple[Summary, ...]
    opened: tuple[Summary, ...]
    throughputs: tuple[Throughput, ...]
    ratios: tuple[Ratio, ...]
    indexing: Indexing | None
    machine: Mapping[str, Any]


def bench(
    start: Mapping[str, Callable[[], Searcher]],
    queries: Mapping[str, str],
    load: Load | None = None,
    baseline: str | None = None,
    indexing: Indexing | None = None,
    passing: Passing = iter,
) -> Bench:
    """Measure systems on the same queries; each is started anew for the cold searches, and then kept."""
    load = load or Load()
    cold = closed_loop({name: begin() for name, begin in start.items()}, queries, 1, 0, load.seed)
    searchers = {name: begin() for name, begin in start.items()}
    warm = closed_loop(searchers, queries, load.repetitions, load.warm_up, load.seed, passing)
    rates = [throughput(name, one, queries, n, load.seconds) for name, one in searchers.items() for n in load.clients]
    opened: list[Latency] = []
    if load.rate is not None:
        for name, searcher in searchers.items():
            opened += open_loop(name, searcher, queries, load.rate, load.seconds, seed=load.seed)
    first = baseline or next(iter(start))
    return Bench(
        load,
        len(queries),
        tuple(warm),
        tuple(cold),
        tuple(summary(warm, load.seed)),
        tuple(summary(opened, load.seed)) if opened else (),
        tuple(rates),
        tuple(compared(warm, first)) if len(start) > 1 else (),
        indexing,
        hardware(),
    )


def of_latencies(latencies: Sequence[Latency], baseline: str | None = None) -> Bench:
    """The same figures from latencies that were measured elsewhere."""
    systems = list(dict.fromkeys(latency.system for latency in latencies))
    ratios = compared(latencies, baseline or systems[0]) if len(systems) > 1 else []
    found = len({latency.query for latency in latencies})
    return Bench(Load(), found, tuple(latencies), (), tuple(summary(latencies)), (), (), tuple(ratios), None, {})


def measure_indexing(
    collection: str, documents: Iterable[Document], fields: Sequence[str], options: Sequence[str] = ()
) -> Indexing:
    """What `cranfield index` takes for a collection, in a process of its own."""
    number = size = 0
    for document in documents:
        number += 1
        size += sum(len(field_of(document, field).encode("utf-8", "surrogateescape")) for field in fields)
    folder = Path(tempfile.mkdtemp(prefix="cranfield-bench-"))
    try:
        index = folder / "index"
        command = [sys.executable, "-m", "cranfield", "index", collection, "-o", str(index), "--quiet"]
        return indexing_cost([*command, "--fields", ",".join(fields), *options], index, number, size)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
