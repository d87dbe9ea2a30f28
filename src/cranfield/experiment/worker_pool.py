"""Processes that run steps in parallel. A process that dies fails its step and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

from cranfield.errors import CranfieldError

DELAY = 0.5  # seconds that a step waits before another process is started for it

Task = dict[str, Any]
Result = dict[str, Any]


class WorkerPool:
    """Up to `jobs` processes, one started when the others have been busy for `delay`; `nice` lowers their priority."""

    def __init__(self, folder: Path, jobs: int, delay: float = DELAY, nice: int = 0) -> None:
        self.folder = folder
        self.jobs = jobs
        self.delay = delay
        self.nice = nice
        self._threads = ThreadPoolExecutor(jobs)  # each waits for a process
        self._waiting: deque[Task] = deque()
        self._running: dict[Future[Result], tuple[Task, _Worker]] = {}
        self._workers: list[_Worker] = []

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, task: Task) -> None:
        """Run a step as soon as a process is free; `next_result` tells what became of it."""
        self._waiting.append(task)
        self._dispatch()

    def next_result(self) -> tuple[Task, Result]:
        """Wait until a step ends."""
        done: set[Future[Result]] = set()
        while not done:
            self._dispatch()
            timeout = max(0.05, self.delay) if self._waiting else None
            done = wait(self._running, timeout, FIRST_COMPLETED).done
        first = next(future for future in self._running if future in done)
        task, worker = self._running.pop(first)
        if worker.process.returncode is not None:
            self._workers.remove(worker)
            worker.close()
        return task, first.result()

    def close(self) -> None:
        """Kill the processes, whatever they are doing."""
        for worker in self._workers:
            worker.process.kill()
        self._threads.shutdown()
        for worker in self._workers:
            worker.close()

    def _dispatch(self) -> None:
        while self._waiting and (worker := self._free_worker()):
            task = self._waiting.popleft()
            self._running[self._threads.submit(worker.run, task)] = task, worker

    def _free_worker(self) -> _Worker | None:
        busy = [worker for _, worker in self._running.values()]
        for worker in self._workers:
            if worker not in busy:
                return worker
        if self._workers and (len(busy) >= self.jobs or not all(worker.is_busy_for(self.delay) for worker in busy)):
            return None
        self._workers.append(_Worker(self.folder, self.nice))
        return self._workers[-1]


class _Worker:
    def __init__(self, folder: Path, nice: int) -> None:
        self.since: float | None = None  # when its step was begun; none before it can run any
        # -P: files in the folder are not imported as modules
        command = [sys.executable, "-P", "-m", "cranfield.experiment.worker"]
        pipe = subprocess.PIPE
        try:
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=folder, env=_environment())
        except OSError as error:
            raise CranfieldError(f"{sys.executable} cannot be started: {error.strerror or error}.") from None
        if nice:
            with suppress(OSError, AttributeError):  # not on every system
                os.setpriority(os.PRIO_PROCESS, self.process.pid, nice)

    def run(self, task: Task) -> Result:
        assert self.process.stdin is not None and self.process.stdout is not None
        if self.since is None:
            self.process.stdout.readline()  # the process is ready
        self.since = time.monotonic()
        with suppress(OSError):  # the process is gone: there will be no result
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line.endswith(b"\n"):
            return dict(json.loads(line))
        code = self.process.wait()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        hint = ", perhaps for lack of memory" if code == -9 else ""
        return {"error": f"the process that made this {how}{hint}."}

    def is_busy_for(self, seconds: float) -> bool:
        return seconds == 0 or (self.since is not None and time.monotonic() - self.since > seconds)

    def close(self) -> None:
        with suppress(OSError), self.process:  # a pipe may hold a task that nobody will read
            self.process.kill()


def _environment() -> dict[str, str]:
    """The environment of a process in another folder whose results depend on its input alone."""
    environment = dict(os.environ)
    if "PYTHONPATH" in environment:
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, environment["PYTHONPATH"].split(os.pathsep)))
    # several threads would add in another order, and so change last digits
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return environment | threads | {"PYTHONHASHSEED": "0"}
