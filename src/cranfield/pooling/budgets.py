"""What would fewer judgments have been worth? Strategies are replayed on existing judgments.

At every depth d, the depth-d pool of the runs is evaluated, and for every other strategy the same number of judgments
for each topic. So curves differ by what was judged, not by how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Ints
from cranfield.errors import CranfieldError
from cranfield.pooling.contributions import PooledRuns
from cranfield.pooling.reevaluation import Reevaluation, ScoreTable, correlate_rankings, rmse
from cranfield.pooling.replay import replay
from cranfield.pooling.strategies import STRATEGIES, find_strategy

DEFAULT_STRATEGIES = ("depth", "rrf", "mtf", "mm-ns")
STEPS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70)  # depths, and these times 10, 100, …
POINTS = 100  # of the curve of relevant documents found


class Fidelity(Record):
    """How close scores with fewer judgments are to those with all judgments, by one measure."""

    measure: str
    tau: float | None  # None if all runs are tied
    tau_ap: float | None
    rmse: float


class BudgetPoint(Record):
    """A number of judgments: those of the depth-d pool, or as many by another strategy."""

    depth: int
    judgments: int
    relevant: int
    fidelity: tuple[Fidelity, ...]


class DiscoveryPoint(Record):
    """How many relevant documents are found with a number of judgments for each topic, or with its whole pool."""

    per_topic: int
    judgments: int
    relevant: int


class BudgetCurve(Record):
    """What a strategy achieves with a number of judgments."""

    strategy: str
    title: str
    points: tuple[BudgetPoint, ...]
    found: tuple[DiscoveryPoint, ...]


class BudgetCurves(Record):
    """The curves of several strategies, all on the same runs and judgments."""

    curves: tuple[BudgetCurve, ...]
    judgments: int  # all, including those outside the pool of these runs
    relevant: int
    relevant_in_pool: int
    seed: int


def replay_budgets(
    pooled: PooledRuns,
    measures: Any = ("nDCG@10", "AP"),
    strategies: Sequence[str] | None = None,
    *,
    seed: int = 1,
    watch: Any = None,
) -> BudgetCurves:
    """Replay strategies on the pool of some runs, and evaluate the runs with the judgments each would have made."""
    again = Reevaluation(pooled.qrels, pooled.joins, measures, pooled.rel)
    names = [find_strategy(name).name for name in strategies or DEFAULT_STRATEGIES]
    for name in names:
        _require_curve(name)
    replayed = _Replay(pooled, again)
    lazily: Iterable[BudgetCurve] = (replayed.curve(name, seed) for name in dict.fromkeys(names))
    curves = tuple(lazily if watch is None else watch(lazily, len(names), "replaying"))
    return BudgetCurves(
        curves=curves,
        judgments=int(pooled.is_judged.sum()),
        relevant=int(pooled.is_relevant.sum()),
        relevant_in_pool=int((pooled.is_relevant & pooled.in_pool).sum()),
        seed=seed,
    )


def _require_curve(name: str) -> None:
    """Raise an error for a strategy that cannot be replayed on runs and judgments alone."""
    if STRATEGIES[name].kind == "sample":
        reason = "is a sample, which needs measures for sampled judgments"
    elif STRATEGIES[name].needs:
        reason = "needs texts, but only runs and judgments are available here"
    else:
        return
    able = [other for other, one in STRATEGIES.items() if one.kind != "sample" and not one.needs]
    raise CranfieldError(f"{name} {reason}: choose from {', '.join(able)}.")


def list_depths(depth: int) -> list[int]:
    """The depths at which pools are evaluated.

    >>> list_depths(25)
    [1, 2, 3, 5, 7, 10, 15, 20, 25]
    """
    depths = sorted({step * 10**power for step in STEPS for power in range(len(str(depth)))})
    return [*(one for one in depths if one < depth), depth]


class _Replay:
    """The pool, and what strategies would have judged of it."""

    def __init__(self, pooled: PooledRuns, again: Reevaluation) -> None:
        self.pooled, self.again = pooled, again
        self.runs = [run for run, is_pooled in zip(pooled.runs, pooled.pooled, strict=True) if is_pooled]
        starts = pooled.qrels.starts_of_ideal.tolist()
        self.number = [
            {doc: starts[i] + k for k, doc in enumerate(judged)} for i, judged in enumerate(pooled.qrels.judged)
        ]

    def curve(self, strategy: str, seed: int) -> BudgetCurve:
        orders = self._orders(strategy, seed)
        return BudgetCurve(
            strategy=strategy,
            title=STRATEGIES[strategy].title,
            points=tuple(self._point(orders, depth) for depth in list_depths(self.pooled.depth)),
            found=tuple(self._discoveries(orders)),
        )

    def _orders(self, strategy: str, seed: int) -> list[Ints]:
        """The judged documents of each topic, as numbers, in the order in which the strategy selects them."""
        pooled = self.pooled
        selected = replay(self.runs, pooled.qrels, strategy, depth=pooled.depth, seed=seed, rel=pooled.rel)
        orders = []
        for i, query in enumerate(pooled.queries):
            numbers = np.array([self.number[i][doc] for doc in selected.get(query, ())], dtype=np.int64)
            orders.append(numbers[pooled.is_judged[numbers]])
        return orders

    def _point(self, orders: Sequence[Ints], depth: int) -> BudgetPoint:
        pooled = self.pooled
        within = pooled.is_judged & (pooled.best_rank <= depth)
        sizes = np.bincount(pooled.topic[within], minlength=len(orders)).tolist()
        judged = np.concatenate([order[:size] for order, size in zip(orders, sizes, strict=True)])
        kept = np.zeros(pooled.in_qrels, dtype=bool)
        kept[judged] = True
        return BudgetPoint(
            depth=depth,
            judgments=len(judged),
            relevant=int(np.count_nonzero(pooled.is_relevant[judged])),
            fidelity=tuple(_fidelity(self.again.full, self.again.evaluate_subset(kept))),
        )

    def _discoveries(self, orders: Sequence[Ints]) -> Iterator[DiscoveryPoint]:
        """From one judgment for each topic to as many as the largest pool has."""
        sizes = np.array([len(order) for order in orders], dtype=np.int64)
        longest = int(sizes.max(initial=0))
        gains = np.zeros(longest)
        for order in orders:
            gains[: len(order)] += self.pooled.is_relevant[order]
        so_far = np.cumsum(gains)
        for n in np.unique(np.linspace(1, longest, min(POINTS, longest)).round().astype(np.int64)).tolist():
            yield DiscoveryPoint(n, int(np.minimum(sizes, n).sum()), int(so_far[n - 1]))


def _fidelity(full: ScoreTable, reduced: ScoreTable) -> Iterator[Fidelity]:
    for m, label in enumerate(full.labels):
        tau, tau_ap = correlate_rankings(full.means[m], reduced.means[m], full.signs[m])
        yield Fidelity(label, tau, tau_ap, rmse(full.means[m], reduced.means[m]))
