"""cranfield pool-report."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

drawn = pytest.mark.skipif(find_spec("vl_convert") is None, reason="vl-convert-python is not installed")


def test_what_matters_is_printed_in_sentences(cranfield: Cranfield, small: Path) -> None:
    (small / "three.run").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 x 3 1 t\n2 Q0 a 1 9 t\n")
    result = cranfield("pool-report", small / "qrels", small / "two.run", small / "three.run", "-m", "AP")
    assert result.code == 0 and result.err == ""
    assert result.out.startswith("Pool of 2 runs to depth 2, 2 topics.\n\nPool      It has 4 documents, 2.0 a topic")
    assert "The depth is inferred: everything the runs retrieved down to rank 2" in " ".join(result.out.split())
    assert "two.run has no documents for 1 topic with judgments" in result.out


def test_the_depth_can_be_given(cranfield: Cranfield, small: Path) -> None:
    result = cranfield("pool-report", small / "qrels", small / "one.run", small / "two.run", "--depth", 1)
    assert "to depth 1" in result.out and "The depth is given." in result.out


def test_json_has_everything(cranfield: Cranfield, small: Path) -> None:
    files = [small / "qrels", small / "one.run", small / "two.run"]
    result = cranfield("pool-report", *files, "-m", "AP", "-m", "RR", "--depth", 2, "--format", "json", "--seed", 5)
    found = json.loads(result.out)
    assert found["measures"] == ["AP", "RR"] and found["seed"] == 5
    assert [run["unique"] for run in found["runs"]] == [3, 1]
    assert [side["judgments_removed"] for side in found["leave_one_out"]["runs"]] == [2, 1]
    assert [Path(one["file"]).name for one in found["inputs"]] == ["qrels", "one.run", "two.run"]
    assert {"tau", "tau_ap", "rmse"} <= set(found["budgets"]["curves"][0]["points"][0]["measures"][0])


def test_groups_are_from_a_file_or_by_a_pattern(cranfield: Cranfield, small: Path) -> None:
    files = [small / "qrels", small / "one.run", small / "two.run"]
    (small / "groups").write_text("one.run\tours\ntwo.run\tours\n")
    asked = ["pool-report", *files, "--depth", 2, "--format", "json"]
    by_file = json.loads(cranfield(*asked, "--groups", small / "groups").out)
    assert [(group["name"], group["runs"]) for group in by_file["groups"]] == [("ours", ["one.run", "two.run"])]
    assert by_file["leave_one_out"]["groups"][0]["judgments_removed"] == 4
    by_name = json.loads(cranfield(*asked, "--group-by", r"\.(run)$").out)
    assert [group["name"] for group in by_name["groups"]] == ["run"]
    both = cranfield("pool-report", *files, "--groups", small / "groups", "--group-by", "x")
    assert both.code == 2 and both.err == "cranfield: give --groups or --group-by, not both.\n"
    wrong = cranfield("pool-report", *files, "--group-by", "(")
    assert wrong.code == 2 and "is not a valid regular expression" in wrong.err


@drawn
def test_a_page_is_written_with_its_command(cranfield: Cranfield, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small)
    arguments = ["pool-report", "qrels", "one.run", "two.run", "-o", "pool.html"]
    monkeypatch.setattr(sys, "argv", ["cranfield", *arguments])
    result = cranfield(*arguments)
    assert result.out.endswith("with plots, is in pool.html.\n")
    page = (small / "pool.html").read_text()
    assert page.startswith("<!doctype html>") and "cranfield pool-report qrels one.run two.run -o pool.html" in page
    assert "http://" not in page.split("<main")[1].split("<script")[0]
    assert cranfield(*arguments, "--quiet").out == ""


@drawn
def test_nothing_but_the_page_goes_to_standard_output(cranfield: Cranfield, small: Path) -> None:
    result = cranfield("pool-report", small / "qrels", small / "one.run", "-o", "-")
    assert result.out.startswith("<!doctype html>") and result.out.endswith("</html>\n") and result.err == ""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--strategy", "nonsense"], "unknown strategy 'nonsense'"),
        (["-m", "nonsense"], "unknown measure"),
        (["-m", "Judged@10"], "Judged@10 is not a quality measure"),
        (["--groups", "nowhere.tsv"], "nowhere.tsv"),
    ],
)
def test_what_cannot_be_used_is_one_message(cranfield: Cranfield, small: Path, more: list[str], said: str) -> None:
    result = cranfield("pool-report", small / "qrels", small / "one.run", *more)
    assert result.code == 2 and said in result.err and result.out == "" and result.err.count("\n") == 1


def test_standard_input_can_be_named_once(cranfield: Cranfield) -> None:
    result = cranfield("pool-report", "-", "-")
    assert result.code == 2 and "given twice" in result.err


def test_runs_of_the_same_name_are_told_apart(cranfield: Cranfield, small: Path) -> None:
    (small / "b").mkdir()
    (small / "b" / "one.run").write_text((small / "two.run").read_text())
    result = cranfield("pool-report", small / "qrels", small / "one.run", small / "b" / "one.run", "--format", "json")
    assert [run["name"] for run in json.loads(result.out)["runs"]] == [f"{small.name}/one.run", "b/one.run"]


def test_a_document_that_stands_twice_is_as_asked(cranfield: Cranfield, small: Path) -> None:
    (small / "twice.run").write_text("1 Q0 a 1 3 t\n1 Q0 a 2 2 t\n")
    asked = ["pool-report", small / "qrels", small / "one.run", small / "twice.run"]
    refused = cranfield(*asked)
    assert refused.code == 2 and "--on-duplicate" in refused.err
    assert cranfield(*asked, "--on-duplicate", "first").code == 0


@drawn
@pytest.mark.parametrize("file", ["qrels", "one.run"])
def test_what_is_read_is_not_written_over(file: str, cranfield: Cranfield, small: Path) -> None:
    before = (small / file).read_bytes()
    done = cranfield("pool-report", small / "qrels", small / "one.run", "-o", small / file)
    assert done.code == 2 and "is an input and would be overwritten" in done.err
    assert (small / file).read_bytes() == before
