"""Measures of the retrieved set, whatever its order: precision, recall, F, utility, fallout (also at k), accuracy."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cranfield.base import Flag, Parameter, replace
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import EvaluationError, MeasureError
from cranfield.joining import JudgedRun, share
from cranfield.measures.base import Measure
from cranfield.measures.parameters import CUTOFF, MANY, REL
from cranfield.measures.ties import mean_weight

RETRIEVED = "retrieved"
DOCS = Parameter(
    "how many documents the collection holds", low=1, high=10**15, whole=True, examples=(100, 12345), symbol="N"
)
_RIJSBERGEN = "van Rijsbergen, Information Retrieval, 2nd ed., 1979"
_TREC_EVAL = "Buckley & Voorhees, Retrieval system evaluation, in TREC: Experiment and Evaluation, 2005"
_CLEVERDON = "Cleverdon, Mills & Keen, Factors determining the performance of indexing systems, 1966"


class _OfSet(Measure):
    """A measure of the retrieved set: no order, so no ties."""

    rel: float | None = None

    parameters: ClassVar = {"rel": REL}
    weighting: ClassVar[str] = "the same for every rank: the order does not matter"

    def expected(self, judged: JudgedRun) -> Floats:
        return self.per_query(judged)

    def found(self, judged: JudgedRun) -> Floats:
        """Relevant documents retrieved."""
        return judged.count(judged.grade >= self.lowest_relevant)

    def terms(self, judged: JudgedRun) -> Floats:
        return (judged.grade >= self.lowest_relevant).astype(np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"relevant so far": judged.count_running(judged.grade >= self.lowest_relevant)}


class SetP(_OfSet):
    """The share of the retrieved documents that is relevant."""

    relative: bool = False

    name: ClassVar = "SetP"
    title: ClassVar = "Precision"
    grades_help: ClassVar[bool] = True
    normaliser_is: ClassVar[str] = "documents retrieved"
    formula: ClassVar = r"\frac{|\mathrm{relevant} \cap \mathrm{retrieved}|}{|\mathrm{retrieved}|}"
    about: ClassVar = (
        "A user reads all that was retrieved; what was missed does not matter. relative=True takes it as a share of "
        "the best that a set of this size can reach."
    )
    user: ClassVar = "A user reads all that was retrieved and counts the relevant documents."
    ignores: ClassVar = (
        "Ignores the order, degrees of relevance and, unless relative, how many relevant documents were missed."
    )
    reference: ClassVar = _CLEVERDON
    tasks: ClassVar[tuple[str, ...]] = ("sets",)
    parameters: ClassVar = {
        **_OfSet.parameters,
        "relative": Flag("divide by min(retrieved, R), the best that a set of this size can reach"),
    }

    @property
    def shown_formula(self) -> str:
        below = r"\min(|\mathrm{retrieved}|, R)" if self.relative else r"|\mathrm{retrieved}|"
        return rf"\frac{{|\mathrm{{relevant}} \cap \mathrm{{retrieved}}|}}{{{below}}}"

    @property
    def shown_normaliser(self) -> str:
        return "min(retrieved, R)" if self.relative else "documents retrieved"

    def normaliser(self, judged: JudgedRun) -> Floats:
        retrieved = judged.retrieved.astype(np.float64)
        return np.minimum(retrieved, judged.count_relevant(self.lowest_relevant)) if self.relative else retrieved


class SetRelP(SetP):
    """The share of the retrieved documents that is relevant, of the highest share a set of this size can have."""

    relative: bool = True

    name: ClassVar = "SetRelP"
    title: ClassVar = "Relative precision"
    normaliser_is: ClassVar[str] = "min(retrieved, R)"
    formula: ClassVar = r"\frac{|\mathrm{relevant} \cap \mathrm{retrieved}|}{\min(|\mathrm{retrieved}|, R)}"
    about: ClassVar = "As SetP(relative=True): 1 where no set of this size could have been better."
    user: ClassVar = "A user reads all that was retrieved and asks how many of those that could have been relevant are."
    ignores: ClassVar = (
        "Ignores the order, degrees of relevance, and relevant documents beyond those that a set of this size can hold."
    )
    reference: ClassVar = _TREC_EVAL


class SetR(_OfSet):
    """The share of the relevant documents that was retrieved."""

    name: ClassVar = "SetR"
    title: ClassVar = "Recall"
    grades_help: ClassVar[bool] = True
    normaliser_is: ClassVar[str] = "relevant documents, R"
    formula: ClassVar = r"\frac{|\mathrm{relevant} \cap \mathrm{retrieved}|}{R}"
    about: ClassVar = "A user must not miss anything; how much else is retrieved does not matter."
    user: ClassVar = "A user reads all that was retrieved and must not miss a relevant document."
    ignores: ClassVar = "Ignores the order, degrees of relevance, and how much else was retrieved."
    reference: ClassVar = _CLEVERDON
    tasks: ClassVar = ("sets", "recall")

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.count_relevant(self.lowest_relevant)


class SetF(_OfSet):
    """The weighted harmonic mean of precision and recall; β > 1 favours recall."""

    beta: float = 1.0

    name: ClassVar = "SetF"
    title: ClassVar = "F measure"
    grades_help: ClassVar[bool] = True
    normaliser_is: ClassVar[str] = "β² times the relevant documents, and those retrieved"
    formula: ClassVar = r"\frac{(\beta^2 + 1)\, P \cdot R}{\beta^2 P + R}"
    about: ClassVar = (
        "Recall is worth β times as much as precision. β is the one of the slides: trec_eval's set_F and "
        "ir_measures' SetF take β² in its place."
    )
    user: ClassVar = (
        "A user reads all that was retrieved and minds what was missed β times as much as what was read in vain."
    )
    ignores: ClassVar = "Ignores the order, degrees of relevance, and the documents rightly left out."
    reference: ClassVar = _RIJSBERGEN
    tasks: ClassVar = ("sets",)
    parameters: ClassVar = {
        **_OfSet.parameters,
        "beta": Parameter("how many times recall matters as much as precision", low=0, high=1e9, symbol=r"\beta"),
    }

    # with P = found/retrieved and R = found/relevant the formula is (β² + 1)·found / (β²·relevant + retrieved)

    def terms(self, judged: JudgedRun) -> Floats:
        return (self.weight + 1) * super().terms(judged)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.weight * judged.count_relevant(self.lowest_relevant) + judged.retrieved

    def per_query(self, judged: JudgedRun) -> Floats:
        found = self.found(judged)
        precision = share(found, judged.retrieved.astype(np.float64))
        recall = share(found, judged.count_relevant(self.lowest_relevant))
        # trec_eval's last bits depend on this order (m_set_F.c)
        return share((self.weight + 1) * precision * recall, recall + self.weight * precision)

    @property
    def weight(self) -> float:
        """β²"""
        return self.beta**2


class SetAP(_OfSet):
    """Precision times recall: the average precision if every relevant document found had the set's precision."""

    name: ClassVar = "SetAP"
    title: ClassVar = "Unranked average precision"
    grades_help: ClassVar[bool] = True
    normaliser_is: ClassVar[str] = "documents retrieved times relevant documents"
    formula: ClassVar = r"\frac{|\mathrm{relevant} \cap \mathrm{retrieved}|^2}{|\mathrm{retrieved}| \cdot R}"
    about: ClassVar = "A user reads all that was retrieved; finding all and finding nothing else both count."
    user: ClassVar = "A user reads all that was retrieved and minds both what was missed and what was read in vain."
    ignores: ClassVar = "Ignores the order, degrees of relevance, and the documents rightly left out."
    reference: ClassVar = _TREC_EVAL
    tasks: ClassVar = ("sets",)

    def terms(self, judged: JudgedRun) -> Floats:
        return super().terms(judged) * self.found(judged)[judged.query]

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.retrieved * judged.count_relevant(self.lowest_relevant)


class _OfCollection(_OfSet):
    """A measure that also counts what was rightly left out, and so needs the size of the collection."""

    docs: int | None = None

    parameters: ClassVar = {**_OfSet.parameters, "docs": DOCS}
    example: ClassVar = {"docs": 223}  # the bundled collection
    _or: ClassVar[str] = "or --docs 1400"

    def table(self, judged: JudgedRun) -> tuple[Floats, Floats, Floats]:
        """Retrieved and relevant, retrieved and not relevant, all not relevant."""
        if self.docs is None:
            raise MeasureError(f"{self.name} needs the size of the collection: {self.name}(docs=1400), {self._or}.")
        found, relevant = self.found(judged), judged.count_relevant(self.lowest_relevant)
        seen = judged.retrieved + relevant - found
        if (seen > self.docs).any():
            at = int(np.argmax(seen))
            raise EvaluationError(
                f"{self}: query {judged.queries[at]!r} has {int(seen[at]):,} documents retrieved or relevant, "
                f"more than the {self.docs:,} the collection is said to hold."
            )
        return found, judged.retrieved - found, self.docs - relevant


class Fallout(_OfCollection):
    """The share of the non-relevant documents that was retrieved, or is among the first k; less is better."""

    docs: int | str | None = None  # type: ignore[assignment]
    cutoff: int | None = None

    name: ClassVar = "Fallout"
    aliases: ClassVar = ("FallOut",)
    title: ClassVar = "Fallout"
    normaliser_is: ClassVar[str] = "documents that are not relevant"
    formula: ClassVar = r"\frac{|\mathrm{retrieved} \setminus \mathrm{relevant}|}{N - R}"
    about: ClassVar = (
        "How much of the non-relevant material is retrieved, in all or in the first k documents; needs the number N "
        "of documents in the collection. With docs='retrieved' these are the documents retrieved, as in torchmetrics, "
        "which has 1 rather than 0 where all of them are relevant."
    )
    user: ClassVar = (
        "A user reads all that was retrieved, or the first k documents, and minds the share of all non-relevant "
        "documents that came along."
    )
    ignores: ClassVar = (
        "Ignores the order of what is read, degrees of relevance, and which relevant documents were found or missed."
    )
    reference: ClassVar = _CLEVERDON
    more_is_better: ClassVar = False
    nothing_found: ClassVar = "the share of non-relevant documents retrieved; 0 for an empty list"
    tasks: ClassVar = ("sets",)
    parameters: ClassVar = {
        **_OfCollection.parameters,
        "docs": replace(DOCS, word=RETRIEVED, examples=(100, 12345, RETRIEVED)),
        "cutoff": CUTOFF,
    }
    weighting: ClassVar = "the same for every rank that is read, down to k if there is a cutoff"
    _or: ClassVar[str] = "or --docs 1400, or Fallout(docs='retrieved')"

    @property
    def shown_formula(self) -> str:
        read = r"\mathrm{retrieved}" if self.cutoff is None else r"\mathrm{top}_k"
        below = r"|\mathrm{retrieved} \setminus \mathrm{relevant}|" if self.docs == RETRIEVED else "N - R"
        return rf"\frac{{|{read} \setminus \mathrm{{relevant}}|}}{{{below}}}"

    @property
    def shown_normaliser(self) -> str:
        return f"documents {'retrieved ' if self.docs == RETRIEVED else ''}that are not relevant"

    def per_query(self, judged: JudgedRun) -> Floats:
        top = self._in_top(judged.rank).astype(np.float64)
        return share(self._shown(judged) - judged.total(super().terms(judged) * top), self.normaliser(judged))

    def expected(self, judged: JudgedRun) -> Floats:
        chance = mean_weight(judged, lambda rank: self._in_top(rank).astype(np.float64))
        return share(self._shown(judged) - judged.total(super().terms(judged) * chance), self.normaliser(judged))

    def expected_terms(self, judged: JudgedRun) -> Floats | None:
        chance = mean_weight(judged, lambda rank: self._in_top(rank).astype(np.float64))
        return (1 - super().terms(judged)) * chance

    def terms(self, judged: JudgedRun) -> Floats:
        return (1 - super().terms(judged)) * self._in_top(judged.rank)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.retrieved - self.found(judged) if self.docs == RETRIEVED else self.table(judged)[2]

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"others so far": judged.rank - judged.count_running(judged.grade >= self.lowest_relevant)}

    def _in_top(self, rank: Ints) -> Bools:
        """Which ranks are read."""
        return np.ones(len(rank), dtype=bool) if self.cutoff is None else rank <= self.cutoff

    def _shown(self, judged: JudgedRun) -> Floats:
        """How many documents are read."""
        return np.minimum(judged.retrieved, self.cutoff or MANY).astype(np.float64)


class SetAccuracy(_OfCollection):
    """The share of all documents that was treated rightly: relevant and retrieved, or neither."""

    name: ClassVar = "SetAccuracy"
    title: ClassVar = "Accuracy"
    grades_help: ClassVar[bool] = True
    normaliser_is: ClassVar[str] = "documents in the collection"
    formula: ClassVar = r"\frac{a + d}{N}"
    weighting: ClassVar = "1/N for every rank: the order does not matter"
    about: ClassVar = (
        "Nearly 1 for every system, since nearly all documents are rightly left out: a reason not to use it."
    )
    user: ClassVar = (
        "A user treats the retrieved documents as relevant and all others as not, and asks how often that is right."
    )
    ignores: ClassVar = (
        "Ignores the order, degrees of relevance, and whether an error is a document missed or one too many."
    )
    reference: ClassVar = _RIJSBERGEN
    nothing_found: ClassVar = "the share of documents rightly left out"
    lacks: ClassVar = {
        "perfect": "What the collection holds beyond the judged documents counts as well.",
        "empty": "Retrieving nothing treats nearly all documents rightly.",
    }
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


class _Coefficients(Parameter):
    """Four numbers."""

    def check(self, name: str, value: Any) -> Any:
        if not isinstance(value, (tuple, list)) or len(value) != 4:
            raise self.error(name, value)
        return tuple(Parameter("a coefficient").check(name, one) for one in value)

    def range(self) -> str:
        return "four numbers"


class Utility(_OfSet):
    """What the retrieved set is worth if every document, found or missed, has its price."""

    coefficients: tuple[float, float, float, float] = (1.0, -1.0, 0.0, 0.0)
    docs: int | None = None

    name: ClassVar = "Utility"
    title: ClassVar = "Linear utility"
    formula: ClassVar = r"p_1 a + p_2 b + p_3 c + p_4 d,\quad d = N - a - b - c"
    weighting: ClassVar = "p1 for a relevant document at any rank, p2 for another: the order does not matter"
    about: ClassVar = (
        "A user gains p1 by each relevant document found (a) and p2 by each other one (b), by default 1 and −1; p3 "
        "prices the relevant documents missed (c), p4 those rightly left out (d), which needs the size of the "
        "collection (docs=…). A query with many relevant documents counts more than one with few."
    )
    user: ClassVar = "A user reads all that was retrieved, gains by each relevant document and pays for each other one."
    ignores: ClassVar = "Ignores the order, degrees of relevance and, with the default prices, what was missed."
    reference: ClassVar = "Lewis, The TREC-4 filtering track, 1995"
    low: ClassVar = -np.inf
    high: ClassVar = np.inf
    nothing_found: ClassVar = "−1 for each document retrieved"
    tasks: ClassVar = ("sets",)
    parameters: ClassVar = {
        **_OfSet.parameters,
        "coefficients": _Coefficients(
            "what a document is worth: relevant and found, found only, relevant only, neither",
            examples=((1, -1, 0, 0), (2, -1, -0.5, 0)),
            symbol="p_1",
        ),
        "docs": Parameter(
            "how many documents the collection holds", low=0, high=10**15, whole=True, examples=(100,), symbol="N"
        ),
    }
    example: ClassVar = {"docs": 223}  # the bundled collection
    lacks: ClassVar = {"range": "Prices have no bounds."}

    def per_query(self, judged: JudgedRun) -> Floats:
        found_and_relevant, found, relevant, neither = self.coefficients
        a, relevant_docs = self.found(judged), judged.count_relevant(self.lowest_relevant)
        rest = self._neither(judged) if neither else np.zeros(judged.n)
        return found_and_relevant * a + found * (judged.retrieved - a) + relevant * (relevant_docs - a) + neither * rest

    def terms(self, judged: JudgedRun) -> Floats:
        found_and_relevant, found, *_ = self.coefficients
        return np.where(judged.grade >= self.lowest_relevant, found_and_relevant, found)

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        *_, relevant, neither = self.coefficients
        missed = judged.count_relevant(self.lowest_relevant)[0] - self.found(judged)[0]
        rows = [{"what": "relevant, not retrieved", "term": float(relevant * missed)}]
        if neither:
            rows.append({"what": "neither", "term": float(neither * self._neither(judged)[0])})
        return rows

    def _neither(self, judged: JudgedRun) -> Floats:
        """How many documents are neither relevant nor retrieved."""
        if self.docs is None:
            raise MeasureError(f"{self} needs the size of the collection: docs=1400, or --docs 1400.")
        return self.docs + self.found(judged) - judged.retrieved - judged.count_relevant(self.lowest_relevant)
