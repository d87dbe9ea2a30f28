"""The list of measures by family, and the page of one measure; all texts come from the measures themselves."""

from __future__ import annotations

from typing import Any

from cranfield.errors import MeasureError
from cranfield.measures import ADVICE, Measure
from cranfield.reporting import catalogue, render_formula
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
            "values": catalogue.describe_range(catalogue.make_default_measure(kind)),
            "better": catalogue.describe_direction(catalogue.make_default_measure(kind)),
        }
        for family, kinds in catalogue.group_by_family().items()
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
            "measures": [{"measure": name, "reason": why} for name, why in catalogue.recommend_measures(task)],
        }
        for task in ADVICE
    ]
    value = {**table.to_dict(), "advice": advice}
    return Page("measures.html", value, "Measures", {"context": context, "table": table})


def measure(context: RequestContext) -> Page:
    """One measure, with the parameters in its name."""
    name = check_measure(context.params.required("name"))
    try:
        parsed = catalogue.find_measure(name)
    except MeasureError as error:
        raise not_found(str(error)) from None
    kind = type(parsed)
    value = catalogue.measure_to_dict(parsed)
    extra = {
        "context": context,
        "formula": render_formula(catalogue.choose_formula(parsed)) if catalogue.choose_formula(parsed) else "",
        "facts": list(_facts(parsed)),
        "parameters": [_parameter(kind, one) for one in catalogue.sort_parameters(kind)],
        "bars": _weights(parsed),
        "can_rank": not parsed.needed and not kind.qrels_columns,
    }
    return Page("measure.html", value, f"{kind.name}: {kind.title}" if kind.title else kind.name, extra)


def _facts(measure: Measure) -> list[tuple[str, str]]:
    kind = type(measure)
    facts = [
        ("User", kind.user),
        ("Rank weights", catalogue.describe_weights(measure)),
        ("Ignores", measure.ignores),
        ("Also called", ", ".join(kind.aliases)),
        ("In trec_eval", ", ".join(catalogue.collect_trec_names().get(kind, ()))),
        ("Values", catalogue.describe_range(measure)),
        ("Better", catalogue.describe_direction(measure)),
        ("If nothing relevant is found", measure.nothing_found),
        ("Over all topics", catalogue.describe_aggregate(kind)),
        ("Tasks", ", ".join(kind.tasks)),
        ("Needs", ", ".join(f"--{need.replace('_', '-')}" for need in measure.needed)),
        ("Reference", kind.reference),
    ]
    return [(name, str(text)) for name, text in facts if text]


def _parameter(kind: type[Measure], name: str) -> Row:
    own = kind.parameters[name]
    return {
        "name": f"@ or {name}" if name == kind.at else name,
        "default": catalogue.describe_default(kind, name),
        "may_be": own.range(),
        "what": own.help,
    }


def _weights(measure: Measure, width: float = 24.0, height: float = 96.0) -> list[dict[str, Any]]:
    """What each of the first ranks weighs, as bars."""
    weights = catalogue.compute_rank_weights(measure) or []
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
