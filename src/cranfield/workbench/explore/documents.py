"""One document: its text, who retrieved it where, who judged it what."""

from __future__ import annotations

from typing import Any

from cranfield.annotation import Connection
from cranfield.workbench.explore.rankings import Retrieved
from cranfield.workbench.explore.request_context import Visit
from cranfield.workbench.explore.svg import shade
from cranfield.workbench.explore.table_query import Heading, Listing, Row
from cranfield.workbench.judge.documents import as_shown
from cranfield.workbench.pages import Page
from cranfield.workbench.params import missing


def document(visit: Visit) -> Page:
    """A document; without an id, a place to ask for one."""
    doc = visit.asked.text("doc")
    if not doc:
        return Page("find_document.html", {"doc": None}, "Find a document", {"visit": visit})
    query = visit.asked.text("query")
    if query:
        visit.query()
    found = _retrieved(visit, doc)
    grades = _grades(visit, doc)
    judgments = _judgments(visit, doc)
    text = as_shown(visit.document(doc))
    if text is None and not found and not grades and not judgments:
        raise missing(f"There is no document {doc!r:.80}: no system retrieved it, and nobody judged it.")
    rows = _by_topic(visit, found, grades)
    listing = Listing(
        visit.asked, _headings(), rows, lambda row: f"{row['query']} {row['title']}", sort="best_rank", per_page=50
    )
    within = _within(visit, query, found) if query else None
    value = {
        "collection": visit.explored.name,
        "doc": doc,
        "document": text,
        "query": query or None,
        "qrels": _graded(visit, grades, query),
        "judgments": judgments,
        "topics": listing.to_dict(),
        "systems": None if within is None else within.to_dict(),
    }
    scale = sorted({0.0, *visit.explored.qrels.grades.tolist()})
    more = {
        "visit": visit,
        "listing": listing,
        "within": within,
        "shade": lambda grade: shade(grade, scale),
        "rel": visit.explored.rel,
        "has_log": visit.request.app.state.site.room is not None and visit.is_judged_here,
        "grade": grades.get(query) if query else None,
        "ranks": [one.rank for _, one in found.get(query, ())],
        "query_title": visit.title_of(query) if query else "",
    }
    return Page("document.html", value, f"Document {doc}", more)


def _retrieved(visit: Visit, doc: str) -> dict[str, list[tuple[str, Retrieved]]]:
    """By topic: the systems that retrieved the document, and at which rank."""
    found: dict[str, list[tuple[str, Retrieved]]] = {}
    for name, one in visit.retrieved(doc):
        found.setdefault(one.query, []).append((name, one))
    return found


def _grades(visit: Visit, doc: str) -> dict[str, float]:
    """The grade of the document for each topic that it was judged for."""
    qrels = visit.explored.qrels
    return {query: judged[doc] for query, judged in zip(qrels.queries, qrels.judged, strict=True) if doc in judged}


def _graded(visit: Visit, grades: dict[str, float], query: str) -> Row:
    """What the judgments that systems are evaluated by say of it: where they are from, for how many topics."""
    return {
        "file": visit.explored.qrels_file or None,
        "grade": grades.get(query) if query else None,
        "topics": len(grades),
    }


def _by_topic(visit: Visit, found: dict[str, list[tuple[str, Retrieved]]], grades: dict[str, float]) -> list[Row]:
    return [
        {
            "query": query,
            "title": visit.title_of(query),
            "grade": grades.get(query),
            "is_judged_topic": query in visit.places,
            "systems": len(found.get(query, ())),
            "best_rank": min((one.rank for _, one in found.get(query, ())), default=None),
            "best_system": min(found[query], key=lambda pair: pair[1].rank)[0] if query in found else None,
        }
        for query in dict.fromkeys((*found, *grades))
    ]


def _headings() -> list[Heading]:
    return [
        Heading("query", "Topic", lambda row: row["query"], is_figure=False),
        Heading("grade", "Grade", lambda row: row["grade"]),
        Heading("systems", "Systems", lambda row: row["systems"], about="that retrieved it"),
        Heading("best_rank", "Best rank", lambda row: row["best_rank"]),
    ]


def _within(visit: Visit, query: str, found: dict[str, list[tuple[str, Retrieved]]]) -> Listing:
    """All systems with the rank that they gave the document for a topic."""
    known = {name: one for name, one in found.get(query, ())}
    rows = [
        {
            "system": system.name,
            "rank": known[system.name].rank if system.name in known else None,
            "score": known[system.name].score if system.name in known else None,
        }
        for system in visit.explored.systems
    ]
    headings = [
        Heading("system", "System", lambda row: row["system"], is_figure=False),
        Heading("rank", "Rank", lambda row: row["rank"]),
        Heading("score", "Score", lambda row: row["score"]),
    ]
    return Listing(visit.asked, headings, rows, lambda row: row["system"], sort="rank", per_page=50, prefix="system_")


def _judgments(visit: Visit, doc: str) -> list[Row]:
    """What each assessor thinks of the document by now, and what was decided between them."""
    room: Any = visit.request.app.state.site.room
    if room is None or not visit.is_judged_here:
        return []

    def work(at: Connection) -> list[Any]:
        return at.rows(
            """
            SELECT p.query, s.assessor, s.kind, s.grade, s.note, s.recorded_at, s.again, p.adjudicated, p.source, p.gold
            FROM pairs p LEFT JOIN states s ON s.pair = p.pair WHERE p.doc = ? ORDER BY p.query, s.recorded_at
            """,
            doc,
        )

    return [
        {
            "query": query,
            "assessor": who,
            "kind": kind,
            "grade": grade,
            "note": note,
            "at": at,
            "is_repeat": bool(again),
            "adjudicated": adjudicated,
            "source": source,
            "gold": gold,
        }
        for query, who, kind, grade, note, at, again, adjudicated, source, gold in room.log.read(work)
        if kind or adjudicated is not None
    ]
