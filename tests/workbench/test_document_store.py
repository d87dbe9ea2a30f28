"""Texts of documents, stored on disk."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from cranfield.data.collection import Document
from cranfield.errors import InputError
from cranfield.workbench.document_store import DocumentStore, fingerprint_files

DOCUMENTS = [
    Document("a", "one", "A", {"url": "http://h/"}),
    Document("b\udcff\\\0", "bytes \udcff \0", "", {}),
    Document("a", "a second one with the same id"),
    Document("", "empty id"),
]


def test_documents_come_back_as_they_were_the_first_of_those_with_the_same_id(tmp_path: Path) -> None:
    library = DocumentStore.open(tmp_path / "new" / "texts.db", "1", lambda: DOCUMENTS)
    assert len(library) == 3
    for document in (DOCUMENTS[0], DOCUMENTS[1], DOCUMENTS[3]):
        assert library.get(document.id) == document
        assert document.id in library
    assert library.get("c") is None and "c" not in library
    library.close()
    assert library.get("a") is not None  # opened again when it is needed
    library.close()


def test_it_is_made_anew_for_another_stamp_only(tmp_path: Path) -> None:
    file = tmp_path / "texts.db"
    DocumentStore.open(file, "1", lambda: DOCUMENTS)
    DocumentStore.open(file, "1", lambda: pytest.fail("read again"))
    library = DocumentStore.open(file, "2", lambda: [Document("z", "last")])
    assert len(library) == 1
    library.close()


def test_what_breaks_off_leaves_the_old_one_in_place(tmp_path: Path) -> None:
    file = tmp_path / "texts.db"
    DocumentStore.open(file, "1", lambda: DOCUMENTS)

    def broken() -> list[Document]:
        raise InputError("line 3 is odd")

    with pytest.raises(InputError, match="line 3"):
        DocumentStore.open(file, "2", broken)
    library = DocumentStore.open(file, "1", lambda: pytest.fail("read again"))
    assert len(library) == 3
    library.close()
    assert [one.name for one in tmp_path.iterdir()] == ["texts.db"]


def test_a_file_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "texts.db"
    file.write_bytes(b"nonsense")
    library = DocumentStore.open(file, "1", lambda: DOCUMENTS)
    assert len(library) == 3
    library.close()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot store"):
        DocumentStore.open(tmp_path / "file" / "texts.db", "1", lambda: DOCUMENTS)


def test_threads_share_it(tmp_path: Path) -> None:
    library = DocumentStore.open(tmp_path / "t.db", "1", lambda: (Document(str(i), f"text {i}") for i in range(5000)))
    wrong: list[int] = []

    def read(start: int) -> None:
        for i in range(start, 5000, 4):
            found = library.get(str(i))
            if found is None or found.text != f"text {i}":
                wrong.append(i)

    threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    library.close()
    assert wrong == []


def test_a_stamp_tells_size_time_and_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    before = fingerprint_files(str(tmp_path))
    (tmp_path / "b").write_text("1")
    assert fingerprint_files(str(tmp_path)) != before
    assert fingerprint_files("no such file") == fingerprint_files("no such file") != fingerprint_files("another")
