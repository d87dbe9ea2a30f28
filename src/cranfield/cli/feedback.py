"""cranfield feedback: compare ways to learn from relevant documents."""

from __future__ import annotations

import os

import click

from cranfield.cli.options import (
    depth_option,
    fields_option,
    format_option,
    measures_option,
    rel_option,
    split_measures,
)
from cranfield.cli.output import echo, has_styles, show_progress, terminal_width
from cranfield.io import write_qrels, write_run
from cranfield.lab import (
    MEASURES,
    Comparison,
    Index,
    compare_feedback,
    given_qrels,
    qrels_from,
    queries_of,
    topics_from,
)
from cranfield.reporting import feedback as report


@click.command(name="feedback")
@click.argument("index", metavar="INDEX")
@click.argument("topics", metavar="TOPICS")
@click.argument("qrels", metavar="QRELS")
@click.option("--system", default="bm25+rm3", show_default=True, help="A model and rm3, with parameters.")
@click.option("--given", type=click.IntRange(1), default=5, show_default=True, help="Relevant documents to learn from.")
@measures_option("A measure; repeatable.", MEASURES)
@rel_option
@fields_option()
@depth_option(1000, "Documents per topic.")
@click.option("-o", "--output", metavar="FOLDER", help="Write the runs and the remaining judgments to this folder.")
@format_option()
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

    The first relevant documents of an initial search are used as feedback. RM3 learns from all of them, from a subset
    (rm3-best), or from every subset, with the results fused (rm3-fused): Raiber & Kurland, TOIS 2019. These documents
    are removed from rankings and judgments before anything is measured.

    \b
    Example:
      cranfield feedback bicycles.index topics.xml qrels.txt --given 3
      cranfield feedback bicycles.index topics.xml qrels.txt --system lm:mu=500+rm3:terms=20 -m AP -o learned
    """
    queries = queries_of(topics_from(topics), fields, topics)
    comparison = compare_feedback(
        Index.open(index),
        queries,
        qrels_from(qrels),
        system,
        given,
        split_measures(measures) or MEASURES,
        depth,
        rel,
        lambda items: show_progress(items, len(queries), "learning"),
    )
    if output is not None:
        _write(comparison, output)
    if format_ == "json":
        echo(report.as_json(comparison))
    else:
        echo(report.as_text(comparison, terminal_width(), has_styles()))


def _write(comparison: Comparison, folder: str) -> None:
    """Write the runs and the judgments, as input for `cranfield compare`."""
    os.makedirs(folder, exist_ok=True)
    write_qrels(comparison.qrels, os.path.join(folder, "qrels.txt"))
    write_qrels(given_qrels(comparison.given), os.path.join(folder, "given.txt"))
    for way in comparison.ways:
        write_run(way.run, os.path.join(folder, f"{way.name}.run"))
