"""cranfield init: write a cranfield.toml for a new workspace."""

from __future__ import annotations

import shlex

import click

from cranfield.cli.output import echo, program_name
from cranfield.experiment import begin


@click.command(name="init")
@click.argument("folder", metavar="[FOLDER]", default=".")
@click.option("--title", help="Title of the workspace. [default: the name of the folder]")
@click.option("--documents", metavar="FILE", help="The documents: a file, a folder or a collection.")
@click.option("--topics", metavar="FILE", help="The topics.")
@click.option("--qrels", metavar="FILE", help="The judgments, if there are any.")
@click.option("--run", "runs", metavar="RUN", multiple=True, help="An existing run; repeatable.")
@click.option("--force", is_flag=True, help="Replace an existing cranfield.toml.")
def command(
    folder: str,
    title: str | None,
    documents: str | None,
    topics: str | None,
    qrels: str | None,
    runs: tuple[str, ...],
    force: bool,
) -> None:
    """Write a cranfield.toml for a new workspace, for `cranfield experiment` and `cranfield serve`.

    The file names documents, topics, judgments and runs. Comments in it explain what else it may contain.

    \b
    Example:
      cranfield init bicycles --documents documents.jsonl --topics topics.xml
      cranfield init bicycles --documents documents.jsonl --topics topics.xml --qrels qrels.txt --run bm25.run
    """
    files = {"documents": documents, "topics": topics, "qrels": qrels}
    workspace = begin(
        folder,
        title=title or "",
        parts={part: file for part, file in files.items() if file is not None},
        runs=runs,
        force=force,
    )
    echo(f"{workspace.file}\n")
    if workspace.systems:
        call, place = program_name(), shlex.quote(folder)
        click.echo(f"Next: {call} experiment {place}, then {call} serve {place}", err=True)
