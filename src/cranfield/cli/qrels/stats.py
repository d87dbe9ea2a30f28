"""cranfield qrels stats: summary statistics of judgments."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.options import format_option, rel_option
from cranfield.cli.output import echo, has_styles, terminal_width
from cranfield.cli.qrels.common import input_options, make_reader
from cranfield.qrels_tools import count_judgments, read_provenance
from cranfield.reporting import qrels as report


@click.command(name="stats")
@click.argument("qrels", metavar="QRELS")
@click.option("--topics", is_flag=True, help="Also print a line for each topic; JSON always has them.")
@format_option()
@rel_option
@input_options
def command(qrels: str, topics: bool, format_: str, rel: float, **options: Any) -> None:
    """Count topics, judged and relevant documents, and grades, and list problematic topics.

    These are topics without a relevant document, on which no system can score, and topics where more than a third of
    the judged documents are relevant, which probably have more that nobody has found.

    \b
    Example:
      cranfield qrels stats qrels.txt
      cranfield qrels stats qrels.txt --rel 2 --topics
      cranfield qrels stats qrels.txt --format json
    """
    counts = count_judgments(make_reader(**options)(qrels), rel, read_provenance(qrels))
    if format_ == "json":
        echo(report.stats_as_json(counts))
    else:
        echo(report.stats_as_text(counts, topics, terminal_width(), has_styles()))
