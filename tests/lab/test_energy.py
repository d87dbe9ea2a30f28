"""Energy through tirex-tracker: the real package where it is installed, else a stand-in with its interface."""

from __future__ import annotations

import enum
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from cranfield.errors import CranfieldError, MissingExtra
from cranfield.lab.bench import Load, run_bench
from cranfield.lab.energy import Energy, Joules, Use, metered

QUICK = Load(repetitions=1, warm_up=0, clients=(), seconds=0.05, cold=0, energy=True)


class Measure(enum.IntEnum):
    """As in tirex-tracker 0.2.24."""

    CPU_ENERGY_SYSTEM_JOULES = 8
    RAM_ENERGY_SYSTEM_JOULES = 24
    GPU_ENERGY_SYSTEM_JOULES = 33


def tracker(values: list[dict[str, bytes]]) -> ModuleType:
    """A module with the interface of tirex-tracker 0.2.24, which gives figures as text, and null without a counter."""

    class TrackingHandle:
        @classmethod
        def start(cls, measures: set[Measure], poll_intervall_ms: int = 100) -> TrackingHandle:
            assert measures == set(Measure) and poll_intervall_ms > 0
            return cls()

        def stop(self) -> dict[Measure, Any]:
            given = values.pop(0) if len(values) > 1 else values[0]
            return {m: SimpleNamespace(source=m, value=given.get(m.name[:3].lower(), b"null")) for m in Measure}

    module = ModuleType("tirex_tracker")
    module.Measure = Measure  # type: ignore[attr-defined]
    module.TrackingHandle = TrackingHandle  # type: ignore[attr-defined]
    return module


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    def install(*values: dict[str, bytes]) -> None:
        monkeypatch.setitem(sys.modules, "tirex_tracker", tracker(list(values)))

    return install


def test_joules_are_read_by_part(fake: Any) -> None:
    fake({"cpu": b"12.5", "ram": b"2"})
    done, joules = metered(lambda: "done")
    assert done == "done" and joules == Joules(12.5, 2.0, None) and joules.total == 14.5


@pytest.mark.parametrize("value", [b"null", b"0", b"0.0", b"-1", b"", b"broken", b"true\0"])
def test_no_counter_is_no_figure_and_never_zero(fake: Any, value: bytes) -> None:
    fake({"cpu": value})
    assert metered(lambda: None)[1] == Joules() and Joules().total is None


def test_the_tracker_stops_when_the_work_fails(fake: Any) -> None:
    fake({"cpu": b"1"})

    def broken() -> None:
        raise CranfieldError("the engine is gone.")

    with pytest.raises(CranfieldError, match="engine is gone"):
        metered(broken)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tirex_tracker", None)
    with pytest.raises(MissingExtra, match=r"cranfield\[energy\]"):
        metered(lambda: None)


def test_energy_a_search_is_told_beyond_what_the_machine_takes_by_itself() -> None:
    """10 W when idle; 5 searches in 2 s take 30 J, of which 20 would have been taken anyway."""
    energy = Energy(Use("", 0, 1.0, Joules(cpu=10.0)), (Use("a", 5, 2.0, Joules(cpu=30.0)),))
    (use,) = energy.systems
    assert use.joules_per_search == 6 and use.watts == 15 and energy.above_idle(use) == 2 and energy.counters
    nothing = Energy(Use("", 0, 1.0, Joules()), (Use("a", 0, 2.0, Joules()),))
    assert not nothing.counters and nothing.above_idle(nothing.systems[0]) is None
    assert nothing.systems[0].joules_per_search is None and nothing.idle.watts is None


def test_a_bench_measures_idle_first_and_then_each_system(fake: Any) -> None:
    fake({"cpu": b"1"}, {"cpu": b"3"}, {"cpu": b"5"})
    found = run_bench({"a": lambda: str.upper, "b": lambda: str.lower}, {"1": "x"}, QUICK)
    assert found.energy is not None and found.energy.idle.joules.cpu == 1
    assert [(use.system, use.joules.cpu) for use in found.energy.systems] == [("a", 3), ("b", 5)]
    assert all(use.searches > 0 for use in found.energy.systems)


def test_the_real_tracker_gives_figures_or_none() -> None:
    pytest.importorskip("tirex_tracker", reason="the extra 'energy' is not installed")
    found = run_bench({"a": lambda: str.upper}, {"1": "x"}, QUICK)
    assert found.energy is not None
    for use in (found.energy.idle, *found.energy.systems):
        assert use.joules.total is None or use.joules.total > 0
