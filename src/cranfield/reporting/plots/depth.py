"""Pictures of what happens down the ranking: values over k, the gain of one topic, the weight of ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.base import join_names, pluralize, replace
from cranfield.data import Floats
from cranfield.errors import CranfieldError, EvaluationError, MeasureError
from cranfield.evaluation import Scores
from cranfield.joining import JudgedRun
from cranfield.measures import DCG, Measure, parse_measure
from cranfield.reporting.catalogue import compute_rank_weights
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.plot_data import (
    MeasureColumn,
    align_to_queries,
    choose_measures,
    compute_from_hits,
    compute_mean,
    compute_measure,
    find_leaders,
    find_query,
    format_label,
    join_systems,
    label_systems,
    make_distinct,
    require_room,
    resolve_measure,
    round_number,
    round_numbers,
)
from cranfield.reporting.plots.theme import GRADES, QUIET, RAMP, UNJUDGED, WIDTH, Palette, assign_colours
from cranfield.reporting.plots.vega_parts import (
    Row,
    choose_highlighted,
    flatten,
    has_direct_labels,
    highlight_note,
    inline_data,
    line_layers,
    name_tooltip,
    nominal,
    number_array,
    quantitative,
    value_tooltip,
)
from cranfield.tables import format_number

RANKS = {"tickMinStep": 1, "format": "d"}


# Values over k


def cutoffs(
    scores: Scores,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    depth: int = 100,
    palette: Palette | None = None,
) -> Plot:
    """nDCG@k, P@k and R@k, or other measures with a cutoff, over k."""
    if depth < 2:
        raise CranfieldError(f"depth {depth}: expected at least 2 ranks to draw a line through.")
    asked = [_with_cutoff(scores, one) for one in choose_measures(measures, ("nDCG", "P", "R"))]
    titles = [_at_k(measure) for measure in asked]
    systems = label_systems(scores)
    palette = palette or assign_colours(systems)
    ks = cutoffs_to(depth)
    curves = [MeasureColumn(title, one, _over_k(scores, one, ks)) for title, one in zip(titles, asked, strict=True)]
    worth = np.nan_to_num(curves[0].values).mean(axis=1) * curves[0].sign
    ranked = [systems[i] for i in np.argsort(-worth, kind="stable")]
    # names beside the lines take room
    is_wide = has_direct_labels(choose_highlighted(ranked))
    size = (420, 320) if len(asked) == 1 else (260, 220) if is_wide else (200, 240)
    panels = [_over_k_panel(curve, ks, systems, ranked, palette, size, picks=i == 0) for i, curve in enumerate(curves)]
    view = panels[0] if len(panels) == 1 else {"concat": panels, "columns": 2 if is_wide else 3, "spacing": 24}
    title = _over_k_finding(systems, curves[0], ks)
    n = pluralize(len(scores.queries), "topic")
    subtitle = f"Means over {n}, k from 1 to {depth:,} on a logarithmic scale.{highlight_note(systems)}"
    at = _landmarks(ks)
    told_values = "; ".join(
        f"{s} " + ", ".join(format_number(float(curves[0].values[systems.index(s), ks.index(k)])) for k in at)
        for s in ranked[:6]
    )
    where = f"{titles[0]} at k = {', '.join(map(str, at))}"
    alt = f"{join_systems(titles)} over k of {join_systems(systems)}, means over {n}. {title}. {where}: {told_values}."
    return Plot.of(view, title, subtitle, alt, WIDTH if len(panels) == 1 else 760)


def cutoffs_to(depth: int) -> list[int]:
    """The cutoffs to compute: all up to 20, then ever fewer.

    >>> cutoffs_to(30)[18:]
    [19, 20, 22, 24, 26, 28, 30]
    """
    ks, k = [], 1
    while k < depth:
        ks.append(k)
        k += max(1, k // 10)
    return [*ks, depth]


def _landmarks(ks: Sequence[int]) -> list[int]:
    return [k for k in dict.fromkeys((1, 10, ks[-1])) if k in ks]


def _with_cutoff(scores: Scores, measure: str | Measure) -> Measure:
    """A measure that has a cutoff; which one does not matter."""
    try:
        kind = resolve_measure(scores, measure)
    except MeasureError:
        if isinstance(measure, Measure) or "@" in measure:
            raise
        kind = resolve_measure(scores, f"{measure}@10")  # it cannot do without one
    if "cutoff" not in kind.parameters or kind.at != "cutoff" or kind.aggregate == "run":
        raise MeasureError(
            f"{kind.name} has no values over k: take a measure with a cutoff, e.g. nDCG, P, R, Success or RR."
        )
    return kind


def _at_k(measure: Measure) -> str:
    return format_label(str(replace(measure, cutoff=1))).removesuffix("@1") + "@k"


def _over_k(scores: Scores, measure: Measure, ks: Sequence[int]) -> Floats:
    """The mean of each system at each cutoff."""
    cut = [replace(measure, cutoff=k) for k in ks]
    table = []
    for run in scores.runs:
        values = compute_from_hits(run, lambda judged: np.array([compute_measure(one, judged) for one in cut]))
        table.append([compute_mean(scores, row) for row in align_to_queries(scores, run, values)])
    return np.array(table)


def _over_k_panel(
    curve: MeasureColumn,
    ks: Sequence[int],
    systems: Sequence[str],
    ranked: Sequence[str],
    palette: Palette,
    size: tuple[int, int],
    picks: bool,
) -> Row:
    ticks = [k for k in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000) if k <= ks[-1]]
    x = quantitative(
        "k", "k", scale={"type": "log", "domain": [1, ks[-1]], "nice": False}, axis={"values": ticks, "format": "d"}
    )
    y = quantitative("v", curve.label, scale={"domain": curve.reach, "nice": False})
    data = [{"s": s, "v": round_numbers(row)} for s, row in zip(systems, curve.values, strict=True)]
    tooltip = [name_tooltip("s", "System"), value_tooltip("k", "k", "d"), value_tooltip("v", curve.label)]
    unfolding = flatten("v", k=number_array(ks))
    layers = line_layers(data, unfolding, (x, y), ranked, palette, size, tooltip, picks=picks)
    return {"width": size[0], "height": size[1], "layer": layers}


def _over_k_finding(systems: Sequence[str], curve: MeasureColumn, ks: Sequence[int]) -> str:
    """Who is best, at every k or at some that people look at."""
    if len(systems) == 1:
        return f"How {curve.label} of {systems[0]} changes with k"
    worth = curve.sign * np.nan_to_num(curve.values)
    ahead = worth >= worth.max(axis=0) - 1e-12
    always = [system for system, leads in zip(systems, ahead, strict=True) if leads.all()]
    if always:
        return f"{join_systems(always)} {'has' if len(always) == 1 else 'have'} the best {curve.label} at every k"
    leaders: dict[str, list[str]] = {}
    for k in _landmarks(ks):
        leaders.setdefault(systems[int(np.argmax(ahead[:, ks.index(k)]))], []).append(str(k))
    return f"Best {curve.label}: " + ", ".join(f"{system} at k = {join_systems(at)}" for system, at in leaders.items())


# The weight of ranks

USUAL = ("P@10", "DCG@10", "DCG", "RBP(p=0.5,max_rel=1)", "RBP(p=0.8,max_rel=1)", "INSQ(max_rel=1)")


def weights(
    measures: str | Measure | Sequence[str | Measure] | None = None, depth: int = 20, palette: Palette | None = None
) -> Plot:
    """How much of a measure's weight falls on each rank, for measures whose weights do not depend on the ranking."""
    if depth < 2:
        raise CranfieldError(f"depth {depth}: expected at least 2 ranks to draw a line through.")
    asked = [one if isinstance(one, Measure) else parse_measure(one) for one in choose_measures(measures, USUAL)]
    require_room(depth * len(asked), f"{depth:,} ranks of {pluralize(len(asked), 'measure')}")
    found = {str(one): compute_rank_weights(one, depth) for one in asked}
    weighed = {label: weight for label, weight in found.items() if weight is not None and any(weight)}
    without = [label for label in found if label not in weighed]
    if not weighed:
        why = asked[0].shown_weighting or "it depends on the ranking"
        raise MeasureError(f"{without[0]} gives ranks no weight of their own: {why}.")
    shares = dict(
        zip(make_distinct([format_label(label) for label in weighed]), map(_shares, weighed.values()), strict=True)
    )
    palette = palette or assign_colours(shares)
    view = _weights_view(shares, list(weighed.values()), depth, palette)
    first = min(3, depth)
    heads = {label: float(share[:first].sum()) for label, share in shares.items()}
    title = _weights_finding(heads, first)
    subtitle = "Weights do not depend on the ranking; as shares they can be compared."
    if without:
        subtitle += f" Not drawn, since theirs do: {', '.join(map(format_label, without))}."
    told_heads = ", ".join(f"{label} {share:.0%}" for label, share in heads.items())
    alt = f"The weight of ranks 1 to {depth} by measure. {title}. Share of the first {first} ranks: {told_heads}."
    return Plot.of(view, title, subtitle, alt, 580)


def _shares(weight: Sequence[float]) -> Floats:
    return np.array(weight) / math.fsum(weight)


def _weights_view(shares: dict[str, Floats], weighed: Sequence[Sequence[float]], depth: int, palette: Palette) -> Row:
    top = max(float(share.max()) for share in shares.values())
    x = quantitative("i", "Rank", scale={"domain": [1, depth], "nice": False}, axis=RANKS)
    scale = {"domain": [0, min(1.0, math.ceil(top * 20) / 20)], "nice": False}
    y = quantitative("v", f"Share of the weight of the first {depth} ranks", scale=scale, axis={"format": ".0%"})
    data = [
        {"s": label, "v": round_numbers(share), "w": round_numbers(weight)}
        for (label, share), weight in zip(shares.items(), weighed, strict=True)
    ]
    tooltip = [
        name_tooltip("s", "Measure"),
        value_tooltip("i", "Rank", "d"),
        value_tooltip("v", "Share", ".2%"),
        value_tooltip("w", "Weight", ".6"),
    ]
    unfolding = flatten("v", "w", i=number_array(range(1, depth + 1)))
    size = (460, 300)
    # points, since nothing lies between two ranks
    mark = {"point": {"filled": True, "size": 22}} if depth <= 50 else {}
    layers = line_layers(data, unfolding, (x, y), list(shares), palette, size, tooltip, mark)
    return {"width": size[0], "height": size[1], "layer": layers}


def _weights_finding(heads: dict[str, float], first: int) -> str:
    most, least = max(heads, key=lambda label: heads[label]), min(heads, key=lambda label: heads[label])
    finding = f"The first {first} ranks carry {heads[most]:.0%} of the weight of {most}"
    return finding if most == least else f"{finding}, {heads[least]:.0%} of that of {least}"


# Gain


def gain(
    scores: Scores,
    query: str | None = None,
    measure: str | Measure | None = None,
    depth: int = 20,
    palette: Palette | None = None,
) -> Plot:
    """How the gain of one topic adds up down the ranking, against the best ranking there could be."""
    if depth < 2:
        raise CranfieldError(f"depth {depth}: expected at least 2 ranks to draw a line through.")
    require_room(depth * len(scores.runs), f"{depth:,} ranks of {pluralize(len(scores.runs), 'system')}")
    query = _the_query(scores, query)
    topic, dcg = format_label(query), _dcg(scores, measure)
    systems = label_systems(scores)
    there = [i for i, run in enumerate(scores.runs) if query in run.judged.queries]
    if not there:
        raise EvaluationError(f"no run was evaluated for query {query!r}.")
    curves = {systems[i]: _adding_up(scores, i, query, dcg, depth) for i in there}
    ideal = _best(scores.runs[there[0]].judged, query, dcg, depth)
    if not ideal[-1] > 0:
        raise EvaluationError(
            f"query {query!r} has no document that gains anything: there is no ideal to compare with."
        )
    shares = {system: float(curve[-1] / ideal[-1]) for system, curve in curves.items()}
    ranked = sorted(shares, key=lambda system: -shares[system])
    strip = _grade_strip(scores, {systems[i]: i for i in there}, query, ranked, depth)
    own = {channel: "independent" for channel in ("color", "strokeDash", "fill")}
    view = {
        "vconcat": [_gain_panel(curves, ideal, str(dcg), ranked, palette or assign_colours(systems), depth), strip],
        "resolve": {"scale": own, "legend": own},
        "spacing": 20,
    }
    could = f"of the gain that {depth} ranks could give"
    best = find_leaders(shares)
    title = f"Topic {topic}: {join_systems(best)} {'has' if len(best) == 1 else 'have'} {shares[best[0]]:.0%} {could}"
    subtitle = f"{dcg} down the ranking against that of the best ranking; below, the grades found, dashed if unjudged."
    told_shares = ", ".join(f"{system} {shares[system]:.0%}" for system in ranked[:6])
    what = f"Cumulated gain of {join_systems(ranked)} for topic {topic} by rank, against the ideal"
    alt = f"{what}. {title}. At rank {depth}: {told_shares}."
    return Plot.of(view, title, subtitle + highlight_note(ranked), alt, 640)


def _the_query(scores: Scores, query: str | None) -> str:
    if query is None and len(scores.queries) != 1:
        raise EvaluationError(
            f"gain is drawn for one query: name it with --query, e.g. {join_names(scores.queries, 3)}."
        )
    return scores.queries[0 if query is None else find_query(scores, query)]


def _dcg(scores: Scores, measure: str | Measure | None) -> DCG:
    """What adds up: DCG with the gains and discount of the measure, whether that is DCG or nDCG."""
    kind = resolve_measure(scores, measure or "DCG")
    if not isinstance(kind, DCG):
        raise MeasureError(f"{kind} does not add up gains: take DCG or nDCG, e.g. DCG(gain='exp').")
    return DCG(gain=kind.gain, discount=kind.discount, base=kind.base)


def _adding_up(scores: Scores, i: int, query: str, dcg: DCG, depth: int) -> Floats:
    """DCG of a query at each rank."""
    run = scores.runs[i]
    cut = [replace(dcg, cutoff=k) for k in range(1, depth + 1)]
    values = compute_from_hits(run, lambda judged: np.array([compute_measure(one, judged) for one in cut]))
    found: Floats = values[:, run.judged.queries.index(query)]
    return found


def _best(judged: JudgedRun, query: str, dcg: DCG, depth: int) -> Floats:
    """DCG of the best ranking of a query at each rank."""
    i = judged.queries.index(query)
    return np.array([replace(dcg, cutoff=k).ideal(judged)[i] for k in range(1, depth + 1)])


def _gain_panel(
    curves: dict[str, Floats], ideal: Floats, title: str, ranked: Sequence[str], palette: Palette, depth: int
) -> Row:
    size = (460, 280)
    high = float(max(ideal.max(), *(curve.max() for curve in curves.values())))
    low = min(0.0, *(float(curve.min()) for curve in curves.values()))
    x = quantitative("i", None, scale={"domain": [0.5, depth + 0.5], "nice": False}, axis=RANKS)
    y = quantitative("v", title, scale={"domain": [round_number(low), round_number(high * 1.08)], "nice": False})
    data = [{"s": s, "v": round_numbers(curve), "z": round_numbers(curve / ideal)} for s, curve in curves.items()]
    tooltip = [
        name_tooltip("s", "System"),
        value_tooltip("i", "Rank", "d"),
        value_tooltip("v", title),
        value_tooltip("z", "of the ideal", ".1%"),
    ]
    unfolding = flatten("v", "z", i=number_array(range(1, depth + 1)))
    layers = line_layers(data, unfolding, (x, y), ranked, palette, size, tooltip)
    best = inline_data({"i": i, "v": round_number(float(one))} for i, one in enumerate(ideal, 1))
    line = {
        "data": best,
        "mark": {"type": "line", "color": QUIET, "strokeDash": [5, 3], "point": {"color": QUIET, "size": 14}},
        "encoding": {"x": x, "y": y, "tooltip": [value_tooltip("i", "Rank", "d"), value_tooltip("v", "Ideal")]},
    }
    text = {"type": "text", "align": "right", "dy": -9, "color": QUIET, "text": "ideal"}
    label = {
        "data": inline_data([{"v": round_number(float(ideal[-1]))}]),
        "mark": text,
        "encoding": {"x": {"value": size[0]}, "y": y},
    }
    return {"width": size[0], "height": size[1], "layer": [line, *layers, label]}


def _grade_strip(scores: Scores, systems: dict[str, int], query: str, ranked: Sequence[str], depth: int) -> Row:
    """The grades of the first documents of each system, one hue from light to dark; only outlined if unjudged."""
    data = [{"s": system, **_grades(scores, systems[system], query, depth)} for system in ranked]
    known = sorted({grade for row in data for grade in row["g"] if grade is not None} | {0.0})
    step = 16 if len(ranked) <= 20 else 10
    axis = {"labelLimit": 140, "ticks": False, "domain": False, "labelFontSize": 12 if step > 10 else 9}
    place = {
        "x": quantitative("a", "Rank", scale={"domain": [0.5, depth + 0.5], "nice": False}, axis=RANKS),
        "x2": {"field": "b"},
        "y": nominal("s", axis=axis, scale={"domain": list(ranked), "paddingInner": 0.15}),
        "tooltip": [name_tooltip("s", "System"), value_tooltip("i", "Rank", "d"), name_tooltip("t", "Grade")],
    }
    scale = {"domain": [known[0], max(known[-1], known[0] + 1)], "range": list(GRADES)}
    legend = {"values": known[:: max(1, len(known) // 8)], "format": "~g", "type": "symbol", "symbolType": "square"}
    fill = quantitative("g", "Grade", scale=scale, legend=legend | {"symbolStrokeWidth": 0.5})
    transform = [
        *flatten("g", "i"),
        {"calculate": "datum.i - 0.46", "as": "a"},
        {"calculate": "datum.i + 0.46", "as": "b"},
        {"calculate": "isValid(datum.g) ? format(datum.g, '~g') : 'unjudged'", "as": "t"},
    ]
    outlined = {"type": "rect", "fillOpacity": 0, "stroke": UNJUDGED, "strokeDash": [2, 2]}
    layers: list[Row] = [
        {
            "transform": [{"filter": "isValid(datum.g)"}],
            "name": f"{RAMP}_cells",
            "mark": {"type": "rect", "stroke": UNJUDGED, "strokeWidth": 0.5},
            "encoding": place | {"fill": fill},
        },
        {"transform": [{"filter": "!isValid(datum.g)"}], "mark": outlined, "encoding": place},
    ]
    cells = {"name": RAMP, "width": 460, "height": {"step": step}, "layer": layers}
    return {"data": inline_data(data), "transform": transform, **cells}


def _grades(scores: Scores, i: int, query: str, depth: int) -> dict[str, Any]:
    """The grades of the first ranks of a query, null where a document has none."""
    judged = scores.runs[i].judged
    at = judged.queries.index(query)
    grades = compute_from_hits(scores.runs[i], lambda whole: _grades_by_rank(whole, depth))
    retrieved = min(depth, int(judged.retrieved[at]))
    return {"g": round_numbers(grades[:retrieved, at]), "i": list(range(1, retrieved + 1))}


def _grades_by_rank(judged: JudgedRun, depth: int) -> Floats:
    grades = np.full((depth, judged.n), np.nan)
    top = judged.rank <= depth
    grades[judged.rank[top] - 1, judged.query[top]] = judged.grade[top]
    return grades
