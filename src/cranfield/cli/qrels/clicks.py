"""cranfield qrels clicks: qrels of a click log."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.qrels.common import keep_inputs, output_options, write
from cranfield.io import read_topics
from cranfield.qrels_tools import LEAST_IMPRESSIONS, THRESHOLDS, ClickRule, judge_by_clicks, parse_numbers
from cranfield.reporting import clicks_text


@click.command(name="clicks")
@click.argument("log", metavar="LOG")
@click.option(
    "--rule",
    type=click.Choice(["wilson", "ctr"]),
    default="wilson",
    show_default=True,
    help="The rate that counts: the ends of its Wilson interval, or the rate itself.",
)
@click.option(
    "--thresholds",
    metavar="RATE,...",
    default=",".join(f"{t:g}" for t in THRESHOLDS),
    show_default=True,
    help="Clicks an impression from which on a grade is 1, 2, …",
)
@click.option(
    "--min-impressions",
    type=click.IntRange(1),
    default=LEAST_IMPRESSIONS,
    show_default=True,
    help="Pairs with fewer are left out.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the Wilson interval.")
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
    """Make qrels of a click log: CSV or TSV with a header, or JSON lines, with query, doc, clicks, impressions.

    A pair has grade 1, 2, … if the lower end of the interval of its click-through rate reaches the first, second, …
    threshold, and 0 if the upper end is below the first. What is undecided is left out, and counted. The second column
    of the qrels says clicks, and so does the file beside them: nobody judged.

    \b
    Example:
      cranfield qrels clicks log.tsv -o clicks.qrels
      cranfield qrels clicks log.jsonl --rule ctr --thresholds 0.05,0.2 --min-impressions 50 -o clicks.qrels
      cranfield qrels clicks log.csv --topics topics.xml -o clicks.qrels
    """
    keep_inputs(output, [log, topics])
    how = ClickRule(rule, tuple(parse_numbers(thresholds, "--thresholds")), min_impressions, level)
    titles = None if topics is None else {topic.id: topic.title for topic in read_topics(topics)}
    clicked = judge_by_clicks(log, how, titles)
    write(clicked.qrels, output, clicked.provenance(), [clicks_text(clicked)], quiet)
