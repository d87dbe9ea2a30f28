"""cranfield measures: list measures, explain one, recommend some."""

from __future__ import annotations

import click

from cranfield.cli.options import format_option
from cranfield.cli.output import echo
from cranfield.measures import ADVICE
from cranfield.reporting import catalogue


@click.command(name="measures")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--for", "task", type=click.Choice(list(ADVICE)), help="Recommend measures for a task.")
@format_option()
def command(name: str | None, task: str | None, format_: str) -> None:
    """List all measures, or explain one: formula, parameters, range, user model, rank weights, references.

    NAME may include parameters; formula, weights and range are then shown for their values.

    \b
    Example:
      cranfield measures
      cranfield measures nDCG
      cranfield measures "RBP(p=.5)"
      cranfield measures --for recall
    """
    if name is not None and task is not None:
        raise click.UsageError("give either NAME or --for, not both.")
    is_json = format_ == "json"
    if task is not None:
        echo(catalogue.advice_as_json(task) if is_json else catalogue.advice_as_text(task))
    elif name is not None:
        measure = catalogue.find_measure(name)
        echo(catalogue.as_json(measure) if is_json else catalogue.as_text(measure))
    else:
        echo(catalogue.list_as_json() if is_json else catalogue.list_as_text())
