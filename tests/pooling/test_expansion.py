"""Expansion: judge, search with what was relevant, judge what is new."""

from __future__ import annotations

from cranfield.pooling import PoolingContext, RankedLists
from tests.pooling.pooled_example import selector

LISTS = RankedLists("1", ("a", "b"), (("x1", "n1"), ("x2", "n2")))
# what a search with these documents finds
NEIGHBOURS = {"x1": ["x3", "n3"], "x2": ["x1", "n4"], "x3": ["x4", "n1"], "x4": ["x3"]}
CALLS: list[tuple[str, tuple[str, ...]]] = []


def search(query: str, relevant: tuple[str, ...], depth: int) -> list[str]:
    CALLS.append((query, tuple(relevant)))
    return [doc for own in relevant for doc in NEIGHBOURS[own]][:depth]


def relevant(doc: str) -> float:
    return float(doc.startswith("x"))


def test_what_is_new_is_queued_until_a_search_brings_nothing_relevant() -> None:
    CALLS.clear()
    order = list(selector("expansion", LISTS, PoolingContext(search=search)).replay(relevant))
    # the lists by best rank; then neighbours of x1 and x2; then, as x3 is relevant, x4; nothing new after that
    assert order == ["x1", "x2", "n1", "n2", "x3", "n3", "n4", "x4"]
    assert CALLS == [("1", ("x1", "x2")), ("1", ("x1", "x2", "x3")), ("1", ("x1", "x2", "x3", "x4"))]


def test_so_many_new_documents_are_taken_from_each_search() -> None:
    order = list(selector("expansion", LISTS, PoolingContext(search=search), found=1).replay(relevant))
    assert order[:6] == ["x1", "x2", "n1", "n2", "x3", "n3"]


def test_where_nothing_is_relevant_the_plain_search_is_tried_once() -> None:
    tried: list[tuple[str, ...]] = []

    def plain(query: str, known: tuple[str, ...], depth: int) -> list[str]:
        tried.append(known)
        return ["n9"]

    assert list(selector("expansion", LISTS, PoolingContext(search=plain)).replay(lambda _: 0.0))[-1] == "n9"
    assert tried == [()]
