"""The log: the last event counts, undo is an event, the same key is the same act, and what is derived follows."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.annotation import (
    AssessorSession,
    Event,
    JudgingError,
    JudgmentLog,
    JudgmentState,
    Settings,
    Submission,
    adjudicate,
    export_qrels,
    open_log,
    undo_adjudication,
)
from cranfield.annotation.events import reduce_events
from cranfield.annotation.log import count_wanted
from cranfield.errors import InputError
from tests.annotation.conftest import judge_all, with_pairs
from tests.soak import examples


def event(key: str, kind: str, grade: float | None = None, **more: object) -> Event:
    return Event(key, kind, "ada", "1", "a", grade, **more)  # type: ignore[arg-type]


def test_the_last_event_is_the_state() -> None:
    events = [event("1", "judge", 2.0), event("2", "skip"), event("3", "judge", 0.0)]
    assert reduce_events(events).grade == 0.0 and reduce_events(events).is_done
    assert reduce_events(events[:2]) == JudgmentState("skip") and not reduce_events(events[:2]).is_done


def test_undo_brings_back_what_was_before() -> None:
    events = [event("1", "judge", 2.0), event("2", "judge", 0.0), event("3", "undo", undoes="2")]
    assert reduce_events(events).grade == 2.0
    assert reduce_events([*events, event("4", "undo", undoes="1")]) == JudgmentState()


def test_cannot_judge_is_no_grade() -> None:
    state = reduce_events([event("1", "judge", 2.0), event("2", "cannot")])
    assert (state.kind, state.grade) == ("cannot", None)
    with pytest.raises(InputError, match="must not have a grade"):
        event("3", "cannot", 0.0)


def test_a_note_leaves_the_grade_and_a_grade_leaves_the_note() -> None:
    events = [event("1", "judge", 2.0), event("2", "note", note="hm"), event("3", "judge", 1.0)]
    assert (reduce_events(events).grade, reduce_events(events).note) == (1.0, "hm")
    assert reduce_events([*events, event("4", "note", note="")]).note == ""
    assert reduce_events([*events, event("5", "undo", undoes="2")]).note == ""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kind": "judge"}, "needs a grade"),
        ({"kind": "guess"}, "expected one of judge"),
        ({"kind": "undo"}, "needs the key of the event"),
        ({"kind": "skip", "doc": None}, "needs a query and a document"),
        ({"kind": "skip", "key": ""}, "1 to 200"),
        ({"kind": "note", "note": "x" * 20_001}, "at most 20,000"),
    ],
)
def test_an_event_that_makes_no_sense_is_refused(given: dict[str, object], told: str) -> None:
    values = {"key": "k", "assessor": "ada", "query": "1", "doc": "a"} | given
    with pytest.raises(InputError, match=told):
        Event(**values)  # type: ignore[arg-type]


def test_the_same_key_again_is_the_same_event(log: JudgmentLog) -> None:
    session = AssessorSession(with_pairs(log, 1, 5), "ada")
    item = session.next()
    assert item is not None
    submission = Submission(key="once", method="key")
    first = session.save("judge", item.query, item.place, 2, submission=submission)
    second = session.save("judge", item.query, item.place, 2, submission=submission)
    assert first == second and len(list(log.events())) == 1
    with pytest.raises(JudgingError, match="is used by another event"):
        session.save("judge", item.query, item.place, 3, submission=submission)
    undo = Submission(key="back")
    assert session.undo(undo) == session.undo(undo)
    assert [one.kind for one in log.events()] == ["judge", "undo"]


def test_the_same_key_from_many_threads_is_recorded_once(log: JudgmentLog) -> None:
    session = AssessorSession(with_pairs(log, 1, 5), "ada")
    item = session.next()
    assert item is not None
    together(8, lambda _: session.save("judge", item.query, item.place, 2, submission=Submission(key="once")))
    assert len(list(log.events())) == 1


def together(n: int, work: object) -> None:
    failed: list[BaseException] = []

    def run(i: int) -> None:
        try:
            work(i)  # type: ignore[operator]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_many_judges_at_once_lose_nothing_and_double_nothing(log: JudgmentLog) -> None:
    with_pairs(log, 2, 24, judgments=2)
    confirmed: list[tuple[str, str, str]] = []

    def work(i: int) -> None:
        session = AssessorSession(log, f"judge{i}")
        for _ in range(12):
            item = session.next()
            if item is None:
                return
            session.save("judge", item.query, item.place, i % 4)
            confirmed.append((session.assessor, item.query, item.doc))

    together(6, work)
    assert sorted((one.assessor, one.query, one.doc) for one in log.judgments()) == sorted(confirmed)
    assert len(list(log.events())) == len(confirmed) == len(set(confirmed))
    # held documents are given to nobody else: no pair has more judgments than it is to get
    assert max(pair.judged for pair in log.pairs()) == 2


def snapshot(log: JudgmentLog) -> list[object]:
    tables = ("states", "pairs", "places")
    rows = [log.read(lambda db, t=table: db.rows(f"SELECT * FROM {t}")) for table in tables]  # type: ignore[misc]
    return [sorted(found, key=repr) for found in rows]


def at_random(log: JudgmentLog, rng: random.Random, steps: int) -> None:
    """Three judges and an adjudicator do whatever comes to their minds."""
    desks = [AssessorSession(log, name) for name in ("ada", "bob", "cyd")]
    for _ in range(steps):
        session = rng.choice(desks)
        item = session.next(rng.choice(["1", "2"]))
        act = rng.choice(
            ["judge"] * 5 + ["cannot", "skip", "note", "undo", "undo", "back", "adjudicate", "found", "overrule"]
        )
        if act == "undo":
            session.undo()
        elif act == "found":
            session.add_found("1", f"new{rng.randrange(5)}", "words")
        elif act == "overrule":
            undo_adjudication(log, "eve")
        elif item is None:
            continue
        elif act == "adjudicate":
            if all(pair.gold is None for pair in log.pairs(item.query) if pair.doc == item.doc):
                adjudicate(log, "eve", item.query, item.doc, rng.randrange(4))
        elif act == "back":
            for place in session.seen_places(item.query)[-1:]:
                session.save("judge", item.query, place, rng.randrange(4))
        else:
            grade = rng.randrange(4) if act == "judge" else None
            session.save(act, item.query, item.place, grade, note="hm" if act == "note" else None)


@pytest.mark.parametrize("seed", range(6))
def test_everything_derived_follows_from_the_log_alone(log: JudgmentLog, seed: int) -> None:
    with_pairs(log, 2, 8, judgments=1 + seed % 2, overlap=0.3, repeats=0.4)
    log.add_gold({"1": {"gold": 2.0}})
    at_random(log, random.Random(seed), 60)
    before = snapshot(log)
    log.rebuild()
    assert snapshot(log) == before


@pytest.mark.parametrize("seed", range(3))
def test_the_state_of_each_pair_is_what_its_events_come_to(small: JudgmentLog, seed: int) -> None:
    at_random(small, random.Random(seed), 80)
    events = list(small.events())
    own: dict[tuple[str, str, str], list[Event]] = {}
    for one in events:
        if one.query is not None and one.doc is not None:
            own.setdefault((one.assessor, one.query, one.doc), []).append(one)
    expected = {key: state for key, found in own.items() if (state := reduce_events(found)).kind}
    found = {(j.assessor, j.query, j.doc): (j.kind, j.grade, j.note) for j in small.judgments()}
    assert found == {key: (state.kind, state.grade, state.note) for key, state in expected.items()}


@given(before=st.integers(0, 50), n=st.integers(0, 60), share=st.integers(0, 100), judgments=st.integers(1, 3))
@examples(60)
def test_the_share_of_pairs_with_one_more_judgment_is_exact(before: int, n: int, share: int, judgments: int) -> None:
    chosen = Settings(judgments=judgments, overlap=share / 100)
    whole = count_wanted(0, before + n, chosen)
    # in pieces as at once
    assert count_wanted(0, before, chosen) + count_wanted(before, n, chosen) == whole
    assert set(whole) <= {judgments, judgments + 1}
    assert sum(whole) - judgments * len(whole) == (before + n) * share // 100


def test_more_judgments_for_each_pair_open_what_was_full(small: JudgmentLog) -> None:
    judge_all(AssessorSession(small, "ada"))
    bob = AssessorSession(small, "bob")
    assert bob.next() is None
    small.configure(Settings(judgments=2))
    assert len(judge_all(bob)) == 10
    assert {pair.judged for pair in small.pairs()} == {2}


def test_grades_that_were_given_must_stay(small: JudgmentLog) -> None:
    from cranfield.annotation import Scale

    judge_all(AssessorSession(small, "ada"), 3)
    with pytest.raises(JudgingError, match="judged 3: the new scale must include"):
        small.configure(Settings(scale=Scale.of([(0, "no"), (1, "yes")])))
    small.configure(Settings(scale=Scale.of([(0, "no"), (3, "yes"), (4, "oh yes")])))
    assert small.settings.scale.values == (0.0, 3.0, 4.0)


def test_a_pair_that_is_not_in_the_log_cannot_be_judged(small: JudgmentLog) -> None:
    with pytest.raises(JudgingError, match="'z' is not in the pool of query '1'"):
        small.append(Event("k", "judge", "ada", "1", "z", 1.0))
    assert list(small.events()) == []


def test_a_clock_that_went_back_does_not_hide_a_judgment(small: JudgmentLog) -> None:
    session = AssessorSession(small, "ada")
    future = "2999-01-01T00:00:00.000000Z"
    small.append(Event("f", "judge", "ada", "1", "a", 1.0, judged_at=future, recorded_at=future))
    assert export_qrels(small).qrels.to_dict() == {"1": {"a": 1.0}}
    found = session.add_found("1", "a", "anything")
    session.save("judge", "1", found.place, 3)
    assert export_qrels(small).qrels.to_dict() == {"1": {"a": 3.0}}


def test_settings_out_of_range_are_refused() -> None:
    for wrong in ({"judgments": 0}, {"overlap": 1.5}, {"repeats": -1}, {"hold": 0}, {"dispute": 0}):
        with pytest.raises(InputError):
            Settings(**wrong)  # type: ignore[arg-type]


def test_a_log_is_read_while_it_grows(small: JudgmentLog) -> None:
    session = AssessorSession(small, "ada")
    item = session.next()
    assert item is not None
    session.save("judge", item.query, item.place, 1)
    events = small.events()
    first = next(events)
    judge_all(session)
    assert [first, *events] == [first]
    assert len(list(small.events())) == 10


def test_two_processes_share_a_file(tmp_path: Path) -> None:
    one, other = open_log(tmp_path / "log.db"), open_log(tmp_path / "log.db")
    with_pairs(one, 1, 40)
    seen: list[str] = []
    together(2, lambda i: seen.extend(judge_all(AssessorSession((one, other)[i], f"judge{i}"))))
    assert sorted(seen) == sorted(pair.doc for pair in one.pairs())
    one.close()
    other.close()
