"""Engines that index and search, each behind the same small interface, chosen by URL.

`open_engine("tantivy:bicycles.tantivy")` gives an `Engine`: it takes documents, answers queries with a run, and says
how much room it takes. What an engine makes is marked, so that nothing that somebody else made is ever replaced.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from cranfield.base import Record, format_id, join_names, pluralize, replace
from cranfield.data import Document, Run
from cranfield.errors import CranfieldError, InputError
from cranfield.lab.secrets import mask_secrets, mask_url

T = TypeVar("T")
Hits = Sequence[tuple[str, float]]
Answered = Callable[[str, Hits], None]  # is told what was found for a query, as soon as it is

DEPTH = 1000
FIELDS = ("title", "text")
MAX_FAILURES = 3  # consecutive queries that may fail before the search is given up
HOPELESS = (401, 403, 404)  # answers that no other query would change
LARGE = 1 << 30  # bytes of text that our own index should not be asked to hold in memory

ENGINES = {
    "embedded": "embedded",
    "tantivy": "tantivy",
    "sqlite": "sqlite",
    "postgresql": "postgres",
    "postgres": "postgres",
    "opensearch+http": "elastic",
    "opensearch+https": "elastic",
    "elasticsearch+http": "elastic",
    "elasticsearch+https": "elastic",
    "http-get": "endpoint",
    "http-post": "endpoint",
    "command": "command",
    "shell": "command",
}
KEPT = " What was committed is kept; the same command goes on from there."
LOCAL = ("embedded", "tantivy", "sqlite")  # named by a folder or a file


class EngineError(CranfieldError):
    """An engine cannot do what it was asked; what it did before stays."""

    def __init__(self, message: str) -> None:
        super().__init__(mask_secrets(message))  # it may quote a server


class SearchFailed(EngineError):
    """Some queries have no answer; `found` is the run of the others, `failed` says why for each."""

    def __init__(self, message: str, found: Run, failed: Mapping[str, str]) -> None:
        super().__init__(message)
        self.found = found
        self.failed = dict(failed)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.found, self.failed)


class About(Record):
    """What an engine is."""

    name: str
    version: str = ""


class Options(Record):
    """What a URL does not say. An engine takes what concerns it."""

    system: str = "bm25"  # of our own index
    stemmer: str = "english"  # of our own index
    stop_words: str = "english"  # of our own index
    source: str = ""  # where documents come from, for messages
    ids: str = ""  # where an answer in JSON has the ids, as $.hits[*].id
    scores: str = ""
    body: str = ""  # what is sent, with {query} and {depth} in it
    headers: tuple[str, ...] = ()  # 'Name: value', with $NAME for what is in the environment
    timeout: float = 30.0  # seconds for one answer
    retries: int = 5


class Indexed(Record):
    """What became of documents: how many are in the index, how long it took, and which were refused and why."""

    documents: int
    seconds: float
    bytes: int | None = None
    failed: tuple[tuple[str, str], ...] = ()
    resumed: int = 0  # documents that were there from an interrupted attempt
    dropped: int = 0  # documents of such an attempt that were not used, as the collection has changed since


class Engine(Protocol):
    """What every engine does."""

    @property
    def about(self) -> About:
        """Its name and version."""

    def index(self, documents: Iterable[Document], fields: Sequence[str] = FIELDS) -> Indexed:
        """Index documents, in place of what this engine had indexed before; goes on where it was interrupted.

        If what was indexed then is no longer so in the collection, it begins anew, which takes documents that can be
        gone through twice: a list, or `Again`.
        """

    def search(self, queries: Mapping[str, str], depth: int = DEPTH, answered: Answered | None = None) -> Run:
        """The best documents of each query, with the engine's own scores."""

    def size(self) -> int | None:
        """The bytes that the index takes, where that can be known."""

    def close(self) -> None:
        """Let go of files and connections."""


def open_engine(url: str, options: Options | None = None) -> Engine:
    """An engine by its URL; nothing is read, written or asked before it is used.

    >>> open_engine("sqlite:bicycles.db").about.name
    'sqlite'
    """
    kind, _, place = engine_url(url).partition(":")
    if not place.strip("/"):
        raise EngineError(f"engine {kind!r} needs a place, as in {_example(kind)}.")
    module = importlib.import_module(f"cranfield.lab.engines.{ENGINES[kind]}")
    engine: Engine = module.opened(kind, place, options or Options())
    return engine


def is_url(text: str) -> bool:
    """Whether a text names an engine, rather than a file or a folder.

    >>> is_url("sqlite:bicycles.db"), is_url("bicycles.db")
    (True, False)
    """
    return text.partition(":")[0].lower() in ENGINES and ":" in text


def engine_url(text: str) -> str:
    """The URL of an engine; of an index on disk, by what is in it.

    >>> engine_url("Tantivy:bicycles")
    'tantivy:bicycles'
    """
    kind, _, place = text.partition(":")
    if is_url(text):
        return f"{kind.lower()}:{place}"
    if "://" in text:
        raise EngineError(
            f"no engine for {mask_url(text)!r}: expected one of {', '.join(_example(k) for k in ENGINES)}."
        )
    return f"{_kind_on_disk(Path(text))}:{text}"


def is_large(path: str) -> bool:
    """Whether a file, a folder or a collection `name:DIR` has so much text that it should not be indexed in memory."""
    place = Path(path)
    if not place.exists():
        place = Path(path.partition(":")[2] or path)
    if place.is_file():
        return place.stat().st_size > LARGE
    return place.is_dir() and folder_size(place) > LARGE


def folder_size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    sizes = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            try:
                sizes += os.stat(os.path.join(parent, file)).st_size
            except FileNotFoundError:  # an engine tidies up behind itself
                continue
    return sizes


def text_of(document: Document, fields: Sequence[str]) -> str:
    """The text of some fields; what is not Unicode, and the character 0, which some engines refuse, are replaced."""
    return plain(_raw_text(document, fields))


def _raw_text(document: Document, fields: Sequence[str]) -> str:
    parts = [getattr(document, f) if f in FIELDS else document.fields.get(f, "") for f in fields]
    return " ".join([part for part in parts if part])


def plain(text: str) -> str:
    """Text that every engine takes.

    >>> plain("caf\\udce9\\0")
    'caf� '
    """
    try:
        content = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character of UTF-16
        content = text.encode("utf-8", "replace")
    return content.decode("utf-8", "replace").replace("\0", " ")


def plain_id(doc: str, engine: str) -> str:
    """The id of a document for an engine that has ids in Unicode only."""
    if not doc or plain(doc) != doc:
        raise InputError(f"document {format_id(doc)}: {engine} cannot hold this id, which is empty or not Unicode.")
    return doc


def unique(documents: Iterable[Document], source: str = "") -> Iterator[Document]:
    """Documents as they come; an error if an id comes twice. Takes memory for the ids alone."""
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise InputError(f"document {format_id(document.id)} comes twice.", source or None)
        seen.add(document.id)
        yield document


class Again(Iterable[Document]):
    """Documents that can be gone through more than once, each time as they are made then."""

    def __init__(self, make: Callable[[], Iterable[Document]]) -> None:
        self.make = make

    def __iter__(self) -> Iterator[Document]:
        return iter(self.make())


def with_fields(documents: Iterable[Document], wanted: Sequence[str], source: str = "") -> Iterator[Document]:
    """Documents, and an error behind the last one if a field that is wanted was in none of them.

    >>> documents = [Document("a", "bells", fields={"author": "Ann"})]
    >>> list(with_fields(documents, ["text", "autor"], "docs.jsonl"))
    Traceback (most recent call last):
    cranfield.errors.InputError: docs.jsonl: no document has the field 'autor'; there are title, text, author.
    """
    missing, met = set(wanted) - set(FIELDS), dict.fromkeys(FIELDS)
    are_any = False
    for document in documents:
        are_any = True
        if missing:
            missing -= document.fields.keys()
            met |= dict.fromkeys(document.fields)
        yield document
    if missing and are_any:
        what = join_names([field for field in wanted if field in missing])
        raise InputError(f"no document has the field {what}; there are {', '.join(met)}.", source or None)


class Begun(Record):
    """How far an interrupted attempt got: how many documents it has indexed, and their digest."""

    done: int = 0
    digest: bytes = b""


def digested(digest: bytes, document: Document, fields: Sequence[str]) -> bytes:
    """The digest of documents with one more: of their ids and what is indexed of them, in order."""
    entry = f"{len(document.id)} {document.id}{_raw_text(document, fields)}"
    return hashlib.blake2b(digest + entry.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Passing:
    """Documents as they pass, once, and the digest of those that have."""

    def __init__(self, documents: Iterable[Document], fields: Sequence[str]) -> None:
        self.documents = documents
        self.fields = fields
        self.digest = b""

    def __iter__(self) -> Iterator[Document]:
        for document in self.documents:
            self.digest = digested(self.digest, document, self.fields)
            yield document


def after(documents: Iterable[Document], begun: Begun, fields: Sequence[str]) -> Iterator[Document] | None:
    """Documents without the first ones, that an interrupted attempt has indexed; None if these were others."""
    rest = iter(documents)
    digest, found = b"", 0
    for document in islice(rest, begun.done):
        digest, found = digested(digest, document, fields), found + 1
    return rest if (found, digest) == (begun.done, begun.digest) else None


def anew(documents: Iterable[Document], place: str) -> Iterable[Document]:
    """The same documents once more, from the first on, after what was begun with others was dropped."""
    if iter(documents) is documents:
        what = "was begun with other documents, or other texts, and has been removed. The same again begins anew"
        raise InputError(f"{what}.", place)
    return documents


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Items some at a time.

    >>> list(batches("abc", 2))
    [['a', 'b'], ['c']]
    """
    rest = iter(items)
    for first in rest:
        yield list(chain((first,), islice(rest, size - 1)))


def ask_each(
    name: str, queries: Mapping[str, str], ask: Callable[[str], Hits], answered: Answered | None = None
) -> Run:
    """A run out of one question after the other; who is to hear of answers as they come is told each.

    Queries that fail do not stop the others, unless so many fail in a row that the engine must be gone.
    """
    found: dict[str, Hits] = {}
    failed: dict[str, str] = {}
    in_a_row, unasked = 0, list[str]()
    for query, text in queries.items():
        if in_a_row >= MAX_FAILURES:
            unasked.append(query)
            continue
        try:
            found[query] = ask(plain(text))
            in_a_row = 0
        except InputError:
            raise
        except CranfieldError as error:
            failed[query] = str(error)
            in_a_row = MAX_FAILURES if getattr(error, "status", None) in HOPELESS else in_a_row + 1
            continue
        if answered is not None:
            answered(query, without_repetition(found[query]))
    run = as_run(name, found)
    if failed:
        message = _failure(name, failed, len(queries) - len(unasked), len(unasked))
        why = f"not asked after {pluralize(len(failed), 'failure')}"
        raise SearchFailed(message, run, {**failed, **dict.fromkeys(unasked, why)})
    return run


def without_repetition(hits: Hits) -> Hits:
    """What was found for a query, a document that comes again left out.

    >>> without_repetition([("a", 3.0), ("b", 2.0), ("a", 1.0)])
    [('a', 3.0), ('b', 2.0)]
    """
    kept: dict[str, float] = {}
    for doc, score in hits:
        kept.setdefault(doc, score)
    return list(kept.items())


def as_run(name: str, found: Mapping[str, Hits]) -> Run:
    """What an engine found for each query, in its order; a document that comes again for a query is left out."""
    rows: list[tuple[str, str, float, int]] = []
    repeated = disordered = 0
    for query, hits in found.items():
        kept = without_repetition(hits)
        repeated += len(hits) - len(kept)
        disordered += any(a < b for (_, a), (_, b) in pairwise(kept))
        rows += [(query, doc, score, rank) for rank, (doc, score) in enumerate(kept, 1)]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return Run.from_rows(
        columns[0],
        columns[1],
        np.array(columns[2], dtype=np.float64),
        ranks=np.array(columns[3], dtype=np.int64),
        name=name,
        tag=name,
        notes=_notes(repeated, disordered),
        empty_queries=[query for query, hits in found.items() if not hits],
    )


def joined(queries: Iterable[str], before: Mapping[str, Hits], found: Run) -> Run:
    """A run, with what was found before for other queries, in the order of the queries."""
    if not before:
        return found
    hits = {**before, **hits_of(found)}
    run = as_run(found.name, {query: hits[query] for query in queries if query in hits})
    return replace(run, notes=found.notes)


def hits_of(run: Run) -> dict[str, Hits]:
    """What a run has for each query."""
    rows = map(run.rows_of, range(len(run.queries)))
    parts = (list(zip(run.docs[r].tolist(), run.scores[r].tolist(), strict=True)) for r in rows)
    return dict(zip(run.queries, parts, strict=True))


def _notes(repeated: int, disordered: int) -> tuple[str, ...]:
    notes = []
    if repeated:
        notes.append(f"{pluralize(repeated, 'document')} came again for the same query; the first place counts")
    if disordered:
        what = f"{pluralize(disordered, 'query')} came in an order that is not that of the scores"
        notes.append(f"{what}; scores rank, unless you evaluate with --rank-by rank")
    return tuple(notes)


def _failure(name: str, failed: Mapping[str, str], asked: int, unasked: int) -> str:
    why = next(iter(failed.values())).rstrip(".")
    what = f"{len(failed):,} of {pluralize(asked, 'query')} failed: {join_names(failed)}"
    left = f"; {pluralize(unasked, 'query')} then not asked" if unasked else ""
    return f"{name}: {what}{left}. The first: {why}."


def _kind_on_disk(path: Path) -> str:
    if path.is_dir() and (path / "meta.json").exists():
        return "tantivy"
    try:
        with path.open("rb") as file:
            return "sqlite" if file.read(15) == b"SQLite format 3" else "embedded"
    except OSError:
        return "embedded"


def _example(kind: str) -> str:
    places = {"embedded": "DIR", "tantivy": "DIR", "sqlite": "FILE", "postgresql": "//host/database?table=docs"}
    web = {"http-get": "https://host/search?q={query}&k={depth}", "http-post": "https://host/search"}
    commands = dict.fromkeys(("command", "shell"), "./search.sh {query} {depth}")
    return f"{kind}:{({**places, **web, **commands}).get(kind, '//host/docs')}"
