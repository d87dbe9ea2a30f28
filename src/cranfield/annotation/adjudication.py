"""Adjudication: a queue of pairs whose grades are too far apart, and a grade that overrides them."""

from __future__ import annotations

from cranfield.annotation.database import Connection, JudgingError
from cranfield.annotation.events import COLUMNS, Event, Submission, check_assessor_name, complete_submission
from cranfield.annotation.log import (
    HUMAN_ASSESSORS,
    JudgmentLog,
    ensure_assessor,
    event_from_row,
    last_event,
    next_timestamp,
    record_event,
)
from cranfield.annotation.settings import load_settings
from cranfield.annotation.timestamps import utc_now
from cranfield.base import Record, format_id
from cranfield.errors import InputError

_DISPUTED = """
    FROM pairs p JOIN topics t ON t.query = p.query
    WHERE p.spread >= ? AND p.spread > 0 AND p.judged > 1 AND p.gold IS NULL
"""


class Opinion(Record):
    """A grade by an assessor; without the name if adjudication is blind."""

    grade: float
    note: str
    assessor: str | None


class Dispute(Record):
    """A pair whose grades are too far apart."""

    query: str
    doc: str
    opinions: tuple[Opinion, ...]  # lowest grade first
    adjudicated: float | None


def list_disputes(
    log: JudgmentLog, *, blind: bool = True, settled: bool = False, query: str | None = None
) -> list[Dispute]:
    """Pairs to adjudicate: those whose grades differ by at least `Settings.dispute`, and that are undecided.

    With `settled`, decided ones are included. For coordinators and adjudicators, never for assessors.
    """

    def work(db: Connection) -> list[Dispute]:
        threshold = load_settings(db).dispute
        more = ("" if settled else " AND p.adjudicated IS NULL") + (" AND p.query = ?" if query is not None else "")
        values = (threshold,) if query is None else (threshold, query)
        pairs = db.rows(
            f"SELECT p.pair, p.query, p.doc, p.adjudicated {_DISPUTED} {more} ORDER BY t.number, p.pair", *values
        )
        return [Dispute(q, doc, _opinions(db, pair, blind), decided) for pair, q, doc, decided in pairs]

    return log.read(work)


def count_disputes(log: JudgmentLog) -> int:
    """How many pairs wait to be adjudicated."""

    def work(db: Connection) -> int:
        threshold = load_settings(db).dispute
        return int(db.value(f"SELECT COUNT(*) {_DISPUTED} AND p.adjudicated IS NULL", threshold))

    return log.read(work)


def adjudicate(
    log: JudgmentLog,
    by: str,
    query: str,
    doc: str,
    grade: float,
    note: str | None = None,
    submission: Submission | None = None,
) -> Event:
    """Decide the grade of a pair. It overrides all rules, until it is undone or decided again.

    It is on disk when this returns. The same `submission.key` again records nothing new.
    """
    by, submission = check_assessor_name(by), submission or Submission()

    def work(db: Connection) -> Event:
        ensure_assessor(db, by)
        load_settings(db).scale.grade(grade)
        pair = _pair(db, query, doc)
        fields = complete_submission(submission) | {"recorded_at": _next_decision_time(db, pair)}
        event = Event(kind="adjudicate", assessor=by, query=query, doc=doc, grade=float(grade), note=note, **fields)
        return record_event(db, event)

    return log.write(work)


def undo_adjudication(log: JudgmentLog, by: str, submission: Submission | None = None) -> Event | None:
    """Undo the last decision of this adjudicator; return it, or None if there is none."""
    by, submission = check_assessor_name(by), submission or Submission()

    def work(db: Connection) -> Event | None:
        ensure_assessor(db, by)
        done = db.value(
            "SELECT undoes FROM events WHERE assessor = ? AND key = ? AND kind = 'undo'", by, submission.key
        )
        if done is not None:  # sent again
            row = db.row(f"SELECT {', '.join(COLUMNS)} FROM events WHERE assessor = ? AND key = ?", by, done)
            return None if row is None else event_from_row(row)
        last = last_event(db, by, ["adjudicate"])
        if last is None or last.query is None or last.doc is None:
            return None
        pair = _pair(db, last.query, last.doc)
        fields = complete_submission(submission) | {"recorded_at": next_timestamp(db, pair, by)}
        record_event(db, Event(kind="undo", assessor=by, query=last.query, doc=last.doc, undoes=last.key, **fields))
        return last

    return log.write(work)


def _opinions(db: Connection, pair: int, blind: bool) -> tuple[Opinion, ...]:
    rows = db.rows(
        f"""
        SELECT grade, note, assessor FROM states
        WHERE pair = ? AND again = 0 AND kind = 'judge' AND assessor IN {HUMAN_ASSESSORS}
        ORDER BY grade, recorded_at
        """,
        pair,
    )
    return tuple(Opinion(grade, note, None if blind else name) for grade, note, name in rows)


def _pair(db: Connection, query: str, doc: str) -> int:
    row = db.row("SELECT pair, gold FROM pairs WHERE query = ? AND doc = ?", query, doc)
    if row is None:
        raise JudgingError(f"document {format_id(doc)} is not in the pool of query {format_id(query)}.")
    if row[1] is not None:
        raise InputError(f"document {format_id(doc)} of query {format_id(query)} is a gold pair: its grade is known.")
    return int(row[0])


def _next_decision_time(db: Connection, pair: int) -> str:
    """The time for a new decision: now, but not before the last one on this pair."""
    last = db.value("SELECT MAX(recorded_at) FROM events WHERE pair = ? AND kind = 'adjudicate'", pair)
    return max(last or "", utc_now())
