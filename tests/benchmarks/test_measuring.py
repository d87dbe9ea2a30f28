"""Turns are taken fairly, and time and memory are those of the process asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from benchmarks.measuring import Measurement, measure_call, measure_process, take_turns

from benchmarks import measuring


def counted(seconds: float, log: list[str], name: str) -> Callable[[], Measurement]:
    def task() -> Measurement:
        log.append(name)
        return Measurement(seconds + log.count(name))

    return task


def test_tools_take_turns_and_the_first_is_to_warm_up() -> None:
    log: list[str] = []
    taken = take_turns({"a": counted(0, log, "a"), "b": counted(0, log, "b")}, repeat=2, patience=100)
    assert log == ["a", "b"] * 3
    assert [one.seconds for one in taken["a"]] == [2, 3]


def test_a_slow_tool_is_not_begun_again_and_its_first_turn_counts() -> None:
    log: list[str] = []
    taken = take_turns({"slow": counted(50, log, "slow"), "fast": counted(0, log, "fast")}, repeat=3, patience=20)
    assert log.count("slow") == 1 and log.count("fast") == 4
    assert [one.seconds for one in taken["slow"]] == [51]


def test_calls_are_repeated_until_they_can_be_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(measuring, "time", SimpleNamespace(perf_counter=lambda: 0.004 * len(calls)))

    def work() -> dict[str, float]:
        calls.append(1)
        return {"AP": 0.5}

    measurement = measure_call(work, at_least=0.01)
    assert len(calls) == 3 and measurement.seconds == pytest.approx(0.004)
    assert measurement.sums == {"AP": 0.5}


def test_time_and_memory_are_of_the_process_and_not_of_this_one() -> None:
    this = bytearray(60_000_000)
    this[::4096] = b"x" * len(this[::4096])  # present in memory
    idle = measure_process([sys.executable, "-c", "pass"])
    large = measure_process([sys.executable, "-c", "import time; x = b'x' * 100_000_000; time.sleep(0.2)"])
    assert idle.memory is not None and idle.memory < 50_000_000
    assert large.memory is not None and 100_000_000 < large.memory < 150_000_000
    assert large.seconds > 0.2


def test_what_is_printed_is_read_and_the_environment_passed_on() -> None:
    program = "import os; print(os.environ['CRANFIELD_PURE'])"
    measurement = measure_process(
        [sys.executable, "-c", program], {"CRANFIELD_PURE": "1"}, lambda text: {"AP": float(text)}
    )
    assert measurement.sums == {"AP": 1.0}


def test_a_failure_is_told() -> None:
    with pytest.raises(SystemExit, match="ended with 1:\n.*oh dear"):
        measure_process([sys.executable, "-c", "raise SystemExit('oh dear')"])
