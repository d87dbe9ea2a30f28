"""Disagreements, and settling them: a queue of pairs whose grades are too far apart, and a grade that wins."""

from __future__ import annotations

from cranfield.annotation.database import Connection, JudgingError
from cranfield.annotation.events import COLUMNS, Event, Trace, checked_assessor, timed
from cranfield.annotation.log import (
    PEOPLE,
    JudgmentLog,
    ensure_assessor,
    event_of,
    last_event,
    latest_time,
    record_event,
)
from cranfield.annotation.settings import load_settings
from cranfield.annotation.timestamps import now
from cranfield.base import Record, format_id
from cranfield.errors import InputError

_DISPUTED = """
    FROM pairs p JOIN topics t ON t.query = p.query
    WHERE p.spread >= ? AND p.spread > 0 AND p.judged > 1 AND p.gold IS NULL
"""


class Opinion(Record):
    """A grade that somebody gave; without the name where adjudication is blind."""

    grade: float
    note: str
    assessor: str | None


class Dispute(Record):
    """A pair whose grades are too far apart."""

    query: str
    doc: str
    opinions: tuple[Opinion, ...]  # lowest grade first
    adjudicated: float | None


def disputes(log: JudgmentLog, *, blind: bool = True, settled: bool = False, query: str | None = None) -> list[Dispute]:
    """Pairs to adjudicate: those whose grades are as far apart as the settings say, and not decided yet.

    `settled` lists those that are decided too. For coordinators and adjudicators, never for judges.
    """

    def work(at: Connection) -> list[Dispute]:
        apart = load_settings(at).dispute
        more = ("" if settled else " AND p.adjudicated IS NULL") + (" AND p.query = ?" if query is not None else "")
        values = (apart,) if query is None else (apart, query)
        pairs = at.rows(
            f"SELECT p.pair, p.query, p.doc, p.adjudicated {_DISPUTED} {more} ORDER BY t.number, p.pair", *values
        )
        return [Dispute(q, doc, _opinions(at, pair, blind), decided) for pair, q, doc, decided in pairs]

    return log.read(work)


def number_of_disputes(log: JudgmentLog) -> int:
    """How many pairs wait to be adjudicated."""

    def work(at: Connection) -> int:
        apart = load_settings(at).dispute
        return int(at.value(f"SELECT COUNT(*) {_DISPUTED} AND p.adjudicated IS NULL", apart))

    return log.read(work)


def adjudicate(
    log: JudgmentLog, by: str, query: str, doc: str, grade: float, note: str | None = None, trace: Trace | None = None
) -> Event:
    """Decide what a pair's grade is. It wins over all rules, until it is undone or decided anew.

    When this returns, it is on disk. The same `trace.key` again records nothing new.
    """
    by, trace = checked_assessor(by), trace or Trace()

    def work(at: Connection) -> Event:
        ensure_assessor(at, by)
        load_settings(at).scale.grade(grade)
        pair = _pair(at, query, doc)
        given = timed(trace) | {"recorded_at": _latest(at, pair)}
        event = Event(kind="adjudicate", assessor=by, query=query, doc=doc, grade=float(grade), note=note, **given)
        return record_event(at, event)

    return log.write(work)


def undo_adjudication(log: JudgmentLog, by: str, trace: Trace | None = None) -> Event | None:
    """Take back what this adjudicator decided last; what was undone, or None if there is nothing."""
    by, trace = checked_assessor(by), trace or Trace()

    def work(at: Connection) -> Event | None:
        ensure_assessor(at, by)
        done = at.value("SELECT undoes FROM events WHERE assessor = ? AND key = ? AND kind = 'undo'", by, trace.key)
        if done is not None:  # sent once more
            row = at.row(f"SELECT {', '.join(COLUMNS)} FROM events WHERE assessor = ? AND key = ?", by, done)
            return None if row is None else event_of(row)
        last = last_event(at, by, ["adjudicate"])
        if last is None or last.query is None or last.doc is None:
            return None
        pair = _pair(at, last.query, last.doc)
        given = timed(trace) | {"recorded_at": latest_time(at, pair, by)}
        record_event(at, Event(kind="undo", assessor=by, query=last.query, doc=last.doc, undoes=last.key, **given))
        return last

    return log.write(work)


def _opinions(at: Connection, pair: int, blind: bool) -> tuple[Opinion, ...]:
    rows = at.rows(
        f"""
        SELECT grade, note, assessor FROM states
        WHERE pair = ? AND again = 0 AND kind = 'judge' AND assessor IN {PEOPLE}
        ORDER BY grade, recorded_at
        """,
        pair,
    )
    return tuple(Opinion(grade, note, None if blind else name) for grade, note, name in rows)


def _pair(at: Connection, query: str, doc: str) -> int:
    row = at.row("SELECT pair, gold FROM pairs WHERE query = ? AND doc = ?", query, doc)
    if row is None:
        raise JudgingError(f"document {format_id(doc)} is not to be judged for query {format_id(query)}.")
    if row[1] is not None:
        raise InputError(f"document {format_id(doc)} of query {format_id(query)} is a gold pair: its grade is known.")
    return int(row[0])


def _latest(at: Connection, pair: int) -> str:
    """A time after all other decisions on a pair."""
    found = at.value("SELECT MAX(recorded_at) FROM events WHERE pair = ? AND kind = 'adjudicate'", pair)
    return max(found or "", now())
