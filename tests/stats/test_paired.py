"""Tests of two systems: the reference cases, SciPy, brute force, what holds for any scores, and simulation."""

import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import CranfieldError
from cranfield.evaluation import evaluate
from cranfield.stats import resampling
from cranfield.stats.paired import (
    PAIRED_TESTS,
    bayesian,
    bootstrap_test,
    paired_test,
    permutation_test,
    sign_test,
    t_test,
    wilcoxon,
)
from cranfield.stats.power import power
from tests.soak import SOAK

stats = pytest.importorskip("scipy.stats")

C1 = (
    [0.10, 0.35, 0.42, 0.20, 0.55, 0.61, 0.08, 0.30, 0.47, 0.25],
    [0.05, 0.30, 0.45, 0.10, 0.50, 0.40, 0.10, 0.22, 0.47, 0.12],
)
C2 = ([0.50, 0.40, 0.30, 0.20, 0.60, 0.70, 0.10, 0.90], [0.50, 0.30, 0.40, 0.20, 0.50, 0.50, 0.10, 0.70])
C3 = ([0.30, 0.50, 0.90], [0.20, 0.45, 0.50])
C4 = ([0.3] * 4, [0.3] * 4)
CASES = {"C1": C1, "C2": C2, "C3": C3}
ALTERNATIVES = ("two-sided", "greater", "less")
every_alternative = pytest.mark.parametrize("alternative", ALTERNATIVES)
every_test = pytest.mark.parametrize("name", PAIRED_TESTS)
every_case = pytest.mark.parametrize("case", CASES)

# mean, t, p two-sided, greater, less, 95 % interval, 99 % interval
T = {
    "C1": (
        (0.062, 2.691415722806, 0.02473908260598, 0.01236954130299, 0.9876304586970),
        (0.009888487496929, 0.1141115125031),
        (-0.01286387257890, 0.1368638725789),
    ),
    "C2": (
        (0.0625, 1.666666666667, 0.1395195831368, 0.06975979156842, 0.9302402084316),
        (-0.02617340941289, 0.1511734094129),
        (-0.06873062365064, 0.1937306236506),
    ),
    "C3": (
        (0.1833333333333, 1.677484273659, 0.2354471484574, 0.1177235742287, 0.8822764257713),
        (-0.2869063461302, 0.6535730127969),
        (-0.9013591525559, 1.268025819223),
    ),
}
PERMUTATION = {
    "C1": (28 / 1024, 14 / 1024, 1018 / 1024),
    "C2": (64 / 256, 32 / 256, 248 / 256),
    "C3": (2 / 8, 1 / 8, 1),
}
# over all n^n resamples: shift two-sided, shift greater, studentised two-sided
BOOTSTRAP = {
    "C1": (0.0047088903, 0.0039809639, 0.0321914372),
    "C2": (0.1078433990479, 0.0544281005859, 0.1477470397949),
    "C3": (1 / 27, 1 / 27, 1 / 3),
}
# (zeros, case): W, exact, normal, normal with continuity correction
WILCOXON = {
    ("drop", "C1"): (3, 8 / 512, 0.020432513908788, 0.023891750538074),
    ("pratt", "C1"): (5, 14 / 512, 0.024370603757179, 0.027801830120073),
    ("split", "C1"): (5.5, 14 / 512, 0.024557387036904, 0.028006354050223),
    ("drop", "C2"): (2, 0.25, 0.128978042991964, 0.167546277488617),
    ("pratt", "C2"): (5, 0.25, 0.144127034816015, 0.165269907232777),
    ("split", "C2"): (8, 0.25, 0.156779998512131, 0.178565363964427),
    ("drop", "C3"): (0, 0.25, 0.108809430040546, 0.181449207721420),
    ("pratt", "C3"): (0, 0.25, 0.108809430040546, 0.181449207721420),
    ("split", "C3"): (0, 0.25, 0.108809430040546, 0.181449207721420),
}
# P(> 0), P(> .01), P(within ± .01), P(< −.01)
BAYESIAN = {
    "C1": (0.9876304586970, 0.9748014296279, 0.0190937624061, 0.0061048079660),
    "C2": (0.9302402084316, 0.8978794830230, 0.0548916852881, 0.0472288316889),
    "C3": (0.8822764257713, 0.8731843837306, 0.0173548025272, 0.1094608137422),
}


def coarse(seed, n, step=0.05):
    """Scores with ties, as measures with a small cutoff have them."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 21, n) * step, rng.integers(0, 21, n) * step


def fine(seed, n):
    rng = np.random.default_rng(seed)
    return rng.random(n), rng.random(n)


@every_case
def test_t_is_that_of_r(case):
    (mean, t, *pvalues), interval, wide = T[case]
    for alternative, p in zip(ALTERNATIVES, pvalues, strict=True):
        found = t_test(*CASES[case], alternative=alternative)
        assert found.pvalue == pytest.approx(p, abs=1e-10)
        assert found.statistic == pytest.approx(t, abs=1e-10)
        assert found.estimate == pytest.approx(mean, abs=1e-12)
        assert found.n == len(CASES[case][0])
        assert found.details["df"] == found.n - 1
    found = t_test(*CASES[case])
    assert (found.low, found.high) == pytest.approx(interval, abs=1e-10)
    again = t_test(*CASES[case], level=0.99)
    assert (again.low, again.high) == pytest.approx(wide, abs=1e-10)


@every_alternative
@pytest.mark.parametrize("mu", [0.0, -0.01, 0.07])
def test_t_is_that_of_scipy(alternative, mu):
    a, b = fine(3, 43)
    found = t_test(a, b, alternative=alternative, mu=mu, level=0.9)
    expected = stats.ttest_1samp(a - b, mu, alternative=alternative)
    assert (found.statistic, found.pvalue) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-10)
    interval = expected.confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-10)
    assert found.estimate == pytest.approx(np.mean(a - b))


@every_case
def test_permutation_counts_all_sign_flips_if_they_are_few(case):
    for alternative, p in zip(ALTERNATIVES, PERMUTATION[case], strict=True):
        found = permutation_test(*CASES[case], alternative=alternative)
        assert found.pvalue == p
        assert found.details == {"exact": True, "resamples": 2 ** len(CASES[case][0])}


@every_alternative
@pytest.mark.parametrize("seed", range(6))
def test_permutation_is_that_of_scipy(seed, alternative):
    a, b = coarse(seed, 9) if seed % 2 else fine(seed, 11)
    expected = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.round(np.mean(x, axis=axis) - np.mean(y, axis=axis), 12),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative=alternative,
        vectorized=True,
    ).pvalue
    found = permutation_test(a, b, alternative=alternative).pvalue
    # SciPy doubles the smaller tail, which counts flips to a mean of 0 twice
    if alternative == "two-sided" and not np.isclose(a.mean(), b.mean()):
        assert found == pytest.approx(expected, abs=1e-12)
    elif alternative != "two-sided":
        assert found == pytest.approx(expected, abs=1e-12)


@every_alternative
def test_permutation_draws_within_chance_of_all_flips(alternative):
    a, b = coarse(5, 14)
    p = permutation_test(a, b, alternative=alternative, resamples=2**14).pvalue
    drawn = permutation_test(a, b, alternative=alternative, resamples=9999, seed=7)
    assert not drawn.details["exact"]
    expected, sd = (1 + 9999 * p) / 10_000, math.sqrt(9999 * p * (1 - p)) / 10_000
    assert abs(drawn.pvalue - expected) < 4.5 * sd
    assert round(drawn.pvalue * 10_000, 9) == round(drawn.pvalue * 10_000)


def test_permutation_enumerates_exactly_up_to_the_resamples_asked_for():
    a, b = fine(1, 10)
    assert permutation_test(a, b, resamples=1024).details == {"exact": True, "resamples": 1024}
    assert permutation_test(a, b, resamples=1023).details == {"exact": False, "resamples": 1023, "seed": 1}


def test_a_drawn_pvalue_is_never_0():
    a, b = np.full(40, 0.9), np.linspace(0.1, 0.2, 40)
    for name in ("permutation", "bootstrap", "bootstrap-t"):
        assert paired_test(name, a, b, resamples=999).pvalue == 0.001


def test_permutation_sees_ties_that_floats_hide():
    # .35 − .30 and .55 − .50 differ in their last digits
    a, b = [0.35, 0.55, 0.10], [0.30, 0.50, 0.05]
    assert permutation_test(a, b).pvalue == 0.25
    assert permutation_test([0.35, 0.50], [0.30, 0.55]).pvalue == 1


@every_alternative
@pytest.mark.parametrize("resamples", [10_000, 400])
def test_the_permutation_interval_holds_what_the_same_flips_do_not_reject(alternative, resamples):
    a, b = fine(11, 12)
    found = permutation_test(a, b, alternative=alternative, resamples=resamples, level=0.9)
    for end, step in ((found.low, -1), (found.high, 1)):
        if math.isfinite(end):
            within, beyond = (
                permutation_test(a, b, alternative=alternative, resamples=resamples, mu=end + side * step * 1e-9)
                for side in (-1, 1)
            )
            assert within.pvalue > 0.1 - 1e-12 >= beyond.pvalue - 1e-12
    assert math.isinf(found.high) == (alternative == "greater")
    assert math.isinf(found.low) == (alternative == "less")


def test_the_exact_permutation_interval_is_between_means_of_subsets():
    d = np.array([0.1, 0.25, 0.4, 0.7, 1.1, -0.2])
    subsets = [subset for size in range(1, 7) for subset in itertools.combinations(d, size)]
    means = sorted(map(np.mean, subsets))
    found = permutation_test(d, np.zeros(6), level=0.9)
    # 64 flips, of which 3 on each side are as extreme as a mean that is rejected: none flipped, and two subsets
    assert (found.low, found.high) == pytest.approx((means[2], means[-3]))


def test_few_topics_leave_a_permutation_interval_without_ends():
    found = permutation_test(*C3)
    assert found.low is found.high is None
    assert permutation_test(*C3, level=0.5).low is not None


def test_the_permutation_interval_is_close_to_that_of_t():
    a, b = fine(2, 200)
    t, permutation = t_test(a, b), permutation_test(a, b)
    assert (permutation.low, permutation.high) == pytest.approx((t.low, t.high), abs=0.003)


@pytest.mark.parametrize("kind, alternative, at", [("shift", "two-sided", 0), ("shift", "greater", 1)])
@every_case
def test_the_bootstrap_shift_is_within_chance_of_all_resamples(case, kind, alternative, at):
    found = bootstrap_test(*CASES[case], kind=kind, alternative=alternative, resamples=50_000, seed=3).pvalue
    p = BOOTSTRAP[case][at]
    assert abs(found - p) < 4.5 * math.sqrt(p * (1 - p) / 50_000) + 1 / 50_000


@every_case
def test_the_studentised_bootstrap_is_within_chance_of_all_resamples(case):
    found = bootstrap_test(*CASES[case], kind="studentised", resamples=50_000, seed=3).pvalue
    p = BOOTSTRAP[case][2]
    assert abs(found - p) < 4.5 * math.sqrt(p * (1 - p) / 50_000) + 1 / 50_000


@pytest.mark.parametrize("kind, expected", [("shift", 1), ("studentised", 9)])
def test_the_bootstrap_over_all_resamples_is_exact(monkeypatch, kind, expected):
    everything = np.array(list(itertools.product(range(3), repeat=3)))
    monkeypatch.setattr(resampling, "resampled", lambda values, resamples, seed: [values[everything]])
    assert bootstrap_test(*C3, kind=kind, resamples=27).pvalue == (1 + expected) / 28


def test_the_percentile_interval_is_between_quantiles_of_means():
    found = bootstrap_test(*C1, resamples=50_000)
    assert (found.low, found.high) == pytest.approx((0.021, 0.107), abs=0.0011)
    a, b = fine(4, 40)
    found = bootstrap_test(a, b, resamples=20_000)
    expected = stats.bootstrap((a - b,), np.mean, n_resamples=20_000, method="percentile", random_state=5)
    assert found.low == pytest.approx(expected.confidence_interval.low, abs=0.005)
    assert found.high == pytest.approx(expected.confidence_interval.high, abs=0.005)
    assert bootstrap_test(a, b, alternative="greater").high == math.inf
    assert bootstrap_test(a, b, alternative="greater").low == pytest.approx(t_test(a, b, "greater").low, abs=0.01)


@every_alternative
def test_the_studentised_interval_holds_what_the_same_resamples_do_not_reject(alternative):
    a, b = fine(8, 20)
    found = bootstrap_test(a, b, kind="studentised", alternative=alternative, level=0.9, resamples=999)
    for end, step in ((found.low, -1), (found.high, 1)):
        if math.isfinite(end):
            within, beyond = (
                bootstrap_test(a, b, "studentised", alternative, resamples=999, mu=end + side * step * 1e-7)
                for side in (-1, 1)
            )
            assert within.pvalue > 0.1 >= beyond.pvalue


def test_too_many_resamples_without_variance_leave_no_studentised_interval():
    assert bootstrap_test(*C3, kind="studentised").low is None
    assert bootstrap_test(*C3, kind="studentised", level=0.6).low is not None


@pytest.mark.parametrize("zeros, case", WILCOXON)
def test_wilcoxon_is_exact_for_few_topics_and_normal_for_many(zeros, case):
    statistic, exact, normal, corrected = WILCOXON[zeros, case]
    found = wilcoxon(*CASES[case], zeros=zeros)
    assert (found.statistic, found.pvalue) == (statistic, exact)
    assert found.details["exact"]
    assert wilcoxon(*CASES[case], zeros=zeros, method="normal").pvalue == pytest.approx(normal, abs=1e-12)
    with_correction = wilcoxon(*CASES[case], zeros=zeros, method="normal", correction=True)
    assert with_correction.pvalue == pytest.approx(corrected, abs=1e-12)


def test_wilcoxon_says_how_many_zeros_it_met_and_what_became_of_them():
    assert wilcoxon(*C2).details["zero_differences"] == 3
    assert wilcoxon(*C2).note.endswith("3 topics without a difference: left out.")
    assert "ranked, then left out" in wilcoxon(*C2, zeros="pratt").note
    assert "half to each side" in wilcoxon(*C2, zeros="split").note
    assert "without a difference" not in wilcoxon(*C3).note


@every_alternative
@pytest.mark.parametrize("zeros", ["drop", "pratt"])
@pytest.mark.parametrize("seed", range(4))
def test_exact_wilcoxon_is_over_all_signs(seed, zeros, alternative):
    a, b = coarse(seed, 9)
    d = np.round(a - b, 12)
    if zeros == "drop":
        d = d[d != 0]
    ranks = stats.rankdata(np.abs(d)) * (d != 0)
    sums = np.array([(ranks * signs).sum() for signs in itertools.product((-1, 1), repeat=len(d))])
    observed = (ranks * np.sign(d)).sum()
    shares = {
        "two-sided": np.mean(np.abs(sums) >= abs(observed)),
        "greater": np.mean(sums >= observed),
        "less": np.mean(sums <= observed),
    }
    assert wilcoxon(a, b, alternative, zeros).pvalue == pytest.approx(shares[alternative], abs=1e-12)


@every_alternative
@pytest.mark.parametrize("zeros, scipys", [("drop", "wilcox"), ("pratt", "pratt"), ("split", "zsplit")])
def test_normal_wilcoxon_is_that_of_scipy(zeros, scipys, alternative):
    a, b = coarse(2, 60)
    found = wilcoxon(a, b, alternative, zeros)
    assert not found.details["exact"]
    for correction in (False, True):
        expected = stats.wilcoxon(
            np.round(a - b, 12), zero_method=scipys, correction=correction, alternative=alternative, method="approx"
        )
        ours = wilcoxon(a, b, alternative, zeros, correction=correction)
        assert ours.statistic == expected.statistic
        assert ours.pvalue == pytest.approx(expected.pvalue, rel=1e-9)


@every_alternative
def test_exact_wilcoxon_of_untied_ranks_is_that_of_scipy(alternative):
    a, b = fine(6, 18)
    expected = stats.wilcoxon(a - b, alternative=alternative, method="exact")
    found = wilcoxon(a, b, alternative)
    assert (found.statistic, found.pvalue) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)


def test_wilcoxon_is_exact_for_more_topics_if_asked():
    a, b = coarse(8, 300)
    assert wilcoxon(a, b, method="exact").pvalue == pytest.approx(wilcoxon(a, b).pvalue, abs=1e-3)
    with pytest.raises(CranfieldError, match="up to 1,000 topics"):
        wilcoxon(*fine(1, 1200), method="exact")


def test_the_sign_test_is_binomial():
    assert sign_test(*C1).pvalue == 0.1796875
    assert sign_test(*C1, alternative="greater").pvalue == 0.08984375
    assert sign_test(*C2).pvalue == 0.375
    assert sign_test(*C3).pvalue == 0.25
    assert sign_test(*C1, tolerance=0.01).pvalue == 0.1796875
    assert sign_test(*C1).details == {"wins": 7, "ties": 1, "losses": 2, "tolerance": 0.0}
    assert sign_test(*C1, tolerance=0.05).details == {"wins": 4, "ties": 6, "losses": 0, "tolerance": 0.05}


@every_alternative
@pytest.mark.parametrize("n", [1, 2, 13, 500])
def test_the_sign_test_is_that_of_scipy(n, alternative):
    a, b = coarse(n, n)
    won, lost = int((a > b).sum()), int((a < b).sum())
    found = sign_test(a, b, alternative)
    assert found.statistic == won
    if won + lost:
        expected = stats.binomtest(won, won + lost, alternative=alternative).pvalue
        assert found.pvalue == pytest.approx(expected, rel=1e-10)


def test_ties_only_are_no_sign_of_anything():
    found = sign_test(*C1, tolerance=1)
    assert (found.pvalue, found.statistic) == (1, 0)
    with pytest.raises(CranfieldError, match="tolerance"):
        sign_test(*C1, tolerance=-1)


@every_case
def test_the_bayesian_test_has_a_closed_form(case):
    positive, better, within, worse = BAYESIAN[case]
    found = bayesian(*CASES[case])
    assert found.positive == pytest.approx(positive, abs=1e-10)
    assert found.better == pytest.approx(better, abs=1e-10)
    assert found.equivalent == pytest.approx(within, abs=1e-10)
    assert found.worse == pytest.approx(worse, abs=1e-10)
    t = t_test(*CASES[case])
    assert (found.low, found.high, found.mean) == (t.low, t.high, t.estimate)


def test_the_bayesian_test_takes_limits_for_answers_where_there_is_no_posterior():
    same = bayesian(*C4)
    assert (same.better, same.worse, same.equivalent, same.low, same.high) == (0, 0, 1, 0, 0)
    one = bayesian([0.5], [0.2])
    assert (one.better, one.worse, one.equivalent, one.low) == (0.5, 0.5, 0, None)
    constant = bayesian([0.35, 0.55], [0.30, 0.50])
    assert (constant.better, constant.worse, constant.low, constant.high) == (1, 0, 0.05, 0.05)
    assert bayesian([0.30, 0.50], [0.35, 0.55]).worse == 1
    assert bayesian([0.30, 0.50], [0.35, 0.55], rope=0.05).equivalent == 1
    with pytest.raises(CranfieldError, match="rope"):
        bayesian(*C1, rope=-0.1)


@every_test
@every_alternative
def test_identical_systems_have_p_1_and_an_interval_of_nothing(name, alternative):
    for scores in (C4, ([0.1 + 0.2, 0.5], [0.3, 0.5]), ([0.0] * 60, [0.0] * 60), ([0.7], [0.7])):
        found = paired_test(name, *scores, alternative=alternative)
        assert (found.pvalue, found.estimate, found.low, found.high) == (1, 0, 0, 0)
        assert found.statistic == 0
        assert "identical" in found.note


@every_test
def test_one_topic_says_nothing(name):
    found = paired_test(name, [0.5], [0.2])
    assert (found.pvalue, found.low, found.high, found.n) == (1, None, None, 1)
    assert found.estimate == pytest.approx(0.3)
    assert math.isfinite(found.statistic)
    assert "One topic" in found.note
    one_sided = [paired_test(name, [0.5], [0.2], alternative=side).pvalue for side in ("greater", "less")]
    assert one_sided == [0.5, 1]


@pytest.mark.parametrize("name", ["t", "bootstrap", "bootstrap-t"])
def test_without_variance_p_is_that_of_flipping_signs(name):
    # floats would give t = 6e16
    a, b = [0.35, 0.55, 0.10, 0.95], [0.30, 0.50, 0.05, 0.90]
    found = paired_test(name, a, b)
    assert found.pvalue == permutation_test(a, b).pvalue == 2 / 16
    assert paired_test(name, a, b, alternative="greater").pvalue == 1 / 16
    assert paired_test(name, a, b, alternative="less").pvalue == 1
    assert (found.low, found.high) == (None, None)
    assert found.estimate == 0.05
    assert "no variance" in found.note
    many = paired_test(name, a * 3, b * 3)
    assert many.pvalue == 2 / 2**12
    assert (many.low, many.high) == (0.05, 0.05)


def test_without_variance_t_is_infinite():
    assert t_test([0.35, 0.55], [0.30, 0.50]).statistic == math.inf
    assert t_test([0.30, 0.50], [0.35, 0.55]).statistic == -math.inf


def test_a_run_against_itself_is_no_drop_beyond_the_one_allowed():
    same = np.linspace(0.1, 0.9, 30)
    for test in (t_test, permutation_test, bootstrap_test):
        assert test(same, same, alternative="less", mu=-0.01).pvalue == 1
        shown = test(same, same, alternative="greater", mu=-0.01)
        assert shown.pvalue < 1e-3
        assert shown.details["mu"] == -0.01
        assert (shown.estimate, shown.low, shown.high) == (0, 0, 0)
        assert test(same - 0.01, same, mu=-0.01).pvalue == 1


@pytest.mark.parametrize("test", [t_test, permutation_test, bootstrap_test])
def test_a_drop_is_tested_against_the_one_allowed(test):
    a, b = fine(9, 60)
    a = b - 0.05 + 0.02 * (a - 0.5)
    assert test(a, b, alternative="less", mu=-0.01).pvalue < 0.001
    assert test(a, b, alternative="less", mu=-0.1).pvalue > 0.999
    assert test(a, b, mu=-0.045).pvalue == pytest.approx(test(a + 0.045, b).pvalue, abs=1e-9)


@every_test
def test_scores_may_be_given_by_topic(name):
    a, b = fine(1, 30)
    by_topic = {f"q{i}": x for i, x in enumerate(a)}, {f"q{i}": x for i, x in reversed(list(enumerate(b)))}
    expected = paired_test(name, a, b)
    assert paired_test(name, *by_topic) == expected
    by_topic[0]["extra"], by_topic[1]["other"], by_topic[1]["third"] = 0.5, 0.1, 0.2
    found = paired_test(name, *by_topic)
    assert (found.pvalue, found.n) == (expected.pvalue, 30)
    assert found.details["only_in_a"] == ("extra",)
    assert found.details["only_in_b"] == ("other", "third")


def test_a_column_of_a_data_frame_is_joined_by_its_index():
    pandas = pytest.importorskip("pandas")
    a = pandas.Series([0.1, 0.5, 0.9], index=["q1", "q2", "q3"])
    b = pandas.Series([0.3, 0.2, 0.1], index=["q3", "q2", "q1"])
    assert t_test(a, b).estimate == pytest.approx(0.3)
    with pytest.raises(CranfieldError, match="several scores for the same topic"):
        t_test(pandas.Series([0.1, 0.2], index=["q1", "q1"]), b)


@pytest.mark.parametrize(
    "a, b, message",
    [
        ([0.1, math.nan], [0.1, 0.2], r"position 1 \(counted from 0\) are nan and 0.2"),
        ({"q1": 0.1, "q2": math.inf}, {"q2": 0.3, "q1": 0.2}, "topic 'q2' are inf and 0.3"),
        ([0.1], [0.1, 0.2], "found 1 and 2 scores"),
        ([], [], "no scores"),
        ({"q1": 0.1}, {"q2": 0.1}, "no topic has a score of both systems: a has 'q1', b has 'q2'"),
        ({}, {}, "no topic has a score of both systems: a has none"),
        ({"q1": 0.1}, [0.1], "one of each"),
        (["good"], [0.1], "not a number"),
        ([[0.1]], [[0.1]], "2 dimensions"),
    ],
)
@every_test
def test_scores_that_cannot_be_compared_are_refused(name, a, b, message):
    with pytest.raises(CranfieldError, match=message):
        paired_test(name, a, b)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: t_test(*C1, alternative="bigger"), "alternative='bigger' is unknown"),
        (lambda: t_test(*C1, level=95), "level=95 is out of range"),
        (lambda: t_test(*C1, mu=math.nan), "mu=nan"),
        (lambda: permutation_test(*C1, resamples=0), "resamples=0 is out of range"),
        (lambda: permutation_test(*C1, resamples=1e4), "resamples=10000.0 is out of range"),
        (lambda: bootstrap_test(*C1, seed=-1), "seed=-1 is out of range"),
        (lambda: bootstrap_test(*C1, kind="percentile"), "kind='percentile' is unknown"),
        (lambda: wilcoxon(*C1, zeros="keep"), "zeros='keep' is unknown"),
        (lambda: wilcoxon(*C1, method="fast"), "method='fast' is unknown"),
        (lambda: paired_test("welch", *C1), "unknown test 'welch': expected one of t, permutation"),
    ],
)
def test_options_that_make_no_sense_are_refused(call, message):
    with pytest.raises(CranfieldError, match=message):
        call()


@every_test
def test_every_result_carries_its_caveat_and_can_be_stored(name):
    found = paired_test(name, *C1)
    assert found.note.endswith(".")
    assert pickle.loads(pickle.dumps(found)) == found


@every_test
@every_alternative
def test_neither_the_order_of_topics_nor_of_systems_changes_a_bit(name, alternative):
    a, b = coarse(3, 40)
    order = np.random.default_rng(1).permutation(40)
    other = {"greater": "less", "less": "greater"}.get(alternative, alternative)
    found, shuffled, exchanged = (
        paired_test(name, a, b, alternative, resamples=777),
        paired_test(name, a[order], b[order], alternative, resamples=777),
        paired_test(name, b, a, other, resamples=777),
    )
    assert shuffled == found
    assert exchanged.pvalue == found.pvalue
    assert exchanged.estimate == -found.estimate
    if found.low is not None:
        assert (exchanged.low, exchanged.high) == pytest.approx((-found.high, -found.low), abs=1e-15)


@every_test
@pytest.mark.parametrize("unit", [1e-9, 1e7])
def test_the_unit_of_scores_does_not_matter(name, unit):
    a, b = coarse(4, 30)
    found, scaled = paired_test(name, a, b, resamples=999), paired_test(name, a * unit, b * unit, resamples=999)
    assert scaled.pvalue == pytest.approx(found.pvalue, rel=1e-9)
    if found.low is not None:
        assert (scaled.low, scaled.high) == pytest.approx((found.low * unit, found.high * unit), rel=1e-9)


@pytest.mark.parametrize("name", ["permutation", "bootstrap", "bootstrap-t"])
def test_draws_come_from_the_seed_alone(monkeypatch, name):
    a, b = fine(5, 50)
    found = paired_test(name, a, b, seed=4, resamples=500)
    assert len({paired_test(name, a, b, seed=seed, resamples=500).pvalue for seed in range(5)}) > 1
    for block in (1, 700, 10**9):
        monkeypatch.setattr(resampling, "BLOCK", block)
        assert paired_test(name, a, b, seed=4, resamples=500) == found


@pytest.mark.soak("statistics")
@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRED_TESTS)
def test_a_hundred_thousand_queries_take_seconds_and_little_memory(name):
    rng = np.random.default_rng(6)
    b = rng.random(100_000)
    a = np.clip(b + rng.normal(0.003, 0.1, 100_000), 0, 1)
    tracemalloc.start()
    found = paired_test(name, a, b, resamples=10_000 if SOAK else 300)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.pvalue < 0.01
    assert peak < 60e6


scores = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=16)


@given(scores, st.sampled_from(sorted(PAIRED_TESTS)), st.sampled_from(ALTERNATIVES))
def test_every_test_answers_with_numbers_whatever_the_scores(pairs, name, alternative):
    a, b = ([pair[side] / 10 for pair in pairs] for side in (0, 1))
    found = paired_test(name, a, b, alternative, resamples=99)
    assert 0 < found.pvalue <= 1
    assert not math.isnan(found.statistic)
    assert math.isfinite(found.estimate)
    assert (found.low is None) == (found.high is None)
    if found.low is not None:
        assert found.low <= found.estimate + 1e-12
        assert found.estimate <= found.high + 1e-12
    assert 0 <= bayesian(a, b).better <= 1


@given(scores)
def test_a_permutation_test_rejects_0_exactly_if_its_interval_is_without_it(pairs):
    a, b = ([pair[side] / 10 for pair in pairs] for side in (0, 1))
    found = permutation_test(a, b, resamples=199, level=0.9)
    if found.low is not None and found.estimate:
        assert (found.pvalue <= 0.1 + 1e-12) == (not found.low - 1e-12 <= 0 <= found.high + 1e-12)


def skewed_population(seed=0, size=400):
    """Differences as two systems have them: some zeros, many small losses, fewer larger gains; of mean 0."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(3, size, p=(0.15, 0.5, 0.35))
    d = np.choose(kinds, (np.zeros(size), -rng.gamma(1.5, 0.05, size), rng.gamma(2.0, 0.08, size)))
    return d - d.mean()


def rejections(name, samples, resamples=999, alpha=0.05):
    """How often a test rejects samples of differences, each with draws of its own."""
    nothing = np.zeros(samples.shape[1])
    rejected = [
        paired_test(name, sample, nothing, resamples=resamples, seed=seed).pvalue <= alpha
        for seed, sample in enumerate(samples)
    ]
    return np.mean(rejected)


def resamples_of(population, trials, n=50, seed=1):
    return np.random.default_rng(seed).choice(population, size=(trials, n))


@pytest.mark.soak("statistics")
@pytest.mark.simulation
@pytest.mark.parametrize("name", ["t", "permutation"])
def test_the_default_tests_err_as_often_as_they_say(name):
    rate = rejections(name, resamples_of(skewed_population(), 10_000), 9_999 if SOAK else 999)
    assert 0.04 <= rate <= 0.06


@pytest.mark.soak("statistics")
@pytest.mark.simulation
@pytest.mark.parametrize("measure", ["nDCG@10", "AP"] if SOAK else ["nDCG@10"])
@pytest.mark.parametrize("name", ["t", "permutation"])
def test_the_default_tests_err_as_often_as_they_say_on_real_differences(shared_data, name, measure):
    folder = shared_data / "dl19"
    files = sorted(map(str, (folder / "runs").iterdir()))
    scored = evaluate(str(folder / "qrels.dl19-passage.txt"), files, [measure])
    pairs = itertools.combinations([run.values[0] for run in scored.runs], 2)
    centred = [x - y - np.mean(x - y) for x, y in pairs]
    # over all pairs of systems: where a few topics of 43 are far out, t errs in up to 7 of 100 by itself
    samples = np.concatenate([resamples_of(d, 152, seed=seed) for seed, d in enumerate(centred)])
    assert len(samples) > 10_000
    assert 0.04 <= rejections(name, samples, 9_999 if SOAK else 999) <= 0.06


@pytest.mark.soak("statistics")
@pytest.mark.simulation
def test_the_other_tests_err_as_their_caveats_say(record_property):
    samples = resamples_of(skewed_population(), 10_000 if SOAK else 2_000)
    rates = {name: rejections(name, samples, 499) for name in PAIRED_TESTS if name != "permutation"}
    for name, rate in rates.items():
        record_property(name, float(rate))
    # means of resamples vary too little; ranks and signs ask about the median, which is not 0 here
    assert rates["bootstrap"] > rates["t"]
    assert rates["wilcoxon"] > 0.06
    assert rates["sign"] > 0.2


@pytest.mark.soak("statistics")
@pytest.mark.simulation
@pytest.mark.parametrize("name", ["t", "permutation"])
def test_power_is_near_that_of_the_noncentral_t(name):
    trials = 10_000 if SOAK else 3_000
    samples = np.random.default_rng(2).normal(0.04, 0.1, size=(trials, 50))
    expected = power(50, 0.04, 0.1)
    assert abs(rejections(name, samples) - expected) < 4.5 * math.sqrt(expected * (1 - expected) / trials) + 0.005
