"""One document: its text, its ranks, its judgments."""

from __future__ import annotations

from typing import Any

from cranfield.annotation import Connection
from cranfield.workbench.app_state import get_app_state
from cranfield.workbench.explore.rankings import RetrievedDoc
from cranfield.workbench.explore.request_context import RequestContext
from cranfield.workbench.explore.svg import shade
from cranfield.workbench.explore.table_query import Heading, PagedTable, Row
from cranfield.workbench.judge.documents import document_to_dict
from cranfield.workbench.pages import Page
from cranfield.workbench.params import not_found


def document(context: RequestContext) -> Page:
    """A document, or without an id a form to find one."""
    doc = context.params.text("doc")
    if not doc:
        return Page("find_document.html", {"doc": None}, "Find a document", {"context": context})
    query = context.params.text("query")
    if query:
        context.query()
    retrieved = _retrieved_by_topic(context, doc)
    grades = _grades(context, doc)
    judgments = _judgments(context, doc)
    text = document_to_dict(context.document(doc))
    if text is None and not retrieved and not grades and not judgments:
        raise not_found(f"Unknown document {doc!r:.80}: no system retrieved it, and nobody judged it.")
    rows = _topic_rows(context, retrieved, grades)
    table = PagedTable(context.params, _headings(), rows, ("query", "title"), sort="best_rank", per_page=50)
    systems = _system_table(context, query, retrieved) if query else None
    value = {
        "collection": context.collection.name,
        "doc": doc,
        "document": text,
        "query": query or None,
        "qrels": _qrels_summary(context, grades, query),
        "judgments": judgments,
        "topics": table.to_dict(),
        "systems": None if systems is None else systems.to_dict(),
    }
    scale = sorted({0.0, *context.collection.qrels.grades.tolist()})
    extra = {
        "context": context,
        "table": table,
        "systems": systems,
        "shade": lambda grade: shade(grade, scale),
        "rel": context.collection.rel,
        "has_log": get_app_state(context.request).judging is not None and context.is_judged_here,
        "grade": grades.get(query) if query else None,
        "ranks": [one.rank for _, one in retrieved.get(query, ())],
        "query_title": context.title_of(query) if query else "",
    }
    return Page("document.html", value, f"Document {doc}", extra)


def _retrieved_by_topic(context: RequestContext, doc: str) -> dict[str, list[tuple[str, RetrievedDoc]]]:
    """By topic: the systems that retrieved the document, with its rank."""
    retrieved: dict[str, list[tuple[str, RetrievedDoc]]] = {}
    for name, one in context.retrieved(doc):
        retrieved.setdefault(one.query, []).append((name, one))
    return retrieved


def _grades(context: RequestContext, doc: str) -> dict[str, float]:
    """The grade of the document by topic."""
    qrels = context.collection.qrels
    return {query: judged[doc] for query, judged in zip(qrels.queries, qrels.judged, strict=True) if doc in judged}


def _qrels_summary(context: RequestContext, grades: dict[str, float], query: str) -> Row:
    """The grade of the document in the qrels, and for how many topics it is judged."""
    return {
        "file": context.collection.qrels_file or None,
        "grade": grades.get(query) if query else None,
        "topics": len(grades),
    }


def _topic_rows(
    context: RequestContext, retrieved: dict[str, list[tuple[str, RetrievedDoc]]], grades: dict[str, float]
) -> list[Row]:
    return [
        {
            "query": query,
            "title": context.title_of(query),
            "grade": grades.get(query),
            "is_judged_topic": query in context.query_index,
            "systems": len(retrieved.get(query, ())),
            "best_rank": min((one.rank for _, one in retrieved.get(query, ())), default=None),
            "best_system": min(retrieved[query], key=lambda pair: pair[1].rank)[0] if query in retrieved else None,
        }
        for query in dict.fromkeys((*retrieved, *grades))
    ]


def _headings() -> list[Heading]:
    return [
        Heading("query", "Topic", is_figure=False),
        Heading("grade", "Grade"),
        Heading("systems", "Systems", about="that retrieved it"),
        Heading("best_rank", "Best rank"),
    ]


def _system_table(
    context: RequestContext, query: str, retrieved: dict[str, list[tuple[str, RetrievedDoc]]]
) -> PagedTable:
    """All systems, with the rank of the document for a topic."""
    known = dict(retrieved.get(query, ()))
    rows = [
        {
            "system": system.name,
            "rank": known[system.name].rank if system.name in known else None,
            "score": known[system.name].score if system.name in known else None,
        }
        for system in context.collection.systems
    ]
    headings = [
        Heading("system", "System", is_figure=False),
        Heading("rank", "Rank"),
        Heading("score", "Score"),
    ]
    return PagedTable(context.params, headings, rows, ("system",), sort="rank", per_page=50, prefix="system_")


def _judgments(context: RequestContext, doc: str) -> list[Row]:
    """The current judgments of the document by all assessors, and adjudicated grades."""
    judging = get_app_state(context.request).judging
    if judging is None or not context.is_judged_here:
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
        for query, who, kind, grade, note, at, again, adjudicated, source, gold in judging.log.read(work)
        if kind or adjudicated is not None
    ]
