"""What several runs retrieved for a query, down to a depth: what every pool is made of."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base import Record, encode_id
from cranfield.data import Floats, Run
from cranfield.errors import CranfieldError
from cranfield.fusion import all_queries, as_runs


class Lists(Record, eq=False):
    """The lists of one query: of each system the documents, best first.

    >>> lists = Lists("1", ("a", "b"), (("d1", "d2"), ("d3", "d1")))
    >>> lists.ranks["d1"], lists.best["d1"]
    ({0: 1, 1: 2}, 1)
    """

    query: str
    systems: tuple[str, ...]
    docs: tuple[tuple[str, ...], ...]
    own_scores: tuple[Floats, ...] | None = None  # of each document; None if only ranks are known

    @cached_property
    def ranks(self) -> dict[str, dict[int, int]]:
        """For each document the systems that have it, by number, and the rank it has there."""
        ranks: dict[str, dict[int, int]] = {}
        for system, docs in enumerate(self.docs):
            for rank, doc in enumerate(docs, 1):
                ranks.setdefault(doc, {})[system] = rank
        return ranks

    @cached_property
    def best(self) -> dict[str, int]:
        """The best rank of each document in any list."""
        return {doc: min(ranks.values()) for doc, ranks in self.ranks.items()}

    @property
    def scores(self) -> tuple[Floats, ...]:
        """The scores of the documents of each list; where only ranks are known, they fall by one from rank to rank."""
        return self.own_scores or tuple(-np.arange(1.0, len(docs) + 1) for docs in self.docs)

    def among(self, kept: Collection[str]) -> Lists:
        """The same with some documents only, which move up."""
        at = [[i for i, doc in enumerate(docs) if doc in kept] for docs in self.docs]
        docs = tuple(tuple(docs[i] for i in own) for docs, own in zip(self.docs, at, strict=True))
        scores = tuple(scores[own] for scores, own in zip(self.scores, at, strict=True))
        return Lists(self.query, self.systems, docs, scores)


def named_runs(runs: Any) -> list[Run]:
    """Runs from whatever there is, in the order of their names: how they are listed changes nothing."""
    if not isinstance(runs, (str, os.PathLike, Run)) and not len(runs):
        raise CranfieldError("there is no run to pool.")
    return sorted(as_runs(runs), key=lambda run: encode_id(run.name))


def ranked_lists(runs: Sequence[Run], depth: int | None = None) -> dict[str, Lists]:
    """The lists of all queries that some run has, in natural order; equal scores by doc id, as in an evaluation."""
    if depth is not None and depth < 1:
        raise CranfieldError(f"depth {depth}: expected a whole number from 1.")
    tops = [_tops(run, depth) for run in runs]
    systems = tuple(run.name for run in runs)
    return {query: _lists(query, systems, tops) for query in all_queries(runs)}


def first_documents(run: Run, i: int, depth: int | None = None) -> tuple[str, ...]:
    """The first documents of a run's i-th query, in the order of an evaluation."""
    return _first(run, i, depth)[0]


Top = tuple[tuple[str, ...], Floats]
_NOTHING: Top = ((), np.empty(0))


def _tops(run: Run, depth: int | None) -> Mapping[str, Top]:
    return {query: _first(run, i, depth) for i, query in enumerate(run.queries)}


def _lists(query: str, systems: tuple[str, ...], tops: Sequence[Mapping[str, Top]]) -> Lists:
    docs, scores = zip(*(top.get(query, _NOTHING) for top in tops), strict=True)
    return Lists(query, systems, docs, scores)


def _first(run: Run, i: int, depth: int | None) -> Top:
    """The first documents of the i-th query; of equal scores those with the last ids come first, as in trec_eval."""
    rows = run.rows_of(i)
    docs, scores = run.docs[rows], run.scores[rows]
    if bool((scores[1:] < scores[:-1]).all()):
        return tuple(docs[:depth].tolist()), scores[:depth]
    if depth is not None and len(docs) > depth:
        near = scores >= np.partition(scores, len(scores) - depth)[len(scores) - depth]
        docs, scores = docs[near], scores[near]
    ranked = sorted(zip(scores.tolist(), map(encode_id, docs), docs.tolist(), strict=True), reverse=True)[:depth]
    return tuple(doc for _, _, doc in ranked), np.array([score for score, _, _ in ranked])
