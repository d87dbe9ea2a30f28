"""A complete diagnosis of a pool and its judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints
from cranfield.evaluation import Evaluator
from cranfield.pooling.budgets import BudgetCurves, replay_budgets
from cranfield.pooling.contributions import (
    Contribution,
    PooledRuns,
    TopicPool,
    compute_judged_shares,
    compute_overlaps,
    count_group_contributions,
    count_run_contributions,
    summarize_topics,
)
from cranfield.pooling.estimators import PowerLaw, power_law
from cranfield.pooling.recall import count_new_relevant
from cranfield.pooling.reusability import Reusability, leave_out

DEFAULT_MEASURES = ("nDCG@10", "AP")
MAX_BOUNDED = 10_000  # scores to compute bounds for by default; more would take minutes


class ScoreBound(Record):
    """How low and how high unjudged documents could make a run's mean; outer bounds may not be reached."""

    run: str
    measure: str
    mean: float
    low: float
    high: float
    is_outer: bool


class NewRelevant(Record, eq=False):
    """New relevant documents at each depth, averaged over topics, and their extrapolation."""

    by_depth: Floats
    counts: Ints  # topic by depth
    law: PowerLaw | None  # None for a pool of depth 1
    to: int

    @property
    def beyond(self) -> float | None:
        """How many more to expect for all topics together, down to depth `to`; None if that cannot be estimated."""
        if self.law is None or not self.law.falls:
            return None
        return len(self.counts) * self.law.between(len(self.by_depth), self.to)


class Diagnosis(Record, eq=False):
    """A pool: its size, the contributions of runs, the coverage of its judgments, and their reusability."""

    pooled: PooledRuns
    measures: tuple[str, ...]
    topics: tuple[TopicPool, ...]
    grades: Mapping[float, int]
    runs: tuple[Contribution, ...]
    groups: tuple[Contribution, ...]  # empty without groups
    overlap: Floats
    judged: Mapping[int, tuple[float | None, ...]]  # judged@k of each run
    bounds: tuple[ScoreBound, ...]
    reusability: Reusability
    budgets: BudgetCurves
    new_relevant: NewRelevant
    notes: tuple[str, ...]

    @property
    def pool_size(self) -> int:
        return sum(topic.pooled for topic in self.topics)

    @property
    def judged_size(self) -> int:
        return sum(topic.judged for topic in self.topics)

    @property
    def relevant(self) -> int:
        return sum(topic.relevant for topic in self.topics)

    @property
    def without_relevant(self) -> list[str]:
        return [topic.query for topic in self.topics if topic.has_none]

    @property
    def with_many(self) -> list[str]:
        """Topics with more than a third of relevant documents among the judged ones."""
        return [topic.query for topic in self.topics if topic.has_many]


def diagnose(
    qrels: Any,
    runs: Iterable[Any],
    measures: Any = DEFAULT_MEASURES,
    *,
    depth: int | None = None,
    groups: Mapping[str, str] | str | None = None,
    rel: float = 1,
    alpha: float = 0.05,
    correction: str = "holm",
    strategies: Sequence[str] | None = None,
    bounds: bool | None = None,
    seed: int = 1,
    watch: Any = None,
) -> Diagnosis:
    """Diagnose how good a pool is, and how far its judgments can be trusted for these runs and for others.

    By default `bounds` are computed if that takes no more than about a minute.
    """
    pooled = PooledRuns.of(qrels, runs, depth=depth, groups=groups, rel=rel)
    reusability = leave_out(pooled, measures, alpha=alpha, correction=correction, watch=watch)
    labels = reusability.full.labels
    values = reusability.full.values.size
    with_bounds = values <= MAX_BOUNDED if bounds is None else bounds
    notes = [*pooled.notes]
    if not with_bounds and bounds is None:
        notes.append(f"Bounds were not computed, as there are {values:,} scores: --bounds computes them anyway.")
    topics = summarize_topics(pooled)
    if any(topic.outside for topic in topics):
        notes.append(
            "Some judged documents are in none of these runs. Other runs that were pooled may have documents that "
            "count as unique here."
        )
    return Diagnosis(
        pooled=pooled,
        measures=labels,
        topics=topics,
        grades={level: sum(topic.grades[level] for topic in topics) for level in (topics[0].grades if topics else ())},
        runs=count_run_contributions(pooled),
        groups=count_group_contributions(pooled) if pooled.has_groups else (),
        overlap=compute_overlaps(pooled),
        judged=compute_judged_shares(pooled),
        bounds=_bounds(pooled, measures, seed, watch) if with_bounds else (),
        reusability=reusability,
        budgets=replay_budgets(pooled, measures, strategies, seed=seed, watch=watch),
        new_relevant=_new_relevant(pooled),
        notes=tuple(notes),
    )


def _bounds(pooled: PooledRuns, measures: Any, seed: int, watch: Any) -> tuple[ScoreBound, ...]:
    evaluator = Evaluator(pooled.qrels, measures, rel=pooled.rel, bounds=True, seed=seed)
    scored = (evaluator.score(run) for run in pooled.runs)
    scores = evaluator.scores(list(scored if watch is None else watch(scored, len(pooled.runs), "bounding")))
    labels = [label for i, label in enumerate(scores.labels) if not scores.part(i)]
    return tuple(
        ScoreBound(
            run=run.name,
            measure=label,
            mean=scores.mean(label, run.name),
            low=scores.mean(f"{label}.low", run.name),
            high=scores.mean(f"{label}.high", run.name),
            is_outer=bool(scores.outer(f"{label}.low", run.name)),
        )
        for label in labels
        for run in scores.runs
    )


def _new_relevant(pooled: PooledRuns) -> NewRelevant:
    counts = count_new_relevant(pooled)
    mean = counts.mean(axis=0) if len(counts) else np.zeros(pooled.depth)
    return NewRelevant(mean, counts, power_law(mean), 2 * pooled.depth)
