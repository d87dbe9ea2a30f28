"""Normalisations: the scores of each list made comparable with those of other runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats
from cranfield.fusion.candidates import Candidates
from cranfield.fusion.naming import named


class Norm(Record, eq=False):
    """A normalisation: a list is what one run has for one query, with N documents at ranks i = 1, 2, …"""

    name: str
    title: str
    formula: str
    scores: Callable[[Candidates], Floats]  # of each entry
    absent: Callable[[Candidates], Floats] | None = None  # queries × runs: of a candidate that a run lacks
    upside_down: bool = False  # whether the lowest score is the best


def norm_of(name: str) -> Norm:
    """The normalisation of that name.

    >>> norm_of("z-score").name
    'zmuv'
    """
    return named(name, NORMS, ALIASES, "normalisation")


def _min_max(found: Candidates) -> Floats:
    score, low, high = _extremes(found)
    # of documents that all score the same none is the worst of its list: they count as found, not as absent
    return np.divide(score - low, high - low, out=np.ones_like(score), where=high > low)


def _max(found: Candidates) -> Floats:
    score, _, high = _extremes(found)
    # by the size of the highest score: dividing by a negative one would turn the list round
    with np.errstate(over="ignore"):
        shares = np.divide(score, np.abs(high), out=found.score.copy(), where=high != 0)
    # where the highest score is next to nothing, others could be beyond all numbers
    return np.where(high != 0, np.clip(shares, -1e150, 1e150), shares)


def _sum(found: Candidates) -> Floats:
    score, low, high = _extremes(found)
    total = _over_lists(np.add, found, score - low)
    return np.divide(score - low, total, out=1.0 / found.size, where=high > low)


def _zmuv(found: Candidates) -> Floats:
    score, low, high = _extremes(found)
    from_mean = score - _over_lists(np.add, found, score) / found.size
    deviation = np.sqrt(_over_lists(np.add, found, from_mean**2) / found.size)
    return np.divide(from_mean, deviation, out=np.zeros_like(score), where=(high > low) & (deviation > 0))


def _rank(found: Candidates) -> Floats:
    return 1.0 - (found.rank - 1) / found.size


def _borda(found: Candidates) -> Floats:
    return 1.0 - (found.rank - 1) / np.repeat(found.number, found.sizes.sum(axis=1))


def _borda_absent(found: Candidates) -> Floats:
    number = np.maximum(found.number, 1)[:, np.newaxis]
    return 0.5 - (found.sizes - 1) / (2.0 * number)


def _extremes(found: Candidates) -> tuple[Floats, Floats, Floats]:
    """The scores of entries with the lowest and the highest of their lists.

    Lists are scaled by a power of two, which no normalisation sees, so that no difference or sum of scores overflows.
    """
    largest = _over_lists(np.maximum, found, np.abs(found.score))
    score = np.ldexp(found.score, -np.frexp(largest)[1])
    return score, _over_lists(np.minimum, found, score), _over_lists(np.maximum, found, score)


def _over_lists(step: np.ufunc, found: Candidates, values: Floats) -> Floats:
    """What a list amounts to, for each of its entries."""
    sizes = found.sizes.ravel()
    starts = found.list_starts[:-1][sizes > 0]
    reduced = step.reduceat(values, starts) if len(starts) else np.empty(0)
    return np.repeat(reduced, sizes[sizes > 0])


def _as_they_are(found: Candidates) -> Floats:
    return found.score


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
            upside_down=True,
        ),
        Norm("max", "shares of the highest score", "s / |max|; s if max is 0", _max),
        Norm("sum", "shares of the whole", "(s − min) / Σ(s − min); 1/N if all scores are equal", _sum),
        Norm("zmuv", "zero mean, unit variance", "(s − mean) / sd over N; 0 if all scores are equal", _zmuv),
        Norm("rank", "ranks instead of scores", "1 − (i − 1)/N", _rank),
        Norm(
            "borda",
            "ranks among all c candidates",
            "1 − (i − 1)/c; ½ − (N − 1)/2c for a candidate that the run lacks",
            _borda,
            _borda_absent,
        ),
        Norm("none", "scores as they are", "s", _as_they_are),
    )
}
ALIASES = {"zscore": "zmuv", "z": "zmuv", "minmax": "min-max", "minmaxinverted": "min-max-inverted"}
