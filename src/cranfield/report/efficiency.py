"""What systems cost, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from cranfield.lab.bench import Bench
from cranfield.lab.costs import Indexing, as_record
from cranfield.lab.latency import PERCENTILES, Figure, Ratio, Summary
from cranfield.report import tables
from cranfield.report.tables import Cell, Table
from cranfield.wording import counted, listed


def as_text(bench: Bench, width: int, styled: bool) -> str:
    """Latencies, throughput, indexing, and in sentences what they rest on."""
    parts = []
    if bench.closed:
        parts.append(_latencies("latency in ms, one query at a time", bench.closed))
    if bench.opened:
        title = f"latency in ms at {bench.load.rate:g} queries a second, from when each was due"
        parts.append(_latencies(title, bench.opened))
    if bench.throughputs:
        parts.append(_throughput(bench))
    if bench.indexing:
        parts.append(_indexing(bench.indexing))
    return tables.terminal(parts, width, styled) + "\n" + "\n".join(sentences(bench)) + "\n"


def sentences(bench: Bench) -> list[str]:
    """Which system is faster by how much, how it was measured, and on what."""
    lines = [_ratio(ratio) for ratio in bench.ratios]
    if bench.machine:
        load = bench.load
        lines.append(
            f"{counted(bench.queries, 'query')}, {counted(load.repetitions, 'repetition')} in random order after "
            f"{load.warm_up} to warm up; intervals from resampling queries."
        )
        cold = _cold(bench)
        if cold:
            lines.append(f"Cold, the first search of each query after a start: {cold} ms (median).")
        machine = bench.machine
        memory = f", {machine['memory_bytes'] / 1e9:.0f} GB" if machine.get("memory_bytes") else ""
        lines.append(f"{machine['processor']}, {machine['cores']} cores{memory}, {machine['system']}.")
    return lines


def as_json(bench: Bench) -> str:
    content: dict[str, Any] = {
        "machine": dict(bench.machine),
        "load": asdict(bench.load),
        "queries": bench.queries,
        "latency": [_summary(one) for one in bench.closed],
        "latency_at_rate": [_summary(one) for one in bench.opened],
        "throughput": [{**asdict(one), "queries_per_second": one.rate} for one in bench.throughputs],
        "ratios": [asdict(one) for one in bench.ratios],
        "indexing": None if bench.indexing is None else as_record(bench.indexing),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _summary(found: Summary) -> dict[str, Any]:
    return {
        "system": found.system,
        "searches": found.searches,
        "mean": asdict(found.mean),
        **{f"p{p}": asdict(figure) for p, figure in found.percentiles.items()},
        "max": found.longest,
    }


def _latencies(title: str, found: tuple[Summary, ...]) -> Table:
    rows = []
    fastest = min(one.percentiles[50].value for one in found)
    for one in found:
        cells = [_cell(figure) for figure in (one.mean, *one.percentiles.values())]
        best = len(found) > 1 and one.percentiles[50].value == fastest
        cells[1] = Cell(cells[1].text, best, cells[1].below)
        rows.append((Cell(one.system), *cells, Cell(_ms(one.longest))))
    header = ("System", "mean", *(f"p{p}" for p in PERCENTILES), "max")
    return Table(title, header, tuple(rows))


def _cell(figure: Figure) -> Cell:
    below = "" if figure.low is None or figure.high is None else f"[{_ms(figure.low)}, {_ms(figure.high)}]"
    return Cell(_ms(figure.value), below=below)


def _throughput(bench: Bench) -> Table:
    systems = list(dict.fromkeys(one.system for one in bench.throughputs))
    rate = {(one.system, one.clients): one.rate for one in bench.throughputs}
    clients = bench.load.clients
    rows = tuple((Cell(s), *(Cell(f"{rate[s, n]:,.0f}") for n in clients)) for s in systems)
    return Table("queries a second", ("System", *(counted(n, "client") for n in clients)), rows)


def _indexing(found: Indexing) -> Table:
    cost = found.cost
    figures = {
        "time": f"{cost.wall:.2f} s, {cost.cpu:.2f} s of processor",
        "rate": f"{found.documents_per_second:,.0f} documents/s, {found.megabytes_per_second:.1f} MB/s of text",
        "memory": f"{cost.memory / 1e6:,.0f} MB at most",
        "disk": f"{found.index_bytes / 1e6:,.2f} MB, {found.temporary_bytes / 1e6:,.2f} MB more at most meanwhile",
        "size": f"{found.bytes_per_document:,.0f} bytes a document, {found.ratio_to_text:.2f} of the text",
    }
    rows = tuple((Cell(name), Cell(text)) for name, text in figures.items())
    return Table(f"indexing {counted(found.documents, 'document')}", ("Cost", "Figure"), rows)


def _ratio(found: Ratio) -> str:
    low, high = found.ratio.low, found.ratio.high
    where = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    text = (
        f"{found.system} takes {found.ratio.value:.2f} times as long as {found.baseline}{where}, and is faster on "
        f"{found.faster_on} of {counted(found.queries, 'query')} (mean log ratio of medians)."
    )
    return text + (f" Left out, asked of one only: {listed(found.left_out)}." if found.left_out else "")


def _cold(bench: Bench) -> str:
    times: dict[str, list[float]] = {}
    for one in bench.cold:
        times.setdefault(one.system, []).append(one.ms)
    return ", ".join(f"{system} {_ms(sorted(found)[len(found) // 2])}" for system, found in times.items())


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
