"""Measures that only trec_eval has, or has in a way of its own: relative_P, Rprec_mult, yaap, rbp, gm_map, …"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from cranfield.base import Parameter
from cranfield.data import Floats
from cranfield.errors import EvaluationError
from cranfield.joining import JudgedRun, share
from cranfield.measures.base import Measure
from cranfield.measures.binary import AP, P, Rprec
from cranfield.measures.graded import Gained
from cranfield.measures.incomplete import Bpref
from cranfield.measures.parameters import REL

_TREC = "Buckley & Voorhees, Retrieval system evaluation, in TREC: Experiment and Evaluation, 2005"
_ROBERTSON = "Robertson, On GMAP: and other transformations, CIKM 2006"
MOST_LEVELS = 10_000_000
_MOFFAT = "Moffat & Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 27, 2008"
MULTIPLE = Parameter("how many times R documents are read", low=0, high=1e9, examples=(1, 0.2, 0.35, 2), symbol="x")
PERSISTENCE = Parameter("the chance to go on to the next document", low=0, high=1, examples=(0.8, 0.5, 0))


class RelativeP(P):
    """The share of the first k documents that is relevant, of the highest share there could be."""

    name: ClassVar = "RelativeP"
    aliases: ClassVar = ("R_cap",)
    title: ClassVar = "Relative precision at k (capped recall)"
    grades_help: ClassVar[bool] = False
    normaliser_is: ClassVar[str] = "relevant documents that fit, min(R, k)"
    formula: ClassVar = r"\frac{1}{\min(k, R)} \sum_{i=1}^{k} \mathrm{rel}_i"
    weighting: ClassVar[str] = "1/min(k, R) down to rank k, 0 below; R is the number of relevant documents of the query"
    about: ClassVar = (
        "A user reads k documents and asks how many of those that could have been relevant are: precision where "
        "k < R, recall where k > R. BEIR calls it R_cap."
    )
    user: ClassVar = "A user reads k documents and asks how many of those that could have been relevant are."
    ignores: ClassVar = (
        "Ignores the order within the first k, everything below, degrees of relevance, and by how many there are "
        "more than k relevant documents."
    )
    lacks: ClassVar = {}

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.minimum(judged.count_relevant(self.lowest_relevant), float(self.cutoff or 1))

    def expected(self, judged: JudgedRun) -> Floats:
        return share(self.expected_found(judged, self.cutoff), self.normaliser(judged))

    def rank_weights(self, n: int) -> Floats | None:
        return None  # R has a say


class RprecMult(Rprec):
    """The precision after some multiple of R documents, R being the number of relevant documents."""

    multiple: float | None = None

    name: ClassVar = "RprecMult"
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar = "Precision at a multiple of R"
    normaliser_is: ClassVar[str] = "documents read, k"
    formula: ClassVar = r"P@k,\quad k = \lfloor x R + 0.9 \rfloor"
    weighting: ClassVar = "1/k down to rank k = ⌊xR + 0.9⌋, 0 below; R is the number of relevant documents"
    about: ClassVar = (
        "A user reads in proportion to what there is to find. RprecMult@1 is R-precision; the number of documents is "
        "⌊xR + 0.9⌋, as in trec_eval."
    )
    user: ClassVar = (
        "A user reads a multiple of as many documents as there are relevant ones and counts those that are."
    )
    ignores: ClassVar = "Ignores the order within the documents read, everything below, and degrees of relevance."
    required: ClassVar = ("multiple",)
    at: ClassVar = "multiple"
    parameters: ClassVar = {**Rprec.parameters, "multiple": MULTIPLE}

    def normaliser(self, judged: JudgedRun) -> Floats:
        documents: Floats = np.floor((self.multiple or 0.0) * judged.count_relevant(self.lowest_relevant) + 0.9)
        return documents

    def expected(self, judged: JudgedRun) -> Floats:
        documents = self.normaliser(judged)
        return share(self.expected_found(judged, documents[judged.query]), documents)


class YAAP(Measure):
    """The sum of precisions at relevant documents against what is missing to the best, as a logarithm."""

    rel: float | None = None

    name: ClassVar = "YAAP"
    title: ClassVar = "Yet another average precision"
    formula: ClassVar = r"\ln \frac{1 + s}{1 + R - s},\quad s = \sum_i \mathrm{rel}_i \cdot P@i"
    weighting: ClassVar = "depends on the ranking: in s a relevant document at rank i weighs P@i"
    about: ClassVar = (
        "AP stretched at both ends, so getting from .01 to .02 counts as much as from .98 to .99; about a "
        "normal distribution over queries. 0 where AP is one half or nothing is relevant."
    )
    user: ClassVar = (
        "A user looks for a random relevant document and reads down to it, and an experimenter wants values spread "
        "about normally over queries."
    )
    ignores: ClassVar = "Ignores degrees of relevance, and everything below the last relevant document."
    reference: ClassVar = _ROBERTSON
    low: ClassVar = -np.inf
    high: ClassVar = np.inf
    nothing_found: ClassVar = "−ln(1 + R)"
    normaliser_is: ClassVar[str] = "relevant documents, R"
    rule: ClassVar = "log((1 + sum) / (1 + normaliser - sum))"
    tasks: ClassVar = ("recall",)
    parameters: ClassVar = {"rel": REL}
    lacks: ClassVar = {
        "empty": "It is a logarithm: the worst value is −ln(1 + R), not 0.",
        "range": "A logarithm has no bounds.",
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        found, relevant = judged.total(self.terms(judged)), self.normaliser(judged)
        stretched: Floats = np.log((1 + found) / (1 + relevant - found))
        return stretched

    def terms(self, judged: JudgedRun) -> Floats:
        return AP(rel=self.rel).terms(judged)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.count_relevant(self.lowest_relevant)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return AP(rel=self.rel).columns(judged)


class GMAP(AP):
    """Average precision, averaged over queries by the geometric mean."""

    name: ClassVar = "GMAP"
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar = "Geometric mean average precision"
    formula: ClassVar = r"\exp \left( \frac{1}{|Q|} \sum_{q} \ln \max(\mathrm{AP}_q, 0.00001) \right)"
    weighting: ClassVar = f"{AP.weighting}; the mean over queries is geometric"
    about: ClassVar = (
        "AP for a user who must not be left without anything: a gain of a tenth counts the same for a hard query as "
        "for an easy one. For one query it is AP."
    )
    user: ClassVar = (
        "A user looks for a random relevant document, reads down to it, and must not be left without anything for "
        "any query."
    )
    ignores: ClassVar = (
        "Ignores degrees of relevance, everything below the last relevant document or the cutoff, and differences "
        "below 0.00001."
    )
    reference: ClassVar = _ROBERTSON
    aggregate: ClassVar = "geometric"


class GMBpref(Bpref):
    """Bpref, averaged over queries by the geometric mean."""

    name: ClassVar = "GMBpref"
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar = "Geometric mean binary preference"
    formula: ClassVar = r"\exp \left( \frac{1}{|Q|} \sum_{q} \ln \max(\mathrm{Bpref}_q, 0.00001) \right)"
    weighting: ClassVar = f"{Bpref.weighting}; the mean over queries is geometric"
    about: ClassVar = (
        "Bpref for a user who must not be left without anything: a gain of a tenth counts the same for a hard query "
        "as for an easy one. For one query it is Bpref."
    )
    user: ClassVar = (
        "A user minds refused documents above a random relevant one, and must not be left without anything for any "
        "query."
    )
    ignores: ClassVar = (
        "Ignores documents without a judgment, the judged non-relevant ones after the first R, degrees of relevance, "
        "and differences below 0.00001."
    )
    reference: ClassVar = _ROBERTSON
    aggregate: ClassVar = "geometric"

    @property
    def shown_formula(self) -> str:
        return Bpref.formula


class TrecRBP(Gained):
    """Rank-biased precision as trec_eval 10 has it: gains are brought to 0…1 query by query."""

    p: float = 0.9

    name: ClassVar = "TrecRBP"
    title: ClassVar = "Rank-biased precision of trec_eval 10"
    formula: ClassVar = r"(1 - p) \sum_i g_i\, p^{i-1}"
    weighting: ClassVar = "(1 − p)·p^(i−1)"
    lowest_of_negative_gains: ClassVar = 0.0  # gains are brought to 0…1
    about: ClassVar = (
        "A user goes on to the next document with chance p. Where a gain is below 0 or above 1 all gains of the query "
        "become (g − min)/(max − min), over the grades from 0 to its highest: the same grade is worth less in a query "
        "that has better documents. RBP takes relevant or not, or one maximum for all queries."
    )
    user: ClassVar = (
        "A user reads the first document and goes on from each to the next with chance p, whatever was found."
    )
    ignores: ClassVar = (
        "Ignores how many relevant documents there are, and how good the best documents of other queries are."
    )
    reference: ClassVar = _MOFFAT
    parameters: ClassVar = {**Gained.parameters, "p": PERSISTENCE}
    lacks: ClassVar = {"perfect": "A user may go on for ever, so no finite list is worth 1."}

    def terms(self, judged: JudgedRun) -> Floats:
        return (1 - self.p) * self._scaled(judged) * self.p ** (judged.rank - 1.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"gain": self._scaled(judged), "chance to get here": self.p ** (judged.rank - 1.0)}

    def rank_weights(self, n: int) -> Floats | None:
        return np.asarray((1 - self.p) * self.p ** np.arange(float(n)), dtype=np.float64)

    def _scaled(self, judged: JudgedRun) -> Floats:
        """The gains of the hits, brought to 0…1 in a query where some grade is worth more or less."""
        grades, gains = judged.grade, self.gains(judged.grade)
        low, high = (worth[judged.query] for worth in self._worth(judged))
        has_a_gain = (grades >= 0) | np.isin(grades, list(self.gain) if isinstance(self.gain, Mapping) else [])
        scaled = np.where(has_a_gain, share(gains - low, high - low), 0.0)
        return np.where((low >= 0) & (high <= 1), gains, scaled)

    def _worth(self, judged: JudgedRun) -> tuple[Floats, Floats]:
        """What the grades of each query are worth at least and at most: those from 0 to its highest, and all mapped."""
        known, query = judged.ideal, judged.ideal_query
        highest = np.zeros(judged.n)
        np.maximum.at(highest, query, known)
        if highest.max(initial=0.0) > MOST_LEVELS:
            raise EvaluationError(
                f"{self} goes through all whole grades up to the highest, which is {highest.max():g}. Map grades to "
                "smaller ones (gain={grade:gain}), or take RBP."
            )
        levels = self.gains(np.arange(highest.max(initial=0.0) + 1))
        mapped = list(self.gain.values()) if isinstance(self.gain, Mapping) else []
        found = []
        for best in np.minimum, np.maximum:
            worth = best.reduce(mapped, initial=levels[0])
            worth = best(best.accumulate(levels)[np.ceil(highest).astype(np.int64)], worth)
            best.at(worth, query[known >= 0], self.gains(known[known >= 0]))
            found.append(worth)
        return found[0], found[1]


class TrecRBPResidual(Measure):
    """How much higher rank-biased precision could be if all that is unjudged were relevant, as trec_eval 10 has it."""

    p: float = 0.9

    name: ClassVar = "TrecRBPResidual"
    title: ClassVar = "Residual of rank-biased precision of trec_eval 10"
    formula: ClassVar = r"p^n + (1 - p) \sum_{i\,\mathrm{unjudged}} p^{i-1}"
    weighting: ClassVar = "(1 − p)·p^(i−1) for an unjudged document at rank i"
    about: ClassVar = (
        "The weight of unjudged documents in the list, and of all documents after its end (n long). trec_eval forgets "
        "the latter, and gives 0, where every document retrieved is judged."
    )
    user: ClassVar = "An experimenter asks how much higher RBP could be if everything unjudged were relevant."
    ignores: ClassVar = (
        "Ignores how relevant the judged documents are, and what comes after the list where all of it is judged."
    )
    reference: ClassVar = _MOFFAT
    more_is_better: ClassVar = False
    is_quality: ClassVar = False
    nothing_found: ClassVar = "the weight of unjudged documents; 0 for an empty list"
    parameters: ClassVar = {"p": PERSISTENCE}
    tasks: ClassVar = ("incomplete",)

    def per_query(self, judged: JudgedRun) -> Floats:
        # all ranks weigh 1 together, so those judged are what is not left
        known = judged.total(np.where(judged.grade >= 0, self._weight(judged), 0.0))
        return np.where(self._has_unjudged(judged), 1 - known, 0.0)

    def terms(self, judged: JudgedRun) -> Floats:
        """The weight of each unjudged document; only a dense join has them all."""
        return np.where(judged.grade >= 0, 0.0, self._weight(judged))

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"unjudged so far": judged.count_running(~(judged.grade >= 0)), "weight": self._weight(judged)}

    def rank_weights(self, n: int) -> Floats | None:
        return np.asarray((1 - self.p) * self.p ** np.arange(float(n)), dtype=np.float64)

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        after = self.p ** float(judged.retrieved[0]) if self._has_unjudged(judged)[0] else 0.0
        return [{"what": "all ranks after the end of the list", "term": after}]

    def _weight(self, judged: JudgedRun) -> Floats:
        return np.asarray((1 - self.p) * self.p ** (judged.rank - 1.0), dtype=np.float64)

    def _has_unjudged(self, judged: JudgedRun) -> Any:
        return judged.count(judged.grade >= 0) < judged.retrieved
