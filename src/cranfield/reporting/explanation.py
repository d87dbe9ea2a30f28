"""The explanation of a score, as text, JSON, Markdown and HTML."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from typing import Any

from cranfield.base import Record, pluralize
from cranfield.evaluation import Explanation
from cranfield.measures import Measure
from cranfield.reporting.mathml import render_formula
from cranfield.tables import MISSING, dump_json

PLACES = 4
LINE = 80  # width of sentences
SHORTEST_DOC = 12


class Sheet(Record):
    """The table of an explanation as texts: ranks (or queries), other terms, and totals."""

    header: tuple[str, ...]
    id_at: int  # the column with the document or query
    ranks: tuple[tuple[str, ...], ...]
    others: tuple[tuple[str, str], ...]
    hidden: str
    totals: tuple[tuple[str, str], ...]  # the last is the value


def as_text(explanations: Sequence[Explanation], width: int, styled: bool) -> str:
    """For reading in a terminal or a file."""
    return "\n".join(_text(one.down_to_the_cutoff(), width, styled) for one in explanations)


def as_json(explanations: Sequence[Explanation]) -> str:
    """Everything; a list if there are several explanations."""
    records = [one.record() for one in explanations]
    whole = records[0] if len(records) == 1 else records
    return dump_json(whole)


def as_markdown(explanations: Sequence[Explanation]) -> str:
    return "\n".join(_markdown(one.down_to_the_cutoff()) for one in explanations)


def as_html(explanations: Sequence[Explanation]) -> str:
    """A fragment for inclusion in a page, which browsers also open by itself."""
    sections = "".join(_html(one.down_to_the_cutoff()) for one in explanations)
    return f'<div class="explanation">\n<style>{_STYLE}</style>\n{sections}</div>\n'


def make_heading(explanation: Explanation) -> str:
    """What is explained, and its value."""
    which = f"query {explanation.query}"
    if explanation.query is None:
        number = sum("query" in row for row in explanation.rows) + explanation.hidden
        which = f"{explanation.average} {pluralize(number, 'query')}"
    return f"{explanation.measure} of {explanation.run}, {which}: {_figure(explanation.value)}"


def make_sheet(explanation: Explanation) -> Sheet:
    """The table of an explanation, with formatted numbers."""
    ranked = [row for row in explanation.rows if "what" not in row]
    # the format of a column does not depend on how many rows are shown
    whole = [*ranked, *explanation.hidden_rows]
    others = [row for row in explanation.rows if "what" in row]
    names = ["query"] if explanation.query is None else ["rank", "doc", "grade"]
    names += explanation.columns
    # of all ranks, including hidden ones
    of_ranks = explanation.sum - math.fsum(row["term"] for row in others)
    if not others or abs(of_ranks) > 1e-12 or any(row["term"] for row in ranked):
        names.append("term" if explanation.query is not None or "value" in names else "value")
    ids = names.index("query" if explanation.query is None else "doc")
    columns = [
        _column([row.get(name) for row in whole], is_id=at == ids)[: len(ranked)] for at, name in enumerate(names)
    ]
    other_terms = _column([row["term"] for row in others])
    return Sheet(
        header=tuple(_capitalize(name) for name in names),
        id_at=ids,
        ranks=tuple(zip(*columns, strict=True)),
        others=tuple((str(row["what"]), term) for row, term in zip(others, other_terms, strict=True)),
        hidden=_hidden(explanation),
        totals=tuple(_totals(explanation)),
    )


def _capitalize(name: str) -> str:
    """A name with a capital letter, unless it contains one, such as nDCG."""
    return name[:1].upper() + name[1:] if name.islower() else name


def _totals(explanation: Explanation) -> list[tuple[str, str]]:
    of_values = explanation.query is None and "value" not in explanation.columns
    lines = [(f"Sum of the {'values' if of_values else 'terms'}", _figure(explanation.sum))]
    if explanation.normaliser != 1 or explanation.normaliser_is or "normaliser" in _unusual(explanation.rule):
        what = f" ({explanation.normaliser_is})" if explanation.normaliser_is else ""
        lines.append((f"Normaliser{what}", _figure(explanation.normaliser)))
    return [*lines, (explanation.measure, _figure(explanation.value))]


def _unusual(rule: str) -> str:
    return "" if rule == Measure.rule else rule


def _hidden(explanation: Explanation) -> str:
    if not explanation.hidden:
        return ""
    added = explanation.sum - math.fsum(row["term"] for row in explanation.rows)
    adds = "nothing" if abs(added) < 1e-12 else _figure(added)
    they = "it adds" if explanation.hidden == 1 else "they add"
    one, several = ("rank", "ranks") if explanation.query is not None else ("query", "queries")
    what = one if explanation.hidden == 1 else several
    return f"{explanation.hidden:,} more {what} not shown; {they} {adds}."


def list_remarks(explanation: Explanation) -> list[str]:
    """Means, conventions and notes."""
    conventions = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in explanation.conventions.items())
    means = ", ".join(f"{name} {_figure(mean)}" for name, mean in explanation.averages.items())
    return [*([f"Means: {means}."] if means else []), f"Conventions: {conventions}.", *explanation.notes]


def _column(values: Sequence[Any], is_id: bool = False) -> list[str]:
    """Values as texts: all as integers, or all with the same decimals."""
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    is_whole = all(float(v).is_integer() for v in numbers)
    return [str(v) if is_id else _cell(v, is_whole) for v in values]


def _cell(value: Any, is_whole: bool) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:,.0f}" if is_whole else _decimal(value)
    return str(value)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else _decimal(value)


def _decimal(value: float) -> str:
    return f"{value:,.{PLACES}f}" if not value or abs(value) >= 0.5 * 10**-PLACES else f"{value:.1e}"


# Text


def _text(explanation: Explanation, width: int, styled: bool) -> str:
    shown = make_sheet(explanation)
    table, used = _grid(shown, width)
    foot = [*shown.others, *shown.totals]
    edge = max([used, *(len(label) + 2 + len(number) for label, number in foot)])
    lines = [
        _bold(make_heading(explanation), styled),
        *_wrap(": ".join(part for part in (explanation.title, explanation.formula) if part)),
        "",
        *table,
        *_wrap(shown.hidden),
        *([""] if shown.others else []),
        *(_align_right(label, number, edge) for label, number in shown.others),
        "─" * edge,
        *(_align_right(label, number, edge) for label, number in shown.totals[:-1]),
        _bold(_align_right(*shown.totals[-1], edge), styled),
        "",
        *_wrap(f"{explanation.measure} = {explanation.with_numbers}", indent="    "),
        "",
        *(line for remark in list_remarks(explanation) for line in _wrap(remark)),
    ]
    return "\n".join(lines) + "\n"


def _grid(shown: Sheet, width: int) -> tuple[list[str], int]:
    """The ranks as lines, and their width; split into several tables if one would be too wide."""
    if not shown.ranks:
        return ["Nothing was retrieved."], 0
    heads = [_wrap_heading(head) for head in shown.header]
    columns = [list(column) for column in zip(*shown.ranks, strict=True)]
    sizes = [max(map(len, [*head, *column])) for head, column in zip(heads, columns, strict=True)]
    too_wide = sum(sizes) + 2 * (len(sizes) - 1) - width
    at = shown.id_at
    if too_wide > 0:
        sizes[at] = max(sizes[at] - too_wide, min(sizes[at], SHORTEST_DOC))
        columns[at] = [_cut(doc, sizes[at]) for doc in columns[at]]
    lines: list[str] = []
    used = 0
    for part in _parts(sizes, width, at + 1):
        lines += [""] if lines else []
        lines += _rows([heads[i] for i in part], [columns[i] for i in part], [sizes[i] for i in part], at)
        used = sum(sizes[i] + 2 for i in part) - 2
    return lines, used


def _parts(sizes: Sequence[int], width: int, lead: int) -> list[list[int]]:
    """The columns of each table; rank and document (or query) are in all of them."""
    parts: list[list[int]] = [list(range(lead))]
    used = start = sum(sizes[:lead]) + 2 * (lead - 1)
    for i, size in enumerate(sizes[lead:], lead):
        if used + 2 + size > width and len(parts[-1]) > lead:
            parts.append(list(range(lead)))
            used = start
        parts[-1].append(i)
        used += 2 + size
    return parts


def _rows(heads: Sequence[list[str]], columns: Sequence[list[str]], sizes: Sequence[int], id_at: int) -> list[str]:
    depth = max(map(len, heads))
    stacked = [[""] * (depth - len(head)) + head for head in heads]
    lines = [list(line) for line in zip(*stacked, strict=True)] + [list(row) for row in zip(*columns, strict=True)]
    is_left = [i == id_at for i in range(len(sizes))]  # documents and queries; the rest are numbers
    return [
        "  ".join(
            cell.ljust(size) if left else cell.rjust(size)
            for cell, size, left in zip(line, sizes, is_left, strict=True)
        ).rstrip()
        for line in lines
    ]


def _wrap_heading(head: str) -> list[str]:
    """A heading, wrapped to be no wider than its numbers."""
    return textwrap.wrap(head, 9, break_long_words=False, break_on_hyphens=False) or [""]


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size // 2]}…{text[len(text) - size + size // 2 + 1 :]}"


def _align_right(label: str, number: str, edge: int) -> str:
    return f"{label}{number.rjust(edge - len(label))}"


def _wrap(text: str, indent: str = "") -> list[str]:
    """Lines of a sentence; LaTeX's space after a backslash is not a place to break."""
    held = text.replace("\\ ", "\\\0")
    lines = textwrap.wrap(held, LINE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def _bold(text: str, styled: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if styled else text


# Markdown


def _markdown(explanation: Explanation) -> str:
    shown = make_sheet(explanation)
    before, after = [""] * shown.id_at, [""] * (len(shown.header) - shown.id_at - 2)
    lines = [
        f"### {_escape(make_heading(explanation))}",
        "",
        *([f"{explanation.title}{':' if explanation.formula else ''}", ""] if explanation.title else []),
        *([f"$${explanation.formula}$$", ""] if explanation.formula else []),
        _line(shown.header),
        _line(["---" if i == shown.id_at else "---:" for i in range(len(shown.header))]),
        *(_line(row) for row in shown.ranks),
        *([_line([*before, shown.hidden, *after, ""])] if shown.hidden else []),
        *(_line([*before, what, *after, term]) for what, term in shown.others),
        *(
            _line([*before, f"**{_escape(label)}**", *after, f"**{number}**"], bold=True)
            for label, number in shown.totals
        ),
        "",
        f"`{explanation.measure} = {explanation.with_numbers}`",
        "",
        *(f"- {_escape(remark)}" for remark in list_remarks(explanation)),
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str], bold: bool = False) -> str:
    return f"| {' | '.join(cell if bold else _escape(cell) for cell in cells)} |"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*")


# HTML


def _html(explanation: Explanation) -> str:
    shown = make_sheet(explanation)
    parts = [
        "<section>",
        f"<h2>{html.escape(make_heading(explanation))}</h2>",
        *([f"<p>{html.escape(explanation.title)}</p>"] if explanation.title else []),
        *([f'<div class="formula">{render_formula(explanation.formula)}</div>'] if explanation.formula else []),
        _html_table(shown, [row.get("grade") for row in explanation.rows if "what" not in row]),
        f"<p><code>{html.escape(f'{explanation.measure} = {explanation.with_numbers}')}</code></p>",
        f"<ul>{''.join(f'<li>{html.escape(remark)}</li>' for remark in list_remarks(explanation))}</ul>",
        "</section>",
    ]
    return "\n".join(parts) + "\n"


def _html_table(shown: Sheet, grades: Sequence[float | None]) -> str:
    span = len(shown.header)
    highest = max([1.0, *(grade for grade in grades if grade is not None)])
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in shown.header)
    hidden = [f'<tr class="hidden"><td colspan="{span}">{html.escape(shown.hidden)}</td></tr>'] if shown.hidden else []
    lines = [
        f'<table class="{"queries" if shown.id_at == 0 else "ranks"}">\n<thead><tr>{head}</tr></thead>\n<tbody>',
        *(_html_row(row, _level(grade, highest), shown.id_at) for row, grade in zip(shown.ranks, grades, strict=True)),
        "</tbody>\n<tfoot>",
        *hidden,
        *(_html_total(what, term, span) for what, term in shown.others),
        *(_html_total(label, number, span) for label, number in shown.totals),
        "</tfoot>\n</table>",
    ]
    return "\n".join(lines)


def _html_row(row: Sequence[str], level: str, id_at: int) -> str:
    if id_at == 0:  # a query
        return f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>"
    rank, doc, grade, *numbers = map(html.escape, row)
    others = "".join(f"<td>{number}</td>" for number in numbers)
    return f'<tr><td>{rank}</td><td>{doc}</td><td class="{level}">{grade}</td>{others}</tr>'


def _level(grade: float | None, highest: float) -> str:
    """The CSS class of a grade: unjudged, or one of five steps from 0 to the highest grade."""
    return "unjudged" if grade is None else f"grade-{math.ceil(4 * max(grade, 0.0) / highest)}"


def _html_total(label: str, number: str, span: int) -> str:
    return f'<tr><th scope="row" colspan="{span - 1}">{html.escape(label)}</th><td>{html.escape(number)}</td></tr>'


# one hue from light to dark for grades; an unjudged document is outlined
_STYLE = """
.explanation { color-scheme: light dark; --text: #1c1e21; --quiet: #5b6168; --line: #d9dce0; color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; }
.explanation h2 { font-size: 20px; line-height: 28px; font-weight: 600; margin: 32px 0 8px; }
.explanation p, .explanation ul { margin: 8px 0; max-width: 38em; }
.explanation ul { color: var(--quiet); font-size: 14px; padding-left: 20px; }
.explanation .formula { margin: 16px 0; } .explanation .formula math { margin: 0; width: max-content; }
.explanation table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.explanation th, .explanation td { padding: 4px 12px; text-align: right; font-weight: 400; }
.explanation thead th { font-weight: 600; vertical-align: bottom; border-bottom: 1px solid var(--line); }
.explanation .ranks th:nth-child(2), .explanation .ranks td:nth-child(2) { text-align: left; }
.explanation .queries th:first-child, .explanation .queries tbody td:first-child { text-align: left; }
.explanation tfoot tr:first-child > * { border-top: 1px solid var(--line); }
.explanation tfoot th, .explanation tfoot .hidden td { text-align: left; }
.explanation tfoot td:nth-child(2) { text-align: right; }
.explanation tfoot tr:last-child > * { font-weight: 600; }
.explanation .hidden td { color: var(--quiet); }
.explanation .unjudged { outline: 1px dashed var(--quiet); outline-offset: -4px; }
.explanation [class^=grade-] { color: #1c1e21; }
.explanation .grade-0 { background: #f2f6fa; } .explanation .grade-1 { background: #cfe0ef; }
.explanation .grade-2 { background: #93bbdd; }
.explanation .grade-3 { background: #2f70a8; color: #fff; } .explanation .grade-4 { background: #0b4778; color: #fff; }
@media (prefers-color-scheme: dark) { .explanation { --text: #e3e5e8; --quiet: #9fa6ad; --line: #3a3f45; } }
@media print { .explanation { --text: #000; --quiet: #000; } }
"""
