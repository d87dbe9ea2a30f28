"""cranfield agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("anna.qrels").write_text("1 0 a 2\n1 0 b 0\n2 0 a 1\n2 0 c 0\n")
    Path("ben.qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 1\n")
    Path("gpt.qrels").write_text("1 0 a 2\n1 0 b 1\n2 0 a 2\n")
    Path("one.run").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 a 1 9 t\n2 Q0 c 2 8 t\n")
    Path("two.run").write_text("1 Q0 b 1 3 t\n1 Q0 a 2 2 t\n2 Q0 c 1 9 t\n2 Q0 a 2 8 t\n")
    return tmp_path


def test_the_answer_comes_first(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("agree", "anna.qrels", "ben.qrels")
    assert done.code == 0 and done.err == ""
    assert done.out.startswith("anna and ben agree on 50 % of the 4 pairs that both judged (2 topics)")
    for title in ("Cohen's κ, quadratic", "Fleiss' κ", "Krippendorff's α, ordinal", "Gwet's AC2, linear", "By topic"):
        assert title in done.out
    assert all(len(line) <= 100 for line in done.out.splitlines())


def test_json_has_everything(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("agree", "a=anna.qrels", "b=ben.qrels", "--format", "json", "--scale", "0-3", "--seed", 3)
    found = json.loads(done.out)
    assert [one["name"] for one in found["assessors"]] == ["a", "b"] and found["scale"] == [0, 1, 2, 3]
    assert found["overall"]["figures"]["percent"] == {
        "value": 0.5,
        "low": 0.5,
        "high": 0.5,
        "pairs": 4,
        "note": "",
    }
    assert set(found["topics"]) == {"1", "2"} and found["intervals"]["seed"] == 3
    assert found["systems"] is None and len(found["assessors"][0]["sha256"]) == 64


def test_the_same_seed_gives_the_same_output(cranfield: Cranfield, judged: Path) -> None:
    outputs = {cranfield("agree", "anna.qrels", "ben.qrels", "--format", "json").out for _ in range(2)}
    assert len(outputs) == 1


def test_runs_may_be_named_after_one_another(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("agree", "anna.qrels", "ben.qrels", "--runs", "one.run", "two.run", "-m", "RR", "--format", "json")
    systems = json.loads(done.out)["systems"]
    assert systems["systems"] == ["one.run", "two.run"] and systems["measures"] == ["RR"]
    again = cranfield("agree", "anna.qrels", "--runs=one.run", "--runs", "two.run", "--format", "json", "ben.qrels")
    assert json.loads(again.out)["systems"]["systems"] == ["one.run", "two.run"]
    text = cranfield("agree", "anna.qrels", "ben.qrels", "--runs", "one.run", "two.run").out
    assert "nDCG@10 with each assessor's judgments" in text and "τ_AP" in text and "flipped" in text


def test_models_are_marked(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("agree", "anna.qrels", "ben.qrels", "--model", "gpt=gpt.qrels")
    assert "gpt (model)" in done.out and "than people in" in done.out
    named = cranfield("agree", "anna.qrels", "ben.qrels", "gpt.qrels", "--model", "gpt", "--format", "json")
    assert [one["model"] for one in json.loads(named.out)["assessors"]] == [False, False, True]


def test_models_alone_can_be_compared(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("agree", "--model", "gpt=gpt.qrels", "--model", "other=ben.qrels")
    assert done.code == 0 and done.out.startswith("gpt (model) and other (model) agree on")
    assert "All assessors are models" in done.out
    for arguments, number in (((), 0), (("--model", "gpt.qrels"), 1)):
        few = cranfield("agree", *arguments)
        assert few.code == 2 and f"expected the judgments of at least 2 assessors, found {number}" in few.err
    assert "expected the name of an assessor or a file" in cranfield("agree", "--model", "claude").err


def test_one_assessor_is_an_answer_and_no_error(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("agree", "anna.qrels")
    assert done.code == 0 and "There is only one assessor: agreement needs" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["anna.qrels", "no.qrels"], "no.qrels: there is no such file."),
        (["anna.qrels", "ben.qrels", "--scale", "0,1"], "anna gave 2 to document 'a' of query '1'"),
        (["anna.qrels", "ben.qrels", "--level", "2"], "level=2 is out of range"),
        (["anna.qrels", "ben.qrels", "--runs"], "--runs needs at least one run"),
        (["anna.qrels", "ben.qrels", "--runs", "-m", "AP"], "--runs needs at least one run"),
        (["anna.qrels", "ben.qrels", "--runs", "no.run"], "no.run: there is no such file."),
        (["anna.qrels", "ben.qrels", "--runs", "one.run", "two.run", "-m", "NDGC"], "unknown measure 'NDGC'"),
        (["anna.qrels", "--model", "claude"], "expected the name of an assessor"),
    ],
)
def test_what_is_wrong_is_said(cranfield: Cranfield, judged: Path, arguments: list[str], message: str) -> None:
    done = cranfield("agree", *arguments)
    assert done.code == 2 and message in done.err


def test_help_has_an_example(cranfield: Cranfield) -> None:
    assert "cranfield agree anna.qrels ben.qrels" in cranfield("agree", "--help").out
