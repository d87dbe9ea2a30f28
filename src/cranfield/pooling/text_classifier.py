"""Documents as vectors of their words, and a classifier that learns which are relevant."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Bools, Document, Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.text import Analysis

MOST_STEPS = 1000
EXACT = 1e-9  # slope at which weights are taken for the best
PLAIN = Analysis(stemmer="none")  # a stemmer would be an extra


class Texts(Record, eq=False):
    """Documents as rows of (1 + ln tf)·ln(N/df), each of length 1."""

    docs: tuple[str, ...]
    numbers: Mapping[str, int]  # of the documents
    terms: Mapping[str, int]
    weights: Floats  # ln(N/df) of each term
    vectors: Any  # a sparse matrix, documents × terms
    analysis: Analysis

    @classmethod
    def of(cls, documents: Iterable[Document], analysis: Analysis = PLAIN) -> Texts:
        """The vectors of documents, by their titles and texts."""
        docs: dict[str, int] = {}
        terms: dict[str, int] = {}
        starts, at, counts = array("q", [0]), array("q"), array("d")
        for document in documents:
            if document.id in docs:
                raise CranfieldError(f"there are two documents {document.id!r}.")
            docs[document.id] = len(docs)
            for term, count in Counter(analysis.terms(f"{document.title}\n{document.text}")).items():
                at.append(terms.setdefault(term, len(terms)))
                counts.append(1 + math.log(count))
            starts.append(len(at))
        if not docs:
            raise CranfieldError("there is no document to learn from.")
        columns = np.frombuffer(at, dtype=np.int64) if len(at) else np.empty(0, dtype=np.int64)
        frequency = np.bincount(columns, minlength=len(terms))
        weights = np.log(len(docs) / np.maximum(frequency, 1))
        values = np.frombuffer(counts) * weights[columns] if len(at) else np.empty(0)
        vectors = _unit_rows(values, columns, np.frombuffer(starts, dtype=np.int64), len(terms))
        return cls(tuple(docs), docs, terms, weights, vectors, analysis)

    def vector(self, text: str) -> Any:
        """A text as a row; of words that no document has there is nothing."""
        counts = Counter(term for term in self.analysis.terms(text) if term in self.terms)
        columns = np.array([self.terms[term] for term in counts], dtype=np.int64)
        values = np.array([1 + math.log(count) for count in counts.values()]) * self.weights[columns]
        return _unit_rows(values, columns, np.array([0, len(columns)]), len(self.terms))


def _unit_rows(values: Floats, columns: Ints, starts: Ints, terms: int) -> Any:
    from scipy.sparse import csr_matrix

    sizes = np.diff(starts)
    row = np.repeat(np.arange(len(sizes)), sizes)
    length = np.sqrt(np.bincount(row, weights=values**2, minlength=len(sizes)))
    unit = np.divide(values, length[row], out=np.zeros(len(values)), where=length[row] > 0)
    return csr_matrix((unit, columns, starts), shape=(len(sizes), terms))


def learned_scores(vectors: Any, rows: Any, is_relevant: Bools, penalty: float) -> Floats:
    """How relevant each vector looks, by logistic regression on the rows given: log odds.

    Relevant and other rows count the same in all. The weights w, one of them for a constant, minimise the mean loss
    plus penalty·|w|²/2, by Nesterov's descent: with the constant no row is longer than √2, so that the curvature is
    between the penalty and a half more. (No optimiser of SciPy: for problems this small the threads of its linear
    algebra cost far more than they do.)
    """
    used = np.unique(rows.indices)  # what no row has is worth nothing
    some = rows[:, used]
    across = some.T.tocsr()
    sign = np.where(is_relevant, 1.0, -1.0)
    share = np.where(is_relevant, 0.5 / max(1, is_relevant.sum()), 0.5 / max(1, (~is_relevant).sum()))
    step, root = 1 / (0.5 + penalty), math.sqrt(1 + 0.5 / penalty)
    momentum = (root - 1) / (root + 1)
    weights = ahead = np.zeros(len(used) + 1)
    for _ in range(MOST_STEPS):
        pull = sign * share * np.exp(-np.logaddexp(0.0, sign * (some @ ahead[1:] + ahead[0])))
        slope = penalty * ahead - np.concatenate(([pull.sum()], across @ pull))
        weights, before = ahead - step * slope, weights
        ahead = weights + momentum * (weights - before)
        if np.abs(slope).max() < EXACT:
            break
    every = np.zeros(vectors.shape[1])
    every[used] = weights[1:]
    scores: Floats = vectors @ every + weights[0]
    return scores
