"""Scores from Spark as the local engine's scores, so that they are printed alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from cranfield.base import sort_naturally
from cranfield.data import Floats
from cranfield.evaluation import Interval, Scores
from cranfield.measures import Measure


class ScoresFromSpark(Scores):
    """Scores of which only figures of runs are here; those of queries where they were asked for."""

    @classmethod
    def of(cls, frame: Any, per_query: bool) -> ScoresFromSpark:
        evaluation = frame.evaluation
        evaluator = evaluation.evaluator
        runs = tuple(frame.standing(run) for run in evaluation.inputs.runs)
        values = _values(frame) if per_query else {}
        scores = cls(
            labels=evaluator.labels,
            measures=evaluator.measures,
            queries=_queries(values) if per_query else cast(Any, range(runs[0].judged.n + runs[0].judged.skipped)),
            runs=runs,
            qrels=evaluation.qrels_origin,
            find_conventions=lambda: frame.conventions,
            find_notes=lambda: frame.notes,
            how=evaluator.how,
            weights=evaluation.weights,
        )
        scores.__dict__.update(frame=frame, found=values)
        return scores

    def values(self, measure: str | Measure, run: str | None = None) -> Floats:
        i, own = self._index(measure), self.found[self._run(run).name]  # type: ignore[attr-defined]
        return np.array([own[query][i] if query in own else np.nan for query in self.queries], dtype=np.float64)

    def mean(self, measure: str | Measure, run: str | None = None, how: Any = None) -> float:
        mean: float = self.frame.mean(measure, self._run(run).name)  # type: ignore[attr-defined]
        return mean

    def interval(self, measure: str | Measure, run: str | None = None, level: float = 0.95) -> Interval | None:
        found: Interval | None = self.frame.interval(measure, self._run(run).name, level)  # type: ignore[attr-defined]
        return found

    def unjudged(self, k: int = 10, run: str | None = None) -> float:
        share: float = self.frame.unjudged(self._run(run).name)  # type: ignore[attr-defined]
        return share


def _values(frame: Any) -> Mapping[str, Mapping[str, Sequence[float]]]:
    """{run: {query: values}}; None for a query that was skipped."""
    results = frame.evaluation.kept if frame.evaluation.kept is not None else frame.evaluation.results
    rows = results.filter("query is not null and values is not null").select("run", "query", "values").toArrow()
    found: dict[str, dict[str, Sequence[float]]] = {run: {} for run in frame.evaluation.inputs.runs}
    for run, query, values in zip(*(rows[name].to_pylist() for name in ("run", "query", "values")), strict=True):
        found[run][query] = values
    return found


def _queries(values: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    return tuple(sort_naturally({query for own in values.values() for query in own}))
