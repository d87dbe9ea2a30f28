"""cranfield gate: may a candidate replace a baseline?"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from cranfield.base import count_cores
from cranfield.cli.inputs import read_evaluator, require_one_stdin
from cranfield.cli.options import (
    choice_option,
    evaluation_options,
    format_option,
    jobs_option,
    measures_option,
    seed_option,
    split_measures,
)
from cranfield.cli.output import echo, has_styles, line_width, show_progress, write_text
from cranfield.joining import ReadAhead

if TYPE_CHECKING:
    from cranfield.stats import Gate

FORMATS = ("text", "json", "junit")
MEASURES = ("nDCG@10",)
CORRECTIONS = ("none", "holm")  # of cranfield.stats, which is imported while files are read


@click.command(name="gate")
@click.argument("qrels", metavar="QRELS")
@click.argument("baseline", metavar="BASELINE")
@click.argument("candidate", metavar="CANDIDATE")
@measures_option("A measure; repeatable, all must pass.", MEASURES)
@click.option(
    "--max-drop", type=float, default=0.01, show_default=True, help="Largest drop of the mean allowed, as a difference."
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Accepted probability of a wrong verdict.")
@click.option("--require-proof", is_flag=True, help="Fail unless the drop is shown to be at most --max-drop.")
@choice_option("--correction", CORRECTIONS, "none", "Correct the p-values of a drop for the number of measures.")
@format_option(FORMATS)
@click.option("-o", "--output", metavar="FILE", help="Where to write the result; the text is then printed as well.")
@evaluation_options
@jobs_option
@seed_option("Seed for --ties expected, where it samples.")
@click.option("--quiet", is_flag=True, help="Print the verdicts without reasons, or nothing with -o FILE.")
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
    jobs: int | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Decide whether a candidate is worse than a baseline by more than is allowed.

    The exit code is 1 if a one-sided paired t-test shows a drop of more than --max-drop on some measure, or, with
    --require-proof, unless it shows on every measure that there is no such drop. Otherwise it is 0, also if a measure
    is undecided. It is 2 if a file or an option cannot be used.

    \b
    Example:
      cranfield gate qrels.txt main.run branch.run
      cranfield gate qrels.txt main.run branch.run -m nDCG@10 -m RR --max-drop 0.02 --require-proof
      cranfield gate qrels.txt main.run branch.run --format junit -o gate.xml
    """
    runs = (baseline, candidate)
    require_one_stdin(qrels, *runs, options["against"])
    jobs = jobs or count_cores()
    read_ahead = ReadAhead.start(qrels, runs, options, jobs)

    from cranfield.stats import GateRule, gate_scores  # a thread reads the judgments while NumPy is imported

    rule = GateRule(max_drop, alpha, require_proof, correction)
    evaluator = read_evaluator(qrels, split_measures(measures) or MEASURES, read_ahead, **options)
    scored = evaluator.score_files(runs, options["run_format"], jobs)
    result = gate_scores(evaluator.scores(list(show_progress(scored, len(runs), "evaluating"))), rule)
    _print(result, format_, output, quiet)
    if not result.passed:
        raise SystemExit(1)


def _print(result: Gate, format_: str, output: str | None, quiet: bool) -> None:
    """Write the result where it is wanted; if that is a file, print the text as well, for the log."""
    from cranfield.reporting import gate

    with suppress(SystemExit):  # the verdict decides the exit code, even if the reader of a pipe has gone
        if output is not None and output != "-":
            as_file = {"text": gate.as_text, "json": gate.as_json, "junit": gate.as_junit}
            write_text(as_file[format_](result), output)
            if quiet:
                return
            format_ = "text"
        if format_ == "text":
            echo(gate.as_text(result, line_width(), has_styles(), reasons=not quiet))
        else:
            echo(gate.as_json(result) if format_ == "json" else gate.as_junit(result))
