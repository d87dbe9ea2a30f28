"""Reading ahead: threads read qrels and join a run with them while the rest of the program is still being imported.

A command knows from its arguments what it will read. It starts a `ReadAhead`, and hands it to what would read the same
files: `judgments` to `read_qrels`, the rest to `join_run`. Importing NumPy takes as long as joining a run of 60 MB.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from threading import Event, Thread
from typing import Any

from cranfield.base import core, sort_judgments
from cranfield.errors import CranfieldError
from cranfield.io import Input
from cranfield.joining.parallel import NotContiguous, NotPlain, Part, core_join, join_parts
from cranfield.joining.ties import TIE_RULES

SWITCH = 0.0005  # seconds after which the thread that imports modules lets others run


class ReadAhead:
    """Qrels and a run being read by threads: first the judgments, then the parts of the run joined with them."""

    def __init__(self, qrels: str, run: str | None, ties: str, single: bool, jobs: int) -> None:
        self.qrels, self.run = qrels, run
        self.ties, self.single, self.jobs = ties, single, jobs
        self._judgments: Any = None
        self._parts: list[Part] | None = None
        self._failure: Exception | None = None
        self._has_judgments, self._has_parts = Event(), Event()
        Thread(target=self._read, daemon=True).start()

    @classmethod
    def start(cls, qrels: str, runs: Sequence[str], options: Mapping[str, Any], jobs: int) -> ReadAhead | None:
        """Start with the files that are worth it: qrels on disk, and the run if there is only one.

        `options` has the command's `ties`, `rank_by` and `score_type`.
        """
        if core is None or not os.path.isfile(qrels):
            return None
        ties = options["ties"]
        is_streamable = options["rank_by"] == "score" and TIE_RULES[ties].core_code is not None
        run = runs[0] if len(runs) == 1 and os.path.isfile(runs[0]) and is_streamable else None
        return cls(qrels, run, ties, options["score_type"] == "float32", jobs)

    def judgments(self) -> Any:
        """The qrels as the core has read them; None if they are not plain TREC qrels."""
        self._has_judgments.wait()
        return self._judgments

    def parts(self, judgments: Any) -> list[Part] | None:
        """The run joined with these judgments, or None if it was not; raises what the join raised."""
        if self.run is None or judgments is not self.judgments():
            return None
        self._has_parts.wait()
        if self._failure is not None:
            raise self._failure
        return self._parts

    def _read(self) -> None:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            with Input(self.qrels) as source:
                judgments = core.read_judgments(source.read())
            self._judgments = None if judgments is None else sort_judgments(judgments)
            self._has_judgments.set()
            if self._judgments is not None and self.run is not None:
                with Input(self.run) as source:
                    join = core_join(self._judgments, self.ties, self.single)
                    self._parts = list(join_parts(join, source, self.jobs))
        except (NotPlain, NotContiguous) as failure:
            self._failure = failure
        except (CranfieldError, OSError, MemoryError):
            pass  # reading the file again raises it where it can be reported
        finally:
            sys.setswitchinterval(interval)
            self._has_judgments.set()
            self._has_parts.set()
