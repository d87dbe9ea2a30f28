"""What holds for every measure there is, or will be."""

import dataclasses
import math
import random

import numpy as np
import pytest
from rankings import random_case

from cranfield import Qrels, Run, as_run, evaluate, judge
from cranfield.judged import Joining
from cranfield.measures import Measure, all_measures, parse_measure

DOCS = 100
TIE_RULES = ["trec", "doc-ascending", "expected", "best", "worst"]
VALUES = {
    "cutoff": [1, 3, 10],
    "rel": [2, -1, 0.5],
    "judged_only": [True],
    "recall": [0.0, 0.1, 0.55, 1.0],
    "denominator": ["min(R,k)"],
    "ties": ["group"],
    "wanted": [2, 5],
    "points": [3, 101, (0.25, 0.5, 0.75), (0.3,)],
    "beta": [0.5, 2.0, math.sqrt(2)],
    "docs": [DOCS, 12345],
    "gain": ["exp", {1: 0.3, 2: 9}],
    "discount": ["log(max(i,base))", "1/i"],
    "base": [10, math.e, 1.5],
}


def plain(kind: type[Measure]) -> Measure:
    """A measure with the parameters it needs and no others."""
    needed = {"docs"} & set(kind.parameters) | set(kind.required)
    return kind(**{name: VALUES[name][1 if name == "cutoff" else 0] for name in needed})


def variants(kind: type[Measure]) -> list[Measure]:
    """A measure with each of its parameters changed in turn, and with all of them."""
    base = plain(kind)
    one = [dataclasses.replace(base, **{name: value}) for name in kind.parameters for value in VALUES[name]]
    every = dataclasses.replace(base, **{name: VALUES[name][0] for name in kind.parameters})
    return list(dict.fromkeys([base, *one, every]))


KINDS = all_measures()
MEASURES = [measure for kind in KINDS for measure in variants(kind)]
CUT = [measure for measure in MEASURES if getattr(measure, "cutoff", None) is not None]
SEVERAL_SEEDS = range(6)
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
each_rule = pytest.mark.parametrize("ties", TIE_RULES)


def values(qrels, run, ties="trec", measures=MEASURES):
    """{query: its values}; under ties='expected' without those that have to be sampled."""
    if ties == "expected":
        measures = [measure for measure in measures if type(measure).expected is not Measure.expected]
    scores = evaluate(qrels, run, measures, ties=ties)
    columns = {label: scores.per_query(label) for label in scores.labels}
    return {query: {label: column[query] for label, column in columns.items()} for query in scores.queries}


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
def test_a_measure_of_quality_names_its_source(kind):
    assert kind.reference or kind.aggregate == "sum"


@each_kind
def test_parameters_are_described_and_are_the_fields(kind):
    assert {field.name for field in dataclasses.fields(kind)} == set(kind.parameters)
    assert all(parameter.what and parameter.range() for parameter in kind.parameters.values())
    assert set(kind.required) <= set(kind.parameters)


@each_kind
def test_braces_of_a_formula_are_balanced(kind):
    depth = 0
    for char in kind.formula.replace(r"\{", "").replace(r"\}", ""):
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 0
    assert depth == 0


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
        assert parse_measure(str(plain(kind)).replace(kind.name, alias, 1)) == plain(kind)


@each_kind
def test_a_default_reaches_only_parameters_that_were_not_given(kind):
    measure = plain(kind).with_defaults(rel=3, docs=7)
    if "rel" in kind.parameters and measure.is_binary:
        assert measure.rel == 3
        given = dataclasses.replace(measure, rel=2)
        assert given.with_defaults(rel=3) == given
    if "docs" in kind.parameters:
        assert measure.docs == DOCS


# its values


@each_rule
@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_values_are_within_their_range(seed, ties):
    qrels, run = random_case(seed, scores=4 if seed % 2 else None)
    scores = evaluate(qrels, run, MEASURES, ties=ties)
    for label, measure in zip(scores.labels, scores.measures, strict=True):
        row = scores.values(label)
        assert np.isfinite(row).all(), label
        assert (row >= measure.low).all() and (row <= measure.high + 1e-12).all(), label


@each_rule
def test_a_perfect_ranking_has_the_best_value_of_a_normalised_measure(ties):
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    for kind in KINDS:
        if kind.high == 1 and kind.more_is_better and kind.name not in ("P", "R", "SetAccuracy"):
            name = str(plain(kind))
            assert evaluate(qrels, run, [name], ties=ties).mean(name) == pytest.approx(1, abs=1e-15), name


def test_nothing_relevant_retrieved_is_zero_where_the_documentation_says_so():
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"b": 2.0, "x": 1.0}}
    for kind in KINDS:
        if kind.nothing_found.startswith("0"):
            name = str(plain(kind))
            assert evaluate(qrels, run, [name]).mean(name) == 0, name


def test_a_missing_query_counts_as_zero_in_every_mean():
    missing = values({"q": {"a": 1, "b": 0}, "other": {"a": 1}}, {"other": {"a": 1.0}})["q"]
    assert {missing[str(measure)] for measure in MEASURES if measure.aggregate == "mean"} == {0.0}


def test_an_empty_list_has_the_value_of_a_missing_query():
    qrels = {"q": {"a": 1, "b": 0}, "other": {"a": 1}}
    # not retrieving anything treats nearly all documents rightly
    measures = [plain(kind) for kind in KINDS if kind.name != "SetAccuracy"]
    runs = {"q": {}, "other": {"a": 1.0}}, {"other": {"a": 1.0}}
    empty, missing = (values(qrels, run, measures=measures)["q"] for run in runs)
    assert empty == missing


@each_rule
@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_splitting_queries_into_batches_changes_no_bit(seed, ties):
    qrels, run = random_case(seed, queries=7, docs=30, scores=9 if seed % 2 else None)
    together = values(qrels, run, ties)
    rng = random.Random(seed)
    for size in (1, 1, 2, 3, 5):
        batch = rng.sample(sorted(qrels), size)
        part = values({q: qrels[q] for q in batch}, {q: run[q] for q in batch}, ties)
        assert part == {query: together[query] for query in batch}


@each_rule
@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_permuting_the_rows_of_the_input_changes_nothing(seed, ties):
    qrels, run = random_case(seed, scores=3)
    rng = random.Random(seed)

    def shuffled(nested):
        rows = [(query, doc, number) for query, docs in nested.items() for doc, number in docs.items()]
        rng.shuffle(rows)
        return rows

    # rows cannot say that a query has no documents
    run = {query: docs for query, docs in run.items() if docs}
    mixed = Qrels.from_rows(*zip(*shuffled(qrels), strict=True)), Run.from_rows(*zip(*shuffled(run), strict=True))
    assert values(*mixed, ties) == values(qrels, run, ties)


def test_the_order_of_the_input_decides_ties_only_if_asked_to():
    qrels = {"q": {"a": 1}}
    orders = {"q": {"a": 1.0, "b": 1.0}}, {"q": {"b": 1.0, "a": 1.0}}
    assert [evaluate(qrels, run, ["RR"], ties="input-order").mean("RR") for run in orders] == [1, 0.5]
    assert [evaluate(qrels, run, ["RR"]).mean("RR") for run in orders] == [0.5, 0.5]


@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_an_unjudged_document_below_the_cutoff_changes_nothing(seed):
    measures = [measure for measure in CUT if not getattr(measure, "judged_only", False)]
    qrels, run = random_case(seed, docs=20, least=max(measure.cutoff for measure in measures))
    longer = {q: {**docs, "unjudged": -1.0} for q, docs in run.items()}
    assert values(qrels, longer, measures=measures) == values(qrels, run, measures=measures)


@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_unjudged_documents_never_matter_to_the_condensed_list(seed):
    qrels, run = random_case(seed)
    measures = [m for m in MEASURES if getattr(m, "judged_only", False) and "docs" not in m.parameters]
    longer = {q: {f"x{i}": i / 7 for i in range(5)} | docs for q, docs in run.items()}
    assert values(qrels, longer, measures=measures) == values(qrels, run, measures=measures)


@pytest.mark.parametrize("seed", SEVERAL_SEEDS)
def test_only_the_order_of_the_scores_matters(seed):
    qrels, run = random_case(seed, scores=5)
    stretched = {query: {doc: math.exp(score) * 1e3 for doc, score in docs.items()} for query, docs in run.items()}
    for ties in TIE_RULES:
        assert values(qrels, stretched, ties) == values(qrels, run, ties)


def test_a_measure_leaves_the_join_as_it_was():
    qrels, run = random_case(1, scores=3)
    judged = judge(Qrels.from_rows(*_columns(qrels)), as_run(run), Joining(ties="expected"))
    before = {field.name: np.copy(getattr(judged, field.name)) for field in dataclasses.fields(judged)}
    for measure in MEASURES:
        measure.values(judged)
        measure.expected_values(judged)
    assert all((getattr(judged, name) == column).all() for name, column in before.items())


def _columns(nested):
    return zip(*((query, doc, number) for query, docs in nested.items() for doc, number in docs.items()), strict=True)
