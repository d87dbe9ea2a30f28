"""cranfield agree: how far assessors agree, and whether it matters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.base import QRELS_FORMATS, RUN_FORMATS
from cranfield.cli.options import echo, grade_words_option, judgments_of, on_terminal, progress, split_measures, width
from cranfield.qrels_tools import Design, agree, parse_scale, read_assessors
from cranfield.reporting import agreement as report
from cranfield.stats import AGREEMENT_RESAMPLES


class ManyRuns(click.Command):
    """A command whose --runs takes all that follows, up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        takes = False
        for i, argument in enumerate(args):
            if argument == "--":
                spread += args[i:]
                break
            if argument.startswith("-") and argument != "-":
                takes = argument == "--runs"
                spread += [] if takes else [argument]
                if takes and (i + 1 == len(args) or (args[i + 1] != "-" and args[i + 1].startswith("-"))):
                    raise click.UsageError("--runs: expected one run or more after it.", ctx)
            else:
                spread += ["--runs", argument] if takes else [argument]
        return super().parse_args(ctx, spread)


@click.command(name="agree", cls=ManyRuns)
@click.argument("qrels", metavar="[NAME=]QRELS...", nargs=-1)
@click.option(
    "--model", "models", metavar="[NAME=]QRELS", multiple=True, help="Judgments by a model: a file, or a NAME above."
)
@click.option("--runs", metavar="RUN...", multiple=True, help="Also say how each assessor's judgments rank these runs.")
@click.option("-m", "measures", metavar="MEASURE", multiple=True, help="What to rank by. [default: nDCG@10]")
@click.option("--rel", type=float, default=1, show_default=True, help="Lowest relevant grade.")
@click.option("--scale", metavar="GRADES", help="All grades there are: 0-3, or 0,1,2. [default: those that occur]")
@click.option(
    "--resample",
    type=click.Choice(["topics", "pairs"]),
    default="topics",
    show_default=True,
    help="What is drawn anew for intervals: topics with all their pairs, or pairs.",
)
@click.option(
    "--resamples", type=click.IntRange(0), default=AGREEMENT_RESAMPLES, show_default=True, help="How often; 0 for none."
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="For the draws.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print."
)
@click.option("--full", is_flag=True, help="All topics, confusion matrices and small print, however many.")
@click.option("--run-format", type=click.Choice(list(RUN_FORMATS)), help="Format of the runs, if not recognised.")
@click.option("--qrels-format", type=click.Choice(list(QRELS_FORMATS)), help="Format of the qrels, if not recognised.")
@click.option(
    "--on-duplicate",
    type=click.Choice(["error", "first", "last", "max"]),
    default="error",
    show_default=True,
    help="A document judged twice for the same query.",
)
@grade_words_option
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
    qrels_format: str | None,
    on_duplicate: Any,
    grade_words: Mapping[str, float],
) -> None:
    """Say how far assessors agree, on the whole, two by two and by topic; and whether systems rank alike.

    Each file holds the judgments of one assessor. Two are compared on the pairs of query and document that both judged;
    several by what at least two judged. A model is one more assessor, and is compared with people.

    \b
    Example:
      cranfield agree anna.qrels ben.qrels --scale 0-3
      cranfield agree anna=a.qrels ben=b.qrels --model gpt=gpt.qrels --runs bm25.run lm.run
      cranfield agree anna.qrels ben.qrels --runs runs/*.run -m nDCG@10 -m AP --format json
    """
    assessors = read_assessors(
        qrels,
        models,
        lambda path: judgments_of(path, qrels_format, grade_words, on_duplicate),
        least=1 if qrels else 2,  # a person alone is told that there is nobody to agree with
    )
    found = agree(
        assessors,
        Design(rel, resample, resamples, seed, level),
        scale=None if scale is None else parse_scale(scale),
        runs=runs,
        measures=split_measures(measures) or ["nDCG@10"],
        run_format=run_format,
        each=lambda items, total: progress(items, total, "evaluating"),
    )
    if format_ == "json":
        echo(report.as_json(found))
    else:
        echo(report.as_text(found, min(width(), report.WIDTH), on_terminal(), full))
