"""What a run risks against a baseline: how much its losses weigh, query by query."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cranfield.data import Floats


def weighted_gains(values: Floats, baseline: Floats, alpha: float) -> Floats:
    """The difference from the baseline for each query, losses counted 1 + alpha times; their mean is URisk.

    Wang, Bennett & Collins-Thompson, Robust ranking models via risk-sensitive optimization, SIGIR 2012.

    >>> weighted_gains(np.array([0.5, 0.25]), np.array([0.25, 0.5]), alpha=1)
    array([ 0.25, -0.5 ])
    """
    gain = values - baseline
    return np.where(gain < 0, (1 + alpha) * gain, gain)


def t_risk(weighted: Sequence[float]) -> float:
    """URisk divided by its standard error; NaN where there is none, as for fewer than two queries.

    Below −2 the run does significant harm, above 2 it does not. Dinçer, Macdonald & Ounis, Hypothesis testing for the
    risk-sensitive evaluation of retrieval systems, SIGIR 2014.

    >>> round(t_risk([0.25, -0.5, 0.25, 0.5]), 4)
    0.5774
    """
    n = len(weighted)
    if n < 2:
        return math.nan
    mean = math.fsum(weighted) / n
    variance = math.fsum((value - mean) ** 2 for value in weighted) / (n - 1)
    return mean / math.sqrt(variance / n) if variance else math.nan


def geo_risk(values: Floats, alpha: float) -> Floats:
    """The geometric mean of effectiveness and risk for each system: a row a system, a column a query.

    What to expect of a system for a query comes from the margins of this table, as in a chi-squared test, so all
    systems together are the baseline. Dinçer, Macdonald & Ounis, Risk-sensitive evaluation and learning to rank using
    multiple baselines, SIGIR 2016.

    >>> geo_risk(np.array([[0.5, 0.5], [0.5, 0.5]]), alpha=1)
    array([0.5, 0.5])
    """
    from scipy.special import ndtr

    queries = values.shape[1]
    if not queries:
        return np.full(len(values), np.nan)
    mean = values.sum(axis=1) / queries
    risk: Floats = np.sqrt(mean * ndtr(z_risk(values, alpha) / queries))
    return risk


def z_risk(values: Floats, alpha: float) -> Floats:
    """The sum of standardised differences from what is expected, those below counted 1 + alpha times."""
    total = values.sum()
    if total == 0:
        return np.zeros(len(values))
    expected = values.sum(axis=1, keepdims=True) * values.sum(axis=0, keepdims=True) / total
    apart = np.divide(values - expected, np.sqrt(expected), out=np.zeros_like(values), where=expected > 0)
    summed: Floats = np.where(apart < 0, (1 + alpha) * apart, apart).sum(axis=1)
    return summed
