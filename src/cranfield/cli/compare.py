"""cranfield compare: which system is better, by how much, and how certain that is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from cranfield.base import DEFAULT_MEASURES, Record, count_cores, join_names, pluralize
from cranfield.cli.inputs import is_same_file, read_evaluator, require_one_stdin
from cranfield.cli.options import (
    choice_option,
    evaluation_options,
    format_option,
    jobs_option,
    measures_option,
    option_group,
    quiet_option,
    seed_option,
    split_measures,
)
from cranfield.cli.output import echo, has_styles, show_progress, terminal_width
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation import Scores
from cranfield.io import display_name, expand_path, read_scores
from cranfield.reporting import comparison as report
from cranfield.stats import CORRECTIONS, TESTS, ScoreTable, compare, gather_scores

# the share of judged documents has a column of its own
MEASURES = tuple(measure for measure in DEFAULT_MEASURES if not measure.startswith("Judged"))


class Collection(Record):
    """What --on names: judgments, and the runs to evaluate with them, each with the name of its system if given."""

    name: str
    qrels: str
    runs: tuple[tuple[str | None, str], ...]


# how results are shown
display_options = option_group(
    format_option(report.FORMATS),
    click.option("--percent", is_flag=True, help="Show scores × 100."),
    click.option("--places", type=click.IntRange(0, 17), help="Decimals of scores. [default: 4, or 2 with --percent]"),
    quiet_option,
)

# what is random, and how certain results should be
resampling_options = option_group(
    click.option(
        "--alpha", type=float, default=0.05, show_default=True, help="Significance level of tests and intervals."
    ),
    click.option("--resamples", type=click.IntRange(1), default=10_000, show_default=True, help="Number of resamples."),
    seed_option("Seed of the resampling."),
)

# how files are read and joined
input_options = option_group(evaluation_options, jobs_option)

on_option = click.option(
    "--on",
    "collections",
    metavar="NAME=QRELS:RUN[,RUN…]",
    multiple=True,
    help="A collection or split; repeatable. A run may be SYSTEM=FILE; by default a system has the name of its file.",
)


@click.command(name="compare")
@click.argument("files", metavar="[QRELS RUN...]", nargs=-1)
@on_option
@click.option("--scores", metavar="FILE", multiple=True, help="Scores per query instead of runs; repeatable.")
@measures_option("A measure, e.g. nDCG@10, AP(rel=2)@100, ndcg_cut_10; repeatable.", MEASURES)
@click.option("--baseline", metavar="RUN", multiple=True, help="Compare with this run, by file or name; repeatable.")
@click.option("--test", type=click.Choice(list(TESTS)), help="[default: t; tukey for three or more without --baseline]")
@click.option("--correction", type=click.Choice(list(CORRECTIONS)), help="Multiple-testing correction. [default: holm]")
@choice_option(
    "--family", ("column", "table"), "column", "Correct within one measure on one collection, or over the whole table."
)
@click.option(
    "--tolerance", type=float, default=0.0, help="Differences up to this count as ties in W/T/L and the sign test."
)
@click.option("--full", is_flag=True, help="Show all intervals, comparisons and sentences, however many.")
@resampling_options
@display_options
@input_options
def command(
    files: tuple[str, ...],
    collections: tuple[str, ...],
    scores: tuple[str, ...],
    measures: tuple[str, ...],
    baseline: tuple[str, ...],
    format_: str,
    percent: bool,
    places: int | None,
    full: bool,
    quiet: bool,
    test: str | None,
    correction: str | None,
    family: Any,
    tolerance: float,
    alpha: float,
    resamples: int,
    **options: Any,
) -> None:
    """Test which system is better, by how much, and how certain that is.

    Without --baseline, two runs are compared by the paired t-test, alongside the permutation test, and three or more
    by the randomised Tukey HSD test of all pairs. With --baseline, every other run is compared with it by the paired
    t-test with Holm's correction.

    \b
    Example:
      cranfield compare qrels.txt bm25.run lm.run
      cranfield compare qrels.txt *.run -m nDCG@10 -m AP --baseline bm25.run --format latex
      cranfield compare --on dev=dev.qrels:dev/bm25.run,dev/lm.run --on test=test.qrels:test/bm25.run,test/lm.run
      cranfield compare --scores bm25.eval --scores lm.eval -m map
    """
    tables, baselines = read_tables(files, collections, scores, split_measures(measures), baseline, quiet, options)
    comparison = compare(
        tables,
        baselines or None,
        test=test,
        correction=correction,
        alpha=alpha,
        resamples=resamples,
        seed=options["seed"],
        tolerance=tolerance,
        family=family,
    )
    view = report.View(percent, places, full)
    echo(report.as_text(comparison, format_, view, terminal_width(), has_styles()))
    if format_ == "csv" and not quiet:
        click.echo("\n".join(report.remarks(comparison, view)), err=True)


def read_tables(
    files: Sequence[str],
    collections: Sequence[str],
    scores: Sequence[str],
    measures: Sequence[str],
    baseline: Sequence[str],
    quiet: bool,
    options: Mapping[str, Any],
) -> tuple[Any, tuple[str, ...]]:
    """The scores to compare, from runs and judgments or from files of scores, and the names of the baselines."""
    if [bool(files), bool(collections), bool(scores)].count(True) > 1:
        raise InputError("give QRELS and RUNs, --on, or --scores: only one of them.")
    require_one_stdin(*files, *scores)
    if scores:
        return _read_score_table(scores, measures, quiet), tuple(baseline)
    if not collections:
        return _evaluate_files(files, measures, baseline, options)
    parsed = [parse_collection(text) for text in collections]
    names = [one.name for one in parsed]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"--on: {join_names(repeated)} is used twice.")
    tables = {one.name: _evaluate_collection(one, measures, options) for one in parsed}
    return tables, tuple(_find_baseline(run, list(tables.values())) for run in baseline)


def _evaluate_files(
    files: Sequence[str], measures: Sequence[str], baseline: Sequence[str], options: Mapping[str, Any]
) -> tuple[Scores, tuple[str, ...]]:
    if len(files) < 2:
        raise InputError("expected QRELS and at least one RUN; see 'cranfield compare --help'.")
    qrels, *runs = files
    names = {display_name(run) for run in runs}
    # a baseline that is none of the runs is compared too
    others = [run for run in baseline if os.path.isfile(run) and not any(is_same_file(run, own) for own in runs)]
    added = [run for run in dict.fromkeys(others) if run not in names]
    collection = Collection("", qrels, tuple((None, run) for run in (*added, *runs)))
    scores = _evaluate_collection(collection, measures, options)
    return scores, tuple(_find_baseline(run, [scores]) for run in baseline)


def _evaluate_collection(collection: Collection, measures: Sequence[str], options: Mapping[str, Any]) -> Scores:
    """The scores of a collection's runs."""
    settings = dict(options)
    jobs, run_format = settings.pop("jobs") or count_cores(), settings["run_format"]
    evaluator = read_evaluator(collection.qrels, measures or MEASURES, **settings)
    scored = (evaluator.score(path, name, run_format, jobs) for name, path in collection.runs)
    return evaluator.scores(list(show_progress(scored, len(collection.runs), "evaluating")))


def parse_collection(text: str) -> Collection:
    """What --on names.

    >>> parse_collection("dev=dev.qrels:bm25.run,lm=runs/dev-lm.run")
    Collection(name='dev', qrels='dev.qrels', runs=((None, 'bm25.run'), ('lm', 'runs/dev-lm.run')))
    """
    name, sign, rest = text.partition("=")
    qrels, colon, runs = _split_first_file(rest)
    parts = [part for part in runs.split(",") if part.strip()]
    if not (name.strip() and sign and qrels and colon and parts):
        raise InputError(f"--on: expected NAME=QRELS:RUN[,RUN…], found {text!r}.")
    named = [_parse_run(part) for part in parts]
    return Collection(name.strip(), qrels, tuple((own, file) for own, path in named for file in expand_path(path)))


def _split_first_file(text: str) -> tuple[str, str, str]:
    """Split at the colon after a file's name, which may itself contain colons."""
    places = [i for i, char in enumerate(text) if char == ":"]
    at = next((i for i in places if os.path.isfile(text[:i])), places[0] if places else len(text))
    return text[:at], text[at : at + 1], text[at + 1 :]


def _parse_run(text: str) -> tuple[str | None, str]:
    name, sign, path = text.partition("=")
    return (name.strip(), path) if sign and not os.path.isfile(text) else (None, text)


def _read_score_table(files: Sequence[str], measures: Sequence[str], quiet: bool) -> ScoreTable:
    """Scores computed before, by the requested measures, or the default ones if the files have them."""
    table = gather_scores([read_scores(file) for file in files])
    wanted = list(measures) or [measure for measure in MEASURES if table.has(measure)]
    if not wanted:
        return table
    chosen = table.only(wanted)
    others = len(table.measures) - len(chosen.measures)
    if others and not measures and not quiet:
        click.echo(f"{pluralize(others, 'other measure')} in the files; choose with -m.", err=True)
    return chosen


def _find_baseline(run: str, tables: Sequence[Scores]) -> str:
    """The name of the system that a baseline means, given by its file or its own name."""
    for scores in tables:
        for own in scores.runs:
            if run == own.name or (own.origin is not None and is_same_file(run, own.origin.file)):
                return own.name
    if os.path.exists(run):
        raise CranfieldError(f"the baseline {run!r} is not one of the runs: list it with them.")
    return run
