"""Diversity: examples by hand, ndeval's own output, and pyndeval."""

import csv
import json
import math
import random

import numpy as np
import pytest

from cranfield import Qrels, as_run, evaluate, join_run, read_qrels, read_run
from cranfield.base import replace
from cranfield.evaluation.explanation import explain
from cranfield.evaluation.tools.conventions import TOOLS
from cranfield.joining import Extras
from cranfield.measures import parse_measure
from cranfield.measures.diversity import novelty

NAMES = {
    "ERR-IA": "ERR_IA",
    "nERR-IA": "nERR_IA",
    "alpha-DCG": "alpha_DCG",
    "alpha-nDCG": "alpha_nDCG",
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "MAP-IA": "AP_IA",
    "P-IA": "P_IA",
    "strec": "StRecall",
}


def diverse(rows: list[tuple[str, str, float]], query: str = "1") -> Qrels:
    """Qrels of one query from (subtopic, doc, grade)."""
    subtopics, docs, grades = zip(*rows, strict=True)
    return Qrels.from_rows([query] * len(rows), docs, grades, subtopics=subtopics)


def ranking(docs: str, query: str = "1") -> dict[str, dict[str, float]]:
    """A run of one query with one-letter documents in rank order."""
    return {query: {doc: float(-rank) for rank, doc in enumerate(docs)}}


SMALL = diverse([("1", "a", 1), ("2", "a", 0), ("2", "b", 1), ("3", "c", 0)])


def in_our_words(name: str, *parameters: str) -> str:
    """One of ndeval's names as ours, with parameters."""
    base, at, cutoff = name.partition("@")
    inner = f"({','.join(parameters)})" if parameters else ""
    return f"{NAMES[base]}{inner}{at}{cutoff}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ERR-IA@5", 0.302572),
        ("nERR-IA@5", 0.555556),
        ("alpha-DCG@5", 0.372389),
        ("alpha-nDCG@5", 0.693426),
        ("NRBP", 0.281250),
        ("nNRBP", 0.5),
        ("MAP-IA", 0.416667),
        ("P-IA@5", 0.2),
        ("strec@5", 1.0),
    ],
)
def test_a_small_example(name, value):
    scores = evaluate(SMALL, ranking("cbaz"), [in_our_words(name)])
    assert scores.mean(in_our_words(name)) == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize("mode", ["default", "traditional_c"])
@pytest.mark.parametrize(("year", "mapped"), [(2009, ""), (2012, "neg2zero.")])
def test_ndeval_prints_the_same(shared_data, year, mapped, mode):
    qrels = read_qrels(shared_data / "diversity" / f"wt{year}.qrels.gz")
    # ndeval takes no negative judgments: it was given 0 for the −2 of 2012
    qrels = replace(qrels, grades=np.maximum(qrels.grades, 0))
    run = read_run(shared_data / "diversity" / f"wt{year}.run.gz")
    with (shared_data / "expected" / "ndeval-4.5" / f"ndeval.wt{year}.{mapped}{mode}.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = {name: in_our_words(name) for name in rows[0] if name not in ("runid", "topic")}
    how = {"rank_by": "rank", "missing": "skip"} if mode == "default" else {"missing": "zero"}
    scores = evaluate(qrels, run, list(names.values()), **how)
    per_topic = {name: scores.per_query(ours) for name, ours in names.items()}
    # ndeval prints zeros for topics that have no judgments
    found = {
        (row["topic"], name): scores.mean(ours) if row["topic"] == "amean" else per_topic[name].get(row["topic"], 0.0)
        for row in rows
        for name, ours in names.items()
    }
    wrong = {
        (row["topic"], name): (found[row["topic"], name], row[name])
        for row in rows
        for name in names
        if abs(found[row["topic"], name] - float(row[name])) > 5.1e-7
    }
    assert wrong == {}
    assert len(found) == 51 * 21


def random_diversity(rng: random.Random, tied: bool):
    rows, run = [], {}
    for query in ("1", "2", "3"):
        docs = [f"d{i}" for i in range(15)]
        for doc in rng.sample(docs, 10):
            for subtopic in rng.sample(["1", "2", "3", "10", "11"], rng.randint(1, 4)):
                rows.append((query, subtopic, doc, rng.choice([0, 0, 1, 1, 2])))
        retrieved = rng.sample(docs, rng.randint(1, 15))
        run[query] = {doc: float(rng.randrange(5)) if tied else rng.random() for doc in retrieved}
    return rows, run


@pytest.mark.parametrize("seed", range(20))
def test_pyndeval_gives_the_same(seed):
    pyndeval = pytest.importorskip("pyndeval")
    rng = random.Random(seed)
    rows, run = random_diversity(rng, tied=seed % 2 == 1)
    alpha, beta, rel = rng.choice([0.5, 0.3, 0.1, 0.0, 0.9, 1.0]), rng.choice([0.5, 0.8, 0.2]), rng.choice([1, 2])
    parameters = {
        name: [
            f"rel={rel}",
            *([f"alpha={alpha}"] if name not in ("MAP-IA", "P-IA", "strec") else []),
            *([f"beta={beta}"] if name in ("NRBP", "nNRBP") else []),
            *(["raw_at_1=True"] if name in ("ERR-IA", "alpha-DCG") else []),
        ]
        for name in NAMES
    }
    uncut = ("NRBP", "nNRBP", "MAP-IA")
    names = [*uncut, *(f"{name}@{k}" for name in NAMES if name not in uncut for k in (1, 2, 7, 20))]
    oracle = pyndeval.RelevanceEvaluator(
        [pyndeval.SubtopicQrel(*row) for row in rows], names, relevance_level=rel, alpha=alpha, beta=beta
    ).evaluate([pyndeval.ScoredDoc(query, doc, score) for query, docs in run.items() for doc, score in docs.items()])
    queries, subtopics, docs, grades = zip(*rows, strict=True)
    ours = {name: in_our_words(name, *parameters[name.partition("@")[0]]) for name in names}
    # pyndeval breaks ties by doc id, ascending, other than ndeval itself
    scores = evaluate(
        Qrels.from_rows(queries, docs, grades, subtopics=subtopics), run, list(ours.values()), ties="doc-ascending"
    )
    for name in names:
        for query, value in scores.per_query(ours[name]).items():
            expected = oracle[query][name]
            # nNRBP is NaN there where nothing is relevant
            assert value == pytest.approx(0 if math.isnan(expected) else expected, abs=1e-6), (name, query)


def test_a_repeated_subtopic_is_worth_half_as_much_each_time():
    assert novelty([[0], [0, 1], [], [0]], 0.5).tolist() == [1, 1.5, 0, 0.25]
    assert novelty([[0], [0]], 1.0).tolist() == [1, 0]
    assert novelty([[0], [0]], 0.0).tolist() == [1, 1]


def test_at_rank_1_we_divide_and_ndeval_does_not():
    qrels = diverse([("1", "a", 1), ("2", "b", 1), ("3", "b", 1)])
    for name in ("ERR_IA", "alpha_DCG"):
        scores = evaluate(qrels, ranking("a"), [f"{name}@1", f"{name}(raw_at_1=True)@1", f"{name}(raw_at_1=True)@2"])
        normalised, raw, at_2 = (scores.mean(label) for label in scores.labels)
        assert (normalised, raw) == (pytest.approx(1 / 3), 1.0)
        assert at_2 == evaluate(qrels, ranking("a"), [f"{name}@2"]).mean(f"{name}@2")
    assert evaluate(qrels, ranking("a"), ["nERR_IA@1"]).mean("nERR_IA@1") == 0.5


def test_a_subtopic_that_nothing_is_relevant_to_does_not_count():
    qrels = diverse([("1", "a", 1), ("2", "a", 0), ("2", "b", 0)])
    assert evaluate(qrels, ranking("a"), ["StRecall@1"]).mean("StRecall@1") == 1


def test_nothing_relevant_is_worth_0_everywhere_and_never_nan():
    qrels = diverse([("1", "a", 0), ("2", "b", 0)])
    names = [in_our_words(name) if name in ("NRBP", "nNRBP", "MAP-IA") else f"{NAMES[name]}@5" for name in NAMES]
    scores = evaluate(qrels, ranking("ab"), names)
    assert {scores.mean(name) for name in names} == {0.0}


def test_without_novelty_and_impatience_nrbp_has_no_bound_to_divide_by():
    scores = evaluate(SMALL, ranking("ab"), ["NRBP(alpha=0,beta=1)", "nNRBP(alpha=0,beta=1)"])
    assert [scores.mean(label) for label in scores.labels] == [0, 1]


@pytest.mark.parametrize(
    ("covers", "gains"),
    [({"a": "14", "b": "12", "c": "34"}, (2, 2, 1)), ({"a": "34", "b": "12", "c": "14"}, (2, 1.5, 1.5))],
)
def test_equals_in_the_ideal_list_go_by_the_largest_doc_id(covers, gains):
    qrels = diverse([(subtopic, doc, 1) for doc, subtopics in covers.items() for subtopic in subtopics])
    ideal = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
    assert explain("alpha_nDCG@3", qrels, ranking("abc"), "1").normaliser == pytest.approx(ideal)


def test_the_greedy_ideal_list_need_not_be_the_best():
    rows = [("a", "1234"), ("b", "125"), ("c", "346")]
    qrels = diverse([(subtopic, doc, 1) for doc, subtopics in rows for subtopic in subtopics])
    name = "alpha_nDCG(alpha=1)@2"
    found = 3 + 3 / math.log2(3)
    assert evaluate(qrels, ranking("bc"), [name]).mean(name) == pytest.approx(found / (4 + 1 / math.log2(3)))
    assert found > 4 + 1 / math.log2(3)


def test_subtopics_are_added_in_the_order_of_their_numbers():
    qrels = diverse([("10", "a", 1), ("9", "a", 1), ("2", "a", 1)])
    explanation = explain("StRecall@1", qrels, ranking("a"), "1")
    assert explanation.rows[0]["subtopics"] == "2, 9, 10"


def test_a_cutoff_may_be_deeper_than_any_list():
    shallow, deep = "ERR_IA@10000", "ERR_IA@1000000000"
    scores = evaluate(SMALL, ranking("ab"), [shallow, deep])
    assert scores.mean(deep) == pytest.approx(scores.mean(shallow), abs=1e-12)


def test_intent_aware_precision_of_a_short_list_counts_as_filled_up():
    assert evaluate(SMALL, ranking("a"), ["P_IA@4"]).mean("P_IA@4") == 1 / 8


def test_intent_aware_average_precision_with_a_cutoff_is_still_divided_by_all():
    assert evaluate(SMALL, ranking("cba"), ["AP_IA@2"]).mean("AP_IA@2") == pytest.approx((0 + 1 / 2) / 2)


EVERY = ["ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "AP_IA", "P_IA", "StRecall"]


@pytest.mark.parametrize("name", EVERY)
def test_without_a_cutoff_the_whole_list_counts(name):
    rows = [("1", "a", 1), ("2", "a", 1), ("2", "b", 1), ("3", "c", 1)]
    qrels = Qrels.from_rows(
        ["q"] * 4, [doc for _, doc, _ in rows], [1] * 4, subtopics=[subtopic for subtopic, _, _ in rows]
    )
    run = {"q": {"x": 4.0, "b": 3.0, "y": 2.0, "a": 1.0}}
    scores = evaluate(qrels, run, [name, f"{name}@1", f"{name}@4", f"{name}@3000"])
    whole = scores.mean(name)
    # precision over all that is retrieved; what the others are divided by converges
    assert whole == pytest.approx(scores.mean(f"{name}@4" if name == "P_IA" else f"{name}@3000"))
    assert scores.mean(f"{name}@1") == 0 < whole < 1


def test_without_a_cutoff_and_without_novelty_there_is_nothing_to_divide_by():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    assert evaluate(qrels, run, ["alpha_DCG(alpha=0)", "ERR_IA(alpha=0)"]).summary()["run"] == {
        "alpha_DCG(alpha=0)": 0,
        "ERR_IA(alpha=0)": 0,
    }
    assert evaluate(qrels, run, ["ERR_IA"]).mean("ERR_IA") == pytest.approx(1 / (2 * np.log(2)))


@pytest.mark.parametrize("tool", ["ndeval", "ir_measures"])
@pytest.mark.parametrize("name", [*(name for name in EVERY if name != "AP_IA"), "AP_IA@5"])
def test_ndeval_has_cutoffs_except_where_the_whole_list_counts(tool, name):
    assert TOOLS[tool].differences(parse_measure(name)) is None


def test_greek_names_and_other_tools_names_are_understood():
    assert parse_measure("α_nDCG(alpha=0.3)@20") == parse_measure("alpha_nDCG(alpha=0.3)@20")
    assert parse_measure("α_DCG@5") == parse_measure("alpha_DCG@5")
    assert parse_measure("MAP_IA") == parse_measure("AP_IA")
    assert str(parse_measure("P_IA@5")) == "P_IA@5"


def test_without_subtopics_all_is_one_subtopic():
    scores = evaluate({"q": {"a": 1, "b": 1}}, {"q": {"x": 2.0, "b": 1.0}}, ["AP_IA", "AP", "StRecall@2"])
    assert scores.mean("AP_IA") == scores.mean("AP")
    assert scores.mean("StRecall@2") == 1


def test_the_explanation_shows_subtopics_gains_and_the_ideal():
    explanation = explain("alpha_nDCG@5", SMALL, ranking("cbaz"), "1")
    assert [row["subtopics"] for row in explanation.rows] == ["", "2", "1", ""]
    assert [row["gain"] for row in explanation.rows] == [0, 1, 1, 0]
    assert explanation.normaliser == pytest.approx(1 + 1 / math.log2(3))
    assert explanation.sum / explanation.normaliser == pytest.approx(explanation.value, abs=1e-12)
    json.dumps(explanation.record(), allow_nan=False)


@pytest.mark.parametrize("seed", range(10))
def test_values_without_high_alpha_stay_within_1(seed):
    rows, run = random_diversity(random.Random(seed), tied=False)
    queries, subtopics, docs, grades = zip(*rows, strict=True)
    names = ["alpha_nDCG@10", "nERR_IA@10", "nNRBP", "alpha_DCG@10", "ERR_IA@10", "NRBP"]
    scores = evaluate(Qrels.from_rows(queries, docs, grades, subtopics=subtopics), run, names)
    assert all(0 <= value <= 1 + 1e-12 for name in names for value in scores.per_query(name).values())


def test_the_expected_intent_aware_precision_is_the_mean_over_all_orders():
    qrels = diverse([("1", "a", 1), ("2", "a", 1), ("2", "b", 1)])
    run = {"1": {"a": 1.0, "x": 1.0, "b": 1.0}}
    orders = ["axb", "abx", "xab", "xba", "bax", "bxa"]
    mean = sum(evaluate(qrels, ranking(order), ["P_IA@2"]).mean("P_IA@2") for order in orders) / 6
    assert evaluate(qrels, run, ["P_IA@2"], ties="expected").mean("P_IA@2") == pytest.approx(mean)


def test_a_document_that_repeats_another_covers_nothing():
    qrels = diverse([("1", "a", 1), ("1", "b", 1), ("2", "b", 1), ("2", "c", 1)])
    extras = Extras(duplicates={"a": "same", "b": "same"})
    judged = join_run(qrels, as_run(ranking("abc")), extras=extras)

    def value(name: str) -> float:
        return float(parse_measure(name).values(judged)[0])

    # a for subtopic 1, then nothing, then c for subtopic 2
    assert value("P_IA(repeats=False)@3") == 2 / 6
    assert value("alpha_DCG(repeats=False)@3") < value("alpha_DCG@3")
    # subtopic 1 has one document to find, not two; subtopic 2 has b and c
    assert value("AP_IA(repeats=False)") == pytest.approx((1 / 1 + (1 / 3) / 2) / 2)
    # the best list is b (2) and then c (1/2): a has nothing to add
    ideal = 2 + 0.5 / math.log2(3)
    assert value("alpha_nDCG(repeats=False)@3") == pytest.approx((1 + 1 / math.log2(4)) / ideal)


def test_a_value_may_exceed_that_of_the_greedy_ideal_list_but_not_by_more_than_the_range_says():
    # the greedy list takes c first, the last of equals, after which a and b have less to give
    rows = [("q", doc, 1, s) for doc, subtopics in (("a", "126"), ("b", "347"), ("c", "135")) for s in subtopics]
    query, docs, grades, subtopics = zip(*rows, strict=True)
    qrels = Qrels.from_rows(query, docs, grades, subtopics=subtopics)
    for name in ("alpha_nDCG(alpha=1)@2", "nERR_IA(alpha=1)@2", "nNRBP(alpha=1)"):
        value = evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, [name]).mean(name)
        measure = parse_measure(name)
        assert value > 1 or measure.name == "nNRBP"
        assert value <= measure.high == pytest.approx(math.e / (math.e - 1)) and "range" not in measure.lacks
    assert parse_measure("alpha_nDCG(repeats=False)").high == 2


def test_what_ndeval_does_not_divide_at_1_has_no_bound():
    rows = [("q", "a", 1, s) for s in "12"]
    query, docs, grades, subtopics = zip(*rows, strict=True)
    qrels = Qrels.from_rows(query, docs, grades, subtopics=subtopics)
    for name in ("alpha_DCG(raw_at_1=True)@1", "ERR_IA(raw_at_1=True)@1"):
        assert evaluate(qrels, {"q": {"a": 1.0}}, [name]).mean(name) == 2
        measure = parse_measure(name)
        assert measure.high == math.inf and explain(measure, qrels, {"q": {"a": 1.0}}, "q").normaliser_is == ""
