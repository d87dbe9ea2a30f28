"""Estimators against the reference cases, SciPy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, hypergeom

from cranfield.errors import CranfieldError
from cranfield.pooling.estimators import Kind, chapman, power_law, sample_size, sample_size_without_any, share_interval

# Shares
from tests.soak import examples


@examples(200)
@given(n=st.integers(1, 400), share=st.floats(0, 1), level=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_intervals_are_those_of_scipy(n: int, share: float, level: float) -> None:
    found = round(share * n)
    for kind, method in (("clopper-pearson", "exact"), ("wilson", "wilson")):
        ours = share_interval(found, n, level, kind)  # type: ignore[arg-type]
        theirs = binomtest(found, n).proportion_ci(level, method)
        assert ours.low == pytest.approx(theirs.low, abs=1e-10)
        assert ours.high == pytest.approx(theirs.high, abs=1e-10)


def test_intervals_are_those_of_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for found, n in ((0, 10), (1, 30), (15, 40), (40, 40)):
        for kind, method in (("clopper-pearson", "beta"), ("wilson", "wilson")):
            ours = share_interval(found, n, 0.95, kind)  # type: ignore[arg-type]
            low, high = proportion.proportion_confint(found, n, method=method)
            assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-9)


def test_without_a_sample_a_share_may_be_anything() -> None:
    assert (share_interval(0, 0).low, share_interval(0, 0).high) == (0, 1)


@pytest.mark.parametrize(("found", "n", "level"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1.0), (1, 2, 0.0)])
def test_shares_and_levels_that_are_none_are_refused(found: int, n: int, level: float) -> None:
    with pytest.raises(CranfieldError):
        share_interval(found, n, level)


# Sample sizes


@pytest.mark.parametrize("kind", ["clopper-pearson", "wilson"])
@pytest.mark.parametrize(("margin", "expected"), [(0.05, 0.5), (0.05, 0.1), (0.02, 0.01), (0.1, 0.0), (0.49, 0.5)])
def test_a_sample_is_just_large_enough(kind: Kind, margin: float, expected: float) -> None:
    n = sample_size(margin, expected, 0.95, kind)

    def width(size: int) -> float:
        found = share_interval(expected * size, size, 0.95, kind)
        return found.high - found.low

    assert width(n) <= 2 * margin
    assert n == 1 or width(n - 1) > 2 * margin


def test_wilson_needs_about_what_textbooks_say() -> None:
    # the normal approximation gives z² / (4 · margin²) = 384.1; Wilson's interval is shorter, by z²
    assert sample_size(0.05, 0.5, 0.95, "wilson") == math.ceil(1.959964**2 / (4 * 0.05**2) - 1.959964**2)


def test_of_a_small_population_fewer_will_do_and_never_more_than_all() -> None:
    n = sample_size(0.05)
    assert sample_size(0.05, population=1000) == math.ceil(n / (1 + (n - 1) / 1000))
    assert sample_size(0.05, population=3) == 3
    assert sample_size(0.05, population=0) == 0
    assert sample_size(0.05, population=10**9) == n


@examples(100)
@given(population=st.integers(1, 2_000), missing=st.integers(0, 50), level=st.sampled_from([0.8, 0.95, 0.99]))
def test_a_sample_without_any_shows_what_the_hypergeometric_distribution_says(
    population: int, missing: int, level: float
) -> None:
    n = sample_size_without_any(missing, population, level)
    if missing + 1 > population:
        assert n == 0
        return
    assert hypergeom.pmf(0, population, missing + 1, n) <= 1 - level + 1e-9
    assert hypergeom.pmf(0, population, missing + 1, n - 1) > 1 - level - 1e-9


def test_in_a_large_collection_it_is_the_rule_of_three() -> None:
    n = sample_size_without_any(999, 1_000_000)
    assert n == pytest.approx(math.log(0.05) / math.log(1 - 0.001), rel=0.01)
    assert n == pytest.approx(3 / 0.001, rel=0.01)


@pytest.mark.parametrize("margin", [0.0, 0.5, 1.0])
def test_a_margin_that_says_nothing_is_refused(margin: float) -> None:
    with pytest.raises(CranfieldError, match="margin"):
        sample_size(margin)


# Capture and recapture


@pytest.mark.parametrize(
    ("first", "second", "both", "total", "variance", "error"),
    [
        (30, 20, 15, 39.6875, 11.2189797794, 3.3494745527),
        (100, 100, 20, 484.7619047619, 6729.1692434550, 82.0315137216),
        (10, 8, 0, 98, 3960, 62.9285308902),
        (10, 10, 10, 10, 0, 0),
    ],
)
def test_chapman_is_that_of_the_reference_cases(
    first: int, second: int, both: int, total: float, variance: float, error: float
) -> None:
    found = chapman(first, second, both)
    assert found.total == pytest.approx(total, abs=1e-10)
    assert found.variance == pytest.approx(variance, abs=1e-9)
    assert found.error == pytest.approx(error, abs=1e-10)


def test_the_interval_is_normal_and_does_not_go_below_what_was_found() -> None:
    found = chapman(30, 20, 15)
    assert found.union == 35 and found.low == 35  # the normal one begins at 33.1226505095
    assert found.high == pytest.approx(46.2523494905, abs=1e-9)
    assert chapman(0, 0, 0).total == chapman(0, 0, 0).high == 0


def test_estimate_and_variance_are_unbiased_where_the_theory_says_so() -> None:
    # n1 + n2 ≥ N: over the hypergeometric distribution of what both find
    population, first, second = 60, 40, 30
    both = np.arange(max(0, first + second - population), min(first, second) + 1)
    rng = hypergeom.pmf(both, population, first, second)
    found = [chapman(first, second, int(m)) for m in both]
    totals = np.array([one.total for one in found])
    assert (rng * totals).sum() == pytest.approx(60, abs=1e-9)
    spread = (rng * (totals - 60) ** 2).sum()
    assert spread == pytest.approx(29.9739180358, abs=1e-9)
    assert (rng * np.array([one.variance for one in found])).sum() == pytest.approx(spread, abs=1e-9)


def test_more_in_common_than_either_has_is_refused() -> None:
    with pytest.raises(CranfieldError, match="in common"):
        chapman(3, 2, 3)


# Extrapolation

NEW = [40, 22, 15, 12, 9.5, 8, 7, 6.2, 5.6, 5.1]


def test_zobels_fit_is_that_of_the_reference_case() -> None:
    law = power_law(NEW)
    assert law is not None and law.falls
    assert law.exponent == pytest.approx(-0.8320866520616, abs=1e-10)
    assert law.scale == pytest.approx(40.6592567096, abs=1e-8)
    assert [law.at(d) for d in (11, 15, 20)] == pytest.approx([4.5287949360, 3.2711969408, 2.3619383228], abs=1e-8)
    assert law.between(10, 20) == pytest.approx(32.7145893465, abs=1e-8)


def test_the_plain_power_law_is_that_of_the_reference_case() -> None:
    law = power_law(NEW, less=0)
    assert law is not None
    assert law.exponent == pytest.approx(-0.9004924253236, abs=1e-10)
    assert law.scale == pytest.approx(40.5586379995, abs=1e-8)
    assert law.between(10, 20) == pytest.approx(35.4438739607, abs=1e-8)


def test_what_cannot_be_fitted_or_drawn_out_is_said_to_be_so() -> None:
    assert power_law([3]) is None
    assert power_law([3, 0], less=0) is None
    nothing, growing = power_law([0, 0, 0]), power_law([0, 1, 4])
    assert nothing is not None and nothing.falls and nothing.between(3, 100) == 0
    assert growing is not None and not growing.falls


def test_never_fewer_than_none_are_expected() -> None:
    law = power_law([5, 0, 0, 0])
    assert law is not None and law.at(1_000) == 0 and law.between(4, 50) >= 0
