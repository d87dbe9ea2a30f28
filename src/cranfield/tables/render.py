"""A table as a value, and the ways to print one: terminal, Markdown, LaTeX, HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest

from cranfield.base import Record

MISSING = "–"
_MANY_COLUMNS = 6  # more are set smaller, to fit on a page


class Cell(Record):
    """What stands in a place of a table."""

    text: str
    best: bool = False
    below: str = ""  # small print, such as an interval; several lines are parted by \n
    mark: str = ""  # behind the text, where there are no superscripts
    above: str = ""  # the same as superscript
    under: str = ""  # and as subscript


class Table(Record):
    """Rows of cells below a header; the first columns hold names."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    groups: tuple[str, ...] = ()  # what each column belongs to, above the header
    names: int = 1  # how many columns hold names, which go to the left

    def widths(self, styled: bool = False) -> list[int]:
        """How wide each column is; without styles a figure may have a mark."""
        found = []
        for i, head in enumerate(self.header):
            mark = (1 if not styled and self.has_best(i) else 0) + self.mark_width(i)
            cells = [columns(text) + mark for row in self.rows for text in (row[i].text, *small(row[i])) if text]
            found.append(max([columns(head), *(columns(group) for group in self.groups[i : i + 1]), *cells]))
        return found

    def mark_width(self, i: int) -> int:
        """How wide the marks of a column are, with the space before them."""
        widest = max((columns(row[i].mark) for row in self.rows), default=0)
        return widest + 1 if widest else 0

    def has_best(self, i: int) -> bool:
        """Whether some cell of a column is the best."""
        return any(row[i].best for row in self.rows)

    def fitted(self, width: int) -> list[Table]:
        """The table, or several with the same names, each no wider than `width`."""
        sizes = self.widths()
        parts: list[list[int]] = [[]]
        names = sum(sizes[: self.names]) + 2 * (self.names - 1)
        used = names
        for i, size in enumerate(sizes[self.names :], self.names):
            if parts[-1] and used + 2 + size > width:
                parts.append([])
                used = names
            parts[-1].append(i)
            used += 2 + size
        return [self._columns([*range(self.names), *part]) for part in parts]

    def _columns(self, at: Sequence[int]) -> Table:
        header = tuple(self.header[i] for i in at)
        rows = tuple(tuple(row[i] for i in at) for row in self.rows)
        groups = tuple(self.groups[i] for i in at) if self.groups else ()
        return Table(self.title, header, rows, groups, self.names)


def small(cell: Cell) -> list[str]:
    """The lines of small print."""
    return cell.below.split("\n") if cell.below else []


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
    stars = [" " if not styled and table.has_best(i) else "" for i in range(len(sizes))]
    zones = [table.mark_width(i) for i in range(len(sizes))]
    for head in (table.groups, table.header):
        if head:
            yield _line(head, ["bold"] * len(sizes), sizes, [""] * len(sizes), styled, table.names)
    for row in table.rows:
        ends = [
            ("*" if cell.best and not styled else star) + _padded(f" {cell.mark}" if cell.mark else "", zone)
            for cell, star, zone in zip(row, stars, zones, strict=True)
        ]
        styles = ["bold" if cell.best else "" for cell in row]
        yield _line([cell.text for cell in row], styles, sizes, ends, styled, table.names)
        spaces = [star + " " * zone for star, zone in zip(stars, zones, strict=True)]
        for line in zip_longest(*map(small, row), fillvalue=""):
            yield _line(line, ["dim"] * len(row), sizes, spaces, styled, table.names)


def _padded(text: str, size: int) -> str:
    return text + " " * (size - columns(text))


def _line(
    texts: Sequence[str],
    styles: Sequence[str],
    sizes: Sequence[int],
    ends: Sequence[str],
    styled: bool,
    names: int,
) -> str:
    """One line: names to the left, figures to the right."""
    cells = []
    for i, (text, style, size, end) in enumerate(zip(texts, styles, sizes, ends, strict=True)):
        shown = _shown(text) + (end if text else "")
        space = " " * (size - columns(shown))
        cells.append(_styled(shown, style, styled) + space if i < names else space + _styled(shown, style, styled))
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
    lines.append("| " + " | ".join(_pipe(head) for head in _heads(table)) + " |")
    lines.append("|" + "|".join([" --- "] * table.names + [" ---: "] * (len(table.header) - table.names)) + "|")
    for row in table.rows:
        lines.append("| " + " | ".join(map(_markdown_cell, row)) + " |")
    return "\n".join(lines) + "\n"


def _heads(table: Table) -> list[str]:
    """The header on one line, each after its group."""
    groups = table.groups or ("",) * len(table.header)
    return [f"{group} {head}".strip() for group, head in zip(groups, table.header, strict=True)]


def _markdown_cell(cell: Cell) -> str:
    text = f"**{_pipe(cell.text)}**" if cell.best else _pipe(cell.text)
    mark = f" {_pipe(cell.mark)}" if cell.mark else ""
    return text + mark + "".join(f"<br>{_pipe(line)}" for line in small(cell))


def latex(table: Table, caption: str = "", label: str = "") -> str:
    """A table for LaTeX with booktabs, the best in bold; with a caption, one that floats."""
    lines = [
        r"% \usepackage{booktabs}",
        *([r"\begin{table}", r"\centering", rf"\caption{{{tex(caption)}}}"] if caption else []),
        *([rf"\label{{{label}}}"] if label else []),
        *([r"\footnotesize\setlength{\tabcolsep}{3pt}"] if caption and len(table.header) > _MANY_COLUMNS else []),
        r"\begin{tabular}{" + "l" * table.names + "r" * (len(table.header) - table.names) + "}",
        r"\toprule",
        *_tex_groups(table),
        _tex_row(tex(head) for head in table.header),
        r"\midrule",
    ]
    if table.title:
        lines.insert(0, f"% {_shown(table.title)}")
    boxes = [_tex_box([row[i] for row in table.rows]) for i in range(len(table.header))]
    for row in table.rows:
        lines.append(_tex_row(_tex_cell(cell, box) for cell, box in zip(row, boxes, strict=True)))
        for line in zip_longest(*map(small, row), fillvalue=""):
            lines.append(_tex_row(rf"{{\scriptsize {tex(text)}}}" if text else "" for text in line))
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *([r"\end{table}"] if caption else [])]) + "\n"


def _tex_row(cells: Iterable[str]) -> str:
    """A row; after the end of one, [ and * would be taken for an option of it."""
    row = " & ".join(cells)
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def _tex_groups(table: Table) -> list[str]:
    """A line above the header with what columns belong to, and a rule below each."""
    if not table.groups:
        return []
    cells, rules, at = [], [], 1
    for group, members in groupby(table.groups):
        size = len(list(members))
        cells.append(rf"\multicolumn{{{size}}}{{c}}{{{tex(group)}}}" if group else " & ".join([""] * size))
        if group:
            rules.append(rf"\cmidrule(lr){{{at}-{at + size - 1}}}")
        at += size
    return [" & ".join(cells) + r" \\", " ".join(rules)]


def _tex_box(cells: Sequence[Cell]) -> float:
    """How wide the marks of a column are, in em, so that figures stay in line."""
    return max((0.4 * max(len(cell.above), len(cell.under)) for cell in cells), default=0.0)


def _tex_cell(cell: Cell, box: float) -> str:
    text = rf"\textbf{{{tex(cell.text)}}}" if cell.best else tex(cell.text)
    if not box or not cell.text:
        return text
    above = rf"^{{\mathrm{{{tex(cell.above)}}}}}" if cell.above else ""
    under = rf"_{{\mathrm{{{tex(cell.under)}}}}}" if cell.under else ""
    mark = f"${above}{under}$" if above or under else ""
    return rf"{text}\makebox[{box:.1f}em][l]{{{mark}}}"


def html(table: Table, caption: str = "") -> str:
    """A table in HTML, the best in bold, marks as superscripts and subscripts."""
    lines = ["<table>"]
    if caption or table.title:
        lines.append(f"<caption>{escaped(caption or table.title)}</caption>")
    lines.append("<thead>")
    if table.groups:
        lines.append(f"<tr>{''.join(_html_group(g, len(list(of))) for g, of in groupby(table.groups))}</tr>")
    heads = (f'<th scope="col">{escaped(head)}</th>' for head in table.header)
    lines.append(f"<tr>{''.join(heads)}</tr>")
    lines += ["</thead>", "<tbody>"]
    for row in table.rows:
        names = (f'<th scope="row">{_html_content(cell)}</th>' for cell in row[: table.names])
        cells = (f"<td>{_html_content(cell)}</td>" for cell in row[table.names :])
        lines.append(f"<tr>{''.join((*names, *cells))}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"]) + "\n"


def _html_group(group: str, size: int) -> str:
    return f'<th scope="colgroup" colspan="{size}">{escaped(group)}</th>' if group else f'<td colspan="{size}"></td>'


def _html_content(cell: Cell) -> str:
    text = f"<b>{escaped(cell.text)}</b>" if cell.best else escaped(cell.text)
    above = f"<sup>{escaped(cell.above)}</sup>" if cell.above else ""
    under = f"<sub>{escaped(cell.under)}</sub>" if cell.under else ""
    return text + above + under + "".join(f"<br><small>{escaped(line)}</small>" for line in small(cell))


def escaped(text: str) -> str:
    """Text for HTML."""
    from html import escape

    return escape(_shown(text)).encode("utf-8", "replace").decode()


def _pipe(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "…": r"\ldots{}",
    **{char: "\\" + char for char in "&%$#_{}"},
    # what the fonts of LaTeX lack outside formulas
    **{char: f"${name}$" for char, name in {"−": "-", "<": "<", ">": ">", "|": "|"}.items()},
    **{
        char: rf"$\{name}$"
        for char, name in {
            "α": "alpha",
            "Δ": "Delta",
            "±": "pm",
            "×": "times",
            "≥": "geq",
            "≤": "leq",
            "↑": "uparrow",
            "↓": "downarrow",
        }.items()
    },
}
_TEX_PATTERN = re.compile("|".join(map(re.escape, _TEX)))


def tex(text: str) -> str:
    """Text for LaTeX, with what has a meaning there made plain."""
    return _TEX_PATTERN.sub(lambda match: _TEX[match[0]], _shown(text))
