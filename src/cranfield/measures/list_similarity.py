"""How alike two rankings are: rank-biased overlap, Kendall's tau, AP correlation, overlap. Plain lists and numbers.

Measures and statistics both use it. A ranking is a sequence of items, best first; an item that is itself a list,
tuple or set holds items tied there. Correlations take scores, item by item, higher is better.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from cranfield.base import Record, replace
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import CranfieldError

Variant = Literal["w", "a", "b"]
VARIANTS: tuple[Variant, ...] = ("w", "a", "b")


class Places(Record):
    """Where the items of a ranking stand: each from a first to a last rank, which differ if it is tied."""

    items: tuple[Hashable, ...]
    first: Ints
    last: Ints

    def __len__(self) -> int:
        return len(self.items)

    @property
    def tied(self) -> bool:
        """Whether some items share a place."""
        return bool((self.first != self.last).any())

    def shares(self, depth: int, variant: Variant) -> Floats:
        """How much of each item is within a depth: of a tied one all (w), or the chance that it is (a, b)."""
        if variant == "w":
            return (self.first <= depth).astype(np.float64)
        inside = np.minimum(depth, self.last) - self.first + 1
        return np.clip(inside / (self.last - self.first + 1), 0.0, 1.0)

    def only(self, at: Sequence[int]) -> Places:
        """Some of the items, at the ranks they have."""
        where = np.array(at, dtype=np.int64)
        return Places(tuple(self.items[i] for i in at), self.first[where], self.last[where])


def places(ranking: Iterable[Any]) -> Places:
    """Where each item stands.

    >>> places(["a", ("b", "c")]).last
    array([1, 3, 3])
    """
    groups = [tuple(item) if isinstance(item, (list, tuple, set, frozenset)) else (item,) for item in ranking]
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    last = np.cumsum(sizes)
    items = tuple(item for group in groups for item in group)
    twice = next((item for item, n in Counter(items).items() if n > 1), None)
    if twice is not None:
        raise CranfieldError(f"{twice!r} is in the ranking twice: expected every item once.")
    return Places(items, np.repeat(last - sizes + 1, sizes), np.repeat(last, sizes))


class Agreements(Record):
    """The agreement of two rankings at each depth, and what is beyond: the parts of rank-biased overlap.

    Each array has one entry per depth of the longer ranking, and a last one for all the depths beyond; the value of
    RBO is their sum under `weights`. `overlap` counts what the two have in common of what was seen.
    """

    overlap: Floats
    weights: Floats  # (1 − p)·p^(d−1), and 1 for what is beyond, which is weighted already
    min: Floats
    ext: Floats
    max: Floats

    def terms(self, value: str) -> Floats:
        """What each depth adds to the value: `min`, `ext`, `max`, or the residual `res` between min and max."""
        steps: Floats = self.max - self.min if value == "res" else getattr(self, value)
        return steps * self.weights


def agreements(one: Places, other: Places, p: float, variant: Variant = "a") -> Agreements:
    """The parts of rank-biased overlap (Webber, Moffat & Zobel 2010; ties: Corsi & Urbano 2024)."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    s, n = len(short), len(long)
    at = {item: i for i, item in enumerate(short.items)}
    common = [(at[item], i) for i, item in enumerate(long.items) if item in at]
    extra = long.only([i for i, item in enumerate(long.items) if item not in at])
    mine, theirs = short.only([i for i, _ in common]), long.only([i for _, i in common])
    both, depth = len(common), np.arange(1, n + 1)
    unseen = np.maximum(depth - s, 0)  # how many items of the shorter ranking are not known
    # what is in common and what that is divided by; what unseen items could add at most, and each by a guess
    if one.tied or other.tied:
        rows = [_with_ties(short, long, mine, theirs, extra, d, variant) for d in range(1, n + 1)]
        overlap, scale, hoped, typical = np.array(rows, dtype=np.float64).T
    else:
        overlap, scale = _running_count(np.maximum(mine.first, theirs.first), n), depth.astype(np.float64)
        hoped, typical = np.minimum(_running_count(extra.first, n), unseen), np.ones(n)
    at_end = overlap[s - 1] / scale[s - 1] if s else 0.0  # the agreement where the shorter ranking ends
    return Agreements(
        overlap=overlap,
        weights=np.append((1 - p) * p ** np.arange(n), 1.0),
        min=np.append(overlap / scale, _beyond_least(both, n, p)),
        ext=np.append((overlap + unseen * at_end * typical) / scale, p**n * (both + (n - s) * at_end) / max(n, 1)),
        max=np.append((overlap + hoped) / scale, _beyond_most(both, s, n, p)),
    )


def expected_agreements(one: Places, other: Places, p: float) -> Agreements:
    """The mean of the parts of rank-biased overlap over all orders of tied items, in both rankings.

    All but the best that could be beyond the shorter ranking are linear in the overlap, and so in each item's chance
    to be within a depth.
    """
    parts = agreements(one, other, p, "a")
    if not (one.tied or other.tied):
        return parts
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    s, n = len(short), len(long)
    depth, known = np.arange(1, n + 1), set(short.items)
    unseen = np.maximum(depth - s, 0)
    at_end = parts.overlap[s - 1] / s if s else 0.0
    extra = np.array([item not in known for item in long.items], dtype=bool)
    hoped = np.array([_expected_least(long, extra, d, max(d - s, 0)) for d in range(1, n + 1)])
    return replace(
        parts,
        ext=np.append((parts.overlap + unseen * at_end) / depth, parts.ext[-1]),
        max=np.append((parts.overlap + hoped) / depth, parts.max[-1]),
    )


def _expected_least(ranking: Places, which: Bools, depth: int, most: int) -> float:
    """How many of some items to expect within a depth over all orders of tied ones, if never more than `most` count."""
    sure = int(np.count_nonzero(which & (ranking.last <= depth)))
    split = (ranking.first <= depth) & (ranking.last > depth)  # at most one group of tied items
    size, some = int(np.count_nonzero(split)), int(np.count_nonzero(which & split))
    if not most or not some:
        return float(min(sure, most))
    drawn = depth - int(ranking.first[split][0]) + 1
    # hypergeometric: `drawn` of the group's items are within the depth
    ways = [math.comb(some, k) * math.comb(size - some, drawn - k) for k in range(min(some, drawn) + 1)]
    return sum(min(sure + k, most) * way for k, way in enumerate(ways)) / math.comb(size, drawn)


def _running_count(ranks: Ints, n: int) -> Floats:
    """How many of the ranks are within each depth."""
    return np.cumsum(np.bincount(ranks, minlength=n + 1)[1:]).astype(np.float64)


def _with_ties(
    short: Places, long: Places, mine: Places, theirs: Places, extra: Places, depth: int, variant: Variant
) -> tuple[float, float, float, float]:
    """At one depth the overlap and its divisor, the most that unseen items add, and what one of them adds by guess."""
    overlap = float(np.dot(mine.shares(depth, variant), theirs.shares(depth, variant)))
    seen = extra.shares(depth, variant)
    hoped = float(seen[: max(depth - len(short), 0)].sum())
    typical = float(seen[seen > 0].mean()) if (seen > 0).any() else 0.0
    return overlap, _scale(short, long, depth, variant), hoped, typical


def _scale(one: Places, other: Places, depth: int, variant: Variant) -> float:
    """What the overlap at a depth is divided by: the mean size of the two sets (w), the depth (a), the cosine's (b)."""
    if variant == "a":
        return float(depth)
    if variant == "w":
        return sum(_size(ranking.shares(depth, "w"), depth) for ranking in (one, other)) / 2
    return math.sqrt(math.prod(_size(ranking.shares(depth, "b") ** 2, depth) for ranking in (one, other)))


def _size(shares: Floats, depth: int) -> float:
    # what a ranking does not show is not tied
    return float(depth) if depth > len(shares) else float(shares.sum())


def _beyond_least(both: int, n: int, p: float) -> float:
    """What all depths beyond both rankings add if they have nothing more in common."""
    depth = np.arange(1, n + 1)
    return both * (1 - p) / p * max(-math.log1p(-p) - math.fsum(p**depth / depth), 0.0)


def _beyond_most(both: int, s: int, n: int, p: float) -> float:
    """What all depths beyond both rankings add if each goes on with what only the other has."""
    full = n + s - both  # here the two would hold the same items
    depth = np.arange(n + 1, full + 1)
    return (1 - p) / p * math.fsum((2 * depth - n - s + both) / depth * p**depth) + p**full


def overlap_share(one: Places, other: Places, cutoff: int | None = None) -> float:
    """The share of the first k items that two rankings have in common; tied ones count by the chance to be there."""
    depth = max(len(one), len(other)) if cutoff is None else min(cutoff, max(len(one), len(other)))
    return math.fsum(overlap_terms(one, other, depth)) / depth if depth else 0.0


def overlap_terms(one: Places, other: Places, depth: int) -> Floats:
    """For each item of the first ranking the chance that it is within a depth of both."""
    theirs = dict(zip(other.items, other.shares(depth, "a").tolist(), strict=True))
    return one.shares(depth, "a") * np.array([theirs.get(item, 0.0) for item in one.items], dtype=np.float64)


class Pairs(Record):
    """Kendall's correlation by parts: for each item the pairs with items above it, and what their sum is divided by."""

    concordant: Floats  # with how many items that y puts above it x agrees
    discordant: Floats
    normaliser: float  # 0 where there is nothing to compare


def kendall_pairs(x: Floats, y: Floats, variant: Literal["a", "b"]) -> Pairs:
    """The pairs of items on which two rankings agree or not, and their number: all (a), or those not tied (b)."""
    agree, differ = np.zeros(len(x)), np.zeros(len(x))
    untied_x = untied_y = 0
    for i in range(len(x)):
        above = y > y[i]
        agree[i] = np.count_nonzero(above & (x > x[i]))
        differ[i] = np.count_nonzero(above & (x < x[i]))
        untied_x += int(np.count_nonzero(x > x[i]))
        untied_y += int(np.count_nonzero(above))
    pairs = len(x) * (len(x) - 1) / 2
    return Pairs(agree, differ, pairs if variant == "a" else math.sqrt(untied_x * untied_y))


def tau_ap_terms(x: Floats, y: Floats, variant: Literal["a", "b"]) -> Floats | None:
    """What each item adds to the AP correlation of y with the truth x; None where it is undefined.

    Variant a is the mean over all orders of what is tied in y (Urbano & Marrero 2017, for a truth without ties) and
    in x; b takes ties as they are, anywhere, and is symmetric.
    """
    if len(x) < 2:
        return None
    if variant == "a":
        return _ap_steps(x, y) / (len(x) - 1)
    forth, back = _ap_steps_above(x, y), _ap_steps_above(y, x)
    return None if forth is None or back is None else (forth + back) / 2


def _ap_steps(x: Floats, y: Floats) -> Floats:
    """For each item twice the expected share of those above it that the truth puts there too, minus one."""
    steps = np.zeros(len(x))
    for i in range(len(x)):
        above, tied = y > y[i], int(np.count_nonzero(y == y[i]))
        first = int(np.count_nonzero(above)) + 1
        # what the truth has tied is in the right order in one of two cases
        right = np.count_nonzero(above & (x > x[i])) + np.count_nonzero(above & (x == x[i])) / 2
        k = np.arange(1, tied + 1)
        # at the k-th place of its group an item has first + k − 2 above it, half of those tied with it rightly
        outside = right * np.mean(1 / (first + k - 2)) if first > 1 else 0.0
        inside = np.sum(k[:-1] / (first + k[:-1] - 1)) / (2 * tied)
        chance_of_a_step = 1.0 if first > 1 else (tied - 1) / tied  # whoever comes first has nothing above it
        steps[i] = 2 * (outside + inside) - chance_of_a_step
    return steps


def _ap_steps_above(x: Floats, y: Floats) -> Floats | None:
    """The same over the items that have any above them, not counting items tied with them; None if there are none."""
    steps = np.zeros(len(x))
    for i in np.flatnonzero(y < y.max()):
        above = y > y[i]
        steps[i] = 2 * np.count_nonzero(above & (x > x[i])) / np.count_nonzero(above) - 1
    has_any = np.count_nonzero(y < y.max())
    return steps / has_any if has_any else None
