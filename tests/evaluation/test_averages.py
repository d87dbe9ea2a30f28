"""One number for many queries, and its interval."""

import math
import random
from statistics import geometric_mean, median

import numpy as np
import pytest
from scipy import stats

from cranfield.evaluation.averages import average, effective_number, interval

VALUES = [0.5, 0.0, 0.25, 1.0, 0.125, 0.75, 0.4, 0.3]


def test_a_geometric_mean_takes_little_for_nothing():
    assert average(VALUES, how="geometric") == pytest.approx(geometric_mean([max(v, 1e-5) for v in VALUES]))
    assert average([0, 0], how="geometric") == pytest.approx(1e-5)


@pytest.mark.parametrize("n", range(1, 9))
def test_a_median_is_that_of_the_textbook(n):
    assert average(VALUES[:n], how="median") == median(VALUES[:n])


@pytest.mark.parametrize("how", ["arithmetic", "geometric", "median"])
def test_a_query_of_weight_two_counts_as_two(how):
    weights = [1, 2, 3, 0, 1, 0, 2, 1]
    repeated = [value for value, weight in zip(VALUES, weights, strict=True) for _ in range(weight)]
    assert average(VALUES, weights, how) == pytest.approx(average(repeated, how=how), rel=1e-14)


@pytest.mark.parametrize("how", ["arithmetic", "geometric", "median"])
def test_the_order_of_queries_changes_no_bit(how):
    rng = random.Random(1)
    pairs = [(rng.random(), rng.random()) for _ in range(50)]
    expected = average(*zip(*pairs, strict=True), how)
    rng.shuffle(pairs)
    assert average(*zip(*pairs, strict=True), how) == expected


@pytest.mark.parametrize("how", ["arithmetic", "geometric", "median"])
def test_nothing_has_no_average(how):
    assert math.isnan(average([], how=how))
    assert math.isnan(average([0.5, 1.0], [0, 0], how))


def test_equal_weights_change_no_interval():
    plain, weighted = interval(VALUES), interval(VALUES, [3.0] * len(VALUES))
    assert (weighted.low, weighted.high) == pytest.approx((plain.low, plain.high))


def test_the_interval_of_a_geometric_mean_is_that_of_the_logarithms():
    logs = np.log(np.maximum(VALUES, 1e-5))
    low, high = stats.t.interval(0.9, len(logs) - 1, loc=logs.mean(), scale=stats.sem(logs))
    found = interval(VALUES, how="geometric", level=0.9)
    assert (found.low, found.high) == pytest.approx((math.exp(low), math.exp(high)))


def test_the_interval_of_a_median_is_between_order_statistics():
    # for ten values the second and the ninth: 1 − 2·(1 + 10)/1024 = 97.9 %; the third and the eighth have 89.1 %
    values = list(range(10))
    found = interval(values, how="median")
    assert (found.low, found.high) == (1, 8)
    found = interval(values, how="median", level=0.89)
    assert (found.low, found.high) == (2, 7)


def test_too_few_queries_have_no_interval():
    assert interval([0.5]) is None
    assert interval([0.1, 0.2, 0.3, 0.4, 0.5], how="median") is None
    assert interval([0.1, 0.2], [1, 0.01]) is None
    assert interval(VALUES, [1.0] * 8, "median") is None


def test_a_weighted_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.2, 3, 30)
    covered = 0
    for _ in range(1000):
        found = interval(rng.normal(0.5, 0.1, 30).tolist(), weights.tolist())
        covered += found.low <= 0.5 <= found.high
    assert 930 <= covered <= 970


def test_the_effective_number_of_queries():
    assert effective_number([1] * 7) == 7
    assert effective_number([5, 0, 0]) == 1
    assert effective_number([0, 0]) == 0
