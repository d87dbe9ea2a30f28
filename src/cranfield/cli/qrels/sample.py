"""cranfield qrels sample: judgments drawn by chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.cli.qrels.common import output_options, reader, reading_options, write_part
from cranfield.qrels_tools import Sampling, sample


@click.command(name="sample")
@click.argument("qrels", metavar="QRELS")
@click.option("--per-topic", type=click.IntRange(1), help="How many judgments of each topic.")
@click.option("--rate", type=float, help="Or which share of them, such as 0.1; at least one of each topic.")
@click.option("--by-grade", is_flag=True, help="Draw so much of each grade of each topic.")
@click.option(
    "--five-column",
    "five_columns",
    is_flag=True,
    help="Write sampled qrels: all pairs with their stratum, those not drawn with grade -1.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="For the draws.")
@output_options
@reading_options
def command(
    qrels: str,
    per_topic: int | None,
    rate: float | None,
    by_grade: bool,
    five_columns: bool,
    seed: int,
    output: str,
    quiet: bool,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
) -> None:
    """Draw judgments by chance, topic by topic, without replacement.

    What is drawn for a topic depends on its judgments and the seed alone. With --five-column the result is for
    estimators such as xinfAP, which know from the strata how much was left out.

    \b
    Example:
      cranfield qrels sample qrels.txt --per-topic 20 -o small.qrels
      cranfield qrels sample qrels.txt --rate 0.1 --by-grade --five-column -o sampled.qrels
    """
    sampling = Sampling(per_topic, rate, by_grade, seed)
    old = reader(qrels_format, grade_words, on_duplicate)(qrels)
    made = sample(old, sampling, five_columns)
    settings = {"per_topic": per_topic, "rate": rate, "by_grade": by_grade, "five_column": five_columns, "seed": seed}
    write_part(qrels, old, made, output, "sample", sampling.described, quiet, **settings)
