"""Feedback: what documents add to a query, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cranfield.analysis import Analysis
from cranfield.collection import Document
from cranfield.lab.feedback import RM3, Rocchio, SparckJones, scaled
from cranfield.lab.index import Index, build
from cranfield.lab.models import BM25, Dirichlet

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
