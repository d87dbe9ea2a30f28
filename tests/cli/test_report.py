"""cranfield report."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.bench_file import bench
from tests.cli.conftest import Cranfield

drawn = pytest.mark.skipif(find_spec("vl_convert") is None, reason="vl-convert-python is not installed")


@drawn
def test_a_report_is_written_and_its_finding_printed(cranfield: Cranfield, small: Path) -> None:
    result = cranfield("report", str(small / "qrels"), str(small / "one.run"), "-o", str(small / "x.html"), "-m", "P@2")
    assert result.code == 0 and result.err == ""
    assert result.out == f"{small / 'x.html'}: one.run has P@2 0.5000\n"
    assert (small / "x.html").read_text().startswith("<!doctype html>")


@drawn
def test_report_html_is_the_usual_name(cranfield: Cranfield, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small)
    assert cranfield("report", "qrels", "one.run", "two.run", "--quiet").out == ""
    assert (small / "report.html").exists()


@drawn
def test_nothing_but_the_page_goes_to_standard_output(cranfield: Cranfield, small: Path) -> None:
    result = cranfield("report", str(small / "qrels"), str(small / "one.run"), "-o", "-")
    assert result.out.startswith("<!doctype html>") and result.out.endswith("</html>\n")
    assert result.err == "one.run has nDCG@10 0.6956\n"


@drawn
def test_the_command_and_its_options_are_in_the_page(
    cranfield: Cranfield, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small)
    arguments = ["report", "qrels", "one.run", "two.run", "--rel", "2", "--seed", "7", "--missing", "skip"]
    monkeypatch.setattr(sys, "argv", ["cranfield", *arguments])
    cranfield(*arguments)
    page = (small / "report.html").read_text()
    assert "cranfield report qrels one.run two.run --rel 2 --seed 7 --missing skip" in page
    assert "<dt>rel</dt><dd>2</dd>" in page and "<dt>missing</dt><dd>skip</dd>" in page
    assert "1 query without judgments, left out" in page


@drawn
@pytest.mark.parametrize("baseline", ["one.run", "./one.run"])
def test_a_baseline_is_told_by_file_or_by_name(
    cranfield: Cranfield, small: Path, monkeypatch: pytest.MonkeyPatch, baseline: str
) -> None:
    monkeypatch.chdir(small)
    assert cranfield("report", "qrels", "two.run", "one.run", "--baseline", baseline).code == 0
    page = (small / "report.html").read_text()
    assert "Differences from one.run" in page and page.count('<tr data-system="one.run"') >= 1
    assert "2 systems on 2 topics" in page


@drawn
def test_a_baseline_that_is_none_of_the_runs_is_evaluated_too(
    cranfield: Cranfield, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small)
    assert cranfield("report", "qrels", "two.run", "--baseline", "one.run").code == 0
    assert "Differences from one.run" in (small / "report.html").read_text()


@drawn
def test_an_unknown_baseline_is_an_error(cranfield: Cranfield, small: Path) -> None:
    result = cranfield("report", str(small / "qrels"), str(small / "one.run"), "--baseline", "three")
    assert result.code == 2 and "--baseline three: neither a file nor one of the runs: one.run." in result.err


@drawn
def test_texts_are_shown(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    runs = [str(example / f"{name}.run") for name in ("bm25", "lm")]
    texts = ["--topics", str(example / "topics.xml"), "--documents", str(example / "documents.jsonl")]
    result = cranfield("report", str(example / "qrels.txt"), *runs, *texts, "-o", str(tmp_path / "x.html"))
    assert result.code == 0
    page = (tmp_path / "x.html").read_text()
    assert "Taking your bike on the train" in page and "taking trains and planes" in page


def test_a_missing_extra_is_one_clear_line(cranfield: Cranfield, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    result = cranfield("report", str(small / "qrels"), str(small / "one.run"))
    assert result.code == 2 and result.out == ""
    assert re.fullmatch(r"cranfield: a report needs an extra: pip install 'cranfield\[plots\]'\n", result.err)


def test_standard_input_is_read_once(cranfield: Cranfield, small: Path) -> None:
    result = cranfield("report", "-", "-", "-o", str(small / "x.html"))
    assert result.code == 2 and "'-' is given twice" in result.err


@drawn
def test_costs_are_put_beside_the_runs_and_nothing_is_dropped_in_silence(cranfield: Cranfield, small: Path) -> None:
    costs = bench(small, one=2.0, three=1.0)
    runs = (small / "one.run", small / "two.run")
    result = cranfield("report", small / "qrels", *runs, "--costs", costs, "-o", small / "x.html")
    page = (small / "x.html").read_text()
    assert result.code == 0 and 'id="efficiency"' in page and "Abacus" in page
    assert "No costs were measured for two.run." in page
    assert "Measured, but matching no run by name or tag: three." in page
    cranfield("report", small / "qrels", *runs, "-o", small / "x.html")
    assert 'id="efficiency"' not in (small / "x.html").read_text()


@drawn
def test_costs_that_are_none_are_told_before_any_work(cranfield: Cranfield, small: Path) -> None:
    result = cranfield("report", small / "qrels", small / "one.run", "--costs", small / "one.run")
    assert (
        result.code == 2 and "one.run: not JSON: expected the output of `cranfield bench --format json`" in result.err
    )
    result = cranfield("report", small / "qrels", small / "one.run", "--costs", small / "none.json")
    assert result.code == 2 and "none.json: there is no such file." in result.err
