"""The candidates to fuse: the documents of each query, with rank and score in each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from cranfield.base import Record, encode_id, sort_naturally
from cranfield.data import Floats, Ints, Run, Strings

CELLS = 1 << 23  # the most cells of the table candidates × runs that are in memory at a time


class Candidates(Record, eq=False):
    """The documents that some runs retrieved for some queries, each document of a query once.

    Candidates are ordered by query, then in descending order of their ids: the order of tied documents in trec_eval,
    and so in an evaluation. Entries (a document in the list of a run) are ordered by query, run and rank.
    """

    runs: int
    queries: tuple[str, ...]
    starts: Ints  # where the candidates of each query start
    docs: Strings
    sizes: Ints  # queries × runs: how many documents a run has for a query
    candidate: Ints  # of each entry
    score: Floats  # of each entry

    @cached_property
    def list_starts(self) -> Ints:
        """Where the entries of each list start; a list holds the documents of one run for one query."""
        return _starts(self.sizes.ravel())

    @cached_property
    def rank(self) -> Ints:
        """The rank of each entry, from 1."""
        return np.arange(1, len(self.score) + 1) - self.repeat_by_list(self.list_starts[:-1])

    @cached_property
    def size(self) -> Ints:
        """The length of the list that each entry is in."""
        return self.repeat_by_list(self.sizes.ravel())

    @cached_property
    def run(self) -> Ints:
        """The run of each entry."""
        return self.repeat_by_list(np.tile(np.arange(self.runs), len(self.queries)))

    @cached_property
    def number(self) -> Ints:
        """How many candidates each query has."""
        return np.diff(self.starts)

    @cached_property
    def query(self) -> Ints:
        """The query of each candidate."""
        return np.repeat(np.arange(len(self.queries)), self.number)

    def repeat_by_list(self, values: Ints) -> Ints:
        """The value of each list, repeated for its entries."""
        return np.repeat(values, self.sizes.ravel())

    def table(self, entries: Floats, absent: float) -> Floats:
        """The values of entries as a table of candidates × runs."""
        table = np.full((len(self.docs), self.runs), absent)
        table[self.candidate, self.run] = entries
        return table

    def ranked(self, scores: Floats) -> tuple[Ints, Ints]:
        """Candidates by query and score, the highest first, and the rank of each."""
        # the sort is stable: equal scores stay in the order of ids
        order = np.lexsort((-scores, self.query))
        return order, np.arange(1, len(order) + 1) - self.starts[self.query]


def all_queries(runs: Sequence[Run]) -> list[str]:
    """The queries that some run has, in natural order."""
    return sort_naturally(dict.fromkeys(chain.from_iterable(run.queries for run in runs)))


def gather_candidates(
    runs: Sequence[Run], queries: Sequence[str], lowest_is_best: bool = False, cells: int = CELLS
) -> Iterator[Candidates]:
    """The candidates of some queries, several queries at a time.

    With `lowest_is_best`, as for distances, scores change their sign.
    """
    sign = -1.0 if lowest_is_best else 1.0
    for some in _portions(queries, runs, max(1, cells // max(1, len(runs)))):
        yield _gather(some, runs, sign)


def _portions(queries: Sequence[str], runs: Sequence[Run], most: int) -> Iterator[list[str]]:
    """Groups of queries with at most this many entries, but at least one query."""
    portion: list[str] = []
    entries = 0
    for query in queries:
        wanted = sum(rows.stop - rows.start for rows in (_rows(run, query) for run in runs))
        if portion and entries + wanted > most:
            yield portion
            portion, entries = [], 0
        portion.append(query)
        entries += wanted
    if portion:
        yield portion


def _gather(queries: Sequence[str], runs: Sequence[Run], sign: float) -> Candidates:
    sizes: list[list[int]] = []
    numbers: list[int] = []
    candidate: list[Ints] = []
    score: list[Floats] = []
    docs: list[str] = []
    for query in queries:
        rows = [_rows(run, query) for run in runs]
        lists = [run.docs[part].tolist() for run, part in zip(runs, rows, strict=True)]
        place = _places(lists, len(docs))
        docs.extend(place)
        numbers.append(len(place))
        sizes.append([len(own) for own in lists])
        candidate.append(np.fromiter(map(place.__getitem__, chain.from_iterable(lists)), np.int64, sum(sizes[-1])))
        score.extend(run.scores[part] for run, part in zip(runs, rows, strict=True))
    column = np.empty(len(docs), dtype=object)
    column[:] = docs
    candidates = Candidates(
        runs=len(runs),
        queries=tuple(queries),
        starts=_starts(numbers),
        docs=column,
        sizes=np.array(sizes, dtype=np.int64).reshape(len(queries), len(runs)),
        candidate=np.concatenate(candidate) if candidate else np.empty(0, dtype=np.int64),
        score=sign * np.concatenate(score) if score else np.empty(0),
    )
    return _in_rank_order(candidates)


def _places(lists: Sequence[list[str]], first: int) -> dict[str, int]:
    """Number the documents of some lists, in descending order of id."""
    docs = list(dict.fromkeys(chain.from_iterable(lists)))
    # strings are ordered like their bytes, except for bytes that are not UTF-8
    docs.sort(key=None if "".join(docs).isascii() else encode_id, reverse=True)
    return dict(zip(docs, range(first, first + len(docs)), strict=True))


def _in_rank_order(candidates: Candidates) -> Candidates:
    """The same with every list in order of score, equal scores by id; most runs are in this order already."""
    lists = candidates.repeat_by_list(np.arange(candidates.sizes.size))
    score, candidate = candidates.score, candidates.candidate
    falls = (score[1:] < score[:-1]) | ((score[1:] == score[:-1]) & (candidate[1:] > candidate[:-1]))
    if np.all(falls | (lists[1:] != lists[:-1])):
        return candidates
    order = np.lexsort((candidate, -score, lists))
    return Candidates(
        candidates.runs,
        candidates.queries,
        candidates.starts,
        candidates.docs,
        candidates.sizes,
        candidate[order],
        score[order],
    )


def _rows(run: Run, query: str) -> slice:
    at = run.position.get(query)
    return slice(0, 0) if at is None else run.rows_of(at)


def _starts(sizes: Sequence[int] | Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.int64)))).astype(np.int64)
