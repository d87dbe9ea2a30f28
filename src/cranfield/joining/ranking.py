"""Ranking in memory: order the documents of each query, break ties, look up judgments.

This is the Python twin of what the compiled core does with lines and dicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.base import Record, ScoreType
from cranfield.data import Bools, Floats, Ints, Qrels, Run, starts_of
from cranfield.joining.options import Joining
from cranfield.joining.ties import rank_column


class Hits(Record, eq=False):
    """The judged documents retrieved for some queries: columns as in `JudgedRun`, query after query."""

    at: Ints  # per query: its position in the qrels
    retrieved: Ints
    tied_docs: Ints
    float32_tied_docs: Ints
    starts: Ints  # where the hits of each query start, and the end of the last one's
    rank: Ints
    grade: Floats
    doc: Ints
    tie_first: Ints | None  # None where no two documents have equal scores
    tie_size: Ints | None


def find_hits(qrels: Qrels, run: Run, at: Ints, joining: Joining, dense: bool = False) -> Hits:
    """Rank the documents of some queries, given by their positions in the qrels, and look up their judgments."""
    ranking = Ranking(run, [run.position[qrels.queries[i]] for i in at.tolist()], joining)
    hits = [ranking.hits(j, qrels.judged[i], dense) for j, i in enumerate(at.tolist())]
    columns = np.concatenate(hits, axis=1) if hits else np.empty((5, 0))
    return Hits(
        at=at,
        retrieved=ranking.sizes,
        tied_docs=ranking.tied,
        float32_tied_docs=ranking.float32_tied,
        starts=starts_of([part.shape[1] for part in hits]),
        rank=columns[0].astype(np.int64),
        grade=columns[1],
        doc=columns[2].astype(np.int64),
        tie_first=columns[3].astype(np.int64),
        tie_size=columns[4].astype(np.int64),
    )


class Ranking:
    """The documents of some queries in rank order, with their groups of equal scores."""

    def __init__(self, run: Run, positions: list[int | None], joining: Joining) -> None:
        self.run, self.joining = run, joining
        parts = [slice(0, 0) if p is None else run.rows_of(p) for p in positions]
        self.sizes = np.array([part.stop - part.start for part in parts], dtype=np.int64)
        self.starts = starts_of(self.sizes)
        rows = np.concatenate([np.arange(part.start, part.stop) for part in parts] or [np.empty(0)]).astype(np.int64)
        query = np.repeat(np.arange(len(parts)), self.sizes)
        key = self._sort_key(rows)
        order = np.lexsort((key, query))
        self.rows, key = rows[order], key[order]  # groups of equal keys in the order of the input
        self.rank = np.arange(len(rows)) - self.starts[query] + 1
        self.first, self.size = group_equal(query, key, self.rank)
        self.tied = _count_per_query(query, self.size > 1, len(parts))
        self.float32_tied = np.zeros(len(parts), dtype=np.int64)
        if joining.rank_by == "score":
            self.float32_tied = _count_float32_ties(run.scores[self.rows], query, len(parts))

    def _sort_key(self, rows: Ints) -> Floats:
        """What to sort by, ascending."""
        if self.joining.rank_by == "input":
            return np.arange(len(rows), dtype=np.float64)
        if self.joining.rank_by == "rank":
            return rank_column(self.run)[rows].astype(np.float64)
        return -_round_scores(self.run.scores[rows], self.joining.score_type)

    def docs_of(self, j: int, grade_of: Mapping[str, float]) -> list[str]:
        """The documents of a query in rank order."""
        part = slice(int(self.starts[j]), int(self.starts[j + 1]))
        rows = self.rows[part]
        if self.tied[j]:
            order = self.joining.tie_rule.order
            rows = rows.copy()
            first, size = self.first[part], self.size[part]
            for start in np.flatnonzero((first == self.rank[part]) & (size > 1)).tolist():
                group = slice(start, start + int(size[start]))
                rows[group] = order(self.run, rows[group].tolist(), grade_of)
        docs: list[str] = self.run.docs[rows].tolist()
        return docs

    def hits(self, j: int, grade_of: Mapping[str, float], dense: bool) -> Floats:
        """Rank, grade, judged document, first rank and size of the tie group of each hit of a query."""
        docs = self.docs_of(j, grade_of)
        number = {doc: k for k, doc in enumerate(grade_of)}
        places = np.array([i for i, doc in enumerate(docs) if dense or doc in grade_of], dtype=np.int64)
        which = np.array([number.get(docs[i], -1) for i in places], dtype=np.float64)
        grades = np.array([grade_of.get(docs[i], np.nan) for i in places], dtype=np.float64)
        rows = slice(int(self.starts[j]), int(self.starts[j + 1]))
        first, size = self.first[rows][places], self.size[rows][places]
        return np.stack([places + 1.0, grades, which, first.astype(np.float64), size.astype(np.float64)])


def group_equal(query: Ints, key: Any, rank: Ints) -> tuple[Ints, Ints]:
    """For each row the first rank and the size of its group of equal keys."""
    n = len(rank)
    if not n:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    new = np.ones(n, dtype=bool)
    new[1:] = (query[1:] != query[:-1]) | (key[1:] != key[:-1])
    heads = np.flatnonzero(new)
    lengths = np.diff(np.append(heads, n))
    return np.repeat(rank[heads], lengths), np.repeat(lengths, lengths)


def _round_scores(scores: Floats, score_type: ScoreType) -> Floats:
    if score_type == "float64":
        return scores
    with np.errstate(over="ignore"):  # too large a score becomes infinite, as in a C cast
        return scores.astype(np.float32).astype(np.float64)


def _count_float32_ties(scores: Floats, query: Ints, n: int) -> Ints:
    """How many documents of each query share their score with another in float32 but not in float64."""
    scores = scores[np.lexsort((-scores, query))]
    place = np.arange(len(scores))

    def count(score_type: ScoreType) -> Ints:
        _, size = group_equal(query, _round_scores(scores, score_type), place)
        return _count_per_query(query, size > 1, n)

    return count("float32") - count("float64")


def _count_per_query(query: Ints, where: Bools, n: int) -> Ints:
    return np.bincount(query[where], minlength=n).astype(np.int64)
