"""Documents of equal score: the rules that order them, and the mean, best and worst over all their orders."""

import itertools
import math
import random
from functools import cache

import numpy as np
import pytest

from cranfield import CranfieldError, EvaluationError, Run, evaluate
from cranfield.base import replace
from cranfield.measures import parse_measure
from tests.measures.rankings import value

K = (1, 2, 3, 4, 6, 9)
CUT = ["P", "R", "Success", "RR", "AP", "AP(denominator='min(R,k)')", "Judged", "NCG", "CG"]
GAINS = ["", "gain='exp'", "gain={0:0.5,1:2,3:2.5}"]
DISCOUNTS = ["", "discount='log(max(i,base))'", "discount='log(max(i,base))',base=3", "discount='1/i'", "base=10"]
DISCOUNTED = [
    name + "({})".format(",".join(filter(None, (gain, discount))))
    for name in ("DCG", "nDCG")
    for gain in GAINS
    for discount in DISCOUNTS
]
WHOLE = ["RR", "AP", "Rprec", "Breakeven", "SearchLength", "SearchLength(wanted=2)"]
WHOLE += ["SearchLength(wanted=4)", "Judged", "CG", "NCG", "NCG(gain='exp')", "SetP", "SetF(beta=2)", "NumRelRet"]


PLAIN = [*WHOLE, *DISCOUNTED, *(f"{name}@{k}" for name in CUT for k in K), *(f"{name}@3" for name in DISCOUNTED)]


def variants(name: str) -> list[str]:
    """A measure as it is, with a higher grade of relevance and for the condensed list, where it has these."""
    measure = parse_measure(name)
    changes = [{"judged_only": condensed, "rel": rel} for condensed in (False, True) for rel in (1, 2)]
    known = [{key: value for key, value in change.items() if key in measure.parameters} for change in changes]
    return [str(replace(measure, **change)) for change in known]


CLOSED = list(dict.fromkeys(name for plain in PLAIN for name in variants(plain)))
SAMPLED = ["Bpref", "Bpref(rel=2)", "IPrec@0.0", "IPrec@0.4", "IPrec@1.0", "InterpolatedAP", "InterpolatedAP(points=3)"]
SAMPLED += ["InterpolatedAP(judged_only=True)", "IPrec(judged_only=True)@0.5"]
SEEDS = range(16)


def tied_list(seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Grades and scores of one query: seven to nine documents, with groups of up to four that share a score."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 4), 1, rng.randint(2, 4), rng.randint(1, 2)]
    rng.shuffle(sizes)
    docs = [f"d{i}" for i in range(sum(sizes))]
    scores = [float(-group) for group, size in enumerate(sizes) for _ in range(size)]
    rng.shuffle(docs)
    judged = {doc: float(rng.choice([-1, 0, 1, 1, 2, 3])) for doc in docs if rng.random() < 0.75}
    missed = {f"m{i}": float(rng.randint(0, 3)) for i in range(rng.randint(0, 3))}
    return judged | missed | {docs[0]: 1.0}, dict(zip(docs, scores, strict=True))


def all_orders(scores: dict[str, float]) -> list[list[str]]:
    """Every ranking that agrees with the scores."""
    levels = sorted(set(scores.values()), reverse=True)
    groups = [[doc for doc in scores if scores[doc] == level] for level in levels]
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    return [[doc for group in order for doc in group] for order in orders]


@cache
def enumerated(seed: int, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The value of each measure for every order of the tied documents."""
    judged, scores = tied_list(seed)
    orders = all_orders(scores)
    qrels = {str(i): judged for i in range(len(orders))}
    run = {str(i): {doc: float(-rank) for rank, doc in enumerate(order)} for i, order in enumerate(orders)}
    result = evaluate(qrels, run, names)
    assert result.runs[0].judged.tied == 0
    return {name: result.values(name) for name in names}


def of_one_query(seed: int, names: list[str], ties: str):
    judged, scores = tied_list(seed)
    return evaluate({"q": judged}, {"q": scores}, names, ties=ties)


# the mean over all orders


@pytest.mark.parametrize("seed", SEEDS)
def test_expected_values_are_the_mean_over_all_orders(seed):
    ours, every = of_one_query(seed, CLOSED, "expected"), enumerated(seed, tuple(CLOSED))
    means = {name: math.fsum(values) / len(values) for name, values in every.items()}
    assert {name: (ours.mean(name), m) for name, m in means.items() if abs(ours.mean(name) - m) > 1e-12} == {}


def test_expected_values_in_closed_form_have_no_sampling_error():
    scores = of_one_query(0, CLOSED, "expected")
    assert set(scores.runs[0].sampling_errors) == {None}
    assert not any("standard error" in note for note in scores.notes)


@pytest.mark.parametrize("seed", SEEDS)
def test_sampled_values_are_near_the_mean_over_all_orders(seed):
    ours, every = of_one_query(seed, SAMPLED, "expected"), enumerated(seed, tuple(SAMPLED))
    for name, error in zip(ours.labels, ours.runs[0].sampling_errors, strict=True):
        # the condensed list may be without ties: then the value is exact
        assert error is not None or "judged_only" in name
        assert abs(ours.mean(name) - every[name].mean()) <= 5 * (error or 0.0) + 1e-12, name


def test_the_sampling_error_of_a_mean_over_queries_is_stated():
    cases = {f"q{seed}": tied_list(seed) for seed in SEEDS}
    qrels, run = ({q: case[part] for q, case in cases.items()} for part in (0, 1))
    scores = evaluate(qrels, run, ["Bpref", "AP"], ties="expected")
    bpref, ap = scores.runs[0].sampling_errors
    assert ap is None
    mean = np.mean([enumerated(seed, tuple(SAMPLED))["Bpref"].mean() for seed in SEEDS])
    assert 0 < bpref < 0.01
    assert abs(scores.mean("Bpref") - mean) <= 5 * bpref
    (note,) = [note for note in scores.notes if "standard error" in note]
    assert "Bpref" in note and "200 random orders" in note and f"{bpref:.1g}" in note


def test_samples_are_the_same_for_the_same_seed():
    judged, scores = tied_list(3)
    values = [value("Bpref", ({"q": judged}, {"q": scores}), ties="expected", seed=seed) for seed in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


def test_expected_values_without_ties_are_the_plain_values():
    qrels, run = {"q": {"a": 1, "c": 2, "x": 3}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    names = [*CLOSED, *SAMPLED]
    assert evaluate(qrels, run, names, ties="expected").summary() == evaluate(qrels, run, names).summary()


def test_a_long_tie_keeps_its_precision():
    # one relevant document among n of the same score: the mean of 1/rank is H(n)/n
    n = 20_000
    case = {"q": {"d7": 1}}, {"q": {f"d{i}": 1.0 for i in range(n)}}
    harmonic = math.fsum(1 / i for i in range(1, n + 1))
    for name in ("RR", "AP", "DCG(discount='1/i')"):
        assert value(name, case, ties="expected") == pytest.approx(harmonic / n, rel=1e-12)
    assert value("P@10", case, ties="expected") == pytest.approx(1 / n, rel=1e-12)
    assert value("Success@10", case, ties="expected") == pytest.approx(10 / n, rel=1e-12)
    assert value("SearchLength", case, ties="expected") == pytest.approx((n - 1) / 2, rel=1e-12)


def test_a_tie_far_down_a_long_list_keeps_its_precision():
    # both relevant documents are in one group of two at ranks n+1 and n+2
    n = 200_000
    docs = {f"d{i}": float(-i) for i in range(n)} | {"x": -1e9, "y": -1e9}
    case = {"q": {"x": 1, "y": 1}}, {"q": docs}
    assert value("AP", case, ties="expected") == pytest.approx((1 / (n + 1) + 2 / (n + 2)) / 2, rel=1e-9)
    discounts = 1 / math.log2(n + 2) + 1 / math.log2(n + 3)
    assert value("DCG", case, ties="expected") == pytest.approx(discounts, rel=1e-14)


def test_a_tie_below_the_cutoff_adds_nothing():
    case = {"q": {"c": 1, "d": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0, "d": 1.0}}
    for name in ("AP@2", "RR@1", "P@2", "R@2", "Success@2", "nDCG@2", "CG@1"):
        assert value(name, case, ties="expected") == 0


@pytest.mark.parametrize("name", ["AP(ties='group')", "AP(ties='group')@3", "LRAP", "SetP", "NumRelRet"])
def test_measures_that_know_no_order_within_a_tie_are_the_same_under_every_rule(name):
    for seed in SEEDS:
        values = {of_one_query(seed, [name], ties).mean(name) for ties in ("trec", "expected", "best", "worst")}
        assert len(values) == 1


# the best and the worst order


@pytest.mark.parametrize("seed", SEEDS)
def test_best_and_worst_are_the_extremes_over_all_orders(seed):
    names = (*CLOSED, *SAMPLED)
    every = enumerated(seed, names)
    best, worst = of_one_query(seed, names, "best"), of_one_query(seed, names, "worst")
    for name in names:
        low, high = every[name].min(), every[name].max()
        if not parse_measure(name).more_is_better:
            low, high = high, low
        assert (worst.mean(name), best.mean(name)) == pytest.approx((low, high), abs=1e-12), name


# rules that choose one order


def test_ties_are_broken_by_doc_id_descending():
    assert value("RR", ({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}})) == 1 / 3


def test_ids_are_compared_by_their_bytes():
    docs = ["d1", "d10", "d2", "D1", "é", "z", "日本"]
    run = {"q": dict.fromkeys(docs, 1.0)}
    ranks = {doc: round(1 / value("RR", ({"q": {doc: 1}}, run))) for doc in docs}
    assert sorted(docs, key=ranks.__getitem__) == sorted(docs, key=str.encode, reverse=True)


def test_ids_that_are_not_utf8_are_compared_by_their_bytes():
    docs = ["d\udcff", "d\udc80", "dé", "d~"]
    run = Run.from_rows(["q"] * 4, docs, [1.0] * 4)
    assert [1 / value("RR", ({"q": {doc: 1}}, run)) for doc in docs] == pytest.approx([1, 3, 2, 4])


def test_doc_ascending_is_the_other_way_round():
    case = {"q": {"a": 1}}, {"q": {"c": 1.0, "b": 1.0, "a": 1.0}}
    assert value("RR", case, ties="doc-ascending") == 1


def test_input_order_keeps_the_order_of_the_input():
    for docs in itertools.permutations("abc"):
        case = {"q": {"a": 1}}, {"q": dict.fromkeys(docs, 1.0)}
        assert value("RR", case, ties="input-order") == 1 / (docs.index("a") + 1)


def test_scores_come_before_any_rule():
    case = {"q": {"b": 1}}, {"q": {"a": 1.0, "b": 3.0, "c": 2.0}}
    for ties in ("trec", "doc-ascending", "input-order", "expected", "best", "worst"):
        assert value("RR", case, ties=ties) == 1


def test_the_rank_column_breaks_ties():
    run = Run.from_rows(["q"] * 4, ["a", "b", "c", "d"], [5.0, 5.0, 5.0, 9.0], ranks=np.array([3, 1, 2, 4]))
    ranks = {doc: 1 / value("RR", ({"q": {doc: 1}}, run), ties="rank-column") for doc in "abcd"}
    assert ranks == pytest.approx({"d": 1, "b": 2, "c": 3, "a": 4})


def test_the_same_rank_twice_is_settled_by_doc_id_descending():
    run = Run.from_rows(["q"] * 3, ["a", "b", "c"], [5.0, 5.0, 5.0], ranks=np.array([1, 1, 1]))
    assert value("RR", ({"q": {"a": 1}}, run), ties="rank-column") == pytest.approx(1 / 3)


def test_a_rank_column_that_is_not_there_is_an_error():
    case = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    with pytest.raises(EvaluationError, match="'run' cannot be ranked by its rank column: it has none"):
        value("RR", case, ties="rank-column")
    with pytest.raises(EvaluationError, match="'run' cannot be ranked by its rank column"):
        value("RR", case, rank_by="rank")


def test_ranking_by_the_rank_column_ignores_scores():
    run = Run.from_rows(["q"] * 3, ["a", "b", "c"], [1.0, 2.0, 3.0], ranks=np.array([1, 2, 3]))
    ranks = {doc: 1 / value("RR", ({"q": {doc: 1}}, run), rank_by="rank") for doc in "abc"}
    assert ranks == pytest.approx({"a": 1, "b": 2, "c": 3})


def test_ranking_by_input_ignores_scores_and_knows_no_ties():
    case = {"q": {"c": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 3.0}}
    scores = evaluate(*case, ["RR"], rank_by="input", ties="expected")
    assert scores.mean("RR") == pytest.approx(1 / 3)
    assert scores.runs[0].judged.tied == 0


def test_an_unknown_rule_names_those_that_are_known():
    with pytest.raises(CranfieldError, match="ties 'random' is unknown: expected one of trec, doc-ascending"):
        value("RR", ({"q": {"a": 1}}, {"q": {"a": 1.0}}), ties="random")


# counting ties


def test_documents_that_share_a_score_are_counted():
    run = {"q1": {"a": 1.0, "b": 1.0, "c": 2.0}, "q2": {"a": 1.0, "b": 1.0, "c": 1.0}, "unjudged": {"a": 1.0, "b": 1.0}}
    scores = evaluate({"q1": {"a": 1}, "q2": {"a": 1}}, run, ["RR"])
    assert scores.runs[0].judged.tied == 5
    (note,) = scores.notes
    assert "share their score" in note and "5" in note and "trec" in note


def test_documents_tied_in_float32_only_are_counted():
    docs = {"a": 16777217.0, "b": 16777216.0, "c": 5.0, "d": 5.0, "e": 1.0, "f": 1.0 + 1e-12, "g": 1.0}
    case = {"q": {"a": 1}}, {"q": docs}
    double, single = (evaluate(*case, ["RR"], score_type=kind) for kind in ("float64", "float32"))
    assert double.runs[0].judged.float32_tied == single.runs[0].judged.float32_tied == 3
    assert (double.runs[0].judged.tied, single.runs[0].judged.tied) == (4, 7)
    assert any("float32" in note and "3" in note for note in double.notes)
    assert any("float32" in note and "3" in note for note in single.notes)
    assert (double.mean("RR"), single.mean("RR")) == (1, 0.5)


def test_without_ties_there_is_no_note():
    assert evaluate({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, ["RR"]).notes == ()


def test_zero_and_minus_zero_are_the_same_score():
    assert value("RR", ({"q": {"a": 1}}, {"q": {"a": 0.0, "b": -0.0}})) == 0.5
    assert value("RR", ({"q": {"b": 1}}, {"q": {"a": 0.0, "b": -0.0}})) == 1
