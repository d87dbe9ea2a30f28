"""Measures: the list by family, and all about one, as the code that computes it says."""

from __future__ import annotations

from typing import Any

from cranfield.errors import MeasureError
from cranfield.measures import ADVICE, Measure
from cranfield.reporting import (
    aggregate_of,
    available,
    default_of,
    describe_direction,
    families,
    formula,
    formula_of,
    measure_of,
    parameters_of,
    range_of,
    record,
    trec_names,
    usual,
    weights_in_words,
    weights_of,
)
from cranfield.workbench.explore.request_context import Visit, checked_measure
from cranfield.workbench.explore.table_query import Heading, Listing, Row
from cranfield.workbench.pages import Page
from cranfield.workbench.params import missing


def measures(visit: Visit) -> Page:
    """All measures by family, and which to use for what."""
    rows = [
        {
            "name": kind.name,
            "title": kind.title,
            "family": family,
            "values": range_of(usual(kind)),
            "better": describe_direction(usual(kind)),
        }
        for family, kinds in families().items()
        for kind in kinds
    ]
    headings = [
        Heading("name", "Measure", lambda row: row["name"], is_figure=False),
        Heading("title", "Title", lambda row: row["title"], is_figure=False),
        Heading("family", "Family", lambda row: row["family"], is_figure=False),
    ]
    listing = Listing(
        visit.asked,
        headings,
        rows,
        lambda row: f"{row['name']} {row['title']} {row['family']}",
        sort="family",
        per_page=200,
    )
    advice = [
        {
            "for": task,
            "task": ADVICE[task].task,
            "measures": [{"measure": name, "reason": why} for name, why in available(task)],
        }
        for task in ADVICE
    ]
    value = {**listing.to_dict(), "advice": advice}
    return Page("measures.html", value, "Measures", {"visit": visit, "listing": listing})


def measure(visit: Visit) -> Page:
    """All about one measure, with the parameters that its name gives."""
    name = checked_measure(visit.asked.needed("name"))
    try:
        found = measure_of(name)
    except MeasureError as error:
        raise missing(str(error)) from None
    kind = type(found)
    value = record(found)
    more = {
        "visit": visit,
        "formula": formula(formula_of(found)) if formula_of(found) else "",
        "facts": list(_facts(found)),
        "parameters": [_parameter(kind, one) for one in parameters_of(kind)],
        "bars": _weights(found),
        "can_rank": not found.needed and not kind.qrels_columns,
    }
    return Page("measure.html", value, f"{kind.name}: {kind.title}" if kind.title else kind.name, more)


def _facts(found: Measure) -> list[tuple[str, str]]:
    kind = type(found)
    facts = [
        ("User", kind.user),
        ("Weight of ranks", weights_in_words(found)),
        ("Ignores", found.ignores),
        ("Also called", ", ".join(kind.aliases)),
        ("In trec_eval", ", ".join(trec_names().get(kind, ()))),
        ("Values", range_of(found)),
        ("Better", describe_direction(found)),
        ("If nothing relevant is found", found.nothing_found),
        ("Over all topics", aggregate_of(kind)),
        ("Tasks", ", ".join(kind.tasks)),
        ("Needs", ", ".join(f"--{need.replace('_', '-')}" for need in found.needed)),
        ("Reference", kind.reference),
    ]
    return [(name, str(text)) for name, text in facts if text]


def _parameter(kind: type[Measure], name: str) -> Row:
    own = kind.parameters[name]
    return {
        "name": f"@ or {name}" if name == kind.at else name,
        "default": default_of(kind, name),
        "may_be": own.range(),
        "what": own.what,
    }


def _weights(found: Measure, width: float = 24.0, height: float = 96.0) -> list[dict[str, Any]]:
    """What each of the first ranks weighs, as bars."""
    weights = weights_of(found) or []
    most = max((abs(weight) for weight in weights), default=0.0)
    if not most:
        return []
    return [
        {
            "x": i * width,
            "y": round(height * (1 - abs(weight) / most), 2),
            "height": round(height * abs(weight) / most, 2),
            "rank": i + 1,
            "told": f"rank {i + 1}: {weight:.4g}",
        }
        for i, weight in enumerate(weights)
    ]
