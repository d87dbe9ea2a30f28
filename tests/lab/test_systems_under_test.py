"""Systems under test, by name and by URL."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cranfield.data.collection import Document
from cranfield.errors import CranfieldError, InputError
from cranfield.lab.engines import Options, open_engine
from cranfield.lab.latency import using
from cranfield.lab.systems_under_test import Given, dropped, given_options, parted, subjects_named, with_index

DOCUMENTS = [Document(f"d{i}", f"bicycle number {i}", "wheels and lamps " * (i + 1)) for i in range(5)]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with an index of each engine that needs no server."""
    monkeypatch.chdir(tmp_path)
    for kind in ("embedded", "sqlite", "tantivy"):
        if kind == "tantivy":
            pytest.importorskip("tantivy")
        open_engine(f"{kind}:own.{kind}").index(DOCUMENTS)
    return tmp_path


@pytest.mark.parametrize(
    "text, name, what",
    [
        ("bm25", "", "bm25"),
        ("bm25:k1=0.9,b=0.4+rm3:docs=5", "", "bm25:k1=0.9,b=0.4+rm3:docs=5"),
        ("strong=bm25:k1=0.9", "strong", "bm25:k1=0.9"),
        ("http-get:http://h/?q={query}", "", "http-get:http://h/?q={query}"),
        ("our engine=command:./s --k={depth} {query}", "our engine", "command:./s --k={depth} {query}"),
        ("lm@my=index", "", "lm@my=index"),
        ("./a=b.index", "", "./a=b.index"),
    ],
)
def test_a_name_stands_before_the_first_equals_sign(text: str, name: str, what: str) -> None:
    assert parted(text) == (name, what)


@pytest.mark.parametrize("text", ["=bm25", "name="])
def test_neither_side_of_the_sign_is_empty(text: str) -> None:
    with pytest.raises(InputError, match="expected NAME=SYSTEM"):
        parted(text)


def test_systems_of_an_index_of_another_and_of_engines_are_measured_alike(made: Path) -> None:
    texts = ["bm25", "lm@own.embedded", "fts=sqlite:own.sqlite", "own.tantivy", "shell:echo d1 1; : {query}"]
    found = subjects_named(texts, "own.embedded")
    assert {name: one.kind for name, one in found.items()} == {
        "bm25": "embedded",
        "lm@own.embedded": "embedded",
        "fts": "sqlite",
        "tantivy": "tantivy",
        "shell": "shell",
    }
    for one in found.values():
        with using(one.start) as search:
            assert len(search("lamps").of("query" if one.kind != "embedded" else "")) > 0
    assert [one.facts().documents for one in found.values()] == [5, 5, 5, 5, None]
    sizes = [one.facts().index_bytes for one in found.values()]
    assert sizes[-1] is None and all(size and size > 0 for size in sizes[:-1])
    assert all(one.facts().version for one in list(found.values())[:-1])
    assert [one.shared for one in found.values()] == [True, True, False, False, True]


@pytest.mark.parametrize(
    "texts, index, says",
    [
        (["bm26"], "own.embedded", "'bm26' is neither an engine's URL nor an index, and no system 'bm26'"),
        (["bm25"], None, "system 'bm25' of which index"),
        (["bm25"], "own.sqlite", "own.sqlite ranks by itself"),
        (["bm25", "bm25"], "own.embedded", "two systems are called 'bm25'"),
        (["sqlite:own.sqlite", "sqlite:own.sqlite"], None, "two systems are called 'sqlite'"),
        (["ftp://host/"], None, "no engine for"),
        (["http-get:http://u:s3cret@host/"], None, "there is no {query} in it"),
        (["command:"], None, "needs a place"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_is(
    made: Path, texts: list[str], index: str | None, says: str
) -> None:
    with pytest.raises(CranfieldError) as error:
        subjects_named(texts, index)
    assert says in str(error.value) and "s3cret" not in str(error.value)


def test_an_index_is_measured_though_only_other_systems_are_named(made: Path) -> None:
    assert with_index([], "own.embedded") == ["bm25"]
    assert with_index(["lm"], "own.embedded") == ["lm"]
    assert with_index(["x=lm"], "own.embedded") == ["x=lm"]
    assert with_index(["sqlite:own.sqlite"], "own.embedded") == ["bm25", "sqlite:own.sqlite"]
    assert with_index([], "own.sqlite") == ["own.sqlite"]
    assert with_index(["command:x {query}"], None) == ["command:x {query}"]


def test_options_are_for_all_or_for_one_by_name() -> None:
    texts = ["a=http-post:http://h/", "http-get:http://h/?q={query}"]
    values = {
        "ids": ["$.all", "a=$.one"],
        "scores": [],
        "body": ['{"x=y": "{query}"}'],
        "headers": ["X-All: 1", "a=X-One: a=b", "a=X-Two: 2"],
    }
    given = given_options(texts, Options(timeout=3.0), values)
    one, other = given.of("a", "http-post"), given.of("http-get", "http-get")
    assert (one.ids, other.ids) == ("$.one", "$.all") and one.timeout == other.timeout == 3.0
    assert one.headers == ("X-All: 1", "X-One: a=b", "X-Two: 2") and other.headers == ("X-All: 1",)
    assert one.body == '{"x=y": "{query}"}' and other.body == ""
    assert Given().common.retries == 0


def in_the_end(asked: Callable[[], bool]) -> bool:
    """Whether it is so within some time: while others read or write much, the system may keep a page for a moment."""
    for _ in range(100):
        if asked():
            return True
        time.sleep(0.05)
    return False


def test_files_are_dropped_from_memory_where_the_system_lets_them(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "postings").write_bytes(b"x" * 100_000)
    can = in_the_end(lambda: dropped(tmp_path / "index"))
    open_engine(f"embedded:{tmp_path}/own").index(DOCUMENTS)
    (one,) = subjects_named(["bm25"], str(tmp_path / "own")).values()
    with using(one.start) as search:
        search("lamps")
    # what was opened and let go of is no longer mapped, so that it goes like any other file
    del search
    assert in_the_end(one.forget) == can
    assert not dropped(tmp_path / "none")
    assert (tmp_path / "index" / "postings").read_bytes() == b"x" * 100_000
