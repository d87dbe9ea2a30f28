"""Are the judgments fair to a run that was not pooled? Leave each run out and evaluate again.

To leave out a run, the judgments of documents that only it contributed are removed, as if it had never been pooled
(Zobel, SIGIR 1998; Buckley, Dimmick, Soboroff & Voorhees, 2007): they become unjudged, not non-relevant, and the number
of relevant documents falls. The runs of a group are left out together (Büttcher et al., SIGIR 2007).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Ints
from cranfield.pooling.contributions import PooledRuns
from cranfield.pooling.reevaluation import (
    Flips,
    PairwiseSignificance,
    Reevaluation,
    ScoreTable,
    compare_all_pairs,
    correlate_rankings,
    mask_without,
    ranks,
)


class ScoreChange(Record):
    """A run's mean and rank with all judgments, and without those that only it, or its group, contributed."""

    run: str
    before: float
    after: float
    rank_before: int
    rank_after: int

    @property
    def delta(self) -> float:
        return self.after - self.before

    @property
    def percent(self) -> float | None:
        """The relative change; None if the score was 0."""
        return 100 * self.delta / self.before if self.before else None

    @property
    def delta_rank(self) -> int:
        """How many ranks the run drops; negative if it rises."""
        return self.rank_after - self.rank_before


class LeaveOutEffect(Record):
    """The effect of leaving out, by one measure: on the runs left out, and on the ranking of all runs."""

    measure: str
    changes: tuple[ScoreChange, ...]  # of the runs left out
    tau: float | None  # between the rankings with all and with fewer judgments; None if all are tied
    tau_ap: float | None
    flips: Flips


class LeaveOutResult(Record):
    """A run or group that was left out, with the judgments removed."""

    name: str
    runs: tuple[str, ...]
    judgments: int  # that only it contributed
    relevant: int  # how many of them are relevant
    effects: tuple[LeaveOutEffect, ...]

    def effect(self, measure: str) -> LeaveOutEffect:
        return next(effect for effect in self.effects if effect.measure == measure)


class LeaveOutSummary(Record):
    """All runs, each scored without its own contributions, by one measure."""

    measure: str
    tau: float | None  # between these scores and those with all judgments
    tau_ap: float | None
    mean_change: float  # absolute
    worst: ScoreChange  # the run whose score drops most
    lowest_tau: float | None  # of any ranking with one left out
    lowest_tau_ap: float | None
    most_flips: int
    largest_fall: int  # in ranks


class Reusability(Record):
    """Results of leave-one-run-out and leave-one-group-out."""

    runs: tuple[LeaveOutResult, ...]
    groups: tuple[LeaveOutResult, ...]  # empty without groups
    of_runs: tuple[LeaveOutSummary, ...]  # one per measure
    of_groups: tuple[LeaveOutSummary, ...]
    full: ScoreTable
    alpha: float
    correction: str


def leave_out(
    pooled: PooledRuns,
    measures: Any = ("nDCG@10", "AP"),
    *,
    alpha: float = 0.05,
    correction: str = "holm",
    watch: Any = None,
) -> Reusability:
    """Leave out every run, and every group if there are any, and evaluate all runs with the remaining judgments.

    `watch(iterable, total, description)` wraps the iteration, as a progress bar does.
    """
    again = Reevaluation(pooled.qrels, pooled.joins, measures, pooled.rel)
    evaluation = _LeaveOut(pooled, again, alpha, correction)
    parts: list[tuple[str, tuple[int, ...], Ints]] = [
        (name, (r,), pooled.unique_to_run(r)) for r, name in enumerate(pooled.names)
    ]
    if pooled.has_groups:
        parts += [(group, at, pooled.unique_to_group(group)) for group, at in pooled.members.items()]
    lazily: Iterable[LeaveOutResult] = (evaluation.leave_out(*part) for part in parts)
    results = list(lazily if watch is None else watch(lazily, len(parts), "leaving out"))
    runs, groups = tuple(results[: len(pooled.runs)]), tuple(results[len(pooled.runs) :])
    return Reusability(
        runs=runs,
        groups=groups,
        of_runs=tuple(_summarize(runs, again.full)),
        of_groups=tuple(_summarize(groups, again.full)) if groups else (),
        full=again.full,
        alpha=alpha,
        correction=correction,
    )


class _LeaveOut:
    """What is the same whichever run is left out."""

    def __init__(self, pooled: PooledRuns, again: Reevaluation, alpha: float, correction: str) -> None:
        self.pooled, self.again, self.alpha, self.correction = pooled, again, alpha, correction
        self.full = again.full
        self.ranks = [ranks(means, sign) for means, sign in zip(self.full.means, self.full.signs, strict=True)]
        self.significance = [self._significance(self.full, m) for m in range(len(self.full.labels))]

    def leave_out(self, name: str, members: Sequence[int], unique: Ints) -> LeaveOutResult:
        """Evaluate without the judgments that only these runs contributed."""
        pooled = self.pooled
        dropped = unique[pooled.is_judged[unique]]
        reduced = self.again.evaluate_subset(mask_without(pooled.in_qrels, dropped))
        return LeaveOutResult(
            name=name,
            runs=tuple(pooled.names[r] for r in members),
            judgments=len(dropped),
            relevant=int(np.count_nonzero(pooled.is_relevant[dropped])),
            effects=tuple(self._effect(reduced, m, members) for m in range(len(self.full.labels))),
        )

    def _effect(self, reduced: ScoreTable, m: int, members: Sequence[int]) -> LeaveOutEffect:
        sign = self.full.signs[m]
        before, after = self.full.means[m], reduced.means[m]
        after_ranks = ranks(after, sign)
        tau, tau_ap = correlate_rankings(before, after, sign)
        same = reduced is self.full
        return LeaveOutEffect(
            measure=self.full.labels[m],
            changes=tuple(
                ScoreChange(
                    self.pooled.names[r],
                    float(before[r]),
                    float(after[r]),
                    int(self.ranks[m][r]),
                    int(after_ranks[r]),
                )
                for r in members
            ),
            tau=tau,
            tau_ap=tau_ap,
            flips=Flips.between(self.significance[m], self.significance[m] if same else self._significance(reduced, m)),
        )

    def _significance(self, evaluated: ScoreTable, m: int) -> PairwiseSignificance:
        return compare_all_pairs(evaluated.values[m], evaluated.signs[m], self.alpha, self.correction)


def _summarize(results: Sequence[LeaveOutResult], full: ScoreTable) -> Iterator[LeaveOutSummary]:
    for m, label in enumerate(full.labels):
        sign = full.signs[m]
        effects = [result.effects[m] for result in results]
        changes = [change for effect in effects for change in effect.changes]
        tau, tau_ap = correlate_rankings(
            np.array([change.before for change in changes]), np.array([change.after for change in changes]), sign
        )
        yield LeaveOutSummary(
            measure=label,
            tau=tau,
            tau_ap=tau_ap,
            mean_change=float(np.mean([abs(change.delta) for change in changes])),
            worst=min(changes, key=lambda change: sign * change.delta),
            lowest_tau=_lowest(effect.tau for effect in effects),
            lowest_tau_ap=_lowest(effect.tau_ap for effect in effects),
            most_flips=max(effect.flips.flipped for effect in effects),
            largest_fall=max(change.delta_rank for change in changes),
        )


def _lowest(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)
