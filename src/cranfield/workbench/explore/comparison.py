"""A system against another: every measure with test and effect size, and the topics that make the difference."""

from __future__ import annotations

import math

from cranfield.base import join_names
from cranfield.errors import CranfieldError
from cranfield.evaluation import TOP, Scores
from cranfield.measures import Measure
from cranfield.reporting import column, percent
from cranfield.stats import METHODS, Comparison, Pair, compare
from cranfield.workbench.explore.request_context import Visit
from cranfield.workbench.explore.score_cache import with_runs
from cranfield.workbench.explore.svg import bars, reach, scatter
from cranfield.workbench.explore.table_query import Heading, Listing, Row
from cranfield.workbench.pages import Page
from cranfield.workbench.params import bad

DIGITS = 12  # to which differences are rounded before they are won, tied or lost


def comparison(visit: Visit) -> Page:
    """Two systems, topic by topic."""
    if len(visit.explored.systems) < 2:
        return Page("one_system.html", {"systems": 1}, "Compare", {"visit": visit})
    name, base = chosen_pair(visit)
    test = visit.asked.choice("test", tuple(METHODS), "t")
    scores = visit.scores
    pair_scores = with_runs(scores, [base, name])
    label = _measure_asked(visit)
    pairs, found, why = _compared(visit, pair_scores, name, base, test)
    rows = _topics(visit, pair_scores, label)
    sign = 1 if visit.measure(label).more_is_better else -1
    headings = [
        Heading("query", "Topic", lambda row: row["query"], is_figure=False),
        Heading("system", name, lambda row: row["system"]),
        Heading("baseline", base, lambda row: row["baseline"]),
        Heading("difference", "Difference", lambda row: row["difference"]),
        Heading("relevant", "Relevant", lambda row: row["relevant"]),
    ]
    listing = Listing(
        visit.asked, headings, rows, lambda row: f"{row['query']} {row['title']}", sort="-difference", per_page=50
    )
    value = {
        "collection": visit.explored.name,
        "system": name,
        "baseline": base,
        "test": test,
        "measure": label,
        "pairs": pairs,
        "not_compared": why,
        "claims": [] if found is None else _claims(found, label),
        "warnings": _warnings(scores, found, name, base),
        "design": None if found is None else found.caption,
        **listing.to_dict(),
    }
    known = [row for row in rows if row["difference"] is not None]
    drawing = (
        [row["query"] for row in known],
        [row["title"] for row in known],
        [row["system"] for row in known],
        [row["baseline"] for row in known],
    )
    ends = reach(column(pair_scores, label))
    more = {
        "visit": visit,
        "listing": listing,
        "bars": bars(*drawing, sign),
        "scatter": scatter(*drawing, ends, sign),
        "tests": METHODS,
        "names": [system.name for system in visit.explored.systems],
        "main": next((pair for pair in pairs if pair["measure"] == label), None),
    }
    return Page("compare.html", value, f"{name} against {base}", more, tag=visit.tag("compare"))


def chosen_pair(visit: Visit) -> tuple[str, str]:
    """The systems asked for; else the best one, against the baseline or the best of the others."""
    asked, base = visit.asked.many("system"), visit.asked.text("baseline")
    if len(asked) > 2 or (len(asked) == 2 and base):
        raise bad("two systems are compared: a system and a baseline.")
    name = asked[0] if asked else ""
    base = asked[1] if len(asked) == 2 else base
    for one in filter(None, (name, base)):
        visit.system(one)
    ranked, usual = ranking_of(visit), visit.explored.baseline
    if not base:
        others = ranked if name else ranked[1:]
        base = usual if usual is not None and usual != name else next(one for one in others if one != name)
    name = name or next(one for one in ranked if one != base)
    if name == base:
        raise bad(f"{name!r:.80} cannot be compared with itself: choose two systems.")
    return name, base


def ranking_of(visit: Visit) -> list[str]:
    """All systems, the best first by the main measure."""
    scores, main = visit.scores, visit.main
    sign = 1 if visit.measure(main).more_is_better else -1
    means = {run.name: scores.mean(main, run.name) for run in scores.runs}
    return sorted(means, key=lambda name: (math.isnan(means[name]), -sign * means[name]))


def _measure_asked(visit: Visit) -> str:
    """The measure whose topics are shown."""
    return visit.asked.choice("by", [label for label, _ in visit.measures], visit.main)


def _compared(
    visit: Visit, scores: Scores, name: str, base: str, test: str
) -> tuple[list[Row], Comparison | None, str | None]:
    """Each measure compared; of those that are not, why."""
    labels = [label for label, measure in visit.measures if measure.is_quality and measure.aggregate == "mean"]
    if not labels:
        return [], None, "None of these measures says which system is better, topic by topic."
    others = [label for label, _ in visit.measures if label not in labels]
    verbs = ("does", "is") if len(others) == 1 else ("do", "are")
    left_out = (
        f"{', '.join(others)} {verbs[0]} not say which system is better, topic by topic, and {verbs[1]} not compared."
        if others
        else None
    )
    explored = visit.explored
    try:
        found = compare(
            scores,
            base,
            measures=labels,
            test=test,
            alpha=explored.alpha,
            resamples=explored.resamples,
            seed=explored.seed,
        )
    except CranfieldError as error:
        return [], None, str(error)
    pairs = [_pair(found.pair(name, base, label), visit.measure(label)) for label in labels]
    return pairs, found, left_out


def _pair(pair: Pair, measure: Measure) -> Row:
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
        "test": pair.test,
        "statistic": pair.statistic,
        "p": pair.p,
        "beside": pair.beside,
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


def _claims(found: Comparison, label: str) -> list[str]:
    """What may be said by the measure shown, and what a user would notice."""
    return [claim.text for claim in found.claims if claim.measure in (label, "")]


def _warnings(scores: Scores, found: Comparison | None, name: str, base: str) -> list[str]:
    if found is not None:
        return list(found.warnings)
    shares = {one: scores.unjudged(TOP, one) for one in (name, base)}
    unjudged = [f"{percent(share)} of the top {TOP} of {one}" for one, share in shares.items() if share > 0]
    return [f"Not judged: {join_names(unjudged)}."] if unjudged else []


def _topics(visit: Visit, scores: Scores, label: str) -> list[Row]:
    base, ours = (run.values[scores.labels.index(label)].tolist() for run in scores.runs)
    return [
        {
            "query": query,
            "title": visit.title_of(query),
            "system": _plain(a),
            "baseline": _plain(b),
            "difference": None if math.isnan(a - b) else round(a - b, DIGITS) + 0.0,
            "relevant": sum(grade >= visit.explored.rel for grade in judged.values()),
        }
        for query, judged, a, b in zip(scores.queries, visit.explored.qrels.judged, ours, base, strict=True)
    ]


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
