"""Estimates of recall, as text and as JSON: the plan of a sample, then the result of each method."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from cranfield.base import as_dict, pluralize
from cranfield.pooling import INTERVAL_NAMES, MethodResult, RecallReport, RelevantEstimate, SampleSize
from cranfield.reporting.pool_page.text import WIDTH, _replace_controls
from cranfield.tables import (
    MISSING,
    Cell,
    Table,
    dump_json,
    format_number,
    format_percent,
    format_signed,
    render_text,
    wrap_text,
)


def as_text(found: RecallReport, width: int, styled: bool, only_plan: bool = False, by_topic: bool = False) -> str:
    """The plan of a sample, then the estimates with their assumptions; or the plan alone."""
    narrow = min(width, WIDTH)
    lines = wrap_text(_opening(found), narrow)
    lines += ["", *(line for text in _plan(found) for line in wrap_text(text, narrow, "  "))]
    text = "\n".join(lines) + "\n"
    tables = [_plan_table(found)] if by_topic else []
    if not only_plan:
        made = [method for method in found.methods if method.overall is not None]
        if made:
            text += "\n" + render_text([_overall_table(made)], width, styled)
        text += "\n" + "\n".join(line for method in found.methods for line in _describe_method(method, narrow)) + "\n"
        tables += [_runs_table(found, made)] if found.runs else []
        tables += [_topic_table(method) for method in made] if by_topic else []
        notes = [line for note in _notes(found) for line in wrap_text(note, narrow)]
        text += "\n" + "\n".join(notes) + "\n" if notes else ""
    if tables:
        text += "\n" + render_text(tables, width, styled)
    return _replace_controls(text)


def _opening(found: RecallReport) -> str:
    what = f"{pluralize(found.judged, 'judgment')} of {pluralize(found.topics, 'topic')}"
    return f"{what} include {pluralize(found.known, 'relevant document')} (grade {found.rel:g} or higher)."


def _plan(found: RecallReport) -> Iterator[str]:
    plan = found.plan
    needed = plan.overall
    size = "" if needed.population is None else f", {pluralize(needed.population, 'pair')} of topic and document"
    yield f"To sample from the unjudged documents ({plan.population_is}{size}), at {100 * plan.level:g} % confidence:"
    kind = INTERVAL_NAMES[plan.kind]
    share = f"if it is about {format_percent(plan.expected)}" if plan.expected != 0.5 else "whatever it is"
    yield (
        f"{pluralize(needed.by_margin, 'document')} estimate the share of relevant ones to "
        f"± {format_percent(plan.margin)}, {share} ({kind} interval); see --per-topic for each topic."
    )
    if needed.by_target is None:
        why = "no document is known to be relevant" if not needed.known else "give --docs, the size of the collection"
        yield f"The number that would show a recall of {format_percent(plan.target)} is unknown: {why}."
    else:
        missing = math.floor(round(needed.known * (1 / plan.target - 1), 9))
        yield (
            f"{pluralize(needed.by_target, 'document')}, none of them relevant, show a recall of "
            f"{format_percent(plan.target)} or more over all topics, that is, at most {missing:,.0f} missing."
        )


def _plan_table(found: RecallReport) -> Table:
    rows = tuple(
        tuple(map(Cell, (needed.topic or "all", _count(needed.population), f"{needed.known:,}", *_needed(needed))))
        for needed in found.plan.topics
    )
    target = format_percent(found.plan.target)
    header = ("Topic", "Unjudged", "Relevant", f"to ± {format_percent(found.plan.margin)}", f"none, recall {target}")
    return Table("Documents to sample for each topic", header, rows)


def _needed(needed: SampleSize) -> tuple[str, str]:
    return f"{needed.by_margin:,}", _count(needed.by_target)


def _count(value: int | None) -> str:
    return MISSING if value is None else f"{value:,}"


def _overall_table(methods: list[MethodResult]) -> Table:
    rows = tuple((Cell(method.title), *_cells(method.overall)) for method in methods if method.overall is not None)
    return Table("", ("By", "Relevant", "from", "to", "Known", "Recall", "from", "to"), rows)


def _cells(estimate: RelevantEstimate) -> tuple[Cell, ...]:
    totals = [format_number(value, 1) for value in (estimate.total, estimate.low, estimate.high)]
    shares = [_share(value) for value in (estimate.recall, estimate.recall_low, estimate.recall_high)]
    return tuple(map(Cell, [*totals, f"{estimate.known:,}", *shares]))


def _share(value: float | None) -> str:
    return MISSING if value is None else format_percent(value)


def _describe_method(method: MethodResult, width: int) -> Iterator[str]:
    """The assumption of a method and remarks on its result, or why it has none."""
    title = method.title[:1].upper() + method.title[1:]
    if method.overall is None:
        yield from wrap_text(f"{title}: not estimated, {method.why_not}", width)
        return
    yield from wrap_text(f"{title}: {method.assumption}", width)
    for remark in _remarks(method, method.overall):
        yield from wrap_text(remark, width, "  ")


def _remarks(method: MethodResult, overall: RelevantEstimate) -> Iterator[str]:
    if overall.note:
        yield f"No estimate: {overall.note}."
    if method.name == "recapture":
        one, other = overall.details["finders"]
        figures = f"{overall.details['first']:,} and {overall.details['second']:,}, both {overall.details['both']:,}"
        yield f"Relevant documents of {one} and of {other}: {figures}; standard error {_error(overall)}."
    if method.name == "extrapolation":
        details = overall.details
        yield (
            f"{details['in_pool']:,} down to depth {details['depth']:,}, then {details['beyond']:,.1f} more "
            f"(C = {details['scale']:.3g}, s = {format_signed(details['exponent'], 2)}); documents known from outside "
            "the pool are not counted."
        )
    if method.name == "external":
        details = overall.details
        yield (
            f"Of {pluralize(details['named'], 'document')} known from elsewhere, {details['known_here']:,} are judged "
            f"relevant here, and {details['judged_non_relevant']:,} are judged non-relevant."
        )
    if method.name == "sampling" and overall.total is not None:
        details = overall.details
        yield f"{details['relevant']:,} of {pluralize(details['sampled'], 'document')} sampled are relevant."
    if overall.is_below_known:
        yield (
            f"This is less than the {overall.known:,} that are known, so the two groups are not independent: the "
            "estimate is a valid lower bound, but says nothing about recall."
        )
    yield from method.notes


def _error(overall: RelevantEstimate) -> str:
    return format_number(overall.details["standard_error"], 2)


def _runs_table(found: RecallReport, methods: list[MethodResult]) -> Table:
    """The recall of each run, of the known and of the estimated relevant documents."""
    # extrapolation covers the pool only; a run may have retrieved more of the other known documents
    whole = [method for method in methods if method.name != "extrapolation"]
    kept = [m for m in whole if m.overall is not None and m.overall.total and not m.overall.is_below_known]
    header = ("Run", "Relevant retrieved", "of known", *(f"by {method.name}" for method in kept))
    rows = []
    for run in found.runs:
        cells = [run.run, f"{run.found:,}", _share(run.recall)]
        for method in kept:
            assert method.overall is not None and method.overall.total is not None
            cells.append(_share(min(1.0, run.found / method.overall.total)))
        rows.append(tuple(map(Cell, cells)))
    return Table("Recall of the runs, over all topics", header, tuple(rows))


def _topic_table(method: MethodResult) -> Table:
    rows = tuple((Cell(one.topic or "all"), *_cells(one)) for one in method.topics)
    title = method.title[:1].upper() + method.title[1:]
    return Table(title, ("Topic", "Relevant", "from", "to", "Known", "Recall", "from", "to"), rows)


def _notes(found: RecallReport) -> Iterator[str]:
    if found.depth is not None:
        yield f"Runs are used down to depth {found.depth:,} ({found.depth_is})."
    yield from found.notes


def as_json(found: RecallReport) -> str:
    """All results in full precision; missing numbers are null."""
    content = {
        "known": found.known,
        "judged": found.judged,
        "topics": found.topics,
        "rel": found.rel,
        "level": found.level,
        "depth": found.depth,
        "depth_is": found.depth_is or None,
        "plan": as_dict(found.plan),
        "methods": [_method(method) for method in found.methods],
        "runs": [as_dict(run) for run in found.runs],
        "notes": list(found.notes),
    }
    return dump_json(content)


def _method(method: MethodResult) -> dict[str, Any]:
    return {
        "method": method.name,
        "title": method.title,
        "assumption": method.assumption,
        "not_estimated_because": method.why_not or None,
        "overall": None if method.overall is None else _estimate(method.overall),
        "topics": [_estimate(one) for one in method.topics],
        "notes": list(method.notes),
    }


def _estimate(one: RelevantEstimate) -> dict[str, Any]:
    return {
        "topic": one.topic,
        "known": one.known,
        "total": one.total,
        "low": one.low,
        "high": one.high,
        "recall": one.recall,
        "recall_low": one.recall_low,
        "recall_high": one.recall_high,
        "below_known": one.is_below_known,
        "details": dict(one.details),
        "note": one.note or None,
    }
