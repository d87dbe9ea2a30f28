"""Looking at files before trusting them: what each is, and everything wrong or suspicious in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cranfield.checking.findings import Checked, Finding
from cranfield.checking.pairs import Pair, pair_up
from cranfield.checking.qrels import qrels_findings, swapped_columns
from cranfield.checking.runs import run_findings
from cranfield.errors import CranfieldError, InputError
from cranfield.formats.files import QRELS_READERS, RUN_READERS
from cranfield.formats.identify import Identity, Kind, identify
from cranfield.formats.opening import Input, PathLike, display_name
from cranfield.formats.rows import QrelsRows, RunRows
from cranfield.formats.texts import documents_in, topics_in
from cranfield.formats.values import GRADE_WORDS
from cranfield.wording import counted

__all__ = ["Checked", "Finding", "Pair", "check_file", "pair_up"]


def check_file(path: PathLike, kind: Kind | None = None, format: str | None = None) -> Checked:
    """What a file is and everything wrong or suspicious in it."""
    problems: list[InputError] = []
    identity = None
    name = str(path)
    try:
        with Input(path) as source:
            name = source.name
            identity = identify(source.head, source.name, kind, format)
            if identity.kind == "run":
                rows = RUN_READERS[identity.format](source, problems.append)
                return _checked_run(rows, name, identity, problems)
            if identity.kind == "qrels":
                judgments = QRELS_READERS[identity.format](source, problems.append, GRADE_WORDS)
                return _checked_qrels(judgments, name, identity, problems)
            return _checked_texts(source, identity)
    except InputError as error:
        return Checked(name, identity, "", (*map(_problem, problems), _problem(error)))
    except CranfieldError as error:
        return Checked(name, identity, "", (Finding("error", "unreadable", str(error)),))


def _checked_run(rows: RunRows, name: str, identity: Identity, problems: list[InputError]) -> Checked:
    repeated = list(_repeats(rows.queries, rows.docs, rows.lines, [""] * len(rows.docs), "retrieved"))
    run = rows.run(display_name(name), None, "first")
    # repeated documents are findings of their own, with lines
    notes = tuple(note for note in run.notes if "--on-duplicate" not in note)
    run = replace(run, notes=notes)
    counts = f"{counted(len(run.queries), 'query')}, {counted(len(rows.docs), 'document')}"
    findings = (*map(_problem, problems), *repeated, *run_findings(run))
    return Checked(name, identity, counts, _unless_empty(findings, rows.docs, "document"), run)


def _checked_qrels(rows: QrelsRows, name: str, identity: Identity, problems: list[InputError]) -> Checked:
    within = [
        f"{subtopic}\t{subgroup}"
        for subtopic, subgroup in zip(rows.subtopics, rows.extra.get("subgroup", rows.subtopics), strict=True)
    ]
    repeated = list(_repeats(rows.queries, rows.docs, rows.lines, within, "judged", rows.grades))
    qrels = rows.qrels(display_name(name), None, "first")
    notes = tuple(note for note in qrels.notes if "--on-duplicate" not in note)
    qrels = replace(qrels, notes=notes)
    counts = f"{counted(len(qrels.queries), 'query')}, {counted(len(rows.docs), 'judgment')}"
    swapped = swapped_columns(rows.docs, rows.grades)
    findings = (*map(_problem, problems), *swapped, *repeated, *qrels_findings(qrels))
    return Checked(name, identity, counts, _unless_empty(findings, rows.docs, "judgment"), qrels)


def _checked_texts(source: Input, identity: Identity) -> Checked:
    ids: dict[str, int] = {}
    findings: list[Finding] = []
    for number, (id_, text, line) in enumerate(_texts(source, identity), 1):
        if id_ in ids:
            message = f"id {id_!r} occurs twice, as number {ids[id_]:,} and {number:,}."
            findings.append(Finding("error", "repeated id", message, line))
        ids.setdefault(id_, number)
        if not text.strip():
            findings.append(Finding("warning", "empty text", f"{id_!r} has no text.", line))
    counts = counted(len(ids), identity.kind.rstrip("s"))
    checked = _unless_empty(tuple(findings), list(ids), identity.kind.rstrip("s"))
    return Checked(source.name, identity, counts, checked, ids=frozenset(ids))


def _texts(source: Input, identity: Identity) -> Iterator[tuple[str, str, int | None]]:
    """(id, text, line) of topics or documents."""
    if identity.kind == "topics":
        for line, topic in topics_in(source, identity.format):
            yield topic.id, topic.title + topic.description + topic.narrative, line
    else:
        for document in documents_in(source, identity.format):
            yield document.id, document.title + document.text, None


def _repeats(
    queries: list[str],
    docs: list[str],
    lines: list[int],
    within: list[str],
    verb: str,
    grades: list[float] | None = None,
) -> Iterator[Finding]:
    """A document twice for the same query (and subtopic): an error, unless it is judged the same."""
    seen: dict[tuple[str, str, str], int] = {}
    for i, key in enumerate(zip(queries, docs, within, strict=True)):
        first = seen.setdefault(key, i)
        if first == i:
            continue
        harmless = grades is not None and grades[first] == grades[i]
        with_grades = f" with grades {grades[first]:g} and {grades[i]:g}" if grades is not None else ""
        message = (
            f"document {key[1]!r} is {verb} twice for query {key[0]!r}{with_grades}, first in line {lines[first]}."
        )
        yield Finding("warning" if harmless else "error", "duplicate", message, lines[i])


def _unless_empty(findings: tuple[Finding, ...], content: list[str], noun: str) -> tuple[Finding, ...]:
    if content:
        return findings
    return (*findings, Finding("error", "empty", f"there is no {noun} in the file."))


def _problem(error: InputError) -> Finding:
    return Finding("error", "unreadable", error.message, error.line)
