"""All topics; one topic with values, rankings and judgments; and the explanation of one value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.data import Topic
from cranfield.evaluation import explain
from cranfield.measures import Measure, parse_measure
from cranfield.reporting import explanation as sheets
from cranfield.reporting import measure_column, render_formula
from cranfield.workbench.explore.comparison import rank_systems
from cranfield.workbench.explore.request_context import RequestContext, check_measure
from cranfield.workbench.explore.svg import axis_range, layout_moves, layout_strip, shade
from cranfield.workbench.explore.table_query import Heading, PagedTable, Row, none_if_nan
from cranfield.workbench.judge.documents import document_to_dict
from cranfield.workbench.pages import Page
from cranfield.workbench.params import bad_request

MAX_SYSTEMS = 6  # rankings side by side
DEPTH, MAX_DEPTH = 10, 200  # ranks shown at a time
TITLE_LENGTH = 120  # characters of a title in a ranking


def topics(context: RequestContext) -> Page:
    """Every judged topic: mean, range and best system, and the number of relevant documents."""
    scores, main = context.scores, context.main
    values = np.array([run.values[scores.labels.index(main)] for run in scores.runs])
    rows = [_topic_row(context, values, j, query) for j, query in enumerate(scores.queries)]
    headings = [
        Heading("query", "Topic", is_figure=False),
        Heading("mean", f"Mean {main}", about="over all systems"),
        Heading("low", "Lowest"),
        Heading("high", "Highest"),
        Heading("relevant", "Relevant"),
        Heading("judged", "Judged"),
    ]
    table = PagedTable(context.params, headings, rows, ("query", "title"), sort="query")
    value = {
        "collection": context.collection.name,
        "measure": main,
        "systems": len(scores.runs),
        **table.to_dict(),
    }
    extra = {"context": context, "table": table, "ends": axis_range(measure_column(scores, main))}
    return Page("topics.html", value, "Topics", extra, tag=context.tag("topics"))


def _topic_row(context: RequestContext, values: Any, j: int, query: str) -> Row:
    column = values[:, j]
    known = column[~np.isnan(column)]
    judged = context.collection.qrels.judged[j]
    best = None
    if len(known):
        sign = 1 if context.measure(context.main).more_is_better else -1
        best = context.scores.runs[int(np.argmax(np.where(np.isnan(column), -np.inf, sign * column)))].name
    return {
        "query": query,
        "title": context.title_of(query),
        "mean": float(known.mean()) if len(known) else None,
        "low": float(known.min()) if len(known) else None,
        "high": float(known.max()) if len(known) else None,
        "best": best,
        "relevant": sum(grade >= context.collection.rel for grade in judged.values()),
        "judged": len(judged),
    }


# One topic


def topic(context: RequestContext) -> Page:
    """One topic: the values of all systems, some rankings side by side, the relevant documents, a text."""
    query = context.query()
    place = context.query_index[query]
    scores = context.scores
    chosen = choose_systems(context)
    context.rankings(chosen)  # reads them together if necessary
    judged = context.collection.qrels.judged[place]
    first = context.params.integer("from", 1, 1, 10_000_000)
    depth = context.params.integer("depth", DEPTH, 1, MAX_DEPTH)
    values = _system_values(context, place)
    table = _system_table(context, values)
    rankings = _rankings(context, query, chosen, judged, first, depth, values)
    relevant = _relevant_table(context, query, chosen, judged)
    shown_doc = context.params.text("show")
    value = {
        "collection": context.collection.name,
        "query": query,
        "topic": _topic_to_dict(context.topic(query)),
        "measures": [label for label, _ in context.measures],
        "relevant_documents": sum(grade >= context.collection.rel for grade in judged.values()),
        "judged_documents": len(judged),
        "grades": [{"grade": grade, "documents": n} for grade, n in sorted(Counter(judged.values()).items())],
        "systems": table.to_dict(),
        "from": first,
        "depth": depth,
        "rankings": rankings,
        "relevant": relevant.to_dict(),
        "show": {
            "doc": shown_doc,
            "grade": judged.get(shown_doc),
            "document": document_to_dict(context.document(shown_doc)),
        }
        if shown_doc
        else None,
    }
    grades = sorted({0.0, *context.collection.qrels.grades.tolist()})
    main = context.main
    row_of = {row["system"]: row for row in values}
    at = scores.labels.index(main)
    strip = layout_strip(
        [(name, row_of[name]["values"][at]) for name in row_of], axis_range(measure_column(scores, main)), chosen
    )
    before, after = _neighbours(context, place)
    extra = {
        "context": context,
        "table": table,
        "relevant": relevant,
        "chosen": chosen,
        "main": main,
        "names": [system.name for system in context.collection.systems],
        "strip": strip,
        "moves": _layout_moves(context, query, rankings, first),
        "shade": lambda grade: shade(grade, grades),
        "scale": grades,
        "rel": context.collection.rel,
        "longest": max((ranking["retrieved"] for ranking in rankings), default=0),
        "before": before,
        "after": after,
        "max_systems": MAX_SYSTEMS,
    }
    title = context.title_of(query)
    return Page("topic.html", value, f"Topic {query}{f': {title}' if title else ''}", extra)


def choose_systems(context: RequestContext) -> list[str]:
    """The systems whose rankings are shown: those requested, or the best one and the baseline or the next best."""
    names = [context.system(name).name for name in context.params.many("system")]
    if len(names) > MAX_SYSTEMS:
        raise bad_request(f"found {len(names)} systems, expected at most {MAX_SYSTEMS}.")
    if names:
        return names
    ranked = rank_systems(context)
    base = context.collection.baseline
    return ranked[:2] if base is None or base == ranked[0] else [ranked[0], base]


def _system_values(context: RequestContext, place: int) -> list[Row]:
    scores = context.scores
    query = scores.queries[place]
    rows = []
    for run in scores.runs:
        retrieved = dict(zip(run.judged.queries, run.judged.retrieved.tolist(), strict=True))
        rows.append(
            {
                "system": run.name,
                "values": [none_if_nan(value) for value in run.values[:, place].tolist()],
                "retrieved": retrieved.get(query, 0),
            }
        )
    return rows


def _system_table(context: RequestContext, rows: Sequence[Row]) -> PagedTable:
    main = context.main
    headings = [
        Heading("system", "System", is_figure=False),
        *(_heading(i, label, measure) for i, (label, measure) in enumerate(context.measures)),
        Heading("retrieved", "Retrieved"),
    ]
    default_sort = f"{'-' if context.measure(main).more_is_better else ''}{main}"
    return PagedTable(context.params, headings, rows, ("system",), sort=default_sort, per_page=25)


def _heading(place: int, label: str, measure: Measure) -> Heading:
    return Heading(label, label, lambda row: row["values"][place], about=measure.title)


def _rankings(
    context: RequestContext,
    query: str,
    chosen: Sequence[str],
    judged: Mapping[str, float],
    first: int,
    depth: int,
    values: Sequence[Row],
) -> list[Row]:
    """A part of each ranking: documents with grades and shortened titles."""
    known = {row["system"]: row["values"] for row in values}
    titles: dict[str, str] = {}
    rankings = []
    for name in chosen:
        ranking = context.ranking(name)
        docs = []
        for one in ranking.list_docs(query, first, depth):
            if one.doc not in titles:
                titles[one.doc] = _title(context, one.doc)
            docs.append(
                {
                    "rank": one.rank,
                    "doc": one.doc,
                    "score": one.score,
                    "grade": judged.get(one.doc),
                    "title": titles[one.doc],
                }
            )
        rankings.append({"system": name, "values": known[name], "retrieved": ranking.size(query), "documents": docs})
    return rankings


def _title(context: RequestContext, doc: str) -> str:
    document = context.document(doc)
    if document is None:
        return ""
    text = " ".join((document.title or document.text[: 4 * TITLE_LENGTH]).split())
    return text if len(text) <= TITLE_LENGTH else f"{text[:TITLE_LENGTH].rsplit(' ', 1)[0]} …"


def _layout_moves(context: RequestContext, query: str, rankings: Sequence[Row], first: int) -> list[dict[str, Any]]:
    """The lines between neighboring rankings."""
    rel = context.collection.rel
    kinds = {
        one["doc"]: "unknown" if one["grade"] is None else "relevant" if one["grade"] >= rel else "other"
        for ranking in rankings
        for one in ranking["documents"]
    }
    ranks = [context.ranking(ranking["system"]).ranks(query) for ranking in rankings]
    shown = [[one["doc"] for one in ranking["documents"]] for ranking in rankings]
    return [
        layout_moves(shown[i], shown[i + 1], first, ranks[i], ranks[i + 1], kinds) for i in range(len(rankings) - 1)
    ]


def _relevant_table(
    context: RequestContext, query: str, chosen: Sequence[str], judged: Mapping[str, float]
) -> PagedTable:
    """The relevant documents, with their ranks in the chosen systems."""
    ranks = [context.ranking(name).ranks(query) for name in chosen]
    rows = [
        {"doc": doc, "grade": grade, "ranks": [own.get(doc) for own in ranks]}
        for doc, grade in judged.items()
        if grade >= context.collection.rel
    ]
    headings = [
        Heading("doc", "Document", is_figure=False),
        Heading("grade", "Grade"),
        *(_rank_heading(i, name) for i, name in enumerate(chosen)),
    ]
    return PagedTable(context.params, headings, rows, ("doc",), sort="-grade", per_page=20, prefix="relevant_")


def _rank_heading(place: int, name: str) -> Heading:
    return Heading(f"rank {name}", name, lambda row: row["ranks"][place], about="rank")


def _topic_to_dict(topic: Topic | None) -> Row | None:
    if topic is None:
        return None
    return {
        "title": topic.title,
        "description": topic.description,
        "narrative": topic.narrative,
        "subtopics": [{"id": one.id, "text": one.text} for one in topic.subtopics],
    }


def _neighbours(context: RequestContext, place: int) -> tuple[str | None, str | None]:
    queries = context.collection.qrels.queries
    return (
        queries[place - 1] if place else None,
        queries[place + 1] if place + 1 < len(queries) else None,
    )


# Explanation of a value


def explanation(context: RequestContext) -> Page:
    """The explanation of the value of a system for a topic, by any measure."""
    context.use_default_measures = True  # the requested measure is only explained, not evaluated for all systems
    query = context.query()
    name = context.system(context.params.required("system")).name
    names = context.requested_measures
    label = names[0] if names else context.main
    if len(names) > 1:
        raise bad_request("expected one measure to explain.")
    known = dict(context.measures) if not names else {}
    measure = known.get(label) or parse_measure(check_measure(label))
    top = context.params.integer("top", 50, 1, 1000)
    # only the part of the run for this topic is needed
    run = context.ranking(name).run(query, name)
    integer = explain(measure, context.collection.qrels, run, query, **context.collection.options)
    shown = integer.down_to_the_cutoff().top(top)
    value = shown.record() | {"collection": context.collection.name, "system": name, "top": top}
    judged = context.collection.qrels.judged[context.query_index[query]]
    grades = sorted({0.0, *context.collection.qrels.grades.tolist()})
    extra = {
        "context": context,
        "sheet": sheets.make_sheet(shown),
        "remarks": sheets.list_remarks(shown),
        "formula": render_formula(shown.formula) if shown.formula else "",
        "names": [system.name for system in context.collection.systems],
        "docs": [row["doc"] for row in shown.rows if "what" not in row],
        "grades": [judged.get(row["doc"]) for row in shown.rows if "what" not in row],
        "shade": lambda grade: shade(grade, grades),
        "label": label,
        "topic_title": context.title_of(query),
    }
    return Page("explain.html", value, f"{label} of {name}, topic {query}", extra)
