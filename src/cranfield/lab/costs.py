"""What a command costs: time, memory and disk, measured from outside; and what it was measured on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from cranfield.errors import CranfieldError, InputError

POLL = 0.02  # seconds between two looks at the disk


@dataclass(frozen=True)
class Cost:
    """Seconds of the clock and of the processor, and the most bytes of memory and of disk in use at a time."""

    wall: float
    cpu: float
    memory: int
    disk: int


@dataclass(frozen=True)
class Indexing:
    """What it takes to index a collection, and what comes out."""

    documents: int
    text_bytes: int
    index_bytes: int
    cost: Cost

    @property
    def documents_per_second(self) -> float:
        return self.documents / self.cost.wall

    @property
    def megabytes_per_second(self) -> float:
        return self.text_bytes / 1e6 / self.cost.wall

    @property
    def bytes_per_document(self) -> float:
        return self.index_bytes / self.documents if self.documents else 0.0

    @property
    def ratio_to_text(self) -> float:
        return self.index_bytes / self.text_bytes if self.text_bytes else 0.0

    @property
    def temporary_bytes(self) -> int:
        """The most that was on disk beyond the index itself."""
        return max(0, self.cost.disk - self.index_bytes)


def cost_of(command: Sequence[str], watched: Iterable[Path] = (), environment: dict[str, str] | None = None) -> Cost:
    """Run a command to its end and say what it took; folders are watched for what it writes."""
    watched = list(watched)
    before = sum(map(size_of, watched))
    most, stop = [0], Event()

    def watch() -> None:
        while not stop.wait(POLL):
            most[0] = max(most[0], sum(map(size_of, watched)) - before)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    with tempfile.TemporaryDirectory() as folder:
        report, errors = Path(folder) / "cost", Path(folder) / "errors"
        with errors.open("wb") as stream:
            launched = [sys.executable, "-I", "-S", "-c", _LAUNCH, str(report), *command]
            ended = subprocess.run(
                launched, stdout=subprocess.DEVNULL, stderr=stream, env={**os.environ, **(environment or {})}
            )
        stop.set()
        watcher.join()
        if ended.returncode:
            said = errors.read_text(errors="replace").strip().splitlines()
            raise CranfieldError(f"{command[0]} ended with {ended.returncode}: {said[-1] if said else 'no message'}")
        wall, cpu, memory = map(float, report.read_text().split())
    disk = max(most[0], sum(map(size_of, watched)) - before)
    # kilobytes on Linux, bytes on macOS
    scale = 1 if platform.system() == "Darwin" else 1024
    return Cost(wall, cpu, int(memory) * scale, disk)


# a process begins with the maximum of the one that starts it, so that this one is as small as Python can be
_LAUNCH = """
import os, sys, time
started = time.perf_counter()
process = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(process, 0)
seconds = time.perf_counter() - started
with open(sys.argv[1], "w") as report:
    report.write(f"{seconds!r} {used.ru_utime + used.ru_stime!r} {used.ru_maxrss}")
sys.exit(os.waitstatus_to_exitcode(status))
"""


def indexing_cost(command: Sequence[str], index: Path, documents: int, text_bytes: int) -> Indexing:
    """What a command takes that writes an index."""
    with tempfile.TemporaryDirectory(prefix="cranfield-bench-") as temporary:
        cost = cost_of(command, [index.parent, Path(temporary)], {"TMPDIR": temporary})
    if not index.exists():
        raise InputError("the command has written no index.", str(index))
    return Indexing(documents, text_bytes, size_of(index), cost)


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files of a folder; what vanishes meanwhile has none."""
    if path.is_file():
        return _bytes(path)
    return sum(_bytes(Path(folder) / name) for folder, _, names in os.walk(path) for name in names)


def hardware() -> dict[str, Any]:
    """The machine, as far as it tells: processor, cores, memory, system, Python."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def as_record(indexing: Indexing) -> dict[str, Any]:
    """All figures of an indexing, by name."""
    derived = ("documents_per_second", "megabytes_per_second", "bytes_per_document", "ratio_to_text", "temporary_bytes")
    return {**asdict(indexing), **{name: getattr(indexing, name) for name in derived}}


def _bytes(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
