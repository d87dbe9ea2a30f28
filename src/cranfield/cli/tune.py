"""cranfield tune: choose the parameters of a system by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cranfield.cli.options import depth_option, fields_option, format_option, seed_option, topics_format_option
from cranfield.cli.output import echo, has_styles, show_progress, terminal_width
from cranfield.data import Run
from cranfield.errors import InputError
from cranfield.io import write_run
from cranfield.lab import (
    Index,
    Setting,
    chosen_run,
    fitting,
    grid,
    qrels_from,
    queries_of,
    random_settings,
    topics_from,
    tune,
    with_setting,
)
from cranfield.reporting import tuning as report


@click.command(name="tune")
@click.argument("index", metavar="INDEX")
@click.argument("topics", metavar="TOPICS")
@click.argument("qrels", metavar="QRELS")
@click.option("--system", default="bm25", show_default=True, help="The system, with its fixed parameters.")
@click.option("--grid", "grids", metavar="NAME=V,V,…", multiple=True, help="Values of a parameter; repeatable.")
@click.option("--range", "ranges", metavar="NAME=LOW..HIGH", multiple=True, help="Range to sample from; repeatable.")
@click.option("--draws", type=click.IntRange(1), default=30, show_default=True, help="Number of settings to sample.")
@click.option("-m", "measure", metavar="MEASURE", default="AP", show_default=True, help="The measure to maximise.")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Number of folds.")
@fields_option()
@depth_option(1000, "Documents per topic.")
@topics_format_option
@seed_option("Seed of the folds and the sampling.")
@click.option("-o", "--output", metavar="RUN", help="Write the run with the held-out results of all topics.")
@format_option()
def command(
    index: str,
    topics: str,
    qrels: str,
    system: str,
    grids: tuple[str, ...],
    ranges: tuple[str, ...],
    draws: int,
    measure: str,
    folds: int,
    fields: str,
    depth: int,
    topics_format: str | None,
    seed: int,
    output: str | None,
    format_: str,
) -> None:
    """Choose the parameters of a system by cross-validation over topics.

    Each fold of topics is scored with the parameters that are best on the other folds; this held-out score is what to
    expect on new topics. The best score on all topics, which is optimistic, is shown beside it.

    TOPICS and QRELS are files, or a test collection and its folder, such as cranfield:DIR.

    \b
    Example:
      cranfield tune bicycles.index topics.xml qrels.txt --grid k1=0.6,0.9,1.2 --grid b=0.2,0.4,0.75
      cranfield tune bicycles.index topics.xml qrels.txt --system lm --range mu=100..3000 --draws 20 -m nDCG@10
    """
    settings = [fitting(system, setting) for setting in _list_settings(grids, ranges, draws, seed)]
    systems = {tuple(setting.items()): with_setting(system, setting) for setting in settings}
    opened = Index.open(index)
    queries = queries_of(topics_from(topics, topics_format), fields, topics)

    def search(setting: Setting) -> Run:
        return systems[tuple(setting.items())].search(opened, queries, depth)

    result = tune(
        search,
        settings,
        qrels_from(qrels),
        measure,
        folds,
        seed,
        lambda each: show_progress(each, len(settings), "tuning"),
    )
    if output:
        write_run(chosen_run(result, search), output)
    echo(report.as_json(result) if format_ == "json" else report.as_text(result, terminal_width(), has_styles()))


def _list_settings(grids: Sequence[str], ranges: Sequence[str], draws: int, seed: int) -> Sequence[Setting]:
    if bool(grids) == bool(ranges):
        raise InputError("give either --grid or --range, at least once: e.g. --grid k1=0.6,0.9,1.2.")
    if grids:
        return grid(dict(map(_parse_grid, grids)))
    return random_settings(dict(map(_parse_range, ranges)), draws, seed)


def _parse_grid(text: str) -> tuple[str, Sequence[float]]:
    name, values = _split_name(text, "--grid", "NAME=V,V,…")
    return name, [_parse_number(value, "--grid") for value in values.split(",") if value.strip()]


def _parse_range(text: str) -> tuple[str, tuple[float, float]]:
    name, ends = _split_name(text, "--range", "NAME=LOW..HIGH")
    low, dots, high = ends.partition("..")
    if not dots:
        raise InputError(f"--range {text}: expected NAME=LOW..HIGH.")
    return name, (_parse_number(low, "--range"), _parse_number(high, "--range"))


def _split_name(text: str, option: str, form: str) -> tuple[str, str]:
    name, sign, rest = text.partition("=")
    if not sign or not name.strip() or not rest.strip():
        raise InputError(f"{option} {text}: expected {form}.")
    return name.strip(), rest


def _parse_number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option}: {text.strip()!r} is not a number.") from None
