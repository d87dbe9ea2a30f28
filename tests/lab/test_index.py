"""An index holds what the documents say, also after it was saved."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cranfield.analysis import Analysis
from cranfield.collection import Document
from cranfield.errors import InputError
from cranfield.lab.index import Index, build

DOCS = [
    Document("a", "A wheel, two wheels and a frame", title="Wheels"),
    Document("b", "the of and"),
    Document("c\udcff", "frame of steel", fields={"author": "Reynolds steel"}),
]


def counts(index: Index, doc: int) -> dict[str, float]:
    terms, found = index.vector(doc)
    return {index.terms[t]: n for t, n in zip(terms.tolist(), found.tolist(), strict=True)}


def test_terms_are_counted_by_document_and_by_term() -> None:
    index = build(DOCS)
    assert counts(index, 0) == {"wheel": 3, "two": 1, "frame": 1}
    assert counts(index, 1) == {}
    frame = index.numbers["frame"]
    rows = slice(index.post_starts[frame], index.post_starts[frame + 1])
    assert index.post_docs[rows].tolist() == [0, 2] and index.post_counts[rows].tolist() == [1, 1]
    assert index.lengths.tolist() == [5, 0, 2] and index.tokens == 7
    assert index.collection_frequencies[index.numbers["wheel"]] == 3


def test_fields_are_those_asked_for() -> None:
    assert build(DOCS, fields=["author"]).terms == ("reynold", "steel")
    assert "wheel" not in build(DOCS, fields=["title"]).numbers or build(DOCS, fields=["title"]).lengths[0] == 1


def test_random_text_is_counted_as_by_hand() -> None:
    rng = np.random.default_rng(5)
    vocabulary = [f"w{i}x" for i in range(40)] + ["the", "of"]
    texts = [" ".join(rng.choice(vocabulary, size=rng.integers(0, 60))) for _ in range(50)]
    analysis = Analysis(stemmer="none")
    index = build((Document(str(i), text) for i, text in enumerate(texts)), analysis)
    for i, text in enumerate(texts):
        assert counts(index, i) == Counter(analysis.terms(text))


def test_a_saved_index_is_the_same(tmp_path: Path) -> None:
    index = build(DOCS, source="three documents")
    index.save(tmp_path / "new" / "index")
    opened = Index.open(tmp_path / "new" / "index")
    assert opened.docs == index.docs and opened.terms == index.terms and opened.about == index.about
    for name in ("post_starts", "post_docs", "post_counts", "doc_starts", "doc_terms", "doc_counts", "lengths"):
        assert np.array_equal(getattr(opened, name), getattr(index, name))
    build(DOCS[:1]).save(tmp_path / "new" / "index")
    assert Index.open(tmp_path / "new" / "index").docs == ("a",)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["index"]


def test_nothing_that_is_no_index_is_overwritten_or_opened(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("dear diary")
    with pytest.raises(InputError, match="this is no index"):
        build(DOCS).save(tmp_path / "notes")
    with pytest.raises(InputError, match="no index.json"):
        Index.open(tmp_path / "notes")
    with pytest.raises(InputError, match="there is no such folder"):
        Index.open(tmp_path / "nowhere")


def test_a_document_twice_and_no_documents() -> None:
    with pytest.raises(InputError, match="document 'a' comes twice"):
        build([DOCS[0], DOCS[0]])
    empty = build([])
    assert empty.docs == () and empty.mean_length == 0 and empty.query("wheel") == {}
