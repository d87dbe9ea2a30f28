"""Reading what the arguments of a command name. Imports are late: eval reads ahead before NumPy loads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from cranfield.base import GRADE_WORDS, OnDuplicate
from cranfield.errors import InputError

if TYPE_CHECKING:
    from cranfield.data import Qrels
    from cranfield.evaluation import Evaluator
    from cranfield.joining import ReadAhead


def require_one_stdin(*files: str | None) -> None:
    """Refuse '-' in more than one place."""
    if files.count("-") > 1:
        raise InputError("'-' is given twice, but there is only one standard input.")


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths name the same file, as far as their text tells."""
    return one == other or os.path.abspath(one) == os.path.abspath(other)


def read_judgments(
    place: str,
    format: str | None,
    grade_words: Mapping[str, float] = GRADE_WORDS,
    on_duplicate: OnDuplicate = "error",
    read_ahead: ReadAhead | None = None,
) -> Qrels:
    """The judgments in a file, or in a collection named with its folder (`cacm:DIR`), whose notes are printed."""
    from cranfield.io import read_qrels

    # without a colon it cannot be a collection, and the collections need not be imported
    if ":" in place and not os.path.exists(place):
        from cranfield.lab import is_named, open_collection

        if is_named(place):
            if format is not None:
                raise InputError(f"--qrels-format {format} is for files; {place} has its own format.")
            collection = open_collection(place)
            judgments = collection.qrels()
            _print_notes_once(place, collection.notes)
            return judgments
    ahead = None if read_ahead is None else read_ahead.judgments
    return read_qrels(place, format, grade_words=grade_words, on_duplicate=on_duplicate, read_ahead=ahead)


def _print_notes_once(place: str, notes: Sequence[str]) -> None:
    """Print notes on a collection; some commands read it again with another convention."""
    context = click.get_current_context()
    printed = context.meta.setdefault(__name__, set())
    if not context.params.get("quiet") and place not in printed:
        printed.add(place)
        for note in notes:
            click.echo(f"Note: {note}", err=True)


def read_evaluator(
    qrels: str,
    measures: Sequence[str],
    read_ahead: ReadAhead | None = None,
    *,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    against: str | None,
    on_duplicate: OnDuplicate,
    **options: Any,
) -> Evaluator:
    """An evaluator with the judgments, and the run of --against, read from files; options as `Evaluator` takes them."""
    from cranfield.evaluation import Evaluator
    from cranfield.io import read_run

    return Evaluator(
        read_judgments(qrels, qrels_format, grade_words, on_duplicate, read_ahead),
        measures,
        against=read_run(against, run_format, on_duplicate=on_duplicate) if against else None,
        on_duplicate=on_duplicate,
        **options,
    )
