"""cranfield explain: how a score is computed, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.cli.inputs import read_judgments, require_one_stdin
from cranfield.cli.options import (
    evaluation_options,
    format_option,
    is_default,
    mean_options,
    seed_option,
    split_measures,
)
from cranfield.cli.output import echo, has_styles, terminal_width
from cranfield.evaluation import TOOLS, explain
from cranfield.io import read_run
from cranfield.joining import JOIN_OPTIONS
from cranfield.measures import parse_measures
from cranfield.reporting import explanation as report

_AS_FILE = {"json": report.as_json, "markdown": report.as_markdown, "html": report.as_html}


@click.command(name="explain")
@click.argument("measure", metavar="MEASURE")
@click.argument("qrels", metavar="QRELS")
@click.argument("run", metavar="RUN")
@click.option("--query", metavar="QUERY", help="The query whose score to explain. [default: the mean over all]")
@format_option(("text", *_AS_FILE))
@click.option("--top", type=click.IntRange(1), help="Show only the first ranks (or queries); the totals stay the same.")
@mean_options
@evaluation_options
@click.option(
    "--as", "tool", type=click.Choice(list(TOOLS)), help="Explain as this tool does; explicit options take precedence."
)
@seed_option("Seed for --ties expected, where it samples.")
def command(
    measure: str,
    qrels: str,
    run: str,
    query: str | None,
    format_: str,
    top: int | None,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
    against: str | None,
    tool: str | None,
    **options: Any,
) -> None:
    """Show how a score is computed: rank by rank, then the sum, the normaliser and the value.

    MEASURE is a name as for `cranfield eval`. Without --query, the mean over all queries is explained. In JSON, the
    rows hold every term of the computation.

    \b
    Example:
      cranfield explain nDCG@10 qrels.txt bm25.run --query 1
      cranfield explain AP qrels.txt bm25.run --query 1 --format json
      cranfield explain AP qrels.txt bm25.run --as spark
    """
    require_one_stdin(qrels, run, against)
    judgments = read_judgments(qrels, qrels_format, grade_words, on_duplicate)
    ranking = read_run(run, run_format, on_duplicate=on_duplicate)
    named = parse_measures(split_measures([measure]))
    options["against"] = read_run(against, run_format, on_duplicate=on_duplicate) if against else None
    if tool is not None:
        options = {name: value for name, value in options.items() if name not in JOIN_OPTIONS or not is_default(name)}
    # a tool has its own reading of a name
    measures = [one if tool is None else label for label, one in named]
    explained = [explain(one, judgments, ranking, query, tool=tool, **options) for one in measures]
    if top is not None:
        explained = [one.top(top) for one in explained]
    if format_ == "text":
        echo(report.as_text(explained, terminal_width(), has_styles()))
    else:
        echo(_AS_FILE[format_](explained))
