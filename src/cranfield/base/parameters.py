"""Parameters of measures, pooling strategies, fusion methods and search systems: one way to declare and check them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from cranfield.base.records import Record
from cranfield.base.text import suggest
from cranfield.errors import CranfieldError


class Parameter(Record):
    """A number or a name that a user may choose: what it is for, and which values it may have."""

    help: str
    default: Any = None  # where the owner is a record, its field has the default
    low: float | None = None
    high: float | None = None
    above_low: bool = False  # whether `low` itself is not allowed
    below_high: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()
    word: str = ""  # a name allowed beside numbers
    examples: tuple[Any, ...] = ()  # values to show, to test and to search among
    symbol: str = ""  # what it is called in formulas, if not by its name

    def check(self, name: str, value: Any) -> Any:
        """The value as the right type; an error if it is not allowed.

        >>> Parameter("documents", low=1, whole=True).check("depth", 10.0)
        10
        """
        if isinstance(value, str) and value in (self.choices or (self.word,)):
            return value
        if self.choices:
            hint = suggest(value, self.choices) if isinstance(value, str) else ""
            raise CranfieldError(f"{name}={value!r} is unknown: expected {self.range()}.{hint}")
        if not _is_number(value) or (self.whole and value != int(value)):
            raise self.error(name, value)
        if not self._is_in_range(float(value)):
            raise CranfieldError(f"{name}={value:.12g} is out of range: expected {self.range()}.")
        return int(value) if self.whole else float(value)

    def parse(self, name: str, text: str) -> Any:
        """The value that a text denotes.

        >>> Parameter("a share", low=0, high=1).parse("rate", "0.5")
        0.5
        """
        if self.choices or text == self.word:
            return self.check(name, text)
        try:
            number = float(text)
        except ValueError:
            raise self.error(name, text) from None
        return self.check(name, number)

    def error(self, name: str, value: Any) -> CranfieldError:
        """The error for a value of the wrong kind."""
        return CranfieldError(f"{name}={value!r:.40}: expected {self.range()}.")

    def range(self) -> str:
        """The values allowed, in words.

        >>> Parameter("", low=0, high=1).range(), Parameter("", low=0, above_low=True).range()
        ('a number from 0 to 1', 'a number above 0')
        """
        if self.choices:
            return f"one of {', '.join(self.choices)}" if len(self.choices) > 1 else f"'{self.choices[0]}'"
        return self._number_range() + (f", or '{self.word}'" if self.word else "")

    def _number_range(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        if self.low is None:
            return kind
        if self.high is None:
            return f"{kind} {'above' if self.above_low else 'of at least'} {self.low:.12g}"
        start = f"{'above' if self.above_low else 'from'} {self.low:.12g}"
        end = "and below" if self.below_high else "and up to" if self.above_low else "to"
        return f"{kind} {start} {end} {self.high:,.12g}"

    def example_values(self) -> tuple[Any, ...]:
        """Values to show and test it with.

        >>> Parameter("a share", low=0, high=1).example_values()
        (0.5, 1, 0)
        """
        if self.examples or self.choices:
            return self.examples or self.choices
        high = None if self.high is None or self.high > 100 else self.high
        candidates = (0.5, 1, 2, 5, 0, self.low, high)
        return tuple(dict.fromkeys(value for value in candidates if value is not None and self._takes(value)))

    def _takes(self, value: Any) -> bool:
        try:
            self.check("", value)
        except CranfieldError:
            return False
        return True

    def _is_in_range(self, number: float) -> bool:
        is_low = self.low is not None and (number < self.low or (self.above_low and number == self.low))
        is_high = self.high is not None and (number > self.high or (self.below_high and number == self.high))
        return not (is_low or is_high)


class Flag(Parameter):
    """A parameter that is True or False."""

    def check(self, name: str, value: Any) -> Any:
        if not isinstance(value, bool):
            raise self.error(name, value)
        return value

    def range(self) -> str:
        return "True or False"

    def example_values(self) -> tuple[Any, ...]:
        return (True, False)


def check_parameters(owner: str, parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a strategy, a method or the like: the values chosen, checked, and the defaults of the others.

    >>> check_parameters("rrf", {"k": Parameter("how flat the ranks are", 60, low=0)}, {"k": "20"})
    {'k': 20.0}
    """
    for name in values:
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise CranfieldError(f"{owner} has no parameter {name!r}: it has {known}.")
    return {
        name: None if (value := values.get(name, one.default)) is None else check_value(owner, one, name, value)
        for name, one in parameters.items()
    }


def check_value(owner: str, parameter: Parameter, name: str, value: Any) -> Any:
    """A value, or the text of one, checked; the error names the owner."""
    try:
        return parameter.parse(name, value) if isinstance(value, str) else parameter.check(name, value)
    except CranfieldError as error:
        raise CranfieldError(f"{owner}: {error}") from None


def _is_number(value: Any) -> bool:
    """Whether a value is a finite real number, of Python or NumPy."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number larger than any double
        return False
