"""Pictures of precision and recall: interpolated curves, and the plane of the two with lines of equal F."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Floats
from cranfield.errors import EvaluationError, MeasureError
from cranfield.evaluation import Scores
from cranfield.joining import JudgedRun
from cranfield.measures import InterpolatedAP, Measure, interpolated
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.plot_data import (
    MeasureColumn,
    align_to_queries,
    choose_measures,
    compute_from_hits,
    compute_mean,
    find_leaders,
    find_query,
    format_label,
    join_systems,
    label_systems,
    label_topics,
    query_column,
    require_room,
    round_number,
    round_numbers,
)
from cranfield.reporting.plots.theme import DIRECT, GROUND, LINE, QUIET, WIDTH, Palette, assign_colours
from cranfield.reporting.plots.vega_parts import (
    LEGEND,
    LETTERS,
    Channel,
    Row,
    choose_highlighted,
    faint_mark,
    flatten,
    has_direct_labels,
    highlight_note,
    inline_data,
    legend_or_none,
    legend_selection,
    line_layers,
    name_tooltip,
    nominal,
    number_array,
    picked_opacity,
    quantitative,
    space_out,
    value_tooltip,
)
from cranfield.tables import format_number

CURVES = 30_000  # points of topics' curves, each with twelve more for itself: an SVG of about a megabyte
PLACES = 4_000  # marks of topics in the plane; of more, neighbours are put together
OVERLAID = 3  # systems whose topics are drawn in one panel; more have a panel each
SIZE = (420, 340)
UNIT = {"domain": [0, 1], "nice": False}
RECALL = quantitative("r", "Recall", scale=UNIT)
PRECISION = quantitative("p", "Interpolated precision", scale=UNIT)
F_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


# Precision by recall


def precision_recall(
    scores: Scores, query: str | None = None, points: int = 11, palette: Palette | None = None
) -> Plot:
    """Interpolated precision by recall: the mean with every topic behind it, or one topic as a step function."""
    if scores.runs and scores.runs[0].judged.joining.ties == "expected":
        raise EvaluationError(
            "a precision–recall curve needs one order of tied documents: choose other ties than expected."
        )
    systems = label_systems(scores)
    palette = palette or assign_colours(systems)
    if query is not None:
        return _one_query(scores, query, systems, palette)
    require_room(points * len(systems), f"{points:,} recall points of {pluralize(len(systems), 'system')}")
    recall = InterpolatedAP(points=points).recall_points()
    curves = precision_curves(scores, recall)
    means = np.array([[compute_mean(scores, row) for row in curve] for curve in curves])
    drawn = _Curves(
        systems, means, [float(point) for point in recall], _behind(curves, systems, label_topics(scores)), palette
    )
    title = _precision_finding(drawn)
    n = pluralize(len(scores.queries), "topic")
    subtitle = (
        f"Mean interpolated precision at {points} recall points over {n}{_said_of(drawn)}{highlight_note(systems)}"
    )
    areas = ", ".join(f"{s} {format_number(drawn.area(s))}" for s in drawn.ranked[:6])
    alt = f"Precision–recall curves of {join_systems(systems)} over {n}. {title}. Mean over the points: {areas}."
    return Plot.of(_curves_view(drawn), title, subtitle, alt, WIDTH if len(systems) <= OVERLAID else 600)


def precision_curves(scores: Scores, points: Sequence[float | Fraction]) -> Floats:
    """Interpolated precision of every system, recall point and query; NaN where a query was skipped."""
    rel = float(scores.conventions.get("rel", 1))

    def curve(judged: JudgedRun) -> Floats:
        return interpolated(judged, judged.grade >= rel, rel, points)

    return np.array([align_to_queries(scores, run, compute_from_hits(run, curve)) for run in scores.runs])


class _Curves(Record, eq=False):
    """Mean curves, and what is behind them."""

    systems: list[str]
    means: Floats
    grid: list[float]
    behind: Row
    palette: Palette

    @property
    def ranked(self) -> list[str]:
        """The systems by the area below their curve."""
        return sorted(self.systems, key=lambda system: -self.area(system))

    def area(self, system: str) -> float:
        return float(np.nan_to_num(self.means[self.systems.index(system)]).mean())

    @property
    def rows(self) -> list[Row]:
        return [
            {"s": system, "p": round_numbers(curve)} for system, curve in zip(self.systems, self.means, strict=True)
        ]

    @property
    def unfolding(self) -> list[Row]:
        return flatten("p", r=number_array(self.grid))


def _curves_view(drawn: _Curves) -> Row:
    """All means in one panel, with their topics if systems are few; otherwise a small panel for each below."""
    tooltip = [name_tooltip("s", "System"), value_tooltip("r", "Recall", ".2f"), value_tooltip("p", "Mean precision")]
    axes = RECALL, PRECISION
    layers = line_layers(drawn.rows, drawn.unfolding, axes, drawn.ranked, drawn.palette, SIZE, tooltip)
    if len(drawn.systems) <= OVERLAID:
        return _panel([{"data": inline_data(_rows_behind(drawn)), **_behind_layer(drawn)}, *layers])
    # each panel with scales and legends of its own, or the legend of the first would stand beside the widest
    own = {channel: "independent" for channel in ("color", "strokeDash")}
    return {"vconcat": [_panel(layers), _multiples(drawn)], "spacing": 24, "resolve": {"scale": own, "legend": own}}


def _said_of(drawn: _Curves) -> str:
    """What is behind the means, and where."""
    has_curves = "curves" in drawn.behind
    bands = "bands that hold the middle half and 90% of"
    if len(drawn.systems) <= OVERLAID:
        return "; behind it every topic's curve." if has_curves else f"; behind it {bands} topics."
    behind = "the curves of its topics" if has_curves else f"{bands} its topics"
    others = "the other means" if len(drawn.systems) <= LEGEND else "the range of all means"
    return f". Below, each system by itself: its mean in front of {behind}, and {others} in grey."


def _panel(layers: list[Row]) -> Row:
    return {"width": SIZE[0], "height": SIZE[1], "layer": layers}


def _behind(curves: Floats, systems: Sequence[str], queries: Sequence[str]) -> Row:
    """What is drawn behind the means: every topic's curve, or bands that hold most of them if they are too many."""
    if len(systems) <= LEGEND and len(systems) * len(queries) * (curves.shape[1] + 12) <= CURVES:
        data = [
            {"s": system, "q": query, "p": round_numbers(curve[:, j])}
            for system, curve in zip(systems, curves, strict=True)
            for j, query in enumerate(queries)
            if not np.isnan(curve[:, j]).any()
        ]
        return {"curves": data, "opacity": 0.3 if len(queries) <= 25 else 0.18 if len(queries) <= 100 else 0.08}
    return {"bands": [{"s": system, **_bands(curve)} for system, curve in zip(systems, curves, strict=True)]}


def _bands(curve: Floats) -> Row:
    """Between which precisions the middle half (b to c) and 90 % (a to d) of topics lie, by recall point."""
    there = curve[:, ~np.isnan(curve).any(axis=0)]
    levels = np.quantile(there, (0.05, 0.25, 0.75, 0.95), axis=1) if there.size else np.zeros((4, len(curve)))
    return {key: round_numbers(row) for key, row in zip("abcd", levels, strict=True)}


def _behind_layer(drawn: _Curves) -> Row:
    """Topics' curves, or bands that most of them are in, without the data."""
    colour = drawn.palette.colour(drawn.ranked)
    if "curves" in drawn.behind:
        encoding = {
            "x": RECALL,
            "y": PRECISION,
            "detail": [nominal("q"), nominal("s")],
            "color": colour,
            "tooltip": [name_tooltip("q", "Topic"), name_tooltip("s", "System")],
        }
        mark = faint_mark("line", drawn.behind["opacity"], strokeWidth=1)
        return {"transform": drawn.unfolding, "layer": [{"mark": mark, "encoding": encoding}]}
    sides = [({**PRECISION, "field": low}, {"field": high}) for low, high in ("ad", "bc")]
    encodings = [{"x": RECALL, "y": low, "y2": high, "color": colour} for low, high in sides]
    bands = [{"mark": faint_mark("area", 0.14), "encoding": encoding} for encoding in encodings]
    return {"transform": flatten(*"abcd", r=number_array(drawn.grid)), "layer": bands}


def _rows_behind(drawn: _Curves) -> list[Row]:
    found: list[Row] = drawn.behind.get("curves") or drawn.behind.get("bands") or []
    return found


def _multiples(drawn: _Curves) -> Row:
    """A small panel for each system: its mean in front of its topics, and where the other means are in grey."""
    columns = 4 if len(drawn.systems) <= 12 else 6
    side = {"width": 570 // columns - 24, "height": 480 // columns - 24}
    few = {"title": None, "axis": {"values": [0, 0.5, 1], "labelFontSize": 10}}
    small = {"x": RECALL | few, "y": PRECISION | few}
    behind = _behind_layer(drawn)
    for layer in behind["layer"]:
        layer["encoding"] |= {"x": small["x"], "y": layer["encoding"]["y"] | few}
    mean: Row = {
        "mark": "line",
        "encoding": {
            **small,
            **drawn.palette.channels(drawn.ranked, lines=True, legend=None),
            "tooltip": [name_tooltip("s", "System")],
        },
    }
    if "curves" in drawn.behind:
        data = [*drawn.behind["curves"], *({**row, "m": 1} for row in drawn.rows)]
        transform = drawn.unfolding
        behind["transform"], mean["transform"] = [{"filter": "datum.m !== 1"}], [{"filter": "datum.m === 1"}]
    else:
        data = [band | row for band, row in zip(drawn.behind["bands"], drawn.rows, strict=True)]
        transform = flatten(*"abcdp", r=number_array(drawn.grid))
        del behind["transform"]
    return {
        "data": inline_data(data),
        "transform": transform,
        "facet": {**nominal("s"), "sort": drawn.ranked, "header": {"labelLimit": side["width"] + 8}},
        "columns": columns,
        "spacing": 14,
        "spec": {**side, "layer": [behind, _other_means(drawn, small), mean]},
    }


def _other_means(drawn: _Curves, small: dict[str, Channel]) -> Row:
    """All means in grey, as lines or, where they are very many, as the range they are in."""
    if len(drawn.systems) <= LEGEND:
        return {
            "data": inline_data({"o": row["s"], "p": row["p"]} for row in drawn.rows),
            "transform": drawn.unfolding,
            "mark": faint_mark("line", 0.6, strokeWidth=0.75, color=LINE),
            "encoding": {**small, "detail": nominal("o")},
        }
    low, high = np.nanmin(drawn.means, axis=0), np.nanmax(drawn.means, axis=0)
    return {
        "data": inline_data([{"p": round_numbers(low), "h": round_numbers(high)}]),
        "transform": flatten("p", "h", r=number_array(drawn.grid)),
        "mark": faint_mark("area", 0.3, color=LINE),
        "encoding": {**small, "y2": {"field": "h"}},
    }


def _precision_finding(drawn: _Curves) -> str:
    """Who has the higher precision, and where."""
    systems, means = drawn.systems, np.nan_to_num(drawn.means)
    if len(systems) == 1:
        return f"How the precision of {systems[0]} falls with recall"
    ahead = means >= means.max(axis=0) - 1e-12
    first = int(np.argmax(ahead.sum(axis=1)))
    leads, points = int(ahead[first].sum()), len(drawn.grid)
    if len(systems) == 2 and leads < points:
        crossing = _crossing(means[0] - means[1], drawn.grid)
        if crossing is not None:
            recall, start = crossing
            return f"{systems[start]} is more precise up to recall {recall:g}, {systems[1 - start]} beyond"
    what = "every recall level" if leads == points else f"{leads} of {points} recall levels"
    return f"{systems[first]} has the {'higher' if len(systems) == 2 else 'highest'} mean precision at {what}"


def _crossing(difference: Floats, grid: Sequence[float]) -> tuple[float, int] | None:
    """Where one of two curves stops being ahead, if that happens just once; and which of them it is."""
    signs = [(float(d) > 1e-12) - (float(d) < -1e-12) for d in difference]
    told_apart = [(point, sign) for point, sign in zip(grid, signs, strict=True) if sign]
    changes = [i for i in range(1, len(told_apart)) if told_apart[i][1] != told_apart[i - 1][1]]
    if len(changes) != 1:
        return None
    last, sign = told_apart[changes[0] - 1]
    return last, 0 if sign > 0 else 1


# One topic


def _one_query(scores: Scores, query: str, systems: list[str], palette: Palette) -> Plot:
    """Interpolated precision of one topic, as the step function it is."""
    at, topic = find_query(scores, query), format_label(query)
    relevant = _relevant(scores, query)
    recall = [Fraction(j, relevant) for j in range(relevant + 1)]
    curves = {
        system: curve
        for system, curve in zip(systems, precision_curves(scores, recall)[:, :, at], strict=True)
        if not np.isnan(curve).any()
    }
    areas = {system: float(curve[1:].mean()) for system, curve in curves.items()}
    ranked = sorted(areas, key=lambda system: -areas[system])
    data = []
    for system, curve in curves.items():
        corners = _corners(curve)
        steps = {"r": round_numbers(float(recall[i]) for i in corners), "p": round_numbers(curve[corners])}
        data.append({"s": system, **steps})
    tooltip = [name_tooltip("s", "System"), value_tooltip("r", "Recall up to"), value_tooltip("p", "Precision")]
    # precision at a recall is the best from there on, so that a level holds up to the recall it was found at
    mark = {"interpolate": "step-before"}
    layers = line_layers(data, flatten("r", "p"), (RECALL, PRECISION), ranked, palette, SIZE, tooltip, mark)
    title = f"Topic {topic}: {_area_finding(areas)}"
    subtitle = f"{pluralize(relevant, 'relevant document')}; precision at a recall is the best from there on."
    told_areas = ", ".join(f"{system} {format_number(areas[system])}" for system in ranked[:6])
    what = f"Interpolated precision by recall of {join_systems(ranked)} for topic {topic}, as steps"
    alt = f"{what}. {title}. Areas: {told_areas}."
    return Plot.of(_panel(layers), title, subtitle + highlight_note(ranked), alt, 560)


def _relevant(scores: Scores, query: str) -> int:
    """How many documents are relevant to a query, at least one."""
    rel = float(scores.conventions.get("rel", 1))
    for run in scores.runs:
        if query in run.judged.queries:
            found = int(run.judged.count_relevant(rel)[run.judged.queries.index(query)])
            if found:
                return found
            raise EvaluationError(f"query {query!r} has no relevant document: there is no recall to draw.")
    raise EvaluationError(f"no run was evaluated for query {query!r}.")


def _corners(curve: Floats) -> list[int]:
    """Where the steps of a curve begin and end."""
    last = len(curve) - 1
    return [i for i in range(last + 1) if i in (0, last) or curve[i] != curve[i + 1] or curve[i] != curve[i - 1]]


def _area_finding(areas: dict[str, float]) -> str:
    ahead = find_leaders(areas)
    best = format_number(areas[ahead[0]])
    if len(areas) == 1:
        return f"how precision falls with recall for {ahead[0]}"
    if len(ahead) > 1:
        return f"{join_systems(ahead)} have the same area below the curve, {best}"
    return f"{ahead[0]} has the largest area below the curve, {best}"


# The plane of precision and recall


def plane(
    scores: Scores,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    depth: int = 10,
    palette: Palette | None = None,
) -> Plot:
    """Precision against recall with lines of equal F1: a mark a system, its topics faint behind it."""
    precision, recall = _two_shares(scores, choose_measures(measures, (f"P@{depth}", f"R@{depth}")))
    systems = label_systems(scores)
    palette = palette or assign_colours(systems)
    points: list[Row] = [
        {"s": s, "p": compute_mean(scores, p), "r": compute_mean(scores, r)}
        for s, p, r in zip(systems, precision.values, recall.values, strict=True)
    ]
    centres = [row | {"f": _f1(row["p"], row["r"])} for row in points if not math.isnan(row["p"])]
    if not centres:
        raise EvaluationError("no query was evaluated: there is nothing to draw.")
    ranked = [row["s"] for row in sorted(centres, key=lambda row: -row["f"])]
    front = choose_highlighted(ranked)
    x, y = quantitative("r", recall.label, scale=UNIT), quantitative("p", precision.label, scale=UNIT)
    layers = [
        *_iso_f(x, y),
        _cloud(precision, recall, (x, y), {s: systems.index(s) for s in front}, palette, label_topics(scores)),
        *_centres(centres, (x, y), ranked, palette),
        *_point_labels([row for row in centres if row["s"] in front], (x, y), 420),
    ]
    balance = {row["s"]: row["f"] for row in centres}
    best = find_leaders(balance)
    top = f"F1 = {format_number(balance[best[0]])} of mean {precision.label} and mean {recall.label}"
    verb = "balances" if len(best) == 1 else "balance"
    title = f"{join_systems(best)} {verb} precision and recall best: {top}" if len(centres) > 1 else f"{best[0]}: {top}"
    n = pluralize(len(scores.queries), "topic")
    few = "" if len(front) == len(ranked) else f"The best {len(front)} of {len(ranked)} systems are in colour, with "
    subtitle = f"{few}{n}, each a faint mark, the larger the more are in the same place; dashed lines join equal F1."
    where = "; ".join(f"{row['s']} {format_number(row['p'])} and {format_number(row['r'])}" for row in centres[:6])
    what = f"{precision.label} against {recall.label} of {join_systems(systems)} over {n}, with lines of equal F1"
    alt = f"{what}. {title}. {where}."
    return Plot.of({"width": 420, "height": 420, "layer": layers}, title, subtitle, alt)


def _two_shares(scores: Scores, asked: Sequence[str | Measure]) -> tuple[MeasureColumn, MeasureColumn]:
    """The values of a precision and a recall."""
    if len(asked) != 2:
        raise MeasureError(
            f"the plane takes two measures, a precision and a recall, e.g. P@10 and R@10; found {len(asked)}."
        )
    precision, recall = (query_column(scores, one) for one in asked)
    for col in (precision, recall):
        if col.domain != [0.0, 1.0] or not col.measure.is_quality or not col.measure.more_is_better:
            raise MeasureError(f"{col.label} is no share from 0 to 1: the plane takes a precision and a recall.")
    return precision, recall


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _iso_f(x: Channel, y: Channel) -> list[Row]:
    """Lines of equal F1, each with its value at the right end."""
    curves = []
    for level in F_LEVELS:
        # 1/P + 1/R = 2/F: from precision 1 to recall 1, by the ratio of the two
        ratio = np.geomspace(level / (2 - level), (2 - level) / level, 25)
        curves.append(
            {"f": level, "r": round_numbers(level / 2 * (1 + ratio)), "p": round_numbers(level / 2 * (1 + 1 / ratio))}
        )
    ends = [{"f": f"F1 {level:.1f}", "p": round_number(level / (2 - level))} for level in F_LEVELS]
    line = {"type": "line", "strokeWidth": 1, "color": LINE, "strokeDash": [4, 3]}
    text = {"type": "text", "align": "left", "dx": 4, "fontSize": 10, "color": QUIET}
    return [
        {
            "data": inline_data(curves),
            "transform": flatten("r", "p"),
            "mark": line,
            "encoding": {"x": x, "y": y, "detail": nominal("f")},
        },
        {
            "data": inline_data(ends),
            "mark": text,
            "encoding": {"x": {"value": {"expr": "width"}}, "y": y, "text": nominal("f")},
        },
    ]


def _cloud(
    precision: MeasureColumn,
    recall: MeasureColumn,
    axes: tuple[Channel, Channel],
    systems: dict[str, int],
    palette: Palette,
    queries: list[str],
) -> Row:
    """The topics of systems, which are told with their places: topics in the same place as one mark."""
    cells = PLACES // len(systems)
    grid = None if len(queries) <= cells else max(5, min(25, math.isqrt(cells)))
    data = []
    for system, i in systems.items():
        # a colour and not the system, since faint marks are no samples for a legend
        own = {"s": system, "c": palette[system].colour}
        data += [own | place for place in _places(precision.values[i], recall.values[i], queries, grid)]
    most = max((row["n"] for row in data), default=1)
    scale = {"domain": [1, max(2, most)], "range": [14, 14 if most == 1 else 150]}
    encoding = {
        "x": axes[0],
        "y": axes[1],
        "fill": nominal("c", scale=None, legend=None),
        "size": quantitative("n", None, legend=None, scale=scale),
        "tooltip": [
            name_tooltip("s", "System"),
            name_tooltip("q", "Topics"),
            value_tooltip("n", "How many", ",d"),
            value_tooltip("p", precision.label),
            value_tooltip("r", recall.label),
        ],
    }
    return {
        "data": inline_data(data),
        "mark": faint_mark("circle", 0.3 if len(systems) <= DIRECT else 0.15),
        "encoding": encoding,
    }


def _places(ps: Floats, rs: Floats, queries: Sequence[str], grid: int | None) -> list[Row]:
    """Where topics are, and which; rounded to a grid if there is one."""
    places: dict[tuple[float, float], list[str]] = {}
    for query, p, r in zip(queries, ps.tolist(), rs.tolist(), strict=True):
        if not math.isnan(p):
            places.setdefault((p, r) if grid is None else (round(p * grid) / grid, round(r * grid) / grid), []).append(
                query
            )
    return [{"p": round_number(p), "r": round_number(r), "n": len(at), "q": _few(at)} for (p, r), at in places.items()]


def _few(queries: Sequence[str]) -> str:
    return ", ".join(queries[:5]) + (f" and {len(queries) - 5:,} more" if len(queries) > 5 else "")


def _centres(
    centres: Sequence[Row], axes: tuple[Channel, Channel], ranked: Sequence[str], palette: Palette
) -> list[Row]:
    """A mark for each system; of very many the best few in colour, the others small and grey, with names on hover."""
    front = choose_highlighted(ranked)
    place = {
        "x": axes[0],
        "y": axes[1],
        "tooltip": [
            name_tooltip("s", "System"),
            value_tooltip("p", f"Mean {axes[1]['title']}"),
            value_tooltip("r", f"Mean {axes[0]['title']}"),
            value_tooltip("f", "F1 of the means"),
        ],
    }
    coloured = {
        **palette.channels(front, lines=False, legend=legend_or_none(front, 420, lines=False)),
        "opacity": picked_opacity(front),
    }
    data = [{key: round_number(v) if key != "s" else v for key, v in row.items()} for row in centres]
    mark = {"type": "point", "filled": True, "size": 110, "stroke": GROUND, "strokeWidth": 1}
    small = mark | {"size": 50, "color": LINE, "opacity": 1}
    found = {is_front: [row for row in data if (row["s"] in front) == is_front] for is_front in (False, True)}
    layers: list[Row] = [
        {
            "data": inline_data(found[True]),
            "params": legend_selection(front),
            "mark": mark,
            "encoding": place | coloured,
        }
    ]
    if found[False]:
        layers.insert(
            0, {"data": inline_data(found[False]), "mark": small, "encoding": place | {"detail": nominal("s")}}
        )
    return layers


def _point_labels(centres: Sequence[Row], axes: tuple[Channel, Channel], height: int) -> list[Row]:
    """Names beside the marks of few systems."""
    if not has_direct_labels(centres):
        return []
    placed = space_out([row["p"] * height for row in centres], LETTERS, 0, height)
    labels = [
        {"s": row["s"], "r": round_number(row["r"]), "l": round_number(at / height)}
        for row, at in zip(centres, placed, strict=True)
    ]
    encoding = {"x": axes[0], "y": {**axes[1], "field": "l"}, "text": nominal("s")}
    text: dict[str, Any] = {"type": "text", "align": "left", "dx": 9, "fontWeight": "bold"}
    # a halo keeps a name legible on what is behind it
    halo = text | {"stroke": GROUND, "strokeWidth": 4, "strokeJoin": "round"}
    return [{"data": inline_data(labels), "mark": mark, "encoding": encoding} for mark in (halo, text)]
