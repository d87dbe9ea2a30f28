"""Assessors from arguments: names, models, and what is noted beside a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.errors import InputError
from cranfield.io import read_qrels
from cranfield.qrels_tools.assessors import Assessor, read_assessors
from cranfield.qrels_tools.merge import merge_qrels
from cranfield.qrels_tools.provenance import read_provenance, write_judgments


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("anna", "ben", "gpt"):
        Path(f"{name}.qrels").write_text("1 0 a 1\n")
    Path("x=y.qrels").write_text("1 0 a 1\n")
    return tmp_path


def read(files: list[str], models: list[str] = []) -> list[tuple[str, bool]]:  # noqa: B006
    return [(one.name, one.is_model) for one in read_assessors(files, models, read_qrels)]


def test_an_assessor_is_called_as_said_or_as_the_file(folder: Path) -> None:
    assert read(["a=anna.qrels", "ben.qrels"]) == [("a", False), ("ben", False)]
    assert read(["x=y.qrels"]) == [("x=y", False)]  # there is a file of this name


def test_a_model_is_a_file_or_the_name_of_an_assessor(folder: Path) -> None:
    expected = [("anna", False), ("gpt", True)]
    assert read(["anna.qrels"], ["gpt.qrels"]) == expected
    assert read(["anna.qrels"], ["gpt=gpt.qrels"]) == expected
    assert read(["anna.qrels", "gpt.qrels"], ["gpt"]) == expected
    assert read(["anna.qrels", "m=gpt.qrels"], ["m"]) == [("anna", False), ("m", True)]


def test_what_is_wrong_is_said(folder: Path) -> None:
    with pytest.raises(InputError, match="expected the name of an assessor"):
        read(["anna.qrels"], ["claude"])
    with pytest.raises(InputError, match="two assessors are named 'a'"):
        read(["a=anna.qrels", "a=ben.qrels"])
    with pytest.raises(InputError, match="only one standard input"):
        read(["-", "b=-"])
    with pytest.raises(InputError, match="NAME=FILE"):
        read(["=anna.qrels"])
    with pytest.raises(InputError, match="at least 2 assessors, found 1"):
        read_assessors(["anna.qrels"], [], read_qrels, least=2)


def test_what_was_merged_from_a_model_stays_a_models(folder: Path) -> None:
    both = read_assessors(["anna.qrels"], ["gpt.qrels"], read_qrels)
    found = merge_qrels(both, with_models=True)
    write_judgments(found.qrels, "merged.qrels", found.provenance())
    assert read(["merged.qrels", "ben.qrels"]) == [("merged", True), ("ben", False)]
    Path("merged.qrels").write_text("1 0 a 0\n")  # another file by now
    assert read_provenance("merged.qrels") is None
    assert read(["merged.qrels"]) == [("merged", False)]


def test_what_stands_beside_a_file_and_is_not_ours_is_passed_over(folder: Path) -> None:
    for text in ("", "[]", "{}", '{"sha256": 1}', "\xff"):
        Path("anna.qrels.provenance.json").write_text(text)
        assert read_provenance("anna.qrels") is None


def test_a_model_is_marked_in_its_label() -> None:
    qrels = read_qrels  # any value will do
    assert Assessor("gpt", qrels, True).label == "gpt (model)"  # type: ignore[arg-type]
