"""Average ranks, Friedman and Nemenyi: SciPy, published critical values, and degenerate tables."""

import itertools
import math

import numpy as np
import pytest

from cranfield.errors import CranfieldError
from cranfield.stats.ranks import average_ranks, critical_difference, friedman, nemenyi, topic_ranks
from tests.stats.tables import X3, table


def test_ranks_are_those_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    scores = np.random.default_rng(1).random((30, 6)).round(1)
    assert (topic_ranks(scores) == stats.rankdata(-scores, axis=1)).all()
    assert average_ranks(scores) == pytest.approx(stats.rankdata(-scores, axis=1).mean(axis=0))


def test_scores_that_differ_by_rounding_are_tied():
    assert topic_ranks([[0.1 + 0.2, 0.3, 0.2]]).tolist() == [[1.5, 1.5, 3]]


@pytest.mark.parametrize("decimals", [1, 6])
def test_friedman_is_that_of_scipy_with_and_without_ties(decimals):
    stats = pytest.importorskip("scipy.stats")
    scores = np.random.default_rng(2).random((20, 5)).round(decimals)
    found, expected = friedman(scores), stats.friedmanchisquare(*scores.T)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-10)
    assert found.df == 4
    # Iman and Davenport
    F = 19 * found.statistic / (20 * 4 - found.statistic)
    assert (found.F, found.F_p) == pytest.approx((F, stats.f.sf(F, 4, 4 * 19)), rel=1e-10)


def test_friedman_of_tables_without_variance_is_defined():
    alike = friedman(np.full((4, 3), 0.5))
    assert (alike.statistic, alike.p, alike.F, alike.F_p) == (0, 1, 0, 1)
    agreed = friedman(np.tile([0.1, 0.2, 0.3], (6, 1)))
    assert agreed.F is None and agreed.F_p == 0 and agreed.statistic == pytest.approx(12)
    one = friedman([[0.1, 0.2, 0.3]])
    assert one.F is None and one.F_p == 1 and 0 < one.p < 1


# Demšar, JMLR 7, 2006, table 5: q for Nemenyi's test, 2 to 10 classifiers
NEMENYI = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}


@pytest.mark.parametrize("alpha", NEMENYI)
def test_the_critical_difference_is_the_published_one(alpha):
    for m, q in enumerate(NEMENYI[alpha], 2):
        assert critical_difference(m, 14, alpha) == pytest.approx(q * math.sqrt(m * (m + 1) / (6 * 14)), rel=5e-4)


def test_the_critical_difference_is_made_of_scipys_studentised_range():
    stats = pytest.importorskip("scipy.stats")
    for m, n in ((3, 10), (12, 43), (60, 50)):
        q = stats.studentized_range.ppf(0.95, m, np.inf) / math.sqrt(2)
        assert critical_difference(m, n) == pytest.approx(q * math.sqrt(m * (m + 1) / (6 * n)), rel=1e-9)


def test_bars_join_systems_that_do_not_differ():
    scores = table(50, 8, seed=6)
    scores[:, :3] += 0.12
    found = nemenyi(scores)
    assert sorted(found.order, key=lambda i: found.ranks[i]) == found.order
    joined = {frozenset(pair) for bar in found.groups for pair in itertools.combinations(bar, 2)}
    for i, j in itertools.combinations(range(8), 2):
        assert (frozenset((i, j)) in joined) == (not found.significant[i, j])
        assert found.significant[i, j] == (found.pvalues[i, j] < 0.05)
    assert not any(set(one) < set(other) for one, other in itertools.permutations(found.groups, 2))
    assert all(list(bar) == sorted(bar, key=lambda i: found.ranks[i]) for bar in found.groups)
    assert found.friedman.p < 0.001


def test_one_system_far_from_all_has_no_bar():
    scores = np.random.default_rng(0).random((60, 4))
    scores[:, 2] += 2
    found = nemenyi(scores)
    assert found.order[0] == 2 and found.groups == (tuple(found.order[1:]),)


def test_identical_systems_share_a_bar():
    found = nemenyi(np.tile(table(10, 1), (1, 3)))
    assert found.groups == ((0, 1, 2),) and (found.pvalues == 1).all() and found.ranks.tolist() == [2, 2, 2]


def test_the_reference_table_is_ranked():
    assert nemenyi(X3).order[0] == 2 and nemenyi(X3[:1]).groups == ((2, 1, 3, 0),)


def test_what_cannot_be_ranked_is_told():
    with pytest.raises(CranfieldError, match="at least 2 systems"):
        average_ranks([[0.1]])
    with pytest.raises(CranfieldError, match="at least 1 topic"):
        critical_difference(3, 0)
    with pytest.raises(CranfieldError, match="level"):
        critical_difference(3, 10, alpha=0)
