"""What can be suspicious in judgments: odd grades, topics without a relevant document, swapped columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cranfield.checking.findings import Finding
from cranfield.collection import Qrels
from cranfield.judged import Bools
from cranfield.wording import counted, listed


def qrels_findings(qrels: Qrels) -> Iterator[Finding]:
    """Everything suspicious in judgments that could be read."""
    yield from (Finding("warning", "reading", note) for note in qrels.notes)
    yield from _grades(qrels)
    barren = [q for q, docs in zip(qrels.queries, qrels.judged, strict=True) if not any(g > 0 for g in docs.values())]
    if barren:
        message = f"{counted(len(barren), 'topic')} without a relevant document: {listed(barren)}."
        yield Finding("warning", "no relevant document", message, _first_line(qrels, barren[0]), len(barren))
    if qrels.has_subtopics:
        message = (
            f"the second column tells subtopics or groups apart; {qrels.merged:,} documents have several judgments."
        )
        yield Finding("info", "subtopics", message)


def swapped_columns(docs: Sequence[str], grades: Sequence[float]) -> Iterator[Finding]:
    """A few documents with many grades: probably the grades are the documents."""
    if len(docs) > 20 and len(set(docs)) <= 6 < len(set(grades)):
        message = f"only {len(set(docs))} different documents but many grades: are doc and grade swapped?"
        yield Finding("warning", "swapped columns", message)


def _grades(qrels: Qrels) -> Iterator[Finding]:
    negative = qrels.grades < 0
    fractional = qrels.grades != np.floor(qrels.grades)
    if negative.any():
        values = ", ".join(f"{grade:g}" for grade in np.unique(qrels.grades[negative])[:5])
        message = f"{int(negative.sum()):,} negative grades ({values}): pooled but not judged."
        yield Finding("info", "negative grades", message, _line(qrels, negative), int(negative.sum()))
    if fractional.any():
        values = ", ".join(f"{grade:g}" for grade in np.unique(qrels.grades[fractional])[:5])
        message = f"{int(fractional.sum()):,} fractional grades ({values}…): trec_eval would cut them off."
        yield Finding("info", "fractional grades", message, _line(qrels, fractional), int(fractional.sum()))


def _line(qrels: Qrels, where: Bools) -> int:
    return int(qrels.lines[where].min())


def _first_line(qrels: Qrels, query: str) -> int | None:
    rows = qrels.rows_of(qrels.queries.index(query))
    return int(qrels.lines[rows].min()) if rows.stop > rows.start else None
