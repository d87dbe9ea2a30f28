"""Positions of the marks in charts; templates draw them as SVG, and the style sheet colors them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cranfield.base import Record
from cranfield.reporting import MeasureColumn, format_label
from cranfield.tables import format_number, format_signed

SHADES = 10  # for grades, in the style sheet
MAX_BARS = 600  # more are left out in the middle
MAX_POINTS = 3_000


class Scale(Record):
    """A linear scale from values to positions.

    >>> Scale(0.0, 1.0, 0.0, 200.0).at(0.25)
    50.0
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self, n: int = 5) -> list[tuple[float, str]]:
        """Positions and labels of round values."""
        values = round_values(self.low, self.high, n)
        decimals = max(0, -math.floor(math.log10(values[1] - values[0]) + 1e-9)) if len(values) > 1 else 1
        return [(self.at(value), format_number(value, min(decimals, 6))) for value in values]


def round_values(low: float, high: float, n: int = 5) -> list[float]:
    """Round values in a range.

    >>> round_values(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / max(n, 1)
    if raw <= 0 or not math.isfinite(raw):
        return [low]
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * by for by in (1, 2, 5, 10) if size * by >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def axis_range(col: MeasureColumn) -> tuple[float, float]:
    """The ends of an axis: the range of the measure if it has one (charts are comparable), else of the values."""
    low, high = col.reach
    return float(low), float(high)


class Whisker(Record):
    """A mean with its interval."""

    at: float
    low: float | None
    high: float | None


def layout_whiskers(rows: Sequence[tuple[float | None, float | None, float | None]], width: float = 120.0) -> list[Any]:
    """Means and intervals of several systems on one axis that they fill."""
    values = [value for row in rows for value in row if value is not None]
    if not values:
        return [None] * len(rows)
    low, high = min(values), max(values)
    margin = (high - low) * 0.04 or 0.5
    scale = Scale(low - margin, high + margin, 0.0, width)
    return [
        None
        if mean is None
        else Whisker(scale.at(mean), *(None if end is None else scale.at(end) for end in (left, right)))
        for mean, left, right in rows
    ]


def shade(grade: float | None, grades: Sequence[float]) -> str:
    """The CSS class of a grade: one hue, darker for higher grades.

    >>> shade(2.0, [0, 1, 2]), shade(0.0, [0, 1, 2]), shade(None, [0])
    ('shade-10', 'shade-0', 'unjudged')
    """
    if grade is None:
        return "unjudged"
    low, high = min(0.0, *grades), max(1.0, *grades)
    return f"shade-{round(SHADES * (min(max(grade, low), high) - low) / (high - low))}"


# Two systems


def layout_bars(
    topics: Sequence[str], titles: Sequence[str], ours: Sequence[float], theirs: Sequence[float], sign: int
) -> dict[str, Any]:
    """Differences by topic, the largest gain first."""
    rows = [
        (sign * (a - b), a, b, topic, title) for topic, title, a, b in zip(topics, titles, ours, theirs, strict=True)
    ]
    rows.sort(key=lambda row: -row[0])
    left_out = max(0, len(rows) - MAX_BARS)
    half = MAX_BARS // 2
    drawn = rows if not left_out else [*rows[:half], *rows[len(rows) - half :]]
    best, worst = max((0.0, *(row[0] for row in drawn))), min((0.0, *(row[0] for row in drawn)))
    best = best if best > worst else 1.0
    width, height = 960.0, 240.0
    scale = Scale(worst, best, height, 0.0)
    step = width / max(len(drawn), 1)
    zero = scale.at(0.0)
    bars = []
    for i, (gain, a, b, topic, title) in enumerate(drawn):
        top = scale.at(gain)
        bars.append(
            {
                "x": round(i * step + min(1.0, step * 0.1), 2),
                "y": min(top, zero) if abs(top - zero) > 1 else zero - 1,
                "width": round(max(step - 2 * min(1.0, step * 0.1), 0.6), 2),
                "height": max(round(abs(top - zero), 2), 2.0),
                "column": round(i * step, 2),
                "column_width": round(step, 2),
                "kind": "better" if gain > 1e-12 else "worse" if gain < -1e-12 else "same",
                "query": topic,
                "tooltip": f"{format_label(topic)}{f': {title}' if title else ''} — "
                f"{format_number(a, 4)} − {format_number(b, 4)} = {format_signed(a - b, 4)}",
            }
        )
    return {
        "bars": bars,
        "width": width,
        "height": height,
        "zero": zero,
        "ticks": [(scale.at(v), format_signed(sign * v, 2)) for v in round_values(worst, best, 4)],
        "left_out": left_out,
    }


def layout_scatter(
    topics: Sequence[str],
    titles: Sequence[str],
    ours: Sequence[float],
    theirs: Sequence[float],
    ends: tuple[float, float],
    sign: int,
) -> dict[str, Any]:
    """One system against another, a point for each topic."""
    size = 360.0
    x, y = Scale(*ends, 0.0, size), Scale(*ends, size, 0.0)
    rows = list(zip(topics, titles, ours, theirs, strict=True))
    left_out = max(0, len(rows) - MAX_POINTS)
    if left_out:  # the largest differences are the most interesting
        rows = sorted(rows, key=lambda row: -abs(row[2] - row[3]))[:MAX_POINTS]
    points = [
        {
            "x": x.at(b),
            "y": y.at(a),
            "kind": "better" if sign * (a - b) > 1e-12 else "worse" if sign * (a - b) < -1e-12 else "same",
            "query": topic,
            "tooltip": f"{format_label(topic)}{f': {title}' if title else ''} — "
            f"{format_number(a, 4)} against {format_number(b, 4)}",
        }
        for topic, title, a, b in rows
    ]
    return {"points": points, "size": size, "ticks": x.ticks(), "side_ticks": y.ticks(), "left_out": left_out}


# One topic


def layout_strip(
    rows: Sequence[tuple[str, float | None]], ends: tuple[float, float], chosen: Sequence[str]
) -> dict[str, Any]:
    """The values of all systems on one axis; the chosen ones stand out."""
    width = 720.0
    scale = Scale(*ends, 0.0, width)
    marks = [
        {
            "x": scale.at(value),
            "system": name,
            "tooltip": f"{format_label(name)}: {format_number(value, 4)}",
            "chosen": chosen.index(name) if name in chosen else None,
        }
        for name, value in rows
        if value is not None
    ]
    return {"marks": marks, "width": width, "ticks": scale.ticks(), "unknown": len(rows) - len(marks)}


ROW_HEIGHT = 32  # pixels of a row of a ranking


def layout_moves(
    left: Sequence[str],
    right: Sequence[str],
    first: int,
    rank_left: dict[str, int],
    rank_right: dict[str, int],
    kinds: dict[str, str],
    width: float = 88.0,
) -> dict[str, Any]:
    """Lines from the documents of one ranking to the same documents in the next.

    A document that the other ranking has outside of the visible part gets a stub with its rank there.
    """
    lines, stubs = [], []
    place_right = {doc: i for i, doc in enumerate(right)}
    for i, doc in enumerate(left):
        y = (i + 0.5) * ROW_HEIGHT
        if doc in place_right:
            lines.append(
                {
                    "from": y,
                    "to": (place_right[doc] + 0.5) * ROW_HEIGHT,
                    "kind": kinds.get(doc, ""),
                    "tooltip": f"{format_label(doc)}: rank {first + i} → {first + place_right[doc]}",
                }
            )
        elif doc in rank_right:
            other = rank_right[doc]
            stubs.append(_stub(doc, y, "left", first + i, other, first, kinds))
    for j, doc in enumerate(right):
        if doc not in left and doc in rank_left:
            stubs.append(_stub(doc, (j + 0.5) * ROW_HEIGHT, "right", first + j, rank_left[doc], first, kinds))
    return {"lines": lines, "stubs": stubs, "width": width, "height": max(len(left), len(right)) * ROW_HEIGHT}


def _stub(doc: str, y: float, side: str, own: int, other: int, first: int, kinds: dict[str, str]) -> dict[str, Any]:
    ranks = (own, other) if side == "left" else (other, own)
    return {
        "y": y,
        "side": side,
        "label": f"{'↑' if other < first else '↓'} {other:,}",
        "kind": kinds.get(doc, ""),
        "tooltip": f"{format_label(doc)}: rank {ranks[0]} → {ranks[1]}",
    }


# Costs


def layout_pareto(points: Sequence[dict[str, Any]], ends: tuple[float, float]) -> dict[str, Any]:
    """Effectiveness against latency on a logarithmic axis; `points` have mean, latency and is_on_front."""
    width, height = 640.0, 320.0
    times = [point["latency"] for point in points if point["latency"] > 0] or [1.0]
    low, high = math.log10(min(times)) - 0.15, math.log10(max(times)) + 0.15
    x, y = Scale(low, high, 0.0, width), Scale(*ends, height, 0.0)
    marks = [
        point | {"x": x.at(math.log10(point["latency"])) if point["latency"] > 0 else 0.0, "y": y.at(point["mean"])}
        for point in points
    ]
    _place_labels(marks, width)
    front = sorted((mark for mark in marks if mark["is_on_front"]), key=lambda mark: mark["x"])
    ticks = [
        (x.at(math.log10(step * 10.0**power)), f"{step * 10.0**power:g}")
        for power in range(math.floor(low), math.ceil(high) + 1)
        for step in ((1, 2, 5) if high - low < 2 else (1,))
        if low <= math.log10(step * 10.0**power) <= high
    ]
    return {
        "marks": marks,
        "line": " ".join(f"{mark['x']},{mark['y']}" for mark in front),
        "width": width,
        "height": height,
        "ticks": ticks,
        "side_ticks": y.ticks(),
    }


def _place_labels(marks: list[dict[str, Any]], right: float) -> None:
    """Set the position of the label of each mark, without overlaps if possible."""
    taken = [(mark["x"] - 6, mark["x"] + 6, mark["y"] - 6, mark["y"] + 6) for mark in marks]
    for mark in sorted(marks, key=lambda mark: (mark["y"], mark["x"])):
        width = 7.0 * min(len(mark["system"]), 24)
        is_left = mark["x"] + 9 + width > right + 90
        start = mark["x"] - 9 - width if is_left else mark["x"] + 9
        y = mark["y"] + 4
        for shift in (0, 14, -14, 28, -28, 42, -42):
            box = (start, start + width, y + shift - 11, y + shift + 3)
            if not any(_overlap(box, other) for other in taken):
                y += shift
                break
        taken.append((start, start + width, y - 11, y + 3))
        mark |= {
            "label_x": round(mark["x"] + (-9 if is_left else 9), 2),
            "label_y": round(y, 2),
            "anchor": "end" if is_left else "start",
        }


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
