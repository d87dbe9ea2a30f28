"""Measures of a ranking with graded relevance: CG, NCG, DCG, nDCG, and what trec_eval has beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from cranfield.base import Parameter
from cranfield.data import Floats, Ints
from cranfield.errors import EvaluationError
from cranfield.joining import JudgedRun, accumulate_within, share
from cranfield.measures.base import Measure
from cranfield.measures.parameters import CUTOFF, REL, Gain
from cranfield.measures.ties import mean_weight

_JARVELIN = "Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20, 2002"
DISCOUNTS = ("log(1+i)", "log(max(i,base))", "1/i")


class Gained(Measure):
    """A measure that gives each grade a gain."""

    gain: str | Mapping[float, float] = "linear"

    has_own_gains: ClassVar = True
    tasks: ClassVar[tuple[str, ...]] = ("graded",)
    parameters: ClassVar = {
        "gain": Gain(
            "the gain of a grade: the grade, 2^grade − 1, or {grade: gain}",
            choices=("linear", "exp"),
            examples=("exp", {1: 0.3, 3: 9}, {0: -1}),
            symbol="g",
        ),
    }
    synonyms: ClassVar = {
        "dcg": {"log2": ("gain", "linear"), "exp-log2": ("gain", "exp")},
        "gains": {None: ("gain", None)},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.gain, Mapping) and min(self.gain.values(), default=0.0) < 0:
            # what costs more than all there is to gain brings any value below 0
            object.__setattr__(self, "low", min(self.low, self.lowest_of_negative_gains))

    lowest_of_negative_gains: ClassVar[float] = -math.inf  # how low values get where a document may cost something

    @property
    def shown_formula(self) -> str:
        return self.formula + (r",\quad g_i = 2^{\mathrm{grade}_i} - 1" if self.gain == "exp" else self._mapped_gains())

    def _mapped_gains(self) -> str:
        """The gains that a map gives, as a formula."""
        if not isinstance(self.gain, Mapping):
            return ""
        given = (rf"{gain:g} \text{{ for grade }} {grade:g}" for grade, gain in self.gain.items())
        return r",\quad g_i = " + r",\ ".join(given)

    def gains(self, grades: Floats) -> Floats:
        """The gain of each grade; a negative grade gains nothing unless a map says otherwise."""
        # fmax: an unjudged document of a dense join has grade NaN, and gains nothing either
        linear: Floats = np.fmax(grades, 0.0)
        if self.gain == "linear":
            return linear
        if isinstance(self.gain, Mapping):
            gains = linear.copy()
            for grade, gain in self.gain.items():
                gains[grades == grade] = gain
            return gains
        if (linear > 1000).any():
            raise EvaluationError(
                f"{self}: 2^grade of grade {linear.max():g} is beyond all doubles. "
                "Use the grades as they are (gain='linear') or map them (gain={grade:gain})."
            )
        return np.exp2(linear) - 1

    def ideal_gains(self, judged: JudgedRun) -> Floats:
        """The gains of all judged documents, by falling gain within a query, 0 for those that gain nothing."""
        gains, query = self.gains(judged.ideal), judged.ideal_query
        if not ((gains[1:] <= gains[:-1]) | (query[1:] != query[:-1])).all():  # a map may turn the order of grades
            gains = gains[np.lexsort((-gains, query))]
        return np.maximum(gains, 0.0)


class CG(Gained):
    """The sum of the gains of the first k documents."""

    cutoff: int | None = None

    name: ClassVar = "CG"
    title: ClassVar = "Cumulated gain"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = r"\sum_{i=1}^{k} g_i"
    weighting: ClassVar[str] = "1 down to rank k, 0 below"
    about: ClassVar = "A user adds up the gain of each document, wherever it is in the first k."
    user: ClassVar = "A user reads k documents and adds up what each of them gives."
    ignores: ClassVar = (
        "Ignores the order within the first k, everything below, and how many relevant documents there are."
    )
    reference: ClassVar = _JARVELIN
    high: ClassVar = math.inf
    parameters: ClassVar = {"cutoff": CUTOFF, **Gained.parameters}

    def divisor(self, rank: Ints) -> Floats:
        """What the gain at a rank is divided by."""
        return np.ones(len(rank))

    def terms(self, judged: JudgedRun) -> Floats:
        # divided, not multiplied by a weight: trec_eval's last bits depend on it
        discounted = self.gains(judged.grade) / self.divisor(judged.rank)
        return discounted if self._holds_all(judged) else np.where(self._inside(judged.rank), discounted, 0.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        columns = {"gain": self.gains(judged.grade)}
        if isinstance(self, DCG):
            columns["discount"] = 1 / self.divisor(judged.rank)
        columns[f"{'DCG' if isinstance(self, DCG) else 'CG'}@i"] = running_sum(judged, self.terms(judged))
        return columns

    def expected(self, judged: JudgedRun) -> Floats:
        return share(judged.total(self.expected_terms(judged)), self.normaliser(judged))

    def expected_terms(self, judged: JudgedRun) -> Floats:
        # a document without a tie adds the same bits as in per_query
        tied = self.gains(judged.grade) * self._mean_weights(judged)
        return np.where(judged.tie_size > 1, tied, self.terms(judged))

    def expected_columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {
            "gain": self.gains(judged.grade),
            "mean discount": self._mean_weights(judged),
            "sum so far": running_sum(judged, self.expected_terms(judged)),
        }

    def _mean_weights(self, judged: JudgedRun) -> Floats:
        return mean_weight(judged, lambda rank: np.where(self._inside(rank), 1 / self.divisor(rank), 0.0))

    def rank_weights(self, n: int) -> Floats | None:
        rank = np.arange(1, n + 1)
        return np.where(self._inside(rank), 1 / self.divisor(rank), 0.0)

    def ideal(self, judged: JudgedRun) -> Floats:
        """The value of the best ranking."""
        if not isinstance(self.gain, str):  # a map may do more than its name says
            return judged.ideal_total(self.ideal_terms(judged))
        return judged.cache_for_qrels((self.key, "ideal"), lambda: judged.ideal_total(self.ideal_terms(judged)))

    def ideal_terms(self, judged: JudgedRun) -> Floats:
        """The terms of the best ranking: all judged documents with a positive gain, by falling gain."""
        gains, rank = self.ideal_gains(judged), ideal_rank(judged)
        return np.where(self._inside(rank), gains / self.divisor(rank), 0.0)

    def _holds_all(self, judged: JudgedRun) -> bool:
        return self.cutoff is None or self.cutoff >= judged.depth

    def _inside(self, rank: Ints) -> Any:
        return True if self.cutoff is None else rank <= self.cutoff


class NCG(CG):
    """The cumulated gain as a share of the best there could be."""

    name: ClassVar = "NCG"
    title: ClassVar = "Normalised cumulated gain"
    grades_help: ClassVar[bool] = False
    normaliser_is: ClassVar[str] = "CG of the best ranking"
    formula: ClassVar = r"\frac{\mathrm{CG}@k}{\mathrm{ideal\ CG}@k}"
    weighting: ClassVar = "the same down to rank k, 0 below, as a share of the CG of the best ranking"
    about: ClassVar = "What share of the gain that k documents could give was had: a graded recall at k."
    user: ClassVar = "A user reads k documents and asks for what share of the gain that k documents could have given."
    ignores: ClassVar = "Ignores the order within the first k and everything below."
    high: ClassVar = 1.0

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.ideal(judged)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return super().columns(judged) | {"ideal": ideal_at(judged, self.ideal_terms(judged))}


class DCG(CG):
    """The sum of the gains of the first k documents, each divided by a discount that grows with its rank."""

    discount: str = "log(1+i)"
    base: float = 2.0

    name: ClassVar = "DCG"
    title: ClassVar = "Discounted cumulated gain"
    formula: ClassVar = r"\sum_{i=1}^{k} \frac{g_i}{\log_2(1 + i)}"
    weighting: ClassVar = "1/log2(1 + i) down to rank k, 0 below"
    about: ClassVar = (
        "A user goes down the list and gets tired: the deeper a document, the less of its gain counts. The gain is "
        "the grade, or 2^grade − 1 with gain='exp', or as a map says; the discount log(1+i), log(max(i,base)) or 1/i."
    )
    user: ClassVar = (
        "A user reads k documents and gets tired on the way, so the deeper a document, the less of its gain is had."
    )
    ignores: ClassVar = (
        "Ignores everything below k, what was found before a document, and how many relevant documents there are."
    )
    parameters: ClassVar = {
        **CG.parameters,
        "discount": Parameter("what the gain at rank i is divided by (1/i: by i)", choices=DISCOUNTS),
        "base": Parameter("the base of the logarithm", low=1.0000001, examples=(10, math.e, 1.5)),
    }

    @property
    def shown_formula(self) -> str:
        if (self.discount, self.base) == ("log(1+i)", 2.0) and self.gain != "exp":
            return self.formula + self._mapped_gains()
        gain = "2^{g_i} - 1" if self.gain == "exp" else "g_i"
        base = "" if self.base == math.e else f"{self.base:g}"
        log = rf"\log_{{{base}}}" if base else r"\ln"
        below = {"1/i": "i", "log(1+i)": rf"{log}(1 + i)"}.get(self.discount, rf"{log} \max(i, {base or 'e'})")
        terms = rf"\sum_{{i=1}}^{{k}} \frac{{{gain}}}{{{below}}}"
        whole = terms if self.formula == DCG.formula else rf"\frac{{{terms}}}{{\mathrm{{ideal}}}}"
        return whole + self._mapped_gains()

    @property
    def shown_weighting(self) -> str:
        log = "ln" if self.base == math.e else f"log{self.base:g}"
        least = "e" if self.base == math.e else f"{self.base:g}"
        weights = {"1/i": "1/i", "log(1+i)": f"1/{log}(1 + i)"}
        return self.weighting.replace("1/log2(1 + i)", weights.get(self.discount, f"1/{log}(max(i, {least}))"))

    def divisor(self, rank: Ints) -> Floats:
        if self.discount == "1/i":
            return rank.astype(np.float64)
        if self.discount == "log(1+i)":
            return _log((rank + 1).astype(np.float64), self.base)
        return _log(np.maximum(rank, self.base).astype(np.float64), self.base)


class nDCG(DCG):
    """The discounted cumulated gain as a share of that of the best ranking."""

    name: ClassVar = "nDCG"
    aliases: ClassVar = ("NDCG",)
    title: ClassVar = "Normalised discounted cumulated gain"
    grades_help: ClassVar[bool] = False
    normaliser_is: ClassVar[str] = "DCG of the best ranking"
    formula: ClassVar = r"\frac{\mathrm{DCG}@k}{\mathrm{ideal\ DCG}@k}"
    weighting: ClassVar = "that of DCG, 1/log2(1 + i), as a share of the DCG of the best ranking"
    about: ClassVar = (
        "DCG as a share of the best possible, so queries with few and with many relevant documents count alike. "
        "The ideal ranking is made of all judged documents and cut at k as well. 0 where nothing is relevant."
    )
    user: ClassVar = (
        "A user reads k documents, gets tired on the way, and asks for what share of the gain of the best ranking "
        "was had."
    )
    ignores: ClassVar = "Ignores everything below k, and what was found before a document."
    high: ClassVar = 1.0
    tasks: ClassVar = ("graded", "web")

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.ideal(judged)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        columns = super().columns(judged) | {"ideal": ideal_at(judged, self.ideal_terms(judged))}
        return columns | {"nDCG@i": share(columns["DCG@i"], columns["ideal"])}


class _WholeList(Gained):
    """A measure of the whole list made of discounted gains."""

    reference: ClassVar = "Buckley & Voorhees, Retrieval system evaluation, in TREC: Experiment and Evaluation, 2005"

    def discounted(self, judged: JudgedRun) -> Floats:
        """The discounted gain of each hit."""
        discounted: Floats = self.gains(judged.grade) / np.log2(judged.rank + 1.0)
        return discounted

    def ideal_discounted(self, judged: JudgedRun) -> Floats:
        """The discounted gains of the best ranking."""
        discounted: Floats = self.ideal_gains(judged) / np.log2(ideal_rank(judged) + 1.0)
        return discounted

    def gaining(self, judged: JudgedRun) -> Floats:
        """How many judged documents of each query have a positive gain."""
        return judged.ideal_total(self.ideal_gains(judged) > 0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {
            "gain": self.gains(judged.grade),
            "DCG@i": running_sum(judged, self.discounted(judged)),
            "ideal": ideal_at(judged, self.ideal_discounted(judged)),
        }


class IdealDCG(_WholeList):
    """The discounted cumulated gain of the best ranking there could be."""

    name: ClassVar = "IdealDCG"
    title: ClassVar = "Ideal discounted cumulated gain"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = r"\sum_{i} \frac{g^*_i}{\log_2(1 + i)}"
    weighting: ClassVar = "none: it does not look at the ranking; the best one has 1/log2(1 + i) at rank i"
    lowest_of_negative_gains: ClassVar = 0.0
    about: ClassVar = (
        "No measure of a run: what nDCG divides by, from all judged documents by falling gain. Queries with much to "
        "find have a high one."
    )
    user: ClassVar = "An experimenter asks how much discounted gain there is to have for a query."
    ignores: ClassVar = "Ignores the run."
    reference: ClassVar = _JARVELIN
    high: ClassVar = math.inf
    is_quality: ClassVar = False
    nothing_found: ClassVar = "what there was to gain"
    lacks: ClassVar = {"empty": "It says what there was to find, whatever was found."}

    def per_query(self, judged: JudgedRun) -> Floats:
        return judged.ideal_total(self.ideal_discounted(judged))

    def expected(self, judged: JudgedRun) -> Floats:
        return self.per_query(judged)

    def terms(self, judged: JudgedRun) -> Floats:
        return np.zeros(len(judged.rank))

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        gains, terms = self.ideal_gains(judged), self.ideal_discounted(judged)
        return [
            {"what": f"best ranking, rank {rank}", "gain": float(gain), "term": float(term)}
            for rank, (gain, term) in enumerate(zip(gains, terms, strict=True), 1)
            if gain > 0
        ]


class nDCG_rel(_WholeList):
    """The mean, over the documents with a gain, of nDCG at the rank of each."""

    name: ClassVar = "nDCG_rel"
    title: ClassVar = "nDCG averaged over relevant documents"
    normaliser_is: ClassVar[str] = "judged documents with a gain, p"
    weighting: ClassVar = (
        "depends on the ranking: a document at rank j weighs 1/log2(1 + j) in nDCG@i for each document with a gain, at "
        "a rank i ≥ j, and the value is the mean of these"
    )
    lowest_of_negative_gains: ClassVar = 0.0
    formula: ClassVar = (
        r"\frac{1}{p} \sum_{d} \frac{\mathrm{DCG}@\mathrm{rank}(d)}{\mathrm{ideal\ DCG}@\mathrm{rank}(d)}"
    )
    about: ClassVar = (
        "To nDCG what AP is to precision: each document with a gain contributes nDCG at its rank, and one that was "
        "not retrieved nDCG at the end of the list. Of trec_eval (ndcg_rel)."
    )
    user: ClassVar = (
        "A user looks for a random document with a gain, reads down to it and asks for what share of the best "
        "possible gain was had by then."
    )
    ignores: ClassVar = "Ignores nDCG at the ranks of documents without a gain, unless the list ends there."
    lacks: ClassVar = {
        "swap": "A document moved up is measured at another rank, where the best ranking has other gains."
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        whole = judged.total(self._at(judged)) + self._of_missed(judged)
        # trec_eval gives 0 where negative gains outweigh the others
        return share(np.where(whole > 0, whole, 0.0), self.gaining(judged))

    def terms(self, judged: JudgedRun) -> Floats:
        at = self._at(judged)
        some = judged.total(at) + self._of_missed(judged) > 0
        return np.where(some[judged.query], at, 0.0)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.gaining(judged)

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        return [{"what": "documents with a gain, not retrieved", "term": float(self._missed(judged)[0])}]

    def _at(self, judged: JudgedRun) -> Floats:
        """nDCG at the rank of each hit that has a gain."""
        reached = running_sum(judged, self.discounted(judged))
        best = ideal_at(judged, self.ideal_discounted(judged))
        return np.where(self.gains(judged.grade) > 0, share(reached, best), 0.0)

    def _of_missed(self, judged: JudgedRun) -> Floats:
        """What the documents with a gain that were not retrieved add up to: nDCG at the end of the list for each."""
        end = share(judged.total(self.discounted(judged)), judged.ideal_total(self.ideal_discounted(judged)))
        return (self.gaining(judged) - judged.count(self.gains(judged.grade) > 0)) * end

    def _missed(self, judged: JudgedRun) -> Floats:
        """The same, or 0 where negative gains outweigh the others: trec_eval then gives 0 for the whole."""
        missed = self._of_missed(judged)
        return np.where(judged.total(self._at(judged)) + missed > 0, missed, 0.0)


class Rndcg(_WholeList):
    """The mean of nDCG at the ranks where the gain of the best ranking falls, and at the end of the list."""

    rel: float | None = None
    end: str = "list"

    name: ClassVar = "Rndcg"
    title: ClassVar = "nDCG averaged over the levels of gain"
    beyond_rel: ClassVar[bool] = True
    normaliser_is: ClassVar[str] = "ranks looked at, |K|"
    formula: ClassVar = (
        r"\frac{1}{|K|} \sum_{k \in K} \frac{\mathrm{DCG}@k}{\mathrm{ideal\ DCG}@k},\quad "
        r"K = \{\, k : g^*_k > g^*_{k+1} \,\} \cup \{\, n : n > p \,\}"
    )
    weighting: ClassVar = (
        "1/log2(1 + i) in nDCG@k for each of the ranks k ≥ i where the gain of the best ranking falls or the list "
        "ends; the value is the mean of these"
    )
    about: ClassVar = (
        "To nDCG what R-precision is to precision: with a highly and b somewhat relevant documents it looks at ranks "
        "a, a + b and the end of the list. trec_eval leaves the end out where the list is just one document longer "
        "than the best ranking (end='trec_eval'). 0 where nothing is relevant."
    )
    user: ClassVar = (
        "A user reads as many documents as there are highly relevant ones, then as there are relevant ones at all, "
        "then the whole list, and asks each time for the share of the best gain."
    )
    ignores: ClassVar = "Ignores nDCG at all other ranks."
    parameters: ClassVar = {
        **Gained.parameters,
        "rel": REL,
        "end": Parameter(
            "when the end of the list counts: where it is longer than the best ranking, or as in trec_eval",
            choices=("list", "trec_eval"),
        ),
    }

    @property
    def shown_formula(self) -> str:
        shown = super().shown_formula
        return shown.replace("n > p", "n > p + 1") if self.end == "trec_eval" else shown

    def per_query(self, judged: JudgedRun) -> Floats:
        query, _, value = self._points(judged)
        sums = np.bincount(query, weights=value, minlength=judged.n).astype(np.float64)  # ints if there is none
        return share(sums, np.bincount(query, minlength=judged.n).astype(np.float64))

    def terms(self, judged: JudgedRun) -> Floats:
        return np.zeros(len(judged.rank))

    def normaliser(self, judged: JudgedRun) -> Floats:
        query, *_ = self._points(judged)
        return np.bincount(query, minlength=judged.n).astype(np.float64)

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        _, ranks, values = self._points(judged)
        rows = zip(ranks.tolist(), values.tolist(), strict=True)
        return [{"what": f"nDCG at rank {rank}", "term": value} for rank, value in rows]

    def _points(self, judged: JudgedRun) -> tuple[Ints, Ints, Floats]:
        """The ranks that count, query after query: the query, the rank and nDCG at it."""
        query, rank, last = self._ranks(judged)
        best = accumulate_within(np.add, self.ideal_discounted(judged), judged.ideal_starts)[last]
        return query, rank, _reached_at(judged, self.discounted(judged), query, rank) / best

    def _ranks(self, judged: JudgedRun) -> tuple[Ints, Ints, Ints]:
        """Query and rank of what counts, and the last document of the best ranking down to there that has a gain."""
        gains, starts = self.ideal_gains(judged), judged.ideal_starts[:-1]
        gaining = (gains > 0) & (judged.count_relevant(self.lowest_relevant) > 0)[judged.ideal_query]
        number = np.bincount(judged.ideal_query[gaining], minlength=judged.n)
        ends = starts + number - 1
        is_last = gaining & (gains != np.append(gains[1:], 0.0))  # of its level of gain
        is_last[ends[number > 0]] = True
        falls = np.flatnonzero(is_last)
        # trec_eval forgets the end where the list has one document more (m_Rndcg.c)
        longer = np.flatnonzero((number > 0) & (judged.retrieved > number + (1 if self.end == "trec_eval" else 0)))
        query = np.concatenate((judged.ideal_query[falls], longer))
        rank = np.concatenate((ideal_rank(judged)[falls], judged.retrieved[longer]))
        order = np.argsort(query, kind="stable")
        return query[order], rank[order], np.concatenate((falls, ends[longer]))[order]


class G(Gained):
    """The gains, each discounted by what the user has spent beyond what was gained so far."""

    name: ClassVar = "G"
    title: ClassVar = "Normalised gain"
    normaliser_is: ClassVar[str] = "all that could be gained"
    formula: ClassVar = r"\frac{1}{\sum_i g^*_i} \sum_i \frac{g_i}{\log_2(2 + c_i - G_i)}"
    weighting: ClassVar = "depends on the ranking: 1/log2(2 + c − G) at a rank down to which c was paid and G gained"
    about: ClassVar = (
        "A user pays for each document what the best one would give there (at least 1); what was paid beyond what was "
        "gained makes later gains less worth. Unlike nDCG, a rank costs nothing after a good document."
    )
    user: ClassVar = (
        "A user pays for each document what the best one would give there, and what was paid beyond what was gained "
        "makes later gains less worth."
    )
    ignores: ClassVar = "Ignores how deep a document stands where all above it were as good as could be."
    reference: ClassVar = "Buckley, trec_eval 9 (measure G), 2008"

    def terms(self, judged: JudgedRun) -> Floats:
        gains = self.gains(judged.grade)
        deficit = self._paid(judged) - running_sum(judged, gains)
        return np.where(gains != 0, gains / np.log2(2 + deficit), 0.0)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.ideal_total(self.ideal_gains(judged))

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        gains = self.gains(judged.grade)
        return {"gain": gains, "gained so far": running_sum(judged, gains), "paid so far": self._paid(judged)}

    def _paid(self, judged: JudgedRun) -> Floats:
        """For each hit what was paid up to its rank; beyond the best ranking a document costs 1."""
        known = np.diff(judged.ideal_starts)[judged.query]
        return ideal_at(judged, np.maximum(self.ideal_gains(judged), 1.0)) + np.maximum(judged.rank - known, 0)


class BinG(Measure):
    """For each relevant document, a discount that grows with the non-relevant documents above it only."""

    rel: float | None = None

    name: ClassVar = "BinG"
    title: ClassVar = "Normalised gain, binary"
    normaliser_is: ClassVar[str] = "relevant documents, R"
    formula: ClassVar = r"\frac{1}{R} \sum_i \frac{\mathrm{rel}_i}{\log_2(2 + n_i)}"
    weighting: ClassVar = (
        "depends on the ranking: 1/(R log2(2 + n)) for a relevant document with n non-relevant ones above it"
    )
    about: ClassVar = (
        "As G with relevant and not relevant: a user is tired only by documents that are not relevant (n above). "
        "Unjudged documents count as not relevant."
    )
    user: ClassVar = "A user reads the whole list and is tired only by documents that are not relevant."
    ignores: ClassVar = (
        "Ignores how many relevant documents stand above one, everything below the last relevant one, and degrees of "
        "relevance."
    )
    reference: ClassVar = "Buckley, trec_eval 9 (measure binG), 2008"
    tasks: ClassVar = ("recall",)
    parameters: ClassVar = {"rel": REL}

    def terms(self, judged: JudgedRun) -> Floats:
        return np.where(judged.grade >= self.lowest_relevant, 1 / np.log2(2 + self._wrong(judged)), 0.0)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.count_relevant(self.lowest_relevant)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"non-relevant so far": self._wrong(judged)}

    def _wrong(self, judged: JudgedRun) -> Floats:
        return judged.rank - judged.count_running(judged.grade >= self.lowest_relevant)


def ideal_rank(judged: JudgedRun) -> Ints:
    """The rank of each judged document in the best ranking of its query."""
    rank: Ints = np.arange(len(judged.ideal)) - judged.ideal_starts[judged.ideal_query] + 1
    return rank


def running_sum(judged: JudgedRun, terms: Floats) -> Floats:
    """For each hit the sum of the terms of its query up to it."""
    return accumulate_within(np.add, terms, judged.starts)


def ideal_at(judged: JudgedRun, ideal_terms: Floats) -> Floats:
    """For each hit what the best ranking would have reached at its rank."""
    sums = np.append(accumulate_within(np.add, ideal_terms, judged.ideal_starts), 0.0)
    number = np.minimum(judged.rank, np.diff(judged.ideal_starts)[judged.query])
    # the last is for a query without judged documents
    return sums[np.where(number > 0, judged.ideal_starts[judged.query] + number - 1, -1)]


def _reached_at(judged: JudgedRun, terms: Floats, query: Ints, rank: Ints) -> Floats:
    """For each of some ranks the sum of the terms of its query down to there."""
    sums = np.append(running_sum(judged, terms), 0.0)
    # ranks rise within a query: with the queries apart from each other they rise in all
    apart = max(judged.depth, int(rank.max(initial=0))) + 1
    at = np.searchsorted(judged.query * apart + judged.rank, query * apart + rank, side="right")
    return sums[np.where(at > judged.starts[query], at - 1, -1)]


def _log(x: Floats, base: float) -> Floats:
    exact = {2.0: np.log2, 10.0: np.log10, math.e: np.log}.get(base)
    return exact(x) if exact else np.log(x) / math.log(base)
