"""cranfield plot: a picture of an evaluation."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import click

from cranfield.cli.options import (
    echo,
    extras_options,
    format_options,
    grade_words_option,
    join_options,
    judgments_of,
    mean_options,
    progress,
    split_measures,
)
from cranfield.errors import InputError
from cranfield.reporting import KINDS, function_of

if TYPE_CHECKING:
    from cranfield.evaluation import Evaluator, Scores
    from cranfield.reporting import Costs

FORMATS = ("svg", "png", "pdf", "html", "json")
USUAL = ("nDCG@10",)
# these compute what they draw from the joined runs; the others draw the values of the measures that are asked for
FROM_RANKINGS = ("precision-recall", "plane", "cutoffs", "gain")
KIND_LINES = "\n".join(f"  {kind:<{max(map(len, KINDS))}}  {about}" for kind, about in KINDS.items())
HELP = f"""Draw a picture of an evaluation, as SVG, PNG, PDF, HTML or Vega-Lite JSON.

\b
KIND is one of:
{KIND_LINES}

The name of FILE says the format; HTML shows values on hover and needs no network. What the picture shows is also
printed, as a sentence.

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
@click.option("-o", "--output", metavar="FILE", help="Where to write the picture; - is standard output.")
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), help="What to write. [default: as FILE ends, svg for -]"
)
@click.option("-m", "measures", metavar="MEASURE", multiple=True, help="A measure; several where the kind takes them.")
@click.option("--query", metavar="QUERY", help="One query: for gain, and precision-recall as steps.")
@click.option("--baseline", metavar="RUN", help="What others are held against; a RUN or its name. [default: the first]")
@click.option("--points", type=click.IntRange(2, 10_001), help="Recall points of precision-recall. [default: 11]")
@click.option(
    "--depth",
    type=click.IntRange(1, 100_000),
    help="How many ranks. [default: 10 for plane, 20 for gain and weights, 100 for cutoffs]",
)
@click.option("--costs", metavar="FILE", help="For pareto: what cranfield bench --format json wrote.")
@click.option("--percentile", type=int, help="For pareto, of latencies: 50, 90, 95 or 99. [default: 50]")
@click.option("--level", type=float, help="Confidence of the intervals of means. [default: 0.95]")
@click.option("--alpha", type=float, help="Significance level of critical-difference. [default: 0.05]")
@click.option("--dpi", type=click.IntRange(10, 1200), default=300, show_default=True, help="Resolution of PNG.")
@click.option("--rel", type=float, help="Lowest relevant grade, for binary measures that name none. [default: 1]")
@click.option("--docs", type=click.IntRange(1), help="Size of the collection, for Fallout and SetAccuracy.")
@mean_options
@extras_options
@join_options
@format_options
@grade_words_option
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="For --ties expected where it must sample."
)
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
    draw = function_of(kind)
    given: dict[str, Any] = {"query": query, "baseline": baseline, "points": points, "depth": depth, "level": level}
    given |= {"alpha": alpha, "costs": costs, "percentile": percentile}
    options = {name: value for name, value in given.items() if value is not None}
    named = split_measures(measures)
    _require_options(kind, [*options, *(["measures"] if named else [])])
    target, form = _target(kind, output, format_)
    if "costs" in signature(draw).parameters:
        options["costs"] = _costs(kind, costs)
    if kind == "weights":
        if files and not quiet:
            click.echo("weights of ranks depend on no judgments and no run: the files are not read.", err=True)
        plot = draw(named or None, **options)
    else:
        scores, base = _evaluated(kind, files, named, baseline, quiet, **evaluation)
        options |= {} if base is None else {"baseline": base}
        plot = draw(scores, **options, **_measures(kind, named, scores))
        if not quiet:
            from cranfield.reporting import remarks

            click.echo("\n".join(remarks(scores)), err=True)
    plot.save(target, form, dpi)
    if not quiet:
        # where the picture goes to standard output there must be nothing else
        click.echo(plot.alt, err=True) if target == "-" else echo(f"{target}: {plot.alt}\n")


def _require_options(kind: str, given: Sequence[str]) -> None:
    """Options that would change nothing are not taken in silence."""
    takes = set(signature(function_of(kind)).parameters)
    takes |= {"measures"} if "measure" in takes else set()
    for name in given:
        if name not in takes:
            option = "-m" if name == "measures" else f"--{name}"
            others = ", ".join(other for other in KINDS if name in signature(function_of(other)).parameters)
            raise click.UsageError(f"{kind} takes no {option}{f': {others} do' if others else ''}.")


def _target(kind: str, output: str | None, format_: str | None) -> tuple[str, str]:
    """Where to write and in what format; an error if that cannot be done, before any work is."""
    from cranfield.reporting import format_of, require_format

    if output is None:
        raise click.UsageError(f"name a file for the picture: -o {kind}.svg, or .png, .pdf, .html, .json.")
    form = format_ or ("svg" if output == "-" else format_of(output))
    require_format(form)
    return output, form


def _costs(kind: str, file: str | None) -> Costs:
    """What systems cost, which some kinds cannot do without."""
    from cranfield.reporting import read_costs

    if file is None:
        raise click.UsageError(f"{kind} needs --costs FILE, which cranfield bench --format json writes.")
    return read_costs(file)


def _evaluated(
    kind: str,
    files: Sequence[str],
    named: Sequence[str],
    baseline: str | None,
    quiet: bool,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    against: str | None,
    **options: Any,
) -> tuple[Scores, str | None]:
    """The scores to draw, and which run is the baseline, if one is named."""
    from cranfield.base import DEFAULT_MEASURES
    from cranfield.evaluation import Evaluator
    from cranfield.io import read_run

    if len(files) < 2:
        raise click.UsageError(f"{kind} needs judgments and a run: cranfield plot {kind} QRELS RUN... -o FILE.")
    qrels, *runs = files
    if baseline is not None and baseline not in runs and os.path.isfile(baseline):
        runs = [baseline, *runs]
    if [qrels, *runs, against].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    usual = DEFAULT_MEASURES[:-1] if kind == "correlation" else USUAL
    duplicates = options["on_duplicate"]
    evaluator = Evaluator(
        judgments_of(qrels, qrels_format, grade_words, duplicates),
        USUAL if kind in FROM_RANKINGS else named or usual,
        against=read_run(against, run_format, on_duplicate=duplicates) if against else None,
        **options,
    )
    scores = _scored(evaluator, runs, run_format, quiet)
    return scores, scores.runs[runs.index(baseline)].name if baseline in runs else baseline


def _scored(evaluator: Evaluator, runs: Sequence[str], run_format: str | None, quiet: bool) -> Scores:
    """All runs with all their hits, which pictures of rankings look at."""
    scored = (evaluator.score(run, format=run_format) for run in runs)
    return evaluator.scores(list(scored if quiet else progress(scored, len(runs), "evaluating")))


def _measures(kind: str, named: Sequence[str], scores: Scores) -> dict[str, Any]:
    """The measures to draw, under the name that the function has for them."""
    parameters = signature(function_of(kind)).parameters
    labels: Sequence[str] = named if kind in FROM_RANKINGS else scores.labels
    if not labels or not {"measure", "measures"} & set(parameters):
        return {}
    if "measures" in parameters:
        return {"measures": list(labels)}
    if len(labels) > 1:
        raise click.UsageError(f"{kind} takes one measure, found {len(labels)}: {', '.join(labels)}.")
    return {"measure": labels[0]}
