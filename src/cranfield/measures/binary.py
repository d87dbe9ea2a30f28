"""Measures of a ranking with documents relevant or not: P@k, R@k, Success, AP, RR, interpolated precision, …"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from cranfield.base import Parameter
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.joining import JudgedRun, accumulate_within, share
from cranfield.measures.base import Measure
from cranfield.measures.parameters import CUTOFF, MANY, REL
from cranfield.measures.ties import first_places, group_terms, none_in_top, precision_sum, relevant_groups

_TREC = "Buckley & Voorhees, Retrieval system evaluation, in TREC: Experiment and Evaluation, 2005"
_MANNING = "Manning, Raghavan & Schütze, Introduction to Information Retrieval, 2008, ch. 8"
Rounding = Literal["exact", "trec_eval-9", "trec_eval-10"]
_ROUNDING = Parameter(
    "how many relevant documents a recall point needs: ⌈rR⌉, as trec_eval 9 ⌊rR + 0.9⌋, as trec_eval 10 rR rounded",
    choices=("exact", "trec_eval-9", "trec_eval-10"),
)


class _Ranked(Measure):
    """A measure of a ranking that knows relevant and not relevant."""

    rel: float | None = None

    parameters: ClassVar = {"rel": REL}

    def hits(self, judged: JudgedRun) -> Bools:
        """Which hits are relevant."""
        return judged.grade >= self.lowest_relevant

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        so_far = judged.count_running(self.hits(judged))
        relevant = judged.count_relevant(self.lowest_relevant)[judged.query]
        return {"relevant so far": so_far, "P@i": so_far / judged.rank, "R@i": share(so_far, relevant)}

    def expected_found(self, judged: JudgedRun, cutoff: Any) -> Floats:
        """How many relevant documents to expect within a cutoff, one for all or one per hit."""
        return judged.total(self.chances_inside(judged, cutoff))

    def chances_inside(self, judged: JudgedRun, cutoff: Any) -> Floats:
        """For each relevant hit the chance to be within the cutoff; 0 for the others."""
        last = judged.tie_first + judged.tie_size - 1
        inside: Floats = np.clip(np.minimum(last, cutoff) - judged.tie_first + 1, 0, None) / judged.tie_size
        return np.where(self.hits(judged), inside, 0.0)


class _Cut(_Ranked):
    """A measure of the first k documents of a ranking."""

    cutoff: int | None = None

    parameters: ClassVar = {"cutoff": CUTOFF, **_Ranked.parameters}

    def top(self, judged: JudgedRun) -> Bools:
        """Which hits are relevant and within the cutoff."""
        hits = self.hits(judged)
        return hits if self.cutoff is None or self.cutoff >= judged.depth else hits & (judged.rank <= self.cutoff)


class P(_Cut):
    """The share of the first k documents that is relevant."""

    name: ClassVar = "P"
    aliases: ClassVar = ("Precision",)
    title: ClassVar = "Precision at k"
    grades_help: ClassVar[bool] = True
    normaliser_is: ClassVar[str] = "documents read, k"
    formula: ClassVar = r"\frac{1}{k} \sum_{i=1}^{k} \mathrm{rel}_i"
    weighting: ClassVar[str] = "1/k down to rank k, 0 below"
    about: ClassVar = (
        "A user reads exactly k documents, in whatever order. A list shorter than k counts as filled up with "
        "non-relevant documents. Ignores how many relevant documents there are."
    )
    user: ClassVar = "A user reads k documents and counts the relevant ones."
    ignores: ClassVar = (
        "Ignores the order within the first k, everything below, degrees of relevance and how many relevant "
        "documents there are."
    )
    reference: ClassVar = _TREC
    lacks: ClassVar = {"perfect": "A user who reads more documents than are relevant cannot find only relevant ones."}
    required: ClassVar = ("cutoff",)
    tasks: ClassVar = ("web",)

    def terms(self, judged: JudgedRun) -> Floats:
        return self.top(judged).astype(np.float64)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.full(judged.n, float(self.cutoff or 1))

    def expected(self, judged: JudgedRun) -> Floats:
        return self.expected_found(judged, self.cutoff) / float(self.cutoff or 1)

    def expected_terms(self, judged: JudgedRun) -> Floats | None:
        return self.chances_inside(judged, self.cutoff)

    def rank_weights(self, n: int) -> Floats | None:
        return np.where(np.arange(n) < (self.cutoff or 1), 1 / (self.cutoff or 1), 0.0)


class R(_Cut):
    """The share of the relevant documents that is among the first k."""

    name: ClassVar = "R"
    aliases: ClassVar = ("Recall",)
    title: ClassVar = "Recall at k"
    normaliser_is: ClassVar[str] = "relevant documents, R"
    formula: ClassVar = r"\frac{1}{R} \sum_{i=1}^{k} \mathrm{rel}_i"
    weighting: ClassVar = "1/R down to rank k, 0 below; R is the number of relevant documents of the query"
    about: ClassVar = (
        "A user, or a reranker, takes k documents and must not miss a relevant one. Cannot reach 1 where more than "
        "k documents are relevant."
    )
    user: ClassVar = "A user reads k documents and must not miss a relevant one."
    ignores: ClassVar = "Ignores the order within the first k, everything below, and degrees of relevance."
    reference: ClassVar = _TREC
    lacks: ClassVar = {"perfect": "Fewer documents may be read than are relevant."}
    required: ClassVar = ("cutoff",)
    tasks: ClassVar = ("recall", "rag")

    def terms(self, judged: JudgedRun) -> Floats:
        return self.top(judged).astype(np.float64)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.count_relevant(self.lowest_relevant)

    def expected(self, judged: JudgedRun) -> Floats:
        return share(self.expected_found(judged, self.cutoff), judged.count_relevant(self.lowest_relevant))

    def expected_terms(self, judged: JudgedRun) -> Floats | None:
        return self.chances_inside(judged, self.cutoff)


class Success(_Cut):
    """1 if there is a relevant document among the first k, else 0."""

    name: ClassVar = "Success"
    title: ClassVar = "Success at k"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = r"\left[\, \sum_{i=1}^{k} \mathrm{rel}_i > 0 \,\right]"
    weighting: ClassVar = (
        "depends on the ranking: 1 for the first relevant document if it is within k, 0 for all others"
    )
    about: ClassVar = "A user is content with one relevant document on the first page. Also called hit rate."
    user: ClassVar = "A user reads k documents and is content with one relevant document."
    ignores: ClassVar = (
        "Ignores where in the first k it stands, all further relevant documents, everything below, degrees of "
        "relevance and how many relevant documents there are."
    )
    reference: ClassVar = _TREC
    required: ClassVar = ("cutoff",)
    tasks: ClassVar = ("known-item", "rag")

    def terms(self, judged: JudgedRun) -> Floats:
        top = self.top(judged)
        first: Bools = top & (judged.count_running(top) == 1)
        return first.astype(np.float64)

    def expected(self, judged: JudgedRun) -> Floats:
        cutoff = self.cutoff or 1
        groups = relevant_groups(judged, self.hits(judged))
        value = np.zeros(judged.n)
        for query, first, size, relevant in zip(groups.query, groups.first, groups.size, groups.relevant, strict=True):
            places = min(cutoff - first + 1, size)
            if places > 0:
                # groups come in rank order: a later one matters only if the earlier ones fail
                value[query] = 1 - (1 - value[query]) * none_in_top(int(size), int(relevant), int(places))
        return value


class AP(_Cut):
    """The mean, over the relevant documents, of the precision at the rank of each."""

    denominator: Literal["R", "min(R,k)"] = "R"
    ties: Literal["group"] | None = None

    name: ClassVar = "AP"
    aliases: ClassVar[tuple[str, ...]] = ("MAP",)
    title: ClassVar = "Average precision"
    normaliser_is: ClassVar[str] = "relevant documents, R"
    formula: ClassVar = r"\frac{1}{R} \sum_{i=1}^{k} \mathrm{rel}_i \cdot P@i"
    weighting: ClassVar[str] = (
        "depends on the ranking: a relevant document at rank i weighs P@i/R, and so the more the more relevant ones "
        "stand above it"
    )
    about: ClassVar = (
        "A user looks for a random relevant document and reads down to it. Rewards finding all of them, early ones "
        "most. With a cutoff the sum is divided by R, or by min(R, k) with denominator='min(R,k)'. With "
        "ties='group' documents of equal score are one step, as in scikit-learn."
    )
    user: ClassVar = (
        "A user looks for a random relevant document, reads down to it and counts how many of those read are relevant."
    )
    ignores: ClassVar = "Ignores degrees of relevance, and everything below the last relevant document or the cutoff."
    reference: ClassVar = _TREC
    tasks: ClassVar = ("recall",)
    parameters: ClassVar = {
        **_Cut.parameters,
        "denominator": Parameter("what the sum is divided by", choices=("R", "min(R,k)")),
        "ties": Parameter("take documents of equal score as one step", choices=("group",)),
    }

    @property
    def shown_formula(self) -> str:
        whole = r"\min(R, k)" if self._is_capped else "R"
        terms = rf"\frac{{1}}{{{whole}}} \sum_{{i=1}}^{{k}} \mathrm{{rel}}_i \cdot P@"
        if self.ties is None:
            return terms + "i"
        return terms + r"\ell_i,\quad \ell_i = \text{the last rank with the score of rank } i"

    @property
    def shown_normaliser(self) -> str:
        return "relevant documents that fit, min(R, k)" if self._is_capped else "relevant documents, R"

    @property
    def shown_weighting(self) -> str:
        at = "i" if self.ties is None else "l"
        whole = "min(R, k)" if self._is_capped else "R"
        text = re.sub(r"P@i/(min\(R, k\)|R)", f"P@{at}/{whole}", self.weighting)
        return text if self.ties is None else f"{text}; l is the last rank with the score of rank i"

    @property
    def _is_capped(self) -> bool:
        return self.denominator != "R" and self.cutoff is not None

    def terms(self, judged: JudgedRun) -> Floats:
        if self.ties == "group":
            return group_terms(judged, self.hits(judged), self.cutoff)
        top = self.top(judged)
        # several times as fast as np.where, which guesses what comes next
        terms: Floats = judged.count_running(top) / judged.rank * top
        return terms

    def normaliser(self, judged: JudgedRun) -> Floats:
        relevant = judged.count_relevant(self.lowest_relevant)
        return np.minimum(relevant, self.cutoff or MANY) if self._is_capped else relevant

    def expected(self, judged: JudgedRun) -> Floats:
        if self.ties == "group":
            return self.per_query(judged)
        groups = relevant_groups(judged, self.hits(judged))
        sums = groups.total(precision_sum(groups, self.cutoff), judged.n)
        return share(sums, self.normaliser(judged))


class RR(_Cut):
    """One divided by the rank of the first relevant document."""

    name: ClassVar = "RR"
    aliases: ClassVar = ("MRR",)
    title: ClassVar = "Reciprocal rank"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = r"\frac{1}{\min \{\, i \le k : \mathrm{rel}_i = 1 \,\}}"
    weighting: ClassVar = "depends on the ranking: 1/i for the first relevant document, at rank i, 0 for all others"
    about: ClassVar = (
        "A user wants one document and stops there; each rank costs more than the next. Ignores everything after "
        "the first relevant document."
    )
    user: ClassVar = "A user reads down to the first relevant document and stops there."
    ignores: ClassVar = (
        "Ignores everything after the first relevant document, degrees of relevance and how many relevant documents "
        "there are."
    )
    reference: ClassVar = "Voorhees, The TREC-8 question answering track report, 1999"
    tasks: ClassVar = ("known-item", "rag")

    def terms(self, judged: JudgedRun) -> Floats:
        top = self.top(judged)
        first = np.flatnonzero(top & (judged.count_running(top) == 1))
        terms = np.zeros(len(top))
        terms[first] = 1 / judged.rank[first]
        return terms

    def expected(self, judged: JudgedRun) -> Floats:
        groups = relevant_groups(judged, self.hits(judged))
        value = np.zeros(judged.n)
        for g in np.flatnonzero(groups.above == 0):
            chances = first_places(int(groups.size[g]), int(groups.relevant[g]))
            rank = groups.first[g] + np.arange(len(chances))
            inside = rank <= (self.cutoff if self.cutoff is not None else rank)
            value[groups.query[g]] = np.sum(np.where(inside, chances / rank, 0.0))
        return value


class Rprec(_Ranked):
    """The precision at rank R, R being the number of relevant documents."""

    name: ClassVar = "Rprec"
    aliases: ClassVar[tuple[str, ...]] = ("RPrec",)
    title: ClassVar = "R-precision"
    normaliser_is: ClassVar[str] = "relevant documents, R"
    formula: ClassVar = r"\frac{1}{R} \sum_{i=1}^{R} \mathrm{rel}_i"
    weighting: ClassVar[str] = "1/R down to rank R, 0 below; R is the number of relevant documents of the query"
    about: ClassVar = "A user reads as many documents as there are relevant ones: there precision equals recall."
    user: ClassVar = "A user reads as many documents as there are relevant ones and counts those that are."
    ignores: ClassVar = "Ignores the order within the first R, everything below, and degrees of relevance."
    reference: ClassVar = _TREC
    tasks: ClassVar = ("recall",)

    def terms(self, judged: JudgedRun) -> Floats:
        return (self.hits(judged) & (judged.rank <= self.normaliser(judged)[judged.query])).astype(np.float64)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.count_relevant(self.lowest_relevant)

    def expected(self, judged: JudgedRun) -> Floats:
        relevant = judged.count_relevant(self.lowest_relevant)
        return share(self.expected_found(judged, relevant[judged.query]), relevant)

    def expected_terms(self, judged: JudgedRun) -> Floats | None:
        return self.chances_inside(judged, self.normaliser(judged)[judged.query])


class Breakeven(Rprec):
    """The point of the ranking where precision and recall are equal."""

    name: ClassVar = "Breakeven"
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar = "Breakeven point"
    formula: ClassVar = r"P@i = R@i \text{ at } i = R"
    about: ClassVar = (
        "Precision is found/i and recall found/R, so the two are equal at rank R and (unless both are 0) nowhere "
        "else: the value is that of Rprec."
    )
    user: ClassVar = "A user reads down to the rank where precision and recall are equal, which is R."
    ignores: ClassVar = "Ignores the order within the first R, everything below, and degrees of relevance."
    reference: ClassVar = "van Rijsbergen, Information Retrieval, 2nd ed., 1979"


class SearchLength(_Ranked):
    """How many non-relevant documents come before the relevant one (or the n-th) that is wanted; less is better."""

    wanted: int = 1

    name: ClassVar = "SearchLength"
    title: ClassVar = "Search length"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = (
        r"|\{\, j < i : \mathrm{rel}_j = 0 \,\}|,\quad i = \text{rank of the } n\text{-th relevant document}"
    )
    weighting: ClassVar = (
        "depends on the ranking: 1 for each non-relevant document before the n-th relevant one, 0 for all others"
    )
    about: ClassVar = (
        "How much a user reads in vain before the wanted number of relevant documents is found. Where the list ends "
        "before, all its non-relevant documents were read in vain: a lower bound."
    )
    user: ClassVar = (
        "A user reads until the wanted number of relevant documents is found and counts what was read in vain."
    )
    ignores: ClassVar = (
        "Ignores everything after the last wanted document, degrees of relevance and how many relevant documents "
        "there are."
    )
    reference: ClassVar = "Cooper, Expected search length, American Documentation 19, 1968"
    high: ClassVar = np.inf
    more_is_better: ClassVar = False
    nothing_found: ClassVar = "the number of documents retrieved"
    tasks: ClassVar = ("known-item",)
    parameters: ClassVar = {
        **_Ranked.parameters,
        "wanted": Parameter("how many relevant documents the user wants", low=1, high=MANY, whole=True, symbol="n"),
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        hits = self.hits(judged)
        at = hits & (judged.count_running(hits) == self.wanted)
        return self._or_all(judged, judged.total(np.where(at, judged.rank - self.wanted, 0)))

    def expected(self, judged: JudgedRun) -> Floats:
        groups = relevant_groups(judged, self.hits(judged))
        inside = (groups.above < self.wanted) & (self.wanted <= groups.above + groups.relevant)
        before = groups.first - 1 - groups.above
        # r relevant documents part the group's others into r + 1 stretches of equal expected length
        within = (self.wanted - groups.above) * (groups.size - groups.relevant) / (groups.relevant + 1)
        lengths = np.where(inside, before + within, 0.0)
        return self._or_all(judged, groups.total(lengths, judged.n))

    def terms(self, judged: JudgedRun) -> Floats:
        """One for each document read in vain; only a dense join has them all."""
        hits = self.hits(judged)
        return (~hits & (judged.count_running(hits) < self.wanted)).astype(np.float64)

    def _or_all(self, judged: JudgedRun, length: Floats) -> Floats:
        """The length, or all non-relevant documents where too few relevant ones were found."""
        found = judged.count(self.hits(judged))
        return np.where(found >= self.wanted, length, judged.retrieved - found)


class IPrec(_Ranked):
    """The best precision at any recall of at least the given one."""

    recall: float | None = None
    rounding: Rounding = "exact"

    name: ClassVar = "IPrec"
    title: ClassVar = "Interpolated precision at a recall point"
    formula: ClassVar = r"\max_{i\,:\; R@i \,\ge\, r} P@i"
    weighting: ClassVar = (
        "depends on the ranking: 1/i for each relevant document down to the rank i where precision is best from the "
        "recall point on, 0 below"
    )
    about: ClassVar = (
        "A user reads on while precision gets better. The recall point is taken as the decimal number it is written "
        "as, so 0.1 of 10 relevant documents is 1 document; trec_eval rounds: version 9 needs ⌊rR + 0.9⌋ "
        "documents, version 10 the whole number nearest to rR."
    )
    user: ClassVar = "A user reads until the given recall is reached, and on for as long as precision can get better."
    ignores: ClassVar = (
        "Ignores precision before the recall point, all but the best precision after it, and degrees of relevance."
    )
    reference: ClassVar = _MANNING
    required: ClassVar = ("recall",)
    at: ClassVar = "recall"
    tasks: ClassVar = ("recall",)
    parameters: ClassVar = {
        **_Ranked.parameters,
        "recall": Parameter("the recall point", low=0, high=1, examples=(0.5, 0, 0.1, 0.55, 1), symbol="r"),
        "rounding": _ROUNDING,
    }

    @property
    def shown_formula(self) -> str:
        return _best_precision("r", self.rounding)

    def per_query(self, judged: JudgedRun) -> Floats:
        points = [self.recall or 0.0]
        (precision,) = interpolated(judged, self.hits(judged), self.lowest_relevant, points, self.rounding)
        return np.asarray(precision)

    def terms(self, judged: JudgedRun) -> Floats:
        """The best precision, where it is first reached at sufficient recall; 0 elsewhere."""
        hits = self.hits(judged)
        so_far = judged.count_running(hits)
        relevant = judged.count_relevant(self.lowest_relevant).astype(np.int64)
        needed = _needed(self.recall or 0.0, relevant, self.rounding)[judged.query]
        best = hits & (so_far >= needed) & (so_far / judged.rank == self.per_query(judged)[judged.query])
        return np.where(best & (judged.count_running(best) == 1), so_far / judged.rank, 0.0)


class _Points(Parameter):
    """Recall points: how many, evenly spaced from 0 to 1, or a tuple that lists them."""

    def check(self, name: str, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            point = Parameter("a recall point", low=0, high=1)
            if not value:
                raise CranfieldError(f"{name}: expected at least one recall point.")
            return tuple(point.check(name, one) for one in value)
        return super().check(name, value)


class InterpolatedAP(_Ranked):
    """The mean of the interpolated precision at evenly spaced recall points, 11 unless said otherwise."""

    points: int | tuple[float, ...] = 11
    rounding: Rounding = "exact"

    name: ClassVar = "InterpolatedAP"
    aliases: ClassVar = ("IAP",)
    title: ClassVar = "11-point (n-point) interpolated average precision"
    normaliser_is: ClassVar[str] = "recall points"
    formula: ClassVar = r"\frac{1}{11} \sum_{j=0}^{10} \max_{i\,:\; R@i \,\ge\, j/10} P@i"
    weighting: ClassVar = (
        "depends on the ranking: each recall point gives 1/i to every relevant document down to the rank i where "
        "precision is best from that point on; the value is the mean over the points"
    )
    about: ClassVar = (
        "The area below the precision–recall curve as it is drawn on paper. points=n takes n recall points evenly "
        "spaced from 0 to 1, points=(.25,.5,.75) just these."
    )
    user: ClassVar = (
        "A user wants some recall, each of the points equally likely, and reads on from it for as long as precision "
        "can get better."
    )
    ignores: ClassVar = "Ignores drops of precision that are made good further down, and degrees of relevance."
    reference: ClassVar = _MANNING
    tasks: ClassVar = ("recall",)
    parameters: ClassVar = {
        **_Ranked.parameters,
        "points": _Points(
            "how many recall points, or a tuple of them",
            low=2,
            high=10_001,
            whole=True,
            examples=(3, 101, (0.25, 0.5, 0.75), (0.3,)),
        ),
        "rounding": _ROUNDING,
    }

    @property
    def shown_formula(self) -> str:
        if isinstance(self.points, tuple):
            those = rf"r \in \{{{', '.join(f'{point:g}' for point in self.points)}\}}"
            return rf"\frac{{1}}{{{len(self.points)}}} \sum_{{{those}}} {_best_precision('r', self.rounding)}"
        last = self.points - 1
        best = _best_precision(f"j/{last}", self.rounding)
        return rf"\frac{{1}}{{{self.points}}} \sum_{{j=0}}^{{{last}}} {best}"

    def per_query(self, judged: JudgedRun) -> Floats:
        points = self.recall_points()
        curves = interpolated(judged, self.hits(judged), self.lowest_relevant, points, self.rounding)
        # row by row: for a single query curves.sum(axis=0) adds in another order
        mean: Floats = sum(curves, np.zeros(judged.n)) / len(points)
        return mean

    def terms(self, judged: JudgedRun) -> Floats:
        return np.zeros(len(judged.rank))

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.full(judged.n, float(len(self.recall_points())))

    def query_columns(self, judged: JudgedRun) -> dict[str, Floats]:
        """The curve of each query."""
        points = self.recall_points()
        curves = interpolated(judged, self.hits(judged), self.lowest_relevant, points, self.rounding)
        return {f"recall ≥ {float(point):g}": curve for point, curve in zip(points, curves, strict=True)}

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        points = self.recall_points()
        curve = interpolated(judged, self.hits(judged), self.lowest_relevant, points, self.rounding)[:, 0]
        return [
            {"what": f"best precision at recall ≥ {float(point):g}", "term": float(precision)}
            for point, precision in zip(points, curve, strict=True)
        ]

    def recall_points(self) -> list[float | Fraction]:
        """The recall points, exact."""
        if isinstance(self.points, tuple):
            return list(self.points)
        return [Fraction(j, self.points - 1) for j in range(self.points)]


def _best_precision(point: str, rounding: Rounding) -> str:
    """Interpolated precision at a recall point, as a formula."""
    added = {"trec_eval-9": "0.9", "trec_eval-10": "0.5"}.get(rounding)
    reached = rf"R@i \,\ge\, {point}" if added is None else rf"R \cdot R@i \,\ge\, \lfloor {point} R + {added} \rfloor"
    return rf"\max_{{i\,:\; {reached}}} P@i"


def interpolated(
    judged: JudgedRun, hits: Bools, rel: float, points: Sequence[float | Fraction], rounding: Rounding = "exact"
) -> Floats:
    """Interpolated precision, one row a recall point, one column a query; hits are those graded `rel` at least."""
    relevant = judged.count_relevant(rel).astype(np.int64)
    found = judged.count(hits).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(found)))
    best = judged.cache(("best precision", rel), lambda: _best_from_here(_precision(judged, hits), starts))
    curve = np.zeros((len(points), judged.n))
    for row, point in enumerate(points):
        needed = np.maximum(_needed(point, relevant, rounding), 1)
        has = (needed <= found) & (relevant > 0)
        curve[row, has] = best[starts[:-1][has] + needed[has] - 1]
    return curve


def _precision(judged: JudgedRun, hits: Bools) -> Floats:
    """The precision at each relevant hit."""
    precision: Floats = judged.count_running(hits)[hits] / judged.rank[hits]
    return precision


def _needed(point: float | Fraction, relevant: Ints, rounding: Rounding) -> Ints:
    """How many relevant documents reach a recall point: ⌈r·R⌉ in exact arithmetic, or as trec_eval rounds."""
    if rounding != "exact":
        # (long) (r * R + 0.9), or lround(r * R): halves away from zero; both in doubles
        rounded: Ints = np.floor(float(point) * relevant + (0.9 if rounding == "trec_eval-9" else 0.5)).astype(np.int64)
        return rounded
    # repr gives the decimal number that was written: 0.1 means one tenth
    exact = point if isinstance(point, Fraction) else Fraction(repr(float(point)))
    needed: Ints = -((-relevant * exact.numerator) // exact.denominator)
    return needed


def _best_from_here(precision: Floats, starts: Ints) -> Floats:
    """For each relevant hit the best precision at it or at a later one of its query."""
    return accumulate_within(np.maximum, precision[::-1], (starts[-1] - starts)[::-1])[::-1]


class LRAP(_Ranked):
    """The mean, over the relevant documents, of the share of relevant ones among those scored at least as high."""

    name: ClassVar = "LRAP"
    title: ClassVar = "Label ranking average precision"
    normaliser_is: ClassVar[str] = "relevant documents, R, at least 1"
    weighting: ClassVar = "depends on the ranking: as AP, with each document at the last rank that has its score"
    formula: ClassVar = (
        r"\frac{1}{R} \sum_{d \in \mathrm{rel}} "
        r"\frac{|\{d' \in \mathrm{rel} : s_{d'} \ge s_d\}|}{|\{d' : s_{d'} \ge s_d\}|}"
    )
    about: ClassVar = (
        "As AP, but documents of equal score all count at the last rank of their group, whatever the tie rule, "
        "as in scikit-learn. 1 for a query without relevant documents."
    )
    user: ClassVar = "A user looks for a random relevant document and reads all documents scored at least as high."
    ignores: ClassVar = (
        "Ignores degrees of relevance, everything below the last relevant document, and any order among documents of "
        "equal score."
    )
    reference: ClassVar = "Tsoumakas, Katakis & Vlahavas, Mining multi-label data, 2010"
    nothing_found: ClassVar = "0; 1 where nothing is relevant"
    tasks: ClassVar = ("recall",)

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.where(judged.count_relevant(self.lowest_relevant) == 0, 1.0, super().per_query(judged))

    def terms(self, judged: JudgedRun) -> Floats:
        return group_terms(judged, self.hits(judged), None)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.maximum(judged.count_relevant(self.lowest_relevant), 1.0)

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        nothing = judged.count_relevant(self.lowest_relevant)[0] == 0
        return [{"what": "nothing is relevant", "term": 1.0}] if nothing else []

    def expected(self, judged: JudgedRun) -> Floats:
        return self.per_query(judged)
