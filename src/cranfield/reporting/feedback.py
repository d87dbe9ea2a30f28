"""What can be learned from relevant documents, as text and as JSON."""

from __future__ import annotations

from cranfield.base import pluralize
from cranfield.lab import Comparison, Difference
from cranfield.tables import MISSING, Cell, Table, dumped, number, render

PLACES = 4
WHOLE = "all"  # what the others are compared with


def as_text(found: Comparison, width: int, styled: bool) -> str:
    """A table, and what it says."""
    lines = [*sentences(found), *(f"Note: {note}." for note in found.notes)]
    return render.terminal([_table(found)], width, styled) + "\n" + "\n".join(lines) + "\n"


def sentences(found: Comparison) -> list[str]:
    """What came out, and on what."""
    measure = found.measures[0]
    documents = sum(len(found.given[topic]) for topic in found.topics)
    lines = [
        f"{pluralize(len(found.topics), 'topic')}, {pluralize(documents, 'document')} given; these are taken out of "
        "rankings and judgments.",
    ]
    for name, what in (("fused", "Subsets that are fused find"), ("best", "A subset chosen by what is given finds")):
        lines.append(f"{what} {_compared(found.difference(name, WHOLE, measure), measure)}.")
    most = found.difference("hindsight", WHOLE, measure)
    lines.append(f"The subset that proves best would find {_compared(most, measure)}: no system knows it beforehand.")
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
    return dumped(content)


def _table(found: Comparison) -> Table:
    """A row for each way; the best is the best of those that a system can go."""
    main = found.measures[0]
    highest = {m: max(found.sign(m) * way.mean(m) for way in found.ways if way.system) for m in found.measures}
    rows = []
    for way in found.ways:
        means = [
            Cell(number(way.mean(m), PLACES), best=bool(way.system) and found.sign(m) * way.mean(m) == highest[m])
            for m in found.measures
        ]
        against = found.difference(way.name, WHOLE, main)
        compared = [Cell(MISSING)] * 3 if way.name == WHOLE else _cells(against)
        rows.append((Cell(way.name), Cell(way.learns_from), *means, *compared))
    header = ("", "Learns from", *found.measures, "Difference", "Better", "Worse")
    over = ("", "", *("" for _ in found.measures), f"{main}, to {WHOLE}", "", "")
    return Table("", header, tuple(rows), over, names=2)


def _cells(one: Difference) -> list[Cell]:
    where = "" if one.interval is None else f"[{_signed(one.interval.low)}, {_signed(one.interval.high)}]"
    return [Cell(_signed(one.mean), below=where), Cell(str(one.better)), Cell(str(one.worse))]


def _compared(one: Difference, measure: str) -> str:
    more, sign = ("less", -1) if one.mean < 0 else ("more", 1)
    ends = [] if one.interval is None else sorted((sign * one.interval.low, sign * one.interval.high))
    where = f" [{', '.join(map(_plain, ends))}]" if ends else ""
    count = f"better on {one.better} and worse on {one.worse} topics"
    return f"{abs(one.mean):.{PLACES}f} {more} {measure} than all at once{where}, {count}"


def _plain(value: float) -> str:
    return _signed(value).lstrip("+")


def _signed(value: float) -> str:
    """A difference with its sign, the minus as long as the plus.

    >>> _signed(-0.01234), _signed(0.0)
    ('−0.0123', '0.0000')
    """
    text = f"{value:+.{PLACES}f}".replace("-", "−")
    return text[1:] if float(f"{value:.{PLACES}f}") == 0 else text


def _as_dict(one: Difference) -> dict[str, object]:
    where = None if one.interval is None else [one.interval.low, one.interval.high]
    return {"difference": one.mean, "interval": where, "better": one.better, "worse": one.worse}
