"""cranfield conventions: one measure as each tool has it."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.options import echo, format_options, on_terminal, width
from cranfield.comparing_tools import compare_tools
from cranfield.conventions import TOOLS
from cranfield.errors import InputError
from cranfield.formats import read_qrels, read_run
from cranfield.report import conventions


@click.command(name="conventions")
@click.argument("measure", metavar="MEASURE")
@click.argument("qrels", metavar="QRELS")
@click.argument("run", metavar="RUN")
@click.option("--tool", "tools", type=click.Choice(list(TOOLS)), multiple=True, help="Only this tool; repeatable.")
@click.option("--query", metavar="QUERY", help="Only this query.")
@click.option("--rel", type=float, help="Lowest relevant grade. [default: 1]")
@click.option("--all", "every_query", is_flag=True, help="All queries where tools differ, not just the first 20.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("text", "json", "markdown")),
    default="text",
    show_default=True,
    help="What to print.",
)
@format_options
def command(
    measure: str,
    qrels: str,
    run: str,
    tools: tuple[str, ...],
    query: str | None,
    rel: float | None,
    every_query: bool,
    format_: str,
    run_format: str | None,
    qrels_format: str | None,
) -> None:
    """Show one measure as other tools have it, and which convention makes the difference.

    A convention is named where it changes the value of some query by itself. Evaluate as a tool with
    `cranfield eval --as TOOL`.

    \b
    Example:
      cranfield conventions nDCG@10 qrels.txt bm25.run
      cranfield conventions AP@10 qrels.txt bm25.run --query 7 --format json
    """
    if qrels == run == "-":
        raise InputError("'-' is named twice, but there is only one standard input.")
    comparison = compare_tools(
        measure,
        read_qrels(qrels, qrels_format),
        read_run(run, run_format),
        tools=tools or tuple(TOOLS),
        query=query,
        rel=rel,
    )
    printed: dict[str, Any] = {
        "text": lambda: conventions.as_text(comparison, width(), on_terminal(), every_query),
        "markdown": lambda: conventions.as_markdown(comparison, every_query),
        "json": lambda: conventions.as_json(comparison),
    }
    echo(printed[format_]())
