"""Normalisations, which make the scores of different runs comparable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats
from cranfield.fusion.candidates import Candidates
from cranfield.fusion.naming import find_by_name


class Norm(Record, eq=False):
    """A normalisation of lists; a list holds the N documents of one run for one query, at ranks i = 1, 2, …"""

    name: str
    title: str
    formula: str
    scores: Callable[[Candidates], Floats]  # of each entry
    absent: Callable[[Candidates], Floats] | None = None  # queries × runs: of a candidate that a run lacks
    lowest_is_best: bool = False  # whether the lowest score is best


def find_norm(name: str) -> Norm:
    """The normalisation of that name.

    >>> find_norm("z-score").name
    'zmuv'
    """
    return find_by_name(name, NORMS, ALIASES, "normalisation")


def _min_max(candidates: Candidates) -> Floats:
    score, low, high = _extremes(candidates)
    # where all scores are equal, no document is the worst of its list: they count as retrieved, not as absent
    return np.divide(score - low, high - low, out=np.ones_like(score), where=high > low)


def _max(candidates: Candidates) -> Floats:
    score, _, high = _extremes(candidates)
    # divided by the absolute value: a negative score would reverse the list
    with np.errstate(over="ignore"):
        shares = np.divide(score, np.abs(high), out=candidates.score.copy(), where=high != 0)
    # where the highest score is almost 0, others could overflow
    return np.where(high != 0, np.clip(shares, -1e150, 1e150), shares)


def _sum(candidates: Candidates) -> Floats:
    score, low, high = _extremes(candidates)
    total = _over_lists(np.add, candidates, score - low)
    return np.divide(score - low, total, out=1.0 / candidates.size, where=high > low)


def _zmuv(candidates: Candidates) -> Floats:
    score, low, high = _extremes(candidates)
    from_mean = score - _over_lists(np.add, candidates, score) / candidates.size
    deviation = np.sqrt(_over_lists(np.add, candidates, from_mean**2) / candidates.size)
    return np.divide(from_mean, deviation, out=np.zeros_like(score), where=(high > low) & (deviation > 0))


def _rank(candidates: Candidates) -> Floats:
    return 1.0 - (candidates.rank - 1) / candidates.size


def _borda(candidates: Candidates) -> Floats:
    return 1.0 - (candidates.rank - 1) / np.repeat(candidates.number, candidates.sizes.sum(axis=1))


def _borda_absent(candidates: Candidates) -> Floats:
    number = np.maximum(candidates.number, 1)[:, np.newaxis]
    return 0.5 - (candidates.sizes - 1) / (2.0 * number)


def _extremes(candidates: Candidates) -> tuple[Floats, Floats, Floats]:
    """The scores of entries with the lowest and the highest of their lists.

    Lists are scaled by a power of two, which changes no normalised score and prevents overflow.
    """
    largest = _over_lists(np.maximum, candidates, np.abs(candidates.score))
    score = np.ldexp(candidates.score, -np.frexp(largest)[1])
    return score, _over_lists(np.minimum, candidates, score), _over_lists(np.maximum, candidates, score)


def _over_lists(step: np.ufunc, candidates: Candidates, values: Floats) -> Floats:
    """A ufunc reduced over each list, repeated for its entries."""
    sizes = candidates.sizes.ravel()
    starts = candidates.list_starts[:-1][sizes > 0]
    reduced = step.reduceat(values, starts) if len(starts) else np.empty(0)
    return np.repeat(reduced, sizes[sizes > 0])


def _as_they_are(candidates: Candidates) -> Floats:
    return candidates.score


_MIN_MAX = "(s − min) / (max − min)"
NORMS = {
    norm.name: norm
    for norm in (
        Norm("min-max", "from 0 to 1", f"{_MIN_MAX}; 1 if all scores are equal", _min_max),
        Norm(
            "min-max-inverted",
            "from 1 to 0, for distances",
            "(max − s) / (max − min); 1 if all scores are equal",
            _min_max,
            lowest_is_best=True,
        ),
        Norm("max", "fractions of the highest score", "s / |max|; s if max is 0", _max),
        Norm("sum", "fractions of the sum", "(s − min) / Σ(s − min); 1/N if all scores are equal", _sum),
        Norm("zmuv", "zero mean, unit variance", "(s − mean) / sd over N; 0 if all scores are equal", _zmuv),
        Norm("rank", "ranks instead of scores", "1 − (i − 1)/N", _rank),
        Norm(
            "borda",
            "ranks among all c candidates",
            "1 − (i − 1)/c; ½ − (N − 1)/2c for a candidate not in the run",
            _borda,
            _borda_absent,
        ),
        Norm("none", "unchanged scores", "s", _as_they_are),
    )
}
ALIASES = {"zscore": "zmuv", "z": "zmuv", "minmax": "min-max", "minmaxinverted": "min-max-inverted"}
