"""The gate: worse, not worse or undecided, by one-sided paired t-tests beyond a margin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cranfield import CranfieldError, EvaluationError, Run, as_run, evaluate, read_run
from cranfield.measures import parse_measure
from cranfield.stats.gate import Gate, GateDecision, GateRule, decide, gate, gate_scores
from cranfield.stats.power import topics_needed
from cranfield.stats.score_table import ScoredMeasure
from tests.soak import SOAK, examples

NDCG = ScoredMeasure("nDCG@10", parse_measure("nDCG@10"))
FALLOUT = ScoredMeasure("Fallout", parse_measure("Fallout"))
EXAMPLE = Path(__file__).parents[2] / "src/cranfield/example"
# case C1 of the paired tests: ten topics, three ties among the differences, one of 0
A = [0.10, 0.35, 0.42, 0.20, 0.55, 0.61, 0.08, 0.30, 0.47, 0.25]
B = [0.05, 0.30, 0.45, 0.10, 0.50, 0.40, 0.10, 0.22, 0.47, 0.12]


def topics(values: Any) -> dict[str, float]:
    return {f"q{i}": float(value) for i, value in enumerate(values)}


def decided(baseline: Any, candidate: Any, measure: ScoredMeasure = NDCG, **rule: Any) -> GateDecision:
    return decide(measure, topics(baseline), topics(candidate), GateRule(**rule))


def test_without_margin_p_and_bounds_are_those_of_the_paired_t_test() -> None:
    """Case C1 by R and SciPy: t = 2.6914, df 9, p of either side."""
    found = decided(baseline=A, candidate=B, max_drop=0)
    assert found.t == pytest.approx(-2.691415722806, abs=1e-11)
    assert found.p_worse == pytest.approx(0.01236954130299, abs=1e-12)
    assert found.p_not_worse == pytest.approx(0.9876304586970, abs=1e-12)
    assert found.difference == pytest.approx(-0.062) and found.drop == pytest.approx(0.062)
    assert (found.wins, found.ties, found.losses) == (2, 1, 7)
    assert found.verdict == "worse" and not found.passed


@pytest.mark.parametrize("max_drop", [0.0, 0.01, 0.03, 0.2])
@pytest.mark.parametrize("n", [2, 5, 50])
def test_figures_are_those_of_scipy_with_the_margin_added(n: int, max_drop: float) -> None:
    rng = np.random.default_rng([n, int(100 * max_drop)])
    baseline, candidate = rng.random(n), rng.random(n)
    found = decided(baseline, candidate, max_drop=max_drop)
    worse = stats.ttest_rel(candidate + max_drop, baseline, alternative="less")
    not_worse = stats.ttest_rel(candidate + max_drop, baseline, alternative="greater")
    assert found.p_worse == pytest.approx(worse.pvalue, rel=1e-9)
    assert found.p_not_worse == pytest.approx(not_worse.pvalue, rel=1e-9)
    assert found.t == pytest.approx(worse.statistic, rel=1e-9)
    assert found.high == pytest.approx(worse.confidence_interval(0.95).high - max_drop, rel=1e-9)
    assert found.low == pytest.approx(not_worse.confidence_interval(0.95).low - max_drop, rel=1e-9)
    assert found.candidate_mean - found.baseline_mean == pytest.approx(found.difference)


def test_bounds_and_tests_agree() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        baseline = rng.random(12)
        found = decided(baseline, baseline + rng.normal(-0.05, 0.08, 12), max_drop=0.05)
        assert found.low is not None and found.high is not None
        assert (found.verdict == "worse") == (found.high < found.allowed)
        assert (found.verdict == "not worse") == (found.low > found.allowed)


def test_where_less_is_better_a_drop_is_a_rise() -> None:
    rose = decided(B, [b + a for a, b in zip(A, B, strict=True)], FALLOUT)
    fell = decided([b + a for a, b in zip(A, B, strict=True)], B, FALLOUT)
    assert rose.verdict == "worse" and rose.difference > 0 and rose.drop == pytest.approx(rose.difference)
    assert rose.allowed == 0.01 and rose.low is not None and rose.low > rose.allowed
    assert "rose by" in rose.sentence
    assert fell.verdict == "not worse" and fell.drop < 0 and (fell.wins, fell.losses) == (10, 0)
    assert rose.worst[0].query == "q5"


def test_turning_the_sign_of_a_measure_turns_the_figures_only() -> None:
    more = decided(A, B)
    less = decided([-a for a in A], [-b for b in B], FALLOUT)
    assert (less.verdict, less.p_worse, less.p_not_worse, less.drop) == (
        more.verdict,
        more.p_worse,
        more.p_not_worse,
        more.drop,
    )
    assert more.low is not None and more.high is not None
    assert (less.low, less.high, less.difference) == (-more.high, -more.low, -more.difference)
    assert less.t == -more.t if more.t is not None else less.t is None


@pytest.mark.parametrize("n", [1, 2, 3, 50])
@pytest.mark.parametrize("max_drop", [0.0, 0.01])
def test_identical_systems_pass_even_where_proof_is_required(n: int, max_drop: float) -> None:
    values = np.linspace(0, 1, n)
    found = decided(values, values, max_drop=max_drop, require_proof=True)
    assert found.verdict == "not worse" and found.passed and found.identical
    assert found.difference == 0 and (found.low, found.high) == (0, 0)
    assert found.p_worse == 1 and found.topics_needed is None and found.noticed_drop is None


@pytest.mark.parametrize("candidate", [0.0, 0.89, 0.95])
def test_one_topic_decides_nothing_unless_it_is_the_same(candidate: float) -> None:
    found = decided([0.9], [candidate])
    assert found.verdict == "undecided" and found.passed
    assert (found.low, found.high, found.sd, found.t, found.topics_needed) == (None, None, None, None, None)
    assert not decided([0.9], [candidate], require_proof=True).passed


@pytest.mark.parametrize(("n", "verdict"), [(2, "undecided"), (4, "undecided"), (5, "worse"), (50, "worse")])
def test_without_variance_a_drop_is_shown_by_five_topics_at_the_usual_level(n: int, verdict: str) -> None:
    found = decided(np.full(n, 0.5), np.full(n, 0.25))
    assert found.verdict == verdict and found.t is None
    assert found.p_worse == 0.5**n and found.p_not_worse == 1
    assert found.topics_needed == (5 if verdict == "undecided" else None)


def test_a_drop_that_is_just_what_is_allowed_is_undecided() -> None:
    found = decided(np.full(50, 0.5), np.full(50, 0.25), max_drop=0.25)
    assert found.verdict == "undecided" and found.p_worse == found.p_not_worse == 1
    assert found.topics_needed is None


def test_a_large_drop_with_a_large_spread_is_undecided_and_says_how_many_topics_would_do() -> None:
    found = decided([0.9, 0.8, 0.7, 0.9], [0.1, 0.9, 0.6, 0.8])
    assert found.verdict == "undecided" and found.sd is not None
    assert found.topics_needed == topics_needed(found.drop - 0.01, found.sd, alternative="one-sided")
    assert found.topics_needed is not None and found.topics_needed > found.n


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.45])
@pytest.mark.parametrize("n", [4, 9, 25, 60])
def test_power_is_that_of_the_one_sided_test(alpha: float, n: int) -> None:
    """The chance that SciPy's noncentral t gives is four in five at the least, and just that for the drop noticed."""
    stats = pytest.importorskip("scipy.stats")

    def chance(topics: int, drop: float, sd: float) -> float:
        shift = abs(drop - 0.01) / sd * math.sqrt(topics)
        return float(stats.nct.sf(stats.t.isf(alpha, topics - 1), topics - 1, shift))

    rng = np.random.default_rng(n)
    for mean in (-0.03, -0.015, 0.0):
        noise = rng.normal(0, 1, n)
        found = decided(np.zeros(n), mean + 0.2 * (noise - noise.mean()) / noise.std(ddof=1), alpha=alpha)
        assert found.sd is not None and found.noticed_drop is not None
        assert chance(n, found.noticed_drop, found.sd) == pytest.approx(0.8, abs=1e-9)
        if found.verdict == "undecided":
            needed = found.topics_needed
            assert needed is not None and chance(needed, found.drop, found.sd) >= 0.8
            assert needed == 2 or chance(needed - 1, found.drop, found.sd) < 0.8


def test_the_topics_needed_do_decide_four_times_in_five() -> None:
    rng = np.random.default_rng(3)
    pilot = rng.normal(-0.04, 0.12, 20)
    found = decided(np.zeros(20), pilot)
    assert found.verdict == "undecided" and found.topics_needed is not None and found.sd is not None
    n, trials = found.topics_needed, 400
    samples = rng.normal(found.difference, found.sd, (trials, n))
    shown = sum(decided(np.zeros(n), sample).verdict == "worse" for sample in samples)
    assert shown / trials == pytest.approx(0.8, abs=0.07)


def test_the_drop_that_would_be_noticed_is_noticed_four_times_in_five() -> None:
    rng = np.random.default_rng(4)
    found = decided(np.zeros(30), rng.normal(0, 0.1, 30))
    assert found.noticed_drop is not None and found.sd is not None
    samples = rng.normal(-found.noticed_drop, found.sd, (400, 30))
    shown = sum(decided(np.zeros(30), sample).verdict == "worse" for sample in samples)
    assert shown / 400 == pytest.approx(0.8, abs=0.07)


@pytest.mark.soak("statistics")
@pytest.mark.simulation
def test_at_a_true_drop_of_just_what_is_allowed_either_error_is_as_rare_as_promised() -> None:
    """Differences of real runs, centred on the margin and drawn anew: false alarms, and proofs, in α of the trials."""
    scores = evaluate(EXAMPLE / "qrels.txt", [EXAMPLE / "bm25.run", EXAMPLE / "rm3.run"], ["nDCG@10"])
    # hardly skewed: where differences are, the t-test is off by a point or two either way
    differences = scores.values("nDCG@10", "rm3.run") - scores.values("nDCG@10", "bm25.run")
    centred = differences - differences.mean() - 0.01
    trials, n = (20_000 if SOAK else 3_000), 50
    drawn = np.random.default_rng(5).choice(centred, (trials, n))
    verdicts = [decided(np.zeros(n), sample).verdict for sample in drawn]
    assert 0.04 < verdicts.count("worse") / trials < 0.06
    assert 0.04 < verdicts.count("not worse") / trials < 0.06


@examples(50)
@given(
    pairs=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12),
    max_drop=st.sampled_from([0.0, 0.01, 0.25]),
    alpha=st.sampled_from([0.001, 0.05, 0.2, 0.49]),
    more_is_better=st.booleans(),
)
def test_nothing_is_both_worse_and_shown_not_to_be(
    pairs: list[tuple[float, float]], max_drop: float, alpha: float, more_is_better: bool
) -> None:
    baseline, candidate = zip(*pairs, strict=True)
    found = decided(baseline, candidate, NDCG if more_is_better else FALLOUT, max_drop=max_drop, alpha=alpha)
    assert not (found.p_worse <= alpha and found.p_not_worse <= alpha)
    strict = decided(
        baseline, candidate, NDCG if more_is_better else FALLOUT, max_drop=max_drop, alpha=alpha, require_proof=True
    )
    # whoever passes with proof passes without
    assert found.passed or not strict.passed
    # no figure is NaN, and the mean is between its bounds
    figures = [found.difference, found.p_worse, found.p_not_worse, found.baseline_mean, found.candidate_mean]
    known = [f for f in (*figures, found.low, found.high, found.sd, found.t, found.noticed_drop) if f is not None]
    assert all(map(math.isfinite, known))
    assert found.low is None or found.low <= found.difference + 1e-12
    assert found.high is None or found.high >= found.difference - 1e-12
    assert found.wins + found.ties + found.losses == found.n
    # what is worse is a drop of more than is allowed, and the sentence names the measure
    assert found.verdict != "worse" or found.drop > max_drop
    assert found.measure in found.sentence and "nan" not in found.sentence


def test_the_worst_topics_are_named_in_order() -> None:
    found = decide(
        NDCG, {"q10": 0.5, "q9": 0.5, "b": 1.0, "a": 0.2}, {"q10": 0.25, "q9": 0.25, "b": 0.5, "a": 0.4}, GateRule()
    )
    assert [loss.query for loss in found.worst] == ["b", "q9", "q10"]
    assert (found.worst[0].baseline, found.worst[0].candidate) == (1.0, 0.5)


@pytest.mark.parametrize(
    "wrong",
    [{"max_drop": -0.01}, {"max_drop": math.nan}, {"max_drop": math.inf}, {"alpha": 0}, {"alpha": 0.5}, {"alpha": 2}],
)
def test_impossible_rules_are_refused(wrong: Mapping[str, float]) -> None:
    with pytest.raises(CranfieldError, match="out of range"):
        GateRule(**wrong)  # type: ignore[arg-type]


def test_a_correction_that_is_unknown_is_refused() -> None:
    with pytest.raises(CranfieldError, match="unknown correction 'bh': expected one of none, holm"):
        gate(None, {"q": 0.1}, {"q": 0.1}, correction="bh")  # type: ignore[arg-type]


# Runs, scores, and both


def example(candidate: str, *measures: str, baseline: str = "bm25.run", **options: Any) -> Gate:
    return gate(EXAMPLE / "qrels.txt", EXAMPLE / baseline, EXAMPLE / candidate, measures or "nDCG@10", **options)


def test_the_same_run_passes_and_a_degraded_one_fails() -> None:
    assert example("bm25.run", require_proof=True).passed
    degraded = example("titles.run")
    assert not degraded.passed and degraded.verdict == "worse"
    assert bool(degraded) is False and "fell by 0.2944" in str(degraded)


def test_undecided_passes_unless_proof_is_required() -> None:
    assert example("tfidf.run", baseline="lsi.run").verdict == "undecided"
    assert example("tfidf.run", baseline="lsi.run").passed
    assert not example("tfidf.run", baseline="lsi.run", require_proof=True).passed


def test_every_measure_must_pass() -> None:
    found = example("titles.run", "AP", "RR", max_drop=0.2)
    assert [decision.verdict for decision in found.decisions] == ["undecided", "worse"]
    assert found.verdict == "worse" and not found.passed


def test_holm_makes_a_false_alarm_on_any_of_several_measures_as_rare_as_on_one() -> None:
    measures = ("nDCG@10", "AP", "P@10")
    plain = example("tfidf.run", *measures, baseline="lsi.run", max_drop=0)
    holm = example("tfidf.run", *measures, baseline="lsi.run", max_drop=0, correction="holm")
    p = [decision.p_worse for decision in plain.decisions]
    corrected = [decision.p_worse_corrected for decision in holm.decisions]
    assert [d.p_worse_corrected for d in plain.decisions] == p
    assert [d.p_worse for d in holm.decisions] == p
    low, middle, high = sorted(range(3), key=p.__getitem__)
    assert corrected[low] == pytest.approx(3 * p[low])
    assert corrected[middle] == pytest.approx(max(3 * p[low], 2 * p[middle]))
    assert not plain.passed and holm.passed
    # with proof required each measure must be shown by itself, which needs no correction
    assert [d.p_not_worse for d in holm.decisions] == [d.p_not_worse for d in plain.decisions]


def test_runs_in_memory_and_in_files_are_decided_alike() -> None:
    of_files = example("titles.run").decisions
    baseline = read_run(EXAMPLE / "bm25.run")
    candidate = read_run(EXAMPLE / "titles.run").to_dict()
    in_memory = gate(EXAMPLE / "qrels.txt", baseline, candidate)
    assert in_memory.decisions == of_files
    assert (in_memory.baseline.name, in_memory.candidate.name) == ("bm25.run", "candidate")


def test_scores_may_stand_for_runs() -> None:
    of_files = example("titles.run").decisions
    scores = [evaluate(EXAMPLE / "qrels.txt", EXAMPLE / name, ["nDCG@10"]) for name in ("bm25.run", "titles.run")]
    assert gate(None, *scores).decisions == of_files
    maps = [one.per_query("nDCG@10") for one in scores]
    assert gate(None, *maps).decisions == of_files
    # the baseline as it was saved, the candidate as a run
    mixed = gate(EXAMPLE / "qrels.txt", maps[0], EXAMPLE / "titles.run")
    assert mixed.decisions == of_files
    assert (mixed.baseline.name, mixed.candidate.name) == ("baseline", "titles.run")


def test_scores_of_two_runs_evaluated_together_are_decided_as_such() -> None:
    both = evaluate(EXAMPLE / "qrels.txt", [EXAMPLE / "bm25.run", EXAMPLE / "titles.run"], ["nDCG@10", "AP"])
    assert gate_scores(both, GateRule()).decisions == example("titles.run", "nDCG@10", "AP").decisions
    with pytest.raises(CranfieldError, match="expected the scores of two runs"):
        gate_scores(evaluate(EXAMPLE / "qrels.txt", EXAMPLE / "bm25.run"), GateRule())


def test_a_data_frames_column_is_scores_by_its_index() -> None:
    pandas = pytest.importorskip("pandas")
    before, after = pandas.Series([0.5, 0.7], index=["q1", "q2"]), pandas.Series([0.7, 0.5], index=["q2", "q1"])
    assert gate(None, before, after).decisions[0].identical


def test_topics_that_only_one_has_a_score_for_are_left_out_and_named() -> None:
    found = gate(None, {"1": 0.5, "2": 0.6, "3": 0.1}, {2: 0.6, 1: 0.5, 4: 0.9})
    assert found.decisions[0].identical and found.decisions[0].n == 2
    assert found.decisions[0].only_baseline == ("3",) and found.decisions[0].only_candidate == ("4",)
    assert any("only baseline has a score for 1 topic ('3')" in warning for warning in found.warnings)


def test_queries_that_a_run_lacks_count_as_zero_or_are_left_out_which_is_said() -> None:
    zero, skipped = example("titles.run"), example("titles.run", missing="skip")
    assert (zero.decisions[0].n, skipped.decisions[0].n) == (30, 23)
    assert "titles.run lacks 7 queries with judgments, which count as 0." in zero.warnings
    assert "titles.run lacks 7 queries with judgments, which are left out." in skipped.warnings
    with pytest.raises(EvaluationError):
        example("titles.run", missing="error")


def test_a_difference_in_unjudged_documents_is_a_warning() -> None:
    qrels = {str(q): {"good": 1, "bad": 0} for q in range(30)}
    judged: Run = as_run({q: {"good": 2.0, "bad": 1.0} for q in qrels})
    unjudged = as_run({q: {"new": 2.0, "bad": 1.0} for q in qrels})
    worse = gate(qrels, judged, unjudged, "P@1")
    assert worse.verdict == "worse" and (worse.baseline.unjudged, worse.candidate.unjudged) == (0.0, 0.5)
    assert any("may be due to missing judgments" in warning for warning in worse.warnings)
    better = gate(qrels, unjudged, judged, "P@1")
    assert any("a drop may be hidden" in warning for warning in better.warnings)
    assert not any("unjudged" in warning for warning in gate(qrels, judged, judged, "P@1").warnings)


def test_few_topics_are_a_warning() -> None:
    scores = evaluate(EXAMPLE / "qrels.txt", [EXAMPLE / "bm25.run", EXAMPLE / "lm.run"], ["nDCG@10"])
    few = gate_scores(scores.select(scores.queries[:20]), GateRule())
    assert any(warning.startswith("20 topics: so few") for warning in few.warnings)
    assert gate_scores(scores, GateRule()).warnings == () and example("bm25.run").warnings == ()


def test_measures_are_known_by_any_name_and_unknown_ones_are_taken_as_better_if_more() -> None:
    assert example("titles.run", "ndcg_cut_10").decisions[0].p_worse == example("titles.run").decisions[0].p_worse
    own = gate(None, {"q": 0.5}, {"q": 0.5}, "answer quality")
    assert own.notes == ("answer quality is not in the catalogue of measures: more is assumed to be better.",)
    assert not gate(None, topics(B), topics(A), "Fallout", max_drop=0).passed


def test_counts_are_compared_by_their_mean_and_what_is_no_mean_is_refused() -> None:
    assert example("lm.run", "NumRelRet").notes[0] == "NumRelRet is a count: its mean over topics is compared."
    for measure in ("gm_map", "GMAP"):
        with pytest.raises(CranfieldError):
            example("lm.run", measure)
    with pytest.raises(EvaluationError, match="plain means"):
        example("lm.run", mean="median")


def test_what_would_be_ignored_or_misread_is_refused_or_said() -> None:
    with pytest.raises(CranfieldError, match="'ties' would have no effect"):
        gate(None, {"q": 0.5}, {"q": 0.5}, ties="best")
    with pytest.raises(CranfieldError, match="pass the qrels as well"):
        gate(None, {"q": 0.5}, {"q": {"d": 0.5}})
    with pytest.raises(CranfieldError, match="has the scores of one measure"):
        gate(None, {"q": 0.5}, {"q": 0.5}, ["AP", "RR"])
    two = evaluate(EXAMPLE / "qrels.txt", [EXAMPLE / "bm25.run", EXAMPLE / "lm.run"], ["nDCG@10"])
    with pytest.raises(CranfieldError, match="expected one run as baseline"):
        gate(None, two, {"1": 0.5})
    with pytest.raises(CranfieldError, match="no topic has a score of both"):
        gate(None, {"q": 0.5}, {"p": 0.5})
    with pytest.raises(CranfieldError, match="cannot be compared"):
        gate(None, {"q": 0.5}, {"q": math.nan})
    assert gate("qrels.txt", {"q": 0.5}, {"q": 0.5}).notes == ("Both sides are scores: the qrels were not used.",)


def test_a_degraded_run_of_a_real_track_fails_and_the_same_one_passes(shared_data: Path) -> None:
    qrels = shared_data / "dl19/qrels.dl19-passage.txt"
    run = read_run(shared_data / "dl19/runs/bm25base_p.gz")
    # the best five of each query moved to the end
    degraded: dict[str, dict[str, float]] = {}
    for query, docs in run.to_dict().items():
        best = sorted(docs, key=docs.__getitem__, reverse=True)[:5]
        degraded[query] = {doc: -1e9 + score if doc in best else score for doc, score in docs.items()}
    assert not gate(qrels, run, degraded).passed
    assert gate(qrels, run, run.to_dict(), require_proof=True).passed
