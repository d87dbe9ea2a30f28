"""A comparison of feedback methods, as text and as JSON."""

from __future__ import annotations

from cranfield.base import pluralize
from cranfield.lab import Comparison, Difference
from cranfield.tables import MISSING, Cell, Table, dump_json, format_interval, format_number, format_signed, render_text

PLACES = 4
WHOLE = "all"  # the method that the others are compared with


def as_text(found: Comparison, width: int, styled: bool) -> str:
    """A table and its conclusions."""
    lines = [*sentences(found), *(f"Note: {note}." for note in found.notes)]
    return render_text([_table(found)], width, styled) + "\n" + "\n".join(lines) + "\n"


def sentences(found: Comparison) -> list[str]:
    """The conclusions, and what they are based on."""
    measure = found.measures[0]
    documents = sum(len(found.given[topic]) for topic in found.topics)
    lines = [
        f"{pluralize(len(found.topics), 'topic')}, {pluralize(documents, 'document')} used as feedback and removed "
        "from rankings and judgments.",
    ]
    for name, what in (("fused", "Fusing subsets gives"), ("best", "The subset chosen from the feedback gives")):
        lines.append(f"{what} {_compare(found.difference(name, WHOLE, measure), measure)}.")
    most = found.difference("hindsight", WHOLE, measure)
    lines.append(f"The best subset in hindsight would give {_compare(most, measure)}; no system can know it.")
    return lines


def as_json(found: Comparison) -> str:
    rows = []
    for way in found.ways:
        against = {measure: found.difference(way.name, WHOLE, measure) for measure in found.measures}
        rows.append(
            {
                "name": way.name,
                "learns_from": way.learns_from,
                "system": way.system or None,
                "means": {measure: way.mean(measure) for measure in found.measures},
                "against_all": {measure: _as_dict(one) for measure, one in against.items()},
                "per_topic": {
                    measure: dict(zip(found.topics, way.values[measure].tolist(), strict=True))
                    for measure in found.measures
                },
            }
        )
    content = {
        "topics": len(found.topics),
        "given": {topic: list(found.given[topic]) for topic in found.topics},
        "ways": rows,
        "notes": list(found.notes),
    }
    return dump_json(content)


def _table(found: Comparison) -> Table:
    """One row per method; the best is marked among those that need no hindsight."""
    main = found.measures[0]
    highest = {m: max(found.sign(m) * way.mean(m) for way in found.ways if way.system) for m in found.measures}
    rows = []
    for way in found.ways:
        means = [
            Cell(
                format_number(way.mean(m), PLACES), best=bool(way.system) and found.sign(m) * way.mean(m) == highest[m]
            )
            for m in found.measures
        ]
        against = found.difference(way.name, WHOLE, main)
        compared = [Cell(MISSING)] * 3 if way.name == WHOLE else _cells(against)
        rows.append((Cell(way.name), Cell(way.learns_from), *means, *compared))
    header = ("", "Learns from", *found.measures, "Difference", "Better", "Worse")
    over = ("", "", *("" for _ in found.measures), f"{main}, to {WHOLE}", "", "")
    return Table("", header, tuple(rows), over, names=2)


def _cells(one: Difference) -> list[Cell]:
    where = "" if one.interval is None else format_interval(one.interval.low, one.interval.high, PLACES, signed=True)
    return [Cell(format_signed(one.mean, PLACES), below=where), Cell(str(one.better)), Cell(str(one.worse))]


def _compare(one: Difference, measure: str) -> str:
    more, sign = ("less", -1) if one.mean < 0 else ("more", 1)
    where = ""
    if one.interval is not None:
        low, high = sorted((sign * one.interval.low, sign * one.interval.high))
        where = f" {format_interval(low, high, PLACES)}"
    count = f"better on {one.better} and worse on {one.worse} topics"
    return f"{abs(one.mean):.{PLACES}f} {more} {measure} than learning from all at once{where}, {count}"


def _as_dict(one: Difference) -> dict[str, object]:
    where = None if one.interval is None else [one.interval.low, one.interval.high]
    return {"difference": one.mean, "interval": where, "better": one.better, "worse": one.worse}
