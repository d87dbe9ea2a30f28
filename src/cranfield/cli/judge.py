"""cranfield judge: the documents of a pool, one at a time, in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

import click

from cranfield.base import replace
from cranfield.cli.options import on_terminal, progress
from cranfield.errors import InputError

if TYPE_CHECKING:
    from cranfield.annotation import JudgmentLog, Texts
    from cranfield.data import Topic
    from cranfield.experiment import Adaptive

_GROWING = (
    click.option("--adaptive", metavar="STRATEGY", help="Let the pool grow as judgments arrive: mm-ns, mtf, …"),
    click.option("--depth", type=click.IntRange(1), help="Documents of each run that it may take. [default: 100]"),
    click.option("--budget", type=click.IntRange(1), metavar="N", help="Documents of each topic at most."),
    click.option("--batch", type=click.IntRange(1), metavar="N", help="Documents of each topic at a time."),
)


def adaptive_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a pool that grows while it is judged."""
    for option in reversed(_GROWING):
        command = option(command)
    return command


@click.command(name="judge")
@click.argument("pool", metavar="POOL")
@click.option("--topics", metavar="FILE", required=True, help="The topics, in any format that is read.")
@click.option("--documents", metavar="FILE", required=True, help="The documents: a file, a folder or a collection.")
@click.option("--log", "place", metavar="LOG", help="Where judgments are kept: a file, or postgresql://….")
@click.option("--assessor", metavar="NAME", help="Who judges. [default: the name of the user]")
@click.option("--grades", metavar="FILE", help="Grades other than 0 to 3; lines of grade<TAB>label<TAB>definition.")
@click.option("--guidelines", metavar="FILE", help="How to judge: one key away. [default: as TREC tells its assessors]")
@click.option(
    "--run", "runs", metavar="RUN", multiple=True, help="A run that --adaptive feeds the pool from; repeatable."
)
@adaptive_options
@click.option("--topics-format", help="Format of the topics, if not recognised.")
@click.option("--adjudicate", "adjudicates", is_flag=True, help="Decide where judges disagree, instead of judging.")
@click.option("--names", is_flag=True, help="With --adjudicate: say who gave which grade.")
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
    runs: tuple[str, ...],
    adaptive: str | None,
    depth: int | None,
    budget: int | None,
    batch: int | None,
    topics_format: str | None,
    adjudicates: bool,
    names: bool,
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

    With --adaptive the pool grows: when the documents of a topic are judged, a strategy of `cranfield pool` takes more
    out of the runs, guided by the judgments so far. Topics are those of the pool, or if it is empty, of --topics.

    With --adjudicate, documents are shown whose judges disagree, with the grades that were given, without names. A
    digit decides: this grade wins over every rule.

    \b
    Example:
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl --assessor ada
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl --log postgresql://host/judging
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl --assessor eve --adjudicate
      cranfield judge pool.jsonl --topics topics.xml --documents documents.jsonl --adaptive mm-ns --run bm25.run
    """
    from cranfield.annotation import Desk, Seat, Settling, Sitting, has_screen, run
    from cranfield.lab import topics_from
    from cranfield.reporting import after_adjudicating, after_sitting

    if names and not adjudicates:
        raise InputError("--names goes with --adjudicate: judges do not see what others think.")
    growing = adaptive_of(adaptive, depth, budget, batch)
    if bool(runs) != (growing is not None):
        raise InputError("--adaptive and --run go together: a pool that grows is fed by runs.")
    with opened(place or log_beside(pool), grades, guidelines) as log:
        log.add_pool(pool)
        asked = topics_from(topics, topics_format)
        feed, more = (None, []) if growing is None else fed_by(log, runs, growing, {topic.id for topic in asked})
        docs = [*(pair.doc for pair in log.pairs()), *more]
        texts = read_texts(asked, documents, log.topics(), docs, quiet)
        is_plain = plain or not has_screen(sys.stdin, sys.stdout)
        who, method = assessor or _user(), "line" if is_plain else "key"
        seat: Seat = (
            Settling(log, who, texts, method, names=names)
            if adjudicates
            else Sitting(Desk(log, who, feed), texts, method)
        )
        try:
            run(seat, is_plain, on_terminal())
        finally:
            seat.leave()
        if not quiet:
            after = after_adjudicating if adjudicates else after_sitting
            click.echo(after(seat.judged, log), err=True)


def adaptive_of(strategy: str | None, depth: int | None, budget: int | None, batch: int | None) -> Adaptive | None:
    """How a pool grows while it is judged, if it is to."""
    from cranfield.experiment import Adaptive

    if strategy is not None:
        return Adaptive(strategy, depth or Adaptive.depth, budget, batch)
    if any(given is not None for given in (depth, budget, batch)):
        raise InputError("--depth, --budget and --batch go with --adaptive STRATEGY.")
    return None


def fed_by(
    log: JudgmentLog, files: Sequence[str], wanted: Adaptive, topics: Container[str]
) -> tuple[Callable[[str], int], list[str]]:
    """What feeds a pool out of runs, and all documents that it may come to; the topics of an empty pool are these."""
    from cranfield.annotation import growing
    from cranfield.pooling import as_sorted_runs, collect_ranked_lists, read_runs

    runs = list(progress(read_runs(files), len(files), "reading runs"))
    feed = growing(log, runs, wanted.strategy, wanted.depth, wanted.budget, wanted.batch, log.settings.seed, topics)
    lists, judged = collect_ranked_lists(as_sorted_runs(runs), wanted.depth), set(log.topics())
    return feed, [doc for query, own in lists.items() if query in judged for doc in own.ranks]


def log_beside(pool: str) -> str:
    """Where judgments of a pool are kept unless told otherwise."""
    from cranfield.annotation import beside

    if pool == "-":
        raise InputError("a pool from standard input has no place beside it: name the log, --log FILE.")
    return beside(pool)


def opened(place: str, grades: str | None = None, guidelines: str | None = None) -> JudgmentLog:
    """A log, with grades and guidelines where they are given."""

    from cranfield.annotation import open_log, read_scale

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
    from cranfield.io import Input

    with Input(file) as source:
        return source.read().decode("utf-8", "replace").strip()


def read_texts(
    topics: Sequence[Topic], documents: str, queries: Sequence[str], docs: Sequence[str], quiet: bool
) -> Texts:
    """The texts of what is to be judged; what has none is named."""
    from cranfield.annotation import Texts
    from cranfield.lab import open_collection

    found = progress(open_collection(documents).documents(), None, "reading documents")
    texts = Texts.of(topics, found, docs)
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
