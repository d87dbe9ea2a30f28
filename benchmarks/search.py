"""Measure our index beside bm25s: 100,000 made-up documents, 1,000 queries; `python -m benchmarks.search`.

bm25s chooses the best documents with NumPy's argpartition. On some processors, and where most scores are 0, NumPy's
vector instructions make that far slower than plain ones do. So all is measured a second time with these turned off.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.results import US, Row, Target, figures_of, targets_table, times_table

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "benchmarks/search.md", ROOT / "docs/speed.md"
BEGIN, END = "<!-- written by make bench WORKLOADS=S -->", "<!-- end of searching -->"
PACKAGES = ("bm25s", "numba", "numpy", "scipy", "snowballstemmer", "PyStemmer")
INDEX, ONE, TWO, PLAIN = "Indexing", "Searching, one thread", "Searching, two threads", "Searching, plain NumPy"
ABOUT = {
    INDEX: "From texts to an index in memory, on one processor; `saved` is ours with writing it to disk.",
    ONE: "All queries in one call, on one processor. `first time` finds the weights of postings as it goes, which are "
    "otherwise kept from an earlier search; bm25s has found them while indexing.",
    TWO: "The same with two threads for each tool.",
    PLAIN: "One thread, with NumPy's vector instructions turned off for all tools (`NPY_DISABLE_CPU_FEATURES`).",
}
WORKS = {
    "index": "100,000 documents",
    "middling:10": "best 10",
    "middling:1000": "best 1,000",
    "middling:10:terms": "best 10, queries analysed before",
    "middling:1000:terms": "best 1,000, queries analysed before",
    "common:10": "best 10, common words",
    "common:1000": "best 1,000, common words",
}
PATIENCE = 70.0
SEARCHES = [work for work in WORKS if work != "index"]


def _faster(group: str, work: str, at_least: float, than: str = "bm25s") -> Target:
    name = WORKS[work]
    return Target(
        f"{group}: {name}",
        f"time of {than} to ours",
        f"{group} {name} {than}",
        f"{group} {name} {US}",
        at_least=at_least,
    )


TARGETS = (
    _faster(INDEX, "index", 1),
    *(_faster(group, work, 3) for group in (ONE, TWO, PLAIN) for work in ("middling:10", "middling:1000")),
    *(_faster(group, work, 3, "bm25s, numba") for group in (ONE, TWO) for work in ("middling:10", "middling:1000")),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="turns of each tool, after one to warm up")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds after which a tool gets no further turn"
    )
    parser.add_argument("--dry", action="store_true", help="print what was found, and write nothing down")
    options = parser.parse_args()
    measure_and_tell(options.repeat, options.patience, options.dry)


def measure_and_tell(repeat: int, patience: float = PATIENCE, dry: bool = False) -> None:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    told = tell(list(measure(repeat, patience)), load)
    print(told)
    if not dry:
        write(told)


def measure(repeat: int, patience: float) -> Iterator[Row]:
    """Rows of all groups, each measured in a process of its own."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield from _rows(ONE, 1, ["index", *SEARCHES], repeat, patience)
    if processors > 1:
        yield from _rows(TWO, 2, ["middling:10", "middling:1000"], repeat, patience)
    plain = {"NPY_DISABLE_CPU_FEATURES": _vector_instructions(), "PYTHONWARNINGS": "ignore"}
    yield from _rows(PLAIN, 1, SEARCHES, repeat, patience, plain)


def _rows(
    group: str, threads: int, works: Sequence[str], repeat: int, patience: float, more: dict[str, str] | None = None
) -> Iterator[Row]:
    print(f"{group} …", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "benchmarks.searches", str(threads), str(repeat), str(patience), *works]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ, **(more or {})})
    for work, found in json.loads(done.stdout).items():
        for tool, seconds in found.items():
            yield Row(INDEX if work == "index" else group, WORKS[work], tool, tuple(seconds))


def _vector_instructions() -> str:
    """What NumPy uses of this processor beyond what it was built for."""
    numpy_core = import_module("numpy._core._multiarray_umath")
    return " ".join(name for name in numpy_core.__cpu_dispatch__ if numpy_core.__cpu_features__.get(name))


def tell(rows: Sequence[Row], load: float = 0.0) -> str:
    """All tables, each under a heading, and how busy the machine was with other work before."""
    busy = f" Other work was going on (load {load:.1f}), so that ranges are wide: compare within a table." * (
        load > 0.5
    )
    parts = [machine(PACKAGES) + busy]
    for group, about in ABOUT.items():
        if of_group := [row for row in rows if row.group == group]:
            parts += [f"### {group}", about, times_table(of_group)]
    parts += ["### Targets of searching", targets_table(figures_of(rows, {}), TARGETS)]
    return "\n\n".join(parts) + "\n"


def write(told: str) -> None:
    """Put the tables in their file and in the docs."""
    RESULTS.write_text(
        "# Speed of indexing and searching\n\nWritten by `make bench WORKLOADS=S`; what is measured and how is said in "
        f"docs/speed.md.\n\n{told}"
    )
    before, found, rest = PAGE.read_text().partition(BEGIN)
    if found:
        PAGE.write_text(f"{before}{BEGIN}\n\n{told}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
