"""cranfield collections: the test collections of the literature beside those that were found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from cranfield.cli.options import echo, on_terminal, progress, width
from cranfield.tables import dumped

if TYPE_CHECKING:
    from cranfield.lab import Collection, Counts, Known

_COLUMNS = ("collection", "documents", "queries", "open_by", "where")
_FOUND = ("found_documents", "found_topics", "found_judgments", "found_words")


@click.command(name="collections")
@click.argument("found", metavar="[COLLECTION]...", nargs=-1)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "tsv", "json"]),
    default="table",
    show_default=True,
    help="What to print.",
)
def command(found: tuple[str, ...], format_: str) -> None:
    """List the classic test collections, and count what is in those that you have.

    COLLECTION is a name and a folder, such as cranfield:DIR, cacm:, cisi:, med:, adi:, npl:, time:, lisa:, trec:,
    trecweb:, warc:, msmarco:, beir: or ir_datasets:ID, a file of documents, or a folder to be looked through for any
    of these.

    \b
    Example:
      cranfield collections
      cranfield collections classic
      cranfield collections cranfield:cran beir:scifact --format tsv
    """
    from cranfield.lab import count

    counts = [count(one, lambda documents: progress(documents, None, "counting")) for one in _collections(found)]
    rows = list(_rows(counts))
    if format_ == "json":
        echo(dumped(_as_json(rows, counts)))
    elif format_ == "tsv":
        echo(*_as_tsv(rows))
    else:
        echo(_as_table(rows, counts))


def _collections(found: Iterable[str]) -> Iterator[Collection]:
    """The collections that arguments name or folders hold."""
    import os

    from cranfield.errors import InputError
    from cranfield.lab import collections_in, is_named, open_collection

    for text in found:
        if is_named(text) or not os.path.isdir(text):
            yield open_collection(text)
            continue
        held = collections_in(text)
        if not held:
            raise InputError("no collection with the usual file names in this folder. Say which: 'trec:FOLDER'.", text)
        yield from held


def _rows(counts: list[Counts]) -> Iterator[tuple[Known | None, Counts | None]]:
    """Each collection of the literature with what was found of it, then what else was found."""
    from cranfield.lab import KNOWN

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


def _as_json(rows: list[tuple[Known | None, Counts | None]], counts: list[Counts]) -> dict[str, Any]:
    from cranfield.lab import MED_NOTE

    def found(one: Counts) -> dict[str, Any]:
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
            "found": found(one) if one else None,
        }
        for known, one in rows
    ]
    return {"collections": entries, "remarks": [MED_NOTE]}


def _as_tsv(rows: list[tuple[Known | None, Counts | None]]) -> Iterator[str]:
    yield "\t".join((*_COLUMNS, *_FOUND)) + "\n"
    for known, one in rows:
        kind = (known.kind if known else one.name if one else "") or ""
        cells = [_title(known, one), known and known.documents, known and known.queries, kind, one and one.where]
        cells += [one.documents, one.topics, one.judgments, one.words] if one else [None] * len(_FOUND)
        yield "\t".join("" if cell is None else str(cell).replace("\t", " ") for cell in cells) + "\n"


def _as_table(rows: list[tuple[Known | None, Counts | None]], counts: list[Counts]) -> str:
    from cranfield.lab import MED_NOTE
    from cranfield.tables import Cell, Table, terminal

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
        lines.append((*names, *(Cell(_figure(n)) for n in figures)))
    table = Table("Test collections", tuple(header), tuple(lines), tuple(groups), names=2)
    remarks = [MED_NOTE, *(() if counts else ("Count yours with 'cranfield collections NAME:FOLDER'.",))]
    return "\n".join([terminal([table], width(), on_terminal()), *remarks, *_notes(counts)]) + "\n"


def _notes(counts: list[Counts]) -> Iterator[str]:
    """What is to be said of each collection that was found."""
    from textwrap import wrap

    for one in counts:
        yield ""
        yield one.open_by
        for note in _said(one):
            yield from wrap(note, max(width(), 80), initial_indent="  ", subsequent_indent="  ")


def _said(one: Counts) -> Iterator[str]:
    yield from one.notes
    if one.encodings:
        most_first = sorted(one.encodings.items(), key=lambda entry: (-entry[1], entry[0]))
        yield f"Decoded as {', '.join(f'{name} {n:,}' for name, n in most_first)}."
    if one.topics is not None and one.judged_topics is not None and one.judged_topics < one.topics:
        yield f"{one.judged_topics:,} of {one.topics:,} topics are judged."


def _figure(n: int | None) -> str:
    """A number, the largest rounded as the literature has them.

    >>> _figure(3204), _figure(28_500_000), _figure(1_040_000_000)
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
