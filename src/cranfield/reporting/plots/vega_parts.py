"""Parts that several pictures are made of: channels, rows with arrays, lines that are named where they end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cranfield.reporting.plots.plot_data import round_number
from cranfield.reporting.plots.theme import DIRECT, LINE, Palette, make_legend

Row = dict[str, Any]
Channel = dict[str, Any]
LETTERS = 13  # pixels that a line of text takes
GAP = 14  # pixels between a line's end and its name
LEGEND = 20  # lines that a legend tells apart; of more only the best few are in colour
DIAGONAL = {"color": LINE, "strokeDash": [4, 3]}


# Marks


def faint_mark(kind: str, opacity: float, **more: Any) -> Row:
    """A mark that others shine through."""
    # the opacity of what is painted, not of the element: in PDF each of those would be a group of its own
    painted = "strokeOpacity" if kind in ("line", "rule") else "fillOpacity"
    return {"type": kind, "opacity": 1, painted: opacity, **more}


# Channels and data


def quantitative(field: str, title: str | None, **more: Any) -> Channel:
    """A channel with numbers."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def nominal(field: str, title: str | None = None, **more: Any) -> Channel:
    """A channel with names."""
    return {"field": field, "type": "nominal", "title": title, **more}


def value_tooltip(field: str, title: str, form: str = ".4f") -> Channel:
    """A number in a tooltip."""
    return {"field": field, "type": "quantitative", "title": title, "format": form}


def name_tooltip(field: str, title: str) -> Channel:
    """A name in a tooltip."""
    return {"field": field, "type": "nominal", "title": title}


def inline_data(values: Iterable[Row]) -> Row:
    """Data given in the specification."""
    return {"values": list(values)}


def flatten(*fields: str, **constants: str) -> list[Row]:
    """Rows that hold arrays, and arrays that are the same for all of them, turned into a row for each entry."""
    made: list[Row] = [{"calculate": text, "as": field} for field, text in constants.items()]
    return [*made, {"flatten": [*constants, *fields]}]


def number_array(values: Iterable[float]) -> str:
    """Numbers as an array of a Vega expression."""
    return json.dumps([round_number(float(one)) for one in values], separators=(",", ":"))


def name_array(texts: Iterable[str]) -> str:
    """Names as an array of a Vega expression."""
    return f"[{','.join(quote(text) for text in texts)}]"


def quote(text: str) -> str:
    """A text in a Vega expression.

    >>> quote("it's")
    "'it\\\\'s'"
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# Lines


def line_layers(
    lines: Sequence[Row],
    transform: Sequence[Row],
    axes: tuple[Channel, Channel],
    ranked: Sequence[str],
    palette: Palette,
    size: tuple[int, int],
    tooltip: Sequence[Channel],
    mark: Mapping[str, Any] | None = None,
    picks: bool = True,
) -> list[Row]:
    """A line for each system, its name at its end if they are few, or else in a legend that brings one out.

    `lines` hold the system as `s` and the values in an array; `ranked` are the systems from the best down. Of more than
    a legend can tell apart the best few are in colour and named, the others thin and grey, with names on hover.
    """
    x, y = axes
    front = choose_highlighted(ranked)
    by_name = {line["s"]: line for line in lines}
    coloured = {
        "params": legend_selection(front) if picks else [],
        "mark": {"type": "line", **(mark or {})},
        "encoding": {
            "x": x,
            "y": y,
            **palette.channels(front, lines=True, legend=legend_or_none(front, size[0])),
            "opacity": picked_opacity(front),
        },
    }
    # what is hovered over is a point, since a line has no single value
    point = {"type": "point", "filled": True, "size": 40, "opacity": 0}
    hover = {"mark": point, "encoding": {"x": x, "y": y, "tooltip": list(tooltip)}}
    layers = [_of([by_name[system] for system in front], transform, [coloured, hover])]
    if len(front) < len(ranked):
        grey = {**faint_mark("line", 0.5), **(mark or {}), "strokeWidth": 1, "color": LINE}
        thin = {"mark": grey, "encoding": {"x": x, "y": y, "detail": nominal("s")}}
        others = [by_name[system] for system in ranked if system not in front]
        layers.insert(0, _of(others, transform, [thin, hover]))
    if has_direct_labels(front):
        ends = {system: by_name[system][y["field"]][-1] for system in front}
        layers += end_labels({s: end for s, end in ends.items() if end is not None}, palette.colour(front), y, size)
    return layers


def _of(data: Iterable[Row], transform: Sequence[Row], layers: Sequence[Row]) -> Row:
    """Layers of the same rows, which are unfolded once."""
    return {"data": inline_data(data), "transform": list(transform), "layer": list(layers)}


def choose_highlighted(ranked: Sequence[str]) -> list[str]:
    """The systems that are drawn in colour: all of them, or the best few of very many."""
    return list(ranked if len(ranked) <= LEGEND else ranked[:DIRECT])


def highlight_note(ranked: Sequence[str]) -> str:
    """What a reader must know where not all systems are in colour."""
    front = len(choose_highlighted(ranked))
    return "" if front == len(ranked) else f" The best {front} of {len(ranked)} systems are in colour."


def end_labels(ends: Mapping[str, float], colour: Channel, y: Channel, size: tuple[int, int]) -> list[Row]:
    """Names beside the ends of lines, each joined to its line by a stroke of its colour; `y` is the lines' channel."""
    width, height = size
    low, high = y["scale"]["domain"]
    span = (high - low) or 1.0
    placed = space_out([(end - low) / span * height for end in ends.values()], LETTERS, LETTERS / 2, height)
    data = inline_data(
        {"s": system, "y": round_number(end), "l": round_number(low + at / height * span)}
        for (system, end), at in zip(ends.items(), placed, strict=True)
    )
    strokes = {
        "x": {"value": width + 2},
        "x2": {"value": width + GAP - 3},
        "y": {**y, "field": "y"},
        "y2": {"field": "l"},
        "color": colour,
    }
    texts = {"x": {"value": width + GAP}, "y": {**y, "field": "l"}, "text": nominal("s")}
    return [
        {"data": data, "mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": strokes},
        {"data": data, "mark": {"type": "text", "align": "left", "limit": 180}, "encoding": texts},
    ]


def space_out(places: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Places moved as little as it takes to be at least so far from each other, between two ends if there is room.

    >>> space_out([0.5, 0.5, 0.9], 0.1, 0, 1)
    [0.55, 0.45, 0.9]
    """
    # places that would touch become a group around the middle of where its members would like to be
    groups: list[list[int]] = []
    middles: list[float] = []
    # equal ones: the first on top
    for i in sorted(range(len(places)), key=lambda i: (places[i], -i)):
        groups.append([i])
        middles.append(_middle([places[i]], least, low, high))
        while len(groups) > 1 and middles[-1] - middles[-2] < least * (len(groups[-1]) + len(groups[-2])) / 2 - 1e-9:
            groups[-2:] = [groups[-2] + groups[-1]]
            middles[-2:] = [_middle([places[j] for j in groups[-1]], least, low, high)]
    moved = list(places)
    for group, middle in zip(groups, middles, strict=True):
        for j, i in enumerate(group):
            moved[i] = round(middle + least * (j - (len(group) - 1) / 2), 6)
    return moved


def _middle(places: Sequence[float], least: float, low: float, high: float) -> float:
    half = least * (len(places) - 1) / 2
    return max(min(sum(places) / len(places), high - half), low + half)


# Legends


def has_direct_labels(systems: Sequence[Any]) -> bool:
    """Whether systems are few enough to be named where they are."""
    return len(systems) <= DIRECT


def legend_or_none(systems: Sequence[str], width: int, lines: bool = True) -> Row | None:
    """The legend, unless systems are named where they are."""
    return None if has_direct_labels(systems) else make_legend(systems, width, lines)


def legend_selection(systems: Sequence[str]) -> list[Row]:
    """Where there is a legend, a click on it brings out a system."""
    if has_direct_labels(systems):
        return []
    return [{"name": "picked", "select": {"type": "point", "fields": ["s"]}, "bind": "legend"}]


def picked_opacity(systems: Sequence[str]) -> Row:
    """How visible a system is, depending on what was picked in the legend."""
    if has_direct_labels(systems):
        return {"value": 1}
    return {"condition": {"param": "picked", "value": 1}, "value": 0.15}
