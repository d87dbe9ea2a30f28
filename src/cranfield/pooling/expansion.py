"""Expansion: judge the top of the runs, search again with the relevant documents, judge what is new."""

from __future__ import annotations

from cranfield.pooling.ranked_lists import RankedLists
from cranfield.pooling.selector import PoolingContext, Selection, Selector
from cranfield.pooling.static_orders import order_by_depth


class Expansion(Selector):
    """First the lists to their depth; then, as long as that finds relevant documents, the results of searches.

    This finds documents that no run has. `PoolingContext.search` ranks documents, given a query and its relevant ones.
    """

    def __init__(self, lists: RankedLists, context: PoolingContext, found: int) -> None:
        super().__init__(lists, context)
        self.found = found

    def select(self) -> Selection:
        assert self.context.search is not None
        relevant: list[str] = []
        selected: set[str] = set()
        queue, used = order_by_depth(self.lists), -1  # used: how many relevant documents the last search had
        while True:
            for doc in queue:
                selected.add(doc)
                if self.is_relevant((yield doc)):
                    relevant.append(doc)
            if len(relevant) == used:
                return
            used = len(relevant)
            ranking = self.context.search(self.lists.query, tuple(sorted(relevant)), self.found + len(selected))
            queue = [doc for doc in dict.fromkeys(ranking) if doc not in selected][: self.found]
            if not queue:
                return
