"""What may be said of a comparison, in sentences: claims, doubts, what more topics would show, what users would notice.

The claim comes first and the doubt beside it; no p without its test, no difference without its interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Bools, Floats
from cranfield.errors import CranfieldError
from cranfield.evaluation import SAMPLES, TOP, Completions, Sampling, possible_grades
from cranfield.joining import join_run
from cranfield.measures import IPrec, P
from cranfield.stats.measure_comparison import CORRECTION_NAMES, TEST_NAMES, Column, Pair
from cranfield.stats.power import pilot_variance, smallest_difference, topics_needed
from cranfield.stats.score_table import ScoreTable, missing_notes

# with 25 topics a difference of .05 in AP is found 4 times in 10 (Urbano, Lima & Hanjalic, SIGIR 2019)
FEW_TOPICS = 25
MOST_BOUNDED = 2000  # topics for which it is worked out what unjudged documents could change
JUDGED_APART = 0.02  # a difference in judged documents that is worth a warning
POWER = 0.8
_MOST_NAMES = 6
_NEAR = 0.05  # how far, of itself, what is said of users may be off
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


def claims(
    tables: Mapping[str, ScoreTable], columns: Sequence[Column], references: Sequence[str], percent: bool = False
) -> Iterator[Claim]:
    """What may be claimed and what may not, measure by measure; then curves, and what a user would notice."""
    for column in columns:
        if column.tested and column.scored.is_quality:
            yield from _of_column(column, references, _Figures(column, percent))
    for collection, table in tables.items():
        for system, reference in _told_apart(collection, columns, references) if table.has_runs else ():
            yield from _of_runs(collection, table, system, reference)


def warnings(
    tables: Mapping[str, ScoreTable], columns: Sequence[Column], references: Sequence[str], percent: bool = False
) -> Iterator[str]:
    """What speaks against taking the figures at their face value."""
    several = len(tables) > 1
    for collection, table in tables.items():
        own = [column for column in columns if column.collection == collection]
        for text in _of_table(table, own, references, percent):
            yield f"{collection}: {text}" if several else text
    yield from _disagreements(columns)


def shown_pairs(column: Column, references: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs that are told in full: with each reference, or of all pairs those with the best system."""
    names = column.names
    if references:
        return [(names[i], names[j]) for i, j in column.tested]
    if not column.tested:
        return []
    best = names[column.order[0]]
    return [(best, names[i]) for i in column.order[1:]]


def needed_topics(pair: Pair) -> int | None:
    """How many topics a difference like this takes by an uncorrected t-test; None if no number does, or unknown."""
    return topics_needed(pair.difference, pair.effect.sd, POWER, pair.alpha) if pair.effect.sd else None


def shown_difference(pair: Pair) -> float | None:
    """The smallest difference that as many topics show by an uncorrected t-test; None without spread."""
    sd = pair.effect.sd
    unit = _unit_difference(pair.n, pair.alpha) if sd else None
    return sd * unit if sd and unit else None


@lru_cache
def _unit_difference(n: int, alpha: float) -> float | None:
    """The smallest difference that shows, in standard deviations of differences."""
    return smallest_difference(n, 1.0, POWER, alpha)


def p_text(p: float) -> str:
    """A p-value as it is printed in a sentence.

    >>> p_text(0.0034), p_text(0.00002), p_text(0.412), p_text(1.0)
    ('p = .003', 'p < .001', 'p = .41', 'p = 1')
    """
    figure = p_figure(p)
    return f"p {figure}" if figure.startswith("<") else f"p = {figure}"


def p_figure(p: float) -> str:
    """A p-value as it is printed in a table.

    >>> p_figure(0.0034), p_figure(0.00002), p_figure(0.412), p_figure(1.0)
    ('.003', '< .001', '.41', '1')
    """
    if p < 0.001:
        return "< .001"
    if p >= 0.995:
        return "1"
    near = abs(p - 0.05) < 0.0005  # on which side of the usual level p is must be seen
    return f"{p:.{4 if near else 3 if p < 0.0995 else 2}f}".removeprefix("0")


class _Figures:
    """How the differences of a column are written."""

    def __init__(self, column: Column, percent: bool) -> None:
        self.scale = 100 if percent and column.is_share else 1
        self.unit = " points" if self.scale == 100 else ""

    def amount(self, value: float) -> str:
        """An amount without its sign, with as many decimals as it takes to tell it from 0."""
        size = abs(value) * self.scale
        return f"{size:,.{self._places(size)}f}"

    def mean(self, value: float) -> str:
        """A mean, with the decimals of differences."""
        return _signed(value * self.scale, 1 if self.scale == 100 else 3)

    def between(self, low: float | None, high: float | None, size: float) -> str:
        """An interval, written like the difference it is of."""
        if low is None or high is None:
            return ""
        places = self._places(abs(size) * self.scale)
        return f" [{_signed(low * self.scale, places)}, {_signed(high * self.scale, places)}]"

    def _places(self, size: float) -> int:
        usual = 1 if self.scale == 100 else 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
        if size == 0 or round(size, usual) > 0:
            return usual
        return min(12, -math.floor(math.log10(size)))


def _signed(value: float, places: int) -> str:
    text = f"{value:,.{places}f}"
    # a minus sign, and none before 0
    return text.replace("-", "" if not text.strip("-0.,") else "−")


def _of_column(column: Column, references: Sequence[str], figures: _Figures) -> Iterator[Claim]:
    if not references:
        yield from _of_all_pairs(column, figures)
        return
    seen = set()
    for system, reference in shown_pairs(column, references):
        if (reference, system) not in seen:
            seen.add((system, reference))
            yield _of_pair(column, column.pair(system, reference), figures)


def _of_pair(column: Column, pair: Pair, figures: _Figures) -> Claim:
    decided = pair.verdict != "undecided"
    text = _claimed(column, pair, figures) if decided else _not_claimed(column, pair, figures)
    kind: Kind = "claim" if decided else "no claim"
    return Claim(kind, text, column.collection, column.label, pair.system, pair.reference)


def _claimed(column: Column, pair: Pair, figures: _Figures) -> str:
    more = "more" if pair.difference > 0 else "less"
    verb = "finds" if column.scored.more_is_better and column.is_share else "has"
    less = "" if column.scored.more_is_better else ", less being better"
    return (
        f"{_on(column)}{pair.system} {verb} {figures.amount(pair.difference)}{figures.unit} {more} {column.label} than "
        f"{pair.reference}{_interval(pair, figures)}{less}, {_topics(pair)}, {_p(column, pair)}."
    )


def _not_claimed(column: Column, pair: Pair, figures: _Figures) -> str:
    both = f"{_on(column)}{pair.system} and {pair.reference}"
    if pair.is_identical:
        return f"{both} have the same {column.label} on all of {pluralize(pair.n, 'topic')}: there is nothing to claim."
    more = "more" if pair.difference >= 0 else "less"
    amount = f"{figures.amount(pair.difference)}{figures.unit} {more} for {pair.system}{_interval(pair, figures)}"
    said = f"{both} cannot be told apart by {column.label}: {amount}, {_topics(pair)}, {_p(column, pair)}."
    return f"{said} {_needed(column, pair, figures)}"


def _on(column: Column) -> str:
    return f"On {column.collection}, " if column.collection else ""


def _interval(pair: Pair, figures: _Figures) -> str:
    """The interval of the amount that is told, which has no sign."""
    if pair.low is None or pair.high is None:
        return ""
    low, high = (pair.low, pair.high) if pair.difference >= 0 else (-pair.high, -pair.low)
    return figures.between(low, high, pair.difference)


def _topics(pair: Pair) -> str:
    if pair.gain >= 0:
        return f"better on {pair.effect.wins:,} of {pluralize(pair.n, 'topic')}"
    return f"worse on {pair.effect.losses:,} of {pluralize(pair.n, 'topic')}"


def _p(column: Column, pair: Pair) -> str:
    """The p-value with its test, its correction, and what the test beside it says."""
    design = column.design
    how = pair.test
    if design.is_tukey:
        how += f", {pluralize(pair.family, 'pair')}"
    elif pair.family > 1 and design.is_max_t:
        how += f", {pluralize(pair.family, 'comparison')}"
    elif pair.family > 1:
        how += f", {CORRECTION_NAMES[pair.correction]}, {pluralize(pair.family, 'comparison')}"
    name = TEST_NAMES[design.beside].removeprefix("paired ").removesuffix(" test").removesuffix("-test")
    name += " with Holm" if design.is_max_t and pair.family > 1 else ""
    return f"{p_text(pair.p_adjusted)} ({how}; {name} {p_figure(pair.p_beside_adjusted)})"


def _needed(column: Column, pair: Pair, figures: _Figures) -> str:
    """What it would take to tell two systems apart, and what the topics at hand can tell."""
    if pair.n < 2:
        return "One topic shows nothing about others."
    if not pair.effect.sd:
        return f"All {pair.n:,} topics agree, but they are too few to show it."
    needed, smallest = needed_topics(pair), shown_difference(pair)
    assert smallest is not None
    power = f"power .8, t-test{', uncorrected' if pair.family > 1 else ''}"
    topics = pluralize(pair.n, "topic")
    at_hand = f"{topics} show one of {figures.amount(smallest)}{figures.unit} or more"
    if smallest > column.largest_difference:
        at_hand = f"{topics} are too few for any"
    if needed is None:
        return f"No number of topics would show a difference of 0; {at_hand} ({power})."
    if needed <= pair.n:
        takes = f"a difference of this size would take {pluralize(needed, 'topic')}"
        return f"By itself, {takes} (power .8, t-test, uncorrected)."
    return f"A difference of this size would take {pluralize(needed, 'topic')}; {at_hand} ({power})."


def _of_all_pairs(column: Column, figures: _Figures) -> Iterator[Claim]:
    alpha = f"{column.design.alpha:g}".removeprefix("0")
    number = math.comb(len(column.names), 2)
    differing = int(column.significant.sum()) // 2
    how = f"{column.design.method}, α = {alpha}"
    if not column.design.is_tukey:
        how += f", {CORRECTION_NAMES[column.design.correction]}"
    verb = "differs" if differing == 1 else "differ"
    counts = f"{differing:,} of {pluralize(number, 'pair')} of systems {verb} in {column.label} ({how})."
    yield Claim("all pairs", f"{_on(column)}{counts}", column.collection, column.label)
    pairs = [column.pair(system, other) for system, other in shown_pairs(column, ())]
    better = [pair for pair in pairs if pair.verdict == "better"]
    rest = [pair for pair in pairs if pair.verdict != "better"]
    if better:
        yield Claim("claim", _best_of(column, better, figures), column.collection, column.label, pairs[0].system)
    if rest:
        yield Claim("no claim", _not_best_of(column, rest, figures), column.collection, column.label, pairs[0].system)
    yield from _of_design(column, figures)


def _best_of(column: Column, better: Sequence[Pair], figures: _Figures) -> str:
    nearest = better[0]
    first = _claimed(column, nearest, figures)
    if len(better) == 1:
        return first
    worst = p_figure(max(pair.p_adjusted for pair in better))
    each = f"p {worst}" if worst.startswith("<") else f"p ≤ {worst}"
    others = _names([pair.reference for pair in better[1:]])
    return f"{first} It is also better than {others} ({each})."


def _not_best_of(column: Column, rest: Sequence[Pair], figures: _Figures) -> str:
    best, nearest = rest[0].system, rest[0]
    first = _not_claimed(column, nearest, figures)
    others = [pair.reference for pair in rest[1:]]
    if not others:
        return first
    lowest = p_figure(min(pair.p_adjusted for pair in rest[1:]))
    each = f"p {lowest}" if lowest.startswith("<") else "p = 1" if lowest == "1" else f"p ≥ {lowest}"
    return f"{first} Nor can {best} be told from {_names(others)} ({each})."


def _of_design(column: Column, figures: _Figures) -> Iterator[Claim]:
    """What the topics at hand can show between two systems like these."""
    if column.n < 2:
        return
    sd = pilot_variance(column.scores).sd_of_differences
    smallest = smallest_difference(column.n, sd, POWER, column.design.alpha)
    if smallest and smallest > column.largest_difference:
        text = f"{_on(column)}{pluralize(column.n, 'topic')} are too few to show any difference in {column.label}."
        yield Claim("design", text, column.collection, column.label)
    elif smallest:
        amount = f"{figures.amount(smallest)}{figures.unit} in {column.label}"
        text = (
            f"{_on(column)}{pluralize(column.n, 'topic')} show a difference of {amount} between two systems like these "
            "with power .8 (t-test of one pair, uncorrected)."
        )
        yield Claim("design", text, column.collection, column.label)


def _names(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES + 1:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _told_apart(collection: str, columns: Sequence[Column], references: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs whose runs are looked at: those with references, or the best and the one after it."""
    own = [column for column in columns if column.collection == collection and column.scored.is_quality]
    column = next((column for column in own if column.tested), None)
    if column is None:
        return []
    pairs = shown_pairs(column, references)
    once = [pair for i, pair in enumerate(pairs) if pair[::-1] not in pairs[:i]]
    return once if references else once[:1]


def _of_runs(collection: str, table: ScoreTable, system: str, reference: str) -> Iterator[Claim]:
    on = f"On {collection}, " if collection else ""
    if table.reaches(system) and table.reaches(reference):
        text = _curves(table, system, reference)
        yield Claim("curve", f"{on}{text}" if on else _capital(text), collection, "", system, reference)
    text = f"{'w' if on else 'W'}hat a user of {system} rather than {reference} would notice"
    yield Claim("user", f"{on}{text}: {_noticed(table, system, reference)}.", collection, "", system, reference)


def _curves(table: ScoreTable, system: str, reference: str) -> str:
    """Whether one averaged interpolated precision–recall curve is above the other, and where not."""
    ours, theirs = (_curve(table, run) for run in (system, reference))
    apart = np.round(ours - theirs, 12)
    above, below = apart > 0, apart < 0
    curves = "the interpolated precision–recall curves"
    if not above.any() and not below.any():
        return f"{curves} of {system} and {reference} are the same."
    if not below.any() or not above.any():
        upper, lower = (system, reference) if above.any() else (reference, system)
        same = _points(~(above | below))
        where = "at all 11 recall points" if not same else f"at all recall points but {same}, where they are equal"
        return f"the interpolated precision–recall curve of {upper} is above that of {lower} {where}."
    equal = f", equal at {_points(~(above | below))}" if not (above | below).all() else ""
    return (
        f"{curves} cross: {system} is above {reference} at recall {_points(above)}, below at {_points(below)}{equal}."
    )


def _curve(table: ScoreTable, run: str) -> Floats:
    found = [np.nanmean(table.measured(IPrec(recall=point, rel=table.rel), run)) for point in _RECALL]
    return np.array(found)


def _points(where: Bools) -> str:
    """Recall points as ranges.

    >>> _points(np.array([True, True, True, False, True] + [False] * 6))
    '0–.2, .4'
    """
    texts = [f"{point:g}".removeprefix("0") or "0" for point in _RECALL]
    parts, start = [], None
    for i, there in enumerate([*where.tolist(), False]):
        if there and start is None:
            start = i
        elif not there and start is not None:
            parts.append(texts[start] if start == i - 1 else f"{texts[start]}–{texts[i - 1]}")
            start = None
    return ", ".join(parts)


def _noticed(table: ScoreTable, system: str, reference: str) -> str:
    """What a user would see in the first ten documents, and in the first."""
    top, first = (_shared_difference(table, k, system, reference) for k in (TOP, 1))
    found = _documents(top * TOP)
    return f"{found}; first result right {_often(first)}"


def _often(first: float) -> str:
    """For how many more queries the first result is right, of as many as it takes to tell.

    >>> _often(0.025), _often(-0.01), _often(0.0004), _often(0.0)
    ('for 3 more queries in 100', 'for 1 fewer query in 100', 'for 4 more queries in 10,000', 'as often')
    """
    if abs(first) < 1e-9:
        return "as often"
    of = 100
    while not (right := _half_up(of * abs(first))):
        of *= 10
    return f"for {right:,} {'more' if first > 0 else 'fewer'} {'query' if right == 1 else 'queries'} in {of:,}"


def _half_up(value: float) -> int:
    """A whole number, halves going up; 2.5 may be 2.4999999999999996 to a computer."""
    return math.floor(value + 0.5 + 1e-9)


def _shared_difference(table: ScoreTable, k: int, system: str, reference: str) -> float:
    measure = P(cutoff=k, rel=table.rel)
    return float(np.nanmean(table.measured(measure, system) - table.measured(measure, reference)))


def _documents(each: float) -> str:
    """How many more relevant documents a query has in its first ten, as one would say it.

    >>> _documents(0.26)
    'one more relevant document in the top 10 for every 4 queries'
    >>> _documents(-0.66)
    '2 fewer relevant documents in the top 10 for every 3 queries'
    >>> _documents(-0.9)
    '9 fewer relevant documents in the top 10 for every 10 queries'
    """
    size = abs(each)
    more = "more" if each > 0 else "fewer"
    if size < 1e-9:
        return f"as many relevant documents in the top {TOP}"
    if size > 1 + _NEAR:
        return f"{_half_up(10 * size) / 10:,.1f} {more} relevant documents in the top {TOP} for every query"
    share = _near_share(size)
    number = f"one {more} relevant document" if share.numerator == 1 else f"{share.numerator} {more} relevant documents"
    every = "query" if share.denominator == 1 else pluralize(share.denominator, "query")
    return f"{number} in the top {TOP} for every {every}"


def _near_share(size: float) -> Fraction:
    """The simplest share that is near enough: of few queries, one of more, of ten, of a hundred.

    >>> [str(_near_share(size)) for size in (0.98, 0.74, 0.9, 0.17, 0.18, 0.0123)]
    ['1', '3/4', '9/10', '1/6', '9/50', '1/81']
    """
    one_of = Fraction(1, max(1, _half_up(1 / size)))
    few, more = ([Fraction(_half_up(size * of), of) for of in some] for some in (range(1, 6), (10, 100)))
    near = (share for share in (*few, one_of, *more) if abs(share - size) <= _NEAR * size)
    return next(near, one_of)


def _of_table(table: ScoreTable, columns: Sequence[Column], references: Sequence[str], percent: bool) -> Iterator[str]:
    absent = [name for name in references if name not in table.runs]
    if absent:
        one = "is" if len(absent) == 1 else "are"
        yield f"{_names(absent)} {one} not among the systems here, so that nothing is compared with {_it(absent)}."
    for column in columns:
        lacking = [run for run in table.runs if run not in column.names]
        if lacking:
            yield f"{column.label}: {_names(lacking)} left out, having no score for any topic."
    yield from _dropped(columns)
    yield from missing_notes(table)
    fewest = min(column.n for column in columns)
    if fewest < FEW_TOPICS:
        yield f"{pluralize(fewest, 'topic')} {'is' if fewest == 1 else 'are'} few: only large differences show."
    first = next((column for column in columns if column.scored.is_quality and column.tested), None)
    if first is not None and table.has_runs:
        yield from _unjudged(table, first, references, _Figures(first, percent))


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _dropped(columns: Sequence[Column]) -> Iterator[str]:
    """Topics left out, told once for the measures that agree."""
    labels: dict[tuple[str, ...], list[str]] = {}
    for column in columns:
        if column.dropped:
            labels.setdefault(column.dropped, []).append(column.label)
    for dropped, of in labels.items():
        left = next(column.n for column in columns if column.dropped == dropped)
        which = "" if len(of) == len(columns) else f"{_names(of)}: "
        yield (
            f"{which}{pluralize(len(dropped), 'topic')} left out, as some system has no score there: "
            f"{join_names(dropped)}; {left:,} remain."
        )


def _unjudged(table: ScoreTable, column: Column, references: Sequence[str], figures: _Figures) -> Iterator[str]:
    """Pairs of which one has been judged less, and what its unjudged documents could change."""
    share = dict(zip(column.names, column.judged, strict=True))
    apart = []
    for system, reference in shown_pairs(column, references):
        ours, theirs = share[system], share[reference]
        if ours is not None and theirs is not None and abs(ours - theirs) >= JUDGED_APART:
            apart.append((abs(ours - theirs), system, reference))
    if not apart:
        return
    names = dict.fromkeys(name for _, *pair in apart for name in pair)
    shares = ", ".join(f"{name} {100 * (share[name] or 0):.1f} %" for name in names)
    yield f"Judged in the top {TOP}: {shares}. Unjudged documents may explain differences between them."
    apart.sort(reverse=True)
    told = set()
    for _, system, reference in apart[:5]:
        if (reference, system) not in told:
            told.add((system, reference))
            yield from _could_vanish(table, column, (system, reference), share, figures)


def _could_vanish(
    table: ScoreTable, column: Column, pair: tuple[str, str], share: Mapping[str, float | None], figures: _Figures
) -> Iterator[str]:
    """Whether the difference would remain if what the lower system retrieved unjudged were relevant."""
    means = dict(zip(column.names, column.means, strict=True))
    direction = column.scored.direction
    upper, lower = sorted(pair, key=lambda name: -direction * means[name])
    if means[upper] == means[lower]:
        return
    amount = f"{figures.mean(abs(means[upper] - means[lower]))}{figures.unit}"
    if (share[lower] or 0) >= (share[upper] or 0):
        yield f"{upper} is ahead of {lower} in {column.label} although less of it is judged."
        return
    reach = _reach(table, column, lower)
    if reach is None:
        return
    reached, had = figures.mean(reach), figures.mean(means[upper])
    would = f"{lower} would reach {reached} if its unjudged documents were relevant, {upper} has {had}"
    vanish = direction * (reach - means[upper]) >= 0
    yield f"The difference of {amount} in {column.label} {'could vanish' if vanish else 'would remain'}: {would}."


def _reach(table: ScoreTable, column: Column, run: str) -> float | None:
    """The best mean a run could have if every unjudged document were judged; None if that cannot be told."""
    measure, scores = column.scored.measure, table.scores
    if measure is None or scores is None or len(scores.queries) > MOST_BOUNDED:
        return None
    own = next(one for one in scores.runs if one.name == run)
    sources = own.judged.sources
    try:
        dense = join_run(sources.qrels, sources.run, own.judged.joining, sources.extras, dense=True)
        known = dict(zip(scores.queries, own.values[scores.labels.index(column.label)].tolist(), strict=True))
        values = np.array([known.get(query, 0.0) for query in dense.queries])
        completions = Completions(dense, possible_grades(sources.qrels), Sampling(SAMPLES, column.design.seed))
        found = completions.bounds(measure, values)
    except CranfieldError:  # a run that cannot be read twice, or a measure without bounds
        return None
    kept = set(column.queries)
    at = [i for i, query in enumerate(dense.queries) if query in kept]
    reach = float(np.mean((found.high if column.scored.more_is_better else found.low)[at]))
    return reach if math.isfinite(reach) else None


def _disagreements(columns: Sequence[Column]) -> Iterator[str]:
    """Comparisons that another test, shown beside, would decide otherwise."""
    apart = [text for column in columns for text in _disagreeing(column)]
    if apart:
        design = columns[0].design
        alpha = f"{design.alpha:g}".removeprefix("0")
        number = sum(1 for column in columns for place in column.tested if column.is_first(place))
        shown = ", ".join(apart[:3]) + (f" and {len(apart) - 3:,} more" if len(apart) > 3 else "")
        yield (
            f"{_capital(design.method)} and {TEST_NAMES[design.beside]} disagree at α = {alpha} "
            f"about {len(apart):,} of {pluralize(number, 'comparison')}: {shown}."
        )


def _disagreeing(column: Column) -> Iterator[str]:
    alpha, names = column.design.alpha, column.names
    for (i, j), tested in column.tested.items():
        if column.is_first((i, j)) and (tested.adjusted <= alpha) != (tested.beside_adjusted <= alpha):
            both = f"p {p_figure(tested.adjusted)} and {p_figure(tested.beside_adjusted)}"
            yield f"{column.title} of {names[i]} and {names[j]} ({both})"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
