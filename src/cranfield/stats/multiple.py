"""Several comparisons: corrections of p-values, MaxT against a baseline, Tukey's tests of all pairs.

A table has a row per topic and a column per system, with no score missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.stats.anova import TOLERANCE, Residual, as_table, residual, rounding
from cranfield.stats.studentised import range_ppf, range_sf

RESAMPLES = 10_000
DRAWS = 5_000_000_000  # the most scores drawn for one test: about a minute
LEAST_RESAMPLES = 1_000  # but never fewer permutations than this
# with the 12 runs of TREC DL 2019, shifted to equal means, both of Tukey's tests make 6 to 10 false claims in 100
_INTERCHANGEABLE = (
    "assumes that systems are interchangeable: if some are much more alike, or vary more, than others, false claims "
    "are somewhat more frequent than α"
)
_CELLS = 1 << 21  # numbers in memory at a time
_BLOCK = 10_000  # resamples that share a stream of random numbers, where sums are looked up
_SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
_ORDERS = 5_040  # up to this many orders of the systems (7!) are looked up, more are shuffled


def adjust(pvalues: Sequence[float] | Floats, method: str = "holm") -> Floats:
    """Correct the p-values of several comparisons for their number; in the same order.

    holm (the default), bonferroni, hochberg, hommel, sidak and holm-sidak bound the chance of any false claim; bh and
    by the expected share of false claims among those made. A NaN is no comparison: it stays NaN and is not counted.

    >>> adjust([0.01, 0.04, 0.03, 0.005]).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    correct = CORRECTIONS[method].correct if method in CORRECTIONS else None
    if correct is None:
        known = ", ".join(PVALUE_CORRECTIONS)
        raise CranfieldError(f"unknown correction {method!r}: expected one of {known}.")
    given = np.asarray(pvalues, dtype=np.float64)
    if given.ndim != 1:
        raise CranfieldError(f"expected a list of p-values, found {given.ndim} axes.")
    there = ~np.isnan(given)
    if ((given[there] < 0) | (given[there] > 1)).any():
        raise CranfieldError("expected p-values between 0 and 1.")
    adjusted = given.copy()
    adjusted[there] = _correct_sorted(given[there], correct)
    return adjusted


def _correct_sorted(p: Floats, correct: Callable[[Floats], Floats]) -> Floats:
    """Sort, correct, and restore the order; corrected values are at most 1 and not below the uncorrected ones."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.clip(correct(p[order]), p[order], 1.0) if len(p) else p
    return corrected


def _ranks(p: Floats) -> Floats:
    return np.arange(1.0, len(p) + 1)


def _bonferroni(p: Floats) -> Floats:
    return p * len(p)


def _holm(p: Floats) -> Floats:
    return np.maximum.accumulate(p * _ranks(p)[::-1])


def _hochberg(p: Floats) -> Floats:
    return _lowest_above(p * _ranks(p)[::-1])


def _hommel(p: Floats) -> Floats:
    """Closed testing with Simes' test (Hommel 1988), by the algorithm of Wright, Biometrics 48, 1992."""
    n = len(p)
    adjusted = np.full(n, np.min(n * p / _ranks(p)))
    for size in range(n - 1, 1, -1):
        few, many = p[: n - size + 1], p[n - size + 1 :]
        least = np.min(size * many / np.arange(2, size + 1))
        candidates = np.minimum(size * few, least)
        adjusted = np.maximum(adjusted, np.append(candidates, np.full(size - 1, candidates[-1])))
    return adjusted


def _sidak(p: Floats) -> Floats:
    return _any_of(p, np.full(len(p), float(len(p))))


def _holm_sidak(p: Floats) -> Floats:
    return np.maximum.accumulate(_any_of(p, _ranks(p)[::-1]))


def _benjamini_hochberg(p: Floats) -> Floats:
    return _lowest_above(p * len(p) / _ranks(p))


def _benjamini_yekutieli(p: Floats) -> Floats:
    return _benjamini_hochberg(p) * float(np.sum(1 / _ranks(p)))


def _lowest_above(p: Floats) -> Floats:
    """For each value, the lowest of it and those after it."""
    return np.minimum.accumulate(p[::-1])[::-1]


def _any_of(p: Floats, number: Floats) -> Floats:
    """The chance that any of several independent tests has a p-value as low as p."""
    with np.errstate(divide="ignore"):
        chances: Floats = -np.expm1(number * np.log1p(-p))
    return chances


class Correction(Record):
    """A way to correct p-values for the number of comparisons."""

    title: str
    correct: Callable[[Floats], Floats] | None = None  # sorted p-values to corrected ones; None if it needs the scores


CORRECTIONS: Mapping[str, Correction] = {
    "holm": Correction("Holm", _holm),
    "bonferroni": Correction("Bonferroni", _bonferroni),
    "bh": Correction("Benjamini–Hochberg", _benjamini_hochberg),
    "maxt": Correction("MaxT step-down"),  # see max_t
    "hochberg": Correction("Hochberg", _hochberg),
    "hommel": Correction("Hommel", _hommel),
    "sidak": Correction("Šidák", _sidak),
    "holm-sidak": Correction("Holm–Šidák", _holm_sidak),
    "by": Correction("Benjamini–Yekutieli", _benjamini_yekutieli),
    "none": Correction("uncorrected", lambda p: p),
}
PVALUE_CORRECTIONS = tuple(name for name, one in CORRECTIONS.items() if one.correct is not None)


def max_t(table: Any, baseline: int, resamples: int = RESAMPLES, seed: int = 1) -> Floats:
    """P-values of every other system against a baseline, corrected together: step-down MaxT of Westfall and Young.

    The differences of a topic change their sign together, which takes into account what the systems have in common;
    Holm has to ignore it. All 2ⁿ sign changes are tried if there are at most `resamples`; otherwise p = (1 + as
    extreme)/(1 + resamples). The statistic is |t|, with its standard error recomputed after each change. The result is
    in the order of the columns, without the baseline.
    """
    scores = as_table(table)
    _require_column(baseline, scores.shape[1])
    _require_resamples(resamples)
    differences = np.delete(scores, baseline, axis=1) - scores[:, [baseline]]
    unit = _unit_columns(np.where(np.abs(differences) <= rounding(scores), 0.0, differences))
    observed = np.abs(unit.sum(axis=0))
    order = np.argsort(-observed, kind="stable")
    as_extreme = np.zeros(len(order), dtype=np.int64)
    for sums in _flipped_sums(unit, resamples, seed):
        highest_below = np.maximum.accumulate(np.abs(sums[:, order[::-1]]), axis=1)[:, ::-1]
        as_extreme += (highest_below >= observed[order] - TOLERANCE * max(1.0, observed.max())).sum(axis=0)
    stepwise = np.maximum.accumulate(_chances(as_extreme, len(scores), resamples))
    adjusted = np.empty(len(order))
    adjusted[order] = stepwise
    return adjusted


def _unit_columns(differences: Floats) -> Floats:
    """Columns of length 1, or 0: |sum| then orders as |t| does.

    Changing signs does not change Σd², and t² = (n − 1) z²/(n − z²) grows with z² = (Σd)²/Σd²; with z, neither equal
    differences (t infinite) nor zero differences (t undefined) are special.
    """
    length = np.sqrt(np.square(differences).sum(axis=0))
    return differences / np.where(length > 0, length, 1.0)


def _flipped_sums(columns: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """The sums of columns after sign changes: for every set of topics if there are few, else for random sets.

    Eight topics have 256 sums, which are looked up.
    """
    n = len(columns)
    exact = _all_are_few(n, resamples)
    number = 2**n if exact else resamples
    for first in range(0, number, _BLOCK):
        sets = np.arange(first, min(first + _BLOCK, number))
        rng = np.random.default_rng([seed, first])
        sums = np.zeros((len(sets), columns.shape[1]))
        for at in range(0, n, 8):
            some = columns[at : at + 8]
            drawn = sets >> at & 255 if exact else rng.integers(0, 256, size=len(sets), dtype=np.uint8)
            sums += (_SIGNS[:, : len(some)] @ some).take(drawn, axis=0)
        yield sums


def _all_are_few(n: int, resamples: int) -> bool:
    """Whether there are at most `resamples` sign changes, 2ⁿ."""
    return n < resamples.bit_length()


def _chances(as_extreme: Ints, n: int, resamples: int) -> Floats:
    """The share of sign changes as extreme as the data, which are one of all changes, but not of those drawn."""
    exact = _all_are_few(n, resamples)
    chances: Floats = as_extreme / 2**n if exact else (1.0 + as_extreme) / (1 + resamples)
    return chances


class AllPairs(Record, eq=False):
    """Every system against every other: differences of means, corrected p-values, simultaneous intervals.

    Matrices are systems × systems; [i, j] is about system i minus system j.
    """

    method: str
    systems: int
    n: int
    means: Floats
    differences: Floats
    pvalues: Floats  # symmetric, 1 on the diagonal
    low: Floats | None  # of simultaneous intervals; None where there are none
    high: Floats | None
    effect: Floats | None  # ES_E: differences in residual deviations √V_E; None where there is no residual variance
    level: float
    details: Mapping[str, Any]  # what the method did: resamples, seed, exact, V_E, df, critical
    note: str  # what a reader must know

    def significant(self, alpha: float = 0.05) -> Bools:
        """Which pairs differ: p ≤ alpha."""
        return np.asarray(self.pvalues <= alpha)

    @property
    def order(self) -> list[int]:
        """The systems, best mean first."""
        best_first: list[int] = np.argsort(-self.means, kind="stable").tolist()
        return best_first


def randomised_tukey(
    table: Any, resamples: int = RESAMPLES, seed: int = 1, level: float = 0.95, draws: int = DRAWS
) -> AllPairs:
    """All pairs of systems by the randomised Tukey HSD test (Carterette, TOIS 30, 2012).

    The scores of each topic are permuted among the systems; p is the chance that the largest difference between any
    two means is then at least the observed one. All permutations are tried if there are at most `resamples`;
    otherwise p = (1 + as extreme)/(1 + resamples). At most `draws` scores are permuted (about a minute) as long as
    that leaves 1,000 resamples; `details` and `note` say if it applies. Intervals are the difference ± the quantile of
    the largest difference under permutation.

    >>> pairs = randomised_tukey([[0.1, 0.2, 0.45], [0.3, 0.25, 0.5], [0.55, 0.6, 0.75], [0.2, 0.4, 0.35]])
    >>> pairs.pvalues[0].round(6).tolist()
    [1.0, 0.777778, 0.037037]
    """
    scores = as_table(table)
    _require_level(level)
    _require_resamples(resamples)
    rows = _varied(scores)
    done = min(resamples, max(LEAST_RESAMPLES, draws // max(rows.size, 1)))
    ranges = _permuted_ranges(rows, len(scores), done, seed)
    means, differences = _differences(scores)
    slack = rounding(scores)
    as_extreme = len(ranges.values) - np.searchsorted(ranges.values, np.abs(differences) - slack)
    left = residual(scores)
    critical = ranges.critical(level)
    half = None if critical is None else critical + slack
    details = {
        "resamples": len(ranges.values),
        "seed": None if ranges.exact else seed,
        "exact": ranges.exact,
        "V_E": left.variance,
        "df": left.df,
        "critical": half,
    }
    return AllPairs(
        method="randomised Tukey HSD",
        systems=scores.shape[1],
        n=len(scores),
        means=means,
        differences=differences,
        pvalues=_with_unit_diagonal(ranges.chance(as_extreme)),
        low=None if half is None else differences - half,
        high=None if half is None else differences + half,
        effect=None if left.deviation is None else differences / left.deviation,
        level=level,
        details=details,
        note=_randomised_note(rows, ranges, resamples, level, half),
    )


def two_way_tukey(table: Any, level: float = 0.95) -> AllPairs:
    """All pairs of systems by Tukey's HSD test with topics as blocks: the parametric twin of the randomised one.

    The error is the residual of the two-way analysis of variance: hard and easy topics do not count as noise.

    >>> pairs = two_way_tukey([[0.1, 0.2, 0.45], [0.3, 0.25, 0.5], [0.55, 0.6, 0.75], [0.2, 0.4, 0.35]])
    >>> pairs.pvalues[0].round(6).tolist()
    [1.0, 0.432401, 0.017097]
    """
    scores = as_table(table)
    _require_level(level)
    n, m = scores.shape
    means, differences = _differences(scores)
    left = residual(scores)
    critical = range_ppf(level, m, left.df) if left.df else None
    half = None if critical is None or left.deviation is None else critical * left.deviation / math.sqrt(n)
    return AllPairs(
        method="two-way Tukey HSD",
        systems=m,
        n=n,
        means=means,
        differences=differences,
        pvalues=_tukey_pvalues(scores, differences, left),
        low=None if half is None else differences - half,
        high=None if half is None else differences + half,
        effect=None if left.deviation is None else differences / left.deviation,
        level=level,
        details={
            "resamples": None,
            "seed": None,
            "exact": None,
            "V_E": left.variance,
            "df": left.df,
            "critical": critical,
        },
        note=_two_way_note(left.variance, differences),
    )


def _tukey_pvalues(scores: Floats, differences: Floats, left: Residual) -> Floats:
    n, m = scores.shape
    if left.deviation is None:
        # there is no error to compare differences with; permutations still work
        return randomised_tukey(scores).pvalues
    pvalues = np.ones_like(differences)
    i, j = np.triu_indices(m, 1)
    pvalues[i, j] = pvalues[j, i] = range_sf(np.abs(differences[i, j]) / left.deviation * math.sqrt(n), m, left.df)
    return pvalues


def _two_way_note(variance: float | None, differences: Floats) -> str:
    if variance is None:
        return "a single topic has no residual to compare differences with: every p is 1, and there are no intervals."
    if variance == 0 and not differences.any():
        return "the systems are identical, without any variance between them: every p is 1, and there are no intervals."
    if variance == 0:
        return (
            "the systems differ by the same amount on every topic, without residual variance: p is the randomised one "
            f"(at most {RESAMPLES:,} resamples, seed 1), and there are no intervals."
        )
    return f"assumes nearly normal residuals, which the randomised test does not; {_INTERCHANGEABLE}."


def _differences(scores: Floats) -> tuple[Floats, Floats]:
    """Means and their differences, 0 where they are only rounding."""
    means = np.array([math.fsum(column) / len(scores) for column in scores.T.tolist()])
    differences = means[:, None] - means
    return means, np.where(np.abs(differences) <= rounding(scores), 0.0, differences)


def _with_unit_diagonal(pvalues: Floats) -> Floats:
    np.fill_diagonal(pvalues, 1.0)
    return pvalues


class _Ranges(Record, eq=False):
    """The largest difference between two means after each permutation, in ascending order; of all if exact."""

    values: Floats
    exact: bool

    def chance(self, as_extreme: Any) -> Floats:
        plus = 0.0 if self.exact else 1.0  # the data are one of all permutations, but none of those drawn
        chances: Floats = (as_extreme + plus) / (len(self.values) + plus)
        return chances

    def critical(self, level: float) -> float | None:
        """The largest difference that is not significant at 1 − level; None with too few permutations."""
        plus = 0 if self.exact else 1
        as_extreme = math.floor((1 - level) * (len(self.values) + plus) + 1e-9) - plus
        return float(self.values[len(self.values) - 1 - as_extreme]) if as_extreme + plus >= 1 else None


def _varied(scores: Floats) -> Floats:
    """The topics on which systems differ, minus their mean; permuting the others changes nothing."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    rows: Floats = centred[np.ptp(scores, axis=1) > rounding(scores)]
    return rows


def _permuted_ranges(rows: Floats, n: int, resamples: int, seed: int) -> _Ranges:
    """The ranges of the means over n topics; only these rows vary."""
    m = rows.shape[1]
    exact = len(rows) * math.lgamma(m + 1) <= math.log(resamples) + 1e-9
    if exact:
        sums = iter([_all_sums(rows)])
    elif math.factorial(min(m, 20)) <= min(resamples, _ORDERS):
        sums = _looked_up_sums(rows, resamples, seed)
    else:
        sums = _shuffled_sums(rows, resamples, seed)
    ranges = np.concatenate([np.ptp(part, axis=1) for part in sums]) / n
    return _Ranges(np.sort(ranges), exact)


def _all_sums(rows: Floats) -> Floats:
    """The sums of columns for all orders of all rows."""
    sums = np.zeros((1, rows.shape[1]))
    for row in rows:
        sums = (sums[:, None, :] + row[_orders(len(row))]).reshape(-1, len(row))
    return sums


def _looked_up_sums(rows: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """The sums of columns after shuffling each row; for few systems whole orders are drawn and looked up."""
    orders = _orders(rows.shape[1])
    for first in range(0, resamples, _BLOCK):
        rng = np.random.default_rng([seed, first])
        sums = np.zeros((min(_BLOCK, resamples - first), rows.shape[1]))
        for row in rows:
            # 16 bits are enough for 7! orders, and NumPy draws them twice as fast as 8 or 64
            drawn = rng.integers(0, len(orders), size=len(sums), dtype=np.uint16)
            sums += row[orders].take(drawn, axis=0)
        yield sums


def _orders(m: int) -> Ints:
    return np.array(list(permutations(range(m))), dtype=np.int64)


def _shuffled_sums(rows: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """The sums of columns after shuffling each row; the result does not depend on how many are in memory at a time."""
    n, m = rows.shape
    rng = np.random.default_rng(seed)
    at_once = max(1, _CELLS // (n * m))
    if at_once > 1:
        for first in range(0, resamples, at_once):
            shuffled = np.tile(rows, (min(at_once, resamples - first), 1))
            yield rng.permuted(shuffled, axis=1, out=shuffled).reshape(-1, n, m).sum(axis=1)
        return
    part = max(1, _CELLS // m)
    for _ in range(resamples):
        parts = (rng.permuted(rows[start : start + part], axis=1) for start in range(0, n, part))
        yield sum((shuffled.sum(axis=0) for shuffled in parts), np.zeros(m))[None, :]


def _randomised_note(rows: Floats, ranges: _Ranges, asked: int, level: float, half: float | None) -> str:
    done = len(ranges.values)
    parts = [
        f"p from all {done:,} permutations of scores within topics"
        if ranges.exact
        else f"p from {done:,} random permutations of scores within topics"
    ]
    if not ranges.exact and done < asked:
        parts.append(f"fewer than the {asked:,} requested, because of {len(rows):,} topics × {rows.shape[1]:,} systems")
    if half is None:
        parts.append(f"too few for {100 * level:g} % intervals")
    else:
        parts.append(
            f"intervals are ± the {100 * level:g} % quantile of the largest difference under permutation, "
            "which real differences between the systems widen"
        )
    parts.append(_INTERCHANGEABLE)
    return "; ".join(parts) + "."


def _require_column(baseline: int, systems: int) -> None:
    if not 0 <= baseline < systems:
        raise CranfieldError(f"baseline {baseline} is out of range: expected a column from 0 to {systems - 1}.")


def _require_resamples(resamples: int) -> None:
    if resamples < 1:
        raise CranfieldError(f"{resamples} resamples: expected a whole number of at least 1.")


def _require_level(level: float) -> None:
    if not 0 < level < 1:
        raise CranfieldError(f"level {level} is out of range: expected a number between 0 and 1.")
