"""What may be claimed of a comparison, in sentences: differences, what more topics would show, what users would notice.

The claim comes first and the uncertainty next to it; no p without its test, no difference without its interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Bools, Floats
from cranfield.measures import IPrec
from cranfield.stats.measure_comparison import MeasureComparison, PairComparison
from cranfield.stats.multiple import CORRECTIONS
from cranfield.stats.power import TARGET_POWER, pilot_variance, smallest_difference
from cranfield.stats.score_table import ScoreTable
from cranfield.stats.user_impact import describe_user_impact
from cranfield.tables import format_p, format_probability, state_p

_MOST_NAMES = 6
_POWER = f"power {format_probability(TARGET_POWER)}"
_RECALL = tuple(i / 10 for i in range(11))

Kind = Literal["claim", "no claim", "all pairs", "design", "curve", "user"]


class Claim(Record):
    """A sentence or two, and what they are about."""

    kind: Kind
    text: str
    collection: str = ""
    measure: str = ""
    system: str = ""
    reference: str = ""


def find_claims(
    tables: Mapping[str, ScoreTable],
    columns: Sequence[MeasureComparison],
    references: Sequence[str],
    percent: bool = False,
) -> Iterator[Claim]:
    """What may be claimed and what may not, measure by measure; then curves, and what a user would notice."""
    for column in columns:
        if column.tested and column.scored.is_quality:
            yield from _column_claims(column, references, ScoreFormat(column, percent))
    for collection, table in tables.items():
        for system, reference in _pairs_of_runs(collection, columns, references) if table.has_runs else ():
            yield from _run_claims(collection, table, system, reference)


class ScoreFormat:
    """How the scores and differences of a column are written in sentences."""

    def __init__(self, column: MeasureComparison, percent: bool) -> None:
        self.scale = 100 if percent and column.is_share else 1
        self.unit = " points" if self.scale == 100 else ""

    def amount(self, value: float) -> str:
        """An amount without its sign, with enough decimals to distinguish it from 0."""
        size = abs(value) * self.scale
        return f"{size:,.{self._places(size)}f}"

    def mean(self, value: float) -> str:
        """A mean, with the decimals of differences."""
        return _format_signed(value * self.scale, 1 if self.scale == 100 else 3)

    def interval(self, pair: PairComparison) -> str:
        """The interval of a difference without its sign, with the decimals of the difference."""
        if pair.low is None or pair.high is None:
            return ""
        low, high = (pair.low, pair.high) if pair.difference >= 0 else (-pair.high, -pair.low)
        places = self._places(abs(pair.difference) * self.scale)
        return f" [{_format_signed(low * self.scale, places)}, {_format_signed(high * self.scale, places)}]"

    def _places(self, size: float) -> int:
        usual = 1 if self.scale == 100 else 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
        if size == 0 or round(size, usual) > 0:
            return usual
        return min(12, -math.floor(math.log10(size)))


def _format_signed(value: float, places: int) -> str:
    text = f"{value:,.{places}f}"
    # a minus sign, and none before 0
    return text.replace("-", "" if not text.strip("-0.,") else "−")


def join_systems(names: Sequence[str]) -> str:
    """Names in a sentence, and how many more there are.

    >>> join_systems(["bm25", "lm", "rm3"])
    'bm25, lm and rm3'
    """
    if len(names) > _MOST_NAMES + 1:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def capitalize(text: str) -> str:
    """A sentence with a capital letter, whatever comes after it."""
    return text[0].upper() + text[1:]


def _column_claims(column: MeasureComparison, references: Sequence[str], format: ScoreFormat) -> Iterator[Claim]:
    if not references:
        yield from _all_pairs_claims(column, format)
        return
    seen = set()
    for system, reference in column.reported_pairs(references):
        if (reference, system) not in seen:
            seen.add((system, reference))
            yield _pair_claim(column, column.pair(system, reference), format)


def _pair_claim(column: MeasureComparison, pair: PairComparison, format: ScoreFormat) -> Claim:
    decided = pair.verdict != "undecided"
    text = _state_difference(column, pair, format) if decided else _state_no_difference(column, pair, format)
    kind: Kind = "claim" if decided else "no claim"
    return Claim(kind, _on(column.collection, text), column.collection, column.label, pair.system, pair.reference)


def _state_difference(column: MeasureComparison, pair: PairComparison, format: ScoreFormat) -> str:
    less = "" if column.scored.more_is_better else ", where lower is better"
    return (
        f"{pair.system} scores {format.amount(pair.difference)}{format.unit} {_direction(pair)} in {column.label} than "
        f"{pair.reference}{format.interval(pair)}{less}, {_state_topics(pair)}, {_state_test(pair)}."
    )


def _state_no_difference(column: MeasureComparison, pair: PairComparison, format: ScoreFormat) -> str:
    if pair.is_identical:
        where = "the one topic" if pair.n == 1 else f"all {pair.n:,} topics"
        return f"{pair.system} and {pair.reference} have the same {column.label} on {where}: there is nothing to claim."
    amount = f"{format.amount(pair.difference)}{format.unit} {_direction(pair)}{format.interval(pair)}"
    return (
        f"No significant difference between {pair.system} and {pair.reference} in {column.label}: {pair.system} scores "
        f"{amount}, {_state_topics(pair)}, {_state_test(pair)}. {_state_topics_needed(column, pair, format)}"
    )


def _on(collection: str, text: str) -> str:
    """A claim about one of several collections."""
    return f"{collection}: {text}" if collection else text


def _direction(pair: PairComparison) -> str:
    return "higher" if pair.difference >= 0 else "lower"


def _state_topics(pair: PairComparison) -> str:
    if pair.gain >= 0:
        return f"better on {pair.effect.wins:,} of {pluralize(pair.n, 'topic')}"
    return f"worse on {pair.effect.losses:,} of {pluralize(pair.n, 'topic')}"


def _state_test(pair: PairComparison) -> str:
    """The p-value with its test and correction, and the p-value of the second test."""
    design = pair.design
    how = design.method
    if design.is_tukey:
        how += f", {pluralize(pair.family, 'pair')}"
    elif pair.family > 1:
        correction = "" if design.is_max_t else f"{CORRECTIONS[design.correction].title}, "
        how += f", {correction}{pluralize(pair.family, 'comparison')}"
    second = design.beside_name.removeprefix("paired ").removesuffix(" test").removesuffix("-test")
    second += " with Holm" if design.is_max_t and pair.family > 1 else ""
    return f"{state_p(pair.p_adjusted)} ({how}; {second} {format_p(pair.p_beside_adjusted)})"


def _state_topics_needed(column: MeasureComparison, pair: PairComparison, format: ScoreFormat) -> str:
    """How many topics would detect this difference, and what the topics at hand can detect."""
    if pair.n < 2:
        return "One topic says nothing about others."
    if not pair.effect.sd:
        return f"All {pair.n:,} topics agree, but they are too few to be significant."
    needed, smallest = pair.topics_needed, pair.smallest_difference
    assert smallest is not None
    test = f"{_POWER}, t-test{', uncorrected' if pair.family > 1 else ''}"
    at_hand = f"{pluralize(pair.n, 'topic')} can detect {format.amount(smallest)}{format.unit} or more"
    if smallest > column.largest_difference:
        at_hand = f"{pluralize(pair.n, 'topic')} are too few to detect any difference"
    if needed is None:
        return f"No number of topics would detect a difference of 0; {at_hand} ({test})."
    if needed <= pair.n:
        topics = pluralize(needed, "topic")
        return f"On its own, a difference of this size takes {topics} to detect ({_POWER}, t-test, uncorrected)."
    return f"A difference of this size takes {pluralize(needed, 'topic')} to detect; {at_hand} ({test})."


def _all_pairs_claims(column: MeasureComparison, format: ScoreFormat) -> Iterator[Claim]:
    design, about = column.design, (column.collection, column.label)
    differing = int(column.significant.sum()) // 2
    how = f"{design.method}, α = {format_probability(design.alpha)}"
    if not design.is_tukey:
        how += f", {CORRECTIONS[design.correction].title}"
    verb = "differs" if differing == 1 else "differ"
    pairs_of_systems = f"{pluralize(math.comb(len(column.names), 2), 'pair')} of systems"
    text = f"{differing:,} of {pairs_of_systems} {verb} significantly in {column.label} ({how})."
    yield Claim("all pairs", _on(column.collection, text), *about)
    pairs = [column.pair(system, other) for system, other in column.reported_pairs(())]
    better = [pair for pair in pairs if pair.verdict == "better"]
    rest = [pair for pair in pairs if pair.verdict != "better"]
    if better:
        yield Claim("claim", _on(column.collection, _state_best(column, better, format)), *about, pairs[0].system)
    if rest:
        yield Claim("no claim", _on(column.collection, _state_not_best(column, rest, format)), *about, pairs[0].system)
    yield from _design_claims(column, format)


def _state_best(column: MeasureComparison, better: Sequence[PairComparison], format: ScoreFormat) -> str:
    first = _state_difference(column, better[0], format)
    if len(better) == 1:
        return first
    p = state_p(max(pair.p_adjusted for pair in better), "≤")
    others = join_systems([pair.reference for pair in better[1:]])
    return f"{first} It is also better than {others} ({p})."


def _state_not_best(column: MeasureComparison, rest: Sequence[PairComparison], format: ScoreFormat) -> str:
    first = _state_no_difference(column, rest[0], format)
    others = [pair.reference for pair in rest[1:]]
    if not others:
        return first
    lowest = min(pair.p_adjusted for pair in rest[1:])
    p = state_p(lowest, "=" if format_p(lowest) == "1" else "≥")
    return f"{first} Nor does {rest[0].system} differ significantly from {join_systems(others)} ({p})."


def _design_claims(column: MeasureComparison, format: ScoreFormat) -> Iterator[Claim]:
    """What the topics at hand can detect between two systems like these."""
    if column.n < 2:
        return
    sd = pilot_variance(column.scores).sd_of_differences
    smallest = smallest_difference(column.n, sd, TARGET_POWER, column.design.alpha)
    topics = pluralize(column.n, "topic")
    if not smallest:
        return
    if smallest > column.largest_difference:
        text = f"{topics} are too few to detect any difference in {column.label}."
    else:
        amount = f"{format.amount(smallest)}{format.unit} in {column.label}"
        text = (
            f"{topics} can detect a difference of {amount} between two systems like these with {_POWER} "
            "(t-test of one pair, uncorrected)."
        )
    yield Claim("design", _on(column.collection, text), column.collection, column.label)


def _pairs_of_runs(
    collection: str, columns: Sequence[MeasureComparison], references: Sequence[str]
) -> list[tuple[str, str]]:
    """The pairs whose runs are looked at: those with references, or the best and the next best."""
    own = [column for column in columns if column.collection == collection and column.scored.is_quality]
    column = next((column for column in own if column.tested), None)
    if column is None:
        return []
    pairs = column.reported_pairs(references)
    once = [pair for i, pair in enumerate(pairs) if pair[::-1] not in pairs[:i]]
    return once if references else once[:1]


def _run_claims(collection: str, table: ScoreTable, system: str, reference: str) -> Iterator[Claim]:
    about = (collection, "", system, reference)
    if table.reaches(system) and table.reaches(reference):
        yield Claim("curve", _on(collection, _compare_curves(table, system, reference)), *about)
    impact = describe_user_impact(table, system, reference)
    yield Claim("user", _on(collection, f"Compared with {reference}, a user of {system} sees {impact}."), *about)


def _compare_curves(table: ScoreTable, system: str, reference: str) -> str:
    """Whether one averaged interpolated precision–recall curve is above the other, and where not."""
    ours, theirs = (_curve(table, run) for run in (system, reference))
    differences = np.round(ours - theirs, 12)
    above, below = differences > 0, differences < 0
    curves = "The interpolated precision–recall curves"
    if not above.any() and not below.any():
        return f"{curves} of {system} and {reference} are the same."
    if not below.any() or not above.any():
        upper, lower = (system, reference) if above.any() else (reference, system)
        same = _recall_points(~(above | below))
        where = "at all 11 recall points" if not same else f"at all recall points except {same}, where they are equal"
        return f"The interpolated precision–recall curve of {upper} is above that of {lower} {where}."
    equal = f", equal at {_recall_points(~(above | below))}" if not (above | below).all() else ""
    return (
        f"{curves} cross: {system} is above {reference} at recall {_recall_points(above)}, "
        f"below at {_recall_points(below)}{equal}."
    )


def _curve(table: ScoreTable, run: str) -> Floats:
    points = [np.nanmean(table.evaluate(IPrec(recall=point, rel=table.rel), run)) for point in _RECALL]
    return np.array(points)


def _recall_points(where: Bools) -> str:
    """Recall points as ranges.

    >>> _recall_points(np.array([True, True, True, False, True] + [False] * 6))
    '0–.2, .4'
    """
    texts = [format_probability(point) or "0" for point in _RECALL]
    parts, start = [], None
    for i, there in enumerate([*where.tolist(), False]):
        if there and start is None:
            start = i
        elif not there and start is not None:
            parts.append(texts[start] if start == i - 1 else f"{texts[start]}–{texts[i - 1]}")
            start = None
    return ", ".join(parts)
