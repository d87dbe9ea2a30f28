"""The search for more documents while judging: by the index of the workspace, or one that is built in the background.

Another process with a low priority builds it. It is stored for later under a digest of the documents' fingerprint.
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
from cranfield.workbench.app_state import DATA_FOLDER
from cranfield.workbench.document_store import DocumentStore
from cranfield.workbench.params import unavailable

MAX_DOCUMENTS = 100_000  # larger collections are not indexed automatically
MAX_BYTES = 200_000_000  # of their texts, compressed
MAX_AGE = 3600.0  # seconds after which unfinished indexes of a killed server are deleted
NICE = 19
START_DELAY = 2.0  # seconds for the first pages before indexing starts unasked


class DocumentSearch:
    """Searches documents by words. Safe to share between threads."""

    def __init__(
        self, workspace: Workspace, collection: Collection, texts: DocumentStore, fingerprint: str, system: str
    ) -> None:
        self.folder = workspace.folder
        self.problem = ""  # why there is no index and none will be built
        self._system = system_named(system)
        self._workspace_index = Path(workspace.located(collection.path("index")))
        self._settings = _settings(collection)
        key = json.dumps([VERSION, fingerprint, self._settings], sort_keys=True)
        folder = self.folder / DATA_FOLDER / collection.path("search")
        self._own_index = folder / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._lock = threading.Lock()
        self._hurry = threading.Event()  # someone waits for the index, or the server stops
        self._index: Index | None = None
        self._worker: WorkerPool | None = None
        self._thread: threading.Thread | None = None
        if self._open() is None and (texts.file.stat().st_size > MAX_BYTES or texts.has_more_than(MAX_DOCUMENTS)):
            documents = shlex.quote(workspace.located(str(collection.documents)))
            command = f"cranfield index {documents} -o {shlex.quote(str(self._workspace_index))} --engine embedded"
            self.problem = f"the collection is too large to be indexed automatically. Build an index with: {command}"

    @property
    def is_available(self) -> bool:
        """Whether there is an index, or will be soon."""
        return not self.problem or self._open() is not None

    def search(self, words: str, depth: int) -> Sequence[str]:
        """The documents with these words, the best first; raises an error while the index is being built."""
        index = self._open()
        if index is None:
            self.start()
            raise unavailable("The search index is still being built. Try again in a moment.")
        scores = self._system.search(index, {"1": words}, depth).to_dict().get("1", {})
        return sorted(scores, key=lambda doc: -scores[doc])

    def start_later(self) -> None:
        """Start building the index in a moment, after the first pages."""
        self._start(START_DELAY)

    def start(self) -> None:
        """Start building the index in the background, if it is missing."""
        self._hurry.set()
        self._start()

    def _start(self, delay: float = 0.0) -> None:
        with self._lock:
            if self._thread is None and not self.problem and not self._exists():
                self._thread = threading.Thread(target=self._build, args=(delay,), daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until the index is built."""
        if self._thread is not None:
            self._thread.join(seconds)

    def close(self) -> None:
        """Stop building the index; it is built from the start another time."""
        with self._lock:
            self.problem = self.problem or "the server is stopping."
            worker = self._worker
        self._hurry.set()
        if worker is not None:
            worker.close()

    def _exists(self) -> bool:
        return any((place / "index.json").exists() for place in (self._workspace_index, self._own_index))

    def _open(self) -> Index | None:
        """The index of the workspace, else the one built here."""
        if self._index is None and (self._workspace_index / "index.json").exists():
            self._index = Index.open(self._workspace_index)
        if self._index is None and (self._own_index / "index.json").exists():
            try:
                self._index = Index.open(self._own_index)
            except InputError:  # it is built again
                shutil.rmtree(self._own_index, ignore_errors=True)
        return self._index

    def _build(self, delay: float) -> None:
        self._hurry.wait(delay)
        if self.problem:
            return
        into = self._own_index.parent / f"tmp-{os.getpid()}-{time.time_ns()}"
        try:
            answer = self._run_worker(into)
            if "error" in answer:
                raise CranfieldError(answer["error"])
            with suppress(OSError):  # another server was faster
                os.rename(into / "index", self._own_index)
            if self._open() is None:
                raise CranfieldError("the index cannot be read.")
        except (CranfieldError, OSError) as error:
            self.problem = self.problem or f"the search index could not be built: {error}"
        finally:
            shutil.rmtree(into, ignore_errors=True)
            self._delete_old()

    def _run_worker(self, into: Path) -> dict[str, Any]:
        """Build the index in another process; returns its answer."""
        task = {"kind": "index", "settings": self._settings, "outputs": ["index"], "into": str(into.absolute())}
        with WorkerPool(self.folder, 1, nice=NICE) as worker:
            with self._lock:
                if self.problem:
                    return {"error": self.problem}
                self._worker = worker
                worker.submit(task)
            return worker.next_result()[1]

    def _delete_old(self) -> None:
        """Delete indexes of earlier versions of the documents, and unfinished ones of killed servers."""
        with suppress(OSError):
            for place in self._own_index.parent.iterdir():
                is_old = time.time() - place.stat().st_mtime > MAX_AGE
                if place != self._own_index and (is_old or not place.name.startswith("tmp-")):
                    shutil.rmtree(place, ignore_errors=True)


def _settings(collection: Collection) -> dict[str, Any]:
    """The settings of an experiment's index, without stemming if the stemmer is not installed."""
    settings = index_settings(collection)
    try:
        Analysis(settings["stemmer"], settings["stop_words"])
    except MissingExtra:
        settings["stemmer"] = "none"
    return settings
