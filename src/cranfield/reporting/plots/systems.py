"""Pictures of systems as a whole: means with intervals, measures that rank alike, critical differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.base import DEFAULT_MEASURES, join_names, pluralize
from cranfield.data import Floats
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation import Scores
from cranfield.measures import Measure
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.plot_data import (
    MeasureColumn,
    choose_measures,
    compute_means,
    join_systems,
    label_systems,
    measure_column,
    query_column,
    rank_by_mean,
    round_number,
)
from cranfield.reporting.plots.theme import DIVERGING, INK, ON_DARK, ON_LIGHT, QUIET, RAMP, Palette, assign_colours
from cranfield.reporting.plots.vega_parts import (
    Channel,
    Row,
    inline_data,
    name_tooltip,
    nominal,
    quantitative,
    value_tooltip,
)
from cranfield.tables import format_number

if TYPE_CHECKING:
    from cranfield.stats import CriticalDifference, MeasureCorrelation


# Means


def means(
    scores: Scores,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    level: float = 0.95,
    palette: Palette | None = None,
) -> Plot:
    """The mean of each system with its confidence interval, from the best down; a panel for each measure."""
    if not 0 < level < 1:
        raise CranfieldError(f"level {level:g} is out of range: expected a share between 0 and 1, e.g. 0.95.")
    systems = label_systems(scores)
    palette = palette or assign_colours(systems)
    cols = [measure_column(scores, one) for one in choose_measures(measures, scores.labels[:1])]
    first = compute_means(scores, cols[0])
    order = rank_by_mean(cols[0], first)
    ranked = [systems[i] for i in order]
    tables = [_mean_rows(scores, col, systems, level, is_short=len(cols) > 1) for col in cols]
    width = 340 if len(cols) == 1 else 180
    panels = [
        _mean_panel(col, table, ranked, level, palette, width, is_first=i % 3 == 0)
        for i, (col, table) in enumerate(zip(cols, tables, strict=True))
    ]
    view = panels[0] if len(panels) == 1 else {"concat": panels, "columns": 3, "spacing": 20}
    title = _mean_finding(cols[0], first, systems, order)
    n = pluralize(len(scores.queries), "topic")
    subtitle = f"Means over {n}"
    if any(row["lo"] is not None for table in tables for row in table):
        subtitle += f" with {level:.0%} intervals. On the same topics systems may differ though their intervals overlap"
    told_means = ", ".join(f"{systems[i]} {_figure(first[i])}" for i in order[:6])
    what = ", ".join(col.label for col in cols)
    alt = f"Means of {what} for {pluralize(len(systems), 'system')} over {n}. {title}. {cols[0].label}: {told_means}."
    return Plot.of(view, title, subtitle + ".", alt, 620)


def _figure(mean: float) -> str:
    if math.isnan(mean):
        return "–"
    return f"{mean:,.0f}" if mean > 1 and float(mean).is_integer() else format_number(float(mean), 4)


def _mean_finding(col: MeasureColumn, found: Floats, systems: Sequence[str], order: Sequence[int]) -> str:
    top = found[order[0]]
    if math.isnan(top):
        return f"No system has a {col.of_all}: no query was evaluated"
    best = [systems[i] for i in order if abs(found[i] - top) < 1e-12]
    if len(systems) == 1:
        return f"{best[0]} has a {col.of_all} of {_figure(top)}"
    what = f"the {'highest' if col.sign > 0 else 'lowest'} {col.of_all}, {_figure(top)}"
    return f"{best[0]} has {what}" if len(best) == 1 else f"{join_systems(best)} have {what}"


def _mean_rows(scores: Scores, col: MeasureColumn, systems: Sequence[str], level: float, is_short: bool) -> list[Row]:
    """Mean and interval of each system, as numbers and in words."""
    data = []
    for system, run, mean in zip(systems, scores.runs, compute_means(scores, col), strict=True):
        found = None if col.place is None else scores.interval(scores.labels[col.place], run.name, level)
        within = "" if found is None or is_short else f" [{format_number(found.low)}, {format_number(found.high)}]"
        low, high = (None, None) if found is None else (round_number(found.low), round_number(found.high))
        data.append({"s": system, "v": round_number(mean), "lo": low, "hi": high, "t": _figure(mean) + within})
    return data


def _mean_panel(
    col: MeasureColumn,
    data: Sequence[Row],
    ranked: Sequence[str],
    level: float,
    palette: Palette,
    width: int,
    is_first: bool,
) -> Row:
    title = col.of_all[:1].upper() + col.of_all[1:]
    x = quantitative("v", title, scale=col.scale)
    axis = {"ticks": False, "domain": False} if is_first else None
    y = nominal("s", axis=axis, scale={"domain": list(ranked)})
    marked = palette.channels(ranked, lines=False, legend=None)
    ends = (
        [value_tooltip("lo", f"{level:.0%} interval from"), value_tooltip("hi", "to")]
        if data[0]["lo"] is not None
        else []
    )
    tooltip = [name_tooltip("s", "System"), value_tooltip("v", title), *ends]
    bar = {"x": {**x, "field": "lo"}, "x2": {"field": "hi"}, "y": y, "color": marked["color"], "tooltip": tooltip}
    figure = {"type": "text", "align": "left", "dx": 6, "color": QUIET, "fontSize": 11}
    layers: list[Row] = [
        {
            "transform": [{"filter": "isValid(datum.lo)"}],
            # an interval may reach beyond what a measure can be
            "mark": {"type": "rule", "strokeWidth": 2, "clip": True},
            "encoding": bar,
        },
        {
            "transform": [{"filter": "isValid(datum.v)"}],
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"x": x, "y": y, **marked, "tooltip": tooltip},
        },
        {"mark": figure, "encoding": {"x": {"value": width}, "y": y, "text": nominal("t")}},
    ]
    step = 22 if len(ranked) <= 30 else 15
    return {"data": inline_data(data), "width": width, "height": {"step": step}, "layer": layers}


# Measures that rank alike


def correlation(
    scores: Scores,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    palette: Palette | None = None,
) -> Plot:
    """How alike measures rank the systems: Kendall's tau of their means, for each pair of measures."""
    from cranfield.stats import measure_correlation

    asked = choose_measures(measures, _to_rank_by(scores))
    cols = {col.label: col for col in (measure_column(scores, one) for one in asked)}
    if len(cols) < 2:
        raise EvaluationError("two measures or more are needed to be correlated: name them with -m.")
    if len(scores.runs) < 2:
        raise EvaluationError("two runs or more are needed: measures are correlated over systems.")
    ranked_by = {label: col.sign * compute_means(scores, col) for label, col in cols.items()}
    empty = [label for label, found in ranked_by.items() if np.isnan(found).any()]
    if empty:
        raise EvaluationError(f"{join_names(empty)}: some run has no mean, since no query of it was evaluated.")
    found = measure_correlation(ranked_by)
    data = _pairs_of(found)
    title = _correlation_finding(data, len(cols))
    many = pluralize(found.systems, "system")
    subtitle = f"Kendall's τ between the rankings of {many} by mean."
    subtitle += f" {found.note[:1].upper()}{found.note[1:]}" if found.note else ""
    subtitle += " So few systems say little." if found.systems < 5 else ""
    pairs = "; ".join(f"{row['a']} and {row['b']} {format_number(row['v'], 2)}" for row in data[:10])
    alt = f"Rank correlation of {len(cols)} measures over {many}. {title}. {pairs}."
    return Plot.of(_matrix(list(cols), data), title, subtitle, alt)


def _to_rank_by(scores: Scores) -> list[str]:
    """The measures of the scores that tell good systems from bad ones, or the usual ones if they are too few."""
    own = [
        label
        for i, (label, one) in enumerate(zip(scores.labels, scores.measures, strict=True))
        if one.is_quality and one.aggregate != "run" and not scores.part(i)
    ]
    return own if len(own) > 1 else list(DEFAULT_MEASURES[:-1])


def _pairs_of(found: MeasureCorrelation) -> list[Row]:
    labels = found.measures
    return [
        {
            "a": labels[j],
            "b": labels[i],
            "v": round_number(float(found.tau[i, j])),
            "p": round_number(float(found.tau_ap[i, j])),
        }
        for i in range(len(labels))
        for j in range(i)
    ]


def _correlation_finding(data: Sequence[Row], n: int) -> str:
    most, least = max(data, key=lambda row: row["v"]), min(data, key=lambda row: row["v"])
    pair = f"{most['a']} and {most['b']}"
    if most["v"] == least["v"]:
        which = pair if len(data) == 1 else f"All {n} measures"
        return f"{which} agree on the order of systems with τ = {format_number(most['v'], 2)}"
    return (
        f"{pair} rank the systems most alike (τ = {format_number(most['v'], 2)}), "
        f"{least['a']} and {least['b']} least ({format_number(least['v'], 2)})"
    )


def _matrix(labels: Sequence[str], data: Sequence[Row]) -> Row:
    """A square for each pair of measures: blue if they agree, orange if they disagree."""
    step = 54 if len(labels) <= 8 else 34
    bare = {"ticks": False, "domain": False}
    x = nominal("a", sort=None, scale={"domain": labels[:-1]}, axis=bare | {"orient": "bottom", "labelAngle": -45})
    y = nominal("b", sort=None, scale={"domain": labels[1:]}, axis=bare)
    scale = {"domain": [-1, 0, 1], "range": list(DIVERGING), "interpolate": "rgb"}
    legend = {"gradientLength": 120, "values": [-1, -0.5, 0, 0.5, 1], "format": ".1f"}
    tooltip = [
        name_tooltip("a", "Measure"),
        name_tooltip("b", "and"),
        value_tooltip("v", "Kendall's τ"),
        value_tooltip("p", "τ_AP, which minds the top"),
    ]
    on_dark = {"condition": {"test": "abs(datum.v) > 0.55", "value": ON_DARK}, "value": ON_LIGHT}
    shade = quantitative("v", "Kendall's τ", scale=scale, legend=legend)
    square = {"type": "rect", "stroke": ON_DARK, "strokeWidth": 2}
    figure = {"x": x, "y": y, "text": value_tooltip("v", "", ".2f"), "color": on_dark, "tooltip": tooltip}
    layers = [
        {"name": RAMP, "mark": square, "encoding": {"x": x, "y": y, "color": shade, "tooltip": tooltip}},
        {"name": f"{RAMP}_figures", "mark": "text", "encoding": figure},
    ]
    return {"data": inline_data(data), "width": {"step": step}, "height": {"step": step * 0.7}, "layer": layers}


# Critical differences


def critical_difference(
    scores: Scores, measure: str | Measure | None = None, alpha: float = 0.05, palette: Palette | None = None
) -> Plot:
    """The average rank of each system, with bars that join those that cannot be told apart (Demšar, JMLR 7, 2006)."""
    from cranfield.stats import nemenyi

    if not 0 < alpha < 1:
        raise CranfieldError(f"alpha {alpha:g} is out of range: expected a share between 0 and 1, e.g. 0.05.")
    col, systems = query_column(scores, measure), label_systems(scores)
    if len(systems) < 2:
        raise EvaluationError("two runs or more are needed to be ranked.")
    common = ~np.isnan(col.values).any(axis=0)
    if not common.any():
        raise EvaluationError("no query was evaluated for all runs: there are no ranks to average.")
    found = nemenyi(col.sign * col.values[:, common].T, alpha)
    view = _Diagram(found, systems, palette or assign_colours(systems)).view
    title = _rank_finding(found, systems)
    apart = f"they are less than {format_number(found.difference, 2)} ranks apart"
    subtitle = (
        f"Ranks by {col.label} on {pluralize(found.n, 'topic')}; a bar joins systems that Nemenyi's test does not tell "
        f"apart at α = {alpha:g} ({apart}). Friedman's test: p {_p(found.friedman.p)}."
    )
    left_out = len(scores.queries) - found.n
    subtitle += f" {pluralize(left_out, 'topic')} that a run lacks left out." if left_out else ""
    ranks = ", ".join(f"{systems[i]} {format_number(float(found.ranks[i]), 2)}" for i in found.order[:8])
    what = f"Critical-difference diagram of {pluralize(len(systems), 'system')} by {col.label}"
    return Plot.of(view, title, subtitle, f"{what}. {title}. Average ranks: {ranks}.", 680)


def _rank_finding(found: CriticalDifference, systems: Sequence[str]) -> str:
    first = found.order[0]
    like_it = max((group for group in found.groups if first in group), key=len, default=(first,))
    finding = (
        f"{systems[first]} has the best average rank, {format_number(float(found.ranks[first]), 2)} of {len(systems)}"
    )
    if len(like_it) == len(systems):
        return f"{finding}; no two systems can be told apart"
    others = [systems[i] for i in like_it if i != first]
    if not others:
        return f"{finding}, and differs from all others"
    who = others[0] if len(others) == 1 else f"{len(others)} others"
    return f"{finding}; {who} cannot be told from it"


def _p(p: float) -> str:
    return "< .001" if p < 0.001 else f"= {p:.3f}".replace("0.", ".", 1)


class _Diagram:
    """Ranks along a line on top; names on both sides below, each joined to its rank; bars between."""

    width = 420
    top = 44  # where the line of ranks is, in pixels from above

    def __init__(self, found: CriticalDifference, systems: Sequence[str], palette: Palette) -> None:
        self.found, self.palette = found, palette
        self.systems = [systems[i] for i in found.order]
        self.ranks = [float(found.ranks[i]) for i in found.order]
        self.m = len(systems)
        self.bar = 8 if len(found.groups) <= 12 else 5
        self.line = 18 if self.m <= 30 else 14
        self.below = self.top + 12 + self.bar * len(found.groups)
        self.height = self.below + self.line * self.half + 8

    @property
    def half(self) -> int:
        """How many names are on the left, the better half."""
        return (self.m + 1) // 2

    @property
    def view(self) -> Row:
        layers = [*self._scale(), *self._side(is_left=True), *self._side(is_left=False), *self._bars(), *self._size()]
        return {"width": self.width, "height": self.height, "layer": layers}

    def _x(self, field: str) -> Channel:
        return quantitative(field, None, scale={"domain": [1, self.m], "nice": False}, axis=None)

    def _y(self, field: str) -> Channel:
        return quantitative(field, None, scale={"domain": [self.height, 0], "nice": False}, axis=None)

    def _across(self, data: Sequence[Row], **mark: Any) -> Row:
        """Horizontal lines from a to b."""
        encoding = {"x": self._x("a"), "x2": {"field": "b"}, "y": self._y("y")}
        return {"data": inline_data(data), "mark": {"type": "rule", "color": INK, **mark}, "encoding": encoding}

    def _scale(self) -> list[Row]:
        every = next((size for size in (1, 2, 5, 10, 20, 50, 100) if self.m / size <= 14), self.m)
        ticks = [{"r": r, "y": self.top, "e": self.top - 5} for r in range(1, self.m + 1) if r == 1 or r % every == 0]
        upward = {"x": self._x("r"), "y": self._y("y"), "y2": {"field": "e"}}
        figures = {"x": self._x("r"), "y": self._y("e"), "text": {"field": "r", "type": "quantitative"}}
        return [
            self._across([{"a": 1, "b": self.m, "y": self.top}]),
            {"data": inline_data(ticks), "mark": {"type": "rule", "color": INK}, "encoding": upward},
            {"data": inline_data(ticks), "mark": {"type": "text", "dy": -6}, "encoding": figures},
        ]

    def _side(self, is_left: bool) -> list[Row]:
        """The names of one side: the best of all on top of the left, the worst on top of the right."""
        places = range(self.half) if is_left else range(self.m - 1, self.half - 1, -1)
        data = [
            {
                "s": self.systems[i],
                "r": round_number(self.ranks[i]),
                "t": format_number(self.ranks[i], 2),
                "o": self.top,
                "y": self.below + self.line * (j + 0.5),
            }
            for j, i in enumerate(places)
        ]
        edge = {"value": 0 if is_left else self.width}
        away = -6 if is_left else 6
        tooltip = [name_tooltip("s", "System"), value_tooltip("r", "Average rank", ".3f")]
        label = {"type": "text", "align": "right" if is_left else "left", "dx": away, "limit": 200}
        figure = label | {
            "align": "left" if is_left else "right",
            "dx": -away / 3,
            "dy": -6,
            "fontSize": 10,
            "color": QUIET,
        }
        colour = self.palette.colour(self.systems) | {"legend": None}
        at_edge = {"x": edge, "y": self._y("y"), "tooltip": tooltip}
        stroke = {"type": "rule", "strokeWidth": 1.25}
        down = {"x": self._x("r"), "y": self._y("o"), "y2": {"field": "y"}, "color": colour}
        out = {"x": self._x("r"), "x2": edge, "y": self._y("y"), "color": colour}
        layers: list[Row] = [
            {"mark": stroke, "encoding": down},
            {"mark": stroke, "encoding": out},
            {"mark": label, "encoding": at_edge | {"text": nominal("s")}},
            {"mark": figure, "encoding": at_edge | {"text": nominal("t")}},
        ]
        return [{"data": inline_data(data), "layer": layers}]

    def _bars(self) -> list[Row]:
        """A bar for each group of systems that do not differ, a little longer than from the first to the last."""
        beyond = 0.004 * self.m
        ends = [[float(self.found.ranks[i]) for i in group] for group in self.found.groups]
        data = [
            {
                "a": round_number(min(end) - beyond),
                "b": round_number(max(end) + beyond),
                "y": self.top + 10 + self.bar * i,
            }
            for i, end in enumerate(ends)
        ]
        return [self._across(data, strokeWidth=self.bar / 2)] if data else []

    def _size(self) -> list[Row]:
        """How long the critical difference is."""
        end = round_number(min(1 + self.found.difference, self.m))
        label = {"type": "text", "align": "left", "dx": 6, "color": QUIET}
        data = [{"a": 1, "b": end, "y": 14, "t": f"critical difference {format_number(self.found.difference, 2)}"}]
        words = {"x": self._x("b"), "y": self._y("y"), "text": nominal("t")}
        return [self._across(data, strokeWidth=2), {"data": inline_data(data), "mark": label, "encoding": words}]
