"""The same numbers as scikit-learn on dense arrays, ties included."""

import numpy as np
import pytest

from cranfield import evaluate, from_arrays
from tests.measures.rankings import value

metrics = pytest.importorskip("sklearn.metrics")

SEEDS = range(25)
CUTOFFS = [None, 1, 2, 3, 5, 50]


def dense(seed: int, distinct: int | None, grades: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Random grades and scores, one row a query; with `distinct` only so many scores, so that there are ties."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 9), rng.integers(2, 15)
    truth = rng.integers(0, grades, shape).astype(float)
    scores = rng.integers(0, distinct, shape).astype(float) if distinct else rng.random(shape)
    return truth, scores


def named(measure: str, k: int | None, parameters: str = "") -> str:
    return f"{measure}{f'({parameters})' if parameters else ''}{'' if k is None else f'@{k}'}"


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("distinct", [1, 2, 4, None])
def test_ndcg_averages_ties_as_ndcg_score_does(k, distinct):
    for seed in SEEDS:
        truth, scores = dense(seed, distinct)
        ours = value(named("nDCG", k), from_arrays(truth, scores), ties="expected")
        assert ours == pytest.approx(metrics.ndcg_score(truth, scores, k=k), abs=1e-12)


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("base", [2, 10, 3])
def test_dcg_averages_ties_as_dcg_score_does(k, base):
    for seed in SEEDS:
        truth, scores = dense(seed, 3)
        ours = value(named("DCG", k, f"base={base}"), from_arrays(truth, scores), ties="expected")
        assert ours == pytest.approx(metrics.dcg_score(truth, scores, k=k, log_base=base), abs=1e-12)


@pytest.mark.parametrize("k", CUTOFFS)
def test_without_ties_there_is_nothing_to_average(k):
    for seed in SEEDS:
        truth, scores = dense(seed, None)
        for ties in ("trec", "expected", "best", "worst"):
            ours = value(named("nDCG", k), from_arrays(truth, scores), ties=ties)
            assert ours == pytest.approx(metrics.ndcg_score(truth, scores, k=k, ignore_ties=True), abs=1e-12)


def test_gains_that_are_not_whole_numbers():
    for seed in SEEDS:
        truth, scores = dense(seed, 3)
        truth = truth * 0.37
        ours = value("nDCG@5", from_arrays(truth, scores), ties="expected")
        assert ours == pytest.approx(metrics.ndcg_score(truth, scores, k=5), abs=1e-12)


@pytest.mark.parametrize("distinct", [1, 2, 4, None])
def test_average_precision_takes_documents_of_equal_score_as_one_step(distinct):
    for seed in SEEDS:
        truth, scores = dense(seed, distinct, grades=2)
        truth[:, 0] = 1  # scikit-learn warns where nothing is relevant
        theirs = [metrics.average_precision_score(*rows) for rows in zip(truth, scores, strict=True)]
        for ties in ("trec", "expected", "worst"):
            ours = evaluate(*from_arrays(truth, scores), ["AP(ties='group')"], ties=ties).values("AP(ties='group')")
            assert ours.tolist() == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("distinct", [1, 2, 4, None])
def test_lrap_agrees_with_label_ranking_average_precision_score(distinct):
    for seed in SEEDS:
        truth, scores = dense(seed, distinct, grades=2)  # some rows have nothing relevant, or all
        theirs = metrics.label_ranking_average_precision_score(truth, scores)
        for ties in ("trec", "expected", "best"):
            assert value("LRAP", from_arrays(truth, scores), ties=ties) == pytest.approx(theirs, abs=1e-12)


def test_a_query_with_nothing_relevant_has_ndcg_zero_and_lrap_one():
    truth, scores = np.array([[0, 0, 0], [0, 0, 1]]), np.array([[3, 2, 1], [3, 2, 1]])
    result = evaluate(*from_arrays(truth, scores), ["nDCG", "LRAP"])
    assert result.per_query("nDCG") == {"0": 0.0, "1": 0.5}
    assert result.per_query("LRAP") == pytest.approx({"0": 1.0, "1": 1 / 3})
    assert result.mean("nDCG") == pytest.approx(metrics.ndcg_score(truth, scores), abs=1e-15)
    assert result.mean("LRAP") == pytest.approx(metrics.label_ranking_average_precision_score(truth, scores))


def test_dense_input_gives_the_same_as_dicts():
    truth, scores = dense(3, 3)
    qrels = {str(i): {str(j): g for j, g in enumerate(row)} for i, row in enumerate(truth)}
    run = {str(i): {str(j): s for j, s in enumerate(row)} for i, row in enumerate(scores)}
    measures = ["nDCG@5", "AP", "RR", "P@3", "Bpref"]
    assert evaluate(*from_arrays(truth, scores), measures).summary() == evaluate(qrels, run, measures).summary()
