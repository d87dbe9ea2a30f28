"""The result of a join: the judged documents that a run retrieved, with their ranks and grades."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from cranfield.base import Record, core, replace
from cranfield.data import Bools, Floats, Ints, Origin, Qrels, Run
from cranfield.joining.options import Joining
from cranfield.joining.ranking import Ranking, group_equal


class Extras(Record, eq=False):
    """Inputs that some measures need beside run and qrels; None where absent."""

    against: Run | None = None  # another run, to compare rankings with
    doc_lengths: Mapping[str, float] | None = None  # doc -> length
    duplicates: Mapping[str, str] | None = None  # doc -> its group of documents with the same content
    facts: Mapping[str, Mapping[str, frozenset[str]]] | None = None  # query -> doc -> facts or entities in it


NO_EXTRAS = Extras()


class Sources(Record, eq=False):
    """The inputs of a join, for measures that need more than ranks and grades.

    Few measures look at the run itself. One that was joined from a file is read again when `run` is first used.
    """

    qrels: Qrels
    load_run: Callable[[], Run]
    extras: Extras = NO_EXTRAS
    origin: Origin | None = None  # of the run
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, qrels: Qrels, run: Run, extras: Extras = NO_EXTRAS) -> Sources:
        """The sources of a join with a run that is in memory."""
        return cls(qrels, partial(_identity, run), extras, run.origin, run.notes)

    @cached_property
    def run(self) -> Run:
        return self.load_run()


def _identity(run: Run) -> Run:
    return run


class JudgedRun(Record, eq=False):
    """The judged documents that were retrieved, with rank and grade: all that most measures need.

    `rank`, `grade`, `doc`, `tie_first` and `tie_size` have one entry per retrieved judged document (a hit),
    ordered by query and rank; hits of query i are `starts[i]:starts[i+1]`. `ideal` holds the grades of all judged
    documents of each query, best first, from `ideal_starts`. In a `dense` join every retrieved document is a hit,
    those without a judgment with grade NaN.
    """

    run: str
    queries: tuple[str, ...]
    starts: Ints
    rank: Ints
    grade: Floats
    doc: Ints  # which of the query's judged documents the hit is, as an index into `judged_docs`; -1 if unjudged
    tie_first: Ints  # the first rank of the hit's group of equal scores
    tie_size: Ints  # and how many documents are in it
    retrieved: Ints  # per query
    missing: Bools  # per query: not in the run at all
    ideal: Floats
    ideal_starts: Ints
    joining: Joining
    sources: Sources
    qrels_at: Ints  # per query: its position in the qrels
    tied_docs: Ints  # per query: documents that share their score with another
    float32_tied_docs: Ints  # per query: documents that do so in float32 but not in float64
    only_in_run: int = 0  # queries of the run that have no judgments

    @property
    def n(self) -> int:
        """The number of queries."""
        return len(self.queries)

    @property
    def tied(self) -> int:
        """How many documents share their score with another."""
        return int(self.tied_docs.sum())

    @property
    def float32_tied(self) -> int:
        """How many documents share their score with another in float32 but not in float64."""
        return int(self.float32_tied_docs.sum())

    @cached_property
    def has_missing(self) -> bool:
        """Whether some query is not in the run at all."""
        return bool(self.missing.any())

    @cached_property
    def query(self) -> Ints:
        """The query of each hit, as an index."""
        if len(self.queries) == 1:
            return np.zeros(len(self.rank), dtype=np.int64)
        return np.repeat(np.arange(self.n), self._sizes)

    def spread(self, values: Any) -> Any:
        """What each query has, for each of its hits."""
        return values.repeat(self._sizes)

    @cached_property
    def _sizes(self) -> Ints:
        """The number of hits of each query."""
        return self.starts[1:] - self.starts[:-1]

    @cached_property
    def ideal_query(self) -> Ints:
        """The query of each judged document, as an index."""
        return np.repeat(np.arange(self.n), np.diff(self.ideal_starts))

    def total(self, weights: Any) -> Floats:
        """The sum over the hits of each query, added in rank order as a plain loop would."""
        if core is None or not are_doubles(weights):
            return _sums(self.query, weights, self.n)
        sums = np.empty(len(self.queries))
        core.sums(self.starts, weights, sums)
        return sums

    def quotient(self, weights: Any, whole: Floats) -> Floats:
        """The sum over the hits of each query divided by what is whole for it, and 0 where that is 0."""
        if core is None or not are_doubles(weights, whole):
            return share(self.total(weights), whole)
        shares = np.empty(len(self.queries))
        core.quotients(self.starts, weights, whole, shares)
        return shares

    def count(self, where: Bools) -> Floats:
        """How many hits of each query satisfy a condition."""
        return self.total(where.astype(np.float64))

    def count_relevant(self, rel: float) -> Floats:
        """How many documents of each query are judged relevant, retrieved or not."""
        return self.cache_for_qrels(("relevant", rel), lambda: self.ideal_total(self.ideal >= rel))

    def ideal_total(self, weights: Any) -> Floats:
        """The sum over the judged documents of each query, retrieved or not."""
        return _sums(self.ideal_query, weights, self.n)

    def cache_for_qrels(self, key: Hashable, find: Callable[[], Floats]) -> Floats:
        """A result that follows from the judgments alone, computed once for all runs; `key` identifies it."""
        known = self._known
        if known is None:
            return find()
        if key not in known:
            found = find()
            found.flags.writeable = False
            known[key] = found
        return known[key]

    @cached_property
    def _known(self) -> dict[Hashable, Floats] | None:
        """Where to keep what is known of the judgments: with them, if they are those of the qrels as they are."""
        if not isinstance(self.sources, Sources):  # candidates for bounds have none
            return None
        return self.sources.qrels.known if self.ideal is self.sources.qrels.ideal else None

    def cache(self, key: Hashable, find: Callable[[], Floats]) -> Floats:
        """A result that follows from ranks and grades, computed once for all measures; `key` identifies it."""
        if key not in self._found:
            found = find()
            found.flags.writeable = False
            self._found[key] = found
        return self._found[key]

    @cached_property
    def _found(self) -> dict[Hashable, Floats]:
        return {}

    @cached_property
    def depth(self) -> int:
        """The rank of the last hit of all."""
        if not len(self.rank):
            return 0
        return int(self.rank[-1] if len(self.queries) == 1 else self.rank.max())

    def cut(self, cutoff: int | None) -> JudgedRun:
        """The same without the hits below a cutoff."""
        if cutoff is None or cutoff >= self.depth:
            return self
        if cutoff not in self._cut:
            self._cut[cutoff] = self.only(self.rank <= cutoff)
        return self._cut[cutoff]

    @cached_property
    def _cut(self) -> dict[int, JudgedRun]:
        return {}

    def count_running(self, where: Bools) -> Floats:
        """For each hit how many of its query's hits up to and with it satisfy a condition."""
        if core is None:
            so_far = np.cumsum(where)
            before = np.concatenate(([0], so_far))[self.starts[:-1]]
            return (so_far - before[self.query]).astype(np.float64)
        counts = np.empty(len(where))
        core.running(self.starts, np.ascontiguousarray(where, dtype=bool), counts)
        return counts

    def judged_docs(self, i: int) -> list[str]:
        """The judged documents of query i, in the order that `doc` counts them."""
        return list(self.sources.qrels.judged[int(self.qrels_at[i])])

    def ranking(self, i: int) -> list[str]:
        """The retrieved documents of query i in rank order, judged or not."""
        return self._rankings.docs_of(i, self.sources.qrels.judged[int(self.qrels_at[i])])

    @cached_property
    def _rankings(self) -> Ranking:
        run = self.sources.run
        return Ranking(run, [run.position.get(query) for query in self.queries], self.joining)

    def only(self, where: Bools) -> JudgedRun:
        """The same with some hits only; ranks stay as they are."""
        at = np.flatnonzero(where)
        return replace(
            self,
            starts=np.searchsorted(at, self.starts),
            rank=self.rank[at],
            grade=self.grade[at],
            doc=self.doc[at],
            tie_first=self.tie_first[at],
            tie_size=self.tie_size[at],
        )

    @cached_property
    def condensed(self) -> JudgedRun:
        """The list that remains when documents without a judgment (or with a negative one) are left out."""
        kept = self.only(self.grade >= 0)
        rank = kept.count_running(np.ones(len(kept.rank), dtype=bool)).astype(np.int64)
        first, size = group_equal(kept.query, kept.tie_first, rank)
        return replace(kept, rank=rank, tie_first=first, tie_size=size, retrieved=np.diff(kept.starts).astype(np.int64))

    def regrade(self, values: Mapping[float, float]) -> JudgedRun:
        """The same with other values in place of some grades."""
        ideal = _mapped(self.ideal, values)
        ideal = ideal[np.lexsort((-ideal, self.ideal_query))]
        sources = self.sources
        if isinstance(sources, Sources):  # candidates for bounds have none
            qrels = replace(sources.qrels, grades=_mapped(sources.qrels.grades, values))
            sources = replace(sources, qrels=qrels, load_run=lambda: self.sources.run)
        return replace(self, grade=_mapped(self.grade, values), ideal=ideal, sources=sources)

    def drop_repeats(self, duplicates: Mapping[str, str]) -> JudgedRun:
        """The same with grade 0 for every hit that repeats an earlier one: both of one group and graded above 0.

        `duplicates` gives doc -> group. The ideal counts a group once too: its highest grade stays, the others that
        are above 0 become 0.
        """
        grade, ideal = self.grade.copy(), self.ideal.copy()
        for i in range(self.n):
            hits = slice(int(self.starts[i]), int(self.starts[i + 1]))
            names = self.judged_docs(i)
            docs = ["" if number < 0 else names[number] for number in self.doc[hits]]
            grade[hits] = np.where(_repeated(docs, grade[hits], duplicates), 0.0, grade[hits])
            grades = count_duplicates_once(self.sources.qrels.judged[int(self.qrels_at[i])], duplicates)
            ideal[int(self.ideal_starts[i]) : int(self.ideal_starts[i + 1])] = sorted(grades.values(), reverse=True)
        return replace(self, grade=grade, ideal=ideal)

    @property
    def has_ties(self) -> bool:
        """Whether some hit is tied with another document."""
        return bool((self.tie_size > 1).any())

    def shuffle_ties(self, rngs: Sequence[np.random.Generator]) -> JudgedRun:
        """The same hits with every group of equal scores in a random order, drawn from its query's generator."""
        place = np.array(self.rank)
        loose = np.flatnonzero(self.tie_size > 1)
        if len(loose):
            keys = np.stack([self.query[loose], self.tie_first[loose]])
            change = np.flatnonzero(np.any(keys[:, 1:] != keys[:, :-1], axis=0)) + 1
            for group in np.split(loose, change):
                drawn = rngs[self.query[group[0]]].choice(self.tie_size[group[0]], size=len(group), replace=False)
                place[group] = self.tie_first[group[0]] + drawn
        order = np.lexsort((place, self.query))
        return replace(
            self,
            rank=place[order],
            grade=self.grade[order],
            doc=self.doc[order],
            tie_first=self.tie_first[order],
            tie_size=self.tie_size[order],
        )


def _mapped(grades: Floats, values: Mapping[float, float]) -> Floats:
    mapped = grades.copy()
    for grade, value in values.items():
        mapped[grades == grade] = value
    return mapped


def count_duplicates_once(grade_of: Mapping[str, float], duplicates: Mapping[str, str]) -> dict[str, float]:
    """Grades by document, with 0 for what is graded above 0 in a duplicate group but the highest of it.

    >>> count_duplicates_once({"a": 1, "b": 2, "c": 1}, {"a": "x", "b": "x"})
    {'a': 0.0, 'b': 2, 'c': 1}
    """
    best_first = sorted(grade_of, key=lambda doc: -grade_of[doc])
    repeated = _repeated(best_first, np.array([grade_of[doc] for doc in best_first], dtype=np.float64), duplicates)
    repeats = {doc for doc, again in zip(best_first, repeated, strict=True) if again}
    return {doc: 0.0 if doc in repeats else grade for doc, grade in grade_of.items()}


def _repeated(docs: Sequence[str], grades: Floats, duplicates: Mapping[str, str]) -> list[bool]:
    """Which documents of a list are graded above 0 and of the same group as an earlier one that is."""
    seen: set[str] = set()
    repeated = []
    for doc, grade in zip(docs, grades.tolist(), strict=True):
        group = duplicates.get(doc) if grade > 0 else None  # what earned nothing is not repeated
        repeated.append(group in seen)
        if group is not None:
            seen.add(group)
    return repeated


_DOUBLE = np.dtype(np.float64)


def are_doubles(*columns: Any) -> bool:
    """Whether the core can take these as they are: arrays of doubles, one behind the other."""
    for column in columns:
        if type(column) is not np.ndarray or column.dtype is not _DOUBLE or not column.flags.forc or column.ndim != 1:
            return False
    return True


def share(part: Floats, whole: Floats | float) -> Floats:
    """part / whole, and 0 where there is nothing to divide by."""
    if core is not None and are_doubles(part, whole) and len(part) == len(whole):  # type: ignore[arg-type]
        shares = np.empty(len(part))
        core.shares(part, whole, shares)
        return shares
    whole = np.broadcast_to(np.asarray(whole, dtype=np.float64), part.shape)
    return np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)


def accumulate_within(step: np.ufunc, values: Floats, starts: Ints) -> Floats:
    """`step.accumulate` within each part of the values, in the order of a plain loop.

    >>> accumulate_within(np.add, np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 4]))
    array([1., 2., 5., 9.])
    """
    reached = np.array(values, dtype=np.float64)
    at, ends = starts[:-1], starts[1:]
    if len(at) <= np.max(ends - at, initial=0):  # few long parts: one after the other
        for start, end in zip(at.tolist(), ends.tolist(), strict=True):
            step.accumulate(reached[start:end], out=reached[start:end])
        return reached
    while len(at):  # many short ones: the next value of all of them at once
        more = at + 1 < ends
        at, ends = at[more] + 1, ends[more]
        reached[at] = step(reached[at - 1], reached[at])
    return reached


def _sums(query: Ints, weights: Any, n: int) -> Floats:
    # bincount adds in order, so a sum does not depend on what else is in the batch
    return np.asarray(np.bincount(query, weights=weights, minlength=n), dtype=np.float64)
