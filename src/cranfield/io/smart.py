"""The SMART format of the classic collections (Cranfield, CACM, CISI, MED): `.I` begins a record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from cranfield.data import Document, Topic
from cranfield.errors import InputError
from cranfield.io.beir import check_id, ensure_title, normalize_space
from cranfield.io.files import Input
from cranfield.io.parse_values import OnProblem, read_each

FIELDS = {
    "A": "author",
    "B": "bibliography",
    "N": "note",
    "K": "keywords",
    "C": "categories",
    "X": "references",
    "M": "headings",
    "P": "type",
    "S": "source",
    "U": "sequence",
}
_Record = tuple[str, dict[str, str]]
_START = re.compile(rb"\.I(?:[ \t]+(.*))?")
_SECTION = re.compile(rb"\.([A-Z])\s*")
_LIKE_A_MARK = re.compile(r"^(?=\.(?:[A-Z]\s*$|I[ \t]))", re.MULTILINE)


def read_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """Documents in SMART format, each with its line: `.T` is the title, `.W` the text, the others are fields."""
    return read_each(_records(source, problem), lambda line, record: _document(record, source.name, line), problem)


def read_topics(source: Input, problem: OnProblem) -> Iterator[tuple[int, Topic]]:
    """Topics in SMART format, each with its line: `.W` is what is searched for."""
    return read_each(_records(source, problem), lambda line, record: _topic(record, source.name, line), problem)


def write_documents(documents: Iterable[Document]) -> Iterator[str]:
    """Documents in SMART format; fields that SMART has no letter for are left out."""
    for document in documents:
        sections = {"T": document.title} | _lettered(document.fields) | {"W": document.text}
        yield _record(document.id, sections)


def write_topics(topics: Iterable[Topic]) -> Iterator[str]:
    """Topics in SMART format, which has room for one text: the title."""
    for topic in topics:
        sections = {"T": topic.fields.get("title", ""), "W": topic.title} | _lettered(topic.fields)
        yield _record(topic.id, sections)


def _document(record: _Record, file: str, line: int) -> Document:
    id, sections = record
    return Document(
        id=check_id(id, "document", file, line),
        text=sections.get("W", ""),
        title=normalize_space(sections.get("T", "")),
        fields=_fields(sections),
    )


def _topic(record: _Record, file: str, line: int) -> Topic:
    id, sections = record
    heading = normalize_space(sections.get("T", ""))
    text = normalize_space(sections.get("W", ""))
    topic = Topic(
        id=check_id(id, "topic", file, line),
        title=text or heading,
        fields={"title": heading} | _fields(sections) if heading and text else _fields(sections),
    )
    return ensure_title(topic, file, line)


def _records(source: Input, problem: OnProblem) -> Iterator[tuple[int, _Record]]:
    """The id and the sections of every record, with its line."""
    begun, id, letter = 0, "", ""
    sections: dict[str, list[bytes]] = {}
    for line, data in source.lines():
        if start := _START.fullmatch(data):
            if begun:
                yield begun, (id, _joined(sections))
            begun, id, letter = line, _decoded((start[1] or b"").strip()), ""
            sections = {}
        elif begun and (section := _SECTION.fullmatch(data)):
            letter = section[1].decode()
            sections.setdefault(letter, [])
        elif letter:
            sections[letter].append(data)
        elif data.strip():
            problem(_misplaced(data, begun, source.name, line))
    if begun:
        yield begun, (id, _joined(sections))


def _misplaced(data: bytes, begun: int, file: str, line: int) -> InputError:
    expected = "a section such as '.T' or '.W'" if begun else "'.I' and an id"
    return InputError(f"expected {expected}, found {_decoded(data[:40])!r}.", file, line)


def _joined(sections: Mapping[str, list[bytes]]) -> dict[str, str]:
    # a section that comes twice (Cranfield 240, 576, 578) goes on where it left off
    return {letter: _decoded(b"\n".join(lines)).strip() for letter, lines in sections.items()}


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _fields(sections: Mapping[str, str]) -> dict[str, str]:
    return {FIELDS.get(k, k): text for k, text in sections.items() if k not in "TW" and text}


def _lettered(fields: Mapping[str, str]) -> dict[str, str]:
    letters = {name: letter for letter, name in FIELDS.items()}
    found = ((letters.get(name, name), text) for name, text in fields.items())
    return {letter: text for letter, text in found if re.fullmatch("[A-HJ-SU-VX-Z]", letter)}


def find_unmapped_fields(fields: Mapping[str, str]) -> list[str]:
    """The names of fields that SMART has no letter for."""
    letters = set(FIELDS.values()) | {"title"}
    return [name for name in fields if name not in letters and not re.fullmatch("[A-HJ-SU-VX-Z]", name)]


def _record(id: str, sections: Mapping[str, str]) -> str:
    written = "".join(f".{letter}\n{_guarded(text)}\n" for letter, text in sections.items() if text)
    return f".I {id}\n{written}"


def _guarded(text: str) -> str:
    """The text with a space before each line that would be taken for a mark."""
    return _LIKE_A_MARK.sub(" ", text.replace("\r\n", "\n"))
