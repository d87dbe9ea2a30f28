"""The progress of judging, and what was imported and exported, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cranfield.annotation import (
    MIN_TIMED,
    AssessorProgress,
    ImportResult,
    JudgmentLog,
    Progress,
    QrelsExport,
    Scale,
    TopicProgress,
    WorkProgress,
    compute_progress,
    count_disputes,
    find_uncovered_topics,
    format_grade,
    list_assignments,
    list_former_gold,
    measure_agreement,
)
from cranfield.base import as_dict, join_names, pluralize
from cranfield.stats import AGREEMENT_TITLES
from cranfield.tables import MISSING, Cell, Table, dump_json, format_number, render_text

SHOWN = ("percent", "alpha_ordinal", "kappa_quadratic", "overlap")  # coefficients of agreement in text
MOST_TOPICS = 50
PACE = ("Left", "Seconds", "Hours left")


def status_as_text(log: JudgmentLog, width: int = 80, styled: bool = False) -> str:
    """The progress of judging, with tables by assessor and topic."""
    state = compute_progress(log)
    lines = [_headline(log, state)]
    assigned = list_assignments(log)
    topics, people = len({one.query for one in assigned}), len({one.assessor for one in assigned})
    lines.append(
        f"{pluralize(topics, 'topic')} assigned to {pluralize(people, 'assessor')}."
        if assigned
        else "No topic is assigned: everybody may judge everything."
    )
    waiting = count_disputes(log)
    if waiting:
        lines.append(
            f"{pluralize(waiting, 'pair')} to adjudicate: grades {format_grade(log.settings.dispute)} or more apart."
        )
    lines += [f"Note: {note}" for note in check_plan(log)]
    tables = [table for table in (_assessors(state), _topics(state), _work(state)) if table.rows]
    parts = ["\n".join(lines) + "\n"]
    if tables:
        parts.append(render_text(tables, width, styled))
    parts.append(_agreement(log))
    return "\n".join(part for part in parts if part)


def status_as_json(log: JudgmentLog) -> str:
    """The progress of judging, complete."""
    state = compute_progress(log)
    figures = {name: as_dict(figure) for name, figure in measure_agreement(log).items()}
    content = {
        "log": log.name,
        "pairs": state.pairs,
        "judged": state.judged,
        "complete": state.complete,
        "to_adjudicate": count_disputes(log),
        "settings": {
            name: getattr(log.settings, name) for name in ("judgments", "overlap", "repeats", "hold", "dispute", "seed")
        }
        | {"grades": log.settings.scale.to_dicts()},
        "assignments": [vars(one) for one in list_assignments(log)],
        "assessors": [vars(one) for one in state.assessors],
        "topics": [vars(one) for one in state.topics],
        "work": [vars(one) for one in state.work],
        "agreement": figures,
        "notes": check_plan(log),
    }
    return dump_json(content)


def describe_export(exported: QrelsExport, scale: Scale, conflicts: str | None = None) -> str:
    """What was written, how disagreements were resolved, and what was left out."""
    grades = exported.qrels.grades.tolist()
    counts = ", ".join(f"{n:,} × {format_grade(value)}" for value in scale.values if (n := grades.count(value)))
    names = pluralize(len(exported.assessors), "assessor")
    lines = [
        f"{pluralize(exported.judgments, 'judgment')} of {pluralize(len(exported.qrels.queries), 'topic')} by {names}"
        + (f": {counts}." if counts else ".")
    ]
    if unjudged := len(exported.qrels) - exported.judgments:
        lines.append(f"These include {pluralize(unjudged, 'document')} without a grade, as -1.")
    if exported.disagreements:
        where = f", listed in {conflicts}" if conflicts else "; use --conflicts FILE to list them"
        lines.append(f"Assessors differ on {pluralize(len(exported.disagreements), 'pair')}{where}.")
        lines.append(f"Rule: {exported.rule}.")
    lines += [f"Note: {note}" for note in exported.notes]
    return "\n".join(lines) + "\n"


def format_export_conflicts(exported: QrelsExport) -> str:
    """The pairs on which assessors differ, as TSV: one column per assessor, and the exported grade."""
    names = exported.assessors
    lines = ["\t".join(["query", "doc", *names, "exported", "adjudicated"])]
    for one in exported.disagreements:
        grades = [format_grade(one.grades[name]) if name in one.grades else "" for name in names]
        exported_grade = "" if one.grade is None else format_grade(one.grade)
        lines.append("\t".join([one.query, one.doc, *grades, exported_grade, "yes" if one.adjudicated else "no"]))
    return "\n".join(lines) + "\n"


def describe_import(done: ImportResult) -> str:
    """What was imported from a file."""
    what = "judgment" if done.format == "qrels" else "event"
    text = f"{done.file}: {pluralize(done.events, what)} by {_names(done.assessors)}, {done.new:,} of them new"
    text += f"; {pluralize(done.pairs, 'pair')} new to the pool." if done.pairs else "."
    if done.outdated:
        text += f" {pluralize(done.outdated, 'judgment')} changed since; the later one stays."
    if done.unjudged:
        text += f" Left out {pluralize(done.unjudged, 'row')} with a grade below 0, which is not a judgment."
    return text


def check_plan(log: JudgmentLog) -> list[str]:
    """Problems of a plan: judgments that no assessor is left for, and pairs that are no longer gold."""
    notes = []
    short = find_uncovered_topics(log)
    if short:
        n = sum(one.judgments for one in short)
        where = f"topic{'s' if len(short) > 1 else ''} {join_names([one.query for one in short], 5)}"
        notes.append(
            f"{pluralize(n, 'judgment')} cannot be made by the assessors assigned ({where}): assign the "
            f"topic{'s' if len(short) > 1 else ''} to more people, or assign all topics again."
        )
    gone = list_former_gold(log)
    if gone:
        some = join_names([f"{doc} of topic {query}" for query, doc in gone], 3)
        notes.append(
            f"{pluralize(len(gone), 'gold pair')} now in the pool, so judged and exported like any other: {some}."
        )
    return notes


def describe_refused_gold(log: JudgmentLog, grades: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A note on gold pairs that were refused because they are in the pool."""
    found = log.find_not_gold(grades)
    if not found:
        return []
    some = join_names([f"{doc} of topic {query}" for query, doc in found], 3)
    return [
        f"Note: {pluralize(len(found), 'gold pair')} also in the pool, so judged and exported like any other: {some}."
    ]


def summarize_session(judged: int, log: JudgmentLog) -> str:
    """The number of judgments of a session, and the next step."""
    return f"{pluralize(judged, 'document')} judged; to write qrels: cranfield judgments export {log.name}"


def summarize_adjudication(decided: int, log: JudgmentLog) -> str:
    """The number of decisions of a session, and the next step."""
    left = count_disputes(log)
    return (
        f"{pluralize(decided, 'pair')} decided, {left:,} left to adjudicate; "
        f"to write qrels: cranfield judgments export {log.name}"
    )


def _names(names: Sequence[str]) -> str:
    return join_names(names, 3) if names else "nobody"


def _headline(log: JudgmentLog, state: Progress) -> str:
    share = f" ({state.judged / state.pairs:.0%})" if state.pairs else ""
    text = f"{log.name}: {state.judged:,} of {pluralize(state.pairs, 'pair')} judged{share}"
    if log.settings.judgments > 1 or log.settings.overlap > 0:
        text += f", {state.complete:,} complete"
    return text + f", {pluralize(len(state.topics), 'topic')}."


def _assessors(state: Progress) -> Table:
    header = ("Assessor", "Judged", "Cannot", "Skipped", "Left", "Seconds", "Hours left", "Gold right", "Repeats same")
    rows = []
    for one in state.assessors:
        gold, again = one.gold, one.repeats
        rows.append(
            (
                Cell(one.assessor + (" (model)" if one.is_model else "")),
                *(Cell(f"{n:,}") for n in (one.judged, one.cannot, one.skipped)),
                Cell(MISSING if one.left is None else f"{one.left:,}"),
                *_pace(one),
                Cell(f"{gold[0]} of {gold[1]}" if gold[1] else MISSING),
                Cell(f"{again[0]} of {again[1]}" if again[1] else MISSING),
            )
        )
    return Table("", header, tuple(rows))


def _topics(state: Progress) -> Table:
    header = ("Topic", "Pairs", "Judged", "Complete", "Relevant", "Cannot", "Disputed", "Adjudicated", *PACE)
    rows = [
        (
            Cell(one.query),
            *(
                Cell(f"{n:,}")
                for n in (
                    one.pairs,
                    one.judged,
                    one.complete,
                    one.relevant,
                    one.cannot,
                    one.disputed,
                    one.adjudicated,
                    one.left,
                )
            ),
            *_pace(one),
        )
        for one in state.topics
    ]
    title = "" if len(rows) <= MOST_TOPICS else f"The first {MOST_TOPICS} of {len(rows):,} topics"
    return Table(title, header, tuple(rows[:MOST_TOPICS]))


def _work(state: Progress) -> Table:
    header = ("Topic", "Assessor", "Judged", "Cannot", "Skipped", *PACE)
    rows = [
        (
            Cell(one.query),
            Cell(one.assessor + (" (model)" if one.is_model else "")),
            *(Cell(f"{n:,}") for n in (one.judged, one.cannot, one.skipped, one.left)),
            *_pace(one),
        )
        for one in state.work
    ]
    title = "" if len(rows) <= MOST_TOPICS else f"The first {MOST_TOPICS} of {len(rows):,} assessors on topics"
    return Table(title, header, tuple(rows[:MOST_TOPICS]), names=2)


def _pace(one: AssessorProgress | TopicProgress | WorkProgress) -> tuple[Cell, Cell]:
    """Seconds per judgment and hours left, with the number of timed judgments if they are few."""
    few = f" ({one.timed})" if 0 < one.timed < MIN_TIMED else ""
    return Cell(format_number(one.seconds, 1) + few), Cell(format_number(one.hours_left, 1))


def _agreement(log: JudgmentLog) -> str:
    figures = measure_agreement(log)
    known = [(name, figures[name]) for name in SHOWN if name in figures and figures[name].value is not None]
    if not known:
        return ""
    texts = [f"{AGREEMENT_TITLES[name]} {figure.value:.3f}" for name, figure in known if figure.value is not None]
    return f"Agreement on {pluralize(known[0][1].n, 'pair')} judged by several: {'; '.join(texts)}.\n"
