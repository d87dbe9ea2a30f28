"""A run joined with the judgments of a block, in one of three lanes.

Where no judged document shares its score with another, ranks are the order of scores and there is nothing to decide.
Where some do, only groups of equal scores with a judged document in them are taken to the join of the local engine,
which alone knows the rule for ties; ranks are then put to where these groups stand among all documents. Queries with
a document twice, and measures that look at more than judged documents, take the local engine's join as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base import Record, replace
from cranfield.data import Bools, Ints, Run
from cranfield.joining import Hits, Joining, JudgedRun, Sources, assemble, find_hits, join_run
from cranfield.spark.arrays import repeating, sorted_within, texts
from cranfield.spark.query_block import Block, Retrieved


@dataclass(eq=False)
class RunJoin:
    """The join of one run with a block."""

    block: Block
    number: int  # of the run
    name: str
    repeated_docs: int = 0  # left out so far

    @cached_property
    def joining(self) -> Joining:
        """How to join; that a run lacks queries is an error only once all of them are known."""
        own = self.block.evaluator.joining
        return replace(own, missing="zero") if own.missing == "error" else own

    def parts(self) -> Iterator[JudgedRun]:
        """The join of all judged queries, lane by lane."""
        block, rows = self.block, self.block.of_run(self.number)
        is_judged = block.n_judged > 0
        if not is_judged.all():
            self._check_unjudged(rows.only(np.flatnonzero(~is_judged[rows.query])))
            rows = rows.only(np.flatnonzero(is_judged[rows.query]))
        if not block.evaluator.only_hits_matter:
            yield self._whole(rows, np.flatnonzero(is_judged))
            return
        plain = ~block.judgments_repeat
        plain[repeating(rows.query, rows.doc)] = False
        if not plain[is_judged].all():
            yield self._whole(rows.only(np.flatnonzero(~plain[rows.query])), np.flatnonzero(is_judged & ~plain))
            rows = rows.only(np.flatnonzero(plain[rows.query]))
        if (is_judged & plain).any():
            yield from self._ranked(rows, is_judged & plain)

    def _check_unjudged(self, rows: Retrieved) -> None:
        """Repeated documents are an error, or are told, in queries without judgments too."""
        again = np.flatnonzero(np.isin(rows.query, repeating(rows.query, rows.doc)))
        if len(again):
            self._as_run(rows.only(again))

    def _ranked(self, rows: Retrieved, wanted: Bools) -> Iterator[JudgedRun]:
        """Queries without repeats: those whose judged documents have ties, and those whose have none."""
        ranking = Ranking.of(rows, self.joining, len(wanted))
        rows = ranking.rows
        hit, judgment = self.block.matches(rows)
        loose = np.zeros(len(wanted), dtype=bool)
        loose[rows.query[hit[ranking.size[hit] > 1]]] = True
        settled = np.flatnonzero(wanted & ~loose)
        if len(settled):
            own = ~loose[rows.query[hit]]
            yield self._settled(ranking, settled, hit[own], judgment[own])
        if loose.any():
            yield self._by_rule(ranking, np.flatnonzero(loose), hit[loose[rows.query[hit]]])

    def _settled(self, ranking: Ranking, queries: Ints, hit: Ints, judgment: Ints) -> JudgedRun:
        """Queries whose judged documents all have a score of their own."""
        block, rows = self.block, ranking.rows
        there = ranking.retrieved[queries] > 0
        at = np.flatnonzero(there)
        number = np.full(len(ranking.retrieved), -1)
        number[queries[at]] = np.arange(len(at))
        sizes = np.bincount(number[rows.query[hit]], minlength=len(at))
        judged_starts = np.concatenate(([0], np.cumsum(block.n_judged)))
        hits = Hits(
            at=at,
            retrieved=ranking.retrieved[queries[at]],
            tied_docs=ranking.tied[queries[at]],
            float32_tied_docs=ranking.float32_tied[queries[at]],
            starts=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            rank=ranking.rank(hit),
            grade=block.grades[judgment],
            doc=judgment - judged_starts[rows.query[hit]],
            tie_first=None,
            tie_size=None,
        )
        return assemble(hits, self.joining, self._sources(ranking, queries), self.name, 0)

    def _by_rule(self, ranking: Ranking, queries: Ints, hit: Ints) -> JudgedRun:
        """Queries in which the rule for ties decides: on the groups of equal scores that have judged documents."""
        is_wanted = np.zeros(len(ranking.rows.query), dtype=bool)
        is_wanted[ranking.first[hit]] = True
        kept = np.flatnonzero(is_wanted[ranking.first])
        rows = ranking.rows.only(kept)
        qrels = self.block.qrels(queries)
        judged = join_run(qrels, self._nested(rows), self.joining, self.block.evaluator.extras, name=self.name)
        # the groups are whole and in order, so that the i-th place among them is one among all documents
        starts = np.searchsorted(rows.query, queries)[judged.query]
        return replace(
            judged,
            rank=ranking.rank(kept[starts + judged.rank - 1]),
            tie_first=ranking.rank(kept[starts + judged.tie_first - 1]),
            retrieved=ranking.retrieved[queries],
            tied_docs=ranking.tied[queries],
            float32_tied_docs=ranking.float32_tied[queries],
            sources=self._sources(ranking, queries),
        )

    def _sources(self, ranking: Ranking, queries: Ints) -> Sources:
        """What was joined, with the run only if somebody asks for it."""

        def load() -> Run:
            return self._as_run(ranking.rows.only(np.flatnonzero(np.isin(ranking.rows.query, queries))))

        return Sources(self.block.qrels(queries), load, self.block.evaluator.extras)

    def _whole(self, rows: Retrieved, queries: Ints) -> JudgedRun:
        """The local engine's own join."""
        evaluator, qrels = self.block.evaluator, self.block.qrels(queries)
        joining, extras = self.joining, evaluator.extras
        run = self._as_run(rows)
        at = np.array([i for i, query in enumerate(qrels.queries) if query in run.position], dtype=np.int64)
        return assemble(find_hits(qrels, run, at, joining), joining, Sources.of(qrels, run, extras), self.name, 0)

    def _nested(self, rows: Retrieved) -> dict[str, dict[str, float]]:
        docs, scores = texts(rows.doc), rows.score.tolist()
        starts = [0, *(np.flatnonzero(np.diff(rows.query)) + 1).tolist()]
        ends = [*starts[1:], len(docs)]
        names = [self.block.queries[k] for k in rows.query[starts].tolist()]
        return {
            query: dict(zip(docs[start:end], scores[start:end], strict=True))
            for query, start, end in zip(names, starts, ends, strict=True)
        }

    def _as_run(self, rows: Retrieved) -> Run:
        queries = [self.block.queries[k] for k in rows.query.tolist()]
        on_duplicate = self.block.evaluator.on_duplicate
        run = Run.from_rows(
            queries, texts(rows.doc), rows.score, ranks=rows.rank, name=self.name, on_duplicate=on_duplicate
        )
        self.repeated_docs += len(queries) - len(run)
        return run


class Ranking(Record, eq=False):
    """Rows in the order of their scores, query after query, with their groups of equal ones, in no order known."""

    rows: Retrieved
    first: Ints  # for each row, where its group begins
    size: Ints  # and how many are in it
    starts: Ints  # for each query of the block, where its rows begin
    retrieved: Ints  # for each query of the block
    tied: Ints
    float32_tied: Ints

    @classmethod
    def of(cls, rows: Retrieved, joining: Joining, n: int) -> Ranking:
        same_query = rows.query[1:] == rows.query[:-1]
        rows = _in_order(rows, same_query)
        with np.errstate(over="ignore"):  # what does not fit is infinite, as for a C cast
            single = rows.score.astype(np.float32)
        alike = {
            "float64": same_query & (rows.score[1:] == rows.score[:-1]),
            "float32": same_query & (single[1:] == single[:-1]),
        }
        tied = {kind: _tied(as_before, rows.query, n) for kind, as_before in alike.items()}
        first, size = _groups(alike[joining.score_type], len(rows.query))
        retrieved = np.bincount(rows.query, minlength=n)
        return cls(
            rows,
            first,
            size,
            np.concatenate(([0], np.cumsum(retrieved)))[:-1],
            retrieved,
            tied[joining.score_type],
            tied["float32"] - tied["float64"],
        )

    def rank(self, at: Ints) -> Ints:
        """The ranks of places."""
        ranks: Ints = at - self.starts[self.rows.query[at]] + 1
        return ranks


def _groups(as_before: Bools, n: int) -> tuple[Ints, Ints]:
    """For each of n rows where its group begins, and how many are in it; by whether each is like the one before it."""
    if not as_before.any():
        return np.arange(n), np.broadcast_to(np.ones(1, dtype=np.int64), n)
    is_head = np.concatenate(([True], ~as_before))
    heads = np.flatnonzero(is_head)
    number = np.cumsum(is_head) - 1
    return heads[number], np.diff(np.append(heads, n))[number]


def _tied(as_before: Bools, query: Ints, n: int) -> Ints:
    """For each query how many rows are like the one before or after them."""
    if not as_before.any():
        return np.zeros(n, dtype=np.int64)
    tied = np.zeros(len(query), dtype=bool)
    tied[1:] = as_before
    tied[:-1] |= as_before
    return np.bincount(query[tied], minlength=n)


def _in_order(rows: Retrieved, same_query: Bools) -> Retrieved:
    out_of_order = np.flatnonzero(same_query & (rows.score[1:] > rows.score[:-1]))
    if not len(out_of_order):
        return rows
    at = np.flatnonzero(np.isin(rows.query, np.unique(rows.query[out_of_order])))
    order: Any = np.arange(len(rows.query))
    order[at] = at[sorted_within(rows.query[at], rows.score[at])]
    return rows.only(order)
