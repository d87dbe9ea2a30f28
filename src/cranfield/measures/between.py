"""Measures of how alike two runs are, query by query: RBO, tau, AP correlation, overlap. Relevance plays no part."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, Literal

import numpy as np

from cranfield.collection import Floats
from cranfield.judged import JudgedRun
from cranfield.measures.base import CUTOFF, Measure, Parameter, share
from cranfield.rankings import (
    VARIANTS,
    Agreements,
    Places,
    Variant,
    agreements,
    kendall_pairs,
    overlap_terms,
    places,
    tau_ap_terms,
)

_RELEVANCE = "Likeness to another run, not relevance, is measured."


@dataclass(frozen=True)
class Both:
    """The rankings of one query by the run and by the one it is compared with."""

    own: Places
    other: Places

    def in_common(self) -> tuple[list[int], list[int]]:
        """Where the documents that both retrieved stand in each list, in the run's order."""
        at = {doc: i for i, doc in enumerate(self.other.items)}
        own = [i for i, doc in enumerate(self.own.items) if doc in at]
        return own, [at[self.own.items[i]] for i in own]


@dataclass(frozen=True, repr=False)
class _Between(Measure):
    """A measure of two rankings of the same query."""

    judgments_matter: ClassVar = False
    needs: ClassVar = ("against",)
    is_quality: ClassVar = False
    nothing_found: ClassVar = "whatever the other run finds: relevance plays no part"
    lacks: ClassVar = {"swap": _RELEVANCE, "perfect": _RELEVANCE}

    def both(self, judged: JudgedRun, tied: bool | None = None) -> list[Both]:
        """The two rankings of each query, with groups of equal scores if asked for."""
        against = judged.sources.extras.against
        assert against is not None, "shown_list has checked it"
        other = replace(judged, sources=replace(judged.sources, run=against))
        with_ties = self.has_ties if tied is None else tied
        return [
            Both(
                whole_list(judged, i, self.judged_only, with_ties),
                whole_list(other, i, self.judged_only, with_ties and self.other_may_tie),
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
        return self._values(self.both(judged))

    def _values(self, pairs: list[Both]) -> Floats:
        sums = np.array([math.fsum(self.steps(both)) for both in pairs], dtype=np.float64)
        return share(sums, np.array([self.divisor(both) for both in pairs], dtype=np.float64))

    def terms(self, judged: JudgedRun) -> Floats:
        return np.asarray(self.by_rank(judged, [self.steps(both) for both in self.both(judged)]), dtype=np.float64)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.array([self.divisor(both) for both in self.both(judged)], dtype=np.float64)

    def expected(self, judged: JudgedRun) -> Floats:
        """The mean over the orders of ties, which is what variant a computes; a variant takes ties as they are."""
        return self.per_query(judged) if self.has_ties else self._values(self.both(judged, tied=True))

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


@dataclass(frozen=True, repr=False)
class RBO(_Between):
    """How much two rankings overlap at every depth, the first depths most."""

    p: float = 0.9
    value: Literal["ext", "min", "max", "res"] = "ext"
    variant: Variant | None = None

    name: ClassVar = "RBO"
    title: ClassVar = "Rank-biased overlap"
    formula: ClassVar = r"(1 - p) \sum_{d=1}^{\infty} p^{d-1} A_d,\quad A_d = \frac{|S_{1..d} \cap L_{1..d}|}{d}"
    about: ClassVar = (
        "A user compares two lists from the top and goes on to the next depth with chance p: depth d has weight "
        "(1−p)·p^(d−1). Lists end, so what is beyond is extrapolated (ext), or taken as the worst (min) or best (max) "
        "it could be; res is max − min. Documents of equal score are ordered by the tie rule, or are ties: sharing a "
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
        "p": Parameter("the chance to go on to the next depth", least=1e-6, most=1 - 1e-6, examples=(0.8, 0.98)),
        "value": Parameter("extrapolated, lowest, highest, or highest − lowest", choices=("ext", "min", "max", "res")),
        "variant": Parameter("take equal scores as ties, and how", choices=VARIANTS),
    }

    def parts(self, both: Both) -> Agreements:
        return agreements(both.own, both.other, self.p, self.variant or "a")

    def steps(self, both: Both) -> Floats:
        return self.parts(both).terms(self.value)

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


@dataclass(frozen=True, repr=False)
class Tau(_Between):
    """Whether two runs put the documents they share in the same order: 1 the same, −1 the reverse."""

    variant: Literal["a", "b"] | None = None

    name: ClassVar = "Tau"
    aliases: ClassVar = ("KendallTau",)
    title: ClassVar = "Kendall's tau between two runs"
    formula: ClassVar = r"\frac{C - D}{n(n-1)/2},\quad n = |\mathrm{own} \cap \mathrm{other}|"
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


@dataclass(frozen=True, repr=False)
class TauAP(_Between):
    """Whether two runs put the documents they share in the same order, where the top counts most."""

    variant: Literal["a", "b"] | None = None

    name: ClassVar = "TauAP"
    title: ClassVar = "AP correlation between two runs"
    formula: ClassVar = r"\frac{2}{n-1} \sum_{i=2}^{n} \frac{C(i)}{i-1} - 1"
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

    def steps(self, both: Both) -> Floats:
        own, _ = both.in_common()
        terms = tau_ap_terms(*_scores(both), self.variant or "a")
        return _spread(np.zeros(len(own)) if terms is None else terms, own, len(both.own))


@dataclass(frozen=True, repr=False)
class Overlap(_Between):
    """The share of the first k documents that two runs have in common."""

    cutoff: int | None = None

    name: ClassVar = "Overlap"
    title: ClassVar = "Overlap at k of two runs"
    formula: ClassVar = r"\frac{|\mathrm{own}_{1..k} \cap \mathrm{other}_{1..k}|}{k}"
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
    """All documents retrieved for query i (or the judged ones), with groups of equal scores if asked for."""
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
