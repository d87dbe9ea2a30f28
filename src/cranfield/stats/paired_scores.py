"""The scores of two systems on the same topics, and their differences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base import Record, join_names
from cranfield.data import Floats
from cranfield.errors import CranfieldError

Values = Sequence[float] | Floats | Mapping[Any, float]
_DIGITS = 12


class PairedScores(Record, eq=False):
    """The scores of two systems on the topics they share."""

    a: Floats
    b: Floats
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        return len(self.a)

    @cached_property
    def differences(self) -> Floats:
        """a − b, rounded: .35 − .30 and .55 − .50 are equal, though not in floating point."""
        return round_differences(self.a - self.b, self._largest)

    def beyond(self, mu: float) -> Floats:
        """The differences minus a hypothesis."""
        return round_differences(self.differences - mu, max(self._largest, abs(mu))) if mu else self.differences

    @property
    def identical(self) -> bool:
        return not self.differences.any()

    @cached_property
    def mean(self) -> float:
        """The mean difference, summed exactly; the difference itself if all are the same."""
        d = self.differences
        return float(d[0]) if is_constant(d) else math.fsum((self.a - self.b).tolist()) / self.n

    @cached_property
    def sd(self) -> float:
        """The standard deviation of the differences, with n − 1; 0 if it is only rounding."""
        if is_constant(self.differences):
            return 0.0
        # rounding may split differences that are nearly the same: then that of the rounded ones
        return standard_deviation(self.a - self.b) or standard_deviation(self.differences)

    @property
    def left_out(self) -> dict[str, Any]:
        """The topics that only one system has, as details of a result."""
        sides = {"only_in_a": self.only_a, "only_in_b": self.only_b}
        return {name: topics for name, topics in sides.items() if topics}

    @property
    def _largest(self) -> float:
        return float(max(np.abs(self.a).max(), np.abs(self.b).max()))


def pair_scores(a: Values, b: Values) -> PairedScores:
    """Pair the scores of two systems topic by topic, from two columns, or from two {topic: score} for shared topics.

    >>> pair_scores({"q1": 0.5, "q2": 0.25}, {"q2": 0.5, "q3": 1.0})
    PairedScores(a=array([0.25]), b=array([0.5]), only_a=('q1',), only_b=('q3',))
    """
    if _has_topics(a) != _has_topics(b):
        raise CranfieldError("expected two columns of scores or two mappings from topic to score, found one of each.")
    if _has_topics(a):
        return _paired_topics(_by_topic(a, "a"), _by_topic(b, "b"))
    pairs = PairedScores(_column(a, "a"), _column(b, "b"))
    if len(pairs.a) != len(pairs.b):
        raise CranfieldError(
            f"both systems must have a score for each topic, found {len(pairs.a):,} and {len(pairs.b):,} scores."
        )
    if not pairs.n:
        raise CranfieldError("there are no scores to compare.")
    _require_finite(pairs, None)
    return pairs


def win_tie_loss(differences: Floats, tolerance: float = 0.0) -> tuple[int, int, int]:
    """The number of topics that are won, tied up to the tolerance, and lost.

    >>> win_tie_loss(np.array([0.1, -0.01, 0.0]), tolerance=0.01)
    (1, 2, 0)
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise CranfieldError(f"tolerance={tolerance} is out of range: expected a number of at least 0.")
    won = int(np.count_nonzero(differences > tolerance))
    lost = int(np.count_nonzero(differences < -tolerance))
    return won, len(differences) - won - lost, lost


def standard_deviation(values: Floats) -> float:
    """With n − 1, summed exactly; 0 for a single value, or if it is only rounding."""
    if is_constant(round_differences(values, float(np.abs(values).max()))):
        return 0.0
    centre = math.fsum(values.tolist()) / len(values)
    return math.sqrt(math.fsum(((values - centre) ** 2).tolist()) / (len(values) - 1))


def is_constant(differences: Floats) -> bool:
    return bool((differences == differences[0]).all())


def round_differences(values: Floats, largest: float) -> Floats:
    """Differences without rounding errors, for scores up to the largest."""
    return np.round(values, difference_decimals(largest)) + 0.0  # −0.0 is 0.0


def difference_decimals(largest: float) -> int:
    """The decimals to which differences of scores are rounded: 12 digits of the largest score.

    >>> difference_decimals(1.0), difference_decimals(250.0)
    (12, 9)
    """
    decimals = _DIGITS - math.ceil(math.log10(largest)) if largest else _DIGITS
    return min(max(decimals, -290), 290)


def _has_topics(values: Any) -> bool:
    """Whether values are keyed by topic: a mapping, or a column of a data frame with its index."""
    return isinstance(values, Mapping) or (hasattr(values, "keys") and hasattr(values, "items"))


def _by_topic(values: Any, name: str) -> dict[Any, float]:
    scores = dict(values.items())
    if len(scores) < len(values):
        raise CranfieldError(f"{name} has several scores for the same topic: expected one.")
    return scores


def _paired_topics(a: dict[Any, float], b: dict[Any, float]) -> PairedScores:
    shared = [topic for topic in a if topic in b]
    if not shared:
        raise CranfieldError(
            f"no topic has a score of both systems: a has {join_names(map(str, a), 3) or 'none'}, "
            f"b has {join_names(map(str, b), 3) or 'none'}."
        )
    pairs = PairedScores(
        _column([a[topic] for topic in shared], "a"),
        _column([b[topic] for topic in shared], "b"),
        only_a=tuple(str(topic) for topic in a if topic not in b),
        only_b=tuple(str(topic) for topic in b if topic not in a),
    )
    _require_finite(pairs, shared)
    return pairs


def _column(values: Any, name: str) -> Floats:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise CranfieldError(f"{name} holds something that is not a number: expected a score for each topic.") from None
    if column.ndim != 1:
        raise CranfieldError(f"{name} has {column.ndim} dimensions: expected one column of scores.")
    return column


def _require_finite(pairs: PairedScores, topics: Sequence[Any] | None) -> None:
    wrong = np.flatnonzero(~(np.isfinite(pairs.a) & np.isfinite(pairs.b)))
    if len(wrong):
        i = int(wrong[0])
        where = f"at position {i} (counted from 0)" if topics is None else f"for topic {str(topics[i])!r}"
        raise CranfieldError(
            f"the scores {where} are {pairs.a[i]} and {pairs.b[i]}, which cannot be compared: "
            "leave the topic out of both, or score it 0."
        )
