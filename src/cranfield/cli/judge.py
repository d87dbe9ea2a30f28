"""cranfield judge: the documents of a pool, one at a time, in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cranfield.cli.options import on_terminal, progress
from cranfield.errors import InputError

if TYPE_CHECKING:
    from cranfield.judging import JudgmentLog
    from cranfield.judging.texts import Texts


@click.command(name="judge")
@click.argument("pool", metavar="POOL")
@click.option("--topics", metavar="FILE", required=True, help="The topics, in any format that is read.")
@click.option("--documents", metavar="FILE", required=True, help="The documents: a file, a folder or a collection.")
@click.option("--log", "place", metavar="LOG", help="Where judgments are kept: a file, or postgresql://….")
@click.option("--assessor", metavar="NAME", help="Who judges. [default: the name of the user]")
@click.option("--grades", metavar="FILE", help="Grades other than 0 to 3; lines of grade<TAB>label<TAB>definition.")
@click.option("--guidelines", metavar="FILE", help="How to judge: a text that is one key away.")
@click.option("--topics-format", help="Format of the topics, if not recognised.")
@click.option("--plain", is_flag=True, help="Lines instead of a screen, as in a pipe; for screen readers.")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def command(
    pool: str,
    topics: str,
    documents: str,
    place: str | None,
    assessor: str | None,
    grades: str | None,
    guidelines: str | None,
    topics_format: str | None,
    plain: bool,
    quiet: bool,
) -> None:
    """Judge the documents of a pool, one at a time.

    POOL is what `cranfield pool` wrote. Judgments go to a log beside it (pool.judgments.db for pool.jsonl), each saved
    before the next document is shown; the same command goes on where you stopped, in the same order. Several people
    may judge at once, each with a name. The order is by chance; rank, score and system of a document are not shown.

    \b
    Keys: digits give a grade, save it and go on
      b back     u undo        s skip   x cannot judge (never a 0)
      n note     t next topic  / find   h highlight words of the topic
      g guidelines   ? help    q quit   space for more of the document
    In lines, a text stands behind its key: n too short to tell

    \b
    Example:
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl --assessor ada
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl --log postgresql://host/judging
    """
    from cranfield.judging import Desk
    from cranfield.judging.sitting import Sitting
    from cranfield.judging.terminal import has_screen, run
    from cranfield.report.judging import after_sitting

    with opened(place or log_beside(pool), grades, guidelines) as log:
        log.add_pool(pool)
        docs = [pair.doc for pair in log.pairs()]
        texts = read_texts(topics, documents, topics_format, log.topics(), docs, quiet)
        is_plain = plain or not has_screen(sys.stdin, sys.stdout)
        sitting = Sitting(Desk(log, assessor or _user()), texts, "line" if is_plain else "key")
        run(sitting, is_plain, on_terminal())
        if not quiet:
            click.echo(after_sitting(sitting.judged, log), err=True)


def log_beside(pool: str) -> str:
    """Where judgments of a pool are kept unless told otherwise."""
    from cranfield.judging.log import beside

    if pool == "-":
        raise InputError("a pool from standard input has no place beside it: name the log, --log FILE.")
    return beside(pool)


def opened(place: str, grades: str | None = None, guidelines: str | None = None) -> JudgmentLog:
    """A log, with grades and guidelines where they are given."""
    from dataclasses import replace

    from cranfield.judging import open_log, read_scale

    log = open_log(place)
    settings = log.settings
    if grades is not None:
        settings = replace(settings, scale=read_scale(grades))
    if guidelines is not None:
        settings = replace(settings, guidelines=guidelines_in(guidelines))
    if settings != log.settings:
        log.set_up(settings)
    return log


def guidelines_in(file: str) -> str:
    """The text of guidelines."""
    from cranfield.opening import Input

    with Input(file) as source:
        return source.read().decode("utf-8", "replace").strip()


def read_texts(
    topics: str, documents: str, topics_format: str | None, queries: Sequence[str], docs: Sequence[str], quiet: bool
) -> Texts:
    """The texts of what is to be judged; what has none is named."""
    from cranfield.judging.texts import Texts
    from cranfield.lab.collections import open_collection, topics_from

    found = progress(open_collection(documents).documents(), None, "reading documents")
    texts = Texts.of(topics_from(topics, topics_format), found, docs)
    if docs and not texts.documents:
        raise InputError("none of the documents of the pool is among these. Are the ids the same?", documents)
    if not quiet:
        for note in texts.missing(queries, docs):
            click.echo(f"Warning: {note}", err=True)
    return texts


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise InputError("who are you? Say so: --assessor NAME.") from None
