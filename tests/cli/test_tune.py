"""cranfield tune."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cranfield as package
from tests.cli.conftest import Cranfield


@pytest.fixture
def index(cranfield: Cranfield, example: Path, tmp_path: Path) -> Path:
    assert cranfield("index", example / "documents.jsonl", "-o", tmp_path / "index").code == 0
    return tmp_path / "index"


def test_a_grid_is_searched_and_both_scores_are_told(
    cranfield: Cranfield, index: Path, example: Path, tmp_path: Path
) -> None:
    files = (index, example / "topics.xml", example / "qrels.txt")
    options = ("--grid", "k1=0.5,1.2", "--grid", "b=0,0.75", "-o", tmp_path / "held-out.run")
    text = cranfield("tune", *files, *options)
    assert text.code == 0 and "Held out: AP " in text.out and "therefore optimistic" in text.out
    found = json.loads(cranfield("tune", *files, *options, "--format", "json").out)
    assert len(found["settings"]) == 4 and len(found["folds"]) == 5 and found["optimistic"] >= found["held_out"] - 1e-9
    scores = package.evaluate(package.read_qrels(files[2]), package.read_run(tmp_path / "held-out.run"), ["AP"])
    assert scores.mean("AP") == pytest.approx(found["held_out"])


def test_drawn_settings_are_whole_where_a_system_wants_it(cranfield: Cranfield, index: Path, example: Path) -> None:
    ranges = ("--range", "mu=50..900", "--range", "terms=3..9", "--draws", "4", "--folds", "2", "--format", "json")
    found = cranfield("tune", index, example / "topics.xml", example / "qrels.txt", "--system", "lm+rm3", *ranges)
    assert found.code == 0
    assert all(isinstance(setting["terms"], int) for setting in json.loads(found.out)["settings"])


@pytest.mark.parametrize(
    "options, says",
    [
        ((), "either --grid or --range"),
        (("--grid", "k1"), "expected NAME=V,V,…"),
        (("--grid", "k1=x"), "'x' is not a number"),
        (("--range", "k1=3"), "expected NAME=LOW..HIGH"),
        (("--grid", "k9=1"), "bm25 has no parameter 'k9'"),
        (("--grid", "k1=1", "--folds", "50"), "50 folds of 30 queries"),
    ],
)
def test_what_is_wrong_is_said(
    cranfield: Cranfield, index: Path, example: Path, options: tuple[str, ...], says: str
) -> None:
    failed = cranfield("tune", index, example / "topics.xml", example / "qrels.txt", *options)
    assert failed.code == 2 and says in failed.err


def test_a_collection_by_name_has_topics_and_judgments(cranfield: Cranfield, tmp_path: Path, shared_data: Path) -> None:
    med = f"med:{shared_data / 'classic' / 'med'}"
    assert cranfield("index", med, "-o", tmp_path / "index").code == 0
    found = cranfield("tune", tmp_path / "index", med, med, "--grid", "b=0.3,0.75", "-m", "AP", "--format", "json")
    assert found.code == 0 and 0.4 < json.loads(found.out)["held_out"] < 0.7, found.err


def test_a_small_collection_by_name_has_topics_and_judgments(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "red lamp"}\n{"_id": "b", "text": "bells"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "lamp"}\n{"_id": "2", "text": "bells"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t1\n")
    name = f"beir:{tmp_path}"
    assert cranfield("index", name, "-o", tmp_path / "index").code == 0
    options = ("--grid", "k1=1,2", "--folds", 2)
    found = cranfield("tune", tmp_path / "index", name, name, *options)
    assert found.code == 0 and "Held out: AP 1" in found.out, found.err
    failed = cranfield("tune", tmp_path / "index", name, name, *options, "--fields", "titel")
    assert failed.code == 2 and "no topic has a field 'titel'" in failed.err
