"""Topics and documents in tables: MS MARCO's TSV without a header, and TSV or CSV with one."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

from cranfield.base import format_id
from cranfield.data import Document, Topic
from cranfield.errors import InputError
from cranfield.io.beir import (
    DOCUMENT_ID,
    DOCUMENT_TEXT,
    DOCUMENT_TITLE,
    METADATA,
    TOPIC_ID,
    TOPIC_TEXT,
    normalize_key,
    normalize_space,
    parse_document,
    parse_object,
    parse_topic,
)
from cranfield.io.files import Input
from cranfield.io.parse_values import OnProblem, read_each

Kind = Literal["topic", "document"]
LARGEST_FIELD = 1 << 28
# what MS MARCO's files without a header hold, by their number of columns
WITHOUT_HEADER: dict[Kind, dict[int, tuple[str, ...]]] = {
    "topic": {2: ("id", "text")},
    "document": {2: ("id", "text"), 4: ("id", "url", "title", "body")},
}
_NAMES: dict[Kind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "topic": (TOPIC_ID, TOPIC_TEXT),
    "document": (DOCUMENT_ID, DOCUMENT_TEXT + DOCUMENT_TITLE),
}
_Row = tuple[int, list[str]]
_Named = tuple[int, dict[str, object]]
_field_limit = threading.Lock()


def read_tsv_topics(source: Input, problem: OnProblem) -> Iterator[tuple[int, Topic]]:
    """Topics from a TSV file, each with its line."""
    records = _named_or_not(_tsv_rows(source), "topic", source.name, problem)
    return read_each(records, lambda line, record: parse_topic(record, source.name, line), problem)


def read_tsv_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """Documents from a TSV file, each with its line."""
    records = _named_or_not(_tsv_rows(source), "document", source.name, problem)
    return read_each(records, lambda line, record: parse_document(record, source.name, line), problem)


def read_csv_topics(source: Input, problem: OnProblem) -> Iterator[tuple[int, Topic]]:
    """Topics from a CSV file with a header, each with its line."""
    records = _named(_csv_rows(source, problem), "topic", source.name, problem)
    return read_each(records, lambda line, record: parse_topic(record, source.name, line), problem)


def read_csv_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """Documents from a CSV file with a header, each with its line."""
    records = _named(_csv_rows(source, problem), "document", source.name, problem)
    return read_each(records, lambda line, record: parse_document(record, source.name, line), problem)


def write_tsv_topics(topics: Iterable[Topic]) -> Iterator[str]:
    """Topics as MS MARCO has them: id and title, no header."""
    for i, topic in enumerate(topics):
        cells = [topic.id, normalize_space(topic.title)]
        # a first topic that reads like a header needs a true one before it
        yield ("id\ttext\n" if i == 0 and is_header(cells, "topic") else "") + "\t".join(cells) + "\n"


def write_tsv_documents(documents: Iterable[Document]) -> Iterator[str]:
    """Documents as TSV with a header; only id, title and text, each on one line."""
    yield "id\ttitle\ttext\n"
    for document in documents:
        yield f"{document.id}\t{normalize_space(document.title)}\t{normalize_space(document.text)}\n"


def write_csv_topics(topics: Iterable[Topic]) -> Iterator[str]:
    """Topics as CSV with a header, other fields as JSON in a column of their own."""
    yield _csv_line(["id", "text", "description", "narrative", METADATA])
    for topic in topics:
        yield _csv_line([topic.id, topic.title, topic.description, topic.narrative, _packed(topic.fields)])


def write_csv_documents(documents: Iterable[Document]) -> Iterator[str]:
    """Documents as CSV with a header, other fields as JSON in a column of their own."""
    yield _csv_line(["id", "title", "text", METADATA])
    for document in documents:
        yield _csv_line([document.id, document.title, document.text, _packed(document.fields)])


def is_header(cells: Sequence[str], kind: Kind) -> bool:
    """Whether the cells name an id and a text, rather than being them.

    >>> is_header(["Query ID", "query"], "topic"), is_header(["301", "organized crime"], "topic")
    (True, False)
    """
    names = {normalize_key(cell) for cell in cells}
    ids, texts = _NAMES[kind]
    id = next((name for name in ids if name in names), None)
    return id is not None and any(name in names - {id} for name in texts)


def _named_or_not(rows: Iterator[_Row], kind: Kind, file: str, problem: OnProblem) -> Iterator[_Named]:
    first = next(rows, None)
    if first is not None and is_header(first[1], kind):
        yield from _records(rows, first[1], file, problem)
        return
    # the first row of a possible width says which columns there are
    while first is not None and len(first[1]) not in WITHOUT_HEADER[kind]:
        problem(_no_implied_header(first, kind, file))
        first = next(rows, None)
    if first is not None:
        yield from _records(chain([first], rows), WITHOUT_HEADER[kind][len(first[1])], file, problem)


def _named(rows: Iterator[_Row], kind: Kind, file: str, problem: OnProblem) -> Iterator[_Named]:
    line, header = next(rows, (1, []))
    if not is_header(header, kind):
        ids, texts = (", ".join(names) for names in _NAMES[kind])
        expected = f"expected a header with an id column ({ids}) and a text column ({texts})"
        raise InputError(f"{expected}, found {', '.join(header)[:80]!r}.", file, line)
    yield from _records(rows, header, file, problem)


def _no_implied_header(row: _Row, kind: Kind, file: str) -> InputError:
    line, cells = row
    known = " or ".join(f"{n} ({' '.join(names)})" for n, names in WITHOUT_HEADER[kind].items())
    message = f"expected {known} tab-separated columns, or a header, found {len(cells)} columns."
    return InputError(message, file, line)


def _records(rows: Iterator[_Row], header: Sequence[str], file: str, problem: OnProblem) -> Iterator[_Named]:
    for line, cells in rows:
        if len(cells) != len(header):
            names = format_id(" ".join(header)[:80])
            message = f"expected {len(header)} columns, {names}, found {len(cells)}."
            problem(InputError(message, file, line))
            continue
        yield line, _unpacked(dict(zip(header, cells, strict=True)))


def _unpacked(record: Mapping[str, str]) -> dict[str, object]:
    metadata = parse_object(record.get(METADATA, ""))
    return {**record} if metadata is None else {**record, METADATA: metadata}


def _packed(fields: Mapping[str, str]) -> str:
    return json.dumps(dict(fields), ensure_ascii=False) if fields else ""


def _tsv_rows(source: Input) -> Iterator[_Row]:
    # no quoting: in MS MARCO a quotation mark is a quotation mark
    for line, data in source.lines():
        if data.strip():
            yield line, data.decode("utf-8", "surrogateescape").split("\t")


def _csv_rows(source: Input, problem: OnProblem) -> Iterator[_Row]:
    lines = (data.decode("utf-8", "surrogateescape") + "\n" for _, data in source.lines())
    # strict: a quotation mark left open must not swallow the rest of the file unnoticed
    reader = csv.reader(lines, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = _next_row(reader)
        except csv.Error as error:
            problem(InputError(f"this is not CSV: {error}.", source.name, line))
            continue
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield line, cells


def _next_row(reader: Iterator[list[str]]) -> list[str] | None:
    # the limit belongs to the whole process: lifted for one row at a time, and put back
    with _field_limit:
        before = csv.field_size_limit(LARGEST_FIELD)
        try:
            return next(reader, None)
        finally:
            csv.field_size_limit(before)


def _csv_line(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([_line_ends(cell) for cell in cells])
    return out.getvalue()


def _line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
