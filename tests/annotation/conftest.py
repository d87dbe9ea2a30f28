"""Logs to try things on: a file of SQLite, and a schema of its own in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from cranfield.annotation import AssessorSession, JudgmentLog, Settings, open_log

DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new log may be, in either database."""
    if request.param == "sqlite":
        return str(tmp_path / "log.db")
    return f"{request.getfixturevalue('postgres')}?schema=t{uuid4().hex[:20]}"


@pytest.fixture
def log(place: str) -> Iterator[JudgmentLog]:
    """An empty log, in either database."""
    with open_log(place) as opened:
        yield opened


@pytest.fixture
def small(tmp_path: Path) -> Iterator[JudgmentLog]:
    """A log in SQLite with two topics of five documents."""
    with open_log(tmp_path / "small.db") as opened:
        opened.add_pairs({"1": ["a", "b", "c", "d", "e"], "2": ["a", "b", "c", "d", "e"]})
        yield opened


def judge_all(session: AssessorSession, grade: float = 1, query: str | None = None) -> list[str]:
    """Give every document that is left the same grade; the documents in the order in which they came."""
    seen = []
    item = session.next(query)
    while item is not None:
        seen.append(item.doc)
        saved = session.save("judge", item.query, item.place, grade)
        item = saved.next or session.next(query)
    return seen


def with_pairs(log: JudgmentLog, topics: int, docs: int, **settings: object) -> JudgmentLog:
    log.configure(Settings(**settings))  # type: ignore[arg-type]
    log.add_pairs({str(query): [f"d{query}-{i}" for i in range(docs)] for query in range(1, topics + 1)})
    return log
