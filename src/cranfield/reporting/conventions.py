"""A measure as several tools compute it, as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from cranfield.base import pluralize
from cranfield.evaluation import Comparison, ToolValue
from cranfield.tables import Cell, Table, dump_json, format_number, render_markdown, render_text

PLACES = 4
MOST = 20  # queries shown by default


def as_text(comparison: Comparison, width: int, styled: bool, every_query: bool = False) -> str:
    """The values, why they differ, and the queries on which they differ."""
    parts = [render_text([_values(comparison)], width, styled), "".join(f"{r}\n" for r in _reasons(comparison))]
    queries = _queries(comparison, every_query)
    if queries is not None:
        parts.append(render_text([queries], width, styled))
    return "\n".join([part for part in parts if part] + ["".join(f"{r}\n" for r in _remarks(comparison, every_query))])


def as_markdown(comparison: Comparison, every_query: bool = False) -> str:
    parts = [render_markdown(_values(comparison)), "".join(f"- {line}\n" for line in _reasons(comparison))]
    queries = _queries(comparison, every_query)
    if queries is not None:
        parts.append(render_markdown(queries))
    return "\n".join([part for part in parts if part] + ["".join(f"{r}\n" for r in _remarks(comparison, every_query))])


def as_json(comparison: Comparison) -> str:
    return dump_json(comparison.record())


def _known(comparison: Comparison) -> list[ToolValue]:
    return [each for each in comparison.tools if each.measure is not None]


def _values(comparison: Comparison) -> Table:
    stops = "" if comparison.stops is None else "stops"
    rows = [(Cell("cranfield"), Cell(comparison.measure), Cell(_format_value(comparison.value)), Cell(stops))]
    rows += [
        (Cell(each.tool), Cell(each.measure or ""), Cell(_format_value(each.value)), Cell(_list_causes(each)))
        for each in _known(comparison)
    ]
    title = f"{comparison.measure} of {comparison.run}"
    return Table(title, ("Tool", "Measure", "Value", "Differs by"), tuple(rows))


def _format_value(value: float | None) -> str:
    """A value; counts have no decimals."""
    return format_number(value, 0 if isinstance(value, int) else PLACES)


def _list_causes(each: ToolValue) -> str:
    stops = ["stops"] if each.stops is not None else []
    return ", ".join([*stops, *(reason.what for reason in each.reasons)]) or "nothing"


def _reasons(comparison: Comparison) -> Iterator[str]:
    """What each tool does differently; tools that do the same are listed together."""
    said: dict[str, list[str]] = {}
    if comparison.stops is not None:
        said[comparison.stops.rstrip(".")] = ["cranfield"]
    for each in _known(comparison):
        stops = [] if each.stops is None else [each.stops.rstrip(".")]
        # a tool without any value has only its error
        reasons = each.reasons if each.per_query or not stops else ()
        text = "; ".join([*stops, *(_reason(reason.how, reason.queries) for reason in reasons)])
        if text:
            said.setdefault(text.rstrip("."), []).append(each.tool)
    for text, names in said.items():
        yield f"{', '.join(names)}: {text}."


def _reason(how: str, queries: int) -> str:
    return f"{how} ({pluralize(queries, 'query')})" if queries else how


def _queries(comparison: Comparison, every_query: bool) -> Table | None:
    """The queries on which a tool differs; its values there are marked."""
    differing = list(comparison.differing)
    shown = differing if every_query else differing[:MOST]
    columns = [each for each in _known(comparison) if any(comparison.differs(each, query) for query in shown)]
    if not columns:
        return None
    rows = tuple(
        (
            Cell(query),
            Cell(_format_value(comparison.per_query.get(query))),
            *(Cell(_format_value(each.per_query.get(query)), best=comparison.differs(each, query)) for each in columns),
        )
        for query in shown
    )
    title = "Queries on which tools differ (differing values are marked)"
    return Table(title, ("Query", "cranfield", *(each.tool for each in columns)), rows)


def _remarks(comparison: Comparison, every_query: bool) -> Iterator[str]:
    differing, all_of_them = len(comparison.differing), len(comparison.queries)
    yield f"Tools differ on {differing:,} of {pluralize(all_of_them, 'query')}."
    if differing > MOST and not every_query:
        yield f"The first {MOST} are shown; --all shows all."
    lacking = [each.tool for each in comparison.tools if each.measure is None]
    if lacking:
        yield f"Tools without this measure: {', '.join(lacking)}."
