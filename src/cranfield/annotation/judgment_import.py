"""Import of judgments: histories (JSON lines or CSV), the output of packets, and qrels of one assessor.

A file is checked completely before any of it is recorded. It is recorded in batches, so assessors need not wait for the
whole file. Every event has a key, so importing a file twice, or again after a crash, does no harm.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from cranfield.annotation.csv_escape import unescape_cell
from cranfield.annotation.database import Connection
from cranfield.annotation.events import COLUMNS, Event, check_assessor_name, derive_key
from cranfield.annotation.grades import DEFAULT_SCALE, Scale, format_grade
from cranfield.annotation.log import JudgmentLog, add_pairs, check_ids, event_from_row, load_state, record_event
from cranfield.annotation.settings import Settings
from cranfield.annotation.timestamps import utc_now
from cranfield.base import Record, format_id, replace
from cranfield.errors import InputError
from cranfield.io import Input, PathLike, parse_number, read_qrels

BATCH = 100  # events per transaction: assessors may have to wait for one
KEYS_PER_QUERY = 500
MAX_PLACE = 2**31 - 1
Key = tuple[str, str]  # the assessor of an event, and its key


class ImportResult(Record):
    """The result of importing a file."""

    file: str
    format: str  # jsonl, csv or qrels
    events: int
    new: int
    pairs: int  # new pairs to judge
    assessors: tuple[str, ...]
    outdated: int  # recorded before and changed since: the later judgment stays
    unjudged: int = 0  # rows with a negative grade, which is not a judgment


class _Content(Record, eq=False):
    """The content of a file."""

    events: Sequence[Event]
    lines: Sequence[int]  # line numbers of the events
    scale: Scale | None = None  # if the file has one
    gold: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    places: Mapping[Key, int] = field(default_factory=dict)  # place in the order of the assessor
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
) -> ImportResult:
    """Import judgments from a file: a history, the output of a packet, or qrels, which need the name of an assessor.

    The format is detected from the content by default (jsonl, csv, or a format of qrels). If an assessor is named, a
    history must not contain events of others. Adjudications and gold grades are imported only with `decisions`, for
    histories that you have exported yourself: assessors must not make them.
    """
    kind = format or _detect_format(path)
    if kind in ("jsonl", "csv"):
        content = _read_history(path, kind, None if assessor is None else check_assessor_name(assessor), decisions)
    elif assessor is None:
        raise InputError("qrels do not say who judged: --assessor NAME.", str(path))
    else:
        values = log.settings.scale.values
        content = _read_qrels(
            path, check_assessor_name(assessor), None if kind == "qrels" else kind, grade_words, values
        )
    settings = _choose_settings(log, content.scale, str(path))
    log.read(lambda db: _check(db, content, settings.scale, str(path), decisions))
    if settings != log.settings:
        log.configure(settings)
    keys = frozenset((event.assessor, event.key) for event in content.events)
    new = pairs = outdated = 0
    _add_gold(log, content.gold)
    for start in range(0, len(content.events), BATCH):
        some = content.events[start : start + BATCH]
        counts = log.write(lambda db, some=some: _record(db, some, content, keys))  # type: ignore[misc]
        new, pairs, outdated = new + counts[0], pairs + counts[1], outdated + counts[2]
    names = tuple(dict.fromkeys(event.assessor for event in content.events))
    for name in names if is_model else ():
        log.mark_model(name)
    detected = kind if kind in ("jsonl", "csv") else "qrels"
    return ImportResult(str(path), detected, len(content.events), new, pairs, names, outdated, content.unjudged)


# Reading


def _detect_format(path: PathLike) -> str:
    """Whether a file is a history (jsonl, csv) or qrels."""
    if path == "-":
        raise InputError("the format of standard input cannot be detected: name it, --format jsonl, csv or trec.")
    with Input(path) as source:
        head, name = source.head.lstrip(), source.name
    if not head:
        raise InputError("the file is empty.", name)
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    if first.startswith("{"):
        return "jsonl" if '"judgments"' in first or '"assessor"' in first else "qrels"
    columns = {cell.strip().strip('"').lower() for cell in first.split(",")}
    return "csv" if {"assessor", "query", "doc"} <= columns else "qrels"


def _read_history(path: PathLike, format: str, assessor: str | None, decisions: bool) -> _Content:
    events: list[Event] = []
    lines: list[int] = []
    scale: Scale | None = None
    gold: dict[str, dict[str, float]] = {}
    places: dict[Key, int] = {}
    for line, record in _read_records(path, format):
        try:
            if isinstance(record.get("judgments"), dict):
                grades = record["judgments"].get("grades")
                scale = Scale.from_dicts(grades) if grades else None
                continue
            if assessor is not None and not record.get("assessor"):
                record = record | {"assessor": assessor}
            event = Event.from_dict(record)
            event = replace(event, assessor=check_assessor_name(event.assessor))
            is_gold = record.get("gold") not in (None, "")
            _check_permission(event, is_gold, assessor, decisions)
            events.append(event)
            lines.append(line)
            if is_gold and event.query is not None and event.doc is not None:
                gold.setdefault(event.query, {})[event.doc] = parse_number(record["gold"], "gold")
            if record.get("place") not in (None, ""):
                places[event.assessor, event.key] = _parse_place(record["place"])
        except InputError as error:
            raise InputError(error.message, str(path), line) from None
    return _Content(events, lines, scale, gold, places)


def _check_permission(event: Event, is_gold: bool, assessor: str | None, decisions: bool) -> None:
    """Refuse what the file of an assessor must not contain; assessors can edit their files."""
    if assessor is not None and event.assessor != assessor:
        raise InputError(
            f"this event is by {format_id(event.assessor)}, expected only events by {format_id(assessor)}."
        )
    if not decisions and (is_gold or event.kind == "adjudicate"):
        what = "a gold grade" if is_gold else "an adjudication"
        raise InputError(f"{what} is imported only from a history that you exported yourself: --decisions.")


def _parse_place(value: Any) -> int:
    place = parse_number(value, "place")
    if not place.is_integer() or not 0 <= place <= MAX_PLACE:
        raise InputError(f"place {place:g}: expected a whole number from 0 to {MAX_PLACE:,}.")
    return int(place)


def _read_records(path: PathLike, format: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a history with their line numbers; a header, if any, comes first."""
    with Input(path) as source:
        if format == "csv":
            yield from _read_csv_records(source)
            return
        for line, content in source.lines():
            if not content.strip():
                continue
            try:
                record = json.loads(content.decode("utf-8", "surrogateescape"))
            except (ValueError, RecursionError) as error:
                raise InputError(f"invalid JSON: {error}.", source.name, line) from None
            if not isinstance(record, dict):
                raise InputError(f"expected a JSON object, found {type(record).__name__}.", source.name, line)
            yield line, record


def _read_csv_records(source: Input) -> Iterator[tuple[int, dict[str, Any]]]:
    table = csv.reader(source.text(), strict=True)
    try:
        header = [name.strip().lower() for name in next(table, [])]
        for row in table:
            if row and len(row) != len(header):
                raise InputError(f"expected {len(header)} columns, found {len(row)}.", source.name, table.line_num)
            if row:
                record = {name: unescape_cell(cell) for name, cell in zip(header, row, strict=True) if cell != ""}
                if record.get("kind") == "note":
                    record.setdefault("note", "")
                yield table.line_num, record
    except csv.Error as error:
        raise InputError(f"this is not valid CSV: {error}.", source.name, table.line_num) from None


def _read_qrels(
    path: PathLike,
    assessor: str,
    format: str | None,
    grade_words: Mapping[str, float] | None,
    grades_here: Sequence[float],
) -> _Content:
    """The judgments of qrels. A negative grade is not a judgment, unless it is on the scale of the log."""
    qrels = read_qrels(path, format) if grade_words is None else read_qrels(path, format, grade_words=grade_words)
    line_of = dict(zip(zip(qrels.row_queries(), qrels.docs, strict=True), qrels.lines.tolist(), strict=True))
    events, lines, unjudged = [], [], 0
    for query, own in qrels.to_dict().items():
        for doc, grade in own.items():
            if grade < 0 and grade not in grades_here:
                unjudged += 1
                continue
            key = derive_key("qrels", assessor, query, doc, format_grade(grade))
            events.append(Event(key, "judge", assessor, query, doc, grade, method="import", version="qrels"))
            lines.append(line_of[query, doc])
    grades = sorted({event.grade for event in events if event.grade is not None})
    scale = Scale.of((grade,) for grade in grades) if 1 < len(grades) <= 10 else None
    return _Content(events, lines, scale, unjudged=unjudged)


# Checking and recording


def _choose_settings(log: JudgmentLog, scale: Scale | None, file: str) -> Settings:
    """The settings, with the grades of the file if the log has no settings and the default grades do not fit."""
    settings = log.settings
    if scale is None or all(value in settings.scale.values for value in scale.values):
        return settings
    if log.read(lambda db: db.value("SELECT 1 FROM settings LIMIT 1")) is not None:
        lost = next(value for value in scale.values if value not in settings.scale.values)
        raise InputError(
            f"grade {format_grade(lost)} is not one of the grades of {log.name}, "
            f"{', '.join(map(format_grade, settings.scale.values))}. 'cranfield judgments plan --grades' sets others.",
            file,
        )
    return replace(settings, scale=_add_labels(scale))


def _check(db: Connection, content: _Content, scale: Scale, file: str, decisions: bool) -> None:
    """Raise an error, with its line, if anything in a file cannot be recorded."""
    first: dict[Key, Event] = {}
    for start in range(0, len(content.events), BATCH):
        some = content.events[start : start + BATCH]
        recorded = _find_events(db, [(event.assessor, event.key) for event in some])
        undone = _find_events(db, [(event.assessor, event.undoes) for event in some if event.undoes is not None])
        for event, line in zip(some, content.lines[start : start + BATCH], strict=True):
            key = event.assessor, event.key
            try:
                _check_grades(event, content, scale)
                _check_pair(db, event)
                _check_key(event, recorded.get(key) or first.setdefault(key, event))
                if not decisions and event.undoes is not None:
                    _check_undo(undone.get((event.assessor, event.undoes)))
            except InputError as error:
                raise InputError(error.message, file, line) from None


def _find_events(db: Connection, keys: Sequence[Key]) -> dict[Key, Event]:
    """The events with these keys."""
    wanted: dict[str, list[str]] = {}
    for assessor, key in dict.fromkeys(keys):
        wanted.setdefault(assessor, []).append(key)
    events: dict[Key, Event] = {}
    for assessor, own in wanted.items():
        for start in range(0, len(own), KEYS_PER_QUERY):
            some = own[start : start + KEYS_PER_QUERY]
            statement = f"""
                SELECT {", ".join(COLUMNS)} FROM events
                WHERE assessor = ? AND key IN ({", ".join("?" * len(some))})
            """
            rows = map(event_from_row, db.rows(statement, assessor, *some))
            events |= {(event.assessor, event.key): event for event in rows}
    return events


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


def _check_pair(db: Connection, event: Event) -> None:
    if event.query is None or event.doc is None:
        return
    try:
        check_ids(event.query, [event.doc])
    except InputError:  # logs of earlier versions may have such pairs
        if db.value("SELECT 1 FROM pairs WHERE query = ? AND doc = ?", event.query, event.doc) is None:
            raise


def _check_key(event: Event, recorded: Event) -> None:
    """Refuse a key that is used by another event; an undo may omit query and document."""
    parts = ("kind", "grade") if event.kind == "undo" and event.doc is None else ("kind", "query", "doc", "grade")
    if any(getattr(event, name) != getattr(recorded, name) for name in parts):
        raise InputError(f"the key {event.key!r:.80} is used by another event; keys must be unique.")


def _check_undo(undone: Event | None) -> None:
    if undone is not None and undone.kind == "adjudicate":
        raise InputError("an adjudication is undone only by a history that you exported yourself: --decisions.")


def _add_labels(scale: Scale) -> Scale:
    """A scale with the default labels, if all its grades are on the default scale and have no labels."""
    defaults = {grade.value: grade for grade in DEFAULT_SCALE.grades}
    has_defaults = set(scale.values) <= set(defaults)
    rows = []
    for grade in scale.grades:
        is_unlabelled = grade.label == f"grade {format_grade(grade.value)}"
        chosen = defaults[grade.value] if has_defaults and is_unlabelled else grade
        rows.append((grade.value, chosen.label, chosen.definition))
    return Scale.of(rows)


def _add_gold(log: JudgmentLog, gold: Mapping[str, Mapping[str, float]]) -> None:
    """Add the gold pairs of a file that are not in the log yet; existing pairs stay as they are."""
    known = {(pair.query, pair.doc) for pair in log.pairs()} if gold else set()
    new = {query: {doc: g for doc, g in docs.items() if (query, doc) not in known} for query, docs in gold.items()}
    if any(new.values()):
        log.add_gold({query: docs for query, docs in new.items() if docs})


def _record(db: Connection, events: Sequence[Event], content: _Content, keys: frozenset[Key]) -> tuple[int, int, int]:
    """Record some events; return how many are new, how many of their pairs, and how many were changed since."""
    new = outdated = 0
    now = utc_now()
    wanted: dict[str, list[str]] = {}
    for event in events:
        if event.query is not None and event.doc is not None:
            wanted.setdefault(event.query, []).append(event.doc)
    pairs = add_pairs(db, wanted, "import")
    for event in events:
        known = _event(db, event.assessor, event.key) is not None
        undone = _event(db, event.assessor, event.undoes) if event.undoes is not None else None
        complete = _complete(db, event, undone, content.places.get((event.assessor, event.key)), now)
        record_event(db, complete)
        new += not known
        if known and complete.kind == "judge" and not complete.again:
            outdated += _is_outdated(db, complete, keys)
    return new, pairs, outdated


def _event(db: Connection, assessor: str, key: str) -> Event | None:
    row = db.row(f"SELECT {', '.join(COLUMNS)} FROM events WHERE assessor = ? AND key = ?", assessor, key)
    return None if row is None else event_from_row(row)


def _complete(db: Connection, event: Event, undone: Event | None, place: int | None, now: str) -> Event:
    """An event with missing times, the pair of an undone event, and `again` filled in; not later than now."""
    values: dict[str, Any] = {
        "judged_at": event.judged_at or now,
        "recorded_at": min(event.recorded_at or event.judged_at or now, now),
    }
    if event.kind == "undo" and event.doc is None:
        if undone is not None:
            values |= {"query": undone.query, "doc": undone.doc, "again": undone.again}
    elif place is not None and not event.again:
        # a packet does not say which documents are repeats; the stored order does
        again = db.value(
            """
            SELECT l.again FROM places l JOIN pairs p ON p.pair = l.pair
            WHERE l.assessor = ? AND l.query = ? AND l.place = ? AND p.doc = ?
            """,
            event.assessor,
            event.query,
            place,
            event.doc,
        )
        values["again"] = bool(again)
    return replace(event, **values)


def _is_outdated(db: Connection, event: Event, keys: frozenset[Key]) -> bool:
    """Whether a judgment was changed since by an event that is not in the file."""
    pair = db.value("SELECT pair FROM pairs WHERE query = ? AND doc = ?", event.query, event.doc)
    state = load_state(db, pair, event.assessor)
    if (state.kind, state.grade) == ("judge", event.grade):
        return False
    later = db.rows(
        """
        SELECT l.key FROM events l JOIN events e ON l.pair = e.pair AND l.assessor = e.assessor AND l.again = e.again
        WHERE e.assessor = ? AND e.key = ? AND l.recorded_at >= e.recorded_at
        AND l.kind IN ('judge', 'cannot', 'skip', 'undo')
        """,
        event.assessor,
        event.key,
    )
    return any((event.assessor, key) not in keys for (key,) in later)
