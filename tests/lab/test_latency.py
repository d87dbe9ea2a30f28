"""Latencies: counted from when a query was due, compared query by query; what fails is counted."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Run
from cranfield.errors import CranfieldError, InputError
from cranfield.lab.engines import SearchFailed
from cranfield.lab.latency import (
    MAX_FAILURES,
    Clock,
    Latency,
    attempted,
    closed_loop,
    compared,
    first_answers,
    least_longest,
    open_loop,
    read_latencies,
    stretches,
    summary,
    throughput,
    write_latencies,
)
from tests.waiting import TIMEOUT

QUERIES = {f"q{i}": f"text {i}" for i in range(6)}


class FakeClock:
    """Time that passes only when somebody waits or works."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time

    def pass_by(self, seconds: float) -> None:
        self.time += seconds

    @property
    def clock(self) -> Clock:
        return Clock(self.now, self.pass_by)


class Working:
    """A searcher that takes its time, fails for some texts, and can be closed."""

    def __init__(self, seconds: Callable[[int], float], fake: FakeClock, failing: Callable[[str], bool] = bool) -> None:
        self.seconds, self.fake = seconds, fake
        self.failing = failing if failing is not bool else lambda text: False
        self.asked: list[str] = []
        self.closed = 0

    def __call__(self, text: str) -> None:
        self.asked.append(text)
        self.fake.pass_by(self.seconds(len(self.asked)))
        if self.failing(text):
            raise CranfieldError(f"no answer to {text}.")

    def close(self) -> None:
        self.closed += 1


def test_every_query_is_asked_of_every_system_in_each_repetition_in_another_order() -> None:
    asked: list[str] = []
    found = closed_loop({"a": asked.append, "b": lambda _: None}, QUERIES, repetitions=3, warm_up=2).latencies
    assert Counter((x.query, x.system, x.repetition) for x in found) == Counter(
        {(q, s, r): 1 for q in QUERIES for s in "ab" for r in (1, 2, 3)}
    )
    assert len(asked) == 6 * 5
    orders = {tuple(x.query for x in found if x.system == "a" and x.repetition == r) for r in (1, 2, 3)}
    assert len(orders) == 3


def test_the_closed_loop_times_each_search_by_the_clock() -> None:
    fake = FakeClock()
    slow, quick = Working(lambda n: 0.02, fake), Working(lambda n: 0.005, fake)
    found = closed_loop({"slow": slow, "quick": quick}, QUERIES, 2, 0, clock=fake.clock)
    assert {(x.system, round(x.ms, 6)) for x in found.latencies} == {("slow", 20.0), ("quick", 5.0)}
    assert found.seconds == pytest.approx(2 * 6 * 0.025) and not found.failures


def test_searches_that_fail_have_no_time_and_are_counted_also_while_warming_up() -> None:
    fake = FakeClock()
    search = Working(lambda n: 0.01, fake, lambda text: text.endswith("3"))
    found = closed_loop({"a": search}, QUERIES, 2, 1, clock=fake.clock)
    assert {x.query for x in found.latencies} == set(QUERIES) - {"q3"} and len(found.latencies) == 10
    assert [(x.query, x.repetition, x.message) for x in found.failures] == [
        ("q3", r, "no answer to text 3.") for r in (0, 1, 2)
    ]


def test_a_system_that_always_fails_is_asked_no_more_and_the_others_go_on() -> None:
    fake = FakeClock()
    dead, alive = Working(lambda n: 30, fake, lambda text: True), Working(lambda n: 0.01, fake)
    found = closed_loop({"dead": dead, "alive": alive}, QUERIES, 5, 1, clock=fake.clock)
    assert len(dead.asked) == MAX_FAILURES and len(found.latencies) == 30
    messages = [x.message for x in found.failures]
    assert len(messages) == 36 and messages[0].startswith("no answer") and messages[-1].startswith("not asked after")


def test_one_stalled_answer_is_charged_to_all_that_wait_behind_it() -> None:
    """One client; the third search stalls for a second, each other takes a millisecond, one is due each 10 ms or so."""
    fake = FakeClock()
    # the first of all is the one that connects, before the clock of the loop begins
    search = Working(lambda n: 1.0 if n == 4 else 0.001, fake)
    found = open_loop("s", lambda: search, QUERIES, rate=100, seconds=2, clients=1, clock=fake.clock)
    assert len(found.latencies) == 200 and not found.failures and search.closed == 1
    rng = np.random.default_rng(1)
    due = np.cumsum(rng.exponential(1 / 100, 200))
    free, expected = 0.0, []
    for i, moment in enumerate(due):
        free = max(free, moment) + (1.0 if i == 2 else 0.001)
        expected.append(1000 * (free - moment))
    assert [x.ms for x in found.latencies] == pytest.approx(expected)
    # were each counted from when it was sent, only one search would be slow
    slow = [x for x in found.latencies if x.ms > 100]
    assert len(slow) > 50 and found.latencies[2].ms == pytest.approx(1000, rel=0.05)
    assert found.seconds == pytest.approx(free)


def test_what_waits_behind_slow_answers_waits_longer_and_longer() -> None:
    """One client, an answer in 20 ms and a query each 5 ms: waiting times grow, though each search takes the same."""
    fake = FakeClock()
    search = Working(lambda n: 0.02, fake)
    found = open_loop("slow", lambda: search, QUERIES, rate=200, seconds=0.2, clients=1, clock=fake.clock).latencies
    assert len(found) == 40 and found[-1].ms > 400 and found[0].ms == pytest.approx(20)


def test_with_enough_clients_nothing_waits() -> None:
    together = threading.Barrier(20)  # no answer before all have been asked

    def start() -> Callable[[str], None]:
        return lambda _: together.wait(TIMEOUT) and None

    found = open_loop("slow", start, QUERIES, rate=50, seconds=0.4, clients=20)
    assert len(found.latencies) == 20 and not found.failures
    with pytest.raises(CranfieldError, match="expected more than 0"):
        open_loop("none", start, QUERIES, rate=0, seconds=1)


def test_failures_at_a_rate_are_counted_and_the_others_kept() -> None:
    fake = FakeClock()
    search = Working(lambda n: 0.001, fake, lambda text: text.endswith("5"))
    found = open_loop("s", lambda: search, QUERIES, rate=100, seconds=1, clients=1, clock=fake.clock)
    assert found.failures and len(found.failures) + len(found.latencies) == 100
    assert {x.query for x in found.failures} == {"q5"}


def test_every_client_has_a_searcher_of_its_own_used_and_closed_in_its_own_thread() -> None:
    made: list[Any] = []

    class Own:
        def __init__(self) -> None:
            self.threads = {threading.get_ident()}
            made.append(self)

        def __call__(self, text: str) -> None:
            self.threads.add(threading.get_ident())
            time.sleep(0.001)

        def close(self) -> None:
            self.threads.add(threading.get_ident())

    assert throughput("s", Own, QUERIES, 3, 0.05).searches > 0
    assert len(made) == 3 and all(len(one.threads) == 1 for one in made)
    assert len(set.union(*(one.threads for one in made))) == 3
    open_loop("s", Own, QUERIES, rate=100, seconds=0.1, clients=4)
    assert len(made) == 7


def test_clients_that_only_wait_get_more_done_together() -> None:
    fake, together, has_begun = FakeClock(), threading.Barrier(4), threading.Event()

    def search(_: str) -> None:
        if not has_begun.is_set():
            together.wait(TIMEOUT)  # no answer before all four have asked
            has_begun.set()
        fake.pass_by(0.1)

    found = throughput("s", lambda: search, QUERIES, 4, 0.35, clock=fake.clock, connect=False)
    assert found.searches >= 4 and not found.errors and found.rate == pytest.approx(found.searches / found.seconds)


def test_throughput_counts_answers_only_and_tells_the_first_failure() -> None:
    fake = FakeClock()
    search = Working(lambda n: 0.1, fake, lambda text: text.endswith(("0", "1")))
    found = throughput("s", lambda: search, QUERIES, 1, 5.95, clock=fake.clock)
    # 60 searches, 20 of which fail, and one before to connect, which fails too
    assert (found.searches, found.errors) == (40, 21) and found.seconds == pytest.approx(6.0)
    assert found.first_error.startswith("no answer to text")


def test_what_has_no_connection_is_not_searched_before_the_time_begins() -> None:
    fake = FakeClock()
    search = Working(lambda n: 0.1, fake)
    found = throughput("s", lambda: search, QUERIES, 1, 0.95, clock=fake.clock, connect=False)
    assert found.searches == len(search.asked) == 10
    found_at_rate = open_loop("s", lambda: search, QUERIES, 10, 1, clients=1, clock=fake.clock, connect=False)
    assert len(found_at_rate.latencies) == len(search.asked) - 10 == 10


def test_each_client_goes_through_the_queries_in_an_order_of_its_own() -> None:
    fake = FakeClock()
    search = Working(lambda n: 0.1, fake)
    throughput("s", lambda: search, QUERIES, 1, 1.15, clock=fake.clock)
    first, second = search.asked[1:7], search.asked[7:13]
    assert sorted(first) == sorted(QUERIES.values()) == sorted(second) and first != second


def test_what_cannot_be_started_is_an_error_for_all_clients() -> None:
    def start() -> Any:
        raise InputError("there is no such index.", "x.index")

    with pytest.raises(InputError, match="no such index"):
        throughput("s", start, QUERIES, 3, 0.1)
    with pytest.raises(InputError, match="no such index"):
        first_answers({"s": start}, QUERIES, 2)


def test_first_answers_are_timed_from_the_start_with_the_same_query_for_all() -> None:
    fake = FakeClock()
    forgotten: list[str] = []
    searches = {"a": Working(lambda n: 0.002, fake), "b": Working(lambda n: 0.001, fake)}

    def starting(name: str, seconds: float) -> Callable[[], Working]:
        def start() -> Working:
            fake.pass_by(seconds)
            return searches[name]

        return start

    starts = {"a": starting("a", 0.5), "b": starting("b", 0.1)}
    found = first_answers(starts, QUERIES, 4, before=forgotten.append, clock=fake.clock)
    assert {(x.system, round(x.ms, 6)) for x in found.latencies} == {("a", 502.0), ("b", 101.0)}
    assert searches["a"].asked == searches["b"].asked and searches["a"].closed == 4
    assert sorted(forgotten) == ["a"] * 4 + ["b"] * 4


def test_first_answers_raise_for_bad_input_and_count_the_rest() -> None:
    def broken(text: str) -> None:
        raise CranfieldError("overloaded.")

    def missing(text: str) -> None:
        raise InputError("no such file.")

    found = first_answers({"s": lambda: broken}, QUERIES, 3)
    assert not found.latencies and [x.message for x in found.failures] == ["overloaded."] * 3
    with pytest.raises(InputError):
        first_answers({"s": lambda: missing}, QUERIES, 3)


def test_the_reason_of_a_failure_is_that_of_the_query() -> None:
    empty = Run.from_rows([], [], np.empty(0))

    def failing(text: str) -> None:
        raise SearchFailed("http: 1 of 1 query failed: '…'", empty, {"query": "answered 500\nnow"})

    def silent(text: str) -> None:
        raise ZeroDivisionError

    assert attempted(failing, "x") == "answered 500 now" and attempted(silent, "x") == "ZeroDivisionError"
    assert attempted(str.upper, "x") == ""


def test_summaries_are_percentiles_with_intervals_around_them() -> None:
    rng = np.random.default_rng(4)
    made = [Latency(f"q{i}", "a", r, float(rng.lognormal(2, 0.5))) for i in range(40) for r in range(5)]
    (found,) = summary(made)
    times = [x.ms for x in made]
    assert found.searches == 200 and found.longest == max(times) and found.mean.value == pytest.approx(np.mean(times))
    for p, figure in found.percentiles.items():
        assert figure.value == pytest.approx(np.percentile(times, p))
        assert figure.low is not None and figure.high is not None and figure.low <= figure.value <= figure.high
    # the sixth longest of the longest of each query
    assert found.longest_low == sorted(max(times[5 * i : 5 * i + 5]) for i in range(40))[-6]
    (single,) = summary(made[:5])
    assert single.mean.low is None and single.longest_low is None


def test_intervals_hold_their_level() -> None:
    """The interval of the median of 40 queries covers the true one in about 95 of 100 samples."""
    rng = np.random.default_rng(7)
    inside = 0
    for _ in range(60):
        levels = rng.normal(2, 0.5, 40)
        made = [Latency(f"q{i}", "a", r, float(np.exp(levels[i]))) for i in range(40) for r in range(2)]
        figure = summary(made)[0].percentiles[50]
        assert figure.low is not None and figure.high is not None
        inside += figure.low <= math.exp(2) <= figure.high
    assert inside >= 50


def test_groups_of_any_size_are_resampled_alike() -> None:
    """One search more in one group changes how it is computed, and hardly the figures."""
    rng = np.random.default_rng(5)
    made = [Latency(f"q{i}", "a", r, float(rng.lognormal(2, 0.5))) for i in range(40) for r in range(5)]
    (even,), (odd,) = summary(made), summary([*made, Latency("q0", "a", 6, made[0].ms)])
    for ours, theirs in zip(even.percentiles.values(), odd.percentiles.values(), strict=True):
        assert ours.low == pytest.approx(theirs.low, rel=0.1) and ours.high == pytest.approx(theirs.high, rel=0.1)


def test_the_limit_of_the_longest_is_reached_39_times_in_40() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.lognormal(size=(2, 4000, 30))
    limits = np.array([least_longest(row) for row in first])
    assert 0.975 <= (second.max(axis=1) >= limits).mean() < 0.995


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_the_limit_of_the_longest_is_one_of_the_times(times: list[float]) -> None:
    limit = least_longest(times)
    assert limit is None if len(times) < 4 else limit in times


def test_searches_at_a_rate_are_resampled_in_stretches_of_time() -> None:
    """A stall slows one stretch: that is one thing that happened, and the interval is as wide as that."""
    made = [Latency(f"q{i % 50}", "a", i + 1, 500.0 if 100 <= i < 150 else 1.0) for i in range(1000)]
    assert Counter(map(stretches(made), made)) == Counter({i: 50 for i in range(20)})
    by_time, by_query = summary(made, together=stretches(made))[0], summary(made)[0]
    assert by_time.mean.low is not None and by_query.mean.low is not None
    assert by_time.mean.low == pytest.approx(1.0) and by_query.mean.low > 20


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


def test_a_ratio_by_hand() -> None:
    """Medians 4, 9 against 2, 3: ratios 2 and 3, whose logarithms have the mean ln √6."""
    made = [Latency("x", "a", r, ms) for r, ms in enumerate((1, 4, 100))] + [Latency("y", "a", 1, 9)]
    made += [Latency("x", "b", 1, 2), Latency("y", "b", 1, 3)]
    (found,) = compared(made, "b")
    assert found.ratio.value == pytest.approx(math.sqrt(6))


def test_times_of_nothing_have_no_ratio_and_are_told() -> None:
    made = [Latency(q, s, 1, 0.0 if (q, s) == ("x", "a") else 2.0) for q in "xy" for s in "ab"]
    (found,) = compared(made, "b")
    assert found.without_time == ("x",) and found.left_out == () and found.queries == 1
    assert compared(made[:1] + [Latency("y", "b", 1, 1.0)], "b") == []


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    made = [Latency("q\udcff", "bm25", 1, 0.125), Latency("q2", "lm", 2, 1234.5)]
    write_latencies(made, tmp_path / "latencies.tsv")
    assert read_latencies(tmp_path / "latencies.tsv") == made


def test_a_file_needs_no_header_and_may_have_ends_of_windows(tmp_path: Path) -> None:
    (tmp_path / "plain.tsv").write_bytes(b"q1\tours\t1\t12.5\r\n\r\nq1\tours\t2\t1e1\r\n")
    assert read_latencies(tmp_path / "plain.tsv") == [Latency("q1", "ours", 1, 12.5), Latency("q1", "ours", 2, 10.0)]


@pytest.mark.parametrize("name", ["a\tb", "a\nb", " "])
def test_names_that_a_file_cannot_hold_are_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot name a query or a system"):
        write_latencies([Latency("q", name, 1, 1.0)], tmp_path / "bad.tsv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text, says",
    [
        ("q a 1 2\n", "line 1: expected query, system, repetition, ms, parted by tabs, found 1 column"),
        ("q\ta\t1\t2\t3\n", "found 5 columns"),
        ("q\ta\t1\tx\n", "expected numbers"),
        ("q\ta\t1\t1_0\n", "expected numbers"),
        ("q\ta\t1.5\t1\n", "expected numbers"),
        ("q\ta\t1\t-2\n", "expected a number from 0"),
        ("q\ta\t1\tnan\n", "expected a number from 0"),
        ("q\ta\t1\tinf\n", "expected a number from 0"),
        ("q\t\t1\t2\n", "the name of the system is empty"),
        ("\ta\t1\t2\n", "the name of the query is empty"),
        ("", "no latency in this file"),
        ("query\tsystem\trepetition\tms\n", "no latency in this file"),
    ],
)
def test_lines_that_are_none_are_told(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.tsv").write_text(text)
    with pytest.raises(InputError, match=says):
        read_latencies(tmp_path / "bad.tsv")
