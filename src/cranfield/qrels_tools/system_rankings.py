"""How each assessor's judgments rank the systems, and what changes with the assessor."""

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
from cranfield.qrels_tools.assessor_matrix import Panel
from cranfield.stats import MeasureComparison, RankingCorrelation, compare, system_ranking_correlation

Each = Callable[[Iterable[Any], int], Iterable[Any]]
Verdict = Literal["same", "first only", "second only", "reversed", "neither"]
# from the first assessor to the second: lost, gained, reversed
FLIPPED: tuple[Verdict, ...] = ("first only", "second only", "reversed")


class Standing(Record):
    """The systems by one assessor's judgments: means over the topics that he or she judged."""

    assessor: str
    measure: str
    topics: int
    means: Mapping[str, float]


class SystemPair(Record):
    """Two systems by two assessors: the difference of means by each, and who finds it significant."""

    system: str
    reference: str
    first: float
    second: float
    verdict: Verdict


class Rankings(Record, eq=False):
    """Two assessors' rankings of the systems, by the pairs that both judged."""

    first: str
    second: str
    measure: str
    topics: int
    means: tuple[Mapping[str, float], Mapping[str, float]]
    correlation: RankingCorrelation | None  # None where there is nothing to rank by
    pairs: tuple[SystemPair, ...]
    test: str
    note: str = ""

    @cached_property
    def counts(self) -> Mapping[Verdict, int]:
        """How many pairs of systems differ significantly by both alike, by one only, in opposite ways, by neither."""
        found = [pair.verdict for pair in self.pairs]
        verdicts: tuple[Verdict, ...] = ("same", *FLIPPED, "neither")
        return {verdict: found.count(verdict) for verdict in verdicts}

    @property
    def flipped(self) -> tuple[SystemPair, ...]:
        """Pairs whose verdict is another one by the second assessor: lost, gained or reversed, the reversed first.

        This is what `pooling.reduced.Flips` counts between all judgments and fewer.
        """
        found = [pair for pair in self.pairs if pair.verdict in FLIPPED]
        return tuple(sorted(found, key=lambda pair: pair.verdict != "reversed"))

    @property
    def best(self) -> tuple[str, ...]:
        """The best system by each."""
        return tuple(max(means, key=lambda system: means[system]) for means in self.means if means)


class Standings(Record, eq=False):
    """What assessors' judgments say of systems."""

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    standings: tuple[Standing, ...]
    rankings: tuple[Rankings, ...]
    notes: tuple[str, ...]


def stand(
    panel: Panel,
    runs: Sequence[Any],
    measures: Sequence[str],
    *,
    rel: float | None = None,
    run_format: str | None = None,
    alpha: float = 0.05,
    seed: int = 1,
    each: Each = lambda items, total: items,
) -> Standings:
    """Evaluate runs by the judgments of each assessor, and compare the rankings of every two.

    Two assessors are compared on the pairs that both judged, so that they differ in opinion and in nothing else. All
    pairs of systems are tested by the randomised Tukey HSD test; two systems by the paired t-test.
    """
    judging = _Judging(panel, runs, measures, rel, run_format)
    couples = list(combinations(range(len(panel.assessors)), 2))
    own = {i: ~np.isnan(panel.grades[:, i]) for i in range(len(panel.assessors))}
    wanted = [(i, own[i]) for i in own] + [(i, panel.common(*pair)) for pair in couples for i in pair]
    for i, where in each(wanted, len(wanted)):
        judging.scores(i, where)
    standings = [_standing(panel.names[i], column) for i in own for column in judging.columns(i, own[i], alpha, seed)]
    labels = tuple(dict.fromkeys(standing.measure for standing in standings))
    rankings = [_rankings(judging, i, j, label, alpha, seed) for i, j in couples for label in labels]
    names = tuple(standings[0].means) if standings else ()
    notes = ("One system only: there is no ranking to compare.",) if len(runs) < 2 else ()
    return Standings(names, labels, tuple(standings), tuple(rankings), notes)


class _Judging:
    """Runs evaluated by one assessor's judgments of some pairs, once for each set of pairs."""

    def __init__(
        self, panel: Panel, runs: Sequence[Any], measures: Sequence[str], rel: float | None, run_format: str | None
    ) -> None:
        self.panel, self.runs, self.measures, self.rel, self.run_format = panel, runs, measures, rel, run_format
        self.known: dict[tuple[int, bytes], Any] = {}
        self.compared: dict[tuple[int, bytes], Sequence[Any]] = {}

    def scores(self, assessor: int, where: Bools) -> Any:
        """The scores; None where there is no judgment."""
        key = assessor, np.packbits(where).tobytes()
        if key not in self.known:
            self.known[key] = self._evaluated(self.panel.qrels_of(assessor, where)) if where.any() else None
        return self.known[key]

    def _evaluated(self, qrels: Qrels) -> Any:
        evaluator = Evaluator(qrels, list(self.measures), rel=self.rel)
        return evaluator.scores([evaluator.score(run, format=self.run_format) for run in self.runs])

    def columns(self, assessor: int, where: Bools, alpha: float, seed: int) -> Sequence[Any]:
        """Each measure: compared, or the mean of a single system."""
        key = assessor, np.packbits(where).tobytes()
        if key not in self.compared:
            self.compared[key] = self._columns(assessor, where, alpha, seed)
        return self.compared[key]

    def _columns(self, assessor: int, where: Bools, alpha: float, seed: int) -> Sequence[Any]:
        scores = self.scores(assessor, where)
        if scores is None:
            return ()
        if len(self.runs) < 2:
            return [_Single(name, tuple(scores.queries), scores.summary()) for name in scores.labels]
        return compare(scores, (), alpha=alpha, seed=seed).columns


class _Single(Record):
    """A system without another to compare with."""

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


def _standing(name: str, column: Any) -> Standing:
    return Standing(name, column.label, column.n, _means(column))


def _means(column: Any) -> dict[str, float]:
    means = dict(zip(column.names, column.means, strict=True))
    if any(math.isnan(mean) for mean in means.values()):
        raise EvaluationError(f"{column.label} has no value for some system: choose another measure.")
    return means


def _rankings(judging: _Judging, i: int, j: int, measure: str, alpha: float, seed: int) -> Rankings:
    panel, where = judging.panel, judging.panel.common(i, j)
    names = panel.names[i], panel.names[j]
    if not where.any():
        labels = panel.assessors[i].label, panel.assessors[j].label
        note = f"{labels[0]} and {labels[1]} judged no pair in common: their rankings cannot be compared."
        return Rankings(*names, measure, 0, ({}, {}), None, (), "", note)
    first, second = (_labelled(judging.columns(k, where, alpha, seed), measure) for k in (i, j))
    means = _means(first), _means(second)
    if len(judging.runs) < 2:
        return Rankings(
            *names, measure, first.n, means, None, (), "", "One system only: there is no ranking to compare."
        )
    correlation = system_ranking_correlation(*means)
    pairs = tuple(_system_pairs(first, second))
    return Rankings(*names, measure, first.n, means, correlation, pairs, first.design.method, correlation.note)


def _labelled(columns: Sequence[Any], measure: str) -> Any:
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
