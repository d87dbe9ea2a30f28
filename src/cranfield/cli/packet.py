"""cranfield packet: one HTML file to judge a pool with, offline."""

from __future__ import annotations

import click

from cranfield.errors import InputError

LARGE = 25_000_000  # bytes, beyond which mail servers refuse


@click.command(name="packet")
@click.argument("pool", metavar="POOL")
@click.option("--topics", metavar="FILE", required=True, help="The topics, in any format that is read.")
@click.option("--documents", metavar="FILE", required=True, help="The documents: a file, a folder or a collection.")
@click.option("-o", "--output", metavar="HTML", required=True, help="The file to write.")
@click.option("--assessor", metavar="NAME", help="Who judges. [default: the packet asks]")
@click.option(
    "--log", "place", metavar="LOG", help="Take what is left for --assessor in a log, in the order kept there."
)
@click.option("--topic", "wanted", metavar="TOPIC", multiple=True, help="Only this topic; repeatable.")
@click.option("--grades", metavar="FILE", help="Grades other than 0 to 3; lines of grade<TAB>label<TAB>definition.")
@click.option("--guidelines", metavar="FILE", help="How to judge: one key away. [default: as TREC tells its assessors]")
@click.option("--title", default="Relevance judgments", show_default=True, help="What the page is called.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="For the order of documents.")
@click.option("--topics-format", help="Format of the topics, if not recognised.")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
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
    """Write one file to judge a pool with: offline, by e-mail, on a phone.

    The file holds topics and documents, and loads nothing. It keeps judgments in the browser that it is opened with,
    and exports them as JSON lines; `cranfield judgments import` takes them up, as often as they come. The keys are
    those of `cranfield judge`. The order is by chance; rank, score and system of a document are not in the file.

    \b
    Example:
      cranfield packet pool.jsonl --topics topics.xml --documents documents.jsonl -o packet.html
      cranfield packet pool.jsonl --topics topics.xml --documents documents.jsonl --assessor ada -o ada.html
      cranfield judgments import pool.judgments.db judgments-ada.jsonl
    """
    from cranfield.annotation import USUAL, open_log, packet, places_by_chance, places_of, read_scale
    from cranfield.base import join_names, pluralize
    from cranfield.cli.judge import guidelines_in, read_texts
    from cranfield.io import open_output
    from cranfield.lab import topics_from
    from cranfield.pooling import read_pool

    pairs = read_pool(pool).pairs
    scale = USUAL if grades is None else read_scale(grades)
    text = "" if guidelines is None else guidelines_in(guidelines)
    if place is not None:
        if assessor is None:
            raise InputError("--log needs --assessor NAME: whose order is it?")
        if grades is not None:
            raise InputError("--grades: the log has its grades; 'cranfield judgments plan' sets others.")
        with open_log(place) as log:
            log.add_pool(pool)
            places = places_of(log, assessor)
            scale, text = log.settings.scale, text or log.settings.guidelines
    else:
        places = places_by_chance(pairs, assessor, seed)
    places = {query: own for query, own in places.items() if query in pairs}
    unknown = [query for query in wanted if query not in places]
    if unknown:
        raise InputError(
            f"nothing to judge for topic {join_names(unknown)}; there is for {join_names(places, 3)}.", pool
        )
    chosen = {query: own for query, own in places.items() if not wanted or query in wanted}
    docs = [doc for own in chosen.values() for _, doc in own]
    texts = read_texts(topics_from(topics, topics_format), documents, list(chosen), docs, quiet)
    made = packet(chosen, texts, assessor=assessor, scale=scale, guidelines=text, seed=seed, title=title)
    content = made.html.encode()
    with open_output(output) as out:
        out.write(content)
    if not quiet:
        size = f"{len(content) / 1e3:,.0f} kB" if len(content) < 1e6 else f"{len(content) / 1e6:,.1f} MB"
        what = f"{pluralize(made.topics, 'topic')}, {pluralize(made.documents, 'document')}, {size}"
        click.echo(f"{output}: {what}.", err=True)
        if len(content) > LARGE:
            click.echo("Warning: this is large for e-mail; --topic takes some of the topics.", err=True)
