"""One number for many queries: arithmetic and geometric mean, median, each with weights, and their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from cranfield.base import How, Record, t_quantile
from cranfield.data import Floats

GEOMETRIC_FLOOR = 1e-5  # what a lower value counts as in a geometric mean, as in trec_eval (MIN_GEO_MEAN)
Values = Sequence[float]


class Interval(Record):
    """A confidence interval of a mean."""

    low: float
    high: float
    level: float = 0.95


def average(values: Values, weights: Values | None = None, how: How = "arithmetic") -> float:
    """A mean or the median; NaN where nothing has a weight. Sums are exact, so the order does not matter.

    >>> average([0.1, 0.4, 0.4]), average([0.1, 0.4, 0.4], how="median"), average([0.25, 1.0], how="geometric")
    (0.3, 0.4, 0.5)
    """
    if not values or (weights is not None and not any(weights)):
        return math.nan
    return _AVERAGES[how](values, weights)


def interval(
    values: Values, weights: Values | None = None, how: How = "arithmetic", level: float = 0.95
) -> Interval | None:
    """The interval of a mean or median; None for fewer than two queries, or too few for a median.

    Student's t for a mean (of logarithms, for a geometric one), and between two order statistics for a median. With
    weights a mean's t interval rests on the effective number of queries (Kish, Survey Sampling, 1965); a weighted
    median has none.
    """
    if how == "median":
        return None if weights is not None else _order_interval(values, level)
    if how == "arithmetic":
        return _t_interval(values, weights, level)
    found = _t_interval(_logarithms(values), weights, level)
    return None if found is None else Interval(math.exp(found.low), math.exp(found.high), level)


def effective_number(weights: Values) -> float:
    """How many queries of equal weight would make a mean as certain.

    >>> effective_number([1, 1, 1]), effective_number([3, 1])
    (3.0, 1.6)
    """
    squares = math.fsum(weight * weight for weight in weights)
    return math.fsum(weights) ** 2 / squares if squares else 0.0


def _arithmetic(values: Values, weights: Values | None) -> float:
    if weights is None:
        return math.fsum(values) / len(values)
    return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)


def _geometric(values: Values, weights: Values | None) -> float:
    return math.exp(_arithmetic(_logarithms(values), weights))


def _median(values: Values, weights: Values | None) -> float:
    """The value with half of the weight on each side; halfway between two where both are."""
    given = [1.0] * len(values) if weights is None else weights
    pairs = sorted((v, w) for v, w in zip(values, given, strict=True) if w > 0)
    half, below = math.fsum(given) / 2, 0.0
    for i, (value, weight) in enumerate(pairs):
        below += weight
        if below > half or i == len(pairs) - 1:
            return value
        if below == half:
            return (value + pairs[i + 1][0]) / 2
    raise AssertionError("half of the weight lies somewhere")


_AVERAGES: dict[How, Callable[[Values, Values | None], float]] = {
    "arithmetic": _arithmetic,
    "geometric": _geometric,
    "median": _median,
}


def _logarithms(values: Values) -> list[float]:
    return [math.log(max(value, GEOMETRIC_FLOOR)) for value in values]


def _t_interval(values: Values, weights: Values | None, level: float) -> Interval | None:
    number = len(values) if weights is None else effective_number(weights)
    if number < 2:
        return None
    mean = _arithmetic(values, weights)
    if weights is None:
        variance = math.fsum((value - mean) ** 2 for value in values) / (number - 1) / number
    else:
        spread = math.fsum((w * (v - mean)) ** 2 for w, v in zip(weights, values, strict=True))
        variance = spread / math.fsum(weights) ** 2 * number / (number - 1)
    half = t_quantile(number - 1, (1 + level) / 2) * math.sqrt(variance)
    return Interval(mean - half, mean + half, level)


def _order_interval(values: Values, level: float) -> Interval | None:
    """From the k-th lowest to the k-th highest value, k as large as the sign test allows."""
    n = len(values)
    k, ways, below = 0, 1, 1  # of 2^n ways to be above or below the median, those in which at most k are below
    while 2 * (k + 1) <= n and below / 2**n <= (1 - level) / 2:
        ways = ways * (n - k) // (k + 1)
        k, below = k + 1, below + ways
    ordered = sorted(values)
    return Interval(ordered[k - 1], ordered[n - k], level) if k else None


def mean_of_samples(drawn: Floats) -> tuple[Floats, Floats]:
    """The mean of each column, a query's values over sampled orders, and its standard error.

    Values are added in order, and kept as they are where all are equal, so other queries do not change the result.
    """
    n = len(drawn)
    mean = np.where((drawn == drawn[0]).all(axis=0), drawn[0], _added(drawn) / n)
    return mean, np.sqrt(_added((drawn - mean) ** 2) / (n - 1)) / math.sqrt(n)


def _added(rows: Floats) -> Floats:
    """The sum of each column, as a plain loop adds it; `sum` adds otherwise where there is only one column."""
    sums: Floats = np.add.accumulate(rows, axis=0)[-1]
    return sums
