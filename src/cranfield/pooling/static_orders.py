"""Orders that need no judgments: by best rank, or by the score of a fusion."""

from __future__ import annotations

from collections.abc import Sequence

from cranfield.base import encode_id
from cranfield.data import Run
from cranfield.fusion import gather_candidates, make_recipe
from cranfield.pooling.ranked_lists import RankedLists
from cranfield.pooling.selector import PoolingContext, StaticSelector


def order_by_depth(lists: RankedLists, depth: int | None = None) -> list[str]:
    """Documents by best rank, then by the number of systems that have them, then by id.

    >>> order_by_depth(RankedLists("1", ("a", "b"), (("d1", "d2"), ("d3", "d2"))))
    ['d1', 'd3', 'd2']
    """
    ranks, best = lists.ranks, lists.best_rank
    docs = [doc for doc in ranks if depth is None or best[doc] <= depth]
    return sorted(docs, key=lambda doc: (best[doc], -len(ranks[doc]), encode_id(doc)))


class Depth(StaticSelector):
    """Every document among the first k of any system, best ranks first."""

    def order(self) -> Sequence[str]:
        return order_by_depth(self.lists)


class FusedOrder(StaticSelector):
    """By the score of a fusion: documents that many systems have come first."""

    method: str

    def __init__(self, lists: RankedLists, context: PoolingContext, **params: float) -> None:
        super().__init__(lists, context)
        self.params = params

    def order(self) -> Sequence[str]:
        recipe = make_recipe(self.method, len(self.lists.docs), params=self.params)
        (gathered,) = gather_candidates(self._runs(), [self.lists.query])
        order, _ = gathered.ranked(recipe.scores(gathered))
        docs: list[str] = gathered.docs[order].tolist()
        return docs

    def _runs(self) -> list[Run]:
        """The lists as runs."""
        lists = self.lists
        return [
            Run.from_rows([lists.query] * len(docs), docs, scores, name=name)
            for name, docs, scores in zip(lists.systems, lists.docs, lists.scores, strict=True)
        ]


class RRF(FusedOrder):
    method = "rrf"


class RBP(FusedOrder):
    method = "rbc"

    def __init__(self, lists: RankedLists, context: PoolingContext, p: float) -> None:
        super().__init__(lists, context, phi=p)


class Borda(FusedOrder):
    method = "bordafuse"


class CombMNZ(FusedOrder):
    method = "mnz"
