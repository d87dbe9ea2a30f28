"""cranfield packet: one HTML file for judging a pool offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from cranfield.annotation import DEFAULT_SCALE, Scale, build_packet, load_places, open_log, read_scale, shuffle_places
from cranfield.base import join_names, pluralize
from cranfield.cli.judge import material_options, read_guidelines, read_texts
from cranfield.cli.options import quiet_option, seed_option
from cranfield.errors import InputError
from cranfield.io import open_output
from cranfield.lab import topics_from
from cranfield.pooling import read_pool

LARGE = 25_000_000  # bytes; mail servers refuse more
Places = Mapping[str, Sequence[tuple[Any, str]]]


@click.command(name="packet")
@click.argument("pool", metavar="POOL")
@material_options
@click.option("-o", "--output", metavar="HTML", required=True, help="The file to write.")
@click.option("--assessor", metavar="NAME", help="Who judges. [default: the packet asks]")
@click.option("--log", "place", metavar="LOG", help="Take what is left for --assessor in a log, in the log's order.")
@click.option("--topic", "wanted", metavar="TOPIC", multiple=True, help="Only this topic; repeatable.")
@click.option("--title", default="Relevance judgments", show_default=True, help="The title of the page.")
@seed_option("Seed for the order of documents.")
@quiet_option
def command(
    pool: str,
    topics: str,
    documents: str,
    output: str,
    assessor: str | None,
    place: str | None,
    wanted: tuple[str, ...],
    grades: str | None,
    guidelines: str | None,
    title: str,
    seed: int,
    topics_format: str | None,
    quiet: bool,
) -> None:
    """Write one HTML file for judging a pool: offline, by e-mail, on a phone.

    The file contains topics and documents, and loads nothing. It stores judgments in the browser that opens it, and
    exports them as JSON lines for `cranfield judgments import`, as often as needed. The keys are those of `cranfield
    judge`. Documents are in random order, without rank, score or system.

    \b
    Example:
      cranfield packet pool.jsonl --topics topics.xml --documents documents.jsonl -o packet.html
      cranfield packet pool.jsonl --topics topics.xml --documents documents.jsonl --assessor ada -o ada.html
      cranfield judgments import pool.judgments.db judgments-ada.jsonl
    """
    pairs = read_pool(pool).pairs
    scale = DEFAULT_SCALE if grades is None else read_scale(grades)
    text = "" if guidelines is None else read_guidelines(guidelines)
    if place is None:
        places: Places = shuffle_places(pairs, assessor, seed)
    else:
        if grades is not None:
            raise InputError("--grades: the log has its own grades; change them with 'cranfield judgments plan'.")
        places, scale, text = _read_log(place, pool, assessor, text)
    chosen = _choose_topics({query: own for query, own in places.items() if query in pairs}, wanted, pool)
    docs = [doc for own in chosen.values() for _, doc in own]
    texts = read_texts(topics_from(topics, topics_format), documents, list(chosen), docs, quiet)
    made = build_packet(chosen, texts, assessor=assessor, scale=scale, guidelines=text, seed=seed, title=title)
    content = made.html.encode()
    with open_output(output) as out:
        out.write(content)
    if not quiet:
        size = f"{len(content) / 1e3:,.0f} kB" if len(content) < 1e6 else f"{len(content) / 1e6:,.1f} MB"
        summary = f"{pluralize(made.topics, 'topic')}, {pluralize(made.documents, 'document')}, {size}"
        click.echo(f"{output}: {summary}.", err=True)
        if len(content) > LARGE:
            click.echo("Warning: this is large for e-mail; use --topic to split it.", err=True)


def _read_log(place: str, pool: str, assessor: str | None, guidelines: str) -> tuple[Places, Scale, str]:
    """What is left for an assessor, with the grades and guidelines of the log."""
    if assessor is None:
        raise InputError("--log needs --assessor NAME: each assessor has an order of their own.")
    with open_log(place) as log:
        log.add_pool(pool)
        return load_places(log, assessor), log.settings.scale, guidelines or log.settings.guidelines


def _choose_topics(places: Places, wanted: Sequence[str], pool: str) -> Places:
    unknown = [query for query in wanted if query not in places]
    if unknown:
        known = join_names(places, 3)
        raise InputError(f"nothing to judge for topic {join_names(unknown)}; the pool has {known}.", pool)
    return {query: own for query, own in places.items() if not wanted or query in wanted}
