"""Judgments merged, compared and counted, as text, as files of rows, and as JSON."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cranfield.base import encode_id, join_names, pluralize
from cranfield.data import Qrels
from cranfield.io import format_number as written
from cranfield.qrels_tools import (
    CHANGE_KINDS,
    CLICK_CAUTION,
    ClickQrels,
    Conflict,
    CountSummary,
    GradeChange,
    MergedQrels,
    QrelsCounts,
    QrelsDiff,
)
from cranfield.tables import MISSING, Cell, Table, dump_json, render_text, wrap_sentences

MOST_SHOWN = 5  # conflicts and changes in text; files have all


def describe_size(qrels: Qrels) -> str:
    """The number of judgments and topics.

    >>> describe_size(Qrels.from_rows(["1", "2"], ["a", "a"], [1, 0]))
    '2 judgments of 2 topics'
    """
    return f"{pluralize(len(qrels), 'judgment')} of {pluralize(len(qrels.queries), 'topic')}"


def describe_merge(merged: MergedQrels, file: str | None, width: int, styled: bool) -> str:
    """What was merged, by which rule, and on which pairs assessors differ."""
    names = merged.matrix.assessors
    lines = [
        f"{pluralize(len(names), 'assessor')} merged: {describe_size(merged.qrels)}.",
        f"Rule: {merged.description}.",
    ]
    if models := [one.name for one in names if one.is_model]:
        lines.append(f"These include {pluralize(len(models), 'model')}: {', '.join(models)}.")
    lines += _describe_conflicts(merged)
    lines += merged.notes
    text = wrap_sentences(lines, width).rstrip("\n")
    if merged.model is not None:
        text += "\n\n" + render_text([_trust(merged)], width, styled).rstrip("\n")
    resolved = [*merged.conflicts, *merged.overruled]
    if resolved and file is None:
        shown = [_conflict_row(merged, one) for one in resolved[:MOST_SHOWN]]
        header = ("Query", "Document", *(one.label for one in names), "Merged")
        title = "First conflicts" if merged.conflicts else "First pairs with a grade that no assessor gave"
        table = Table(title, header, tuple(tuple(map(Cell, row)) for row in shown), names=2)
        text += "\n\n" + render_text([table], width, styled) + "To list all: --conflicts FILE"
    return text


def _describe_conflicts(merged: MergedQrels) -> Iterator[str]:
    number = len(merged.conflicts)
    if merged.several:
        share = 100 * number / merged.several
        tied = f", {merged.tied:,} of them tied" if merged.tied else ""
        yield (
            f"{pluralize(merged.several, 'pair')} judged by several, {pluralize(number, 'conflict')} ({share:.1f} "
            f"%){tied}."
        )
    if merged.dropped:
        yield f"{pluralize(merged.dropped, 'tie')} left out, for people to decide."
    if merged.too_few:
        yield f"{pluralize(merged.too_few, 'pair')} left out: too few assessors judged them."
    if merged.not_primary:
        name = merged.matrix.names[0]
        yield f"{pluralize(merged.not_primary, 'pair')} not judged by {name}: graded by the next assessor."


def _trust(merged: MergedQrels) -> Table:
    """The accuracy of each assessor, as estimated by the model."""
    assert merged.model is not None
    right = zip((one.label for one in merged.matrix.assessors), merged.model.accuracy.tolist(), strict=True)
    rows = tuple((Cell(name), Cell(f"{100 * share:.1f} %")) for name, share in right)
    return Table("Estimated accuracy of assessors", ("Assessor", "Accuracy"), rows)


def _conflict_row(merged: MergedQrels, one: Conflict) -> list[str]:
    given = [MISSING if grade is None else _format_grade(grade) for grade in one.grades]
    return [one.query, one.doc, *given, "left out" if one.merged is None else _format_grade(one.merged)]


def format_merge_conflicts(merged: MergedQrels, path: str) -> bytes:
    """Every conflict, then pairs on which assessors agree but are overruled; TSV, or CSV for a .csv file."""
    pairs = [*merged.conflicts, *merged.overruled]
    several = any(one.subtopic != pairs[0].subtopic for one in pairs)
    header = ["query", *(["subtopic"] if several else []), "doc", *merged.matrix.names, "merged", "tie"]
    rows = (
        [
            one.query,
            *([one.subtopic] if several else []),
            one.doc,
            *("" if grade is None else _format_grade(grade) for grade in one.grades),
            "" if one.merged is None else _format_grade(one.merged),
            "yes" if one.is_tie else "no",
        ]
        for one in pairs
    )
    return _format_rows(header, rows, path)


def diff_as_text(found: QrelsDiff, rel: float, width: int, styled: bool, file: str | None) -> str:
    """What was added, removed and changed: counts, grades before and after, and the first pairs."""
    counts = found.counts
    if not found.changes:
        lines = [f"{found.old} and {found.new} hold the same judgments: {pluralize(counts['same'], 'pair')}."]
    else:
        numbers = ", ".join(f"{counts[kind]:,} {kind}" for kind in CHANGE_KINDS)
        lines = [f"From {found.old} to {found.new}: {numbers}, {counts['same']:,} unchanged."]
        up, down = found.crossed(rel)
        if counts["changed"]:
            lines.append(f"{up:,} became relevant (grade {rel:g} or higher), {down:,} became non-relevant.")
    if found.topics_added:
        lines.append(f"{pluralize(len(found.topics_added), 'new topic')}: {join_names(found.topics_added, 5)}.")
    if found.topics_removed:
        lines.append(f"{pluralize(len(found.topics_removed), 'topic')} removed: {join_names(found.topics_removed, 5)}.")
    lines += found.matrix.notes
    parts = [wrap_sentences(lines, width)]
    if counts["changed"]:
        parts.append(render_text([_moves(found)], width, styled))
    if len(found.topics) > 1 and found.changes:
        parts.append(render_text([_topic_changes(found)], width, styled))
    if found.changes and file is None:
        parts.append(render_text([_first(found)], width, styled))
        if len(found.changes) > MOST_SHOWN:
            parts[-1] += f"{len(found.changes):,} pairs differ; to list all: -o FILE\n"
    return "\n".join(parts)


def _moves(found: QrelsDiff) -> Table:
    grades = [f"{grade:g}" for grade in found.grades]
    rows = tuple(
        tuple(map(Cell, (grade, *(f"{n:,}" for n in row))))
        for grade, row in zip(grades, found.moves.tolist(), strict=True)
    )
    return Table("Grades before (rows) and after (columns)", ("Grade", *grades), rows)


def _topic_changes(found: QrelsDiff, most: int = 20) -> Table:
    changed = [one for one in found.topics if one.added or one.removed or one.changed]
    changed.sort(key=lambda one: -(one.added + one.removed + one.changed))
    rows = tuple(
        tuple(map(Cell, (one.query, f"{one.added:,}", f"{one.removed:,}", f"{one.changed:,}", f"{one.same:,}")))
        for one in changed[:most]
    )
    title = "Topics" if len(changed) <= most else f"The {most} topics of {len(changed):,} that changed most"
    return Table(title, ("Topic", "Added", "Removed", "Changed", "Unchanged"), rows)


def _first(found: QrelsDiff) -> Table:
    rows = tuple(
        tuple(map(Cell, (one.query, one.doc, _or_dash(one.old), _or_dash(one.new), one.kind)))
        for one in found.changes[:MOST_SHOWN]
    )
    return Table("First pairs that differ", ("Query", "Document", "Before", "After", ""), rows, names=2)


def _or_dash(grade: float | None) -> str:
    return MISSING if grade is None else _format_grade(grade)


def format_changes(found: QrelsDiff, path: str) -> bytes:
    """Every pair that differs, one per line."""
    return _format_rows(
        ["query", "subtopic", "doc", "change", "old", "new"],
        (
            [c.query, c.subtopic, c.doc, c.kind, *("" if g is None else _format_grade(g) for g in (c.old, c.new))]
            for c in found.changes
        ),
        path,
    )


def diff_as_json(found: QrelsDiff, rel: float) -> str:
    up, down = found.crossed(rel)
    return dump_json(
        {
            "old": found.old,
            "new": found.new,
            **found.counts,
            "rel": rel,
            "became_relevant": up,
            "ceased_to_be_relevant": down,
            "topics_added": list(found.topics_added),
            "topics_removed": list(found.topics_removed),
            "grades": found.grades.tolist(),
            "moves": found.moves.tolist(),
            "topics": {
                one.query: {"same": one.same, "added": one.added, "removed": one.removed, "changed": one.changed}
                for one in found.topics
            },
            "changes": [_change(one) for one in found.changes],
            "notes": list(found.matrix.notes),
        }
    )


def _change(one: GradeChange) -> dict[str, Any]:
    return {"query": one.query, "doc": one.doc, "subtopic": one.subtopic, "old": one.old, "new": one.new}


def stats_as_text(found: QrelsCounts, topics: bool, width: int, styled: bool) -> str:
    """Counts, grades, and problematic topics."""
    rows = [
        ("Topics", f"{len(found.topics):,}"),
        ("Judgments", f"{found.judged:,}"),
        ("Distinct documents", f"{found.documents:,}"),
        (f"Relevant (grade {found.rel:g}+)", f"{found.relevant:,}", _format_share(found.relevant, found.judged)),
        *([("Pooled, not judged", f"{found.unjudged:,}")] if found.unjudged else []),
        *((f"Grade {grade:g}", f"{n:,}", _format_share(n, found.judged)) for grade, n in found.grades.items()),
    ]
    table = Table(found.name, ("", "Number", "Share"), tuple(_row(row) for row in rows))
    parts = [render_text([table, _spreads(found)], width, styled)]
    if topics:
        parts.append(render_text([_topic_counts(found)], width, styled))
    parts.append("".join(f"{line}\n" for line in _remarks(found)))
    return "\n".join(part for part in parts if part)


def _row(texts: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(map(Cell, (*texts, *[""] * (3 - len(texts)))))


def _format_share(part: int, whole: int) -> str:
    return MISSING if not whole else f"{100 * part / whole:.1f} %"


def _spreads(found: QrelsCounts) -> Table:
    header = ("Per topic", "Least", "Median", "Mean", "Most")
    rows = []
    for what, title in (("judged", "Judged"), ("relevant", "Relevant")):
        spread = found.spread(what)
        numbers = [MISSING] * 4 if spread is None else _format_spread(spread)
        rows.append(tuple(map(Cell, (title, *numbers))))
    return Table("", header, tuple(rows))


def _format_spread(spread: CountSummary) -> list[str]:
    return [f"{spread.least:,}", f"{spread.median:,.1f}", f"{spread.mean:,.1f}", f"{spread.most:,}"]


def _topic_counts(found: QrelsCounts) -> Table:
    grades = list(found.grades)
    rows = tuple(
        tuple(
            map(
                Cell,
                (
                    one.query,
                    f"{one.judged:,}",
                    f"{one.relevant:,}",
                    _format_share(one.relevant, one.judged),
                    *(f"{one.grades.get(grade, 0):,}" for grade in grades),
                ),
            )
        )
        for one in found.topics
    )
    groups = ("", "", "", "", *(["By grade", *[""] * (len(grades) - 1)] if grades else []))
    return Table("Topics", ("Topic", "Judged", "Relevant", "Share", *(f"{grade:g}" for grade in grades)), rows, groups)


def _remarks(found: QrelsCounts) -> Iterator[str]:
    none, many = found.none_relevant, found.many_relevant
    if none:
        yield f"{pluralize(len(none), 'topic')} without a relevant document: {join_names(none)}."
    if many:
        yield f"{pluralize(len(many), 'topic')} with over a third of judged documents relevant: {join_names(many)}."
    if not none and not many:
        yield "Every topic has a relevant document, and none has more than a third of its judged documents relevant."
    yield from (note[0].upper() + note[1:] for note in found.notes)


def stats_as_json(found: QrelsCounts) -> str:
    return dump_json(
        {
            "name": found.name,
            "rel": found.rel,
            "topics": len(found.topics),
            "judged": found.judged,
            "documents": found.documents,
            "relevant": found.relevant,
            "unjudged": found.unjudged,
            "grades": {f"{grade:g}": number for grade, number in found.grades.items()},
            "judged_per_topic": _spread_record(found.spread("judged")),
            "relevant_per_topic": _spread_record(found.spread("relevant")),
            "topics_without_relevant": list(found.none_relevant),
            "topics_over_a_third_relevant": list(found.many_relevant),
            "per_topic": {
                one.query: {
                    "judged": one.judged,
                    "relevant": one.relevant,
                    "share": one.share,
                    "grades": {f"{grade:g}": number for grade, number in one.grades.items()},
                    "unjudged": one.unjudged,
                }
                for one in found.topics
            },
            "notes": list(found.notes),
        }
    )


def _spread_record(spread: CountSummary | None) -> dict[str, float] | None:
    if spread is None:
        return None
    return {"least": spread.least, "median": spread.median, "mean": spread.mean, "most": spread.most}


def describe_clicks(clicked: ClickQrels) -> str:
    """What was derived from a click log, by which rule, and its limits."""
    given = clicked.qrels.grades
    grades = [f"{pluralize(int((given == grade).sum()), 'pair')} with grade {grade:g}" for grade in sorted(set(given))]
    lines = [
        f"Derived from clicks, not judged: {describe_size(clicked.qrels)} ({', '.join(grades)}).",
        f"Rule: {clicked.rule.description}.",
        f"Left out, of {pluralize(clicked.pairs, 'pair')} in the log: {clicked.few:,} with too few impressions"
        + (f", {clicked.undecided:,} undecided." if clicked.rule.rule == "wilson" else "."),
        *(note[0].upper() + note[1:] for note in clicked.notes),
        CLICK_CAUTION,
    ]
    return wrap_sentences(lines, 100).rstrip("\n")


def _format_grade(value: float) -> str:
    return written(value).decode()


def _format_rows(header: Sequence[str], rows: Iterable[Sequence[str]], path: str) -> bytes:
    buffer = io.StringIO(newline="")
    is_csv = os.path.splitext(path)[1].lower() == ".csv"
    writer = csv.writer(buffer, delimiter="," if is_csv else "\t", lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return encode_id(buffer.getvalue())
