"""Every figure on the lecture slides about binary and graded measures (design/worked_examples.md)."""

import math

import numpy as np
import pytest

from cranfield import EvaluationError, as_qrels, evaluate, from_arrays
from cranfield.measures import parse_measure
from tests.measures.rankings import assert_prints, curve, graded, prints_as, ranked, relevant_at, together, value

TEN = range(1, 11)
ELEVEN = [i / 10 for i in range(11)]
A = ranked("R.RRRR...R", 6)
B = ranked(".R..RRR.RR", 6)
C = ranked("R....R...R", 3)
D = ranked(".R..R.R...", 3)
LONG = (1, 3, 4, 5, 6, 7, 9, 11, 14, 20)
THREE_TWO_THREE = graded([3, 2, 3, 0, 0, 1, 2, 2, 3, 0])
FOUR_THREE_FOUR = [4, 3, 4, 2, 0, 0, 0, 1, 1, 0]
MAX = "discount='log(max(i,base))'"


# binary relevance


def test_precision_of_three_relevant_documents_at_odd_ranks():
    case = ranked("R.R.R", 3)
    assert [value(f"P@{k}", case) for k in (3, 4, 5)] == [2 / 3, 2 / 4, 3 / 5]
    assert value("AP", case) == pytest.approx((1 / 1 + 2 / 3 + 3 / 5) / 3, abs=1e-15)
    assert prints_as(value("AP", case), "0.76")


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
def test_precision_recall_and_ap_of_the_four_rankings(case, precision, recall, ap):
    assert_prints(curve("P", TEN, case), precision)
    assert_prints(curve("R", TEN, case), recall)
    assert prints_as(value("AP", case), ap)


def test_ap_of_ranking_a_to_three_digits():
    assert prints_as(value("AP", A), "0.775")


def test_ap_of_ranking_c_is_the_mean_of_three_precisions():
    assert value("AP", C) == pytest.approx((1 + 2 / 6 + 3 / 10) / 3, abs=1e-15)


def test_eleven_point_average_of_rankings_a_and_b():
    assert value("InterpolatedAP", A) == pytest.approx((2 * 1.0 + 7 * 5 / 6 + 2 * 0.6) / 11, abs=1e-15)
    assert prints_as(value("InterpolatedAP", A), "0.82")
    assert prints_as(value("InterpolatedAP", B), "0.60")


def test_eleven_point_average_is_the_mean_of_the_curve():
    for case in (A, B, C, D):
        assert value("InterpolatedAP", case) == pytest.approx(sum(curve("IPrec", ELEVEN, case)) / 11, abs=1e-15)


def test_averaged_curves_of_two_systems_cross():
    first = curve("IPrec", ELEVEN, together(A, C))
    second = curve("IPrec", ELEVEN, together(B, D))
    assert_prints(first, "1 1 .92 .92 .58 .58 .58 .57 .57 .45 .45")
    assert_prints(second, ".55 .55 .55 .55 .51 .51 .51 .51 .51 .51 .51")
    assert first[0] > second[0] and first[-1] < second[-1]


def test_interpolated_precision_is_the_best_at_any_higher_recall():
    for case in (A, B, C, D):
        precision, recall = curve("P", TEN, case), curve("R", TEN, case)
        for point, interpolated in zip(ELEVEN, curve("IPrec", ELEVEN, case), strict=True):
            reached = [p for p, r in zip(precision, recall, strict=True) if r >= point - 1e-12]
            assert interpolated == max(reached)


def test_a_curve_without_interpolation_is_another_one():
    # the first relevant document of B is at rank 2 (precision 1/2), but precision gets better later
    assert value("P@2", B) == 0.5
    assert value("IPrec@0.1", B) == 0.6


def test_one_hundred_recall_points_are_common_recall_points_too():
    hundred = value("InterpolatedAP(points=101)", A)
    assert hundred == pytest.approx(sum(curve("IPrec", [i / 100 for i in range(101)], A)) / 101, abs=1e-15)


def test_map_of_two_systems():
    assert prints_as(value("MAP", together(A, C)), "0.66")
    assert prints_as(value("MAP", together(B, D)), "0.48")


def test_map_of_two_queries():
    first, second = relevant_at([1, 3, 6, 9, 10], 10), relevant_at([2, 5, 7], 10)
    assert prints_as(value("AP", first), "0.62")
    assert prints_as(value("AP", second), "0.44")
    assert prints_as(value("MAP", together(first, second)), "0.53")


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        (LONG, "0.76"),
        ((1, 2, 4, 5, 6, 7, 9, 11, 14, 20), "0.79"),
        ((1, 3, 4, 5, 6, 7, 8, 11, 14, 20), "0.77"),
        (range(1, 11), "1.00"),
        (range(11, 21), "0.33"),
    ],
    ids=["as it is", "2 and 3 swapped", "8 and 9 swapped", "all on top", "all at the end"],
)
def test_ap_of_the_long_ranking(ranks, expected):
    assert prints_as(value("AP", relevant_at(ranks, 20)), expected)


def test_precision_and_recall_with_twenty_relevant_documents():
    case = ranked("R.RRRRR.R.", 20)
    assert_prints(curve("P", TEN, case), "1 .5 .67 .75 .8 .83 .86 .75 .78 .70")
    assert_prints(curve("R", TEN, case), ".05 .05 .10 .15 .20 .25 .30 .30 .35 .35")


def test_mrr_of_three_queries():
    case = together(ranked("..R"), ranked(".R."), ranked("R.."))
    assert value("MRR", case) == pytest.approx(11 / 18, abs=1e-15)
    assert prints_as(value("MRR", case), "0.61")


def test_reciprocal_ranks_of_one_to_ten():
    ranks = [value("RR", relevant_at([rank], 10)) for rank in TEN]
    assert_prints(ranks, "1 .5 .33 .25 .2 .17 .14 .13 .11 .10")


def test_reciprocal_rank_is_zero_when_nothing_relevant_is_retrieved():
    assert value("RR", ranked("...", 2)) == 0


def test_ap_at_k_is_divided_by_the_relevant_or_by_as_many_as_fit():
    case = ranked("R.R..", 4)
    precisions = 1 / 1 + 2 / 3
    assert value("AP@3", case) == pytest.approx(precisions / 4, abs=1e-15)
    assert value("AP(denominator='min(R,k)')@3", case) == pytest.approx(precisions / 3, abs=1e-15)
    assert value("AP(denominator='min(R,k)')@5", case) == pytest.approx(precisions / 4, abs=1e-15)


# sets


@pytest.mark.parametrize(("a", "b", "c", "d"), [(3, 2, 5, 90), (1, 0, 0, 1), (7, 13, 1, 379), (2, 6, 10, 0)])
def test_set_measures_follow_from_the_four_fields_of_the_table(a, b, c, d):
    case, docs = ranked("R" * a + "." * b, a + c), a + b + c + d
    precision, recall = a / (a + b), a / (a + c)
    assert value("SetP", case) == precision
    assert value("SetR", case) == recall
    assert value(f"Fallout(docs={docs})", case) == (b / (b + d) if b + d else 0)
    assert value(f"SetAccuracy(docs={docs})", case) == (a + d) / docs
    assert value("SetF", case) == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-15)


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.5, 0.8, 0.9])
def test_both_forms_of_the_weighted_f_agree(alpha):
    case = ranked("R.RR.....R", 9)
    precision, recall = value("SetP", case), value("SetR", case)
    squared = (1 - alpha) / alpha
    by_beta = (squared + 1) * precision * recall / (squared * precision + recall)
    by_alpha = 1 / (alpha / precision + (1 - alpha) / recall)
    assert value(f"SetF(beta={math.sqrt(squared)!r})", case) == pytest.approx(by_alpha, abs=1e-14)
    assert by_beta == pytest.approx(by_alpha, abs=1e-14)


def test_f_of_low_recall_and_high_precision():
    case = ranked("R" * 611 + "." * 39, 2350)
    assert (value("SetP", case), value("SetR", case)) == (0.94, 0.26)
    assert value("SetF", case) == pytest.approx(0.40, abs=0.01)


def test_f_of_high_recall_and_precision():
    case = ranked("R" * 2277 + "." * 23, 2475)
    assert (value("SetP", case), value("SetR", case)) == (0.99, 0.92)
    assert prints_as(value("SetF", case), ".95")


# graded relevance


def discounted_gains(measure: str, case) -> list[float]:
    """What each rank adds."""
    return np.diff([0.0, *curve(measure, TEN, case)]).tolist()


def test_dcg_with_the_older_discount():
    assert_prints(discounted_gains(f"DCG({MAX})", THREE_TWO_THREE), "3 2 1.89 0 0 .39 .71 .67 .95 0")
    expected = "3 5 6.89 6.89 6.89 7.28 7.99 8.66 9.61 9.61"
    assert_prints(curve(f"DCG({MAX})", TEN, THREE_TWO_THREE), expected)


def test_cumulated_gain_with_binary_grades_counts_relevant_documents():
    qrels, run = THREE_TWO_THREE
    binary = {"q": {doc: int(grade > 0) for doc, grade in qrels["q"].items()}}
    expected = [1, 2, 3, 3, 3, 4, 5, 6, 7, 7]
    assert curve("CG", TEN, (binary, run)) == expected
    assert curve("CG(gain={1:1,2:1,3:1})", TEN, THREE_TWO_THREE) == expected


def test_dcg_with_exponential_gain():
    expected = "7.00 8.89 12.39 12.39 12.39 12.75 13.75 14.70 16.80 16.80"
    assert_prints(curve("DCG(gain='exp')", TEN, THREE_TWO_THREE), expected)
    ideal = graded([3, 3, 3, 2, 2, 2, 1, 0, 0, 0])
    assert_prints(curve("DCG(gain='exp')", range(1, 8), ideal), "7.00 11.42 14.92 16.21 17.37 18.44 18.77")
    assert_prints(curve("nDCG(gain='exp')", TEN, THREE_TWO_THREE), "1.00 .78 .83 .76 .71 .69 .73 .78 .90 .90")


def test_ndcg_of_two_systems_against_the_same_truth():
    truth, first = graded([2, 2, 1, 0])
    second = {"q": {"d001": 4.0, "d003": 3.0, "d002": 2.0, "d004": 1.0}}
    assert prints_as(value(f"DCG({MAX})", (truth, first)), "4.6309")
    assert prints_as(value(f"DCG({MAX})", (truth, second)), "4.2619")
    assert value(f"nDCG({MAX})", (truth, first)) == 1
    assert prints_as(value(f"nDCG({MAX})", (truth, second)), "0.9203")


def test_ndcg_counts_judged_documents_that_were_not_retrieved():
    case = graded([3, 2, 3, 0, 1, 2], missed=[3, 2])
    assert value("CG@6", case) == 11
    assert prints_as(value("DCG@6", case), "6.861")
    assert prints_as(value("DCG@6", graded([3, 3, 3, 2, 2, 2, 1, 0])), "8.740")
    assert prints_as(value("nDCG@6", case), "0.785")


def test_a_swap_changes_dcg_but_not_cg():
    swapped = graded([3, 2, 0, 3, 1, 2], missed=[3, 2])
    assert value("CG@6", swapped) == 11
    assert prints_as(value("DCG@6", swapped), "6.653")


def test_discounts_of_the_first_ten_ranks():
    one_at = [graded([int(rank == place) for rank in TEN]) for place in TEN]
    expected = "1 1 .63 .5 .43 .39 .36 .33 .32 .30"
    assert_prints([value(f"DCG({MAX})", case) for case in one_at], expected)


def test_dcg_of_a_ranking_and_of_two_changes_to_it():
    expected = "4 7 9.52 10.52 10.52 10.52 10.52 10.86 11.17 11.17"
    assert_prints(curve(f"DCG({MAX})", TEN, graded(FOUR_THREE_FOUR)), expected)
    assert prints_as(value(f"DCG({MAX})", graded([3, *FOUR_THREE_FOUR[1:]])), "10.17")
    assert prints_as(value(f"DCG({MAX})", graded([*FOUR_THREE_FOUR[:-1], 3])), "12.08")


@pytest.mark.parametrize("discount", ["log(1+i)", "log(max(i,base))", "1/i"])
def test_the_ideal_is_that_of_the_cutoff(discount):
    def ndcg(order: str, k: int) -> float:
        missed = list("44300")
        for grade in order:
            missed.remove(grade)
        case = graded([int(grade) for grade in order], [int(grade) for grade in missed])
        return value(f"nDCG(discount={discount!r})@{k}", case)

    assert [ndcg(order, 1) for order in ("443", "434", "400")] == [1, 1, 1]
    assert [ndcg(order, 2) for order in ("443", "440")] == [1, 1]
    assert max(ndcg(order, 2) for order in ("434", "400", "340", "304")) < 1
    assert ndcg("443", 3) == 1
    assert max(ndcg(order, 3) for order in ("434", "440", "400")) < 1


def test_dcg_with_ties_as_in_scikit_learn():
    grades = [[10, 0, 0, 1, 5]]
    case = from_arrays(grades, [[0.1, 0.2, 0.3, 4, 70]])
    assert prints_as(value("DCG", case), "9.4994578")
    assert prints_as(value("DCG@2", case), "5.6309298")
    tied = from_arrays(grades, [[1, 0, 0, 0, 1]])
    assert value("DCG@1", tied, ties="expected") == 7.5
    assert value("DCG@1", tied) == 5.0


def test_lrap_as_in_scikit_learn():
    case = from_arrays([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])
    assert prints_as(value("LRAP", case), "0.4166667")
    assert value("LRAP", case) == value("RR", case)


def test_the_base_of_the_logarithm_changes_dcg():
    values = [value(f"DCG(gain='exp',base={base})", THREE_TWO_THREE) for base in (2, math.e, 10)]
    assert values == pytest.approx([values[0] * factor for factor in (1, math.log2(math.e), math.log2(10))], rel=1e-14)


@pytest.mark.parametrize("gain", ["linear", "exp"])
def test_the_base_of_the_logarithm_never_changes_ndcg(gain):
    values = [value(f"nDCG(gain={gain!r},base={base})", THREE_TWO_THREE) for base in (2, math.e, 10, 7)]
    assert values == pytest.approx([values[0]] * 4, abs=1e-14)
    if gain == "exp":
        assert_prints(values, "0.8951337 0.8951337 0.8951337 0.8951337")


def test_the_base_of_the_logarithm_changes_ndcg_with_the_older_discount():
    values = [value(f"nDCG({MAX},base={base})", THREE_TWO_THREE) for base in (2, math.e, 10)]
    assert_prints(values, ".8825 .8925 1.0000")


@pytest.mark.parametrize("measure", ["nDCG", "DCG", "NCG", "CG"])
def test_both_gains_agree_with_binary_grades(measure):
    case = ranked("R..RR.R", 6)
    assert value(f"{measure}(gain='exp')@5", case) == value(f"{measure}@5", case)


def test_the_third_discount_divides_by_the_rank():
    assert value("DCG(discount='1/i')", graded([3, 0, 2])) == pytest.approx(3 + 2 / 3, abs=1e-15)


def test_exponential_gain_of_a_grade_in_the_thousands_is_refused():
    with pytest.raises(EvaluationError, match="2.grade of grade 5000 is beyond all doubles"):
        value("nDCG(gain='exp')", graded([1, 5000]))


def test_grades_may_be_words():
    words = as_qrels({"q": {"a": "perfect", "b": "excellent", "c": "good", "d": "fair", "e": "bad"}})
    assert words.to_dict() == {"q": {"a": 4, "b": 3, "c": 2, "d": 1, "e": 0}}
    run = {"q": {"e": 2.0, "a": 1.0}}
    assert evaluate(words, run, ["CG"]).mean("CG") == 4


def test_the_range_follows_a_gain_map_with_a_negative_gain() -> None:
    qrels, run = {"q": {"a": 0, "b": 1, "c": 0, "d": 2}}, {"q": dict(zip("acbxy", range(5, 0, -1), strict=True))}
    found = {name: evaluate(qrels, run, [f"{name}(gain={{0:-1}})"]) for name in ("nDCG", "NCG", "G", "Rndcg", "CG")}
    assert found["nDCG"].mean("nDCG(gain={0:-1})") == pytest.approx(-0.4299, abs=1e-4)
    for name, scores in found.items():
        (measure,) = scores.measures
        assert measure.low == -math.inf and type(measure).low == 0, name
        assert measure.low <= scores.mean(measure) <= measure.high
    assert parse_measure("nDCG(gain={1:2})").low == parse_measure("TrecRBP(gain={0:-1})").low == 0
