"""Judgments into the log: histories (JSON lines or CSV), what packets give back, and qrels as one assessor's.

All of a file is checked before anything of it is written. It is written in pieces, so that judges need not wait for the
whole. Every event has a key, so that importing a file twice, or once more after a machine died, does no harm.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from cranfield.annotation.csv_escape import text_in
from cranfield.annotation.database import Connection
from cranfield.annotation.events import COLUMNS, Event, checked_assessor, derived_key
from cranfield.annotation.grades import USUAL, Scale, written
from cranfield.annotation.log import JudgmentLog, add_pairs, check_ids, event_of, record_event, state_in
from cranfield.annotation.settings import Settings
from cranfield.annotation.timestamps import now
from cranfield.base import Record, format_id, replace
from cranfield.errors import InputError
from cranfield.io import Input, PathLike, parse_number, read_qrels

BATCH = 100  # events in a transaction: judges wait for no more than that
AT_ONCE = 500  # keys that are looked up by one statement
MOST_PLACES = 2**31 - 1
Key = tuple[str, str]  # the assessor of an event, and its key


class Imported(Record):
    """What became of a file."""

    file: str
    format: str  # jsonl, csv or qrels
    events: int
    new: int
    pairs: int  # that were not to be judged before
    assessors: tuple[str, ...]
    outdated: int  # known already, and changed since: the later judgment stays
    unjudged: int = 0  # rows with a negative grade, which is none


class _Content(Record, eq=False):
    """What a file holds."""

    events: Sequence[Event]
    lines: Sequence[int]  # where the events stand in the file
    scale: Scale | None = None  # the grades, if it names them
    gold: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    places: Mapping[Key, int] = field(default_factory=dict)  # where in the order of its assessor
    unjudged: int = 0


def import_judgments(
    log: JudgmentLog,
    path: PathLike,
    assessor: str | None = None,
    *,
    format: str | None = None,
    is_model: bool = False,
    grade_words: Mapping[str, float] | None = None,
    decisions: bool = False,
) -> Imported:
    """Take up judgments from a file: a history, what a packet saved, or qrels, which need the name of their assessor.

    The format is told from the content unless named (jsonl, csv, or a format of qrels). A history of somebody who is
    named may hold nothing of others. Who judges neither decides on disagreements nor says what is gold: both are taken
    up only with `decisions`, out of a history of one's own.
    """
    kind = format or _recognised(path)
    if kind in ("jsonl", "csv"):
        content = _history(path, kind, None if assessor is None else checked_assessor(assessor), decisions)
    elif assessor is None:
        raise InputError("whose judgments are these? qrels do not say: --assessor NAME.", str(path))
    else:
        values = log.settings.scale.values
        content = _from_qrels(path, checked_assessor(assessor), None if kind == "qrels" else kind, grade_words, values)
    settings = _fitting(log, content.scale, str(path))
    log.read(lambda at: _check(at, content, settings.scale, str(path), decisions))
    if settings != log.settings:
        log.set_up(settings)
    keys = frozenset((event.assessor, event.key) for event in content.events)
    new = pairs = outdated = 0
    _keep_gold(log, content.gold)
    for start in range(0, len(content.events), BATCH):
        some = content.events[start : start + BATCH]
        counts = log.write(lambda at, some=some: _record(at, some, content, keys))  # type: ignore[misc]
        new, pairs, outdated = new + counts[0], pairs + counts[1], outdated + counts[2]
    names = tuple(dict.fromkeys(event.assessor for event in content.events))
    for name in names if is_model else ():
        log.mark_model(name)
    told = kind if kind in ("jsonl", "csv") else "qrels"
    return Imported(str(path), told, len(content.events), new, pairs, names, outdated, content.unjudged)


# What is in a file


def _recognised(path: PathLike) -> str:
    """Whether a file is a history (jsonl, csv) or qrels."""
    if path == "-":
        raise InputError("standard input cannot be looked at first: name the format, --format jsonl, csv or trec.")
    with Input(path) as source:
        head, name = source.head.lstrip(), source.name
    if not head:
        raise InputError("the file is empty.", name)
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    if first.startswith("{"):
        return "jsonl" if '"judgments"' in first or '"assessor"' in first else "qrels"
    columns = {cell.strip().strip('"').lower() for cell in first.split(",")}
    return "csv" if {"assessor", "query", "doc"} <= columns else "qrels"


def _history(path: PathLike, format: str, assessor: str | None, decisions: bool) -> _Content:
    events: list[Event] = []
    lines: list[int] = []
    scale: Scale | None = None
    gold: dict[str, dict[str, float]] = {}
    places: dict[Key, int] = {}
    for line, found in _records(path, format):
        try:
            if isinstance(found.get("judgments"), dict):
                grades = found["judgments"].get("grades")
                scale = Scale.from_dicts(grades) if grades else None
                continue
            if assessor is not None and not found.get("assessor"):
                found = found | {"assessor": assessor}
            event = Event.from_dict(found)
            event = replace(event, assessor=checked_assessor(event.assessor))
            is_gold = found.get("gold") not in (None, "")
            _check_right(event, is_gold, assessor, decisions)
            events.append(event)
            lines.append(line)
            if is_gold and event.query is not None and event.doc is not None:
                gold.setdefault(event.query, {})[event.doc] = parse_number(found["gold"], "gold")
            if found.get("place") not in (None, ""):
                places[event.assessor, event.key] = _place(found["place"])
        except InputError as error:
            raise InputError(error.message, str(path), line) from None
    return _Content(events, lines, scale, gold, places)


def _check_right(event: Event, is_gold: bool, assessor: str | None, decisions: bool) -> None:
    """Refuse what the file of an assessor must not hold: anybody can write anything into a file."""
    if assessor is not None and event.assessor != assessor:
        raise InputError(f"this is by {format_id(event.assessor)}, expected only what is by {format_id(assessor)}.")
    if not decisions and (is_gold or event.kind == "adjudicate"):
        what = "says what is gold" if is_gold else "settles a disagreement"
        raise InputError(f"this {what}, which is taken up from a history of your own only: --decisions.")


def _place(value: Any) -> int:
    place = parse_number(value, "place")
    if not place.is_integer() or not 0 <= place <= MOST_PLACES:
        raise InputError(f"place {place:g}: expected a whole number from 0 to {MOST_PLACES:,}.")
    return int(place)


def _records(path: PathLike, format: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a history with their lines; a header, if there is one, is the first."""
    with Input(path) as source:
        if format == "csv":
            yield from _csv_records(source)
            return
        for line, content in source.lines():
            if not content.strip():
                continue
            try:
                found = json.loads(content.decode("utf-8", "surrogateescape"))
            except (ValueError, RecursionError) as error:
                raise InputError(f"expected a line of JSON: {error}.", source.name, line) from None
            if not isinstance(found, dict):
                raise InputError(f"expected a JSON object, found {type(found).__name__}.", source.name, line)
            yield line, found


def _csv_records(source: Input) -> Iterator[tuple[int, dict[str, Any]]]:
    table = csv.reader(source.text(), strict=True)
    try:
        header = [name.strip().lower() for name in next(table, [])]
        for row in table:
            if row and len(row) != len(header):
                raise InputError(f"expected {len(header)} columns, found {len(row)}.", source.name, table.line_num)
            if row:
                given = {name: text_in(cell) for name, cell in zip(header, row, strict=True) if cell != ""}
                if given.get("kind") == "note":
                    given.setdefault("note", "")
                yield table.line_num, given
    except csv.Error as error:
        raise InputError(f"this is no CSV: {error}.", source.name, table.line_num) from None


def _from_qrels(
    path: PathLike,
    assessor: str,
    format: str | None,
    grade_words: Mapping[str, float] | None,
    grades_here: Sequence[float],
) -> _Content:
    """The judgments of qrels; a negative grade is none, unless the log has it on its scale."""
    qrels = read_qrels(path, format) if grade_words is None else read_qrels(path, format, grade_words=grade_words)
    line_of = dict(zip(zip(qrels.row_queries(), qrels.docs, strict=True), qrels.lines.tolist(), strict=True))
    events, lines, unjudged = [], [], 0
    for query, own in qrels.to_dict().items():
        for doc, grade in own.items():
            if grade < 0 and grade not in grades_here:
                unjudged += 1
                continue
            key = derived_key("qrels", assessor, query, doc, written(grade))
            events.append(Event(key, "judge", assessor, query, doc, grade, method="import", version="qrels"))
            lines.append(line_of[query, doc])
    grades = sorted({event.grade for event in events if event.grade is not None})
    scale = Scale.of((grade,) for grade in grades) if 1 < len(grades) <= 10 else None
    return _Content(events, lines, scale, unjudged=unjudged)


# What becomes of it


def _fitting(log: JudgmentLog, scale: Scale | None, file: str) -> Settings:
    """The settings, with the grades of a file where the log has none of its own yet and those would not do."""
    settings = log.settings
    if scale is None or all(value in settings.scale.values for value in scale.values):
        return settings
    if log.read(lambda at: at.value("SELECT 1 FROM settings LIMIT 1")) is not None:
        lost = next(value for value in scale.values if value not in settings.scale.values)
        raise InputError(
            f"grade {written(lost)} is none of {', '.join(map(written, settings.scale.values))}, the grades of "
            f"{log.name}. 'cranfield judgments plan --grades' sets others.",
            file,
        )
    return replace(settings, scale=_labelled(scale))


def _check(at: Connection, content: _Content, scale: Scale, file: str, decisions: bool) -> None:
    """An error, with its line, if anything of a file cannot be taken up."""
    first: dict[Key, Event] = {}
    for start in range(0, len(content.events), BATCH):
        some = content.events[start : start + BATCH]
        there = _known(at, [(event.assessor, event.key) for event in some])
        undone = _known(at, [(event.assessor, event.undoes) for event in some if event.undoes is not None])
        for event, line in zip(some, content.lines[start : start + BATCH], strict=True):
            key = event.assessor, event.key
            try:
                _check_grades(event, content, scale)
                _check_pair(at, event)
                _check_key(event, there.get(key) or first.setdefault(key, event))
                if not decisions and event.undoes is not None:
                    _check_undo(undone.get((event.assessor, event.undoes)))
            except InputError as error:
                raise InputError(error.message, file, line) from None


def _known(at: Connection, keys: Sequence[Key]) -> dict[Key, Event]:
    """The events of a log that have these keys."""
    wanted: dict[str, list[str]] = {}
    for assessor, key in dict.fromkeys(keys):
        wanted.setdefault(assessor, []).append(key)
    found: dict[Key, Event] = {}
    for assessor, own in wanted.items():
        for start in range(0, len(own), AT_ONCE):
            some = own[start : start + AT_ONCE]
            statement = f"""
                SELECT {", ".join(COLUMNS)} FROM events
                WHERE assessor = ? AND key IN ({", ".join("?" * len(some))})
            """
            events = [event_of(row) for row in at.rows(statement, assessor, *some)]
            found |= {(event.assessor, event.key): event for event in events}
    return found


def _check_grades(event: Event, content: _Content, scale: Scale) -> None:
    gold = content.gold.get(event.query or "", {}).get(event.doc or "")
    for grade in (event.grade, gold):
        if grade is None:
            continue
        try:
            scale.grade(grade)
        except InputError as error:
            where = f"document {format_id(event.doc or '')} of query {format_id(event.query or '')}"
            raise InputError(f"{where}: {error.message}") from None


def _check_pair(at: Connection, event: Event) -> None:
    if event.query is None or event.doc is None:
        return
    try:
        check_ids(event.query, [event.doc])
    except InputError:  # logs of versions that took any id have such pairs
        if at.value("SELECT 1 FROM pairs WHERE query = ? AND doc = ?", event.query, event.doc) is None:
            raise


def _check_key(event: Event, there: Event) -> None:
    """Refuse a key that stands for another act; an undo may leave out what it concerns."""
    parts = ("kind", "grade") if event.kind == "undo" and event.doc is None else ("kind", "query", "doc", "grade")
    if any(getattr(event, name) != getattr(there, name) for name in parts):
        raise InputError(f"the key {event.key!r:.80} stands for another event; keys must differ.")


def _check_undo(undone: Event | None) -> None:
    if undone is not None and undone.kind == "adjudicate":
        raise InputError("this takes back a decision, which only a history of your own does: --decisions.")


def _labelled(scale: Scale) -> Scale:
    """A scale, with the usual labels where its grades are among the usual ones and have none."""
    usual = {grade.value: grade for grade in USUAL.grades}
    is_usual = set(scale.values) <= set(usual)
    rows = []
    for grade in scale.grades:
        is_plain = grade.label == f"grade {written(grade.value)}"
        chosen = usual[grade.value] if is_usual and is_plain else grade
        rows.append((grade.value, chosen.label, chosen.definition))
    return Scale.of(rows)


def _keep_gold(log: JudgmentLog, gold: Mapping[str, Mapping[str, float]]) -> None:
    """Mark gold pairs of a file that are new here; a pair that is to be judged here stays what it is."""
    known = {(pair.query, pair.doc) for pair in log.pairs()} if gold else set()
    new = {query: {doc: g for doc, g in docs.items() if (query, doc) not in known} for query, docs in gold.items()}
    if any(new.values()):
        log.add_gold({query: docs for query, docs in new.items() if docs})


def _record(at: Connection, events: Sequence[Event], content: _Content, keys: frozenset[Key]) -> tuple[int, int, int]:
    """Record some events; how many were new, how many of their pairs, and how many were changed since."""
    new = outdated = 0
    today = now()
    wanted: dict[str, list[str]] = {}
    for event in events:
        if event.query is not None and event.doc is not None:
            wanted.setdefault(event.query, []).append(event.doc)
    pairs = add_pairs(at, wanted, "import")
    for event in events:
        known = _event(at, event.assessor, event.key) is not None
        undone = _event(at, event.assessor, event.undoes) if event.undoes is not None else None
        complete = _complete(at, event, undone, content.places.get((event.assessor, event.key)), today)
        record_event(at, complete)
        new += not known
        if known and complete.kind == "judge" and not complete.again:
            outdated += _is_outdated(at, complete, keys)
    return new, pairs, outdated


def _event(at: Connection, assessor: str, key: str) -> Event | None:
    row = at.row(f"SELECT {', '.join(COLUMNS)} FROM events WHERE assessor = ? AND key = ?", assessor, key)
    return None if row is None else event_of(row)


def _complete(at: Connection, event: Event, undone: Event | None, place: int | None, today: str) -> Event:
    """An event with what it lacks: times, what is undone, whether it is a repeat. No event is from tomorrow."""
    given: dict[str, Any] = {
        "judged_at": event.judged_at or today,
        "recorded_at": min(event.recorded_at or event.judged_at or today, today),
    }
    if event.kind == "undo" and event.doc is None:
        if undone is not None:
            given |= {"query": undone.query, "doc": undone.doc, "again": undone.again}
    elif place is not None and not event.again:
        # a packet does not say which documents it shows a second time; the order that is kept here does
        again = at.value(
            """
            SELECT l.again FROM places l JOIN pairs p ON p.pair = l.pair
            WHERE l.assessor = ? AND l.query = ? AND l.place = ? AND p.doc = ?
            """,
            event.assessor,
            event.query,
            place,
            event.doc,
        )
        given["again"] = bool(again)
    return replace(event, **given)


def _is_outdated(at: Connection, event: Event, keys: frozenset[Key]) -> bool:
    """Whether a judgment was changed since by something that is not in the file: its own undo is no news."""
    pair = at.value("SELECT pair FROM pairs WHERE query = ? AND doc = ?", event.query, event.doc)
    state = state_in(at, pair, event.assessor)
    if (state.kind, state.grade) == ("judge", event.grade):
        return False
    later = at.rows(
        """
        SELECT l.key FROM events l JOIN events e ON l.pair = e.pair AND l.assessor = e.assessor AND l.again = e.again
        WHERE e.assessor = ? AND e.key = ? AND l.recorded_at >= e.recorded_at
        AND l.kind IN ('judge', 'cannot', 'skip', 'undo')
        """,
        event.assessor,
        event.key,
    )
    return any((event.assessor, key) not in keys for (key,) in later)
