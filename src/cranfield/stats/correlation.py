"""Similarity of two rankings: rank-biased overlap, Kendall's tau, AP correlation, overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats
from cranfield.errors import CranfieldError
from cranfield.measures import VARIANTS, Variant, agreements, kendall_pairs, overlap_share, places, tau_ap_terms

ItemScores = Sequence[float] | Floats | Mapping[Any, float]


class RBOResult(Record):
    """Rank-biased overlap: lower bound (min), extrapolated estimate (ext) and residual (res)."""

    min: float
    ext: float
    res: float

    @property
    def max(self) -> float:
        """The value if everything unseen agreed."""
        return self.min + self.res


def rbo(a: Iterable[Any], b: Iterable[Any], p: float = 0.9, ties: Variant = "a") -> RBOResult:
    """Rank-biased overlap of two rankings, best first; an item that is a list, tuple or set holds tied items.

    A user at depth d continues to d + 1 with probability p. The unseen part of the rankings leaves a residual.
    Ties: `w`, tied items share a rank; `a`, their order is unknown, so the mean over the orders (`ext` only if the
    rankings have the same length); `b`, the same scaled so that a ranking agrees fully with itself.

    >>> round(rbo("abcde", "bacef").ext, 6)
    0.750555
    >>> rbo(["a", ("b", "c")], ["a", ("b", "c")], ties="b").ext
    1.0
    """
    if not 0 < p < 1:
        raise CranfieldError(f"p={p} is out of range: expected a number between 0 and 1.")
    if ties not in VARIANTS:
        raise CranfieldError(f"ties={ties!r} is unknown: expected one of {', '.join(VARIANTS)}.")
    parts = agreements(places(a), places(b), p, ties)
    least, guess, rest = (math.fsum(parts.terms(value)) for value in ("min", "ext", "res"))
    return RBOResult(least, guess, rest)


def kendall_tau(x: ItemScores, y: ItemScores, variant: Literal["a", "b"] = "b") -> float:
    """Kendall's tau of two lists of scores, item by item, or of two {item: score}; NaN where it is undefined.

    Variant a divides by all pairs of items, b by those not tied. Without ties they are equal.

    >>> kendall_tau([3, 2, 1], [3, 1, 2])
    0.3333333333333333
    """
    _require_variant(variant)
    pairs = kendall_pairs(*align_scores(x, y), variant)
    total = math.fsum(pairs.concordant - pairs.discordant)
    return total / pairs.normaliser if pairs.normaliser else math.nan


def tau_ap(truth: ItemScores, estimate: ItemScores, variant: Literal["a", "b"] = "a") -> float:
    """AP correlation: Kendall's tau with more weight on errors at the top; NaN where it is undefined.

    Takes scores item by item, or two {item: score}. Variant a is the mean over all orders of tied items in the
    estimate and needs a truth without ties; without ties it is the tau_AP of Yilmaz, Aslam & Robertson, which is not
    symmetric. Variant b allows ties anywhere and is symmetric.

    >>> tau_ap([4, 3, 2, 1], [3, 4, 2, 1])
    0.3333333333333333
    """
    _require_variant(variant)
    x, y = align_scores(truth, estimate)
    if variant == "a" and len(np.unique(x)) < len(x):
        raise CranfieldError("the truth has ties, which tau_AP,a does not allow: use variant='b'.")
    terms = tau_ap_terms(x, y, variant)
    return math.nan if terms is None else math.fsum(terms)


def overlap(a: Iterable[Any], b: Iterable[Any], k: int | None = None) -> float:
    """The share of the first k items that two rankings have in common, regardless of their order.

    If both are shorter than k, k is the length of the longer one. Tied items count by their chance to be in the top k.

    >>> overlap("abc", "bad", 2), overlap("abc", "bad", 3)
    (1.0, 0.6666666666666666)
    """
    if k is not None and k < 1:
        raise CranfieldError(f"k={k} is out of range: expected a whole number of at least 1.")
    return overlap_share(places(a), places(b), k)


def align_scores(x: ItemScores, y: ItemScores) -> tuple[Floats, Floats]:
    """Two columns of scores, item by item, from two lists or two {item: score}; a clear error if items differ."""
    if isinstance(x, Mapping) and isinstance(y, Mapping):
        if set(x) != set(y):
            odd = ", ".join(sorted(map(str, set(x) ^ set(y)))[:3])
            raise CranfieldError(f"both must score the same items, but only one has {odd}.")
        x, y = list(x.values()), [y[item] for item in x]
    if isinstance(x, Mapping) or isinstance(y, Mapping):
        raise CranfieldError("expected two lists of scores or two mappings from item to score, found one of each.")
    columns = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(columns[0]) != len(columns[1]):
        raise CranfieldError(f"both must score the same items, found {len(columns[0])} and {len(columns[1])} scores.")
    if not all(np.isfinite(column).all() for column in columns):
        raise CranfieldError("a score is not a finite number.")
    return columns


def _require_variant(variant: str) -> None:
    if variant not in ("a", "b"):
        raise CranfieldError(f"variant={variant!r} is unknown: expected a or b.")
