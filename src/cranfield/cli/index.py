"""cranfield index: the text of a collection, ready to be searched."""

from __future__ import annotations

import click

from cranfield.analysis import STOP_WORDS
from cranfield.cli.options import progress


@click.command(name="index")
@click.argument("collection", metavar="COLLECTION")
@click.option("-o", "--output", metavar="INDEX", required=True, help="The folder to write.")
@click.option("--fields", default="title,text", show_default=True, help="Which fields of a document to index.")
@click.option("--stemmer", default="english", show_default=True, help="Snowball's stemmer for a language, or none.")
@click.option(
    "--stop-words", type=click.Choice(list(STOP_WORDS)), default="english", show_default=True, help="Words left out."
)
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def command(collection: str, output: str, fields: str, stemmer: str, stop_words: str, quiet: bool) -> None:
    """Index the documents of a collection.

    COLLECTION is a file or folder of documents in any format that `cranfield convert` reads.

    \b
    Example:
      cranfield index documents.jsonl -o bicycles.index
      cranfield index documents.jsonl -o plain.index --stemmer none --stop-words none
    """
    from cranfield.analysis import Analysis
    from cranfield.formats import read_documents
    from cranfield.lab.index import build
    from cranfield.wording import counted

    documents = progress(read_documents(collection), None, "indexing")
    wanted = [field.strip() for field in fields.split(",") if field.strip()]
    index = build(documents, Analysis(stemmer, stop_words), wanted, collection)
    index.save(output)
    if not quiet:
        what = f"{counted(len(index.docs), 'document')}, {len(index.terms):,} terms, {int(index.tokens):,} words"
        click.echo(f"{output}: {what} ({', '.join(wanted)}; stems {stemmer}, stop words {stop_words}).", err=True)
