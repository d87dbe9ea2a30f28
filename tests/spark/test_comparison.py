"""Comparisons on Spark: the t-test has the bits of the local one, tests by draws agree with it but for chance."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cranfield import CranfieldError, EvaluationError, InputError, evaluate
from cranfield.spark import compare
from cranfield.spark import evaluate as evaluate_on_spark
from cranfield.spark.differences import drawn_times, flips
from cranfield.stats.multiple import adjust
from cranfield.stats.paired import bootstrap_test, permutation_test, t_test
from tests.spark.spark_frames import plain_rows, qrels_frame, run_frame

SCHEMA = "run string, query string, measure string, value double"


def per_query(seed: int, n: int = 60, shift: float = 0.06) -> dict[str, dict[str, float]]:
    rng = random.Random(seed)
    base = [rng.random() * 0.8 for _ in range(n)]
    return {
        "a": {f"q{i}": base[i] for i in range(n)},
        "b": {f"q{i}": min(1.0, max(0.0, base[i] + rng.gauss(shift, 0.2))) for i in range(n)},
        "c": {f"q{i}": round(base[i], 1) for i in range(n - 5)},
    }


def frame_of(spark, scores, measure="AP"):
    rows = [(run, query, measure, value) for run, values in scores.items() for query, value in values.items()]
    return spark.createDataFrame(rows, SCHEMA)


@pytest.fixture(scope="module")
def compared(spark):
    """Three systems on 60 queries, in one task and in many."""
    scores = per_query(3)
    frame = frame_of(spark, scores)
    many = compare(frame.repartition(7), "a", resamples=2000)
    return scores, many, compare(frame.coalesce(1), "a", resamples=2000)


def test_the_t_test_has_the_same_bits(compared):
    scores, found, _ = compared
    assert [(one.system, one.reference, one.measure) for one in found] == [("b", "a", "AP"), ("c", "a", "AP")]
    for one in found:
        local = t_test(scores[one.system], scores[one.reference])
        assert (one.n, one.difference, one.t, one.p) == (local.n, local.estimate, local.statistic, local.pvalue)
        assert (one.interval.low, one.interval.high) == (local.low, local.high)
    assert [one.p_corrected for one in found] == adjust([one.p for one in found], "holm").tolist()
    assert (found[1].only_system, found[1].only_reference) == (0, 5)


def test_tests_by_draws_agree_with_the_local_ones_but_for_chance(compared):
    scores, found, _ = compared
    for one in found:
        pair = scores[one.system], scores[one.reference]
        flipped, drawn = permutation_test(*pair), bootstrap_test(*pair)
        # four standard errors of a share out of 2,000, and the Poisson bootstrap's own: sizes vary
        for ours, theirs in ((one.p_permutation, flipped.pvalue), (one.p_bootstrap, drawn.pvalue)):
            assert ours == pytest.approx(theirs, abs=4 * (max(theirs, 0.01) / 2000) ** 0.5 + 0.01)
        width = drawn.high - drawn.low
        assert one.bootstrap_interval.low == pytest.approx(drawn.low, abs=0.15 * width)
        assert one.bootstrap_interval.high == pytest.approx(drawn.high, abs=0.15 * width)


def test_partitions_change_no_draw(compared):
    _, many, one = compared
    assert many == one


def test_wins_and_losses_are_counted_after_rounding(spark):
    scores = {"a": {"1": 0.35, "2": 0.5, "3": 0.2}, "b": {"1": 0.30, "2": 0.55, "3": 0.2 + 1e-17}}
    (one,) = compare(frame_of(spark, scores), resamples=50)
    assert (one.system, one.wins, one.ties, one.losses) == ("b", 1, 1, 1)


def test_identical_systems_and_one_topic_have_defined_answers(spark):
    same = {"a": {"1": 0.5, "2": 0.25}, "b": {"1": 0.5, "2": 0.25}}
    (one,) = compare(frame_of(spark, same), resamples=50)
    assert (one.p, one.p_permutation, one.p_bootstrap, one.t, one.difference) == (1.0, 1.0, 1.0, None, 0.0)
    assert one.note.startswith("The systems are identical")
    (one,) = compare(frame_of(spark, {"a": {"1": 0.5}, "b": {"1": 0.75}}), resamples=50)
    assert (one.n, one.p, one.interval) == (1, 1.0, None)


def test_scores_of_an_evaluation_are_compared_where_they_are(spark):
    rng = random.Random(1)
    docs = [f"d{i}" for i in range(12)]
    qrels = {f"q{i}": {doc: rng.randint(0, 2) for doc in rng.sample(docs, 6)} for i in range(25)}
    runs = {name: {q: {doc: rng.random() for doc in docs} for q in qrels} for name in ("x", "y")}
    scores = evaluate_on_spark(run_frame(spark, runs), qrels_frame(spark, plain_rows(qrels)), ["AP", "RR"])
    found = compare(scores, measures=["RR"], resamples=50)
    local = evaluate(qrels, runs, ["RR"])
    expected = t_test(local.per_query("RR", "y"), local.per_query("RR", "x"))
    assert [(one.system, one.measure, one.p) for one in found] == [("y", "RR", expected.pvalue)]


def test_what_cannot_be_compared_is_said(spark):
    frame = frame_of(spark, {"a": {"1": 0.5}, "b": {"2": 0.5}})
    with pytest.raises(CranfieldError, match="no query has a score of two of the systems"):
        compare(frame)
    with pytest.raises(CranfieldError, match="the baseline 'z' is none of the systems: a, b"):
        compare(frame, "z")
    with pytest.raises(CranfieldError, match="there is only one system, 'a'"):
        compare(frame.filter("run = 'a'"))
    with pytest.raises(CranfieldError, match="no measure 'RR'"):
        compare(frame, measures=["RR"])
    with pytest.raises(InputError, match="no column 'value'"):
        compare(frame.drop("value"))
    with pytest.raises(InputError, match="column 'value' is of type string, expected numbers"):
        compare(frame.withColumn("value", frame["value"].cast("string")))


def test_rows_that_cannot_be_used_are_counted_and_shown(spark):
    rows = [("a", "1", "AP", 0.5), ("b", "1", "AP", 0.25), ("b", "2", "AP", float("nan")), (None, "3", "AP", 1.0)]
    with pytest.raises(InputError, match=r"2 rows without a name or a finite value, e\.g\..*'b', '2', 'AP', nan"):
        compare(spark.createDataFrame(rows, SCHEMA))
    rows = [("a", "1", "AP", 0.5), ("a", "1", "AP", 0.25), ("b", "1", "AP", 0.25)]
    with pytest.raises(InputError, match=r"1 value given more than once, e\.g\. run 'a', query '1', AP"):
        compare(spark.createDataFrame(rows, SCHEMA))
    run = spark.createDataFrame(
        [("a", "q", "x", None), ("b", "q", "x", 1.0)], "run string, query string, doc string, score double"
    )
    with pytest.raises(InputError, match="1 row without a score"):
        compare(evaluate_on_spark(run, qrels_frame(spark, [("q", "x", 1.0)]), ["RR"]))


def test_what_is_no_mean_over_queries_is_not_compared(spark):
    run = run_frame(spark, {"a": {"q": {"x": 1.0}}, "b": {"q": {"x": 1.0}}, "c": {"p": {"x": 1.0}}})
    qrels = qrels_frame(spark, [("q", "x", 1.0), ("r", "x", 1.0)])
    both = evaluate_on_spark(run, qrels, ["Gini(docs=3)@10", "AP"], runs=["a", "b"])
    with pytest.raises(EvaluationError, match="Gini.*: no mean over queries"):
        compare(both)
    assert [one.measure for one in compare(both, measures="AP", resamples=10)] == ["AP"]
    with pytest.raises(EvaluationError, match="comparisons are of plain means"):
        compare(evaluate_on_spark(run, qrels, ["AP"], runs=["a", "b"], mean="geometric"))
    with pytest.raises(EvaluationError, match="the qrels and run 'c' have no query in common"):
        compare(evaluate_on_spark(run, qrels, ["AP"]))
    with pytest.raises(CranfieldError, match="seed=1180591620717411303424 is out of range"):
        compare(both, measures=["AP"], seed=2**70)


def test_runs_and_queries_may_be_numbers(spark):
    rows = [(run, query, "AP", 0.1 * run + 0.01 * query * run) for run in (1, 2) for query in range(9)]
    numbered = spark.createDataFrame(rows, "run int, query bigint, measure string, value float")
    named = numbered.selectExpr(
        "cast(run as string) run", "cast(query as string) query", "measure", "double(value) value"
    )
    assert compare(numbered, "1", resamples=50) == compare(named, "1", resamples=50)


def test_draws_have_the_distributions_they_should():
    seeds = np.arange(400, dtype=np.uint64) * np.uint64(2654435761)
    signs, times = flips(seeds, 1000), drawn_times(seeds, 1000)
    assert signs.shape == times.shape == (400, 1000)
    assert signs.mean() == pytest.approx(0.5, abs=0.004)
    assert times.mean() == pytest.approx(1, abs=0.008)
    assert times.var() == pytest.approx(1, abs=0.02)
    assert abs(np.corrcoef(signs[:, 0], times[:, 0])[0, 1]) < 0.2
    assert np.array_equal(drawn_times(seeds[5:6], 1000)[0], times[5])
