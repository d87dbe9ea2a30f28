"""cranfield plot, as a user calls it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from cranfield.reporting.plots import PLOT_KINDS
from tests.cli.bench_file import bench
from tests.cli.conftest import Cranfield

RUNS = ("bm25.run", "lm.run", "lsi.run")


@pytest.fixture
def files(example: Path) -> list[Path]:
    return [example / name for name in ("qrels.txt", *RUNS)]


def test_help_lists_every_kind_with_a_line(cranfield: Cranfield) -> None:
    outcome = cranfield("plot", "--help")
    assert outcome.code == 0
    for kind, about in PLOT_KINDS.items():
        assert re.search(rf"^ +{kind} +{re.escape(about)}$", outcome.out, re.M), kind
    assert max(map(len, outcome.out.split("Options:")[0].splitlines())) <= 80


@pytest.mark.parametrize("kind", PLOT_KINDS)
def test_every_kind_is_written_and_said_in_a_sentence(
    kind: str, cranfield: Cranfield, files: list[Path], tmp_path: Path
) -> None:
    target = tmp_path / "picture.json"
    needed = {"gain": ("--query", "3"), "pareto": ("--costs", bench(tmp_path, bm25=0.2, lm=0.5, lsi=0.4))}
    more = needed.get(kind, ())
    outcome = cranfield("plot", kind, *([] if kind == "weights" else files), *more, "-o", target)
    assert outcome.code == 0, outcome.err
    spec = json.loads(target.read_text())
    assert outcome.out == f"{target}: {spec['description']}\n"
    assert spec["$schema"].endswith("vega-lite/v5.json") and "url" not in spec.get("data", {})


def test_remarks_go_to_standard_error_and_quiet_says_nothing(
    cranfield: Cranfield, example: Path, tmp_path: Path
) -> None:
    command = ("plot", "means", example / "qrels.txt", example / "titles.run", "-o", tmp_path / "x.json")
    outcome = cranfield(*command)
    assert "30 queries evaluated, 0 in the run have no judgments, 7 missing (count as 0)." in outcome.err
    quiet = cranfield(*command, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_the_name_of_the_file_or_an_option_says_the_format(
    cranfield: Cranfield, files: list[Path], tmp_path: Path
) -> None:
    pytest.importorskip("vl_convert")
    for name, start in (("x.svg", b"<svg"), ("x.png", b"\x89PNG"), ("x.pdf", b"%PDF"), ("x.HTML", b"<!doctype html>")):
        assert cranfield("plot", "means", *files, "-o", tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes().startswith(start)
    assert cranfield("plot", "means", *files, "-o", tmp_path / "y", "--format", "json").code == 0
    assert json.loads((tmp_path / "y").read_text())["title"]


def test_a_picture_on_standard_output_is_alone_there(cranfield: Cranfield, files: list[Path]) -> None:
    pytest.importorskip("vl_convert")
    outcome = cranfield("plot", "boxes", *files, "-o", "-")
    assert outcome.out.startswith("<svg") and outcome.out.rstrip().endswith("</svg>")
    assert "Spread of nDCG@10 over 30 topics" in outcome.err
    assert json.loads(cranfield("plot", "boxes", *files, "-o", "-", "--format", "json").out)["title"]


def test_png_has_the_resolution_asked_for(cranfield: Cranfield, files: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    widths = []
    for dpi in (72, 144):
        cranfield("plot", "means", *files, "--dpi", dpi, "-o", tmp_path / "x.png")
        widths.append(int.from_bytes((tmp_path / "x.png").read_bytes()[16:20], "big"))
    assert widths[1] == pytest.approx(2 * widths[0], abs=2)


def test_measures_are_taken_one_or_several(cranfield: Cranfield, files: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    assert "Means of AP, RR for 3 systems" in cranfield("plot", "means", *files, "-m", "AP RR", "-o", target).out
    assert "P@5 against R@5 of" in cranfield("plot", "plane", *files, "-m", "P@5", "-m", "R@5", "-o", target).out
    assert "RR@k over k of" in cranfield("plot", "cutoffs", *files, "-m", "RR", "-o", target).out
    assert "Heat map of P_5 of" in cranfield("plot", "heatmap", *files, "-m", "P.5", "-o", target).out
    several = cranfield("plot", "heatmap", *files, "-m", "P.5,10", "-o", target)
    assert several.code == 2 and "heatmap takes one measure, found 2: P_5, P_10." in several.err


def test_the_baseline_is_a_run_its_name_or_a_further_file(
    cranfield: Cranfield, files: list[Path], tmp_path: Path
) -> None:
    qrels, bm25, lm, _ = files
    target = tmp_path / "x.json"
    for arguments in (
        (bm25, lm),
        (lm, bm25, "--baseline", bm25),
        (lm, bm25, "--baseline", "bm25.run"),
        (lm, "--baseline", bm25),
    ):
        outcome = cranfield("plot", "differences", qrels, *arguments, "-o", target)
        assert "lm.run is better than bm25.run on 21 of 30 topics" in outcome.out, arguments
    unknown = cranfield("plot", "differences", qrels, lm, bm25, "--baseline", "rm3", "-o", target)
    assert unknown.code == 2 and "no run 'rm3' among these: they are 'lm.run', 'bm25.run'." in unknown.err


def test_runs_of_the_same_name_keep_apart(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    for folder, name in (("one", "bm25"), ("two", "lm")):
        (tmp_path / folder).mkdir()
        shutil.copy(example / f"{name}.run", tmp_path / folder / "my.run")
    runs = [tmp_path / folder / "my.run" for folder in ("one", "two")]
    command = ("plot", "scatter", example / "qrels.txt", *runs, "-o", tmp_path / "x.json")
    assert "two/my.run is better than one/my.run on 21 of 30" in cranfield(*command).out
    assert "one/my.run is better than two/my.run on 8 of 30" in cranfield(*command, "--baseline", runs[1]).out


def test_conventions_are_those_of_eval(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    command = ("plot", "means", example / "qrels.txt", example / "titles.run", "-o", tmp_path / "x.json", "--quiet")
    means = []
    for options in ((), ("--missing", "skip"), ("--mean", "median"), ("-m", "AP", "--rel", "2")):
        assert cranfield(*command, *options).code == 0
        means.append(json.loads((tmp_path / "x.json").read_text())["title"]["text"][0])
    assert means[:2] == [
        "titles.run has a mean nDCG@10 of 0.1718",
        "titles.run has a mean nDCG@10 of 0.2241",
    ]
    assert len(set(means)) == 4


def test_one_query_of_a_curve_and_of_gain(cranfield: Cranfield, files: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    for kind in ("precision-recall", "gain"):
        assert "for topic 7" in cranfield("plot", kind, *files, "--query", "7", "-o", target).out
        unknown = cranfield("plot", kind, *files, "--query", "77", "-o", target)
        assert unknown.code == 2
        assert "cranfield: no query '77' is judged: there are '7', '1', '2', '3', '4' and 25 more." in unknown.err
    without = cranfield("plot", "gain", *files, "-o", target)
    assert without.code == 2 and "name it with --query, e.g. '1', '2', '3' and 27 more." in without.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("heatmp", "Q", "R", "-o", "x.svg"), "unknown kind of plot 'heatmp'. Did you mean heatmap? Choose from"),
        (("heatmap", "Q", "R"), "name a file for the plot: -o heatmap.svg, or .png, .pdf, .html, .json."),
        (("heatmap", "Q", "R", "-o", "x.gif"), "x.gif: unknown suffix for a plot: expected one of .svg"),
        (
            ("heatmap", "-o", "x.json"),
            "heatmap needs judgments and a run: cranfield plot heatmap QRELS RUN... -o FILE.",
        ),
        (("heatmap", "Q", "-o", "x.json"), "heatmap needs judgments and a run"),
        (
            ("heatmap", "Q", "R", "--query", "1", "-o", "x.json"),
            "heatmap takes no --query; it is for precision-recall, gain.",
        ),
        (
            ("means", "Q", "R", "--baseline", "R", "-o", "x.json"),
            "means takes no --baseline; it is for differences, scatter.",
        ),
        (("precision-recall", "Q", "R", "-m", "AP", "-o", "x.json"), "precision-recall takes no -m"),
        (
            ("pareto", "Q", "R", "-o", "x.json"),
            "pareto needs --costs FILE, as written by cranfield bench --format json.",
        ),
        (("means", "Q", "R", "--costs", "b.json", "-o", "x.json"), "means takes no --costs; it is for pareto."),
        (("pareto", "Q", "R", "--costs", "b.json", "-o", "x.json"), "b.json: there is no such file."),
        (("heatmap", "Q", "no.run", "-o", "x.json"), "no.run: there is no such file."),
        (("heatmap", "-", "-", "-o", "x.json"), "'-' is given twice"),
        (("heatmap", "Q", "R", "-m", "nDGC", "-o", "x.json"), "unknown measure 'nDGC'. Did you mean nDCG?"),
        (("differences", "Q", "R", "-o", "x.json"), "two runs or more are needed"),
        (("weights", "-m", "AP", "-o", "x.json"), "AP gives ranks no weight of their own"),
        (("means", "Q", "R", "--level", "95", "-o", "x.json"), "level 95 is out of range"),
        (("means", "Q", "R", "-o", "no/such/folder/x.json"), "no/such/folder/x.json: cannot be written"),
    ],
)
def test_errors_say_what_to_do_and_write_nothing(
    arguments: tuple[str, ...],
    message: str,
    cranfield: Cranfield,
    files: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    named = {"Q": str(files[0]), "R": str(files[1])}
    outcome = cranfield("plot", *(named.get(word, word) for word in arguments))
    assert outcome.code == 2 and message in outcome.err and outcome.out == ""
    assert list(tmp_path.iterdir()) == []


def test_weights_say_that_files_are_not_read(cranfield: Cranfield, files: list[Path], tmp_path: Path) -> None:
    outcome = cranfield("plot", "weights", *files, "-o", tmp_path / "x.json")
    assert outcome.code == 0 and "the files are not read" in outcome.err


def test_a_missing_extra_is_named_before_any_work(
    cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    outcome = cranfield("plot", "means", "no.qrels", "no.run", "-o", tmp_path / "x.svg")
    assert outcome.code == 2 and outcome.out == ""
    assert outcome.err == "cranfield: a picture that is not .json needs an extra: pip install 'cranfield[plots]'\n"


def test_a_file_that_is_there_stays_until_the_new_one_is_complete(
    cranfield: Cranfield, files: list[Path], tmp_path: Path
) -> None:
    target = tmp_path / "x.json"
    target.write_text("old")
    assert cranfield("plot", "gain", *files, "-o", target).code == 2
    assert target.read_text() == "old"
    assert cranfield("plot", "means", *files, "-o", target).code == 0
    assert json.loads(target.read_text())["title"] and len(list(tmp_path.iterdir())) == 1
