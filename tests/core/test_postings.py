"""Searching postings in the core: the scores of a plain loop, bit for bit, and nothing outside of the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield.base.compiled
from tests.soak import examples

core = cranfield.base.compiled.core
if core is None:
    pytest.skip("the compiled core is not in use", allow_module_level=True)

SPAN = 8192  # documents that the core scores at a time
WEIGHTS = [1.0, -1.0, 0.5, 0.0, 2.0, 0.1, 1e300, 5e-324]


def postings(rng: np.random.Generator, n_docs: int, shares: list[float], weights: list[float]) -> tuple[Any, ...]:
    docs = [np.flatnonzero(rng.random(n_docs) < share).astype(np.int32) for share in shares]
    starts = np.concatenate(([0], np.cumsum([len(some) for some in docs]))).astype(np.int64)
    flat = np.concatenate([np.empty(0, np.int32), *docs])
    return starts, flat, rng.choice(weights, len(flat))


def queries(asked: list[dict[int, float]]) -> tuple[Any, ...]:
    starts = np.concatenate(([0], np.cumsum([len(query) for query in asked]))).astype(np.int64)
    terms = np.array([term for query in asked for term in query], dtype=np.int64)
    return starts, terms, np.array([weight for query in asked for weight in query.values()], dtype=np.float64)


def found(n_docs: int, parts: tuple[Any, ...], asked: tuple[Any, ...], bonus: Any, sizes: Any, depth: int) -> Any:
    n = len(asked[0]) - 1
    places = np.arange(n + 1) * depth
    docs, scores, counts = np.full(n * depth, -7), np.full(n * depth, -7.0), np.full(n, -7)
    core.search(n_docs, *parts, *asked, bonus, sizes, places, docs, scores, counts)
    return [(docs[a : a + c].tolist(), scores[a : a + c].tolist()) for a, c in zip(places, counts, strict=False)]


def by_hand(n_docs: int, parts: tuple[Any, ...], asked: tuple[Any, ...], bonus: Any, sizes: Any, depth: int) -> Any:
    """Each term's weights added in turn; documents with a sum of 0 count as not found."""
    (starts, docs, weights), (query_starts, terms, query_weights) = parts, asked
    ranked = []
    for q, (a, b) in enumerate(zip(query_starts, query_starts[1:], strict=False)):
        sums = np.zeros(n_docs)
        for term, weight in zip(terms[a:b], query_weights[a:b], strict=True):
            rows = slice(starts[term], starts[term + 1])
            sums[docs[rows]] += weight * weights[rows]
        reached = np.flatnonzero(sums)
        scores = sums[reached] if bonus is None else sums[reached] + sizes[q] * bonus[reached]
        order = np.lexsort((reached, -scores))[:depth]
        ranked.append((reached[order].tolist(), scores[order].tolist()))
    return ranked


@given(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 7, 300, SPAN - 1, SPAN, SPAN + 1, 3 * SPAN]),
    st.lists(st.sampled_from([0.0, 0.001, 0.02, 0.5, 1.0]), max_size=5),
    st.sampled_from([0, 1, 2, 10, 100, 5000]),
    st.booleans(),
)
@examples(150)
def test_the_core_finds_what_a_plain_loop_finds(
    seed: int, n_docs: int, shares: list[float], depth: int, with_bonus: bool
) -> None:
    rng = np.random.default_rng(seed)
    parts = postings(rng, n_docs, shares, WEIGHTS if seed % 2 else rng.random(50).tolist())
    asked = queries(
        [
            {int(term): float(rng.choice(WEIGHTS[:6])) for term in rng.permutation(len(shares))[: rng.integers(0, 6)]}
            for _ in range(3)
        ]
    )
    bonus, sizes = (rng.choice(WEIGHTS[:6], n_docs), rng.random(3)) if with_bonus else (None, None)
    given_to_both = (n_docs, parts, asked, bonus, sizes, depth)
    assert found(*given_to_both) == by_hand(*given_to_both)


@pytest.mark.parametrize("order", ["rising", "falling", "equal", "one of two"])
@pytest.mark.parametrize("depth", [1, 10, 1000, 30_000])
def test_scores_in_any_order_are_ranked_and_ties_keep_the_collections_order(order: str, depth: int) -> None:
    n_docs = 20_000
    rising = np.arange(1.0, n_docs + 1)
    weights = {"rising": rising, "falling": rising[::-1], "equal": np.ones(n_docs), "one of two": 1 + rising % 2}[order]
    parts = (np.array([0, n_docs]), np.arange(n_docs, dtype=np.int32), np.ascontiguousarray(weights))
    given_to_both = (n_docs, parts, queries([{0: 1.0}]), None, None, depth)
    assert found(*given_to_both) == by_hand(*given_to_both)


@pytest.mark.parametrize("depth", [1, 10, 1000])
def test_of_equal_scores_the_first_documents_stay_though_they_come_last(depth: int) -> None:
    n_docs = 6000
    docs = np.concatenate((np.arange(3000, 6000), np.arange(3000))).astype(np.int32)
    parts = (np.array([0, 3000, 6000]), docs, np.ones(n_docs))
    ((first, _),) = found(n_docs, parts, queries([{0: 1.0, 1: 1.0}]), None, None, depth)
    assert first == list(range(depth))


def test_a_sum_that_passes_through_0_counts_once() -> None:
    parts = (np.array([0, 1, 2, 3, 4]), np.zeros(4, np.int32), np.array([1.0, -1.0, 2.0, 0.0]))
    assert found(1, parts, queries([{0: 1, 1: 1, 2: 1, 3: 1}]), None, None, 5) == [([0], [2.0])]
    assert found(1, parts, queries([{0: 1, 1: 1}, {3: 1}]), None, None, 5) == [([], []), ([], [])]


def fitting() -> dict[str, Any]:
    """Two terms, one query for both, with room for two documents."""
    return {
        "n_docs": 3,
        "starts": np.array([0, 2, 3]),
        "docs": np.array([0, 2, 1], dtype=np.int32),
        "weights": np.ones(3),
        "query_starts": np.array([0, 2]),
        "query_terms": np.array([0, 1]),
        "query_weights": np.ones(2),
        "bonus": np.zeros(3),
        "sizes": np.zeros(1),
        "places": np.array([0, 2]),
        "found": np.zeros(2, np.int64),
        "scores": np.zeros(2),
        "counts": np.zeros(1, np.int64),
    }


@pytest.mark.parametrize(
    "odd",
    [
        {"n_docs": -1},
        {"n_docs": 2, "bonus": np.zeros(2)},  # a posting of the third document
        {"n_docs": 2**31, "bonus": None, "sizes": None},
        {"starts": np.array([], dtype=np.int64)},
        {"starts": np.array([0, 2])},
        {"starts": np.array([-1, 2, 3])},
        {"starts": np.array([0, 2, 4])},
        {"starts": np.array([2, 0, 3])},
        {"docs": np.array([2, 0, 1], dtype=np.int32)},
        {"docs": np.array([0, -1, 1], dtype=np.int32)},
        {"docs": np.array([0, 2], dtype=np.int32)},
        {"docs": np.zeros(13, np.int8)},
        {"weights": np.ones(2)},
        {"weights": np.ones(25, np.uint8)[1:]},
        {"query_starts": np.array([0, 3])},
        {"query_starts": np.array([-1, 2])},
        {"query_starts": np.array([2, 0])},
        {"query_starts": np.array([0, 1, 2])},
        {"query_terms": np.array([0, 2])},
        {"query_terms": np.array([0, -1])},
        {"query_weights": np.ones(3)},
        {"bonus": np.zeros(2)},
        {"sizes": np.zeros(2)},
        {"sizes": None},
        {"places": np.array([0, 3])},
        {"places": np.array([-1, 1])},
        {"places": np.array([1, 0])},
        {"places": np.array([0])},
        {"scores": np.zeros(1)},
        {"counts": np.zeros(2, np.int64)},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_together_are_refused(odd: dict[str, Any]) -> None:
    core.search(*fitting().values())
    with pytest.raises(ValueError, match="do not fit together"):
        core.search(*(fitting() | odd).values())


def test_what_is_no_array_or_cannot_be_written_is_refused() -> None:
    fixed = np.zeros(2)
    fixed.flags.writeable = False
    for odd in ({"docs": [0, 2, 1]}, {"scores": fixed}, {"n_docs": "3"}, {"weights": np.ones(6)[::2]}):
        with pytest.raises((TypeError, ValueError, BufferError)):
            core.search(*(fitting() | odd).values())
