"""Active sampling: documents drawn at random, more often from better systems, and estimates that allow for this.

Li & Kanoulas (CIKM 2017). A draw picks a system, then a rank of its list; high ranks are more likely. Draws are with
replacement, in rounds. After each round, systems are weighted by the relevant documents they have. Unlike in the
paper, every document keeps a probability above 0: nothing can be estimated without one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints, Qrels
from cranfield.pooling.ranked_lists import RankedLists
from cranfield.pooling.selector import PoolingContext, Selection, Selector

MAX_DRAWS = 50  # per document of the pool; a sample need not reach all of it
SAMPLED = "1"  # the method of a randomly drawn document, in prels


def rank_probabilities(size: int, beyond: int = 1) -> Floats:
    """The probability of each rank of a list, proportional to ln((Z + 1)/r); with ln(Z/r) the last would have 0.

    >>> rank_probabilities(6).round(4).tolist()
    [0.3818, 0.2458, 0.1663, 0.1098, 0.066, 0.0302]
    """
    weights = np.log((size + beyond) / np.arange(1.0, size + 1))
    total = weights.sum()
    return weights / total if total > 0 else np.full(size, 1.0 / max(size, 1))


class Round(Record, eq=False):
    """Draws with the same probabilities."""

    probabilities: Floats  # of each document of the pool
    drawn: Ints  # documents by number, as often as they were drawn


class Sample(Record, eq=False):
    """The draws of all fully judged rounds of a topic, and what can be estimated from them."""

    docs: Sequence[str]  # the whole pool
    rounds: Sequence[Round]
    grades: Mapping[str, float]  # of the drawn documents

    @property
    def draws(self) -> int:
        return sum(len(one.drawn) for one in self.rounds)

    def inclusion_probabilities(self) -> dict[str, float]:
        """For each drawn document its probability of being drawn, 1 − Π(1 − p) over all draws."""
        missed = np.zeros(len(self.docs))
        for one in self.rounds:
            with np.errstate(divide="ignore"):
                missed += len(one.drawn) * np.log1p(-np.minimum(one.probabilities, 1.0))
        inclusion = -np.expm1(missed)
        at = sorted({int(i) for one in self.rounds for i in one.drawn})
        return {self.docs[i]: float(inclusion[i]) for i in at}

    def horvitz_thompson(self, rel: float = 1.0) -> float:
        """The estimated number of relevant documents, Σ1/π over those that were drawn.

        Unbiased as long as probabilities do not depend on earlier draws, that is, for one round.
        """
        return math.fsum(1 / p for doc, p in self.inclusion_probabilities().items() if self.grades[doc] >= rel)

    def hansen_hurwitz(self, rel: float = 1.0) -> float:
        """The estimated number of relevant documents, the mean of 1/p over all draws; unbiased over all rounds."""
        if not self.draws:
            return 0.0
        terms = (
            1 / float(one.probabilities[i])
            for one in self.rounds
            for i in one.drawn.tolist()
            if self.grades[self.docs[i]] >= rel
        )
        return math.fsum(terms) / self.draws


class ActiveSampling(Selector):
    """Random documents, more often from systems with many relevant ones."""

    def __init__(
        self, lists: RankedLists, context: PoolingContext, draws: int, explore: float, beyond: int = 1
    ) -> None:
        super().__init__(lists, context)
        self.draws, self.explore = draws, explore
        self.docs = sorted(lists.ranks)
        number = {doc: i for i, doc in enumerate(self.docs)}
        self._numbers = [np.array([number[doc] for doc in docs], dtype=np.int64) for docs in lists.docs]
        self._rank_probabilities = [rank_probabilities(len(docs), beyond) for docs in lists.docs]
        # what a relevant document at each rank adds to the weight of its system: Σ1/k from there to the end of the list
        self._credit = [np.cumsum(1.0 / np.arange(len(docs), 0, -1))[::-1] for docs in lists.docs]

    def select(self) -> Selection:
        grades: dict[str, float] = {}
        for _, new in self._rounds(grades):
            for doc in new:
                grades[doc] = yield doc

    def sample(self, judged: Mapping[str, float]) -> Sample:
        """The draws of those rounds whose documents are all judged."""
        rounds: list[Round] = []
        grades: dict[str, float] = {}
        for one, new in self._rounds(grades):
            if any(doc not in judged for doc in new):
                break
            grades.update({doc: judged[doc] for doc in new})
            rounds.append(one)
        return Sample(self.docs, rounds, grades)

    def probabilities(self, grades: Mapping[str, float]) -> Floats:
        """The probability of each document in the next draw, given the judgments so far."""
        probabilities = np.zeros(len(self.docs))
        weights = self._weights(grades)
        for weight, at, ranks in zip(weights, self._numbers, self._rank_probabilities, strict=True):
            probabilities[at] += weight * ranks
        total = probabilities.sum()
        return probabilities / total if total > 0 else probabilities

    def _rounds(self, grades: Mapping[str, float]) -> Iterator[tuple[Round, list[str]]]:
        """Each round with its documents that have no grade yet; the caller adds their grades before the next."""
        rng, known = self.rng("active"), -1
        for _ in range(math.ceil(MAX_DRAWS * len(self.docs) / self.draws)):
            if len(grades) == len(self.docs):
                return
            if len(grades) != known:  # otherwise nothing has changed since the last round
                known, probabilities = len(grades), self.probabilities(grades)
                steps = np.cumsum(probabilities)
            drawn = np.searchsorted(steps, rng.random(self.draws) * steps[-1], side="right")
            docs = dict.fromkeys(self.docs[i] for i in drawn.tolist())
            yield Round(probabilities, drawn), [doc for doc in docs if doc not in grades]

    def _weights(self, grades: Mapping[str, float]) -> Floats:
        """The probability of each system, proportional to its credit for relevant documents.

        The share `explore` is spread evenly over all systems, so no document has probability 0.
        """
        systems = len(self.lists.docs)
        weights = np.zeros(systems)
        for doc, grade in grades.items():
            if self.is_relevant(grade):
                for system, rank in self.lists.ranks[doc].items():
                    weights[system] += self._credit[system][rank - 1]
        if not weights.any():
            return np.full(systems, 1.0 / systems)
        shares: Floats = (1 - self.explore) * weights / weights.sum() + self.explore / systems
        return shares


def build_prels(samples: Mapping[str, Sample]) -> Qrels:
    """Judgments with the inclusion probability of each document, as statAP and similar measures need them."""
    rows = [
        (query, doc, sample.grades[doc], f"{probability:.12g}")
        for query, sample in samples.items()
        for doc, probability in sample.inclusion_probabilities().items()
    ]
    queries, docs, grades, probabilities = zip(*rows, strict=True) if rows else ((), (), (), ())
    extra = {"method": [SAMPLED] * len(rows), "probability": probabilities}
    return Qrels.from_rows(queries, docs, grades, extra=extra, name="sample")
