"""Command-line options that mean the same in every command."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from cranfield.base import (
    DEFAULT_MEASURES,
    GRADE_WORDS,
    QRELS_FORMATS,
    RUN_FORMATS,
    How,
    OnDuplicate,
)
from cranfield.errors import InputError, MeasureError
from cranfield.joining import JOIN_OPTIONS

F = TypeVar("F", bound=Callable[..., Any])

# what commands print: the first format is the default
TEXT_FORMATS = ("text", "json")
SCORE_FORMATS = ("table", "tsv", "csv", "json", "jsonl", "markdown", "latex")


def option_group(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator, in the order in which --help lists them."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def choice_option(name: str, values: Sequence[str], default: str, help: str) -> Callable[[F], F]:
    """An option with a fixed set of values."""
    return click.option(name, type=click.Choice(list(values)), default=default, show_default=True, help=help)


def format_option(formats: Sequence[str] = TEXT_FORMATS) -> Callable[[F], F]:
    """The output format; the first one is the default."""
    kind = click.Choice(list(formats))
    return click.option("--format", "format_", type=kind, default=formats[0], show_default=True, help="Output format.")


def measures_option(help: str, default: Sequence[str] = DEFAULT_MEASURES) -> Callable[[F], F]:
    """The measures; an empty tuple stands for the default."""
    help_text = f"{help} [default: {', '.join(default)}]"
    return click.option("-m", "measures", metavar="MEASURE", multiple=True, help=help_text)


def seed_option(help: str) -> Callable[[F], F]:
    return click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help=help)


def fields_option(help: str = "Fields of a topic to search with.") -> Callable[[F], F]:
    return click.option("--fields", default="title", show_default=True, help=help)


def depth_option(default: int, help: str) -> Callable[[F], F]:
    return click.option("--depth", type=click.IntRange(1), default=default, show_default=True, help=help)


def alpha_option(help: str = "Significance level of the tests.") -> Callable[[F], F]:
    share = click.FloatRange(0, 1, min_open=True, max_open=True)
    return click.option("--alpha", type=share, default=0.05, show_default=True, help=help)


def timeout_option(default: float) -> Callable[[F], F]:
    kind = click.FloatRange(0, min_open=True)
    return click.option("--timeout", type=kind, default=default, show_default=True, help="Seconds to wait for a reply.")


def retries_option(default: int) -> Callable[[F], F]:
    text = "How often a failed request is repeated."
    return click.option("--retries", type=click.IntRange(0), default=default, show_default=True, help=text)


def on_duplicate_option(help: str = "What to do with a document listed twice for a query.") -> Callable[[F], F]:
    return choice_option("--on-duplicate", get_args(OnDuplicate), "error", help)


quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors on standard error.")
rel_option = click.option("--rel", type=float, default=1, show_default=True, help="Lowest relevant grade.")
jobs_option = click.option("--jobs", type=click.IntRange(1), help="Number of threads. [default: one per core]")
topics_format_option = click.option("--topics-format", help="Format of the topics, if it is not detected.")
header_option = click.option(
    "--header", "headers", multiple=True, help="A header sent to the server, 'Name: value'; $NAME is substituted."
)

run_format_option = click.option(
    "--run-format", type=click.Choice(list(RUN_FORMATS)), help="Format of the runs, if it is not detected."
)
qrels_format_option = click.option(
    "--qrels-format", type=click.Choice(list(QRELS_FORMATS)), help="Format of the qrels, if it is not detected."
)


def _parse_grade_words_option(_: click.Context, __: click.Parameter, value: str | None) -> Any:
    return GRADE_WORDS if value is None else parse_grade_words(value)


grade_words_option = click.option(
    "--grade-words",
    metavar="WORD=GRADE,…",
    callback=_parse_grade_words_option,
    help=(
        "What grades given as words mean. "
        f"[default: {', '.join(f'{word} {grade:g}' for word, grade in GRADE_WORDS.items())}]"
    ),
)

# how files are read, apart from their formats being detected
input_format_options = option_group(run_format_option, qrels_format_option, grade_words_option)

# how the run is ranked and joined with the judgments
join_options = option_group(
    choice_option("--ties", JOIN_OPTIONS["ties"], "trec", "Order of equal scores; trec: descending doc id."),
    choice_option("--rank-by", JOIN_OPTIONS["rank_by"], "score", "What documents are ranked by."),
    choice_option("--score-type", JOIN_OPTIONS["score_type"], "float64", "Type of scores; trec_eval 9 uses float32."),
    choice_option("--missing", JOIN_OPTIONS["missing"], "zero", "How judged queries missing from the run count."),
    on_duplicate_option(),
)

# what some measures need beyond judgments and a run
side_file_options = option_group(
    click.option("--against", metavar="RUN", help="Another run, for rank similarity measures and --risk."),
    click.option("--doc-lengths", metavar="FILE", help="Document lengths; lines of doc<TAB>length."),
    click.option("--duplicates", metavar="FILE", help="Near-duplicate documents; lines of doc<TAB>group."),
    click.option("--facts", metavar="FILE", help="Facts or entities in documents; lines of query<TAB>doc<TAB>fact."),
)

# how the values of queries become one
mean_options = option_group(
    choice_option("--mean", get_args(How), "arithmetic", "How to average over queries."),
    click.option("--weights", metavar="FILE", help="Query weights; lines of query<TAB>weight."),
)

measure_default_options = option_group(
    click.option("--rel", type=float, help="Lowest relevant grade for binary measures that set none. [default: 1]"),
    click.option("--docs", type=click.IntRange(1), help="Size of the collection, for Fallout and SetAccuracy."),
)

# all that decides the values of an evaluation; `read_evaluator` takes them
evaluation_options = option_group(measure_default_options, side_file_options, join_options, input_format_options)


def parse_grade_words(text: str) -> dict[str, float]:
    """Grades by word.

    >>> parse_grade_words("relevant=2, partially=0.5")
    {'relevant': 2.0, 'partially': 0.5}
    """
    from cranfield.io import parse_decimal  # start-up: eval reads ahead before NumPy loads

    words: dict[str, float] = {}
    for part in text.split(","):
        word, sign, token = (piece.strip() for piece in part.partition("="))
        if not word or not sign:
            raise InputError(f"--grade-words: expected comma-separated WORD=GRADE, found {part.strip()!r}.")
        grade = parse_decimal(token.encode(), f"--grade-words: the grade of {word!r},")
        if words.setdefault(word.lower(), grade) != grade:
            raise InputError(f"--grade-words: {word!r} has two grades, {words[word.lower()]:g} and {grade:g}.")
    return words


def split_measures(values: Sequence[str]) -> list[str]:
    """The measures of all -m options; one option may name several, separated by white space.

    >>> split_measures(["nDCG@10 AP", "P(rel=2, judged_only=True)@5"])
    ['nDCG@10', 'AP', 'P(rel=2, judged_only=True)@5']
    """
    if not all(text.strip() for text in values):
        raise MeasureError("-m needs the name of a measure, e.g. -m nDCG@10.")
    return [name for text in values for name in re.findall(r"(?:\([^)]*\)+|\S)+", text)]


def is_default(option: str) -> bool:
    """Whether an option of the running command was left at its default."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.DEFAULT
