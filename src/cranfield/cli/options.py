"""Options that mean the same in every command, and printing that every command does alike."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from cranfield.base import (
    DEFAULT_MEASURES,
    GRADE_WORDS,
    QRELS_FORMATS,
    RUN_FORMATS,
    How,
    OnDuplicate,
)
from cranfield.errors import InputError, MeasureError
from cranfield.joining import JOIN_OPTIONS

if TYPE_CHECKING:
    from cranfield.data import Qrels
    from cranfield.joining import ReadAhead

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def judgments_of(
    place: str,
    format: str | None,
    grade_words: Mapping[str, float] = GRADE_WORDS,
    on_duplicate: OnDuplicate = "error",
    read_ahead: ReadAhead | None = None,
) -> Qrels:
    """The judgments of a file, or of a collection by name and folder (`cacm:DIR`), what is odd about which is said."""
    from cranfield.io import read_qrels

    # without a colon it is no name, and the collections need not be loaded
    if ":" in place and not os.path.exists(place):
        from cranfield.lab import is_named, open_collection

        if is_named(place):
            if format is not None:
                raise InputError(f"--qrels-format {format} is for files; {place} has a format of its own.")
            collection = open_collection(place)
            judgments = collection.qrels()
            context = click.get_current_context()
            said = context.meta.setdefault(__name__, set())  # some commands read them again for another convention
            if not context.params.get("quiet") and place not in said:
                said.add(place)
                for note in collection.notes:
                    click.echo(f"Note: {note}", err=True)
            return judgments
    ahead = None if read_ahead is None else read_ahead.judgments
    return read_qrels(place, format, grade_words=grade_words, on_duplicate=on_duplicate, read_ahead=ahead)


def measures_option(function: F) -> F:
    help_text = (
        f"A measure, e.g. nDCG@10, AP(rel=2)@100, ndcg_cut_10; repeatable. [default: {', '.join(DEFAULT_MEASURES)}]"
    )
    return click.option("-m", "measures", metavar="MEASURE", multiple=True, help=help_text)(function)


def join_options(function: F) -> F:
    """How the run is ranked and joined with the judgments."""
    options = [
        ("--ties", JOIN_OPTIONS["ties"], "trec", "Order of documents with equal scores; trec: by doc id, descending."),
        ("--rank-by", JOIN_OPTIONS["rank_by"], "score", "What ranks documents."),
        ("--score-type", JOIN_OPTIONS["score_type"], "float64", "Precision of scores; trec_eval 9 has float32."),
        ("--missing", JOIN_OPTIONS["missing"], "zero", "Judged queries that the run lacks."),
        ("--on-duplicate", get_args(OnDuplicate), "error", "A document twice for the same query."),
    ]
    for name, choices, default, text in reversed(options):
        kind = click.Choice(choices)
        function = click.option(name, type=kind, default=default, show_default=True, help=text)(function)
    return function


def extras_options(function: F) -> F:
    """What some measures need beyond judgments and run."""
    files = [
        ("--against", "RUN", "Another run: for measures between rankings, and the baseline of --risk."),
        ("--doc-lengths", "FILE", "Lengths of documents; lines of doc<TAB>length."),
        ("--duplicates", "FILE", "Documents that say the same; lines of doc<TAB>group."),
        ("--facts", "FILE", "Facts or entities in documents; lines of query<TAB>doc<TAB>fact."),
    ]
    for name, metavar, text in reversed(files):
        function = click.option(name, metavar=metavar, help=text)(function)
    return function


def mean_options(function: F) -> F:
    """How the values of queries become one."""
    mean = click.option(
        "--mean",
        type=click.Choice(list(get_args(How))),
        default="arithmetic",
        show_default=True,
        help="How to average over queries.",
    )
    weights = click.option("--weights", metavar="FILE", help="Weights of queries; lines of query<TAB>weight.")
    return mean(weights(function))


def format_options(function: F) -> F:
    """Overruling the recognition of formats."""
    run = click.option(
        "--run-format", type=click.Choice(list(RUN_FORMATS)), help="Format of the runs, if not recognised."
    )
    qrels = click.option(
        "--qrels-format", type=click.Choice(list(QRELS_FORMATS)), help="Format of the qrels, if not recognised."
    )
    return run(qrels(function))


def grade_words_option(function: F) -> F:
    """What grades that are words stand for."""
    usual = ", ".join(f"{word} {grade:g}" for word, grade in GRADE_WORDS.items())
    return click.option(
        "--grade-words",
        metavar="WORD=GRADE,…",
        callback=lambda _, __, given: GRADE_WORDS if given is None else split_grade_words(given),
        help=f"What grades in words stand for. [default: {usual}]",
    )(function)


def split_grade_words(given: str) -> dict[str, float]:
    """Grades by word.

    >>> split_grade_words("relevant=2, partially=0.5")
    {'relevant': 2.0, 'partially': 0.5}
    """
    from cranfield.io import parse_decimal

    words: dict[str, float] = {}
    for part in given.split(","):
        word, sign, token = (text.strip() for text in part.partition("="))
        if not word or not sign:
            raise InputError(f"--grade-words: expected word=grade, parted by commas, found {part.strip()!r}.")
        grade = parse_decimal(token.encode(), f"--grade-words: the grade of {word!r},")
        if words.setdefault(word.lower(), grade) != grade:
            raise InputError(f"--grade-words: {word!r} has two grades, {words[word.lower()]:g} and {grade:g}.")
    return words


def split_measures(given: Sequence[str]) -> list[str]:
    """Measures as given, several in one argument being parted by white space.

    >>> split_measures(["nDCG@10 AP", "P(rel=2, judged_only=True)@5"])
    ['nDCG@10', 'AP', 'P(rel=2, judged_only=True)@5']
    """
    if not all(text.strip() for text in given):
        raise MeasureError("a measure without a name: -m needs one, e.g. -m nDCG@10.")
    return [name for text in given for name in re.findall(r"(?:\([^)]*\)+|\S)+", text)]


def on_terminal() -> bool:
    """Whether results go to a terminal that shows styles; NO_COLOR and dumb terminals are respected."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def width() -> int:
    """The width to fit into: the terminal's, at least 80; no limit where output is piped."""
    if not sys.stdout.isatty():
        return 10_000
    import shutil

    return max(80, shutil.get_terminal_size().columns)


def program() -> str:
    """What this command is called where it is typed: its path, if PATH leads to another one or to none."""
    own = sys.argv[0] if os.path.basename(sys.argv[0]) == "cranfield" else _beside_python("cranfield")
    if not os.path.isfile(own):
        return f"{_typed(sys.executable)} -m cranfield"
    found = shutil.which("cranfield")
    return "cranfield" if found is not None and os.path.samefile(found, own) else _typed(own)


def _beside_python(name: str) -> str:
    return os.path.join(os.path.dirname(sys.executable), name)


def _typed(path: str) -> str:
    """A program as it is typed in this folder."""
    absolute, here = os.path.abspath(path), os.getcwd()
    if not absolute.startswith(os.path.join(here, "")):
        return shlex.quote(absolute)
    inside = os.path.relpath(absolute, here)
    return shlex.quote(inside if os.sep in inside else os.path.join(os.curdir, inside))


def echo(*texts: str) -> None:
    """Print a result; ids that are not UTF-8 come out byte for byte."""
    sys.stdout.flush()
    try:
        for text in texts:
            sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # the reader of a pipe has gone: nothing is wrong, but Python would complain when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def progress(items: Iterable[T], total: int | None, label: str) -> Iterator[T]:
    """Go through items as they are made; after a second show a bar, on a terminal only, or a count without a total."""
    if not sys.stderr.isatty() or (total is not None and total < 2):
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    shown = time.monotonic() + 0.9  # the first time after a second
    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)
    try:
        for done, item in enumerate(items, 1):
            now = time.monotonic()
            if now - shown > 0.1:
                bar.start()
                what = label if total is not None else f"{label} {done:,}"
                bar.update(task, completed=done, description=what)
                shown = now
            yield item
    finally:
        bar.stop()
