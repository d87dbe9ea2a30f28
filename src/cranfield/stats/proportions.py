"""Intervals of proportions."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson_interval(found: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a proportion of which a sample of n has `found`.

    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    z, p = NormalDist().inv_cdf((1 + level) / 2), found / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (0.0 if found == 0 else max(middle - half, 0.0)), (1.0 if found == n else min(middle + half, 1.0))
