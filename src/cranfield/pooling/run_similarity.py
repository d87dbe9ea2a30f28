"""How alike the pooled systems are: overlap, rank-biased overlap, and which are hardly more than one system.

A pool is as good as the strategies it comes from are different: what all of them miss, nobody judges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints
from cranfield.pooling.lists import Lists

ALIKE = 0.8  # rank-biased overlap from which systems count as nearly one
NARROW = 0.6  # mean rank-biased overlap of all pairs from which a pool has too little variety
P = 0.9  # of rank-biased overlap: 97 % of its weight are on the first 20 ranks
TOP = 20  # ranks that it looks at
_CELLS = 1 << 21  # of the table systems × ranks × systems that is held at a time, at most


class Merge(Record):
    """Two groups of systems that are put together, and how alike they are on average."""

    left: int  # a system, or (number of systems + i) for what the i-th merge made
    right: int
    alike: float


class Likeness(Record, eq=False):
    """How alike systems are, pair by pair: means over the topics that both have; 0 where they share none."""

    systems: tuple[str, ...]
    depth: int
    overlap: Floats  # systems × systems: share of the first documents, to the depth, that are the same
    rbo: Floats  # systems × systems: rank-biased overlap
    topics: Ints  # systems × systems: topics in common

    @cached_property
    def merges(self) -> tuple[Merge, ...]:
        """From single systems to all of them: always the two groups that are most alike on average (UPGMA)."""
        if len(self.systems) < 2:
            return ()
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        distance = np.clip(1 - self.rbo, 0.0, 1.0)
        np.fill_diagonal(distance, 0.0)
        steps = linkage(squareform(distance, checks=False), "average")
        return tuple(Merge(int(left), int(right), 1 - float(d)) for left, right, d, _ in steps)

    def clusters(self, alike: float = ALIKE) -> list[list[int]]:
        """Groups of systems that are at least so much alike on average; most are alone."""
        groups: dict[int, list[int]] = {i: [i] for i in range(len(self.systems))}
        for i, merge in enumerate(self.merges):
            if merge.alike < alike:
                break
            groups[len(self.systems) + i] = groups.pop(merge.left) + groups.pop(merge.right)
        return sorted(sorted(group) for group in groups.values())

    @property
    def mean_rbo(self) -> float:
        """The mean over all pairs of systems; 0 for a single one."""
        return _mean_of_pairs(self.rbo)

    def warnings(self) -> Iterator[str]:
        """What a pool lacks if systems are alike."""
        for group in self.clusters():
            if len(group) > 1:
                yield self._alike(group)
        if len(self.systems) > 2 and self.mean_rbo >= NARROW:
            yield (
                f"The runs are alike on the whole (mean RBO {self.mean_rbo:.2f}, from {NARROW:.2f} on this is said): "
                "what all of them miss, nobody will judge. Add runs of other kinds."
            )

    def _alike(self, group: Sequence[int]) -> str:
        names = [self.systems[i] for i in group]
        who = f"{', '.join(names[:-1])} and {names[-1]}"
        part = np.ix_(group, group)
        rbo, overlap = _mean_of_pairs(self.rbo[part]), _mean_of_pairs(self.overlap[part])
        return (
            f"{who} are alike (RBO {rbo:.2f}, {overlap:.0%} of the first {self.depth:,} the same; said from RBO "
            f"{ALIKE:.2f} on): to the pool they are hardly more than one run."
        )


def likeness(lists: Mapping[str, Lists], depth: int) -> Likeness:
    """How alike the systems are over all topics.

    >>> lists = Lists("1", ("a", "b", "c"), (("x", "y"), ("y", "x"), ("z", "u")))
    >>> likeness({"1": lists}, 2).overlap.tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    systems = next(iter(lists.values())).systems if lists else ()
    shape = (len(systems), len(systems))
    overlap, rbo, topics = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64)
    for own in lists.values():
        has = np.array([bool(docs) for docs in own.docs])
        both = has[:, np.newaxis] & has
        topics += both
        table = _Numbered(own, max(depth, TOP))
        overlap += np.where(both, table.overlaps(depth), 0.0)
        rbo += np.where(both, table.rbos(), 0.0)
    seen = np.maximum(topics, 1)
    return Likeness(systems, depth, overlap / seen, rbo / seen, topics)


class _Numbered:
    """The lists of a topic with numbers in place of ids."""

    def __init__(self, lists: Lists, depth: int) -> None:
        number: dict[str, int] = {}
        self.places = [[number.setdefault(doc, len(number)) for doc in docs[:depth]] for docs in lists.docs]
        self.docs = len(number)

    def overlaps(self, depth: int) -> Floats:
        """For each pair the share of the first documents that are the same, of the longer list's if both are short."""
        tops = [np.array(at[:depth], dtype=np.int64) for at in self.places]
        held = np.zeros((self.docs, len(tops)), dtype=bool)
        for system, at in enumerate(tops):
            held[at, system] = True
        sizes = np.array([len(at) for at in tops])
        # no product of matrices: threads that BLAS starts for it would cost more than it does
        common = np.array([np.count_nonzero(held[at], axis=0) for at in tops])
        overlaps: Floats = common / np.maximum(np.maximum.outer(sizes, sizes), 1)
        return overlaps

    def rbos(self) -> Floats:
        """Rank-biased overlap, extrapolated, of each pair of lists cut at TOP.

        The agreements of all depths, Σ (1 − p)/p · p^d · X_d/d, are a sum over common documents of what depends only on
        the lower of a document's two ranks (`_TAILS`), so that no depth need be looked at.
        """
        sizes = np.array([min(len(at), TOP) for at in self.places])
        at = np.full((len(sizes), TOP), self.docs, dtype=np.int64)  # documents by rank; one more where a list has ended
        ranks = np.zeros((self.docs + 1, len(sizes)), dtype=np.int64)
        for system, docs in enumerate(self.places):
            at[system, : sizes[system]] = docs[:TOP]
            ranks[docs[:TOP], system] = np.arange(1, sizes[system] + 1)
        rows = max(1, _CELLS // (len(sizes) * TOP))
        parts = [self._rows(at[i : i + rows], ranks, sizes[i : i + rows], sizes) for i in range(0, len(sizes), rows)]
        rbos = np.concatenate(parts)
        return (rbos + rbos.T) / 2  # which differ by a last digit

    @staticmethod
    def _rows(at: Ints, ranks: Ints, own: Ints, sizes: Ints) -> Floats:
        """The rank-biased overlap of some systems with all: systems × ranks × systems."""
        theirs = ranks[at]
        lower, is_common = np.maximum(theirs, np.arange(1, TOP + 1)[:, np.newaxis]), theirs > 0
        long, short = np.maximum.outer(own, sizes), np.minimum.outer(own, sizes)
        common = np.count_nonzero(is_common, axis=1)
        inside = np.count_nonzero(is_common & (lower <= short[:, np.newaxis]), axis=1)  # where both lists still go on
        seen = (_TAILS[lower] * is_common).sum(axis=1) - common * _TAILS[long + 1]
        return _extrapolated(seen, common, inside, long, short)


def _extrapolated(seen: Floats, common: Ints, inside: Ints, long: Ints, short: Ints) -> Floats:
    """RBO_ext of lists of different lengths (Webber, Moffat & Zobel 2010, equation 32)."""
    share = inside / np.maximum(short, 1)
    # Σ over the depths between the two lengths of (1 − p)/p · p^d · (d − s)/d
    between = (P**short - P**long) - short * (_TAILS[short + 1] - _TAILS[long + 1])
    end = (common - inside) / np.maximum(long, 1) + share
    return np.where(short > 0, seen + share * between + end * P**long, 0.0)


def _tails(depth: int) -> Floats:
    """For each rank r the sum (1 − p)/p · Σ p^d/d over all depths from r on; nothing stands at rank 0."""
    steps = [P**d / d for d in range(1, depth)]
    tails = [-math.log1p(-P) - math.fsum(steps[: r - 1]) for r in range(1, depth + 1)]
    return np.array([0.0, *tails]) * (1 - P) / P


_TAILS = _tails(TOP + 2)


def _mean_of_pairs(table: Floats) -> float:
    upper = table[np.triu_indices(len(table), 1)]
    return float(upper.mean()) if len(upper) else 0.0
