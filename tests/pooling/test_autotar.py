"""AutoTAR: batches as in the reference, the classifier against another, and that it finds what runs miss."""

from __future__ import annotations

from itertools import accumulate, islice

import numpy as np
import pytest

from cranfield.data.collection import Document
from cranfield.errors import CranfieldError
from cranfield.pooling import PoolingContext, RankedLists, make_pool
from cranfield.pooling.autotar import batch_sizes
from cranfield.pooling.text_classifier import DocumentVectors, train_and_score
from tests.pooling.pooled_example import T, selector

BATCHES = "1 2 3 4 5 6 7 8 9 10 11 13 15 17 19 21 24 27 30 33 37 41 46 51 57 63 70 77 85 94"
CUMULATED = "1 3 6 10 15 21 28 36 45 55 66 79 94 111 130 151 175 202 232 265 302 343 389 440 497 560 630 707 792 886"


def test_batches_grow_by_a_tenth_rounded_up() -> None:
    assert list(islice(batch_sizes(), 30)) == [int(size) for size in BATCHES.split()]
    assert list(accumulate(islice(batch_sizes(), 30))) == [int(size) for size in CUMULATED.split()]


def documents(n: int = 120) -> list[Document]:
    """Every sixth is about lamps, in words that others have too; the runs know but a few of them."""
    rng = np.random.default_rng(3)
    common = [f"word{i}" for i in range(40)]
    special = ["lamp", "filament", "bulb", "glow", "watt"]
    made = []
    for i in range(n):
        words = list(rng.choice(common, 12))
        if i % 6 == 0:
            words += list(rng.choice(special, 3))
        made.append(Document(f"d{i:03}", " ".join(words), title="on lamps" if i == 0 else ""))
    return made


TEXTS = documents()
LISTS = RankedLists("1", ("a", "b"), (("d001", "d000", "d002"), ("d003", "d004", "d006")))
SETTING = PoolingContext(topics={"1": "electric lamp"}, documents=TEXTS)


def is_lamp(doc: str) -> float:
    return float(int(doc[1:]) % 6 == 0)


def test_it_finds_relevant_documents_that_no_run_has() -> None:
    found = [is_lamp(doc) for doc in selector("autotar", LISTS, SETTING).replay(is_lamp, 40)]
    # 20 of 120 are relevant: by chance 40 documents would hold 7
    assert sum(found) >= 18
    assert sum(is_lamp(doc) for docs in LISTS.docs for doc in docs) == 2


def test_batches_are_what_is_left_of_the_growing_ones() -> None:
    tar = selector("autotar", LISTS, SETTING)
    assert [tar.batch(judged) for judged in (0, 1, 2, 3, 4, 10, 55)] == [1, 2, 1, 3, 2, 5, 11]


def test_everything_judged_teaches_whoever_asked_for_it() -> None:
    tar = selector("autotar", LISTS, SETTING)
    judged = {f"d{i:03}": is_lamp(f"d{i:03}") for i in range(60)}
    assert sum(map(is_lamp, tar.next(judged, 10))) >= 9
    assert tar.next({**judged, "elsewhere": 1.0}, 10) == tar.next(judged, 10)


def test_the_classifier_is_that_of_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    texts = DocumentVectors.of(TEXTS)
    is_relevant = np.array([bool(is_lamp(document.id)) for document in TEXTS])
    some = np.arange(0, 120, 2)
    mine = train_and_score(texts.matrix, texts.matrix[some], is_relevant[some], 0.1)
    # the constant is held down too: it is one more column; the mean loss with a penalty is C = 1/(penalty · n)
    with_constant = np.hstack([texts.matrix.toarray(), np.ones((120, 1))])
    model = linear_model.LogisticRegression(
        C=1 / (0.1 * len(some)), class_weight="balanced", fit_intercept=False, tol=1e-12, max_iter=10_000
    )
    theirs = model.fit(with_constant[some], is_relevant[some]).decision_function(with_constant)
    assert np.abs(mine - theirs).max() < 1e-5


def test_vectors_are_weighed_logarithms_of_length_1() -> None:
    texts = DocumentVectors.of([Document("1", "a bb bb"), Document("2", "bb cc"), Document("3", "")])
    row = texts.matrix[1].toarray()[0]
    bb, cc = np.log(3 / 2), np.log(3 / 1)
    assert row[texts.terms["bb"]] == pytest.approx(bb / np.hypot(bb, cc)) and (row**2).sum() == pytest.approx(1)
    assert texts.matrix[2].nnz == 0
    asked = texts.vector("cc cc bb zz").toarray()[0]
    assert asked[texts.terms["cc"]] > asked[texts.terms["bb"]] > 0 and (asked**2).sum() == pytest.approx(1)
    assert texts.vector("zz").nnz == 0


def test_a_document_twice_is_an_error() -> None:
    with pytest.raises(CranfieldError, match="there are two documents '1'"):
        DocumentVectors.of([Document("1", "a"), Document("1", "b")])


def test_topics_without_words_and_documents_without_text_are_told() -> None:
    runs = {"a": {"1": {"d001": 2, "nowhere": 1}}}
    pool = make_pool(runs, "autotar", documents=TEXTS, topics={"2": "x"})
    assert any("whose text is missing" in note for note in pool.notes)
    assert any("for topics without text" in note for note in pool.notes)
    assert len(pool) == 1 and T.systems  # the first batch is of one
