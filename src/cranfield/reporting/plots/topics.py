"""Pictures of all topics: by system as a heat map, and how their values spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.base import pluralize
from cranfield.data import Floats
from cranfield.errors import EvaluationError
from cranfield.evaluation import Scores
from cranfield.measures import Measure
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.plot_data import (
    LABELLED,
    MARKS,
    MeasureColumn,
    compute_mean,
    compute_means,
    find_leaders,
    join_systems,
    label_group,
    label_systems,
    label_topics,
    query_column,
    rank_by_mean,
    round_number,
    round_numbers,
    split_into_groups,
)
from cranfield.reporting.plots.theme import GRADES, GROUND, INK, QUIET, RAMP, WIDTH, Palette, assign_colours
from cranfield.reporting.plots.vega_parts import (
    Channel,
    Row,
    faint_mark,
    flatten,
    inline_data,
    name_array,
    name_tooltip,
    nominal,
    number_array,
    quantitative,
    value_tooltip,
)
from cranfield.tables import format_number

COLUMNS = 200  # of a heat map; of more topics, neighbours are put together
STRIP = 500  # topics with a dot each beside a box


# Topics by systems


def heatmap(scores: Scores, measure: str | Measure | None = None, palette: Palette | None = None) -> Plot:
    """Every topic of every system by shade: systems from the best down, topics from the easiest to the hardest."""
    col = query_column(scores, measure)
    systems, queries = label_systems(scores), label_topics(scores)
    difficulty = _means_over_systems(col.values)
    if np.isnan(difficulty).all():
        raise EvaluationError("no query was evaluated: there is nothing to draw.")
    order = rank_by_mean(col, compute_means(scores, col))
    easiest_first = rank_by_mean(col, difficulty)
    groups = split_into_groups(len(queries), min(COLUMNS, max(20, 3 * MARKS // len(systems))))
    labels = [label_group([queries[j] for j in easiest_first[group]]) for group in groups]
    data = [
        {"s": systems[i], "v": round_numbers(_mean(col.values[i][easiest_first[group]]) for group in groups)}
        for i in order
    ]
    view, width = _heat_view(col, data, labels)
    title = _heat_finding(col, queries, difficulty)
    many, n = pluralize(len(systems), "system"), pluralize(len(queries), "topic")
    parts = [f"{col.label}: {many} from the best down, {n} from the easiest to the hardest"]
    parts += [f"up to {groups[0].stop} topics together"] if len(groups) < len(queries) else []
    parts += ["– where a run lacks the topic"] if np.isnan(col.values).any() else []
    best, easiest = systems[order[0]], easiest_first[0]
    more = f"The easiest topic is {queries[easiest]} (mean {format_number(float(difficulty[easiest]))})"
    alt = f"Heat map of {col.label} of {many} on {n}. {title}. {more}; the best system is {best}."
    return Plot.of(view, title, "; ".join(parts) + ".", alt, max(WIDTH, width))


def _heat_view(col: MeasureColumn, data: Sequence[Row], labels: Sequence[str]) -> tuple[Row, int]:
    n, m = len(labels), len(data)
    step = 16 if m <= 30 else 11
    labelled = n <= LABELLED
    width = max(140, 14 * n) if labelled else 640
    bare = {"ticks": False, "domain": False}
    topic_axis = bare | {"labels": labelled, "labelAngle": -90, "labelLimit": 90, "labelFontSize": 11}
    place: Row = {
        "x": nominal("q", "Topics, easiest first", sort=None, axis=topic_axis),
        "y": nominal("s", sort=None, axis=bare | {"labelFontSize": 12 if step > 11 else 10}),
        "tooltip": [name_tooltip("q", "Topic"), name_tooltip("s", "System"), value_tooltip("v", col.label)],
    }
    legend = {"gradientLength": max(80, min(160, step * m)), "gradientThickness": 12}
    shade = quantitative("v", col.label, scale={"domain": col.reach, "range": list(GRADES)}, legend=legend)
    cells = {"name": RAMP, "mark": "rect", "encoding": place | {"color": shade}}
    layers: list[Row] = [{"transform": [{"filter": "isValid(datum.v)"}], **cells}]
    if any(v is None for row in data for v in row["v"]):
        blank = {"type": "text", "text": "–", "color": QUIET, "fontSize": 10}
        layers.append({"transform": [{"filter": "!isValid(datum.v)"}], "mark": blank, "encoding": place})
    transform = flatten("v", q=name_array(labels))
    return {
        "data": inline_data(data),
        "transform": transform,
        "width": width,
        "height": {"step": step},
        "layer": layers,
    }, width


def _heat_finding(col: MeasureColumn, queries: Sequence[str], difficulty: Floats) -> str:
    """Which topic is the hardest, and which one systems differ on most."""
    known = [j for j in range(len(queries)) if not math.isnan(difficulty[j])]
    hardest = min(known, key=lambda j: col.sign * difficulty[j])
    mean = f"mean {col.label} {format_number(float(difficulty[hardest]))}"
    ranges = {j: (float(np.nanmin(col.values[:, j])), float(np.nanmax(col.values[:, j]))) for j in known}
    divided = max(known, key=lambda j: ranges[j][1] - ranges[j][0])
    low, high = (format_number(end, 2) for end in ranges[divided])
    if len(queries) == 1:
        return f"Topic {queries[0]}: {mean}, {low} to {high}"
    alike = sum(abs(difficulty[j] - difficulty[hardest]) < 1e-12 for j in known)
    finding = f"Topic {queries[hardest]} is the hardest, {mean}"
    if alike > 1:
        finding = f"{pluralize(alike, 'topic')} are the hardest, such as {queries[hardest]}, {mean}"
    if len(col.values) == 1 or low == high:
        return finding
    return f"{finding}; topic {queries[divided]} divides systems most, {low} to {high}"


def _means_over_systems(values: Floats) -> Floats:
    """The mean of each query over the systems that have it, NaN where none does."""
    there = ~np.isnan(values)
    sums, counts = np.where(there, values, 0.0).sum(axis=0), there.sum(axis=0)
    means: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means


def _mean(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else math.nan


# How values spread


def boxes(scores: Scores, measure: str | Measure | None = None, palette: Palette | None = None) -> Plot:
    """How the values of topics spread: a box with median and quartiles for each system, and a dot for each topic."""
    col = query_column(scores, measure)
    systems, queries = label_systems(scores), label_topics(scores)
    found = {
        system: _summary(values[~np.isnan(values)], compute_mean(scores, values))
        for system, values in zip(systems, col.values, strict=True)
        if not np.isnan(values).all()
    }
    if not found:
        raise EvaluationError("no query was evaluated: there is nothing to draw.")
    ranked = sorted(found, key=lambda system: (-col.sign * found[system]["m"], -col.sign * found[system]["mean"]))
    has_dots = len(queries) <= STRIP and col.values.size <= MARKS
    dots = {s: round_numbers(col.values[systems.index(s)]) for s in ranked} if has_dots else {}
    view = _box_view(col, {s: found[s] for s in ranked}, dots, queries, palette or assign_colours(systems))
    title = _spread_finding(col, {system: found[system] for system in ranked}, len(queries))
    n = pluralize(len(queries), "topic")
    reach = "lines reach to the last value within 1.5 box lengths"
    subtitle = f"{n}. Box: quartiles and median; diamond: mean; {reach}{'; dots: topics' if has_dots else ''}."
    medians = ", ".join(f"{system} {format_number(found[system]['m'])}" for system in ranked[:6])
    alt = f"Spread of {col.label} over {n} for {pluralize(len(ranked), 'system')}. {title}. Medians: {medians}."
    return Plot.of(view, title, subtitle, alt, 600)


def _spread_finding(col: MeasureColumn, found: dict[str, dict[str, float]], n: int) -> str:
    best = find_leaders({system: col.sign * summary["m"] for system, summary in found.items()})
    first = found[best[0]]
    what = f"the {'highest' if col.sign > 0 else 'lowest'} median {col.label}, {format_number(first['m'])}"
    if len(best) > 1 or n < 4:
        return f"{join_systems(best)} {'has' if len(best) == 1 else 'have'} {what}"
    low, high = format_number(first["q1"], 2), format_number(first["q3"], 2)
    return f"{best[0]} has {what}; half of its topics lie between {low} and {high}"


def _summary(values: Floats, mean: float) -> dict[str, float]:
    """Median, quartiles, whiskers (Tukey, Exploratory Data Analysis, 1977), mean and extremes."""
    q1, median, q3 = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
    reach = 1.5 * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    # quartiles are interpolated: a line must not end inside its box
    ends = {"w1": min(q1, float(inside.min())), "w2": max(q3, float(inside.max()))}
    extremes = {"low": float(values.min()), "high": float(values.max())}
    return {"m": median, "q1": q1, "q3": q3, **ends, "mean": mean, **extremes}


def _box_view(
    col: MeasureColumn,
    found: dict[str, dict[str, float]],
    dots: dict[str, list[float | None]],
    queries: Sequence[str],
    palette: Palette,
) -> Row:
    ranked = list(found)
    step = 34 if len(ranked) <= 12 else 22 if len(ranked) <= 30 else 16
    axis = {"ticks": False, "domain": False}
    x = quantitative("v", col.label, scale=col.scale)
    y = nominal("s", axis=axis, scale={"domain": ranked, "paddingInner": 0.3})
    colour = palette.colour(ranked) | {"legend": None}
    layers = [_dots(dots, queries, (x, y), colour, step)] if dots else []
    data = inline_data(
        {"s": s, **{key: round_number(number) for key, number in row.items()}} for s, row in found.items()
    )
    box = {"data": data, "layer": _box_layers(x, y, colour, round(step * 0.42), 0.0 if dots else 0.15)}
    return {"width": 480, "height": {"step": step}, "layer": [*layers, box]}


def _box_layers(x: Channel, y: Channel, colour: Channel, thickness: int, fill: float) -> list[Row]:
    """Two lines, a box between them, the median across it and the mean in it."""
    titles = {
        "m": "Median",
        "q1": "Lower quartile",
        "q3": "Upper quartile",
        "mean": "Mean",
        "low": "Lowest",
        "high": "Highest",
    }
    tooltip = [name_tooltip("s", "System"), *(value_tooltip(field, title) for field, title in titles.items())]

    def layer(mark: dict[str, Any], start: str, end: str | None = None, **more: Any) -> Row:
        span = {"x": {**x, "field": start}, "y": y} | ({"x2": {"field": end}} if end else {})
        return {"mark": mark, "encoding": span | more}

    whisker = {"type": "rule", "strokeWidth": 1.5}
    box = {"type": "bar", "height": thickness, "fillOpacity": fill, "strokeWidth": 1.5}
    across = {"type": "tick", "thickness": 3, "size": thickness, "opacity": 1}
    diamond = {"type": "point", "shape": "diamond", "size": 50, "filled": True, "opacity": 1, "color": INK}
    return [
        layer(whisker, "w1", "q1", color=colour),
        layer(whisker, "q3", "w2", color=colour),
        layer(box, "q1", "q3", color=colour, stroke=colour, tooltip=tooltip),
        layer(across, "m", color=colour, tooltip=tooltip),
        layer(diamond | {"stroke": GROUND, "strokeWidth": 1}, "mean", tooltip=tooltip),
    ]


def _dots(
    dots: dict[str, list[float | None]],
    queries: Sequence[str],
    axes: tuple[Channel, Channel],
    colour: Channel,
    step: int,
) -> Row:
    """A dot for each topic, moved up or down a little so that equal values show."""
    x, y = axes
    # multiples of the golden ratio spread evenly without any luck
    places = [(j * 0.6180339887498949) % 1 for j in range(len(queries))]
    transform = flatten("v", q=name_array(queries), j=number_array(places))
    few = len(queries) <= 100
    encoding = {
        "x": x,
        "y": y,
        "yOffset": quantitative("j", None, scale={"domain": [-0.25, 1.25]}),
        "color": colour,
        "tooltip": [name_tooltip("q", "Topic"), name_tooltip("s", "System"), value_tooltip("v", x["title"])],
    }
    return {
        "data": inline_data({"s": system, "v": values} for system, values in dots.items()),
        "transform": [*transform, {"filter": "isValid(datum.v)"}],
        "mark": faint_mark("circle", 0.35 if few else 0.2, size=22 if step > 16 and few else 10),
        "encoding": encoding,
    }
