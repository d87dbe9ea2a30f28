"""Effect sizes: the reference cases, SciPy, and what holds whatever the scores are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base import fields
from cranfield.errors import CranfieldError
from cranfield.stats.effects import approximate_correction, correction, d_z_interval, effect
from cranfield.stats.paired import t_test

stats = pytest.importorskip("scipy.stats")

C1 = (
    [0.10, 0.35, 0.42, 0.20, 0.55, 0.61, 0.08, 0.30, 0.47, 0.25],
    [0.05, 0.30, 0.45, 0.10, 0.50, 0.40, 0.10, 0.22, 0.47, 0.12],
)
C2 = ([0.50, 0.40, 0.30, 0.20, 0.60, 0.70, 0.10, 0.90], [0.50, 0.30, 0.40, 0.20, 0.50, 0.50, 0.10, 0.70])
C3 = ([0.30, 0.50, 0.90], [0.20, 0.45, 0.50])
CASES = {
    "C1": (
        C1,
        {
            "difference": 0.062,
            "sd": 0.07284687135812,
            "low": 0.009888487496929,
            "high": 0.1141115125031,
            "d_z": 0.8511003814454,
            "hedges_g": 0.7777992689980,
            "hedges_g_approximate": 0.7781489201786,
            "d_z_low": 0.1036339560,
            "d_z_high": 1.565334105,
            "glass_delta": 0.3551468417852,
            "d_av": 0.3488079123712,
            "superiority": 0.75,
        },
        (7, 1, 2),
    ),
    "C2": (
        C2,
        {
            "difference": 0.0625,
            "sd": 0.1060660171780,
            "low": -0.02617340941289,
            "high": 0.1511734094129,
            "d_z": 0.5892556509888,
            "hedges_g": 0.5233785825708,
            "hedges_g_approximate": 0.5237828008789,
            "d_z_low": -0.1841245282,
            "d_z_high": 1.328261858,
            "glass_delta": 0.3242965760392,
            "d_av": 0.2684693325821,
            "superiority": 0.6875,
        },
        (4, 3, 1),
    ),
    "C3": (
        C3,
        {
            "difference": 0.1833333333333,
            "sd": 0.1892969448600,
            "low": -0.2869063461302,
            "high": 0.6535730127969,
            "d_z": 0.9684959969582,
            "hedges_g": 0.5464153531915,
            "hedges_g_approximate": 0.5534262839761,
            "d_z_low": -0.5230622178,
            "d_z_high": 2.342781065,
            "glass_delta": 1.140646864203,
            "d_av": 0.7510676161988,
            "superiority": 1.0,
        },
        (3, 0, 0),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_effects_are_those_of_the_reference_cases(name):
    (a, b), expected, record = CASES[name]
    found = effect(a, b)
    for field, value in expected.items():
        assert getattr(found, field) == pytest.approx(value, abs=1e-9), field
    assert (found.wins, found.ties, found.losses) == record
    assert found.n == len(a)


def test_hedges_correction_is_exact_or_approximate():
    exact = {9: 0.9138748917926, 7: 0.8882029076728, 2: 0.5641895835478}
    approximate = {9: 0.9142857142857, 7: 0.8888888888889, 2: 0.5714285714286}
    for df in exact:
        assert correction(df) == pytest.approx(exact[df], abs=1e-12)
        assert approximate_correction(df) == pytest.approx(approximate[df], abs=1e-12)
    assert correction(10**6) == pytest.approx(approximate_correction(10**6), abs=1e-9)


def test_with_two_topics_there_is_no_correction():
    found = effect([0.3, 0.5], [0.2, 0.1])
    assert found.d_z == pytest.approx(0.25 / np.std([0.1, 0.4], ddof=1))
    assert found.hedges_g is None
    assert found.hedges_g_approximate is None


@pytest.mark.parametrize("d_z, n, level", [(0.2, 50, 0.95), (-1.3, 12, 0.9), (0.0, 7, 0.99), (3.0, 5, 0.95)])
def test_the_interval_of_d_z_leaves_equal_tails_to_the_noncentral_t(d_z, n, level):
    low, high = d_z_interval(d_z, n, level)
    t, root_n = d_z * math.sqrt(n), math.sqrt(n)
    assert stats.nct.sf(t, n - 1, low * root_n) == pytest.approx((1 - level) / 2, abs=1e-10)
    assert stats.nct.cdf(t, n - 1, high * root_n) == pytest.approx((1 - level) / 2, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("d_z, n", [(1e-3, 10**5), (5.0, 10**5), (1e4, 50), (1e6, 3), (40.0, 2)])
def test_the_interval_of_d_z_has_answers_far_out(d_z, n):
    low, high = d_z_interval(d_z, n)
    assert low < d_z < high
    assert d_z_interval(-d_z, n) == pytest.approx((-high, -low), rel=1e-6)


def test_d_z_needs_two_topics_for_its_interval():
    with pytest.raises(CranfieldError, match="at least 2"):
        d_z_interval(0.5, 1)


def test_a_tolerance_makes_small_differences_ties():
    found = effect(*C1, tolerance=0.05)
    assert (found.wins, found.ties, found.losses) == (4, 6, 0)
    assert found.superiority == 0.7
    assert found.tolerance == 0.05
    with pytest.raises(CranfieldError, match="tolerance"):
        effect(*C1, tolerance=-0.1)


def test_identical_systems_have_effect_0():
    found = effect([0.3] * 4, [0.3] * 4)
    sizes = (found.difference, found.d_z, found.hedges_g, found.glass_delta, found.d_av, found.relative_change)
    assert sizes == (0,) * 6
    assert (found.low, found.high, found.d_z_low, found.d_z_high) == (0,) * 4
    assert (found.superiority, found.ties) == (0.5, 4)
    assert "identical" in found.note


def test_without_variance_standardised_differences_are_none_not_infinite():
    found = effect([0.15, 0.25, 0.35], [0.10, 0.20, 0.30])
    assert found.difference == 0.05
    assert found.sd == 0
    assert found.d_z is found.d_z_low is found.d_z_high is found.hedges_g is None
    assert found.glass_delta == pytest.approx(0.5)
    assert "infinite" in found.note


def test_one_topic_has_a_difference_and_nothing_else():
    found = effect([0.5], [0.25])
    assert (found.difference, found.wins, found.superiority, found.relative_change) == (0.25, 1, 1, 1)
    assert found.low is found.high is found.sd is found.d_z is found.glass_delta is found.d_av is None
    assert "One topic" in found.note


def test_a_baseline_without_spread_has_no_glass_delta():
    found = effect([0.2, 0.4, 0.5], [0.1, 0.1, 0.1])
    assert found.glass_delta is None
    assert found.d_av == pytest.approx(found.difference / (np.std([0.2, 0.4, 0.5], ddof=1) / math.sqrt(2)))


def test_relative_change_is_of_the_baseline_and_none_if_that_is_0():
    assert effect([0.2, 0.4], [0.1, 0.3]).relative_change == pytest.approx(0.5)
    assert effect([0.2, 0.4], [0.0, 0.0]).relative_change is None
    # of a measure that may be negative, better is still more
    assert effect([-0.1, -0.3], [-0.2, -0.6]).relative_change == pytest.approx(0.5)


def test_topics_of_one_system_only_are_told():
    found = effect({"q1": 0.5, "q2": 0.2, "q3": 0.7}, {"q2": 0.1, "q1": 0.3, "q9": 1.0})
    assert found.n == 2
    assert found.difference == pytest.approx(0.15)
    assert found.details == {"only_in_a": ("q3",), "only_in_b": ("q9",)}


def test_the_interval_of_the_difference_is_that_of_the_t_test():
    for level in (0.8, 0.99):
        found, test = effect(*C1, level=level), t_test(*C1, level=level)
        assert (found.low, found.high, found.level) == (test.low, test.high, level)


grids = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=12)


@given(grids)
def test_no_figure_is_ever_nan_or_infinite_and_exchange_mirrors_them(scores):
    a, b = ([pair[side] / 20 for pair in scores] for side in (0, 1))
    one, other = effect(a, b), effect(b, a)
    for field in fields(one):
        value = getattr(one, field.name)
        assert not isinstance(value, float) or math.isfinite(value), field.name
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert one.superiority + other.superiority == pytest.approx(1)
    for name in ("difference", "d_z", "hedges_g", "d_av"):
        mirrored = getattr(other, name)
        assert getattr(one, name) == (None if mirrored is None else pytest.approx(-mirrored))
