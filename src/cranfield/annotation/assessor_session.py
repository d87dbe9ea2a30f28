"""What one assessor sees and does. Nothing here reveals ranks, scores, runs or the judgments of others.

Whatever a method of `AssessorSession` returns may be shown to the assessor. Web pages and terminals use nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from cranfield.annotation.database import Connection, JudgingError
from cranfield.annotation.events import Event, JudgmentState, Submission, check_assessor_name, complete_submission
from cranfield.annotation.grades import simplify_grade
from cranfield.annotation.log import (
    HUMAN_ASSESSORS,
    JudgmentLog,
    add_pairs,
    ensure_assessor,
    last_event,
    load_state,
    next_timestamp,
    record_event,
    require_topic,
)
from cranfield.annotation.presentation_order import add_place, extend_order, lay_out_order, refresh_statuses
from cranfield.annotation.remaining import count_places, count_remaining, load_seats
from cranfield.annotation.settings import Settings, load_settings
from cranfield.base import Record, field_names, format_id
from cranfield.errors import InputError
from cranfield.io import parse_id

# how many other people hold a pair and may still judge it; judgments already made are counted in pairs.judged
_OTHER_HOLDS = f"""
    SELECT COUNT(*) FROM holds h
    WHERE h.pair = p.pair AND h.assessor <> ? AND h.until > ? AND h.assessor IN {HUMAN_ASSESSORS} AND NOT EXISTS (
        SELECT 1 FROM states s
        WHERE s.pair = h.pair AND s.assessor = h.assessor AND s.again = 0 AND s.kind = 'judge'
    )
"""
_OPEN = f"""
    SELECT l.place, l.pair, l.again, p.gold IS NOT NULL, l.later FROM places l JOIN pairs p ON p.pair = l.pair
    WHERE l.assessor = ? AND l.query = ? AND l.status = 'open' AND (
        l.again = 1 OR p.gold IS NOT NULL OR p.judged + ({_OTHER_HOLDS}) < p.wanted
    )
    ORDER BY l.later, l.place LIMIT ?
"""
_FEW, _ALL = 8, 1_000_000  # candidates to try: all only if others hold the first few


class Item(Record):
    """A document to judge, and its state for the assessor."""

    query: str
    doc: str
    place: int  # in this assessor's order, from 1
    places: int  # the length of the order
    left: int  # how many remain
    kind: str = ""  # judge, cannot or skip; empty for a new document
    grade: float | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The item as JSON."""
        values = {name: getattr(self, name) for name in field_names(Item)}
        return values | {"grade": None if self.grade is None else simplify_grade(self.grade)}


class TopicStatus(Record):
    """The progress of an assessor on a topic."""

    query: str
    places: int
    left: int  # documents that remain, including skipped ones
    skipped: int

    @property
    def done(self) -> int:
        return self.places - self.left


class SaveResult(Record):
    """What was recorded, and the next item; None if nothing of the topic remains for now."""

    event: Event
    next: Item | None
    left: int


class AssessorSession:
    """The view of one assessor on the log.

    `refill` is called with a topic of which nothing remains. It adds more documents and returns how many, as an
    adaptive pool does (`adaptive.make_refill`).
    """

    def __init__(self, log: JudgmentLog, assessor: str, refill: Callable[[str], int] | None = None) -> None:
        self.log = log
        self.assessor = log.add_assessor(check_assessor_name(assessor))
        self._refill = refill

    @property
    def settings(self) -> Settings:
        """Grades and guidelines."""
        return self.log.settings

    def topics(self) -> list[TopicStatus]:
        """The topics to judge, in order, with their progress."""

        def work(db: Connection) -> list[TopicStatus]:
            remaining = count_remaining(db, self.assessor)
            return [
                TopicStatus(query, size.places, remaining[self.assessor, query], size.skipped)
                for query, size in count_places(db, self.assessor).items()
            ]

        return self.log.read(work)

    def next(self, query: str | None = None) -> Item | None:
        """The next document of a topic, held for this assessor; None if nothing remains for now.

        By default the topic is the one judged last, or the first one with documents remaining.
        """

        def work(db: Connection) -> Item | None:
            ensure_assessor(db, self.assessor)
            settings = load_settings(db)
            topics = self._topics_last_first(db) if query is None else [query]
            return next((item for topic in topics if (item := self._next(db, settings, topic)) is not None), None)

        item = self.log.write(work)
        return self._next_after_refill(query) if item is None else item

    def prepare(self, query: str) -> None:
        """Make the order of a topic complete and up to date; nothing is held."""

        def work(db: Connection) -> None:
            ensure_assessor(db, self.assessor)
            self._order(db, load_settings(db), query, whole=True)
            refresh_statuses(db, self.assessor, query)

        self.log.write(work)

    def next_topic(self, query: str) -> str | None:
        """The next topic, after a given one, with documents remaining for this assessor; None if there is none."""

        def work(db: Connection) -> str | None:
            ensure_assessor(db, self.assessor)
            settings = load_settings(db)
            topics = self._topics(db)
            start = topics.index(query) + 1 if query in topics else 0
            for topic in topics[start:] + topics[:start]:
                if topic != query and self._next(db, settings, topic, hold=False) is not None:
                    return topic
            return None

        return self.log.write(work)

    def item_at(self, query: str, place: int) -> Item:
        """The document at a place of this assessor's order."""
        if self.log.read(lambda db: self._is_not_laid_out(db, query, place)):
            self.prepare(query)
        return self.log.read(lambda db: self._item(db, query, place))

    def seen_places(self, query: str) -> list[int]:
        """The places of a topic that this assessor has seen, in chronological order; for going back."""
        rows = self.log.read(
            lambda db: db.rows(
                """
                SELECT l.place FROM places l JOIN states s
                    ON s.pair = l.pair AND s.assessor = l.assessor AND s.again = l.again AND s.kind <> ''
                WHERE l.assessor = ? AND l.query = ? ORDER BY s.recorded_at, l.place
                """,
                self.assessor,
                query,
            )
        )
        return [place for (place,) in rows]

    def upcoming(self, query: str, place: int, n: int) -> list[Item]:
        """The documents that come after the one at a place, not held; pages prefetch them."""

        def work(db: Connection) -> list[Item]:
            rows = db.rows(_OPEN, self.assessor, query, self.assessor, time.time(), n + 1)
            remaining = self._count_remaining(db, query)
            return [self._item(db, query, other, remaining) for other, *_ in rows if other != place][:n]

        return self.log.read(work)

    def save(
        self,
        kind: str,
        query: str,
        place: int,
        grade: float | None = None,
        note: str | None = None,
        submission: Submission | None = None,
        doc: str | None = None,
    ) -> SaveResult:
        """Record an action on the document at a place: judge, cannot, skip or note.

        It is on disk when this returns. The same `submission.key` again records nothing new. If `doc` is given, it must
        be the document at that place: nothing is recorded for another one.
        """
        if kind not in ("judge", "cannot", "skip", "note"):
            raise InputError(f"unknown action {kind!r:.40}: expected judge, cannot, skip or note.")
        submission = submission or Submission()

        def work(db: Connection) -> SaveResult:
            ensure_assessor(db, self.assessor)
            settings = load_settings(db)
            if grade is not None:
                settings.scale.grade(grade)
            pair, again, expected = self._place(db, query, place)
            if doc is not None and doc != expected:
                raise JudgingError(
                    f"document {place} of {self.assessor} for query {format_id(query)} is {format_id(expected)}, not "
                    f"{format_id(doc)}: nothing was recorded. Reload the page."
                )
            event = Event(
                kind=kind,
                assessor=self.assessor,
                query=query,
                doc=expected,
                grade=None if grade is None else float(grade),
                note=note,
                again=bool(again),
                **complete_submission(submission) | {"recorded_at": next_timestamp(db, pair, self.assessor)},
            )
            event = record_event(db, event)
            next_item = self._item(db, query, place) if kind == "note" else None
            if kind != "note":
                db.run("DELETE FROM holds WHERE pair = ? AND assessor = ?", pair, self.assessor)
                # a document shown before the topic was assigned to others is recorded, but no more of it is offered
                next_item = self._next(db, settings, query) if self._seat(db, query) is not None else None
            remaining = self._count_remaining(db, query) if next_item is None else next_item.left
            return SaveResult(event, next_item, remaining)

        saved = self.log.write(work)
        if saved.next is None and (item := self._next_after_refill(query)) is not None:
            return SaveResult(saved.event, item, item.left)
        return saved

    def undo(self, submission: Submission | None = None, undoes: str | None = None) -> Item | None:
        """Undo the last action of this assessor; return its document, or None if there is nothing to undo.

        If `undoes` is given, it must be the key of that action: nothing else is undone.
        """
        submission = submission or Submission()

        def work(db: Connection) -> Item | None:
            ensure_assessor(db, self.assessor)
            known = db.row(
                "SELECT query, doc, again FROM events WHERE key = ? AND kind = 'undo' AND assessor = ?",
                submission.key,
                self.assessor,
            )
            if known is None:
                last = last_event(db, self.assessor)
                if undoes is not None and (last is None or last.key != undoes):
                    raise JudgingError("this is no longer the last action: nothing was undone.")
                if last is None:
                    return None
                pair = self._pair(db, last.query, last.doc)
                event = Event(
                    kind="undo",
                    assessor=self.assessor,
                    query=last.query,
                    doc=last.doc,
                    undoes=last.key,
                    again=last.again,
                    **complete_submission(submission) | {"recorded_at": next_timestamp(db, pair, self.assessor)},
                )
                record_event(db, event)
                if self._seat(db, str(last.query)) is not None:
                    # it is shown again: others must not get it meanwhile
                    self._hold(db, pair, time.time(), load_settings(db).hold)
                known = (last.query, last.doc, int(last.again))
            query, doc, again = known
            place = db.value(
                "SELECT place FROM places WHERE pair = ? AND assessor = ? AND again = ?",
                self._pair(db, query, doc),
                self.assessor,
                again,
            )
            if place is None:  # judged elsewhere, say in a packet
                if self._seat(db, query) is not None:
                    self._order(db, load_settings(db), query, whole=True)
                lay_out_order(db, self.assessor, query)
                place = add_place(db, self.assessor, query, self._pair(db, query, doc))
            return self._item(db, query, place)

        return self.log.write(work)

    def record_search(self, query: str, words: str, submission: Submission | None = None) -> Event:
        """Record a search for more documents, with its words."""

        def work(db: Connection) -> Event:
            require_topic(db, query)
            fields = complete_submission(submission or Submission())
            event = Event(kind="search", assessor=self.assessor, query=query, doc=None, note=words, **fields)
            return record_event(db, event)

        return self.log.write(work)

    def add_found(self, query: str, doc: str, words: str, submission: Submission | None = None) -> Item:
        """Add a document that the assessor found by searching; it is marked so in the log, and held."""
        doc = parse_id(doc, "doc")

        def work(db: Connection) -> Item:
            ensure_assessor(db, self.assessor)
            require_topic(db, query)
            settings = load_settings(db)
            add_pairs(db, {query: [doc]}, "search")
            self._order(db, settings, query, whole=True)
            place = add_place(db, self.assessor, query, self._pair(db, query, doc))
            fields = complete_submission(submission or Submission())
            record_event(db, Event(kind="found", assessor=self.assessor, query=query, doc=doc, note=words, **fields))
            self._hold(db, self._pair(db, query, doc), time.time(), settings.hold)
            return self._item(db, query, place)

        return self.log.write(work)

    def release_holds(self) -> None:
        """Release what is held for this assessor, so others can have it at once."""
        self.log.write(lambda db: db.run("DELETE FROM holds WHERE assessor = ?", self.assessor))

    def own_items(self) -> list[Item]:
        """Everything this assessor has done, by topic and place."""

        def work(db: Connection) -> list[Item]:
            rows = db.rows(
                """
                SELECT l.query, p.doc, l.place, o.length, s.kind, s.grade, s.note FROM places l
                JOIN pairs p ON p.pair = l.pair JOIN topics t ON t.query = l.query
                JOIN orders o ON o.assessor = l.assessor AND o.query = l.query
                JOIN states s ON s.pair = l.pair AND s.assessor = l.assessor AND s.again = l.again
                WHERE l.assessor = ? ORDER BY t.number, l.place
                """,
                self.assessor,
            )
            remaining = count_remaining(db, self.assessor)
            return [
                Item(query, doc, place, length, remaining.get((self.assessor, query), 0), *state)
                for query, doc, place, length, *state in rows
            ]

        return self.log.read(work)

    def _next(self, db: Connection, settings: Settings, query: str, hold: bool = True) -> Item | None:
        """The first document of the order that is open and not held by others."""
        self._order(db, settings, query)
        place, later = self._first_open(db, settings, query, hold)
        if (place is None or later) and self._rest(db, query):  # skipped documents come after all others
            self._order(db, settings, query, whole=True)
            place, later = self._first_open(db, settings, query, hold)
        if place is None and refresh_statuses(db, self.assessor, query):
            place, later = self._first_open(db, settings, query, hold)
        return None if place is None else self._item(db, query, place)

    def _first_open(self, db: Connection, settings: Settings, query: str, hold: bool) -> tuple[int | None, int]:
        """The first open place, and when it was skipped, if it was."""
        moment = time.time()
        for most in (_FEW, _ALL):
            candidates = db.rows(_OPEN, self.assessor, query, self.assessor, moment, most)
            for place, pair, again, is_gold, later in candidates:
                if again or is_gold or not hold or self._hold(db, pair, moment, settings.hold):
                    return place, later
            if len(candidates) < most:
                break
        return None, 0

    def _next_after_refill(self, query: str | None) -> Item | None:
        """The next document after an adaptive pool has added some."""
        if self._refill is None:
            return None
        own = self.log.read(self._topics)
        topics = own if query is None else [query] if query in own else []
        return next((self.next(topic) for topic in topics if self._refill(topic)), None)

    def _hold(self, db: Connection, pair: int, moment: float, seconds: float) -> bool:
        """Hold a pair for this assessor; False if others were faster."""
        if db.row("SELECT pair FROM pairs WHERE pair = ? {skip}", pair) is None:
            return False  # somebody is judging it right now
        is_free, mine = db.rows(
            f"""
            SELECT p.judged + ({_OTHER_HOLDS}) < p.wanted,
                (SELECT until FROM holds h WHERE h.pair = p.pair AND h.assessor = ?)
            FROM pairs p WHERE p.pair = ?
            """,
            self.assessor,
            moment,
            self.assessor,
            pair,
        )[0]
        if not is_free:
            return False
        if (mine or 0.0) < moment + seconds / 2:  # a recent hold need not be renewed
            db.run("DELETE FROM holds WHERE assessor = ?", self.assessor)
            db.run(
                """
                INSERT INTO holds VALUES (?, ?, ?)
                ON CONFLICT (pair, assessor) DO UPDATE SET until = excluded.until
                """,
                pair,
                self.assessor,
                moment + seconds,
            )
        return True

    def _order(self, db: Connection, settings: Settings, query: str, whole: bool = False) -> None:
        """Bring this assessor's order of a topic up to date; `whole` if all places are needed."""
        require_topic(db, query)
        seat = self._seat(db, query)
        if seat is None:
            raise JudgingError(f"query {format_id(query)} is not assigned to {self.assessor}.")
        extend_order(db, settings, self.assessor, query, seat, whole)

    def _seat(self, db: Connection, query: str) -> int | None:
        """The seat of this assessor at a topic; None if it is assigned to others only."""
        return load_seats(db, self.assessor, query).get((self.assessor, query))

    def _topics(self, db: Connection) -> list[str]:
        return [query for _, query in load_seats(db, self.assessor)]

    def _rest(self, db: Connection, query: str) -> str:
        """The part of the order that is not laid out yet."""
        rest = db.value("SELECT rest FROM orders WHERE assessor = ? AND query = ?", self.assessor, query)
        return rest or ""

    def _is_not_laid_out(self, db: Connection, query: str, place: int) -> bool:
        """Whether a place is in the order, but not laid out yet."""
        row = db.row("SELECT length, rest FROM orders WHERE assessor = ? AND query = ?", self.assessor, query)
        return row is not None and bool(row[1]) and row[0] - len(row[1].split()) < place <= row[0]

    def _topics_last_first(self, db: Connection) -> Sequence[str]:
        """The topics of this assessor, the one judged last first."""
        topics = self._topics(db)
        last = db.value(
            "SELECT query FROM events WHERE assessor = ? ORDER BY recorded_at DESC, seq DESC LIMIT 1", self.assessor
        )
        return sorted(topics, key=lambda query: query != last)

    def _place(self, db: Connection, query: str, place: int) -> tuple[int, int, str]:
        row = db.row(
            """
            SELECT l.pair, l.again, p.doc FROM places l JOIN pairs p ON p.pair = l.pair
            WHERE l.assessor = ? AND l.query = ? AND l.place = ?
            """,
            self.assessor,
            query,
            place,
        )
        if row is None:
            raise JudgingError(f"{self.assessor} has no document {place} for query {format_id(query)}.")
        return row[0], row[1], row[2]

    def _item(self, db: Connection, query: str, place: int, remaining: int | None = None) -> Item:
        pair, again, doc = self._place(db, query, place)
        state: JudgmentState = load_state(db, pair, self.assessor, again)
        length = db.value("SELECT length FROM orders WHERE assessor = ? AND query = ?", self.assessor, query)
        remaining = self._count_remaining(db, query) if remaining is None else remaining
        return Item(query, doc, place, int(length), remaining, state.kind, state.grade, state.note)

    def _count_remaining(self, db: Connection, query: str) -> int:
        return count_remaining(db, self.assessor, query).get((self.assessor, query), 0)

    def _pair(self, db: Connection, query: str | None, doc: str | None) -> int:
        return int(db.value("SELECT pair FROM pairs WHERE query = ? AND doc = ?", query, doc))
