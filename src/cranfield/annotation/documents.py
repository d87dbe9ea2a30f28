"""What judges read: topics and the documents of a pool, and which words in them to mark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Document, Topic
from cranfield.errors import CranfieldError, MissingExtra
from cranfield.text import STOP_WORDS, stemmer_of

# Scripts that put no space between words. Han (with 々 and 〇), then Katakana, Hiragana, and Thai with its neighbours
_HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_KANA = ("\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f", "\u3041-\u309f")
_THAI = ("\u0e01-\u0e3e\u0e40-\u0e4e", "\u0e80-\u0eff", "\u1000-\u109f", "\u1780-\u17d3")
_UNSPACED = re.compile("|".join(f"[{letters}]+" for letters in (_HAN, *_KANA, *_THAI)))
_IS_HAN = re.compile(f"[{_HAN}]+")
_WORD = re.compile(rf"[^\W{''.join((_HAN, *_KANA, *_THAI))}]+")
_STOP = STOP_WORDS["english-long"]
URLS = ("url", "uri", "link", "href")


class Texts(Record, eq=False):
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
            found.append(f"{pluralize(len(topics), 'topic')} without a text: {join_names(topics)}.")
        if documents:
            found.append(f"{pluralize(len(documents), 'document')} without a text: {join_names(documents)}.")
        return found


class Marker:
    """Finds the words of a topic in a text, whatever their endings. A topic of stop words alone has these as words.

    >>> Marker(Topic("1", "repairing a flat tyre")).spans("Flat tyres are repaired.")
    [(0, 4), (5, 10), (15, 23)]

    In scripts without spaces, what the title has is found wherever it stands, of Han any two characters in a row:

    >>> Marker(Topic("1", "自転車のタイヤ")).words(["折り畳み自転車や車輪、冬タイヤ"])
    ['タイヤ', '自転車']
    """

    def __init__(self, topic: Topic) -> None:
        title = topic.title.lower()
        words = _WORD.findall(title)
        parts = _UNSPACED.findall(title)
        own = [word for word in words if word not in _STOP]
        self._stop = _STOP if own or parts else frozenset()
        self._stems = {_stem()(word) for word in own or ([] if parts else words)}
        self._parts = _parts(parts)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the words stand: from, up to."""
        words = [match.span() for match in _WORD.finditer(text) if self._is_marked(match[0].lower())]
        return sorted([*words, *self._unspaced(text)]) if self._parts else words

    def words(self, texts: Iterable[str]) -> list[str]:
        """The words of some texts, in lower case, that are to be marked; for pages, which know no stems."""
        found: set[str] = set()
        parts: set[str] = set()
        for text in texts:
            found.update(match.lower() for match in _WORD.findall(text))
            parts.update(text[first:last] for first, last in self._unspaced(text))
        return sorted([*(word for word in found if self._is_marked(word)), *parts])

    def _is_marked(self, word: str) -> bool:
        return word not in self._stop and _stem()(word) in self._stems

    def _unspaced(self, text: str) -> Iterator[tuple[int, int]]:
        """Where parts of the title stand in scripts without spaces; those that overlap as one."""
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


def _parts(runs: Iterable[str]) -> re.Pattern[str] | None:
    """What finds runs of letters without spaces, also where they overlap; None where there are none.

    A single Hiragana letter is an ending or a particle, which would mark half of any text.
    """
    found: set[str] = set()
    for run in runs:
        if _IS_HAN.match(run) and len(run) > 2:
            found.update(run[i : i + 2] for i in range(len(run) - 1))
        elif len(run) > 1 or not re.match(f"[{_KANA[1]}]", run):
            found.add(run)
    longest_first = sorted(found, key=lambda part: (-len(part), part))
    return re.compile(f"(?=({'|'.join(longest_first)}))") if found else None


def matches(text: str, words: str) -> list[tuple[int, int]]:
    """Where a phrase stands in a text, without regard to case or to what white space is between its words.

    >>> matches("Tyres and tyre\\nlevers", "tyre"), matches("Tyres and tyre\\nlevers", "tyre  levers")
    ([(0, 4), (10, 14)], [(10, 21)])
    """
    wanted = r"\s+".join(map(re.escape, words.split()))
    return [found.span() for found in re.finditer(wanted, text, re.IGNORECASE)] if wanted else []


def other_fields(document: Document) -> list[tuple[str, str]]:
    """The fields of a document besides title and text, an address first."""
    given = [(name, value) for name, value in document.fields.items() if value.strip()]
    return sorted(given, key=lambda field: field[0].lower() not in URLS)


@lru_cache(1)
def _stem() -> Callable[[str], str]:
    """Snowball's stems; without it, words less their plural."""
    try:
        return stemmer_of("english")
    except (MissingExtra, CranfieldError):
        return _plain_stem


def _plain_stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
