"""Budget curves: prefixes of what strategies ask for, evaluated as any qrels are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from cranfield.data.collection import Qrels
from cranfield.errors import CranfieldError
from cranfield.evaluation import evaluate
from cranfield.io import read_qrels, read_run
from cranfield.pooling.budgets import DEFAULT_STRATEGIES, list_depths, replay_budgets
from cranfield.pooling.contributions import PooledRuns
from cranfield.pooling.replay import replay
from tests.pooling.depth_3_pool import DEPTH_3, runs_of_t


def test_the_depth_curve_is_that_of_depth_pools_of_the_reference_case() -> None:
    pooled = PooledRuns.of(DEPTH_3, runs_of_t(), depth=3)
    found = replay_budgets(pooled, ["AP"], ["depth"])
    (compute_gain_curve,) = found.curves
    assert [point.depth for point in compute_gain_curve.points] == [1, 2, 3]
    assert [point.judgments for point in compute_gain_curve.points] == [3, 5, 6]  # d1 d3 d7, d2 d10, d8
    assert [point.relevant for point in compute_gain_curve.points] == [2, 3, 4]
    assert compute_gain_curve.points[-1].fidelity[0].tau == 1 and compute_gain_curve.points[-1].fidelity[0].rmse == 0
    # by best rank, then by the number of runs that have it down to depth 3: d3 d7 d1 d2 d10 d8
    assert [one.relevant for one in compute_gain_curve.found] == [1, 1, 2, 2, 3, 4]
    assert (found.relevant, found.relevant_in_pool) == (4, 4)


def test_every_strategy_has_as_many_judgments_as_the_depth_pool_and_ends_with_the_same() -> None:
    pooled = PooledRuns.of(DEPTH_3, runs_of_t(), depth=3)
    found = replay_budgets(pooled, ["AP"])
    assert [compute_gain_curve.strategy for compute_gain_curve in found.curves] == list(DEFAULT_STRATEGIES)
    assert {"depth", "rrf", "mtf", "mm-ns"} == set(DEFAULT_STRATEGIES)
    for compute_gain_curve in found.curves:
        assert [point.judgments for point in compute_gain_curve.points] == [3, 5, 6]
        assert compute_gain_curve.points[-1] == found.curves[0].points[-1]


@pytest.mark.slow
def test_points_are_evaluations_of_what_a_replay_asks_for(shared_data: Path) -> None:
    qrels = read_qrels(shared_data / "dl19/qrels.dl19-passage.txt")
    runs = [read_run(file) for file in sorted((shared_data / "dl19/runs").glob("*.gz"))][:5]
    pooled = PooledRuns.of(qrels, runs, rel=2, depth=10)
    found = replay_budgets(pooled, ["AP"], ["mm-ns"], seed=7)
    asked = replay(runs, qrels, "mm-ns", depth=10, seed=7, rel=2)
    tops: dict[str, list[list[str]]] = {}
    for run in runs:
        for query in set(run.queries) & set(qrels.queries):
            scores = run.of(query).to_dict()[query]
            tops.setdefault(query, []).append(sorted(scores, key=lambda d: (scores[d], d), reverse=True)[:10])  # noqa: B023
    full = [evaluate(qrels, run, ["AP"], rel=2).mean("AP") for run in runs]
    grades = qrels.to_dict()
    for point in found.curves[0].points[::2]:
        rows = []
        for query, docs in asked.items():
            best = {doc for order in tops[query] for doc in order[: point.depth]}
            size = len(best & set(grades[query]))
            rows += [(query, doc, grades[query][doc]) for doc in docs[:size]]
        assert point.judgments == len(rows)
        reduced = Qrels.from_rows(*map(list, zip(*rows, strict=True)), empty_queries=qrels.queries)
        means = [evaluate(reduced, run, ["AP"], rel=2).mean("AP") for run in runs]
        (fidelity,) = point.fidelity
        assert fidelity.rmse == pytest.approx(float(np.sqrt(np.mean((np.array(full) - means) ** 2))))
        assert fidelity.tau == pytest.approx(float(kendalltau(full, means).statistic))


def test_a_sample_has_no_curve() -> None:
    with pytest.raises(CranfieldError, match="uniform is a sample.*choose from depth") as error:
        replay_budgets(PooledRuns.of(DEPTH_3, runs_of_t(), depth=3), ["AP"], ["uniform"])
    assert "autotar" not in str(error.value) and "expansion" not in str(error.value)


@pytest.mark.parametrize("strategy", ["autotar", "expansion"])
def test_what_looks_at_texts_has_no_curve(strategy: str) -> None:
    with pytest.raises(CranfieldError, match=f"{strategy} needs texts.*choose from depth") as error:
        replay_budgets(PooledRuns.of(DEPTH_3, runs_of_t(), depth=3), ["AP"], [strategy])
    assert "--" not in str(error.value)


def test_a_strategy_that_there_is_not_is_named_with_a_hint() -> None:
    with pytest.raises(CranfieldError, match="unknown strategy 'dept'. Did you mean depth"):
        replay_budgets(PooledRuns.of(DEPTH_3, runs_of_t(), depth=3), ["AP"], ["dept"])


def test_depths_are_few_and_end_with_that_of_the_pool() -> None:
    assert list_depths(1) == [1]
    assert list_depths(3) == [1, 2, 3]
    assert list_depths(100) == [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100]
    assert len(list_depths(1000)) < 25
