"""cranfield gate: may a candidate replace a baseline?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from cranfield.base import count_cores
from cranfield.cli.options import (
    echo,
    extras_options,
    format_options,
    grade_words_option,
    join_options,
    judgments_of,
    on_terminal,
    progress,
    split_measures,
    width,
)
from cranfield.errors import InputError
from cranfield.joining import ReadAhead

if TYPE_CHECKING:
    from cranfield.stats import Gate

FORMATS = ("text", "json", "junit")
USUAL = "nDCG@10"
CORRECTIONS = ("none", "holm")  # of cranfield.stats, which is imported while files are read


@click.command(name="gate")
@click.argument("qrels", metavar="QRELS")
@click.argument("baseline", metavar="BASELINE")
@click.argument("candidate", metavar="CANDIDATE")
@click.option(
    "-m", "measures", metavar="MEASURE", multiple=True, help=f"A measure; repeatable, all must pass. [default: {USUAL}]"
)
@click.option(
    "--max-drop", type=float, default=0.01, show_default=True, help="How much worse the mean may be, in its own units."
)
@click.option(
    "--alpha", type=float, default=0.05, show_default=True, help="The chance of a wrong verdict that is accepted."
)
@click.option("--require-proof", is_flag=True, help="Fail unless it is shown that the drop is at most --max-drop.")
@click.option(
    "--correction",
    type=click.Choice(CORRECTIONS),
    default="none",
    show_default=True,
    help="Of the p-values for a drop, for the number of measures.",
)
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="text", show_default=True, help="What to write."
)
@click.option("-o", "--output", metavar="FILE", help="Where to write it; the text is then printed too.")
@click.option("--rel", type=float, help="Lowest relevant grade, for binary measures that name none. [default: 1]")
@click.option("--docs", type=click.IntRange(1), help="Size of the collection, for Fallout and SetAccuracy.")
@extras_options
@join_options
@format_options
@grade_words_option
@click.option("--jobs", type=click.IntRange(1), help="How many threads to use. [default: one a core]")
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="For --ties expected where it must sample."
)
@click.option("--quiet", is_flag=True, help="Print the verdicts without reasons; nothing where there is -o FILE.")
def command(
    qrels: str,
    baseline: str,
    candidate: str,
    measures: tuple[str, ...],
    max_drop: float,
    alpha: float,
    require_proof: bool,
    correction: Any,
    format_: str,
    output: str | None,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
    jobs: int | None,
    quiet: bool,
    against: str | None,
    **conventions: Any,
) -> None:
    """Decide whether a candidate is worse than a baseline by more than is allowed.

    Exit code 1 if a one-sided paired t-test shows a drop of more than --max-drop on some measure; with --require-proof,
    unless it shows on every measure that there is none. Otherwise 0, and what is undecided is said to be. Exit code 2
    if a file or an option cannot be used.

    \b
    Example:
      cranfield gate qrels.txt main.run branch.run
      cranfield gate qrels.txt main.run branch.run -m nDCG@10 -m RR --max-drop 0.02 --require-proof
      cranfield gate qrels.txt main.run branch.run --format junit -o gate.xml
    """
    runs = (baseline, candidate)
    if [qrels, *runs, against].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    jobs = jobs or count_cores()
    read_ahead = ReadAhead.start(qrels, runs, conventions, jobs)

    from cranfield.evaluation import Evaluator
    from cranfield.io import read_run
    from cranfield.stats import GateRule, gate_scores

    rule = GateRule(max_drop, alpha, require_proof, correction)
    evaluator = Evaluator(
        judgments_of(qrels, qrels_format, grade_words, on_duplicate, read_ahead),
        split_measures(measures) or USUAL,
        on_duplicate=on_duplicate,
        against=read_run(against, run_format, on_duplicate=on_duplicate) if against else None,
        **conventions,
    )
    scored = list(progress(evaluator.score_files(runs, run_format, jobs), len(runs), "evaluating"))
    decided = gate_scores(evaluator.scores(scored), rule)
    _print(decided, format_, output, quiet)
    if not decided.passed:
        raise SystemExit(1)


def _print(decided: Gate, format_: str, output: str | None, quiet: bool) -> None:
    """The result where it is wanted; where that is a file, the text is printed too, for the log."""
    from cranfield.reporting import gate

    def text(styled: bool) -> str:
        return gate.as_text(decided, min(width(), gate.WIDTH), styled, reasons=not quiet)

    if output is not None and output != "-":
        from cranfield.io import open_output

        as_file = {"text": gate.as_text, "json": gate.as_json, "junit": gate.as_junit}
        with open_output(output) as file:
            file.write(as_file[format_](decided).encode("utf-8", "surrogateescape"))
        if not quiet:
            _echo(text(on_terminal()))
    elif format_ == "text":
        _echo(text(on_terminal()))
    else:
        _echo(gate.as_json(decided) if format_ == "json" else gate.as_junit(decided))


def _echo(text: str) -> None:
    """Print, and leave the exit code to the verdict even if the reader of a pipe has gone."""
    with suppress(SystemExit):
        echo(text)
