"""Samples: who is drawn, and that estimates from them are right on average."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import numpy as np
import pytest

from cranfield import evaluate, read_qrels
from cranfield.io import write_qrels
from cranfield.pooling import make_pool
from cranfield.pooling.sampling import Stratum, build_sampled_qrels, count_draws, parse_strata
from tests.pooling.pooled_example import RUNS, T, as_run, selector
from tests.soak import SOAK


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
        parse_strata([(10, 1), (100, 0.1)])
        == parse_strata("10:1, 100:0.1")
        == (Stratum(1, 10, 1.0), Stratum(11, 100, 0.1))
    )
    assert [count_draws(n, 0.1) for n in (1, 9, 10, 11, 20, 30, 100)] == [1, 1, 1, 2, 2, 3, 10]
    assert count_draws(7, 1.0) == 7 and parse_strata(parse_strata("5:1")) == parse_strata("5:1")


@pytest.mark.parametrize("strategy", ["uniform", "stratified"])
def test_every_document_of_a_stratum_has_the_same_chance(strategy: str) -> None:
    from cranfield.pooling import PoolingContext

    params: dict[str, object] = {"rate": 0.25} if strategy == "uniform" else {"strata": "6:0.25"}
    times = dict.fromkeys(T.ranks, 0)
    for seed in range(2000):
        for doc in selector(strategy, T, PoolingContext(seed=seed), **params).next({}, 12):
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


Runs = dict[str, dict[str, dict[str, float]]]


def collection(
    topics: int, share: float = 0.25, skills: tuple[float, ...] = (0.1, 0.2, 0.3, 0.45)
) -> tuple[Runs, dict[str, dict[str, int]]]:
    """Systems of different quality on a pool of about a hundred documents, of which a share is relevant."""
    rng = random.Random(5)
    qrels = {str(t): {f"d{i}": int(rng.random() < share) for i in range(100)} for t in range(topics)}
    runs = {}
    for number, skill in enumerate(skills):
        ranked = {
            t: sorted(grades, key=lambda doc: -(skill * grades[doc] + rng.random()))[:60] for t, grades in qrels.items()
        }
        runs[f"s{number}"] = as_run(ranked)
    return runs, qrels


def simulated(runs: Runs, full: dict[str, dict[str, int]], strata: str, seeds: int) -> list[tuple[float, float]]:
    """For each run how far the mean xinfAP over many samples is from AP by the whole pool, and its standard error."""
    whole = make_pool(runs, depth=60)
    full = {query: {doc: full[query][doc] for doc in docs} for query, docs in whole.pairs.items()}
    found: dict[str, list[float]] = {name: [] for name in runs}
    for seed in range(seeds):
        pool = make_pool(runs, "stratified", depth=60, seed=seed, strata=strata, judged=full)
        assert pool.sample is not None and 0.3 < float(np.mean(pool.sample.grades >= 0)) < 0.75  # a part is judged
        scores = evaluate(pool.sample, runs, ["xinfAP"])
        for name in runs:
            found[name].append(scores.mean("xinfAP", name))
    return [
        (
            float(np.mean(values)) - evaluate(full, runs[name], ["AP"]).mean("AP"),
            float(np.std(values, ddof=1)) / math.sqrt(len(values)),
        )
        for name, values in found.items()
    ]


@pytest.mark.soak("statistics")
@pytest.mark.simulation
@pytest.mark.parametrize("strata", ["5:1,20:0.6,60:0.4", "10:1,60:0.5"])
def test_estimates_from_stratified_samples_are_unbiased(strata: str) -> None:
    """The first ranks judged in whole, then half: no further off than the simulation's own error."""
    for off, error in simulated(*collection(8), strata, 400 if SOAK else 80):
        assert abs(off) < 3.5 * error and 0 < error < 0.004


@pytest.mark.simulation
@pytest.mark.parametrize(("share", "sign"), [(0.4, -1), (0.15, 1)])
def test_estimates_lean_towards_a_third_but_little_where_the_first_ranks_are_judged(share: float, sign: int) -> None:
    """Of the best run, with much or little relevant above: below 0.01 off, down or up."""
    found = simulated(*collection(8, share, (0.1, 0.2, 0.3)), "10:1,60:0.5", 200)
    assert all(abs(off) < 0.01 for off, _ in found)
    assert sign * found[-1][0] > 2 * found[-1][1]


@pytest.mark.simulation
def test_estimates_are_too_low_where_the_first_ranks_are_a_sample_as_well() -> None:
    found = simulated(*collection(8), "60:0.5", 80)
    assert all(-0.06 < off < 0 for off, _ in found)
    assert found[-1][0] < -2 * found[-1][1]


def exact_mean(ranking: str, relevant: str, whole: str, drawn: int) -> tuple[float, float]:
    """The mean xinfAP over every sample of so many documents out of those not judged in whole; and AP."""
    rest = [doc for doc in ranking if doc not in whole]
    strata = {"1": {doc: "1" if doc in whole else "2" for doc in ranking}}
    run = as_run({"1": ranking})["1"]
    values = []
    for sample in itertools.combinations(rest, drawn):
        graded = {doc: float(doc in relevant) for doc in (*whole, *sample)}
        values.append(evaluate(build_sampled_qrels(strata, {"1": graded}), {"1": run}, ["xinfAP"]).mean("xinfAP"))
    truth = evaluate({"1": {doc: int(doc in relevant) for doc in ranking}}, {"1": run}, ["AP"]).mean("AP")
    return float(np.mean(values)), truth


def test_where_nothing_above_was_drawn_a_third_of_it_counts_as_relevant() -> None:
    """(Q + ε)/(J + 3ε) is one third for Q = J = 0: too little where more is relevant, too much where less is."""
    # all is relevant, 2 of 6 drawn: the first drawn, at rank i, has 1 + (i − 1)/3 instead of i, the second is right
    low, truth = exact_mean("abcdef", "abcdef", "", 2)
    pairs = list(itertools.combinations(range(1, 7), 2))
    expected = sum((1 + (i - 1) / 3) / i + 1 for i, _ in pairs) / 2 / len(pairs)
    assert truth == 1 and low == pytest.approx(expected, abs=1e-4) and 1 - low < 2 / 3
    # a and f are relevant and judged, of bcde and ghij one is drawn, half the time not above f: 4/3 too much at rank 6
    high, truth = exact_mean("abcdefghij", "af", "af", 1)
    assert truth == pytest.approx((1 + 2 / 6) / 2) and high - truth == pytest.approx(4 / 3 / 6 / 2 / 2, abs=1e-4)


def test_a_topic_of_which_nothing_relevant_was_drawn_counts_as_0() -> None:
    found, truth = exact_mean("abcd", "a", "", 1)
    assert truth == 1 and found == pytest.approx(1 / 4, abs=1e-4)


def test_with_all_rates_1_estimates_are_exact() -> None:
    runs, full = collection(2)
    pool = make_pool(runs, "stratified", depth=60, strata="60:1", judged=full)
    assert pool.sample is not None and not len(pool)
    for run in runs.values():
        kept = {query: {doc: full[query][doc] for doc in make_pool(runs, depth=60).pairs[query]} for query in full}
        assert evaluate(pool.sample, run, ["xinfAP"]).mean("xinfAP") == pytest.approx(
            evaluate(kept, run, ["AP"]).mean("AP"), abs=1e-4
        )
