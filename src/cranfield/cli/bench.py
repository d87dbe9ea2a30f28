"""cranfield bench: what systems cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from cranfield.base import replace
from cranfield.cli.options import (
    depth_option,
    fields_option,
    format_option,
    option_group,
    retries_option,
    seed_option,
    timeout_option,
)
from cranfield.cli.output import echo, has_styles, show_progress, terminal_width, write_text
from cranfield.errors import CranfieldError, InputError
from cranfield.lab import (
    Bench,
    Indexing,
    Load,
    Options,
    Subject,
    VectorFiles,
    given_options,
    library,
    measure_indexing,
    of_indexing,
    of_latencies,
    open_collection,
    queries_of,
    read_latencies,
    run_bench,
    subjects_named,
    topics_from,
    with_index,
    write_latencies,
)
from cranfield.reporting import efficiency as report

# how systems are loaded with queries; `_measure` makes a Load of them
load_options = option_group(
    click.option("--repetitions", type=click.IntRange(1), default=5, show_default=True, help="Runs of each query."),
    click.option("--warm-up", type=click.IntRange(0), default=1, show_default=True, help="Repetitions not counted."),
    click.option("--cold", type=click.IntRange(0), default=5, show_default=True, help="Cold starts to measure."),
    click.option("--clients", default="1,2,4", show_default=True, help="Numbers of clients for throughput, or none."),
    click.option("--seconds", type=click.FloatRange(0.05), default=2.0, show_default=True, help="Time for each."),
    click.option("--rate", type=click.FloatRange(0, min_open=True), help="Queries per second that arrive (open loop)."),
    click.option("--connections", type=click.IntRange(1), default=64, show_default=True, help="Limit for --rate."),
    click.option("--energy", is_flag=True, help="Measure energy too; needs the extra 'energy'."),
    seed_option("Seed for the order of queries."),
)

# how other engines are queried; each for all systems, or for one with NAME= before
engine_options = option_group(
    click.option("--ids", metavar="[NAME=]PATH", multiple=True, help="Where a response has the ids, e.g. $.hits[*].id"),
    click.option("--scores", metavar="[NAME=]PATH", multiple=True, help="Where a response has the scores."),
    click.option("--body", metavar="[NAME=]JSON", multiple=True, help="The request body, with {query} in it."),
    click.option(
        "--header",
        "headers",
        metavar="[NAME=]HEADER",
        multiple=True,
        help="A header, 'Name: value'; $NAME is substituted; repeatable.",
    ),
    timeout_option(30.0),
    retries_option(0),
)


@click.command(name="bench")
@click.argument("places", metavar="[[INDEX] TOPICS]", nargs=-1)
@click.option(
    "--system",
    "systems",
    metavar="[NAME=]SYSTEM|URL",
    multiple=True,
    help="What to measure; see above. Repeatable.",
)
@click.option("--collection", metavar="COLLECTION", help="Measure indexing this collection as well.")
@click.option(
    "--engine",
    "engines",
    metavar="ENGINE",
    multiple=True,
    help="What to index with; repeatable. [default: embedded]",
)
@click.option(
    "--latencies", metavar="FILE", help="Compare latencies measured elsewhere: query, system, repetition, ms."
)
@click.option("--baseline", metavar="SYSTEM", help="The system to compare others with. [default: the first]")
@fields_option()
@depth_option(10, "Documents per query.")
@load_options
@click.option("--vectors", metavar="FILE", help="Vectors of the documents, for dense and mmr: .npy or Parquet.")
@click.option("--query-vectors", metavar="FILE", help="Vectors of the topics, for dense.")
@engine_options
@click.option("-o", "--output", metavar="FILE", help="Write every latency: query, system, repetition, ms.")
@click.option("--json", "json_file", metavar="FILE", help="Write all results as JSON, for a report.")
@format_option()
def command(
    places: tuple[str, ...],
    systems: tuple[str, ...],
    collection: str | None,
    latencies: str | None,
    baseline: str | None,
    output: str | None,
    json_file: str | None,
    format_: str,
    **options: Any,
) -> None:
    """Measure what systems cost: latency, throughput, indexing, energy.

    Latencies are measured one query at a time (closed loop), from a cold start to the first result and, with --rate,
    from the time at which queries were due to arrive (open loop). Systems are compared query by query, by the ratio of
    their times. A failed search is counted and has no time.

    A system is a system of INDEX (bm25, lm+rm3, …; see `cranfield search`) or of another index (lm@other.index), an
    index of another engine on disk, or an engine's URL: tantivy:DIR, sqlite:FILE, postgresql://…, opensearch+https://…,
    http-get:https://…, http-post:https://…, command:PROGRAM {query} {depth}. --ids, --scores, --body and --header are
    for all of these, or for one of them with its name and = before. TOPICS and COLLECTION may be files, or a test
    collection and its folder, such as cranfield:DIR.

    \b
    Example:
      cranfield bench bicycles.index topics.xml --system bm25 --system lsi --rate 50
      cranfield bench bicycles.index topics.xml --system bm25 --system fts=sqlite:bicycles.db \\
        --system 'ours=http-get:https://host/search?q={query}&k={depth}' --ids 'ours=$.hits[*].id' --json bench.json
      cranfield bench --collection documents.jsonl --engine embedded --engine tantivy --engine sqlite
      cranfield bench --latencies latencies.tsv --baseline bm25
    """
    if latencies is None:
        result = _measure(places, systems, collection, baseline, **options)
    elif places or systems or collection:
        raise InputError("--latencies FILE is all that is compared: give no INDEX, TOPICS or systems with it.")
    else:
        result = of_latencies(read_latencies(latencies), baseline)
    if output is not None:
        write_latencies(result.latencies, output)
    if json_file is not None:
        write_text(report.as_json(result), json_file)
    echo(report.as_json(result) if format_ == "json" else report.as_text(result, terminal_width(), has_styles()))
    for one in result.unanswered:
        raise CranfieldError(f"{one.system} answered no query. The first error: {one.first_error}")


def _measure(
    places: tuple[str, ...],
    systems: tuple[str, ...],
    collection: str | None,
    baseline: str | None,
    *,
    engines: tuple[str, ...],
    fields: str,
    depth: int,
    vectors: str | None,
    query_vectors: str | None,
    timeout: float,
    retries: int,
    clients: str,
    energy: bool,
    ids: tuple[str, ...],
    scores: tuple[str, ...],
    body: tuple[str, ...],
    headers: tuple[str, ...],
    **load: Any,
) -> Bench:
    if energy:
        library()  # a missing extra is reported first
    settings = Load(clients=_parse_clients(clients), energy=energy, **load)
    files = VectorFiles(vectors, query_vectors, _read_queries(places, fields)) if vectors and places else None
    by_system = {"ids": ids, "scores": scores, "body": body, "headers": headers}
    subjects = _find_subjects(places, systems, depth, Options(timeout=timeout, retries=retries), by_system, files)
    indexings = _measure_indexing(collection, engines, energy)
    if not places and indexings and not subjects:
        return of_indexing(indexings)
    if not places or not subjects:
        raise InputError("expected INDEX and TOPICS, TOPICS and --system URL, --collection, or --latencies FILE.")
    return run_bench(subjects, _read_queries(places, fields), settings, baseline, indexings, show_progress)


def _find_subjects(
    places: tuple[str, ...],
    systems: tuple[str, ...],
    depth: int,
    common: Options,
    by_system: Mapping[str, Iterable[str]],
    vectors: VectorFiles | None,
) -> dict[str, Subject]:
    if len(places) > 2:
        raise InputError(f"expected INDEX and TOPICS, found {' '.join(places)}. Name more systems with --system.")
    index = places[0] if len(places) == 2 else None
    texts = with_index(systems, index)
    return subjects_named(texts, index, depth, replace(given_options(texts, common, by_system), vectors=vectors))


def _measure_indexing(collection: str | None, engines: tuple[str, ...], energy: bool) -> list[Indexing]:
    if collection is None:
        if engines:
            raise InputError("--engine needs a collection to index: --collection COLLECTION.")
        return []
    opened = open_collection(collection)
    names = engines or ("embedded",)
    return [
        measure_indexing(collection, opened.documents(), engine=name, energy=energy)
        for name in show_progress(names, len(names), "indexing")
    ]


def _read_queries(places: tuple[str, ...], fields: str) -> dict[str, str]:
    return queries_of(topics_from(places[-1]), fields, places[-1])


def _parse_clients(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if parts == ["none"]:
        return ()
    if not parts or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise InputError(f"--clients {text}: expected comma-separated numbers from 1, or none.")
    return tuple(map(int, parts))
