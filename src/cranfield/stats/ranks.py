"""Systems by their rank on each topic: average ranks, Friedman's test, Nemenyi's critical difference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Bools, Floats
from cranfield.errors import CranfieldError
from cranfield.stats.anova import as_table, rounding
from cranfield.stats.studentised import range_ppf, range_sf


def topic_ranks(table: Any) -> Floats:
    """The rank of each system on each topic: 1 is the best, tied systems share the mean of their ranks.

    >>> topic_ranks([[0.5, 0.2, 0.5], [0.1, 0.2, 0.3]]).tolist()
    [[1.5, 3.0, 1.5], [3.0, 2.0, 1.0]]
    """
    scores = as_table(table)
    # rounded: 0.1 + 0.2 and 0.3 are the same score
    rounded = np.round(scores / rounding(scores))
    columns = [_ranks_of(column[:, None], rounded) for column in rounded.T]
    return np.stack(columns, axis=1)


def _ranks_of(scores: Floats, others: Floats) -> Floats:
    above = np.count_nonzero(others > scores, axis=1)
    alike = np.count_nonzero(others == scores, axis=1)
    ranks: Floats = above + (alike + 1) / 2
    return ranks


def average_ranks(table: Any) -> Floats:
    """The mean rank of each system over the topics; 1 is the best.

    >>> average_ranks([[0.5, 0.2, 0.5], [0.1, 0.2, 0.3]]).tolist()
    [2.25, 2.5, 1.25]
    """
    ranks: Floats = topic_ranks(table).mean(axis=0)
    return ranks


class Friedman(Record):
    """Friedman's test that all systems rank equally, and the F of Iman and Davenport, which is less conservative.

    `F` is None (infinite) if all topics agree; its p is then 0, or 1 for a single topic.
    """

    statistic: float
    df: int
    p: float
    F: float | None
    F_p: float
    note: str = "uses only ranks: the size of a difference plays no part."


def friedman(table: Any) -> Friedman:
    """Friedman's test, corrected for ties, of whether any system ranks differently from the others.

    Iman & Davenport, Approximations of the critical region of the Friedman statistic, Comm. Stat. A 9, 1980.
    """
    from scipy.special import chdtrc, fdtrc

    ranks = topic_ranks(table)
    n, m = ranks.shape
    middle = (m + 1) / 2
    between = n * float(np.square(ranks.mean(axis=0) - middle).sum())
    within = float(np.square(ranks - middle).sum()) / (m - 1) / n  # m (m + 1)/12 unless there are ties
    statistic = between / within if within else 0.0
    rest = n * (m - 1) - statistic
    F = (n - 1) * statistic / rest if rest > 1e-9 * n * m else None
    if n == 1:
        F_p = 1.0  # one topic always agrees with itself
    else:
        F_p = 0.0 if F is None else float(fdtrc(m - 1, (m - 1) * (n - 1), F))
    return Friedman(statistic, m - 1, float(chdtrc(m - 1, statistic)), F, F_p)


def critical_difference(m: int, n: int, alpha: float = 0.05) -> float:
    """How far apart the average ranks of two of m systems over n topics must be to differ in Nemenyi's test.

    q √(m (m + 1)/(6 n)), q the studentised range for m means divided by √2 (Demšar, JMLR 7, 2006).

    >>> round(critical_difference(5, 30), 4)
    1.1136
    """
    if n < 1:
        raise CranfieldError(f"expected at least 1 topic, found {n}.")
    return range_ppf(1 - alpha, m) * _rank_error(m, n)


class CriticalDifference(Record, eq=False):
    """Average ranks with the critical difference: the content of a critical-difference diagram."""

    systems: int
    n: int
    alpha: float
    ranks: Floats  # the average rank of each system, 1 the best
    difference: float  # above which two average ranks differ
    groups: tuple[tuple[int, ...], ...]  # systems that do not differ, best first: the bars of the diagram
    pvalues: Floats  # of Nemenyi's test, for each pair
    friedman: Friedman
    note: str

    @property
    def order(self) -> list[int]:
        """The systems, best average rank first."""
        best_first: list[int] = np.argsort(self.ranks, kind="stable").tolist()
        return best_first

    @property
    def significant(self) -> Bools:
        """Which pairs differ."""
        return np.asarray(np.abs(self.ranks[:, None] - self.ranks) > self.difference)


def nemenyi(table: Any, alpha: float = 0.05) -> CriticalDifference:
    """Find the systems that differ in their average ranks, over all pairs: Friedman's test, then Nemenyi's.

    >>> nemenyi([[0.1, 0.2, 0.45], [0.3, 0.25, 0.5], [0.55, 0.6, 0.75], [0.2, 0.4, 0.35]]).groups
    ((2, 1, 0),)
    """
    scores = as_table(table)
    n, m = scores.shape
    ranks = average_ranks(scores)
    difference = critical_difference(m, n, alpha)
    apart = np.abs(ranks[:, None] - ranks)
    pvalues = np.ones_like(apart)
    i, j = np.triu_indices(m, 1)
    pvalues[i, j] = pvalues[j, i] = range_sf(apart[i, j] / _rank_error(m, n), m)
    return CriticalDifference(
        systems=m,
        n=n,
        alpha=alpha,
        ranks=ranks,
        difference=difference,
        groups=_bars(ranks, difference),
        pvalues=pvalues,
        friedman=friedman(scores),
        note=(
            "ranks ignore the size of differences, and whether two systems differ depends on which others are "
            "ranked; randomised Tukey compares means."
        ),
    )


def _rank_error(m: int, n: int) -> float:
    """The standard error of an average rank, by which a difference is divided for the studentised range."""
    return math.sqrt(m * (m + 1) / (12 * n))


def _bars(ranks: Floats, difference: float) -> tuple[tuple[int, ...], ...]:
    """The longest stretches of systems, in the order of their ranks, whose ends do not differ."""
    order = np.argsort(ranks, kind="stable")
    ordered = ranks[order]
    ends = np.searchsorted(ordered, ordered + difference, side="right").tolist()
    longest = [(first, end) for first, end in enumerate(ends) if first == 0 or end > ends[first - 1]]
    return tuple(tuple(order[first:end].tolist()) for first, end in longest if end - first > 1)
