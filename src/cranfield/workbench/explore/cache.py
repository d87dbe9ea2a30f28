"""What was worked out, kept on disk under a name that says what it was worked out of: content, version, conventions."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
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

FOLDER = ".cranfield"
PART = "explore"
VERSION = 2  # of what is kept
STALE = 30 * 86_400.0  # seconds after which what was kept is swept away; rankings, if nobody looked at them


@cache
def _made_by() -> list[Any]:
    return [VERSION, version("cranfield")]


def key_of(*parts: Any) -> str:
    """A name for what is worked out of these; another version of the program works out everything anew."""
    text = json.dumps([*_made_by(), *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class Kept:
    """A folder of what can be worked out again. Threads and processes may share it; a damaged one is begun anew."""

    def __init__(self, place: Path | None = None) -> None:
        self.folder = _made(place)
        self._lock = threading.Lock()
        self._sweep()
        self._at = self._opened()

    @property
    def rankings(self) -> Path:
        """Where the rankings of runs are."""
        return self.folder / "rankings"

    def get(self, key: str) -> bytes | None:
        """What is kept under a name."""
        with self._lock, self._repaired():
            row = self._at.execute("SELECT content FROM kept WHERE name = ?", (key,)).fetchone()
            return None if row is None else bytes(row[0])
        return None

    def get_all(self, keys: list[str]) -> dict[str, bytes]:
        """What is kept under some names."""
        found = {key: self.get(key) for key in dict.fromkeys(keys)}
        return {key: content for key, content in found.items() if content is not None}

    def put(self, items: dict[str, bytes]) -> None:
        """Keep something. Where there is no room it is worked out again another time."""
        rows = [(name, content, time.time()) for name, content in items.items()]
        with self._lock, self._repaired():
            self._at.execute("BEGIN")
            self._at.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", rows)
            self._at.execute("COMMIT")

    @contextmanager
    def _repaired(self) -> Iterator[None]:
        """A file that is no database, or is full or in use, costs time and nothing else."""
        try:
            yield
        except sqlite3.OperationalError:
            with suppress(sqlite3.Error):
                self._at.execute("ROLLBACK")
        except sqlite3.DatabaseError:
            with suppress(sqlite3.Error, OSError):
                self._at.close()
                (self.folder / "kept.db").unlink()
            self._at = self._opened()

    def _opened(self) -> sqlite3.Connection:
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

    def _sweep(self) -> None:
        """Remove rankings of runs that are long gone, and what a killed server left half-written."""
        self.rankings.mkdir(exist_ok=True)
        for file in self.rankings.iterdir():
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > (STALE if file.suffix == ".rank" else 3600):
                    file.unlink()


def _database(place: Path | str) -> sqlite3.Connection:
    at = sqlite3.connect(place, timeout=5, check_same_thread=False, isolation_level=None)
    at.execute("PRAGMA journal_mode = WAL")
    at.execute("PRAGMA synchronous = OFF")  # it can be worked out again
    at.execute("CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, content BLOB NOT NULL, at REAL NOT NULL)")
    at.execute("DELETE FROM kept WHERE at < ?", (time.time() - STALE,))
    return at


def _made(place: Path | None) -> Path:
    """A folder that can be written to: the one asked for, or a temporary one that goes with the server."""
    if place is not None:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                return place
    made = Path(tempfile.mkdtemp(prefix="cranfield-explore-"))
    atexit.register(shutil.rmtree, made, True)
    return made


def place_of(folder: str | os.PathLike[str]) -> Path:
    """Where a workspace keeps it."""
    return Path(folder) / FOLDER / PART
