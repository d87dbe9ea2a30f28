"""cranfield recall-estimate: how many relevant documents nobody found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.base import OnDuplicate
from cranfield.cli.options import echo, format_options, grade_words_option, judgments_of, on_terminal, width
from cranfield.cli.pool_report import given_groups, pool_options
from cranfield.errors import InputError

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command(name="recall-estimate")
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="[RUN...]", nargs=-1)
@click.option("--plan", "only_plan", is_flag=True, help="Only how large a random sample must be, before any judgment.")
@click.option("--sample", metavar="QRELS", help="Judgments of documents drawn at random from the unjudged.")
@click.option("--docs", type=click.IntRange(1), help="Size of the collection. [default: what the runs retrieved]")
@click.option("--external", metavar="QRELS", help="Documents known to be relevant from elsewhere.")
@pool_options
@click.option("--to", type=click.IntRange(2), help="Depth to extrapolate the pool to. [default: twice its depth]")
@click.option(
    "--interval",
    "kind",
    type=click.Choice(["clopper-pearson", "wilson"]),
    default="clopper-pearson",
    show_default=True,
    help="Of shares: exact, or shorter.",
)
@click.option("--level", type=_SHARE, default=0.95, show_default=True, help="Of intervals.")
@click.option("--margin", type=_SHARE, default=0.05, show_default=True, help="Of the share that a sample is to tell.")
@click.option("--expected", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Share one reckons with.")
@click.option(
    "--target",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.8,
    show_default=True,
    help="Recall that a sample without a relevant document is to show.",
)
@click.option("--per-topic", is_flag=True, help="Topic by topic too.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print."
)
@format_options
@grade_words_option
def command(
    qrels: str,
    runs: tuple[str, ...],
    only_plan: bool,
    sample: str | None,
    external: str | None,
    depth: int | None,
    groups: str | None,
    group_by: str | None,
    rel: float,
    on_duplicate: OnDuplicate,
    per_topic: bool,
    format_: str,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    **options: Any,
) -> None:
    """Estimate how many relevant documents the judgments lack, and so what recall means.

    By a random sample of the unjudged (and first, how large it must be), by what two finders have in common, by the
    fall of new relevant documents with depth, and by documents known from elsewhere; each with what it takes for
    granted.

    \b
    Example:
      cranfield recall-estimate qrels.txt --plan --docs 8841823
      cranfield recall-estimate qrels.txt bm25.run dense.run --external citations.qrels
      cranfield recall-estimate qrels.txt *.run --group-by '^(bm25|dense)' --sample sample.qrels --docs 100000
    """
    from cranfield.io import read_run
    from cranfield.pooling import PooledRuns, estimate_recall
    from cranfield.reporting import recall

    if [qrels, *runs, sample, external, groups].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    judgments, *others = (
        None if file is None else judgments_of(file, qrels_format, grade_words, on_duplicate)
        for file in (qrels, sample, external)
    )
    pooled = None
    if runs:
        read = [read_run(run, run_format, on_duplicate=on_duplicate) for run in runs]
        pooled = PooledRuns.of(judgments, read, depth=depth, groups=given_groups(groups, group_by), rel=rel)
    found = estimate_recall(judgments, pooled, sample=others[0], external=others[1], rel=rel, **options)
    if format_ == "json":
        echo(recall.as_json(found))
    else:
        echo(recall.as_text(found, width(), on_terminal(), only_plan, per_topic))
