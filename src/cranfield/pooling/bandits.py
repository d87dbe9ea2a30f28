"""Bandits: systems as arms, each with a guess at its chance to give a relevant document next.

Losada, Parapar & Barreiro (SAC 2016, IPM 2017). A system with r relevant ones among n of its documents that were
judged has the chance Beta(1 + r, 1 + n − r). What was judged long ago may count less (`memory`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from cranfield.data import Floats
from cranfield.pooling.lists import Lists
from cranfield.pooling.static_orders import depth_order
from cranfield.pooling.strategy import Asker, Asks, Pointers, Setting, chosen

Update = Literal["all", "own"]


class Arms:
    """What is known of each system: relevant and judged ones among its documents, the earlier ones faded."""

    def __init__(self, systems: int, memory: float) -> None:
        self.relevant, self.judged = np.zeros(systems), np.zeros(systems)
        self.pulls = 0  # documents judged in all
        self._memory = memory

    def learn(self, systems: Iterable[int], is_relevant: bool) -> None:
        """Take note that a document of some systems was judged."""
        at = list(systems)
        self.relevant[at] = self._memory * self.relevant[at] + is_relevant
        self.judged[at] = self._memory * self.judged[at] + 1
        self.pulls += 1

    @property
    def mean(self) -> Floats:
        """The expected chance of each system."""
        mean: Floats = (self.relevant + 1) / (self.judged + 2)
        return mean


class Bandit(Asker):
    """Ask the system that looks best for its next document; a document teaches about all systems that have it."""

    def __init__(self, lists: Lists, setting: Setting, memory: float, update: Update, seed_depth: int) -> None:
        super().__init__(lists, setting)
        self.memory, self.update, self.seed_depth = memory, update, seed_depth

    def asks(self) -> Asks:
        chance = self.chance()
        pointers, arms = Pointers(self.lists), Arms(len(self.lists.docs), self.memory)
        ranks = self.lists.ranks
        for doc in depth_order(self.lists, self.seed_depth):
            pointers.ask(doc)
            is_relevant = self.relevant((yield doc))
            first = [system for system, rank in ranks[doc].items() if rank <= self.seed_depth]
            arms.learn(ranks[doc] if self.update == "all" else first, is_relevant)
        while pointers.has_more.any():
            values = self.values(arms, chance)
            arm = chosen(values, pointers.has_more, self.setting.ties, chance)
            doc = pointers.take(arm)
            is_relevant = self.relevant((yield doc))
            arms.learn(ranks[doc] if self.update == "all" else [arm], is_relevant)

    def values(self, arms: Arms, chance: np.random.Generator) -> Floats:
        """What is hoped of each system."""
        raise NotImplementedError


class MaxMean(Bandit):
    """MM: the system with the highest expected chance."""

    def values(self, arms: Arms, chance: np.random.Generator) -> Floats:
        return arms.mean


class Thompson(Bandit):
    """TS, or BLA: a chance is drawn for each system from what is believed of it; the highest wins."""

    def values(self, arms: Arms, chance: np.random.Generator) -> Floats:
        return chance.beta(1 + arms.relevant, 1 + arms.judged - arms.relevant)


class UCB(Bandit):
    """UCB1: the highest share of relevant ones plus √(2 ln t / n); systems that were never asked come first."""

    def values(self, arms: Arms, chance: np.random.Generator) -> Floats:
        n = np.maximum(arms.judged, 1)
        bound: Floats = arms.relevant / n + np.sqrt(2 * np.log(max(1, arms.pulls)) / n)
        return np.where(arms.judged > 0, bound, np.inf)
