"""cranfield index and cranfield search."""

from __future__ import annotations

from pathlib import Path

import cranfield as package
from tests.cli.conftest import Cranfield

DOCS = '{"_id": "a", "title": "Lamps", "text": "a red bicycle lamp"}\n{"_id": "b", "text": "bells"}\n'
TOPICS = '{"_id": "1", "text": "red lamps"}\n{"_id": "2", "text": "zeppelin"}\n'


def test_an_index_is_made_and_searched(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(DOCS)
    (tmp_path / "topics.jsonl").write_text(TOPICS)
    made = cranfield("index", tmp_path / "docs.jsonl", "-o", tmp_path / "index")
    assert made.code == 0 and "2 documents, 4 terms, 5 words (title, text; stems english" in made.err
    found = cranfield("search", tmp_path / "index", tmp_path / "topics.jsonl", "-o", tmp_path / "bm25.run")
    assert found.code == 0 and "2 topics, 1 document (bm25)." in found.err
    assert "Nothing found for 1 topic: '2'." in found.err
    run = package.read_run(tmp_path / "bm25.run")
    assert list(run.to_dict()) == ["1"] and list(run.to_dict()["1"]) == ["a"] and run.tag == "bm25"


def test_a_run_goes_to_standard_output(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(DOCS)
    (tmp_path / "topics.jsonl").write_text(TOPICS)
    cranfield("index", tmp_path / "docs.jsonl", "-o", tmp_path / "index", "--quiet", "--stemmer", "none")
    found = cranfield("search", tmp_path / "index", tmp_path / "topics.jsonl", "--system", "lm:mu=10", "--quiet")
    assert found.code == 0 and found.out.startswith("1 Q0 a 1 ") and found.out.endswith(" lm:mu=10\n") and not found.err


def test_what_is_wrong_is_said(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(DOCS)
    (tmp_path / "topics.jsonl").write_text(TOPICS)
    for args, says in (
        (("index", tmp_path / "none.jsonl", "-o", tmp_path / "index"), "none.jsonl"),
        (("index", tmp_path / "docs.jsonl", "-o", tmp_path / "i", "--stemmer", "elvish"), "no stemmer for 'elvish'"),
        (("index", tmp_path / "docs.jsonl", "-o", tmp_path / "i", "--fields", "text,autor"), "has the field 'autor'"),
        (("index", tmp_path / "docs.jsonl", "-o", tmp_path / "i", "--fields", ","), "--fields is empty"),
        (("search", tmp_path / "index", tmp_path / "topics.jsonl"), "there is no such folder"),
        (("search", tmp_path, tmp_path / "topics.jsonl"), "it has no index.json"),
        (("search", tmp_path, tmp_path / "topics.jsonl", "--system", "bm26"), "no system 'bm26'"),
    ):
        failed = cranfield(*args)
        assert failed.code == 2 and says in failed.err
    for engine in ("tantivy", "sqlite"):
        place = tmp_path / engine
        failed = cranfield("index", tmp_path / "docs.jsonl", "-o", place, "--engine", engine, "--fields", "autor")
        assert failed.code == 2 and "no document has the field 'autor'; there are title, text." in failed.err
        assert not place.exists()
    assert not (tmp_path / "i").exists()
