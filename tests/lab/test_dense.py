"""Dense retrieval is exact, and LSI is what a singular value decomposition says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Document
from cranfield.errors import CranfieldError, InputError
from cranfield.lab import dense, vectors
from cranfield.lab.dense import LSI, Space, nearest
from cranfield.lab.index import build
from cranfield.lab.models import Postings, TfIdf
from cranfield.lab.systems import system_named
from cranfield.lab.vectors import as_vectors, read_vectors
from tests.soak import examples


@pytest.mark.parametrize("block", [1, 50, 1 << 24])
def test_the_nearest_are_those_of_all_products_whatever_the_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BLOCK", block)
    rng = np.random.default_rng(2)
    docs, queries = rng.integers(-3, 4, (40, 5)).astype(float), rng.integers(-3, 4, (6, 5)).astype(float)
    for (found, scores), query in zip(nearest(docs, queries, 9), queries, strict=True):
        products = docs @ query
        expected = sorted(range(40), key=lambda i: (-products[i], i))[:9]
        assert found.tolist() == expected and scores.tolist() == products[expected].tolist()


@pytest.mark.parametrize("block", [50, 700, 1 << 22])
@pytest.mark.parametrize("dimension, number", [(5, 30), (64, 1), (100, 30), (768, 3)])
def test_equal_vectors_have_equal_scores_wherever_they_stand(
    block: int, dimension: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a product of matrices the last digits depend on the place of a row: ties would come out in any order."""
    monkeypatch.setattr(vectors, "BLOCK", block * dimension)
    rng = np.random.default_rng(3)
    kinds = rng.standard_normal((4, dimension)) / 7
    docs, queries = kinds[rng.integers(0, 4, 500)], rng.standard_normal((number, dimension))
    for (found, scores), query in zip(nearest(docs, queries, 300), queries, strict=True):
        exact = np.einsum("nd,d->n", docs, query)
        assert found.tolist() == sorted(range(500), key=lambda i: (-exact[i], i))[:300]
        assert scores.tolist() == exact[found].tolist() and len(set(scores.tolist())) <= 4


@examples(60)
@given(st.data())
def test_what_is_found_does_not_depend_on_blocks_or_company(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    n, d = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 7))
    docs, queries = rng.standard_normal((n, d)), rng.standard_normal((data.draw(st.integers(1, 5)), d))
    depth = data.draw(st.integers(1, 70))
    whole = nearest(docs, queries, depth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "BLOCK", data.draw(st.integers(1, 200)))
        for query, (found, scores) in zip(queries, whole, strict=True):
            ((alone, of_alone),) = nearest(docs, query[np.newaxis], depth)
            assert alone.tolist() == found.tolist() and of_alone.tolist() == scores.tolist()


DOCS = np.array([[1.0, 0.0], [3.0, 3.0], [0.0, 2.0], [1.0, 0.0]])
QUERIES = np.array([[1.0, 0.1], [0.0, 1.0]])


def test_vectors_are_compared_by_inner_product_or_by_cosine() -> None:
    space = Space.of(as_vectors(DOCS, list("abcd")), as_vectors(QUERIES, ["1", "2"]))
    inner = system_named("dense").search(None, {"1": "", "2": ""}, space=space)
    assert list(inner.to_dict()["1"]) == ["b", "a", "d", "c"] and inner.to_dict()["1"]["b"] == pytest.approx(3.3)
    cosine = system_named("dense:similarity=cosine").search(None, {"2": "", "1": ""}, 2, space=space)
    assert list(cosine.to_dict()) == ["2", "1"] and list(cosine.to_dict()["1"]) == ["a", "d"]
    assert cosine.to_dict()["2"] == pytest.approx({"c": 1.0, "b": np.sqrt(0.5)})
    assert cosine.tag == "dense:similarity=cosine"


def test_vectors_with_ids_are_for_the_documents_of_an_index_in_its_order() -> None:
    index = build(Document(one, "text") for one in "dcba")
    space = Space.of(as_vectors(DOCS, list("abcd")), as_vectors(QUERIES), index)
    found = system_named("dense").search(index, {"x": "", "y": ""}, space=space).to_dict()
    assert list(found["x"]) == ["b", "d", "a", "c"]  # a and d score the same: d comes first in the index
    plain = Space.of(as_vectors(DOCS), as_vectors(QUERIES), index)
    assert list(system_named("dense").search(index, {"x": "", "y": ""}, space=plain).to_dict()["y"]) == list("cbda")


def test_mmr_compares_the_vectors_that_are_given() -> None:
    index = build(Document(one, f"word{one}") for one in "abcd")
    space = Space.of(as_vectors(DOCS, list("abcd")), as_vectors(QUERIES, ["1", "2"]), index)
    dense = system_named("dense+mmr:lambda=0.4").search(None, {"1": "", "2": ""}, space=space)
    # b, then c or a; d says what a says, and comes last
    assert list(dense.to_dict()["1"]) == ["b", "a", "c", "d"] and dense.to_dict()["1"]["d"] == 0.25
    words = {"1": "worda wordb wordd"}
    assert list(system_named("bm25+mmr").search(index, words).to_dict()["1"]) == ["a", "b", "d"]
    assert list(system_named("bm25+mmr").search(index, words, space=space).to_dict()["1"]) == ["a", "b", "d"]
    space = Space.of(as_vectors(DOCS[[0, 3, 2, 1]], list("abcd")), None, index)
    assert list(system_named("bm25+mmr").search(index, words, space=space).to_dict()["1"]) == ["a", "d", "b"]


def test_parquet_and_npy_give_the_same_run(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rng = np.random.default_rng(5)
    docs, queries = rng.standard_normal((50, 8)).astype(np.float32), rng.standard_normal((4, 8)).astype(np.float16)
    ids, topics = [f"d{i}" for i in range(50)], list("1234")
    np.save(tmp_path / "docs.npy", docs)
    (tmp_path / "docs.ids.txt").write_text("\n".join(ids))
    pq.write_table(pa.table({"id": ids, "vector": list(docs)}), tmp_path / "docs.parquet", row_group_size=7)
    runs = [
        system_named("dense:similarity=cosine+mmr:docs=9")
        .search(None, dict.fromkeys(topics, ""), 20, None, Space.of(read_vectors(tmp_path / f), as_vectors(queries)))
        .to_dict()
        for f in ("docs.npy", "docs.parquet")
    ]
    assert runs[0] == runs[1] and len(runs[0]["1"]) == 20


def test_vectors_that_do_not_belong_together_are_refused() -> None:
    index = build(Document(one, "text") for one in "abcd")
    docs, queries = as_vectors(DOCS, list("abcd")), as_vectors(QUERIES, ["1", "2"], "q.npy")
    with pytest.raises(InputError, match="q.npy: vectors of 3 numbers, but those of documents .* have 2 numbers"):
        Space.of(docs, as_vectors(np.ones((2, 3)), name="q.npy"))
    with pytest.raises(InputError, match="of which documents are these vectors"):
        Space.of(as_vectors(DOCS))
    with pytest.raises(InputError, match="3 vectors for 4 documents in x.index"):
        Space.of(as_vectors(DOCS[:3]), None, index, "x.index")
    space = Space.of(docs, queries)
    for topics, says in ((["1"], "1 vector of no topic: '2'"), (["1", "2", "3"], "1 topic without a vector: '3'")):
        with pytest.raises(InputError, match=says):
            space.search(topics)
    with pytest.raises(InputError, match="2 vectors for 3 topics"):
        Space.of(docs, as_vectors(QUERIES)).search(["1", "2", "3"])
    with pytest.raises(CranfieldError, match="dense needs vectors of documents and of topics"):
        Space.of(docs).search(["1"])
    with pytest.raises(CranfieldError, match="dense needs vectors"):
        system_named("dense").search(index, {"1": "text"})
    with pytest.raises(CranfieldError, match="bm25 searches by words and needs an index"):
        system_named("bm25").search(None, {"1": "text"}, space=space)


def test_zeros_have_an_inner_product_but_no_direction() -> None:
    docs, queries = as_vectors([[1.0, 1.0], [0.0, 0.0]], ["a", "b"]), as_vectors(QUERIES, ["1", "2"])
    assert Space.of(docs, queries).search(["1", "2"])[0][1].tolist() == [1.1, 0.0]
    with pytest.raises(InputError, match=r"1 vector of zeros only.*row 2 \('b'\)"):
        Space.of(docs, queries).search(["1", "2"], "cosine")
    with pytest.raises(InputError, match="1 vector of zeros only"):
        Space.of(queries, docs).search(["a", "b"], "cosine")
    tiny = as_vectors([[1e-200, 1e-200], [1e-200, 0.0]], ["a", "b"])
    ((_, scores), _) = Space.of(tiny, queries).search(["1", "2"], "cosine")
    assert scores == pytest.approx([1 / np.hypot(1, 0.1), 1.1 / np.sqrt(2.02)], abs=1e-12)


def test_numbers_that_are_none_are_found_in_documents_and_in_topics() -> None:
    wrong = as_vectors([[1.0, np.nan], [np.inf, 0.0], [1.0, 1.0]], list("abc"))
    right = as_vectors([[1.0, 1.0], [2.0, 1.0], [1.0, 1.0]], list("abc"))
    for docs, queries in ((wrong, right), (right, wrong)):
        with pytest.raises(InputError, match=r"2 vectors with NaN.*: row 1 \('a'\), row 2 \('b'\)"):
            Space.of(docs, queries).search(list("abc"))


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
