"""Active sampling: documents drawn by chance, better systems' ones more often, and estimates that know the chances.

Li & Kanoulas (CIKM 2017). A system is chosen, then a rank of its list; the first ranks have the better chances. Draws
are with replacement, in rounds; after each round systems are weighed by the relevant documents that they have. Unlike
theirs, no document ever loses its chance: without one nothing could be estimated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints, Qrels
from cranfield.pooling.lists import Lists
from cranfield.pooling.strategy import Asker, Asks, Setting

MOST_DRAWS = 50  # for every document of the pool; a sample need not come upon all of it
SAMPLED = "1"  # the method of what was drawn by chance, in prels


def rank_chances(size: int, beyond: int = 1) -> Floats:
    """The chance of each rank of a list, in proportion to ln((Z + 1)/r); ln(Z/r) would leave none to the last.

    >>> rank_chances(6).round(4).tolist()
    [0.3818, 0.2458, 0.1663, 0.1098, 0.066, 0.0302]
    """
    weights = np.log((size + beyond) / np.arange(1.0, size + 1))
    total = weights.sum()
    return weights / total if total > 0 else np.full(size, 1.0 / max(size, 1))


class Round(Record, eq=False):
    """Draws that were made with the same chances."""

    chances: Floats  # of each document of the pool
    drawn: Ints  # documents by number, as often as they were drawn


class Sample(Record, eq=False):
    """What was drawn for a topic in all rounds that are judged, and what may be estimated from it."""

    docs: Sequence[str]  # all of the pool
    rounds: Sequence[Round]
    grades: Mapping[str, float]  # of what was drawn

    @property
    def draws(self) -> int:
        return sum(len(one.drawn) for one in self.rounds)

    def inclusion(self) -> dict[str, float]:
        """For each document that was drawn the chance that it would be, 1 − Π(1 − p) over all draws."""
        missed = np.zeros(len(self.docs))
        for one in self.rounds:
            with np.errstate(divide="ignore"):
                missed += len(one.drawn) * np.log1p(-np.minimum(one.chances, 1.0))
        chances = -np.expm1(missed)
        at = sorted({int(i) for one in self.rounds for i in one.drawn})
        return {self.docs[i]: float(chances[i]) for i in at}

    def horvitz_thompson(self, rel: float = 1.0) -> float:
        """The estimated number of relevant documents, Σ1/π over those that were drawn.

        Unbiased while chances do not depend on what was drawn before, that is for one round.
        """
        return math.fsum(1 / chance for doc, chance in self.inclusion().items() if self.grades[doc] >= rel)

    def hansen_hurwitz(self, rel: float = 1.0) -> float:
        """The estimated number of relevant documents, the mean of 1/p over all draws; unbiased though chances adapt."""
        if not self.draws:
            return 0.0
        terms = (
            1 / float(one.chances[i])
            for one in self.rounds
            for i in one.drawn.tolist()
            if self.grades[self.docs[i]] >= rel
        )
        return math.fsum(terms) / self.draws


class ActiveSampling(Asker):
    """Documents by chance, those of systems with many relevant ones more often."""

    def __init__(self, lists: Lists, setting: Setting, draws: int, explore: float, beyond: int = 1) -> None:
        super().__init__(lists, setting)
        self.draws, self.explore = draws, explore
        self.docs = sorted(lists.ranks)
        number = {doc: i for i, doc in enumerate(self.docs)}
        self._places = [np.array([number[doc] for doc in own], dtype=np.int64) for own in lists.docs]
        self._ranks = [rank_chances(len(own), beyond) for own in lists.docs]
        # what a relevant document at each rank says for its system: Σ1/k from there to the end of the list
        self._worth = [np.cumsum(1.0 / np.arange(len(own), 0, -1))[::-1] for own in lists.docs]

    def asks(self) -> Asks:
        grades: dict[str, float] = {}
        for _, unknown in self._rounds(grades):
            for doc in unknown:
                grades[doc] = yield doc

    def sample(self, judged: Mapping[str, float]) -> Sample:
        """What was drawn in the rounds of which all documents are judged."""
        rounds: list[Round] = []
        grades: dict[str, float] = {}
        for one, unknown in self._rounds(grades):
            if any(doc not in judged for doc in unknown):
                break
            grades.update({doc: judged[doc] for doc in unknown})
            rounds.append(one)
        return Sample(self.docs, rounds, grades)

    def chances(self, grades: Mapping[str, float]) -> Floats:
        """The chance of each document in the next draw, given what was judged."""
        chances = np.zeros(len(self.docs))
        weights = self._weights(grades)
        for weight, at, ranks in zip(weights, self._places, self._ranks, strict=True):
            chances[at] += weight * ranks
        total = chances.sum()
        return chances / total if total > 0 else chances

    def _rounds(self, grades: Mapping[str, float]) -> Iterator[tuple[Round, list[str]]]:
        """Rounds one after the other, each with its documents that have no grade yet; they must have by the next."""
        chance, known = self.chance("active"), -1
        for _ in range(math.ceil(MOST_DRAWS * len(self.docs) / self.draws)):
            if len(grades) == len(self.docs):
                return
            if len(grades) != known:  # else nothing has changed since the last round
                known, chances = len(grades), self.chances(grades)
                steps = np.cumsum(chances)
            drawn = np.searchsorted(steps, chance.random(self.draws) * steps[-1], side="right")
            new = dict.fromkeys(self.docs[i] for i in drawn.tolist())
            yield Round(chances, drawn), [doc for doc in new if doc not in grades]

    def _weights(self, grades: Mapping[str, float]) -> Floats:
        """How likely each system is chosen: in proportion to Σ1/k from rank to end, over its relevant documents.

        A share is left to all alike: what had no chance could not be estimated.
        """
        systems = len(self.lists.docs)
        weights = np.zeros(systems)
        for doc, grade in grades.items():
            if self.relevant(grade):
                for system, rank in self.lists.ranks[doc].items():
                    weights[system] += self._worth[system][rank - 1]
        if not weights.any():
            return np.full(systems, 1.0 / systems)
        shares: Floats = (1 - self.explore) * weights / weights.sum() + self.explore / systems
        return shares


def prels_of(samples: Mapping[str, Sample]) -> Qrels:
    """Judgments with the chance that each document had to be drawn, which statAP and its relatives take."""
    rows = [
        (query, doc, sample.grades[doc], f"{chance:.12g}")
        for query, sample in samples.items()
        for doc, chance in sample.inclusion().items()
    ]
    queries, docs, grades, chances = zip(*rows, strict=True) if rows else ((), (), (), ())
    extra = {"method": [SAMPLED] * len(rows), "probability": chances}
    return Qrels.from_rows(queries, docs, grades, extra=extra, name="sample")
