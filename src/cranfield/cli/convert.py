"""cranfield convert: any format to any other."""

from __future__ import annotations

from collections.abc import Callable

import click

from cranfield.errors import FormatError
from cranfield.formats import (
    read_documents,
    read_qrels,
    read_run,
    read_topics,
    write_documents,
    write_qrels,
    write_run,
    write_topics,
)
from cranfield.formats.files import QRELS_WRITERS, RUN_WRITERS
from cranfield.formats.identify import Kind, identify
from cranfield.formats.opening import Input, expand
from cranfield.formats.texts import DOCUMENT_FORMATS, TOPIC_FORMATS

KINDS = {"run": RUN_WRITERS, "qrels": QRELS_WRITERS, "topics": TOPIC_FORMATS, "documents": DOCUMENT_FORMATS}


@click.command(name="convert")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--kind", type=click.Choice(list(KINDS)), help="What IN is, if not recognised.")
@click.option("--from", "from_", metavar="FORMAT", help="Format of IN, if not recognised.")
@click.option("--to", metavar="FORMAT", help="Format of OUT. [default: by its suffix]")
@click.option(
    "--on-duplicate", type=click.Choice(["error", "first", "last", "max"]), default="error", show_default=True
)
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def command(
    source: str, target: str, kind: Kind | None, from_: str | None, to: str | None, on_duplicate: str, quiet: bool
) -> None:
    """Turn a run, qrels, topics or documents of any format into any other.

    The suffix of OUT chooses the format (.json .jsonl .csv .tsv .parquet .xml …) and the compression (.gz .bz2 .xz
    .zst). What the new format cannot hold is said.

    \b
    Example:
      cranfield convert bm25.run bm25.json
      cranfield convert qrels.txt qrels.parquet
    """
    kind = kind or _kind(source)
    if to is not None and to not in KINDS[kind]:
        raise FormatError(f"cannot write {kind} as {to!r}: expected one of {', '.join(KINDS[kind])}.")
    losses = _CONVERT[kind](source, target, from_, to, on_duplicate)
    if not quiet:
        click.echo("\n".join([f"{source}: {kind}, written to {target}.", *losses]), err=True)


def _kind(source: str) -> Kind:
    if source == "-":
        raise FormatError("standard input can be read only once: say what it is with --kind.")
    with Input(expand(source)[0]) as opened:
        return identify(opened.head, opened.name).kind


def _run(source: str, target: str, from_: str | None, to: str | None, on_duplicate: str) -> tuple[str, ...]:
    run = read_run(source, from_, on_duplicate=on_duplicate)  # type: ignore[arg-type]
    return (*run.notes, *write_run(run, target, to))


def _qrels(source: str, target: str, from_: str | None, to: str | None, on_duplicate: str) -> tuple[str, ...]:
    qrels = read_qrels(source, from_, on_duplicate=on_duplicate)  # type: ignore[arg-type]
    return (*qrels.notes, *write_qrels(qrels, target, to))


def _topics(source: str, target: str, from_: str | None, to: str | None, _: str) -> tuple[str, ...]:
    return write_topics(read_topics(source, from_), target, to)


def _documents(source: str, target: str, from_: str | None, to: str | None, _: str) -> tuple[str, ...]:
    return write_documents(read_documents(source, from_), target, to)


_CONVERT: dict[str, Callable[[str, str, str | None, str | None, str], tuple[str, ...]]] = {
    "run": _run,
    "qrels": _qrels,
    "topics": _topics,
    "documents": _documents,
}
