"""The collections of the literature with their sizes, and the sizes of those that were found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from cranfield.base import Record
from cranfield.data import Document, Qrels
from cranfield.errors import InputError
from cranfield.lab.collections.base import Collection
from cranfield.text import words

T = TypeVar("T")
_SAID = ("cranfield", "cacm", "cisi")  # formats of judgments whose quirks the notes of a collection tell already


class Known(Record):
    """A collection of the literature."""

    title: str
    documents: int
    queries: int | None = None
    kind: str = ""  # the name it is opened by
    alone: bool = True  # whether no other collection is opened by that name


KNOWN = (
    Known("Cranfield 2", 1_400, 225, "cranfield"),
    Known("ADI", 82, 35, "adi"),
    Known("IRE-3", 780, 34),
    Known("NPL", 11_571, 93, "npl"),
    Known("MEDLARS", 450, 29),
    Known("Time", 425, 83, "time"),
    Known("INSPEC", 12_684, 77),
    Known("CACM", 3_204, 64, "cacm"),
    Known("CISI", 1_460, 112, "cisi"),
    Known("LISA", 6_004, 35, "lisa"),
    Known("GOV2", 25_000_000, None, "trecweb", alone=False),
    Known("BLOG08", 28_500_000, None, "trecweb", alone=False),
    Known("ClueWeb09", 1_040_000_000, None, "warc", alone=False),
)


class Counts(Record):
    """How large a collection is; None stands for a part that it does not have."""

    name: str
    where: str
    open_by: str  # what opens it
    documents: int
    words: int
    topics: int | None
    judgments: int | None
    judged_topics: int | None
    encodings: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def is_named(self) -> bool:
        """Whether it is a collection by name, rather than a file of documents."""
        return self.open_by.startswith(f"{self.name}:")


def count(collection: Collection, each: Callable[[Iterable[Document]], Iterable[Document]] = iter) -> Counts:
    """Count what a collection holds, reading all of it once; `each` may watch the documents go by."""
    lacking: list[str] = []
    topics = _if_there(collection.topics, lacking)
    qrels = _if_there(collection.qrels, lacking)
    documents = length = 0
    encodings: Counter[str] = Counter()
    for document in each(collection.documents()):
        documents += 1
        length += len(words(document.title)) + len(words(document.text))
        if "encoding" in document.fields:
            encodings[document.fields["encoding"]] += 1
    return Counts(
        name=collection.name,
        where=collection.where,
        open_by=collection.open_by,
        documents=documents,
        words=length,
        topics=None if topics is None else len(topics),
        judgments=None if qrels is None else len(qrels),
        judged_topics=None if qrels is None else len(qrels.queries),
        encodings=dict(encodings),
        notes=(*collection.notes, *_unsaid(qrels), *lacking),
    )


def _unsaid(qrels: Qrels | None) -> tuple[str, ...]:
    if qrels is None or (qrels.origin is not None and qrels.origin.format in _SAID):
        return ()
    return qrels.notes


def _if_there(part: Callable[[], T], lacking: list[str]) -> T | None:
    """A part of a collection, or None and why it cannot be had."""
    try:
        return part()
    except InputError as error:
        lacking.append(f"{error.message[:1].upper()}{error.message[1:]}" if error.line is None else str(error))
        return None
