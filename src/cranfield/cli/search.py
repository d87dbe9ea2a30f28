"""cranfield search: the best documents of an index for each topic, as a run."""

from __future__ import annotations

import click


@click.command(name="search")
@click.argument("index", metavar="INDEX")
@click.argument("topics", metavar="TOPICS")
@click.option("--system", default="bm25", show_default=True, help="What searches; see below.")
@click.option("--fields", default="title", show_default=True, help="Which fields of a topic to search with.")
@click.option("--depth", type=click.IntRange(1), default=1000, show_default=True, help="Documents for each topic.")
@click.option("--feedback", metavar="QRELS", help="Relevant documents to learn from, instead of the first ones found.")
@click.option("--topics-format", help="Format of the topics, if not recognised.")
@click.option("-o", "--output", metavar="RUN", default="-", show_default=True, help="The file to write.")
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
    quiet: bool,
) -> None:
    """Search an index for every topic.

    A system is a model (bm25, tfidf, lm, lm-jm, dph, lsi) with parameters, and feedback after a plus sign (rm3,
    rocchio, rsj): bm25:k1=0.9,b=0.4 or lm:mu=500+rm3:docs=5,terms=20.

    \b
    Example:
      cranfield search bicycles.index topics.xml -o bm25.run
      cranfield search bicycles.index topics.xml --system bm25+rm3 --fields title,description -o rm3.run
    """
    from cranfield.formats import read_qrels, read_topics, write_run
    from cranfield.lab.index import Index
    from cranfield.lab.systems import query_text, relevant_documents, system_named
    from cranfield.wording import counted, listed

    wanted = [field.strip() for field in fields.split(",") if field.strip()]
    searcher = system_named(system)
    queries = {topic.id: query_text(topic, wanted) for topic in read_topics(topics, topics_format)}
    relevant = None if feedback is None else relevant_documents(read_qrels(feedback))
    run = searcher.search(Index.open(index), queries, depth, relevant)
    write_run(run, output, "trec" if output == "-" else None)
    if quiet:
        return
    empty = [query for query in queries if query not in run.position or not len(run.of(query))]
    click.echo(f"{counted(len(queries), 'topic')}, {counted(len(run), 'document')} ({system}).", err=True)
    if empty:
        click.echo(f"Nothing found for {counted(len(empty), 'topic')}: {listed(empty)}.", err=True)
