"""cranfield qrels clicks: derive qrels from a click log."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.options import choice_option
from cranfield.cli.qrels.common import output_options, protect_inputs, write
from cranfield.io import read_topics
from cranfield.qrels_tools import CLICK_THRESHOLDS, MIN_IMPRESSIONS, ClickRule, make_click_qrels, parse_numbers
from cranfield.reporting import qrels as report


@click.command(name="clicks")
@click.argument("log", metavar="LOG")
@choice_option(
    "--rule", ("wilson", "ctr"), "wilson", "The rate that counts: the ends of its Wilson interval, or the rate itself."
)
@click.option(
    "--thresholds",
    metavar="RATE,...",
    default=",".join(f"{t:g}" for t in CLICK_THRESHOLDS),
    show_default=True,
    help="Clicks per impression from which the grade is 1, 2, …",
)
@click.option(
    "--min-impressions",
    type=click.IntRange(1),
    default=MIN_IMPRESSIONS,
    show_default=True,
    help="Leave out pairs with fewer impressions.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level of the Wilson interval.")
@click.option("--topics", metavar="TOPICS", help="Topics whose titles are the queries of the log; writes their ids.")
@output_options
def command(
    log: str,
    rule: Any,
    thresholds: str,
    min_impressions: int,
    level: float,
    topics: str | None,
    output: str,
    quiet: bool,
) -> None:
    """Derive qrels from a click log: CSV or TSV with a header, or JSON lines, with query, doc, clicks, impressions.

    A pair gets grade 1, 2, … if the lower end of the interval of its click-through rate reaches the first, second, …
    threshold, and 0 if the upper end is below the first. Undecided pairs are left out and counted. The second column
    of the qrels and the provenance file say that these are clicks: nobody judged.

    \b
    Example:
      cranfield qrels clicks log.tsv -o clicks.qrels
      cranfield qrels clicks log.jsonl --rule ctr --thresholds 0.05,0.2 --min-impressions 50 -o clicks.qrels
      cranfield qrels clicks log.csv --topics topics.xml -o clicks.qrels
    """
    protect_inputs(output, [log, topics])
    click_rule = ClickRule(rule, tuple(parse_numbers(thresholds, "--thresholds")), min_impressions, level)
    titles = None if topics is None else {topic.id: topic.title for topic in read_topics(topics)}
    clicked = make_click_qrels(log, click_rule, titles)
    write(clicked.qrels, output, clicked.provenance(), [report.describe_clicks(clicked)], quiet)
