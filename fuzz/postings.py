"""Bytes as postings and queries, which may not fit together: searching them."""

from __future__ import annotations

from typing import Any

import numpy as np
from checks import attempt, core

# sums of these that are 0, too large, or none at all
WEIGHTS = (1.0, -1.0, 0.5, 0.0, -0.0, 2.0, 3.0, 1e308, -1e308, 5e-324, np.inf, np.nan)
FINITE = 7


def execute(view: memoryview) -> None:
    """One execution: sizes and what is odd, then postings, then queries."""
    data = bytes(view)
    if len(data) < 8:
        return
    failing, odd, n_docs, n_terms, n_queries, depth, with_bonus, seed = data[:8]
    rng = np.random.default_rng([seed, *data[8:]])
    n_docs = n_docs if odd != 1 else n_docs << 24
    parts = _postings(
        rng, min(n_docs, 255) * (97 if seed % 4 == 0 else 1), n_terms % 8, FINITE if odd else len(WEIGHTS)
    )
    n_docs = n_docs * (97 if seed % 4 == 0 else 1)
    queries = _queries(rng, n_queries % 8, n_terms % 8)
    most = np.full(n_queries % 8, depth)
    places = np.concatenate(([0], np.cumsum(most)))
    bonus = (
        (rng.choice(WEIGHTS[:FINITE], min(n_docs, 1 << 16)), rng.random(n_queries % 8))
        if with_bonus % 2
        else (None, None)
    )
    arrays: list[Any] = [*parts, *queries, *bonus, places]
    found = [np.zeros(places[-1], np.int64), np.zeros(places[-1]), np.zeros(len(most), np.int64)]
    if odd > 64:
        _spoil(rng, arrays, found)
    done = _searched(failing if failing < 8 else 0, n_docs, arrays, found)
    if done and odd in range(2, 65):
        _check(n_docs, arrays, found, depth)


def _searched(failing: int, n_docs: int, arrays: list[Any], found: list[Any]) -> bool:
    before = found[2].copy()
    found[2][:] = -1
    attempt(failing, core.search, n_docs, *arrays, *found)
    done = bool((found[2] >= 0).all())
    if not done:
        found[2][:] = before
    return done


def _postings(rng: np.random.Generator, n_docs: int, n_terms: int, weights: int) -> tuple[Any, Any, Any]:
    docs = [np.flatnonzero(rng.random(n_docs) < rng.random() ** 3) for _ in range(n_terms)]
    starts = np.concatenate(([0], np.cumsum([len(some) for some in docs]))).astype(np.int64)
    flat = np.concatenate([np.empty(0, np.int64), *docs]).astype(np.int32)
    return starts, flat, rng.choice(WEIGHTS[:weights], len(flat))


def _queries(rng: np.random.Generator, n: int, n_terms: int) -> tuple[Any, Any, Any]:
    sizes = rng.integers(0, 6, n) if n_terms else np.zeros(n, np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return starts, rng.integers(0, max(n_terms, 1), int(starts[-1])), rng.choice(WEIGHTS[:FINITE], int(starts[-1]))


def _spoil(rng: np.random.Generator, arrays: list[Any], found: list[Any]) -> None:
    """Change numbers, cut arrays short, or have one stand where another does."""
    for _ in range(int(rng.integers(1, 4))):
        i = int(rng.integers(len(arrays)))
        kind = int(rng.integers(4))
        if arrays[i] is None or not len(arrays[i]):
            arrays[i] = None if kind else np.zeros(3)
        elif kind == 0:
            arrays[i] = arrays[i][: int(rng.integers(len(arrays[i])))]
        elif kind == 1 and arrays[i].dtype.kind == "i":
            changed = arrays[i].copy()
            changed[int(rng.integers(len(changed)))] = rng.choice([-1, 0, 1, 7, 255, 2**31 - 1, -(2**31)])
            arrays[i] = changed
        elif kind == 2:
            arrays[i] = np.frombuffer(b"\0" + arrays[i].tobytes(), dtype=np.uint8)[1:]
        else:
            arrays[i] = found[int(rng.integers(len(found)))]


def _check(n_docs: int, arrays: list[Any], found: list[Any], depth: int) -> None:
    """Fail unless these are the scores that a plain loop finds, best first."""
    starts, docs, weights, query_starts, terms, query_weights, bonus, sizes, places = arrays
    for q, (a, b) in enumerate(zip(query_starts, query_starts[1:], strict=False)):
        sums = np.zeros(n_docs)
        for term, weight in zip(terms[a:b], query_weights[a:b], strict=True):
            rows = slice(starts[term], starts[term + 1])
            sums[docs[rows]] += weight * weights[rows]
        reached = np.flatnonzero(sums)
        scores = sums[reached] if bonus is None else sums[reached] + sizes[q] * bonus[reached]
        order = np.lexsort((reached, -scores))[:depth]
        rows = slice(places[q], places[q] + found[2][q])
        assert found[0][rows].tolist() == reached[order].tolist(), (q, found[0][rows], reached[order])
        assert found[1][rows].tobytes() == scores[order].tobytes(), (q, found[1][rows], scores[order])
