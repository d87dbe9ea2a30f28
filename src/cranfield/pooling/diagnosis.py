"""Everything there is to say of a pool and its judgments, in one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints
from cranfield.evaluation import Evaluator
from cranfield.pooling.budgets import Budgets, budgets
from cranfield.pooling.contributions import (
    Contribution,
    PooledRuns,
    TopicPool,
    contributions_of_groups,
    contributions_of_runs,
    judged_shares,
    overlaps,
    topic_pools,
)
from cranfield.pooling.estimators import PowerLaw, power_law
from cranfield.pooling.recall import new_by_depth
from cranfield.pooling.reusability import Reusability, leave_out

MEASURES = ("nDCG@10", "AP")
BOUNDED = 10_000  # values of topics whose bounds are looked for: more would take minutes


class Bound(Record):
    """How low and how high unjudged documents could make a run's mean; if outer, it may not reach that far."""

    run: str
    measure: str
    mean: float
    low: float
    high: float
    is_outer: bool


class NewRelevant(Record, eq=False):
    """Relevant documents that come up at each depth, on average over topics, and how they would go on."""

    by_depth: Floats
    counts: Ints  # topic by depth
    law: PowerLaw | None  # None where the pool has a single rank
    to: int

    @property
    def beyond(self) -> float | None:
        """How many more to expect for all topics together, down to the depth looked to; None if that cannot be told."""
        if self.law is None or not self.law.falls:
            return None
        return len(self.counts) * self.law.between(len(self.by_depth), self.to)


class Diagnosis(Record, eq=False):
    """A pool: its sizes, who contributed what, how far its judgments reach, and what they would be to others."""

    pooled: PooledRuns
    measures: tuple[str, ...]
    topics: tuple[TopicPool, ...]
    grades: Mapping[float, int]
    runs: tuple[Contribution, ...]
    groups: tuple[Contribution, ...]  # none if no runs belong together
    overlap: Floats
    judged: Mapping[int, tuple[float | None, ...]]  # judged@k of each run
    bounds: tuple[Bound, ...]
    reusability: Reusability
    budgets: Budgets
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
        """Topics of whose judged documents more than a third are relevant."""
        return [topic.query for topic in self.topics if topic.has_many]


def diagnose(
    qrels: Any,
    runs: Iterable[Any],
    measures: Any = MEASURES,
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
    """Say how good a pool is and how far its judgments can be trusted, for these runs and for others.

    Without `bounds` they are worked out where that takes no more than about a minute.
    """
    pooled = PooledRuns.of(qrels, runs, depth=depth, groups=groups, rel=rel)
    reusability = leave_out(pooled, measures, alpha=alpha, correction=correction, watch=watch)
    labels = reusability.full.labels
    values = reusability.full.values.size
    wanted = values <= BOUNDED if bounds is None else bounds
    notes = [*pooled.notes]
    if not wanted and bounds is None:
        notes.append(f"Bounds were not worked out, as there are {values:,} values: --bounds does that all the same.")
    topics = topic_pools(pooled)
    if any(topic.outside for topic in topics):
        notes.append(
            "Runs that were pooled but are not named here may have others of what is called unique: "
            "some judged documents are in none of these runs."
        )
    return Diagnosis(
        pooled=pooled,
        measures=labels,
        topics=topics,
        grades={level: sum(topic.grades[level] for topic in topics) for level in (topics[0].grades if topics else ())},
        runs=contributions_of_runs(pooled),
        groups=contributions_of_groups(pooled) if pooled.has_groups else (),
        overlap=overlaps(pooled),
        judged=judged_shares(pooled),
        bounds=_bounds(pooled, measures, seed, watch) if wanted else (),
        reusability=reusability,
        budgets=budgets(pooled, measures, strategies, seed=seed, watch=watch),
        new_relevant=_new_relevant(pooled),
        notes=tuple(notes),
    )


def _bounds(pooled: PooledRuns, measures: Any, seed: int, watch: Any) -> tuple[Bound, ...]:
    evaluator = Evaluator(pooled.qrels, measures, rel=pooled.rel, bounds=True, seed=seed)
    scored = (evaluator.score(run) for run in pooled.runs)
    scores = evaluator.scores(list(scored if watch is None else watch(scored, len(pooled.runs), "bounding")))
    labels = [label for i, label in enumerate(scores.labels) if not scores.part(i)]
    return tuple(
        Bound(
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
    counts = new_by_depth(pooled)
    mean = counts.mean(axis=0) if len(counts) else np.zeros(pooled.depth)
    return NewRelevant(mean, counts, power_law(mean), 2 * pooled.depth)
