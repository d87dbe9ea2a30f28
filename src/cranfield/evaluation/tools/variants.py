"""Measures as only one tool computes them: subclasses without a name, so they are in no list of measures."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from cranfield.base import replace
from cranfield.data import Floats, Qrels
from cranfield.errors import EvaluationError
from cranfield.joining import JudgedRun, join_run
from cranfield.measures import (
    AP,
    CUTOFF,
    DCG,
    Accuracy,
    Bpref,
    Fallout,
    Judged,
    Measure,
    NumPrefs,
    NumQ,
    NumRel,
    Parameter,
    Unjudged,
    nDCG,
)


class OverFound(AP):
    """AP divided by the relevant documents found within the cutoff."""

    def __str__(self) -> str:
        return f"AP(denominator='found'){'' if self.cutoff is None else f'@{self.cutoff}'}"

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.count(self.top(judged))


class IdealAsGiven(nDCG):
    """nDCG whose ideal ranking is the relevant documents in the order of the qrels, which may not be the best one."""

    high: ClassVar[float] = math.inf

    def ideal_terms(self, judged: JudgedRun) -> Floats:
        parts = [self._given(judged, i) for i in range(judged.n)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _given(self, judged: JudgedRun, i: int) -> Floats:
        """The terms of a query, as many as it has judged documents."""
        grades = judged.sources.qrels.judged[int(judged.qrels_at[i])].values()
        gains = self.gains(np.array([grade for grade in grades if grade > 0], dtype=np.float64))
        rank = np.arange(1, len(gains) + 1)
        terms = np.zeros(len(grades))
        terms[: len(gains)] = np.where(rank <= (self.cutoff or len(gains)), gains / self.divisor(rank), 0.0)
        return terms


_LEAST = Parameter("the lowest grade that gains anything")


class LeveledDCG(DCG):
    """DCG in which grades below a level gain nothing."""

    least: float = 1.0
    beyond_rel: ClassVar[bool] = True
    parameters: ClassVar = {**DCG.parameters, "least": _LEAST}

    @property
    def is_binary(self) -> bool:
        return True  # in that a lowest relevant grade concerns it

    def gains(self, grades: Floats) -> Floats:
        return np.where(grades >= self.least, super().gains(grades), 0.0)


class LeveledNDCG(nDCG):
    """nDCG in which grades below a level gain nothing."""

    least: float = 1.0
    beyond_rel: ClassVar[bool] = True
    parameters: ClassVar = {**nDCG.parameters, "least": _LEAST}

    @property
    def is_binary(self) -> bool:
        return True  # in that a lowest relevant grade concerns it

    def gains(self, grades: Floats) -> Floats:
        return np.where(grades >= self.least, super().gains(grades), 0.0)


class SignedDCG(DCG):
    """DCG in which a negative grade is a loss."""

    def gains(self, grades: Floats) -> Floats:
        return np.nan_to_num(grades)


class SignedNDCG(nDCG):
    """nDCG in which a negative grade is a loss, of all that was retrieved; 0 where the grades add up to 0."""

    def gains(self, grades: Floats) -> Floats:
        return np.nan_to_num(grades)

    def ideal(self, judged: JudgedRun) -> Floats:
        # an empty target is recognised by the sum of its grades (torchmetrics/retrieval/base.py)
        some = judged.ideal_total(judged.ideal) != 0
        return np.where(some, [self._best(judged, i) for i in range(judged.n)], 0.0)

    def _best(self, judged: JudgedRun, i: int) -> float:
        """The value of the documents retrieved in their best order, in which those without a judgment are 0."""
        known = judged.ideal[int(judged.ideal_starts[i]) : int(judged.ideal_starts[i + 1])]
        grades = np.concatenate((known, np.zeros(max(int(judged.retrieved[i]) - len(known), 0))))
        rank = np.arange(1, len(grades) + 1)
        return math.fsum(np.where(self._inside(rank), -np.sort(-grades) / self.divisor(rank), 0.0))


class RanxBpref(Bpref):
    """Bpref in which a negative grade is a judgment, without value where N is 0 and a relevant document found."""

    def _others(self, judged: JudgedRun) -> Floats:
        return judged.ideal_total(judged.ideal < self.lowest_relevant)

    def _above(self, judged: JudgedRun) -> Floats:
        return judged.count_running(judged.grade < self.lowest_relevant)

    def per_query(self, judged: JudgedRun) -> Floats:
        # each relevant document found is then 1 − 0/0
        undefined = (self._others(judged) == 0) & (judged.count(judged.grade >= self.lowest_relevant) > 0)
        return np.where(undefined, np.nan, super().per_query(judged))


class JudgedAtAll(Judged):
    """Judged, with negative grades as judgments."""

    def shown_list(self, judged: JudgedRun) -> JudgedRun:
        return replace(judged, grade=np.abs(judged.grade))


class AccuracyWhereRelevant(Accuracy):
    """Accuracy, without value where nothing relevant was retrieved."""

    def per_query(self, judged: JudgedRun) -> Floats:
        found, others = judged.count(self.top(judged)), self._others(judged)
        if ((found > 0) & (others == 0)).any():
            raise EvaluationError("ir_measures divides by zero where all documents retrieved are relevant.")
        return np.where(found > 0, super().per_query(judged), np.nan)


class Hole(Unjudged):
    """The share of the first k documents that is judged for no query at all."""

    def per_query(self, judged: JudgedRun) -> Floats:
        known = set(judged.sources.qrels.docs.tolist())
        unknown = [sum(doc not in known for doc in judged.ranking(i)[: self.cutoff]) for i in range(judged.n)]
        return np.array(unknown, dtype=np.float64) / self.normaliser(judged)

    def terms(self, judged: JudgedRun) -> Floats:
        known = set(judged.sources.qrels.docs.tolist())
        docs = [judged.ranking(i)[rank - 1] for i, rank in zip(judged.query, judged.rank, strict=True)]
        holes = np.array([doc not in known for doc in docs], dtype=bool)
        return (holes & (judged.rank <= (self.cutoff or 1))).astype(np.float64)

    def mean_value(self, judged: JudgedRun) -> float | None:
        """The sum over all lists, also of queries without judgments, by the number of judged queries."""
        qrels, run = judged.sources.qrels, judged.sources.run
        others = [query for query in run.queries if query not in set(qrels.queries)]
        if not others or judged.n < len(qrels.queries):
            return None
        nothing = Qrels.from_rows([], [], [], empty_queries=others)
        lists = join_run(nothing, run, judged.joining)
        known = set(qrels.docs.tolist())
        ranked = [lists.ranking(i)[: self.cutoff] for i in range(lists.n)]
        more = [sum(doc not in known for doc in docs) / (self.cutoff or 1) for docs in ranked]
        return math.fsum([*self.values(judged).tolist(), *more]) / judged.n

    def expected(self, judged: JudgedRun) -> Floats:
        if judged.has_ties:
            raise EvaluationError("BEIR's Hole has no expected value over ties here: choose another tie rule.")
        return self.per_query(judged)


class RawRBP(Measure):
    """Rank-biased precision with the grade itself as gain."""

    rel: float | None = None
    p: float = 0.8
    cutoff: int | None = None
    high: ClassVar[float] = math.inf
    beyond_rel: ClassVar[bool] = True
    parameters: ClassVar = {
        "rel": Parameter("the lowest grade that gains anything"),
        "p": Parameter("the probability of going on", low=0, high=1),
        "cutoff": CUTOFF,
    }
    title: ClassVar = "Rank-biased precision of raw grades"
    formula: ClassVar = r"(1 - p) \sum_{i=1}^{k} g_i\, p^{i-1}"

    def __str__(self) -> str:
        level = "" if self.rel is None else f",rel={self.rel:g}"
        return f"RBP(p={self.p:g}{level},gain=grade){'' if self.cutoff is None else f'@{self.cutoff}'}"

    def terms(self, judged: JudgedRun) -> Floats:
        gains = np.where(judged.grade >= self.lowest_relevant, judged.grade, 0.0)
        inside = True if self.cutoff is None else judged.rank <= self.cutoff
        return np.where(inside, (1 - self.p) * gains * self.p ** (judged.rank - 1.0), 0.0)


class FalloutOfAny(Fallout):
    """Fallout, 1 where every document is relevant."""

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.where(self.normaliser(judged) == 0, 1.0, super().per_query(judged))

    def expected(self, judged: JudgedRun) -> Floats:
        return np.where(self.normaliser(judged) == 0, 1.0, super().expected(judged))


class RecountedRel(NumRel):
    """The relevant documents; over all queries, if missing ones count, those above grade 0 whatever `rel` says."""

    aggregate: ClassVar = "run"  # type: ignore[assignment]

    def run_value(self, judged: JudgedRun) -> float:
        if judged.joining.missing != "zero":
            return int(math.fsum(self.values(judged)))
        # recounted from the judgments, without a look at the level (m_num_rel.c)
        grades = [judged.sources.qrels.judged[int(at)].values() for at in judged.qrels_at]
        return sum(grade > 0 for own in grades for grade in own)


class NumRelMet(NumRel):
    """The relevant documents, none for a query that the run lacks."""

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.where(judged.missing, 0.0, super().per_query(judged))


class NumQMet(NumQ):
    """The queries that the run has."""

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.where(judged.missing, 0.0, super().per_query(judged))


class NumPrefsMet(NumPrefs):
    """Preferences, without those of queries that the run lacks."""

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.where(judged.missing, 0.0, super().per_query(judged))
