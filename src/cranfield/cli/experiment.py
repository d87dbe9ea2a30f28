"""cranfield experiment: build the missing outputs of a workspace."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence

import click

from cranfield.base import join_names
from cranfield.cli.options import quiet_option
from cranfield.cli.output import echo, terminal_width
from cranfield.experiment import Event, Workspace, number_of_steps, open_workspace, outcome, perform, plan


@click.command(name="experiment")
@click.argument("folder", metavar="[FOLDER]", default=".")
@click.option(
    "--jobs", type=click.IntRange(1), help="Systems to run at once. [default: as in the file, or one per core]"
)
@click.option("--dry-run", is_flag=True, help="Only print what would be built, and why.")
@click.option("--force", is_flag=True, help="Rebuild everything, and replace existing files.")
@quiet_option
def command(folder: str, jobs: int | None, dry_run: bool, force: bool, quiet: bool) -> None:
    """Build the outputs of a workspace that are missing or out of date.

    These are the index, runs, pool, scores, comparison and report that the cranfield.toml of FOLDER describes; with a
    table [efficiency] also what systems cost, measured while nothing else runs. You may interrupt the command at any
    time; the next call resumes. A failed step does not stop the others.

    \b
    Example:
      cranfield experiment
      cranfield experiment bicycles --dry-run
    """
    workspace = open_workspace(folder)
    if dry_run:
        for step in plan(workspace, force=force):
            echo(f"{step.output}: {'unchanged' if step.why is None else f'to be made ({step.why})'}\n")
        return
    performed = perform(workspace, jobs=jobs, force=force)
    events = list(performed if quiet else show_events(performed, workspace))
    conclude(workspace, events, quiet)


def conclude(workspace: Workspace, events: Sequence[Event], quiet: bool) -> None:
    """Print the summary, where the report is, and what went wrong, if anything did."""
    for event in events if not quiet else ():
        for note in event.notes:
            click.echo(f"{event.output}: {note}", err=True)
    there = {event.output for event in events if event.state in ("made", "unchanged")}
    for collection in workspace.collections:
        summary, report = collection.path("summary.txt"), collection.path(workspace.report.file)
        if summary in there:
            echo(_wrap((workspace.folder / summary).read_bytes().decode("utf-8", "surrogateescape")))
        if workspace.report.file and report in there:
            echo(f"Report: {workspace.folder / report}\n")
    if not quiet:
        click.echo(outcome(list(events)), err=True)
    failed = _group_by_reason(events, "failed")
    for why, outputs in {**failed, **_group_by_reason(events, "left")}.items():
        names = join_names(outputs).replace("'", "")
        click.echo(f"cranfield: {names} not made: {why}", err=True)
    if failed:
        click.echo("cranfield: the other outputs are kept; fix this and rerun.", err=True)
        sys.exit(2)


def _wrap(text: str) -> str:
    """Sentences, each on its own line, wrapped to the terminal."""
    lines = (textwrap.wrap(line, terminal_width(), break_on_hyphens=False) for line in text.splitlines())
    return "".join(f"{part}\n" for line in lines for part in line)


def _group_by_reason(events: Sequence[Event], state: str) -> dict[str, list[str]]:
    """Outputs by the reason why they were not built."""
    groups: dict[str, list[str]] = {}
    for event in events:
        if event.state == state:
            why = event.why if event.why.endswith(".") else f"{event.why}."
            groups.setdefault(why, []).append(event.output)
    return groups


def show_events(events: Iterator[Event], workspace: Workspace) -> Iterator[Event]:
    """The same events, with a progress bar on a terminal, otherwise with a line for each output."""
    if not sys.stderr.isatty():
        for event in events:
            if event.state == "made" and event.kind != "check":
                click.echo(f"{event.output}: made", err=True)
            yield event
        return
    from rich.console import Console
    from rich.progress import Progress

    busy: dict[str, None] = {}
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("experiment", total=number_of_steps(workspace))
        for event in events:
            if event.state == "begun":
                busy[event.output] = None
            else:
                busy.pop(event.output, None)
            bar.update(task, description=next(iter(busy), "experiment"), advance=event.state != "begun")
            yield event
