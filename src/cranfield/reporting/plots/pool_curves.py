"""Pictures of what judgments buy: rankings that hold, relevant documents found, and those still to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from cranfield.base import pluralize
from cranfield.pooling import BudgetCurve, BudgetCurves, Diagnosis, Fidelity
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.plot_data import join_systems, round_number, round_numbers
from cranfield.reporting.plots.theme import BLUE, INK, ORANGE, assign_colours
from cranfield.reporting.plots.vega_parts import (
    DIAGONAL,
    Row,
    flatten,
    inline_data,
    line_layers,
    name_tooltip,
    quantitative,
    value_tooltip,
)
from cranfield.tables import format_number

SIZE = (440, 280)
ENOUGH = 0.9  # a tau from which on rankings are commonly taken for the same (Voorhees, SIGIR 2000)
What = Literal["tau", "tau_ap", "rmse"]
TITLES = {"tau": "Kendall's tau", "tau_ap": "tau_AP", "rmse": "RMSE of means"}


def budget_curves(diagnosis: Diagnosis, what: What = "tau", measure: str | None = None) -> Plot:
    """How near the ranking of runs, or their means, come to those with all judgments, by how many are made."""
    found, label = diagnosis.budgets, measure or diagnosis.measures[0]
    strategies = [curve.strategy for curve in found.curves]
    values = [[getattr(_of(point.fidelity, label), what) for point in curve.points] for curve in found.curves]
    data = [
        {
            "s": curve.strategy,
            "j": [point.judgments for point in curve.points],
            "d": [point.depth for point in curve.points],
            "v": round_numbers([float("nan") if one is None else one for one in own]),
        }
        for curve, own in zip(found.curves, values, strict=True)
    ]
    title_y = f"{TITLES[what]}, {label}"
    known = [one for own in values for one in own if one is not None]
    most = max((point.judgments for curve in found.curves for point in curve.points), default=1)
    x = quantitative("j", "Judgments", scale={"domain": [0, most], "nice": False}, axis={"format": ",d"})
    y = quantitative("v", title_y, scale={"domain": _reach(what, known), "nice": False})
    tooltip = [
        name_tooltip("s", "Strategy"),
        value_tooltip("j", "Judgments", ",d"),
        value_tooltip("d", "As many as a pool of depth", "d"),
        value_tooltip("v", title_y),
    ]
    mark = {"point": {"filled": True, "size": 24}}
    layers = line_layers(
        data, flatten("v", "j", "d"), (x, y), _ranked(found), assign_colours(strategies), SIZE, tooltip, mark
    )
    if what != "rmse":
        layers.insert(0, _line_at(ENOUGH, y))
    view = {"width": SIZE[0], "height": SIZE[1], "layer": layers}
    title = _budget_finding(found, what, label)
    pool = f"pools of depth 1 to {diagnosis.pooled.depth:,}"
    subtitle = (
        f"Against all {pluralize(found.judgments, 'judgment')}; every point has as many as {pool}, topic by topic."
    )
    ends = ", ".join(f"{c.strategy} {_shown(own[-1])}" for c, own in zip(found.curves, values, strict=True))
    alt = f"{title_y} by number of judgments, for {', '.join(strategies)}. {title}. At the end: {ends}."
    return Plot.of(view, title, subtitle, alt)


def _of(fidelity: Sequence[Fidelity], label: str) -> Fidelity:
    return next(one for one in fidelity if one.measure == label)


def _reach(what: What, known: Sequence[float]) -> list[float]:
    if what == "rmse":
        return [0, round_number(1.1 * max([*known, 1e-6])) or 1]
    lowest = min(known, default=0.0)
    return [0.5 if lowest >= 0.5 else 0.0 if lowest >= 0 else -1.0, 1.0]


def _line_at(level: float, y: Row) -> Row:
    return {
        "data": inline_data([{"v": level}]),
        "mark": {"type": "rule", **DIAGONAL},
        "encoding": {"y": {**y, "axis": {}}},
    }


def _ranked(found: BudgetCurves) -> list[str]:
    """Strategies from that which finds most relevant documents on the way."""
    worth = {curve.strategy: -sum(point.relevant for point in curve.points) for curve in found.curves}
    return sorted(worth, key=lambda name: worth[name])


def _shown(value: float | None) -> str:
    return "–" if value is None else format_number(value)


def _budget_finding(found: BudgetCurves, what: What, label: str) -> str:
    if what == "rmse":
        half = {
            curve.strategy: _of(curve.points[len(curve.points) // 2].fidelity, label).rmse for curve in found.curves
        }
        best = min(half, key=lambda name: half[name])
        n = found.curves[0].points[len(found.curves[0].points) // 2].judgments
        near = f"means of {label} nearest to those with all, ± {format_number(half[best])}"
        return f"With {pluralize(n, 'judgment')} {best} has {near}"
    first = {curve.strategy: find_sufficient_budget(curve, what, label) for curve in found.curves}
    reached = {name: n for name, n in first.items() if n is not None}
    if not reached:
        return f"No strategy ranks the runs as all judgments do ({TITLES[what]} of {label} below {ENOUGH} throughout)"
    fewest = min(reached.values())
    first_ones = [name for name, n in reached.items() if n == fewest]
    verb = "ranks" if len(first_ones) == 1 else "rank"
    since = pluralize(fewest, "judgment")
    return f"{join_systems(first_ones)} {verb} the runs much as all judgments do from {since} on ({label})"


def find_sufficient_budget(curve: BudgetCurve, what: What, label: str) -> int | None:
    """From how many judgments on a curve stays at or above what is enough."""
    first = None
    for point in curve.points:
        value_here = getattr(_of(point.fidelity, label), what)
        if value_here is None or value_here < ENOUGH - 1e-9:
            first = None
        elif first is None:
            first = point.judgments
    return first


def relevant_found(diagnosis: Diagnosis) -> Plot:
    """How many relevant documents each strategy has found after so many judgments of every topic."""
    found = diagnosis.budgets
    data = [
        {
            "s": curve.strategy,
            "j": [0, *(one.judgments for one in curve.found)],
            "t": [0, *(one.per_topic for one in curve.found)],
            "v": [0, *(one.relevant for one in curve.found)],
        }
        for curve in found.curves
    ]
    strategies = [curve.strategy for curve in found.curves]
    most = max((one.judgments for curve in found.curves for one in curve.found), default=1)
    x = quantitative("j", "Judgments", scale={"domain": [0, most], "nice": False}, axis={"format": ",d"})
    top = max(found.relevant_in_pool, 1)
    y = quantitative("v", "Relevant documents found", scale={"domain": [0, top], "nice": False}, axis={"format": ",d"})
    tooltip = [
        name_tooltip("s", "Strategy"),
        value_tooltip("j", "Judgments", ",d"),
        value_tooltip("t", "Of each topic, up to", ",d"),
        value_tooltip("v", "Relevant found", ",d"),
    ]
    layers = line_layers(
        data, flatten("v", "j", "t"), (x, y), _ranked(found), assign_colours(strategies), SIZE, tooltip
    )
    view = {"width": SIZE[0], "height": SIZE[1], "layer": layers}
    title = _found_finding(found, most)
    outside = found.relevant - found.relevant_in_pool
    beyond = f"; {outside:,} more are judged relevant outside of it" if outside else ""
    subtitle = f"All topics are judged in step. The pool holds {found.relevant_in_pool:,} relevant documents{beyond}."
    alt = f"Relevant documents found by number of judgments, for {', '.join(strategies)}. {title}."
    return Plot.of(view, title, subtitle, alt)


def _found_finding(found: BudgetCurves, most: int) -> str:
    half = {curve.strategy: _found_by(curve, most / 2) for curve in found.curves}
    best = max(half, key=lambda name: half[name])
    if not found.relevant_in_pool:
        return "The pool has no relevant document"
    share = half[best] / found.relevant_in_pool
    depth = half.get("depth")
    plain = "" if depth is None or best == "depth" else f", depth order {depth / found.relevant_in_pool:.0%}"
    return f"With half of the judgments {best} finds {share:.0%} of the relevant documents{plain}"


def _found_by(curve: BudgetCurve, judgments: float) -> int:
    return max((one.relevant for one in curve.found if one.judgments <= judgments), default=0)


def new_relevant(diagnosis: Diagnosis) -> Plot:
    """How many relevant documents come up at each depth of the pool, and how that would go on."""
    new = diagnosis.new_relevant
    depth, law = len(new.by_depth), new.law
    x = quantitative(
        "d", "Depth of the pool", scale={"domain": [0, new.to + 0.5], "nice": False}, axis={"tickMinStep": 1}
    )
    high = max([1e-6, float(new.by_depth.max(initial=0)), 0.0 if law is None else law.at(1)])
    y = quantitative(
        "n", "New relevant documents a topic", scale={"domain": [0, round_number(1.08 * high)], "nice": False}
    )
    points = {
        "data": inline_data({"d": d, "n": round_number(float(n))} for d, n in enumerate(new.by_depth, 1)),
        "mark": {"type": "point", "filled": True, "size": 45, "color": INK, "opacity": 1},
        "encoding": {
            "x": x,
            "y": y,
            "tooltip": [value_tooltip("d", "Depth", "d"), value_tooltip("n", "New relevant a topic", ".3f")],
        },
    }
    layers: list[Row] = [points]
    if law is not None and law.falls:
        layers = [*_fitted(new.to, depth, law.at, (x, y)), points]
    view = {"width": SIZE[0], "height": SIZE[1], "layer": layers}
    title = _new_finding(diagnosis)
    subtitle = "Relevant documents that no run has higher up, mean over topics."
    if law is not None and law.falls:
        form = f"n = {law.scale:.3g} · d^{format_number(law.exponent, 2)} − 1"
        subtitle += f" The line is {form} (Zobel), dashed where it is a guess."
    alt = f"New relevant documents by depth of the pool. {title}."
    return Plot.of(view, title, subtitle, alt)


def _fitted(to: int, depth: int, at: Callable[[float], float], axes: tuple[Row, Row]) -> list[Row]:
    steps = [1 + (to - 1) * i / 120 for i in range(121)]
    x, y = axes
    layers = []
    for kept, colour, dash in (
        ([d for d in steps if d <= depth] + [depth], BLUE, [1, 0]),
        ([depth] + [d for d in steps if d > depth], ORANGE, [5, 3]),
    ):
        data = inline_data({"d": round_number(d), "n": round_number(at(d))} for d in kept)
        mark = {"type": "line", "color": colour, "strokeDash": dash}
        layers.append({"data": data, "mark": mark, "encoding": {"x": x, "y": y}})
    return layers


def _new_finding(diagnosis: Diagnosis) -> str:
    new = diagnosis.new_relevant
    depth = len(new.by_depth)
    if new.law is None:
        return "A pool of depth 1 does not tell how new relevant documents go on"
    if new.beyond is None:
        return "New relevant documents do not become fewer with depth, so that nothing can be foretold"
    if not new.counts.sum():
        return "The pool has no relevant document"
    last = float(new.by_depth[-1])
    ahead = f"{new.beyond:,.0f} more in all" if new.beyond >= 0.5 else "hardly any more"
    return f"Depth {depth:,} brings {format_number(last, 2)} new relevant documents a topic, depth {new.to:,} {ahead}"
