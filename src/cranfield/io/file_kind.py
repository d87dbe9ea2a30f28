"""Telling what a file is when nobody says: a run, qrels, topics or documents."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from cranfield.base import Record
from cranfield.errors import FormatError
from cranfield.io.beir import DOCUMENT_ID, DOCUMENT_TEXT, normalize_key
from cranfield.io.detect_format import (
    AS_REQUESTED,
    data_rows,
    detect_qrels_format,
    detect_run_format,
    has_counting_column,
    has_plausible_ranks,
    has_ranks,
    is_letor,
    is_parquet,
    most_common_width,
)
from cranfield.io.rows import DOC_COLUMNS, GRADE_COLUMNS, QUERY_COLUMNS, RELEVANT, RETRIEVED, SCORE_COLUMNS, find_column
from cranfield.io.tabular import parquet_columns
from cranfield.io.text_tables import is_header
from cranfield.io.topics_documents import detect_document_format, detect_topic_format

Kind = Literal["run", "qrels", "topics", "documents"]
LONG_TEXT = 200  # characters; queries are shorter, documents mostly longer


class FileKind(Record):
    """What a file is, in which format, and why one thinks so."""

    kind: Kind
    format: str
    why: str


class Guess(Record):
    """A kind, and the reason where the format does not give it away."""

    kind: Kind
    why: str = ""


def detect_kind(
    head: bytes,
    file: str,
    kind: Kind | None = None,
    formats: Mapping[Kind, str | None] | None = None,
) -> FileKind:
    """What a file is, by its first bytes; a kind that is given is taken, and so is a format for this kind."""
    asked = {of: format for of, format in (formats or {}).items() if format is not None}
    guess = Guess(kind) if kind else _guess(head, file, asked)
    if guess.kind in asked:
        return FileKind(guess.kind, asked[guess.kind], AS_REQUESTED)
    if guess.kind in ("run", "qrels"):
        found = (detect_run_format if guess.kind == "run" else detect_qrels_format)(head, file)
        return FileKind(guess.kind, found.format, f"{found.why}{guess.why}")
    text = (detect_topic_format if guess.kind == "topics" else detect_document_format)(head)
    if text is None:
        raise FormatError(f"this does not look like {guess.kind}. Name the format.", file)
    return FileKind(guess.kind, *text)


def _guess(head: bytes, file: str, asked: Mapping[Kind, str]) -> Guess:
    """The kind by looking; where that fails and a format is asked for, the kind that it belongs to."""
    try:
        return _kind(head, file)
    except FormatError:
        if len(asked) != 1 or not head.strip():
            raise
        return Guess(next(iter(asked)))


def _kind(head: bytes, file: str) -> Guess:
    if not head.strip():
        raise FormatError("the file is empty.", file)
    if is_parquet(head):
        return Guess(_kind_of_columns(parquet_columns(file)))
    start = head.lstrip()
    if start.startswith((b"{", b"[")):
        return _kind_of_json(start)
    if start.startswith(b"<"):
        return Guess("documents" if detect_document_format(head) else "topics")
    if re.match(rb"\.I[ \t\r\n]", start):
        return Guess(_kind_of_smart(head))
    return Guess(_kind_of_lines(head, file))


def _kind_of_lines(head: bytes, file: str) -> Kind:
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")]
    rows = data_rows(head)
    if not rows:
        raise FormatError("the file holds only comments.", file)
    by_header = _kind_of_header(lines[0], lines)
    if by_header:
        return by_header
    if is_letor(rows[0]):
        return "qrels"
    if _is_text(lines):
        return _kind_of_text(lines)
    widths = [len(row) for row in rows[:200]]
    width = most_common_width(rows)
    if width == 3 and widths.count(3) == len(widths):
        return _kind_of_three(rows, head, file)
    if width in (4, 5, 6) and widths.count(width) > len(widths) / 2:
        return "run" if width == 6 else "qrels"
    documents = detect_document_format(head)
    topics = detect_topic_format(head)
    if documents or topics:
        return _kind_of_text(lines) if documents and topics else "documents" if documents else "topics"
    if widths.count(width) > len(widths) / 2 and 2 < width < 12:
        return "run" if width > 5 else "qrels"
    raise FormatError(
        "cannot tell what this is: neither a run (6 columns) nor qrels (3 to 5), topics or documents. "
        "Say it with --kind run, qrels, topics or documents.",
        file,
    )


def _kind_of_header(first: bytes, lines: list[bytes]) -> Kind | None:
    """What a table with named columns is; None if the first line names none."""
    for delimiter in (b"\t", b","):
        header = [cell.decode("utf-8", "replace").strip(' "\r') for cell in first.split(delimiter)]
        if (
            find_column(header, QUERY_COLUMNS)
            and find_column(header, DOC_COLUMNS)
            and find_column(header, (*SCORE_COLUMNS, *GRADE_COLUMNS, "rank"))
        ):
            return _kind_of_columns(header)
        names = {normalize_key(name) for name in header}
        if "title" in names and not names.isdisjoint(DOCUMENT_ID) and not names.isdisjoint(DOCUMENT_TEXT):
            return "documents"
        topics, documents = is_header(header, "topic"), is_header(header, "document")
        if len(header) > 1 and (topics or documents):
            return _kind_of_text(lines) if topics and documents else "topics" if topics else "documents"
    return None


def _kind_of_three(rows: list[list[bytes]], head: bytes, file: str) -> Kind:
    """A run if the third column counts as ranks do, qrels if it holds zeros or Cranfield's codes; else one must say."""
    several = len({row[0] for row in rows}) < len(rows)
    if has_ranks(rows) and (has_plausible_ranks(rows) or (several and has_counting_column(rows))):
        return "run"
    try:
        detect_qrels_format(head, file)
    except FormatError:
        if not all(row[2].isdigit() for row in rows):
            raise  # no rank: what qrels it could be is said already
        raise FormatError(
            "three columns could be qrels ('query doc grade', or Cranfield's 'query doc code' with 1 as the best) or "
            "an MS MARCO run ('query doc rank'). "
            "Say which: --qrels-format plain, --qrels-format cranfield or --run-format msmarco.",
            file,
        ) from None
    return "qrels"


def _kind_of_text(lines: list[bytes]) -> Kind:
    return "documents" if _mean_length(lines) > LONG_TEXT else "topics"


def _kind_of_smart(head: bytes) -> Kind:
    """Documents have titles or are long; queries of the classic collections are neither."""
    records = re.split(rb"^\.I[ \t]", head, flags=re.MULTILINE)[1:]
    titled = sum(1 for record in records if re.search(rb"^\.T\s*$", record, re.MULTILINE))
    mean = sum(map(len, records)) / max(len(records), 1)
    return "documents" if titled > 0.9 * len(records) or mean > 700 else "topics"


def _is_text(lines: list[bytes]) -> bool:
    """Whether every line has one tab, and some have words behind it: topics or documents, not columns of ids."""
    some = [line.split(b"\t") for line in lines[:200]]
    return all(len(cells) == 2 for cells in some) and any(len(cells[1].split()) > 1 for cells in some)


def _kind_of_columns(names: list[str]) -> Kind:
    if names == ["query-id", "corpus-id", "score"]:  # BEIR's qrels
        return "qrels"
    if find_column(names, [name for name in GRADE_COLUMNS if name not in SCORE_COLUMNS]):
        return "qrels"
    if find_column(names, QUERY_COLUMNS) and find_column(names, DOC_COLUMNS):
        return "run"
    return "documents" if find_column(names, DOC_COLUMNS) or "title" in names else "topics"


def _kind_of_json(start: bytes) -> Guess:
    record = _first_value(start)
    if isinstance(record, list):
        record = record[0] if record else {}
    if not isinstance(record, dict):
        return Guess("run")
    if record and all(isinstance(value, dict) for value in record.values()):
        return _kind_of_nested(record)
    if find_column(record, RETRIEVED):
        return Guess("run")
    if find_column(record, RELEVANT):
        return Guess("qrels")
    if find_column(record, QUERY_COLUMNS) and find_column(record, DOC_COLUMNS):
        return Guess(_kind_of_columns(list(record)))
    text = max((len(value) for value in record.values() if isinstance(value, str)), default=0)
    return Guess("documents" if "title" in record or text > LONG_TEXT else "topics")


def _kind_of_nested(content: dict[str, dict[str, Any]]) -> Guess:
    """`{query: {doc: number}}`: fractions are scores; whole numbers are grades unless they all differ."""
    values = [list(docs.values()) for docs in content.values()]
    if any(isinstance(value, str) for own in values for value in own):
        return Guess("qrels", ", words for grades")
    if not all(isinstance(value, int) for own in values for value in own):
        return Guess("run", ", fractions as of scores")
    several = [own for own in values if len(own) > 2]
    if several and all(len(set(own)) == len(own) for own in several):
        return Guess("run", ", whole numbers that differ within each query, as scores do")
    repeated = "that repeat within a query" if several else "for one or two documents a query"
    return Guess("qrels", f", whole numbers {repeated}, as of grades")


def _first_value(start: bytes) -> Any:
    """The first JSON value; of one longer than the head as much as is there."""
    text = start.decode("utf-8", "surrogateescape")
    last, comma = text.rfind("}") + 1, text.rfind(",")
    for attempt in (text, f"{text[:last]}}}", f"{text[:last]}]", f"{text[:comma]}}}}}"):
        try:
            return json.JSONDecoder().raw_decode(attempt)[0]
        except (ValueError, RecursionError):
            continue
    return None


def _mean_length(lines: list[bytes]) -> float:
    some = lines[:100]
    return sum(map(len, some)) / len(some) if some else 0.0
