"""The list of measures by family, and the page of one measure; all texts come from the measures themselves."""

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
from cranfield.workbench.explore.request_context import RequestContext, check_measure
from cranfield.workbench.explore.table_query import Heading, PagedTable, Row
from cranfield.workbench.pages import Page
from cranfield.workbench.params import not_found


def measures(context: RequestContext) -> Page:
    """All measures by family, and recommendations by task."""
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
        Heading("name", "Measure", is_figure=False),
        Heading("title", "Title", is_figure=False),
        Heading("family", "Family", is_figure=False),
    ]
    table = PagedTable(
        context.params,
        headings,
        rows,
        ("name", "title", "family"),
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
    value = {**table.to_dict(), "advice": advice}
    return Page("measures.html", value, "Measures", {"context": context, "table": table})


def measure(context: RequestContext) -> Page:
    """One measure, with the parameters in its name."""
    name = check_measure(context.params.required("name"))
    try:
        parsed = measure_of(name)
    except MeasureError as error:
        raise not_found(str(error)) from None
    kind = type(parsed)
    value = record(parsed)
    extra = {
        "context": context,
        "formula": formula(formula_of(parsed)) if formula_of(parsed) else "",
        "facts": list(_facts(parsed)),
        "parameters": [_parameter(kind, one) for one in parameters_of(kind)],
        "bars": _weights(parsed),
        "can_rank": not parsed.needed and not kind.qrels_columns,
    }
    return Page("measure.html", value, f"{kind.name}: {kind.title}" if kind.title else kind.name, extra)


def _facts(measure: Measure) -> list[tuple[str, str]]:
    kind = type(measure)
    facts = [
        ("User", kind.user),
        ("Weight of ranks", weights_in_words(measure)),
        ("Ignores", measure.ignores),
        ("Also called", ", ".join(kind.aliases)),
        ("In trec_eval", ", ".join(trec_names().get(kind, ()))),
        ("Values", range_of(measure)),
        ("Better", describe_direction(measure)),
        ("If nothing relevant is found", measure.nothing_found),
        ("Over all topics", aggregate_of(kind)),
        ("Tasks", ", ".join(kind.tasks)),
        ("Needs", ", ".join(f"--{need.replace('_', '-')}" for need in measure.needed)),
        ("Reference", kind.reference),
    ]
    return [(name, str(text)) for name, text in facts if text]


def _parameter(kind: type[Measure], name: str) -> Row:
    own = kind.parameters[name]
    return {
        "name": f"@ or {name}" if name == kind.at else name,
        "default": default_of(kind, name),
        "may_be": own.range(),
        "what": own.help,
    }


def _weights(measure: Measure, width: float = 24.0, height: float = 96.0) -> list[dict[str, Any]]:
    """What each of the first ranks weighs, as bars."""
    weights = weights_of(measure) or []
    most = max((abs(weight) for weight in weights), default=0.0)
    if not most:
        return []
    return [
        {
            "x": i * width,
            "y": round(height * (1 - abs(weight) / most), 2),
            "height": round(height * abs(weight) / most, 2),
            "rank": i + 1,
            "tooltip": f"rank {i + 1}: {weight:.4g}",
        }
        for i, weight in enumerate(weights)
    ]
