"""The same numbers as ir_measures where scores are not tied (its providers break ties in different ways)."""

import pytest

from cranfield import evaluate
from tests.measures.rankings import random_case

ir_measures = pytest.importorskip("ir_measures")

NAMES = [
    "nDCG",
    "nDCG@1",
    "nDCG@5",
    "nDCG(gains={1:1,2:3,3:7})@5",
    "nDCG(judged_only=True)@5",
    "AP",
    "AP@3",
    "AP(rel=2)@5",
    "AP(judged_only=True)",
    "RR",
    "RR(rel=2)",
    "RR@3",
    "P@5",
    "P(judged_only=True)@3",
    "R@5",
    "R(rel=2)@10",
    "Rprec",
    "Rprec(judged_only=True)",
    "Bpref",
    "Success@2",
    "SetP",
    "SetR",
    "SetF",
]


def whole(qrels):
    """The same with grades that are whole numbers, as trec_eval wants them."""
    return {query: {doc: int(grade) for doc, grade in judged.items()} for query, judged in qrels.items()}


def theirs_by_query(names, qrels, run):
    measures = {ir_measures.parse_measure(name): name for name in names}
    metrics = ir_measures.iter_calc(list(measures), qrels, run)
    return {(measures[metric.measure], metric.query_id): metric.value for metric in metrics}


@pytest.mark.parametrize("seed", range(8))
def test_every_query_has_the_same_value(seed):
    qrels, run = random_case(seed, grades=(0, 0, 1, 2, 3))
    run = {query: docs for query, docs in run.items() if docs}  # msmarco's RR@k leaves empty queries out
    theirs = theirs_by_query(NAMES, whole(qrels), run)
    scores = evaluate(qrels, run, NAMES, missing="skip")
    for name in NAMES:
        for query, value in scores.per_query(name).items():
            assert value == pytest.approx(theirs[name, query], abs=1e-9), (name, query)


@pytest.mark.parametrize("seed", range(8))
def test_means_count_missing_queries_as_zero(seed):
    qrels, run = random_case(seed, grades=(0, 0, 1, 2, 3))
    run = {query: docs for query, docs in run.items() if docs and query != "q3"}
    names = ["nDCG@5", "AP", "RR", "P@5"]
    theirs = ir_measures.calc_aggregate([ir_measures.parse_measure(name) for name in names], whole(qrels), run)
    ours = evaluate(qrels, run, names).summary()["run"]
    assert ours == pytest.approx({str(measure): mean for measure, mean in theirs.items()}, abs=1e-9)


def test_exponential_gain_is_the_map_of_two_to_the_grade_minus_one():
    qrels, run = random_case(11, grades=(0, 1, 2, 3))
    name = "nDCG(gains={1:1,2:3,3:7})@10"
    theirs = theirs_by_query([name], whole(qrels), run)
    ours = evaluate(qrels, run, ["nDCG(dcg='exp-log2')@10"]).per_query("nDCG(dcg='exp-log2')@10")
    assert ours == pytest.approx({query: theirs.get((name, query), 0.0) for query in ours}, abs=1e-9)


def test_judged_agrees_where_no_grade_is_negative():
    qrels, run = random_case(5, grades=(0, 1))
    run = {query: docs for query, docs in run.items() if docs}  # it divides by the length of the list
    names = ["Judged@3", "Judged@10"]
    theirs = theirs_by_query(names, whole(qrels), run)
    scores = evaluate(qrels, run, names, missing="skip")
    for name in names:
        for query, value in scores.per_query(name).items():
            assert value == pytest.approx(theirs[name, query], abs=1e-12)
