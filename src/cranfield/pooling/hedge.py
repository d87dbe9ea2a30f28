"""Hedge: documents by a weighted vote of systems, which lose weight by what they put at the top in vain."""

from __future__ import annotations

import math

import numpy as np

from cranfield.data import Floats
from cranfield.pooling.lists import Lists
from cranfield.pooling.strategy import Asker, Asks, Setting, scattered


class Hedge(Asker):
    """Ask for the document with the highest mean loss, if it were not relevant, over the weighted systems.

    Aslam, Pavlu & Savell 2003. A system that has a document at rank r of Z stakes ln(Z/r) on it, half of which it
    loses or wins; its weight is multiplied by β^loss. A document that it lacks costs it nothing.
    """

    def __init__(self, lists: Lists, setting: Setting, beta: float) -> None:
        super().__init__(lists, setting)
        self.beta = beta

    def asks(self) -> Asks:
        docs = list(self.lists.ranks)
        if self.setting.ties == "chance":
            docs = scattered(docs, self.lists.query, self.setting.seed, "hedge")
        stakes = self._stakes(docs)
        loss = np.zeros(len(self.lists.docs))  # of each system, in all
        left = np.ones(len(docs), dtype=bool)
        for _ in docs:
            hopes = np.where(left, (stakes * self._weights(loss)).sum(axis=1), -np.inf)
            # equal sums in another order differ by a last digit
            best = int(np.flatnonzero(hopes >= hopes.max() - 1e-12)[0])
            left[best] = False
            sign = -1 if self.relevant((yield docs[best])) else 1
            loss += sign * stakes[best] / 2

    def _stakes(self, docs: list[str]) -> Floats:
        """Documents × systems: what a system stakes on a document."""
        stakes = np.zeros((len(docs), len(self.lists.docs)))
        sizes = [len(own) for own in self.lists.docs]
        for i, doc in enumerate(docs):
            for system, rank in self.lists.ranks[doc].items():
                stakes[i, system] = math.log(sizes[system] / rank)
        return stakes

    def _weights(self, loss: Floats) -> Floats:
        """Weights that add up to 1, worked out from losses so that none becomes too small for a number."""
        weights = np.exp(math.log(self.beta) * (loss - loss.min()))
        shares: Floats = weights / weights.sum()
        return shares
