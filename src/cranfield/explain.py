"""A score step by step: one row a rank with the running quantities and the term, the sum, the normaliser."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.collection import Run
from cranfield.errors import EvaluationError
from cranfield.formats import as_run
from cranfield.judged import Extras, JudgedRun, judge
from cranfield.measures import Measure, parse_measure
from cranfield.measures.base import own_errors
from cranfield.scores import Evaluator
from cranfield.wording import counted

MOST_TERMS = 12  # how many terms a formula with numbers can hold and still be read


@dataclass(frozen=True)
class Explanation:
    """How a measure's value for one query comes about.

    >>> e = explain("AP", {"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, "q")
    >>> [row["term"] for row in e.rows], e.normaliser
    ([1.0, 0.0, 0.6666666666666666], 2.0)
    >>> e.with_numbers
    '(1 + 0.6667) / 2 = 0.8333'
    """

    measure: str
    title: str
    about: str
    formula: str
    rule: str
    with_numbers: str  # the rule with the numbers put in
    run: str
    query: str
    columns: tuple[str, ...]  # between the document's grade and its term
    rows: tuple[dict[str, Any], ...]  # with rank and doc; then those of terms that belong to no document
    sum: float
    normaliser: float
    normaliser_is: str
    value: float
    conventions: dict[str, str]
    hidden: int = 0  # ranks left out of `rows`; sum and value are those of all
    notes: tuple[str, ...] = ()
    cutoff: int | None = None

    def record(self) -> dict[str, Any]:
        """Everything, ready for JSON; the value can be recomputed from `rows` and `normaliser` by `rule`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def top(self, n: int) -> Explanation:
        """The same with the rows of the first n ranks only."""
        rows = tuple(row for row in self.rows if "rank" not in row or row["rank"] <= n)
        return replace(self, rows=rows, hidden=self.hidden + len(self.rows) - len(rows))

    def down_to_the_cutoff(self) -> Explanation:
        """The same without the ranks below the cutoff, if these add nothing."""
        below = [row["term"] for row in self.rows if row.get("rank", 0) > (self.cutoff or math.inf)]
        return self if self.cutoff is None or any(below) else self.top(self.cutoff)


def explain(
    measure: str | Measure, qrels: Any, run: Any, query: str, *, extras: Extras | None = None, **options: Any
) -> Explanation:
    """How a measure's value for a query comes about, as a lecture would show it. Options are those of `evaluate`.

    >>> explain("P@2", {"q": {"a": 1}}, {"q": {"a": 2.0, "x": 1.0}}, "q").with_numbers
    '1 / 2 = 0.5'
    """
    evaluator = Evaluator(qrels, [_one(measure)], **options)
    joining, given = evaluator.joining, evaluator.extras if extras is None else extras
    if joining.ties == "expected":
        raise EvaluationError(
            "an expected value over many orders has no single ranking to show: choose another tie rule."
        )
    (chosen,) = evaluator.measures
    judgments = evaluator.qrels.of(query)
    ranking = as_run(run, on_duplicate=evaluator.on_duplicate)
    part = _of_query(ranking, query)
    missing = query not in ranking.position
    if missing and joining.missing != "zero":
        how = "is left out" if joining.missing == "skip" else "is an error"
        raise EvaluationError(f"run {ranking.name!r} lacks query {query!r}, which {how} (--missing {joining.missing}).")
    value = float(chosen.values(judge(judgments, part, joining, given))[0])
    dense = judge(judgments, part, joining, given, dense=True)
    shown = chosen.shown_list(dense)
    with own_errors(chosen):
        names, rows = _rows(chosen, shown, value)
        normaliser = float(chosen.normaliser(shown)[0]) if _has_terms(chosen) else 1.0
    # a query that the run lacks counts as 0 by rule, whatever the measure would make of an empty list
    rule = chosen.rule
    if missing and chosen.aggregate != "sum":
        rows, value, rule = [], 0.0, Measure.rule
    total = math.fsum(row["term"] for row in rows)
    return Explanation(
        measure=str(chosen),
        title=chosen.title,
        about=chosen.about,
        formula=chosen.shown_formula,
        rule=rule,
        with_numbers=_with_numbers(chosen, [row["term"] for row in rows], total, normaliser, value),
        run=ranking.name,
        query=query,
        columns=names,
        rows=tuple(rows),
        sum=total,
        normaliser=normaliser,
        normaliser_is=chosen.normaliser_is,
        value=value,
        conventions={name: getattr(joining, name) for name in ("ties", "rank_by", "score_type")},
        notes=tuple(_notes(chosen, ranking, query, dense)),
        cutoff=getattr(chosen, "cutoff", None),
    )


def _one(measure: str | Measure) -> Measure:
    return parse_measure(measure) if isinstance(measure, str) else measure


def _of_query(run: Run, query: str) -> Run:
    """The run's part, empty where it has nothing for the query."""
    if query in run.position:
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


def _has_terms(measure: Measure) -> bool:
    """Whether the value is told by terms; a user's own measure may just compute it."""
    return type(measure).terms is not Measure.terms


def _rows(measure: Measure, judged: JudgedRun, value: float) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """One row for each retrieved document, then those for terms that belong to none."""
    columns = measure.columns(judged)
    terms = measure.terms(judged) if _has_terms(measure) else np.zeros(len(judged.rank))
    others = measure.other_rows(judged)
    if not _has_terms(measure):
        others = [*others, {"what": "computed as a whole", "term": value}]
    rows = [
        {
            "rank": int(rank),
            "doc": doc,
            "grade": _plain(grade),
            **{name: _plain(values[i]) for name, values in columns.items()},
            "term": float(terms[i]),
        }
        for i, (rank, doc, grade) in enumerate(zip(judged.rank, _docs(judged), judged.grade, strict=True))
    ]
    return tuple(columns), [*rows, *({name: _plain(item) for name, item in row.items()} for row in others)]


def _docs(judged: JudgedRun) -> Sequence[str]:
    """The documents of the rows; a condensed list has only judged ones."""
    docs = judged.ranking(0)
    if len(judged.rank) == len(docs):
        return docs
    names = judged.judged_docs(0)
    return [names[number] for number in judged.doc]


def _plain(value: Any) -> Any:
    """A value that JSON can hold; None for what is no number."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _notes(measure: Measure, run: Run, query: str, dense: JudgedRun) -> Iterator[str]:
    """What one must know to read the rows."""
    if query not in run.position:
        zero = " and counts as 0" if measure.aggregate == "mean" else ""
        yield f"The run has nothing for query {query!r}: it is missing{zero}."
    unjudged = int(np.isnan(dense.grade).sum())
    if measure.judged_only and unjudged:
        yield f"{counted(unjudged, 'document')} without a judgment left out first (judged_only)."
    if dense.tied:
        yield f"{counted(dense.tied, 'document')} with the score of another: ties {dense.joining.ties} orders them."


def _with_numbers(measure: Measure, terms: Sequence[float], total: float, normaliser: float, value: float) -> str:
    """The rule with the terms that are not 0, the normaliser and the value put in."""
    rule, is_named = measure.rule, bool(measure.normaliser_is)
    shown = [short(term) for term in terms if term]
    if len(shown) > MOST_TERMS:
        shown = [*shown[: MOST_TERMS - 2], "…", shown[-1]]
    added = " + ".join(shown).replace("+ -", "− ") or "0"
    if rule != Measure.rule:
        numbers = {"sum": short(total), "normaliser": short(normaliser)}
        filled = re.sub(r"\b(sum|normaliser)\b", lambda match: numbers[match[0]], rule)
        return f"sum = {added} = {short(total)}; {rule} = {filled} = {short(value)}"
    if normaliser == 1 and not is_named:
        return f"{added} = {short(value)}" if len(shown) > 1 else added
    added = f"({added})" if len(shown) > 1 else added
    if normaliser == 0:
        return f"{added} / 0, which counts as 0"
    return f"{added} / {short(normaliser)} = {short(value)}"


def short(number: float) -> str:
    """A number with at most four decimals.

    >>> short(2.0), short(0.66666), short(0.00001234)
    ('2', '0.6667', '1.234e-05')
    """
    if number and abs(number) < 0.00005:
        return f"{number:.4g}"
    return f"{number:.4f}".rstrip("0").rstrip(".")
