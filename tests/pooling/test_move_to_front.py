"""Move-to-front, by the trace of the worked example."""

from __future__ import annotations

from itertools import accumulate

from cranfield.pooling import PoolingContext
from tests.pooling.pooled_example import T, grade, replayed, selector


def test_the_order_is_that_of_the_trace() -> None:
    order = replayed("mtf")
    assert order == "d1 d2 d7 d3 d10 d11 d4 d5 d8 d9 d12 d6".split()
    assert list(accumulate(int(grade(doc)) for doc in order)) == [1, 1, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5]


def test_without_anything_relevant_systems_take_turns() -> None:
    assert list(selector("mtf").replay(lambda _: 0.0, 4)) == ["d1", "d7", "d3", "d2"]


def test_with_everything_relevant_a_system_is_never_left() -> None:
    assert list(selector("mtf").replay(lambda _: 1.0, 6)) == list(T.docs[0])


def test_the_lowest_relevant_grade_is_respected() -> None:
    # a grade of 1 is not relevant where only 2 is
    assert list(selector("mtf", T, PoolingContext(rel=2, ties="input")).replay(lambda _: 1.0, 3)) == ["d1", "d7", "d3"]
