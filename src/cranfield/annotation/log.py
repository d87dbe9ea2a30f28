"""The log of judgments: events are added one by one, each safe on disk before anybody is told that it is saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from cranfield.annotation.database import Connection, Database, JudgingError, open_database
from cranfield.annotation.events import COLUMNS, JUDGING, Event, State, checked_assessor, state_of
from cranfield.annotation.presentation_order import FOLLOWING, PUT_OFF, REPEATS, status_of_repeat
from cranfield.annotation.schema import migrate
from cranfield.annotation.settings import Settings, load_settings, save_settings
from cranfield.annotation.timestamps import now
from cranfield.base import Record, format_id, join_names, sort_naturally
from cranfield.errors import InputError
from cranfield.io import Input, format_column, parse_id, strip_compression_suffix

T = TypeVar("T")
GOLD = 1_000_000  # judgments that a gold pair may get: as many as there are assessors
_COLUMNS = ", ".join(COLUMNS)
_INSERT = f"""
    INSERT INTO events ({_COLUMNS}, pair) VALUES ({", ".join("?" * len(COLUMNS))}, ?)
    ON CONFLICT (assessor, key) DO NOTHING RETURNING seq
"""
PEOPLE = "(SELECT assessor FROM assessors WHERE is_model = 0)"  # whose judgments a pair is to get
_COUNT = f"""
    judged = (
        SELECT COUNT(*) FROM states s
        WHERE s.pair = pairs.pair AND again = 0 AND kind = 'judge' AND assessor IN {PEOPLE}
    ),
    spread = (
        SELECT COALESCE(MAX(grade) - MIN(grade), 0) FROM states s
        WHERE s.pair = pairs.pair AND again = 0 AND kind = 'judge' AND assessor IN {PEOPLE}
    )
"""
_PAGE = 5_000  # events that are read at a time
# what becomes of places, and of the repeats behind them, when a pair has all its judgments, and when it lost one
_FILLED = ("open", "full", "waiting", "void")
_OPENED = ("full", "open", "void", "waiting")


class Judgment(Record):
    """What an assessor thinks of a document by now."""

    assessor: str
    query: str
    doc: str
    kind: str  # judge, cannot or skip
    grade: float | None
    note: str
    recorded_at: str
    again: bool = False
    gold: float | None = None  # the grade that is known, for a pair that is there to check judges


class Pair(Record):
    """A document to judge for a query, and what has become of it."""

    query: str
    doc: str
    source: str  # pool, search, import, gold, or once gold: what a pool asked for later
    wanted: int
    judged: int  # by people
    adjudicated: float | None
    gold: float | None


class JudgmentLog:
    """All events of a project, and the pairs to judge. Threads and processes may share one."""

    def __init__(self, database: Database) -> None:
        self.database = database
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise

    @property
    def name(self) -> str:
        """What it is called in messages; without a password."""
        return self.database.name

    @property
    def settings(self) -> Settings:
        """How judging is organised."""
        return self.read(load_settings)

    def set_up(self, settings: Settings) -> None:
        """Organise judging anew. Grades that somebody has given must stay on the scale; orders stay as they are."""

        def work(at: Connection) -> None:
            before = load_settings(at)
            save_settings(at, settings)
            if (settings.judgments, settings.overlap) != (before.judgments, before.overlap):
                _want_anew(at, settings)

        self.write(work)

    def add_pairs(self, pairs: Mapping[str, Iterable[str]], source: str = "pool") -> int:
        """Take up documents to judge, by query; how many were new. Those added later come behind the others."""
        wanted = {parse_id(q, "query"): [parse_id(doc, "doc") for doc in docs] for q, docs in pairs.items()}
        return self.write(lambda at: add_pairs(at, wanted, source))

    def add_pool(self, file: str | os.PathLike[str]) -> int:
        """Take up the pairs of a file that `cranfield pool` made; how many were new."""
        from cranfield.pooling import read_pool

        pool = read_pool(file)
        with Input(file) as source:
            source.read()
            digest = source.sha256 if isinstance(source.sha256, str) else source.sha256()

        def work(at: Connection) -> int:
            new = add_pairs(at, pool.pairs, "pool")
            at.run(
                "INSERT INTO pools VALUES (?, ?, ?) ON CONFLICT (sha256) DO UPDATE SET file = excluded.file",
                digest,
                os.path.abspath(os.fspath(file)),
                now(),
            )
            return new

        return self.write(work)

    def pools(self) -> list[str]:
        """The files of pools that were taken up, in that order."""
        return [str(file) for (file,) in self.read(lambda at: at.rows("SELECT file FROM pools ORDER BY added_at"))]

    def add_gold(self, grades: Mapping[str, Mapping[str, float]]) -> int:
        """Mix in pairs whose grades are known, for every assessor of the topic; they are in no export.

        What is to be judged anyway, because it is in the pool say, is no gold: its judgments would be missing among
        qrels. `not_gold` tells which those are.
        """

        def work(at: Connection) -> int:
            scale = load_settings(at).scale
            new = add_pairs(at, {query: list(docs) for query, docs in grades.items()}, "gold")
            for query, docs in grades.items():
                for doc, grade in docs.items():
                    scale.grade(grade)
                    at.run(
                        "UPDATE pairs SET gold = ?, wanted = ? WHERE query = ? AND doc = ? AND source = 'gold'",
                        grade,
                        GOLD,
                        query,
                        doc,
                    )
                at.run("UPDATE orders SET reach = 0 WHERE query = ?", query)
            known = "(SELECT pair FROM pairs WHERE gold IS NOT NULL)"
            at.run(f"UPDATE places SET status = 'open' WHERE status = 'full' AND pair IN {known}")
            return new

        return self.write(work)

    def not_gold(self, grades: Mapping[str, Mapping[str, float]]) -> list[tuple[str, str]]:
        """Of pairs that were to be gold, those that are not, as they are to be judged anyway."""
        plain = {(pair.query, pair.doc) for pair in self.pairs() if pair.gold is None}
        return [(query, doc) for query, docs in grades.items() for doc in docs if (query, doc) in plain]

    def topics(self) -> tuple[str, ...]:
        """The queries that there is something to judge for."""
        return tuple(query for (query,) in self.read(lambda at: at.rows("SELECT query FROM topics ORDER BY number")))

    def pairs(self, query: str | None = None) -> list[Pair]:
        """The pairs to judge, of one query or of all. For coordinators: judges do not see this."""
        some, values = ("WHERE p.query = ?", (query,)) if query is not None else ("", ())
        statement = f"""
            SELECT p.query, p.doc, p.source, p.wanted, p.judged, p.adjudicated, p.gold
            FROM pairs p JOIN topics t ON t.query = p.query {some} ORDER BY t.number, p.pair
        """
        return [Pair(*row) for row in self.read(lambda at: at.rows(statement, *values))]

    def assessors(self) -> tuple[str, ...]:
        """Everybody who has judged or been assigned something, in order of name."""
        found = self.read(lambda at: at.rows("SELECT assessor FROM assessors"))
        return tuple(sort_naturally(name for (name,) in found))

    def add_assessor(self, name: str) -> str:
        """Take up an assessor, who may be there already; the name as it is kept."""
        name = checked_assessor(name)
        # to wait for those who are writing would be a pity, as nearly always there is nothing to write
        if self.read(lambda at: at.value("SELECT 1 FROM assessors WHERE assessor = ?", name)) is None:
            self.write(lambda at: ensure_assessor(at, name))
        return name

    def models(self) -> frozenset[str]:
        """The assessors that are no people."""
        return frozenset(
            name for (name,) in self.read(lambda at: at.rows("SELECT assessor FROM assessors WHERE is_model = 1"))
        )

    def mark_model(self, name: str) -> None:
        """Note that an assessor is a model: its judgments are not merged with people's unless that is asked for.

        They are none of those that pairs are to get: what people had been spared for them is offered again.
        """
        name = checked_assessor(name)
        self.write(lambda at: mark_model(at, name))

    def append(self, event: Event) -> Event:
        """Record an event as it is; what has the same key is already there and is returned as it stands."""
        return self.write(lambda at: record_event(at, event))

    def events(self) -> Iterator[Event]:
        """The whole log in its order, as it is now; it is read in pieces, and may grow meanwhile."""
        statement = f"SELECT {_COLUMNS}, seq FROM events WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"
        with self.database.reading() as at:
            rows = at.rows(statement, 0)
            while rows:
                yield from (event_of(row[:-1]) for row in rows)
                rows = at.rows(statement, rows[-1][-1])

    def judgments(self, query: str | None = None) -> list[Judgment]:
        """What every assessor thinks by now, repeats and gold pairs included and marked. For coordinators."""
        some, values = ("WHERE p.query = ?", (query,)) if query is not None else ("", ())
        statement = f"""
            SELECT s.assessor, p.query, p.doc, s.kind, s.grade, s.note, s.recorded_at, s.again, p.gold
            FROM states s JOIN pairs p ON p.pair = s.pair JOIN topics t ON t.query = p.query {some}
            ORDER BY t.number, p.pair, s.recorded_at
        """
        rows = self.read(lambda at: at.rows(statement, *values))
        return [
            Judgment(who, topic, doc, kind, grade, note, recorded_at, bool(again), gold)
            for who, topic, doc, kind, grade, note, recorded_at, again, gold in rows
            if kind
        ]

    def rebuild(self) -> None:
        """Work out anew from the log everything that follows from it."""

        def work(at: Connection) -> None:
            at.run("DELETE FROM states")
            at.run("UPDATE pairs SET judged = 0, spread = 0, adjudicated = NULL")
            at.run("UPDATE places SET later = 0, status = CASE WHEN again = 1 THEN 'waiting' ELSE 'open' END")
            # what was judged first comes first, so that a repeat finds its original
            for pair, assessor, again in at.rows(
                """
                SELECT DISTINCT pair, assessor, again FROM events WHERE pair IS NOT NULL
                ORDER BY pair, assessor, again
                """
            ):
                _settle(at, pair, assessor, again)

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
    """Open a log by file name (SQLite) or URL (postgresql://…); a file that is missing is made, unless told not to."""
    return JudgmentLog(open_database(place, create))


def beside(pool: str | os.PathLike[str]) -> str:
    """Where the judgments of a pool are kept unless told otherwise.

    >>> beside("trec/pool.jsonl.gz")
    'trec/pool.judgments.db'
    """
    plain = strip_compression_suffix(pool)
    stem, suffix = os.path.splitext(plain)
    return f"{stem if suffix.lower() in ('.jsonl', '.ndjson', '.json') else plain}.judgments.db"


def add_pairs(at: Connection, pairs: Mapping[str, Sequence[str]], source: str) -> int:
    """Take up pairs within a transaction; how many were new."""
    settings = load_settings(at)
    new = 0
    number = int(at.value("SELECT COALESCE(MAX(number), 0) FROM topics"))
    before = int(at.value("SELECT COUNT(*) FROM pairs WHERE gold IS NULL"))
    for query, docs in pairs.items():
        number += at.run("INSERT INTO topics VALUES (?, ?) ON CONFLICT (query) DO NOTHING", query, number + 1)
        # whoever takes up pairs of a topic waits here, so that numbers of pairs become visible in their order
        at.row("SELECT query FROM topics WHERE query = ? {lock}", query)
        known = {doc: gold for doc, gold in at.rows("SELECT doc, gold FROM pairs WHERE query = ?", query)}
        missing = [doc for doc in dict.fromkeys(docs) if doc not in known]
        check_ids(query, missing)
        if source == "pool":
            new += _pool_gold(at, query, [doc for doc in dict.fromkeys(docs) if known.get(doc) is not None], settings)
        wanted = wanted_judgments(before + new, len(missing), settings)
        rows = [(query, doc, source, count) for doc, count in zip(missing, wanted, strict=True)]
        at.insert("pairs", "query, doc, source, wanted", rows)
        new += len(rows)
    return new


def check_ids(query: str, docs: Iterable[str]) -> None:
    """Refuse to have judged what could not be told afterwards: qrels part columns by white space."""
    for name, what in ((query, "query id"), *((doc, "doc id") for doc in docs)):
        try:
            format_column(name, what)
        except InputError:
            raise InputError(
                f"{what} {format_id(name)} cannot stand in qrels, which is what judgments become: it holds white "
                "space, or begins like a comment. Give it another id in collection, topics, runs and pool."
            ) from None


def _pool_gold(at: Connection, query: str, docs: Sequence[str], settings: Settings) -> int:
    """Make ordinary pairs of gold ones that a pool asks for, or else their judgments would be missing; how many."""
    for doc in docs:
        at.run(
            "UPDATE pairs SET source = 'once gold', gold = NULL, wanted = ? WHERE query = ? AND doc = ?",
            settings.judgments,
            query,
            doc,
        )
        _settle_others(at, int(at.value("SELECT pair FROM pairs WHERE query = ? AND doc = ?", query, doc)))
    return len(docs)


def wanted_judgments(before: int, n: int, settings: Settings) -> list[int]:
    """How many judgments each of n new pairs gets when so many are there: a share of them one more than the others.

    Every so many'th pair is one of those; a pool comes in an order by chance, so that they are a sample of it.

    >>> wanted_judgments(3, 4, Settings(overlap=0.25))
    [2, 1, 1, 1]
    """
    share = round(settings.overlap * 1_000_000)
    more = [(i * share) // 1_000_000 - ((i - 1) * share) // 1_000_000 for i in range(before + 1, before + n + 1)]
    return [settings.judgments + one for one in more]


def _want_anew(at: Connection, settings: Settings) -> None:
    """Count anew how many judgments pairs get, and offer again what is no longer full."""
    rows = at.rows("SELECT pair FROM pairs WHERE gold IS NULL ORDER BY pair")
    wanted = wanted_judgments(0, len(rows), settings)
    at.run_each(
        "UPDATE pairs SET wanted = ? WHERE pair = ?", [(n, pair) for n, (pair,) in zip(wanted, rows, strict=True)]
    )
    _offer_anew(at)
    at.run("UPDATE orders SET reach = 0")  # pairs that were not for somebody's seat may be now


def _offer_anew(at: Connection) -> None:
    """Offer what is no longer full, and what has become full no more."""
    full = "(SELECT pair FROM pairs WHERE judged >= wanted)"
    at.run(f"UPDATE places SET status = 'open' WHERE status = 'full' AND pair NOT IN {full}")
    at.run(f"UPDATE places SET status = 'full' WHERE status = 'open' AND again = 0 AND pair IN {full}")
    for original, was, becomes in FOLLOWING:
        at.run(REPEATS, becomes, was, original)


def mark_model(at: Connection, name: str) -> None:
    """Note within a transaction that an assessor is a model, and count anew what it has judged."""
    ensure_assessor(at, name)
    if not at.run("UPDATE assessors SET is_model = 1 WHERE assessor = ? AND is_model = 0", name):
        return
    own = "(SELECT pair FROM states WHERE assessor = ?)"
    at.rows(f"SELECT pair FROM pairs WHERE pair IN {own} ORDER BY pair {{lock}}", name)  # others may be judging them
    if at.run(f"UPDATE pairs SET {_COUNT} WHERE pair IN {own}", name):
        _offer_anew(at)


def ensure_assessor(at: Connection, name: str) -> None:
    """Take up an assessor, and wait for what the same person is doing elsewhere."""
    # looked at first: to add what is there would be a change, and wait for the disk
    if at.row("SELECT assessor FROM assessors WHERE assessor = ? {lock}", name) is None:
        at.run(
            "INSERT INTO assessors (assessor, added_at) VALUES (?, ?) ON CONFLICT (assessor) DO NOTHING", name, now()
        )
        at.row("SELECT assessor FROM assessors WHERE assessor = ? {lock}", name)


def record_event(at: Connection, event: Event) -> Event:
    """Record an event within a transaction, and everything that follows from it.

    What has its key already is returned instead; a key that stands for something else is an error.
    """
    ensure_assessor(at, event.assessor)
    pair = None
    if event.query is not None and event.doc is not None:
        pair = at.value("SELECT pair FROM pairs WHERE query = ? AND doc = ? {lock}", event.query, event.doc)
        if pair is None:
            raise JudgingError(
                f"document {format_id(event.doc)} is not to be judged for query {format_id(event.query)}."
            )
    values = [getattr(event, name) for name in COLUMNS]
    values[COLUMNS.index("again")] = int(event.again)
    if at.value(_INSERT, *values, pair) is None:
        return _known(at, event)
    if pair is not None:
        _settle(at, pair, event.assessor, int(event.again))
    return event


def _known(at: Connection, event: Event) -> Event:
    """The event that has the key of this one, which must be the same act."""
    row = at.row(f"SELECT {_COLUMNS} FROM events WHERE assessor = ? AND key = ?", event.assessor, event.key)
    assert row is not None
    there = event_of(row)
    parts = ("kind", "query", "doc", "grade")
    if any(getattr(there, name) != getattr(event, name) for name in parts):
        raise JudgingError(f"the key {event.key!r:.80} stands for another event; keys must differ.")
    return there


def event_of(row: Sequence[object]) -> Event:
    """An event out of the columns that it is stored in."""
    values = dict(zip(COLUMNS, row, strict=True))
    return Event(**values | {"again": bool(values["again"])})  # type: ignore[arg-type]


def state_in(at: Connection, pair: int, assessor: str, again: int = 0) -> State:
    """Where an assessor stands with a document."""
    row = at.row(
        "SELECT kind, grade, note, recorded_at FROM states WHERE pair = ? AND assessor = ? AND again = ?",
        pair,
        assessor,
        again,
    )
    return State() if row is None else State(*row)


def last_event(at: Connection, assessor: str, kinds: Sequence[str] = JUDGING) -> Event | None:
    """What an assessor did last and has not taken back."""
    marks = ", ".join("?" * len(kinds))
    row = at.row(
        f"""
        SELECT {_COLUMNS} FROM events e WHERE assessor = ? AND kind IN ({marks})
        AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.key AND u.assessor = e.assessor)
        ORDER BY recorded_at DESC, seq DESC LIMIT 1
        """,
        assessor,
        *kinds,
    )
    return None if row is None else event_of(row)


def latest_time(at: Connection, pair: int, assessor: str) -> str:
    """When the last event of a document and an assessor was recorded; an event of today must not be before it."""
    found = at.value("SELECT MAX(recorded_at) FROM events WHERE pair = ? AND assessor = ?", pair, assessor)
    return max(found or "", now())


def _settle(at: Connection, pair: int, assessor: str, again: int) -> None:
    """Bring up to date what follows from the events of one assessor and document."""
    state = state_of(_events_of(at, pair, assessor, again))
    _keep_state(at, pair, assessor, again, state)
    if not again:
        _count(at, pair)
    status = "done" if state.is_settled else "open" if not again else _status_of_repeat(at, pair, assessor)
    skipped = at.value(
        "SELECT MAX(seq) FROM events WHERE pair = ? AND assessor = ? AND again = ?", pair, assessor, again
    )
    at.run(
        "UPDATE places SET status = ?, later = ? WHERE pair = ? AND assessor = ? AND again = ?",
        status,
        skipped if state.kind == "skip" else 0,
        pair,
        assessor,
        again,
    )
    if not again:
        _settle_repeat(at, pair, assessor)
        _settle_others(at, pair)


def _events_of(at: Connection, pair: int, assessor: str, again: int) -> list[Event]:
    statement = f"SELECT {_COLUMNS} FROM events WHERE pair = ? AND assessor = ? AND again = ? ORDER BY recorded_at, seq"
    return [event_of(row) for row in at.rows(statement, pair, assessor, again)]


def _keep_state(at: Connection, pair: int, assessor: str, again: int, state: State) -> None:
    if state == State():
        at.run("DELETE FROM states WHERE pair = ? AND assessor = ? AND again = ?", pair, assessor, again)
        return
    at.run(
        """
        INSERT INTO states (pair, assessor, again, kind, grade, note, recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (pair, assessor, again) DO UPDATE
        SET kind = excluded.kind, grade = excluded.grade, note = excluded.note, recorded_at = excluded.recorded_at
        """,
        pair,
        assessor,
        again,
        state.kind,
        state.grade,
        state.note,
        state.recorded_at,
    )


def _count(at: Connection, pair: int) -> None:
    """How many people have judged a pair, how far they are apart, and what was decided."""
    adjudicated = at.value(
        """
        SELECT grade FROM events e WHERE pair = ? AND kind = 'adjudicate'
        AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.key AND u.assessor = e.assessor)
        ORDER BY recorded_at DESC, seq DESC LIMIT 1
        """,
        pair,
    )
    at.run(f"UPDATE pairs SET adjudicated = ?, {_COUNT} WHERE pair = ?", adjudicated, pair)


def _status_of_repeat(at: Connection, pair: int, assessor: str) -> str:
    """What becomes of a repeat that is not judged, or no longer: it depends on what became of its original."""
    is_full, was_put_off = at.rows(f"SELECT judged >= wanted, {PUT_OFF} FROM pairs p WHERE pair = ?", assessor, pair)[0]
    return status_of_repeat(state_in(at, pair, assessor).kind, is_full, was_put_off)


def _settle_repeat(at: Connection, pair: int, assessor: str) -> None:
    """A document comes a second time only after it was judged the first time, and not at all if it cannot be."""
    repeat = "pair = ? AND assessor = ? AND again = 1 AND status <> 'done'"
    if at.value(f"SELECT 1 FROM places WHERE {repeat}", pair, assessor) is not None:
        becomes = _status_of_repeat(at, pair, assessor)
        at.run(f"UPDATE places SET status = ? WHERE {repeat}", becomes, pair, assessor)


def _settle_others(at: Connection, pair: int) -> None:
    """A pair that has all its judgments is offered to nobody else; one that lost a judgment is offered again."""
    row = at.row("SELECT judged >= wanted FROM pairs WHERE pair = ?", pair)
    assert row is not None
    was, becomes, repeat_was, repeat_becomes = _FILLED if row[0] else _OPENED
    if not at.run("UPDATE places SET status = ? WHERE pair = ? AND again = 0 AND status = ?", becomes, pair, was):
        return
    at.run(
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


def require_topic(at: Connection, query: str) -> None:
    """An error if there is nothing to judge for a query."""
    if at.value("SELECT 1 FROM topics WHERE query = ?", query) is None:
        known = [name for (name,) in at.rows("SELECT query FROM topics ORDER BY number LIMIT 6")]
        raise InputError(
            f"there is nothing to judge for query {format_id(query)}; there is for {join_names(known, 3)}."
        )
