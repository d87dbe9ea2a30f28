"""Measures of the retrieved set, whatever its order: precision, recall, F, fallout, accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cranfield.collection import Floats
from cranfield.errors import EvaluationError, MeasureError
from cranfield.judged import JudgedRun
from cranfield.measures.base import REL, Measure, Parameter, share

DOCS = Parameter("how many documents the collection holds", least=1, most=10**15, whole=True)
_RIJSBERGEN = "van Rijsbergen, Information Retrieval, 2nd ed., 1979"
_CLEVERDON = "Cleverdon, Mills & Keen, Factors determining the performance of indexing systems, 1966"


@dataclass(frozen=True, repr=False)
class _OfSet(Measure):
    """A measure of the retrieved set: no order, so no ties."""

    rel: float | None = None

    parameters: ClassVar = {"rel": REL}

    def expected(self, judged: JudgedRun) -> Floats:
        return self.per_query(judged)

    def found(self, judged: JudgedRun) -> Floats:
        """Relevant documents retrieved."""
        return judged.count(judged.grade >= self.lowest_relevant)

    def terms(self, judged: JudgedRun) -> Floats:
        return (judged.grade >= self.lowest_relevant).astype(np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"relevant so far": judged.running(judged.grade >= self.lowest_relevant)}


@dataclass(frozen=True, repr=False)
class SetP(_OfSet):
    """The share of the retrieved documents that is relevant."""

    name: ClassVar = "SetP"
    title: ClassVar = "Precision"
    formula: ClassVar = r"\frac{|\mathrm{relevant} \cap \mathrm{retrieved}|}{|\mathrm{retrieved}|}"
    about: ClassVar = "A user reads all that was retrieved; what was missed does not matter."
    reference: ClassVar = _CLEVERDON
    tasks: ClassVar = ("sets",)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.retrieved.astype(np.float64)


@dataclass(frozen=True, repr=False)
class SetR(_OfSet):
    """The share of the relevant documents that was retrieved."""

    name: ClassVar = "SetR"
    title: ClassVar = "Recall"
    formula: ClassVar = r"\frac{|\mathrm{relevant} \cap \mathrm{retrieved}|}{R}"
    about: ClassVar = "A user must not miss anything; how much else comes along does not matter."
    reference: ClassVar = _CLEVERDON
    tasks: ClassVar = ("sets", "recall")

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.relevant(self.lowest_relevant)


@dataclass(frozen=True, repr=False)
class SetF(_OfSet):
    """The weighted harmonic mean of precision and recall; β > 1 favours recall."""

    beta: float = 1.0

    name: ClassVar = "SetF"
    title: ClassVar = "F measure"
    formula: ClassVar = r"\frac{(\beta^2 + 1)\, P \cdot R}{\beta^2 P + R}"
    about: ClassVar = (
        "Recall is worth β times as much as precision. β is the one of the slides: trec_eval's set_F and "
        "ir_measures' SetF take β² in its place."
    )
    reference: ClassVar = _RIJSBERGEN
    tasks: ClassVar = ("sets",)
    parameters: ClassVar = {
        **_OfSet.parameters,
        "beta": Parameter("how many times recall matters as much as precision", least=0, most=1e9),
    }

    # with P = found/retrieved and R = found/relevant the formula is (β² + 1)·found / (β²·relevant + retrieved)

    def terms(self, judged: JudgedRun) -> Floats:
        return (self.beta**2 + 1) * super().terms(judged)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.beta**2 * judged.relevant(self.lowest_relevant) + judged.retrieved


@dataclass(frozen=True, repr=False)
class _OfCollection(_OfSet):
    """A measure that also counts what was rightly left out, and so needs the size of the collection."""

    docs: int | None = None

    parameters: ClassVar = {**_OfSet.parameters, "docs": DOCS}

    def table(self, judged: JudgedRun) -> tuple[Floats, Floats, Floats]:
        """Retrieved and relevant, retrieved and not relevant, all not relevant."""
        if self.docs is None:
            raise MeasureError(f"{self.name} needs the size of the collection: {self.name}(docs=1400), or --docs 1400.")
        found, relevant = self.found(judged), judged.relevant(self.lowest_relevant)
        seen = judged.retrieved + relevant - found
        if (seen > self.docs).any():
            at = int(np.argmax(seen))
            raise EvaluationError(
                f"{self}: query {judged.queries[at]!r} has {int(seen[at]):,} documents retrieved or relevant, "
                f"more than the {self.docs:,} the collection is said to hold."
            )
        return found, judged.retrieved - found, self.docs - relevant


@dataclass(frozen=True, repr=False)
class Fallout(_OfCollection):
    """The share of the non-relevant documents that was retrieved; less is better."""

    name: ClassVar = "Fallout"
    title: ClassVar = "Fallout"
    formula: ClassVar = r"\frac{|\mathrm{retrieved} \setminus \mathrm{relevant}|}{N - R}"
    about: ClassVar = "How much of the rubbish comes along; needs the number N of documents in the collection."
    reference: ClassVar = _CLEVERDON
    more_is_better: ClassVar = False
    nothing_found: ClassVar = "the share of non-relevant documents retrieved; 0 for an empty list"
    tasks: ClassVar = ("sets",)

    def per_query(self, judged: JudgedRun) -> Floats:
        _, wrong, not_relevant = self.table(judged)
        return share(wrong, not_relevant)

    def terms(self, judged: JudgedRun) -> Floats:
        return 1 - super().terms(judged)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.table(judged)[2]


@dataclass(frozen=True, repr=False)
class SetAccuracy(_OfCollection):
    """The share of all documents that was treated rightly: relevant and retrieved, or neither."""

    name: ClassVar = "SetAccuracy"
    title: ClassVar = "Accuracy"
    formula: ClassVar = r"\frac{a + d}{N}"
    about: ClassVar = (
        "Nearly 1 for every system, since nearly all documents are rightly left out: a reason not to use it."
    )
    reference: ClassVar = _RIJSBERGEN
    nothing_found: ClassVar = "the share of documents rightly left out"
    tasks: ClassVar = ("sets",)

    def per_query(self, judged: JudgedRun) -> Floats:
        found, wrong, not_relevant = self.table(judged)
        right: Floats = found + not_relevant - wrong
        return right / float(self.docs or 1)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.full(judged.n, float(self.docs or 1))

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        _, wrong, not_relevant = self.table(judged)
        return [{"what": "neither relevant nor retrieved", "term": float(not_relevant[0] - wrong[0])}]
