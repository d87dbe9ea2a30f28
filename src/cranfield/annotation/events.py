"""Events of the log, the state that results from them, and how an action was submitted."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import field
from typing import Any, Literal, get_args

from cranfield.annotation.grades import simplify_grade
from cranfield.annotation.timestamps import parse_timestamp, utc_now
from cranfield.base import Record, encode_id, fields
from cranfield.errors import InputError
from cranfield.io import parse_id, parse_number

Kind = Literal["judge", "cannot", "skip", "note", "undo", "search", "found", "adjudicate"]
EVENT_KINDS: dict[str, str] = {
    "judge": "a grade was given",
    "cannot": "the document cannot be judged; this is not a grade",
    "skip": "left for later; the document comes again at the end",
    "note": "a note without a grade",
    "undo": "the event in `undoes` is undone",
    "search": "the assessor searched for more documents; the words are in `note`",
    "found": "a document found by such a search was added",
    "adjudicate": "a disagreement was decided; this grade overrides the others",
}
STATE_KINDS = ("judge", "cannot", "skip", "note")  # these determine the state of a document, and can be undone
HISTORY_VERSION = 1  # of the export format
MAX_NOTE_LENGTH = 20_000  # characters of a note


class Submission(Record):
    """How an action was submitted: when the document was shown, how long it was viewed, and by which means.

    A repeated `key` means that the same action was sent again: it is recorded once.
    """

    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    shown_at: str | None = None
    judged_at: str | None = None
    active_ms: int | None = None
    method: str = ""  # key, click, touch, line, import, …
    version: str = ""  # of the client, such as "terminal 0.1.0"


class Event(Record):
    """One entry of the log."""

    key: str
    kind: str
    assessor: str
    query: str | None
    doc: str | None
    grade: float | None = None
    note: str | None = None
    undoes: str | None = None  # the key of the undone event
    again: bool = False  # a repeat, to check consistency; never exported as a judgment
    shown_at: str | None = None
    judged_at: str = ""
    recorded_at: str = ""
    active_ms: int | None = None
    method: str = ""
    version: str = ""

    def __post_init__(self) -> None:
        _check(self)

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        values = {name: getattr(self, name) for name in COLUMNS}
        return values | {"grade": None if self.grade is None else simplify_grade(self.grade)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Event:
        """An event from JSON or CSV; missing times and keys are derived from the rest."""
        values = {name: value for name, value in record.items() if name in COLUMNS and value not in (None, "")}
        for name in ("assessor", "query", "doc"):
            if name in values:
                values[name] = parse_id(values[name], name)
        if "grade" in values:
            values["grade"] = parse_number(values["grade"], "grade")
        if "active_ms" in values:
            values["active_ms"] = _milliseconds(round(parse_number(values["active_ms"], "active_ms")))
        values["again"] = str(values.get("again", "")).lower() in ("true", "1")
        if record.get("note") == "":
            values["note"] = ""  # the note was removed
        times = [parse_timestamp(str(values[name]), name) for name in ("judged_at", "recorded_at") if name in values]
        values |= {"judged_at": times[0], "recorded_at": times[-1]} if times else {}
        if "shown_at" in values:
            values["shown_at"] = parse_timestamp(str(values["shown_at"]), "shown_at")
        kind = values.setdefault("kind", "judge")
        if "assessor" not in values:
            raise InputError("the assessor is missing.")
        values.setdefault("query", None)
        values.setdefault("doc", None)
        if "key" not in values:
            parts = [str(values.get(name, "")) for name in ("assessor", "query", "doc", "grade", "judged_at")]
            values["key"] = derive_key(str(kind), *parts)
        for name in ("key", "kind", "note", "undoes", "method", "version"):
            if name in values:
                values[name] = str(values[name])
        return cls(**values)


COLUMNS = tuple(one.name for one in fields(Event))


class JudgmentState(Record):
    """The state of a document for an assessor, after all events so far."""

    kind: str = ""  # judge, cannot or skip; empty without any of them
    grade: float | None = None
    note: str = ""
    recorded_at: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the document is judged, or cannot be."""
        return self.kind in ("judge", "cannot")


def reduce_events(events: Iterable[Event]) -> JudgmentState:
    """The state after the events of one assessor and document, in order: the last one that is not undone counts.

    >>> graded = Event("a", "judge", "ada", "1", "d", 2.0)
    >>> undone = Event("b", "undo", "ada", "1", "d", undoes="a")
    >>> reduce_events([graded]).grade, reduce_events([graded, undone]).grade
    (2.0, None)
    """
    ordered = list(events)
    undone = {event.undoes for event in ordered if event.kind == "undo"}
    state = JudgmentState()
    for event in ordered:
        if event.kind not in STATE_KINDS or event.key in undone:
            continue
        note = state.note if event.note is None else event.note
        if event.kind == "note":
            state = JudgmentState(state.kind, state.grade, note, event.recorded_at)
        else:
            state = JudgmentState(event.kind, event.grade, note, event.recorded_at)
    return state


def derive_key(*parts: str) -> str:
    """A key that depends on nothing but its parts.

    >>> derive_key("a", "b") == derive_key("a", "b") != derive_key("ab", "")
    True
    """
    digest = hashlib.sha256()
    for part in parts:
        content = encode_id(part)
        digest.update(f"{len(content)}:".encode() + content)
    return digest.hexdigest()[:32]


def check_assessor_name(name: str) -> str:
    """The name of an assessor, stripped and checked."""
    name = parse_id(name, "assessor").strip()
    if not name or len(name) > 200 or any(ord(char) < 32 for char in name):
        raise InputError(f"{name!r:.80} is not a valid name for an assessor: expected 1 to 200 printable characters.")
    return name


def _check(event: Event) -> None:
    if event.kind not in get_args(Kind):
        raise InputError(f"unknown kind of event {event.kind!r:.40}: expected one of {', '.join(EVENT_KINDS)}.")
    if (event.kind in ("judge", "adjudicate")) != (event.grade is not None):
        problem = "needs a grade" if event.grade is None else f"must not have a grade ({event.grade:g})"
        raise InputError(f"an event of kind {event.kind!r} {problem}.")
    if event.kind == "undo" and not event.undoes:
        raise InputError("an event of kind 'undo' needs the key of the event that it undoes.")
    if event.kind not in ("search", "undo") and (event.query is None or event.doc is None):
        raise InputError(f"an event of kind {event.kind!r} needs a query and a document.")
    if not event.key or len(event.key) > 200:
        raise InputError(f"the key of an event must have 1 to 200 characters, found {len(event.key)}.")
    if event.note is not None and len(event.note) > MAX_NOTE_LENGTH:
        raise InputError(f"a note can have at most {MAX_NOTE_LENGTH:,} characters, found {len(event.note):,}.")


def complete_submission(submission: Submission) -> dict[str, Any]:
    """The fields of a submission, checked and completed, for an event."""
    if submission.active_ms is not None:
        _milliseconds(submission.active_ms)
    recorded = utc_now()
    return {
        "key": submission.key,
        "shown_at": None if submission.shown_at is None else parse_timestamp(submission.shown_at, "shown_at"),
        "judged_at": recorded if submission.judged_at is None else parse_timestamp(submission.judged_at, "judged_at"),
        "recorded_at": recorded,
        "active_ms": submission.active_ms,
        "method": submission.method[:40],
        "version": submission.version[:80],
    }


def _milliseconds(value: int) -> int:
    if not 0 <= value < 2**31:
        raise InputError(f"active_ms: expected milliseconds from 0 to {2**31 - 1:,}.")
    return value
