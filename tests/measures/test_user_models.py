"""User models: examples worked by hand, gdeval's outputs, and cwl_eval itself where it is installed."""

import csv
import itertools
import math
import random

import numpy as np
import pytest

from cranfield import MeasureError, as_qrels, as_run, evaluate, join_run
from cranfield.base import replace
from cranfield.evaluation.explanation import explain
from cranfield.io import read_qrels, read_run
from cranfield.joining import Extras, Joining
from cranfield.measures import all_measures, parse_measure
from tests.measures.rankings import assert_prints, graded, random_case, value

# gains 0 1 0 ½ 0 1, and two relevant documents that were missed
LIST = graded([0, 1, 0, 0.5, 0, 1], missed=[1, 1])
# gains 1 ? 0 ½
UNJUDGED = {"q": {"a": 1, "c": 0, "d": 0.5}}, {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
VALUES = ("EU", "ETU", "EC", "ETC", "ED")


def asked(name, kind="EU", **more):
    """A measure whose gains are the grades, giving one of the framework's values."""
    return replace(parse_measure(name), max_rel=1, value=kind, **more)


def per_query(measure, qrels, run, ties="trec", **extras):
    judged = join_run(as_qrels(qrels), as_run(run), Joining(ties=ties), Extras(**extras))
    return (measure.expected_values if ties == "expected" else measure.values)(judged)


# the examples of the framework, all verified against cwl_eval


@pytest.mark.parametrize(
    "name, figures",
    [
        ("CWL_P@5", ".3000 1.5000 5"),
        ("RBP", ".2767 1.3837 5"),
        ("RBP(depth=1000)", ".2767 1.3837 5"),
        ("NPV(r=.1)", ".1732 1.9057 11"),
        ("SDCG@10", ".2647 1.2025 4.5436"),
        ("SET(beta=.5)@10", ".2729 1.5261 5.5928"),
        ("CWL_RR", ".5 1 2"),
        ("CWL_AP", ".4417 1.3947 3.1579"),
        ("TrAP", ".2208 1.1042 5"),
        ("INST(T=1)", ".2664 .5450 2.0460"),
        ("INST(T=3)", ".2256 1.1989 5.3141"),
        ("INSQ(T=2)", ".2212 1.0008 4.5252"),
        ("BPM(T=1)@10", ".5 1 2"),
        ("BPM(T=2.5)@20", ".4167 2.5 6"),
        ("BPMD(T=2,hb=.3,gain_med=.25)@15", ".4167 2.5 6"),
        ("TBG(halflife=22)", ".0707 2.2781 32.2419"),
        ("U(L=50)", ".0922 2.3500 25.5"),
        ("IFT(stop='goal',T=2,b1=.9,R1=1)", ".3631 1.2446 3.4277"),
        ("IFT(stop='rate',A=.2,b2=.9,R2=1)", ".2849 .6065 2.1286"),
        ("IFT(T=2,b1=.9,R1=10,A=.2,b2=.9,R2=10)", ".1630 .2460 1.5088"),
        ("NERR8@20", ".5 1 2"),
        ("NERR9@20", ".3333 .5 1.5"),
        ("NERR10(p=.8)", ".4444 .8 1.8"),
        ("NERR11(T=2)", ".3902 .64 1.64"),
    ],
)
def test_utility_per_document_and_in_all_and_depth_of_the_example(name, figures):
    assert_prints([value(asked(name, kind), LIST) for kind in ("EU", "ETU", "ED")], figures)


@pytest.mark.parametrize(
    "name, figures",
    [
        ("RBP", ".2512 .5696"),
        ("CWL_P@5", ".3 .4"),
        ("INST(T=2)", ".328709 .503656"),
        ("SDCG@10", ".267486 .575074"),
        ("CWL_AP", ".791667 .200030"),
        ("TrAP", ".593750 .397450"),
    ],
)
def test_residual_of_the_example_with_an_unjudged_document(name, figures):
    assert_prints([value(asked(name, residual=flag), UNJUDGED) for flag in (False, True)], figures)


def test_users_of_inst_stop_earlier_if_what_is_unjudged_is_relevant():
    measures = [asked("INST(T=2)", "ED", residual=flag) for flag in (False, True)]
    assert_prints([value(measure, UNJUDGED) for measure in measures], "3.422479 -.931011")


@pytest.mark.parametrize(
    "name, never_stop", [("RBP(p=.999,depth=1000)", 0.999**1000), ("INSQ(T=40)", (80 / 1080) ** 2)]
)
def test_total_utility_is_without_the_users_who_never_stop(name, never_stop):
    eu, etu, ed = (value(asked(name, kind), LIST) for kind in ("EU", "ETU", "ED"))
    assert etu == pytest.approx(eu * ed - never_stop * 2.5, rel=1e-9)


# cwl_eval itself


def theirs(name):
    """cwl_eval's metric for a measure of ours."""
    ruler = pytest.importorskip("cwl.ruler.cwl_ruler")
    from cwl.ruler.measures.cwl_npv import NPVCWLMetric
    from cwl.ruler.measures.cwl_set import SETCWLMetric

    m = parse_measure(name)
    makers = {
        "CWL_P": lambda: ruler.PrecisionCWLMetric(m.cutoff),
        "RBP": lambda: ruler.RBPCWLMetric(m.p),
        "NPV": lambda: NPVCWLMetric(m.r),
        "SDCG": lambda: ruler.NDCGCWLMetric(m.cutoff),
        "SET": lambda: SETCWLMetric(m.beta, m.cutoff),
        "CWL_RR": lambda: ruler.RRCWLMetric(),
        "CWL_AP": lambda: ruler.APCWLMetric(),
        "TrAP": lambda: ruler.TrAPCWLMetric(),
        "INST": lambda: ruler.INSTCWLMetric(m.T),
        "INSQ": lambda: ruler.INSQCWLMetric(m.T),
        "BPM": lambda: ruler.BPMCWLMetric(m.T, m.cutoff),
        "BPMD": lambda: ruler.BPMDCWLMetric(m.T, m.cutoff, m.hb, 2.0, m.gain_med),
        "TBG": lambda: ruler.TBGCWLMetric(m.halflife),
        "U": lambda: ruler.UMeasureCWLMetric(m.L),
        "IFT": lambda: {
            "goal": lambda: ruler.IFTGoalCWLMetric(m.T, m.b1, m.R1),
            "rate": lambda: ruler.IFTRateCWLMetric(m.A, m.b2, m.R2),
            "both": lambda: ruler.IFTGoalRateCWLMetric(m.T, m.b1, m.R1, m.A, m.b2, m.R2),
        }[m.stop](),
        "NERR8": lambda: ruler.NERReq8CWLMetric(m.cutoff),
        "NERR9": lambda: ruler.NERReq9CWLMetric(m.cutoff),
        "NERR10": lambda: ruler.NERReq10CWLMetric(m.p),
        "NERR11": lambda: ruler.NERReq11CWLMetric(m.T),
    }
    return makers[m.name]()


def five_of_theirs(name, gains, costs, relevant, other_cost, depth):
    """The five values and their residuals by cwl_eval."""
    metric = theirs(name)
    from cwl.ruler.ranking import Ranking

    ranking = Ranking("q", gains, costs, max_cost=other_cost, min_cost=other_cost, max_n=depth)
    ranking.total_qrel_rels = relevant
    metric.residuals = True
    metric.measure(ranking)
    residuals = ("utility", "total_utility", "cost", "total_cost", "items")
    return metric.get_scores() + [getattr(metric, f"residual_expected_{name}") for name in residuals]


CWL_NAMES = [
    *("CWL_P@5", "CWL_P@40", "CWL_RR", "CWL_AP", "TrAP", "SDCG@3", "SDCG@30", "SET@10", "SET(beta=0.9)@3", "NPV"),
    *("RBP(p=0.5)", "RBP(p=0.99)", "NPV(r=0.01)", "INST", "INST(T=2.5)", "INSQ", "INSQ(T=3)", "BPM@4"),
    *("BPM(T=2)@20", "BPMD@10", "BPMD(T=2,hb=0.3,gain_med=0.25)@15", "TBG(halflife=22)", "TBG(halflife=2000)"),
    *("U(L=20)", "U(L=30000)", "IFT(stop='goal',R1=1)", "IFT(stop='rate',R2=1)", "IFT", "IFT(T=1,A=0.5,b1=0.3)"),
    *("NERR8@5", "NERR9@20", "NERR10", "NERR10(p=0.5)", "NERR11", "NERR11(T=2)"),
]


@pytest.mark.parametrize("name", CWL_NAMES)
@pytest.mark.parametrize("cost", ["rank", "length"])
def test_all_values_and_residuals_are_those_of_cwl_eval(name, cost):
    pytest.importorskip("cwl.ruler.cwl_ruler")
    rng = random.Random(name + cost)
    for depth in (50, 50, 200):
        docs = [f"d{i:02}" for i in range(rng.randint(1, 60))]
        qrels = {"missed": 1.0, **{doc: rng.choice([0, 0, 0.25, 0.5, 1]) for doc in docs if rng.random() < 0.7}}
        lengths = {doc: float(rng.randint(1, 2000)) for doc in docs}
        mean = math.fsum(lengths.values()) / len(lengths) if cost == "length" else 1.0
        costs = [lengths[doc] if cost == "length" else 1.0 for doc in docs]
        gains = [qrels.get(doc, math.nan) for doc in docs]
        expected = five_of_theirs(name, gains, costs, sum(g > 0 for g in qrels.values()), mean, depth)
        run = {"q": {doc: -float(i) for i, doc in enumerate(docs)}}
        measures = [
            asked(name, kind, residual=flag, depth=depth, cost=cost) for flag in (False, True) for kind in VALUES
        ]
        ours = [float(per_query(m, {"q": qrels}, run, doc_lengths=lengths)[0]) for m in measures]
        assert ours == pytest.approx(expected, rel=1e-9, abs=1e-9), depth


IR_MEASURES_NAMES = [
    *("BPM(max_rel=3)@5", "BPM(T=2.5,max_rel=3)@10", "SDCG(max_rel=3)@10", "SDCG(dcg='log2',max_rel=2,min_rel=1)@4"),
    *("NERR8(max_rel=3)@5", "NERR9(max_rel=3)@10", "NERR10(max_rel=3)", "NERR10(max_rel=3,p=0.7)", "NERR11(max_rel=3)"),
    *("INST(max_rel=3)", "INST(T=2,max_rel=3,min_rel=1)", "INSQ(max_rel=3)", "INSQ(T=3,max_rel=2)"),
    *("RBP(rel=1)", "RBP(p=0.5,rel=2)"),
]


@pytest.mark.parametrize("seed", range(4))
def test_every_query_has_the_value_of_ir_measures(seed):
    pytest.importorskip("cwl.cwl_eval")
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = random_case(seed)
    run = {query: docs for query, docs in run.items() if docs}
    whole = {query: {doc: int(grade) for doc, grade in judged.items()} for query, judged in qrels.items()}
    measures = {ir_measures.parse_measure(name): name for name in IR_MEASURES_NAMES}
    found = ir_measures.cwl_eval.iter_calc(list(measures), whole, run)
    expected = {(measures[metric.measure], metric.query_id): metric.value for metric in found}
    scores = evaluate(qrels, run, IR_MEASURES_NAMES)
    for (name, query), number in expected.items():
        assert scores.per_query(name)[query] == pytest.approx(number, abs=1e-9), (name, query)


def test_cwl_eval_divides_average_precision_by_what_was_retrieved():
    case = graded([1], missed=[1, 1])
    assert [value(name, case) for name in ("CWL_AP", "TrAP", "AP")] == pytest.approx([1, 1 / 3, 1 / 3])


# RBP


def test_rbp_by_hand():
    case = graded([1, 0, 1])
    assert value("RBP", case) == pytest.approx(0.2 * (1 + 0.64))
    assert value("RBP(p=0.5)", case) == pytest.approx(0.5 * (1 + 0.25))
    assert value("RBP(p=0)", case) == 1
    assert value("RBP@2", case) == pytest.approx(0.2)


def test_rbp_is_binary_if_the_lowest_relevant_grade_is_given():
    case = graded([1, 2, 3, 0])
    assert value("RBP(p=0.5,max_rel=3)", case) == pytest.approx(1 / 2 / 3 + 1 / 4 * 2 / 3 + 1 / 8)
    assert value("RBP(p=0.5,rel=2)", case) == pytest.approx(1 / 4 + 1 / 8)
    assert value("RBP(p=0.5)", case, rel=2) == value("RBP(p=0.5)", case) == pytest.approx(1 / 2 + 1 / 4 + 1 / 8)
    assert value("RBP(p=0.5,max_rel=2)", case) == pytest.approx(1 / 4 + 1 / 4 + 1 / 8)


def test_the_residual_of_rbp_is_the_weight_of_all_that_is_not_judged():
    case = UNJUDGED
    assert value("RBP(p=0.5,residual=True)", case) == pytest.approx(1 / 4 + 1 / 16)
    assert value("RBP(p=0.5,residual=True)@1", case) == pytest.approx(1 / 2)
    everything_judged = graded([1, 0, 1])
    assert value("RBP(p=0.5,residual=True)", everything_judged) == pytest.approx(1 / 8)


def test_a_ranking_without_end_has_the_values_of_a_very_deep_one():
    qrels, run = random_case(3, queries=12, docs=30)
    lengths = {f"d{i}": 10.0 + i for i in range(30)}
    for kind, residual, cost, cutoff in itertools.product(VALUES, (False, True), ("rank", "length"), (None, 3)):
        given = {"value": kind, "residual": residual, "cost": cost, "max_rel": 3, "cutoff": cutoff}
        endless, deep = (
            per_query(replace(parse_measure(name), **given), qrels, run, doc_lengths=lengths)
            for name in ("RBP", "RBP(depth=2000)")
        )
        assert endless == pytest.approx(deep, rel=1e-9, abs=1e-12), given


def test_depth_enters_the_weights_of_rbp():
    case = graded([1])
    assert value("RBP(p=0.999)", case) == pytest.approx(0.001)
    assert value("RBP(p=0.999,depth=1000)", case) == pytest.approx(0.001 / (1 - 0.999**1000))


# ERR and gdeval


def test_err_by_hand():
    grades = {"a": 2, "b": 1, "c": -2, "d": 0}
    case = {"q": grades}, {"q": {"c": 3.0, "a": 2.0, "b": 2.0}}
    assert value("ERR", case) == pytest.approx((1 / 16) / 2 + (3 / 16) * (15 / 16) / 3)
    assert_prints([value("ERR", case), value("nDCG(gain='exp')", case)], ".08984 .58688")
    assert value("ERR@2", case) == pytest.approx((1 / 16) / 2)
    assert value("ERR(max_grade=2)", case) == pytest.approx((1 / 4) / 2 + (3 / 4) * (3 / 4) / 3)


def test_grades_above_the_highest_count_as_the_highest_for_err():
    assert value("ERR(max_grade=1)", graded([3, 2])) == value("ERR(max_grade=1)", graded([1, 1])) == 0.5 + 0.125


@pytest.mark.parametrize("year", ["wt11", "wt12"])
def test_err_and_ndcg_are_those_that_gdeval_prints(shared_data, year):
    with open(shared_data / "expected" / "gdeval" / f"gdeval20.cedr_{year}.csv", encoding="utf-8") as lines:
        rows = {row["topic"]: row for row in csv.DictReader(lines)}
    qrels = read_qrels(shared_data / "web" / f"{year}.qrels.gz")
    run = read_run(shared_data / "web" / f"{year}.run.gz")
    means = rows.pop("amean")
    columns = {"ERR@20": "err@20", "nDCG(gain='exp')@20": "ndcg@20"}
    scores = evaluate(qrels, run, list(columns)).select(rows)
    assert len(rows) >= 48 and set(scores.queries) == set(rows)
    for name, column in columns.items():
        assert_prints([scores.mean(name)], means[column])
        found = scores.per_query(name)
        assert_prints([found[topic] for topic in rows], " ".join(row[column] for row in rows.values()))
    # it leaves out topics without a positive grade, and only these
    left_out = set(qrels.queries) - set(rows)
    assert all(max(qrels.to_dict()[query].values()) <= 0 for query in left_out)


# grades, costs, weights


def test_a_grade_of_1_gains_1_unless_told_otherwise_whatever_other_queries_have():
    qrels = {"1": {"a": 1}, "2": {"b": 4}, "3": {"c": 0.5}}
    run = {"1": {"a": 1.0}, "2": {"b": 1.0}, "3": {"c": 1.0}}
    assert per_query(parse_measure("CWL_P@1"), qrels, run) == pytest.approx([1, 1, 1 / 2])
    assert per_query(parse_measure("CWL_P(max_rel=2)@1"), qrels, run) == pytest.approx([1 / 2, 1, 1 / 4])


def test_where_no_grade_is_positive_nothing_is_gained():
    case = graded([0, -1, 0])
    assert value("INST", case) == 0


def test_gains_are_cut_to_the_scale():
    assert value("CWL_P(min_rel=1,max_rel=3)@4", graded([5, 2, 1, -1])) == pytest.approx((1 + 1 / 2) / 4)


def test_a_scale_must_have_two_ends():
    with pytest.raises(MeasureError, match=r"max_rel=1 must be greater than min_rel=1\."):
        parse_measure("INST(min_rel=1,max_rel=1)")


def test_what_was_read_costs_its_length_where_lengths_are_known():
    case = graded([0, 1])
    lengths = {"d001": 30.0, "d002": 10.0}
    # the rank beyond the list costs the mean length, 20
    weights = np.exp2([0, -30 / 20, -40 / 20])
    by_length = per_query(parse_measure("TBG(halflife=20,depth=3)"), *case, doc_lengths=lengths)
    assert by_length == pytest.approx(weights[1] / weights.sum())
    weights = np.exp2([0, -1 / 20, -2 / 20])
    for name, given in (("TBG(halflife=20,depth=3)", {}), ("TBG(halflife=20,depth=3,cost='rank')", lengths)):
        values = per_query(parse_measure(name), *case, doc_lengths=given or None)
        assert values == pytest.approx(weights[1] / weights.sum())


def test_lengths_are_those_of_the_documents_that_are_left_in_a_condensed_list():
    qrels, run = {"q": {"a": 0, "b": 1}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    lengths = {"x": 100.0, "a": 30.0, "b": 10.0}
    measure = parse_measure("RBP(p=0.5,value='EC',cost='length',depth=2,judged_only=True)")
    assert per_query(measure, qrels, run, doc_lengths=lengths) == pytest.approx(30 * 2 / 3 + 10 / 3)
    whole = replace(measure, judged_only=False)
    assert per_query(whole, qrels, run, doc_lengths=lengths) == pytest.approx(100 * 2 / 3 + 30 / 3)


def test_lengths_that_are_asked_for_must_be_given():
    with pytest.raises(MeasureError, match="--doc-lengths"):
        value("INST(cost='length',value='EC')", LIST)


def test_the_weights_of_the_ranks():
    assert parse_measure("P@4").rank_weights(6) == pytest.approx([0.25] * 4 + [0, 0])
    assert parse_measure("DCG@2").rank_weights(3) == pytest.approx([1, 1 / math.log2(3), 0])
    assert parse_measure("nDCG").rank_weights(3) == pytest.approx([1, 1 / math.log2(3), 0.5])
    assert parse_measure("RBP").rank_weights(3) == pytest.approx([0.2, 0.16, 0.128])
    assert parse_measure("SDCG@2").rank_weights(3) == pytest.approx(np.array([1, 1 / math.log2(3), 0]) / 1.6309297536)
    assert parse_measure("U(L=2,depth=9)").rank_weights(3) == pytest.approx([2 / 3, 1 / 3, 0])
    assert parse_measure("NPV(r=1,depth=2)").rank_weights(3) == pytest.approx([2 / 3, 1 / 3, 0])
    for name in ("AP", "RR", "ERR", "INST", "BPM@10", "CWL_AP", "NERR10"):
        assert parse_measure(name).rank_weights(3) is None


FIXED = [kind for kind in all_measures() if "max_rel" in kind.parameters and kind.plain().rank_weights(1) is not None]


@pytest.mark.parametrize("kind", FIXED, ids=lambda kind: kind.name)
def test_the_expected_utility_is_the_weighted_sum_of_the_gains(kind):
    measure = replace(kind.plain(), max_rel=1)
    weights = measure.rank_weights(1000)
    assert math.fsum(weights) == pytest.approx(1, abs=1e-9)
    assert value(measure, LIST) == pytest.approx(np.dot(weights[:6], [0, 1, 0, 0.5, 0, 1]), abs=1e-12)


# ties


@pytest.mark.parametrize("name", ["RBP", "RBP@3", "RBP(depth=4)", "SDCG@3", "INSQ", "NPV", "SET@4", "CWL_P@3"])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("kind", VALUES)
def test_the_expected_value_is_the_mean_over_all_orders_of_ties(name, kind, residual):
    qrels = {"q": {"a": 1, "b": 0, "c": 0.5, "e": -1}}
    groups = ["ab", "cxy", "e"]
    measure = asked(name, kind, residual=residual)
    tied = {"q": {doc: -float(i) for i, group in enumerate(groups) for doc in group}}
    orders = [
        {"q": {doc: -float(i) for i, doc in enumerate(itertools.chain(*order))}}
        for order in itertools.product(*map(itertools.permutations, groups))
    ]
    mean = np.mean([per_query(measure, qrels, order) for order in orders], axis=0)
    assert per_query(measure, qrels, tied, "expected") == pytest.approx(mean, abs=1e-12)


def test_costs_by_length_under_ties_are_left_to_sampling():
    measure = parse_measure("RBP(value='EC',cost='length')")
    run = {"q": {"a": 1.0, "b": 1.0}}
    assert per_query(measure, {"q": {"a": 1}}, run, "expected", doc_lengths={"a": 1.0, "b": 9.0}) is None


def test_shuffled_documents_keep_their_lengths():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    extras = Extras(doc_lengths={"a": 30.0, "b": 10.0})
    judged = join_run(as_qrels(qrels), as_run(run), Joining(ties="expected"), extras)
    measure = parse_measure("CWL_P(value='EC',cost='length')@1")
    drawn = {
        (int(order.rank[0]), float(measure.values(order)[0]))
        for order in (judged.shuffle_ties([np.random.default_rng(seed)]) for seed in range(20))
    }
    assert drawn == {(1, 30.0), (2, 10.0)}


# explanations


def test_an_explanation_shows_gains_and_weights():
    explanation = explain("RBP(p=0.5)", *graded([1, 0, 1]), "q")
    assert [row["term"] for row in explanation.rows] == pytest.approx([1 / 2, 0, 1 / 8])
    assert [row["weight"] for row in explanation.rows] == pytest.approx([1 / 2, 1 / 4, 1 / 8])
    assert explanation.columns == ("gain", "reach", "continue", "weight")


def test_ranks_beyond_the_list_are_one_row_of_an_explanation():
    *_, last = explain("INSQ(value='ED')", *graded([1, 0, 1]), "q").rows
    assert last["what"] == "ranks 4 to 1,000, beyond the list"
    *_, last = explain("RBP(p=0.5,residual=True)", *graded([1, 0, 1]), "q").rows
    assert last == {"what": "ranks 4 on, beyond the list", "term": pytest.approx(1 / 8)}


def test_an_explanation_of_err_shows_who_is_still_reading():
    explanation = explain("ERR(max_grade=1)", *graded([1, 0, 1]), "q")
    assert [row["reach"] for row in explanation.rows] == [1, 0.5, 0.5]
    assert [row["satisfied"] for row in explanation.rows] == [0.5, 0, 0.5]
    assert explanation.value == pytest.approx(0.5 + 0.25 / 3)


def test_what_comes_in_from_beyond_the_depth_may_hurt_average_precision_over_what_was_retrieved():
    qrels = {"q": {"a": 2, "b": 0, "c": 0, "d": 1, "e": 2}}
    before, after = ({"q": {doc: -float(i) for i, doc in enumerate(order)}} for order in ("abcd", "adcb"))
    name = "CWL_AP(max_rel=3,depth=2)"
    values = [evaluate(qrels, run, [name]).mean(name) for run in (before, after)]
    assert values == pytest.approx([2 / 3, 0.6111], abs=1e-4) and "swap" in parse_measure(name).lacks


def test_a_negative_grade_is_no_judgment_to_a_residual_unless_it_gains_something():
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    negative, unjudged = {"q": {"a": 1, "b": -1, "c": 0}}, {"q": {"a": 1, "c": 0}}
    for name in ("RBP", "RBP(rel=1)", "RBP(depth=5)", "INST", "CWL_P@3", "TrAP"):
        residual = str(replace(parse_measure(name), residual=True))
        for ties in ("trec", "expected"):
            found = [evaluate(qrels, run, [residual], ties=ties).mean(residual) for qrels in (negative, unjudged)]
            assert found[0] == found[1] != 0, (name, ties)
    judged = evaluate(negative, run, [name := "RBP(rel=-1,residual=True)"]).mean(name)
    assert judged == pytest.approx(0.8**3)
