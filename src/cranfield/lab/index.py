"""An inverted index over NumPy arrays: built in one pass, kept in a folder, mapped into memory when opened.

A folder holds `index.json` (what it was made of and how), ids and terms one a line, and the arrays: for each term the
documents it occurs in with counts (postings), for each document its terms with counts (the forward index, for
feedback), and the lengths of documents.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.base import Record, format_id
from cranfield.data import Document, Floats, Ints
from cranfield.errors import InputError
from cranfield.text import STOP_WORDS, Analysis, stemmer_of, words

VERSION = 1
FIELDS = ("title", "text")
ARRAYS = {
    "post_starts": np.int64,
    "post_docs": np.int32,
    "post_counts": np.int32,
    "doc_starts": np.int64,
    "doc_terms": np.int32,
    "doc_counts": np.int32,
    "lengths": np.int32,
}
PIECE = 1 << 22  # words that are counted at a time
BLOCK = 1 << 24  # bytes that are written at a time


class Index(Record, eq=False):
    """Terms of documents, both ways round. Documents and terms are numbered in the order they came in."""

    docs: tuple[str, ...]
    terms: tuple[str, ...]
    post_starts: Ints  # the postings of term t are post_starts[t] to post_starts[t + 1]
    post_docs: Any
    post_counts: Any
    doc_starts: Ints  # the terms of document d are doc_starts[d] to doc_starts[d + 1]
    doc_terms: Any
    doc_counts: Any
    lengths: Any  # of documents, in terms
    analysis: Analysis
    about: Mapping[str, Any]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Index:
        """An index that was saved; its arrays stay on disk until they are needed."""
        path = Path(folder)
        about = _about(path)
        try:
            arrays = {name: np.load(path / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
            docs, terms = _lines(path / "docs.txt"), _lines(path / "terms.txt")
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"the index is damaged: {error}. Index again.", str(path)) from None
        _check(path, docs, terms, arrays)
        return cls(docs=docs, terms=terms, **arrays, analysis=Analysis(**about["analysis"]), about=about)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each term."""
        return {term: i for i, term in enumerate(self.terms)}

    @cached_property
    def doc_numbers(self) -> dict[str, int]:
        """The number of each document."""
        return {doc: i for i, doc in enumerate(self.docs)}

    @cached_property
    def doc_frequencies(self) -> Floats:
        """In how many documents each term occurs."""
        return np.diff(self.post_starts).astype(np.float64)

    @cached_property
    def collection_frequencies(self) -> Floats:
        """How often each term occurs."""
        sums = np.concatenate(([0], np.cumsum(self.post_counts, dtype=np.int64)))
        return (sums[self.post_starts[1:]] - sums[self.post_starts[:-1]]).astype(np.float64)

    @cached_property
    def sizes(self) -> Floats:
        """The length of each document as a float."""
        return np.asarray(self.lengths, dtype=np.float64)

    @cached_property
    def mean_length(self) -> float:
        return float(self.sizes.mean()) if len(self.sizes) else 0.0

    @property
    def tokens(self) -> float:
        """How many terms all documents have together."""
        return float(self.sizes.sum())

    def query(self, text: str) -> dict[int, float]:
        """The terms of a query that occur in the collection, with how often the query has them."""
        counts: dict[int, float] = {}
        for number in map(self._known.__getitem__, words(text)):
            if number >= 0:
                counts[number] = counts.get(number, 0.0) + 1.0
        return counts

    @cached_property
    def _known(self) -> _Known:
        return _Known(self.analysis, self.numbers)

    def vector(self, doc: int) -> tuple[Ints, Floats]:
        """The terms of a document and how often it has each."""
        rows = slice(int(self.doc_starts[doc]), int(self.doc_starts[doc + 1]))
        return np.asarray(self.doc_terms[rows], dtype=np.int64), np.asarray(self.doc_counts[rows], dtype=np.float64)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the index into a folder: beside its place first, so that an old index stays until the new is whole."""
        target = Path(folder)
        if target.exists() and not (target / "index.json").exists() and (not target.is_dir() or any(target.iterdir())):
            raise InputError("this is no index; give the name of a new folder.", str(target))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            try:
                self._write(beside)
                _put_in_place(beside, target)
            finally:
                shutil.rmtree(beside, ignore_errors=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}.", str(target)) from None

    def _write(self, folder: Path) -> None:
        os.chmod(folder, 0o777 & ~_umask())
        for name in ARRAYS:
            _save(folder / f"{name}.npy", getattr(self, name))
        for file, lines in (("docs.txt", self.docs), ("terms.txt", self.terms)):
            text = "".join(f"{line}\n" for line in lines)
            (folder / file).write_bytes(text.encode("utf-8", "surrogateescape"))
        # last, so that a folder with it is complete
        (folder / "index.json").write_text(json.dumps(dict(self.about), indent=2, ensure_ascii=False) + "\n")


def build(
    documents: Iterable[Document],
    analysis: Analysis | None = None,
    fields: Iterable[str] = FIELDS,
    source: str = "",
) -> Index:
    """Index documents: the words of some of their fields, in one pass."""
    analysis = analysis or Analysis()
    fields = tuple(fields)
    known, counting = _Terms(analysis), _Counting()
    docs: dict[str, None] = {}
    characters = 0
    for document in documents:
        if document.id in docs:
            raise InputError(f"document {format_id(document.id)} comes twice.", source or None)
        docs[document.id] = None
        text = " ".join(field_of(document, field) for field in fields)
        characters += len(text)
        counting.add(map(known.__getitem__, words(text)))
    about = {
        "version": VERSION,
        "source": source,
        "fields": list(fields),
        "analysis": {"stemmer": analysis.stemmer, "stop_words": analysis.stop_words},
        "documents": len(docs),
        "characters": characters,
    }
    return _arranged(tuple(docs), tuple(known.terms), counting, analysis, about)


def field_of(document: Document, field: str) -> str:
    """A field of a document by name, empty where it has none."""
    return str(getattr(document, field) if field in ("title", "text") else document.fields.get(field, ""))


class _Words(dict[str, int]):
    """The number of each word's term, -1 for none; a word is cut to its stem once."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(dict.fromkeys(STOP_WORDS[analysis.stop_words], -1))
        self.stem = stemmer_of(analysis.stemmer)


class _Terms(_Words):
    """A stem that was not seen yet becomes a term."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(analysis)
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        self[word] = number = self.terms.setdefault(self.stem(word), len(self.terms))
        return number


class _Known(_Words):
    """Terms are those of an index."""

    def __init__(self, analysis: Analysis, numbers: Mapping[str, int]) -> None:
        super().__init__(analysis)
        self.numbers = numbers

    def __missing__(self, word: str) -> int:
        self[word] = number = self.numbers.get(self.stem(word), -1)
        return number


class _Counting:
    """The terms of documents and how often each has them, counted some documents at a time."""

    def __init__(self) -> None:
        self.words, self.ends = array("i"), array("q", [0])
        self.pieces: list[tuple[Any, ...]] = []

    def add(self, numbers: Iterable[int]) -> None:
        """One more document, by the numbers of its words' terms."""
        self.words.extend(numbers)
        self.ends.append(len(self.words))
        if len(self.words) >= PIECE:
            self._count()

    def _count(self) -> None:
        from scipy.sparse import csr_matrix

        found = np.frombuffer(self.words, dtype=np.int32) if len(self.words) else np.empty(0, np.int32)
        kept = found >= 0
        starts = np.concatenate(([0], np.cumsum(kept)))[np.frombuffer(self.ends, dtype=np.int64)]
        found = found[kept]
        shape = (len(starts) - 1, int(found.max(initial=-1)) + 1)
        counts = csr_matrix((np.ones(len(found), dtype=np.int32), found, starts), shape=shape)
        counts.sum_duplicates()
        columns = (np.diff(counts.indptr), counts.indices, counts.data, np.diff(starts))
        self.pieces.append(tuple(column.astype(np.int32, copy=True) for column in columns))
        self.words, self.ends = array("i"), array("q", [0])

    def columns(self) -> list[Any]:
        """How many terms each document has, the terms, how often it has each, and its length, of all documents."""
        self._count()
        pieces, self.pieces = self.pieces, []
        columns = [np.empty(sum(len(piece[i]) for piece in pieces), np.int32) for i in range(4)]
        ends = [len(column) for column in columns]
        while pieces:  # from the last, each of which goes as soon as it was copied
            for i, part in enumerate(pieces.pop()):
                columns[i][ends[i] - len(part) : ends[i]] = part
                ends[i] -= len(part)
        return columns


def _arranged(
    docs: tuple[str, ...], terms: tuple[str, ...], counting: _Counting, analysis: Analysis, about: dict[str, Any]
) -> Index:
    """Counts by document and by term."""
    from scipy.sparse import csr_matrix

    sizes, doc_terms, doc_counts, lengths = counting.columns()
    doc_starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    by_doc = csr_matrix((doc_counts, doc_terms, doc_starts), shape=(len(docs), len(terms)))
    by_term = by_doc.tocsc()
    return Index(
        docs=docs,
        terms=terms,
        post_starts=by_term.indptr.astype(np.int64),
        post_docs=by_term.indices.astype(np.int32, copy=False),
        post_counts=by_term.data,
        doc_starts=doc_starts,
        doc_terms=doc_terms,
        doc_counts=doc_counts,
        lengths=lengths,
        analysis=analysis,
        about={**about, "terms": len(terms), "tokens": int(lengths.sum(dtype=np.int64))},
    )


def _about(folder: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads((folder / "index.json").read_text())
    except FileNotFoundError:
        what = "there is no such folder" if not folder.exists() else "this is no index: it has no index.json"
        raise InputError(f"{what}. Make one with 'cranfield index'.", str(folder)) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}.", str(folder / "index.json")) from None
    if about.get("version") != VERSION:
        found = about.get("version")
        raise InputError(f"made by another version (found {found}, expected {VERSION}); index again.", str(folder))
    return about


def _check(folder: Path, docs: tuple[str, ...], terms: tuple[str, ...], arrays: Mapping[str, Any]) -> None:
    """Refuse arrays that do not fit together."""
    sizes = {
        "post_starts": len(terms) + 1,
        "doc_starts": len(docs) + 1,
        "lengths": len(docs),
        **{name: len(arrays["post_docs"]) for name in ("post_docs", "post_counts", "doc_terms", "doc_counts")},
    }
    for name, kind in ARRAYS.items():
        found = arrays[name]
        if found.dtype != kind or found.shape != (sizes[name],):
            expected = f"{sizes[name]:,} numbers of type {np.dtype(kind).name}"
            what = f"{name}.npy should hold {expected}, and has {found.shape} of type {found.dtype.name}"
            raise InputError(f"the index is damaged: {what}. Index again.", str(folder))


def _save(path: Path, values: Any) -> None:
    """Write an array as NumPy does, block by block: its own way does not say what keeps it from writing."""
    values = np.ascontiguousarray(values)
    with path.open("wb") as out:
        np.lib.format.write_array_header_1_0(out, np.lib.format.header_data_from_array_1_0(values))
        written = values.view(np.uint8)
        for start in range(0, len(written), BLOCK):
            out.write(written[start : start + BLOCK].data)


def _lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_bytes().decode("utf-8", "surrogateescape").split("\n")[:-1])


def _put_in_place(folder: Path, target: Path) -> None:
    """Rename a folder to its place; what was there goes after it is no longer needed."""
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        os.rename(target, old / "old")
        os.rename(folder, target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(folder, target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def batches(items: list[Any], size: int) -> Iterator[list[Any]]:
    """Items some at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
