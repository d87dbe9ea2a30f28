"""Opening a collection by its name, and finding those that a folder holds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

from cranfield.base import format_id
from cranfield.data import Qrels, Topic
from cranfield.errors import InputError
from cranfield.io import display_name, read_documents, read_qrels, read_topics
from cranfield.lab.collections.base import Address, Collection, address_of, matching
from cranfield.lab.collections.benchmarks import BENCHMARKS, CORPUS, MSMARCO_DOCUMENTS
from cranfield.lab.collections.classic import CLASSICS, open_classic
from cranfield.lab.collections.datasets import open_dataset
from cranfield.lab.collections.large import LARGE

KINDS: dict[str, Callable[[Address], Collection]] = {
    **dict.fromkeys(CLASSICS, open_classic),
    **LARGE,
    **BENCHMARKS,
    "ir_datasets": open_dataset,
}
# the documents by which a folder is recognised
_SIGNS = {
    **{name: classic.documents for name, classic in CLASSICS.items()},
    "beir": CORPUS,
    "msmarco": MSMARCO_DOCUMENTS[:2],
}
_NAME = re.compile(r"[A-Za-z][\w-]+(?=:)")  # of one letter it would be a drive


def open_collection(text: str) -> Collection:
    """A collection by name and folder (`cranfield:DIR`, `beir:DIR?split=dev`), or the documents of a file or folder.

    Nothing is read yet but the names of files. What a collection lacks is an error when it is asked for.
    """
    if is_named(text):
        address = address_of(text)
        if not address.where:
            raise InputError(f"where is it? Expected '{address.kind}:FOLDER'.", text)
        return KINDS[address.kind](address)
    name = _NAME.match(text)
    if name is not None and not os.path.exists(text) and not re.search(r"[/\\*]", name[0]):
        known = ", ".join(f"{kind}:" for kind in KINDS)
        raise InputError(f"there is no kind of collection {format_id(name[0])}. Known are {known} and files.", text)
    kind = recognised(text) if os.path.isdir(text) else None
    return _of_files(text) if kind is None else KINDS[kind](Address(kind, text))


def is_named(text: str) -> bool:
    """Whether this names a collection rather than a file.

    >>> is_named("cacm:data/cacm"), is_named("documents.jsonl")
    (True, False)
    """
    name = _NAME.match(text)
    return name is not None and name[0].lower() in KINDS


def topics_from(text: str, format: str | None = None) -> tuple[Topic, ...]:
    """The topics of a collection, or of a file."""
    return open_collection(text).topics() if is_named(text) else read_topics(text, format)


def qrels_from(text: str, format: str | None = None) -> Qrels:
    """The judgments of a collection, or of a file."""
    return open_collection(text).qrels() if is_named(text) else read_qrels(text, format)


def collections_in(folder: str, depth: int = 2) -> list[Collection]:
    """The collections that a folder and those in it hold, as far as their files have the usual names."""
    return [KINDS[kind](Address(kind, where)) for where in _folders(folder, depth) if (kind := recognised(where))]


def recognised(folder: str) -> str | None:
    """The kind of collection that a folder holds, told by the names of files."""
    return next((kind for kind, names in _SIGNS.items() if matching(folder, names)), None)


def _folders(folder: str, depth: int) -> Iterator[str]:
    yield folder
    if depth:
        for name in sorted(os.listdir(folder)):
            inner = os.path.join(folder, name)
            if name[0] != "." and os.path.isdir(inner):
                yield from _folders(inner, depth - 1)


def _of_files(path: str) -> Collection:
    """Documents without topics and judgments."""

    def topics() -> Iterable[Topic]:
        raise InputError("these are documents without topics. Give a file of topics, or a collection by name.", path)

    def qrels() -> Qrels:
        raise InputError("these are documents without judgments. Give a file of qrels, or a collection by name.", path)

    name = display_name(path.rstrip("/\\") or path)
    return Collection(name, path, lambda: read_documents(path), topics, qrels, open_by=path)
