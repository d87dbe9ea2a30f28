"""The pool of some runs as arrays, and what each run, group and topic contributes to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Bools, Floats, Ints, Qrels, Run
from cranfield.errors import CranfieldError
from cranfield.evaluation import distinct_names
from cranfield.io import as_qrels, as_run
from cranfield.joining import JudgedRun, join_run
from cranfield.pooling.groups import assign_groups
from cranfield.pooling.ranked_lists import rank_documents

UNKNOWN_DEPTH = 10  # assumed if the depth is neither given nor can be inferred
JUDGED_DEPTHS = (5, 10, 20, 50, 100, 1000)  # at which the share of judged documents is reported
MANY = 1 / 3  # a topic with a larger share of relevant documents has too many (Voorhees, CIKM 2018)


class PooledRuns(Record, eq=False):
    """Judgments and the runs pooled for them, with a number for every document of a topic.

    The judged documents come first, in the order of the qrels; then the unjudged documents that runs have within the
    depth. `lists[r]` has the documents of run r within the depth, by topic and rank, `ranks[r]` their ranks. A negative
    grade is not a judgment: such a document has the grade NaN, like one that is not in the qrels.
    """

    qrels: Qrels
    runs: tuple[Run, ...]  # with distinct names
    joins: tuple[JudgedRun, ...]
    groups: tuple[str, ...]  # of each run
    depth: int
    depth_is: str  # how the depth is known, in words
    pooled: tuple[bool, ...]  # whether each run appears to have been pooled
    rel: float
    topic: Ints  # of each document
    grade: Floats
    lists: tuple[Ints, ...]
    ranks: tuple[Ints, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        qrels: Any,
        runs: Iterable[Any],
        *,
        depth: int | None = None,
        groups: Mapping[str, str] | str | None = None,
        rel: float = 1,
    ) -> PooledRuns:
        """Number the documents of some runs down to a depth; by default, as deep as all of them are judged.

        >>> pooled = PooledRuns.of({"q": {"a": 1, "b": 0}}, [{"q": {"a": 2.0, "b": 1.0, "c": 0.5}}])
        >>> pooled.depth, pooled.depth_is
        (2, 'inferred: everything the runs retrieved down to rank 2 is judged')
        """
        judgments = as_qrels(qrels)
        named = _named([as_run(run) for run in runs])
        if not named:
            raise CranfieldError("there are no runs: name at least one.")
        if depth is not None and depth < 1:
            raise CranfieldError(f"depth {depth}: expected a whole number of at least 1.")
        joins = tuple(join_run(judgments, run) for run in named)

        def first(r: int, query: str, depth: int) -> Sequence[str]:
            return rank_documents(named[r], named[r].position[query], depth)

        return cls.from_joins(judgments, named, joins, first, depth=depth, groups=groups, rel=rel)

    @classmethod
    def from_joins(
        cls,
        qrels: Qrels,
        runs: Sequence[Run],
        joins: Sequence[JudgedRun],
        first: Callable[[int, str, int], Sequence[str]],
        *,
        judged: Sequence[int | None] | None = None,
        depth: int | None = None,
        groups: Mapping[str, str] | str | None = None,
        rel: float = 1,
        watch: Any = None,
    ) -> PooledRuns:
        """The same for runs that are joined already; of the runs themselves only the names are used.

        `first(run, query, depth)` returns the first documents of a run, given by number. It is called where some of
        them are unjudged. `judged` is the `find_judged_depth` of each join, if known. `watch` is as in `leave_out`.
        """
        full = [find_judged_depth(join) for join in joins] if judged is None else judged
        at, how, pooled = (depth, "given", (True,) * len(joins)) if depth is not None else _infer_depth(joins, full)
        numbers = _DocumentNumbers(qrels)
        places = range(len(joins))
        parts = [
            numbers.number_run(joins[r], at, partial(first, r))
            for r in (places if watch is None else watch(places, len(joins), "runs pooled"))
        ]
        topic, grade = numbers.columns()
        return cls(
            qrels=qrels,
            runs=tuple(runs),
            joins=tuple(joins),
            groups=assign_groups([run.name for run in runs], groups),
            depth=at,
            depth_is=how,
            pooled=pooled,
            rel=rel,
            topic=topic,
            grade=grade,
            lists=tuple(numbered for numbered, _ in parts),
            ranks=tuple(ranks for _, ranks in parts),
            notes=tuple(_notes(qrels, runs, joins, pooled)),
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(run.name for run in self.runs)

    @property
    def queries(self) -> tuple[str, ...]:
        return self.qrels.queries

    @cached_property
    def is_judged(self) -> Bools:
        """Of each document."""
        return ~np.isnan(self.grade)

    @cached_property
    def is_relevant(self) -> Bools:
        return self.is_judged & (np.nan_to_num(self.grade, nan=-1.0) >= self.rel)

    @property
    def in_qrels(self) -> int:
        """How many documents the qrels have, judged or not. They have the first numbers."""
        return int(self.qrels.starts_of_ideal[-1])

    def contributed(self, r: int) -> Ints:
        """The documents that run r contributes to the pool; none if it was not pooled."""
        return self.lists[r] if self.pooled[r] else self.lists[r][:0]

    @cached_property
    def runs_with(self) -> Ints:
        """How many pooled runs have each document."""
        return _counts((self.contributed(r) for r in range(len(self.runs))), len(self.grade))

    @cached_property
    def in_pool(self) -> Bools:
        return self.runs_with > 0

    @cached_property
    def best_rank(self) -> Ints:
        """The best rank of each document in any pooled run; the largest integer if none has it within the depth."""
        best = np.full(len(self.grade), np.iinfo(np.int64).max)
        for r, is_pooled in enumerate(self.pooled):
            if is_pooled:
                best[self.lists[r]] = np.minimum(best[self.lists[r]], self.ranks[r])
        return best

    @cached_property
    def members(self) -> dict[str, tuple[int, ...]]:
        """The runs of each group, in the order in which groups occur."""
        members: dict[str, list[int]] = {}
        for r, group in enumerate(self.groups):
            members.setdefault(group, []).append(r)
        return {group: tuple(at) for group, at in members.items()}

    @property
    def has_groups(self) -> bool:
        """Whether any group has several runs."""
        return len(self.members) < len(self.runs)

    @cached_property
    def group_docs(self) -> dict[str, Ints]:
        """The documents that each group contributes to the pool, without duplicates."""
        return {
            group: np.unique(np.concatenate([self.contributed(r) for r in at])) for group, at in self.members.items()
        }

    @cached_property
    def groups_with(self) -> Ints:
        """How many groups contribute each document."""
        return _counts(self.group_docs.values(), len(self.grade))

    def unique_to_run(self, r: int) -> Ints:
        """The documents that no other pooled run has within the depth."""
        own = self.contributed(r)
        alone: Ints = own[self.runs_with[own] == 1]
        return alone

    def unique_to_group(self, group: str) -> Ints:
        """The documents that no run of another group has within the depth."""
        own = self.group_docs[group]
        alone: Ints = own[self.groups_with[own] == 1]
        return alone


# Depth


def find_judged_depth(join: JudgedRun) -> int | None:
    """The rank down to which everything a run retrieved is judged, for all topics; None if everything is judged.

    >>> qrels, run = as_qrels({"q": {"a": 1, "b": 0}}), as_run({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    >>> find_judged_depth(join_run(qrels, run))
    2
    """
    known = join.grade >= 0
    # as long as every rank is judged, the n-th hit has rank n
    unbroken = join.total((known & (join.count_running(known) == join.rank)).astype(np.float64)).astype(np.int64)
    short = unbroken < join.retrieved
    return int(unbroken[short].min()) if short.any() else None


def _infer_depth(joins: Sequence[JudgedRun], full: Sequence[int | None]) -> tuple[int, str, tuple[bool, ...]]:
    """The depth down to which all pooled runs are judged, how it is known, and which runs were pooled.

    Runs with an unjudged first document, and runs judged less than half as deep as the median run, were not pooled:
    their judged documents come from other runs.
    """
    longest = [max(1, int(join.retrieved.max(initial=0))) for join in joins]
    depths = [own if depth is None else depth for own, depth in zip(longest, full, strict=True)]
    common = sorted(depth for depth in depths if depth)
    if not common:
        at = min(UNKNOWN_DEPTH, max(longest))
        how = f"assumed to be {at}, since no run has all of its first documents judged; --depth sets another"
        return at, how, (True,) * len(joins)
    least = common[len(common) // 2] / 2
    pooled = tuple(depth is None or depth >= least for depth in full)
    # a run that is judged to its end may have been judged further
    ends = [depth for depth in full if depth is not None and depth >= least]
    at = min(ends) if ends else max(own for own, is_pooled in zip(longest, pooled, strict=True) if is_pooled)
    where = f" down to rank {at:,}" if ends else ""
    return at, f"inferred: everything the runs retrieved{where} is judged", pooled


def _notes(qrels: Qrels, runs: Sequence[Run], joins: Sequence[JudgedRun], pooled: Sequence[bool]) -> Iterable[str]:
    not_pooled = [run.name for run, is_pooled in zip(runs, pooled, strict=True) if not is_pooled]
    if not_pooled:
        yield f"Not pooled, as judged less deeply (--depth treats all runs as pooled): {join_names(not_pooled)}."
    for run, join in zip(runs, joins, strict=True):
        missing = [query for query, gone in zip(join.queries, join.missing.tolist(), strict=True) if gone]
        if missing:
            n = pluralize(len(missing), "topic")
            yield f"{run.name} has no documents for {n} with judgments, which count as 0 ({join_names(missing)})."
    unjudged = max(join.only_in_run for join in joins)
    if unjudged:
        yield f"Queries without judgments are left out, up to {unjudged:,} of a run."
    if qrels.merged:
        what = pluralize(qrels.merged, "document")
        yield f"{what} judged for several subtopics or groups: the highest grade counts."


def _named(runs: Sequence[Run]) -> tuple[Run, ...]:
    files = [run.origin.file if run.origin else None for run in runs]
    names = distinct_names([run.name for run in runs], files)
    return tuple(run.renamed(name) for run, name in zip(runs, names, strict=True))


class _DocumentNumbers:
    """Numbers for documents, topic by topic: judged ones in the order of the qrels, then others as they occur."""

    def __init__(self, qrels: Qrels) -> None:
        self.qrels = qrels
        self.known: dict[int, dict[str, int]] = {}  # by topic, where documents have been looked up
        self.next = int(qrels.starts_of_ideal[-1])
        self.others: list[int] = []  # the topic of each document that is not in the qrels

    def number_run(self, join: JudgedRun, depth: int, first: Callable[[str, int], Sequence[str]]) -> tuple[Ints, Ints]:
        """The numbers and ranks of a run's documents down to a depth."""
        sizes = np.minimum(join.retrieved, depth)
        starts = np.cumsum(sizes) - sizes
        ranks = np.arange(int(sizes.sum())) - np.repeat(starts, sizes) + 1
        numbers = np.full(len(ranks), -1, dtype=np.int64)
        hits = np.flatnonzero(join.rank <= depth)
        topic = join.query[hits]
        numbers[starts[topic] + join.rank[hits] - 1] = join.ideal_starts[topic] + join.doc[hits]
        gaps = np.flatnonzero(numbers < 0)
        topic = np.searchsorted(starts, gaps, "right") - 1
        for i in np.unique(topic).tolist():
            own = gaps[topic == i]
            docs = first(join.queries[i], depth)
            numbers[own] = [self._number(i, docs[rank - 1]) for rank in ranks[own].tolist()]
        return numbers, ranks

    def _number(self, i: int, doc: str) -> int:
        known = self.known.get(i)
        if known is None:
            start = int(self.qrels.starts_of_ideal[i])
            known = self.known[i] = {judged: start + k for k, judged in enumerate(self.qrels.judged[i])}
        if doc not in known:
            known[doc] = self.next
            self.next += 1
            self.others.append(i)
        return known[doc]

    def columns(self) -> tuple[Ints, Floats]:
        """The topic and the grade of each document."""
        qrels = self.qrels
        topic = np.repeat(np.arange(len(qrels.queries)), np.diff(qrels.starts_of_ideal))
        grades = [grade if grade >= 0 else np.nan for judged in qrels.judged for grade in judged.values()]
        return (
            np.concatenate([topic, np.array(self.others, dtype=np.int64)]),
            np.concatenate([np.array(grades, dtype=np.float64), np.full(len(self.others), np.nan)]),
        )


def _counts(parts: Iterable[Ints], n: int) -> Ints:
    total = np.zeros(n, dtype=np.int64)
    for part in parts:
        total[part] += 1  # no part has a document twice
    return total


# Contributions


class Contribution(Record):
    """What a run or a group contributed to the pool."""

    name: str
    runs: tuple[str, ...]
    pooled: int
    judged: int
    relevant: int
    unique: int
    unique_judged: int
    unique_relevant: int

    @classmethod
    def of(cls, name: str, runs: tuple[str, ...], pooled: PooledRuns, docs: Ints, unique: Ints) -> Contribution:
        def count(flags: Bools, of: Ints) -> int:
            return int(np.count_nonzero(flags[of]))

        return cls(
            name=name,
            runs=runs,
            pooled=len(docs),
            judged=count(pooled.is_judged, docs),
            relevant=count(pooled.is_relevant, docs),
            unique=len(unique),
            unique_judged=count(pooled.is_judged, unique),
            unique_relevant=count(pooled.is_relevant, unique),
        )


def count_run_contributions(pooled: PooledRuns) -> tuple[Contribution, ...]:
    """What each run contributed to the pool, and what only it contributed."""
    return tuple(
        Contribution.of(name, (name,), pooled, pooled.contributed(r), pooled.unique_to_run(r))
        for r, name in enumerate(pooled.names)
    )


def count_group_contributions(pooled: PooledRuns) -> tuple[Contribution, ...]:
    """What each group contributed to the pool, and what only it contributed."""
    return tuple(
        Contribution.of(
            group,
            tuple(pooled.names[r] for r in at),
            pooled,
            pooled.group_docs[group],
            pooled.unique_to_group(group),
        )
        for group, at in pooled.members.items()
    )


class TopicPool(Record):
    """The pool of a topic, and its judgments."""

    query: str
    pooled: int
    pooled_unjudged: int
    judged: int
    outside: int  # judged, but in no pooled run within the depth
    relevant: int
    grades: Mapping[float, int]

    @property
    def share(self) -> float:
        """The share of relevant documents among the judged ones; 0 without judgments."""
        return self.relevant / self.judged if self.judged else 0.0

    @property
    def has_none(self) -> bool:
        return self.relevant == 0

    @property
    def has_many(self) -> bool:
        """More than a third: there may well be more that have not been found."""
        return self.share > MANY


def summarize_topics(pooled: PooledRuns) -> tuple[TopicPool, ...]:
    """Count the documents of each topic's pool: pooled, judged, relevant, and by grade."""
    n = len(pooled.queries)

    def per_topic(flags: Bools) -> list[int]:
        counts: list[int] = np.bincount(pooled.topic[flags], minlength=n).tolist()
        return counts

    levels = np.unique(pooled.grade[pooled.is_judged])
    by_level = {float(level): per_topic(pooled.grade == level) for level in levels}
    size, judged = per_topic(pooled.in_pool), per_topic(pooled.is_judged)
    unjudged, outside = per_topic(pooled.in_pool & ~pooled.is_judged), per_topic(pooled.is_judged & ~pooled.in_pool)
    relevant = per_topic(pooled.is_relevant)
    return tuple(
        TopicPool(
            query=query,
            pooled=size[i],
            pooled_unjudged=unjudged[i],
            judged=judged[i],
            outside=outside[i],
            relevant=relevant[i],
            grades={level: counts[i] for level, counts in by_level.items()},
        )
        for i, query in enumerate(pooled.queries)
    )


def compute_overlaps(pooled: PooledRuns) -> Floats:
    """The Jaccard index of the lists of each pair of runs down to the depth.

    This is a mean over the topics for which at least one of the two retrieved something.
    """
    n, m = len(pooled.queries), len(pooled.runs)
    total, topics = np.zeros((m, m)), np.zeros((m, m))
    order = np.argsort(pooled.topic, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(np.bincount(pooled.topic, minlength=n))))
    place[order] = np.arange(len(order)) - starts[pooled.topic[order]]
    by_topic = [np.split(docs, np.searchsorted(pooled.topic[docs], np.arange(1, n))) for docs in pooled.lists]
    for i in range(n):
        holds = np.zeros((m, int(starts[i + 1] - starts[i])), dtype=np.float32)
        for r in range(m):
            holds[r, place[by_topic[r][i]]] = 1
        both = (holds @ holds.T).astype(np.float64)
        size = both.diagonal()
        either = size[:, None] + size[None, :] - both
        total += np.divide(both, either, out=np.zeros_like(both), where=either > 0)
        topics += either > 0
    return np.divide(total, topics, out=np.zeros_like(total), where=topics > 0)


def compute_judged_shares(
    pooled: PooledRuns, depths: Sequence[int] | None = None
) -> dict[int, tuple[float | None, ...]]:
    """judged@k of each run: the share of judged documents among its first k, over all topics together.

    It is None for a run that retrieved nothing.
    """
    longest = max(int(join.retrieved.max(initial=0)) for join in pooled.joins)
    ks = depths or sorted({k for k in JUDGED_DEPTHS if k <= longest} | {min(pooled.depth, longest)} - {0})
    return {k: tuple(_judged_share(join, k) for join in pooled.joins) for k in ks}


def _judged_share(join: JudgedRun, k: int) -> float | None:
    retrieved = int(np.minimum(join.retrieved, k).sum())
    judged = int(np.count_nonzero((join.grade >= 0) & (join.rank <= k)))
    return judged / retrieved if retrieved else None
