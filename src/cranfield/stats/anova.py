"""Two-way analysis of variance of scores, topics × systems: what systems, topics and chance contribute."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Floats
from cranfield.errors import CranfieldError

TOLERANCE = 1e-12  # smaller differences, for scores up to 1, are rounding errors


def as_table(table: Any, topics: int = 1, systems: int = 2) -> Floats:
    """A complete table of scores, with a row per topic and a column per system; a clear error otherwise."""
    try:
        scores = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise CranfieldError(f"expected a table of numbers, topics × systems: {error}.") from None
    if scores.ndim != 2:
        raise CranfieldError(
            f"expected a table with a row per topic and a column per system, found {scores.ndim} axes."
        )
    if scores.shape[1] < systems:
        raise CranfieldError(f"expected at least {pluralize(systems, 'system')}, found {scores.shape[1]}.")
    if scores.shape[0] < topics:
        raise CranfieldError(f"expected at least {pluralize(topics, 'topic')}, found {scores.shape[0]}.")
    wrong = np.argwhere(~np.isfinite(scores))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise CranfieldError(
            f"the score in row {row}, column {column} (counted from 0) is {scores[row, column]}: expected one for "
            "every topic and system; leave the topic out for all systems, or score it 0."
        )
    return scores


def rounding(table: Floats) -> float:
    """The largest difference between two means of these scores that may be a rounding error."""
    return TOLERANCE * max(1.0, float(np.abs(table).max(initial=0.0)))


class Residual(Record):
    """The variance that topics and systems do not explain: Sakai's V_E, with (m − 1)(n − 1) degrees of freedom."""

    variance: float | None  # None for one topic, from which it cannot be estimated
    df: int

    @property
    def deviation(self) -> float | None:
        """Its square root; None where it is 0 or unknown."""
        return math.sqrt(self.variance) if self.variance else None


def residual(table: Any) -> Residual:
    """The residual variance V_E of a table, topics × systems; exactly 0 if it is only rounding.

    >>> round(residual([[0.1, 0.2, 0.45], [0.3, 0.25, 0.5], [0.55, 0.6, 0.75], [0.2, 0.4, 0.35]]).variance, 10)
    0.0063888889
    """
    scores = as_table(table)
    n, m = scores.shape
    df = (m - 1) * (n - 1)
    effects = _Effects(scores)
    return Residual(effects.squares(effects.rest, 1) / df if df else None, df)


Source = Literal["system", "topic", "residual", "total"]


class AnovaRow(Record):
    """A row of the table: a source of variance, and how much it contributes.

    `F` and `p` are None for the residual and the total. Without residual variance `F` is None and `p` is the chance
    that all topics (or systems) agree as they do if each is shuffled; 1 for a single one.
    """

    source: Source
    sum_of_squares: float
    df: int
    mean_square: float | None
    F: float | None = None
    p: float | None = None
    omega_squared: float | None = None  # the estimated share of all variance, not below 0
    partial_eta_squared: float | None = None  # the share of what this source and the residual explain


class Components(Record):
    """The variance components of a single score: system, topic, residual."""

    system: float
    topic: float
    residual: float

    @property
    def total(self) -> float:
        return self.system + self.topic + self.residual

    @property
    def shares(self) -> dict[str, float]:
        """The share of each in the sum; all 0 where there is no variance."""
        parts = {"system": self.system, "topic": self.topic, "residual": self.residual}
        return {source: part / self.total if self.total else 0.0 for source, part in parts.items()}


class Anova(Record):
    """A two-way analysis of variance without replication, the result of `two_way_anova`."""

    systems: int
    n: int
    rows: tuple[AnovaRow, ...]
    components: Components
    residual: Residual
    notes: tuple[str, ...] = ()

    @property
    def V_E(self) -> float | None:
        """The residual variance, in the notation of Sakai; None for one topic."""
        return self.residual.variance

    def row(self, source: Source) -> AnovaRow:
        return next(row for row in self.rows if row.source == source)

    def reliability(self, topics: int) -> float:
        """Eρ² of generalizability theory: how well this many topics would rank systems.

        Bodoff & Li, Test theory for evaluating reliability of IR test collections, IP&M 44, 2008.
        """
        return _ratio(self.components.system, self.components.residual / topics)

    def dependability(self, topics: int) -> float:
        """Φ of generalizability theory: how well this many topics would estimate the mean of a system."""
        noise = self.components.topic + self.components.residual
        return _ratio(self.components.system, noise / topics)


def two_way_anova(table: Any) -> Anova:
    """How much of the variance of scores is due to systems, to topics, and to neither.

    A score is a mean plus an effect of the system, an effect of the topic and a residual, which includes the
    interaction of system and topic.

    >>> anova = two_way_anova([[0.1, 0.2, 0.45], [0.3, 0.25, 0.5], [0.55, 0.6, 0.75], [0.2, 0.4, 0.35]])
    >>> round(anova.row("system").F, 4), round(anova.row("system").p, 4)
    (8.2174, 0.0191)
    """
    scores = as_table(table)
    n, m = scores.shape
    left = residual(scores)
    effects = _Effects(scores)
    total = effects.squares(effects.system, n) + effects.squares(effects.topic, m) + effects.squares(effects.rest, 1)
    rows = (
        _factor("system", effects.system, n, effects, left, total),
        _factor("topic", effects.topic, m, effects, left, total),
        AnovaRow("residual", effects.squares(effects.rest, 1), left.df, left.variance),
        AnovaRow("total", total, m * n - 1, None),
    )
    raw = _raw_components(rows, m, n)
    components = Components(**{source: max(value, 0.0) for source, value in raw.items()})
    return Anova(m, n, rows, components, left, tuple(_notes(raw, left)))


class _Effects:
    """The effects of systems and topics on the mean, and the residual of each score."""

    def __init__(self, scores: Floats) -> None:
        mean = scores.mean()
        self.slack = rounding(scores)
        self.system: Floats = scores.mean(axis=0) - mean
        self.topic: Floats = scores.mean(axis=1) - mean
        self.rest: Floats = scores - mean - self.topic[:, None] - self.system

    def squares(self, effects: Floats, times: int) -> float:
        """The sum of squares of effects that each occur this many times; 0 if all are only rounding."""
        return times * float(np.square(effects).sum()) if np.abs(effects).max(initial=0.0) > self.slack else 0.0

    def chance_of_agreement(self, effects: Floats, times: int) -> float:
        """The chance of seeing effects in the same order this many times if all orders are equally likely."""
        _, alike = np.unique(np.round(effects / self.slack), return_counts=True)
        orders = math.lgamma(len(effects) + 1) - math.fsum(math.lgamma(count + 1) for count in alike.tolist())
        return math.exp((1 - times) * orders)


def _factor(source: Source, given: Floats, times: int, effects: _Effects, left: Residual, total: float) -> AnovaRow:
    from scipy.special import fdtrc

    squares, df, error = effects.squares(given, times), len(given) - 1, left.variance or 0.0
    mean_square = squares / df if df else None
    ratio = mean_square / error if error and mean_square is not None else None
    # without a residual, only the order of effects can be due to chance
    p = effects.chance_of_agreement(given, times) if ratio is None else float(fdtrc(df, left.df, ratio))
    explained = squares + error * left.df
    return AnovaRow(
        source=source,
        sum_of_squares=squares,
        df=df,
        mean_square=mean_square,
        F=ratio,
        p=p,
        omega_squared=max(squares - df * error, 0.0) / (total + error) if total else 0.0,
        partial_eta_squared=squares / explained if explained else 0.0,
    )


def _raw_components(rows: tuple[AnovaRow, ...], m: int, n: int) -> dict[str, float]:
    """Estimates from the expected mean squares, which may come out below 0."""
    system, topic, left = (row.mean_square or 0.0 for row in rows[:3])
    return {"system": (system - left) / n, "topic": (topic - left) / m, "residual": left}


def _notes(raw: dict[str, float], left: Residual) -> Iterator[str]:
    for source, value in raw.items():
        if value < 0:
            yield f"the estimated variance of {source}s is negative ({value:.3g}) and shown as 0."
    if left.variance is None:
        yield "a single topic has no residual: nothing can be tested."
    elif left.variance == 0:
        yield "there is no residual variance, hence no F: p is the chance that all agree if each is shuffled."


def _ratio(signal: float, noise: float) -> float:
    return signal / (signal + noise) if signal + noise else 0.0
