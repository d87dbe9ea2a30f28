"""cranfield measures: what measures there are, all about one, and which to use."""

from __future__ import annotations

import click

from cranfield.cli.options import echo
from cranfield.measures import ADVICE
from cranfield.reporting import catalogue


@click.command(name="measures")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--for", "task", type=click.Choice(list(ADVICE)), help="Which measures to use for a task, and why.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print."
)
def command(name: str | None, task: str | None, format_: str) -> None:
    """List all measures, or explain one: formula, parameters, range, user model, weight of ranks, reference.

    NAME may give parameters: formula, weights and range are then those of the measure with them.

    \b
    Example:
      cranfield measures
      cranfield measures nDCG
      cranfield measures "RBP(p=.5)"
      cranfield measures --for recall
    """
    if name is not None and task is not None:
        raise click.UsageError("give a measure's NAME or --for a task, not both.")
    is_json = format_ == "json"
    if task is not None:
        echo(catalogue.advice_as_json(task) if is_json else catalogue.advice_as_text(task))
    elif name is not None:
        measure = catalogue.measure_of(name)
        echo(catalogue.as_json(measure) if is_json else catalogue.as_text(measure))
    else:
        echo(catalogue.list_as_json() if is_json else catalogue.list_as_text())
