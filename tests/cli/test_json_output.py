"""JSON of every command is UTF-8, whatever bytes the ids of queries and documents hold, and gives them back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

QUERY, DOC = "q\udcff", "d\udce9"
COMMANDS = (
    ("eval qrels one.run two.run -m AP --per-query --format json", {QUERY}),
    ("eval qrels one.run two.run -m AP --per-query --format jsonl", {QUERY}),
    ("explain nDCG qrels one.run --query {query} --format json", {QUERY, DOC}),
    ("conventions nDCG qrels one.run --format json", {QUERY}),
    ("compare qrels one.run two.run -m AP --format json", {QUERY}),
    ("gate qrels two.run one.run -m AP --format json", {QUERY}),
    ("check qrels one.run --format json", set()),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels").write_bytes(b"1 0 d\xe9 1\n1 0 d2 0\nq\xff 0 d\xe9 1\nq\xff 0 d3 0\n3 0 d1 1\n")
    (tmp_path / "one.run").write_bytes(b"1 Q0 d\xe9 1 2 a\nq\xff Q0 d3 1 3 a\nq\xff Q0 d\xe9 2 2 a\n3 Q0 d1 1 1 a\n")
    (tmp_path / "two.run").write_bytes(b"1 Q0 d2 1 2 b\n1 Q0 d\xe9 2 1 b\nq\xff Q0 d\xe9 1 3 b\n3 Q0 d1 1 1 b\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(found: object) -> set[str]:
    """Every key and every text in a record."""
    if isinstance(found, dict):
        return set(found) | texts(list(found.values()))
    if isinstance(found, list):
        return set().union(*map(texts, found))
    return {found} if isinstance(found, str) else set()


@pytest.mark.parametrize(("command", "named"), COMMANDS, ids=lambda given: given[:10] if isinstance(given, str) else "")
def test_ids_that_are_not_utf8_are_escaped(cranfield: Cranfield, folder: Path, command: str, named: set[str]) -> None:
    outcome = cranfield(*command.replace("{query}", QUERY).split())
    assert outcome.code in (0, 1), outcome.err
    assert outcome.out.encode("utf-8")  # would fail on bytes that are not
    records = outcome.out.splitlines() if command.endswith("jsonl") else [outcome.out]
    assert named <= set().union(*(texts(json.loads(one)) for one in records))
