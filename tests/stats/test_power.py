"""Power and sizes of topic sets: values of R and SciPy, statsmodels, and what the definitions say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import CranfieldError
from cranfield.stats.power import (
    expected_width,
    noncentral_t,
    pilot_variance,
    power,
    root,
    root_gamma_ratio,
    smallest_difference,
    topics_needed,
    topics_needed_anova,
    topics_needed_interval,
)

stats = pytest.importorskip("scipy.stats")

# difference / sd: topics for power .8 with the power there, topics for .9, and for .9 at α = .01
PAIRED = [
    (0.1, 787, 0.8000954422, 1053, 1492),
    (0.2, 199, 0.8016910240, 265, 376),
    (0.25, 128, 0.8015071364, 171, 242),
    (0.3, 90, 0.8037942969, 119, 169),
    (0.4, 52, 0.8077878095, 68, 97),
    (0.5, 34, 0.8077775013, 44, 63),
    (0.6, 24, 0.8036713856, 32, 45),
    (0.8, 15, 0.8213105387, 19, 27),
    (1.0, 10, 0.8030968566, 13, 19),
    (2.0, 5, 0.9088848681, 5, 8),
]
# systems, range / sd, topics, power there, power with one topic less
ANOVA = [
    (2, 0.25, 253, 0.8013583526, 0.7998008347),
    (2, 0.5, 64, 0.8014595579, 0.7951683381),
    (2, 1, 17, 0.8070367151, 0.7813977925),
    (3, 0.25, 310, 0.8009379390, 0.7995758183),
    (3, 0.5, 79, 0.8049408192, 0.7995370397),
    (3, 1, 21, 0.8147696928, 0.7933118373),
    (5, 0.25, 383, 0.8001422828, 0.7989629111),
    (5, 0.5, 97, 0.8026428852, 0.7979393456),
    (5, 1, 25, 0.8030359737, 0.7837047676),
    (10, 0.25, 502, 0.8003484303, 0.7993792498),
    (10, 0.5, 127, 0.8036677977, 0.7998192181),
    (10, 1, 33, 0.8127755851, 0.7975912832),
    (50, 0.25, 960, 0.8005105657, None),
    (50, 0.5, 241, 0.8016767810, None),
    (50, 1, 61, 0.8039850350, None),
    (100, 0.25, 1293, 0.8001090606, None),
    (100, 0.5, 324, 0.8006304315, None),
    (100, 1, 82, 0.8044905317, None),
]
# width / sd, topics, expected width there, and with one topic less
WIDTHS = [
    (2, 6, 1.9971449965, 2.3342925641),
    (1, 18, 0.9800657724, 1.0123729710),
    (0.8, 26, 0.7997816927, 0.8170069391),
    (0.5, 64, 0.4976066659, 0.5016666320),
    (0.4, 98, 0.3999425444, 0.4020409147),
    (0.2, 387, 0.1997584636, 0.2000183482),
    (0.1, 1539, 0.0999839041, 0.1000164440),
    (0.05, 6149, 0.0499969704, 0.0500010376),
]
X = [[0.10, 0.20, 0.45], [0.30, 0.25, 0.50], [0.55, 0.60, 0.75], [0.20, 0.40, 0.35]]
X2 = [[0.1, 0.1, 0.4], [0.3, 0.2, 0.6], [0.5, 0.55, 0.7], [0.2, 0.25, 0.5], [0, 0.3, 0.3]]


@pytest.mark.parametrize("effect, n, at_n, n90, n90_strict", PAIRED)
def test_topics_for_the_paired_t_test_are_those_of_r(effect, n, at_n, n90, n90_strict):
    assert topics_needed(effect * 0.2, 0.2) == n
    assert topics_needed(-effect, 1) == n
    assert topics_needed(effect, 1, power=0.9) == n90
    assert topics_needed(effect, 1, power=0.9, alpha=0.01) == n90_strict
    assert power(n, effect, 1) == pytest.approx(at_n, abs=1e-8)
    assert power(n - 1, effect, 1) < 0.8


@pytest.mark.parametrize(
    "n, effect, expected",
    [
        (33, 0.5, 0.7953658415),
        (50, 0.3, 0.5476570390),
        (10, 0.8511003814, 0.6693767902),
        (3, 0.5, 0.0841070559),  # with the far tail, which R leaves out unless strict
    ],
)
def test_power_is_that_of_r(n, effect, expected):
    assert power(n, effect * 0.1, 0.1) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("n, effect", [(5, 0.9), (20, 0.4), (43, 0.3), (200, 0.1)])
def test_power_is_that_of_statsmodels(n, effect):
    oracle = pytest.importorskip("statsmodels.stats.power").TTestPower()
    assert power(n, effect, 1) == pytest.approx(oracle.power(effect, n, 0.05), abs=1e-9)


@pytest.mark.parametrize(
    # the printed values are roots found to about 1e-6 only
    "n, printed",
    [(10, 0.9960019259), (25, 0.5840261429), (50, 0.4041830051), (100, 0.2829117148), (200, 0.1990646612)],
)
def test_the_smallest_difference_has_just_the_power_asked_for(n, printed):
    found = smallest_difference(n, 0.3)
    assert found == pytest.approx(0.3 * printed, abs=1e-6)
    assert power(n, found, 0.3) == pytest.approx(0.8, abs=1e-12)
    assert topics_needed(found * 1.0001, 0.3) <= n < topics_needed(found * 0.99, 0.3)


def one_tail(n, effect, alpha):
    """The power of a one-sided paired t-test by SciPy."""
    return float(stats.nct.sf(stats.t.isf(alpha, n - 1), n - 1, effect * math.sqrt(n)))


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("n, effect", [(2, 0.5), (5, 0.9), (25, 0.43), (50, 0.3), (400, 0.12)])
def test_the_power_of_a_one_sided_test_is_one_tail_of_the_noncentral_t(n, effect, alpha):
    found = power(n, effect * 0.2, 0.2, alpha, "one-sided")
    assert found == pytest.approx(one_tail(n, effect, alpha), abs=1e-10)
    assert power(n, -effect, 1, alpha, "one-sided") == pytest.approx(found, abs=1e-12)
    # two sides at twice the level count the far tail as well
    assert found < power(n, effect, 1, 2 * alpha)


@pytest.mark.parametrize("alpha", [0.05, 0.1])
@pytest.mark.parametrize("n", [2, 10, 25, 37, 214])
def test_the_smallest_difference_of_a_one_sided_test_has_just_the_power_asked_for(n, alpha):
    found = smallest_difference(n, 0.3, alpha=alpha, alternative="one-sided")
    assert one_tail(n, found / 0.3, alpha) == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.1])
def test_the_topics_of_a_one_sided_test_are_the_first_that_are_enough(alpha):
    for effect in np.linspace(0.12, 1.5, 60):
        n = topics_needed(effect, 1, alpha=alpha, alternative="one-sided")
        assert one_tail(n, effect, alpha) >= 0.8
        assert n == 2 or one_tail(n - 1, effect, alpha) < 0.8


@pytest.mark.parametrize("systems, effect, n, at_n, at_less", ANOVA)
def test_topics_for_anova_are_those_of_r(systems, effect, n, at_n, at_less):
    assert topics_needed_anova(effect, 1, systems) == n
    assert topics_needed_anova(effect * 0.2, 0.04, systems) == n
    # the power itself, seen from where one topic less or a bit more power is not enough
    assert topics_needed_anova(effect, 1, systems, power=at_n - 1e-8) == n
    assert topics_needed_anova(effect, 1, systems, power=at_n + 1e-8) == n + 1
    if at_less is not None:
        assert topics_needed_anova(effect, 1, systems, power=at_less - 1e-8) == n - 1


@pytest.mark.parametrize("systems, effect", [(3, 0.5), (10, 0.5), (5, 1)])
def test_topics_for_anova_are_those_of_statsmodels(systems, effect):
    oracle = pytest.importorskip("statsmodels.stats.power").FTestAnovaPower()
    f = math.sqrt(effect**2 / (2 * systems))
    n = topics_needed_anova(effect, 1, systems)
    # which is good to 1e-5
    assert oracle.power(f, systems * n, 0.05, k_groups=systems) > 0.8 - 2e-5
    assert oracle.power(f, systems * (n - 1), 0.05, k_groups=systems) < 0.8 + 2e-5


@pytest.mark.parametrize("width, n, at_n, at_less", WIDTHS)
def test_topics_for_an_interval_are_those_of_the_definition(width, n, at_n, at_less):
    assert topics_needed_interval(width * 0.3, 0.3) == n
    assert expected_width(n, 1) == pytest.approx(at_n, abs=1e-8)
    assert expected_width(n - 1, 1) == pytest.approx(at_less, abs=1e-8)


def test_a_sample_falls_short_of_the_standard_deviation_by_c4():
    c4 = {2: 0.7978845608, 3: 0.8862269255, 10: 0.9726592741, 50: 0.9949113047}
    for n, expected in c4.items():
        assert root_gamma_ratio((n - 1) / 2) == pytest.approx(expected, abs=1e-10)
    assert root_gamma_ratio(1000) == pytest.approx(root_gamma_ratio(1000 + 1e-6), abs=2e-12)


def test_no_difference_needs_no_number_of_topics():
    assert topics_needed(0, 0.1) is None
    assert topics_needed(0, 0) is None
    assert topics_needed(1e-12, 1) is None
    assert topics_needed_anova(0, 0.1, 3) is None
    assert topics_needed_interval(0, 0.1) is None
    assert topics_needed_interval(-0.1, 0.1) is None


def test_without_noise_two_topics_are_enough():
    assert topics_needed(0.1, 0) == 2
    assert topics_needed(500, 1) == 2
    assert topics_needed_anova(0.1, 0, 3) == 2
    assert topics_needed_interval(0.1, 0) == 2
    assert smallest_difference(50, 0) == 0
    assert power(50, 0.1, 0) == 1
    assert power(50, 0, 0) == 0


def test_one_topic_finds_nothing():
    assert power(1, 0.5, 0.1) == 0
    assert smallest_difference(1, 0.1) is None
    with pytest.raises(CranfieldError, match="at least 2 topics"):
        expected_width(1, 0.1)


def test_without_a_difference_the_power_is_alpha():
    assert power(30, 0, 0.1, alpha=0.05) == pytest.approx(0.05, abs=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: power(0, 0.1, 0.1),
        lambda: power(10, math.nan, 0.1),
        lambda: power(10, 0.1, -1),
        lambda: power(10, 0.1, math.inf),
        lambda: power(10, 0.1, 0.1, alpha=0),
        lambda: topics_needed(math.inf, 1),
        lambda: topics_needed(0.1, 1, power=1),
        lambda: topics_needed(0.1, 1, power=0.05),
        lambda: topics_needed_anova(0.1, math.nan, 3),
        lambda: topics_needed_anova(0.1, 1, 1),
        lambda: topics_needed_interval(math.nan, 1),
        lambda: smallest_difference(10, 0.1, power=0.01),
        lambda: power(10, 0.1, 0.1, alternative="less"),
    ],
)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(CranfieldError):
        call()


def test_tiny_differences_are_answered():
    assert topics_needed(1e-5, 1) == pytest.approx(((1.959964 + 0.841621) / 1e-5) ** 2, rel=1e-5)
    assert topics_needed_anova(1e-5, 1, 5) > 10**11
    assert topics_needed_interval(1e-5, 1) == pytest.approx(4 * 1.959964**2 * 1e10, rel=1e-5)
    assert smallest_difference(10**6, 1) == pytest.approx(2.801585e-3, rel=1e-4)


@pytest.mark.parametrize("df", [1, 2, 5, 9, 49, 1000])
@pytest.mark.parametrize("shift", [-3.0, 0.0, 0.7, 2.5, 6.0])
def test_the_noncentral_t_distribution_is_that_of_scipy(df, shift):
    for t in (-2.0, 0.0, 0.5, 2.0, 7.0):
        assert noncentral_t(t, df, shift) == pytest.approx(stats.nct.cdf(t, df, shift), abs=1e-12)


def test_the_noncentral_t_distribution_has_answers_far_out():
    # U, a chi over its root degrees of freedom, is all that is left
    assert noncentral_t(1e6, 9, 1e6) == pytest.approx(stats.chi.sf(3, 9), abs=1e-4)
    assert noncentral_t(1e6, 9, 0) == 1
    assert noncentral_t(-1e6, 9, 1e6) == 0
    assert noncentral_t(2.0, 10**15, 0) == pytest.approx(stats.norm.cdf(2), abs=1e-7)


@given(st.integers(2, 500), st.floats(0.01, 2), st.floats(0.01, 2))
def test_power_rises_with_topics_and_with_the_difference(n, difference, sd):
    found = power(n, difference, sd)
    assert 0 < found <= 1
    assert power(n + 1, difference, sd) >= found - 1e-12
    assert power(n, difference * 1.1, sd) >= found - 1e-12


@given(st.floats(0.02, 3), st.floats(0.5, 0.99), st.floats(0.001, 0.2))
def test_the_number_of_topics_is_the_first_that_is_enough(effect, wanted, alpha):
    n = topics_needed(effect, 1, power=wanted, alpha=alpha)
    assert power(n, effect, 1, alpha) >= wanted
    assert n == 2 or power(n - 1, effect, 1, alpha) < wanted


def test_roots_at_the_end_of_a_range_are_that_end():
    assert root(lambda x: x - 5, 0, 1) == 1
    assert root(lambda x: x + 5, 0, 1) == 0
    assert root(lambda x: math.copysign(1, x - 0.3), 0, 1) == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize(
    "table, residual, within", [(X, 0.0063888888889, 0.0328472222222), (X2, 0.0078333333333, 0.0300833333333)]
)
def test_the_variances_of_a_pilot_are_those_of_r(table, residual, within):
    pilot = pilot_variance(table)
    assert pilot.residual == pytest.approx(residual, abs=1e-12)
    assert pilot.within == pytest.approx(within, abs=1e-12)
    assert (pilot.topics, pilot.systems) == (len(table), 3)


def test_the_residual_is_half_the_mean_variance_of_differences():
    scores = np.array(X2)
    variances = [np.var(scores[:, i] - scores[:, j], ddof=1) for i in range(3) for j in range(i)]
    assert pilot_variance(X2).sd_of_differences == pytest.approx(math.sqrt(np.mean(variances)), abs=1e-14)


def test_a_pilot_may_be_given_by_system_and_topic():
    systems = {f"s{j}": {f"q{i}": row[j] for i, row in enumerate(X)} for j in range(3)}
    systems["s1"]["extra"] = 0.5
    pilot = pilot_variance(systems)
    assert pilot.residual == pytest.approx(pilot_variance(X).residual, abs=1e-15)
    assert pilot.left_out == ("extra",)


def test_a_pilot_without_noise_has_no_variance():
    pilot = pilot_variance([[0.1, 0.3], [0.2, 0.4], [0.7, 0.9]])
    assert pilot.residual == 0
    assert pilot.sd_of_differences == 0
    assert pilot.within > 0
    assert topics_needed(0.2, pilot.sd_of_differences) == 2


@pytest.mark.parametrize(
    "table",
    [
        [[0.1, 0.2]],
        [[0.1], [0.2]],
        [0.1, 0.2],
        [[0.1, math.nan], [0.2, 0.3]],
        [[0.1, 0.2], [0.3]],
        {"a": {"q1": 0.1}, "b": {"q2": 0.1}},
        {"a": [0.1, 0.2], "b": [0.2, 0.3]},
        {},
    ],
)
def test_a_pilot_that_is_no_table_is_refused(table):
    with pytest.raises(CranfieldError):
        pilot_variance(table)
