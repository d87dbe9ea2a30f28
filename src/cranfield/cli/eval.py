"""cranfield eval: evaluate runs against judgments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from cranfield.base import DEFAULT_MEASURES, TOOL_NAMES, OnDuplicate, count_cores, join_names, pluralize
from cranfield.cli.inputs import read_evaluator, read_judgments, require_one_stdin
from cranfield.cli.options import (
    SCORE_FORMATS,
    choice_option,
    evaluation_options,
    format_option,
    is_default,
    jobs_option,
    mean_options,
    measures_option,
    quiet_option,
    seed_option,
    split_measures,
)
from cranfield.cli.output import echo, has_styles, show_progress, terminal_width
from cranfield.errors import InputError
from cranfield.joining import ReadAhead

if TYPE_CHECKING:
    from cranfield.evaluation import Evaluator, Scores

    Groups = Mapping[str, Sequence[str]]


@click.command(name="eval")
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@measures_option("A measure, e.g. nDCG@10, AP(rel=2)@100, ndcg_cut_10; repeatable.")
@click.option("-q", "--per-query", is_flag=True, help="Also print every query.")
@format_option(SCORE_FORMATS)
@click.option("--places", type=click.IntRange(0, 17), help="Decimals. [default: 4 in tables, all elsewhere]")
@click.option("--by", metavar="FILE", help="Also print means of groups of queries; lines of query<TAB>group.")
@mean_options
@click.option("--bounds", is_flag=True, help="Also print the lowest and highest values unjudged documents allow.")
@click.option("--risk", type=float, metavar="ALPHA", help="Also print the risk over --against; losses weigh 1+ALPHA.")
@evaluation_options
@click.option(
    "--as", "tool", type=click.Choice(TOOL_NAMES), help="Evaluate as this tool does; explicit options take precedence."
)
@jobs_option
@seed_option("Seed for --ties expected, where it samples.")
@choice_option("--engine", ("local", "spark"), "local", "Where to compute; with spark, Spark reads the paths.")
@click.option("--master", metavar="URL", help="The Spark master, e.g. spark://host:7077. [default: this machine]")
@quiet_option
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    format_: str,
    places: int | None,
    by: str | None,
    tool: str | None,
    engine: str,
    master: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Evaluate runs against judgments.

    Files may have any format and may be compressed; `-` is standard input. Several runs are shown in one table.
    QRELS may be a collection and its folder, such as cacm:DIR (see `cranfield collections`).

    \b
    Example:
      cranfield eval qrels.txt bm25.run lm.run -m nDCG@10 -m AP
      cranfield eval qrels.txt bm25.run -q --format tsv > scores.tsv
      cranfield eval qrels.txt lm.run --bounds --against bm25.run --risk 1
      cranfield eval --engine spark --master spark://host:7077 hdfs:///qrels.parquet hdfs:///run.parquet
    """
    show = partial(_print, format_=format_, per_query=per_query, places=places, quiet=quiet)
    names = split_measures(measures)
    if engine == "spark":
        if by or tool:
            raise InputError(f"{'--by' if by else '--as'} cannot be used with --engine spark.")
        _evaluate_on_spark(show, master, qrels, runs, names or list(DEFAULT_MEASURES), per_query, options)
        return
    if master is not None:
        raise InputError("--master needs --engine spark.")
    require_one_stdin(qrels, *runs, options["against"])
    jobs, run_format = options.pop("jobs") or count_cores(), options["run_format"]
    # threads read the files while NumPy is imported, which the functions below do
    read_ahead = ReadAhead.start(qrels, () if tool else runs, options, jobs)
    if tool is None:
        evaluator = read_evaluator(qrels, names or DEFAULT_MEASURES, read_ahead, **options)
    else:
        evaluator = _read_tool_evaluator(tool, qrels, names or None, read_ahead, **options)
    groups = _read_groups(by, evaluator.qrels.queries, quiet) if by else None
    scored = evaluator.score_files(runs, run_format, jobs, read_ahead)
    show(evaluator.scores(list(show_progress(scored, len(runs), "evaluating"))), groups)


def _evaluate_on_spark(
    show: Callable[..., None],
    master: str | None,
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str],
    per_query: bool,
    options: Mapping[str, Any],
) -> None:
    from cranfield.spark import evaluated  # an extra

    report = partial(click.echo, err=True)
    with evaluated(master, qrels, runs, measures, show_progress, report, per_query, **options) as scores:
        show(scores, None)


def _read_groups(file: str, queries: Sequence[str], quiet: bool) -> dict[str, list[str]]:
    from cranfield.evaluation import group_queries
    from cranfield.io import read_groups

    groups = read_groups(file)
    unknown = [query for query in groups if query not in set(queries)]
    if unknown and not quiet:
        what = pluralize(len(unknown), "query")
        click.echo(f"{file}: ignored {what} without judgments: {join_names(unknown)}.", err=True)
    return group_queries(groups, queries)


def _read_tool_evaluator(
    tool: str,
    qrels: str,
    measures: Sequence[str] | None,
    read_ahead: ReadAhead | None,
    *,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    against: str | None,
    on_duplicate: OnDuplicate,
    **options: Any,
) -> Evaluator:
    """An evaluator that follows another tool's conventions wherever no option was given."""
    from cranfield.evaluation import TOOLS, ToolEvaluator
    from cranfield.io import read_run
    from cranfield.joining import JOIN_OPTIONS

    explicit = {name: value for name, value in options.items() if name not in JOIN_OPTIONS or not is_default(name)}
    if is_default("on_duplicate"):
        on_duplicate = TOOLS[tool].on_duplicate
    else:
        explicit["on_duplicate"] = on_duplicate
    return ToolEvaluator(
        tool,
        read_judgments(qrels, qrels_format, grade_words, on_duplicate, read_ahead),
        measures,
        against=read_run(against, run_format, on_duplicate=on_duplicate) if against else None,
        **explicit,
    )


def _print(
    scores: Scores, groups: Groups | None, *, format_: str, per_query: bool, places: int | None, quiet: bool
) -> None:
    from cranfield.reporting import evaluation

    if format_ == "table":
        echo(evaluation.as_table(scores, per_query, groups, places, terminal_width(), has_styles()))
        return
    by_row = {"csv": evaluation.as_csv, "jsonl": evaluation.as_jsonl}
    whole = {"json": evaluation.as_json, "markdown": evaluation.as_markdown, "latex": evaluation.as_latex}
    if format_ in whole:
        echo(whole[format_](scores, per_query, groups, places))
        return
    if format_ == "tsv":
        echo(*evaluation.as_tsv(evaluation.collect_blocks(scores, per_query, groups), places))
    else:
        echo(by_row[format_](evaluation.collect_rows(scores, per_query, groups), places))
    if not quiet:
        click.echo("\n".join(evaluation.describe_evaluation(scores)), err=True)
