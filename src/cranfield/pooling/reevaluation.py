"""The scores of the same runs with only some of the judgments.

The runs are ranked and joined once. With fewer judgments a join only loses hits and the ideal list only loses grades,
so thousands of evaluations with subsets of the judgments take no longer than a few complete ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base import Record, replace
from cranfield.data import Bools, Floats, Ints, Qrels
from cranfield.errors import MeasureError
from cranfield.evaluation import average
from cranfield.joining import JudgedRun, Sources
from cranfield.measures import Measure, parse_measures
from cranfield.stats import adjust, kendall_tau, tau_ap

DIGITS = 12  # means are rounded to this before ranking: smaller differences are ties


class ScoreTable(Record, eq=False):
    """The scores of some runs by some measures: a table of runs × topics for each measure, and the means."""

    labels: tuple[str, ...]
    signs: tuple[int, ...]  # 1 if higher is better, −1 if lower
    values: Floats  # measure, run, topic
    means: Floats  # measure, run


class Reevaluation:
    """Runs joined with all judgments, to be evaluated with any subset of them.

    >>> from cranfield.io import as_qrels, as_run
    >>> from cranfield.joining import join_run
    >>> qrels, run = as_qrels({"q": {"a": 1, "b": 1}}), as_run({"q": {"b": 2.0, "a": 1.0}})
    >>> again = Reevaluation(qrels, [join_run(qrels, run)], ["AP"])
    >>> again.full.means.tolist(), again.evaluate_subset(np.array([True, False])).means.tolist()
    ([[1.0]], [[0.5]])
    """

    def __init__(self, qrels: Qrels, joins: Sequence[JudgedRun], measures: Any, rel: float | None = None) -> None:
        self.qrels, self.joins = qrels, tuple(joins)
        named = parse_measures(measures)
        defaults = {} if rel is None else {"rel": rel}
        self.labels = tuple(label for label, _ in named)
        self.measures = tuple(measure.with_defaults(**defaults) for _, measure in named)
        for label, measure in zip(self.labels, self.measures, strict=True):
            _require_mean(label, measure)
        self.pairs = tuple(join.ideal_starts[join.query] + join.doc for join in joins)  # the judgment of each hit

    @cached_property
    def full(self) -> ScoreTable:
        """The scores with all judgments."""
        return self._evaluate(self.joins)

    def evaluate_subset(self, kept: Bools) -> ScoreTable:
        """The scores with a subset of the judgments; `kept` has a flag for each judged document, topic by topic."""
        if kept.all():
            return self.full
        part = self._subset(kept)
        return self._evaluate(self._restrict(join, at, part) for join, at in zip(self.joins, self.pairs, strict=True))

    def subset_qrels(self, kept: Bools) -> Qrels:
        """A subset of the judgments. A topic without any remaining judgment is kept."""
        return self._subset(kept).qrels

    def _evaluate(self, joins: Iterable[JudgedRun]) -> ScoreTable:
        values = np.empty((len(self.measures), len(self.joins), len(self.qrels.queries)))
        means = np.empty(values.shape[:2])
        for r, join in enumerate(joins):
            for m, measure in enumerate(self.measures):
                scores = measure.values(join)
                values[m, r] = np.where(join.missing, 0.0, scores) if join.has_missing else scores
                own = measure.mean_value(join)
                means[m, r] = average(values[m, r].tolist()) if own is None else own
        signs = tuple(1 if measure.more_is_better else -1 for measure in self.measures)
        return ScoreTable(self.labels, signs, values, means)

    @cached_property
    def _grades(self) -> Floats:
        """The grade of each judged document, in the order of the qrels."""
        return np.array([grade for judged in self.qrels.judged for grade in judged.values()], dtype=np.float64)

    @cached_property
    def _topics(self) -> Ints:
        return np.repeat(np.arange(len(self.qrels.queries)), np.diff(self.qrels.starts_of_ideal))

    @cached_property
    def _best_first(self) -> Ints:
        """The judged documents of each topic by descending grade."""
        return np.lexsort((-self._grades, self._topics))

    @cached_property
    def _row_pairs(self) -> Ints:
        """The judged document of each row of the qrels; several subtopics may have the same one."""
        pairs: list[int] = []
        starts = self.qrels.starts_of_ideal.tolist()
        for i, judged in enumerate(self.qrels.judged):
            number = {doc: starts[i] + k for k, doc in enumerate(judged)}
            pairs += [number[doc] for doc in self.qrels.docs[self.qrels.rows_of(i)].tolist()]
        return np.array(pairs, dtype=np.int64)

    def _subset(self, kept: Bools) -> _Subset:
        n = len(self.qrels.queries)
        sizes = np.bincount(self._topics[kept], minlength=n)
        starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        order = self._best_first
        ideal = self._grades[order[kept[order]]]
        number = np.cumsum(kept) - 1 - starts[self._topics]
        return _Subset(kept, number, ideal, starts, self._subset_rows(kept, ideal, starts))

    def _subset_rows(self, kept: Bools, ideal: Floats, starts: Ints) -> Qrels:
        qrels, rows = self.qrels, kept[self._row_pairs]
        sizes = [int(np.count_nonzero(rows[qrels.rows_of(i)])) for i in range(len(qrels.queries))]
        part = replace(
            qrels,
            starts=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            docs=qrels.docs[rows],
            grades=qrels.grades[rows],
            subtopics=qrels.subtopics[rows],
            lines=qrels.lines[rows],
            extra={name: column[rows] for name, column in qrels.extra.items()},
        )
        # known already; every join must share these objects, so that what is derived from them is computed once
        part.__dict__.update(ideal=ideal, starts_of_ideal=starts)
        return part

    def _restrict(self, join: JudgedRun, pairs: Ints, part: _Subset) -> JudgedRun:
        at = np.flatnonzero(part.kept[pairs])
        rank = join.rank[at]
        has_ties = join.tie_first is not join.rank  # otherwise every group of ties has one document
        return replace(
            join,
            starts=np.searchsorted(at, join.starts),
            rank=rank,
            grade=join.grade[at],
            doc=part.number[pairs[at]],
            tie_first=join.tie_first[at] if has_ties else rank,
            tie_size=join.tie_size[at] if has_ties else join.tie_size[: len(at)],
            ideal=part.ideal,
            ideal_starts=part.starts,
            sources=Sources(part.qrels, lambda: join.sources.run, join.sources.extras),
        )


class _Subset(Record, eq=False):
    """A subset of the judgments: which ones, their new numbers within topics, and what is derived from them."""

    kept: Bools
    number: Ints
    ideal: Floats
    starts: Ints
    qrels: Qrels


def _require_mean(label: str, measure: Measure) -> None:
    if measure.aggregate != "mean" or not measure.is_quality:
        raise MeasureError(f"{label} is not a quality measure with a score for each topic: choose one, e.g. nDCG@10.")


# Comparing two rankings of the same runs


def ranks(means: Floats, sign: int) -> Ints:
    """The rank of each run, 1 for the best; equal means share the better rank.

    >>> ranks(np.array([0.2, 0.5, 0.2]), 1).tolist()
    [2, 1, 2]
    """
    values = sign * np.round(means, DIGITS)
    return np.array([1 + np.count_nonzero(values > value) for value in values], dtype=np.int64)


def correlate_rankings(full: Floats, reduced: Floats, sign: int) -> tuple[float | None, float | None]:
    """Kendall's tau_b and AP correlation (variant b) of two lists of means; None if all runs are tied.

    >>> correlate_rankings(np.array([0.4, 0.3, 0.2]), np.array([0.4, 0.2, 0.3]), 1)
    (0.3333333333333333, 0.5)
    """
    x, y = sign * np.round(full, DIGITS), sign * np.round(reduced, DIGITS)
    if len(x) < 2:
        return None, None
    tau, ap = kendall_tau(x, y), tau_ap(x, y, variant="b")
    return None if np.isnan(tau) else float(tau), None if np.isnan(ap) else float(ap)


def rmse(full: Floats, reduced: Floats) -> float:
    """The root of the mean squared difference of two lists of means."""
    return float(np.sqrt(np.mean((full - reduced) ** 2)))


class PairwiseSignificance(Record):
    """Which of all pairs of runs differ significantly: 1 if the first is better, −1 if the second, 0 if neither."""

    signs: Ints

    @property
    def significant(self) -> int:
        return int(np.count_nonzero(self.signs))


class Flips(Record):
    """Pairs of runs whose significance changes with fewer judgments."""

    before: int  # significant pairs with all judgments
    after: int
    lost: int  # no longer significant
    gained: int
    reversed: int  # significant in the other direction

    @property
    def flipped(self) -> int:
        return self.lost + self.gained + self.reversed

    @classmethod
    def between(cls, before: PairwiseSignificance, after: PairwiseSignificance) -> Flips:
        a, b = before.signs, after.signs
        return cls(
            before=before.significant,
            after=after.significant,
            lost=int(np.count_nonzero((a != 0) & (b == 0))),
            gained=int(np.count_nonzero((a == 0) & (b != 0))),
            reversed=int(np.count_nonzero(a * b < 0)),
        )


def compare_all_pairs(values: Floats, sign: int, alpha: float = 0.05, correction: str = "holm") -> PairwiseSignificance:
    """Paired t-tests of all pairs of runs (rows) over the same topics (columns), corrected for their number.

    The same as `stats.t_test` and `stats.adjust`, for all pairs at once.
    """
    one, other = np.triu_indices(len(values), 1)
    if not len(one):
        return PairwiseSignificance(np.empty(0, dtype=np.int64))
    difference, p = _fast_t_tests(values, one, other)
    adjusted = adjust(p, correction)
    if (np.abs(adjusted - alpha) <= NEAR * alpha).any():
        difference, p = _t_tests(values, one, other)
        adjusted = adjust(p, correction)
    return PairwiseSignificance(np.where(adjusted <= alpha, sign * np.sign(difference), 0).astype(np.int64))


NEAR = 1e-6  # relative error allowed for a p-value computed the fast way
_PAIRS = 4096  # whose differences are held in memory at a time


def _fast_t_tests(values: Floats, one: Ints, other: Ints) -> tuple[Floats, Floats]:
    """Like `_t_tests`, but from variances and covariances, except for pairs whose terms cancel out."""
    from scipy.special import stdtr

    n = values.shape[1]
    means = values.mean(axis=1)
    centred = values - means[:, None]
    products = centred @ centred.T
    squares = products.diagonal()
    both = squares[one] + squares[other]
    difference_squares = both - 2 * products[one, other]
    largest = np.abs(values).max(axis=1, initial=0.0)
    largest = np.maximum(largest[one], largest[other])
    careful = np.flatnonzero((difference_squares <= NEAR * both) | (difference_squares <= n * (NEAR * largest) ** 2))
    difference = means[one] - means[other]
    difference_squares[careful] = 1.0
    p = 2 * stdtr(max(n - 1, 1), -np.abs(difference) / np.sqrt(difference_squares / max(n - 1, 1) / n))
    if len(careful):
        difference[careful], p[careful] = _t_tests(values, one[careful], other[careful])
    return difference, p


def _t_tests(values: Floats, one: Ints, other: Ints) -> tuple[Floats, Floats]:
    """The mean differences of pairs of runs, and their p-values."""
    parts = [
        _t_tests_of(values[one[at : at + _PAIRS]], values[other[at : at + _PAIRS]]) for at in range(0, len(one), _PAIRS)
    ]
    return np.concatenate([means for means, _ in parts]), np.concatenate([p for _, p in parts])


def _t_tests_of(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    from scipy.special import stdtr

    n = one.shape[1]
    d = one - other
    largest = np.maximum(np.abs(other).max(axis=1), np.abs(one).max(axis=1))
    mean = d.mean(axis=1)
    # without variance t is undefined: p is that of a sign-flip test, as in `t_test`
    constant = d.max(axis=1) - d.min(axis=1) <= 1e-12 * np.maximum(largest, 1e-300)
    identical = constant & (np.abs(mean) <= 1e-12 * np.maximum(largest, 1e-300))
    error = np.where(constant, 1.0, d.std(axis=1, ddof=1 if n > 1 else 0)) / np.sqrt(n)
    p = 2 * stdtr(max(n - 1, 1), -np.abs(mean / error))
    p = np.where(constant, np.where(identical, 1.0, min(1.0, 2 * 0.5**n)), p)
    return np.where(identical, 0.0, mean), p


def mask_without(total: int, dropped: Ints) -> Bools:
    """A flag for each judgment, False for the dropped ones."""
    kept = np.ones(total, dtype=bool)
    kept[dropped[dropped < total]] = False
    return kept
