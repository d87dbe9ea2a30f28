"""Measures of the retrieved set, and fallout of the first k documents of it."""

import itertools

import pytest

from cranfield import MeasureError, evaluate
from cranfield.evaluation.explanation import explain

QRELS = {"q": {"a": 1, "b": 0, "c": 2, "d": 1}}
RUN = {"q": {"x": 5.0, "a": 4.0, "b": 3.0, "c": 2.0, "y": 1.0}}


def value(name, run=RUN, **options):
    return evaluate(QRELS, run, [name], **options).mean(name)


def test_fallout_at_k_counts_the_first_k_documents():
    # 100 documents, 3 of them relevant; x, then b, then y are not
    found = [value(f"Fallout(docs=100)@{k}") for k in (1, 2, 3, 4, 5, 50)]
    assert found == pytest.approx([n / 97 for n in (1, 1, 2, 2, 3, 3)])
    assert value("Fallout(docs=100)") == pytest.approx(3 / 97)


def test_fallout_of_the_documents_retrieved():
    assert value("Fallout(docs='retrieved')@2") == pytest.approx(1 / 3)
    assert value("FallOut(docs='retrieved')") == 1
    assert value("Fallout(docs='retrieved')", {"q": {"a": 1.0}}) == 0
    assert value("Fallout(docs='retrieved',rel=2)@2") == pytest.approx(2 / 4)


def test_the_expected_fallout_is_the_mean_over_orders():
    tied = {"q": {"a": 2.0, "x": 1.0, "b": 1.0, "c": 1.0}}
    orders = [
        {"q": {"a": 4.0} | dict(zip(docs, (3.0, 2.0, 1.0), strict=True))} for docs in itertools.permutations("xbc")
    ]
    mean = sum(value("Fallout(docs=50)@2", run) for run in orders) / len(orders)
    assert value("Fallout(docs=50)@2", tied, ties="expected") == pytest.approx(mean)


def test_fallout_is_explained_down_to_the_cutoff():
    shown = explain("Fallout(docs=100)@3", QRELS, RUN, "q")
    assert [row["term"] for row in shown.rows] == [1, 0, 1, 0, 0] and shown.normaliser == 97
    assert [row["others so far"] for row in shown.rows] == [1, 1, 2, 2, 3]


@pytest.mark.parametrize("docs", ["'some'", "0", "1.5"])
def test_the_size_of_the_collection_is_a_number_or_what_was_retrieved(docs):
    with pytest.raises(MeasureError, match="docs="):
        value(f"Fallout(docs={docs})@2")


def test_fallout_without_the_size_of_the_collection_says_what_to_give():
    with pytest.raises(MeasureError, match="--docs 1400, or Fallout\\(docs='retrieved'\\)"):
        value("Fallout@5")
