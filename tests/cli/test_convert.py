"""cranfield convert: convert between file formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield import read_documents, read_qrels, read_run, read_topics
from cranfield.cli.convert import FORMATS
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
    assert "description of 30 topics not in the output" in outcome.err


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


def test_the_format_names_the_kind(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("1 a 1\n1 b 2\n")
    outcome = cranfield("convert", tmp_path / "in", tmp_path / "out", "--from", "plain")
    assert outcome.code == 0
    assert (tmp_path / "out").read_text() == "1 0 a 1\n1 0 b 2\n"
    outcome = cranfield("convert", tmp_path / "in", tmp_path / "out", "--from", "msmarco")
    assert "run, written to" in outcome.err
    outcome = cranfield("convert", tmp_path / "in", tmp_path / "out", "--from", "word")
    assert outcome.code == 2
    assert "unknown format 'word'" in outcome.err


def test_the_format_written_is_said(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    outcome = cranfield("convert", example / "qrels.txt", tmp_path / "x.weird")
    assert outcome.err.endswith("x.weird as trec.\n")
    outcome = cranfield("convert", example / "topics.xml", tmp_path / "x.weird", "--to", "beir")
    assert outcome.err.endswith("x.weird as beir.\n")


def test_the_help_lists_the_formats_of_each_kind(cranfield: Cranfield) -> None:
    text = " ".join(cranfield("convert", "--help").out.split())
    for kind, names in FORMATS.items():
        assert f"{kind} {' '.join(names)}" in text


def test_the_judgments_of_rag_lines_are_said_not_to_be_in_the_run(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "rag.jsonl").write_text('{"query_id": "q", "retrieved_ids": ["a"], "relevant_ids": ["a"]}\n')
    outcome = cranfield("convert", tmp_path / "rag.jsonl", tmp_path / "run")
    assert "relevant_ids left out: not part of a run." in outcome.err
    outcome = cranfield("convert", tmp_path / "rag.jsonl", tmp_path / "qrels", "--kind", "qrels")
    assert "retrieved_ids left out: not part of qrels." in outcome.err


@pytest.mark.parametrize(
    ("content", "options", "lost"),
    [
        ("qid,docno,score,text\nq,a,1,long\n", (), "text left out"),
        ("2 qid:1 1:0.5 #docid = a\n", (), "features left out"),
        ('{"query": "q", "doc": "a", "grade": 1, "assessor": "x"}\n', (), "assessor left out"),
        ("1\ta wing\n2\tb\n", ("--kind", "documents", "--to", "jsonl"), ""),
    ],
)
def test_values_without_a_place_are_said_to_be_lost(
    cranfield: Cranfield, tmp_path: Path, content: str, options: tuple[str, ...], lost: str
) -> None:
    (tmp_path / "in").write_text(content)
    outcome = cranfield("convert", tmp_path / "in", tmp_path / "out", *options)
    assert outcome.code == 0
    assert lost in outcome.err


def test_documents_are_written_as_xml_and_lose_line_breaks_only_in_tables(
    cranfield: Cranfield, example: Path, tmp_path: Path
) -> None:
    outcome = cranfield("convert", example / "documents.jsonl", tmp_path / "docs.xml")
    assert "docs.xml as xml." in outcome.err
    (tmp_path / "docs.jsonl").write_text('{"_id": "1", "title": "t", "text": "a\\nb"}\n')
    outcome = cranfield("convert", tmp_path / "docs.jsonl", tmp_path / "docs.tsv")
    assert "line breaks of 1 document not in the output" in outcome.err
