"""cranfield search: search an index for every topic and write a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

import click

from cranfield.base import join_names, pluralize, replace
from cranfield.cli.options import (
    depth_option,
    fields_option,
    header_option,
    option_group,
    quiet_option,
    retries_option,
    timeout_option,
    topics_format_option,
)
from cranfield.cli.output import show_progress
from cranfield.data import Document, Run
from cranfield.errors import InputError
from cranfield.fusion import fuse, make_recipe
from cranfield.io import write_run
from cranfield.lab import (
    Endpoint,
    EngineError,
    Index,
    Keeping,
    Options,
    RetryPolicy,
    SearchFailed,
    Sources,
    Space,
    System,
    engine_url,
    is_vectors,
    joined,
    open_engine,
    qrels_from,
    queries_of,
    read_vectors,
    relevant_documents,
    system_named,
    topics_from,
)

# where vectors come from, for systems that search with them
vector_options = option_group(
    click.option("--vectors", metavar="FILE", help="Vectors of the documents: .npy or Parquet."),
    click.option("--query-vectors", metavar="FILE", help="Vectors of the topics: .npy or Parquet."),
    click.option(
        "--similarity", type=click.Choice(["inner", "cosine"]), help="Similarity of vectors. [default: inner]"
    ),
    click.option("--embeddings", metavar="URL", help="An OpenAI-compatible embeddings endpoint: https://…/v1"),
    click.option("--model", metavar="NAME", help="The endpoint's model. [default: that of --vectors]"),
    click.option("--api-key-env", metavar="NAME", help="The environment variable that holds the endpoint's key."),
    click.option("--batch", type=click.IntRange(1), default=64, show_default=True, help="Texts per request."),
    click.option("--doc-prefix", metavar="TEXT", default="", help="Text put before each document."),
    click.option("--query-prefix", metavar="TEXT", default="", help="Text put before each query."),
    click.option("--collection", metavar="COLLECTION", help="The documents. [default: those INDEX was built from]"),
)

# how other engines are queried
engine_options = option_group(
    click.option("--ids", metavar="PATH", default="", help="Where a response has the ids, e.g. $.hits[*].id"),
    click.option("--scores", metavar="PATH", default="", help="Where a response has the scores, e.g. $.hits[*].score"),
    click.option("--body", metavar="JSON", default="", help="The request body, with {query} and {depth} in it."),
    header_option,
    timeout_option(30.0),
    retries_option(5),
)


@click.command(name="search")
@click.argument("index", metavar="INDEX")
@click.argument("topics", metavar="TOPICS")
@click.option(
    "--system", "systems", metavar="SYSTEM", multiple=True, help="A system; see above. Repeatable. [default: bm25]"
)
@click.option("--fuse", "method", metavar="METHOD", default="rrf", show_default=True, help="How to fuse systems.")
@fields_option()
@depth_option(1000, "Documents per topic.")
@click.option("--feedback", metavar="QRELS", help="Relevant documents to learn from, instead of the top-ranked ones.")
@topics_format_option
@click.option("-o", "--output", metavar="RUN", default="-", show_default=True, help="The file to write.")
@vector_options
@engine_options
@click.option("--continue", "resume", is_flag=True, help="Search only for topics that the last attempt did not finish.")
@quiet_option
def command(
    index: str,
    topics: str,
    systems: tuple[str, ...],
    method: str,
    fields: str,
    depth: int,
    feedback: str | None,
    topics_format: str | None,
    output: str,
    resume: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Search an index for every topic and write a run.

    TOPICS is a file, or a test collection and its folder, such as cranfield:DIR; so may be the QRELS of --feedback.

    A system is a model (bm25, tfidf, lm, lm-jm, dph, lsi, dense) with parameters, optionally followed by feedback (rm3,
    rocchio, rsj, rm3-best, rm3-fused) and diversification (mmr) after plus signs: bm25:k1=0.9,b=0.4 or
    lm:mu=500+rm3:docs=5+mmr:lambda=0.7. Several systems are fused.

    dense compares vectors. They come from files, or from an endpoint and are then stored beside the index. Rows of .npy
    files are in the order of documents or topics, or have their ids in NAME.ids.txt beside NAME.npy, one per line.
    INDEX and TOPICS may also be files of vectors with ids.

    INDEX is an index built by `cranfield index`, or the URL of an engine: tantivy:DIR, sqlite:FILE, postgresql://…?table=,
    opensearch+https://…/INDEX, elasticsearch+https://…/INDEX, http-get:https://…?q={query}&k={depth},
    http-post:https://… with --body, or command:PROGRAM {query} {depth}. These have their own ranking.

    \b
    Example:
      cranfield search bicycles.index topics.xml -o bm25.run
      cranfield search bicycles.index topics.xml --system bm25+rm3 --fields title,description -o rm3.run
      cranfield search docs.npy topics.xml --query-vectors topics.npy --similarity cosine -o dense.run
      cranfield search 'http-get:https://host/search?q={query}&k={depth}' topics.xml --ids '$.hits[*].id' -o ours.run
    """
    engine, vectors = _split_options(options, topics)
    if is_vectors(topics):
        queries = _read_ids(topics)
        vectors["query_vectors"] = vectors["query_vectors"] or topics
    else:
        queries = queries_of(topics_from(topics, topics_format), fields, topics)
    if is_vectors(index):
        systems, vectors["vectors"] = systems or ("dense",), vectors["vectors"] or index
    url = f"embedded:{index}" if is_vectors(index) else engine_url(index)
    if url.startswith("embedded:"):
        place = url.removeprefix("embedded:")
        run, description = _search_index(place, systems, method, queries, depth, feedback, engine, vectors)
    else:
        if set(systems) - {"bm25"} or feedback is not None or any(vectors[name] for name in _SOURCES):
            raise InputError("--system, --feedback and vectors need our own index; other engines rank by themselves.")
        run = _search_engine(url, engine, queries, depth, output, resume)
        description = run.name
    _write(run, output)
    if not quiet:
        _print_summary(run, queries, description)


_SOURCES = ("vectors", "query_vectors", "embeddings", "similarity")
_ENGINE_OPTIONS = ("ids", "scores", "body", "headers", "timeout", "retries")


def _split_options(options: Mapping[str, Any], topics: str) -> tuple[Options, dict[str, Any]]:
    """The options for engines, and those about vectors."""
    engine = Options(source=topics, **{name: options[name] for name in _ENGINE_OPTIONS})
    return engine, {name: value for name, value in options.items() if name not in _ENGINE_OPTIONS}


def _search_index(
    place: str,
    systems: Sequence[str],
    method: str,
    queries: Mapping[str, str],
    depth: int,
    feedback: str | None,
    engine: Options,
    vectors: Mapping[str, Any],
) -> tuple[Run, str]:
    """What our own systems retrieve, and a description of them."""
    searchers = _find_systems(systems or ("bm25",), vectors["similarity"])
    index = None if is_vectors(place) else Index.open(place)
    space = _open_space(searchers, _vector_sources(engine, **vectors), index, place, queries)
    run = _search_all(searchers, method, index, space, queries, depth, _read_feedback(searchers, feedback))
    description = "; ".join(searcher.described(space) for searcher in searchers)
    return run, f"{method} of {description}" if len(searchers) > 1 else description


def _write(run: Run, output: str) -> None:
    """Write the run, then remove the partial results that it replaces."""
    partial = _partial_file(output)
    try:
        write_run(run, output, "trec" if output == "-" else None)
    except InputError as error:
        hint = f" All results are in {partial}; --continue writes them." if os.path.exists(partial) else ""
        raise InputError(f"{error.message}{hint}", error.file) from None
    if output != "-" and os.path.exists(partial):
        os.unlink(partial)


def _print_summary(run: Run, queries: Mapping[str, str], description: str) -> None:
    empty = [query for query in queries if query not in run.position or not len(run.of(query))]
    topics, documents = pluralize(len(queries), "topic"), pluralize(len(run), "document")
    click.echo(f"{topics}, {documents} ({description}).", err=True)
    if empty:
        click.echo(f"Nothing found for {pluralize(len(empty), 'topic')}: {join_names(empty)}.", err=True)
    for note in run.notes:
        click.echo(f"Note: {note.rstrip('.')}.", err=True)


def _find_systems(names: Sequence[str], similarity: str | None) -> list[System]:
    systems = [system_named(name) for name in names]
    if similarity is None:
        return systems
    if not any(system.is_dense for system in systems):
        raise InputError(f"--similarity is for dense; {', '.join(names)} compares words.")
    return [system_named(_with_similarity(s.name, similarity)) if s.is_dense else s for s in systems]


def _with_similarity(name: str, similarity: str) -> str:
    """The name of a dense system with a similarity.

    >>> _with_similarity("dense+mmr:lambda=0.7", "cosine")
    'dense:similarity=cosine+mmr:lambda=0.7'
    """
    first, plus, rest = name.partition("+")
    return f"{first}{',' if ':' in first else ':'}similarity={similarity}{plus}{rest}"


def _vector_sources(
    engine: Options,
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
    endpoint = None
    if embeddings is not None:
        retry = RetryPolicy(engine.timeout, engine.retries)
        endpoint = Endpoint(embeddings, model or "", api_key_env, engine.headers, batch, retry)
    elif model or api_key_env or collection:
        raise InputError("--model, --api-key-env and --collection need an endpoint: --embeddings URL.")
    return Sources(vectors, query_vectors, endpoint, collection, doc_prefix, query_prefix)


def _open_space(
    searchers: Sequence[System], sources: Sources, index: Index | None, place: str, queries: Mapping[str, str]
) -> Space | None:
    """The vectors that systems compare; None if they compare words."""
    is_dense = any(searcher.is_dense for searcher in searchers)
    has_vectors = sources.docs is not None or sources.queries is not None or sources.endpoint is not None
    if has_vectors and not is_dense and not any(searcher.diversity for searcher in searchers):
        names = ", ".join(searcher.name for searcher in searchers)
        raise InputError(f"vectors are for dense and mmr; {names} compares words.")
    if not is_dense and not has_vectors:
        return None

    def watch(documents: Iterable[Document]) -> Iterable[Document]:
        return show_progress(documents, None if index is None else len(index.docs), "getting vectors")

    return sources.space(queries if is_dense else None, index, place, watch)


def _search_all(
    searchers: Sequence[System],
    method: str,
    index: Index | None,
    space: Space | None,
    queries: Mapping[str, str],
    depth: int,
    relevant: Mapping[str, Sequence[str]] | None,
) -> Run:
    """What the systems retrieve, fused if there are several."""
    if len(searchers) == 1:
        return searchers[0].search(index, queries, depth, relevant, space)
    make_recipe(method, len(searchers))  # an unknown method is reported before anything is searched
    runs = [searcher.search(index, queries, depth, relevant, space) for searcher in searchers]
    name = f"{method}({','.join(searcher.name for searcher in searchers)})"
    fused = fuse(runs, method, depth=depth, name=name)
    return replace(fused, tag=name, notes=tuple(dict.fromkeys(note for run in (*runs, fused) for note in run.notes)))


def _read_feedback(searchers: Sequence[System], feedback: str | None) -> Mapping[str, Sequence[str]] | None:
    if feedback is None:
        return None
    if not any(searcher.feedback for searcher in searchers):
        raise InputError("--feedback needs a system that learns from documents, such as bm25+rm3.")
    return relevant_documents(qrels_from(feedback))


def _read_ids(topics: str) -> dict[str, str]:
    """Topics of which there are only vectors."""
    ids = read_vectors(topics).ids
    if ids is None:
        raise InputError("these vectors have no topic ids: give the topics, and this file as --query-vectors.", topics)
    return dict.fromkeys(ids, "")


def _search_engine(
    url: str, options: Options, queries: Mapping[str, str], depth: int, output: str, resume: bool
) -> Run:
    """What an engine retrieves. Results are saved beside the output as they arrive, until all are there."""
    if output == "-" or (os.path.exists(output) and not os.path.isfile(output)):
        try:
            with closing(open_engine(url, options)) as engine:
                return engine.search(queries, depth)
        except SearchFailed as error:
            if not len(error.found):
                raise
            write_run(error.found, output, "trec")
            raise EngineError(f"{error} The results so far are printed.") from None
    with closing(Keeping(_partial_file(output), resume)) as saved, closing(open_engine(url, options)) as engine:
        before = dict(saved.found)
        rest = {query: text for query, text in queries.items() if query not in before}
        try:
            return joined(queries, before, engine.search(rest, depth, saved.add))
        except SearchFailed as error:
            raise EngineError(f"{error} {saved.said if saved.found else ''}".rstrip()) from None


def _partial_file(output: str) -> str:
    return f"{output}.part"
