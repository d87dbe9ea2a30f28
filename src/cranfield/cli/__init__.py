"""The command line, one module per command: each parses its arguments, calls the library and prints the result."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from cranfield.base import describe_core
from cranfield.cli.output import close_stdout
from cranfield.errors import CranfieldError

# NumPy's own threads, for linear algebra that we do not use, would compete with ours
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# commands create little garbage, so collecting it rarely pays
gc.set_threshold(100_000, 20, 20)

__all__ = ["main", "script"]

STAGES = {
    "Evaluate": {
        "eval": "Evaluate runs against relevance judgments.",
        "trec_eval": "Evaluate exactly as trec_eval does.",
        "explain": "Explain a score, rank by rank.",
        "measures": "List measures, explain one, or recommend some.",
        "conventions": "Show how other tools compute a measure, and why.",
    },
    "Compare": {
        "compare": "Test which system is better, and by how much.",
        "leaderboard": "Rank systems by one measure on several splits.",
        "plot": "Plot an evaluation.",
        "report": "Write a complete evaluation report as HTML.",
        "gate": "Test whether a candidate is worse than a baseline; for CI.",
    },
    "Build": {
        "pool": "Choose which documents to judge.",
        "judge": "Judge the documents of a pool in the terminal.",
        "judgments": "Plan judging, track it, import and export judgments.",
        "packet": "Write an HTML file for judging a pool offline.",
        "qrels": "Merge, compare, summarise and transform judgments.",
        "agree": "Measure agreement between assessors and its effect.",
        "pool-report": "Analyse a pool: contributions, coverage, reusability.",
        "recall-estimate": "Estimate how many relevant documents were missed.",
    },
    "Search": {
        "collections": "List test collections, and count what you have.",
        "index": "Index the documents of a collection.",
        "search": "Search an index for every topic and write a run.",
        "fuse": "Combine several runs into one.",
        "feedback": "Compare ways to learn from relevant documents.",
        "tune": "Tune a system's parameters by cross-validation.",
        "bench": "Measure latency, throughput and indexing costs.",
    },
    "Work": {
        "demo": "Run a whole experiment on the bundled collection.",
        "init": "Write a cranfield.toml for a new workspace.",
        "experiment": "Build the missing outputs of a workspace.",
        "serve": "Judge and explore in the browser.",
        "check": "Validate files and report problems.",
        "convert": "Convert between file formats.",
    },
}


class Commands(click.Group):
    """The commands, grouped by stage; each is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for commands in STAGES.values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"cranfield.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for stage, commands in STAGES.items():
            with formatter.section(stage):
                formatter.write_dl(list(commands.items()))


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version  # slow, and every command starts here

        click.echo(f"cranfield {version('cranfield')} ({describe_core()})")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Print the version."
)
def commands() -> None:
    """Measure how good a search engine is: keep queries, documents and judgments fixed, and vary the system.

    \b
    Example:
      cranfield eval qrels.txt bm25.run lm.run -m nDCG@10 -m AP
    """


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command; every error that a user can cause ends in one message and exit code 2."""
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
        close_stdout()
        sys.exit(0)
    except OSError as error:
        _fail(f"cannot write the output: {error.strerror or error}.")
    except MemoryError:
        _fail("not enough memory for this input.")
    except Exception as error:
        if os.environ.get("CRANFIELD_TRACEBACK"):
            raise
        what = f"{type(error).__name__}: {error}"
        _fail(f"internal error, please report it ({what}). Set CRANFIELD_TRACEBACK=1 to see where.", code=70)


def script() -> NoReturn:
    """Run the command of this process, then exit at once.

    All output is written and all threads have ended by then; Python's orderly shutdown would add a tenth to the time
    of a small evaluation.
    """
    try:
        main()
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else 0
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def _fail(message: str, code: int = 2) -> NoReturn:
    text = "cranfield: " + message.encode("utf-8", "backslashreplace").decode()
    click.echo(click.style(text, fg="red") if _has_colour() else text, err=True)
    sys.exit(code)


def _has_colour() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")
