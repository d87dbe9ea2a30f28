"""cranfield recall-estimate: how many relevant documents were missed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.base import OnDuplicate
from cranfield.cli.inputs import read_judgments, require_one_stdin
from cranfield.cli.options import format_option, input_format_options
from cranfield.cli.output import echo, has_styles, terminal_width
from cranfield.cli.pool_report import pool_options, read_groups
from cranfield.io import read_run
from cranfield.pooling import PooledRuns, estimate_recall
from cranfield.reporting import recall as report

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command(name="recall-estimate")
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="[RUN...]", nargs=-1)
@click.option("--plan", "only_plan", is_flag=True, help="Only print how large a random sample must be.")
@click.option("--sample", metavar="QRELS", help="Judgments of a random sample of the unjudged documents.")
@click.option("--docs", type=click.IntRange(1), help="Size of the collection. [default: the documents in the runs]")
@click.option("--external", metavar="QRELS", help="Documents known to be relevant from another source.")
@pool_options
@click.option("--to", type=click.IntRange(2), help="Depth to extrapolate the pool to. [default: twice its depth]")
@click.option(
    "--interval",
    "kind",
    type=click.Choice(["clopper-pearson", "wilson"]),
    default="clopper-pearson",
    show_default=True,
    help="Confidence interval of proportions: exact, or shorter.",
)
@click.option("--level", type=_SHARE, default=0.95, show_default=True, help="Confidence level of intervals.")
@click.option("--margin", type=_SHARE, default=0.05, show_default=True, help="Margin of error that a sample may have.")
@click.option("--expected", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="The share to expect.")
@click.option(
    "--target",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.8,
    show_default=True,
    help="Recall that a sample without relevant documents should show.",
)
@click.option("--per-topic", is_flag=True, help="Also print every topic.")
@format_option()
@input_format_options
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
    """Estimate how many relevant documents the judgments lack, and with them the true recall.

    Uses a random sample of unjudged documents (and computes the sample size first), the overlap of two groups of runs
    (capture–recapture), the decline of new relevant documents with depth, and documents known from elsewhere. The
    assumptions of each method are stated.

    \b
    Example:
      cranfield recall-estimate qrels.txt --plan --docs 8841823
      cranfield recall-estimate qrels.txt bm25.run dense.run --external citations.qrels
      cranfield recall-estimate qrels.txt *.run --group-by '^(bm25|dense)' --sample sample.qrels --docs 100000
    """
    require_one_stdin(qrels, *runs, sample, external, groups)
    judgments, sampled, known = (
        None if file is None else read_judgments(file, qrels_format, grade_words, on_duplicate)
        for file in (qrels, sample, external)
    )
    pooled = None
    if runs:
        read = [read_run(run, run_format, on_duplicate=on_duplicate) for run in runs]
        pooled = PooledRuns.of(judgments, read, depth=depth, groups=read_groups(groups, group_by), rel=rel)
    estimate = estimate_recall(judgments, pooled, sample=sampled, external=known, rel=rel, **options)
    if format_ == "json":
        echo(report.as_json(estimate))
    else:
        echo(report.as_text(estimate, terminal_width(), has_styles(), only_plan, per_topic))
