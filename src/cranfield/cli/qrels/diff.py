"""cranfield qrels diff: what changed between two sets of judgments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.cli.options import echo, on_terminal, width
from cranfield.cli.qrels.common import keep_inputs, reader, reading_options, rel_option
from cranfield.errors import InputError
from cranfield.evaluation import distinct_names
from cranfield.io import display_name, open_output
from cranfield.qrels_tools import differences
from cranfield.reporting import judgments as report


@click.command(name="diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("-o", "--output", metavar="FILE", help="Write every pair that differs, as a table.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print."
)
@rel_option
@reading_options
def command(
    old: str,
    new: str,
    output: str | None,
    format_: str,
    rel: float,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
) -> None:
    """Say what changed from OLD to NEW: pairs added and removed, and grades that became others.

    \b
    Example:
      cranfield qrels diff qrels.2024 qrels.2025
      cranfield qrels diff qrels.2024 qrels.2025 -o changes.tsv --format json
    """
    if old == new == "-":
        raise InputError("'-' is named twice, but there is only one standard input.")
    keep_inputs(output, [old, new])
    read = reader(qrels_format, grade_words, on_duplicate)
    names = distinct_names([display_name(old), display_name(new)], [old, new])
    found = differences(read(old), read(new), names)
    if output is not None:
        with open_output(output) as out:
            out.write(report.changes_table(found, output))
    echo(
        report.differences_json(found, rel)
        if format_ == "json"
        else report.differences_text(found, rel, min(width(), 100), on_terminal(), output)
    )
