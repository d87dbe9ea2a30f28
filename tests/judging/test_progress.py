"""How far judging is, how fast it goes, and how much judges agree."""

from __future__ import annotations

import pytest

from cranfield.judging import Desk, JudgmentLog, Trace, adjudicate, agreement, deal, progress
from tests.judging.conftest import with_pairs


def test_progress_counts_topics_and_assessors(log: JudgmentLog) -> None:
    with_pairs(log, 2, 4, judgments=2, dispute=2)
    ada, bob = Desk(log, "ada"), Desk(log, "bob")
    grades = {"d1-0": (0, 3), "d1-1": (1, 1), "d1-2": (2, 2)}
    for who, desk in enumerate((ada, bob)):
        while (item := desk.next("1")) is not None:
            if item.doc in grades:
                ms = 1000 * item.place if who == 0 else 900_000  # bob went for a walk each time
                desk.save("judge", "1", item.place, grades[item.doc][who], trace=Trace(active_ms=ms))
            else:
                desk.save("cannot", "1", item.place)
    first = bob.next("2")
    assert first is not None
    bob.save("skip", "2", first.place)
    adjudicate(log, "eve", "1", "d1-0", 2)
    found = progress(log)
    one, two = found.topics
    assert (one.pairs, one.judged, one.complete, one.disputed, one.adjudicated, one.relevant, one.cannot) == (
        (4, 3, 3, 1, 1, 3, 1)
    )
    assert (two.pairs, two.judged) == (4, 0) and (found.pairs, found.judged, found.disputed) == (8, 3, 0)
    by_name = {one.assessor: one for one in found.assessors}
    judged = sorted(item.place for item in ada.own() if item.kind == "judge")
    assert by_name["ada"].seconds == judged[1] and by_name["ada"].per_hour == pytest.approx(3600 / judged[1])
    assert (by_name["ada"].judged, by_name["ada"].cannot, by_name["ada"].left) == (3, 1, 4)
    assert (by_name["bob"].seconds, by_name["bob"].skipped, by_name["bob"].left) == (None, 1, 4)
    assert by_name["eve"].judged == 0 and by_name["eve"].last_at is None


def test_what_is_left_is_counted_over_all_topics_where_none_is_dealt(log: JudgmentLog) -> None:
    with_pairs(log, 5, 10, judgments=2)
    assert progress(log).hours_left is None
    for name, n in (("ada", 3), ("bob", 2)):
        desk = Desk(log, name)
        for _ in range(n):
            item = desk.next("1")
            assert item is not None
            desk.save("judge", "1", item.place, 1, trace=Trace(active_ms=36_000))  # 100 in an hour
    found = progress(log)
    assert {one.assessor: one.left for one in found.assessors} == {"ada": 47, "bob": 48}
    assert [one.hours_left for one in found.assessors] == [pytest.approx(0.47), pytest.approx(0.48)]
    assert found.wanted == 95 and found.hours_left == pytest.approx(95 / 200)
    deal(log, ["ada", "bob"])
    assert progress(log).hours_left == pytest.approx(0.48)  # the one who takes longest


def test_gold_and_repeats_show_how_right_and_how_consistent_somebody_is(log: JudgmentLog) -> None:
    with_pairs(log, 1, 6, repeats=0.5)
    log.add_gold({"1": {"g1": 2.0, "g2": 0.0}})
    desk = Desk(log, "ada")
    seen: set[str] = set()
    while (item := desk.next("1")) is not None:
        desk.save("judge", "1", item.place, 1 if item.doc in seen else 2)  # another grade the second time
        seen.add(item.doc)
    (ada,) = progress(log).assessors
    assert ada.gold == (1, 2) and ada.repeats == (0, 3)
    assert ada.judged == 6 and progress(log).pairs == 6


def test_agreement_is_that_of_pairs_judged_by_several(log: JudgmentLog) -> None:
    with_pairs(log, 1, 4, judgments=2)
    assert agreement(log) == {}
    grades = {"d1-0": (0, 0), "d1-1": (1, 1), "d1-2": (1, 0), "d1-3": (2, 2)}
    for who, name in enumerate(("ada", "bob")):
        desk = Desk(log, name)
        while (item := desk.next()) is not None:
            desk.save("judge", "1", item.place, grades[item.doc][who])
    found = agreement(log)
    # as in the doctest of stats.agreement.figures, but on the scale 0 to 3
    assert found["percent"].value == 0.75 and found["kappa"].value == pytest.approx(0.6364, abs=1e-4)
    log.mark_model("bob")
    assert agreement(log) == {}


def test_an_empty_log_has_progress_too(log: JudgmentLog) -> None:
    found = progress(log)
    assert (found.pairs, found.judged, found.topics, found.assessors) == (0, 0, (), ())
