"""How many relevant documents nobody found: each method on collections where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.errors import CranfieldError, EvaluationError
from cranfield.io import as_run
from cranfield.pooling.contributions import PooledRuns
from cranfield.pooling.estimators import chapman, power_law, share_interval
from cranfield.pooling.recall import count_new_relevant, estimate_recall

QRELS = {"1": {"a": 1, "b": 0, "c": 1}, "2": {"a": 0, "d": 0}}


def run(name: str, **lists: str) -> object:
    return as_run({q[1:]: {d: float(-i) for i, d in enumerate(docs)} for q, docs in lists.items()}, name=name)


# Plan


def test_the_plan_comes_without_any_judgment_of_a_sample() -> None:
    plan = estimate_recall(QRELS, docs=1000, target=0.5).plan
    assert plan.overall.population == 2 * 1000 - 5 and plan.overall.known == 2
    assert plan.topics[0].population == 997
    # recall of a half: no more than 2 missing among 1,995
    assert plan.overall.by_target is not None and 0 < plan.overall.by_target < 1995
    assert plan.topics[1].by_target is None  # nothing is known to be relevant, so that there is no recall to show


def test_without_the_size_of_the_collection_the_plan_tells_what_it_can() -> None:
    plan = estimate_recall(QRELS).plan
    assert plan.overall.population is None and plan.overall.by_target is None and plan.overall.by_margin == 402


# Sampling


def test_a_sample_says_how_many_are_missing_topic_by_topic() -> None:
    sample = {"1": {"x": 1, "y": 0, "z": 0, "w": 0}, "2": {"x": 0, "y": 0}}
    method = estimate_recall(QRELS, sample=sample, docs=103).method("sampling")
    one, two = method.topics
    interval = share_interval(1, 4)
    assert one.total == pytest.approx(2 + 100 / 4)
    assert one.low == pytest.approx(2 + max(1, 100 * interval.low))
    assert one.high == pytest.approx(2 + 100 * interval.high)
    assert one.recall == pytest.approx(2 / 27)
    assert two.total == 0 and two.recall is None and two.high == pytest.approx(101 * share_interval(0, 2).high)
    overall = method.overall
    assert overall is not None and overall.total == pytest.approx(2 + 100 / 4)
    # 4 drawn of 100 and 2 of 101: each stands for 25 or 50.5 documents
    assert overall.details["effective_sample"] == pytest.approx((100 + 101) ** 2 / (4 * 25**2 + 2 * 50.5**2))


def test_equal_rates_of_sampling_are_worth_their_number() -> None:
    qrels = {"1": {"a": 1}, "2": {"a": 1}}
    sample = {"1": {"x": 1, "y": 0}, "2": {"x": 0, "y": 0}}
    overall = estimate_recall(qrels, sample=sample, docs=11).method("sampling").overall
    assert overall is not None and overall.details["effective_sample"] == pytest.approx(4)
    interval = share_interval(1, 4)
    assert (overall.total, overall.high) == pytest.approx((2 + 20 / 4, 2 + 20 * interval.high))


def test_a_sample_of_everything_is_no_guess() -> None:
    sample = {"1": {"x": 1, "y": 0}}
    estimate = estimate_recall({"1": {"a": 1}}, sample=sample, docs=3).method("sampling").overall
    assert estimate is not None and estimate.total == estimate.low == estimate.high == 2 and estimate.recall == 0.5


def test_without_docs_the_sample_is_from_what_the_runs_retrieved() -> None:
    pooled = PooledRuns.of(QRELS, [run("r", q1="abxyzw", q2="ad")], depth=2)
    found = estimate_recall(QRELS, pooled, sample={"1": {"x": 1, "y": 0, "elsewhere": 1, "a": 1}})
    method = found.method("sampling")
    assert method.topics[0].details == {"population": 4, "sampled": 2, "relevant": 1}
    assert any("2 documents of the sample left out" in note for note in method.notes)
    assert method.topics[1].total == 0  # nothing unjudged was retrieved, so that there is nothing to draw from


def test_exact_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    docs = [f"x{i}" for i in range(200)]
    held = 0
    for _ in range(300):
        relevant = set(rng.choice(docs, 12, replace=False).tolist())
        drawn = rng.choice(docs, 60, replace=False).tolist()
        sample = {"1": {doc: int(doc in relevant) for doc in drawn}}
        found = estimate_recall({"1": {"a": 1}}, sample=sample, docs=201).method("sampling").overall
        assert found is not None and found.low is not None and found.high is not None
        held += found.low <= 13 <= found.high
    assert held >= 0.95 * 300


def test_a_sample_of_other_topics_or_larger_than_its_source_is_refused() -> None:
    with pytest.raises(EvaluationError, match="have no topic in common"):
        estimate_recall(QRELS, sample={"9": {"x": 1}}, docs=10)
    with pytest.raises(EvaluationError, match="is --docs right"):
        estimate_recall({"1": {"a": 1}}, sample={"1": {"x": 1, "y": 1, "z": 0}}, docs=3)
    with pytest.raises(EvaluationError, match="judged documents, more than that"):
        estimate_recall(QRELS, docs=2)


# Capture and recapture


def test_two_runs_are_two_finders_topic_by_topic() -> None:
    qrels = {"1": dict.fromkeys("abcdef", 1), "2": {"a": 1, "b": 0}}
    runs = [run("x", q1="abcd", q2="ab"), run("y", q1="cde", q2="b")]
    method = estimate_recall(qrels, PooledRuns.of(qrels, runs)).method("recapture")
    one, two = chapman(4, 3, 2), chapman(1, 0, 0)
    assert [topic.total for topic in method.topics] == [one.total, two.total]
    assert method.overall is not None and method.overall.total == pytest.approx(one.total + two.total)
    assert method.overall.details["variance"] == pytest.approx(one.variance + two.variance)
    assert "lower bound" in method.assumption and "positive dependence" in method.assumption


def test_an_estimate_below_what_is_known_says_nothing_about_recall() -> None:
    qrels = {"1": dict.fromkeys("abcdef", 1)}
    runs = [run("x", q1="ab"), run("y", q1="ab")]
    overall = estimate_recall(qrels, PooledRuns.of(qrels, runs)).method("recapture").overall
    assert overall is not None and overall.total == 2 and overall.is_below_known and overall.recall is None


def test_of_several_finders_each_is_held_against_the_others_and_groups_are_one() -> None:
    qrels = {"1": dict.fromkeys("abcdef", 1)}
    runs = [run("x1", q1="ab"), run("x2", q1="abc"), run("y", q1="cd"), run("z", q1="e")]
    found = estimate_recall(qrels, PooledRuns.of(qrels, runs, depth=3)).method("recapture").overall
    assert found is not None and len(found.details["splits"]) == 4
    together = PooledRuns.of(qrels, runs, depth=3, groups={"x1": "X", "x2": "X", "y": "Y", "z": "Y"})
    two = estimate_recall(qrels, together).method("recapture").overall
    assert two is not None and two.total == chapman(3, 3, 1).total and two.details["finders"] == ["X", "Y"]


def test_one_run_or_none_is_no_two_finders() -> None:
    alone = estimate_recall(QRELS, PooledRuns.of(QRELS, [run("x", q1="ab")])).method("recapture")
    assert alone.overall is None and "two finders" in alone.why_not
    none = estimate_recall(QRELS)
    assert [method.overall for method in none.methods] == [None] * 4
    assert all(method.why_not for method in none.methods)


def test_independent_finders_give_the_truth_on_average_and_dependent_ones_less() -> None:
    rng = np.random.default_rng(5)
    totals, dependent = [], []
    for _ in range(200):
        easy = rng.random(120) < 0.5
        one, other = rng.random(120) < 0.5, rng.random(120) < 0.5
        totals.append(chapman(one.sum(), other.sum(), (one & other).sum()).total)
        one, other = (rng.random(120) < np.where(easy, 0.9, 0.1) for _ in range(2))
        dependent.append(chapman(one.sum(), other.sum(), (one & other).sum()).total)
    assert np.mean(totals) == pytest.approx(120, abs=2)
    assert np.mean(dependent) < 90


# Extrapolation


def test_new_relevant_documents_are_counted_at_their_best_rank() -> None:
    qrels = {"1": {"a": 1, "b": 1, "c": 0, "d": 1}, "2": {"a": 1}}
    runs = [run("x", q1="cab", q2="a"), run("y", q1="bcd")]
    pooled = PooledRuns.of(qrels, runs, depth=3)
    assert count_new_relevant(pooled).tolist() == [[1, 1, 1], [1, 0, 0]]
    overall = estimate_recall(qrels, pooled, to=5).method("extrapolation").overall
    law = power_law([1.0, 0.5, 0.5])
    assert overall is not None and law is not None
    assert overall.total == pytest.approx(4 + 2 * law.between(3, 5)) and overall.high is None


def test_extrapolation_needs_a_depth_beyond_the_pool_and_a_fall() -> None:
    pooled = PooledRuns.of({"1": {"a": 1, "b": 0}}, [run("x", q1="ab")])
    with pytest.raises(CranfieldError, match="expected more than the depth of the pool, 2"):
        estimate_recall(pooled.qrels, pooled, to=2)
    shallow = PooledRuns.of({"1": {"a": 1}}, [run("x", q1="a")])
    assert "deeper than 1" in estimate_recall(shallow.qrels, shallow).method("extrapolation").why_not
    growing = PooledRuns.of({"1": {"a": 0, "b": 1}}, [run("x", q1="ab")])
    assert "become fewer" in estimate_recall(growing.qrels, growing).method("extrapolation").why_not


# Outside source


def test_an_outside_source_tells_recall_by_the_share_that_is_known() -> None:
    external = {"1": {"a": 1, "c": 1, "x": 1, "b": 1, "y": 0}, "9": {"a": 1}}
    method = estimate_recall(QRELS, external=external).method("external")
    overall = method.overall
    assert overall is not None
    # a and c are known, x is not, b was judged non-relevant here, y is not relevant there
    assert (overall.details["named"], overall.details["known_here"], overall.details["judged_non_relevant"]) == (
        4,
        2,
        1,
    )
    assert overall.recall == pytest.approx(2 / 3) and overall.total == pytest.approx(3)
    interval = share_interval(2, 3)
    assert overall.high == pytest.approx(2 / interval.low)
    assert overall.low == 3  # two are known, and x is there for sure
    assert method.topics[1].total is None and method.topics[1].note
    assert any("left out: 1" in note for note in method.notes)


def test_an_outside_source_of_which_nothing_is_known_bounds_recall_from_above() -> None:
    overall = estimate_recall({"1": {"a": 1}}, external={"1": {"x": 1, "y": 1}}).method("external").overall
    assert overall is not None and overall.total is None and overall.high is None
    assert overall.low == 3 and overall.recall_high == pytest.approx(1 / 3)


def test_an_outside_source_with_other_topics_is_refused() -> None:
    with pytest.raises(EvaluationError, match="have no topic in common"):
        estimate_recall(QRELS, external={"9": {"a": 1}})


# Runs


def test_the_recall_of_runs_is_over_all_topics_together_at_any_rank() -> None:
    pooled = PooledRuns.of(QRELS, [run("x", q1="abzc", q2="a")], depth=1)
    (one,) = estimate_recall(QRELS, pooled).runs
    assert (one.found, one.recall) == (2, 1.0)
    nothing = PooledRuns.of({"1": {"a": 0}}, [run("x", q1="a")])
    assert estimate_recall(nothing.qrels, nothing).runs[0].recall is None
