"""Analysis of variance: reference cases from R, statsmodels, and tables without variance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import CranfieldError
from cranfield.stats.anova import as_table, residual, two_way_anova
from tests.stats.tables import X2, X3, X

# SS and df of system, topic and residual, V_E, F and p of system and of topic, partial eta² of system
REFERENCE = [
    (
        X,
        [(0.105, 2), (0.2572916666667, 3), (0.0383333333333, 6), (0.400625, 11)],
        0.0063888888889,
        (8.2173913043478, 0.0191288188461),
        (13.4239130434783, 0.0045310221021),
        0.7325581395349,
    ),
    (
        X2,
        [(0.2173333333333, 2), (0.2983333333333, 4), (0.0626666666667, 8), (0.5783333333333, 14)],
        0.0078333333333,
        (13.8723404255319, 0.0025090785218),
        (9.5212765957447, 0.0039097998839),
        0.7761904761905,
    ),
    (
        X3,
        [(0.208959375, 3), (0.643871875, 7), (0.083565625, 21), (0.936396875, 31)],
        0.0039793154762,
        (17.5037956695711, 6.294859351e-06),
        (23.1149545641524, 1.619546926e-08),
        0.7143299717973,
    ),
]


@pytest.mark.parametrize("scores, rows, variance, system, topic, eta", REFERENCE)
def test_the_table_is_that_of_the_reference_cases(scores, rows, variance, system, topic, eta):
    anova = two_way_anova(scores)
    assert [row.source for row in anova.rows] == ["system", "topic", "residual", "total"]
    for row, (squares, df) in zip(anova.rows, rows, strict=True):
        assert row.sum_of_squares == pytest.approx(squares, abs=1e-12) and row.df == df
    assert anova.V_E == pytest.approx(variance, abs=1e-12)
    assert (anova.row("system").F, anova.row("system").p) == pytest.approx(system, abs=1e-10)
    assert (anova.row("topic").F, anova.row("topic").p) == pytest.approx(topic, abs=1e-10)
    assert anova.row("system").partial_eta_squared == pytest.approx(eta, abs=1e-12)
    assert anova.notes == ()


def test_variance_components_and_generalizability_are_those_of_gt4ireval():
    anova = two_way_anova(X3)
    found = anova.components
    assert (found.system, found.topic, found.residual) == pytest.approx(
        (0.008209226190, 0.022000595238, 0.003979315476), abs=1e-11
    )
    assert math.fsum(found.shares.values()) == pytest.approx(1)
    assert anova.reliability(8) == pytest.approx(0.942869534193, abs=1e-11)
    assert anova.dependability(8) == pytest.approx(0.716542758474, abs=1e-11)
    assert anova.reliability(50) == pytest.approx(0.990398346021, abs=1e-11)
    assert anova.dependability(50) == pytest.approx(0.940473288247, abs=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_the_table_is_that_of_statsmodels(seed):
    formula = pytest.importorskip("statsmodels.formula.api")
    anova_lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    scores = rng.random((12, 1)) + rng.random((12, 4)) * (seed + 1)
    long = pandas.DataFrame(
        [{"topic": i, "system": j, "score": scores[i, j]} for i in range(12) for j in range(4)],
    )
    expected = anova_lm(formula.ols("score ~ C(system) + C(topic)", data=long).fit())
    anova = two_way_anova(scores)
    for source, name in (("system", "C(system)"), ("topic", "C(topic)"), ("residual", "Residual")):
        row, line = anova.row(source), expected.loc[name]
        assert (row.sum_of_squares, row.df) == pytest.approx((line["sum_sq"], line["df"]), rel=1e-9)
        assert row.mean_square == pytest.approx(line["mean_sq"], rel=1e-9)
        if row.F is not None:
            assert (row.F, row.p) == pytest.approx((line["F"], line["PR(>F)"]), rel=1e-7)


def test_omega_squared_is_worked_by_hand():
    system = two_way_anova(X).row("system")
    error = 0.0383333333333333 / 6
    assert system.omega_squared == pytest.approx((0.105 - 2 * error) / (0.400625 + error), abs=1e-12)


def test_a_negative_variance_is_shown_as_zero_and_told():
    scores = np.array([[0.1, 0.5], [0.5, 0.1], [0.2, 0.4], [0.4, 0.2]])  # systems differ less than by chance
    anova = two_way_anova(scores)
    assert anova.components.system == 0 and anova.row("system").omega_squared == 0
    assert any("variance of systems is negative" in note for note in anova.notes)


def test_tables_without_variance_are_defined():
    alike = two_way_anova(np.full((5, 3), 0.3))
    assert [row.sum_of_squares for row in alike.rows] == [0, 0, 0, 0]
    assert alike.row("system").F is None and alike.row("system").p == 1
    assert alike.components.shares == {"system": 0, "topic": 0, "residual": 0}
    additive = two_way_anova(np.add.outer([0.1, 0.4, 0.2], [0.0, 0.1, 0.3]))
    assert additive.V_E == 0 and additive.row("system").F is None
    assert additive.row("system").p == pytest.approx(1 / 6**2)  # three topics that all order three systems alike
    two = two_way_anova(np.add.outer([0.1, 0.4, 0.2, 0.2], [0.0, 0.1]))
    assert two.row("system").p == pytest.approx(2 / 2**4)  # as flipping signs has it
    assert two.row("topic").p == pytest.approx(1 / 12)  # of four topics two are alike
    assert "no residual variance" in additive.notes[0]
    one = two_way_anova([[0.1, 0.4, 0.2]])
    assert one.V_E is None and one.row("system").p == 1 and one.row("topic").mean_square is None
    assert "a single topic" in one.notes[-1]


@given(st.integers(1, 5), st.integers(2, 5), st.integers(0, 10**6), st.sampled_from([0, 1, 6]))
def test_no_figure_is_ever_nan(n, m, seed, decimals):
    anova = two_way_anova(np.random.default_rng(seed).random((n, m)).round(decimals))
    for row in anova.rows:
        figures = [row.sum_of_squares, row.mean_square, row.F, row.p, row.omega_squared, row.partial_eta_squared]
        assert all(figure is None or math.isfinite(figure) for figure in figures)
        assert row.p is None or 0 <= row.p <= 1
    explained = math.fsum(row.sum_of_squares for row in anova.rows[:3])
    assert explained == pytest.approx(anova.row("total").sum_of_squares)
    assert 0 <= anova.reliability(50) <= 1 and 0 <= anova.dependability(50) <= 1


def test_a_table_that_is_none_is_told():
    with pytest.raises(CranfieldError, match="found 1 axes"):
        as_table([0.1, 0.2])
    with pytest.raises(CranfieldError, match="table of numbers"):
        as_table([["a", "b"]])
    with pytest.raises(CranfieldError, match="at least 1 topic, found 0"):
        as_table(np.empty((0, 3)))
    with pytest.raises(CranfieldError, match="row 0, column 1 .* is inf"):
        residual([[0.1, math.inf]])
