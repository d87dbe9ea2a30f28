"""The worked example of the field's notes, and small collections to pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cranfield.pooling import PoolingContext, RankedLists, find_strategy
from cranfield.pooling.selector import Selector

A = "d1 d2 d3 d4 d5 d6"
B = "d7 d2 d8 d1 d9 d4"
C = "d3 d10 d7 d11 d1 d12"
RELEVANT = frozenset("d1 d3 d4 d8 d10".split())
T = RankedLists("T", ("A", "B", "C"), tuple(tuple(docs.split()) for docs in (A, B, C)))
IN_ORDER = PoolingContext(ties="input")


def grade(doc: str) -> float:
    return float(doc in RELEVANT)


def selector(strategy: str, lists: RankedLists = T, context: PoolingContext = IN_ORDER, **params: object) -> Selector:
    return find_strategy(strategy).selector(lists, context, params)


def replayed(strategy: str, **params: object) -> list[str]:
    return list(selector(strategy, **params).replay(grade))


def as_run(lists: Mapping[str, Iterable[str]]) -> dict[str, dict[str, float]]:
    """A run out of documents in order."""
    return {query: {doc: -float(rank) for rank, doc in enumerate(docs)} for query, docs in lists.items()}


RUNS = {name: as_run({"T": docs}) for name, docs in zip(T.systems, T.docs, strict=True)}
QRELS = {"T": {doc: grade(doc) for doc in T.ranks}}
