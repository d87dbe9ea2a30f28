"""Work shared by threads, in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def map_in_threads(work: Callable[[T], R], tasks: Iterable[T], jobs: int) -> Iterator[R]:
    """What work makes of each task, in their order; a few are under way at a time, and none is left running."""
    tasks = iter(tasks)
    first = list(islice(tasks, 2))
    if jobs < 2 or len(first) < 2:
        yield from map(work, chain(first, tasks))
        return
    from queue import SimpleQueue
    from threading import Thread

    # each task with a place for its answer
    todo: SimpleQueue[Any] = SimpleQueue()
    threads = [Thread(target=_serve, args=(work, todo), daemon=True) for _ in range(jobs)]
    waiting: deque[Any] = deque()
    try:
        for thread in threads:
            thread.start()
        for task in chain(first, tasks):
            waiting.append(SimpleQueue())
            todo.put((task, waiting[-1]))
            if len(waiting) > 2 * jobs:
                yield _answer(waiting.popleft())
        while waiting:
            yield _answer(waiting.popleft())
    finally:
        while not todo.empty():
            todo.get()
        for _ in threads:
            todo.put(None)
        for thread in threads:
            thread.join()


def _serve(work: Callable[[Any], Any], todo: Any) -> None:
    while (asked := todo.get()) is not None:
        task, place = asked
        try:
            place.put((work(task), None))
        except BaseException as error:
            place.put((None, error))


def _answer(place: Any) -> Any:
    value, error = place.get()
    if error is not None:
        raise error
    return value


def count_cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
