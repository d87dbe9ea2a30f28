"""Suspicious things in judgments: unusual grades, topics without a relevant document, swapped columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cranfield.base import join_names, pluralize
from cranfield.data import Bools, Qrels
from cranfield.io import QrelsRows
from cranfield.validation.findings import Finding


def find_in_qrels(qrels: Qrels, rows: QrelsRows) -> Iterator[Finding]:
    """Everything suspicious in judgments that could be read, and in the rows they were made from."""
    yield from (Finding("warning", "reading", note.message, note.line, note.count) for note in rows.notes)
    yield from _swapped(rows)
    yield from _grades(qrels)
    barren = [q for q, docs in zip(qrels.queries, qrels.judged, strict=True) if not any(g >= 1 for g in docs.values())]
    if barren:
        message = (
            f"{pluralize(len(barren), 'topic')} without a relevant document (grade 1 or more): {join_names(barren)}."
        )
        yield Finding("warning", "no relevant document", message, _first_line(qrels, barren), len(barren))
    if qrels.has_subtopics:
        several = pluralize(qrels.merged, "document")
        message = f"the second column holds subtopics or groups; {several} with several judgments."
        yield Finding("info", "subtopics", message)


def _swapped(rows: QrelsRows) -> Iterator[Finding]:
    """Few documents with many grades: the two columns are probably swapped."""
    docs, grades = set(rows.docs), set(rows.grades)
    if len(rows.docs) > 20 and len(docs) <= 6 < len(grades):
        message = f"only {pluralize(len(docs), 'different document')} but many grades: are doc and grade swapped?"
        yield Finding("warning", "swapped columns", message, rows.lines[0])


def _grades(qrels: Qrels) -> Iterator[Finding]:
    negative = qrels.grades < 0
    fractional = qrels.grades != np.floor(qrels.grades)
    if negative.any():
        count = int(negative.sum())
        message = f"{pluralize(count, 'negative grade')} ({_values(qrels, negative)}): pooled but not judged."
        yield Finding("info", "negative grades", message, _line(qrels, negative), count)
    if fractional.any():
        count = int(fractional.sum())
        cut_off = "trec_eval would truncate them"
        message = f"{pluralize(count, 'fractional grade')} ({_values(qrels, fractional)}): {cut_off}."
        yield Finding("info", "fractional grades", message, _line(qrels, fractional), count)


def _values(qrels: Qrels, where: Bools, most: int = 5) -> str:
    values = np.unique(qrels.grades[where])
    return ", ".join(f"{grade:g}" for grade in values[:most]) + ("…" if len(values) > most else "")


def _line(qrels: Qrels, where: Bools) -> int:
    return int(qrels.lines[where].min())


def _first_line(qrels: Qrels, queries: Sequence[str]) -> int | None:
    """The first line of any of the queries."""
    wanted = set(queries)
    rows = [qrels.rows_of(i) for i, query in enumerate(qrels.queries) if query in wanted]
    return min((int(qrels.lines[part].min()) for part in rows if part.stop > part.start), default=None)
