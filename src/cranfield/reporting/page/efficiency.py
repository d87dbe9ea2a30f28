"""Efficiency: what each system costs beside how good it is, which of them nobody beats in both, and on what machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cranfield.base import pluralize
from cranfield.lab import Figure
from cranfield.reporting.costs import (
    Cost,
    Costs,
    describe_indexing,
    describe_machine,
    describe_method,
    describe_missing_costs,
)
from cranfield.reporting.page.context import ReportContext
from cranfield.reporting.page.html import Content, Html, bullets, definition_list, join_html, paragraphs, table, tag
from cranfield.reporting.page.leaderboard import PLACES, system_name
from cranfield.reporting.page.pictures import Picture, render_figure
from cranfield.reporting.pareto import ParetoFront, SystemPoint, describe_steps
from cranfield.reporting.plots.efficiency import pareto
from cranfield.reporting.plots.plot_data import join_systems
from cranfield.tables import MISSING, format_bytes, format_milliseconds, format_number

SHOWN = (50, 95)  # percentiles of the table


def efficiency_section(context: ReportContext, costs: Costs, picture: Picture | None) -> Html:
    """The table, the picture, how it was measured and on what."""
    front = find_pareto_front(context, costs)
    parts: list[Content] = [
        paragraphs(describe_front(front, context)),
        _table(context, costs, front),
        # the picture says in its caption whose costs are lacking
        bullets(describe_missing_costs(costs, context.scores, context.systems))
        if picture is None
        else render_figure(picture),
        tag("h3", "How it was measured"),
        paragraphs([" ".join(describe_method(costs)), *describe_indexing(costs), *costs.notes, costs.energy]),
    ]
    machine = describe_machine(costs)
    parts += [tag("h3", "Machine"), definition_list(machine)] if machine else []
    return join_html(parts, "\n")


def find_pareto_front(context: ReportContext, costs: Costs) -> ParetoFront:
    """The systems with costs; none where the main measure does not say which is better."""
    return ParetoFront.of(context.scores, context.main, costs) if context.main.measure.is_quality else ParetoFront(())


def draw_front(context: ReportContext, costs: Costs) -> Picture | None:
    """Effectiveness against latency; nothing where no run has costs."""
    if not find_pareto_front(context, costs).points:
        return None
    plot = pareto(context.scores, costs, context.main_label, palette=context.palette)
    return Picture("pareto", plot, plot.title)


def describe_front(front: ParetoFront, context: ReportContext) -> Iterator[str]:
    """Who is on the front, and what more effectiveness costs along it."""
    label = context.main.label
    if not context.main.measure.is_quality:
        yield f"{label} does not say which system is better, so that there is no Pareto front."
    elif not front.points:
        yield "None of these runs has latencies, so that there is nothing to set against how good they are."
    members = [point.system for point in front.members]
    if len(front.points) > 1 and len(members) == 1:
        yield f"{members[0]} alone is on the Pareto front: it has the best mean {label} and the lowest latency (p50)."
    elif len(members) > 1:
        nobody = f"no other system has both a better mean {label} and a lower latency (p50)"
        yield f"{join_systems(members, 8)} are on the Pareto front: {nobody}."
    along = describe_steps(front)
    if along:
        yield f"Along the front, by {label}: {'; '.join(along)}."


def _table(context: ReportContext, costs: Costs, front: ParetoFront) -> Html:
    found = costs.of_runs(context.scores)
    places = {point.place: point for point in front.points}
    columns = list(_columns(costs))
    header = ["System", context.main.label, *(title for title, _ in columns), "Pareto front"]
    rows: list[list[Content]] = []
    for i in context.ranked:
        cost = found[i]
        if cost is not None:
            cells = [cell(cost) for _, cell in columns]
            rows.append([system_name(context, i), _mean(context, i), *cells, _standing(front, places.get(i))])
    if not rows:
        return Html("")
    caption = (
        f"Effectiveness and costs, best first by {context.main.label}; 95 % intervals below. Differences are within "
        "error where the interval of the mean difference holds 0, or where the intervals of two latencies overlap."
    )
    return table(caption, header, rows, sortable=True, texts=(len(header) - 1,), id="efficiency-table")


def _columns(costs: Costs) -> Iterator[tuple[str, Callable[[Cost], Content]]]:
    """The columns of costs that some system has."""
    for p in SHOWN:
        yield f"p{p}, ms", lambda cost, p=p: _figure(cost.latency.get(p))  # type: ignore[misc]
    if any(cost.at_rate for cost in costs.systems):
        rate = f"{float(costs.load.get('rate') or 0):g}"
        yield f"p95 at {rate}/s, ms", lambda cost: _figure(cost.at_rate.get(95))
    if any(cost.throughput for cost in costs.systems):
        yield "Queries/s", _throughput
    if any(cost.index_bytes is not None for cost in costs.systems):
        yield "Index", _index
    if any(cost.joules is not None for cost in costs.systems):
        yield "J a search", lambda cost: MISSING if cost.joules is None else f"{cost.joules:.3g}"


def _mean(context: ReportContext, i: int) -> Html:
    mean = float(context.means[i])
    found = context.scores.interval(context.main_label, context.scores.runs[i].name)
    below = tag("small", f"[{format_number(found.low)}, {format_number(found.high)}]") if found else None
    text = MISSING if mean != mean else format_number(mean, PLACES)
    return tag("span", text, below, class_="mean", data_value="" if mean != mean else repr(mean))


def _figure(figure: Figure | None) -> Content:
    if figure is None:
        return MISSING
    ends = (figure.low, figure.high)
    below = None if None in ends else tag("small", f"[{', '.join(format_milliseconds(end or 0.0) for end in ends)}]")
    return tag("span", format_milliseconds(figure.value), below, class_="mean", data_value=repr(figure.value))


def _throughput(cost: Cost) -> Content:
    best = cost.best_throughput
    if best is None:
        return MISSING
    rate, clients = best
    below = tag("small", pluralize(clients, "client"))
    return tag("span", f"{rate:,.0f}", below, class_="mean", data_value=repr(rate))


def _index(cost: Cost) -> Content:
    if cost.index_bytes is None:
        return MISSING
    each = f"{cost.index_bytes / cost.documents:,.0f} B a document" if cost.documents else ""
    return tag(
        "span",
        format_bytes(cost.index_bytes),
        tag("small", each) if each else None,
        class_="mean",
        data_value=str(cost.index_bytes),
    )


def _standing(front: ParetoFront, point: SystemPoint | None) -> Content:
    if point is None:
        return MISSING
    on_it, about = front.has(point), front.describe(point)
    word = tag("b", "on it") if on_it else tag("span", "behind", class_="quiet")
    return tag("span", word, tag("small", about) if about else None, class_="standing")


def summarize_costs(context: ReportContext) -> list[str]:
    """What the best system takes beside the fastest, in a sentence for the top of the page."""
    front = ParetoFront(()) if context.costs is None else find_pareto_front(context, context.costs)
    if len(front.points) < 2:
        return []
    fastest, best = front.members[0], max(front.points, key=lambda point: front.sign * point.mean)
    whose = "" if best.place == context.ranked[0] else "Of the systems whose costs were measured, the best, "
    taken = (
        f"{whose}{best.system}{',' if whose else ''} takes {format_milliseconds(best.latency.value)} ms a query (p50)"
    )
    if fastest is best:
        return [f"{taken}, less than any other."]
    time, mean = format_milliseconds(fastest.latency.value), format_number(fastest.mean, PLACES)
    return [f"{taken}; {fastest.system}, the fastest, takes {time} ms with {context.main.label} {mean}."]
