"""Ties: how many documents share their score, and how much their order matters."""

from __future__ import annotations

import math

import numpy as np

from cranfield.base import replace
from cranfield.evaluation import average
from cranfield.joining import JudgedRun
from cranfield.reporting.page.context import ReportContext
from cranfield.reporting.page.html import Content, Html, join_html, paragraphs, table
from cranfield.reporting.page.leaderboard import format_mean, system_name
from cranfield.reporting.plots.plot_data import join_systems


def ties_section(context: ReportContext) -> Html:
    """The systems with ties, and their means for the best and the worst order of tied documents."""
    runs = context.scores.runs
    tied = [i for i in context.ranked if runs[i].judged.tied or runs[i].judged.float32_tied]
    if not tied:
        return paragraphs(["No document shares its score with another of the same query: no rule of ties matters."])
    label, rule = context.main.label, context.scores.conventions.get("ties", "trec")
    said = (
        f"Documents with equal scores were ordered by the rule “{rule}”. The "
        f"last two columns are the mean {label} if among them the lowest, or the highest, grades always came first."
    )
    free = [context.systems[i] for i in context.ranked if i not in tied]
    said += f" Without ties: {join_systems(free)}." if free else ""
    header = ["System", "Tied documents", "of", "Tied in float32 only", label, "lowest first", "highest first"]
    rows = [_row(context, i) for i in tied]
    return join_html([paragraphs([said]), table("Documents with equal scores", header, rows, sortable=True)], "\n")


def _row(context: ReportContext, i: int) -> list[Content]:
    judged = context.judged(i)
    counts = (judged.tied, int(judged.retrieved.sum()), judged.float32_tied)
    means = (float(context.means[i]), *(_mean_in_order(context, i, best) for best in (False, True)))
    return [system_name(context, i), *(f"{count:,}" for count in counts), *map(format_mean, means)]


def _mean_in_order(context: ReportContext, i: int, best: bool) -> float:
    """The mean if ties were broken by grade; none for a measure that looks beyond judged documents."""
    scores, measure = context.scores, context.main.measure
    plain = scores.how == "arithmetic" and scores.weights is None and measure.aggregate == "mean"
    if measure.reads_run or not plain:
        return math.nan
    judged = context.judged(i)
    values = np.where(judged.missing, 0.0, measure.values(order_ties(judged, best)))
    return average(values.tolist())


def order_ties(judged: JudgedRun, best: bool) -> JudgedRun:
    """The same hits with every group of equal scores ordered by grade; unjudged documents count as the worst."""
    order = np.lexsort((-judged.grade if best else judged.grade, judged.tie_first, judged.query))
    query, first, size = judged.query[order], judged.tie_first[order], judged.tie_size[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (query[1:] != query[:-1]) | (first[1:] != first[:-1])
    starts = np.flatnonzero(new)
    hits = np.diff(np.append(starts, len(order)))
    place = np.arange(len(order)) - np.repeat(starts, hits)
    ahead = 0 if best else size - np.repeat(hits, hits)
    return replace(
        judged,
        rank=(first + ahead + place).astype(np.int64),
        grade=judged.grade[order],
        doc=judged.doc[order],
        tie_first=first,
        tie_size=size,
    )
