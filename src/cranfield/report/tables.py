"""A table as a value, and the ways to print one: terminal, Markdown, LaTeX."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """What stands in a place of a table."""

    text: str
    best: bool = False
    below: str = ""  # small print, such as an interval


@dataclass(frozen=True)
class Table:
    """Rows of cells below a header; the first column holds names."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def widths(self) -> list[int]:
        """How wide each column is in plain text."""
        columns = zip(*self.rows, strict=True) if self.rows else [() for _ in self.header]
        return [
            max([len(head), *(max(len(cell.text) + 1, len(cell.below)) for cell in column)])
            for head, column in zip(self.header, columns, strict=True)
        ]

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
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    # the console's own colour system would ask the environment; whoever calls has done so
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=styled, no_color=True, highlight=False, legacy_windows=False
    )
    for table in (part for whole in tables for part in whole.fitted(width)):
        if table.title:
            console.print(Text(table.title, style="bold"), soft_wrap=True)
        grid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for i, head in enumerate(table.header):
            grid.add_column(head, justify="left" if i == 0 else "right", no_wrap=True)
        for row in table.rows:
            grid.add_row(*(_rich(cell, styled, first=i == 0) for i, cell in enumerate(row)))
        console.print(grid)
        console.print()
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n")) + "\n"


def _rich(cell: Cell, styled: bool, first: bool) -> Text:
    from rich.text import Text

    mark = "" if first or styled else ("*" if cell.best else " ")
    content = Text(cell.text + mark, style="bold" if cell.best else "")
    if cell.below:
        content.append("\n" + cell.below + ("" if first or styled else " "), style="dim not bold")
    return content


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
