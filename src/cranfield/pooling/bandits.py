"""Bandits: systems as arms, each with an estimated probability that its next document is relevant.

Losada, Parapar & Barreiro (SAC 2016, IPM 2017). The probability of a system with r relevant among n judged documents
follows Beta(1 + r, 1 + n − r). Old judgments may count less (`memory`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from cranfield.data import Floats
from cranfield.pooling.ranked_lists import RankedLists
from cranfield.pooling.selector import Cursors, PoolingContext, Selection, Selector, choose_best
from cranfield.pooling.static_orders import order_by_depth

Update = Literal["all", "own"]


class Arms:
    """For each system its relevant and judged documents, older judgments discounted."""

    def __init__(self, systems: int, memory: float) -> None:
        self.relevant, self.judged = np.zeros(systems), np.zeros(systems)
        self.pulls = 0  # documents judged in total
        self._memory = memory

    def update(self, systems: Iterable[int], is_relevant: bool) -> None:
        """Record the judgment of a document of some systems."""
        at = list(systems)
        self.relevant[at] = self._memory * self.relevant[at] + is_relevant
        self.judged[at] = self._memory * self.judged[at] + 1
        self.pulls += 1

    @property
    def mean(self) -> Floats:
        """The expected probability of each system."""
        mean: Floats = (self.relevant + 1) / (self.judged + 2)
        return mean


class Bandit(Selector):
    """Select the next document of the most promising system; a judgment updates all systems that have the document."""

    def __init__(self, lists: RankedLists, context: PoolingContext, memory: float, update: Update, seed_depth: int):
        super().__init__(lists, context)
        self.memory, self.update, self.seed_depth = memory, update, seed_depth

    def select(self) -> Selection:
        rng = self.rng()
        cursors, arms = Cursors(self.lists), Arms(len(self.lists.docs), self.memory)
        ranks = self.lists.ranks
        for doc in order_by_depth(self.lists, self.seed_depth):
            cursors.mark(doc)
            is_relevant = self.is_relevant((yield doc))
            first = [system for system, rank in ranks[doc].items() if rank <= self.seed_depth]
            arms.update(ranks[doc] if self.update == "all" else first, is_relevant)
        while cursors.has_more.any():
            arm = choose_best(self.values(arms, rng), cursors.has_more, self.context.ties, rng)
            doc = cursors.take(arm)
            is_relevant = self.is_relevant((yield doc))
            arms.update(ranks[doc] if self.update == "all" else [arm], is_relevant)

    def values(self, arms: Arms, rng: np.random.Generator) -> Floats:
        """How promising each system is."""
        raise NotImplementedError


class MaxMean(Bandit):
    """MM: the system with the highest expected probability."""

    def values(self, arms: Arms, rng: np.random.Generator) -> Floats:
        return arms.mean


class Thompson(Bandit):
    """TS, or BLA: draw a probability for each system from its distribution; the highest wins."""

    def values(self, arms: Arms, rng: np.random.Generator) -> Floats:
        return rng.beta(1 + arms.relevant, 1 + arms.judged - arms.relevant)


class UCB(Bandit):
    """UCB1: the highest share of relevant documents plus √(2 ln t / n); systems not tried yet come first."""

    def values(self, arms: Arms, rng: np.random.Generator) -> Floats:
        n = np.maximum(arms.judged, 1)
        bound: Floats = arms.relevant / n + np.sqrt(2 * np.log(max(1, arms.pulls)) / n)
        return np.where(arms.judged > 0, bound, np.inf)
