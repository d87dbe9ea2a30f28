"""cranfield judge: a pool judged by lines, as in a pipe."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cranfield.annotation import open_log
from cranfield.pooling.pool import Pool, write_pool
from tests.cli.conftest import Cranfield, Outcome

Judge = Callable[..., Outcome]


@pytest.fixture
def judge(example: Path, tmp_path: Path, cranfield: Cranfield, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Judge five documents of the example by lines of input."""
    for name in ("topics.xml", "documents.jsonl"):
        shutil.copy(example / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    write_pool(Pool({"1": ("b003", "b050", "b040"), "2": ("b001", "b002")}), "pool.jsonl")

    def call(*lines: str, more: tuple[str, ...] = ()) -> Outcome:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return cranfield("judge", "pool.jsonl", "--topics", "topics.xml", "--documents", "documents.jsonl", *more)

    return call


def test_judging_goes_on_where_it_stopped(judge: Judge) -> None:
    first = judge("2", "q", more=("--assessor", "ada"))
    assert first.code == 0 and "Topic 1 (topic 1 of 2): puncture repair" in first.out
    assert "Document 2 of 3, 2 left" in first.out
    assert first.err == "1 document judged; to write qrels: cranfield judgments export pool.judgments.db\n"
    second = judge(*"0000", more=("--assessor", "ada"))
    assert "Document 2 of 3, 2 left" in second.out and "Everything is judged." in second.out
    assert judge(more=("--assessor", "ada")).out == "Everything is judged.\n"


def test_two_people_share_the_log(judge: Judge) -> None:
    judge("2", "2", more=("--assessor", "ada"))
    bob = judge(*"111", more=("--assessor", "bob", "--quiet"))
    assert "Everything is judged." in bob.out or "others are looking at" in bob.out
    with open_log("pool.judgments.db") as log:
        judged = [(one.query, one.doc) for one in log.judgments()]
        assert len(judged) == len(set(judged))


def test_grades_and_guidelines_are_ones_own(judge: Judge, tmp_path: Path) -> None:
    (tmp_path / "grades.tsv").write_text("0\tno\n1\tyes\tIt answers.\n")
    (tmp_path / "guide.txt").write_text("Read all of it.\n")
    done = judge("g", "1", "2", more=("--grades", "grades.tsv", "--guidelines", "guide.txt"))
    assert "1  yes: It answers." in done.out and "Read all of it." in done.out and "'2' is not a key" in done.out
    (tmp_path / "grades.tsv").write_text("0 no\n")
    wrong = judge(more=("--grades", "grades.tsv"))
    assert (
        wrong.code == 2 and "grades.tsv, line 1: expected grade<TAB>label<TAB>definition, found 1 columns" in wrong.err
    )


def test_texts_that_are_missing_are_named(judge: Judge) -> None:
    write_pool(Pool({"1": ("b003", "zzz"), "99": ("b001",)}), "pool.jsonl")
    done = judge("q")
    assert "Warning: 1 topic without a text: '99'." in done.err
    assert "Warning: 1 document without a text: 'zzz'." in done.err
    write_pool(Pool({"1": ("x", "y")}), "other.jsonl")
    Path("pool.judgments.db").unlink()
    shutil.copy("other.jsonl", "pool.jsonl")
    wrong = judge("q")
    assert wrong.code == 2 and "none of the documents in the pool is here" in wrong.err


def test_what_cannot_be_used_is_said(judge: Judge, cranfield: Cranfield) -> None:
    assert (
        "needs a log: --log FILE"
        in cranfield("judge", "-", "--topics", "topics.xml", "--documents", "documents.jsonl").err
    )
    Path("pool.jsonl").write_text("nothing\n")
    wrong = judge("q")
    assert wrong.code == 2 and "pool.jsonl" in wrong.err and "Traceback" not in wrong.err


@pytest.mark.parametrize("last", ["q", "2"])
def test_who_leaves_holds_nothing_back_from_others(judge: Judge, last: str) -> None:
    judge(last, more=("--assessor", "ada"))
    with open_log("pool.judgments.db") as log:
        assert log.read(lambda at: at.rows("SELECT * FROM holds")) == []
