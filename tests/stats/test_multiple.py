"""Corrections, MaxT and Tukey's tests: reference cases, statsmodels, SciPy, enumeration, error rates by simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import CranfieldError
from cranfield.evaluation import evaluate
from cranfield.stats import multiple
from cranfield.stats.multiple import PVALUE_CORRECTIONS, adjust, max_t, randomised_tukey, two_way_tukey
from cranfield.stats.studentised import range_ppf, range_sf
from tests.soak import SOAK, examples
from tests.stats.tables import X2, X3, X, table


def all_finite(pairs):
    matrices = [pairs.differences, pairs.pvalues, pairs.low, pairs.high, pairs.effect]
    return all(matrix is None or np.isfinite(matrix).all() for matrix in matrices)


# corrections

FOUR, SIX, SAME = [0.01, 0.04, 0.03, 0.005], [0.01, 0.04, 0.03, 0.005, 0.2, 0.8], [0.05, 0.05, 0.05]
ADJUSTED = [
    ("bonferroni", [0.04, 0.16, 0.12, 0.02], [0.06, 0.24, 0.18, 0.03, 1, 1], [0.15] * 3),
    ("holm", [0.03, 0.06, 0.06, 0.02], [0.05, 0.12, 0.12, 0.03, 0.4, 0.8], [0.15] * 3),
    ("hochberg", [0.03, 0.04, 0.04, 0.02], [0.05, 0.12, 0.12, 0.03, 0.4, 0.8], [0.05] * 3),
    ("hommel", [0.03, 0.04, 0.04, 0.02], [0.05, 0.12, 0.09, 0.03, 0.4, 0.8], [0.05] * 3),
    (
        "sidak",
        [0.03940399, 0.15065344, 0.11470719, 0.019850499375],
        [0.058519850599, 0.217242210304, 0.167027995071, 0.0296274906437, 0.737856, 0.999936],
        [0.142625] * 3,
    ),
    (
        "holm-sidak",
        [0.029701, 0.0591, 0.0591, 0.019850499375],
        [0.0490099501, 0.115264, 0.11470719, 0.0296274906437, 0.36, 0.8],
        [0.142625] * 3,
    ),
    ("bh", [0.02, 0.04, 0.04, 0.02], [0.03, 0.06, 0.06, 0.03, 0.24, 0.8], [0.05] * 3),
    (
        "by",
        [0.0416666667, 0.0833333333, 0.0833333333, 0.0416666667],
        [0.0735, 0.147, 0.147, 0.0735, 0.588, 1],
        [0.0916666667] * 3,
    ),
    ("none", FOUR, SIX, SAME),
]
STATSMODELS = {
    "holm": "holm",
    "bonferroni": "bonferroni",
    "bh": "fdr_bh",
    "by": "fdr_by",
    "hochberg": "simes-hochberg",
    "hommel": "hommel",
    "sidak": "sidak",
    "holm-sidak": "holm-sidak",
}


@pytest.mark.parametrize("method, four, six, same", ADJUSTED)
def test_corrections_are_those_of_the_reference_cases(method, four, six, same):
    for given_p, expected in ((FOUR, four), (SIX, six), (SAME, same)):
        assert adjust(given_p, method) == pytest.approx(expected, abs=1e-9)


def test_every_correction_has_a_reference_case():
    assert set(PVALUE_CORRECTIONS) == {method for method, *_ in ADJUSTED}


@pytest.mark.parametrize("method", STATSMODELS)
def test_corrections_agree_with_statsmodels(method):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 7, 20, 66):
        for scale in (1.0, 0.1):
            p = (rng.random(size) * scale).round(3)
            expected = multitest.multipletests(p, method=STATSMODELS[method])[1]
            assert adjust(p, method) == pytest.approx(expected, abs=1e-12)


@given(
    st.lists(st.floats(0, 1), max_size=12), st.sampled_from(list(PVALUE_CORRECTIONS)), st.randoms(use_true_random=False)
)
def test_a_correction_never_lowers_p_and_does_not_mind_the_order(p, method, random):
    adjusted = adjust(p, method)
    assert len(adjusted) == len(p)
    assert (adjusted >= np.array(p)).all() and (adjusted <= 1).all()
    order = list(range(len(p)))
    random.shuffle(order)
    shuffled = adjust([p[i] for i in order], method)
    assert shuffled == pytest.approx([adjusted[i] for i in order], abs=1e-12)


def test_a_nan_is_no_comparison():
    adjusted = adjust([0.01, math.nan, 0.04, 0.03, 0.005], "holm")
    assert math.isnan(adjusted[1])
    assert np.delete(adjusted, 1) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_wrong_p_values_and_unknown_corrections_are_told():
    with pytest.raises(CranfieldError, match="expected one of holm, bonferroni, bh"):
        adjust([0.1], "tukey")
    with pytest.raises(CranfieldError, match="p-values between 0 and 1"):
        adjust([0.1, 1.5])
    with pytest.raises(CranfieldError, match="2 axes"):
        adjust([[0.1]])


# MaxT


def test_max_t_is_that_of_the_reference_case():
    assert max_t(X3, baseline=0) == pytest.approx([0.1328125, 0.0078125, 0.2578125], abs=1e-15)


def brute_force_max_t(scores, baseline):
    """Step-down MaxT as defined: t computed anew for each change of signs."""
    differences = np.delete(scores, baseline, axis=1) - scores[:, [baseline]]
    n = len(scores)

    def absolute_t(d):
        return np.abs(d.mean(axis=0) / (d.std(axis=0, ddof=1) / math.sqrt(n)))

    observed = absolute_t(differences)
    order = np.argsort(-observed)
    flipped = [absolute_t(differences * np.array(s)[:, None]) for s in itertools.product((1, -1), repeat=n)]
    p, highest = np.empty(len(order)), 0.0
    for r, k in enumerate(order):
        share = np.mean([t[order[r:]].max() >= observed[k] - 1e-9 for t in flipped])
        p[k] = highest = max(highest, share)
    return p


@pytest.mark.parametrize("seed", range(4))
def test_max_t_agrees_with_its_definition(seed):
    scores = table(7, 5, seed)
    for baseline in (0, 2, 4):
        assert max_t(scores, baseline) == pytest.approx(brute_force_max_t(scores, baseline), abs=1e-12)


def test_sampled_max_t_is_near_the_exact_one():
    exact, sampled = max_t(X3, 0, 256), max_t(X3, 0, 255)
    assert sampled == pytest.approx(exact, abs=0.1) and (sampled >= 1 / 256).all()
    scores = table(12, 4, seed=8)
    exact, sampled = max_t(scores, 0, 4096), max_t(scores, 0, 4095)
    assert sampled == pytest.approx(exact, abs=4.5 * 0.5 / math.sqrt(4095))


def test_max_t_for_one_system_is_the_permutation_test():
    stats = pytest.importorskip("scipy.stats")
    a, b = X3[:, 2], X3[:, 1]
    expected = stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert max_t(np.stack([b, a], axis=1), 0)[0] == pytest.approx(expected, abs=1e-12)


def test_max_t_of_degenerate_systems_is_defined():
    base = np.array([0.1, 0.4, 0.3, 0.8, 0.5, 0.6])
    scores = np.stack([base, base, base + 0.05], axis=1)
    assert max_t(scores, 0).tolist() == [1.0, 2 / 64]
    assert max_t([[0.1, 0.2]], 0).tolist() == [1.0]
    with pytest.raises(CranfieldError, match="from 0 to 2"):
        max_t(scores, 3)


def test_all_changes_of_sign_are_tried_if_few():
    for n in (1, 3, 8, 9, 13):
        sums = np.concatenate(list(multiple._flipped_sums(np.eye(n), 2**n, seed=1)))
        assert {tuple(row) for row in sums} == set(itertools.product((-1.0, 1.0), repeat=n))


def test_signs_are_drawn_evenly_and_independently():
    signs = np.concatenate(list(multiple._flipped_sums(np.eye(50), 25_000, seed=1)))
    assert signs.shape == (25_000, 50) and set(np.unique(signs)) == {-1.0, 1.0}
    products = signs.T @ signs / 25_000
    assert np.abs(signs.mean(axis=0)).max() < 4.5 / math.sqrt(25_000)
    assert np.abs(products - np.eye(50)).max() < 5 / math.sqrt(25_000)


# randomised Tukey


def test_randomised_tukey_tries_all_orders_where_they_are_few():
    pairs = randomised_tukey(X)
    assert pairs.details["exact"] and pairs.details["resamples"] == 1296
    assert pairs.pvalues[np.triu_indices(3, 1)] == pytest.approx([1008 / 1296, 48 / 1296, 402 / 1296], abs=1e-15)
    pairs = randomised_tukey(X2)
    assert pairs.pvalues[np.triu_indices(3, 1)] == pytest.approx([6768 / 7776, 120 / 7776, 840 / 7776], abs=1e-15)


def test_the_mean_range_is_that_of_the_reference_case():
    ranges = multiple._permuted_ranges(multiple._varied(X), 4, 10_000, seed=1)
    assert ranges.values.mean() == pytest.approx(0.1156828703704, abs=1e-12)
    ranges = multiple._permuted_ranges(multiple._varied(X3), 8, 40_000, seed=1)
    assert ranges.values.mean() == pytest.approx(0.0809403579809, abs=5 * ranges.values.std() / 200)


X3_EXACT = [0.6015161624171, 0.0001483022431, 0.9947238655247, 0.0616348194215, 0.7684834863587, 0.0008531600087]
X3_SIX = [0.6495587384259, 0.0020689159754, 0.9963431652681, 0.1970405735597, 0.7947666497878, 0.0067771629051]


@pytest.mark.parametrize("most_orders", [5040, 0], ids=["looked up", "shuffled"])
@pytest.mark.parametrize("scores, exact", [(X3, X3_EXACT), (X3[:6], X3_SIX)])
def test_sampled_p_values_are_near_the_exact_ones(monkeypatch, most_orders, scores, exact):
    monkeypatch.setattr(multiple, "_ORDERS", most_orders)
    resamples = 10_000
    pairs = randomised_tukey(scores, resamples)
    for p, true in zip(pairs.pvalues[np.triu_indices(4, 1)], exact, strict=True):
        expected = (1 + resamples * true) / (resamples + 1)
        deviation = math.sqrt(resamples * true * (1 - true)) / (resamples + 1)
        assert abs(p - expected) <= 4.5 * deviation + 1e-12


@pytest.mark.parametrize("m", [3, 9])
def test_the_answer_does_not_depend_on_what_is_held_at_once(monkeypatch, m):
    scores = table(20, m)
    whole = randomised_tukey(scores, 700)
    for cells in (1, 50, 200, 3000):
        monkeypatch.setattr(multiple, "_CELLS", cells)
        parts = randomised_tukey(scores, 700)
        assert (parts.pvalues == whole.pvalues).all()
        assert parts.details["critical"] == pytest.approx(whole.details["critical"], abs=1e-13)


def test_a_seed_gives_the_same_answer_and_another_seed_another():
    scores = table(20, 4)
    one, same, other = (randomised_tukey(scores, 500, seed=seed).pvalues for seed in (1, 1, 2))
    assert (one == same).all() and (one != other).any()


def test_for_two_systems_it_is_the_permutation_test():
    stats = pytest.importorskip("scipy.stats")
    scores = table(12, 2, seed=5)
    expected = stats.permutation_test(
        tuple(scores.T), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=np.inf
    ).pvalue
    pairs = randomised_tukey(scores)
    assert pairs.details["exact"] and pairs.pvalues[0, 1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("m", [3, 10])
def test_for_many_topics_the_range_is_one_of_normal_means(m):
    scores = table(1500, m, seed=3)
    scores[:, 0] += 0.01
    resamples = 4000
    pairs = randomised_tukey(scores, resamples)
    # by the central limit theorem the dealt means vary by the variance within topics, equally correlated
    error = math.sqrt(scores.var(axis=1, ddof=1).sum()) / len(scores)
    i, j = np.triu_indices(m, 1)
    expected = range_sf(np.abs(pairs.differences[i, j]) / error, m)
    assert np.abs(pairs.pvalues[i, j] - expected).max() < 4.5 * 0.5 / math.sqrt(resamples)
    assert pairs.details["critical"] == pytest.approx(range_ppf(0.95, m) * error, rel=0.04)


@examples(40)
@given(st.integers(1, 6), st.integers(2, 5), st.integers(0, 10**6), st.booleans())
def test_all_pairs_are_consistent(n, m, seed, coarse):
    scores = np.random.default_rng(seed).random((n, m)).round(1 if coarse else 4)
    for pairs in (randomised_tukey(scores, 200), two_way_tukey(scores)):
        assert all_finite(pairs)
        assert (pairs.pvalues == pairs.pvalues.T).all() and (pairs.pvalues.diagonal() == 1).all()
        assert (pairs.differences == -pairs.differences.T).all()
        assert (pairs.pvalues >= 0).all() and (pairs.pvalues <= 1).all()
        assert (pairs.pvalues[pairs.differences == 0] >= 1 - 1e-12).all()
        if pairs.low is not None:
            excludes_zero = (pairs.low > 0) | (pairs.high < 0)
            unclear = np.abs(pairs.pvalues - 0.05) < 1e-9
            assert (excludes_zero == pairs.significant(0.05))[~unclear].all()


def test_larger_differences_have_smaller_p():
    pairs = randomised_tukey(table(30, 8, seed=2), 2000)
    i, j = np.triu_indices(8, 1)
    by_size = pairs.pvalues[i, j][np.argsort(np.abs(pairs.differences[i, j]))]
    assert (np.diff(by_size) <= 0).all()


def test_identical_systems_have_p_of_one():
    scores = np.tile(table(20, 1), (1, 3))
    for pairs in (randomised_tukey(scores), two_way_tukey(scores)):
        assert (pairs.pvalues == 1).all() and (pairs.differences == 0).all() and all_finite(pairs)
    two_alike = np.column_stack([scores[:, :2], table(20, 1, seed=9)])
    for pairs in (randomised_tukey(two_alike), two_way_tukey(two_alike)):
        assert pairs.pvalues[0, 1] == 1 and pairs.effect[0, 1] == 0


def test_sums_in_another_order_are_no_difference():
    row = np.array([0.1, 0.2, 0.3, 0.7])
    scores = np.stack([row, row[::-1]], axis=1)
    assert randomised_tukey(scores).pvalues[0, 1] == 1 and randomised_tukey(scores).differences[0, 1] == 0


def test_one_topic_proves_nothing():
    for pairs in (randomised_tukey([[0.1, 0.9, 0.5]]), two_way_tukey([[0.1, 0.9, 0.5]])):
        assert (pairs.pvalues == 1).all()
        assert pairs.effect is None and pairs.low is None and pairs.high is None
    assert "a single topic" in two_way_tukey([[0.1, 0.9]]).note


def test_two_way_tukey_says_that_systems_are_identical():
    same = two_way_tukey([[0.1, 0.1, 0.1], [0.4, 0.4, 0.4]])
    assert same.note.startswith("the systems are identical") and (same.pvalues == 1).all()
    assert "by the same amount" in two_way_tukey([[0.1, 0.2, 0.1], [0.4, 0.5, 0.4]]).note


def test_the_same_difference_on_every_topic_has_the_p_of_the_randomised_test():
    base = np.array([0.1, 0.4, 0.3, 0.2, 0.5, 0.6])
    scores = np.stack([base, base + 0.1, base + 0.1], axis=1)
    pairs = two_way_tukey(scores)
    assert (pairs.pvalues == randomised_tukey(scores).pvalues).all()
    assert pairs.pvalues[0, 1] < 0.05 and pairs.pvalues[1, 2] == 1 and "the randomised one" in pairs.note
    assert pairs.effect is None and pairs.low is None and pairs.high is None
    assert two_way_tukey(scores[:2, :2]).pvalues[0, 1] == 0.5  # two topics prove little


def test_a_missing_score_is_named():
    scores = table(5, 3)
    scores[3, 1] = math.nan
    for test in (randomised_tukey, two_way_tukey, lambda x: max_t(x, 0)):
        with pytest.raises(CranfieldError, match="row 3, column 1"):
            test(scores)
    with pytest.raises(CranfieldError, match="at least 2 systems"):
        randomised_tukey([[0.1], [0.2]])
    with pytest.raises(CranfieldError, match="level 95"):
        randomised_tukey(X, level=95)
    with pytest.raises(CranfieldError, match="0 resamples"):
        randomised_tukey(X, resamples=0)


def test_fewer_permutations_than_asked_for_are_told():
    pairs = randomised_tukey(table(40, 5), 10_000, draws=200 * 1500)
    assert pairs.details["resamples"] == 1500
    assert "1,500 random permutations" in pairs.note and "fewer than the 10,000 requested" in pairs.note
    assert randomised_tukey(table(40, 5), 10_000, draws=1).details["resamples"] == 1000
    assert "requested" not in randomised_tukey(table(40, 5), 1000).note


def test_too_few_permutations_give_no_intervals():
    pairs = randomised_tukey(table(40, 5), 10)
    assert pairs.low is None and pairs.high is None and "too few for 95 % intervals" in pairs.note


def test_topics_on_which_all_systems_are_alike_change_only_the_size_of_differences():
    scores = table(8, 3)
    padded = np.vstack([scores, np.full((92, 3), 0.3)])
    assert (randomised_tukey(padded).pvalues == randomised_tukey(scores).pvalues).all()
    assert randomised_tukey(padded).differences == pytest.approx(randomised_tukey(scores).differences * 0.08)


# two-way Tukey

TWO_WAY = [
    (
        X,
        0.0063888888889,
        6,
        4.33919547652,
        0.1734170871009,
        [0.4324009518, 0.0170970618, 0.0839414634],
        [-0.9383148633, -2.8149445898, -1.8766297265],
    ),
    (X2, 0.0078333333333, 8, 4.04103647199, 0.1599488315152, [0.5562067603, 0.0026622479, 0.0107772474], None),
    (
        X3,
        0.0039793154762,
        21,
        3.94187792276,
        0.0879148748754,
        [0.1401624612, 1.08678663e-05, 0.9636476947, 0.0019191019, 0.3087083934, 3.11823094e-05],
        [-1.1294855605, -3.2497479284, -0.2377864338, -2.1202623679, 0.8916991267, 3.0119614946],
    ),
]


@pytest.mark.parametrize("scores, variance, df, critical, half, pvalues, effect", TWO_WAY)
def test_two_way_tukey_is_that_of_the_reference_cases(scores, variance, df, critical, half, pvalues, effect):
    pairs = two_way_tukey(scores)
    upper = np.triu_indices(scores.shape[1], 1)
    assert pairs.details["V_E"] == pytest.approx(variance, abs=1e-12) and pairs.details["df"] == df
    assert pairs.details["critical"] == pytest.approx(critical, abs=1e-10)
    assert pairs.high - pairs.differences == pytest.approx(np.full_like(pairs.low, half), abs=1e-11)
    assert pairs.pvalues[upper] == pytest.approx(pvalues, abs=1e-10)
    if effect:
        assert pairs.effect[upper] == pytest.approx(effect, abs=1e-9)


def test_two_way_tukey_is_made_of_the_residuals_of_statsmodels_and_the_range_of_scipy():
    formula = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova")
    pandas = pytest.importorskip("pandas")
    stats = pytest.importorskip("scipy.stats")
    scores = table(25, 5, seed=4)
    scores[:, 3] += 0.1
    n, m = scores.shape
    long = pandas.DataFrame(
        [{"topic": i, "system": j, "score": scores[i, j]} for i in range(n) for j in range(m)],
    )
    left = anova.anova_lm(formula.ols("score ~ C(system) + C(topic)", data=long).fit()).loc["Residual"]
    error = math.sqrt(left["sum_sq"] / left["df"] / n)
    pairs = two_way_tukey(scores)
    for i, j in itertools.combinations(range(m), 2):
        difference = scores[:, i].mean() - scores[:, j].mean()
        expected = stats.studentized_range.sf(abs(difference) / error, m, left["df"])
        assert pairs.pvalues[i, j] == pytest.approx(expected, abs=1e-9)
    assert pairs.details["critical"] == pytest.approx(stats.studentized_range.ppf(0.95, m, left["df"]), abs=1e-8)


def test_the_unpaired_test_would_miss_what_the_blocked_one_sees():
    stats = pytest.importorskip("scipy.stats")
    unpaired = stats.tukey_hsd(*X.T).pvalue[np.triu_indices(3, 1)]
    assert unpaired == pytest.approx([0.8312539191, 0.2381480683, 0.4984227904], abs=1e-9)
    assert two_way_tukey(X).pvalues[0, 2] < 0.05 < unpaired.min()


# error rates: the chance of any claim where there is nothing to claim, n = 50


def null_tables(trials, m, seed):
    """Tables of systems that differ by chance alone: topics of different difficulty, scores from 0 to 1."""
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        yield np.clip(rng.beta(2, 3, (50, 1)) + rng.normal(0, 0.15, (50, m)), 0, 1).round(4)


@pytest.mark.simulation
@pytest.mark.soak("statistics")
def test_randomised_tukey_makes_a_false_claim_in_one_of_twenty_cases():
    trials = 10_000 if SOAK else 3_000
    claims = [
        randomised_tukey(scores, 399, seed=k).pvalues.min() <= 0.05
        for k, scores in enumerate(null_tables(trials, 5, seed=3))
    ]
    assert (0.04 if SOAK else 0.03) <= np.mean(claims) <= 0.06


@pytest.mark.simulation
@pytest.mark.soak("statistics")
def test_randomised_tukey_keeps_its_level_on_real_scores_that_are_dealt_by_chance(shared_data):
    files = sorted(map(str, (shared_data / "dl19" / "runs").iterdir()))
    scored = evaluate(str(shared_data / "dl19" / "qrels.dl19-passage.txt"), files, ["AP"])
    scores = np.stack([run.values[0] for run in scored.runs], axis=1)
    rng = np.random.default_rng(7)
    claims = []
    for k in range(10_000 if SOAK else 2_000):
        dealt = rng.permuted(scores[rng.integers(0, len(scores), 50)], axis=1)[:, :5]
        claims.append(randomised_tukey(dealt, 399, seed=k).pvalues.min() <= 0.05)
    assert (0.04 if SOAK else 0.035) <= np.mean(claims) <= (0.06 if SOAK else 0.065)


def test_two_way_tukey_makes_a_false_claim_in_one_of_twenty_cases():
    critical = two_way_tukey(table(50, 5)).details["critical"]
    claims = []
    for scores in null_tables(10_000, 5, seed=4):
        left = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
        error = math.sqrt(np.square(left).sum() / (4 * 49) / 50)
        claims.append(np.ptp(scores.mean(axis=0)) / error > critical)
    assert 0.04 <= np.mean(claims) <= 0.06


@pytest.mark.simulation
@pytest.mark.parametrize("test", ["holm", "max_t"])
def test_comparisons_with_a_baseline_make_a_false_claim_in_at_most_one_of_twenty_cases(test):
    special = pytest.importorskip("scipy.special")

    def lowest(scores, k):
        if test == "max_t":
            return max_t(scores, 0, 399, seed=k).min()
        differences = scores[:, 1:] - scores[:, :1]
        t = differences.mean(axis=0) / differences.std(axis=0, ddof=1) * math.sqrt(50)
        return adjust(2 * special.stdtr(49, -np.abs(t)), "holm").min()

    claims = [lowest(scores, k) <= 0.05 for k, scores in enumerate(null_tables(10_000, 5, seed=5))]
    assert 0.03 <= np.mean(claims) <= 0.06


# size


def test_a_hundred_systems_are_compared():
    scores = table(50, 100)
    pairs = randomised_tukey(scores, 10_000)
    assert pairs.details["resamples"] == 10_000


@pytest.mark.slow
@pytest.mark.soak("statistics")
def test_a_hundred_thousand_queries_are_compared():
    rng = np.random.default_rng(1)
    scores = rng.random((100_000, 5)) < np.array([0.3, 0.31, 0.32, 0.3, 0.3])
    pairs = randomised_tukey(scores, 10_000 if SOAK else 1000)
    assert pairs.pvalues[0, 2] < 0.05
    assert max_t(scores, 0, 500)[1] < 0.05
    assert two_way_tukey(scores).pvalues[0, 2] < 0.05
