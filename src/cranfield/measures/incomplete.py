"""Measures for incomplete judgments: bpref, and how much of a ranking is judged at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cranfield.collection import Floats
from cranfield.judged import JudgedRun
from cranfield.measures.base import CUTOFF, REL, Measure, share
from cranfield.measures.ties import mean_weight


@dataclass(frozen=True, repr=False)
class Bpref(Measure):
    """How seldom judged non-relevant documents stand above relevant ones; unjudged documents do not matter."""

    rel: float | None = None

    name: ClassVar = "Bpref"
    aliases: ClassVar = ("BPref",)
    title: ClassVar = "Binary preference"
    formula: ClassVar = r"\frac{1}{R} \sum_{r} \left( 1 - \frac{\min(n_r, R)}{\min(N, R)} \right)"
    about: ClassVar = (
        "For each relevant document retrieved, how many of the judged non-relevant ones (at most R) are above it. "
        "Documents without a judgment, or with a negative grade, are passed over."
    )
    reference: ClassVar = "Buckley & Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004"
    tasks: ClassVar = ("incomplete",)
    parameters: ClassVar = {"rel": REL}

    def terms(self, judged: JudgedRun) -> Floats:
        limit = self.normaliser(judged)[judged.query]
        most = np.minimum(self._others(judged)[judged.query], limit)
        above = np.minimum(self._above(judged), limit)
        lost = np.divide(above, most, out=np.zeros_like(above), where=most > 0)
        return np.where(judged.grade >= self.lowest_relevant, 1 - lost, 0.0)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.relevant(self.lowest_relevant)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"judged non-relevant so far": self._above(judged)}

    def _others(self, judged: JudgedRun) -> Floats:
        """How many documents of each query are judged non-relevant."""
        return judged.ideal_total((judged.ideal >= 0) & (judged.ideal < self.lowest_relevant))

    def _above(self, judged: JudgedRun) -> Floats:
        return judged.running((judged.grade >= 0) & (judged.grade < self.lowest_relevant))


@dataclass(frozen=True, repr=False)
class Judged(Measure):
    """The share of the first k documents that has a judgment."""

    cutoff: int | None = None

    name: ClassVar = "Judged"
    title: ClassVar = "Judged documents"
    formula: ClassVar = r"\frac{|\mathrm{judged} \cap \mathrm{top}_k|}{\min(k, |\mathrm{retrieved}|)}"
    about: ClassVar = (
        "No measure of quality: says how far the others can be trusted. A negative grade is no judgment "
        "(pooled, but not judged)."
    )
    reference: ClassVar = "Lu, Moffat & Culpepper, The effect of pooling and evaluation depth, 2016"
    nothing_found: ClassVar = "the share judged; 0 for an empty list"
    is_quality: ClassVar = False
    tasks: ClassVar = ("incomplete",)
    parameters: ClassVar = {"cutoff": CUTOFF}

    def terms(self, judged: JudgedRun) -> Floats:
        return ((judged.grade >= 0) & (judged.rank <= self.normaliser(judged)[judged.query])).astype(np.float64)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.minimum(judged.retrieved, np.inf if self.cutoff is None else self.cutoff).astype(np.float64)

    def expected(self, judged: JudgedRun) -> Floats:
        limit = self.cutoff
        inside = mean_weight(
            judged, lambda rank: np.ones(len(rank)) if limit is None else (rank <= limit).astype(np.float64)
        )
        sums = judged.total(np.where(judged.grade >= 0, inside, 0.0))
        return share(sums, self.normaliser(judged))
