"""On Spark the numbers are those of the local engine, bit for bit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cranfield import CranfieldError, EvaluationError, InputError, MeasureError, evaluate, read_qrels, read_run
from cranfield.measures import Measure, all_measures
from cranfield.spark import evaluate as evaluate_on_spark
from tests.measures.cases import COLUMNS, full_case
from tests.measures.rankings import random_case
from tests.spark.spark_frames import local_values, plain_rows, qrels_frame, run_frame, values_of

KINDS = [kind for kind in all_measures() if kind.__module__.startswith("cranfield.")]
MEASURES = [kind.plain() for kind in KINDS]
SCHEMA = ", ".join(f"{name} {'double' if name == 'grade' else 'string'}" for name in COLUMNS)


def extras_of(case):
    extras = case.extras
    return {name: getattr(extras, name) for name in ("against", "doc_lengths", "duplicates", "facts")}


def with_rows(run):
    """A run without empty lists, of which a frame of rows knows nothing."""
    return {query: docs for query, docs in run.items() if docs}


def shuffled(session, frame, seed=1):
    """The same rows in another order and in other partitions."""
    rows = frame.collect()
    random.Random(seed).shuffle(rows)
    return session.createDataFrame(rows, frame.schema).repartition(5)


@pytest.mark.parametrize(("seed", "ties"), [(0, "trec"), (1, "trec"), (2, "best"), (3, "doc-ascending")])
def test_every_measure_has_the_same_bits(spark, seed, ties):
    case = full_case(seed, scores=4 if seed else None, queries=9)
    measures = MEASURES if ties == "trec" else MEASURES[:: 3 + seed]
    options = {"ties": ties, **extras_of(case)}
    local = evaluate(case.qrels(), {"run": with_rows(case.run)}, measures, **options)
    run = shuffled(spark, run_frame(spark, {"run": case.run}, named=False))
    qrels = qrels_frame(spark, case.rows, SCHEMA)
    scores = evaluate_on_spark(run, qrels, measures, **options).cache()
    assert values_of(scores.collect()) == local_values(local)
    assert scores.summary() == local.summary()
    assert [scores.interval(label) for label in local.labels] == [local.interval(label) for label in local.labels]


def test_measures_that_look_at_judged_documents_only_take_the_fast_lane(spark):
    """Many queries, some of them tied, some with documents in no order, some missing, some unjudged."""
    rng = random.Random(7)
    qrels, runs = {}, {"a": {}, "b": {}}
    for q in range(120):
        docs = [f"d{i}" for i in range(30)]
        if q % 10 != 3:
            qrels[f"q{q}"] = {doc: rng.choice([-1, 0, 1, 2]) for doc in rng.sample(docs, rng.randint(1, 12))}
        for run in runs.values():
            if rng.random() < 0.9:
                digits = 1 if q % 4 == 0 else 12
                run[f"q{q}"] = {doc: round(rng.random(), digits) for doc in rng.sample(docs, rng.randint(1, 30))}
    measures = [m for m in MEASURES if not (m.reads_run or m.needs or m.qrels_columns or m.reads_columns)]
    local = evaluate(qrels, runs, measures)
    scores = evaluate_on_spark(shuffled(spark, run_frame(spark, runs)), qrels_frame(spark, plain_rows(qrels)), measures)
    assert values_of(scores.collect()) == local_values(local)
    assert scores.summary() == local.summary()
    assert list(scores.notes) == list(local.notes)
    assert [scores.coverage(run.name) for run in local.runs] == [run.coverage for run in local.runs]
    assert [scores.unjudged(name) for name in runs] == pytest.approx([local.unjudged(run=name) for name in runs])
    assert dict(scores.conventions) == dict(local.conventions)


@pytest.mark.parametrize(
    "options",
    [
        {"mean": "geometric"},
        {"mean": "median"},
        {"weights": True},
        {"weights": True, "mean": "median"},
        {"weights": True, "mean": "geometric"},
        {"missing": "skip"},
        {"score_type": "float32"},
        {"rel": 2},
        {"ties": "expected"},
        {"ties": "worst"},
        {"on_duplicate": "max"},
    ],
    ids=str,
)
def test_conventions_hold_as_on_one_machine(spark, options):
    qrels, run = random_case(5, queries=12, scores=5, least=1)
    del run["q3"], run["q7"]
    if options.get("weights"):
        rng = random.Random(1)
        options = {**options, "weights": {query: rng.random() for query in qrels}}
    measures = ["nDCG@10", "AP", "RR", "P@5", "num_rel_ret", "R@10"]
    local = evaluate(qrels, {"run": run}, measures, **options)
    scores = evaluate_on_spark(
        run_frame(spark, {"run": run}, named=False), qrels_frame(spark, plain_rows(qrels)), measures, **options
    )
    assert values_of(scores.collect()) == local_values(local)
    assert scores.summary() == local.summary()
    assert [scores.interval(m) for m in measures] == [local.interval(m) for m in measures]
    assert list(scores.notes) == list(local.notes)
    assert scores.coverage() == local.runs[0].coverage


def test_expectations_over_ties_have_the_same_bits_sampled_or_not(spark):
    """A generator for each query: with whom it shares a task changes nothing."""
    case = full_case(4, scores=3, queries=3)
    options = {"ties": "expected", **extras_of(case)}
    local = evaluate(case.qrels(), {"run": with_rows(case.run)}, MEASURES, **options)
    run = run_frame(spark, {"run": case.run}, named=False)
    scores = evaluate_on_spark(run, qrels_frame(spark, case.rows, SCHEMA), MEASURES, **options)
    assert values_of(scores.toPandas().to_dict("records")) == local_values(local)


def test_ranks_rank_where_they_are_asked_to(spark):
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
    rows = [("q1", "a", 1.0, 2), ("q1", "b", 5.0, 3), ("q1", "x", 3.0, 1), ("q2", "c", 1.0, 2), ("q2", "y", 1.0, 1)]
    run = spark.createDataFrame(rows, "query string, doc string, score double, rank int")
    judged = qrels_frame(spark, plain_rows(qrels))
    assert evaluate_on_spark(run, judged, ["RR"], rank_by="rank").mean("RR") == 0.5
    by_score = values_of(evaluate_on_spark(run, judged, ["RR"], ties="rank-column").collect())
    assert by_score == {("run", "q1", "RR"): 1 / 3, ("run", "q2", "RR"): 0.5}


def test_ids_may_be_whole_numbers(spark):
    qrels, run = random_case(11, queries=20, docs=30, scores=6, least=1)
    number = {f"{kind}{i}": i for kind in "qd" for i in range(30)}
    numbered = {str(number[q]): {str(number[d]): s for d, s in docs.items()} for q, docs in run.items()}
    judged = {str(number[q]): {str(number[d]): g for d, g in docs.items()} for q, docs in qrels.items()}
    local = evaluate(judged, {"run": numbered}, ["nDCG@10", "AP"])
    rows = [(int(q), int(d), s) for q, docs in numbered.items() for d, s in docs.items()]
    judgments = [(int(q), int(d), int(g)) for q, docs in judged.items() for d, g in docs.items()]
    plain = spark.createDataFrame(rows, "user int, item int, prediction float")
    judgments_frame = spark.createDataFrame(judgments, "user int, item int, rating int")
    for query_type, doc_type, score_type, grade_type in (
        ("int", "bigint", "float", "int"),
        ("string", "smallint", "double", "decimal(5,2)"),
        ("bigint", "string", "decimal(20,10)", "float"),
        ("decimal(20,0)", "int", "int", "string"),
    ):
        frame = plain.selectExpr(
            f"cast(user as {query_type}) user",
            f"cast(item as {doc_type}) item",
            f"cast(prediction as {score_type}) prediction",
        )
        scores = evaluate_on_spark(
            frame,
            judgments_frame.withColumn("rating", judgments_frame["rating"].cast(grade_type)),
            ["nDCG@10", "AP"],
            query="user",
            doc="item",
            score="prediction",
            grade="rating",
        )
        assert values_of(scores.collect()) == local_values(local)


def test_ids_may_be_bytes_and_need_not_be_unicode(spark):
    run = spark.createDataFrame([(b"q", b"a\xff", 1.0), (b"q", b"b", 2.0)], "query binary, doc binary, score double")
    qrels = spark.createDataFrame([("q", b"a\xff", 1.0)], "query string, doc binary, grade double")
    assert evaluate_on_spark(run, qrels, ["RR"]).summary() == {"run": {"RR": 0.5}}


def test_numbers_may_come_as_text(spark):
    run = spark.createDataFrame(
        [("q1", "a", "0.10"), ("q1", "b", " 1e-1 "), ("q1", "c", ".3")], "qid string, docno string, score string"
    )
    qrels = spark.createDataFrame([("q1", "a", "1")], "qid string, docno string, label string")
    assert evaluate_on_spark(run, qrels, ["RR"]).mean("RR") == 1 / 3


def test_few_judged_queries_are_sent_to_the_run(spark):
    qrels, run = random_case(3, queries=10, least=1)
    more = {**run, "q98": {"a": 1.0}, "q99": {"b": 1.0}}
    frames = run_frame(spark, {"run": more}, named=False), qrels_frame(spark, plain_rows(qrels))
    local = evaluate(qrels, more, ["AP"])
    for broadcast in (True, False):
        scores = evaluate_on_spark(*frames, ["AP"], broadcast=broadcast, partitions=3)
        assert values_of(scores.collect()) == local_values(local)
        assert scores.coverage() == local.runs[0].coverage


def test_a_query_of_many_documents_is_one_of_many(spark):
    """Skew: one query has a hundred times the documents of the others."""
    rng = random.Random(2)
    run = {"big": {f"d{i}": rng.random() for i in range(60_000)}}
    run |= {f"q{i}": {f"d{k}": rng.random() for k in range(50)} for i in range(40)}
    qrels = {query: {f"d{i}": i % 3 for i in range(0, 60, 7)} for query in run}
    rows = run_frame(spark, {"run": run}, named=False).coalesce(1)
    measures = ["nDCG@10", "AP", "R@100"]
    scores = evaluate_on_spark(rows, qrels_frame(spark, plain_rows(qrels)), measures)
    assert values_of(scores.collect()) == local_values(evaluate(qrels, run, measures))


def test_an_empty_list_is_a_missing_query(spark):
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    run = run_frame(spark, {"run": {"q1": {"a": 1.0}}}, named=False)
    scores = evaluate_on_spark(run, qrels_frame(spark, plain_rows(qrels)), ["RR"])
    assert scores.coverage() == "2 queries evaluated, 0 in the run have no judgments, 1 missing (count as 0)"
    with pytest.raises(EvaluationError, match=r"run 'run' lacks 1 of 2 judged queries \(q2\)"):
        evaluate_on_spark(run, qrels_frame(spark, plain_rows(qrels)), ["RR"], missing="error").collect()
    with pytest.raises(EvaluationError, match="no query in common"):
        evaluate_on_spark(run, qrels_frame(spark, [("q5", "a", 1.0)]), ["RR"]).mean("RR")


def test_frames_without_rows_are_said_to_have_no_query_in_common(spark):
    run, qrels = run_frame(spark, {"run": {"q": {"a": 1.0}}}), qrels_frame(spark, [("q", "a", 1.0)])
    with pytest.raises(EvaluationError, match="the run frame names no run: it is empty"):
        evaluate_on_spark(run.limit(0), qrels, ["RR"])
    for frames in ((run.drop("run").limit(0), qrels), (run, qrels.limit(0))):
        with pytest.raises(EvaluationError, match="no query in common"):
            evaluate_on_spark(*frames, ["RR"]).mean()


def test_some_runs_of_many(spark):
    run = run_frame(spark, {name: {"q1": {"a": 1.0}, "q9": {"b": 1.0}} for name in "abc"})
    scores = evaluate_on_spark(run, qrels_frame(spark, [("q1", "a", 1.0)]), ["RR"], runs=["b", "a"])
    assert [row["run"] for row in scores.collect()] == ["b", "a"]
    assert scores.coverage("a") == "1 query evaluated, 1 in the run have no judgments, 0 missing"
    with pytest.raises(EvaluationError, match="the qrels and run 'x' have no query in common"):
        evaluate_on_spark(run, qrels_frame(spark, [("q1", "a", 1.0)]), ["RR"], runs=["x"]).mean()


def test_weights_are_checked_as_on_one_machine(spark):
    run = run_frame(spark, {"run": {"q1": {"a": 1.0}, "q2": {"a": 1.0}}}, named=False)
    qrels = qrels_frame(spark, [("q1", "a", 1.0), ("q2", "a", 0.0)])
    with pytest.raises(EvaluationError, match="no weight is given for 1 query of the qrels: 'q2'"):
        evaluate_on_spark(run, qrels, ["RR"], weights={"q1": 1.0})
    scores = evaluate_on_spark(run, qrels, ["RR"], weights={"q1": 1.0, "q2": 3.0, "another": 9.0})
    local = evaluate(
        {"q1": {"a": 1}, "q2": {"a": 0}}, {"q1": {"a": 1.0}, "q2": {"a": 1.0}}, ["RR"], weights={"q1": 1, "q2": 3}
    )
    assert (scores.mean("RR"), list(scores.notes)) == (0.25, list(local.notes))


def test_a_measure_that_lacks_what_it_needs_says_so_at_once(spark):
    frames = run_frame(spark, {"run": {"q": {"a": 1.0}}}), qrels_frame(spark, [("q", "a", 1.0)])
    with pytest.raises(MeasureError, match="RBO needs another run to compare with"):
        evaluate_on_spark(*frames, ["RBO"])
    with pytest.raises(MeasureError, match="statAP needs prels"):
        evaluate_on_spark(*frames, ["statAP"])


def test_a_run_to_compare_with_may_be_a_frame(spark):
    runs = {"one": {"q": {"a": 2.0, "b": 1.0, "c": 0.5}}, "other": {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}}
    one, other = (run_frame(spark, {"run": run}, named=False) for run in runs.values())
    scores = evaluate_on_spark(one, qrels_frame(spark, [("q", "a", 1.0)]), ["RBO", "Tau"], against=other)
    assert (
        scores.summary()["run"]
        == evaluate({"q": {"a": 1}}, runs["one"], ["RBO", "Tau"], against=runs["other"]).summary()["run"]
    )


def test_a_measure_of_a_users_own_travels(spark, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\nfrom cranfield import Measure\n\n\n"
        "class Found(Measure):\n    def per_query(self, judged):\n"
        "        return judged.count(judged.grade >= 1) / (1 + np.floor(judged.grade.max(initial=0) / 9))\n\n\n"
        "class Broken(Measure):\n    def per_query(self, judged):\n"
        "        return judged.retrieved[:0] if judged.n else np.empty(0)\n"
    )
    qrels, run = random_case(3, least=1)
    frames = run_frame(spark, {"run": run}, named=False), qrels_frame(spark, plain_rows(qrels))
    local = evaluate(qrels, {"run": run}, [f"{file}:Found"])
    assert values_of(evaluate_on_spark(*frames, [f"{file}:Found"]).collect()) == local_values(local)
    with pytest.raises(CranfieldError, match=r"Broken gives an array of shape \(0,\), expected one value for each"):
        evaluate_on_spark(*frames, [f"{file}:Broken"]).mean()


def test_scores_are_a_frame_like_any_other(spark):
    from pyspark.sql import DataFrame

    qrels, run = random_case(3, least=1)
    scores = evaluate_on_spark(run_frame(spark, {"one": run}), qrels_frame(spark, plain_rows(qrels)), ["AP", "RR"])
    assert isinstance(scores, DataFrame)
    assert scores.columns == ["run", "query", "measure", "value"]
    assert scores.filter("measure = 'AP'").count() == len(qrels) == scores.count() / 2
    means = {(row["run"], row["measure"]): (row["value"], row["queries"]) for row in scores.mean().collect()}
    local = evaluate(qrels, {"one": run}, ["AP", "RR"])
    assert means == {("one", m): (local.mean(m), len(qrels)) for m in ("AP", "RR")}
    assert scores.cache() is scores
    assert scores.summary() == local.summary()
    assert scores.unpersist().evaluation.kept is None


def test_the_session_is_left_as_it_was(spark):
    before = spark.sparkContext.getConf().getAll(), dict(spark.conf.getAll)
    qrels, run = random_case(3, least=1)
    evaluate_on_spark(run_frame(spark, {"run": run}), qrels_frame(spark, plain_rows(qrels)), ["AP"]).cache().summary()
    assert (spark.sparkContext.getConf().getAll(), dict(spark.conf.getAll)) == before


@pytest.mark.parametrize(
    "options",
    [{"ties": "input-order"}, {"rank_by": "input"}, {"on_duplicate": "first"}, {"on_duplicate": "last"}],
    ids=str,
)
def test_what_depends_on_the_order_of_rows_is_refused(spark, options):
    frames = run_frame(spark, {"run": {"q": {"a": 1.0}}}), qrels_frame(spark, [("q", "a", 1.0)])
    with pytest.raises(CranfieldError, match="cannot hold on a cluster: rows of a Spark frame have no order"):
        evaluate_on_spark(*frames, ["AP"], **options)


# bad input


def test_what_cannot_be_used_is_counted_over_all_rows_with_examples(spark):
    rows = [
        ("q1", "a", float("nan")),
        ("q1", "b", float("inf")),
        ("q1", None, 1.0),
        (None, "c", 1.0),
        ("q2", "d", None),
    ]
    rows += [("q3", "x", 1.0), ("q3", "x", 2.0), ("q4", "", 1.0), ("q4", "two\nlines", 1.0)]
    run = spark.createDataFrame(rows, "query string, doc string, score double").repartition(4)
    scores = evaluate_on_spark(run, qrels_frame(spark, [(f"q{i}", "a", 1.0) for i in range(5)]), ["AP"])
    for use in (scores.collect, scores.mean, scores.check, scores.toPandas, scores.count, scores.show):
        with pytest.raises(InputError) as error:
            use()
        told = str(error.value)
        assert "the run: 1 row without a query (query is NULL), e.g. (query None, doc 'c', score 1.0)" in told
        assert "1 row without a doc" in told
        assert "1 row without a score" in told
        assert "2 rows with a score that is not a finite number" in told and "nan" in told
        assert "2 rows with a doc that is empty or holds a line break" in told
        assert "1 document retrieved more than once for the same query, e.g. document 'x' for query 'q3'" in told


def test_duplicates_are_found_in_every_run(spark):
    rows = [("a", "q1", "x", 1.0), ("b", "q1", "x", 1.0), ("b", "q1", "x", 2.0), ("b", "q1", "y", 1.5)]
    run = spark.createDataFrame(rows, "run string, query string, doc string, score double")
    qrels = qrels_frame(spark, [("q1", "x", 1.0)])
    with pytest.raises(InputError, match="document 'x' for query 'q1' in run 'b'"):
        evaluate_on_spark(run, qrels, ["RR"]).collect()
    scores = evaluate_on_spark(run, qrels, ["RR"], on_duplicate="max")
    assert scores.summary() == {"a": {"RR": 1.0}, "b": {"RR": 1.0}}
    assert "b: 1 repeated document left out (--on-duplicate max)." in scores.notes


def test_judgments_that_contradict_each_other_are_refused_and_the_same_twice_is_noted(spark):
    run = run_frame(spark, {"run": {"q1": {"x": 1.0}, "q2": {"y": 1.0}}}, named=False)
    with pytest.raises(InputError, match="1 document judged more than once with different grades, e.g. document 'x'"):
        evaluate_on_spark(
            run, qrels_frame(spark, [("q1", "x", 1.0), ("q1", "x", 2.0), ("q2", "y", 1.0)]), ["RR"]
        ).collect()
    twice = qrels_frame(spark, [("q1", "x", 1.0), ("q1", "x", 1.0), ("q2", "y", 1.0), ("q3", "z", 1.0)])
    # however many runs there are, and wherever they have ties
    runs = run_frame(spark, {"a": {"q1": {"x": 1.0}}, "b": {"q1": {"x": 1.0}, "q2": {"y": 1.0, "z": 1.0}}})
    scores = evaluate_on_spark(runs, twice, ["RR"])
    assert [note for note in scores.notes if "repeated" in note] == ["qrels: 1 repeated judgment left out (identical)."]
    with pytest.raises(EvaluationError, match=r"run 'a' lacks 2 of 3 judged queries \(q2, q3\)"):
        evaluate_on_spark(runs, twice, ["RR"], missing="error").mean()


def test_documents_twice_in_a_query_without_judgments_are_found(spark):
    rows = [("q1", "x", 1.0), ("q9", "y", 1.0), ("q9", "y", 2.0)]
    run = spark.createDataFrame(rows, "query string, doc string, score double")
    qrels = qrels_frame(spark, [("q1", "x", 1.0)])
    for broadcast in (None, False):
        with pytest.raises(InputError, match="document 'y' for query 'q9'"):
            evaluate_on_spark(run, qrels, ["RR"], broadcast=broadcast).mean()
        told = evaluate_on_spark(run, qrels, ["RR"], broadcast=broadcast, on_duplicate="max").notes
        assert "run: 1 repeated document left out (--on-duplicate max)." in told
    assert evaluate_on_spark(run, qrels, ["RR"], broadcast=True).mean("RR") == 1.0  # who says so need not be told


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("b", "zz", None, 1.0, 1), "1 row without a doc"),
        (("b", "zz", "", 1.0, 1), "1 row with a doc that is empty"),
        (("b", "", "d", 1.0, 1), "1 row with a query that is empty"),
        ((None, "zz", "d", 1.0, 1), "1 row without a run"),
        (("b", "zz", "d", float("nan"), 1), "1 row with a score that is not a finite number"),
        (("b", "zz", "d", 1.0, None), "1 row without a rank"),
    ],
)
def test_what_cannot_be_used_is_found_in_queries_without_judgments_too(spark, row, told):
    schema = "run string, query string, doc string, score double, rank int"
    run = spark.createDataFrame([("a", "q1", "d1", 1.0, 1), ("b", "q1", "d1", 1.0, 1), row], schema)
    scores = evaluate_on_spark(run, qrels_frame(spark, [("q1", "d1", 1.0)]), ["AP"], rank_by="rank")
    for use in (scores.check, scores.mean, scores.collect):
        with pytest.raises(InputError, match=told):
            use()


def test_a_run_without_a_judged_query_is_an_error_however_it_is_asked_for(spark):
    qrels = qrels_frame(spark, [("q9", "a", 1.0), ("q10", "a", 1.0)])
    for run in ({"x": {"a": 1.0}}, {}):
        frame = run_frame(spark, {"run": run}, named=False)
        told = f"the qrels have q9, q10 …, the run has {'x' if run else 'none'} …"
        for broadcast in (None, False):
            scores = evaluate_on_spark(frame, qrels, ["AP"], broadcast=broadcast)
            for use in (scores.mean, scores.collect, scores.toPandas, scores.toArrow):
                with pytest.raises(EvaluationError, match=told):
                    use()


def test_names_of_runs_are_names_and_different(spark):
    frames = run_frame(spark, {"a": {"q": {"x": 1.0}}, "": {"q": {"x": 1.0}}}), qrels_frame(spark, [("q", "x", 1.0)])
    with pytest.raises(CranfieldError, match="the runs name 'a' more than once"):
        evaluate_on_spark(*frames, ["AP"], runs=["a", "a"])
    with pytest.raises(InputError, match="a run whose name is empty"):
        evaluate_on_spark(*frames, ["AP"])


def test_judgments_without_a_subtopic_or_a_method_are_judgments(spark):
    run = run_frame(spark, {"run": {"q": {"x": 1.0, "y": 2.0}}}, named=False)
    rows = [("q", "x", 1.0, None, None), ("q", "y", 1.0, "", "m")]
    schema = "query string, doc string, grade double, {} string, method string"
    for name in ("subtopic", "iteration"):
        qrels = spark.createDataFrame(rows, schema.format(name))
        assert evaluate_on_spark(run, qrels, ["AP"]).mean("AP") == 1.0
    with pytest.raises(InputError, match=r"the qrels: 1 row without a stratum \(stratum is NULL\)"):
        evaluate_on_spark(run, spark.createDataFrame(rows, schema.format("stratum")), ["AP"]).mean("AP")


def test_a_users_measure_need_not_do_without_queries(spark):
    class Highest(Measure):
        def per_query(self, judged):
            return np.full(judged.n, float(judged.retrieved.max()))

    run = run_frame(spark, {"run": {"q": {"x": 1.0, "y": 2.0}}}, named=False)
    assert evaluate_on_spark(run, qrels_frame(spark, [("q", "x", 1.0)]), [Highest()]).mean(Highest()) == 2.0


def test_text_that_is_no_number_is_shown(spark):
    rows = [("q1", "a", "0.5"), ("q1", "b", "high"), ("q1", "c", "0x10"), ("q1", "d", "NaN"), ("q1", "e", "1d")]
    run = spark.createDataFrame(rows, "query string, doc string, score string")
    with pytest.raises(InputError, match=r"the run: 4 rows with a score that is not a decimal number, e\.g\..*'high'"):
        evaluate_on_spark(run, qrels_frame(spark, [("q1", "a", 1.0)]), ["RR"]).mean("RR")


def test_ranks_that_are_no_whole_numbers_are_shown(spark):
    rows = [("q1", "a", 1.0, "1"), ("q1", "b", 1.0, "second"), ("q1", "c", 1.0, None)]
    run = spark.createDataFrame(rows, "query string, doc string, score double, rank string")
    with pytest.raises(
        InputError, match=r"1 row without a rank.*1 row with a rank that is not a whole number.*'second'"
    ):
        evaluate_on_spark(run, qrels_frame(spark, [("q1", "a", 1.0)]), ["RR"], rank_by="rank").mean()


@pytest.mark.parametrize(
    ("schema", "row", "message"),
    [
        ("query string, doc string, score boolean", ("q", "d", True), "'score' is of type boolean, expected numbers"),
        (
            "query double, doc string, score double",
            (1.0, "d", 1.0),
            "'query' is of type double, expected text or whole",
        ),
        ("query string, doc array<string>, score double", ("q", ["d"], 1.0), "'doc' is of type array<string>"),
        ("query string, doc string, points double", ("q", "d", 1.0), "no score .looked for score, sim"),
    ],
)
def test_columns_of_a_wrong_type_are_refused_at_once(spark, schema, row, message):
    with pytest.raises(InputError, match=message):
        evaluate_on_spark(spark.createDataFrame([row], schema), qrels_frame(spark, [("q", "d", 1.0)]), ["AP"])


def test_what_is_no_frame_and_what_is_no_column(spark):
    with pytest.raises(InputError, match="expected a Spark DataFrame, found a dict"):
        evaluate_on_spark({}, {}, ["AP"])
    frames = run_frame(spark, {"run": {"q": {"a": 1.0}}}), qrels_frame(spark, [("q", "a", 1.0)])
    with pytest.raises(InputError, match="there is no column 'points' for score"):
        evaluate_on_spark(*frames, ["AP"], score="points")
    with pytest.raises(CranfieldError, match="no run 'x' among these scores"):
        evaluate_on_spark(*frames, ["AP"]).mean("AP", "x")
    with pytest.raises(CranfieldError, match="no measure 'RR' among these scores"):
        evaluate_on_spark(*frames, ["AP"]).mean("RR")


# a real collection


def test_deep_learning_track_2019_has_the_same_bits(spark, shared_data):
    qrels = read_qrels(shared_data / "dl19" / "qrels.dl19-passage.txt")
    runs = {file.name: read_run(file) for file in sorted((shared_data / "dl19" / "runs").iterdir())[:4]}
    assert runs
    measures = [m for m in MEASURES if not (m.needs or m.qrels_columns or "docs" in m.parameters)]
    local = evaluate(qrels, runs, measures)
    rows = [
        (name, query, doc, score)
        for name, run in runs.items()
        for query, docs in run.to_dict().items()
        for doc, score in docs.items()
    ]
    frame = spark.createDataFrame(rows, "run string, query string, doc string, score double").repartition(3)
    scores = evaluate_on_spark(frame, qrels_frame(spark, plain_rows(qrels.to_dict())), measures)
    assert values_of(scores.collect()) == local_values(local)
    assert scores.summary() == local.summary()
