"""Reproducing a run: figures of repro_eval 0.5.0, worked examples, and the order of documents."""

import math
import random

import numpy as np
import pytest

from cranfield.data.collection import Run
from cranfield.errors import CranfieldError
from cranfield.evaluation import evaluate
from cranfield.stats.correlation import kendall_tau, rbo
from cranfield.stats.reproducibility import reproduce

TOPICS = "12345"


def per_topic(*values):
    return dict(zip(TOPICS, values, strict=True))


def ranked(docs):
    return {doc: float(len(docs) - i) for i, doc in enumerate(docs)}


ADVANCED = per_topic(0.62, 0.74, 0.8, 0.94, 0.74)
BASELINE = per_topic(0.92, 0.03, 0.47, 0.94, 0.65)
ADVANCED_AGAIN = per_topic(0.9, 0.11, 0.47, 0.25, 0.54)
BASELINE_AGAIN = per_topic(0.57, 0.01, 0.22, 0.28, 0.92)
ORIGINAL = {
    "1": ranked("d2 d9 d1 d4 d11 d7 d8 d3 d5 d6".split()),
    "2": ranked("d12 d3 d1 d7 d0 d6 d8 d4 d9 d13".split()),
    "3": ranked("d4 d11 d3 d9 d1 d5 d0 d7 d6 d13".split()),
}
AGAIN = {
    "1": ranked("d13 d0 d1 d11 d5 d2 d4 d8 d7 d10".split()),
    "2": ranked("d9 d0 d13 d10 d2 d6 d8 d7 d5 d4".split()),
    "3": ranked("d5 d8 d7 d12 d4 d0 d10 d2 d3 d6".split()),
}


def test_scores_and_effects_are_those_of_repro_eval():
    found = reproduce(ADVANCED, ADVANCED_AGAIN, BASELINE, BASELINE_AGAIN)
    assert found.rmse == pytest.approx(0.4691055318369205, abs=1e-12)
    assert found.nrmse == pytest.approx(0.6052899022313253, abs=1e-12)
    assert found.effect_ratio == pytest.approx(0.32530120481927716, abs=1e-12)
    assert found.delta_ri == pytest.approx(0.14074750830564794, abs=1e-12)
    assert found.topics == 5 and found.notes == ()
    assert found.tau is None and found.rbo is None and found.ktu is None


def test_tau_union_is_that_of_repro_eval():
    found = reproduce(ORIGINAL, AGAIN)
    expected = {"1": -0.11111111111111, "2": 0.11111111111111, "3": -0.28888888888889}
    assert {topic: order.ktu for topic, order in found.orders.items()} == pytest.approx(expected, abs=1e-13)
    assert found.ktu == pytest.approx(math.fsum(expected.values()) / 3)
    assert found.rmse is None and found.topics == 0


def test_tau_is_over_the_documents_in_common_and_rbo_over_all():
    found = reproduce(ORIGINAL, AGAIN)
    for topic, order in found.orders.items():
        one, other = list(ORIGINAL[topic]), list(AGAIN[topic])
        common = [doc for doc in one if doc in other]
        assert order.common == len(common)
        assert order.tau == pytest.approx(
            kendall_tau([-one.index(d) for d in common], [-other.index(d) for d in common])
        )
        assert order.rbo == pytest.approx(rbo(one, other, p=0.8).ext)
    assert found.tau == pytest.approx(np.mean([order.tau for order in found.orders.values()]))
    assert found.rbo == pytest.approx(np.mean([order.rbo for order in found.orders.values()]))


def test_one_document_inserted_leaves_tau_at_one_but_not_tau_union():
    docs = [f"d{i:03}" for i in range(100)]
    random.Random(0).shuffle(docs)
    found = reproduce({"1": ranked(docs)}, {"1": ranked([docs[0], "new", *docs[1:99]])})
    assert found.ktu == pytest.approx(-0.03111111111111, abs=1e-13)  # so says repro_eval
    assert found.tau == 1 and found.rbo > 0.79


def test_a_run_reproduces_itself():
    found = reproduce(ORIGINAL, ORIGINAL)
    assert (found.tau, found.ktu) == (1, 1) and found.rbo == pytest.approx(1)
    found = reproduce(ADVANCED, ADVANCED, BASELINE, BASELINE)
    assert (found.rmse, found.nrmse, found.delta_ri) == (0, 0, 0) and found.effect_ratio == 1


def test_scores_of_one_run_give_both():
    qrels = {topic: {"d1": 1, "d4": 1, "d7": 1} for topic in ORIGINAL}
    one, other = (evaluate(qrels, run, ["AP", "RR"]) for run in (ORIGINAL, AGAIN))
    found = reproduce(one, other, other, one, measure="AP")
    expected = reproduce(one.per_query("AP"), other.per_query("AP"))
    assert found.rmse == expected.rmse and found.original_mean == pytest.approx(one.mean("AP"))
    assert found.reproduced_mean == pytest.approx(other.mean("AP"))
    assert found.orders == reproduce(ORIGINAL, AGAIN).orders
    assert found.effect_ratio == pytest.approx(-1)
    with pytest.raises(CranfieldError, match="expected the measure to compare, one of AP, RR"):
        reproduce(one, other)
    both = evaluate(qrels, {"a": ORIGINAL, "b": AGAIN}, ["AP"])
    with pytest.raises(CranfieldError, match="original run: expected the scores of one run, found 2 runs"):
        reproduce(both, other, measure="AP")


def test_documents_are_ranked_by_score_with_ties_as_in_any_evaluation():
    unordered = Run.from_rows(["1"] * 3, ["c", "a", "b"], [1.0, 2.0, 2.0])  # b before a: doc id, descending
    found = reproduce(unordered, {"1": ranked(["b", "a", "c"])})
    assert found.tau == 1


def test_only_the_first_documents_are_compared():
    found = reproduce({"1": ranked("abcd")}, {"1": ranked("abdc")}, depth=2)
    assert found.tau == 1 and found.orders["1"].common == 2 and found.depth == 2
    with pytest.raises(CranfieldError, match="depth 0"):
        reproduce(ORIGINAL, AGAIN, depth=0)


def test_topics_that_only_one_has_are_told():
    found = reproduce(ADVANCED, {"1": 0.62, "9": 0.5})
    assert found.topics == 1 and found.rmse == 0
    assert found.notes[0].startswith(
        "4 topics left out because only the original run has them: '2', '3', '4' and 1 more"
    )
    assert "1 topic left out because only the reproduced run has them: '9'" in found.notes[1]


def test_an_experiment_repeated_on_other_topics_has_effects_only():
    elsewhere = {str(10 + int(topic)): score for topic, score in ADVANCED_AGAIN.items()}
    base = {str(10 + int(topic)): score for topic, score in BASELINE_AGAIN.items()}
    found = reproduce(ADVANCED, elsewhere, BASELINE, base)
    assert found.rmse is None and found.effect_ratio == pytest.approx(0.32530120481927716)
    assert any("no topic in common" in note for note in found.notes)


def test_what_is_not_defined_is_none_and_told():
    nothing = per_topic(0, 0, 0, 0, 0)
    found = reproduce(BASELINE, ADVANCED_AGAIN, BASELINE, BASELINE_AGAIN)
    assert found.effect_ratio is None and any("gains nothing" in note for note in found.notes)
    found = reproduce(ADVANCED, ADVANCED_AGAIN, nothing, BASELINE_AGAIN)
    assert found.delta_ri is None and found.effect_ratio is not None
    assert any("mean is 0" in note for note in found.notes)
    counts = reproduce({"1": 3.0}, {"1": 5.0})
    assert counts.rmse == 2 and counts.nrmse is None and "from 0 to 1 only" in counts.notes[0]
    disjoint = reproduce({"1": ranked("ab")}, {"1": ranked("cd")})
    assert disjoint.tau is None and disjoint.rbo == 0 and "fewer than two common documents" in disjoint.notes[0]


def test_lists_of_different_length_are_compared():
    found = reproduce({"1": ranked("abcdef")}, {"1": ranked("bac")})
    assert found.tau == pytest.approx(1 / 3) and -1 <= found.ktu <= 1


def test_half_an_effect_is_told():
    with pytest.raises(CranfieldError, match="effects need the baselines of both"):
        reproduce(ADVANCED, ADVANCED_AGAIN, BASELINE)
    with pytest.raises(CranfieldError, match="not a finite number"):
        reproduce({"1": math.nan}, {"1": 0.5})
    found = reproduce(ORIGINAL, AGAIN, BASELINE, BASELINE_AGAIN)
    assert found.effect is None and any("scores of all four runs" in note for note in found.notes)
