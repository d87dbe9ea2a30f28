"""trec_eval's own measures in the registry: worked by hand, by name, and against its functions on random data."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cranfield import Qrels, evaluate, explain
from cranfield.errors import EvaluationError, MeasureError
from cranfield.measures import parse_measure, parse_measures
from cranfield.measures.trec_names import FAMILIES, NICKNAMES
from tests.measures.pytrec_oracle import Oracle
from tests.measures.rankings import graded, random_case, ranked, relevant_at, value

# grades by rank b c x f d a e, with x unjudged and f pooled only; g was missed
from tests.soak import examples

TINY = (
    {"q": {"a": 2, "b": 0, "c": 1, "d": 1, "e": 0, "f": -1, "g": 3}},
    {"q": {"b": 9.0, "c": 8.0, "x": 7.0, "f": 6.0, "a": 5.0, "d": 5.0, "e": 4.0}},
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("infAP", 0.4028),
        ("infAP(judged_only=True)", 0.4792),
        ("RprecMult@0.2", 0),
        ("RprecMult@0.4", 0.5),
        ("RprecMult@1.2", 0.4),
        ("RprecMult@2", 0.375),
        ("BinG", 0.3731),
        ("G", 0.2047),
        ("G(gain={1:3,2:9})", 0.2689),
        ("nDCG_rel", 0.2526),
        ("nDCG_rel(gain={1:3,2:9})", 0.3279),
        ("Rndcg", 0.1507),
        ("Rndcg(gain={1:3,2:9})", 0.1986),
        ("SetAP", 0.3214),
        ("SetF", 0.5455),
        ("SetRelP", 0.75),
        ("SetP(relative=True)", 0.75),
        ("RelativeP@5", 0.5),
        ("Utility", -1),
        ("Utility(coefficients=(2,-1,-0.5,0.1),docs=100)", 10.7),
        ("YAAP", -0.4055),
        ("TrecRBP", 0.0912),
        ("TrecRBPResidual", 0.6322),
        ("Unjudged@5", 0.4),
        ("NumNonrelJudgedRet", 2),
        ("IdealDCG", 3 + 2 / math.log2(3) + 1 / 2 + 1 / math.log2(5)),
    ],
)
def test_the_tiny_example(name, expected):
    assert value(name, TINY) == pytest.approx(expected, abs=0.00005)
    assert explain(name, *TINY, "q").value == value(name, TINY)


def test_inferred_ap_takes_pooled_documents_as_relevant_in_proportion():
    # relevant, pooled only, relevant: at rank 3 the pooled one is relevant as often as the judged one above
    case = graded([1, -1, 1])
    third = 1 / 3 + (2 / 3) * (2 / 2) * (1.00001 / 1.00002)
    assert value("infAP", case) == pytest.approx((1 + third) / 2, abs=1e-12)


def test_binary_gain_is_tired_by_wrong_documents_only():
    assert value("BinG", ranked("R.RR")) == pytest.approx((1 + 2 / math.log2(3)) / 3)
    assert value("BinG", ranked("RRR")) == 1


def test_gain_costs_what_the_best_ranking_would_give():
    # paid 3 then 1; gained 1 at rank 1, 4 at rank 2
    case = graded([1, 3])
    assert value("G", case) == pytest.approx((1 / math.log2(2 + 3 - 1) + 3 / math.log2(2 + 4 - 4)) / 4)


def test_rndcg_looks_at_the_end_of_a_list_that_is_longer_than_the_best_ranking():
    case = ranked(".RR")
    two = (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    three = (1 / math.log2(3) + 1 / 2) / (1 + 1 / math.log2(3))
    assert value("Rndcg", case) == pytest.approx((two + three) / 2)
    assert value("Rndcg(end='trec_eval')", case) == pytest.approx(two)
    assert value("Rndcg(end='trec_eval')", ranked(".RR.", 2)) == pytest.approx((two + three) / 2)


def test_relative_precision_is_precision_for_few_and_recall_for_many_documents():
    case = relevant_at([1, 4, 9], 10)
    assert value("RelativeP@2", case) == value("P@2", case) == 0.5
    assert value("RelativeP@5", case) == value("R@5", case) == pytest.approx(2 / 3)
    assert parse_measure("R_cap@5") == parse_measure("RelativeP@5")


def test_a_geometric_mean_is_near_zero_where_one_query_fails():
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
    run = {"1": {"a": 1.0}, "2": {"x": 2.0, "a": 1.0}, "3": {"x": 1.0}}
    scores = evaluate(qrels, run, ["GMAP", "GMBpref", "AP"])
    assert scores.mean("GMAP") == pytest.approx((1 * 0.5 * 0.00001) ** (1 / 3))
    assert scores.mean("GMBpref") == pytest.approx((1 * 1 * 0.00001) ** (1 / 3))
    assert scores.per_query("GMAP") == scores.per_query("AP")


def test_the_gains_of_trec_rbp_are_scaled_by_query():
    one, two = graded([1]), graded([1], missed=[2])
    assert value("TrecRBP", one) == pytest.approx(0.1)
    assert value("TrecRBP", two) == pytest.approx(0.05)
    # a level that no document has counts too: 1 and 2 are worth more than 3
    assert value("TrecRBP(gain={3:0.5})", graded([3])) == pytest.approx(0.1 * 0.5 / 2)


def test_the_residual_of_trec_eval_forgets_the_tail_of_a_list_that_is_all_judged():
    assert value("TrecRBPResidual", ranked("R.")) == 0
    unjudged = {"q": {"a": 1}}, {"q": {"a": 2.0, "x": 1.0}}
    assert value("TrecRBPResidual(p=0.5)", unjudged) == pytest.approx(0.5 * 0.5 + 0.5**2)


def test_utility_needs_the_size_of_the_collection_only_if_it_prices_the_rest():
    case = ranked("R.")
    assert value("Utility(coefficients=(3,-2,0,0))", case) == 1
    with pytest.raises(MeasureError, match="size of the collection"):
        value("Utility(coefficients=(1,1,1,1))", case)
    with pytest.raises(MeasureError, match="four numbers"):
        parse_measure("Utility(coefficients=(1,2))")


# judgment groups


def test_the_mean_over_judgment_groups():
    groups, docs, grades = zip(*("Aa1", "Ab0", "Ac1", "Ba0", "Bb1", "Bc0"), strict=True)
    qrels = Qrels.from_rows(["q"] * 6, docs, [float(grade) for grade in grades], subtopics=groups)
    scores = evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, ["map_avgjg", "P_avgjg.1", "Rprec_mult_avgjg.1"])
    assert [scores.mean(label) for label in scores.labels] == [0.5, 0.5, 0.25]


def test_with_one_group_it_is_the_measure_itself():
    case = random_case(5)
    pairs = [("GroupAP", "AP"), ("GroupP@3", "P@3"), ("GroupRprecMult@0.4", "RprecMult@0.4")]
    scores = evaluate(*case, [name for pair in pairs for name in pair])
    for grouped_name, name in pairs:
        assert scores.per_query(grouped_name) == pytest.approx(scores.per_query(name), abs=1e-15)


# preferences


def preferred(rows, run):
    """Preferences of rows `group subgroup doc level`."""
    groups, subgroups, docs, levels = zip(*(row.split() for row in rows), strict=True)
    grades = [float(level) for level in levels]
    return Qrels.from_rows(
        ["q"] * len(docs), docs, grades, subtopics=groups, extra={"subgroup": subgroups}, on_duplicate="max"
    ), {"q": run}


TWO_JUDGES = preferred(
    ["u1 s1 a 2", "u1 s1 b 1", "u1 s1 c 0", "u1 s1 d 0", "u2 s1 b 3", "u2 s1 a 1", "u2 s2 a 2", "u2 s2 e 0"],
    {"c": 5.0, "a": 5.0, "x": 4.0, "b": 3.0},
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NumPrefs", 8),
        ("NumPrefs(of='fulfilled')", 6),
        ("NumPrefs(of='fulfilled-ret')", 2),
        ("Prefs", 0.75),
        ("Prefs(mean='pairs')", 0.7857),
        ("Prefs(mean='groups')", 0.7333),
        ("Prefs(which='ret')", 0.5),
        ("Prefs(mean='pairs',which='ret')", 0.5),
        ("Prefs(mean='groups',which='ret')", 0.3333),
        ("Prefs(which='imp')", 0.75),
        ("Prefs(mean='pairs',which='imp')", 0.7857),
        ("Prefs(mean='groups',which='imp')", 0.7333),
        ("PrefsRnonrel", 0.8),
        ("PrefsRnonrel(which='ret')", 0.8),
    ],
)
def test_the_example_of_preferences(name, expected):
    assert value(name, TWO_JUDGES, ties="doc-ascending") == pytest.approx(expected, abs=0.00005)
    explained = explain(name, *TWO_JUDGES, "q", ties="doc-ascending")
    total = math.fsum(row["term"] for row in explained.rows)
    assert total / explained.normaliser == pytest.approx(explained.value, abs=1e-12)


def test_what_follows_by_transitivity_is_a_preference_too():
    case = preferred(["u s a 2", "u s b 1", "u t b 2", "u t c 1"], {"a": 3.0, "b": 2.0, "c": 1.0})
    assert value("NumPrefs", case) == 3
    assert value("Prefs", case) == 1


def test_preferences_that_conflict_are_an_error():
    case = preferred(["u s a 2", "u s b 1", "u t b 2", "u t a 1"], {"a": 3.0})
    with pytest.raises(EvaluationError, match="prefers, directly or by transitivity, two documents to each other"):
        value("Prefs", case)


# names


def test_every_name_of_trec_eval_is_understood():
    numbers = [name for name, family in FAMILIES.items() if family.make is not None]
    assert all(parse_measures([name]) for name in [*numbers, *NICKNAMES])
    for name in ("runid", "relstring"):
        with pytest.raises(MeasureError, match="is a text, not a number"):
            parse_measures([name])


def test_nicknames_stand_for_trec_evals_lists():
    labels = {name: [label for label, _ in parse_measures([name])] for name in NICKNAMES}
    assert {name: len(listed) for name, listed in labels.items()} == {
        "official": 29,
        "set": 10,
        "all_trec": 98,
        "prefs": 7,
        "all_prefs": 15,
        "qrels_jg": 21,
    }
    assert labels["official"][:4] == ["num_q", "num_ret", "num_rel", "num_rel_ret"]
    assert labels["all_trec"][-5:] == ["rbp", "rbp_resid", "unj_5", "unj_10", "unj_20"]


@pytest.mark.parametrize(
    ("text", "label", "measure"),
    [
        ("relative_P.5", "relative_P_5", "RelativeP@5"),
        ("Rprec_mult.0.35", "Rprec_mult_0.35", "RprecMult@0.35"),
        ("Rprec_mult_2.00", "Rprec_mult_2.00", "RprecMult@2"),
        ("utility.2,-1,0,0", "utility_2,-1,0,0", "Utility(coefficients=(2,-1,0,0))"),
        ("G.1=3,2=9", "G_1=3,2=9", "G(gain={1:3,2:9})"),
        ("rbp", "rbp", "TrecRBP"),
        ("rbp.p=0.5,1=.3", "rbp_p=0.5,1=.3", "TrecRBP(gain={1:0.3},p=0.5)"),
        ("rbp_resid.p=0.5", "rbp_resid_p=0.5", "TrecRBPResidual(p=0.5)"),
        ("unj_10", "unj_10", "Unjudged@10"),
        ("gm_map", "gm_map", "GMAP"),
        ("prefs_avgjg_Rnonrel_ret", "prefs_avgjg_Rnonrel_ret", "PrefsRnonrel(which='ret')"),
        ("prefs_pair_imp", "prefs_pair_imp", "Prefs(mean='pairs',which='imp')"),
        ("P_avgjg_5", "P_avgjg_5", "GroupP@5"),
    ],
)
def test_names_keep_their_printed_form(text, label, measure):
    assert parse_measures([text]) == [(label, parse_measure(measure))]


# against the reference's functions

PLAIN = ["infAP", "binG", "G", "ndcg_rel", "set_map", "set_relative_P", "utility", "num_nonrel_judged_ret"]
CUT = ["relative_P.1,2,3,5,10,100"]
IN_OTHER_NAMES = {
    "Rndcg(end='trec_eval')": "Rndcg",
    "InterpolatedAP(rounding='trec_eval-9')": "11pt_avg",
    **{f"RprecMult@{x / 10}": f"Rprec_mult_{x / 10:.2f}" for x in range(2, 21, 2)},
}
DOCS = ["d1", "d10", "d2", "D1", "d", "é", "z", "0", "-", "~", "long-one", "x"]
THOROUGH = examples(50)


@st.composite
def topic(draw):
    docs = draw(st.lists(st.sampled_from(DOCS), min_size=1, unique=True))
    judged = {doc: draw(st.integers(-2, 4)) for doc in docs}
    judged[docs[0]] = abs(judged[docs[0]])  # trec_eval stops at a topic with negative grades only
    found = draw(st.lists(st.sampled_from(DOCS), unique=True))
    return judged, {doc: draw(st.sampled_from([0.0, 1.0, 1.5, -2.0])) for doc in found}


def collections():
    return st.lists(topic(), min_size=1, max_size=8).map(
        lambda parts: tuple({f"q{i}": part[side] for i, part in enumerate(parts)} for side in (0, 1))
    )


@pytest.mark.soak("random")
@pytest.mark.parametrize("level", [1, 2, 3])
def test_values_agree_with_pytrec_eval_query_by_query(level):
    pytest.importorskip("pytrec_eval")
    oracle = Oracle()

    def check(case):
        qrels, run = case
        assume(any(run.values()))
        theirs = oracle.ask(qrels, run, [*PLAIN, *CUT, "Rndcg", "11pt_avg", "Rprec_mult"], level)
        assert theirs is not None, "pytrec_eval gave no answer"
        scores = evaluate(qrels, run, [*PLAIN, *CUT, *IN_OTHER_NAMES], rel=level, score_type="float32", missing="skip")
        for label in scores.labels:
            for query, ours in scores.per_query(label).items():
                its = theirs[query][IN_OTHER_NAMES.get(label, label)]
                # with an empty list trec_eval divides 0 by 0
                assert math.isclose(ours, its, abs_tol=1e-9) or (math.isnan(its) and not run[query]), (label, query)

    try:
        THOROUGH(given(collections())(check))()
    finally:
        oracle.close()


def test_geometric_means_are_those_of_the_logarithms_that_pytrec_eval_gives():
    pytest.importorskip("pytrec_eval")
    oracle = Oracle()
    qrels, run = random_case(11, queries=20, least=1, grades=(0, 0, 1, 2))
    theirs = oracle.ask(
        {q: {d: int(g) for d, g in part.items()} for q, part in qrels.items()}, run, ["gm_map", "gm_bpref"]
    )
    oracle.close()
    assert theirs is not None
    scores = evaluate(qrels, run, ["gm_map", "gm_bpref"], score_type="float32")
    for label in scores.labels:
        logarithms = [part[label] for part in theirs.values()]
        assert scores.mean(label) == pytest.approx(math.exp(math.fsum(logarithms) / len(logarithms)), abs=1e-12)


def test_rbp_refuses_a_scale_that_does_not_fit_into_memory() -> None:
    with pytest.raises(EvaluationError, match="all whole grades up to the highest, which is 1e\\+300"):
        evaluate({"q": {"a": 1e300}}, {"q": {"a": 1.0}}, ["rbp"])
