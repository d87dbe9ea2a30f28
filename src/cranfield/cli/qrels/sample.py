"""cranfield qrels sample: draw a random sample of judgments."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.options import seed_option
from cranfield.cli.qrels.common import input_options, make_reader, output_options, write_derived
from cranfield.qrels_tools import QrelsSampling, sample_qrels


@click.command(name="sample")
@click.argument("qrels", metavar="QRELS")
@click.option("--per-topic", type=click.IntRange(1), help="Number of judgments per topic.")
@click.option("--rate", type=float, help="Share of the judgments instead, such as 0.1; at least one per topic.")
@click.option("--by-grade", is_flag=True, help="Draw that many of each grade of each topic.")
@click.option(
    "--five-column",
    "five_columns",
    is_flag=True,
    help="Write sampled qrels: all pairs with their stratum, and grade -1 for those not drawn.",
)
@seed_option("Seed of the sample.")
@output_options
@input_options
def command(
    qrels: str,
    per_topic: int | None,
    rate: float | None,
    by_grade: bool,
    five_columns: bool,
    seed: int,
    output: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Draw a random sample of judgments, topic by topic, without replacement.

    The sample of a topic depends only on its judgments and the seed. With --five-column, the result is for estimators
    such as xinfAP, which learn from the strata how much was left out.

    \b
    Example:
      cranfield qrels sample qrels.txt --per-topic 20 -o small.qrels
      cranfield qrels sample qrels.txt --rate 0.1 --by-grade --five-column -o sampled.qrels
    """
    sampling = QrelsSampling(per_topic, rate, by_grade, seed)
    old = make_reader(**options)(qrels)
    new = sample_qrels(old, sampling, five_columns)
    settings = {"per_topic": per_topic, "rate": rate, "by_grade": by_grade, "five_column": five_columns, "seed": seed}
    write_derived(qrels, old, new, output, "sample", sampling.description, quiet, **settings)
