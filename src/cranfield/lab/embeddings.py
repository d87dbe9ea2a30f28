"""Vectors from an endpoint that speaks as OpenAI's does (POST /v1/embeddings), kept so that none is asked for twice.

The vectors of documents go into `docs.npy`, with their ids in `docs.ids.txt` and what they were made with in
`docs.json`. While they are being got, those there are stand in `docs.npy.part`, a line for each answer, so that an
interruption at any moment loses one answer at most.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from typing import IO, Any
from urllib.parse import urlsplit

import numpy as np

from cranfield.collection import Document
from cranfield.errors import CranfieldError, InputError
from cranfield.lab.engines import FIELDS, batches, plain, text_of
from cranfield.lab.http import Client, Patience, ServerError, filled_header, from_environment, masked_path
from cranfield.lab.index import Index
from cranfield.lab.vectors import Vectors, as_vectors, ids_file, read_vectors
from cranfield.opening import writing
from cranfield.records import record
from cranfield.wording import counted

BATCH = 64
Text = tuple[str, str]  # an id and what it stands for


@record
class Endpoint:
    """Where vectors come from: a server and a model."""

    url: str  # https://host/v1, or the whole address of the embeddings
    model: str
    key_from: str | None = None  # the name of an environment variable with the key
    headers: tuple[str, ...] = ()  # 'Name: value', with $NAME for what is in the environment
    batch: int = BATCH  # texts that are sent at once
    patience: Patience = Patience()

    def client(self) -> Client:
        """A connection, with what the server wants to know of the user."""
        key = {} if self.key_from is None else {"Authorization": f"Bearer {_on_one_line(self.key_from)}"}
        return Client(self.url, {**key, **dict(map(filled_header, self.headers))}, self.patience)

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
        """The address without what is secret."""
        return masked_path(self.url)


def _on_one_line(name: str) -> str:
    key = from_environment(name)
    if not key.isprintable() or not key.isascii():
        raise InputError(f"{name} in the environment is no key: it has characters that no header can have.")
    return key


def embed(texts: Sequence[str], endpoint: Endpoint, client: Client, dimension: int | None = None) -> Any:
    """The vector of each text, in one question."""
    sent = {"model": endpoint.model, "input": [plain(text) or " " for text in texts]}  # an empty text is refused
    answer = client.json("POST", endpoint.target, sent)
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
    texts: Iterable[Text], path: str, endpoint: Endpoint, about: Mapping[str, Any] | None = None
) -> Vectors:
    """The vectors of documents, kept in a `.npy` file; what an interrupted attempt has got is not asked for again.

    What more there is to say `about` them is kept with them, and must be the same for an attempt that goes on.
    """
    if not path.endswith(".npy"):
        raise InputError("vectors are kept in a file whose name ends with .npy.", path)
    about = {"model": endpoint.model, **(about or {})}
    rest = iter(texts)
    try:
        with _Kept(path, about) as kept:
            kept.check(rest)
            _ask(rest, kept, endpoint)
            _finish(kept, path, {**about, "endpoint": endpoint.name})
        os.unlink(kept.path)
    except OSError as error:
        kept_so_far = _GO_ON if os.path.exists(f"{path}.part") else ""
        raise InputError(f"cannot be written: {error.strerror or error}.{kept_so_far}", path) from None
    return read_vectors(path)


def vectors_of_index(
    index: Index, documents: Callable[[], Iterable[Document]], path: str, endpoint: Endpoint, prefix: str = ""
) -> Vectors:
    """The vectors of the documents of an index: those that are kept in a file, or new ones that are kept there."""
    fields = tuple(index.about["fields"])
    about = {
        "model": endpoint.model,
        "prefix": prefix,
        "fields": list(fields),
        "characters": index.about.get("characters"),  # by which other texts are noticed, more or less
    }
    if not os.path.exists(path):
        return embed_documents(document_texts(documents(), fields, prefix), path, endpoint, about)
    found = made_with(path)
    for key, value in about.items():
        if key in found and found[key] != value:
            what = f"these vectors were made otherwise ({key} {_shown(found[key])}, now {_shown(value)})"
            raise InputError(f"{what}. Choose another file with --vectors, or remove it.", path)
    return read_vectors(path)


def made_with(path: str) -> dict[str, Any]:
    """What is known of how vectors were made: the model, and what was put before the texts."""
    try:
        with open(_about_file(path), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


_GO_ON = " What was got is kept; the same command goes on from there."


def _ask(texts: Iterator[Text], kept: _Kept, endpoint: Endpoint) -> None:
    """Ask for what is not there yet."""
    with closing(endpoint.client()) as client:
        for batch in batches(texts, endpoint.batch):
            try:
                vectors = embed([text for _, text in batch], endpoint, client, kept.dimension)
            except CranfieldError as error:
                there = counted(kept.count, "vector")
                what = f"{there} got so far kept in {kept.path}; the same command goes on from there."
                raise ServerError(f"{error} {what if kept.count else ''}".rstrip()) from None
            kept.add(batch, vectors)


_ANSWER = {"ids", "texts", "dimension", "vectors"}


class _Kept:
    """Vectors as they come in: a line that says what they are made with, and one for each answer."""

    def __init__(self, path: str, about: Mapping[str, Any]) -> None:
        self.path = f"{path}.part"
        self.about = dict(about)
        self.count = 0
        self.dimension: int | None = None

    def __enter__(self) -> _Kept:
        self._file: IO[bytes] = open(self.path, "a+b")
        self._file.seek(0)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what could not be written was told when it was
            self._file.close()

    def check(self, texts: Iterator[Text]) -> None:
        """Go past the texts whose vectors are there; an error if they are others than those it was begun with."""
        about = next(self._lines(), None)
        if about is None:
            self._file.truncate(0)
            self._write(self.about)
            return
        if about != self.about:
            differ = ", ".join(f"{key} {about.get(key)!r}" for key in self.about if about.get(key) != self.about[key])
            raise InputError(f"was begun with {differ}. Remove it, or go on with the same.", self.path)
        end = self._file.tell()
        for line in self._lines():
            batch = list(islice(texts, len(line["ids"])))
            if [one for one, _ in batch] != line["ids"] or _digest(batch) != line["texts"]:
                first = f"from {line['ids'][0]!r} on" if line["ids"] else "somewhere"
                raise InputError(f"was begun with other documents, {first}. Remove it first.", self.path)
            self.count, self.dimension, end = self.count + len(batch), line["dimension"], self._file.tell()
        self._file.truncate(end)  # a line that was cut short
        self._file.seek(end)

    def add(self, batch: Sequence[Text], vectors: Any) -> None:
        content = base64.b64encode(vectors.astype("<f4").tobytes()).decode()
        ids, size = [one for one, _ in batch], int(vectors.shape[1])
        self._write({"ids": ids, "texts": _digest(batch), "dimension": size, "vectors": content})
        self.count, self.dimension = self.count + len(batch), size

    def batches(self) -> Iterator[tuple[list[str], bytes]]:
        """Ids and vectors in the order they came."""
        self._file.seek(0)
        for line in islice(self._lines(), 1, None):
            yield line["ids"], base64.b64decode(line["vectors"])

    def _write(self, content: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(content).encode() + b"\n")
        self._file.flush()

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Whole lines only."""
        while (line := self._file.readline()).endswith(b"\n"):
            try:
                content = json.loads(line)
            except ValueError:
                content = None
            if not isinstance(content, dict) or not ("model" in content or _ANSWER <= content.keys()):
                raise InputError("this is no file of vectors that were begun. Remove it.", self.path)
            yield content


def _finish(kept: _Kept, path: str, about: Mapping[str, Any]) -> None:
    """Put vectors, ids and what is known of them in their places, the vectors last."""
    if not kept.count:
        raise InputError("there is no document to get a vector for.", path)
    with writing(ids_file(path)) as out:
        for ids, _ in kept.batches():
            out.write("".join(f"{one}\n" for one in ids).encode("utf-8", "surrogateescape"))
    with writing(_about_file(path)) as out:
        content = {**about, "documents": kept.count, "dimension": kept.dimension}
        out.write(json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")
    with writing(path) as out:
        shape = (kept.count, kept.dimension)
        np.lib.format.write_array_header_1_0(out, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for _, rows in kept.batches():
            out.write(rows)


def _about_file(path: str) -> str:
    return f"{os.path.splitext(path)[0]}.json"


def _digest(batch: Sequence[Text]) -> str:
    return hashlib.sha256("\0".join(text for _, text in batch).encode("utf-8", "surrogateescape")).hexdigest()


def _vectors(answer: Any, count: int, dimension: int | None) -> Any:
    """The vectors of an answer, in the order of what was asked; ValueError if it is no such answer."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        raise ValueError(f"expected an object with a list of data, found {_shown(answer)}")
    if len(data) != count:
        raise ValueError(f"{counted(len(data), 'vector')} for {counted(count, 'text')}")
    places = [one.get("index", i) for i, one in enumerate(data)]
    if not all(type(place) is int for place in places) or sorted(places) != list(range(count)):
        raise ValueError(f"expected vectors with the indexes 0 to {count - 1}, found {_shown(places)}")
    rows: list[Any] = [None] * count
    for place, one in zip(places, data, strict=True):
        rows[place] = _numbers(one.get("embedding"), place)
    expected = len(rows[0]) if dimension is None else dimension
    for place, row in enumerate(rows):
        if len(row) != expected:
            raise ValueError(f"vector {place} has {counted(len(row), 'number')}, expected {expected:,}")
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
