"""A score step by step: one row a rank with the running quantities and the term, the sum, the normaliser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.collection import Run
from cranfield.errors import EvaluationError
from cranfield.formats import as_qrels, as_run
from cranfield.judged import NOTHING, Extras, Joining, JudgedRun, RankBy, ScoreType, Ties, judge
from cranfield.measures import Measure, parse_measure


@dataclass(frozen=True)
class Explanation:
    """How a measure's value for one query comes about.

    >>> e = explain("AP", {"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, "q")
    >>> [row["term"] for row in e.rows], e.normaliser
    ([1.0, 0.0, 0.6666666666666666], 2.0)
    """

    measure: str
    title: str
    formula: str
    rule: str
    run: str
    query: str
    columns: tuple[str, ...]  # between the document's grade and its term
    rows: tuple[dict[str, Any], ...]
    sum: float
    normaliser: float
    value: float
    conventions: dict[str, str]

    def record(self) -> dict[str, Any]:
        """Everything, ready for JSON; the value can be recomputed from `rows` and `normaliser` by `rule`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def with_numbers(self) -> str:
        """The formula with the numbers put in.

        >>> explain("AP", {"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, "q").with_numbers
        '(1 + 0.6667) / 2 = 0.8333'
        """
        terms = [row["term"] for row in self.rows if row["term"]]
        shown = [_short(term) for term in terms]
        if len(shown) > 12:
            shown = [*shown[:10], "…", shown[-1]]
        total = " + ".join(shown) or "0"
        if self.rule != Measure.rule:
            return f"sum = {total} = {_short(self.sum)}; {self.rule} = {_short(self.value)}"
        if self.normaliser == 1:
            return f"{total} = {_short(self.value)}"
        return f"({total}) / {_short(self.normaliser)} = {_short(self.value)}"


def explain(
    measure: str | Measure,
    qrels: Any,
    run: Any,
    query: str,
    *,
    ties: Ties = "trec",
    rank_by: RankBy = "score",
    score_type: ScoreType = "float64",
    extras: Extras = NOTHING,
) -> Explanation:
    """How a measure's value for a query comes about, as a lecture would show it."""
    if ties == "expected":
        raise EvaluationError(
            "an expected value over many orders has no single ranking to show: choose another tie rule."
        )
    chosen = parse_measure(measure) if isinstance(measure, str) else measure
    judgments = as_qrels(qrels).of(query)
    ranking = _of_query(as_run(run), query)
    joining = Joining(ties, rank_by, score_type)
    dense = judge(judgments, ranking, joining, extras, dense=True)
    value = float(chosen.values(judge(judgments, ranking, joining, extras))[0])
    shown = chosen.shown_list(dense)
    names, rows = _rows(chosen, shown)
    return Explanation(
        measure=str(chosen),
        title=chosen.title,
        formula=chosen.formula,
        rule=chosen.rule,
        run=ranking.name,
        query=query,
        columns=names,
        rows=tuple(rows),
        sum=math.fsum(row["term"] for row in rows),
        normaliser=float(chosen.normaliser(shown)[0]),
        value=value,
        conventions={"ties": ties, "rank_by": rank_by, "score_type": score_type},
    )


def _of_query(run: Run, query: str) -> Run:
    """The run's part, empty where it has nothing for the query."""
    if query in run.queries:
        return run.of(query)
    nothing = np.array([], dtype=np.int64)
    return replace(
        run,
        queries=(query,),
        starts=np.array([0, 0]),
        docs=np.array([], dtype=object),
        scores=np.array([]),
        ranks=None if run.ranks is None else nothing,
        lines=None if run.lines is None else nothing,
    )


def _rows(measure: Measure, judged: JudgedRun) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """One row for each retrieved document, then those for terms that belong to none."""
    columns = measure.columns(judged)
    terms = measure.terms(judged)
    docs = judged.ranking(0)
    # a condensed list leaves some out: go by the place in the full ranking
    kept = _kept_docs(judged, docs)
    rows = [
        {
            "rank": int(rank),
            "doc": doc,
            "grade": None if math.isnan(grade) else float(grade),
            **{name: _plain(values[i]) for name, values in columns.items()},
            "term": float(terms[i]),
        }
        for i, (rank, doc, grade) in enumerate(zip(judged.rank, kept, judged.grade, strict=True))
    ]
    return tuple(columns), [*rows, *measure.other_rows(judged)]


def _kept_docs(judged: JudgedRun, docs: Sequence[str]) -> list[str]:
    if len(judged.rank) == len(docs):
        return list(docs)
    names = judged.judged_docs(0)
    return [names[number] for number in judged.doc]


def _plain(value: Any) -> Any:
    return (
        float(value) if isinstance(value, (float, np.floating)) else value.item() if hasattr(value, "item") else value
    )


def _short(number: float) -> str:
    return f"{number:.4f}".rstrip("0").rstrip(".") if number != int(number) else str(int(number))
