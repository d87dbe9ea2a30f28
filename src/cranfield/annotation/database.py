"""A thin layer over two databases: a SQLite file, or PostgreSQL by URL. SQL is written once, for both.

A transaction is a function that takes a `Connection`. What it wrote is on disk when `write` returns. PostgreSQL may ask
to run it again, so it must not have other side effects.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from cranfield.errors import CranfieldError, MissingExtra

T = TypeVar("T")
Row = tuple[Any, ...]

LOCK_TIMEOUT = 30.0  # seconds to wait for other writers
MAX_ATTEMPTS = 3  # of a transaction that PostgreSQL aborts
APPLICATION_ID = 0x63726A6C  # marks a SQLite file as ours
DEFAULT_SCHEMA = "cranfield_judging"
_ROWS_PER_INSERT = 500
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class JudgingError(CranfieldError):
    """An operation on the judgment log failed; confirmed judgments are not lost."""


class DatabaseFull(JudgingError):
    """The disk is full: the judgment was not saved."""


class DatabaseBusy(JudgingError):
    """The database does not respond; the operation may be tried again."""


class Connection:
    """Statements within a transaction. Placeholders are ?; ids may contain any bytes."""

    is_shared: ClassVar[bool] = False  # whether others may write at the same time

    def __init__(self, raw: Any, dialect: Mapping[str, str]) -> None:
        self.raw = raw
        self._dialect = dialect

    def rows(self, statement: str, *values: object) -> list[Row]:
        """All rows of a query."""
        return [_unescape_row(row) for row in self._execute(statement, values).fetchall()]

    def row(self, statement: str, *values: object) -> Row | None:
        """The first row of a query, None without one."""
        row = self._execute(statement, values).fetchone()
        return None if row is None else _unescape_row(row)

    def value(self, statement: str, *values: object) -> Any:
        """The first value of the first row, None without one."""
        row = self.row(statement, *values)
        return None if row is None else row[0]

    def run(self, statement: str, *values: object) -> int:
        """Run a statement that changes something; return how many rows it affected."""
        return int(self._execute(statement, values).rowcount)

    def _execute(self, statement: str, values: Sequence[object]) -> Any:
        return self.raw.execute(_translate(statement, self._dialect), _escape_values(values))

    def run_each(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run the same statement for many rows."""
        cursor = self.raw.cursor()
        cursor.executemany(_translate(statement, self._dialect), [_escape_values(row) for row in rows])

    def insert(self, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert many rows, hundreds per statement, which is much faster than one by one."""
        marks = f"({', '.join('?' * len(columns.split(',')))})"
        for start in range(0, len(rows), _ROWS_PER_INSERT):
            some = rows[start : start + _ROWS_PER_INSERT]
            values = [value for row in some for value in row]
            self.run(f"INSERT INTO {table} ({columns}) VALUES {', '.join([marks] * len(some))}", *values)


class CopyingConnection(Connection):
    """A PostgreSQL connection. It inserts with COPY, as statements with thousands of values are slow to parse."""

    is_shared: ClassVar = True

    def insert(self, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
        if not rows:
            return
        with self.raw.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(_escape_values(row))


class Connections(Protocol):
    """The source of a database's connections. The workbench replaces it by a pool (`workbench.connections`)."""

    def acquire(self) -> AbstractContextManager[Any]:
        """Borrow a connection; one that failed is not used again."""

    def close(self) -> None:
        """Close all idle connections."""


class ConnectionCache:
    """Opens a connection whenever none is idle, and keeps it for later: enough for one person at a terminal."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._idle: list[Any] = []
        self._lock = threading.Lock()

    @contextmanager
    def acquire(self) -> Iterator[Any]:
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


class Database(ABC):
    """The storage of judgments; safe to use from several threads and processes."""

    dialect: ClassVar[Mapping[str, str]]  # replacements for {serial} and so on in statements
    connection_class: ClassVar[type[Connection]] = Connection
    begin_reading: ClassVar[str]
    begin_writing: ClassVar[str]
    error_class: type[Exception]
    name: str

    def __init__(self) -> None:
        self.connections: Connections = ConnectionCache(lambda: self.connect())

    @abstractmethod
    def connect(self) -> Any:
        """Open a connection."""

    @abstractmethod
    def describe_error(self, error: Exception) -> JudgingError:
        """The error as a sentence for users."""

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run a function that only reads; all its queries see the same state."""
        with self._translated_errors():
            return self._transact(self.begin_reading, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run a function that writes, completely or not at all. On return it is on disk."""
        with self._translated_errors():
            return self._transact(self.begin_writing, work)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A consistent snapshot; what others add meanwhile is not visible."""
        with self._translated_errors(), self.connections.acquire() as raw:
            raw.execute(self.begin_reading)
            yield self.connection_class(raw, self.dialect)
            raw.execute("COMMIT")

    def close(self) -> None:
        """Close all idle connections."""
        self.connections.close()

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except self.error_class as error:
            raise self.describe_error(error) from None

    def _transact(self, begin: str, work: Callable[[Connection], T]) -> T:
        with self.connections.acquire() as raw:
            raw.execute(begin)
            try:
                result = work(self.connection_class(raw, self.dialect))
                raw.execute("COMMIT")
            except BaseException:
                with suppress(Exception):
                    raw.execute("ROLLBACK")
                raise
            return result


class SqliteDatabase(Database):
    """A SQLite file, with a write-ahead log that is synchronised at every commit."""

    dialect: ClassVar = {"serial": "INTEGER PRIMARY KEY AUTOINCREMENT", "real": "REAL", "lock": "", "skip": ""}
    begin_reading: ClassVar = "BEGIN"
    begin_writing: ClassVar = "BEGIN IMMEDIATE"
    error_class = sqlite3.Error

    def __init__(self, file: str | os.PathLike[str], create: bool = True) -> None:
        super().__init__()
        self.file = Path(file)
        self.name = os.fspath(file)
        # SQLite waits for a lock by sleeping; within a process, a lock is faster and fair
        self._writing = threading.Lock()
        if not create and not self.file.exists():
            raise JudgingError(f"{self.name}: this log of judgments does not exist.")
        self._check_owner()

    def write(self, work: Callable[[Connection], T]) -> T:
        with self._writing:
            return super().write(work)

    def connect(self) -> Any:
        raw = sqlite3.connect(self.file, timeout=LOCK_TIMEOUT, isolation_level=None, check_same_thread=False)
        try:
            self._enable_wal(raw)
            for pragma in ("synchronous=FULL", "fullfsync=ON", "foreign_keys=ON", "cache_size=-16000"):
                raw.execute(f"PRAGMA {pragma}").fetchall()
        except BaseException:
            raw.close()
            raise
        return raw

    def _enable_wal(self, raw: Any) -> None:
        """Switch to a write-ahead log. While others create the file, SQLite does not wait by itself."""
        last = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                raw.execute("PRAGMA journal_mode=WAL").fetchall()
                return
            except sqlite3.OperationalError as error:
                if not str(error.sqlite_errorname).startswith("SQLITE_BUSY") or time.monotonic() > last:
                    raise
                time.sleep(0.01)

    def describe_error(self, error: Exception) -> JudgingError:
        code = getattr(error, "sqlite_errorname", "") or ""
        reason = str(error).rstrip(".")
        if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            return DatabaseFull(
                f"{self.name}: the judgment is not saved: the disk is full or not writable ({reason}). Confirmed "
                "judgments are not lost; free some space and try again."
            )
        if code.startswith("SQLITE_BUSY"):
            return DatabaseBusy(
                f"{self.name}: another process has been writing for {LOCK_TIMEOUT:g} s. Nothing was saved; try again."
            )
        if code.startswith("SQLITE_READONLY"):
            return JudgingError(f"{self.name}: the file or its folder is not writable.")
        if code.startswith("SQLITE_CANTOPEN"):
            return JudgingError(f"{self.name}: cannot be opened or created. Does its folder exist, and is it writable?")
        if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return JudgingError(f"{self.name}: this is not a log of judgments, or it is damaged ({reason}).")
        return JudgingError(f"{self.name}: SQLite says: {reason}.")

    def _check_owner(self) -> None:
        """Refuse a file of another application before changing anything in it."""
        if not self.file.exists() or not self.file.stat().st_size:
            return
        if self.file.is_dir():
            raise JudgingError(f"{self.name}: this is a folder, expected a log of judgments.")
        with self._translated_errors():
            raw = sqlite3.connect(self.file, timeout=LOCK_TIMEOUT)
            try:
                # in this order: somebody may be creating the log right now, which sets the id along with the tables
                tables = raw.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
                (application_id,) = raw.execute("PRAGMA application_id").fetchone()
            finally:
                raw.close()
        if application_id != APPLICATION_ID and tables:
            raise JudgingError(f"{self.name}: this is a database, but not a log of judgments.")


class PostgresDatabase(Database):
    """A schema of its own in a PostgreSQL database: `postgresql://user@host/database?schema=project`."""

    dialect: ClassVar = {
        "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "real": "DOUBLE PRECISION",
        # does not block rows that refer to these by foreign key
        "lock": "FOR NO KEY UPDATE",
        "skip": "FOR NO KEY UPDATE SKIP LOCKED",
    }
    connection_class: ClassVar = CopyingConnection
    begin_reading: ClassVar = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    begin_writing: ClassVar = "BEGIN ISOLATION LEVEL READ COMMITTED"

    def __init__(self, url: str) -> None:
        super().__init__()
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.schema = options.pop("schema", DEFAULT_SCHEMA)
        if not _NAME.fullmatch(self.schema):
            raise JudgingError(
                f"schema={self.schema}: expected lower-case letters, digits and _, starting with a letter."
            )
        self.url = urlunsplit(parts._replace(query=urlencode({"connect_timeout": "10", **options})))
        host = parts.netloc.rpartition("@")[2]
        self.name = f"postgresql://{host}{parts.path}, schema {self.schema}"  # without user and password
        self._library = _import_psycopg()
        self.error_class = self._library.Error

    def _transact(self, begin: str, work: Callable[[Connection], T]) -> T:
        """Run a transaction, again if the server aborted it or was restarted."""
        errors = self._library.errors
        for rest in reversed(range(MAX_ATTEMPTS)):
            try:
                return super()._transact(begin, work)
            except (errors.DiskFull, errors.OutOfMemory, errors.TooManyConnections):
                raise
            except self._library.OperationalError:
                # the commit may have succeeded without an answer; events have keys, so none is recorded twice
                self.close()
                if not rest:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def connect(self) -> Any:
        raw = self._library.connect(self.url, autocommit=True)
        # the server must not confirm before the data is on disk
        raw.execute("SET synchronous_commit = on")
        raw.execute(f"SET lock_timeout = {int(LOCK_TIMEOUT * 1000)}")
        raw.execute("SET client_min_messages = warning")
        raw.execute(f'SET search_path = "{self.schema}"')
        return raw

    def describe_error(self, error: Exception) -> JudgingError:
        reason = " ".join(str(error).split()).rstrip(".")
        if isinstance(error, self._library.errors.DiskFull):
            return DatabaseFull(
                f"{self.name}: the judgment is not saved: the disk of the server is full ({reason}). Confirmed "
                "judgments are not lost; free some space and try again."
            )
        if isinstance(error, self._library.OperationalError):
            return DatabaseBusy(f"{self.name}: PostgreSQL cannot be reached: {reason}. Nothing was saved; try again.")
        return JudgingError(f"{self.name}: PostgreSQL says: {reason}.")


def open_database(place: str | os.PathLike[str], create: bool = True) -> Database:
    """Open the database at a file name or URL."""
    text = os.fspath(place)
    if text.startswith(("postgresql://", "postgres://")):
        return PostgresDatabase(text)
    if "://" in text:
        raise JudgingError(f"{text.partition('://')[0]}://: expected a file, or a URL that begins with postgresql://.")
    return SqliteDatabase(text.removeprefix("sqlite:"), create)


def _import_psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("a log of judgments in PostgreSQL", "postgres") from None
    return psycopg


_STATEMENTS: dict[tuple[int, str], str] = {}


def _translate(statement: str, dialect: Mapping[str, str]) -> str:
    """A statement in the dialect of the database. Braces, ? and % only occur as placeholders."""
    known = _STATEMENTS.get((id(dialect), statement))
    if known is None:
        known = re.sub(r"\{(\w+)\}", lambda match: dialect[match[1]], statement)
        if dialect["lock"]:  # only PostgreSQL has row locks, and %s as placeholders
            known = known.replace("?", "%s")
        _STATEMENTS[id(dialect), statement] = known
    return known


# what neither database stores in a text: NUL, and bytes that are not UTF-8 (as surrogates); escaped by \
_UNSTORABLE = re.compile(r"[\\\0\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(\\|u[0-9a-f]{4})")


def _escape_values(values: Sequence[object]) -> list[object]:
    return [escape_text(value) if type(value) is str else value for value in values]


def _unescape_row(row: Row) -> Row:
    # most rows need no change; this matters for orders of thousands of documents
    for value in row:
        if type(value) is str and "\\" in value:
            break
    else:
        return row
    return tuple(unescape_text(value) if type(value) is str and "\\" in value else value for value in row)


def escape_text(text: str) -> str:
    r"""A text as it is stored.

    >>> print(escape_text("d\udcff\\"))
    d\udcff\\
    """
    if (text.isascii() and "\\" not in text and "\0" not in text) or not _UNSTORABLE.search(text):
        return text
    return _UNSTORABLE.sub(lambda match: "\\\\" if match[0] == "\\" else f"\\u{ord(match[0]):04x}", text)


def unescape_text(text: str) -> str:
    r"""The text that was stored.

    >>> unescape_text(escape_text("d\udcff\\u0041\0")) == "d\udcff\\u0041\0"
    True
    """
    return _ESCAPE.sub(lambda match: "\\" if match[1] == "\\" else chr(int(match[1][1:], 16)), text)
