"""Relevance feedback: a better query out of documents that are relevant, or taken to be because they rank high."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np

from cranfield.base import Parameter
from cranfield.data import Floats, Ints
from cranfield.lab.index import Index
from cranfield.lab.models import BM25, DEPTH, Model, Postings, Query, best
from cranfield.lab.stage import Stage

Ranked = tuple[Ints, Floats]
FEEDBACK: dict[str, type[Feedback]] = {}


class Feedback(Stage):
    """Base of all kinds of feedback."""

    docs: int = 10
    terms: int = 10

    parameters: ClassVar[Mapping[str, Parameter]] = {
        "docs": Parameter("documents from the top of the first ranking, where none are given", low=1, whole=True),
        "terms": Parameter("terms added to the query", low=1, whole=True),
    }

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.name:
            FEEDBACK[cls.name] = cls

    def expanded(self, index: Index, query: Query, docs: Ints, scores: Floats) -> Query:
        """The query with what the documents add; scores tell how much each document counts."""
        raise AssertionError(f"{type(self).__name__} adds nothing")

    def model(self, index: Index, first: Model, docs: Sequence[int]) -> Model:
        """The model of the second search; the first one, unless feedback is about weights."""
        return first

    def search(
        self, index: Index, first: Model, query: Query, docs: Ints, scores: Floats, depth: int = DEPTH
    ) -> Ranked:
        """The second search."""
        better = self.expanded(index, query, docs, scores)
        (found,) = self.model(index, first, docs.tolist()).search(index, [better], depth)
        return found


class RM3(Feedback):
    """A relevance model mixed with the query.

    Documents count by their scores and terms by their share of a document, each document having its `terms` commonest
    terms, as in Anserini.
    """

    weight: float = 0.5

    name: ClassVar = "rm3"
    about: ClassVar = "Lavrenko & Croft, Relevance-based language models, 2001; Abdul-Jaleel et al., TREC 2004."
    parameters: ClassVar = {
        **Feedback.parameters,
        "weight": Parameter("the weight of the original query", low=0, high=1),
    }

    def expanded(self, index: Index, query: Query, docs: Ints, scores: Floats) -> Query:
        mixed: dict[int, float] = {}
        for doc, score in zip(docs.tolist(), _positive(scores).tolist(), strict=True):
            for term, share in _shares(index, doc, self.terms):
                mixed[term] = mixed.get(term, 0.0) + score * share
        model = scaled(_strongest(mixed, self.terms))
        return _mixed(scaled(query), model, self.weight)


class SubsetRM3(RM3):
    """Base of feedback by relevance models that are each induced from some of the documents only.

    Raiber & Kurland found that a model of some of the relevant documents is often better than one of all, and that
    to use the models of all subsets is better still.
    """

    subsets: int = 63  # all subsets of six documents; of more, the whole set and others drawn at random

    name: ClassVar = ""
    about: ClassVar = "Raiber & Kurland, Relevance feedback: the whole is inferior to the sum of its parts, TOIS 2019."
    parameters: ClassVar = {**RM3.parameters, "subsets": Parameter("subsets at most", low=1, whole=True)}

    def rankings(
        self, index: Index, first: Model, query: Query, docs: Ints, scores: Floats, depth: int = DEPTH
    ) -> list[Ranked]:
        """What RM3 finds with each subset, the whole first."""
        parts = [list(part) for part in subsets_of(len(docs), self.subsets)]
        return first.search(index, [self.expanded(index, query, docs[p], scores[p]) for p in parts], depth)


class BestSubset(SubsetRM3):
    """RM3 with one subset of the documents: the one that ranks all of these documents best, by average precision.

    That is a choice by what is given alone; which subset is best for documents that are still to be found, nobody
    knows beforehand. Of equal subsets the largest is taken, and of these the first.
    """

    name: ClassVar = "rm3-best"

    def search(
        self, index: Index, first: Model, query: Query, docs: Ints, scores: Floats, depth: int = DEPTH
    ) -> Ranked:
        found = self.rankings(index, first, query, docs, scores, max(depth, DEPTH))
        values = [round(_precision(ranked, docs), 12) for ranked, _ in found]
        chosen, of_chosen = found[values.index(max(values))]
        return chosen[:depth], of_chosen[:depth]


class FusedSubsets(SubsetRM3):
    """RM3 with every subset of the documents; a document's score is its sum over all that are found.

    The scores of each ranking go from 0 to 1 (CombSUM of min-max scores), and every subset counts alike.
    """

    name: ClassVar = "rm3-fused"

    def search(
        self, index: Index, first: Model, query: Query, docs: Ints, scores: Floats, depth: int = DEPTH
    ) -> Ranked:
        return summed(self.rankings(index, first, query, docs, scores, max(depth, DEPTH)), depth)


class Rocchio(Feedback):
    """The query moved towards the mean of the documents' vectors of tf · idf."""

    alpha: float = 1.0
    beta: float = 0.75

    name: ClassVar = "rocchio"
    about: ClassVar = "Rocchio, Relevance feedback in information retrieval, 1971."
    parameters: ClassVar = {
        **Feedback.parameters,
        "alpha": Parameter("the weight of the original query", low=0),
        "beta": Parameter("the weight of the documents", low=0),
    }

    def expanded(self, index: Index, query: Query, docs: Ints, scores: Floats) -> Query:
        idf = np.log1p(len(index.docs) / np.maximum(index.doc_frequencies, 1))
        mean: dict[int, float] = {}
        for doc in docs.tolist():
            terms, counts = index.vector(doc)
            weights = counts * idf[terms]
            norm = math.sqrt(float((weights**2).sum())) or 1.0
            for term, weight in zip(terms.tolist(), (weights / norm).tolist(), strict=True):
                mean[term] = mean.get(term, 0.0) + weight / len(docs)
        asked = {term: count * float(idf[term]) for term, count in query.items()}
        norm = math.sqrt(math.fsum(weight**2 for weight in asked.values())) or 1.0
        strongest = _strongest({t: w for t, w in mean.items() if t not in asked}, self.terms)
        moved = {term: self.alpha * weight / norm + self.beta * mean.get(term, 0.0) for term, weight in asked.items()}
        moved |= {term: self.beta * weight for term, weight in strongest.items()}
        # the model weighs terms by their rarity itself
        return {term: weight / float(idf[term]) for term, weight in moved.items()}


class SparckJones(Feedback):
    """BM25 with the weights of Robertson and Spärck Jones, and the best terms of relevant documents."""

    name: ClassVar = "rsj"
    about: ClassVar = "Robertson & Spärck Jones, Relevance weighting of search terms, 1976; selection by r · w."

    def expanded(self, index: Index, query: Query, docs: Ints, scores: Floats) -> Query:
        found = _occurrences(index, docs.tolist())
        offers = {t: r * _rsj(len(index.docs), float(index.doc_frequencies[t]), len(docs), r) for t, r in found.items()}
        new = _strongest({term: offer for term, offer in offers.items() if term not in query}, self.terms)
        return {**query, **dict.fromkeys(new, 1.0 / 3)}

    def model(self, index: Index, first: Model, docs: Sequence[int]) -> Model:
        base = first if isinstance(first, BM25) else BM25()
        return _WeighedBM25(base.k1, base.b, len(docs), tuple(sorted(_occurrences(index, docs).items())))


class _WeighedBM25(BM25):
    """BM25 with relevance weights in place of the inverse document frequency."""

    relevant: int = 0
    occurrences: tuple[tuple[int, int], ...] = ()

    name: ClassVar = ""

    def weights(self, postings: Postings) -> Floats:
        index = postings.index
        found = dict(self.occurrences)
        given = zip(postings.terms.tolist(), postings.doc_frequencies.tolist(), strict=True)
        weights = [_rsj(len(index.docs), df, self.relevant, found.get(term, 0)) for term, df in given]
        norm = self.k1 * (1 - self.b + self.b * postings.lengths / index.mean_length)
        scored: Floats = postings.each(np.array(weights)) * postings.counts * (self.k1 + 1) / (postings.counts + norm)
        return scored


def subsets_of(n: int, most: int) -> list[tuple[int, ...]]:
    """The subsets of n things but the empty one, larger ones first; of too many the whole and some drawn evenly.

    >>> subsets_of(2, 3)
    [(0, 1), (0,), (1,)]
    """
    if 2**n - 1 <= most:
        return [part for size in range(n, 0, -1) for part in combinations(range(n), size)]
    rng = np.random.default_rng(1)
    drawn = {tuple(range(n)): None}
    while len(drawn) < most:
        part = tuple(np.flatnonzero(rng.random(n) < 0.5).tolist())
        if part:
            drawn[part] = None
    return sorted(drawn, key=lambda part: (-len(part), part))


def summed(rankings: Sequence[Ranked], depth: int = DEPTH) -> Ranked:
    """One ranking of several: sums of scores that go from 0 to 1 in each; equal sums in the order of the collection."""
    lists = [(docs, _min_max(scores)) for docs, scores in rankings if len(docs)]
    if not lists:
        return np.empty(0, np.int64), np.empty(0)
    docs, place = np.unique(np.concatenate([docs for docs, _ in lists]), return_inverse=True)
    sums = np.bincount(place, weights=np.concatenate([scores for _, scores in lists]))
    # rounded, so that what was added in another order is equal
    return best(docs, np.round(sums, 12), depth)


def _min_max(scores: Floats) -> Floats:
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


def _precision(ranked: Ints, wanted: Ints) -> float:
    """Average precision, if nothing but what is wanted is relevant."""
    ranks = np.flatnonzero(np.isin(ranked, wanted)) + 1
    return math.fsum((np.arange(1, len(ranks) + 1) / ranks).tolist()) / len(wanted)


def scaled(query: Query) -> dict[int, float]:
    """The same with weights that add up to 1."""
    whole = math.fsum(query.values())
    return {term: weight / whole for term, weight in query.items()} if whole else dict(query)


def _rsj(n: int, df: float, relevant: int, found: int) -> float:
    """The logarithm of the odds of a term in relevant documents against those in others; not below that of none."""
    inside = (found + 0.5) / (relevant - found + 0.5)
    outside = (df - found + 0.5) / (n - df - relevant + found + 0.5)
    return max(math.log(inside / outside), 1e-6) if outside > 0 else 1e-6


def _occurrences(index: Index, docs: Sequence[int]) -> dict[int, int]:
    """In how many of the documents each term occurs."""
    found: dict[int, int] = {}
    for doc in docs:
        for term in index.vector(doc)[0].tolist():
            found[term] = found.get(term, 0) + 1
    return found


def _shares(index: Index, doc: int, most: int) -> list[tuple[int, float]]:
    """The commonest terms of a document and the share of each among them."""
    terms, counts = index.vector(doc)
    order = np.lexsort((terms, -counts))[:most]
    return list(zip(terms[order].tolist(), (counts[order] / counts[order].sum()).tolist(), strict=True))


def _strongest(weights: dict[int, float], most: int) -> dict[int, float]:
    """The terms with the highest weights; of equal ones those with the lower numbers."""
    return dict(sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:most])


def _mixed(a: Query, b: Query, weight: float) -> dict[int, float]:
    return {t: weight * a.get(t, 0.0) + (1 - weight) * b.get(t, 0.0) for t in sorted({*a, *b})}


def _positive(scores: Floats) -> Floats:
    """Scores as weights: logarithms of probabilities become probabilities in proportion."""
    if len(scores) and scores.min() <= 0:
        scores = np.exp(scores - scores.max())
    return scores
