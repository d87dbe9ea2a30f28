"""What can be suspicious in a run: ties, ranks that disagree with scores, swapped columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from cranfield.checking.findings import Finding
from cranfield.collection import Run
from cranfield.wording import counted, listed


def run_findings(run: Run) -> Iterator[Finding]:
    """Everything suspicious in a run that could be read."""
    yield from (Finding("warning", "reading", note) for note in run.notes)
    yield from _swapped(run)
    yield from _ranks(run)
    yield from _ties(run)
    empty = [run.queries[i] for i in range(len(run.queries)) if run.starts[i] == run.starts[i + 1]]
    if empty:
        yield Finding(
            "warning", "empty queries", f"{counted(len(empty), 'query')} without any document: {listed(empty)}."
        )


def _swapped(run: Run) -> Iterator[Finding]:
    docs = run.docs.tolist()
    if not docs:
        return
    if all(re.fullmatch(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", doc) for doc in docs[:1000]):
        yield Finding("warning", "swapped columns", "the doc column holds decimal numbers: are doc and score swapped?")
    if len(run.queries) > 20 and len(set(docs)) * 10 < len(run.queries):
        seen = f"{len(run.queries):,} queries but only {len(set(docs)):,} documents"
        yield Finding("warning", "swapped columns", f"{seen}: are the query and doc columns swapped?")


def _ranks(run: Run) -> Iterator[Finding]:
    """Ranks must rise as scores fall; the first place of each query where they do not is named."""
    if run.ranks is None or run.lines is None:
        return
    for i, query in enumerate(run.queries):
        rows = run.rows_of(i)
        order = np.argsort(run.ranks[rows], kind="stable")
        ranks, scores, lines = (column[rows][order] for column in (run.ranks, run.scores, run.lines))
        rises = np.flatnonzero(scores[1:] > scores[:-1])
        if len(rises):
            at = int(rises[0]) + 1
            message = (
                f"query {query!r}: rank {ranks[at]} has score {scores[at]:g}, above the {scores[at - 1]:g} of rank "
                f"{ranks[at - 1]}; ranks and scores disagree at {len(rises):,} place{'s' if len(rises) > 1 else ''}."
            )
            yield Finding("warning", "rank column", message, int(lines[at]))
        twice = np.flatnonzero(ranks[1:] == ranks[:-1])
        if len(twice):
            at = int(twice[0]) + 1
            message = f"query {query!r}: rank {ranks[at]} is given twice ({len(twice):,} such)."
            yield Finding("warning", "rank column", message, int(lines[at]))


def _ties(run: Run) -> Iterator[Finding]:
    double, double_queries, line = _tied(run, np.float64)
    single, _, line32 = _tied(run, np.float32)
    if double:
        message = f"{double:,} documents in {counted(double_queries, 'query')} share their score with another."
        yield Finding("info", "ties", message, line, double)
    if single > double:
        message = f"{single - double:,} documents are tied in float32 only (trec_eval 9 orders them by doc id)."
        yield Finding("warning", "float32 ties", message, None if double else line32, single - double)


def _tied(run: Run, kind: Any) -> tuple[int, int, int | None]:
    """How many documents are tied, in how many queries, and the line of the first."""
    documents = queries = 0
    first: int | None = None
    with np.errstate(over="ignore"):
        scores = run.scores.astype(kind)
    for i in range(len(run.queries)):
        rows = run.rows_of(i)
        _, inverse, counts = np.unique(scores[rows], return_inverse=True, return_counts=True)
        tied = counts[inverse] > 1
        if tied.any():
            documents += int(tied.sum())
            queries += 1
            if run.lines is not None:
                here = int(run.lines[rows][tied].min())
                first = here if first is None else min(first, here)
    return documents, queries, first
