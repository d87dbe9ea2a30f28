"""The studentised range against SciPy, Student's t and its own inverse."""

import math

import numpy as np
import pytest

from cranfield.errors import CranfieldError
from cranfield.stats.studentised import range_ppf, range_sf


@pytest.mark.parametrize("m, df", [(2, 1), (2, 3), (3, 6), (3, 8), (4, 21), (12, 462), (60, 59), (100, 4851)])
def test_the_studentised_range_is_that_of_scipy(m, df):
    stats = pytest.importorskip("scipy.stats")
    q = np.array([0.5, 2.0, 4.0, 6.0])
    assert range_sf(q, m, df) == pytest.approx(stats.studentized_range.sf(q, m, df), abs=1e-10)


def test_the_studentised_range_of_infinite_degrees_of_freedom_is_the_limit():
    stats = pytest.importorskip("scipy.stats")
    q = np.array([0.0, 0.5, 2.0, 4.0, 6.0, 40.0])
    assert range_sf(q, 7) == pytest.approx(stats.studentized_range.sf(q, 7, np.inf), abs=1e-12)
    # SciPy takes the limit from 100,000 on, where it still differs in the sixth digit
    assert range_sf(q, 7, 1e9) == pytest.approx(range_sf(q, 7), abs=1e-8)
    for level in (0.5, 0.9, 0.95, 0.99, 0.999):
        assert float(range_sf(np.array([range_ppf(level, 7, 30)]), 7, 30)[0]) == pytest.approx(1 - level, abs=1e-13)


def test_a_range_of_two_is_students_t():
    special = pytest.importorskip("scipy.special")
    for df in (1, 2, 5, 49):
        t = np.array([0.1, 1.0, 2.0, 8.0])
        assert range_sf(t * math.sqrt(2), 2, df) == pytest.approx(2 * special.stdtr(df, -t), rel=1e-9)


def test_impossible_ranges_are_told():
    with pytest.raises(CranfieldError, match="at least two means"):
        range_sf(np.array([1.0]), 1)
    with pytest.raises(CranfieldError, match="degree of freedom"):
        range_sf(np.array([1.0]), 3, 0)
    with pytest.raises(CranfieldError, match="level 1"):
        range_ppf(1, 3)
