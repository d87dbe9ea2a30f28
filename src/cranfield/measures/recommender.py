"""Measures known from recommender systems: hit rate, MAP@k, coverage of the catalogue, novelty, inequality.

A query is a user, a document an item. Coverage and Gini are properties of a run as a whole: the value of a query is
that of its list alone, and the run's is not their mean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from cranfield.base import pluralize
from cranfield.data import Floats
from cranfield.errors import EvaluationError, MeasureError
from cranfield.joining import JudgedRun
from cranfield.measures.base import Aggregate, Measure
from cranfield.measures.binary import AP, Success
from cranfield.measures.list_similarity import Places
from cranfield.measures.parameters import CUTOFF
from cranfield.measures.rank_similarity import whole_list
from cranfield.measures.sets import DOCS


class HitRate(Success):
    """1 if there is a relevant item among the first k, else 0: Success under the recommenders' name."""

    name: ClassVar = "HitRate"
    aliases: ClassVar = ("HR",)
    title: ClassVar = "Hit rate at k"
    about: ClassVar = (
        "A user is content with one relevant item. The mean over users is the share of them with a hit. The same as "
        "Success."
    )
    user: ClassVar = "A user looks at k items and is content with one relevant item."
    ignores: ClassVar = (
        "Ignores where in the first k it stands, all further relevant items, everything below, degrees of relevance "
        "and how many relevant items there are."
    )
    reference: ClassVar = "Deshpande & Karypis, Item-based top-N recommendation algorithms, TOIS 22, 2004"


class MAPk(AP):
    """The average precision of the first k items, out of the best there could be among k."""

    denominator: Literal["R", "min(R,k)"] = "min(R,k)"

    name: ClassVar = "MAPk"
    weighting: ClassVar = (
        "depends on the ranking: a relevant item at rank i ≤ k weighs P@i/min(R, k), and so the more the more relevant "
        "ones stand above it"
    )
    aliases: ClassVar = ("mapk",)
    title: ClassVar = "Mean average precision at k, as for recommenders"
    formula: ClassVar = r"\frac{1}{\min(R, k)} \sum_{i=1}^{k} \mathrm{rel}_i \cdot P@i"
    about: ClassVar = (
        "AP@k divided by min(R, k), so k relevant items on top are worth 1 however many there are: the MAP@k of "
        "Spark, Kaggle and ml_metrics. Search engines' AP@k divides by R."
    )
    user: ClassVar = (
        "A user looks for a random one of the relevant items that k places could hold and reads down to it."
    )
    ignores: ClassVar = (
        "Ignores everything below k, degrees of relevance, and by how many there are more than k relevant items."
    )
    reference: ClassVar = "McFee et al., The Million Song Dataset challenge, WWW 2012 (companion)"
    required: ClassVar = ("cutoff",)


class _Lists(Measure):
    """A measure of what is shown, whether it is relevant or not."""

    cutoff: int | None = None

    parameters: ClassVar = {"cutoff": CUTOFF}
    is_quality: ClassVar = False

    def shown(self, judged: JudgedRun) -> Floats:
        """How many documents each query shows."""
        return np.minimum(judged.retrieved, np.inf if self.cutoff is None else self.cutoff)

    def inside(self, judged: JudgedRun) -> Floats:
        """1 for each hit that is shown, else 0."""
        return (judged.rank <= self.shown(judged)[judged.query]).astype(np.float64)

    def list_of(self, judged: JudgedRun, i: int, tied: bool = False) -> Places:
        return whole_list(judged, i, self.judged_only, tied)


class _OfCatalogue(_Lists):
    """A measure of how much of the catalogue a run shows."""

    docs: int | None = None

    parameters: ClassVar = {**_Lists.parameters, "docs": DOCS}
    example: ClassVar = {"docs": 223}  # the bundled collection
    aggregate: ClassVar[Aggregate] = "run"

    def catalogue(self, shown: float) -> int:
        """The number of items there are, which must not be less than those shown."""
        if self.docs is None:
            raise MeasureError(f"{self.name} needs the size of the catalogue: {self.name}(docs=1400), or --docs 1400.")
        if shown > self.docs:
            raise EvaluationError(
                f"{self}: the run shows {int(shown):,} documents, more than the {self.docs:,} the catalogue is said "
                "to hold."
            )
        return self.docs

    def exposure(self, judged: JudgedRun) -> list[int]:
        """How many queries show each document that is shown at all, the least first."""
        return sorted(Counter(doc for top in self.tops(judged) for doc in top).values())

    def tops(self, judged: JudgedRun) -> list[Sequence[Hashable]]:
        """The documents that each query shows."""
        looked_at = self.shown_list(judged)
        return [self.list_of(looked_at, i).items[: self.cutoff] for i in range(looked_at.n)]

    def expected(self, judged: JudgedRun) -> Floats:
        # how many documents a query shows does not depend on the order of ties
        return self.per_query(judged)


class Coverage(_OfCatalogue):
    """The share of the catalogue that is shown to anyone among the first k."""

    judgments_matter: ClassVar = False
    reads_run: ClassVar = True
    name: ClassVar = "Coverage"
    normaliser_is: ClassVar[str] = "items in the catalogue, N"
    weighting: ClassVar = "1/N down to rank k, 0 below; over queries an item counts once"
    title: ClassVar = "Catalogue coverage at k"
    formula: ClassVar = r"\frac{|\bigcup_q \mathrm{top}_k(q)|}{N}"
    about: ClassVar = (
        "No measure of quality: how much of a catalogue of N items (--docs) a system makes use of. The run's value "
        "counts an item once, however many queries show it; a query's value is the share its own list shows."
    )
    user: ClassVar = "The owner of a catalogue asks how much of it anyone is shown among the first k items."
    ignores: ClassVar = (
        "Ignores relevance, the order within the first k, everything below, and how often an item is shown."
    )
    reference: ClassVar = "Ge, Delgado-Battenfeld & Jannach, Beyond accuracy, RecSys 2010"
    nothing_found: ClassVar = "the share of the catalogue shown: relevance plays no part"
    lacks: ClassVar = {"perfect": "The catalogue holds more than the relevant documents."}

    def per_query(self, judged: JudgedRun) -> Floats:
        return self.shown(judged) / self.normaliser(judged)

    def terms(self, judged: JudgedRun) -> Floats:
        return self.inside(judged)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.full(judged.n, float(self.catalogue(self.shown(judged).max(initial=0))))

    @property
    def shown_formula(self) -> str:
        return r"\frac{|\mathrm{top}_k|}{N}"

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"shown so far": judged.count_running(self.inside(judged) > 0)}

    def run_value(self, judged: JudgedRun) -> float:
        shown = len(self.exposure(judged))
        return shown / self.catalogue(shown)

    def run_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """For each query the items that no query before it has shown."""
        seen: set[Hashable] = set()
        rows: list[dict[str, Any]] = []
        for query, top in zip(judged.queries, self.tops(judged), strict=True):
            rows.append({"query": query, "shown": len(top), "term": float(len(set(top) - seen))})
            seen.update(top)
        return rows

    def run_normaliser(self, judged: JudgedRun) -> float:
        return float(self.catalogue(0))


class Gini(_OfCatalogue):
    """How unequally the items of the catalogue are shown among the first k: 0 all alike, 1 always the same one."""

    judgments_matter: ClassVar = False
    reads_run: ClassVar = True
    name: ClassVar = "Gini"
    normaliser_is: ClassVar[str] = "items in the catalogue but one, N − 1"
    weighting: ClassVar = "the same down to rank k, 0 below: (N − m)/(m(N − 1)) for each of m items shown"
    title: ClassVar = "Gini index of exposure at k"
    formula: ClassVar = r"\frac{1}{N-1} \sum_{j=1}^{N} (2j - N - 1)\, \frac{n_j}{\sum_l n_l}"
    about: ClassVar = (
        "No measure of quality: n_j is how many queries show an item, the least shown first; of the N items of the "
        "catalogue (--docs) those never shown count too. A query's value is that of its own list, which shows m items "
        "once: (N−m)/(N−1). 0 if nothing is shown. Divided by N − 1, so 1 can be reached; some divide by N."
    )
    user: ClassVar = "The owner of a catalogue asks how evenly its items are shown among the first k."
    ignores: ClassVar = (
        "Ignores relevance, the order within the first k, everything below, and which items are shown often."
    )
    reference: ClassVar = (
        "Shani & Gunawardana, Evaluating recommendation systems, in Recommender Systems Handbook, 2011"
    )
    more_is_better: ClassVar = False
    nothing_found: ClassVar = "as unequal as what is shown: relevance plays no part"

    def per_query(self, judged: JudgedRun) -> Floats:
        shown, items = self.shown(judged), self.catalogue(self.shown(judged).max(initial=0))
        return np.where(shown > 0, (items - shown) / max(items - 1, 1), 0.0)

    def terms(self, judged: JudgedRun) -> Floats:
        """The places above the middle that the shown items take, each with its share of the exposure."""
        shown = self.shown(judged)[judged.query]
        left = self.catalogue(shown.max(initial=0)) - shown
        return self.inside(judged) * left / np.maximum(shown, 1)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.full(judged.n, float(max(self.catalogue(0) - 1, 1)))

    @property
    def shown_formula(self) -> str:
        return r"\frac{1}{N-1} \sum_{i=1}^{m} \frac{N - m}{m},\quad m = |\mathrm{top}_k|"

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        shown = self.shown(judged)[judged.query]
        inside = self.inside(judged) > 0
        never = np.where(inside, self.catalogue(0) - shown, 0.0)
        return {
            "shown so far": judged.count_running(inside),
            "never shown": never,
            "share of exposure": np.where(inside, 1 / np.maximum(shown, 1), 0.0),
        }

    def run_value(self, judged: JudgedRun) -> float:
        counts = self.exposure(judged)
        items = self.catalogue(len(counts))
        first = items - len(counts) + 1  # those never shown come before
        weighted = sum((2 * j - items - 1) * n for j, n in enumerate(counts, first))
        return weighted / (sum(counts) * max(items - 1, 1)) if counts else 0.0

    def run_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """For items shown equally often what they add together: the sum of (2j − N − 1) n_j / Σ n over their j."""
        counts = self.exposure(judged)
        items, shown = self.catalogue(len(counts)), sum(counts)
        groups = {0: items - len(counts), **Counter(counts)} if counts else {}
        rows: list[dict[str, Any]] = []
        last = 0
        for times, size in groups.items():
            first, last = last + 1, last + size
            if size:
                how_often = f"shown by {pluralize(times, 'query')}" if times else "never shown"
                what = f"{pluralize(size, 'item')} {how_often}"
                # the mean of 2j − N − 1 over j = first … last, for each of them
                term = size * (first + last - items - 1) * times / shown
                rows.append({"what": what, "items": size, "shown": times, "from": first, "to": last, "term": term})
        return rows

    def run_normaliser(self, judged: JudgedRun) -> float:
        return float(max(self.catalogue(0) - 1, 1))


class Novelty(_Lists):
    """How surprising the first k items are: the mean of −log2 of their popularity."""

    judgments_matter: ClassVar = False
    reads_run: ClassVar = True
    name: ClassVar = "Novelty"
    normaliser_is: ClassVar[str] = "items shown, at most k"
    weighting: ClassVar = "1/k down to rank k, 0 below; k is the length of the list if that is shorter"
    title: ClassVar = "Novelty at k"
    formula: ClassVar = r"\frac{1}{k} \sum_{i=1}^{k} \log_2 \frac{U}{\max(u_i, 1)}"
    about: ClassVar = (
        "No measure of quality: how many bits a user learns from an item being shown. Popularity is the share u/U of "
        "the queries of the other run (--against) that have the item: give the training data as a run, a system that "
        "recommends what is popular, or the run itself. An item that none has counts as one that a single query has. "
        "A list shorter than k is averaged as it is."
    )
    user: ClassVar = "A user looks at k items and asks how little known they are to others."
    ignores: ClassVar = "Ignores relevance, the order within the first k and everything below."
    reference: ClassVar = (
        "Zhou et al., Solving the apparent diversity–accuracy dilemma of recommender systems, PNAS 107, 2010"
    )
    high: ClassVar = math.inf
    nothing_found: ClassVar = "as surprising as what is shown: relevance plays no part"
    needs: ClassVar = ("against",)
    lacks: ClassVar = {"swap": "Popularity, not relevance, is measured."}

    def per_query(self, judged: JudgedRun) -> Floats:
        lists = [self.list_of(judged, i).items[: self.cutoff] for i in range(judged.n)]
        surprise = _Surprise(judged)
        return np.array([math.fsum(map(surprise, docs)) / max(len(docs), 1) for docs in lists], dtype=np.float64)

    def expected(self, judged: JudgedRun) -> Floats:
        surprise, values = _Surprise(judged), np.zeros(judged.n)
        for i, shown in enumerate(self.shown(judged).tolist()):
            docs = self.list_of(judged, i, tied=True)
            bits = [surprise(doc) for doc in docs.items]
            values[i] = math.fsum(docs.shares(int(shown), "a") * bits) / max(shown, 1)
        return values

    def terms(self, judged: JudgedRun) -> Floats:
        return self.inside(judged) * self._bits(judged)

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.shown(judged)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return {"popularity": 2.0 ** -self._bits(judged), "bits": self._bits(judged)}

    def _bits(self, judged: JudgedRun) -> Floats:
        lists = [self.list_of(judged, i).items for i in range(judged.n)]
        surprise = _Surprise(judged)
        places = zip(judged.query.tolist(), judged.rank.tolist(), strict=True)
        return np.array([surprise(lists[i][rank - 1]) for i, rank in places], dtype=np.float64)


class _Surprise:
    """How many bits one learns from an item, by how many queries of the other run have it."""

    def __init__(self, judged: JudgedRun) -> None:
        against = judged.sources.extras.against
        assert against is not None, "shown_list has checked it"
        self.users = len(against.queries)
        self.counts = Counter(against.docs.tolist())

    def __call__(self, doc: Any) -> float:
        return math.log2(self.users / max(self.counts[doc], 1)) if self.users else 0.0
