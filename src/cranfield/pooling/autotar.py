"""AutoTAR: learn from the words of what was judged which documents to judge next, whether any run has them or not.

Cormack & Grossman (SIGIR 2015), as in HiCAL and auto-stop-tar: the topic counts as one relevant document, a hundred
random documents are presumed not to be relevant and redrawn every time, and batches grow by a tenth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate

import numpy as np

from cranfield.data import Floats
from cranfield.pooling.lists import Lists
from cranfield.pooling.strategy import Answer, Asker, Setting
from cranfield.pooling.text_classifier import learned_scores


def batches() -> Iterator[int]:
    """The sizes of batches: each a tenth larger than the one before, rounded up.

    >>> from itertools import islice
    >>> list(islice(batches(), 13))
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15]
    """
    size = 1
    while True:
        yield size
        size += -(-size // 10)


class AutoTAR(Asker):
    """The documents that look most relevant to a classifier that learns from all that is judged."""

    def __init__(self, lists: Lists, setting: Setting, negatives: int, penalty: float) -> None:
        super().__init__(lists, setting)
        self.negatives, self.penalty = negatives, penalty

    def notes(self) -> Iterator[str]:
        if any(doc not in self.setting.texts.numbers for doc in self.lists.ranks):
            yield "Documents of the runs whose text is not at hand are never asked for by autotar."
        if not (self.setting.topics or {}).get(self.lists.query, "").strip():
            yield "Where a topic has no words, autotar begins with documents by chance."

    def batch(self, judged: int) -> int:
        """What is left of the batch that is being judged, the model being learned anew after each."""
        ends = accumulate(batches())
        return next(end for end in ends if end > judged) - judged

    def next(self, judged: Mapping[str, float], n: int = 1) -> list[str]:
        """The documents that look most relevant; everything that is judged teaches, in whatever order it was."""
        texts = self.setting.texts
        known = {doc: grade for doc, grade in judged.items() if doc in texts.numbers}
        scores = self._scores(known)
        # what differs by a last digit only stays in the order of the file, on every machine
        order = np.lexsort((np.arange(len(scores)), -scores.round(9)))
        fresh = (texts.docs[i] for i in order.tolist())
        return [doc for _, doc in zip(range(n), (doc for doc in fresh if doc not in known), strict=False)]

    def replay(self, grade_of: Answer, budget: int | None = None) -> Iterator[str]:
        judged: dict[str, float] = {}
        passed: set[str] = set()  # what has no answer
        while docs := self._fresh(judged, passed, self.batch(len(judged))):
            for doc in docs:
                if budget is not None and len(judged) >= budget:
                    return
                grade = grade_of(doc)
                if grade is None:
                    passed.add(doc)
                    continue
                yield doc
                judged[doc] = grade

    def _fresh(self, judged: Mapping[str, float], passed: Collection[str], n: int) -> list[str]:
        docs = self.next(judged, n + len(passed))
        return [doc for doc in docs if doc not in passed][:n]

    def _scores(self, judged: Mapping[str, float]) -> Floats:
        from scipy.sparse import vstack

        texts = self.setting.texts
        topic = texts.vector((self.setting.topics or {}).get(self.lists.query, ""))
        rows = [texts.numbers[doc] for doc in sorted(judged)]
        presumed = self._presumed(judged)
        is_relevant = np.array(
            [True, *(self.relevant(judged[doc]) for doc in sorted(judged)), *[False] * len(presumed)]
        )
        examples = vstack([topic, texts.vectors[[*rows, *presumed]]], format="csr")
        return learned_scores(texts.vectors, examples, is_relevant, self.penalty)

    def _presumed(self, judged: Mapping[str, float]) -> list[int]:
        """Random documents that nobody judged, others whenever more is judged."""
        texts = self.setting.texts
        left = [i for i, doc in enumerate(texts.docs) if doc not in judged]
        drawn = self.chance(f"presumed {len(judged)}").permutation(len(left))[: self.negatives]
        return sorted(left[i] for i in drawn.tolist())
