"""Reading and writing topics and documents, whatever their format: the front door to the text formats."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from cranfield.base import Record, format_id, pluralize
from cranfield.data import Document, Topic
from cranfield.errors import FormatError, InputError
from cranfield.io import beir, smart, text_tables, trec_text
from cranfield.io.beir import replace_lone_surrogates
from cranfield.io.files import Input, PathLike, expand_path, open_output, strip_compression_suffix
from cranfield.io.parse_values import OnProblem, raise_problem
from cranfield.io.text_tables import Kind


class _TopicFormat(Record):
    about: str
    read: Callable[[Input, OnProblem], Iterator[tuple[int, Topic]]]
    write: Callable[[Iterable[Topic]], Iterator[str]]


class _DocumentFormat(Record):
    about: str
    read: Callable[[Input, OnProblem], Iterator[tuple[int, Document]]]
    write: Callable[[Iterable[Document]], Iterator[str]]


_TOPICS = {
    "trec": _TopicFormat(
        "TREC's SGML: <top> <num> Number: 301 <title> … <desc> … <narr> … </top>",
        trec_text.read_sgml_topics,
        trec_text.write_sgml_topics,
    ),
    "xml": _TopicFormat(
        'XML as in TREC Web: <topic number="1"> <query> <description> <subtopic>',
        trec_text.read_xml_topics,
        trec_text.write_xml_topics,
    ),
    "smart": _TopicFormat(
        "SMART, as in Cranfield and CACM: .I id, .W text",
        smart.read_topics,
        smart.write_topics,
    ),
    "jsonl": _TopicFormat(
        'JSON lines, as BEIR\'s queries.jsonl: {"_id": …, "text": …}',
        beir.read_topics,
        beir.write_topics,
    ),
    "beir": _TopicFormat(
        "another name of jsonl",
        beir.read_topics,
        beir.write_topics,
    ),
    "tsv": _TopicFormat(
        "tab-separated: id and text as in MS MARCO, or columns named in a header",
        text_tables.read_tsv_topics,
        text_tables.write_tsv_topics,
    ),
    "csv": _TopicFormat(
        "comma-separated, columns named in a header",
        text_tables.read_csv_topics,
        text_tables.write_csv_topics,
    ),
}
_DOCUMENTS = {
    "trec": _DocumentFormat(
        "TREC's SGML: <DOC> <DOCNO> id </DOCNO> <TEXT> … </TEXT> </DOC>",
        trec_text.read_documents,
        trec_text.write_documents,
    ),
    "xml": _DocumentFormat(
        "another name of trec",
        trec_text.read_documents,
        trec_text.write_documents,
    ),
    "smart": _DocumentFormat(
        "SMART, as in Cranfield and CACM: .I id, .T title, .A author, .W text",
        smart.read_documents,
        smart.write_documents,
    ),
    "jsonl": _DocumentFormat(
        'JSON lines, as BEIR\'s corpus.jsonl: {"_id": …, "title": …, "text": …}',
        beir.read_documents,
        beir.write_documents,
    ),
    "beir": _DocumentFormat(
        "another name of jsonl",
        beir.read_documents,
        beir.write_documents,
    ),
    "tsv": _DocumentFormat(
        "tab-separated: id and text, or id, url, title and body as in MS MARCO, or columns named in a header",
        text_tables.read_tsv_documents,
        text_tables.write_tsv_documents,
    ),
    "csv": _DocumentFormat(
        "comma-separated, columns named in a header",
        text_tables.read_csv_documents,
        text_tables.write_csv_documents,
    ),
}
TOPIC_FORMATS = {name: format.about for name, format in _TOPICS.items()}
DOCUMENT_FORMATS = {name: format.about for name, format in _DOCUMENTS.items()}
_SUFFIXES = {
    ".trec": "trec",
    ".sgml": "trec",
    ".sgm": "trec",
    ".xml": "xml",
    ".smart": "smart",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".tsv": "tsv",
    ".csv": "csv",
}
_CONTROL = re.compile(r"[\x00-\x1f]")


def read_topics(path: PathLike, format: str | None = None) -> tuple[Topic, ...]:
    """Read topics from a file; the format is told from its content unless named."""
    _check_format(format, TOPIC_FORMATS, "topic")
    with Input(path) as source:
        _refuse_empty(source)
        name = format or _recognised(source, detect_topic_format, TOPIC_FORMATS, "topic")
        return _distinct(_TOPICS[name].read(source, raise_problem), source.name)


def read_documents(path: PathLike, format: str | None = None) -> Iterator[Document]:
    """Read documents one by one from a file, a folder or a glob pattern, never holding more than one.

    Ids that occur twice are not noticed: that would need memory for all of them.
    """
    _check_format(format, DOCUMENT_FORMATS, "document")
    return _documents(expand_path(path), format)


def write_topics(topics: Iterable[Topic], path: PathLike, format: str | None = None) -> tuple[str, ...]:
    """Write topics in the format named, or the one the file's suffix stands for. Says what it could not hold."""
    name = choose_topic_format(path, format)
    lost: Counter[str] = Counter()
    _write(_TOPICS[name].write(_holdable_topics(topics, name, os.fspath(path), lost)), path)
    return _losses(lost, name, "topics")


def write_documents(documents: Iterable[Document], path: PathLike, format: str | None = None) -> tuple[str, ...]:
    """Write documents as they come, in the format named or told by the suffix. Says what it could not hold."""
    name = choose_document_format(path, format)
    lost: Counter[str] = Counter()
    _write(_DOCUMENTS[name].write(_holdable_documents(documents, name, os.fspath(path), lost)), path)
    return _losses(lost, name, "documents")


def choose_topic_format(path: PathLike, format: str | None = None) -> str:
    """The format in which topics are written to a file: the one named, or that of the suffix."""
    return _output_format(path, format, TOPIC_FORMATS, "topic")


def choose_document_format(path: PathLike, format: str | None = None) -> str:
    """The format in which documents are written to a file: the one named, or that of the suffix."""
    return _output_format(path, format, DOCUMENT_FORMATS, "document")


def read_open_topics(source: Input, format: str, problem: OnProblem = raise_problem) -> Iterator[tuple[int, Topic]]:
    """The topics of a file that is open, each with its line; ids may repeat."""
    return _TOPICS[format].read(source, problem)


def read_open_documents(
    source: Input, format: str, problem: OnProblem = raise_problem
) -> Iterator[tuple[int, Document]]:
    """The documents of a file that is open, each with its line; ids may repeat."""
    return _DOCUMENTS[format].read(source, problem)


def detect_topic_format(head: bytes) -> tuple[str, str] | None:
    """The format of a topic file, told from its first bytes, and why.

    >>> detect_topic_format(b".I 001\\n.W\\nwing flow")
    ('smart', "a '.I' line comes first")
    """
    start = head.lstrip()
    if start.startswith(b"<"):
        if _tag(b"top", start):
            return "trec", "there is a <top>"
        return ("xml", "there is a <topic>") if _tag(b"topic", start) else None
    return _recognise_lines(start, "topic")


def detect_document_format(head: bytes) -> tuple[str, str] | None:
    """The format of a file of documents, told from its first bytes, and why.

    >>> detect_document_format(b"<DOC>\\n<DOCNO>FT911-1</DOCNO>")
    ('trec', 'there is a <DOC>')
    """
    start = head.lstrip()
    if start.startswith(b"<"):
        return ("trec", "there is a <DOC>") if _tag(b"doc", start) else None
    return _recognise_lines(start, "document")


def _tag(name: bytes, head: bytes) -> bool:
    return re.search(rb"<" + name + rb"[\s>]", head, re.IGNORECASE) is not None


def _recognise_lines(start: bytes, kind: Kind) -> tuple[str, str] | None:
    if re.match(rb"\.I[ \t\r\n]", start):
        return "smart", "a '.I' line comes first"
    if start.startswith(b"{"):
        return "jsonl", "the first line is a JSON object"
    line = start.split(b"\n", 1)[0].decode("utf-8", "surrogateescape").rstrip("\r")
    return _recognise_table(line, kind)


def _recognise_table(line: str, kind: Kind) -> tuple[str, str] | None:
    columns = line.split("\t")
    if len(columns) > 1 and text_tables.is_header(columns, kind):
        return "tsv", f"the header names {len(columns)} tab-separated columns"
    if len(columns) == 2:
        return "tsv", "there are 2 tab-separated columns"
    if kind == "document" and len(columns) == 4 and "://" in columns[1]:
        return "tsv", "there are 4 tab-separated columns, the second a URL"
    cells = [cell.strip('"') for cell in line.split(",")]
    if len(cells) > 1 and text_tables.is_header(cells, kind):
        return "csv", f"the header names {len(cells)} comma-separated columns"
    return None


def _recognised(
    source: Input,
    recognise: Callable[[bytes], tuple[str, str] | None],
    known: Mapping[str, str],
    what: str,
) -> str:
    found = recognise(source.head)
    if found is not None:
        return found[0]
    start = format_id(source.head.lstrip()[:40].decode("utf-8", "replace"))
    option = "--topics-format" if what == "topic" else "--from"
    message = (
        f"cannot tell the format of these {what}s: the file begins with {start}. "
        f"Known are {', '.join(known)}; name it with format=/{option}."
    )
    raise FormatError(message, source.name)


def _refuse_empty(source: Input) -> None:
    if not source.head.strip():
        raise InputError("the file is empty.", source.name)


def _distinct(numbered: Iterable[tuple[int, Topic]], file: str) -> tuple[Topic, ...]:
    topics: dict[str, tuple[int, Topic]] = {}
    for line, topic in numbered:
        if topic.id in topics:
            first = topics[topic.id][0]
            message = f"topic {format_id(topic.id)} occurs again, first on line {first}. Ids must differ."
            raise InputError(message, file, line)
        topics[topic.id] = line, topic
    if not topics:
        raise InputError("there is no topic in the file.", file)
    return tuple(topic for _, topic in topics.values())


def _documents(files: Iterable[str], format: str | None) -> Iterator[Document]:
    for file in files:
        with Input(file) as source:
            _refuse_empty(source)
            name = format or _recognised(source, detect_document_format, DOCUMENT_FORMATS, "document")
            found = False
            for _, document in _DOCUMENTS[name].read(source, raise_problem):
                found = True
                yield document
            if not found:
                raise InputError("there is no document in the file.", source.name)


def _check_format(format: str | None, known: Mapping[str, str], what: str) -> None:
    if format is not None and format not in known:
        raise FormatError(f"unknown {what} format {format_id(format)}. Known are {', '.join(known)}.")


def _output_format(path: PathLike, format: str | None, known: Mapping[str, str], what: str) -> str:
    _check_format(format, known, what)
    if format is not None:
        return format
    suffix = os.path.splitext(strip_compression_suffix(path))[1].lower()
    name = _SUFFIXES.get(suffix, "")
    if name not in known:
        message = (
            f"cannot tell a {what} format from the suffix {format_id(suffix)}. "
            f"Known are {', '.join(known)}; name it with format=/--format."
        )
        raise FormatError(message, os.fspath(path))
    return name


# what a format has no place for, besides fields that SMART has no letter for
_NO_PLACE = {
    ("topics", "smart"): ("description", "narrative", "subtopics"),
    ("topics", "tsv"): ("description", "narrative", "subtopics", "fields"),
    ("topics", "csv"): ("subtopics",),
    ("documents", "tsv"): ("fields",),
}


def _count_losses(text: Topic | Document, kind: str, format: str, lost: Counter[str]) -> None:
    lost.update(part for part in _NO_PLACE.get((kind, format), ()) if getattr(text, part))
    if format == "smart":
        lost.update(smart.find_unmapped_fields(text.fields))
    if format == "tsv" and "\n" in (text.text if isinstance(text, Document) else text.title).strip():
        lost["line breaks"] += 1


def _losses(lost: Counter[str], format: str, kind: str) -> tuple[str, ...]:
    noun = kind.removesuffix("s")
    return tuple(
        f"{part} of {pluralize(count, noun)} not in the output: {format} cannot hold it."
        for part, count in lost.items()
    )


def _holdable_topics(topics: Iterable[Topic], format: str, file: str, lost: Counter[str]) -> Iterator[Topic]:
    """The topics, as long as the format can hold their ids."""
    for topic in topics:
        _count_losses(topic, "topics", format, lost)
        _refuse_id(topic.id, format, "topic", file)
        for subtopic in topic.subtopics:
            _refuse_id(subtopic.id, format, "subtopic", file)
        yield topic


def _holdable_documents(
    documents: Iterable[Document], format: str, file: str, lost: Counter[str]
) -> Iterator[Document]:
    """The documents, as long as the format can hold their ids."""
    for document in documents:
        _count_losses(document, "documents", format, lost)
        _refuse_id(document.id, format, "document", file)
        yield document


def _refuse_id(id: str, format: str, what: str, file: str) -> None:
    if not id.strip() or replace_lone_surrogates(id) != id:
        raise InputError(f"{format_id(id)} cannot be the id of a {what}.", file)
    if format not in ("jsonl", "beir") and (_CONTROL.search(id) or id != id.strip(" ")):
        message = f"the {what} id {format_id(id)} holds white space that {format} cannot keep, but jsonl can."
        raise InputError(message, file)


def _write(pieces: Iterator[str], path: PathLike) -> None:
    with open_output(path) as out:
        for piece in pieces:
            out.write(_encoded(piece))


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return replace_lone_surrogates(text).encode("utf-8", "surrogateescape")
