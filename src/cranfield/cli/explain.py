"""cranfield explain: a score step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from cranfield.cli.options import (
    echo,
    extras_options,
    format_options,
    grade_words_option,
    join_options,
    judgments_of,
    mean_options,
    on_terminal,
    split_measures,
    width,
)
from cranfield.errors import InputError
from cranfield.evaluation import TOOLS, explain
from cranfield.io import read_run
from cranfield.joining import JOIN_OPTIONS
from cranfield.measures import parse_measures
from cranfield.reporting import explanation

FORMATS = ("text", "json", "markdown", "html")


@click.command(name="explain")
@click.argument("measure", metavar="MEASURE")
@click.argument("qrels", metavar="QRELS")
@click.argument("run", metavar="RUN")
@click.option("--query", metavar="QUERY", help="The query whose score is explained; without it, the mean of all.")
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print."
)
@click.option(
    "--top", type=click.IntRange(1), help="Only the first ranks (or queries); sum and value stay those of all."
)
@click.option("--rel", type=float, help="Lowest relevant grade, for binary measures that name none. [default: 1]")
@click.option("--docs", type=click.IntRange(1), help="Size of the collection, for Fallout and SetAccuracy.")
@mean_options
@extras_options
@join_options
@click.option(
    "--as", "tool", type=click.Choice(list(TOOLS)), help="Explain as this tool would; what is given explicitly stands."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="For --ties expected where it must sample."
)
@format_options
@grade_words_option
def command(
    measure: str,
    qrels: str,
    run: str,
    query: str | None,
    format_: str,
    top: int | None,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
    against: str | None,
    tool: str | None,
    **conventions: Any,
) -> None:
    """Show how a score comes about: rank by rank, the sum, the normaliser, the value.

    MEASURE is a name as for `cranfield eval`. Without --query the mean over all queries is shown. In JSON the rows
    hold each term, so that the value can be recomputed from them.

    \b
    Example:
      cranfield explain nDCG@10 qrels.txt bm25.run --query 1
      cranfield explain AP qrels.txt bm25.run --query 1 --format json
      cranfield explain AP qrels.txt bm25.run --as spark
    """
    if [qrels, run, against].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    judgments = judgments_of(qrels, qrels_format, grade_words, on_duplicate)
    ranking = read_run(run, run_format, on_duplicate=on_duplicate)
    named = parse_measures(split_measures([measure]))
    conventions["against"] = read_run(against, run_format, on_duplicate=on_duplicate) if against else None
    if tool is not None:
        # what was not given is as the tool has it
        source = click.get_current_context().get_parameter_source
        untold = {name for name in JOIN_OPTIONS if source(name) is ParameterSource.DEFAULT}
        conventions = {name: value for name, value in conventions.items() if name not in untold}
    # a tool overrules what a name does not say
    asked = [one if tool is None else label for label, one in named]
    explained = [explain(one, judgments, ranking, query, tool=tool, **conventions) for one in asked]
    if top is not None:
        explained = [one.top(top) for one in explained]
    if format_ == "text":
        echo(explanation.as_text(explained, width(), on_terminal()))
    else:
        whole = {"json": explanation.as_json, "markdown": explanation.as_markdown, "html": explanation.as_html}
        echo(whole[format_](explained))
