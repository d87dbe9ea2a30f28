"""The similarity of the pooled systems: overlap, rank-biased overlap, and clusters of near-duplicates.

A pool needs diverse systems: documents that all of them miss are never judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints
from cranfield.pooling.ranked_lists import RankedLists

SIMILAR_RBO = 0.8  # rank-biased overlap from which systems count as near-duplicates
LOW_DIVERSITY_RBO = 0.6  # mean rank-biased overlap of all pairs from which a pool is not diverse enough
RBO_P = 0.9  # persistence of rank-biased overlap: the first 20 ranks have 97 % of the weight
RBO_DEPTH = 20  # ranks compared
_CELLS = 1 << 21  # most cells of the table systems × ranks × systems held at a time


class Merge(Record):
    """Two clusters of systems that are merged, and their mean similarity."""

    left: int  # a system, or (number of systems + i) for the result of the i-th merge
    right: int
    similarity: float


class RunSimilarity(Record, eq=False):
    """The similarity of each pair of systems: means over the topics that both have; 0 if they share none."""

    systems: tuple[str, ...]
    depth: int
    overlap: Floats  # systems × systems: share of common documents down to the depth
    rbo: Floats  # systems × systems: rank-biased overlap
    topics: Ints  # systems × systems: topics in common

    @cached_property
    def merges(self) -> tuple[Merge, ...]:
        """Hierarchical clustering: the two clusters with the highest mean similarity are merged (UPGMA)."""
        if len(self.systems) < 2:
            return ()
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        distance = np.clip(1 - self.rbo, 0.0, 1.0)
        np.fill_diagonal(distance, 0.0)
        steps = linkage(squareform(distance, checks=False), "average")
        return tuple(Merge(int(left), int(right), 1 - float(d)) for left, right, d, _ in steps)

    def clusters(self, threshold: float = SIMILAR_RBO) -> list[list[int]]:
        """Clusters of systems whose mean similarity reaches the threshold; most are single systems."""
        groups: dict[int, list[int]] = {i: [i] for i in range(len(self.systems))}
        for i, merge in enumerate(self.merges):
            if merge.similarity < threshold:
                break
            groups[len(self.systems) + i] = groups.pop(merge.left) + groups.pop(merge.right)
        return sorted(sorted(group) for group in groups.values())

    @property
    def mean_rbo(self) -> float:
        """The mean over all pairs of systems; 0 for a single system."""
        return _mean_of_pairs(self.rbo)

    def warnings(self) -> Iterator[str]:
        """Warnings about systems that are too similar."""
        for group in self.clusters():
            if len(group) > 1:
                yield self._describe_cluster(group)
        if len(self.systems) > 2 and self.mean_rbo >= LOW_DIVERSITY_RBO:
            yield (
                f"The runs are similar (mean RBO {self.mean_rbo:.2f}, threshold {LOW_DIVERSITY_RBO:.2f}): documents "
                "that all of them miss will not be judged. Add runs of other kinds."
            )

    def _describe_cluster(self, group: Sequence[int]) -> str:
        names = [self.systems[i] for i in group]
        who = f"{', '.join(names[:-1])} and {names[-1]}"
        part = np.ix_(group, group)
        rbo, overlap = _mean_of_pairs(self.rbo[part]), _mean_of_pairs(self.overlap[part])
        return (
            f"{who} are similar (RBO {rbo:.2f}, {overlap:.0%} of the first {self.depth:,} documents in common; "
            f"threshold RBO {SIMILAR_RBO:.2f}): they add little more to the pool than one run."
        )


def compare_runs(lists: Mapping[str, RankedLists], depth: int) -> RunSimilarity:
    """Compare the systems over all topics.

    >>> lists = RankedLists("1", ("a", "b", "c"), (("x", "y"), ("y", "x"), ("z", "u")))
    >>> compare_runs({"1": lists}, 2).overlap.tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    systems = next(iter(lists.values())).systems if lists else ()
    shape = (len(systems), len(systems))
    overlap, rbo, topics = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64)
    for topic_lists in lists.values():
        has = np.array([bool(docs) for docs in topic_lists.docs])
        both = has[:, np.newaxis] & has
        topics += both
        table = _NumberedLists(topic_lists, max(depth, RBO_DEPTH))
        overlap += np.where(both, table.overlaps(depth), 0.0)
        rbo += np.where(both, table.rbos(), 0.0)
    seen = np.maximum(topics, 1)
    return RunSimilarity(systems, depth, overlap / seen, rbo / seen, topics)


class _NumberedLists:
    """The lists of a topic with numbers in place of ids."""

    def __init__(self, lists: RankedLists, depth: int) -> None:
        self.numbers, self.docs = lists.number_documents(depth)

    def overlaps(self, depth: int) -> Floats:
        """For each pair of lists the share of common documents, relative to the longer list if both are short."""
        tops = [np.array(at[:depth], dtype=np.int64) for at in self.numbers]
        held = np.zeros((self.docs, len(tops)), dtype=bool)
        for system, at in enumerate(tops):
            held[at, system] = True
        sizes = np.array([len(at) for at in tops])
        # not as a matrix product: the threads that BLAS starts would cost more than they save
        common = np.array([np.count_nonzero(held[at], axis=0) for at in tops])
        overlaps: Floats = common / np.maximum(np.maximum.outer(sizes, sizes), 1)
        return overlaps

    def rbos(self) -> Floats:
        """Rank-biased overlap, extrapolated, of each pair of lists cut at TOP.

        The sum over depths, Σ (1 − p)/p · p^d · X_d/d, equals a sum over common documents of a term that depends only
        on the lower of the document's two ranks (`_TAILS`).
        """
        sizes = np.array([min(len(at), RBO_DEPTH) for at in self.numbers])
        at = np.full(
            (len(sizes), RBO_DEPTH), self.docs, dtype=np.int64
        )  # documents by rank; past the end of a list, one more than there are
        ranks = np.zeros((self.docs + 1, len(sizes)), dtype=np.int64)
        for system, docs in enumerate(self.numbers):
            at[system, : sizes[system]] = docs[:RBO_DEPTH]
            ranks[docs[:RBO_DEPTH], system] = np.arange(1, sizes[system] + 1)
        rows = max(1, _CELLS // (len(sizes) * RBO_DEPTH))
        parts = [self._rows(at[i : i + rows], ranks, sizes[i : i + rows], sizes) for i in range(0, len(sizes), rows)]
        rbos = np.concatenate(parts)
        return (rbos + rbos.T) / 2  # they may differ in the last digit

    @staticmethod
    def _rows(at: Ints, ranks: Ints, own: Ints, sizes: Ints) -> Floats:
        """The rank-biased overlap of some systems with all: systems × ranks × systems."""
        theirs = ranks[at]
        lower, is_common = np.maximum(theirs, np.arange(1, RBO_DEPTH + 1)[:, np.newaxis]), theirs > 0
        long, short = np.maximum.outer(own, sizes), np.minimum.outer(own, sizes)
        common = np.count_nonzero(is_common, axis=1)
        inside = np.count_nonzero(is_common & (lower <= short[:, np.newaxis]), axis=1)  # within both lists
        seen = (_TAILS[lower] * is_common).sum(axis=1) - common * _TAILS[long + 1]
        return _extrapolated(seen, common, inside, long, short)


def _extrapolated(seen: Floats, common: Ints, inside: Ints, long: Ints, short: Ints) -> Floats:
    """RBO_ext of lists of different lengths (Webber, Moffat & Zobel 2010, equation 32)."""
    share = inside / np.maximum(short, 1)
    # Σ over the depths between the two lengths of (1 − p)/p · p^d · (d − s)/d
    between = (RBO_P**short - RBO_P**long) - short * (_TAILS[short + 1] - _TAILS[long + 1])
    end = (common - inside) / np.maximum(long, 1) + share
    return np.where(short > 0, seen + share * between + end * RBO_P**long, 0.0)


def _tails(depth: int) -> Floats:
    """For each rank r the sum (1 − p)/p · Σ p^d/d over all depths from r on; 0 for rank 0, which does not exist."""
    steps = [RBO_P**d / d for d in range(1, depth)]
    tails = [-math.log1p(-RBO_P) - math.fsum(steps[: r - 1]) for r in range(1, depth + 1)]
    return np.array([0.0, *tails]) * (1 - RBO_P) / RBO_P


_TAILS = _tails(RBO_DEPTH + 2)


def _mean_of_pairs(table: Floats) -> float:
    upper = table[np.triu_indices(len(table), 1)]
    return float(upper.mean()) if len(upper) else 0.0
