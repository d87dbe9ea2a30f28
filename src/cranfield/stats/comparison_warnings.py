"""Warnings about a comparison: few topics, topics left out, unjudged documents, tests that disagree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cranfield.base import join_names, pluralize
from cranfield.errors import CranfieldError
from cranfield.evaluation import JUDGED_DEPTH, TIE_SAMPLES, Completions, Sampling, possible_grades
from cranfield.joining import join_run
from cranfield.stats.claims import ScoreFormat, capitalize, join_systems
from cranfield.stats.measure_comparison import MeasureComparison
from cranfield.stats.score_table import ScoreTable, missing_notes
from cranfield.tables import format_p, format_probability

# with 25 topics a difference of .05 in AP is found 4 times in 10 (Urbano, Lima & Hanjalic, SIGIR 2019)
FEW_TOPICS = 25
JUDGED_GAP = 0.02  # a difference in judged documents that is worth a warning
_MOST_BOUNDED = 2000  # topics for which the effect of unjudged documents is computed
_MOST_GAPS = 5  # pairs whose unjudged documents are looked at


def find_warnings(
    tables: Mapping[str, ScoreTable],
    columns: Sequence[MeasureComparison],
    references: Sequence[str],
    percent: bool = False,
) -> Iterator[str]:
    """Why the numbers of a comparison may be misleading."""
    for collection, table in tables.items():
        own = [column for column in columns if column.collection == collection]
        for text in _table_warnings(table, own, references, percent):
            yield f"{collection}: {text}" if len(tables) > 1 else text
    yield from _disagreements(columns)


def _table_warnings(
    table: ScoreTable, columns: Sequence[MeasureComparison], references: Sequence[str], percent: bool
) -> Iterator[str]:
    absent = [name for name in references if name not in table.runs]
    if absent:
        are, them = ("is", "it") if len(absent) == 1 else ("are", "them")
        yield f"{join_systems(absent)} {are} not among the systems here, so nothing is compared with {them}."
    for column in columns:
        lacking = [run for run in table.runs if run not in column.names]
        if lacking:
            yield f"{column.label}: {join_systems(lacking)} left out, without a score for any topic."
    yield from _dropped_topics(columns)
    yield from missing_notes(table)
    fewest = min(column.n for column in columns)
    if fewest < FEW_TOPICS:
        are = "is" if fewest == 1 else "are"
        yield f"{pluralize(fewest, 'topic')} {are} few: only large differences can be detected."
    first = next((column for column in columns if column.scored.is_quality and column.tested), None)
    if first is not None and table.has_runs:
        yield from _unjudged_documents(table, first, references, ScoreFormat(first, percent))


def _dropped_topics(columns: Sequence[MeasureComparison]) -> Iterator[str]:
    """Topics left out, once for all measures that lack the same ones."""
    labels: dict[tuple[str, ...], list[str]] = {}
    for column in columns:
        if column.dropped:
            labels.setdefault(column.dropped, []).append(column.label)
    for dropped, measures in labels.items():
        remaining = next(column.n for column in columns if column.dropped == dropped)
        which = "" if len(measures) == len(columns) else f"{join_systems(measures)}: "
        yield (
            f"{which}{pluralize(len(dropped), 'topic')} left out because some system has no score there: "
            f"{join_names(dropped)}; {remaining:,} remain."
        )


def _unjudged_documents(
    table: ScoreTable, column: MeasureComparison, references: Sequence[str], format: ScoreFormat
) -> Iterator[str]:
    """Pairs of which one has been judged less, and what its unjudged documents could change."""
    share = dict(zip(column.names, column.judged, strict=True))
    gaps = []
    for system, reference in column.reported_pairs(references):
        ours, theirs = share[system], share[reference]
        if ours is not None and theirs is not None and abs(ours - theirs) >= JUDGED_GAP:
            gaps.append((abs(ours - theirs), system, reference))
    if not gaps:
        return
    names = dict.fromkeys(name for _, *pair in gaps for name in pair)
    shares = ", ".join(f"{name} {100 * (share[name] or 0):.1f} %" for name in names)
    yield f"Judged in the top {JUDGED_DEPTH}: {shares}. Unjudged documents may explain differences between them."
    seen = set()
    for _, system, reference in sorted(gaps, reverse=True)[:_MOST_GAPS]:
        if (reference, system) not in seen:
            seen.add((system, reference))
            yield from _if_unjudged_were_relevant(table, column, (system, reference), share, format)


def _if_unjudged_were_relevant(
    table: ScoreTable,
    column: MeasureComparison,
    pair: tuple[str, str],
    share: Mapping[str, float | None],
    format: ScoreFormat,
) -> Iterator[str]:
    """Whether the difference would remain if the unjudged documents of the lower system were relevant."""
    means = dict(zip(column.names, column.means, strict=True))
    direction = column.scored.direction
    upper, lower = sorted(pair, key=lambda name: -direction * means[name])
    if means[upper] == means[lower]:
        return
    amount = f"{format.mean(abs(means[upper] - means[lower]))}{format.unit}"
    if (share[lower] or 0) >= (share[upper] or 0):
        yield f"{upper} is ahead of {lower} in {column.label} although fewer of its documents are judged."
        return
    reach = _highest_mean(table, column, lower)
    if reach is None:
        return
    would = (
        f"{lower} would reach {format.mean(reach)} if its unjudged documents were relevant, "
        f"{upper} has {format.mean(means[upper])}"
    )
    vanish = direction * (reach - means[upper]) >= 0
    yield f"The difference of {amount} in {column.label} {'could vanish' if vanish else 'would remain'}: {would}."


def _highest_mean(table: ScoreTable, column: MeasureComparison, run: str) -> float | None:
    """The best mean a run could have if every unjudged document were judged; None if that is unknown."""
    measure, scores = column.scored.measure, table.scores
    if measure is None or scores is None or len(scores.queries) > _MOST_BOUNDED:
        return None
    own = next(one for one in scores.runs if one.name == run)
    sources = own.judged.sources
    try:
        dense = join_run(sources.qrels, sources.run, own.judged.joining, sources.extras, dense=True)
        known = dict(zip(scores.queries, own.values[scores.labels.index(column.label)].tolist(), strict=True))
        values = np.array([known.get(query, 0.0) for query in dense.queries])
        completions = Completions(dense, possible_grades(sources.qrels), Sampling(TIE_SAMPLES, column.design.seed))
        bounds = completions.bounds(measure, values)
    except CranfieldError:  # a run that cannot be read twice, or a measure without bounds
        return None
    queries = set(column.queries)
    at = [i for i, query in enumerate(dense.queries) if query in queries]
    reach = float(np.mean((bounds.high if column.scored.more_is_better else bounds.low)[at]))
    return reach if math.isfinite(reach) else None


def _disagreements(columns: Sequence[MeasureComparison]) -> Iterator[str]:
    """Comparisons that the second test would decide otherwise."""
    compared = [(column, pair) for column in columns for at, pair in column.tested.items() if column.is_first(at)]
    texts = [
        f"{column.title} of {pair.system} and {pair.reference} "
        f"(p {format_p(pair.p_adjusted)} and {format_p(pair.p_beside_adjusted)})"
        for column, pair in compared
        if pair.tests_disagree
    ]
    if texts:
        design = columns[0].design
        shown = ", ".join(texts[:3]) + (f" and {len(texts) - 3:,} more" if len(texts) > 3 else "")
        yield (
            f"{capitalize(design.method)} and {design.beside_name} disagree at α = {format_probability(design.alpha)} "
            f"about {len(texts):,} of {pluralize(len(compared), 'comparison')}: {shown}."
        )
