"""Training data of fusion: the quality of a fused ranking, and where in the lists of runs relevant documents are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from cranfield.base import Record, replace
from cranfield.data import Bools, Floats, Ints, Qrels, Run
from cranfield.fusion.candidates import Candidates, gather_candidates
from cranfield.fusion.methods import BAYES_CUTS, SEGFUSE_CUTS
from cranfield.fusion.recipe import Recipe
from cranfield.joining import DEFAULT_JOINING, NO_EXTRAS, Hits, JudgedRun, Sources, assemble, join_run
from cranfield.measures import Measure

LEAST = 0.001  # a probability of 0 or 1 would have infinite odds


class JudgedCandidates(Record, eq=False):
    """Which candidates of some queries are judged."""

    candidates: Candidates
    at: Ints  # the position of each query in the qrels
    candidate: Ints  # of each judged candidate
    grade: Floats
    doc: Ints  # its number among the judged documents of the query

    def relevant(self, rel: float) -> Bools:
        """Whether the document of each entry is relevant."""
        relevant = np.zeros(len(self.candidates.docs), dtype=bool)
        relevant[self.candidate] = self.grade >= rel
        return relevant[self.candidates.candidate]

    def hits(self, scores: Floats, depth: int | None) -> Hits:
        """The judged candidates by rank, when ranked by these scores."""
        candidates = self.candidates
        order, place = candidates.ranked(scores)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = place
        ranks = rank[self.candidate]
        by_rank = np.lexsort((ranks, candidates.query[self.candidate]))
        if depth is not None:
            by_rank = by_rank[ranks[by_rank] <= depth]
        query = candidates.query[self.candidate[by_rank]]
        zeros = np.zeros(len(self.at), dtype=np.int64)
        return Hits(
            at=self.at,
            retrieved=candidates.number if depth is None else np.minimum(candidates.number, depth),
            tied_docs=zeros,
            float32_tied_docs=zeros,
            starts=_starts(np.bincount(query, minlength=len(self.at))),
            rank=ranks[by_rank],
            grade=self.grade[by_rank],
            doc=self.doc[by_rank],
            # tied candidates are ranked by id, as in an evaluation
            tie_first=None,
            tie_size=None,
        )


class Training(Record, eq=False):
    """Runs joined with judgments, to try recipes on."""

    qrels: Qrels
    runs: tuple[Run, ...]
    queries: tuple[str, ...]  # judged, and in some run
    measure: Measure
    depth: int | None
    rel: float
    lowest_is_best: bool

    @cached_property
    def judgments(self) -> list[JudgedCandidates]:
        return [
            _look_up_judgments(self.qrels, candidates)
            for candidates in gather_candidates(self.runs, self.queries, self.lowest_is_best)
        ]

    @cached_property
    def place(self) -> dict[str, int]:
        """The position of each query among those to learn from."""
        return {query: i for i, query in enumerate(self.queries)}

    def values(self, recipe: Recipe) -> Floats:
        """The value of the measure for a recipe, query by query."""
        parts = [judgment.hits(recipe.scores(judgment.candidates), self.depth) for judgment in self.judgments]
        sources = Sources(self.qrels, lambda: recipe.fuse(self.runs, depth=self.depth), NO_EXTRAS)
        return self._measure(assemble(_concatenate(parts), DEFAULT_JOINING, sources, recipe.method.name, 0))

    def of_run(self, i: int) -> Floats:
        """The value of the measure for one of the runs alone, query by query."""
        run = self.runs[i]
        if not any(query in run.position for query in self.queries):
            return np.zeros(len(self.queries))
        return self._measure(join_run(self.qrels, _negate(run, self.lowest_is_best)))

    def _measure(self, judged: JudgedRun) -> Floats:
        values = np.where(judged.missing, 0.0, self.measure.values(judged))
        where = {query: i for i, query in enumerate(judged.queries)}
        return values[[where[query] for query in self.queries]]

    def learned(self, recipe: Recipe, some: Ints) -> tuple[Floats, ...]:
        """What a method learns about each run from some of the queries."""
        learn = _LEARNERS.get(recipe.method.name)
        if learn is None:
            return ()
        lists = self.lists(some)
        return tuple(learn(lists.of(run), recipe) for run in range(len(self.runs)))

    def lists(self, some: Ints) -> TrainingLists:
        """The lists of all runs for some of the queries."""
        key = some.tobytes()
        if key not in self._last:
            self._last.clear()
            self._last[key] = self._lists(some)
        return self._last[key]

    @cached_property
    def _last(self) -> dict[bytes, TrainingLists]:
        """The lists of the last call: every trial needs them again."""
        return {}

    def _lists(self, some: Ints) -> TrainingLists:
        wanted = np.zeros(len(self.queries), dtype=bool)
        wanted[some] = True
        columns: list[list[Ints]] = [[] for _ in range(5)]
        for judgment in self.judgments:
            candidates = judgment.candidates
            query = np.array([self.place[query] for query in candidates.queries])[
                candidates.query[candidates.candidate]
            ]
            kept = wanted[query]
            hit = judgment.relevant(self.rel).astype(np.int64)
            for column, values in zip(
                columns, (candidates.run, query, candidates.rank, candidates.size, hit), strict=True
            ):
                column.append(values[kept])
        run, query, rank, size, relevant = (np.concatenate(column) for column in columns)
        return TrainingLists(len(some), self._relevant, run, query, rank, size, relevant.astype(np.float64))

    @cached_property
    def _relevant(self) -> Floats:
        """How many relevant documents each query has."""
        judged = dict(zip(self.qrels.queries, self.qrels.judged, strict=True))
        return np.array([sum(grade >= self.rel for grade in judged[query].values()) for query in self.queries], float)


class TrainingLists(Record, eq=False):
    """Entries of lists with their relevance."""

    queries: int  # to average over
    relevant_of_query: Floats
    run: Ints
    query: Ints
    rank: Ints
    size: Ints
    relevant: Floats

    def of(self, run: int) -> TrainingLists:
        mine = self.run == run
        columns = (column[mine] for column in (self.run, self.query, self.rank, self.size, self.relevant))
        return TrainingLists(self.queries, self.relevant_of_query, *columns)


def _mean_ap(lists: TrainingLists, _: Recipe) -> Floats:
    """AP of a run, as an array of one."""
    order = np.lexsort((lists.rank, lists.query))
    query, rank, relevant = lists.query[order], lists.rank[order], lists.relevant[order]
    seen = np.cumsum(relevant)
    first = np.flatnonzero(rank == 1)
    before = np.repeat((seen - relevant)[first], np.diff(np.append(first, len(rank))))
    whole = np.maximum(lists.relevant_of_query[query], 1)
    return np.array([math.fsum(relevant * (seen - before) / rank / whole) / lists.queries])


def _chances(lists: TrainingLists, _: Recipe) -> Floats:
    """The share of queries with a relevant document at each rank, among those with a document there."""
    there = np.bincount(lists.rank - 1, minlength=1)
    return np.bincount(lists.rank - 1, lists.relevant, minlength=1) / np.maximum(there, 1)


def _shares(lists: TrainingLists, recipe: Recipe) -> Floats:
    """The mean share of relevant documents in each of the equal parts of a list."""
    segments = int(recipe.settings.params["segments"])
    segment = (lists.rank - 1) // -(-lists.size // segments)
    cell = lists.query * segments + segment
    there = np.bincount(cell, minlength=segments)
    share = np.bincount(cell, lists.relevant, minlength=segments) / np.maximum(there, 1)
    return np.bincount(np.arange(len(share)) % segments, share, minlength=segments) / lists.queries


def _densities(lists: TrainingLists, cuts: Sequence[int]) -> Floats:
    """Relevant documents per query in each segment, divided by its full length even if a list is shorter."""
    segment = np.searchsorted(cuts, lists.rank - 1, side="right") - 1
    inside = segment < len(cuts) - 1
    hits = np.bincount(segment[inside], lists.relevant[inside], minlength=len(cuts) - 1)
    return hits / np.diff(cuts) / lists.queries


def _log_odds(lists: TrainingLists, _: Recipe) -> Floats:
    chance = _densities(lists, BAYES_CUTS)
    chance = np.where(chance == 0, LEAST, chance)
    against = 1 - chance
    return np.log(chance / np.where(against <= 0, LEAST, against))


_LEARNERS: dict[str, Callable[[TrainingLists, Recipe], Floats]] = {
    "mapfuse": _mean_ap,
    "posfuse": _chances,
    "slidefuse": _chances,
    "probfuse": _shares,
    "segfuse": lambda lists, _: _densities(lists, SEGFUSE_CUTS),
    "bayesfuse": _log_odds,
}


def _look_up_judgments(qrels: Qrels, candidates: Candidates) -> JudgedCandidates:
    where = {query: i for i, query in enumerate(qrels.queries)}
    at = [where[query] for query in candidates.queries]
    candidate, grade, doc = [], [], []
    docs = candidates.docs.tolist()
    for i, judged in enumerate(qrels.judged[j] for j in at):
        number = {name: k for k, name in enumerate(judged)}
        for c in range(int(candidates.starts[i]), int(candidates.starts[i + 1])):
            if docs[c] in number:
                candidate.append(c)
                grade.append(judged[docs[c]])
                doc.append(number[docs[c]])
    ints = np.int64
    return JudgedCandidates(
        candidates, np.array(at, ints), np.array(candidate, ints), np.array(grade, float), np.array(doc, ints)
    )


def _concatenate(parts: Sequence[Hits]) -> Hits:
    """The hits of several groups of queries as one."""
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    names = ("at", "retrieved", "tied_docs", "float32_tied_docs", "rank", "grade", "doc")
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Hits(starts=_starts(sizes), tie_first=None, tie_size=None, **columns)


def _negate(run: Run, lowest_is_best: bool) -> Run:
    return replace(run, scores=-run.scores) if lowest_is_best else run


def _starts(sizes: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
