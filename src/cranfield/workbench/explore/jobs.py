"""Long computations in threads: started once, waited for briefly, with progress."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
MAX_FINISHED = 6  # results held in memory


class StillRunning(Exception):
    """The result is still being computed."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.what)
        self.what, self.done, self.of = job.what, job.done, job.of
        self.partial = job.partial


class Job:
    """A computation and its progress."""

    def __init__(self) -> None:
        self.what = ""
        self.done = 0
        self.of = 0
        self.partial: Any = None  # the part of the result that can be shown already
        self.finished = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def watch(self, items: Iterable[T], of: int, what: str) -> Iterator[T]:
        """Yield the items and count them."""
        self.what, self.done, self.of = what, 0, of
        for item in items:
            yield item
            self.done += 1

    def run(self, work: Callable[[Job], Any]) -> None:
        try:
            self.result = work(self)
        except BaseException as error:  # raised in the waiting threads
            self.error = error
        finally:
            self.finished.set()


class Jobs:
    """All running computations; each one is started only once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()

    def result(self, key: Hashable, work: Callable[[Job], T], timeout: float) -> T:
        """The result of a computation; raises `StillRunning` if it takes longer than the timeout in seconds."""
        job = self.start(key, work)
        if not job.finished.wait(timeout):
            raise StillRunning(job)
        if job.error is not None:
            with self._lock, suppress(KeyError):
                del self._jobs[key]  # the next call tries again
            raise job.error
        result: T = job.result
        return result

    def start(self, key: Hashable, work: Callable[[Job], Any]) -> Job:
        """Start a computation, unless it was started before."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                job = self._jobs[key] = Job()
                threading.Thread(target=job.run, args=(work,), daemon=True).start()
            self._jobs.move_to_end(key)
            self._drop_finished()
        return job

    def _drop_finished(self) -> None:
        finished = [key for key, job in self._jobs.items() if job.finished.is_set()]
        for key in finished[: max(0, len(finished) - MAX_FINISHED)]:
            del self._jobs[key]
