"""Texts of documents by id, on disk, so that large collections need neither memory nor a read at every start.

The first time, the documents are copied into a SQLite file, compressed. It is used until their source changes.
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
from typing import Protocol

from cranfield.annotation import escape_text
from cranfield.data import Document
from cranfield.errors import InputError

VERSION = 1
_BATCH = 2_000  # documents written at a time


class DocumentSource(Protocol):
    """Gives the text of a document by id."""

    def get(self, doc: str) -> Document | None: ...


class DocumentStore:
    """Documents by id. Safe to share between threads."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = Path(file)
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[sqlite3.Connection] = []

    @classmethod
    def open(
        cls, file: str | os.PathLike[str], fingerprint: str, documents: Callable[[], Iterable[Document]]
    ) -> DocumentStore:
        """Open the store in a file; it is built from `documents` if it is missing or has another fingerprint."""
        path = Path(file)
        if _read_fingerprint(path) != fingerprint:
            _build(path, fingerprint, documents())
        return cls(path)

    def get(self, doc: str) -> Document | None:
        row = self._connection().execute("SELECT content FROM documents WHERE id = ?", (escape_text(doc),)).fetchone()
        return None if row is None else _decode(doc, row[0])

    def __contains__(self, doc: str) -> bool:
        row = self._connection().execute("SELECT 1 FROM documents WHERE id = ?", (escape_text(doc),)).fetchone()
        return row is not None

    def __len__(self) -> int:
        return int(self._connection().execute("SELECT COUNT(*) FROM documents").fetchone()[0])

    def has_more_than(self, number: int) -> bool:
        """Whether there are more documents than that, without counting them all."""
        row = self._connection().execute("SELECT 1 FROM documents LIMIT 1 OFFSET ?", (number,)).fetchone()
        return row is not None

    def close(self) -> None:
        with self._lock:
            connections, self._connections = self._connections, []
            self._local = threading.local()
        for connection in connections:
            connection.close()

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(f"{self.file.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
            connection.execute("PRAGMA cache_size = -4000")
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection


def fingerprint_files(*paths: str) -> str:
    """Names, sizes and modification times of files and of all files in folders."""
    states: list[object] = [VERSION]
    for path in paths:
        if os.path.isdir(path):
            for folder, folders, files in os.walk(path):
                folders.sort()
                states += [_file_state(os.path.join(folder, name)) for name in sorted(files)]
        else:
            states.append(_file_state(path))
    return json.dumps(states)


def _file_state(path: str) -> list[object]:
    try:
        state = os.stat(path)
    except OSError:
        return [path]
    return [path, state.st_size, state.st_mtime_ns]


def _read_fingerprint(path: Path) -> str | None:
    if not path.exists():
        return None
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as at:
        row = at.execute("SELECT value FROM about").fetchone()
        return None if row is None else str(row[0])
    return None


def _build(path: Path, fingerprint: str, documents: Iterable[Document]) -> None:
    """Write the store to a temporary file, then move it into place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with suppress(OSError):
        temporary.unlink()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(temporary, isolation_level=None)) as at:
            for pragma in ("journal_mode = OFF", "synchronous = OFF"):
                at.execute(f"PRAGMA {pragma}")
            at.execute("CREATE TABLE documents (id TEXT PRIMARY KEY, content BLOB NOT NULL)")
            at.execute("CREATE TABLE about (value TEXT NOT NULL)")
            for rows in _batches(documents):
                at.execute("BEGIN")
                # the first of several documents with the same id counts, as everywhere
                at.executemany("INSERT OR IGNORE INTO documents VALUES (?, ?)", rows)
                at.execute("COMMIT")
            at.execute("INSERT INTO about VALUES (?)", (fingerprint,))
        os.replace(temporary, path)
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"cannot store the texts of documents: {error}.", str(path)) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _batches(documents: Iterable[Document]) -> Iterator[list[tuple[str, bytes]]]:
    rows = []
    for document in documents:
        rows.append((escape_text(document.id), _encode(document)))
        if len(rows) == _BATCH:
            yield rows
            rows = []
    yield rows


def _encode(document: Document) -> bytes:
    content: Mapping[str, object] = {"t": document.title, "x": document.text, "f": dict(document.fields)}
    return zlib.compress(json.dumps(content).encode(), 3)


def _decode(doc: str, content: bytes) -> Document:
    fields = json.loads(zlib.decompress(content))
    return Document(doc, fields["x"], fields["t"], fields["f"])
