"""From run file to per-query scores: this package against its peers, interleaved, on the same files.

Workloads are seeded and generated into a temporary folder; each contender is a fresh process that reads its files
and computes six measures for every query. What counts is the ratio within one run of this script.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

WORKLOADS = {
    "A": (6980, 1000, 1.1, (1,)),
    "B": (250, 1000, 1250.0, (0, 1, 2)),
    "C": (54, 1000, 40.0, (0, 1, 2)),
}
OURS = """
import sys
from cranfield import evaluate
names = ["nDCG@10", "AP", "RR", "P@10", "R@100", "Bpref"]
scores = evaluate(sys.argv[1], sys.argv[2], names, missing="skip")
print(sum(value for name in names for value in scores.per_query(name).values()))
"""
PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as file: qrels = pytrec_eval.parse_qrel(file)
with open(sys.argv[2]) as file: run = pytrec_eval.parse_run(file)
names = {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.100", "bpref"}
results = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
print(sum(value for query in results.values() for value in query.values()))
"""
IR_MEASURES = """
import sys, ir_measures
from ir_measures import nDCG, AP, RR, P, R, Bpref
qrels = ir_measures.read_trec_qrels(sys.argv[1])
run = ir_measures.read_trec_run(sys.argv[2])
names = [nDCG@10, AP, RR, P@10, R@100, Bpref]
print(sum(metric.value for metric in ir_measures.iter_calc(names, qrels, run)))
"""
CONTENDERS = {"cranfield": OURS, "pytrec_eval": PYTREC_EVAL, "ir_measures": IR_MEASURES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", default="BC", help="which of A, B and C (A makes a file of 300 MB)")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("| workload | contender | seconds (median) | spread | × cranfield |")
        print("|---|---|---:|---:|---:|")
        for name in options.workloads:
            files = write_workload(Path(folder), name)
            for row in compared(name, files, options.repeat):
                print(row, flush=True)


def compared(name: str, files: tuple[Path, Path], repeat: int) -> Iterator[str]:
    """Rows of the table for one workload; contenders take turns, so that noise hits all alike."""
    times: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
    sums: dict[str, float] = {}
    for _ in range(repeat):
        for contender, program in CONTENDERS.items():
            started = time.perf_counter()
            out = subprocess.run(
                [sys.executable, "-c", program, *map(str, files)], check=True, capture_output=True, text=True
            )
            times[contender].append(time.perf_counter() - started)
            sums[contender] = float(out.stdout)
    if max(sums.values()) - min(sums.values()) > 1e-6 * max(sums.values()):
        raise SystemExit(f"workload {name}: the contenders disagree: {sums}")
    ours = statistics.median(times["cranfield"])
    for contender, seconds in times.items():
        median, spread = statistics.median(seconds), max(seconds) - min(seconds)
        yield f"| {name} | {contender} | {median:.3f} | {spread:.3f} | {median / ours:.1f} |"


def write_workload(folder: Path, name: str) -> tuple[Path, Path]:
    """A qrels file and a run; scores are distinct in float32, so that tie rules do not matter."""
    queries, depth, judged, grades = WORKLOADS[name]
    rng = random.Random(f"workload {name}")
    qrels, run = folder / f"{name}.qrels", folder / f"{name}.run"
    with qrels.open("w") as judgments, run.open("w") as ranking:
        for query in range(1, queries + 1):
            docs = rng.sample(range(8_000_000), depth + 400)
            count = max(1, round(rng.gauss(judged, judged**0.5 / 4)))
            for doc in rng.sample(docs, min(count, len(docs))):
                judgments.write(f"{query} 0 D{doc} {rng.choice(grades)}\n")
            for rank, doc in enumerate(docs[:depth], 1):
                ranking.write(f"{query} Q0 D{doc} {rank} {(depth - rank + 1) / 64:.6f} bench\n")
    return qrels, run


if __name__ == "__main__":
    main()
