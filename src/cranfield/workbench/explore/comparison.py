"""The comparison of two systems: every measure with test and effect size, and the differences by topic."""

from __future__ import annotations

import math

from cranfield.base import join_names
from cranfield.errors import CranfieldError
from cranfield.evaluation import JUDGED_DEPTH, Scores
from cranfield.measures import Measure
from cranfield.reporting import measure_column
from cranfield.stats import PAIRED_TESTS, Comparison, PairComparison, compare
from cranfield.tables import format_percent
from cranfield.workbench.explore.request_context import RequestContext
from cranfield.workbench.explore.score_cache import select_systems
from cranfield.workbench.explore.svg import axis_range, layout_bars, layout_scatter
from cranfield.workbench.explore.table_query import Heading, PagedTable, Row, none_if_nan
from cranfield.workbench.pages import Page
from cranfield.workbench.params import bad_request

DIGITS = 12  # differences are rounded to this many before they count as wins, ties or losses


def comparison(context: RequestContext) -> Page:
    """Two systems, topic by topic."""
    if len(context.collection.systems) < 2:
        return Page("one_system.html", {"systems": 1}, "Compare", {"context": context})
    name, base = choose_pair(context)
    test = context.params.choice("test", tuple(PAIRED_TESTS), "t")
    scores = context.scores
    pair_scores = select_systems(scores, [base, name])
    label = context.params.choice("by", [label for label, _ in context.measures], context.main)
    pairs, result, not_compared = _compare(context, pair_scores, name, base, test)
    rows = _topic_rows(context, pair_scores, label)
    sign = 1 if context.measure(label).more_is_better else -1
    headings = [
        Heading("query", "Topic", is_figure=False),
        Heading("system", name),
        Heading("baseline", base),
        Heading("difference", "Difference"),
        Heading("relevant", "Relevant"),
    ]
    table = PagedTable(context.params, headings, rows, ("query", "title"), sort="-difference", per_page=50)
    value = {
        "collection": context.collection.name,
        "system": name,
        "baseline": base,
        "test": test,
        "measure": label,
        "pairs": pairs,
        "not_compared": not_compared,
        "claims": [] if result is None else [claim.text for claim in result.claims if claim.measure in (label, "")],
        "warnings": _warnings(scores, result, name, base),
        "design": None if result is None else result.caption,
        **table.to_dict(),
    }
    known = [row for row in rows if row["difference"] is not None]
    drawing = (
        [row["query"] for row in known],
        [row["title"] for row in known],
        [row["system"] for row in known],
        [row["baseline"] for row in known],
    )
    ends = axis_range(measure_column(pair_scores, label))
    extra = {
        "context": context,
        "table": table,
        "bars": layout_bars(*drawing, sign),
        "scatter": layout_scatter(*drawing, ends, sign),
        "tests": {name: method.title for name, method in PAIRED_TESTS.items()},
        "names": [system.name for system in context.collection.systems],
        "main": next((pair for pair in pairs if pair["measure"] == label), None),
    }
    return Page("compare.html", value, f"{name} against {base}", extra, tag=context.tag("compare"))


def choose_pair(context: RequestContext) -> tuple[str, str]:
    """The requested systems; by default the best one, and the baseline or the next best."""
    names, base = context.params.many("system"), context.params.text("baseline")
    if len(names) > 2 or (len(names) == 2 and base):
        raise bad_request("expected two systems: a system and a baseline.")
    name = names[0] if names else ""
    base = names[1] if len(names) == 2 else base
    for one in filter(None, (name, base)):
        context.system(one)
    ranked, default = rank_systems(context), context.collection.baseline
    if not base:
        others = ranked if name else ranked[1:]
        base = default if default is not None and default != name else next(one for one in others if one != name)
    name = name or next(one for one in ranked if one != base)
    if name == base:
        raise bad_request(f"{name!r:.80} cannot be compared with itself: choose two systems.")
    return name, base


def rank_systems(context: RequestContext) -> list[str]:
    """The names of all systems, the best by the main measure first."""
    scores, main = context.scores, context.main
    sign = 1 if context.measure(main).more_is_better else -1
    means = {run.name: scores.mean(main, run.name) for run in scores.runs}
    return sorted(means, key=lambda name: (math.isnan(means[name]), -sign * means[name]))


def _compare(
    context: RequestContext, scores: Scores, name: str, base: str, test: str
) -> tuple[list[Row], Comparison | None, str | None]:
    """The comparison by each measure, and why some measures or all are not compared."""
    labels = [label for label, measure in context.measures if measure.is_quality and measure.aggregate == "mean"]
    if not labels:
        return [], None, "None of these measures can compare systems topic by topic."
    others = [label for label, _ in context.measures if label not in labels]
    left_out = f"Not compared, as not a measure of quality by topic: {', '.join(others)}." if others else None
    collection = context.collection
    try:
        result = compare(
            scores,
            base,
            measures=labels,
            test=test,
            alpha=collection.alpha,
            resamples=collection.resamples,
            seed=collection.seed,
        )
    except CranfieldError as error:
        return [], None, str(error)
    pairs = [_pair_row(result.pair(name, base, label), context.measure(label)) for label in labels]
    return pairs, result, left_out


def _pair_row(pair: PairComparison, measure: Measure) -> Row:
    effect = pair.effect
    return {
        "measure": pair.measure,
        "title": measure.title,
        "topics": pair.n,
        "mean": effect.mean_a,
        "baseline_mean": effect.mean_b,
        "difference": pair.difference,
        "low": pair.low,
        "high": pair.high,
        "relative": effect.relative_change,
        "test": pair.design.method,
        "statistic": pair.statistic,
        "p": pair.p,
        "beside": pair.design.beside_name,
        "p_beside": pair.p_beside,
        "d_z": effect.d_z,
        "d_z_low": effect.d_z_low,
        "d_z_high": effect.d_z_high,
        "superiority": effect.superiority,
        "wins": effect.wins,
        "ties": effect.ties,
        "losses": effect.losses,
        "verdict": pair.verdict,
        "note": pair.note,
    }


def _warnings(scores: Scores, result: Comparison | None, name: str, base: str) -> list[str]:
    if result is not None:
        return list(result.warnings)
    shares = {one: scores.unjudged(JUDGED_DEPTH, one) for one in (name, base)}
    known = {one: format_percent(share) for one, share in shares.items() if share > 0}
    unjudged = [f"{share} of the top {JUDGED_DEPTH} of {one}" for one, share in known.items()]
    return [f"Not judged: {join_names(unjudged)}."] if unjudged else []


def _topic_rows(context: RequestContext, scores: Scores, label: str) -> list[Row]:
    base, ours = (run.values[scores.labels.index(label)].tolist() for run in scores.runs)
    return [
        {
            "query": query,
            "title": context.title_of(query),
            "system": none_if_nan(a),
            "baseline": none_if_nan(b),
            "difference": None if math.isnan(a - b) else round(a - b, DIGITS) + 0.0,
            "relevant": sum(grade >= context.collection.rel for grade in judged.values()),
        }
        for query, judged, a, b in zip(scores.queries, context.collection.qrels.judged, ours, base, strict=True)
    ]
