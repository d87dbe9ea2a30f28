"""What one assessor sees and does. Nothing here tells rank, score, run or what others think of a document.

Every function of a `Desk` may be shown to the assessor as it is: pages, terminals and their JSON take it from here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from cranfield.annotation.database import Connection, JudgingError
from cranfield.annotation.events import Event, State, Trace, checked_assessor, timed
from cranfield.annotation.grades import plain
from cranfield.annotation.log import (
    PEOPLE,
    JudgmentLog,
    add_pairs,
    ensure_assessor,
    last_event,
    latest_time,
    record_event,
    require_topic,
    state_in,
)
from cranfield.annotation.presentation_order import add_place, extend_order, lay_out_whole, recheck
from cranfield.annotation.remaining import left, seats, sizes
from cranfield.annotation.settings import Settings, load_settings
from cranfield.base import Record, field_names, format_id
from cranfield.errors import InputError
from cranfield.io import parse_id

# how many others look at a pair who may fill it: a judgment that is made counts already, that of a model never does
_LOOKING = f"""
    SELECT COUNT(*) FROM holds h WHERE h.pair = p.pair AND h.assessor <> ? AND h.until > ? AND h.assessor IN {PEOPLE}
    AND NOT EXISTS (
        SELECT 1 FROM states s
        WHERE s.pair = h.pair AND s.assessor = h.assessor AND s.again = 0 AND s.kind = 'judge'
    )
"""
_OPEN = f"""
    SELECT l.place, l.pair, l.again, p.gold IS NOT NULL, l.later FROM places l JOIN pairs p ON p.pair = l.pair
    WHERE l.assessor = ? AND l.query = ? AND l.status = 'open' AND (
        l.again = 1 OR p.gold IS NOT NULL OR p.judged + ({_LOOKING}) < p.wanted
    )
    ORDER BY l.later, l.place LIMIT ?
"""
_FEW, _ALL = 8, 1_000_000  # candidates to look at; more than the first only where others were quicker


class Item(Record):
    """A document on the desk, and where the assessor stands with it."""

    query: str
    doc: str
    place: int  # in this assessor's own order, from 1
    places: int  # how many there are
    left: int  # how many are still to do
    kind: str = ""  # judge, cannot or skip, if the assessor has been here before
    grade: float | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The item as JSON has it."""
        made = {name: getattr(self, name) for name in field_names(Item)}
        return made | {"grade": None if self.grade is None else plain(self.grade)}


class TopicState(Record):
    """How far an assessor is with a topic."""

    query: str
    places: int
    left: int  # to judge, documents that were skipped among them
    skipped: int

    @property
    def done(self) -> int:
        return self.places - self.left


class Saved(Record):
    """What was recorded, and what comes next: an item, or None where nothing of the topic is left for now."""

    event: Event
    next: Item | None
    left: int


class Desk:
    """The desk of one assessor.

    `feed` is asked for more documents of a topic when none is left (an adaptive pool, see `adaptive.feeder`); it takes
    them up and says how many there were.
    """

    def __init__(self, log: JudgmentLog, assessor: str, feed: Callable[[str], int] | None = None) -> None:
        self.log = log
        self.assessor = log.add_assessor(checked_assessor(assessor))
        self._feed = feed

    @property
    def settings(self) -> Settings:
        """Grades and guidelines."""
        return self.log.settings

    def topics(self) -> list[TopicState]:
        """The topics to judge, in their order, with how far they are."""

        def work(at: Connection) -> list[TopicState]:
            counts = left(at, self.assessor)
            return [
                TopicState(query, size.places, counts[self.assessor, query], size.skipped)
                for query, size in sizes(at, self.assessor).items()
            ]

        return self.log.read(work)

    def next(self, query: str | None = None) -> Item | None:
        """The next document of a topic, held for this assessor; None where nothing is left for now.

        Without a topic it is the one that was judged last, or else the first one with something left.
        """

        def work(at: Connection) -> Item | None:
            ensure_assessor(at, self.assessor)
            settings = load_settings(at)
            topics = self._by_turns(at) if query is None else [query]
            return next((item for topic in topics if (item := self._next(at, settings, topic)) is not None), None)

        found = self.log.write(work)
        return self._fed(query) if found is None else found

    def prepare(self, query: str) -> None:
        """See that there is an order of a topic, complete to this day; nothing is held."""

        def work(at: Connection) -> None:
            ensure_assessor(at, self.assessor)
            self._order(at, load_settings(at), query, whole=True)
            recheck(at, self.assessor, query)

        self.log.write(work)

    def after(self, query: str) -> str | None:
        """The next topic with something left for this assessor, after a topic; None if there is none."""

        def work(at: Connection) -> str | None:
            ensure_assessor(at, self.assessor)
            settings = load_settings(at)
            turns = self._topics(at)
            start = turns.index(query) + 1 if query in turns else 0
            for topic in turns[start:] + turns[:start]:
                if topic != query and self._next(at, settings, topic, hold=False) is not None:
                    return topic
            return None

        return self.log.write(work)

    def at(self, query: str, place: int) -> Item:
        """The document at a place of this assessor's order."""
        if self.log.read(lambda at: self._is_ahead(at, query, place)):
            self.prepare(query)
        return self.log.read(lambda at: self._item(at, query, place))

    def seen(self, query: str) -> list[int]:
        """The places of a topic that this assessor has dealt with, in the order of time; for going back."""
        return self.log.read(lambda at: self._seen(at, query))

    def ahead(self, query: str, place: int, n: int) -> list[Item]:
        """The documents that will come after the one at a place, not held; a page has them ready for the worst."""

        def work(at: Connection) -> list[Item]:
            rows = at.rows(_OPEN, self.assessor, query, self.assessor, time.time(), n + 1)
            todo = self._left(at, query)
            return [self._item(at, query, other, todo) for other, *_ in rows if other != place][:n]

        return self.log.read(work)

    def save(
        self,
        kind: str,
        query: str,
        place: int,
        grade: float | None = None,
        note: str | None = None,
        trace: Trace | None = None,
        doc: str | None = None,
    ) -> Saved:
        """Record what the assessor does with the document at a place: judge, cannot, skip or note.

        When this returns, it is on disk. The same `trace.key` again records nothing new. `doc` is the document that
        was looked at, if the caller can tell: what is meant for it is recorded for no other.
        """
        if kind not in ("judge", "cannot", "skip", "note"):
            raise InputError(f"{kind!r:.40} is nothing to do with a document: expected judge, cannot, skip or note.")
        trace = trace or Trace()

        def work(at: Connection) -> Saved:
            ensure_assessor(at, self.assessor)
            settings = load_settings(at)
            if grade is not None:
                settings.scale.grade(grade)
            pair, again, there = self._place(at, query, place)
            if doc is not None and doc != there:
                raise JudgingError(
                    f"document number {place} of {self.assessor} for query {format_id(query)} is "
                    f"{format_id(there)}, and not "
                    f"{format_id(doc)}, which was looked at: nothing was recorded. Load the page again."
                )
            event = Event(
                kind=kind,
                assessor=self.assessor,
                query=query,
                doc=there,
                grade=None if grade is None else float(grade),
                note=note,
                again=bool(again),
                **timed(trace) | {"recorded_at": latest_time(at, pair, self.assessor)},
            )
            event = record_event(at, event)
            following = self._item(at, query, place) if kind == "note" else None
            if kind != "note":
                at.run("DELETE FROM holds WHERE pair = ? AND assessor = ?", pair, self.assessor)
                # what was on the desk when the topic was given to others is recorded; more of it does not come
                following = self._next(at, settings, query) if self._seat(at, query) is not None else None
            return Saved(event, following, self._left(at, query) if following is None else following.left)

        saved = self.log.write(work)
        if saved.next is None and (item := self._fed(query)) is not None:
            return Saved(saved.event, item, item.left)
        return saved

    def undo(self, trace: Trace | None = None, undoes: str | None = None) -> Item | None:
        """Take back what this assessor did last; the document it concerned, or None if there is nothing to undo.

        `undoes` is the key of what is to be taken back, if the caller can tell: nothing else is.
        """
        trace = trace or Trace()

        def work(at: Connection) -> Item | None:
            ensure_assessor(at, self.assessor)
            known = at.row(
                "SELECT query, doc, again FROM events WHERE key = ? AND kind = 'undo' AND assessor = ?",
                trace.key,
                self.assessor,
            )
            if known is None:
                last = last_event(at, self.assessor)
                if undoes is not None and (last is None or last.key != undoes):
                    raise JudgingError("what was to be taken back is not what was done last: nothing was taken back.")
                if last is None:
                    return None
                pair = self._pair(at, last.query, last.doc)
                event = Event(
                    kind="undo",
                    assessor=self.assessor,
                    query=last.query,
                    doc=last.doc,
                    undoes=last.key,
                    again=last.again,
                    **timed(trace) | {"recorded_at": latest_time(at, pair, self.assessor)},
                )
                record_event(at, event)
                if self._seat(at, str(last.query)) is not None:
                    # it is on the desk again: others must not get it meanwhile
                    self._held(at, pair, time.time(), load_settings(at).hold)
                known = (last.query, last.doc, int(last.again))
            query, doc, again = known
            place = at.value(
                "SELECT place FROM places WHERE pair = ? AND assessor = ? AND again = ?",
                self._pair(at, query, doc),
                self.assessor,
                again,
            )
            if place is None:  # judged elsewhere, in a packet say
                if self._seat(at, query) is not None:
                    self._order(at, load_settings(at), query, whole=True)
                lay_out_whole(at, self.assessor, query)
                place = add_place(at, self.assessor, query, self._pair(at, query, doc))
            return self._item(at, query, place)

        return self.log.write(work)

    def searched(self, query: str, words: str, trace: Trace | None = None) -> Event:
        """Record that the assessor searched for more documents, and with which words."""

        def work(at: Connection) -> Event:
            require_topic(at, query)
            given = timed(trace or Trace())
            return record_event(
                at, Event(kind="search", assessor=self.assessor, query=query, doc=None, note=words, **given)
            )

        return self.log.write(work)

    def found(self, query: str, doc: str, words: str, trace: Trace | None = None) -> Item:
        """Take up a document that the assessor found by searching; it is marked so in the log, and on the desk now."""
        doc = parse_id(doc, "doc")

        def work(at: Connection) -> Item:
            ensure_assessor(at, self.assessor)
            require_topic(at, query)
            settings = load_settings(at)
            add_pairs(at, {query: [doc]}, "search")
            self._order(at, settings, query, whole=True)
            place = add_place(at, self.assessor, query, self._pair(at, query, doc))
            given = timed(trace or Trace())
            record_event(at, Event(kind="found", assessor=self.assessor, query=query, doc=doc, note=words, **given))
            self._held(at, self._pair(at, query, doc), time.time(), settings.hold)
            return self._item(at, query, place)

        return self.log.write(work)

    def leave(self) -> None:
        """Let others have at once what is held for this assessor."""
        self.log.write(lambda at: at.run("DELETE FROM holds WHERE assessor = ?", self.assessor))

    def own(self) -> list[Item]:
        """Everything this assessor has done, by topic and place; for a list to go back to."""

        def work(at: Connection) -> list[Item]:
            rows = at.rows(
                """
                SELECT l.query, p.doc, l.place, o.length, s.kind, s.grade, s.note FROM places l
                JOIN pairs p ON p.pair = l.pair JOIN topics t ON t.query = l.query
                JOIN orders o ON o.assessor = l.assessor AND o.query = l.query
                JOIN states s ON s.pair = l.pair AND s.assessor = l.assessor AND s.again = l.again
                WHERE l.assessor = ? ORDER BY t.number, l.place
                """,
                self.assessor,
            )
            todo = left(at, self.assessor)
            return [
                Item(query, doc, place, length, todo.get((self.assessor, query), 0), *state)
                for query, doc, place, length, *state in rows
            ]

        return self.log.read(work)

    def _next(self, at: Connection, settings: Settings, query: str, hold: bool = True) -> Item | None:
        """The first document of the order that is open, and not with others."""
        self._order(at, settings, query)
        place, later = self._first_open(at, settings, query, hold)
        if (place is None or later) and self._rest(at, query):  # what was put off comes after all others
            self._order(at, settings, query, whole=True)
            place, later = self._first_open(at, settings, query, hold)
        if place is None and recheck(at, self.assessor, query):
            place, later = self._first_open(at, settings, query, hold)
        return None if place is None else self._item(at, query, place)

    def _first_open(self, at: Connection, settings: Settings, query: str, hold: bool) -> tuple[int | None, int]:
        """The first place that is open, and when it was put off, if it was."""
        moment = time.time()
        for most in (_FEW, _ALL):
            candidates = at.rows(_OPEN, self.assessor, query, self.assessor, moment, most)
            for place, pair, again, is_gold, later in candidates:
                if again or is_gold or not hold or self._held(at, pair, moment, settings.hold):
                    return place, later
            if len(candidates) < most:
                break
        return None, 0

    def _fed(self, query: str | None) -> Item | None:
        """What an adaptive pool has to offer after everything else."""
        if self._feed is None:
            return None
        own = self.log.read(self._topics)
        topics = own if query is None else [query] if query in own else []
        return next((self.next(topic) for topic in topics if self._feed(topic)), None)

    def _held(self, at: Connection, pair: int, moment: float, seconds: float) -> bool:
        """Hold a pair for this assessor; False where others were quicker."""
        if at.row("SELECT pair FROM pairs WHERE pair = ? {skip}", pair) is None:
            return False  # somebody is judging it this very moment
        is_free, mine = at.rows(
            f"""
            SELECT p.judged + ({_LOOKING}) < p.wanted,
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
        if (mine or 0.0) < moment + seconds / 2:  # a hold that is young enough need not be written again
            at.run("DELETE FROM holds WHERE assessor = ?", self.assessor)
            at.run(
                """
                INSERT INTO holds VALUES (?, ?, ?)
                ON CONFLICT (pair, assessor) DO UPDATE SET until = excluded.until
                """,
                pair,
                self.assessor,
                moment + seconds,
            )
        return True

    def _order(self, at: Connection, settings: Settings, query: str, whole: bool = False) -> None:
        """See that this assessor has an order of a topic, complete to this day; `whole` if all places are needed."""
        require_topic(at, query)
        seat = self._seat(at, query)
        if seat is None:
            raise JudgingError(f"query {format_id(query)} is not assigned to {self.assessor}.")
        extend_order(at, settings, self.assessor, query, seat, whole)

    def _seat(self, at: Connection, query: str) -> int | None:
        """The seat of this assessor at a topic; None if it is given to others."""
        return seats(at, self.assessor, query).get((self.assessor, query))

    def _topics(self, at: Connection) -> list[str]:
        return [query for _, query in seats(at, self.assessor)]

    def _rest(self, at: Connection, query: str) -> str:
        """The end of the order that has no places yet."""
        found = at.value("SELECT rest FROM orders WHERE assessor = ? AND query = ?", self.assessor, query)
        return found or ""

    def _is_ahead(self, at: Connection, query: str, place: int) -> bool:
        """Whether a place is in the order, but not made yet."""
        row = at.row("SELECT length, rest FROM orders WHERE assessor = ? AND query = ?", self.assessor, query)
        return row is not None and bool(row[1]) and row[0] - len(row[1].split()) < place <= row[0]

    def _by_turns(self, at: Connection) -> Sequence[str]:
        """The topics of this assessor, the one judged last first."""
        topics = self._topics(at)
        last = at.value(
            "SELECT query FROM events WHERE assessor = ? ORDER BY recorded_at DESC, seq DESC LIMIT 1", self.assessor
        )
        return sorted(topics, key=lambda query: query != last)

    def _place(self, at: Connection, query: str, place: int) -> tuple[int, int, str]:
        row = at.row(
            """
            SELECT l.pair, l.again, p.doc FROM places l JOIN pairs p ON p.pair = l.pair
            WHERE l.assessor = ? AND l.query = ? AND l.place = ?
            """,
            self.assessor,
            query,
            place,
        )
        if row is None:
            raise JudgingError(f"{self.assessor} has no document number {place} for query {format_id(query)}.")
        return row[0], row[1], row[2]

    def _item(self, at: Connection, query: str, place: int, todo: int | None = None) -> Item:
        pair, again, doc = self._place(at, query, place)
        state: State = state_in(at, pair, self.assessor, again)
        length = at.value("SELECT length FROM orders WHERE assessor = ? AND query = ?", self.assessor, query)
        todo = self._left(at, query) if todo is None else todo
        return Item(query, doc, place, int(length), todo, state.kind, state.grade, state.note)

    def _left(self, at: Connection, query: str) -> int:
        return left(at, self.assessor, query).get((self.assessor, query), 0)

    def _pair(self, at: Connection, query: str | None, doc: str | None) -> int:
        return int(at.value("SELECT pair FROM pairs WHERE query = ? AND doc = ?", query, doc))

    def _seen(self, at: Connection, query: str) -> list[int]:
        rows = at.rows(
            """
            SELECT l.place FROM places l JOIN states s
                ON s.pair = l.pair AND s.assessor = l.assessor AND s.again = l.again AND s.kind <> ''
            WHERE l.assessor = ? AND l.query = ? ORDER BY s.recorded_at, l.place
            """,
            self.assessor,
            query,
        )
        return [place for (place,) in rows]
