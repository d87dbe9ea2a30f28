"""Counts: queries, documents retrieved, relevant, and both. Summed over queries, not averaged."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from cranfield.data import Floats
from cranfield.joining import JudgedRun
from cranfield.measures.base import Measure
from cranfield.measures.parameters import REL

_TREC = "Buckley & Voorhees, Retrieval system evaluation, in TREC: Experiment and Evaluation, 2005"
_TREC_EVAL = "Buckley, trec_eval 9 (num_nonrel_judged_ret), 2008"


class _Count(Measure):
    """A count: does not depend on the order, and is summed."""

    high: ClassVar[float] = np.inf
    aggregate: ClassVar = "sum"
    is_quality: ClassVar = False
    tasks: ClassVar = ("summary",)
    reference: ClassVar[str] = _TREC

    def expected(self, judged: JudgedRun) -> Floats:
        return self.per_query(judged)


class NumQ(_Count):
    """How many queries were evaluated."""

    name: ClassVar = "NumQ"
    title: ClassVar = "Number of queries"
    formula: ClassVar = r"|Q|"
    weighting: ClassVar = "none: it does not look at the ranking"
    lacks: ClassVar = {"columns": "It counts queries, whatever was retrieved."}
    about: ClassVar = "Counts the queries that the figures rest on."
    user: ClassVar = "An experimenter asks how many queries the figures rest on."
    ignores: ClassVar = "Ignores all that was retrieved and judged for them."
    nothing_found: ClassVar = "1 for each query"

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.ones(judged.n)

    def terms(self, judged: JudgedRun) -> Floats:
        return np.zeros(len(judged.rank))

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        return [{"what": "the query itself", "term": 1.0}]


class NumRet(_Count):
    """How many documents were retrieved; with `rel`, how many of at least that grade."""

    rel: float | None = None

    name: ClassVar = "NumRet"
    title: ClassVar = "Documents retrieved"
    formula: ClassVar = r"|\mathrm{retrieved}|"
    weighting: ClassVar = "1 for every rank; with rel, for every document of at least that grade"
    about: ClassVar = "Counts what the system returned, judged or not."
    user: ClassVar = "An experimenter asks how many documents the system returned."
    ignores: ClassVar = "Ignores ranks, and judgments unless rel is given."
    nothing_found: ClassVar = "the number of documents retrieved"
    parameters: ClassVar = {"rel": REL}

    @property
    def is_binary(self) -> bool:
        return self.rel is not None

    @property
    def shown_formula(self) -> str:
        if self.rel is None:
            return self.formula
        return rf"|\{{\, d \in \mathrm{{retrieved}} : \mathrm{{grade}}_d \ge {self.rel:g} \,\}}|"

    def with_defaults(self, **defaults: Any) -> Self:
        return self  # without rel it counts all: a default must not reach it

    def per_query(self, judged: JudgedRun) -> Floats:
        if self.rel is None:
            return judged.retrieved.astype(np.float64)
        return judged.count(judged.grade >= self.rel)

    def terms(self, judged: JudgedRun) -> Floats:
        return np.ones(len(judged.rank)) if self.rel is None else (judged.grade >= self.rel).astype(np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"counted so far": judged.count_running(self.terms(judged) > 0)}


class NumRel(_Count):
    """How many documents are judged relevant."""

    rel: float | None = None

    name: ClassVar = "NumRel"
    title: ClassVar = "Documents relevant"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = r"R"
    weighting: ClassVar = "none: it does not look at the ranking"
    about: ClassVar = "Counts the relevant documents in the qrels, retrieved or not."
    user: ClassVar = "An experimenter asks how many relevant documents there are to find."
    ignores: ClassVar = "Ignores the run, and degrees of relevance."
    nothing_found: ClassVar = "the number of relevant documents"
    parameters: ClassVar = {"rel": REL}

    def per_query(self, judged: JudgedRun) -> Floats:
        return judged.count_relevant(self.lowest_relevant)

    def terms(self, judged: JudgedRun) -> Floats:
        return (judged.grade >= self.lowest_relevant).astype(np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"relevant so far": judged.count_running(self.terms(judged) > 0)}

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """The relevant documents that were not retrieved."""
        missed = judged.count_relevant(self.lowest_relevant)[0] - judged.count(judged.grade >= self.lowest_relevant)[0]
        return [{"what": "relevant, but not retrieved", "term": float(missed)}]


class NumRelRet(_Count):
    """How many relevant documents were retrieved."""

    rel: float | None = None

    name: ClassVar = "NumRelRet"
    title: ClassVar = "Relevant documents retrieved"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = r"|\mathrm{relevant} \cap \mathrm{retrieved}|"
    weighting: ClassVar = "1 for every rank"
    about: ClassVar = "Counts the relevant documents anywhere in the ranking."
    user: ClassVar = "An experimenter asks how many relevant documents were found at all."
    ignores: ClassVar = (
        "Ignores ranks, degrees of relevance, how many relevant documents there are, and what else was retrieved."
    )
    parameters: ClassVar = {"rel": REL}

    def terms(self, judged: JudgedRun) -> Floats:
        return (judged.grade >= self.lowest_relevant).astype(np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"relevant so far": judged.count_running(self.terms(judged) > 0)}


class NumNonrelJudgedRet(_Count):
    """How many documents were retrieved that are judged, but not relevant."""

    rel: float | None = None

    name: ClassVar = "NumNonrelJudgedRet"
    title: ClassVar = "Judged non-relevant documents retrieved"
    formula: ClassVar = r"|\mathrm{judged\ not\ relevant} \cap \mathrm{retrieved}|"
    weighting: ClassVar = "1 for every rank"
    reference: ClassVar = _TREC_EVAL
    about: ClassVar = (
        "Counts what an assessor looked at and refused. Documents without a judgment, or with a negative grade, are "
        "not counted."
    )
    user: ClassVar = "An experimenter asks how many documents were retrieved that an assessor has refused."
    ignores: ClassVar = "Ignores ranks, relevant documents and documents without a judgment."
    parameters: ClassVar = {"rel": REL}
    nothing_found: ClassVar = "the number of judged documents retrieved"

    def terms(self, judged: JudgedRun) -> Floats:
        return ((judged.grade >= 0) & (judged.grade < self.lowest_relevant)).astype(np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"refused so far": judged.count_running(self.terms(judged) > 0)}
