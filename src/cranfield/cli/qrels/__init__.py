"""cranfield qrels: merge, compare, summarise and transform judgments; one module per subcommand."""

from __future__ import annotations

import importlib

import click

SUBCOMMANDS = {
    "merge": "Combine the judgments of several assessors.",
    "diff": "Show what changed between two sets of judgments.",
    "stats": "Count topics, judged and relevant documents, grades.",
    "filter": "Keep some topics, grades or documents.",
    "binarize": "Turn grades into 1 and 0.",
    "map": "Change the values of grades.",
    "sample": "Draw a random sample of judgments, topic by topic.",
    "clicks": "Derive qrels from a click log.",
}


class Subcommands(click.Group):
    """The subcommands; each is imported when it is called."""

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
    """Merge, compare, summarise and transform judgments.

    The output is a new file that every tool can read. Its provenance is written beside it, to OUT.provenance.json.

    \b
    Example:
      cranfield qrels merge anna.qrels ben.qrels eva.qrels --rule majority -o merged.qrels
      cranfield qrels diff old.qrels new.qrels
      cranfield qrels stats merged.qrels
      cranfield qrels filter merged.qrels --grades 1- -o relevant.qrels
      cranfield qrels clicks log.tsv -o clicks.qrels
    """
