"""Texts as cells of a CSV file: valid Unicode, no formula, and the same text again when they are read.

A spreadsheet takes what begins with = + - @ for a formula, whoever wrote it; OWASP's advice is a ' before it
(owasp.org/www-community/attacks/CSV_Injection). An empty cell says that there is no text; where one is there and
empty, it is a '. Bytes that are no UTF-8, which ids may have, halves of characters,
NUL and carriage returns are written \\udcff, as in JSON.
"""

from __future__ import annotations

import re

EMPTY = "'"  # a text that is there and empty
_FORMULA = re.compile(r"'*[=+\-@\t\r]|'+\Z")
_NUMBER = re.compile(r"[+-][0-9]+(?:\.[0-9]+)?")
_UNWRITABLE = re.compile(r"(?<!\\)(\\*)([\0\r\ud800-\udfff])")
_LIKE_ESCAPE = re.compile(r"(?<!\\)(\\+)(u(?:0000|000d|d[89a-f][0-9a-f]{2}))")


def cell(text: str) -> str:
    r"""A text as it is written.

    >>> print(cell("=1+2"), cell("-1"), cell("a\udcff"), cell("C:\\new"), cell("\\u0000"))
    '=1+2 -1 a\udcff C:\new \\u0000
    """
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    if "\\" in text:  # what looks like an escape and is none has an even number of \ before it
        text = _LIKE_ESCAPE.sub(lambda found: found[1] * 2 + found[2], text)
    return _UNWRITABLE.sub(lambda found: f"{found[1] * 2}\\u{ord(found[2]):04x}", text)


def text_in(cell: str) -> str:
    r"""The text that was written.

    >>> [text_in(cell(text)) == text for text in ("=1", "'=1", "", "'", "\\\udcff\0", "\\\\ud800", "it's")]
    [True, True, True, True, True, True, True]
    """
    if "\\" in cell:
        cell = _LIKE_ESCAPE.sub(_unescaped, cell)
    is_marked = cell.startswith("'") and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return cell[1:] if is_marked else cell


def _unescaped(found: re.Match[str]) -> str:
    before, is_escape = divmod(len(found[1]), 2)
    return "\\" * before + (chr(int(found[2][1:], 16)) if is_escape else found[2])
