"""Parameters that several measures have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.base import Flag, Parameter
from cranfield.errors import CranfieldError


class GainMap(dict[float, float]):
    """Gains by grade, hashable because measures are."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


class Gain(Parameter):
    """A map from grade to gain, or one of the choices."""

    def check(self, name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self._map(name, value)
        if isinstance(value, str) and value in self.choices:
            return value
        raise self.error(name, value)

    def _map(self, name: str, value: Mapping[Any, Any]) -> GainMap:
        number = Parameter("a grade or a gain")
        try:
            return GainMap({number.check(name, grade): number.check(name, gain) for grade, gain in value.items()})
        except CranfieldError:
            raise CranfieldError(f"{name}={value!r}: expected grades and gains that are numbers.") from None

    def range(self) -> str:
        return f"{super().range()}, or a map such as {{1:1,2:3}}" if self.choices else "a map such as {1:1,2:3}"


MANY = 10**9  # more documents than any ranking has
GAIN = Gain(
    "put other values in place of grades: {grade: value}; grades that are not named stay", examples=({1: 0.5, 2: 2},)
)
CUTOFF = Parameter(
    "how many documents from the top count", low=1, high=MANY, whole=True, examples=(10, 1, 3), symbol="k"
)
REL = Parameter("the lowest grade that counts as relevant", examples=(2, -1, 0.5))
JUDGED_ONLY = Flag("leave documents without a judgment out of the ranking first")
REPEATS = Flag("count documents that repeat another; if not, they earn nothing and the ideal has each group once")
