"""Measures for incomplete judgments: bpref, infAP, and how much of a ranking is judged at all."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cranfield.data import Floats
from cranfield.joining import JudgedRun, share
from cranfield.measures.base import Measure
from cranfield.measures.parameters import CUTOFF, REL
from cranfield.measures.ties import mean_weight


class Bpref(Measure):
    """How seldom judged non-relevant documents stand above relevant ones; unjudged documents do not matter."""

    rel: float | None = None

    name: ClassVar = "Bpref"
    aliases: ClassVar[tuple[str, ...]] = ("BPref",)
    title: ClassVar = "Binary preference"
    normaliser_is: ClassVar[str] = "relevant documents, R"
    formula: ClassVar = r"\frac{1}{R} \sum_{r} \left( 1 - \frac{\min(n_r, R)}{\min(N, R)} \right)"
    weighting: ClassVar[str] = (
        "depends on the ranking: (1 − min(n, R)/min(N, R))/R for a relevant document with n of the N judged "
        "non-relevant ones above it"
    )
    about: ClassVar = (
        "For each relevant document retrieved, how many of the judged non-relevant ones (at most R) are above it. "
        "Documents without a judgment, or with a negative grade, are passed over."
    )
    user: ClassVar = (
        "A user takes a random relevant document and minds each document above it that an assessor has refused."
    )
    ignores: ClassVar = (
        "Ignores documents without a judgment, the judged non-relevant ones after the first R, and degrees of "
        "relevance."
    )
    reference: ClassVar = "Buckley & Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004"
    tasks: ClassVar = ("incomplete",)
    parameters: ClassVar = {"rel": REL}

    def terms(self, judged: JudgedRun) -> Floats:
        relevant = self.normaliser(judged)
        most = np.minimum(self._others(judged), relevant)
        lost = share(np.minimum(self._above(judged), judged.spread(relevant)), judged.spread(most))
        terms: Floats = (1 - lost) * (judged.grade >= self.lowest_relevant)
        return terms

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.count_relevant(self.lowest_relevant)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        relevant = judged.count_running(judged.grade >= self.lowest_relevant)
        return {"relevant so far": relevant, "judged non-relevant so far": self._above(judged)}

    def _others(self, judged: JudgedRun) -> Floats:
        """How many documents of each query are judged non-relevant."""
        rel = self.lowest_relevant
        find = lambda: judged.ideal_total((judged.ideal >= 0) & (judged.ideal < rel))  # noqa: E731
        return judged.cache_for_qrels(("non-relevant", rel), find)

    def _above(self, judged: JudgedRun) -> Floats:
        return judged.count_running((judged.grade >= 0) & (judged.grade < self.lowest_relevant))


class Judged(Measure):
    """The share of the first k documents that has a judgment."""

    cutoff: int | None = None

    name: ClassVar = "Judged"
    title: ClassVar = "Judged documents"
    normaliser_is: ClassVar[str] = "documents looked at, min(k, retrieved)"
    weighting: ClassVar = "1/min(k, retrieved) down to rank k, 0 below"
    formula: ClassVar = r"\frac{|\mathrm{judged} \cap \mathrm{top}_k|}{\min(k, |\mathrm{retrieved}|)}"
    about: ClassVar = (
        "No measure of quality: says how far the others can be trusted. A negative grade is no judgment "
        "(pooled, but not judged)."
    )
    user: ClassVar = "An experimenter asks how far values over the first k documents can be trusted."
    ignores: ClassVar = "Ignores whether documents are relevant, the order within the first k and everything below."
    reference: ClassVar = "Lu, Moffat & Culpepper, The effect of pooling and evaluation depth, 2016"
    nothing_found: ClassVar = "the share judged; 0 for an empty list"
    is_quality: ClassVar = False
    tasks: ClassVar = ("incomplete",)
    parameters: ClassVar = {"cutoff": CUTOFF}

    def terms(self, judged: JudgedRun) -> Floats:
        return ((judged.grade >= 0) & (judged.rank <= self.normaliser(judged)[judged.query])).astype(np.float64)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.minimum(judged.retrieved, np.inf if self.cutoff is None else self.cutoff).astype(np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        seen = judged.count_running(judged.grade >= 0)
        return {"judged so far": seen, "share so far": seen / judged.rank}

    def expected(self, judged: JudgedRun) -> Floats:
        return share(judged.total(self.expected_terms(judged)), self.normaliser(judged))

    def expected_terms(self, judged: JudgedRun) -> Floats:
        limit = self.cutoff
        inside = mean_weight(
            judged, lambda rank: np.ones(len(rank)) if limit is None else (rank <= limit).astype(np.float64)
        )
        return np.where(judged.grade >= 0, inside, 0.0)


class InfAP(Measure):
    """Average precision estimated from a sample of the pool: a negative grade means pooled, but not judged."""

    rel: float | None = None

    name: ClassVar = "infAP"
    aliases: ClassVar = ("InfAP",)
    title: ClassVar = "Inferred average precision"
    normaliser_is: ClassVar[str] = "relevant documents, R"
    formula: ClassVar = (
        r"\frac{1}{R} \sum_{i} \mathrm{rel}_i \left( \frac{1}{i} + \frac{i-1}{i} \cdot \frac{p}{i-1} \cdot "
        r"\frac{r + \varepsilon}{r + n + 2 \varepsilon} \right)"
    )
    weighting: ClassVar = "depends on the ranking: a relevant document at rank i weighs the estimated P@i, divided by R"
    about: ClassVar = (
        "The precision at a relevant document is what to expect if those above it that were pooled (p) are relevant "
        "as often as those judged (r relevant, n not). What was never pooled counts as not relevant. For a stratified "
        "sample see xinfAP."
    )
    user: ClassVar = (
        "An experimenter who judged only a random sample of the pool wants the AP that full judgments would give."
    )
    ignores: ClassVar = (
        "Ignores degrees of relevance, that documents outside the pool may be relevant, and how uncertain the "
        "estimate is."
    )
    reference: ClassVar = "Yilmaz & Aslam, Estimating average precision with incomplete judgments, CIKM 2006"
    tasks: ClassVar = ("incomplete",)
    parameters: ClassVar = {"rel": REL}
    lacks: ClassVar = {
        "perfect": "The estimate is smoothed with ε = 0.00001, and so stays a little below 1.",
        "swap": "A document that was pooled but not judged is taken for relevant in part.",
    }

    _EPSILON: ClassVar = 0.00001

    def terms(self, judged: JudgedRun) -> Floats:
        hits = judged.grade >= self.lowest_relevant
        relevant, others, unjudged = self._above(judged)
        above = (judged.rank - 1).astype(np.float64)
        judged_share = (relevant + self._EPSILON) / (relevant + others + 2 * self._EPSILON)
        # in trec_eval's order of operations (m_infap.c)
        pooled = share(relevant + others + unjudged, above)
        inferred = 1.0 / judged.rank + (above / judged.rank) * pooled * judged_share
        return np.where(hits, np.where(judged.rank == 1, 1.0, inferred), 0.0)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.count_relevant(self.lowest_relevant)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        relevant, others, unjudged = self._above(judged)
        return {"relevant above": relevant, "non-relevant above": others, "pooled, unjudged above": unjudged}

    def _above(self, judged: JudgedRun) -> tuple[Floats, Floats, Floats]:
        """How many documents above each hit are relevant, judged otherwise, and pooled without a judgment."""
        hits = judged.grade >= self.lowest_relevant
        kinds = hits, (judged.grade >= 0) & ~hits, (judged.grade < 0) & ~hits
        relevant, others, unjudged = (judged.count_running(kind) - kind for kind in kinds)
        return relevant, others, unjudged


class Unjudged(Measure):
    """The share of the first k documents that has no judgment."""

    cutoff: int | None = None

    name: ClassVar = "Unjudged"
    title: ClassVar = "Unjudged documents"
    normaliser_is: ClassVar[str] = "documents looked at, k"
    weighting: ClassVar = "1/k down to rank k, 0 below"
    formula: ClassVar = r"\frac{|\mathrm{top}_k \setminus \mathrm{judged}|}{k}"
    about: ClassVar = (
        "No measure of quality: a warning that the others rest on guesses. A list shorter than k counts as filled up "
        "with judged documents (Judged divides by its length). A negative grade is no judgment."
    )
    user: ClassVar = "An experimenter asks how much of the first k documents values have to guess at."
    ignores: ClassVar = "Ignores whether documents are relevant, the order within the first k and everything below."
    reference: ClassVar = "Lu, Moffat & Culpepper, The effect of pooling and evaluation depth, 2016"
    nothing_found: ClassVar = "the share unjudged; 0 for an empty list"
    more_is_better: ClassVar = False
    is_quality: ClassVar = False
    required: ClassVar = ("cutoff",)
    tasks: ClassVar = ("incomplete",)
    parameters: ClassVar = {"cutoff": CUTOFF}

    def per_query(self, judged: JudgedRun) -> Floats:
        seen = judged.count((judged.grade >= 0) & (judged.rank <= (self.cutoff or 1)))
        return share(np.minimum(judged.retrieved, self.cutoff or 1) - seen, self.normaliser(judged))

    def terms(self, judged: JudgedRun) -> Floats:
        """One for each unjudged document; only a dense join has them all."""
        return (~(judged.grade >= 0) & (judged.rank <= (self.cutoff or 1))).astype(np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        unseen = judged.count_running(~(judged.grade >= 0))
        return {"unjudged so far": unseen, "share so far": unseen / judged.rank}

    def rank_weights(self, n: int) -> Floats | None:
        return np.where(np.arange(n) < (self.cutoff or 1), 1 / (self.cutoff or 1), 0.0)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.full(judged.n, float(self.cutoff or 1))

    def expected_terms(self, judged: JudgedRun) -> Floats | None:
        return np.where(judged.grade >= 0, 0.0, self._chances(judged))

    def _chances(self, judged: JudgedRun) -> Floats:
        """The chance of each hit to be among the first k."""
        return mean_weight(judged, lambda rank: (rank <= (self.cutoff or 1)).astype(np.float64))

    def expected(self, judged: JudgedRun) -> Floats:
        seen = judged.total(np.where(judged.grade >= 0, self._chances(judged), 0.0))
        return share(np.minimum(judged.retrieved, self.cutoff or 1) - seen, self.normaliser(judged))
