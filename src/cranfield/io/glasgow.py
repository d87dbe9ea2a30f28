"""The layouts of their own that NPL, TIME and LISA have among the test collections kept at Glasgow."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cranfield.base import pluralize
from cranfield.data import Document, Topic
from cranfield.errors import InputError
from cranfield.io.beir import check_id, ensure_title, normalize_space
from cranfield.io.files import Input
from cranfield.io.parse_values import OnProblem
from cranfield.io.rows import Note, QrelsRows

_Numbered = tuple[int, str, list[str]]  # the line a record begins on, its id, and its lines
_NPL_ID = re.compile(r"\s*(\d+)\s*")
_TIME_TEXT = re.compile(r"\*TEXT\s+(\d+)(?:\s+(\S+))?(?:\s+PAGE\s+(\S+))?\s*")
_TIME_FIND = re.compile(r"\*FIND\s+(\d+)\s*")
_LISA_DOCUMENT = re.compile(r"Document\s+(\d+)\s*")
_LISA_END = re.compile(r"\s*\*{10,}\s*")
_LISA_QUERY = re.compile(r"Query\s+(\d+)\s*")
_LISA_REFS = re.compile(r"(\d+)\s+Relevant Refs?:?\s*")


def read_npl_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """NPL's doc-text: an id, the text, and a slash on a line of its own."""
    for line, id, lines in _npl_records(source):
        yield line, Document(check_id(id, "document", source.name, line), "\n".join(lines))


def read_npl_topics(source: Input, problem: OnProblem) -> Iterator[tuple[int, Topic]]:
    """NPL's query-text: an id, the query, and a slash on a line of its own."""
    for line, id, lines in _npl_records(source):
        yield line, _topic(id, lines, source, line)


def read_npl_qrels(source: Input, problem: OnProblem) -> QrelsRows:
    """NPL's rlv-ass: the id of a query, its relevant documents, and a slash."""
    rows = QrelsRows()
    for line, id, lines in _npl_records(source):
        for doc in _numbers(lines, source, line):
            rows.add(id, doc, 1.0, line)
    return rows


def read_time_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """TIME.ALL: `*TEXT 017 01/04/63 PAGE 020` begins an article; its id is its place in the file, as in TIME.REL."""
    for place, (line, mark, lines) in enumerate(_starred(source, _TIME_TEXT), 1):
        names = ("number", "date", "page")
        fields = {name: value for name, value in zip(names, mark.groups(), strict=True) if value}
        yield line, Document(str(place), "\n".join(lines), "", fields)


def read_time_topics(source: Input, problem: OnProblem) -> Iterator[tuple[int, Topic]]:
    """TIME.QUE: `*FIND 46` begins a query."""
    for line, mark, lines in _starred(source, _TIME_FIND):
        yield line, _topic(_number(mark[1]), lines, source, line)


def read_time_qrels(source: Input, problem: OnProblem) -> QrelsRows:
    """TIME.REL: on each line a query and its relevant documents."""
    rows = QrelsRows()
    for line, text in _text_lines(source):
        if text:
            query, *docs = _numbers([text], source, line)
            for doc in docs:
                rows.add(query, doc, 1.0, line)
    return rows


def read_lisa_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """LISA0.001 and the others: `Document 1`, the title, an empty line, the text, and a line of asterisks."""
    begun, id = 0, ""
    lines: list[str] = []
    for line, text in _text_lines(source):
        if mark := _LISA_DOCUMENT.fullmatch(text):
            if begun:
                raise _cut_off(source, begun, "a line of asterisks")
            begun, id, lines = line, _number(mark[1]), []
        elif begun and _LISA_END.fullmatch(text):
            yield begun, _lisa_document(id, lines)
            begun = 0
        elif begun:
            lines.append(text)
        elif text:
            raise InputError(f"expected 'Document' and a number, found {text[:40]!r}.", source.name, line)
    if begun:
        raise _cut_off(source, begun, "a line of asterisks")


def read_lisa_topics(source: Input, problem: OnProblem) -> Iterator[tuple[int, Topic]]:
    """LISA.QUE: the id of a query on a line of its own, and text that ends with #."""
    begun, id = 0, ""
    lines: list[str] = []
    for line, text in _text_lines(source):
        if not begun:
            if not text:
                continue
            (id,) = _numbers([text], source, line)[:1]
            begun, lines = line, []
            continue
        lines.append(text.removesuffix("#"))
        if text.endswith("#"):
            yield begun, _topic(id, lines, source, begun)
            begun = 0
    if begun:
        raise _cut_off(source, begun, "#")


def read_lisa_numbers(source: Input, problem: OnProblem) -> QrelsRows:
    """LISARJ.NUM: a query, how many documents are relevant, and these, over as many lines as it takes."""
    rows, query, left = QrelsRows(), "", -1
    for line, text in _text_lines(source):
        for number in _numbers([text], source, line):
            if left < 0:
                query, left = number, 0
            elif not left:
                left = int(number) or -1
            else:
                rows.add(query, number, 1.0, line)
                left = left - 1 or -1
    if left >= 0:
        raise InputError(f"the documents of query {query} are cut off.", source.name)
    return rows


def read_lisa_qrels(source: Input, problem: OnProblem) -> QrelsRows:
    """LISA.REL: `Query 1`, `2 Relevant Refs:`, and the documents up to -1."""
    rows, query, announced, found = QrelsRows(), "", 0, 0
    for line, text in _text_lines(source):
        if mark := _LISA_QUERY.fullmatch(text):
            _compare_count(rows, query, announced, found, line)
            query, announced, found = _number(mark[1]), 0, 0
        elif mark := _LISA_REFS.fullmatch(text):
            if announced:
                message = (
                    f"the query that these documents belong to is missing, after query {query}. "
                    "Mend the file, or put LISARJ.NUM beside it, which is preferred."
                )
                raise InputError(message, source.name, line)
            announced = int(mark[1])
        elif text:
            for doc in _numbers([text.removesuffix("-1")], source, line):
                rows.add(query, doc, 1.0, line)
                found += 1
    _compare_count(rows, query, announced, found, 0)
    return rows


def _compare_count(rows: QrelsRows, query: str, announced: int, found: int, line: int) -> None:
    if announced != found:
        message = f"query {query} announces {pluralize(announced, 'relevant document')} and lists {found}."
        rows.notes.append(Note(message, line or None))


def _npl_records(source: Input) -> Iterator[_Numbered]:
    begun, id = 0, ""
    lines: list[str] = []
    for line, text in _text_lines(source):
        if not begun:
            if not text:
                continue
            mark = _NPL_ID.fullmatch(text)
            if mark is None:
                raise InputError(f"expected the number of a record, found {text[:40]!r}.", source.name, line)
            begun, id, lines = line, _number(mark[1]), []
        elif text == "/":
            yield begun, id, lines
            begun = 0
        elif text:
            lines.append(text)
    if begun:
        raise _cut_off(source, begun, "a slash")


def _starred(source: Input, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str], list[str]]]:
    """Records that begin with a line like `*TEXT 017`, up to `*STOP`."""
    begun, mark = 0, None
    lines: list[str] = []
    for line, text in _text_lines(source):
        start = pattern.fullmatch(text)
        stop = text == "*STOP"
        if start or stop:
            if mark is not None:
                yield begun, mark, lines
            begun, mark, lines = line, start, []
        elif mark is not None and text:
            lines.append(text)
        elif text:
            expected = pattern.pattern[1:6].replace("\\", "")
            raise InputError(f"expected a line that begins with {expected}, found {text[:40]!r}.", source.name, line)
    if mark is not None:
        yield begun, mark, lines


def _lisa_document(id: str, lines: list[str]) -> Document:
    first = next((i for i, text in enumerate(lines) if text), 0)
    end = next((i for i in range(first, len(lines)) if not lines[i]), len(lines))
    text = "\n".join(line for line in lines[end:] if line)
    return Document(id, text, normalize_space(" ".join(lines[first:end])))


def _topic(id: str, lines: list[str], source: Input, line: int) -> Topic:
    return ensure_title(
        Topic(check_id(id, "topic", source.name, line), normalize_space(" ".join(lines))), source.name, line
    )


def _text_lines(source: Input) -> Iterator[tuple[int, str]]:
    """Lines without the white space around them and the mark that DOS ends files with."""
    for line, data in source.lines():
        yield line, data.decode("utf-8", "surrogateescape").strip(" \t\r\f\v\x1a\x00")


def _numbers(lines: list[str], source: Input, line: int) -> list[str]:
    """The numbers on lines, without zeros in front of them."""
    found = " ".join(lines).split()
    wrong = next((text for text in found if not (text.isascii() and text.isdigit())), None)
    if wrong is not None:
        raise InputError(f"expected numbers, found {wrong[:40]!r}.", source.name, line)
    return [_number(text) for text in found]


def _number(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _cut_off(source: Input, begun: int, what: str) -> InputError:
    return InputError(f"the record that begins here is cut off: {what} is missing at its end.", source.name, begun)
