"""cranfield qrels binarize: grades made 1 and 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.cli.qrels.common import output_options, reader, reading_options, rel_option, write_part
from cranfield.qrels_tools import binarize


@click.command(name="binarize")
@click.argument("qrels", metavar="QRELS")
@rel_option
@output_options
@reading_options
def command(
    qrels: str,
    rel: float,
    output: str,
    quiet: bool,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
) -> None:
    """Make grades of at least --rel 1 and the others 0. Negative grades, pooled but not judged, stay.

    \b
    Example:
      cranfield qrels binarize qrels.txt --rel 2 -o binary.qrels
    """
    old = reader(qrels_format, grade_words, on_duplicate)(qrels)
    rule = f"1 for grades of {rel:g} or more, else 0"
    write_part(qrels, old, binarize(old, rel), output, "binarize", rule, quiet, rel=rel)
