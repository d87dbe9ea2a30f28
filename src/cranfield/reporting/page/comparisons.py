"""Comparisons: what may be claimed, what speaks against it, and the differences behind it."""

from __future__ import annotations

from collections.abc import Iterator

from cranfield.base import pluralize
from cranfield.reporting.page.context import ReportContext
from cranfield.reporting.page.html import Content, Html, Name, bullets, join_html, paragraphs, table, tag
from cranfield.reporting.page.leaderboard import PLACES
from cranfield.reporting.plots.plot_data import format_label
from cranfield.stats import Comparison, MeasureComparison
from cranfield.tables import MISSING, format_number, format_p, format_signed

PAIRS = 100  # rows of comparisons of one measure; more are only counted
FOLDED = 20  # rows from which a table is folded
CLAIMS = 12  # of one measure that are listed; the others are folded


def comparison_section(context: ReportContext) -> Html:
    """The main measure first, then what users would notice and what to beware of; the other measures are folded."""
    found = context.comparison
    if isinstance(found, str):
        return paragraphs([found])
    main = found.column(context.main_label) if context.main_label in found.measures else found.columns[0]
    beyond = [claim.text for claim in found.claims if claim.measure not in found.measures]
    parts: list[Content] = [_claims(found, main), bullets(beyond)]
    if found.warnings:
        parts += [tag("h3", "Warnings"), bullets(found.warnings)]
    parts += [tag("h3", f"Differences in {main.title}"), _main_table(found, main)]
    others = [column for column in found.columns if column is not main]
    if others:
        parts += [tag("h3", "Other measures"), *(_folded(found, column) for column in others)]
    parts.append(paragraphs([found.caption], class_="quiet"))
    return join_html(parts, "\n")


def _main_table(comparison: Comparison, column: MeasureComparison) -> Html:
    n = len(column.reported_pairs(comparison.references))
    made = _pair_table(comparison, column)
    return tag("details", tag("summary", pluralize(n, "pair")), made) if n > FOLDED else made


def _claims(comparison: Comparison, column: MeasureComparison) -> Html:
    texts = [claim.text for claim in comparison.claims if claim.measure == column.label]
    listed = bullets(texts[:CLAIMS])
    if len(texts) <= CLAIMS:
        return listed
    more = tag("details", tag("summary", pluralize(len(texts) - CLAIMS, "further claim")), bullets(texts[CLAIMS:]))
    return join_html([listed, more], "\n")


def _folded(comparison: Comparison, column: MeasureComparison) -> Html:
    differing = sum(pair.is_significant for pair in column.pairs)
    line = f"{column.title}: {differing:,} of {pluralize(len(column.tested), 'pair')} differ"
    return tag("details", tag("summary", line), _claims(comparison, column), _pair_table(comparison, column))


def _pair_table(comparison: Comparison, column: MeasureComparison) -> Html:
    """The pairs that are told in full, with interval, p, effect size and topics won."""
    pairs = column.reported_pairs(comparison.references)
    if not pairs:
        return Html("")
    header = ["Systems", "The first is", "Difference", "p", "d_z", "Won / tied / lost"]
    rows = [list(_pair_row(column, *names)) for names in pairs[:PAIRS]]
    return table(_caption(comparison, len(pairs)), header, rows, sortable=True, texts=(1,))


def _pair_row(column: MeasureComparison, system: str, reference: str) -> Iterator[Content]:
    pair = column.pair(system, reference)
    yield Name.of(format_label(system), f"{system} − {reference}")
    yield tag("span", pair.verdict, class_=f"verdict {pair.verdict}")
    yield tag("span", format_signed(pair.difference, PLACES), _between(pair.low, pair.high), class_="mean")
    yield format_p(pair.p_adjusted)
    yield MISSING if pair.effect.d_z is None else format_number(pair.effect.d_z, 2)
    yield f"{pair.effect.wins} / {pair.effect.ties} / {pair.effect.losses}"


def _between(low: float | None, high: float | None) -> Html | None:
    return None if low is None or high is None else tag("small", f"[{format_signed(low)}, {format_signed(high)}]")


def _caption(comparison: Comparison, pairs: int) -> str:
    if comparison.references:
        what = f"Differences from {', '.join(comparison.references)}"
    else:
        what = "The best system against every other; the letters in the leaderboard tell all pairs"
    return f"{what}." if pairs <= PAIRS else f"{what}. The first {PAIRS} of {pairs}; cranfield compare gives all."
