"""What is done with the rows of a query wherever they are, without a Spark: joins as the local engine has them."""

from __future__ import annotations

import random

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from cranfield import evaluate  # noqa: E402
from cranfield.evaluation import Evaluator  # noqa: E402
from cranfield.spark import arrays  # noqa: E402
from cranfield.spark.evaluate_block import Judging, no_qrels  # noqa: E402

MEASURES = ["nDCG@10", "AP", "RR", "P@5", "Bpref", "num_rel_ret", "R@3", "AP(judged_only=True)", "ERR"]


def random_runs(rng: random.Random, whole: bool):
    """Qrels and two runs: ties of both kinds, queries missing here and there, some without judgments."""
    qrels, runs = {}, {"a": {}, "b": {}}
    for q in range(rng.randint(1, 12)):
        docs = [str(i) if whole else f"d{i}" for i in range(rng.choice([3, 12, 70]))]
        if rng.random() < 0.8:
            qrels[f"{q}"] = {doc: rng.choice([-1, 0, 1, 3]) for doc in rng.sample(docs, rng.randint(1, len(docs)))}
        digits = rng.choice([0, 1, 2, 17])
        for run in runs.values():
            if rng.random() < 0.8:
                some = rng.sample(docs, rng.randint(1, len(docs)))
                tiny = 1e-12 if rng.random() < 0.3 else 1.0  # equal as float32 only
                run[f"{q}"] = {doc: 1.0 + tiny * round(rng.random(), digits) for doc in some}
    return qrels, runs


def batch_of(rng: random.Random, qrels, runs, whole: bool):
    """What Spark hands over: a row a query, with arrays in any order."""
    as_id = int if whole else str
    lists = {name: [] for name in ("run_doc", "run_score", "run_code", "qrels_doc", "qrels_grade")}
    queries = sorted({*qrels, *(q for run in runs.values() for q in run)})
    rng.shuffle(queries)
    for query in queries:
        rows = [(d, s, code) for code, run in enumerate(runs.values()) for d, s in run.get(query, {}).items()]
        rng.shuffle(rows)
        for name, column in zip(lists, zip(*rows, strict=True) if rows else ((), (), ()), strict=False):
            lists[name].append(list(map(as_id, column)) if name == "run_doc" else list(column))
        lists["qrels_doc"].append(list(map(as_id, qrels.get(query, {}))))
        lists["qrels_grade"].append(list(map(float, qrels.get(query, {}).values())))
    kind = {"run_doc": pa.int64() if whole else pa.string(), "run_code": pa.int32()}
    kind["qrels_doc"] = kind["run_doc"]
    columns = {  # a side that lacks a query has NULL for it
        name: pa.array([values or None for values in column], pa.list_(kind.get(name, pa.float64())))
        for name, column in lists.items()
    }
    return pa.RecordBatch.from_pydict({"query": pa.array(queries), **columns})


@pytest.mark.parametrize("ties", ["trec", "doc-ascending", "best", "worst", "expected"])
@pytest.mark.parametrize("score_type", ["float64", "float32"])
def test_joins_have_the_hits_of_the_local_engine(ties, score_type, monkeypatch):
    rng = random.Random(f"{ties} {score_type}")
    compared = 0
    for trial in range(40 if ties != "expected" else 6):
        whole = trial % 2 == 0
        monkeypatch.setattr(arrays, "_LARGE", rng.choice([5, 1 << 16]))
        qrels, runs = random_runs(rng, whole)
        if not all(set(qrels) & set(run) for run in runs.values()):
            continue
        options = {"ties": ties, "score_type": score_type, "missing": rng.choice(["zero", "skip"])}
        local = evaluate(qrels, runs, MEASURES, **options)
        batch = batch_of(rng, qrels, runs, whole)
        cut = rng.randint(0, batch.num_rows)
        judging = Judging(Evaluator(no_qrels(), MEASURES, **options), tuple(runs), ())
        rows = pa.Table.from_batches(list(judging([batch.slice(0, cut), batch.slice(cut)]))).to_pylist()
        values = {(row["run"], row["query"]): row["values"] for row in rows if row["values"] is not None}
        for run in local.runs:
            own = [local.per_query(label, run.name) for label in local.labels]
            found = {query: value for (name, query), value in values.items() if name == run.name}
            assert found == {query: [column[query] for column in own] for query in own[0]}
            for count in ("tied", "float32_tied"):
                assert sum(row[count] for row in rows if row["run"] == run.name) == getattr(run.judged, count)
        compared += 1
    assert compared > 2


def test_documents_twice_and_orders_are_found_line_by_line(monkeypatch):
    rng = np.random.default_rng(3)
    for trial in range(200):
        monkeypatch.setattr(arrays, "_LARGE", (7, 1 << 16)[trial % 2])
        n = int(rng.integers(1, 12))
        query = np.repeat(np.sort(rng.choice(50, n, replace=False)), rng.integers(1, rng.choice([2, 5, 40]), size=n))
        doc, score = rng.integers(0, rng.choice([5, 1000]), size=len(query)), rng.random(len(query))
        twice = sorted({q for q in query.tolist() if len(set(doc[query == q].tolist())) < (query == q).sum()})
        assert sorted(arrays.repeating(query, doc).tolist()) == twice
        assert sorted(arrays.repeating(query, pa.array(list(map(str, doc)))).tolist()) == twice
        assert arrays.sorted_within(query, score).tolist() == np.lexsort((-score, query)).tolist()
