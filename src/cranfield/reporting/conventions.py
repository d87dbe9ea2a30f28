"""A measure's value in several tools, as `cranfield conventions` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from cranfield.base import pluralize
from cranfield.evaluation import Comparison, ToolValue
from cranfield.tables import Cell, Table, dumped, number, render

PLACES = 4
MOST = 20  # queries shown, unless all are asked for


def as_text(comparison: Comparison, width: int, styled: bool, every_query: bool = False) -> str:
    """For people: the values, why they differ, and the queries where they do."""
    parts = [render.terminal([_values(comparison)], width, styled), "".join(f"{r}\n" for r in _reasons(comparison))]
    queries = _queries(comparison, every_query)
    if queries is not None:
        parts.append(render.terminal([queries], width, styled))
    return "\n".join([part for part in parts if part] + ["".join(f"{r}\n" for r in _remarks(comparison, every_query))])


def as_markdown(comparison: Comparison, every_query: bool = False) -> str:
    parts = [render.markdown(_values(comparison)), "".join(f"- {line}\n" for line in _reasons(comparison))]
    queries = _queries(comparison, every_query)
    if queries is not None:
        parts.append(render.markdown(queries))
    return "\n".join([part for part in parts if part] + ["".join(f"{r}\n" for r in _remarks(comparison, every_query))])


def as_json(comparison: Comparison) -> str:
    return dumped(comparison.record())


def _known(comparison: Comparison) -> list[ToolValue]:
    return [each for each in comparison.tools if each.measure is not None]


def _values(comparison: Comparison) -> Table:
    stops = "" if comparison.stops is None else "stops"
    rows = [(Cell("cranfield"), Cell(comparison.measure), Cell(_figure(comparison.value)), Cell(stops))]
    rows += [
        (Cell(each.tool), Cell(each.measure or ""), Cell(_figure(each.value)), Cell(_blamed(each)))
        for each in _known(comparison)
    ]
    title = f"{comparison.measure} of {comparison.run}"
    return Table(title, ("Tool", "Measure", "Value", "Differs by"), tuple(rows))


def _figure(value: float | None) -> str:
    """A value as it is shown: a count without decimals."""
    return number(value, 0 if isinstance(value, int) else PLACES)


def _blamed(each: ToolValue) -> str:
    stops = ["stops"] if each.stops is not None else []
    return ", ".join([*stops, *(reason.what for reason in each.reasons)]) or "nothing"


def _reasons(comparison: Comparison) -> Iterator[str]:
    """Tool by tool what it does otherwise; tools that do the same are named together."""
    said: dict[str, list[str]] = {}
    if comparison.stops is not None:
        said[comparison.stops.rstrip(".")] = ["cranfield"]
    for each in _known(comparison):
        stops = [] if each.stops is None else [each.stops.rstrip(".")]
        # a tool that says nothing at all has said why
        reasons = each.reasons if each.per_query or not stops else ()
        text = "; ".join([*stops, *(_reason(reason.how, reason.queries) for reason in reasons)])
        if text:
            said.setdefault(text.rstrip("."), []).append(each.tool)
    for text, names in said.items():
        yield f"{', '.join(names)}: {text}."


def _reason(how: str, queries: int) -> str:
    return f"{how} ({pluralize(queries, 'query')})" if queries else how


def _queries(comparison: Comparison, every_query: bool) -> Table | None:
    """The queries where a tool differs from us; its value there is marked."""
    differing = list(comparison.differing)
    shown = differing if every_query else differing[:MOST]
    columns = [each for each in _known(comparison) if any(comparison.differs(each, query) for query in shown)]
    if not columns:
        return None
    rows = tuple(
        (
            Cell(query),
            Cell(_figure(comparison.per_query.get(query))),
            *(Cell(_figure(each.per_query.get(query)), best=comparison.differs(each, query)) for each in columns),
        )
        for query in shown
    )
    return Table(
        "Queries where they differ, other values marked", ("Query", "cranfield", *(each.tool for each in columns)), rows
    )


def _remarks(comparison: Comparison, every_query: bool) -> Iterator[str]:
    differing, all_of_them = len(comparison.differing), len(comparison.queries)
    yield f"Some tool differs on {differing:,} of {pluralize(all_of_them, 'query')}."
    if differing > MOST and not every_query:
        yield f"The first {MOST} are shown; --all shows every one."
    lacking = [each.tool for each in comparison.tools if each.measure is None]
    if lacking:
        yield f"Without such a measure: {', '.join(lacking)}."
