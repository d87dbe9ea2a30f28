"""One small layer over two databases: a file of SQLite, or PostgreSQL by URL. SQL is written once, for both.

A transaction is a function that is handed a `Connection`. What it wrote is on disk when `write` returns; it may be run
again where a database asks for that, so that it must not change anything outside.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from cranfield.errors import CranfieldError, MissingExtra

T = TypeVar("T")
Row = tuple[Any, ...]

PATIENCE = 30.0  # seconds to wait for others that are writing
TRIES = 3  # of a transaction that PostgreSQL broke off
APPLICATION = 0x63726A6C  # marks a file of SQLite as ours
SCHEMA = "cranfield_judging"
_AT_ONCE = 500  # rows
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class JudgingError(CranfieldError):
    """Something about judging cannot be done; what was confirmed before stays."""


class DatabaseFull(JudgingError):
    """There is no room for one more judgment."""


class DatabaseBusy(JudgingError):
    """The database does not answer by now; the same may be tried again."""


class Connection:
    """Statements within a transaction. Values are marked by ?, ids of any bytes survive."""

    has_company: ClassVar[bool] = False  # whether others may write meanwhile

    def __init__(self, raw: Any, words: Mapping[str, str]) -> None:
        self.raw = raw
        self._words = words

    def rows(self, statement: str, *values: object) -> list[Row]:
        """What a query finds."""
        found = self.raw.execute(_in_dialect(statement, self._words), _stored(values))
        return [_read(row) for row in found.fetchall()]

    def row(self, statement: str, *values: object) -> Row | None:
        """The first row that a query finds."""
        found = self.raw.execute(_in_dialect(statement, self._words), _stored(values)).fetchone()
        return None if found is None else _read(found)

    def value(self, statement: str, *values: object) -> Any:
        """The only value of the first row, None without one."""
        found = self.row(statement, *values)
        return None if found is None else found[0]

    def run(self, statement: str, *values: object) -> int:
        """Change something; how many rows it concerned."""
        return int(self.raw.execute(_in_dialect(statement, self._words), _stored(values)).rowcount)

    def run_each(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """The same change for many rows."""
        cursor = self.raw.cursor()
        cursor.executemany(_in_dialect(statement, self._words), [_stored(row) for row in rows])

    def insert(self, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
        """Add many rows, some hundreds with each statement, which is far quicker than one by one."""
        marks = f"({', '.join('?' * len(columns.split(',')))})"
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            values = [value for row in some for value in row]
            self.run(f"INSERT INTO {table} ({columns}) VALUES {', '.join([marks] * len(some))}", *values)


class CopyingConnection(Connection):
    """Statements to PostgreSQL, for which values by the thousand are hard reading: it has a way of its own."""

    has_company: ClassVar = True

    def insert(self, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
        if not rows:
            return
        with self.raw.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(_stored(row))


class Connections(Protocol):
    """Where a database takes its connections from: a server shares a pool, see `web.connections`."""

    def taken(self) -> AbstractContextManager[Any]:
        """A connection for the time being; one that failed is not used again."""

    def close(self) -> None:
        """End all connections that nobody is using."""


class Kept:
    """As many connections as are used at once, kept for the next time: all that one person at a terminal needs."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._idle: list[Any] = []
        self._lock = threading.Lock()

    @contextmanager
    def taken(self) -> Iterator[Any]:
        with self._lock:
            raw = self._idle.pop() if self._idle else None
        if raw is None:
            raw = self._connect()
        try:
            yield raw
        except BaseException:
            with suppress(Exception):
                raw.close()
            raise
        with self._lock:
            self._idle.append(raw)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for raw in idle:
            raw.close()


class Database:
    """Where judgments are kept; safe to use from several threads and processes."""

    words: ClassVar[Mapping[str, str]]  # what the statements call {serial} and so on
    speaks: ClassVar[type[Connection]] = Connection
    name: str

    def __init__(self) -> None:
        self.connections: Connections = Kept(lambda: self.connect())

    def read(self, work: Callable[[Connection], T]) -> T:
        """What a function finds out; all its queries see the same state."""
        with self._said(), self.connections.taken() as raw:
            return self._in_transaction(raw, self.begin_reading, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run a function that changes something, all of it or nothing. On return it is safe."""
        raise AssertionError("each database has its own way")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A state of everything, to be read at leisure; what others add meanwhile is not seen."""
        with self._said(), self.connections.taken() as raw:
            raw.execute(self.begin_reading)
            yield self.speaks(raw, self.words)
            raw.execute("COMMIT")

    def close(self) -> None:
        """End all connections that nobody is using."""
        self.connections.close()

    begin_reading: ClassVar[str]
    begin_writing: ClassVar[str]

    def connect(self) -> Any:
        raise AssertionError("each database has its own way")

    def explained(self, error: Exception) -> JudgingError:
        """What went wrong, in a sentence."""
        raise AssertionError("each database has its own way")

    @cached_property
    def _errors(self) -> tuple[type[Exception], ...]:
        raise AssertionError("each database has its own")

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise self.explained(error) from None

    def _in_transaction(self, raw: Any, begin: str, work: Callable[[Connection], T]) -> T:
        raw.execute(begin)
        try:
            done = work(self.speaks(raw, self.words))
            raw.execute("COMMIT")
        except BaseException:
            with suppress(Exception):
                raw.execute("ROLLBACK")
            raise
        return done


class SqliteDatabase(Database):
    """A file of SQLite, with a write-ahead log that is synchronised at every commit."""

    words: ClassVar = {"serial": "INTEGER PRIMARY KEY AUTOINCREMENT", "real": "REAL", "lock": "", "skip": ""}
    begin_reading: ClassVar = "BEGIN"
    begin_writing: ClassVar = "BEGIN IMMEDIATE"

    def __init__(self, file: str | os.PathLike[str], create: bool = True) -> None:
        super().__init__()
        self.file = Path(file)
        self.name = os.fspath(file)
        # SQLite wakes those who wait by turns of sleep; threads of one process wait for each other in line instead
        self._writing = threading.Lock()
        if not create and not self.file.exists():
            raise JudgingError(f"{self.name}: there is no such log of judgments.")
        self._check_mine()

    def write(self, work: Callable[[Connection], T]) -> T:
        with self._writing, self._said(), self.connections.taken() as raw:
            return self._in_transaction(raw, self.begin_writing, work)

    def connect(self) -> Any:
        raw = sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._ask_for_wal(raw)
            for pragma in ("synchronous=FULL", "fullfsync=ON", "foreign_keys=ON", "cache_size=-16000"):
                raw.execute(f"PRAGMA {pragma}").fetchall()
        except BaseException:
            raw.close()
            raise
        return raw

    def _ask_for_wal(self, raw: Any) -> None:
        """Have a write-ahead log; while others are making the file, SQLite does not wait by itself."""
        last = time.monotonic() + PATIENCE
        while True:
            try:
                raw.execute("PRAGMA journal_mode=WAL").fetchall()
                return
            except sqlite3.OperationalError as error:
                if not str(error.sqlite_errorname).startswith("SQLITE_BUSY") or time.monotonic() > last:
                    raise
                time.sleep(0.01)

    def explained(self, error: Exception) -> JudgingError:
        code = getattr(error, "sqlite_errorname", "") or ""
        said = str(error).rstrip(".")
        if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            return DatabaseFull(
                f"{self.name}: the judgment is not saved: no room on the disk, or it cannot be written ({said}). "
                "What was confirmed before is kept; make room and try again."
            )
        if code.startswith("SQLITE_BUSY"):
            return DatabaseBusy(
                f"{self.name}: another process has been writing for {PATIENCE:g} s. Nothing was saved; try again."
            )
        if code.startswith("SQLITE_READONLY"):
            return JudgingError(f"{self.name}: the file or its folder cannot be written to.")
        if code.startswith("SQLITE_CANTOPEN"):
            return JudgingError(f"{self.name}: cannot be opened or made. Is its folder there, and may you write to it?")
        if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return JudgingError(f"{self.name}: this is no log of judgments, or it is damaged ({said}).")
        return JudgingError(f"{self.name}: SQLite says: {said}.")

    @cached_property
    def _errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    def _check_mine(self) -> None:
        """Refuse a file that somebody else made, before anything in it is changed."""
        if not self.file.exists() or not self.file.stat().st_size:
            return
        if self.file.is_dir():
            raise JudgingError(f"{self.name}: this is a folder, expected a log of judgments.")
        with self._said():
            raw = sqlite3.connect(self.file, timeout=PATIENCE)
            try:
                # in this order: somebody may be making the log just now, and the mark comes with its first tables
                tables = raw.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
                (mark,) = raw.execute("PRAGMA application_id").fetchone()
            finally:
                raw.close()
        if mark != APPLICATION and tables:
            raise JudgingError(f"{self.name}: this is a database, but no log of judgments.")


class PostgresDatabase(Database):
    """A schema of its own in a database of PostgreSQL: `postgresql://user@host/database?schema=project`."""

    words: ClassVar = {
        "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "real": "DOUBLE PRECISION",
        # rows that others refer to by key are not in their way
        "lock": "FOR NO KEY UPDATE",
        "skip": "FOR NO KEY UPDATE SKIP LOCKED",
    }
    speaks: ClassVar = CopyingConnection
    begin_reading: ClassVar = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    begin_writing: ClassVar = "BEGIN ISOLATION LEVEL READ COMMITTED"

    def __init__(self, url: str) -> None:
        super().__init__()
        parts = urlsplit(url)
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.schema = given.pop("schema", SCHEMA)
        if not _NAME.fullmatch(self.schema):
            raise JudgingError(f"schema={self.schema}: expected lower-case letters, digits and _, a letter first.")
        self.url = urlunsplit(parts._replace(query=urlencode({"connect_timeout": "10", **given})))
        host = parts.netloc.rpartition("@")[2]
        self.name = f"postgresql://{host}{parts.path}, schema {self.schema}"  # without user and password
        self._library = _psycopg()

    def read(self, work: Callable[[Connection], T]) -> T:
        with self._said():
            return self._repeatedly(self.begin_reading, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        with self._said():
            return self._repeatedly(self.begin_writing, work)

    def _repeatedly(self, begin: str, work: Callable[[Connection], T]) -> T:
        """Run a transaction, again if the server broke it off or was started anew."""
        errors = self._library.errors
        for rest in reversed(range(TRIES)):
            try:
                with self.connections.taken() as raw:
                    return self._in_transaction(raw, begin, work)
            except (errors.DiskFull, errors.OutOfMemory, errors.TooManyConnections):
                raise
            except self._library.OperationalError:
                # a commit of which no answer came may have been done: events have keys, so that none is doubled
                self.close()
                if not rest:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def connect(self) -> Any:
        raw = self._library.connect(self.url, autocommit=True)
        # a server that confirms before it has written would confirm too early
        raw.execute("SET synchronous_commit = on")
        raw.execute(f"SET lock_timeout = {int(PATIENCE * 1000)}")
        raw.execute("SET client_min_messages = warning")
        raw.execute(f'SET search_path = "{self.schema}"')
        return raw

    def explained(self, error: Exception) -> JudgingError:
        said = " ".join(str(error).split()).rstrip(".")
        if isinstance(error, self._library.errors.DiskFull):
            return DatabaseFull(
                f"{self.name}: the judgment is not saved: no room on the disk of the server ({said}). "
                "What was confirmed before is kept; make room and try again."
            )
        if isinstance(error, self._library.OperationalError):
            return DatabaseBusy(f"{self.name}: PostgreSQL cannot be reached: {said}. Nothing was saved; try again.")
        return JudgingError(f"{self.name}: PostgreSQL says: {said}.")

    @cached_property
    def _errors(self) -> tuple[type[Exception], ...]:
        return (self._library.Error,)


def open_database(place: str | os.PathLike[str], create: bool = True) -> Database:
    """The database that a file name or a URL means."""
    text = os.fspath(place)
    if text.startswith(("postgresql://", "postgres://")):
        return PostgresDatabase(text)
    if "://" in text:
        raise JudgingError(f"{text.partition('://')[0]}://: expected a file, or a URL that begins with postgresql://.")
    return SqliteDatabase(text.removeprefix("sqlite:"), create)


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("a log of judgments in PostgreSQL", "postgres") from None
    return psycopg


_STATEMENTS: dict[tuple[int, str], str] = {}


def _in_dialect(statement: str, words: Mapping[str, str]) -> str:
    """A statement as the database at hand wants it; ours have neither braces nor ? nor % but as marks."""
    known = _STATEMENTS.get((id(words), statement))
    if known is None:
        known = re.sub(r"\{(\w+)\}", lambda match: words[match[1]], statement)
        if words["lock"]:  # of the two, only PostgreSQL has locks on rows, and %s for values
            known = known.replace("?", "%s")
        _STATEMENTS[id(words), statement] = known
    return known


# what neither database takes in a text: bytes that are no UTF-8 (surrogates here) and NUL; \ marks them
_UNSTORABLE = re.compile(r"[\\\0\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(\\|u[0-9a-f]{4})")


def _stored(values: Sequence[object]) -> list[object]:
    return [escaped(value) if type(value) is str else value for value in values]


def _read(row: Row) -> Row:
    # most rows are as they are; an order of thousands of documents is read and written at once
    for value in row:
        if type(value) is str and "\\" in value:
            break
    else:
        return row
    return tuple(unescaped(value) if type(value) is str and "\\" in value else value for value in row)


def escaped(text: str) -> str:
    r"""A text as it is stored, whatever it holds.

    >>> print(escaped("d\udcff\\"))
    d\udcff\\
    """
    if (text.isascii() and "\\" not in text and "\0" not in text) or not _UNSTORABLE.search(text):
        return text
    return _UNSTORABLE.sub(lambda match: "\\\\" if match[0] == "\\" else f"\\u{ord(match[0]):04x}", text)


def unescaped(text: str) -> str:
    r"""The text that was stored.

    >>> unescaped(escaped("d\udcff\\u0041\0")) == "d\udcff\\u0041\0"
    True
    """
    return _ESCAPE.sub(lambda match: "\\" if match[1] == "\\" else chr(int(match[1][1:], 16)), text)
