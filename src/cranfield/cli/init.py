"""cranfield init: a cranfield.toml for a new workspace."""

from __future__ import annotations

import shlex

import click

from cranfield.cli.options import echo, program


@click.command(name="init")
@click.argument("folder", metavar="[FOLDER]", default=".")
@click.option("--title", help="What it is about. [default: the name of the folder]")
@click.option("--documents", metavar="FILE", help="The documents: a file, a folder or a collection.")
@click.option("--topics", metavar="FILE", help="The topics.")
@click.option("--qrels", metavar="FILE", help="Judgments, if there are any.")
@click.option("--run", "runs", metavar="RUN", multiple=True, help="A run that is there already; repeatable.")
@click.option("--force", is_flag=True, help="Replace a cranfield.toml that is there.")
def command(
    folder: str,
    title: str | None,
    documents: str | None,
    topics: str | None,
    qrels: str | None,
    runs: tuple[str, ...],
    force: bool,
) -> None:
    """Write a cranfield.toml: a workspace for `cranfield experiment` and `cranfield serve`.

    It names documents, topics, judgments and runs, and says what else it may hold.

    \b
    Example:
      cranfield init bicycles --documents documents.jsonl --topics topics.xml
      cranfield init bicycles --documents documents.jsonl --topics topics.xml --qrels qrels.txt --run bm25.run
    """
    from cranfield.experiment import begin

    given = {"documents": documents, "topics": topics, "qrels": qrels}
    workspace = begin(
        folder,
        title=title or "",
        parts={part: file for part, file in given.items() if file is not None},
        runs=runs,
        force=force,
    )
    echo(f"{workspace.file}\n")
    if workspace.systems:
        call, place = program(), shlex.quote(folder)
        click.echo(f"Next: {call} experiment {place}, then {call} serve {place}", err=True)
