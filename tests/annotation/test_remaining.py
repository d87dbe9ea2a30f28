"""What is left is the same whoever is told, however far orders are laid out, and whoever judged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cranfield.annotation import (
    AssessorSession,
    Assignment,
    Event,
    JudgmentLog,
    Settings,
    assign,
    assign_evenly,
    compute_progress,
    list_disputes,
    open_log,
    unassign,
)
from cranfield.annotation.adaptive import load_grades
from tests.annotation.conftest import judge_all, with_pairs


def judged(log: JudgmentLog, name: str, doc: str, grade: float = 1, query: str = "1") -> None:
    key = f"{name} {query} {doc} {grade}"
    log.append(Event(key, "judge", name, query, doc, grade, judged_at="2026", recorded_at="2026"))


def left_of(log: JudgmentLog, name: str) -> dict[str, int]:
    told = {topic.query: topic.left for topic in AssessorSession(log, name).topics()}
    state = compute_progress(log)
    if any(one.assessor == name and one.left is not None for one in state.assessors):  # who has begun, or has topics
        work = {one.query: one.left for one in state.work if one.assessor == name}
        assert all(told[query] == n for query, n in work.items() if query in told)
    return told


def test_a_model_fills_nothing_and_is_no_party_to_a_dispute(log: JudgmentLog) -> None:
    with_pairs(log, 1, 2, judgments=2)
    log.mark_model("gpt")
    judged(log, "ada", "d1-0", 0)
    judged(log, "gpt", "d1-0", 3)
    judged(log, "gpt", "d1-1", 3)
    state = compute_progress(log).topics[0]
    assert (state.judged, state.complete, state.left, state.disputed, state.relevant) == (1, 0, 3, 0, 0)
    assert not list_disputes(log) and load_grades(log, "1") == ({"d1-0": 0.0}, 1)
    assert left_of(log, "bob") == {"1": 2} and len(judge_all(AssessorSession(log, "bob"), 2)) == 2
    assert [len(one.opinions) for one in list_disputes(log)] == [2]


def test_who_is_marked_as_a_model_later_is_counted_no_more(log: JudgmentLog) -> None:
    with_pairs(log, 1, 3)
    judge_all(AssessorSession(log, "gpt"))
    ada = AssessorSession(log, "ada")
    assert ada.next() is None
    log.mark_model("gpt")
    assert left_of(log, "ada") == {"1": 3} and compute_progress(log).complete == 0
    assert len(judge_all(ada)) == 3


def test_a_model_that_looks_at_a_document_keeps_nobody_from_it(log: JudgmentLog) -> None:
    with_pairs(log, 1, 1)
    log.mark_model("gpt")
    assert AssessorSession(log, "gpt").next() is not None and AssessorSession(log, "ada").next() is not None


@pytest.mark.parametrize("n", [6, 300])
def test_what_others_judged_is_not_left_whether_somebody_has_begun_or_not(log: JudgmentLog, n: int) -> None:
    with_pairs(log, 1, n)
    grace = AssessorSession(log, "grace")
    grace.next()
    grace.release_holds()
    judge_all(AssessorSession(log, "ada"))
    assert [(one.places, one.left) for one in AssessorSession(log, "bob").topics()] == [(n, 0)]
    assert [(one.places, one.left) for one in grace.topics()] == [(n, 0)] and left_of(log, "grace") == {"1": 0}


def test_documents_that_join_are_left_before_somebody_comes_to_them(log: JudgmentLog) -> None:
    with_pairs(log, 1, 2)
    ada = AssessorSession(log, "ada")
    judge_all(ada)
    log.add_pairs({"1": ["x", "y", "z"]})
    assert [(one.places, one.left) for one in ada.topics()] == [(5, 3)] and left_of(log, "ada") == {"1": 3}


def test_what_was_imported_into_a_dealt_log_is_not_left(log: JudgmentLog) -> None:
    with_pairs(log, 1, 3, judgments=2)
    assign_evenly(log, ["ada", "bob"])
    for i in range(3):
        judged(log, "ada", f"d1-{i}")
    assert left_of(log, "ada") == {"1": 0} and left_of(log, "bob") == {"1": 3}


def test_a_topic_that_was_taken_is_left_for_nobody_else_but_what_was_on_the_desk_is_recorded(log: JudgmentLog) -> None:
    with_pairs(log, 1, 3)
    assign(log, [Assignment("ada", "1")])
    ada, bob = AssessorSession(log, "ada"), AssessorSession(log, "bob")
    item = ada.next()
    assert item is not None
    unassign(log, "ada")
    assign(log, [Assignment("bob", "1")])
    assert [one.left for one in compute_progress(log).assessors if one.assessor == "ada"] == [None]
    assert log.read(lambda db: db.value("SELECT COUNT(*) FROM holds")) == 0
    saved = ada.save("judge", "1", item.place, 2)
    assert (saved.event.grade, saved.next, saved.left) == (2, None, 0)
    assert item.doc not in judge_all(bob)


def test_what_was_imported_of_a_topic_of_others_can_be_undone(log: JudgmentLog) -> None:
    with_pairs(log, 2, 2)
    assign(log, [Assignment("ada", "2"), Assignment("bob", "1")])
    ada = AssessorSession(log, "ada")
    first = ada.next()
    assert first is not None
    ada.save("judge", "2", first.place, 1)
    log.append(Event("k", "judge", "ada", "1", "d1-0", 1, judged_at="2999", recorded_at="2999"))
    undone = [ada.undo(), ada.undo()]
    assert [item and item.doc for item in undone] == ["d1-0", first.doc]
    assert (
        log.read(lambda db: db.value("SELECT COUNT(*) FROM holds h JOIN pairs p ON p.pair = h.pair AND query = '1'"))
        == 0
    )


def test_a_full_pair_is_not_left_for_who_takes_a_judgment_of_it_back(log: JudgmentLog) -> None:
    with_pairs(log, 1, 2)
    assign(log, [Assignment("bob", "1"), Assignment("ada", "1", 1)])
    judged(log, "ada", "d1-0")
    judged(log, "bob", "d1-0")
    ada = AssessorSession(log, "ada")
    assert ada.undo() is not None
    assert left_of(log, "ada") == {"1": 0} and ada.next() is None


def test_who_opens_what_they_judged_keeps_nobody_from_it(log: JudgmentLog) -> None:
    with_pairs(log, 1, 1, judgments=2)
    ada = AssessorSession(log, "ada")
    judge_all(ada)
    ada.add_found("1", "d1-0", "words")
    assert AssessorSession(log, "grace").next() is not None


def test_no_hours_are_left_where_nobody_can_judge_what_is(log: JudgmentLog) -> None:
    from cranfield.annotation import Submission

    with_pairs(log, 1, 2)
    for name in ("ada", "bob"):
        session = AssessorSession(log, name)
        while (item := session.next()) is not None:
            kind = "cannot" if item.doc == "d1-0" else "judge"
            session.save(kind, "1", item.place, 1 if kind == "judge" else None, submission=Submission(active_ms=60_000))
    assert compute_progress(log).wanted == 1 and compute_progress(log).hours_left == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_left_is_what_the_places_tell_once_all_are_made(tmp_path: Path, seed: int) -> None:
    # models among the assessors, topics given and taken, seats and numbers of judgments changed in the middle
    rng = random.Random(seed)
    places = "SELECT COUNT(*) FROM places WHERE assessor = ? AND query = ? AND status IN ('open', 'waiting')"
    with open_log(tmp_path / "log.db") as log:
        log.configure(Settings(judgments=rng.choice([1, 2]), repeats=0.3, hold=1e-6))
        log.add_pairs({query: [f"d{i}" for i in range(8)] for query in "12"})
        names = ("ada", "bob", "cy")
        for step in range(40):
            name, query, dice = rng.choice(names), rng.choice("12"), rng.random()
            session = AssessorSession(log, name)
            if dice < 0.6 and (item := session.next()) is not None:
                kind = rng.choice(["judge", "judge", "judge", "cannot", "skip"])
                session.save(kind, item.query, item.place, 1 if kind == "judge" else None)
            elif dice < 0.66:
                session.undo()
            elif dice < 0.72:
                assign(log, [Assignment(name, query, rng.choice([0, 0, 1]))])
            elif dice < 0.76:
                unassign(log, name, [query])
            elif dice < 0.8:
                log.configure(Settings(judgments=rng.choice([1, 2, 3]), overlap=rng.choice([0, 0.5]), repeats=0.3))
            elif dice < 0.84:
                log.add_pairs({query: [f"new{step}-{i}" for i in range(3)]})
            elif dice < 0.9:
                judged(log, name, f"d{rng.randrange(8)}", 1, query)
            elif dice < 0.92:
                log.mark_model("cy")
            for who in names:
                told = left_of(log, who)
                if rng.random() < 0.3:
                    for topic in AssessorSession(log, who).topics():
                        AssessorSession(log, who).prepare(topic.query)
                        laid = log.read(lambda db, who=who, q=topic.query: db.value(places, who, q))
                        size = log.read(
                            lambda db, who=who, q=topic.query: db.value(
                                "SELECT length FROM orders WHERE assessor = ? AND query = ?", who, q
                            )
                        )
                        after = {one.query: one for one in AssessorSession(log, who).topics()}[topic.query]
                        assert (after.left, after.places) == (laid, size)
                        assert told[topic.query] <= laid  # repeats are chosen when an order is made
