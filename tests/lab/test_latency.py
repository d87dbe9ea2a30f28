"""Latencies: counted from when a query was due, compared query by query."""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cranfield.errors import CranfieldError, InputError
from cranfield.lab.latency import (
    Latency,
    closed_loop,
    compared,
    open_loop,
    read_latencies,
    summary,
    throughput,
    write_latencies,
)

QUERIES = {f"q{i}": f"text {i}" for i in range(6)}


def test_every_query_is_asked_of_every_system_in_each_repetition_in_another_order() -> None:
    asked: list[str] = []
    found = closed_loop({"a": asked.append, "b": lambda _: None}, QUERIES, repetitions=3, warm_up=2)
    assert Counter((x.query, x.system, x.repetition) for x in found) == Counter(
        {(q, s, r): 1 for q in QUERIES for s in "ab" for r in (1, 2, 3)}
    )
    assert len(asked) == 6 * 5
    orders = {tuple(x.query for x in found if x.system == "a" and x.repetition == r) for r in (1, 2, 3)}
    assert len(orders) == 3


def test_what_waits_behind_a_slow_answer_is_slow_too() -> None:
    """One client, an answer in 20 ms and a query each 5 ms: waiting times grow, though each search takes the same."""
    found = open_loop("slow", lambda _: time.sleep(0.02), QUERIES, rate=200, seconds=0.2, clients=1)
    assert len(found) == 40
    assert found[-1].ms > 300 and found[-1].ms > 5 * found[0].ms


def test_with_enough_clients_nothing_waits() -> None:
    found = open_loop("slow", lambda _: time.sleep(0.01), QUERIES, rate=50, seconds=0.4, clients=20)
    assert np.median([x.ms for x in found]) < 100
    with pytest.raises(CranfieldError, match="expected more than 0"):
        open_loop("none", lambda _: None, QUERIES, rate=0, seconds=1)


def test_clients_that_only_wait_get_more_done_together() -> None:
    one = throughput("s", lambda _: time.sleep(0.01), QUERIES, 1, 0.3)
    four = throughput("s", lambda _: time.sleep(0.01), QUERIES, 4, 0.3)
    assert four.searches > 2 * one.searches and four.rate == pytest.approx(four.searches / four.seconds)


def test_an_error_of_any_client_is_raised() -> None:
    def broken(_: str) -> None:
        raise CranfieldError("the engine is gone.")

    with pytest.raises(CranfieldError, match="the engine is gone"):
        throughput("s", broken, QUERIES, 2, 0.1)


def test_summaries_are_percentiles_with_intervals_around_them() -> None:
    rng = np.random.default_rng(4)
    made = [Latency(f"q{i}", "a", r, float(rng.lognormal(2, 0.5))) for i in range(40) for r in range(5)]
    (found,) = summary(made)
    times = [x.ms for x in made]
    assert found.searches == 200 and found.longest == max(times) and found.mean.value == pytest.approx(np.mean(times))
    for p, figure in found.percentiles.items():
        assert figure.value == pytest.approx(np.percentile(times, p))
        assert figure.low is not None and figure.high is not None and figure.low <= figure.value <= figure.high
    (single,) = summary(made[:5])
    assert single.mean.low is None


def test_systems_are_compared_by_the_ratio_of_each_query() -> None:
    made = [Latency(f"q{i}", "a", r, 2.0 * (i + 1)) for i in range(5) for r in (1, 2, 3)]
    made += [Latency(f"q{i}", "b", r, 1.0 * (i + 1) if r else 1e6) for i in range(5) for r in (1, 2, 3)]
    made += [Latency("only", "b", 1, 1.0)]
    (found,) = compared(made, "b")
    assert found.ratio.value == pytest.approx(2) and found.queries == 5 and found.faster_on == 0
    assert found.left_out == ("only",)
    logs = [math.log(2)] * 5
    assert found.ratio.low == pytest.approx(math.exp(logs[0])) and found.ratio.high == pytest.approx(2)
    with pytest.raises(CranfieldError, match="no latencies of 'c'"):
        compared(made, "c")


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    made = [Latency("q\udcff", "bm25", 1, 0.125), Latency("q2", "lm", 2, 1234.5)]
    write_latencies(made, tmp_path / "latencies.tsv")
    assert read_latencies(tmp_path / "latencies.tsv") == made


@pytest.mark.parametrize(
    "text, says",
    [
        ("q a 1 2\n", "line 1: expected query, system, repetition, ms, parted by tabs, found 1 column"),
        ("q\ta\t1\tx\n", "expected numbers"),
        ("q\ta\t1\t-2\n", "expected a number from 0"),
        ("q\ta\t1\tnan\n", "expected a number from 0"),
        ("", "no latency in this file"),
    ],
)
def test_lines_that_are_none_are_told(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.tsv").write_text(text)
    with pytest.raises(InputError, match=says):
        read_latencies(tmp_path / "bad.tsv")
