"""cranfield compare: which system is better, by how much, and how sure one can be."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cranfield.base import DEFAULT_MEASURES, Record, count_cores, join_names, pluralize
from cranfield.cli.options import (
    echo,
    extras_options,
    format_options,
    grade_words_option,
    join_options,
    judgments_of,
    measures_option,
    on_terminal,
    progress,
    split_measures,
    width,
)
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation import Evaluator
from cranfield.io import display_name, expand_path, read_run, read_scores
from cranfield.stats import CORRECTIONS, TESTS, ScoreTable, compare, gather_scores

if TYPE_CHECKING:
    from cranfield.evaluation import Scores

F = TypeVar("F", bound=Callable[..., Any])
FORMATS = ("table", "markdown", "latex", "html", "csv", "json")
# the share of judged documents has a column of its own
MEASURES = tuple(measure for measure in DEFAULT_MEASURES if not measure.startswith("Judged"))


class Collection(Record):
    """What --on names: judgments, and the runs to evaluate with them, each with the name of its system if given."""

    name: str
    qrels: str
    runs: tuple[tuple[str | None, str], ...]


def _all(options: Sequence[Callable[[F], F]], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def show_options(function: F) -> F:
    """How results are shown."""
    options = [
        click.option(
            "--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True, help="What to print."
        ),
        click.option("--percent", is_flag=True, help="Show scores × 100."),
        click.option("--places", type=click.IntRange(0, 17), help="Decimals of scores. [default: 4, or 2 of 100]"),
        click.option("--quiet", is_flag=True, help="Nothing on standard error but errors."),
    ]
    return _all(options, function)


def draw_options(function: F) -> F:
    """What is random, and how sure one wants to be."""
    options = [
        click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of tests and intervals."),
        click.option("--resamples", type=click.IntRange(1), default=10_000, show_default=True, help="Random draws."),
        click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of what is drawn."),
    ]
    return _all(options, function)


def reading_options(function: F) -> F:
    """How files are read and joined."""
    options = [
        click.option("--rel", type=float, help="Lowest relevant grade, for measures that name none. [default: 1]"),
        click.option("--docs", type=click.IntRange(1), help="Size of the collection, for Fallout and SetAccuracy."),
        extras_options,
        join_options,
        format_options,
        grade_words_option,
        click.option("--jobs", type=click.IntRange(1), help="How many threads to use. [default: one a core]"),
    ]
    return _all(options, function)


def on_option(function: F) -> F:
    return click.option(
        "--on",
        "collections",
        metavar="NAME=QRELS:RUN[,RUN…]",
        multiple=True,
        help="A collection or split; repeatable. A run may be SYSTEM=FILE, which otherwise has the name of its file.",
    )(function)


@click.command(name="compare")
@click.argument("files", metavar="[QRELS RUN...]", nargs=-1)
@on_option
@click.option("--scores", metavar="FILE", multiple=True, help="Scores of queries instead of runs; repeatable.")
@measures_option
@click.option("--baseline", metavar="RUN", multiple=True, help="Compare with this run, by file or name; repeatable.")
@click.option("--test", type=click.Choice(list(TESTS)), help="[default: t; of three or more without --baseline, tukey]")
@click.option("--correction", type=click.Choice(list(CORRECTIONS)), help="For several comparisons. [default: holm]")
@click.option(
    "--family",
    type=click.Choice(["column", "table"]),
    default="column",
    show_default=True,
    help="Correct over the comparisons of a measure on a collection, or of the whole table.",
)
@click.option(
    "--tolerance", type=float, default=0.0, help="A difference up to this is a tie in W/T/L and the sign test."
)
@click.option("--full", is_flag=True, help="All intervals, comparisons and sentences, however many.")
@draw_options
@show_options
@reading_options
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
    **reading: Any,
) -> None:
    """Say which system is better, by how much, and how sure one can be.

    Without --baseline, two runs are compared by the paired t-test, with the permutation test beside it, and more by
    the randomised Tukey HSD test of all pairs. With --baseline, every other run is compared with it by the paired
    t-test, corrected by Holm.

    \b
    Example:
      cranfield compare qrels.txt bm25.run lm.run
      cranfield compare qrels.txt *.run -m nDCG@10 -m AP --baseline bm25.run --format latex
      cranfield compare --on dev=dev.qrels:dev/bm25.run,dev/lm.run --on test=test.qrels:test/bm25.run,test/lm.run
      cranfield compare --scores bm25.eval --scores lm.eval -m map
    """
    from cranfield.reporting import comparison as report

    given = read(files, collections, scores, split_measures(measures), baseline, quiet, reading)
    found = compare(
        given.tables,
        given.baselines or None,
        test=test,
        correction=correction,
        alpha=alpha,
        resamples=resamples,
        seed=reading["seed"],
        tolerance=tolerance,
        family=family,
    )
    view = report.View(percent, places, full)
    echo(report.as_text(found, format_, view, width(), on_terminal()))
    if format_ == "csv" and not quiet:
        click.echo("\n".join(report.remarks(found, view)), err=True)


class Given(Record):
    """What was read: tables of scores by collection, and the names of the baselines."""

    tables: Any
    baselines: tuple[str, ...]


def read(
    files: Sequence[str],
    collections: Sequence[str],
    scores: Sequence[str],
    measures: Sequence[str],
    baseline: Sequence[str],
    quiet: bool,
    reading: Mapping[str, Any],
) -> Given:
    """The scores to compare, from runs and judgments or from files of scores."""
    if [bool(files), bool(collections), bool(scores)].count(True) > 1:
        raise InputError("give QRELS and RUNs, or --on, or --scores: only one of them.")
    if [*files, *scores].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    if scores:
        table = _table_of(scores, measures, quiet)
        return Given(table, tuple(baseline))
    if not collections:
        return _one_collection(files, measures, baseline, reading)
    asked = [split_collection(text) for text in collections]
    names = [one.name for one in asked]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"--on: {join_names(twice)} is named twice.")
    tables = {one.name: evaluated(one, measures, reading) for one in asked}
    return Given(tables, tuple(_name_of(run, list(tables.values())) for run in baseline))


def _one_collection(
    files: Sequence[str], measures: Sequence[str], baseline: Sequence[str], reading: Mapping[str, Any]
) -> Given:
    if len(files) < 2:
        raise InputError("expected QRELS and at least one RUN; see 'cranfield compare --help'.")
    qrels, *runs = files
    named = {display_name(run) for run in runs}
    # a baseline that is none of the runs is compared too
    others = [run for run in baseline if os.path.isfile(run) and not any(_same(run, own) for own in runs)]
    added = [run for run in dict.fromkeys(others) if run not in named]
    collection = Collection("", qrels, tuple((None, run) for run in (*added, *runs)))
    scores = evaluated(collection, measures, reading)
    return Given(scores, tuple(_name_of(run, [scores]) for run in baseline))


def evaluated(collection: Collection, measures: Sequence[str], reading: Mapping[str, Any]) -> Scores:
    """The scores of a collection's runs; what is below the first ten documents is kept, for curves."""
    options = dict(reading)
    run_format, words, jobs = (
        options.pop("run_format"),
        options.pop("grade_words"),
        options.pop("jobs") or count_cores(),
    )
    on_duplicate, against = options["on_duplicate"], options.pop("against")
    evaluator = Evaluator(
        judgments_of(collection.qrels, options.pop("qrels_format"), words, on_duplicate),
        measures or MEASURES,
        against=read_run(against, run_format, on_duplicate=on_duplicate) if against else None,
        **options,
    )
    scored = (evaluator.score(path, name, run_format, jobs) for name, path in collection.runs)
    return evaluator.scores(list(progress(scored, len(collection.runs), "evaluating")))


def split_collection(text: str) -> Collection:
    """What --on names.

    >>> split_collection("dev=dev.qrels:bm25.run,lm=runs/dev-lm.run")
    Collection(name='dev', qrels='dev.qrels', runs=((None, 'bm25.run'), ('lm', 'runs/dev-lm.run')))
    """
    name, sign, rest = text.partition("=")
    qrels, colon, runs = _first_file(rest)
    parts = [part for part in runs.split(",") if part.strip()]
    if not (name.strip() and sign and qrels and colon and parts):
        raise InputError(f"--on: expected NAME=QRELS:RUN[,RUN…], found {text!r}.")
    named = [_named_run(part) for part in parts]
    return Collection(name.strip(), qrels, tuple((own, file) for own, path in named for file in expand_path(path)))


def _first_file(text: str) -> tuple[str, str, str]:
    """What is before the colon after a file's name, which may have one itself."""
    places = [i for i, char in enumerate(text) if char == ":"]
    there = next((i for i in places if os.path.isfile(text[:i])), places[0] if places else len(text))
    return text[:there], text[there : there + 1], text[there + 1 :]


def _named_run(text: str) -> tuple[str | None, str]:
    name, sign, path = text.partition("=")
    return (name.strip(), path) if sign and not os.path.isfile(text) else (None, text)


def _table_of(files: Sequence[str], measures: Sequence[str], quiet: bool) -> ScoreTable:
    """Scores that were computed before, by the measures asked for, or the usual ones if they have them."""
    table = gather_scores([read_scores(file) for file in files])
    wanted = list(measures) or [measure for measure in MEASURES if table.has(measure)]
    if not wanted:
        return table
    kept = table.only(wanted)
    left = len(table.measures) - len(kept.measures)
    if left and not measures and not quiet:
        click.echo(f"{pluralize(left, 'other measure')} in the files; -m names them.", err=True)
    return kept


def _name_of(run: str, tables: Sequence[Scores]) -> str:
    """The name of the system that a baseline stands for, named by its file or its own name."""
    for scores in tables:
        for own in scores.runs:
            if run == own.name or (own.origin is not None and _same(run, own.origin.file)):
                return own.name
    if os.path.exists(run):
        raise CranfieldError(f"the baseline {run!r} is none of the runs: name it with the others.")
    return run


def _same(one: str, other: str) -> bool:
    return one == other or os.path.abspath(one) == os.path.abspath(other)
