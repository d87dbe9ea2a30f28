"""What a collection is, where it is, and how its files are found and read."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from urllib.parse import parse_qsl

from cranfield.base import Record, format_id, join_names, replace
from cranfield.data import Document, Origin, Qrels, Topic
from cranfield.errors import InputError
from cranfield.io import (
    AS_REQUESTED,
    Input,
    OnProblem,
    QrelsRows,
    display_name,
    raise_problem,
    read_qrels,
    read_topics,
    strip_compression_suffix,
)

DocumentReader = Callable[[Input, OnProblem], Iterator[tuple[int, Document]]]
TopicReader = Callable[[Input, OnProblem], Iterator[tuple[int, Topic]]]
QrelsReader = Callable[[Input, OnProblem], QrelsRows]
_OPTIONS = re.compile(r"\?(?=\w+=)")


class Collection(Record, eq=False):
    """A test collection: documents, topics and judgments, read from files when they are asked for."""

    name: str
    where: str
    read_documents: Callable[[], Iterator[Document]]
    read_topics: Callable[[], Iterable[Topic]]
    read_qrels: Callable[[], Qrels]
    notes: tuple[str, ...] = ()  # what is odd about its files, and how that was settled
    open_by: str = ""  # what was opened: an address or a path

    def documents(self) -> Iterator[Document]:
        """The documents one by one, from the beginning each time."""
        return self.read_documents()

    def topics(self) -> tuple[Topic, ...]:
        """The topics, in the order of their file."""
        return tuple(self.read_topics())

    def qrels(self) -> Qrels:
        """The judgments."""
        return self.read_qrels()

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, {self.where!r})"


class Address(Record):
    """Where a collection is: `kind:where?option=value&…`."""

    kind: str
    where: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind}:{self.where}"

    @property
    def text(self) -> str:
        """The address in full, with its options."""
        options = "&".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self}?{options}" if options else str(self)

    def allow(self, *options: str) -> None:
        """Refuse options that are not among these."""
        for option in self.options:
            if option not in options:
                known = f"it has {', '.join(options)}" if options else "it has none"
                raise InputError(f"there is no option {format_id(option)}: {known}.", str(self))

    def beside(self, file: str) -> str:
        """A file that an option names: in the folder of the collection, or as it stands."""
        within = os.path.join(self.where, file)
        return within if os.path.isfile(within) else file


def address_of(text: str) -> Address:
    """An address taken apart.

    >>> address_of("beir:scifact?split=train")
    Address(kind='beir', where='scifact', options={'split': 'train'})
    """
    kind, _, rest = text.partition(":")
    where, *options = _OPTIONS.split(rest, maxsplit=1)
    return Address(kind.lower(), where, dict(parse_qsl("".join(options), keep_blank_values=True)))


def assembled(
    address: Address,
    documents: Callable[[], Iterator[Document]],
    topics: Callable[[], Iterable[Topic]],
    qrels: Callable[[], Qrels],
    notes: Iterable[str] = (),
) -> Collection:
    """A collection; topics and judgments that the address names take the place of its own."""
    given = address.options
    if "topics" in given:
        topics = partial(read_topics, address.beside(given["topics"]))
    if "qrels" in given:
        qrels = partial(read_qrels, address.beside(given["qrels"]))
    return Collection(address.kind, address.where, documents, topics, qrels, tuple(notes), address.text)


def files_in(folder: str) -> list[str]:
    """All files of a folder and of those in it, in order of name; hidden ones are left out, links are followed."""
    if os.path.isfile(folder):
        return [folder]
    found: list[str] = []
    seen: set[str] = set()
    for here, inner, names in os.walk(folder, followlinks=True):
        seen.add(os.path.realpath(here))
        inner[:] = sorted(
            name for name in inner if name[0] != "." and os.path.realpath(os.path.join(here, name)) not in seen
        )
        found.extend(os.path.join(here, name) for name in sorted(names) if name[0] != ".")
    if not found:
        raise InputError("the folder holds no file." if os.path.isdir(folder) else "there is no such folder.", folder)
    return found


def matching(folder: str, patterns: Sequence[str]) -> list[str]:
    """The files of a folder whose names are like the first pattern that fits any, whatever their case and packing."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError as error:
        what = "there is no such folder" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        raise InputError(f"{what}.", folder) from None
    for pattern in patterns:
        found = [
            name
            for name in names
            if any(fnmatch.fnmatchcase(each.lower(), pattern) for each in (name, strip_compression_suffix(name)))
        ]
        if found:
            return [os.path.join(folder, name) for name in found]
    return []


def missing(address: Address, what: str, expected: str, option: str = "") -> InputError:
    """The error for a part that a folder does not have."""
    hint = f" Or name a file: '{address}?{option}=FILE'." if option else ""
    return InputError(f"there are no {what} in this folder. Expected {expected}.{hint}", str(address))


def the_one(files: Sequence[str], address: Address, what: str, expected: str, option: str) -> str:
    """The only file there is for a part of a collection."""
    if not files:
        raise missing(address, what, expected, option)
    if len(files) > 1:
        names = join_names([os.path.relpath(file, address.where) for file in files])
        raise InputError(
            f"several files could hold the {what}: {names}. Choose: '{address}?{option}=FILE'.", str(address)
        )
    return files[0]


def beginning(file: str, size: int) -> bytes:
    """The first bytes of a file as they are on disk."""
    try:
        with open(file, "rb") as raw:
            return raw.read(size)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}.", file) from None


def stream(files: Iterable[str], read: DocumentReader) -> Iterator[Document]:
    """The documents of files, one after the other."""
    for file in files:
        found = False
        with Input(file) as source:
            for _, document in read(source, raise_problem):
                found = True
                yield document
        if not found:
            raise InputError("there is no document in the file.", file)


def topics_by(file: str, read: TopicReader) -> tuple[Topic, ...]:
    """The topics of a file, read by a layout's own reader."""
    topics: dict[str, Topic] = {}
    with Input(file) as source:
        for line, topic in read(source, raise_problem):
            if topics.setdefault(topic.id, topic) is not topic:
                raise InputError(f"topic {format_id(topic.id)} occurs again. Ids must differ.", source.name, line)
    if not topics:
        raise InputError("there is no topic in the file.", file)
    return tuple(topics.values())


def qrels_by(file: str, read: QrelsReader, format: str) -> Qrels:
    """The judgments of a file, read by a layout's own reader."""
    with Input(file) as source:
        rows = read(source, raise_problem)
        origin = Origin(source.name, format, AS_REQUESTED, source.sha256)
    if not rows.docs:
        raise InputError("no judgment in this file.", file)
    return rows.qrels(display_name(file), origin, "error")


def in_latin_1(document: Document) -> Document:
    """The document with bytes that are not UTF-8 read as Latin-1, which is what old files have."""
    parts = (document.text, document.title, *document.fields.values())
    if not any(_holds_bytes(part) for part in parts):
        return document
    fields = {name: _latin(text) for name, text in document.fields.items()}
    return replace(
        document,
        text=_latin(document.text),
        title=_latin(document.title),
        fields=fields | {"encoding": "latin-1"},
    )


def _holds_bytes(text: str) -> bool:
    """Whether some byte could not be decoded and is kept as half a character."""
    return not text.isascii() and re.search("[\udc80-\udcff]", text) is not None


def _latin(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("latin-1") if _holds_bytes(text) else text
