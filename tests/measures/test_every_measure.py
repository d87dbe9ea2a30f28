"""What holds for every measure there is, or will be.

Measures come from the registry. A measure says what it is tried with (`example`, and `examples` of its parameters), and
which of the common properties it does not have, with the reason (`lacks`).
"""

import json
import math
import random
import re
from typing import get_args

import numpy as np
import pytest

from cranfield import Evaluator, as_run, evaluate
from cranfield.base import Parameter, fields, replace
from cranfield.evaluation.explanation import explain
from cranfield.measures import Measure, all_measures, parse_measure
from cranfield.measures.base import Property
from cranfield.measures.parameters import REL
from tests.measures.cases import Case, full_case, plain_case
from tests.measures.rankings import random_case
from tests.soak import SOAK

RELEVANT_TO_ALL = max(REL.examples)
pytestmark = pytest.mark.soak("measures")
TIE_RULES = ["trec", "expected", "worst", *(["doc-ascending", "best"] if SOAK else [])]


def variants(kind: type[Measure]) -> list[Measure]:
    """A measure with each of its parameters changed in turn, and with all of them."""
    base = kind.plain()
    one = [
        replace(base, **{name: value})
        for name, parameter in kind.parameters.items()
        for value in parameter.example_values()
    ]
    every = replace(base, **{name: p.example_values()[0] for name, p in kind.parameters.items()})
    return list(dict.fromkeys([base, *one, every]))


# a measure that a test defines is no concern of this file
KINDS = [kind for kind in all_measures() if kind.__module__.startswith("cranfield.")]
MEASURES = [measure for kind in KINDS for measure in variants(kind)]
SEVERAL_SEEDS = range(12 if SOAK else 2)
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
each_rule = pytest.mark.parametrize("ties", TIE_RULES)


def having(a_property: Property, measures: list[Measure] = MEASURES) -> list[Measure]:
    """The measures that do not say that they lack a property."""
    return [measure for measure in measures if a_property not in measure.lacks]


# what is written about it


@each_kind
def test_a_measure_is_documented(kind):
    assert kind.name and kind.title and kind.formula
    assert kind.about.endswith(".")
    assert kind.nothing_found
    first = (kind.__doc__ or "").splitlines()[0]
    assert first and first.endswith((".", "0"))
    assert not first.startswith(kind.__name__ + "("), "a docstring of its own, not the dataclass's"


@each_kind
def test_a_measure_says_in_a_sentence_each_who_reads_and_what_it_ignores(kind):
    for sentence in (kind.user, kind.ignores):
        assert sentence.endswith(".") and ". " not in sentence
    assert kind.ignores.startswith("Ignores ")


@each_kind
def test_a_measure_names_its_source(kind):
    assert kind.reference


@each_kind
def test_a_measure_says_what_it_gives_each_rank(kind):
    """As numbers, where these do not depend on the ranking, and as a formula or in words."""
    assert kind.weighting and not kind.weighting.endswith(".")
    weights = kind.plain().rank_weights(10)
    if weights is not None:
        assert weights.shape == (10,) and (weights >= 0).all()
        assert not kind.weighting.startswith("depends")


def mentions(formula: str, parameter: Parameter, name: str) -> bool:
    """Whether a formula has the symbol of a parameter, not as a part of a longer word."""
    symbols = (parameter.symbol or name).split()
    return any(re.search(rf"(?<![a-zA-Z\\\\]){re.escape(symbol)}(?![a-zA-Z])", formula) for symbol in symbols)


@each_kind
def test_the_formula_shown_is_that_of_what_is_computed(kind):
    """A parameter that changes a value has a symbol in the formula, or changes it."""
    base = kind.plain()
    cases = [full_case(seed, scores=4, queries=6) for seed in (1, 2)]
    # which documents are looked at, and with what grades, is no matter of the formula; relevant is relevant
    aside = {"judged_only", "repeats", *({"rel"} if base.is_binary else ()), *(() if kind.has_own_gains else {"gain"})}
    for name, parameter in kind.parameters.items():
        for value in () if name in aside else parameter.example_values():
            changed = replace(base, **{name: value})
            by_symbol = mentions(changed.shown_formula, parameter, name)
            if changed.shown_formula == base.shown_formula and not by_symbol:
                for case in cases:
                    one, other = (
                        {q: found[str(measure)] for q, found in case.values([measure]).items()}
                        for measure in (base, changed)
                    )
                    assert one == other, changed


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_braces_of_a_formula_are_balanced_whatever_the_parameters(measure):
    depth = 0
    for char in measure.shown_formula.replace(r"\{", "").replace(r"\}", ""):
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 0
    assert depth == 0


@each_kind
def test_parameters_are_described_and_are_the_fields(kind):
    assert {field.name for field in fields(kind)} == set(kind.parameters)
    assert all(parameter.help and parameter.range() for parameter in kind.parameters.values())
    assert all(parameter.example_values() for parameter in kind.parameters.values())
    assert set(kind.required) <= set(kind.parameters)


@each_kind
def test_a_measure_says_why_it_lacks_a_property(kind):
    assert set(kind.lacks) <= set(get_args(Property))
    assert all(why.endswith(".") and why[0].isupper() for why in kind.lacks.values())


# its name


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_name_reads_back_as_the_same_measure(measure):
    again = parse_measure(str(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert str(again) == str(measure) == repr(measure)


@each_kind
def test_aliases_stand_for_the_same_measure(kind):
    for alias in kind.aliases:
        assert parse_measure(str(kind.plain()).replace(kind.name, alias, 1)) == kind.plain()


@each_kind
def test_a_default_reaches_only_parameters_that_were_not_given(kind):
    measure = kind.plain().with_defaults(rel=3, docs=7)
    if "rel" in kind.parameters and measure.is_binary:
        assert measure.rel == 3
        given = replace(measure, rel=2)
        assert given.with_defaults(rel=3) == given
    if "docs" in kind.parameters:
        assert measure.docs == (7 if kind.plain().docs is None else kind.plain().docs)


# its values


@each_rule
@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_values_are_within_their_range(seed, ties):
    values = full_case(seed, scores=4 if seed % 2 else None).values(MEASURES, ties)
    for measure in having("range"):
        for value in (found[str(measure)] for found in values.values() if str(measure) in found):
            assert math.isfinite(value) and measure.low - 1e-12 <= value <= measure.high + 1e-12, measure


@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_fractional_grades_are_grades_too(seed):
    values = full_case(seed, grades=(-1, 0, 0.25, 0.5, 1, 2.5)).values(MEASURES)
    for measure in MEASURES:
        assert all(math.isfinite(found[str(measure)]) for found in values.values()), measure


def better_document_up(case: Case, rng: random.Random, over_unjudged: bool) -> Case:
    """In each query a document changes places with a worse one that stands above it, where there is one."""
    grades: dict[tuple[str, str], dict[str, float]] = {}
    for query, doc, grade, subtopic, *_ in case.rows:
        grades.setdefault((query, doc), {})[subtopic] = grade

    def is_better(query: str, doc: str, other: str) -> bool:
        mine, others = grades.get((query, doc), {}), grades.get((query, other), {})
        best, is_unjudged = max(mine.values(), default=-1), max(others.values(), default=-1) < 0
        # what is judged and not relevant may count less than what is unjudged
        if best < 0 or (is_unjudged and (not over_unjudged or best < RELEVANT_TO_ALL)):
            return False
        # of several subtopics it must be better for one and worse for none
        pairs = [(mine.get(s, 0), max(others.get(s, 0), 0)) for s in {*mine, *others}]
        return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)

    run = {}
    for query, scores in case.run.items():
        docs = sorted(scores, key=lambda doc: -scores[doc])
        chances = [(i, j) for j in range(len(docs)) for i in range(j) if is_better(query, docs[j], docs[i])]
        if chances:
            i, j = rng.choice(chances)
            docs[i], docs[j] = docs[j], docs[i]
        run[query] = dict(zip(docs, sorted(scores.values(), reverse=True), strict=True))
    return replace(case, run=run)


@pytest.mark.parametrize("over_unjudged", [False, True], ids=["both judged", "over unjudged"])
@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_a_better_document_higher_up_never_hurts(seed, over_unjudged):
    case = full_case(seed, queries=25, docs=14)
    # what is left out of a condensed list has no place there to change; which of two duplicates comes first matters
    measures = [m for m in having("swap") if not (over_unjudged and m.judged_only) and m.repeats]
    changed = better_document_up(case, random.Random(seed), over_unjudged)
    assert changed.run != case.run
    before, after = case.values(measures), changed.values(measures)
    for measure in measures:
        sign, name = 1 if measure.more_is_better else -1, str(measure)
        gained = {query: sign * (after[query][name] - before[query][name]) for query in before}
        assert {query: gain for query, gain in gained.items() if gain < -1e-12} == {}, measure


def regraded(case: Case, doc_rows: dict[tuple[str, str], float]) -> Case:
    """The same with another grade for some documents, on all of their rows."""
    rows = tuple((query, doc, doc_rows.get((query, doc), grade), *rest) for query, doc, grade, *rest in case.rows)
    return replace(case, rows=rows)


def judged_throughout(seed: int) -> Case:
    """A collection in which all that is retrieved is judged, as the declarations that bounds rest on are about that."""
    case = full_case(seed, with_subtopics=False, queries=25, docs=14, grades=(0, 0, 0.5, 1, 2, 3))
    judged = {(query, doc) for query, doc, *_ in case.rows}
    run = {q: {d: score for d, score in docs.items() if (q, d) in judged} for q, docs in case.run.items()}
    return replace(case, run=run)


@pytest.mark.parametrize("seed", range(60 if SOAK else 8))
def test_a_better_grade_never_hurts_a_measure_that_says_so(seed):
    case = judged_throughout(seed)
    # a gain map may prefer a lower grade; which of two duplicates earns something depends on both
    declare = [measure for measure in MEASURES if measure.grades_help and measure.repeats]
    measures = [measure for measure in declare if not isinstance(measure.gain, dict)]
    rng = random.Random(seed)
    chosen = {(query, rng.choice(sorted(docs))) for query, docs in case.run.items() if docs}
    grade_of = {(query, doc): grade for query, doc, grade, *_ in case.rows}
    better = {place: grade_of[place] + rng.choice([0.5, 1, 3]) for place in sorted(chosen)}
    before, after = case.values(measures), regraded(case, better).values(measures)
    for measure in measures:
        sign, name = 1 if measure.more_is_better else -1, str(measure)
        gained = {query: sign * (after[query][name] - before[query][name]) for query in before}
        assert {query: gain for query, gain in gained.items() if gain < -1e-12} == {}, measure


@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_a_binary_measure_looks_at_no_more_than_which_documents_are_relevant_unless_it_says_so(seed):
    case, rng = judged_throughout(seed), random.Random(seed)
    sides = {0.0: (0.0, 0.25), 0.5: (0.5, 0.75), 1.0: (1.0, 1.5), 2.0: (2.0, 4.0), 3.0: (2.0, 4.0)}
    other = regraded(case, {(query, doc): rng.choice(sides[grade]) for query, doc, grade, *_ in case.rows})
    binary = [m for m in MEASURES if m.is_binary and not m.beyond_rel and m.repeats and m.gain is None]
    assert other.values(binary) == case.values(binary)


def test_a_measure_names_the_columns_of_the_qrels_that_it_looks_at():
    case = full_case(2, queries=25)

    def blank(column: int) -> Case:
        rows = dict.fromkeys((*row[:column], "0", *row[column + 1 :]) for row in case.rows)
        best: dict[tuple[object, ...], float] = {}
        for query, doc, grade, *rest in rows:
            best[query, doc, *rest] = max(grade, best.get((query, doc, *rest), grade))
        return replace(case, rows=tuple((q, d, grade, *rest) for (q, d, *rest), grade in best.items()))

    silent = [m for m in MEASURES if "subtopic" not in m.reads_columns and "stratum" not in m.qrels_columns]
    assert blank(3).values(silent) == case.values(silent)


@each_rule
def test_a_perfect_ranking_has_the_best_value_of_a_normalised_measure(ties):
    case = plain_case({"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}})
    plain = [kind.plain() for kind in KINDS if kind.high == 1 and kind.more_is_better]
    for name, value in case.values(having("perfect", plain), ties)["q"].items():
        assert value == pytest.approx(1, abs=1e-15), name


def test_nothing_relevant_retrieved_is_zero_where_the_documentation_says_so():
    case = plain_case({"q": {"a": 1, "b": 0}}, {"q": {"b": 2.0, "x": 1.0}})
    for kind in KINDS:
        if kind.nothing_found.startswith("0"):
            assert case.values([kind.plain()])["q"][str(kind.plain())] == 0, kind.name


def test_a_missing_query_counts_as_zero_in_every_mean():
    qrels, run = {"q": {"a": 1, "b": 0}, "other": {"a": 1}}, {"other": {"a": 1.0}}
    measures = [m for m in MEASURES if m.aggregate == "mean" and not (m.needed or m.qrels_columns)]
    scores = evaluate(qrels, run, measures)
    assert {scores.per_query(label)["q"] for label in scores.labels} == {0.0}


def test_an_empty_list_has_the_value_of_a_missing_query():
    qrels = {"q": {"a": 1, "b": 0}, "other": {"a": 1}}
    measures = having("empty", [kind.plain() for kind in KINDS])
    runs = {"q": {}, "other": {"a": 1.0}}, {"other": {"a": 1.0}}
    empty, missing = (plain_case(qrels, run).values(measures)["q"] for run in runs)
    assert empty == missing


@each_rule
@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_splitting_queries_into_batches_changes_no_bit(seed, ties):
    case = full_case(seed, queries=7, docs=30, scores=9 if seed % 2 else None)
    measures = MEASURES
    together = case.values(measures, ties)
    rng = random.Random(seed)
    for size in (1, 4):
        batch = rng.sample(sorted(together), size)
        alone = case.of(batch).values(measures, ties)
        # what has a closed form without ties only is None where another query of the batch has some
        for query in batch:
            both = alone[query].keys() & together[query].keys()
            assert {name: alone[query][name] for name in both} == {name: together[query][name] for name in both}


@each_rule
@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_permuting_the_rows_of_the_input_changes_nothing(seed, ties):
    case = full_case(seed, scores=3)
    rng = random.Random(seed)
    rows = rng.sample(case.rows, len(case.rows))
    run = {query: dict(rng.sample(list(docs.items()), len(docs))) for query, docs in case.run.items()}
    mixed = replace(case, rows=tuple(rows), run=run)
    assert mixed.values(MEASURES, ties) == case.values(MEASURES, ties)


def test_the_order_of_the_input_decides_ties_only_if_asked_to():
    qrels = {"q": {"a": 1}}
    orders = {"q": {"a": 1.0, "b": 1.0}}, {"q": {"b": 1.0, "a": 1.0}}
    assert [evaluate(qrels, run, ["RR"], ties="input-order").mean("RR") for run in orders] == [1, 0.5]
    assert [evaluate(qrels, run, ["RR"]).mean("RR") for run in orders] == [0.5, 0.5]


@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_an_unjudged_document_below_the_cutoff_changes_nothing(seed):
    cut = [measure for measure in having("cutoff") if getattr(measure, "cutoff", None) is not None]
    measures = [measure for measure in cut if not measure.judged_only]
    case = full_case(seed, docs=20, least=max(measure.cutoff for measure in measures))
    longer = replace(case, run={q: {**docs, "unjudged": -1.0} for q, docs in case.run.items()})
    assert longer.values(measures) == case.values(measures)


@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_unjudged_documents_never_matter_to_the_condensed_list(seed):
    case = full_case(seed)
    measures = [m for m in having("unjudged") if m.judged_only and "docs" not in m.parameters]
    run = {q: {f"x{i}": i / 7 for i in range(5)} | docs for q, docs in case.run.items()}
    assert replace(case, run=run).values(measures) == case.values(measures)


@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_only_the_order_of_the_scores_matters(seed):
    case = full_case(seed, scores=5)
    measures = having("scores")
    stretched = {q: {doc: math.exp(score) * 1e3 for doc, score in docs.items()} for q, docs in case.run.items()}
    for ties in TIE_RULES:
        assert replace(case, run=stretched).values(measures, ties) == case.values(measures, ties)


def test_a_measure_leaves_the_join_as_it_was():
    judged = full_case(1, scores=3).join("expected")
    before = {
        field.name: np.copy(value)
        for field in fields(judged)
        if isinstance(value := getattr(judged, field.name), np.ndarray)
    }
    for measure in MEASURES:
        measure.values(judged)
        measure.expected_values(judged)
    assert all((getattr(judged, name) == column).all() for name, column in before.items())


# its explanation


def recomputed(text: str) -> float:
    """The value that follows from an explanation in JSON, by nothing but its rows, its normaliser and its rule."""
    record = json.loads(text)
    functions = {name: getattr(math, name) for name in ("exp", "log", "sqrt")} | {"abs": abs, "min": min, "max": max}
    numbers = {"sum": math.fsum(row["term"] for row in record["rows"]), "normaliser": record["normaliser"]}
    try:
        return float(eval(record["rule"], {"__builtins__": {}}, functions | numbers))
    except ZeroDivisionError:
        return 0.0


@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
@each_kind
def test_an_explanation_ends_at_the_value_and_its_rows_recompute_it(kind, seed):
    case = full_case(seed, queries=4 if SOAK else 2, scores=4 if seed % 2 else None)
    qrels, run = case.qrels(), as_run(case.run)
    measures = list(dict.fromkeys(measure for measure in variants(kind)))
    values = case.values(measures, missing_is_zero=False)
    for measure in measures:
        for query in qrels.queries:
            explanation = explain(measure, qrels, run, query, extras=case.extras)
            assert explanation.value == pytest.approx(values[query][str(measure)], abs=1e-12), measure
            text = json.dumps(explanation.record(), allow_nan=False)
            assert recomputed(text) == pytest.approx(explanation.value, abs=1e-9), (measure, query)


@each_kind
def test_an_explanation_has_a_row_for_every_rank(kind):
    case = full_case(3, queries=1)
    explanation = explain(kind.plain(), case.qrels(), case.run, "q0", extras=case.extras)
    ranked = [row for row in explanation.rows if "rank" in row]
    assert [row["doc"] for row in ranked] == sorted(case.run["q0"], key=lambda doc: -case.run["q0"][doc])
    assert all({*explanation.columns, "grade", "term"} <= set(row) for row in ranked)
    assert all(row["what"] for row in explanation.rows if "rank" not in row)


@each_kind
def test_an_explanation_shows_how_terms_come_about_and_names_what_they_are_divided_by(kind):
    case = full_case(2, queries=2, scores=4)
    qrels, run = case.qrels(), as_run(case.run)
    for measure in variants(kind):
        for query in qrels.queries:
            explanation = explain(measure, qrels, run, query, extras=case.extras)
            assert explanation.columns or "columns" in measure.lacks, measure
            assert not set(explanation.columns) & {"rank", "doc", "grade", "term", "what"}
            assert explanation.normaliser == 1 or explanation.normaliser_is, measure
            assert " or " not in explanation.normaliser_is and ";" not in explanation.normaliser_is, measure


@each_kind
def test_a_mean_is_explained_query_by_query(kind):
    case = full_case(4, queries=3)
    measure, qrels, run = kind.plain(), case.qrels(), as_run(case.run)
    whole = explain(measure, qrels, run, extras=case.extras)
    record = json.loads(json.dumps(whole.record(), allow_nan=False))
    values = {row["query"]: row["value"] for row in record["rows"] if "query" in row}
    assert list(values) == list(qrels.queries)
    for query, value in values.items():
        assert value == pytest.approx(explain(measure, qrels, run, query, extras=case.extras).value, abs=1e-12)
    assert recomputed(json.dumps(record)) == pytest.approx(whole.value, abs=1e-12)
    # each term by itself, not the value as one
    assert "computed for the run as a whole" not in [row.get("what") for row in record["rows"]]


@each_kind
def test_an_expected_value_that_must_be_sampled_is_explained_by_the_same_orders(kind):
    case = full_case(5, queries=2, scores=3)
    qrels, run, measure = case.qrels(), as_run(case.run), kind.plain()
    evaluator = Evaluator(qrels, [measure], ties="expected")
    evaluator.extras = case.extras
    values = evaluator.evaluate(run).per_query(str(measure))
    for query in qrels.queries:
        found = explain(measure, qrels, run, query, extras=case.extras, ties="expected")
        assert found.value == pytest.approx(values[query], abs=1e-12)
        assert recomputed(json.dumps(found.record())) == pytest.approx(values[query], abs=1e-9)


@each_kind
def test_an_expected_value_is_explained_where_it_has_a_closed_form(kind):
    case = full_case(5, queries=2, scores=3)
    qrels, run = case.qrels(), as_run(case.run)
    measures = variants(kind)
    values = case.values(measures, "expected", missing_is_zero=False)
    for measure in measures:
        for query in qrels.queries:
            value = values[query].get(str(measure))
            if value is not None:
                found = explain(measure, qrels, run, query, extras=case.extras, ties="expected")
                assert found.value == pytest.approx(value, abs=1e-12), measure
                assert recomputed(json.dumps(found.record())) == pytest.approx(value, abs=1e-9), measure


@each_kind
def test_nothing_retrieved_is_explained_too(kind):
    case = plain_case({"q": {"a": 1, "b": 0}, "other": {"a": 1}}, {"other": {"a": 1.0}})
    explanation = explain(kind.plain(), case.qrels(), case.run, "q", extras=case.extras)
    assert recomputed(json.dumps(explanation.record())) == pytest.approx(explanation.value, abs=1e-9)


def test_the_random_collections_have_what_measures_need():
    qrels, _ = random_case(0)
    case = full_case(0)
    assert case.qrels().has_subtopics and set(case.qrels().extra) == {"stratum", "subgroup", "method", "probability"}
    assert case.qrels().to_dict() == qrels


def test_a_gain_map_puts_other_values_in_place_of_grades_for_any_measure():
    """The same as mapping the qrels, for a measure that has no gains of its own."""
    qrels = {"q": {"a": 1, "b": 2, "c": 0, "d": 3}}
    run = {"q": {"a": 4.0, "x": 3.0, "b": 2.0, "d": 1.0}}
    values = {1: 0.2, 2: 0.5, 3: 1}
    mapped = {"q": {doc: values.get(grade, grade) for doc, grade in qrels["q"].items()}}
    for name in ("ERR", "RBP", "INST", "AP", "Compat", "Bpref", "SetF", "NERR8@5", "infAP"):
        plain = evaluate(mapped, run, [name]).mean(name)
        for parameter in ("gain", "gains"):
            measure, _, at = name.partition("@")
            with_map = f"{measure}({parameter}={{1:0.2,2:0.5,3:1}}){'@' + at if at else ''}"
            assert evaluate(qrels, run, [with_map]).mean(with_map) == pytest.approx(plain, abs=1e-12)
