"""Work that may take long: begun once, waited for a moment, and told how far it is."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
FINISHED = 6  # results that are kept in memory


class NotYet(Exception):
    """What was asked for is being worked out."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.what)
        self.what, self.done, self.of = job.what, job.done, job.of
        self.so_far = job.so_far


class Job:
    """A piece of work under way."""

    def __init__(self) -> None:
        self.what = ""
        self.done = 0
        self.of = 0
        self.so_far: Any = None  # what can be shown already
        self.over = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def watch(self, items: Iterable[T], of: int, what: str) -> Iterator[T]:
        """The same items, counted as they are taken."""
        self.what, self.done, self.of = what, 0, of
        for item in items:
            yield item
            self.done += 1

    def run(self, work: Callable[[Job], Any]) -> None:
        try:
            self.result = work(self)
        except BaseException as error:  # whoever waits is told
            self.error = error
        finally:
            self.over.set()


class Jobs:
    """Everything that is being worked out; the same thing is begun only once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, Job] = OrderedDict()

    def result(self, key: Hashable, work: Callable[[Job], T], patience: float) -> T:
        """What the work gives; `NotYet` if that takes longer than so many seconds."""
        job = self.begin(key, work)
        if not job.over.wait(patience):
            raise NotYet(job)
        if job.error is not None:
            with self._lock, suppress(KeyError):
                del self._known[key]  # the next one tries again
            raise job.error
        result: T = job.result
        return result

    def begin(self, key: Hashable, work: Callable[[Job], Any]) -> Job:
        """Have something worked out, unless it is already; nobody need wait for it."""
        with self._lock:
            job = self._known.get(key)
            if job is None:
                job = self._known[key] = Job()
                threading.Thread(target=job.run, args=(work,), daemon=True).start()
            self._known.move_to_end(key)
            self._forget()
        return job

    def _forget(self) -> None:
        over = [key for key, job in self._known.items() if job.over.is_set()]
        for key in over[: max(0, len(over) - FINISHED)]:
            del self._known[key]
