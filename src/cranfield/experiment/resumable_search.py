"""Asking an engine, which may fail or be slow: what it has answered is kept, and asked no second time."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from cranfield.data import Run
from cranfield.errors import CranfieldError
from cranfield.experiment.fingerprints import KEPT
from cranfield.io import open_output
from cranfield.lab import Engine, SearchFailed, as_run

AT_ONCE = 50  # queries between two times that answers are kept


class Progress:
    """How far an engine has got with a step: whether it has the documents, and its answers so far."""

    def __init__(self, file: Path, key: str) -> None:
        self.file = file
        self.key = key
        self.indexed = False
        self.found: dict[str, dict[str, float]] = {}

    @classmethod
    def of(cls, task: Mapping[str, Any]) -> Progress:
        """What is kept of an earlier attempt at the same step, if anything is."""
        same = json.dumps([task["settings"], task["inputs"]], sort_keys=True)
        progress = cls(Path(KEPT, "answers", f"{task['outputs'][0]}.json"), hashlib.sha256(same.encode()).hexdigest())
        try:
            kept = json.loads(progress.file.read_text())
        except (OSError, ValueError):
            return progress
        if kept["key"] == progress.key and not task["force"]:
            progress.indexed, progress.found = kept["indexed"], kept["found"]
        return progress

    def keep(self, indexed: bool = True) -> None:
        self.indexed = indexed
        content = {"key": self.key, "indexed": indexed, "found": self.found}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with open_output(self.file) as out:
            out.write(json.dumps(content).encode())

    def answered(self, engine: Engine, queries: Mapping[str, str], depth: int, name: str) -> Run:
        """The answers to all queries, some at a time; those that came before one fails are kept."""
        while rest := {query: text for query, text in queries.items() if query not in self.found}:
            try:
                self._add(engine.search(dict(islice(rest.items(), AT_ONCE)), depth))
            except SearchFailed as error:
                self._add(error.found)
                self.keep()
                kept = f"The answers to {len(self.found):,} of {len(queries):,} are kept."
                raise CranfieldError(f"{error} {kept}") from None
            self.keep()
        self._forget()
        return as_run(name, {query: list(self.found[query].items()) for query in queries})

    def _add(self, run: Run) -> None:
        self.found |= run.to_dict()

    def _forget(self) -> None:
        """With all answers there is a run, and no need of them."""
        self.file.unlink(missing_ok=True)
        for folder in self.file.parents[:-1]:
            try:
                os.rmdir(folder)
            except OSError:
                break
