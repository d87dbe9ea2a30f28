"""cranfield agree: agreement between assessors, and whether it matters."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.inputs import read_judgments
from cranfield.cli.options import (
    choice_option,
    format_option,
    input_format_options,
    measures_option,
    on_duplicate_option,
    rel_option,
    seed_option,
    split_measures,
)
from cranfield.cli.output import echo, has_styles, line_width, show_progress
from cranfield.qrels_tools import AgreementDesign, agree, parse_scale, read_assessors
from cranfield.reporting import agreement as report
from cranfield.stats import AGREEMENT_RESAMPLES

MEASURES = ("nDCG@10",)


class ManyRuns(click.Command):
    """A command whose --runs takes all arguments up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        expanded: list[str] = []
        takes = False
        for i, argument in enumerate(args):
            if argument == "--":
                expanded += args[i:]
                break
            if argument.startswith("-") and argument != "-":
                takes = argument == "--runs"
                expanded += [] if takes else [argument]
                if takes and (i + 1 == len(args) or (args[i + 1] != "-" and args[i + 1].startswith("-"))):
                    raise click.UsageError("--runs needs at least one run.", ctx)
            else:
                expanded += ["--runs", argument] if takes else [argument]
        return super().parse_args(ctx, expanded)


@click.command(name="agree", cls=ManyRuns)
@click.argument("qrels", metavar="[NAME=]QRELS...", nargs=-1)
@click.option(
    "--model", "models", metavar="[NAME=]QRELS", multiple=True, help="Judgments by a model: a file, or a NAME above."
)
@click.option("--runs", metavar="RUN...", multiple=True, help="Also compare how assessors' judgments rank these runs.")
@measures_option("A measure to rank runs by; repeatable.", MEASURES)
@rel_option
@click.option("--scale", metavar="GRADES", help="All possible grades: 0-3, or 0,1,2. [default: those that occur]")
@choice_option(
    "--resample",
    ("topics", "pairs"),
    "topics",
    "What to resample topics with all their pairs, or single pairs.",
)
@click.option(
    "--resamples",
    type=click.IntRange(0),
    default=AGREEMENT_RESAMPLES,
    show_default=True,
    help="Number of resamples; 0 for no intervals.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level of the intervals.")
@seed_option("Seed of the resampling.")
@format_option()
@click.option("--full", is_flag=True, help="Show all topics, confusion matrices and intervals, however many.")
@input_format_options
@on_duplicate_option("What to do with a document judged twice for a query.")
def command(
    qrels: tuple[str, ...],
    models: tuple[str, ...],
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    rel: float,
    scale: str | None,
    resample: Any,
    resamples: int,
    level: float,
    seed: int,
    format_: str,
    full: bool,
    run_format: str | None,
    **options: Any,
) -> None:
    """Measure agreement between assessors: overall, pairwise and by topic; and whether systems rank the same.

    Each file holds the judgments of one assessor. Two assessors are compared on the query–document pairs that both
    judged, several on the pairs that at least two judged. A model counts as an assessor and is compared with people.

    \b
    Example:
      cranfield agree anna.qrels ben.qrels --scale 0-3
      cranfield agree anna=a.qrels ben=b.qrels --model gpt=gpt.qrels --runs bm25.run lm.run
      cranfield agree anna.qrels ben.qrels --runs runs/*.run -m nDCG@10 -m AP --format json
    """
    assessors = read_assessors(
        qrels,
        models,
        lambda path: read_judgments(path, options["qrels_format"], options["grade_words"], options["on_duplicate"]),
        least=1 if qrels else 2,  # a single person gets an explanation
    )
    agreement = agree(
        assessors,
        AgreementDesign(rel, resample, resamples, seed, level),
        scale=None if scale is None else parse_scale(scale),
        runs=runs,
        measures=split_measures(measures) or MEASURES,
        run_format=run_format,
        each=lambda items, total: show_progress(items, total, "evaluating"),
    )
    if format_ == "json":
        echo(report.as_json(agreement))
    else:
        echo(report.as_text(agreement, line_width(), has_styles(), full))
