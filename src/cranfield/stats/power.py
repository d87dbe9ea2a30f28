"""Power, the smallest detectable difference, and sizes of topic sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import numpy as np

from cranfield.base import Record, join_names
from cranfield.data import Floats
from cranfield.errors import CranfieldError
from cranfield.stats.anova import as_table, rounding

Alternative = Literal["two-sided", "one-sided"]
TARGET_POWER = 0.8  # of the topics needed that reports and gates name
MOST_TOPICS = 10**15  # beyond this, no number of topics is enough


class PilotVariance(Record):
    """The variance to expect, estimated from a pilot of some systems on some topics."""

    topics: int
    systems: int
    residual: float  # of the two-way ANOVA, system + topic
    within: float  # within systems, of the one-way ANOVA, where topics are part of the noise
    left_out: tuple[str, ...] = ()  # topics that some system has no score for

    @property
    def sd_of_differences(self) -> float:
        """The expected deviation of differences of two systems: the root mean square over all pairs of the pilot."""
        return math.sqrt(2 * self.residual)


def power(n: int, difference: float, sd: float, alpha: float = 0.05, alternative: Alternative = "two-sided") -> float:
    """The chance that the paired t-test detects a true mean difference; sd is that of the differences.

    A one-sided test is on the side of the difference, with all of alpha there.

    >>> round(power(50, difference=0.03, sd=0.1), 4), round(power(50, 0.03, 0.1, alternative="one-sided"), 4)
    (0.5477, 0.6726)
    """
    _require_design(n=n, sd=sd, alpha=alpha, alternative=alternative)
    _require_number("difference", difference)
    if n < 2:
        return 0.0
    if sd == 0:
        return 1.0 if difference else 0.0
    return _power_of_shift(abs(difference) / sd * math.sqrt(n), n - 1, alpha, alternative)


def smallest_difference(
    n: int, sd: float, power: float = 0.8, alpha: float = 0.05, alternative: Alternative = "two-sided"
) -> float | None:
    """The smallest true mean difference that n topics detect with this power; None for fewer than two topics.

    >>> round(smallest_difference(50, sd=0.1), 4)
    0.0404
    """
    _require_design(n=n, sd=sd, alpha=alpha, power=power, alternative=alternative)
    if n < 2:
        return None
    high = 1.0
    while _power_of_shift(high, n - 1, alpha, alternative) < power:
        high *= 2
    found = root(lambda shift: _power_of_shift(shift, n - 1, alpha, alternative) - power, 0, high)
    return found / math.sqrt(n) * sd


def topics_needed(
    difference: float, sd: float, power: float = 0.8, alpha: float = 0.05, alternative: Alternative = "two-sided"
) -> int | None:
    """How many topics the paired t-test needs to detect a mean difference; None if no number is enough.

    >>> topics_needed(difference=0.05, sd=0.1), topics_needed(difference=0, sd=0.1)
    (34, None)
    """
    _require_design(sd=sd, alpha=alpha, power=power, alternative=alternative)
    _require_number("difference", difference)
    effect = _ratio(abs(difference), sd)
    if not effect:
        return None
    return _least(lambda n: _power_of_shift(effect * math.sqrt(n), n - 1, alpha, alternative) >= power)


def topics_needed_anova(
    range: float, variance: float, systems: int, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """How many topics one-way ANOVA needs to detect that systems differ, the best from the worst by `range`.

    The variance is that within systems. Whatever the other means are, the power is at least this (Sakai, Topic set
    size design, Information Retrieval Journal 19, 2016). None if no number is enough.

    >>> topics_needed_anova(range=0.05, variance=0.01, systems=10)
    127
    """
    _require_design(variance=variance, alpha=alpha, power=power)
    _require_number("range", range)
    if systems < 2:
        raise CranfieldError(f"systems={systems} is out of range: expected at least 2.")
    effect = _ratio(range * range, 2 * variance)
    return _least(lambda n: _anova_power(n, n * effect, systems, alpha) >= power) if effect else None


def topics_needed_interval(width: float, sd: float, alpha: float = 0.05) -> int | None:
    """How many topics make the interval of a mean difference at most this wide on average, from end to end.

    None if no number is enough.

    >>> topics_needed_interval(width=0.05, sd=0.1)
    64
    """
    _require_design(sd=sd, alpha=alpha)
    _require_number("width", width)
    if width <= 0:
        return None
    return _least(lambda n: expected_width(n, sd, alpha) <= width)


def expected_width(n: int, sd: float, alpha: float = 0.05) -> float:
    """The average width of the t interval of a mean difference, from end to end, for n ≥ 2 topics.

    >>> round(expected_width(64, sd=0.1), 4)
    0.0498
    """
    from scipy.special import stdtrit

    _require_design(n=n, sd=sd, alpha=alpha)
    if n < 2:
        raise CranfieldError(f"n={n} is out of range: an interval needs at least 2 topics.")
    return 2 * float(stdtrit(n - 1, 1 - alpha / 2)) * sd * root_gamma_ratio((n - 1) / 2) / math.sqrt(n)


def pilot_variance(table: Any) -> PilotVariance:
    """The variances of a pilot: a table with a row per topic and a column per system, or {system: {topic: score}}.

    >>> pilot = pilot_variance([[0.10, 0.20, 0.45], [0.30, 0.25, 0.50], [0.55, 0.60, 0.75], [0.20, 0.40, 0.35]])
    >>> round(pilot.residual, 6), round(pilot.within, 6), round(pilot.sd_of_differences, 4)
    (0.006389, 0.032847, 0.113)
    """
    rows, left_out = _rows(table) if isinstance(table, Mapping) else (table, ())
    scores = as_table(rows, topics=2, systems=2)
    topics, systems = scores.shape
    within = scores - scores.mean(axis=0)
    residual = within - within.mean(axis=1, keepdims=True)
    return PilotVariance(
        topics,
        systems,
        residual=_negligible_is_0(float((residual**2).sum()), scores) / ((topics - 1) * (systems - 1)),
        within=_negligible_is_0(float((within**2).sum()), scores) / (systems * (topics - 1)),
        left_out=left_out,
    )


def noncentral_t(t: float, df: float, shift: float) -> float:
    """P(T ≤ t) for a noncentral t variable T = (Z + shift) / U, with df U² chi-squared.

    >>> round(noncentral_t(2.0, df=10, shift=1.0), 6)
    0.807612
    """
    # The mean of Φ(t U − shift), by the trapezoidal rule on the logarithm of U. The integrand is analytic and decays
    # quickly on both sides, so a step of half its scale gives all digits. scipy.special.nctdtr has 7 digits in its
    # inverse, and fails for the large shifts of nearly constant differences.
    from scipy.special import ndtr

    reach = 40 / df  # weights below exp(-40) are left out
    low, high = -(math.sqrt(reach) + reach), 0.5 * math.log1p(2 * (reach + math.sqrt(reach)))
    scale = max(abs(shift), math.sqrt(2 * df), 8)
    x = np.linspace(low, high, int(min(2 * (high - low) * scale, 100_000)) + 60)
    weights = np.exp(df * (x - np.expm1(2 * x) / 2))
    with np.errstate(over="ignore"):
        return min(1.0, float(weights @ ndtr(t * np.exp(x) - shift) / weights.sum()))


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of an increasing function; an end of the range if it has none there.

    >>> round(root(lambda x: x**3 - 2, 0, 2), 12) == round(2 ** (1 / 3), 12)
    True
    """
    below, above = function(low), function(high)
    if below >= 0 or above <= 0:
        return low if below >= 0 else high
    moved = ""
    for step in range(1, 200):
        # false position, halving the value of an end that stays twice (the Illinois rule); sometimes bisection
        x = (low * above - high * below) / (above - below) if step % 4 else (low + high) / 2
        value = function(x)
        if value == 0 or not low < x < high or high - low <= 1e-14 * max(abs(low), abs(high)):
            return x
        if value > 0:
            high, above, below, moved = x, value, below / 2 if moved == "high" else below, "high"
        else:
            low, below, above, moved = x, value, above / 2 if moved == "low" else above, "low"
    return (low + high) / 2


def root_gamma_ratio(a: float) -> float:
    """Γ(a + ½) / (Γ(a) √a): the bias of the standard deviation of a sample, for 2a degrees of freedom.

    >>> round(root_gamma_ratio(0.5), 6), round(root_gamma_ratio(4.5), 6)
    (0.797885, 0.972659)
    """
    if a > 1000:  # lgamma loses digits
        return 1 - 1 / (8 * a) + 1 / (128 * a**2) + 5 / (1024 * a**3)
    return math.exp(math.lgamma(a + 0.5) - math.lgamma(a)) / math.sqrt(a)


def _power_of_shift(shift: float, df: float, alpha: float, alternative: Alternative) -> float:
    from scipy.special import stdtrit

    if alternative == "one-sided":
        return noncentral_t(float(stdtrit(df, alpha)), df, -shift)
    critical = float(stdtrit(df, 1 - alpha / 2))
    return noncentral_t(-critical, df, -shift) + noncentral_t(-critical, df, shift)


def _anova_power(n: int, noncentrality: float, systems: int, alpha: float) -> float:
    """P(F' ≥ the critical value): a Poisson mixture of beta tails."""
    from scipy.special import betainc, fdtri, gammaln

    between, within = systems - 1, systems * (n - 1)
    half = noncentrality / 2
    if math.isinf(half):
        return 1.0
    spread = 10 * math.sqrt(half) + 40
    j = np.arange(max(0, math.floor(half - spread)), math.ceil(half + spread) + 1, dtype=np.float64)
    weights = np.exp(j * math.log(half) - half - gammaln(j + 1)) if half else (j == 0).astype(np.float64)
    critical = between * float(fdtri(between, within, 1 - alpha))
    return float(weights @ betainc(within / 2, between / 2 + j, within / (within + critical)))


def _least(enough: Callable[[int], bool]) -> int | None:
    """The smallest number of topics that is enough; more topics are enough too."""
    high = 2
    while not enough(high):
        high *= 2
        if high > MOST_TOPICS:
            return None
    low = max(high // 2, 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _ratio(difference: float, noise: float) -> float:
    if noise:
        return difference / noise
    return math.inf if difference else 0.0


def _negligible_is_0(squares: float, scores: Floats) -> float:
    """A sum of squares, or 0 if it may be only rounding."""
    return squares if squares > scores.size * rounding(scores) ** 2 else 0.0


def _rows(table: Mapping[Any, Any]) -> tuple[list[list[float]], tuple[str, ...]]:
    """A row for each topic that all systems have, and the topics left out."""
    systems = list(table.values())
    if not all(isinstance(scores, Mapping) for scores in systems):
        raise CranfieldError(
            "expected {system: {topic: score}}, or a table with a row per topic and a column per system."
        )
    every = {topic: None for scores in systems for topic in scores}
    shared = {topic for topic in every if all(topic in scores for scores in systems)}
    if not shared:
        raise CranfieldError(f"no topic has scores of all of {join_names(map(str, table))}.")
    rows = [[scores[topic] for scores in systems] for topic in every if topic in shared]
    return rows, tuple(str(topic) for topic in every if topic not in shared)


def _require_number(name: str, value: float) -> None:
    if not math.isfinite(value):
        raise CranfieldError(f"{name}={value} is not a finite number.")


def _require_design(
    n: int = 1,
    sd: float = 0,
    variance: float = 0,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: Alternative = "two-sided",
) -> None:
    if alternative not in get_args(Alternative):
        known = ", ".join(get_args(Alternative))
        raise CranfieldError(f"alternative {alternative!r} is unknown: expected one of {known}.")
    if n < 1:
        raise CranfieldError(f"n={n} is out of range: expected at least one topic.")
    for name, value in (("sd", sd), ("variance", variance)):
        if not (math.isfinite(value) and value >= 0):
            raise CranfieldError(f"{name}={value} is out of range: expected a number of at least 0.")
    if not 0 < alpha < 1:
        raise CranfieldError(f"alpha={alpha} is out of range: expected a number between 0 and 1.")
    if not alpha < power < 1:
        raise CranfieldError(f"power={power} is out of range: expected a number between alpha={alpha} and 1.")
