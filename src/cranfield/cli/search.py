"""cranfield search: the best documents of an index for each topic, as a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from cranfield.errors import InputError

if TYPE_CHECKING:
    from cranfield.collection import Run
    from cranfield.lab.engines import Options


@click.command(name="search")
@click.argument("index", metavar="INDEX")
@click.argument("topics", metavar="TOPICS")
@click.option("--system", default="bm25", show_default=True, help="What searches; see below.")
@click.option("--fields", default="title", show_default=True, help="Which fields of a topic to search with.")
@click.option("--depth", type=click.IntRange(1), default=1000, show_default=True, help="Documents for each topic.")
@click.option("--feedback", metavar="QRELS", help="Relevant documents to learn from, instead of the first ones found.")
@click.option("--topics-format", help="Format of the topics, if not recognised.")
@click.option("-o", "--output", metavar="RUN", default="-", show_default=True, help="The file to write.")
@click.option("--ids", metavar="PATH", default="", help="Where an answer has the ids, e.g. $.hits[*].id")
@click.option("--scores", metavar="PATH", default="", help="Where an answer has the scores, e.g. $.hits[*].score")
@click.option("--body", metavar="JSON", default="", help="What is sent to a server, with {query} and {depth} in it.")
@click.option("--header", "headers", multiple=True, help="A header for a server, 'Name: value'; $NAME is replaced.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds for one answer.",
)
@click.option(
    "--retries", type=click.IntRange(0), default=5, show_default=True, help="How often a server is asked again."
)
@click.option("--continue", "go_on", is_flag=True, help="Search only for topics that failed the last time.")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def command(
    index: str,
    topics: str,
    system: str,
    fields: str,
    depth: int,
    feedback: str | None,
    topics_format: str | None,
    output: str,
    ids: str,
    scores: str,
    body: str,
    headers: tuple[str, ...],
    timeout: float,
    retries: int,
    go_on: bool,
    quiet: bool,
) -> None:
    """Search an index for every topic.

    TOPICS is a file, or a test collection by name and folder, such as cranfield:DIR; so may be the QRELS of --feedback.

    A system is a model (bm25, tfidf, lm, lm-jm, dph, lsi) with parameters, and feedback after a plus sign (rm3,
    rocchio, rsj): bm25:k1=0.9,b=0.4 or lm:mu=500+rm3:docs=5,terms=20.

    INDEX is what `cranfield index` made, or the URL of an engine: tantivy:DIR, sqlite:FILE, postgresql://…?table=,
    opensearch+https://…/INDEX, elasticsearch+https://…/INDEX, http-get:https://…?q={query}&k={depth},
    http-post:https://… with --body, or command:PROGRAM {query} {depth}. These rank by themselves.

    \b
    Example:
      cranfield search bicycles.index topics.xml -o bm25.run
      cranfield search bicycles.index topics.xml --system bm25+rm3 --fields title,description -o rm3.run
      cranfield search 'http-get:https://host/search?q={query}&k={depth}' topics.xml --ids '$.hits[*].id' -o ours.run
    """
    from cranfield.formats import write_run
    from cranfield.lab.collections import qrels_from, topics_from
    from cranfield.lab.engines import Options, engine_url
    from cranfield.lab.index import Index
    from cranfield.lab.systems import query_text, relevant_documents, system_named
    from cranfield.wording import counted, listed

    wanted = [field.strip() for field in fields.split(",") if field.strip()]
    searcher = system_named(system)
    queries = {topic.id: query_text(topic, wanted) for topic in topics_from(topics, topics_format)}
    relevant = None if feedback is None else relevant_documents(qrels_from(feedback))
    url = engine_url(index)
    if url.startswith("embedded:"):
        run = searcher.search(Index.open(url.removeprefix("embedded:")), queries, depth, relevant)
    else:
        if system != "bm25" or feedback is not None:
            raise InputError("--system and --feedback are for our own index; other engines rank by themselves.")
        options = Options(
            ids=ids, scores=scores, body=body, headers=headers, timeout=timeout, retries=retries, source=topics
        )
        run = _asked(url, options, queries, depth, output, go_on)
        system = run.name
    write_run(run, output, "trec" if output == "-" else None)
    if output != "-" and os.path.exists(_part(output)):
        os.unlink(_part(output))
    if quiet:
        return
    empty = [query for query in queries if query not in run.position or not len(run.of(query))]
    click.echo(f"{counted(len(queries), 'topic')}, {counted(len(run), 'document')} ({system}).", err=True)
    if empty:
        click.echo(f"Nothing found for {counted(len(empty), 'topic')}: {listed(empty)}.", err=True)
    for note in run.notes:
        click.echo(f"Note: {note}.", err=True)


def _asked(url: str, options: Options, queries: Mapping[str, str], depth: int, output: str, go_on: bool) -> Run:
    """What an engine finds. If some topics fail, what was found for the others is kept beside the output."""
    from contextlib import closing

    from cranfield.formats import read_run, write_run
    from cranfield.lab.engines import EngineError, SearchFailed, joined, open_engine

    part = _part(output)
    before = read_run(part) if go_on and output != "-" and os.path.exists(part) else None
    known = set() if before is None else set(before.queries)
    rest = {query: text for query, text in queries.items() if query not in known}
    try:
        with closing(open_engine(url, options)) as engine:
            return joined(queries, before, engine.search(rest, depth))
    except SearchFailed as error:
        found = joined(queries, before, error.found)
        if not len(found):
            raise
        if output == "-":
            write_run(found, "-", "trec")
            raise EngineError(f"{error} What was found is printed.") from None
        write_run(found, part, "trec")
        raise EngineError(f"{error} What was found is in {part}; --continue searches for the rest.") from None


def _part(output: str) -> str:
    return f"{output}.part"
