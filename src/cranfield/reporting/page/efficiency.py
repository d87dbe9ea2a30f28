"""Efficiency: what each system costs beside how good it is, which of them nobody beats in both, and on what machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cranfield.base import pluralize
from cranfield.lab import Figure
from cranfield.reporting.costs import (
    Cost,
    Costs,
    how_measured,
    indexing_said,
    machine_facts,
    milliseconds,
    not_told,
    size,
)
from cranfield.reporting.page.context import Material
from cranfield.reporting.page.html import Content, Html, bullets, facts_list, joined, paragraphs, table, tag
from cranfield.reporting.page.leaderboard import PLACES, swatch
from cranfield.reporting.page.pictures import Picture, figure_of
from cranfield.reporting.pareto import Front, Point, steps
from cranfield.reporting.plots.efficiency import pareto
from cranfield.reporting.plots.plot_data import number, several
from cranfield.tables import MISSING

SHOWN = (50, 95)  # percentiles of the table


def efficiency(material: Material, costs: Costs, picture: Picture | None) -> Html:
    """The table, the picture, how it was measured and on what."""
    front = front_of(material, costs)
    parts: list[Content] = [
        paragraphs(said(front, material)),
        _table(material, costs, front),
        # the picture says in its caption whose costs are lacking
        bullets(not_told(costs, material.scores, material.systems)) if picture is None else figure_of(picture),
        tag("h3", "How it was measured"),
        paragraphs([" ".join(how_measured(costs)), *indexing_said(costs), *costs.notes, costs.energy]),
    ]
    machine = machine_facts(costs)
    parts += [tag("h3", "Machine"), facts_list(machine)] if machine else []
    return joined(parts, "\n")


def front_of(material: Material, costs: Costs) -> Front:
    """The systems with costs; none where the main measure does not say which is better."""
    return Front.of(material.scores, material.main, costs) if material.main.measure.is_quality else Front(())


def picture_of(material: Material, costs: Costs) -> Picture | None:
    """Effectiveness against latency; nothing where no run has costs."""
    if not front_of(material, costs).points:
        return None
    plot = pareto(material.scores, costs, material.main_label, palette=material.palette)
    return Picture("pareto", plot, plot.title)


def said(front: Front, material: Material) -> Iterator[str]:
    """Who is on the front, and what more effectiveness costs along it."""
    label = material.main.label
    if not material.main.measure.is_quality:
        yield f"{label} does not say which system is better, so that there is no Pareto front."
    elif not front.points:
        yield "None of these runs has latencies, so that there is nothing to set against how good they are."
    members = [point.system for point in front.members]
    if len(front.points) > 1 and len(members) == 1:
        yield f"{members[0]} alone is on the Pareto front: it has the best mean {label} and the lowest latency (p50)."
    elif len(members) > 1:
        nobody = f"no other system has both a better mean {label} and a lower latency (p50)"
        yield f"{several(members, 8)} are on the Pareto front: {nobody}."
    along = steps(front)
    if along:
        yield f"Along the front, by {label}: {'; '.join(along)}."


def _table(material: Material, costs: Costs, front: Front) -> Html:
    found = costs.of_runs(material.scores)
    places = {point.place: point for point in front.points}
    columns = list(_columns(costs))
    header = ["System", material.main.label, *(title for title, _ in columns), "Pareto front"]
    rows: list[list[Content]] = []
    for i in material.ranked:
        cost = found[i]
        if cost is not None:
            cells = [cell(cost) for _, cell in columns]
            rows.append([swatch(material, i), _mean(material, i), *cells, _standing(front, places.get(i))])
    if not rows:
        return Html("")
    caption = (
        f"Effectiveness and costs, best first by {material.main.label}; 95 % intervals below. Differences are within "
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


def _mean(material: Material, i: int) -> Html:
    mean = float(material.means[i])
    found = material.scores.interval(material.main_label, material.scores.runs[i].name)
    below = tag("small", f"[{number(found.low)}, {number(found.high)}]") if found else None
    text = MISSING if mean != mean else number(mean, PLACES)
    return tag("span", text, below, class_="mean", data_value="" if mean != mean else repr(mean))


def _figure(figure: Figure | None) -> Content:
    if figure is None:
        return MISSING
    ends = (figure.low, figure.high)
    below = None if None in ends else tag("small", f"[{', '.join(milliseconds(end or 0.0) for end in ends)}]")
    return tag("span", milliseconds(figure.value), below, class_="mean", data_value=repr(figure.value))


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
        size(cost.index_bytes),
        tag("small", each) if each else None,
        class_="mean",
        data_value=str(cost.index_bytes),
    )


def _standing(front: Front, point: Point | None) -> Content:
    if point is None:
        return MISSING
    on_it, about = front.has(point), front.said_of(point)
    word = tag("b", "on it") if on_it else tag("span", "behind", class_="quiet")
    return tag("span", word, tag("small", about) if about else None, class_="standing")


def summary(material: Material) -> list[str]:
    """What the best system takes beside the fastest, in a sentence for the top of the page."""
    front = Front(()) if material.costs is None else front_of(material, material.costs)
    if len(front.points) < 2:
        return []
    fastest, best = front.members[0], max(front.points, key=lambda point: front.sign * point.mean)
    whose = "" if best.place == material.ranked[0] else "Of the systems whose costs were measured, the best, "
    taken = f"{whose}{best.system}{',' if whose else ''} takes {milliseconds(best.latency.value)} ms a query (p50)"
    if fastest is best:
        return [f"{taken}, less than any other."]
    quick = f"{milliseconds(fastest.latency.value)} ms with {material.main.label} {number(fastest.mean, PLACES)}"
    return [f"{taken}; {fastest.system}, the fastest, takes {quick}."]
