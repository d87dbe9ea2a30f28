"""Escaping of texts in CSV cells: valid Unicode, no formulas, and the same text when read back.

A spreadsheet takes a text that starts with = + - @ as a formula. OWASP's advice is to prefix it with '
(owasp.org/www-community/attacks/CSV_Injection). An empty cell means that there is no text; an empty text is written as
'. Bytes of ids that are not UTF-8, surrogates, NUL and carriage returns are written as \\udcff, as in JSON.
"""

from __future__ import annotations

import re

EMPTY = "'"  # an empty text
_FORMULA = re.compile(r"'*[=+\-@\t\r]|'+\Z")
_NUMBER = re.compile(r"[+-][0-9]+(?:\.[0-9]+)?")
_UNWRITABLE = re.compile(r"(?<!\\)(\\*)([\0\r\ud800-\udfff])")
_LIKE_ESCAPE = re.compile(r"(?<!\\)(\\+)(u(?:0000|000d|d[89a-f][0-9a-f]{2}))")


def escape_cell(text: str) -> str:
    r"""Escape a text for a cell.

    >>> print(*map(escape_cell, ("=1+2", "-1", "a\udcff", "C:\\new", "\\u0000")))
    '=1+2 -1 a\udcff C:\new \\u0000
    """
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    if "\\" in text:  # text that only looks like an escape gets an even number of \
        text = _LIKE_ESCAPE.sub(lambda found: found[1] * 2 + found[2], text)
    return _UNWRITABLE.sub(lambda found: f"{found[1] * 2}\\u{ord(found[2]):04x}", text)


def unescape_cell(escape_cell: str) -> str:
    r"""The text of an escaped cell.

    >>> [unescape_cell(escape_cell(text)) == text for text in ("=1", "'=1", "", "'", "\\\udcff\0", "\\\\ud800", "it's")]
    [True, True, True, True, True, True, True]
    """
    if "\\" in escape_cell:
        escape_cell = _LIKE_ESCAPE.sub(_unescaped, escape_cell)
    is_marked = escape_cell.startswith("'") and _FORMULA.match(escape_cell) and not _NUMBER.fullmatch(escape_cell)
    return escape_cell[1:] if is_marked else escape_cell


def _unescaped(found: re.Match[str]) -> str:
    before, is_escape = divmod(len(found[1]), 2)
    return "\\" * before + (chr(int(found[2][1:], 16)) if is_escape else found[2])
