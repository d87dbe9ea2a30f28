"""Judgments by the name and folder of their collection, wherever a command takes qrels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

RUN = "1 Q0 2 1 2.0 a\n1 Q0 1 2 1.0 a\n"
OTHER = "1 Q0 1 1 2.0 b\n1 Q0 9 2 1.0 b\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "qrels.text").write_text("01 0001 0 0\n")
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "b.run").write_text(OTHER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("eval", "QRELS", "a.run", "-m", "RR", "--format", "tsv"),
        ("gate", "QRELS", "a.run", "b.run", "--format", "json"),
        ("explain", "RR", "QRELS", "a.run", "--query", "1"),
        ("compare", "QRELS", "a.run", "b.run", "-m", "RR", "--format", "json"),
        ("conventions", "RR", "QRELS", "a.run", "--format", "json"),
        ("pool-report", "QRELS", "a.run", "b.run", "-m", "AP", "--format", "json"),
        ("qrels", "stats", "QRELS", "--format", "json"),
        ("recall-estimate", "QRELS", "--plan", "--docs", "3204"),
    ],
    ids=lambda command: command[0],
)
def test_a_collections_name_stands_for_its_judgments(
    cranfield: Cranfield, here: Path, command: tuple[str, ...]
) -> None:
    by_name = cranfield(*("cacm:data" if word == "QRELS" else word for word in command))
    files = ("data/qrels.text" if word == "QRELS" else word for word in command)
    by_file = cranfield(*files, "--qrels-format", "cacm")
    assert (by_name.code, by_name.out) == (by_file.code, by_file.out) and by_name.out
    assert by_name.err.count("Every pair listed in the judgments is relevant (grade 1)") == 1


def test_what_is_odd_about_a_collection_is_said_unless_all_is_to_be_quiet(cranfield: Cranfield, here: Path) -> None:
    assert "Note: Ids that the judgments pad with zeros" in cranfield("eval", "cacm:data", "a.run").err
    assert cranfield("eval", "cacm:data", "a.run", "--quiet").err == ""


def test_a_collection_without_judgments_or_with_a_format_is_an_error(cranfield: Cranfield, here: Path) -> None:
    (here / "empty").mkdir()
    missing = cranfield("eval", "cacm:empty", "a.run")
    assert missing.code == 2 and "there are no judgments in this folder. Expected qrels.text" in missing.err
    double = cranfield("eval", "cacm:data", "a.run", "--qrels-format", "trec")
    assert double.code == 2 and "--qrels-format trec is for files" in double.err


def test_a_file_whose_name_looks_like_a_collections_is_read(cranfield: Cranfield, here: Path) -> None:
    (here / "cacm:data").write_text("1 0 2 1\n")
    found = cranfield("eval", "cacm:data", "a.run", "-m", "RR", "--format", "tsv", "-q")
    assert found.code == 0 and "1.0" in found.out
