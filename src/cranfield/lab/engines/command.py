"""Any program that searches, by template: `command:./search.sh {query} {depth}`.

The program is started once for each query, without a shell; `shell:` in place of `command:` asks for one. A template
without {query} gets the query on standard input. It prints `doc score`, or `doc` alone, a line each, or JSON.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence

from cranfield.data import Document, Run
from cranfield.errors import InputError
from cranfield.lab.engines import DEPTH, FIELDS, About, Answered, EngineError, Hits, Indexed, Options, ask_each
from cranfield.lab.engines.response_parser import hits_in_text
from cranfield.lab.engines.templates import filled_arguments, filled_shell, has_query

LAST_LINES = 5  # of what a program complains


def opened(kind: str, place: str, options: Options) -> Command:
    return Command(place, options, shell=kind == "shell")


class Command:
    """A program that is started for each query."""

    def __init__(self, template: str, options: Options | None = None, shell: bool = False) -> None:
        self.template = template
        self.options = options or Options()
        self.shell = shell
        first, *_ = filled_arguments(template, "", 0) or [""]
        self.program = os.path.basename(first)  # arguments may hold what is secret

    @property
    def about(self) -> About:
        return About("command")

    def index(self, documents: Iterable[Document], fields: Sequence[str] = FIELDS) -> Indexed:
        raise EngineError(f"{self.program}: a command can only be searched; index with the engine itself.")

    def search(self, queries: Mapping[str, str], depth: int = DEPTH, answered: Answered | None = None) -> Run:
        return ask_each("command", queries, lambda text: self._found(text, depth), answered)

    def size(self) -> int | None:
        return None

    def close(self) -> None:
        """There is nothing to let go of: a program ends with its query."""

    def _found(self, text: str, depth: int) -> Hits:
        output = self._output(self._arguments(text, depth), text)
        try:
            return hits_in_text(output, self.options.ids, self.options.scores)[:depth]
        except EngineError as error:
            raise EngineError(f"{self.program}: {error}") from None

    def _arguments(self, text: str, depth: int) -> list[str]:
        # one line, whatever the topic's text looked like
        query = " ".join(text.split())
        if self.shell:
            return ["/bin/sh", "-c", filled_shell(self.template, query, depth)]
        return filled_arguments(self.template, query, depth)

    def _output(self, arguments: list[str], text: str) -> str:
        """What the program prints; it is ended, with all that it started, when its time is up."""
        try:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL if has_query(self.template) else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{self.program}: cannot be started: {why}.") from None
        with process:
            try:
                out, err = process.communicate(
                    None if has_query(self.template) else text.encode(), timeout=self.options.timeout
                )
            except subprocess.TimeoutExpired:
                raise EngineError(f"{self.program}: no answer within {self.options.timeout:g} s.") from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        if process.returncode:
            raise EngineError(f"{self.program}: {_ending(process.returncode)}{_complaint(err)}.")
        return out.decode("utf-8", "surrogateescape")


def _ending(code: int) -> str:
    return f"ended with {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"


def _complaint(err: bytes) -> str:
    lines = err.decode("utf-8", "replace").rstrip().splitlines()[-LAST_LINES:]
    return ": " + "\n".join(lines).rstrip(".") if lines else ", without a word"
