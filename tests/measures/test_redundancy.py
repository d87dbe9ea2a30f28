"""Redundancy: recall over facts, and documents that repeat others."""

import itertools
import math

import numpy as np
import pytest

from cranfield import as_qrels, as_run, evaluate, join_run
from cranfield.errors import MeasureError
from cranfield.evaluation.explanation import explain
from cranfield.joining import Extras, Joining, count_duplicates_once
from cranfield.measures import parse_measure

FACTS = {"q": {"a": frozenset("12"), "b": frozenset("23"), "c": frozenset("4"), "unseen": frozenset("5")}}
QRELS = {"q": {"a": 1, "c": 1, "d": 0}}


def ranking(docs: str) -> dict[str, dict[str, float]]:
    return {"q": {doc: float(-rank) for rank, doc in enumerate(docs)}}


def value(name: str, qrels: dict, run: dict, extras: Extras, ties: str = "trec") -> float:
    measure, judged = parse_measure(name), join_run(as_qrels(qrels), as_run(run), Joining(ties=ties), extras)
    column = measure.expected_values(judged) if ties == "expected" else measure.values(judged)
    return float(column[0])


def facts(name: str, docs: str) -> float:
    return value(name, QRELS, ranking(docs), Extras(facts=FACTS))


# facts


def test_a_fact_counts_once():
    # b is not judged and has facts all the same: 1 2, then 3, then 4, of 5
    assert [facts(f"FactRecall@{k}", "axbc") for k in (1, 2, 3, 4, 10)] == [2 / 5, 2 / 5, 3 / 5, 4 / 5, 4 / 5]
    assert facts("FactRecall", "axbc") == 4 / 5
    assert parse_measure("EntityRecall@5") == parse_measure("FactRecall@5")


def test_the_explanation_shows_the_facts_and_what_is_new():
    explanation = explain("FactRecall@4", QRELS, ranking("axbc"), "q", extras=Extras(facts=FACTS))
    assert [(row["facts"], row["term"]) for row in explanation.rows] == [("1, 2", 2), ("", 0), ("2, 3", 1), ("4", 1)]
    assert (explanation.normaliser, explanation.value) == (5, 4 / 5)


def test_facts_of_the_condensed_list():
    assert facts("FactRecall(judged_only=True)@2", "axbc") == 3 / 5


def test_a_query_without_facts_or_without_documents_is_worth_0():
    extras = Extras(facts=FACTS)
    assert value("FactRecall@2", {"other": {"a": 1}}, {"other": {"a": 1.0}}, extras) == 0
    missing = join_run(as_qrels({"p": {"a": 1}, "q": {"a": 1}}), as_run({"p": {"a": 1.0}}), extras=extras)
    assert parse_measure("FactRecall@2").values(missing).tolist() == [0, 0]
    assert parse_measure("FactRecall@2").expected_values(missing).tolist() == [0, 0]


@pytest.mark.parametrize("name", ["FactRecall@1", "FactRecall@2", "FactRecall@3", "FactRecall(judged_only=True)@2"])
def test_the_expected_recall_is_the_mean_over_all_orders(name):
    tied = {"q": {"a": 2.0, "b": 1.0, "c": 1.0, "x": 1.0, "d": 1.0}}
    orders = ["a" + "".join(rest) for rest in itertools.permutations("bcxd")]
    mean = sum(facts(name, order) for order in orders) / len(orders)
    assert value(name, QRELS, tied, Extras(facts=FACTS), "expected") == pytest.approx(mean)


def test_facts_are_asked_for_where_they_are_missing():
    with pytest.raises(MeasureError, match=r"FactRecall@5 needs the facts .* --facts FILE"):
        value("FactRecall@5", QRELS, ranking("a"), Extras())


# repeats


def repeats(name: str, docs: str, qrels: dict[str, float], groups: dict[str, str]) -> float:
    return value(name, {"q": qrels}, ranking(docs), Extras(duplicates=groups))


def test_a_repeat_earns_nothing():
    qrels, groups = {"a": 1, "b": 1, "c": 1}, {"a": "same", "b": "same"}
    assert repeats("P@3", "abc", qrels, groups) == 1
    assert repeats("P(repeats=False)@3", "abc", qrels, groups) == 2 / 3
    # two things to find, at ranks 1 and 3
    assert repeats("AP(repeats=False)", "abc", qrels, groups) == (1 + 2 / 3) / 2
    assert repeats("R(repeats=False)@1", "abc", qrels, groups) == 1 / 2
    assert repeats("NumRel(repeats=False)", "abc", qrels, groups) == 2


def test_without_repeats_a_perfect_ranking_has_the_best_value():
    qrels, groups = {"a": 2, "b": 1, "c": 1}, {"a": "same", "b": "same"}
    for name in ("nDCG(repeats=False)", "AP(repeats=False)", "Rprec(repeats=False)", "nDCG(repeats=False)@2"):
        assert repeats(name, "ac", qrels, groups) == 1


def test_the_ideal_has_the_highest_grade_of_a_group():
    qrels, groups = {"a": 3, "b": 1, "c": 2}, {"a": "same", "b": "same"}
    ideal = 3 + 2 / math.log2(3)
    assert repeats("nDCG(repeats=False)", "bac", qrels, groups) == pytest.approx((1 + 2 / math.log2(4)) / ideal)


def test_what_earned_nothing_is_not_repeated():
    qrels, groups = {"a": 1, "b": 0, "c": -1}, dict.fromkeys("abcx", "same")
    assert repeats("RR(repeats=False)", "bcxa", qrels, groups) == 1 / 4


def test_negative_and_unjudged_documents_stay_what_they_are():
    judged = join_run(as_qrels({"q": {"a": 1, "b": 2, "c": -1, "d": 0}}), as_run(ranking("axbcd")), dense=True)
    once = judged.drop_repeats(dict.fromkeys("abcdx", "same"))
    np.testing.assert_array_equal(once.grade, [1, np.nan, 0, -1, 0])
    assert once.ideal.tolist() == [2, 0, 0, -1]
    assert judged.grade[2] == 2, "the join itself is left alone"


def test_a_group_may_have_the_name_of_a_document():
    assert count_duplicates_once({"a": 1, "b": 1}, {"b": "a"}) == {"a": 1, "b": 1}


def test_repeats_are_told_after_leaving_out_what_is_not_judged():
    qrels, groups = {"a": 1, "b": 1, "c": 1}, {"a": "same", "b": "same", "x": "same"}
    assert repeats("RR(repeats=False,judged_only=True)", "xba", qrels, groups) == 1
    assert repeats("P(repeats=False,judged_only=True)@2", "xba", qrels, groups) == 1 / 2


def test_groups_are_asked_for_where_they_are_missing():
    with pytest.raises(MeasureError, match=r"AP\(repeats=False\) needs the groups of duplicate documents"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["AP(repeats=False)"])


def test_over_tied_documents_the_value_without_repeats_is_sampled():
    judged = join_run(
        as_qrels({"q": {"a": 2, "b": 1}}), as_run({"q": {"a": 1.0, "b": 1.0}}), extras=Extras(duplicates={"a": "x"})
    )
    assert parse_measure("DCG(repeats=False)").expected_values(judged) is None
    assert parse_measure("DCG").expected_values(judged) is not None


def test_the_explanation_shows_a_repeat_with_grade_0():
    extras = Extras(duplicates={"a": "same", "b": "same"})
    explanation = explain("AP(repeats=False)", {"q": {"a": 1, "b": 1}}, ranking("ab"), "q", extras=extras)
    assert [row["grade"] for row in explanation.rows] == [1, 0]
    assert (explanation.normaliser, explanation.value) == (1, 1)
