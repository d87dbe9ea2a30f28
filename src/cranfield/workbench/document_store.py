"""Texts of documents by id, kept on disk: a collection of millions is not held in memory, nor read at every start.

The first time, documents are copied into a file of SQLite, compressed; it is used as long as what they were read from
has not changed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

from cranfield.annotation import escaped
from cranfield.data import Document
from cranfield.errors import InputError

VERSION = 1
_TOGETHER = 2_000  # documents that are written at a time


class Library:
    """Documents by id. Threads may share one."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = Path(file)
        self._own = threading.local()
        self._lock = threading.Lock()
        self._connections: list[sqlite3.Connection] = []

    @classmethod
    def of(cls, file: str | os.PathLike[str], stamp: str, documents: Callable[[], Iterable[Document]]) -> Library:
        """The library in a file; made of these documents if it is not there, or is of another stamp."""
        path = Path(file)
        if _stamp_in(path) != stamp:
            _make(path, stamp, documents())
        return cls(path)

    def get(self, doc: str) -> Document | None:
        """A document, or None."""
        row = self._connection().execute("SELECT content FROM documents WHERE id = ?", (escaped(doc),)).fetchone()
        return None if row is None else _read(doc, row[0])

    def __contains__(self, doc: str) -> bool:
        found = self._connection().execute("SELECT 1 FROM documents WHERE id = ?", (escaped(doc),)).fetchone()
        return found is not None

    def __len__(self) -> int:
        return int(self._connection().execute("SELECT COUNT(*) FROM documents").fetchone()[0])

    def has_more_than(self, number: int) -> bool:
        """Whether there are more documents than that, without counting all."""
        row = self._connection().execute("SELECT 1 FROM documents LIMIT 1 OFFSET ?", (number,)).fetchone()
        return row is not None

    def close(self) -> None:
        with self._lock:
            gone, self._connections = self._connections, []
            self._own = threading.local()
        for one in gone:
            one.close()

    def _connection(self) -> sqlite3.Connection:
        known: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if known is None:
            known = sqlite3.connect(f"{self.file.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
            known.execute("PRAGMA cache_size = -4000")
            self._own.connection = known
            with self._lock:
                self._connections.append(known)
        return known


def stamp_of(*paths: str) -> str:
    """What files and folders look like from outside: names, sizes and times."""
    found: list[object] = [VERSION]
    for path in paths:
        if os.path.isdir(path):
            for folder, folders, files in os.walk(path):
                folders.sort()
                found += [_looks(os.path.join(folder, name)) for name in sorted(files)]
        else:
            found.append(_looks(path))
    return json.dumps(found)


def _looks(path: str) -> list[object]:
    try:
        state = os.stat(path)
    except OSError:
        return [path]
    return [path, state.st_size, state.st_mtime_ns]


def _stamp_in(path: Path) -> str | None:
    if not path.exists():
        return None
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as at:
        row = at.execute("SELECT value FROM about").fetchone()
        return None if row is None else str(row[0])
    return None


def _make(path: Path, stamp: str, documents: Iterable[Document]) -> None:
    """Write a library beside, then put it in place."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with suppress(OSError):
        beside.unlink()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(beside, isolation_level=None)) as at:
            for pragma in ("journal_mode = OFF", "synchronous = OFF"):
                at.execute(f"PRAGMA {pragma}")
            at.execute("CREATE TABLE documents (id TEXT PRIMARY KEY, content BLOB NOT NULL)")
            at.execute("CREATE TABLE about (value TEXT NOT NULL)")
            for rows in _in_pieces(documents):
                at.execute("BEGIN")
                # of several documents with the same id the first counts, as everywhere
                at.executemany("INSERT OR IGNORE INTO documents VALUES (?, ?)", rows)
                at.execute("COMMIT")
            at.execute("INSERT INTO about VALUES (?)", (stamp,))
        os.replace(beside, path)
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"the texts cannot be kept there: {error}.", str(path)) from None
    finally:
        with suppress(OSError):
            beside.unlink()


def _in_pieces(documents: Iterable[Document]) -> Iterator[list[tuple[str, bytes]]]:
    rows = []
    for document in documents:
        rows.append((escaped(document.id), _written(document)))
        if len(rows) == _TOGETHER:
            yield rows
            rows = []
    yield rows


def _written(document: Document) -> bytes:
    content: Mapping[str, object] = {"t": document.title, "x": document.text, "f": dict(document.fields)}
    return zlib.compress(json.dumps(content).encode(), 3)


def _read(doc: str, content: bytes) -> Document:
    found = json.loads(zlib.decompress(content))
    return Document(doc, found["x"], found["t"], found["f"])
