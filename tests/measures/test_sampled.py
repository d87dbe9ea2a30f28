"""Sampled pools: examples by hand, and sample_eval's own output."""

import json
import math
import random

import pytest

from cranfield import Qrels, as_run, evaluate, join_run, read_qrels, read_run
from cranfield.errors import EvaluationError, MeasureError
from cranfield.evaluation.explanation import explain
from cranfield.joining import Extras
from cranfield.measures import parse_measure

POINTS = [f"infIPrec@{i / 10}" for i in range(11)]
STRATIFIED = ["xinfAP", "infNDCG", "iP@5", "infIPrec@0.5", "inum_rel", "inum_rel_ret"]
DRAWN = ["statAP", "varAP", "statP@5", "statRprec", "statNDCG@5"]


def stratified(rows: str, query: str = "1") -> Qrels:
    """Qrels of one query from words `doc:stratum:grade`."""
    docs, strata, grades = zip(*(row.split(":") for row in rows.split()), strict=True)
    return Qrels.from_rows([query] * len(docs), docs, [float(g) for g in grades], extra={"stratum": strata})


def drawn(rows: str, query: str = "1") -> Qrels:
    """Qrels of one query from words `doc:grade:method:probability`."""
    docs, grades, methods, chances = zip(*(row.split(":") for row in rows.split()), strict=True)
    extra = {"method": methods, "probability": chances}
    return Qrels.from_rows([query] * len(docs), docs, [float(g) for g in grades], extra=extra)


def ranking(docs: str, query: str = "1") -> dict[str, dict[str, float]]:
    return {query: {doc: float(-rank) for rank, doc in enumerate(docs)}}


def value(name: str, qrels: Qrels, docs: str) -> float:
    return evaluate(qrels, ranking(docs), [name]).mean(name)


STRATA = stratified("a:s1:1 b:s1:0 c:s1:-1 d:s2:2 e:s2:-1 f:s2:-1 g:s2:0")
PRELS = drawn("a:1:1:.5 b:0:1:.25 c:2:2:.1 d:1:1:.2 e:1:0:.9")


# strata


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("xinfAP", 0.5595),
        ("infNDCG", 0.5375),
        ("iP@5", 0.8),
        ("iP@10", 0.35),
        ("inum_rel", 3.5),
        ("inum_rel_ret", 3.5),
        *((point, 0.8) for point in POINTS[:-1]),
        (POINTS[-1], 0.0),
    ],
)
def test_a_small_stratified_example(name, figure):
    run = {"1": {"x": 9.0, "c": 8.0, "a": 7.0, "e": 7.0, "d": 6.0, "g": 5.0}}
    assert evaluate(STRATA, run, [name]).mean(name) == pytest.approx(figure, abs=5e-5)


def test_the_terms_of_the_small_example():
    epsilon = 0.00001
    at_d = (1 + 2 * (1 + epsilon) / (1 + 3 * epsilon) + 1 / 3) / 5
    explanation = explain("xinfAP", STRATA, ranking("xceadg"), "1")
    assert [row["term"] for row in explanation.rows] == pytest.approx([0, 0, 0, 1.5 * (1 + 2 / 3) / 4, 2 * at_d, 0])
    assert [row["stratum"] for row in explanation.rows] == ["", "s1, not drawn", "s2, not drawn", "s1", "s2", "s2"]
    assert explanation.normaliser == 3.5
    gains = [row["term"] for row in explain("infNDCG", STRATA, ranking("xceadg"), "1").rows]
    assert gains == pytest.approx([0, 0, 0, 2 / math.log2(5), 3 * (2 / math.log2(6)) / 2, 0])


def ours(name: str) -> str:
    """One of sample_eval's names as ours."""
    if name.startswith("iprec@rec"):
        return f"infIPrec@{float(name.removeprefix('iprec@rec'))}"
    if name.startswith("iP"):
        return f"iP@{name.removeprefix('iP')}"
    return {"infAP": "xinfAP", "num_ret": "NumRet"}.get(name, name)


def test_sample_eval_prints_the_same(shared_data):
    qrels = read_qrels(shared_data / "sampled" / "tv21.qrels5.gz")
    run = read_run(shared_data / "sampled" / "tv21.run.gz")
    printed = (shared_data / "expected" / "sample_eval" / "tv21.q.txt").read_text()
    lines = [line.split() for line in printed.splitlines()]
    scores = evaluate(qrels, run, list(dict.fromkeys(ours(name) for name, *_ in lines)), missing="skip")
    per_topic = {label: scores.per_query(label) for label in scores.labels}
    wrong = []
    for name, topic, figure in lines:
        found = scores.mean(ours(name)) if topic == "all" else per_topic[ours(name)][topic]
        if abs(found - float(figure)) > 5.1e-5:
            wrong.append((name, topic, figure, found))
    assert wrong == []
    assert len(lines) == 165


def test_more_relevant_documents_than_a_list_may_hold_are_too_many_to_find():
    # four of eight documents were drawn, all relevant: eight, of which a list of two can have two
    qrels = stratified("a:s:1 b:s:1 c:s:1 d:s:1 e:s:-1 f:s:-1 g:s:-1 h:s:-1")
    deep, shallow = explain("xinfAP", qrels, ranking("ab"), "1"), explain("xinfAP(depth=2)", qrels, ranking("abc"), "1")
    assert (deep.normaliser, shallow.normaliser) == (8, 2)
    assert shallow.rows[2]["term"] == 0


def test_the_ideal_ranking_has_the_estimated_number_of_documents_of_each_grade():
    # grade 2: 1.5 documents, of which one fits; grade 1: 1.5 from rank 2.5 on
    qrels = stratified("a:s:2 b:s:1 c:s:-1")
    ideal = 2 / math.log2(2) + 1 / math.log2(1.5 + 2)
    assert explain("infNDCG", qrels, ranking("a"), "1").normaliser == pytest.approx(ideal)


def test_grades_of_the_ideal_ranking_go_by_their_value():
    qrels = stratified("a:s:2 b:s:10")
    assert explain("infNDCG", qrels, ranking("a"), "1").normaliser == pytest.approx(10 + 2 / math.log2(3))


def test_with_everything_drawn_an_estimate_is_the_measure():
    rng = random.Random(5)
    docs = "abcdefghij"
    qrels = stratified(" ".join(f"{doc}:{rng.choice('st')}:{rng.choice([0, 0, 1, 2])}" for doc in docs))
    order = "".join(rng.sample(docs, 7))
    for estimate, measure in (("infNDCG", "nDCG"), ("xinfAP", "AP"), ("iP@3", "P@3"), ("inum_rel", "NumRel")):
        assert value(estimate, qrels, order) == pytest.approx(value(measure, qrels, order), abs=1e-3), measure


def test_documents_of_a_stratum_of_which_none_was_drawn_count_a_third():
    assert value("iP@2", stratified("a:s:-1 b:s:-1 c:t:1"), "ab") == pytest.approx(1 / 3)


def test_a_stratum_of_which_none_was_drawn_has_no_relevant_documents():
    explanation = explain("inum_rel", stratified("a:s:-1 b:t:1 c:t:-1"), ranking("a"), "1")
    assert explanation.value == 2
    assert {row["what"]: row["term"] for row in explanation.rows if "rank" not in row} == {
        "stratum s: 1 pooled, 0 drawn, 0 relevant": 0.0,
        "stratum t: 2 pooled, 1 drawn, 1 relevant": 2.0,
    }


def test_a_missing_query_counts_in_the_estimated_number_of_relevant_documents():
    qrels = Qrels.from_rows(["1", "2"], ["a", "b"], [1, 1], extra={"stratum": ["s", "s"]})
    assert evaluate(qrels, ranking("a"), ["inum_rel"]).mean("inum_rel") == 2


# chances


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("statAP", (0.5 * 2 + 0.75 * 5 + 1.6) / 9),
        ("statRprec", 8 / 9),
        ("statP(pad=False)@10", 0),
        ("statP@10", 0.8),
        ("statP(pad=False)@5", 8 / 5),
    ],
)
def test_a_small_example_with_chances(name, figure):
    assert value(name, PRELS, "xabdc") == pytest.approx(figure, abs=1e-12)


def test_the_rounded_figures_of_the_small_example():
    assert value("statNDCG@10", PRELS, "xabdc") == pytest.approx(0.487, abs=5e-4)
    assert value("varAP", PRELS, "xabdc") == pytest.approx(0.0829279, abs=5e-8)


def test_what_mtc_chose_can_be_left_out():
    explanation = explain("statAP(sample_only=True)", PRELS, ranking("xabdc"), "1")
    # a, c and d stand for 2, 10 and 5 documents; e is not used
    assert explanation.normaliser == pytest.approx(17)
    assert [row["stands for"] for row in explanation.rows] == pytest.approx([0, 2, 0, 5, 10])


def test_what_has_no_probability_or_no_grade_is_not_used():
    qrels = drawn("a:1:1:.5 b:1:1:NA c:-999:1:.5")
    assert explain("statAP", qrels, ranking("bca"), "1").normaliser == 2
    assert value("statAP", qrels, "ba") == pytest.approx((1 / 2) * 2 / 2)


def test_a_query_of_which_nothing_was_drawn_by_chance_is_worth_0():
    qrels = drawn("a:1:0:1 b:0:0:1")
    assert [value(name, qrels, "ab") for name in DRAWN] == [0] * 5


def test_a_variance_is_at_most_1():
    qrels = drawn("a:1:1:.01 b:1:1:.01 c:1:1:.9")
    explanation = explain("varAP", qrels, ranking("abc"), "1")
    assert explanation.value == 1
    assert explanation.sum / explanation.normaliser == pytest.approx(1)


def test_a_drawn_document_has_a_probability_above_0():
    with pytest.raises(EvaluationError, match="document 'a' was drawn although its probability is 0"):
        value("statAP", drawn("a:1:1:0"), "a")
    assert value("statAP", drawn("a:0:1:0 b:1:1:1"), "ab") == 0.5


def test_a_probability_is_a_number():
    with pytest.raises(EvaluationError, match="document 'a' has probability 'often'"):
        value("statAP", drawn("a:1:1:often"), "a")


# both


@pytest.mark.parametrize("name", STRATIFIED)
def test_qrels_without_strata_are_refused_with_what_is_needed(name):
    with pytest.raises(MeasureError, match="needs judgments of a stratified sample.*query iter doc stratum grade"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [name])


@pytest.mark.parametrize("name", DRAWN)
def test_qrels_without_chances_are_refused_with_what_is_needed(name):
    with pytest.raises(MeasureError, match="needs prels.*query doc grade method probability"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [name])


def test_nothing_relevant_is_worth_0():
    no_strata, no_chances = stratified("a:s:0 b:s:-1"), drawn("a:0:1:.5 b:-1:1:.5")
    assert [value(name, no_strata, "ab") for name in ("xinfAP", "infNDCG", "infIPrec@0.5", "inum_rel")] == [0] * 4
    assert [value(name, no_chances, "ab") for name in DRAWN] == [0] * 5


@pytest.mark.parametrize(("names", "qrels"), [(STRATIFIED, STRATA), (DRAWN, PRELS)], ids=["strata", "chances"])
def test_every_explanation_adds_up(names, qrels):
    for name in names:
        explanation = explain(name, qrels, ranking("xceadg"), "1")
        total = math.fsum(row["term"] for row in explanation.rows)
        assert total / explanation.normaliser == pytest.approx(explanation.value, abs=1e-9), name
        json.dumps(explanation.record(), allow_nan=False)


def test_a_duplicate_group_counts_once_in_the_estimates():
    duplicates = Extras(duplicates={"a": "same", "d": "same"})

    def found(name: str, qrels: Qrels) -> float:
        return float(parse_measure(name).values(join_run(qrels, as_run(ranking("xceadg")), extras=duplicates))[0])

    # of a (grade 1, stands for 1.5) and d (grade 2, for 2) the better one is left
    assert found("inum_rel(repeats=False)", STRATA) == 2
    assert found("statAP(repeats=False)", PRELS) < found("statAP", PRELS)
