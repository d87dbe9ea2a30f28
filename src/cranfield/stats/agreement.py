"""Agreement between assessors: percent, overlap, Cohen's and Fleiss' κ, Krippendorff's α, Gwet's AC, with intervals.

Each coefficient follows from sums over the judged pairs. The sums are computed once for every topic (or every pattern
of grades), and a resample is a weighted sum of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.stats.resampling import require_draws

Weights = Literal["none", "linear", "quadratic"]
Metric = Literal["nominal", "ordinal", "interval"]
Sums = Mapping[str, Floats]  # each has one row for every unit that is resampled

AGREEMENT_RESAMPLES = 1000
MOST_GRADES = 101  # with more, they are scores rather than grades
NO_GRADE = -1  # the code of an item that an assessor did not judge
_CELLS = 1 << 22  # numbers held at a time while resampling

AGREEMENT_TITLES: Mapping[str, str] = {
    "percent": "Same grade",
    "overlap": "Overlap of relevant",
    "kappa": "Cohen's κ",
    "kappa_linear": "Cohen's κ, linear",
    "kappa_quadratic": "Cohen's κ, quadratic",
    "fleiss_kappa": "Fleiss' κ",
    "alpha_nominal": "Krippendorff's α, nominal",
    "alpha_ordinal": "Krippendorff's α, ordinal",
    "alpha_interval": "Krippendorff's α, interval",
    "ac1": "Gwet's AC1",
    "ac2_linear": "Gwet's AC2, linear",
    "ac2_quadratic": "Gwet's AC2, quadratic",
}
TWO_ASSESSOR_COEFFICIENTS = ("kappa", "kappa_linear", "kappa_quadratic")  # these compare one assessor with one other
ALL_ASSESSOR_COEFFICIENTS = ("overlap", "fleiss_kappa")  # these use the items that every assessor judged


class Estimate(Record):
    """A value with its interval and the number of items it is computed from; None where there are none."""

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    note: str = ""


class Ratings(Record, eq=False):
    """Grades of the same items by several assessors: positions on a scale, items × assessors, −1 for no grade."""

    codes: Ints
    scale: Floats

    @property
    def assessors(self) -> int:
        return int(self.codes.shape[1])

    @property
    def grades(self) -> int:
        return len(self.scale)

    def where(self, items: Bools) -> Ratings:
        return Ratings(self.codes[items], self.scale)

    def of(self, *assessors: int) -> Ratings:
        return Ratings(self.codes[:, list(assessors)], self.scale)

    @property
    def judged(self) -> Ints:
        """The number of assessors who judged each item."""
        number: Ints = np.count_nonzero(self.codes != NO_GRADE, axis=1)
        return number


def as_ratings(table: Any, scale: Sequence[float] | Floats | None = None) -> Ratings:
    """Ratings from a table, items × assessors, with NaN or None where an item was not judged.

    By default, the scale consists of the grades that occur.

    >>> as_ratings([[0, 1], [3, None]]).codes.tolist()
    [[0, 1], [2, -1]]
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2:
        raise CranfieldError(f"expected a table, items × assessors, found {pluralize(values.ndim, 'axis')}.")
    there = ~np.isnan(values)
    grades = check_scale(np.unique(values[there]) if scale is None else scale)
    at = np.clip(np.searchsorted(grades, values), 0, max(len(grades) - 1, 0))
    known = there & (grades[at] == values) if len(grades) else np.zeros(values.shape, dtype=bool)
    if (there & ~known).any():
        odd = values[there & ~known][0]
        raise CranfieldError(f"grade {odd:g} is not on the scale {' '.join(f'{grade:g}' for grade in grades)}.")
    return Ratings(np.where(there, at, NO_GRADE), grades)


def check_scale(scale: Sequence[float] | Floats) -> Floats:
    """A scale of finite grades, in ascending order."""
    grades = np.unique(np.asarray(scale, dtype=np.float64))
    if not np.isfinite(grades).all():
        raise CranfieldError("a grade of the scale is not a finite number.")
    if len(grades) > MOST_GRADES:
        raise CranfieldError(
            f"there are {len(grades):,} different grades, expected at most {MOST_GRADES}: these are scores rather "
            "than grades. Turn them into grades first, e.g. with 'cranfield qrels map' or 'binarize'."
        )
    return grades


def percent_agreement(table: Any) -> float | None:
    """The share of pairs of judgments of the same item that give it the same grade; None if no item has two.

    >>> percent_agreement([[0, 0], [1, 2], [1, 1], [3, None]])
    0.6666666666666666
    """
    return _coefficient(table, "percent")


def overlap(a: Sequence[float], b: Sequence[float], rel: float = 1) -> float | None:
    """Items relevant to both as a share of those relevant to either; 1 if there are none, None without common items.

    >>> overlap([2, 1, 0, 0], [1, 0, 0, 1])
    0.3333333333333333
    """
    return _coefficient(np.column_stack([a, b]), "overlap", rel=rel)


def cohen_kappa(
    a: Sequence[float],
    b: Sequence[float],
    weights: Weights = "none",
    scale: Sequence[float] | None = None,
) -> float | None:
    """Cohen's κ of two assessors, on the items that both judged; None if there are none.

    Weights depend on positions on the scale. If both give the same single grade throughout, κ is 1.

    >>> round(cohen_kappa([0, 0, 1, 2, 2], [0, 1, 1, 2, 0]), 6)
    0.411765
    """
    if weights not in get_args(Weights):
        raise CranfieldError(f"unknown weights {weights!r}: expected one of {', '.join(get_args(Weights))}.")
    name = "kappa" if weights == "none" else f"kappa_{weights}"
    return _coefficient(np.column_stack([a, b]), name, scale)


def fleiss_kappa(table: Any, scale: Sequence[float] | None = None) -> float | None:
    """Fleiss' κ over the items that all assessors judged (Scott's π for two); None if there are none.

    >>> round(fleiss_kappa([[0, 0, 0], [1, 1, 0], [1, 1, 1]]), 6)
    0.55
    """
    return _coefficient(table, "fleiss_kappa", scale)


def krippendorff_alpha(table: Any, metric: Metric = "nominal", scale: Sequence[float] | None = None) -> float | None:
    """Krippendorff's α over the items with two or more judgments; None if there are none.

    >>> round(krippendorff_alpha([[1, 1, None], [0, 0, 0], [1, 0, 1], [None, 1, 1], [0, 0, None]]), 6)
    0.694444
    """
    if metric not in get_args(Metric):
        raise CranfieldError(f"unknown metric {metric!r}: expected one of {', '.join(get_args(Metric))}.")
    return _coefficient(table, f"alpha_{metric}", scale)


def gwet_ac(table: Any, weights: Weights = "none", scale: Sequence[float] | None = None) -> float | None:
    """Gwet's AC1, or with weights AC2; None if no item has two judgments. The number of grades is that of the scale.

    >>> round(gwet_ac([[0, 0], [0, 0], [0, 0], [0, 1]]), 6)
    0.68
    """
    if weights not in get_args(Weights):
        raise CranfieldError(f"unknown weights {weights!r}: expected one of {', '.join(get_args(Weights))}.")
    return _coefficient(table, "ac1" if weights == "none" else f"ac2_{weights}", scale)


def confusion_matrix(ratings: Ratings) -> Ints:
    """How often each pair of grades was given by the first and the second of two assessors: first × second."""
    return np.asarray(_confusion_counts(ratings, _all_in_one(ratings))[0], dtype=np.int64)


def compute_agreement(
    ratings: Ratings,
    units: Ints | None = None,
    *,
    rel: float = 1,
    resamples: int = AGREEMENT_RESAMPLES,
    seed: int = 1,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """All coefficients of agreement, with percentile bootstrap intervals.

    `units` is the topic of each item: topics are resampled, with all their items. Without it, or with a single topic,
    items are resampled. With 0 resamples there are no intervals.

    >>> coefficients = compute_agreement(as_ratings([[0, 0], [1, 1], [1, 0], [2, 2]]))
    >>> coefficients["percent"].value, round(coefficients["kappa"].value, 4)
    (0.75, 0.6364)
    """
    require_draws(max(resamples, 1), seed)
    if not 0 < level < 1:
        raise CranfieldError(f"level={level:g} is out of range: expected a number between 0 and 1.")
    known = np.flatnonzero(ratings.judged > 0)
    ratings = Ratings(ratings.codes[known], ratings.scale)
    whole = {name: float(value[0]) for name, value in _coefficients(_sums(ratings, rel), ratings).items()}
    ends = _intervals(ratings, None if units is None else units[known], rel, resamples, seed, level)
    number = _numbers(ratings)
    notes = _notes(ratings, rel)
    found = {}
    for name, value in whole.items():
        low, high = ends.get(name, (None, None))
        is_known = number[name] > 0 and not math.isnan(value)
        found[name] = Estimate(
            value if is_known else None,
            number[name],
            low if is_known else None,
            high if is_known else None,
            notes.get(name, ""),
        )
    return found


def compute_agreement_by_unit(ratings: Ratings, units: Ints, rel: float = 1) -> dict[str, list[float | None]]:
    """All coefficients of each unit, such as a topic, without intervals; units are numbered from 0.

    >>> compute_agreement_by_unit(as_ratings([[0, 0], [1, 0], [1, 1]]), np.array([0, 0, 1]))["percent"]
    [0.5, 1.0]
    """
    found = _coefficients(_sums(ratings, rel, units), ratings)
    return {name: [None if value != value else value for value in values.tolist()] for name, values in found.items()}


def _coefficient(table: Any, name: str, scale: Sequence[float] | None = None, rel: float = 1) -> float | None:
    ratings = as_ratings(table, scale)
    value = float(_coefficients(_sums(ratings, rel), ratings)[name][0])
    return None if math.isnan(value) else value


def _all_in_one(ratings: Ratings) -> Ints:
    return np.zeros(len(ratings.codes), dtype=np.int64)


def _sums(ratings: Ratings, rel: float, units: Ints | None = None, weights: Floats | None = None) -> Sums:
    """The sums that coefficients are computed from, for each unit.

    Items without two judgments count only in Gwet's shares.

    `coincidences`: ordered pairs of judgments of an item, each 1/(m − 1) for the item's m judgments; `agreements`:
    the same, each 1/(m (m − 1)), so that an item adds up to 1; `shares`: of each grade among an item's judgments.
    Names that begin with `full` are over the items that everyone judged.
    """
    units = _all_in_one(ratings) if units is None else units
    number = int(units.max(initial=-1)) + 1 or 1
    weights = np.ones(len(units)) if weights is None else weights
    q, r, m = ratings.grades, ratings.assessors, ratings.judged
    several, full = (m > 1), (m == r) & (r > 1)

    def total(values: Floats, where: Bools) -> Floats:
        return np.bincount(units[where], values[where], number).astype(np.float64)

    matrix = np.zeros((2, number, q, q))
    for i, j in combinations(range(r), 2):
        both = (ratings.codes[:, i] != NO_GRADE) & (ratings.codes[:, j] != NO_GRADE)
        cell = (units[both] * q + ratings.codes[both, i]) * q + ratings.codes[both, j]
        for at, per in enumerate((m[both] - 1, m[both] * (m[both] - 1))):
            matrix[at] += np.bincount(cell, weights[both] / per, number * q * q).reshape(number, q, q)
    matrix += matrix.swapaxes(2, 3)
    shares, full_shares = np.zeros((number, q)), np.zeros((number, q))
    for j in range(r):
        for into, chosen in ((shares, ratings.codes[:, j] != NO_GRADE), (full_shares, full)):
            cell = units[chosen] * q + ratings.codes[chosen, j]
            into += np.bincount(cell, weights[chosen] / m[chosen], number * q).reshape(number, q)
    relevant = np.append(ratings.scale >= rel, False)[ratings.codes].sum(axis=1)
    same = _same(ratings)
    sums = {
        "coincidences": matrix[0],
        "agreements": matrix[1],
        "several": total(weights, several),
        "shares": shares,
        "any": total(weights, m > 0),
        "full": total(weights, full),
        "full_shares": full_shares,
        "full_same": total(weights * same, full),
        "relevant_to_all": total(weights, full & (relevant == r)),
        "relevant_to_some": total(weights, full & (relevant > 0)),
    }
    return sums | ({"confusion": _confusion_counts(ratings, units, weights)} if r == 2 else {})


def _same(ratings: Ratings) -> Floats:
    """For each item the share of pairs of judgments that agree; 0 where there is no pair."""
    agreeing = np.zeros(len(ratings.codes))
    for i, j in combinations(range(ratings.assessors), 2):
        agreeing += (ratings.codes[:, i] == ratings.codes[:, j]) & (ratings.codes[:, i] != NO_GRADE)
    pairs = ratings.judged * (ratings.judged - 1) / 2
    share: Floats = agreeing / np.maximum(pairs, 1)
    return share


def _confusion_counts(ratings: Ratings, units: Ints, weights: Floats | None = None) -> Floats:
    q, number = ratings.grades, int(units.max(initial=-1)) + 1 or 1
    both = (ratings.codes != NO_GRADE).all(axis=1)
    cell = (units[both] * q + ratings.codes[both, 0]) * q + ratings.codes[both, 1]
    counts = np.bincount(cell, None if weights is None else weights[both], number * q * q)
    return counts.astype(np.float64).reshape(number, q, q)


def _coefficients(sums: Sums, ratings: Ratings) -> dict[str, Floats]:
    """Every coefficient for each row of the sums; NaN where it is undefined."""
    scale = ratings.scale
    found = {
        "percent": _ratio(np.trace(sums["agreements"], axis1=1, axis2=2), sums["several"]),
        "overlap": np.where(
            sums["full"] > 0, _ratio(sums["relevant_to_all"], sums["relevant_to_some"], if_none=1.0), np.nan
        ),
    }
    if "confusion" in sums:
        places = np.arange(len(scale), dtype=np.float64)
        for name, power in zip(TWO_ASSESSOR_COEFFICIENTS, (0, 1, 2), strict=True):
            found[name] = _cohen(sums["confusion"], _distances(places, power))
    found["fleiss_kappa"] = _fleiss(sums)
    found["alpha_nominal"] = _alpha(sums["coincidences"], _distances(scale, 0))
    found["alpha_ordinal"] = _alpha(sums["coincidences"], None)
    found["alpha_interval"] = _alpha(sums["coincidences"], _distances(scale, 2))
    for name, power in (("ac1", 0), ("ac2_linear", 1), ("ac2_quadratic", 2)):
        found[name] = _gwet(sums, _distances(scale, power))
    return found


def _distances(values: Floats, power: int) -> Floats:
    """How far apart grades are: 1 if different at all, or the difference, or its square."""
    apart = np.abs(values[:, None] - values[None, :])
    distances: Floats = (apart > 0).astype(np.float64) if power == 0 else apart**power
    return distances


def _ratio(part: Floats, whole: Floats, if_none: float = math.nan) -> Floats:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), if_none)


def _cohen(counts: Floats, distances: Floats) -> Floats:
    n = counts.sum(axis=(1, 2))
    rows, columns = counts.sum(axis=2), counts.sum(axis=1)
    observed = (counts * distances).sum(axis=(1, 2)) * n
    expected = np.einsum("bi,ij,bj->b", rows, distances, columns)
    # without expected disagreement, both gave the same single grade throughout
    return np.where(n > 0, 1 - _ratio(observed, expected, if_none=0.0), np.nan)


def _fleiss(sums: Sums) -> Floats:
    shares = _ratio(sums["full_shares"], sums["full"][:, None])
    expected = (shares**2).sum(axis=1)
    observed = _ratio(sums["full_same"], sums["full"])
    return np.where(sums["full"] > 0, 1 - _ratio(1 - observed, 1 - expected, if_none=0.0), np.nan)


def _alpha(coincidences: Floats, distances: Floats | None) -> Floats:
    """Krippendorff's α; without distances, with the ordinal metric, which depends on how often grades are given."""
    numbers = coincidences.sum(axis=2)
    n = numbers.sum(axis=1)
    if distances is None:
        middle = np.cumsum(numbers, axis=1) - numbers / 2
        apart = (middle[:, :, None] - middle[:, None, :]) ** 2
    else:
        apart = np.broadcast_to(distances, coincidences.shape)
    observed = (coincidences * apart).sum(axis=(1, 2)) * (n - 1)
    expected = np.einsum("bi,bij,bj->b", numbers, apart, numbers)
    return np.where(n > 0, 1 - _ratio(observed, expected, if_none=0.0), np.nan)


def _gwet(sums: Sums, distances: Floats) -> Floats:
    q = len(distances)
    if q < 2:
        return np.where(sums["several"] > 0, 1.0, np.nan)
    weights = 1 - distances / distances.max()
    shares = _ratio(sums["shares"], sums["any"][:, None])
    observed = _ratio((sums["agreements"] * weights).sum(axis=(1, 2)), sums["several"])
    expected = weights.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=1)
    return np.where(sums["several"] > 0, (observed - expected) / (1 - expected), np.nan)


def _intervals(
    ratings: Ratings, topics: Ints | None, rel: float, resamples: int, seed: int, level: float
) -> dict[str, tuple[float, float]]:
    """The ends of percentile intervals; none where only one item or topic could be drawn."""
    if not resamples:
        return {}
    drawn: dict[str, list[Floats]] = {}
    for sums in _resampled(ratings, topics, rel, resamples, seed):
        for name, values in _coefficients(sums, ratings).items():
            drawn.setdefault(name, []).append(values)
    ends = {}
    for name, parts in drawn.items():
        values = np.concatenate(parts)
        values = values[~np.isnan(values)]  # undefined on this resample
        if len(values):
            low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
            ends[name] = float(low), float(high)
    return ends


def _resampled(ratings: Ratings, topics: Ints | None, rel: float, resamples: int, seed: int) -> Iterator[Sums]:
    """The sums of resamples, some at a time; how many at a time changes none of them."""
    usable = ratings.judged > 1
    by_topic = topics is not None and len(np.unique(topics[usable])) > 1
    if by_topic:
        assert topics is not None
        # only topics with items to compare are drawn
        comparable = np.isin(topics, topics[usable])
        ratings, (_, units) = ratings.where(comparable), np.unique(topics[comparable], return_inverse=True)
        counts = np.ones(int(units.max()) + 1)
    elif np.count_nonzero(usable) > 1:
        # with more than two assessors, no coefficient depends on who gave which grade
        patterns = ratings.codes if ratings.assessors == 2 else np.sort(ratings.codes, axis=1)
        codes, times = np.unique(patterns, axis=0, return_counts=True)
        ratings, units = Ratings(codes, ratings.scale), np.arange(len(codes))
        counts = times.astype(np.float64)
    else:
        return
    number, total = len(counts), int(counts.sum())
    rng, cells = np.random.default_rng(seed), 2 * ratings.grades**2 + ratings.grades
    is_small = number * cells <= _CELLS
    sums = _sums(ratings, rel, units) if is_small else {}
    at_once = max(1, _CELLS // (number + cells)) if is_small else 1
    for start in range(0, resamples, at_once):
        draws = rng.multinomial(total, counts / total, size=min(at_once, resamples - start)).astype(np.float64)
        if is_small:
            yield {name: np.tensordot(draws, values, axes=1) for name, values in sums.items()}
        else:
            yield _sums(ratings, rel, weights=draws[0][units])


def _numbers(ratings: Ratings) -> dict[str, int]:
    """The number of items that each coefficient is computed from."""
    several = int(np.count_nonzero(ratings.judged > 1))
    full = int(np.count_nonzero((ratings.judged == ratings.assessors) & (ratings.assessors > 1)))
    names = [name for name in AGREEMENT_TITLES if name not in TWO_ASSESSOR_COEFFICIENTS or ratings.assessors == 2]
    return {
        name: full if name in ALL_ASSESSOR_COEFFICIENTS or name in TWO_ASSESSOR_COEFFICIENTS else several
        for name in names
    }


def _notes(ratings: Ratings, rel: float) -> dict[str, str]:
    """Notes on coefficients whose formula is undefined or degenerate here."""
    notes: dict[str, str] = {}
    corrected = [name for name in AGREEMENT_TITLES if name not in ("percent", "overlap")]
    several = ratings.codes[ratings.judged > 1]
    full = ratings.codes[(ratings.judged == ratings.assessors) & (ratings.assessors > 1)]
    if not len(several):
        return dict.fromkeys(AGREEMENT_TITLES, "no pair was judged by two assessors.")
    if not len(full):
        notes |= dict.fromkeys(
            (*ALL_ASSESSOR_COEFFICIENTS, *TWO_ASSESSOR_COEFFICIENTS), "no pair was judged by all assessors."
        )
    grades = np.unique(several[several != NO_GRADE])
    if len(grades) == 1:
        grade = f"{ratings.scale[grades[0]]:g}"
        only = f"every judgment is {grade}: full agreement, counted as 1, although chance alone gives it too."
        notes |= dict.fromkeys(corrected, only)
    elif len(full):
        if len(np.unique(full)) == 1:
            only = f"every pair that all judged has grade {ratings.scale[full[0, 0]]:g}: counted as 1."
            notes |= dict.fromkeys(("fleiss_kappa", *TWO_ASSESSOR_COEFFICIENTS), only)
        elif ratings.assessors == 2 and any(len(np.unique(column)) == 1 for column in full.T):
            notes |= dict.fromkeys(
                TWO_ASSESSOR_COEFFICIENTS, "one assessor gives only one grade: κ is then 0, whatever the agreement."
            )
    if len(full) and not (np.append(ratings.scale >= rel, False)[full]).any():
        notes["overlap"] = f"nobody gave a grade of {rel:g} or more: counted as full overlap."
    return notes
