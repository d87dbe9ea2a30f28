"""cranfield convert: convert between file formats."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping

import click

from cranfield.base import OnDuplicate
from cranfield.cli.options import grade_words_option, on_duplicate_option, quiet_option
from cranfield.errors import FormatError
from cranfield.io import (
    DOCUMENT_FORMATS,
    QRELS_WRITERS,
    RUN_WRITERS,
    TOPIC_FORMATS,
    Input,
    Kind,
    choose_document_format,
    choose_qrels_format,
    choose_run_format,
    choose_topic_format,
    detect_kind,
    display_name,
    expand_path,
    read_documents,
    read_qrels_rows,
    read_run_rows,
    read_topics,
    write_documents,
    write_qrels,
    write_run,
    write_topics,
)

FORMATS: dict[Kind, tuple[str, ...]] = {
    "run": tuple(RUN_WRITERS),
    "qrels": tuple(QRELS_WRITERS),
    "topics": tuple(TOPIC_FORMATS),
    "documents": tuple(DOCUMENT_FORMATS),
}
LISTED = "\n".join(
    textwrap.fill(" ".join(names), 78, initial_indent=f"  {kind:<11}", subsequent_indent=" " * 13)
    for kind, names in FORMATS.items()
)


@click.command(name="convert", epilog=f"\b\nFormats:\n{LISTED}")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--kind", type=click.Choice(list(FORMATS)), help="What IN is, if it is not detected.")
@click.option("--from", "from_", metavar="FORMAT", help="Format of IN, if it is not detected.")
@click.option("--to", metavar="FORMAT", help="Format of OUT. [default: by its suffix]")
@on_duplicate_option()
@grade_words_option
@quiet_option
def command(
    source: str,
    target: str,
    kind: Kind | None,
    from_: str | None,
    to: str | None,
    on_duplicate: OnDuplicate,
    grade_words: Mapping[str, float],
    quiet: bool,
) -> None:
    """Convert a run, qrels, topics or documents from one format to another.

    The suffix of OUT selects the format (.json .jsonl .csv .tsv .parquet .xml …) and the compression (.gz .bz2 .xz
    .zst). A note says what the new format cannot represent.

    \b
    Example:
      cranfield convert bm25.run bm25.json
      cranfield convert qrels.txt qrels.parquet
    """
    kind = kind or _detect_kind(source, from_)
    for format in (from_, to):
        if format is not None and format not in FORMATS[kind]:
            raise FormatError(f"{format!r} is not a format for {kind}: expected one of {', '.join(FORMATS[kind])}.")
    if kind == "qrels":
        written, losses = _convert_qrels(source, target, from_, to, on_duplicate, grade_words)
    else:
        written, losses = _CONVERT[kind](source, target, from_, to, on_duplicate)
    if not quiet:
        click.echo("\n".join([f"{source}: {kind}, written to {target} as {written}.", *losses]), err=True)


def _detect_kind(source: str, from_: str | None) -> Kind:
    """What the input is: by its format, if only one kind has it, otherwise by its content."""
    kinds = [kind for kind, names in FORMATS.items() if from_ in names]
    if from_ is not None and not kinds:
        every = sorted({name for names in FORMATS.values() for name in names})
        raise FormatError(f"unknown format {from_!r}: expected one of {', '.join(every)}.")
    if len(kinds) == 1:
        return kinds[0]
    if source == "-":
        raise FormatError("standard input can be read only once: say what it holds with --kind.")
    with Input(expand_path(source)[0]) as opened:
        return detect_kind(opened.head, opened.name).kind


Outcome = tuple[str, tuple[str, ...]]  # the format written, and notes on what was lost


def _convert_run(source: str, target: str, from_: str | None, to: str | None, on_duplicate: OnDuplicate) -> Outcome:
    rows, origin = read_run_rows(source, from_)
    run = rows.run(display_name(source), origin, on_duplicate)
    format = choose_run_format(target, to)
    return format, (*run.notes, *_left_out(rows.left_out, "a run"), *write_run(run, target, format))


def _convert_qrels(
    source: str, target: str, from_: str | None, to: str | None, on_duplicate: OnDuplicate, words: Mapping[str, float]
) -> Outcome:
    rows, origin = read_qrels_rows(source, from_, words)
    qrels = rows.qrels(display_name(source), origin, on_duplicate)
    format = choose_qrels_format(qrels, target, to)
    return format, (*qrels.notes, *_left_out(rows.left_out, "qrels"), *write_qrels(qrels, target, format))


def _convert_topics(source: str, target: str, from_: str | None, to: str | None, _: OnDuplicate) -> Outcome:
    format = choose_topic_format(target, to)
    return format, write_topics(read_topics(source, from_), target, format)


def _convert_documents(source: str, target: str, from_: str | None, to: str | None, _: OnDuplicate) -> Outcome:
    format = choose_document_format(target, to)
    return format, write_documents(read_documents(source, from_), target, format)


def _left_out(names: Iterable[str], kind: str) -> list[str]:
    listed = ", ".join(names)
    return [f"{listed} left out: not part of {kind}."] if listed else []


_CONVERT: dict[Kind, Callable[[str, str, str | None, str | None, OnDuplicate], Outcome]] = {
    "run": _convert_run,
    "topics": _convert_topics,
    "documents": _convert_documents,
}
