"""Measures for pools of which only a sample was judged: estimates of what full judgments would give.

Two kinds of qrels say how the sample was drawn. With five columns `query iter doc stratum grade` the pool is divided
into strata, and a grade below 0 marks a document that was not drawn (xinfAP and its relatives, as in sample_eval).
Prels, `query doc grade method probability`, give for each document the chance it had to be drawn (statAP).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from cranfield.base import Flag, Parameter, Record, format_id, sort_naturally
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import EvaluationError
from cranfield.joining import JudgedRun, count_duplicates_once, share
from cranfield.measures.base import Aggregate, Measure
from cranfield.measures.graded import CG, running_sum
from cranfield.measures.parameters import CUTOFF, MANY, REL

_XINFAP = "Yilmaz, Kanoulas & Aslam, A simple and efficient sampling method for estimating AP and NDCG, SIGIR 2008"
_STATAP = "Aslam, Pavlu & Yilmaz, A statistical method for system evaluation using incomplete judgments, SIGIR 2006"
_SMOOTHING = 0.00001  # sample_eval's; trec_eval's infAP has 2 of them below the line, sample_eval 3
_TENTHS = tuple(i / 10 for i in range(11))
_DEPTH = Parameter(
    "how many documents of a ranking are looked at", low=1, high=MANY, whole=True, examples=(1000, 5), symbol="M"
)
_ESTIMATE = "A document counts for more the smaller its stratum's sample is, so a better one may count for less."
_CHANCE = "A document counts for more the smaller its chance to be drawn was, so a better one may count for less."


class _Pool(Record, eq=False):
    """The pool of a query by strata; arrays have one entry per pooled document, in the order of the qrels."""

    strata: tuple[str, ...]
    stratum: Ints
    grade: Floats

    @property
    def size(self) -> Floats:
        """How many documents each stratum has."""
        return self.count(self.stratum >= 0)

    @property
    def sampled(self) -> Floats:
        """How many of them were drawn and judged."""
        return self.count(self.grade >= 0)

    @property
    def expansion(self) -> Floats:
        """How many documents of its stratum each judged one stands for; 0 where none was drawn."""
        return share(self.size, self.sampled)

    def count(self, where: Bools) -> Floats:
        """How many documents of each stratum satisfy a condition."""
        return np.bincount(self.stratum[where], minlength=len(self.strata)).astype(np.float64)

    def estimate(self, where: Bools) -> float:
        """How many documents of the pool satisfy a condition, judging by those that were drawn."""
        return float(sum((self.expansion * self.count(where & (self.grade >= 0))).tolist()))


class _Seen:
    """What was seen of each stratum on the way down a ranking."""

    def __init__(self, strata: int) -> None:
        self.pooled, self.sampled, self.relevant = np.zeros(strata), np.zeros(strata), np.zeros(strata)

    def add(self, stratum: int, sampled: bool, relevant: bool) -> None:
        self.pooled[stratum] += 1
        self.sampled[stratum] += sampled
        self.relevant[stratum] += relevant

    @property
    def chance(self) -> Floats:
        """For each stratum the smoothed share of relevant documents among those seen and drawn."""
        chance: Floats = (self.relevant + _SMOOTHING) / (self.sampled + 3 * _SMOOTHING)
        return chance

    @property
    def estimate(self) -> float:
        """The estimated number of relevant documents seen."""
        return float(sum((self.pooled * self.chance).tolist()))


class _Stratified(Measure):
    """A measure of a ranking against a stratified sample."""

    depth: int = 1000

    parameters: ClassVar = {"depth": _DEPTH}
    qrels_columns: ClassVar = ("stratum",)
    tasks: ClassVar[tuple[str, ...]] = ("incomplete",)

    def pool(self, judged: JudgedRun, i: int) -> _Pool:
        """The pool of query i."""
        at = int(judged.qrels_at[i])
        qrels = judged.sources.qrels
        rows = qrels.rows_of(at)
        stratum_of = dict(zip(qrels.docs[rows].tolist(), map(str, qrels.extra["stratum"][rows]), strict=True))
        strata = {name: s for s, name in enumerate(sort_naturally(set(stratum_of.values())))}
        grade_of = _grades(self, judged, at)
        places = [strata[stratum_of[doc]] for doc in grade_of]
        return _Pool(tuple(strata), np.array(places, dtype=np.int64), np.array(list(grade_of.values())))

    def pooled_hits(self, judged: JudgedRun, i: int) -> Iterator[tuple[int, int, bool]]:
        """The hits of query i that are in the pool: the hit, its stratum, whether it was drawn."""
        pool = self.pool(judged, i)
        for hit in range(int(judged.starts[i]), int(judged.starts[i + 1])):
            if judged.doc[hit] >= 0 and judged.rank[hit] <= self.depth:
                yield hit, int(pool.stratum[judged.doc[hit]]), bool(judged.grade[hit] >= 0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        names = np.full(len(judged.rank), "", dtype=object)
        for i in range(judged.n):
            strata = self.pool(judged, i).strata
            for hit, stratum, sampled in self.pooled_hits(judged, i):
                names[hit] = strata[stratum] if sampled else f"{strata[stratum]}, not drawn"
        return {"stratum": names}


class _StratifiedBinary(_Stratified):
    """One that knows relevant and not relevant."""

    rel: float | None = None

    parameters: ClassVar = {**_Stratified.parameters, "rel": REL}

    def hits(self, judged: JudgedRun) -> Bools:
        """Which hits were drawn and are relevant."""
        return (judged.grade >= self.lowest_relevant) & (judged.grade >= 0)

    def relevant(self, judged: JudgedRun) -> Floats:
        """The estimated number of relevant documents of each query."""
        pools = (self.pool(judged, i) for i in range(judged.n))
        return np.array([pool.estimate(pool.grade >= self.lowest_relevant) for pool in pools], dtype=np.float64)

    def chances(self, judged: JudgedRun, cutoff: int) -> Floats:
        """For each pooled hit within a cutoff the estimated chance that it is relevant, by those of its stratum."""
        return self._by_stratum(judged, cutoff, lambda seen: seen.chance)

    def counts(self, judged: JudgedRun, cutoff: int) -> dict[str, Any]:
        """For each pooled hit within a cutoff how many of its stratum are there, were drawn, and are relevant."""
        return {
            "P, pooled": self._by_stratum(judged, cutoff, lambda seen: seen.pooled),
            "J, drawn": self._by_stratum(judged, cutoff, lambda seen: seen.sampled),
            "Q, relevant": self._by_stratum(judged, cutoff, lambda seen: seen.relevant),
        }

    def _by_stratum(self, judged: JudgedRun, cutoff: int, what: Callable[[_Seen], Floats]) -> Floats:
        """For each pooled hit within a cutoff what was seen of its stratum there; else 0."""
        values, relevant = np.zeros(len(judged.rank)), self.hits(judged)
        for i in range(judged.n):
            seen = _Seen(len(self.pool(judged, i).strata))
            inside = [hit for hit in self.pooled_hits(judged, i) if judged.rank[hit[0]] <= cutoff]
            for hit, stratum, sampled in inside:
                seen.add(stratum, sampled, bool(relevant[hit]))
            of_stratum = what(seen)
            for hit, stratum, _ in inside:
                values[hit] = of_stratum[stratum]
        return values


class xinfAP(_StratifiedBinary):
    """Average precision estimated from a stratified sample of the pool."""

    name: ClassVar = "xinfAP"
    normaliser_is: ClassVar[str] = "estimated relevant documents, at most M"
    weighting: ClassVar = (
        "depends on the ranking: a relevant document at rank i weighs the estimated P@i times the N/n documents of its "
        "stratum that it stands for"
    )
    title: ClassVar = "Extended inferred average precision"
    formula: ClassVar = (
        r"\frac{1}{\min(\hat R, M)} \sum_{i \,:\, \mathrm{rel}_i} \frac{N_{s_i}}{n_{s_i}} \cdot \frac{1}{i} "
        r"\left( 1 + \sum_t P_t\, \frac{Q_t + \varepsilon}{J_t + 3\varepsilon} \right)"
    )
    about: ClassVar = (
        "What AP would be if the whole pool were judged. A relevant document stands for the N/n documents of its "
        "stratum of which one was drawn; the precision at it is estimated, stratum by stratum, from the P pooled, J "
        "drawn and Q relevant documents above it. Documents outside the pool count as non-relevant. An estimate, so "
        "that it may exceed 1. M is depth, 1000 as in sample_eval; infAP is trec_eval's, for one stratum."
    )
    user: ClassVar = (
        "An experimenter who judged only a stratified sample of the pool wants the AP that judging all of it would "
        "give."
    )
    ignores: ClassVar = (
        "Ignores degrees of relevance, that documents outside the pool may be relevant, and how uncertain the "
        "estimate is."
    )
    reference: ClassVar = _XINFAP
    high: ClassVar = math.inf
    lacks: ClassVar = {"swap": _ESTIMATE}

    def terms(self, judged: JudgedRun) -> Floats:
        precision, weight = self._estimates(judged)
        return precision * weight

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.minimum(self.relevant(judged), self.depth)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        precision, weight = self._estimates(judged)
        return super().columns(judged) | {"estimated P@i": precision, "stands for": weight}

    def _estimates(self, judged: JudgedRun) -> tuple[Floats, Floats]:
        """For each relevant hit the estimated precision there, and how many documents it stands for; else 0."""
        precision, weight = np.zeros(len(judged.rank)), np.zeros(len(judged.rank))
        relevant = self.hits(judged)
        for i in range(judged.n):
            pool = self.pool(judged, i)
            seen = _Seen(len(pool.strata))
            for hit, stratum, sampled in self.pooled_hits(judged, i):
                if relevant[hit]:
                    precision[hit] = (1 + seen.estimate) / judged.rank[hit]
                    weight[hit] = pool.expansion[stratum]
                seen.add(stratum, sampled, bool(relevant[hit]))
        return precision, weight


class infNDCG(_Stratified):
    """nDCG of the whole ranking estimated from a stratified sample of the pool."""

    name: ClassVar = "infNDCG"
    normaliser_is: ClassVar[str] = "DCG of the estimated best ranking"
    weighting: ClassVar = (
        "depends on the ranking: 1/log2(1 + i) times the P/J retrieved documents of its stratum that a document stands "
        "for"
    )
    title: ClassVar = "Inferred normalised discounted cumulated gain"
    formula: ClassVar = (
        r"\frac{1}{\mathrm{ideal}@M} \sum_{i=1}^{M} \frac{P_{s_i}}{J_{s_i}} \cdot \frac{g_i}{\log_2(1+i)}"
    )
    about: ClassVar = (
        "What nDCG would be if the whole pool were judged. A document stands for the P/J documents of its stratum "
        "that were retrieved of which one was drawn. The ideal ranking has the estimated number of documents of each "
        "grade, which need not be whole. An estimate, so it may exceed 1. Grades go by their value; sample_eval "
        "sorts them as text, so 10 comes after 2."
    )
    user: ClassVar = (
        "An experimenter who judged only a stratified sample of the pool wants the nDCG that judging all of it would "
        "give."
    )
    ignores: ClassVar = "Ignores that documents outside the pool may be relevant, and how uncertain the estimate is."
    reference: ClassVar = _XINFAP
    high: ClassVar = math.inf
    lacks: ClassVar = {"swap": _ESTIMATE}

    def terms(self, judged: JudgedRun) -> Floats:
        gain = np.fmax(judged.grade, 0.0)
        terms: Floats = gain / np.log2(judged.rank + 1.0) * self._stands_for(judged)
        return terms

    def normaliser(self, judged: JudgedRun) -> Floats:
        sums = [sum(term for _, term in self._ideal(self.pool(judged, i))) for i in range(judged.n)]
        return np.array(sums, dtype=np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        ideals = [list(self._ideal(self.pool(judged, i))) for i in range(judged.n)]
        places = zip(judged.query.tolist(), judged.rank.tolist(), strict=True)
        return super().columns(judged) | {
            "gain": np.fmax(judged.grade, 0.0),
            "divided by": np.log2(judged.rank + 1.0),
            "stands for": self._stands_for(judged),
            "DCG so far": running_sum(judged, self.terms(judged)),
            "ideal": np.array([sum(term for rank, term in ideals[i] if rank <= own) for i, own in places]),
        }

    def _stands_for(self, judged: JudgedRun) -> Floats:
        """For each hit that was drawn how many of the stratum's retrieved documents it stands for; else 0."""
        weight = np.zeros(len(judged.rank))
        for i in range(judged.n):
            seen = _Seen(len(self.pool(judged, i).strata))
            hits = list(self.pooled_hits(judged, i))
            for _, stratum, sampled in hits:
                seen.add(stratum, sampled, False)
            for hit, stratum, sampled in hits:
                weight[hit] = seen.pooled[stratum] / seen.sampled[stratum] if sampled else 0.0
        return weight

    def _ideal(self, pool: _Pool) -> Iterator[tuple[float, float]]:
        """Rank and discounted gain of the estimated number of documents of each grade, best first."""
        start = 0.0
        for grade in sorted({grade for grade in pool.grade.tolist() if grade > 0}, reverse=True):
            number = pool.estimate(pool.grade == grade)
            rank = start + 1  # not whole once a grade was estimated to have 2.5 documents
            while rank <= start + number:
                yield rank, grade / math.log2(rank + 1)
                if rank >= self.depth:
                    break
                rank += 1
            start += number


class iP(_StratifiedBinary):
    """Precision at k estimated from a stratified sample of the pool."""

    cutoff: int | None = None

    name: ClassVar = "iP"
    normaliser_is: ClassVar[str] = "documents read, k"
    weighting: ClassVar = "1/k down to rank k, 0 below, times the estimated chance that a document is relevant"
    title: ClassVar = "Inferred precision at k"
    formula: ClassVar = (
        r"\frac{1}{k} \sum_t P_t\, \frac{Q_t + \varepsilon}{J_t + 3\varepsilon} "
        r"\text{ of the first } \min(k, M) \text{ documents}"
    )
    about: ClassVar = (
        "What P@k would be if the whole pool were judged: of the P documents of a stratum among the first k, J were "
        "drawn and Q of those are relevant, and each of the P counts that share. The smoothing ε = 0.00001 lets "
        "documents of a stratum of which none was drawn count 1/3."
    )
    user: ClassVar = (
        "An experimenter who judged only a stratified sample of the pool wants the P@k that judging all of it would "
        "give."
    )
    ignores: ClassVar = (
        "Ignores the order within the first k, everything below, degrees of relevance, that documents outside the "
        "pool may be relevant, and how uncertain the estimate is."
    )
    reference: ClassVar = _XINFAP
    nothing_found: ClassVar = "a little above 0, by the smoothing"
    required: ClassVar = ("cutoff",)
    parameters: ClassVar = {"cutoff": CUTOFF, **_StratifiedBinary.parameters}
    lacks: ClassVar = {
        "swap": _ESTIMATE,
        "perfect": "Where fewer than k documents are relevant, 1 is out of reach.",
    }

    def terms(self, judged: JudgedRun) -> Floats:
        return self.chances(judged, self.cutoff or 1)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return super().columns(judged) | self.counts(judged, self.cutoff or 1)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.full(judged.n, float(self.cutoff or 1))


class infIPrec(_StratifiedBinary):
    """Interpolated precision at a recall point estimated from a stratified sample of the pool."""

    recall: float | None = None

    name: ClassVar = "infIPrec"
    weighting: ClassVar = (
        "depends on the ranking: 1/k for each estimated relevant document down to the rank k where the estimated "
        "precision is best, 0 below"
    )
    title: ClassVar = "Inferred interpolated precision at a recall point"
    formula: ClassVar = (
        r"\max_{k_r \,\le\, k \,\le\, M} \frac{\hat r(k)}{k},\quad k_r = \max \{\, k : \hat r(k) < r \hat R \,\}"
    )
    about: ClassVar = (
        "What the interpolated precision would be if the whole pool were judged, by the estimated number of relevant "
        "documents among the first k. As in sample_eval (iprec@rec) the rank before the recall point counts too, and "
        "going up the list at most one of the points 0, 0.1, … 1 is passed at each rank."
    )
    user: ClassVar = (
        "An experimenter who judged only a stratified sample of the pool wants the interpolated precision that "
        "judging all of it would give."
    )
    ignores: ClassVar = (
        "Ignores all but the best precision from the recall point on, degrees of relevance, that documents outside "
        "the pool may be relevant, and how uncertain the estimate is."
    )
    reference: ClassVar = _XINFAP
    nothing_found: ClassVar = "a little above 0, by the smoothing"
    required: ClassVar = ("recall",)
    at: ClassVar = "recall"
    parameters: ClassVar = {
        **_StratifiedBinary.parameters,
        "recall": Parameter("the recall point", low=0, high=1, examples=(0.1, 0.0, 0.55, 1.0), symbol="r"),
    }
    lacks: ClassVar = {"swap": _ESTIMATE, "perfect": "The smoothing makes of 2 relevant documents 1.99998."}

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.array([self._best(judged, i)[0] for i in range(judged.n)], dtype=np.float64)

    def terms(self, judged: JudgedRun) -> Floats:
        """The best precision, at the rank where it is reached; 0 elsewhere. Only a dense join has all ranks."""
        best = [self._best(judged, i) for i in range(judged.n)]
        value, rank = (np.array(column)[judged.query] for column in zip(*best, strict=True))
        return np.where(judged.rank == rank, value, 0.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        found = [self._found(judged, i) for i in range(judged.n)]
        estimate = [found[i][min(rank, len(found[i]) - 1)] for i, rank in zip(judged.query, judged.rank, strict=True)]
        so_far = np.array(estimate, dtype=np.float64)
        return super().columns(judged) | {"estimated relevant so far": so_far, "estimated P@i": so_far / judged.rank}

    def _found(self, judged: JudgedRun, i: int) -> Floats:
        """The estimated number of relevant documents within rank 0, 1, 2, … of query i."""
        seen, relevant = _Seen(len(self.pool(judged, i).strata)), self.hits(judged)
        found = np.zeros(min(int(judged.retrieved[i]), self.depth) + 1)
        for hit, stratum, sampled in self.pooled_hits(judged, i):
            seen.add(stratum, sampled, bool(relevant[hit]))
            found[judged.rank[hit] :] = seen.estimate
        return found

    def _best(self, judged: JudgedRun, i: int) -> tuple[float, int]:
        """The interpolated precision of query i, and the rank where it is."""
        pool = self.pool(judged, i)
        relevant = pool.estimate(pool.grade >= self.lowest_relevant)
        found = self._found(judged, i)
        point = self.recall or 0.0
        if not relevant or point * relevant > found[-1]:
            return 0.0, 0
        # the thresholds from the highest one reached down to the one wanted
        points = [x for x in sorted({*_TENTHS, point}, reverse=True) if point <= x and x * relevant <= found[-1]]
        best, at = 0.0, 0
        for rank in range(len(found) - 1, 0, -1):
            if found[rank] / rank >= best:
                best, at = float(found[rank] / rank), rank
            if points[0] * relevant > found[rank]:
                points.pop(0)
                if not points:
                    break
        return best, at


class inum_rel(_StratifiedBinary):
    """How many documents are relevant, estimated from a stratified sample of the pool."""

    name: ClassVar = "inum_rel"
    weighting: ClassVar = "none: it does not look at the ranking"
    title: ClassVar = "Inferred number of relevant documents"
    formula: ClassVar = r"\hat R = \sum_s N_s\, \frac{r_s}{n_s}"
    about: ClassVar = "Each relevant document of a stratum stands for the N/n documents of which one was drawn."
    user: ClassVar = (
        "An experimenter who judged only a stratified sample of the pool asks how many relevant documents there are "
        "in it."
    )
    ignores: ClassVar = (
        "Ignores the run, degrees of relevance, that documents outside the pool may be relevant, and how uncertain "
        "the estimate is."
    )
    reference: ClassVar = _XINFAP
    high: ClassVar = math.inf
    is_quality: ClassVar = False
    nothing_found: ClassVar = "the estimated number of relevant documents"
    aggregate: ClassVar[Aggregate] = "sum"
    tasks: ClassVar[tuple[str, ...]] = ()
    lacks: ClassVar = {"empty": "It does not look at the ranking."}

    def per_query(self, judged: JudgedRun) -> Floats:
        return self.relevant(judged)

    def terms(self, judged: JudgedRun) -> Floats:
        return np.zeros(len(judged.rank))

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """The strata: each has so many documents, of which so many were drawn, of which so many are relevant."""
        pool = self.pool(judged, 0)
        relevant = pool.count((pool.grade >= self.lowest_relevant) & (pool.grade >= 0))
        columns = (pool.strata, pool.size, pool.sampled, relevant, pool.expansion * relevant)
        return [
            {
                "what": f"stratum {name}: {size:g} pooled, {sampled:g} drawn, {found:g} relevant",
                "term": float(term),
            }
            for name, size, sampled, found, term in zip(*columns, strict=True)
        ]


class inum_rel_ret(_StratifiedBinary):
    """How many relevant documents were retrieved, estimated from a stratified sample of the pool."""

    name: ClassVar = "inum_rel_ret"
    weighting: ClassVar = "1 down to rank M, 0 below, times the estimated chance that a document is relevant"
    title: ClassVar = "Inferred number of relevant documents retrieved"
    formula: ClassVar = (
        r"\sum_t P_t\, \frac{Q_t + \varepsilon}{J_t + 3\varepsilon} \text{ of the first } M \text{ documents}"
    )
    about: ClassVar = (
        "Of the P retrieved documents of a stratum, J were drawn and Q of those are relevant, and each of the P counts "
        "that share."
    )
    user: ClassVar = (
        "An experimenter who judged only a stratified sample of the pool asks how many relevant documents were "
        "retrieved."
    )
    ignores: ClassVar = (
        "Ignores the order, degrees of relevance, that documents outside the pool may be relevant, and how uncertain "
        "the estimate is."
    )
    reference: ClassVar = _XINFAP
    high: ClassVar = math.inf
    nothing_found: ClassVar = "a little above 0, by the smoothing"
    aggregate: ClassVar[Aggregate] = "sum"
    tasks: ClassVar[tuple[str, ...]] = ()
    lacks: ClassVar = {"swap": _ESTIMATE}

    def terms(self, judged: JudgedRun) -> Floats:
        return self.chances(judged, self.depth)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return super().columns(judged) | self.counts(judged, self.depth)


class _Draw(Record, eq=False):
    """The judged documents of a query with the chance each had to be drawn, in the order of the qrels."""

    chance: Floats  # NaN where the document is not used
    grade: Floats

    @property
    def used(self) -> Bools:
        return ~np.isnan(self.chance)

    def relevant(self, rel: float) -> Bools:
        return self.used & (self.grade >= rel)

    def stands_for(self, rel: float) -> Floats:
        """For each relevant document how many it stands for; 0 for the others."""
        return np.divide(1.0, self.chance, out=np.zeros(len(self.chance)), where=self.relevant(rel))


class _Drawn(Measure):
    """A measure of a ranking against documents drawn with known chances."""

    sample_only: bool = False

    parameters: ClassVar = {
        "sample_only": Flag(
            "leave out what only MTC chose (method 0), and take what both chose (2) with its own probability, not 1"
        ),
    }
    qrels_columns: ClassVar = ("method", "probability")
    tasks: ClassVar[tuple[str, ...]] = ("incomplete",)

    @property
    def shown_formula(self) -> str:
        return self.formula + (r",\quad \text{by the sample only}" if self.sample_only else "")

    def draw(self, judged: JudgedRun, i: int) -> _Draw:
        """The judged documents of query i; none is used where nothing was drawn at random."""
        at = int(judged.qrels_at[i])
        qrels = judged.sources.qrels
        rows = qrels.rows_of(at)
        methods, chances = map(str, qrels.extra["method"][rows]), map(str, qrels.extra["probability"][rows])
        drawn_as = dict(zip(qrels.docs[rows].tolist(), zip(methods, chances, strict=True), strict=True))
        grade_of = _grades(self, judged, at)
        if not any(method in ("1", "2", "4") for method, _ in drawn_as.values()):
            return _Draw(np.full(len(grade_of), np.nan), np.array(list(grade_of.values())))
        chance = [self._chance(doc, grade, *drawn_as[doc]) for doc, grade in grade_of.items()]
        return _Draw(np.array(chance), np.array(list(grade_of.values())))

    def _chance(self, doc: str, grade: float, method: str, text: str) -> float:
        """The chance a document had to be drawn, NaN if it is not to be used."""
        chance = _number(doc, text)
        if grade <= -999 or not 0 <= chance <= 1 or (self.sample_only and method == "0"):
            return math.nan
        if method in ("0", "2") and not self.sample_only:
            return 1.0  # MTC chose it, not at random
        if chance == 0 and grade >= self.lowest_relevant:
            raise EvaluationError(f"{self}: document {format_id(doc)} was drawn although its probability is 0.")
        return chance


class _DrawnBinary(_Drawn):
    """One that knows relevant and not relevant."""

    rel: float | None = None

    parameters: ClassVar = {"rel": REL, **_Drawn.parameters}

    def stands_for(self, judged: JudgedRun) -> Floats:
        """For each relevant hit how many documents it stands for; 0 for the others."""
        weight = np.zeros(len(judged.rank))
        for i in range(judged.n):
            by_doc = self.draw(judged, i).stands_for(self.lowest_relevant)
            hits = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
            # where a document is unjudged (-1), or repeats another (grade 0), it is not relevant
            found = (judged.doc[hits] >= 0) & (judged.grade[hits] >= self.lowest_relevant)
            weight[hits] = np.where(found, np.append(by_doc, 0.0)[judged.doc[hits]], 0.0)
        return weight

    def relevant(self, judged: JudgedRun) -> Floats:
        """The estimated number of relevant documents of each query."""
        draws = (self.draw(judged, i) for i in range(judged.n))
        # exact sums, so the order of the qrels changes no bit
        return np.array([math.fsum(draw.stands_for(self.lowest_relevant)) for draw in draws], dtype=np.float64)

    def precision(self, judged: JudgedRun) -> Floats:
        """For each relevant hit the estimated precision at its rank; 0 for the others."""
        weight = self.stands_for(judged)
        above = np.zeros(len(weight))
        for i in range(judged.n):
            hits = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
            above[hits] = np.cumsum(weight[hits]) - weight[hits]
        return np.where(weight > 0, (1 + above) / judged.rank, 0.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        weight = self.stands_for(judged)
        return {"stands for": weight, "estimated relevant so far": running_sum(judged, weight)}


class statAP(_DrawnBinary):
    """Average precision estimated from documents drawn with known chances."""

    name: ClassVar = "statAP"
    normaliser_is: ClassVar[str] = "estimated relevant documents"
    weighting: ClassVar = (
        "depends on the ranking: a relevant document at rank i, drawn with chance π, weighs the estimated P@i divided "
        "by π"
    )
    title: ClassVar = "Statistical average precision"
    formula: ClassVar = (
        r"\frac{1}{\hat R} \sum_{i \,:\, \mathrm{rel}_i} \frac{1}{\pi_i} \cdot \frac{1}{i} "
        r"\left( 1 + \sum_{j < i \,:\, \mathrm{rel}_j} \frac{1}{\pi_j} \right),\quad "
        r"\hat R = \sum_{\mathrm{rel}} \frac{1}{\pi}"
    )
    about: ClassVar = (
        "What AP would be if all were judged: a relevant document drawn with chance π stands for 1/π of them. What MTC "
        "chose (methods 0 and 2) counts as drawn with chance 1. An estimate, so it may exceed 1. 0 where nothing "
        "is relevant or nothing was drawn at random; the script of the Million Query track leaves such queries out."
    )
    user: ClassVar = (
        "An experimenter who judged only documents drawn with known chances wants the AP that full judgments would "
        "give."
    )
    ignores: ClassVar = "Ignores degrees of relevance, and how uncertain the estimate is (see varAP)."
    reference: ClassVar = _STATAP
    high: ClassVar = math.inf
    lacks: ClassVar = {"swap": _CHANCE}

    def terms(self, judged: JudgedRun) -> Floats:
        return self.precision(judged) * self.stands_for(judged)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.relevant(judged)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return super().columns(judged) | {"estimated P@i": self.precision(judged)}


class varAP(_DrawnBinary):
    """The estimated variance of statAP that comes from judging a sample only."""

    name: ClassVar = "varAP"
    normaliser_is: ClassVar[str] = "(m + 0.1)/n times the square of the estimated relevant documents"
    weighting: ClassVar = (
        "depends on the ranking: a relevant document counts by how far the estimated precision at it is from statAP, "
        "and by those below it"
    )
    title: ClassVar = "Variance of statistical average precision"
    formula: ClassVar = (
        r"\frac{n}{(m + 0.1)\, \hat R^2} \left( \sum_{\mathrm{rel}} \left(1 - \pi + \tfrac{1}{n-1}\right) y^2 + "
        r"\sum_{i \,:\, \mathrm{rel}_i} \frac{1 - \pi_i}{\pi_i^2} "
        r"\left( \sum_{j > i \,:\, \mathrm{rel}_j} \frac{1}{j \pi_j} \right)^{\!2} \right),\quad "
        r"y = \frac{P@i - \mathrm{AP}}{\pi_i}"
    )
    about: ClassVar = (
        "How far statAP may be off: no measure of quality. n documents are judged and m of them retrieved; P@i is 0 "
        "for a relevant document that was not. At most 1. The variance of a mean over T queries is their sum over T²."
    )
    user: ClassVar = "An experimenter asks how far statAP may be off for having judged only a sample."
    ignores: ClassVar = (
        "Ignores degrees of relevance, and all other reasons to be off, such as the choice of queries and of assessors."
    )
    reference: ClassVar = _STATAP
    more_is_better: ClassVar = False
    is_quality: ClassVar = False
    lacks: ClassVar = {"swap": "It says how sure a value is, not how good."}

    def per_query(self, judged: JudgedRun) -> Floats:
        sums = judged.total(self.terms(judged)) + self._unseen(judged)
        return np.minimum(share(sums, self.normaliser(judged)), 1.0)

    def terms(self, judged: JudgedRun) -> Floats:
        weight, precision = self.stands_for(judged), self.precision(judged)
        chance = np.divide(1, weight, out=np.ones(len(weight)), where=weight > 0)
        ap = self._ap(judged)[judged.query]
        later = np.zeros(len(weight))
        for i in range(judged.n):
            hits = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
            below = np.append((weight / judged.rank)[hits][::-1].cumsum()[::-1][1:], 0.0)
            later[hits] = below[: hits.stop - hits.start]
        # Σ y is 0 by the definition of AP, so the covariances, −Σ y_d·y_e over d ≠ e, come down to Σ y²
        spread = ((precision - ap) * weight) ** 2 * (1 - chance + self._per_other(judged)[judged.query])
        return np.where(weight > 0, spread + (1 - chance) * weight**2 * later**2, 0.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        distance = np.where(self.stands_for(judged) > 0, self.precision(judged) - self._ap(judged)[judged.query], 0.0)
        return super().columns(judged) | {"estimated P@i": self.precision(judged), "P@i − AP": distance}

    def normaliser(self, judged: JudgedRun) -> Floats:
        used, seen = np.zeros(judged.n), np.zeros(judged.n)
        for i in range(judged.n):
            which = self.draw(judged, i).used
            used[i] = which.sum()
            seen[i] = which[judged.doc[(judged.query == i) & (judged.doc >= 0)]].sum()
        return self.relevant(judged) ** 2 * share(seen + 0.1, used)

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        unseen = float(self._unseen(judged)[0])
        excess = float(self.terms(judged).sum()) + unseen - float(self.normaliser(judged)[0])
        rows: list[dict[str, Any]] = [{"what": "relevant documents that were not retrieved", "term": unseen}]
        return [*rows, {"what": "beyond 1, cut off", "term": -excess}] if excess > 0 else rows

    def _ap(self, judged: JudgedRun) -> Floats:
        return statAP(rel=self.rel, sample_only=self.sample_only, repeats=self.repeats).per_query(judged)

    def _per_other(self, judged: JudgedRun) -> Floats:
        """1/(n − 1) for each query."""
        n = np.array([self.draw(judged, i).used.sum() for i in range(judged.n)], dtype=np.float64)
        return share(np.ones(judged.n), np.maximum(n - 1, 1))

    def _unseen(self, judged: JudgedRun) -> Floats:
        """What the relevant documents that were not retrieved contribute, one sum per query."""
        sums, ap, per_other = np.zeros(judged.n), self._ap(judged), self._per_other(judged)
        for i in range(judged.n):
            draw = self.draw(judged, i)
            weight = draw.stands_for(self.lowest_relevant)
            weight[judged.doc[(judged.query == i) & (judged.doc >= 0)]] = 0.0
            chance = np.where(draw.used, draw.chance, 0.0)
            sums[i] = math.fsum((ap[i] * weight) ** 2 * (1 - chance + per_other[i]))
        return sums


class statP(_DrawnBinary):
    """Precision at k estimated from documents drawn with known chances."""

    cutoff: int | None = None
    pad: bool = True

    name: ClassVar = "statP"
    normaliser_is: ClassVar[str] = "documents read, k"
    weighting: ClassVar = "1/(kπ) down to rank k, 0 below, for a document drawn with chance π"
    title: ClassVar = "Statistical precision at k"
    formula: ClassVar = r"\frac{1}{k} \sum_{i \le k \,:\, \mathrm{rel}_i} \frac{1}{\pi_i}"
    about: ClassVar = (
        "What P@k would be if all were judged: a relevant document drawn with chance π stands for 1/π of them, so "
        "it may exceed 1. A list shorter than k counts as filled up; with pad=False its value is 0, as in the script "
        "of the Million Query track."
    )
    user: ClassVar = (
        "An experimenter who judged only documents drawn with known chances wants the P@k that full judgments would "
        "give."
    )
    ignores: ClassVar = (
        "Ignores the order within the first k, everything below, degrees of relevance, and how uncertain the "
        "estimate is."
    )
    reference: ClassVar = _STATAP
    high: ClassVar = math.inf
    required: ClassVar = ("cutoff",)
    parameters: ClassVar = {
        "cutoff": CUTOFF,
        "pad": Flag("whether a list shorter than k counts as filled up; else it is worth 0"),
        **_DrawnBinary.parameters,
    }
    lacks: ClassVar = {
        "swap": _CHANCE,
        "cutoff": "With pad=False a list must be long enough.",
    }

    @property
    def shown_formula(self) -> str:
        return super().shown_formula + ("" if self.pad else r",\quad 0 \text{ for a list shorter than } k")

    def terms(self, judged: JudgedRun) -> Floats:
        long_enough = judged.retrieved[judged.query] >= (0 if self.pad else self.cutoff or 1)
        return np.where((judged.rank <= (self.cutoff or 1)) & long_enough, self.stands_for(judged), 0.0)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.full(judged.n, float(self.cutoff or 1))


class statRprec(_DrawnBinary):
    """R-precision estimated from documents drawn with known chances."""

    name: ClassVar = "statRprec"
    normaliser_is: ClassVar[str] = "estimated relevant documents, rounded unless the list is shorter"
    weighting: ClassVar = (
        "1/(kπ) down to rank k, the estimated number of relevant documents, 0 below, for a document drawn with chance π"
    )
    title: ClassVar = "Statistical R-precision"
    formula: ClassVar = (
        r"\frac{1}{k} \sum_{i \le k \,:\, \mathrm{rel}_i} \frac{1}{\pi_i},\quad k = \lfloor \hat R + 0.5 \rfloor"
    )
    about: ClassVar = (
        "What R-precision would be if all were judged, at the estimated number of relevant documents; for a list "
        "shorter than that the sum is divided by the estimate itself, not rounded. May exceed 1."
    )
    user: ClassVar = (
        "An experimenter who judged only documents drawn with known chances wants the R-precision that full "
        "judgments would give."
    )
    ignores: ClassVar = (
        "Ignores the order down to the estimated R, everything below, degrees of relevance, and how uncertain the "
        "estimate is."
    )
    reference: ClassVar = _STATAP
    high: ClassVar = math.inf
    lacks: ClassVar = {"swap": _CHANCE}

    def terms(self, judged: JudgedRun) -> Floats:
        return np.where(judged.rank <= self._depth(judged)[judged.query], self.stands_for(judged), 0.0)

    def normaliser(self, judged: JudgedRun) -> Floats:
        depth = self._depth(judged)
        return np.where(judged.retrieved >= depth, depth, self.relevant(judged))

    def _depth(self, judged: JudgedRun) -> Floats:
        return np.floor(self.relevant(judged) + 0.5)


class statNDCG(_Drawn):
    """nDCG over the documents that were drawn, with gain 2^grade − 1."""

    cutoff: int | None = None

    name: ClassVar = "statNDCG"
    normaliser_is: ClassVar[str] = "DCG of the best ranking"
    weighting: ClassVar = "1/log2(1 + i) down to the cutoff, as a share of the DCG of the best ranking"
    title: ClassVar = "nDCG over sampled judgments"
    formula: ClassVar = r"\frac{\sum_{i=1}^{k} (2^{g_i} - 1) / \log_2(1+i)}{\mathrm{ideal\ DCG}@k}"
    about: ClassVar = (
        "nDCG as the script of the Million Query track has it beside statAP: the chances to be drawn do not enter. "
        "A negative grade gains nothing; in the script it gains −1."
    )
    user: ClassVar = (
        "An experimenter asks for nDCG over the documents that were drawn to be judged, as if there were no others."
    )
    ignores: ClassVar = "Ignores everything below the cutoff, and the chances with which documents were drawn."
    reference: ClassVar = _STATAP
    parameters: ClassVar = {"cutoff": CUTOFF, **_Drawn.parameters}

    def terms(self, judged: JudgedRun) -> Floats:
        terms: Floats = self._gains(judged) / np.log2(judged.rank + 1.0) * self._inside(judged.rank)
        return terms

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.array([self._ideal(self.draw(judged, i)) for i in range(judged.n)], dtype=np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        ideals = [np.append(0.0, np.cumsum(self._ideal_terms(self.draw(judged, i)))) for i in range(judged.n)]
        places = zip(judged.query.tolist(), judged.rank.tolist(), strict=True)
        return {
            "gain": self._gains(judged),
            "divided by": np.log2(judged.rank + 1.0),
            "DCG@i": running_sum(judged, self.terms(judged)),
            "ideal": np.array([ideals[i][min(rank, len(ideals[i]) - 1)] for i, rank in places]),
        }

    def rank_weights(self, n: int) -> Floats | None:
        rank = np.arange(1, n + 1)
        return np.asarray(self._inside(rank) / np.log2(rank + 1.0), dtype=np.float64)

    def _gains(self, judged: JudgedRun) -> Floats:
        used = np.zeros(len(judged.rank), dtype=bool)
        for i in range(judged.n):
            hits = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
            used[hits] = np.append(self.draw(judged, i).used, False)[judged.doc[hits]]
        return np.where(used, CG(gain="exp").gains(judged.grade), 0.0)

    def _ideal(self, draw: _Draw) -> float:
        return float(sum(self._ideal_terms(draw).tolist()))

    def _ideal_terms(self, draw: _Draw) -> Floats:
        gains = np.sort(CG(gain="exp").gains(draw.grade[draw.used]))[::-1]
        rank = np.arange(1, len(gains) + 1)
        terms: Floats = gains / np.log2(rank + 1.0) * self._inside(rank)
        return terms

    def _inside(self, rank: Ints) -> Floats:
        return (rank <= (np.inf if self.cutoff is None else self.cutoff)).astype(np.float64)


def _grades(measure: Measure, judged: JudgedRun, at: int) -> Mapping[str, float]:
    """The judged documents of a query with their grades, a duplicate group once where repeats earn nothing."""
    grade_of = judged.sources.qrels.judged[at]
    return grade_of if measure.repeats else count_duplicates_once(grade_of, judged.sources.extras.duplicates or {})


def _number(doc: str, text: str) -> float:
    if text == "NA":
        return math.nan
    try:
        return float(text)
    except ValueError:
        raise EvaluationError(
            f"document {format_id(doc)} has probability {format_id(text)}: expected a number or NA."
        ) from None
