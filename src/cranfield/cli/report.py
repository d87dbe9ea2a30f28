"""cranfield report: everything about an evaluation, on one page."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from cranfield.base import DEFAULT_MEASURES
from cranfield.cli.options import (
    echo,
    extras_options,
    format_options,
    grade_words_option,
    join_options,
    judgments_of,
    mean_options,
    measures_option,
    progress,
    split_measures,
)
from cranfield.errors import CranfieldError, InputError


@click.command(name="report")
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="FILE", default="report.html", show_default=True, help="The page; - is standard output."
)
@measures_option
@click.option("--baseline", metavar="RUN", multiple=True, help="Compare with this run, by file or name; repeatable.")
@click.option("--topics", metavar="FILE", help="Texts of topics, to be shown with them.")
@click.option("--documents", metavar="FILE", help="Texts of documents, to be shown in rankings.")
@click.option("--costs", metavar="FILE", help="What systems cost, as cranfield bench --format json writes it.")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Level of tests.",
)
@click.option("--rel", type=float, help="Lowest relevant grade, for binary measures that name none. [default: 1]")
@click.option("--docs", type=click.IntRange(1), help="Size of the collection, for Fallout and SetAccuracy.")
@mean_options
@extras_options
@join_options
@format_options
@grade_words_option
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of what is drawn.")
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
    seed: int,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    against: str | None,
    quiet: bool,
    **conventions: Any,
) -> None:
    """Write a page with everything there is to say of an evaluation.

    One HTML file that needs no network: summary, leaderboard, comparisons, pictures, topics one by one with two
    rankings side by side, unjudged documents, ties, what checks find, and what the figures rest on; with --costs also
    what each system costs. Systems are told by the names of runs, with or without their ending, or by their tags.

    \b
    Example:
      cranfield report qrels.txt bm25.run lm.run -o report.html
      cranfield report qrels.txt bm25.run lm.run --baseline bm25.run --topics topics.xml --documents documents.jsonl
      cranfield report qrels.txt bm25.run lm.run --costs bench.json
    """
    from cranfield.evaluation import Evaluator
    from cranfield.io import read_run
    from cranfield.reporting import read_costs, report, require_pictures

    files = _with_baselines(runs, baseline)
    if [qrels, *files, against, topics, documents, costs].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    require_pictures()
    measured = None if costs is None else read_costs(costs)
    duplicates = conventions["on_duplicate"]
    evaluator = Evaluator(
        judgments_of(qrels, qrels_format, grade_words, duplicates),
        split_measures(measures) or DEFAULT_MEASURES,
        against=read_run(against, run_format, on_duplicate=duplicates) if against else None,
        seed=seed,
        **conventions,
    )
    # standard input cannot be read once more for the documents that nobody judged
    read = (read_run(file, run_format, on_duplicate=duplicates) if file == "-" else file for file in files)
    scored = (evaluator.score(run, format=run_format) for run in read)
    scores = evaluator.scores(list(scored if quiet else progress(scored, len(files), "evaluating")))
    names = [run.name for run in scores.runs]
    page = report(
        scores,
        [_name_of(one, files, names) for one in baseline],
        topics=topics,
        documents=documents,
        alpha=alpha,
        seed=seed,
        command=shlex.join(["cranfield", *sys.argv[1:]]),
        grade_words=grade_words,
        costs=measured,
    )
    page.save(output)
    if not quiet:
        # where the page goes to standard output there must be nothing else
        click.echo(page.title, err=True) if output == "-" else echo(f"{output}: {page.title}\n")


def _with_baselines(runs: Sequence[str], baselines: Sequence[str]) -> list[str]:
    """The runs, with baselines that are files of their own in front."""
    others = [one for one in dict.fromkeys(baselines) if os.path.isfile(one) and not any(_same(one, r) for r in runs)]
    return [*others, *runs]


def _name_of(baseline: str, files: Sequence[str], names: Sequence[str]) -> str:
    """The name of the run that a baseline is, told by its file or by its name."""
    for file, name in zip(files, names, strict=True):
        if baseline == name or _same(baseline, file):
            return name
    raise CranfieldError(f"--baseline {baseline}: no such file, and none of the runs: {', '.join(names)}.")


def _same(one: str, other: str) -> bool:
    return one == other or os.path.abspath(one) == os.path.abspath(other)
