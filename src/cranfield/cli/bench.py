"""cranfield bench: what systems cost."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.options import echo, on_terminal, progress, width
from cranfield.errors import InputError


@click.command(name="bench")
@click.argument("index", metavar="[INDEX", required=False)
@click.argument("topics", metavar="TOPICS]", required=False)
@click.option("--system", "systems", multiple=True, help="A system to measure; repeatable. [default: bm25]")
@click.option("--collection", metavar="COLLECTION", help="Also measure how it is indexed.")
@click.option(
    "--latencies", metavar="FILE", help="Compare latencies measured elsewhere: query, system, repetition, ms."
)
@click.option("--baseline", metavar="SYSTEM", help="What the others are compared with. [default: the first]")
@click.option("--fields", default="title", show_default=True, help="Which fields of a topic to search with.")
@click.option("--depth", type=click.IntRange(1), default=10, show_default=True, help="Documents for each query.")
@click.option("--repetitions", type=click.IntRange(1), default=5, show_default=True, help="Of every query.")
@click.option("--warm-up", type=click.IntRange(0), default=1, show_default=True, help="Repetitions not counted.")
@click.option("--clients", default="1,2,4", show_default=True, help="Numbers of clients for the throughput.")
@click.option("--seconds", type=click.FloatRange(0.05), default=2.0, show_default=True, help="For each of them.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Queries a second that arrive come what may.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="For the order of queries.")
@click.option("-o", "--output", metavar="FILE", help="Write every latency: query, system, repetition, ms.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    index: str | None,
    topics: str | None,
    systems: tuple[str, ...],
    collection: str | None,
    latencies: str | None,
    baseline: str | None,
    fields: str,
    depth: int,
    repetitions: int,
    warm_up: int,
    clients: str,
    seconds: float,
    rate: float | None,
    seed: int,
    output: str | None,
    format_: str,
) -> None:
    """Measure what systems cost: latency, throughput, indexing.

    Latencies are taken one query at a time (closed loop) and, with --rate, from when queries that arrive at a rate
    were due (open loop). Systems are compared query by query, by the ratio of their times.

    \b
    Example:
      cranfield bench bicycles.index topics.xml --system bm25 --system lsi --rate 50
      cranfield bench bicycles.index topics.xml --collection documents.jsonl -o latencies.tsv
      cranfield bench --latencies latencies.tsv --baseline bm25
    """
    from cranfield.lab.bench import Bench, Load, bench, measure_indexing, of_latencies
    from cranfield.lab.latency import read_latencies, write_latencies
    from cranfield.report import efficiency

    if latencies is not None:
        found: Bench = of_latencies(read_latencies(latencies), baseline)
    elif index is None or topics is None:
        raise InputError("expected INDEX and TOPICS, or --latencies FILE.")
    else:
        from cranfield.formats import read_documents, read_topics
        from cranfield.lab.systems import query_text

        wanted = [field.strip() for field in fields.split(",") if field.strip()]
        queries = {topic.id: query_text(topic, wanted) for topic in read_topics(topics)}
        indexing = (
            None if collection is None else measure_indexing(collection, read_documents(collection), ("title", "text"))
        )
        start = {name: _starter(index, name, depth) for name in systems or ("bm25",)}
        load = Load(repetitions, warm_up, _numbers(clients), seconds, rate, seed)
        total = (repetitions + warm_up) * len(queries) * len(start)
        found = bench(start, queries, load, baseline, indexing, lambda items: progress(items, total, "searching"))
        if output is not None:
            write_latencies(found.latencies, output)
    echo(efficiency.as_json(found) if format_ == "json" else efficiency.as_text(found, width(), on_terminal()))


def _starter(index: str, system: str, depth: int) -> Any:
    """What opens the index anew and gives a searcher."""
    from cranfield.lab.index import Index
    from cranfield.lab.systems import system_named

    searcher = system_named(system)

    def start() -> Any:
        opened = Index.open(index)
        return lambda text: searcher.search(opened, {"": text}, depth)

    return start


def _numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise InputError(f"--clients {text}: expected numbers from 1, parted by commas.")
    return tuple(map(int, parts))
