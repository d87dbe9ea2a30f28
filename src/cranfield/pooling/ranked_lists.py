"""What several runs retrieved for a query, down to a depth. Every pool is made of such lists."""

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


class RankedLists(Record, eq=False):
    """The ranked lists of one query: for each system its documents, best first.

    >>> lists = RankedLists("1", ("a", "b"), (("d1", "d2"), ("d3", "d1")))
    >>> lists.ranks["d1"], lists.best_rank["d1"]
    ({0: 1, 1: 2}, 1)
    """

    query: str
    systems: tuple[str, ...]
    docs: tuple[tuple[str, ...], ...]
    run_scores: tuple[Floats, ...] | None = None  # None if only ranks are known

    @cached_property
    def ranks(self) -> dict[str, dict[int, int]]:
        """For each document its rank in each system that retrieved it, by the number of the system."""
        ranks: dict[str, dict[int, int]] = {}
        for system, docs in enumerate(self.docs):
            for rank, doc in enumerate(docs, 1):
                ranks.setdefault(doc, {})[system] = rank
        return ranks

    @cached_property
    def best_rank(self) -> dict[str, int]:
        """The best rank of each document in any list."""
        return {doc: min(ranks.values()) for doc, ranks in self.ranks.items()}

    @property
    def scores(self) -> tuple[Floats, ...]:
        """The scores of the documents of each list. If only ranks are known, they fall by one from rank to rank."""
        return self.run_scores or tuple(-np.arange(1.0, len(docs) + 1) for docs in self.docs)

    def restrict_to(self, kept: Collection[str]) -> RankedLists:
        """The same lists without all other documents; those below move up."""
        at = [[i for i, doc in enumerate(docs) if doc in kept] for docs in self.docs]
        docs = tuple(tuple(docs[i] for i in rows) for docs, rows in zip(self.docs, at, strict=True))
        scores = tuple(scores[rows] for scores, rows in zip(self.scores, at, strict=True))
        return RankedLists(self.query, self.systems, docs, scores)

    def number_documents(self, depth: int) -> tuple[list[list[int]], int]:
        """The lists down to a depth, with a number in place of each document; and how many documents there are."""
        numbers: dict[str, int] = {}
        lists = [[numbers.setdefault(doc, len(numbers)) for doc in docs[:depth]] for docs in self.docs]
        return lists, len(numbers)


def as_sorted_runs(runs: Any) -> list[Run]:
    """Runs from files, dicts or frames, sorted by name: the order in which they are named makes no difference."""
    if not isinstance(runs, (str, os.PathLike, Run)) and not len(runs):
        raise CranfieldError("there is no run to pool.")
    return sorted(as_runs(runs), key=lambda run: encode_id(run.name))


def collect_ranked_lists(runs: Sequence[Run], depth: int | None = None) -> dict[str, RankedLists]:
    """The lists of every query of any run, in natural order. Ties are broken by doc id, as in an evaluation."""
    if depth is not None and depth < 1:
        raise CranfieldError(f"depth {depth}: expected a whole number from 1.")
    tops = [{query: _rank(run, i, depth) for i, query in enumerate(run.queries)} for run in runs]
    systems = tuple(run.name for run in runs)
    return {query: _lists_of(query, systems, tops) for query in all_queries(runs)}


def rank_documents(run: Run, i: int, depth: int | None = None) -> tuple[str, ...]:
    """The first documents of a run's i-th query, in the order of an evaluation."""
    return _rank(run, i, depth)[0]


Top = tuple[tuple[str, ...], Floats]
_NOTHING: Top = ((), np.empty(0))


def _lists_of(query: str, systems: tuple[str, ...], tops: Sequence[Mapping[str, Top]]) -> RankedLists:
    docs, scores = zip(*(top.get(query, _NOTHING) for top in tops), strict=True)
    return RankedLists(query, systems, docs, scores)


def _rank(run: Run, i: int, depth: int | None) -> Top:
    """The first documents of the i-th query with their scores; ties by doc id, descending, as in trec_eval."""
    rows = run.rows_of(i)
    docs, scores = run.docs[rows], run.scores[rows]
    if bool((scores[1:] < scores[:-1]).all()):
        return tuple(docs[:depth].tolist()), scores[:depth]
    if depth is not None and len(docs) > depth:
        near = scores >= np.partition(scores, len(scores) - depth)[len(scores) - depth]
        docs, scores = docs[near], scores[near]
    ranked = sorted(zip(scores.tolist(), map(encode_id, docs), docs.tolist(), strict=True), reverse=True)[:depth]
    return tuple(doc for _, _, doc in ranked), np.array([score for score, _, _ in ranked])
