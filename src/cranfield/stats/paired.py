"""Paired tests of two systems on the same topics.

Every test takes the scores of both, topic by topic, or two {topic: score}; differences are a − b. Differences are
rounded where ties or comparisons matter: .35 − .30 and .55 − .50 differ in floating point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from inspect import signature
from typing import Any, Literal, get_args

import numpy as np

from cranfield.base import Record, pluralize, replace
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.evaluation import Interval
from cranfield.stats.paired_scores import PairedScores, Values, is_constant, pair_scores, win_tie_loss
from cranfield.stats.resampling import Alternative, Flips, Means, Studentised, require_draws, sided

Zeros = Literal["drop", "pratt", "split"]
EXACT_RANKS = 20  # up to this many nonzero differences, Wilcoxon's distribution is exact
MOST_EXACT_RANKS = 1_000  # and up to this many with method="exact"

IDENTICAL = "The systems are identical: all differences are 0."
_ONE_TOPIC = "One topic says nothing about the spread of differences."
_CONSTANT = (
    "All differences are the same, so there is no variance to compare them with: "
    "p is that of sign flips, 1 in 2^n for each side."
)


class PairedTest(Record):
    """The result of a test: statistic and p-value, and the mean difference with its interval if the method has one."""

    method: str
    statistic: float
    pvalue: float
    alternative: Alternative
    n: int
    estimate: float
    low: float | None
    high: float | None
    level: float
    note: str
    details: Mapping[str, Any]


class BayesianPaired(Record):
    """The probability that the mean difference is above, below or within a region of practical equivalence."""

    better: float  # P(mean difference > rope)
    worse: float  # P(mean difference < −rope)
    equivalent: float  # P(−rope ≤ mean difference ≤ rope)
    positive: float  # P(mean difference > 0)
    mean: float
    low: float | None
    high: float | None
    level: float
    rope: float
    n: int
    note: str
    details: Mapping[str, Any]


def t_test(
    a: Values, b: Values, alternative: Alternative = "two-sided", level: float = 0.95, mu: float = 0.0
) -> PairedTest:
    """Student's paired t-test of whether the mean difference a − b is mu.

    Without variance there is no t; p is then that of sign flips.

    >>> round(t_test([0.3, 0.5, 0.9], [0.2, 0.45, 0.5]).pvalue, 4)
    0.2354
    """
    inputs = _TestInput(pair_scores(a, b), alternative, level, mu)
    if is_constant(inputs.beyond):
        return _without_variance("t", inputs)
    from scipy.special import stdtr

    pairs, df = inputs.pairs, inputs.pairs.n - 1
    error = pairs.sd / math.sqrt(pairs.n)
    t = (pairs.mean - inputs.mu) / error
    return _result(
        "t",
        inputs,
        statistic=t,
        pvalue=_tail(t, alternative, partial(stdtr, df)),
        interval=_t_interval(pairs.mean, error, df, alternative, level),
        details={"df": df, "standard_error": error},
    )


def permutation_test(
    a: Values,
    b: Values,
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
    seed: int = 1,
    mu: float = 0.0,
    level: float = 0.95,
) -> PairedTest:
    """Fisher's randomisation test of the mean difference: the systems of each topic are swapped at random.

    All 2^n swaps are tried if there are at most `resamples`; otherwise this many are drawn, and p = (1 + as extreme) /
    (1 + drawn), which is never 0. The interval holds every mu that the same draws would not reject.

    >>> permutation_test([0.3, 0.5, 0.9], [0.2, 0.45, 0.5]).pvalue
    0.25
    """
    inputs = _TestInput(pair_scores(a, b), alternative, level, mu)
    require_draws(resamples, seed)
    flips = Flips(inputs.pairs, mu, resamples, seed)
    return _result(
        "permutation",
        inputs,
        statistic=inputs.pairs.mean,
        pvalue=flips.pvalue(alternative),
        interval=flips.interval(level, alternative),
        details={"exact": flips.exact, "resamples": flips.number} | ({} if flips.exact else {"seed": seed}),
    )


def bootstrap_test(
    a: Values,
    b: Values,
    kind: Literal["shift", "studentised"] = "shift",
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
    seed: int = 1,
    level: float = 0.95,
    mu: float = 0.0,
) -> PairedTest:
    """Bootstrap test of the mean difference: how far means of resampled topics deviate from the observed mean.

    `shift` compares means (Savoy 1997) and has the percentile interval; `studentised` divides each by its own standard
    error (Sakai, SIGIR 2006), and its interval is symmetric, with every mu that is not rejected. p = (1 + as extreme)
    / (1 + resamples), which is never 0. Without variance, p is that of sign flips.

    >>> bootstrap_test([0.3, 0.5, 0.9], [0.2, 0.45, 0.5], resamples=999).pvalue < 0.1
    True
    """
    if kind not in ("shift", "studentised"):
        raise CranfieldError(f"kind={kind!r} is unknown: expected shift or studentised.")
    name = "bootstrap" if kind == "shift" else "bootstrap-t"
    inputs = _TestInput(pair_scores(a, b), alternative, level, mu)
    require_draws(resamples, seed)
    if is_constant(inputs.beyond):
        return _without_variance(name, inputs)
    drawn = (Means if kind == "shift" else Studentised)(inputs.pairs, mu, resamples, seed)
    return _result(
        name,
        inputs,
        statistic=inputs.pairs.mean if kind == "shift" else drawn.sign * drawn.observed,
        pvalue=drawn.pvalue(alternative),
        interval=drawn.interval(level, alternative),
        details={"resamples": resamples, "seed": seed},
    )


def wilcoxon(
    a: Values,
    b: Values,
    alternative: Alternative = "two-sided",
    zeros: Zeros = "drop",
    method: Literal["auto", "exact", "normal"] = "auto",
    correction: bool = False,
) -> PairedTest:
    """Wilcoxon's signed-rank test: are differences symmetric around 0?

    Differences of 0 are dropped before ranking (`drop`), after it (`pratt`), or their ranks go half to each side
    (`split`). The distribution is that of the mid-ranks, exact for up to 20 nonzero differences and normal beyond.
    The statistic is the smaller sum of ranks if two-sided, else that of a's wins. It has no interval of the mean.

    >>> wilcoxon([0.3, 0.5, 0.9], [0.2, 0.45, 0.5]).pvalue
    0.25
    """
    inputs = _TestInput(pair_scores(a, b), alternative, 0.95)
    if zeros not in get_args(Zeros):
        raise CranfieldError(f"zeros={zeros!r} is unknown: expected one of {', '.join(get_args(Zeros))}.")
    if method not in ("auto", "exact", "normal"):
        raise CranfieldError(f"method={method!r} is unknown: expected auto, exact or normal.")
    ranks = _signed_ranks(inputs.beyond, zeros)
    exact = ranks.nonzero <= EXACT_RANKS if method == "auto" else method == "exact"
    if exact and ranks.nonzero > MOST_EXACT_RANKS:
        raise CranfieldError(f"the exact distribution is available for up to {MOST_EXACT_RANKS:,} topics: use normal.")
    dropped = inputs.pairs.n - ranks.nonzero
    tested = _result(
        "wilcoxon",
        inputs,
        statistic=min(ranks.plus, ranks.minus) if alternative == "two-sided" else ranks.plus,
        pvalue=ranks.exact_pvalue(alternative) if exact else ranks.normal_pvalue(alternative, correction),
        details={"exact": exact, "zeros": zeros, "zero_differences": dropped, "plus": ranks.plus, "minus": ranks.minus},
    )
    if not 0 < dropped < inputs.pairs.n:
        return tested
    return replace(
        tested, note=f"{tested.note} {pluralize(dropped, 'topic')} without a difference: {_ZERO_RULES[zeros]}."
    )


def sign_test(a: Values, b: Values, alternative: Alternative = "two-sided", tolerance: float = 0.0) -> PairedTest:
    """Sign test of whether both systems win equally many topics. Differences up to the tolerance are ties, left out.

    The statistic is the number of a's wins. It has no interval of the mean.

    >>> sign_test([0.3, 0.5, 0.9], [0.2, 0.45, 0.5]).pvalue
    0.25
    """
    inputs = _TestInput(pair_scores(a, b), alternative, 0.95)
    won, tied, lost = win_tie_loss(inputs.beyond, tolerance)
    tested = _result(
        "sign",
        inputs,
        statistic=float(won),
        pvalue=_binomial_tail(won, won + lost, alternative),
        details={"wins": won, "ties": tied, "losses": lost, "tolerance": tolerance},
    )
    if not 0 < tied < inputs.pairs.n:
        return tested
    return replace(tested, note=f"{tested.note} {pluralize(tied, 'tie')} left out.")


def bayesian(a: Values, b: Values, rope: float = 0.01, level: float = 0.95) -> BayesianPaired:
    """The probability that a is better than b, worse, or practically equivalent (within ± rope), inputs the data.

    With the reference prior, the mean difference has a t distribution around the observed one.

    >>> round(bayesian([0.3, 0.5, 0.9], [0.2, 0.45, 0.5]).better, 4)
    0.8732
    """
    if not (math.isfinite(rope) and rope >= 0):
        raise CranfieldError(f"rope={rope} is out of range: expected a number of at least 0.")
    pairs = pair_scores(a, b)
    mean, sd, df = pairs.mean, pairs.sd, pairs.n - 1
    above = partial(_posterior_above, df, sd / math.sqrt(pairs.n))
    better, worse = above(mean, rope), above(-mean, rope)
    interval = _posterior_interval(pairs, _check_level(level))
    return BayesianPaired(
        better=better,
        worse=worse,
        equivalent=max(0.0, 1 - better - worse),
        positive=above(mean, 0.0),
        mean=mean,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        level=level,
        rope=rope,
        n=pairs.n,
        note=_bayesian_note(pairs),
        details={"df": df} | pairs.left_out,
    )


class PairedMethod(Record):
    """A paired test: its title, what to know about it, and the function that computes it."""

    title: str
    note: str
    run: Callable[..., PairedTest]


PAIRED_TESTS: Mapping[str, PairedMethod] = {
    "t": PairedMethod(
        "paired t-test",
        "Assumes that the mean difference is normally distributed, which holds on retrieval measures (Urbano, Lima & "
        "Hanjalic, SIGIR 2019) unless topics are few and a handful of them make the difference.",
        t_test,
    ),
    "permutation": PairedMethod(
        "paired permutation test",
        "Assumes that a difference is as likely in either direction if the systems do not differ; "
        "the interval assumes that differences are symmetric around their mean.",
        permutation_test,
    ),
    "bootstrap": PairedMethod(
        "bootstrap shift test",
        "Rejects too often with few topics: at 50, about 6 times in 100 instead of 5 "
        "(Urbano, Lima & Hanjalic, SIGIR 2019).",
        partial(bootstrap_test, kind="shift"),
    ),
    "bootstrap-t": PairedMethod(
        "studentised bootstrap test",
        "Assumes that future topics are like the ones at hand; it is coarse with few topics or few distinct "
        "differences.",
        partial(bootstrap_test, kind="studentised"),
    ),
    "wilcoxon": PairedMethod(
        "Wilcoxon signed-rank test",
        "Tests whether differences are symmetric around 0, not whether their mean is 0: with many topics "
        "it rejects for skewness alone.",
        wilcoxon,
    ),
    "sign": PairedMethod(
        "sign test",
        "Counts wins, whatever their size: with many topics it rejects where the median is not 0, "
        "although the mean may be.",
        sign_test,
    ),
}
_BAYESIAN_NOTE = (
    "Assumes that differences are normally distributed, with the reference prior 1/σ² on mean and variance; the "
    "interval is numerically that of the t-test."
)
_ZERO_RULES: Mapping[Zeros, str] = {
    "drop": "left out",
    "pratt": "ranked, then left out",
    "split": "their ranks go half to each side",
}


def paired_test(
    test: str,
    a: Values,
    b: Values,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 1,
) -> PairedTest:
    """Run a test by its name: t, permutation, bootstrap, bootstrap-t, wilcoxon or sign.

    Level, resamples and seed are passed to the tests that use them.

    >>> paired_test("sign", [0.3, 0.5, 0.9], [0.2, 0.45, 0.5], alternative="greater").pvalue
    0.125
    """
    if test not in PAIRED_TESTS:
        raise CranfieldError(f"unknown test {test!r}: expected one of {', '.join(PAIRED_TESTS)}.")
    run = PAIRED_TESTS[test].run
    taken = signature(run).parameters
    options = {"level": level, "resamples": resamples, "seed": seed}
    return run(a, b, alternative=alternative, **{k: v for k, v in options.items() if k in taken})


class _TestInput(Record, eq=False):
    """The input of a test, checked."""

    pairs: PairedScores
    alternative: Alternative
    level: float
    mu: float = 0.0

    def __post_init__(self) -> None:
        if self.alternative not in get_args(Alternative):
            known = ", ".join(get_args(Alternative))
            raise CranfieldError(f"alternative={self.alternative!r} is unknown: expected one of {known}.")
        if not math.isfinite(self.mu):
            raise CranfieldError(f"mu={self.mu} is not a finite number.")
        _check_level(self.level)

    @cached_property
    def beyond(self) -> Floats:
        """The differences minus the hypothesis."""
        return self.pairs.beyond(self.mu)


def _result(
    name: str,
    inputs: _TestInput,
    statistic: float,
    pvalue: float,
    details: dict[str, Any],
    interval: Interval | None = None,
) -> PairedTest:
    """The result of a test, with the cases all tests share: identical systems, one topic, topics left out."""
    pairs, note = inputs.pairs, PAIRED_TESTS[name].note
    if pairs.identical:
        note, interval = IDENTICAL, Interval(0.0, 0.0, inputs.level)
    elif pairs.n == 1:
        note = f"{_ONE_TOPIC} {note}"
    return PairedTest(
        method=PAIRED_TESTS[name].title,
        statistic=statistic,
        pvalue=pvalue,
        alternative=inputs.alternative,
        n=pairs.n,
        estimate=pairs.mean,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        level=inputs.level,
        note=note,
        details=details | ({"mu": inputs.mu} if inputs.mu else {}) | pairs.left_out,
    )


def _without_variance(name: str, inputs: _TestInput) -> PairedTest:
    """The result if all differences are the same: that of sign flips."""
    n, beyond = inputs.pairs.n, float(inputs.beyond[0])
    statistic = math.copysign(math.inf, beyond) if beyond and n > 1 else 0.0
    tested = _result(
        name,
        inputs,
        statistic=statistic if name != "bootstrap" else inputs.pairs.mean,
        pvalue=_tail(float(np.sign(beyond)), inputs.alternative, lambda side: 0.5**n if side < 0 else 1.0),
        interval=_constant_interval(inputs),
        details={"variance": 0.0},
    )
    return tested if n == 1 or inputs.pairs.identical else replace(tested, note=f"{_CONSTANT} {tested.note}")


def _tail(statistic: float, alternative: Alternative, cdf: Callable[[float], Any]) -> float:
    """The p-value of a statistic whose distribution is symmetric around 0."""
    if alternative == "two-sided":
        return min(1.0, 2 * float(cdf(-abs(statistic))))
    return float(cdf(-statistic if alternative == "greater" else statistic))


def _t_interval(mean: float, error: float, df: int, alternative: Alternative, level: float) -> Interval:
    from scipy.special import stdtrit

    half = float(stdtrit(df, (1 + level) / 2 if alternative == "two-sided" else level)) * error
    return sided(mean - half, mean + half, alternative, level)


def _constant_interval(inputs: _TestInput) -> Interval | None:
    """The only difference, if sign flips could reject all others."""
    sides = 2 if inputs.alternative == "two-sided" else 1
    if sides * 0.5**inputs.pairs.n > 1 - inputs.level:
        return None
    mean = inputs.pairs.mean
    return sided(mean, mean, inputs.alternative, inputs.level)


class _SignedRanks(Record):
    """Doubled (hence whole) mid-ranks of nonzero differences, and the ranks of zeros where they count."""

    doubled: Ints
    positive: Bools
    zero_ranks: float = 0.0  # of zeros, half of which go to each side
    zero_squares: float = 0.0  # the sum of their squares

    @property
    def nonzero(self) -> int:
        return len(self.doubled)

    @property
    def plus(self) -> float:
        return float(self.doubled[self.positive].sum()) / 2 + self.zero_ranks / 2

    @property
    def minus(self) -> float:
        return float(self.doubled[~self.positive].sum()) / 2 + self.zero_ranks / 2

    def exact_pvalue(self, alternative: Alternative) -> float:
        """Over all signs of the ranks; zeros have no sign, so their halves change nothing."""
        if not self.nonzero:
            return 1.0
        ways = _ways_to_sum(self.doubled.tolist())
        plus, minus = int(self.doubled[self.positive].sum()), int(self.doubled[~self.positive].sum())
        if alternative == "two-sided":
            return min(1.0, float(2 * ways[: min(plus, minus) + 1].sum() / ways.sum()))
        side = minus if alternative == "greater" else plus
        return float(ways[: side + 1].sum() / ways.sum())

    def normal_pvalue(self, alternative: Alternative, correction: bool) -> float:
        from scipy.special import ndtr

        if not self.nonzero:
            return 1.0
        # the variance of signed mid-ranks: n(n+1)(2n+1)/24 minus (t³−t)/48 for each group of t ties
        ranks = self.doubled / 2
        variance = (float((ranks**2).sum()) + self.zero_squares) / 4
        above = (self.plus - self.minus) / 2
        if correction:
            toward = {"two-sided": math.copysign(0.5, above) if above else 0.0, "greater": 0.5, "less": -0.5}
            above -= toward[alternative]
        return _tail(above / math.sqrt(variance), alternative, ndtr)


def _signed_ranks(differences: Floats, zeros: Zeros) -> _SignedRanks:
    ranked = differences[differences != 0] if zeros == "drop" else differences
    doubled = _doubled_ranks(np.abs(ranked))
    kept = ranked != 0
    of_zeros = doubled[~kept] / 2
    split = zeros == "split"
    return _SignedRanks(
        doubled[kept],
        ranked[kept] > 0,
        zero_ranks=float(of_zeros.sum()) if split else 0.0,
        zero_squares=float((of_zeros**2).sum()) if split else 0.0,
    )


def _doubled_ranks(values: Floats) -> Ints:
    """Twice the mid-ranks, from 1 for the smallest."""
    _, at, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    return (2 * last - sizes + 1)[at]


def _ways_to_sum(numbers: list[int]) -> Floats:
    """The number of subsets with each sum."""
    ways = np.zeros(sum(numbers) + 1)
    ways[0] = 1
    for number in numbers:
        ways[number:] = ways[number:] + ways[: len(ways) - number]
    return ways


def _binomial_tail(won: int, decided: int, alternative: Alternative) -> float:
    """The p-value if wins are as likely as losses."""
    if not decided:
        return 1.0
    at_most = partial(_at_most, decided)
    if alternative == "two-sided":
        return min(1.0, 2 * at_most(min(won, decided - won)))
    return at_most(decided - won if alternative == "greater" else won)


def _at_most(n: int, k: int) -> float:
    """P(X ≤ k) for heads in n throws of a fair coin."""
    from scipy.special import betainc

    return 1.0 if k >= n else float(betainc(n - k, k + 1, 0.5))


def _posterior_above(df: int, error: float, mean: float, limit: float) -> float:
    """P(mean difference > limit): certain if all differences are the same; one half for a single topic."""
    from scipy.special import stdtr

    if error:
        return float(stdtr(df, (mean - limit) / error))
    return 0.5 if df == 0 and mean else float(mean > limit)  # ½ is the limit of ever fewer degrees of freedom


def _posterior_interval(pairs: PairedScores, level: float) -> Interval | None:
    mean, df = pairs.mean, pairs.n - 1
    if pairs.sd:
        return _t_interval(mean, pairs.sd / math.sqrt(pairs.n), df, "two-sided", level)
    return Interval(mean, mean, level) if df or pairs.identical else None


def _bayesian_note(pairs: PairedScores) -> str:
    if pairs.identical:
        return IDENTICAL
    if pairs.n == 1:
        return f"{_ONE_TOPIC} {_BAYESIAN_NOTE}"
    if not pairs.sd:
        return f"All differences are the same, which the model treats as certainty. {_BAYESIAN_NOTE}"
    return _BAYESIAN_NOTE


def _check_level(level: float) -> float:
    if not 0 < level < 1:
        raise CranfieldError(f"level={level} is out of range: expected a number between 0 and 1.")
    return level
