"""Dense retrieval: documents and queries as vectors, compared exactly, some documents at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from cranfield.base import Parameter, Record, pluralize, replace
from cranfield.data import Floats, Ints
from cranfield.errors import CranfieldError, InputError
from cranfield.lab.diversity import Likeness, by_vectors
from cranfield.lab.index import Index
from cranfield.lab.models import DEPTH, Model, Postings, Query, TfIdf, best, kept
from cranfield.lab.vectors import Vectors, as_vectors, block_size, checked_blocks, places

SIMILARITIES = {"inner": "inner product", "cosine": "cosine"}
Ranked = tuple[Ints, Floats]


def nearest(docs: Any, queries: Floats, depth: int = DEPTH) -> list[Ranked]:
    """For each query the documents with the highest inner products; equal ones in the order of the collection.

    `docs` may be a file that is mapped into memory: it is read once, in blocks.
    """
    size = block_size(queries.shape[1], len(queries))
    starts = range(0, len(docs), size)
    blocks = (np.asarray(docs[start : start + size], dtype=np.float64) for start in starts)
    numbered = ((np.arange(start, start + len(block)), block) for start, block in zip(starts, blocks, strict=True))
    return nearest_in(numbered, queries, depth)


def nearest_in(blocks: Iterable[tuple[Ints, Floats]], queries: Floats, depth: int = DEPTH) -> list[Ranked]:
    """The same where documents come in blocks, with their numbers.

    A product of matrices says which documents may be among the best. These are multiplied again one by one, since in
    a product of matrices the last digits depend on where a row stands, and equal vectors would not come out equal.
    """
    found: list[Ranked] = [(np.empty(0, np.int64), np.empty(0))] * len(queries)
    bounds = np.full(len(queries), -np.inf)  # no document below is among the best
    lengths = np.linalg.norm(queries, axis=1)
    for numbers, block in blocks:
        products = queries @ block.T
        longest = float(np.sqrt(np.einsum("nd,nd->n", block, block).max()))
        slack = 1e-15 * block.shape[1] * lengths * longest  # the most that rounding can do
        for i in np.flatnonzero(products.max(axis=1) >= bounds - slack).tolist():
            at = np.flatnonzero(products[i] >= bounds[i] - slack[i])
            if len(at) > depth:
                at = at[products[i, at] >= _at(products[i, at], depth) - slack[i]]
            seen, values = found[i]
            exact = np.einsum("nd,d->n", block[at], queries[i])
            found[i] = best(np.concatenate((seen, numbers[at])), np.concatenate((values, exact)), depth)
            if len(found[i][0]) == depth:
                bounds[i] = found[i][1][-1]
    return found


def _at(values: Floats, depth: int) -> float:
    """The depth-th highest value."""
    return float(np.partition(values, len(values) - depth)[len(values) - depth])


class Space(Record, eq=False):
    """Vectors of the documents of a collection and, where there are some, of queries."""

    ids: tuple[str, ...]  # of all documents, in the order of the collection
    docs: Vectors
    numbers: Ints  # of the documents that the vectors belong to
    queries: Vectors | None = None

    @classmethod
    def of(cls, docs: Vectors, queries: Vectors | None = None, index: Index | None = None, where: str = "") -> Space:
        """Vectors put together; those of documents are for the documents of the index, if there is one."""
        if queries is not None and queries.dimension != docs.dimension:
            found, expected = pluralize(queries.dimension, "number"), pluralize(docs.dimension, "number")
            what = f"vectors of {found}, but those of documents ({docs.name}) have {expected}"
            raise InputError(f"{what}: both must come from the same model.", queries.name)
        if index is not None:
            ids = tuple(index.docs)
            return cls(ids, docs, places(docs, ids, "document", where), queries)
        if docs.ids is None:
            hint = "name an index, or put a file of ids beside it, one a line"
            raise InputError(f"of which documents are these vectors? There are no ids: {hint}.", docs.name)
        return cls(docs.ids, docs, np.arange(len(docs)), queries)

    def search(self, topics: Sequence[str], similarity: str = "inner", depth: int = DEPTH) -> list[Ranked]:
        """The documents nearest to each topic, by number."""
        if self.queries is None:
            raise CranfieldError(f"dense {NEEDS}.")
        asked = self._asked(self.queries, topics, similarity == "cosine")
        return nearest_in(self._blocks(len(topics), similarity == "cosine"), asked, depth)

    def each(self, topics: Sequence[str]) -> dict[str, Space]:
        """The same for one topic at a time."""
        if self.queries is None:
            raise CranfieldError(f"dense {NEEDS}.")
        asked = self._asked(self.queries, topics, False)
        return {
            topic: replace(self, queries=as_vectors(asked[i : i + 1], [topic], self.queries.name))
            for i, topic in enumerate(topics)
        }

    def likeness(self, docs: Ints) -> Likeness:
        """Cosines of the vectors of some documents, whose numbers are in ascending order."""
        row = np.empty(len(self.ids), dtype=np.int64)
        row[self.numbers] = np.arange(len(self.numbers))
        return by_vectors(docs, self.docs.rows(row[docs]))

    def _asked(self, queries: Vectors, topics: Sequence[str], directions: bool) -> Floats:
        """The vectors of topics, in their order."""
        number = places(queries, topics, "topic")
        asked = np.empty((len(topics), queries.dimension))
        for start, block in checked_blocks(queries, block_size(queries.dimension), directions):
            asked[number[start : start + len(block)]] = _of_length_1(block) if directions else block
        return asked

    def _blocks(self, beside: int, directions: bool) -> Iterator[tuple[Ints, Floats]]:
        size = block_size(self.docs.dimension, beside)
        for start, block in checked_blocks(self.docs, size, directions):
            yield self.numbers[start : start + len(block)], _of_length_1(block) if directions else block


NEEDS = "needs vectors of documents and of topics: --vectors and --query-vectors, or --embeddings"


class Dense(Model):
    """Vectors made elsewhere, compared exactly: by inner product, or by cosine."""

    similarity: str = "inner"

    name: ClassVar = "dense"
    about: ClassVar = "Exhaustive search for the nearest vectors."
    parameters: ClassVar = {"similarity": Parameter("how vectors are compared", choices=tuple(SIMILARITIES))}

    def search(self, index: Index, queries: Sequence[Query], depth: int = DEPTH) -> list[Ranked]:
        raise CranfieldError(f"dense {NEEDS}.")


def _of_length_1(block: Floats) -> Floats:
    largest = np.abs(block).max(axis=1, keepdims=True)  # first, so that no square is too small for a number
    scaled = block / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    found: Floats = scaled / np.where(lengths > 0, lengths, 1)
    return found


class LSI(Model):
    """Latent semantic indexing: tf · idf vectors of documents, reduced by a singular value decomposition."""

    k: int = 100

    name: ClassVar = "lsi"
    about: ClassVar = "Deerwester et al., Indexing by latent semantic analysis, 1990."
    parameters: ClassVar = {"k": Parameter("dimensions", low=1, whole=True)}

    def search(self, index: Index, queries: Sequence[Query], depth: int = DEPTH) -> list[Ranked]:
        docs, into = kept(index, f"lsi {self.k}", lambda: self._reduced(index))
        asked = np.zeros((len(queries), docs.shape[1]))
        for i, query in enumerate(queries):
            for term, weight in sorted(TfIdf().of_query(index, query).items()):
                asked[i] += weight * into[term]
        norms = np.linalg.norm(asked, axis=1, keepdims=True)
        found = nearest(docs, asked / np.where(norms > 0, norms, 1), depth)
        # a query without a word of the collection is no point in the space
        return [(d, s) if norm > 0 else (d[:0], s[:0]) for (d, s), norm in zip(found, norms[:, 0], strict=True)]

    def _reduced(self, index: Index) -> tuple[Floats, Floats]:
        """Documents as points of length 1, and where each term leads to."""
        from scipy.sparse import csr_matrix

        n, m = len(index.docs), len(index.terms)
        rank = min(self.k, n - 1, m - 1)
        if rank < 1:
            raise CranfieldError(f"lsi needs more than {n} documents with {m} terms.")
        terms = np.arange(m)
        postings = Postings.of(index, terms)
        weighed = csr_matrix((TfIdf().weights(postings), postings.docs, postings.starts), shape=(m, n))
        into = _singular_vectors(weighed, rank)
        docs = weighed.T @ into
        norms = np.linalg.norm(docs, axis=1, keepdims=True)
        return docs / np.where(norms > 0, norms, 1), into


FEW = 3000  # documents for which products of all pairs are quickly made


def _singular_vectors(matrix: Any, rank: int) -> Floats:
    """The left singular vectors of a sparse matrix with the highest values, best first."""
    if matrix.shape[1] <= FEW:
        from scipy.linalg import eigh

        n = matrix.shape[1]
        values, right = eigh((matrix.T @ matrix).toarray(), subset_by_index=[n - rank, n - 1])
        lengths = np.sqrt(np.maximum(values[::-1], 0))
        found: Floats = (matrix @ right[:, ::-1]) / np.where(lengths > 1e-10, lengths, np.inf)
        return found
    from scipy.sparse.linalg import svds

    # the start is fixed, or else each run would differ in the last digits
    least = min(matrix.shape)
    left, singular, _ = svds(matrix, k=rank, v0=np.ones(least) / np.sqrt(least))
    ordered: Floats = left[:, np.argsort(-singular)]
    return ordered
