"""How far judging is, how fast it goes, and how much judges agree."""

from __future__ import annotations

import json
import re

import pytest

from cranfield.annotation import (
    AssessorSession,
    JudgmentLog,
    Submission,
    adjudicate,
    assign_evenly,
    compute_progress,
    list_assignments,
    measure_agreement,
)
from cranfield.reporting.annotation import status_as_json, status_as_text
from tests.annotation.conftest import with_pairs


def test_progress_counts_topics_and_assessors(log: JudgmentLog) -> None:
    with_pairs(log, 2, 4, judgments=2, dispute=2)
    ada, bob = AssessorSession(log, "ada"), AssessorSession(log, "bob")
    grades = {"d1-0": (0, 3), "d1-1": (1, 1), "d1-2": (2, 2)}
    for who, session in enumerate((ada, bob)):
        while (item := session.next("1")) is not None:
            if item.doc in grades:
                ms = 1000 * item.place if who == 0 else 900_000  # bob went for a walk each time
                session.save("judge", "1", item.place, grades[item.doc][who], submission=Submission(active_ms=ms))
            else:
                session.save("cannot", "1", item.place)
    first = bob.next("2")
    assert first is not None
    bob.save("skip", "2", first.place)
    adjudicate(log, "eve", "1", "d1-0", 2)
    found = compute_progress(log)
    one, two = found.topics
    assert (one.pairs, one.judged, one.complete, one.disputed, one.adjudicated, one.relevant, one.cannot) == (
        (4, 3, 3, 1, 1, 3, 1)
    )
    assert (two.pairs, two.judged) == (4, 0) and (found.pairs, found.judged, found.disputed) == (8, 3, 0)
    by_name = {one.assessor: one for one in found.assessors}
    judged = sorted(item.place for item in ada.own_items() if item.kind == "judge")
    assert by_name["ada"].seconds == judged[1] and by_name["ada"].per_hour == pytest.approx(3600 / judged[1])
    assert (by_name["ada"].judged, by_name["ada"].cannot, by_name["ada"].left) == (3, 1, 4)
    assert (by_name["bob"].seconds, by_name["bob"].skipped, by_name["bob"].left) == (None, 1, 4)
    assert by_name["eve"].judged == 0 and by_name["eve"].last_at is None


def test_what_is_left_is_counted_over_all_topics_where_none_is_dealt(log: JudgmentLog) -> None:
    with_pairs(log, 5, 10, judgments=2)
    assert compute_progress(log).hours_left is None
    for name, n in (("ada", 3), ("bob", 2)):
        session = AssessorSession(log, name)
        for _ in range(n):
            item = session.next("1")
            assert item is not None
            session.save("judge", "1", item.place, 1, submission=Submission(active_ms=36_000))  # 100 in an hour
    found = compute_progress(log)
    assert {one.assessor: one.left for one in found.assessors} == {"ada": 47, "bob": 48}
    assert [one.hours_left for one in found.assessors] == [pytest.approx(0.47), pytest.approx(0.48)]
    assert found.wanted == 95 and found.hours_left == pytest.approx(95 / 200)
    assign_evenly(log, ["ada", "bob"])
    assert compute_progress(log).hours_left == pytest.approx(0.48)  # the one who takes longest


def timed(log: JudgmentLog, name: str, query: str, *seconds: float) -> None:
    """Somebody judges documents of a topic, each in so many seconds."""
    session = AssessorSession(log, name)
    for one in seconds:
        item = session.next(query)
        assert item is not None
        session.save("judge", query, item.place, 1, submission=Submission(active_ms=round(1000 * one)))


def test_pace_is_told_by_topic_and_by_assessor_on_a_topic(log: JudgmentLog) -> None:
    with_pairs(log, 3, 6, judgments=2)
    timed(log, "ada", "1", 10, 20, 30, 400)  # the last with a walk in between, which is no pace
    timed(log, "bob", "1", 50, 70)
    timed(log, "bob", "2", 36)
    found = compute_progress(log)
    one, two, three = found.topics
    assert (one.left, one.timed, one.seconds, one.per_hour) == (6, 5, 30.0, 120.0)  # of 10 20 30 50 70
    assert one.hours_left == pytest.approx(6 * 30 / 3600)
    assert (two.left, two.timed, two.seconds, two.hours_left) == (11, 1, 36.0, pytest.approx(11 * 36 / 3600))
    assert (three.left, three.timed, three.seconds, three.per_hour, three.hours_left) == (12, 0, None, None, None)
    assert found.wanted == 29
    assert [(work.query, work.assessor, work.judged, work.left, work.timed, work.seconds) for work in found.work] == [
        ("1", "ada", 4, 2, 3, 20.0),
        ("1", "bob", 2, 4, 2, 60.0),  # the middle of two is between them
        ("2", "bob", 1, 5, 1, 36.0),
    ]
    assert found.work[0].hours_left == pytest.approx(2 * 20 / 3600)
    by_name = {one.assessor: one for one in found.assessors}
    assert (by_name["bob"].timed, by_name["bob"].seconds) == (3, 50.0)


def test_models_have_no_part_in_the_pace_of_a_topic(log: JudgmentLog) -> None:
    with_pairs(log, 1, 4, judgments=2)
    log.mark_model("gpt")
    timed(log, "gpt", "1", 0.5, 0.5, 0.5)
    timed(log, "ada", "1", 20)
    found = compute_progress(log)
    assert (found.topics[0].timed, found.topics[0].seconds) == (1, 20.0)
    assert [(work.assessor, work.is_model) for work in found.work] == [("ada", False), ("gpt", True)]


def test_topics_that_are_given_to_somebody_are_their_work_before_they_begin(log: JudgmentLog) -> None:
    with_pairs(log, 2, 5)
    assign_evenly(log, ["ada", "bob"])
    owner = {one.query: one.assessor for one in list_assignments(log)}
    work = compute_progress(log).work
    assert [(one.query, one.assessor, one.judged, one.left, one.seconds) for one in work] == [
        (query, owner[query], 0, 5, None) for query in ("1", "2")
    ]


def test_the_terminal_tells_pace_by_topic_and_by_assessor_on_a_topic(log: JudgmentLog) -> None:
    with_pairs(log, 2, 6)
    timed(log, "ada", "1", 30, 30, 30, 30, 36)
    timed(log, "bob", "2", 36)
    text = status_as_text(log, width=200)
    assert re.search(r"^Topic +Pairs .* Left +Seconds +Hours left$", text, re.MULTILINE)
    assert re.search(r"^1 +6 .* 1 +30\.0 +0\.0$", text, re.MULTILINE)
    assert re.search(r"^2 +bob +1 +0 +0 +5 +36\.0 \(1\) +0\.1$", text, re.MULTILINE)  # rough: one was timed
    found = json.loads(status_as_json(log))
    assert [one["seconds"] for one in found["topics"]] == [30.0, 36.0]
    assert [(one["assessor"], one["query"], one["timed"]) for one in found["work"]] == [
        ("ada", "1", 5),
        ("bob", "2", 1),
    ]


def test_gold_and_repeats_show_how_right_and_how_consistent_somebody_is(log: JudgmentLog) -> None:
    with_pairs(log, 1, 6, repeats=0.5)
    log.add_gold({"1": {"g1": 2.0, "g2": 0.0}})
    session = AssessorSession(log, "ada")
    seen: set[str] = set()
    while (item := session.next("1")) is not None:
        session.save("judge", "1", item.place, 1 if item.doc in seen else 2)  # another grade the second time
        seen.add(item.doc)
    (ada,) = compute_progress(log).assessors
    assert ada.gold == (1, 2) and ada.repeats == (0, 3)
    assert ada.judged == 6 and compute_progress(log).pairs == 6


def test_agreement_is_that_of_pairs_judged_by_several(log: JudgmentLog) -> None:
    with_pairs(log, 1, 4, judgments=2)
    assert measure_agreement(log) == {}
    grades = {"d1-0": (0, 0), "d1-1": (1, 1), "d1-2": (1, 0), "d1-3": (2, 2)}
    for who, name in enumerate(("ada", "bob")):
        session = AssessorSession(log, name)
        while (item := session.next()) is not None:
            session.save("judge", "1", item.place, grades[item.doc][who])
    found = measure_agreement(log)
    # as in the doctest of stats.agreement.figures, but on the scale 0 to 3
    assert found["percent"].value == 0.75 and found["kappa"].value == pytest.approx(0.6364, abs=1e-4)
    log.mark_model("bob")
    assert measure_agreement(log) == {}


def test_an_empty_log_has_progress_too(log: JudgmentLog) -> None:
    found = compute_progress(log)
    assert (found.pairs, found.judged, found.topics, found.assessors) == (0, 0, (), ())
