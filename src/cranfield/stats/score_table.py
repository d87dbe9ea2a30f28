"""The scores of several systems on the same queries, measure by measure: what a comparison starts from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base import Record, join_names, pluralize, replace, sort_naturally
from cranfield.data import Floats, Origin
from cranfield.errors import CranfieldError, DuplicateError, EvaluationError, MeasureError
from cranfield.evaluation import TOP, RunScores, Scores, distinct_names
from cranfield.io import ScoreRows, as_scores
from cranfield.measures import Measure, parse_measure


class Scored(Record):
    """A measure by the name it goes by; what is known of it, if it is one of ours."""

    label: str
    measure: Measure | None = None

    @property
    def more_is_better(self) -> bool:
        return self.measure is None or self.measure.more_is_better

    @property
    def is_quality(self) -> bool:
        """Whether a best system can be named by it."""
        return self.measure is None or self.measure.is_quality

    @property
    def direction(self) -> int:
        """1 where more is better, -1 where less is."""
        return 1 if self.more_is_better else -1


class ScoreTable(Record, eq=False):
    """Scores by run, measure and query; NaN where a query was skipped or a value is missing."""

    runs: tuple[str, ...]
    measures: tuple[Scored, ...]
    queries: tuple[str, ...]
    values: Floats  # runs × measures × queries
    scores: Scores | None = None  # what they were taken from, if the runs are at hand
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
        unjudged = self.scores.unjudged(TOP, run)
        return None if math.isnan(unjudged) else 1 - unjudged

    def missing(self, run: str) -> int:
        """How many queries the run has nothing for, which count as 0."""
        return int(self._run_scores[run].judged.missing.sum()) if run in self._run_scores else 0

    def reaches(self, run: str) -> bool:
        """Whether hits below the ranks reported on are kept, as far as can be told."""
        judged = self._run_scores[run].judged
        return judged.depth > TOP or int(judged.retrieved.max(initial=0)) <= TOP

    def measured(self, measure: Measure, run: str) -> Floats:
        """The values of another measure for every query; NaN where the run was not evaluated."""
        judged = self._run_scores[run].judged
        found = np.where(judged.missing, 0.0, measure.values(judged)).tolist()
        known = dict(zip(judged.queries, found, strict=True))
        return np.array([known.get(query, math.nan) for query in self.queries])

    @property
    def rel(self) -> float:
        """The lowest relevant grade."""
        return 1.0 if self.scores is None else float(self.scores.conventions.get("rel", 1))

    def only(self, measures: Sequence[str]) -> ScoreTable:
        """The same with some measures only, named as they are or by another name of theirs, and in this order."""
        at = [self._place(name) for name in measures]
        return replace(self, measures=tuple(self.measures[i] for i in at), values=self.values[:, at])

    def has(self, measure: str) -> bool:
        """Whether there is a measure of this name, or one that is the same."""
        try:
            self._place(measure)
        except CranfieldError:
            return False
        return True

    def _place(self, name: str) -> int:
        labels = [scored.label for scored in self.measures]
        if name in labels:
            return labels.index(name)
        wanted = known_measure(name)
        at = next((i for i, own in enumerate(self.measures) if wanted and own.measure == wanted), None)
        if at is None:
            raise CranfieldError(f"no measure {name!r} among these scores: they have {', '.join(labels)}.")
        return at


def as_score_table(given: Any) -> ScoreTable:
    """A table of scores from a Scores, from {run: {measure: {query: value}}}, or from a data frame of them.

    >>> as_score_table({"a": {"AP": {"q1": 0.5}}, "b": {"AP": {"q1": 0.25}}}).values.tolist()
    [[[0.5]], [[0.25]]]
    """
    if isinstance(given, ScoreTable):
        return given
    if isinstance(given, Scores):
        return _of_scores(given)
    return gathered([given if isinstance(given, ScoreRows) else as_scores(given)])


def gathered(parts: Sequence[ScoreRows]) -> ScoreTable:
    """Scores from several files as one table; files that do not name their runs are told apart by their folders."""
    table: dict[str, dict[str, dict[str, float]]] = {}
    for part, names in zip(parts, _named(parts), strict=True):
        for run, measures in part.table.items():
            for label, found in measures.items():
                own = table.setdefault(names[run], {}).setdefault(label, {})
                _merge(own, found, f"{label} of {names[run]}", part)
    labels = list(dict.fromkeys(label for measures in table.values() for label in measures))
    queries = sort_naturally({q for measures in table.values() for found in measures.values() for q in found})
    values = np.array(
        [[[table[run].get(m, {}).get(q, math.nan) for q in queries] for m in labels] for run in table], dtype=np.float64
    )
    scored = tuple(Scored(label, known_measure(label)) for label in labels)
    return ScoreTable(
        tuple(table),
        scored,
        tuple(queries),
        values,
        origins=tuple(part.origin for part in parts if part.origin is not None),
        notes=(*(note for part in parts for note in part.notes), *_unknown(scored)),
    )


def known_measure(label: str) -> Measure | None:
    """The measure a name stands for, if it is one of ours.

    >>> known_measure("map"), known_measure("my measure")
    (AP, None)
    """
    try:
        return parse_measure(label)
    except MeasureError:
        return None


def _named(parts: Sequence[ScoreRows]) -> list[dict[str, str]]:
    """What the runs of each file are called."""
    own = [i for i, part in enumerate(parts) if not part.is_named]
    names = [next(iter(parts[i].table)) for i in own]
    files = [origin.file if (origin := parts[i].origin) is not None else None for i in own]
    told = dict(zip(own, distinct_names(names, files), strict=True)) if own else {}
    return [{run: told.get(i, run) for run in part.table} for i, part in enumerate(parts)]


def _merge(own: dict[str, float], values: Mapping[str, float], what: str, part: ScoreRows) -> None:
    for query, value in values.items():
        known = own.setdefault(query, value)
        if known != value and not (math.isnan(known) and math.isnan(value)):
            file = None if part.origin is None else part.origin.file
            raise DuplicateError(f"{what} has two values for query {query!r}, {known:g} and {value:g}.", file)


def _unknown(measures: Sequence[Scored]) -> Iterator[str]:
    unknown = [scored.label for scored in measures if scored.measure is None]
    if unknown:
        yield f"{join_names(unknown)}: no measure known here; more is taken to be better."


def _of_scores(scores: Scores) -> ScoreTable:
    if scores.how != "arithmetic" or scores.weights is not None:
        raise EvaluationError(
            "comparisons are of plain means over queries: evaluate with mean='arithmetic' and without weights."
        )
    kept = [i for i in range(len(scores.labels)) if not scores.part(i) and is_mean(scores.measures[i])]
    left = [label for i, label in enumerate(scores.labels) if not scores.part(i) and i not in kept]
    if not kept:
        raise EvaluationError(
            f"{join_names(left)}: no mean over queries, so that nothing can be compared topic by topic."
        )
    origins = (scores.qrels, *(run.origin for run in scores.runs))
    return ScoreTable(
        tuple(run.name for run in scores.runs),
        tuple(Scored(scores.labels[i], scores.measures[i]) for i in kept),
        scores.queries,
        np.array([run.values[kept] for run in scores.runs]).reshape(len(scores.runs), len(kept), len(scores.queries)),
        scores,
        tuple(origin for origin in origins if origin is not None),
        (*scores.notes, *([f"{join_names(left)} left out: no mean over queries."] if left else [])),
    )


def is_mean(measure: Measure) -> bool:
    """Whether a run's value is a mean (or, for counts, a sum) over queries."""
    return measure.aggregate in ("mean", "sum")


def missing_notes(table: ScoreTable) -> Iterator[str]:
    """Which runs lack queries, which were counted as 0."""
    for run in table.runs:
        if number := table.missing(run):
            yield f"{run} has nothing for {number:,} of {pluralize(len(table.queries), 'topic')}, which count as 0."
