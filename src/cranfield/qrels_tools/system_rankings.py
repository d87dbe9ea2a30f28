"""How the judgments of each assessor rank systems, and what changes from one assessor to another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np

from cranfield.base import Record
from cranfield.data import Bools, Qrels
from cranfield.errors import EvaluationError
from cranfield.evaluation import Evaluator
from cranfield.qrels_tools.assessor_matrix import AssessorMatrix
from cranfield.stats import MeasureComparison, RankingCorrelation, compare, system_ranking_correlation

Each = Callable[[Iterable[Any], int], Iterable[Any]]
Verdict = Literal["same", "first only", "second only", "reversed", "neither"]
# from the first assessor to the second: lost, gained, reversed
FLIPPED: tuple[Verdict, ...] = ("first only", "second only", "reversed")


class AssessorRanking(Record):
    """The systems evaluated with the judgments of one assessor: means over the topics that he or she judged."""

    assessor: str
    measure: str
    topics: int
    means: Mapping[str, float]


class SystemPair(Record):
    """Two systems evaluated with two assessors: the difference of means with each, and with whom it is significant."""

    system: str
    reference: str
    first: float
    second: float
    verdict: Verdict


class RankingComparison(Record, eq=False):
    """The rankings of systems by two assessors, on the pairs that both judged."""

    first: str
    second: str
    measure: str
    topics: int
    means: tuple[Mapping[str, float], Mapping[str, float]]
    correlation: RankingCorrelation | None  # None where there is nothing to rank
    pairs: tuple[SystemPair, ...]
    test: str
    note: str = ""

    @cached_property
    def counts(self) -> Mapping[Verdict, int]:
        """How many pairs of systems differ with both assessors, one only, in opposite ways, or with neither."""
        found = [pair.verdict for pair in self.pairs]
        verdicts: tuple[Verdict, ...] = ("same", *FLIPPED, "neither")
        return {verdict: found.count(verdict) for verdict in verdicts}

    @property
    def flipped(self) -> tuple[SystemPair, ...]:
        """Pairs whose verdict differs with the second assessor: lost, gained or reversed, the reversed first.

        `pooling` counts the same between all judgments and fewer.
        """
        found = [pair for pair in self.pairs if pair.verdict in FLIPPED]
        return tuple(sorted(found, key=lambda pair: pair.verdict != "reversed"))

    @property
    def best(self) -> tuple[str, ...]:
        """The best system with each assessor."""
        return tuple(max(means, key=lambda system: means[system]) for means in self.means if means)


class SystemRankings(Record, eq=False):
    """The systems ranked with the judgments of each assessor."""

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    by_assessor: tuple[AssessorRanking, ...]
    comparisons: tuple[RankingComparison, ...]  # of every two assessors
    notes: tuple[str, ...]


def rank_by_assessor(
    matrix: AssessorMatrix,
    runs: Sequence[Any],
    measures: Sequence[str],
    *,
    rel: float | None = None,
    run_format: str | None = None,
    alpha: float = 0.05,
    seed: int = 1,
    each: Each = lambda items, total: items,
) -> SystemRankings:
    """Evaluate runs with the judgments of each assessor, and compare the rankings of every two assessors.

    Two assessors are compared on the pairs that both judged, so only their opinions differ. All pairs of systems are
    tested with the randomised Tukey HSD test; two systems with the paired t-test.
    """
    evaluations = _Evaluations(matrix, runs, measures, rel, run_format)
    assessor_pairs = list(combinations(range(len(matrix.assessors)), 2))
    own = {i: ~np.isnan(matrix.grades[:, i]) for i in range(len(matrix.assessors))}
    wanted = [(i, own[i]) for i in own] + [(i, matrix.common(*pair)) for pair in assessor_pairs for i in pair]
    for i, where in each(wanted, len(wanted)):
        evaluations.scores(i, where)
    by_assessor = [
        _assessor_ranking(matrix.names[i], column)
        for i in own
        for column in evaluations.columns(i, own[i], alpha, seed)
    ]
    labels = tuple(dict.fromkeys(ranking.measure for ranking in by_assessor))
    comparisons = [
        _compare_rankings(evaluations, i, j, label, alpha, seed) for i, j in assessor_pairs for label in labels
    ]
    names = tuple(by_assessor[0].means) if by_assessor else ()
    notes = ("One system only: there is no ranking to compare.",) if len(runs) < 2 else ()
    return SystemRankings(names, labels, tuple(by_assessor), tuple(comparisons), notes)


class _Evaluations:
    """Evaluates runs with one assessor's judgments of some pairs, once for each set of pairs."""

    def __init__(
        self,
        matrix: AssessorMatrix,
        runs: Sequence[Any],
        measures: Sequence[str],
        rel: float | None,
        run_format: str | None,
    ) -> None:
        self.matrix, self.runs, self.measures, self.rel, self.run_format = matrix, runs, measures, rel, run_format
        self.known: dict[tuple[int, bytes], Any] = {}
        self.compared: dict[tuple[int, bytes], Sequence[Any]] = {}

    def scores(self, assessor: int, where: Bools) -> Any:
        """The scores; None without judgments."""
        key = assessor, np.packbits(where).tobytes()
        if key not in self.known:
            self.known[key] = self._evaluate(self.matrix.qrels_of(assessor, where)) if where.any() else None
        return self.known[key]

    def _evaluate(self, qrels: Qrels) -> Any:
        evaluator = Evaluator(qrels, list(self.measures), rel=self.rel)
        return evaluator.scores([evaluator.score(run, format=self.run_format) for run in self.runs])

    def columns(self, assessor: int, where: Bools, alpha: float, seed: int) -> Sequence[Any]:
        """The comparison on each measure, or the mean of a single system."""
        key = assessor, np.packbits(where).tobytes()
        if key not in self.compared:
            self.compared[key] = self._compare(assessor, where, alpha, seed)
        return self.compared[key]

    def _compare(self, assessor: int, where: Bools, alpha: float, seed: int) -> Sequence[Any]:
        scores = self.scores(assessor, where)
        if scores is None:
            return ()
        if len(self.runs) < 2:
            return [_Single(name, tuple(scores.queries), scores.summary()) for name in scores.labels]
        return compare(scores, (), alpha=alpha, seed=seed).columns


class _Single(Record):
    """A single system on one measure, without a comparison."""

    label: str
    queries: tuple[str, ...]
    summary: Mapping[str, Mapping[str, float]]

    @property
    def n(self) -> int:
        return len(self.queries)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.summary)

    @property
    def means(self) -> tuple[float, ...]:
        return tuple(values[self.label] for values in self.summary.values())


def _assessor_ranking(name: str, column: Any) -> AssessorRanking:
    return AssessorRanking(name, column.label, column.n, _means(column))


def _means(column: Any) -> dict[str, float]:
    means = dict(zip(column.names, column.means, strict=True))
    if any(math.isnan(mean) for mean in means.values()):
        raise EvaluationError(f"{column.label} has no value for some systems: choose another measure.")
    return means


def _compare_rankings(
    evaluations: _Evaluations, i: int, j: int, measure: str, alpha: float, seed: int
) -> RankingComparison:
    matrix, where = evaluations.matrix, evaluations.matrix.common(i, j)
    names = matrix.names[i], matrix.names[j]
    if not where.any():
        labels = matrix.assessors[i].label, matrix.assessors[j].label
        note = f"{labels[0]} and {labels[1]} judged no pair in common: their rankings cannot be compared."
        return RankingComparison(*names, measure, 0, ({}, {}), None, (), "", note)
    first, second = (_find_column(evaluations.columns(k, where, alpha, seed), measure) for k in (i, j))
    means = _means(first), _means(second)
    if len(evaluations.runs) < 2:
        return RankingComparison(
            *names, measure, first.n, means, None, (), "", "One system only: there is no ranking to compare."
        )
    correlation = system_ranking_correlation(*means)
    pairs = tuple(_system_pairs(first, second))
    return RankingComparison(*names, measure, first.n, means, correlation, pairs, first.design.method, correlation.note)


def _find_column(columns: Sequence[Any], measure: str) -> Any:
    return next(column for column in columns if column.label == measure)


def _system_pairs(first: MeasureComparison, second: MeasureComparison) -> Iterator[SystemPair]:
    for one in first.pairs:
        other = second.pair(one.system, one.reference)
        yield SystemPair(one.system, one.reference, one.difference, other.difference, _verdict(one, other))


def _verdict(one: Any, other: Any) -> Verdict:
    by_one, by_other = one.verdict != "undecided", other.verdict != "undecided"
    if by_one and by_other:
        return "same" if one.verdict == other.verdict else "reversed"
    return "first only" if by_one else "second only" if by_other else "neither"
