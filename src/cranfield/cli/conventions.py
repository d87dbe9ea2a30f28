"""cranfield conventions: one measure as each tool has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import click

from cranfield.base import OnDuplicate
from cranfield.cli.options import (
    echo,
    extras_options,
    format_options,
    grade_words_option,
    judgments_of,
    on_terminal,
    width,
)
from cranfield.data import Qrels, Run
from cranfield.errors import InputError
from cranfield.evaluation import TOOLS, compare_tools_on
from cranfield.io import read_run
from cranfield.reporting import conventions


@click.command(name="conventions")
@click.argument("measure", metavar="MEASURE")
@click.argument("qrels", metavar="QRELS")
@click.argument("run", metavar="RUN")
@click.option("--tool", "tools", type=click.Choice(list(TOOLS)), multiple=True, help="Only this tool; repeatable.")
@click.option("--query", metavar="QUERY", help="Only this query.")
@click.option("--rel", type=float, help="Lowest relevant grade. [default: 1]")
@click.option("--docs", type=click.IntRange(1), help="Size of the collection, for Fallout and SetAccuracy.")
@extras_options
@click.option(
    "--on-duplicate",
    type=click.Choice(list(get_args(OnDuplicate))),
    help="A document twice for the same query. [default: as each tool does]",
)
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
@grade_words_option
def command(
    measure: str,
    qrels: str,
    run: str,
    tools: tuple[str, ...],
    query: str | None,
    rel: float | None,
    against: str | None,
    on_duplicate: OnDuplicate | None,
    every_query: bool,
    format_: str,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    **extras: Any,
) -> None:
    """Show one measure as other tools have it, and which convention makes the difference.

    Of what a tool does otherwise, no more is named than makes its values of ours. Evaluate as a tool with
    `cranfield eval --as TOOL`.

    \b
    Example:
      cranfield conventions nDCG@10 qrels.txt bm25.run
      cranfield conventions AP@10 qrels.txt bm25.run --query 7 --format json
    """
    if [qrels, run, against].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    baseline = read_run(against, run_format, on_duplicate=on_duplicate or "error") if against else None

    def read(rule: OnDuplicate) -> tuple[Qrels, Run]:
        judgments = judgments_of(qrels, qrels_format, grade_words, rule)
        return judgments, read_run(run, run_format, on_duplicate=rule)

    comparison = compare_tools_on(
        read,
        measure,
        tools=tools or tuple(TOOLS),
        query=query,
        rel=rel,
        on_duplicate=on_duplicate,
        can_be_read_again="-" not in (qrels, run),
        against=baseline,
        **extras,
    )
    printed: dict[str, Any] = {
        "text": lambda: conventions.as_text(comparison, width(), on_terminal(), every_query),
        "markdown": lambda: conventions.as_markdown(comparison, every_query),
        "json": lambda: conventions.as_json(comparison),
    }
    echo(printed[format_]())
