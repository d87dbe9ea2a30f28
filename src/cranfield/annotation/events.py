"""What happens when people judge, as values: events, the state that follows from them, and how an act came about."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import field
from typing import Any, Literal, get_args

from cranfield.annotation.grades import plain
from cranfield.annotation.timestamps import moment, now
from cranfield.base import Record, encode_id, fields
from cranfield.errors import InputError
from cranfield.io import parse_id, parse_number

Kind = Literal["judge", "cannot", "skip", "note", "undo", "search", "found", "adjudicate"]
KINDS: dict[str, str] = {
    "judge": "a grade was given",
    "cannot": "the document cannot be judged; this is no grade",
    "skip": "put off; the document comes again at the end",
    "note": "a remark without a grade",
    "undo": "the event named by `undoes` is taken back",
    "search": "the assessor searched for more documents; the words are in `note`",
    "found": "a document that was found by such a search was taken up",
    "adjudicate": "a disagreement was settled; this grade wins",
}
JUDGING = ("judge", "cannot", "skip", "note")  # what makes the state of a document, and can be undone
VERSION = 1  # of what a log is exported as
MOST_TEXT = 20_000  # characters of a note


class Trace(Record):
    """How an act came about: when the document was shown, how long it was looked at, and by what it was judged.

    The same `key` again means the same act, sent once more: it is recorded once.
    """

    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    shown_at: str | None = None
    judged_at: str | None = None
    active_ms: int | None = None
    method: str = ""  # key, click, touch, line, import, …
    version: str = ""  # of what was used, such as "terminal 0.1.0"


class Event(Record):
    """One line of the log."""

    key: str
    kind: str
    assessor: str
    query: str | None
    doc: str | None
    grade: float | None = None
    note: str | None = None
    undoes: str | None = None  # the key of the event that is taken back
    again: bool = False  # judged once more, to see how consistent somebody is; never exported as a judgment
    shown_at: str | None = None
    judged_at: str = ""
    recorded_at: str = ""
    active_ms: int | None = None
    method: str = ""
    version: str = ""

    def __post_init__(self) -> None:
        _check(self)

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON has it."""
        made = {name: getattr(self, name) for name in COLUMNS}
        return made | {"grade": None if self.grade is None else plain(self.grade)}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Event:
        """An event out of JSON or CSV; what is missing of times and keys follows from the rest."""
        values = {name: value for name, value in given.items() if name in COLUMNS and value not in (None, "")}
        for name in ("assessor", "query", "doc"):
            if name in values:
                values[name] = parse_id(values[name], name)
        if "grade" in values:
            values["grade"] = parse_number(values["grade"], "grade")
        if "active_ms" in values:
            values["active_ms"] = _milliseconds(round(parse_number(values["active_ms"], "active_ms")))
        values["again"] = str(values.get("again", "")).lower() in ("true", "1")
        if given.get("note") == "":
            values["note"] = ""  # a remark that was taken away
        times = [moment(str(values[name]), name) for name in ("judged_at", "recorded_at") if name in values]
        values |= {"judged_at": times[0], "recorded_at": times[-1]} if times else {}
        if "shown_at" in values:
            values["shown_at"] = moment(str(values["shown_at"]), "shown_at")
        kind = values.setdefault("kind", "judge")
        if "assessor" not in values:
            raise InputError("there is no assessor.")
        values.setdefault("query", None)
        values.setdefault("doc", None)
        if "key" not in values:
            parts = [str(values.get(name, "")) for name in ("assessor", "query", "doc", "grade", "judged_at")]
            values["key"] = derived_key(str(kind), *parts)
        for name in ("key", "kind", "note", "undoes", "method", "version"):
            if name in values:
                values[name] = str(values[name])
        return cls(**values)


COLUMNS = tuple(one.name for one in fields(Event))


class State(Record):
    """Where an assessor stands with a document: what the events so far come to."""

    kind: str = ""  # judge, cannot or skip; empty if there is none of them
    grade: float | None = None
    note: str = ""
    recorded_at: str = ""

    @property
    def is_settled(self) -> bool:
        """Whether the document need not be shown again."""
        return self.kind in ("judge", "cannot")


def state_of(events: Iterable[Event]) -> State:
    """What the events of one assessor and document come to, in their order: the last one counts, unless taken back.

    >>> graded = Event("a", "judge", "ada", "1", "d", 2.0)
    >>> undone = Event("b", "undo", "ada", "1", "d", undoes="a")
    >>> state_of([graded]).grade, state_of([graded, undone]).grade
    (2.0, None)
    """
    known = list(events)
    undone = {event.undoes for event in known if event.kind == "undo"}
    state = State()
    for event in known:
        if event.kind not in JUDGING or event.key in undone:
            continue
        note = state.note if event.note is None else event.note
        if event.kind == "note":
            state = State(state.kind, state.grade, note, event.recorded_at)
        else:
            state = State(event.kind, event.grade, note, event.recorded_at)
    return state


def derived_key(*parts: str) -> str:
    """A key that the same parts always give.

    >>> derived_key("a", "b") == derived_key("a", "b") != derived_key("ab", "")
    True
    """
    digest = hashlib.sha256()
    for part in parts:
        content = encode_id(part)
        digest.update(f"{len(content)}:".encode() + content)
    return digest.hexdigest()[:32]


def checked_assessor(name: str) -> str:
    """The name of an assessor, without the white space around it."""
    name = parse_id(name, "assessor").strip()
    if not name or len(name) > 200 or any(ord(char) < 32 for char in name):
        raise InputError(f"{name!r:.80} cannot be the name of an assessor: expected 1 to 200 printable characters.")
    return name


def _check(event: Event) -> None:
    if event.kind not in get_args(Kind):
        raise InputError(f"event of kind {event.kind!r:.40}, expected one of {', '.join(KINDS)}.")
    if (event.kind in ("judge", "adjudicate")) != (event.grade is not None):
        wants = "needs a grade" if event.grade is None else f"has a grade ({event.grade:g}) and should not"
        raise InputError(f"an event of kind {event.kind!r} {wants}.")
    if event.kind == "undo" and not event.undoes:
        raise InputError("an event of kind 'undo' does not say what it takes back.")
    if event.kind not in ("search", "undo") and (event.query is None or event.doc is None):
        raise InputError(f"an event of kind {event.kind!r} needs a query and a document.")
    if not event.key or len(event.key) > 200:
        raise InputError(f"the key of an event has 1 to 200 characters, found {len(event.key)}.")
    if event.note is not None and len(event.note) > MOST_TEXT:
        raise InputError(f"a note has at most {MOST_TEXT:,} characters, found {len(event.note):,}.")


def timed(trace: Trace) -> dict[str, Any]:
    """What a trace says, checked and complete, as fields of an event."""
    if trace.active_ms is not None:
        _milliseconds(trace.active_ms)
    recorded = now()
    return {
        "key": trace.key,
        "shown_at": None if trace.shown_at is None else moment(trace.shown_at, "shown_at"),
        "judged_at": recorded if trace.judged_at is None else moment(trace.judged_at, "judged_at"),
        "recorded_at": recorded,
        "active_ms": trace.active_ms,
        "method": trace.method[:40],
        "version": trace.version[:80],
    }


def _milliseconds(value: int) -> int:
    if not 0 <= value < 2**31:
        raise InputError(f"active_ms: expected milliseconds from 0 to {2**31 - 1:,}.")
    return value
