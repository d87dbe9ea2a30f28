"""Pictures of the runs behind a pool: what each brought in, how alike they are, what leaving one out does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from cranfield.base import pluralize
from cranfield.pooling import Contribution, Diagnosis
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.plot_data import format_label, label_systems, make_distinct, round_number
from cranfield.reporting.plots.theme import BLUE, GRADES, GRID, GROUND, INK, LINE, ORANGE, QUIET, RAMP
from cranfield.reporting.plots.vega_parts import Row, inline_data, name_tooltip, nominal, quantitative, value_tooltip
from cranfield.tables import format_number, format_signed

WIDTH = 460
# what a document of the pool is, from what matters most
KINDS = ("relevant, no other has it", "relevant", "not relevant", "not judged")
FILLS = (ORANGE, BLUE, GRID, GROUND)
STROKES = (ORANGE, BLUE, LINE, QUIET)


def label_runs(diagnosis: Diagnosis) -> list[str]:
    """The runs as they can be drawn, told apart."""
    return label_systems(cast(Any, diagnosis.pooled))


def kind_channels(field: str, kinds: Sequence[str], fills: Sequence[str], strokes: Sequence[str]) -> Row:
    """Fill and outline by what a document is; what is not judged is outlined only."""
    legend = {"orient": "top", "symbolType": "square", "symbolStrokeWidth": 1, "columns": 4, "labelLimit": 260}
    scale = {"domain": list(kinds), "range": list(fills)}
    return {
        "fill": nominal(field, scale=scale, legend=legend),
        # with the same legend, as Vega-Lite makes one of both
        "stroke": nominal(field, scale={"domain": list(kinds), "range": list(strokes)}, legend=legend),
    }


def contributions(diagnosis: Diagnosis, groups: bool = False) -> Plot:
    """What each run, or each group, brought into the pool: relevant, not relevant, not judged."""
    found = diagnosis.groups if groups else diagnosis.runs
    labels = make_distinct([format_label(one.name) for one in found]) if groups else label_runs(diagnosis)
    order = sorted(range(len(found)), key=lambda i: (-found[i].unique_relevant, -found[i].relevant))
    kinds = KINDS if any(one.pooled > one.judged for one in found) else KINDS[:-1]
    data = [
        {"s": labels[i], "k": kind, "o": k, "n": n, "u": found[i].unique, "p": found[i].pooled}
        for i in order
        for k, (kind, n) in enumerate(zip(KINDS, _parts(found[i]), strict=True))
        if n
    ]
    step = 20 if len(found) <= 40 else 13
    view = {
        "data": inline_data(data),
        "width": WIDTH,
        "height": {"step": step},
        "mark": {"type": "bar", "strokeWidth": 1},
        "encoding": {
            "y": nominal("s", sort=None, axis=_axis(step), scale={"paddingInner": 0.25}),
            "x": quantitative("n", "Documents in the pool", stack="zero", axis={"tickMinStep": 1}),
            "order": quantitative("o", None),
            **kind_channels("k", kinds, FILLS[: len(kinds)], STROKES[: len(kinds)]),
            "tooltip": [
                name_tooltip("s", "Group" if groups else "Run"),
                name_tooltip("k", "Documents"),
                value_tooltip("n", "How many", ",d"),
                value_tooltip("u", "Only here", ",d"),
                value_tooltip("p", "Pooled", ",d"),
            ],
        },
    }
    title = _contribution_finding(found, [labels[i] for i in order], order)
    what = "group" if groups else "run"
    subtitle = f"Documents of each {what} down to depth {diagnosis.pooled.depth:,}, over all topics."
    most = ", ".join(f"{labels[i]} {found[i].unique_relevant:,} of {found[i].relevant:,}" for i in order[:6])
    alt = f"Bars of what each {what} brought into the pool. {title}. Relevant ones that no other has: {most}."
    return Plot.of(view, title, subtitle, alt)


def _axis(step: int) -> Row:
    return {"ticks": False, "domain": False, "labelPadding": 6, "labelFontSize": 12 if step > 13 else 10}


def _parts(one: Contribution) -> tuple[int, int, int, int]:
    shared = one.relevant - one.unique_relevant
    return one.unique_relevant, shared, one.judged - one.relevant, one.pooled - one.judged


def _contribution_finding(found: Sequence[Contribution], labels: Sequence[str], order: Sequence[int]) -> str:
    total = sum(one.unique_relevant for one in found)
    first = found[order[0]]
    if not total:
        return "No relevant document was found by one alone"
    if len(found) == 1:
        return f"{labels[0]} is alone: all of its {pluralize(total, 'relevant document')} are its own"
    most = f"{labels[0]} most, {first.unique_relevant:,}"
    return f"{pluralize(total, 'relevant document')} found by one alone, by {most}"


def overlap(diagnosis: Diagnosis) -> Plot:
    """How alike the lists of any two runs are: the share of documents of either that both have."""
    labels = label_runs(diagnosis)
    order = _near_each_other(diagnosis)
    matrix = diagnosis.overlap
    data = [
        {"a": labels[i], "b": labels[j], "v": round_number(float(matrix[i, j]))} for i in order for j in order if i != j
    ]
    ranked = [labels[i] for i in order]
    n = len(ranked)
    step = 30 if n <= 16 else 18 if n <= 30 else 9
    bare = {"ticks": False, "domain": False, "labelPadding": 5, "labelFontSize": 12 if n <= 30 else 9}
    place = {
        "x": nominal("b", axis=bare | {"labelAngle": -90, "labelLimit": 140}, scale={"domain": ranked}),
        "y": nominal("a", axis=bare, scale={"domain": ranked}),
        "tooltip": [name_tooltip("a", "Run"), name_tooltip("b", "and"), value_tooltip("v", "Overlap", ".3f")],
    }
    shade = quantitative(
        "v", "Overlap", scale={"domain": [0, 1], "range": list(GRADES)}, legend={"gradientThickness": 12}
    )
    layers: list[Row] = [{"name": RAMP, "mark": "rect", "encoding": place | {"color": shade}}]
    if n <= 16:
        ink = {"condition": {"test": "datum.v > 0.5", "value": "#fefefe"}, "value": "#1d1f22"}
        text = {"type": "text", "fontSize": 11}
        figures = {"text": {"field": "v", "type": "quantitative", "format": ".2f"}, "color": ink}
        layers.append({"name": f"{RAMP}_figures", "mark": text, "encoding": place | figures})
    view = {"data": inline_data(data), "width": {"step": step}, "height": {"step": step}, "layer": layers}
    title = _overlap_finding(diagnosis, labels)
    depth = diagnosis.pooled.depth
    subtitle = f"Share of the first {depth:,} documents of either run that both have (Jaccard), mean over topics."
    alt = f"Matrix of the overlap of {pluralize(n, 'run')} at depth {depth:,}. {title}."
    return Plot.of(view, title, subtitle, alt)


def _near_each_other(diagnosis: Diagnosis) -> list[int]:
    """Runs in an order in which those that are alike stand together: average linkage of 1 − overlap."""
    n = len(diagnosis.overlap)
    if n < 3:
        return list(range(n))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = 1 - diagnosis.overlap
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=n <= 200)
    return [int(i) for i in leaves_list(tree)]


def _overlap_finding(diagnosis: Diagnosis, labels: Sequence[str]) -> str:
    matrix, n = diagnosis.overlap, len(labels)
    if n < 2:
        return "There is one run, which is like no other"
    pairs = [(float(matrix[i, j]), i, j) for i in range(n) for j in range(i + 1, n)]
    most, least = max(pairs), min(pairs)
    alike = f"{labels[most[1]]} and {labels[most[2]]} share {most[0]:.0%} of their documents"
    if n == 2:
        return alike
    return f"{alike}, {labels[least[1]]} and {labels[least[2]]} {least[0]:.0%}"


def leave_out(diagnosis: Diagnosis, measure: str | None = None) -> Plot:
    """The mean of each run with all judgments, and without those that it alone brought in."""
    label = measure or diagnosis.measures[0]
    sides = diagnosis.reusability.groups or diagnosis.reusability.runs
    by_group = bool(diagnosis.reusability.groups)
    labels = dict(zip(diagnosis.pooled.names, label_runs(diagnosis), strict=True))
    changes = [change for side in sides for change in side.effect(label).changes]
    changes.sort(key=lambda change: (change.rank_before, change.run))
    data = [
        {
            "s": labels[change.run],
            "b": round_number(change.before),
            "a": round_number(change.after),
            "d": round_number(change.delta),
            "t": format_signed(change.delta, 4),
            "r": f"{change.rank_before} → {change.rank_after}",
        }
        for change in changes
    ]
    high = max([1e-9, *(max(change.before, change.after) for change in changes)])
    scale = {"domain": [0, 1] if high <= 1 else [0, round_number(high)], "nice": False}
    step = 20 if len(data) <= 40 else 13
    y = nominal("s", sort=None, axis=_axis(step))
    tooltip = [
        name_tooltip("s", "Run"),
        value_tooltip("b", "All judgments"),
        value_tooltip("a", "Left out"),
        value_tooltip("d", "Change", "+.4f"),
        name_tooltip("r", "Rank"),
    ]
    before, after = quantitative("b", f"Mean {label}", scale=scale), quantitative("a", f"Mean {label}", scale=scale)
    hollow = {"type": "point", "filled": False, "size": 60, "color": INK, "fill": GROUND, "opacity": 1}
    figure = {"type": "text", "align": "left", "dx": 6, "color": QUIET, "fontSize": 11}
    layers: list[Row] = [
        {
            "mark": {"type": "rule", "color": LINE, "strokeWidth": 2},
            "encoding": {"x": before, "x2": {"field": "a"}, "y": y},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "color": INK, "opacity": 1},
            "encoding": {"x": before, "y": y, "tooltip": tooltip},
        },
        {"mark": hollow, "encoding": {"x": after, "y": y, "tooltip": tooltip}},
        {"mark": figure, "encoding": {"x": {"value": WIDTH}, "y": y, "text": nominal("t")}},
    ]
    view = {"data": inline_data(data), "width": WIDTH, "height": {"step": step}, "layer": layers}
    standing = next(
        one
        for one in (diagnosis.reusability.of_groups if by_group else diagnosis.reusability.of_runs)
        if one.measure == label
    )
    worst = standing.worst
    title = f"{labels[worst.run]} would lose most had it not been pooled, {format_number(abs(worst.delta), 4)} {label}"
    if not worst.delta:
        title = f"No run would lose any {label} had it not been pooled"
    whose = "its group alone" if by_group else "it alone"
    subtitle = f"Mean {label} with all judgments (filled), and without those that {whose} brought in (hollow)."
    told_changes = ", ".join(f"{row['s']} {row['t']}" for row in data[:6])
    alt = f"Change of mean {label} of each run when what {whose} brought in is left out. {title}. {told_changes}."
    return Plot.of(view, title, subtitle, alt)
