"""Orders that need no judgment: by the best rank, or by what fusion makes of the lists."""

from __future__ import annotations

from collections.abc import Sequence

from cranfield.base import encode_id
from cranfield.data import Run
from cranfield.fusion import gather, recipe_of
from cranfield.pooling.lists import Lists
from cranfield.pooling.strategy import Fixed, Setting


def depth_order(lists: Lists, depth: int | None = None) -> list[str]:
    """Documents by their best rank, then by how many systems have them, then by id.

    >>> depth_order(Lists("1", ("a", "b"), (("d1", "d2"), ("d3", "d2"))))
    ['d1', 'd3', 'd2']
    """
    ranks, best = lists.ranks, lists.best
    docs = [doc for doc in ranks if depth is None or best[doc] <= depth]
    return sorted(docs, key=lambda doc: (best[doc], -len(ranks[doc]), encode_id(doc)))


class Depth(Fixed):
    """Every document that some system has among its first k, those at the best ranks first."""

    def order(self) -> Sequence[str]:
        return depth_order(self.lists)


class Fused(Fixed):
    """By the score of a fusion: what many systems have comes first, what one has alone last."""

    method: str

    def __init__(self, lists: Lists, setting: Setting, **params: float) -> None:
        super().__init__(lists, setting)
        self.params = params

    def order(self) -> Sequence[str]:
        recipe = recipe_of(self.method, len(self.lists.docs), params=self.params)
        (found,) = gather(self._runs(), [self.lists.query])
        order, _ = found.ranked(recipe.scores(found))
        docs: list[str] = found.docs[order].tolist()
        return docs

    def _runs(self) -> list[Run]:
        """The lists as runs again."""
        lists = self.lists
        return [
            Run.from_rows([lists.query] * len(docs), docs, scores, name=name)
            for name, docs, scores in zip(lists.systems, lists.docs, lists.scores, strict=True)
        ]


class RRF(Fused):
    method = "rrf"


class RBP(Fused):
    method = "rbc"

    def __init__(self, lists: Lists, setting: Setting, p: float) -> None:
        super().__init__(lists, setting, phi=p)


class Borda(Fused):
    method = "bordafuse"


class CombMNZ(Fused):
    method = "mnz"
