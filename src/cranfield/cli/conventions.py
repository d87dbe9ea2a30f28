"""cranfield conventions: one measure as each tool computes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import click

from cranfield.base import OnDuplicate
from cranfield.cli.inputs import read_judgments, require_one_stdin
from cranfield.cli.options import format_option, input_format_options, measure_default_options, side_file_options
from cranfield.cli.output import echo, has_styles, terminal_width
from cranfield.data import Qrels, Run
from cranfield.evaluation import TOOLS, compare_tools_on
from cranfield.io import read_run
from cranfield.reporting import conventions as report


@click.command(name="conventions")
@click.argument("measure", metavar="MEASURE")
@click.argument("qrels", metavar="QRELS")
@click.argument("run", metavar="RUN")
@click.option("--tool", "tools", type=click.Choice(list(TOOLS)), multiple=True, help="Only this tool; repeatable.")
@click.option("--query", metavar="QUERY", help="Only this query.")
@measure_default_options
@side_file_options
@click.option(
    "--on-duplicate",
    type=click.Choice(list(get_args(OnDuplicate))),
    help="What to do with a document listed twice for a query. [default: as each tool does]",
)
@click.option("--all", "every_query", is_flag=True, help="Show all queries on which tools differ, not the first 20.")
@format_option(("text", "json", "markdown"))
@input_format_options
def command(
    measure: str,
    qrels: str,
    run: str,
    tools: tuple[str, ...],
    against: str | None,
    on_duplicate: OnDuplicate | None,
    every_query: bool,
    format_: str,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    **options: Any,
) -> None:
    """Show how other tools compute a measure, and which convention causes each difference.

    For each tool, only the conventions that change its values are named. To evaluate as a tool does, use
    `cranfield eval --as TOOL`.

    \b
    Example:
      cranfield conventions nDCG@10 qrels.txt bm25.run
      cranfield conventions AP@10 qrels.txt bm25.run --query 7 --format json
    """
    require_one_stdin(qrels, run, against)

    def read(rule: OnDuplicate) -> tuple[Qrels, Run]:
        judgments = read_judgments(qrels, qrels_format, grade_words, rule)
        return judgments, read_run(run, run_format, on_duplicate=rule)

    comparison = compare_tools_on(
        read,
        measure,
        tools=tools or tuple(TOOLS),
        on_duplicate=on_duplicate,
        can_be_read_again="-" not in (qrels, run),
        against=read_run(against, run_format, on_duplicate=on_duplicate or "error") if against else None,
        **options,
    )
    if format_ == "json":
        echo(report.as_json(comparison))
    elif format_ == "markdown":
        echo(report.as_markdown(comparison, every_query))
    else:
        echo(report.as_text(comparison, terminal_width(), has_styles(), every_query))
