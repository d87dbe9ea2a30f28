"""Turning what a file or an object holds into ids, numbers and grades, or into a clear error."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from cranfield.base import format_id
from cranfield.errors import InputError

OnProblem = Callable[[InputError], None]
R = TypeVar("R")
T = TypeVar("T")

_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(rb"[+-]?[0-9]{1,18}")


def raise_problem(problem: InputError) -> None:
    """What to do about a problem, unless one collects them: raise it."""
    raise problem


def read_each(
    records: Iterable[tuple[int, R]], made: Callable[[int, R], T], problem: OnProblem
) -> Iterator[tuple[int, T]]:
    """What is made of each numbered record, with its line; a record that cannot be used is a problem."""
    for line, record in records:
        try:
            value = made(line, record)
        except InputError as error:
            problem(error)
            continue
        yield line, value


def parse_decimal(token: bytes, what: str) -> float:
    """A decimal number, correctly rounded; hex, nan, inf, underscores and overflow are errors.

    >>> parse_decimal(b"+1.5e-3", "score")
    0.0015
    """
    if not _DECIMAL.fullmatch(token):
        raise InputError(f"{what} {format_id(decode_id(token))} is not a decimal number.")
    return _finite(float(token), decode_id(token), what)


def parse_decimals(tokens: Sequence[bytes]) -> list[float] | None:
    """All of a column at once, or None when some token needs a closer look."""
    try:
        values = list(map(float, tokens))
    except ValueError:
        return None
    # float() also takes nan, inf and underscores
    if not all(map(math.isfinite, values)) or any(b"_" in token for token in tokens):
        return None
    return values


def parse_integer(token: bytes) -> int | None:
    """A whole number of at most 18 digits, or None."""
    return int(token) if _WHOLE.fullmatch(token) else None


def decode_id(token: bytes) -> str:
    """An id, byte-exact: what is not UTF-8 becomes surrogate escapes."""
    return token.decode("utf-8", "surrogateescape")


def parse_grade_token(token: bytes, words: Mapping[str, float]) -> float:
    """A grade: a decimal number or one of the words.

    >>> parse_grade_token(b"Excellent", {"excellent": 3.0})
    3.0
    """
    if _DECIMAL.fullmatch(token):
        return _finite(float(token), decode_id(token), "grade")
    try:
        return float(words[decode_id(token).lower()])
    except KeyError:
        known = ", ".join(words)
        raise InputError(
            f"grade {format_id(decode_id(token))} is neither a decimal number nor one of the words {known} "
            "(--grade-words says what others stand for)."
        ) from None


def parse_id(value: Any, what: str) -> str:
    """An id out of an object: a string, or a whole number written out."""
    if isinstance(value, bytes):
        value = decode_id(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return _digits(value, what)
    if not isinstance(value, str):
        raise InputError(f"{what} id {value!r:.80} is a {type(value).__name__}, expected text.")
    try:
        # through bytes, so that two spellings of the same bytes are one id
        name = decode_id(value.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise InputError(f"{what} id {format_id(value):.80} is not valid Unicode.") from None
    if not name:
        raise InputError(f"a {what} id is empty.")
    if "\n" in name or "\r" in name:
        raise InputError(f"{what} id {name!r:.60} holds a line break; was a quotation mark left open?")
    return name


def parse_number(value: Any, what: str) -> float:
    """A finite number out of an object; text must be decimal."""
    if isinstance(value, str):
        return parse_decimal(value.strip().encode("utf-8", "surrogatepass"), what)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{what} {value!r:.80} is a {type(value).__name__}, expected a number.")
    try:
        return _finite(float(value), value, what)
    except OverflowError:
        raise InputError(f"{what} of hundreds of digits does not fit a double.") from None


def parse_grade(value: Any, words: Mapping[str, float]) -> float:
    """A grade out of an object: a number or one of the words."""
    if isinstance(value, str):
        return parse_grade_token(value.strip().encode("utf-8", "surrogatepass"), words)
    return parse_number(value, "grade")


def _finite(number: float, source: object, what: str) -> float:
    if math.isnan(number) or (math.isinf(number) and not isinstance(source, str)):
        raise InputError(f"{what} {number} is not a decimal number.")
    if math.isinf(number):
        raise InputError(f"{what} {source!s:.40} does not fit a double.")
    return number


def _digits(value: Any, what: str) -> str:
    try:
        return str(int(value))
    except ValueError:  # Python refuses to write out more than 4,300 digits
        raise InputError(f"{what} id is a number of thousands of digits, expected text.") from None
