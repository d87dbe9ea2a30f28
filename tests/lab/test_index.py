"""An index holds what the documents say, also after it was saved."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cranfield.data.collection import Document
from cranfield.errors import InputError
from cranfield.lab import index as module
from cranfield.lab.index import ARRAYS, Index, build
from cranfield.text.analysis import Analysis
from tests.waiting import TIMEOUT

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
    for name in ARRAYS:
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


def random_documents(n: int = 200) -> list[Document]:
    rng = np.random.default_rng(8)
    vocabulary = [f"w{i}x" for i in range(90)] + ["the", "of"]
    return [Document(str(i), " ".join(rng.choice(vocabulary, size=rng.integers(0, 60)))) for i in range(n)]


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_counting_in_pieces_changes_nothing(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = build(random_documents())
    monkeypatch.setattr(module, "PIECE", piece)
    counted = build(random_documents())
    assert counted.terms == whole.terms and counted.about == whole.about
    for name, kind in ARRAYS.items():
        assert getattr(counted, name).dtype == kind and np.array_equal(getattr(counted, name), getattr(whole, name))


def test_a_query_has_the_terms_that_analysis_finds() -> None:
    index = build(DOCS)
    for text in ("The wheels of the WHEEL, framed", "steel steel unheard", "of the", "", "a 1 é"):
        expected = Counter(index.numbers[term] for term in index.analysis.terms(text) if term in index.numbers)
        assert index.query(text) == dict(expected) and list(index.query(text)) == list(expected)


def test_an_empty_index_is_saved_and_opened(tmp_path: Path) -> None:
    build([]).save(tmp_path / "index")
    assert Index.open(tmp_path / "index").docs == () and Index.open(tmp_path / "index").query("wheel") == {}
    build([Document("a", "")]).save(tmp_path / "index")
    assert Index.open(tmp_path / "index").vector(0)[0].tolist() == []


SAVE = """
import sys
from cranfield.data.collection import Document
from cranfield.errors import InputError
from cranfield.lab.index import build
try:
    build(Document(str(i), f"word{i} lamp{i * 7} bell{i * 13}") for i in range(3000)).save(sys.argv[1])
except InputError as error:
    print(error)
"""


def test_a_disk_that_fills_is_said_in_words_and_the_old_index_stays(tmp_path: Path) -> None:
    build(DOCS).save(tmp_path / "index")

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    run = [sys.executable, "-c", SAVE, str(tmp_path / "index")]
    said = subprocess.run(run, preexec_fn=limit, capture_output=True, text=True, timeout=TIMEOUT)
    assert said.stdout == f"{tmp_path / 'index'}: cannot be written: File too large.\n" and not said.stderr
    assert Index.open(tmp_path / "index").docs == tuple(doc.id for doc in DOCS)
    assert os.listdir(tmp_path) == ["index"]


def test_a_folder_where_nothing_can_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="index: cannot be written: (Not a directory|File exists)"):
        build(DOCS).save(tmp_path / "file" / "index")


def test_what_is_missing_or_cut_short_in_an_index_is_named(tmp_path: Path) -> None:
    for name in (*(f"{name}.npy" for name in ARRAYS), "docs.txt", "terms.txt"):
        build(random_documents()).save(tmp_path / "index")
        file = tmp_path / "index" / name
        for content in (file.read_bytes()[:-20], b"", None):
            file.unlink() if content is None else file.write_bytes(content)
            with pytest.raises(InputError, match="index: the index is damaged: .* Index again"):
                Index.open(tmp_path / "index")


def test_numbers_of_another_type_are_refused(tmp_path: Path) -> None:
    build(DOCS).save(tmp_path / "index")
    np.save(tmp_path / "index" / "post_docs.npy", np.zeros(5, dtype=">i4"))
    with pytest.raises(InputError, match="post_docs.npy should hold"):
        Index.open(tmp_path / "index")
