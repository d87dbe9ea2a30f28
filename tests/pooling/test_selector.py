"""What all strategies have in common: they see what they asked for, lose nothing, and depend on the seed alone."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Document
from cranfield.errors import CranfieldError
from cranfield.pooling import STRATEGIES, PoolingContext, RankedLists, make_pool, replay
from cranfield.pooling.selector import shuffle_by_hash
from tests.pooling.pooled_example import QRELS, RUNS, T, grade, selector

TEXTS = [
    Document(doc, f"word {doc} {'good' if grade(doc) else 'bad'} {i % 3}") for i, doc in enumerate(sorted(T.ranks))
]


def search(query: str, relevant: tuple[str, ...], depth: int) -> list[str]:
    """Finds new documents as long as there are relevant ones to search with."""
    return [f"{doc}-like" for doc in relevant][:depth]


def context(seed: int = 1, **more: object) -> PoolingContext:
    return PoolingContext(seed=seed, topics={"T": "good word"}, documents=TEXTS, search=search, **more)  # type: ignore[arg-type]


class Oracle:
    """Answers questions, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, doc: str) -> float:
        self.asked.append(doc)
        return grade(doc)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_learns_only_the_grades_that_it_asked_for(strategy: str) -> None:
    oracle = Oracle()
    order = []
    for doc in selector(strategy, T, context()).replay(oracle):
        # when a document comes out, the oracle was asked for it and those before it, and nothing else
        order.append(doc)
        assert set(oracle.asked) <= {*order, doc}
    assert oracle.asked == order and len(set(order)) == len(order)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_grades_that_were_not_asked_for_change_nothing(strategy: str) -> None:
    order = list(selector(strategy, T, context()).replay(grade))
    for cut in (1, 4, 7):
        changed = {doc: 1 - grade(doc) for doc in order[cut:]}
        again = list(selector(strategy, T, context()).replay(lambda doc, other=changed: other.get(doc, grade(doc))))
        assert again[: cut + 1] == order[: cut + 1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_next_one_by_one_is_the_replay(strategy: str) -> None:
    """Every call starts with nothing but the judgments, as after a restart."""
    order = list(selector(strategy, T, context()).replay(grade))
    judged: dict[str, float] = {}
    while docs := selector(strategy, T, context()).next(judged, selector(strategy, T, context()).batch(len(judged))):
        if strategy != "autotar":  # which asks for whole batches
            docs = docs[:1]
        judged.update((doc, grade(doc)) for doc in docs)
    assert list(judged) == order


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_order_in_which_judgments_were_made_does_not_matter(strategy: str) -> None:
    order = list(selector(strategy, T, context()).replay(grade))[:6]
    judged = {doc: grade(doc) for doc in order}
    random.Random(1).shuffle(order)
    assert selector(strategy, T, context()).next({doc: judged[doc] for doc in order}, 3) == selector(
        strategy, T, context()
    ).next(judged, 3)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_has_new_documents_each_once(strategy: str) -> None:
    judged = {"d1": 1.0, "d7": 0.0, "elsewhere": 1.0}
    docs = selector(strategy, T, context()).next(judged, 5)
    assert len(docs) == len(set(docs)) and not set(docs) & set(judged)
    assert selector(strategy, T, context()).next(judged, 2) == docs[:2]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_is_the_same_for_a_seed_however_runs_are_listed(strategy: str) -> None:
    given_texts = {"topics": {"T": "good word"}, "documents": TEXTS, "search": search}
    for seed in (1, 2):
        backwards = dict(reversed(RUNS.items()))
        one = replay(RUNS, QRELS, strategy, seed=seed, **given_texts)
        assert one == replay(backwards, QRELS, strategy, seed=seed, **given_texts)
        more = {"rate": 0.5} if strategy == "uniform" else {}
        pool = make_pool(RUNS, strategy, seed=seed, **given_texts, **more)
        assert pool.pairs == make_pool(backwards, strategy, seed=seed, **given_texts, **more).pairs


@pytest.mark.parametrize("strategy", ["uniform", "stratified", "mm-ns", "ts", "ucb", "active", "mtf"])
def test_another_seed_gives_another_order_where_chance_decides(strategy: str) -> None:
    assert len({replay(RUNS, QRELS, strategy, seed=seed)["T"] for seed in range(8)}) > 1


def test_without_judgments_a_batch_goes_through_all_runs() -> None:
    assert selector("mtf").next({}, 3) == ["d1", "d7", "d3"]
    assert selector("ucb", seed_depth=0).next({}, 3) == ["d1", "d7", "d3"]


def test_what_has_no_answer_is_passed_over() -> None:
    known = {"d1": 1.0, "d4": 1.0, "d12": 0.0}
    for strategy in ("depth", "mm", "autotar"):
        order = list(selector(strategy, T, context()).replay(known.get))
        assert sorted(order) == sorted(known)
        assert list(selector(strategy, T, context()).replay(known.get, 2)) == order[:2]


lists = st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=7), min_size=1, max_size=4)
FROM_LISTS = [name for name, one in STRATEGIES.items() if one.kind == "adaptive" and not one.needs]


@given(lists, st.sets(st.sampled_from("abcdefghij")), st.sampled_from(FROM_LISTS), st.integers(0, 3))
def test_every_document_is_asked_for_once(own: list[list[str]], good: set[str], strategy: str, seed: int) -> None:
    given_lists = RankedLists("1", tuple(map(str, range(len(own)))), tuple(map(tuple, own)))
    order = list(selector(strategy, given_lists, PoolingContext(seed=seed)).replay(lambda doc: float(doc in good)))
    assert len(order) == len(set(order)) and set(order) <= set(given_lists.ranks)
    if strategy != "active":  # a sample, which need not come upon all
        assert set(order) == set(given_lists.ranks)


def test_scattered_documents_tell_nothing_and_stay_when_others_join() -> None:
    docs = [f"d{i:03}" for i in range(200)]
    order = shuffle_by_hash(docs, "1", 1)
    places = [order.index(doc) for doc in docs]
    ascending = sum(a < b for a, b in zip(places, places[1:], strict=False))
    assert order != docs and 70 < ascending < 130
    assert order != shuffle_by_hash(docs, "2", 1) != shuffle_by_hash(docs, "2", 2)
    assert [doc for doc in order if doc in set(docs[:50])] == shuffle_by_hash(docs[:50], "1", 1)


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"seed": 1.5}, {"seed": True}, {"rel": float("nan")}])
def test_a_setting_that_means_nothing_is_an_error(wrong: dict[str, object]) -> None:
    with pytest.raises(CranfieldError, match="expected"):
        PoolingContext(**wrong)  # type: ignore[arg-type]
