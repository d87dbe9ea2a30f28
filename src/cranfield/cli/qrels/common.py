"""What the subcommands of `cranfield qrels` have in common: reading judgments, and writing what was made of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from cranfield.base import QRELS_FORMATS, OnDuplicate
from cranfield.cli.options import grade_words_option, judgments_of
from cranfield.data import Qrels
from cranfield.errors import InputError
from cranfield.qrels_tools import Provenance, Selected, inherited, read_provenance, write_judgments

F = TypeVar("F", bound=Callable[..., Any])
Reader = Callable[[str], Qrels]


def reading_options(function: F) -> F:
    """How judgments are read."""
    formats = click.option(
        "--qrels-format", type=click.Choice(list(QRELS_FORMATS)), help="Format of the qrels, if not recognised."
    )
    duplicates = click.option(
        "--on-duplicate",
        type=click.Choice(["error", "first", "last", "max"]),
        default="error",
        show_default=True,
        help="A document judged twice for the same query.",
    )
    return formats(grade_words_option(duplicates(function)))


def output_options(function: F) -> F:
    """Where new judgments go."""
    output = click.option(
        "-o", "--output", metavar="FILE", default="-", help="Where to write the qrels. [default: standard output]"
    )
    quiet = click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
    return output(quiet(function))


def rel_option(function: F) -> F:
    return click.option("--rel", type=float, default=1, show_default=True, help="Lowest relevant grade.")(function)


def reader(qrels_format: str | None, grade_words: Mapping[str, float], on_duplicate: OnDuplicate) -> Reader:
    """A function that reads a file as asked for."""
    return lambda path: judgments_of(path, qrels_format, grade_words, on_duplicate)


def keep_inputs(output: str | None, files: Iterable[str | None]) -> None:
    """Refuse to write over one of the files that were read: judgments cannot be had again."""
    if output is None or not os.path.isfile(output):
        return
    for file in files:
        if file is not None and os.path.isfile(file) and os.path.samefile(output, file):
            raise InputError("this is one of the files read: write to another, so that nothing is lost.", output)


def write(qrels: Qrels, output: str, provenance: Provenance, said: Iterable[str], quiet: bool) -> None:
    """Write judgments and their provenance; then say what was done."""
    lost = write_judgments(qrels, output, provenance)
    if not quiet:
        click.echo("\n".join([*said, *lost]), err=True)


def write_part(
    source: str, old: Qrels, made: Selected, output: str, what: str, rule: str, quiet: bool, **settings: Any
) -> None:
    """Write what was made of one file."""
    keep_inputs(output, [source])
    provenance = inherited(f"cranfield qrels {what}", rule, old, read_provenance(source), **settings)
    from cranfield.reporting import size_of

    write(made.qrels, output, provenance, [f"{size_of(made.qrels)}, of {len(old):,}.", *old.notes, *made.notes], quiet)
