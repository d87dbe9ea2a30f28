"""Retrieval models: what a term in a document is worth to a query, as a few lines of NumPy each.

A model gives a weight to each posting of a term. A document's score is the sum over the query's terms of the weight
times that of the term in the query, plus, for some models, something that depends on its length alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

from cranfield.collection import Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.lab.index import Index
from cranfield.records import define_fields, record
from cranfield.stretches import cores, in_parallel

DEPTH = 1000
MOST_POSTINGS = 4_000_000  # of the terms of some queries, which are weighed at a time
MOST_SCORES = 8_000_000  # of these queries
Query = Mapping[int, float]  # terms by number, with weights
T = TypeVar("T")


@record
class Postings:
    """The postings of some terms, one after the other, with what models ask about them."""

    index: Any
    terms: Ints
    starts: Ints  # within the arrays below
    docs: Ints
    counts: Floats

    @classmethod
    def of(cls, index: Index, terms: Ints) -> Postings:
        begins, ends = index.post_starts[terms], index.post_starts[terms + 1]
        sizes = ends - begins
        starts = np.concatenate(([0], np.cumsum(sizes)))
        at = np.repeat(begins - starts[:-1], sizes) + np.arange(starts[-1])
        return cls(index, terms, starts, index.post_docs[at], index.post_counts[at].astype(np.float64))

    def each(self, values: Floats) -> Floats:
        """What each term has, for each of its postings."""
        spread: Floats = np.repeat(values, np.diff(self.starts))
        return spread

    @cached_property
    def lengths(self) -> Floats:
        found: Floats = self.index.sizes[self.docs]
        return found

    @cached_property
    def doc_frequencies(self) -> Floats:
        found: Floats = self.index.doc_frequencies[self.terms]
        return found

    @cached_property
    def collection_frequencies(self) -> Floats:
        found: Floats = self.index.collection_frequencies[self.terms]
        return found


@dataclass_transform(frozen_default=True)
@record
class Model:
    """Base of all models; fields are parameters."""

    name: ClassVar[str] = ""
    about: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        define_fields(cls)
        if cls.name:
            MODELS[cls.name] = cls

    def weights(self, postings: Postings) -> Floats:
        """What each posting is worth."""
        raise AssertionError(f"{type(self).__name__} weighs nothing")

    def of_query(self, index: Index, query: Query) -> Query:
        """The weights of a query's terms; how often it has each, unless a model says otherwise."""
        return query

    def of_length(self, index: Index) -> Floats | None:
        """What is added to a document's score for each term of the query, whatever the document holds."""
        return None

    def search(self, index: Index, queries: Sequence[Query], depth: int = DEPTH) -> list[tuple[Ints, Floats]]:
        """The best documents of each query with their scores; equal scores in the order of the collection."""
        prepared = [self.of_query(index, query) for query in queries]
        self.of_length(index)
        found = in_parallel(lambda batch: self._scored(index, batch, depth), _batches(index, prepared), cores())
        return [ranked for batch in found for ranked in batch]

    def _scored(self, index: Index, queries: list[Query], depth: int) -> list[tuple[Ints, Floats]]:
        from scipy.sparse import csr_matrix

        terms = np.array(sorted({term for query in queries for term in query}), dtype=np.int64)
        if not len(terms):
            return [(np.empty(0, np.int64), np.empty(0))] * len(queries)
        postings = Postings.of(index, terms)
        shape = (len(terms), len(index.docs))
        by_term = csr_matrix((self.weights(postings), postings.docs, postings.starts), shape=shape)
        asked = _as_matrix(queries, terms)
        scores = asked @ by_term
        bonus = self.of_length(index)
        if bonus is not None:
            sizes = np.array([math.fsum(query.values()) for query in queries])
            scores.data += np.repeat(sizes, np.diff(scores.indptr)) * bonus[scores.indices]
        return [_best(scores, i, depth) for i in range(len(queries))]


MODELS: dict[str, type[Model]] = {}


class BM25(Model):
    """Okapi BM25, with an inverse document frequency that is never negative."""

    k1: float = 1.2
    b: float = 0.75

    name: ClassVar = "bm25"
    about: ClassVar = "Robertson & Zaragoza, The Probabilistic Relevance Framework, 2009; idf as in Lucene."

    def weights(self, postings: Postings) -> Floats:
        index = postings.index
        n, df = len(index.docs), postings.doc_frequencies
        idf = postings.each(np.log1p((n - df + 0.5) / (df + 0.5)))
        norm = self.k1 * (1 - self.b + self.b * postings.lengths / index.mean_length)
        found: Floats = idf * postings.counts * (self.k1 + 1) / (postings.counts + norm)
        return found


class TfIdf(Model):
    """The cosine of vectors of (1 + ln tf) · ln(1 + N/df)."""

    name: ClassVar = "tfidf"
    about: ClassVar = "Salton & Buckley, Term-weighting approaches, 1988 (ltc.ltc)."

    def weights(self, postings: Postings) -> Floats:
        idf = postings.each(_idf(postings.index)[postings.terms])
        found: Floats = (1 + np.log(postings.counts)) * idf / _norms(postings.index)[postings.docs]
        return found

    def of_query(self, index: Index, query: Query) -> Query:
        raw = {term: (1 + math.log(count)) * float(_idf(index)[term]) for term, count in query.items() if count > 0}
        norm = math.sqrt(math.fsum(weight**2 for weight in raw.values())) or 1.0
        return {term: weight / norm for term, weight in raw.items()}


class Dirichlet(Model):
    """Query likelihood, smoothed with a Dirichlet prior."""

    mu: float = 1000.0

    name: ClassVar = "lm"
    about: ClassVar = "Zhai & Lafferty, A study of smoothing methods for language models, 2004."

    def weights(self, postings: Postings) -> Floats:
        chance = postings.collection_frequencies / postings.index.tokens
        found: Floats = np.log1p(postings.counts / postings.each(self.mu * chance))
        return found

    def of_length(self, index: Index) -> Floats:
        found: Floats = np.log(self.mu / (index.sizes + self.mu))
        return found


class JelinekMercer(Model):
    """Query likelihood, mixed with the language of the collection."""

    weight: float = 0.7  # of the collection

    name: ClassVar = "lm-jm"
    about: ClassVar = "Zhai & Lafferty, A study of smoothing methods for language models, 2004."

    def weights(self, postings: Postings) -> Floats:
        chance = postings.each(postings.collection_frequencies / postings.index.tokens)
        inside = (1 - self.weight) / self.weight
        found: Floats = np.log1p(inside * postings.counts / postings.lengths / chance)
        return found


class DPH(Model):
    """Divergence from randomness by the hypergeometric model, without parameters."""

    name: ClassVar = "dph"
    about: ClassVar = "Amati et al., FUB, IASI-CNR and University of Tor Vergata at TREC 2007 Blog Track."

    def weights(self, postings: Postings) -> Floats:
        index = postings.index
        tf, length = postings.counts, postings.lengths
        share = np.minimum(tf / length, 1 - 1e-12)  # of a document that says one word only
        norm = (1 - share) ** 2 / (tf + 1)
        expected = postings.each(len(index.docs) / postings.collection_frequencies)
        surprise = tf * np.log2(tf * index.mean_length / length * expected)
        found: Floats = norm * (surprise + 0.5 * np.log2(2 * math.pi * tf * (1 - share)))
        return found


def model_named(name: str, **parameters: Any) -> Model:
    """A model by name, with parameters; a clear error if it has no such thing."""
    if name not in MODELS:
        raise CranfieldError(f"no system {name!r}: expected one of {', '.join(MODELS)}.")
    unknown = [key for key in parameters if key not in MODELS[name].__dataclass_fields__]
    if unknown:
        known = ", ".join(MODELS[name].__dataclass_fields__) or "none"
        raise CranfieldError(f"{name} has no parameter {unknown[0]!r}: it has {known}.")
    return MODELS[name](**parameters)


def _batches(index: Index, queries: list[Query]) -> Iterator[list[Query]]:
    """Queries some at a time, so that a batch fits into memory and its terms are weighed once."""
    batch: list[Query] = []
    terms: set[int] = set()
    postings = scores = 0.0
    for query in queries:
        new = [term for term in query if term not in terms]
        more = float(index.doc_frequencies[new].sum())
        reached = min(float(index.doc_frequencies[list(query)].sum()), float(len(index.docs)))
        if batch and (postings + more > MOST_POSTINGS or scores + reached > MOST_SCORES):
            yield batch
            batch, terms, postings, scores = [], set(), 0.0, 0.0
            more = float(index.doc_frequencies[list(query)].sum())
        batch.append(query)
        terms.update(query)
        postings, scores = postings + more, scores + reached
    yield batch


def _as_matrix(queries: list[Query], terms: Ints) -> Any:
    from scipy.sparse import csr_matrix

    place = {int(term): i for i, term in enumerate(terms)}
    # by number, so that a score does not depend on the order of a query's words
    asked = [sorted(query.items()) for query in queries]
    starts = np.concatenate(([0], np.cumsum([len(query) for query in asked])))
    columns = np.array([place[term] for query in asked for term, _ in query], dtype=np.int32)
    values = np.array([weight for query in asked for _, weight in query], dtype=np.float64)
    return csr_matrix((values, columns, starts), shape=(len(queries), len(terms)))


def _best(scores: Any, i: int, depth: int) -> tuple[Ints, Floats]:
    """The best documents of a row; of those with equal scores the ones that come first in the collection."""
    rows = slice(scores.indptr[i], scores.indptr[i + 1])
    return best(scores.indices[rows], scores.data[rows], depth)


def best(docs: Any, values: Floats, depth: int) -> tuple[Ints, Floats]:
    """The documents with the highest values, best first; equal values in the order of the collection."""
    if len(values) > depth:
        inside = _above(values, depth)
        docs, values = docs[inside], values[inside]
    order = np.lexsort((docs, -values))[:depth]
    return docs[order].astype(np.int64), values[order]


def _above(values: Floats, depth: int) -> Ints:
    """Where the values are that are no lower than the depth-th highest."""
    step = 16
    if len(values) > 4 * step * depth // 10:
        # a bound from some of the values, low enough to be right nearly always, spares most of the others
        some = values[::step]
        rank = min(len(some), 2 * depth // step + 8)
        bound = np.partition(some, len(some) - rank)[len(some) - rank]
        inside = np.flatnonzero(values >= bound)
        if depth <= len(inside) < len(values):
            return inside[_above(values[inside], depth)]
    last = np.partition(values, len(values) - depth)[len(values) - depth]
    return np.flatnonzero(values >= last)


def _idf(index: Index) -> Floats:
    return kept(index, "idf", lambda: np.log1p(len(index.docs) / np.maximum(index.doc_frequencies, 1)))


def _norms(index: Index) -> Floats:
    """The length of each document's vector of (1 + ln tf) · idf."""

    def find() -> Floats:
        weights = (1 + np.log(index.doc_counts)) * _idf(index)[index.doc_terms]
        doc = np.repeat(np.arange(len(index.docs)), np.diff(index.doc_starts))
        norms = np.sqrt(np.bincount(doc, weights=weights**2, minlength=len(index.docs)))
        return np.where(norms > 0, norms, 1.0)

    return kept(index, "norms", find)


def kept(index: Index, name: str, find: Callable[[], T]) -> T:
    """Found once for an index."""
    found: dict[str, Any] = index.__dict__.setdefault("_found", {})
    if name not in found:
        found[name] = find()
    value: T = found[name]
    return value
