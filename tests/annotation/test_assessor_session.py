"""What one assessor sees and does; and never sees."""

from __future__ import annotations

import json

import pytest

from cranfield.annotation import (
    AssessorSession,
    Item,
    JudgingError,
    JudgmentLog,
    Settings,
    Submission,
    assign,
    export_qrels,
)
from cranfield.annotation import assessor_session as session_module
from cranfield.annotation.assignment import Assignment, assign_evenly, balance_topics, list_assignments, unassign
from cranfield.base import Record, as_dict, field_names
from cranfield.errors import InputError
from tests.annotation.conftest import judge_all, with_pairs


def test_saving_goes_on_to_the_next_document(log: JudgmentLog) -> None:
    with_pairs(log, 1, 3)
    session = AssessorSession(log, "ada")
    first = session.next()
    assert first is not None and (first.place, first.places, first.left) == (1, 3, 3)
    saved = session.save("judge", "1", 1, 2)
    assert saved.next is not None and (saved.next.place, saved.left) == (2, 2)
    saved = session.save("judge", "1", 2, 0)
    saved = session.save("judge", "1", 3, 3)
    assert saved.next is None and saved.left == 0 and session.next() is None


def test_what_is_meant_for_a_document_is_recorded_for_no_other(log: JudgmentLog) -> None:
    with_pairs(log, 1, 3)
    session = AssessorSession(log, "ada")
    first = session.next()
    assert first is not None
    other = session.item_at("1", 2).doc
    with pytest.raises(JudgingError, match=f"is '{first.doc}', not '{other}': nothing was recorded"):
        session.save("judge", "1", 1, 2, doc=other)
    assert list(log.events()) == []
    assert session.save("judge", "1", 1, 2, doc=first.doc, submission=Submission("k")).event.doc == first.doc
    with pytest.raises(JudgingError, match="no longer the last action"):
        session.undo(undoes="other")
    undone = session.undo(undoes="k")
    assert undone is not None and undone.doc == first.doc
    with pytest.raises(JudgingError, match="no longer the last action"):
        session.undo(undoes="k")
    assert [event.kind for event in log.events()] == ["judge", "undo"]


def test_what_is_recorded_tells_how_it_came_about(log: JudgmentLog) -> None:
    with_pairs(log, 1, 1)
    submission = Submission("k", "2026-03-01T10:00:00+01:00", "2026-03-01T09:00:07.5Z", 7500, "touch", "packet 9")
    session = AssessorSession(log, "ada")
    session.next()
    event = session.save("judge", "1", 1, 2, "a remark", submission).event
    assert event == next(log.events())
    assert (event.shown_at, event.judged_at) == ("2026-03-01T09:00:00.000000Z", "2026-03-01T09:00:07.500000Z")
    assert (event.active_ms, event.method, event.version, event.note) == (7500, "touch", "packet 9", "a remark")
    assert event.recorded_at > event.judged_at
    with pytest.raises(InputError, match="not an ISO 8601 time"):
        session.save("judge", "1", 1, 2, submission=Submission(shown_at="yesterday"))
    with pytest.raises(InputError, match="active_ms"):
        session.save("judge", "1", 1, 2, submission=Submission(active_ms=-1))


def test_skipped_documents_come_again_at_the_end_in_the_order_of_skipping(log: JudgmentLog) -> None:
    with_pairs(log, 1, 5)
    session = AssessorSession(log, "ada")
    session.next("1")
    for place in (1, 2):
        assert session.save("skip", "1", place).left == 5
    for place in (3, 4):
        session.save("judge", "1", place, 0)
    saved = session.save("judge", "1", 5, 0)
    assert saved.next is not None and (saved.next.place, saved.next.kind) == (1, "skip")
    saved = session.save("skip", "1", 1)
    assert saved.next is not None and saved.next.place == 2
    assert session.topics()[0].skipped == 2


def test_what_was_dealt_with_is_told_by_time_and_a_new_grade_replaces_the_old_one(log: JudgmentLog) -> None:
    with_pairs(log, 1, 5)
    session = AssessorSession(log, "ada")
    session.next("1")
    session.save("judge", "1", 2, 1)
    session.save("skip", "1", 1)
    session.save("cannot", "1", 3, note="empty")
    session.save("note", "1", 4, note="not yet")
    assert session.seen_places("1") == [2, 1, 3] and session.seen_places("2") == []
    assert (session.item_at("1", 3).kind, session.item_at("1", 3).grade, session.item_at("1", 3).note) == (
        "cannot",
        None,
        "empty",
    )
    session.save("judge", "1", 2, 3)
    assert session.item_at("1", 2).grade == 3 and session.seen_places("1") == [1, 3, 2]


def test_undo_takes_back_one_act_after_the_other(log: JudgmentLog) -> None:
    with_pairs(log, 2, 2)
    session = AssessorSession(log, "ada")
    docs = [session.item_at("1", session.next("1").place).doc]  # type: ignore[union-attr]
    session.save("judge", "1", 1, 2)
    session.save("judge", "1", 2, 3)
    session.next("2")
    session.save("skip", "2", 1)
    assert [(item.query, item.place) for item in (session.undo(), session.undo(), session.undo()) if item] == [
        ("2", 1),
        ("1", 2),
        ("1", 1),
    ]
    assert session.undo() is None and log.judgments() == []
    again = session.next("1")
    assert again is not None and again.doc == docs[0]
    assert [one.kind for one in log.events()] == ["judge", "judge", "skip", "undo", "undo", "undo"]


def test_undo_is_of_ones_own_acts_only(log: JudgmentLog) -> None:
    with_pairs(log, 1, 3)
    AssessorSession(log, "ada").next()
    AssessorSession(log, "ada").save("judge", "1", 1, 2)
    assert AssessorSession(log, "bob").undo() is None
    assert len(log.judgments()) == 1


def test_a_document_that_somebody_looks_at_is_not_given_to_others(
    log: JudgmentLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pairs(log, 1, 3, hold=600.0)
    moment = 1_000_000.0
    monkeypatch.setattr(session_module.time, "time", lambda: moment)
    desks = [AssessorSession(log, name) for name in ("ada", "bob", "cyd", "dan")]
    items = [session.next("1") for session in desks]
    assert len({item.doc for item in items if item is not None}) == 3 and items[3] is None
    assert desks[3].topics()[0].left == 3  # not done, only with others
    assert desks[0].next("1") == items[0]  # a reload shows the same document
    moment += 599
    assert desks[3].next("1") is None
    moment += 2  # ada has let go of hers; she did look again, but not in the second half of her time
    assert desks[3].next("1") is not None
    # whoever comes too late has still judged, and nothing is lost
    assert items[0] is not None
    desks[0].save("judge", "1", items[0].place, 2)
    assert [one.assessor for one in log.judgments()] == ["ada"]


def test_two_tabs_show_the_same_document_and_the_last_grade_counts(log: JudgmentLog) -> None:
    with_pairs(log, 1, 3)
    one, other = AssessorSession(log, "ada"), AssessorSession(log, "ada")
    assert one.next() == other.next()
    one.save("judge", "1", 1, 1)
    other.save("judge", "1", 1, 3)
    assert [judged.grade for judged in log.judgments()] == [3.0]
    assert [event.grade for event in log.events()] == [1.0, 3.0]


def test_topics_are_resumed_where_one_was(log: JudgmentLog) -> None:
    with_pairs(log, 3, 3)
    session = AssessorSession(log, "ada")
    session.next("2")
    session.save("judge", "2", 1, 1)
    item = session.next()
    assert item is not None and (item.query, item.place) == ("2", 2)
    assert (session.next_topic("2"), session.next_topic("3"), session.next_topic("1")) == ("3", "1", "2")
    judge_all(session, query="1")
    judge_all(session, query="3")
    assert session.next_topic("2") is None and session.next_topic("1") == "2"
    assert [(topic.query, topic.left) for topic in session.topics()] == [("1", 0), ("2", 2), ("3", 0)]


def test_a_document_found_by_searching_is_taken_up_and_logged_as_such(log: JudgmentLog) -> None:
    with_pairs(log, 1, 2)
    session = AssessorSession(log, "ada")
    session.next()
    session.record_search("1", "flat tyre", Submission(method="key"))
    item = session.add_found("1", "new", "flat tyre")
    assert (item.doc, item.place, item.places) == ("new", 3, 3)
    session.save("judge", "1", item.place, 3)
    assert [(one.kind, one.note) for one in log.events()] == [
        ("search", "flat tyre"),
        ("found", "flat tyre"),
        ("judge", None),
    ]
    assert {pair.doc: pair.source for pair in log.pairs()}["new"] == "search"
    assert session.add_found("1", "new", "again").grade == 3  # known already: shown as it stands
    assert export_qrels(log).qrels.to_dict() == {"1": {"new": 3.0}}


def test_grades_that_are_not_on_the_scale_and_places_that_are_not_there_are_refused(small: JudgmentLog) -> None:
    session = AssessorSession(small, "ada")
    session.next("1")
    with pytest.raises(InputError, match="grade 7 is not one of 0, 1, 2, 3"):
        session.save("judge", "1", 1, 7)
    with pytest.raises(JudgingError, match="no document 99"):
        session.save("judge", "1", 99, 1)
    with pytest.raises(InputError, match="nothing to judge for query '9'"):
        session.next("9")
    with pytest.raises(InputError, match="unknown action"):
        session.save("adjudicate", "1", 1, 1)
    with pytest.raises(InputError, match="needs a grade"):
        session.save("judge", "1", 1)
    with pytest.raises(InputError, match="valid name for an assessor"):
        AssessorSession(small, " ")
    assert list(small.events()) == []


# What an assessor never sees


def plain(value: object) -> str:
    if isinstance(value, Item):
        return json.dumps(value.to_dict())
    return json.dumps(value, default=lambda one: as_dict(one) if isinstance(one, Record) else vars(one))


def test_a_desk_tells_nothing_of_others_or_of_where_documents_come_from(log: JudgmentLog) -> None:
    with_pairs(log, 1, 6, judgments=3, repeats=0.3)
    log.add_gold({"1": {"gold-doc": 2.0}})
    other = AssessorSession(log, "secret-other")
    while (item := other.next()) is not None:
        other.save("judge", "1", item.place, 3, note="secret-note")
    session = AssessorSession(log, "ada")
    said = [
        session.topics(),
        session.next(),
        session.item_at("1", 3),
        session.own_items(),
        session.add_found("1", "d1-2", "words"),
    ]
    for _ in range(4):
        item = session.next()
        assert item is not None
        said += [
            item,
            session.save("judge", "1", item.place, 1),
            session.seen_places("1"),
            session.undo(),
            session.next(),
        ]
        session.save("judge", "1", item.place, 1)
    text = plain(said)
    for secret in ("secret", "rank", "score", '"run"', '"gold"', 'again": true', "wanted", 'judged":', "source"):
        assert secret not in text, secret
    assert set(field_names(Item)) == {"query", "doc", "place", "places", "left", "kind", "grade", "note"}


def test_no_table_of_the_database_holds_rank_score_or_run(log: JudgmentLog) -> None:
    from cranfield.annotation.schema import MIGRATIONS

    text = " ".join(statement for migration in MIGRATIONS for statement in migration.statements).lower()
    for word in ("rank", "score", " run", "system"):
        assert word not in text


# Who judges what


def test_without_assignments_everybody_may_judge_everything_once(log: JudgmentLog) -> None:
    with_pairs(log, 1, 10)
    one, other = AssessorSession(log, "ada"), AssessorSession(log, "bob")
    for _ in range(5):
        for session in (one, other):
            item = session.next()
            assert item is not None
            session.save("judge", "1", item.place, 1)
    assert one.next() is None and other.next() is None
    assert {pair.judged for pair in log.pairs()} == {1} and len(log.judgments()) == 10


def test_k_judgments_for_each_pair_by_different_people(log: JudgmentLog) -> None:
    with_pairs(log, 1, 6, judgments=2)
    for name in ("ada", "bob", "cyd"):
        judge_all(AssessorSession(log, name))
    assert {pair.judged for pair in log.pairs()} == {2}
    assert sorted({one.assessor for one in log.judgments()}) == ["ada", "bob"]


def test_topics_are_assigned_and_the_overlap_goes_to_the_second_seat(log: JudgmentLog) -> None:
    with_pairs(log, 2, 10, overlap=0.2)
    assign(log, [Assignment("ada", "1"), Assignment("bob", "2"), Assignment("bob", "1", 1), Assignment("ada", "2", 1)])
    ada, bob = AssessorSession(log, "ada"), AssessorSession(log, "bob")
    assert [(topic.query, topic.places) for topic in ada.topics()] == [("1", 10), ("2", 2)]
    assert (len(judge_all(ada)), len(judge_all(bob))) == (12, 12)
    assert sum(pair.judged == 2 for pair in log.pairs()) == 4
    assert all(pair.judged == pair.wanted for pair in log.pairs())
    with pytest.raises(JudgingError, match="not assigned to cyd"):
        AssessorSession(log, "cyd").next("1")
    assert AssessorSession(log, "cyd").topics() == [] and AssessorSession(log, "cyd").next() is None
    unassign(log, "bob", ["2"])
    assert [one.query for one in list_assignments(log) if one.assessor == "bob"] == ["1"]


def test_dealing_gives_every_seat_to_somebody_else_and_all_about_as_much(log: JudgmentLog) -> None:
    log.configure(Settings(judgments=2, overlap=0.5))
    log.add_pairs({str(query): [f"d{i}" for i in range(query * 3)] for query in range(1, 11)})
    dealt = assign_evenly(log, ["ada", "bob", "cyd", "dan", "eve"])
    assert dealt == list_assignments(log) or sorted(map(repr, dealt)) == sorted(map(repr, list_assignments(log)))
    for query in log.topics():
        assert len({one.assessor for one in dealt if one.query == query}) == 3
    names = ("ada", "bob", "cyd", "dan", "eve")
    for name in names:
        judge_all(AssessorSession(log, name))
    assert all(pair.judged == pair.wanted for pair in log.pairs())
    loads = [sum(one.assessor == name for one in log.judgments()) for name in names]
    assert max(loads) - min(loads) <= 15
    with pytest.raises(InputError, match="need 3 judgments by different assessors; found 2 assessors"):
        assign_evenly(log, ["ada", "bob", "ada"])


def test_dealing_is_the_same_for_the_same_seed() -> None:
    import random

    sizes = {str(i): [10, 3] for i in range(8)}
    dealt = [balance_topics(sizes, ["ada", "bob", "cyd"], random.Random(seed)) for seed in (1, 1)]
    assert dealt[0] == dealt[1]
