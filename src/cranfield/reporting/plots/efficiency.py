"""Pictures of what effectiveness costs: systems by mean and latency, and the front that none of them is beyond."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from cranfield.base import Record, pluralize
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation import Scores
from cranfield.lab import PERCENTILES
from cranfield.measures import Measure
from cranfield.reporting.costs import Costs, describe_missing_costs
from cranfield.reporting.pareto import TYPICAL, ParetoFront, SystemPoint
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.plot_data import MeasureColumn, join_systems, label_systems, measure_column, round_number
from cranfield.reporting.plots.theme import GROUND, QUIET, WIDTH, Palette, assign_colours
from cranfield.reporting.plots.vega_parts import (
    LEGEND,
    Channel,
    Row,
    inline_data,
    name_tooltip,
    nominal,
    quantitative,
    value_tooltip,
)
from cranfield.tables import format_bytes, format_milliseconds, format_number

WIDE, HIGH = 520, 340
LEAST = 0.001  # ms: the shortest time that a logarithmic axis shows
LETTER, LINE_HEIGHT = 6.8, 14  # pixels of a name in bold: how wide a letter is, how high a line
LARGEST = 420  # square pixels of the mark of the largest index
PLAIN, LEAST_AREA = 130, 40  # of marks that tell nothing by their size
BESIDE = 100  # pixels on the right that names may take
TICKS = 4  # that an axis should have
NAMED = 12  # systems that the sentence about the picture names

Place = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


def pareto(
    scores: Scores,
    costs: Costs,
    measure: str | Measure | None = None,
    percentile: int = TYPICAL,
    palette: Palette | None = None,
) -> Plot:
    """Effectiveness against latency: a mark a system with its intervals, and the Pareto front."""
    if percentile not in PERCENTILES:
        raise CranfieldError(f"percentile {percentile}: expected one of {', '.join(map(str, PERCENTILES))}.")
    col = measure_column(scores, measure)
    if col.measure.aggregate == "run" or not col.measure.is_quality:
        raise EvaluationError(
            f"{col.label} does not say which system is better, query by query: choose another measure."
        )
    front = ParetoFront.of(scores, col, costs, percentile)
    if not front.points:
        raise EvaluationError(
            f"no run has costs. {' '.join(describe_missing_costs(costs, scores, label_systems(scores)))}"
        )
    systems = label_systems(scores)
    reach = _reach(col, front.points)
    drawn = _Drawn(front, palette or assign_colours(systems), percentile, _capital(col.of_all), reach)
    title = _finding(front)
    topics, queries = pluralize(len(scores.queries), "topic"), pluralize(costs.queries, "query")
    subtitle = (
        f"{drawn.title} over {topics} and latency (p{percentile}) of {queries}, with 95% "
        f"intervals{'' if col.sign > 0 else f'; less {col.label} is better'}."
    )
    subtitle += " The upright axis does not begin at 0." if reach[0] > 0 else ""
    subtitle += " Dashed: the Pareto front." if len(front.members) > 1 else ""
    subtitle += _sizes_said(front.points)
    subtitle += " Only systems on the front are named." if len(front.points) > LEGEND else ""
    subtitle += "".join(f" {text}" for text in describe_missing_costs(costs, scores, systems))
    what = f"{drawn.title} against latency of {join_systems([point.system for point in front.points])}"
    view = {"width": WIDE, "height": HIGH, "layer": list(drawn.layers())}
    return Plot.of(view, title, subtitle, f"{what}. {title}. {_places(front)}.", WIDTH + 100)


def _reach(col: MeasureColumn, points: Sequence[SystemPoint]) -> list[float]:
    """The range of the measure; or, where systems take little of it, round figures around them and their intervals."""
    low, high = col.reach
    ends = [end for p in points for end in (p.mean, *((p.within.low, p.within.high) if p.within else ()))]
    bottom, top = max(low, min(ends)), min(high, max(ends))
    step = (high - low) / 10
    if top - bottom > (high - low) / 3:
        return [low, high]
    first = min(9, math.floor((bottom - low) / step))
    last = max(first + 1, math.ceil((top - low) / step - 1e-9))
    return [float(f"{low + step * tenth:.6g}") for tenth in (first, last)]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _places(front: ParetoFront) -> str:
    """Where the systems are, the fastest first."""
    some = sorted(front.points, key=lambda point: point.latency.value)[:NAMED]
    behind = {True: "", False: " (not on the front)"}
    return "; ".join(
        f"{p.system} {format_number(p.mean, 4)} in {format_milliseconds(p.latency.value)} ms{behind[front.has(p)]}"
        for p in some
    )


def _finding(front: ParetoFront) -> str:
    members = [point.system for point in front.members]
    if len(front.points) == 1:
        return f"What {members[0]} costs"
    if len(members) == 1:
        return f"{members[0]} is both the best and the fastest"
    if len(members) == len(front.points):
        return "Every system is on the Pareto front: what is better takes longer"
    return f"{join_systems(members, 6)} are on the Pareto front: no other is both better and faster"


def _sizes_said(points: Sequence[SystemPoint]) -> str:
    sizes = {point.cost.index_bytes for point in points} - {None}
    if not sizes:
        return ""
    unknown = [point.system for point in points if point.cost.index_bytes is None]
    told_by = (
        "The larger a mark, the larger the index"
        if len(sizes) > 1
        else f"Their index has {format_bytes(sizes.pop() or 0)}"
    )
    return f" {told_by}{f'; hollow: not known ({join_systems(unknown)})' if unknown else ''}."


class _Drawn(Record, eq=False):
    """The parts of the picture."""

    front: ParetoFront
    palette: Palette
    percentile: int
    title: str
    reach: list[float]  # of the upright axis

    @property
    def points(self) -> tuple[SystemPoint, ...]:
        return self.front.points

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the axis of latencies, with some room for names."""
        times = [
            _least(ms) for p in self.points for ms in (p.latency.value, p.latency.low, p.latency.high) if ms is not None
        ]
        low, high = min(times), max(times)
        spread = max(high / low, 2.0) ** 0.12
        return float(f"{low / spread:.4g}"), float(f"{high * spread:.4g}")

    @property
    def axes(self) -> tuple[Channel, Channel]:
        ends = self.ends
        # between two ticks a factor of two or so, whatever the range
        axis = {"values": ticks(*ends), "format": "~r", "grid": True}
        x = quantitative(
            "x",
            f"Latency, p{self.percentile}, in ms",
            scale={"type": "log", "domain": list(ends), "nice": False},
            axis=axis,
        )
        return x, quantitative("y", self.title, scale={"domain": self.reach, "nice": False})

    def layers(self) -> Iterator[Row]:
        x, y = self.axes
        members = self.front.members
        if len(members) > 1:
            line = {
                "type": "line",
                "interpolate": "step-after",
                "color": QUIET,
                "strokeDash": [5, 4],
                "strokeWidth": 1.5,
            }
            corners = inline_data(
                {"x": round_number(_least(p.latency.value)), "y": round_number(p.mean)} for p in members
            )
            yield {"data": corners, "mark": line, "encoding": {"x": x, "y": y}}
        systems = [p.system for p in self.points]
        marked = self.palette.channels(systems, lines=False, legend=None)
        data = inline_data(self._row(p) for p in self.points)
        for low, high, axis, other in (("xl", "xh", "x", "y"), ("yl", "yh", "y", "x")):
            channels = {"x": x, "y": y}
            ends = {axis: {**channels[axis], "field": low}, f"{axis}2": {"field": high}, other: channels[other]}
            yield {
                "data": data,
                "transform": [{"filter": f"isValid(datum.{low})"}],
                "mark": {"type": "rule", "strokeWidth": 1.5, "clip": True, "strokeOpacity": 0.55},
                "encoding": ends | {"color": marked["color"]},
            }
        yield from self._marks(data, {"x": x, "y": y}, marked)
        yield from self._names(x, y)

    def _row(self, point: SystemPoint) -> Row:
        latency, within = point.latency, point.within
        ends = (
            (None, None) if latency.low is None or latency.high is None else (_least(latency.low), _least(latency.high))
        )
        return {
            "s": point.system,
            "x": round_number(_least(latency.value)),
            "xl": round_number(ends[0]),
            "xh": round_number(ends[1]),
            "y": round_number(point.mean),
            "yl": None if within is None else round_number(within.low),
            "yh": None if within is None else round_number(within.high),
            "a": round_number(self._area(point)),
            "k": point.cost.index_bytes is not None or not self.sizes,
            "i": "unknown" if point.cost.index_bytes is None else format_bytes(point.cost.index_bytes),
            "f": "on it" if self.front.has(point) else self.front.describe(point),
        }

    @property
    def sizes(self) -> list[int]:
        """The sizes of indexes, as far as they are known."""
        return sorted({p.cost.index_bytes for p in self.points if p.cost.index_bytes is not None})

    def _area(self, point: SystemPoint) -> float:
        """How large a mark is: as its index among those of others, in square pixels."""
        if len(self.sizes) < 2 or point.cost.index_bytes is None:
            return PLAIN
        return max(LEAST_AREA, LARGEST * point.cost.index_bytes / self.sizes[-1])

    def _radius(self, point: SystemPoint) -> float:
        return math.sqrt(self._area(point)) / 2 + 2

    def _marks(self, data: Row, axes: Row, marked: Row) -> Iterator[Row]:
        """A mark a system; hollow where the size of the index is not known but that of others is."""
        tooltip = [
            name_tooltip("s", "System"),
            value_tooltip("y", self.title),
            value_tooltip("x", f"Latency, p{self.percentile}, ms", ",.3~f"),
            name_tooltip("i", "Index"),
            name_tooltip("f", "Pareto front"),
        ]
        area = {"field": "a", "type": "quantitative", "scale": None, "legend": None}
        encoding = {**axes, **marked, "size": area, "tooltip": tooltip}
        full = {"type": "point", "filled": True, "opacity": 1, "stroke": GROUND, "strokeWidth": 1}
        hollow = {"type": "point", "filled": False, "opacity": 1, "strokeWidth": 2}
        for mark, which in ((full, "true"), (hollow, "false")):
            if any(row["k"] == (which == "true") for row in data["values"]):
                yield {
                    "data": data,
                    "transform": [{"filter": f"datum.k == {which}"}],
                    "mark": mark,
                    "encoding": encoding,
                }

    def _names(self, x: Channel, y: Channel) -> Iterator[Row]:
        """Names beside the marks, on the side where there is room; of very many only those on the front."""
        few = self.points if len(self.points) <= LEGEND else tuple(self.front.members)
        low, high = self.ends
        bottom, top = self.reach
        span, height = math.log(high / low), (top - bottom) or 1.0

        def across(ms: float) -> float:
            return math.log(_least(ms) / low) / span * WIDE

        def down(mean: float) -> float:
            return (top - mean) / height * HIGH

        def place(p: SystemPoint) -> Place:
            return across(p.latency.value), down(p.mean)

        taken = [
            *_along([place(p) for p in self.front.members]),
            *(_box(place(p), self._radius(p)) for p in self.points),
        ]
        widths = [LETTER * len(p.system) for p in few]
        placed = beside([place(p) for p in few], [self._radius(p) for p in few], widths, (WIDE, HIGH), taken)
        for align in ("left", "right"):
            data = [
                {
                    "s": p.system,
                    "x": round_number(low * math.exp(x_at / WIDE * span)),
                    "y": round_number(top - y_at / HIGH * height),
                }
                for p, (x_at, y_at, side) in zip(few, placed, strict=True)
                if side == align
            ]
            text: Row = {"type": "text", "align": align, "fontWeight": "bold", "limit": 220}
            # a halo keeps a name legible on what is behind it
            halo = text | {"stroke": GROUND, "strokeWidth": 4, "strokeJoin": "round"}
            for mark in (halo, text) if data else ():
                yield {"data": inline_data(data), "mark": mark, "encoding": {"x": x, "y": y, "text": nominal("s")}}


def _least(ms: float) -> float:
    return max(ms, LEAST)


def ticks(low: float, high: float) -> list[float]:
    """Where a logarithmic axis has its figures: at round ones, as many as the range needs.

    >>> ticks(0.3, 12), ticks(0.28, 0.95)
    ([0.5, 1.0, 2.0, 5.0, 10.0], [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for digits in ("1", "125", "123456789"):
        every = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        found = [tick for tick in every if low <= tick <= high]
        if len(found) >= TICKS:
            return found
    return found if len(found) > 1 else [float(f"{low:.3g}"), float(f"{high:.3g}")]


def _along(corners: Sequence[Place]) -> Iterator[Box]:
    """The line of the front, as narrow boxes."""
    for (x, y), (after, above) in pairwise(corners):
        yield x, y - 2, after, y + 2
        yield after - 2, min(y, above), after + 2, max(y, above)


def _box(place: Place, radius: float) -> Box:
    x, y = place
    return x - radius, y - radius, x + radius, y + radius


def beside(
    marks: Sequence[Place], radii: Sequence[float], widths: Sequence[float], room: Place, taken: Sequence[Box]
) -> list[tuple[float, float, str]]:
    """Where names go that must cover neither each other nor what is taken: across, down, and which end of them that is.

    >>> beside([(10, 10), (24, 10)], [6, 6], [30, 30], (100, 100), [(4, 4, 16, 16), (18, 4, 30, 16)])
    [(20, 24, 'left'), (34, 10, 'left')]
    """
    boxes, placed = list(taken), []
    for (x, y), radius, width in zip(marks, radii, widths, strict=True):
        tried = list(_sides(x, y, radius + 4, width))
        at, box = min(tried, key=lambda each: _trouble(each[1], boxes, room) + 0.01 * abs(each[0][1] - y))
        placed.append(at)
        boxes.append(box)
    return placed


def _sides(x: float, y: float, gap: float, width: float) -> Iterator[tuple[tuple[float, float, str], Box]]:
    """The places that a name may have: on the right, on the left, and a line or two higher or lower."""
    for shift in (0, LINE_HEIGHT, -LINE_HEIGHT, 2 * LINE_HEIGHT, -2 * LINE_HEIGHT):
        down = y + shift
        yield (x + gap, down, "left"), (x + gap, down - 7, x + gap + width, down + 7)
        yield (x - gap, down, "right"), (x - gap - width, down - 7, x - gap, down + 7)


def _trouble(box: Box, others: Sequence[Box], room: Place) -> float:
    """How much of others a box would cover; much more if it goes beyond the picture, where it may on the right."""
    outside = box[0] < 0 or box[1] < 0 or box[2] > room[0] + BESIDE or box[3] > room[1]
    return sum(_overlap(box, other) for other in others) + 1e6 * outside


def _overlap(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0
