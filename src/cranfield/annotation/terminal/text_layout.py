"""Text for terminals: printable characters, line breaks, and the positions of spans in broken lines."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from unicodedata import combining, east_asian_width

from cranfield.annotation.documents import list_extra_fields
from cranfield.annotation.terminal.session import TerminalSession

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def make_printable(text: str) -> str:
    """Text without characters that would control a terminal.

    >>> make_printable("a\\x1b[2Jb\\tc")
    'a\ufffd[2Jb    c'
    """
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4))


def describe_document(session: TerminalSession, doc: str) -> list[str]:
    """The parts of a document as text: title, other fields, text."""
    document = session.texts.document(doc)
    if document is None:
        return ["(The text of this document is missing.)"]
    fields = [f"{name}: {value}" for name, value in list_extra_fields(document)]
    parts = [document.title, *fields, document.text if document.text.strip() else "(This document is empty.)"]
    return [make_printable(part).strip() for part in parts if part.strip()]


def list_keys(session: TerminalSession) -> list[str]:
    """All keys, one per line."""
    grades = [f"{grade.key}  {grade.label}: save it and continue" for grade in session.scale.grades]
    others = [f"{action.key}  {action.label}: {action.about}" for action in session.actions]
    return [*grades, *others, "q  Quit: everything is saved already"]


def count_times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def count_columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def truncate(text: str, width: int) -> str:
    """As much of a text as fits."""
    if count_columns(text) <= width:
        return text
    while text and count_columns(text) > width - 1:
        text = text[:-1]
    return text + "…"


def wrap_text(text: str, width: int, indent: str = "") -> list[str]:
    """Lines no wider than `width`; line breaks of the text stay."""
    lines = []
    for paragraph in make_printable(text).strip().split("\n"):
        lines += wrap_paragraph(paragraph, width - len(indent)) or [""]
    return [indent + line for line in lines] if text.strip() else []


def wrap_paragraph(paragraph: str, width: int) -> list[str]:
    """The lines of a paragraph, which may have scripts without spaces and characters two columns wide."""
    if paragraph.isascii():
        return textwrap.wrap(paragraph, width, break_on_hyphens=False) or [""]
    lines, line, used = [], "", 0
    for word in re.findall(r"\s+|\S+", paragraph):
        size = count_columns(word)
        if used + size > width and not word.isspace():
            for char in word if size > width else [word]:
                wide = count_columns(char)
                if used and used + wide > width:
                    lines.append(line.rstrip())
                    line, used = "", 0
                line, used = line + char, used + wide
            continue
        line, used = line + word, used + size
    return [*lines, line.rstrip()]


def locate_spans(text: str, lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
    """Map spans of a text to the lines that it was broken into: the spans in each line, by its number.

    Line breaking changes only white space, so all other characters are counted.

    >>> locate_spans("a flat tyre", ["a flat", "tyre"], [(2, 11)])
    {0: [(2, 6)], 1: [(0, 4)]}
    """
    if not spans:
        return {}
    before = [0, *accumulate(not char.isspace() for char in text)]
    ends = list(accumulate(len("".join(line.split())) for line in lines))
    located: dict[int, list[tuple[int, int]]] = {}
    for first, last in spans:
        start, end = before[first], before[last]
        number = bisect_right(ends, start)
        while start < end:
            offset = ends[number - 1] if number else 0
            inside = [column for column, char in enumerate(lines[number]) if not char.isspace()]
            stop = min(end, ends[number])
            if start < stop:
                located.setdefault(number, []).append((inside[start - offset], inside[stop - offset - 1] + 1))
            start, number = stop, number + 1
    return located
