"""Reading many runs, with several processes: a pool needs whole lists, and reading them takes time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from cranfield.base import OnDuplicate, count_cores
from cranfield.data import Run
from cranfield.errors import InputError
from cranfield.io import read_run

LARGE = 16 << 20  # total size in bytes from which several processes are faster


def read_runs(
    files: Sequence[str], format: str | None = None, on_duplicate: OnDuplicate = "error", jobs: int | None = None
) -> Iterator[Run]:
    """Read the runs in some files, in their order, using several processes if they are large."""
    read = partial(read_run, format=format, on_duplicate=on_duplicate)
    workers = min(jobs or count_cores(), len(files))
    if workers < 2 or "-" in files or sum(os.path.getsize(file) for file in files if os.path.isfile(file)) < LARGE:
        yield from map(read, files)
        return
    # fork is not safe in a process whose libraries have started threads
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        try:
            yield from pool.map(read, files)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def refuse_overwriting_inputs(outputs: Iterable[str | None], inputs: Iterable[str | None]) -> None:
    """Raise an error if an output is one of the files that are read, under whatever name."""
    read = [file for file in inputs if file is not None and os.path.isfile(file)]
    for output in outputs:
        if output is not None and os.path.isfile(output) and any(os.path.samefile(output, file) for file in read):
            raise InputError("this file is an input and would be overwritten: choose another output file.", output)
