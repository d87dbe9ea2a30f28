"""Feedback: what documents add to a query, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cranfield.data.collection import Document, Run
from cranfield.errors import CranfieldError
from cranfield.fusion import fuse
from cranfield.lab.feedback import RM3, BestSubset, FusedSubsets, Rocchio, SparckJones, scaled, subsets_of, summed
from cranfield.lab.index import Index, build
from cranfield.lab.models import BM25, Dirichlet
from cranfield.lab.systems import as_run, system_named
from cranfield.text.analysis import Analysis

TEXTS = ["aa aa bb cc", "aa bb bb dd", "ee ff", "cc ee", "gg gg gg", "hh"]


@pytest.fixture
def index() -> Index:
    analysis = Analysis(stemmer="none", stop_words="none")
    return build((Document(f"d{i}", text) for i, text in enumerate(TEXTS)), analysis)


def named(index: Index, query: dict[int, float]) -> dict[str, float]:
    return {index.terms[term]: weight for term, weight in query.items()}


def test_rm3_mixes_the_shares_of_terms_by_the_scores_of_documents(index: Index) -> None:
    feedback = RM3(terms=3, weight=0.5)
    found = feedback.expanded(index, index.query("aa"), np.array([0, 1]), np.array([3.0, 1.0]))
    # d0 has aa .5 bb .25 cc .25, d1 bb .5 aa .25 dd .25; three terms of the mixture remain
    raw = {"aa": 3 * 0.5 + 0.25, "bb": 3 * 0.25 + 0.5, "cc": 3 * 0.25}
    whole = sum(raw.values())
    expected = {term: 0.5 * weight / whole + (0.5 if term == "aa" else 0) for term, weight in raw.items()}
    assert named(index, found) == pytest.approx(expected)
    assert math.fsum(found.values()) == pytest.approx(1)


def test_rm3_takes_logarithms_of_chances_as_chances(index: Index) -> None:
    logs = RM3().expanded(index, index.query("aa"), np.array([0, 1]), np.log([0.6, 0.2]))
    plain = RM3().expanded(index, index.query("aa"), np.array([0, 1]), np.array([0.6, 0.2]))
    assert logs == pytest.approx(plain)


def test_rocchio_moves_the_query_towards_the_mean_of_documents(index: Index) -> None:
    found = named(index, Rocchio(terms=1).expanded(index, index.query("ee"), np.array([2]), np.ones(1)))
    idf = {term: math.log1p(6 / df) for term, df in (("ee", 2), ("ff", 1))}
    norm = math.hypot(*idf.values())
    assert found == pytest.approx({"ee": 1 / idf["ee"] + 0.75 / norm, "ff": 0.75 / norm})


def test_relevance_weights_are_those_of_robertson_and_sparck_jones(index: Index) -> None:
    model = SparckJones().model(index, BM25(k1=0.0, b=0.0), [0, 1])
    ((docs, scores),) = model.search(index, [index.query("bb")], 10)
    # in both relevant documents and in no other: log(2.5 / .5 / (.5 / 4.5))
    assert dict(zip(docs.tolist(), scores.tolist(), strict=True)) == pytest.approx({0: math.log(45), 1: math.log(45)})
    assert isinstance(SparckJones().model(index, Dirichlet(), [0]), BM25)
    expanded = named(index, SparckJones(terms=1).expanded(index, index.query("aa"), np.array([0, 1]), np.ones(2)))
    assert expanded == {"aa": 1.0, "bb": 1 / 3}


def test_weights_add_up_to_one_unless_there_are_none() -> None:
    assert scaled({1: 3.0, 2: 1.0}) == {1: 0.75, 2: 0.25} and scaled({}) == {}


def test_all_subsets_are_taken_where_there_are_few_and_some_where_there_are_many() -> None:
    assert subsets_of(3, 7) == [(0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,)]
    assert subsets_of(1, 63) == [(0,)] and subsets_of(0, 63) == []
    drawn = subsets_of(12, 63)
    assert len(set(drawn)) == 63 and drawn[0] == tuple(range(12)) and () not in drawn
    assert drawn == subsets_of(12, 63) and [-len(part) for part in drawn] == sorted(-len(part) for part in drawn)
    assert subsets_of(3, 6)[0] == (0, 1, 2) and len(set(subsets_of(3, 6))) == 6
    assert subsets_of(40, 1) == [tuple(range(40))]


def test_sums_are_those_of_combsum_with_min_max_scores() -> None:
    rng = np.random.default_rng(6)
    ids = [f"d{i:02}" for i in range(20)]
    rankings = []
    for _ in range(5):
        docs = rng.permutation(20)[: rng.integers(1, 15)]
        rankings.append((docs, np.sort(rng.standard_normal(len(docs)))[::-1]))
    rankings.append((np.array([3, 4]), np.array([2.0, 2.0])))
    runs = [as_run(ids, ["1"], [ranked], f"r{i}") for i, ranked in enumerate(rankings)]
    expected: Run = fuse(runs, "combsum", norm="min-max")
    docs, sums = summed(rankings)
    assert {ids[d]: s for d, s in zip(docs.tolist(), sums.tolist(), strict=True)} == pytest.approx(
        expected.to_dict()["1"], abs=1e-9
    )
    assert summed([(np.empty(0, np.int64), np.empty(0))])[0].tolist() == []
    assert summed([(np.array([5, 2]), np.array([1.0, 1.0]))])[0].tolist() == [2, 5]  # the order of the collection


def test_many_subsets_are_searched_with_one_by_one_and_fused(index: Index) -> None:
    query, docs = index.query("aa"), np.array([0, 1])
    rankings = []
    for part in ([0, 1], [0], [1]):
        better = RM3().expanded(index, query, docs[part], np.ones(len(part)))
        rankings += BM25().search(index, [better], 10)
    expected = summed(rankings, 3)
    found = FusedSubsets().search(index, BM25(), query, docs, np.ones(2), 3)
    assert found[0].tolist() == expected[0].tolist() and found[1].tolist() == expected[1].tolist()


def test_the_best_subset_is_the_one_that_ranks_what_is_given_best(index: Index) -> None:
    # d4 says nothing but gg, which leads away from d0: from d0 alone all three are found in the better order
    query, given = index.query("ee"), np.array([2, 3, 4])
    values = {}
    for part in subsets_of(3, 7):
        better = RM3().expanded(index, query, given[list(part)], np.ones(len(part)))
        ((docs, scores),) = BM25().search(index, [better], 10)
        ranks = [i for i, doc in enumerate(docs.tolist(), 1) if doc in given]
        values[part] = (sum(j / rank for j, rank in enumerate(ranks, 1)) / 3, docs.tolist(), scores.tolist())
    best = max(value for value, _, _ in values.values())
    chosen = next(part for part, (value, _, _) in values.items() if value == pytest.approx(best))
    docs, scores = BestSubset().search(index, BM25(), query, given, np.ones(3), 2)
    assert docs.tolist() == values[chosen][1][:2] and scores.tolist() == values[chosen][2][:2]
    assert len({round(value, 9) for value, _, _ in values.values()}) > 1  # there is something to choose


def test_of_one_document_there_is_one_subset() -> None:
    index = build([Document("a", "red lamp"), Document("b", "lamp oil"), Document("c", "oil")])
    runs = [
        system_named(f"bm25+{kind}").search(index, {"1": "red"}, relevant={"1": ["b"]}).to_dict()["1"]
        for kind in ("rm3", "rm3-best", "rm3-fused")
    ]
    assert runs[0] == runs[1] and list(runs[0]) == list(runs[2])


def test_subsets_serve_without_judgments_too_and_there_must_be_one() -> None:
    index = build([Document("a", "red lamp"), Document("b", "lamp oil"), Document("c", "oil")])
    assert "c" in system_named("bm25+rm3-fused:subsets=2").search(index, {"1": "lamp"}).to_dict()["1"]
    with pytest.raises(CranfieldError, match="rm3-fused: subsets=0 is out of range"):
        system_named("bm25+rm3-fused:subsets=0")
