"""Ours on Spark against Spark's own RankingEvaluator and RankingMetrics, and our local engine, on the same rows.

`python -m benchmarks.spark --millions 10 50 --repeat 3`: rows in Parquet (query, doc, score; whole numbers for ids, as
RankingEvaluator needs them), 100 documents a query, 10 of them judged. Everybody starts from the rows and ends with a
number; what Spark's own need in arrays they group and sort with the functions that are there for it. Contenders take
turns in one session, and the first turn is to warm up. Times are wall time; processor time (of Java, Python and all
they start) tells more where others use the machine too. With tied scores (two digits) most queries have some, for
which the local engine's rule must decide.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.machine import machine

DEPTH, JUDGED, FILES = 100, 10, 16
MEASURES = {"ndcgAtK": "nDCG@10", "meanAveragePrecisionAtK": "MAPk@10", "precisionAtK": "P@10", "recallAtK": "R@10"}


@dataclass(frozen=True)
class Taken:
    """What something took, in seconds."""

    wall: float
    processor: float


def make(folder: Path, rows: int) -> None:
    """A run and qrels in Parquet, and the same as TREC's text for the local engine."""
    if (folder / "done").exists():
        return
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    for part in ("run", "qrels"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    queries = rows // DEPTH
    options = pa.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    with open(folder / "run.txt", "wb") as run_text, open(folder / "qrels.txt", "wb") as qrels_text:
        for part in range(FILES):
            query = np.arange(part * queries // FILES, (part + 1) * queries // FILES)
            n = len(query)
            places = rng.permuted(np.broadcast_to(np.arange(DEPTH), (n, DEPTH)), axis=1)
            docs = rng.integers(0, 10**6, size=(n, 1)) + places * 997
            score = -np.sort(-rng.random((n, DEPTH)), axis=1)
            found = np.argsort(rng.random((n, DEPTH)), axis=1)[:, : JUDGED // 2]
            missed = rng.integers(2 * 10**6, 3 * 10**6, size=(n, 1)) + np.arange(JUDGED - JUDGED // 2) * 7
            judged = np.concatenate([np.take_along_axis(docs, found, 1), missed], axis=1)
            grade = rng.integers(0, 4, size=judged.shape)
            run = {"query": np.repeat(query, DEPTH), "doc": docs.ravel(), "score": score.ravel()}
            qrels = {"query": np.repeat(query, JUDGED), "doc": judged.ravel(), "grade": grade.ravel()}
            pq.write_table(pa.table(run), folder / "run" / f"{part:03}.parquet")
            pq.write_table(pa.table(qrels), folder / "qrels" / f"{part:03}.parquet")
            rank = np.tile(np.arange(1, DEPTH + 1), n)
            text = pa.table(
                {
                    "q": run["query"],
                    "0": ["Q0"] * len(rank),
                    "d": run["doc"],
                    "r": rank,
                    "s": run["score"],
                    "t": ["x"] * len(rank),
                }
            )
            pa.csv.write_csv(text, run_text, options)
            zeros = np.zeros(judged.size, dtype=np.int64)
            pa.csv.write_csv(
                pa.table({"q": qrels["query"], "0": zeros, "d": qrels["doc"], "g": qrels["grade"]}), qrels_text, options
            )
    (folder / "done").touch()


def session(memory: str, folder: Path) -> Any:
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": memory,
        "spark.local.dir": str(folder.absolute() / "scratch"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def arrays(run: Any, qrels: Any) -> Any:
    """What RankingEvaluator takes: for each query the documents in order, and the relevant ones."""
    from pyspark.sql import functions as F

    ranked = F.expr("transform(sort_array(collect_list(struct(score, doc)), false), x -> cast(x.doc as double))")
    relevant = F.expr("collect_list(cast(doc as double))")
    predictions = run.groupBy("query").agg(ranked.alias("prediction"))
    return predictions.join(qrels.filter("grade >= 1").groupBy("query").agg(relevant.alias("label")), "query")


def ranking_evaluator(frame: Any, metric: str) -> float:
    from pyspark.ml.evaluation import RankingEvaluator

    return float(RankingEvaluator(metricName=metric, k=10).evaluate(frame))


def ranking_metrics(frame: Any) -> float:
    from pyspark.mllib.evaluation import RankingMetrics

    pairs = frame.select("prediction", "label").rdd.map(lambda row: (row.prediction, row.label))
    return float(RankingMetrics(pairs).ndcgAt(10))


def contenders(spark: Any, folder: Path, all_of_them: bool) -> dict[str, Callable[[], Any]]:
    from pyspark.sql import functions as F

    from cranfield.spark import evaluate

    run, qrels = spark.read.parquet(str(folder / "run")), spark.read.parquet(str(folder / "qrels"))
    tied = run.withColumn("score", F.round("score", 2))
    tasks: dict[str, Callable[[], Any]] = {
        "RankingEvaluator, ndcgAtK": lambda: ranking_evaluator(arrays(run, qrels), "ndcgAtK"),
        "ours, nDCG@10": lambda: evaluate(run, qrels, ["nDCG@10"]).mean("nDCG@10"),
        "RankingEvaluator, four metrics": lambda: [ranking_evaluator(arrays(run, qrels), m) for m in MEASURES],
        "ours, four measures": lambda: evaluate(run, qrels, list(MEASURES.values())).summary(),
    }
    if all_of_them:
        tasks |= {
            "RankingEvaluator, ndcgAtK, tied scores": lambda: ranking_evaluator(arrays(tied, qrels), "ndcgAtK"),
            "ours, nDCG@10, tied scores": lambda: evaluate(tied, qrels, ["nDCG@10"]).mean("nDCG@10"),
            "RankingMetrics (Python), ndcgAt": lambda: ranking_metrics(arrays(run, qrels)),
        }
    return tasks


def take_turns(tasks: dict[str, Callable[[], Any]], repeat: int) -> dict[str, Taken]:
    taken: dict[str, list[Taken]] = {name: [] for name in tasks}
    for _ in range(repeat + 1):
        for name, task in tasks.items():
            taken[name].append(measured(task))
            print(f"  {name}: {taken[name][-1]}", file=sys.stderr, flush=True)
    return {
        name: Taken(median(one.wall for one in own[1:]), median(one.processor for one in own[1:]))
        for name, own in taken.items()
    }


def measured(task: Callable[[], Any]) -> Taken:
    wall, processor = time.perf_counter(), processor_time(os.getpid())
    task()
    return Taken(time.perf_counter() - wall, processor_time(os.getpid()) - processor)


def processor_time(process: int) -> float:
    """What a process and everything that it started have used so far, in seconds; of those that ended, too."""
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(name))
        used[int(name)] = sum(map(int, fields[11:15]))

    def below(one: int) -> Iterator[int]:
        yield one
        for child in children.get(one, []):
            yield from below(child)

    return sum(used.get(one, 0) for one in below(process)) / os.sysconf("SC_CLK_TCK")


def local_engine(folder: Path) -> None:
    import subprocess

    command = [sys.executable, "-m", "cranfield", "eval", str(folder / "qrels.txt"), str(folder / "run.txt")]
    subprocess.run([*command, "-m", "nDCG@10"], check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=[10, 50], help="of rows")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("build/spark"))
    parser.add_argument("--memory", default="6g", help="of the driver, which is the executor too")
    asked = parser.parse_args()
    print(machine(["pyspark", "pyarrow", "numpy"]), f"Load before: {os.getloadavg()[0]:.1f}.\n")
    print("| million rows | | seconds | µs a row | processor seconds |\n|---|---|---|---|---|")
    for millions in asked.millions:
        make(asked.folder / str(millions), millions * 10**6)
    spark = session(asked.memory, asked.folder)
    for millions in asked.millions:
        folder = asked.folder / str(millions)
        found = take_turns(contenders(spark, folder, millions == min(asked.millions)), asked.repeat)
        found |= take_turns({"our local engine, TREC text": partial(local_engine, folder)}, asked.repeat)
        for name, taken in found.items():
            per_row = taken.wall / millions
            print(f"| {millions} | {name} | {taken.wall:.1f} | {per_row:.2f} | {taken.processor:.1f} |", flush=True)
    print(f"\nLoad after: {os.getloadavg()[0]:.1f}.")
    spark.stop()


if __name__ == "__main__":
    main()
