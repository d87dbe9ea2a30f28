"""What commands print and how: results, progress, files of text."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
LINE_WIDTH = 100  # of sentences, which are hard to read in longer lines


def has_styles() -> bool:
    """Whether results go to a terminal that shows styles; NO_COLOR and dumb terminals are respected."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def terminal_width() -> int:
    """The width to fit tables into: the terminal's, at least 80; no limit if output is piped."""
    return max(80, shutil.get_terminal_size().columns) if sys.stdout.isatty() else 10_000


def line_width() -> int:
    """The width of lines that hold sentences."""
    return min(terminal_width(), LINE_WIDTH)


def program_name() -> str:
    """How to type this command: its path, if PATH leads to another one or to none."""
    own = sys.argv[0] if os.path.basename(sys.argv[0]) == "cranfield" else _beside_python("cranfield")
    if not os.path.isfile(own):
        return f"{_quote_path(sys.executable)} -m cranfield"
    on_path = shutil.which("cranfield")
    return "cranfield" if on_path is not None and os.path.samefile(on_path, own) else _quote_path(own)


def _beside_python(name: str) -> str:
    return os.path.join(os.path.dirname(sys.executable), name)


def _quote_path(path: str) -> str:
    """A program as one types it in this folder."""
    absolute, here = os.path.abspath(path), os.getcwd()
    if not absolute.startswith(os.path.join(here, "")):
        return shlex.quote(absolute)
    inside = os.path.relpath(absolute, here)
    return shlex.quote(inside if os.sep in inside else os.path.join(os.curdir, inside))


def command_line() -> str:
    """The command line that is running, for provenance."""
    return shlex.join(["cranfield", *sys.argv[1:]])


def echo(*texts: str) -> None:
    """Print a result; ids that are not UTF-8 are printed byte for byte."""
    sys.stdout.flush()
    try:
        for text in texts:
            sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        close_stdout()
        sys.exit(0)


def close_stdout() -> None:
    """Discard what is left: the reader of a pipe has gone, which is no error, but Python would complain on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_text(text: str, file: str) -> None:
    """Write a result to a file, as `echo` prints it."""
    from cranfield.io import open_output  # start-up: eval reads ahead before NumPy loads

    with open_output(file) as out:
        out.write(text.encode("utf-8", "surrogateescape"))


def show_progress(items: Iterable[T], total: int | None, label: str) -> Iterator[T]:
    """Yield items; on a terminal, show a progress bar after a second (a count if the total is unknown)."""
    if not sys.stderr.isatty() or (total is not None and total < 2):
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    updated = time.monotonic() + 0.9  # the first update comes after a second
    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)
    try:
        for done, item in enumerate(items, 1):
            now = time.monotonic()
            if now - updated > 0.1:
                bar.start()
                bar.update(task, completed=done, description=label if total is not None else f"{label} {done:,}")
                updated = now
            yield item
    finally:
        bar.stop()
