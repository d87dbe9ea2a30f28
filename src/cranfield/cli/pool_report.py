"""cranfield pool-report: who contributed what to a pool, and how far its judgments can be trusted."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

import click

from cranfield.base import OnDuplicate
from cranfield.cli.options import (
    echo,
    format_options,
    grade_words_option,
    judgments_of,
    on_terminal,
    progress,
    split_measures,
    width,
)
from cranfield.errors import InputError
from cranfield.stats import PVALUE_CORRECTIONS

F = TypeVar("F", bound=Callable[..., Any])


def pool_options(function: F) -> F:
    """Which runs were pooled how deep, which of them belong together, and what counts in them."""
    options = [
        click.option("--depth", type=click.IntRange(1), help="Depth of the pool. [default: as deep as all is judged]"),
        click.option("--groups", metavar="FILE", help="Runs that belong together; lines of run<TAB>group."),
        click.option("--group-by", metavar="REGEX", help="Runs whose names match alike, e.g. '^[a-z]+'."),
        click.option("--rel", type=float, default=1, show_default=True, help="Lowest relevant grade."),
        click.option(
            "--on-duplicate",
            type=click.Choice(list(get_args(OnDuplicate))),
            default="error",
            show_default=True,
            help="A document twice for the same query.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@click.command(name="pool-report")
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="HTML", help="Write a page; - is standard output.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print."
)
@click.option(
    "-m",
    "measures",
    metavar="MEASURE",
    multiple=True,
    help="A measure to evaluate runs by; repeatable. [default: nDCG@10, AP]",
)
@pool_options
@click.option(
    "--strategy",
    "strategies",
    metavar="NAME",
    multiple=True,
    help="For budget curves; repeatable. [default: depth, rrf, mtf, mm-ns]",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Level of tests.",
)
@click.option(
    "--correction",
    type=click.Choice(PVALUE_CORRECTIONS),
    default="holm",
    show_default=True,
    help="For the number of pairs of runs.",
)
@click.option("--bounds/--no-bounds", default=None, help="Bounds over the unjudged. [default: unless it takes long]")
@format_options
@grade_words_option
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of what is drawn.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors, or what --format asks for.")
def command(
    qrels: str,
    runs: tuple[str, ...],
    output: str | None,
    format_: str,
    measures: tuple[str, ...],
    groups: str | None,
    group_by: str | None,
    strategies: tuple[str, ...],
    on_duplicate: OnDuplicate,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    seed: int,
    quiet: bool,
    **options: Any,
) -> None:
    """Say what a pool is made of and how far its judgments can be trusted, for these runs and for others.

    Sizes and grades, what each run or group brought in, how alike runs are, how much is judged, bounds over the
    unjudged, each run and group left out in turn, what fewer judgments would have done, and what a deeper pool would.

    \b
    Example:
      cranfield pool-report qrels.txt bm25.run lm.run tfidf.run -o pool.html
      cranfield pool-report qrels.txt *.run --depth 10 --group-by '^[^_]+' -m AP --format json
    """
    from cranfield.io import read_run
    from cranfield.pooling import DEFAULT_MEASURES, diagnose, refuse_overwriting_inputs
    from cranfield.reporting import require_pictures

    if [qrels, *runs, groups].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    if output is not None:
        refuse_overwriting_inputs([output], [qrels, *runs, groups])
        require_pictures()
    judgments = judgments_of(qrels, qrels_format, grade_words, on_duplicate)
    read = (read_run(run, run_format, on_duplicate=on_duplicate) for run in runs)
    diagnosis = diagnose(
        judgments,
        list(read if quiet else progress(read, len(runs), "reading")),
        split_measures(measures) or DEFAULT_MEASURES,
        groups=given_groups(groups, group_by),
        strategies=strategies or None,
        seed=seed,
        watch=None if quiet else progress,
        **options,
    )
    asked = shlex.join(["cranfield", *sys.argv[1:]])
    if output is not None:
        from cranfield.reporting import make_pool_page

        make_pool_page(diagnosis, seed, asked).save(output)
    if output != "-":
        from cranfield.reporting import pool_report_json, pool_report_text

        if format_ == "json":
            echo(pool_report_json(diagnosis, seed, asked))
        elif not quiet:
            echo(pool_report_text(diagnosis, width(), on_terminal()))
            echo(f"\n{output} has all of it, with pictures.\n" if output else "")


def given_groups(file: str | None, pattern: str | None) -> Mapping[str, str] | str | None:
    """The groups of runs, from a file or by a pattern."""
    from cranfield.pooling import read_run_groups

    if file is not None and pattern is not None:
        raise InputError("give --groups or --group-by, not both.")
    return read_run_groups(file) if file is not None else pattern
