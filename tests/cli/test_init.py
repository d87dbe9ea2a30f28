"""cranfield init: a cranfield.toml that can be used at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cranfield.cli import commands
from cranfield.errors import CranfieldError, InputError
from cranfield.experiment import plan
from cranfield.experiment.init import begin
from cranfield.experiment.workspace import Given, Search, open_workspace


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("docs.jsonl", "topics.xml", "qrels.txt", "a.run", "b.run.gz"):
        (tmp_path / name).write_text("")
    return tmp_path


def test_files_are_named_as_seen_from_the_folder(here: Path) -> None:
    args = ["init", "sub/w", "--documents", "docs.jsonl", "--topics", "topics.xml", "--qrels", "qrels.txt"]
    done = CliRunner().invoke(commands, [*args, "--run", "a.run", "--run", "b.run.gz", "--title", 'A "quoted" title'])
    assert done.exit_code == 0, done.output
    workspace = open_workspace("sub/w")
    assert workspace.title == 'A "quoted" title'
    (collection,) = workspace.collections
    assert (collection.documents, collection.topics, collection.qrels) == (
        "../../docs.jsonl",
        "../../topics.xml",
        "../../qrels.txt",
    )
    given = [(type(one), one.name) for one in workspace.systems]
    assert given == [(Given, "a"), (Given, "b"), (Search, "bm25")]
    assert workspace.judging is not None and workspace.pool.depth == 20


def test_without_anything_it_is_a_place_to_judge_in(here: Path) -> None:
    workspace = begin("w")
    assert workspace.systems == () and workspace.title == "w"
    assert list(plan(workspace)) is not None


def test_what_is_there_is_not_replaced_unless_asked(here: Path) -> None:
    begin("w")
    with pytest.raises(InputError, match="--force"):
        begin("w", title="other")
    assert begin("w", title="other", force=True).title == "other"


def test_a_file_that_is_missing_is_told(here: Path) -> None:
    done = CliRunner().invoke(commands, ["init", "w", "--documents", "nowhere"])
    assert isinstance(done.exception, CranfieldError) and "no such file" in str(done.exception)
    assert not (here / "w").exists()


def test_runs_of_the_same_name_are_told_apart(here: Path) -> None:
    (here / "x").mkdir()
    (here / "x" / "a.run").write_text("")
    (here / "odd name!.run").write_text("")
    workspace = begin("w", runs=["a.run", "x/a.run", "odd name!.run"])
    assert [one.name for one in workspace.systems] == ["a", "ax", "odd-name-"]


def test_a_run_takes_the_place_of_a_system_of_the_same_name(here: Path) -> None:
    (here / "bm25.run").write_text("")
    workspace = begin("w", parts={"documents": "docs.jsonl", "topics": "topics.xml"}, runs=["bm25.run"])
    assert [type(one) for one in workspace.systems] == [Given]
