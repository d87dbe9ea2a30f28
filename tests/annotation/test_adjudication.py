"""Disagreements wait in a queue; what is decided wins, until it is undone."""

from __future__ import annotations

import pytest

from cranfield.annotation import (
    AssessorSession,
    JudgingError,
    JudgmentLog,
    Settings,
    Submission,
    adjudicate,
    count_disputes,
    export_qrels,
    list_disputes,
    undo_adjudication,
)
from cranfield.errors import InputError
from tests.annotation.conftest import with_pairs


def judged(log: JudgmentLog, grades: dict[str, dict[str, float]]) -> None:
    """Judgments by assessor and document, of query 1."""
    for name, own in grades.items():
        session = AssessorSession(log, name)
        while (item := session.next("1")) is not None:
            if item.doc in own:
                session.save("judge", "1", item.place, own[item.doc], note=f"by {name}")
            else:
                session.save("cannot", "1", item.place)


@pytest.fixture
def disputed(log: JudgmentLog) -> JudgmentLog:
    with_pairs(log, 1, 3, judgments=2)
    judged(log, {"ada": {"d1-0": 0, "d1-1": 1, "d1-2": 2}, "bob": {"d1-0": 3, "d1-1": 1, "d1-2": 1}})
    return log


def test_pairs_whose_grades_are_apart_wait_to_be_adjudicated(disputed: JudgmentLog) -> None:
    found = list_disputes(disputed)
    assert [(one.doc, [opinion.grade for opinion in one.opinions]) for one in found] == [
        ("d1-0", [0, 3]),
        ("d1-2", [1, 2]),
    ]
    assert count_disputes(disputed) == 2
    disputed.configure(Settings(judgments=2, dispute=2))
    assert [one.doc for one in list_disputes(disputed)] == ["d1-0"] and count_disputes(disputed) == 1


def test_adjudication_is_blind_unless_it_is_open(disputed: JudgmentLog) -> None:
    assert {opinion.assessor for one in list_disputes(disputed) for opinion in one.opinions} == {None}
    opinions = list_disputes(disputed, blind=False)[0].opinions
    assert [(one.assessor, one.note) for one in opinions] == [("ada", "by ada"), ("bob", "by bob")]


def test_what_was_adjudicated_wins_over_every_rule(disputed: JudgmentLog) -> None:
    submission = Submission(key="once")
    event = adjudicate(disputed, "eve", "1", "d1-0", 2, "looked twice", submission)
    assert adjudicate(disputed, "eve", "1", "d1-0", 2, "looked twice", submission) == event
    assert [one.doc for one in list_disputes(disputed)] == ["d1-2"]
    assert [one.adjudicated for one in list_disputes(disputed, settled=True)] == [2, None]
    for rule in ("majority", "mean", "max", "min"):
        exported = export_qrels(disputed, rule)
        assert exported.qrels.to_dict()["1"]["d1-0"] == 2
        assert "an adjudicated grade wins" in exported.rule
    adjudicate(disputed, "eve", "1", "d1-0", 1)
    assert export_qrels(disputed).qrels.to_dict()["1"]["d1-0"] == 1


def test_adjudication_is_undone_by_an_event(disputed: JudgmentLog) -> None:
    adjudicate(disputed, "eve", "1", "d1-0", 2)
    undone = undo_adjudication(disputed, "eve", Submission(key="u"))
    assert undone is not None and undone.doc == "d1-0"
    assert undo_adjudication(disputed, "eve", Submission(key="u")) == undone  # sent once more
    assert undo_adjudication(disputed, "eve") is None
    assert count_disputes(disputed) == 2
    assert export_qrels(disputed, "max").qrels.to_dict()["1"]["d1-0"] == 3
    assert [one.kind for one in disputed.events()][-2:] == ["adjudicate", "undo"]


def test_an_adjudicator_may_judge_too_and_both_are_kept_apart(disputed: JudgmentLog) -> None:
    disputed.configure(Settings(judgments=3))
    adjudicate(disputed, "ada", "1", "d1-1", 3)
    assert [one.grade for one in disputed.judgments() if one.assessor == "ada"] == [0, 1, 2]
    session = AssessorSession(disputed, "ada")
    item = session.undo()  # of what she judged, not of what she decided
    assert item is not None and export_qrels(disputed).qrels.to_dict()["1"]["d1-1"] == 3


def test_a_dispute_ends_when_assessors_come_to_agree(disputed: JudgmentLog) -> None:
    session = AssessorSession(disputed, "bob")
    place = next(item.place for item in session.own_items() if item.doc == "d1-0")
    session.save("judge", "1", place, 0)
    assert [one.doc for one in list_disputes(disputed)] == ["d1-2"]
    session.undo()
    assert count_disputes(disputed) == 2


def test_only_what_is_to_be_judged_can_be_adjudicated(disputed: JudgmentLog) -> None:
    disputed.add_gold({"1": {"g": 1.0}})
    with pytest.raises(JudgingError, match="not in the pool of query"):
        adjudicate(disputed, "eve", "1", "zzz", 2)
    with pytest.raises(InputError, match="gold pair"):
        adjudicate(disputed, "eve", "1", "g", 2)
    with pytest.raises(InputError, match="grade 9 is not one of"):
        adjudicate(disputed, "eve", "1", "d1-0", 9)
