"""cranfield feedback: what can be learned from relevant documents, all at once or in subsets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from cranfield.cli.options import echo, on_terminal, progress, split_measures, width

if TYPE_CHECKING:
    from cranfield.lab import Comparison


@click.command(name="feedback")
@click.argument("index", metavar="INDEX")
@click.argument("topics", metavar="TOPICS")
@click.argument("qrels", metavar="QRELS")
@click.option("--system", default="bm25+rm3", show_default=True, help="A model and rm3, with parameters.")
@click.option("--given", type=click.IntRange(1), default=5, show_default=True, help="Relevant documents to learn from.")
@click.option("-m", "measures", metavar="MEASURE", multiple=True, help="Repeatable. [default: AP, nDCG@10]")
@click.option("--rel", type=float, default=1, show_default=True, help="Lowest relevant grade.")
@click.option("--fields", default="title", show_default=True, help="Which fields of a topic to search with.")
@click.option("--depth", type=click.IntRange(1), default=1000, show_default=True, help="Documents for each topic.")
@click.option("-o", "--output", metavar="FOLDER", help="Write the runs and what is left of the judgments there.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    index: str,
    topics: str,
    qrels: str,
    system: str,
    given: int,
    measures: tuple[str, ...],
    rel: float,
    fields: str,
    depth: int,
    output: str | None,
    format_: str,
) -> None:
    """Compare ways to learn from relevant documents.

    For each topic the first relevant documents of a first search are given. RM3 learns from all of them, from a
    subset (rm3-best), or from every subset, and the results are fused (rm3-fused): Raiber & Kurland, TOIS 2019. The
    documents given are taken out of rankings and judgments before anything is measured.

    \b
    Example:
      cranfield feedback bicycles.index topics.xml qrels.txt --given 3
      cranfield feedback bicycles.index topics.xml qrels.txt --system lm:mu=500+rm3:terms=20 -m AP -o learned
    """
    from cranfield.lab import MEASURES, Index, compare_feedback, qrels_from, queries_of, topics_from
    from cranfield.reporting import feedback as forms

    queries = queries_of(topics_from(topics), fields, topics)
    found = compare_feedback(
        Index.open(index),
        queries,
        qrels_from(qrels),
        system,
        given,
        split_measures(measures) or MEASURES,
        depth,
        rel,
        lambda items: progress(items, len(queries), "learning"),
    )
    if output is not None:
        _write(found, output)
    echo(forms.as_json(found) if format_ == "json" else forms.as_text(found, width(), on_terminal()))


def _write(found: Comparison, folder: str) -> None:
    """The runs and the judgments, as `cranfield compare` takes them."""
    from cranfield.io import write_qrels, write_run
    from cranfield.lab import given_qrels

    os.makedirs(folder, exist_ok=True)
    write_qrels(found.qrels, os.path.join(folder, "qrels.txt"))
    write_qrels(given_qrels(found.given), os.path.join(folder, "given.txt"))
    for way in found.ways:
        write_run(way.run, os.path.join(folder, f"{way.name}.run"))
