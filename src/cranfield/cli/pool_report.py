"""cranfield pool-report: who contributed what to a pool, and how reliable its judgments are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.base import OnDuplicate
from cranfield.cli.inputs import read_judgments, require_one_stdin
from cranfield.cli.options import (
    alpha_option,
    choice_option,
    format_option,
    input_format_options,
    measures_option,
    on_duplicate_option,
    option_group,
    rel_option,
    seed_option,
    split_measures,
)
from cranfield.cli.output import command_line, echo, has_styles, show_progress, terminal_width
from cranfield.errors import InputError
from cranfield.io import read_run
from cranfield.pooling import DEFAULT_MEASURES, diagnose, read_run_groups, refuse_overwriting_inputs
from cranfield.reporting import make_pool_page, pool_report_as_json, pool_report_as_text, require_plots
from cranfield.stats import PVALUE_CORRECTIONS

# which runs were pooled and how deep, and which of them belong together
pool_options = option_group(
    click.option("--depth", type=click.IntRange(1), help="Depth of the pool. [default: as deep as all is judged]"),
    click.option("--groups", metavar="FILE", help="Runs that belong together; lines of run<TAB>group."),
    click.option("--group-by", metavar="REGEX", help="Group runs by the part of their name that matches: '^[a-z]+'."),
    rel_option,
    on_duplicate_option(),
)


@click.command(name="pool-report")
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="HTML", help="Write an HTML page; - is standard output.")
@format_option()
@measures_option("A measure to evaluate runs by; repeatable.", DEFAULT_MEASURES)
@pool_options
@click.option(
    "--strategy",
    "strategies",
    metavar="NAME",
    multiple=True,
    help="A strategy for the budget curves; repeatable. [default: depth, rrf, mtf, mm-ns]",
)
@alpha_option()
@choice_option(
    "--correction",
    tuple(PVALUE_CORRECTIONS),
    "holm",
    "Correction for the number of pairs of runs.",
)
@click.option("--bounds/--no-bounds", default=None, help="Bounds over unjudged documents. [default: unless it is slow]")
@input_format_options
@seed_option("Seed of the resampling.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors and the output of --format json.")
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
    """Analyse a pool and how far its judgments can be trusted, for these runs and for others.

    Reports sizes and grades, what each run or group contributed, how similar runs are, how much is judged, bounds over
    unjudged documents, each run and group left out in turn, the effect of fewer judgments, and that of a deeper pool.

    \b
    Example:
      cranfield pool-report qrels.txt bm25.run lm.run tfidf.run -o pool.html
      cranfield pool-report qrels.txt *.run --depth 10 --group-by '^[^_]+' -m AP --format json
    """
    require_one_stdin(qrels, *runs, groups)
    if output is not None:
        refuse_overwriting_inputs([output], [qrels, *runs, groups])
        require_plots()
    read = (read_run(run, run_format, on_duplicate=on_duplicate) for run in runs)
    diagnosis = diagnose(
        read_judgments(qrels, qrels_format, grade_words, on_duplicate),
        list(read if quiet else show_progress(read, len(runs), "reading")),
        split_measures(measures) or DEFAULT_MEASURES,
        groups=read_groups(groups, group_by),
        strategies=strategies or None,
        seed=seed,
        watch=None if quiet else show_progress,
        **options,
    )
    if output is not None:
        make_pool_page(diagnosis, seed, command_line()).save(output)
    if output == "-":
        return
    if format_ == "json":
        echo(pool_report_as_json(diagnosis, seed, command_line()))
    elif not quiet:
        echo(pool_report_as_text(diagnosis, terminal_width(), has_styles()))
        echo(f"\nThe complete report, with plots, is in {output}.\n" if output else "")


def read_groups(file: str | None, pattern: str | None) -> Mapping[str, str] | str | None:
    """The groups of runs, from a file or as a pattern."""
    if file is not None and pattern is not None:
        raise InputError("give --groups or --group-by, not both.")
    return read_run_groups(file) if file is not None else pattern
