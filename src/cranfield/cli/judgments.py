"""cranfield judgments: a log of judgments, planned, looked at, and taken in and out of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.base import replace
from cranfield.cli.options import echo, grade_words_option, on_terminal, width
from cranfield.errors import InputError


@click.group(name="judgments")
def command() -> None:
    """Plan judging, see how far it is, take judgments in and out of a log.

    LOG is the file that `cranfield judge` or `cranfield serve` keeps (pool.judgments.db), or postgresql://….

    \b
    Example:
      cranfield judgments plan pool.judgments.db --pool pool.jsonl --assessor ada --assessor grace --overlap 20
      cranfield judgments status pool.judgments.db
      cranfield judgments export pool.judgments.db --rule majority -o qrels.txt
      cranfield judgments import pool.judgments.db judgments-ada.jsonl
    """


@command.command(name="export")
@click.argument("log", metavar="LOG")
@click.option("--rule", default="majority", show_default=True, help="What counts where several judged; see below.")
@click.option(
    "--ties",
    type=click.Choice(["lower", "higher", "first", "drop"]),
    default="lower",
    show_default=True,
    help="Which of the grades that tie.",
)
@click.option("--primary", metavar="NAME", help="The assessor whose grades count first; for --rule primary.")
@click.option("--assessor", "assessors", metavar="NAME", multiple=True, help="Only this assessor's; repeatable.")
@click.option("--with-models", is_flag=True, help="Judgments by models too.")
@click.option("--least", type=click.IntRange(1), default=1, show_default=True, help="How many must have judged a pair.")
@click.option("--round", "rounded", is_flag=True, help="Take means to the nearest grade.")
@click.option("--unjudged", is_flag=True, help="Pairs without a judgment too, with grade -1.")
@click.option("--sample", metavar="QRELS", help="The form with five columns of a sampled pool, to be filled in.")
@click.option("--conflicts", metavar="FILE", help="Write the pairs on which assessors differ, as a table.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["trec", "sampled", "jsonl", "csv"]),
    help="qrels (trec, sampled), or the whole history (jsonl, csv). [default: by the name of the file, else trec]",
)
@click.option("--all-events", is_flag=True, help="Gold pairs and repeats too, marked, in a history.")
@click.option("-o", "--output", metavar="FILE", default="-", show_default=True, help="The file to write.")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def export(
    log: str,
    rule: str,
    ties: Any,
    primary: str | None,
    assessors: tuple[str, ...],
    with_models: bool,
    least: int,
    rounded: bool,
    unjudged: bool,
    sample: str | None,
    conflicts: str | None,
    format_: str | None,
    all_events: bool,
    output: str,
    quiet: bool,
) -> None:
    """Write judgments as qrels, by a rule where several judged the same pair, or the whole history.

    Rules: majority, median, mean, max, min, primary, dawid-skene. A grade that was adjudicated wins over all of them.
    Gold pairs and repeats are left out, and so is what could not be judged: it is no 0. A pool that was sampled gives
    qrels with five columns, for xinfAP and infNDCG.

    A file that ends with .jsonl or .csv gets the history: every event with assessor, times and notes. It can be
    imported again; --all-events makes it complete, with gold pairs and repeats.

    \b
    Example:
      cranfield judgments export pool.judgments.db --rule majority -o qrels.txt --conflicts conflicts.tsv
      cranfield judgments export pool.judgments.db --rule primary --primary ada -o qrels.txt
      cranfield judgments export pool.judgments.db -o history.jsonl
    """
    from cranfield.annotation import export_qrels, number_of_events, open_log, sampled_by, write_history
    from cranfield.io import open_output, read_qrels
    from cranfield.qrels_tools import write_judgments
    from cranfield.reporting import exported_conflicts_table, exported_text

    kind = format_ or ("jsonl" if output.endswith(".jsonl") else "csv" if output.endswith(".csv") else None)
    with open_log(log, create=False) as known:
        if kind in ("jsonl", "csv"):
            n = write_history(known, output, kind, all_events)
            kept_out = number_of_events(known) - n
            if not quiet:
                more = (
                    f" {kept_out:,} of gold pairs and repeats left out; --all-events takes them in." if kept_out else ""
                )
                click.echo(f"{n:,} events of {known.name}.{more}", err=True)
            return
        if all_events:
            raise InputError("--all-events is for a history: a file that ends with .jsonl or .csv, or --format.")
        strategy = sampled_by(known)
        if sample is None and (kind == "sampled" or (kind is None and strategy is not None)):
            why = f"the pool was sampled ({strategy})" if strategy else "--format sampled"
            raise InputError(
                f"{why}: name the form that 'cranfield pool --sample' wrote, --sample QRELS, for five columns; "
                "--format trec writes four columns, from which no measure may be estimated for the whole pool."
            )
        form = read_qrels(sample, "sampled") if sample is not None else None
        exported = export_qrels(
            known,
            rule,
            ties=ties,
            primary=primary,
            assessors=assessors or None,
            with_models=with_models,
            least=least,
            rounded=rounded,
            unjudged=unjudged,
            sample=form,
        )
        write_judgments(exported.qrels, output, exported.provenance, "trec" if form is None else "sampled")
        if conflicts is not None:
            with open_output(conflicts) as out:
                out.write(exported_conflicts_table(exported).encode("utf-8", "surrogateescape"))
        if not quiet:
            click.echo(exported_text(exported, known.settings.scale, conflicts), err=True, nl=False)


@command.command(name="import")
@click.argument("log", metavar="LOG")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--assessor", metavar="NAME", help="Whose judgments they are: qrels do not say, and files may lie.")
@click.option("--decisions", is_flag=True, help="Adjudicated grades and gold pairs too: of a history of your own.")
@click.option("--model", "is_model", is_flag=True, help="They are by a model: not merged unless asked for.")
@click.option("--format", "format_", help="jsonl, csv, or a format of qrels, if not recognised.")
@grade_words_option
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def import_(
    log: str,
    files: tuple[str, ...],
    assessor: str | None,
    decisions: bool,
    is_model: bool,
    format_: str | None,
    grade_words: Mapping[str, float],
    quiet: bool,
) -> None:
    """Take up judgments: from packets, from histories (JSON lines, CSV), or from qrels as one assessor's.

    A log that is not there is made. To import a file twice changes nothing. Where somebody has judged a document again
    since, the later judgment stays.

    What an assessor sends may hold judgments, and with --assessor only those of the one who is named. Adjudicated
    grades, and what is gold, are taken up only with --decisions: for a history that you exported yourself.

    \b
    Example:
      cranfield judgments import pool.judgments.db judgments-ada.jsonl --assessor ada
      cranfield judgments import pool.judgments.db judgments-ada.jsonl judgments-grace.jsonl
      cranfield judgments import copy.db history.jsonl --decisions
      cranfield judgments import pool.judgments.db old.qrels --assessor nist
      cranfield judgments import pool.judgments.db gpt.qrels --assessor gpt --model
    """
    from cranfield.annotation import import_judgments, open_log
    from cranfield.reporting import imported_text

    with open_log(log) as known:
        for file in files:
            done = import_judgments(
                known,
                file,
                assessor,
                format=format_,
                is_model=is_model,
                grade_words=grade_words,
                decisions=decisions,
            )
            if not quiet:
                click.echo(imported_text(done), err=True)


@command.command(name="plan")
@click.argument("log", metavar="LOG")
@click.option("--pool", "pools", metavar="POOL", multiple=True, help="Pairs to judge; repeatable.")
@click.option("--assessor", "assessors", metavar="NAME", multiple=True, help="Deal all topics to these; repeatable.")
@click.option(
    "--topic", "topics", metavar="NAME=TOPIC,…", multiple=True, help="Give topics to an assessor; repeatable."
)
@click.option("--judgments", type=click.IntRange(1), help="Different assessors for each pair. [default: 1]")
@click.option("--overlap", type=click.FloatRange(0, 100), help="Percent of pairs that get one more. [default: 0]")
@click.option("--repeats", type=click.FloatRange(0, 100), help="Percent of documents shown twice. [default: 0]")
@click.option("--gold", metavar="QRELS", help="Pairs with known grades, to be mixed in.")
@click.option("--hold", type=click.FloatRange(1), help="Seconds for which a document is not given to others.")
@click.option("--dispute", type=float, help="How far apart grades are to be adjudicated. [default: 1]")
@click.option("--grades", metavar="FILE", help="Grades other than 0 to 3; lines of grade<TAB>label<TAB>definition.")
@click.option("--guidelines", metavar="FILE", help="How to judge.")
@click.option("--seed", type=click.IntRange(0), help="For orders by chance, as long as there are none. [default: 1]")
def plan(
    log: str,
    pools: tuple[str, ...],
    assessors: tuple[str, ...],
    topics: tuple[str, ...],
    judgments: int | None,
    overlap: float | None,
    repeats: float | None,
    gold: str | None,
    hold: float | None,
    dispute: float | None,
    grades: str | None,
    guidelines: str | None,
    seed: int | None,
) -> None:
    """Say who judges what, how often, and by which grades. What is not given stays as it is.

    As long as no topic is given to anybody, everybody may judge everything, and nobody gets a document that others have
    done or are looking at. Repeats show how consistent judges are, gold pairs how right; both are in no export.

    \b
    Example:
      cranfield judgments plan pool.judgments.db --pool pool.jsonl --assessor ada --assessor grace --overlap 20
      cranfield judgments plan pool.judgments.db --topic ada=1,2,3 --topic grace=4,5,6
      cranfield judgments plan pool.judgments.db --repeats 5 --gold known.qrels --guidelines guidelines.txt
    """

    from cranfield.annotation import Assignment, assign, deal
    from cranfield.cli.judge import opened
    from cranfield.io import read_qrels
    from cranfield.reporting import not_gold_text, status_text

    with opened(log, grades, guidelines) as known:
        given: dict[str, Any] = {
            "judgments": judgments,
            "overlap": None if overlap is None else overlap / 100,
            "repeats": None if repeats is None else repeats / 100,
            "hold": hold,
            "dispute": dispute,
            "seed": seed,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        if changes:
            known.set_up(replace(known.settings, **changes))
        for pool in pools:
            known.add_pool(pool)
        if gold is not None:
            right = read_qrels(gold).to_dict()
            known.add_gold(right)
            for line in not_gold_text(known, right):
                click.echo(line, err=True)
        if assessors:
            deal(known, assessors)
        assign(known, [Assignment(name, topic) for name, own in map(_assigned, topics) for topic in own])
        echo(status_text(known, min(width(), 100), on_terminal()))


def _assigned(given: str) -> tuple[str, list[str]]:
    name, sign, topics = given.partition("=")
    found = [topic.strip() for topic in topics.split(",") if topic.strip()]
    if not sign or not name.strip() or not found:
        raise InputError(f"--topic {given}: expected NAME=TOPIC,TOPIC.")
    return name.strip(), found


@command.command(name="status")
@click.argument("log", metavar="LOG")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print."
)
def status(log: str, format_: str) -> None:
    """Say how far judging is, how fast it goes, and how much assessors agree.

    \b
    Example:
      cranfield judgments status pool.judgments.db
      cranfield judgments status pool.judgments.db --format json
    """
    from cranfield.annotation import open_log
    from cranfield.reporting import status_json, status_text

    with open_log(log, create=False) as known:
        echo(status_json(known) if format_ == "json" else status_text(known, min(width(), 100), on_terminal()))
