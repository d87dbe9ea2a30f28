"""Rank correlation and rank-biased overlap: reference cases from ircor and sigir2024-rbo, SciPy, brute force."""

import itertools
import math
import random

import pytest

from cranfield.errors import CranfieldError
from cranfield.stats.correlation import RBOResult, kendall_tau, overlap, rbo, tau_ap

stats = pytest.importorskip("scipy.stats")


def numbers(text):
    return [float(number) for number in text.split()]


X = {
    "x1": numbers(".897 .372 .908 .898 .661 .062 .177 .384 .498 .992"),
    "y1": numbers(".82 .406 .817 .953 .673 .073 .364 .547 .589 .988"),
    "x2": numbers(".266 .573 .202 .945 .629 .206 .687 .77 .718 .38"),
    "y2": numbers(".263 .843 .728 .928 .08 .114 .467 .641 .973 .644"),
    "x3": numbers(".185 .573 .944 .129 .468 .553 .761 .405 .976 .445"),
    "y3": numbers(".845 .272 .275 .924 .605 .334 .162 .872 .018 .25"),
    "x1t": numbers(".9 .4 .9 .9 .7 .1 .2 .4 .5 1"),
    "y1t": numbers(".8 .4 .8 1 .7 .1 .4 .5 .6 1"),
    "x2t": numbers(".3 .6 .2 .9 .6 .2 .7 .8 .7 .4"),
    "y2t": numbers(".3 .8 .7 .9 .1 .1 .5 .6 1 .6"),
    "x3t": numbers(".2 .6 .9 .1 .5 .6 .8 .4 1 .4"),
    "y3t": numbers(".8 .3 .3 .9 .6 .3 .2 .9 0 .2"),
    "4321": [4, 3, 2, 1],
    "3421": [3, 4, 2, 1],
    "1234": [1, 2, 3, 4],
    "1111": [1, 1, 1, 1],
    "54321": [5, 4, 3, 2, 1],
    "55322": [5, 5, 3, 2, 2],
    "54421": [5, 4, 4, 2, 1],
    "55331": [5, 5, 3, 3, 1],
    "332211": [3, 3, 2, 2, 1, 1],
    "321": [0.3, 0.2, 0.1],
    "133": [0.1, 0.3, 0.3],
}
NONE = None  # not defined for ties in the truth, or not printed by the reference
NAN = math.nan
# truth, estimate: tau_a, tau_b, tau_AP, tau_AP with the two exchanged, tau_AP,a, tau_AP,b
CORRELATIONS = [
    ("x1", "y1", 0.911111111111, 0.911111111111, 0.851851851852, 0.814814814815, 0.851851851852, 0.833333333333),
    ("x2", "y2", 0.288888888889, 0.288888888889, 0.250352733686, 0.325661375661, 0.250352733686, 0.288007054674),
    ("x3", "y3", -0.688888888889, -0.688888888889, -0.697089947090, -0.638888888889, -0.697089947090, -0.667989417989),
    ("x1", "y1t", 0.888888888889, 0.920087412456, NONE, NONE, 0.745370370370, 0.775462962963),
    ("x2", "y2t", 0.333333333333, 0.340997169735, NONE, NONE, 0.269179894180, 0.299735449735),
    ("x3", "y3t", -0.622222222222, -0.659966329107, NONE, NONE, -0.555820105820, -0.704695767196),
    ("x1t", "y1t", NONE, 0.939827250788, NONE, NONE, NONE, 0.732142857143),
    ("x2t", "y2t", NONE, 0.376496644268, NONE, NONE, NONE, 0.296957671958),
    ("x3t", "y3t", NONE, -0.651027809930, NONE, NONE, NONE, -0.704695767196),
    ("4321", "3421", 0.666666666667, 0.666666666667, 0.333333333333, 0.333333333333, 0.333333333333, 0.333333333333),
    ("4321", "1234", -1, -1, -1, -1, -1, -1),
    ("4321", "1111", 0, NAN, NONE, NONE, 0, NAN),
    ("54321", "55322", 0.8, 0.894427191000, NONE, NONE, 0.6875, 0.6875),
    ("54421", "55331", NONE, 0.824957911384, NONE, NONE, NONE, 0.5),
    ("332211", "332211", NONE, 1, NONE, NONE, NONE, 1),
    ("321", "133", -0.666666666667, -0.816496580928, NONE, NONE, -0.5, -1),
]


@pytest.mark.parametrize("case", CORRELATIONS, ids=lambda case: f"{case[0]}-{case[1]}")
def test_correlations_are_those_of_ircor(case):
    x, y = X[case[0]], X[case[1]]
    found = [
        lambda: kendall_tau(x, y, "a"),
        lambda: kendall_tau(x, y),
        lambda: tau_ap(x, y),
        lambda: tau_ap(y, x),
        lambda: tau_ap(x, y, "a"),
        lambda: tau_ap(x, y, "b"),
    ]
    for compute, expected in zip(found, case[2:], strict=True):
        if expected is not NONE:
            assert compute() == pytest.approx(expected, abs=1e-11, nan_ok=True)


@pytest.mark.parametrize("seed", range(20))
def test_tau_b_is_that_of_scipy(seed):
    rng = random.Random(seed)
    n, values = rng.randint(2, 30), rng.choice([3, 8, 1000])
    x, y = ([rng.randrange(values) for _ in range(n)] for _ in range(2))
    assert kendall_tau(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12, nan_ok=True)


def orders(groups):
    """Every order of tied items."""
    groups = [(group,) if isinstance(group, str) else group for group in groups]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [item for part in parts for item in part]


@pytest.mark.parametrize("scores", [[5, 5, 3, 2, 2], [1, 1, 1, 1], [2, 3, 3, 3, 1], [4, 4, 4, 1, 1, 1]])
def test_tau_ap_a_and_tau_a_are_means_over_the_orders_of_ties(scores):
    truth = random.Random(7).sample(range(100), len(scores))
    items = sorted(range(len(scores)), key=lambda i: -scores[i])
    groups = [list(group) for _, group in itertools.groupby(items, key=lambda i: scores[i])]
    untied = [[-order.index(i) for i in range(len(scores))] for order in orders(groups)]
    for function, variant in ((tau_ap, "a"), (kendall_tau, "a")):
        mean = math.fsum(function(truth, one) for one in untied) / len(untied)
        assert function(truth, scores, variant) == pytest.approx(mean, abs=1e-12)


def test_tau_ap_minds_the_top_more_than_the_bottom():
    truth = [5, 4, 3, 2, 1]
    assert tau_ap(truth, [4, 5, 3, 2, 1]) < tau_ap(truth, [5, 4, 3, 1, 2])
    assert kendall_tau(truth, [4, 5, 3, 2, 1]) == kendall_tau(truth, [5, 4, 3, 1, 2])


def test_systems_may_be_given_by_name():
    x, y = {"bm25": 0.3, "lm": 0.2, "rm3": 0.4}, {"rm3": 0.5, "bm25": 0.1, "lm": 0.2}
    assert kendall_tau(x, y) == kendall_tau([0.3, 0.2, 0.4], [0.1, 0.2, 0.5])
    assert tau_ap(x, y) == tau_ap([0.3, 0.2, 0.4], [0.1, 0.2, 0.5])


def test_what_cannot_be_compared_is_said():
    with pytest.raises(CranfieldError, match="only one has lm"):
        kendall_tau({"bm25": 1.0, "lm": 2.0}, {"bm25": 1.0})
    with pytest.raises(CranfieldError, match="2 and 3 scores"):
        kendall_tau([1, 2], [1, 2, 3])
    with pytest.raises(CranfieldError, match="the truth has ties"):
        tau_ap([1, 1], [1, 2])
    with pytest.raises(CranfieldError, match="one of each"):
        kendall_tau([1.0], {"a": 1.0})
    with pytest.raises(CranfieldError, match="finite"):
        kendall_tau([1, math.nan], [1, 2])
    with pytest.raises(CranfieldError, match="expected a or b"):
        kendall_tau([1, 2], [1, 2], "c")


@pytest.mark.parametrize("one", [[], [1]])
def test_fewer_than_two_items_have_no_correlation(one):
    assert math.isnan(kendall_tau(one, one)) and math.isnan(tau_ap(one, one))


def ranking(text):
    """Items parted by spaces, ties in parentheses.

    >>> ranking("a (b c)")
    ['a', ('b', 'c')]
    """
    parts = text.replace("(", "( ").replace(")", " )").split()
    result, group = [], None
    for part in parts:
        if part == "(":
            group = []
        elif part == ")":
            result.append(tuple(group))
            group = None
        else:
            (result if group is None else group).append(part)
    return result


R = {
    "R1": ("a b c d e", "a b c d e"),
    "R2": ("a b c d e", "b a c e f"),
    "R3": ("a b c", "d e f"),
    "R4": ("a b c", "b a d c e f"),
    "R5": ("a (b c) d e", "a b c d e"),
    "R6": ("a (b c) d", "(a b) c d"),
    "R7": ("red (blue green) yellow pink", "(blue red) white (yellow black purple) green"),
    "R8": ("(a b c)", "(a b c)"),
    "R9": ("(a b c d)", "a b c d"),
    "R10": ("(a b) c", "c (a d e) (b f)"),
    "R11": ("a", "a b c"),
    "R12": ("a b", "a b c d"),
    "R13": ("a (b c) (d e f) g", "a (b c) (d e f) g"),
}
# case, variants, p: ext, min, max, res
OVERLAPS = [
    ("R1", "wab", 0.9, 1, 0.671988940552, 1, 0.328011059448),
    ("R2", "wab", 0.9, 0.750555, 0.488146152442, 0.868653, 0.380506847558),
    ("R3", "wab", 0.9, 0, 0, 0.679428, 0.679428),
    ("R4", "wab", 0.9, 0.759762, 0.395528364331, 0.873, 0.477471635669),
    ("R5", "w", 0.9, 0.982, 0.653988940552, 0.982, 0.328011059448),
    ("R5", "a", 0.9, 0.9775, 0.649488940552, 0.9775, 0.328011059448),
    ("R5", "b", 0.9, 0.987942286341, 0.659931226893, 0.987942286341, 0.328011059448),
    ("R6", "w", 0.9, 0.948666666667, 0.555037819108, 0.948666666667, 0.393628847558),
    ("R6", "a", 0.9, 0.9275, 0.533871152442, 0.9275, 0.393628847558),
    ("R6", "b", 0.9, 0.958652964459, 0.565024116901, 0.958652964459, 0.393628847558),
    ("R7", "w", 0.9, 0.693589075758, 0.472335591836, 0.835408925108, 0.363073333272),
    ("R7", "a", 0.9, 0.668452357143, 0.449158652442, 0.812231985714, 0.363073333272),
    ("R7", "b", 0.9, 0.712655462201, 0.486965857925, 0.850039191198, 0.363073333272),
    ("R8", "wb", 0.9, 1, 0.522528364331, 1, 0.477471635669),
    ("R8", "a", 0.9, 0.903333333333, 0.425861697665, 0.903333333333, 0.477471635669),
    ("R9", "w", 0.9, 0.898428571429, 0.504799723870, 0.898428571429, 0.393628847558),
    ("R9", "a", 0.9, 0.85975, 0.466121152442, 0.85975, 0.393628847558),
    ("R9", "b", 0.9, 0.912787668013, 0.519158820455, 0.912787668013, 0.393628847558),
    ("R10", "w", 0.9, 0.636526948052, 0.306010351344, 0.781096168831, 0.475085817487),
    ("R10", "a", 0.9, 0.6108, 0.286742364331, 0.764214, 0.477471635669),
    ("R10", "b", 0.9, 0.647660449668, 0.297913247472, 0.776804488112, 0.478891240640),
    ("R11", "wab", 0.9, 1, 0.255842788110, 1, 0.744157211890),
    ("R12", "wab", 0.9, 1, 0.411685576221, 1, 0.588314423779),
    ("R13", "wb", 0.9, 1, 0.767139016773, 1, 0.232860983227),
    ("R13", "a", 0.9, 0.956602, 0.723741016773, 0.956602, 0.232860983227),
    ("R4", "wab", 0.5, 0.44375, 0.412774875013, 0.458333333333, 0.045558458320),
    ("R4", "wab", 0.8, 0.683264, 0.484411767659, 0.757333333333, 0.272921565674),
    ("R4", "wab", 0.98, 0.818915565440, 0.163308945911, 0.973597333333, 0.810288387423),
    ("R6", "a", 0.5, 0.6875, 0.668422055573, 0.6875, 0.019077944427),
    ("R6", "a", 0.8, 0.86, 0.666771245767, 0.86, 0.193228754233),
    ("R6", "a", 0.98, 0.9851, 0.218446150103, 0.9851, 0.766653849897),
]


@pytest.mark.parametrize("case", OVERLAPS, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}")
def test_rbo_is_that_of_webber_and_of_corsi_and_urbano(case):
    name, variants, p, *expected = case
    x, y = map(ranking, R[name])
    for variant in variants:
        for one, other in ((x, y), (y, x)):
            found = rbo(one, other, p, ties=variant)
            assert [found.ext, found.min, found.max, found.res] == pytest.approx(expected, abs=1e-11)


def webber(a, b, p):
    """min, ext and res by the closed forms of Webber, Moffat & Zobel (equations 11, 32, 30), without ties."""
    short, long = sorted((a, b), key=len)
    s, n = len(short), len(long)
    x = [len(set(short[:d]) & set(long[:d])) for d in range(n + 1)]
    least = (
        (1 - p) / p * (sum((x[d] - x[n]) / d * p**d for d in range(1, n + 1)) - x[n] * math.log(1 - p))
    )  # equation 11, with the overlap at the end
    below = sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    ext = (1 - p) / p * (sum(x[d] / d * p**d for d in range(1, n + 1)) + below)
    ext += ((x[n] - x[s]) / n + x[s] / s) * p**n
    f = n + s - x[n]
    res = (
        p**s
        + p**n
        - p**f
        - (1 - p)
        / p
        * (
            s * sum(p**d / d for d in range(s + 1, f + 1))
            + n * sum(p**d / d for d in range(n + 1, f + 1))
            + x[n] * (math.log(1 / (1 - p)) - sum(p**d / d for d in range(1, f + 1)))
        )
    )
    return least, ext, res


@pytest.mark.parametrize("seed", range(10))
def test_without_ties_rbo_equals_the_closed_forms(seed):
    rng = random.Random(seed)
    a, b = (rng.sample(range(25), rng.randint(1, 20)) for _ in range(2))
    p = rng.choice([0.5, 0.8, 0.9, 0.98])
    for variant in "wab":
        found = rbo(a, b, p, ties=variant)
        assert (found.min, found.ext, found.res) == pytest.approx(webber(a, b, p), abs=1e-12)


@pytest.mark.parametrize("name", ["R5", "R6", "R7", "R8", "R9", "R10"])
def test_rbo_a_is_the_mean_over_the_orders_of_ties_but_ext_only_for_equal_lengths(name):
    x, y = map(ranking, R[name])
    pairs = list(itertools.product(orders(x), orders(y)))
    each = [rbo(one, other) for one, other in pairs]
    found = rbo(x, y)
    for value in ("min", "max", "res"):
        assert getattr(found, value) == pytest.approx(math.fsum(getattr(r, value) for r in each) / len(each), abs=1e-12)
    mean = math.fsum(r.ext for r in each) / len(each)
    if name not in ("R7", "R10"):
        assert found.ext == pytest.approx(mean, abs=1e-12)
    if name == "R10":
        assert (found.ext, mean) == pytest.approx((0.6108, 0.61323), abs=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_rbo_is_between_its_bounds_symmetric_and_within_0_and_1(seed):
    rng = random.Random(seed)

    def some():
        items = rng.sample("abcdefghij", rng.randint(0, 10))
        result = []
        while items:
            size = rng.choice([1, 1, 2, 3])
            result.append(tuple(items[:size]))
            items = items[size:]
        return result

    x, y, p = some(), some(), rng.choice([0.3, 0.9, 0.99])
    for variant in "wab":
        found, back = rbo(x, y, p, ties=variant), rbo(y, x, p, ties=variant)
        assert (found.min, found.ext, found.res) == pytest.approx((back.min, back.ext, back.res), abs=1e-13)
        assert -1e-12 <= found.min <= found.ext + 1e-12 and found.max <= 1 + 1e-12
        if variant != "a" and x:
            assert rbo(x, x, p, ties=variant).ext == pytest.approx(1, abs=1e-12)


def test_of_empty_rankings_nothing_is_known():
    assert rbo([], []) == RBOResult(0.0, 0.0, 1.0)
    assert rbo([], ["a"]).max == pytest.approx(1)


def test_the_truncated_sum_of_other_programs_gives_identical_lists_less_than_1():
    def truncated(x, y, p=0.9):
        depth = range(1, min(len(x), len(y)) + 1)
        return (1 - p) * sum(p ** (d - 1) * overlap(x[:d], y[:d], d) for d in depth)

    found = [truncated(*(side.split() for side in R[name])) for name in ("R1", "R2", "R4")]
    assert found == pytest.approx([0.40951, 0.278163, 0.144], abs=1e-8)
    assert rbo("abcde", "abcde").ext == pytest.approx(1)


def test_an_item_stands_once_and_p_is_a_chance():
    with pytest.raises(CranfieldError, match="'a' is in the ranking twice"):
        rbo(["a", ("b", "a")], ["a"])
    with pytest.raises(CranfieldError, match="between 0 and 1"):
        rbo("ab", "ba", p=1.0)
    with pytest.raises(CranfieldError, match="one of w, a, b"):
        rbo("ab", "ba", ties="c")


def test_overlap_is_the_share_of_the_first_k_in_common():
    assert overlap("abcd", "bxad", 1) == 0
    assert overlap("abcd", "bxad", 2) == 0.5
    assert overlap("abcd", "bxad", 4) == 0.75
    assert overlap("abcd", "bxad") == 0.75
    assert overlap("ab", "ab", 10) == 1
    assert overlap("ab", "abcd", 10) == 0.5
    assert overlap("", "", 3) == 0
    with pytest.raises(CranfieldError, match="at least 1"):
        overlap("ab", "ab", 0)


def test_tied_items_overlap_by_the_chance_to_be_there():
    x, y = ["a", ("b", "c")], ["b", "a", "c"]
    each = [overlap(one, y, 2) for one in orders(x)]
    assert overlap(x, y, 2) == pytest.approx(math.fsum(each) / len(each)) == 0.75
