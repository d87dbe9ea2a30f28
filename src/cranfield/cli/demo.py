"""cranfield demo: the bundled example, evaluated."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from cranfield.cli.options import echo, on_terminal, width
from cranfield.report import evaluation
from cranfield.scores import evaluate

RUNS = ("bm25", "lm", "trigrams", "titles")


@click.command(name="demo")
@click.option("--path", is_flag=True, help="Only print the folder of the example's files.")
def command(path: bool) -> None:
    """Evaluate the bundled example: four systems on a small collection about bicycles.

    \b
    Example:
      cranfield demo
      cd "$(cranfield demo --path)" && cranfield eval qrels.txt bm25.run
    """
    folder = Path(str(files("cranfield") / "example"))
    if path:
        echo(f"{folder}\n")
        return
    runs = [folder / f"{name}.run" for name in RUNS]
    echo(f"$ cranfield eval qrels.txt {' '.join(run.name for run in runs)}\n\n")
    scores = evaluate(folder / "qrels.txt", runs)
    echo(evaluation.as_table(scores, False, None, None, width(), on_terminal()))
    echo(f"\nTexts, topics, judgments and runs: {folder}\n")
