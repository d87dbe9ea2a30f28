"""What other tools make of qrels and a run before they evaluate: rows they drop, add, change or refuse."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from cranfield.base import OnDuplicate, join_names, pluralize, replace
from cranfield.data import Bools, Qrels, Run, starts_of
from cranfield.errors import EvaluationError

Prepare = Callable[[Qrels, Run], tuple[Qrels, Run]]


def select_rows(rows: Any, keep: Bools) -> Any:
    """Some rows of qrels or of a run; its queries stay."""
    kept = starts_of(keep)[rows.starts]
    parts = {name: getattr(rows, name)[keep] for name in rows.row_columns if getattr(rows, name) is not None}
    if isinstance(rows, Qrels):
        parts["extra"] = {name: column[keep] for name, column in rows.extra.items()}
    return replace(rows, starts=kept, **parts)


def only_queries(qrels: Qrels, queries: Iterable[str]) -> Qrels:
    """The judgments of some queries."""
    wanted = set(queries)
    kept = [i for i, query in enumerate(qrels.queries) if query in wanted]
    rows: Qrels = select_rows(qrels, np.array([query in wanted for query in qrels.row_queries()], dtype=bool))
    return replace(rows, queries=tuple(qrels.queries[i] for i in kept), starts=starts_of(np.diff(rows.starts)[kept]))


def _pairs(rows: Qrels | Run) -> list[tuple[str, str]]:
    return list(zip(rows.row_queries(), rows.docs.tolist(), strict=True))


def only_retrieved(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Judgments of retrieved documents only."""
    retrieved = set(_pairs(run))
    return select_rows(qrels, np.array([pair in retrieved for pair in _pairs(qrels)], dtype=bool)), run


def only_positive_scores(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Documents with a score of 0 or less stay in the list, but are no longer known there."""
    # no id contains a space, so no judgment matches the document
    docs = np.where(run.scores > 0, run.docs, run.docs + " ")
    return qrels, replace(run, docs=docs)


def everything_scored(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Judged documents that were not retrieved come last, all with the same score."""
    retrieved = set(_pairs(run))
    lowest = {query: run.scores[run.rows_of(i)].min(initial=0.0) for i, query in enumerate(run.queries)}
    missed = [pair for pair in dict.fromkeys(_pairs(qrels)) if pair[0] in lowest and pair not in retrieved]
    rows = [*_pairs(run), *missed]
    scores = [*run.scores.tolist(), *(math.nextafter(lowest[query], -math.inf) for query, _ in missed)]
    queries, docs = ([pair[i] for pair in rows] for i in (0, 1))
    return qrels, Run.from_rows(queries, docs, scores, name=run.name, empty_queries=run.queries)


def with_stand_ins(qrels: Qrels, run: Run) -> Run:
    """Add a list of one unknown document for each judged query that the run lacks."""
    missing = [query for query in qrels.queries if query not in run.position]
    queries = [*run.row_queries(), *missing]
    # a space cannot be in an id
    docs = [*run.docs.tolist(), *[" "] * len(missing)]
    scores = [*run.scores.tolist(), *[1.0] * len(missing)]
    return Run.from_rows(queries, docs, scores, name=run.name, empty_queries=run.queries) if missing else run


def whole_grades(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Grades without what is behind the point, as C's atol and Python's int read them."""
    whole = np.trunc(qrels.grades) + 0.0  # not -0
    return (qrels if np.array_equal(whole, qrels.grades) else replace(qrels, grades=whole)), run


def refuse_fractions(tool: str, qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Stop at grades that are not whole numbers, as readers that parse integers do."""
    broken = qrels.grades[qrels.grades != np.trunc(qrels.grades)]
    if len(broken):
        raise EvaluationError(f"{tool} refuses grades that are not whole numbers, and these qrels have {broken[0]:g}.")
    return qrels, run


def only_natural_grades(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """All others are a syntax error to ndeval."""
    return refuse_fractions("ndeval", *refuse_negative_grades("ndeval", qrels, run))


def refuse_negative_grades(tool: str, qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Stop at negative grades, as scikit-learn's ndcg_score does with a ValueError."""
    if (qrels.grades < 0).any():
        raise EvaluationError(f"{tool} refuses negative grades, and these qrels have some.")
    return qrels, run


def refuse_single_documents(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """ndcg_score and dcg_score raise a ValueError on a row with one document."""
    alone = [query for i, query in enumerate(run.queries) if run.rows_of(i).stop - run.rows_of(i).start == 1]
    judged = [query for query in alone if query in qrels.queries]
    if judged:
        raise EvaluationError(f"scikit-learn refuses lists of one document, as of query {judged[0]!r}.")
    return qrels, run


def only_grades_up_to_four(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """All others, and fractions, are a format error to gdeval."""
    refuse_fractions("gdeval", qrels, run)
    if (qrels.grades > 4).any():
        raise EvaluationError(f"gdeval refuses grades above 4, and these qrels have {qrels.grades.max():g}.")
    return qrels, run


def only_with_relevant(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Queries with a positive grade only."""
    positive = [q for q, judged in zip(qrels.queries, qrels.judged, strict=True) if max(judged.values(), default=0) > 0]
    return only_queries(qrels, positive), run


def refuse_nothing_relevant(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """R_cap divides by min(R, k)."""
    empty = [q for q, judged in zip(qrels.queries, qrels.judged, strict=True) if max(judged.values(), default=0) <= 0]
    if any(query in run.position for query in empty):
        raise EvaluationError(f"BEIR's R_cap divides by zero where nothing is relevant, as for query {empty[0]!r}.")
    return qrels, run


def refuse_unjudged_queries(tool: str, qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Stop at queries without judgments: ranx with an AssertionError, BEIR with a KeyError."""
    unjudged = [query for query in run.queries if query not in set(qrels.queries)]
    if unjudged:
        what = pluralize(len(unjudged), "query")
        raise EvaluationError(
            f"{tool} refuses queries without judgments, and this run has {what}: {join_names(unjudged)}."
        )
    return qrels, run


def without_the_query_itself(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """No document that has the query's id."""
    return qrels, select_rows(run, np.array([query != doc for query, doc in _pairs(run)], dtype=bool))


def first_row_counts(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Of the judgments of a document the first."""
    kept: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(_pairs(qrels)):
        kept.setdefault(pair, row)
    return select_rows(qrels, _are(kept.values(), len(qrels))), run


def last_row_counts(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Of the judgments of a document the last."""
    kept = {pair: row for row, pair in enumerate(_pairs(qrels))}
    return select_rows(qrels, _are(kept.values(), len(qrels))), run


def _are(rows: Iterable[int], n: int) -> Bools:
    flags = np.zeros(n, dtype=bool)
    flags[list(rows)] = True
    return flags


def refuse_two_judgments(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """trec_eval quits with "duplicate docs" when it comes to a query of the run."""
    _refuse_repeats(qrels, run.queries, "a document judged twice, even for two subtopics, is an error")
    return qrels, run


def refuse_two_judgments_anywhere(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Version 10 looks at all queries, as those that the run lacks are an error or have a list of their own."""
    _refuse_repeats(qrels, qrels.queries, "a document judged twice, even for two subtopics, is an error")
    return qrels, run


def gdeval_refuses_subtopics(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """All that is not 0 in their column is a format error to gdeval."""
    _refuse_repeats(qrels, qrels.queries, "gdeval refuses subtopics")
    return qrels, run


def _refuse_repeats(qrels: Qrels, queries: Iterable[str], why: str) -> None:
    wanted, seen = set(queries), set()
    for pair in _pairs(qrels):
        if pair in seen and pair[0] in wanted:
            raise EvaluationError(
                f"{why}, as document {pair[1]!r} of query {pair[0]!r}: "
                "choose a row with --on-duplicate first, last or max."
            )
        seen.add(pair)


def every_positive_row(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """What gdeval makes of a document twice: the lowest positive grade counts, and the ideal ranking has them all."""
    pairs, docs = _pairs(qrels), qrels.docs.copy()
    lowest: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(pairs):
        kept = lowest.get(pair)
        if kept is None or _gdeval_order(qrels.grades[row]) < _gdeval_order(qrels.grades[kept]):
            lowest[pair] = row
    for row, pair in enumerate(pairs):
        if lowest[pair] != row:
            # no id contains a space, so this is another document, which no run retrieves
            docs[row] = f"{pair[1]} {row}"
    return replace(qrels, docs=docs), run


def _gdeval_order(grade: float) -> tuple[bool, float]:
    return grade <= 0, grade


# which row counts where --on-duplicate was given; the highest is what a measure without subtopics takes anyway
SETTLED: Mapping[OnDuplicate, Prepare | None] = {
    "error": refuse_two_judgments,
    "first": first_row_counts,
    "last": last_row_counts,
    "max": None,
}
