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
from cranfield.stats.compact_letters import letters
from cranfield.stats.effects import Effect, effect
from cranfield.stats.multiple import RESAMPLES, AllPairs, adjust, max_t, randomised_tukey, two_way_tukey
from cranfield.stats.paired import IDENTICAL, METHODS, TESTS, PairedTest, paired_test, sign_test
from cranfield.stats.score_table import Scored, ScoreTable

Family = Literal["column", "table"]
Place = tuple[int, int]  # a system and the one it is compared with, by their numbers

TUKEY: Mapping[str, str] = {"tukey": "randomised Tukey HSD", "tukey-two-way": "two-way Tukey HSD"}
TEST_NAMES: Mapping[str, str] = {**METHODS, **TUKEY}
MAX_T = "MaxT step-down on t (sign flips)"  # corrects and tests at once, by the largest |t| when signs are flipped
RANKS = ("wilcoxon", "sign")  # tests that have no interval of the mean
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
        if self.is_max_t and self.test != "t":
            raise CranfieldError(
                f"MaxT is a test of its own, of t under flips of signs, and cannot correct the {self.test_name}: "
                "leave out the test, or choose another correction, such as holm."
            )
        if self.family == "table" and (self.is_tukey or self.is_max_t):
            what = TEST_NAMES[self.test] if self.is_tukey else CORRECTION_NAMES[self.correction]
            raise CranfieldError(f"{what} corrects within one measure: for a family of all measures, choose holm.")

    @property
    def is_tukey(self) -> bool:
        return self.test in TUKEY

    @property
    def test_name(self) -> str:
        return TEST_NAMES[self.test]

    @property
    def is_max_t(self) -> bool:
        return self.correction == "maxt"

    @property
    def level(self) -> float:
        """The level of intervals, so that they and the tests agree."""
        return 1 - self.alpha

    @property
    def beside(self) -> str:
        """The test that is shown beside this one."""
        return "t" if self.is_max_t else _BESIDE.get(self.test, "t")

    @property
    def beside_correction(self) -> str:
        """How the test shown beside is corrected: MaxT has p-values of its own only, for which Holm's stand in."""
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


class Outcome(Record):
    """What the tests say of a pair, before effect sizes."""

    p: float
    statistic: float | None
    interval: Interval | None
    note: str
    beside: float  # p by the test shown beside
    adjusted: float = math.nan
    beside_adjusted: float = math.nan
    residual_effect: float | None = None  # the difference in residual deviations, in Tukey's tests
    details: Mapping[str, Any] = field(default_factory=dict)  # what the test did: exact, resamples, df, topics left out
    beside_details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Of the interval that belongs to the test; None where it has none."""
        return (None, None) if self.interval is None else (self.interval.low, self.interval.high)

    def turned(self) -> Outcome:
        """The same with the systems exchanged, of Tukey's tests."""
        found = self.interval
        return replace(
            self,
            interval=None if found is None else Interval(-found.high, -found.low, found.level),
            residual_effect=None if self.residual_effect is None else -self.residual_effect,
        )


class Pair(Record):
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
    exact: bool | None  # whether all ways were tried, or the distribution worked out; None where there is no such thing
    resamples: int | None  # how many ways were tried or drawn, whatever was asked for; None where nothing is drawn
    beside_exact: bool | None
    beside_resamples: int | None
    df: int | None
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


class Column(Record, eq=False):
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
    remark: str = ""  # and of the pairs here: topics that were left out, pairs without variance
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
        # no interval of the mean belongs to ranks or signs, for which Student's stands
        ends = (found.low, found.high) if design.test in RANKS else tested.ends
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
            exact=tested.details.get("exact"),
            resamples=tested.details.get("resamples"),
            beside_exact=tested.beside_details.get("exact"),
            beside_resamples=tested.beside_details.get("resamples"),
            df=tested.details.get("df"),
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
    places = _places(names, references)
    return Column(
        collection=collection,
        scored=scored,
        names=names,
        queries=tuple(table.queries[i] for i in np.flatnonzero(common).tolist()),
        dropped=tuple(table.queries[i] for i in np.flatnonzero(lost).tolist()),
        scores=scores,
        judged=tuple(table.judged_share(name) for name in names),
        design=design,
        **_tested(scores, names, places, design),
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
    beside = adjust(np.array([columns[k].tested[place].beside for k, place in places]), design.beside_correction)
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


def _adjusted(p: Floats, columns: Sequence[Column], places: Sequence[tuple[int, Place]]) -> Floats:
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


def _tested(scores: Floats, names: Sequence[str], places: Sequence[Place], design: Design) -> dict[str, Any]:
    """What the tests say of each pair, and what the method says of itself, as fields of a column."""
    if not places:
        return {"tested": {}}
    if design.is_tukey:
        own, beside = _tukey(design.test, scores, design), _tukey(design.beside, scores, design)
        found = {place: _of_all_pairs(own, beside, place) for place in places}
        return {"tested": found, "note": own.note, "details": own.details}
    found = {place: _of_pair(scores, place, design) for place in places}
    remark = " ".join(_remarks(found, names, len(scores), design))
    return {"tested": found, "note": _caveat(design), "remark": remark, "details": _drawn(found.values(), design)}


def _drawn(found: Iterable[Outcome], design: Design) -> dict[str, Any]:
    """What was tried or drawn for the pairs of a column; nothing by a test that does not draw."""
    known = [tested.details for tested in found if tested.details.get("resamples")]
    if not known:
        return {}
    exact = all(details["exact"] for details in known)
    return {
        "exact": exact,
        "resamples": max(details["resamples"] for details in known),
        "seed": None if exact else design.seed,
    }


def _caveat(design: Design) -> str:
    """What a method says of itself, whatever the scores."""
    if design.is_max_t:
        return (
            "The largest |t| of all comparisons is found again for flips of signs, a topic's being flipped together; "
            "takes a difference to be as likely in either direction if the systems do not differ."
        )
    return _caveat_of(design.test)


@lru_cache
def _caveat_of(test: str) -> str:
    """The note of a test on scores of which it has nothing else to say."""
    return paired_test(test, [0.1, 0.3, 0.6], [0.0, 0.1, 0.3], resamples=8).note


def _remarks(found: Mapping[Place, Outcome], names: Sequence[str], n: int, design: Design) -> Iterator[str]:
    """What a test says of the pairs at hand: how many topics it left out, and which pairs are special."""
    if design.test in RANKS:
        yield _left_out(found.values(), n, design)
    special: dict[str, dict[frozenset[int], str]] = {}
    for (i, j), tested in found.items():
        text = tested.note.removesuffix(_caveat(design)).strip()
        if text == IDENTICAL or (text != tested.note and text):
            special.setdefault(text, {}).setdefault(frozenset((i, j)), f"{names[i]} and {names[j]}")
    for text, pairs in special.items():
        everywhere = len(pairs) == len({frozenset(place) for place in found})
        yield text if everywhere else f"{_some(list(pairs.values()))}: {text}"


def _left_out(found: Iterable[Outcome], n: int, design: Design) -> str:
    key = "zero_differences" if design.test == "wilcoxon" else "ties"
    outcomes = list(found)
    # identical systems are told apart from the rest
    numbers = [one.details[key] for one in outcomes if one.note != IDENTICAL] or [n]
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
        details=own.details,
        beside_details=beside.details,
    )


def _of_pair(scores: Floats, place: Place, design: Design) -> Outcome:
    a, b = scores[:, place[0]], scores[:, place[1]]
    own = _test(design.test, a, b, design)
    beside = own if design.beside == design.test else _test(design.beside, a, b, design)
    there = own.low is not None and own.high is not None
    found = Outcome(
        p=own.pvalue,
        statistic=own.statistic,
        interval=Interval(own.low, own.high, own.level) if there else None,  # type: ignore[arg-type]
        note=own.note,
        beside=beside.pvalue,
        details=_did(own),
        beside_details=_did(beside),
    )
    return _flipped(found, scores, place, design) if design.is_max_t else found


def _flipped(found: Outcome, scores: Floats, place: Place, design: Design) -> Outcome:
    """The same with p of the flips that MaxT corrects, which no corrected p is below."""
    exact = len(scores) < design.resamples.bit_length()  # 2ⁿ ≤ resamples, when max_t tries them all
    drawn = {"exact": exact, "resamples": 2 ** len(scores) if exact else design.resamples}
    (p,) = _max_t(scores, [place], design).tolist()
    note = found.note.replace(_caveat_of("t"), _caveat(design))
    return replace(found, p=p, note=note, details={**found.details, **drawn})


def _did(test: PairedTest) -> dict[str, Any]:
    """What a test did; one that draws from ever so many ways, as the bootstrap does, is not exact."""
    return ({"exact": False} if "resamples" in test.details else {}) | dict(test.details)


def _test(name: str, a: Floats, b: Floats, design: Design) -> PairedTest:
    assert name in TESTS
    if name == "sign":
        return sign_test(a, b, tolerance=design.tolerance)
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
    return (
        f"no topic{where} has {scored.label} for all of {join_names(table.runs)}: there is nothing to compare them on."
    )
