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
    (found,) = about(findings(cranfield, run), "reading")
    assert found["line"] == 2
    assert "'second' is no whole number" in found["message"]


def test_words_after_the_tag_are_told_with_the_first_line(cranfield: Cranfield, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t and more\n1 Q0 c 3 1 t and more\n")
    (found,) = about(findings(cranfield, run), "reading")
    assert (found["line"], found["count"]) == (2, 2)
    assert "First in line 2." in cranfield("check", run).out


def test_scores_that_hardly_differ_are_shown_in_full(cranfield: Cranfield, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("1 Q0 a 1 0.12345678 t\n1 Q0 b 2 0.12345679 t\n")
    (found,) = about(findings(cranfield, run), "rank column")
    assert (
        "has score 0.12345679, above the 0.12345678 of rank 1; ranks and scores disagree at 1 place."
        in found["message"]
    )


def test_ties_are_counted_in_both_precisions(cranfield: Cranfield, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("1 Q0 a 1 5 t\n1 Q0 b 2 5 t\n2 Q0 a 1 16777217 t\n2 Q0 b 2 16777216 t\n")
    found = findings(cranfield, run)
    assert about(found, "ties")[0]["message"].startswith("2 documents in 1 query ")
    assert about(found, "ties")[0]["line"] == 1
    assert about(found, "float32 ties")[0]["message"].startswith("2 documents")
    assert about(found, "float32 ties")[0]["line"] == 3


def test_odd_grades_and_barren_topics_are_told(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("1 0 a 1\n1 0 b -2\n1 0 c 0.5\n2 0 a 0\n")
    found = findings(cranfield, qrels)
    assert about(found, "negative grades")[0]["line"] == 2
    assert about(found, "fractional grades")[0]["line"] == 3
    assert about(found, "no relevant document")[0]["line"] == 4
    assert about(found, "negative grades")[0]["message"].startswith("1 negative grade (-2)")
    assert about(found, "fractional grades")[0]["message"].startswith("1 fractional grade (0.5)")


def test_a_topic_has_a_relevant_document_from_grade_1_on(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("2 0 a 1\n10 0 c -1\n1 0 b 0.5\n")
    (found,) = about(findings(cranfield, qrels), "no relevant document")
    assert (found["line"], found["count"]) == (2, 2)


def test_ids_that_only_look_the_same_are_told(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("01 0 D7 1\n02 0 D8 1\n")
    run.write_text("1 Q0 d7 1 3 t\n2 Q0 d8 1 3 t\n")
    found = findings(cranfield, qrels, run, code=2)
    overlap, alike = about(found, "query ids")
    assert overlap["level"] == "error"
    assert "'01'" in alike["message"] and "'1'" in alike["message"]
    assert any("'D7'" in finding["message"] and "'d7'" in finding["message"] for finding in about(found, "doc ids"))


def test_ids_that_look_alike_come_with_the_line_of_the_first(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("1 0 c 1\n1 0 E 1\n1 0 D 1\n")
    run.write_text("1 Q0 d 1 3 t\n1 Q0 e 2 2 t\n")
    (found,) = [
        finding for finding in about(findings(cranfield, qrels, run), "doc ids") if "looks like" in finding["message"]
    ]
    assert (found["line"], found["count"], found["file"]) == (2, 2, str(qrels))
    assert f"First in {qrels}, line 2." in cranfield("check", qrels, run).out


def test_qrels_and_a_run_without_a_common_query_are_of_no_use_together(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("1 0 a 1\n")
    run.write_text("x Q0 a 1 3 t\n")
    assert cranfield("check", qrels, run).code == cranfield("eval", qrels, run).code == 2


@pytest.mark.parametrize(
    ("content", "columns", "line"),
    [
        ("".join(f"1 Q0 0.{i:03} {i} {1000 - i} t\n" for i in range(1, 30)), "doc and score", 2),
        ("".join(f"doc{i} Q0 1 {i} {1000 - i} t\n" for i in range(1, 30)), "query and doc", 2),
        ("d1 Q0 q1 1 3 t\nd2 Q0 q1 2 2 t\nd3 Q0 q1 3 1 t\n", "query and doc", 2),
        ("q1 Q0 a 9.5 1 t\nq1 Q0 b 7.25 2 t\nq2 Q0 a 3 1 t\n", "rank and score", 2),
        ("q1 Q0 a 9 1 t\nq1 Q0 b 7.25 2 t\nq1 Q0 c 7 3 t\n", "rank and score", 3),
        ("q1 Q0 a 90 1 t\nq1 Q0 b 70 2 t\nq1 Q0 c 3 3 t\n", "rank and score", 2),
        ("q1 Q0 1 FT1 9.5 t\nq1 Q0 2 FT2 8 t\nq2 Q0 1 FT3 9 t\n", "doc and rank", 2),
        ("q1 Q0 1 817 9.5 t\nq1 Q0 2 31 8 t\nq2 Q0 1 4 9 t\n", "doc and rank", 2),
    ],
)
def test_swapped_columns_of_a_run_are_suspected(
    cranfield: Cranfield, tmp_path: Path, content: str, columns: str, line: int
) -> None:
    run = tmp_path / "run"
    run.write_text("# a comment\n" + content)
    (found,) = about(findings(cranfield, run), "swapped columns")
    assert columns in found["message"]
    assert found["line"] == line


@pytest.mark.parametrize(
    "content",
    [
        "1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n3 Q0 a 1 3 t\n4 Q0 a 1 3 t\n",  # one document a query
        "1 Q0 1 1 3 t\n1 Q0 2 2 2 t\n1 Q0 3 3 1 t\n",  # documents that are numbered, in order
        "1 Q0 c 3 1 t\n1 Q0 b 2 2 t\n1 Q0 a 1 3 t\n",  # worst first
    ],
)
def test_columns_that_are_in_place_are_not_suspected(cranfield: Cranfield, tmp_path: Path, content: str) -> None:
    (tmp_path / "run").write_text(content)
    assert not about(findings(cranfield, tmp_path / "run"), "swapped columns")


def test_swapped_columns_of_qrels_are_suspected(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("\n" + "".join(f"1 0 {i % 2} {1000 + i}\n" for i in range(30)))
    (found,) = about(findings(cranfield, qrels, code=2), "swapped columns")
    assert found["line"] == 2
    qrels.write_text("1 d1 0 1\n1 d2 0 0\n")
    (found,) = findings(cranfield, qrels, code=2)
    assert "iteration and doc columns are swapped" in found["message"]


def test_a_run_whose_queries_are_the_documents_of_the_qrels_is_swapped(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d2 1\n")
    run.write_text("# swapped\nd1 Q0 q1 1 2 t\nd2 Q0 q1 2 1 t\nd2 Q0 q2 1 1 t\n")
    (found,) = about(findings(cranfield, qrels, run, code=2), "swapped columns")
    assert (found["line"], found["file"]) == (2, str(run))


def test_a_run_without_tag_is_called_so(cranfield: Cranfield, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("1 Q0 a 1 3\n1 Q0 b 2 2\n1 Q0 c 3 1\n")
    (found,) = findings(cranfield, run, code=2)
    assert "a run whose tag is missing" in found["message"]


def test_every_mistake_in_topics_and_documents_is_listed(cranfield: Cranfield, tmp_path: Path) -> None:
    files = {
        "topics.jsonl": '{"_id": "1", "text": "a"}\nnonsense\n{"_id": "2"}\n{"text": "b"}\n{"_id": "1", "text": "c"}\n',
        "docs.tsv": "1\ta wing\n\n2\ta\tb\n3\n1\tb c\n4\t\n",
        "docs.csv": "id,title,text\n1,a,b\n2,a\n3,,\n1,a,b\n",
        "docs.smart": ".I 1\n.T\nx\n.W\na\n.I 2\nstray\n.W\n.I\n.W\nb\n.I 1\n.T\nx\n.W\na\n",
        "topics.xml": "<topic number='1'><query>a</query></topic>\n<topic><query>a</query></topic>\n"
        "<topic number='2'></topic>\n<topic number='1'><query>a</query></topic>\n",
    }
    expected = {
        "topics.jsonl": [("unreadable", 2), ("unreadable", 3), ("unreadable", 4), ("repeated id", 5)],
        "docs.tsv": [("unreadable", 3), ("unreadable", 4), ("repeated id", 5), ("empty text", 6)],
        "docs.csv": [("unreadable", 3), ("empty text", 4), ("repeated id", 5)],
        "docs.smart": [("unreadable", 7), ("unreadable", 9), ("empty text", 6), ("repeated id", 12)],
        "topics.xml": [("unreadable", 2), ("unreadable", 3), ("repeated id", 4)],
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
        outcome = cranfield("check", tmp_path / name, "--format", "json", "--kind", _kind_of(name))
        (checked,) = json.loads(outcome.out)["files"]
        assert outcome.code == 2
        assert [(finding["about"], finding["line"]) for finding in checked["findings"]] == expected[name], name


def _kind_of(name: str) -> str:
    return "topics" if name.startswith("topics") else "documents"


def test_a_repeated_document_is_told_with_both_lines(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"_id": "1", "title": "t", "text": "a"}\n' * 2)
    (found,) = findings(cranfield, tmp_path / "docs.jsonl", code=2)
    assert found["line"] == 2
    assert "first in line 1" in found["message"]


def test_formats_can_be_named_for_each_kind(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("1 a 1\n1 b 4\n")
    run.write_text("1 a 5\n1 b 7\n")
    options = ("--qrels-format", "cranfield", "--format", "json")
    outcome = cranfield("check", qrels, *options)
    assert [file["format"] for file in json.loads(outcome.out)["files"]] == ["cranfield"]
    outcome = cranfield("check", run, "--run-format", "msmarco", "--format", "json")
    assert [file["kind"] for file in json.loads(outcome.out)["files"]] == ["run"]
    assert outcome.code == 0
    assert cranfield("check", run).code == cranfield("eval", qrels, run).code == 2
    assert "--run-format" in cranfield("check", "--help").out


def test_findings_in_json_and_parquet_name_records(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"q": {"a": 1.5, "b": 1.5, "c": 0.5}}')
    (found,) = about(findings(cranfield, tmp_path / "run.json"), "ties")
    assert (found["line"], found["record"]) == (None, 1)
    assert "First in record 1." in cranfield("check", tmp_path / "run.json").out


def test_cranfields_numbers_are_explained(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels, topics, run = tmp_path / "qrels", tmp_path / "topics", tmp_path / "run"
    qrels.write_text("1 184 2\n1 29 -1\n2 12 3\n2 13 -1\n3 5 1\n3 6 -1\n")
    topics.write_text(".I 001\n.W\na\n.I 002\n.W\nb\n.I 004\n.W\nc\n")
    run.write_text("001 Q0 184 1 3 t\n004 Q0 5 1 3 t\n")
    found = about(findings(cranfield, qrels, topics), "query ids")
    (explained,) = found
    assert "from 1 to 3 in the order of the query file" in explained["message"]
    assert "Query '3' of the qrels is the one with id '004'" in explained["message"]
    _, explained = about(findings(cranfield, qrels, run, code=2), "query ids")
    assert "in the order of the query file" in explained["message"]


def test_cranfields_own_files_are_explained(cranfield: Cranfield, shared_data: Path) -> None:
    folder = shared_data / "classic/cran"
    (found,) = about(findings(cranfield, folder / "cran.qrels", folder / "cran.qry"), "query ids")
    assert "from 1 to 225 in the order of the query file" in found["message"]
    assert "looks like" not in found["message"]


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
    assert "30 queries, 1,653 judgments" in outcome.out


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
