"""JSON lines as in BEIR (corpus.jsonl, queries.jsonl), and the names under which files keep ids and texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from cranfield.base import encode_id, format_id, replace
from cranfield.data import Document, Subtopic, Topic
from cranfield.errors import InputError
from cranfield.io.files import Input
from cranfield.io.parse_values import OnProblem, read_each

# MS MARCO v2 passages carry both `pid` and the `docid` of the page they come from: the passage comes first
DOCUMENT_ID = ("_id", "id", "pid", "docno", "doc_id", "docid", "document_id", "passage_id", "identifier")
DOCUMENT_TEXT = ("text", "contents", "content", "body", "passage", "abstract")
DOCUMENT_TITLE = ("title", "headline")
TOPIC_ID = (
    "_id",
    "id",
    "query_id",
    "qid",
    "topic_id",
    "number",
    "num",
    "topic_number",
    "identifier",
    "topic",
)
TOPIC_TEXT = ("text", "query", "title", "query_text", "question")
DESCRIPTION = ("description", "desc")
NARRATIVE = ("narrative", "narr")
METADATA = "metadata"

# what surrogateescape never makes: halves of characters, which only a JSON escape can bring in
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def read_topics(source: Input, problem: OnProblem) -> Iterator[tuple[int, Topic]]:
    """Topics from JSON lines, each with its line."""
    return read_each(_objects(source, problem), lambda line, record: parse_topic(record, source.name, line), problem)


def read_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """Documents from JSON lines, each with its line."""
    return read_each(_objects(source, problem), lambda line, record: parse_document(record, source.name, line), problem)


def write_topics(topics: Iterable[Topic]) -> Iterator[str]:
    """Topics as BEIR queries; what BEIR has no key for stands beside `decode_id` or in `metadata`."""
    for topic in topics:
        subtopics = [{"id": s.id, "text": s.text, "type": s.type} for s in topic.subtopics]
        optional: dict[str, object] = {
            "description": topic.description,
            "narrative": topic.narrative,
            "subtopics": subtopics,
            METADATA: dict(topic.fields),
        }
        yield _line({"_id": topic.id, "text": topic.title} | {k: v for k, v in optional.items() if v})


def write_documents(documents: Iterable[Document]) -> Iterator[str]:
    """Documents as a BEIR corpus, other fields in `metadata`."""
    for document in documents:
        record: dict[str, object] = {"_id": document.id, "title": document.title, "text": document.text}
        yield _line(record | {METADATA: dict(document.fields)} if document.fields else record)


def parse_topic(record: Mapping[str, object], file: str, line: int) -> Topic:
    """A topic from named values, under the names in use for them.

    >>> parse_topic({"qid": 301, "query": "organized crime"}, "topics.jsonl", 1)
    Topic(id='301', title='organized crime', description='', narrative='', subtopics=(), fields={})
    """
    values = _Values(record)
    values.unpack_metadata(alongside=DESCRIPTION + NARRATIVE)
    topic = Topic(
        id=_id_from(values.take(TOPIC_ID), "topic", TOPIC_ID, file, line),
        title=_text(values.take(TOPIC_TEXT)),
        description=_text(values.take(DESCRIPTION)),
        narrative=_text(values.take(NARRATIVE)),
        subtopics=_subtopics(values.take_list("subtopics"), file, line),
        fields=values.fields(),
    )
    return ensure_title(topic, file, line)


def parse_document(record: Mapping[str, object], file: str, line: int) -> Document:
    """A document from named values, under the names in use for them.

    >>> parse_document({"docno": "d1", "contents": "wing flow", "url": "x.org"}, "docs.jsonl", 1)
    Document(id='d1', text='wing flow', title='', fields={'url': 'x.org'})
    """
    values = _Values(record)
    values.unpack_metadata()
    id = _id_from(values.take(DOCUMENT_ID), "document", DOCUMENT_ID, file, line)
    if not values.has(DOCUMENT_TEXT + DOCUMENT_TITLE):
        expected = ", ".join(DOCUMENT_TEXT)
        raise InputError(f"document {format_id(id)} has no text. Expected one of {expected}.", file, line)
    return Document(
        id=id,
        text=_text(values.take(DOCUMENT_TEXT)),
        title=_text(values.take(DOCUMENT_TITLE)),
        fields=values.fields(),
    )


def check_id(id: str, what: str, file: str, line: int) -> str:
    """The id, if it is one that can be written back byte for byte.

    >>> check_id("d1", "document", "docs.jsonl", 1)
    'd1'
    """
    if not id.strip():
        raise InputError(f"the {what} has an empty id.", file, line)
    try:
        encode_id(id)
    except InputError:
        message = f"the {what} id {format_id(id)} holds half a character (a lone surrogate)."
        raise InputError(message, file, line) from None
    return id


def ensure_title(topic: Topic, file: str, line: int) -> Topic:
    """The topic with something to search for; the description stands in for a missing title, as in TREC-4.

    >>> ensure_title(Topic("201", "", "drug trafficking"), "topics", 1).title
    'drug trafficking'
    """
    if topic.title:
        return topic
    title = topic.description or topic.narrative or " ".join(topic.fields.values())
    if not title:
        raise InputError(f"topic {format_id(topic.id)} has no text.", file, line)
    return replace(topic, title=title)


def normalize_space(text: str) -> str:
    """The text on one line: every run of white space is one space.

    >>> normalize_space("  wing\\n  flow ")
    'wing flow'
    """
    return " ".join(text.split())


def replace_lone_surrogates(text: str) -> str:
    """The text with halves of characters replaced, so that it can be written.

    >>> replace_lone_surrogates("wing \\ud800") == "wing \\ufffd"
    True
    """
    return text if text.isascii() else _HALF.sub("\ufffd", text)


@lru_cache(maxsize=1024)
def normalize_key(key: str) -> str:
    """A column or key as it is compared: `Query-ID` is `query_id`.

    >>> normalize_key(" Query-ID ")
    'query_id'
    """
    return re.sub(r"[\s-]+", "_", key.strip().lower())


def parse_object(text: str) -> dict[str, object] | None:
    """The JSON object in a text, or None if that is not what it holds."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # a number of too many digits is a ValueError
        return None
    return value if isinstance(value, dict) else None


class _Values:
    """The named values of a record, taken out one by one; what is left are its other fields."""

    def __init__(self, record: Mapping[str, object]) -> None:
        self._left: dict[str, tuple[str, object]] = {}
        self._more: dict[str, object] = {}
        for key, value in record.items():
            plain = normalize_key(key)
            self._left[key if plain in self._left else plain] = key, value

    def unpack_metadata(self, alongside: tuple[str, ...] = ()) -> None:
        """Open the `metadata` object; keys named `alongside` count as if they stood outside of it."""
        _, metadata = self._left.get(METADATA, ("", None))
        if not isinstance(metadata, Mapping):
            return
        del self._left[METADATA]
        for key, value in metadata.items():
            if key in alongside and key not in self._left:
                self._left[key] = key, value
            else:
                self._more[key] = value

    def has(self, names: tuple[str, ...]) -> bool:
        return any(name in self._left for name in names)

    def take(self, names: tuple[str, ...]) -> object:
        name = next((name for name in names if name in self._left), None)
        return None if name is None else self._left.pop(name)[1]

    def take_list(self, name: str) -> list[object]:
        _, value = self._left.get(name, ("", None))
        if not isinstance(value, list):
            return []
        del self._left[name]
        return value

    def fields(self) -> dict[str, str]:
        named = dict(self._left.values()) | self._more
        texts = {replace_lone_surrogates(key): _text(value) for key, value in named.items()}
        return {key: text for key, text in texts.items() if text}


def _objects(source: Input, problem: OnProblem) -> Iterator[tuple[int, dict[str, object]]]:
    for line, data in source.lines():
        if not data.strip():
            continue
        record = parse_object(data.decode("utf-8", "surrogateescape"))
        if record is None:
            start = format_id(data[:40].decode("utf-8", "replace"))
            message = f"expected a JSON object on a line of its own, found {start}."
            problem(InputError(message, source.name, line))
            continue
        yield line, record


def _id_from(value: object, what: str, names: tuple[str, ...], file: str, line: int) -> str:
    if value is None:
        raise InputError(f"the {what} has no id. Expected one of {', '.join(names)}.", file, line)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(
            f"the {what} id is {format_id(_text(value)[:40])}, expected a text or a whole number.", file, line
        )
    return check_id(str(value), what, file, line)


def _subtopics(items: list[object], file: str, line: int) -> tuple[Subtopic, ...]:
    return tuple(_subtopic(item, str(i), file, line) for i, item in enumerate(items, 1))


def _subtopic(item: object, number: str, file: str, line: int) -> Subtopic:
    if not isinstance(item, Mapping):
        return Subtopic(number, _text(item))
    values = _Values(item)
    given = values.take(("subtopic_id", *TOPIC_ID))
    id = number if given is None else _id_from(given, "subtopic", TOPIC_ID, file, line)
    text = _text(values.take((*TOPIC_TEXT, *DESCRIPTION)))
    return Subtopic(id, text, _text(values.take(("type",))))


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return replace_lone_surrogates(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return replace_lone_surrogates("\n".join(value))
    try:
        return replace_lone_surrogates(json.dumps(value, ensure_ascii=False))
    except RecursionError:  # read at the very limit of depth, and dumped from one call deeper
        return ""


def _line(record: Mapping[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
