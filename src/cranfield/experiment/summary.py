"""What was found, in three sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from cranfield.base import pluralize
from cranfield.errors import CranfieldError
from cranfield.evaluation import JUDGED_DEPTH, Scores
from cranfield.experiment.step_inputs import Settings
from cranfield.reporting import (
    ReportContext,
    SystemPoint,
    compare_effectiveness,
    find_pareto_front,
    join_systems,
    read_costs,
)
from cranfield.stats import Comparison, compare
from cranfield.tables import format_milliseconds, format_number, format_p, format_percent, format_ratio

FAR = 100  # ranks down to which a recall is measured


def summary(scores: Scores, settings: Settings) -> list[str]:
    """Three sentences: of the leader, of differences and of judgments; where costs were measured, one is of them."""
    if settings.get("costs") is None:
        return list(sentences(scores, settings))
    material = ReportContext(scores, tuple(settings["baseline"]), costs=read_costs(settings["costs"]))
    if math.isnan(material.means[material.ranked[0]]):
        return list(sentences(scores, settings))
    return [_leader(material, settings), _behind_the_mean(material), _costs(material)]


def sentences(scores: Scores, settings: Settings) -> Iterator[str]:
    """Who leads; what may be said of differences; how much nobody judged."""
    material = ReportContext(scores, tuple(settings["baseline"]))
    means, names, label = material.means, material.systems, material.main.label
    first, *rest = material.ranked
    found = scores.interval(material.main_label, scores.runs[first].name)
    within = f" [{found.low:.3f}, {found.high:.3f}]" if found else ""
    where = f" of {settings['title']}" if settings["title"] else ""
    behind = f"; {names[rest[0]]} follows with {means[rest[0]]:.4f}" if rest else ""
    who = f"{names[first]} leads with" if rest and material.main.measure.is_quality else f"{names[first]} has"
    over = f"{pluralize(len(names), 'system')} on {pluralize(len(material.topics), 'topic')}{where}"
    if math.isnan(means[first]):
        yield f"{over}: no topic was evaluated."
        return
    yield f"{over}: {who} {label} {means[first]:.4f}{within}{behind}."
    yield _claim(scores, settings, material)
    yield _unjudged(scores)


def _claim(scores: Scores, settings: Settings, material: ReportContext) -> str:
    if len(scores.runs) < 2:
        return "With one system there is nothing to compare."
    try:
        found = compared(scores, settings)
    except CranfieldError as error:
        return f"Systems were not compared: {error}"
    told = [c for c in found.claims if c.measure == material.main_label and c.kind in ("claim", "no claim")]
    if not told:
        return "Nothing may be claimed of differences between systems."
    # that of the leader if there is one, without what it would take to say more
    leader = scores.runs[material.ranked[0]].name
    text = next((c.text for c in told if leader in (c.system, c.reference)), told[0].text)
    return re.split(r"(?<=\)\.) (?=[A-Z])", text, maxsplit=1)[0]


def _unjudged(scores: Scores) -> str:
    shares = {run.name: scores.unjudged(JUDGED_DEPTH, run.name) for run in scores.runs}
    known = {name: share for name, share in shares.items() if share == share}
    if not known or max(known.values()) == 0:
        return f"Every document in the top {JUDGED_DEPTH} is judged."
    low, high = min(known.values()), max(known.values())
    most = max(known, key=lambda name: known[name])
    if format_percent(low) == format_percent(high):
        return f"{format_percent(high)} of the top {JUDGED_DEPTH} is unjudged."
    return f"{format_percent(low)} to {format_percent(high)} of the top {JUDGED_DEPTH} is unjudged, most for {most}."


def compared(scores: Any, settings: Settings) -> Comparison:
    """A comparison by the measures that tell good systems from bad ones, topic by topic."""
    some: Scores = next(iter(scores.values())) if isinstance(scores, dict) else scores
    told = zip(some.labels, some.measures, strict=True)
    measures = [label for label, m in told if m.is_quality and m.aggregate == "mean" and not label.startswith("Judged")]
    if not measures:
        raise CranfieldError("no measure asked for says which system is better, topic by topic.")
    return compare(
        scores,
        settings["baseline"] or None,
        measures=measures,
        test=settings["test"],
        correction=settings["correction"],
        alpha=settings["alpha"],
        resamples=settings["resamples"],
        seed=_seed(settings),
    )


def _seed(settings: Settings) -> int:
    own = settings if "options" in settings else next(iter(settings["collections"].values()))
    return int(own["options"]["seed"])


# With costs


def _leader(material: ReportContext, settings: Settings) -> str:
    """Who leads, and from whom that can be told."""
    scores, names, label = material.scores, material.systems, material.main.label
    first = material.ranked[0]
    found = scores.interval(material.main_label, scores.runs[first].name)
    within = f" [{found.low:.3f}, {found.high:.3f}]" if found else ""
    where = f" of {settings['title']}" if settings["title"] else ""
    over = f"{pluralize(len(names), 'system')} on {pluralize(len(material.topics), 'topic')}{where}"
    leads = "leads with" if len(names) > 1 and material.main.measure.is_quality else "has"
    said = f"{over}: {names[first]} {leads} {label} {format_number(float(material.means[first]), 4)}{within}"
    if len(names) < 2:
        return f"{said}."
    try:
        column = compared(scores, settings).column(material.main_label)
    except CranfieldError as error:
        return f"{said}, but systems were not compared: {error}"
    runs = [run.name for run in scores.runs]
    named = [runs.index(name) for name in settings["baseline"] if runs.index(name) != first]
    others = [i for i in named or material.ranked[1:] if column.has(runs[first], runs[i])]
    return f"{said}{_apart(material, column, first, others)}."


def _apart(material: ReportContext, column: Any, first: int, others: list[int]) -> str:
    """Which others the leader is better than, and whether it is than the next of them."""
    if not others:
        return ""
    runs, names = material.scores.runs, material.systems
    pairs = {i: column.pair(runs[first].name, runs[i].name) for i in others}
    told = [i for i, pair in pairs.items() if pair.verdict == "better"]
    nearest = others[0]
    mean = format_number(float(material.means[nearest]), 4)
    p = format_p(pairs[nearest].p_adjusted)
    how = f"p {p if p.startswith('<') else f'= {p}'}, {column.design.method}"
    if len(told) == len(others):
        whom = names[nearest] if len(others) == 1 else f"all {len(others)} others"
        return f", significantly more than {whom}; {names[nearest]} is the nearest with {mean} ({how})"
    some = f", significantly more than {len(told)} of {len(others)} others, but" if told else ", but"
    return f"{some} cannot be told apart from {names[nearest]} with {mean} ({how})"


def _behind_the_mean(material: ReportContext) -> str:
    """What the mean of the leader hides: topics on which others are better, and documents that nobody judged."""
    first, names = material.ranked[0], material.systems
    gains = np.array([material.gains(first, i) for i in range(len(names))])
    losses = np.nanmin(np.where(np.isnan(gains), 0.0, gains), axis=0)
    lost = int((losses < 0).sum())
    unjudged = _judged(material.scores)
    if not lost or not material.main.measure.is_quality:
        said = f"No other system is better than {names[first]} on any topic"
        return f"{said}, and {unjudged[:1].lower()}{unjudged[1:]}"
    worst = int(np.argmin(losses))
    rival = int(np.nanargmin(np.where(np.isnan(gains[:, worst]), 0.0, gains[:, worst])))
    what = f"on {lost} of {pluralize(len(material.topics), 'topic')} another system is better than {names[first]}"
    most = f"most on topic {material.topics[worst]}, {names[rival]} by {format_number(-float(losses[worst]))}"
    return f"The mean hides that {what} ({most}), and {unjudged[:1].lower()}{unjudged[1:]}"


def _judged(scores: Scores) -> str:
    """How much nobody judged, among the first documents or, where all of those are judged, further down."""
    said = _unjudged(scores)
    if said.startswith("Every"):
        shares = [share for run in scores.runs if (share := scores.unjudged(FAR, run.name)) == share]
        if shares and max(shares) > 0:
            return f"{said[:-1]}, but up to {format_percent(max(shares))} of the top {FAR} is not."
    return said


def _costs(material: ReportContext) -> str:
    """What the leader takes, beside the fastest."""
    costs, first = material.costs, material.ranked[0]
    assert costs is not None
    front = find_pareto_front(material, costs)
    if not front.points:
        return "What systems cost could not be measured."
    best = max(front.points, key=lambda point: front.sign * point.mean)
    fastest = min(front.points, key=lambda point: point.latency.value)
    why = costs.unmeasured.get(material.scores.runs[first].name, "not measured")
    instead = "" if best.place == first else f"{material.systems[first]} has no costs of its own ({why}); "
    said = f"{instead}{best.system} takes {_latency(best)} a query"
    if best is fastest:
        slowest = max(front.points, key=lambda point: point.latency.value)
        ratio = format_ratio(slowest.latency.value, best.latency.value)
        return f"{said}, and no other system is faster; {slowest.system}, the slowest, takes {ratio} as long."
    error = "" if compare_effectiveness(best, fastest) else " (within error)"
    ratio = format_ratio(best.latency.value, fastest.latency.value)
    more = "more" if front.sign > 0 else "less"
    gain = f"{format_number(abs(best.mean - fastest.mean))} {more} {material.main.label}{error}"
    members = join_systems([point.system for point in front.members], 8)
    quick = f"{ratio} as long as {fastest.system}, the fastest, for {gain}"
    return f"{said}, {quick}; {members} are on the Pareto front."


def _latency(point: SystemPoint) -> str:
    low, high = point.latency.low, point.latency.high
    within = "" if low is None or high is None else f" [{format_milliseconds(low)}, {format_milliseconds(high)}]"
    return f"{format_milliseconds(point.latency.value)} ms{within}"
