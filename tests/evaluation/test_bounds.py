"""Bounds: what complete judgments could make of a value, against every way there is to complete them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield import EvaluationError, Measure, Qrels, as_qrels, as_run, evaluate, join_run, parse_measure
from cranfield.base import Record, replace
from cranfield.evaluation import bounds
from cranfield.evaluation.bounds import Bounds, Completions, possible_grades
from cranfield.evaluation.tools.comparison import ToolEvaluator
from cranfield.evaluation.tools.conventions import TOOLS
from cranfield.joining import Joining
from cranfield.measures import all_measures
from tests.soak import examples

Grades = dict[str, float]
Rows = tuple[tuple[str, str, float], ...]
Case = tuple[dict[str, Grades], dict[str, dict[str, float]]]
TIE_RULES = ("trec", "best", "worst", "expected")


def variants(kind: type[Measure]) -> list[Measure]:
    """A measure with each of its parameters changed in turn."""
    base = kind.plain()
    changed = [
        replace(base, **{name: value})
        for name, parameter in kind.parameters.items()
        for value in parameter.example_values()
    ]
    return list(dict.fromkeys([base, *changed]))


MEASURES = [
    measure
    for kind in all_measures()
    if kind.__module__.startswith("cranfield.")
    for measure in variants(kind)
    if not measure.needed and not measure.qrels_columns and measure.aggregate != "run"
]

PLAIN = [kind.plain() for kind in dict.fromkeys(map(type, MEASURES))]


def random_case(seed: int, docs: int = 7, tied: bool = False, most: int = 4) -> Case:
    """One query with at most four documents unjudged (or `most`), judged with any of a few grades."""
    rng = random.Random(seed)
    names = [f"d{i}" for i in range(docs)]
    retrieved = rng.sample(names, rng.randint(3, docs))
    holes = rng.sample(retrieved, rng.randint(1, min(most, len(retrieved))))
    pool = rng.choice([(0, 1), (0, 1, 2), (1, 2), (0, 0.5, 1, 3), (0,)])
    judged = {doc: float(rng.choice(pool)) for doc in names if doc not in holes}
    # a document that was pooled but not judged is as good as any without a judgment
    judged |= {doc: -1.0 for doc in holes if rng.random() < 0.3}
    if len(judged) == 0:
        judged["other"] = 1.0
    scores = {doc: float(rng.randrange(3)) if tied else rng.random() for doc in retrieved}
    return {"q": judged}, {"q": scores}


def found(measure: Measure, case: Case, ties: str = "trec") -> Bounds:
    qrels, run, joining = as_qrels(case[0]), as_run(case[1]), Joining(ties=ties)
    dense = join_run(qrels, run, joining, dense=True)
    judged = join_run(qrels, run, joining)
    values = measure.expected_values(judged) if ties == "expected" else measure.values(judged)
    return Completions(dense, possible_grades(qrels)).bounds(measure, np.zeros(1) if values is None else values)


def completions(case: Case) -> Case:
    """Every way to give the unjudged documents grades, as queries of their own."""
    (judged,), (scores,) = case[0].values(), case[1].values()
    holes = [doc for doc in scores if not judged.get(doc, -1) >= 0]
    grades = {0.0, *(grade for grade in judged.values() if grade >= 0)}
    every = [judged | dict(zip(holes, filled, strict=True)) for filled in product(grades, repeat=len(holes))]
    return {str(i): one for i, one in enumerate(every)}, {str(i): scores for i in range(len(every))}


def every_value(measures: list[Measure], case: Case, ties: str = "trec") -> list[np.ndarray]:
    """The values of measures for every completion; empty where they would have to be sampled."""
    judged = join_run(*map(lambda part, make: make(part), completions(case), (as_qrels, as_run)), Joining(ties=ties))
    columns = [m.expected_values(judged) if ties == "expected" else m.values(judged) for m in measures]
    return [np.zeros(0) if column is None else column for column in columns]


def wrong(measures: list[Measure], case: Case, ties: str = "trec") -> list[str]:
    """The measures whose bounds are not those of brute force, or not outside them if they are outer."""
    mistaken = []
    for measure, values in zip(measures, every_value(measures, case, ties), strict=True):
        if len(values):
            own = found(measure, case, ties)
            low, high = own.low[0], own.high[0]
            if own.outer[0]:
                right = low <= values.min() + 1e-12 and high >= values.max() - 1e-12
            else:
                right = np.allclose([low, high], [values.min(), values.max()], rtol=1e-12, atol=1e-12)
            if not right:
                mistaken.append(f"{measure}: [{low}, {high}], not [{values.min()}, {values.max()}]")
    return mistaken


@pytest.mark.parametrize(("seed", "ties"), [(1, "trec"), (2, "best"), (4, "expected"), (5, "expected")])
def test_bounds_of_every_measure_are_those_of_every_completion(seed, ties):
    assert wrong(MEASURES, random_case(seed, tied=ties != "trec"), ties) == []


@pytest.mark.slow
@examples(20)
@given(seed=st.integers(0, 10**6), ties=st.sampled_from(TIE_RULES))
def test_bounds_are_those_of_every_completion_of_many_rankings(seed, ties):
    assert wrong(PLAIN, random_case(seed, tied=ties != "trec"), ties) == []


@examples(40)
@given(seed=st.integers(0, 10**6), cutoff=st.sampled_from([None, 1, 2, 4, 20]), exponential=st.booleans())
def test_normalised_gains_have_exact_bounds_whatever_the_number_of_grades(seed, cutoff, exponential):
    gain = {"gain": "exp"} if exponential else {}
    kinds = ("nDCG", "NCG", "DCG", "CG")
    measures = [replace(parse_measure(name), cutoff=cutoff, **gain) for name in kinds]
    case = random_case(seed, docs=9)
    assert wrong(measures, case) == []
    assert not any(found(measure, case).outer[0] for measure in measures)


def test_a_gain_map_may_prefer_a_lower_grade():
    case = {"q": {"a": 1, "b": 2, "c": 3}}, {"q": {"x": 5.0, "a": 4.0, "y": 3.0, "c": 2.0}}
    measures = [parse_measure("nDCG(gain={0:1,1:9,2:3,3:0})"), parse_measure("nDCG(gain={0:-1,1:9,2:-3})@2")]
    for ties in TIE_RULES:
        assert wrong(measures, case, ties) == []


def test_a_small_collection_may_be_all_retrieved():
    case = {"q": {"a": 1, "b": 2, "c": 3, "d": 0}}, {"q": {"x": 5.0, "a": 4.0, "y": 3.0}}
    assert wrong([parse_measure("SetAccuracy(docs=6)"), parse_measure("Fallout(docs=6)")], case) == []


def test_no_bound_is_claimed_for_gains_below_zero_where_there_are_too_many_cases(monkeypatch):
    few_candidates(monkeypatch)
    case = {"q": {"a": 1, "b": 2}}, {"q": {"x": 5.0, "a": 4.0, "y": 3.0}}
    measure = parse_measure("DCG(gain={0:-1,1:9,2:-3})")
    own = found(measure, case)
    assert own.outer[0] and wrong([measure], case) == []


def few_candidates(monkeypatch):
    monkeypatch.setattr(bounds, "MOST_CANDIDATES", 3)
    monkeypatch.setattr(bounds, "MOST_JOINED", 3)


@examples(40)
@given(seed=st.integers(0, 10**6), ties=st.sampled_from(("trec", "doc-ascending", "best")))
def test_what_is_known_of_a_measure_finds_the_extremes_of_longer_lists_too(seed, ties):
    """The same bounds as by every completion, where these may not all be tried."""
    names = ("AP", "AP@3", "AP(rel=2)@4", "MAPk@3", "GMAP", "YAAP", "Bpref", "Bpref(rel=2)", "GMBpref", "Rprec", "R@3")
    measures = [parse_measure(name) for name in (*names, "IPrec@0.5", "InterpolatedAP", "SetF", "ERR@3", "INST", "RBP")]
    case = random_case(seed, docs=10, tied=True, most=6)
    with pytest.MonkeyPatch.context() as patch:
        # few enough to leave out all candidates, enough for those in order
        patch.setattr(bounds, "every_filling", None)
        patch.setattr(bounds, "_are_few", lambda *_: False)
        assert not any(found(measure, case, ties).outer[0] for measure in measures)
        assert wrong(measures, case, ties) == []


# as evaluate has it, for measures that look at more than ranks and grades too


class Collection(Record):
    """Judgments as rows (doc, subtopic, grade) of one query, a ranking, and what some measures need beyond them."""

    rows: tuple[tuple[str, str, float], ...]
    scores: Grades
    against: Grades
    lengths: Grades
    duplicates: dict[str, str]
    facts: dict[str, frozenset[str]]

    def evaluate(self, measures: Sequence[Measure], completions: Sequence[Rows], names: Sequence[str], **options):
        """All completions at once, as queries with the names given."""
        rows = [(name, *row) for name, judged in zip(names, completions, strict=True) for row in judged]
        queries, docs, subtopics, grades = zip(*rows, strict=True)
        return evaluate(
            Qrels.from_rows(queries, docs, grades, subtopics=subtopics),
            {name: self.scores for name in names},
            measures,
            # all names in any case, since how many queries it has may matter
            against={name: self.against for name in ("q", *map(str, range(729)))},
            doc_lengths=self.lengths,
            duplicates=self.duplicates,
            facts={name: self.facts for name in names},
            **options,
        )

    def bounds(self, measures: Sequence[Measure], **options):
        return self.evaluate(measures, [self.rows], ["q"], bounds=True, **options)

    def completions(self, by_subtopic: bool) -> list[Rows]:
        """Every way to judge what is unjudged: one grade a document, or one for each subtopic of the query."""
        known = list(dict.fromkeys(subtopic for _, subtopic, _ in self.rows))
        best = {doc: max(g for d, _, g in self.rows if d == doc) for doc, _, _ in self.rows}
        holes = [doc for doc in self.scores if best.get(doc, -1) < 0]
        rows = [row for row in self.rows if row[0] not in holes]
        places = list(product(holes, known if by_subtopic else known[:1]))
        grades = sorted({0.0, *(grade for *_, grade in self.rows if grade >= 0)})
        filled = product(grades, repeat=len(places))
        return [(*rows, *((*place, g) for place, g in zip(places, choice, strict=True))) for choice in filled]


def random_collection(seed: int, subtopics: str = "0", holes: int = 3, tied: bool = False) -> Collection:
    rng = random.Random(seed)
    names = [f"d{i}" for i in range(9)]
    retrieved = rng.sample(names, rng.randint(holes + 1, 7))
    unjudged = rng.sample(retrieved, holes)
    pool = rng.choice([(0, 1), (0, 1, 2), (1, 3), (0, 0.5, 2)]) if subtopics == "0" else (0, 1)
    judged = [doc for doc in names if doc not in unjudged] + [doc for doc in unjudged if rng.random() < 0.3]
    rows = [
        (doc, subtopic, -1.0 if doc in unjudged else float(rng.choice(pool)))
        for doc in judged
        for subtopic in rng.sample(subtopics, rng.randint(1, len(subtopics)))
    ]
    return Collection(
        rows=tuple(rows),
        scores={doc: float(rng.randrange(3)) if tied else rng.random() for doc in retrieved},
        against={doc: rng.random() for doc in rng.sample(names, 6)},
        lengths={doc: float(rng.randint(10, 2000)) for doc in names},
        duplicates={doc: f"g{rng.randrange(3)}" for doc in rng.sample(names, 5)},
        facts={doc: frozenset(rng.sample("abcd", rng.randint(0, 3))) for doc in names},
    )


def disagreements(collection: Collection, measures: Sequence[Measure], **options) -> list[str]:
    """Where bounds are not those of brute force through `evaluate`, or are only outer ones."""
    own = collection.bounds(measures, **options)
    found = []
    for by_subtopic in (False, True):
        some = [m for m in measures if ("subtopic" in m.reads_columns) == by_subtopic]
        if some:
            completions = collection.completions(by_subtopic)
            every = collection.evaluate(some, completions, list(map(str, range(len(completions)))), **options)
            for name in map(str, some):
                values = every.values(name)
                (low,), (high,) = own.values(f"{name}.low"), own.values(f"{name}.high")
                if own.outer(f"{name}.low"):
                    found.append(f"{name}: outer")
                elif not np.allclose([low, high], [values.min(), values.max()], rtol=1e-12, atol=1e-12):
                    found.append(f"{name}: [{low}, {high}], not [{values.min()}, {values.max()}]")
    return found


EVERY = [
    measure
    for kind in all_measures()
    if kind.__module__.startswith("cranfield.")
    for measure in variants(kind)
    if not measure.qrels_columns and measure.aggregate != "run"
]
EVERY_PLAIN = list({type(measure): measure for measure in reversed(EVERY)}.values())
ODD_GAINS = {0: 2, 1: 0.5, 2: 0, 0.5: -1}


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_every_measure_are_those_of_brute_force_through_evaluate(seed):
    assert disagreements(random_collection(seed, holes=2), EVERY) == []


@pytest.mark.parametrize("ties", ["doc-ascending", "input-order", "best", "worst"])
def test_bounds_are_those_of_brute_force_under_every_rule_for_ties(ties):
    assert disagreements(random_collection(4, tied=True), EVERY_PLAIN, ties=ties) == []


@pytest.mark.parametrize("ties", ["trec", "best", "worst"])
@pytest.mark.parametrize("parameters", [{"judged_only": True}, {"repeats": False}, {"gain": ODD_GAINS}], ids=str)
def test_bounds_are_those_of_brute_force_whatever_is_asked_of_a_measure(parameters, ties):
    changed = [replace(measure, **parameters) for measure in EVERY_PLAIN]
    assert disagreements(random_collection(11, tied=ties != "trec"), changed, ties=ties) == []


@pytest.mark.parametrize("ties", ["trec", "worst"])
def test_an_unjudged_document_may_be_relevant_to_any_of_the_subtopics(ties):
    """Each of the query's subtopics (or judgment groups) may give it any grade."""
    measures = [measure for measure in EVERY_PLAIN if measure.reads_columns]
    changed = [replace(measure, repeats=False) for measure in measures]
    for seed in (0, 1):
        collection = random_collection(seed, subtopics="123", holes=2, tied=True)
        assert disagreements(collection, [*measures, *changed, parse_measure("AP")], ties=ties) == []


def test_means_over_orders_of_ties_that_are_sampled_have_the_bounds_of_brute_force_too():
    collection = random_collection(3, holes=2, tied=True)
    closed = [m for m in EVERY_PLAIN if type(m).expected is not Measure.expected and "subtopic" not in m.reads_columns]
    sampled = [parse_measure(name) for name in ("Bpref", "ERR", "infAP", "Rndcg", "alpha_nDCG@3", "AP(repeats=False)")]
    measures = [*closed, *sampled]
    own = collection.bounds(measures, ties="expected", seed=7)
    # what is drawn depends on the name of the query
    each = [
        collection.evaluate(measures, [one], ["q"], ties="expected", seed=7) for one in collection.completions(False)
    ]
    for name in map(str, measures):
        values = [scores.values(name)[0] for scores in each]
        assert own.outer(f"{name}.low") == [], name
        assert own.values(f"{name}.low") == pytest.approx(min(values), abs=1e-12), name
        assert own.values(f"{name}.high") == pytest.approx(max(values), abs=1e-12), name


def test_only_measures_of_samples_are_outer_on_small_cases_as_the_documentation_says():
    """A document that was not pooled has no stratum and no probability, whatever its grade."""
    text = (Path(__file__).parents[2] / "docs" / "evaluate.md").read_text("utf-8")
    sentence = re.search(r"They are outer only for[^.]*\.", text, re.DOTALL)
    assert sentence is not None
    qrels = Qrels.from_rows(
        ["q"] * 3, ["a", "b", "c"], [1, 0, 1], extra={name: ["1"] * 3 for name in ("stratum", "method", "probability")}
    )
    kinds = [kind for kind in all_measures() if kind.__module__.startswith("cranfield.") and not kind.needs]
    measures = [measure for measure in (kind.plain() for kind in kinds) if measure.aggregate != "run"]
    scores = evaluate(qrels, {"q": {"x": 3.0, "a": 2.0, "y": 1.0}}, measures, bounds=True)
    outer = {type(measure).name for measure in measures if scores.outer(f"{measure}.low")}
    assert outer == set(re.findall(r"`(\w+)`", sentence.group()))


def test_a_pooled_document_has_a_stratum_and_so_exact_bounds():
    # drawn or not, x is in the pool: what it would be if it had been drawn
    grades = {"a": 1.0, "b": 0.0, "x": -1.0, "m": 1.0}

    def values(judged: Grades, **options):
        qrels = Qrels.from_rows(["q"] * 4, list(judged), list(judged.values()), extra={"stratum": ["1", "1", "2", "2"]})
        return evaluate(qrels, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}, ["xinfAP", "infNDCG", "iP@2"], **options)

    own = values(grades, bounds=True)
    each = [values(grades | {"x": grade}) for grade in (0.0, 1.0)]
    for name in ("xinfAP", "infNDCG", "iP@2"):
        assert own.outer(f"{name}.low") == []
        assert (own.mean(f"{name}.low"), own.mean(f"{name}.high")) == (
            min(scores.mean(name) for scores in each),
            max(scores.mean(name) for scores in each),
        )


# worked by hand


def test_a_measure_without_normaliser_is_lowest_with_nothing_and_highest_with_everything_relevant():
    case = {"q": {"a": 1, "b": 0}}, {"q": {"x": 3.0, "a": 2.0, "y": 1.0}}
    scores = evaluate(*case, ["P@2", "RR"], bounds=True)
    assert scores.labels == ("P@2", "P@2.low", "P@2.high", "RR", "RR.low", "RR.high")
    assert scores.summary()["run"] == {
        "P@2": 0.5,
        "P@2.low": 0.5,
        "P@2.high": 1.0,
        "RR": 0.5,
        "RR.low": 0.5,
        "RR.high": 1.0,
    }


def test_relevant_documents_below_the_cutoff_lower_recall():
    # with y relevant one of two is found at rank 1, with x relevant both of two
    case = {"q": {"a": 1, "b": 0}}, {"q": {"a": 3.0, "x": 2.0, "y": 1.0}}
    scores = evaluate(*case, ["R@1", "R@2", "AP@1"], bounds=True)
    assert [scores.mean(f"R@1.{side}") for side in ("low", "high")] == [1 / 3, 1]
    assert [scores.mean(f"R@2.{side}") for side in ("low", "high")] == [1 / 2, 1]
    assert [scores.mean(f"AP@1.{side}") for side in ("low", "high")] == [1 / 3, 1]


def test_a_document_judged_relevant_may_lower_average_precision():
    # a at rank 1 alone is worth 1; with y at rank 3 relevant too it is (1 + 2/3)/2
    case = {"q": {"a": 1, "b": 0}}, {"q": {"a": 3.0, "b": 2.0, "y": 1.0}}
    scores = evaluate(*case, ["AP"], bounds=True)
    assert scores.mean("AP.low") == pytest.approx(5 / 6)
    assert scores.mean("AP.high") == 1


def test_a_negative_grade_is_no_judgment():
    case = {"q": {"a": 1, "x": -2}}, {"q": {"x": 2.0, "a": 1.0}}
    scores = evaluate(*case, ["P@2", "NumRel"], bounds=True)
    assert (scores.mean("P@2.low"), scores.mean("P@2.high")) == (0.5, 1)
    assert (scores.mean("NumRel.low"), scores.mean("NumRel.high")) == (1, 2)


def test_where_all_is_judged_the_bounds_are_the_value():
    case = {"q": {"a": 1, "b": 0}, "missing": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}
    scores = evaluate(*case, MEASURES, bounds=True, missing="zero")
    for label in map(str, MEASURES):
        values = [scores.values(name).tolist() for name in (label, f"{label}.low", f"{label}.high")]
        assert values[0] == values[1] == values[2], label


def test_the_grades_are_those_of_all_queries_and_zero():
    qrels = Qrels.from_rows(["p", "p", "q"], ["a", "b", "a"], [2, -1, 0.5])
    assert possible_grades(qrels).tolist() == [0, 0.5, 2]
    scores = evaluate(qrels, {"p": {"a": 1.0}, "q": {"x": 1.0}}, ["CG"], bounds=True)
    assert scores.per_query("CG.high") == {"p": 2, "q": 2}


# many documents


@pytest.mark.parametrize("measure", ["AP", "Bpref", "Rprec", "nDCG", "InterpolatedAP", "SetF", "RBP", "ERR@5"])
def test_many_unjudged_documents_are_no_obstacle(measure):
    qrels = {"q": {f"d{i}": i % 3 for i in range(0, 60, 3)} | {"m": 2}}
    run = {"q": {f"d{i}": 100.0 - i for i in range(60)}}
    own = found(parse_measure(measure), (qrels, run))
    assert not own.outer[0]
    rng = np.random.default_rng(1)
    chosen = parse_measure(measure)
    holes = [doc for doc in run["q"] if doc not in qrels["q"]]
    filled = {
        str(i): qrels["q"] | {doc: float(rng.choice([0, 0, 1, 2]) if i else 0) for doc in holes} for i in range(50)
    }
    values = chosen.values(join_run(as_qrels(filled), as_run({i: run["q"] for i in filled})))
    assert own.low[0] <= values.min() and values.max() <= own.high[0]


def test_bounds_that_are_only_outer_are_marked(monkeypatch):
    few_candidates(monkeypatch)
    qrels = {"p": {"a": 1, "b": 0}, "q": {"a": 1, "b": 0}, "r": {"a": 1}}
    run = {"p": {"a": 3.0, "x": 2.0, "y": 1.0, "z": 0.0}, "q": {"x": 1.0, "a": 0.0}, "r": {"a": 1.0}}
    scores = evaluate(qrels, run, ["Rprec", "P@2"], bounds=True)
    assert scores.outer("Rprec.low") == scores.outer("Rprec.high") == ["p"]
    assert (scores.per_query("Rprec.low")["p"], scores.per_query("Rprec.high")["p"]) == (0, 1)
    assert scores.outer("Rprec") == scores.outer("P@2.low") == []
    assert "run: Rprec.low and Rprec.high are outer bounds for 1 of 3 queries." in scores.notes
    assert scores.select(["q", "r"]).outer("Rprec.low") == []


def test_what_repeats_another_document_earns_nothing_in_bounds_either():
    # x says what a says: relevant or not, it adds nothing, neither to what is found nor to what there is
    case = {"q": {"a": 1, "b": 0}}, {"q": {"a": 3.0, "x": 2.0}}
    measure = "SetR(repeats=False)"
    scores = evaluate(*case, [measure], bounds=True, duplicates={"a": "1", "x": "1"})
    assert scores.outer(f"{measure}.low") == []
    assert (scores.mean(f"{measure}.low"), scores.mean(f"{measure}.high")) == (1, 1)


def test_a_mean_over_too_many_sampled_orders_of_ties_is_within_its_outer_bounds(monkeypatch):
    monkeypatch.setattr(bounds, "MOST_SAMPLED", 0)
    case = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"a": 1.0, "b": 1.0, "x": 1.0, "c": 0.5, "y": 0.5}}
    own = found(parse_measure("Bpref"), case, "expected")
    assert own.outer[0]
    for values in zip(*(every_value([parse_measure("Bpref")], case, ties) for ties in ("worst", "best")), strict=True):
        assert own.low[0] <= values[0].min() and own.high[0] >= values[1].max()


def test_splitting_the_queries_changes_no_bound():
    rng = random.Random(3)
    cases = [random_case(rng.randrange(10**6)) for _ in range(4)]
    # the same grades everywhere, since what could be depends on all of the qrels
    qrels = {
        str(i): case[0]["q"] | {"e0": 0.0, "e1": 0.5, "e2": 1.0, "e3": 2.0, "e4": 3.0} for i, case in enumerate(cases)
    }
    run = {str(i): case[1]["q"] for i, case in enumerate(cases)}
    together = evaluate(qrels, run, ["AP", "nDCG@3", "ERR@3"], bounds=True)
    for query in qrels:
        alone = evaluate({query: qrels[query]}, {query: run[query]}, ["AP", "nDCG@3", "ERR@3"], bounds=True)
        for label in together.labels:
            assert alone.per_query(label)[query] == together.per_query(label)[query]


# as other tools have them

TOOL_MEASURES = {
    "trec_eval-9": "nDCG@3 AP Rndcg IPrec@0.3 RR@2 Bpref infAP G YAAP Prefs P@2 SetF",
    "trec_eval-10": "RBP TrecRBPResidual nDCG@3 AP Rndcg Unjudged@2 IdealDCG DCG Utility",
    "ir_measures": "RR@2 Judged@3 Compat Accuracy nDCG(gain='exp')@3 ERR@3 RBP(rel=1) SetF(beta=2.0) IPrec@0.3 Bpref",
    "ranx": "nDCG@3 DCG@3 DCG(gain='exp')@3 RBP RBP(rel=2) Bpref AP RR nDCG(gain='exp')@2 Rprec",
    "sklearn": "nDCG@3 DCG AP LRAP",
    "gdeval": "nDCG@3 ERR@3",
    "ndeval": "alpha_nDCG@2 ERR_IA@2 P_IA@2 AP_IA",
    "spark": "nDCG@3 AP@3 P@2",
    "torchmetrics": "nDCG@3 AP@3 AP RR R@2 P@2 Fallout@2 Rprec Success@1",
    "beir": "nDCG@3 AP@3 R@2 Unjudged@3 RelativeP@2 RR@3 Accuracy@2",
}


def tool_case(seed: int) -> Case:
    """One query with few documents unjudged, scores of 0 and below, and a document that has the query's id."""
    rng = random.Random(seed)
    names = ["q", *(f"d{i}" for i in range(5))]
    retrieved = rng.sample(names, rng.randint(2, 6))
    judged = {doc: rng.choice([0.0, 1.0, 2.0]) for doc in names if rng.random() < 0.6} | {"missed": 2.0}
    if rng.random() < 0.5:
        judged[rng.choice(names)] = -1.0
    for doc in [doc for doc in retrieved if not judged.get(doc, -1) >= 0][3:]:
        judged[doc] = 0.0
    scores = {doc: float(rng.randrange(-1, 3)) if rng.random() < 0.5 else rng.uniform(-1, 3) for doc in retrieved}
    return {"q": judged}, {"q": scores}


def value_as(tool: str, name: str, case: Case) -> float:
    """NaN where the tool stops, or leaves the query out."""
    try:
        return ToolEvaluator(tool, case[0], [name]).evaluate(case[1]).per_query(name).get("q", np.nan)
    except EvaluationError:
        return np.nan


def wrong_as(tool: str, case: Case) -> list[str]:
    """The measures whose bounds as a tool are not those of the tool with every completion."""
    every = [({"q": one}, case[1]) for one in completions(case)[0].values()]
    mistaken = []
    for name in TOOL_MEASURES[tool].split():
        if np.isnan(value_as(tool, name, case)):
            continue
        own = ToolEvaluator(tool, case[0], [name], bounds=True).evaluate(case[1])
        low, high = own.values(f"{name}.low")[0], own.values(f"{name}.high")[0]
        values = [value_as(tool, name, one) for one in every]
        extremes = np.nanmin(values), np.nanmax(values)
        if own.outer(f"{name}.low"):
            right = low <= extremes[0] + 1e-9 and high >= extremes[1] - 1e-9
        else:
            right = np.allclose([low, high], extremes, rtol=1e-9, atol=1e-9)
        if not right:
            mistaken.append(f"{name}: [{low}, {high}], not {extremes} of {case}")
    return mistaken


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_bounds_as_a_tool_are_those_of_the_tool_with_every_completion(tool):
    for seed in range(8):
        assert wrong_as(tool, tool_case(seed)) == []


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_bounds_as_a_tool_enclose_those_of_every_completion_where_there_are_too_many_cases(tool, monkeypatch):
    few_candidates(monkeypatch)
    for seed in range(8, 11):
        assert wrong_as(tool, tool_case(seed)) == []


def bounds_as(tool: str, name: str, judged: Grades, scores: Grades) -> tuple[float, float]:
    found = ToolEvaluator(tool, {"q": judged}, [name], bounds=True).evaluate({"q": scores})
    assert not found.outer(f"{name}.low")
    return found.mean(f"{name}.low"), found.mean(f"{name}.high")


def test_a_gain_from_a_level_on_is_still_a_gain_in_ranx():
    judged, scores = {"a": 1, "b": 2, "c": 0, "z": 3}, {"a": 5.0, "x": 4.0, "b": 3.0}
    assert bounds_as("ranx", "nDCG@3", judged, scores)[1] == pytest.approx(0.6606, abs=5e-5)
    assert bounds_as("ranx", "RBP", judged, scores)[1] == pytest.approx(0.936)


def test_a_document_may_have_a_grade_that_torchmetrics_is_not_told():
    judged, scores = {"a": 1, "z": 3}, {"a": 5.0, "x": 4.0}
    assert bounds_as("torchmetrics", "nDCG@3", judged, scores) == (pytest.approx(0.7967, abs=5e-5), 1)


def test_a_judged_document_whose_score_makes_it_unknown_is_not_judged_anew():
    judged, scores = {"a": 1, "b": 0}, {"a": 0.5, "b": 0.0}
    assert bounds_as("torchmetrics", "R@1", judged, scores) == (1, 1)
    assert bounds_as("torchmetrics", "P@2", judged, scores) == (0.5, 0.5)


def test_an_unjudged_document_whose_score_makes_it_unknown_may_still_be_one_to_find():
    assert bounds_as("torchmetrics", "R@1", {"a": 1}, {"a": 0.5, "b": 0.0}) == (0.5, 1)


def test_a_judged_document_that_scikit_learn_appends_is_not_judged_anew():
    assert bounds_as("sklearn", "DCG", {"a": 1, "b": -1}, {"a": 2.0, "c": 1.0}) == pytest.approx(
        (0.5, 0.5 + 0.6309), abs=5e-5
    )


def test_grades_are_possible_as_the_tool_reads_them():
    assert bounds_as("ranx", "DCG", {"a": 1.5, "b": 0.5}, {"x": 2.0, "a": 1.0}) == pytest.approx(
        (0.6309, 1.6309), abs=5e-5
    )


class CountsBeyondOne(Measure):
    """A user's own measure that does not say how high it can get."""

    def per_query(self, judged):
        return judged.count(judged.grade >= 1)


def test_outer_bounds_enclose_the_value_of_a_measure_that_does_not_tell_its_range(monkeypatch):
    few_candidates(monkeypatch)
    monkeypatch.setattr(CountsBeyondOne, "__module__", "own")
    scores = {"a": 9.0, "b": 8.0, "c": 7.0, "x": 3.0, "y": 2.0, "z": 1.0}
    own = evaluate({"q": {"a": 1, "b": 1, "c": 1}}, {"q": scores}, [CountsBeyondOne()], bounds=True)
    label = own.labels[0]
    assert own.outer(f"{label}.low") == ["q"] and own.mean(label) == 3
    assert own.mean(f"{label}.low") == 0 and own.mean(f"{label}.high") == np.inf
