"""cranfield demo: a whole experiment on the built-in collection."""

from __future__ import annotations

import shlex
from importlib.resources import files
from pathlib import Path

import click

from cranfield.cli.options import echo, program


@click.command(name="demo")
@click.option("--path", is_flag=True, help="Only print the folder of the built-in collection.")
@click.option("-o", "--output", metavar="FOLDER", help="Where to make it. [default: cranfield-demo]")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def command(path: bool, output: str | None, quiet: bool) -> None:
    """Index the built-in collection, search it with eight systems, pool, evaluate, compare, measure costs, report.

    The collection is about bicycles: 223 documents, 30 topics, judgments made by reading. All of it goes into a
    folder with a cranfield.toml, which `cranfield experiment` goes on with after you have changed it.

    \b
    Example:
      cranfield demo
      cranfield demo -o bicycles && cranfield experiment bicycles
      cd "$(cranfield demo --path)" && cranfield eval qrels.txt bm25.run
    """
    if path:
        echo(f"{Path(str(files('cranfield') / 'example'))}\n")
        return
    from cranfield.cli.experiment import conclude, shown
    from cranfield.experiment import FILE, lay_out, perform

    demo = lay_out(output)
    told = perform(demo.workspace)
    events = list(told if quiet else shown(told, demo.workspace))
    for note in demo.notes:
        click.echo(f"Note: {note}", err=True)
    conclude(demo.workspace, events, quiet=True)
    folder, report = demo.workspace.folder, demo.workspace.report.file
    if any(event.output == report and event.state in ("made", "unchanged") for event in events):
        echo(f"Open {(folder / report).resolve().as_uri()} in a browser.\n")
    if not quiet:
        call, place = program(), shlex.quote(str(folder))
        click.echo(f"Judge and explore in the browser with: {call} serve {place}", err=True)
        click.echo(f"Change {folder / FILE} and go on with: {call} experiment {place}", err=True)
