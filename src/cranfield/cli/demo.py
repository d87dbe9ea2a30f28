"""cranfield demo: a whole experiment on the bundled collection."""

from __future__ import annotations

import shlex
from importlib.resources import files
from pathlib import Path

import click

from cranfield.cli.experiment import conclude, show_events
from cranfield.cli.options import quiet_option
from cranfield.cli.output import echo, program_name
from cranfield.experiment import FILE, lay_out, perform


@click.command(name="demo")
@click.option("--path", is_flag=True, help="Print the folder of the bundled collection and exit.")
@click.option("-o", "--output", metavar="FOLDER", help="The folder to create. [default: cranfield-demo]")
@quiet_option
def command(path: bool, output: str | None, quiet: bool) -> None:
    """Run a whole experiment on the bundled collection: index, search, pool, evaluate, compare, measure costs, report.

    The collection is about bicycles: 223 documents, 30 topics, and judgments by people who read the documents. The
    results of eight systems go into a folder with a cranfield.toml; change it and run `cranfield experiment` to update
    them.

    \b
    Example:
      cranfield demo
      cranfield demo -o bicycles && cranfield experiment bicycles
      cd "$(cranfield demo --path)" && cranfield eval qrels.txt bm25.run
    """
    if path:
        echo(f"{Path(str(files('cranfield') / 'example'))}\n")
        return
    demo = lay_out(output)
    performed = perform(demo.workspace)
    events = list(performed if quiet else show_events(performed, demo.workspace))
    for note in demo.notes:
        click.echo(f"Note: {note}", err=True)
    conclude(demo.workspace, events, quiet=True)
    folder, report = demo.workspace.folder, demo.workspace.report.file
    if any(event.output == report and event.state in ("made", "unchanged") for event in events):
        echo(f"Open {(folder / report).resolve().as_uri()} in a browser.\n")
    if not quiet:
        call, place = program_name(), shlex.quote(str(folder))
        click.echo(f"To judge and explore in the browser: {call} serve {place}", err=True)
        click.echo(f"To continue after changing {folder / FILE}: {call} experiment {place}", err=True)
