"""What matters of a pool, in sentences: the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cranfield.base import Record, join_names, pluralize
from cranfield.pooling import Contribution, Diagnosis, LeaveOutSummary, ScoreBound
from cranfield.reporting.plots.pool_curves import ENOUGH, find_sufficient_budget
from cranfield.tables import format_number, format_percent, format_signed

TOP = 10  # ranks of which it is told how much is judged


class Finding(Record):
    """A sentence or two, and what they are about."""

    about: str
    text: str


def make_heading(diagnosis: Diagnosis) -> str:
    """What the pool is.

    "Pool of 12 runs to depth 10, 43 topics"
    """
    pooled = diagnosis.pooled
    runs = pluralize(sum(pooled.pooled), "run")
    return f"Pool of {runs} to depth {pooled.depth:,}, {pluralize(len(diagnosis.topics), 'topic')}"


def describe_depth(diagnosis: Diagnosis) -> str:
    return f"The depth is {diagnosis.pooled.depth_is}."


def list_findings(diagnosis: Diagnosis) -> list[Finding]:
    """What matters, from what the pool is to what it would be to others."""
    parts = (
        ("Pool", _pool(diagnosis)),
        ("Relevant", _relevant(diagnosis)),
        ("Unique", _unique(diagnosis)),
        ("Judged", _judged(diagnosis)),
        ("Bounds", _bounds(diagnosis)),
        ("Left out", _left_out(diagnosis)),
        ("Budget", _budget(diagnosis)),
        ("Deeper", _deeper(diagnosis)),
    )
    return [Finding(about, " ".join(said)) for about, sentences in parts if (said := list(sentences))]


def _pool(diagnosis: Diagnosis) -> Iterator[str]:
    sizes = [topic.pooled for topic in diagnosis.topics]
    total = diagnosis.pool_size
    unjudged = sum(topic.pooled_unjudged for topic in diagnosis.topics)
    outside = sum(topic.outside for topic in diagnosis.topics)
    spread = f"{total / len(sizes):,.1f} a topic ({min(sizes):,} to {max(sizes):,})"
    judged = "all of them judged" if not unjudged else f"{format_percent(unjudged / max(total, 1))} of them not judged"
    yield f"It has {pluralize(total, 'document')}, {spread}, {judged}."
    if outside:
        yield f"{outside:,} more {_are(outside)} judged that no run has down to that depth."
    yield describe_depth(diagnosis)


def _relevant(diagnosis: Diagnosis) -> Iterator[str]:
    judged, relevant = diagnosis.judged_size, diagnosis.relevant
    grade = f"grade {diagnosis.pooled.rel:g} or higher"
    share = format_percent(relevant / judged) if judged else "–"
    yield f"{relevant:,} of {pluralize(judged, 'judged document')} {_are(relevant)} relevant ({grade}), {share}."
    many, none = diagnosis.with_many, diagnosis.without_relevant
    if many:
        has = f"{pluralize(len(many), 'topic')} {'has' if len(many) == 1 else 'have'}"
        yield f"{has} more than a third relevant, so that there may be more that nobody found: {join_names(many, 3)}."
    if none:
        n = pluralize(len(none), "topic")
        have = "has" if len(none) == 1 else "have"
        yield f"{n} {have} no relevant document and {_tells(none)}: {join_names(none, 3)}."


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _tells(topics: Sequence[str]) -> str:
    return f"{'tells' if len(topics) == 1 else 'tell'} nothing of runs"


def _unique(diagnosis: Diagnosis) -> Iterator[str]:
    yield from _unique_to(diagnosis.runs, "run")
    if diagnosis.groups:
        yield from _unique_to(diagnosis.groups, "group")


def _unique_to(found: Sequence[Contribution], what: str) -> Iterator[str]:
    unique, relevant = sum(one.unique for one in found), sum(one.unique_relevant for one in found)
    if not unique:
        yield f"No document came from one {what} alone."
        return
    most = max(found, key=lambda one: one.unique_relevant)
    said = f"{pluralize(unique, 'document')} came from one {what} alone, {relevant:,} of them relevant"
    yield f"{said}, {most.unique_relevant:,} from {most.name}." if relevant else f"{said}."


def _judged(diagnosis: Diagnosis) -> Iterator[str]:
    depths = list(diagnosis.judged)
    told = [k for k in dict.fromkeys((min(TOP, depths[-1]), depths[-1])) if k in diagnosis.judged]
    for k in told:
        shares = [share for share in diagnosis.judged[k] if share is not None]
        low, high = format_percent(min(shares)), format_percent(max(shares))
        among = low if low == high else f"{low} to {high}"
        yield f"Of the top {k:,} of a run {among} is judged."


def _bounds(diagnosis: Diagnosis) -> Iterator[str]:
    fixed = []
    for label in diagnosis.measures:
        own = [bound for bound in diagnosis.bounds if bound.measure == label]
        widest = max(own, key=lambda bound: bound.high - bound.low, default=None)
        if widest is None:
            continue
        if widest.high - widest.low < 5e-5:
            fixed.append(label)
        else:
            mean, low, high = (format_number(value, 4) for value in (widest.mean, widest.low, widest.high))
            yield f"{label} of {widest.run}, {mean}, could be anything from {low} to {high}{_outer(widest)}."
    if fixed:
        yield f"Unjudged documents cannot change {', '.join(fixed)}."


def _outer(bound: ScoreBound) -> str:
    return " at most" if bound.is_outer else ""


def _left_out(diagnosis: Diagnosis) -> Iterator[str]:
    found = diagnosis.reusability
    if len(diagnosis.runs) == 1:
        yield "There is one run: left out, nothing remains to hold it against."
        return
    # by the first measure; the others are in the tables
    yield _standing_said(diagnosis, found.of_runs[0], "run")
    if found.of_groups:
        yield _standing_said(diagnosis, found.of_groups[0], "group")


def _standing_said(diagnosis: Diagnosis, standing: LeaveOutSummary, what: str) -> str:
    worst = standing.worst
    pairs = len(diagnosis.runs) * (len(diagnosis.runs) - 1) // 2
    whose = "it alone" if what == "run" else "its group alone"
    mean = format_number(standing.mean_change, 4)
    said = f"Without what {whose} brought in, a run's {standing.measure} changes by {mean} on average"
    if not standing.mean_change:
        said = f"Without what {whose} brought in, no run's {standing.measure} changes"
    elif worst.delta:
        moved = f"rank {worst.rank_before} to {worst.rank_after}" if worst.delta_rank else f"rank {worst.rank_before}"
        said += f", at worst {format_signed(worst.delta, 4)} ({worst.run}, {moved})"
    flips = f"up to {standing.most_flips:,} of {pluralize(pairs, 'pair')} would be told apart otherwise"
    if not standing.most_flips:
        flips = f"none of {pluralize(pairs, 'pair')} would be told apart otherwise"
    return f"{said}; {_tau_said(standing)}{flips}."


def _tau_said(standing: LeaveOutSummary) -> str:
    if standing.tau is None or standing.tau_ap is None:
        return ""
    below = f", below {ENOUGH}" if standing.tau < ENOUGH else ""
    tau_ap = format_number(standing.tau_ap)
    return f"runs scored like that are ranked with tau {format_number(standing.tau)}{below} (tau_AP {tau_ap}), "


def _budget(diagnosis: Diagnosis) -> Iterator[str]:
    label = diagnosis.measures[0]
    if len(diagnosis.runs) == 1:
        return
    if diagnosis.reusability.of_runs[0].lowest_tau is None:
        yield f"All runs have the same mean {label}, so that fewer judgments have no order to keep."
        return
    reached = {curve.strategy: find_sufficient_budget(curve, "tau", label) for curve in diagnosis.budgets.curves}
    by_number: dict[int, list[str]] = {}
    for strategy, n in reached.items():
        if n is not None:
            by_number.setdefault(n, []).append(strategy)
    never = [strategy for strategy, n in reached.items() if n is None]
    total = pluralize(diagnosis.budgets.judgments, "judgment")
    ranked = f"ranked as by all {total} (tau of {label} at least {ENOUGH})"
    if by_number:
        told = ", ".join(f"{n:,} of {' or '.join(by_number[n])}" for n in sorted(by_number))
        yield f"Runs are {ranked} from these numbers of judgments on: {told}."
        if never:
            yield f"They are not with {' or '.join(never)} within this pool."
    else:
        yield f"With no part of this pool would runs be {ranked}, by {' or '.join(never)}."


def _deeper(diagnosis: Diagnosis) -> Iterator[str]:
    new = diagnosis.new_relevant
    if new.law is None:
        yield "A pool of depth 1 does not tell how many relevant documents a deeper one would find."
        return
    if new.beyond is None:
        yield "New relevant documents do not become fewer with depth: how many a deeper pool would find is unknown."
        return
    if not new.counts.sum():
        return
    last, depth = format_number(float(new.by_depth[-1]), 2), len(new.by_depth)
    more = f"about {new.beyond:,.0f} more in all" if new.beyond >= 0.5 else "hardly any more"
    yield (
        f"Depth {depth:,} brings {last} new relevant documents a topic; a pool of depth {new.to:,} would find "
        f"{more}, if it goes on like that (Zobel's fit)."
    )
