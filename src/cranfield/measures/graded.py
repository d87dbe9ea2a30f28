"""Measures of a ranking with graded relevance: CG, NCG, DCG, nDCG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cranfield.collection import Floats, Ints
from cranfield.errors import EvaluationError, MeasureError
from cranfield.judged import JudgedRun
from cranfield.measures.base import CUTOFF, Measure, Parameter, share
from cranfield.measures.ties import mean_weight

_JARVELIN = "Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20, 2002"
DISCOUNTS = ("log(1+i)", "log(max(i,base))", "1/i")


class GainMap(dict[float, float]):
    """Gains by grade, hashable because measures are."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


class _Gain(Parameter):
    """`linear`, `exp`, or a map from grade to gain."""

    def _map(self, name: str, value: Mapping[Any, Any]) -> Mapping[float, float]:
        number = Parameter("a gain")
        try:
            return GainMap({float(number.check(name, k)): float(number.check(name, v)) for k, v in value.items()})
        except MeasureError:
            raise MeasureError(f"{name}={value!r}: expected grades and gains that are numbers.") from None


@dataclass(frozen=True, repr=False)
class CG(Measure):
    """The sum of the gains of the first k documents."""

    cutoff: int | None = None
    gain: str | Mapping[float, float] = "linear"

    name: ClassVar = "CG"
    title: ClassVar = "Cumulated gain"
    formula: ClassVar = r"\sum_{i=1}^{k} g_i"
    about: ClassVar = "A user adds up what each document gives, wherever it stands in the first k."
    reference: ClassVar = _JARVELIN
    high: ClassVar = math.inf
    tasks: ClassVar[tuple[str, ...]] = ("graded",)
    parameters: ClassVar = {
        "cutoff": CUTOFF,
        "gain": _Gain("the gain of a grade: the grade, 2^grade − 1, or {grade: gain}", choices=("linear", "exp")),
    }
    synonyms: ClassVar = {
        "dcg": {"log2": ("gain", "linear"), "exp-log2": ("gain", "exp")},
        "gains": {None: ("gain", None)},
    }

    def gains(self, grades: Floats) -> Floats:
        """The gain of each grade; a negative grade gains nothing unless a map says otherwise."""
        # fmax: an unjudged document of a dense join has grade NaN, and gains nothing either
        linear = np.fmax(grades, 0.0)
        if isinstance(self.gain, Mapping):
            gains = linear.copy()
            for grade, gain in self.gain.items():
                gains[grades == grade] = gain
            return gains
        if self.gain == "linear":
            return linear
        if (linear > 1000).any():
            raise EvaluationError(
                f"{self}: 2^grade of grade {linear.max():g} is beyond all doubles. "
                "Use the grades as they are (gain='linear') or map them (gain={grade:gain})."
            )
        return np.exp2(linear) - 1

    def divisor(self, rank: Ints) -> Floats:
        """What the gain at a rank is divided by."""
        return np.ones(len(rank))

    def terms(self, judged: JudgedRun) -> Floats:
        # divided, not multiplied by a weight: trec_eval's last bits depend on it
        discounted = self.gains(judged.grade) / self.divisor(judged.rank)
        return np.where(self._inside(judged.rank), discounted, 0.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        columns = {"gain": self.gains(judged.grade)}
        if (self.divisor(judged.rank) != 1).any():
            columns["divided by"] = self.divisor(judged.rank)
        columns[f"{'DCG' if isinstance(self, DCG) else 'CG'}@i"] = running_sum(judged, self.terms(judged))
        return columns

    def expected(self, judged: JudgedRun) -> Floats:
        weight = mean_weight(judged, lambda rank: np.where(self._inside(rank), 1 / self.divisor(rank), 0.0))
        # a document without a tie adds the same bits as in per_query
        tied = self.gains(judged.grade) * weight
        sums = judged.total(np.where(judged.tie_size > 1, tied, self.terms(judged)))
        return share(sums, self.normaliser(judged))

    def ideal(self, judged: JudgedRun) -> Floats:
        """The value of the best ranking."""
        return judged.ideal_total(self.ideal_terms(judged))

    def ideal_terms(self, judged: JudgedRun) -> Floats:
        """The terms of the best ranking: all judged documents with a positive gain, by falling gain."""
        gains, query = self.gains(judged.ideal), judged.ideal_query
        gains = gains[np.lexsort((-gains, query))]
        rank = np.arange(len(gains)) - judged.ideal_starts[query] + 1
        return np.where((gains > 0) & self._inside(rank), gains / self.divisor(rank), 0.0)

    def _inside(self, rank: Ints) -> Any:
        return True if self.cutoff is None else rank <= self.cutoff


@dataclass(frozen=True, repr=False)
class NCG(CG):
    """The cumulated gain as a share of the best there could be."""

    name: ClassVar = "NCG"
    title: ClassVar = "Normalised cumulated gain"
    formula: ClassVar = r"\frac{\mathrm{CG}@k}{\mathrm{ideal\ CG}@k}"
    about: ClassVar = "What share of the gain that k documents could give was had: a graded recall at k."
    high: ClassVar = 1.0

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.ideal(judged)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return super().columns(judged) | {"ideal": ideal_at(judged, self.ideal_terms(judged))}


@dataclass(frozen=True, repr=False)
class DCG(CG):
    """The sum of the gains of the first k documents, each divided by a discount that grows with its rank."""

    discount: str = "log(1+i)"
    base: float = 2.0

    name: ClassVar = "DCG"
    title: ClassVar = "Discounted cumulated gain"
    formula: ClassVar = r"\sum_{i=1}^{k} \frac{g_i}{\log_2(1 + i)}"
    about: ClassVar = (
        "A user goes down the list and gets tired: the deeper a document, the less of its gain is had. The gain is "
        "the grade, or 2^grade − 1 with gain='exp', or as a map says; the discount log(1+i), log(max(i,base)) or 1/i."
    )
    parameters: ClassVar = {
        **CG.parameters,
        "discount": Parameter("what the gain at rank i is divided by (1/i: by i)", choices=DISCOUNTS),
        "base": Parameter("the base of the logarithm", least=1.0000001),
    }

    def divisor(self, rank: Ints) -> Floats:
        if self.discount == "1/i":
            return rank.astype(np.float64)
        if self.discount == "log(1+i)":
            return _log((rank + 1).astype(np.float64), self.base)
        return _log(np.maximum(rank, self.base).astype(np.float64), self.base)


@dataclass(frozen=True, repr=False)
class nDCG(DCG):
    """The discounted cumulated gain as a share of that of the best ranking."""

    name: ClassVar = "nDCG"
    aliases: ClassVar = ("NDCG",)
    title: ClassVar = "Normalised discounted cumulated gain"
    formula: ClassVar = r"\frac{\mathrm{DCG}@k}{\mathrm{ideal\ DCG}@k}"
    about: ClassVar = (
        "DCG as a share of the best possible, so that queries with few and with many relevant documents count alike. "
        "The ideal ranking is made of all judged documents and cut at k as well. 0 where nothing is relevant."
    )
    high: ClassVar = 1.0
    tasks: ClassVar = ("graded", "web")

    def normaliser(self, judged: JudgedRun) -> Floats:
        return self.ideal(judged)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        return super().columns(judged) | {"ideal": ideal_at(judged, self.ideal_terms(judged))}


def running_sum(judged: JudgedRun, terms: Floats) -> Floats:
    """For each hit the sum of the terms of its query up to it."""
    sums = np.zeros(len(terms))
    for i in range(judged.n):
        part = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
        sums[part] = np.cumsum(terms[part])
    return sums


def ideal_at(judged: JudgedRun, ideal_terms: Floats) -> Floats:
    """For each hit what the best ranking would have reached at its rank."""
    sums = np.zeros(len(judged.rank))
    for i in range(judged.n):
        part = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
        own = ideal_terms[int(judged.ideal_starts[i]) : int(judged.ideal_starts[i + 1])]
        reached = np.concatenate(([0.0], np.cumsum(own)))
        sums[part] = reached[np.minimum(judged.rank[part], len(own))]
    return sums


def _log(x: Floats, base: float) -> Floats:
    exact = {2.0: np.log2, 10.0: np.log10, math.e: np.log}.get(base)
    return exact(x) if exact else np.log(x) / math.log(base)
