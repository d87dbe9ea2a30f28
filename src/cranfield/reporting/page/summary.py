"""The answer first: who is ahead, how sure that is, what was found, and what speaks against it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from cranfield.base import pluralize
from cranfield.evaluation import JUDGED_DEPTH
from cranfield.reporting.page.context import Material
from cranfield.reporting.page.html import Content, escaped, joined, tag
from cranfield.reporting.plots.plot_data import number, several
from cranfield.stats import Comparison

CLAIMS = 2  # of the comparison that are in the summary


def sentences(material: Material) -> list[Content]:
    """The summary, a paragraph each."""
    facts = [*_standing(material), *_found(material), *_unjudged(material)]
    return [joined(facts, " "), *_claimed(material)]


def title(material: Material) -> str:
    """What the report says in a line."""
    first = material.ranked[0]
    mean = float(material.means[first])
    if math.isnan(mean):
        return heading(material)
    figure = f"{material.main.label} {number(mean, 4)}"
    if len(material.systems) == 1 or not material.main.measure.is_quality:
        return f"{material.systems[first]} has {figure}"
    best = _leaders(material)
    return f"{several([material.systems[i] for i in best])} {'leads' if len(best) == 1 else 'lead'} with {figure}"


def heading(material: Material) -> str:
    systems, n = pluralize(len(material.systems), "system"), pluralize(len(material.topics), "topic")
    return f"{systems} on {n}"


def _standing(material: Material) -> Iterator[Content]:
    """Who is first, and who follows."""
    main, means, systems = material.main, material.means, material.systems
    first = material.ranked[0]
    if math.isnan(means[first]):
        yield "No query was evaluated, so that there is nothing to compare."
        return
    best = _leaders(material)
    who = joined((tag("b", systems[i]) for i in best), ", ") if len(best) <= 4 else escaped(f"{len(best)} systems")
    found = material.scores.interval(material.main_label, material.scores.runs[first].name)
    within = f" [{number(found.low)}, {number(found.high)}]" if found else ""
    figure = f"{main.label} of {number(float(means[first]), 4)}{within}"
    if len(systems) == 1 or not main.measure.is_quality:
        yield joined([who, f" has a mean {figure}."])
        return
    which = "highest" if main.sign > 0 else "lowest"
    verb = "has" if len(best) == 1 else "share"
    rest = [i for i in material.ranked if i not in best]
    behind = f" {systems[rest[0]]} follows with {number(float(means[rest[0]]), 4)}." if rest else ""
    yield joined([who, f" {verb} the {which} mean {figure} over {pluralize(len(material.topics), 'topic')}.{behind}"])


def _leaders(material: Material) -> list[int]:
    """The systems with the best mean."""
    top = material.means[material.ranked[0]]
    return [i for i in material.ranked if abs(material.means[i] - top) < 1e-12]


def _claimed(material: Material) -> Iterator[Content]:
    """What may be said of differences in the main measure."""
    comparison = material.comparison
    if isinstance(comparison, str):
        return
    told = [
        claim.text
        for claim in comparison.claims
        if claim.measure == material.main_label and claim.kind in ("claim", "no claim")
    ]
    yield from told[:CLAIMS]
    link = tag("a", _more(comparison, len(comparison.claims) - len(told[:CLAIMS])), href="#comparisons")
    yield joined(["More under ", link, "."])


def _more(comparison: Comparison, rest: int) -> str:
    parts = ["Comparisons"]
    parts += [pluralize(rest, "further claim")] if rest else []
    parts += [pluralize(len(comparison.warnings), "warning")] if comparison.warnings else []
    return f"{parts[0]}: {' and '.join(parts[1:])}" if len(parts) > 1 else parts[0]


def _found(material: Material) -> Iterator[Content]:
    """How much of what is relevant the best system brings, in numbers of documents."""
    best = material.ranked[0]
    found, relevant = relevant_found(material, best)
    if not relevant:
        yield f"No judged document is relevant (grade {material.rel:g} or higher)."
        return
    top = relevant_on_top(material, best)
    # a half goes up, as readers do it who have P@10 = 0.305 before them
    depth = f"{top + 1e-9:.1f} of its top {JUDGED_DEPTH} are relevant, on average" if top is not None else ""
    share = f"{material.systems[best]} found {found:,} of {pluralize(relevant, 'relevant document')}"
    yield f"{share}; {depth}." if depth else f"{share}."


def relevant_found(material: Material, system: int) -> tuple[int, int]:
    """How many relevant documents a system retrieved, and how many there are."""
    judged = material.judged(system)
    return int((judged.grade >= material.rel).sum()), int(judged.count_relevant(material.rel).sum())


def relevant_on_top(material: Material, system: int) -> float | None:
    """How many of the first ten are relevant, on average over topics."""
    judged = material.judged(system)
    if not judged.n:
        return None
    return int(((judged.grade >= material.rel) & (judged.rank <= JUDGED_DEPTH)).sum()) / judged.n


def _unjudged(material: Material) -> Iterator[Content]:
    shares = [material.scores.unjudged(JUDGED_DEPTH, run.name) for run in material.scores.runs]
    known = [share for share in shares if not math.isnan(share)]
    if not known:
        return
    low, high = min(known), max(known)
    if high == 0:
        yield f"Every document in the top {JUDGED_DEPTH} is judged."
        return
    link = tag("a", "unjudged", href="#unjudged")
    if len(known) == 1 or percent(low) == percent(high):
        yield joined([f"{percent(high)} of the top {JUDGED_DEPTH} is ", link, "."])
        return
    most = material.systems[shares.index(high)]
    yield joined([f"{percent(low)} to {percent(high)} of the top {JUDGED_DEPTH} is ", link, f", most for {most}."])


def percent(share: float) -> str:
    """A share as it is told: no zero where there is something, no hundred where something lacks.

    >>> percent(0.123), percent(0.0), percent(0.0001), percent(0.99999)
    ('12.3 %', '0 %', '< 0.1 %', '> 99.9 %')
    """
    if math.isnan(share):
        return "–"
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 < share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f} %".replace(".0 %", " %") if share in (0, 1) else f"{100 * share:.1f} %"
