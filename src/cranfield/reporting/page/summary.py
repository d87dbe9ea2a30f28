"""The answer first: who is ahead, how sure that is, what was found, and what speaks against it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from cranfield.base import pluralize
from cranfield.evaluation import JUDGED_DEPTH
from cranfield.reporting.page.context import ReportContext
from cranfield.reporting.page.html import Content, escape, join_html, tag
from cranfield.reporting.plots.plot_data import join_systems
from cranfield.stats import Comparison
from cranfield.tables import format_number, format_percent

CLAIMS = 2  # of the comparison that are in the summary


def summarize(context: ReportContext) -> list[Content]:
    """The summary, a paragraph each."""
    facts = [*_standing(context), *_found(context), *_unjudged(context)]
    return [join_html(facts, " "), *_claimed(context)]


def make_title(context: ReportContext) -> str:
    """What the report says in a line."""
    first = context.ranked[0]
    mean = float(context.means[first])
    if math.isnan(mean):
        return make_heading(context)
    figure = f"{context.main.label} {format_number(mean, 4)}"
    if len(context.systems) == 1 or not context.main.measure.is_quality:
        return f"{context.systems[first]} has {figure}"
    best = _leaders(context)
    return f"{join_systems([context.systems[i] for i in best])} {'leads' if len(best) == 1 else 'lead'} with {figure}"


def make_heading(context: ReportContext) -> str:
    systems, n = pluralize(len(context.systems), "system"), pluralize(len(context.topics), "topic")
    return f"{systems} on {n}"


def _standing(context: ReportContext) -> Iterator[Content]:
    """Who is first, and who follows."""
    main, means, systems = context.main, context.means, context.systems
    first = context.ranked[0]
    if math.isnan(means[first]):
        yield "No query was evaluated, so that there is nothing to compare."
        return
    best = _leaders(context)
    who = join_html((tag("b", systems[i]) for i in best), ", ") if len(best) <= 4 else escape(f"{len(best)} systems")
    found = context.scores.interval(context.main_label, context.scores.runs[first].name)
    within = f" [{format_number(found.low)}, {format_number(found.high)}]" if found else ""
    figure = f"{main.label} of {format_number(float(means[first]), 4)}{within}"
    if len(systems) == 1 or not main.measure.is_quality:
        yield join_html([who, f" has a mean {figure}."])
        return
    which = "highest" if main.sign > 0 else "lowest"
    verb = "has" if len(best) == 1 else "share"
    rest = [i for i in context.ranked if i not in best]
    behind = f" {systems[rest[0]]} follows with {format_number(float(means[rest[0]]), 4)}." if rest else ""
    yield join_html([who, f" {verb} the {which} mean {figure} over {pluralize(len(context.topics), 'topic')}.{behind}"])


def _leaders(context: ReportContext) -> list[int]:
    """The systems with the best mean."""
    top = context.means[context.ranked[0]]
    return [i for i in context.ranked if abs(context.means[i] - top) < 1e-12]


def _claimed(context: ReportContext) -> Iterator[Content]:
    """What may be said of differences in the main measure."""
    comparison = context.comparison
    if isinstance(comparison, str):
        return
    told = [
        claim.text
        for claim in comparison.claims
        if claim.measure == context.main_label and claim.kind in ("claim", "no claim")
    ]
    yield from told[:CLAIMS]
    link = tag("a", _more(comparison, len(comparison.claims) - len(told[:CLAIMS])), href="#comparisons")
    yield join_html(["More under ", link, "."])


def _more(comparison: Comparison, rest: int) -> str:
    parts = ["Comparisons"]
    parts += [pluralize(rest, "further claim")] if rest else []
    parts += [pluralize(len(comparison.warnings), "warning")] if comparison.warnings else []
    return f"{parts[0]}: {' and '.join(parts[1:])}" if len(parts) > 1 else parts[0]


def _found(context: ReportContext) -> Iterator[Content]:
    """How much of what is relevant the best system brings, in numbers of documents."""
    best = context.ranked[0]
    found, relevant = count_relevant(context, best)
    if not relevant:
        yield f"No judged document is relevant (grade {context.rel:g} or higher)."
        return
    top = mean_relevant_on_top(context, best)
    # a half goes up, as readers do it who have P@10 = 0.305 before them
    depth = f"{top + 1e-9:.1f} of its top {JUDGED_DEPTH} are relevant, on average" if top is not None else ""
    share = f"{context.systems[best]} found {found:,} of {pluralize(relevant, 'relevant document')}"
    yield f"{share}; {depth}." if depth else f"{share}."


def count_relevant(context: ReportContext, system: int) -> tuple[int, int]:
    """How many relevant documents a system retrieved, and how many there are."""
    judged = context.judged(system)
    return int((judged.grade >= context.rel).sum()), int(judged.count_relevant(context.rel).sum())


def mean_relevant_on_top(context: ReportContext, system: int) -> float | None:
    """How many of the first ten are relevant, on average over topics."""
    judged = context.judged(system)
    if not judged.n:
        return None
    return int(((judged.grade >= context.rel) & (judged.rank <= JUDGED_DEPTH)).sum()) / judged.n


def _unjudged(context: ReportContext) -> Iterator[Content]:
    shares = [context.scores.unjudged(JUDGED_DEPTH, run.name) for run in context.scores.runs]
    known = [share for share in shares if not math.isnan(share)]
    if not known:
        return
    low, high = min(known), max(known)
    if high == 0:
        yield f"Every document in the top {JUDGED_DEPTH} is judged."
        return
    link = tag("a", "unjudged", href="#unjudged")
    if len(known) == 1 or format_percent(low) == format_percent(high):
        yield join_html([f"{format_percent(high)} of the top {JUDGED_DEPTH} is ", link, "."])
        return
    most = context.systems[shares.index(high)]
    yield join_html(
        [f"{format_percent(low)} to {format_percent(high)} of the top {JUDGED_DEPTH} is ", link, f", most for {most}."]
    )
