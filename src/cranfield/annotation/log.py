"""The log of judgments. Events are appended one by one; each is on disk before it is reported as saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from cranfield.annotation.database import Connection, Database, JudgingError, open_database
from cranfield.annotation.events import COLUMNS, STATE_KINDS, Event, JudgmentState, check_assessor_name, reduce_events
from cranfield.annotation.presentation_order import REPEAT_CHANGES, UPDATE_REPEATS, WAS_SKIPPED, find_repeat_status
from cranfield.annotation.schema import migrate
from cranfield.annotation.settings import Settings, load_settings, save_settings
from cranfield.annotation.timestamps import utc_now
from cranfield.base import Record, format_id, join_names, sort_naturally
from cranfield.errors import InputError
from cranfield.io import Input, format_column, parse_id, strip_compression_suffix
from cranfield.pooling import read_pool

T = TypeVar("T")
UNLIMITED = 1_000_000  # judgments of a gold pair: one by every assessor
_COLUMNS = ", ".join(COLUMNS)
_INSERT = f"""
    INSERT INTO events ({_COLUMNS}, pair) VALUES ({", ".join("?" * len(COLUMNS))}, ?)
    ON CONFLICT (assessor, key) DO NOTHING RETURNING seq
"""
HUMAN_ASSESSORS = "(SELECT assessor FROM assessors WHERE is_model = 0)"  # only their judgments count for a pair
_JUDGMENT_COUNTS = f"""
    judged = (
        SELECT COUNT(*) FROM states s
        WHERE s.pair = pairs.pair AND again = 0 AND kind = 'judge' AND assessor IN {HUMAN_ASSESSORS}
    ),
    spread = (
        SELECT COALESCE(MAX(grade) - MIN(grade), 0) FROM states s
        WHERE s.pair = pairs.pair AND again = 0 AND kind = 'judge' AND assessor IN {HUMAN_ASSESSORS}
    )
"""
_PAGE = 5_000  # events read at a time
# old and new status of places and of their repeats, when a pair has all its judgments, and when it lost one
_WHEN_FULL = ("open", "full", "waiting", "void")
_WHEN_REOPENED = ("full", "open", "void", "waiting")


class Judgment(Record):
    """The current judgment of a document by an assessor."""

    assessor: str
    query: str
    doc: str
    kind: str  # judge, cannot or skip
    grade: float | None
    note: str
    recorded_at: str
    again: bool = False
    gold: float | None = None  # the known grade of a pair that is there to check assessors


class PairStatus(Record):
    """A document to judge for a query, and its status."""

    query: str
    doc: str
    source: str  # pool, search, import, gold, or once gold (if a pool contained it later)
    wanted: int
    judged: int  # by people
    adjudicated: float | None
    gold: float | None


class JudgmentLog:
    """All events of a project, and the pairs to judge. Threads and processes may share a log."""

    def __init__(self, database: Database) -> None:
        self.database = database
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise

    @property
    def name(self) -> str:
        """The name used in messages, without a password."""
        return self.database.name

    @property
    def settings(self) -> Settings:
        """How judging is organised."""
        return self.read(load_settings)

    def configure(self, settings: Settings) -> None:
        """Change the settings. Grades that have been given must stay on the scale. Existing orders do not change."""

        def work(db: Connection) -> None:
            before = load_settings(db)
            save_settings(db, settings)
            if (settings.judgments, settings.overlap) != (before.judgments, before.overlap):
                _recount_wanted(db, settings)

        self.write(work)

    def add_pairs(self, pairs: Mapping[str, Iterable[str]], source: str = "pool") -> int:
        """Add documents to judge, by query; return how many are new. Later ones come after the others."""
        wanted = {parse_id(q, "query"): [parse_id(doc, "doc") for doc in docs] for q, docs in pairs.items()}
        return self.write(lambda db: add_pairs(db, wanted, source))

    def add_pool(self, file: str | os.PathLike[str]) -> int:
        """Add the pairs of a file written by `cranfield pool`; return how many are new."""
        pool = read_pool(file)
        with Input(file) as source:
            source.read()
            digest = source.sha256 if isinstance(source.sha256, str) else source.sha256()

        def work(db: Connection) -> int:
            new = add_pairs(db, pool.pairs, "pool")
            db.run(
                "INSERT INTO pools VALUES (?, ?, ?) ON CONFLICT (sha256) DO UPDATE SET file = excluded.file",
                digest,
                os.path.abspath(os.fspath(file)),
                utc_now(),
            )
            return new

        return self.write(work)

    def pools(self) -> list[str]:
        """The pool files that were added, in order."""
        return [str(file) for (file,) in self.read(lambda db: db.rows("SELECT file FROM pools ORDER BY added_at"))]

    def add_gold(self, grades: Mapping[str, Mapping[str, float]]) -> int:
        """Add pairs whose grades are known, for every assessor of the topic. They are never exported.

        A pair that is to be judged anyway, say because it is in the pool, does not become gold: its judgments would be
        missing from the qrels. `find_not_gold` lists these pairs.
        """

        def work(db: Connection) -> int:
            scale = load_settings(db).scale
            new = add_pairs(db, {query: list(docs) for query, docs in grades.items()}, "gold")
            for query, docs in grades.items():
                for doc, grade in docs.items():
                    scale.grade(grade)
                    db.run(
                        "UPDATE pairs SET gold = ?, wanted = ? WHERE query = ? AND doc = ? AND source = 'gold'",
                        grade,
                        UNLIMITED,
                        query,
                        doc,
                    )
                db.run("UPDATE orders SET reach = 0 WHERE query = ?", query)
            known = "(SELECT pair FROM pairs WHERE gold IS NOT NULL)"
            db.run(f"UPDATE places SET status = 'open' WHERE status = 'full' AND pair IN {known}")
            return new

        return self.write(work)

    def find_not_gold(self, grades: Mapping[str, Mapping[str, float]]) -> list[tuple[str, str]]:
        """Those of the pairs that cannot be gold, as they are to be judged anyway."""
        ordinary = {(pair.query, pair.doc) for pair in self.pairs() if pair.gold is None}
        return [(query, doc) for query, docs in grades.items() for doc in docs if (query, doc) in ordinary]

    def topics(self) -> tuple[str, ...]:
        """The queries with documents to judge."""
        return tuple(query for (query,) in self.read(lambda db: db.rows("SELECT query FROM topics ORDER BY number")))

    def pairs(self, query: str | None = None) -> list[PairStatus]:
        """The pairs to judge, of one query or of all. For coordinators, not for assessors."""
        some, values = ("WHERE p.query = ?", (query,)) if query is not None else ("", ())
        statement = f"""
            SELECT p.query, p.doc, p.source, p.wanted, p.judged, p.adjudicated, p.gold
            FROM pairs p JOIN topics t ON t.query = p.query {some} ORDER BY t.number, p.pair
        """
        return [PairStatus(*row) for row in self.read(lambda db: db.rows(statement, *values))]

    def assessors(self) -> tuple[str, ...]:
        """Everybody who has judged or been assigned something, sorted by name."""
        rows = self.read(lambda db: db.rows("SELECT assessor FROM assessors"))
        return tuple(sort_naturally(name for (name,) in rows))

    def add_assessor(self, name: str) -> str:
        """Add an assessor unless known already; return the name as it is stored."""
        name = check_assessor_name(name)
        # reading first: usually there is nothing to write, and so no need to wait for other writers
        if self.read(lambda db: db.value("SELECT 1 FROM assessors WHERE assessor = ?", name)) is None:
            self.write(lambda db: ensure_assessor(db, name))
        return name

    def models(self) -> frozenset[str]:
        """The assessors that are models, not people."""
        return frozenset(
            name for (name,) in self.read(lambda db: db.rows("SELECT assessor FROM assessors WHERE is_model = 1"))
        )

    def mark_model(self, name: str) -> None:
        """Mark an assessor as a model: its judgments are not merged with those of people unless requested.

        They do not count as judgments of a pair: pairs that seemed complete because of them are offered again.
        """
        name = check_assessor_name(name)
        self.write(lambda db: mark_model(db, name))

    def append(self, event: Event) -> Event:
        """Record an event. If one with the same key exists already, return that one."""
        return self.write(lambda db: record_event(db, event))

    def events(self) -> Iterator[Event]:
        """All events in order, as of now. They are read in chunks; the log may grow meanwhile."""
        statement = f"SELECT {_COLUMNS}, seq FROM events WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"
        with self.database.snapshot() as db:
            rows = db.rows(statement, 0)
            while rows:
                yield from (event_from_row(row[:-1]) for row in rows)
                rows = db.rows(statement, rows[-1][-1])

    def judgments(self, query: str | None = None) -> list[Judgment]:
        """The current judgments of all assessors, with repeats and gold pairs marked. For coordinators."""
        some, values = ("WHERE p.query = ?", (query,)) if query is not None else ("", ())
        statement = f"""
            SELECT s.assessor, p.query, p.doc, s.kind, s.grade, s.note, s.recorded_at, s.again, p.gold
            FROM states s JOIN pairs p ON p.pair = s.pair JOIN topics t ON t.query = p.query {some}
            ORDER BY t.number, p.pair, s.recorded_at
        """
        rows = self.read(lambda db: db.rows(statement, *values))
        return [
            Judgment(who, topic, doc, kind, grade, note, recorded_at, bool(again), gold)
            for who, topic, doc, kind, grade, note, recorded_at, again, gold in rows
            if kind
        ]

    def rebuild(self) -> None:
        """Recompute everything that is derived from the events."""

        def work(db: Connection) -> None:
            db.run("DELETE FROM states")
            db.run("UPDATE pairs SET judged = 0, spread = 0, adjudicated = NULL")
            db.run("UPDATE places SET later = 0, status = CASE WHEN again = 1 THEN 'waiting' ELSE 'open' END")
            # originals first: the status of a repeat depends on its original
            for pair, assessor, again in db.rows(
                """
                SELECT DISTINCT pair, assessor, again FROM events WHERE pair IS NOT NULL
                ORDER BY pair, assessor, again
                """
            ):
                _update_state(db, pair, assessor, again)

        self.write(work)

    def read(self, work: Callable[[Connection], T]) -> T:
        return self.database.read(work)

    def write(self, work: Callable[[Connection], T]) -> T:
        return self.database.write(work)

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> JudgmentLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_log(place: str | os.PathLike[str], create: bool = True) -> JudgmentLog:
    """Open a log by file name (SQLite) or URL (postgresql://…). A missing file is created, unless `create` is False."""
    return JudgmentLog(open_database(place, create))


def default_log_path(pool: str | os.PathLike[str]) -> str:
    """The default file for the judgments of a pool.

    >>> default_log_path("trec/pool.jsonl.gz")
    'trec/pool.judgments.db'
    """
    plain = strip_compression_suffix(pool)
    stem, suffix = os.path.splitext(plain)
    return f"{stem if suffix.lower() in ('.jsonl', '.ndjson', '.json') else plain}.judgments.db"


def add_pairs(db: Connection, pairs: Mapping[str, Sequence[str]], source: str) -> int:
    """Add pairs within a transaction; return how many are new."""
    settings = load_settings(db)
    new = 0
    number = int(db.value("SELECT COALESCE(MAX(number), 0) FROM topics"))
    before = int(db.value("SELECT COUNT(*) FROM pairs WHERE gold IS NULL"))
    for query, docs in pairs.items():
        number += db.run("INSERT INTO topics VALUES (?, ?) ON CONFLICT (query) DO NOTHING", query, number + 1)
        # transactions that add pairs of the same topic wait here, so numbers of pairs become visible in order
        db.row("SELECT query FROM topics WHERE query = ? {lock}", query)
        known = {doc: gold for doc, gold in db.rows("SELECT doc, gold FROM pairs WHERE query = ?", query)}
        missing = [doc for doc in dict.fromkeys(docs) if doc not in known]
        check_ids(query, missing)
        if source == "pool":
            new += _make_ordinary(
                db, query, [doc for doc in dict.fromkeys(docs) if known.get(doc) is not None], settings
            )
        wanted = count_wanted(before + new, len(missing), settings)
        rows = [(query, doc, source, count) for doc, count in zip(missing, wanted, strict=True)]
        db.insert("pairs", "query, doc, source, wanted", rows)
        new += len(rows)
    return new


def check_ids(query: str, docs: Iterable[str]) -> None:
    """Refuse ids that cannot be written to qrels, whose columns are separated by white space."""
    for name, what in ((query, "query id"), *((doc, "doc id") for doc in docs)):
        try:
            format_column(name, what)
        except InputError:
            raise InputError(
                f"{what} {format_id(name)} cannot be written to qrels: it contains white space, or starts like a "
                "comment. Change the id in collection, topics, runs and pool."
            ) from None


def _make_ordinary(db: Connection, query: str, docs: Sequence[str], settings: Settings) -> int:
    """Turn gold pairs that a pool contains into ordinary ones, so their judgments are exported; return how many."""
    for doc in docs:
        db.run(
            "UPDATE pairs SET source = 'once gold', gold = NULL, wanted = ? WHERE query = ? AND doc = ?",
            settings.judgments,
            query,
            doc,
        )
        _update_other_places(db, int(db.value("SELECT pair FROM pairs WHERE query = ? AND doc = ?", query, doc)))
    return len(docs)


def count_wanted(before: int, n: int, settings: Settings) -> list[int]:
    """How many judgments each of n new pairs needs, after `before` others: the share `overlap` needs one more.

    These are spread evenly; as a pool is in random order, they are a random sample of it.

    >>> count_wanted(3, 4, Settings(overlap=0.25))
    [2, 1, 1, 1]
    """
    share = round(settings.overlap * 1_000_000)
    more = [(i * share) // 1_000_000 - ((i - 1) * share) // 1_000_000 for i in range(before + 1, before + n + 1)]
    return [settings.judgments + one for one in more]


def _recount_wanted(db: Connection, settings: Settings) -> None:
    """Recompute how many judgments pairs need, and reopen those that are no longer full."""
    rows = db.rows("SELECT pair FROM pairs WHERE gold IS NULL ORDER BY pair")
    wanted = count_wanted(0, len(rows), settings)
    db.run_each(
        "UPDATE pairs SET wanted = ? WHERE pair = ?", [(n, pair) for n, (pair,) in zip(wanted, rows, strict=True)]
    )
    _reopen_pairs(db)
    db.run("UPDATE orders SET reach = 0")  # an assessor's seat may now include other pairs


def _reopen_pairs(db: Connection) -> None:
    """Update the status of places whose pair has become full or is no longer full."""
    full = "(SELECT pair FROM pairs WHERE judged >= wanted)"
    db.run(f"UPDATE places SET status = 'open' WHERE status = 'full' AND pair NOT IN {full}")
    db.run(f"UPDATE places SET status = 'full' WHERE status = 'open' AND again = 0 AND pair IN {full}")
    for original, was, becomes in REPEAT_CHANGES:
        db.run(UPDATE_REPEATS, becomes, was, original)


def mark_model(db: Connection, name: str) -> None:
    """Mark an assessor as a model within a transaction, and recount the pairs it has judged."""
    ensure_assessor(db, name)
    if not db.run("UPDATE assessors SET is_model = 1 WHERE assessor = ? AND is_model = 0", name):
        return
    own = "(SELECT pair FROM states WHERE assessor = ?)"
    db.rows(f"SELECT pair FROM pairs WHERE pair IN {own} ORDER BY pair {{lock}}", name)  # others may be judging them
    if db.run(f"UPDATE pairs SET {_JUDGMENT_COUNTS} WHERE pair IN {own}", name):
        _reopen_pairs(db)


def ensure_assessor(db: Connection, name: str) -> None:
    """Add an assessor unless known, and lock the row, to wait for other transactions of the same person."""
    # reading first: an insert would be a change and wait for the disk, even on a conflict
    if db.row("SELECT assessor FROM assessors WHERE assessor = ? {lock}", name) is None:
        db.run(
            "INSERT INTO assessors (assessor, added_at) VALUES (?, ?) ON CONFLICT (assessor) DO NOTHING",
            name,
            utc_now(),
        )
        db.row("SELECT assessor FROM assessors WHERE assessor = ? {lock}", name)


def record_event(db: Connection, event: Event) -> Event:
    """Record an event within a transaction, and update everything derived from it.

    If the same event was recorded already, return that one. A key used for another event is an error.
    """
    ensure_assessor(db, event.assessor)
    pair = None
    if event.query is not None and event.doc is not None:
        pair = db.value("SELECT pair FROM pairs WHERE query = ? AND doc = ? {lock}", event.query, event.doc)
        if pair is None:
            raise JudgingError(f"document {format_id(event.doc)} is not in the pool of query {format_id(event.query)}.")
    values = [getattr(event, name) for name in COLUMNS]
    values[COLUMNS.index("again")] = int(event.again)
    if db.value(_INSERT, *values, pair) is None:
        return _find_same_key(db, event)
    if pair is not None:
        _update_state(db, pair, event.assessor, int(event.again))
    return event


def _find_same_key(db: Connection, event: Event) -> Event:
    """The recorded event with the same key, which must be the same action."""
    row = db.row(f"SELECT {_COLUMNS} FROM events WHERE assessor = ? AND key = ?", event.assessor, event.key)
    assert row is not None
    recorded = event_from_row(row)
    if any(getattr(recorded, name) != getattr(event, name) for name in ("kind", "query", "doc", "grade")):
        raise JudgingError(f"the key {event.key!r:.80} is used by another event; keys must be unique.")
    return recorded


def event_from_row(row: Sequence[object]) -> Event:
    """An event from the columns of its row."""
    values = dict(zip(COLUMNS, row, strict=True))
    return Event(**values | {"again": bool(values["again"])})  # type: ignore[arg-type]


def load_state(db: Connection, pair: int, assessor: str, again: int = 0) -> JudgmentState:
    """The state of a document for an assessor."""
    row = db.row(
        "SELECT kind, grade, note, recorded_at FROM states WHERE pair = ? AND assessor = ? AND again = ?",
        pair,
        assessor,
        again,
    )
    return JudgmentState() if row is None else JudgmentState(*row)


def last_event(db: Connection, assessor: str, kinds: Sequence[str] = STATE_KINDS) -> Event | None:
    """The last event of an assessor that was not undone."""
    marks = ", ".join("?" * len(kinds))
    row = db.row(
        f"""
        SELECT {_COLUMNS} FROM events e WHERE assessor = ? AND kind IN ({marks})
        AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.key AND u.assessor = e.assessor)
        ORDER BY recorded_at DESC, seq DESC LIMIT 1
        """,
        assessor,
        *kinds,
    )
    return None if row is None else event_from_row(row)


def next_timestamp(db: Connection, pair: int, assessor: str) -> str:
    """The time for a new event: now, but not before the last event of the assessor on this document."""
    last = db.value("SELECT MAX(recorded_at) FROM events WHERE pair = ? AND assessor = ?", pair, assessor)
    return max(last or "", utc_now())


def _update_state(db: Connection, pair: int, assessor: str, again: int) -> None:
    """Update everything derived from the events of one assessor and document."""
    state = reduce_events(_events_of(db, pair, assessor, again))
    _save_state(db, pair, assessor, again, state)
    if not again:
        _update_counts(db, pair)
    status = "done" if state.is_done else "open" if not again else _status_of_repeat(db, pair, assessor)
    last = db.value("SELECT MAX(seq) FROM events WHERE pair = ? AND assessor = ? AND again = ?", pair, assessor, again)
    db.run(
        "UPDATE places SET status = ?, later = ? WHERE pair = ? AND assessor = ? AND again = ?",
        status,
        last if state.kind == "skip" else 0,
        pair,
        assessor,
        again,
    )
    if not again:
        _update_repeat(db, pair, assessor)
        _update_other_places(db, pair)


def _events_of(db: Connection, pair: int, assessor: str, again: int) -> list[Event]:
    statement = f"SELECT {_COLUMNS} FROM events WHERE pair = ? AND assessor = ? AND again = ? ORDER BY recorded_at, seq"
    return [event_from_row(row) for row in db.rows(statement, pair, assessor, again)]


def _save_state(db: Connection, pair: int, assessor: str, again: int, state: JudgmentState) -> None:
    if state == JudgmentState():
        db.run("DELETE FROM states WHERE pair = ? AND assessor = ? AND again = ?", pair, assessor, again)
        return
    statement = """
        INSERT INTO states (pair, assessor, again, kind, grade, note, recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (pair, assessor, again) DO UPDATE
        SET kind = excluded.kind, grade = excluded.grade, note = excluded.note, recorded_at = excluded.recorded_at
    """
    db.run(statement, pair, assessor, again, state.kind, state.grade, state.note, state.recorded_at)


def _update_counts(db: Connection, pair: int) -> None:
    """Update how many people have judged a pair, how far apart their grades are, and the adjudicated grade."""
    adjudicated = db.value(
        """
        SELECT grade FROM events e WHERE pair = ? AND kind = 'adjudicate'
        AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.key AND u.assessor = e.assessor)
        ORDER BY recorded_at DESC, seq DESC LIMIT 1
        """,
        pair,
    )
    db.run(f"UPDATE pairs SET adjudicated = ?, {_JUDGMENT_COUNTS} WHERE pair = ?", adjudicated, pair)


def _status_of_repeat(db: Connection, pair: int, assessor: str) -> str:
    """The status of a repeat that is not judged. It depends on its original."""
    is_full, was_put_off = db.rows(
        f"SELECT judged >= wanted, {WAS_SKIPPED} FROM pairs p WHERE pair = ?", assessor, pair
    )[0]
    return find_repeat_status(load_state(db, pair, assessor).kind, is_full, was_put_off)


def _update_repeat(db: Connection, pair: int, assessor: str) -> None:
    """Update a repeat: it is shown once its original is judged, and not at all if that cannot be judged."""
    repeat = "pair = ? AND assessor = ? AND again = 1 AND status <> 'done'"
    if db.value(f"SELECT 1 FROM places WHERE {repeat}", pair, assessor) is not None:
        becomes = _status_of_repeat(db, pair, assessor)
        db.run(f"UPDATE places SET status = ? WHERE {repeat}", becomes, pair, assessor)


def _update_other_places(db: Connection, pair: int) -> None:
    """Update the places of other assessors: a full pair is not offered, one that lost a judgment is again."""
    row = db.row("SELECT judged >= wanted FROM pairs WHERE pair = ?", pair)
    assert row is not None
    was, becomes, repeat_was, repeat_becomes = _WHEN_FULL if row[0] else _WHEN_REOPENED
    if not db.run("UPDATE places SET status = ? WHERE pair = ? AND again = 0 AND status = ?", becomes, pair, was):
        return
    db.run(
        """
        UPDATE places SET status = ? WHERE pair = ? AND again = 1 AND status = ? AND EXISTS (
            SELECT 1 FROM places l
            WHERE l.pair = places.pair AND l.assessor = places.assessor AND l.again = 0 AND l.status = ?
        )
        """,
        repeat_becomes,
        pair,
        repeat_was,
        becomes,
    )


def require_topic(db: Connection, query: str) -> None:
    """Raise an error if there is nothing to judge for a query."""
    if db.value("SELECT 1 FROM topics WHERE query = ?", query) is None:
        known = [name for (name,) in db.rows("SELECT query FROM topics ORDER BY number LIMIT 6")]
        raise InputError(
            f"there is nothing to judge for query {format_id(query)}; the pool has {join_names(known, 3)}."
        )
