"""cranfield plot: plots of an evaluation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from inspect import signature
from typing import Any

import click

from cranfield.base import DEFAULT_MEASURES
from cranfield.cli.inputs import read_evaluator, require_one_stdin
from cranfield.cli.options import evaluation_options, mean_options, seed_option, split_measures
from cranfield.cli.output import echo, show_progress
from cranfield.evaluation import Scores
from cranfield.reporting import (
    PLOT_FORMATS,
    PLOT_KINDS,
    Costs,
    describe_evaluation,
    detect_plot_format,
    find_plot,
    read_costs,
    require_plot_format,
)

MEASURES = ("nDCG@10",)
# these compute what they draw from the joined runs; the others draw the values of the measures
FROM_RANKINGS = ("precision-recall", "plane", "cutoffs", "gain")
KIND_LINES = "\n".join(f"  {kind:<{max(map(len, PLOT_KINDS))}}  {about}" for kind, about in PLOT_KINDS.items())
HELP = f"""Plot an evaluation as SVG, PNG, PDF, HTML or Vega-Lite JSON.

\b
KIND is one of:
{KIND_LINES}

The suffix of FILE selects the format; HTML shows values on hover and needs no network. A sentence that describes the
plot is printed as well.

\b
Example:
  cranfield plot precision-recall qrels.txt bm25.run lm.run -o curves.svg
  cranfield plot differences qrels.txt bm25.run lm.run -m AP -o bars.png
  cranfield plot gain qrels.txt bm25.run lm.run --query 1 -o gain.html
  cranfield plot pareto qrels.txt *.run --costs bench.json -o front.svg
  cranfield plot weights -m P@10 -m "RBP(p=0.8)" -o weights.pdf
"""


@click.command(name="plot", help=HELP)
@click.argument("kind", metavar="KIND")
@click.argument("files", metavar="[QRELS RUN...]", nargs=-1)
@click.option("-o", "--output", metavar="FILE", help="Where to write the plot; - is standard output.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(PLOT_FORMATS),
    help="Output format. [default: by the suffix of FILE; svg for -]",
)
@click.option("-m", "measures", metavar="MEASURE", multiple=True, help="A measure; repeatable where the kind allows.")
@click.option("--query", metavar="QUERY", help="One query: for gain, and for precision-recall as steps.")
@click.option("--baseline", metavar="RUN", help="The run to compare with, by file or name. [default: the first]")
@click.option("--points", type=click.IntRange(2, 10_001), help="Recall points of precision-recall. [default: 11]")
@click.option(
    "--depth",
    type=click.IntRange(1, 100_000),
    help="Number of ranks. [default: 10 for plane, 20 for gain and weights, 100 for cutoffs]",
)
@click.option("--costs", metavar="FILE", help="For pareto: the output of cranfield bench --format json.")
@click.option("--percentile", type=int, help="For pareto, the percentile of latency: 50, 90, 95 or 99. [default: 50]")
@click.option("--level", type=float, help="Confidence level of the intervals of means. [default: 0.95]")
@click.option("--alpha", type=float, help="Significance level of critical-difference. [default: 0.05]")
@click.option("--dpi", type=click.IntRange(10, 1200), default=300, show_default=True, help="Resolution of PNG.")
@mean_options
@evaluation_options
@seed_option("Seed for --ties expected, where it samples.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def command(
    kind: str,
    files: tuple[str, ...],
    output: str | None,
    format_: str | None,
    measures: tuple[str, ...],
    dpi: int,
    quiet: bool,
    query: str | None,
    baseline: str | None,
    points: int | None,
    depth: int | None,
    costs: str | None,
    percentile: int | None,
    level: float | None,
    alpha: float | None,
    **evaluation: Any,
) -> None:
    draw = find_plot(kind)
    options: dict[str, Any] = {"query": query, "baseline": baseline, "points": points, "depth": depth, "level": level}
    options |= {"alpha": alpha, "costs": costs, "percentile": percentile}
    options = {name: value for name, value in options.items() if value is not None}
    names = split_measures(measures)
    _require_options(kind, [*options, *(["measures"] if names else [])])
    target, form = _choose_target(kind, output, format_)
    if "costs" in signature(draw).parameters:
        options["costs"] = _read_costs(kind, costs)
    if kind == "weights":
        if files and not quiet:
            click.echo("weights are the same for all judgments and runs: the files are not read.", err=True)
        plot = draw(names or None, **options)
    else:
        scores, base = _evaluate(kind, files, names, baseline, quiet, evaluation)
        options |= {} if base is None else {"baseline": base}
        plot = draw(scores, **options, **_measure_arguments(kind, names, scores))
        if not quiet:
            click.echo("\n".join(describe_evaluation(scores)), err=True)
    plot.save(target, form, dpi)
    if not quiet:
        # a plot on standard output must stand alone
        click.echo(plot.alt, err=True) if target == "-" else echo(f"{target}: {plot.alt}\n")


def _require_options(kind: str, names: Sequence[str]) -> None:
    """Refuse options that would have no effect."""
    known = set(signature(find_plot(kind)).parameters)
    known |= {"measures"} if "measure" in known else set()
    for name in names:
        if name not in known:
            option = "-m" if name == "measures" else f"--{name}"
            others = ", ".join(other for other in PLOT_KINDS if name in signature(find_plot(other)).parameters)
            raise click.UsageError(f"{kind} takes no {option}{f'; it is for {others}' if others else ''}.")


def _choose_target(kind: str, output: str | None, format_: str | None) -> tuple[str, str]:
    """Where to write and in what format; an error if that is impossible comes before any work."""
    if output is None:
        raise click.UsageError(f"name a file for the plot: -o {kind}.svg, or .png, .pdf, .html, .json.")
    form = format_ or ("svg" if output == "-" else detect_plot_format(output))
    require_plot_format(form)
    return output, form


def _read_costs(kind: str, file: str | None) -> Costs:
    if file is None:
        raise click.UsageError(f"{kind} needs --costs FILE, as written by cranfield bench --format json.")
    return read_costs(file)


def _evaluate(
    kind: str, files: Sequence[str], names: Sequence[str], baseline: str | None, quiet: bool, options: Any
) -> tuple[Scores, str | None]:
    """The scores to plot, with all hits of all runs, and the name of the baseline if there is one."""
    if len(files) < 2:
        raise click.UsageError(f"{kind} needs judgments and a run: cranfield plot {kind} QRELS RUN... -o FILE.")
    qrels, *runs = files
    if baseline is not None and baseline not in runs and os.path.isfile(baseline):
        runs = [baseline, *runs]
    require_one_stdin(qrels, *runs, options["against"])
    default = DEFAULT_MEASURES[:-1] if kind == "correlation" else MEASURES
    evaluator = read_evaluator(qrels, MEASURES if kind in FROM_RANKINGS else names or default, **options)
    scored = (evaluator.score(run, format=options["run_format"]) for run in runs)
    scores = evaluator.scores(list(scored if quiet else show_progress(scored, len(runs), "evaluating")))
    return scores, scores.runs[runs.index(baseline)].name if baseline in runs else baseline


def _measure_arguments(kind: str, names: Sequence[str], scores: Scores) -> dict[str, Any]:
    """The measures to plot, as the argument that the function of this kind takes."""
    parameters = signature(find_plot(kind)).parameters
    labels: Sequence[str] = names if kind in FROM_RANKINGS else scores.labels
    if not labels or not {"measure", "measures"} & set(parameters):
        return {}
    if "measures" in parameters:
        return {"measures": list(labels)}
    if len(labels) > 1:
        raise click.UsageError(f"{kind} takes one measure, found {len(labels)}: {', '.join(labels)}.")
    return {"measure": labels[0]}
