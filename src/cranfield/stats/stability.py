"""Stability of a ranking of systems: with other topics, one topic less, other measures, or another ranking."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.stats.anova import TOLERANCE, as_table, rounding
from cranfield.stats.correlation import ItemScores, RBOResult, align_scores, kendall_tau, rbo, tau_ap

TRIALS = 1_000
_CELLS = 1 << 21  # numbers in memory at a time
_BIN = 0.01  # width of the bins of differences, as in Voorhees & Buckley


class SwapBin(Record):
    """Comparisons whose difference on one half of the topics is in a range, and how many the other half reverses."""

    low: float
    high: float
    comparisons: int
    swaps: int

    @property
    def rate(self) -> float:
        return self.swaps / self.comparisons if self.comparisons else 0.0


class Halves(Record, eq=False):
    """How well two disjoint random samples of the topics agree on the systems."""

    systems: int
    n: int
    size: int  # topics in each sample
    trials: int
    seed: int
    swap_rate: float  # over all trials and pairs of systems
    pair_swaps: Floats  # systems × systems: the share of trials in which the two samples disagree on a pair
    bins: tuple[SwapBin, ...]  # by the difference on the first sample
    taus: Floats  # Kendall's tau between the two rankings, trial by trial
    note: str = (
        "a swap is a pair of systems that the two samples put in opposite orders (a tie in either is none); tau is "
        "tau_b between the two rankings, 1 if both and 0 if one of them ties all systems. Samples are half of the "
        "topics or fewer, so a ranking on all of them is more stable than this."
    )

    @property
    def tau(self) -> float:
        """The mean of Kendall's tau over the trials."""
        return math.fsum(self.taus) / len(self.taus)

    def tau_range(self, level: float = 0.95) -> tuple[float, float]:
        """The range of tau in this share of trials."""
        low, high = np.quantile(self.taus, [(1 - level) / 2, (1 + level) / 2]).tolist()
        return low, high

    def difference_needed(self, rate: float = 0.05) -> float | None:
        """The difference above which swaps are no more frequent than a rate; None if there is none.

        The lower end of the first bin from which all bins together have at most this rate.
        """
        found = None
        comparisons = swaps = 0
        for one in reversed(self.bins):
            comparisons, swaps = comparisons + one.comparisons, swaps + one.swaps
            if swaps > rate * comparisons:
                break
            found = one.low if comparisons else found
        return found


def halves(table: Any, trials: int = TRIALS, seed: int = 1, size: int | None = None) -> Halves:
    """Measure how often random halves of the topics disagree on which of two systems is better, and tau between them.

    Each trial draws two samples without a topic in common, of n/2 topics or of `size`. The swap rate is the share of
    pairs of systems whose order differs (Voorhees & Buckley, SIGIR 2002; Sanderson & Zobel, SIGIR 2005, without
    replacement).

    >>> halves([[0.1, 0.2, 0.45], [0.3, 0.35, 0.5], [0.55, 0.6, 0.75], [0.2, 0.3, 0.35]]).swap_rate
    0.0
    """
    scores = as_table(table, topics=2)
    n, m = scores.shape
    each = n // 2 if size is None else size
    if not 1 <= each <= n // 2:
        raise CranfieldError(f"samples of {each} topics: expected 1 to {n // 2}, half of the topics.")
    if trials < 1:
        raise CranfieldError(f"{trials} trials: expected a whole number of at least 1.")
    tally = _Tally(m, rounding(scores))
    for one, other in _samples(scores, each, trials, seed):
        tally.add(one, other)
    return Halves(
        systems=m,
        n=n,
        size=each,
        trials=trials,
        seed=seed,
        swap_rate=float(tally.swaps.sum()) / (trials * len(tally.swaps)),
        pair_swaps=_symmetric(tally.swaps / trials, m),
        bins=tally.bins(),
        taus=np.concatenate(tally.taus),
    )


def by_size(table: Any, sizes: Sequence[int] | None = None, trials: int = TRIALS, seed: int = 1) -> tuple[Halves, ...]:
    """The same for samples of several sizes; by default 5, 10, 15, … topics, up to half of them."""
    scores = as_table(table, topics=2)
    half = len(scores) // 2
    if sizes is None:
        step = max(5, half // 20)
        sizes = sorted({*range(step, half + 1, step), half})
    return tuple(halves(scores, trials, seed, size) for size in sizes)


class _Tally:
    """Running counts of swaps, by pair and by difference."""

    def __init__(self, systems: int, slack: float) -> None:
        self.pairs = np.triu_indices(systems, 1)
        self.slack = slack
        # bins are for scores up to 1; larger scores scale them
        self.width = _BIN * max(1.0, slack / TOLERANCE)
        self.swaps = np.zeros(len(self.pairs[0]), dtype=np.int64)
        self.counts: dict[int, int] = {}
        self.swap_counts: dict[int, int] = {}
        self.taus: list[Floats] = []

    def add(self, one: Floats, other: Floats) -> None:
        """Add trials: the means of the systems on one sample and on the other."""
        first = _pair_differences(one, self.pairs, self.slack)
        second = _pair_differences(other, self.pairs, self.slack)
        swapped = first * second < 0
        self.swaps += swapped.sum(axis=0)
        self.taus.append(_taus(np.sign(first), np.sign(second)))
        which = np.floor(np.abs(first) / self.width + 1e-9).astype(np.int64)
        for counts, binned in ((self.counts, which.ravel()), (self.swap_counts, which[swapped])):
            for number, count in enumerate(np.bincount(binned).tolist()):
                counts[number] = counts.get(number, 0) + count

    def bins(self) -> tuple[SwapBin, ...]:
        return tuple(
            SwapBin(round(i * self.width, 12), round((i + 1) * self.width, 12), count, self.swap_counts.get(i, 0))
            for i, count in sorted(self.counts.items())
        )


def _samples(scores: Floats, size: int, trials: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """The means of the systems on two samples of topics, a row per trial, in blocks."""
    rng = np.random.default_rng(seed)
    n, m = scores.shape
    at_once = max(1, _CELLS // max(n, m * m))
    membership = np.repeat(np.array([1, 2, 0], dtype=np.int8), [size, size, n - 2 * size])
    for first in range(0, trials, at_once):
        drawn = np.tile(membership, (min(at_once, trials - first), 1))
        rng.permuted(drawn, axis=1, out=drawn)
        yield _means_where(drawn == 1, scores), _means_where(drawn == 2, scores)


def _means_where(chosen: Bools, scores: Floats) -> Floats:
    """The means over the chosen topics, one row per choice."""
    means: Floats = chosen.astype(np.float64) @ scores / chosen.sum(axis=1, keepdims=True)
    return means


def _pair_differences(means: Floats, pairs: tuple[Ints, Ints], slack: float) -> Floats:
    """The difference of each pair of systems, 0 where it is only rounding."""
    differences = means[:, pairs[0]] - means[:, pairs[1]]
    return np.where(np.abs(differences) <= slack, 0.0, differences)


def _taus(one: Floats, other: Floats) -> Floats:
    """Kendall's tau_b from the signs of pairs, row by row; 1 where both tie all systems, 0 where one does."""
    norm = np.sqrt(np.abs(one).sum(axis=1) * np.abs(other).sum(axis=1))
    both_tied = ~(one.any(axis=1) | other.any(axis=1))
    taus: Floats = np.where(norm > 0, (one * other).sum(axis=1) / np.where(norm > 0, norm, 1.0), both_tied)
    return taus


def _symmetric(pairs: Floats, m: int) -> Floats:
    matrix = np.zeros((m, m))
    i, j = np.triu_indices(m, 1)
    matrix[i, j] = matrix[j, i] = pairs
    return matrix


class LeaveOneOut(Record, eq=False):
    """The comparison without each topic; one row or entry per topic."""

    means: Floats  # of all topics, by system
    without: Floats  # topics × systems: the mean of each system without the topic
    shift: Floats  # the most that leaving a topic out changes any difference between two systems
    taus: Floats  # Kendall's tau between the ranking with all topics and the one without
    winner: int  # the best system, the first of them where several tie
    winners: Ints  # the best system without each topic
    note: str = (
        "shift is the largest change of a difference between two systems; tau is tau_b, 1 if both rankings tie all "
        "systems and 0 if one does. A winner that ties for the best place without a topic has not lost it."
    )

    @property
    def changes_winner(self) -> Bools:
        """The topics whose absence changes the best system."""
        return np.asarray(self.winners != self.winner)

    @property
    def order(self) -> list[int]:
        """The topics, the most influential first."""
        by_influence: list[int] = np.argsort(-self.shift, kind="stable").tolist()
        return by_influence

    def differences(self, one: int, other: int) -> Floats:
        """The difference between two systems without each topic."""
        apart: Floats = self.without[:, one] - self.without[:, other]
        return apart


def leave_one_out(table: Any) -> LeaveOneOut:
    """Measure the influence of each topic: how its absence changes differences, the ranking, and the best system.

    >>> found = leave_one_out([[0.1, 0.9], [0.5, 0.4], [0.5, 0.4]])
    >>> found.order[0], found.changes_winner.tolist()
    (0, [True, False, False])
    """
    scores = as_table(table, topics=2)
    n, m = scores.shape
    slack = rounding(scores)
    means = scores.sum(axis=0) / n
    without = (scores.sum(axis=0) - scores) / (n - 1)
    winner = int(np.argmax(means >= means.max() - slack))
    best = np.argmax(without >= without.max(axis=1, keepdims=True) - slack, axis=1)
    still = without[:, winner] >= without.max(axis=1) - slack
    return LeaveOneOut(
        means=means,
        without=without,
        shift=np.ptp(without - means, axis=1),
        taus=np.concatenate(list(_taus_with(means, without, slack))),
        winner=winner,
        winners=np.where(still, winner, best),
    )


def _taus_with(means: Floats, without: Floats, slack: float) -> Iterator[Floats]:
    """Kendall's tau between one ranking and many, some at a time."""
    pairs = np.triu_indices(len(means), 1)
    full = np.sign(_pair_differences(means[None, :], pairs, slack))
    at_once = max(1, _CELLS // len(means) ** 2)
    for first in range(0, len(without), at_once):
        yield _taus(full, np.sign(_pair_differences(without[first : first + at_once], pairs, slack)))


class RankingCorrelation(Record):
    """The similarity of two rankings of the same systems."""

    systems: int
    tau: float  # Kendall's tau_b
    tau_ap: float  # the AP correlation, symmetric and with ties (tau_AP,b), which weights the top more
    pearson: float  # of the scores themselves
    rbo: RBOResult
    p: float  # of RBO
    note: str = ""


def system_ranking_correlation(x: ItemScores, y: ItemScores, p: float = 0.9) -> RankingCorrelation:
    """Correlate two rankings of systems, given their means, by two measures, on two collections, …

    Takes lists, system by system, or two {system: mean}. If all means of one side are equal, it has no ranking:
    correlations are then 1 if the same holds for the other side, else 0, and `note` says so.

    >>> round(system_ranking_correlation([0.4, 0.3, 0.2], [0.5, 0.1, 0.3]).tau, 4)
    0.3333
    """
    one, other = map(_without_rounding, align_scores(x, y))
    if len(one) < 2:
        raise CranfieldError(f"expected at least two systems to rank, found {len(one)}.")
    constant = [side for side, means in (("first", one), ("second", other)) if np.ptp(means) == 0]
    note = f"the {' and the '.join(constant)} ranking ties all systems." if constant else ""
    alike = float(len(constant) == 2)
    return RankingCorrelation(
        systems=len(one),
        tau=alike if constant else kendall_tau(one, other),
        tau_ap=alike if constant else tau_ap(one, other, variant="b"),
        pearson=alike if constant else _pearson(one, other),
        rbo=rbo(_ranking(one), _ranking(other), p, ties="b"),
        p=p,
        note=note,
    )


def _without_rounding(means: Floats) -> Floats:
    grid = rounding(means)
    tidy: Floats = np.round(means / grid) * grid
    return tidy


def _ranking(means: Floats) -> list[list[int]]:
    """The systems best first, those of equal mean together."""
    return [np.flatnonzero(means == value).tolist() for value in np.unique(means)[::-1]]


def _pearson(x: Floats, y: Floats) -> float:
    one, other = x - x.mean(), y - y.mean()
    return float(np.dot(one, other) / math.sqrt(np.dot(one, one) * np.dot(other, other)))


class MeasureCorrelation(Record, eq=False):
    """The similarity of rankings by several measures; matrices are measures × measures, 1 on the diagonal."""

    measures: tuple[str, ...]
    systems: int
    tau: Floats
    tau_ap: Floats
    pearson: Floats
    note: str = ""


def measure_correlation(means: Mapping[str, Any]) -> MeasureCorrelation:
    """Correlate the rankings of systems by several measures: tau, tau_AP (b, symmetric) and Pearson for each pair.

    Takes {measure: means}, with means as a list or as {system: mean}, or {measure: table of scores}, topics × systems.
    A measure with the same mean for all systems correlates 1 with another such measure, else 0.

    >>> measure_correlation({"AP": [0.3, 0.2, 0.1], "RR": [0.9, 0.7, 0.8]}).tau.round(4).tolist()
    [[1.0, 0.3333], [0.3333, 1.0]]
    """
    names = tuple(means)
    if not names:
        raise CranfieldError("expected at least one measure.")
    columns = [_system_means(name, means[name]) for name in names]
    found = {(i, j): system_ranking_correlation(columns[i], columns[j]) for j in range(len(names)) for i in range(j)}
    constant = [name for name, column in zip(names, columns, strict=True) if _is_constant(column)]
    matrices = {
        kind: _with_unit_diagonal({at: float(getattr(one, kind)) for at, one in found.items()}, len(names))
        for kind in ("tau", "tau_ap", "pearson")
    }
    note = (
        f"all systems have the same mean by {', '.join(constant)}: no ranking, so no correlation." if constant else ""
    )
    return MeasureCorrelation(names, len(columns[0]), **matrices, note=note)


def _system_means(name: str, given: Any) -> Any:
    if isinstance(given, Mapping):
        return given
    column = np.asarray(given, dtype=np.float64)
    if column.ndim > 2 or column.ndim == 0:
        raise CranfieldError(
            f"{name}: expected a mean per system, or a table topics × systems, found {column.ndim} axes."
        )
    return as_table(column).mean(axis=0) if column.ndim == 2 else column


def _is_constant(column: Any) -> bool:
    values = list(column.values()) if isinstance(column, Mapping) else column
    return float(np.ptp(_without_rounding(np.asarray(values, dtype=np.float64)))) == 0


def _with_unit_diagonal(values: Mapping[tuple[int, int], float], size: int) -> Floats:
    matrix = np.eye(size)
    for (i, j), value in values.items():
        matrix[i, j] = matrix[j, i] = value
    return matrix
