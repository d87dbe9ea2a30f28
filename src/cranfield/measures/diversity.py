"""Measures of diversity: a query has several subtopics, and a document is relevant to some of them.

Subtopics are the second column of the qrels. One that no document is relevant to is left out. Definitions are those of
ndeval, the tool of the TREC Web track.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from cranfield.base import Flag, Parameter, Record, encode_id, replace, sort_naturally
from cranfield.data import Bools, Floats, Ints
from cranfield.joining import JudgedRun, share
from cranfield.measures.base import Measure
from cranfield.measures.graded import running_sum
from cranfield.measures.parameters import CUTOFF, MANY, REL
from cranfield.measures.ties import mean_weight

_ALPHA_NDCG = "Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR 2008"
_NRBP = "Clarke, Kolla & Vechtomova, An effectiveness measure for ambiguous and underspecified queries, ICTIR 2009"
_INTENT_AWARE = "Agrawal, Gollapudi, Halverson & Ieong, Diversifying search results, WSDM 2009"
_ERR_IA = "Chapelle, Metzler, Zhang & Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009"
_GREEDY = (
    "The ideal list is made greedily from all judged documents, the largest doc id first among equals, as in ndeval; "
    "as it need not be the very best, values up to e/(e − 1) = 1.58 are possible (up to 2 with repeats=False)."
)
_ALPHA = Parameter(
    "how little a further document on the same subtopic is worth: it counts 1 − α of the one before",
    low=0,
    high=1,
    examples=(0.5, 0.3, 0, 1),
    symbol=r"\alpha",
)
# the gain of a set of documents is submodular, so a greedy list reaches 1 − 1/e of the best sum at every depth,
# and half of it where of each duplicate group only one may be taken (Fisher, Nemhauser & Wolsey 1978)
_OVER_GREEDY = math.e / (math.e - 1)
_OVER_GREEDY_GROUPS = 2.0
_BY_NOVELTY = "; what a document gains there falls by 1 − α with each one on the same subtopic above it"
_NOT_ALL_AT_ONCE = "Only documents that are relevant to all subtopics, at every rank, would reach 1."


class _Subtopics(Record, eq=False):
    """The subtopics of a query, and which of them each document is relevant to."""

    names: tuple[str, ...]  # in natural order
    of_doc: Mapping[str, Ints]  # as places in `names`, ascending
    group_of: Mapping[str, Hashable]  # documents that say the same have the same group

    @property
    def n(self) -> int:
        return len(self.names)

    def relevant(self) -> Floats:
        """How many documents are relevant to each subtopic, a duplicate group counted once."""
        groups: list[set[Hashable]] = [set() for _ in self.names]
        for doc, subtopics in self.of_doc.items():
            for s in subtopics:
                groups[s].add(self.group_of[doc])
        return np.array([len(group) for group in groups], dtype=np.float64)


class _Diverse(Measure):
    """A measure that distinguishes subtopics."""

    rel: float | None = None

    # the examples are above 0: a document that was not judged for a subtopic is not relevant to it
    parameters: ClassVar = {"rel": replace(REL, examples=(2, 0.5))}
    tasks: ClassVar[tuple[str, ...]] = ("diversity",)
    reads_columns: ClassVar = ("subtopic",)

    def subtopics(self, judged: JudgedRun, i: int) -> _Subtopics:
        """The subtopics of query i that some document is relevant to."""
        qrels = judged.sources.qrels
        rows = qrels.rows_of(int(judged.qrels_at[i]))
        relevant = qrels.grades[rows] >= self.lowest_relevant
        docs, subtopics = qrels.docs[rows][relevant].tolist(), qrels.subtopics[rows][relevant].tolist()
        # ndeval adds up a document's subtopics in this order, which decides what counts as a tie in the ideal list
        names = tuple(sort_naturally(set(subtopics)))
        place = {name: s for s, name in enumerate(names)}
        covered: dict[str, set[int]] = {}
        for doc, subtopic in zip(docs, subtopics, strict=True):
            covered.setdefault(doc, set()).add(place[subtopic])
        of_doc = {doc: np.array(sorted(places), dtype=np.int64) for doc, places in covered.items()}
        duplicates = {} if self.repeats else judged.sources.extras.duplicates or {}
        groups: dict[str, Hashable] = {doc: (doc in duplicates, duplicates.get(doc, doc)) for doc in of_doc}
        return _Subtopics(names, of_doc, groups)

    def covered(self, judged: JudgedRun, i: int) -> list[Ints]:
        """For each hit of query i the subtopics that it is relevant to."""
        docs, topics = judged.judged_docs(i), self.subtopics(judged, i)
        nothing = np.array([], dtype=np.int64)
        hits = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
        # the grade is the highest over the subtopics: where it is too low the document is a repeat, or unjudged
        return [
            topics.of_doc.get(docs[number], nothing) if number >= 0 and grade >= self.lowest_relevant else nothing
            for number, grade in zip(judged.doc[hits], judged.grade[hits], strict=True)
        ]

    def sizes(self, judged: JudgedRun) -> Floats:
        """How many subtopics each query has."""
        return np.array([self.subtopics(judged, i).n for i in range(judged.n)], dtype=np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        shown = []
        for i in range(judged.n):
            names = self.subtopics(judged, i).names
            shown += [", ".join(names[s] for s in places) for places in self.covered(judged, i)]
        return {"subtopics": np.array(shown, dtype=object)}


class _Novel(_Diverse):
    """A measure in which each further document on a subtopic is worth less."""

    alpha: float = 0.5

    parameters: ClassVar = {"alpha": _ALPHA, **_Diverse.parameters}

    def rank_weights(self, n: int) -> Floats | None:
        return self.weight(np.arange(1, n + 1))

    def weight(self, rank: Ints) -> Floats:
        """What the gain at a rank is multiplied by."""
        raise AssertionError(f"{type(self).__name__} has no weights")

    def gains(self, judged: JudgedRun) -> Floats:
        """What each hit has to give, after those above it."""
        parts = [novelty(self.covered(judged, i), self.alpha) for i in range(judged.n)]
        return np.concatenate([*parts, np.zeros(0)])

    def terms(self, judged: JudgedRun) -> Floats:
        return self.gains(judged) * self.weight(judged.rank)

    def ideal(self, judged: JudgedRun, depth: int | None = None) -> Floats:
        """The sum that the ideal list of each query reaches."""
        sums = np.zeros(judged.n)
        for i in range(judged.n):
            gains = ideal_gains(self.subtopics(judged, i), self.alpha, depth)
            sums[i] = sum((gains * self.weight(np.arange(1, len(gains) + 1))).tolist())
        return sums

    def ideal_sums(self, judged: JudgedRun, depth: int | None = None) -> Floats:
        """For each hit the sum that the ideal list reaches down to its rank."""
        sums = np.zeros(len(judged.rank))
        for i in range(judged.n):
            gains = ideal_gains(self.subtopics(judged, i), self.alpha, depth)
            reached = np.cumsum(np.append(0.0, gains * self.weight(np.arange(1, len(gains) + 1))))
            hits = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
            sums[hits] = reached[np.minimum(judged.rank[hits], len(gains))]
        return sums

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        sums = running_sum(judged, self.terms(judged))
        columns = {"gain": self.gains(judged), "weight": self.weight(judged.rank), "sum so far": sums}
        return super().columns(judged) | columns


class _NovelCut(_Novel):
    """One that looks at the first k documents."""

    cutoff: int | None = None

    parameters: ClassVar = {"cutoff": CUTOFF, **_Novel.parameters}

    def inside(self, rank: Ints, weight: Floats) -> Floats:
        return weight if self.cutoff is None else np.where(rank <= self.cutoff, weight, 0.0)


class _OfIdeal(_Novel):
    """One that divides by what the ideal list reaches."""

    high: ClassVar[float] = _OVER_GREEDY
    normaliser_is: ClassVar[str] = "sum of the ideal list"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.repeats:
            object.__setattr__(self, "high", _OVER_GREEDY_GROUPS)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.ideal(judged, getattr(self, "cutoff", None))

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return super().columns(judged) | {"ideal": self.ideal_sums(judged, getattr(self, "cutoff", None))}


class _Collective(_NovelCut):
    """One that divides by what documents relevant to all subtopics would reach, in any collection."""

    raw_at_1: bool = False

    parameters: ClassVar = {
        **_NovelCut.parameters,
        "raw_at_1": Flag("leave the sum as it is where k is 1, as ndeval does; it may then exceed 1"),
    }
    lacks: ClassVar = {"perfect": _NOT_ALL_AT_ONCE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._is_raw:
            object.__setattr__(self, "high", math.inf)

    @property
    def _is_raw(self) -> bool:
        return self.raw_at_1 and self.cutoff == 1

    @property
    def shown_formula(self) -> str:
        if not self._is_raw:
            return self.formula
        return r"\sum_{i=1}^{k} g_i,\quad " + self.formula.rpartition(r",\quad ")[2]

    @property
    def shown_normaliser(self) -> str:
        return "" if self._is_raw else "what documents relevant to all subtopics would reach"

    def normaliser(self, judged: JudgedRun) -> Floats:
        if self._is_raw:
            return np.ones(judged.n)
        return self.sizes(judged) * self._most()

    def _most(self) -> float:
        """What a subtopic would gain if every document were relevant to it; 0 if there is no end to it."""
        if self.cutoff is None and self.alpha == 0:
            return 0.0
        total, block = 0.0, 100_000
        for first in range(1, (self.cutoff or MANY) + 1, block):
            rank = np.arange(first, first + block)
            gains = np.power(1 - self.alpha, rank - 1.0) * self.weight(rank)
            total += float(gains.sum())
            # beyond the cutoff, or too small to count: a cutoff may be a billion
            if gains[-1] == 0 or (self.cutoff is None and gains.sum() < 1e-16 * total):
                break
        return total


class alpha_DCG(_Collective):
    """The discounted gain of the first k documents, in which a repeated subtopic is worth less each time."""

    name: ClassVar = "alpha_DCG"
    weighting: ClassVar = f"1/log2(1 + i) down to rank k, 0 below{_BY_NOVELTY}"
    aliases: ClassVar[tuple[str, ...]] = ("α_DCG",)
    title: ClassVar = "Discounted cumulated gain with novelty"
    formula: ClassVar = (
        r"\frac{\sum_{i=1}^{k} g_i / \log_2(1+i)}{\sum_{i=1}^{k} S (1-\alpha)^{i-1} / \log_2(1+i)},\quad "
        r"g_i = \sum_{s \,\ni\, d_i} (1-\alpha)^{c_s(i-1)}"
    )
    about: ClassVar = (
        "A user wants to learn of all S subtopics and is served less by a document the more often its subtopics were "
        "seen before (c). Divided by what documents relevant to all subtopics would reach, as in ndeval. At k = 1 "
        "ndeval does not divide: raw_at_1=True does as it does. Without a cutoff the whole list counts, and what it is "
        "divided by goes on for ever; with α = 0 that has no bound, and the value is 0."
    )
    user: ClassVar = (
        "A user reads k documents, gets tired as in DCG, and is served less by each further document on the same "
        "subtopic."
    )
    ignores: ClassVar = (
        "Ignores everything below k, how relevant a document is to a subtopic, which subtopics are likelier, and "
        "whether there are documents on all of them."
    )
    reference: ClassVar = _ALPHA_NDCG

    def weight(self, rank: Ints) -> Floats:
        return self.inside(rank, 1 / np.log2(rank + 1.0))


class ERR_IA(_Collective):
    """The expected reciprocal rank at which a user interested in one of the subtopics is satisfied."""

    name: ClassVar = "ERR_IA"
    weighting: ClassVar = f"1/i down to rank k, 0 below{_BY_NOVELTY}"
    title: ClassVar = "Intent-aware expected reciprocal rank"
    formula: ClassVar = (
        r"\frac{\sum_{i=1}^{k} g_i / i}{\sum_{i=1}^{k} S (1-\alpha)^{i-1} / i},\quad "
        r"g_i = \sum_{s \,\ni\, d_i} (1-\alpha)^{c_s(i-1)}"
    )
    about: ClassVar = (
        "A user is interested in one of S subtopics, all equally likely, and stops at a document on it with chance α. "
        "Divided by what documents relevant to all subtopics would reach, as in ndeval. At k = 1 ndeval does not "
        "divide: raw_at_1=True does as it does. Without a cutoff the whole list counts, and what it is divided by "
        "goes on for ever; with α = 0 that has no bound, and the value is 0."
    )
    user: ClassVar = (
        "A user interested in one of the subtopics, all equally likely, reads down and stops at each document on it "
        "with chance α."
    )
    ignores: ClassVar = (
        "Ignores everything below k, how relevant a document is to a subtopic, and how many documents there are on "
        "each."
    )
    reference: ClassVar = _ERR_IA

    def weight(self, rank: Ints) -> Floats:
        return self.inside(rank, 1 / rank.astype(np.float64))


class alpha_nDCG(_NovelCut, _OfIdeal):
    """The discounted gain with novelty as a share of that of the ideal list."""

    name: ClassVar = "alpha_nDCG"
    weighting: ClassVar = f"1/log2(1 + i) down to rank k, 0 below{_BY_NOVELTY}"
    aliases: ClassVar[tuple[str, ...]] = ("α_nDCG",)
    title: ClassVar = "Normalised discounted cumulated gain with novelty"
    formula: ClassVar = (
        r"\frac{\sum_{i=1}^{k} g_i / \log_2(1+i)}{\sum_{i=1}^{k} g^*_i / \log_2(1+i)},\quad "
        r"g_i = \sum_{s \,\ni\, d_i} (1-\alpha)^{c_s(i-1)}"
    )
    about: ClassVar = (
        "A user wants to learn of all subtopics and is served less by a document the more often its subtopics were "
        f"seen before. {_GREEDY}"
    )
    user: ClassVar = (
        "A user reads k documents, gets tired as in DCG, and is served less by each further document on the same "
        "subtopic."
    )
    ignores: ClassVar = (
        "Ignores everything below k, how relevant a document is to a subtopic, and which subtopics are likelier."
    )
    reference: ClassVar = _ALPHA_NDCG

    def weight(self, rank: Ints) -> Floats:
        return self.inside(rank, 1 / np.log2(rank + 1.0))


class nERR_IA(_NovelCut, _OfIdeal):
    """The intent-aware expected reciprocal rank as a share of that of the ideal list."""

    name: ClassVar = "nERR_IA"
    weighting: ClassVar = f"1/i down to rank k, 0 below{_BY_NOVELTY}"
    title: ClassVar = "Normalised intent-aware expected reciprocal rank"
    formula: ClassVar = (
        r"\frac{\sum_{i=1}^{k} g_i / i}{\sum_{i=1}^{k} g^*_i / i},\quad "
        r"g_i = \sum_{s \,\ni\, d_i} (1-\alpha)^{c_s(i-1)}"
    )
    about: ClassVar = (
        "A user is interested in one of the subtopics, all equally likely, and stops at a document on it with chance "
        f"α. {_GREEDY}"
    )
    user: ClassVar = (
        "A user interested in one of the subtopics, all equally likely, reads down and stops at each document on it "
        "with chance α."
    )
    ignores: ClassVar = (
        "Ignores everything below k, how relevant a document is to a subtopic, and which subtopics are likelier."
    )
    reference: ClassVar = _ERR_IA

    def weight(self, rank: Ints) -> Floats:
        return self.inside(rank, 1 / rank.astype(np.float64))


class NRBP(_Novel):
    """Rank-biased precision in which a repeated subtopic is worth less each time."""

    beta: float = 0.5

    name: ClassVar = "NRBP"
    weighting: ClassVar = f"β^(i−1){_BY_NOVELTY}"
    normaliser_is: ClassVar[str] = "what documents relevant to all subtopics would reach, S/(1 − (1 − α)β)"
    title: ClassVar = "Novelty- and rank-biased precision"
    formula: ClassVar = (
        r"\frac{1 - (1-\alpha)\beta}{S} \sum_i g_i\, \beta^{i-1},\quad g_i = \sum_{s \,\ni\, d_i} (1-\alpha)^{c_s(i-1)}"
    )
    about: ClassVar = (
        "A user interested in one of S subtopics goes on to the next document with chance β and is served less by "
        "each further one on the same subtopic. The whole list counts. With α = 0 and β = 1 there is no bound to "
        "divide by, and the value is 0."
    )
    user: ClassVar = (
        "A user interested in one of the subtopics goes on to the next document with chance β and is served less by "
        "each further one on that subtopic."
    )
    ignores: ClassVar = (
        "Ignores how relevant a document is to a subtopic, how many documents there are on each, and which subtopics "
        "are likelier."
    )
    reference: ClassVar = _NRBP
    parameters: ClassVar = {
        **_Novel.parameters,
        "beta": Parameter(
            "the chance to go on to the next document", low=0, high=1, examples=(0.5, 0.8, 0, 1), symbol=r"\beta"
        ),
    }
    lacks: ClassVar[Mapping[Any, str]] = {"perfect": _NOT_ALL_AT_ONCE}

    def weight(self, rank: Ints) -> Floats:
        weights: Floats = np.power(self.beta, rank - 1.0)
        return weights

    def normaliser(self, judged: JudgedRun) -> Floats:
        return share(self.sizes(judged), 1 - (1 - self.alpha) * self.beta)


class nNRBP(NRBP, _OfIdeal):
    """Novelty- and rank-biased precision as a share of that of the ideal list."""

    name: ClassVar = "nNRBP"
    normaliser_is: ClassVar[str] = "sum of the ideal list"
    title: ClassVar = "Normalised novelty- and rank-biased precision"
    formula: ClassVar = (
        r"\frac{\sum_i g_i\, \beta^{i-1}}{\sum_i g^*_i\, \beta^{i-1}},\quad "
        r"g_i = \sum_{s \,\ni\, d_i} (1-\alpha)^{c_s(i-1)}"
    )
    about: ClassVar = (
        "A user interested in one of the subtopics goes on to the next document with chance β and is served less by "
        f"each further one on the same subtopic. {_GREEDY} 0 where nothing is relevant; ndeval prints NaN."
    )
    user: ClassVar = (
        "A user interested in one of the subtopics goes on to the next document with chance β and is served less by "
        "each further one on that subtopic."
    )
    ignores: ClassVar = "Ignores how relevant a document is to a subtopic, and which subtopics are likelier."
    lacks: ClassVar = {}

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.ideal(judged)


class AP_IA(_Diverse):
    """The mean of the average precision over the subtopics."""

    cutoff: int | None = None

    name: ClassVar = "AP_IA"
    normaliser_is: ClassVar[str] = "subtopics, S"
    weighting: ClassVar = (
        "depends on the ranking: a document at rank i weighs P_s@i/(R_s·S) for each subtopic s that it is relevant to"
    )
    aliases: ClassVar = ("MAP_IA",)
    title: ClassVar = "Intent-aware average precision"
    formula: ClassVar = r"\frac{1}{S} \sum_s \frac{1}{R_s} \sum_{i=1}^{k} \mathrm{rel}_s(i) \cdot P_s@i"
    about: ClassVar = (
        "Each subtopic is a query of its own, and all are equally likely: what a user interested in one of them can "
        "expect. Ignores that one document may serve several. With a cutoff each sum is still divided by R_s."
    )
    user: ClassVar = (
        "A user is interested in one of the subtopics, all equally likely, looks for a random document on it and "
        "reads down to it."
    )
    ignores: ClassVar = (
        "Ignores that one document may serve several subtopics, which subtopics are likelier, and how relevant a "
        "document is to each."
    )
    reference: ClassVar = _INTENT_AWARE
    parameters: ClassVar = {"cutoff": CUTOFF, **_Diverse.parameters}
    lacks: ClassVar = {"perfect": "A document on one subtopic pushes down those on another."}

    def terms(self, judged: JudgedRun) -> Floats:
        terms = np.zeros(len(judged.rank))
        for i in range(judged.n):
            relevant = self.subtopics(judged, i).relevant()
            found = np.zeros(len(relevant))
            for hit, places in enumerate(self.covered(judged, i), int(judged.starts[i])):
                found[places] += 1
                terms[hit] = sum((found[places] / relevant[places]).tolist()) / judged.rank[hit]
        return terms if self.cutoff is None else np.where(judged.rank <= self.cutoff, terms, 0.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        """For each subtopic of a document the precision at its rank, and how many documents there are on it."""
        precision, number = [], []
        for i in range(judged.n):
            relevant = self.subtopics(judged, i).relevant()
            found = np.zeros(len(relevant))
            for hit, places in enumerate(self.covered(judged, i), int(judged.starts[i])):
                found[places] += 1
                precision.append(", ".join(f"{n / judged.rank[hit]:.4g}" for n in found[places]))
                number.append(", ".join(f"{n:g}" for n in relevant[places]))
        shown = {"P_s@i": np.array(precision, dtype=object), "R_s": np.array(number, dtype=object)}
        return super().columns(judged) | shown

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.sizes(judged)


class P_IA(_Diverse):
    """The mean of the precision at k over the subtopics."""

    cutoff: int | None = None

    name: ClassVar = "P_IA"
    weighting: ClassVar = "1/k down to rank k, 0 below; without a cutoff k is the length of the list"
    title: ClassVar = "Intent-aware precision at k"
    formula: ClassVar = r"\frac{1}{k\,S} \sum_{i=1}^{k} |\{\, s : d_i \text{ is relevant to } s \,\}|"
    about: ClassVar = (
        "Each subtopic is a query of its own, and all are equally likely. A list shorter than k counts as filled up "
        "with non-relevant documents; without a cutoff k is the length of the list. A second document on a subtopic "
        "is worth as much as the first."
    )
    user: ClassVar = (
        "A user interested in one of the subtopics, all equally likely, reads k documents and counts those on it."
    )
    ignores: ClassVar = (
        "Ignores the order within the first k, everything below, how often a subtopic was seen before, and how many "
        "documents there are on each."
    )
    reference: ClassVar = _INTENT_AWARE
    parameters: ClassVar = {"cutoff": CUTOFF, **_Diverse.parameters}
    lacks: ClassVar = {"perfect": _NOT_ALL_AT_ONCE}

    def terms(self, judged: JudgedRun) -> Floats:
        return self._counts(judged) * self._inside(judged.rank)

    @property
    def shown_normaliser(self) -> str:
        return "subtopics times documents " + ("retrieved" if self.cutoff is None else "read, S·k")

    def rank_weights(self, n: int) -> Floats | None:
        return None if self.cutoff is None else self._inside(np.arange(1, n + 1)) / self.cutoff

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return super().columns(judged) | {"relevances so far": running_sum(judged, self.terms(judged))}

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.sizes(judged) * (judged.retrieved if self.cutoff is None else float(self.cutoff))

    def expected(self, judged: JudgedRun) -> Floats:
        return share(judged.total(self.expected_terms(judged)), self.normaliser(judged))

    def expected_terms(self, judged: JudgedRun) -> Floats:
        return self._counts(judged) * mean_weight(judged, self._inside)

    def _counts(self, judged: JudgedRun) -> Floats:
        """To how many subtopics each hit is relevant."""
        counts = [len(places) for i in range(judged.n) for places in self.covered(judged, i)]
        return np.array(counts, dtype=np.float64)

    def _inside(self, rank: Ints) -> Floats:
        return (rank <= (self.cutoff or MANY)).astype(np.float64)


class StRecall(_Diverse):
    """The share of the subtopics that some document among the first k is relevant to."""

    cutoff: int | None = None

    name: ClassVar = "StRecall"
    normaliser_is: ClassVar[str] = "subtopics, S"
    weighting: ClassVar = (
        "depends on the ranking: 1/S for each subtopic that a document within k is the first to be relevant to"
    )
    title: ClassVar = "Subtopic recall"
    formula: ClassVar = r"\frac{1}{S} \left| \bigcup_{i=1}^{k} \{\, s : d_i \text{ is relevant to } s \,\} \right|"
    about: ClassVar = (
        "A user wants one document on every subtopic. Ignores how high it stands within the first k, and all further "
        "documents on the subtopic."
    )
    user: ClassVar = "A user reads k documents and wants one on every subtopic."
    ignores: ClassVar = (
        "Ignores the order within the first k, everything below, all further documents on a subtopic, and how "
        "relevant each is."
    )
    reference: ClassVar = (
        "Zhai, Cohen & Lafferty, Beyond independent relevance: methods and evaluation metrics for subtopic retrieval, "
        "SIGIR 2003"
    )
    parameters: ClassVar = {"cutoff": CUTOFF, **_Diverse.parameters}

    def terms(self, judged: JudgedRun) -> Floats:
        new = [n for i in range(judged.n) for n in first_time(self.covered(judged, i))]
        inside: Bools = judged.rank <= (np.inf if self.cutoff is None else self.cutoff)
        return np.where(inside, np.array(new, dtype=np.float64), 0.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return super().columns(judged) | {"subtopics so far": running_sum(judged, self.terms(judged))}

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.sizes(judged)


def novelty(covered: Iterable[Sequence[int] | Ints], alpha: float) -> Floats:
    """The gain of each document of a list: for each of its subtopics, (1 − α) to the power of how often it was seen.

    >>> novelty([[0], [0, 1], [1]], 0.5)
    array([1. , 1.5, 0.5])
    """
    worth: dict[int, float] = {}
    gains = []
    for places in covered:
        gain = 0.0
        for s in map(int, places):
            gain += worth.get(s, 1.0)
            worth[s] = worth.get(s, 1.0) * (1 - alpha)
        gains.append(gain)
    return np.array(gains)


def ideal_gains(topics: _Subtopics, alpha: float, depth: int | None) -> Floats:
    """The gains of the ideal list: always the document that has most to give next, of equals the largest doc id."""
    docs = sorted(topics.of_doc, key=encode_id, reverse=True)
    covers = np.zeros((len(docs), topics.n))
    for row, doc in enumerate(docs):
        covers[row, topics.of_doc[doc]] = 1.0
    same = {group: number for number, group in enumerate(dict.fromkeys(topics.group_of[doc] for doc in docs))}
    group = np.array([same[topics.group_of[doc]] for doc in docs])
    worth = np.ones(topics.n)
    gains: list[float] = []
    for _ in range(min(len(same), len(docs) if depth is None else depth)):
        # column by column, as in a plain loop: a matrix product would round differently and break ties arbitrarily
        left = sum((covers[:, s] * worth[s] for s in range(topics.n)), np.zeros(len(docs)))
        best = int(np.argmax(left))
        gains.append(float(left[best]))
        worth = np.where(covers[best] > 0, worth * (1 - alpha), worth)
        # no document of its group has anything to give any more
        covers[group == group[best]] = 0.0
    return np.array(gains)


def first_time(covered: Iterable[Ints]) -> list[int]:
    """How many subtopics each document of a list is the first to be relevant to."""
    seen: set[int] = set()
    new = []
    for places in covered:
        mine = set(places.tolist()) - seen
        seen |= mine
        new.append(len(mine))
    return new
