"""A score step by step: the tables of the lecture slides (design/worked_examples.md), row by row."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from cranfield import (
    EvaluationError,
    InputError,
    Measure,
    MeasureError,
    Qrels,
    evaluate,
    explain,
    from_arrays,
    read_qrels,
    read_run,
)
from cranfield.evaluation.explanation import Explanation, short
from tests.measures.rankings import assert_prints, graded, prints_as, ranked, relevant_at, together

A = ranked("R.RRRR...R", 6)
B = ranked(".R..RRR.RR", 6)
C = ranked("R....R...R", 3)
D = ranked(".R..R.R...", 3)
THREE_TWO_THREE = graded([3, 2, 3, 0, 0, 1, 2, 2, 3, 0])
FOUR_THREE_FOUR = [4, 3, 4, 2, 0, 0, 0, 1, 1, 0]
OLD = "discount='log(max(i,base))'"


def column(explanation: Explanation, name: str) -> list[float]:
    return [row[name] for row in explanation.rows if "rank" in row]


def others(explanation: Explanation) -> list[float]:
    return [row["term"] for row in explanation.rows if "rank" not in row]


# binary relevance


def test_average_precision_of_three_relevant_documents() -> None:
    e = explain("AP", *ranked("R.R.R", 3), "q")
    assert column(e, "P@i")[2:] == [2 / 3, 2 / 4, 3 / 5]
    assert column(e, "term") == [1, 0, 2 / 3, 0, 3 / 5]
    assert e.with_numbers == "(1 + 0.6667 + 0.6) / 3 = 0.7556"
    assert prints_as(e.value, "0.76")


@pytest.mark.parametrize(
    ("case", "precision", "recall", "ap"),
    [
        (A, "1.0 .5 .67 .75 .8 .83 .71 .63 .56 .6", ".17 .17 .33 .5 .67 .83 .83 .83 .83 1.0", "0.78"),
        (B, "0 .5 .33 .25 .4 .5 .57 .5 .56 .6", "0 .17 .17 .17 .33 .5 .67 .67 .83 1", "0.52"),
        (C, "1 .5 .33 .25 .2 .33 .29 .25 .22 .3", ".33 .33 .33 .33 .33 .67 .67 .67 .67 1", "0.54"),
        (D, "0 .5 .33 .25 .4 .33 .43 .38 .33 .3", "0 .33 .33 .33 .67 .67 1 1 1 1", "0.44"),
    ],
    ids="ABCD",
)
def test_the_tables_of_the_four_rankings(case: tuple, precision: str, recall: str, ap: str) -> None:
    e = explain("AP", *case, "q")
    assert_prints(column(e, "P@i"), precision)
    assert_prints(column(e, "R@i"), recall)
    assert prints_as(e.value, ap)
    assert prints_as(e.sum / e.normaliser, ap)


def test_ap_of_ranking_c_with_its_numbers() -> None:
    assert explain("AP", *C, "q").with_numbers == "(1 + 0.3333 + 0.3) / 3 = 0.5444"


def test_the_eleven_points_of_rankings_a_and_b() -> None:
    e = explain("InterpolatedAP", *A, "q")
    assert others(e) == pytest.approx([1.0] * 2 + [5 / 6] * 7 + [0.6] * 2)
    assert prints_as(e.value, "0.82")
    assert prints_as(explain("InterpolatedAP", *B, "q").value, "0.60")


def test_the_averaged_curves_of_two_systems() -> None:
    def curve(*cases: tuple) -> list[float]:
        qrels, run = together(*cases)
        points = zip(*(others(explain("InterpolatedAP", qrels, run, query)) for query in qrels), strict=True)
        return [math.fsum(point) / len(point) for point in points]

    assert_prints(curve(A, C), "1 1 .92 .92 .58 .58 .58 .57 .57 .45 .45")
    assert_prints(curve(B, D), ".55 .55 .55 .55 .51 .51 .51 .51 .51 .51 .51")


def test_the_two_systems_and_their_queries() -> None:
    for cases, mean in (((A, C), "0.66"), ((B, D), "0.48")):
        qrels, run = together(*cases)
        assert prints_as(sum(explain("AP", qrels, run, query).value for query in qrels) / 2, mean)


def test_two_queries_whose_mean_is_map() -> None:
    first, second = relevant_at([1, 3, 6, 9, 10], 10), relevant_at([2, 5, 7], 10)
    assert prints_as(explain("AP", *first, "q").value, "0.62")
    assert prints_as(explain("AP", *second, "q").value, "0.44")


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ((1, 3, 4, 5, 6, 7, 9, 11, 14, 20), "0.76"),
        ((1, 2, 4, 5, 6, 7, 9, 11, 14, 20), "0.79"),
        ((1, 3, 4, 5, 6, 7, 8, 11, 14, 20), "0.77"),
        (range(1, 11), "1.00"),
        (range(11, 21), "0.33"),
    ],
)
def test_the_long_ranking(ranks: object, expected: str) -> None:
    e = explain("AP", *relevant_at(ranks, 20), "q")
    assert len(e.rows) == 20 and e.normaliser == 10
    assert prints_as(e.value, expected)


def test_precision_and_recall_with_twenty_relevant_documents() -> None:
    e = explain("P@10", *ranked("R.RRRRR.R.", 20), "q")
    assert_prints(column(e, "P@i"), "1 .5 .67 .75 .8 .83 .86 .75 .78 .70")
    assert_prints(column(e, "R@i"), ".05 .05 .10 .15 .20 .25 .30 .30 .35 .35")


def test_reciprocal_ranks() -> None:
    qrels, run = together(ranked("..R"), ranked(".R."), ranked("R.."))
    assert prints_as(sum(explain("RR", qrels, run, query).value for query in qrels) / 3, "0.61")
    ranks = [explain("RR", *relevant_at([rank], 10), "q").value for rank in range(1, 11)]
    assert_prints(ranks, "1 .5 .33 .25 .2 .17 .14 .13 .11 .10")
    assert explain("RR", *ranked("...", 2), "q").value == 0


@pytest.mark.parametrize(("found", "wrong", "missed", "rest"), [(3, 2, 5, 90), (7, 13, 1, 379)])
def test_set_measures(found: int, wrong: int, missed: int, rest: int) -> None:
    case = ranked("R" * found + "." * wrong, found + missed)
    docs = found + wrong + missed + rest
    expected = {
        "SetP": (found, found + wrong),
        "SetR": (found, found + missed),
        "SetF": (2 * found, 2 * found + wrong + missed),
        "Fallout": (wrong, wrong + rest),
        "SetAccuracy": (found + rest, docs),
    }
    for name, (part, whole) in expected.items():
        e = explain(name, *case, "q", docs=docs)
        assert (e.sum, e.normaliser) == (part, whole), name
        assert e.value == pytest.approx(part / whole)


# graded relevance


def test_dcg_with_the_older_discount() -> None:
    e = explain(f"DCG({OLD})", *THREE_TWO_THREE, "q")
    assert column(e, "gain") == [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    assert_prints(column(e, "term"), "3 2 1.89 0 0 .39 .71 .67 .95 0")
    assert_prints(column(e, "DCG@i"), "3 5 6.89 6.89 6.89 7.28 7.99 8.66 9.61 9.61")


def test_cumulated_gain_with_binary_grades() -> None:
    e = explain("CG(gain={1:1,2:1,3:1})", *THREE_TWO_THREE, "q")
    assert column(e, "CG@i") == [1, 2, 3, 3, 3, 4, 5, 6, 7, 7]


def test_ndcg_with_exponential_gain() -> None:
    e = explain("nDCG(gain='exp')", *THREE_TWO_THREE, "q")
    assert_prints(column(e, "DCG@i"), "7.00 8.89 12.39 12.39 12.39 12.75 13.75 14.70 16.80 16.80")
    assert_prints(column(e, "ideal")[:7], "7.00 11.42 14.92 16.21 17.37 18.44 18.77")
    assert_prints(column(e, "nDCG@i"), "1.00 .78 .83 .76 .71 .69 .73 .78 .90 .90")
    assert prints_as(e.value, "0.8951337")


def test_ndcg_of_two_systems_against_the_same_truth() -> None:
    truth, first = graded([2, 2, 1, 0])
    second = {"q": {"d001": 4.0, "d003": 3.0, "d002": 2.0, "d004": 1.0}}
    for run, dcg, ndcg in ((first, "4.6309", "1.0000"), (second, "4.2619", "0.9203")):
        e = explain(f"nDCG({OLD})", truth, run, "q")
        assert prints_as(e.sum, dcg) and prints_as(e.normaliser, "4.6309") and prints_as(e.value, ndcg)


def test_ndcg_counts_judged_documents_that_were_not_retrieved() -> None:
    e = explain("nDCG@6", *graded([3, 2, 3, 0, 1, 2], missed=[3, 2]), "q")
    assert sum(column(e, "gain")) == 11
    assert prints_as(e.sum, "6.861") and prints_as(e.normaliser, "8.740") and prints_as(e.value, "0.785")
    swapped = explain("DCG@6", *graded([3, 2, 0, 3, 1, 2], missed=[3, 2]), "q")
    assert sum(column(swapped, "gain")) == 11 and prints_as(swapped.value, "6.653")


def test_discounts_and_dcg_rank_by_rank() -> None:
    e = explain(f"DCG({OLD})", *graded(FOUR_THREE_FOUR), "q")
    assert_prints(column(e, "discount"), "1 1 .63 .5 .43 .39 .36 .33 .32 .30")
    assert_prints(column(e, "DCG@i"), "4 7 9.52 10.52 10.52 10.52 10.52 10.86 11.17 11.17")
    assert prints_as(explain(f"DCG({OLD})", *graded([3, *FOUR_THREE_FOUR[1:]]), "q").value, "10.17")
    assert prints_as(explain(f"DCG({OLD})", *graded([*FOUR_THREE_FOUR[:-1], 3]), "q").value, "12.08")


def test_the_ideal_is_that_of_the_cutoff() -> None:
    for order, missed, best_down_to in (("443", "", 3), ("434", "", 1), ("400", "43", 1), ("440", "3", 2)):
        case = graded([int(grade) for grade in order], [int(grade) for grade in missed])
        values = [explain(f"nDCG@{k}", *case, "q").value for k in (1, 2, 3)]
        assert [value == 1 for value in values] == [k <= best_down_to for k in (1, 2, 3)], order


def test_the_examples_of_scikit_learn() -> None:
    grades = [[10, 0, 0, 1, 5]]
    qrels, run = from_arrays(grades, [[0.1, 0.2, 0.3, 4, 70]])
    query = qrels.queries[0]
    assert prints_as(explain("DCG", qrels, run, query).value, "9.4994578")
    assert prints_as(explain("DCG@2", qrels, run, query).value, "5.6309298")
    qrels, run = from_arrays(grades, [[1, 0, 0, 0, 1]])
    assert explain("DCG@1", qrels, run, query).value == 5.0
    # the mean over both orders of the tied documents
    orders = [explain("DCG@1", qrels, run, query, ties=ties).value for ties in ("best", "worst")]
    assert sum(orders) / 2 == 7.5
    qrels, run = from_arrays([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])
    assert prints_as(sum(explain("LRAP", qrels, run, query).value for query in qrels.queries) / 2, "0.4166667")


def test_the_base_of_the_logarithm() -> None:
    older = [explain(f"nDCG({OLD},base={base})", *THREE_TWO_THREE, "q").value for base in (2, math.e, 10)]
    assert_prints(older, ".8825 .8925 1.0000")
    for base in (2, math.e, 10):
        assert prints_as(explain(f"nDCG(gain='exp',base={base})", *THREE_TWO_THREE, "q").value, "0.8951337")


# the explanation itself


def test_an_unjudged_document_has_no_grade_and_a_condensed_list_leaves_it_out() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"x": 3.0, "b": 2.0, "a": 1.0}}
    full, condensed = explain("RR", qrels, run, "q"), explain("RR(judged_only=True)", qrels, run, "q")
    assert [(row["doc"], row["grade"]) for row in full.rows] == [("x", None), ("b", 0), ("a", 1)]
    assert [(row["rank"], row["doc"]) for row in condensed.rows] == [(1, "b"), (2, "a")]
    assert (full.value, condensed.value) == (1 / 3, 1 / 2)
    assert condensed.notes == ("1 document without a judgment left out first (judged_only).",)


def test_options_are_those_of_evaluate() -> None:
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 1.0, "b": 1.0}}
    assert explain("RR", qrels, run, "q", rel=2).value == 1
    assert explain("RR", qrels, run, "q", rel=2, ties="doc-ascending").value == 0.5
    tied = explain("RR", qrels, run, "q", ties="doc-ascending")
    assert tied.notes == ("2 documents with the score of another: ties doc-ascending orders them.",)


def test_the_top_hides_rows_but_keeps_sum_and_value() -> None:
    whole = explain("AP", *A, "q")
    part = whole.top(3)
    assert (part.hidden, len(part.rows)) == (7, 3)
    assert (part.sum, part.value, part.with_numbers) == (whole.sum, whole.value, whole.with_numbers)
    assert whole.top(100) == whole and whole.hidden == 0
    points = explain("InterpolatedAP", *A, "q").top(2)
    assert len(points.rows) == 2 + 11


def test_ranks_below_the_cutoff_are_left_out_only_if_they_add_nothing() -> None:
    assert len(explain("P@3", *A, "q").down_to_the_cutoff().rows) == 3
    assert len(explain("AP", *A, "q").down_to_the_cutoff().rows) == 10


def test_a_missing_query_is_told() -> None:
    qrels, run = {"q": {"a": 1}, "r": {"a": 1}}, {"r": {"a": 1.0}}
    for measure in ("SetAccuracy(docs=10)", "YAAP", "IdealDCG", "AP"):
        e = explain(measure, qrels, run, "q")
        assert (e.rows, e.value) == ((), 0.0)
        assert "counts as 0" in e.notes[0]
    assert explain("NumRel", qrels, run, "q").value == 1
    for missing in ("error", "skip"):
        with pytest.raises(EvaluationError, match="lacks query 'q'"):
            explain("AP", qrels, run, "q", missing=missing)


def test_the_formula_is_the_one_the_parameters_make() -> None:
    assert r"\log_2(1 + i)" in explain("DCG@3", *A, "q").formula
    assert r"\log_{3} \max(i, 3)" in explain("DCG(discount='log(max(i,base))',base=3)@3", *A, "q").formula
    assert "2^{g_i} - 1" in explain("nDCG(gain='exp')", *A, "q").formula
    assert r"\min(R, k)" in explain("AP(denominator='min(R,k)')@3", *A, "q").formula
    assert r"\frac{1}{3} \sum_{j=0}^{2}" in explain("InterpolatedAP(points=3)", *A, "q").formula
    assert r"\ell_i" in explain("AP(ties='group')", *A, "q").formula
    assert r"\exp" not in explain("GMAP", *A, "q").formula and r"\exp" in explain("GMAP", *A).formula


@pytest.mark.parametrize(
    ("value", "formula"),
    [
        ("ETU", r"\sum_{i=1}^{\infty} L_i G_i, \quad C_i = p, \quad L_i = (1 - C_i) \prod_{j<i} C_j, \quad "),
        ("EC", r"\sum_{i=1}^{\infty} W_i c_i, \quad C_i = p, \quad W_i \propto \prod_{j<i} C_j"),
        ("ETC", r"\sum_{i=1}^{\infty} L_i K_i, \quad C_i = p, \quad "),
        ("ED", r"\sum_{i=1}^{\infty} \prod_{j<i} C_j, \quad C_i = p"),
    ],
)
def test_the_formula_of_each_value_of_a_user_model(value: str, formula: str) -> None:
    assert explain(f"RBP(value='{value}')", *A, "q").formula.startswith(formula)
    residual = explain(f"RBP(value='{value}',residual=True)", *A, "q").formula
    assert residual.startswith(r"\Big[ " + formula.split(", ")[0] + r" \Big]_{g_? = 1} - ")
    assert r"C_i = 1 \text{ while } G_i < T" in explain(f"BPM(value='{value}')@5", *A, "q").formula


def test_the_label_of_the_normaliser_is_that_of_what_is_divided_by() -> None:
    labels = {
        "AP": "relevant documents, R",
        "AP(denominator='min(R,k)')@3": "relevant documents that fit, min(R, k)",
        "SetP": "documents retrieved",
        "SetP(relative=True)": "min(retrieved, R)",
        "Prefs": "preferences that count, |P|",
        "Prefs(mean='pairs')": "",
    }
    assert {name: explain(name, *A, "q").normaliser_is for name in labels} == labels


def test_what_rounding_leaves_is_no_term() -> None:
    e = explain("INST(value='ED',residual=True)", {"q": {"a": 1, "b": 0}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, "q")
    assert "e-" not in e.with_numbers
    assert all(row["term"] == 0 or abs(row["term"]) > 1e-12 for row in e.rows)


def test_nothing_to_divide_by_counts_as_zero() -> None:
    e = explain("R@5", {"q": {"a": 0}}, {"q": {"a": 1.0}}, "q")
    assert (e.value, e.with_numbers) == (0, "0 / 0, which counts as 0")


def test_many_terms_are_shortened_but_all_are_in_the_rows() -> None:
    e = explain("AP", *ranked("R" * 40), "q")
    assert e.with_numbers == f"({' + '.join(['1'] * 10)} + … + 1) / 40 = 1"
    assert sum(row["term"] for row in e.rows) == 40


def test_a_rule_of_its_own_is_shown_with_its_numbers() -> None:
    class Squared(Measure):
        """The square of a share."""

        rule = "(sum / normaliser) ** 2"

        def per_query(self, judged):  # type: ignore[no-untyped-def]
            return super().per_query(judged) ** 2

        def terms(self, judged):  # type: ignore[no-untyped-def]
            return judged.grade

        def normaliser(self, judged):  # type: ignore[no-untyped-def]
            return judged.retrieved.astype(float)

    e = explain(Squared(), *ranked("R."), "q")
    assert e.with_numbers == "sum = 1 = 1; (sum / normaliser) ** 2 = (1 / 2) ** 2 = 0.25"


def test_a_measure_without_terms_is_explained_by_its_value() -> None:
    class Whole(Measure):
        """Something that is no sum."""

        def per_query(self, judged):  # type: ignore[no-untyped-def]
            return judged.retrieved / 7

    e = explain(Whole(), *ranked("R."), "q")
    assert e.rows[-1] == {"what": "computed as a whole", "term": 2 / 7}
    assert (e.sum, e.normaliser, e.value) == (2 / 7, 1, 2 / 7)


TIED = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"a": 2.0, "b": 2.0, "c": 1.0}}


def test_an_expected_value_shows_what_each_document_adds_in_the_mean_over_all_orders() -> None:
    e = explain("DCG@1", {"q": {"a": 10, "b": 5, "c": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 0.0}}, "q", ties="expected")
    assert [(row["doc"], row["places"], row["mean discount"], row["term"]) for row in e.rows] == [
        ("b", "1–2", 0.5, 2.5),
        ("a", "1–2", 0.5, 5.0),
        ("c", "3", 0.0, 0.0),
    ]
    assert e.with_numbers == "2.5 + 5 = 7.5"
    assert "any of their orders is equally likely" in e.notes[0]
    # of a group with no terms of its own each document has an equal share
    e = explain("AP", *TIED, "q", ties="expected")
    assert column(e, "term") == pytest.approx([0.375, 0.375, 2 / 3]) and e.value == pytest.approx((0.75 + 2 / 3) / 2)


def test_an_order_that_does_not_matter_is_shown_as_it_is() -> None:
    assert explain("SetP", *TIED, "q", ties="expected").columns == explain("SetP", *TIED, "q").columns


def test_an_expected_value_without_a_closed_form_is_that_over_the_orders_that_eval_draws() -> None:
    qrels = {"q": {"a": 1, "b": 0, "c": 1, "d": 0}}
    run = {"q": {"a": 2.0, "b": 2.0, "x": 2.0, "y": 2.0, "c": 2.0, "d": 1.0}}
    for name in ("Bpref", "ERR", "Bpref(judged_only=True)", "INST(max_rel=1)", "YAAP"):
        for seed in (1, 7):
            e = explain(name, qrels, run, "q", ties="expected", seed=seed)
            scores = evaluate(qrels, run, [name], ties="expected", seed=seed)
            assert e.value == scores.mean(name), name
            total = math.fsum(row["term"] for row in e.rows)
            assert total / e.normaliser == pytest.approx(e.value, abs=1e-12), name
            said = "E is the mean over 200 random orders of documents with equal scores, standard error 0.0"
            assert e.notes[-1].startswith(said)
    err = explain("ERR", qrels, run, "q", ties="expected")
    places = {row["doc"]: row["places"] for row in err.rows}
    assert places == {"a": "1–5", "b": "1–5", "c": "1–5", "x": "1–5", "y": "1–5", "d": "6"}
    terms = {row["doc"]: row["term"] for row in err.rows}
    assert terms["a"] == pytest.approx(terms["c"], rel=0.2) and {terms["b"], terms["x"], terms["d"]} == {0.0}
    # unjudged documents of a group are not told from each other
    unjudged = {row["doc"]: row["term"] for row in explain("Unjudged@2", qrels, run, "q", ties="expected").rows}
    assert unjudged["x"] == unjudged["y"] > 0


def test_a_value_by_a_rule_of_its_own_is_shown_as_one_mean_over_orders() -> None:
    e = explain("YAAP", *TIED, "q", ties="expected")
    assert e.rows[-1] == {"what": "mean over 200 orders", "term": e.value} and e.rule == Measure.rule
    assert (e.sum, e.normaliser, e.normaliser_is) == (e.value, 1, "")


def test_the_formula_of_an_expected_value_says_that_it_is_a_mean() -> None:
    said = "E is the mean over the orders of documents with equal scores."
    e = explain("AP", *TIED, "q", ties="expected")
    assert e.formula == r"\mathrm{E}\left[ \frac{1}{R} \sum_{i=1}^{k} \mathrm{rel}_i \cdot P@i \right]"
    assert said in e.notes
    # what symbols mean stays outside
    rbp = explain("RBP(value='ED')", *TIED, "q", ties="expected").formula
    inst = explain("INST", *TIED, "q", ties="expected").formula
    assert r"\mathrm{E}" not in rbp, "no order changes it"
    assert inst.startswith(r"\mathrm{E}\left[ \sum_{i=1}^{n} W_i g_i \right], \quad C_i")
    mean = explain("AP", *TIED, ties="expected")
    assert mean.formula == r"\frac{1}{|Q|} \sum_{q \in Q} \mathrm{E}\left[ \mathrm{AP}_q \right]" and said in mean.notes
    for query in ("q", None):
        for e in (explain("AP", *TIED, query), explain("AP", *A, query, ties="expected")):
            assert r"\mathrm{E}" not in e.formula and said not in e.notes


# means


def test_the_means_of_the_slides() -> None:
    first, second = relevant_at([1, 3, 6, 9, 10], 10), relevant_at([2, 5, 7], 10)
    cases = {"0.66": (A, C), "0.48": (B, D), "0.53": (first, second)}
    for shown, both in cases.items():
        e = explain("AP", *together(*both))
        assert prints_as(e.value, shown) and e.normaliser == 2 and e.sum / 2 == pytest.approx(e.value)
        assert e.normaliser_is == "queries, |Q|" and e.query is None
    e = explain("RR", *together(ranked("..R"), ranked(".R."), ranked("R..")))
    assert e.with_numbers == "(0.3333 + 0.5 + 1) / 3 = 0.6111" and e.value == pytest.approx(11 / 18)
    qrels, run = from_arrays([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])
    assert prints_as(explain("LRAP", qrels, run).value, "0.4166667")


def test_the_mean_of_interpolated_precision_has_the_averaged_curve() -> None:
    for cases, curve in (
        ((A, C), "1 1 .92 .92 .58 .58 .58 .57 .57 .45 .45"),
        ((B, D), ".55 .55 .55 .55 .51 .51 .51 .51 .51 .51 .51"),
    ):
        e = explain("InterpolatedAP", *together(*cases))
        assert_prints(list(e.averages.values()), curve)
        assert list(e.averages) == list(e.columns) and e.columns[1] == "recall ≥ 0.1"


def test_other_means_and_weights() -> None:
    qrels, run = together(ranked("R.", 2), ranked(".R"), ranked(".."))
    values = [row["value"] for row in explain("RR", qrels, run).rows]
    assert values == [1, 0.5, 0]
    assert explain("RR", qrels, run, mean="median").value == 0.5
    geometric = explain("RR", qrels, run, mean="geometric")
    assert geometric.rule == "exp(sum / normaliser)"
    assert geometric.value == pytest.approx((1 * 0.5 * 1e-5) ** (1 / 3))
    weighted = explain("RR", qrels, run, weights=dict(zip(qrels, (3, 2, 1), strict=True)))
    assert weighted.with_numbers == "(3 + 1) / 6 = 0.6667" and weighted.columns == ("value", "weight")
    assert explain("NumRelRet", qrels, run).with_numbers == "1 + 1 = 2"


def test_the_value_of_a_run_as_a_whole_has_its_terms() -> None:
    qrels = {query: {"a": 1} for query in "pqr"}
    run = {"p": {"a": 3.0, "b": 2.0, "z": 1.0}, "q": {"a": 2.0, "c": 1.0}, "r": {"b": 2.0, "a": 1.0}}
    coverage = explain("Coverage(docs=10)@2", qrels, run)
    assert [(row["query"], row["shown"], row["term"]) for row in coverage.rows] == [
        ("p", 2, 2),
        ("q", 2, 1),
        ("r", 2, 0),
    ]
    assert coverage.with_numbers == "(2 + 1) / 10 = 0.3" and coverage.normaliser_is == "items in the catalogue, N"
    gini = explain("Gini(docs=10)@2", qrels, run)
    groups = [(row["items"], row["shown"], row["from"], row["to"]) for row in gini.rows if "what" in row]
    assert groups == [(7, 0, 1, 7), (1, 1, 8, 8), (1, 2, 9, 9), (1, 3, 10, 10)]
    terms = [row["term"] for row in gini.rows if "what" in row]
    assert terms == pytest.approx([0, 5 / 6, 7 * 2 / 6, 9 * 3 / 6]) and gini.normaliser == 9
    assert gini.sum / gini.normaliser == pytest.approx(gini.value)
    assert gini.value == pytest.approx(evaluate(qrels, run, ["Gini(docs=10)@2"]).mean("Gini(docs=10)@2"))
    assert gini.rows[3]["what"] == "7 items never shown" and gini.rows[4]["what"] == "1 item shown by 1 query"


def test_a_weighted_median_shows_the_weights_up_to_the_middle() -> None:
    qrels, run = together(ranked("R.", 2), ranked(".R"), ranked(".."))

    def median(*weights: float) -> Explanation:
        given = dict(zip(qrels, weights, strict=True))
        e = explain("RR", qrels, run, mean="median", weights=given)
        assert e.value == evaluate(qrels, run, ["RR"], mean="median", weights=given).mean("RR")
        assert math.fsum(row["term"] for row in e.rows) / e.normaliser == e.value and len(e.rows) == 3
        assert e.columns == ("value", "weight", "cumulated weight") and e.normaliser_is == ""
        assert e.formula == r"\mathrm{weighted\ median}_{q \in Q}\, \mathrm{RR}_q"
        return e

    e = median(1, 2, 4)
    assert [row["cumulated weight"] for row in e.rows] == [7, 6, 4] and [row["term"] for row in e.rows] == [0, 0, 0]
    assert [row["term"] for row in median(4, 2, 1).rows] == [1, 0, 0]
    # just half of the weight on each side: halfway between two; one without weight is not in the middle
    assert [row["term"] for row in median(3, 2, 1).rows] == [0.5, 0.25, 0]
    assert [row["term"] for row in median(1, 0, 1).rows] == [0.5, 0, 0]
    plain = explain("RR", qrels, run, mean="median")
    assert plain.columns == ("value",) and [row["term"] for row in plain.rows] == [0, 0.5, 0]


def test_the_top_of_a_mean_is_of_queries() -> None:
    e = explain("AP@1", *together(A, B, C)).top(2)
    assert len(e.rows) == 2 and e.hidden == 1 and e.down_to_the_cutoff() == e


# as a tool has it


def test_a_score_is_explained_as_another_tool_has_it() -> None:
    spark = explain("AP@2", *A, "q", tool="spark")
    assert spark.measure == "AP(denominator='min(R,k)')@2" and spark.normaliser == 2
    assert spark.conventions["as"] == "spark"
    assert explain("AP@2", *A, "q", tool="spark", ties="doc-ascending").conventions["ties"] == "doc-ascending"
    assert explain("AP", *together(A, B), tool="ranx").value == evaluate(*together(A, B), ["AP"]).mean("AP")
    gdeval = explain("nDCG@3", *THREE_TWO_THREE, "q", tool="gdeval")
    assert "2^{g_i} - 1" in gdeval.formula
    # ranx computes Bpref by a rule of its own: what the terms lack has a row
    for name in ("AP", "nDCG@3", "Bpref", "P@2"):
        e = explain(name, *TIED, "q", tool="ranx")
        total = math.fsum(row["term"] for row in e.rows)
        assert total / e.normaliser == pytest.approx(e.value, abs=1e-9)
    given = explain("Fallout", *A, "q", tool="torchmetrics", docs=100)
    assert given.normaliser == 94 and explain("Fallout", *A, "q", tool="torchmetrics").normaliser == 4
    assert explain("AP(denominator='R')@2", *A, "q", tool="spark").normaliser == 6
    with pytest.raises(MeasureError, match="has no Bpref"):
        explain("Bpref", *A, "q", tool="spark")


def test_a_query_without_judgments_is_an_error() -> None:
    with pytest.raises(InputError, match="there is no query 'x'"):
        explain("AP", *A, "x")


def test_numbers_are_short() -> None:
    assert [short(x) for x in (1.0, 0.5, 2 / 3, -0.25, 0.0, 3e-7)] == ["1", "0.5", "0.6667", "-0.25", "0", "3e-07"]


def test_the_scores_of_a_real_run_follow_from_their_explanations(shared_data: Path) -> None:
    """The JSON alone gives what evaluate gives."""
    folder = shared_data / "dl19"
    qrels = read_qrels(folder / "qrels.dl19-passage.txt")
    run = read_run(sorted((folder / "runs").iterdir())[0])
    for name in ("nDCG@10", "AP(rel=2)", "RR"):
        scores = evaluate(qrels, run, [name]).per_query(name)
        for query in qrels.queries[:8]:
            record = json.loads(json.dumps(explain(name, qrels, run, query).record()))
            total = math.fsum(row["term"] for row in record["rows"])
            assert total / record["normaliser"] == pytest.approx(scores[query], abs=1e-12)


# what leads to the terms


def test_columns_tell_how_terms_come_about() -> None:
    e = explain("Gini(docs=10)@2", {"q": {"a": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "q")
    assert column(e, "never shown") == [8, 8, 0] and column(e, "share of exposure") == [0.5, 0.5, 0]
    assert column(e, "term") == [4, 4, 0] and e.normaliser == 9
    rows = [("q", doc, 1, s) for doc, subtopics in (("a", "12"), ("b", "1"), ("c", "2")) for s in subtopics]
    query, docs, grades, subtopics = zip(*rows, strict=True)
    diverse = Qrels.from_rows(query, docs, grades, subtopics=subtopics)
    run = {"q": {"b": 3.0, "x": 2.0, "a": 1.0}}
    e = explain("AP_IA", diverse, run, "q")
    assert column(e, "P_s@i") == ["1", "", "0.6667, 0.3333"] and column(e, "R_s") == ["2", "", "2, 2"]
    assert column(e, "term") == pytest.approx([1 / 2, 0, 2 / 6 + 1 / 6]) and e.normaliser_is == "subtopics, S"
    e = explain("alpha_nDCG@2", diverse, run, "q")
    assert column(e, "ideal")[:2] == pytest.approx([2, 2 + 0.5 / math.log2(3)])
    assert e.normaliser == column(e, "ideal")[1]
    e = explain("GroupAP", diverse, run, "q")
    assert column(e, "relevant to") == ["1", "", "1, 2"]
    assert column(e, "added to AP_j") == ["0.5", "", "0.3333, 0.1667"]
    e = explain("Prefs", {"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}, "q")
    assert column(e, "preferred to") == [1, 2, 0] and column(e, "of these below") == [1, 1, 0]
    e = explain(
        "TauAP", {"q": {"a": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "q", against={"q": {"b": 2.0, "a": 1.0}}
    )
    assert column(e, "shared above") == [0, 1, 0] and column(e, "C(i)") == [0, 0, 0]
