"""Sums of doubles that can be put together from parts without losing a bit.

A double is a whole number times a power of two, and so is every sum of them: kept as one Python integer, parts merge
exactly, in any order. Rounded at the end it is what `math.fsum` gives for all values at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.data import Floats

_SCALE = 1126  # every double is a multiple of 2^-1126: 53 bits below the smallest exponent
_LOW = 26  # bits of a mantissa that are added apart from the others, so that no sum of either needs more than 52
_MOST = 1 << 24  # values added at a time, for the same reason


class ExactSum:
    """The exact sum of doubles.

    >>> total = ExactSum([1e100, 1.0])
    >>> total.merge(ExactSum([-1e100]))
    >>> total.value
    1.0
    """

    __slots__ = ("units",)

    def __init__(self, values: Floats | Sequence[float] = (), units: int = 0) -> None:
        self.units = units
        self.add(values)

    def add(self, values: Floats | Sequence[float]) -> None:
        """Add finite values."""
        column = np.asarray(values, dtype=np.float64)
        if not np.isfinite(column).all():
            raise OverflowError("a sum of values that do not fit a double")  # as `math.fsum` has it
        for start in range(0, len(column), _MOST):
            self.units += _units(column[start : start + _MOST])

    def merge(self, other: ExactSum) -> None:
        """Add what another sum holds."""
        self.units += other.units

    @property
    def value(self) -> float:
        """The double nearest to the sum, as `math.fsum` gives it."""
        return self.units / (1 << _SCALE)  # a quotient of integers is rounded once, correctly

    def packed(self) -> str:
        """The sum as text, to travel."""
        return f"{self.units:x}"

    @classmethod
    def unpacked(cls, text: str) -> ExactSum:
        return cls(units=int(text, 16))


def _units(values: Floats) -> int:
    """The sum in units of 2^-1126."""
    if not len(values):
        return 0
    fractions, exponents = np.frexp(values)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    least = int(exponents.min())
    place = exponents - least
    high = np.bincount(place, weights=mantissas >> _LOW)
    low = np.bincount(place, weights=mantissas & ((1 << _LOW) - 1))
    total = 0
    for shift, (above, below) in enumerate(zip(high.tolist(), low.tolist(), strict=True)):
        total += ((int(above) << _LOW) + int(below)) << shift
    return total << (least - 53 + _SCALE)
