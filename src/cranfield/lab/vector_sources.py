"""Where the vectors of a search come from: files, or an endpoint whose answers are kept beside the index."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from cranfield.base import Record, format_id, replace
from cranfield.data import Document, Run
from cranfield.errors import CranfieldError, InputError
from cranfield.io import PathLike
from cranfield.lab.collections import is_named, open_collection
from cranfield.lab.dense import NEEDS, Space
from cranfield.lab.embeddings import Endpoint, embed_queries, made_with, vectors_of_index
from cranfield.lab.index import Index
from cranfield.lab.models import DEPTH
from cranfield.lab.systems import system_named
from cranfield.lab.vectors import Vectors, as_vectors, read_vectors

__all__ = ["Sources", "as_vectors", "kept_beside", "read_vectors", "search_vectors"]


class Sources(Record):
    """Files of vectors, and an endpoint for those that are in none."""

    docs: str | None = None  # with an endpoint, where the vectors of documents are kept
    queries: str | None = None
    endpoint: Endpoint | None = None  # its model may be empty: then it is that of the documents' vectors
    collection: str | None = None  # the documents, if they are not where the index was made from
    doc_prefix: str = ""
    query_prefix: str = ""

    def space(
        self,
        queries: Mapping[str, str] | None,
        index: Index | None = None,
        place: str = "",
        passing: Callable[[Iterable[Document]], Iterable[Document]] = iter,
    ) -> Space:
        """The vectors of the documents of an index, which is at a place, and of queries, if there are any."""
        endpoint = self._endpoint()
        file = kept_beside(place, endpoint.model) if self.docs is None and endpoint is not None else self.docs
        if file is None:
            raise CranfieldError(f"dense {NEEDS}.")
        if endpoint is not None and index is not None:
            docs = vectors_of_index(index, lambda: passing(self._documents(index)), file, endpoint, self.doc_prefix)
        else:
            docs = read_vectors(file)
        return Space.of(docs, None if queries is None else self._queries(queries, endpoint), index, place)

    def _endpoint(self) -> Endpoint | None:
        """The endpoint, with a model."""
        if self.endpoint is None or self.endpoint.model:
            return self.endpoint
        model = made_with(self.docs).get("model") if self.docs else None
        if not isinstance(model, str):
            raise InputError("which model? Name it with --model, as the endpoint calls it.")
        return replace(self.endpoint, model=model)

    def _queries(self, queries: Mapping[str, str], endpoint: Endpoint | None) -> Vectors | None:
        if self.queries is not None:
            return read_vectors(self.queries)
        return None if endpoint is None else embed_queries(queries, endpoint, self.query_prefix)

    def _documents(self, index: Index) -> Iterator[Document]:
        """The documents of an index, out of the files that it was made from."""
        source = self.collection or str(index.about.get("source", ""))
        if not source or (self.collection is None and not is_named(source) and not os.path.exists(source)):
            raise InputError(
                f"the documents are not where the index was made from ({format_id(source)}). Name them with "
                "--collection."
            )
        for document in open_collection(source).documents():
            if document.id not in index.doc_numbers:
                raise InputError(
                    f"document {format_id(document.id)} is not in the index: was it made from others?", source
                )
            yield document


def search_vectors(
    docs: Vectors | PathLike, queries: Vectors | PathLike, similarity: str = "inner", depth: int = DEPTH
) -> Run:
    """The documents nearest to each query, as a run; vectors, or files of them, with ids.

    >>> docs = as_vectors([[1.0, 0.0], [3.0, 4.0]], ids=["a", "b"])
    >>> search_vectors(docs, as_vectors([[1.0, 0.0]], ids=["q1"]), "cosine").to_dict()
    {'q1': {'a': 1.0, 'b': 0.6}}
    """
    space = Space.of(_read(docs), _read(queries))
    if space.queries is None or space.queries.ids is None:
        raise InputError("of which queries are these vectors? There are no ids.", _read(queries).name)
    system = system_named(f"dense:similarity={similarity}")
    return system.search(None, dict.fromkeys(space.queries.ids, ""), depth, space=space)


def _read(vectors: Vectors | PathLike) -> Vectors:
    return vectors if isinstance(vectors, Vectors) else read_vectors(vectors)


def kept_beside(index: str, model: str) -> str:
    """Where the vectors of an index are kept.

    >>> kept_beside("bicycles.index", "BAAI/bge-small")
    'bicycles.index.BAAI-bge-small.npy'
    """
    return f"{index.rstrip('/')}.{re.sub(r'[^A-Za-z0-9_.-]+', '-', model)}.npy"
