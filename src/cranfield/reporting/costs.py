"""What systems cost, read from the output of `cranfield bench --format json`, and matched with runs."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import PurePath
from typing import Any

from cranfield.base import Record, pluralize
from cranfield.errors import InputError
from cranfield.evaluation import RunScores, Scores
from cranfield.io import Input, PathLike
from cranfield.lab import PERCENTILES, Figure
from cranfield.tables import format_bytes

EXPECTED = "expected the output of `cranfield bench --format json`"


class Cost(Record):
    """The costs of one system: latencies in ms by percentile, queries per second by clients, bytes of its index."""

    system: str
    kind: str = ""
    latency: Mapping[int, Figure] = field(default_factory=dict)
    at_rate: Mapping[int, Figure] = field(default_factory=dict)
    throughput: Mapping[int, float] = field(default_factory=dict)
    index_bytes: int | None = None
    documents: int | None = None
    joules: float | None = None  # per search
    errors: int = 0  # failed searches
    first_error: str = ""

    @property
    def best_throughput(self) -> tuple[float, int] | None:
        """The most queries per second, and with how many clients."""
        return max(((rate, clients) for clients, rate in self.throughput.items()), default=None)


class Costs(Record):
    """The costs of all systems, and how they were measured."""

    systems: tuple[Cost, ...]
    file: str = ""
    machine: Mapping[str, Any] = field(default_factory=dict)
    load: Mapping[str, Any] = field(default_factory=dict)
    queries: int = 0
    indexings: tuple[Mapping[str, Any], ...] = ()
    energy: str = ""  # a note on its measurement
    unmeasured: Mapping[str, str] = field(default_factory=dict)  # systems without costs, and why
    notes: tuple[str, ...] = ()

    def of_runs(self, scores: Scores) -> list[Cost | None]:
        """The costs of each run: those of the system with its name, with or without the suffix, or with its tag."""
        known = {cost.system: cost for cost in self.systems}
        found: dict[int, str] = {}
        for called in (_run_name, _run_stem, _run_tag):
            free = [i for i in range(len(scores.runs)) if i not in found]
            if not set(known) - set(found.values()):
                break
            names = {i: called(scores.runs[i]) for i in free}
            claims = Counter(names.values())
            # a name that fits two runs identifies neither
            found |= {i: n for i, n in names.items() if n in known and claims[n] == 1 and n not in found.values()}
        return [known.get(found.get(i, "")) for i in range(len(scores.runs))]

    def without_run(self, scores: Scores) -> list[str]:
        """The measured systems that match no run."""
        found = {cost.system for cost in self.of_runs(scores) if cost is not None}
        return [cost.system for cost in self.systems if cost.system not in found]


def _run_name(run: RunScores) -> str:
    return run.name


def _run_stem(run: RunScores) -> str:
    return PurePath(run.name.removesuffix(".gz")).stem


def _run_tag(run: RunScores) -> str:
    return run.judged.sources.run.tag or ""


def read_costs(path: PathLike) -> Costs:
    """Read the output of `cranfield bench --format json`."""
    with Input(path) as source:
        name = source.name
        text = b"".join(line for _, line in source.lines())
    try:
        content = json.loads(text)
    except ValueError:
        raise InputError(f"not JSON: {EXPECTED}.", name) from None
    return _Reader(name).costs(content)


class _Reader:
    """Reads the content of a file; errors say where it is wrong."""

    def __init__(self, file: str) -> None:
        self.file = file

    def wrong(self, where: str, found: str) -> InputError:
        return InputError(f"{where} {found}: {EXPECTED}.", self.file)

    def costs(self, content: Any) -> Costs:
        if not isinstance(content, dict) or not isinstance(content.get("latency"), list):
            raise InputError(f"no list of latencies: {EXPECTED}.", self.file)
        latency = self.summaries(content, "latency")
        at_rate = self.summaries(content, "latency_at_rate")
        rates = self.throughput(content)
        about = {str(entry["system"]): entry for entry in self.entries(content, "systems")}
        names = dict.fromkeys((*about, *latency, *at_rate, *rates))
        if not names:
            raise InputError(f"no systems: {EXPECTED}.", self.file)
        indexings = self.tables(content, "indexings") or [each for each in [self.table(content, "indexing")] if each]
        energy = self.table(content, "energy") or {}
        joules = {str(use["system"]): self.number(use, "joules_per_search") for use in self.entries(energy, "systems")}
        # without a list of systems, all of them search the index that was measured
        shared = None if about or not indexings else indexings[0].get("index_bytes")
        made = [
            Cost(
                system=name,
                kind=str(about.get(name, {}).get("kind") or ""),
                latency=latency.get(name, {}),
                at_rate=at_rate.get(name, {}),
                throughput=rates.get(name, {}),
                index_bytes=self.whole(about.get(name, {"index_bytes": shared}), "index_bytes"),
                documents=self.whole(about.get(name, {}), "documents"),
                joules=joules.get(name),
                errors=self.whole(about.get(name, {}), "errors") or 0,
                first_error=str(about.get(name, {}).get("first_error") or ""),
            )
            for name in names
        ]
        return Costs(
            tuple(made),
            self.file,
            self.table(content, "machine") or {},
            self.table(content, "load") or {},
            self.whole(content, "queries") or 0,
            tuple(indexings),
            str(energy.get("note") or ""),
            {str(name): str(why) for name, why in (self.table(content, "unmeasured") or {}).items()},
            tuple(str(note) for note in content.get("notes") or ()),
        )

    def summaries(self, content: Mapping[str, Any], key: str) -> dict[str, dict[int, Figure]]:
        found = {}
        for entry in self.entries(content, key):
            figures = {p: self.figure(entry, f"p{p}") for p in PERCENTILES if f"p{p}" in entry}
            found[str(entry["system"])] = figures
        return found

    def throughput(self, content: Mapping[str, Any]) -> dict[str, dict[int, float]]:
        found: dict[str, dict[int, float]] = {}
        for entry in self.entries(content, "throughput"):
            clients, rate = self.whole(entry, "clients"), self.number(entry, "queries_per_second")
            if clients is not None and rate is not None:
                found.setdefault(str(entry["system"]), {})[clients] = rate
        return found

    def entries(self, content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
        """A list of objects that each name a system."""
        found = content.get(key) or []
        if not isinstance(found, list) or not all(isinstance(one, dict) and one.get("system") for one in found):
            raise self.wrong(f"{key!r}", "is not a list of systems")
        return found

    def tables(self, content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
        found = content.get(key) or []
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise self.wrong(f"{key!r}", "is not a list of objects")
        return found

    def table(self, content: Mapping[str, Any], key: str) -> dict[str, Any] | None:
        found = content.get(key)
        if found is not None and not isinstance(found, dict):
            raise self.wrong(f"{key!r}", "is not an object")
        return found

    def figure(self, entry: Mapping[str, Any], key: str) -> Figure:
        found = entry[key] if isinstance(entry[key], dict) else {"value": entry[key]}
        value, low, high = (self.number(found, part) for part in ("value", "low", "high"))
        if value is None:
            raise self.wrong(f"{key} of {entry['system']!r}", "has no value")
        return Figure(value, low, high)

    def number(self, entry: Mapping[str, Any], key: str) -> float | None:
        found = entry.get(key)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found) or found < 0:
            raise self.wrong(f"{key!r}", f"is {found!r}, not a number of at least 0")
        return float(found)

    def whole(self, entry: Mapping[str, Any], key: str) -> int | None:
        found = self.number(entry, key)
        return None if found is None else int(found)


def describe_machine(costs: Costs) -> list[tuple[str, str]]:
    """Facts about the machine, by name."""
    machine = dict(costs.machine)
    memory = machine.pop("memory_bytes", None)
    facts = {
        "Processor": machine.pop("processor", ""),
        "Cores": machine.pop("cores", ""),
        "Memory": f"{memory / 1e9:.0f} GB" if isinstance(memory, int) else "",
        "System": machine.pop("system", ""),
        # all other entries are versions
        "Software": ", ".join(_list_versions(machine)),
    }
    return [(name, str(fact)) for name, fact in facts.items() if fact]


def _list_versions(given: Mapping[str, Any]) -> Iterator[str]:
    for name, version in given.items():
        if isinstance(version, dict):
            yield from (each for each in _list_versions(version) if each.split(" ")[0] not in ("embedded", *given))
        elif version:
            yield f"{name} {version}"


def describe_method(costs: Costs) -> list[str]:
    """Sentences on how latencies and throughput were measured."""
    load = costs.load
    sentences = []
    if {"repetitions", "warm_up"} <= set(load) and costs.machine:
        times, warm_up = pluralize(int(load["repetitions"]), "time"), pluralize(int(load["warm_up"]), "repetition")
        sentences.append(
            f"Each of {pluralize(costs.queries, 'query')} was run {times}, one at a time and in random order, "
            f"after {warm_up} for warm-up."
        )
    elif costs.queries:
        sentences.append(f"Latencies of {pluralize(costs.queries, 'query')}, measured elsewhere.")
    sentences.append("The 95 % intervals come from resampling queries.")
    if any(cost.throughput for cost in costs.systems) and load.get("seconds"):
        seconds = f"{float(load['seconds']):g} s"
        sentences.append(f"Throughput is the highest for any number of clients, each running for {seconds}.")
    if load.get("rate") and any(cost.at_rate for cost in costs.systems):
        rate = f"{float(load['rate']):g} queries per second"
        sentences.append(f"At {rate}, latency counts from when a query was due, not from when it was sent.")
    return sentences


def describe_indexing(costs: Costs) -> list[str]:
    """The cost of indexing, one sentence per engine."""
    return [text for each in costs.indexings if (text := _describe_one_indexing(each, len(costs.indexings) > 1))]


def _describe_one_indexing(found: Mapping[str, Any], several: bool) -> str:
    cost = found.get("cost") or {}
    if not {"documents", "documents_per_second"} <= set(found) or not {"wall", "cpu", "memory"} <= set(cost):
        return ""
    rate = f"{float(found['documents_per_second']):,.0f} documents per second"
    by = f" by {found['engine']}" if several and found.get("engine") else ""
    return (
        f"Indexing {pluralize(int(found['documents']), 'document')}{by} took {float(cost['wall']):.2f} s "
        f"({float(cost['cpu']):.2f} s of CPU, {rate}) and "
        f"{format_bytes(int(cost['memory']))} of memory{_describe_index_size(found)}."
    )


def _describe_index_size(found: Mapping[str, Any]) -> str:
    """The size of the index, if the engine reports it."""
    if not found.get("index_bytes"):
        return ""
    ratio = f", {float(found['ratio_to_text']):.2f} times the text" if found.get("ratio_to_text") else ""
    return f"; the index has {format_bytes(int(found['index_bytes']))}{ratio}"


def describe_missing_costs(costs: Costs, scores: Scores, labels: Sequence[str]) -> list[str]:
    """Sentences on runs without costs, and on measured systems without a run; `labels` are the names of runs."""
    found = costs.of_runs(scores)
    sentences = []
    without = [i for i, cost in enumerate(found) if cost is None]
    if without:
        reasons = {i: costs.unmeasured.get(scores.runs[i].name, "") for i in without}
        names = ", ".join(f"{labels[i]} ({reasons[i]})" if reasons[i] else labels[i] for i in without)
        sentences.append(f"No costs were measured for {names}.")
    others = costs.without_run(scores)
    if others:
        sentences.append(f"Measured, but matching no run by name or tag: {', '.join(others)}.")
    for cost in costs.systems:
        if cost.errors:
            why = f": {cost.first_error}" if cost.first_error else ""
            sentences.append(f"{cost.errors:,} searches of {cost.system} failed{why}.")
    return sentences
