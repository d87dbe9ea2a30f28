"""Places are laid out bit by bit: whatever happens meanwhile, it is as if all of them had been there at once."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cranfield.annotation import (
    AssessorSession,
    JudgmentLog,
    Settings,
    Submission,
    assign_evenly,
    compute_progress,
    open_log,
    presentation_order,
)
from cranfield.annotation.packet import load_places
from tests.annotation.conftest import judge_all, with_pairs
from tests.waiting import TIMEOUT

NAMES = ("ada", "bob", "cora")


def laid(log: JudgmentLog) -> list[Any]:
    return log.read(
        lambda db: db.rows("SELECT assessor, query, place, pair, again, status, later FROM places ORDER BY 1, 2, 3")
    )


def acts(log: JudgmentLog, seed: int) -> list[object]:
    """What some judges get to see while all kinds of things happen, by chance but the same for the same seed."""
    rng = random.Random(seed)
    log.configure(Settings(judgments=rng.choice([1, 2]), overlap=0.2, repeats=0.15, hold=1e-6, seed=seed))
    log.add_pairs({query: [f"d{query}-{i}" for i in range(40)] for query in "12"})
    if rng.random() < 0.3:
        assign_evenly(log, NAMES)
    desks = {name: AssessorSession(log, name) for name in NAMES}
    seen: list[object] = []
    for step in range(70):
        name = rng.choice(NAMES)
        session, dice = desks[name], rng.random()
        item = session.next() if dice > 0.15 else None
        if item is not None:
            kind = rng.choices(["judge", "cannot", "skip", "note"], [8, 1, 2, 1])[0]
            grade = float(rng.randrange(4)) if kind == "judge" else None
            saved = session.save(
                kind, item.query, item.place, grade, "x" if kind == "note" else None, Submission(key=f"{step}")
            )
            item = saved.next
        elif dice < 0.05:
            item = session.undo(Submission(key=f"u{step}"))
        elif dice < 0.07:
            log.add_pairs({"1": [f"new{step}-{i}" for i in range(rng.randrange(15))]})
        elif dice < 0.09:
            log.configure(
                Settings(judgments=rng.choice([1, 2, 3]), overlap=rng.choice([0, 0.5]), repeats=0.15, hold=1e-6)
            )
        elif dice < 0.11:
            log.add_gold({"1": {f"d1-{rng.randrange(40)}": 1.0, f"gold{step}": 2.0}})
        elif dice < 0.13 and session.topics():
            item = session.add_found(
                session.topics()[0].query, f"d1-{rng.randrange(60)}", "words", Submission(key=f"f{step}")
            )
        else:
            log.rebuild()
        seen.append((name, item and (item.query, item.doc, item.place, item.places, item.kind, item.grade, item.note)))
    for name, session in desks.items():
        for topic in session.topics():
            session.prepare(topic.query)
        seen.append((name, session.topics()))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_bit_by_bit_is_as_if_all_had_been_there_at_once(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for together in (3, 11, 1_000):
        monkeypatch.setattr(presentation_order, "_CHUNK", together)
        with open_log(tmp_path / f"{together}.db") as log:
            seen = acts(log, seed)
            before = laid(log)
            log.rebuild()
            assert laid(log) == before
            found.append((seen, before))
    assert found[0] == found[2] and found[1] == found[2]


@pytest.mark.parametrize("seed", range(4))
def test_what_follows_from_the_log_is_the_same_when_it_is_worked_out_anew(seed: int, tmp_path: Path) -> None:
    # judges look at the same document at the same time, judge too many, skip, and take back first and second judgments
    rng = random.Random(seed)
    with open_log(tmp_path / "log.db") as log:
        log.configure(Settings(judgments=2, repeats=0.3, hold=1e-6))
        log.add_pairs({"1": [f"d{i}" for i in range(12)]})
        desks = [AssessorSession(log, name) for name in (*NAMES, "dora")]
        items: dict[str, Any] = {}
        for _ in range(110):
            session, dice = rng.choice(desks), rng.random()
            item = items.get(session.assessor)
            if item is None or dice < 0.25:
                items[session.assessor] = session.next("1")
            elif dice < 0.4:
                items[session.assessor] = session.undo()
            else:
                kind = "judge" if dice < 0.9 else "skip"
                items[session.assessor] = session.save(kind, "1", item.place, 1 if kind == "judge" else None).next
            before = laid(log)
            log.rebuild()
            assert laid(log) == before


def test_the_same_holds_in_postgresql(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for together in (7, 1_000):
        monkeypatch.setattr(presentation_order, "_CHUNK", together)
        with open_log(f"{postgres}?schema=t{uuid4().hex[:20]}") as log:
            found.append((acts(log, 5), laid(log)))
    with open_log(tmp_path / "log.db") as log:
        found.append((acts(log, 5), laid(log)))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("is_undone", [False, True])
def test_a_pair_that_somebody_judges_while_its_place_is_made_is_neither_lost_nor_left_over(
    postgres: str, is_undone: bool
) -> None:
    with open_log(f"{postgres}?schema=t{uuid4().hex[:20]}") as log:
        with_pairs(log, 1, 1)
        ada, bob = AssessorSession(log, "ada"), AssessorSession(log, "bob")
        bob.next("1")
        if is_undone:
            bob.save("judge", "1", 1, 2)
        is_made, may_end = threading.Event(), threading.Event()

        def slowly(db: Any) -> None:
            ada._order(db, Settings(), "1")
            is_made.set()
            may_end.wait(TIMEOUT)

        thread = threading.Thread(target=log.write, args=(slowly,))
        thread.start()
        assert is_made.wait(TIMEOUT)
        if is_undone:
            bob.undo()
            log.write(lambda db: db.run("DELETE FROM holds"))
        else:
            bob.save("judge", "1", 1, 2)
        may_end.set()
        thread.join()
        item = ada.next("1")
        assert (item is not None) == is_undone
        assert ada.topics()[0].left == int(is_undone)


def test_the_first_document_of_a_long_topic_makes_few_places(log: JudgmentLog) -> None:
    with_pairs(log, 1, 1000, repeats=0.1)
    session = AssessorSession(log, "ada")
    item = session.next("1")
    assert item is not None and (item.place, item.places, item.left) == (1, 1100, 1100)
    assert len(laid(log)) == presentation_order._CHUNK
    (topic,) = session.topics()
    assert (topic.places, topic.left, topic.skipped) == (1100, 1100, 0)
    (one,) = compute_progress(log).assessors
    assert one.left == 1100
    item = session.save("judge", "1", 1, 2).next
    assert item is not None and (item.place, item.left) == (2, 1099)
    assert len(laid(log)) == 2 * presentation_order._CHUNK
    assert session.item_at("1", 1100).place == 1100  # one that is far ahead can be looked at
    assert len(laid(log)) == 1100 and len(load_places(log, "ada")["1"]) == 1099


def test_everything_of_a_long_topic_is_judged_once_by_those_who_share_it(log: JudgmentLog) -> None:
    with_pairs(log, 1, 450)
    seen = judge_all(AssessorSession(log, "ada"))[:0]
    ada, bob = AssessorSession(log, "bob"), AssessorSession(log, "cora")
    assert ada.next("1") is None and bob.next("1") is None
    log.add_pairs({"1": [f"more{i}" for i in range(450)]})
    while True:
        for session in (ada, bob):
            item = session.next("1")
            if item is not None:
                seen.append(item.doc)
                session.save("judge", "1", item.place, 1)
        if item is None:
            break
    assert sorted(seen) == sorted(f"more{i}" for i in range(450))
    assert [topic.left for session in (ada, bob) for topic in session.topics()] == [0, 0]
