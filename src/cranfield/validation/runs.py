"""Suspicious things in a run: ties, ranks that disagree with scores, swapped columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cranfield.base import join_names, pluralize
from cranfield.data import Bools, Run
from cranfield.io import RunRows
from cranfield.validation.findings import Finding


def find_in_run(run: Run, rows: RunRows) -> Iterator[Finding]:
    """Everything suspicious in a run that could be read, and in the rows it was made from."""
    yield from (Finding("warning", "reading", note.message, note.line, note.count) for note in rows.notes)
    yield from _swapped(rows)
    yield from _ranks(run)
    yield from _ties(run)
    empty = [run.queries[i] for i in range(len(run.queries)) if run.starts[i] == run.starts[i + 1]]
    if empty:
        yield Finding(
            "warning", "empty queries", f"{pluralize(len(empty), 'query')} without any document: {join_names(empty)}."
        )


def _swapped(rows: RunRows) -> Iterator[Finding]:
    """Columns that hold the values of another."""
    if not rows.docs:
        return
    line = rows.odd_rank[0] if rows.odd_rank else rows.lines[0]
    if all(re.fullmatch(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", doc) for doc in rows.docs[:1000]):
        message = "the doc column holds decimal numbers: are doc and score swapped?"
        yield Finding("warning", "swapped columns", message, rows.lines[0])
    if _no_ranks(rows, numeric=True) and _count_up(rows.queries, rows.scores):
        message = "the scores count 1, 2, 3 … in each query but the ranks do not: are rank and score swapped?"
        yield Finding("warning", "swapped columns", message, line)
    if _no_ranks(rows, numeric=False) and _count_up(rows.queries, rows.docs):
        message = "the documents count 1, 2, 3 … in each query but the ranks do not: are doc and rank swapped?"
        yield Finding("warning", "swapped columns", message, line)
    yield from _swapped_queries(rows)


def _swapped_queries(rows: RunRows) -> Iterator[Finding]:
    queries, docs = len(set(rows.queries)), len(set(rows.docs))
    # a run with one document per query has the same rank throughout
    one_each = queries == len(rows.docs) and (rows.ranks is None or len(set(rows.ranks)) > 1)
    if (queries > 20 and docs * 10 < queries) or (one_each and queries >= 3 * docs):
        seen = f"{pluralize(queries, 'query')} but only {pluralize(docs, 'document')}"
        message = f"{seen}: are the query and doc columns swapped?"
        yield Finding("warning", "swapped columns", message, rows.lines[0])


def _no_ranks(rows: RunRows, numeric: bool) -> bool:
    """Whether the rank column holds no ranks: numbers like scores or, if not `numeric`, ids."""
    if rows.odd_rank is not None:
        is_number = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", rows.odd_rank[1]) is not None
        return is_number == numeric
    if rows.ranks is None:
        return False
    ranks: dict[str, list[int]] = {}
    for query, rank in zip(rows.queries, rows.ranks, strict=True):
        ranks.setdefault(query, []).append(rank)
    return not any(sorted(own) == list(range(min(own), min(own) + len(own))) for own in ranks.values() if len(own) > 1)


def _count_up(queries: Sequence[str], values: Sequence[float | str]) -> bool:
    """Whether values count 1, 2, 3 … (or from 0) within each query, and some query has more than one."""
    last: dict[str, int] = {}
    for query, value in zip(queries, values, strict=True):
        number = _whole(value)
        if number is None or number != last.get(query, -1 if number == 0 else 0) + 1:
            return False
        last[query] = number
    return len(last) < len(queries)


def _whole(value: float | str) -> int | None:
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"[0-9]{1,9}", value) else None
    return int(value) if value.is_integer() else None


def _ranks(run: Run) -> Iterator[Finding]:
    """Ranks must rise as scores fall; the first violation in each query is reported."""
    if run.ranks is None or run.lines is None:
        return
    for i, query in enumerate(run.queries):
        rows = run.rows_of(i)
        order = np.argsort(run.ranks[rows], kind="stable")
        ranks, scores, lines = (column[rows][order].tolist() for column in (run.ranks, run.scores, run.lines))
        rises = [at for at in range(1, len(scores)) if scores[at] > scores[at - 1]]
        if rises:
            at = rises[0]
            # in full: scores may differ in the last digits
            message = (
                f"query {query!r}: rank {ranks[at]} has score {scores[at]!r}, above the {scores[at - 1]!r} of rank "
                f"{ranks[at - 1]}; ranks and scores disagree at {pluralize(len(rises), 'place')}."
            )
            yield Finding("warning", "rank column", message, lines[at])
        twice = [at for at in range(1, len(ranks)) if ranks[at] == ranks[at - 1]]
        if twice:
            message = f"query {query!r}: rank {ranks[twice[0]]} is given twice ({len(twice):,} such)."
            yield Finding("warning", "rank column", message, lines[twice[0]])


def _ties(run: Run) -> Iterator[Finding]:
    double = _tied(run, np.float64)
    single = _tied(run, np.float32) & ~double
    if double.any():
        count, queries = int(double.sum()), pluralize(_queries_with(run, double), "query")
        message = f"{pluralize(count, 'document')} in {queries} share their score with another."
        yield Finding("info", "ties", message, _line(run, double), count)
    if single.any():
        count = int(single.sum())
        message = f"{pluralize(count, 'document')} tied in float32 only (trec_eval 9 orders them by doc id)."
        yield Finding("warning", "float32 ties", message, _line(run, single), count)


def _tied(run: Run, kind: Any) -> Bools:
    """Which rows have the same score as another of the same query."""
    with np.errstate(over="ignore"):
        scores = run.scores.astype(kind)
    tied = np.zeros(len(scores), dtype=bool)
    for rows in map(run.rows_of, range(len(run.queries))):
        _, inverse, counts = np.unique(scores[rows], return_inverse=True, return_counts=True)
        tied[rows] = counts[inverse] > 1
    return tied


def _queries_with(run: Run, where: Bools) -> int:
    return sum(1 for i in range(len(run.queries)) if where[run.rows_of(i)].any())


def _line(run: Run, where: Bools) -> int | None:
    return None if run.lines is None else int(run.lines[where].min())
