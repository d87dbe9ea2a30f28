"""Quantiles of Student's t, which intervals of means need: to import SciPy takes longer than most evaluations."""

from __future__ import annotations

import math
from functools import lru_cache

_CLOSE = 1e-15


@lru_cache(maxsize=4096)
def t_quantile(df: float, p: float) -> float:
    """The value that a t-distributed variable does not exceed with chance p.

    >>> round(t_quantile(9, 0.975), 10)
    2.2621571628
    >>> t_quantile(9, 0.5)
    0.0
    """
    if not (df > 0 and 0 < p < 1):
        raise ValueError(f"no quantile {p} of Student's t with {df} degrees of freedom")
    if p <= 0.5:
        return 0.0 if p == 0.5 else -t_quantile(df, 1 - p)
    tail = 1 - p
    low, high = 0.0, 2.0
    while _tail(high, df) > tail:
        low, high = high, 2 * high
    t = high
    for _ in range(200):
        excess = _tail(t, df) - tail
        low, high = (t, high) if excess > 0 else (low, t)
        # Newton's step, unless it leaves the bracket
        step = t + excess / _density(t, df)
        step = step if low < step < high else (low + high) / 2
        if abs(step - t) <= _CLOSE * t:
            return step
        t = step
    return t


def _density(t: float, df: float) -> float:
    return _gamma_ratio(df / 2) / math.sqrt(df * math.pi) * math.exp(-(df + 1) / 2 * math.log1p(t * t / df))


def _tail(t: float, df: float) -> float:
    """The chance to exceed t ≥ 0: half of the regularised incomplete beta function of df/2 and 1/2."""
    if t == 0:
        return 0.5
    a, x, rest = df / 2, df / (df + t * t), t * t / (df + t * t)
    front = _gamma_ratio(a) / math.sqrt(math.pi) * math.exp(-a * math.log1p(t * t / df)) * math.sqrt(rest)
    if x < (a + 1) / (a + 2.5):
        return 0.5 * front * _continued_fraction(a, 0.5, x) / a
    return 0.5 - 0.5 * front * _continued_fraction(0.5, a, rest) / 0.5


def _gamma_ratio(a: float) -> float:
    """Γ(a + ½) / Γ(a), for large a by its series, as differences of large logarithms lose digits."""
    if a < 100:
        return math.exp(math.lgamma(a + 0.5) - math.lgamma(a))
    terms = (1, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144, 869 / 4194304)
    return math.sqrt(a) * math.fsum(term / a**i for i, term in enumerate(terms))


def _continued_fraction(a: float, b: float, x: float) -> float:
    """That of the incomplete beta function (NIST Handbook of Mathematical Functions, 8.17.22), by Lentz's method."""
    tiny = 1e-300
    c = 1.0
    value = d = 1 / (1 - (a + b) * x / (a + 1) or tiny)
    for m in range(1, 100_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return value
