"""Quantiles of Student's t, against SciPy's distribution function (its own quantiles had 11 digits before 1.17)."""

from __future__ import annotations

import pytest
from scipy.special import stdtr

from cranfield.base.student_t import t_quantile


@pytest.mark.parametrize("df", [0.3, 1, 1.6, 2, 3, 4.5, 9, 49, 99, 199.5, 200, 201, 999, 6979, 1e5])
def test_quantiles_have_their_probability_in_scipy(df: float) -> None:
    for p in (0.2, 0.55, 0.9, 0.95, 0.975, 0.995, 0.9995, 0.999999):
        assert float(stdtr(df, -t_quantile(df, p))) == pytest.approx(1 - p, rel=2e-12)


def test_the_middle_is_zero_and_sides_mirror_each_other() -> None:
    assert t_quantile(7, 0.5) == 0
    assert t_quantile(7, 0.25) == -t_quantile(7, 0.75)


@pytest.mark.parametrize("df, p", [(0, 0.9), (-1, 0.9), (3, 0.0), (3, 1.0), (float("nan"), 0.9)])
def test_there_are_no_other_quantiles(df: float, p: float) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        t_quantile(df, p)
