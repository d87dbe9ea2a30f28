"""What would fewer judgments have done? Strategies replayed on judgments that are there already.

At every depth d the depth-d pool of these runs is evaluated, and of every other strategy what it would have asked for
with as many judgments, topic by topic. So curves differ by what was judged, not by how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Ints
from cranfield.errors import CranfieldError
from cranfield.pooling.contributions import PooledRuns
from cranfield.pooling.replay import replay
from cranfield.pooling.strategies import STRATEGIES, strategy_of
from cranfield.pooling.subsampled_qrels import Evaluated, Reevaluation, rmse, taus

USUAL = ("depth", "rrf", "mtf", "mm-ns")  # those whose curves are drawn unless others are asked for
STEPS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70)  # depths that are tried, and these times 10, 100, …
POINTS = 100  # of a curve of relevant documents found


class Fidelity(Record):
    """How near the scores with fewer judgments come to those with all of them, by one measure."""

    measure: str
    tau: float | None  # None where all runs are tied
    tau_ap: float | None
    rmse: float


class BudgetPoint(Record):
    """So many judgments: those of the depth-d pool, or as many of another strategy."""

    depth: int
    judgments: int
    relevant: int
    fidelity: tuple[Fidelity, ...]


class Found(Record):
    """How many relevant documents are found when each topic has so many judgments, or all its pool holds."""

    per_topic: int
    judgments: int
    relevant: int


class BudgetCurve(Record):
    """What a strategy gives for its judgments."""

    strategy: str
    title: str
    points: tuple[BudgetPoint, ...]
    found: tuple[Found, ...]


class Budgets(Record):
    """The curves of several strategies, all on the same runs and judgments."""

    curves: tuple[BudgetCurve, ...]
    judgments: int  # all there are, with those outside the pool of these runs
    relevant: int
    relevant_in_pool: int
    seed: int


def budgets(
    pooled: PooledRuns,
    measures: Any = ("nDCG@10", "AP"),
    strategies: Sequence[str] | None = None,
    *,
    seed: int = 1,
    watch: Any = None,
) -> Budgets:
    """Replay strategies on the pool of some runs, and evaluate the runs with what each would have judged by then."""
    again = Reevaluation(pooled.qrels, pooled.joins, measures, pooled.rel)
    names = [strategy_of(name).name for name in strategies or usual_strategies()]
    for name in names:
        _require_curve(name)
    replayed = _Replayed(pooled, again)
    made: Iterable[BudgetCurve] = (replayed.curve(name, seed) for name in dict.fromkeys(names))
    curves = tuple(made if watch is None else watch(made, len(names), "replaying"))
    return Budgets(
        curves=curves,
        judgments=int(pooled.is_judged.sum()),
        relevant=int(pooled.is_relevant.sum()),
        relevant_in_pool=int((pooled.is_relevant & pooled.in_pool).sum()),
        seed=seed,
    )


def _require_curve(name: str) -> None:
    """An error for a strategy that cannot be replayed on runs and judgments alone."""
    if STRATEGIES[name].kind == "sample":
        reason = "is a sample, whose judgments need measures made for samples"
    elif STRATEGIES[name].needs:
        reason = "looks at texts, and there are only runs and judgments here"
    else:
        return
    able = [other for other, one in STRATEGIES.items() if one.kind != "sample" and not one.needs]
    raise CranfieldError(f"{name} {reason}: curves are for {', '.join(able)}.")


def usual_strategies() -> list[str]:
    """The strategies whose curves are drawn unless others are asked for."""
    return [name for name in USUAL if name in STRATEGIES]


def depths_to(depth: int) -> list[int]:
    """The depths that are tried.

    >>> depths_to(25)
    [1, 2, 3, 5, 7, 10, 15, 20, 25]
    """
    tried = sorted({step * 10**power for step in STEPS for power in range(len(str(depth)))})
    return [*(one for one in tried if one < depth), depth]


class _Replayed:
    """The pool by best rank, and what strategies would have judged of it."""

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
            points=tuple(self._point(orders, depth) for depth in depths_to(self.pooled.depth)),
            found=tuple(self._found(orders)),
        )

    def _orders(self, strategy: str, seed: int) -> list[Ints]:
        """The judged documents of each topic, as numbers, in the order in which the strategy asks for them."""
        pooled = self.pooled
        asked = replay(self.runs, pooled.qrels, strategy, depth=pooled.depth, seed=seed, rel=pooled.rel)
        orders = []
        for i, query in enumerate(pooled.queries):
            numbers = np.array([self.number[i][doc] for doc in asked.get(query, ())], dtype=np.int64)
            orders.append(numbers[pooled.is_judged[numbers]])
        return orders

    def _point(self, orders: Sequence[Ints], depth: int) -> BudgetPoint:
        pooled = self.pooled
        within = pooled.is_judged & (pooled.best_rank <= depth)
        sizes = np.bincount(pooled.topic[within], minlength=len(orders)).tolist()
        chosen = np.concatenate([order[:size] for order, size in zip(orders, sizes, strict=True)])
        kept = np.zeros(pooled.in_qrels, dtype=bool)
        kept[chosen] = True
        return BudgetPoint(
            depth=depth,
            judgments=len(chosen),
            relevant=int(np.count_nonzero(pooled.is_relevant[chosen])),
            fidelity=tuple(_fidelity(self.again.full, self.again.with_only(kept))),
        )

    def _found(self, orders: Sequence[Ints]) -> Iterator[Found]:
        """From the first document of each topic to the last of the longest pool."""
        sizes = np.array([len(order) for order in orders], dtype=np.int64)
        longest = int(sizes.max(initial=0))
        gains = np.zeros(longest)
        for order in orders:
            gains[: len(order)] += self.pooled.is_relevant[order]
        so_far = np.cumsum(gains)
        for n in np.unique(np.linspace(1, longest, min(POINTS, longest)).round().astype(np.int64)).tolist():
            yield Found(n, int(np.minimum(sizes, n).sum()), int(so_far[n - 1]))


def _fidelity(full: Evaluated, reduced: Evaluated) -> Iterator[Fidelity]:
    for m, label in enumerate(full.labels):
        tau, tau_ap = taus(full.means[m], reduced.means[m], full.signs[m])
        yield Fidelity(label, tau, tau_ap, rmse(full.means[m], reduced.means[m]))
