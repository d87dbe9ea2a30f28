"""Scores: a value for each run, measure and query, with means, intervals and notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from cranfield.base import How, Record, join_names, pluralize, replace, sort_naturally
from cranfield.data import Bools, Floats, Origin, Run, starts_of
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation.averages import Interval, average, interval
from cranfield.evaluation.risk import geo_risk, t_risk
from cranfield.joining import JudgedRun, Sources
from cranfield.measures import Judged, Measure

JUDGED_DEPTH = 10  # the ranks in which the share of unjudged documents is reported
# what a row says of its measure: the value itself, its bounds, or what the run risks against a baseline
Part = Literal["", "low", "high", "urisk", "trisk", "georisk"]


class Row(Record):
    """A row of scores: a measure under the name it was given, or something about it under NAME.PART."""

    name: str
    measure: Measure
    part: Part = ""

    @property
    def label(self) -> str:
        return f"{self.name}.{self.part}" if self.part else self.name


class RunScores(Record, eq=False):
    """The scores of one run: one row a measure, one column a query; NaN where a query was skipped."""

    name: str
    values: Floats
    judged: JudgedRun
    query_errors: tuple[Floats | None, ...]  # standard errors of a measure's values, where ties were sampled
    origin: Origin | None = None
    notes: tuple[str, ...] = ()
    outer: tuple[Bools | None, ...] = ()  # for a row of bounds, which queries have only an outer one
    joins: tuple[JudgedRun, ...] = ()  # the join of each row, where they have several

    def joined(self, i: int) -> JudgedRun:
        """What the i-th row was computed from."""
        return self.joins[i] if self.joins else self.judged

    def without_hits(self, load: Callable[[], Run]) -> RunScores:
        """The same without the run and the hits below the ranks reported on, which take more room than all values."""
        kept = self.judged.cut(JUDGED_DEPTH)
        sources = Sources(kept.sources.qrels, load, kept.sources.extras)
        return replace(self, judged=replace(kept, sources=sources))

    @property
    def sampling_errors(self) -> tuple[float | None, ...]:
        """The standard error of each measure's mean, where ties were sampled; queries are drawn independently."""
        return tuple(None if e is None else float(np.sqrt((e**2).sum()) / len(e)) for e in self.query_errors)

    @property
    def coverage(self) -> str:
        """How many queries the figures rest on, and what was left out.

        "43 queries evaluated, 157 in the run have no judgments, 0 missing"
        """
        missing = int(np.count_nonzero(self.judged.missing))
        how = " (count as 0)" if missing else ""
        skipped = int(np.isnan(self.values[0]).sum()) if len(self.values) else 0
        if skipped:
            missing, how = skipped, " (skipped)"
        evaluated = self.judged.n
        return (
            f"{pluralize(evaluated, 'query')} evaluated, "
            f"{self.judged.only_in_run:,} in the run have no judgments, {missing:,} missing{how}"
        )


class Scores(Record, eq=False):
    """What `evaluate` gives: a value for each run, measure and query.

    >>> from cranfield import evaluate
    >>> scores = evaluate({"q1": {"a": 1}}, {"q1": {"b": 2.0, "a": 1.0}}, ["RR", "P@1"])
    >>> scores.mean("RR")
    0.5
    >>> scores.per_query("P@1")
    {'q1': 0.0}
    """

    labels: tuple[str, ...]  # the names the measures were given
    measures: tuple[Measure, ...]
    queries: tuple[str, ...]
    runs: tuple[RunScores, ...]
    find_conventions: Callable[[], Mapping[str, Any]]
    qrels: Origin | None = None
    find_notes: Callable[[], Iterable[str]] = tuple
    parts: tuple[Part, ...] = ()
    how: How = "arithmetic"
    weights: Mapping[str, float] | None = None
    baseline: RunScores | None = None
    alpha: float = 0.0  # how much more a loss against the baseline weighs

    @cached_property
    def conventions(self) -> Mapping[str, Any]:
        """The choices that the values rest on."""
        return self.find_conventions()

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures must know."""
        return tuple(self.find_notes())

    def values(self, measure: str | Measure, run: str | None = None) -> Floats:
        """The value of every query, NaN where it was skipped."""
        row: Floats = self._run(run).values[self._index(measure)]
        return row

    def per_query(self, measure: str | Measure, run: str | None = None) -> dict[str, float]:
        """{query: value} of the queries evaluated."""
        return dict(zip(*self.evaluated(measure, run), strict=True))

    def evaluated(self, measure: str | Measure, run: str | None = None) -> tuple[Sequence[str], list[float]]:
        """The queries evaluated and the value of each."""
        found = self.values(measure, run).tolist()
        if not math.isnan(sum(found)):
            return self.queries, found
        there = [(query, value) for query, value in zip(self.queries, found, strict=True) if not math.isnan(value)]
        return [query for query, _ in there], [value for _, value in there]

    def mean(self, measure: str | Measure, run: str | None = None, how: How | None = None) -> float:
        """The mean over queries, of the kind that was chosen unless `how` says otherwise; the sum for counts."""
        i = self._index(measure)
        if self.part(i) in ("trisk", "georisk"):
            return self._risk(i, self._run(run))
        aggregate = self.averaging(i, how)
        if how == "geometric":
            require_not_negative(self.labels[i : i + 1], self.measures[i : i + 1])
        if aggregate == "run":
            return self.measures[i].run_value(self._run(run).joined(i))
        own = self._own_mean(i, run) if aggregate == "arithmetic" else None
        if own is not None:
            return own
        values, weights = self._present(self.values(measure, run))
        return drop_zero_fraction(math.fsum(values)) if aggregate == "sum" else average(values, weights, aggregate)

    def interval(self, measure: str | Measure, run: str | None = None, level: float = 0.95) -> Interval | None:
        """The interval of a mean; None for a count, a bound, or fewer than two queries."""
        i = self._index(measure)
        aggregate = self.averaging(i)
        if aggregate == "sum" or aggregate == "run" or self.part(i) not in ("", "urisk"):
            return None
        if self._own_mean(i, run) is not None:
            return None
        values, weights = self._present(self.values(measure, run))
        return interval(values, weights, aggregate, level)

    def averaging(self, i: int, how: How | None = None) -> How | Literal["sum", "run"]:
        """How the i-th row is made one number: `run` if by the measure itself, from the run as a whole."""
        aggregate = self.measures[i].aggregate
        if aggregate != "mean":
            return aggregate
        # URisk is an arithmetic mean by definition, and its terms may be negative
        return "arithmetic" if self.part(i) == "urisk" else how or self.how

    def part(self, i: int) -> Part:
        """What the i-th row says of its measure."""
        return self.parts[i] if self.parts else ""

    def outer(self, measure: str | Measure, run: str | None = None) -> list[str]:
        """The queries for which a bound is only an outer one: the value cannot go beyond it, but may not reach it."""
        scored = self._run(run)
        outer = scored.outer[self._index(measure)] if scored.outer else None
        return [] if outer is None else [q for q, flag in zip(self.queries, outer.tolist(), strict=True) if flag]

    def unjudged(self, k: int = JUDGED_DEPTH, run: str | None = None) -> float:
        """The share of documents without a judgment among the first k, over all queries."""
        judged = self._run(run).judged
        shown = np.minimum(judged.retrieved, k)
        seen = np.rint(Judged(cutoff=k).values(judged) * shown)
        return float(1 - seen.sum() / shown.sum()) if shown.sum() else math.nan

    def n(self, run: str | None = None) -> int:
        """The number of queries a run's means rest on."""
        return self._run(run).judged.n

    def summary(self) -> dict[str, dict[str, float]]:
        """{run: {measure: mean}}"""
        return {run.name: {label: self.mean(label, run.name) for label in self.labels} for run in self.runs}

    def select(self, queries: Iterable[str]) -> Scores:
        """The same for some of the queries only."""
        wanted = set(queries)
        at = [i for i, query in enumerate(self.queries) if query in wanted]
        runs = tuple(_selected(run, at, wanted) for run in self.runs)
        baseline = None if self.baseline is None else _selected(self.baseline, at, wanted)
        return replace(self, queries=tuple(self.queries[i] for i in at), runs=runs, baseline=baseline)

    def __str__(self) -> str:
        width = max(map(len, self.labels))
        return "\n".join(
            f"{run.name}  {label:<{width}}  {self.mean(label, run.name):.4f}"
            for run in self.runs
            for label in self.labels
        )

    def _repr_html_(self) -> str:
        import html

        head = "".join(f"<th>{html.escape(label)}</th>" for label in self.labels)
        body = "".join(
            f"<tr><th>{html.escape(run.name)}</th>"
            + "".join(f"<td>{self.mean(label, run.name):.4f}</td>" for label in self.labels)
            + "</tr>"
            for run in self.runs
        )
        return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _own_mean(self, i: int, run: str | None) -> float | None:
        """The mean of a measure that has a definition of its own for it."""
        plain = not self.part(i) and self.weights is None
        return self.measures[i].mean_value(self._run(run).joined(i)) if plain else None

    def _present(self, values: Floats) -> tuple[list[float], list[float] | None]:
        """The values of the queries evaluated, with their weights if they have any."""
        if self.weights is None:
            given = values.tolist()
            return [v for v in given if not math.isnan(v)] if math.isnan(sum(given)) else given, None
        there = [(v, q) for v, q in zip(values.tolist(), self.queries, strict=True) if not math.isnan(v)]
        return [value for value, _ in there], [self.weights[query] for _, query in there]

    def _risk(self, i: int, run: RunScores) -> float:
        """TRisk or GeoRisk of the measure that the i-th row is about."""
        main = max(j for j in range(i) if not self.part(j))
        if self.part(i) == "trisk":
            return t_risk(_present(run.values[main + self.parts[main:].index("urisk")]))
        systems = np.array([system.values[main] for system in self._systems])
        table = systems[:, ~np.isnan(systems).any(axis=0)]
        return float(geo_risk(table, self.alpha)[self._systems.index(run)])

    @cached_property
    def _systems(self) -> list[RunScores]:
        """The runs and the baseline, which may be one of them."""
        baseline = self.baseline
        if baseline is None or any(_same_run(run, baseline) for run in self.runs):
            return list(self.runs)
        return [*self.runs, baseline]

    def _run(self, name: str | None) -> RunScores:
        if name is None and len(self.runs) == 1:
            return self.runs[0]
        found = next((run for run in self.runs if run.name == name), None)
        if found is None:
            known = ", ".join(run.name for run in self.runs)
            raise CranfieldError(f"no run {name!r} among these scores: they have {known}.")
        return found

    def _index(self, measure: str | Measure) -> int:
        if isinstance(measure, Measure):
            if measure in self.measures:
                return self.measures.index(measure)
            measure = str(measure)
        if measure not in self.labels:
            raise CranfieldError(f"no measure {measure!r} among these scores: they have {', '.join(self.labels)}.")
        return self.labels.index(measure)


def drop_zero_fraction(value: float) -> float | int:
    """A number without a point where it has none to lose."""
    return int(value) if float(value).is_integer() else value


def group_queries(groups: Mapping[str, str], queries: Sequence[str]) -> dict[str, list[str]]:
    """Queries by group in natural order; those without one are put together under `(none)`."""
    if not set(groups) & set(queries):
        raise EvaluationError(f"none of the queries that are put into groups is judged: {join_names(groups, 3)}.")
    gathered: dict[str, list[str]] = {}
    for query in queries:
        gathered.setdefault(groups.get(query, "(none)"), []).append(query)
    return {group: gathered[group] for group in sort_naturally(gathered)}


def require_not_negative(labels: Sequence[str], measures: Sequence[Measure]) -> None:
    """A geometric mean is one of values above 0: those of a measure that may be negative would all count the same."""
    below = [label for label, m in zip(labels, measures, strict=True) if m.aggregate == "mean" and m.low < 0]
    if below:
        raise EvaluationError(
            f"a geometric mean is of values that are not negative, and {join_names(below)} may be: "
            "leave it out, or take another mean."
        )


def _same_run(one: RunScores, other: RunScores) -> bool:
    """Whether two were made of the same documents with the same scores."""
    a, b = one.judged.sources.run, other.judged.sources.run
    return a is b or (
        a.queries == b.queries
        and np.array_equal(a.starts, b.starts)
        and np.array_equal(a.docs, b.docs)
        and np.array_equal(a.scores, b.scores)
    )


def _selected(run: RunScores, at: list[int], wanted: set[str]) -> RunScores:
    """The part of a run's scores that concerns some queries."""
    judged = np.array([query in wanted for query in run.judged.queries], dtype=bool)
    return replace(
        run,
        values=run.values[:, at],
        judged=_of_queries(run.judged, wanted),
        query_errors=tuple(None if errors is None else errors[judged] for errors in run.query_errors),
        outer=tuple(None if outer is None else outer[at] for outer in run.outer),
        joins=tuple(_of_queries(judged, wanted) for judged in run.joins),
    )


def _of_queries(judged: JudgedRun, wanted: set[str]) -> JudgedRun:
    """The part of a join that concerns some queries."""
    at = [i for i, query in enumerate(judged.queries) if query in wanted]
    hits = np.isin(judged.query, at)
    ideal = np.isin(judged.ideal_query, at)
    return replace(
        judged,
        queries=tuple(judged.queries[i] for i in at),
        starts=starts_of(np.diff(judged.starts)[at]),
        rank=judged.rank[hits],
        grade=judged.grade[hits],
        doc=judged.doc[hits],
        tie_first=judged.tie_first[hits],
        tie_size=judged.tie_size[hits],
        retrieved=judged.retrieved[at],
        missing=judged.missing[at],
        ideal=judged.ideal[ideal],
        ideal_starts=starts_of(np.diff(judged.ideal_starts)[at]),
        qrels_at=judged.qrels_at[at],
        tied_docs=judged.tied_docs[at],
        float32_tied_docs=judged.float32_tied_docs[at],
    )


def _present(values: Floats) -> list[float]:
    return [value for value in values.tolist() if not math.isnan(value)]
