"""cranfield convert: any format to any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield import read_documents, read_qrels, read_run, read_topics
from tests.cli.conftest import Cranfield


@pytest.mark.parametrize(
    "suffix", ["trec", "json", "jsonl", "csv", "tsv", "parquet", "json.gz", "csv.xz", "trec.bz2", "tsv.zst"]
)
def test_a_run_survives_any_format(cranfield: Cranfield, example: Path, tmp_path: Path, suffix: str) -> None:
    target, back = tmp_path / f"run.{suffix}", tmp_path / "back.trec"
    assert cranfield("convert", example / "bm25.run", target).code == 0
    assert cranfield("convert", target, back, "--kind", "run").code == 0
    assert read_run(back).to_dict() == read_run(example / "bm25.run").to_dict()


@pytest.mark.parametrize("suffix", ["txt", "json", "jsonl", "csv", "tsv", "parquet"])
def test_qrels_survive_any_format(cranfield: Cranfield, example: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"qrels.{suffix}"
    assert cranfield("convert", example / "qrels.txt", target).code == 0
    assert read_qrels(target).to_dict() == read_qrels(example / "qrels.txt").to_dict()


def test_topics_and_documents_convert_too(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    assert cranfield("convert", example / "topics.xml", tmp_path / "topics.jsonl").code == 0
    assert read_topics(tmp_path / "topics.jsonl") == read_topics(example / "topics.xml")
    assert cranfield("convert", example / "documents.jsonl", tmp_path / "documents.trec").code == 0
    ids = [document.id for document in read_documents(example / "documents.jsonl")]
    assert [document.id for document in read_documents(tmp_path / "documents.trec")] == ids


def test_what_is_lost_is_said(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    outcome = cranfield("convert", example / "bm25.run", tmp_path / "x", "--to", "msmarco")
    assert "scores became ranks" in outcome.err
    outcome = cranfield("convert", example / "topics.xml", tmp_path / "topics.tsv")
    assert "description of 20 topics not in the output" in outcome.err


def test_an_unknown_format_is_refused_with_a_list(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    outcome = cranfield("convert", example / "bm25.run", tmp_path / "x", "--to", "word")
    assert outcome.code == 2
    assert "msmarco" in outcome.err
    assert not (tmp_path / "x").exists()


def test_a_failing_conversion_leaves_the_old_file_alone(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"q 1": {"d": 1.5}}')
    (tmp_path / "out.trec").write_text("precious")
    outcome = cranfield("convert", tmp_path / "in.json", tmp_path / "out.trec", "--kind", "run")
    assert outcome.code == 2
    assert "white space" in outcome.err
    assert (tmp_path / "out.trec").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.json", "out.trec"]


def test_a_folder_that_is_not_there_is_named(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    outcome = cranfield("convert", example / "bm25.run", tmp_path / "no" / "x.json")
    assert outcome.code == 2
    assert "cannot be written" in outcome.err
