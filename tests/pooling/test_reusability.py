"""Leaving runs out: the same as thinning out the qrels by hand and evaluating again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.leave_one_out import judged_pool, made_up_runs
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, ttest_rel

from cranfield.data.collection import Qrels, Run
from cranfield.evaluation import evaluate
from cranfield.io import as_qrels, as_run, read_qrels, read_run
from cranfield.joining import join_run
from cranfield.pooling.contributions import PooledRuns
from cranfield.pooling.reevaluation import (
    Reevaluation,
    _fast_t_tests,
    _t_tests,
    compare_all_pairs,
    correlate_rankings,
    ranks,
)
from cranfield.pooling.reusability import LeaveOutResult, leave_out
from cranfield.stats.correlation import tau_ap
from cranfield.stats.multiple import adjust
from cranfield.stats.paired import t_test
from tests.pooling.depth_3_pool import DEPTH_3, runs_of_t
from tests.soak import SOAK, examples

MEASURES = ["nDCG@10", "AP", "Bpref", "RR", "P@10", "AP(judged_only=True)"]


Pairs = set[tuple[str, str]]


def tops_of(runs: Sequence[Run], depth: int) -> list[Pairs]:
    """What each run has within a depth, by sorting a dict."""
    tops = []
    for run in runs:
        found = set()
        for query, docs in run.to_dict().items():
            order = sorted(((score, doc.encode(), doc) for doc, score in docs.items()), reverse=True)
            found |= {(query, doc) for _, _, doc in order[:depth]}
        tops.append(found)
    return tops


def naive(
    qrels: Qrels, runs: Sequence[Run], tops: Sequence[Pairs], members: Sequence[int], measures: Any, rel: float = 1
) -> tuple[dict[str, list[float]], dict[str, np.ndarray]]:
    """Drop from a dict what no other run has within the depth, and evaluate every run by the front door."""
    own = set().union(*(tops[r] for r in members))
    unique = own - set().union(*(top for r, top in enumerate(tops) if r not in members))
    kept = [
        (query, doc, grade)
        for query, docs in qrels.to_dict().items()
        for doc, grade in docs.items()
        if (query, doc) not in unique or grade < 0
    ]
    reduced = Qrels.from_rows(*map(list, zip(*kept, strict=True)), empty_queries=qrels.queries)
    scores = evaluate(reduced, {run.name: run for run in runs}, list(measures), rel=rel)
    means = {label: [scores.mean(label, run.name) for run in runs] for label in measures}
    values = {label: np.array([scores.values(label, run.name) for run in runs]) for label in measures}
    return means, values


def only_judged(run: Run, qrels: Qrels) -> Run:
    """A run without the queries that nobody judged, which take most of the time."""
    lists = [(query, run.of(query).to_dict()[query]) for query in run.queries if query in qrels.queries]
    return as_run(dict(lists), name=run.name)


def one_by_one(values: np.ndarray, alpha: float = 0.05) -> list[int]:
    """The verdict of each pair of runs, by SciPy's t-test and Holm's correction."""
    pairs = [(i, j) for i in range(len(values)) for j in range(i + 1, len(values))]
    p = adjust([float(ttest_rel(values[i], values[j]).pvalue) for i, j in pairs], "holm")
    signs = [int(np.sign(values[i].mean() - values[j].mean())) for i, j in pairs]
    return [sign if value <= alpha else 0 for sign, value in zip(signs, p, strict=True)]


def check_against_naive(
    side: LeaveOutResult,
    runs: Sequence[Run],
    full: Mapping[str, np.ndarray],
    told_apart: Mapping[str, list[int]],
    reduced: Mapping[str, np.ndarray],
) -> None:
    names = [run.name for run in runs]
    for effect in side.effects:
        before, after = full[effect.measure].mean(axis=1), reduced[effect.measure].mean(axis=1)
        for change in effect.changes:
            r = names.index(change.run)
            assert change.before == pytest.approx(before[r], abs=1e-12)
            assert change.after == pytest.approx(after[r], abs=1e-12)
            assert change.rank_before == 1 + sum(before.round(12) > before[r].round(12))
            assert change.rank_after == 1 + sum(after.round(12) > after[r].round(12))
        assert effect.tau == pytest.approx(float(kendalltau(before.round(12), after.round(12)).statistic))
        assert effect.tau_ap == pytest.approx(tau_ap(before.round(12), after.round(12), variant="b"))
        one, other = told_apart[effect.measure], one_by_one(reduced[effect.measure])
        assert effect.flips.before == sum(map(bool, one)) and effect.flips.after == sum(map(bool, other))
        assert effect.flips.lost == sum(a != 0 and b == 0 for a, b in zip(one, other, strict=True))
        assert effect.flips.gained == sum(a == 0 and b != 0 for a, b in zip(one, other, strict=True))
        assert effect.flips.reversed == sum(a * b < 0 for a, b in zip(one, other, strict=True))


@pytest.mark.slow
def test_leaving_out_the_runs_of_dl19_one_by_one_and_by_group_is_what_naive_recomputation_gives(
    shared_data: Path,
) -> None:
    qrels = read_qrels(shared_data / "dl19/qrels.dl19-passage.txt")
    files = sorted((shared_data / "dl19/runs").glob("*.gz"))
    runs = [only_judged(read_run(file), qrels) for file in files]
    assert len(runs) == 12
    measures = ["nDCG@10", "AP", "Bpref"]
    pooled = PooledRuns.of(qrels, runs, rel=2, groups="^bm25")
    assert pooled.depth == 10
    found = leave_out(pooled, measures)
    assert len(found.runs) == 12 and len(found.groups) == 9
    tops = tops_of(runs, 10)
    full = evaluate(qrels, {run.name: run for run in runs}, measures, rel=2)
    values = {label: np.array([full.values(label, run.name) for run in runs]) for label in measures}
    told_apart = {label: one_by_one(values[label]) for label in measures}
    moved = 0
    for r, side in enumerate(found.runs):
        means, reduced = naive(qrels, runs, tops, [r], measures, 2)
        assert [one.changes[0].after for one in side.effects] == [means[label][r] for label in measures]
        check_against_naive(side, runs, values, told_apart, reduced)
        moved += sum(effect.changes[0].delta_rank != 0 for effect in side.effects)
    assert moved > 5  # there is something to be seen
    assert [side.effects for side in found.groups if len(side.runs) == 1] == [
        side.effects for side in found.runs if not side.name.startswith("bm25")
    ]
    for side in (side for side in found.groups if len(side.runs) > 1):
        members = [r for r, run in enumerate(runs) if run.name in side.runs]
        check_against_naive(side, runs, values, told_apart, naive(qrels, runs, tops, members, measures, 2)[1])


@pytest.mark.soak("statistics")
@pytest.mark.parametrize(("runs", "topics", "depth"), [(100, 250, 100) if SOAK else (7, 9, 12)])
def test_many_runs_are_left_out_as_naive_recomputation_has_it(runs: int, topics: int, depth: int) -> None:
    made = list(made_up_runs(runs, topics, depth, seed=3))
    qrels = judged_pool(made, seed=3)
    pooled = PooledRuns.of(qrels, made, depth=depth)
    found = leave_out(pooled, ["nDCG@10", "AP"])
    assert sum(side.judgments for side in found.runs) > runs
    tops = tops_of(made, depth)
    for r in (0, runs - 1):
        means, _ = naive(qrels, made, tops, [r], ["nDCG@10", "AP"])
        after = [effect.changes[0].after for effect in found.runs[r].effects]
        assert after == pytest.approx([means["nDCG@10"][r], means["AP"][r]], abs=1e-12)


def test_the_reference_case_falls_as_it_should() -> None:
    found = leave_out(PooledRuns.of(DEPTH_3, runs_of_t(), depth=3), ["AP"])
    changes = [side.effects[0].changes[0] for side in found.runs]
    assert [change.before for change in changes] == pytest.approx([0.4166666667, 0.2083333333, 0.65], abs=1e-10)
    assert [change.after for change in changes] == pytest.approx([0.1111111111, 0.0833333333, 0.4666666667], abs=1e-10)
    assert [side.judgments for side in found.runs] == [side.relevant for side in found.runs] == [1, 1, 1]


ORDERS = st.lists(st.permutations([f"d{i}" for i in range(9)]), min_size=2, max_size=5)


@examples(40)
@given(first=ORDERS, second=ORDERS, depth=st.integers(1, 6), seed=st.integers(0, 999))
def test_leaving_out_is_naive_recomputation_on_random_collections(
    first: list[list[str]], second: list[list[str]], depth: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    lists = [{"1": one[:7], **({"2": second[r][:5]} if r < len(second) else {})} for r, one in enumerate(first)]
    runs = [
        as_run({q: {d: float(-(i // 2)) for i, d in enumerate(docs)} for q, docs in own.items()}, name=f"r{r}")
        for r, own in enumerate(lists)
    ]
    grades = {q: {f"d{i}": int(rng.integers(-1, 4)) for i in range(9) if rng.random() < 0.8} for q in ("1", "2")}
    qrels = as_qrels({q: own or {"d0": 1} for q, own in grades.items()})
    found = leave_out(PooledRuns.of(qrels, runs, depth=depth), MEASURES)
    tops = tops_of(runs, depth)
    for r, side in enumerate(found.runs):
        means, _ = naive(qrels, runs, tops, [r], MEASURES)
        for effect in side.effects:
            assert effect.changes[0].after == pytest.approx(means[effect.measure][r], abs=1e-12)


def test_thinned_joins_serve_measures_that_look_at_the_qrels_themselves() -> None:
    rows = [("1", "s1", "a", 1), ("1", "s2", "a", 1), ("1", "s1", "b", 1), ("1", "s2", "c", 0), ("2", "s1", "a", 1)]
    qrels = Qrels.from_rows(
        [row[0] for row in rows], [row[2] for row in rows], [row[3] for row in rows], subtopics=[row[1] for row in rows]
    )
    run = as_run({"1": {"b": 3.0, "c": 2.0, "a": 1.0}, "2": {"a": 1.0}})
    measures = ["alpha_nDCG@5", "ERR_IA@5", "Compat", "StRecall@3"]
    again = Reevaluation(qrels, [join_run(qrels, run)], measures)
    for dropped in range(4):
        kept = np.ones(4, dtype=bool)
        kept[dropped] = False
        part = again.subset_qrels(kept)
        scores = evaluate(part, run, measures)
        assert part.queries == ("1", "2")
        found = again.evaluate_subset(kept)
        assert found.means[:, 0].tolist() == [scores.mean(label) for label in measures]


def test_a_topic_that_loses_all_judgments_stays_and_counts_as_nothing_found() -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 1}}
    runs = [as_run({"1": {"a": 1.0}, "2": {"b": 1.0}}, name="x"), as_run({"2": {"b": 1.0}}, name="y")]
    found = leave_out(PooledRuns.of(qrels, runs, depth=1), ["AP"])
    assert [side.effects[0].changes[0].after for side in found.runs] == [0.5, 0.5]


def test_without_unique_documents_nothing_changes() -> None:
    runs = [as_run({"1": {"a": 2.0, "b": 1.0}}, name="x"), as_run({"1": {"b": 2.0, "a": 1.0}}, name="y")]
    found = leave_out(PooledRuns.of({"1": {"a": 1, "b": 0}}, runs), ["AP"])
    for side in found.runs:
        effect = side.effects[0]
        assert side.judgments == 0 and effect.changes[0].delta == 0 and effect.changes[0].delta_rank == 0
        assert effect.tau == effect.tau_ap == 1 and effect.flips.flipped == 0
    assert found.of_runs[0].mean_change == 0


def test_one_run_alone_has_a_defined_answer() -> None:
    found = leave_out(PooledRuns.of({"1": {"a": 1}}, [{"1": {"a": 1.0}}]), ["AP"])
    effect = found.runs[0].effects[0]
    assert effect.changes[0].after == 0 and effect.changes[0].percent == -100
    assert effect.tau is None and effect.tau_ap is None and effect.flips.flipped == 0
    assert found.of_runs[0].lowest_tau is None


def test_runs_that_are_all_tied_have_no_tau_rather_than_nan() -> None:
    assert correlate_rankings(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 1) == (None, None)
    assert correlate_rankings(np.array([0.5]), np.array([0.5]), 1) == (None, None)


def test_where_less_is_better_ranks_and_losses_are_turned_round() -> None:
    assert ranks(np.array([3.0, 1.0, 2.0]), -1).tolist() == [3, 1, 2]
    assert correlate_rankings(np.array([3.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.5]), -1) == (1.0, 1.0)


@examples(50)
@given(seed=st.integers(0, 9_999), n=st.integers(1, 12), m=st.integers(2, 6))
def test_all_pairs_at_once_are_tested_as_one_by_one(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (m, n)) / 4 + (rng.random((m, 1)) < 0.5) * 0.5
    pairs = [(i, j) for i in range(m) for j in range(i + 1, m)]
    tested = [t_test(values[i], values[j]) for i, j in pairs]
    p = adjust([one.pvalue for one in tested], "holm")
    expected = [int(np.sign(one.estimate)) if one_p <= 0.05 else 0 for one, one_p in zip(tested, p, strict=True)]
    assert compare_all_pairs(values, 1).signs.tolist() == expected


@pytest.mark.parametrize("n", [2, 3, 50])
def test_tests_by_covariances_say_what_those_of_differences_say(n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.random((12, n))
    values[3] = values[2]  # identical
    values[4] = values[2] + 0.25  # a constant difference
    values[5] = values[2] + 1e-9 * rng.random(n)  # a difference that variances cannot show
    values[6:8] = 0.0
    one, other = np.triu_indices(len(values), 1)
    quick, exact = _fast_t_tests(values, one, other), _t_tests(values, one, other)
    for found, expected in zip(quick, exact, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-15)
    tested = [t_test(values[i], values[j]) for i, j in zip(one, other, strict=True)]
    np.testing.assert_allclose(exact[1], [test.pvalue for test in tested], rtol=1e-9, atol=1e-15)


def test_a_p_value_that_is_all_but_alpha_is_looked_at_with_care() -> None:
    values = np.random.default_rng(1).random((2, 30))
    p = t_test(values[0], values[1]).pvalue
    assert compare_all_pairs(values, 1, alpha=p).significant == 1
    assert compare_all_pairs(values, 1, alpha=p * (1 - 1e-12)).significant == 0


def test_a_measure_that_does_not_rank_runs_is_refused() -> None:
    pooled = PooledRuns.of({"1": {"a": 1}}, [{"1": {"a": 1.0}}])
    with pytest.raises(Exception, match="Judged@10 is not a quality measure"):
        leave_out(pooled, ["Judged@10"])


def test_the_summary_tells_who_loses_most_and_how_runs_would_be_ranked() -> None:
    pooled = PooledRuns.of(DEPTH_3, runs_of_t(), depth=3, groups={"A": "X", "B": "X"})
    found = leave_out(pooled, ["AP"])
    (standing,) = found.of_runs
    assert standing.worst.run == "A" and math.isclose(standing.worst.delta, -0.3055555556, abs_tol=1e-9)
    changes = [side.effects[0].changes[0] for side in found.runs]
    tau, _ = correlate_rankings(np.array([c.before for c in changes]), np.array([c.after for c in changes]), 1)
    assert standing.tau == tau
    assert [side.runs for side in found.groups] == [("A", "B"), ("C",)]
    assert found.groups[0].judgments == 3  # d1, d2 and d8: d3 and d7 are in C's list too
