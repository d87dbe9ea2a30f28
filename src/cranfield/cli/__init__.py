"""The command line: one file a command; each parses, calls one library function and prints."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from cranfield.errors import CranfieldError

__all__ = ["main", "script"]

# the threads that NumPy starts for linear algebra, of which there is none here, keep the processors from ours
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# hardly anything of what a command makes is garbage, so that it is rarely worth while to look for it
gc.set_threshold(100_000, 20, 20)

STAGES = {
    "Evaluate": {
        "eval": "Evaluate runs against judgments.",
        "trec_eval": "Evaluate as trec_eval does, byte for byte.",
        "explain": "Show how a score comes about, rank by rank.",
        "measures": "List measures, explain one, or say which to use.",
        "conventions": "Show one measure as other tools have it, and why.",
    },
    "Compare": {
        "compare": "Say which system is better, by how much, how sure.",
        "leaderboard": "Rank systems by one measure on several splits.",
        "plot": "Draw a picture of an evaluation.",
        "report": "Write a page with all of it, to open in a browser.",
        "gate": "Say whether a candidate is worse than a baseline; for CI.",
    },
    "Build": {
        "pool": "Choose which documents of which runs to judge.",
        "judge": "Judge the documents of a pool in the terminal.",
        "judgments": "Plan judging, take judgments in and out of a log.",
        "packet": "Write one file to judge a pool with, offline.",
        "qrels": "Merge, compare, count and change judgments.",
        "agree": "Say how far assessors agree, and what it changes.",
        "pool-report": "Say who found what, and how far judgments reach.",
        "recall-estimate": "Estimate how many relevant documents nobody found.",
    },
    "Search": {
        "collections": "List test collections and count those you have.",
        "index": "Index the documents of a collection.",
        "search": "Search an index for every topic, as a run.",
        "fuse": "Make one run of several.",
        "feedback": "Compare ways to learn from relevant documents.",
        "tune": "Choose a system's parameters by cross-validation.",
        "bench": "Measure what systems cost: latency, throughput, indexing.",
    },
    "Work": {
        "demo": "A whole experiment on the bundled collection.",
        "init": "Write a cranfield.toml for a new workspace.",
        "experiment": "Make what a cranfield.toml asks for and is missing.",
        "serve": "Judge and explore in the browser.",
        "check": "Say what files are and what is wrong with them.",
        "convert": "Turn any format into any other.",
    },
}


class Commands(click.Group):
    """Commands by stage, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for commands in STAGES.values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"cranfield.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for stage, commands in filter(lambda each: each[1], STAGES.items()):
            with formatter.section(stage):
                formatter.write_dl(list(commands.items()))


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        from cranfield.base import describe_core

        click.echo(f"cranfield {version('cranfield')} ({describe_core()})")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Print the version."
)
def commands() -> None:
    """How good is a search engine? Hold queries, documents and judgments fixed, vary the system, measure.

    \b
    Example:
      cranfield eval qrels.txt bm25.run lm.run -m nDCG@10 -m AP
    """


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command; every error a user can cause ends as one message and exit code 2."""
    try:
        code = commands.main(args=args, prog_name="cranfield", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except CranfieldError as error:
        _fail(str(error))
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("cranfield: interrupted.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # the reader of a pipe has gone: nothing is wrong, but Python would complain when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _fail(f"cannot write the output: {error.strerror or error}.")
    except MemoryError:
        _fail("not enough memory for this input.")
    except Exception as error:
        if os.environ.get("CRANFIELD_TRACEBACK"):
            raise
        what = f"{type(error).__name__}: {error}"
        _fail(f"this is a mistake of ours, not yours ({what}). CRANFIELD_TRACEBACK=1 shows where.", code=70)


def script() -> NoReturn:
    """Run the command that this process was started for, and end it.

    Everything is written and every thread has ended by then; to have Python take itself apart would add a tenth
    to the time of a small evaluation.
    """
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def _fail(message: str, code: int = 2) -> NoReturn:
    text = "cranfield: " + message.encode("utf-8", "backslashreplace").decode()
    click.echo(click.style(text, fg="red") if _in_colour() else text, err=True)
    sys.exit(code)


def _in_colour() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")
