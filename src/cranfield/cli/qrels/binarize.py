"""cranfield qrels binarize: turn grades into 1 and 0."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.options import rel_option
from cranfield.cli.qrels.common import input_options, make_reader, output_options, write_derived
from cranfield.qrels_tools import binarize_grades


@click.command(name="binarize")
@click.argument("qrels", metavar="QRELS")
@rel_option
@output_options
@input_options
def command(qrels: str, rel: float, output: str, quiet: bool, **options: Any) -> None:
    """Turn grades of at least --rel into 1 and the others into 0. Negative grades (pooled, not judged) stay.

    \b
    Example:
      cranfield qrels binarize qrels.txt --rel 2 -o binary.qrels
    """
    old = make_reader(**options)(qrels)
    rule = f"1 for grades of {rel:g} or more, else 0"
    write_derived(qrels, old, binarize_grades(old, rel), output, "binarize", rule, quiet, rel=rel)
