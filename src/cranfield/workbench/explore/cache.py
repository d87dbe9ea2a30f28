"""A cache of results on disk, under keys made of the content, the version and the conventions they depend on."""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

VERSION = 2  # of the cached values
MAX_AGE = 30 * 86_400.0  # seconds until an entry is deleted; for rankings, since their last use


def cache_key(*parts: Any) -> str:
    """The key of a result that depends on these values and on the version of the program."""
    text = json.dumps([VERSION, _program_version(), *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _program_version() -> str:
    return version("cranfield")


class Cache:
    """A folder of cached results. Threads and processes may share it; a damaged one is recreated."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = _make_folder(folder)
        self._lock = threading.Lock()
        self._delete_old()
        self._connection = self._open()

    @property
    def rankings(self) -> Path:
        """The folder of the rankings of runs."""
        return self.folder / "rankings"

    def get(self, key: str) -> bytes | None:
        with self._lock, self._repairing():
            row = self._connection.execute("SELECT content FROM kept WHERE name = ?", (key,)).fetchone()
            return None if row is None else bytes(row[0])
        return None

    def put(self, items: dict[str, bytes]) -> None:
        """Store results. If the disk is full they are not stored, and computed again another time."""
        rows = [(name, content, time.time()) for name, content in items.items()]
        with self._lock, self._repairing():
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", rows)
            self._connection.execute("COMMIT")

    @contextmanager
    def _repairing(self) -> Iterator[None]:
        """Ignore errors of the database; recreate one that is damaged."""
        try:
            yield
        except sqlite3.OperationalError:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        except sqlite3.DatabaseError:
            with suppress(sqlite3.Error, OSError):
                self._connection.close()
                (self.folder / "kept.db").unlink()
            self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            return _database(self.folder / "kept.db")
        except sqlite3.Error:
            pass
        with suppress(OSError):
            (self.folder / "kept.db").unlink()
        try:
            return _database(self.folder / "kept.db")
        except sqlite3.Error:
            return _database(":memory:")

    def _delete_old(self) -> None:
        """Delete rankings that were not used for long, and unfinished files of killed servers."""
        self.rankings.mkdir(exist_ok=True)
        for file in self.rankings.iterdir():
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > (MAX_AGE if file.suffix == ".rank" else 3600):
                    file.unlink()


def _database(place: Path | str) -> sqlite3.Connection:
    at = sqlite3.connect(place, timeout=5, check_same_thread=False, isolation_level=None)
    at.execute("PRAGMA journal_mode = WAL")
    at.execute("PRAGMA synchronous = OFF")  # lost results are computed again
    at.execute("CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, content BLOB NOT NULL, at REAL NOT NULL)")
    at.execute("DELETE FROM kept WHERE at < ?", (time.time() - MAX_AGE,))
    return at


def _make_folder(folder: Path | None) -> Path:
    """The folder if it is writable, else a temporary one that is deleted when the server stops."""
    if folder is not None:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
    temporary = Path(tempfile.mkdtemp(prefix="cranfield-explore-"))
    atexit.register(shutil.rmtree, temporary, True)
    return temporary
