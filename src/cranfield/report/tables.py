"""A table as a value, and the ways to print one: terminal, Markdown, LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from cranfield.records import record

MISSING = "–"


@record
class Cell:
    """What stands in a place of a table."""

    text: str
    best: bool = False
    below: str = ""  # small print, such as an interval


@record
class Table:
    """Rows of cells below a header; the first column holds names."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def widths(self, styled: bool = False) -> list[int]:
        """How wide each column is; without styles a figure may have a mark."""
        found = []
        for i, head in enumerate(self.header):
            mark = 1 if not styled and self.has_best(i) else 0
            cells = [columns(text) + mark for row in self.rows for text in (row[i].text, row[i].below) if text]
            found.append(max([columns(head), *cells]))
        return found

    def has_best(self, i: int) -> bool:
        """Whether some cell of a column is the best."""
        return any(row[i].best for row in self.rows)

    def fitted(self, width: int) -> list[Table]:
        """The table, or several with the same first column, each no wider than `width`."""
        sizes = self.widths()
        parts: list[list[int]] = [[]]
        used = sizes[0]
        for i, size in enumerate(sizes[1:], 1):
            if parts[-1] and used + 2 + size > width:
                parts.append([])
                used = sizes[0]
            parts[-1].append(i)
            used += 2 + size
        return [self._columns([0, *part]) for part in parts]

    def _columns(self, at: Sequence[int]) -> Table:
        header = tuple(self.header[i] for i in at)
        return Table(self.title, header, tuple(tuple(row[i] for i in at) for row in self.rows))


def number(value: float | None, places: int) -> str:
    """A figure as it is shown; what is missing is a dash.

    >>> number(0.5, 4), number(None, 4)
    ('0.5000', '–')
    """
    if value is None or math.isnan(value):
        return MISSING
    return f"{value:,.{places}f}"


def terminal(tables: Sequence[Table], width: int, styled: bool) -> str:
    """Tables as text for people; where there are no styles, an asterisk marks the best."""
    parts = (part for whole in tables for part in whole.fitted(width))
    return "\n\n".join("\n".join(_lines(part, styled)) for part in parts) + "\n"


def _lines(table: Table, styled: bool) -> Iterator[str]:
    if table.title:
        yield _styled(_shown(table.title), "bold", styled)
    sizes = table.widths(styled)
    spaces = [" " if not styled and table.has_best(i) else "" for i in range(len(sizes))]
    yield _line(table.header, ["bold"] * len(sizes), sizes, [""] * len(sizes), styled)
    for row in table.rows:
        marks = ["*" if cell.best and not styled else space for cell, space in zip(row, spaces, strict=True)]
        yield _line([cell.text for cell in row], ["bold" if cell.best else "" for cell in row], sizes, marks, styled)
        if any(cell.below for cell in row):
            yield _line([cell.below for cell in row], ["dim"] * len(row), sizes, spaces, styled)


def _line(texts: Sequence[str], styles: Sequence[str], sizes: Sequence[int], ends: Sequence[str], styled: bool) -> str:
    """One line: names to the left, figures to the right."""
    cells = []
    for i, (text, style, size, end) in enumerate(zip(texts, styles, sizes, ends, strict=True)):
        shown = _shown(text) + (end if text else "")
        space = " " * (size - columns(shown))
        cells.append(_styled(shown, style, styled) + space if i == 0 else space + _styled(shown, style, styled))
    return "  ".join(cells).rstrip()


_STYLES = {"bold": "\x1b[1m", "dim": "\x1b[2m"}


def _styled(text: str, style: str, styled: bool) -> str:
    return f"{_STYLES[style]}{text}\x1b[0m" if styled and style and text else text


def _shown(text: str) -> str:
    """Text without the characters that would steer a terminal or break a line."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", "\N{REPLACEMENT CHARACTER}", text)


def columns(text: str) -> int:
    """How many columns of a terminal a text takes.

    >>> columns("nDCG@10"), columns("検索"), columns("e\u0301")
    (7, 4, 1)
    """
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def markdown(table: Table) -> str:
    """A table in Markdown, the best in bold."""
    lines = [f"**{table.title}**", ""] if table.title else []
    lines.append("| " + " | ".join(_pipe(head) for head in table.header) + " |")
    lines.append("|" + "|".join([" --- ", *[" ---: "] * (len(table.header) - 1)]) + "|")
    for row in table.rows:
        cells = (f"**{_pipe(cell.text)}**" if cell.best else _pipe(cell.text) for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def latex(table: Table) -> str:
    """A table for LaTeX with booktabs, the best in bold."""
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{tabular}{l" + "r" * (len(table.header) - 1) + "}",
        r"\toprule",
        " & ".join(_tex(head) for head in table.header) + r" \\",
        r"\midrule",
    ]
    if table.title:
        lines.insert(0, f"% {table.title}")
    for row in table.rows:
        cells = (rf"\textbf{{{_tex(cell.text)}}}" if cell.best else _tex(cell.text) for cell in row)
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _pipe(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    **{char: "\\" + char for char in "&%$#_{}"},
}


def _tex(text: str) -> str:
    return re.sub(r"[\\~^–&%$#_{}]", lambda match: _TEX[match[0]], text)
