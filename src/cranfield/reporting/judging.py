"""What is said about judging: how far it is, what was taken in and out."""

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
from cranfield.tables import MISSING, Cell, Table, dumped, number, terminal

SHOWN = ("percent", "alpha_ordinal", "kappa_quadratic", "overlap")  # of the figures of agreement, in text
MOST_TOPICS = 50
PACE = ("Left", "Seconds", "Hours left")


def status_text(log: JudgmentLog, width: int = 80, styled: bool = False) -> str:
    """How far judging is, for people."""
    state = compute_progress(log)
    lines = [_headline(log, state)]
    given = list_assignments(log)
    topics, people = len({one.query for one in given}), len({one.assessor for one in given})
    lines.append(
        f"{pluralize(topics, 'topic')} given to {pluralize(people, 'assessor')}."
        if given
        else "No topic is given to anybody: everybody may judge everything."
    )
    waiting = count_disputes(log)
    if waiting:
        lines.append(
            f"{pluralize(waiting, 'pair')} to adjudicate: grades {format_grade(log.settings.dispute)} or more apart."
        )
    lines += [f"Note: {note}" for note in plan_notes(log)]
    tables = [table for table in (_assessors(state), _topics(state), _work(state)) if table.rows]
    parts = ["\n".join(lines) + "\n"]
    if tables:
        parts.append(terminal(tables, width, styled))
    parts.append(_agreement(log))
    return "\n".join(part for part in parts if part)


def status_json(log: JudgmentLog) -> str:
    """How far judging is, for programs."""
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
        "notes": plan_notes(log),
    }
    return dumped(content)


def exported_text(exported: QrelsExport, scale: Scale, conflicts: str | None = None) -> str:
    """What was written, and what was settled or left out."""
    grades = exported.qrels.grades.tolist()
    counts = ", ".join(f"{n:,} × {format_grade(value)}" for value in scale.values if (n := grades.count(value)))
    names = pluralize(len(exported.assessors), "assessor")
    lines = [
        f"{pluralize(exported.judgments, 'judgment')} of {pluralize(len(exported.qrels.queries), 'topic')} by {names}"
        + (f": {counts}." if counts else ".")
    ]
    if unjudged := len(exported.qrels) - exported.judgments:
        lines.append(f"{pluralize(unjudged, 'document')} without a grade among them, as -1.")
    if exported.disagreements:
        where = f", listed in {conflicts}" if conflicts else "; --conflicts FILE lists them"
        lines.append(f"Assessors differ on {pluralize(len(exported.disagreements), 'pair')}{where}.")
        lines.append(f"Rule: {exported.rule}.")
    lines += [f"Note: {note}" for note in exported.notes]
    return "\n".join(lines) + "\n"


def exported_conflicts_table(exported: QrelsExport) -> str:
    """The pairs on which assessors differ: a column for each assessor, and what was made of it."""
    names = exported.assessors
    lines = ["\t".join(["query", "doc", *names, "exported", "adjudicated"])]
    for one in exported.disagreements:
        grades = [format_grade(one.grades[name]) if name in one.grades else "" for name in names]
        made = "" if one.grade is None else format_grade(one.grade)
        lines.append("\t".join([one.query, one.doc, *grades, made, "yes" if one.adjudicated else "no"]))
    return "\n".join(lines) + "\n"


def imported_text(done: ImportResult) -> str:
    """What became of a file."""
    what = "judgment" if done.format == "qrels" else "event"
    text = f"{done.file}: {pluralize(done.events, what)} by {_names(done.assessors)}, {done.new:,} of them new"
    text += f"; {pluralize(done.pairs, 'pair')} not in a pool before." if done.pairs else "."
    if done.outdated:
        text += f" {pluralize(done.outdated, 'judgment')} changed since: the later one stays."
    if done.unjudged:
        text += f" {pluralize(done.unjudged, 'row')} below 0, which is no judgment, left out."
    return text


def plan_notes(log: JudgmentLog) -> list[str]:
    """What a coordinator should know of a plan: judgments that nobody is there to make, and pairs no longer gold."""
    notes = []
    short = find_uncovered_topics(log)
    if short:
        n = sum(one.judgments for one in short)
        where = f"topic{'s' if len(short) > 1 else ''} {join_names([one.query for one in short], 5)}"
        notes.append(
            f"{pluralize(n, 'wanted judgment')} that nobody has a seat for ({where}): give more people the "
            f"topic{'s' if len(short) > 1 else ''}, or deal all anew."
        )
    gone = list_former_gold(log)
    if gone:
        some = join_names([f"{doc} of topic {query}" for query, doc in gone], 3)
        notes.append(
            f"{pluralize(len(gone), 'gold pair')} in the pool by now, judged and exported like any other: {some}."
        )
    return notes


def not_gold_text(log: JudgmentLog, grades: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What was to be gold and is not."""
    found = log.find_not_gold(grades)
    if not found:
        return []
    some = join_names([f"{doc} of topic {query}" for query, doc in found], 3)
    return [
        f"Note: {pluralize(len(found), 'gold pair')} in the pool as well, judged and exported like any other: {some}."
    ]


def after_sitting(judged: int, log: JudgmentLog) -> str:
    """What was done in a sitting, and how to go on."""
    return f"{pluralize(judged, 'document')} judged; 'cranfield judgments export {log.name}' writes qrels."


def after_adjudicating(decided: int, log: JudgmentLog) -> str:
    """What was decided, and how to go on."""
    left = count_disputes(log)
    return (
        f"{pluralize(decided, 'pair')} decided, {left:,} left to adjudicate; "
        f"'cranfield judgments export {log.name}' writes qrels."
    )


def _names(names: Sequence[str]) -> str:
    return join_names(names, 3) if names else "nobody"


def _headline(log: JudgmentLog, state: Progress) -> str:
    share = f" ({state.judged / state.pairs:.0%})" if state.pairs else ""
    text = f"{log.name}: {state.judged:,} of {pluralize(state.pairs, 'pair')} judged{share}"
    if log.settings.judgments > 1 or log.settings.overlap > 0:
        text += f", {state.complete:,} with all the judgments they are to get"
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
    """Seconds for a judgment and hours left; where few were timed, it is said how many."""
    few = f" ({one.timed})" if 0 < one.timed < MIN_TIMED else ""
    return Cell(number(one.seconds, 1) + few), Cell(number(one.hours_left, 1))


def _agreement(log: JudgmentLog) -> str:
    from cranfield.stats import AGREEMENT_TITLES

    figures = measure_agreement(log)
    known = [(name, figures[name]) for name in SHOWN if name in figures and figures[name].value is not None]
    if not known:
        return ""
    texts = [f"{AGREEMENT_TITLES[name]} {figure.value:.3f}" for name, figure in known if figure.value is not None]
    return f"Agreement on {pluralize(known[0][1].n, 'pair')} judged by several: {'; '.join(texts)}.\n"
