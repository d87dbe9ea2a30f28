"""Models equal their formulas, document by document."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Document
from cranfield.errors import CranfieldError
from cranfield.lab import models
from cranfield.lab.index import Index, build
from cranfield.lab.models import BM25, Query, best, model_named
from cranfield.text.analysis import Analysis

PLAIN = Analysis(stemmer="none", stop_words="none")


def corpus(seed: int = 3, n: int = 60) -> Index:
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 31)
    vocabulary = [f"w{i:02}" for i in range(30)]
    texts = [rng.choice(vocabulary, size=rng.integers(1, 40), p=share / share.sum()) for _ in range(n)]
    return build((Document(f"d{i:03}", " ".join(text)) for i, text in enumerate(texts)), PLAIN)


class ByHand:
    """The formulas, one document and one term at a time."""

    def __init__(self, index: Index) -> None:
        self.docs = []
        for i in range(len(index.docs)):
            terms, counts = index.vector(i)
            self.docs.append({index.terms[t]: c for t, c in zip(terms.tolist(), counts.tolist(), strict=True)})
        self.n = len(self.docs)
        self.df = Counter(term for doc in self.docs for term in doc)
        self.cf: Counter[str] = Counter()
        for doc in self.docs:
            self.cf.update(doc)
        self.lengths = [sum(doc.values()) for doc in self.docs]
        self.mean = sum(self.lengths) / self.n
        self.tokens = sum(self.lengths)

    def scores(self, query: Counter[str], one: Callable[[str, int, float, int], float]) -> dict[int, float]:
        return {
            d: sum(one(t, d, doc[t], q) for t, q in query.items() if t in doc)
            for d, doc in enumerate(self.docs)
            if any(t in doc for t in query)
        }

    def bm25(self, query: Counter[str]) -> dict[int, float]:
        def one(t: str, d: int, tf: float, q: int) -> float:
            idf = math.log(1 + (self.n - self.df[t] + 0.5) / (self.df[t] + 0.5))
            return q * idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * self.lengths[d] / self.mean))

        return self.scores(query, one)

    def lm(self, query: Counter[str]) -> dict[int, float]:
        known = {t: q for t, q in query.items() if t in self.cf}
        return {
            d: sum(
                q * math.log((doc.get(t, 0) + 1000 * self.cf[t] / self.tokens) / (self.lengths[d] + 1000))
                - q * math.log(self.cf[t] / self.tokens)
                for t, q in known.items()
            )
            for d, doc in enumerate(self.docs)
            if any(t in doc for t in known)
        }

    def lm_jm(self, query: Counter[str]) -> dict[int, float]:
        def one(t: str, d: int, tf: float, q: int) -> float:
            inside, outside = 0.3 * tf / self.lengths[d], 0.7 * self.cf[t] / self.tokens
            return q * (math.log(inside + outside) - math.log(outside))

        return self.scores(query, one)

    def dph(self, query: Counter[str]) -> dict[int, float]:
        def one(t: str, d: int, tf: float, q: int) -> float:
            f = min(tf / self.lengths[d], 1 - 1e-12)
            gain = tf * math.log2(tf * self.mean / self.lengths[d] * self.n / self.cf[t])
            return q * (1 - f) ** 2 / (tf + 1) * (gain + 0.5 * math.log2(2 * math.pi * tf * (1 - f)))

        return self.scores(query, one)

    def tfidf(self, query: Counter[str]) -> dict[int, float]:
        def vector(counts: dict[str, float]) -> dict[str, float]:
            raw = {t: (1 + math.log(c)) * math.log(1 + self.n / self.df[t]) for t, c in counts.items() if t in self.df}
            norm = math.sqrt(sum(w * w for w in raw.values())) or 1
            return {t: w / norm for t, w in raw.items()}

        asked = vector(dict(query))
        return self.scores(query, lambda t, d, tf, q: asked.get(t, 0) * vector(self.docs[d])[t])


@pytest.mark.parametrize("name", ["bm25", "tfidf", "lm", "lm-jm", "dph"])
def test_scores_are_those_of_the_formula(name: str) -> None:
    index = corpus()
    hand = ByHand(index)
    for text in ("w00 w05 w05 w29", "w07", "w01 w02 w03 w04 unseen"):
        expected = getattr(hand, name.replace("-", "_"))(Counter(text.split()))
        ((docs, scores),) = model_named(name).search(index, [index.query(text)], depth=1000)
        assert dict(zip(docs.tolist(), scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert all(a >= b for a, b in zip(scores, scores[1:], strict=False))


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    index = corpus()
    queries = [index.query(text) for text in ("w00 w01", "", "w03 w03 w20", "nothing", "w10")]
    for name in ("bm25", "tfidf", "lm", "lm-jm", "dph"):
        whole = model_named(name).search(index, queries, 7)
        monkeypatch.setattr(models, "MOST_POSTINGS", 1)
        for (docs, scores), (same_docs, same) in zip(model_named(name).search(index, queries, 7), whole, strict=True):
            assert docs.tolist() == same_docs.tolist() and scores.tolist() == same.tolist()
        monkeypatch.undo()


def bits(found: list[tuple[np.ndarray, np.ndarray]]) -> list[tuple[bytes, bytes]]:
    assert all(docs.dtype == np.int64 and scores.dtype == np.float64 for docs, scores in found)
    return [(docs.tobytes(), scores.tobytes()) for docs, scores in found]


def asked_at_random(index: Index, seed: int) -> list[Query]:
    """Short queries as users type them, and long ones as feedback makes them, with weights that may be 0."""
    rng = np.random.default_rng(seed)
    terms = len(index.terms)
    short: list[Query] = [dict.fromkeys(rng.integers(0, terms, 3).tolist(), 1.0) for _ in range(5)]
    weights = rng.random(terms) * rng.choice([1.0, 1.0, 0.0], terms)
    return [*short, {}, dict(zip(rng.permutation(terms).tolist(), weights.tolist(), strict=True))]


@pytest.mark.skipif(models.__dict__["core"] is None, reason="the compiled core is not in use")
@pytest.mark.parametrize("name", ["bm25", "tfidf", "lm", "lm-jm", "dph"])
def test_the_core_and_its_twin_find_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, n in ((1, 1), (2, 60), (3, 9000)):  # the core scores 8,192 documents at a time
        index = corpus(seed, n)
        queries = asked_at_random(index, seed)
        for depth in (1, 7, 1000):
            compiled = model_named(name).search(index, queries, depth)
            with monkeypatch.context() as patch:
                patch.setattr(models, "core", None)
                assert bits(model_named(name).search(index, queries, depth)) == bits(compiled)


def test_weights_that_are_kept_or_found_anew_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    index = corpus(n=300)
    queries = asked_at_random(index, 4)
    anew = {name: bits(model_named(name).search(corpus(n=300), queries, 50)) for name in ("bm25", "lm", "dph")}
    for room in (0, 1, 2 * len(index.post_docs), 1 << 25):
        monkeypatch.setattr(models, "MOST_KEPT", room)
        for name in ("bm25", "lm", "bm25", "dph", "lm", "bm25"):
            for query, expected in zip(queries, anew[name], strict=True):
                assert bits(model_named(name).search(index, [query], 50)) == [expected]


@pytest.mark.skipif(models.__dict__["core"] is None, reason="without the core no weights are kept")
def test_weights_are_kept_for_the_models_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    index = corpus()
    monkeypatch.setattr(models, "MOST_KEPT", 2 * len(index.post_docs))
    for k1 in (0.5, 0.9, 1.2, 0.9, 2.0):
        BM25(k1=k1).search(index, [{0: 1.0}])
    assert list(index.__dict__["_found"]["weighed"]) == [BM25(k1=0.9), BM25(k1=2.0)]


def test_no_queries_and_no_documents_find_nothing() -> None:
    for name in ("bm25", "tfidf", "lm", "lm-jm", "dph"):
        assert model_named(name).search(corpus(), []) == []
        for index in (corpus(), build([])):
            ((docs, scores),) = model_named(name).search(index, [{}])
            assert not len(docs) and not len(scores)


@pytest.mark.skipif(models.__dict__["core"] is None, reason="the twin does not look")
def test_postings_out_of_order_are_said_to_be_damaged() -> None:
    index = corpus()
    index.post_docs[:] = index.post_docs[::-1].copy()
    with pytest.raises(CranfieldError, match="the index is damaged"):
        BM25().search(index, [{0: 1.0}])


@given(st.lists(st.integers(0, 9), max_size=400), st.integers(1, 60))
def test_the_best_are_the_best_and_ties_keep_the_collections_order(values: list[int], depth: int) -> None:
    docs = np.random.default_rng(len(values)).permutation(len(values))
    found, scores = best(docs, np.array(values, dtype=float), depth)
    expected = sorted(zip(docs.tolist(), values, strict=True), key=lambda pair: (-pair[1], pair[0]))[:depth]
    assert list(zip(found.tolist(), scores.tolist(), strict=True)) == expected


def test_names_and_parameters_that_are_not_there() -> None:
    assert str(model_named("bm25", k1=0.9)) == "BM25(k1=0.9, b=0.75)"
    with pytest.raises(CranfieldError, match="no system 'bm52': expected one of bm25"):
        model_named("bm52")
    with pytest.raises(CranfieldError, match="bm25 has no parameter 'k3': it has k1, b"):
        model_named("bm25", k3=1)
