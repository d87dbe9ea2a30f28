"""tantivy, a search library in the manner of Lucene: `tantivy:DIR`. BM25 with k1 1.2 and b 0.75.

Text is indexed and not kept. The index is made in `DIR.part`, which takes its place when complete; an attempt that was
interrupted goes on from its last commit.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from cranfield.base import encode_id, replace
from cranfield.data import Document, Run
from cranfield.errors import InputError, MissingExtra
from cranfield.lab.engines import (
    DEPTH,
    FIELDS,
    KEPT,
    About,
    Answered,
    Begun,
    EngineError,
    Hits,
    Indexed,
    Options,
    after,
    anew,
    ask_each,
    batches,
    digested,
    folder_size,
    text_of,
    unique,
)
from cranfield.text import STOP_WORDS

HEAP = 100_000_000  # bytes of postings that are held before they go to disk
COMMIT = 50_000  # documents
MARK = "cranfield.json"
LONGEST = 255  # bytes of a word; longer ones are no words


def opened(kind: str, place: str, options: Options) -> Tantivy:
    return Tantivy(Path(place), options)


class Tantivy:
    """An index of tantivy in a folder."""

    def __init__(self, folder: Path, options: Options | None = None) -> None:
        self.folder = folder
        self.options = options or Options()
        self.part = folder.with_name(f"{folder.name}.part")

    @property
    def about(self) -> About:
        return About("tantivy", _library().__version__.split(",")[0].removeprefix("tantivy v"))

    def index(self, documents: Iterable[Document], fields: Sequence[str] = FIELDS) -> Indexed:
        start = time.perf_counter()
        _check_mine(self.folder)
        with _said(self.folder, KEPT):
            index = self._begun(list(fields))
            begun = _progress(index)
            # tantivy itself does not mind two documents with the same id
            rest = after(unique(documents, self.options.source), begun, fields)
            if rest is None:
                _remove(self.part)
                again = self.index(anew(documents, str(self.part)), fields)
                return replace(again, dropped=begun.done)
            total = _write(index, rest, fields, begun)
            self._put_in_place()
        return Indexed(total, time.perf_counter() - start, self.size(), resumed=begun.done)

    def search(self, queries: Mapping[str, str], depth: int = DEPTH, answered: Answered | None = None) -> Run:
        searcher = self.reader.searcher()
        return ask_each("tantivy", queries, lambda text: _found(self.reader, searcher, text, depth), answered)

    def size(self) -> int | None:
        return folder_size(self.folder) if self.folder.exists() else None

    def close(self) -> None:
        self.__dict__.pop("reader", None)

    @cached_property
    def reader(self) -> Any:
        if not (self.folder / "meta.json").exists():
            what = "is not complete; run 'cranfield index' again" if self.part.exists() else "there is no such index"
            raise InputError(f"{what}.", str(self.folder))
        with _said(self.folder):
            return _prepared(_library().Index.open(str(self.folder)))

    def _begun(self, fields: list[str]) -> Any:
        """The index that an interrupted attempt left, or a new one."""
        tantivy = _library()
        mark = {"engine": "tantivy", "fields": fields, "digest": True}  # which earlier versions did not keep
        if _mark(self.part) == mark and tantivy.Index.exists(str(self.part)):
            return _prepared(tantivy.Index.open(str(self.part)))
        _check_mine(self.part)
        _remove(self.part)
        # never without its mark, whenever the process is killed
        fresh = self.part.with_name(f"{self.part.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        (fresh / MARK).write_text(json.dumps(mark))
        os.rename(fresh, self.part)
        return _prepared(tantivy.Index(_schema(), path=str(self.part), reuse=False))

    def _put_in_place(self) -> None:
        self.close()
        _remove(self.folder)
        os.rename(self.part, self.folder)


def _write(index: Any, documents: Iterable[Document], fields: Sequence[str], begun: Begun) -> int:
    number, digest = begun.done, begun.digest
    # one thread, so that documents are in the index in the order they came
    writer = index.writer(HEAP, 1)
    try:
        for some in batches(documents, COMMIT):
            for i, document in enumerate(some, 1):
                digest = digested(digest, document, fields)
                # the last of a commit vouches for all up to it
                writer.add_document(_entry(document, fields, number, digest if i == len(some) else b""))
                number += 1
            writer.commit()
        writer.commit()
    except BaseException:
        with suppress(ValueError):  # lets go of the lock, so that the next attempt gets it
            writer.wait_merging_threads()
        raise
    writer.wait_merging_threads()
    return number


def _entry(document: Document, fields: Sequence[str], number: int, digest: bytes) -> Any:
    entry = _library().Document()
    entry.add_bytes("id", encode_id(document.id))
    entry.add_unsigned("number", number)
    entry.add_text("text", text_of(document, fields))
    if digest:
        entry.add_bytes("digest", digest)
    return entry


def _found(index: Any, searcher: Any, text: str, depth: int) -> Hits:
    """The best documents; those with equal scores in the order they were indexed, whichever segments they are in."""
    tantivy = _library()
    terms = [tantivy.Query.term_query(index.schema, "text", term, "freq") for term in _analyzer().analyze(text)]
    if not terms or not searcher.num_docs:
        return []
    query = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
    hits = _down_to(searcher, query, depth)
    entries = ((score, searcher.doc(address)) for score, address in hits)
    rows = [(-score, entry.get_first("number"), entry.get_first("id")) for score, entry in entries]
    return [(_id(doc), -score) for score, _, doc in sorted(rows)[:depth]]


def _down_to(searcher: Any, query: Any, depth: int) -> list[Any]:
    """Hits down to a depth, and all others with the score of the last of them."""
    limit, most = depth + 1, searcher.num_docs
    while True:
        hits: list[Any] = searcher.search(query, min(limit, most), count=False).hits
        if len(hits) <= depth or limit >= most or hits[-1][0] < hits[depth - 1][0]:
            return hits
        limit *= 4


def _schema() -> Any:
    builder = _library().SchemaBuilder()
    builder.add_bytes_field("id", stored=True)
    builder.add_bytes_field("digest", stored=True)
    builder.add_unsigned_field("number", stored=True, fast=True)
    builder.add_text_field("text", tokenizer_name="cranfield_english", index_option="freq")
    return builder.build()


def _prepared(index: Any) -> Any:
    """An index that knows our analysis, which is not kept in it."""
    index.register_tokenizer("cranfield_english", _analyzer())
    return index


def _analyzer() -> Any:
    """Words in lower case, without stop words, cut to their stems."""
    tantivy = _library()
    kinds = tantivy.Filter
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(kinds.remove_long(LONGEST))
    stop_words = sorted(STOP_WORDS["english"])
    builder = builder.filter(kinds.lowercase()).filter(kinds.custom_stopword(stop_words))
    return builder.filter(kinds.stemmer("English")).build()


def _progress(index: Any) -> Begun:
    """How far documents were committed."""
    index.reload()
    searcher = index.searcher()
    done: int = searcher.num_docs
    if not done:
        return Begun()
    ((_, address),) = searcher.search(_library().Query.all_query(), 1, order_by_field="number").hits
    return Begun(done, bytes(searcher.doc(address).get_first("digest") or b"unknown"))


def _id(stored: Any) -> str:
    # a list of numbers in version 0.24
    return bytes(stored).decode("utf-8", "surrogateescape")


def _remove(folder: Path) -> None:
    """Remove a folder, after it was moved: threads that still watch an index would put files into it meanwhile."""
    if not folder.exists():
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    os.rename(folder, aside / folder.name)
    shutil.rmtree(aside)


def _mark(folder: Path) -> Any:
    try:
        return json.loads((folder / MARK).read_text())
    except (OSError, ValueError):
        return None


def _check_mine(folder: Path) -> None:
    if folder.exists() and _mark(folder) is None and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("this was not made by 'cranfield index'; give the name of a new folder.", str(folder))


@contextmanager
def _said(folder: Path, more: str = "") -> Iterator[None]:
    """What goes wrong inside, in a sentence; tantivy raises ValueError for everything."""
    try:
        yield
    except OSError as error:
        raise EngineError(f"{folder}: cannot be written: {error.strerror or error}.") from None
    except ValueError as error:
        # a thread of its own came to grief, and it does not know why
        why = "its writer could not go on, the disk may be full" if "writer was killed" in str(error) else error
        raise EngineError(f"{folder}: tantivy stopped ({why}).{more}") from None


def _library() -> Any:
    try:
        import tantivy
    except ImportError:
        raise MissingExtra("tantivy", "lab") from None
    return tantivy
