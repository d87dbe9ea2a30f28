"""Sums put together from parts are those of `math.fsum` over everything."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.soak import examples

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

from cranfield.spark.exact_sum import ExactSum  # noqa: E402

doubles = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(doubles, max_size=60), st.integers(0, 60))
@examples(200)
def test_parts_merge_to_what_fsum_gives(values, cut):
    total = ExactSum(values[:cut])
    total.merge(ExactSum.unpacked(ExactSum(values[cut:]).packed()))
    assert total.value == math.fsum(values)


def test_the_smallest_and_the_largest_doubles_are_kept():
    for values in ([5e-324] * 3, [1.7e308, -1.7e308, 5e-324], [0.1] * 10, [-0.1, 0.1], []):
        assert ExactSum(values).value == math.fsum(values)


def test_many_values_of_all_sizes():
    rng = np.random.default_rng(1)
    values = rng.standard_normal(100_000) * 10.0 ** rng.integers(-200, 200, 100_000)
    assert ExactSum(values).value == math.fsum(values.tolist())
    total = ExactSum()
    for part in np.array_split(rng.permutation(values), 37):
        total.merge(ExactSum(part))
    assert total.value == math.fsum(values.tolist())
