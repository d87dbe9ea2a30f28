"""Documents as tf-idf vectors, and a classifier that learns which of them are relevant."""

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

MAX_STEPS = 1000
TOLERANCE = 1e-9  # of the gradient at the optimum
UNSTEMMED = Analysis(stemmer="none")  # stemmers need an extra


class DocumentVectors(Record, eq=False):
    """Documents as rows of (1 + ln tf)·ln(N/df), normalised to length 1."""

    docs: tuple[str, ...]
    numbers: Mapping[str, int]  # doc -> row
    terms: Mapping[str, int]
    weights: Floats  # ln(N/df) of each term
    matrix: Any  # sparse, documents × terms
    analysis: Analysis

    @classmethod
    def of(cls, documents: Iterable[Document], analysis: Analysis = UNSTEMMED) -> DocumentVectors:
        """The vectors of documents, from their titles and texts."""
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
        matrix = _unit_rows(values, columns, np.frombuffer(starts, dtype=np.int64), len(terms))
        return cls(tuple(docs), docs, terms, weights, matrix, analysis)

    def vector(self, text: str) -> Any:
        """A text as a row; words that no document has are ignored."""
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


def train_and_score(matrix: Any, rows: Any, is_relevant: Bools, penalty: float) -> Floats:
    """Train a logistic regression on the rows, and score all documents by log odds of relevance.

    Relevant and non-relevant rows have the same total weight. The coefficients w, including an intercept, minimise the
    mean loss plus penalty·|w|²/2, by Nesterov's accelerated gradient descent: with the intercept no row is longer than
    √2, so the curvature lies between the penalty and the penalty plus a half. (SciPy's optimisers start threads for
    their linear algebra, which cost far more than they save on problems this small.)
    """
    used = np.unique(rows.indices)  # terms of no row have weight 0
    subset = rows[:, used]
    transposed = subset.T.tocsr()
    sign = np.where(is_relevant, 1.0, -1.0)
    share = np.where(is_relevant, 0.5 / max(1, is_relevant.sum()), 0.5 / max(1, (~is_relevant).sum()))
    step, root = 1 / (0.5 + penalty), math.sqrt(1 + 0.5 / penalty)
    momentum = (root - 1) / (root + 1)
    weights = lookahead = np.zeros(len(used) + 1)
    for _ in range(MAX_STEPS):
        residual = sign * share * np.exp(-np.logaddexp(0.0, sign * (subset @ lookahead[1:] + lookahead[0])))
        gradient = penalty * lookahead - np.concatenate(([residual.sum()], transposed @ residual))
        weights, before = lookahead - step * gradient, weights
        lookahead = weights + momentum * (weights - before)
        if np.abs(gradient).max() < TOLERANCE:
            break
    coefficients = np.zeros(matrix.shape[1])
    coefficients[used] = weights[1:]
    scores: Floats = matrix @ coefficients + weights[0]
    return scores
