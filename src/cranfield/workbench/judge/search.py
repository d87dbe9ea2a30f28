"""What looks for more documents: the index of the workspace; where it has none, one that is made while people judge.

It is made by another process, which stands back behind the one that serves, and kept for the next time under a digest
of what the documents look like.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from cranfield.errors import CranfieldError, InputError, MissingExtra
from cranfield.experiment import Collection, WorkerPool, Workspace, index_settings
from cranfield.lab import VERSION, Index, system_named
from cranfield.text import Analysis
from cranfield.workbench.document_store import Library
from cranfield.workbench.params import not_yet

KEPT = ".cranfield"  # the folder of what can be made again
MOST = 100_000  # documents of which an index is made without being asked
MOST_BYTES = 200_000_000  # of their texts, compressed
STALE = 3600.0  # seconds after which what a killed server left half made is swept away
NICE = 19
SOON = 2.0  # seconds that a server has for its first pages before an index is begun that nobody asked for


class Finder:
    """Looks for documents by their words. Threads may share one."""

    def __init__(self, workspace: Workspace, collection: Collection, texts: Library, stamp: str, system: str) -> None:
        self.folder = workspace.folder
        self.why_not = ""  # why there is no index, and none will be made
        self._system = system_named(system)
        self._usual = Path(workspace.located(collection.path("index")))
        self._settings = _settings(collection)
        key = json.dumps([VERSION, stamp, self._settings], sort_keys=True)
        kept = self.folder / KEPT / collection.path("search")
        self._made = kept / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._lock = threading.Lock()
        self._hurry = threading.Event()  # somebody waits for the index, or for the end
        self._index: Index | None = None
        self._pool: WorkerPool | None = None
        self._thread: threading.Thread | None = None
        if self._opened() is None and (texts.file.stat().st_size > MOST_BYTES or texts.has_more_than(MOST)):
            documents = shlex.quote(workspace.located(str(collection.documents)))
            command = f"cranfield index {documents} -o {shlex.quote(str(self._usual))} --engine embedded"
            self.why_not = (
                f"so many documents are not indexed without being asked; to search them while judging: {command}"
            )

    @property
    def is_offered(self) -> bool:
        """Whether there is an index, or will be soon."""
        return not self.why_not or self._opened() is not None

    def search(self, words: str, depth: int) -> Sequence[str]:
        """The documents that have these words, the best first; while the index is being made, it is said so."""
        index = self._opened()
        if index is None:
            self.begin()
            raise not_yet("The index to search is still being made. Search again in a moment.")
        own = self._system.search(index, {"1": words}, depth).to_dict().get("1", {})
        return sorted(own, key=lambda doc: -own[doc])

    def begin_soon(self) -> None:
        """Have the index made in a moment, which belongs to the first pages."""
        self._begin(SOON)

    def begin(self) -> None:
        """Have the index made, unless it is there or is not to be made; nobody waits for it."""
        self._hurry.set()
        self._begin()

    def _begin(self, soon: float = 0.0) -> None:
        with self._lock:
            if self._thread is None and not self.why_not and not self._is_there():
                self._thread = threading.Thread(target=self._make, args=(soon,), daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until what was begun is over."""
        if self._thread is not None:
            self._thread.join(seconds)

    def close(self) -> None:
        """End what is being made: it is begun anew another time."""
        with self._lock:
            self.why_not = self.why_not or "the server ends."
            pool = self._pool
        self._hurry.set()
        if pool is not None:
            pool.close()

    def _is_there(self) -> bool:
        return any((place / "index.json").exists() for place in (self._usual, self._made))

    def _opened(self) -> Index | None:
        """The index: that of the workspace, else the one that was made here."""
        if self._index is None and (self._usual / "index.json").exists():
            self._index = Index.open(self._usual)
        if self._index is None and (self._made / "index.json").exists():
            try:
                self._index = Index.open(self._made)
            except InputError:  # it is made anew
                shutil.rmtree(self._made, ignore_errors=True)
        return self._index

    def _make(self, soon: float) -> None:
        self._hurry.wait(soon)
        if self.why_not:
            return
        into = self._made.parent / f"tmp-{os.getpid()}-{time.time_ns()}"
        try:
            answer = self._asked(into)
            if "error" in answer:
                raise CranfieldError(answer["error"])
            with suppress(OSError):  # another server has been quicker
                os.rename(into / "index", self._made)
            if self._opened() is None:
                raise CranfieldError("it cannot be read.")
        except (CranfieldError, OSError) as error:
            self.why_not = self.why_not or f"the index for searching could not be made: {error}"
        finally:
            shutil.rmtree(into, ignore_errors=True)
            self._sweep()

    def _asked(self, into: Path) -> dict[str, Any]:
        """What the other process says of its work."""
        task = {"kind": "index", "settings": self._settings, "outputs": ["index"], "into": str(into.absolute())}
        with WorkerPool(self.folder, 1, nice=NICE) as pool:
            with self._lock:
                if self.why_not:
                    return {"error": self.why_not}
                self._pool = pool
                pool.submit(task)
            return pool.next_result()[1]

    def _sweep(self) -> None:
        """Remove indexes of documents that have changed since, and what a killed server left."""
        with suppress(OSError):
            for place in self._made.parent.iterdir():
                is_old = time.time() - place.stat().st_mtime > STALE
                if place != self._made and (is_old or not place.name.startswith("tmp-")):
                    shutil.rmtree(place, ignore_errors=True)


def _settings(collection: Collection) -> dict[str, Any]:
    """How the documents are indexed: as an experiment would, but without stems where they are not to be had."""
    settings = index_settings(collection)
    try:
        Analysis(settings["stemmer"], settings["stop_words"])
    except MissingExtra:
        settings["stemmer"] = "none"
    return settings
