"""Unjudged documents: how many there are down the ranking, and how far they could move the main measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Run
from cranfield.evaluation import TIE_SAMPLES, Completions, RunScores, Sampling, average, possible_grades
from cranfield.joining import join_run
from cranfield.reporting.page.context import FEW, ReportContext
from cranfield.reporting.page.html import Content, Html, join_html, paragraphs, table
from cranfield.reporting.page.leaderboard import PLACES, format_mean, system_name
from cranfield.tables import MISSING, format_number, format_percent

DEPTHS = (5, 10, 20, 50, 100)
BOUNDED = 10_000  # values whose bounds are looked for: more would take minutes


class MeanBounds(Record):
    """How low and how high unjudged documents could make a mean; if outer, it may not reach that far."""

    low: float
    high: float
    is_outer: bool


def can_be_bounded(context: ReportContext) -> bool:
    """Whether bounds are defined, and found in a reasonable time."""
    values = len(context.systems) * len(context.topics)
    plain = context.scores.how == "arithmetic" and context.scores.weights is None
    is_mean = context.main.measure.aggregate == "mean"
    return plain and is_mean and values <= BOUNDED and context.retrieved <= FEW


def compute_bounds(context: ReportContext, scored: RunScores, run: Run) -> MeanBounds:
    """The bounds of a run's mean of the main measure."""
    judged = scored.judged
    qrels, extras = judged.sources.qrels, judged.sources.extras
    dense = join_run(qrels, run, judged.joining, extras, dense=True)
    completions = Completions(dense, possible_grades(qrels), Sampling(TIE_SAMPLES, context.seed))
    assert context.main.place is not None
    row = scored.values[context.main.place]
    found = completions.bounds(context.main.measure, row[~np.isnan(row)])
    return MeanBounds(average(found.low.tolist()), average(found.high.tolist()), bool(found.outer.any()))


def unjudged_section(context: ReportContext, bounds: Sequence[MeanBounds | None]) -> Html:
    """The share of judged documents among the first k, and the bounds of the mean."""
    deepest = max((int(run.judged.retrieved.max(initial=0)) for run in context.scores.runs), default=0)
    depths = [k for k in DEPTHS if k <= max(deepest, DEPTHS[0])]
    has_bounds = any(found is not None for found in bounds)
    header = ["System", *(f"Judged@{k}" for k in depths)]
    header += [context.main.label, "at worst", "at best"] if has_bounds else []
    rows: list[list[Content]] = []
    for i in context.ranked:
        run = context.scores.runs[i].name
        shares = [format_percent(1 - context.scores.unjudged(k, run)) for k in depths]
        ends = [format_mean(float(context.means[i])), *_ends(context, bounds[i])] if has_bounds else []
        rows.append([system_name(context, i), *shares, *ends])
    caption = "Documents with a judgment among the first k"
    return join_html([paragraphs([_said(context, bounds)]), table(caption, header, rows, sortable=True)], "\n")


def _ends(context: ReportContext, found: MeanBounds | None) -> list[str]:
    """The worst and the best that a mean could be."""
    if found is None:
        return [MISSING, MISSING]
    mark = "*" if found.is_outer else ""
    ends = (found.low, found.high)[:: context.main.sign]
    return [f"{format_number(end, PLACES)}{mark}" for end in ends]


def _said(context: ReportContext, bounds: Sequence[MeanBounds | None]) -> str:
    """What could happen if everything were judged."""
    label = context.main.label
    if not can_be_bounded(context):
        return (
            f"How far unjudged documents could move {label} was not worked out here: there are too many of them, or it "
            "is no plain mean. cranfield eval --bounds does that where it can be done."
        )
    grades = ", ".join(f"{grade:g}" for grade in possible_grades(context.judged(0).sources.qrels))
    said = (
        f"A retrieved document without a judgment could have any grade ({grades}), wherever it is ranked; the last two "
        f"columns are what the mean {label} would be at worst and at best."
    )
    if any(found and found.is_outer for found in bounds):
        said += " With an asterisk: it lies within these ends, but may not reach them."
    return said + _order_said(context, bounds)


def _order_said(context: ReportContext, bounds: Sequence[MeanBounds | None]) -> str:
    """Whether the first system would stay the first."""
    best, others = context.ranked[0], context.ranked[1:]
    if not others or not context.main.measure.is_quality:
        return ""
    near = [context.systems[i] for i in others if _could_pass(bounds[best], bounds[i], context.main.sign)]
    name = context.systems[best]
    if not near:
        return f" Whatever the grades are, {name} stays first."
    who = near[0] if len(near) == 1 else f"any of {pluralize(len(near), 'system')}"
    return f" Judging everything could put {who} in front of {name}."


def _could_pass(best: MeanBounds | None, other: MeanBounds | None, sign: int) -> bool:
    if best is None or other is None:
        return True
    return other.high > best.low if sign > 0 else other.low < best.high
