"""Check a file: what it is, and everything wrong or suspicious in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cranfield.base import GRADE_WORDS, pluralize, replace
from cranfield.errors import CranfieldError, InputError
from cranfield.io import (
    QRELS_READERS,
    RUN_READERS,
    FileKind,
    Input,
    Kind,
    PathLike,
    QrelsRows,
    RunRows,
    detect_kind,
    display_name,
    read_open_documents,
    read_open_topics,
)
from cranfield.validation.findings import CheckedFile, Finding, Unit, unit_of
from cranfield.validation.qrels import find_in_qrels
from cranfield.validation.runs import find_in_run


def check_file(
    path: PathLike,
    kind: Kind | None = None,
    run_format: str | None = None,
    qrels_format: str | None = None,
    grade_words: Mapping[str, float] = GRADE_WORDS,
) -> CheckedFile:
    """Find out what a file is and everything wrong or suspicious in it."""
    problems: list[InputError] = []
    identity = None
    name = str(path)
    try:
        with Input(path) as source:
            name = source.name
            identity = detect_kind(source.head, source.name, kind, {"run": run_format, "qrels": qrels_format})
            if identity.kind == "run":
                rows = RUN_READERS[identity.format](source, problems.append)
                return _check_run(rows, name, identity, problems)
            if identity.kind == "qrels":
                judgments = QRELS_READERS[identity.format](source, problems.append, grade_words)
                return _check_qrels(judgments, name, identity, problems)
            return _check_texts(source, identity, problems)
    except InputError as error:
        return CheckedFile(name, identity, "", (*map(_as_finding, problems), _as_finding(error)))
    except CranfieldError as error:
        return CheckedFile(name, identity, "", (Finding("error", "unreadable", str(error)),))


def _check_run(rows: RunRows, name: str, identity: FileKind, problems: list[InputError]) -> CheckedFile:
    unit = unit_of(identity.format)
    repeated = list(_find_duplicates(rows.queries, rows.docs, rows.lines, [""] * len(rows.docs), "retrieved", unit))
    run = rows.run(display_name(name), None, "first")
    counts = f"{pluralize(len(run.queries), 'query')}, {pluralize(len(rows.docs), 'document')}"
    findings = (*map(_as_finding, problems), *_with_unit(unit, [*repeated, *find_in_run(run, rows)]))
    return CheckedFile(name, identity, counts, _or_empty(findings, rows.docs, "document"), run)


def _check_qrels(rows: QrelsRows, name: str, identity: FileKind, problems: list[InputError]) -> CheckedFile:
    unit = unit_of(identity.format)
    within = [
        f"{subtopic}\t{subgroup}"
        for subtopic, subgroup in zip(rows.subtopics, rows.extra.get("subgroup", rows.subtopics), strict=True)
    ]
    repeated = list(_find_duplicates(rows.queries, rows.docs, rows.lines, within, "judged", unit, rows.grades))
    qrels = rows.qrels(display_name(name), None, "first")
    counts = f"{pluralize(len(qrels.queries), 'query')}, {pluralize(len(rows.docs), 'judgment')}"
    findings = (*map(_as_finding, problems), *_with_unit(unit, [*repeated, *find_in_qrels(qrels, rows)]))
    return CheckedFile(name, identity, counts, _or_empty(findings, rows.docs, "judgment"), qrels)


def _check_texts(source: Input, identity: FileKind, problems: list[InputError]) -> CheckedFile:
    lines: dict[str, int] = {}
    findings: list[Finding] = []
    for id_, text, line in _texts(source, identity, problems):
        if id_ in lines:
            message = f"id {id_!r} occurs twice, first in line {lines[id_]}."
            findings.append(Finding("error", "repeated id", message, line))
        lines.setdefault(id_, line)
        if not text.strip():
            findings.append(Finding("warning", "empty text", f"{id_!r} has no text.", line))
    noun = identity.kind.removesuffix("s")
    checked = _or_empty((*map(_as_finding, problems), *findings), list(lines), noun)
    return CheckedFile(source.name, identity, pluralize(len(lines), noun), checked, ids=lines)


def _texts(source: Input, identity: FileKind, problems: list[InputError]) -> Iterator[tuple[str, str, int]]:
    """(id, text, line) of topics or documents."""
    if identity.kind == "topics":
        for line, topic in read_open_topics(source, identity.format, problems.append):
            yield topic.id, topic.title + topic.description + topic.narrative, line
    else:
        for line, document in read_open_documents(source, identity.format, problems.append):
            yield document.id, document.title + document.text, line


def _with_unit(unit: Unit, findings: Iterable[Finding]) -> Iterator[Finding]:
    return (replace(finding, unit=unit) for finding in findings)


def _find_duplicates(
    queries: list[str],
    docs: list[str],
    lines: list[int],
    within: list[str],
    verb: str,
    unit: Unit,
    grades: list[float] | None = None,
) -> Iterator[Finding]:
    """Documents that occur twice for the same query (and subtopic): an error, unless their grades are the same."""
    seen: dict[tuple[str, str, str], int] = {}
    for i, key in enumerate(zip(queries, docs, within, strict=True)):
        first = seen.setdefault(key, i)
        if first == i:
            continue
        harmless = grades is not None and grades[first] == grades[i]
        with_grades = f" with grades {grades[first]:g} and {grades[i]:g}" if grades is not None else ""
        message = (
            f"document {key[1]!r} is {verb} twice for query {key[0]!r}{with_grades}, first in {unit} {lines[first]}."
        )
        yield Finding("warning" if harmless else "error", "duplicate", message, lines[i])


def _or_empty(findings: tuple[Finding, ...], content: list[str], noun: str) -> tuple[Finding, ...]:
    if content:
        return findings
    return (*findings, Finding("error", "empty", f"the file has no {noun}."))


def _as_finding(error: InputError) -> Finding:
    return Finding("error", "unreadable", error.message, error.line)
