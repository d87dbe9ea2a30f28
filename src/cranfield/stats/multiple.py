"""More than two systems: corrections of p-values, MaxT against a baseline, Tukey's tests of all pairs.

A table has a row a topic and a column a system, with no score missing.
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
DRAWS = 5_000_000_000  # scores drawn for one test at most: a minute's work
LEAST_RESAMPLES = 1_000  # and never fewer permutations than this for that reason
# both of Tukey's tests, on the 12 runs of TREC DL 2019 with their means made equal: 6 to 10 false claims in 100, not 5
_INTERCHANGEABLE = (
    "takes the systems as interchangeable: where some are much more alike, or vary more, than others, a false claim is "
    "somewhat likelier than α"
)
_CELLS = 1 << 21  # numbers held at once
_BLOCK = 10_000  # resamples that share a stream of random numbers, where what they give is looked up
_SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
_ORDERS = 5_040  # more orders of the systems than this (7!) are shuffled, not looked up


def adjust(pvalues: Sequence[float] | Floats, method: str = "holm") -> Floats:
    """P-values of several comparisons, corrected for their number; in the order given.

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
        raise CranfieldError("a p-value is not between 0 and 1.")
    adjusted = given.copy()
    adjusted[there] = _correct_sorted(given[there], correct)
    return adjusted


def _correct_sorted(p: Floats, correct: Callable[[Floats], Floats]) -> Floats:
    """Sort, correct, and put back; no corrected value is above 1, none below the one it was made of."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.clip(correct(p[order]), p[order], 1.0) if len(p) else p
    return corrected


def _counting(p: Floats) -> Floats:
    return np.arange(1.0, len(p) + 1)


def _bonferroni(p: Floats) -> Floats:
    return p * len(p)


def _holm(p: Floats) -> Floats:
    return np.maximum.accumulate(p * _counting(p)[::-1])


def _hochberg(p: Floats) -> Floats:
    return _lowest_above(p * _counting(p)[::-1])


def _hommel(p: Floats) -> Floats:
    """Closed testing with Simes' test (Hommel 1988), by the algorithm of Wright, Biometrics 48, 1992."""
    n = len(p)
    adjusted = np.full(n, np.min(n * p / _counting(p)))
    for size in range(n - 1, 1, -1):
        few, many = p[: n - size + 1], p[n - size + 1 :]
        least = np.min(size * many / np.arange(2, size + 1))
        candidates = np.minimum(size * few, least)
        adjusted = np.maximum(adjusted, np.append(candidates, np.full(size - 1, candidates[-1])))
    return adjusted


def _sidak(p: Floats) -> Floats:
    return _any_of(p, np.full(len(p), float(len(p))))


def _holm_sidak(p: Floats) -> Floats:
    return np.maximum.accumulate(_any_of(p, _counting(p)[::-1]))


def _benjamini_hochberg(p: Floats) -> Floats:
    return _lowest_above(p * len(p) / _counting(p))


def _benjamini_yekutieli(p: Floats) -> Floats:
    return _benjamini_hochberg(p) * float(np.sum(1 / _counting(p)))


def _lowest_above(p: Floats) -> Floats:
    """For each value the lowest from it on."""
    return np.minimum.accumulate(p[::-1])[::-1]


def _any_of(p: Floats, number: Floats) -> Floats:
    """The chance that any of some independent tests comes out as low as p."""
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

    The differences of a topic change their sign together, so that what the systems have in common counts, which Holm
    must ignore. All 2ⁿ changes of sign are tried if they are no more than `resamples`; otherwise p = (1 + as
    extreme)/(1 + resamples). The statistic is |t|, its deviation found again after each change. In the order of the
    columns, the baseline left out.
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

    Changing signs leaves Σd² as it is, and t² = (n − 1) z²/(n − z²) grows with z² = (Σd)²/Σd²; with z neither equal
    differences (t infinite) nor none (t undefined) are special.
    """
    length = np.sqrt(np.square(differences).sum(axis=0))
    return differences / np.where(length > 0, length, 1.0)


def _flipped_sums(columns: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """The sums of columns after signs change: for every set of topics if there are few, else for random ones.

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
    """Whether all 2ⁿ changes of sign are no more than `resamples`."""
    return n < resamples.bit_length()


def _chances(as_extreme: Ints, n: int, resamples: int) -> Floats:
    """The share of changes of sign as extreme as none, which is one of all, but not of those drawn at random."""
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
    low: Floats | None  # of intervals that hold for all pairs together; None where there can be none
    high: Floats | None
    effect: Floats | None  # ES_E: differences in residual deviations √V_E; None where there is no residual variance
    level: float
    details: Mapping[str, Any]  # what the method did: resamples, seed, exact, V_E, df, critical
    note: str  # what to know when reading it

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

    The scores of each topic are dealt out to the systems anew; p is the chance that the largest difference between
    any two means is then at least the one observed. All orders are tried if they are no more than `resamples`;
    otherwise p = (1 + as extreme)/(1 + resamples). No more than `draws` scores are dealt (a minute's work) as long as
    that leaves 1,000 resamples; `details` and `note` say so where it matters. Intervals are the difference ± the
    quantile of the largest difference by chance.

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

    The error is the residual of the two-way analysis of variance, so that hard and easy topics do not count as noise.

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
        # there is nothing to measure differences by; how they could be dealt still tells
        return randomised_tukey(scores).pvalues
    pvalues = np.ones_like(differences)
    i, j = np.triu_indices(m, 1)
    pvalues[i, j] = pvalues[j, i] = range_sf(np.abs(differences[i, j]) / left.deviation * math.sqrt(n), m, left.df)
    return pvalues


def _two_way_note(variance: float | None, differences: Floats) -> str:
    if variance is None:
        return "one topic leaves no residual to compare differences with: every p is 1, and there are no intervals."
    if variance == 0 and not differences.any():
        return "the systems are identical, without any variance between them: every p is 1, and there are no intervals."
    if variance == 0:
        return (
            "the systems differ by the same amount on every topic, without residual variance: p is the randomised one "
            f"(at most {RESAMPLES:,} resamples, seed 1), and there are no intervals."
        )
    return f"takes residuals as near enough to normal, which the randomised test does not; {_INTERCHANGEABLE}."


def _differences(scores: Floats) -> tuple[Floats, Floats]:
    """Means and their differences, 0 where they are but rounding."""
    means = np.array([math.fsum(column) / len(scores) for column in scores.T.tolist()])
    differences = means[:, None] - means
    return means, np.where(np.abs(differences) <= rounding(scores), 0.0, differences)


def _with_unit_diagonal(pvalues: Floats) -> Floats:
    np.fill_diagonal(pvalues, 1.0)
    return pvalues


class _Ranges(Record, eq=False):
    """The largest difference between two means after each deal, in ascending order; of all deals if exact."""

    values: Floats
    exact: bool

    def chance(self, as_extreme: Any) -> Floats:
        plus = 0.0 if self.exact else 1.0  # what was observed is one of all deals, but none of those drawn
        chances: Floats = (as_extreme + plus) / (len(self.values) + plus)
        return chances

    def critical(self, level: float) -> float | None:
        """The largest difference that is not significant at 1 − level; None if too few deals can tell."""
        plus = 0 if self.exact else 1
        as_extreme = math.floor((1 - level) * (len(self.values) + plus) + 1e-9) - plus
        return float(self.values[len(self.values) - 1 - as_extreme]) if as_extreme + plus >= 1 else None


def _varied(scores: Floats) -> Floats:
    """The topics on which systems differ, each score less their mean; the others are the same however dealt."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    rows: Floats = centred[np.ptp(scores, axis=1) > rounding(scores)]
    return rows


def _permuted_ranges(rows: Floats, n: int, resamples: int, seed: int) -> _Ranges:
    """The ranges of the means over n topics, of which these rows are the ones that matter."""
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
    """The sums of columns after shuffling each row: for few systems an order is drawn at once, and looked up."""
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
    """The sums of columns after shuffling each row. Rows are shuffled one after the other, whatever is held at once."""
    n, m = rows.shape
    rng = np.random.default_rng(seed)
    at_once = max(1, _CELLS // (n * m))
    if at_once > 1:
        for first in range(0, resamples, at_once):
            dealt = np.tile(rows, (min(at_once, resamples - first), 1))
            yield rng.permuted(dealt, axis=1, out=dealt).reshape(-1, n, m).sum(axis=1)
        return
    part = max(1, _CELLS // m)
    for _ in range(resamples):
        parts = (rng.permuted(rows[start : start + part], axis=1) for start in range(0, n, part))
        yield sum((dealt.sum(axis=0) for dealt in parts), np.zeros(m))[None, :]


def _randomised_note(rows: Floats, ranges: _Ranges, asked: int, level: float, half: float | None) -> str:
    done = len(ranges.values)
    said = [
        f"p from all {done:,} ways to deal each topic's scores to the systems"
        if ranges.exact
        else f"p from {done:,} random ways to deal each topic's scores to the systems"
    ]
    if not ranges.exact and done < asked:
        said.append(
            f"fewer than the {asked:,} asked for, as there are {len(rows):,} topics × {rows.shape[1]:,} systems"
        )
    if half is None:
        said.append(f"too few for {100 * level:g} % intervals")
    else:
        said.append(
            f"intervals are ± the {100 * level:g} % quantile of the largest difference by chance, "
            "which real differences between the systems widen"
        )
    said.append(_INTERCHANGEABLE)
    return "; ".join(said) + "."


def _require_column(baseline: int, systems: int) -> None:
    if not 0 <= baseline < systems:
        raise CranfieldError(f"baseline {baseline} is no column: expected a number from 0 to {systems - 1}.")


def _require_resamples(resamples: int) -> None:
    if resamples < 1:
        raise CranfieldError(f"{resamples} resamples: expected a whole number of at least 1.")


def _require_level(level: float) -> None:
    if not 0 < level < 1:
        raise CranfieldError(f"level {level} is out of range: expected a number between 0 and 1.")
