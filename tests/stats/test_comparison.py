"""Comparisons: the numbers of the reference cases, defaults, families, directions, gaps, and the sentences."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation import Evaluator, evaluate
from cranfield.stats.claims import find_claims
from cranfield.stats.comparison import Comparison, compare, make_leaderboard, rank_systems
from cranfield.stats.comparison_warnings import find_warnings
from cranfield.stats.effects import effect
from cranfield.stats.measure_comparison import TESTS
from cranfield.stats.multiple import PVALUE_CORRECTIONS, adjust, max_t, randomised_tukey, two_way_tukey
from cranfield.stats.paired import PAIRED_TESTS, permutation_test, t_test
from cranfield.stats.score_table import as_score_table
from cranfield.stats.user_impact import _describe_documents
from cranfield.tables import format_p
from tests.soak import examples

A = [0.10, 0.35, 0.42, 0.20, 0.55, 0.61, 0.08, 0.30, 0.47, 0.25]
B = [0.05, 0.30, 0.45, 0.10, 0.50, 0.40, 0.10, 0.22, 0.47, 0.12]
X = np.array([[0.10, 0.20, 0.45], [0.30, 0.25, 0.50], [0.55, 0.60, 0.75], [0.20, 0.40, 0.35]])
NAN = math.nan


def table(measure: Any = "AP", **systems: Any) -> dict[str, dict[str, dict[str, float]]]:
    return {name: {measure: {str(i): float(v) for i, v in enumerate(own)}} for name, own in systems.items()}


def random_table(systems: int, topics: int, seed: int = 1, *measures: str) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        f"s{i}": {m: dict(zip(map(str, range(topics)), rng.random(topics).tolist(), strict=True)) for m in measures}
        for i in range(systems)
    }


def texts(comparison: Comparison, kind: str) -> list[str]:
    return [claim.text for claim in comparison.claims if claim.kind == kind]


def test_two_systems_are_compared_by_t_with_permutation_beside() -> None:
    pair = compare(table(b=B, a=A)).pair("a", "b")
    assert pair.design.method == "paired t-test" and pair.design.beside_name == "paired permutation test"
    assert pair.statistic == pytest.approx(2.691415722806, abs=1e-8)
    assert pair.p == pair.p_adjusted == pytest.approx(0.02473908260598, abs=1e-8)
    assert pair.p_beside == pair.p_beside_adjusted == 0.02734375
    assert pair.difference == pytest.approx(0.062)
    assert (pair.low, pair.high) == pytest.approx((0.009888487496929, 0.1141115125031), abs=1e-8)
    assert pair.effect.d_z == pytest.approx(0.8511003814454, abs=1e-8)
    assert pair.effect.hedges_g == pytest.approx(0.7777992689980, abs=1e-8)
    assert pair.effect.glass_delta == pytest.approx(0.3551468417852, abs=1e-8)
    assert (pair.effect.wins, pair.effect.ties, pair.effect.losses, pair.effect.superiority) == (7, 1, 2, 0.75)
    assert pair.family == 1 and pair.verdict == "better"


def test_more_are_compared_by_the_randomised_tukey_test() -> None:
    comparison = compare(table(S0=X[:, 0], S1=X[:, 1], S2=X[:, 2]))
    assert comparison.design.test == "tukey" and comparison.references == ()
    found = [comparison.pair(*names).p_adjusted for names in (("S0", "S1"), ("S0", "S2"), ("S1", "S2"))]
    assert found == pytest.approx([0.7777777777778, 0.0370370370370, 0.3101851851852], abs=1e-8)
    assert comparison.column().letters == ("a", "ab", "b")[::-1]
    assert comparison.pair("S0", "S1").family == 3


def test_tukey_is_that_of_the_library_and_pairs_can_be_turned() -> None:
    rng = np.random.default_rng(3)
    scores = rng.random((30, 5)) + np.arange(5) / 5
    for test, known in (("tukey", randomised_tukey(scores, seed=7)), ("tukey-two-way", two_way_tukey(scores))):
        comparison = compare(table(**{f"s{i}": scores[:, i] for i in range(5)}), test=test, seed=7)
        pair, turned = comparison.pair("s4", "s1"), comparison.pair("s1", "s4")
        assert pair.p == turned.p == known.pvalues[4, 1]
        assert (pair.low, pair.high) == (-turned.high, -turned.low)  # type: ignore[operator]
        assert known.low is not None and pair.low == pytest.approx(known.low[4, 1])
        assert pair.residual_effect == -turned.residual_effect  # type: ignore[operator]
        assert pair.difference == -turned.difference and pair.effect.wins == turned.effect.losses


@pytest.mark.parametrize("test", PAIRED_TESTS)
def test_all_pairs_by_a_paired_test_can_be_turned(test: str) -> None:
    comparison = compare(random_table(4, 12, 1, "AP"), test=test)
    pair, turned = comparison.pair("s0", "s2"), comparison.pair("s2", "s0")
    assert pair.p == pytest.approx(turned.p) and pair.p_adjusted == turned.p_adjusted
    assert pair.difference == -turned.difference and pair.family == 6


def test_against_baselines_holm_is_over_all_comparisons_of_a_measure() -> None:
    scores = random_table(4, 25, 2, "AP", "RR")
    comparison = compare(scores, ["s0", "s2"])
    for measure in ("AP", "RR"):
        column = comparison.column(measure)
        measure_comparison = {name: column.scores[:, i] for i, name in enumerate(column.names)}
        # s2 against s0 and s0 against s2 are one comparison
        asked = [("s1", "s0"), ("s2", "s0"), ("s3", "s0"), ("s1", "s2"), ("s3", "s2")]
        t = adjust([t_test(measure_comparison[a], measure_comparison[b]).pvalue for a, b in asked])
        flipped = adjust([permutation_test(measure_comparison[a], measure_comparison[b]).pvalue for a, b in asked])
        found = [column.pair(a, b) for a, b in asked]
        assert [pair.p_adjusted for pair in found] == pytest.approx(t.tolist())
        assert [pair.p_beside_adjusted for pair in found] == pytest.approx(flipped.tolist())
        assert {pair.family for pair in found} == {5}
        assert column.pair("s0", "s2").p_adjusted == column.pair("s2", "s0").p_adjusted
        assert column.pair("s0", "s2").difference == -column.pair("s2", "s0").difference
    assert len(comparison.pairs) == 12
    assert "Holm for the 5 comparisons in a column" in comparison.caption


def test_a_family_may_be_the_whole_table() -> None:
    scores = random_table(3, 25, 2, "AP", "RR")
    comparison = compare(scores, "s0", family="table")
    raw = [pair.p for pair in comparison.pairs]
    assert [pair.p_adjusted for pair in comparison.pairs] == pytest.approx(adjust(raw).tolist())
    assert {pair.family for pair in comparison.pairs} == {4}
    assert "4 comparisons in the table" in comparison.caption


@pytest.mark.parametrize("correction", PVALUE_CORRECTIONS)
def test_every_correction_is_that_of_the_library(correction: str) -> None:
    comparison = compare(random_table(5, 20, 4, "AP"), "s0", correction=correction, test="permutation")
    raw = [pair.p for pair in comparison.pairs]
    assert [pair.p_adjusted for pair in comparison.pairs] == adjust(raw, correction).tolist()


def test_maxt_is_that_of_the_library() -> None:
    comparison = compare(random_table(4, 20, 5, "AP"), "s3", correction="maxt", seed=3)
    column = comparison.column()
    assert [column.pair(s, "s3").p_adjusted for s in ("s0", "s1", "s2")] == max_t(column.scores, 3, seed=3).tolist()


def joint_max_t(differences: Any) -> list[float]:
    """Step-down MaxT by its definition: every flip of topics, the largest |t| among those not yet rejected."""
    n = len(differences)

    def t(d: Any) -> Any:
        return np.abs(d.mean(axis=0) / (d.std(axis=0, ddof=1) / math.sqrt(n)))

    flipped = np.array([t(differences * np.array(signs)[:, None]) for signs in itertools.product((1, -1), repeat=n)])
    observed = t(differences)
    order = np.argsort(-observed)
    found, last = [0.0] * len(order), 0.0
    for k, at in enumerate(order):
        last = max(last, float(np.mean(flipped[:, order[k:]].max(axis=1) >= observed[at] - 1e-9)))
        found[at] = last
    return found


def test_maxt_corrects_over_all_baselines_together() -> None:
    comparison = compare(random_table(4, 8, 5, "AP"), ["s0", "s3"], correction="maxt")
    column = comparison.column()
    asked = [("s1", "s0"), ("s2", "s0"), ("s3", "s0"), ("s1", "s3"), ("s2", "s3")]
    by_name = dict(zip(column.names, column.scores.T, strict=True))
    expected = joint_max_t(np.stack([by_name[a] - by_name[b] for a, b in asked], axis=1))
    assert [column.pair(*names).p_adjusted for names in asked] == pytest.approx(expected)
    assert column.pair("s0", "s3").p_adjusted == column.pair("s3", "s0").p_adjusted
    assert {pair.family for pair in comparison.pairs} == {5}
    assert "MaxT step-down on t (sign flips), α = .05, p corrected for the 5 comparisons" in comparison.caption
    assert "(all 256 sign flips)" in comparison.caption and "paired t-test, Holm-corrected" in comparison.caption
    assert "(MaxT step-down on t (sign flips), 5 comparisons; t with Holm" in comparison.claims[0].text


@pytest.mark.parametrize("topics", [6, 30])
def test_maxt_is_never_below_its_uncorrected_p(topics: int) -> None:
    for seed in range(5):
        comparison = compare(random_table(5, topics, seed, "AP"), ["s0", "s1"], correction="maxt", resamples=500)
        assert all(pair.p <= pair.p_adjusted for pair in comparison.pairs)
        pair = comparison.pair("s2", "s0")
        a, b = (comparison.column().scores[:, i] for i in (2, 0))
        assert pair.statistic == t_test(a, b).statistic
        assert pair.p == pytest.approx(permutation_test(a, b, resamples=500).pvalue, abs=1e-12 if topics == 6 else 0.1)
        assert pair.p_beside == t_test(a, b).pvalue


@pytest.mark.parametrize("test", [test for test in PAIRED_TESTS if test != "t"])
def test_maxt_goes_with_no_other_test(test: str) -> None:
    with pytest.raises(CranfieldError, match="MaxT is a test of its own"):
        compare(random_table(3, 10, 1, "AP"), "s0", test=test, correction="maxt")


def test_intervals_have_the_level_of_the_test() -> None:
    pair = compare(table(b=B, a=A), alpha=0.01).pair("a", "b")
    assert (pair.low, pair.high) == pytest.approx((-0.01286387257890, 0.1368638725789), abs=1e-8)
    assert pair.verdict == "undecided"


def test_a_test_without_an_interval_has_students() -> None:
    pair = compare(table(b=B, a=A), test="wilcoxon").pair("a", "b")
    assert pair.p == pytest.approx(0.015625)
    assert (pair.low, pair.high) == pytest.approx((0.009888487496929, 0.1141115125031), abs=1e-8)


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
def test_students_interval_is_said_to_stand_for_that_of_ranks_and_signs(test: str) -> None:
    assert (
        "Intervals of differences are Student's t, since this test has none"
        in compare(table(b=B, a=A), test=test).caption
    )
    assert "none of its own" not in compare(table(b=B, a=A)).caption


def test_tukey_without_an_interval_shows_none() -> None:
    few = compare(random_table(3, 12, 1, "AP"), resamples=10)
    constant = compare(CASES["constant differences"], test="tukey-two-way")
    for comparison in (few, constant):
        assert all(pair.low is None and pair.high is None for pair in comparison.pairs)
        assert "simultaneous; – where the test has none" in comparison.caption
        assert any("interval" in note for note in comparison.notes)
        assert "[" not in " ".join(claim.text for claim in comparison.claims)


def test_permutation_without_an_interval_shows_none() -> None:
    comparison = compare(table(b=[0.1, 0.2, 0.3], a=[0.2, 0.5, 0.4]), test="permutation")
    assert comparison.pair("a", "b").low is None and "– where the test has none" in comparison.caption


CAVEATS = {
    "t": "Assumes that the mean difference is normally distributed",
    "permutation": "as likely in either direction",
    "bootstrap": "Rejects too often with few topics",
    "bootstrap-t": "Assumes that future topics are like",
    "wilcoxon": "not whether their mean is 0",
    "sign": "Counts wins, whatever their size",
}


@pytest.mark.parametrize("test", CAVEATS)
def test_the_caveat_is_said_whatever_the_pairs(test: str) -> None:
    scores = table(a=A, b=B, same=A, above=[value + 0.1 for value in A])
    comparison = compare(scores, "a", test=test)
    assert sum(CAVEATS[test] in note for note in comparison.notes) == 1
    assert any("same and a: The systems are identical" in note for note in comparison.notes)
    if test in ("t", "bootstrap", "bootstrap-t"):
        assert any("above and a: All differences are the same" in note for note in comparison.notes)


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
def test_topics_left_out_are_said_as_a_range(test: str) -> None:
    scores = table(a=A, b=B, c=[*A[:3], *B[3:]], same=A)
    (said,) = [note for note in compare(scores, "a", test=test).notes if "left out" in note]
    assert "Topics without a difference are left out: 1 to 4 of 10 topics." in said
    none = compare(table(a=[0.1, 0.2], b=[0.3, 0.4]), test=test).notes
    assert any("Topics without a difference are left out: none of 2 topics." in note for note in none)


def test_measures_of_which_a_test_says_different_things_are_named() -> None:
    scores = {
        "a": {"AP": {"1": 0.1, "2": 0.2, "3": 0.3}, "RR": {"1": 1.0, "2": 1.0, "3": 1.0}},
        "b": {"AP": {"1": 0.2, "2": 0.5, "3": 0.1}, "RR": {"1": 1.0, "2": 0.5, "3": 0.5}},
    }
    notes = compare(scores, test="wilcoxon").notes
    assert sum("symmetric around 0" in note for note in notes) == 1
    assert "Wilcoxon signed-rank test, AP: Topics without a difference are left out: none of 3 topics." in notes
    assert "Wilcoxon signed-rank test, RR: Topics without a difference are left out: 1 of 3 topics." in notes


def test_the_sign_test_has_the_tolerance_of_wins_and_losses() -> None:
    comparison = compare(table(b=B, a=A), test="sign", tolerance=0.03)
    pair = comparison.pair("a", "b")
    assert (pair.effect.wins, pair.effect.ties, pair.effect.losses) == (7, 3, 0)
    assert pair.p == 2 / 2**7 and pair.statistic == 7
    assert any("Topics without a difference of more than 0.03 are left out: 3 of 10" in n for n in comparison.notes)


def test_the_caption_says_what_was_tried_or_drawn() -> None:
    ten, thirty = table(s0=B, s1=A), random_table(2, 30, 1, "AP")
    of_ten = compare(ten).caption
    assert "paired permutation test (all 1,024 sign flips)." in of_ten and "seed" not in of_ten
    assert "paired permutation test (10,000 resamples, seed 1)." in compare(thirty).caption
    both = compare({"dev": ten, "test": thirty}).caption
    assert "(all 1,024 sign flips or 10,000 resamples, seed 1)" in both
    dealt = compare(table(a=[0.1], b=[0.3], c=[0.2]))
    assert "(all 6 permutations of scores within topics)" in dealt.caption and "seed" not in dealt.caption
    same = compare(table(a=[0.1, 0.2], b=[0.1, 0.2], c=[0.1, 0.2]))
    assert "(the only permutation of scores)" in same.caption
    assert "(500 resamples, seed 4)" in compare(ten, test="bootstrap", resamples=500, seed=4).caption
    assert "resamples" not in compare(ten, test="wilcoxon").caption


def test_pairs_and_measures_say_what_was_tried_or_drawn() -> None:
    exact, drawn = (
        compare(table(b=B, a=A), test="permutation"),
        compare(random_table(2, 30, 1, "AP"), test="permutation"),
    )
    assert (exact.pairs[0].details.get("exact"), exact.pairs[0].details.get("resamples")) == (True, 1024)
    assert (drawn.pairs[0].details.get("exact"), drawn.pairs[0].details.get("resamples")) == (False, 10_000)
    assert exact.column().details == {"exact": True, "resamples": 1024, "seed": None}
    beside = compare(table(b=B, a=A)).pairs[0]
    assert (beside.details.get("exact"), beside.details.get("resamples"), beside.details.get("df")) == (None, None, 9)
    assert (beside.beside_details["exact"], beside.beside_details["resamples"]) == (True, 1024)
    strapped = compare(table(b=B, a=A), test="bootstrap", resamples=99)
    assert (
        strapped.pairs[0].details.get("exact"),
        strapped.pairs[0].details.get("resamples"),
        strapped.column().details["exact"],
    ) == (
        False,
        99,
        False,
    )
    tukey = compare(table(S0=X[:, 0], S1=X[:, 1], S2=X[:, 2]))
    assert (
        tukey.pairs[0].details.get("exact"),
        tukey.pairs[0].details.get("resamples"),
        tukey.column().details["df"],
    ) == (True, 6**4, 6)


def test_resamples_that_were_lowered_are_those_of_the_caption(monkeypatch: pytest.MonkeyPatch) -> None:
    from functools import partial

    from cranfield.stats import measure_comparison

    monkeypatch.setattr(measure_comparison, "randomised_tukey", partial(randomised_tukey, draws=1))
    comparison = compare(random_table(3, 30, 1, "AP"))
    assert "(1,000 resamples, seed 1)" in comparison.caption and comparison.pairs[0].details["resamples"] == 1000
    assert any("fewer than the 10,000 requested" in note for note in comparison.notes)


def test_collections_may_be_tables_or_frames() -> None:
    dev, test = random_table(2, 10, 1, "AP"), random_table(2, 10, 2, "AP")
    expected = [column.means for column in compare({"dev": as_score_table(dev), "test": as_score_table(test)}).columns]
    frames = [as_columns(dev), as_columns(test)]
    for kind in ((dev, test), frames, (dev, frames[1]), [Frame(frame) for frame in frames]):
        comparison = compare(dict(zip(("dev", "test"), kind, strict=True)))
        assert comparison.collections == ("dev", "test")
        assert [column.means for column in comparison.columns] == expected
    assert compare(frames[0]).collections == compare(dev).collections == ("",)


def as_columns(scores: dict[str, Any]) -> dict[str, list[Any]]:
    rows = [(run, m, q, v) for run, own in scores.items() for m, found in own.items() for q, v in found.items()]
    return dict(zip(("run", "measure", "query", "value"), map(list, zip(*rows, strict=True)), strict=True))


class Frame:
    """As much of a data frame as is looked at."""

    def __init__(self, content: dict[str, list[Any]]) -> None:
        self.columns, self.content = list(content), content

    def __getitem__(self, name: str) -> list[Any]:
        return self.content[name]


def test_means_instead_of_scores_are_an_error_as_before() -> None:
    with pytest.raises(CranfieldError, match="expected {run: {measure: {query: value}}}"):
        compare({"a": {"AP": 0.5}, "b": {"AP": 0.4}})


def test_where_less_is_better_signs_stay_and_verdicts_turn() -> None:
    better = compare(table("AP", b=B, a=A))
    lower = compare(table("SearchLength", b=B, a=A))
    ours, theirs = better.pair("a", "b"), lower.pair("a", "b")
    assert theirs.difference == ours.difference and theirs.effect.d_z == ours.effect.d_z
    assert (theirs.verdict, ours.verdict) == ("worse", "better")
    assert (theirs.effect.wins, theirs.effect.losses) == (ours.effect.losses, ours.effect.wins)
    assert theirs.effect.superiority == 1 - ours.effect.superiority
    assert [score.is_best for score in lower.column().systems] == [True, False]
    (text,) = texts(lower, "claim")
    assert text.startswith(
        "a scores 0.062 higher in SearchLength than b [0.010, 0.114], where lower is better, worse on 7 of 10"
    )


def test_letters_begin_with_the_best_where_less_is_better() -> None:
    rng = np.random.default_rng(2)
    scores = {f"s{i}": rng.random(30) / 10 + i for i in range(3)}
    assert compare(table("SearchLength", **scores)).column().letters == ("a", "b", "c")
    assert compare(table("AP", **scores)).column().letters == ("c", "b", "a")


def test_ties_for_the_best_are_all_best() -> None:
    column = compare(table(a=[0.1, 0.2], b=[0.2, 0.1], c=[0.0, 0.1])).column()
    assert [score.is_best for score in column.systems] == [True, True, False]


def test_topics_that_some_system_lacks_are_left_out_and_said() -> None:
    comparison = compare(table(a=[0.1, NAN, 0.3, 0.4], b=[0.2, 0.3, 0.4, NAN], c=[0.1, 0.2, 0.3, 0.3]))
    column = comparison.column()
    assert column.queries == ("0", "2") and column.dropped == ("1", "3") and column.n == 2
    assert [score.mean for score in column.systems] == pytest.approx([0.2, 0.3, 0.2])
    assert any("2 topics left out" in w and "'1', '3'; 2 remain" in w for w in comparison.warnings)


def test_a_measure_may_lack_topics_that_another_has() -> None:
    scores = random_table(2, 30, 1, "AP", "RR")
    del scores["s1"]["RR"]["7"]
    comparison = compare(scores)
    assert [column.n for column in comparison.columns] == [30, 29]
    assert any(w.startswith("RR: 1 topic left out") for w in comparison.warnings)
    assert "29 to 30 topics" in comparison.caption


def test_a_system_without_any_score_is_said() -> None:
    comparison = compare(table(a=[NAN, NAN], b=[0.2, 0.3], c=[0.1, 0.2]))
    assert comparison.column().names == ("b", "c")
    assert any("a left out, without a score" in w for w in comparison.warnings)


def test_no_common_topic_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="no topic has AP for all of 'a', 'b'"):
        compare({"a": {"AP": {"1": 0.1}}, "b": {"AP": {"2": 0.3}}})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "bm25x"}, "the baseline 'bm25x' is not among the systems: bm25, lm. Did you mean bm25?"),
        ({"test": "z"}, "unknown test 'z'"),
        ({"correction": "z"}, "unknown correction 'z'"),
        ({"alpha": 0}, "alpha=0 is out of range"),
        ({"tolerance": -1}, "tolerance=-1 is out of range"),
        ({"family": "x"}, "unknown family 'x'"),
        ({"test": "tukey", "correction": "holm"}, "already corrects for all pairs"),
        ({"test": "tukey", "family": "table"}, "corrects within one measure"),
        ({"baseline": (), "correction": "maxt", "test": "t"}, "name one"),
        ({"measures": ["RR"]}, "no measure 'RR' in these scores: expected one of AP"),
    ],
)
def test_errors_say_what_to_do(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CranfieldError, match=message.replace("?", r"\?").replace(".", r"\.")):
        compare(table(bm25=A, lm=B), **options)


def test_one_system_cannot_be_compared() -> None:
    with pytest.raises(CranfieldError, match="only one system, 'a'"):
        compare(table(a=A))


CASES = {
    "one topic": table(a=[0.1], b=[0.2], c=[0.4]),
    "identical": table(a=[0.1, 0.2], b=[0.1, 0.2], c=[0.1, 0.2]),
    "constant differences": table(a=[0.1, 0.2, 0.3], b=[0.2, 0.3, 0.4], c=[0.0, 0.1, 0.2]),
    "nothing found": table(a=[0.0, 0.0, 0.0], b=[0.0, 0.0, 0.0], c=[0.0, 0.0, 0.0]),
    "opposite": table(a=[0.1, 0.3], b=[0.3, 0.1], c=[0.2, 0.2]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("baseline", [None, "a", ("a", "b")])
@pytest.mark.parametrize("test", [None, *TESTS])
def test_degenerate_scores_have_defined_answers(case: str, baseline: Any, test: str | None) -> None:
    comparison = compare(CASES[case], baseline, test=test)
    for pair in comparison.pairs:
        assert 0 <= pair.p <= 1 and 0 <= pair.p_adjusted <= 1 and 0 <= pair.p_beside_adjusted <= 1
        assert pair.low is None or math.isfinite(pair.low)
    said = " ".join([*(claim.text for claim in comparison.claims), *comparison.warnings])
    assert "nan" not in said.lower() and "inf" not in said
    if case in ("identical", "nothing found"):
        assert all(pair.is_identical and pair.verdict == "undecided" for pair in comparison.pairs)
        assert "have the same AP on all" in said


@examples(40)
@given(st.integers(2, 4), st.integers(1, 6), st.integers(0, 10**6), st.booleans())
def test_marks_agree_with_p_values(systems: int, topics: int, seed: int, against: bool) -> None:
    rng = np.random.default_rng(seed)
    scores = {f"s{i}": rng.integers(0, 3, topics) / 2 for i in range(systems)}
    comparison = compare(table(**scores), "s0" if against else (), resamples=200)
    column = comparison.column()
    for pair in comparison.pairs:
        assert pair.is_significant == (pair.p_adjusted <= 0.05)
        if column.letters:
            i, j = (column.names.index(name) for name in (pair.system, pair.reference))
            assert bool(set(column.letters[i]) & set(column.letters[j])) != pair.is_significant
        assert pair.effect.d_z == effect(scores[pair.system], scores[pair.reference]).d_z


def test_the_claim_comes_first_and_the_doubt_beside_it() -> None:
    (text,) = texts(compare(table(b=B, a=A)), "claim")
    assert text == (
        "a scores 0.062 higher in AP than b [0.010, 0.114], better on 7 of 10 topics, "
        "p = .025 (paired t-test; permutation .027)."
    )


def test_what_may_not_be_claimed_says_what_it_would_take() -> None:
    (text,) = texts(compare(table(b=B, a=A), alpha=0.01), "no claim")
    assert text.startswith(
        "No significant difference between a and b in AP: a scores 0.062 higher [−0.013, 0.137], better on 7 of 10"
    )
    assert (
        "A difference of this size takes 20 topics to detect; 10 topics can detect 0.097 or more (power .8, t-test)."
        in text
    )


def test_correction_and_family_are_said() -> None:
    scores = table(b=B, a=A, c=[v + 0.1 for v in B], d=B)
    found = compare(scores, "b")
    assert any("(paired t-test, Holm, 3 comparisons; permutation" in text for text in texts(found, "claim"))
    assert any("d and b have the same AP on all 10 topics" in text for text in texts(found, "no claim"))


def test_all_pairs_are_summed_up() -> None:
    rng = np.random.default_rng(1)
    scores = {f"s{i}": rng.random(40) / 5 + 0.3 * (i == 3) for i in range(4)}
    comparison = compare(table(**scores))
    assert texts(comparison, "all pairs") == [
        "3 of 6 pairs of systems differ significantly in AP (randomised Tukey HSD, α = .05)."
    ]
    (claim,) = texts(comparison, "claim")
    assert claim.startswith("s3 scores 0.286 higher in AP than s1 [0.193, 0.378]") and "It is also better than" in claim
    (design,) = texts(comparison, "design")
    assert design.startswith("40 topics can detect a difference of 0.0")


def test_percent_is_told_in_points() -> None:
    comparison = compare(table(b=B, a=A))
    (claim,) = find_claims(comparison.tables, comparison.columns, comparison.references, percent=True)
    assert claim.text.startswith("a scores 6.2 points higher in AP than b [1.0, 11.4]")


def test_disagreement_of_t_and_permutation_is_a_warning() -> None:
    scores = table(b=[0.0] * 5, a=[0.1, 0.11, 0.12, 0.1, 0.13])
    comparison = compare(scores)
    assert comparison.pair("a", "b").tests_disagree  # t says < .001, five flips no less than 2/32
    assert any(
        w.startswith("Paired t-test and paired permutation test disagree at α = .05 about 1 of 1 comparison")
        for w in comparison.warnings
    )


def test_few_topics_are_a_warning() -> None:
    few, enough = compare(random_table(2, 24, 1, "AP")), compare(random_table(2, 25, 1, "AP"))
    assert any("24 topics are few" in w for w in few.warnings)
    assert not any("few" in w for w in enough.warnings)


@pytest.mark.parametrize(("p", "shown"), [(0.0499, ".0499"), (0.0501, ".0501"), (0.0999, ".10"), (0.2, ".20")])
def test_p_values_show_their_side_of_the_level(p: float, shown: str) -> None:
    assert format_p(p) == shown


QRELS = {f"q{i}": {"a": 1, "b": 0, "c": 1} for i in range(30)}


def ranked(*docs: str) -> dict[str, dict[str, float]]:
    return {q: {doc: -float(i) for i, doc in enumerate(docs)} for q in QRELS}


def test_less_judged_systems_are_a_warning_and_whether_it_matters() -> None:
    # x, y, z are unjudged
    scores = evaluate(QRELS, {"full": ranked("a", "b", "c"), "holes": ranked("x", "y", "a")}, ["P@2", "RR"])
    comparison = compare(scores, "full")
    said = " ".join(comparison.warnings)
    assert "Judged in the top 10: holes 33.3 %, full 100.0 %. Unjudged documents may explain differences" in said
    assert "The difference of 0.500 in P@2 could vanish: holes would reach 1.000" in said


def test_a_difference_that_unjudged_documents_cannot_explain_is_said_to_remain() -> None:
    run = {q: {"b": 3.0, "x": 2.0, "y": 1.0} for q in QRELS}
    scores = evaluate(QRELS, {"full": ranked("a", "b", "c"), "holes": run}, ["RR"])
    said = " ".join(compare(scores, "full").warnings)
    assert "The difference of 1.000 in RR would remain: holes would reach 0.500" in said


def test_a_less_judged_system_that_is_ahead_is_said_to_be() -> None:
    scores = evaluate(QRELS, {"full": ranked("b", "a", "c"), "holes": ranked("a", "x", "y")}, ["RR"])
    assert any(
        "holes is ahead of full in RR although fewer of its documents are judged" in w for w in compare(scores).warnings
    )


def test_warnings_have_the_scale_of_the_table() -> None:
    scores = evaluate(QRELS, {"full": ranked("a", "b", "c"), "holes": ranked("x", "y", "a")}, ["P@2"])
    found = compare(scores, "full")
    said = " ".join(find_warnings(found.tables, found.columns, found.references, percent=True))
    assert "The difference of 50.0 points in P@2 could vanish: holes would reach 100.0 if its" in said
    assert "full has 50.0." in said


@pytest.mark.parametrize("size", [0.0123, 0.11, 0.18, 0.225, 0.3, 0.45, 0.55, 0.7, 0.9, 0.96, 1.04, 1.1, 1.24, 3.33])
def test_what_is_said_of_users_is_near_what_was_found(size: float) -> None:
    text = _describe_documents(-size)
    number, _, of = text.partition(" fewer relevant document")
    every = re.search(r"every (\d+) quer", of)
    said = (1.0 if number == "one" else float(number)) / (int(every[1]) if every else 1)
    assert said == pytest.approx(size, rel=0.0501)


def test_topics_needed_are_said_to_be_uncorrected_where_others_are_compared_too() -> None:
    scores = random_table(3, 30, 1, "AP")
    for baseline in ("s0", None):
        text = " ".join(texts(compare(scores, baseline), "no claim"))
        assert "(power .8, t-test, uncorrected)" in text
    (two,) = texts(compare({name: scores[name] for name in ("s0", "s1")}), "no claim")
    assert "(power .8, t-test)." in two


def test_what_a_user_would_notice() -> None:
    worse = {q: ranked("b", "x")[q] if int(q[1:]) % 3 else ranked("a", "c")[q] for q in QRELS}
    scores = evaluate(QRELS, {"worse": worse, "better": ranked("a", "b")}, ["P@10"])
    (text,) = texts(compare(scores), "user")
    assert text == (
        "Compared with worse, a user of better sees one more relevant document in the top 10 for every 3 queries, "
        "and a relevant first result for 67 more queries in 100."
    )


def test_users_of_identical_runs_notice_nothing() -> None:
    scores = evaluate(QRELS, {"one": ranked("a", "b"), "two": ranked("a", "b")}, ["AP"])
    (text,) = texts(compare(scores), "user")
    assert text.endswith("as many relevant documents in the top 10, and a relevant first result equally often.")
    (text,) = texts(compare(scores), "curve")
    assert text == "The interpolated precision–recall curves of two and one are the same."


def test_a_curve_above_another_is_said() -> None:
    scores = evaluate(QRELS, {"low": ranked("b", "a", "c"), "high": ranked("a", "c", "b")}, ["AP"])
    (text,) = texts(compare(scores), "curve")
    assert text == "The interpolated precision–recall curve of high is above that of low at all 11 recall points."


def test_where_curves_cross_is_said() -> None:
    # precision 1 until half of what is relevant, then 2/4; against 2/3 throughout
    early, late = ranked("a", "b", "x", "c"), ranked("b", "a", "c")
    (text,) = texts(compare(evaluate(QRELS, {"late": late, "early": early}, ["AP"])), "curve")
    assert text == (
        "The interpolated precision–recall curves cross: early is above late at recall 0–.5, below at .6–1."
    )


def test_scores_without_runs_say_nothing_of_users() -> None:
    assert {claim.kind for claim in compare(table(b=B, a=A)).claims} == {"claim"}
    assert compare(table(b=B, a=A)).column().judged == (None, None)


def test_hits_that_were_forgotten_are_not_taken_for_a_curve(tmp_path: Path) -> None:
    qrels = {"q": {"d1": 1, "d15": 1}}
    for name, first in (("one", 1), ("two", 2)):
        order = [first, *(i for i in range(1, 21) if i != first)]
        lines = (f"q Q0 d{doc} {rank} {100 - rank} t\n" for rank, doc in enumerate(order, 1))
        (tmp_path / name).write_text("".join(lines))
    evaluator = Evaluator(qrels, ["AP"])
    files = [tmp_path / "one", tmp_path / "two"]
    kept = compare(evaluator.scores([evaluator.score(file) for file in files]))
    forgotten = compare(evaluator.scores(list(evaluator.score_files(files))))
    assert texts(kept, "curve") and not texts(forgotten, "curve")
    assert texts(kept, "user") == texts(forgotten, "user")


def test_queries_that_were_skipped_or_selected_are_left_out_everywhere() -> None:
    short = {q: docs for q, docs in ranked("a", "b").items() if q != "q3"}
    scores = evaluate(QRELS, {"short": short, "whole": ranked("a", "c")}, ["AP"], missing="skip")
    comparison = compare(scores)
    assert comparison.column().dropped == ("q3",) and comparison.column().n == 29
    part = compare(scores.select(["q1", "q3", "q5"]))
    assert part.column().queries == ("q1", "q5") and texts(part, "user") == texts(comparison, "user")


def test_missing_queries_that_count_as_0_are_said() -> None:
    short = {q: docs for q, docs in ranked("a", "b").items() if q != "q3"}
    comparison = compare(evaluate(QRELS, {"short": short, "whole": ranked("a", "c")}, ["AP"]))
    assert "short lacks 1 of 30 topics, which count as 0." in comparison.warnings


def test_measures_that_are_no_mean_are_left_out_and_said() -> None:
    runs = {"one": ranked("a", "b"), "two": ranked("b", "a")}
    comparison = compare(evaluate(QRELS, runs, ["AP", "gm_map"]))
    assert comparison.measures == ("AP",)
    assert any("'gm_map' left out: not a mean over queries" in note for note in comparison.notes)
    with pytest.raises(EvaluationError, match="plain means"):
        compare(evaluate(QRELS, runs, ["AP"], mean="geometric"))


def test_measures_that_say_nothing_of_quality_have_no_best() -> None:
    runs = {"one": ranked("a", "b"), "two": ranked("b", "a", "x")}
    comparison = compare(evaluate(QRELS, runs, ["num_ret", "AP"]))
    assert not any(score.is_best for score in comparison.column("num_ret").systems)
    assert {claim.measure for claim in comparison.claims} == {"AP", ""}


def test_collections_are_compared_each_by_itself() -> None:
    dev = evaluate(QRELS, {"a": ranked("a"), "b": ranked("b"), "c": ranked("c", "a")}, ["AP", "RR"])
    test = evaluate(QRELS, {"a": ranked("c"), "c": ranked("b", "a")}, ["AP", "RR"])
    comparison = compare({"dev": dev, "test": test}, "a")
    assert comparison.systems == ("a", "b", "c") and comparison.collections == ("dev", "test")
    assert [(column.collection, column.label) for column in comparison.columns] == [
        ("dev", "AP"), ("dev", "RR"), ("test", "AP"), ("test", "RR")
    ]  # fmt: skip
    assert {column.family for column in comparison.columns if column.collection == "test"} == {1}
    mean = comparison.collection_mean("c", "AP")
    assert mean is not None and mean.present == 2
    measure_comparison = [comparison.column("AP", name) for name in ("dev", "test")]
    assert mean.mean == pytest.approx(np.mean([c.means[c.names.index("c")] for c in measure_comparison]))
    alone = comparison.collection_mean("b", "AP")
    assert alone is not None and (alone.present, alone.collections, alone.mean) == (1, 2, 0.0)
    assert comparison.collection_mean("x", "AP") is None


def test_a_baseline_that_a_collection_lacks_is_said() -> None:
    dev = evaluate(QRELS, {"a": ranked("a"), "b": ranked("b"), "c": ranked("c")}, ["AP"])
    test = evaluate(QRELS, {"b": ranked("a"), "c": ranked("c")}, ["AP"])
    comparison = compare({"dev": dev, "test": test}, "a")
    assert comparison.column("AP", "test").pairs == ()
    assert any(w.startswith("test: a is not among the systems here") for w in comparison.warnings)


def test_a_leaderboard_ranks_by_the_mean_or_by_one_split() -> None:
    dev = evaluate(QRELS, {"a": ranked("a"), "b": ranked("b"), "c": ranked("c")}, ["RR"])
    test = evaluate(QRELS, {"a": ranked("b", "a"), "b": ranked("a")}, ["RR"])
    comparison = compare({"dev": dev, "test": test}, ())
    found = [(s.rank, s.system, s.mean, s.ranks) for s in make_leaderboard(comparison).entries]
    assert found == [(1, "a", 0.75, (1, 2)), (2, "b", 0.5, (3, 1)), (None, "c", 1.0, (1, None))]
    by_dev = [(s.rank, s.system) for s in make_leaderboard(comparison, by="dev").entries]
    assert by_dev == [(1, "a"), (1, "c"), (3, "b")]
    with pytest.raises(CranfieldError, match="no split 'x' to rank by: expected one of dev, test"):
        make_leaderboard(comparison, by="x")


def test_ranking_by_a_split_where_there_are_none_says_so() -> None:
    with pytest.raises(
        CranfieldError, match=r"no split 'x' to rank by: the scores are of one collection, without splits\."
    ):
        make_leaderboard(compare(table(a=A, b=B), ()), by="x")


def test_one_system_can_be_ranked() -> None:
    board = rank_systems(table(a=A))
    assert [(s.rank, s.system) for s in board.entries] == [(1, "a")]
    assert "Nothing was compared" in board.comparison.board_caption


def test_a_leaderboard_puts_the_lowest_first_where_less_is_better() -> None:
    scores = evaluate(QRELS, {"a": ranked("b", "a"), "b": ranked("a")}, ["SearchLength"])
    assert [s.system for s in make_leaderboard(compare(scores, ())).entries] == ["b", "a"]


def test_a_comparison_shows_itself() -> None:
    comparison = compare(table(b=B, a=A))
    assert str(comparison).startswith("a scores 0.062 higher in AP")
    assert "<b>0.3330</b>" in comparison._repr_html_()


def test_the_caption_says_test_correction_level_seed_and_conventions() -> None:
    scores = evaluate(QRELS, {"one": ranked("a", "b"), "two": ranked("b", "a"), "three": ranked("a")}, ["AP"])
    caption = compare(scores, "one", seed=7, tolerance=0.01, alpha=0.1).caption
    for part in ("30 topics", "90 % intervals", "paired t-test, α = .1", "Holm for the 2 comparisons", "seed 7",
                 "10,000 resamples", "differ by at most 0.01", "ties trec", "missing zero"):  # fmt: skip
        assert part in caption


def test_sixty_systems_are_compared() -> None:
    comparison = compare(random_table(60, 30, 1, "AP"), resamples=1000)
    assert len(comparison.column().systems) == 60 and len(comparison.column().tested) == 1770


def test_twelve_runs_of_trec_2019_are_compared(shared_data: Path) -> None:
    runs = sorted((shared_data / "dl19" / "runs").glob("*.gz"))
    scores = evaluate(shared_data / "dl19" / "qrels.dl19-passage.txt", runs, ["nDCG@10", "AP", "RR", "P@10", "R@100"])
    comparison = compare(scores)
    assert len(comparison.pairs) == 5 * 66 and comparison.claims
    best = comparison.column("nDCG@10")
    assert best.names[best.order[0]] == "idst_bert_p1"
