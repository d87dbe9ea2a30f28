"""Hedge: documents by a weighted vote of systems, which lose weight for non-relevant documents at high ranks."""

from __future__ import annotations

import math

import numpy as np

from cranfield.data import Floats
from cranfield.pooling.ranked_lists import RankedLists
from cranfield.pooling.selector import PoolingContext, Selection, Selector, shuffle_by_hash


class Hedge(Selector):
    """Select the document with the highest expected loss over the weighted systems if it were not relevant.

    Aslam, Pavlu & Savell 2003. A system that has a document at rank r of Z stakes ln(Z/r) on it, and wins or loses half
    of that. Its weight is multiplied by β^loss. A document that it lacks costs it nothing.
    """

    def __init__(self, lists: RankedLists, context: PoolingContext, beta: float) -> None:
        super().__init__(lists, context)
        self.beta = beta

    def select(self) -> Selection:
        docs = list(self.lists.ranks)
        if self.context.ties == "chance":
            docs = shuffle_by_hash(docs, self.lists.query, self.context.seed, "hedge")
        stakes = self._stakes(docs)
        loss = np.zeros(len(self.lists.docs))  # total of each system
        is_open = np.ones(len(docs), dtype=bool)
        for _ in docs:
            values = np.where(is_open, (stakes * self._weights(loss)).sum(axis=1), -np.inf)
            # equal sums may differ in the last digit if added up in another order
            best = int(np.flatnonzero(values >= values.max() - 1e-12)[0])
            is_open[best] = False
            sign = -1 if self.is_relevant((yield docs[best])) else 1
            loss += sign * stakes[best] / 2

    def _stakes(self, docs: list[str]) -> Floats:
        """Documents × systems: what a system stakes on a document."""
        stakes = np.zeros((len(docs), len(self.lists.docs)))
        sizes = [len(docs) for docs in self.lists.docs]
        for i, doc in enumerate(docs):
            for system, rank in self.lists.ranks[doc].items():
                stakes[i, system] = math.log(sizes[system] / rank)
        return stakes

    def _weights(self, loss: Floats) -> Floats:
        """Weights that sum to 1, relative to the smallest loss to avoid underflow."""
        weights = np.exp(math.log(self.beta) * (loss - loss.min()))
        shares: Floats = weights / weights.sum()
        return shares
