"""Maximal marginal relevance, against the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Document
from cranfield.errors import CranfieldError
from cranfield.lab.diversity import MMR, by_vectors, by_words, greedy
from cranfield.lab.index import build
from cranfield.lab.systems import system_named
from cranfield.text.analysis import Analysis


def by_definition(relevance: list[float], similar: list[list[float]], weight: float) -> list[int]:
    """Of the documents left, the first with the highest marginal relevance, again and again."""
    taken: list[int] = []
    left = list(range(len(relevance)))
    while left:
        values = {
            d: weight * relevance[d] - (1 - weight) * max((similar[d][e] for e in taken), default=0.0) for d in left
        }
        chosen = next(d for d in left if values[d] == max(values.values()))
        taken.append(chosen)
        left.remove(chosen)
    return taken


@given(st.data())
def test_the_order_is_that_of_the_definition(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 9))
    numbers = st.integers(-4, 4).map(lambda x: x / 4)
    relevance = data.draw(st.lists(numbers, min_size=n, max_size=n))
    drawn = data.draw(st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=n, max_size=n))
    similar = np.triu(np.array(drawn)) + np.triu(np.array(drawn), 1).T
    weight = data.draw(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
    expected = by_definition(relevance, similar.tolist(), weight)
    assert greedy(np.array(relevance), similar, weight) == expected


def test_an_example_worked_by_hand() -> None:
    # b says what a says; with equal weights c, though less relevant, comes before it
    relevance, similar = np.array([1.0, 0.9, 0.5]), np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert greedy(relevance, similar, 0.5) == [0, 2, 1]  # .5, then .25 against −.05
    assert greedy(relevance, similar, 0.8) == [0, 1, 2] and greedy(relevance, similar, 1.0) == [0, 1, 2]


DOCS = [
    Document("a", "red bicycle lamp lamp"),
    Document("b", "red bicycle lamp lamp"),
    Document("c", "lamp oil"),
    Document("d", "lamp"),
    Document("e", "steam engine"),
    Document("f", ""),
]


def test_words_are_compared_as_tfidf_does() -> None:
    index = build(DOCS, Analysis(stemmer="none", stop_words="none"))
    like = by_words(index)(np.arange(6))
    idf = {w: math.log1p(6 / df) for w, df in (("red", 2), ("bicycle", 2), ("lamp", 4), ("oil", 1))}
    a = {"red": idf["red"], "bicycle": idf["bicycle"], "lamp": (1 + math.log(2)) * idf["lamp"]}
    c = {"lamp": idf["lamp"], "oil": idf["oil"]}
    expected = a["lamp"] * c["lamp"] / math.hypot(*a.values()) / math.hypot(*c.values())
    assert like[0, 2] == pytest.approx(expected, abs=1e-11) and like[0, 1] == 1.0
    assert like[0, 4] == 0 and not like[5].any()  # a document without words is like nothing


def test_vectors_are_compared_by_cosine() -> None:
    like = by_vectors(np.array([3, 5, 8]), np.array([[1.0, 0.0], [2.0, 2.0], [0.0, 0.0]]))
    assert like(np.array([5, 3])) == pytest.approx(np.array([[1.0, math.sqrt(0.5)], [math.sqrt(0.5), 1.0]]))
    assert not like(np.array([8, 3]))[0].any()


@pytest.mark.parametrize("first", ["bm25", "bm25+rm3", "lm", "lsi:k=2", "tfidf"])
def test_any_system_can_be_made_diverse_and_the_order_survives(first: str) -> None:
    index = build(DOCS)
    queries = {"1": "red lamp", "2": "zeppelin", "3": "engine"}
    plain = system_named(first).search(index, queries)
    diverse = system_named(f"{first}+mmr:lambda=0.5").search(index, queries)
    assert diverse.tag == f"{first}+mmr:lambda=0.5" and diverse.queries == plain.queries
    for query in queries:
        before, after = plain.to_dict()[query], diverse.to_dict()[query]
        assert sorted(before) == sorted(after) and all(np.diff(list(after.values())) < 0)
        docs = [index.doc_numbers[doc] for doc in before]
        if docs:
            scores = np.array(list(before.values()))
            low, high = scores.min(), scores.max()
            relevance = ((scores - low) / (high - low)).tolist() if high > low else [1.0] * len(docs)
            order = by_definition(relevance, by_words(index)(np.array(docs)).tolist(), 0.5)
            assert list(after) == [list(before)[i] for i in order]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("bm25", ["a", "b", "d", "c"]),
        ("bm25+mmr:lambda=0.3", ["a", "c", "d", "b"]),  # b says what a says
        ("bm25+mmr:lambda=0.1,docs=3", ["a", "d", "b", "c"]),
        ("bm25+mmr:lambda=0.3,docs=2", ["a", "b", "d", "c"]),
        ("bm25+mmr:lambda=0.3,docs=0", ["a", "b", "d", "c"]),
        ("bm25+mmr:lambda=1", ["a", "b", "d", "c"]),
    ],
)
def test_duplicates_part_and_what_is_below_stays(name: str, expected: list[str]) -> None:
    found = system_named(name).search(build(DOCS), {"1": "red lamp"})
    assert list(found.to_dict()["1"]) == expected


def test_a_shallow_run_is_the_top_of_a_deep_one() -> None:
    """Documents are put into a new order before the run is cut, not after."""
    index = build(DOCS)
    deep = list(system_named("bm25+mmr:lambda=0.3").search(index, {"1": "red lamp"}).to_dict()["1"])
    shallow = list(system_named("bm25+mmr:lambda=0.3").search(index, {"1": "red lamp"}, depth=2).to_dict()["1"])
    assert shallow == deep[:2]


def test_equal_scores_are_all_as_relevant_and_no_document_is_no_problem() -> None:
    docs, scores = MMR(1.0).reranked((np.array([4, 7]), np.array([2.0, 2.0])), lambda docs: np.eye(len(docs)))
    assert docs.tolist() == [4, 7] and scores.tolist() == [1.0, 0.5]
    docs, scores = MMR().reranked((np.empty(0, np.int64), np.empty(0)), lambda docs: np.eye(0))
    assert not len(docs) and not len(scores)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_lambda_lies_between_0_and_1(value: float) -> None:
    with pytest.raises(CranfieldError, match="expected a number from 0 to 1"):
        MMR(value)
