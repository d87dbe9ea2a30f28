"""How long it takes to pool 100 runs of 250 topics to depth 100, from files to files: `python -m benchmarks.pooling`.

What is measured is the command as a user calls it: reading, pooling, comparing the runs, writing the pool and its
provenance. The runs differ much: a topic's pool has some 3,000 documents.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measuring import measure_process


def write_runs(folder: Path, runs: int, topics: int, depth: int, seed: int = 1) -> list[str]:
    """Runs that draw documents of each topic with chances that fall like those of words."""
    chance = np.random.default_rng(seed)
    chances = 1 / np.arange(20.0, 20.0 + 50 * depth)
    chances /= chances.sum()
    files = []
    for number in range(runs):
        lines = []
        for topic in range(1, topics + 1):
            docs = chance.choice(len(chances), depth, replace=False, p=chances).tolist()
            lines += [f"{topic} Q0 D{topic:03}-{doc:05} {i + 1} {depth - i} r{number}\n" for i, doc in enumerate(docs)]
        files.append(str(folder / f"r{number:03}.run"))
        Path(files[-1]).write_text("".join(lines))
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("runs", 100), ("topics", 250), ("depth", 100), ("repeat", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write_runs(Path(folder), options.runs, options.topics, options.depth)
        pool = Path(folder) / "pool.jsonl"
        own = [sys.executable, "-m", "cranfield", "pool", *files, "--depth", str(options.depth), "-o", str(pool)]
        taken = [measure_process(own) for _ in range(options.repeat)]
        documents = sum(1 for _ in pool.open()) - 1
    seconds = sorted(one.seconds for one in taken)
    size = f"{options.runs} runs × {options.topics} topics × depth {options.depth}"
    print(f"{size}: {documents:,} documents pooled in {seconds[0]:.1f} s (median {seconds[len(seconds) // 2]:.1f} s)")


if __name__ == "__main__":
    main()
