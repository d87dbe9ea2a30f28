"""The leaderboard: every system with every mean, its interval and its letters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cranfield.base import pluralize
from cranfield.evaluation import JUDGED_DEPTH
from cranfield.reporting.page.context import ReportContext
from cranfield.reporting.page.html import Content, Html, Name, escape, join_html, table, tag
from cranfield.reporting.page.summary import count_relevant
from cranfield.reporting.plots.plot_data import format_label
from cranfield.tables import MISSING, format_number, format_percent, format_probability

PLACES = 4
LETTERS = 4  # beside a mean; where some system has more, letters have a column of their own


def leaderboard_section(context: ReportContext) -> Html:
    """Every system with every mean, the best system first."""
    scores = context.scores
    letters = {i: _letters(context, scores.labels[i]) for i in context.rows}
    widest = max((len(own) for found in letters.values() for own in found.values()), default=0)
    apart = widest > LETTERS
    columns = [_mean_cells(context, i, {} if apart else letters[i]) for i in context.rows]
    header: list[Content] = ["System", *(format_label(scores.labels[i]) for i in context.rows)]
    header += [f"Letters by {context.main.label}"] if apart else []
    has_judged = f"Judged@{JUDGED_DEPTH}" in scores.labels
    header += ["Relevant found"] if has_judged else [f"Judged@{JUDGED_DEPTH}", "Relevant found"]
    rows: list[list[Content]] = []
    for system in context.ranked:
        name = scores.runs[system].name
        cells: list[Content] = [column[system] for column in columns]
        cells += [_spelled(letters[context.main.place or 0].get(name, ""))] if apart else []
        cells += [] if has_judged else [format_percent(1 - scores.unjudged(JUDGED_DEPTH, name))]
        found, relevant = count_relevant(context, system)
        rows.append([system_name(context, system), *cells, f"{found:,} of {relevant:,}"])
    texts = (len(context.rows) + 1,) if apart else ()
    room = f"--letters: {0 if apart else widest}"
    return table(_caption(context), header, rows, sortable=True, texts=texts, id="leaderboard-table", style=room)


def _caption(context: ReportContext) -> str:
    topics = pluralize(len(context.topics), "topic")
    what = f"{_kind_of_mean(context)} over {topics}, best first by {context.main.label}"
    said = f"{what}; the best of each column is bold, 95 % intervals are below."
    comparison = context.comparison
    if isinstance(comparison, str) or not any(column.letters for column in comparison.columns):
        return said
    alpha = format_probability(comparison.design.alpha)
    return f"{said} Systems that share a letter do not differ significantly ({comparison.design.method}, α = {alpha})."


def _kind_of_mean(context: ReportContext) -> str:
    kind = {"arithmetic": "Means", "geometric": "Geometric means", "median": "Medians"}[context.scores.how]
    return kind if context.scores.weights is None else f"Weighted {kind.lower()}"


def _mean_cells(context: ReportContext, i: int, letters: dict[str, str]) -> list[Html]:
    """The mean of each system by one measure, with interval and letters."""
    scores, measure = context.scores, context.scores.measures[i]
    label = scores.labels[i]
    means = [float(scores.mean(label, run.name)) for run in scores.runs]
    texts = [format_mean(mean, measure.aggregate == "sum") for mean in means]
    best = _best(texts, means, measure.more_is_better) if measure.is_quality and len(means) > 1 else set()
    cells = []
    for run, mean, text in zip(scores.runs, means, texts, strict=True):
        found = scores.interval(label, run.name) if measure.is_quality else None
        small = tag("small", f"[{format_number(found.low)}, {format_number(found.high)}]") if found else None
        letter = tag("sup", letters.get(run.name, "")) if letters else None
        value = "" if math.isnan(mean) else repr(mean)
        shown_mean = tag("b", text) if text in best else escape(text)
        cells.append(tag("span", shown_mean, letter, small, class_="mean", data_value=value))
    return cells


def format_mean(mean: float, is_count: bool = False) -> str:
    """A mean, or the sum of a count; a dash where there is none."""
    if math.isnan(mean):
        return MISSING
    return f"{mean:,.0f}" if is_count else format_number(mean, PLACES)


def _best(texts: Sequence[str], means: Sequence[float], more_is_better: bool) -> set[str]:
    """The best figure as it is shown, so that what looks equal is bold alike."""
    known = [(mean, text) for mean, text in zip(means, texts, strict=True) if not math.isnan(mean)]
    return {(max if more_is_better else min)(known)[1]} if known else set()


def _letters(context: ReportContext, label: str) -> dict[str, str]:
    comparison = context.comparison
    if isinstance(comparison, str) or label not in comparison.measures:
        return {}
    return {system.name: system.letters for system in comparison.column(label).systems if system.letters}


def _spelled(letters: str) -> Html:
    return tag("span", letters, class_="spelled")


def system_name(context: ReportContext, system: int) -> Name:
    """A name with the colour that the system has in pictures."""
    name = context.systems[system]
    return Name.of(name, join_html([system_dot(context, system), name]))


def system_dot(context: ReportContext, system: int) -> Html:
    """The colour of a system."""
    colour = context.palette[context.systems[system]].colour
    return tag("i", class_="dot", style=f"--dot: {colour}", data_colour=colour, aria_hidden="true")
