"""Pictures of systems against a baseline, topic by topic: sorted differences, and one against the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Floats
from cranfield.errors import EvaluationError
from cranfield.evaluation import Scores
from cranfield.measures import Measure
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.plot_data import (
    LABELLED,
    MARKS,
    MeasureColumn,
    find_system,
    label_group,
    label_systems,
    label_topics,
    query_column,
    round_number,
    round_numbers,
    split_into_groups,
)
from cranfield.reporting.plots.theme import BETTER, INK, QUIET, SAME, WORSE, Palette
from cranfield.reporting.plots.vega_parts import (
    DIAGONAL,
    Channel,
    Row,
    faint_mark,
    flatten,
    inline_data,
    name_tooltip,
    nominal,
    quantitative,
    quote,
    value_tooltip,
)
from cranfield.tables import format_signed

BARS = 400  # topics with a bar each; of more, neighbours are put together
EQUAL = 1e-9  # a smaller difference is none


class TopicPairs(Record, eq=False):
    """A system and the baseline on the topics that both have, from the largest gain to the largest loss."""

    system: str
    base: str
    queries: list[str]
    ours: Floats
    theirs: Floats
    gain: Floats  # how much better the system is, whichever way the measure counts

    @property
    def n(self) -> int:
        return len(self.gain)

    @property
    def wins(self) -> int:
        return int((self.gain > 0).sum())

    @property
    def losses(self) -> int:
        return int((self.gain < 0).sum())

    @property
    def mean(self) -> float:
        """The mean difference."""
        return float((self.ours - self.theirs).mean()) if self.n else 0.0

    @property
    def sentence(self) -> str:
        """On how many topics the system is better, worse, the same."""
        same = self.n - self.wins - self.losses
        better = f"{self.system} is better than {self.base} on {self.wins:,} of {pluralize(self.n, 'topic')}"
        return f"{better}, worse on {self.losses:,}" + (f", the same on {same:,}" if same else "")


class PairedSystems(Record, eq=False):
    """Every system against the baseline."""

    column: MeasureColumn
    base: str
    pairs: list[TopicPairs]

    @property
    def alone(self) -> TopicPairs | None:
        """The pair, if there is just one."""
        return self.pairs[0] if len(self.pairs) == 1 else None

    @property
    def n(self) -> int:
        """The most topics that any of them has."""
        return max(pair.n for pair in self.pairs)

    @property
    def ranked(self) -> list[str]:
        """The systems by how many more topics they are better on than worse."""
        return [pair.system for pair in sorted(self.pairs, key=lambda pair: pair.losses - pair.wins)]

    @property
    def finding(self) -> str:
        best = max(self.pairs, key=lambda pair: pair.wins - pair.losses)
        if self.alone:
            return best.sentence
        if best.wins <= best.losses:
            return f"No system is better than {self.base} on more topics than it is worse on"
        return f"{best.sentence}: the best balance of {len(self.pairs)} systems"


def pair_systems(scores: Scores, measure: str | Measure | None, baseline: str | None) -> PairedSystems:
    """Every system against the baseline, which is the first unless one is named."""
    col, at = query_column(scores, measure), find_system(scores, baseline)
    systems, queries = label_systems(scores), label_topics(scores)
    if len(systems) < 2:
        raise EvaluationError("two runs or more are needed to be held against each other.")
    pairs = []
    for system, ours in zip(systems, col.values, strict=True):
        gain = col.sign * (ours - col.values[at])
        gain = np.where(np.abs(gain) < EQUAL, 0.0, gain)
        order = [int(j) for j in np.argsort(-gain, kind="stable") if not math.isnan(gain[j])]
        sides = ours[order], col.values[at][order]
        pairs.append(TopicPairs(system, systems[at], [queries[j] for j in order], *sides, gain[order]))
    del pairs[at]
    if not any(pair.n for pair in pairs):
        raise EvaluationError("no query was evaluated for both runs: there is no difference to draw.")
    return PairedSystems(col, systems[at], [pair for pair in pairs if pair.n])


# Differences


def differences(
    scores: Scores, measure: str | Measure | None = None, baseline: str | None = None, palette: Palette | None = None
) -> Plot:
    """What each topic gains or loses against a baseline, sorted; a panel for each further system."""
    found = pair_systems(scores, measure, baseline)
    col, pair, title = found.column, found.alone, found.finding
    parts = [f"{col.label}, {pluralize(found.n, 'topic')}"]
    if pair:
        parts.append(f"mean difference {format_signed(pair.mean)}")
        moved = pair.ours - pair.theirs
        ends = [f"{format_signed(float(moved[i]))} (topic {pair.queries[i]})" for i in (-1, 0)]
        more = f"{title}; mean difference {format_signed(pair.mean)}, from {ends[0]} to {ends[1]}."
        alt = f"Differences in {col.label} between {pair.system} and {pair.base}, topic by topic. {more}"
    else:
        counts = ", ".join(f"{one.system} {one.wins} and {one.losses}" for one in found.pairs[:6])
        rest = f" and {len(found.pairs) - 6} more systems" if len(found.pairs) > 6 else ""
        what = f"Differences in {col.label} of {len(found.pairs)} systems to {found.base}, topic by topic"
        alt = f"{what}. {title}. Better and worse on: {counts}{rest}."
    parts += _remarks(found, len(scores.queries))
    if found.n > _most_bars(found):
        parts.append("each bar is the mean of neighbours")
    view = _bars(pair, col) if pair else _bar_panels(found)
    return Plot.of(view, title, "; ".join(parts) + ".", alt, 640)


def _remarks(found: PairedSystems, n: int) -> list[str]:
    left_out = n - min(pair.n for pair in found.pairs)
    remarks = [f"{pluralize(left_out, 'topic')} that a run lacks left out"] if left_out else []
    return [*remarks, "less is better"] if found.column.sign < 0 else remarks


def _most_bars(found: PairedSystems) -> int:
    return max(20, min(BARS, MARKS // len(found.pairs)))


def _bar_data(pair: TopicPairs, most: int) -> Row:
    """The bars of a pair in arrays: where neighbours are put together, their means."""
    groups = split_into_groups(pair.n, most)
    ours = [float(pair.ours[g].mean()) for g in groups]
    theirs = [float(pair.theirs[g].mean()) for g in groups]
    gains = [float(pair.gain[g].mean()) for g in groups]
    return {
        "s": pair.system,
        "q": [label_group(pair.queries[g]) for g in groups],
        "a": round_numbers(ours),
        "b": round_numbers(theirs),
        "d": _differences(ours, theirs),
        "c": [_sign(gain) for gain in gains],
        "i": list(range(1, len(groups) + 1)),
    }


def _differences(ours: Iterable[float], theirs: Iterable[float]) -> list[float | None]:
    return round_numbers(a - b if abs(a - b) >= EQUAL else 0.0 for a, b in zip(ours, theirs, strict=True))


def _sign(gain: float) -> int:
    return (gain >= EQUAL) - (gain <= -EQUAL)


def _reach(data: Sequence[Row]) -> list[float]:
    """The range of differences, the same on both sides of zero."""
    most = max(abs(d) for row in data for d in row["d"])
    reach = max(0.1, math.ceil(most * 10 - 1e-9) / 10) if most <= 1 else most * 1.05
    return [-reach, reach]


def _coloured(better: str, worse: str) -> Channel:
    """Blue where the system is better, orange where it is worse."""
    words = f"datum.label == 1 ? {quote(better)} : {quote(worse)}"
    legend = {"orient": "top", "offset": 10, "values": [1, -1], "symbolType": "square", "labelExpr": words}
    scale = {"domain": [1, 0, -1], "range": [BETTER, SAME, WORSE]}
    return nominal("c", scale=scale, legend=legend | {"symbolOpacity": 1})


def _tooltip(found: MeasureColumn, ours: str, base: str, topic: str = "Topic") -> list[Channel]:
    return [
        name_tooltip("q", topic),
        value_tooltip("a", f"{found.label} of {ours}"),
        value_tooltip("b", f"{found.label} of {base}"),
        value_tooltip("d", "Difference", "+.4f"),
    ]


def _bars(pair: TopicPairs, col: MeasureColumn) -> Row:
    """A bar for each topic, with zero and the mean as lines."""
    data = _bar_data(pair, BARS)
    n = len(data["q"])
    labelled = n <= LABELLED
    axis = {
        "labels": labelled,
        "ticks": False,
        "labelAngle": -90,
        "labelLimit": 90,
        "domain": False,
        "labelFontSize": 11,
    }
    topic = nominal(
        "q", "Topics, from the largest gain to the largest loss", sort=None, axis=axis | {"labelPadding": 4}
    )
    y = quantitative("d", f"Difference in {col.label}", scale={"domain": _reach([data]), "nice": False})
    bars = {
        "data": inline_data([data]),
        "transform": flatten("q", "a", "b", "d", "c"),
        "mark": "bar",
        "encoding": {
            "x": topic | {"scale": {"paddingInner": 0.2}},
            "y": y,
            "color": _coloured(f"{pair.system} better", f"{pair.base} better"),
            "tooltip": _tooltip(col, pair.system, pair.base),
        },
    }
    zero = {"data": inline_data([{"d": 0}]), "mark": {"type": "rule", "color": QUIET}, "encoding": {"y": y}}
    mean = inline_data([{"d": round_number(pair.mean), "t": f"mean {format_signed(pair.mean)}"}])
    dashed = {"type": "rule", "color": INK, "strokeDash": [5, 3]}
    beside = {"y": y, "x": {"value": {"expr": "width"}}, "text": nominal("t")}
    lines = [
        zero,
        {"data": mean, "mark": dashed, "encoding": {"y": y}},
        {"data": mean, "mark": {"type": "text", "align": "left", "dx": 4}, "encoding": beside},
    ]
    width = {"step": max(12, min(40, 480 // n))} if labelled else 640
    return {"width": width, "height": 260, "layer": [bars, *lines]}


def _bar_panels(found: PairedSystems) -> Row:
    """A panel for each system, its topics in its own order."""
    data = [_bar_data(pair, _most_bars(found)) for pair in found.pairs]
    columns = 2 if len(data) <= 4 else 3 if len(data) <= 12 else 5
    width, height = 660 // columns - 20, 120 if columns < 5 else 70
    encoding = {
        "x": nominal("i", axis=None, scale={"paddingInner": 0.15}),
        "y": quantitative(
            "d", None, scale={"domain": _reach(data), "nice": False}, axis={"tickCount": 4, "format": "+.1f"}
        ),
        "color": _coloured("system better", f"{found.base} better"),
        "tooltip": [name_tooltip("s", "System"), *_tooltip(found.column, "the system", found.base)],
    }
    bars = {"mark": "bar", "encoding": encoding}
    zero = {"mark": {"type": "rule", "color": QUIET}, "encoding": {"y": {"datum": 0, "type": "quantitative"}}}
    return {
        "data": inline_data(data),
        # unfolded once for all panels: below a facet it is more than Vega-Lite can put in order
        "transform": flatten("q", "a", "b", "d", "c", "i"),
        "facet": {**nominal("s"), "sort": found.ranked, "header": {"labelLimit": width}},
        "columns": columns,
        "spacing": {"row": 12, "column": 20},
        "resolve": {"scale": {"x": "independent"}},
        "spec": {"width": width, "height": height, "layer": [bars, zero]},
    }


# One against the other


def scatter(
    scores: Scores, measure: str | Measure | None = None, baseline: str | None = None, palette: Palette | None = None
) -> Plot:
    """Every topic of one system against the baseline, with the diagonal; a panel for each further system."""
    found = pair_systems(scores, measure, baseline)
    col, pair = found.column, found.alone
    counts = found.n > min(2_000, MARKS // len(found.pairs))
    squares = max(4, min(30, math.isqrt(MARKS // len(found.pairs))))
    domain = col.reach
    data = [_dots(one, (domain[0], (domain[1] - domain[0]) / squares) if counts else None) for one in found.pairs]
    columns = 1 if pair else 3 if len(data) <= 12 else 6
    side = 380 if pair else 660 // columns - 24
    view = _scatter_view(found, data, domain, side, counts)
    if not pair:
        facet = {**nominal("s"), "sort": found.ranked, "header": {"labelLimit": side}}
        unfolding = flatten(*_arrays(data))
        panels = {"facet": facet, "columns": columns, "spacing": 16, "spec": view}
        view = {"data": inline_data(data), "transform": unfolding, **panels}
    where = "above" if col.sign > 0 else "below"
    which = pair.system if pair else "each system (upward)"
    parts = [
        f"{col.label} of {which} against {found.base}{'' if pair else ' (rightward)'}, {pluralize(found.n, 'topic')}"
    ]
    parts += [f"{where} the diagonal the system is better", *_remarks(found, len(scores.queries))]
    parts += ["the larger a mark, the more topics"] if counts else []
    title = found.finding
    mean = f" Mean difference {format_signed(pair.mean)}." if pair else ""
    alt = (
        f"{col.label} of {pair.system if pair else 'each system'} against {found.base}, topic by topic. {title}.{mean}"
    )
    return Plot.of(view, title, "; ".join(parts) + ".", alt, 600 if pair else 680)


def _scatter_view(found: PairedSystems, data: Sequence[Row], domain: Sequence[float], side: int, counts: bool) -> Row:
    """The diagonal and a dot for each topic; without data where a facet gives them."""
    col, pair = found.column, found.alone
    scale = {"domain": list(domain), "nice": False}
    ours = pair.system if pair else "the system"
    few = {"axis": {"values": [domain[0], sum(domain) / 2, domain[1]], "labelFontSize": 10}} if side < 120 else {}
    x = quantitative("b", f"{col.label} of {found.base}" if pair else None, scale=scale, **few)
    y = quantitative("a", f"{col.label} of {ours}" if pair else None, scale=scale, **few)
    low, high = domain
    diagonal = {
        "data": inline_data([{"b": low, "a": low, "B": high, "A": high}]),
        "mark": {"type": "rule", **DIAGONAL},
        "encoding": {"x": x, "y": y, "x2": {"field": "B"}, "y2": {"field": "A"}},
    }
    encoding: Row = {
        "x": x,
        "y": y,
        "color": _coloured(f"{ours if pair else 'system'} better", f"{found.base} better"),
        "tooltip": _tooltip(col, ours, found.base, "Topics" if counts else "Topic"),
    }
    mark = faint_mark("circle", 0.7, size=44 if pair and found.n <= 300 else 20)
    if counts:
        most = max(n for row in data for n in row["n"])
        scaled = {"type": "sqrt", "domain": [0, most], "range": [2, side / 2]}
        encoding["size"] = quantitative("n", None, scale=scaled, legend=None)
        encoding["tooltip"].insert(1, value_tooltip("n", "How many", ",d"))
    given: Row = {"data": inline_data(data), "transform": flatten(*_arrays(data))} if pair else {}
    return {"width": side, "height": side, "layer": [diagonal, {**given, "mark": mark, "encoding": encoding}]}


def _arrays(data: Sequence[Row]) -> list[str]:
    """The fields that hold an array."""
    return [field for field in data[0] if field != "s"]


def _dots(pair: TopicPairs, grid: tuple[float, float] | None) -> Row:
    """The dots of a pair in arrays; with a grid (where it starts, how wide its squares are) one for each square."""
    places: dict[tuple[int, ...], list[int]] = {}
    for i, (a, b, gain) in enumerate(zip(pair.ours.tolist(), pair.theirs.tolist(), pair.gain.tolist(), strict=True)):
        square = (i,) if grid is None else tuple(math.floor((side - grid[0]) / grid[1]) for side in (a, b))
        # better and worse are not put together, so that colours stay true
        places.setdefault((*square, _sign(gain)), []).append(i)
    found = list(places.values())
    ours = [float(pair.ours[at].mean()) for at in found]
    theirs = [float(pair.theirs[at].mean()) for at in found]
    row = {
        "s": pair.system,
        "a": round_numbers(ours),
        "b": round_numbers(theirs),
        "d": _differences(ours, theirs),
        "c": [key[-1] for key in places],
        "q": [label_group([pair.queries[i] for i in at]) for at in found],
    }
    return row if grid is None else row | {"n": [len(at) for at in found]}
