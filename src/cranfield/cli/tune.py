"""cranfield tune: parameters of a system, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cranfield.cli.options import echo, on_terminal, progress, width
from cranfield.errors import InputError


@click.command(name="tune")
@click.argument("index", metavar="INDEX")
@click.argument("topics", metavar="TOPICS")
@click.argument("qrels", metavar="QRELS")
@click.option("--system", default="bm25", show_default=True, help="The system, with the parameters that stay.")
@click.option("--grid", "grids", metavar="NAME=V,V,…", multiple=True, help="Values of a parameter; repeatable.")
@click.option("--range", "ranges", metavar="NAME=LOW..HIGH", multiple=True, help="To draw values from; repeatable.")
@click.option("--draws", type=click.IntRange(1), default=30, show_default=True, help="How many settings to draw.")
@click.option("-m", "measure", metavar="MEASURE", default="AP", show_default=True, help="What to make best.")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Parts of the topics.")
@click.option("--fields", default="title", show_default=True, help="Which fields of a topic to search with.")
@click.option("--depth", type=click.IntRange(1), default=1000, show_default=True, help="Documents for each topic.")
@click.option("--topics-format", help="Format of the topics, if not recognised.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="For the folds and the draws.")
@click.option("-o", "--output", metavar="RUN", help="Write the run in which every topic was held out.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
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

    Each fold of the topics is scored with the parameters that are best on all others: the held-out score is what to
    expect of new topics. The best score on all topics, which is optimistic, is shown beside it.

    TOPICS and QRELS are files, or a test collection by name and folder, such as cranfield:DIR.

    \b
    Example:
      cranfield tune bicycles.index topics.xml qrels.txt --grid k1=0.6,0.9,1.2 --grid b=0.2,0.4,0.75
      cranfield tune bicycles.index topics.xml qrels.txt --system lm --range mu=100..3000 --draws 20 -m nDCG@10
    """
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
    from cranfield.reporting import tuning as forms

    if bool(grids) == bool(ranges):
        raise InputError("either --grid or --range, at least once: e.g. --grid k1=0.6,0.9,1.2.")
    settings = (
        grid({name: values for name, values in map(_values, grids)})
        if grids
        else random_settings({name: ends for name, ends in map(_ends, ranges)}, draws, seed)
    )
    settings = [fitting(system, setting) for setting in settings]
    systems = {tuple(setting.items()): with_setting(system, setting) for setting in settings}
    opened = Index.open(index)
    queries = queries_of(topics_from(topics, topics_format), fields, topics)

    def search(setting: Setting) -> object:
        return systems[tuple(setting.items())].search(opened, queries, depth)

    shown = tune(
        search,  # type: ignore[arg-type]
        settings,
        qrels_from(qrels),
        measure,
        folds,
        seed,
        lambda each: progress(each, len(settings), "tuning"),
    )
    if output:
        write_run(chosen_run(shown, search), output)  # type: ignore[arg-type]
    echo(forms.as_json(shown) if format_ == "json" else forms.as_text(shown, width(), on_terminal()))


def _values(text: str) -> tuple[str, Sequence[float]]:
    name, values = _named(text, "--grid", "NAME=V,V,…")
    return name, [_number(value, "--grid") for value in values.split(",") if value.strip()]


def _ends(text: str) -> tuple[str, tuple[float, float]]:
    name, ends = _named(text, "--range", "NAME=LOW..HIGH")
    low, dots, high = ends.partition("..")
    if not dots:
        raise InputError(f"--range {text}: expected NAME=LOW..HIGH.")
    return name, (_number(low, "--range"), _number(high, "--range"))


def _named(text: str, option: str, form: str) -> tuple[str, str]:
    name, sign, rest = text.partition("=")
    if not sign or not name.strip() or not rest.strip():
        raise InputError(f"{option} {text}: expected {form}.")
    return name.strip(), rest


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option}: {text.strip()!r} is not a number.") from None
