"""Compare systems on all measures and collections: comparisons, warnings, claims, the caption; and leaderboards."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from cranfield.base import Record, replace, suggest
from cranfield.errors import CranfieldError
from cranfield.evaluation import Scores
from cranfield.io import ScoreRows, read_frame
from cranfield.stats.claims import Claim, find_claims
from cranfield.stats.comparison_warnings import find_warnings
from cranfield.stats.measure_comparison import (
    RANK_TESTS,
    TUKEY,
    Design,
    Family,
    MeasureComparison,
    PairComparison,
    compare_systems,
    correct_pvalues,
)
from cranfield.stats.multiple import CORRECTIONS, RESAMPLES
from cranfield.stats.score_table import ScoreTable, as_score_table
from cranfield.tables import format_probability


class CollectionMean(Record):
    """The mean of a system over the collections it was evaluated on."""

    system: str
    measure: str
    mean: float
    present: int  # on how many collections it has a mean
    collections: int  # of how many


class Comparison(Record, eq=False):
    """Systems on each measure, every comparison between them, and what may be concluded.

    >>> found = compare({"bm25": {"AP": {"1": 0.1, "2": 0.4, "3": 0.2}}, "rm3": {"AP": {"1": 0.2, "2": 0.5, "3": 0.4}}})
    >>> pair = found.pair("rm3", "bm25", "AP")
    >>> round(pair.difference, 4), round(pair.p, 4), pair.effect.wins
    (0.1333, 0.0572, 3)
    """

    design: Design
    references: tuple[str, ...]  # the baselines; empty where all pairs are compared
    tables: Mapping[str, ScoreTable]  # by collection; of a single one the name is empty
    columns: tuple[MeasureComparison, ...]

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """All systems, in the order of the scores."""
        return tuple(dict.fromkeys(run for table in self.tables.values() for run in table.runs))

    @property
    def collections(self) -> tuple[str, ...]:
        return tuple(self.tables)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column.label for column in self.columns))

    @cached_property
    def pairs(self) -> tuple[PairComparison, ...]:
        """All comparisons made."""
        return tuple(pair for column in self.columns for pair in column.pairs)

    def column(self, measure: str | None = None, collection: str | None = None) -> MeasureComparison:
        """One measure on one collection; the first that matches."""
        for column in self.columns:
            if measure in (None, column.label) and collection in (None, column.collection):
                return column
        where = f" on {collection!r}" if collection else ""
        known = ", ".join(self.measures)
        raise CranfieldError(f"measure {measure!r}{where} was not compared: expected one of {known}.")

    def pair(
        self, system: str, reference: str, measure: str | None = None, collection: str | None = None
    ) -> PairComparison:
        """A system against another on a measure, by default the first."""
        return self.column(measure, collection).pair(system, reference)

    def collection_mean(self, system: str, measure: str) -> CollectionMean | None:
        """The mean over the collections on which a system has this measure; None if it has it on none."""
        means = [
            column.means[column.names.index(system)]
            for column in self.columns
            if column.label == measure and system in column.names
        ]
        if not means:
            return None
        return CollectionMean(system, measure, math.fsum(means) / len(means), len(means), len(self.collections))

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What may be claimed, what may not, and what a user would notice."""
        return tuple(find_claims(self.tables, self.columns, self.references))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Why the numbers may be misleading."""
        return tuple(find_warnings(self.tables, self.columns, self.references))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What else a reader must know about the files and the test."""
        of_tables = (f"{name}: {note}" if name else note for name, table in self.tables.items() for note in table.notes)
        of_method = _share_notes(self.design.method, self.columns, [column.note for column in self.columns])
        of_pairs = _share_notes(self.design.method, self.columns, [column.remark for column in self.columns])
        return tuple(dict.fromkeys((*of_tables, *of_method, *of_pairs)))

    @cached_property
    def caption(self) -> str:
        """What the numbers of a table are: topics, test, correction, α, seed, conventions."""
        return " ".join(_caption(self))

    @cached_property
    def board_caption(self) -> str:
        """The same for a table without differences."""
        return " ".join(_caption(self, differences=False))

    def __str__(self) -> str:
        return "\n".join(claim.text for claim in self.claims)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column.title)}</th>" for column in self.columns)
        body = "".join(
            f"<tr><th>{html.escape(system)}</th>{''.join(_html_cell(c, system) for c in self.columns)}</tr>"
            for system in self.systems
        )
        claims = "".join(f"<li>{html.escape(claim.text)}</li>" for claim in self.claims)
        table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{html.escape(self.caption)}</p><ul>{claims}</ul>"


def compare(
    scores: Any,
    baseline: str | Sequence[str] | None = None,
    *,
    measures: Sequence[str] | None = None,
    test: str | None = None,
    correction: str | None = None,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    seed: int = 1,
    tolerance: float = 0.0,
    family: Family = "column",
) -> Comparison:
    """Compare systems topic by topic: with one or more baselines, or all with each other.

    `scores` is the result of `evaluate`, {run: {measure: {query: value}}}, or a data frame with these as columns; for
    several collections {name: scores}, of any of these kinds. Without a baseline (None), two systems are compared with
    the paired t-test and, for comparison, the permutation test; more systems with the randomised Tukey HSD test. With
    baselines, systems are compared with the paired t-test and Holm's correction over all comparisons of one measure
    on one collection. An empty baseline, (), asks for all pairs even of two systems.
    """
    tables = _as_tables(scores)
    if measures is not None:
        tables = {name: table.only(measures) for name, table in tables.items()}
    systems = list(dict.fromkeys(run for table in tables.values() for run in table.runs))
    if len(systems) < 2:
        raise CranfieldError(f"there is only one system, {systems[0]!r}: a comparison needs at least two.")
    references = _find_references(baseline, systems)
    if baseline is None and len(systems) == 2:
        references = (systems[0],)  # the second is compared with the first
    test = test or ("t" if references else "tukey")
    correction = correction or ("none" if test in TUKEY else "holm")
    if correction == "maxt" and not references:
        raise CranfieldError("MaxT corrects comparisons with a baseline: name one, or leave out the correction.")
    return _compare(tables, references, Design(test, correction, alpha, resamples, seed, tolerance, family))


def _compare(tables: Mapping[str, ScoreTable], references: Sequence[str], design: Design) -> Comparison:
    columns = [
        compare_systems(table, at, name, references, design)
        for name, table in tables.items()
        for at in range(len(table.measures))
    ]
    return Comparison(design, tuple(references), tables, tuple(correct_pvalues(columns)))


class LeaderboardEntry(Record):
    """A system's place in a leaderboard."""

    system: str
    rank: int | None  # None where it lacks a split that the rank depends on
    mean: float  # over the splits it was evaluated on
    present: int  # the number of these splits
    ranks: tuple[int | None, ...]  # on each split


class Leaderboard(Record, eq=False):
    """Systems ranked by one measure on one split or several."""

    comparison: Comparison  # of that measure alone
    measure: str
    by: str | None  # the split that decides; None for the mean over all
    entries: tuple[LeaderboardEntry, ...]


def rank_systems(
    scores: Any, by: str | None = None, *, alpha: float = 0.05, resamples: int = RESAMPLES, seed: int = 1
) -> Leaderboard:
    """Rank systems, even a single one, by the first measure of their scores; Tukey's test compares all pairs.

    >>> [(entry.rank, entry.system, entry.mean) for entry in rank_systems({"a": {"RR": {"1": 0.5, "2": 1.0}}}).entries]
    [(1, 'a', 0.75)]
    """
    return make_leaderboard(_compare(_as_tables(scores), (), Design("tukey", "none", alpha, resamples, seed)), by)


def make_leaderboard(comparison: Comparison, by: str | None = None) -> Leaderboard:
    """Rank the systems of a comparison by its first measure, on one split or by the mean over all.

    >>> scores = {"a": {"RR": {"1": 0.5}}, "b": {"RR": {"1": 1.0}}, "c": {"RR": {"1": 0.5}}}
    >>> [(entry.rank, entry.system) for entry in make_leaderboard(compare(scores)).entries]
    [(1, 'b'), (2, 'a'), (2, 'c')]
    """
    if by is not None and by not in comparison.collections:
        known = ", ".join(comparison.collections)
        expected = f"expected one of {known}" if known else "the scores are of one collection, without splits"
        raise CranfieldError(f"there is no split {by!r} to rank by: {expected}.")
    measure = comparison.measures[0]
    columns = [column for column in comparison.columns if column.label == measure]
    direction = columns[0].scored.direction
    only = replace(comparison, columns=tuple(columns))
    means = {s: m for s in only.systems if (m := only.collection_mean(s, measure)) is not None}
    ranks_on_splits = [_ranks(dict(zip(c.names, c.means, strict=True)), direction) for c in columns]
    if by is None:
        ranks = _ranks({s: m.mean for s, m in means.items() if m.present == len(columns)}, direction)
    else:
        ranks = ranks_on_splits[columns.index(only.column(measure, by))]
    entries = [
        LeaderboardEntry(s, ranks.get(s), mean.mean, mean.present, tuple(own.get(s) for own in ranks_on_splits))
        for s, mean in means.items()
    ]
    entries.sort(key=lambda s: (s.rank is None, s.rank or 0, -direction * s.mean if s.rank is None else 0))
    return Leaderboard(only, measure, by, tuple(entries))


def _ranks(means: Mapping[str, float], direction: int) -> dict[str, int]:
    """Ranks from 1 for the best; equal means share the better rank, and the ranks after it are skipped."""
    gains = {system: round(direction * mean, 12) for system, mean in means.items()}
    return {system: 1 + sum(other > gain for other in gains.values()) for system, gain in gains.items()}


def _as_tables(scores: Any) -> dict[str, ScoreTable]:
    """One table, or those of several collections by name."""
    if isinstance(scores, Mapping) and scores and all(_is_collection(own) for own in scores.values()):
        return {str(name): as_score_table(own) for name, own in scores.items()}
    table = as_score_table(scores)
    if not table.runs:
        raise CranfieldError("there are no systems to compare.")
    return {"": table}


def _is_collection(scores: Any) -> bool:
    """Whether these are scores of systems, rather than the measures of one."""
    if isinstance(scores, Scores | ScoreTable | ScoreRows):
        return True
    if not isinstance(scores, Mapping):
        return not isinstance(scores, str) and read_frame(scores) is not None
    inner = list(scores.values())
    if any(isinstance(own, Mapping) for own in inner):
        # {run: {measure: {query: value}}} has mappings one level deeper than {measure: {query: value}}
        return any(isinstance(leaf, Mapping) for own in inner if isinstance(own, Mapping) for leaf in own.values())
    return bool(inner) and all(hasattr(own, "__len__") and not isinstance(own, str) for own in inner)  # columns


def _find_references(baseline: str | Sequence[str] | None, systems: Sequence[str]) -> tuple[str, ...]:
    names = () if baseline is None else (baseline,) if isinstance(baseline, str) else tuple(baseline)
    for name in names:
        if name not in systems:
            hint = suggest(name, systems)
            raise CranfieldError(f"the baseline {name!r} is not among the systems: {', '.join(systems)}.{hint}")
    return tuple(dict.fromkeys(names))


def _caption(comparison: Comparison, differences: bool = True) -> list[str]:
    design, columns = comparison.design, comparison.columns
    parts = [f"Means over {_topics(comparison)} with {100 * design.level:g} % intervals (Student's t)."]
    if any(column.tested for column in columns):
        parts.append(_significance(comparison))
        parts += [_second_test(comparison), _tolerance(design)] if differences else []
    else:
        parts.append("Nothing was compared: no collection has two systems.")
    parts.append(_conventions(comparison))
    return [sentence for sentence in parts if sentence]


def _topics(comparison: Comparison) -> str:
    """The number of topics, for each collection if there are several."""
    numbers: dict[str, set[int]] = {}
    for column in comparison.columns:
        numbers.setdefault(column.collection, set()).add(column.n)
    texts = {name: f"{_range(own)} topic{'' if own == {1} else 's'}" for name, own in numbers.items()}
    if set(numbers) == {""}:
        return texts[""]
    return ", ".join(f"{text} ({name})" for name, text in texts.items())


def _significance(comparison: Comparison) -> str:
    design = comparison.design
    what = (
        f"Differences from {' and '.join(comparison.references)}"
        if comparison.references
        else "Differences of all pairs"
    )
    drawn = _resamples(design, [pair.details for pair in comparison.pairs])
    return f"{what}: {design.method}, α = {format_probability(design.alpha)}, {_correction(comparison)}{drawn}."


def _correction(comparison: Comparison) -> str:
    design = comparison.design
    sizes = {column.family for column in comparison.columns if column.tested}
    number = _range(sizes)
    if design.is_tukey:
        return f"p corrected for all {number} pairs in a column"
    if sizes == {1}:
        return "one comparison per column, uncorrected"
    over = "in the table" if design.family == "table" else "in a column"
    if design.correction == "none":
        return f"p not corrected for the {number} comparisons {over}"
    if design.is_max_t:
        return f"p corrected for the {number} comparisons {over} together"
    return f"p corrected with {CORRECTIONS[design.correction].title} for the {number} comparisons {over}"


def _second_test(comparison: Comparison) -> str:
    design = comparison.design
    drawn = _resamples(design, [pair.beside_details for pair in comparison.pairs])
    holm = ", Holm-corrected" if design.is_max_t and any(column.family > 1 for column in comparison.columns) else ""
    intervals = "simultaneous" if design.is_tukey else "for each difference alone, uncorrected"
    if design.is_max_t or design.test in RANK_TESTS:
        intervals = f"Student's t, since this test has none of its own, {intervals}"
    elif any(pair.interval is None for pair in comparison.pairs):
        intervals += "; – where the test has none"
    return f"Second test: {design.beside_name}{holm}{drawn}. Intervals of differences are {intervals}."


def _resamples(design: Design, details: Sequence[Mapping[str, Any]]) -> str:
    """How many permutations a test tried, if it was all of them, or how many resamples it drew and from which seed."""
    known = {(own["exact"], own["resamples"]) for own in details if own.get("resamples")}
    tried, drawn = ({number for exact, number in known if exact is wanted} for wanted in (True, False))
    parts = []
    if tried:
        what = "permutations of scores within topics" if any("V_E" in own for own in details) else "sign flips"
        parts.append("the only permutation of scores" if tried == {1} else f"all {_range(tried)} {what}")
    if drawn:
        parts.append(f"{_range(drawn)} resamples, seed {design.seed}")
    return f" ({' or '.join(parts)})" if parts else ""


def _range(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _share_notes(method: str, columns: Sequence[MeasureComparison], texts: Sequence[str]) -> list[str]:
    """Each note about a method once, with the columns it applies to if there are several notes."""
    titles: dict[str, list[str]] = {}
    for column, text in zip(columns, texts, strict=True):
        if text:
            titles.setdefault(text, []).append(column.title)
    if len(titles) == 1:
        return [f"{method}: {text}" for text in titles]
    return [f"{method}, {', '.join(of)}: {text}" for text, of in titles.items()]


def _tolerance(design: Design) -> str:
    tied = f"differ by at most {design.tolerance:g}" if design.tolerance else "are equal"
    return f"W/T/L: topics won, tied (scores {tied}), lost."


def _conventions(comparison: Comparison) -> str:
    conventions: dict[str, Any] = {}
    for table in comparison.tables.values():
        if table.scores is not None:
            conventions |= dict(table.scores.conventions)
    text = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in conventions.items())
    return f"Conventions: {text}." if text else ""


def _html_cell(column: MeasureComparison, system: str) -> str:
    if system not in column.names:
        return "<td>–</td>"
    score = column.systems[column.names.index(system)]
    mean = f"<b>{score.mean:.4f}</b>" if score.is_best else f"{score.mean:.4f}"
    return f"<td>{mean}</td>"
