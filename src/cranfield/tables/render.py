"""Tables as values, rendered as text, Markdown, LaTeX and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby, zip_longest
from unicodedata import combining, east_asian_width

from cranfield.base import Record
from cranfield.tables.text import replace_controls

_MANY_COLUMNS = 6  # tables with more are set smaller in LaTeX


class Cell(Record):
    """One cell of a table."""

    text: str
    best: bool = False
    below: str = ""  # small print, such as an interval; lines are separated by \n
    mark: str = ""  # after the text, in formats without superscripts
    above: str = ""  # superscript
    under: str = ""  # subscript


class Table(Record):
    """Rows of cells below a header; the first columns hold names."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    groups: tuple[str, ...] = ()  # headings above the header, one per column
    names: int = 1  # number of columns with names, which are left-aligned

    def widths(self, styled: bool = False) -> list[int]:
        """The width of each column; without styles, the best values have an asterisk."""
        widths = []
        for i, head in enumerate(self.header):
            mark = (1 if not styled and self.has_best(i) else 0) + self.mark_width(i)
            texts = (text for row in self.rows for text in (row[i].text, *_small_print(row[i])) if text)
            heads = (head, *self.groups[i : i + 1])
            widths.append(max([*map(count_columns, heads), *(count_columns(text) + mark for text in texts)]))
        return widths

    def mark_width(self, i: int) -> int:
        """The width of the marks of a column, with the space before them."""
        widest = max((count_columns(row[i].mark) for row in self.rows), default=0)
        return widest + 1 if widest else 0

    def has_best(self, i: int) -> bool:
        """Whether a cell of the column is marked as best."""
        return any(row[i].best for row in self.rows)

    def split(self, width: int) -> list[Table]:
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


def _small_print(cell: Cell) -> list[str]:
    """The lines of small print of a cell."""
    return cell.below.split("\n") if cell.below else []


def render_text(tables: Sequence[Table], width: int, styled: bool) -> str:
    """Tables as text; without styles, an asterisk marks the best."""
    parts = (part for whole in tables for part in whole.split(width))
    return "\n\n".join("\n".join(_text_lines(part, styled)) for part in parts) + "\n"


def _text_lines(table: Table, styled: bool) -> Iterator[str]:
    if table.title:
        yield _add_style(replace_controls(table.title), "bold", styled)
    sizes = table.widths(styled)
    stars = [" " if not styled and table.has_best(i) else "" for i in range(len(sizes))]
    zones = [table.mark_width(i) for i in range(len(sizes))]
    for head in (table.groups, table.header):
        if head:
            yield _text_line(head, ["bold"] * len(sizes), sizes, [""] * len(sizes), styled, table.names)
    for row in table.rows:
        ends = [
            ("*" if cell.best and not styled else star) + _pad(f" {cell.mark}" if cell.mark else "", zone)
            for cell, star, zone in zip(row, stars, zones, strict=True)
        ]
        styles = ["bold" if cell.best else "" for cell in row]
        yield _text_line([cell.text for cell in row], styles, sizes, ends, styled, table.names)
        spaces = [star + " " * zone for star, zone in zip(stars, zones, strict=True)]
        for line in zip_longest(*map(_small_print, row), fillvalue=""):
            yield _text_line(line, ["dim"] * len(row), sizes, spaces, styled, table.names)


def _pad(text: str, size: int) -> str:
    return text + " " * (size - count_columns(text))


def _text_line(
    texts: Sequence[str],
    styles: Sequence[str],
    sizes: Sequence[int],
    ends: Sequence[str],
    styled: bool,
    names: int,
) -> str:
    """One line: names left-aligned, numbers right-aligned."""
    cells = []
    for i, (text, style, size, end) in enumerate(zip(texts, styles, sizes, ends, strict=True)):
        shown = replace_controls(text) + (end if text else "")
        space = " " * (size - count_columns(shown))
        shown = _add_style(shown, style, styled)
        cells.append(shown + space if i < names else space + shown)
    return "  ".join(cells).rstrip()


_STYLES = {"bold": "\x1b[1m", "dim": "\x1b[2m"}


def _add_style(text: str, style: str, styled: bool) -> str:
    return f"{_STYLES[style]}{text}\x1b[0m" if styled and style and text else text


def count_columns(text: str) -> int:
    """The number of terminal columns that a text takes.

    >>> count_columns("nDCG@10"), count_columns("検索"), count_columns("e\u0301")
    (7, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def render_markdown(table: Table) -> str:
    """A table in Markdown, with the best in bold."""
    lines = [f"**{table.title}**", ""] if table.title else []
    lines.append("| " + " | ".join(_escape_markdown(head) for head in _flat_header(table)) + " |")
    lines.append("|" + "|".join([" --- "] * table.names + [" ---: "] * (len(table.header) - table.names)) + "|")
    for row in table.rows:
        lines.append("| " + " | ".join(map(_markdown_cell, row)) + " |")
    return "\n".join(lines) + "\n"


def _flat_header(table: Table) -> list[str]:
    """The header on one line, with groups before names."""
    groups = table.groups or ("",) * len(table.header)
    return [f"{group} {head}".strip() for group, head in zip(groups, table.header, strict=True)]


def _markdown_cell(cell: Cell) -> str:
    text = f"**{_escape_markdown(cell.text)}**" if cell.best else _escape_markdown(cell.text)
    mark = f" {_escape_markdown(cell.mark)}" if cell.mark else ""
    return text + mark + "".join(f"<br>{_escape_markdown(line)}" for line in _small_print(cell))


def render_latex(table: Table, caption: str = "", label: str = "") -> str:
    """A table for LaTeX with booktabs, the best in bold; a floating one if it has a caption."""
    lines = [
        r"% \usepackage{booktabs}",
        *([r"\begin{table}", r"\centering", rf"\caption{{{escape_tex(caption)}}}"] if caption else []),
        *([rf"\label{{{label}}}"] if label else []),
        *([r"\footnotesize\setlength{\tabcolsep}{3pt}"] if caption and len(table.header) > _MANY_COLUMNS else []),
        r"\begin{tabular}{" + "l" * table.names + "r" * (len(table.header) - table.names) + "}",
        r"\toprule",
        *_tex_groups(table),
        _tex_row(escape_tex(head) for head in table.header),
        r"\midrule",
    ]
    if table.title:
        lines.insert(0, f"% {replace_controls(table.title)}")
    boxes = [_tex_box([row[i] for row in table.rows]) for i in range(len(table.header))]
    for row in table.rows:
        lines.append(_tex_row(_tex_cell(cell, box) for cell, box in zip(row, boxes, strict=True)))
        for line in zip_longest(*map(_small_print, row), fillvalue=""):
            lines.append(_tex_row(rf"{{\scriptsize {escape_tex(text)}}}" if text else "" for text in line))
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *([r"\end{table}"] if caption else [])]) + "\n"


def _tex_row(cells: Iterable[str]) -> str:
    """A row; protected from the one before it, for which [ and * would be options."""
    row = " & ".join(cells)
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def _tex_groups(table: Table) -> list[str]:
    """A line of groups above the header, with a rule below each."""
    if not table.groups:
        return []
    cells, rules, at = [], [], 1
    for group, members in groupby(table.groups):
        size = len(list(members))
        cells.append(rf"\multicolumn{{{size}}}{{c}}{{{escape_tex(group)}}}" if group else " & ".join([""] * size))
        if group:
            rules.append(rf"\cmidrule(lr){{{at}-{at + size - 1}}}")
        at += size
    return [" & ".join(cells) + r" \\", " ".join(rules)]


def _tex_box(cells: Sequence[Cell]) -> float:
    """The width of the marks of a column in em, which keeps numbers aligned."""
    return max((0.4 * max(len(cell.above), len(cell.under)) for cell in cells), default=0.0)


def _tex_cell(cell: Cell, box: float) -> str:
    text = rf"\textbf{{{escape_tex(cell.text)}}}" if cell.best else escape_tex(cell.text)
    if not box or not cell.text:
        return text
    above = rf"^{{\mathrm{{{escape_tex(cell.above)}}}}}" if cell.above else ""
    under = rf"_{{\mathrm{{{escape_tex(cell.under)}}}}}" if cell.under else ""
    mark = f"${above}{under}$" if above or under else ""
    return rf"{text}\makebox[{box:.1f}em][l]{{{mark}}}"


def render_html(table: Table, caption: str = "") -> str:
    """A table in HTML, with the best in bold and marks as superscripts and subscripts."""
    lines = ["<table>"]
    if caption or table.title:
        lines.append(f"<caption>{escape_html(caption or table.title)}</caption>")
    lines.append("<thead>")
    if table.groups:
        lines.append(f"<tr>{''.join(_html_group(g, len(list(of))) for g, of in groupby(table.groups))}</tr>")
    heads = (f'<th scope="col">{escape_html(head)}</th>' for head in table.header)
    lines.append(f"<tr>{''.join(heads)}</tr>")
    lines += ["</thead>", "<tbody>"]
    for row in table.rows:
        names = (f'<th scope="row">{_html_content(cell)}</th>' for cell in row[: table.names])
        cells = (f"<td>{_html_content(cell)}</td>" for cell in row[table.names :])
        lines.append(f"<tr>{''.join((*names, *cells))}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"]) + "\n"


def _html_group(group: str, size: int) -> str:
    if not group:
        return f'<td colspan="{size}"></td>'
    return f'<th scope="colgroup" colspan="{size}">{escape_html(group)}</th>'


def _html_content(cell: Cell) -> str:
    text = f"<b>{escape_html(cell.text)}</b>" if cell.best else escape_html(cell.text)
    above = f"<sup>{escape_html(cell.above)}</sup>" if cell.above else ""
    under = f"<sub>{escape_html(cell.under)}</sub>" if cell.under else ""
    return text + above + under + "".join(f"<br><small>{escape_html(line)}</small>" for line in _small_print(cell))


def escape_html(text: str) -> str:
    """Text escaped for HTML."""
    return escape(replace_controls(text)).encode("utf-8", "replace").decode()


def _escape_markdown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "…": r"\ldots{}",
    **{char: "\\" + char for char in "&%$#_{}"},
    # characters that LaTeX fonts lack outside formulas
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


def escape_tex(text: str) -> str:
    """Text escaped for LaTeX."""
    return _TEX_PATTERN.sub(lambda match: _TEX[match[0]], replace_controls(text))
