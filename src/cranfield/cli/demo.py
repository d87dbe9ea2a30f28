"""cranfield demo: the bundled example, evaluated and reported on."""

from __future__ import annotations

import os
import shlex
import tempfile
from importlib.resources import files
from pathlib import Path

import click

from cranfield.cli.options import echo, on_terminal, width
from cranfield.errors import MissingExtra
from cranfield.report import evaluation
from cranfield.scores import Scores, evaluate

RUNS = ("bm25", "lm", "tfidf", "lsi", "rm3", "titles")
TOPICS, DOCUMENTS = "topics.xml", "documents.jsonl"
OUTPUT = "cranfield-demo.html"


@click.command(name="demo")
@click.option("--path", is_flag=True, help="Only print the folder of the example's files.")
@click.option("-o", "--output", metavar="FILE", help=f"The report. [default: {OUTPUT}]")
def command(path: bool, output: str | None) -> None:
    """Evaluate the bundled example: six systems on a small collection about bicycles; then write a report.

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
    names = " ".join(run.name for run in runs)
    echo(f"$ cranfield eval qrels.txt {names}\n\n")
    scores = evaluate(folder / "qrels.txt", runs)
    echo(evaluation.as_table(scores, False, None, None, width(), on_terminal()))
    target = output or _writable(OUTPUT)
    texts = f"--topics {TOPICS} --documents {DOCUMENTS}"
    asked = f"cranfield report qrels.txt {names} {texts} -o {shlex.quote(target)}"
    echo(f"\n$ {asked}\n\n{_reported(scores, folder, asked, target)}\n")
    echo(f"Texts, topics, judgments and runs: {folder}\n")


def _reported(scores: Scores, folder: Path, asked: str, target: str) -> str:
    """Write the report and say where it is, or what is needed to have one."""
    from cranfield.report.page import report

    try:
        page = report(scores, topics=folder / TOPICS, documents=folder / DOCUMENTS, command=asked)
    except MissingExtra as error:
        return f"{str(error)[:1].upper()}{str(error)[1:]}"
    page.save(target)
    return f"{page.title}. Open {Path(target).resolve().as_uri()} in a browser."


def _writable(name: str) -> str:
    """The file here, or in a folder for temporary files where nothing can be written here."""
    if os.access(os.curdir, os.W_OK):
        return name
    return os.path.join(tempfile.mkdtemp(prefix="cranfield-"), name)
