"""cranfield qrels stats: what there is in judgments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.cli.options import echo, on_terminal, width
from cranfield.cli.qrels.common import reader, reading_options, rel_option
from cranfield.qrels_tools import count, read_provenance
from cranfield.reporting import judgments as report


@click.command(name="stats")
@click.argument("qrels", metavar="QRELS")
@click.option("--topics", is_flag=True, help="Also a line for each topic; JSON has them always.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print."
)
@rel_option
@reading_options
def command(
    qrels: str,
    topics: bool,
    format_: str,
    rel: float,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
) -> None:
    """Count topics, judged and relevant documents, and grades; name topics that say little.

    These are topics without a relevant document, which no system can do well on, and topics with more than a third of
    what was judged relevant, which have probably more that nobody has found.

    \b
    Example:
      cranfield qrels stats qrels.txt
      cranfield qrels stats qrels.txt --rel 2 --topics
      cranfield qrels stats qrels.txt --format json
    """
    found = count(reader(qrels_format, grade_words, on_duplicate)(qrels), rel, read_provenance(qrels))
    text = report.counts_json(found) if format_ == "json" else report.counts_text(found, topics, width(), on_terminal())
    echo(text)
