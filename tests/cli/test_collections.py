"""cranfield collections, and collections in cranfield index and search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield import read_run
from tests.cli.conftest import Cranfield
from tests.lab.test_collections import SMALL


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a small Cranfield and a small MED."""
    for name in ("cranfield", "med"):
        (tmp_path / "classic" / name).mkdir(parents=True)
        for file, text in SMALL[name].items():
            (tmp_path / "classic" / name / file).write_text(str(text))
    return tmp_path / "classic"


def test_the_collections_of_the_literature_are_listed(cranfield: Cranfield) -> None:
    listed = cranfield("collections")
    assert listed.code == 0
    for row in (
        "Cranfield 2 cranfield: 1,400 225",
        "INSPEC – 12,684 77",
        "LISA lisa: 6,004 35",
        "GOV2 trecweb: 25 M –",
    ):
        assert row in " ".join(listed.out.split())
    assert "MED (1,033 documents, 30 queries) is not the MEDLARS collection" in listed.out
    assert max(map(len, listed.out.splitlines())) <= 100


def test_what_is_found_stands_beside_them(cranfield: Cranfield, folder: Path) -> None:
    listed = cranfield("collections", folder)
    assert listed.code == 0
    assert "Cranfield 2 cranfield: 1,400 225 2 2 2 6" in " ".join(listed.out.split())
    assert "MED med: – – 2 1 1 6" in " ".join(listed.out.split())
    assert f"cranfield:{folder / 'cranfield'}\n  Queries are numbered 1 to 225" in listed.out
    assert max(len(line) for line in listed.out.split("\n\n")[0].splitlines()) <= 80


def test_the_table_may_be_tsv_or_json(cranfield: Cranfield, folder: Path) -> None:
    tsv = cranfield("collections", f"med:{folder / 'med'}", "--format", "tsv").table
    assert tsv[0][:4] == ["collection", "documents", "queries", "open_by"] and len(tsv) == 15
    assert tsv[-1] == ["MED", "", "", "med", str(folder / "med"), "2", "1", "1", "6"]
    found = json.loads(cranfield("collections", folder, "--format", "json").out)
    first = found["collections"][0]
    assert first["collection"] == "Cranfield 2" and first["documents"] == 1400 and first["found"]["documents"] == 2
    assert found["collections"][1]["found"] is None and "MEDLARS" in found["remarks"][0]


def test_a_part_that_is_missing_is_a_dash_and_said(cranfield: Cranfield, folder: Path) -> None:
    (folder / "med" / "MED.REL").unlink()
    listed = cranfield("collections", f"med:{folder / 'med'}")
    assert listed.code == 0 and "MED med: – – 2 1 – 6" in " ".join(listed.out.split())
    assert "There are no judgments in this folder. Expected med.rel." in listed.out


def test_a_folder_without_collections_is_said(cranfield: Cranfield, tmp_path: Path) -> None:
    failed = cranfield("collections", tmp_path)
    assert failed.code == 2 and "no collection with known file names" in failed.err


def test_a_collection_is_indexed_and_searched_by_name(cranfield: Cranfield, folder: Path, tmp_path: Path) -> None:
    name = f"cranfield:{folder / 'cranfield'}"
    made = cranfield("index", name, "-o", tmp_path / "index")
    assert made.code == 0 and "2 documents" in made.err and "Note: Queries are numbered" in made.err
    found = cranfield("search", tmp_path / "index", name, "-o", tmp_path / "bm25.run")
    assert found.code == 0 and list(read_run(tmp_path / "bm25.run").to_dict()["2"]) == ["2"]
    learned = cranfield(
        "search", tmp_path / "index", name, "--system", "bm25+rocchio", "--feedback", name, "-o", tmp_path / "fb.run"
    )
    assert learned.code == 0 and read_run(tmp_path / "fb.run").queries == ("1", "2")
