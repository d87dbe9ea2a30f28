"""AutoTAR: a text classifier learns from the judged documents which ones to judge next, including those of no run.

Cormack & Grossman (SIGIR 2015), as in HiCAL and auto-stop-tar: the topic counts as one relevant document, a hundred
random documents are presumed not relevant and are redrawn every time, and batches grow by a tenth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate, islice

import numpy as np

from cranfield.data import Floats
from cranfield.pooling.ranked_lists import RankedLists
from cranfield.pooling.selector import GradeLookup, PoolingContext, Selector
from cranfield.pooling.text_classifier import train_and_score


def batch_sizes() -> Iterator[int]:
    """The sizes of batches: each a tenth larger than the one before, rounded up.

    >>> from itertools import islice
    >>> list(islice(batch_sizes(), 13))
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15]
    """
    size = 1
    while True:
        yield size
        size += -(-size // 10)


class AutoTAR(Selector):
    """The documents most likely to be relevant according to a classifier trained on all judgments."""

    def __init__(self, lists: RankedLists, context: PoolingContext, negatives: int, penalty: float) -> None:
        super().__init__(lists, context)
        self.negatives, self.penalty = negatives, penalty

    def notes(self) -> Iterator[str]:
        if any(doc not in self.context.vectors.numbers for doc in self.lists.ranks):
            yield "autotar never selects documents of the runs whose text is missing."
        if not self._topic_text.strip():
            yield "autotar starts with random documents for topics without text."

    def batch(self, judged: int) -> int:
        """The rest of the current batch; the model is trained again after each batch."""
        ends = accumulate(batch_sizes())
        return next(end for end in ends if end > judged) - judged

    def next(self, judged: Mapping[str, float], n: int = 1) -> list[str]:
        """The most promising documents. All judgments are training data, in whatever order they were made."""
        vectors = self.context.vectors
        known = {doc: grade for doc, grade in judged.items() if doc in vectors.numbers}
        scores = self._scores(known)
        # rounded: scores that differ in the last digit keep the order of the file, on every machine
        order = np.lexsort((np.arange(len(scores)), -scores.round(9)))
        docs = (vectors.docs[i] for i in order.tolist())
        return list(islice((doc for doc in docs if doc not in known), n))

    def replay(self, grade_of: GradeLookup, budget: int | None = None) -> Iterator[str]:
        judged: dict[str, float] = {}
        ungraded: set[str] = set()
        while docs := self._next_ungraded(judged, ungraded, self.batch(len(judged))):
            for doc in docs:
                if budget is not None and len(judged) >= budget:
                    return
                grade = grade_of(doc)
                if grade is None:
                    ungraded.add(doc)
                    continue
                yield doc
                judged[doc] = grade

    def _next_ungraded(self, judged: Mapping[str, float], ungraded: Collection[str], n: int) -> list[str]:
        docs = self.next(judged, n + len(ungraded))
        return [doc for doc in docs if doc not in ungraded][:n]

    @property
    def _topic_text(self) -> str:
        return (self.context.topics or {}).get(self.lists.query, "")

    def _scores(self, judged: Mapping[str, float]) -> Floats:
        from scipy.sparse import vstack

        vectors, docs = self.context.vectors, sorted(judged)
        presumed = self._presumed(judged)
        is_relevant = np.array([True, *(self.is_relevant(judged[doc]) for doc in docs), *[False] * len(presumed)])
        rows = vectors.matrix[[*(vectors.numbers[doc] for doc in docs), *presumed]]
        examples = vstack([vectors.vector(self._topic_text), rows], format="csr")
        return train_and_score(vectors.matrix, examples, is_relevant, self.penalty)

    def _presumed(self, judged: Mapping[str, float]) -> list[int]:
        """Random unjudged documents, drawn again whenever there are more judgments."""
        unjudged = [i for i, doc in enumerate(self.context.vectors.docs) if doc not in judged]
        drawn = self.rng(f"presumed {len(judged)}").permutation(len(unjudged))[: self.negatives]
        return sorted(unjudged[i] for i in drawn.tolist())
