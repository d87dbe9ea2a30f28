"""SQLite's full-text search, FTS5: `sqlite:FILE`. Its bm25() with k1 1.2 and b 0.75, stems by Porter.

Text is indexed and not kept. The index is made in `FILE.part`, which takes its place when complete; an attempt that was
interrupted goes on from its last transaction.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from cranfield.base import encode_id, replace
from cranfield.data import Document, Run
from cranfield.errors import InputError
from cranfield.lab.engines import (
    DEPTH,
    FIELDS,
    KEPT,
    About,
    Answered,
    Begun,
    EngineError,
    Hits,
    Indexed,
    Options,
    after,
    anew,
    ask_each,
    batches,
    digested,
    text_of,
    unique,
)
from cranfield.text import STOP_WORDS

COMMIT = 5_000  # documents
TABLES = """
    CREATE TABLE docs (number INTEGER PRIMARY KEY, id BLOB NOT NULL);
    CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='porter unicode61');
    CREATE TABLE cranfield (fields TEXT NOT NULL);
    CREATE TABLE digest (value BLOB NOT NULL);
    INSERT INTO digest VALUES (x'');
"""
# equal scores in the order of documents; bm25() is the lower, the better
SEARCH = """
    SELECT docs.id, -found.score
    FROM (
        SELECT rowid AS number, bm25(texts) AS score FROM texts WHERE texts MATCH ? ORDER BY score, rowid LIMIT ?
    ) found JOIN docs USING (number)
    ORDER BY found.score, number
"""


def opened(kind: str, place: str, options: Options) -> Sqlite:
    return Sqlite(Path(place), options)


class Sqlite:
    """A full-text index in a file of SQLite."""

    def __init__(self, file: Path, options: Options | None = None) -> None:
        self.file = file
        self.options = options or Options()
        self.part = file.with_name(f"{file.name}.part")

    @property
    def about(self) -> About:
        return About("sqlite", sqlite3.sqlite_version)

    def index(self, documents: Iterable[Document], fields: Sequence[str] = FIELDS) -> Indexed:
        start = time.perf_counter()
        _check_mine(self.file)
        with _said(self.file, KEPT):
            self.part.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._begun(list(fields))) as database:
                begun = _progress(database)
                rest = after(unique(documents, self.options.source), begun, fields)
                if rest is not None:
                    total = _write(database, rest, fields, begun)
            if rest is None:
                self._remove_part()
                again = self.index(anew(documents, str(self.part)), fields)
                return replace(again, dropped=begun.done)
            self.close()
            os.replace(self.part, self.file)
        return Indexed(total, time.perf_counter() - start, self.size(), resumed=begun.done)

    def search(self, queries: Mapping[str, str], depth: int = DEPTH, answered: Answered | None = None) -> Run:
        database = self.reader
        return ask_each("sqlite", queries, lambda text: _found(database, self.file, text, depth), answered)

    def size(self) -> int | None:
        return self.file.stat().st_size if self.file.exists() else None

    def close(self) -> None:
        reader = self.__dict__.pop("reader", None)
        if reader is not None:
            reader.close()

    @cached_property
    def reader(self) -> sqlite3.Connection:
        if not self.file.exists():
            what = "is not complete; run 'cranfield index' again" if self.part.exists() else "there is no such index"
            raise InputError(f"{what}.", str(self.file))
        if not self.file.is_file() or _fields(self.file) is None:
            what = "it was not made by 'cranfield index', or is damaged. If it was, remove it and index again"
            raise InputError(f"{what}.", str(self.file))
        return sqlite3.connect(f"{self.file.absolute().as_uri()}?mode=ro", uri=True)

    def _begun(self, fields: list[str]) -> sqlite3.Connection:
        """What an interrupted attempt left, or a new index."""
        # open to writing: SQLite first takes back what was under way when a process was killed
        begun = _fields(self.part, "rw") == fields
        if not begun:
            _check_mine(self.part)
            self._remove_part()
        database = sqlite3.connect(self.part)
        if not begun:
            with database:
                database.executescript(f"BEGIN; {TABLES}")
                database.execute("INSERT INTO cranfield VALUES (?)", [json.dumps(fields)])
        return database

    def _remove_part(self) -> None:
        for left in (self.part, self.part.with_name(f"{self.part.name}-journal")):
            left.unlink(missing_ok=True)


def _write(database: sqlite3.Connection, documents: Iterable[Document], fields: Sequence[str], begun: Begun) -> int:
    number, digest = begun.done, begun.digest
    for some in batches(documents, COMMIT):
        for document in some:
            digest = digested(digest, document, fields)
        numbered = list(enumerate(some, number))
        with database:
            ids = ((n, encode_id(document.id)) for n, document in numbered)
            database.executemany("INSERT INTO docs (number, id) VALUES (?, ?)", ids)
            texts = ((n, text_of(document, fields)) for n, document in numbered)
            database.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", texts)
            database.execute("UPDATE digest SET value = ?", [digest])
        number += len(some)
    with database:
        database.execute("INSERT INTO texts (texts) VALUES ('optimize')")
    return number


def _found(database: sqlite3.Connection, file: Path, text: str, depth: int) -> Hits:
    asked = any_of(text)
    if not asked:
        return []
    with _said(file):
        rows: list[Any] = database.execute(SEARCH, [asked, depth]).fetchall()
    return [(doc.decode("utf-8", "surrogateescape"), score) for doc, score in rows]


def any_of(text: str) -> str:
    """A query of FTS5 for documents with any of the words; each is quoted, so that none is taken for an operator.

    >>> any_of('the lamps AND "NOT')
    '"lamps"'
    """
    words = re.findall(r"[^\W_]+", text.lower())
    # FTS5 gives words of more than half the documents no weight, but goes through all of these
    kept = [word for word in words if word not in STOP_WORDS["english"]] or words
    return " OR ".join(f'"{word}"' for word in kept)


def _progress(database: sqlite3.Connection) -> Begun:
    """How far documents were committed."""
    ((done,),) = database.execute("SELECT count(*) FROM docs")
    try:
        ((digest,),) = database.execute("SELECT value FROM digest")
    except (sqlite3.OperationalError, ValueError):  # made by an earlier version: nothing vouches for it
        digest = b"unknown"
    return Begun(done, digest)


def _fields(file: Path, mode: str = "ro") -> list[str] | None:
    """The fields that a file of ours was made of, or None if it is none."""
    if not file.exists():
        return None
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode={mode}", uri=True)) as database:
            fields: list[str] = json.loads(database.execute("SELECT fields FROM cranfield").fetchone()[0])
            return fields
    except (sqlite3.Error, TypeError, ValueError):
        return None


def _check_mine(file: Path) -> None:
    if file.exists() and (file.is_dir() or (file.stat().st_size and _fields(file) is None)):
        raise InputError("this was not made by 'cranfield index'; give the name of a new file.", str(file))


@contextmanager
def _said(file: Path, more: str = "") -> Iterator[None]:
    """What goes wrong inside, in a sentence."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        full = ", the disk may be full" if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL) else ""
        raise EngineError(f"{file}: SQLite stopped ({error}{full}).{more}") from None
    except OSError as error:
        raise EngineError(f"{file}: cannot be written: {error.strerror or error}.") from None
