"""Unjudged documents: how many there are down the ranking, and how far they could move the main measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Run
from cranfield.evaluation import TIE_SAMPLES, Completions, RunScores, Sampling, average, possible_grades
from cranfield.joining import join_run
from cranfield.reporting.page.context import FEW, Material
from cranfield.reporting.page.html import Content, Html, joined, paragraphs, table
from cranfield.reporting.page.leaderboard import PLACES, figure, swatch
from cranfield.reporting.page.summary import percent
from cranfield.reporting.plots.plot_data import number
from cranfield.tables import MISSING

DEPTHS = (5, 10, 20, 50, 100)
BOUNDED = 10_000  # values whose bounds are looked for: more would take minutes


class Range(Record):
    """How low and how high unjudged documents could make a mean; if outer, it may not reach that far."""

    low: float
    high: float
    is_outer: bool


def can_be_bounded(material: Material) -> bool:
    """Whether bounds are defined, and found in a reasonable time."""
    values = len(material.systems) * len(material.topics)
    plain = material.scores.how == "arithmetic" and material.scores.weights is None
    is_mean = material.main.measure.aggregate == "mean"
    return plain and is_mean and values <= BOUNDED and material.retrieved <= FEW


def bounds_of(material: Material, scored: RunScores, run: Run) -> Range:
    """The bounds of a run's mean of the main measure."""
    judged = scored.judged
    qrels, extras = judged.sources.qrels, judged.sources.extras
    dense = join_run(qrels, run, judged.joining, extras, dense=True)
    completions = Completions(dense, possible_grades(qrels), Sampling(TIE_SAMPLES, material.seed))
    assert material.main.place is not None
    row = scored.values[material.main.place]
    found = completions.bounds(material.main.measure, row[~np.isnan(row)])
    return Range(average(found.low.tolist()), average(found.high.tolist()), bool(found.outer.any()))


def unjudged(material: Material, bounds: Sequence[Range | None]) -> Html:
    """The share of judged documents among the first k, and the bounds of the mean."""
    deepest = max((int(run.judged.retrieved.max(initial=0)) for run in material.scores.runs), default=0)
    depths = [k for k in DEPTHS if k <= max(deepest, DEPTHS[0])]
    has_bounds = any(found is not None for found in bounds)
    header = ["System", *(f"Judged@{k}" for k in depths)]
    header += [material.main.label, "at worst", "at best"] if has_bounds else []
    rows: list[list[Content]] = []
    for i in material.ranked:
        run = material.scores.runs[i].name
        shares = [percent(1 - material.scores.unjudged(k, run)) for k in depths]
        ends = [figure(float(material.means[i])), *_ends(material, bounds[i])] if has_bounds else []
        rows.append([swatch(material, i), *shares, *ends])
    caption = "Documents with a judgment among the first k"
    return joined([paragraphs([_said(material, bounds)]), table(caption, header, rows, sortable=True)], "\n")


def _ends(material: Material, found: Range | None) -> list[str]:
    """The worst and the best that a mean could be."""
    if found is None:
        return [MISSING, MISSING]
    mark = "*" if found.is_outer else ""
    ends = (found.low, found.high)[:: material.main.sign]
    return [f"{number(end, PLACES)}{mark}" for end in ends]


def _said(material: Material, bounds: Sequence[Range | None]) -> str:
    """What could happen if everything were judged."""
    label = material.main.label
    if not can_be_bounded(material):
        return (
            f"How far unjudged documents could move {label} was not worked out here: there are too many of them, or it "
            "is no plain mean. cranfield eval --bounds does that where it can be done."
        )
    grades = ", ".join(f"{grade:g}" for grade in possible_grades(material.judged(0).sources.qrels))
    said = (
        f"A retrieved document without a judgment could have any grade ({grades}), wherever it is ranked; the last two "
        f"columns are what the mean {label} would be at worst and at best."
    )
    if any(found and found.is_outer for found in bounds):
        said += " With an asterisk: it lies within these ends, but may not reach them."
    return said + _order_said(material, bounds)


def _order_said(material: Material, bounds: Sequence[Range | None]) -> str:
    """Whether the first system would stay the first."""
    best, others = material.ranked[0], material.ranked[1:]
    if not others or not material.main.measure.is_quality:
        return ""
    near = [material.systems[i] for i in others if _could_pass(bounds[best], bounds[i], material.main.sign)]
    name = material.systems[best]
    if not near:
        return f" Whatever the grades are, {name} stays first."
    who = near[0] if len(near) == 1 else f"any of {pluralize(len(near), 'system')}"
    return f" Judging everything could put {who} in front of {name}."


def _could_pass(best: Range | None, other: Range | None, sign: int) -> bool:
    if best is None or other is None:
        return True
    return other.high > best.low if sign > 0 else other.low < best.high
