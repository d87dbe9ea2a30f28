"""Seeded qrels and runs of known sizes, made once and kept in a folder.

`python -m benchmarks.workloads FOLDER NAME...` makes them.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

COLLECTION = 8_000_000  # documents, as many as MS MARCO has passages
STAMP = "made-by"


@dataclass(frozen=True)
class Workload:
    """Sizes of a qrels file and its runs; two workloads with one seed have the same judgments."""

    name: str
    queries: int
    depth: int
    judged: float  # documents per query, on average
    grades: tuple[int, ...]
    runs: int = 1
    seed: str = ""

    @property
    def about(self) -> str:
        """The sizes in words."""
        runs = f"{self.runs} runs of " if self.runs > 1 else ""
        queries = f"{self.queries:,} queries" if self.queries > 1 else "one query"
        return f"{runs}{queries} × {self.depth:,} documents"


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("A", 6980, 1000, 1.1, (1,)),
        Workload("B", 250, 1000, 1250, (0, 1, 2)),
        Workload("C", 54, 1000, 40, (0, 1, 2)),
        Workload("D", 1, 10, 10, (0, 1, 2)),
        Workload("E", 250, 1000, 1250, (0, 1, 2), runs=100, seed="B"),
    )
}


@dataclass(frozen=True)
class Files:
    """Where a workload is."""

    qrels: Path
    runs: tuple[Path, ...]

    @property
    def size(self) -> int:
        """Bytes of the runs."""
        return sum(run.stat().st_size for run in self.runs)


def files_of(workload: Workload, folder: Path) -> Files:
    """The names of a workload's files."""
    numbers = [""] if workload.runs == 1 else [f"-{i:03}" for i in range(workload.runs)]
    return Files(folder / f"{workload.name}.qrels", tuple(folder / f"{workload.name}{i}.run" for i in numbers))


def make_workloads(folder: Path, names: Iterable[str]) -> None:
    """Write the files that are missing, all workloads at once; those of another version of this module are removed."""
    version = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    stamp = folder / STAMP
    if not stamp.exists() or stamp.read_text() != version:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        stamp.write_text(version)
    makers = [subprocess.Popen([sys.executable, "-m", __name__, str(folder), name]) for name in names]
    if any([maker.wait() for maker in makers]):
        raise SystemExit("The workloads could not be made.")


def write_workload(workload: Workload, folder: Path) -> Files:
    """Write the qrels and the runs of a workload, unless they are there."""
    files = files_of(workload, folder)
    _write(files.qrels, qrels_lines(workload))
    for i, run in enumerate(files.runs):
        _write(run, run_lines(workload, i))
    return files


def qrels_lines(workload: Workload) -> Iterator[str]:
    for query in range(1, workload.queries + 1):
        rng = _rng(workload, query, "qrels")
        # 1.1 documents are one, and in a tenth of the queries two
        count = int(workload.judged) + (rng.random() < workload.judged % 1)
        for doc in rng.sample(_pool(workload, query), count):
            yield f"{query} 0 D{doc} {rng.choice(workload.grades)}\n"


def run_lines(workload: Workload, run: int = 0) -> Iterator[str]:
    """Lines by descending score, all scores of a query distinct in float32, so that no tool has to break ties."""
    for query in range(1, workload.queries + 1):
        rng = _rng(workload, query, f"run {run}")
        docs = rng.sample(_pool(workload, query), workload.depth)
        scores = sorted(rng.sample(range(100_000, 400_000), workload.depth), reverse=True)
        for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), 1):
            yield f"{query} Q0 D{doc} {rank} {score / 10_000:.6f} bench\n"


@lru_cache(maxsize=250)
def _pool(workload: Workload, query: int) -> list[int]:
    """The documents that are retrieved for a query or judged: two in five more than a run has."""
    return _rng(workload, query, "pool").sample(range(COLLECTION), workload.depth * 7 // 5)


def _rng(workload: Workload, query: int, what: str) -> random.Random:
    return random.Random(f"{workload.seed or workload.name} {query} {what}")


def _write(path: Path, lines: Iterable[str]) -> None:
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("w") as file:
            file.writelines(lines)
        unfinished.rename(path)


if __name__ == "__main__":
    for asked in sys.argv[2:]:
        write_workload(WORKLOADS[asked], Path(sys.argv[1]))
