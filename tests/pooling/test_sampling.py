"""Samples: who is drawn, and that estimates from them are right on average."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path

import numpy as np
import pytest
from pooled_example import RUNS, T, as_run, asker

from cranfield import evaluate, read_qrels
from cranfield.formats import write_qrels
from cranfield.pooling import make_pool
from cranfield.pooling.sampling import Stratum, as_strata, drawn_number

SOAK = bool(os.environ.get("CRANFIELD_SOAK"))


def test_strata_are_by_the_best_rank_in_any_run() -> None:
    pool = make_pool(RUNS, "stratified", strata="1:1,3:0.5,6:0.3")
    assert pool.sample is not None
    stratum = dict(zip(pool.sample.docs, pool.sample.extra["stratum"], strict=True))
    assert {doc for doc, number in stratum.items() if number == "1"} == {"d1", "d7", "d3"}
    assert {doc for doc, number in stratum.items() if number == "2"} == {"d2", "d10", "d8"}
    drawn = set(pool.pairs["T"])
    assert [sum(stratum[doc] == number for doc in drawn) for number in "123"] == [3, 2, 2]


def test_rates_are_of_every_stratum_and_at_least_one_is_drawn() -> None:
    assert (
        as_strata([(10, 1), (100, 0.1)]) == as_strata("10:1, 100:0.1") == (Stratum(1, 10, 1.0), Stratum(11, 100, 0.1))
    )
    assert [drawn_number(n, 0.1) for n in (1, 9, 10, 11, 20, 30, 100)] == [1, 1, 1, 2, 2, 3, 10]
    assert drawn_number(7, 1.0) == 7 and as_strata(as_strata("5:1")) == as_strata("5:1")


@pytest.mark.parametrize("strategy", ["uniform", "stratified"])
def test_every_document_of_a_stratum_has_the_same_chance(strategy: str) -> None:
    from cranfield.pooling import Setting

    params: dict[str, object] = {"rate": 0.25} if strategy == "uniform" else {"strata": "6:0.25"}
    times = dict.fromkeys(T.ranks, 0)
    for seed in range(2000):
        for doc in asker(strategy, T, Setting(seed=seed), **params).next({}, 12):
            times[doc] += 1
    # 3 of 12 are drawn: 500 times each, with a standard deviation of √(2000 · ¼ · ¾) = 19
    assert sum(times.values()) == 6000 and max(abs(n - 500) for n in times.values()) < 4.5 * 19.4


def test_what_is_judged_already_stays_in_the_sample_and_is_not_asked_again() -> None:
    before = make_pool(RUNS, "uniform", rate=0.5)
    known = before.pairs["T"][0]
    other = next(doc for doc in T.ranks if doc not in before.pairs["T"])
    after = make_pool(RUNS, "uniform", rate=0.5, judged={"T": {known: 1, other: 1}})
    assert set(after.pairs["T"]) == set(before.pairs["T"]) - {known}
    assert after.sample is not None
    grades = dict(zip(after.sample.docs, after.sample.grades, strict=True))
    assert grades[known] == 1 and grades[other] == -1 and len(grades) == 12


def test_the_form_to_fill_in_is_read_as_sampled_qrels(tmp_path: Path) -> None:
    pool = make_pool(RUNS, "stratified", strata="2:1,6:0.5")
    assert pool.sample is not None
    write_qrels(pool.sample, tmp_path / "sample.qrels")
    first = (tmp_path / "sample.qrels").read_text().splitlines()[0].split()
    assert len(first) == 5 and first[4] == "-1"
    read = read_qrels(tmp_path / "sample.qrels")
    assert read.origin is not None and read.origin.format == "sampled" and set(read.extra) == {"stratum"}
    assert evaluate(read, RUNS["A"], ["xinfAP"]).mean("xinfAP") == 0


def collection(topics: int) -> tuple[dict[str, dict[str, dict[str, float]]], dict[str, dict[str, int]]]:
    """Four systems of different quality on a pool of about a hundred documents, of which a quarter is relevant."""
    chance = random.Random(5)
    qrels = {str(t): {f"d{i}": int(chance.random() < 0.25) for i in range(100)} for t in range(topics)}
    runs = {}
    for number, skill in enumerate((0.1, 0.2, 0.3, 0.45)):
        ranked = {
            t: sorted(grades, key=lambda doc: -(skill * grades[doc] + chance.random()))[:60]
            for t, grades in qrels.items()
        }
        runs[f"s{number}"] = as_run(ranked)
    return runs, qrels


def test_estimates_from_stratified_samples_are_unbiased() -> None:
    """xinfAP over many seeds, against AP by judging the whole pool: no further off than the simulation's own error."""
    runs, full = collection(8)
    whole = make_pool(runs, depth=60)
    full = {query: {doc: full[query][doc] for doc in docs} for query, docs in whole.pairs.items()}
    truth = {name: evaluate(full, run, ["AP"]).mean("AP") for name, run in runs.items()}
    found: dict[str, list[float]] = {name: [] for name in runs}
    for seed in range(400 if SOAK else 80):
        pool = make_pool(runs, "stratified", depth=60, seed=seed, strata="5:1,20:0.6,60:0.4", judged=full)
        assert pool.sample is not None
        scores = evaluate(pool.sample, runs, ["xinfAP"])
        for name in runs:
            found[name].append(scores.mean("xinfAP", name))
    for name, values in found.items():
        error = np.std(values, ddof=1) / math.sqrt(len(values))
        assert abs(np.mean(values) - truth[name]) < 3.5 * error, name
        assert 0 < error < 0.004
    # part of the pool only was judged
    judged = float(np.mean(pool.sample.grades >= 0))
    assert 0.3 < judged < 0.75


def test_with_all_rates_1_estimates_are_exact() -> None:
    runs, full = collection(2)
    pool = make_pool(runs, "stratified", depth=60, strata="60:1", judged=full)
    assert pool.sample is not None and not len(pool)
    for run in runs.values():
        kept = {query: {doc: full[query][doc] for doc in make_pool(runs, depth=60).pairs[query]} for query in full}
        assert evaluate(pool.sample, run, ["xinfAP"]).mean("xinfAP") == pytest.approx(
            evaluate(kept, run, ["AP"]).mean("AP"), abs=1e-4
        )
