"""cranfield experiment: make what a cranfield.toml asks for and is missing."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from cranfield.base import join_names
from cranfield.cli.options import echo, width

if TYPE_CHECKING:
    from cranfield.experiment import Event, Workspace


@click.command(name="experiment")
@click.argument("folder", metavar="[FOLDER]", default=".")
@click.option("--jobs", type=click.IntRange(1), help="How many systems at a time. [default: the file's, or one a core]")
@click.option("--dry-run", is_flag=True, help="Only say what would be made, and why.")
@click.option("--force", is_flag=True, help="Make everything again, and replace what is in the way.")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def command(folder: str, jobs: int | None, dry_run: bool, force: bool, quiet: bool) -> None:
    """Make what the cranfield.toml of a folder asks for and is missing.

    Index, runs, pool, scores, comparison and report, as far as they are not there or what they are made of has changed;
    with a table [efficiency] also what systems cost, measured while nothing else is made.
    It may be interrupted at any time, and goes on from there the next time. What fails does not stop the rest.

    \b
    Example:
      cranfield experiment
      cranfield experiment bicycles --dry-run
    """
    from cranfield.experiment import open_workspace, perform, plan

    workspace = open_workspace(folder)
    if dry_run:
        for step in plan(workspace, force=force):
            echo(f"{step.output}: {'unchanged' if step.why is None else f'to be made ({step.why})'}\n")
        return
    told = perform(workspace, jobs=jobs, force=force)
    events = list(told if quiet else shown(told, workspace))
    conclude(workspace, events, quiet)


def conclude(workspace: Workspace, events: Sequence[Event], quiet: bool) -> None:
    """Say what was found and where the report is; and what went wrong, if anything did."""
    from cranfield.experiment import outcome

    for event in events if not quiet else ():
        for note in event.notes:
            click.echo(f"{event.output}: {note}", err=True)
    there = {event.output for event in events if event.state in ("made", "unchanged")}
    for collection in workspace.collections:
        summary, report = collection.path("summary.txt"), collection.path(workspace.report.file)
        if summary in there:
            echo(_wrapped((workspace.folder / summary).read_bytes().decode("utf-8", "surrogateescape")))
        if workspace.report.file and report in there:
            echo(f"Report: {workspace.folder / report}\n")
    if not quiet:
        click.echo(outcome(list(events)), err=True)
    failed = _grouped(events, "failed")
    for why, outputs in {**failed, **_grouped(events, "left")}.items():
        click.echo(f"cranfield: {listed_plainly(outputs)} not made: {why}", err=True)
    if failed:
        click.echo("cranfield: what was made is kept; mend this and run it again.", err=True)
        sys.exit(2)


def _wrapped(text: str) -> str:
    """Sentences, a line each or as many as the terminal makes of it."""
    lines = (textwrap.wrap(line, width(), break_on_hyphens=False) for line in text.splitlines())
    return "".join(f"{part}\n" for line in lines for part in line)


def _grouped(events: Sequence[Event], state: str) -> dict[str, list[str]]:
    """Outputs by what kept them from being made."""
    groups: dict[str, list[str]] = {}
    for event in events:
        if event.state == state:
            why = event.why if event.why.endswith(".") else f"{event.why}."
            groups.setdefault(why, []).append(event.output)
    return groups


def listed_plainly(names: Sequence[str]) -> str:
    """A few names.

    >>> listed_plainly(["runs/bm25.run", "runs/lm.run"])
    'runs/bm25.run, runs/lm.run'
    """
    return join_names(names).replace("'", "")


def shown(events: Iterator[Event], workspace: Workspace) -> Iterator[Event]:
    """The same events, with a bar on a terminal, or a line for each thing made elsewhere."""
    if not sys.stderr.isatty():
        for event in events:
            if event.state == "made" and event.kind != "check":
                click.echo(f"{event.output}: made", err=True)
            yield event
        return
    from rich.console import Console
    from rich.progress import Progress

    from cranfield.experiment import number_of_steps

    busy: dict[str, None] = {}
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("experiment", total=number_of_steps(workspace))
        for event in events:
            busy = {**busy, event.output: None} if event.state == "begun" else _less(busy, event.output)
            bar.update(task, description=next(iter(busy), "experiment"), advance=event.state != "begun")
            yield event


def _less(busy: dict[str, None], output: str) -> dict[str, None]:
    return {name: None for name in busy if name != output}
