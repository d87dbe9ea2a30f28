"""Agreement of assessors: worked examples, published cases, other libraries, properties, intervals."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cranfield.errors import CranfieldError
from cranfield.stats import agreement
from cranfield.stats.agreement import (
    AGREEMENT_TITLES,
    NO_GRADE,
    Ratings,
    as_ratings,
    cohen_kappa,
    compute_agreement,
    compute_agreement_by_unit,
    confusion_matrix,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    overlap,
    percent_agreement,
)
from tests.soak import examples

NO = None
ONE = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 0, 0, 3]
OTHER = [0, 0, 1, 0, 1, 2, 1, 2, 1, 3, 3, 3, 0, 0, 1]
SCALE = [0, 1, 2, 3]
# Krippendorff's example: 4 observers × 12 units
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
        [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
    ],
    dtype=float,
).T
# Fleiss' example: 10 subjects, how many of 14 raters gave each of 5 categories
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def table_of(counts: list[list[int]]) -> np.ndarray[Any, Any]:
    """Ratings with these counts of categories."""
    return np.array([[grade for grade, n in enumerate(row) for _ in range(n)] for row in counts], dtype=float)


def pairs_of(matrix: list[list[int]]) -> np.ndarray[Any, Any]:
    """Two raters' ratings with this confusion_matrix matrix."""
    return np.array([[i, j] for i, row in enumerate(matrix) for j, n in enumerate(row) for _ in range(n)], dtype=float)


def value(found: float | None) -> float:
    assert found is not None
    return found


def near(expected: float) -> Any:
    return pytest.approx(expected, abs=1e-8)


def test_two_assessors_of_fifteen_documents() -> None:
    found = compute_agreement(as_ratings(np.column_stack([ONE, OTHER]), SCALE), resamples=0)
    expected = {
        "percent": 0.6666666666667,
        "kappa": 0.5454545454545,
        "kappa_linear": 0.6808510638298,
        "kappa_quadratic": 0.7938144329897,
        "fleiss_kappa": 0.5412844036697,
        "alpha_nominal": 0.5565749235474,
        "alpha_ordinal": 0.8368633139910,
        "alpha_interval": 0.8006872852234,
        "ac1": 0.5601173020528,
        "ac2_linear": 0.6933560477002,
        "ac2_quadratic": 0.8026315789474,
        "overlap": 0.9,
    }
    assert {name: one.value for name, one in found.items()} == {name: near(v) for name, v in expected.items()}
    assert all(one.n == 15 and one.low is None for one in found.values())
    binary = (np.column_stack([ONE, OTHER]) >= 1).astype(float)
    assert cohen_kappa(binary[:, 0], binary[:, 1]) == near(0.8571428571429)
    assert confusion_matrix(as_ratings(np.column_stack([ONE, OTHER]), SCALE)).tolist() == [
        [5, 1, 0, 0],
        [0, 2, 1, 0],
        [0, 1, 1, 1],
        [0, 1, 0, 2],
    ]


def test_krippendorffs_example_with_missing_judgments() -> None:
    alphas = [krippendorff_alpha(OBSERVERS, metric) for metric in ("nominal", "ordinal", "interval")]
    assert alphas == [near(0.7434210526316), near(0.8153875037549), near(0.8491071428571)]
    gwets = [gwet_ac(OBSERVERS, weights) for weights in ("none", "linear", "quadratic")]
    assert gwets == [near(0.775444068127), near(0.858739136433), near(0.914000723552)]
    assert percent_agreement(OBSERVERS) == near(0.8181818181818)


def test_fleiss_example() -> None:
    table = table_of(FLEISS)
    assert fleiss_kappa(table) == near(0.2099307044220)
    assert gwet_ac(table) == near(0.225614150817)
    alphas = [krippendorff_alpha(table, metric) for metric in ("nominal", "ordinal", "interval")]
    assert alphas == [near(0.2155740565332), near(0.5407502747568), near(0.5437397490856)]


def test_kappa_punishes_rare_grades_and_ac1_does_not() -> None:
    table = pairs_of([[118, 5], [2, 0]])
    assert percent_agreement(table) == near(0.944)
    assert cohen_kappa(*table.T) == near(-0.0233918128655)
    assert fleiss_kappa(table) == near(-0.0288065843621)
    assert krippendorff_alpha(table) == near(-0.0246913580247)
    assert gwet_ac(table) == near(0.940776337609)


def test_items_with_one_judgment_count_in_gwets_shares_only() -> None:
    table = [[1, 1, NO], [0, 0, 0], [1, 0, 1], [NO, 1, 1], [0, 0, NO], [1, NO, NO]]
    assert krippendorff_alpha(table) == near(0.6944444444444)
    assert krippendorff_alpha(table[:-1]) == near(0.6944444444444)
    assert gwet_ac(table) == near(0.745882352941)
    assert gwet_ac(table[:-1]) != near(0.745882352941)


def test_percent_and_overlap_by_hand() -> None:
    # three judges: 1/3 of the pairs of judgments of the first document agree, all of the second
    assert percent_agreement([[0, 0, 1], [2, 2, 2]]) == near((1 / 3 + 1) / 2)
    assert overlap([2, 1, 0, 0, 1], [1, 0, 0, 1, 2]) == near(2 / 4)
    assert overlap([2, 1, 0, 0, 1], [1, 0, 0, 1, 2], rel=2) == near(0 / 2)


def test_the_scale_decides_on_weights_and_on_the_chance_of_agreement() -> None:
    a, b = [0, 0, 3, 3, 0], [0, 3, 3, 0, 0]
    assert cohen_kappa(a, b, "linear") == cohen_kappa(a, b)  # two grades: one step apart
    assert value(gwet_ac(np.column_stack([a, b]))) < value(gwet_ac(np.column_stack([a, b]), scale=SCALE))


AGREEMENT = {
    ("1", "2"): {
        "pairs": 1111,
        "topics": 12,
        "confusion_matrix": [[257, 113, 57, 29], [68, 71, 100, 88], [19, 35, 100, 108], [1, 1, 17, 47]],
        "percent": 0.4275427542754,
        "kappa": 0.2280347550204,
        "kappa_linear": 0.3738583499757,
        "kappa_quadratic": 0.4999620830490,
        "fleiss_kappa": 0.2137869568676,
        "alpha_nominal": 0.2141407881202,
        "alpha_ordinal": 0.4951776825121,
        "alpha_interval": 0.4755474345065,
        "ac1": 0.244074709292,
        "ac2_linear": 0.404346360945,
        "ac2_quadratic": 0.541191931882,
        "binary": {
            1: (0.6639344262295, 0.4457273180814, 0.520667518026, 0.4399795821725),
            2: (0.4518272425249, 0.4017505441895, 0.431797224310, 0.3778986073104),
            3: (0.1615120274914, 0.2017879121591, 0.704032535415, 0.1489780022362),
        },
    },
    ("3", "4"): {
        "pairs": 1127,
        "topics": 9,
        "confusion_matrix": [[236, 5, 2, 0], [266, 35, 5, 0], [211, 95, 58, 3], [74, 62, 64, 11]],
        "percent": 0.3016858917480,
        "kappa": 0.0840227654602,
        "kappa_linear": 0.1850191303891,
        "kappa_quadratic": 0.2741487442367,
        "fleiss_kappa": -0.0224296145841,
        "alpha_nominal": -0.0219760078341,
        "alpha_ordinal": 0.0783896952720,
        "alpha_interval": 0.0907384308208,
        "ac1": 0.095840474118,
        "ac2_linear": 0.236569625156,
        "ac2_quadratic": 0.365200451430,
        "binary": {
            1: (0.3737373737374, 0.1920295813590, 0.017042088629, 0.0028126784694),
            2: (0.2324786324786, 0.2182063130833, 0.294724261567, 0.0847702826309),
            3: (0.0514018691589, 0.0762556174218, 0.780412365692, -0.0018268440940),
        },
    },
}


def common_pairs(folder: Path, names: tuple[str, str]) -> tuple[np.ndarray[Any, Any], list[str]]:
    """Grades of the pairs that both judged, and the topic of each."""
    judged = []
    for name in names:
        lines = (folder / "agreement" / f"dl19.assessor{name}.qrels").read_text().splitlines()
        judged.append({(q, d): float(g) for q, _, d, g in map(str.split, lines)})
    keys = [key for key in judged[0] if key in judged[1]]
    return np.array([[own[key] for own in judged] for key in keys]), [query for query, _ in keys]


@pytest.mark.parametrize("names", list(AGREEMENT), ids=" and ".join)
def test_assessors_who_judged_dl19_again(shared_data: Path, names: tuple[str, str]) -> None:
    expected: dict[str, Any] = AGREEMENT[names]
    table, topics = common_pairs(shared_data, names)
    ratings = as_ratings(table, SCALE)
    found = compute_agreement(ratings, resamples=0)
    assert (len(table), len(set(topics))) == (expected["pairs"], expected["topics"])
    assert confusion_matrix(ratings).tolist() == expected["confusion_matrix"]
    for name in set(AGREEMENT_TITLES) - {"overlap"}:
        assert found[name].value == near(expected[name]), name
    for rel, (shared, kappa, ac1, alpha) in expected["binary"].items():
        binary = (table >= rel).astype(float)
        assert overlap(table[:, 0], table[:, 1], rel) == near(shared)
        assert cohen_kappa(*binary.T) == near(kappa)
        assert gwet_ac(binary) == near(ac1)
        assert krippendorff_alpha(binary) == near(alpha)


PER_TOPIC = {
    ("1", "2"): {
        "1110199": (0.4418604651, 0.2489082969, 0.6241059603, 0.6237069508, 0.52),
        "1133167": (0.3481228669, 0.1291296432, 0.4350801086, 0.3510490981, 0.4278350515),
        "451602": (0.5555555556, 0.1838790932, 0.3119395941, 0.2964478776, 0),
        "490595": (0.5555555556, 0.3952691121, 0.6714471969, 0.6766422497, 0.6216216216),
        "855410": (0.6666666667, 0, 0, -0.1482198142, 0),
    },
    ("3", "4"): {
        "1121402": (0.5614035088, 0.3062317429, 0.6890343699, 0.6616801700, 0.6521739130),
        "148538": (0.2053571429, 0.0634219675, -0.0436005626, -0.5788418712, 0),
        "168216": (0.2233333333, 0.0314266711, 0.1585695683, -0.1436071209, 0.1030927835),
        "359349": (0.7014925373, 0.4818252127, 0.7568290353, 0.7333877664, 0.6818181818),
    },
}


@pytest.mark.parametrize("names", list(PER_TOPIC), ids=" and ".join)
def test_topic_by_topic(shared_data: Path, names: tuple[str, str]) -> None:
    table, topics = common_pairs(shared_data, names)
    known = sorted(set(topics))
    units = np.array([known.index(topic) for topic in topics])
    found = compute_agreement_by_unit(as_ratings(table, SCALE), units, rel=2)
    wanted = ("percent", "kappa", "kappa_quadratic", "alpha_ordinal", "overlap")
    for topic, expected in PER_TOPIC[names].items():
        own = tuple(found[name][known.index(topic)] for name in wanted)
        assert own == tuple(pytest.approx(v, abs=1e-9) for v in expected), topic


# other libraries


@st.composite
def rated(draw: st.DrawFn, least: int = 2, most: int = 5, missing: bool = False) -> np.ndarray[Any, Any]:
    """Judgments of a few documents, some of them missing."""
    raters, items, grades = draw(st.integers(least, most)), draw(st.integers(2, 25)), draw(st.integers(2, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, grades, items)
    errs = rng.random((items, raters)) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    table = np.where(errs, rng.integers(0, grades, (items, raters)), truth[:, None]).astype(float)
    if missing:
        table[rng.random(table.shape) < 0.3] = np.nan
    return table


@given(rated(most=2))
@examples(60)
def test_cohens_kappa_is_that_of_scikit_learn_and_statsmodels(table: Any) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rater = pytest.importorskip("statsmodels.stats.inter_rater")
    grades = np.unique(table)
    assume(len(grades) > 1)
    for weights, name, kind in (("none", None, None), ("linear", "linear", "linear"), ("quadratic", "quadratic", "fc")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = metrics.cohen_kappa_score(*table.T.astype(int), weights=name, labels=grades.astype(int))
            counts = confusion_matrix(as_ratings(table))
            other = rater.cohens_kappa(counts, wt=kind, return_results=False)
        assume(not math.isnan(expected))
        assert cohen_kappa(*table.T, weights) == pytest.approx(expected, abs=1e-10)
        assert cohen_kappa(*table.T, weights) == pytest.approx(other, abs=1e-10)


@given(rated())
@examples(60)
def test_fleiss_kappa_is_that_of_statsmodels(table: Any) -> None:
    rater = pytest.importorskip("statsmodels.stats.inter_rater")
    assume(len(np.unique(table)) > 1)
    counts, _ = rater.aggregate_raters(table.astype(int))
    assert fleiss_kappa(table) == pytest.approx(rater.fleiss_kappa(counts), abs=1e-10)


@given(rated(missing=True))
@examples(80)
def test_alpha_is_that_of_krippendorff(table: Any) -> None:
    library = pytest.importorskip("krippendorff")
    paired = table[(~np.isnan(table)).sum(axis=1) > 1]
    assume(len(paired) and len(np.unique(paired[~np.isnan(paired)])) > 1)
    domain = np.unique(table[~np.isnan(table)])
    for metric in ("nominal", "ordinal", "interval"):
        expected = library.alpha(reliability_data=table.T, value_domain=domain, level_of_measurement=metric)
        assert krippendorff_alpha(table, metric) == pytest.approx(expected, abs=1e-9)


# properties


@given(rated(missing=True), st.randoms(use_true_random=False))
@examples(60)
def test_neither_the_order_of_assessors_nor_of_documents_matters(table: Any, random: Any) -> None:
    columns, rows = list(range(table.shape[1])), list(range(len(table)))
    random.shuffle(columns)
    random.shuffle(rows)
    found = compute_agreement(as_ratings(table), resamples=0)
    other = compute_agreement(as_ratings(table[rows][:, columns]), resamples=0)
    for name in found:
        assert found[name].value == pytest.approx(other[name].value, abs=1e-12), name


@given(rated(missing=True))
@examples(60)
def test_no_figure_is_nan_or_above_one(table: Any) -> None:
    for rel in (1, 3):
        for one in compute_agreement(as_ratings(table, range(5)), rel=rel, resamples=20).values():
            assert one.value is None or (math.isfinite(one.value) and one.value <= 1 + 1e-12)
            assert (one.value is None) == (one.n == 0)
            assert one.low is None or one.high is None or one.low <= one.high


@given(rated())
@examples(40)
def test_full_agreement_is_one_by_every_figure(table: Any) -> None:
    same = np.repeat(table[:, :1], table.shape[1], axis=1)
    for name, one in compute_agreement(as_ratings(same, range(5)), resamples=10).items():
        assert one.value == pytest.approx(1), name


# what has no formula


def test_one_grade_only_is_full_agreement_with_a_sentence() -> None:
    for scale in (None, SCALE):
        found = compute_agreement(as_ratings([[1, 1], [1, 1], [1, 1]], scale))
        assert {name: one.value for name, one in found.items()} == dict.fromkeys(found, 1.0)
        assert "every judgment is 1" in found["kappa"].note and "every judgment is 1" in found["alpha_ordinal"].note
        assert found["percent"].note == ""


def test_an_assessor_with_one_grade_has_kappa_zero_with_a_sentence() -> None:
    found = compute_agreement(as_ratings([[0, 0], [0, 1], [0, 0]]))
    assert found["kappa"].value == 0 and "one assessor gives only one grade" in found["kappa"].note


def test_nothing_in_common_is_none_with_a_sentence() -> None:
    found = compute_agreement(as_ratings([[1, NO], [NO, 2], [0, NO]]))
    assert all(one.value is None and one.low is None and one.n == 0 for one in found.values())
    assert found["kappa"].note == "no pair was judged by two assessors."
    assert cohen_kappa([1, math.nan], [math.nan, 1]) is None


def test_what_nobody_judged_completely_is_none_for_fleiss_only() -> None:
    found = compute_agreement(as_ratings([[1, 1, NO], [NO, 0, 1], [0, NO, 0]]))
    assert found["fleiss_kappa"].value is None and "by all assessors" in found["fleiss_kappa"].note
    assert found["alpha_nominal"].value is not None


def test_no_relevant_document_is_full_overlap_with_a_sentence() -> None:
    found = compute_agreement(as_ratings([[0, 0], [0, 0.5]]), resamples=10)
    assert found["overlap"].value == 1 and "nobody gave a grade of 1 or more" in found["overlap"].note


def test_no_item_at_all() -> None:
    found = compute_agreement(Ratings(np.empty((0, 2), dtype=np.int64), np.empty(0)))
    assert all(one.value is None for one in found.values())


def test_one_pair_has_no_interval() -> None:
    found = compute_agreement(as_ratings([[1, 0]]))
    assert found["percent"].value == 0 and found["percent"].low is None


def test_a_grade_off_the_scale_is_an_error() -> None:
    with pytest.raises(CranfieldError, match="grade 7 is not on the scale 0 1 2 3"):
        as_ratings([[7, 1]], SCALE)
    with pytest.raises(CranfieldError, match="scores rather than grades"):
        as_ratings(np.arange(400).reshape(200, 2))
    with pytest.raises(CranfieldError, match="expected one of none, linear, quadratic"):
        cohen_kappa([1], [1], "cubic")  # type: ignore[arg-type]
    with pytest.raises(CranfieldError, match="unknown metric 'ratio'"):
        krippendorff_alpha([[1, 1]], "ratio")  # type: ignore[arg-type]


# intervals


def simulated(items: int = 400, raters: int = 2, topics: int = 20, seed: int = 5) -> tuple[Ratings, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, items)
    table = np.where(rng.random((items, raters)) < 0.4, rng.integers(0, 4, (items, raters)), truth[:, None])
    return as_ratings(table.astype(float)), np.sort(rng.integers(0, topics, items))


def test_intervals_depend_on_the_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings, topics = simulated(raters=3)
    for units in (topics, None):
        first = compute_agreement(ratings, units, resamples=200, seed=7)
        monkeypatch.setattr(agreement, "_CELLS", 5000)
        assert compute_agreement(ratings, units, resamples=200, seed=7) == first
        assert compute_agreement(ratings, units, resamples=200, seed=8) != first
        monkeypatch.undo()


def test_resamples_are_the_same_where_they_do_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings, topics = simulated(items=60)
    for units in (topics, None):
        expected = compute_agreement(ratings, units, resamples=30)
        monkeypatch.setattr(agreement, "_CELLS", 1)
        found = compute_agreement(ratings, units, resamples=30)
        monkeypatch.undo()
        for name in found:
            assert (found[name].low, found[name].high) == pytest.approx((expected[name].low, expected[name].high))


def test_intervals_by_pairs_are_as_wide_as_the_asymptotic_error(shared_data: Path) -> None:
    table, _ = common_pairs(shared_data, ("1", "2"))
    found = compute_agreement(as_ratings(table, SCALE), resamples=2000)
    # standard errors by statsmodels (κ) and irrCAC (AC)
    errors = {
        "kappa": 0.0184255815439,
        "kappa_linear": 0.0179987521505,
        "kappa_quadratic": 0.0207998546569,
        "ac1": 0.020087482697,
        "ac2_quadratic": 0.022592532216,
    }
    for name, error in errors.items():
        one = found[name]
        assert (value(one.high) - value(one.low)) / (2 * 1.96) == pytest.approx(error, rel=0.08), name


def test_a_bootstrap_of_topics_is_what_a_loop_over_topics_gives() -> None:
    ratings, topics = simulated(items=120, topics=6)
    rng = np.random.default_rng(3)
    number = int(topics.max()) + 1
    drawn = []
    for _ in range(150):
        times = rng.multinomial(number, np.ones(number) / number)
        rows = np.concatenate([np.flatnonzero(topics == t) for t in range(number) for _ in range(times[t])])
        drawn.append(compute_agreement(Ratings(ratings.codes[rows], ratings.scale), resamples=0))
    found = compute_agreement(ratings, topics, resamples=150, seed=3)
    for name in found:
        ends = np.quantile([value(one[name].value) for one in drawn], [0.025, 0.975])
        assert (found[name].low, found[name].high) == pytest.approx(tuple(ends), abs=1e-9), name


def test_topics_that_differ_make_intervals_wider() -> None:
    rng = np.random.default_rng(2)
    topics = np.repeat(np.arange(10), 40)
    table = np.column_stack([rng.integers(0, 2, 400)] * 2).astype(float)
    odd = (topics % 2 == 1)[:, None] & np.array([[False, True]])
    table = np.where(odd, 1 - table, table)  # they agree on half of the topics, and not at all on the others
    by_topic, by_pair = compute_agreement(as_ratings(table), topics), compute_agreement(as_ratings(table))
    width = {
        key: value(found["percent"].high) - value(found["percent"].low)
        for key, found in (("topics", by_topic), ("pairs", by_pair))
    }
    assert width["topics"] > 3 * width["pairs"]


def test_a_topic_without_a_pair_in_common_is_not_drawn() -> None:
    table = [[0, 0], [1, 1], [1, 0], [0, 0], [1, NO], [NO, 1]]
    units = np.array([0, 0, 1, 1, 2, 2])
    found = compute_agreement(as_ratings(table), units, resamples=100)
    without = compute_agreement(as_ratings(table[:4]), units[:4], resamples=100)
    assert found["kappa"] == without["kappa"]


def test_one_topic_is_resampled_by_pairs() -> None:
    ratings, _ = simulated(items=50)
    same = np.zeros(50, dtype=np.int64)
    assert compute_agreement(ratings, same, resamples=50) == compute_agreement(ratings, None, resamples=50)


def test_a_missing_judgment_is_marked() -> None:
    ratings = as_ratings([[0, NO], [2, 1]])
    assert ratings.codes.tolist() == [[0, NO_GRADE], [2, 1]] and ratings.judged.tolist() == [1, 2]
