"""How long leave-one-run-out takes: 100 runs × 250 topics × depth 100, each run left out in turn, all evaluated again.

    python -m benchmarks.leave_one_out [--runs 100] [--topics 250] [--depth 100] [-m nDCG@10 -m AP]

Runs are made up: each is the true worth of documents and noise of its own, so that good documents are found by many
runs and hundreds of others by one alone; everything in the pool is judged.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np

from cranfield.data.collection import Qrels, Run
from cranfield.pooling.contributions import PooledRuns, count_run_contributions
from cranfield.pooling.reusability import leave_out


def main() -> None:
    options = _options()
    runs = list(made_up_runs(options.runs, options.topics, options.depth, options.seed))
    qrels = judged_pool(runs, options.seed)
    print(f"{len(runs)} runs, {options.topics} topics, depth {options.depth}: {len(qrels):,} judgments")
    started = time.perf_counter()
    pooled = PooledRuns.of(qrels, runs, depth=options.depth)
    joined = time.perf_counter()
    found = leave_out(pooled, options.measures or ["nDCG@10", "AP"])
    ended = time.perf_counter()
    unique = sum(one.unique for one in count_run_contributions(pooled))
    print(f"documents that one run alone has: {unique:,}")
    print(f"joined and pooled: {joined - started:.1f} s")
    print(f"left out one by one: {ended - joined:.1f} s")
    for standing in found.of_runs:
        print(f"{standing.measure}: mean change {standing.mean_change:.4f}, lowest tau {standing.lowest_tau}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--topics", type=int, default=250)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-m", dest="measures", action="append")
    return parser.parse_args()


def made_up_runs(runs: int, topics: int, depth: int, seed: int) -> Iterator[Run]:
    """Runs that agree on what is good and differ in the rest."""
    rng = np.random.default_rng(seed)
    size = 20 * depth
    worth = rng.exponential(1.0, (topics, size))
    docs = np.array([f"d{j:06}" for j in range(size)], dtype=object)
    for r in range(runs):
        scores = worth + rng.normal(0, 0.5 + 1.5 * r / runs, worth.shape)
        best = np.argsort(-scores, axis=1)[:, :depth]
        yield Run.from_rows(
            [f"{t + 1}" for t in range(topics) for _ in range(depth)],
            docs[best].ravel(),
            np.take_along_axis(scores, best, axis=1).ravel(),
            name=f"run{r:03}",
        )


def judged_pool(runs: list[Run], seed: int) -> Qrels:
    """Everything that some run retrieved, with a grade that goes with how many runs have it."""
    rng = np.random.default_rng(seed + 1)
    found: dict[str, dict[str, int]] = {}
    for run in runs:
        for i, query in enumerate(run.queries):
            counts = found.setdefault(query, {})
            for doc in run.docs[run.rows_of(i)].tolist():
                counts[doc] = counts.get(doc, 0) + 1
    rows = [(query, doc, n) for query, counts in found.items() for doc, n in counts.items()]
    share = np.array([n for *_, n in rows]) / len(runs)
    grades = np.where(rng.random(len(rows)) < 0.02 + 0.6 * share, rng.integers(1, 4, len(rows)), 0)
    return Qrels.from_rows([query for query, *_ in rows], [doc for _, doc, _ in rows], grades.astype(np.float64))


if __name__ == "__main__":
    main()
