"""What assessors read: topics and documents, and the words to highlight in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Document, Topic
from cranfield.errors import CranfieldError, MissingExtra
from cranfield.text import STOP_WORDS, stemmer_of

# Scripts without spaces between words: Han (with 々 and 〇), Katakana, Hiragana, and Thai and related scripts
_HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_KANA = ("\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f", "\u3041-\u309f")
_THAI = ("\u0e01-\u0e3e\u0e40-\u0e4e", "\u0e80-\u0eff", "\u1000-\u109f", "\u1780-\u17d3")
_UNSPACED = re.compile("|".join(f"[{letters}]+" for letters in (_HAN, *_KANA, *_THAI)))
_IS_HAN = re.compile(f"[{_HAN}]+")
_WORD = re.compile(rf"[^\W{''.join((_HAN, *_KANA, *_THAI))}]+")
_STOP = STOP_WORDS["english-long"]
URL_FIELDS = ("url", "uri", "link", "href")


class TextLookup(Record, eq=False):
    """Topics and documents by id; those without a text are shown by id only."""

    topics: Mapping[str, Topic]
    documents: Mapping[str, Document]

    @classmethod
    def of(cls, topics: Iterable[Topic], documents: Iterable[Document], docs: Iterable[str]) -> TextLookup:
        """All topics, and the documents with the given ids; the first of several with the same id."""
        wanted = set(docs)
        by_id: dict[str, Document] = {}
        for document in documents:
            if document.id in wanted and document.id not in by_id:
                by_id[document.id] = document
                if len(by_id) == len(wanted):
                    break
        return cls({topic.id: topic for topic in topics}, by_id)

    def topic(self, query: str) -> Topic:
        return self.topics.get(query) or Topic(query, query)

    def document(self, doc: str) -> Document | None:
        return self.documents.get(doc)

    def describe_missing(self, queries: Iterable[str], docs: Iterable[str]) -> list[str]:
        """Sentences that list the topics and documents without a text."""
        topics = [query for query in dict.fromkeys(queries) if query not in self.topics]
        documents = [doc for doc in dict.fromkeys(docs) if doc not in self.documents]
        notes = []
        if topics:
            notes.append(f"{pluralize(len(topics), 'topic')} without a text: {join_names(topics)}.")
        if documents:
            notes.append(f"{pluralize(len(documents), 'document')} without a text: {join_names(documents)}.")
        return notes


class Highlighter:
    """Finds the words of a topic in a text, by stem. Stop words count only if the topic has no other words.

    >>> Highlighter(Topic("1", "repairing a flat tyre")).spans("Flat tyres are repaired.")
    [(0, 4), (5, 10), (15, 23)]

    In scripts without spaces, parts of the title are found anywhere; in Han, any two consecutive characters:

    >>> Highlighter(Topic("1", "自転車のタイヤ")).words(["折り畳み自転車や車輪、冬タイヤ"])
    ['タイヤ', '自転車']
    """

    def __init__(self, topic: Topic) -> None:
        title = topic.title.lower()
        words = _WORD.findall(title)
        parts = _UNSPACED.findall(title)
        own = [word for word in words if word not in _STOP]
        self._stop = _STOP if own or parts else frozenset()
        self._stems = {_stem()(word) for word in own or ([] if parts else words)}
        self._parts = _compile_parts(parts)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The positions of the words: start and end."""
        words = [match.span() for match in _WORD.finditer(text) if self._is_match(match[0].lower())]
        return sorted([*words, *self._unspaced(text)]) if self._parts else words

    def words(self, texts: Iterable[str]) -> list[str]:
        """The words to highlight in some texts, in lower case; for pages, which cannot stem."""
        found: set[str] = set()
        parts: set[str] = set()
        for text in texts:
            found.update(match.lower() for match in _WORD.findall(text))
            parts.update(text[first:last] for first, last in self._unspaced(text))
        return sorted([*(word for word in found if self._is_match(word)), *parts])

    def _is_match(self, word: str) -> bool:
        return word not in self._stop and _stem()(word) in self._stems

    def _unspaced(self, text: str) -> Iterator[tuple[int, int]]:
        """The positions of parts of the title in scripts without spaces; overlapping ones are merged."""
        if self._parts is None:
            return
        first = last = -1
        for match in self._parts.finditer(text):
            start, end = match.span(1)
            if start >= last:
                if last > first:
                    yield first, last
                first = start
            last = max(last, end)
        if last > first:
            yield first, last


def _compile_parts(runs: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern that finds the parts, even if they overlap; None without any.

    A single Hiragana letter is an ending or a particle: it would highlight half of any text.
    """
    parts: set[str] = set()
    for run in runs:
        if _IS_HAN.match(run) and len(run) > 2:
            parts.update(run[i : i + 2] for i in range(len(run) - 1))
        elif len(run) > 1 or not re.match(f"[{_KANA[1]}]", run):
            parts.add(run)
    longest_first = sorted(parts, key=lambda part: (-len(part), part))
    return re.compile(f"(?=({'|'.join(longest_first)}))") if parts else None


def find_phrase(text: str, words: str) -> list[tuple[int, int]]:
    """The positions of a phrase in a text, ignoring case and the kind of white space between its words.

    >>> find_phrase("Tyres and tyre\\nlevers", "tyre"), find_phrase("Tyres and tyre\\nlevers", "tyre  levers")
    ([(0, 4), (10, 14)], [(10, 21)])
    """
    pattern = r"\s+".join(map(re.escape, words.split()))
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)] if pattern else []


def list_extra_fields(document: Document) -> list[tuple[str, str]]:
    """The fields of a document besides title and text, addresses first."""
    fields = [(name, value) for name, value in document.fields.items() if value.strip()]
    return sorted(fields, key=lambda field: field[0].lower() not in URL_FIELDS)


@lru_cache(1)
def _stem() -> Callable[[str], str]:
    """The Snowball stemmer; without it, a function that removes a plural s."""
    try:
        return stemmer_of("english")
    except (MissingExtra, CranfieldError):
        return _plain_stem


def _plain_stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
