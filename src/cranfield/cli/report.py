"""cranfield report: everything about an evaluation on one page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from cranfield.base import DEFAULT_MEASURES
from cranfield.cli.inputs import is_same_file, read_evaluator, require_one_stdin
from cranfield.cli.options import (
    alpha_option,
    evaluation_options,
    mean_options,
    measures_option,
    seed_option,
    split_measures,
)
from cranfield.cli.output import command_line, echo, show_progress
from cranfield.errors import CranfieldError
from cranfield.evaluation import Scores
from cranfield.io import read_run
from cranfield.reporting import read_costs, report, require_plots


@click.command(name="report")
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="FILE", default="report.html", show_default=True, help="The page; - is standard output."
)
@measures_option("A measure, e.g. nDCG@10, AP(rel=2)@100, ndcg_cut_10; repeatable.")
@click.option("--baseline", metavar="RUN", multiple=True, help="Compare with this run, by file or name; repeatable.")
@click.option("--topics", metavar="FILE", help="Topics, to show their texts.")
@click.option("--documents", metavar="FILE", help="Documents, to show their texts in rankings.")
@click.option("--costs", metavar="FILE", help="What systems cost, as written by cranfield bench --format json.")
@alpha_option()
@mean_options
@evaluation_options
@seed_option("Seed of the resampling.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def command(
    qrels: str,
    runs: tuple[str, ...],
    output: str,
    measures: tuple[str, ...],
    baseline: tuple[str, ...],
    topics: str | None,
    documents: str | None,
    costs: str | None,
    alpha: float,
    quiet: bool,
    **options: Any,
) -> None:
    """Write a complete evaluation report as one HTML page.

    The page needs no network. It has a summary, a leaderboard, comparisons, plots, every topic with two rankings side
    by side, unjudged documents, ties, problems found in the files, and provenance; with --costs also what each system
    costs. Systems are matched by the names of their runs, with or without the suffix, or by their tags.

    \b
    Example:
      cranfield report qrels.txt bm25.run lm.run -o report.html
      cranfield report qrels.txt bm25.run lm.run --baseline bm25.run --topics topics.xml --documents documents.jsonl
      cranfield report qrels.txt bm25.run lm.run --costs bench.json
    """
    added = [run for run in dict.fromkeys(baseline) if os.path.isfile(run) and not _is_among(run, runs)]
    files = [*added, *runs]
    require_one_stdin(qrels, *files, options["against"], topics, documents, costs)
    require_plots()
    costs_of_systems = None if costs is None else read_costs(costs)
    scores = _evaluate(qrels, files, split_measures(measures) or DEFAULT_MEASURES, quiet, options)
    names = [run.name for run in scores.runs]
    page = report(
        scores,
        [_find_baseline(one, files, names) for one in baseline],
        topics=topics,
        documents=documents,
        alpha=alpha,
        seed=options["seed"],
        command=command_line(),
        grade_words=options["grade_words"],
        costs=costs_of_systems,
    )
    page.save(output)
    if not quiet:
        # a page on standard output must stand alone
        click.echo(page.title, err=True) if output == "-" else echo(f"{output}: {page.title}\n")


def _evaluate(qrels: str, files: Sequence[str], measures: Sequence[str], quiet: bool, options: Any) -> Scores:
    evaluator = read_evaluator(qrels, measures, **options)
    run_format, on_duplicate = options["run_format"], options["on_duplicate"]
    # standard input cannot be read a second time for the unjudged documents
    runs = (read_run(file, run_format, on_duplicate=on_duplicate) if file == "-" else file for file in files)
    scored = (evaluator.score(run, format=run_format) for run in runs)
    return evaluator.scores(list(scored if quiet else show_progress(scored, len(files), "evaluating")))


def _is_among(run: str, runs: Sequence[str]) -> bool:
    return any(is_same_file(run, other) for other in runs)


def _find_baseline(baseline: str, files: Sequence[str], names: Sequence[str]) -> str:
    """The name of the run that is the baseline, given by its file or its name."""
    for file, name in zip(files, names, strict=True):
        if baseline == name or is_same_file(baseline, file):
            return name
    raise CranfieldError(f"--baseline {baseline}: neither a file nor one of the runs: {', '.join(names)}.")
