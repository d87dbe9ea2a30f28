"""The results of a benchmark of systems, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cranfield.base import as_dict, join_names, pluralize
from cranfield.lab import (
    PERCENTILES,
    Account,
    Bench,
    Energy,
    Figure,
    Indexing,
    Ratio,
    Summary,
    Throughput,
    Use,
    as_record,
)
from cranfield.tables import MISSING, Cell, Table, dump_json, format_number, render_text

FEW = 5  # searches beyond a percentile: with fewer its interval is rough
NO_COUNTERS = (
    "No energy counter can be read: the machine has none, a virtual machine hides them, or reading them requires "
    "administrator rights."
)
WHOLE_MACHINE = "Energy is that of the whole machine, whatever else runs on it; remote servers are not measured."


def as_text(bench: Bench, width: int, styled: bool) -> str:
    """Tables of latency, throughput, indexing and energy, and notes on how they were measured."""
    parts = []
    if bench.closed:
        parts.append(_latencies("latency in ms, one query at a time", bench.closed))
    if bench.opened:
        title = f"latency in ms at {bench.load.rate:g} queries per second, from when each was due"
        parts.append(_latencies(title, bench.opened))
    if bench.cold:
        parts.append(_cold(bench))
    if bench.throughputs:
        parts.append(_throughput(bench))
    if any(one.kind != "file" for one in bench.systems):
        parts.append(_systems(bench.systems))
    if bench.indexings:
        parts.append(_indexing(bench.indexings))
    if bench.energy is not None and bench.energy.counters:
        parts.append(_energy(bench.energy))
    shown = render_text(parts, width, styled) + "\n" if parts else ""
    return shown + "\n".join(sentences(bench)) + "\n"


def sentences(bench: Bench) -> list[str]:
    """Which system is faster by how much, what went wrong, how it was measured, and on what."""
    lines = [_describe_ratio(ratio) for ratio in bench.ratios]
    lines += [_describe_failures(one) for one in bench.systems if one.errors]
    lines += [*bench.notes, *_rough(bench)]
    if bench.machine:
        lines += _measured(bench)
    if bench.indexings:
        lines += list(_of_indexing(bench))
    if bench.energy is not None:
        lines.append(WHOLE_MACHINE if bench.energy.counters else NO_COUNTERS)
    if bench.machine:
        lines += list(_machine(bench))
    return lines


def as_json(bench: Bench) -> str:
    """All results; `read_costs` reads them."""
    content: dict[str, Any] = {
        "machine": dict(bench.machine),
        "load": as_dict(bench.load),
        "queries": bench.queries,
        "systems": [as_dict(one) for one in bench.systems],
        "latency": _summaries(bench, bench.closed, "latency"),
        "latency_at_rate": _summaries(bench, bench.opened, "latency_at_rate"),
        "latency_cold": _summaries(bench, bench.started, "latency_cold"),
        "throughput": [{**as_dict(one), "queries_per_second": one.rate} for one in bench.throughputs],
        "ratios": [as_dict(one) for one in bench.ratios],
        "indexing": None if bench.indexing is None else as_record(bench.indexing),
        "indexings": [as_record(one) for one in bench.indexings],
        "energy": None if bench.energy is None else _energy_record(bench.energy),
        "notes": list(bench.notes),
    }
    return dump_json(content)


def _summaries(bench: Bench, found: Sequence[Summary], phase: str) -> list[dict[str, Any]]:
    failures = bench.failures.get(phase, ())
    return [_summary(one, sum(failure.system == one.system for failure in failures)) for one in found]


def _summary(found: Summary, errors: int) -> dict[str, Any]:
    return {
        "system": found.system,
        "searches": found.searches,
        "errors": errors,
        "mean": as_dict(found.mean),
        **{f"p{p}": as_dict(figure) for p, figure in found.percentiles.items()},
        "max": found.longest,
        "max_low": found.longest_low,
    }


def _energy_record(energy: Energy) -> dict[str, Any]:
    return {
        "counters": energy.counters,
        "note": WHOLE_MACHINE if energy.counters else NO_COUNTERS,
        "idle": _use_record(energy.idle, energy),
        "systems": [_use_record(use, energy) for use in energy.systems],
    }


def _use_record(use: Use, energy: Energy) -> dict[str, Any]:
    return {
        "system": use.system,
        "searches": use.searches,
        "seconds": use.seconds,
        **{f"{part}_joules": joules for part, joules in as_dict(use.joules).items()},
        "watts": use.watts,
        "joules_per_search": use.joules_per_search,
        "joules_per_search_above_idle": energy.above_idle(use),
    }


def _systems(accounts: Sequence[Account]) -> Table:
    rows = []
    for one in accounts:
        engine = f"{one.kind} {one.version}".strip()
        size = MISSING if one.index_bytes is None else f"{one.index_bytes / 1e6:,.2f}"
        documents = MISSING if one.documents is None else f"{one.documents:,}"
        rows.append((Cell(one.system), Cell(engine), Cell(documents), Cell(size), Cell(f"{one.errors:,}")))
    return Table("systems", ("System", "Engine", "Documents", "Index, MB", "Failed searches"), tuple(rows), names=2)


def _latencies(title: str, found: Sequence[Summary]) -> Table:
    rows = []
    fastest = min(one.percentiles[50].value for one in found)
    for one in found:
        median, *others = map(_latency_cell, one.percentiles.values())
        best = len(found) > 1 and one.percentiles[50].value == fastest
        rows.append((Cell(one.system), Cell(median.text, best, median.below), *others, _longest(one)))
    header = ("System", *(f"p{p}" for p in PERCENTILES), "max")
    return Table(title, header, tuple(rows))


def _latency_cell(figure: Figure) -> Cell:
    below = "" if figure.low is None or figure.high is None else f"[{_ms(figure.low)}, {_ms(figure.high)}]"
    return Cell(_ms(figure.value), below=below)


def _longest(found: Summary) -> Cell:
    below = "" if found.longest_low is None else f"[{_ms(found.longest_low)}, ∞)"
    return Cell(_ms(found.longest), below=below)


def _cold(bench: Bench) -> Table:
    rows = tuple(
        (Cell(one.system), Cell(f"{one.searches:,}"), _latency_cell(one.percentiles[50]), Cell(_ms(one.longest)))
        for one in bench.started
    )
    return Table("latency in ms, cold: from a start to the first result", ("System", "starts", "p50", "max"), rows)


def _throughput(bench: Bench) -> Table:
    systems = list(dict.fromkeys(one.system for one in bench.throughputs))
    found = {(one.system, one.clients): one for one in bench.throughputs}
    clients = bench.load.clients
    rows = tuple((Cell(s), *(_rate(found[s, n]) for n in clients)) for s in systems)
    return Table("queries per second", ("System", *(pluralize(n, "client") for n in clients)), rows)


def _rate(found: Throughput) -> Cell:
    text = f"{found.rate:,.0f}" if found.rate >= 100 else f"{found.rate:.3g}"
    return Cell(text, below=f"{found.errors:,} failed" if found.errors else "")


def _indexing(found: Sequence[Indexing]) -> Table:
    figures = [_indexing_figures(one) for one in found]
    first = found[0]
    title = f"indexing {pluralize(first.documents, 'document')}, {first.text_bytes / 1e6:,.2f} MB of text"
    rows = tuple(
        (Cell(f"{one.engine} {one.version}".rstrip()), *map(Cell, each.values()))
        for one, each in zip(found, figures, strict=True)
    )
    return Table(title, ("Engine", *figures[0]), rows)


def _indexing_figures(found: Indexing) -> dict[str, str]:
    cost, more = found.cost, found.temporary_bytes
    figures = {
        "time, s": f"{cost.wall:,.2f}",
        "CPU, s": f"{cost.cpu:,.2f}",
        "documents/s": f"{found.documents_per_second:,.0f}",
        "MB/s": f"{found.megabytes_per_second:,.2f}",
        "memory, MB": f"{cost.memory / 1e6:,.0f}",
        "temporary, MB": MISSING if more is None else f"{more / 1e6:,.2f}",
        "index, MB": MISSING if found.index_bytes is None else f"{found.index_bytes / 1e6:,.2f}",
        "bytes/document": format_number(found.bytes_per_document, 0),
        "index/text": format_number(found.ratio_to_text, 2),
    }
    return figures if found.joules is None else {**figures, "energy, J": format_number(found.joules.total, 1)}


def _energy(energy: Energy) -> Table:
    rows = []
    for use in (*energy.systems, energy.idle):
        parts = [_joules(part) for part in (use.joules.cpu, use.joules.ram, use.joules.gpu)]
        each = [_joules(use.watts), _joules(use.joules_per_search), _joules(energy.above_idle(use))]
        rows.append((Cell(use.system or "(nothing)"), *map(Cell, (*parts, *each))))
    header = ("System", "CPU, J", "RAM, J", "GPU, J", "watts", "J/search", "above idle")
    return Table(f"energy in {energy.idle.seconds:g} s, one client", header, tuple(rows))


def _joules(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3g}"


def _describe_ratio(found: Ratio) -> str:
    low, high = found.ratio.low, found.ratio.high
    where = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    text = (
        f"{found.system} takes {found.ratio.value:.2f} times as long as {found.baseline}{where} and is faster on "
        f"{found.faster_on} of {pluralize(found.queries, 'query')} (mean log ratio of medians)."
    )
    text += f" Left out, answered by only one: {join_names(found.left_out)}." if found.left_out else ""
    return text + (f" Left out, answered in 0 ms: {join_names(found.without_time)}." if found.without_time else "")


def _describe_failures(one: Account) -> str:
    first = one.first_error.rstrip(".")
    return f"{one.system}: {_searches(one.errors)} failed and have no latency. The first error: {first}."


def _searches(n: int) -> str:
    return "1 search" if n == 1 else f"{n:,} searches"


def _rough(bench: Bench) -> Iterator[str]:
    """A warning about percentiles that few searches exceed."""
    fewest = min((one.searches for one in (*bench.closed, *bench.opened)), default=0)
    few = [p for p in PERCENTILES if 0 < fewest * (100 - p) / 100 < FEW]
    if few:
        beyond = round(fewest * (100 - few[0]) / 100)
        yield f"Only {beyond} of {_searches(fewest)} exceed p{few[0]}: its interval and those above are rough."


def _measured(bench: Bench) -> list[str]:
    load = bench.load
    how = (
        f"{pluralize(bench.queries, 'query')}, {pluralize(load.repetitions, 'repetition')} in random order after "
        f"{load.warm_up} for warm-up; 95 % intervals by resampling queries"
    )
    at_rate = " (blocks of time at the rate)" if bench.opened else ""
    longest = "max has only a lower limit, which as many searches again would exceed 39 times in 40."
    lines = [f"{how}{at_rate}."]
    if any(one.longest_low is not None for one in (*bench.closed, *bench.opened)):
        lines.append(longest)
    means: dict[str, list[str]] = {}
    for one in bench.systems:
        means.setdefault(one.cold_means, []).append(one.system)
    if bench.cold:
        lines += [f"Cold, for {join_names(names)}: {what}." for what, names in means.items()]
    return lines


def _of_indexing(bench: Bench) -> Iterator[str]:
    yield (
        "Indexing runs 'cranfield index' in a process of its own, measured with all its children: peak memory and "
        "temporary disk space, sampled 50 times per second."
    )
    servers = [one.engine for one in bench.indexings if one.cost.disk is None]
    if servers:
        yield f"For {join_names(servers)} only the client is measured, not the server."


def _machine(bench: Bench) -> Iterator[str]:
    machine = bench.machine
    memory = f", {machine['memory_bytes'] / 1e9:.0f} GB" if machine.get("memory_bytes") else ""
    yield f"{machine['processor']}, {pluralize(machine['cores'], 'core')}{memory}, {machine['system']}."
    versions = {"Python": machine.get("python"), "NumPy": machine.get("numpy"), "cranfield": machine.get("cranfield")}
    engines = {name: version for name, version in machine.get("engines", {}).items() if name != "embedded"}
    yield ", ".join(f"{name} {version}" for name, version in {**versions, **engines}.items() if version) + "."


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
