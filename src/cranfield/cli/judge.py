"""cranfield judge: judge the documents of a pool in the terminal."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Container, Sequence
from typing import Any

import click

from cranfield.annotation import (
    AdjudicationSession,
    AssessorSession,
    JudgingSession,
    JudgmentLog,
    TerminalSession,
    TextLookup,
    default_log_path,
    has_screen,
    open_log,
    read_scale,
    run_in_terminal,
    start_adaptive_pool,
)
from cranfield.base import replace
from cranfield.cli.options import option_group, quiet_option, topics_format_option
from cranfield.cli.output import has_styles, show_progress
from cranfield.data import Topic
from cranfield.errors import InputError
from cranfield.experiment import Adaptive
from cranfield.io import Input
from cranfield.lab import open_collection, topics_from
from cranfield.pooling import as_sorted_runs, collect_ranked_lists, read_runs
from cranfield.reporting import annotation as report

# a pool that grows while it is judged; `parse_adaptive` takes them
adaptive_options = option_group(
    click.option("--adaptive", metavar="STRATEGY", help="Let the pool grow as judgments arrive: mm-ns, mtf, …"),
    click.option("--depth", type=click.IntRange(1), help="Documents of each run to take from. [default: 100]"),
    click.option("--budget", type=click.IntRange(1), metavar="N", help="Most documents per topic."),
    click.option("--batch", type=click.IntRange(1), metavar="N", help="Documents per topic at a time."),
)

# what is judged, and by which grades
material_options = option_group(
    click.option("--topics", metavar="FILE", required=True, help="The topics, in any format."),
    click.option("--documents", metavar="FILE", required=True, help="The documents: a file, a folder or a collection."),
    click.option("--grades", metavar="FILE", help="Grades other than 0 to 3; lines of grade<TAB>label<TAB>definition."),
    click.option("--guidelines", metavar="FILE", help="Guidelines, one key away. [default: those of TREC]"),
    topics_format_option,
)


@click.command(name="judge")
@click.argument("pool", metavar="POOL")
@material_options
@click.option("--log", "place", metavar="LOG", help="Where to store judgments: a file, or postgresql://….")
@click.option("--assessor", metavar="NAME", help="Your name. [default: the name of the user]")
@click.option("--run", "runs", metavar="RUN", multiple=True, help="A run that --adaptive takes from; repeatable.")
@adaptive_options
@click.option("--adjudicate", "adjudicates", is_flag=True, help="Resolve disagreements instead of judging.")
@click.option("--names", is_flag=True, help="With --adjudicate: show who gave which grade.")
@click.option("--plain", is_flag=True, help="Print lines instead of a screen, as in a pipe; for screen readers.")
@quiet_option
def command(
    pool: str,
    topics: str,
    documents: str,
    place: str | None,
    assessor: str | None,
    grades: str | None,
    guidelines: str | None,
    runs: tuple[str, ...],
    topics_format: str | None,
    adjudicates: bool,
    names: bool,
    plain: bool,
    quiet: bool,
    **growing: Any,
) -> None:
    """Judge the documents of a pool, one at a time.

    POOL is written by `cranfield pool`. Judgments go to a log beside it (pool.judgments.db for pool.jsonl); each is
    saved before the next document is shown. The same command resumes where you stopped, in the same order. Several
    people may judge at once, each under their own name. Documents are shown in random order, without rank, score or
    system.

    \b
    Keys: a digit assigns a grade, saves it and shows the next document
      b back     u undo        s skip   x cannot judge (not a 0)
      n note     t next topic  / find   h highlight words of the topic
      g guidelines   ? help    q quit   space for more of the document
    In lines, a text follows its key: n too short to tell

    With --adaptive the pool grows: when the documents of a topic are judged, a strategy of `cranfield pool` takes more
    from the runs, guided by the judgments so far. The topics are those of the pool, or of --topics if it is empty.

    With --adjudicate, you see documents on which assessors disagree, with their grades but without names. A digit
    decides; this grade takes precedence over every merging rule.

    \b
    Example:
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl --assessor ada
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl --log postgresql://host/judging
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl --assessor eve --adjudicate
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl --adaptive mm-ns --run bm25.run
    """
    if names and not adjudicates:
        raise InputError("--names needs --adjudicate: assessors do not see the grades of others.")
    growth = parse_adaptive(**growing)
    if bool(runs) != (growth is not None):
        raise InputError("--adaptive and --run go together: a pool grows from runs.")
    with open_log_with(place or log_beside(pool), grades, guidelines) as log:
        log.add_pool(pool)
        texts, refill = _read_material(log, runs, growth, topics_from(topics, topics_format), documents, quiet)
        is_plain = plain or not has_screen(sys.stdin, sys.stdout)
        name, method = assessor or _user_name(), "line" if is_plain else "key"
        if adjudicates:
            summary = report.summarize_adjudication(
                _run(AdjudicationSession(log, name, texts, method, names=names), is_plain), log
            )
        else:
            summary = report.summarize_session(
                _run(JudgingSession(AssessorSession(log, name, refill), texts, method), is_plain), log
            )
        if not quiet:
            click.echo(summary, err=True)


def _read_material(
    log: JudgmentLog,
    runs: Sequence[str],
    growth: Adaptive | None,
    topics: Sequence[Topic],
    documents: str,
    quiet: bool,
) -> tuple[TextLookup, Callable[[str], int] | None]:
    """The texts to judge, and what adds documents to the pool, if it grows."""
    docs = [pair.doc for pair in log.pairs()]
    refill = None
    if growth is not None:
        refill, more = refill_from(log, runs, growth, {topic.id for topic in topics})
        docs += more
    return read_texts(topics, documents, log.topics(), docs, quiet), refill


def _run(session: TerminalSession, is_plain: bool) -> int:
    """Let the assessor judge until they quit; the number of judgments."""
    try:
        run_in_terminal(session, is_plain, has_styles())
    finally:
        session.close()
    return session.judged


def parse_adaptive(adaptive: str | None, depth: int | None, budget: int | None, batch: int | None) -> Adaptive | None:
    """How a pool grows while it is judged; None if it does not."""
    if adaptive is not None:
        return Adaptive(adaptive, depth or Adaptive.depth, budget, batch)
    if any(value is not None for value in (depth, budget, batch)):
        raise InputError("--depth, --budget and --batch need --adaptive STRATEGY.")
    return None


def refill_from(
    log: JudgmentLog, files: Sequence[str], growth: Adaptive, topics: Container[str]
) -> tuple[Callable[[str], int], list[str]]:
    """A function that adds documents of runs to a pool, and all documents that it may add."""
    runs = list(show_progress(read_runs(files), len(files), "reading runs"))
    refill = start_adaptive_pool(
        log, runs, growth.strategy, growth.depth, growth.budget, growth.batch, log.settings.seed, topics
    )
    lists, judged = collect_ranked_lists(as_sorted_runs(runs), growth.depth), set(log.topics())
    return refill, [doc for query, own in lists.items() if query in judged for doc in own.ranks]


def log_beside(pool: str) -> str:
    """Where judgments of a pool are stored by default."""
    if pool == "-":
        raise InputError("a pool from standard input needs a log: --log FILE.")
    return default_log_path(pool)


def open_log_with(place: str, grades: str | None = None, guidelines: str | None = None) -> JudgmentLog:
    """A log, with new grades and guidelines if they are given."""
    log = open_log(place)
    changes: dict[str, Any] = {}
    if grades is not None:
        changes["scale"] = read_scale(grades)
    if guidelines is not None:
        changes["guidelines"] = read_guidelines(guidelines)
    settings = replace(log.settings, **changes)
    if settings != log.settings:
        log.configure(settings)
    return log


def read_guidelines(file: str) -> str:
    """The text of guidelines."""
    with Input(file) as source:
        return source.read().decode("utf-8", "replace").strip()


def read_texts(
    topics: Sequence[Topic], documents: str, queries: Sequence[str], docs: Sequence[str], quiet: bool
) -> TextLookup:
    """The texts to judge; warnings name those that are missing."""
    read = show_progress(open_collection(documents).documents(), None, "reading documents")
    texts = TextLookup.of(topics, read, docs)
    if docs and not texts.documents:
        raise InputError("none of the documents in the pool is here. Do the ids match?", documents)
    if not quiet:
        for note in texts.describe_missing(queries, docs):
            click.echo(f"Warning: {note}", err=True)
    return texts


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise InputError("your name is unknown: give --assessor NAME.") from None
