"""Counts of judgments."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.data.collection import Qrels
from cranfield.io import as_qrels, read_qrels
from cranfield.qrels_tools.statistics import CountSummary, count_judgments

QRELS = as_qrels({"1": {"a": 2, "b": 0, "c": 1, "d": 0, "e": 0, "f": 0}, "2": {"a": 0, "b": 0}, "3": {"a": 3, "b": 0}})


def test_counts_by_hand() -> None:
    found = count_judgments(QRELS)
    assert (found.judged, found.relevant, found.documents, len(found.topics)) == (10, 3, 6, 3)
    assert found.grades == {0: 7, 1: 1, 2: 1, 3: 1}
    assert found.spread("judged") == CountSummary(2, 2, pytest.approx(10 / 3), 6)
    assert found.spread("relevant") == CountSummary(0, 1, 1, 2)


def test_topics_with_none_and_with_over_a_third_relevant_are_named() -> None:
    found = count_judgments(QRELS)
    assert found.none_relevant == ("2",)
    assert found.many_relevant == ("3",)  # of topic 1 exactly a third is relevant
    assert count_judgments(QRELS, rel=3).none_relevant == ("1", "2")


def test_negative_grades_are_not_judged() -> None:
    found = count_judgments(as_qrels({"1": {"a": -1, "b": 1}}))
    assert (found.judged, found.unjudged, found.grades) == (1, 1, {1: 1})
    assert any("pooled" in note for note in found.notes)


def test_a_document_counts_once_whatever_its_subtopics() -> None:
    found = count_judgments(Qrels.from_rows(["1"] * 3, ["a", "a", "b"], [0, 2, 1], subtopics=["1", "2", "1"]))
    assert (found.judged, found.grades) == (2, {1: 1, 2: 1})


def test_a_topic_without_judgments() -> None:
    found = count_judgments(as_qrels({"1": {}, "2": {"a": 1}}))
    assert found.none_relevant == ("1",) and found.topics[0].share is None


def test_the_figures_of_dl19(shared_data: Path) -> None:
    found = count_judgments(read_qrels(shared_data / "dl19" / "qrels.dl19-passage.txt"))
    assert (len(found.topics), found.judged) == (43, 9260)
    assert set(found.grades) == {0, 1, 2, 3} and sum(found.grades.values()) == 9260
