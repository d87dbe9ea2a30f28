"""Dense retrieval is exact, and LSI is what a singular value decomposition says."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.collection import Document
from cranfield.errors import CranfieldError
from cranfield.lab import dense
from cranfield.lab.dense import LSI, nearest
from cranfield.lab.index import build
from cranfield.lab.models import Postings, TfIdf


@pytest.mark.parametrize("block", [1, 50, 1 << 24])
def test_the_nearest_are_those_of_all_products_whatever_the_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "BLOCK", block)
    rng = np.random.default_rng(2)
    docs, queries = rng.integers(-3, 4, (40, 5)).astype(float), rng.integers(-3, 4, (6, 5)).astype(float)
    for (found, scores), query in zip(nearest(docs, queries, 9), queries, strict=True):
        products = docs @ query
        expected = sorted(range(40), key=lambda i: (-products[i], i))[:9]
        assert found.tolist() == expected and scores.tolist() == products[expected].tolist()


def corpus(n: int = 30) -> object:
    rng = np.random.default_rng(8)
    words = [f"w{i:02}" for i in range(25)]
    return build(Document(f"d{i}", " ".join(rng.choice(words, 12))) for i in range(n))


@pytest.mark.parametrize("few", [0, 3000])
def test_lsi_compares_in_the_space_of_the_strongest_singular_vectors(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "FEW", few)
    index = corpus()
    m, n = len(index.terms), len(index.docs)
    postings = Postings.of(index, np.arange(m))
    whole = np.zeros((m, n))
    whole[np.repeat(np.arange(m), np.diff(postings.starts)), postings.docs] = TfIdf().weights(postings)
    left, _, _ = np.linalg.svd(whole, full_matrices=False)
    into = left[:, :6]
    points = whole.T @ into
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    query = index.query("w03 w04 w04")
    asked = sum(weight * into[term] for term, weight in TfIdf().of_query(index, query).items())
    expected = points @ (asked / np.linalg.norm(asked))
    ((docs, scores),) = LSI(k=6).search(index, [query], n)
    assert scores == pytest.approx(expected[docs], abs=1e-9)
    assert sorted(docs.tolist()) == list(range(n)) and all(np.diff(scores) <= 0)


def test_a_query_without_known_words_finds_nothing_and_too_little_text_is_told() -> None:
    assert len(LSI().search(corpus(), [{}])[0][0]) == 0
    with pytest.raises(CranfieldError, match="lsi needs more than 1 documents"):
        LSI().search(build([Document("a", "one word")]), [{0: 1.0}])
