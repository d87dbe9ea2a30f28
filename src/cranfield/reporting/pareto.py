"""Effectiveness against latency: the systems that no other beats in both, and which differences are within error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats
from cranfield.evaluation import Interval, Scores, interval
from cranfield.lab import Figure
from cranfield.reporting.costs import Cost, Costs
from cranfield.reporting.plots.plot_data import MeasureColumn, compute_means, label_systems
from cranfield.tables import format_ratio

TYPICAL = 50  # the percentile of latency that systems are compared by


class SystemPoint(Record, eq=False):
    """A system that has both a mean and a latency."""

    place: int  # its position among the runs
    system: str
    mean: float
    within: Interval | None
    values: Floats  # per query; higher is better
    cost: Cost
    latency: Figure


class ParetoFront(Record, eq=False):
    """Systems by effectiveness and latency; no other system beats those on the front in both."""

    points: tuple[SystemPoint, ...]
    sign: int = 1  # −1 if lower values of the measure are better

    @classmethod
    def of(cls, scores: Scores, col: MeasureColumn, costs: Costs, percentile: int = TYPICAL) -> ParetoFront:
        """The runs with costs, in their order."""
        labels, means = label_systems(scores), compute_means(scores, col)
        points = []
        for i, (run, cost) in enumerate(zip(scores.runs, costs.of_runs(scores), strict=True)):
            if cost is None or percentile not in cost.latency or math.isnan(means[i]):
                continue
            within = None if col.place is None else scores.interval(scores.labels[col.place], run.name)
            values = col.sign * col.values[i]
            points.append(SystemPoint(i, labels[i], float(means[i]), within, values, cost, cost.latency[percentile]))
        return cls(tuple(points), col.sign)

    @cached_property
    def members(self) -> list[SystemPoint]:
        """The systems on the front, the fastest first."""
        found = [point for point in self.points if not any(self._beats(other, point) for other in self.points)]
        return sorted(found, key=lambda point: (point.latency.value, -self.sign * point.mean))

    def has(self, point: SystemPoint) -> bool:
        return any(point is member for member in self.members)

    def describe(self, point: SystemPoint) -> str:
        """Which system is better and faster; for a system on the front, which one would be but for error."""
        if not self.has(point):
            others = [other for other in self.points if self._beats(other, point)]
            best = max(others, key=lambda other: (self._clear(other, point), self.sign * other.mean))
            return f"{best.system} is {' and '.join(self._ways(best, point))}{_index_note(best.cost, point.cost)}"
        rivals = [other for other in self.points if other is not point and self._challenges(other, point)]
        if not rivals:
            return ""
        near = max(rivals, key=lambda other: (self._clear(other, point), self.sign * other.mean))
        return f"but {near.system} is {' and '.join(self._ways(near, point))}"

    def _beats(self, one: SystemPoint, other: SystemPoint) -> bool:
        """Whether a system is no worse in either, and better in one of them."""
        gain = self.sign * (one.mean - other.mean)
        lead = other.latency.value - one.latency.value
        return gain >= -1e-12 and lead >= 0 and (gain > 1e-12 or lead > 0)

    def _challenges(self, one: SystemPoint, other: SystemPoint) -> bool:
        """Whether a system would beat another if differences within error did not count."""
        ways = (compare_effectiveness(one, other), compare_latency(one, other))
        return min(ways) >= 0 and max(ways) > 0

    def _clear(self, one: SystemPoint, other: SystemPoint) -> int:
        return compare_effectiveness(one, other) + compare_latency(one, other)

    def _ways(self, one: SystemPoint, other: SystemPoint) -> Iterator[str]:
        gain = self.sign * (one.mean - other.mean)
        lead = other.latency.value - one.latency.value
        for clear, difference, words in (
            (compare_effectiveness(one, other), gain, ("better", "as good", "worse")),
            (compare_latency(one, other), lead, ("faster", "as fast", "slower")),
        ):
            word = words[1] if abs(difference) < 1e-12 else words[0] if difference > 0 else words[2]
            yield word if clear or word == words[1] else f"{word} within error"


def _index_note(one: Cost, other: Cost) -> str:
    """A note if the better system has the larger index."""
    if one.index_bytes is None or other.index_bytes is None or one.index_bytes <= other.index_bytes:
        return ""
    return ", with a larger index"


def compare_effectiveness(one: SystemPoint, other: SystemPoint) -> int:
    """1 if the first is better beyond error, −1 if it is worse, 0 if the difference is within error.

    Uses the 95 % interval of the mean difference over the queries that both have (Student's t).
    """
    differences = one.values - other.values
    found = interval(differences[~np.isnan(differences)].tolist())
    if found is None:
        return 0
    return 1 if found.low > 0 else -1 if found.high < 0 else 0


def compare_latency(one: SystemPoint, other: SystemPoint) -> int:
    """1 if the first is faster beyond error, −1 if it is slower, 0 if their intervals overlap or are unknown."""
    ours, theirs = one.latency, other.latency
    if ours.low is None or ours.high is None or theirs.low is None or theirs.high is None:
        return 0
    return 1 if ours.high < theirs.low else -1 if ours.low > theirs.high else 0


def describe_steps(front: ParetoFront) -> list[str]:
    """The price of more effectiveness along the front: each member against the one before it."""
    return [_step(before, after) for before, after in pairwise(front.members)]


def _step(before: SystemPoint, after: SystemPoint) -> str:
    gain = after.mean - before.mean
    error = "" if compare_effectiveness(after, before) else ", which is within error,"
    more = f"{abs(gain):.3f} {'more' if gain > 0 else 'less'} than {before.system}{error}"
    return f"{after.system} has {more} for {format_ratio(after.latency.value, before.latency.value)} the latency"
