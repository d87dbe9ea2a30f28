"""cranfield compare: what it reads, its defaults, its formats, its errors."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cranfield.cli.compare import parse_collection
from cranfield.errors import InputError
from cranfield.reporting.comparison import FORMATS
from cranfield.stats import CORRECTIONS, TESTS
from tests.cli.conftest import Cranfield

RUNS = ("tfidf.run", "lsi.run", "bm25.run", "titles.run")


@pytest.fixture(autouse=True)
def in_the_example(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example)


def test_two_runs_are_compared_by_t_with_permutation_beside(cranfield: Cranfield) -> None:
    done = cranfield("compare", "qrels.txt", *RUNS[:2], "-m", "nDCG@10")
    assert done.code == 0 and done.err == ""
    assert "p = .15 (paired t-test; permutation .15)" in done.out
    assert "A difference of this size takes 108 topics" in done.out


def test_more_runs_are_compared_in_all_pairs(cranfield: Cranfield) -> None:
    done = cranfield("compare", "qrels.txt", *RUNS, "-m", "nDCG@10")
    assert "4 of 6 pairs of systems differ significantly in nDCG@10 (randomised Tukey HSD, α = .05)." in done.out
    assert "Judged@10" in done.out.splitlines()[0]


def test_the_default_measures_are_those_of_eval_less_judged(cranfield: Cranfield) -> None:
    done = cranfield("compare", "qrels.txt", *RUNS[:2])
    assert done.out.splitlines()[0].split() == ["System", "nDCG@10", "AP", "RR", "P@10", "R@100", "Judged@10"]


@pytest.mark.parametrize("baseline", ["bm25.run", "./bm25.run", "absolute"])
def test_a_baseline_is_named_by_file_or_name(cranfield: Cranfield, example: Path, baseline: str) -> None:
    named = str(example / "bm25.run") if baseline == "absolute" else baseline
    done = cranfield("compare", "qrels.txt", *RUNS, "-m", "AP", "--baseline", named)
    assert "bm25.run (a)" in done.out and "Holm for the 3 comparisons" in done.out


def test_a_baseline_that_is_none_of_the_runs_is_read_too(cranfield: Cranfield) -> None:
    done = cranfield("compare", "qrels.txt", "lsi.run", "--baseline", "tfidf.run", "-m", "AP")
    assert "No significant difference between lsi.run and tfidf.run in AP" in done.out


def test_several_baselines_have_letters(cranfield: Cranfield) -> None:
    args = ("--baseline", "bm25.run", "--baseline", "titles.run", "-m", "nDCG@10")
    done = cranfield("compare", "qrels.txt", *RUNS, *args)
    assert "(a = bm25.run, b = titles.run)" in done.out and "↑b" in done.out and "↓a" in done.out


@pytest.mark.parametrize("test", TESTS)
def test_every_test_runs(cranfield: Cranfield, test: str) -> None:
    for extra in ((), ("--baseline", "lm.run")):
        args = ("-m", "AP", "--test", test, "--resamples", "200", *extra)
        assert cranfield("compare", "qrels.txt", *RUNS[:3], *args).code == 0


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_every_correction_runs(cranfield: Cranfield, correction: str) -> None:
    args = ("-m", "AP", "--baseline", "lm.run", "--correction", correction, "--resamples", "200")
    assert cranfield("compare", "qrels.txt", *RUNS[:3], *args).code == 0


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_is_printed(cranfield: Cranfield, format_: str) -> None:
    args = ("-m", "AP", "-m", "RR", "--baseline", "bm25.run", "--format", format_, "--percent", "--places", "1")
    done = cranfield("compare", "qrels.txt", *RUNS, *args)
    assert done.code == 0 and "nan" not in done.out.lower()


def test_csv_says_the_rest_on_standard_error(cranfield: Cranfield) -> None:
    args = ("compare", "qrels.txt", *RUNS[:2], "-m", "AP", "--format", "csv")
    done, quiet = cranfield(*args), cranfield(*args, "--quiet")
    assert "No significant difference" in done.err and quiet.err == "" and quiet.out == done.out
    assert len(list(csv.DictReader(io.StringIO(done.out)))) == 3


def test_percent_is_in_warnings_too(cranfield: Cranfield, tmp_path: Path) -> None:
    lines = (line.split() for line in Path("lm.run").read_text().splitlines())
    unjudged = [f"{q} Q0 {'x' if int(rank) % 2 else ''}{doc} {rank} {score} t" for q, _, doc, rank, score, _ in lines]
    (tmp_path / "holes.run").write_text("\n".join(unjudged) + "\n")
    args = ("compare", "qrels.txt", "lm.run", tmp_path / "holes.run", "-m", "P@10")
    assert " points in P@10 " in cranfield(*args, "--percent").out and "The difference of 0." in cranfield(*args).out
    assert "The difference of 0." not in cranfield(*args, "--percent").out


def test_the_seed_decides_what_is_drawn(cranfield: Cranfield) -> None:
    args = ("compare", "qrels.txt", *RUNS[:3], "-m", "nDCG@10", "--format", "json", "--seed")
    first, again, other = (json.loads(cranfield(*args, seed).out)["columns"][0]["pairs"] for seed in (1, 1, 2))
    assert first == again and first != other


def test_full_shows_everything(cranfield: Cranfield) -> None:
    short, full = (cranfield("compare", "qrels.txt", *RUNS, *extra).out for extra in ((), ("--full",)))
    assert "more sentences with --full" in short and "more sentences with --full" not in full
    assert "in R@100 (randomised" in full


def test_less_is_better_is_handled(cranfield: Cranfield) -> None:
    done = cranfield("compare", "qrels.txt", "lm.run", "rm3.run", "-m", "SearchLength")
    lines = done.out.splitlines()
    assert "*" in next(line for line in lines if line.startswith("lm.run"))


def test_skipped_queries_are_said(cranfield: Cranfield) -> None:
    done = cranfield("compare", "qrels.txt", "bm25.run", "titles.run", "-m", "AP", "--missing", "skip")
    assert (
        "7 topics left out because some system has no score there: '1', '12', '16', '23', '24' and 2 more; 23 remain."
        in done.out
    )


def test_collections_are_columns(cranfield: Cranfield) -> None:
    done = cranfield(
        "compare", "--on", "a=qrels.txt:bm25.run,lm.run,titles.run", "--on", "b=qrels.txt:bm25.run,new=lm.run",
        "-m", "AP", "--baseline", "bm25.run",
    )  # fmt: skip
    assert done.code == 0
    head = done.out.splitlines()[:2]
    assert head[0].split() == ["a", "b", "mean", "of", "collections", "a", "b"]
    assert head[1].split() == ["System", "AP", "AP", "AP", "Judged@10", "Judged@10"]
    titles = next(line for line in done.out.splitlines() if line.startswith("titles.run"))
    assert "–" in titles and "1 of 2" in done.out
    assert "new" in done.out


def test_scores_of_queries_are_compared_without_runs(cranfield: Cranfield, tmp_path: Path) -> None:
    tsv = cranfield("eval", "qrels.txt", "bm25.run", "lm.run", "-m", "AP", "-q", "--format", "tsv", "--quiet").out
    table = cranfield("eval", "qrels.txt", "bm25.run", "lm.run", "-m", "AP", "-q", "--format", "csv", "--quiet").out
    (tmp_path / "scores.tsv").write_text(tsv)
    (tmp_path / "scores.csv").write_text(table)
    runs = json.loads(cranfield("compare", "qrels.txt", "bm25.run", "lm.run", "-m", "AP", "--format", "json").out)
    for name in ("scores.tsv", "scores.csv"):
        found = json.loads(cranfield("compare", "--scores", tmp_path / name, "--format", "json").out)
        assert found["columns"][0]["pairs"] == runs["columns"][0]["pairs"]
        assert any("2 means (query all) left out" in note for note in found["notes"])


def test_output_of_trec_eval_is_compared_one_file_a_run(cranfield: Cranfield, tmp_path: Path) -> None:
    args = []
    for run in ("tfidf", "lsi"):
        (tmp_path / f"{run}.eval").write_text(cranfield("trec_eval", "-q", "qrels.txt", f"{run}.run").out)
        args += ["--scores", str(tmp_path / f"{run}.eval")]
    done = cranfield("compare", *args, "-m", "map", "--baseline", "tfidf.eval")
    assert "No significant difference between lsi.eval and tfidf.eval in map: lsi.eval scores 0.056 higher" in done.out
    usual = cranfield("compare", *args)
    assert usual.out.splitlines()[0].split() == ["System", "map", "recip_rank", "P_10"]
    assert "other measures in the files; choose with -m." in usual.err


def test_files_of_the_same_name_are_told_apart_by_folder(cranfield: Cranfield, tmp_path: Path) -> None:
    args = []
    for run in ("tfidf", "lsi"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "eval").write_text(cranfield("trec_eval", "-q", "qrels.txt", f"{run}.run").out)
        args += ["--scores", str(tmp_path / run / "eval")]
    assert "lsi/eval and tfidf/eval" in cranfield("compare", *args, "-m", "map").out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "expected QRELS and at least one RUN"),
        (("qrels.txt", "bm25.run"), "only one system, 'bm25.run'"),
        (("qrels.txt", "bm25.run", "lm.run", "--baseline", "x"), "the baseline 'x' is not among the systems"),
        (("qrels.txt", "bm25.run", "lm.run", "--on", "a=b:c"), "only one of them"),
        (("--on", "dev"), "expected NAME=QRELS:RUN[,RUN…], found 'dev'"),
        (("--on", "a=qrels.txt:bm25.run", "--on", "a=qrels.txt:lm.run"), "'a' is used twice"),
        (("--scores", "none.tsv"), "none.tsv"),
        (("qrels.txt", "bm25.run", "lm.run", "--alpha", "2"), "alpha=2 is out of range"),
        (("qrels.txt", "bm25.run", "lm.run", "--test", "tukey", "--correction", "bh"), "already corrects"),
        (("qrels.txt", "bm25.run", "lm.run", "--test", "sign", "--correction", "maxt"), "MaxT is a test of its own"),
        (("qrels.txt", "bm25.run", "lm.run", "-m", "gm_map"), "not a mean over queries"),
        (("-", "-", "lm.run"), "'-' is given twice"),
    ],
)
def test_errors_say_what_to_do(cranfield: Cranfield, args: tuple[str, ...], message: str) -> None:
    done = cranfield("compare", *args)
    assert done.code == 2 and message in done.err and done.out == ""


def test_a_collection_is_a_name_judgments_and_runs(tmp_path: Path) -> None:
    odd = tmp_path / "q:1.txt"
    odd.write_text("")
    found = parse_collection(f"dev={odd}:a.run,b=c.run")
    assert (found.name, found.qrels, found.runs) == ("dev", str(odd), ((None, "a.run"), ("b", "c.run")))
    for text in ("=a:b", "a=b", "a=b:", "a=:b", "a"):
        with pytest.raises(InputError):
            parse_collection(text)


def test_runs_of_a_collection_may_be_a_pattern(cranfield: Cranfield) -> None:
    done = cranfield("compare", "--on", "all=qrels.txt:*.run", "-m", "AP")
    assert done.code == 0 and all(run in done.out for run in RUNS)


def test_twelve_runs_are_compared(shared_data: Path) -> None:
    folder = shared_data / "dl19"
    runs = sorted(str(run) for run in (folder / "runs").glob("*.gz"))
    command = [sys.executable, "-m", "cranfield", "compare", str(folder / "qrels.dl19-passage.txt"), *runs]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "31 of 66 pairs of systems differ significantly in nDCG@10" in done.stdout
