"""Wall time and peak memory, of calls and of processes that take turns."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LAUNCH = Path(__file__).parent / "launch.py"
Sums = Mapping[str, float]  # of a measure's values over all queries


@dataclass(frozen=True)
class Measurement:
    """How long something took, the most memory it had (where that is known), and what it found."""

    seconds: float
    memory: int | None = None
    sums: Sums = field(default_factory=dict)


def take_turns(
    tasks: Mapping[str, Callable[[], Measurement]], repeat: int, patience: float
) -> dict[str, list[Measurement]]:
    """Measure each task in turn, so that noise hits all alike.

    The first turn is to warm up, and counts for those only that are too slow for another: a task is not begun again
    once it has taken `patience` seconds in all.
    """
    taken: dict[str, list[Measurement]] = {name: [] for name in tasks}
    for _ in range(repeat + 1):
        for name, task in tasks.items():
            if sum(one.seconds for one in taken[name]) < patience:
                taken[name].append(task())
    return {name: measurements[1:] or measurements for name, measurements in taken.items()}


def measure_call(work: Callable[[], Sums], at_least: float = 0.05) -> Measurement:
    """The mean time of a call, made as often as fits in so many seconds, and at least once."""
    gc.collect()
    calls, started = 0, time.perf_counter()
    while True:
        sums = work()
        calls += 1
        taken = time.perf_counter() - started
        if taken >= at_least:
            return Measurement(taken / calls, sums=sums)


def measure_process(
    command: Sequence[str], environment: Mapping[str, str] | None = None, read: Callable[[str], Sums] | None = None
) -> Measurement:
    """Time and memory of a process; what it prints is thrown away, unless there is a function to read it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(LAUNCH), str(report), *command],
            stdout=subprocess.PIPE if read else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)[:500]}\nended with {done.returncode}:\n{done.stderr}")
        seconds, memory = report.read_text().split()
    # kilobytes, but bytes on macOS; mapped pages of files are counted, and of several processes the largest
    unit = 1 if sys.platform == "darwin" else 1024
    return Measurement(float(seconds), int(memory) * unit, read(done.stdout) if read else {})
