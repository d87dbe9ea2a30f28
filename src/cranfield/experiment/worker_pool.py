"""Processes that take steps at the same time; one that dies is a step that failed, and nothing more."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from cranfield.errors import CranfieldError

PATIENCE = 0.5  # seconds that a step waits before it is worth while to start another process for it


class Crew:
    """Up to so many processes, started when there is work for them; `nice` ones stand back behind others."""

    def __init__(self, folder: Path, jobs: int, patience: float = PATIENCE, nice: int = 0) -> None:
        self.folder = folder
        self.jobs = jobs
        self.patience = patience
        self.nice = nice
        self._waiting: deque[dict[str, Any]] = deque()
        self._workers: list[_Worker] = []
        self._heard: queue.SimpleQueue[tuple[_Worker, dict[str, Any] | None]] = queue.SimpleQueue()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()

    def ask(self, task: dict[str, Any]) -> None:
        """Have a step taken; the answer comes by `answer`."""
        self._waiting.append(task)
        self._hand_out()

    def answer(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """A task and its answer; waits for one."""
        while True:
            self._hand_out()
            try:
                worker, heard = self._heard.get(timeout=max(0.05, self.patience) if self._waiting else None)
            except queue.Empty:
                continue
            if heard is not None and "ready" in heard:
                worker.since = time.monotonic()
                continue
            task, worker.task = worker.task, None
            if heard is None:
                self._workers.remove(worker)
                heard = {"error": worker.ended()}
            if task is not None:
                return task, heard

    def _hand_out(self) -> None:
        while self._waiting:
            worker = next((worker for worker in self._workers if worker.task is None), None)
            if worker is None:
                if self._workers and (len(self._workers) >= self.jobs or not self._is_worth_while()):
                    return
                worker = _Worker(self.folder, self._heard, self.nice)
                self._workers.append(worker)
            worker.take(self._waiting.popleft())

    def _is_worth_while(self) -> bool:
        """Whether every process is busy with something that takes its time."""
        now = time.monotonic()
        return self.patience == 0 or all(w.since is not None and now - w.since > self.patience for w in self._workers)


class _Worker:
    """A process, and what it is busy with."""

    def __init__(
        self, folder: Path, heard: queue.SimpleQueue[tuple[_Worker, dict[str, Any] | None]], nice: int = 0
    ) -> None:
        self.task: dict[str, Any] | None = None
        self.since: float | None = None  # when it was ready for, or given, what it is busy with
        # -P: what lies in the folder is no module of ours
        command = [sys.executable, "-P", "-m", "cranfield.experiment.worker"]
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=_environment()
            )
        except OSError as error:
            raise CranfieldError(f"{sys.executable} cannot be started: {error.strerror or error}.") from None
        if nice:
            with suppress(OSError, AttributeError):  # not everywhere; then it is as any other
                os.setpriority(os.PRIO_PROCESS, self.process.pid, nice)
        self.listener = threading.Thread(target=self._listen, args=(heard,), daemon=True)
        self.listener.start()

    def take(self, task: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.task = task
        self.since = None if self.since is None else time.monotonic()
        try:
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return  # it is gone, which is heard soon

    def ended(self) -> str:
        """How a process ended that should not have."""
        code = self.process.wait()
        self.end()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        hint = ", perhaps for want of memory" if code == -9 else ""
        return f"the process that made this {how}{hint}."

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.listener.join()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            try:
                stream.close()
            except OSError:
                continue

    def _listen(self, heard: queue.SimpleQueue[tuple[_Worker, dict[str, Any] | None]]) -> None:
        assert self.process.stdout is not None
        try:
            for line in self.process.stdout:
                heard.put((self, json.loads(line)))
        except ValueError:  # closed, or a line cut off
            pass
        heard.put((self, None))


def _environment() -> dict[str, str]:
    """The environment of a process that runs in another folder, and whose results hang on its input alone."""
    there = dict(os.environ)
    if "PYTHONPATH" in there:
        there["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, there["PYTHONPATH"].split(os.pathsep)))
    # several threads would add in another order, and so change last digits
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return there | threads | {"PYTHONHASHSEED": "0"}
