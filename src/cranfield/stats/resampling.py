"""Resampling of the differences of two systems: sign flips, and bootstrap samples of topics."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from cranfield.data import Floats
from cranfield.errors import CranfieldError
from cranfield.evaluation import Interval
from cranfield.stats.paired_scores import PairedScores, standard_deviation

Alternative = Literal["two-sided", "greater", "less"]
BLOCK = 1 << 17  # the number of values resampled at a time


class Draws:
    """Draws of a statistic; the p-value counts those that are as extreme as the observed value.

    Differences are sorted and oriented by their mean: draws depend neither on the order of topics, nor on that of the
    systems, nor on the hypothesis.
    """

    observed: float
    slack: float  # values this close are equal

    def __init__(self, pairs: PairedScores, mu: float, resamples: int, seed: int) -> None:
        self.mu = mu
        self.sign = -1 if pairs.mean < 0 else 1
        self.d = np.sort(self.sign * pairs.beyond(mu))
        self.total = math.fsum(self.d.tolist())
        self.mean = self.total / len(self.d)
        self.number, self.seed = int(resamples), int(seed)
        self.extra = 1  # the data count as a draw

    def values(self) -> Floats:
        """The values drawn."""
        raise NotImplementedError

    def ends(self, level: float, two_sided: bool) -> tuple[float, float]:
        """The ends of an interval of the mean of `d`."""
        raise NotImplementedError

    def pvalue(self, alternative: Alternative) -> float:
        """The share of draws that are as extreme; never 0."""
        values, observed = self.values(), self.observed
        if alternative == "two-sided":
            extreme = np.abs(values) >= abs(observed) - self.slack
        elif (alternative == "greater") == (self.sign > 0):
            extreme = values >= observed - self.slack
        else:
            extreme = values <= observed + self.slack
        return (int(np.count_nonzero(extreme)) + self.extra) / (self.number + self.extra)

    def beyond(self, values: Floats, level: float) -> float:
        """The largest value that enough draws reach for it not to be rejected."""
        k = math.floor(
            (1 - level) * (self.number + self.extra) - self.extra + 1e-9
        )  # rejected if no more than k draws reach it
        last = self.number - 1 - k
        return math.inf if k < 0 else float(np.partition(values, last)[last])

    def interval(self, level: float, alternative: Alternative) -> Interval | None:
        """The interval of the mean difference; None if it has no end."""
        low, high = self.ends(level, alternative == "two-sided")
        if self.sign < 0:
            low, high = -high, -low
        interval = sided(low + self.mu, high + self.mu, alternative, level)
        return None if math.isinf(interval.low) and math.isinf(interval.high) else interval


class Flips(Draws):
    """Sign flips of sets of topics: of every set if there are few, else of random sets.

    Flipping a set subtracts twice its sum from the total. A flip is as extreme as the data if and only if the mean over
    its set is on the other side of the hypothesis, and such means are the ends of intervals (Hartigan, Using subsample
    values as typical values, JASA 64, 1969).
    """

    def __init__(self, pairs: PairedScores, mu: float, resamples: int, seed: int) -> None:
        super().__init__(pairs, mu, resamples, seed)
        n = pairs.n
        self.exact = n < self.number.bit_length()  # 2^n ≤ resamples
        if self.exact:
            self.number, self.extra = 1 << n, 0
        self.sums, self.sizes = np.zeros(self.number), np.zeros(self.number)
        for at, flipped in zip(range(0, n, 8), self._bytes(n), strict=True):
            # eight topics have only 256 sums, which are looked up
            bits = _BITS[:, : n - at]
            self.sums += (bits @ self.d[at : at + 8])[flipped]
            self.sizes += bits.sum(axis=1)[flipped]
        self.observed, self.slack = self.total, 1e-12 * n * float(np.abs(self.d).max())

    def _bytes(self, n: int) -> Iterator[Any]:
        """For eight topics at a time, which of them are flipped: a byte for each draw."""
        if self.exact:
            codes = np.arange(self.number)
            yield from ((codes >> shift) & 255 for shift in range(0, n, 8))
        else:
            rng = np.random.default_rng(self.seed)
            yield from (rng.integers(0, 256, self.number, dtype=np.uint8) for _ in range(0, n, 8))

    def values(self) -> Floats:
        return self.total - 2 * self.sums

    def ends(self, level: float, two_sided: bool) -> tuple[float, float]:
        """The smallest and the largest mean that these flips would not reject."""
        lower, upper = self._limits(two_sided)
        return -self.beyond(-lower, level), self.beyond(upper, level)

    def _limits(self, two_sided: bool) -> tuple[Floats, Floats]:
        """The means above and below which each flip is as extreme as the data."""
        flipped = self.sums / np.maximum(self.sizes, 1)
        always = self.sizes == 0
        lower = upper = flipped
        if two_sided:
            others = len(self.d) - self.sizes
            kept = (self.total - self.sums) / np.maximum(others, 1)
            always |= others == 0
            lower, upper = np.minimum(flipped, kept), np.maximum(flipped, kept)
        return np.where(always, -np.inf, lower), np.where(always, np.inf, upper)


_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


class Bootstrap(Draws):
    """Topics drawn with replacement, with differences centred on their mean: the distribution of a statistic."""

    def __init__(self, pairs: PairedScores, mu: float, resamples: int, seed: int) -> None:
        super().__init__(pairs, mu, resamples, seed)
        self.unit = float(np.abs(self.d).max())  # makes rounding independent of the scale
        centred = (self.d - self.mean) / self.unit
        self.strays = np.concatenate([self.statistics(rows) for rows in resampled(centred, self.number, self.seed)])

    def statistics(self, rows: Floats) -> Floats:
        """The statistic of each resample."""
        raise NotImplementedError

    def values(self) -> Floats:
        return self.strays


class Means(Bootstrap):
    """The bootstrap of the mean itself."""

    def __init__(self, pairs: PairedScores, mu: float, resamples: int, seed: int) -> None:
        super().__init__(pairs, mu, resamples, seed)
        self.observed, self.slack = self.mean / self.unit, 1e-12

    def statistics(self, rows: Floats) -> Floats:
        return _row_means(rows)

    def ends(self, level: float, two_sided: bool) -> tuple[float, float]:
        """Quantiles of the means of resamples."""
        outside = (1 - level) / (2 if two_sided else 1)
        low, high = (_quantile(self.strays, share) * self.unit for share in (outside, 1 - outside))
        return self.mean + low, self.mean + high


class Studentised(Bootstrap):
    """The bootstrap of t, with the standard error of each resample."""

    def __init__(self, pairs: PairedScores, mu: float, resamples: int, seed: int) -> None:
        super().__init__(pairs, mu, resamples, seed)
        self.error = standard_deviation(self.d) / math.sqrt(len(self.d))
        self.observed = self.mean / self.error
        self.slack = 1e-10 * max(1.0, abs(self.observed))

    def statistics(self, rows: Floats) -> Floats:
        """t; without variance it is infinite on its mean's side, or 0 if that is 0."""
        n, mean = rows.shape[1], _row_means(rows)
        variance = _row_means((rows - mean[:, None]) ** 2) * n / (n - 1)
        constant = variance < 1e-24
        far = np.where(np.abs(mean) > 1e-12, np.copysign(np.inf, mean), 0.0)
        return np.where(constant, far, mean / np.sqrt(np.where(constant, 1.0, variance) / n))

    def ends(self, level: float, two_sided: bool) -> tuple[float, float]:
        """The smallest and the largest mean that these resamples would not reject."""
        above, below = (np.abs(self.strays),) * 2 if two_sided else (self.strays, -self.strays)
        return self.mean - self.beyond(above, level) * self.error, self.mean + self.beyond(below, level) * self.error


def resampled(values: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """Resamples of values with replacement, one per row, in blocks; the block size does not change them."""
    rng, n = np.random.default_rng(seed), len(values)
    rows = max(1, BLOCK // n)
    for start in range(0, resamples, rows):
        yield values[rng.integers(0, n, size=(min(rows, resamples - start), n))]


def sided(low: float, high: float, alternative: Alternative, level: float) -> Interval:
    """An interval that is unbounded on the side that the alternative does not test, as in SciPy."""
    return Interval(-math.inf if alternative == "less" else low, math.inf if alternative == "greater" else high, level)


def require_draws(resamples: int, seed: int) -> None:
    if isinstance(resamples, bool) or not isinstance(resamples, (int, np.integer)) or resamples < 1:
        raise CranfieldError(f"resamples={resamples!r} is out of range: expected a whole number of at least 1.")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise CranfieldError(f"seed={seed!r} is out of range: expected a whole number of at least 0.")


def _row_means(rows: Floats) -> Floats:
    means: Floats = rows.mean(axis=1)
    return means


def _quantile(values: Floats, share: float) -> float:
    """The smallest value with at least this share of all at or below it."""
    k = min(max(math.ceil(share * len(values) - 1e-9), 1), len(values)) - 1
    return float(np.partition(values, k)[k])
