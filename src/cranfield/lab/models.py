"""Retrieval models: what a term in a document is worth to a query, as a few lines of NumPy each.

A model gives a weight to each posting of a term. A document's score is the sum over the query's terms of the weight
times that of the term in the query, plus, for some models, something that depends on its length alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np

from cranfield.base import Parameter, Record, core, count_cores, field_names, map_in_threads
from cranfield.data import Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.lab.index import Index
from cranfield.lab.stage import Stage

DEPTH = 1000
MOST_POSTINGS = 500_000  # of the terms of the queries that are answered at a time, or of terms weighed at a time
MOST_KEPT = 1 << 25  # postings whose weights are kept for the next search, of all models together
Query = Mapping[int, float]  # terms by number, with weights
T = TypeVar("T")


class Postings(Record):
    """The postings of some terms, one after the other, with what models ask about them."""

    index: Any
    terms: Ints
    starts: Ints  # within the arrays below
    docs: Ints
    counts: Floats
    at: Ints  # where in the index each is

    @classmethod
    def of(cls, index: Index, terms: Ints) -> Postings:
        begins, ends = index.post_starts[terms], index.post_starts[terms + 1]
        sizes = ends - begins
        starts = np.concatenate(([0], np.cumsum(sizes)))
        at = np.repeat(begins - starts[:-1], sizes) + np.arange(starts[-1])
        return cls(index, terms, starts, index.post_docs[at], index.post_counts[at].astype(np.float64), at)

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


class Model(Stage):
    """Base of all models."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
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
        asked = Asked.of([self.of_query(index, query) for query in queries])
        weighed = _weighed(index, self)
        answer = _by_matrix if core is None else _by_core
        found = map_in_threads(lambda some: answer(index, some, weighed, depth), asked.batches(index), count_cores())
        return [ranked for batch in found for ranked in batch]


MODELS: dict[str, type[Model]] = {}


class BM25(Model):
    """Okapi BM25, with an inverse document frequency that is never negative."""

    k1: float = 1.2
    b: float = 0.75

    name: ClassVar = "bm25"
    about: ClassVar = "Robertson & Zaragoza, The Probabilistic Relevance Framework, 2009; idf as in Lucene."
    parameters: ClassVar = {
        "k1": Parameter("how much repeated terms count", low=0),
        "b": Parameter("how far scores are normalised by document length", low=0, high=1),
    }

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
        # feedback makes fractions of counts, whose logarithms are negative: below 1 a term weighs what it counts
        tf = {term: 1 + math.log(count) if count >= 1 else count for term, count in query.items() if count > 0}
        raw = {term: weight * float(_idf(index)[term]) for term, weight in tf.items()}
        norm = math.sqrt(math.fsum(weight**2 for weight in raw.values())) or 1.0
        return {term: weight / norm for term, weight in raw.items()}


class Dirichlet(Model):
    """Query likelihood, smoothed with a Dirichlet prior."""

    mu: float = 1000.0

    name: ClassVar = "lm"
    about: ClassVar = "Zhai & Lafferty, A study of smoothing methods for language models, 2004."
    parameters: ClassVar = {"mu": Parameter("the weight of the prior, in terms", low=0, above_low=True)}

    def weights(self, postings: Postings) -> Floats:
        chance = postings.collection_frequencies / postings.index.tokens
        found: Floats = np.log1p(postings.counts / postings.each(self.mu * chance))
        return found

    def of_length(self, index: Index) -> Floats:
        found: Floats = np.log(self.mu / (index.sizes + self.mu))
        return found


class JelinekMercer(Model):
    """Query likelihood, mixed with the language of the collection."""

    weight: float = 0.7

    name: ClassVar = "lm-jm"
    about: ClassVar = "Zhai & Lafferty, A study of smoothing methods for language models, 2004."
    parameters: ClassVar = {
        "weight": Parameter("the weight of the collection", low=0, high=1, above_low=True, below_high=True)
    }

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
    unknown = [key for key in parameters if key not in field_names(MODELS[name])]
    if unknown:
        known = ", ".join(field_names(MODELS[name])) or "none"
        raise CranfieldError(f"{name} has no parameter {unknown[0]!r}: it has {known}.")
    return MODELS[name](**parameters)


class Asked(Record):
    """Queries one after the other, each with its terms in order, so that a score does not depend on that of words."""

    starts: Ints  # of query i the terms are starts[i] to starts[i + 1]
    terms: Ints
    weights: Floats

    @classmethod
    def of(cls, queries: Sequence[Query]) -> Asked:
        ordered = [sorted(query.items()) for query in queries]
        return cls(
            np.cumsum([0, *map(len, ordered)], dtype=np.int64),
            np.array([term for query in ordered for term, _ in query], dtype=np.int64),
            np.array([weight for query in ordered for _, weight in query], dtype=np.float64),
        )

    def sizes(self) -> Floats:
        """The weights of each query's terms together."""
        return np.array([math.fsum(self.weights[a:b].tolist()) for a, b in pairwise(self.starts.tolist())])

    def postings(self, index: Index) -> Ints:
        """How many postings the terms of each query have together."""
        sums = np.concatenate(([0.0], np.cumsum(index.doc_frequencies[self.terms])))
        found: Ints = np.diff(sums[self.starts]).astype(np.int64)
        return found

    def batches(self, index: Index) -> Iterator[Asked]:
        """Queries some at a time, with so many postings; what one finds does not depend on the others."""
        before = np.cumsum(self.postings(index)) // MOST_POSTINGS
        if not len(before) or before[-1] == before[0]:
            yield self
            return
        cuts = [0, *(np.flatnonzero(np.diff(before)) + 1).tolist(), len(before)]
        for first, last in pairwise(cuts):
            a, b = int(self.starts[first]), int(self.starts[last])
            yield Asked(self.starts[first : last + 1] - a, self.terms[a:b], self.weights[a:b])


class Table(Record):
    """Weights of the postings of terms: those of row r are from starts[r] to starts[r + 1]."""

    rows: Ints  # of the terms that were asked for
    starts: Ints
    docs: Any
    weights: Floats


class Weighed:
    """What a model makes of an index: the weights of postings, found when a query first asks for them."""

    def __init__(self, index: Index, model: Model) -> None:
        self.index, self.model = index, model
        self.bonus = model.of_length(index)

    def table(self, terms: Ints) -> Table:
        """The weights of some terms' postings."""
        different, rows = np.unique(terms, return_inverse=True)
        postings = Postings.of(self.index, different)
        return Table(rows, postings.starts, postings.docs, self.model.weights(postings))


class Kept(Weighed):
    """The same, with all weights at the places of their postings, where they stay for the next search."""

    def __init__(self, index: Index, model: Model) -> None:
        super().__init__(index, model)
        self.weights = np.empty(len(index.post_docs))  # takes up memory only where weights are written
        self.known = np.zeros(len(index.terms), dtype=bool)

    def table(self, terms: Ints) -> Table:
        new = terms[~self.known[terms]]
        if len(new):
            self._learn(np.unique(new))
        return Table(terms, self.index.post_starts, self.index.post_docs, self.weights)

    def _learn(self, terms: Ints) -> None:
        """Find the weights of some terms; another thread that does so at the same time writes the same."""
        before = np.cumsum(self.index.doc_frequencies[terms]) // MOST_POSTINGS
        for some in np.split(terms, np.flatnonzero(np.diff(before)) + 1):
            postings = Postings.of(self.index, some)
            self.weights[postings.at] = self.model.weights(postings)
            self.known[some] = True


def _weighed(index: Index, model: Model) -> Weighed:
    """The weights of a model, kept with the index for as many models as there is room for; the last ones used."""
    room = MOST_KEPT // max(1, len(index.post_docs))
    if core is None or not model.name or not room:  # a model without a name is made for one query
        return Weighed(index, model)
    known: dict[Model, Kept] = kept(index, "weighed", dict)
    found = known.pop(model, None) or Kept(index, model)
    known[model] = found
    for oldest in list(known)[:-room]:
        known.pop(oldest, None)
    return found


def _by_core(index: Index, asked: Asked, weighed: Weighed, depth: int) -> list[tuple[Ints, Floats]]:
    table = weighed.table(asked.terms)
    most = np.minimum(asked.postings(index), min(depth, len(index.docs)))
    places = np.concatenate(([0], np.cumsum(most)))
    docs, scores, counts = np.empty(places[-1], np.int64), np.empty(places[-1]), np.empty(len(most), np.int64)
    postings = (table.starts, np.ascontiguousarray(table.docs, np.int32), table.weights)
    queries = (asked.starts, table.rows, asked.weights)
    bonus = (weighed.bonus, None if weighed.bonus is None else asked.sizes())
    try:
        core.search(len(index.docs), *postings, *queries, *bonus, places, docs, scores, counts)
    except ValueError:
        raise CranfieldError("the index is damaged: its postings are not in order. Index again.") from None
    return [(docs[a : a + n], scores[a : a + n]) for a, n in zip(places.tolist(), counts.tolist(), strict=False)]


def _by_matrix(index: Index, asked: Asked, weighed: Weighed, depth: int) -> list[tuple[Ints, Floats]]:
    """The same as a product of matrices, which leaves documents with a score of 0 out before anything is added."""
    from scipy.sparse import csr_matrix

    table = weighed.table(asked.terms)
    n, terms = len(asked.starts) - 1, len(table.starts) - 1
    by_term = csr_matrix((table.weights, table.docs, table.starts), shape=(terms, len(index.docs)))
    scores = csr_matrix((asked.weights, table.rows, asked.starts), shape=(n, terms)) @ by_term
    if weighed.bonus is not None:
        scores.data += np.repeat(asked.sizes(), np.diff(scores.indptr)) * weighed.bonus[scores.indices]
    rows = [slice(a, b) for a, b in pairwise(scores.indptr.tolist())]
    return [best(scores.indices[row], scores.data[row], depth) for row in rows]


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
