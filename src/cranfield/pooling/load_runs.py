"""Reading many runs, several at a time: a pool needs whole lists, which one processor takes long to read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from cranfield.base import OnDuplicate, count_cores
from cranfield.data import Run
from cranfield.errors import InputError
from cranfield.io import read_run

LARGE = 16 << 20  # bytes in all, below which one process is quicker


def read_runs(
    files: Sequence[str], format: str | None = None, on_duplicate: OnDuplicate = "error", jobs: int | None = None
) -> Iterator[Run]:
    """The runs of some files, in their order; large ones are read by several processes."""
    read = partial(read_run, format=format, on_duplicate=on_duplicate)
    workers = min(jobs or count_cores(), len(files))
    if workers < 2 or "-" in files or _size(files) < LARGE:
        yield from map(read, files)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # not by fork, which is not safe where libraries have threads
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        try:
            yield from pool.map(read, files)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def require_apart(outputs: Iterable[str | None], inputs: Iterable[str | None]) -> None:
    """An error if a file that is read would be written over, by whatever name."""
    read = [file for file in inputs if file is not None and os.path.isfile(file)]
    for output in outputs:
        if output is not None and os.path.isfile(output) and any(os.path.samefile(output, file) for file in read):
            raise InputError("this file is read, and would be written over: name another for the output.", output)


def _size(files: Sequence[str]) -> int:
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file))
