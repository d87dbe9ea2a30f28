"""What the subcommands of `cranfield qrels` share: reading judgments, and writing new ones with their provenance."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from cranfield.base import OnDuplicate
from cranfield.cli.inputs import read_judgments
from cranfield.cli.options import (
    grade_words_option,
    on_duplicate_option,
    option_group,
    qrels_format_option,
    quiet_option,
)
from cranfield.data import Qrels
from cranfield.errors import InputError
from cranfield.qrels_tools import FilteredQrels, Provenance, inherit_provenance, read_provenance, write_judgments
from cranfield.reporting import qrels as report

Reader = Callable[[str], Qrels]

# how judgments are read; `make_reader` takes them
input_options = option_group(
    qrels_format_option,
    grade_words_option,
    on_duplicate_option("What to do with a document judged twice for a query."),
)

# where new judgments go
output_options = option_group(
    click.option(
        "-o", "--output", metavar="FILE", default="-", help="Where to write the qrels. [default: standard output]"
    ),
    quiet_option,
)


def make_reader(*, qrels_format: str | None, grade_words: Mapping[str, float], on_duplicate: OnDuplicate) -> Reader:
    """A function that reads judgments as the options say."""
    return lambda path: read_judgments(path, qrels_format, grade_words, on_duplicate)


def protect_inputs(output: str | None, files: Iterable[str | None]) -> None:
    """Refuse to overwrite a file that is read: judgments cannot be recovered."""
    if output is None or not os.path.isfile(output):
        return
    for file in files:
        if file is not None and os.path.isfile(file) and os.path.samefile(output, file):
            raise InputError("this is one of the input files: choose another output, or judgments are lost.", output)


def write(qrels: Qrels, output: str, provenance: Provenance, notes: Iterable[str], quiet: bool) -> None:
    """Write judgments and their provenance, then print what was done."""
    losses = write_judgments(qrels, output, provenance)
    if not quiet:
        click.echo("\n".join([*notes, *losses]), err=True)


def write_derived(
    source: str, old: Qrels, new: FilteredQrels, output: str, command: str, rule: str, quiet: bool, **settings: Any
) -> None:
    """Write judgments derived from one file."""
    protect_inputs(output, [source])
    provenance = inherit_provenance(f"cranfield qrels {command}", rule, old, read_provenance(source), **settings)
    write(
        new.qrels,
        output,
        provenance,
        [f"{report.describe_size(new.qrels)}, of {len(old):,}.", *old.notes, *new.notes],
        quiet,
    )
