"""cranfield bench: what systems cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from cranfield.base import replace
from cranfield.cli.options import echo, on_terminal, progress, width
from cranfield.errors import CranfieldError, InputError

if TYPE_CHECKING:
    from cranfield.lab import Bench, Indexing, Load, Options, Subject, VectorFiles


@click.command(name="bench")
@click.argument("places", metavar="[[INDEX] TOPICS]", nargs=-1)
@click.option(
    "--system", "systems", metavar="[NAME=]SYSTEM|URL", multiple=True, help="What is measured; repeatable. See above."
)
@click.option("--collection", metavar="COLLECTION", help="Also measure how it is indexed.")
@click.option(
    "--engine", "engines", metavar="ENGINE", multiple=True, help="What indexes it; repeatable. [default: embedded]"
)
@click.option(
    "--latencies", metavar="FILE", help="Compare latencies measured elsewhere: query, system, repetition, ms."
)
@click.option("--baseline", metavar="SYSTEM", help="What the others are compared with. [default: the first]")
@click.option("--fields", default="title", show_default=True, help="Which fields of a topic to search with.")
@click.option("--depth", type=click.IntRange(1), default=10, show_default=True, help="Documents for each query.")
@click.option("--repetitions", type=click.IntRange(1), default=5, show_default=True, help="Of every query.")
@click.option("--warm-up", type=click.IntRange(0), default=1, show_default=True, help="Repetitions not counted.")
@click.option("--cold", type=click.IntRange(0), default=5, show_default=True, help="Starts, for the first answer.")
@click.option("--clients", default="1,2,4", show_default=True, help="Numbers of clients for the throughput, or none.")
@click.option("--seconds", type=click.FloatRange(0.05), default=2.0, show_default=True, help="For each of them.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Queries a second that arrive come what may.")
@click.option(
    "--connections", type=click.IntRange(1), default=64, show_default=True, help="Clients at most, for --rate."
)
@click.option("--energy", is_flag=True, help="Measure energy too, with the extra 'energy'.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="For the order of queries.")
@click.option("--vectors", metavar="FILE", help="Vectors of the documents, for dense and mmr: .npy or Parquet.")
@click.option("--query-vectors", metavar="FILE", help="Vectors of the topics, for dense.")
@click.option("--ids", metavar="[NAME=]PATH", multiple=True, help="Where an answer has the ids, e.g. $.hits[*].id")
@click.option("--scores", metavar="[NAME=]PATH", multiple=True, help="Where an answer has the scores.")
@click.option("--body", metavar="[NAME=]JSON", multiple=True, help="What is sent to a server, with {query} in it.")
@click.option(
    "--header", "headers", metavar="[NAME=]HEADER", multiple=True, help="'Name: value'; $NAME is replaced; repeatable."
)
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), default=30.0, show_default=True, help="Seconds an answer."
)
@click.option(
    "--retries", type=click.IntRange(0), default=0, show_default=True, help="How often a server is asked again."
)
@click.option("-o", "--output", metavar="FILE", help="Write every latency: query, system, repetition, ms.")
@click.option("--json", "json_file", metavar="FILE", help="Write all figures as JSON, for a report.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    places: tuple[str, ...],
    systems: tuple[str, ...],
    collection: str | None,
    engines: tuple[str, ...],
    latencies: str | None,
    baseline: str | None,
    fields: str,
    depth: int,
    repetitions: int,
    warm_up: int,
    cold: int,
    clients: str,
    seconds: float,
    rate: float | None,
    connections: int,
    energy: bool,
    seed: int,
    vectors: str | None,
    query_vectors: str | None,
    ids: tuple[str, ...],
    scores: tuple[str, ...],
    body: tuple[str, ...],
    headers: tuple[str, ...],
    timeout: float,
    retries: int,
    output: str | None,
    json_file: str | None,
    format_: str,
) -> None:
    """Measure what systems cost: latency, throughput, indexing, energy.

    Latencies are taken one query at a time (closed loop), from a start to the first answer (cold) and, with --rate,
    from when queries that arrive at a rate were due (open loop). Systems are compared query by query, by the ratio of
    their times. A search that fails is counted and has no time.

    A system is one of INDEX (bm25, lm+rm3, …; see `cranfield search`), of another index (lm@other.index), an index of
    another engine on disk, or an engine's URL: tantivy:DIR, sqlite:FILE, postgresql://…, opensearch+https://…,
    http-get:https://…, http-post:https://…, command:PROGRAM {query} {depth}. --ids, --scores, --body and --header are
    for all of these, or for one of them with its name and = before. TOPICS and COLLECTION may be a file, or a test
    collection by name and folder, such as cranfield:DIR.

    \b
    Example:
      cranfield bench bicycles.index topics.xml --system bm25 --system lsi --rate 50
      cranfield bench bicycles.index topics.xml --system bm25 --system fts=sqlite:bicycles.db \\
        --system 'ours=http-get:https://host/search?q={query}&k={depth}' --ids 'ours=$.hits[*].id' --json bench.json
      cranfield bench --collection documents.jsonl --engine embedded --engine tantivy --engine sqlite
      cranfield bench --latencies latencies.tsv --baseline bm25
    """
    from cranfield.io import open_output
    from cranfield.lab import Load, Options, VectorFiles, library, of_latencies, read_latencies, write_latencies
    from cranfield.reporting import efficiency

    if latencies is not None:
        if places or systems or collection:
            raise InputError("--latencies FILE is all that is compared; give no INDEX, TOPICS or systems with it.")
        found = of_latencies(read_latencies(latencies), baseline)
    else:
        if energy:
            library()
        load = Load(repetitions, warm_up, _numbers(clients), seconds, rate, seed, cold, connections, energy)
        common = Options(timeout=timeout, retries=retries)
        values = {"ids": ids, "scores": scores, "body": body, "headers": headers}
        given = VectorFiles(vectors, query_vectors, _queries(places, fields)) if vectors and places else None
        subjects = _subjects(places, systems, depth, common, values, given)
        indexings = _indexings(collection, engines, energy)
        found = _measured(places, fields, subjects, load, baseline, indexings)
    if output is not None:
        write_latencies(found.latencies, output)
    content = efficiency.as_json(found)
    if json_file is not None:
        with open_output(json_file) as out:
            out.write(content.encode("utf-8", "surrogateescape"))
    echo(content if format_ == "json" else efficiency.as_text(found, width(), on_terminal()))
    for one in found.unanswered:
        raise CranfieldError(f"{one.system} has answered no search. The first: {one.first_error}")


def _subjects(
    places: tuple[str, ...],
    systems: tuple[str, ...],
    depth: int,
    common: Options,
    values: Mapping[str, Iterable[str]],
    vectors: VectorFiles | None,
) -> dict[str, Subject]:
    from cranfield.lab import given_options, subjects_named, with_index

    if len(places) > 2:
        raise InputError(f"expected INDEX and TOPICS, found {' '.join(places)}. Give more systems with --system.")
    index = places[0] if len(places) == 2 else None
    texts = with_index(systems, index)
    return subjects_named(texts, index, depth, replace(given_options(texts, common, values), vectors=vectors))


def _indexings(collection: str | None, engines: tuple[str, ...], energy: bool) -> list[Indexing]:
    from cranfield.lab import measure_indexing, open_collection

    if collection is None:
        if engines:
            raise InputError("--engine says what indexes: give --collection COLLECTION as well.")
        return []
    chosen = open_collection(collection)
    wanted = engines or ("embedded",)
    return [
        measure_indexing(collection, chosen.documents(), engine=engine, energy=energy)
        for engine in progress(wanted, len(wanted), "indexing")
    ]


def _queries(places: tuple[str, ...], fields: str) -> dict[str, str]:
    from cranfield.lab import queries_of, topics_from

    return queries_of(topics_from(places[-1]), fields, places[-1])


def _measured(
    places: tuple[str, ...],
    fields: str,
    subjects: dict[str, Subject],
    load: Load,
    baseline: str | None,
    indexings: list[Indexing],
) -> Bench:
    from cranfield.lab import bench, of_indexing

    if not places and indexings and not subjects:
        return of_indexing(indexings)
    if not places or not subjects:
        raise InputError("expected INDEX and TOPICS, TOPICS and --system URL, --collection, or --latencies FILE.")
    return bench(subjects, _queries(places, fields), load, baseline, indexings, progress)


def _numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if parts == ["none"]:
        return ()
    if not parts or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise InputError(f"--clients {text}: expected numbers from 1, parted by commas, or none.")
    return tuple(map(int, parts))
