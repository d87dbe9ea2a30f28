"""cranfield pool, from files to files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cranfield import evaluate, read_qrels, read_run
from cranfield.pooling import STRATEGIES, read_pool
from tests.cli.conftest import Cranfield


def top(path: Path, depth: int) -> set[tuple[str, str]]:
    """The first documents of each topic of a run, by brute force; of equal scores the last ids come first."""
    found: dict[str, list[tuple[float, str]]] = {}
    for line in path.read_text().splitlines():
        query, _, doc, _, score, _ = line.split()
        found.setdefault(query, []).append((float(score), doc))
    return {(query, doc) for query, docs in found.items() for _, doc in sorted(docs, reverse=True)[:depth]}


@pytest.fixture
def folder(example: Path, tmp_path: Path) -> Path:
    """The example's files, to write beside."""
    for file in example.iterdir():
        if file.suffix in (".run", ".txt", ".jsonl", ".xml"):
            shutil.copy(file, tmp_path)
    return tmp_path


@pytest.fixture
def runs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.run"))


def judged_pairs(path: Path) -> set[tuple[str, str]]:
    return {(query, doc) for query, docs in read_qrels(path).to_dict().items() for doc in docs}


def test_a_pool_is_the_union_of_the_first_documents(cranfield: Cranfield, folder: Path, runs: list[Path]) -> None:
    done = cranfield("pool", *runs, "--depth", 7, "-o", folder / "pool.jsonl")
    assert done.code == 0 and not done.err
    pool = read_pool(folder / "pool.jsonl")
    assert set(pool) == set().union(*(top(run, 7) for run in runs))
    assert f"pool.jsonl: {len(pool)} documents to judge for 30 topics" in done.out
    assert "Similarity of the runs" in done.out and "tfidf.run  ───" in done.out
    provenance = (folder / "pool.provenance.jsonl").read_text().splitlines()
    assert len(provenance) == len(pool) + 1
    told = json.loads(provenance[0])["provenance"]
    assert told["runs"][0]["sha256"] == read_run(runs[0]).origin.sha256  # type: ignore[union-attr]


def test_the_pool_says_nothing_of_how_it_was_made(cranfield: Cranfield, folder: Path, runs: list[Path]) -> None:
    cranfield("pool", *runs, "--strategy", "rrf", "--budget", 5, "-o", folder / "pool.jsonl")
    header, *pairs = map(json.loads, (folder / "pool.jsonl").read_text().splitlines())
    assert header == {"pool": {"version": 1, "topics": 30, "documents": 150}}
    assert all(set(pair) == {"query", "doc"} for pair in pairs)


def test_without_a_file_the_pool_is_on_standard_output(cranfield: Cranfield, folder: Path, runs: list[Path]) -> None:
    done = cranfield("pool", *runs, "--depth", 1)
    assert json.loads(done.out.splitlines()[0])["pool"]["topics"] == 30
    assert "documents to judge" in done.err and not list(folder.glob("*provenance*"))
    quiet = cranfield("pool", *runs, "--depth", 1, "--quiet")
    assert quiet.out == done.out and not quiet.err
    kept = cranfield("pool", *runs, "--depth", 1, "--quiet", "--provenance", folder / "where.jsonl")
    assert kept.out == done.out and (folder / "where.jsonl").exists()


def test_judged_documents_are_not_asked_again(cranfield: Cranfield, folder: Path, runs: list[Path]) -> None:
    judged = judged_pairs(folder / "qrels.txt")
    cranfield("pool", *runs, "--depth", 40, "--judged", folder / "qrels.txt", "-o", folder / "pool.jsonl")
    pool = read_pool(folder / "pool.jsonl")
    assert set(pool) == set().union(*(top(run, 40) for run in runs)) - judged and len(pool)


def test_complete_lists_just_what_a_new_run_lacks(cranfield: Cranfield, folder: Path) -> None:
    judged, new = folder / "qrels.txt", folder / "lm.run"
    done = cranfield("pool", "--complete", new, "--depth", 30, "--judged", judged, "-o", folder / "missing.jsonl")
    expected = top(new, 30) - judged_pairs(judged)
    assert set(read_pool(folder / "missing.jsonl")) == expected and expected
    assert "Documents missing judgments for lm.run (depth 30)." in done.out
    beside = cranfield("pool", folder / "bm25.run", "--complete", new, "--depth", 30, "--judged", judged, "-o", "-")
    assert len(beside.out.splitlines()) == len(expected) + 1 and "have no effect" in beside.err
    alone = cranfield("pool", "--complete", new, "--depth", 2)
    assert "nothing counts as judged" in alone.err and len(alone.out.splitlines()) == 61


@pytest.mark.parametrize("strategy", [name for name, one in STRATEGIES.items() if not one.needs])
def test_every_strategy_makes_a_pool_the_same_for_a_seed(
    strategy: str, cranfield: Cranfield, folder: Path, runs: list[Path]
) -> None:
    own = ["--rate", 0.1] if strategy == "uniform" else []
    options = ["--strategy", strategy, "--judged", folder / "qrels.txt", "--depth", 50, *own, "--quiet"]
    first, again = cranfield("pool", *runs, *options), cranfield("pool", *reversed(runs), *options)
    assert first.code == 0 and first.out == again.out and not first.err


def test_the_next_batch_follows_from_the_judgments(cranfield: Cranfield, folder: Path, runs: list[Path]) -> None:
    """Judging batch after batch asks for everything once, and for nothing that is judged."""
    truth = read_qrels(folder / "qrels.txt").to_dict()
    (folder / "so-far").write_text("")
    asked: list[tuple[str, str]] = []
    for number in range(4):
        known = ["--judged", folder / "so-far"] if asked else []
        done = cranfield("pool", *runs, "--strategy", "mm-ns", "--batch", 3, *known, "-o", folder / "next.jsonl")
        assert done.code == 0 and "How alike" not in done.out
        batch = list(read_pool(folder / "next.jsonl"))
        assert len(batch) == 3 * 30 and not set(batch) & set(asked), number
        asked += batch
        lines = (f"{query} 0 {doc} {truth[query].get(doc, 0):g}\n" for query, doc in asked)
        (folder / "so-far").write_text("".join(lines))


def test_a_sample_becomes_qrels_for_estimates(cranfield: Cranfield, folder: Path, runs: list[Path]) -> None:
    options = ["--strategy", "stratified", "--depth", 20, "--strata", "5:1,20:0.5"]
    cranfield("pool", *runs, *options, "-o", folder / "pool.jsonl", "--sample", folder / "sample.qrels")
    form = read_qrels(folder / "sample.qrels")
    drawn = read_pool(folder / "pool.jsonl")
    assert set(form.grades) == {-1} and len(drawn) < len(form)
    cranfield("pool", *runs, *options, "--judged", folder / "qrels.txt", "--sample", folder / "sample.qrels", "-o", "-")
    filled = read_qrels(folder / "sample.qrels")
    estimate = evaluate(filled, folder / "lm.run", ["xinfAP"]).mean("xinfAP")
    truth = evaluate(folder / "qrels.txt", folder / "lm.run", ["AP"]).mean("AP")
    assert estimate == pytest.approx(truth, abs=0.1)


def test_active_sampling_writes_chances(cranfield: Cranfield, folder: Path, runs: list[Path]) -> None:
    done = cranfield(
        *(
            "pool",
            *runs,
            "--strategy",
            "active",
            "--depth",
            15,
            "--judged",
            folder / "qrels.txt",
            "-o",
            folder / "next",
        ),
        *("--sample", folder / "prels"),
    )
    assert done.code == 0 and "have probabilities to estimate from" in done.out
    assert set(read_qrels(folder / "prels").extra) == {"method", "probability"}


def test_texts_guide_autotar_and_an_index_expansion(cranfield: Cranfield, folder: Path, runs: list[Path]) -> None:
    words = ["--topics", folder / "topics.xml", "--judged", folder / "qrels.txt"]
    learned = cranfield(
        *("pool", *runs, "--strategy", "autotar", "--documents", folder / "documents.jsonl", *words),
        *("--batch", 3, "-o", folder / "tar.jsonl"),
    )
    assert learned.code == 0 and len(read_pool(folder / "tar.jsonl")) == 90
    assert cranfield("index", folder / "documents.jsonl", "-o", folder / "index").code == 0
    searched = cranfield(
        *("pool", *runs, "--strategy", "expansion", "--index", folder / "index", *words, "--depth", 3),
        *("-o", folder / "new.jsonl"),
    )
    assert searched.code == 0
    new = set(read_pool(folder / "new.jsonl"))
    assert new and not new & judged_pairs(folder / "qrels.txt")
    missing = cranfield("pool", *runs, "--strategy", "expansion", "--index", folder / "index")
    assert missing.code == 2 and "--topics TOPICS" in missing.err


def test_votes_rank_the_runs_and_say_what_they_are(cranfield: Cranfield, folder: Path, runs: list[Path]) -> None:
    done = cranfield("pool", *runs, "--votes", "--judged", folder / "qrels.txt", "--depth", 20)
    assert "Without judgments: agreement with the other runs, not quality" in done.out and "Kendall's tau" in done.out
    told = json.loads(cranfield("pool", *runs, "--votes", "--format", "json").out)["votes"]
    assert told["about"] == "a guess from agreement, without judgments"
    assert {one["name"] for one in told["systems"]} == {run.name for run in runs} and told["tau"] is None


def test_strategies_are_replayed_against_depth(cranfield: Cranfield, folder: Path, runs: list[Path]) -> None:
    done = cranfield(
        *("pool", *runs, "--replay", folder / "qrels.txt", "--strategy", "mm", "--strategy", "rrf", "--depth", 20),
        *("--curve", folder / "curve.json", "--dendrogram", folder / "tree.json", "--seed-depth", 2),
    )
    assert done.code == 0 and "Relevant documents found with a share of" in done.out and "How alike" not in done.out
    for picture in ("curve.json", "tree.json"):
        assert "vega-lite" in json.loads((folder / picture).read_text())["$schema"]
    told = json.loads(cranfield("pool", *runs, "--replay", folder / "qrels.txt", "--format", "json").out)
    assert [one["strategy"] for one in told["replay"]] == ["depth"] and told["replay"][0]["mean_share"] > 0.5


def test_runs_that_are_alike_are_warned_of(cranfield: Cranfield, folder: Path) -> None:
    shutil.copy(folder / "lm.run", folder / "lm2.run")
    three = [folder / f"{name}.run" for name in ("lm", "lm2", "bm25")]
    done = cranfield("pool", *three, "-o", folder / "pool")
    assert "Warning: lm.run and lm2.run are similar (RBO 1.00" in done.out
    told = json.loads(cranfield("pool", *three, "-o", folder / "pool", "--format", "json").out)
    assert told["likeness"]["clusters"] == [["bm25.run"], ["lm.run", "lm2.run"]] and len(told["warnings"]) == 1
    assert told["pool"]["topics"] == 30 and told["runs"][1]["in_pool"] == told["runs"][2]["in_pool"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "name the runs to pool"),
        (["lm.run", "--strategy", "rff"], "unknown strategy 'rff'. Did you mean rrf?"),
        (["lm.run", "--strategy", "mm", "--strategy", "rrf"], "use several only with --replay QRELS and without -o"),
        (
            ["lm.run", "--strategy", "mm", "--strategy", "ts", "--replay", "qrels.txt", "-o", "x"],
            "a pool has one strategy",
        ),
        (["--complete", "lm.run", "--strategy", "rrf"], "--complete takes the top documents"),
        (["lm.run", "--curve", "x.svg"], "--curve plots the result of --replay"),
        (["lm.run", "--dendrogram", "x.json"], "--dendrogram compares runs: name at least two"),
        (["lm.run", "rm3.run", "--dendrogram", "x.doc"], "unknown suffix for a plot"),
        (["lm.run", "--sample", "x"], "--sample is for strategies that draw a sample"),
        (["lm.run", "--strategy", "uniform", "--rate", "2"], "rate=2 is out of range: expected a number above 0"),
        (["lm.run", "--strategy", "stratified", "--strata", "5:2"], "rates above 0 and at most 1, found 2"),
        (["lm.run", "--strategy", "autotar"], "autotar needs the texts of documents: --documents FILE"),
        (["lm.run", "--params", "k"], "expected comma-separated NAME=VALUE, each name once"),
        (["lm.run", "--params", "speed=3"], "no strategy has a parameter 'speed'"),
        (["lm.run", "--params", "k=3"], "depth has no parameter 'k'"),
        (["lm.run", "--budget", "3", "--total", "9"], "give either budget (for each topic) or total"),
        (
            ["lm.run", "--strategy", "uniform", "--rate", "0.1", "--budget", "3"],
            "uniform: give either a rate or a budget",
        ),
        (
            ["lm.run", "--strategy", "uniform", "--rate", "0.1", "--total", "3"],
            "uniform: give either a rate or a budget",
        ),
        (["lm.run", "--judged-topics"], "name them with --judged"),
        (["nowhere.run"], "nowhere.run"),
        (["-", "-"], "'-' is given twice"),
    ],
)
def test_what_cannot_be_pooled_is_a_clear_error(
    args: list[str], message: str, cranfield: Cranfield, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = cranfield("pool", *args)
    assert done.code == 2 and message in done.err and "Traceback" not in done.err and not done.out


def test_options_that_change_nothing_are_told(cranfield: Cranfield, folder: Path) -> None:
    done = cranfield("pool", folder / "lm.run", "--documents", folder / "documents.jsonl", "-o", folder / "pool")
    assert "--documents has no effect: only autotar uses it." in done.err


def test_runs_of_other_topics_are_told(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1 Q0 x 1 2 t\n")
    (tmp_path / "b").write_text("2 Q0 x 1 2 t\n")
    done = cranfield("pool", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "pool")
    assert done.code == 0 and "No two runs have a topic in common" in done.out


@pytest.mark.parametrize(
    ("args", "file"),
    [
        (["lm.run", "rm3.run", "-o", "rm3.run"], "rm3.run"),
        (["lm.run", "-o", "./lm.run"], "lm.run"),
        (["lm.run", "--judged", "qrels.txt", "-o", "qrels.txt"], "qrels.txt"),
        (["--complete", "lm.run", "--judged", "qrels.txt", "-o", "link"], "qrels.txt"),
        (["lm.run", "-o", "pool", "--provenance", "lm.run"], "lm.run"),
        (["lm.run", "--strategy", "stratified", "--judged", "qrels.txt", "--sample", "qrels.txt"], "qrels.txt"),
        (["pool.provenance.jsonl", "-o", "pool.jsonl"], "pool.provenance.jsonl"),
    ],
)
def test_what_is_read_is_not_written_over(
    args: list[str], file: str, cranfield: Cranfield, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "link").symlink_to(folder / "qrels.txt")
    shutil.copy("lm.run", "pool.provenance.jsonl")
    before = (folder / file).read_bytes()
    done = cranfield("pool", *args)
    assert done.code == 2 and "is an input and would be overwritten" in done.err and not done.out
    assert (folder / file).read_bytes() == before


def test_grades_in_words_are_told_what_they_stand_for(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n")
    (tmp_path / "qrels").write_text("1 0 a fine\n")
    unknown = cranfield("pool", tmp_path / "run", "--judged", tmp_path / "qrels")
    assert unknown.code == 2 and "--grade-words" in unknown.err
    done = cranfield("pool", tmp_path / "run", "--judged", tmp_path / "qrels", "--grade-words", "fine=2", "--quiet")
    assert done.code == 0 and '"b"' in done.out and '"a"' not in done.out


@pytest.mark.parametrize("other", ["2 0 zz 1", "2 0 b -1"])
def test_a_topic_without_anything_judged_is_replayed_too(other: str, cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 a 1 1 x\n2 Q0 b 1 1 x\n")
    (tmp_path / "qrels").write_text(f"1 0 a 1\n{other}\n")
    done = cranfield("pool", tmp_path / "run", "--replay", tmp_path / "qrels", "--strategy", "mm")
    assert done.code == 0 and "1 judgments (1 relevant in all)" in done.out
