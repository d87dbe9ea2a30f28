"""A driver for the tests: evaluates random collections on the master that is named, and prints what came out as JSON.

With `slow`, tasks take a while, and `RUNNING` is printed once some run and some are done: then a worker may die.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings

warnings.simplefilter("ignore")

from pyspark.sql import SparkSession  # noqa: E402

from cranfield import InputError  # noqa: E402
from cranfield.measures import all_measures  # noqa: E402
from cranfield.spark import compare, evaluate  # noqa: E402
from tests.measures.cases import COLUMNS, full_case  # noqa: E402
from tests.spark.spark_frames import BRIEF, ENVIRONMENT, qrels_frame, run_frame, values_of  # noqa: E402
from tests.waiting import wait_until  # noqa: E402

os.environ.update(ENVIRONMENT)
SCHEMA = ", ".join(f"{name} {'double' if name == 'grade' else 'string'}" for name in COLUMNS)
MEASURES = [kind.plain() for kind in all_measures()]
EXTRAS = ("against", "doc_lengths", "duplicates", "facts")


def session_on(master: str):
    if master.startswith("connect:"):
        return (
            SparkSession.builder.remote(master.removeprefix("connect:"))
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
    builder = SparkSession.builder.master(master)
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.executor.extraJavaOptions": BRIEF,
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.liveUpdate.period": "0",  # or the tasks that begin just after others ended are not told of
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def every_measure(session) -> None:
    case = full_case(2, scores=5, queries=8, least=1)
    run = run_frame(session, {"run": case.run}, named=False).repartition(3)
    extras = {name: getattr(case.extras, name) for name in EXTRAS}
    scores = evaluate(run, qrels_frame(session, case.rows, SCHEMA), MEASURES, **extras)
    report("values", [[*key, value.hex()] for key, value in values_of(scores.collect()).items()])
    report("means", {name: float(mean).hex() for name, mean in scores.summary()["run"].items()})
    report("notes", list(scores.notes))


def comparison(session) -> None:
    case = full_case(2, queries=8, least=1)
    runs = {"a": case.run, "b": full_case(4, queries=8, least=1).run}
    plain = [row[:3] for row in full_case(3, queries=8).rows]
    scores = evaluate(run_frame(session, runs), qrels_frame(session, plain), ["AP"]).cache()
    (found,) = compare(scores, resamples=100)
    report("compared", [found.n, found.p.hex(), found.p_permutation.hex()])


def bad_input(session) -> None:
    run = session.createDataFrame([("q", "a", 1.0), (None, "a", 1.0)], "query string, doc string, score double")
    try:
        evaluate(run, qrels_frame(session, [("q", "a", 1.0)]), ["AP"]).collect()
    except InputError as error:
        report("bad", str(error))


def slowly(session) -> None:
    case = full_case(3, queries=60, least=1, scores=None)

    def slow(batches):
        time.sleep(1.5)
        yield from batches

    rows = run_frame(session, {"run": case.run}, named=False).repartition(8)
    run = rows.mapInArrow(slow, rows.schema)
    context = session.sparkContext
    executors = executors_of(context, 2)
    threading.Thread(target=_tell_when_running, args=(context.statusTracker(),), daemon=True).start()
    plain = [row[:3] for row in case.rows]
    scores = evaluate(run, qrels_frame(session, plain), ["nDCG@10", "AP"], broadcast=False)
    means = scores.summary()["run"]
    report("slow", {name: mean.hex() for name, mean in means.items()})
    report("executors", [executors, executors_of(context, 1)])


def executors_of(context, expected: int) -> int:
    """How many executors there are; on a busy machine it takes a while until one has come, or is missed."""

    def number() -> int:
        return context._jsc.sc().getExecutorMemoryStatus().size() - 1  # one of them is the driver

    wait_until(lambda: number() == expected, lambda: f"{number()} executors, expected {expected}")
    return number()


def _tell_when_running(tracker) -> None:
    while True:
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and info.numTasks == 8 and info.numActiveTasks == 2 and info.numCompletedTasks >= 1:
                print("RUNNING", flush=True)
                return
        time.sleep(0.05)


def report(name: str, value: object) -> None:
    print(json.dumps({name: value}), flush=True)


if __name__ == "__main__":
    spark = session_on(sys.argv[1])
    for part in sys.argv[2:]:
        {"every": every_measure, "compare": comparison, "slow": slowly, "bad": bad_input}[part](spark)
    spark.stop()
