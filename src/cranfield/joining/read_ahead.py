"""Reading ahead: qrels and a run are read and joined by other threads while the rest of the program is loaded.

Only a command line knows early enough what it will read, and what it reads ahead is used where the same would be read
anyway; nothing else changes. To load NumPy takes as long as to join 60 MB of a run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from cranfield.base import core, sort_judgments
from cranfield.errors import CranfieldError
from cranfield.io import Input
from cranfield.joining.parallel import TIES, NotContiguous, NotPlain, Part, joined_parts, joins

SWITCH = 0.0005  # seconds after which a thread that loads modules lets others go on


class _Ahead:
    """What is being read: judgments, then the parts of a run that is joined with them."""

    def __init__(self, qrels: str, run: str | None, ties: str, single: bool, jobs: int) -> None:
        self.qrels, self.run = qrels, run
        self.ties, self.single, self.jobs = ties, single, jobs
        self.judgments: Any = None
        self.parts: list[Part] | None = None
        self.failure: Exception | None = None
        self.has_judgments, self.has_parts = Event(), Event()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            with Input(self.qrels) as source:
                judgments = core.read_judgments(source.read())
            self.judgments = None if judgments is None else sort_judgments(judgments)
            self.has_judgments.set()
            if self.judgments is not None and self.run is not None:
                with Input(self.run) as source:
                    join = joins(self.judgments, self.ties, self.single)
                    self.parts = list(joined_parts(join, source, self.jobs))
        except (NotPlain, NotContiguous) as failure:
            self.failure = failure
        except (CranfieldError, OSError, MemoryError):
            pass  # it will happen again, where there is somebody to tell
        finally:
            sys.setswitchinterval(before)
            self.has_judgments.set()
            self.has_parts.set()


_reading: _Ahead | None = None


@contextmanager
def reading(qrels: str, runs: Sequence[str], ties: str, rank_by: str, score_type: str, jobs: int) -> Iterator[None]:
    """Begin with what is plain enough to be worth while: files on disk, and of several runs none."""
    global _reading
    if core is not None and os.path.isfile(qrels):
        is_joined = len(runs) == 1 and os.path.isfile(runs[0]) and rank_by == "score" and ties in TIES
        _reading = _Ahead(qrels, runs[0] if is_joined else None, ties, score_type == "float32", jobs)
    try:
        yield
    finally:
        _reading = None


def judgments_of(path: object) -> Any:
    """The judgments of a file as the core has read them, if they were."""
    if _reading is None or path != _reading.qrels:
        return None
    _reading.has_judgments.wait()
    return _reading.judgments


def parts_of(path: object, judgments: Any, ties: str, single: bool) -> list[Part] | None:
    """The parts of a run, if it was joined with these judgments in this way; an exception tells why it could not be."""
    here = _reading
    if here is None or (path, ties, single) != (here.run, here.ties, here.single) or judgments is not here.judgments:
        return None
    here.has_parts.wait()
    if here.failure is not None:
        raise here.failure
    return here.parts
