"""cranfield qrels merge: combine the judgments of several assessors."""

from __future__ import annotations

import os
from typing import Any

import click

from cranfield.cli.options import choice_option
from cranfield.cli.output import has_styles, line_width
from cranfield.cli.qrels.common import input_options, make_reader, output_options, protect_inputs, write
from cranfield.errors import InputError
from cranfield.io import open_output
from cranfield.qrels_tools import MERGE_RULES, MERGE_TIES, merge_qrels, parse_scale, read_assessors
from cranfield.reporting import qrels as report

_RULES = "\n".join(["\b", "Rules:", *(f"  {name:<12} {about}" for name, about in MERGE_RULES.items())])
_TIES = "\n".join(["\b", "Ties:", *(f"  {name:<12} {about}" for name, about in MERGE_TIES.items())])


@click.command(name="merge", epilog=f"{_RULES}\n\n{_TIES}")
@click.argument("qrels", metavar="[NAME=]QRELS...", nargs=-1)
@choice_option("--rule", tuple(MERGE_RULES), "majority", "Listed below.")
@choice_option(
    "--ties", tuple(MERGE_TIES), "lower", "Which grade counts if several have equally many votes or are medians."
)
@click.option("--primary", metavar="NAME", help="The assessor whose grades take precedence, for --rule primary.")
@click.option(
    "--model", "models", metavar="[NAME=]QRELS", multiple=True, help="Judgments by a model: a file, or a NAME above."
)
@click.option("--with-models", is_flag=True, help="Allow merging judgments by models with those by people.")
@click.option("--least", type=click.IntRange(1), default=1, show_default=True, help="Assessors required for a pair.")
@click.option("--round", "rounded", is_flag=True, help="Round means to the nearest grade of the scale.")
@click.option("--scale", metavar="GRADES", help="All possible grades: 0-3, or 0,1,2. [default: those that occur]")
@click.option("--conflicts", metavar="FILE", help="Write every pair on which assessors differ or are overruled.")
@output_options
@input_options
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
    **options: Any,
) -> None:
    """Combine the judgments of several assessors.

    A pair judged by one assessor keeps its grade. Pairs on which assessors differ are counted, and --conflicts lists
    them. Models count as assessors, but are merged only with --with-models.

    \b
    Example:
      cranfield qrels merge anna.qrels ben.qrels eva.qrels -o merged.qrels --conflicts conflicts.tsv
      cranfield qrels merge anna=a.qrels ben=b.qrels --rule primary --primary anna -o merged.qrels
      cranfield qrels merge anna=a.qrels ben=b.qrels --model gpt=gpt.qrels --with-models --rule dawid-skene
    """
    assessors = read_assessors(qrels, models, make_reader(**options), least=2)
    files = [one.qrels.origin.file for one in assessors if one.qrels.origin is not None]
    for target in (output, conflicts):
        protect_inputs(target, files)
    if conflicts is not None and os.path.realpath(conflicts) == os.path.realpath(output):
        raise InputError("--conflicts and --output must be different files.", conflicts)
    merged = merge_qrels(
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
            out.write(report.format_merge_conflicts(merged, conflicts))
    summary = report.describe_merge(merged, conflicts, line_width(), has_styles())
    write(merged.qrels, output, merged.provenance(), [summary], quiet)
