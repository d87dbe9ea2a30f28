"""cranfield index: index the documents of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from importlib.util import find_spec

import click

from cranfield.base import pluralize
from cranfield.cli.options import choice_option, header_option, quiet_option, timeout_option
from cranfield.cli.output import show_progress
from cranfield.data import Document
from cranfield.errors import InputError
from cranfield.lab import (
    LOCAL,
    Again,
    EngineError,
    Options,
    built,
    engine_url,
    is_large,
    is_url,
    mask_url,
    open_collection,
    open_engine,
    with_fields,
)
from cranfield.text import STOP_WORDS, Analysis


@click.command(name="index")
@click.argument("collection", metavar="COLLECTION")
@click.option("-o", "--output", metavar="INDEX", help="The folder or file to write.")
@click.option(
    "--engine", metavar="URL", help="The engine; see below. [default: embedded, or tantivy from 1 GB of text]"
)
@click.option("--fields", default="title,text", show_default=True, help="Fields of a document to index.")
@click.option("--stemmer", default="english", show_default=True, help="Snowball stemmer for a language, or none.")
@choice_option("--stop-words", tuple(STOP_WORDS), "english", "Stop word list.")
@header_option
@timeout_option(120.0)
@quiet_option
def command(
    collection: str,
    output: str | None,
    engine: str | None,
    fields: str,
    stemmer: str,
    stop_words: str,
    headers: tuple[str, ...],
    timeout: float,
    quiet: bool,
) -> None:
    """Index the documents of a collection.

    COLLECTION is a file or folder of documents in any format that `cranfield convert` reads, or a test collection and
    its folder, such as cranfield:DIR, trec:DIR, beir:DIR or ir_datasets:ID; see `cranfield collections`.

    An engine is embedded (our own index, for all systems of `cranfield search`), tantivy or sqlite, each with -o INDEX,
    or a URL: postgresql://…?table=, opensearch+https://…/INDEX, elasticsearch+https://…/INDEX.

    \b
    Example:
      cranfield index documents.jsonl -o bicycles.index
      cranfield index documents.jsonl -o plain.index --stemmer none --stop-words none
      cranfield index documents.jsonl -o bicycles.tantivy --engine tantivy
      cranfield index documents.jsonl --engine postgresql://localhost/lab?table=bicycles
    """
    opened = open_collection(collection)
    url = _choose_engine(engine, output, opened.where)
    if not quiet:
        for note in opened.notes:
            click.echo(f"Note: {note}", err=True)
    names = [field.strip() for field in fields.split(",") if field.strip()]
    if not names:
        raise InputError("--fields is empty: expected field names, such as title,text.")
    documents = Again(lambda: with_fields(show_progress(opened.documents(), None, "indexing"), names, collection))
    if not url.startswith("embedded:"):
        if (stemmer, stop_words) != ("english", "english"):
            raise InputError("--stemmer and --stop-words need our own index: --engine embedded.")
        _index_with(url, documents, names, Options(source=collection, headers=headers, timeout=timeout), quiet)
        return
    target = url.removeprefix("embedded:")
    index = built(documents, Analysis(stemmer, stop_words), names, collection)
    index.save(target)
    if not quiet:
        size = f"{pluralize(len(index.docs), 'document')}, {len(index.terms):,} terms, {int(index.tokens):,} words"
        click.echo(f"{target}: {size} ({', '.join(names)}; stems {stemmer}, stop words {stop_words}).", err=True)


def _choose_engine(engine: str | None, output: str | None, collection: str) -> str:
    """The URL of the engine that --engine and -o mean."""
    if engine is None and output is not None and not is_url(output):
        engine = "tantivy" if is_large(collection) and find_spec("tantivy") else "embedded"
    if engine is None:
        engine, output = output, None
    if engine is None:
        raise InputError("no output: give -o INDEX, or --engine with a URL.")
    if engine in LOCAL:
        if output is None:
            raise InputError(f"--engine {engine} needs an output: -o INDEX.")
        return f"{engine}:{output}"
    if output is not None:
        raise InputError(f"-o {output} is for the engines {', '.join(LOCAL)}; others are located by their URL.")
    if not is_url(engine) and "://" not in engine:
        raise InputError(f"unknown engine {engine!r}: expected {', '.join(LOCAL)}, or a URL.")
    return engine_url(engine)


def _index_with(url: str, documents: Iterable[Document], fields: Sequence[str], options: Options, quiet: bool) -> None:
    """Index with another engine, print a summary, and fail if it has refused documents."""
    with closing(open_engine(url, options)) as engine:
        result = engine.index(documents, fields)
        about = f"{engine.about.name} {engine.about.version}".strip()
    if not quiet:
        resumed = f", {pluralize(result.resumed, 'document')} of them from before" if result.resumed else ""
        size = "" if result.bytes is None else f", {result.bytes / 1e6:,.1f} MB"
        what = f"{pluralize(result.documents, 'document')}{resumed}{size} ({', '.join(fields)}; {about})"
        click.echo(f"{mask_url(url)}: {what}.", err=True)
        if result.dropped:
            was = pluralize(result.dropped, "document")
            click.echo(f"Note: started over: the collection has changed since {was} were indexed.", err=True)
    if result.failed:
        some = "; ".join(f"{doc}: {why}" for doc, why in result.failed[:5])
        more = f"; and {len(result.failed) - 5:,} more" if len(result.failed) > 5 else ""
        what = f"{pluralize(len(result.failed), 'document')} refused, the others are indexed: {some}{more}"
        raise EngineError(f"{mask_url(url)}: {what}.")
