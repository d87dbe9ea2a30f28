"""All systems with their means, and one system with its topics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cranfield.base import pluralize
from cranfield.evaluation import JUDGED_DEPTH, Scores
from cranfield.measures import Measure
from cranfield.reporting import join_systems
from cranfield.tables import format_number, format_percent
from cranfield.workbench.explore.request_context import RequestContext
from cranfield.workbench.explore.svg import layout_whiskers
from cranfield.workbench.explore.table_query import Heading, PagedTable, Row, none_if_nan
from cranfield.workbench.pages import Page


def leaderboard(context: RequestContext) -> Page:
    """Every system with means, intervals, and the share of judged documents at the top."""
    scores, main = context.scores, context.main
    rows = [_row(scores, i, run.name) for i, run in enumerate(scores.runs)]
    _mark_best(rows, context.measures)
    _rank(rows, main, context.measure(main))
    headings = [
        Heading("rank", ""),
        Heading("system", "System", is_figure=False),
        *(_measure_heading(i, label, measure) for i, (label, measure) in enumerate(context.measures)),
    ]
    if f"Judged@{JUDGED_DEPTH}" not in scores.labels:
        headings.append(Heading("judged", f"Judged in top {JUDGED_DEPTH}"))
    default_sort = f"{'-' if context.measure(main).more_is_better else ''}{main}"
    table = PagedTable(context.params, headings, rows, ("system",), sort=default_sort, per_page=200)
    summary = summarize(rows, main, context.measure(main), len(scores.queries))
    value = {
        "collection": context.collection.name,
        "measures": [label for label, _ in context.measures],
        "main": main,
        "topics": len(scores.queries),
        "summary": summary,
        **table.to_dict(),
        "conventions": dict(scores.conventions),
        "notes": [*context.collection.notes, *_limit_notes(scores)],
    }
    drawn = table.sort.removeprefix("-")
    drawn = drawn if drawn in dict(context.measures) else main
    place = [label for label, _ in context.measures].index(drawn)
    ends = [_ends(row["measures"][place]) for row in table.rows]
    extra = {"context": context, "table": table, "whiskers": layout_whiskers(ends), "drawn": drawn, "top": JUDGED_DEPTH}
    return Page("leaderboard.html", value, "Leaderboard", extra, tag=context.tag("leaderboard"))


def _row(scores: Scores, i: int, name: str) -> Row:
    unjudged = scores.unjudged(JUDGED_DEPTH, name)
    judged = scores.runs[i].judged
    return {
        "system": name,
        "measures": [_mean(scores, label, name) for label in scores.labels],
        "judged": None if math.isnan(unjudged) else 1 - unjudged,
        "missing": int(np.count_nonzero(judged.missing)),
        "rank": None,
    }


def _mean(scores: Scores, label: str, name: str) -> Row:
    mean = scores.mean(label, name)
    is_quality = scores.measures[scores.labels.index(label)].is_quality
    interval = scores.interval(label, name) if is_quality else None
    return {
        "measure": label,
        "mean": none_if_nan(mean),
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "is_best": False,
    }


def _measure_heading(place: int, label: str, measure: Measure) -> Heading:
    return Heading(label, label, lambda row: row["measures"][place]["mean"], about=measure.title)


def _mark_best(rows: list[Row], measures: list[tuple[str, Measure]]) -> None:
    """Mark the best of each column, and those that look the same with four decimals."""
    for place, (_, measure) in enumerate(measures):
        known = [row["measures"][place] for row in rows if row["measures"][place]["mean"] is not None]
        if measure.is_quality and len(known) > 1:
            best = (max if measure.more_is_better else min)(cell["mean"] for cell in known)
            for cell in known:
                cell["is_best"] = f"{cell['mean']:.4f}" == f"{best:.4f}"


def _rank(rows: list[Row], main: str, measure: Measure) -> None:
    """Ranks by the main measure; equal means share the better rank."""
    sign = 1 if measure.more_is_better else -1
    gains = {
        row["system"]: round(sign * cell["mean"], 12)
        for row in rows
        for cell in row["measures"]
        if cell["measure"] == main and cell["mean"] is not None
    }
    order = sorted(gains.values(), reverse=True)
    place = {gain: i for i, gain in reversed(list(enumerate(order, 1)))}
    for row in rows:
        row["rank"] = place[gains[row["system"]]] if row["system"] in gains else None


def _ends(cell: Row) -> tuple[float | None, float | None, float | None]:
    return cell["mean"], cell["low"], cell["high"]


def summarize(rows: list[Row], main: str, measure: Measure, topics: int) -> str:
    """A sentence on the best system, its mean and interval, and the share of judged documents."""
    known = [row for row in rows if row["rank"] is not None]
    if not known:
        return "No topic was evaluated."
    best = [row for row in known if row["rank"] == 1]
    cell = next(cell for cell in best[0]["measures"] if cell["measure"] == main)
    within = "" if cell["low"] is None else f" [{format_number(cell['low'])}, {format_number(cell['high'])}]"
    who = join_systems([row["system"] for row in best])
    mean = f"{format_number(cell['mean'], 4)}{within} over {pluralize(topics, 'topic')}"
    which = "highest" if measure.more_is_better else "lowest"
    if len(known) == 1 or not measure.is_quality:
        text = f"{who} has a mean {main} of {mean}."
    else:
        text = f"{who} {'has' if len(best) == 1 else 'have'} the {which} mean {main}, {mean}."
    return f"{text} {_summarize_judged(known)}".strip()


def _summarize_judged(rows: list[Row]) -> str:
    shares = [row["judged"] for row in rows if row["judged"] is not None]
    if not shares:
        return ""
    if min(shares) == 1:
        return f"Every document in the top {JUDGED_DEPTH} is judged."
    low, high = min(shares), max(shares)
    judged = format_percent(low) if low == high else f"{format_percent(low)} to {format_percent(high)}"
    return f"In the top {JUDGED_DEPTH}, {judged} of the documents are judged; the others could change the order."


def _limit_notes(scores: Scores, limit: int = 12) -> list[str]:
    notes = list(scores.notes)
    rest = len(notes) - limit
    return (
        notes if rest <= 0 else [*notes[:limit], f"And {pluralize(rest, 'more note')}: run cranfield eval to see them."]
    )


def system(context: RequestContext) -> Page:
    """One system: its values by topic, next to the median and the best of all systems."""
    name = context.system(context.params.required("system")).name
    scores, main = context.scores, context.main
    place = scores.labels.index(main)
    all_values = np.array([run.values[place] for run in scores.runs])
    own = next(run for run in scores.runs if run.name == name)
    retrieved = dict(zip(own.judged.queries, own.judged.retrieved.tolist(), strict=True))
    rows = []
    for j, query in enumerate(scores.queries):
        column = all_values[:, j]
        known = column[~np.isnan(column)]
        rows.append(
            {
                "query": query,
                "title": context.title_of(query),
                "values": [none_if_nan(own.values[i, j]) for i in range(len(scores.labels))],
                "median": float(np.median(known)) if len(known) else None,
                "best": _best(known, context.measure(main).more_is_better),
                "retrieved": retrieved.get(query, 0),
            }
        )
    headings = [
        Heading("query", "Topic", is_figure=False),
        *(_value_heading(i, label, measure) for i, (label, measure) in enumerate(context.measures)),
        Heading("median", f"Median {main}", about="over all systems"),
        Heading("best", f"Best {main}", about="of all systems"),
        Heading("retrieved", "Retrieved"),
    ]
    table = PagedTable(context.params, headings, rows, ("query", "title"), sort="query")
    means = [_mean(scores, label, name) for label in scores.labels]
    value = {
        "collection": context.collection.name,
        "system": name,
        "measures": [label for label, _ in context.measures],
        "main": main,
        "means": means,
        "coverage": own.coverage,
        **table.to_dict(),
    }
    extra = {"context": context, "table": table}
    return Page("system.html", value, name, extra, tag=context.tag("system"))


def _value_heading(place: int, label: str, measure: Measure) -> Heading:
    return Heading(label, label, lambda row: row["values"][place], about=measure.title)


def _best(values: Any, more_is_better: bool) -> float | None:
    if not len(values):
        return None
    return float(values.max() if more_is_better else values.min())
