"""From dicts to per-query values, in one warm process in which the tools take turns.

`python -m benchmarks.dicts QRELS RUN REPEAT PATIENCE` prints seconds and sums of each tool as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.contenders import MEASURES, installed
from benchmarks.measuring import Sums, measure_call, take_turns

Dicts = dict[str, dict[str, Any]]  # {query: {doc: grade or score}}


def main(qrels_file: str, run_file: str, repeat: int, patience: float) -> None:
    qrels, run = read(qrels_file, 2, 3, int), read(run_file, 2, 4, float)
    tools = {"cranfield": with_cranfield, **{name: WITH[name] for name in installed()}}
    tasks = {name: partial(measure_call, prepare(qrels, run)) for name, prepare in tools.items()}
    taken = take_turns(tasks, repeat, patience)
    found = {
        name: {"seconds": [one.seconds for one in measurements], "sums": dict(measurements[0].sums)}
        for name, measurements in taken.items()
    }
    print(json.dumps(found))


def read(file: str, doc: int, value: int, number: type[int] | type[float]) -> Dicts:
    """The columns of a TREC file as dicts."""
    read: Dicts = {}
    with open(file) as lines:
        for line in lines:
            columns = line.split()
            read.setdefault(columns[0], {})[columns[doc]] = number(columns[value])
    return read


# Each of these prepares what is reused, and gives a function that evaluates the run and reads every value.


def with_cranfield(qrels: Dicts, run: Dicts) -> Callable[[], Sums]:
    from cranfield import Evaluator

    evaluator = Evaluator(qrels, list(MEASURES))

    def sums() -> Sums:
        scores = evaluator.evaluate(run)
        return {name: sum(scores.per_query(name).values()) for name in MEASURES}

    return sums


def with_pytrec_eval(qrels: Dicts, run: Dicts) -> Callable[[], Sums]:
    import pytrec_eval

    names = {ours: theirs for ours, (_, theirs) in MEASURES.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(names.values()))

    def sums() -> Sums:
        values = evaluator.evaluate(run).values()
        return {ours: sum([query[theirs] for query in values]) for ours, theirs in names.items()}

    return sums


def with_ir_measures(qrels: Dicts, run: Dicts) -> Callable[[], Sums]:
    import ir_measures

    names = [ir_measures.parse_measure(name) for name in MEASURES]
    evaluator = ir_measures.evaluator(names, qrels)

    def sums() -> Sums:
        found = dict.fromkeys(MEASURES, 0.0)
        for metric in evaluator.iter_calc(run):
            found[str(metric.measure)] += metric.value
        return found

    return sums


def with_ranx(qrels: Dicts, run: Dicts) -> Callable[[], Sums]:
    import ranx

    names = ["ndcg@10", "map", "mrr", "precision@10", "recall@100", "bpref"]
    judged = ranx.Qrels(qrels)

    def sums() -> Sums:
        results = ranx.evaluate(judged, ranx.Run(run), names, return_mean=False)
        return {ours: sum(results[theirs].tolist()) for ours, theirs in zip(MEASURES, names, strict=True)}

    return sums


WITH = {"pytrec_eval": with_pytrec_eval, "ir_measures": with_ir_measures, "ranx": with_ranx}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
