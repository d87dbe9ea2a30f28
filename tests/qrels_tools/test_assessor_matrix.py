"""Judgments side by side."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.errors import InputError
from cranfield.qrels_tools.assessor_matrix import build_matrix
from tests.qrels_tools.people import assessor, assessors


def test_every_pair_has_a_row_in_natural_order_of_topics() -> None:
    matrix = build_matrix(assessors(anna={"10": {"a": 1}, "9": {"b": 0}}, ben={"9": {"b": 2, "c": 1}}))
    assert matrix.queries == ("9", "10")
    assert [matrix.queries[i] for i in matrix.query] == ["9", "9", "10"]
    assert matrix.docs.tolist() == ["b", "c", "a"]
    np.testing.assert_array_equal(matrix.grades, [[0, 2], [np.nan, 1], [1, np.nan]])
    assert matrix.judged.tolist() == [2, 1, 1] and matrix.common(0, 1).tolist() == [True, False, False]


def test_the_same_document_of_two_topics_is_two_pairs() -> None:
    matrix = build_matrix(assessors(anna={"1": {"a": 1}, "2": {"a": 0}}))
    assert len(matrix) == 2


def test_one_assessors_part_is_qrels_again() -> None:
    matrix = build_matrix(assessors(anna={"1": {"a": 1, "b": 0}}, ben={"1": {"a": 2}}))
    assert matrix.qrels_of(0, matrix.common(0, 1)).to_dict() == {"1": {"a": 1}}
    assert matrix.qrels_of(1, matrix.common(0, 1)).to_dict() == {"1": {"a": 2}}


def test_a_grade_off_the_scale_names_who_gave_it() -> None:
    matrix = build_matrix(assessors(anna={"1": {"a": 1}}, ben={"1": {"a": 7}}))
    with pytest.raises(InputError, match="ben gave 7 to document 'a' of query '1', which is not on the scale 0 1 2"):
        matrix.ratings([0, 1, 2])


def test_people_and_models_are_told_apart() -> None:
    matrix = build_matrix([*assessors(anna={"1": {"a": 1}}), assessor("gpt", {"1": {"a": 1}}, is_model=True)])
    assert (matrix.people, matrix.models) == ((0,), (1,))
    assert [one.label for one in matrix.assessors] == ["anna", "gpt (model)"]
