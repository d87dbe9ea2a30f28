"""Plain runs as arrays: what `read_run` reads, or None."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.io import as_run, read_run, write_run
from cranfield.io.plain_runs import PlainRun, parse_plain_run, read_plain_run
from tests.soak import examples

IDS = st.text(alphabet="abé/<\udcff\x01", min_size=1, max_size=5)
SCORES = st.one_of(st.integers(0, 3).map(float), st.floats(-1e6, 1e6, allow_nan=False), st.floats(allow_infinity=False))
RUNS = st.dictionaries(
    IDS, st.dictionaries(IDS, SCORES.filter(lambda x: x == x), min_size=1, max_size=6), min_size=1, max_size=4
)
LINE = b"1 Q0 d1 1 0.5 me\n"


def rows(run: PlainRun) -> list[tuple[str, str, float]]:
    """A run line by line, decoded."""
    ends = np.cumsum(run.lengths)
    docs = [run.docs[end - n : end].tobytes() for n, end in zip(run.lengths, ends, strict=True)]
    queries = [query for query, n in zip(run.queries, np.diff(run.starts), strict=True) for _ in range(n)]
    texts = [doc.decode("utf-8", "surrogateescape") for doc in docs]
    return list(zip(queries, texts, run.scores.tolist(), strict=True))


@examples(100)
@given(RUNS)
def test_a_plain_run_has_the_lines_that_the_careful_reader_finds(
    tmp_path_factory: pytest.TempPathFactory, lists: dict[str, dict[str, float]]
) -> None:
    place = tmp_path_factory.mktemp("plain") / "a.run"
    write_run(as_run(lists), place, "trec")
    found, read = read_plain_run(place, "trec"), read_run(place, "trec")
    assert found is not None
    assert rows(found) == list(zip(read.row_queries(), read.docs.tolist(), read.scores.tolist(), strict=True))
    assert found.tag == read.tag


@pytest.mark.parametrize(
    "text",
    [
        b"1\tQ0\td1\t1\t0.5\tme\n",
        b"1 Q0 d1 1 0.5 me\r\n",
        b"  1  Q0 d1\v1 0.5 me  \n",
        b"1 Q0 d1 1 .5 me",
        b"1 Q0 d1 1 +5e-1 me\n",
    ],
)
def test_white_space_and_numbers_may_be_written_in_any_way(text: bytes) -> None:
    found = parse_plain_run(text)
    assert found is not None and rows(found) == [("1", "d1", 0.5)] and found.tag == "me"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        LINE + b"\n" + LINE,  # a blank line
        b"# said\n" + LINE,
        b"1 Q0 d1 1 0.5\n",
        b"1 Q0 d1 1 0.5 me and more\n",
        b"1 Q0 d1 1 0.5\n2 Q0 d1 1 0.5 me too\n",  # twelve words on two lines
        b"1 Q0 d1 1 0.5 me 2\nQ0 d1 1 0.5 me\n",
        b"1 Q0 d1 1 nan me\n",
        b"1 Q0 d1 1 inf me\n",
        b"1 Q0 d1 1 1e999 me\n",
        b"1 Q0 d1 1 0x1 me\n",
        b"1 Q0 d1 1 1_0 me\n",
        b"1 Q0 d1 1 1e me\n",
        b"1 Q0 d\0 1 1 me\n",
        LINE + b"2 Q0 d1 1 1 me\n" + b"1 Q0 d2 2 0.1 me\n",  # a query that comes back
    ],
)
def test_what_is_not_plain_is_left_to_the_careful_reader(text: bytes) -> None:
    assert parse_plain_run(text) is None


def test_queries_of_the_same_length_and_of_others_are_told_apart() -> None:
    text = b"".join(b"%b Q0 d 1 1 me\n" % query for query in (b"10", b"11", b"1", b"111", b"112", b"2"))
    found = parse_plain_run(text)
    assert found is not None and found.queries == ("10", "11", "1", "111", "112", "2")


def test_a_query_may_go_on_from_block_to_block_and_files_may_be_compressed(tmp_path: Path) -> None:
    lines = [f"{i // 40_000} Q0 document{i:07} {i} {100_000 - i} me\n" for i in range(60_000)]
    place = tmp_path / "long.run.gz"
    place.write_bytes(gzip.compress("".join(lines).encode(), 1))  # more than a megabyte
    found = read_plain_run(place)
    assert found is not None
    assert found.queries == ("0", "1") and found.starts.tolist() == [0, 40_000, 60_000]
    assert rows(found)[59_999] == ("1", "document0059999", 40_001.0)
    docs, lengths = found.arranged(np.array([59_999, 0]))
    assert docs.tobytes() == b"document0059999document0000000" and lengths.tolist() == [15, 15]


def test_another_format_is_none(tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    write_run(as_run({"q": {"a": 1.0}}), place, "json")
    assert read_plain_run(place) is None
