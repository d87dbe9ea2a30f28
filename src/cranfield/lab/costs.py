"""What a command costs: time, memory and disk, measured from outside; and what it was measured on."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cranfield.base import Record, as_dict
from cranfield.errors import CranfieldError, InputError
from cranfield.lab.energy import Joules

POLL = 0.02  # seconds between two looks at memory and disk


class Cost(Record):
    """Seconds of the clock and of the processor, and the most bytes of memory and of disk in use at a time.

    Memory and processor are those of a process with all that it starts; the disk is None where it cannot be watched.
    """

    wall: float
    cpu: float
    memory: int
    disk: int | None


class Indexing(Record):
    """What it takes to index a collection, and what comes out."""

    documents: int
    text_bytes: int
    index_bytes: int | None  # None where an engine does not tell
    cost: Cost
    engine: str = "embedded"
    version: str = ""
    joules: Joules | None = None  # if they were asked for

    @property
    def documents_per_second(self) -> float:
        return self.documents / self.cost.wall

    @property
    def megabytes_per_second(self) -> float:
        return self.text_bytes / 1e6 / self.cost.wall

    @property
    def bytes_per_document(self) -> float | None:
        return _share(self.index_bytes, self.documents)

    @property
    def ratio_to_text(self) -> float | None:
        return _share(self.index_bytes, self.text_bytes)

    @property
    def temporary_bytes(self) -> int | None:
        """The most that was on disk beyond the index itself."""
        if self.cost.disk is None or self.index_bytes is None:
            return None
        return max(0, self.cost.disk - self.index_bytes)


def cost_of(command: Sequence[str], watched: Iterable[Path] = (), environment: dict[str, str] | None = None) -> Cost:
    """Run a command to its end and say what it took; folders are watched for what it writes."""
    cost, _ = cost_and_words(command, watched, environment)
    return cost


def cost_and_words(
    command: Sequence[str], watched: Iterable[Path] = (), environment: dict[str, str] | None = None
) -> tuple[Cost, str]:
    """The same, with what the command has said on standard error."""
    watched = [path.resolve() for path in watched]
    before = sum(map(size_of, watched))
    with tempfile.TemporaryDirectory() as folder:
        report, errors = Path(folder) / "cost", Path(folder) / "errors"
        with errors.open("wb") as stream:
            launched = [sys.executable, "-I", "-S", "-c", _LAUNCH, str(report), *command]
            process = subprocess.Popen(
                launched, stdout=subprocess.DEVNULL, stderr=stream, env={**os.environ, **(environment or {})}
            )
            with process:
                try:
                    most_memory, most_disk = _watched(process, watched)
                except BaseException:
                    _ended([*descendants(process.pid), process.pid])
                    process.wait()  # `with` would give it a quarter of a second after Ctrl-C
                    raise
        said = errors.read_text(errors="replace").strip()
        if process.returncode:
            last = said.splitlines()[-1] if said else "no message"
            raise CranfieldError(f"{command[0]} ended with {process.returncode}: {last}")
        wall, cpu, memory = map(float, report.read_text().split())
    disk = max(most_disk, sum(map(size_of, watched))) - before
    # kilobytes on Linux, bytes on macOS
    scale = 1 if platform.system() == "Darwin" else 1024
    return Cost(wall, cpu, max(int(memory) * scale, most_memory), disk), said


def _watched(process: subprocess.Popen[bytes], folders: Sequence[Path]) -> tuple[int, int]:
    """The most memory that a process and its children have together, and the most on disk, until it ends."""
    memory = disk = 0
    while True:
        try:
            process.wait(POLL)
            return memory, disk
        except subprocess.TimeoutExpired:
            below = descendants(process.pid)
            # of a single process the system itself keeps the maximum
            if len(below) > 1:
                memory = max(memory, sum(map(_own_memory, below)))
            disk = max(disk, sum(map(size_of, folders)) + sum(_unlinked(one, folders) for one in below))


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


def indexing_cost(
    command: Sequence[str], index: Path, documents: int, text_bytes: int, engine: str = "embedded", version: str = ""
) -> Indexing:
    """What a command takes that writes an index."""
    with tempfile.TemporaryDirectory(prefix="cranfield-bench-") as temporary:
        cost = cost_of(command, [index.parent, Path(temporary)], {"TMPDIR": temporary, "SQLITE_TMPDIR": temporary})
    if not index.exists():
        raise InputError("the command has written no index.", str(index))
    return Indexing(documents, text_bytes, size_of(index), cost, engine, version)


def descendants(process: int) -> list[int]:
    """The processes that a process has started, and those that these have; none where the system does not tell."""
    found: list[int] = []
    left = [process]
    while left:
        parent = left.pop()
        try:
            children = [
                int(child)
                for task in os.listdir(f"/proc/{parent}/task")
                for child in Path(f"/proc/{parent}/task/{task}/children").read_text().split()
            ]
        except OSError:  # it has ended meanwhile, or this is no Linux
            continue
        found += children
        left += children
    return found


def _ended(processes: Iterable[int]) -> None:
    for one in processes:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def _own_memory(process: int) -> int:
    """The bytes of memory of a process; what it shares with others it has in part."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def _unlinked(process: int, folders: Sequence[Path]) -> int:
    """The bytes of files in some folders that have no name any more, but are still open."""
    size = 0
    try:
        files = [f"/proc/{process}/fd/{number}" for number in os.listdir(f"/proc/{process}/fd")]
    except OSError:  # it has ended, or this is no Linux
        return 0
    for file in files:
        try:
            name = os.readlink(file)
            if name.endswith(" (deleted)") and any(folder in Path(name).parents for folder in folders):
                size += os.stat(file).st_size
        except OSError:  # it is closed by now
            continue
    return size


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files of a folder; what vanishes meanwhile has none."""
    if path.is_file():
        return _bytes(path)
    return sum(_bytes(Path(folder) / name) for folder, _, names in os.walk(path) for name in names)


def hardware(engines: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The machine, as far as it tells: processor, cores, memory, system; and the versions of what was measured."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": _memory(),
        "system": _system(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "cranfield": version("cranfield"),
        "engines": dict(engines or {}),
    }


def as_record(indexing: Indexing) -> dict[str, Any]:
    """All figures of an indexing, by name."""
    derived = ("documents_per_second", "megabytes_per_second", "bytes_per_document", "ratio_to_text", "temporary_bytes")
    return {**as_dict(indexing), **{name: getattr(indexing, name) for name in derived}}


def _bytes(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _share(part: int | None, whole: int) -> float | None:
    if part is None:
        return None
    return part / whole if whole else 0.0


def _system() -> str:
    name = f"{platform.system()} {platform.release()}"
    try:
        return f"{name} ({platform.freedesktop_os_release()['PRETTY_NAME']})"
    except (OSError, KeyError, AttributeError):
        return name


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory() -> int | None:
    """The bytes of memory: of the machine, or of the container if that has less."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            return min(there, int(Path(limit).read_text()))
        except (OSError, ValueError):  # no such file, or 'max'
            continue
    return there
