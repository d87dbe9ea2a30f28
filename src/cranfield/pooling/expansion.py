"""Expansion: judge what the runs have at the top, search again with what was relevant, judge what is new."""

from __future__ import annotations

from cranfield.pooling.lists import Lists
from cranfield.pooling.static_orders import depth_order
from cranfield.pooling.strategy import Asker, Asks, Setting


class Expansion(Asker):
    """The lists to their depth first; then, as long as that brings relevant documents, what a search with them finds.

    Finds what no run has. The search is handed in: of a query and its relevant documents it makes a ranking.
    """

    def __init__(self, lists: Lists, setting: Setting, found: int) -> None:
        super().__init__(lists, setting)
        self.found = found

    def asks(self) -> Asks:
        assert self.setting.search is not None
        relevant: list[str] = []
        asked: set[str] = set()
        queue, searched = depth_order(self.lists), -1
        while True:
            for doc in queue:
                asked.add(doc)
                if self.relevant((yield doc)):
                    relevant.append(doc)
            if len(relevant) == searched:  # the last search brought nothing to expand with
                return
            searched = len(relevant)
            found = self.setting.search(self.lists.query, tuple(sorted(relevant)), self.found + len(asked))
            queue = [doc for doc in dict.fromkeys(found) if doc not in asked][: self.found]
            if not queue:
                return
