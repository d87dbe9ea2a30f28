"""Two-way analysis of variance of scores, topics × systems: what systems, topics and chance contribute."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Floats
from cranfield.errors import CranfieldError

TOLERANCE = 1e-12  # what is smaller than this, for scores up to 1, is rounding


def as_table(table: Any, topics: int = 1, systems: int = 2) -> Floats:
    """A table of scores, a row a topic and a column a system, with no score missing; a clear error otherwise."""
    try:
        scores = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise CranfieldError(f"expected a table of numbers, topics × systems: {error}.") from None
    if scores.ndim != 2:
        raise CranfieldError(f"expected a table with a row a topic and a column a system, found {scores.ndim} axes.")
    if scores.shape[1] < systems:
        raise CranfieldError(f"expected at least {pluralize(systems, 'system')}, found {scores.shape[1]}.")
    if scores.shape[0] < topics:
        raise CranfieldError(f"expected at least {pluralize(topics, 'topic')}, found {scores.shape[0]}.")
    wrong = np.argwhere(~np.isfinite(scores))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise CranfieldError(
            f"the score in row {row}, column {column} (counted from 0) is {scores[row, column]}: expected one for "
            "every topic and system; leave the topic out for all systems, or count it as 0."
        )
    return scores


def rounding(table: Floats) -> float:
    """How far apart two means of these scores may be and still be the same number."""
    return TOLERANCE * max(1.0, float(np.abs(table).max(initial=0.0)))


class Residual(Record):
    """What topics and systems leave unexplained: V_E of Sakai, with its degrees of freedom (m − 1)(n − 1)."""

    variance: float | None  # None for one topic, which leaves nothing to estimate it from
    df: int

    @property
    def deviation(self) -> float | None:
        """Its root; None where it is 0 or unknown, so that nothing can be measured by it."""
        return math.sqrt(self.variance) if self.variance else None


def residual(table: Any) -> Residual:
    """The residual variance V_E of a table, topics × systems; exactly 0 where it is but rounding.

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
    """A line of the table: where variance comes from, and how much.

    `F` and `p` are None for the residual and the total, and `F` where there is no residual to divide by: then `p` is
    the chance that all topics (or systems) agree as they do if each were shuffled; 1 for a single one.
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
    """The variance of systems, of topics and of what is left, for one score."""

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
    """A two-way analysis of variance without replication, as `two_way_anova` gives it."""

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
        """Eρ² of generalizability theory: how well as many topics would tell which system is better.

        Bodoff & Li, Test theory for evaluating reliability of IR test collections, IP&M 44, 2008.
        """
        return _ratio(self.components.system, self.components.residual / topics)

    def dependability(self, topics: int) -> float:
        """Φ of generalizability theory: how well as many topics would tell a system's own mean."""
        noise = self.components.topic + self.components.residual
        return _ratio(self.components.system, noise / topics)


def two_way_anova(table: Any) -> Anova:
    """How much of the variance of scores is due to systems, to topics, and to neither.

    A score is a mean plus an effect of the system and one of the topic plus a residual, which also holds whatever
    a system does better on some topics than on others.

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
    """What each system and each topic adds to the mean, and what is left of each score."""

    def __init__(self, scores: Floats) -> None:
        mean = scores.mean()
        self.slack = rounding(scores)
        self.system: Floats = scores.mean(axis=0) - mean
        self.topic: Floats = scores.mean(axis=1) - mean
        self.rest: Floats = scores - mean - self.topic[:, None] - self.system

    def squares(self, effects: Floats, times: int) -> float:
        """The sum of squares of effects that occur so many times, 0 where all are but rounding."""
        return times * float(np.square(effects).sum()) if np.abs(effects).max(initial=0.0) > self.slack else 0.0

    def chance_of_agreement(self, effects: Floats, times: int) -> float:
        """How likely it is to see effects in the same order so many times, each order being as likely."""
        _, alike = np.unique(np.round(effects / self.slack), return_counts=True)
        orders = math.lgamma(len(effects) + 1) - math.fsum(math.lgamma(count + 1) for count in alike.tolist())
        return math.exp((1 - times) * orders)


def _factor(source: Source, given: Floats, times: int, effects: _Effects, left: Residual, total: float) -> AnovaRow:
    from scipy.special import fdtrc

    squares, df, error = effects.squares(given, times), len(given) - 1, left.variance or 0.0
    mean_square = squares / df if df else None
    ratio = mean_square / error if error and mean_square is not None else None
    # without a residual nothing is left to chance but the order in which effects are found
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
        yield "one topic leaves no residual: nothing can be tested."
    elif left.variance == 0:
        yield "there is no residual variance, so no F: p is the chance that all agree if each were shuffled."


def _ratio(signal: float, noise: float) -> float:
    return signal / (signal + noise) if signal + noise else 0.0
