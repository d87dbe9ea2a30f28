"""Efficiency of the systems next to their effectiveness, if it was measured."""

from __future__ import annotations

import math

import numpy as np

from cranfield.data import Run
from cranfield.evaluation import Scores
from cranfield.lab import Figure
from cranfield.reporting import (
    Cost,
    Costs,
    ParetoFront,
    ReportContext,
    describe_front,
    label_systems,
    measure_column,
    read_costs,
)
from cranfield.reporting import costs as costs_report
from cranfield.tables import format_bytes, format_milliseconds
from cranfield.workbench.explore.request_context import RequestContext
from cranfield.workbench.explore.score_cache import select_systems
from cranfield.workbench.explore.svg import axis_range, layout_pareto
from cranfield.workbench.explore.table_query import Heading, PagedTable, Row
from cranfield.workbench.pages import Page

PERCENTILES = (50, 95)


def efficiency(context: RequestContext) -> Page:
    """Latency, throughput and index size next to the main measure, and the Pareto front."""
    if context.collection.costs is None:
        return Page("no_costs.html", {"rows": [], "total": 0}, "Efficiency", {"context": context})
    costs = read_costs(context.collection.costs)
    main = context.main
    scores = select_systems(context.scores, context.collection.by_name, lambda name: _empty_run(context, name))
    col = measure_column(scores, main)
    front = ParetoFront.of(scores, col, costs) if col.measure.is_quality else ParetoFront(())
    rows = _rows(scores, main, costs, front)
    headings = [
        Heading("system", "System", is_figure=False),
        Heading("mean", main),
        *(_latency_heading(p) for p in PERCENTILES),
        Heading("throughput", "Queries/s"),
        Heading("index", "Index", lambda row: row["index_bytes"]),
        Heading("front", "Pareto front", lambda row: row["standing"], is_figure=False),
    ]
    default_sort = f"{'-' if col.measure.more_is_better else ''}mean"
    table = PagedTable(context.params, headings, rows, ("system",), sort=default_sort)
    value = {
        "collection": context.collection.name,
        "measure": main,
        "summary": list(describe_front(front, ReportContext(scores))),
        "how": costs_report.describe_method(costs),
        "indexing": costs_report.describe_indexing(costs),
        "machine": dict(costs_report.describe_machine(costs)),
        "notes": [
            *costs_report.describe_missing_costs(costs, scores, label_systems(scores)),
            *costs.notes,
            *([costs.energy] if costs.energy else []),
        ],
        **table.to_dict(),
    }
    known = [row for row in rows if row["latency"].get("p50") is not None and row["mean"] is not None]
    points = [
        {
            "system": row["system"],
            "mean": row["mean"],
            "latency": latency,
            "is_on_front": row["is_on_front"],
            "tooltip": f"{row['system']}: {main} {row['mean']:.4f}, {format_milliseconds(latency)} ms",
        }
        for row, latency in ((row, row["latency"]["p50"]["value"]) for row in known)
    ]
    extra = {
        "context": context,
        "table": table,
        "picture": layout_pareto(points, axis_range(col)) if points else None,
        "milliseconds": format_milliseconds,
        "size": format_bytes,
        "shown_percentiles": PERCENTILES,
    }
    return Page("efficiency.html", value, "Efficiency", extra)


def _empty_run(context: RequestContext, name: str) -> Run:
    """A run without documents: costs are found by its tag alone."""
    ranking = context.ranking(name)
    nothing = np.array([], dtype=np.int64)
    return Run(name, (), np.array([0]), np.array([], dtype=object), np.array([]), lines=nothing, tag=ranking.tag)


def _latency_heading(percentile: int) -> Heading:
    def key(row: Row) -> float | None:
        latency = row["latency"].get(f"p{percentile}")
        return None if latency is None else latency["value"]

    return Heading(f"p{percentile}", f"p{percentile}, ms", key)


def _rows(scores: Scores, main: str, costs: Costs, front: ParetoFront) -> list[Row]:
    points = {point.place: point for point in front.points}
    rows = []
    for i, (run, cost) in enumerate(zip(scores.runs, costs.of_runs(scores), strict=True)):
        if cost is None:
            continue
        mean, within = scores.mean(main, run.name), scores.interval(main, run.name)
        point = points.get(i)
        is_on = point is not None and front.has(point)
        rows.append(
            {
                "system": run.name,
                "mean": None if math.isnan(mean) else float(mean),
                "low": None if within is None else within.low,
                "high": None if within is None else within.high,
                "latency": {f"p{p}": _figure_to_dict(cost.latency[p]) for p in PERCENTILES if p in cost.latency},
                "throughput": None if cost.best_throughput is None else cost.best_throughput[0],
                "clients": None if cost.best_throughput is None else cost.best_throughput[1],
                "index_bytes": cost.index_bytes,
                "bytes_a_document": _bytes_per_document(cost),
                "joules_a_search": cost.joules,
                "is_on_front": is_on,
                "standing": None if point is None else "on it" if is_on else "behind",
                "about": "" if point is None else front.describe(point),
            }
        )
    return rows


def _figure_to_dict(figure: Figure) -> dict[str, float | None]:
    return {"value": figure.value, "low": figure.low, "high": figure.high}


def _bytes_per_document(cost: Cost) -> float | None:
    return cost.index_bytes / cost.documents if cost.index_bytes is not None and cost.documents else None
