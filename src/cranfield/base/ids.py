"""Ids of queries and documents: their bytes, their order, and how they are shown.

Ids are `str`. Bytes of a file that are not UTF-8 are kept as surrogate escapes, so every id can be written back
byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cranfield.errors import InputError


def encode_id(text: str) -> bytes:
    """The bytes of an id as they stood in the file; ids are ordered by them.

    >>> encode_id("d\\udcff")
    b'd\\xff'
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InputError(f"id {format_id(text):.80} is not valid Unicode.") from None


def format_id(text: str) -> str:
    """An id as a message shows it: quoted, and always printable.

    >>> format_id("d\\udcff")
    "'d\\\\udcff'"
    """
    return repr(text)


def sort_naturally(ids: Iterable[str]) -> list[str]:
    """Ids in the order a reader expects: numbers by value, the rest bytewise.

    >>> sort_naturally(["q10", "q9", "q1"])
    ['q1', 'q9', 'q10']
    """
    ids = list(ids)
    if all(map(_is_plain_number, ids)):
        return sorted(ids, key=int)
    return sorted(ids, key=_natural_key)


def _is_plain_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19 and text[0] != "0"


def _natural_key(text: str) -> tuple[list[tuple[int, bytes]], bytes]:
    # a number sorts by its length, then its digits: no conversion, so no limit on its size
    parts = re.findall(rb"\d+|\D+", encode_id(text))
    digits = ((p.lstrip(b"0") or b"0") if p[:1].isdigit() else b"" for p in parts)
    return [(len(d), d or p) for p, d in zip(parts, digits, strict=True)], encode_id(text)
