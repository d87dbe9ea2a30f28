"""Orders that need no judgment, by the worked example."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.fusion import fuse
from cranfield.pooling import RankedLists, make_pool
from cranfield.pooling.static_orders import order_by_depth
from tests.pooling.pooled_example import RUNS, T, replayed, selector


def test_depth_takes_the_best_rank_then_more_runs_then_the_id_as_text() -> None:
    assert replayed("depth") == "d1 d3 d7 d2 d10 d8 d4 d11 d5 d9 d12 d6".split()


@pytest.mark.parametrize(
    ("depth", "docs"),
    [(1, "d1 d3 d7"), (2, "d1 d3 d7 d2 d10"), (3, "d1 d3 d7 d2 d10 d8")],
)
def test_a_pool_of_depth_k_is_the_union_of_the_first_k(depth: int, docs: str) -> None:
    assert set(make_pool(RUNS, depth=depth).pairs["T"]) == set(docs.split())
    assert len(make_pool(RUNS, depth=6).pairs["T"]) == 12


def test_reciprocal_ranks_order_as_their_sums_do() -> None:
    order = replayed("rrf")
    assert order[0] == "d1" and set(order[1:3]) == {"d3", "d7"} and order[3:7] == ["d2", "d4", "d10", "d8"]
    assert order[7] == "d11" and set(order[8:10]) == {"d5", "d9"} and set(order[10:]) == {"d6", "d12"}
    scores = fuse(RUNS, "rrf").to_dict()["T"]
    expected = {"d1": 0.0474030580, "d3": 0.0322664585, "d7": 0.0322664585, "d2": 0.0322580645, "d4": 0.0307765152}
    assert {doc: scores[doc] for doc in expected} == pytest.approx(expected, abs=1e-10)


def test_rank_biased_precision_orders_as_its_sums_do() -> None:
    order = replayed("rbp")
    assert order[0] == "d1" and set(order[1:3]) == {"d3", "d7"} and order[3:7] == ["d2", "d4", "d10", "d8"]
    assert order[7] == "d11"
    scores = fuse(RUNS, "rbc").to_dict()["T"]
    expected = {"d1": 0.38432, "d3": 0.328, "d7": 0.328, "d2": 0.32, "d4": 0.167936, "d10": 0.16, "d12": 0.065536}
    assert {doc: scores[doc] for doc in expected} == pytest.approx(expected, abs=1e-10)


def test_parameters_change_an_order() -> None:
    # with k = 0 the first rank is worth two second ones: d3 (1 + 1/3) is above d2 (1/2 + 1/2)
    assert replayed("rrf", k=0).index("d3") < replayed("rrf", k=0).index("d2")
    # an impatient reader of lists cares for first ranks, a patient one for how many lists have a document
    assert set(replayed("rbp", p=0.1)[:3]) == {"d1", "d3", "d7"} and replayed("rbp", p=0.1)[0] != "d1"
    assert replayed("rbp", p=0.99)[0] == "d1"


@pytest.mark.parametrize(
    ("strategy", "method"), [("mnz", "mnz"), ("borda", "bordafuse"), ("rrf", "rrf"), ("rbp", "rbc")]
)
def test_orders_by_fusion_are_those_of_fuse(strategy: str, method: str) -> None:
    assert replayed(strategy) == list(fuse(RUNS, method).to_dict()["T"])


lists = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6), min_size=1, max_size=4)


@given(lists, st.integers(1, 7))
def test_depth_order_holds_every_document_down_to_the_depth_once_by_best_rank(own: list[list[str]], depth: int) -> None:
    given_lists = RankedLists("1", tuple(map(str, range(len(own)))), tuple(map(tuple, own)))
    order = order_by_depth(given_lists, depth)
    assert set(order) == {doc for docs in own for doc in docs[:depth]} and len(set(order)) == len(order)
    best = [min(docs.index(doc) for docs in own if doc in docs) for doc in order]
    assert best == sorted(best)


@given(lists, st.sampled_from(["depth", "mnz", "borda", "rrf", "rbp"]))
def test_every_order_holds_every_document_once(own: list[list[str]], strategy: str) -> None:
    given_lists = RankedLists("1", tuple(map(str, range(len(own)))), tuple(map(tuple, own)))
    order = list(selector(strategy, given_lists).replay(lambda _: 0.0))
    assert sorted(order) == sorted(given_lists.ranks)


def test_a_budget_cuts_an_order() -> None:
    assert set(make_pool(RUNS, "rrf", budget=1).pairs["T"]) == {"d1"}
    assert set(make_pool(RUNS, "depth", budget=4).pairs["T"]) == {"d1", "d3", "d7", "d2"}
    assert len(T.ranks) == 12
