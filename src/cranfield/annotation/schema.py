"""The tables, and the migrations from earlier versions.

`events` is the log: rows are added and never changed; triggers refuse anything else. `states`, `places` and the counts
in `pairs` are derived from it and updated in the same transaction, so no request has to read the log. Ranks, scores and
runs of documents are not in the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.annotation.database import (
    APPLICATION_ID,
    Connection,
    Database,
    JudgingError,
    PostgresDatabase,
)
from cranfield.annotation.timestamps import utc_now
from cranfield.base import Record


class Migration(Record):
    """A step to the next version; `sqlite` and `postgres` are statements for only one of them."""

    version: int
    about: str
    statements: tuple[str, ...]
    sqlite: tuple[str, ...] = ()
    postgres: tuple[str, ...] = ()


def _create_events(table: str, key: str, constraint: str = "") -> str:
    return f"""
    CREATE TABLE {table} (
        seq {{serial}},
        {key},
        kind TEXT NOT NULL,
        assessor TEXT NOT NULL REFERENCES assessors (assessor),
        query TEXT,
        doc TEXT,
        pair BIGINT REFERENCES pairs (pair),
        again INTEGER NOT NULL,
        grade {{real}},
        note TEXT,
        undoes TEXT,
        shown_at TEXT,
        judged_at TEXT NOT NULL,
        recorded_at TEXT NOT NULL,
        active_ms INTEGER,
        method TEXT NOT NULL,
        version TEXT NOT NULL{constraint}
    )
    """


_EVENT_INDEXES = (
    "CREATE INDEX events_of_pair ON events (pair, assessor)",
    "CREATE INDEX events_of_assessor ON events (assessor, recorded_at, seq)",
    "CREATE INDEX events_undone ON events (undoes)",
)
_TABLES = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE topics (query TEXT PRIMARY KEY, number INTEGER NOT NULL)",
    """
    CREATE TABLE pairs (
        pair {serial},
        query TEXT NOT NULL REFERENCES topics (query),
        doc TEXT NOT NULL,
        source TEXT NOT NULL,
        wanted INTEGER NOT NULL,
        gold {real},
        judged INTEGER NOT NULL DEFAULT 0,
        spread {real} NOT NULL DEFAULT 0,
        adjudicated {real},
        UNIQUE (query, doc)
    )
    """,
    "CREATE INDEX pairs_of_topic ON pairs (query, pair)",
    "CREATE INDEX pairs_in_dispute ON pairs (spread)",
    "CREATE TABLE assessors (assessor TEXT PRIMARY KEY, added_at TEXT NOT NULL, is_model INTEGER NOT NULL DEFAULT 0)",
    """
    CREATE TABLE assignments (
        assessor TEXT NOT NULL REFERENCES assessors (assessor),
        query TEXT NOT NULL REFERENCES topics (query),
        seat INTEGER NOT NULL,
        PRIMARY KEY (assessor, query)
    )
    """,
    """
    CREATE TABLE orders (
        assessor TEXT NOT NULL REFERENCES assessors (assessor),
        query TEXT NOT NULL REFERENCES topics (query),
        reach BIGINT NOT NULL,
        length INTEGER NOT NULL,
        PRIMARY KEY (assessor, query)
    )
    """,
    """
    CREATE TABLE places (
        assessor TEXT NOT NULL,
        query TEXT NOT NULL,
        place INTEGER NOT NULL,
        pair BIGINT NOT NULL,
        again INTEGER NOT NULL,
        status TEXT NOT NULL,
        later BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (assessor, query, place),
        UNIQUE (pair, assessor, again)
    )
    """,
    "CREATE INDEX places_to_do ON places (assessor, query, status, later, place)",
    _create_events("events", "key TEXT NOT NULL UNIQUE"),
    *_EVENT_INDEXES,
    """
    CREATE TABLE states (
        pair BIGINT NOT NULL REFERENCES pairs (pair),
        assessor TEXT NOT NULL REFERENCES assessors (assessor),
        again INTEGER NOT NULL,
        kind TEXT NOT NULL,
        grade {real},
        note TEXT NOT NULL,
        recorded_at TEXT NOT NULL,
        PRIMARY KEY (pair, assessor, again)
    )
    """,
    """
    CREATE TABLE holds (
        pair BIGINT NOT NULL,
        assessor TEXT NOT NULL,
        until {real} NOT NULL,
        PRIMARY KEY (pair, assessor)
    )
    """,
    "CREATE INDEX holds_of_assessor ON holds (assessor)",
    "CREATE TABLE pools (sha256 TEXT PRIMARY KEY, file TEXT NOT NULL, added_at TEXT NOT NULL)",
)
_REFUSED = "the log is append-only"
_SQLITE_APPEND_ONLY = tuple(
    f"CREATE TRIGGER events_no_{verb.lower()} BEFORE {verb} ON events BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
    for verb in ("UPDATE", "DELETE")
)
_POSTGRES_APPEND_ONLY = (
    f"""
    CREATE FUNCTION events_only_added() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '{_REFUSED}'; END $$
    """,
    """
    CREATE TRIGGER events_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION events_only_added()
    """,
)
# A key identifies an action of one assessor. A key used by somebody else must not be an error, or assessors could probe
# what others did. SQLite cannot drop a constraint: the table is created again, with its triggers.
_SQLITE_KEYS_BY_ASSESSOR = (
    _create_events("events_anew", "key TEXT NOT NULL", ", UNIQUE (assessor, key)"),
    """
    INSERT INTO events_anew SELECT seq, key, kind, assessor, query, doc, pair, again, grade, note, undoes, shown_at,
        judged_at, recorded_at, active_ms, method, version FROM events
    """,
    "DROP TABLE events",
    "ALTER TABLE events_anew RENAME TO events",
    *_EVENT_INDEXES,
    *_SQLITE_APPEND_ONLY,
)
_POSTGRES_KEYS_BY_ASSESSOR = (
    "ALTER TABLE events DROP CONSTRAINT events_key_key",
    "ALTER TABLE events ADD UNIQUE (assessor, key)",
)
MIGRATIONS = (
    Migration(1, "the log of judgments", _TABLES, _SQLITE_APPEND_ONLY, _POSTGRES_APPEND_ONLY),
    Migration(2, "a key is of one assessor", (), _SQLITE_KEYS_BY_ASSESSOR, _POSTGRES_KEYS_BY_ASSESSOR),
    # the part of an order that is not laid out yet, see `presentation_order`
    Migration(3, "orders are laid out bit by bit", ("ALTER TABLE orders ADD COLUMN rest TEXT NOT NULL DEFAULT ''",)),
)


def migrate(database: Database, part: str = "judging", migrations: Sequence[Migration] = MIGRATIONS) -> list[int]:
    """Migrate the tables of one part of the program to the newest version; return the versions added.

    Several processes may try at once: one does it, the others wait. Other parts, such as the accounts of a server, may
    have tables in the same database, with their own versions.
    """
    if database.read(lambda db: _version(db, database, part)) == migrations[-1].version:
        return []
    is_postgres = isinstance(database, PostgresDatabase)
    if is_postgres:
        database.write(lambda db: _create_schema(db, database))

    def apply(db: Connection) -> list[int]:
        if is_postgres:
            db.rows("SELECT pg_advisory_xact_lock(?)", APPLICATION_ID)
        else:
            db.run(f"PRAGMA application_id = {APPLICATION_ID}")
        db.run(
            "CREATE TABLE IF NOT EXISTS migrations (part TEXT NOT NULL, version INTEGER NOT NULL, about TEXT NOT NULL, "
            "applied_at TEXT NOT NULL, PRIMARY KEY (part, version))"
        )
        before = _version(db, database, part)
        if before > migrations[-1].version:
            raise JudgingError(
                f"{database.name}: version {before} of {part} was created by a newer cranfield; this one supports "
                f"versions up to {migrations[-1].version}. Upgrade: pip install --upgrade cranfield"
            )
        missing = [migration for migration in migrations if migration.version > before]
        for migration in missing:
            for statement in (*migration.statements, *(migration.postgres if is_postgres else migration.sqlite)):
                db.run(statement)
            db.run("INSERT INTO migrations VALUES (?, ?, ?, ?)", part, migration.version, migration.about, utc_now())
        return [migration.version for migration in missing]

    return database.write(apply)


def _version(db: Connection, database: Database, part: str) -> int:
    """The version of a part's tables, 0 if there are none."""
    if isinstance(database, PostgresDatabase):
        table = db.value("SELECT to_regclass(?)::text", f'"{database.schema}".migrations')
    else:
        table = db.value("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'migrations'")
    if table is None:
        return 0
    return int(db.value("SELECT COALESCE(MAX(version), 0) FROM migrations WHERE part = ?", part))


def _create_schema(db: Connection, database: Any) -> None:
    db.rows("SELECT pg_advisory_xact_lock(?)", APPLICATION_ID)
    db.run(f'CREATE SCHEMA IF NOT EXISTS "{database.schema}"')
