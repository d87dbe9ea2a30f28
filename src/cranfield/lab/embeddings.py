"""Vectors from an endpoint that speaks as OpenAI's does (POST /v1/embeddings), kept so that none is asked for twice.

The vectors of documents go into `docs.npy`, with their ids in `docs.ids.txt` and what they were made with in
`docs.json`, and digests of the texts in `docs.texts`, by which other texts are told. While they are being got, those
there are stand in `docs.npy.part`, so that an interruption at any moment loses one answer at most.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import IO, Any
from urllib.parse import urlsplit

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Document
from cranfield.errors import CranfieldError, InputError
from cranfield.io import open_output
from cranfield.lab.engines import FIELDS, Passing, batches, plain, text_of
from cranfield.lab.http import Client, RetryPolicy, ServerError
from cranfield.lab.index import Index
from cranfield.lab.secrets import parse_header, read_key, strip_query
from cranfield.lab.vectors import Vectors, as_vectors, ids_file, read_vectors

BATCH = 64
DIGEST = 16  # bytes
Text = tuple[str, str]  # an id and what it stands for


class Endpoint(Record):
    """Where vectors come from: a server and a model."""

    url: str  # https://host/v1, or the whole address of the embeddings
    model: str
    key_from: str | None = None  # the name of an environment variable with the key
    headers: tuple[str, ...] = ()  # 'Name: value', with $NAME for what is in the environment
    batch: int = BATCH  # texts that are sent at once
    retry: RetryPolicy = RetryPolicy()

    def client(self) -> Client:
        """A client with the key and the headers."""
        key = {} if self.key_from is None else {"Authorization": f"Bearer {read_key(self.key_from)}"}
        return Client(self.url, {**key, **dict(map(parse_header, self.headers))}, self.retry)

    @property
    def target(self) -> str:
        """The path of the embeddings at the server.

        >>> Endpoint("http://localhost:8080", "m").target, Endpoint("https://host/api/v1/", "m").target
        ('/v1/embeddings', '/api/v1/embeddings')
        """
        place = urlsplit(self.url)
        path = place.path.rstrip("/") or "/v1"
        path = path if path.endswith("/embeddings") else f"{path}/embeddings"
        return f"{path}?{place.query}" if place.query else path

    @property
    def name(self) -> str:
        """The URL without secrets."""
        return strip_query(self.url)


def embed(texts: Sequence[str], endpoint: Endpoint, client: Client, dimension: int | None = None) -> Any:
    """The vector of each text, in one question."""
    sent = {"model": endpoint.model, "input": [plain(text) or " " for text in texts]}  # an empty text is refused
    answer = client.request("POST", endpoint.target, sent)
    try:
        return _vectors(answer, len(texts), dimension)
    except ValueError as error:
        raise ServerError(f"{client.name}: {error}.") from None


def embed_queries(queries: Mapping[str, str], endpoint: Endpoint, prefix: str = "") -> Vectors:
    """The vectors of queries, asked for anew each time."""
    parts: list[Any] = []
    with closing(endpoint.client()) as client:
        for batch in batches(queries.values(), endpoint.batch):
            texts = [prefix + text for text in batch]
            parts.append(embed(texts, endpoint, client, parts[0].shape[1] if parts else None))
    return as_vectors(np.concatenate(parts) if parts else np.empty((0, 0)), queries, endpoint.name)


def document_texts(documents: Iterable[Document], fields: Sequence[str] = FIELDS, prefix: str = "") -> Iterator[Text]:
    """The text of each document as it is sent."""
    return ((document.id, prefix + text_of(document, fields)) for document in documents)


def embed_documents(
    texts: Iterable[Text],
    path: str,
    endpoint: Endpoint,
    about: Mapping[str, Any] | None = None,
    learned: Callable[[], Mapping[str, Any]] = dict,
) -> Vectors:
    """The vectors of documents, kept in a `.npy` file; a text whose vector is there already is not asked for again.

    Be it there from an interrupted attempt or from one for other documents: what counts is the text. What more there is
    to say `about` the vectors is kept with them, and must be the same for an attempt that goes on; so is what is
    `learned` on the way.
    """
    if not path.endswith(".npy"):
        raise InputError("vectors are kept in a file whose name ends with .npy.", path)
    about = {"model": endpoint.model, **(about or {})}
    try:
        with _Kept(path, about) as kept:
            ids, digests = _ask(texts, kept, endpoint)
            _finish(kept, ids, digests, path, {**about, **learned(), "endpoint": endpoint.name})
        os.unlink(kept.path)
    except OSError as error:
        kept_so_far = _GO_ON if os.path.exists(f"{path}.part") else ""
        raise InputError(f"cannot be written: {error.strerror or error}.{kept_so_far}", path) from None
    return read_vectors(path)


def vectors_of_index(
    index: Index, documents: Callable[[], Iterable[Document]], path: str, endpoint: Endpoint, prefix: str = ""
) -> Vectors:
    """The vectors of the documents of an index: those that are kept in a file, if they are of the same texts.

    Otherwise texts that are new or have changed are asked for. Of vectors from elsewhere, of which nobody has noted the
    texts, it is taken for granted.
    """
    fields = tuple(index.about["fields"])
    about = {"model": endpoint.model, "prefix": prefix, "fields": list(fields)}
    if os.path.exists(path):
        found = made_with(path)
        for key, value in about.items():
            if key in found and found[key] != value:
                what = f"these vectors were made otherwise ({key} {_shown(found[key])}, now {_shown(value)})"
                raise InputError(f"{what}. Choose another file with --vectors, or remove it.", path)
        known = found.get("texts")
        if known in (None, index.about.get("texts")) or known == _digest_of(documents(), fields):
            return read_vectors(path)
    passing = Passing(documents(), fields)
    texts = document_texts(passing, fields, prefix)
    return embed_documents(texts, path, endpoint, about, lambda: {"texts": passing.digest.hex()})


def made_with(path: str) -> dict[str, Any]:
    """What is known of how vectors were made: the model, and what was put before the texts."""
    try:
        with open(_about_file(path), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


_GO_ON = " What was got is kept; the same command goes on from there."


def _ask(texts: Iterable[Text], kept: _Kept, endpoint: Endpoint) -> tuple[list[str], list[bytes]]:
    """Ask for what is not there yet; gives the ids and the digests of all texts."""
    ids, digests = list[str](), list[bytes]()
    waiting: dict[bytes, str] = {}
    with closing(endpoint.client()) as client:
        for one, text in texts:
            digest = _digest(text)
            ids.append(one)
            digests.append(digest)
            if not kept.has(digest):
                waiting[digest] = text
            if len(waiting) == endpoint.batch:
                _answer(waiting, kept, endpoint, client)
                waiting = {}
        if waiting:
            _answer(waiting, kept, endpoint, client)
    return ids, digests


def _answer(waiting: Mapping[bytes, str], kept: _Kept, endpoint: Endpoint, client: Client) -> None:
    try:
        vectors = embed(list(waiting.values()), endpoint, client, kept.dimension)
    except CranfieldError as error:
        there = pluralize(len(kept.rows), "vector")
        what = f"{there} got so far kept in {kept.path}; the same command goes on from there."
        raise ServerError(f"{error} {what if kept.rows else ''}".rstrip()) from None
    kept.add(list(waiting), vectors)


class _Kept:
    """Vectors as they come in: a line that says what they are made with, then for each the digest of its text and it.

    Vectors of a file that is to be made anew are taken over when their texts come again.
    """

    def __init__(self, path: str, about: Mapping[str, Any]) -> None:
        self.path = f"{path}.part"
        self.about = dict(about)
        self.rows: dict[bytes, int] = {}  # by the digest of the text
        self.dimension: int | None = None
        self._start = 0  # of the first vector
        self._earlier, self._array = _earlier(path, about)

    def __enter__(self) -> _Kept:
        self._file: IO[bytes] = open(self.path, "a+b")
        try:
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what could not be written was told when it was
            self._file.close()

    def has(self, digest: bytes) -> bool:
        """Whether the vector of a text is here, or can be had from the earlier file."""
        if digest not in self.rows and digest in self._earlier:
            row = self._array[self._earlier[digest]][None]
            if self.dimension in (None, row.shape[1]):
                self.add([digest], row)
        return digest in self.rows

    def add(self, digests: Sequence[bytes], vectors: Any) -> None:
        if self.dimension is None:
            self.dimension = int(vectors.shape[1])
            self._write(json.dumps({"vectors": self.about, "dimension": self.dimension}).encode() + b"\n")
            self._start = self._file.tell()
        rows = vectors.astype("<f4")
        self._write(b"".join(digest + row.tobytes() for digest, row in zip(digests, rows, strict=True)))
        for digest in digests:
            self.rows[digest] = len(self.rows)

    def vector(self, digest: bytes) -> bytes:
        """The vector of a text, as it is written."""
        self._file.seek(self._start + self.rows[digest] * self._size + DIGEST)
        return self._file.read(self._size - DIGEST)

    @property
    def _size(self) -> int:
        return DIGEST + 4 * (self.dimension or 0)

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._file.flush()

    def _read(self) -> None:
        """What an interrupted attempt has got; an error if that was something else."""
        self._file.seek(0)
        line = self._file.readline()
        if not line.endswith(b"\n"):
            self._file.truncate(0)
            return
        try:
            head = json.loads(line)
            about, self.dimension = dict(head["vectors"]), int(head["dimension"])
        except (ValueError, KeyError, TypeError):
            raise InputError("this is no file of vectors that were begun. Remove it.", self.path) from None
        if about != self.about:
            differ = ", ".join(f"{key} {about.get(key)!r}" for key in self.about if about.get(key) != self.about[key])
            raise InputError(f"was begun with {differ}. Remove it, or go on with the same.", self.path)
        self._start = self._file.tell()
        while len(entry := self._file.read(self._size)) == self._size:
            self.rows[entry[:DIGEST]] = len(self.rows)
        self._file.truncate(self._start + len(self.rows) * self._size)  # without one that was cut short


def _earlier(path: str, about: Mapping[str, Any]) -> tuple[dict[bytes, int], Any]:
    """The rows of a whole file by the digests of their texts, and the file; none if it was made otherwise."""
    found = made_with(path)
    if any(found.get(key) != value for key, value in about.items()):
        return {}, None
    try:
        with open(_texts_file(path), "rb") as file:
            digests = file.read()
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        return {}, None
    if array.ndim != 2 or len(digests) != DIGEST * len(array):
        return {}, None
    return {digests[DIGEST * i : DIGEST * (i + 1)]: i for i in range(len(array))}, array


def _finish(kept: _Kept, ids: list[str], digests: list[bytes], path: str, about: Mapping[str, Any]) -> None:
    """Put vectors, ids and what is known of them in their places, the vectors last."""
    if not ids:
        raise InputError("there is no document to get a vector for.", path)
    with suppress(FileNotFoundError):
        os.unlink(path)  # so that at no moment old vectors stand beside new ids
    with open_output(ids_file(path)) as out:
        out.write("".join(f"{one}\n" for one in ids).encode("utf-8", "surrogateescape"))
    with open_output(_texts_file(path)) as out:
        out.write(b"".join(digests))
    with open_output(_about_file(path)) as out:
        content = {**about, "documents": len(ids), "dimension": kept.dimension}
        out.write(json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")
    with open_output(path) as out:
        shape = (len(ids), kept.dimension)
        np.lib.format.write_array_header_1_0(out, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for digest in digests:
            out.write(kept.vector(digest))


def _about_file(path: str) -> str:
    return f"{os.path.splitext(path)[0]}.json"


def _texts_file(path: str) -> str:
    return f"{os.path.splitext(path)[0]}.texts"


def _digest(text: str) -> bytes:
    return hashlib.blake2b(plain(text).encode(), digest_size=DIGEST).digest()


def _digest_of(documents: Iterable[Document], fields: Sequence[str]) -> str:
    passing = Passing(documents, fields)
    for _ in passing:
        pass
    return passing.digest.hex()


def _vectors(answer: Any, count: int, dimension: int | None) -> Any:
    """The vectors of an answer, in the order of what was asked; ValueError if it is no such answer."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        raise ValueError(f"expected an object with a list of data, found {_shown(answer)}")
    if len(data) != count:
        raise ValueError(f"{pluralize(len(data), 'vector')} for {pluralize(count, 'text')}")
    places = [one.get("index", i) for i, one in enumerate(data)]
    if not all(type(place) is int for place in places) or sorted(places) != list(range(count)):
        raise ValueError(f"expected vectors with the indexes 0 to {count - 1}, found {_shown(places)}")
    rows: list[Any] = [None] * count
    for place, one in zip(places, data, strict=True):
        rows[place] = _numbers(one.get("embedding"), place)
    expected = len(rows[0]) if dimension is None else dimension
    for place, row in enumerate(rows):
        if len(row) != expected:
            raise ValueError(f"vector {place} has {pluralize(len(row), 'number')}, expected {expected:,}")
    return np.array(rows, dtype=np.float32)


def _numbers(row: Any, place: int) -> list[float]:
    if not isinstance(row, list) or not row:
        raise ValueError(f"expected a list of numbers as vector {place}, found {_shown(row)}")
    # in 32 bits, as vectors are kept
    if not all(type(value) in (int, float) and abs(value) < 3e38 for value in row):
        raise ValueError(f"vector {place} has something else than finite numbers in it")
    return row


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:80]}…"
