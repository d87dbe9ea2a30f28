"""Evaluation as a user sees it: values, means, intervals, notes, several runs."""

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cranfield import CranfieldError, EvaluationError, Evaluator, Qrels, Run, as_run, evaluate, from_arrays
from cranfield.evaluation import distinct_names, group_queries
from cranfield.evaluation.explanation import explain
from cranfield.measures import AP, P

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "c": 2}, "q3": {"b": 1}, "q10": {"c": 1}}
RUN = {
    "q1": {"b": 2.0, "a": 1.0},
    "q2": {"a": 3.0, "x": 2.0, "c": 1.0},
    "q3": {"b": 5.0, "a": 4.0},
    "q99": {"a": 1.0},
}
OTHER = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"x": 3.0}, "q3": {"a": 1.0, "b": 0.5}, "q10": {"c": 1.0}}
MEASURES = ["AP", "RR", "nDCG@2", "P@1", "NumRet"]


def random_values(seed: int = 4, queries: int = 30):
    rng = np.random.default_rng(seed)
    return from_arrays(rng.integers(0, 2, (queries, 12)), rng.random((queries, 12)))


# queries that one side lacks


def test_missing_queries_count_as_zero():
    scores = evaluate(QRELS, RUN, MEASURES)
    assert scores.per_query("RR") == {"q1": 0.5, "q2": 1.0, "q3": 1.0, "q10": 0.0}
    assert scores.mean("RR") == 2.5 / 4
    assert scores.n() == 4


def test_missing_queries_are_skipped_if_asked_for():
    scores = evaluate(QRELS, RUN, MEASURES, missing="skip")
    assert scores.per_query("RR") == {"q1": 0.5, "q2": 1.0, "q3": 1.0}
    assert scores.mean("RR") == 2.5 / 3
    assert math.isnan(scores.values("RR")[3])
    assert scores.n() == 3


def test_missing_queries_are_an_error_if_asked_for():
    with pytest.raises(EvaluationError, match="lacks 1 of 4 judged queries"):
        evaluate(QRELS, RUN, MEASURES, missing="error")


def test_no_query_in_common_is_an_error():
    with pytest.raises(EvaluationError, match="no query in common"):
        evaluate(QRELS, {"7": {"a": 1.0}}, MEASURES)


def test_coverage_says_what_the_figures_rest_on():
    def coverage(**options):
        return evaluate(QRELS, RUN, ["AP"], **options).runs[0].coverage

    assert coverage() == "4 queries evaluated, 1 in the run have no judgments, 1 missing (count as 0)"
    assert coverage(missing="skip") == "3 queries evaluated, 1 in the run have no judgments, 1 missing (skipped)"
    one = evaluate({"q1": {"a": 1}}, {"q1": {"a": 1.0}}, ["AP"]).runs[0].coverage
    assert one == "1 query evaluated, 0 in the run have no judgments, 0 missing"


def test_counts_are_summed_over_all_judged_queries():
    scores = evaluate(QRELS, RUN, ["NumQ", "NumRet", "NumRel", "NumRelRet"])
    assert scores.summary() == {"run": {"NumQ": 4, "NumRet": 7, "NumRel": 5, "NumRelRet": 4}}


def test_a_note_says_where_missing_queries_flatter_a_run():
    scores = evaluate(QRELS, RUN, ["SearchLength", "AP"])
    assert any("best value of SearchLength" in note for note in scores.notes)
    assert not any("best value" in note for note in evaluate(QRELS, RUN, ["AP"]).notes)


# notes


def test_a_note_says_that_subtopics_take_the_highest_grade():
    qrels = Qrels.from_rows(["q"] * 3, ["a", "a", "b"], [1, 2, 0], subtopics=["1", "2", "1"])
    scores = evaluate(qrels, {"q": {"a": 1.0}}, ["CG"])
    assert scores.mean("CG") == 2
    (note,) = scores.notes
    assert note.startswith("1 document") and "highest grade" in note


def test_a_note_says_which_measures_the_relevance_level_does_not_concern():
    notes = evaluate(QRELS, RUN, ["AP", "nDCG@2"], rel=2).notes
    assert any("nDCG@2" in note and "AP" not in note and "2" in note for note in notes)
    assert evaluate(QRELS, RUN, ["AP"], rel=2).notes == ()


def test_the_relevance_level_is_a_default_that_a_measure_may_override():
    scores = evaluate(QRELS, RUN, ["NumRel", "NumRel(rel=1)", "NumRet"], rel=2)
    assert scores.summary()["run"] == {"NumRel": 1, "NumRel(rel=1)": 5, "NumRet": 7}


# means and intervals


def test_a_mean_is_added_exactly():
    scores = evaluate(*random_values(), ["AP", "nDCG"])
    for name in ("AP", "nDCG"):
        values = scores.values(name).tolist()
        assert scores.mean(name) == math.fsum(values) / len(values)
        assert scores.mean(name) == math.fsum(values[::-1]) / len(values)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_intervals_are_those_of_students_t(level):
    scores = evaluate(*random_values(), ["AP"])
    values = scores.values("AP")
    low, high = stats.t.interval(level, len(values) - 1, loc=values.mean(), scale=stats.sem(values))
    interval = scores.interval("AP", level=level)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)
    assert interval.level == level


def test_intervals_rest_on_the_queries_that_were_not_skipped():
    scores = evaluate(QRELS, RUN, ["RR"], missing="skip")
    values = [0.5, 1.0, 1.0]
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    interval = scores.interval("RR")
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)


def test_counts_and_single_queries_have_no_interval():
    assert evaluate(QRELS, RUN, ["NumRet"]).interval("NumRet") is None
    assert evaluate({"q1": {"a": 1}}, {"q1": {"a": 1.0}}, ["AP"]).interval("AP") is None


def test_the_interval_of_a_constant_is_a_point():
    scores = evaluate({q: {"a": 1} for q in "xyz"}, {q: {"a": 1.0} for q in "xyz"}, ["AP"])
    interval = scores.interval("AP")
    assert (interval.low, interval.high) == (1, 1)


def test_the_share_of_unjudged_documents_is_over_all_that_were_retrieved():
    scores = evaluate(QRELS, RUN, ["AP"], missing="skip")
    # x of q2 and a of q3
    assert scores.unjudged(3) == pytest.approx(2 / 7)
    assert scores.unjudged(1) == 0


# averages other than the mean


def test_a_mean_may_be_geometric_or_a_median():
    scores = evaluate(QRELS, RUN, ["RR", "NumRet"], mean="geometric")
    assert scores.mean("RR") == pytest.approx((0.5 * 1 * 1 * 1e-5) ** 0.25)
    assert scores.mean("RR", how="median") == 0.75
    assert scores.mean("RR", how="arithmetic") == 0.625
    assert scores.mean("NumRet") == 7
    assert scores.conventions["mean"] == "geometric"
    assert any("geometric" in note and "1e-05" in note for note in scores.notes)
    middle = evaluate(QRELS, RUN, ["RR"], mean="median")
    assert middle.mean("RR") == 0.75
    assert any("median" in note for note in middle.notes)
    assert "mean" not in evaluate(QRELS, RUN, ["RR"]).conventions


def test_an_unknown_mean_is_an_error():
    with pytest.raises(CranfieldError, match="mean 'mode' is unknown: expected one of arithmetic, geometric, median"):
        evaluate(QRELS, RUN, ["RR"], mean="mode")


def test_queries_may_be_weighted():
    weights = {"q1": 2, "q2": 1, "q3": 1, "q10": 0, "other": 5}
    scores = evaluate(QRELS, RUN, ["RR", "NumRet"], weights=weights)
    assert scores.mean("RR") == (2 * 0.5 + 1 + 1) / 4
    assert scores.mean("NumRet") == 7
    assert scores.select(["q1", "q2"]).mean("RR") == (2 * 0.5 + 1) / 3
    assert math.isnan(scores.select(["q10"]).mean("RR"))
    assert scores.conventions["weights"] == "by query"
    assert "Queries are weighted; they are worth 2.7 of equal weight." in scores.notes


def test_weights_rest_on_the_queries_that_were_not_skipped():
    weights = {"q1": 2, "q2": 1, "q3": 1, "q10": 4}
    assert evaluate(QRELS, RUN, ["RR"], weights=weights, missing="skip").mean("RR") == 0.75
    assert evaluate(QRELS, RUN, ["RR"], weights=weights).mean("RR") == 3 / 8


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"q1": 1}, "no weight is given for 3 queries of the qrels: 'q2', 'q3', 'q10'"),
        ({"q1": 1, "q2": -1, "q3": 1, "q10": math.nan}, "the weight of 'q2', 'q10' is not a number of at least 0"),
        ({"q1": 0, "q2": 0, "q3": 0, "q10": 0}, "weight 0"),
    ],
)
def test_wrong_weights_are_an_error(weights, message):
    with pytest.raises(EvaluationError, match=message):
        evaluate(QRELS, RUN, ["RR"], weights=weights)


# what some measures need beyond qrels and run


def test_extras_reach_the_join(tmp_path):
    (tmp_path / "lengths").write_text("a\t100\nb\t50\n")
    evaluator = Evaluator(
        QRELS,
        ["RR"],
        against=OTHER,
        doc_lengths=tmp_path / "lengths",
        duplicates={"a": "1", "b": "1"},
        facts={"q1": {"a": frozenset({"f"})}},
    )
    extras = evaluator.evaluate(RUN).runs[0].judged.sources.extras
    assert extras.against.queries == ("q1", "q2", "q3", "q10")
    assert extras.doc_lengths == {"a": 100, "b": 50}
    assert extras.duplicates == {"a": "1", "b": "1"}
    assert extras.facts == {"q1": {"a": {"f"}}}
    assert Evaluator(QRELS, ["RR"]).extras.duplicates is None


# ways to ask


def test_values_are_found_by_label_or_by_measure():
    scores = evaluate(QRELS, RUN, ["MAP", P(cutoff=1)])
    assert scores.labels == ("MAP", "P@1")
    assert scores.mean("MAP") == scores.mean(AP())
    assert scores.mean("P@1") == scores.mean(P(cutoff=1))


def test_a_measure_that_was_not_asked_for_is_an_error():
    with pytest.raises(CranfieldError, match="no measure 'RR' among these scores: they have AP"):
        evaluate(QRELS, RUN, ["AP"]).mean("RR")


def test_a_run_that_is_not_there_is_an_error():
    with pytest.raises(CranfieldError, match="no run 'b' among these scores: they have run"):
        evaluate(QRELS, RUN, ["AP"]).mean("AP", "b")
    with pytest.raises(CranfieldError, match="no run None among these scores: they have x, y"):
        evaluate(QRELS, {"x": RUN, "y": OTHER}, ["AP"]).mean("AP")


def test_scores_read_as_text_and_as_a_table():
    scores = evaluate(QRELS, {"x": RUN, "y": OTHER}, ["RR", "nDCG@2"])
    assert str(scores).splitlines()[0].split() == ["x", "RR", "0.6250"]
    assert len(str(scores).splitlines()) == 4
    assert "<th>nDCG@2</th>" in scores._repr_html_()


def test_the_conventions_are_stated():
    conventions = evaluate(QRELS, RUN, ["AP"], ties="expected", missing="skip", rel=2, seed=5).conventions
    assert conventions["ties"] == "expected"
    assert conventions["missing"] == "skip"
    assert conventions["rel"] == 2
    assert conventions["seed"] == 5


# some queries only


def test_selecting_queries_gives_what_evaluating_them_gives():
    scores = evaluate(QRELS, RUN, MEASURES)
    some = scores.select(["q2", "q10", "unknown"])
    alone = evaluate({q: QRELS[q] for q in ("q2", "q10")}, RUN, MEASURES)
    assert some.queries == ("q2", "q10")
    assert some.summary() == alone.summary()
    assert some.n() == 2
    assert some.unjudged() == alone.unjudged()
    assert some.interval("AP") == alone.interval("AP")


def test_selecting_leaves_the_scores_as_they_were():
    scores = evaluate(QRELS, RUN, MEASURES)
    before = scores.summary()
    scores.select(["q2"])
    assert scores.summary() == before


def test_queries_are_gathered_by_group():
    groups = {"q1": "short", "q2": "long", "q10": "short"}
    assert group_queries(groups, ["q1", "q2", "q3", "q10"]) == {
        "(none)": ["q3"],
        "long": ["q2"],
        "short": ["q1", "q10"],
    }


# several runs


def test_a_mapping_names_its_runs():
    scores = evaluate(QRELS, {"bm25": RUN, "lm": OTHER}, ["RR"])
    assert scores.summary() == {"bm25": {"RR": 0.625}, "lm": {"RR": (1 + 0 + 0.5 + 1) / 4}}


def test_a_list_of_runs_keeps_their_names():
    runs = [as_run(RUN, name="bm25"), as_run(OTHER, name="lm")]
    assert [run.name for run in evaluate(QRELS, runs, ["RR"]).runs] == ["bm25", "lm"]


def test_runs_without_names_are_numbered():
    assert [run.name for run in evaluate(QRELS, [RUN, OTHER], ["RR"]).runs] == ["run (1)", "run (2)"]


def test_each_run_is_evaluated_as_if_alone():
    both = evaluate(QRELS, {"x": RUN, "y": OTHER}, MEASURES)
    for name, run in (("x", RUN), ("y", OTHER)):
        alone = evaluate(QRELS, run, MEASURES)
        for measure in MEASURES:
            assert both.per_query(measure, name) == alone.per_query(measure)


@pytest.mark.parametrize(
    ("names", "files", "expected"),
    [
        (["a", "b"], [None, None], ["a", "b"]),
        (["a", "a"], [None, None], ["a (1)", "a (2)"]),
        (["a", "a"], ["x/a.run", "y/a.run"], ["x/a", "y/a"]),
        (["a", "a"], ["p/x/a.run", "q/x/a.run"], ["p/x/a", "q/x/a"]),
        (["a", "a", "b"], ["x/a", "x/a", "x/b"], ["a (1)", "a (2)", "b"]),
        (["a"] * 6, [f"{x}/a" for x in "uvwxyz"], [f"{x}/a" for x in "uvwxyz"]),
        (["a"] * 5, ["x/a", "y/a", "y/a.gz", "z/a", None], ["x/a", "y/a (1)", "y/a (2)", "z/a", "a"]),
        (["a"] * 2, ["1/" + "x/" * 12 + "a", "2/" + "x/" * 12 + "a"], ["1/" + "x/" * 12 + "a", "2/" + "x/" * 12 + "a"]),
        (["a"] * 3, ["/r/a", "/s/r/a", "a"], ["/r/a", "s/r/a", "./a"]),
        (["a", "a", "a (1)"], [None, None, None], ["a (1)", "a (2)", "a (1)'"]),
        ([], [], []),
    ],
)
def test_names_of_runs_are_made_distinct(names, files, expected):
    assert distinct_names(names, files) == expected


# ways to give the data


def test_an_evaluator_gives_the_same_however_often_it_is_used():
    evaluator = Evaluator(QRELS, MEASURES)
    first = evaluator.evaluate(RUN).summary()
    evaluator.evaluate(OTHER)
    assert evaluator.evaluate(RUN).summary() == first == evaluate(QRELS, RUN, MEASURES).summary()


def test_an_evaluator_that_samples_gives_the_same_however_often_it_is_used():
    evaluator = Evaluator({"q": {"a": 1, "b": 0}}, ["Bpref"], ties="expected")
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    assert evaluator.evaluate(run).mean("Bpref") == evaluator.evaluate(run).mean("Bpref")


def test_dense_arrays_dicts_and_rows_give_the_same():
    qrels, run = random_values(queries=5)
    expected = evaluate(qrels, run, MEASURES).summary()
    assert evaluate(qrels.to_dict(), run.to_dict(), MEASURES).summary() == expected
    rows = [(query, doc, number) for query, docs in run.to_dict().items() for doc, number in docs.items()]
    assert evaluate(qrels, rows, MEASURES).summary() == expected
    assert evaluate(qrels, Run.from_rows(*zip(*rows, strict=True)), MEASURES).summary() == expected


def test_a_document_without_judgment_in_a_dense_array_is_unjudged():
    qrels, run = from_arrays([[1, np.nan, 0]], [[1, 3, 2]])
    scores = evaluate(qrels, run, ["RR", "RR(judged_only=True)", "Judged@3"])
    assert scores.summary()["run"] == pytest.approx({"RR": 1 / 3, "RR(judged_only=True)": 0.5, "Judged@3": 2 / 3})


def test_the_inputs_are_left_alone():
    qrels, run = {"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}
    evaluate(qrels, run, MEASURES, ties="worst")
    assert (qrels, run) == ({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}})


@pytest.mark.parametrize(
    ("extra", "given", "user", "says"),
    [
        ("against", {"q": {"a": 1.0}}, "RBO", "--against changes nothing here: only measures between runs"),
        ("doc_lengths", {"a": 2.0}, "U", "--doc-lengths changes nothing here: only TBG, U"),
        ("doc_lengths", {"a": 2.0}, "RBP(cost='length')", "--doc-lengths changes nothing here"),
        (
            "duplicates",
            {"a": "g"},
            "RR(repeats=False)",
            "--duplicates changes nothing here: .* e.g. AP\\(repeats=False\\)",
        ),
        ("facts", {"q": {"a": frozenset("f")}}, "FactRecall", "--facts changes nothing here: only FactRecall"),
    ],
)
def test_a_file_that_no_measure_looks_at_is_told(extra: str, given: Any, user: str, says: str) -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}

    def notes(*names: str, **options: Any) -> str:
        return "\n".join(
            note for note in evaluate(qrels, run, list(names), **options).notes if "changes nothing" in note
        )

    assert re.search(says, notes("AP", "P@1", **{extra: given}))
    assert not notes("AP", user, **{extra: given})
    assert not notes("AP")
    explained = explain("AP", qrels, run, "q", **{extra: given})
    assert re.search(says, "\n".join(explained.notes))


def test_the_baseline_of_risk_is_not_given_for_nothing() -> None:
    qrels, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}
    scores = evaluate(qrels, run, ["AP"], against=run, risk=1)
    assert not [note for note in scores.notes if "changes nothing" in note]


@pytest.mark.parametrize("seed", range(20))
def test_runs_of_one_name_keep_their_folders_however_many_there_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    folders = ["/".join(rng.choice(list("pqr"), rng.integers(1, 5))) for _ in range(12)]
    found = distinct_names(["bm25"] * 12, [f"{folder}/bm25.run" for folder in folders])
    assert len(set(found)) == 12
    assert all(name.split("/bm25")[0] in folder for name, folder in zip(found, folders, strict=True))


@pytest.mark.parametrize("facts", [{"q": {"a": ["f"]}}, {"q": {"a": {"f"}}}, [("q", "a", "f")]])
def test_facts_may_be_lists_sets_and_rows(facts):
    assert evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["FactRecall"], facts=facts).mean("FactRecall") == 1


@pytest.mark.parametrize(
    ("measure", "option", "wrong"),
    [
        *(("FactRecall", "facts", wrong) for wrong in (3, ["a"], {"q": ["a"]}, {"q": {"a": "f"}}, {"q": {"a": 1}})),
        *(("TBG(cost='length')", "doc_lengths", wrong) for wrong in (3, ["a"], {"a": "x"}, {"a": None}, {"a": -1})),
        *(("AP(repeats=False)", "duplicates", wrong) for wrong in (3, ["a"], {"a": ["x"]}, {"a": None})),
        *(("AP", "weights", wrong) for wrong in (3, ["q"], {"q": "x"}, {"q": None}, {"q": -1}, {"q": math.nan})),
    ],
)
def test_what_is_given_in_python_is_checked(measure, option, wrong):
    with pytest.raises(CranfieldError):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [measure], **{option: wrong})


def test_a_geometric_mean_of_values_that_may_be_negative_is_refused():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    for name in ("YAAP", "Utility", "nDCG(gain={0:-1})"):
        with pytest.raises(EvaluationError, match="may be: leave it out"):
            evaluate(qrels, run, ["AP", name], mean="geometric")
        with pytest.raises(EvaluationError, match="may be: leave it out"):
            evaluate(qrels, run, [name]).mean(name, how="geometric")
    assert evaluate(qrels, run, ["AP", "GMAP", "NumRet"], mean="geometric").mean("AP") == 1
