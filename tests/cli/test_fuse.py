"""cranfield fuse: the command line, its output and its messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.evaluation import evaluate
from cranfield.fusion import FUSION_METHODS, NORMS, cross_fuse, fuse
from cranfield.io import read_qrels, read_run
from tests.cli.conftest import Cranfield


def test_two_runs_become_one_on_standard_output(cranfield: Cranfield, small: Path) -> None:
    done = cranfield("fuse", small / "one.run", small / "two.run")
    assert done.code == 0
    first = done.out.splitlines()[0].split()
    assert first == ["1", "Q0", "b", "1", repr(1 / 62 + 1 / 61), "rrf"]
    assert done.err.splitlines() == [
        "Fused 2 runs: 3 queries, 7 documents.",
        "one.run lacks 1 of 3 queries ('9'): only the other runs are fused there.",
        "two.run lacks 1 of 3 queries ('2'): only the other runs are fused there.",
    ]


def test_a_run_is_written_as_it_was_fused(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    runs = sorted(example.glob("*.run"))[:3]
    target = tmp_path / "fused.run"
    done = cranfield(
        "fuse", *runs, "--method", "CombMNZ", "--norm", "zscore", "--depth", 7, "--tag", "mine", "-o", target
    )
    assert (done.code, done.out) == (0, "")
    written = read_run(target)
    assert written.to_dict() == fuse(runs, "mnz", norm="zmuv", depth=7).to_dict()
    assert written.tag == "mine"
    assert "documents below rank 7 left out." in done.err


def test_the_suffix_chooses_the_format(cranfield: Cranfield, small: Path) -> None:
    assert cranfield("fuse", small / "one.run", "-o", small / "x.json", "--quiet").err == ""
    assert read_run(small / "x.json").to_dict() == fuse([small / "one.run"]).to_dict()


def test_weights_and_parameters_are_taken(cranfield: Cranfield, small: Path) -> None:
    one, two = small / "one.run", small / "two.run"
    weighted = cranfield("fuse", one, two, "--method", "wsum", "--weights", ".3, .7", "--quiet").out
    assert weighted.splitlines()[0].startswith("1 Q0 b 1 0.85 ")
    assert "0.1" in cranfield("fuse", one, "--params", "k=9", "--quiet").out.split()


def test_learned_weights_are_told_with_a_score_that_flatters(
    cranfield: Cranfield, example: Path, tmp_path: Path
) -> None:
    runs = sorted(example.glob("*.run"))[:2]
    learn = ("--method", "wsum", "--qrels", example / "qrels.txt")
    done = cranfield("fuse", *runs, *learn, "-o", tmp_path / "x.run")
    topics = len(read_qrels(example / "qrels.txt").queries)
    assert f"Learned from {topics} topics: weights {runs[0].name} 0" in done.err and "best of 11 tried" in done.err
    means = evaluate(example / "qrels.txt", runs, ["nDCG@10"]).summary()
    score, best = max((values["nDCG@10"], name) for name, values in means.items())
    assert f"which is optimistic; the best single run, {best}, has {score:.4f}" in done.err


def test_folds_are_fused_as_learned_from_the_others(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    runs = sorted(example.glob("*.run"))[:2]
    learn = ("--method", "wsum", "--qrels", example / "qrels.txt", "-m", "AP", "--folds", 4, "--seed", 3)
    done = cranfield("fuse", *runs, *learn, "-o", tmp_path / "x.run")
    crossed = cross_fuse(example / "qrels.txt", runs, "wsum", measure="AP", folds=4, seed=3, depth=1000)
    assert read_run(tmp_path / "x.run").to_dict() == crossed.run.to_dict()
    assert f"Fold 4, {len(crossed.held_out[3])} topics held out: weights" in done.err
    assert f"AP {crossed.score:.4f} on held-out topics, {crossed.whole.score:.4f} if learned from all" in done.err


def test_topics_without_judgments_are_told(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    judged = read_qrels(example / "qrels.txt").to_dict()
    some = [f"{query} 0 {doc} {grade:g}\n" for query in list(judged)[:12] for doc, grade in judged[query].items()]
    (tmp_path / "train.txt").write_text("".join(some))
    learn = ("--method", "posfuse", "--qrels", tmp_path / "train.txt", "--folds", 3)
    done = cranfield("fuse", *sorted(example.glob("*.run"))[:2], *learn, "-o", tmp_path / "x.run")
    assert f"{len(judged) - 12} queries without judgments fused as learned from all judged topics." in done.err
    assert len(read_run(tmp_path / "x.run").queries) == len(judged)


def test_ids_of_any_bytes_go_through(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(b"1 Q0 d\xff 1 2 t\n1 Q0 d\xc3\xa9 2 1 t\n")
    (tmp_path / "b.run").write_bytes(b"1 Q0 d\xff 1 2 t\n1 Q0 e 2 1 t\n")
    assert cranfield("fuse", tmp_path / "a.run", tmp_path / "b.run", "-o", tmp_path / "x.run").code == 0
    docs = [line.split()[2] for line in (tmp_path / "x.run").read_bytes().splitlines()]
    assert docs == [b"d\xff", b"e", b"d\xc3\xa9"]


def test_help_lists_every_method_and_normalisation(cranfield: Cranfield) -> None:
    lines = cranfield("fuse", "--help").out.splitlines()
    for name in (*FUSION_METHODS, *NORMS):
        assert any(line.strip().startswith(f"{name} ") for line in lines), name
    assert max(map(len, (line for line in lines if not line.lstrip().startswith("--")))) <= 90


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "combsun"], "unknown fusion method 'combsun'. Did you mean combsum?"),
        (["--method", "wsum"], "wsum needs weights, e.g. --weights 0.3,0.7"),
        (["--method", "posfuse"], "posfuse learns from judgments: --qrels QRELS"),
        (["--method", "wsum", "--weights", "1"], "1 weight for 2 runs: expected one for each."),
        (["--method", "wsum", "--weights", "1,x"], "--weights: the weight 'x' is not a decimal number."),
        (["--params", "k"], "--params: expected comma-separated NAME=VALUE, found 'k'."),
        (["--params", "k=1,k=2"], "--params: k is given twice."),
        (["--params", "phi=.5"], "rrf has no parameter 'phi': it has k."),
        (["--folds", "3"], "--folds needs judgments to learn from: --qrels QRELS."),
        (["--qrels", "qrels", "--method", "sum"], "sum has nothing to learn"),
        (["--qrels", "qrels", "--method", "wsum", "--folds", "3"], "3 folds of 2 queries: expected 2 to 2."),
        (["--qrels", "qrels", "--method", "wsum", "-m", "AP RR"], "expected one measure"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(
    options: list[str], words: str, cranfield: Cranfield, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small)
    done = cranfield("fuse", "one.run", "two.run", "-o", "out.run", *options)
    assert done.code == 2 and words in done.err
    assert not (small / "out.run").exists()


def test_nothing_is_left_behind_where_the_output_cannot_be_written(cranfield: Cranfield, small: Path) -> None:
    done = cranfield("fuse", small / "one.run", "-o", small / "nowhere" / "x.run")
    assert done.code == 2 and "cannot be written" in done.err


def test_a_wrong_method_is_told_before_files_are_read(cranfield: Cranfield) -> None:
    assert "unknown fusion method" in cranfield("fuse", "no-such.run", "--method", "x").err
    assert "there is no such file" in cranfield("fuse", "no-such.run").err
    assert "only one standard input" in cranfield("fuse", "-", "-").err
