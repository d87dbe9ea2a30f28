"""Pictures of the topics of a pool: how large each pool is and how much of it is relevant."""

from __future__ import annotations

from typing import Any, cast

from cranfield.base import pluralize
from cranfield.pooling import Diagnosis, TopicPool
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.plot_data import LABELLED, label_group, label_topics, round_number, split_into_groups
from cranfield.reporting.plots.pool_runs import kind_channels
from cranfield.reporting.plots.theme import BLUE, GRADES, GRID, GROUND, LINE, QUIET, RAMP
from cranfield.reporting.plots.vega_parts import Row, inline_data, name_tooltip, nominal, quantitative, value_tooltip

KINDS = ("relevant", "not relevant", "pooled, not judged")
FILLS, STROKES = (BLUE, GRID, GROUND), (BLUE, LINE, QUIET)
COLUMNS = 200  # of more topics, neighbours are put together


def pool_topics(diagnosis: Diagnosis) -> Plot:
    """The judged documents of each topic, relevant or not, and those of the pool that are not judged."""
    queries = label_topics(cast(Any, diagnosis.pooled))
    order = sorted(range(len(queries)), key=lambda i: (-diagnosis.topics[i].share, -diagnosis.topics[i].relevant, i))
    groups = split_into_groups(len(order), COLUMNS)
    kinds = KINDS if any(topic.pooled_unjudged for topic in diagnosis.topics) else KINDS[:-1]
    data: list[Row] = []
    for group in groups:
        members = order[group]
        label = label_group([queries[i] for i in members])
        for k, kind in enumerate(KINDS):
            n = sum(_parts(diagnosis.topics[i])[k] for i in members) / len(members)
            share = sum(diagnosis.topics[i].share for i in members) / len(members)
            # a topic without any document keeps its place
            if n or k == 0:
                data.append({"q": label, "k": kind, "o": k, "n": round_number(n), "r": round_number(share)})
    labelled = len(groups) <= LABELLED
    axis = {"ticks": False, "domain": False, "labels": labelled, "labelAngle": -90, "labelLimit": 90}
    view: Row = {
        "data": inline_data(data),
        "width": max(200, 13 * len(groups)) if labelled else 640,
        "height": 220,
        "mark": {"type": "bar", "strokeWidth": 1 if labelled else 0.3},
        "encoding": {
            "x": nominal(
                "q",
                "Topics, largest share of relevant documents first",
                sort=None,
                axis=axis,
                scale={"paddingInner": 0.2},
            ),
            "y": quantitative("n", "Documents", stack="zero"),
            "order": quantitative("o", None),
            **kind_channels("k", kinds, FILLS[: len(kinds)], STROKES[: len(kinds)]),
            "tooltip": [
                name_tooltip("q", "Topic"),
                name_tooltip("k", "Documents"),
                value_tooltip("n", "How many", ",.4~g"),
                value_tooltip("r", "Share relevant of the judged", ".1%"),
            ],
        },
    }
    title = _finding(diagnosis)
    subtitle = "Judged documents, relevant or not, and documents of the pool without a judgment."
    if len(groups) < len(queries):
        subtitle += f" Means of up to {groups[0].stop} neighbours."
    few = ", ".join(f"{queries[i]} {diagnosis.topics[i].share:.0%}" for i in order[:6])
    alt = f"Bars of the documents of {pluralize(len(queries), 'topic')}. {title}. Share relevant: {few}."
    return Plot.of(view, title, subtitle, alt, 560)


def _parts(topic: TopicPool) -> tuple[int, int, int]:
    return topic.relevant, topic.judged - topic.relevant, topic.pooled_unjudged


def _finding(diagnosis: Diagnosis) -> str:
    many, none = len(diagnosis.with_many), len(diagnosis.without_relevant)
    n = pluralize(len(diagnosis.topics), "topic")
    crowded = f"{many:,} of {n} have more than a third relevant" if many else f"None of {n} has over a third relevant"
    return f"{crowded}, {none:,} none at all" if none else crowded


def grade_distribution(diagnosis: Diagnosis) -> Plot:
    """How many judgments have each grade."""
    counts = diagnosis.grades
    total = sum(counts.values())
    data = [{"g": f"{grade:g}", "v": grade, "n": n, "p": n / total} for grade, n in counts.items()]
    known = list(counts)
    scale = {"domain": [min(known), max(known[-1], known[0] + 1)], "range": list(GRADES)}
    place: Row = {
        "y": nominal("g", "Grade", sort=None, axis={"ticks": False, "domain": False}),
        "x": quantitative("n", "Judgments"),
    }
    tooltip = [name_tooltip("g", "Grade"), value_tooltip("n", "Judgments", ",d"), value_tooltip("p", "Share", ".1%")]
    bars = {
        "name": RAMP,
        "mark": {"type": "bar", "stroke": LINE, "strokeWidth": 0.5},
        "encoding": place | {"fill": quantitative("v", None, scale=scale, legend=None), "tooltip": tooltip},
    }
    texts = {
        "mark": {"type": "text", "align": "left", "dx": 6, "color": QUIET},
        "encoding": place | {"text": {"field": "n", "type": "quantitative", "format": ",d"}},
    }
    view = {"data": inline_data(data), "width": 340, "height": {"step": 24}, "layer": [bars, texts]}
    rel, found = diagnosis.pooled.rel, diagnosis.relevant
    share = f"{found / total:.0%}" if total else "none"
    title = f"{share} of {pluralize(total, 'judgment')} are of grade {rel:g} or higher"
    told_counts = ", ".join(f"{n:,} of grade {grade:g}" for grade, n in counts.items())
    return Plot.of(view, title, "How many judgments have each grade.", f"{title}: {told_counts}.", 420)
