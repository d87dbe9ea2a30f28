"""Telling what a file is when nobody says: a run, qrels, topics or documents."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from cranfield.errors import FormatError
from cranfield.formats.recognise import (
    AS_ASKED,
    data_rows,
    is_parquet,
    recognise_qrels,
    recognise_run,
    usual_width,
)
from cranfield.formats.rows import DOC, GRADE, QUERY, RELEVANT, RETRIEVED, SCORE, column
from cranfield.formats.tabular import parquet_columns
from cranfield.formats.texts import recognise_documents, recognise_topics

Kind = Literal["run", "qrels", "topics", "documents"]
LONG_TEXT = 200  # characters; queries are shorter, documents mostly longer


@dataclass(frozen=True)
class Identity:
    """What a file is, in which format, and why one thinks so."""

    kind: Kind
    format: str
    why: str


def identify(head: bytes, file: str, kind: Kind | None = None, format: str | None = None) -> Identity:
    """What a file is, by its first bytes; a kind that is given is taken, and so is a format."""
    kind = kind or _kind(head, file)
    if format is not None:
        return Identity(kind, format, AS_ASKED)
    if kind in ("run", "qrels"):
        found = (recognise_run if kind == "run" else recognise_qrels)(head, file)
        return Identity(kind, found.format, found.why)
    text = (recognise_topics if kind == "topics" else recognise_documents)(head)
    if text is None:
        raise FormatError(f"this does not look like {kind}. Name the format.", file)
    return Identity(kind, *text)


def _kind(head: bytes, file: str) -> Kind:
    if not head.strip():
        raise FormatError("the file is empty.", file)
    if is_parquet(head):
        return _kind_of_columns(parquet_columns(file))
    start = head.lstrip()
    if start.startswith((b"{", b"[")):
        return _kind_of_json(start)
    if start.startswith(b"<"):
        return "documents" if recognise_documents(head) else "topics"
    if re.match(rb"\.I[ \t\r\n]", start):
        return _kind_of_smart(head)
    return _kind_of_lines(head, file)


def _kind_of_lines(head: bytes, file: str) -> Kind:
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")]
    for delimiter in (b"\t", b","):
        header = [cell.decode("utf-8", "replace").strip(' "\r') for cell in lines[0].split(delimiter)] if lines else []
        if column(header, QUERY) and column(header, DOC) and column(header, (*SCORE, *GRADE, "rank")):
            return _kind_of_columns(header)
    rows = data_rows(head)
    widths = [len(row) for row in rows[:200]]
    width = usual_width(rows) if rows else 0
    if width == 3 and widths.count(3) == len(widths):
        return "run" if _counts_up(rows) else "qrels"
    if width in (4, 5, 6) and widths.count(width) > len(widths) / 2 and not _is_text(lines):
        return "run" if width == 6 else "qrels"
    if re.match(rb"\S+\s+qid:\S", lines[0] if lines else b""):
        return "qrels"
    documents = recognise_documents(head)
    topics = recognise_topics(head)
    if not documents and not topics:
        if widths.count(width) > len(widths) / 2 and 2 < width < 12:
            return "run" if width > 5 else "qrels"
        raise FormatError(
            "cannot tell what this is: neither a run (6 columns) nor qrels (3 to 5), topics or documents. "
            "Say it with --kind run, qrels, topics or documents.",
            file,
        )
    return "documents" if documents and (not topics or _mean_length(lines) > LONG_TEXT) else "topics"


def _kind_of_smart(head: bytes) -> Kind:
    """Documents have titles or are long; queries of the classic collections are neither."""
    records = re.split(rb"^\.I[ \t]", head, flags=re.MULTILINE)[1:]
    titled = sum(1 for record in records if re.search(rb"^\.T\s*$", record, re.MULTILINE))
    mean = sum(map(len, records)) / max(len(records), 1)
    return "documents" if titled > 0.9 * len(records) or mean > 700 else "topics"


def _is_text(lines: list[bytes]) -> bool:
    """Two tab-separated columns of which the second has words: topics or documents, not columns of ids."""
    some = lines[:50]
    return all(line.count(b"\t") == 1 and b" " in line.split(b"\t")[1].strip() for line in some)


def _kind_of_columns(names: list[str]) -> Kind:
    if names == ["query-id", "corpus-id", "score"]:  # BEIR's qrels
        return "qrels"
    if column(names, [name for name in GRADE if name not in SCORE]):
        return "qrels"
    if column(names, QUERY) and column(names, DOC):
        return "run"
    return "documents" if column(names, DOC) or "title" in names else "topics"


def _kind_of_json(start: bytes) -> Kind:
    record = _first_value(start)
    if isinstance(record, list):
        record = record[0] if record else {}
    if not isinstance(record, dict):
        return "run"
    if record and all(isinstance(value, dict) for value in record.values()):
        numbers = [number for docs in record.values() for number in docs.values()]
        return "qrels" if numbers and all(isinstance(n, (int, str)) for n in numbers) else "run"
    if column(record, RETRIEVED):
        return "run"
    if column(record, RELEVANT):
        return "qrels"
    if column(record, QUERY) and column(record, DOC):
        return _kind_of_columns(list(record))
    text = max((len(value) for value in record.values() if isinstance(value, str)), default=0)
    return "documents" if "title" in record or text > LONG_TEXT else "topics"


def _first_value(start: bytes) -> Any:
    text = start.decode("utf-8", "surrogateescape")
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _counts_up(rows: list[list[bytes]]) -> bool:
    """Whether the third column counts 1, 2, 3 … (or from 0) within each query, as ranks do."""
    last: dict[bytes, int] = {}
    for query, _, token in rows:
        if not re.fullmatch(rb"\d{1,9}", token):
            return False
        rank = int(token)
        if rank != last.get(query, rank - 1 if rank in (0, 1) else -2) + 1:
            return False
        last[query] = rank
    return True


def _mean_length(lines: list[bytes]) -> float:
    some = lines[:100]
    return sum(map(len, some)) / len(some) if some else 0.0
