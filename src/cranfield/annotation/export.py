"""Export of judgments: qrels merged by a rule, sampled qrels with five columns, and the complete history.

Repeats and gold pairs are never in qrels, and in a history only on request. "Cannot judge" is not a grade: such a pair
is unjudged.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

from cranfield.annotation.csv_escape import EMPTY, escape_cell
from cranfield.annotation.database import JudgingError
from cranfield.annotation.events import COLUMNS, HISTORY_VERSION, Event
from cranfield.annotation.log import Judgment, JudgmentLog, PairStatus
from cranfield.annotation.progress import select_counted
from cranfield.base import Record, encode_id, join_names, pluralize
from cranfield.data import Qrels
from cranfield.errors import InputError
from cranfield.io import Input, PathLike, open_output
from cranfield.pooling import STRATEGIES, build_sampled_qrels, provenance_path
from cranfield.qrels_tools import (
    MERGE_RULES,
    Assessor,
    MergedQrels,
    MergeTies,
    Provenance,
    ProvenanceSource,
    merge_qrels,
)

DEFAULT_RULE = "majority"
UNJUDGED = -1.0  # pooled but not judged
_SURROGATES = re.compile("[\ud800-\udfff]")  # they stand for bytes that are not UTF-8


class Disagreement(Record):
    """A pair that was graded differently, and its exported grade."""

    query: str
    doc: str
    grades: Mapping[str, float]  # by assessor
    grade: float | None  # None if it was left out
    adjudicated: bool


class QrelsExport(Record, eq=False):
    """Exported qrels, with the disagreements that were resolved."""

    qrels: Qrels
    judgments: int  # rows of the qrels with a grade; the others have -1
    rule: str  # in words
    assessors: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]
    provenance: Provenance
    notes: tuple[str, ...]


def export_qrels(
    log: JudgmentLog,
    rule: str = DEFAULT_RULE,
    *,
    ties: MergeTies = "lower",
    primary: str | None = None,
    assessors: Sequence[str] | None = None,
    with_models: bool = False,
    least: int = 1,
    rounded: bool = False,
    unjudged: bool = False,
    sample: Qrels | None = None,
) -> QrelsExport:
    """The judgments of a log as qrels. If several people judged a pair, a rule of `qrels_tools.merge` applies.

    An adjudicated grade overrides every rule. `unjudged` adds pairs without a grade, as -1. `sample` is the form with
    five columns that `cranfield pool` writes for a sampled pool: the grades are filled in.
    """
    if rule not in MERGE_RULES:
        raise InputError(f"unknown rule {rule!r}: expected one of {', '.join(MERGE_RULES)}.")
    if unjudged and UNJUDGED in log.settings.scale.values:
        raise InputError(f"-1 is a grade in {log.name}, so it cannot mark unjudged pairs.")
    pairs = log.pairs()
    judged = _chosen(log, assessors, with_models)
    adjudicated = {(p.query, p.doc): p.adjudicated for p in pairs if p.adjudicated is not None}
    if not judged and not adjudicated:
        raise JudgingError(f"{log.name}: nothing is judged yet.")
    merged = _merged(judged, rule, ties, primary, log.models(), log.settings.scale.values, least, rounded)
    grades = {} if merged is None else merged.qrels.to_dict()
    for (query, doc), grade in adjudicated.items():
        assert grade is not None
        grades.setdefault(query, {})[doc] = grade
    known = {(query, doc) for query, own in grades.items() for doc in own}
    waiting = [(p.query, p.doc) for p in pairs if p.gold is None and (p.query, p.doc) not in known]
    notes = _notes(log, pairs, adjudicated, assessors, with_models)
    if merged is not None and len(merged.matrix.assessors) > 1:
        notes += merged.notes
    notes += _ungraded(log, waiting, judged, merged, least, assessors, unjudged or sample is not None)
    if unjudged and sample is None:
        for query, doc in waiting:
            grades.setdefault(query, {})[doc] = UNJUDGED
    qrels = _qrels(log.topics(), grades, log.name) if sample is None else _sampled(sample, grades, notes)
    described = (
        "the grade of the only assessor" if merged is None else merged.description
    ) + "; an adjudicated grade wins"
    return QrelsExport(
        qrels=qrels,
        judgments=sum(pair in known for pair in zip(qrels.row_queries(), qrels.docs, strict=True)),
        rule=described,
        assessors=tuple(dict.fromkeys(one.assessor for one in judged)),
        disagreements=_disagreements(merged, adjudicated),
        provenance=_provenance(log, described, judged, merged, adjudicated, sample is not None),
        notes=tuple(notes),
    )


def list_exported_assessors(log: JudgmentLog, with_models: bool = False) -> list[str]:
    """The assessors whose judgments are exported."""
    return sorted({one.assessor for one in _chosen(log, None, with_models)})


def find_sampling_strategy(log: JudgmentLog) -> str | None:
    """The strategy by which the pool of a log was sampled, from its provenance file; None if it was not sampled."""
    for pool in log.pools():
        file = provenance_path(pool)
        if file is None or not os.path.exists(file):
            continue
        with Input(file) as source:
            _, first = next(source.lines(), (0, b""))
        try:
            strategy = str(json.loads(first)["provenance"]["strategy"])
        except (ValueError, KeyError, TypeError):
            continue
        if strategy in STRATEGIES and STRATEGIES[strategy].kind == "sample":
            return strategy
    return None


def write_history(log: JudgmentLog, path: PathLike, format: str = "jsonl", all_events: bool = False) -> int:
    """Write the events of a log as JSON lines or CSV, and return how many. The file can be imported again.

    Events on gold pairs and repeats are left out, unless `all_events` is set. Then they are marked: `gold` is the known
    grade, `again` marks a repeat.
    """
    if format not in ("jsonl", "csv"):
        raise InputError(f"unknown format {format!r} for a history: expected jsonl or csv.")
    gold = {(pair.query, pair.doc): pair.gold for pair in log.pairs() if pair.gold is not None}
    first = make_header(log.settings.scale.to_dicts(), **({"all_events": True} if all_events else {}))
    chosen = (
        event
        for event in log.events()
        if all_events or (not event.again and (event.query or "", event.doc or "") not in gold)
    )
    with open_output(path) as out:
        return write_events(chosen, out, format, first, gold)


def count_events(log: JudgmentLog) -> int:
    """How many events a log has, including those of gold pairs and repeats."""
    return int(log.read(lambda db: db.value("SELECT COUNT(*) FROM events")))


def make_header(grades: Any, **more: Any) -> dict[str, Any]:
    """The first line of a history: its version, and the grades in use."""
    return {"judgments": {"version": HISTORY_VERSION, "grades": grades, **more}}


def write_events(
    events: Iterable[Event],
    out: BinaryIO,
    format: str,
    first: Mapping[str, Any],
    gold: Mapping[tuple[str, str], float],
) -> int:
    """Write events to an open file, each with the known grade of its pair, if any."""
    count = 0
    if format == "jsonl":
        out.write(_line(first))
        for event in events:
            values = event.to_dict() | {"gold": gold.get((event.query or "", event.doc or ""))}
            out.write(_line({name: value for name, value in values.items() if _is_given(name, value)}))
            count += 1
        return count
    text = io.TextIOWrapper(out, "utf-8", newline="", write_through=True)
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*COLUMNS, "gold"])
    for event in events:
        values = event.to_dict()
        row = [escape_cell(value) if isinstance(value, str) else value for value in (values[name] for name in COLUMNS)]
        if event.note == "":  # the note was removed
            row[COLUMNS.index("note")] = EMPTY
        table.writerow([*row, gold.get((event.query or "", event.doc or ""))])
        count += 1
    text.detach()
    return count


def _is_given(name: str, value: object) -> bool:
    """Whether to write a field. An empty note is written: it removes the previous one."""
    return value is not None and value is not False and (value != "" or name == "note")


def _line(content: Mapping[str, Any]) -> bytes:
    # whatever is in the log can be written, and read back unchanged
    text = json.dumps(content, ensure_ascii=False)
    return _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode() + b"\n"


def _chosen(log: JudgmentLog, assessors: Sequence[str] | None, with_models: bool) -> list[Judgment]:
    """The judgments that count, by the chosen assessors."""
    judged = select_counted(log.judgments())
    if assessors is None:
        models = frozenset() if with_models else log.models()
        return [one for one in judged if one.assessor not in models]
    unknown = [name for name in assessors if name not in log.assessors()]
    if unknown:
        raise InputError(f"unknown assessor {join_names(unknown)} in {log.name}: it has {join_names(log.assessors())}.")
    return [one for one in judged if one.assessor in assessors]


def _merged(
    judged: Sequence[Judgment],
    rule: str,
    ties: MergeTies,
    primary: str | None,
    models: frozenset[str],
    scale: Sequence[float],
    least: int,
    rounded: bool,
) -> MergedQrels | None:
    if not judged:
        return None
    own: dict[str, list[Judgment]] = {}
    for one in judged:
        own.setdefault(one.assessor, []).append(one)
    parties = [
        Assessor(
            name,
            Qrels.from_rows([j.query for j in mine], [j.doc for j in mine], [j.grade or 0.0 for j in mine], name=name),
            name in models,
        )
        for name, mine in own.items()
    ]
    return merge_qrels(
        parties,
        rule,
        ties=ties,
        primary=primary,
        with_models=True,
        scale=scale,
        least=least,
        rounded=rounded,
    )


def _qrels(topics: Sequence[str], grades: Mapping[str, Mapping[str, float]], name: str) -> Qrels:
    # sorted by id, as the order of judging should not be visible
    rows = [
        (query, doc, grade)
        for query in topics
        for doc, grade in sorted(grades.get(query, {}).items(), key=lambda judged: encode_id(judged[0]))
    ]
    queries, docs, values = zip(*rows, strict=True)
    return Qrels.from_rows(queries, docs, values, name=name)


def _sampled(sample: Qrels, grades: Mapping[str, Mapping[str, float]], notes: list[str]) -> Qrels:
    """The form of a sample with the grades filled in."""
    if "stratum" not in sample.extra:
        raise InputError(f"{sample.name}: expected qrels with five columns: query iter doc stratum grade.")
    strata: dict[str, dict[str, str]] = {}
    for query, doc, stratum in zip(sample.row_queries(), sample.docs, sample.extra["stratum"], strict=True):
        strata.setdefault(query, {})[doc] = stratum
    outside = sum(doc not in strata.get(query, {}) for query, own in grades.items() for doc in own)
    if outside:
        notes.append(
            f"{pluralize(outside, 'judged document')} not in the sample (say, found by search) and left out, as an "
            "estimate from the sample must not count it."
        )
    return build_sampled_qrels(strata, grades)


def _notes(
    log: JudgmentLog,
    pairs: Sequence[PairStatus],
    adjudicated: Mapping[tuple[str, str], float | None],
    assessors: Sequence[str] | None,
    with_models: bool,
) -> list[str]:
    every = log.judgments()
    gold = sum(pair.gold is not None for pair in pairs)
    again = sum(one.again for one in every)
    models = sorted({one.assessor for one in every} & log.models()) if assessors is None and not with_models else []
    notes = []
    if gold:
        notes.append(f"{pluralize(gold, 'gold pair')} left out.")
    if again:
        notes.append(f"{pluralize(again, 'repeat')} left out.")
    if models:
        notes.append(f"judgments by a model left out ({join_names(models)}); --with-models includes them.")
    if adjudicated:
        notes.append(f"{pluralize(len(adjudicated), 'pair')} adjudicated: that grade counts.")
    return notes


def _ungraded(
    log: JudgmentLog,
    waiting: Sequence[tuple[str, str]],
    judged: Sequence[Judgment],
    merged: MergedQrels | None,
    least: int,
    assessors: Sequence[str] | None,
    is_written: bool,
) -> list[str]:
    """Notes on why pairs have no grade: not judged yet, impossible to judge, or judged but not counted."""
    every = log.judgments()
    cannot = {(one.query, one.doc) for one in every if one.kind == "cannot" and not one.again}
    anybodys = {(one.query, one.doc) for one in select_counted(every)}
    chosen = {(one.query, one.doc) for one in judged}
    tied = set() if merged is None else {(one.query, one.doc) for one in merged.conflicts if one.is_tie}
    others = "models only" if assessors is None else f"assessors other than {join_names(assessors)} only"
    reasons = {
        "tie": "with tied grades",
        "few": f"judged by fewer than {least}",
        "others": f"judged by {others}",
        "cannot": "that nobody could judge: no grade, not 0",
        "none": "without a judgment",
    }
    counts = dict.fromkeys(reasons, 0)
    for pair in waiting:
        if pair in chosen:
            counts["tie" if pair in tied else "few"] += 1
        else:
            counts["others" if pair in anybodys else "cannot" if pair in cannot else "none"] += 1
    ends = dict.fromkeys(reasons, ", as -1." if is_written else " not in the output.") | {"cannot": "."}
    return [f"{pluralize(n, 'pair')} {reasons[why]}{ends[why]}" for why, n in counts.items() if n]


def _disagreements(
    merged: MergedQrels | None, adjudicated: Mapping[tuple[str, str], float | None]
) -> tuple[Disagreement, ...]:
    if merged is None:
        return ()
    names = merged.matrix.names
    found = []
    for conflict in merged.conflicts:
        grades = {name: grade for name, grade in zip(names, conflict.grades, strict=True) if grade is not None}
        decided = adjudicated.get((conflict.query, conflict.doc))
        grade = conflict.merged if decided is None else decided
        found.append(Disagreement(conflict.query, conflict.doc, grades, grade, decided is not None))
    return tuple(found)


def _provenance(
    log: JudgmentLog,
    described: str,
    judged: Sequence[Judgment],
    merged: MergedQrels | None,
    adjudicated: Mapping[tuple[str, str], float | None],
    is_sampled: bool,
) -> Provenance:
    models = log.models()
    names = dict.fromkeys(one.assessor for one in judged)
    settings = {
        "log": log.name,
        "rule": None if merged is None else merged.rule,
        "ties": None if merged is None else merged.ties,
        "judgments": len(judged),
        "conflicts": 0 if merged is None else len(merged.conflicts),
        "adjudicated": len(adjudicated),
        "sampled": is_sampled,
    }
    sources = tuple(ProvenanceSource(name, None, None, name in models) for name in names)
    return Provenance("cranfield judgments export", "judgments", described, sources, settings)
