"""cranfield judgments: plan judging, track it, import and export judgments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.annotation import (
    Assignment,
    JudgmentLog,
    assign,
    assign_evenly,
    count_events,
    export_qrels,
    find_sampling_strategy,
    import_judgments,
    open_log,
    write_history,
)
from cranfield.base import replace
from cranfield.cli.judge import open_log_with
from cranfield.cli.options import choice_option, format_option, grade_words_option, quiet_option
from cranfield.cli.output import echo, has_styles, line_width, write_text
from cranfield.errors import InputError
from cranfield.io import read_qrels
from cranfield.qrels_tools import MERGE_TIES, write_judgments
from cranfield.reporting import annotation as report


@click.group(name="judgments")
def command() -> None:
    """Plan judging, track its progress, import and export judgments.

    LOG is the file that `cranfield judge` or `cranfield serve` writes (pool.judgments.db), or postgresql://….

    \b
    Example:
      cranfield judgments plan pool.judgments.db --pool pool.jsonl --assessor ada --assessor grace --overlap 20
      cranfield judgments status pool.judgments.db
      cranfield judgments export pool.judgments.db --rule majority -o qrels.txt
      cranfield judgments import pool.judgments.db judgments-ada.jsonl
    """


@command.command(name="export")
@click.argument("log", metavar="LOG")
@click.option("--rule", default="majority", show_default=True, help="How to merge several judgments; see below.")
@choice_option("--ties", tuple(MERGE_TIES), "lower", "Which grade counts if several tie.")
@click.option("--primary", metavar="NAME", help="The assessor whose grades take precedence, for --rule primary.")
@click.option("--assessor", "assessors", metavar="NAME", multiple=True, help="Only this assessor; repeatable.")
@click.option("--with-models", is_flag=True, help="Include judgments by models.")
@click.option("--least", type=click.IntRange(1), default=1, show_default=True, help="Assessors required for a pair.")
@click.option("--round", "rounded", is_flag=True, help="Round means to the nearest grade.")
@click.option("--unjudged", is_flag=True, help="Include pairs without a judgment, with grade -1.")
@click.option("--sample", metavar="QRELS", help="The five-column qrels of a sampled pool, to fill in.")
@click.option("--conflicts", metavar="FILE", help="Write the pairs on which assessors differ, as a table.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["trec", "sampled", "jsonl", "csv"]),
    help="qrels (trec, sampled), or the history (jsonl, csv). [default: by the suffix of the file, else trec]",
)
@click.option("--all-events", is_flag=True, help="Include gold pairs and repeats in a history, marked as such.")
@click.option("-o", "--output", metavar="FILE", default="-", show_default=True, help="The file to write.")
@quiet_option
def export(
    log: str,
    format_: str | None,
    all_events: bool,
    output: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Write judgments as qrels, or the whole history.

    A rule merges several judgments of a pair: majority, median, mean, max, min, primary, dawid-skene. An adjudicated
    grade takes precedence over all of them. Gold pairs, repeats and documents that could not be judged are left out. A
    sampled pool gives qrels with five columns, for xinfAP and infNDCG.

    A file with the suffix .jsonl or .csv gets the history: every event with assessor, times and notes. It can be
    imported again; --all-events makes it complete, with gold pairs and repeats.

    \b
    Example:
      cranfield judgments export pool.judgments.db --rule majority -o qrels.txt --conflicts conflicts.tsv
      cranfield judgments export pool.judgments.db --rule primary --primary ada -o qrels.txt
      cranfield judgments export pool.judgments.db -o history.jsonl
    """
    suffix = output.rpartition(".")[2]
    kind = format_ or (suffix if suffix in ("jsonl", "csv") else None)
    with open_log(log, create=False) as opened:
        if kind in ("jsonl", "csv"):
            _export_history(opened, output, kind, all_events, quiet)
            return
        if all_events:
            raise InputError("--all-events is for a history: name a .jsonl or .csv file, or give --format.")
        _export_qrels(opened, output, kind, quiet, **options)


def _export_history(log: JudgmentLog, output: str, kind: str, all_events: bool, quiet: bool) -> None:
    n = write_history(log, output, kind, all_events)
    omitted = count_events(log) - n
    if not quiet:
        more = f" Left out {omitted:,} of gold pairs and repeats; --all-events includes them." if omitted else ""
        click.echo(f"{n:,} events of {log.name}.{more}", err=True)


def _export_qrels(
    log: JudgmentLog,
    output: str,
    kind: str | None,
    quiet: bool,
    *,
    sample: str | None,
    conflicts: str | None,
    assessors: tuple[str, ...],
    **options: Any,
) -> None:
    strategy = find_sampling_strategy(log)
    if sample is None and (kind == "sampled" or (kind is None and strategy is not None)):
        why = f"the pool was sampled ({strategy})" if strategy else "--format sampled"
        raise InputError(
            f"{why}: give the qrels that 'cranfield pool --sample' wrote, --sample QRELS, to get five columns; "
            "--format trec writes four columns, from which no measure can be estimated for the whole pool."
        )
    form = read_qrels(sample, "sampled") if sample is not None else None
    exported = export_qrels(log, assessors=assessors or None, sample=form, **options)
    write_judgments(exported.qrels, output, exported.provenance, "trec" if form is None else "sampled")
    if conflicts is not None:
        write_text(report.format_export_conflicts(exported), conflicts)
    if not quiet:
        click.echo(report.describe_export(exported, log.settings.scale, conflicts), err=True, nl=False)


@command.command(name="import")
@click.argument("log", metavar="LOG")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--assessor", metavar="NAME", help="The assessor; required for qrels, and a check for other files.")
@click.option("--decisions", is_flag=True, help="Include adjudicated grades and gold pairs, from your own history.")
@click.option("--model", "is_model", is_flag=True, help="The judgments are by a model; not merged by default.")
@click.option("--format", "format_", help="jsonl, csv, or a format of qrels, if it is not detected.")
@grade_words_option
@quiet_option
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
    """Import judgments: from packets, from histories (JSON lines, CSV), or from qrels of one assessor.

    A log that does not exist is created. Importing a file twice changes nothing. If somebody has judged a document
    again since, the later judgment stays.

    With --assessor, only judgments of that assessor are imported. Adjudicated grades and gold pairs are imported only
    with --decisions: use it for a history that you exported yourself.

    \b
    Example:
      cranfield judgments import pool.judgments.db judgments-ada.jsonl --assessor ada
      cranfield judgments import pool.judgments.db judgments-ada.jsonl judgments-grace.jsonl
      cranfield judgments import copy.db history.jsonl --decisions
      cranfield judgments import pool.judgments.db old.qrels --assessor nist
      cranfield judgments import pool.judgments.db gpt.qrels --assessor gpt --model
    """
    with open_log(log) as opened:
        for file in files:
            imported = import_judgments(
                opened,
                file,
                assessor,
                format=format_,
                is_model=is_model,
                grade_words=grade_words,
                decisions=decisions,
            )
            if not quiet:
                click.echo(report.describe_import(imported), err=True)


@command.command(name="plan")
@click.argument("log", metavar="LOG")
@click.option("--pool", "pools", metavar="POOL", multiple=True, help="Pairs to judge; repeatable.")
@click.option("--assessor", "assessors", metavar="NAME", multiple=True, help="Assign all topics to these; repeatable.")
@click.option(
    "--topic", "topics", metavar="NAME=TOPIC,…", multiple=True, help="Assign topics to an assessor; repeatable."
)
@click.option("--judgments", type=click.IntRange(1), help="Assessors per pair. [default: 1]")
@click.option("--overlap", type=click.FloatRange(0, 100), help="Percent of pairs with one more assessor. [default: 0]")
@click.option("--repeats", type=click.FloatRange(0, 100), help="Percent of documents shown twice. [default: 0]")
@click.option("--gold", metavar="QRELS", help="Pairs with known grades, to mix in.")
@click.option("--hold", type=click.FloatRange(1), help="Seconds for which a document is reserved for one assessor.")
@click.option("--dispute", type=float, help="Difference of grades that needs adjudication. [default: 1]")
@click.option("--grades", metavar="FILE", help="Grades other than 0 to 3; lines of grade<TAB>label<TAB>definition.")
@click.option("--guidelines", metavar="FILE", help="Guidelines for assessors.")
@click.option("--seed", type=click.IntRange(0), help="Seed of random orders; fixed once judging begins. [default: 1]")
def plan(
    log: str,
    pools: tuple[str, ...],
    assessors: tuple[str, ...],
    topics: tuple[str, ...],
    gold: str | None,
    grades: str | None,
    guidelines: str | None,
    **settings: Any,
) -> None:
    """Set who judges what, how often, and with which grades. Settings that are not given stay as they are.

    As long as no topic is assigned, everybody may judge everything, and nobody gets a document that others have judged
    or are looking at. Repeats measure the consistency of assessors, gold pairs their accuracy; neither is exported.

    \b
    Example:
      cranfield judgments plan pool.judgments.db --pool pool.jsonl --assessor ada --assessor grace --overlap 20
      cranfield judgments plan pool.judgments.db --topic ada=1,2,3 --topic grace=4,5,6
      cranfield judgments plan pool.judgments.db --repeats 5 --gold known.qrels --guidelines guidelines.txt
    """
    changes = {name: value for name, value in settings.items() if value is not None}
    changes |= {name: changes[name] / 100 for name in ("overlap", "repeats") if name in changes}
    with open_log_with(log, grades, guidelines) as opened:
        if changes:
            opened.configure(replace(opened.settings, **changes))
        for pool in pools:
            opened.add_pool(pool)
        if gold is not None:
            known = read_qrels(gold).to_dict()
            opened.add_gold(known)
            for line in report.describe_refused_gold(opened, known):
                click.echo(line, err=True)
        if assessors:
            assign_evenly(opened, assessors)
        assign(opened, [Assignment(name, topic) for name, own in map(_parse_topics, topics) for topic in own])
        echo(report.status_as_text(opened, line_width(), has_styles()))


def _parse_topics(text: str) -> tuple[str, list[str]]:
    name, sign, rest = text.partition("=")
    topics = [topic.strip() for topic in rest.split(",") if topic.strip()]
    if not sign or not name.strip() or not topics:
        raise InputError(f"--topic {text}: expected NAME=TOPIC,TOPIC.")
    return name.strip(), topics


@command.command(name="status")
@click.argument("log", metavar="LOG")
@format_option()
def status(log: str, format_: str) -> None:
    """Show the progress of judging, its pace, and the agreement between assessors.

    \b
    Example:
      cranfield judgments status pool.judgments.db
      cranfield judgments status pool.judgments.db --format json
    """
    with open_log(log, create=False) as opened:
        echo(
            report.status_as_json(opened)
            if format_ == "json"
            else report.status_as_text(opened, line_width(), has_styles())
        )
