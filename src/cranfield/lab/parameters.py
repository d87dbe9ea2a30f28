"""Which values the parameters of systems may have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cranfield.base import Record
from cranfield.errors import CranfieldError


class Range(Record):
    """From a number to another; the ends may belong to it or not."""

    low: float = 0.0
    high: float = math.inf
    low_in: bool = True
    high_in: bool = True

    def __contains__(self, value: float) -> bool:
        above = value >= self.low if self.low_in else value > self.low
        below = value <= self.high if self.high_in else value < self.high
        return above and below

    def __str__(self) -> str:
        """In words.

        >>> str(Range(0, 1)), str(Range(1)), str(Range(low_in=False)), str(Range(0, 1, False, False))
        ('from 0 to 1', 'from 1', 'above 0', 'above 0 and below 1')
        """
        low = f"{'from' if self.low_in else 'above'} {self.low:g}"
        if math.isinf(self.high):
            return low
        if self.high_in:
            return f"{low} {'to' if self.low_in else 'and up to'} {self.high:g}"
        return f"{low} and below {self.high:g}"


def require_in_range(part: Any, ranges: Mapping[str, Range]) -> None:
    """An error for a parameter of a model or of another stage that makes no sense."""
    for name, range_ in ranges.items():
        value = getattr(part, name)
        if value not in range_:
            raise CranfieldError(f"{part.name}: {name.rstrip('_')}={value:g} is not a number {range_}.")
