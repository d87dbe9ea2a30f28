"""How far the unjudged documents could move a value: the lowest and the highest that complete judgments could give.

A retrieved document without a judgment, or with a negative grade, could have any grade from 0 up that occurs in the
qrels. Each such filling-in is a candidate; the candidates that can be extreme are made, and measured all at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, combinations_with_replacement, product
from typing import Any, TypeGuard, cast

import numpy as np

from cranfield.collection import Floats, Ints, Qrels
from cranfield.errors import CranfieldError
from cranfield.judged import Bools, Extras, JudgedRun, Sources, Ties
from cranfield.measures import CG, NCG, Measure, nDCG
from cranfield.measures.graded import Gained

MOST_CANDIDATES = 20_000  # for one query
MOST_DOCUMENTS = 20_000_000  # in all candidates of a query
AT_ONCE = 1_000_000  # documents in memory at a time
_BY_GRADE = ("best", "worst", "expected")  # tie rules under which the ranking depends on the grades


@dataclass(frozen=True, eq=False)
class Bounds:
    """The lowest and the highest value of each query; where `outer`, they enclose these but may not be reached."""

    low: Floats
    high: Floats
    outer: Bools


def possible_grades(qrels: Qrels) -> Floats:
    """The grades that an unjudged document could have: 0, and those from 0 up that occur.

    >>> possible_grades(Qrels.from_rows(["q"] * 3, ["a", "b", "c"], [-1, 2, 1]))
    array([0., 1., 2.])
    """
    return np.unique(np.append(qrels.grades[qrels.grades >= 0], 0.0))


def find_bounds(measure: Measure, values: Floats, dense: JudgedRun, grades: Floats) -> Bounds:
    """The bounds of a measure for each query of a dense join, whose values as judged are known."""
    found = Bounds(values.copy(), values.copy(), np.zeros(dense.n, dtype=bool))
    if not measure.judgments_matter and not measure.judged_only:
        return found
    levels = _levels(measure, dense, grades)
    for i in range(dense.n):
        ranking = _Ranking.of(dense, i)
        if len(ranking.holes):
            found.low[i], found.high[i], found.outer[i] = _of_query(measure, ranking, levels)
    return found


class _NeedsMore(CranfieldError):
    """A measure looks at more than ranks and grades."""


@dataclass(frozen=True)
class _NoSources:
    """Stands for the sources of candidates, which have no qrels and no run."""

    extras: Extras

    def __getattr__(self, name: str) -> Any:
        raise _NeedsMore(name)


@dataclass(frozen=True, eq=False)
class _Ranking:
    """The ranking of one query, with holes where documents have no judgment."""

    dense: JudgedRun
    at: int
    grade: Floats
    doc: Ints
    tie_first: Ints
    tie_size: Ints
    holes: Ints  # where in the ranking
    rest: Floats  # the grades of the judged documents that stay as they are, retrieved or not

    @classmethod
    def of(cls, dense: JudgedRun, i: int) -> _Ranking:
        rows = slice(int(dense.starts[i]), int(dense.starts[i + 1]))
        grade, doc = dense.grade[rows], dense.doc[rows].copy()
        ideal = dense.ideal[int(dense.ideal_starts[i]) : int(dense.ideal_starts[i + 1])]
        doc[doc < 0] = len(ideal) + np.arange(np.count_nonzero(doc < 0))
        replaced = Counter(grade[grade < 0].tolist())
        rest = np.array(sorted((Counter(ideal.tolist()) - replaced).elements(), reverse=True), dtype=np.float64)
        holes = np.flatnonzero(~(grade >= 0))
        return cls(dense, i, grade, doc, dense.tie_first[rows], dense.tie_size[rows], holes, rest)

    @classmethod
    def unjudged(cls, dense: JudgedRun, length: int) -> _Ranking:
        """A ranking of holes only."""
        places = np.arange(length)
        return cls(dense, 0, np.full(length, np.nan), places, places + 1, np.ones_like(places), places, np.empty(0))

    @property
    def ties(self) -> Ties:
        return self.dense.joining.ties

    @property
    def size(self) -> int:
        """How many documents a candidate has."""
        return len(self.grade) + len(self.rest) + len(self.holes)

    def filled(self, candidates: Floats, ties: Ties) -> JudgedRun:
        """Candidates, one row of grades for the holes each, as the queries of a join."""
        n, length = len(candidates), len(self.grade)
        grade = np.tile(self.grade, (n, 1))
        grade[:, self.holes] = candidates
        doc = np.tile(self.doc, (n, 1))
        if ties in ("best", "worst"):
            first = np.broadcast_to(self.tie_first, grade.shape)
            order = np.lexsort((-grade if ties == "best" else grade, first))
            grade, doc = np.take_along_axis(grade, order, 1), np.take_along_axis(doc, order, 1)
        ideal = -np.sort(-np.hstack([np.tile(self.rest, (n, 1)), candidates]), axis=1)
        return replace(
            self.dense,
            queries=(self.dense.queries[self.at],) * n,
            starts=np.arange(n + 1) * length,
            rank=np.tile(np.arange(1, length + 1), n),
            grade=grade.ravel(),
            doc=doc.ravel(),
            tie_first=np.tile(self.tie_first, n),
            tie_size=np.tile(self.tie_size, n),
            retrieved=np.full(n, length),
            missing=np.zeros(n, dtype=bool),
            ideal=ideal.ravel(),
            ideal_starts=np.arange(n + 1) * ideal.shape[1],
            sources=cast(Sources, _NoSources(self.dense.sources.extras)),
            qrels_at=np.full(n, self.dense.qrels_at[self.at]),
            tied_docs=np.zeros(n, dtype=np.int64),
            float32_tied_docs=np.zeros(n, dtype=np.int64),
        )


def _of_query(measure: Measure, ranking: _Ranking, levels: Floats) -> tuple[float, float, bool]:
    """Lowest, highest, and whether these are only outer bounds."""
    try:
        candidates = _candidates(measure, ranking, levels)
        if candidates is not None:
            values = _measured(measure, ranking, candidates, ranking.ties)
            if values is not None:
                return float(values.min()), float(values.max()), False
            if _gains_by_swaps(measure, levels):
                return _over_ties(measure, ranking, candidates)
    except _NeedsMore:
        pass
    # a gain map may go below the range that the measure has otherwise
    below = isinstance(measure, Gained) and bool((measure.gains(levels) < 0).any())
    unbounded = below or "range" in measure.lacks
    return -math.inf if below else measure.low, math.inf if unbounded else measure.high, True


def _over_ties(measure: Measure, ranking: _Ranking, candidates: Floats) -> tuple[float, float, bool]:
    """Where the mean over the orders of ties has no closed form: it is between the worst and the best order."""
    sides = [_measured(measure, ranking, candidates, ties) for ties in ("worst", "best")]
    both = np.concatenate([side for side in sides if side is not None])
    return float(both.min()), float(both.max()), True


def _measured(measure: Measure, ranking: _Ranking, candidates: Floats, ties: Ties) -> Floats | None:
    step = max(1, AT_ONCE // ranking.size)
    parts = []
    for start in range(0, len(candidates), step):
        judged = ranking.filled(candidates[start : start + step], ties)
        values = measure.expected_values(judged) if ties == "expected" else measure.values(judged)
        if values is None:
            return None
        parts.append(values)
    return np.concatenate(parts)


def _candidates(measure: Measure, ranking: _Ranking, levels: Floats) -> Floats | None:
    """Ways to fill the holes of which one gives the lowest and one the highest value; None if they are too many."""
    if (chosen := _of_cumulated_gain(measure, ranking, levels)) is not None:
        return chosen
    if not _gains_by_swaps(measure, levels):
        return _all_fillings(ranking, levels)
    alike = np.tile(levels[[0, -1], None], (1, len(ranking.holes)))
    if _is_weighted_sum(measure, ranking.filled(alike, "trec")):
        return alike
    return _ordered_fillings(measure, ranking, levels)


def _gains_by_swaps(measure: Measure, levels: Floats) -> bool:
    """Whether a document of a higher grade that moves up never hurts."""
    rising = not isinstance(measure, Gained) or bool((np.diff(measure.gains(levels)) >= 0).all())
    return rising and "swap" not in measure.lacks


def _is_weighted_sum(measure: Measure, extremes: JudgedRun) -> bool:
    """Whether the value is a sum of gains weighted by rank, so that a better document anywhere never hurts."""
    if measure.rank_weights(1) is None:
        return False
    lowest, highest = measure.normaliser(measure.shown_list(extremes)).tolist()
    return bool(lowest == highest)


def _all_fillings(ranking: _Ranking, grades: Floats) -> Floats | None:
    holes = len(ranking.holes)
    if holes * math.log(len(grades)) > math.log(MOST_CANDIDATES):
        return None
    return np.array(list(product(grades.tolist(), repeat=holes)))


def _ordered_fillings(measure: Measure, ranking: _Ranking, levels: Floats) -> Floats | None:
    """Every multiset of grades, best first and worst first.

    Of all orders of the same grades these are the extreme ones, as a better document that moves up never hurts.
    Below the cutoff a document only counts as one that was not shown, so that the better it is, the worse.
    """
    cutoff = getattr(measure, "cutoff", None)
    # a document tied with one above the cutoff may get there
    shown = ranking.tie_first[ranking.holes] <= (math.inf if cutoff is None else cutoff)
    number = int(np.count_nonzero(shown))
    count = math.comb(number + len(levels) - 1, number)
    if count > MOST_CANDIDATES or 4 * count * ranking.size > MOST_DOCUMENTS:
        return None
    picked = chain.from_iterable(combinations_with_replacement(levels.tolist(), number))
    rising = np.fromiter(picked, dtype=np.float64, count=count * number).reshape(count, number)
    below = (levels[0], levels[-1]) if not shown.all() else (0.0,)
    parts = []
    for order, unseen in product((rising, rising[:, ::-1]), below):
        part = np.full((count, len(shown)), unseen)
        part[:, shown] = order
        parts.append(part)
    return np.concatenate(parts)


def _levels(measure: Measure, dense: JudgedRun, grades: Floats) -> Floats:
    """The grades that make a difference, worst first: two for a measure that knows relevant and not relevant."""
    relevant = grades >= measure.lowest_relevant
    levels = np.array([part[0] for part in (grades[~relevant], grades[relevant]) if len(part)])
    if not measure.is_binary or len(levels) == len(grades):
        return grades
    like = levels[(relevant & (not relevant.all())).astype(int)]
    # a measure may take a lowest relevant grade and yet look at grades: see whether any ranking of them shows it
    ranking = _Ranking.unjudged(dense, min(2 * len(grades), 40, int(dense.retrieved.max(initial=1))))
    places = np.arange(len(ranking.holes))
    turns = np.vstack([np.roll(np.arange(len(grades)), -i)[places % len(grades)] for i in range(len(grades))])
    alike = np.tile(np.arange(len(grades))[:, None], (1, len(places)))
    rankings = np.vstack([turns, alike])
    try:
        own, merged = (measure.values(ranking.filled(values[rankings], "trec")) for values in (grades, like))
    except _NeedsMore:
        return grades
    return levels if np.array_equal(own, merged) else grades


def _of_cumulated_gain(measure: Measure, ranking: _Ranking, grades: Floats) -> Floats | None:
    """Extreme candidates of (n)DCG and (N)CG, whatever the number of holes; None if it is another measure."""
    if not _is_cumulated_gain(measure) or ranking.ties in _BY_GRADE:
        return None
    gains, first = np.unique(measure.gains(grades), return_index=True)
    fixed = measure.gains(ranking.rest)
    if gains[0] < 0 or not np.isin(fixed[fixed > 0], gains).all():
        return None
    levels = grades[first]
    holes = len(ranking.holes)
    alike = np.tile(levels[[0, -1], None], (1, holes))
    if len(gains) == 1 or type(measure).normaliser is Measure.normaliser:
        return alike
    ratio = _GainRatio(measure, ranking, gains, fixed)
    best = levels[ratio.extreme(1, ratio.weight)]
    worst = levels[ratio.extreme(-1, ratio.weight[::-1])][::-1]
    return np.vstack([alike, best, worst])


def _is_cumulated_gain(measure: Measure) -> TypeGuard[CG]:
    if not isinstance(measure, CG):
        return False
    kind = type(measure)
    normalisers: tuple[Callable[..., Any], ...] = (Measure.normaliser, NCG.normaliser, nDCG.normaliser)
    return (
        kind.terms is CG.terms
        and (kind.ideal, kind.ideal_terms, kind.ideal_gains) == (CG.ideal, CG.ideal_terms, CG.ideal_gains)
        and kind.per_query is Measure.per_query
        and kind.normaliser in normalisers
    )


class _GainRatio:
    """DCG over ideal DCG as a function of how many holes have at least each gain.

    With the gains in falling order over the holes, and m(j) holes with at least the j-th gain, both are sums over j of
    the step from one gain to the next times a function of m(j) alone. Such a ratio is made extreme by Dinkelbach's
    method (Management Science 13, 1967), each step of which is a chain m(1) ≥ m(2) ≥ … found by dynamic programming.
    """

    def __init__(self, measure: CG, ranking: _Ranking, gains: Floats, fixed: Floats) -> None:
        def weight(rank: Ints) -> Floats:
            inside = rank <= (math.inf if measure.cutoff is None else measure.cutoff)
            return np.where(inside, 1 / measure.divisor(rank), 0.0)

        rank = np.arange(1, len(ranking.grade) + 1)
        judged = ranking.grade >= 0
        own = measure.gains(ranking.grade[judged]) / gains[-1] * weight(rank[judged])
        fixed, gains = fixed / gains[-1], gains / gains[-1]  # gains of at most 1, that small steps are small
        self.weight = weight(rank[ranking.holes])
        self.step = np.diff(gains)
        self.fixed = float(own.sum() + gains[0] * self.weight.sum())
        holes = len(self.weight)
        ideal = np.concatenate(([0.0], np.cumsum(weight(np.arange(1, len(fixed) + holes + 1)))))
        at_least = np.array([np.count_nonzero(fixed >= gain) for gain in gains])
        self.ideal = ideal[at_least[1:, None] + np.arange(holes + 1)]  # one row a gain, one column a value of m
        self.fixed_ideal = float(gains[0] * ideal[at_least[0] + holes])

    def extreme(self, sign: int, weight: Floats) -> Ints:
        """For each hole, in the order of the weights, the number of its gain: highest ratio, or lowest for −1."""
        reached = np.concatenate(([0.0], np.cumsum(weight)))
        rows = np.arange(len(self.step))
        counts = np.full(len(rows), len(weight))
        for _ in range(100):
            total = self.fixed + float((self.step * reached[counts]).sum())
            ratio = total / (self.fixed_ideal + float((self.step * self.ideal[rows, counts]).sum()))
            worth = sign * self.step[:, None] * (reached - ratio * self.ideal)
            better = _best_chain(worth)
            if worth[rows, better].sum() <= worth[rows, counts].sum() + 1e-12:
                break
            counts = better
        return np.asarray((counts[:, None] > np.arange(len(weight))).sum(axis=0))


def _best_chain(worth: Floats) -> Ints:
    """m(1) ≥ m(2) ≥ … that make the sum of worth[j, m(j)] highest."""
    choices: list[Ints] = []
    later = np.zeros(worth.shape[1])
    for row in worth[::-1]:
        total = row + later
        later = np.maximum.accumulate(total)
        # the last place at which the running maximum was reached
        choices.append(np.maximum.accumulate(np.where(total == later, np.arange(len(total)), 0)))
    chain_: list[int] = []
    most = worth.shape[1] - 1
    for places in reversed(choices):
        most = int(places[most])
        chain_.append(most)
    return np.array(chain_)
