"""cranfield leaderboard: systems ranked by one measure on one split or several."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.compare import display_options, input_options, on_option, read_tables, resampling_options
from cranfield.cli.options import measures_option, split_measures
from cranfield.cli.output import echo, has_styles, terminal_width
from cranfield.errors import MeasureError
from cranfield.reporting import comparison as report
from cranfield.stats import rank_systems

MEASURES = ("nDCG@10",)


@click.command(name="leaderboard")
@click.argument("files", metavar="[QRELS RUN...]", nargs=-1)
@on_option
@measures_option("The measure to rank systems by.", MEASURES)
@click.option("--by", metavar="NAME", help="The split to rank by. [default: the mean over all splits]")
@resampling_options
@display_options
@input_options
def command(
    files: tuple[str, ...],
    collections: tuple[str, ...],
    measures: tuple[str, ...],
    by: str | None,
    format_: str,
    percent: bool,
    places: int | None,
    quiet: bool,
    alpha: float,
    resamples: int,
    **options: Any,
) -> None:
    """Rank systems by one measure, on one split or several.

    Means come with confidence intervals, and with letters from the randomised Tukey HSD test: systems that share a
    letter do not differ significantly. A system that lacks a split has a mean, but no rank.

    \b
    Example:
      cranfield leaderboard qrels.txt *.run -m nDCG@10
      cranfield leaderboard -m RR@10 --on dev=dev.qrels:dev/a.run,dev/b.run --on test=test.qrels:test/a.run,test/b.run
    """
    names = split_measures(measures) or MEASURES
    if len(names) != 1:
        raise MeasureError(f"a leaderboard takes one measure, found {len(names)}: {', '.join(names)}.")
    tables, _ = read_tables(files, collections, (), names, (), quiet, options)
    board = rank_systems(tables, by, alpha=alpha, resamples=resamples, seed=options["seed"])
    echo(report.leaderboard_text(board, format_, report.View(percent, places), terminal_width(), has_styles()))
