"""Estimators: shares from samples, totals from capture–recapture, series from a power law."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.evaluation import Interval
from cranfield.stats import wilson_interval

Kind = Literal["clopper-pearson", "wilson"]

# Shares and sample sizes


def share_interval(found: float, n: float, level: float = 0.95, kind: Kind = "clopper-pearson") -> Interval:
    """The confidence interval of a share, of which a random sample of n contained `found`.

    `clopper-pearson` is exact: it covers the true share at least as often as the level says. `wilson` is shorter and
    does so on average. Without a sample the interval is 0 to 1.

    >>> interval = share_interval(0, 10)
    >>> interval.low, round(interval.high, 4)
    (0.0, 0.3085)
    >>> round(share_interval(3, 10, kind="wilson").high, 4)
    0.6032
    """
    require_level(level)
    if kind not in get_args(Kind):
        raise CranfieldError(f"unknown interval {kind!r}: expected one of {', '.join(get_args(Kind))}.")
    if not 0 <= found <= n:
        raise CranfieldError(f"{found:g} of {n:g}: expected a number from 0 to the size of the sample.")
    if n == 0:
        return Interval(0.0, 1.0, level)
    low, high = (_clopper_pearson if kind == "clopper-pearson" else wilson_interval)(found, n, level)
    return Interval(low, high, level)


def _clopper_pearson(found: float, n: float, level: float) -> tuple[float, float]:
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if found == 0 else float(betaincinv(found, n - found + 1, tail))
    high = 1.0 if found == n else float(betaincinv(found + 1, n - found, 1 - tail))
    return low, high


def sample_size(
    margin: float,
    expected: float = 0.5,
    level: float = 0.95,
    kind: Kind = "clopper-pearson",
    population: int | None = None,
) -> int:
    """How many documents to draw for the interval of a share to be no wider than twice the margin.

    `expected` is the expected share; 0.5 is the worst case. A small population needs fewer documents, by the finite
    population correction n / (1 + (n − 1) / N).

    >>> sample_size(0.05), sample_size(0.05, expected=0.05), sample_size(0.05, population=1000)
    (402, 94, 287)
    """
    if not 0 < margin < 0.5:
        raise CranfieldError(f"margin {margin:g}: expected a number between 0 and 0.5.")
    if not 0 <= expected <= 1:
        raise CranfieldError(f"expected share {expected:g}: expected a number from 0 to 1.")

    def is_enough(n: int) -> bool:
        interval = share_interval(expected * n, n, level, kind)
        return interval.high - interval.low <= 2 * margin

    needed = _smallest(is_enough)
    if population is None:
        return needed
    return min(population, math.ceil(needed / (1 + (needed - 1) / population))) if population else 0


def sample_size_without_any(missing: float, population: int, level: float = 0.95) -> int:
    """How many documents to draw to conclude, if none is relevant, that at most `missing` in the population are.

    By the hypergeometric distribution: if there were one more, such a sample would have probability 1 − level.

    >>> sample_size_without_any(10, 1000), sample_size_without_any(0, 100), sample_size_without_any(1000, 1000)
    (238, 95, 0)
    """
    require_level(level)
    more = math.floor(missing) + 1  # the smallest number to rule out
    if more > population:
        return 0

    def is_enough(n: int) -> bool:
        # the probability that n drawn documents include none of them: C(N − more, n) / C(N, n)
        if n > population - more:
            return True
        log_p = math.lgamma(population - more + 1) - math.lgamma(population - more - n + 1)
        log_p -= math.lgamma(population + 1) - math.lgamma(population - n + 1)
        return log_p <= math.log(1 - level) + 1e-12

    return min(_smallest(is_enough), population)


def _smallest(is_enough: Callable[[int], bool]) -> int:
    high = 1
    while not is_enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def require_level(level: float) -> None:
    if not 0 < level < 1:
        raise CranfieldError(f"level {level:g}: expected a number between 0 and 1.")


# Capture and recapture


class Recapture(Record):
    """An estimated total from what two finders found, with variance and interval."""

    first: int
    second: int
    both: int
    total: float
    variance: float
    low: float
    high: float
    level: float

    @property
    def error(self) -> float:
        return math.sqrt(self.variance)

    @property
    def union(self) -> int:
        return self.first + self.second - self.both


def chapman(first: int, second: int, both: int, level: float = 0.95) -> Recapture:
    """Estimate a total from what one finder (`first`), another (`second`) and both of them found.

    Chapman's estimator (1951) for capture–recapture, N = (n1 + 1)(n2 + 1)/(m + 1) − 1, with Seber's variance. The
    normal interval is not below what was found.

    >>> estimate = chapman(30, 20, 15)
    >>> estimate.total, round(estimate.error, 4), estimate.low
    (39.6875, 3.3495, 35)
    """
    require_level(level)
    if not 0 <= both <= min(first, second):
        raise CranfieldError(f"{both} in common of {first} and {second}: expected no more than the smaller of the two.")
    total = (first + 1) * (second + 1) / (both + 1) - 1
    variance = (first + 1) * (second + 1) * (first - both) * (second - both) / ((both + 1) ** 2 * (both + 2))
    low, high = normal_interval(total, variance, level, first + second - both)
    return Recapture(first, second, both, total, variance, low, high, level)


def normal_interval(total: float, variance: float, level: float, least: float) -> tuple[float, float]:
    """The normal interval of an estimate, which cannot be below what is known to exist."""
    half = _normal_quantile(level) * math.sqrt(variance)
    return max(total - half, least), max(total + half, least)


# Extrapolation


class PowerLaw(Record):
    """New relevant documents at depth d: C · d^s, minus 1 in Zobel's form."""

    scale: float
    exponent: float
    less: float  # 1 in Zobel's form, 0 in the plain one

    @property
    def falls(self) -> bool:
        """Whether new documents become fewer with depth, or there are none: otherwise it must not be extrapolated."""
        return self.exponent < 0 or (self.exponent < 1e-12 and self.at(1) < 1e-9)

    def at(self, depth: float) -> float:
        """The expected number of new documents at a depth; not below 0."""
        return max(0.0, float(self.scale * depth**self.exponent) - self.less)

    def between(self, after: int, to: int) -> float:
        """The expected number of new documents below one depth and down to another."""
        return math.fsum(self.at(depth) for depth in range(after + 1, to + 1))


def power_law(new: Sequence[float] | Floats | Ints, less: float = 1.0) -> PowerLaw | None:
    """Fit new relevant documents at depths 1, 2, … by least squares of ln(n + less) on ln d (Zobel, SIGIR 1998).

    `less` = 1 allows for depths without new documents. The result is None for fewer than two depths, or without it if a
    depth has none. With an exponent above −1 the sum diverges: never extrapolate without a limit.

    >>> law = power_law([40, 22, 15, 12, 9.5, 8, 7, 6.2, 5.6, 5.1])
    >>> round(law.exponent, 6), round(law.scale, 6), round(law.between(10, 20), 6)
    (-0.832087, 40.659257, 32.714589)
    """
    shifted = np.asarray(new, dtype=np.float64) + less
    if len(shifted) < 2 or not (shifted > 0).all():
        return None
    x, y = np.log(np.arange(1, len(shifted) + 1)), np.log(shifted)
    exponent = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return PowerLaw(math.exp(float(y.mean() - exponent * x.mean())), exponent, less)
