"""The scores of several systems on the same queries, measure by measure: the input of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base import Record, join_names, pluralize, replace, sort_naturally
from cranfield.data import Floats, Origin
from cranfield.errors import CranfieldError, DuplicateError, EvaluationError, MeasureError
from cranfield.evaluation import JUDGED_DEPTH, RunScores, Scores, distinct_names
from cranfield.io import ScoreRows, as_scores
from cranfield.measures import Measure, parse_measure


class ScoredMeasure(Record):
    """A measure by the name in the scores, with its definition if it is in the catalogue."""

    label: str
    measure: Measure | None = None

    @property
    def more_is_better(self) -> bool:
        return self.measure is None or self.measure.more_is_better

    @property
    def is_quality(self) -> bool:
        """Whether it says which system is best."""
        return self.measure is None or self.measure.is_quality

    @property
    def direction(self) -> int:
        """1 where more is better, -1 where less is."""
        return 1 if self.more_is_better else -1


class ScoreTable(Record, eq=False):
    """Scores by run, measure and query; NaN where a query was skipped or a value is missing."""

    runs: tuple[str, ...]
    measures: tuple[ScoredMeasure, ...]
    queries: tuple[str, ...]
    values: Floats  # runs × measures × queries
    scores: Scores | None = None  # the evaluation they come from, if there is one
    origins: tuple[Origin, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def _run_scores(self) -> dict[str, RunScores]:
        return {} if self.scores is None else {run.name: run for run in self.scores.runs}

    @property
    def has_runs(self) -> bool:
        return self.scores is not None

    def judged_share(self, run: str) -> float | None:
        """The share of documents with a judgment among the first ten; None without the run, or if it is empty."""
        if self.scores is None:
            return None
        unjudged = self.scores.unjudged(JUDGED_DEPTH, run)
        return None if math.isnan(unjudged) else 1 - unjudged

    def missing(self, run: str) -> int:
        """How many queries the run lacks, which count as 0."""
        return int(self._run_scores[run].judged.missing.sum()) if run in self._run_scores else 0

    def reaches(self, run: str) -> bool:
        """Whether hits below the top ten are known, as far as one can tell."""
        judged = self._run_scores[run].judged
        return judged.depth > JUDGED_DEPTH or int(judged.retrieved.max(initial=0)) <= JUDGED_DEPTH

    def evaluate(self, measure: Measure, run: str) -> Floats:
        """The values of another measure for every query; NaN where the run was not evaluated."""
        judged = self._run_scores[run].judged
        values = np.where(judged.missing, 0.0, measure.values(judged)).tolist()
        known = dict(zip(judged.queries, values, strict=True))
        return np.array([known.get(query, math.nan) for query in self.queries])

    @property
    def rel(self) -> float:
        """The lowest relevant grade."""
        return 1.0 if self.scores is None else float(self.scores.conventions.get("rel", 1))

    def only(self, measures: Sequence[str]) -> ScoreTable:
        """The table with only these measures, by any of their names, and in this order."""
        at = [self._place(name) for name in measures]
        return replace(self, measures=tuple(self.measures[i] for i in at), values=self.values[:, at])

    def has(self, measure: str) -> bool:
        """Whether there is a measure of this name, or the same measure under another name."""
        try:
            self._place(measure)
        except CranfieldError:
            return False
        return True

    def _place(self, name: str) -> int:
        labels = [scored.label for scored in self.measures]
        if name in labels:
            return labels.index(name)
        wanted = find_measure(name)
        at = next((i for i, own in enumerate(self.measures) if wanted and own.measure == wanted), None)
        if at is None:
            raise CranfieldError(f"no measure {name!r} in these scores: expected one of {', '.join(labels)}.")
        return at


def as_score_table(scores: Any) -> ScoreTable:
    """A table of scores from a Scores, from {run: {measure: {query: value}}}, or from a data frame of them.

    >>> as_score_table({"a": {"AP": {"q1": 0.5}}, "b": {"AP": {"q1": 0.25}}}).values.tolist()
    [[[0.5]], [[0.25]]]
    """
    if isinstance(scores, ScoreTable):
        return scores
    if isinstance(scores, Scores):
        return _from_scores(scores)
    return gather_scores([scores if isinstance(scores, ScoreRows) else as_scores(scores)])


def gather_scores(parts: Sequence[ScoreRows]) -> ScoreTable:
    """Scores from several files as one table; files that do not name their runs are named after their folders."""
    table: dict[str, dict[str, dict[str, float]]] = {}
    for part, names in zip(parts, _run_names(parts), strict=True):
        for run, measures in part.table.items():
            for label, found in measures.items():
                own = table.setdefault(names[run], {}).setdefault(label, {})
                _merge(own, found, f"{label} of {names[run]}", part)
    labels = list(dict.fromkeys(label for measures in table.values() for label in measures))
    queries = sort_naturally({q for measures in table.values() for found in measures.values() for q in found})
    values = np.array(
        [[[table[run].get(m, {}).get(q, math.nan) for q in queries] for m in labels] for run in table], dtype=np.float64
    )
    scored = tuple(ScoredMeasure(label, find_measure(label)) for label in labels)
    return ScoreTable(
        tuple(table),
        scored,
        tuple(queries),
        values,
        origins=tuple(part.origin for part in parts if part.origin is not None),
        notes=(*(note for part in parts for note in part.notes), *_unknown_measures(scored)),
    )


def find_measure(label: str) -> Measure | None:
    """The measure of this name, if it is in the catalogue.

    >>> find_measure("map"), find_measure("my measure")
    (AP, None)
    """
    try:
        return parse_measure(label)
    except MeasureError:
        return None


def _run_names(parts: Sequence[ScoreRows]) -> list[dict[str, str]]:
    """The names of the runs of each file."""
    own = [i for i, part in enumerate(parts) if not part.is_named]
    names = [next(iter(parts[i].table)) for i in own]
    files = [origin.file if (origin := parts[i].origin) is not None else None for i in own]
    distinct = dict(zip(own, distinct_names(names, files), strict=True)) if own else {}
    return [{run: distinct.get(i, run) for run in part.table} for i, part in enumerate(parts)]


def _merge(own: dict[str, float], values: Mapping[str, float], what: str, part: ScoreRows) -> None:
    for query, value in values.items():
        known = own.setdefault(query, value)
        if known != value and not (math.isnan(known) and math.isnan(value)):
            file = None if part.origin is None else part.origin.file
            raise DuplicateError(f"{what} has two values for query {query!r}, {known:g} and {value:g}.", file)


def _unknown_measures(measures: Sequence[ScoredMeasure]) -> Iterator[str]:
    unknown = [scored.label for scored in measures if scored.measure is None]
    if unknown:
        yield f"{join_names(unknown)} not in the catalogue of measures: more is assumed to be better."


def _from_scores(scores: Scores) -> ScoreTable:
    if scores.how != "arithmetic" or scores.weights is not None:
        raise EvaluationError(
            "a comparison needs plain means over queries: evaluate with mean='arithmetic' and without weights."
        )
    kept = [i for i in range(len(scores.labels)) if not scores.part(i) and is_mean_over_queries(scores.measures[i])]
    others = [label for i, label in enumerate(scores.labels) if not scores.part(i) and i not in kept]
    if not kept:
        raise EvaluationError(
            f"{join_names(others)}: not a mean over queries, so it cannot be compared topic by topic."
        )
    origins = (scores.qrels, *(run.origin for run in scores.runs))
    return ScoreTable(
        tuple(run.name for run in scores.runs),
        tuple(ScoredMeasure(scores.labels[i], scores.measures[i]) for i in kept),
        scores.queries,
        np.array([run.values[kept] for run in scores.runs]).reshape(len(scores.runs), len(kept), len(scores.queries)),
        scores,
        tuple(origin for origin in origins if origin is not None),
        (*scores.notes, *([f"{join_names(others)} left out: not a mean over queries."] if others else [])),
    )


def is_mean_over_queries(measure: Measure) -> bool:
    """Whether a run's value is a mean (or, for counts, a sum) over queries."""
    return measure.aggregate in ("mean", "sum")


def missing_notes(table: ScoreTable) -> Iterator[str]:
    """Which runs lack queries, which count as 0."""
    for run in table.runs:
        if number := table.missing(run):
            yield f"{run} lacks {number:,} of {pluralize(len(table.queries), 'topic')}, which count as 0."
