"""Effect sizes: the difference in units of the measure, standardised, by topics won, and relative."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cranfield.base import Record
from cranfield.data import Floats
from cranfield.errors import CranfieldError
from cranfield.stats.paired import IDENTICAL, t_test
from cranfield.stats.paired_scores import PairedScores, Values, pair_scores, standard_deviation, win_tie_loss
from cranfield.stats.power import noncentral_t, root, root_gamma_ratio


class Effect(Record):
    """How much better a is than b; None where undefined, such as a ratio to a spread of 0."""

    n: int
    mean_a: float
    mean_b: float
    difference: float  # of the means, a − b
    low: float | None  # its t interval
    high: float | None
    level: float
    sd: float | None  # of the differences
    d_z: float | None  # difference / sd
    d_z_low: float | None  # its interval, from the noncentral t distribution
    d_z_high: float | None
    hedges_g: float | None  # d_z corrected for its bias in small samples, with the gamma function
    hedges_g_approximate: float | None  # the same with 1 − 3 / (4 (n − 1) − 1)
    glass_delta: float | None  # difference / sd of b's scores
    d_av: float | None  # difference / root mean square of both sds
    superiority: float  # the chance that a is better on a topic, ties counting half
    wins: int
    ties: int
    losses: int
    tolerance: float  # up to which a difference is a tie
    relative_change: float | None  # difference / |mean of b|
    note: str
    details: Mapping[str, Any]


def effect(a: Values, b: Values, tolerance: float = 0.0, level: float = 0.95) -> Effect:
    """Compute how much better a is than b, topic by topic, in all common units.

    >>> found = effect([0.30, 0.50, 0.90], [0.20, 0.45, 0.50])
    >>> round(found.difference, 4), round(found.d_z, 4), round(found.hedges_g, 4)
    (0.1833, 0.9685, 0.5464)
    >>> found.wins, found.ties, found.losses
    (3, 0, 0)
    """
    pairs = pair_scores(a, b)
    test = t_test(a, b, level=level)
    d_z = _standardised(pairs, pairs.sd)
    d_z_low, d_z_high = _d_z_ends(pairs, d_z, level)
    wins, ties, losses = win_tie_loss(pairs.differences, tolerance)
    mean_b = _mean(pairs.b)
    spread_a, spread_b = standard_deviation(pairs.a), standard_deviation(pairs.b)
    return Effect(
        n=pairs.n,
        mean_a=_mean(pairs.a),
        mean_b=mean_b,
        difference=pairs.mean,
        low=test.low,
        high=test.high,
        level=level,
        sd=pairs.sd if pairs.n > 1 else None,
        d_z=d_z,
        d_z_low=d_z_low,
        d_z_high=d_z_high,
        hedges_g=_times(d_z, correction(pairs.n - 1)),
        hedges_g_approximate=_times(d_z, approximate_correction(pairs.n - 1)),
        glass_delta=_standardised(pairs, spread_b),
        d_av=_standardised(pairs, math.sqrt((spread_a**2 + spread_b**2) / 2)),
        superiority=(wins + ties / 2) / pairs.n,
        wins=wins,
        ties=ties,
        losses=losses,
        tolerance=tolerance,
        relative_change=pairs.mean / abs(mean_b) if mean_b else None,
        note=_note(pairs),
        details=pairs.left_out,
    )


def correction(df: int) -> float | None:
    """Hedges' J, which corrects the bias of a standardised difference; None below two degrees of freedom.

    >>> round(correction(2), 4), round(correction(49), 4)
    (0.5642, 0.9846)
    """
    return root_gamma_ratio((df - 1) / 2) * math.sqrt((df - 1) / df) if df > 1 else None


def approximate_correction(df: int) -> float | None:
    """Hedges' approximation of J, which many papers use.

    >>> round(approximate_correction(2), 4), round(approximate_correction(49), 4)
    (0.5714, 0.9846)
    """
    return 1 - 3 / (4 * df - 1) if df > 1 else None


def d_z_interval(d_z: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """The confidence interval of an effect size d_z on n ≥ 2 topics.

    >>> low, high = d_z_interval(0.3, n=50)
    >>> round(low, 4), round(high, 4)
    (0.0151, 0.582)
    """
    if n < 2:
        raise CranfieldError(f"n={n} is out of range: an interval needs at least 2 topics.")
    t, df, outside = d_z * math.sqrt(n), n - 1, (1 - level) / 2
    reach = 10 * (4 + abs(t))  # U is hardly ever more than ten times as large or small
    low = root(lambda shift: _probit(noncentral_t(-t, df, -shift)) - _probit(outside), -reach, reach)
    high = root(lambda shift: _probit(outside) - _probit(noncentral_t(t, df, shift)), -reach, reach)
    return low / math.sqrt(n), high / math.sqrt(n)


def _probit(p: float) -> float:
    """Normal quantiles make a tail nearly linear in the shift, so the root is found in few steps."""
    from scipy.special import ndtri

    return min(max(float(ndtri(p)), -9.0), 9.0)


def _d_z_ends(pairs: PairedScores, d_z: float | None, level: float) -> tuple[float | None, float | None]:
    if pairs.identical:
        return 0.0, 0.0
    return (None, None) if d_z is None else d_z_interval(d_z, pairs.n, level)


def _standardised(pairs: PairedScores, spread: float) -> float | None:
    """The difference divided by a spread: 0 for identical systems, whatever the spread."""
    if pairs.identical:
        return 0.0
    return pairs.mean / spread if spread else None


def _times(d_z: float | None, factor: float | None) -> float | None:
    if d_z == 0:
        return 0.0
    return None if d_z is None or factor is None else d_z * factor


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values)


def _note(pairs: PairedScores) -> str:
    if pairs.identical:
        return IDENTICAL
    if pairs.n == 1:
        return "One topic has no spread, hence no standardised difference."
    if not pairs.sd:
        return "All differences are the same: divided by their spread, which is 0, they would be infinite."
    return ""
