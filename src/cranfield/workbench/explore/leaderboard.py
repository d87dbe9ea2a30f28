"""All systems with their means, and one system with its topics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cranfield.base import pluralize
from cranfield.evaluation import TOP, Scores
from cranfield.measures import Measure
from cranfield.reporting import number, percent, several
from cranfield.workbench.explore.request_context import Visit
from cranfield.workbench.explore.svg import whiskers
from cranfield.workbench.explore.table_query import Heading, Listing, Row
from cranfield.workbench.pages import Page


def leaderboard(visit: Visit) -> Page:
    """Every system with every mean, its interval, and how much of what it shows is judged."""
    scores, main = visit.scores, visit.main
    rows = [_row(scores, i, run.name) for i, run in enumerate(scores.runs)]
    _mark_best(rows, visit.measures)
    _rank(rows, main, visit.measure(main))
    headings = [
        Heading("rank", "", lambda row: row["rank"]),
        Heading("system", "System", lambda row: row["system"], is_figure=False),
        *(_measure_heading(i, label, measure) for i, (label, measure) in enumerate(visit.measures)),
    ]
    if f"Judged@{TOP}" not in scores.labels:
        headings.append(Heading("judged", f"Judged in top {TOP}", lambda row: row["judged"]))
    usual = f"{'-' if visit.measure(main).more_is_better else ''}{main}"
    listing = Listing(visit.asked, headings, rows, lambda row: row["system"], sort=usual, per_page=200)
    told = sentence(rows, main, visit.measure(main), len(scores.queries))
    value = {
        "collection": visit.explored.name,
        "measures": [label for label, _ in visit.measures],
        "main": main,
        "topics": len(scores.queries),
        "summary": told,
        **listing.to_dict(),
        "conventions": dict(scores.conventions),
        "notes": [*visit.explored.notes, *notes_of(scores)],
    }
    drawn = listing.sort.removeprefix("-")
    drawn = drawn if drawn in dict(visit.measures) else main
    place = [label for label, _ in visit.measures].index(drawn)
    ends = [_ends(row["measures"][place]) for row in listing.rows]
    more = {"visit": visit, "listing": listing, "whiskers": whiskers(ends), "drawn": drawn, "top": TOP}
    return Page("leaderboard.html", value, "Leaderboard", more, tag=visit.tag("leaderboard"))


def _row(scores: Scores, i: int, name: str) -> Row:
    unjudged = scores.unjudged(TOP, name)
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
    found = scores.interval(label, name) if is_quality else None
    return {
        "measure": label,
        "mean": None if math.isnan(mean) else float(mean),
        "low": None if found is None else found.low,
        "high": None if found is None else found.high,
        "is_best": False,
    }


def _measure_heading(place: int, label: str, measure: Measure) -> Heading:
    return Heading(label, label, lambda row: row["measures"][place]["mean"], about=measure.title)


def _mark_best(rows: list[Row], measures: list[tuple[str, Measure]]) -> None:
    """Mark the best of each column; what looks the same as it is shown is best alike."""
    for place, (_, measure) in enumerate(measures):
        known = [row["measures"][place] for row in rows if row["measures"][place]["mean"] is not None]
        if measure.is_quality and len(known) > 1:
            best = (max if measure.more_is_better else min)(cell["mean"] for cell in known)
            for cell in known:
                cell["is_best"] = f"{cell['mean']:.4f}" == f"{best:.4f}"


def _rank(rows: list[Row], main: str, measure: Measure) -> None:
    """Places by the main measure; equal means share the better one."""
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


def sentence(rows: list[Row], main: str, measure: Measure, topics: int) -> str:
    """Who leads, by how much, how sure that is, and how much of it is judged."""
    known = [row for row in rows if row["rank"] is not None]
    if not known:
        return "No topic was evaluated."
    best = [row for row in known if row["rank"] == 1]
    cell = next(cell for cell in best[0]["measures"] if cell["measure"] == main)
    within = "" if cell["low"] is None else f" [{number(cell['low'])}, {number(cell['high'])}]"
    who = several([row["system"] for row in best])
    figure = f"{number(cell['mean'], 4)}{within} over {pluralize(topics, 'topic')}"
    which = "highest" if measure.more_is_better else "lowest"
    if len(known) == 1 or not measure.is_quality:
        said = f"{who} has a mean {main} of {figure}."
    else:
        said = f"{who} {'has' if len(best) == 1 else 'have'} the {which} mean {main}, {figure}."
    return f"{said} {_judged_said(best[0], known)}".strip()


def _judged_said(best: Row, rows: list[Row]) -> str:
    shares = [row["judged"] for row in rows if row["judged"] is not None]
    if not shares:
        return ""
    if min(shares) == 1:
        return f"Every document in the top {TOP} is judged."
    low = min(shares)
    said = f"Of the top {TOP} documents of a system {percent(low)} to {percent(max(shares))} are judged"
    if len(shares) == 1 or low == max(shares):
        said = f"Of the top {TOP} documents {percent(low)} are judged"
    return f"{said}; what is not could change the order."


def notes_of(scores: Scores, most: int = 12) -> list[str]:
    """What a reader of the figures must know."""
    notes = list(scores.notes)
    rest = len(notes) - most
    return notes if rest <= 0 else [*notes[:most], f"And {pluralize(rest, 'further note')}: cranfield eval tells them."]


def system(visit: Visit) -> Page:
    """One system: its value for every topic, beside what others reach."""
    name = visit.system(visit.asked.needed("system")).name
    scores, main = visit.scores, visit.main
    place = scores.labels.index(main)
    everybody = np.array([run.values[place] for run in scores.runs])
    own = next(run for run in scores.runs if run.name == name)
    retrieved = dict(zip(own.judged.queries, own.judged.retrieved.tolist(), strict=True))
    rows = []
    for j, query in enumerate(scores.queries):
        column = everybody[:, j]
        known = column[~np.isnan(column)]
        rows.append(
            {
                "query": query,
                "title": visit.title_of(query),
                "values": [_plain(own.values[i, j]) for i in range(len(scores.labels))],
                "median": float(np.median(known)) if len(known) else None,
                "best": _best(known, visit.measure(main).more_is_better),
                "retrieved": retrieved.get(query, 0),
            }
        )
    headings = [
        Heading("query", "Topic", lambda row: row["query"], is_figure=False),
        *(_value_heading(i, label, measure) for i, (label, measure) in enumerate(visit.measures)),
        Heading("median", f"Median {main}", lambda row: row["median"], about="over all systems"),
        Heading("best", f"Best {main}", lambda row: row["best"], about="of all systems"),
        Heading("retrieved", "Retrieved", lambda row: row["retrieved"]),
    ]
    listing = Listing(visit.asked, headings, rows, lambda row: f"{row['query']} {row['title']}", sort="query")
    means = [_mean(scores, label, name) for label in scores.labels]
    value = {
        "collection": visit.explored.name,
        "system": name,
        "measures": [label for label, _ in visit.measures],
        "main": main,
        "means": means,
        "coverage": own.coverage,
        **listing.to_dict(),
    }
    more = {"visit": visit, "listing": listing}
    return Page("system.html", value, name, more, tag=visit.tag("system"))


def _value_heading(place: int, label: str, measure: Measure) -> Heading:
    return Heading(label, label, lambda row: row["values"][place], about=measure.title)


def _plain(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)


def _best(values: Any, more_is_better: bool) -> float | None:
    if not len(values):
        return None
    return float(values.max() if more_is_better else values.min())
