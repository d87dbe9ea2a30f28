"""Judgments side by side."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.errors import InputError
from cranfield.qrels_tools.assessor_matrix import side_by_side
from tests.qrels_tools.people import assessor, assessors


def test_every_pair_has_a_row_in_natural_order_of_topics() -> None:
    panel = side_by_side(assessors(anna={"10": {"a": 1}, "9": {"b": 0}}, ben={"9": {"b": 2, "c": 1}}))
    assert panel.queries == ("9", "10")
    assert [panel.queries[i] for i in panel.query] == ["9", "9", "10"]
    assert panel.docs.tolist() == ["b", "c", "a"]
    np.testing.assert_array_equal(panel.grades, [[0, 2], [np.nan, 1], [1, np.nan]])
    assert panel.judged.tolist() == [2, 1, 1] and panel.common(0, 1).tolist() == [True, False, False]


def test_the_same_document_of_two_topics_is_two_pairs() -> None:
    panel = side_by_side(assessors(anna={"1": {"a": 1}, "2": {"a": 0}}))
    assert len(panel) == 2


def test_one_assessors_part_is_qrels_again() -> None:
    panel = side_by_side(assessors(anna={"1": {"a": 1, "b": 0}}, ben={"1": {"a": 2}}))
    assert panel.qrels_of(0, panel.common(0, 1)).to_dict() == {"1": {"a": 1}}
    assert panel.qrels_of(1, panel.common(0, 1)).to_dict() == {"1": {"a": 2}}


def test_a_grade_off_the_scale_names_who_gave_it() -> None:
    panel = side_by_side(assessors(anna={"1": {"a": 1}}, ben={"1": {"a": 7}}))
    with pytest.raises(InputError, match="ben gave 7 to document 'a' of query '1', which is not on the scale 0 1 2"):
        panel.ratings([0, 1, 2])


def test_people_and_models_are_told_apart() -> None:
    panel = side_by_side([*assessors(anna={"1": {"a": 1}}), assessor("gpt", {"1": {"a": 1}}, is_model=True)])
    assert (panel.people, panel.models) == ((0,), (1,))
    assert [one.label for one in panel.assessors] == ["anna", "gpt (model)"]
