"""Would the judgments have been fair to a run that was not pooled? Leave one out, and evaluate again.

For a run, the judgments of documents that it alone brought into the pool are taken away, as if it had never been
there (Zobel, SIGIR 1998; Buckley, Dimmick, Soboroff & Voorhees, 2007): they become unjudged, not non-relevant, and the
number of relevant documents falls. For a group, all of its runs are left out together (Büttcher et al., SIGIR 2007).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Ints
from cranfield.pooling.contributions import PooledRuns
from cranfield.pooling.subsampled_qrels import (
    Evaluated,
    Flips,
    Reevaluation,
    Verdicts,
    judged_mask,
    ranks,
    taus,
    verdicts,
)


class Change(Record):
    """A run's mean and rank with all judgments, and without those that its side alone brought in."""

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
        """The change in hundredths of what it was; None where that was 0."""
        return 100 * self.delta / self.before if self.before else None

    @property
    def delta_rank(self) -> int:
        """How many places the run falls; negative if it climbs."""
        return self.rank_after - self.rank_before


class Effect(Record):
    """What leaving out does by one measure: to those left out, and to the order of all runs."""

    measure: str
    changes: tuple[Change, ...]  # of the runs left out
    tau: float | None  # of all runs, all judgments against fewer; None where all are tied
    tau_ap: float | None
    flips: Flips


class LeftOut(Record):
    """A run or a group that was left out, with the judgments that went with it."""

    name: str
    runs: tuple[str, ...]
    judgments: int  # that only it brought in
    relevant: int  # how many of them are of relevant documents
    effects: tuple[Effect, ...]

    def effect(self, measure: str) -> Effect:
        return next(effect for effect in self.effects if effect.measure == measure)


class Standing(Record):
    """How all runs stand if each is scored without what its own side brought in, by one measure."""

    measure: str
    tau: float | None  # these scores against those with all judgments
    tau_ap: float | None
    mean_change: float  # of the runs, signs apart
    worst: Change  # the run that loses most, in score
    lowest_tau: float | None  # of the rankings with one left out
    lowest_tau_ap: float | None
    most_flips: int
    largest_fall: int  # in ranks


class Reusability(Record):
    """Leave-one-run-out and leave-one-group-out."""

    runs: tuple[LeftOut, ...]
    groups: tuple[LeftOut, ...]  # none if no runs belong together
    of_runs: tuple[Standing, ...]  # one a measure
    of_groups: tuple[Standing, ...]
    full: Evaluated
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
    """Leave out every run, and every group if there are any, and evaluate all runs with what judgments remain.

    `watch` is called with an iterable, how many it has and what is done, and gives it back, as a progress bar does.
    """
    again = Reevaluation(pooled.qrels, pooled.joins, measures, pooled.rel)
    leaving = _Leaving(pooled, again, alpha, correction)
    sides: list[tuple[str, tuple[int, ...], Ints]] = [
        (name, (r,), pooled.unique_to_run(r)) for r, name in enumerate(pooled.names)
    ]
    if pooled.has_groups:
        sides += [(group, at, pooled.unique_to_group(group)) for group, at in pooled.members.items()]
    made: Iterable[LeftOut] = (leaving.out(*side) for side in sides)
    found = list(made if watch is None else watch(made, len(sides), "leaving out"))
    runs, groups = tuple(found[: len(pooled.runs)]), tuple(found[len(pooled.runs) :])
    return Reusability(
        runs=runs,
        groups=groups,
        of_runs=tuple(_standings(runs, again.full)),
        of_groups=tuple(_standings(groups, again.full)) if groups else (),
        full=again.full,
        alpha=alpha,
        correction=correction,
    )


class _Leaving:
    """What stays the same whoever is left out."""

    def __init__(self, pooled: PooledRuns, again: Reevaluation, alpha: float, correction: str) -> None:
        self.pooled, self.again, self.alpha, self.correction = pooled, again, alpha, correction
        self.full = again.full
        self.ranks = [ranks(means, sign) for means, sign in zip(self.full.means, self.full.signs, strict=True)]
        self.verdicts = [self._verdicts(self.full, m) for m in range(len(self.full.labels))]

    def out(self, name: str, members: Sequence[int], unique: Ints) -> LeftOut:
        """Evaluate without the judgments that only these runs brought in."""
        pooled = self.pooled
        dropped = unique[pooled.is_judged[unique]]
        reduced = self.again.with_only(judged_mask(pooled.in_qrels, dropped))
        return LeftOut(
            name=name,
            runs=tuple(pooled.names[r] for r in members),
            judgments=len(dropped),
            relevant=int(np.count_nonzero(pooled.is_relevant[dropped])),
            effects=tuple(self._effect(reduced, m, members) for m in range(len(self.full.labels))),
        )

    def _effect(self, reduced: Evaluated, m: int, members: Sequence[int]) -> Effect:
        sign = self.full.signs[m]
        before, after = self.full.means[m], reduced.means[m]
        after_ranks = ranks(after, sign)
        tau, tau_ap = taus(before, after, sign)
        same = reduced is self.full
        return Effect(
            measure=self.full.labels[m],
            changes=tuple(
                Change(
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
            flips=Flips.between(self.verdicts[m], self.verdicts[m] if same else self._verdicts(reduced, m)),
        )

    def _verdicts(self, evaluated: Evaluated, m: int) -> Verdicts:
        return verdicts(evaluated.values[m], evaluated.signs[m], self.alpha, self.correction)


def _standings(sides: Sequence[LeftOut], full: Evaluated) -> Iterator[Standing]:
    for m, label in enumerate(full.labels):
        sign = full.signs[m]
        effects = [side.effects[m] for side in sides]
        changes = [change for effect in effects for change in effect.changes]
        tau, tau_ap = taus(
            np.array([change.before for change in changes]), np.array([change.after for change in changes]), sign
        )
        yield Standing(
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
