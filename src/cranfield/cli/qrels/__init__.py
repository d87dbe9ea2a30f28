"""cranfield qrels: judgments merged, compared, counted, cut to size; one file a subcommand."""

from __future__ import annotations

import importlib

import click

SUBCOMMANDS = {
    "merge": "Make one set of judgments of several assessors'.",
    "diff": "Say what changed between two sets of judgments.",
    "stats": "Count topics, judged and relevant documents, grades.",
    "filter": "Keep some topics, grades or documents.",
    "binarize": "Make grades 1 and 0.",
    "map": "Give grades other values.",
    "sample": "Draw judgments by chance, topic by topic.",
    "clicks": "Make qrels of a click log, marked as such.",
}


class Subcommands(click.Group):
    """Subcommands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.group(name="qrels", cls=Subcommands)
def command() -> None:
    """Merge, compare, count and change judgments.

    Output is a new file; where it comes from is kept beside it, in OUT.provenance.json, so that every tool can read
    the qrels themselves.

    \b
    Example:
      cranfield qrels merge anna.qrels ben.qrels eva.qrels --rule majority -o merged.qrels
      cranfield qrels diff old.qrels new.qrels
      cranfield qrels stats merged.qrels
      cranfield qrels filter merged.qrels --grades 1- -o relevant.qrels
      cranfield qrels clicks log.tsv -o clicks.qrels
    """
