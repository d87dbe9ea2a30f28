"""Effectiveness against latency: which systems nobody beats in both, and which of the differences are within error."""

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
from cranfield.reporting.plots.plot_data import Column, means_of, names

TYPICAL = 50  # the percentile of latencies that systems are compared by


class Point(Record, eq=False):
    """A system that has both a mean and a latency."""

    place: int  # among the runs
    system: str
    mean: float
    within: Interval | None
    values: Floats  # of each query, more being better
    cost: Cost
    latency: Figure


class Front(Record, eq=False):
    """Systems by effectiveness and latency; those on the front are beaten in both by no other."""

    points: tuple[Point, ...]
    sign: int = 1  # −1 for a measure of which less is better

    @classmethod
    def of(cls, scores: Scores, col: Column, costs: Costs, percentile: int = TYPICAL) -> Front:
        """The runs that have costs, in the order given."""
        shown, means = names(scores), means_of(scores, col)
        points = []
        for i, (run, cost) in enumerate(zip(scores.runs, costs.of_runs(scores), strict=True)):
            if cost is None or percentile not in cost.latency or math.isnan(means[i]):
                continue
            within = None if col.place is None else scores.interval(scores.labels[col.place], run.name)
            values = col.sign * col.values[i]
            points.append(Point(i, shown[i], float(means[i]), within, values, cost, cost.latency[percentile]))
        return cls(tuple(points), col.sign)

    @cached_property
    def members(self) -> list[Point]:
        """The systems on the front, the fastest first."""
        found = [point for point in self.points if not any(self._beats(other, point) for other in self.points)]
        return sorted(found, key=lambda point: (point.latency.value, -self.sign * point.mean))

    def has(self, point: Point) -> bool:
        return any(point is member for member in self.members)

    def said_of(self, point: Point) -> str:
        """Who is better and faster; or, of a system on the front, who would be but for a difference within error."""
        if not self.has(point):
            others = [other for other in self.points if self._beats(other, point)]
            best = max(others, key=lambda other: (self._clear(other, point), self.sign * other.mean))
            return f"{best.system} is {' and '.join(self._ways(best, point))}{_larger(best.cost, point.cost)}"
        rivals = [other for other in self.points if other is not point and self._challenges(other, point)]
        if not rivals:
            return ""
        near = max(rivals, key=lambda other: (self._clear(other, point), self.sign * other.mean))
        return f"but {near.system} is {' and '.join(self._ways(near, point))}"

    def _beats(self, one: Point, other: Point) -> bool:
        """Whether a system is no worse in either and better in one of them, by its figures."""
        gain = self.sign * (one.mean - other.mean)
        lead = other.latency.value - one.latency.value
        return gain >= -1e-12 and lead >= 0 and (gain > 1e-12 or lead > 0)

    def _challenges(self, one: Point, other: Point) -> bool:
        """Whether a system would beat another if differences within error were none."""
        ways = (compare_effectiveness(one, other), faster(one, other))
        return min(ways) >= 0 and max(ways) > 0

    def _clear(self, one: Point, other: Point) -> int:
        return compare_effectiveness(one, other) + faster(one, other)

    def _ways(self, one: Point, other: Point) -> Iterator[str]:
        gain = self.sign * (one.mean - other.mean)
        lead = other.latency.value - one.latency.value
        for clear, difference, words in (
            (compare_effectiveness(one, other), gain, ("better", "as good", "worse")),
            (faster(one, other), lead, ("faster", "as fast", "slower")),
        ):
            word = words[1] if abs(difference) < 1e-12 else words[0] if difference > 0 else words[2]
            yield word if clear or word == words[1] else f"{word} within error"


def _larger(one: Cost, other: Cost) -> str:
    """What speaks for a system that is beaten in the rest."""
    if one.index_bytes is None or other.index_bytes is None or one.index_bytes <= other.index_bytes:
        return ""
    return ", with a larger index"


def compare_effectiveness(one: Point, other: Point) -> int:
    """1 if the first is better beyond error, −1 if it is worse, 0 if that cannot be told.

    By the 95 % interval of the mean difference over the queries that both have (Student's t).
    """
    differences = one.values - other.values
    found = interval(differences[~np.isnan(differences)].tolist())
    if found is None:
        return 0
    return 1 if found.low > 0 else -1 if found.high < 0 else 0


def faster(one: Point, other: Point) -> int:
    """1 if the first is faster beyond error, −1 if it is slower, 0 where their intervals overlap or there are none."""
    ours, theirs = one.latency, other.latency
    if ours.low is None or ours.high is None or theirs.low is None or theirs.high is None:
        return 0
    return 1 if ours.high < theirs.low else -1 if ours.low > theirs.high else 0


def steps(front: Front) -> list[str]:
    """What more effectiveness costs along the front: each member against the one before it."""
    return [_step(before, after) for before, after in pairwise(front.members)]


def _step(before: Point, after: Point) -> str:
    gain = after.mean - before.mean
    error = "" if compare_effectiveness(after, before) else ", which is within error,"
    more = f"{abs(gain):.3f} {'more' if gain > 0 else 'less'} than {before.system}{error}"
    return f"{after.system} has {more} for {times(after.latency.value, before.latency.value)} the latency"


def times(one: float, other: float) -> str:
    """How many times as much one figure is as another.

    >>> times(0.42, 0.2), times(30, 1), times(1, 0)
    ('2.1 times', '30 times', 'many times')
    """
    if not other:
        return "many times"
    ratio = one / other
    return f"{ratio:.1f} times" if ratio < 9.95 else f"{ratio:,.0f} times"
