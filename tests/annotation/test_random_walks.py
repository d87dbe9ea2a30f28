"""Several people at random: nobody is told that all is done while something is left, and in the end all is judged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from cranfield.annotation import AssessorSession, Item, JudgmentLog, Settings, open_log
from cranfield.annotation import assessor_session as session_module
from cranfield.base import replace
from tests.soak import SOAK

HOLD = 100.0
ACTS = ("next", "judge", "judge", "judge", "cannot", "skip", "undo", "leave", "wait", "add", "plan", "found")


class Clock:
    """Time that passes when it is told to."""

    now = 1e9

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(session_module, "time", made)
    return made


class Walk:
    """People who judge, put off, take back, leave, search, while pairs are added and plans changed."""

    def __init__(self, log: JudgmentLog, clock: Clock, seed: int) -> None:
        self.log, self.clock, self.chance = log, clock, random.Random(seed)
        repeats = self.chance.choice([0.0, 0.4])
        self.settings = Settings(hold=HOLD, seed=seed, repeats=repeats)
        self.docs = {query: [f"d{i}" for i in range(self.chance.randint(1, 6))] for query in "12"}
        log.add_pairs(self.docs)
        self.plan()
        self.desks = [AssessorSession(log, name) for name in ("ada", "bob", "cy", "dee")[: self.chance.randint(1, 4)]]
        self.shown: dict[str, Item | None] = {}

    def step(self) -> AssessorSession:
        """Somebody does something; who it was."""
        session, act = self.chance.choice(self.desks), self.chance.choice(ACTS)
        item = self.shown.get(session.assessor)
        if act in ("judge", "cannot", "skip") and item is not None:
            item = session.save(act, item.query, item.place, 1 if act == "judge" else None).next
        elif act in ("next", "judge", "cannot", "skip"):
            item = session.next(self.chance.choice([None, *self.docs]))
        elif act == "undo":
            item = session.undo() or item
        elif act == "leave":
            session.release_holds()
            item = None
        elif act == "wait":
            self.clock.now += HOLD + 1
        elif act == "plan":
            self.plan()
        else:
            item = self.more(session) if act == "found" else self.add() or item
        self.shown[session.assessor] = item
        return session

    def plan(self) -> None:
        chosen = {"judgments": self.chance.choice([1, 1, 2, 3]), "overlap": self.chance.choice([0.0, 0.3, 1.0])}
        self.settings = replace(self.settings, **chosen)
        self.log.configure(self.settings)

    def add(self) -> None:
        query = self.chance.choice(list(self.docs))
        self.docs[query].append(f"d{len(self.docs[query])}")
        self.log.add_pairs({query: self.docs[query]})

    def more(self, session: AssessorSession) -> Item:
        query = self.chance.choice(list(self.docs))
        doc = self.chance.choice([*self.docs[query], f"d{len(self.docs[query])}"])
        self.docs[query] = list(dict.fromkeys([*self.docs[query], doc]))
        return session.add_found(query, doc, "words")

    def rounds(self) -> Iterator[int]:
        """Everybody judges whatever there is; how much it was, until it is nothing."""
        done = 1
        while done:
            done = 0
            for session in self.desks:
                self.clock.now += HOLD + 1
                while (item := session.next()) is not None:
                    session.save("judge", item.query, item.place, 1)
                    done += 1
            yield done


def left(session: AssessorSession) -> int:
    return sum(topic.left for topic in session.topics())


def held_by_others(log: JudgmentLog, session: AssessorSession, now: float) -> int:
    held = "SELECT COUNT(*) FROM holds WHERE assessor <> ? AND until > ?"
    return int(log.read(lambda db: db.value(held, session.assessor, now)))


@pytest.mark.soak("judges")
@pytest.mark.parametrize("seed", range(1000 if SOAK else 25))
def test_who_gets_nothing_has_nothing_left_but_what_others_hold_and_all_is_judged_in_the_end(
    tmp_path: Path, clock: Clock, seed: int
) -> None:
    with open_log(tmp_path / "log.db") as log:
        walk = Walk(log, clock, seed)
        for _ in range(40):
            session = walk.step()
            if walk.shown[session.assessor] is None and session.next() is None and left(session):
                assert held_by_others(log, session, clock.now)
        assert sum(walk.rounds()) < 1000
        assert [left(session) for session in walk.desks] == [0] * len(walk.desks)
        unable = {(event.query, event.doc) for event in log.events() if event.kind == "cannot"}
        rows = log.read(lambda db: db.rows("SELECT query, doc, judged, wanted FROM pairs"))
        assert sum(map(len, walk.docs.values())) == len(rows)
        for query, doc, judged, wanted in rows:
            assert judged >= min(wanted, len(walk.desks)) or (query, doc) in unable
