"""What judges read: topics and the documents of a pool, and which words in them to mark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from cranfield.analysis import STOP_WORDS, stemmer_of
from cranfield.collection import Document, Topic
from cranfield.errors import CranfieldError, MissingExtra
from cranfield.records import entity
from cranfield.wording import counted, listed

_WORD = re.compile(r"\w+")
URLS = ("url", "uri", "link", "href")


@entity
class Texts:
    """Topics and documents by id; those without a text are shown by id alone."""

    topics: Mapping[str, Topic]
    documents: Mapping[str, Document]

    @classmethod
    def of(cls, topics: Iterable[Topic], documents: Iterable[Document], docs: Iterable[str]) -> Texts:
        """All topics, and of the documents those that are wanted; the first of several with the same id."""
        wanted = set(docs)
        found: dict[str, Document] = {}
        for document in documents:
            if document.id in wanted and document.id not in found:
                found[document.id] = document
                if len(found) == len(wanted):
                    break
        return cls({topic.id: topic for topic in topics}, found)

    def topic(self, query: str) -> Topic:
        return self.topics.get(query) or Topic(query, query)

    def document(self, doc: str) -> Document | None:
        return self.documents.get(doc)

    def missing(self, queries: Iterable[str], docs: Iterable[str]) -> list[str]:
        """What has no text, in sentences."""
        topics = [query for query in dict.fromkeys(queries) if query not in self.topics]
        documents = [doc for doc in dict.fromkeys(docs) if doc not in self.documents]
        found = []
        if topics:
            found.append(f"{counted(len(topics), 'topic')} without a text: {listed(topics)}.")
        if documents:
            found.append(f"{counted(len(documents), 'document')} without a text: {listed(documents)}.")
        return found


class Marker:
    """Finds the words of a topic in a text, whatever their endings.

    >>> Marker(Topic("1", "repairing a flat tyre")).spans("Flat tyres are repaired.")
    [(0, 4), (5, 10), (15, 23)]
    """

    def __init__(self, topic: Topic) -> None:
        self._stems = {_stem()(word) for word in _words(topic.title)}

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the words stand: from, up to."""
        return [match.span() for match in _WORD.finditer(text) if self._is_marked(match[0].lower())]

    def words(self, texts: Iterable[str]) -> list[str]:
        """The words of some texts, in lower case, that are to be marked; for pages, which know no stems."""
        found = {match.lower() for text in texts for match in _WORD.findall(text)}
        return sorted(word for word in found if self._is_marked(word))

    def _is_marked(self, word: str) -> bool:
        return word not in STOP_WORDS["english-long"] and _stem()(word) in self._stems


def matches(text: str, words: str) -> list[tuple[int, int]]:
    """Where a phrase stands in a text, without regard to case.

    >>> matches("Tyres and tyre levers", "tyre")
    [(0, 4), (10, 14)]
    """
    wanted = words.strip()
    return [found.span() for found in re.finditer(re.escape(wanted), text, re.IGNORECASE)] if wanted else []


def other_fields(document: Document) -> list[tuple[str, str]]:
    """The fields of a document besides title and text, an address first."""
    given = [(name, value) for name, value in document.fields.items() if value.strip()]
    return sorted(given, key=lambda field: field[0].lower() not in URLS)


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS["english-long"]]


@lru_cache(1)
def _stem() -> Callable[[str], str]:
    """Snowball's stems; without it, words less their plural."""
    try:
        return stemmer_of("english")
    except (MissingExtra, CranfieldError):
        return _plain_stem


def _plain_stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
