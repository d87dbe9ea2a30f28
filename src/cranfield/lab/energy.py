"""What work takes in energy, through tirex-tracker (the extra `energy`), where the machine has counters for it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any, TypeVar

from cranfield.base import Record
from cranfield.errors import CranfieldError, MissingExtra

T = TypeVar("T")

POLL = 10  # milliseconds between two looks at the counters
PARTS = {
    "cpu": "CPU_ENERGY_SYSTEM_JOULES",
    "ram": "RAM_ENERGY_SYSTEM_JOULES",
    "gpu": "GPU_ENERGY_SYSTEM_JOULES",
}


class Joules(Record):
    """What the whole machine took meanwhile, by part; None where there is no counter.

    >>> Joules(cpu=2.0, ram=0.5).total, Joules().total
    (2.5, None)
    """

    cpu: float | None = None
    ram: float | None = None
    gpu: float | None = None

    @property
    def total(self) -> float | None:
        known = [part for part in (self.cpu, self.ram, self.gpu) if part is not None]
        return sum(known) if known else None


class Use(Record):
    """The energy of some time in which a system searched, or nothing was done."""

    system: str
    searches: int
    seconds: float
    joules: Joules

    @property
    def joules_per_search(self) -> float | None:
        return None if self.joules.total is None or not self.searches else self.joules.total / self.searches

    @property
    def watts(self) -> float | None:
        return None if self.joules.total is None else self.joules.total / self.seconds


class Energy(Record):
    """What each system took, and what the machine takes when it only waits."""

    idle: Use
    systems: tuple[Use, ...]

    @property
    def counters(self) -> bool:
        """Whether there is any counter that can be read."""
        return any(use.joules.total is not None for use in (self.idle, *self.systems))

    def above_idle(self, use: Use) -> float | None:
        """Joules a search beyond what waiting as long would have taken; None where that cannot be told."""
        total, idle = use.joules.total, self.idle.watts
        if total is None or idle is None or not use.searches:
            return None
        return max(0.0, total - idle * use.seconds) / use.searches


def metered(work: Callable[[], T]) -> tuple[T, Joules]:
    """Do some work; what comes of it, and the energy it took."""
    tracker = library()
    measures = {part: getattr(tracker.Measure, name) for part, name in PARTS.items()}
    try:
        tracking = tracker.TrackingHandle.start(measures=set(measures.values()), poll_intervall_ms=POLL)
    except (RuntimeError, ValueError, OSError) as error:
        raise CranfieldError(f"tirex-tracker cannot measure energy: {error}.") from None
    try:
        done = work()
    finally:
        results = tracking.stop()
    return done, Joules(**{part: _joules(results.get(measure)) for part, measure in measures.items()})


def library() -> Any:
    """tirex-tracker, or an error that says how to get it."""
    try:
        return importlib.import_module("tirex_tracker")
    except ImportError:
        raise MissingExtra("energy", "energy") from None


def _joules(entry: Any) -> float | None:
    """A figure of tirex-tracker, which is text; `null`, and a machine that takes nothing, are no figures."""
    value = getattr(entry, "value", None)
    text = value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
    try:
        joules = json.loads(text)
    except ValueError:
        return None
    return float(joules) if isinstance(joules, int | float) and joules > 0 else None
