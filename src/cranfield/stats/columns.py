"""One measure on one collection: the means of the systems, and the comparisons between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from cranfield.averages import Interval, interval
from cranfield.collection import Bools, Floats
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.stats.anova import rounding
from cranfield.stats.effects import Effect, effect
from cranfield.stats.letters import letters
from cranfield.stats.multiple import RESAMPLES, AllPairs, adjust, max_t, randomised_tukey, two_way_tukey
from cranfield.stats.paired import METHODS, TESTS, PairedTest, paired_test
from cranfield.stats.score_table import Scored, ScoreTable
from cranfield.wording import listed

Family = Literal["column", "table"]
Place = tuple[int, int]  # a system and the one it is compared with, by their numbers

TUKEY: Mapping[str, str] = {"tukey": "randomised Tukey HSD", "tukey-two-way": "two-way Tukey HSD"}
TEST_NAMES: Mapping[str, str] = {**METHODS, **TUKEY}
CORRECTION_NAMES: Mapping[str, str] = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini–Hochberg",
    "hochberg": "Hochberg",
    "hommel": "Hommel",
    "sidak": "Šidák",
    "holm-sidak": "Holm–Šidák",
    "by": "Benjamini–Yekutieli",
    "maxt": "MaxT step-down",
    "none": "uncorrected",
}
# the test that is shown beside another, to see whether they agree: t and permutation hold their level on all measures
_BESIDE = {"t": "permutation", "tukey": "tukey-two-way", "tukey-two-way": "tukey"}


@dataclass(frozen=True)
class Design:
    """How systems are compared: the test, its correction, and what they need to know."""

    test: str
    correction: str
    alpha: float = 0.05
    resamples: int = RESAMPLES
    seed: int = 1
    tolerance: float = 0.0  # up to which a difference is a tie
    family: Family = "column"  # the comparisons that are corrected together

    def __post_init__(self) -> None:
        if self.test not in TEST_NAMES:
            raise CranfieldError(f"test {self.test!r} is unknown: expected one of {', '.join(TEST_NAMES)}.")
        if self.correction not in CORRECTION_NAMES:
            known = ", ".join(CORRECTION_NAMES)
            raise CranfieldError(f"correction {self.correction!r} is unknown: expected one of {known}.")
        if not 0 < self.alpha < 1:
            raise CranfieldError(f"alpha={self.alpha:g} is out of range: expected a number between 0 and 1.")
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise CranfieldError(f"tolerance={self.tolerance:g} is out of range: expected a number of at least 0.")
        if self.family not in ("column", "table"):
            raise CranfieldError(f"family {self.family!r} is unknown: expected column or table.")
        if self.is_tukey and self.correction != "none":
            raise CranfieldError(
                f"{TEST_NAMES[self.test]} is corrected by itself for all pairs of systems: leave out the correction."
            )
        if self.family == "table" and (self.is_tukey or self.correction == "maxt"):
            what = TEST_NAMES[self.test] if self.is_tukey else CORRECTION_NAMES[self.correction]
            raise CranfieldError(f"{what} corrects within one measure: for a family of all measures, choose holm.")

    @property
    def is_tukey(self) -> bool:
        return self.test in TUKEY

    @property
    def level(self) -> float:
        """The level of intervals, so that they and the tests agree."""
        return 1 - self.alpha

    @property
    def beside(self) -> str:
        """The test that is shown beside this one."""
        return _BESIDE.get(self.test, "t")

    @property
    def method(self) -> str:
        return TEST_NAMES[self.test]


@dataclass(frozen=True)
class SystemScore:
    """A system on one measure: its mean over the topics compared, with interval, and how much of it was judged."""

    name: str
    mean: float
    low: float | None  # None where one topic has no interval
    high: float | None
    n: int
    judged: float | None  # the share with a judgment among the first ten documents; None without runs
    is_best: bool
    letters: str  # systems that share one are not significantly different; empty where not all pairs are compared


@dataclass(frozen=True)
class Outcome:
    """What the tests say of a pair, before effect sizes."""

    p: float
    statistic: float | None
    interval: Interval | None
    note: str
    beside: float  # p by the test shown beside
    adjusted: float = math.nan
    beside_adjusted: float = math.nan
    residual_effect: float | None = None  # the difference in residual deviations, in Tukey's tests

    def turned(self) -> Outcome:
        """The same with the systems exchanged, of Tukey's tests."""
        found = self.interval
        return replace(
            self,
            interval=None if found is None else Interval(-found.high, -found.low, found.level),
            residual_effect=None if self.residual_effect is None else -self.residual_effect,
        )


@dataclass(frozen=True)
class Pair:
    """A system against another on one measure. Differences are system − reference; wins are topics it is better on."""

    collection: str
    measure: str
    system: str
    reference: str
    n: int
    test: str
    statistic: float | None
    p: float
    correction: str
    family: int  # how many comparisons are corrected together
    p_adjusted: float
    beside: str
    p_beside: float
    p_beside_adjusted: float
    alpha: float
    difference: float
    low: float | None
    high: float | None
    effect: Effect
    residual_effect: float | None  # in Tukey's tests, the difference in residual deviations
    direction: int  # 1 where more is better, -1 where less is
    note: str

    @property
    def is_significant(self) -> bool:
        return self.p_adjusted <= self.alpha

    @property
    def gain(self) -> float:
        """The difference where more is better, its opposite where less is."""
        return self.direction * self.difference + 0.0

    @property
    def verdict(self) -> Literal["better", "worse", "undecided"]:
        if not self.is_significant or not self.difference:
            return "undecided"
        return "better" if self.gain > 0 else "worse"

    @property
    def tests_disagree(self) -> bool:
        """Whether the test shown beside decides otherwise."""
        return self.is_significant != (self.p_beside_adjusted <= self.alpha)

    @property
    def is_identical(self) -> bool:
        """Whether the systems have the same score on every topic."""
        found = self.effect
        return found.difference == 0 and not found.sd and (found.n > 1 or found.mean_a == found.mean_b)


@dataclass(frozen=True, eq=False)
class Column:
    """One measure on one collection, compared."""

    collection: str
    scored: Scored
    names: tuple[str, ...]
    queries: tuple[str, ...]  # those that all systems have a score for
    dropped: tuple[str, ...]  # those that some lack
    scores: Floats  # topics × systems
    judged: tuple[float | None, ...]
    design: Design
    tested: Mapping[Place, Outcome]
    family: int = 0
    note: str = ""  # what the method says of itself

    @property
    def label(self) -> str:
        return self.scored.label

    @property
    def title(self) -> str:
        """The measure, after the collection if there are several."""
        return f"{self.collection} {self.label}" if self.collection else self.label

    @property
    def n(self) -> int:
        return len(self.queries)

    @cached_property
    def is_share(self) -> bool:
        """Whether values are at most 1, so that they can be told in percent."""
        measure = self.scored.measure
        if measure is None:
            return bool(np.abs(self.scores).max() <= 1)
        return measure.low >= -1 and measure.high <= 1

    @property
    def largest_difference(self) -> float:
        """How far apart two means can be; infinite if that is not known."""
        measure = self.scored.measure
        return math.inf if measure is None else measure.high - measure.low

    @cached_property
    def means(self) -> tuple[float, ...]:
        return tuple(math.fsum(column) / self.n for column in self.scores.T.tolist())

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The systems, best first."""
        return tuple(sorted(range(len(self.names)), key=lambda i: -self.scored.direction * self.means[i]))

    @cached_property
    def best(self) -> tuple[int, ...]:
        """The best system, or those that share the best mean; none of a measure that says nothing about quality."""
        if len(self.names) < 2 or not self.scored.is_quality:
            return ()
        top = self.means[self.order[0]]
        return tuple(i for i in self.order if abs(self.means[i] - top) <= rounding(self.scores))

    @cached_property
    def systems(self) -> tuple[SystemScore, ...]:
        return tuple(self._system(i) for i in range(len(self.names)))

    def _system(self, i: int) -> SystemScore:
        found = interval(self.scores[:, i].tolist(), level=self.design.level)
        return SystemScore(
            name=self.names[i],
            mean=self.means[i],
            low=None if found is None else found.low,
            high=None if found is None else found.high,
            n=self.n,
            judged=self.judged[i],
            is_best=i in self.best,
            letters=self.letters[i] if self.letters else "",
        )

    @cached_property
    def is_all_pairs(self) -> bool:
        """Whether every system was compared with every other."""
        m = len(self.names)
        return m > 1 and len({frozenset(place) for place in self.tested}) == m * (m - 1) // 2

    @cached_property
    def significant(self) -> Bools:
        """Which pairs differ, systems × systems."""
        differs = np.zeros((len(self.names), len(self.names)), dtype=bool)
        for (i, j), tested in self.tested.items():
            differs[i, j] = differs[j, i] = tested.adjusted <= self.design.alpha
        return differs

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """Letters of the systems where all pairs were compared."""
        return tuple(letters(self.order, self.significant)) if self.is_all_pairs else ()

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All comparisons made."""
        return tuple(self._pair(i, j) for i, j in self.tested)

    def has(self, system: str, reference: str | None = None) -> bool:
        """Whether a system is there, or was compared with another."""
        if reference is None:
            return system in self.names
        if system not in self.names or reference not in self.names:
            return False
        i, j = self.names.index(system), self.names.index(reference)
        return (i, j) in self.tested or (j, i) in self.tested

    def pair(self, system: str, reference: str) -> Pair:
        """A system against another."""
        if not self.has(system, reference):
            raise CranfieldError(f"{system!r} and {reference!r} were not compared on {self.title}.")
        return self._pair(self.names.index(system), self.names.index(reference))

    def is_first(self, place: Place) -> bool:
        """Whether a comparison is the first of the two sides that it may be shown from."""
        i, j = place
        return (j, i) not in self.tested or i < j

    def verdict(self, system: str, reference: str) -> str:
        """Whether a system is better or worse than another, or that is undecided."""
        i, j = self.names.index(system), self.names.index(reference)
        gain = self.scored.direction * (self.means[i] - self.means[j])
        if not self.significant[i, j] or abs(gain) <= rounding(self.scores):
            return "undecided"
        return "better" if gain > 0 else "worse"

    def _pair(self, i: int, j: int) -> Pair:
        if (i, j) not in self._known:
            self._known[i, j] = self._made(i, j)
        return self._known[i, j]

    @cached_property
    def _known(self) -> dict[Place, Pair]:
        return {}

    def _made(self, i: int, j: int) -> Pair:
        design = self.design
        tested = self.tested[i, j] if (i, j) in self.tested else self._turned(i, j)
        found = effect(self.scores[:, i], self.scores[:, j], tolerance=design.tolerance, level=design.level)
        # a test of ranks or signs has no interval of the mean; Student's then stands for it
        ends = (tested.interval.low, tested.interval.high) if tested.interval else (found.low, found.high)
        return Pair(
            collection=self.collection,
            measure=self.label,
            system=self.names[i],
            reference=self.names[j],
            n=self.n,
            test=design.method,
            statistic=tested.statistic,
            p=tested.p,
            correction=design.correction,
            family=self.family,
            p_adjusted=tested.adjusted,
            beside=TEST_NAMES[design.beside],
            p_beside=tested.beside,
            p_beside_adjusted=tested.beside_adjusted,
            alpha=design.alpha,
            difference=found.difference,
            low=ends[0],
            high=ends[1],
            effect=_oriented(found, self.scored.direction),
            residual_effect=tested.residual_effect,
            direction=self.scored.direction,
            note=tested.note,
        )

    def _turned(self, i: int, j: int) -> Outcome:
        """What the tests say of a pair that was compared the other way round."""
        known = self.tested[j, i]
        if self.design.is_tukey:
            return known.turned()
        again = _of_pair(self.scores, (i, j), self.design)
        return replace(again, adjusted=known.adjusted, beside_adjusted=known.beside_adjusted)


def compared(table: ScoreTable, at: int, collection: str, references: Sequence[str], design: Design) -> Column:
    """A measure of a table, its systems compared with the references, or all with each other if there are none."""
    scored, values = table.measures[at], table.values[:, at]
    present = [i for i in range(len(table.runs)) if np.isfinite(values[i]).any()]
    common = np.isfinite(values[present]).all(axis=0) if present else np.zeros(len(table.queries), dtype=bool)
    if not common.any():
        raise EvaluationError(_nothing_shared(table, values, scored, collection))
    names = tuple(table.runs[i] for i in present)
    scores = values[present][:, common].T
    lost = np.isfinite(values).any(axis=0) & ~common
    tested, note = _tested(scores, _places(names, references), design)
    return Column(
        collection=collection,
        scored=scored,
        names=names,
        queries=tuple(table.queries[i] for i in np.flatnonzero(common).tolist()),
        dropped=tuple(table.queries[i] for i in np.flatnonzero(lost).tolist()),
        scores=scores,
        judged=tuple(table.judged_share(name) for name in names),
        design=design,
        tested=tested,
        note=note,
    )


def corrected(columns: Sequence[Column]) -> list[Column]:
    """The same with p-values corrected, each column by itself or all together."""
    if columns and columns[0].design.family == "table":
        return _corrected_together(columns)
    return [_corrected_together([column])[0] for column in columns]


def _corrected_together(columns: Sequence[Column]) -> list[Column]:
    design = columns[0].design
    # a comparison that is shown from both sides is one comparison
    places = [(k, place) for k, column in enumerate(columns) for place in column.tested if column.is_first(place)]
    own = _adjusted(np.array([columns[k].tested[place].p for k, place in places]), columns, places)
    beside = _plainly_adjusted(np.array([columns[k].tested[place].beside for k, place in places]), design)
    found: list[dict[Place, Outcome]] = [{} for _ in columns]
    for (k, place), p, p_beside in zip(places, own.tolist(), beside.tolist(), strict=True):
        for side in (place, place[::-1]):
            if side in columns[k].tested:
                found[k][side] = replace(columns[k].tested[side], adjusted=p, beside_adjusted=p_beside)
    changed = [{place: tested[place] for place in c.tested} for c, tested in zip(columns, found, strict=True)]
    if design.is_tukey:
        return [
            replace(c, tested=own, family=math.comb(len(c.names), 2)) for c, own in zip(columns, changed, strict=True)
        ]
    return [replace(c, tested=own, family=len(places)) for c, own in zip(columns, changed, strict=True)]


def _plainly_adjusted(p: Floats, design: Design) -> Floats:
    """P-values of the test shown beside: MaxT has p-values of its own only, for which Holm's then stand in."""
    return adjust(p, "holm" if design.correction == "maxt" else design.correction)


def _adjusted(p: Floats, columns: Sequence[Column], places: Sequence[tuple[int, Place]]) -> Floats:
    design = columns[0].design
    if design.correction != "maxt":
        return adjust(p, design.correction)
    (column,) = columns
    adjusted: dict[Place, float] = {}
    for reference in {j for _, (_, j) in places}:
        found = max_t(column.scores, reference, design.resamples, design.seed).tolist()
        others = [i for i in range(len(column.names)) if i != reference]
        adjusted |= {(i, reference): value for i, value in zip(others, found, strict=True)}
    return np.array([adjusted[place] for _, place in places])


def _places(names: Sequence[str], references: Sequence[str]) -> list[Place]:
    """The pairs to compare: with each reference, or all."""
    m = len(names)
    if not references:
        return [(i, j) for i in range(m) for j in range(i + 1, m)]
    at = [names.index(reference) for reference in references if reference in names]
    return [(i, j) for j in at for i in range(m) if i != j]


def _tested(scores: Floats, places: Sequence[Place], design: Design) -> tuple[dict[Place, Outcome], str]:
    """What the tests say of each pair, and what the method says of itself."""
    if not places:
        return {}, ""
    if design.is_tukey:
        own, beside = _tukey(design.test, scores, design), _tukey(design.beside, scores, design)
        return {place: _of_all_pairs(own, beside, place) for place in places}, own.note
    found = {place: _of_pair(scores, place, design) for place in places}
    notes = {tested.note for tested in found.values()}
    return found, notes.pop() if len(notes) == 1 else ""


def _tukey(test: str, scores: Floats, design: Design) -> AllPairs:
    if test == "tukey":
        return randomised_tukey(scores, design.resamples, design.seed, design.level)
    return two_way_tukey(scores, design.level)


def _of_all_pairs(own: AllPairs, beside: AllPairs, place: Place) -> Outcome:
    there = own.low is not None and own.high is not None
    return Outcome(
        p=float(own.pvalues[place]),
        statistic=None,
        interval=Interval(float(own.low[place]), float(own.high[place]), own.level)  # type: ignore[index]
        if there
        else None,
        note=own.note,
        beside=float(beside.pvalues[place]),
        residual_effect=None if own.effect is None else float(own.effect[place]),
    )


def _of_pair(scores: Floats, place: Place, design: Design) -> Outcome:
    a, b = scores[:, place[0]], scores[:, place[1]]
    own, beside = (_test(name, a, b, design) for name in (design.test, design.beside))
    there = own.low is not None and own.high is not None
    return Outcome(
        p=own.pvalue,
        statistic=own.statistic,
        interval=Interval(own.low, own.high, own.level) if there else None,  # type: ignore[arg-type]
        note=own.note,
        beside=beside.pvalue,
    )


def _test(name: str, a: Floats, b: Floats, design: Design) -> PairedTest:
    assert name in TESTS
    return paired_test(name, a, b, level=design.level, resamples=design.resamples, seed=design.seed)


def _oriented(found: Effect, direction: int) -> Effect:
    """An effect whose wins are topics on which the system is better, also where less is better."""
    if direction > 0:
        return found
    return replace(found, wins=found.losses, losses=found.wins, superiority=1 - found.superiority)


def _nothing_shared(table: ScoreTable, values: Floats, scored: Scored, collection: str) -> str:
    where = f" of {collection}" if collection else ""
    lacking = [run for run, own in zip(table.runs, values, strict=True) if not np.isfinite(own).any()]
    if len(lacking) == len(table.runs):
        return f"no system{where} has a score for {scored.label}."
    return f"no topic{where} has {scored.label} for all of {listed(table.runs)}: there is nothing to compare them on."
