"""cranfield qrels merge: one set of judgments of several assessors'."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from cranfield.cli.options import on_terminal, width
from cranfield.cli.qrels.common import keep_inputs, output_options, reader, reading_options, write
from cranfield.errors import InputError
from cranfield.io import open_output
from cranfield.qrels_tools import RULES, TIES, merge, parse_scale, read_assessors
from cranfield.reporting import conflicts_table, merge_text

_RULES = "\n".join(["\b", "Rules:", *(f"  {name:<12} {about}" for name, about in RULES.items())])
_TIES = "\n".join(["\b", "Ties:", *(f"  {name:<12} {about}" for name, about in TIES.items())])


@click.command(name="merge", epilog=f"{_RULES}\n\n{_TIES}")
@click.argument("qrels", metavar="[NAME=]QRELS...", nargs=-1)
@click.option("--rule", type=click.Choice(list(RULES)), default="majority", show_default=True, help="Listed below.")
@click.option(
    "--ties",
    type=click.Choice(list(TIES)),
    default="lower",
    show_default=True,
    help="Where grades have equally many votes, or two are in the middle.",
)
@click.option("--primary", metavar="NAME", help="The assessor whose grades count first; for --rule primary.")
@click.option(
    "--model", "models", metavar="[NAME=]QRELS", multiple=True, help="Judgments by a model: a file, or a NAME above."
)
@click.option("--with-models", is_flag=True, help="Merge the judgments by models too, which is refused otherwise.")
@click.option("--least", type=click.IntRange(1), default=1, show_default=True, help="How many must have judged a pair.")
@click.option("--round", "rounded", is_flag=True, help="Take means to the nearest grade of the scale.")
@click.option("--scale", metavar="GRADES", help="All grades there are: 0-3, or 0,1,2. [default: those that occur]")
@click.option("--conflicts", metavar="FILE", help="Write every pair on which assessors differ or are overruled.")
@output_options
@reading_options
def command(
    qrels: tuple[str, ...],
    rule: str,
    ties: Any,
    primary: str | None,
    models: tuple[str, ...],
    with_models: bool,
    least: int,
    rounded: bool,
    scale: str | None,
    conflicts: str | None,
    output: str,
    quiet: bool,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
) -> None:
    """Make one set of judgments of several assessors'.

    A pair that one assessor judged keeps that grade. Pairs on which they differ are counted, and listed with
    --conflicts. Judgments by a model are one more assessor, and are merged only with --with-models.

    \b
    Example:
      cranfield qrels merge anna.qrels ben.qrels eva.qrels -o merged.qrels --conflicts conflicts.tsv
      cranfield qrels merge anna=a.qrels ben=b.qrels --rule primary --primary anna -o merged.qrels
      cranfield qrels merge anna=a.qrels ben=b.qrels --model gpt=gpt.qrels --with-models --rule dawid-skene
    """
    read = reader(qrels_format, grade_words, on_duplicate)
    assessors = read_assessors(qrels, models, read, least=2)
    files = [one.qrels.origin.file for one in assessors if one.qrels.origin is not None]
    for target in (output, conflicts):
        keep_inputs(target, files)
    if conflicts is not None and os.path.realpath(conflicts) == os.path.realpath(output):
        raise InputError("conflicts and merged judgments need a file each.", conflicts)
    merged = merge(
        assessors,
        rule,
        ties=ties,
        primary=primary,
        with_models=with_models,
        scale=None if scale is None else parse_scale(scale),
        least=least,
        rounded=rounded,
    )
    if conflicts is not None:
        with open_output(conflicts) as out:
            out.write(conflicts_table(merged, conflicts))
    said = merge_text(merged, conflicts, min(width(), 100), on_terminal())
    write(merged.qrels, output, merged.provenance(), [said], quiet)
