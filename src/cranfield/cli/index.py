"""cranfield index: the text of a collection, ready to be searched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from cranfield.cli.options import progress
from cranfield.errors import InputError
from cranfield.text import STOP_WORDS

if TYPE_CHECKING:
    from cranfield.data import Document
    from cranfield.lab import Options


@click.command(name="index")
@click.argument("collection", metavar="COLLECTION")
@click.option("-o", "--output", metavar="INDEX", help="The folder or file to write.")
@click.option(
    "--engine", metavar="URL", help="What indexes; see below. [default: embedded, or tantivy from 1 GB of text]"
)
@click.option("--fields", default="title,text", show_default=True, help="Which fields of a document to index.")
@click.option("--stemmer", default="english", show_default=True, help="Snowball's stemmer for a language, or none.")
@click.option(
    "--stop-words", type=click.Choice(list(STOP_WORDS)), default="english", show_default=True, help="Words left out."
)
@click.option("--header", "headers", multiple=True, help="A header for a server, 'Name: value'; $NAME is replaced.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=120.0,
    show_default=True,
    help="Seconds for one answer.",
)
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
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

    COLLECTION is a file or folder of documents in any format that `cranfield convert` reads, or a test collection by
    name and folder, such as cranfield:DIR, trec:DIR, beir:DIR or ir_datasets:ID; see `cranfield collections`.

    An engine is embedded (our own index, which all systems of `cranfield search` can use), tantivy or sqlite, each with
    -o INDEX, or a URL: postgresql://…?table=, opensearch+https://…/INDEX, elasticsearch+https://…/INDEX.

    \b
    Example:
      cranfield index documents.jsonl -o bicycles.index
      cranfield index documents.jsonl -o plain.index --stemmer none --stop-words none
      cranfield index documents.jsonl -o bicycles.tantivy --engine tantivy
      cranfield index documents.jsonl --engine postgresql://localhost/lab?table=bicycles
    """
    from cranfield.base import pluralize
    from cranfield.lab import Again, Options, built, open_collection, with_fields
    from cranfield.text import Analysis

    chosen = open_collection(collection)
    url = _place(engine, output, chosen.where)
    if not quiet:
        for note in chosen.notes:
            click.echo(f"Note: {note}", err=True)

    wanted = [field.strip() for field in fields.split(",") if field.strip()]
    if not wanted:
        raise InputError("--fields names none; expected some, such as title,text.")
    documents = Again(lambda: with_fields(progress(chosen.documents(), None, "indexing"), wanted, collection))
    if not url.startswith("embedded:"):
        if (stemmer, stop_words) != ("english", "english"):
            raise InputError("--stemmer and --stop-words are for our own index: --engine embedded.")
        options = Options(source=collection, headers=headers, timeout=timeout)
        _index_with(url, documents, wanted, options, quiet)
        return
    output = url.removeprefix("embedded:")
    index = built(documents, Analysis(stemmer, stop_words), wanted, collection)
    index.save(output)
    if not quiet:
        what = f"{pluralize(len(index.docs), 'document')}, {len(index.terms):,} terms, {int(index.tokens):,} words"
        click.echo(f"{output}: {what} ({', '.join(wanted)}; stems {stemmer}, stop words {stop_words}).", err=True)


def _place(engine: str | None, output: str | None, collection: str) -> str:
    """The URL of the engine that is meant by --engine and -o."""
    from cranfield.lab import LOCAL, engine_url, is_large, is_url

    if engine is None and output is not None and not is_url(output):
        engine = "tantivy" if is_large(collection) and find_spec("tantivy") else "embedded"
    if engine is None:
        engine, output = output, None
    if engine is None:
        raise InputError("where to? Give -o INDEX, or --engine with a URL.")
    if engine in LOCAL:
        if output is None:
            raise InputError(f"--engine {engine} needs -o INDEX, the name of what it makes.")
        return f"{engine}:{output}"
    if output is not None:
        raise InputError(f"-o {output} is for the engines {', '.join(LOCAL)}; others have their place in the URL.")
    if not is_url(engine) and "://" not in engine:
        raise InputError(f"no engine {engine!r}: expected {', '.join(LOCAL)}, or a URL.")
    return engine_url(engine)


def _index_with(url: str, documents: Iterable[Document], fields: Sequence[str], options: Options, quiet: bool) -> None:
    """Index with an engine, say what it did, and fail if it has refused some documents."""
    from contextlib import closing

    from cranfield.base import pluralize
    from cranfield.lab import EngineError, mask_url, open_engine

    with closing(open_engine(url, options)) as engine:
        made = engine.index(documents, fields)
        about = f"{engine.about.name} {engine.about.version}".strip()
    if not quiet:
        rest = f", {pluralize(made.resumed, 'document')} of them from before" if made.resumed else ""
        size = "" if made.bytes is None else f", {made.bytes / 1e6:,.1f} MB"
        what = f"{pluralize(made.documents, 'document')}{rest}{size} ({', '.join(fields)}; {about})"
        click.echo(f"{mask_url(url)}: {what}.", err=True)
        if made.dropped:
            was = f"{pluralize(made.dropped, 'document')} of an interrupted attempt"
            click.echo(f"Note: begun anew, since {was} are no longer so in the collection.", err=True)
    if made.failed:
        some = "; ".join(f"{doc}: {why}" for doc, why in made.failed[:5])
        more = f"; and {len(made.failed) - 5:,} more" if len(made.failed) > 5 else ""
        what = f"{pluralize(len(made.failed), 'document')} refused, the others are indexed: {some}{more}"
        raise EngineError(f"{mask_url(url)}: {what}.")
