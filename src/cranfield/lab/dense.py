"""Dense retrieval: documents and queries as vectors, compared exactly, some documents at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from cranfield.collection import Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.lab.index import Index
from cranfield.lab.models import DEPTH, Model, Postings, Query, TfIdf, best, kept

BLOCK = 1 << 24  # scores that are held at a time


def nearest(docs: Any, queries: Floats, depth: int = DEPTH) -> list[tuple[Ints, Floats]]:
    """For each query the documents with the highest inner products; equal ones in the order of the collection.

    `docs` may be a file that is mapped into memory: it is read once, in blocks.
    """
    found: list[tuple[Ints, Floats]] = [(np.empty(0, np.int64), np.empty(0))] * len(queries)
    size = max(1, BLOCK // max(1, len(queries)))
    for start in range(0, len(docs), size):
        block = np.asarray(docs[start : start + size], dtype=np.float64)
        scores = queries @ block.T
        numbers = np.arange(start, start + len(block))
        for i, (seen, values) in enumerate(found):
            found[i] = best(np.concatenate((seen, numbers)), np.concatenate((values, scores[i])), depth)
    return found


class LSI(Model):
    """Latent semantic indexing: tf · idf vectors of documents, reduced by a singular value decomposition."""

    k: int = 100  # dimensions

    name: ClassVar = "lsi"
    about: ClassVar = "Deerwester et al., Indexing by latent semantic analysis, 1990."

    def search(self, index: Index, queries: Sequence[Query], depth: int = DEPTH) -> list[tuple[Ints, Floats]]:
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
