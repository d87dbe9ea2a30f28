"""cranfield leaderboard: ranks on one split and on several."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield.reporting.comparison import FORMATS
from tests.cli.conftest import Cranfield

SPLITS = ("--on", "dev=qrels.txt:bm25.run,lm.run,titles.run", "--on", "test=qrels.txt:lm.run,bm25.run")


@pytest.fixture(autouse=True)
def in_the_example(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example)


def ranks(out: str) -> list[list[str]]:
    return [line.split()[:2] for line in out.splitlines() if line[:1] in "123456789–" and ".run" in line]


def test_systems_are_ranked_on_one_split(cranfield: Cranfield) -> None:
    done = cranfield("leaderboard", "qrels.txt", "bm25.run", "lm.run", "titles.run", "-m", "RR@10")
    assert done.code == 0
    assert ranks(done.out) == [["1", "lm.run"], ["2", "bm25.run"], ["3", "titles.run"]]
    assert "RR@10: rank of the mean, highest first; equal means share a rank." in done.out


def test_one_run_is_a_leaderboard(cranfield: Cranfield) -> None:
    done = cranfield("leaderboard", "qrels.txt", "lm.run")
    assert done.code == 0 and ranks(done.out) == [["1", "lm.run"]] and "nDCG@10: rank of the mean" in done.out


def test_what_is_no_share_is_not_said_to_be(cranfield: Cranfield) -> None:
    args = ("leaderboard", "qrels.txt", "lm.run", "bm25.run", "--percent", "-m")
    assert "Shares × 100" in cranfield(*args, "AP").out and "Shares × 100" not in cranfield(*args, "SearchLength").out


def test_a_system_that_lacks_a_split_has_no_rank(cranfield: Cranfield) -> None:
    done = cranfield("leaderboard", "-m", "RR@10", *SPLITS)
    assert ranks(done.out) == [["1", "lm.run"], ["2", "bm25.run"], ["–", "titles.run"]]
    assert "1 of 2" in done.out


def test_one_split_may_decide(cranfield: Cranfield) -> None:
    done = cranfield("leaderboard", "-m", "RR@10", *SPLITS, "--by", "dev")
    assert ranks(done.out) == [["1", "lm.run"], ["2", "bm25.run"], ["3", "titles.run"]]


def test_equal_means_share_a_rank(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "copy.run").write_text(Path("lm.run").read_text())
    done = cranfield("leaderboard", "qrels.txt", "bm25.run", "lm.run", tmp_path / "copy.run", "-m", "AP")
    assert ranks(done.out) == [["1", "lm.run"], ["1", "copy.run"], ["3", "bm25.run"]]


def test_the_lowest_is_first_where_less_is_better(cranfield: Cranfield) -> None:
    done = cranfield("leaderboard", "qrels.txt", "rm3.run", "lm.run", "-m", "SearchLength")
    assert ranks(done.out)[0] == ["1", "lm.run"] and "lowest first" in done.out


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_is_printed(cranfield: Cranfield, format_: str) -> None:
    done = cranfield("leaderboard", "-m", "RR@10", *SPLITS, "--format", format_, "--percent")
    assert done.code == 0 and "nan" not in done.out.lower()
    if format_ == "json":
        first = json.loads(done.out)["leaderboard"][0]
        assert first["system"] == "lm.run" and [split["rank"] for split in first["splits"]] == [1, 1]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("qrels.txt", "lm.run", "bm25.run", "-m", "AP RR"), "a leaderboard takes one measure, found 2: AP, RR."),
        (("qrels.txt", "lm.run", "-m", "AP", "-m", "RR"), "a leaderboard takes one measure, found 2: AP, RR."),
        (("qrels.txt", "lm.run", "bm25.run", "--by", "x"), "no split 'x' to rank by: the scores are of one collection"),
        ((*SPLITS, "--by", "x"), "no split 'x' to rank by: expected one of dev, test."),
        ((), "expected QRELS and at least one RUN"),
    ],
)
def test_errors_say_what_to_do(cranfield: Cranfield, args: tuple[str, ...], message: str) -> None:
    done = cranfield("leaderboard", *args)
    assert done.code == 2 and message in done.err
