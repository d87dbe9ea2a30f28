"""All topics, and one topic: every system's value, rankings side by side, what was judged, how a value comes about."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.data import Topic
from cranfield.evaluation import explain
from cranfield.measures import Measure, parse_measure
from cranfield.reporting import column, formula
from cranfield.reporting import explanation as sheets
from cranfield.workbench.explore.comparison import ranking_of
from cranfield.workbench.explore.request_context import Visit, checked_measure
from cranfield.workbench.explore.svg import moves, reach, shade, strip
from cranfield.workbench.explore.table_query import Heading, Listing, Row
from cranfield.workbench.judge.documents import as_shown
from cranfield.workbench.pages import Page
from cranfield.workbench.params import bad

SYSTEMS = 6  # rankings side by side, at most
DEPTH, DEEPEST = 10, 200  # ranks that are shown at a time
LETTERS = 120  # of a title in a ranking


def topics(visit: Visit) -> Page:
    """Every judged topic: how hard it is, who does best, how much is relevant."""
    scores, main = visit.scores, visit.main
    values = np.array([run.values[scores.labels.index(main)] for run in scores.runs])
    rows = [_difficulty(visit, values, j, query) for j, query in enumerate(scores.queries)]
    headings = [
        Heading("query", "Topic", lambda row: row["query"], is_figure=False),
        Heading("mean", f"Mean {main}", lambda row: row["mean"], about="over all systems"),
        Heading("low", "Lowest", lambda row: row["low"]),
        Heading("high", "Highest", lambda row: row["high"]),
        Heading("relevant", "Relevant", lambda row: row["relevant"]),
        Heading("judged", "Judged", lambda row: row["judged"]),
    ]
    listing = Listing(visit.asked, headings, rows, lambda row: f"{row['query']} {row['title']}", sort="query")
    value = {
        "collection": visit.explored.name,
        "measure": main,
        "systems": len(scores.runs),
        **listing.to_dict(),
    }
    more = {"visit": visit, "listing": listing, "ends": reach(column(scores, main))}
    return Page("topics.html", value, "Topics", more, tag=visit.tag("topics"))


def _difficulty(visit: Visit, values: Any, j: int, query: str) -> Row:
    found = values[:, j]
    known = found[~np.isnan(found)]
    judged = visit.explored.qrels.judged[j]
    best = None
    if len(known):
        sign = 1 if visit.measure(visit.main).more_is_better else -1
        best = visit.scores.runs[int(np.argmax(np.where(np.isnan(found), -np.inf, sign * found)))].name
    return {
        "query": query,
        "title": visit.title_of(query),
        "mean": float(known.mean()) if len(known) else None,
        "low": float(known.min()) if len(known) else None,
        "high": float(known.max()) if len(known) else None,
        "best": best,
        "relevant": sum(grade >= visit.explored.rel for grade in judged.values()),
        "judged": len(judged),
    }


# One topic


def topic(visit: Visit) -> Page:
    """One topic: all systems' values, some rankings side by side, the relevant documents, a text."""
    query = visit.query()
    place = visit.places[query]
    scores = visit.scores
    chosen = chosen_systems(visit)
    visit.rankings(chosen)  # read together, if they must be
    judged = visit.explored.qrels.judged[place]
    first = visit.asked.whole("from", 1, 1, 10_000_000)
    depth = visit.asked.whole("depth", DEPTH, 1, DEEPEST)
    values = _values(visit, place)
    listing = _systems_listing(visit, values)
    rankings = _rankings(visit, query, chosen, judged, first, depth, values)
    relevant = _relevant_listing(visit, query, chosen, judged)
    text = visit.asked.text("show")
    value = {
        "collection": visit.explored.name,
        "query": query,
        "topic": _texts(visit.topic(query)),
        "measures": [label for label, _ in visit.measures],
        "relevant_documents": sum(grade >= visit.explored.rel for grade in judged.values()),
        "judged_documents": len(judged),
        "grades": [{"grade": grade, "documents": n} for grade, n in _counts(judged).items()],
        "systems": listing.to_dict(),
        "from": first,
        "depth": depth,
        "rankings": rankings,
        "relevant": relevant.to_dict(),
        "show": _text(visit, query, text, judged) if text else None,
    }
    grades = sorted({0.0, *visit.explored.qrels.grades.tolist()})
    main = visit.main
    row_of = {row["system"]: row for row in values}
    at = scores.labels.index(main)
    line = strip([(name, row_of[name]["values"][at]) for name in row_of], reach(column(scores, main)), chosen)
    before, after = _neighbours(visit, place)
    more = {
        "visit": visit,
        "listing": listing,
        "relevant": relevant,
        "chosen": chosen,
        "main": main,
        "names": [system.name for system in visit.explored.systems],
        "strip": line,
        "moves": _moves(visit, query, rankings, first),
        "shade": lambda grade: shade(grade, grades),
        "scale": grades,
        "rel": visit.explored.rel,
        "longest": max((ranking["retrieved"] for ranking in rankings), default=0),
        "before": before,
        "after": after,
        "most_systems": SYSTEMS,
    }
    title = visit.title_of(query)
    return Page("topic.html", value, f"Topic {query}{f': {title}' if title else ''}", more)


def chosen_systems(visit: Visit) -> list[str]:
    """The systems whose rankings are shown: those asked for, or the best and the baseline or next best."""
    asked = [visit.system(name).name for name in visit.asked.many("system")]
    if len(asked) > SYSTEMS:
        raise bad(f"there are {len(asked)} systems, expected {SYSTEMS} at most side by side.")
    if asked:
        return asked
    ranked = ranking_of(visit)
    base = visit.explored.baseline
    first = ranked[:2] if base is None or base == ranked[0] else [ranked[0], base]
    return first


def _values(visit: Visit, place: int) -> list[Row]:
    scores = visit.scores
    query = scores.queries[place]
    rows = []
    for run in scores.runs:
        retrieved = dict(zip(run.judged.queries, run.judged.retrieved.tolist(), strict=True))
        rows.append(
            {
                "system": run.name,
                "values": [_plain(value) for value in run.values[:, place].tolist()],
                "retrieved": retrieved.get(query, 0),
            }
        )
    return rows


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


def _systems_listing(visit: Visit, rows: Sequence[Row]) -> Listing:
    main = visit.main
    headings = [
        Heading("system", "System", lambda row: row["system"], is_figure=False),
        *(_heading(i, label, measure) for i, (label, measure) in enumerate(visit.measures)),
        Heading("retrieved", "Retrieved", lambda row: row["retrieved"]),
    ]
    usual = f"{'-' if visit.measure(main).more_is_better else ''}{main}"
    return Listing(visit.asked, headings, rows, lambda row: row["system"], sort=usual, per_page=25)


def _heading(place: int, label: str, measure: Measure) -> Heading:
    return Heading(label, label, lambda row: row["values"][place], about=measure.title)


def _rankings(
    visit: Visit,
    query: str,
    chosen: Sequence[str],
    judged: Mapping[str, float],
    first: int,
    depth: int,
    values: Sequence[Row],
) -> list[Row]:
    """A part of each ranking, every document with its grade and the beginning of its title."""
    known = {row["system"]: row["values"] for row in values}
    titles: dict[str, str] = {}
    found = []
    for name in chosen:
        ranking = visit.ranking(name)
        docs = []
        for one in ranking.part(query, first, depth):
            if one.doc not in titles:
                titles[one.doc] = _title(visit, one.doc)
            docs.append(
                {
                    "rank": one.rank,
                    "doc": one.doc,
                    "score": one.score,
                    "grade": judged.get(one.doc),
                    "title": titles[one.doc],
                }
            )
        found.append({"system": name, "values": known[name], "retrieved": ranking.size(query), "documents": docs})
    return found


def _title(visit: Visit, doc: str) -> str:
    found = visit.document(doc)
    if found is None:
        return ""
    text = " ".join((found.title or found.text[: 4 * LETTERS]).split())
    return text if len(text) <= LETTERS else f"{text[:LETTERS].rsplit(' ', 1)[0]} …"


def _moves(visit: Visit, query: str, rankings: Sequence[Row], first: int) -> list[dict[str, Any]]:
    """The lines between each ranking and the next."""
    rel = visit.explored.rel
    kinds = {
        one["doc"]: "unknown" if one["grade"] is None else "relevant" if one["grade"] >= rel else "other"
        for ranking in rankings
        for one in ranking["documents"]
    }
    ranks = [visit.ranking(ranking["system"]).ranks(query) for ranking in rankings]
    shown = [[one["doc"] for one in ranking["documents"]] for ranking in rankings]
    return [moves(shown[i], shown[i + 1], first, ranks[i], ranks[i + 1], kinds) for i in range(len(rankings) - 1)]


def _relevant_listing(visit: Visit, query: str, chosen: Sequence[str], judged: Mapping[str, float]) -> Listing:
    """The relevant documents, and where each of the systems has them."""
    ranks = [visit.ranking(name).ranks(query) for name in chosen]
    rows = [
        {"doc": doc, "grade": grade, "ranks": [own.get(doc) for own in ranks]}
        for doc, grade in judged.items()
        if grade >= visit.explored.rel
    ]
    headings = [
        Heading("doc", "Document", lambda row: row["doc"], is_figure=False),
        Heading("grade", "Grade", lambda row: row["grade"]),
        *(_rank_heading(i, name) for i, name in enumerate(chosen)),
    ]
    return Listing(visit.asked, headings, rows, lambda row: row["doc"], sort="-grade", per_page=20, prefix="relevant_")


def _rank_heading(place: int, name: str) -> Heading:
    return Heading(f"rank {name}", name, lambda row: row["ranks"][place], about="rank")


def _text(visit: Visit, query: str, doc: str, judged: Mapping[str, float]) -> Row:
    """A document's text, with its grade for the topic."""
    found = as_shown(visit.document(doc))
    return {"doc": doc, "grade": judged.get(doc), "document": found}


def _texts(topic: Topic | None) -> Row | None:
    if topic is None:
        return None
    return {
        "title": topic.title,
        "description": topic.description,
        "narrative": topic.narrative,
        "subtopics": [{"id": one.id, "text": one.text} for one in topic.subtopics],
    }


def _counts(judged: Mapping[str, float]) -> dict[float, int]:
    counts: dict[float, int] = {}
    for grade in sorted(judged.values()):
        counts[grade] = counts.get(grade, 0) + 1
    return counts


def _neighbours(visit: Visit, place: int) -> tuple[str | None, str | None]:
    queries = visit.explored.qrels.queries
    return (
        queries[place - 1] if place else None,
        queries[place + 1] if place + 1 < len(queries) else None,
    )


# How a value comes about


def explanation(visit: Visit) -> Page:
    """How the value of a system for a topic comes about, by any measure."""
    visit.is_usual = True  # the measure asked for is explained, and need not be evaluated for all systems
    query = visit.query()
    name = visit.system(visit.asked.needed("system")).name
    asked = visit.measures_asked
    label = asked[0] if asked else visit.main
    if len(asked) > 1:
        raise bad("one measure is explained at a time.")
    known = dict(visit.measures) if not asked else {}
    measure = known.get(label) or parse_measure(checked_measure(label))
    top = visit.asked.whole("top", 50, 1, 1000)
    # the run's part of this topic is all that a measure may look at here
    run = visit.ranking(name).run(query, name)
    whole = explain(measure, visit.explored.qrels, run, query, **visit.explored.options)
    shown = whole.down_to_the_cutoff().top(top)
    value = shown.record() | {"collection": visit.explored.name, "system": name, "top": top}
    judged = visit.explored.qrels.judged[visit.places[query]]
    grades = sorted({0.0, *visit.explored.qrels.grades.tolist()})
    more = {
        "visit": visit,
        "sheet": sheets.sheet(shown),
        "remarks": sheets.remarks(shown),
        "formula": formula(shown.formula) if shown.formula else "",
        "names": [system.name for system in visit.explored.systems],
        "docs": [row["doc"] for row in shown.rows if "what" not in row],
        "grades": [judged.get(row["doc"]) for row in shown.rows if "what" not in row],
        "shade": lambda grade: shade(grade, grades),
        "label": label,
        "topic_title": visit.title_of(query),
    }
    return Page("explain.html", value, f"{label} of {name}, topic {query}", more)
