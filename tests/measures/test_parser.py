"""Reading the names of measures: ir_measures' notation, trec_eval's names, and errors that help."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import MeasureError
from cranfield.measures import (
    AP,
    DCG,
    RR,
    Bpref,
    InterpolatedAP,
    IPrec,
    Judged,
    NumQ,
    NumRel,
    NumRelRet,
    NumRet,
    P,
    R,
    Rprec,
    RprecMult,
    SearchLength,
    SetF,
    SetP,
    SetR,
    Success,
    all_measures,
    nDCG,
    parse_measure,
    parse_measures,
)
from tests.soak import examples


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ("nDCG@10", nDCG(cutoff=10)),
        ("NDCG@10", nDCG(cutoff=10)),
        ("nDCG", nDCG()),
        ("AP(rel=2)@100", AP(rel=2, cutoff=100)),
        ("MAP", AP()),
        ("MRR@10", RR(cutoff=10)),
        ("P(rel=2,judged_only=True)@5", P(rel=2, judged_only=True, cutoff=5)),
        ("Precision(cutoff=5)", P(cutoff=5)),
        ("Recall@5", R(cutoff=5)),
        ("IPrec@0.1", IPrec(recall=0.1)),
        ("IPrec(recall=0)", IPrec(recall=0)),
        ("RPrec(rel=2)", Rprec(rel=2)),
        ("BPref", Bpref()),
        ("Judged@10", Judged(cutoff=10)),
        ("SetF(beta=2)", SetF(beta=2)),
        ("NumRet(rel=1)", NumRet(rel=1)),
        ("nDCG(dcg='log2')@10", nDCG(cutoff=10)),
        ("nDCG(dcg='exp-log2')@10", nDCG(gain="exp", cutoff=10)),
        ("nDCG(gains={1:3,2:9})@10", nDCG(gain={1: 3, 2: 9}, cutoff=10)),
        ("AP(denominator='min(R,k)')@5", AP(denominator="min(R,k)", cutoff=5)),
        ("AP(ties='group')", AP(ties="group")),
        ('DCG(discount="1/i")', DCG(discount="1/i")),
        ("InterpolatedAP(points=(0.25,0.5,0.75))", InterpolatedAP(points=(0.25, 0.5, 0.75))),
        ("SearchLength(wanted=2)", SearchLength(wanted=2)),
        (" P @ 5 ", P(cutoff=5)),
        ("P(rel=-1)@5", P(rel=-1, cutoff=5)),
        ("P@1e2", P(cutoff=100)),
    ],
)
def test_names_in_the_notation_of_ir_measures(text, measure):
    assert parse_measure(text) == measure
    assert hash(parse_measure(text)) == hash(measure)


@pytest.mark.parametrize(
    ("text", "label", "measure"),
    [
        ("map", "map", AP()),
        ("map_cut_10", "map_cut_10", AP(cutoff=10)),
        ("map_cut.10", "map_cut_10", AP(cutoff=10)),
        ("recip_rank", "recip_rank", RR()),
        ("Rprec", "Rprec", Rprec()),
        ("bpref", "bpref", Bpref()),
        ("ndcg", "ndcg", nDCG()),
        ("ndcg_cut_10", "ndcg_cut_10", nDCG(cutoff=10)),
        ("ndcg.1=3,2=9", "ndcg_1=3,2=9", nDCG(gain={1: 3, 2: 9})),
        ("ndcg.1=3.5,2=9.0", "ndcg_1=3.5,2=9.0", nDCG(gain={1: 3.5, 2: 9})),
        ("P_5", "P_5", P(cutoff=5)),
        ("recall_1000", "recall_1000", R(cutoff=1000)),
        ("success_1", "success_1", Success(cutoff=1)),
        ("iprec_at_recall_0.10", "iprec_at_recall_0.10", IPrec(recall=0.1)),
        ("iprec_at_recall.0.1", "iprec_at_recall_0.10", IPrec(recall=0.1)),
        ("11pt_avg", "11pt_avg", InterpolatedAP()),
        ("11pt_avg.0.25,.5", "11pt_avg_0.25,.5", InterpolatedAP(points=(0.25, 0.5))),
        ("set_P", "set_P", SetP()),
        ("set_recall", "set_recall", SetR()),
        ("set_F", "set_F", SetF()),
        ("set_F.2", "set_F_2", SetF(beta=math.sqrt(2))),
        ("set_F.0.25", "set_F_0.25", SetF(beta=0.5)),
        ("num_q", "num_q", NumQ()),
        ("num_ret", "num_ret", NumRet()),
        ("num_rel", "num_rel", NumRel()),
        ("num_rel_ret", "num_rel_ret", NumRelRet()),
    ],
)
def test_names_of_trec_eval_keep_their_printed_form(text, label, measure):
    assert parse_measures([text]) == [(label, measure)]
    assert parse_measure(text) == measure


def test_a_trec_eval_name_may_stand_for_several_measures():
    assert parse_measures("P.5,10") == [("P_5", P(cutoff=5)), ("P_10", P(cutoff=10))]
    assert [label for label, _ in parse_measures(["ndcg_cut"])] == [
        f"ndcg_cut_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    ]
    assert [label for label, _ in parse_measures(["success"])] == ["success_1", "success_5", "success_10"]
    assert [label for label, _ in parse_measures(["iprec_at_recall"])] == [
        f"iprec_at_recall_{i / 10:.2f}" for i in range(11)
    ]


def test_one_measure_is_asked_for_where_a_name_stands_for_several():
    with pytest.raises(MeasureError, match="denotes 2 measures"):
        parse_measure("P.5,10")


def test_measures_keep_the_order_and_the_names_they_were_asked_for_by():
    asked = parse_measures(["MAP", "AP(rel=2)", nDCG(cutoff=3), "P@5", "MAP"])
    assert [label for label, _ in asked] == ["MAP", "AP(rel=2)", "nDCG@3", "P@5"]


def test_a_single_name_or_measure_needs_no_list():
    assert parse_measures("AP") == parse_measures(AP()) == [("AP", AP())]


def test_no_measure_at_all_is_an_error():
    with pytest.raises(MeasureError, match="no measure was named"):
        parse_measures([])


@pytest.mark.parametrize(
    ("text", "hint"),
    [("NDGC@10", "Did you mean nDCG"), ("ndgc@10", "Did you mean nDCG"), ("Sucess@3", "Did you mean Success")],
)
def test_an_unknown_name_suggests_the_nearest(text, hint):
    with pytest.raises(MeasureError, match=hint):
        parse_measure(text)


def test_an_unknown_name_says_where_those_that_are_known_are_listed():
    with pytest.raises(MeasureError, match="unknown measure 'Foo'.* See 'cranfield measures'"):
        parse_measure("Foo@10")


def test_an_unknown_parameter_names_those_that_are_known():
    with pytest.raises(MeasureError, match="P has no parameter 'relevance': it has cutoff, rel, gain, judged_only"):
        parse_measure("P(relevance=2)@5")
    with pytest.raises(MeasureError, match="NumQ has no parameter 'rel': it has gain, judged_only"):
        parse_measure("NumQ(rel=2)")


@pytest.mark.parametrize("name", ["R", "Success", "Precision"])
def test_a_missing_cutoff_is_explained_with_an_example(name):
    with pytest.raises(MeasureError, match=r"needs cutoff \(how many documents from the top count\), e.g. \w+@10"):
        parse_measure(name)


def test_a_missing_recall_point_is_explained():
    with pytest.raises(MeasureError, match="IPrec needs recall"):
        parse_measure("IPrec")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("P@0", "cutoff=0 is out of range: expected a whole number"),
        ("P@-1", "cutoff=-1"),
        ("P@1.5", "cutoff=1.5: expected a whole number"),
        ("P@True", "cutoff=True"),
        ("P@'5'", "cutoff='5'"),
        ("P@None", "needs cutoff"),
        ("P@1e999", "cutoff=inf"),
        (f"P@{10**400}", "cutoff"),
        (f"P@{10**30}", "out of range"),
        ("P@k", "must be a number"),
        ("P(rel='x')@5", "rel='x': expected a number"),
        (f"P(rel={10**400})@5", "rel"),
        ("P(judged_only=1)@5", "expected True or False"),
        ("P(judged_only=None)@5", "judged_only=None"),
        ("IPrec@1.5", "expected a number from 0 to 1"),
        ("AP(denominator='k')@5", "expected one of R, min"),
        ("AP(denominator=3)@5", "expected one of R, min"),
        ("AP(denominator=None)@5", "expected one of R, min"),
        ("AP(ties=3)", "expected 'group'"),
        ("nDCG(gain='square')", "expected one of linear, exp"),
        ("nDCG(gain=2)", "expected one of linear, exp"),
        ("nDCG(gain=None)", "expected one of linear, exp"),
        ("nDCG(gain={'a':1})", "grades and gains that are numbers"),
        ("nDCG(dcg='log3')", "expected one of log2, exp-log2"),
        ("nDCG(discount='none')", "expected one of"),
        ("nDCG(base=1)", "expected a number"),
        ("nDCG(base=None)", "expected a number"),
        ("SetF(beta=-1)", "beta=-1"),
        ("SetF(beta=None)", "beta=None"),
        ("SetF(beta=1e200)", "beta=1e"),
        ("SearchLength(wanted=0)", "wanted=0"),
        ("InterpolatedAP(points=1)", "points=1"),
        ("InterpolatedAP(points=())", "at least one recall point"),
        ("InterpolatedAP(points=(0.5,2))", "points=2"),
        ("InterpolatedAP(points=10000000000)", "out of range"),
        ("Fallout(docs=0)", "docs=0"),
        ("NumQ@5", "takes no cutoff"),
        ("P(cutoff=5)@10", "gives cutoff twice"),
        ("nDCG(gain='exp',dcg='log2')", "gives gain twice"),
        ("P(5)", "is not a measure: expected Name"),
        ("P@5@10", "is not a measure"),
        ("P(**{'rel':1})@5", "has no parameter"),
        ("", "is not a measure"),
        ("P@", "is not a measure"),
        ("P\0@5", "is not a measure"),
        ("(" * 2000, "is not a measure"),
        ("P.5,", "cutoff '' is not a whole number"),
        ("P.0", "cutoff '0' is not a whole number"),
        ("ndcg_cut_ten", "cutoff 'ten' is not a whole number"),
        ("map.5", "map takes no parameters"),
        ("ndcg.1", "expected level=gain"),
        ("ndcg.a=1", "'a' is not a number"),
        ("iprec_at_recall_2", "expected a number from 0 to 1"),
        ("set_F.x", "'x' is not a number"),
        ("set_F.-1", "at least 0"),
        ("set_F.1e999", "beta"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(text, says):
    with pytest.raises(MeasureError, match=says):
        parse_measure(text)


def test_values_of_the_wrong_kind_are_errors_in_python_too():
    for wrong in ({"cutoff": "5"}, {"cutoff": 5, "rel": [1]}, {"cutoff": 5, "rel": 1j}, {"cutoff": math.nan}):
        with pytest.raises(MeasureError):
            P(**wrong)


def test_every_name_and_alias_is_unique():
    names = [name for kind in all_measures() for name in (kind.name, *kind.aliases)]
    assert len(names) == len(set(names))


NAMES = st.sampled_from([kind.name for kind in all_measures()] + ["map", "P", "ndcg", "set_F", "iprec_at_recall"])
PIECES = st.sampled_from(
    ["@", "(", ")", "=", ",", ".", "_", "5", "-1", "0.5", "rel", "cutoff", "'exp'", "gain", "{1:2}", "None", "1e9", "j"]
)
LIKE_NAMES = st.tuples(NAMES, st.lists(PIECES, max_size=8).map("".join)).map("".join)


@examples(600)
@given(st.one_of(st.text(max_size=30), LIKE_NAMES, LIKE_NAMES))
def test_random_text_is_a_measure_or_a_measure_error(text):
    try:
        named = parse_measures([text])
    except MeasureError as error:
        assert str(error)
    else:
        assert all(parse_measure(str(measure)) == measure for _, measure in named)


def test_points_that_two_decimals_would_take_for_one_another_have_names_of_their_own():
    names = ["iprec_at_recall.0.121,0.122", "iprec_at_recall.0.12", "Rprec_mult.0.333"]
    assert parse_measures(names) == [
        ("iprec_at_recall_0.121", IPrec(recall=0.121)),
        ("iprec_at_recall_0.122", IPrec(recall=0.122)),
        ("iprec_at_recall_0.12", IPrec(recall=0.12)),
        ("Rprec_mult_0.333", RprecMult(multiple=0.333)),
    ]


@pytest.mark.parametrize(("name", "command"), [("relstring", "-q -m relstring"), ("runid", "-m runid")])
def test_what_is_a_text_is_left_to_the_drop_in(name, command):
    with pytest.raises(
        MeasureError, match=f"is a text, .* only the drop-in has it: cranfield trec_eval {command} QRELS RUN"
    ):
        parse_measures([name])
