"""TREC topics (SGML and XML) and TREC documents, read by a tolerant scanner of tags.

No XML parser is at work: the old files leave tags open and `&` and `<` unescaped, and nothing outside of the
file is ever looked up.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest

from cranfield.base import Record
from cranfield.data import Document, Subtopic, Topic
from cranfield.errors import InputError
from cranfield.io.beir import check_id, ensure_title, normalize_space
from cranfield.io.files import Input
from cranfield.io.parse_values import OnProblem, read_each

LARGEST_DOCUMENT = 1 << 28

# element -> what it says of a topic
_TOPIC_PARTS = {
    "num": "id",
    "number": "id",
    "identifier": "id",
    "qid": "id",
    "title": "title",
    "query": "title",
    "desc": "description",
    "description": "description",
    "question": "description",
    "narr": "narrative",
    "narrative": "narrative",
    "subtopic": "subtopic",
}
_TOPIC_ID_ATTRIBUTES = ("number", "num", "id", "qid")
# the labels that SGML topics repeat after the tag, and readable names for the rarer elements (TREC 1-3)
_LABELS = {
    "id": "Number",
    "title": "Topic|Title",
    "description": "Description",
    "narrative": "Narrative",
    "domain": "Domain",
    "summary": "Summary",
    "concepts": r"Concepts?(?:\(s\))?",
    "factors": r"Factors?(?:\(s\))?",
    "definitions": r"Definitions?(?:\(s\))?",
}
_FULL_NAMES = {
    "dom": "domain",
    "smry": "summary",
    "con": "concepts",
    "fac": "factors",
    "def": "definitions",
}
_TITLES = ("title", "headline", "hl", "ti", "head")
_DOCUMENT_IDS = ("docno", "docid")
_DOCUMENT_ID_ATTRIBUTES = ("docno", "id")
# markup of a page rather than fields of a document
_MARKUP = frozenset(
    "a b blockquote body center code div em font form h1 h2 h3 h4 h5 h6 html i li ol p pre script small span "
    "strong style sub sup table tbody td th thead tr tt u ul".split()
)

_SPACE = " \t\r\n\f\v"  # and no other: ids stay as they are
_OPENING = re.compile(r"<([A-Za-z][\w.:-]*)(\s[^<>]*?)?/?>", re.ASCII)
_CLOSING = re.compile(r"</([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>", re.ASCII)
_INNER_TITLE = re.compile(r"<(title|headline|hl|ti)(?:\s[^<>]*)?>", re.ASCII | re.IGNORECASE)
# to be taken out of a text: with attributes only if there is a '=', so that 'a <b and c> d' stays
_MARK = re.compile(r"</?[A-Za-z][\w.:-]*(?:\s[^<>=]*=[^<>]*|\s*/?)>", re.ASCII)
_ATTRIBUTE = re.compile(r"""(?<![\w.:-])([\w.:-]++)\s*+=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,31});")
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_LINE_START = re.compile(r"^[ \t]*(?=<)", re.MULTILINE)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_DOC = re.compile(rb"<(/?)DOC((?:\s[^<>]*)?)>", re.IGNORECASE)
_UNFINISHED_DOC = re.compile(rb"</?DOC\s[^<>]*", re.IGNORECASE)
_ANY_TAG = re.compile(rb"<[^<>]*>")


class _Element(Record):
    """One element of a record: `<name attributes>content`."""

    name: str
    attributes: Mapping[str, str]
    content: str


def read_sgml_topics(source: Input, problem: OnProblem) -> Iterator[tuple[int, Topic]]:
    """Topics in TREC's own format, `<top> <num> Number: 301 <title> …`, each with its line."""
    return read_each(
        _topic_records(source, "top"), lambda line, record: _topic("", record[1], True, source.name, line), problem
    )


def read_xml_topics(source: Input, problem: OnProblem) -> Iterator[tuple[int, Topic]]:
    """Topics in XML as in the TREC Web tracks, `<topic number="1"><query>…`, each with its line."""
    return read_each(
        _topic_records(source, "topic"), lambda line, record: _topic(*record, False, source.name, line), problem
    )


def read_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """Documents in TREC format, `<DOC><DOCNO>…</DOCNO>…</DOC>`, one after the other, each with its line."""
    return read_each(_document_records(source), lambda line, record: _document(*record, source.name, line), problem)


def write_sgml_topics(topics: Iterable[Topic]) -> Iterator[str]:
    """Topics in TREC's own format, with the tags left open as TREC does."""
    for topic in topics:
        yield "<top>\n\n" + "\n\n".join(_sgml_parts(topic)) + "\n\n</top>\n\n"


def write_xml_topics(topics: Iterable[Topic]) -> Iterator[str]:
    """Topics in XML as in the TREC Web tracks."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<topics>\n'
    for topic in topics:
        kind = f' type="{_xml(topic.fields["type"])}"' if "type" in topic.fields else ""
        yield f'<topic number="{_xml(topic.id)}"{kind}>\n{"".join(_xml_parts(topic))}</topic>\n'
    yield "</topics>\n"


def write_documents(documents: Iterable[Document]) -> Iterator[str]:
    """Documents in TREC format, each field an element."""
    for document in documents:
        title = f"<TITLE>{_sgml(document.title)}</TITLE>\n" if document.title else ""
        fields = "".join(
            f"<{name}>{_sgml(text)}</{name}>\n"
            for name, text in _element_names(document.fields, _RESERVED_IN_DOCUMENTS).items()
        )
        text = f"<TEXT>\n{_sgml(document.text)}\n</TEXT>\n"
        yield f"<DOC>\n<DOCNO>{_sgml(document.id)}</DOCNO>\n{title}{fields}{text}</DOC>\n"


def _topic(attributes: str, body: str, labelled: bool, file: str, line: int) -> Topic:
    parts = _TopicParts(_attributes(attributes))
    for element in _topic_elements(body):
        parts.add(element, labelled)
    return parts.topic(file, line)


class _TopicParts:
    """What has been read of a topic so far."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        id_name = next((name for name in _TOPIC_ID_ATTRIBUTES if name in attributes), None)
        self._taken_by: dict[str, str] = {} if id_name is None else {"id": "the attribute"}
        self._texts: dict[str, list[str]] = {} if id_name is None else {"id": [attributes[id_name].strip(_SPACE)]}
        self._fields = {name: [text] for name, text in attributes.items() if name != id_name}
        self._subtopics: list[Subtopic] = []

    def add(self, element: _Element, labelled: bool) -> None:
        name = _FULL_NAMES.get(element.name, element.name)
        part = _TOPIC_PARTS.get(name)
        text = plain(element.content).strip(_SPACE) if part == "id" else normalize_space(plain(element.content))
        if part == "subtopic":
            self._add_subtopic(element.attributes, text)
            return
        if labelled:
            text = _without_label(text, part or name)
        # of two elements for the same part, such as <title> and <query>, the first has it
        if part is not None and self._taken_by.setdefault(part, name) == name:
            self._texts.setdefault(part, []).append(text)
        elif text:
            self._fields.setdefault(name, []).append(text)

    def topic(self, file: str, line: int) -> Topic:
        topic = Topic(
            id=check_id(self._text("id"), "topic", file, line),
            title=self._text("title"),
            description=self._text("description"),
            narrative=self._text("narrative"),
            subtopics=tuple(self._subtopics),
            fields={name: " ".join(texts) for name, texts in self._fields.items()},
        )
        return ensure_title(topic, file, line)

    def _text(self, part: str) -> str:
        return " ".join(text for text in self._texts.get(part, ()) if text)

    def _add_subtopic(self, attributes: Mapping[str, str], text: str) -> None:
        ids = (attributes[name] for name in _TOPIC_ID_ATTRIBUTES if name in attributes)
        id = next(ids, str(len(self._subtopics) + 1))
        self._subtopics.append(Subtopic(id, text, attributes.get("type", "")))


def plain(text: str) -> str:
    """The text without markup: tags and comments out, entities resolved.

    >>> plain("AT&T's <b>R&amp;D</b>: a < b")
    "AT&T's  R&D : a < b"
    """
    return _resolved(_MARK.sub(" ", _without_comments(text)))


def _resolved(text: str) -> str:
    return _ENTITY.sub(lambda entity: _character(entity[0]), text) if "&" in text else text


@lru_cache(maxsize=1024)
def _character(entity: str) -> str:
    return html.unescape(entity)


def _without_comments(text: str) -> str:
    """The text without comments, line breaks kept for the sake of line numbers."""
    # up to the last closing mark only: each opening mark without one would be followed to the end of the text
    last = text.rfind("-->") + 3
    return _COMMENT.sub(lambda m: " " + "\n" * m[1].count("\n"), text[:last]) + text[last:] if last > 2 else text


def _without_cdata(text: str) -> str:
    """The text with CDATA sections escaped instead."""
    last = text.rfind("]]>") + 3
    return _CDATA.sub(lambda m: html.escape(m[1]), text[:last]) + text[last:] if last > 2 else text


def _attributes(text: str) -> dict[str, str]:
    return {
        name.lower(): _resolved(double or single or bare) for name, double, single, bare in _ATTRIBUTE.findall(text)
    }


def _topic_records(source: Input, name: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """The attributes and the body of every topic, with its line."""
    text = _without_cdata(_without_comments(_decoded(source.read())))
    opened: re.Match[str] | None = None
    line, counted, closed = 1, 0, False
    for edge in re.finditer(rf"<(/?){name}((?:\s[^<>]*)?)>", text, re.IGNORECASE):
        if opened is not None:
            yield line, (opened[2], text[opened.end() : edge.start()])
        elif edge[1]:
            stray = text.count("\n", 0, edge.start()) + 1
            raise InputError(f"</{name}> without a <{name}> before it.", source.name, stray)
        opened, closed = (None, True) if edge[1] else (edge, closed)
        if opened is not None:
            line, counted = line + text.count("\n", counted, opened.start()), opened.start()
    if opened is not None and (closed or name == "topic"):
        raise InputError(f"the topic is cut off: its </{name}> is missing.", source.name, line)
    if opened is not None:
        yield line, (opened[2], text[opened.end() :])


def _topic_elements(body: str) -> Iterator[_Element]:
    """The elements of a topic; one left open reaches to the next that opens."""
    ends = _ends(body)
    line_starts = {start.end() for start in _LINE_START.finditer(body)}
    openings = [t for t in _OPENING.finditer(body) if _is_topic_part(t) or t.start() in line_starts]
    parts = [tag.start() for tag in openings if _is_topic_part(tag)]
    done = 0
    for tag, following in zip_longest(openings, openings[1:]):
        if tag.start() < done:
            continue
        end = _first_from(ends.get(tag[1].lower(), []), tag.end(), len(body) + 1)
        if end > _first_from(parts, tag.end(), len(body)):
            end = following.start() if following else len(body)
        yield _Element(tag[1].lower(), _attributes(tag[2] or ""), body[tag.end() : end])
        done = end


def _is_topic_part(tag: re.Match[str]) -> bool:
    return tag[1].lower() in _TOPIC_PARTS


def _ends(body: str) -> dict[str, list[int]]:
    """Where the closing tags of each name stand."""
    ends: dict[str, list[int]] = {}
    for tag in _CLOSING.finditer(body):
        ends.setdefault(tag[1].lower(), []).append(tag.start())
    return ends


def _first_from(positions: Sequence[int], start: int, otherwise: int) -> int:
    i = bisect_left(positions, start)
    return positions[i] if i < len(positions) else otherwise


def _without_label(text: str, part: str) -> str:
    label = _label(text, part)
    return text[label.end() :] if label else text


def _label(text: str, part: str) -> re.Match[str] | None:
    return re.match(rf"(?:{_LABELS[part]})\s*:\s*", text, re.IGNORECASE) if part in _LABELS else None


def _document_records(source: Input) -> Iterator[tuple[int, tuple[bytes, bytes]]]:
    """The attributes and the body of every document, with its line, never holding more than one of them."""
    opened: tuple[int, bytes] | None = None
    held: list[bytes] = []
    for first, block in _with_whole_tags(source.blocks()):
        at, line, counted = 0, first, 0
        for edge in _DOC.finditer(block):
            start, end = edge.span()
            line, counted = line + block.count(b"\n", counted, start), start
            if opened is not None and edge[1]:
                yield opened[0], (opened[1], b"".join([*held, block[at:start]]))
                opened, held = None, []
            elif opened is None and not edge[1]:
                _refuse_text_outside(block[at:start], source.name, line)
                opened = line, edge[2]
            else:
                raise _unpaired(opened, source.name, line)
            at = end
        if opened is None:
            _refuse_text_outside(block[at:], source.name, first + block.count(b"\n"))
            continue
        held.append(block[at:])
        if sum(map(len, held)) > LARGEST_DOCUMENT:
            raise _not_closed(source.name, opened[0])
    if opened is not None:
        raise _not_closed(source.name, opened[0])


def _with_whole_tags(blocks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The blocks cut so that no `<DOC …>` whose attributes take several lines is torn apart."""
    rest, line = b"", 1
    for number, block in blocks:
        block, line = rest + block, line if rest else number
        cut = block.rfind(b"<")
        torn = cut >= 0 and _UNFINISHED_DOC.fullmatch(block, cut) and len(block) - cut < 1 << 16
        rest = block[cut:] if torn else b""
        whole = block[:cut] if torn else block
        yield line, whole
        line += whole.count(b"\n")
    if rest:
        yield line, rest


def _refuse_text_outside(piece: bytes, file: str, last: int) -> None:
    """A root element or a comment may stand between documents; text there means that a tag is missing."""
    text = _ANY_TAG.sub(lambda tag: b"\n" * tag[0].count(b"\n"), piece).lstrip()
    if text:
        found, line = _decoded(text.rstrip()[:40]), last - text.count(b"\n")
        raise InputError(f"expected <DOC>, found text outside of a document: {found!r}.", file, line)


def _unpaired(opened: tuple[int, bytes] | None, file: str, line: int) -> InputError:
    if opened is None:
        return InputError("</DOC> without a <DOC> before it.", file, line)
    message = f"<DOC> within the document that begins on line {opened[0]}: its </DOC> is missing."
    return InputError(message, file, line)


def _not_closed(file: str, line: int) -> InputError:
    return InputError("the document that begins here is cut off: its </DOC> is missing.", file, line)


def _document(tag: bytes, inside: bytes, file: str, line: int) -> Document:
    attributes, body = _attributes(_decoded(tag)), _decoded(inside)
    values: dict[str, list[str]] = {}
    for name, content in _document_elements(body):
        values.setdefault(name, []).append(content)
    id = _document_id(values, attributes)
    if not id:
        raise InputError("the document has no id. Expected <DOCNO>id</DOCNO>.", file, line)
    title_name = next((name for name in _TITLES if name in values and not _nested_title(values, name)), None)
    title = " ".join(values[title_name]) if title_name else attributes.get("title") or _inner_title(body)
    others = {
        name: _joined(texts) for name, texts in values.items() if name not in ("docno", "text") and name != title_name
    }
    more = {name: text for name, text in attributes.items() if name not in ("docno", "id", "title")}
    return Document(
        id=check_id(id, "document", file, line),
        text=_joined(values.get("text", [])),
        title=normalize_space(plain(title)),
        fields={name: text for name, text in (more | others).items() if text},
    )


def _document_elements(body: str) -> Iterator[tuple[str, str]]:
    """The outermost closed elements of a document; what stands outside of them counts as text."""
    ends = _ends(body)
    done = at = 0
    while tag := _OPENING.search(body, at):
        name, at = tag[1].lower(), tag.end()
        end = -1 if name in _MARKUP else _first_from(ends.get(name, []), at, -1)
        if end < 0:
            continue
        if loose := body[done : tag.start()].strip():
            yield "text", loose
        yield name, body[at:end]
        done = at = body.index(">", end) + 1
    if loose := body[done:].strip():
        yield "text", loose


def _document_id(values: Mapping[str, list[str]], attributes: Mapping[str, str]) -> str:
    # the LA Times has both, and it is DOCNO that the judgments name
    docno, docid = (plain(values.get(name, [""])[0]) for name in _DOCUMENT_IDS)
    candidates = [docno, *(attributes.get(name, "") for name in _DOCUMENT_ID_ATTRIBUTES), docid]
    return next((id for id in (text.strip(_SPACE) for text in candidates) if id), "")


def _nested_title(values: Mapping[str, list[str]], name: str) -> bool:
    # the <HEAD> of AP is a headline, the <head> of a web page holds its <title>
    return name == "head" and any(_OPENING.search(content) for content in values[name])


def _inner_title(body: str) -> str:
    tag = _INNER_TITLE.search(body)
    if tag is None:
        return ""
    end = _first_from(_ends(body).get(tag[1].lower(), []), tag.end(), tag.end())
    return body[tag.end() : end]


def _joined(contents: Iterable[str]) -> str:
    return "\n".join(plain(content).strip() for content in contents).replace("\r\n", "\n").strip()


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


_RESERVED_IN_DOCUMENTS = frozenset({"doc", "text", *_TITLES, *_DOCUMENT_IDS, *_MARKUP})
_RESERVED_IN_TOPICS = frozenset({"top", "topic", *_TOPIC_PARTS, *_FULL_NAMES})


def _element_names(fields: Mapping[str, str], reserved: frozenset[str]) -> dict[str, str]:
    """The fields under names that can be elements and do not mean something else."""
    named = {}
    for key, text in fields.items():
        name = re.sub(r"[^a-z0-9_.-]", "_", key.lower())
        if name in reserved or not name[:1].isalpha():
            name = f"field_{name}"
        named[name] = text
    return named


def _sgml_parts(topic: Topic) -> Iterator[str]:
    title = normalize_space(topic.title)
    label = "Topic: " if _label(title, "title") else ""
    yield f"<num> Number: {_sgml(topic.id)}\n<title> {label}{_sgml(title)}"
    if topic.description:
        yield f"<desc> Description:\n{_sgml(normalize_space(topic.description))}"
    if topic.narrative:
        yield f"<narr> Narrative:\n{_sgml(normalize_space(topic.narrative))}"
    for subtopic in topic.subtopics:
        kind = f' type="{_xml(subtopic.type)}"' if subtopic.type else ""
        yield f'<subtopic number="{_xml(subtopic.id)}"{kind}> {_sgml(normalize_space(subtopic.text))}'
    for name, text in _element_names(topic.fields, _RESERVED_IN_TOPICS).items():
        yield f"<{name}> {_sgml(normalize_space(text))}"


def _xml_parts(topic: Topic) -> Iterator[str]:
    yield f"  <query>{_xml(topic.title)}</query>\n"
    if topic.description:
        yield f"  <description>{_xml(topic.description)}</description>\n"
    if topic.narrative:
        yield f"  <narrative>{_xml(topic.narrative)}</narrative>\n"
    for subtopic in topic.subtopics:
        kind = f' type="{_xml(subtopic.type)}"' if subtopic.type else ""
        yield f'  <subtopic number="{_xml(subtopic.id)}"{kind}>{_xml(subtopic.text)}</subtopic>\n'
    fields = {name: text for name, text in topic.fields.items() if name != "type"}
    for name, text in _element_names(fields, _RESERVED_IN_TOPICS).items():
        yield f"  <{name}>{_xml(text)}</{name}>\n"


def _sgml(text: str) -> str:
    """The text with as little escaped as can be, since many readers of this format resolve nothing."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", _ENTITY.sub(lambda entity: "&amp;" + entity[0][1:], text))


def _xml(text: str) -> str:
    return html.escape(_CONTROL.sub(" ", text))
