"""Adaptive pools: documents join as judgments arrive."""

from __future__ import annotations

from cranfield.judging import Desk, JudgmentLog, feeder
from cranfield.judging.adaptive import askers_of, grades
from tests.judging.conftest import with_pairs

RUNS = {
    "good": {"1": {f"r{i}": 30.0 - i for i in range(15)}},
    "bad": {"1": {f"n{i}": 30.0 - i for i in range(15)}},
}


def test_a_strategy_is_asked_for_more_when_everything_is_judged(log: JudgmentLog) -> None:
    log.add_pairs({"1": ["r0", "n0"]})
    askers = askers_of(RUNS, "mm-ns", depth=15)
    desk = Desk(log, "ada", feed=feeder(log, askers, budget=12, batch=1))
    seen = []
    item = desk.next("1")
    while item is not None:
        seen.append(item.doc)
        item = desk.save("judge", "1", item.place, 2 if item.doc.startswith("r") else 0).next
    assert len(seen) == len(set(seen)) == 12 and set(seen[:2]) == {"r0", "n0"}
    # it learns where relevant documents are
    assert sum(doc.startswith("r") for doc in seen) > 6
    assert [pair.doc for pair in log.pairs()][:2] == ["r0", "n0"] and len(log.pairs()) == 12


def test_what_nobody_can_judge_is_not_asked_for_again(log: JudgmentLog) -> None:
    log.add_pairs({"1": ["r0", "n0"]})
    desk = Desk(log, "ada", feed=feeder(log, askers_of(RUNS, "mm", depth=3)))
    item = desk.next("1")
    seen = []
    while item is not None:
        seen.append(item.doc)
        item = desk.save("cannot", "1", item.place).next
    assert sorted(seen) == ["n0", "n1", "n2", "r0", "r1", "r2"]


def test_nothing_is_asked_for_while_others_still_judge(log: JudgmentLog) -> None:
    with_pairs(log, 1, 2)
    asked: list[str] = []
    ada, bob = Desk(log, "ada", feed=lambda query: asked.append(query) or 0), Desk(log, "bob")  # type: ignore[func-returns-value]
    one, other = ada.next("1"), bob.next("1")
    assert one is not None and other is not None and asked == []
    assert ada.save("judge", "1", one.place, 1).next is None and asked == ["1"]
    feed = feeder(log, askers_of(RUNS, "mm", depth=3))
    assert feed("1") == 0 and feed("no such topic") == 0
    assert grades(log, "1")[1] == 1
