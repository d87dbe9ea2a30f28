"""One measure on one collection: the means of the systems, and the comparisons between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from cranfield.base import Record, join_names, pluralize, replace
from cranfield.data import Bools, Floats
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation import Interval, interval
from cranfield.stats.anova import rounding
from cranfield.stats.compact_letters import assign_letters
from cranfield.stats.effects import Effect, effect
from cranfield.stats.multiple import (
    CORRECTIONS,
    RESAMPLES,
    AllPairs,
    adjust,
    max_t,
    randomised_tukey,
    two_way_tukey,
)
from cranfield.stats.paired import IDENTICAL, PAIRED_TESTS, PairedTest, paired_test, sign_test
from cranfield.stats.paired_scores import PairedScores, pair_scores
from cranfield.stats.power import TARGET_POWER, smallest_difference, topics_needed
from cranfield.stats.score_table import ScoredMeasure, ScoreTable

Family = Literal["column", "table"]
Place = tuple[int, int]  # a system and the one it is compared with, by their numbers

TUKEY: Mapping[str, str] = {"tukey": "randomised Tukey HSD", "tukey-two-way": "two-way Tukey HSD"}
TESTS: Mapping[str, str] = {**{name: test.title for name, test in PAIRED_TESTS.items()}, **TUKEY}
MAX_T = "MaxT step-down on t (sign flips)"  # corrects and tests at once, by the largest |t| when signs are flipped
RANK_TESTS = ("wilcoxon", "sign")  # tests that have no interval of the mean
# the second test, shown to see whether both agree: t and permutation keep their level on all measures
_SECOND_TESTS = {"t": "permutation", "tukey": "tukey-two-way", "tukey-two-way": "tukey"}


class Design(Record):
    """How systems are compared: the test, its correction, and what they need to know."""

    test: str
    correction: str
    alpha: float = 0.05
    resamples: int = RESAMPLES
    seed: int = 1
    tolerance: float = 0.0  # up to which a difference is a tie
    family: Family = "column"  # the comparisons that are corrected together

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise CranfieldError(f"unknown test {self.test!r}: expected one of {', '.join(TESTS)}.")
        if self.correction not in CORRECTIONS:
            known = ", ".join(CORRECTIONS)
            raise CranfieldError(f"unknown correction {self.correction!r}: expected one of {known}.")
        if not 0 < self.alpha < 1:
            raise CranfieldError(f"alpha={self.alpha:g} is out of range: expected a number between 0 and 1.")
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise CranfieldError(f"tolerance={self.tolerance:g} is out of range: expected a number of at least 0.")
        if self.family not in ("column", "table"):
            raise CranfieldError(f"unknown family {self.family!r}: expected column or table.")
        if self.is_tukey and self.correction != "none":
            raise CranfieldError(
                f"{self.test_name} already corrects for all pairs of systems: leave out the correction."
            )
        if self.is_max_t and self.test != "t":
            raise CranfieldError(
                f"MaxT is a test of its own, of t under sign flips, and cannot correct the {self.test_name}: "
                "leave out the test, or choose another correction, such as holm."
            )
        if self.family == "table" and (self.is_tukey or self.is_max_t):
            what = self.test_name if self.is_tukey else CORRECTIONS[self.correction].title
            raise CranfieldError(f"{what} corrects within one measure: for a family of all measures, choose holm.")

    @property
    def is_tukey(self) -> bool:
        return self.test in TUKEY

    @property
    def test_name(self) -> str:
        return TESTS[self.test]

    @property
    def is_max_t(self) -> bool:
        return self.correction == "maxt"

    @property
    def level(self) -> float:
        """The confidence level of intervals, which agrees with the tests."""
        return 1 - self.alpha

    @property
    def beside(self) -> str:
        """The second test, shown beside this one."""
        return "t" if self.is_max_t else _SECOND_TESTS.get(self.test, "t")

    @property
    def beside_name(self) -> str:
        return TESTS[self.beside]

    @property
    def beside_correction(self) -> str:
        """How the second test is corrected: MaxT corrects only its own p-values, so Holm is used instead."""
        return "holm" if self.is_max_t else self.correction

    @property
    def method(self) -> str:
        return MAX_T if self.is_max_t else self.test_name


class SystemScore(Record):
    """A system on one measure: its mean over the topics compared, with interval, and how much of it was judged."""

    name: str
    mean: float
    low: float | None  # None where one topic has no interval
    high: float | None
    n: int
    judged: float | None  # the share with a judgment among the first ten documents; None without runs
    is_best: bool
    letters: str  # systems that share one are not significantly different; empty where not all pairs are compared


class PairComparison(Record, eq=False):
    """A system against another on one measure. Differences are system − reference; wins are topics it is better on.

    Effect sizes are computed when they are first read: a test of all pairs of many systems has thousands of these.
    """

    collection: str
    scored: ScoredMeasure
    system: str
    reference: str
    scores: tuple[Floats, Floats]  # of the system and of the reference, topic by topic
    design: Design
    p: float
    statistic: float | None
    interval: Interval | None  # of the difference, as the test computes it; None where it has none
    p_beside: float  # p of the second test
    note: str
    details: Mapping[str, Any]  # what the test did: exact, resamples, df, topics left out
    beside_details: Mapping[str, Any]
    residual_effect: float | None = None  # in Tukey's tests, the difference in residual standard deviations
    p_adjusted: float = math.nan
    p_beside_adjusted: float = math.nan
    family: int = 0  # how many comparisons are corrected together

    @property
    def measure(self) -> str:
        return self.scored.label

    @property
    def n(self) -> int:
        return len(self.scores[0])

    @cached_property
    def _paired(self) -> PairedScores:
        return pair_scores(*self.scores)

    @cached_property
    def effect(self) -> Effect:
        """Effect sizes; wins are topics on which the system is better, also where less is better."""
        found = effect(*self.scores, tolerance=self.design.tolerance, level=self.design.level)
        if self.scored.more_is_better:
            return found
        return replace(found, wins=found.losses, losses=found.wins, superiority=1 - found.superiority)

    @property
    def difference(self) -> float:
        return self._paired.mean

    @property
    def low(self) -> float | None:
        return self._ends[0]

    @property
    def high(self) -> float | None:
        return self._ends[1]

    @property
    def _ends(self) -> tuple[float | None, float | None]:
        if self.design.test in RANK_TESTS:  # tests of ranks and signs have no interval of the mean: Student's is used
            return self.effect.low, self.effect.high
        return (None, None) if self.interval is None else (self.interval.low, self.interval.high)

    @property
    def is_significant(self) -> bool:
        return self.p_adjusted <= self.design.alpha

    @property
    def gain(self) -> float:
        """The difference where more is better, its opposite where less is."""
        return self.scored.direction * self.difference + 0.0

    @property
    def verdict(self) -> Literal["better", "worse", "undecided"]:
        if not self.is_significant or not self.difference:
            return "undecided"
        return "better" if self.gain > 0 else "worse"

    @property
    def tests_disagree(self) -> bool:
        """Whether the second test decides otherwise."""
        return self.is_significant != (self.p_beside_adjusted <= self.design.alpha)

    @property
    def is_identical(self) -> bool:
        """Whether the systems have the same score on every topic."""
        return self._paired.identical

    @property
    def topics_needed(self) -> int | None:
        """How many topics an uncorrected t-test needs to detect a difference of this size; None if unknown."""
        sd = self.effect.sd
        return topics_needed(self.difference, sd, TARGET_POWER, self.design.alpha) if sd else None

    @property
    def smallest_difference(self) -> float | None:
        """The smallest difference that an uncorrected t-test detects with this many topics; None without variance."""
        sd = self.effect.sd
        unit = _smallest_standardised_difference(self.n, self.design.alpha) if sd else None
        return sd * unit if sd and unit else None

    def reverse(self) -> PairComparison:
        """The reference against the system, in Tukey's tests, where nothing has to be computed again."""
        found = self.interval
        return replace(
            self,
            system=self.reference,
            reference=self.system,
            scores=self.scores[::-1],
            interval=None if found is None else Interval(-found.high, -found.low, found.level),
            residual_effect=None if self.residual_effect is None else -self.residual_effect,
        )


@lru_cache
def _smallest_standardised_difference(n: int, alpha: float) -> float | None:
    """The smallest difference that n topics show, in standard deviations of the differences."""
    return smallest_difference(n, 1.0, TARGET_POWER, alpha)


class MeasureComparison(Record, eq=False):
    """The systems compared on one measure and one collection: a column of the comparison."""

    collection: str
    scored: ScoredMeasure
    names: tuple[str, ...]
    queries: tuple[str, ...]  # those that all systems have a score for
    dropped: tuple[str, ...]  # those that some lack
    scores: Floats  # topics × systems
    judged: tuple[float | None, ...]
    design: Design
    tested: Mapping[Place, PairComparison]  # the comparisons made
    family: int = 0  # how many comparisons are corrected together
    note: str = ""  # about the method
    remark: str = ""  # about these pairs: topics that were left out, pairs without variance
    details: Mapping[str, Any] = field(default_factory=dict)  # what the method did: exact, resamples, V_E, df, critical

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
        """Whether values are at most 1, so that they can be shown in percent."""
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
        """The best system, or those that share the best mean; none for a measure that says nothing about quality."""
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
        for (i, j), pair in self.tested.items():
            differs[i, j] = differs[j, i] = pair.is_significant
        return differs

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """Letters of the systems where all pairs were compared."""
        return tuple(assign_letters(self.order, self.significant)) if self.is_all_pairs else ()

    @property
    def pairs(self) -> tuple[PairComparison, ...]:
        """All comparisons made."""
        return tuple(self.tested.values())

    def has(self, system: str, reference: str | None = None) -> bool:
        """Whether a system is there, or was compared with another."""
        if reference is None:
            return system in self.names
        if system not in self.names or reference not in self.names:
            return False
        i, j = self.names.index(system), self.names.index(reference)
        return (i, j) in self.tested or (j, i) in self.tested

    def pair(self, system: str, reference: str) -> PairComparison:
        """A system against another."""
        if not self.has(system, reference):
            raise CranfieldError(f"{system!r} and {reference!r} were not compared on {self.title}.")
        place = self.names.index(system), self.names.index(reference)
        if place in self.tested:
            return self.tested[place]
        if place not in self._reversed:
            self._reversed[place] = self._reverse(place)
        return self._reversed[place]

    @cached_property
    def _reversed(self) -> dict[Place, PairComparison]:
        """Pairs that were compared the other way round."""
        return {}

    def _reverse(self, place: Place) -> PairComparison:
        known = self.tested[place[::-1]]
        if self.design.is_tukey:
            return known.reverse()
        again = _Tester(self.collection, self.scored, self.names, self.scores, self.design).compare_pair(place)
        return _correct(again, known.p_adjusted, known.p_beside_adjusted, known.family)

    def is_first(self, place: Place) -> bool:
        """Whether a comparison is the first of the two directions that it may be shown in."""
        i, j = place
        return (j, i) not in self.tested or i < j

    def reported_pairs(self, references: Sequence[str]) -> list[tuple[str, str]]:
        """The pairs that are reported in full: with each reference, or of all pairs those with the best system."""
        if references:
            return [(self.names[i], self.names[j]) for i, j in self.tested]
        if not self.tested:
            return []
        best = self.names[self.order[0]]
        return [(best, self.names[i]) for i in self.order[1:]]


def compare_systems(
    table: ScoreTable, at: int, collection: str, references: Sequence[str], design: Design
) -> MeasureComparison:
    """Compare the systems of a table on one measure: with the references, or all with each other if there are none."""
    scored, values = table.measures[at], table.values[:, at]
    present = [i for i in range(len(table.runs)) if np.isfinite(values[i]).any()]
    common = np.isfinite(values[present]).all(axis=0) if present else np.zeros(len(table.queries), dtype=bool)
    if not common.any():
        raise EvaluationError(_nothing_shared(table, values, scored, collection))
    names = tuple(table.runs[i] for i in present)
    scores = values[present][:, common].T
    lost = np.isfinite(values).any(axis=0) & ~common
    tester = _Tester(collection, scored, names, scores, design)
    return MeasureComparison(
        collection=collection,
        scored=scored,
        names=names,
        queries=tuple(table.queries[i] for i in np.flatnonzero(common).tolist()),
        dropped=tuple(table.queries[i] for i in np.flatnonzero(lost).tolist()),
        scores=scores,
        judged=tuple(table.judged_share(name) for name in names),
        design=design,
        **tester.compare(_places(names, references)),
    )


def correct_pvalues(columns: Sequence[MeasureComparison]) -> list[MeasureComparison]:
    """Correct the p-values, of each column by itself or of all together."""
    if columns and columns[0].design.family == "table":
        return _correct_together(columns)
    return [_correct_together([column])[0] for column in columns]


def _correct_together(columns: Sequence[MeasureComparison]) -> list[MeasureComparison]:
    design = columns[0].design
    # a comparison that is shown in both directions is one comparison
    places = [(k, place) for k, column in enumerate(columns) for place in column.tested if column.is_first(place)]
    own = _adjust(np.array([columns[k].tested[place].p for k, place in places]), columns, places)
    beside = adjust(np.array([columns[k].tested[place].p_beside for k, place in places]), design.beside_correction)
    adjusted = dict(zip(places, zip(own.tolist(), beside.tolist(), strict=True), strict=True))
    corrected = []
    for k, column in enumerate(columns):
        family = math.comb(len(column.names), 2) if design.is_tukey else len(places)
        tested = {
            place: _correct(pair, *adjusted[k, place if column.is_first(place) else place[::-1]], family)
            for place, pair in column.tested.items()
        }
        corrected.append(replace(column, tested=tested, family=family))
    return corrected


def _correct(pair: PairComparison, p: float, p_beside: float, family: int) -> PairComparison:
    return replace(pair, p_adjusted=p, p_beside_adjusted=p_beside, family=family)


def _adjust(p: Floats, columns: Sequence[MeasureComparison], places: Sequence[tuple[int, Place]]) -> Floats:
    design = columns[0].design
    if not design.is_max_t or not places:
        return adjust(p, "none" if design.is_max_t else design.correction)
    (column,) = columns
    return _max_t(column.scores, [place for _, place in places], design)


def _max_t(scores: Floats, places: Sequence[Place], design: Design) -> Floats:
    """P-values of pairs by MaxT, corrected together: all differences of a topic change their sign at once."""
    first, second = (list(side) for side in zip(*places, strict=True))
    differences = scores[:, first] - scores[:, second]
    differences = np.where(np.abs(differences) <= rounding(scores), 0.0, differences)
    nothing = np.zeros((len(scores), 1))  # a baseline of 0 leaves the differences as they are
    return max_t(np.hstack([nothing, differences]), 0, design.resamples, design.seed)


def _places(names: Sequence[str], references: Sequence[str]) -> list[Place]:
    """The pairs to compare: with each reference, or all."""
    m = len(names)
    if not references:
        return [(i, j) for i in range(m) for j in range(i + 1, m)]
    at = [names.index(reference) for reference in references if reference in names]
    return [(i, j) for j in at for i in range(m) if i != j]


class _Tester(Record, eq=False):
    """Tests pairs of systems on one measure."""

    collection: str
    scored: ScoredMeasure
    names: Sequence[str]
    scores: Floats
    design: Design

    def compare(self, places: Sequence[Place]) -> dict[str, Any]:
        """The comparisons and what there is to say about them, as fields of a MeasureComparison."""
        design = self.design
        if not places:
            return {"tested": {}}
        if design.is_tukey:
            own, beside = _tukey(design.test, self.scores, design), _tukey(design.beside, self.scores, design)
            tested = {place: self._from_all_pairs(own, beside, place) for place in places}
            return {"tested": tested, "note": own.note, "details": own.details}
        tested = {place: self.compare_pair(place) for place in places}
        remark = " ".join(_remarks(tested, len(self.scores), design))
        return {"tested": tested, "note": _caveat(design), "remark": remark, "details": _draws(tested.values(), design)}

    def compare_pair(self, place: Place) -> PairComparison:
        """A pair by a paired test."""
        design = self.design
        a, b = self._pair_scores(place)
        own = _run_test(design.test, a, b, design)
        beside = own if design.beside == design.test else _run_test(design.beside, a, b, design)
        pair = self._pair(
            place,
            p=own.pvalue,
            statistic=own.statistic,
            interval=None if own.low is None or own.high is None else Interval(own.low, own.high, own.level),
            p_beside=beside.pvalue,
            note=own.note,
            details=_with_exact(own),
            beside_details=_with_exact(beside),
        )
        return self._with_flips(pair, place) if design.is_max_t else pair

    def _with_flips(self, pair: PairComparison, place: Place) -> PairComparison:
        """The same with the p-value from sign flips that MaxT corrects; no corrected p is below it."""
        n, design = len(self.scores), self.design
        exact = n < design.resamples.bit_length()  # 2ⁿ ≤ resamples, when max_t tries them all
        drawn = {"exact": exact, "resamples": 2**n if exact else design.resamples}
        (p,) = _max_t(self.scores, [place], design).tolist()
        note = pair.note.replace(PAIRED_TESTS["t"].note, _caveat(design))
        return replace(pair, p=p, note=note, details={**pair.details, **drawn})

    def _from_all_pairs(self, own: AllPairs, beside: AllPairs, place: Place) -> PairComparison:
        return self._pair(
            place,
            p=float(own.pvalues[place]),
            statistic=None,
            interval=None
            if own.low is None or own.high is None
            else Interval(float(own.low[place]), float(own.high[place]), own.level),
            p_beside=float(beside.pvalues[place]),
            note=own.note,
            details=own.details,
            beside_details=beside.details,
            residual_effect=None if own.effect is None else float(own.effect[place]),
        )

    def _pair(self, place: Place, **outcome: Any) -> PairComparison:
        system, reference = (self.names[i] for i in place)
        scores = self._pair_scores(place)
        return PairComparison(self.collection, self.scored, system, reference, scores, self.design, **outcome)

    def _pair_scores(self, place: Place) -> tuple[Floats, Floats]:
        return self.scores[:, place[0]], self.scores[:, place[1]]


def _draws(pairs: Iterable[PairComparison], design: Design) -> dict[str, Any]:
    """How many resamples were tried or drawn for the pairs of a column; nothing by a test that does not draw."""
    known = [pair.details for pair in pairs if pair.details.get("resamples")]
    if not known:
        return {}
    exact = all(details["exact"] for details in known)
    return {
        "exact": exact,
        "resamples": max(details["resamples"] for details in known),
        "seed": None if exact else design.seed,
    }


def _caveat(design: Design) -> str:
    """What to know about a method, whatever the scores."""
    if design.is_max_t:
        return (
            "The largest |t| of all comparisons is recomputed for sign flips, which flip all differences of a topic "
            "together; assumes that a difference is as likely in either direction if the systems do not differ."
        )
    return PAIRED_TESTS[design.test].note


def _remarks(tested: Mapping[Place, PairComparison], n: int, design: Design) -> Iterator[str]:
    """What a test says about the pairs at hand: how many topics it left out, and which pairs are special."""
    if design.test in RANK_TESTS:
        yield _left_out(tested.values(), n, design)
    special: dict[str, dict[frozenset[int], str]] = {}
    for place, pair in tested.items():
        text = pair.note.removesuffix(_caveat(design)).strip()
        if text == IDENTICAL or (text != pair.note and text):
            special.setdefault(text, {}).setdefault(frozenset(place), f"{pair.system} and {pair.reference}")
    for text, pairs in special.items():
        everywhere = len(pairs) == len({frozenset(place) for place in tested})
        yield text if everywhere else f"{_some(list(pairs.values()))}: {text}"


def _left_out(pairs: Iterable[PairComparison], n: int, design: Design) -> str:
    key = "zero_differences" if design.test == "wilcoxon" else "ties"
    # identical systems have a remark of their own
    numbers = [pair.details[key] for pair in pairs if pair.note != IDENTICAL] or [n]
    low, high = min(numbers), max(numbers)
    which = f"{high:,}" if low == high else f"{low:,} to {high:,}"
    up_to = f" of more than {design.tolerance:g}" if design.test == "sign" and design.tolerance else ""
    topics = pluralize(n, "topic")
    return f"Topics without a difference{up_to} are left out: {which if high else 'none'} of {topics}."


def _some(pairs: Sequence[str], most: int = 3) -> str:
    return "; ".join(pairs[:most]) + (f" and {pluralize(len(pairs) - most, 'more pair')}" if len(pairs) > most else "")


def _tukey(test: str, scores: Floats, design: Design) -> AllPairs:
    if test == "tukey":
        return randomised_tukey(scores, design.resamples, design.seed, design.level)
    return two_way_tukey(scores, design.level)


def _run_test(name: str, a: Floats, b: Floats, design: Design) -> PairedTest:
    if name == "sign":
        return sign_test(a, b, tolerance=design.tolerance)
    return paired_test(name, a, b, level=design.level, resamples=design.resamples, seed=design.seed)


def _with_exact(test: PairedTest) -> dict[str, Any]:
    """The details of a test; one that only ever draws, as the bootstrap does, is not exact."""
    return ({"exact": False} if "resamples" in test.details else {}) | dict(test.details)


def _nothing_shared(table: ScoreTable, values: Floats, scored: ScoredMeasure, collection: str) -> str:
    where = f" of {collection}" if collection else ""
    lacking = [run for run, own in zip(table.runs, values, strict=True) if not np.isfinite(own).any()]
    if len(lacking) == len(table.runs):
        return f"no system{where} has a score for {scored.label}."
    return (
        f"no topic{where} has {scored.label} for all of {join_names(table.runs)}: there is nothing to compare them on."
    )
