"""cranfield leaderboard: systems ranked by one measure on one split or several."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.compare import draw_options, on_option, read, reading_options, show_options
from cranfield.cli.options import echo, on_terminal, split_measures, width
from cranfield.errors import MeasureError
from cranfield.stats import rank_systems


@click.command(name="leaderboard")
@click.argument("files", metavar="[QRELS RUN...]", nargs=-1)
@on_option
@click.option(
    "-m",
    "measures",
    metavar="MEASURE",
    multiple=True,
    default=["nDCG@10"],
    help="What ranks systems. [default: nDCG@10]",
)
@click.option("--by", metavar="NAME", help="The split that ranks. [default: the mean over all]")
@draw_options
@show_options
@reading_options
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
    **reading: Any,
) -> None:
    """Rank systems by one measure, on one split or several.

    Means have intervals, and letters by the randomised Tukey HSD test: systems that share one do not differ. A system
    that lacks a split has a mean, but no rank.

    \b
    Example:
      cranfield leaderboard qrels.txt *.run -m nDCG@10
      cranfield leaderboard -m RR@10 --on dev=dev.qrels:dev/a.run,dev/b.run --on test=test.qrels:test/a.run,test/b.run
    """
    from cranfield.reporting import comparison as report

    named = split_measures(measures)
    if len(named) != 1:
        raise MeasureError(f"a leaderboard has one measure, found {len(named)}: {', '.join(named)}.")
    given = read(files, collections, (), named, (), quiet, reading)
    board = rank_systems(given.tables, by, alpha=alpha, resamples=resamples, seed=reading["seed"])
    echo(report.leaderboard_text(board, format_, report.View(percent, places), width(), on_terminal()))
