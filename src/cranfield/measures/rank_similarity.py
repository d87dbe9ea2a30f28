"""Measures of how alike two runs are, query by query: RBO, tau, AP correlation, overlap. Relevance plays no part."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any, ClassVar, Literal

import numpy as np

from cranfield.base import Parameter, Record, replace
from cranfield.data import Floats
from cranfield.joining import JudgedRun, share
from cranfield.measures.base import Measure
from cranfield.measures.graded import running_sum
from cranfield.measures.list_similarity import (
    VARIANTS,
    Agreements,
    Places,
    Variant,
    agreements,
    expected_agreements,
    kendall_pairs,
    overlap_terms,
    places,
    tau_ap_terms,
)
from cranfield.measures.parameters import CUTOFF

_RELEVANCE = "Likeness to another run, not relevance, is measured."


_SUM = r"(1 - p) \sum_{d=1}^{n} p^{d-1} "
# the formula of each value, and what its symbols are
_RBO: dict[str, tuple[str, ...]] = {
    "ext": (_SUM + "A_d + p^n A_n", r"A_d = \frac{X_d + \max(0, d - s) X_s / s}{D_d}"),
    "min": (
        _SUM + r"a_d + \frac{1-p}{p} X_n \left( \ln \frac{1}{1-p} - \sum_{d=1}^{n} \frac{p^d}{d} \right)",
        r"a_d = \frac{X_d}{D_d}",
    ),
    "max": (
        _SUM + r"A_d + \frac{1-p}{p} \sum_{d=n+1}^{f} \frac{2d - n - s + X_n}{d} p^d + p^f",
        r"A_d = \frac{X_d + U_d}{D_d}",
        r"U_d = \min(d - s, |L_{1..d} \setminus S|) \text{ for } d > s \text{, else } 0",
        "f = n + s - X_n",
    ),
}
# what two lists have in common down to depth d, and what that is divided by; with ties by the share of each document's
# group that is within d: all of it as soon as it begins (w), or as many as the depth lets in (a, b)
_TIED: dict[str | None, tuple[str, ...]] = {
    None: (r"X_d = |S_{1..d} \cap L_{1..d}|", "D_d = d"),
    "w": (r"X_d = |S_{1..d} \cap L_{1..d}| \text{ with whole groups of ties}", r"D_d = (|S_{1..d}| + |L_{1..d}|) / 2"),
    "a": (r"X_d = \sum_x s_x l_x", "D_d = d", r"s_x, l_x = \text{chances of } x \text{ to be within } d"),
    "b": (
        r"X_d = \sum_x s_x l_x",
        r"D_d = \sqrt{\sum_x s_x^2 \sum_x l_x^2}",
        r"s_x, l_x = \text{chances of } x \text{ to be within } d",
    ),
}


class Both(Record):
    """The rankings of one query by the run and by the one it is compared with."""

    own: Places
    other: Places

    def in_common(self) -> tuple[list[int], list[int]]:
        """The positions in each list of the documents that both retrieved, in the order of the run."""
        at = {doc: i for i, doc in enumerate(self.other.items)}
        own = [i for i, doc in enumerate(self.own.items) if doc in at]
        return own, [at[self.own.items[i]] for i in own]


class _Between(Measure):
    """A measure of two rankings of the same query."""

    judgments_matter: ClassVar = False
    needs: ClassVar = ("against",)
    is_quality: ClassVar = False
    nothing_found: ClassVar = "whatever the other run finds: relevance plays no part"
    lacks: ClassVar = {"swap": _RELEVANCE, "perfect": _RELEVANCE}

    def both(self, judged: JudgedRun, expected: bool = False) -> list[Both]:
        """The two rankings of each query, tied where scores are equal if a variant or an expected value asks."""
        against = judged.sources.extras.against
        assert against is not None, "shown_list has checked it"
        other = replace(judged, sources=replace(judged.sources, load_run=lambda: against))
        other_ties = self.has_ties and self.other_may_tie
        return [
            Both(
                whole_list(judged, i, self.judged_only, expected or self.has_ties),
                whole_list(other, i, self.judged_only, expected or other_ties),
            )
            for i in range(judged.n)
        ]

    @property
    def has_ties(self) -> bool:
        return getattr(self, "variant", None) is not None

    @property
    def other_may_tie(self) -> bool:
        return True

    def steps(self, both: Both) -> Floats:
        """What each document of the run adds, before the normaliser."""
        raise AssertionError(f"{type(self).__name__} computes nothing")

    def divisor(self, both: Both) -> float:
        """What the sum is divided by."""
        return 1.0

    def per_query(self, judged: JudgedRun) -> Floats:
        pairs = self.both(judged)
        sums = np.array([math.fsum(self.steps(both)) for both in pairs], dtype=np.float64)
        return share(sums, np.array([self.divisor(both) for both in pairs], dtype=np.float64))

    def terms(self, judged: JudgedRun) -> Floats:
        return np.asarray(self.by_rank(judged, [self.steps(both) for both in self.both(judged)]), dtype=np.float64)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.array([self.divisor(both) for both in self.both(judged)], dtype=np.float64)

    def expected_values(self, judged: JudgedRun) -> Floats:
        return self.expected(self.shown_list(judged))  # whatever repeats another, there is a closed form

    def expected(self, judged: JudgedRun) -> Floats:
        """The mean over all orders of ties, in both runs; a variant takes ties as they are."""
        if self.has_ties:
            return self.per_query(judged)
        means = [self.expected_value(both) for both in self.both(judged, expected=True)]
        return np.array(means, dtype=np.float64)

    def expected_value(self, both: Both) -> float:
        """The same for one query. Linear in what each pair of documents adds, it is the value of the mean steps."""
        divisor = self.divisor(both)
        return math.fsum(self.steps(both)) / divisor if divisor else 0.0

    def by_rank(self, judged: JudgedRun, columns: list[Any]) -> Any:
        """A column of values by rank, from one list a query that begins with those of the ranks."""
        parts = [np.asarray(column)[judged.rank[judged.query == i] - 1] for i, column in enumerate(columns)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def other_ranks(self, judged: JudgedRun) -> list[Any]:
        """For each document of the run, by rank, the rank the other run gives it; None if it does not retrieve it."""
        return list(self.by_rank(judged, [_other_ranks(both) for both in self.both(judged)]))

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"rank there": self.other_ranks(judged)}


def _other_ranks(both: Both) -> Any:
    first = dict(zip(both.other.items, both.other.first.tolist(), strict=True))
    return np.array([first.get(doc) for doc in both.own.items], dtype=object)


class RBO(_Between):
    """How much two rankings overlap at every depth, the first depths most."""

    p: float = 0.9
    value: Literal["ext", "min", "max", "res"] = "ext"
    variant: Variant | None = None

    name: ClassVar = "RBO"
    title: ClassVar = "Rank-biased overlap"
    formula: ClassVar = (
        r"(1 - p) \sum_{d=1}^{n} p^{d-1} A_d + p^n A_n,\quad "
        r"A_d = \frac{X_d + \max(0, d - s) X_s / s}{D_d},\quad X_d = |S_{1..d} \cap L_{1..d}|,\quad D_d = d"
    )
    weighting: ClassVar = "(1 − p)·p^(d−1) for what both have in common down to depth d"
    about: ClassVar = (
        "A user compares two lists from the top and goes on to the next depth with chance p: depth d has weight "
        "(1−p)·p^(d−1). Lists end, so what is beyond is extrapolated (ext), or taken as the worst (min) or best (max) "
        "it could be; res is max − min. Documents of equal score are ordered by the tie rule (expected: the mean over "
        "all orders in both runs), or are ties: sharing a "
        "rank (variant w), in unknown order (a), or so but with full agreement of a list with itself (b). The common "
        "truncated sum, which gives identical lists less than 1, is none of these."
    )
    user: ClassVar = "A user compares two lists from the top and goes on from each depth to the next with chance p."
    ignores: ClassVar = (
        "Ignores judgments altogether, and the order within a depth beyond which documents both lists have there."
    )
    reference: ClassVar = (
        "Webber, Moffat & Zobel, A similarity measure for indefinite rankings, TOIS 28, 2010; "
        "Corsi & Urbano, The treatment of ties in rank-biased overlap, SIGIR 2024"
    )
    parameters: ClassVar = {
        "p": Parameter("the chance to go on to the next depth", low=1e-6, high=1 - 1e-6, examples=(0.8, 0.98)),
        "value": Parameter("extrapolated, lowest, highest, or highest − lowest", choices=("ext", "min", "max", "res")),
        "variant": Parameter("take equal scores as ties, and how", choices=VARIANTS),
    }

    @property
    def shown_formula(self) -> str:
        """S is the shorter list, of s documents, L the longer one, of n."""
        if self.value != "res":
            parts = _RBO[self.value]
        else:
            low, high = (_RBO[value] for value in ("min", "max"))
            named = [rf"\mathrm{{RBO}}_{{\{value}}} = {_RBO[value][0]}" for value in ("min", "max")]
            parts = (r"\mathrm{RBO}_{\max} - \mathrm{RBO}_{\min}", *named, *low[1:], *high[1:])
        return r",\quad ".join([*parts, *_TIED[self.variant]])

    def rank_weights(self, n: int) -> Floats | None:
        weights: Floats = (1 - self.p) * self.p ** np.arange(float(n))
        return weights

    def parts(self, both: Both) -> Agreements:
        return agreements(both.own, both.other, self.p, self.variant or "a")

    def steps(self, both: Both) -> Floats:
        return self.parts(both).terms(self.value)

    def expected_value(self, both: Both) -> float:
        return math.fsum(expected_agreements(both.own, both.other, self.p).terms(self.value))

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        parts = [self.parts(both) for both in self.both(judged)]
        agreement = [self._agreement(part) for part in parts]
        return {
            **super().columns(judged),
            "in common": self.by_rank(judged, [part.overlap for part in parts]),
            "agreement": self.by_rank(judged, agreement),
            "weight": self.by_rank(judged, [part.weights for part in parts]),
        }

    def _agreement(self, parts: Agreements) -> Floats:
        return parts.max - parts.min if self.value == "res" else np.asarray(getattr(parts, self.value))

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """The depths below the run's last document that the other run has, and all beyond."""
        (both,) = self.both(judged)
        parts = self.parts(both)
        terms, agreement = parts.terms(self.value), self._agreement(parts)
        depths = [
            {
                "what": f"depth {d + 1}",
                "in common": float(parts.overlap[d]),
                "agreement": float(agreement[d]),
                "weight": float(parts.weights[d]),
                "term": float(terms[d]),
            }
            for d in range(len(both.own), len(parts.overlap))
        ]
        return [*depths, {"what": "all depths beyond both lists", "term": float(terms[-1])}]


class Tau(_Between):
    """Whether two runs put the documents they share in the same order: 1 the same, −1 the reverse."""

    variant: Literal["a", "b"] | None = None

    name: ClassVar = "Tau"
    aliases: ClassVar = ("KendallTau",)
    title: ClassVar = "Kendall's tau between two runs"
    formula: ClassVar = r"\frac{C - D}{n(n-1)/2},\quad n = |\mathrm{own} \cap \mathrm{other}|"
    weighting: ClassVar = "the same for every rank: each pair of shared documents counts alike"
    about: ClassVar = (
        "Of the documents that both runs retrieve, pairs in the same order (C) minus pairs in the other (D), as a "
        "share of all pairs. Minds every rank alike, and says nothing of documents that only one run has: see RBO and "
        "Overlap. Documents of equal score are ordered by the tie rule, or are ties that count for neither, out of all "
        "pairs (variant a) or of those not tied (b). 0 where there is no pair."
    )
    user: ClassVar = "An experimenter asks whether two runs put the documents that both retrieve in the same order."
    ignores: ClassVar = (
        "Ignores judgments, documents that only one run has, and whether a pair in the wrong order stands at the top "
        "or at the bottom."
    )
    reference: ClassVar = "Kendall, A new measure of rank correlation, Biometrika 30, 1938"
    low: ClassVar = -1.0
    parameters: ClassVar = {"variant": Parameter("take equal scores as ties, and how", choices=("a", "b"))}

    @property
    def shown_formula(self) -> str:
        if self.variant is None:
            return self.formula
        if self.variant == "a":
            return self.formula + r",\quad \text{ties in neither } C \text{ nor } D"
        return (
            r"\frac{C - D}{\sqrt{(N - t_1)(N - t_2)}},\quad N = n(n-1)/2,\quad "
            r"t_1, t_2 = \text{pairs tied in one run and in the other}"
        )

    @property
    def shown_normaliser(self) -> str:
        return "root of the pairs untied in one run times those in the other" if self.variant == "b" else "pairs"

    def steps(self, both: Both) -> Floats:
        own, _ = both.in_common()
        pairs = kendall_pairs(*_scores(both), self.variant or "a")
        return _spread(pairs.concordant - pairs.discordant, own, len(both.own))

    def divisor(self, both: Both) -> float:
        return kendall_pairs(*_scores(both), self.variant or "a").normaliser

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        counts = [(both, kendall_pairs(*_scores(both), self.variant or "a")) for both in self.both(judged)]
        agree = [_spread(pairs.concordant, both.in_common()[0], len(both.own)) for both, pairs in counts]
        differ = [_spread(pairs.discordant, both.in_common()[0], len(both.own)) for both, pairs in counts]
        return {
            **super().columns(judged),
            "rightly above": self.by_rank(judged, agree),
            "wrongly above": self.by_rank(judged, differ),
        }


class TauAP(_Between):
    """Whether two runs put the documents they share in the same order, where the top counts most."""

    variant: Literal["a", "b"] | None = None

    name: ClassVar = "TauAP"
    title: ClassVar = "AP correlation between two runs"
    formula: ClassVar = r"\frac{1}{n-1} \sum_{i=2}^{n} \left( \frac{2\, C(i)}{i-1} - 1 \right)"
    weighting: ClassVar = (
        "a pair with the lower document at rank i of those shared weighs 1/((n − 1)(i − 1)): the higher up, the more"
    )
    about: ClassVar = (
        "The other run is the truth. For each shared document, the share of those above it that the truth puts above "
        "it too, C(i)/(i−1); errors at the top spoil more of these. Not symmetric. Equal scores are ordered by the tie "
        "rule, or are ties: the mean over the run's orders (variant a; the truth is ordered by the tie rule), or a "
        "symmetric correlation with ties in both (b). 0 where it is undefined."
    )
    user: ClassVar = (
        "An experimenter takes the other run as the truth and asks whether the documents above a random shared one "
        "belong there."
    )
    ignores: ClassVar = (
        "Ignores judgments, documents that only one run has, and the order among those above each document."
    )
    reference: ClassVar = (
        "Yilmaz, Aslam & Robertson, A new rank correlation coefficient for information retrieval, SIGIR 2008; "
        "Urbano & Marrero, The treatment of ties in AP correlation, ICTIR 2017"
    )
    low: ClassVar = -1.0
    parameters: ClassVar = {"variant": Parameter("take equal scores as ties, and how", choices=("a", "b"))}

    @property
    def other_may_tie(self) -> bool:
        return self.variant == "b"

    @property
    def shown_formula(self) -> str:
        if self.variant is None:
            return self.formula
        if self.variant == "a":
            return self.formula + r",\quad \text{the mean over the orders of tied documents}"
        one = r"\frac{1}{n_%s} \sum_{i} \left( \frac{2\, C_%s(i)}{a_%s(i)} - 1 \right)"
        both = rf"\frac{{1}}{{2}} \left( {one % (1, 1, 1)} + {one % (2, 2, 2)} \right)"
        return rf"{both},\quad a_r(i) = \text{{documents that run }} r \text{{ has above, ties aside}}"

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        """Of the shared documents above each, how many there are and how many the other run has above it too."""
        columns = super().columns(judged)
        pairs = [(both, *_scores(both)) for both in self.both(judged)]
        right = [kendall_pairs(theirs, own, "a").concordant for _, theirs, own in pairs]
        above = [np.array([np.count_nonzero(own > score) for score in own], dtype=np.float64) for _, _, own in pairs]
        for name, counts in (("shared above", above), ("C(i)", right)):
            spread = [
                _spread(n, both.in_common()[0], len(both.own)) for n, (both, *_) in zip(counts, pairs, strict=True)
            ]
            columns[name] = self.by_rank(judged, spread)
        return columns

    def steps(self, both: Both) -> Floats:
        own, _ = both.in_common()
        terms = tau_ap_terms(*_scores(both), self.variant or "a")
        return _spread(np.zeros(len(own)) if terms is None else terms, own, len(both.own))


class Overlap(_Between):
    """The share of the first k documents that two runs have in common."""

    cutoff: int | None = None

    name: ClassVar = "Overlap"
    title: ClassVar = "Overlap at k of two runs"
    formula: ClassVar = r"\frac{|\mathrm{own}_{1..k} \cap \mathrm{other}_{1..k}|}{k}"
    normaliser_is: ClassVar[str] = "documents compared, at most k"
    weighting: ClassVar = "1/k down to rank k, 0 below; k is the length of the longer list if both are shorter"
    about: ClassVar = (
        "How many documents a user who reads the first k of one run has seen of the other's. Ignores their order. "
        "Where both lists are shorter than k, the length of the longer one takes its place; without a cutoff likewise."
    )
    user: ClassVar = (
        "A user reads the first k documents of one run and asks how many of the other's first k were among them."
    )
    ignores: ClassVar = "Ignores judgments, the order within the first k and everything below."
    reference: ClassVar = "Webber, Moffat & Zobel, A similarity measure for indefinite rankings, TOIS 28, 2010"
    parameters: ClassVar = {"cutoff": CUTOFF}

    def rank_weights(self, n: int) -> Floats | None:
        return None if self.cutoff is None else np.where(np.arange(n) < self.cutoff, 1 / self.cutoff, 0.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {**super().columns(judged), "in common so far": running_sum(judged, self.terms(judged))}

    def depth(self, both: Both) -> int:
        longer = max(len(both.own), len(both.other))
        return longer if self.cutoff is None else min(self.cutoff, longer)

    def steps(self, both: Both) -> Floats:
        return overlap_terms(both.own, both.other, self.depth(both))

    def divisor(self, both: Both) -> float:
        return float(self.depth(both))


def _scores(both: Both) -> tuple[Floats, Floats]:
    """Scores of the shared documents, item by item: by the other run, then by the run itself."""
    own, other = both.in_common()
    return -both.other.first[other].astype(np.float64), -both.own.first[own].astype(np.float64)


def _spread(values: Floats, at: list[int], n: int) -> Floats:
    """Values of some documents as a list of all of them, 0 for the others."""
    spread = np.zeros(n)
    spread[at] = values
    return spread


def whole_list(judged: JudgedRun, i: int, judged_only: bool, tied: bool) -> Places:
    """All documents retrieved for query i (or the judged ones), with groups of equal scores on request."""
    docs = judged.ranking(i)
    if judged_only:
        # as JudgedRun.condensed: what has no judgment, or a negative one, is left out
        grades = judged.sources.qrels.judged[int(judged.qrels_at[i])]
        docs = [doc for doc in docs if grades.get(doc, -1) >= 0]
    if not tied or not docs:
        return places(docs)
    key = _keys(judged, i)
    return places([tuple(group) for _, group in groupby(docs, key=key.__getitem__)])


def _keys(judged: JudgedRun, i: int) -> dict[str, float]:
    """What the documents of a query are ranked by: those with the same are tied."""
    run, joining = judged.sources.run, judged.joining
    rows = run.rows_of(run.position[judged.queries[i]])
    if joining.rank_by == "input":
        values = np.arange(rows.stop - rows.start, dtype=np.float64)
    elif joining.rank_by == "rank" and run.ranks is not None:
        values = run.ranks[rows].astype(np.float64)
    else:
        values = run.scores[rows].astype(joining.score_type).astype(np.float64)
    return dict(zip(run.docs[rows].tolist(), values.tolist(), strict=True))
