"""Fusion of runs: methods and normalisations against verified cases and ranx, and what ranx gets wrong."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Run
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation import evaluate
from cranfield.fusion import FUSION_METHODS, NORMS, cross_fuse, fit, fuse
from cranfield.fusion.candidates import all_queries, gather_candidates
from cranfield.fusion.learning import split_folds, weight_grid
from cranfield.fusion.methods import find_method
from cranfield.fusion.norms import find_norm
from cranfield.fusion.recipe import make_recipe
from cranfield.io import read_run
from tests.fusion.fusion_oracle import Case, fused_by_ranx
from tests.soak import examples

Nested = dict[str, dict[str, float]]

A: Nested = {"q1": {"d1": 9, "d2": 7, "d3": 4, "d4": 2}, "q2": {"d7": 5, "d8": 3, "d9": 1}}
B: Nested = {"q1": {"d3": 0.9, "d1": 0.6, "d5": 0.3}, "q2": {"d8": 0.8, "d10": 0.4}}
C: Nested = {"q1": {"d2": 12, "d5": 11, "d6": 3, "d1": 1, "d4": 0.5}, "q2": {"d9": 6, "d7": 5.5, "d10": 2, "d8": 1}}
QRELS: Nested = {"q1": {"d1": 1, "d3": 2, "d6": 1, "d4": 0}, "q2": {"d8": 1, "d9": 1}}
WEIGHTS = (0.5, 0.3, 0.2)
PARAMS: dict[str, dict[str, float]] = {
    "gmnz": {"gamma": 2},
    "rbc": {"phi": 0.8},
    "slidefuse": {"w": 1},
    "probfuse": {"segments": 2},
}

# of three runs, as ranx 0.3.21 has them and a plain reading of each definition does too
NORMALISED = """
min-max | A | d1 1 d2 0.7142857143 d3 0.2857142857 d4 0 | d7 1 d8 0.5 d9 0
min-max | B | d3 1 d1 0.5 d5 0 | d8 1 d10 0
min-max | C | d2 1 d5 0.9130434783 d6 0.2173913043 d1 0.0434782609 d4 0 | d9 1 d7 0.9 d10 0.2 d8 0
min-max-inverted | A | d4 1 d3 0.7142857143 d2 0.2857142857 d1 0 | d9 1 d8 0.5 d7 0
min-max-inverted | B | d5 1 d1 0.5 d3 0 | d10 1 d8 0
min-max-inverted | C | d4 1 d1 0.9565217391 d6 0.7826086957 d5 0.0869565217 d2 0 | d8 1 d10 0.8 d7 0.1 d9 0
max | A | d1 1 d2 0.7777777778 d3 0.4444444444 d4 0.2222222222 | d7 1 d8 0.6 d9 0.2
max | B | d3 1 d1 0.6666666667 d5 0.3333333333 | d8 1 d10 0.5
max | C | d2 1 d5 0.9166666667 d6 0.25 d1 0.0833333333 d4 0.0416666667 | d9 1 d7 0.9166666667 d10 0.3333333333 d8 0.1666666667
sum | A | d1 0.5 d2 0.3571428571 d3 0.1428571429 d4 0 | d7 0.6666666667 d8 0.3333333333 d9 0
sum | B | d3 0.6666666667 d1 0.3333333333 d5 0 | d8 1 d10 0
sum | C | d2 0.46 d5 0.42 d6 0.1 d1 0.02 d4 0 | d9 0.4761904762 d7 0.4285714286 d10 0.0952380952 d8 0
zmuv | A | d1 1.2998673672 d2 0.5570860145 d3 -0.5570860145 d4 -1.2998673672 | d7 1.2247448714 d8 0 d9 -1.2247448714
zmuv | B | d3 1.2247448714 d1 0 d5 -1.2247448714 | d8 1 d10 -1
zmuv | C | d2 1.3052314095 d5 1.1044265772 d6 -0.5020120806 d1 -0.903621745 d4 -1.0040241611 | d9 1.0987983707 d7 0.8674723979 d10 -0.7518094116 d8 -1.2144613571
rank | A | d1 1 d2 0.75 d3 0.5 d4 0.25 | d7 1 d8 0.6666666667 d9 0.3333333333
rank | B | d3 1 d1 0.6666666667 d5 0.3333333333 | d8 1 d10 0.5
rank | C | d2 1 d5 0.8 d6 0.6 d1 0.4 d4 0.2 | d9 1 d7 0.75 d10 0.5 d8 0.25
borda | A | d1 1 d2 0.8333333333 d3 0.6666666667 d4 0.5 d5 0.25 d6 0.25 | d7 1 d8 0.75 d9 0.5 d10 0.25
borda | B | d3 1 d1 0.8333333333 d5 0.6666666667 d2 0.3333333333 d4 0.3333333333 d6 0.3333333333 | d8 1 d10 0.75 d7 0.375 d9 0.375
borda | C | d2 1 d5 0.8333333333 d6 0.6666666667 d1 0.5 d4 0.3333333333 d3 0.1666666667 | d9 1 d7 0.75 d10 0.5 d8 0.25
"""  # noqa: E501

FUSED = """
sum | min-max | d2 1.7142857143 d1 1.5434782609 d3 1.2857142857 d5 0.9130434783 d6 0.2173913043 d4 0 | d7 1.9 d8 1.5 d9 1 d10 0.2
anz | min-max | d2 0.8571428571 d3 0.6428571429 d1 0.5144927536 d5 0.4565217391 d6 0.2173913043 d4 0 | d7 0.95 d8 0.5 d9 0.5 d10 0.1
mnz | min-max | d1 4.6304347826 d2 3.4285714286 d3 2.5714285714 d5 1.8260869565 d6 0.2173913043 d4 0 | d8 4.5 d7 3.8 d9 2 d10 0.4
gmnz | min-max | d1 13.8913043478 d2 6.8571428571 d3 5.1428571429 d5 3.652173913 d6 0.2173913043 d4 0 | d8 13.5 d7 7.6 d9 4 d10 0.8
max | min-max | d1 1 d2 1 d3 1 d5 0.9130434783 d6 0.2173913043 d4 0 | d7 1 d8 1 d9 1 d10 0.2
min | min-max | d2 0.7142857143 d3 0.2857142857 d6 0.2173913043 d1 0.0434782609 d4 0 d5 0 | d7 0.9 d8 0 d9 0 d10 0
med | min-max | d2 0.8571428571 d3 0.6428571429 d1 0.5 d5 0.4565217391 d6 0.2173913043 d4 0 | d7 0.95 d8 0.5 d9 0.5 d10 0.1
wsum | min-max | d1 0.6586956522 d2 0.5571428571 d3 0.4428571429 d5 0.1826086957 d6 0.0434782609 d4 0 | d7 0.68 d8 0.55 d9 0.2 d10 0.04
wmnz | min-max | d1 1.5434782609 d2 1.2 d3 1.0285714286 d5 0.4565217391 d6 0.0434782609 d4 0 | d8 1.5 d7 1.33 d9 0.7 d10 0.1
mixed | min-max | d1 1.1408943363 d2 0.7879189848 d3 0.6262945776 d5 0.258247694 d6 0.0434782609 d4 0 | d7 0.9616652224 d8 0.9526279442 d9 0.2828427125 d10 0.0565685425
rrf | any | d1 0.0481474749 d2 0.0325224749 d3 0.0322664585 d5 0.0320020481 d4 0.0310096154 d6 0.0158730159 | d8 0.0481474749 d7 0.0325224749 d9 0.0322664585 d10 0.0320020481
rbc | any | d1 0.4624 d2 0.36 d3 0.328 d5 0.288 d4 0.18432 d6 0.128 | d8 0.4624 d7 0.36 d9 0.328 d10 0.288
isr | any | d1 3.9375 d2 2.5 d3 2.2222222222 d5 0.7222222222 d4 0.205 d6 0.1111111111 | d8 3.9375 d7 2.5 d9 2.2222222222 d10 0.7222222222
log_isr | any | d1 1.4419286289 d2 0.8664339757 d3 0.770163534 d5 0.2503031485 d4 0.071047586 d6 0 | d8 1.4419286289 d7 0.8664339757 d9 0.770163534 d10 0.2503031485
logn_isr | any | d1 1.4462963534 d2 0.8726684026 d3 0.7757052467 d5 0.2521042052 d4 0.071558809 d6 0.0011055923 | d8 1.4462963534 d7 0.8726684026 d9 0.7757052467 d10 0.2521042052
bordafuse | any | d1 14 d2 13 d3 11 d5 10.5 d6 7.5 d4 7 | d7 8.5 d8 8 d9 7.5 d10 6
w_bordafuse | any | d1 5.1 d2 4.3 d3 4 d5 2.95 d4 2.5 d6 2.15 | d7 3.05 d8 2.9 d9 2.25 d10 1.8
w_condorcet | any | d1 6 d2 5 d3 4 d5 3 d4 2 d6 1 | d7 4 d8 3 d9 2 d10 1
mapfuse | any | d1 0.9895833333 d2 0.7986111111 d3 0.7731481481 d5 0.4513888889 d4 0.2451388889 d6 0.1712962963 | d8 0.9965277778 d7 0.8263888889 d9 0.7037037037 d10 0.462962963
posfuse | any | d1 2 d3 2 d2 1 d6 0.5 d4 0 d5 0 | d8 2.5 d9 1.5 d10 1 d7 0.5
slidefuse | any | d1 1.5 d3 1.25 d4 1 d2 0.9166666667 d5 0.5833333333 d6 0.5 | d8 2.1666666667 d10 1.25 d9 1 d7 0.8333333333
probfuse | any | d1 1.75 d3 1.375 d2 0.9166666667 d4 0.625 d5 0.4166666667 d6 0.4166666667 | d8 1.75 d7 0.9166666667 d9 0.7916666667 d10 0.25
segfuse | none | d2 8.4 d1 5.28 d5 5.19 d3 2.57 d4 1.8 d6 1.6 | d7 5 d9 3.6 d8 2.94 d10 1.62
segfuse | min-max | d1 1.6673913043 d2 1.4857142857 d3 1.1142857143 d5 1.0652173913 d4 0.8 d6 0.4869565217 | d8 1.6 d7 1.56 d9 1.2 d10 0.78
bayesfuse | any | d1 -1.6582280766 d2 -7.7176849949 d4 -7.7176849949 d3 -8.1595177471 d5 -8.1595177471 d6 -14.2189746654 | d8 -1.6582280766 d7 -7.7176849949 d9 -7.7176849949 d10 -8.1595177471
sum | none | d2 19 d5 11.3 d1 10.6 d3 4.9 d6 3 d4 2.5 | d7 10.5 d9 7 d8 4.8 d10 2.4
mnz | none | d2 38 d1 31.8 d5 22.6 d3 9.8 d4 5 d6 3 | d7 21 d8 14.4 d9 14 d10 4.8
anz | none | d2 9.5 d5 5.65 d1 3.5333333333 d6 3 d3 2.45 d4 1.25 | d7 5.25 d9 3.5 d8 1.6 d10 1.2
min | none | d2 7 d6 3 d3 0.9 d1 0.6 d4 0.5 d5 0.3 | d7 5 d9 1 d8 0.8 d10 0.4
max | none | d2 12 d5 11 d1 9 d3 4 d6 3 d4 2 | d9 6 d7 5.5 d8 3 d10 2
med | none | d2 9.5 d5 5.65 d6 3 d3 2.45 d4 1.25 d1 1 | d7 5.25 d9 3.5 d10 1.2 d8 1
mnz | zmuv | d4 -4.6077830567 d6 -0.5020120806 |
"""  # noqa: E501


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def scores(cell: str) -> dict[str, float]:
    words = cell.split()
    return dict(zip(words[::2], map(float, words[1::2]), strict=True))


def fused(runs: Iterable[Any], method: str, norm: str | None = None, qrels: Any = QRELS, **params: float) -> Nested:
    """Runs fused with the weights and parameters of the cases, trained on their judgments where that is needed."""
    runs, chosen = list(runs), FUSION_METHODS[method]
    weights = WEIGHTS[: len(runs)] if chosen.weights == "needed" else None
    given = {**PARAMS.get(method, {}), **params}
    if chosen.learn:
        return fit(qrels, runs, method, norm=norm, **given).fuse(runs).to_dict()
    return fuse(runs, method, norm=norm, weights=weights, **given).to_dict()


@pytest.mark.parametrize(("norm", "run", "q1", "q2"), rows(NORMALISED), ids=lambda cell: cell[:16])
def test_normalised_scores_are_the_verified_ones(norm: str, run: str, q1: str, q2: str) -> None:
    which = "ABC".index(run)
    for query, expected in (("q1", scores(q1)), ("q2", scores(q2))):
        # the sum of one run's scores, with the others there but for nothing, so that candidates are those of all
        weights = [float(i == which) for i in range(3)]
        made = fuse([A, B, C], "wsum", norm=norm, weights=weights).to_dict()[query]
        assert {doc: made[doc] for doc in expected} == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("method", "norm", "q1", "q2"), rows(FUSED), ids=lambda cell: cell[:16])
def test_fused_scores_are_the_verified_ones(method: str, norm: str, q1: str, q2: str) -> None:
    made = fused([A, B, C], method, None if norm == "any" else norm)
    for query, expected in (("q1", scores(q1)), ("q2", scores(q2))):
        if len(expected) > 2:
            assert made[query].keys() == expected.keys()
        assert {doc: made[query][doc] for doc in expected} == pytest.approx(expected, abs=1e-9)


def test_what_is_learned_of_each_run_is_the_verified() -> None:
    def learned(method: str, **params: float) -> list[list[float]]:
        return [table.tolist() for table in fit(QRELS, [A, B, C], method, **params).recipe.learned]

    assert [row[0] for row in learned("mapfuse")] == pytest.approx([0.5694444444, 0.5833333333, 0.5138888889])
    assert learned("posfuse") == [[0.5, 0.5, 1.0, 0.0], [1.0, 0.5, 0.0], [0.5, 0.0, 0.5, 1.0, 0.0]]
    assert np.array(learned("probfuse", segments=2)) == pytest.approx(
        np.array([[0.5, 0.75], [1.0, 0.0], [5 / 12, 0.5]])
    )
    assert [row[0] for row in learned("segfuse")] == pytest.approx([0.4, 0.3, 0.4])
    odds = learned("bayesfuse")
    assert [row[0] for row in odds] == pytest.approx([-0.4054651081, -0.8472978604, -0.4054651081])
    assert [row[1] for row in odds] == pytest.approx([-6.9067547786] * 3)


# ranx itself


def made_up() -> tuple[Nested, list[Nested]]:
    """Judgments and runs without ties, with ids of one length, of which ranx gets everything right but condorcet."""
    rng = random.Random(7)
    docs = [f"d{i:03d}" for i in range(60)]
    runs: list[Nested] = [{} for _ in range(3)]
    qrels: Nested = {}
    for query in ("1", "2", "3", "4"):
        qrels[query] = {doc: float(rng.randint(0, 3)) for doc in rng.sample(docs, 25)}
        for run in runs:
            found = rng.sample(docs, rng.randint(10, 40))
            run[query] = dict(sorted(((doc, rng.uniform(-5, 20)) for doc in found), key=lambda pair: -pair[1]))
    return qrels, runs


def example_runs() -> list[Nested]:
    """Two of the bundled runs, with the queries that both have, as ranx takes no others.

    Those with a single document are left out: its min-max is 0 in ranx, and 1 here.
    """
    folder = Path(str(files("cranfield") / "example"))
    runs = [read_run(path).to_dict() for path in sorted(folder.glob("*.run"))[:2]]
    common = {query for query in runs[0].keys() & runs[1].keys() if all(len(run[query]) > 1 for run in runs)}
    return [{query: docs for query, docs in run.items() if query in common} for run in runs]


def votes(weights: Iterable[float]) -> list[list[Nested]]:
    """Runs of which every two documents have a majority, while no majorities go round in a circle."""
    rng = random.Random(3)
    docs = [f"d{i}" for i in range(7)]
    drawn = [[sorted(docs, key=lambda doc: docs.index(doc) + rng.gauss(0, 2)) for _ in range(3)] for _ in range(200)]
    return [
        [{"q": {doc: 9.0 - i for i, doc in enumerate(listed)}} for listed in lists]
        for lists in drawn
        if has_one_order(lists, list(weights))
    ]


def has_one_order(lists: list[list[str]], weights: Iterable[float]) -> bool:
    wins = dict.fromkeys(lists[0], 0)
    for x, y in combinations(lists[0], 2):
        margin = sum(w * (1 if a.index(x) < a.index(y) else -1) for a, w in zip(lists, weights, strict=True))
        if abs(margin) < 1e-9:
            return False
        wins[x if margin > 0 else y] += 1
    return len(set(wins.values())) == len(wins)


def case(qrels: Nested, runs: list[Nested], method: str, norm: str | None) -> Case:
    params: dict[str, Any] = dict(PARAMS.get(method, {}))
    if FUSION_METHODS[method].weights == "needed":
        params["weights"] = list(WEIGHTS)
    judged = qrels if FUSION_METHODS[method].learn else {}
    return {"qrels": judged, "runs": runs, "method": method, "norm": norm, "params": params}


def all_cases() -> dict[str, Case]:
    """Everything that ranx is asked for, as it takes seconds to start."""
    qrels, runs = made_up()
    cases = {method: case(qrels, runs, method, "min-max") for method in FUSION_METHODS if "condorcet" not in method}
    scored = [(method, norm) for method in ("sum", "mnz") for norm in NORMS if norm != "none"]
    cases |= {f"{method} {norm}": case(qrels, runs, method, norm) for method, norm in scored}
    for method, weights in (("condorcet", (1.0,) * 3), ("w_condorcet", WEIGHTS)):
        cases |= {f"{method} {i}": case({}, runs, method, None) for i, runs in enumerate(votes(weights))}
    return cases | {"example": case({}, example_runs(), "sum", "min-max")}


@pytest.fixture(scope="session")
def ranx() -> dict[str, Nested]:
    """What ranx makes of every case."""
    pytest.importorskip("ranx")
    cases = all_cases()
    return dict(zip(cases, fused_by_ranx(list(cases.values())), strict=True))


def assert_same(ours: Nested, theirs: Nested) -> None:
    assert ours.keys() == theirs.keys()
    for query in theirs:
        assert ours[query] == pytest.approx(theirs[query], abs=1e-9)


@pytest.mark.parametrize("method", [name for name in FUSION_METHODS if "condorcet" not in name])
def test_fused_scores_are_those_of_ranx(method: str, ranx: dict[str, Nested]) -> None:
    qrels, runs = made_up()
    assert_same(fused(runs, method, None, qrels), ranx[method])


@pytest.mark.parametrize("norm", [name for name in NORMS if name != "none"])
@pytest.mark.parametrize("method", ["sum", "mnz"])
def test_normalised_sums_are_those_of_ranx(method: str, norm: str, ranx: dict[str, Nested]) -> None:
    assert_same(fused(made_up()[1], method, norm), ranx[f"{method} {norm}"])


def test_the_example_fuses_as_in_ranx(ranx: dict[str, Nested]) -> None:
    assert_same(fused(example_runs(), "sum"), ranx["example"])


@pytest.mark.parametrize(("method", "weights"), [("condorcet", (1.0,) * 3), ("w_condorcet", WEIGHTS)])
def test_condorcet_is_that_of_ranx_where_majorities_make_one_order(
    method: str, weights: tuple[float, ...], ranx: dict[str, Nested]
) -> None:
    profiles = votes(weights)
    assert len(profiles) > 10
    for i, runs in enumerate(profiles):
        assert fused(runs, method) == ranx[f"{method} {i}"]


def test_every_method_and_normalisation_of_ranx_is_there() -> None:
    names = "min max med sum anz mnz gmnz isr log_isr logn_isr rrf posfuse probfuse segfuse slidefuse mapfuse bordafuse"
    names += " w_bordafuse condorcet w_condorcet bayesfuse mixed wmnz wsum rbc"
    assert set(FUSION_METHODS) == set(names.split()) and len(FUSION_METHODS) == 25
    assert set(NORMS) == {"min-max", "min-max-inverted", "max", "sum", "zmuv", "rank", "borda", "none"}


# Where ranx is wrong


def test_ids_of_different_lengths_fuse_without_normalisation() -> None:
    assert fused([A, B, C], "sum", "none")["q2"] == pytest.approx({"d7": 10.5, "d9": 7, "d8": 4.8, "d10": 2.4})


@pytest.mark.parametrize(("norm", "one"), [("min-max", 1.0), ("sum", 1.0), ("max", 1.0), ("zmuv", 0.0)])
def test_a_list_of_one_document_has_a_score(norm: str, one: float) -> None:
    assert fuse([{"q": {"d1": 3.0}}], "sum", norm=norm).to_dict() == {"q": {"d1": one}}


@pytest.mark.parametrize(
    ("norm", "each"), [("min-max", 1.0), ("min-max-inverted", 1.0), ("sum", 1 / 3), ("max", 1.0), ("zmuv", 0.0)]
)
def test_equal_scores_have_a_defined_normalisation(norm: str, each: float) -> None:
    made = fuse([{"q": {"a": 0.1, "b": 0.1, "c": 0.1}}], "sum", norm=norm).to_dict()["q"]
    assert made == pytest.approx({"a": each, "b": each, "c": each}, abs=0)


def test_found_once_counts_for_something() -> None:
    made = fuse([{"q": {"d1": 3.0}}, {"q": {"d2": 5.0, "d3": 4.0}}], "sum").to_dict()["q"]
    assert made == {"d2": 1.0, "d1": 1.0, "d3": 0.0}


def test_max_keeps_the_order_of_negative_scores() -> None:
    assert fuse([{"q": {"a": -1.0, "b": -0.5}}], "sum", norm="max").to_dict()["q"] == {"b": -1.0, "a": -2.0}
    assert fuse([{"q": {"a": 0.0, "b": -3.0}}], "sum", norm="max").to_dict()["q"] == {"a": 0.0, "b": -3.0}


def test_scores_below_zero_are_told_where_absence_counts_more() -> None:
    runs = [{"q": {"a": -1.0, "b": -2.0}}, {"q": {"c": 1.0}}]
    assert any("2 scores of" in note and "below 0" in note for note in fuse(runs, "sum", norm="none").notes)
    assert not fuse(runs, "sum", norm="min-max").notes
    assert not fuse(runs, "max", norm="none").notes
    assert any("below 0" in note for note in fuse([A, B, C], "mnz", norm="zmuv").notes)


def test_sentinels_do_not_show_in_extremes() -> None:
    runs = [{"q": {"a": 5e9, "b": -5e9}}, {"q": {"c": 0.0}}]
    assert fuse(runs, "min", norm="none").to_dict()["q"] == {"a": 5e9, "c": 0.0, "b": -5e9}
    assert fuse(runs, "max", norm="none").to_dict()["q"] == {"a": 5e9, "c": 0.0, "b": -5e9}


def test_condorcet_puts_first_what_a_majority_does() -> None:
    # two of three runs have d7 above d8, which ranx puts below
    assert list(fused([A, B, C], "condorcet")["q2"]) == ["d7", "d8", "d9", "d10"]
    assert fused([A, B, C], "condorcet")["q1"] == {"d1": 6, "d2": 5, "d3": 4, "d5": 3, "d6": 2, "d4": 1}


def test_condorcet_keeps_what_each_of_two_disjoint_lists_says() -> None:
    made = list(fuse([{"q": {"a": 2.0, "b": 1.0}}, {"q": {"c": 2.0, "d": 1.0}}], "condorcet").to_dict()["q"])
    assert made == ["c", "a", "d", "b"]


def test_a_circle_of_majorities_has_one_order() -> None:
    lists = ["abc", "bca", "cab"]
    runs: list[Nested] = [{"q": {doc: 3.0 - i for i, doc in enumerate(listed)}} for listed in lists]
    orders = {tuple(fuse([runs[i] for i in p], "condorcet").to_dict()["q"]) for p in ([0, 1, 2], [2, 0, 1], [1, 0, 2])}
    assert len(orders) == 1


def test_votes_of_a_tenth_and_two_tenths_are_even_with_three() -> None:
    up, down = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}
    made = fuse([up, up, down], "w_condorcet", weights=[0.1, 0.2, 0.3]).to_dict()["q"]
    assert list(made) == ["b", "a"]  # by id, as in every tie


def test_ties_in_a_run_are_ranked_by_id_whatever_the_order_of_its_lines() -> None:
    other: Nested = {"q": {"m": 2.0, "a": 1.0}}
    one = fuse([{"q": {"z": 1.0, "a": 1.0, "m": 1.0}}, other]).to_dict()
    assert one == fuse([{"q": {"a": 1.0, "m": 1.0, "z": 1.0}}, other]).to_dict()
    assert one["q"] == pytest.approx({"m": 1 / 62 + 1 / 61, "a": 1 / 63 + 1 / 62, "z": 1 / 61})


def test_ties_of_the_fused_run_are_in_the_order_of_an_evaluation() -> None:
    made = fuse([{"q": {"a": 1.0}}, {"q": {"b": 1.0}}, {"q": {"c": 1.0}}]).to_dict()["q"]
    assert list(made) == ["c", "b", "a"]


def test_documents_with_the_same_ranks_tie_exactly_from_whichever_runs() -> None:
    lists = ["abc", "bca", "cab"]
    runs: list[Nested] = [{"q": {doc: 3.0 - i for i, doc in enumerate(listed)}} for listed in lists]
    for method in ("rrf", "isr", "logn_isr", "rbc", "bordafuse"):
        assert len(set(fuse(runs, method).to_dict()["q"].values())) == 1


def test_the_grid_of_weights_is_complete() -> None:
    assert [len(weight_grid(runs, 0.1)) for runs in (2, 3, 4)] == [11, 66, 286]
    assert {(0.7, 0.2, 0.1), (0.6, 0.3, 0.1), (0.2, 0.7, 0.1), (0.3, 0.6, 0.1)} <= set(weight_grid(3, 0.1))
    assert all(math.isclose(sum(weights), 1, abs_tol=1e-12) for weights in weight_grid(4, 0.1))


def test_bayesfuse_gives_no_rank_more_than_those_above_the_last_segment() -> None:
    long = {"q": {f"d{i:04d}": float(2000 - i) for i in range(1500)}}
    made = fit({"q": {"d0000": 1, "d0007": 1}}, [long], "bayesfuse").fuse([long]).to_dict()["q"]
    assert max(made[f"d{i:04d}"] for i in range(1000, 1500)) <= min(made[f"d{i:04d}"] for i in range(1000))


# Missing queries, depth, errors


def test_queries_that_some_runs_lack_are_kept_and_told() -> None:
    run = fuse({"one": {"1": {"a": 1.0}, "10": {"a": 1.0}}, "other": {"2": {"b": 1.0}}})
    assert run.queries == ("1", "2", "10")
    assert run.notes == (
        "one lacks 1 of 3 queries ('2'): only the other runs are fused there.",
        "other lacks 2 of 3 queries ('1', '10'): only the other runs are fused there.",
    )


@pytest.mark.parametrize("method", FUSION_METHODS)
def test_queries_without_documents_are_kept(method: str) -> None:
    runs: list[Nested] = [{"1": {"a": 1.0}, "2": {}, "3": {}}, {"1": {}, "2": {"b": 2.0, "c": 1.0}, "3": {}}]
    made = fused(runs, method, qrels={"1": {"a": 1.0}, "2": {"c": 1.0}, "3": {"x": 1.0}})
    assert {query: set(docs) for query, docs in made.items()} == {"1": {"a"}, "2": {"b", "c"}, "3": set()}
    assert all(math.isfinite(score) for docs in made.values() for score in docs.values())


def test_runs_without_any_query_fuse_to_nothing() -> None:
    assert fuse([{}, {}]).to_dict() == {}


def test_one_run_need_not_be_in_a_list() -> None:
    run = fuse([A])
    assert fuse(run).to_dict() == run.to_dict() and fuse({"a": A}).to_dict() == run.to_dict()


def test_what_is_left_out_below_the_depth_is_told() -> None:
    run = fuse([A, B, C], depth=2)
    assert {query: len(docs) for query, docs in run.to_dict().items()} == {"q1": 2, "q2": 2}
    assert run.notes == ("6 documents below rank 2 left out.",)


def test_a_normalisation_that_changes_nothing_is_told() -> None:
    assert fuse([A, B], "rrf", norm="zmuv").notes == ("--norm zmuv has no effect: rrf uses only ranks.",)


def test_distances_are_turned_round_for_ranks_too() -> None:
    assert list(fuse([{"q": {"far": 9.0, "near": 1.0}}], "rrf", norm="min-max-inverted").to_dict()["q"]) == [
        "near",
        "far",
    ]


def test_weighted_rrf_is_a_weighted_sum() -> None:
    made = fuse([{"q": {"a": 1.0}}, {"q": {"b": 1.0}}], "rrf", weights=[3, 1]).to_dict()["q"]
    assert made == pytest.approx({"a": 3 / 61, "b": 1 / 61})


def test_methods_and_normalisations_go_by_several_names() -> None:
    assert find_method("CombMNZ").name == "mnz" and find_method("Borda").name == "bordafuse"
    assert find_norm("Min_Max").name == "min-max" and find_norm("z-score").name == "zmuv"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fuse([A, B], "rff"), "unknown fusion method 'rff'. Did you mean rrf?"),
        (lambda: fuse([A, B], "sum", norm="zmuw"), "unknown normalisation 'zmuw'. Did you mean zmuv?"),
        (lambda: fuse([A, B], "wsum"), "wsum needs weights"),
        (lambda: fuse([A, B], "wsum", weights=[1]), "1 weight for 2 runs"),
        (lambda: fuse([A, B], "wsum", weights=[0, 0]), "not all of them 0"),
        (lambda: fuse([A, B], "wsum", weights=[1, -1]), "numbers from 0"),
        (lambda: fuse([A, B], "wsum", weights=[1, math.nan]), "numbers from 0"),
        (lambda: fuse([A, B], "sum", weights=[1, 1]), "sum takes no weights. Use wsum instead."),
        (lambda: fuse([A, B], "rrf", phi=1), "rrf has no parameter 'phi': it has k"),
        (lambda: fuse([A, B], "rrf", k=-1), "k=-1 is out of range: expected a number from 0"),
        (lambda: fuse([A, B], "rbc", phi=1), "phi=1 is out of range"),
        (lambda: fuse([A, B], "posfuse"), "posfuse learns from judgments"),
        (lambda: fuse([]), "there are no runs to fuse"),
        (lambda: fuse([{"q": {"a": 1e308}}] * 2, "sum", norm="none"), "scores overflow"),
        (lambda: fit(QRELS, [A, B], "sum"), "sum has nothing to learn"),
        (lambda: fit(QRELS, [A, B], "rrf", k=60), "rrf has nothing to learn (all parameters are set)"),
        (lambda: fit(QRELS, [A, B], "wsum", step=0.3), "--step 0.3: expected a fraction that divides 1"),
        (lambda: fit(QRELS, [A] * 10, "wsum"), "92,378 weights of 10 runs"),
        (lambda: fit(QRELS, [A, B], "wsum", measure="NumRel"), "cannot optimise NumRel"),
        (lambda: cross_fuse(QRELS, [A, B], "wsum", folds=3), "3 folds of 2 queries"),
        (lambda: fit(QRELS, [A, B, C], "posfuse").fuse([A, B]), "trained on 3 runs, not on 2"),
    ],
)
def test_what_cannot_be_done_is_said(call: Callable[[], object], words: str) -> None:
    with pytest.raises(CranfieldError, match=".*") as error:
        call()
    assert words in str(error.value)


def test_judgments_of_other_queries_are_refused() -> None:
    with pytest.raises(EvaluationError, match="none of the queries in the runs is judged"):
        fit({"x": {"a": 1}}, [A, B], "wsum")


# Learning


def collection(topics: int = 20, seed: int = 5) -> tuple[Nested, list[Nested]]:
    """Judgments, a good run, a fair one, and a useless one."""
    rng = random.Random(seed)
    docs = [f"d{i:02d}" for i in range(30)]
    qrels: Nested = {}
    runs: list[Nested] = [{}, {}, {}]
    for topic in map(str, range(1, topics + 1)):
        relevant = set(rng.sample(docs, 6))
        qrels[topic] = {doc: float(doc in relevant) for doc in docs}
        for run, signal in zip(runs, (1.5, 0.8, 0.0), strict=True):
            run[topic] = {doc: signal * (doc in relevant) + rng.gauss(0, 1) for doc in rng.sample(docs, 20)}
    return qrels, runs


@pytest.mark.parametrize("method", ["wsum", "rrf", "posfuse", "w_bordafuse"])
@pytest.mark.parametrize("measure", ["nDCG@10", "AP"])
def test_the_score_of_what_was_learned_is_that_of_an_evaluation(method: str, measure: str) -> None:
    qrels, runs = collection()
    learned = fit(qrels, runs, method, measure=measure)
    assert learned.score == evaluate(qrels, learned.fuse(runs), [measure]).mean(measure)
    alone = [evaluate(qrels, run, [measure]).mean(measure) for run in runs]
    assert learned.run_scores == pytest.approx(alone) and learned.best_run[1] == max(alone)


def test_learned_weights_are_the_best_of_the_grid() -> None:
    qrels, runs = collection()
    learned = fit(qrels, runs, "wsum", measure="AP", step=0.25)
    tried = {w: evaluate(qrels, fuse(runs, "wsum", weights=w), ["AP"]).mean("AP") for w in weight_grid(3, 0.25)}
    assert learned.score == max(tried.values()) == tried[learned.recipe.weights or ()]
    assert learned.tried == len(tried) == 15


def test_of_weights_that_are_as_good_the_most_even_are_taken() -> None:
    same = {"q": {"a": 2.0, "b": 1.0}}
    assert fit({"q": {"a": 1}}, [same, same], "wsum").recipe.weights == (0.5, 0.5)
    assert fit({"q": {"a": 1}}, [same, same], "rrf").recipe.params == {"k": 60}


def test_less_can_be_better() -> None:
    qrels, runs = collection()
    learned = fit(qrels, runs, "wsum", measure="SearchLength(wanted=1)", step=0.5)
    tried = [
        evaluate(qrels, fuse(runs, "wsum", weights=w), ["SearchLength(wanted=1)"]).mean("SearchLength(wanted=1)")
        for w in weight_grid(3, 0.5)
    ]
    assert learned.score == min(tried)


def test_the_depth_counts_in_learning() -> None:
    qrels, runs = collection()
    learned = fit(qrels, runs, "wsum", measure="AP", depth=5, step=0.5)
    assert learned.score == evaluate(qrels, learned.fuse(runs, depth=5), ["AP"]).mean("AP")


def test_portions_of_queries_make_no_difference_to_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, runs = collection()
    whole = {m: fit(qrels, runs, m, **PARAMS.get(m, {})) for m in ("wsum", "mapfuse", "probfuse")}
    monkeypatch.setattr("cranfield.fusion.candidates.gather_candidates.__defaults__", (False, 100))
    for method, learned in whole.items():
        again = fit(qrels, runs, method, **PARAMS.get(method, {}))
        assert again.score == learned.score
        assert again.fuse(runs).to_dict() == learned.fuse(runs).to_dict()


@pytest.mark.parametrize("method", ["wsum", "posfuse", "slidefuse"])
def test_held_out_topics_are_fused_as_learned_from_the_others(method: str) -> None:
    qrels, runs = collection(10)
    crossed = cross_fuse(qrels, runs, method, folds=5, measure="AP", **({"w": 2} if method == "slidefuse" else {}))
    assert sorted(query for fold in crossed.held_out for query in fold) == sorted(qrels)
    for learned, held_out in zip(crossed.folds, crossed.held_out, strict=True):
        assert not set(held_out) & set(learned.queries)
        others = {query: qrels[query] for query in learned.queries}
        again = fit(others, runs, method, measure="AP", **({"w": 2} if method == "slidefuse" else {}))
        assert again.recipe.description == learned.recipe.description and again.score == learned.score
        for query in held_out:
            assert crossed.run.to_dict()[query] == again.fuse(runs).to_dict()[query]
    assert crossed.score == pytest.approx(evaluate(qrels, crossed.run, ["AP"]).mean("AP"), abs=1e-15)


def test_held_out_judgments_do_not_matter_to_their_own_topics() -> None:
    qrels, runs = collection(10)
    crossed = cross_fuse(qrels, runs, "wsum", folds=2, measure="AP")
    changed = {
        q: {d: 1 - g for d, g in docs.items()} if q in crossed.held_out[0] else docs for q, docs in qrels.items()
    }
    again = cross_fuse(changed, runs, "wsum", folds=2, measure="AP")
    for query in crossed.held_out[0]:
        assert again.run.to_dict()[query] == crossed.run.to_dict()[query]


def test_topics_without_judgments_are_fused_as_learned_from_all() -> None:
    qrels, runs = collection(10)
    judged = {query: qrels[query] for query in list(qrels)[:8]}
    crossed = cross_fuse(judged, runs, "wsum", folds=4)
    assert crossed.run.queries == tuple(map(str, range(1, 11)))
    assert crossed.run.to_dict()["10"] == crossed.whole.fuse(runs).to_dict()["10"]


def test_folds_depend_on_the_seed_and_not_on_the_order() -> None:
    topics = [str(i) for i in range(1, 13)]
    assert split_folds(topics, 5, 1) == split_folds(topics[::-1], 5, 1) != split_folds(topics, 5, 2)
    assert sorted(map(len, split_folds(topics, 5))) == [2, 2, 2, 3, 3]


# Properties

IDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"]) | st.sampled_from("\udc80\udcff"), min_size=1, max_size=3
)
LISTS = st.dictionaries(IDS, st.floats(-1e6, 1e6, allow_subnormal=False), max_size=8)
RUNS = st.lists(st.dictionaries(st.sampled_from(["1", "2", "10"]), LISTS, max_size=3), min_size=1, max_size=4)
SYMMETRIC = [name for name, method in FUSION_METHODS.items() if not method.learn and method.weights != "needed"]


@examples(60)
@given(RUNS, st.sampled_from(SYMMETRIC), st.sampled_from(sorted(NORMS)), st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_matter(runs: list[Nested], method: str, norm: str, rng: random.Random) -> None:
    shuffled = runs[:]
    rng.shuffle(shuffled)
    one, other = fuse(runs, method, norm=norm), fuse(shuffled, method, norm=norm)
    assert [(q, list(d.items())) for q, d in one.to_dict().items()] == [
        (q, list(d.items())) for q, d in other.to_dict().items()
    ]


@examples(60)
@given(LISTS, st.sampled_from(SYMMETRIC))
def test_one_run_keeps_its_order(docs: dict[str, float], method: str) -> None:
    if method == "log_isr":  # the logarithm of one run is 0
        return
    kept = fuse([{"q": {doc: float(round(score)) for doc, score in docs.items()}}], method)
    before = Run.from_rows(["q"] * len(docs), list(docs), [float(round(s)) for s in docs.values()])
    expected = sorted(
        range(len(docs)), key=lambda i: (before.scores[i], before.docs[i].encode("utf-8", "surrogateescape"))
    )
    assert list(kept.docs) == [before.docs[i] for i in reversed(expected)]


@examples(60)
@given(RUNS, st.sampled_from(sorted(FUSION_METHODS)), st.sampled_from(sorted(NORMS)))
def test_every_document_is_there_once_with_a_number(runs: list[Nested], method: str, norm: str) -> None:
    chosen = FUSION_METHODS[method]
    if chosen.learn:
        qrels = {query: dict.fromkeys(list(docs)[:2], 1.0) for run in runs for query, docs in run.items()}
        if not qrels:
            return
        made = fit(qrels, runs, method, norm=norm, **PARAMS.get(method, {})).fuse(runs)
    else:
        weights = [1.0] * len(runs) if chosen.weights == "needed" else None
        made = fuse(runs, method, norm=norm, weights=weights)
    for query, docs in made.to_dict().items():
        assert docs.keys() == {doc for run in runs for doc in run.get(query, {})}
    assert np.isfinite(made.scores).all()
    assert all(np.all(np.diff(made.scores[made.rows_of(i)]) <= 0) for i in range(len(made.queries)))


@examples(40)
@given(st.lists(st.permutations("abcdef"), min_size=1, max_size=5))
def test_no_document_stands_right_below_one_that_a_majority_puts_below_it(lists: list[list[str]]) -> None:
    runs: list[Nested] = [{"q": {doc: -float(i) for i, doc in enumerate(listed)}} for listed in lists]
    order = list(fuse(runs, "condorcet").to_dict()["q"])
    votes = {(x, y): sum(a.index(x) < a.index(y) for a in lists) for x in order for y in order if x != y}
    assert all(votes[x, y] >= votes[y, x] for x, y in zip(order, order[1:], strict=False))
    winner = [x for x in order if all(votes[x, y] > votes[y, x] for y in order if y != x)]
    assert not winner or order[0] == winner[0]


def test_portions_of_queries_make_no_difference() -> None:
    _, runs = collection(12)
    given_runs = [fuse([run], "sum", norm="none") for run in runs]
    for method in ("rrf", "sum", "condorcet", "bordafuse"):
        recipe = make_recipe(method, 3)
        whole = list(gather_candidates(given_runs, all_queries(given_runs)))
        parts = list(gather_candidates(given_runs, all_queries(given_runs), cells=150))
        assert len(whole) == 1 < len(parts)
        assert np.array_equal(recipe.scores(whole[0]), np.concatenate([recipe.scores(part) for part in parts]))


@pytest.mark.parametrize("norm", ["min-max", "max", "sum", "zmuv"])
def test_huge_and_tiny_scores_do_not_overflow(norm: str) -> None:
    for scale in (1.7e308, 1e-300):
        made = fuse([{"q": {"a": scale, "b": scale / 2, "c": -scale}}], "sum", norm=norm).to_dict()["q"]
        plain = fuse([{"q": {"a": 1.0, "b": 0.5, "c": -1.0}}], "sum", norm=norm).to_dict()["q"]
        assert made == pytest.approx(plain)
