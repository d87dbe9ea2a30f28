"""Grades as users write them: a scale, ranges, a mapping to other grades."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from cranfield.data import Bools, Floats
from cranfield.errors import InputError
from cranfield.io import parse_decimal

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_RANGE = re.compile(rf"({_NUMBER})\s*(?:-|–|\.\.)\s*({_NUMBER})?")
_MOST = 1000


def parse_scale(text: str) -> list[float]:
    """All grades of a scale.

    >>> parse_scale("0-3"), parse_scale("-2, 0..2"), parse_scale("0,0.5,1")
    ([0.0, 1.0, 2.0, 3.0], [-2.0, 0.0, 1.0, 2.0], [0.0, 0.5, 1.0])
    """
    grades: list[float] = []
    for part in _parts(text, "--scale"):
        found = _RANGE.fullmatch(part)
        if found is None:
            grades.append(_decimal(part, "--scale: the grade"))
            continue
        low, high = _ends(found, part, "--scale")
        if not (low.is_integer() and high.is_integer() and high - low < _MOST):
            raise InputError(
                f"--scale {part}: expected whole grades, as in 0-3; name others one by one, as in 0,0.5,1."
            )
        grades += [float(grade) for grade in range(int(low), int(high) + 1)]
    return sorted(set(grades))


def parse_ranges(text: str) -> Callable[[Floats], Bools]:
    """A predicate for the grades in these ranges.

    >>> parse_ranges("0,2-")(np.array([0.0, 1.0, 2.0, 3.0])).tolist()
    [True, False, True, True]
    """
    ends = []
    for part in _parts(text, "--grades"):
        found = _RANGE.fullmatch(part)
        if found is None:
            grade = _decimal(part, "--grades: the grade")
            ends.append((grade, grade))
        elif found[2] is None:
            ends.append((_decimal(found[1], "--grades: the grade"), np.inf))
        else:
            ends.append(_ends(found, part, "--grades"))

    def fits(grades: Floats) -> Bools:
        fitting = np.zeros(len(grades), dtype=bool)
        for low, high in ends:
            fitting |= (grades >= low) & (grades <= high)
        return fitting

    return fits


def parse_mapping(text: str) -> dict[float, float]:
    """New grades by old ones.

    >>> parse_mapping("1=0, 2=1")
    {1.0: 0.0, 2.0: 1.0}
    """
    new: dict[float, float] = {}
    for part in _parts(text, "OLD=NEW"):
        left, sign, right = (side.strip() for side in part.partition("="))
        if not sign or not left or not right:
            raise InputError(f"{part!r}: expected OLD=NEW, separated by commas, as in 1=0,2=1.")
        old, value = _decimal(left, "the old grade"), _decimal(right, "the new grade")
        if new.setdefault(old, value) != value:
            raise InputError(f"grade {old:g} is mapped to both {new[old]:g} and {value:g}.")
    return new


def parse_numbers(text: str, option: str) -> list[float]:
    """Numbers separated by commas."""
    return [_decimal(part, f"{option}: the number") for part in _parts(text, option)]


def _parts(text: str, option: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(f"{option} {text!r}: expected values separated by commas.")
    return parts


def _ends(found: re.Match[str], part: str, option: str) -> tuple[float, float]:
    if found[2] is None:
        raise InputError(f"{option} {part}: expected two ends, as in 0-3.")
    low, high = (_decimal(found[i], f"{option}: the grade") for i in (1, 2))
    if low > high:
        raise InputError(f"{option} {part}: the first grade is above the last.")
    return low, high


def _decimal(text: str, what: str) -> float:
    return parse_decimal(text.encode("utf-8", "surrogateescape"), what)
