"""cranfield collections: well-known test collections, and counts of those you have."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any

import click

from cranfield.cli.options import format_option
from cranfield.cli.output import echo, has_styles, show_progress, terminal_width
from cranfield.errors import InputError
from cranfield.lab import (
    KNOWN,
    MED_NOTE,
    Collection,
    Counts,
    Known,
    collections_in,
    count,
    is_named,
    open_collection,
)
from cranfield.tables import Cell, Table, dump_json, render_text

Row = tuple[Known | None, Counts | None]  # a well-known collection, and the counts of yours

_COLUMNS = ("collection", "documents", "queries", "open_by", "where")
_FOUND = ("found_documents", "found_topics", "found_judgments", "found_words")


@click.command(name="collections")
@click.argument("places", metavar="[COLLECTION]...", nargs=-1)
@format_option(("table", "tsv", "json"))
def command(places: tuple[str, ...], format_: str) -> None:
    """List the classic test collections, and count the documents, topics and judgments of those you have.

    COLLECTION is a name and a folder, such as cranfield:DIR, cacm:, cisi:, med:, adi:, npl:, time:, lisa:, trec:,
    trecweb:, warc:, msmarco:, beir: or ir_datasets:ID, a file of documents, or a folder that is searched for any of
    these.

    \b
    Example:
      cranfield collections
      cranfield collections classic
      cranfield collections cranfield:cran beir:scifact --format tsv
    """
    counts = [count(one, lambda documents: show_progress(documents, None, "counting")) for one in _open_all(places)]
    rows = list(_pair_with_known(counts))
    if format_ == "json":
        echo(dump_json(_as_json(rows)))
    elif format_ == "tsv":
        echo(*_as_tsv(rows))
    else:
        echo(_as_table(rows, counts))


def _open_all(places: Iterable[str]) -> Iterator[Collection]:
    """The collections that arguments name or folders contain."""
    for place in places:
        if is_named(place) or not os.path.isdir(place):
            yield open_collection(place)
            continue
        inside = collections_in(place)
        if not inside:
            raise InputError("no collection with known file names in this folder. Name its kind: 'trec:FOLDER'.", place)
        yield from inside


def _pair_with_known(counts: list[Counts]) -> Iterator[Row]:
    """Each well-known collection with your counts of it, then your other collections."""
    placed: list[Counts] = []
    for known in KNOWN:
        own = [one for one in counts if known.alone and one.name == known.kind]
        placed += own
        if not own:
            yield known, None
        for one in own:
            yield known, one
    for one in counts:
        if not any(one is other for other in placed):
            yield None, one


def _as_json(rows: list[Row]) -> dict[str, Any]:
    def count_record(one: Counts) -> dict[str, Any]:
        return {
            "open_by": one.open_by,
            "documents": one.documents,
            "words": one.words,
            "topics": one.topics,
            "judgments": one.judgments,
            "judged_topics": one.judged_topics,
            "encodings": dict(one.encodings),
            "notes": list(one.notes),
        }

    entries = [
        {
            "collection": _title(known, one),
            "documents": known.documents if known else None,
            "queries": known.queries if known else None,
            "kind": known.kind if known else one.name if one else None,
            "found": count_record(one) if one else None,
        }
        for known, one in rows
    ]
    return {"collections": entries, "remarks": [MED_NOTE]}


def _as_tsv(rows: list[Row]) -> Iterator[str]:
    yield "\t".join((*_COLUMNS, *_FOUND)) + "\n"
    for known, one in rows:
        kind = (known.kind if known else one.name if one else "") or ""
        cells = [_title(known, one), known and known.documents, known and known.queries, kind, one and one.where]
        cells += [one.documents, one.topics, one.judgments, one.words] if one else [None] * len(_FOUND)
        yield "\t".join("" if cell is None else str(cell).replace("\t", " ") for cell in cells) + "\n"


def _as_table(rows: list[Row], counts: list[Counts]) -> str:
    header = ["Collection", "Open as", "Documents", "Queries"]
    groups = ["", "", "Published", ""]
    if counts:
        header += ["Documents", "Topics", "Judged", "Words"]
        groups += ["Found", "", "", ""]
    lines = []
    for known, one in rows:
        kind = known.kind if known else one.name if one and one.is_named else ""
        figures = [known.documents if known else None, known.queries if known else None]
        if counts:
            figures += [one.documents, one.topics, one.judgments, one.words] if one else [None] * 4
        names = (Cell(_title(known, one)), Cell(f"{kind}:" if kind else "–"))
        lines.append((*names, *(Cell(_format_count(n)) for n in figures)))
    table = Table("Test collections", tuple(header), tuple(lines), tuple(groups), names=2)
    remarks = [MED_NOTE, *(() if counts else ("To count yours: cranfield collections NAME:FOLDER",))]
    return "\n".join([render_text([table], terminal_width(), has_styles()), *remarks, *_notes(counts)]) + "\n"


def _notes(counts: list[Counts]) -> Iterator[str]:
    """Notes on each of your collections."""
    for one in counts:
        yield ""
        yield one.open_by
        for note in _describe(one):
            yield from wrap(note, max(terminal_width(), 80), initial_indent="  ", subsequent_indent="  ")


def _describe(one: Counts) -> Iterator[str]:
    yield from one.notes
    if one.encodings:
        most_first = sorted(one.encodings.items(), key=lambda entry: (-entry[1], entry[0]))
        yield f"Decoded as {', '.join(f'{name} {n:,}' for name, n in most_first)}."
    if one.topics is not None and one.judged_topics is not None and one.judged_topics < one.topics:
        yield f"{one.judged_topics:,} of {one.topics:,} topics are judged."


def _format_count(n: int | None) -> str:
    """A number; large ones are rounded.

    >>> _format_count(3204), _format_count(28_500_000), _format_count(1_040_000_000)
    ('3,204', '28.5 M', '1.04 G')
    """
    if n is None:
        return "–"
    if n >= 1_000_000_000:
        return f"{n / 1e9:.4g} G"
    return f"{n:,}" if n < 10_000_000 else f"{n / 1e6:.4g} M"


def _title(known: Known | None, one: Counts | None) -> str:
    if known is not None:
        return known.title
    return "" if one is None else one.name.upper() if one.name == "med" else one.name
