"""Collections of many files: TREC's disks, TREC's web collections (GOV2, BLOG08), ClueWeb's archives."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Document, Qrels, Topic
from cranfield.errors import InputError
from cranfield.io import ENCODINGS_NOTE, LZW_MAGIC, read_qrels, read_topics, trec_text, trec_web, warc
from cranfield.lab.collections.base import (
    Address,
    Collection,
    DocumentReader,
    assembled,
    beginning,
    files_in,
    in_latin_1,
    missing,
    stream,
    the_one,
)

_TOPIC_NAMES = re.compile(r"topic|quer(?:y|ies)|testset", re.I)
_QRELS_NAMES = re.compile(r"qrel|(?<![a-z])prels", re.I)
_READ_ME = re.compile(r"read|copyright|license|md5|sha1|checksum|index\.", re.I)
_EXTRAS = re.compile(r"extras[^/\\]*[/\\]", re.I)  # GOV2 comes with a folder of tables of ids and URLs
_PACKED = (LZW_MAGIC, b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_DOC = re.compile(rb"<DOC[\s>]", re.I)
_WARC = re.compile(r"\.warc(?:\.\w+)?$", re.I)
_EXPECTED = {
    "topics": "one file with 'topics' or 'queries' in its name",
    "judgments": "one file with 'qrels' in its name",
}


class Parts(Record):
    """The files of a folder, by what they hold."""

    documents: tuple[str, ...]
    topics: tuple[str, ...]
    qrels: tuple[str, ...]
    others: tuple[str, ...]


def open_trec(address: Address) -> Collection:
    """TREC's disks: files of `<DOC>` in folders (fbis, ft, fr94, latimes …), packed or not."""
    address.allow("topics", "qrels", "without")
    parts, notes = _parts(address, _holds_documents)
    notes.append("Bytes that are not UTF-8 are read as Latin-1; the field encoding says where.")
    folders = {part.lower() for file in parts.documents for part in _within(file, address).split(os.sep)[:-1]}
    if "cr" in folders:
        notes.append(f"The Congressional Record (cr) is read; Robust 2004 leaves it out: '{address}?without=cr'.")
    return _collection(address, parts, trec_text.read_documents, notes, in_latin_1)


def open_trec_web(address: Address) -> Collection:
    """GOV2, WT10g, BLOG08: files of `<DOC>` with a `<DOCHDR>` and a page, packed or not."""
    address.allow("topics", "qrels", "without")
    parts, notes = _parts(address, _holds_documents)
    permalinks = tuple(file for file in parts.documents if os.path.basename(file).lower().startswith("permalinks"))
    if permalinks and len(permalinks) < len(parts.documents):
        left = pluralize(len(parts.documents) - len(permalinks), "file")
        notes.append(f"Documents are BLOG08's permalinks; {left} of feeds and homepages are left out.")
        parts = Parts(permalinks, parts.topics, parts.qrels, parts.others)
    return _collection(address, parts, trec_web.read_documents, [*notes, ENCODINGS_NOTE])


def open_warc(address: Address) -> Collection:
    """ClueWeb09, ClueWeb12 and other archives: .warc, .warc.gz."""
    address.allow("topics", "qrels", "without")
    parts, notes = _parts(address, lambda file: _WARC.search(file) is not None)
    notes.append("Ids are WARC-TREC-ID where a record has it, else WARC-Record-ID; only response records are read.")
    return _collection(address, parts, warc.read_documents, [*notes, ENCODINGS_NOTE])


def _collection(
    address: Address,
    parts: Parts,
    read: DocumentReader,
    notes: Iterable[str],
    settled: Callable[[Document], Document] | None = None,
) -> Collection:
    def documents() -> Iterator[Document]:
        if not parts.documents:
            expected = "files that end in .warc or .warc.gz" if address.kind == "warc" else "files with <DOC>"
            raise missing(address, "documents", expected)
        found = stream(parts.documents, read)
        return found if settled is None else map(settled, found)

    def topics() -> tuple[Topic, ...]:
        return read_topics(the_one(parts.topics, address, "topics", _EXPECTED["topics"], "topics"))

    def qrels() -> Qrels:
        return read_qrels(the_one(parts.qrels, address, "judgments", _EXPECTED["judgments"], "qrels"))

    return assembled(address, documents, topics, qrels, notes)


def _parts(address: Address, holds_documents: Callable[[str], bool]) -> tuple[Parts, list[str]]:
    """The files of a folder by what they hold, and what is to be said of those that are left out."""
    files = files_in(address.where)
    if len(files) == 1 and files[0] == address.where:
        return Parts((address.where,), (), (), ()), []
    files, notes = _without(files, address)
    given = {
        os.path.realpath(address.beside(address.options[name]))
        for name in ("topics", "qrels")
        if name in address.options
    }
    documents, topics, qrels, others = [], [], [], []
    for file in files:
        name = os.path.basename(file)
        if os.path.realpath(file) in given:
            continue
        if _QRELS_NAMES.search(name):
            qrels.append(file)
        elif _TOPIC_NAMES.search(name):
            topics.append(file)
        elif not _READ_ME.match(name) and not _EXTRAS.search(_within(file, address)) and holds_documents(file):
            documents.append(file)
        else:
            others.append(file)
    if others:
        names = join_names([_within(file, address) for file in others], 3)
        notes.append(f"{pluralize(len(others), 'file')} without documents left out: {names}.")
    return Parts(tuple(documents), tuple(topics), tuple(qrels), tuple(others)), notes


def _without(files: list[str], address: Address) -> tuple[list[str], list[str]]:
    """The files less those in folders, or of names, that the address leaves out."""
    left_out = {name.strip().lower() for name in address.options.get("without", "").split(",") if name.strip()}
    if not left_out:
        return files, []
    kept = [file for file in files if left_out.isdisjoint(_within(file, address).lower().split(os.sep))]
    if len(kept) == len(files):
        raise InputError(f"there is no folder or file {join_names(sorted(left_out))} to leave out.", str(address))
    return kept, [f"{pluralize(len(files) - len(kept), 'file')} left out as asked ({', '.join(sorted(left_out))})."]


def _holds_documents(file: str) -> bool:
    """Whether a file begins with documents; one that is packed is taken for such."""
    head = beginning(file, 1 << 16)
    return head.startswith(_PACKED) or _DOC.search(head) is not None


def _within(file: str, address: Address) -> str:
    return os.path.relpath(file, address.where)


LARGE: dict[str, Callable[[Address], Collection]] = {
    "trec": open_trec,
    "trecweb": open_trec_web,
    "warc": open_warc,
}
