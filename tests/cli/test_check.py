"""cranfield check: what each file is, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cranfield


def findings(cranfield: Cranfield, *files: Path, code: int = 0) -> list[dict[str, Any]]:
    outcome = cranfield("check", *files, "--format", "json")
    assert outcome.code == code
    content = json.loads(outcome.out)
    parts = [*content["files"], *content["pairs"]]
    return [finding for part in parts for finding in part["findings"]]


def about(found: list[dict[str, Any]], what: str) -> list[dict[str, Any]]:
    return [finding for finding in found if finding["about"] == what]


def test_good_files_are_named_for_what_they_are(cranfield: Cranfield, example: Path) -> None:
    names = ["qrels.txt", "bm25.run", "topics.xml", "documents.jsonl"]
    outcome = cranfield("check", *(example / name for name in names), "--format", "json")
    assert outcome.code == 0
    kinds = [entry["kind"] for entry in json.loads(outcome.out)["files"]]
    assert kinds == ["qrels", "run", "topics", "documents"]


def test_every_malformed_line_is_listed_with_its_number(cranfield: Cranfield, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text(
        "# a comment\n1 Q0 a 1 3 t\n\n1 Q0 b 2 t\n1 Q0 c 3 nan t\n1 Q0 d 4 1e400 t\n1 Q0 e 5 0x1p3 t\n1 Q0 f 6 1_0 t\n"
    )
    found = about(findings(cranfield, run, code=2), "unreadable")
    assert [finding["line"] for finding in found] == [4, 5, 6, 7, 8]
    assert "expected 6 columns" in found[0]["message"]
    assert "does not fit a double" in found[2]["message"]


def test_duplicates_are_listed_with_both_lines(cranfield: Cranfield, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n\n1 Q0 a 3 1 t\n2 Q0 a 1 1 t\n")
    (found,) = about(findings(cranfield, run, code=2), "duplicate")
    assert found["line"] == 4
    assert "first in line 1" in found["message"]


def test_two_grades_for_one_document_are_an_error_and_one_grade_twice_is_not(
    cranfield: Cranfield, tmp_path: Path
) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("1 0 a 1\n1 0 a 2\n")
    (found,) = about(findings(cranfield, qrels, code=2), "duplicate")
    assert (found["level"], found["line"]) == ("error", 2)
    qrels.write_text("1 0 a 1\n1 0 a 1\n")
    (found,) = about(findings(cranfield, qrels), "duplicate")
    assert (found["level"], found["line"]) == ("warning", 2)
    qrels.write_text("1 1 a 1\n1 2 a 2\n")
    assert not about(findings(cranfield, qrels), "duplicate")


def test_ranks_that_disagree_with_scores_are_seen(cranfield: Cranfield, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("1 Q0 a 1 3 t\n1 Q0 b 2 1 t\n1 Q0 c 3 2 t\n2 Q0 a 1 1 t\n2 Q0 b 1 0 t\n")
    disagreeing, repeated = about(findings(cranfield, run), "rank column")
    assert disagreeing["line"] == 3
    assert "disagree" in disagreeing["message"]
    assert repeated["line"] == 5


def test_a_rank_that_is_no_number_is_told_with_its_line(cranfield: Cranfield, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("1 Q0 a 1 3 t\n1 Q0 b second 1 t\n")
    assert any("line 2" in finding["message"] for finding in findings(cranfield, run))


def test_ties_are_counted_in_both_precisions(cranfield: Cranfield, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("1 Q0 a 1 5 t\n1 Q0 b 2 5 t\n2 Q0 a 1 16777217 t\n2 Q0 b 2 16777216 t\n")
    found = findings(cranfield, run)
    assert about(found, "ties")[0]["message"].startswith("2 documents in 1 query ")
    assert about(found, "float32 ties")[0]["message"].startswith("2 documents")


def test_odd_grades_and_barren_topics_are_told(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("1 0 a 1\n1 0 b -2\n1 0 c 0.5\n2 0 a 0\n")
    found = findings(cranfield, qrels)
    assert about(found, "negative grades")[0]["line"] == 2
    assert about(found, "fractional grades")[0]["line"] == 3
    assert about(found, "no relevant document")[0]["line"] == 4


def test_ids_that_only_look_the_same_are_told(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("01 0 D7 1\n02 0 D8 1\n")
    run.write_text("1 Q0 d7 1 3 t\n2 Q0 d8 1 3 t\n")
    found = findings(cranfield, qrels, run)
    assert any("'01'" in finding["message"] and "'1'" in finding["message"] for finding in about(found, "query ids"))
    assert any("'D7'" in finding["message"] and "'d7'" in finding["message"] for finding in about(found, "doc ids"))


def test_swapped_columns_are_suspected(cranfield: Cranfield, tmp_path: Path) -> None:
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("".join(f"1 Q0 0.{i:03} {i} {1000 - i} t\n" for i in range(1, 30)))
    assert about(findings(cranfield, run), "swapped columns")
    run.write_text("".join(f"doc{i} Q0 1 {i} {1000 - i} t\n" for i in range(1, 30)))
    assert about(findings(cranfield, run), "swapped columns")
    qrels.write_text("".join(f"1 0 {i % 2} {1000 + i}\n" for i in range(30)))
    assert about(findings(cranfield, qrels, code=2), "swapped columns")


def test_cacm_is_not_taken_for_trec_qrels(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.text"
    qrels.write_text("01 1410  0 0\n01 1572  0 0\n02 0756  0 0\n")
    outcome = cranfield("check", qrels)
    assert outcome.code == 0
    assert "not TREC qrels" in outcome.out
    assert "2 queries, 3 judgments" in outcome.out
    assert "'01'" in outcome.out


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n", b"just some prose\nof no format at all, really\n"])
def test_what_is_nothing_is_unusable(cranfield: Cranfield, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert cranfield("check", tmp_path / "file").code == 2


def test_a_missing_file_does_not_stop_the_others(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    outcome = cranfield("check", tmp_path / "nothing", example / "qrels.txt")
    assert outcome.code == 2
    assert "no such file" in outcome.out
    assert "20 queries, 410 judgments" in outcome.out


def test_many_findings_of_a_kind_are_cut_short_unless_all_are_asked_for(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "run").write_text(
        "1 Q0 a 1 3 t\n" + "too short\n" * 40 + "".join(f"1 Q0 d{i} 2 1 t\n" for i in range(99))
    )
    short, long = cranfield("check", tmp_path / "run").out, cranfield("check", tmp_path / "run", "--all").out
    assert "and 35 more of this kind" in short
    assert long.count("expected 6 columns") == 40


def test_the_classic_collections_are_seen_for_what_they_are(cranfield: Cranfield, shared_data: Path) -> None:
    folder = shared_data / "classic"
    expected = {
        "cacm/qrels.text": ("qrels", "cacm"),
        "cisi/CISI.REL": ("qrels", "cacm"),
        "cran/cran.qrels": ("qrels", "cranfield"),
        "med/MED.REL": ("qrels", "trec"),
        "cacm/query.text": ("topics", "smart"),
        "cisi/CISI.QRY": ("topics", "smart"),
        "cran/cran.qry": ("topics", "smart"),
        "med/MED.QRY": ("topics", "smart"),
        "cacm/cacm.all": ("documents", "smart"),
        "med/MED.ALL": ("documents", "smart"),
    }
    outcome = cranfield("check", *(folder / name for name in expected), "--format", "json")
    found = [(entry["kind"], entry["format"]) for entry in json.loads(outcome.out)["files"]]
    assert found == list(expected.values())


def test_odd_files_are_unusable_with_lines(cranfield: Cranfield, shared_data: Path) -> None:
    for name, line in (("swapped_columns.run", 2), ("duplicate_docs.run", 140)):
        found = about(findings(cranfield, shared_data / "odd" / name, code=2), "duplicate")
        assert found[0]["line"] == line
    assert about(findings(cranfield, shared_data / "odd/swapped_columns.run", code=2), "swapped columns")
