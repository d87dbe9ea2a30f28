"""cranfield eval: runs against judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cranfield.base import DEFAULT_MEASURES, TOOL_NAMES, count_cores, join_names, pluralize
from cranfield.cli.options import (
    echo,
    extras_options,
    format_options,
    grade_words_option,
    join_options,
    judgments_of,
    mean_options,
    measures_option,
    on_terminal,
    progress,
    split_measures,
    width,
)
from cranfield.errors import InputError
from cranfield.joining import ReadAhead

if TYPE_CHECKING:
    from cranfield.evaluation import Evaluator, Scores

FORMATS = ("table", "tsv", "csv", "json", "jsonl", "markdown", "latex")


@click.command(name="eval")
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@measures_option
@click.option("-q", "--per-query", is_flag=True, help="Also print every query.")
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True, help="What to print."
)
@click.option("--places", type=click.IntRange(0, 17), help="Decimals. [default: 4 in tables, all elsewhere]")
@click.option("--rel", type=float, help="Lowest relevant grade, for binary measures that name none. [default: 1]")
@click.option("--docs", type=click.IntRange(1), help="Size of the collection, for Fallout and SetAccuracy.")
@click.option("--by", metavar="FILE", help="Also per group of queries; lines of query<TAB>group.")
@mean_options
@click.option("--bounds", is_flag=True, help="Also how low and how high unjudged documents could make each value.")
@click.option("--risk", type=float, metavar="ALPHA", help="Also the risk against --against; losses weigh 1+ALPHA.")
@extras_options
@join_options
@click.option(
    "--as", "tool", type=click.Choice(TOOL_NAMES), help="Evaluate as this tool would; what is given explicitly stands."
)
@format_options
@grade_words_option
@click.option("--jobs", type=click.IntRange(1), help="How many threads to use. [default: one a core]")
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="For --ties expected where it must sample."
)
@click.option(
    "--engine",
    type=click.Choice(("local", "spark")),
    default="local",
    show_default=True,
    help="Where to compute; spark: paths are what Spark can read.",
)
@click.option("--master", metavar="URL", help="Spark's master, e.g. spark://host:7077. [default: this machine]")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    format_: str,
    places: int | None,
    by: str | None,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
    jobs: int | None,
    quiet: bool,
    against: str | None,
    tool: str | None,
    engine: str,
    master: str | None,
    **conventions: Any,
) -> None:
    """Evaluate runs against judgments.

    Files may be of any format and compressed; `-` is standard input. Several runs make one table.
    QRELS may be a collection by name and folder, such as cacm:DIR (`cranfield collections`).

    \b
    Example:
      cranfield eval qrels.txt bm25.run lm.run -m nDCG@10 -m AP
      cranfield eval qrels.txt bm25.run -q --format tsv > scores.tsv
      cranfield eval qrels.txt lm.run --bounds --against bm25.run --risk 1
      cranfield eval --engine spark --master spark://host:7077 hdfs:///qrels.parquet hdfs:///run.parquet
    """
    if engine == "spark":
        if by or tool:
            raise InputError(f"{'--by' if by else '--as'} is not for --engine spark.")
        conventions |= dict(run_format=run_format, qrels_format=qrels_format, grade_words=grade_words, jobs=jobs)
        conventions |= dict(on_duplicate=on_duplicate, against=against)
        _on_spark(master, qrels, runs, measures, per_query, format_, places, quiet, **conventions)
        return
    if master is not None:
        raise InputError("--master is for --engine spark.")
    if [qrels, *runs, against].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    jobs = jobs or count_cores()
    joined = () if tool else runs
    read_ahead = ReadAhead.start(qrels, joined, conventions, jobs)

    from cranfield.io import read_run

    if tool is not None and _is_untold("on_duplicate"):
        from cranfield.evaluation import TOOLS

        on_duplicate = TOOLS[tool].on_duplicate
    evaluator = _evaluator(
        tool,
        judgments_of(qrels, qrels_format, grade_words, on_duplicate, read_ahead),
        split_measures(measures),
        on_duplicate=on_duplicate,
        against=read_run(against, run_format, on_duplicate=on_duplicate) if against else None,
        **conventions,
    )
    groups = _groups(by, evaluator.qrels.queries, quiet) if by else None
    scored = list(progress(evaluator.score_files(runs, run_format, jobs, read_ahead), len(runs), "evaluating"))
    _print(evaluator.scores(scored), format_, per_query, groups, places, quiet)


def _on_spark(
    master: str | None,
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    format_: str,
    places: int | None,
    quiet: bool,
    **options: Any,
) -> None:
    from cranfield.spark import evaluated

    wanted = split_measures(measures) or list(DEFAULT_MEASURES)
    tell = partial(click.echo, err=True)
    with evaluated(master, qrels, runs, wanted, progress, tell, per_query, **options) as scores:
        _print(scores, format_, per_query, None, places, quiet)


def _groups(file: str, queries: Sequence[str], quiet: bool) -> dict[str, list[str]]:
    from cranfield.evaluation import group_queries
    from cranfield.io import read_groups

    given = read_groups(file)
    unknown = [query for query in given if query not in set(queries)]
    if unknown and not quiet:
        what = pluralize(len(unknown), "query")
        click.echo(f"{file}: {what} without judgments, in no group: {join_names(unknown)}.", err=True)
    return group_queries(given, queries)


def _evaluator(tool: str | None, qrels: Any, measures: list[str], **options: Any) -> Evaluator:
    """Ours, or one that does as another tool does except where an option was given."""
    if tool is None:
        from cranfield.evaluation import Evaluator

        return Evaluator(qrels, measures or DEFAULT_MEASURES, **options)
    from cranfield.evaluation import ToolEvaluator
    from cranfield.joining import JOIN_OPTIONS

    untold = {name for name in (*JOIN_OPTIONS, "on_duplicate") if _is_untold(name)}
    given = {name: value for name, value in options.items() if name not in untold}
    return ToolEvaluator(tool, qrels, measures or None, **given)


def _is_untold(option: str) -> bool:
    return click.get_current_context().get_parameter_source(option) is ParameterSource.DEFAULT


def _print(
    scores: Scores,
    format_: str,
    per_query: bool,
    groups: Mapping[str, Sequence[str]] | None,
    places: int | None,
    quiet: bool,
) -> None:
    from cranfield.reporting import evaluation

    if format_ == "table":
        echo(evaluation.as_table(scores, per_query, groups, places, width(), on_terminal()))
        return
    by_row = {"csv": evaluation.as_csv, "jsonl": evaluation.as_jsonl}
    whole = {"json": evaluation.as_json, "markdown": evaluation.as_markdown, "latex": evaluation.as_latex}
    if format_ == "tsv" or format_ in by_row:
        if format_ == "tsv":
            echo(*evaluation.as_tsv(evaluation.blocks(scores, per_query, groups), places))
        else:
            echo(by_row[format_](evaluation.rows(scores, per_query, groups), places))
        if not quiet:
            click.echo("\n".join(evaluation.remarks(scores)), err=True)
    else:
        echo(whole[format_](scores, per_query, groups, places))
