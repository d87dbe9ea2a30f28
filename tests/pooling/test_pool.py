"""The file of a pool holds pairs and nothing else; where they come from is beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield.errors import InputError
from cranfield.pooling import Pool, make_pool, read_pool, write_pool
from cranfield.pooling.pool import provenance_path
from tests.pooling.pooled_example import RUNS


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_pool_is_written_as_a_header_and_pairs_and_nothing_more(tmp_path: Path) -> None:
    pool = make_pool(RUNS, depth=3)
    write_pool(pool, tmp_path / "pool.jsonl")
    header, *pairs = lines(tmp_path / "pool.jsonl")
    assert header == {"pool": {"version": 1, "topics": 1, "documents": 6}}
    assert all(list(pair) == ["query", "doc"] for pair in pairs)
    assert [pair["doc"] for pair in pairs] == list(pool.pairs["T"])


def test_provenance_is_beside_the_pool_with_strategy_seed_digests_and_ranks(tmp_path: Path) -> None:
    write_pool(make_pool(RUNS, "rrf", depth=3, budget=4, seed=7), tmp_path / "pool.jsonl")
    header, *pairs = lines(tmp_path / "pool.provenance.jsonl")
    told = header["provenance"]
    assert isinstance(told, dict)
    assert (told["strategy"], told["seed"]) == ("rrf", 7)
    assert told["parameters"] == {"depth": 3, "budget": 4, "k": 60}
    assert [run["name"] for run in told["runs"]] == ["A", "B", "C"] and len(told["runs"][0]["sha256"]) == 64
    ranks = {pair["doc"]: pair["ranks"] for pair in pairs}
    assert ranks["d3"] == {"0": 3, "2": 1} and len(ranks) == 4


def test_a_pool_is_read_as_it_was_written(tmp_path: Path) -> None:
    odd = Pool({"q\udcff": ("d 1", "é\udcfe"), "2": ("d 1",)})
    write_pool(odd, tmp_path / "pool.jsonl.gz")
    assert read_pool(tmp_path / "pool.jsonl.gz").pairs == odd.pairs
    assert not (tmp_path / "pool.provenance.jsonl.gz").exists()


def test_ids_that_are_not_utf_8_are_escaped_so_that_every_line_is_json(tmp_path: Path) -> None:
    odd = Pool({"q\udcff": ("d\\udc80", "é\udcfe")}, provenance={"runs": [{"name": "r\udcfd"}]})
    write_pool(odd, tmp_path / "pool.jsonl")
    for file in tmp_path.iterdir():
        assert all(json.loads(line.decode("utf-8")) for line in file.read_bytes().splitlines())
    pair = '{"query": "q\\udcff", "doc": "é\\udcfe"}'
    assert (tmp_path / "pool.jsonl").read_text(encoding="utf-8").splitlines()[2] == pair
    assert read_pool(tmp_path / "pool.jsonl").pairs == odd.pairs


def test_ids_as_raw_bytes_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "pool").write_bytes(b'{"pool": {}}\n{"query": "q\xff", "doc": "d"}\n')
    assert read_pool(tmp_path / "pool").pairs == {"q\udcff": ("d",)}


@pytest.mark.parametrize(
    ("path", "beside"),
    [("pool", "pool.provenance.jsonl"), ("a/p.jsonl", "a/p.provenance.jsonl"), ("-", None)],
)
def test_where_provenance_is_kept(path: str, beside: str | None) -> None:
    assert provenance_path(path) == beside


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected a line of JSON"),
        ('{"query": "1", "doc": "a"}\n', 'line 1: expected a header, {"pool": {…}}'),
        ("[1]\n", "line 1: expected a JSON object, found list"),
        ('{"pool": {}}\n{"query": "1"}\n', "line 2: expected"),
        ('{"pool": {}}\n{"query": "1", "doc": 3}\n', "line 2: expected"),
        ('{"pool": {}}\n{"query": "1", "doc": "a", "rank": 3}\n', "line 2: a pair of a pool must have query and doc"),
        ('{"pool": {}}\n{"query": "1", "doc": "a"}\n{"query": "1", "doc": "a"}\n', "line 3: document 'a' occurs twice"),
        ('{"pool": {"documents": 2}}\n{"query": "1", "doc": "a"}\n', "expected 2 documents by the header, found 1"),
    ],
)
def test_what_is_no_pool_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "pool").write_text(text)
    with pytest.raises(InputError) as error:
        read_pool(tmp_path / "pool")
    assert message in str(error.value)


def test_what_runs_have_of_a_pool_is_counted() -> None:
    held, alone = make_pool(RUNS, depth=3).count_contributions()
    # A d1 d2 d3, B d7 d2 d8, C d3 d10 d7; the pool has no more, but A holds d1 alone only to that depth
    assert held.tolist() == [3, 3, 3] and alone.tolist() == [1, 1, 1]
