"""cranfield search: the best documents of an index for each topic, as a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cranfield.base import replace
from cranfield.cli.options import progress
from cranfield.errors import InputError

if TYPE_CHECKING:
    from cranfield.data import Document, Run
    from cranfield.lab import Index, Options, Sources, Space, System

F = TypeVar("F", bound=Callable[..., Any])


def vector_options(function: F) -> F:
    """Where vectors come from, for systems that search with them."""
    given: list[tuple[str, dict[str, Any]]] = [
        ("--vectors", {"metavar": "FILE", "help": "Vectors of the documents: .npy or Parquet."}),
        ("--query-vectors", {"metavar": "FILE", "help": "Vectors of the topics: .npy or Parquet."}),
        ("--similarity", {"type": click.Choice(["inner", "cosine"]), "help": "How vectors compare. [default: inner]"}),
        ("--embeddings", {"metavar": "URL", "help": "An endpoint for vectors, as OpenAI's: https://…/v1"}),
        ("--model", {"metavar": "NAME", "help": "The endpoint's model. [default: that of --vectors]"}),
        ("--api-key-env", {"metavar": "NAME", "help": "The environment variable with the endpoint's key."}),
        ("--batch", {"type": click.IntRange(1), "default": 64, "show_default": True, "help": "Texts sent at once."}),
        ("--doc-prefix", {"metavar": "TEXT", "default": "", "help": "Put before the text of each document."}),
        ("--query-prefix", {"metavar": "TEXT", "default": "", "help": "Put before each query."}),
        ("--collection", {"metavar": "COLLECTION", "help": "The documents. [default: where INDEX was made from]"}),
    ]
    for name, settings in reversed(given):
        function = click.option(name, **settings)(function)
    return function


@click.command(name="search")
@click.argument("index", metavar="INDEX")
@click.argument("topics", metavar="TOPICS")
@click.option(
    "--system", "systems", metavar="SYSTEM", multiple=True, help="What searches; see above. Repeatable. [default: bm25]"
)
@click.option("--fuse", metavar="METHOD", default="rrf", show_default=True, help="How several systems are made one.")
@click.option("--fields", default="title", show_default=True, help="Which fields of a topic to search with.")
@click.option("--depth", type=click.IntRange(1), default=1000, show_default=True, help="Documents for each topic.")
@click.option("--feedback", metavar="QRELS", help="Relevant documents to learn from, instead of the first ones found.")
@click.option("--topics-format", help="Format of the topics, if not recognised.")
@click.option("-o", "--output", metavar="RUN", default="-", show_default=True, help="The file to write.")
@vector_options
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
@click.option("--continue", "go_on", is_flag=True, help="Search only for topics without an answer from the last time.")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def command(
    index: str,
    topics: str,
    systems: tuple[str, ...],
    fuse: str,
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
    **vectors: Any,
) -> None:
    """Search an index for every topic.

    TOPICS is a file, or a test collection by name and folder, such as cranfield:DIR; so may be the QRELS of --feedback.

    A system is a model (bm25, tfidf, lm, lm-jm, dph, lsi, dense) with parameters; after plus signs feedback (rm3,
    rocchio, rsj, rm3-best, rm3-fused) and diversity (mmr): bm25:k1=0.9,b=0.4 or lm:mu=500+rm3:docs=5+mmr:lambda=0.7.
    Several systems are fused.

    dense compares vectors, which are given in files, or come from an endpoint and are kept beside the index. In .npy
    files rows are in the order of documents or topics, or have ids in NAME.ids.txt beside NAME.npy, one a line.
    INDEX and TOPICS may themselves be files of vectors with ids.

    INDEX is what `cranfield index` made, or the URL of an engine: tantivy:DIR, sqlite:FILE, postgresql://…?table=,
    opensearch+https://…/INDEX, elasticsearch+https://…/INDEX, http-get:https://…?q={query}&k={depth},
    http-post:https://… with --body, or command:PROGRAM {query} {depth}. These rank by themselves.

    \b
    Example:
      cranfield search bicycles.index topics.xml -o bm25.run
      cranfield search bicycles.index topics.xml --system bm25+rm3 --fields title,description -o rm3.run
      cranfield search docs.npy topics.xml --query-vectors topics.npy --similarity cosine -o dense.run
      cranfield search 'http-get:https://host/search?q={query}&k={depth}' topics.xml --ids '$.hits[*].id' -o ours.run
    """
    from cranfield.base import join_names, pluralize
    from cranfield.io import write_run
    from cranfield.lab import Index, Options, engine_url, is_vectors, queries_of, topics_from

    options = Options(
        ids=ids, scores=scores, body=body, headers=headers, timeout=timeout, retries=retries, source=topics
    )
    if is_vectors(topics):
        queries = _ids_of(topics)
        vectors["query_vectors"] = vectors["query_vectors"] or topics
    else:
        queries = queries_of(topics_from(topics, topics_format), fields, topics)
    if is_vectors(index):
        systems, vectors["vectors"] = systems or ("dense",), vectors["vectors"] or index
    url = f"embedded:{index}" if is_vectors(index) else engine_url(index)
    if url.startswith("embedded:"):
        searchers = _searchers(systems or ("bm25",), vectors["similarity"])
        opened = None if is_vectors(index) else Index.open(url.removeprefix("embedded:"))
        space = _space(searchers, _sources(options, **vectors), opened, url.removeprefix("embedded:"), queries)
        run = _found(searchers, fuse, opened, space, queries, depth, _relevant(searchers, feedback))
        how = "; ".join(searcher.described(space) for searcher in searchers)
        how = f"{fuse} of {how}" if len(searchers) > 1 else how
    else:
        if set(systems) - {"bm25"} or feedback is not None or any(vectors[name] for name in _SOURCES):
            raise InputError(
                "--system and --feedback are for our own index, and so are vectors; other engines rank by themselves."
            )
        run = _asked(url, options, queries, depth, output, go_on)
        how = run.name
    try:
        write_run(run, output, "trec" if output == "-" else None)
    except InputError as error:
        kept = f" All answers are in {_part(output)}; --continue writes them." if os.path.exists(_part(output)) else ""
        raise InputError(f"{error.message}{kept}", error.file) from None
    if output != "-" and os.path.exists(_part(output)):
        os.unlink(_part(output))
    if quiet:
        return
    empty = [query for query in queries if query not in run.position or not len(run.of(query))]
    click.echo(f"{pluralize(len(queries), 'topic')}, {pluralize(len(run), 'document')} ({how}).", err=True)
    if empty:
        click.echo(f"Nothing found for {pluralize(len(empty), 'topic')}: {join_names(empty)}.", err=True)
    for note in run.notes:
        click.echo(f"Note: {note.rstrip('.')}.", err=True)


_SOURCES = ("vectors", "query_vectors", "embeddings", "similarity")


def _searchers(names: Sequence[str], similarity: str | None) -> list[System]:
    from cranfield.lab import system_named

    found = [system_named(name) for name in names]
    if similarity is None:
        return found
    if not any(system.is_dense for system in found):
        raise InputError(f"--similarity is for dense; {', '.join(names)} compares words.")
    return [system_named(_compared_by(s.name, similarity)) if s.is_dense else s for s in found]


def _compared_by(name: str, similarity: str) -> str:
    """The name of a dense system with a similarity.

    >>> _compared_by("dense+mmr:lambda=0.7", "cosine")
    'dense:similarity=cosine+mmr:lambda=0.7'
    """
    first, plus, rest = name.partition("+")
    return f"{first}{',' if ':' in first else ':'}similarity={similarity}{plus}{rest}"


def _sources(
    options: Options,
    vectors: str | None,
    query_vectors: str | None,
    similarity: str | None,
    embeddings: str | None,
    model: str | None,
    api_key_env: str | None,
    batch: int,
    doc_prefix: str,
    query_prefix: str,
    collection: str | None,
) -> Sources:
    from cranfield.lab import Endpoint, RetryPolicy, Sources

    endpoint = None
    if embeddings is not None:
        retry = RetryPolicy(options.timeout, options.retries)
        endpoint = Endpoint(embeddings, model or "", api_key_env, options.headers, batch, retry)
    elif model or api_key_env or collection:
        raise InputError("--model, --api-key-env and --collection are for an endpoint: name it with --embeddings.")
    return Sources(vectors, query_vectors, endpoint, collection, doc_prefix, query_prefix)


def _space(
    searchers: Sequence[System], sources: Sources, index: Index | None, place: str, queries: Mapping[str, str]
) -> Space | None:
    """The vectors that systems compare; none if they compare words."""
    dense = any(searcher.is_dense for searcher in searchers)
    given = sources.docs is not None or sources.queries is not None or sources.endpoint is not None
    if given and not dense and not any(searcher.diversity for searcher in searchers):
        names = ", ".join(searcher.name for searcher in searchers)
        raise InputError(f"vectors are for dense and mmr; {names} compares words.")
    if not dense and not given:
        return None

    def passing(documents: Iterable[Document]) -> Iterable[Document]:
        return progress(documents, None if index is None else len(index.docs), "getting vectors")

    return sources.space(queries if dense else None, index, place, passing)


def _found(
    searchers: Sequence[System],
    method: str,
    index: Index | None,
    space: Space | None,
    queries: Mapping[str, str],
    depth: int,
    relevant: Mapping[str, Sequence[str]] | None,
) -> Run:
    """What systems find; that of several is fused."""
    if len(searchers) == 1:
        return searchers[0].search(index, queries, depth, relevant, space)
    from cranfield.fusion import fuse, recipe_of

    recipe_of(method, len(searchers))  # a wrong name is told before anything is searched
    runs = [searcher.search(index, queries, depth, relevant, space) for searcher in searchers]
    name = f"{method}({','.join(searcher.name for searcher in searchers)})"
    fused = fuse(runs, method, depth=depth, name=name)
    return replace(fused, tag=name, notes=tuple(dict.fromkeys(note for run in (*runs, fused) for note in run.notes)))


def _relevant(searchers: Sequence[System], feedback: str | None) -> Mapping[str, Sequence[str]] | None:
    if feedback is None:
        return None
    if not any(searcher.feedback for searcher in searchers):
        raise InputError("--feedback is for a system that learns from documents, such as bm25+rm3.")
    from cranfield.lab import qrels_from, relevant_documents

    return relevant_documents(qrels_from(feedback))


def _ids_of(topics: str) -> dict[str, str]:
    """Topics that are known by their vectors alone."""
    from cranfield.lab import read_vectors

    ids = read_vectors(topics).ids
    if ids is None:
        raise InputError("of which topics are these vectors? Name the topics, and these with --query-vectors.", topics)
    return dict.fromkeys(ids, "")


def _asked(url: str, options: Options, queries: Mapping[str, str], depth: int, output: str, go_on: bool) -> Run:
    """What an engine finds. Answers are kept beside the output as they come, until all are there."""
    from contextlib import closing

    from cranfield.io import write_run
    from cranfield.lab import EngineError, Keeping, SearchFailed, joined, open_engine

    if output == "-" or (os.path.exists(output) and not os.path.isfile(output)):
        try:
            with closing(open_engine(url, options)) as engine:
                return engine.search(queries, depth)
        except SearchFailed as error:
            if not len(error.found):
                raise
            write_run(error.found, output, "trec")
            raise EngineError(f"{error} What was found is printed.") from None
    with closing(Keeping(_part(output), go_on)) as kept, closing(open_engine(url, options)) as engine:
        before = dict(kept.found)
        rest = {query: text for query, text in queries.items() if query not in before}
        try:
            return joined(queries, before, engine.search(rest, depth, kept.add))
        except SearchFailed as error:
            raise EngineError(f"{error} {kept.said if kept.found else ''}".rstrip()) from None


def _part(output: str) -> str:
    return f"{output}.part"
