"""Diversity: what is like something higher up moves down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from cranfield.base import Parameter
from cranfield.data import Floats, Ints
from cranfield.lab.index import Index
from cranfield.lab.models import kept
from cranfield.lab.stage import Stage

Ranked = tuple[Ints, Floats]
Likeness = Callable[[Ints], Floats]  # of documents by number: how like each is to each other, -1 to 1


class MMR(Stage):
    """Maximal marginal relevance: the next document is the best by what it has of its own.

    Of the documents not yet taken the one with the highest λ · rel(d) − (1 − λ) · max sim(d, e) is next, the maximum
    being over the documents e taken before, and 0 for the first. `rel` is the score of the first ranking, from 0 for
    the lowest to 1 for the highest of the documents that are put into a new order; `sim` is a cosine. Equal documents
    stay in the order they have. What is below the first `docs` documents stays where it is.
    """

    lambda_: float = 0.5
    docs: int = 100

    name: ClassVar = "mmr"
    about: ClassVar = "Carbonell & Goldstein, The use of MMR, diversity-based reranking, SIGIR 1998."
    parameters: ClassVar = {
        "lambda_": Parameter("1 for relevance alone, 0 for novelty alone", low=0, high=1),
        "docs": Parameter("documents put into a new order", low=0, whole=True),
    }

    def reranked(self, ranked: Ranked, like: Likeness) -> Ranked:
        """A ranking in the new order. Its scores are reciprocal ranks, so that nothing else changes the order."""
        docs, scores = ranked
        top = docs[: self.docs]
        order = greedy(_from_0_to_1(scores[: self.docs]), like(top), self.lambda_) if len(top) else []
        found = np.concatenate((top[order], docs[self.docs :])) if len(top) else docs
        return found, 1.0 / np.arange(1, len(found) + 1)


def greedy(relevance: Floats, similar: Floats, weight: float) -> list[int]:
    """The order in which documents are taken, by what each adds to those before."""
    taken: list[int] = []
    gains = weight * relevance
    nearest = np.zeros(len(relevance))
    for _ in range(len(relevance)):
        values = gains - (1 - weight) * nearest
        values[taken] = -np.inf
        chosen = int(np.argmax(values))  # the first of equals
        nearest = similar[chosen] if not taken else np.maximum(nearest, similar[chosen])
        taken.append(chosen)
    return taken


def by_words(index: Index) -> Likeness:
    """Cosines of the documents' vectors of (1 + ln tf) · ln(1 + N/df), as the system tfidf has them."""
    idf = kept(index, "idf of words", lambda: np.log1p(len(index.docs) / np.maximum(index.doc_frequencies, 1)))

    def like(docs: Ints) -> Floats:
        from scipy.sparse import csr_matrix

        parts = [index.vector(doc) for doc in docs.tolist()]
        terms = np.concatenate([terms for terms, _ in parts])
        weights = np.concatenate([(1 + np.log(counts)) * idf[terms] for terms, counts in parts])
        starts = np.concatenate(([0], np.cumsum([len(terms) for terms, _ in parts])))
        table = csr_matrix((weights, terms, starts), shape=(len(docs), len(index.terms)))
        lengths = np.sqrt(np.asarray(table.multiply(table).sum(axis=1)).ravel())
        return _cosines((table @ table.T).toarray(), lengths)

    return like


def by_vectors(numbers: Ints, rows: Floats) -> Likeness:
    """Cosines of vectors that are given, for documents whose numbers are in ascending order."""

    def like(docs: Ints) -> Floats:
        found = rows[np.searchsorted(numbers, docs)]
        return _cosines(found @ found.T, np.linalg.norm(found, axis=1))

    return like


def _cosines(products: Any, lengths: Floats) -> Floats:
    """Products over lengths, to 12 digits, so that equals are equal; what has no length is like nothing."""
    outer = np.outer(lengths, lengths)
    found: Floats = np.round(np.divide(products, outer, out=np.zeros_like(outer), where=outer > 0), 12)
    return found


def _from_0_to_1(scores: Floats) -> Floats:
    low, high = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


def all_documents(found: Sequence[Ranked], most: int) -> Ints:
    """The numbers of the first documents of several rankings, in ascending order."""
    return np.unique(np.concatenate([docs[:most] for docs, _ in found] or [np.empty(0, np.int64)]))
