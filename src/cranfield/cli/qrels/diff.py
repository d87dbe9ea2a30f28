"""cranfield qrels diff: what changed between two sets of judgments."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.inputs import require_one_stdin
from cranfield.cli.options import format_option, rel_option
from cranfield.cli.output import echo, has_styles, line_width
from cranfield.cli.qrels.common import input_options, make_reader, protect_inputs
from cranfield.evaluation import distinct_names
from cranfield.io import display_name, open_output
from cranfield.qrels_tools import diff_qrels
from cranfield.reporting import qrels as report


@click.command(name="diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("-o", "--output", metavar="FILE", help="Write every pair that differs, as a table.")
@format_option()
@rel_option
@input_options
def command(old: str, new: str, output: str | None, format_: str, rel: float, **options: Any) -> None:
    """Show what changed from OLD to NEW: pairs added, pairs removed, and grades changed.

    \b
    Example:
      cranfield qrels diff qrels.2024 qrels.2025
      cranfield qrels diff qrels.2024 qrels.2025 -o changes.tsv --format json
    """
    require_one_stdin(old, new)
    protect_inputs(output, [old, new])
    read = make_reader(**options)
    names = distinct_names([display_name(old), display_name(new)], [old, new])
    found = diff_qrels(read(old), read(new), names)
    if output is not None:
        with open_output(output) as out:
            out.write(report.format_changes(found, output))
    if format_ == "json":
        echo(report.diff_as_json(found, rel))
    else:
        echo(report.diff_as_text(found, rel, line_width(), has_styles(), output))
