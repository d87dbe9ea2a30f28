"""Measures of a ranking against a preferred order: compatibility with an ideal list, and pairwise accuracy."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from cranfield.base import Flag, Parameter, Record, encode_id
from cranfield.data import Bools, Floats, Ints
from cranfield.joining import JudgedRun, share
from cranfield.measures.base import Measure
from cranfield.measures.parameters import CUTOFF, REL

LONGEST = "longest"
_RBO = r"\mathrm{RBO}(a, b) = \frac{\sum_{d=1}^{n} p^{d-1} |a_{1..d} \cap b_{1..d}| / d}{\sum_{d=1}^{n} p^{d-1}}"


class Compat(Measure):
    """How much the ranking overlaps with the ideal one at every depth, the first depths most."""

    p: float = 0.95
    normalize: bool = True
    depth: int | str = 1000

    name: ClassVar = "Compat"
    aliases: ClassVar[tuple[str, ...]] = ("Compatibility",)
    title: ClassVar = "Compatibility with the ideal ranking"
    formula: ClassVar = (
        r"\frac{\mathrm{RBO}(\mathrm{run}, \mathrm{ideal})}{\mathrm{RBO}(\mathrm{ideal}, \mathrm{ideal})},\quad "
        r"\mathrm{RBO}(a, b) = \frac{\sum_{d=1}^{n} p^{d-1} |a_{1..d} \cap b_{1..d}| / d}{\sum_{d=1}^{n} p^{d-1}}"
    )
    weighting: ClassVar[str] = (
        "in proportion to p^(d−1)/d for each document that both lists have down to depth d, so one at rank i "
        "counts at all depths from i on"
    )
    about: ClassVar = (
        "A user compares the list with the best one from the top and goes on to the next depth with chance p. "
        "Preferences are grades, any numbers: the ideal list holds the documents with a positive grade, best first, "
        "equal ones as the run has them. How much better one grade is than another does not matter. Depths go to 1000 "
        "as in Clarke's program; ir_measures stops where the longer list ends (depth='longest'), so cutting a "
        "run changes what it is divided by. 0 where no grade is positive (Clarke leaves such queries out)."
    )
    user: ClassVar = (
        "A user compares the list with the best one from the top and goes on from each depth to the next with chance p."
    )
    ignores: ClassVar = (
        "Ignores how much better one grade is than another, and the order within a depth beyond which documents both "
        "lists have there."
    )
    reference: ClassVar = (
        "Clarke, Vtyurina & Smucker, Assessing top-k preferences, TOIS 39, 2021; "
        "Clarke, Smucker & Vtyurina, Offline evaluation by maximum similarity to an ideal ranking, CIKM 2020"
    )
    tasks: ClassVar[tuple[str, ...]] = ("graded", "web")
    parameters: ClassVar = {
        "p": Parameter("the chance to go on to the next depth", low=0, high=1, examples=(0.8, 0.95)),
        "normalize": Flag("divide by the value of the ideal list, which then has 1"),
        "depth": Parameter(
            "the last depth compared", low=1, high=10**6, whole=True, word=LONGEST, examples=(10, LONGEST), symbol="n"
        ),
    }

    @property
    def shown_formula(self) -> str:
        own = r"\mathrm{RBO}(\mathrm{run}, \mathrm{ideal})"
        value = rf"\frac{{{own}}}{{\mathrm{{RBO}}(\mathrm{{ideal}}, \mathrm{{ideal}})}}" if self.normalize else own
        return r",\quad ".join([value, _RBO, *self._depth_formula()])

    def _depth_formula(self) -> list[str]:
        return [r"n = \max(|a|, |b|)"] if self.depth == LONGEST else []

    @property
    def shown_normaliser(self) -> str:
        return "sum of the ideal list" if self.normalize else "chances to come to each depth, added up"

    def per_query(self, judged: JudgedRun) -> Floats:
        each = [self._parts(judged, i) for i in range(judged.n)]
        sums = np.array([parts.sum() for parts in each], dtype=np.float64)
        return share(sums, np.array([self._whole(parts) for parts in each], dtype=np.float64))

    def terms(self, judged: JudgedRun) -> Floats:
        """The overlap at the depth of each rank, weighted; only a dense join has them all."""
        return self._by_rank(judged, [self._parts(judged, i).terms() for i in range(judged.n)])

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.array([self._whole(self._parts(judged, i)) for i in range(judged.n)], dtype=np.float64)

    def _whole(self, parts: _Parts) -> float:
        if not parts.length:
            return 0.0
        return parts.best() if self.normalize else float(np.sum(parts.chances))

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        each = [self._parts(judged, i) for i in range(judged.n)]
        return {
            "ideal": self._ideal_docs(judged),
            "in common": self._by_rank(judged, [parts.overlap for parts in each]),
            "weight": self._by_rank(judged, [parts.weights for parts in each]),
        }

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """The depths below the last document retrieved, where the overlap stays the same in one row."""
        parts = self._parts(judged, 0)
        below = range(int(judged.retrieved[0]), len(parts.weights))
        rows = []
        for common, depths in groupby(below, key=parts.overlap.__getitem__):
            if common:
                at = list(depths)
                span = f"depths {at[0] + 1} to {at[-1] + 1}" if len(at) > 1 else f"depth {at[0] + 1}"
                weight = float(parts.weights[at].sum())
                rows.append(
                    {"what": span, "in common": float(common), "weight": weight, "term": float(common * weight)}
                )
        return rows

    def ideal(self, judged: JudgedRun, i: int) -> list[int]:
        """The documents with a positive grade in the best order, as numbers into `judged_docs`."""
        rank, stands_for = self.ranks(judged, i), self._stands_for(judged, i)
        grades = judged.sources.qrels.judged[int(judged.qrels_at[i])].values()
        positive = [(doc, grade) for doc, grade in enumerate(grades) if grade > 0 and stands_for[doc] == doc]
        # the order of those that were not retrieved does not matter to the value
        return [doc for doc, _ in sorted(positive, key=lambda pair: (-pair[1], rank.get(pair[0], np.inf), pair[0]))]

    def ranks(self, judged: JudgedRun, i: int) -> dict[int, int]:
        """The ranks of the documents that may be in common with the ideal list."""
        part = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
        good = judged.grade[part] > 0
        stands_for = self._stands_for(judged, i)
        return {
            stands_for[doc]: rank
            for doc, rank in zip(judged.doc[part][good].tolist(), judged.rank[part][good].tolist(), strict=True)
        }

    def _stands_for(self, judged: JudgedRun, i: int) -> list[int]:
        """For each judged document the one that it is counted as: the best of its duplicates, or itself."""
        grades = judged.sources.qrels.judged[int(judged.qrels_at[i])]
        group_of = {} if self.repeats else judged.sources.extras.duplicates or {}
        best: dict[str, int] = {}
        numbers = sorted(enumerate(grades), key=lambda pair: (-grades[pair[1]], encode_id(pair[1])))
        for number, doc in numbers:
            if doc in group_of:
                best.setdefault(group_of[doc], number)
        return [best[group_of[doc]] if doc in group_of else number for number, doc in enumerate(grades)]

    def in_common(self, judged: JudgedRun, i: int) -> tuple[Ints, int]:
        """For each document in common the depth from which on it is, and the length of the ideal list."""
        return _since_by_grade(judged, i) if self.repeats else self.in_common_by_doc(judged, i)

    def in_common_by_doc(self, judged: JudgedRun, i: int) -> tuple[Ints, int]:
        """The same from the ideal list itself."""
        ideal = self.ideal(judged, i)
        place = {doc: k for k, doc in enumerate(ideal, 1)}
        since = [max(rank, place[doc]) for doc, rank in self.ranks(judged, i).items() if doc in place]
        return np.array(since, dtype=np.int64), len(ideal)

    def _parts(self, judged: JudgedRun, i: int) -> _Parts:
        since, length = self.in_common(judged, i)
        chances = np.power(self.p, np.arange(self.last_depth(judged, i, length), dtype=np.float64))
        return _Parts(length, since, chances)

    def last_depth(self, judged: JudgedRun, i: int, length: int) -> int:
        """How deep the lists are compared, the ideal one being so long."""
        return self.depth if isinstance(self.depth, int) else max(int(judged.retrieved[i]), length)

    def _by_rank(self, judged: JudgedRun, columns: list[Floats]) -> Floats:
        """A column by rank, from one list of depths a query; 0 beyond the last depth."""
        values = np.zeros(len(judged.rank))
        for i, column in enumerate(columns):
            part = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
            rank = judged.rank[part]
            inside = rank <= len(column)
            values[part][inside] = column[rank[inside] - 1]
        return values

    def _ideal_docs(self, judged: JudgedRun) -> list[str | None]:
        """For each rank the document that the ideal list has there."""
        ideals = [self.ideal(judged, i) for i in range(judged.n)]
        docs = [judged.judged_docs(i) for i in range(judged.n)]
        return [
            docs[i][ideals[i][rank - 1]] if rank <= len(ideals[i]) else None
            for i, rank in zip(judged.query.tolist(), judged.rank.tolist(), strict=True)
        ]


class CompatByScore(Compat):
    """Compat as in ir_measures: equal grades are ordered by score, which is 0 for documents not retrieved."""

    # not a measure of its own: documents with negative scores come behind those not retrieved, and those with equal
    # scores in the order of the qrels (compat_provider.py), so scores and order of the input decide

    def in_common(self, judged: JudgedRun, i: int) -> tuple[Ints, int]:
        return self.in_common_by_doc(judged, i)

    def ideal(self, judged: JudgedRun, i: int) -> list[int]:
        grades = judged.sources.qrels.judged[int(judged.qrels_at[i])]
        run = judged.sources.run
        at = run.position.get(judged.queries[i])
        rows = slice(0, 0) if at is None else run.rows_of(at)
        score = dict(zip(run.docs[rows].tolist(), run.scores[rows].tolist(), strict=True))
        positive = [(number, doc) for number, doc in enumerate(grades) if grades[doc] > 0]
        order = sorted((-grades[doc], -score.get(doc, 0.0), number) for number, doc in positive)
        return [number for *_, number in order]


class DivCompat(Compat):
    """How much the ranking overlaps with one that covers all subtopics in turn, the first depths most."""

    normalize: bool = False
    depth: int | str = 100

    name: ClassVar = "DivCompat"
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar = "Compatibility with a diverse ranking"
    formula: ClassVar = (
        rf"\mathrm{{RBO}}(\mathrm{{run}}, \mathrm{{ideal}}),\quad {_RBO},\quad n = \min(100, \max(|a|, |b|))"
    )
    about: ClassVar = (
        "As Compat, but the ideal list is made for many users, each with a subtopic (second column of the qrels): next "
        "comes the document that is relevant to most of those subtopics that were covered least and have documents "
        "left; of equals the one the run has higher. Depths end with the longer list, at the latest at 100, as in "
        "Clarke's program; not divided by the value of the ideal list unless normalize=True. 0 where no grade is "
        "positive (Clarke leaves such queries out)."
    )
    user: ClassVar = (
        "A user compares the list with one that serves all subtopics in turn, from the top, and goes on from each "
        "depth to the next with chance p."
    )
    ignores: ClassVar = (
        "Ignores degrees of relevance, and the order within a depth beyond which documents both lists have there."
    )
    reference: ClassVar = (
        "Clarke, Smucker & Vtyurina, Offline evaluation by maximum similarity to an ideal ranking, CIKM 2020"
    )
    tasks: ClassVar = ("diversity",)
    reads_columns: ClassVar = ("subtopic",)
    lacks: ClassVar = {
        "swap": "The ideal list covers subtopics in turn and follows the run among equals, whatever the grades.",
        "perfect": "The value of the ideal list is less than 1 unless it is divided by itself (normalize=True).",
    }

    def _depth_formula(self) -> list[str]:
        return super()._depth_formula() or [rf"n = \min({self.depth}, \max(|a|, |b|))"]

    def in_common(self, judged: JudgedRun, i: int) -> tuple[Ints, int]:
        return self.in_common_by_doc(judged, i)

    def ideal(self, judged: JudgedRun, i: int) -> list[int]:
        rank, subtopics = self.ranks(judged, i), self._subtopics(judged, i)
        # what was not retrieved stays in the order it had the round before, at first that of the qrels
        left, ideal = sorted(subtopics, key=lambda doc: rank.get(doc, np.inf)), list[int]()
        open_ones = Counter(name for names in subtopics.values() for name in names)
        covered = dict.fromkeys(open_ones, 0)
        while left:
            least = min(covered[name] for name in open_ones)
            wanted = {name for name in open_ones if covered[name] == least}
            left.sort(key=lambda doc: rank.get(doc, np.inf))
            left.sort(key=lambda doc: -len(subtopics[doc] & wanted))
            best = left.pop(0)
            ideal.append(best)
            for name in subtopics[best]:
                covered[name] += 1
                open_ones[name] -= 1
            open_ones = +open_ones
        return ideal

    def _subtopics(self, judged: JudgedRun, i: int) -> dict[int, set[str]]:
        """What each document is relevant to; a duplicate group counts as its best document."""
        qrels, stands_for = judged.sources.qrels, self._stands_for(judged, i)
        number = {doc: stands_for[k] for k, doc in enumerate(judged.judged_docs(i))}
        rows = qrels.rows_of(int(judged.qrels_at[i]))
        found: dict[int, set[str]] = {}
        for doc, subtopic, grade in zip(qrels.docs[rows], qrels.subtopics[rows], qrels.grades[rows], strict=True):
            if grade > 0:
                found.setdefault(number[doc], set()).add(str(subtopic))
        return found

    def last_depth(self, judged: JudgedRun, i: int, length: int) -> int:
        longest = super().last_depth(judged, i, length) if self.depth == LONGEST else self.depth
        return min(int(longest), max(int(judged.retrieved[i]), length))


class PGC(Compat):
    """How much the ranking overlaps with the order that preferences between documents make, the first depths most."""

    p: float = 0.8
    normalize: bool = False

    name: ClassVar = "PGC"
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar = "Preference graph compatibility"
    formula: ClassVar = rf"\mathrm{{RBO}}(\mathrm{{run}}, \mathrm{{ideal}}),\quad {_RBO}"
    about: ClassVar = (
        "As Compat, but the ideal list comes from preferences, which may contradict each other: of each judgment group "
        "and subgroup of five-column qrels (of each subtopic of others), a document of a higher level is preferred to "
        "one of a lower. A pair judged by itself is a subgroup of two. The list that goes against few of them is made "
        "greedily: documents preferred to none go to its end, those to which none is preferred to its beginning, and "
        "where there is a circle, the one with most wins over losses comes next; of equals the one the run has higher. "
        "0 where nothing is preferred to anything."
    )
    user: ClassVar = (
        "A user compares the list with the one that goes against few preferences, from the top, and goes on from "
        "each depth to the next with chance p."
    )
    ignores: ClassVar = (
        "Ignores by how much one document is preferred to another, and which document without a preference stands at "
        "a rank."
    )
    reference: ClassVar = (
        "Clarke, Luo & Smucker, Evaluation measures based on preference graphs, SIGIR 2021; "
        "Eades, Lin & Smyth, A fast and effective heuristic for the feedback arc set problem, IPL 47, 1993"
    )
    reads_columns: ClassVar = ("subtopic", "subgroup")
    lacks: ClassVar = {
        "swap": "Preferences may contradict each other, so no document need be better than another.",
        "perfect": "The value of the ideal list is less than 1 unless it is divided by itself (normalize=True).",
    }

    def in_common(self, judged: JudgedRun, i: int) -> tuple[Ints, int]:
        return self.in_common_by_doc(judged, i)

    def ideal(self, judged: JudgedRun, i: int) -> list[int]:
        docs, rank = judged.judged_docs(i), self.ranks(judged, i)
        # documents not retrieved are all equal to the original program, which takes any; here the id decides
        order = sorted(range(len(docs)), key=lambda doc: (rank.get(doc, np.inf), encode_id(docs[doc])))
        wins = _wins(judged, i, self._stands_for(judged, i))[np.ix_(order, order)]
        return [order[place] for place in preferred_order(wins)]

    def ranks(self, judged: JudgedRun, i: int) -> dict[int, int]:
        stands_for = self._stands_for(judged, i)
        ranks: dict[int, int] = {}
        for hit in range(int(judged.starts[i]), int(judged.starts[i + 1])):
            if judged.doc[hit] >= 0:
                ranks.setdefault(stands_for[judged.doc[hit]], int(judged.rank[hit]))
        return ranks


class Accuracy(Measure):
    """The chance that of a relevant and a non-relevant document among the first k, the relevant one comes first."""

    cutoff: int | None = None
    rel: float | None = None

    name: ClassVar = "Accuracy"
    title: ClassVar = "Pairwise accuracy"
    formula: ClassVar = (
        r"\frac{1}{R_k \, N_k} \sum_{i=1}^{k} \mathrm{rel}_i \cdot |\{\, j > i : \mathrm{rel}_j = 0 \,\}|"
    )
    normaliser_is: ClassVar[str] = "relevant times other documents among those read, at least 1 of the others"
    weighting: ClassVar = (
        "depends on the ranking: a relevant document within k weighs as many pairs as there are others below it"
    )
    about: ClassVar = (
        "Of all pairs of a relevant and a non-relevant document retrieved, the share in the right order: the area "
        "under the ROC curve of the list. Documents without a judgment count as non-relevant; what was not retrieved "
        "does not matter. 1 where all retrieved are relevant, since no pair is wrong (ir_measures divides by zero); 0 "
        "where none is (ir_measures leaves such queries out of the mean)."
    )
    user: ClassVar = (
        "A user takes a random relevant and a random non-relevant one of the first k documents and wants the "
        "relevant one first."
    )
    ignores: ClassVar = (
        "Ignores everything below k, how far apart the two stand, degrees of relevance, and relevant documents that "
        "were not retrieved."
    )
    reference: ClassVar = "Hanley & McNeil, The meaning and use of the area under a ROC curve, Radiology 143, 1982"
    tasks: ClassVar = ("known-item",)
    parameters: ClassVar = {"cutoff": CUTOFF, "rel": REL}
    lacks: ClassVar = {
        "swap": "A relevant document that comes into the first k at their end stands behind all others there.",
    }

    def top(self, judged: JudgedRun) -> Bools:
        """Which hits are relevant and within the cutoff."""
        hits: Bools = judged.grade >= self.lowest_relevant
        return hits if self.cutoff is None else hits & (judged.rank <= self.cutoff)

    def _others(self, judged: JudgedRun) -> Floats:
        """How many non-relevant documents are within the cutoff."""
        shown = judged.retrieved if self.cutoff is None else np.minimum(judged.retrieved, self.cutoff)
        others: Floats = shown - judged.count(self.top(judged))
        return others

    def terms(self, judged: JudgedRun) -> Floats:
        """For each relevant document the non-relevant ones below it; 1 where there are none at all."""
        top, others = self.top(judged), self._others(judged)[judged.query]
        above = judged.rank - judged.count_running(top)
        return np.where(top, np.where(others > 0, others - above, 1.0), 0.0)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.count(self.top(judged)) * np.maximum(self._others(judged), 1.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        so_far = judged.count_running(self.top(judged))
        return {"relevant so far": so_far, "others so far": judged.rank - so_far}


class _Parts(Record):
    """What compatibility is made of, for one query."""

    length: int  # of the ideal list
    since: Ints  # for each document in common the depth from which on it is
    chances: Floats  # to come to each depth

    @property
    def weights(self) -> Floats:
        """What one document in common at each depth is worth."""
        weights: Floats = self.chances / np.arange(1, len(self.chances) + 1)
        return weights

    @property
    def overlap(self) -> Floats:
        """How many documents both lists have down to each depth."""
        return self._counted(self.since)

    def _counted(self, since: Ints) -> Floats:
        n = len(self.chances)
        return np.cumsum(np.bincount(since[since <= n], minlength=n + 1)[1:]).astype(np.float64)

    def terms(self) -> Floats:
        return self.overlap * self.weights

    def sum(self) -> float:
        return float(self.terms().sum())

    def best(self) -> float:
        """The sum for the ideal list itself."""
        return float((self._counted(np.arange(1, self.length + 1)) * self.weights).sum())


def _since_by_grade(judged: JudgedRun, i: int) -> tuple[Ints, int]:
    """Positions of documents with a positive grade in the run and in the ideal list, from ranks and grades alone."""
    hits = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
    good = judged.grade[hits] > 0
    grade, rank = judged.grade[hits][good], judged.rank[hits][good]
    ideal = judged.ideal[int(judged.ideal_starts[i]) : int(judged.ideal_starts[i + 1])]
    best_first = np.argsort(-grade, kind="stable")
    ordered = -grade[best_first]
    among_equals = np.arange(len(grade)) - np.searchsorted(ordered, ordered)
    place = np.searchsorted(-ideal, ordered) + among_equals + 1
    return np.maximum(rank[best_first], place), int(np.count_nonzero(ideal > 0))


def _wins(judged: JudgedRun, i: int, stands_for: list[int]) -> Ints:
    """How often each judged document of a query is preferred to each other one."""
    qrels = judged.sources.qrels
    rows = qrels.rows_of(int(judged.qrels_at[i]))
    number = {doc: stands_for[k] for k, doc in enumerate(judged.judged_docs(i))}
    docs = np.array([number[doc] for doc in qrels.docs[rows]], dtype=np.int64)
    levels = qrels.grades[rows]
    groups: dict[tuple[str, str], list[int]] = {}
    subgroups = qrels.extra["subgroup"][rows] if "subgroup" in qrels.extra else ["0"] * len(docs)
    for row, group in enumerate(zip(qrels.subtopics[rows], subgroups, strict=True)):
        groups.setdefault(group, []).append(row)
    wins = np.zeros((len(number), len(number)), dtype=np.int64)
    for members in groups.values():
        preferred = levels[members][:, None] > levels[members][None, :]
        np.add.at(wins, np.ix_(docs[members], docs[members]), preferred.astype(np.int64))
    np.fill_diagonal(wins, 0)
    return wins


def preferred_order(wins: Ints) -> list[int]:
    """An order of items that few of their wins over each other contradict, greedily; of equals the first goes first.

    >>> preferred_order(np.array([[0, 2, 0], [0, 0, 1], [1, 0, 0]]))
    [0, 1, 2]
    """
    won, lost = wins.sum(axis=1), wins.sum(axis=0)
    left = (won + lost) > 0
    head: list[int] = []
    tail: list[int] = []

    def take(item: int, end: list[int]) -> None:
        left[item] = False
        end.append(item)
        np.subtract(won, wins[:, item], out=won)
        np.subtract(lost, wins[item], out=lost)

    while left.any():
        while len(beaten := np.flatnonzero(left & (won == 0))):
            take(int(beaten[-1]), tail)
        while len(unbeaten := np.flatnonzero(left & (lost == 0))):
            take(int(unbeaten[0]), head)
        if left.any():
            take(int(np.argmax(np.where(left, won - lost, np.iinfo(np.int64).min))), head)
    return head + tail[::-1]
