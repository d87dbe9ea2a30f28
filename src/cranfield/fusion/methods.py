"""The methods of fusion: the points each run gives to its documents, and how they are combined.

A method gives points to every entry (a document in the list of a run), by its score or its rank, and combines the
points that a document has from all runs into one score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from cranfield.base import Parameter, Record
from cranfield.data import Bools, Floats, Ints
from cranfield.fusion.candidates import Candidates
from cranfield.fusion.condorcet import majority_order
from cranfield.fusion.naming import find_by_name

Kind = Literal["scores", "ranks", "training"]
BAYES_CUTS = (0, 5, 10, 15, 20, 30, 100, 200, 500, 1000)
SEGFUSE_CUTS = (0, *(10 * 2 ** (k - 1) - 5 for k in range(1, 11)))
LEAST_ODDS = float(np.log(0.001 / 0.999))


class Points(Record, eq=False):
    """The points of each candidate from each run: a table of candidates × runs, 0 where a run lacks the document."""

    table: Floats
    present: Bools
    weights: Floats | None

    @cached_property
    def n(self) -> Ints:
        """How many runs have each candidate."""
        n: Ints = self.present.sum(axis=1)
        return n

    @cached_property
    def sum(self) -> Floats:
        return sum_rows(self.table)

    @cached_property
    def weighted(self) -> Floats:
        return self.sum if self.weights is None else sum_rows(self.table * self.weights)

    def over_runs(self, absent: float) -> Floats:
        """The table with another value where a run lacks the document."""
        return np.where(self.present, self.table, absent)


class Settings(Record, eq=False):
    """The parameters of a method and, if it is trained, what was learned about each run."""

    params: Mapping[str, float]
    learned: Sequence[Floats] = ()


PointsFunction = Callable[
    [Candidates, Floats, Settings], Floats
]  # candidates, normalised scores, settings: points of entries


class FusionMethod(Record, eq=False):
    """A way to fuse rankings. In formulas, s is a normalised score, i a rank, n the number of runs with d."""

    name: str
    title: str
    kind: Kind
    formula: str
    reference: str
    points: PointsFunction
    combine: Callable[[Points, Settings], Floats]
    absent: Callable[[Candidates], Floats] | None = None  # queries × runs: points of a candidate that a run lacks
    order: Callable[[Candidates, Floats | None], Floats] | None = (
        None  # for methods whose score is a position in an order
    )
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    weights: Literal["no", "optional", "needed"] = "no"
    learn: str = ""  # what is learned about each run: probabilities of relevance by rank, or its AP
    reads_scores: bool = True  # whether scores matter, or only the order of a list
    absent_is_zero: bool = False  # whether a document that a run lacks counts as having score 0 there


def find_method(name: str) -> FusionMethod:
    """The method of this name, as ranx or the literature spells it.

    >>> find_method("CombMNZ").name, find_method("reciprocal-rank").name
    ('mnz', 'rrf')
    """
    return find_by_name(name, FUSION_METHODS, ALIASES, "fusion method")


def sum_rows(table: Floats) -> Floats:
    """The sum of each row, independent of the order of the columns.

    Adding in order of size makes documents with the same points tie exactly, whichever runs the points come from.
    """
    if table.shape[1] > 2:
        table = np.sort(table, axis=1)
    total = np.zeros(len(table))
    for column in table.T:
        total += column
    return total


# Points of an entry


def _score(_: Candidates, scores: Floats, __: Settings) -> Floats:
    return scores


def _reciprocal(candidates: Candidates, _: Floats, settings: Settings) -> Floats:
    points: Floats = 1.0 / (settings.params["k"] + candidates.rank.astype(np.float64))
    return points


def _inverse_square(candidates: Candidates, _: Floats, __: Settings) -> Floats:
    return 1.0 / candidates.rank.astype(np.float64) ** 2


def _rank_biased(candidates: Candidates, _: Floats, settings: Settings) -> Floats:
    phi = settings.params["phi"]
    points: Floats = (1 - phi) * np.power(phi, candidates.rank - 1.0)
    return points


def _borda(candidates: Candidates, _: Floats, __: Settings) -> Floats:
    return (_candidates_of_query(candidates) + 1 - candidates.rank).astype(np.float64)


def _borda_absent(candidates: Candidates) -> Floats:
    # the points a run has left, in equal parts (Aslam & Montague 2001)
    return (candidates.number[:, np.newaxis] - candidates.sizes + 1) / 2.0


def _candidates_of_query(candidates: Candidates) -> Ints:
    return np.repeat(candidates.number, candidates.sizes.sum(axis=1))


def _nothing(candidates: Candidates, _: Floats, __: Settings) -> Floats:
    return np.zeros(len(candidates.score))


def _by_map(candidates: Candidates, _: Floats, settings: Settings) -> Floats:
    return np.array([float(ap[0]) for ap in settings.learned])[candidates.run] / candidates.rank


def _by_rank(candidates: Candidates, _: Floats, settings: Settings) -> Floats:
    return _look_up(candidates, settings.learned, candidates.rank - 1)


def _by_window(candidates: Candidates, _: Floats, settings: Settings) -> Floats:
    w = int(settings.params["w"])
    first = np.maximum(candidates.rank - 1 - w, 0)
    last = np.minimum(candidates.rank - 1 + w, candidates.size - 1)
    sums = [np.concatenate(([0.0], np.cumsum(chances))) for chances in settings.learned]
    total = _look_up(candidates, sums, last + 1, beyond=True) - _look_up(candidates, sums, first, beyond=True)
    return total / (last - first + 1.0)


def _by_share(candidates: Candidates, _: Floats, settings: Settings) -> Floats:
    segments = int(settings.params["segments"])
    segment = (candidates.rank - 1) // -(-candidates.size // segments)
    return _look_up(candidates, settings.learned, segment) / (segment + 1)


def _by_segment(candidates: Candidates, scores: Floats, settings: Settings) -> Floats:
    segment = np.searchsorted(SEGFUSE_CUTS, candidates.rank - 1, side="right") - 1
    chances = _look_up(candidates, settings.learned, np.asarray(segment, dtype=np.int64))
    return chances * (scores + 1)


def _by_odds(candidates: Candidates, _: Floats, settings: Settings) -> Floats:
    segment = np.searchsorted(BAYES_CUTS, candidates.rank - 1, side="right") - 1
    # ranks below all segments have the odds of the last one
    return _look_up(candidates, settings.learned, segment, beyond=True)


def _odds_absent(candidates: Candidates) -> Floats:
    return np.full(candidates.sizes.shape, LEAST_ODDS)


def _look_up(candidates: Candidates, tables: Sequence[Floats], at: Ints, beyond: bool = False) -> Floats:
    """What was learned about the run of each entry, at a position; beyond the end its last value, or 0."""
    values_at = np.zeros(len(at))
    for run, table in enumerate(tables):
        mine = np.flatnonzero(candidates.run == run)
        inside = at[mine] < len(table)
        values = table[np.minimum(at[mine], len(table) - 1)]
        values_at[mine] = values if beyond else np.where(inside, values, 0.0)
    return values_at


# The points of all runs as one score


def _sum(points: Points, _: Settings) -> Floats:
    return points.weighted


def _mean(points: Points, _: Settings) -> Floats:
    return points.sum / points.n


def _multiplied(points: Points, _: Settings) -> Floats:
    return points.sum * points.n


def _multiplied_by_power(points: Points, settings: Settings) -> Floats:
    return points.sum * np.power(points.n.astype(np.float64), settings.params["gamma"])


def _multiplied_by_weights(points: Points, _: Settings) -> Floats:
    weights = np.ones(points.table.shape[1]) if points.weights is None else points.weights
    return points.sum * sum_rows(points.present.astype(np.float64) * weights)


def _multiplied_by_root(points: Points, _: Settings) -> Floats:
    return points.weighted * np.sqrt(points.n.astype(np.float64))


def _multiplied_by_log(points: Points, _: Settings) -> Floats:
    return points.sum * np.log(points.n.astype(np.float64))


def _multiplied_by_shifted_log(points: Points, settings: Settings) -> Floats:
    return points.sum * np.log(points.n.astype(np.float64) + settings.params["sigma"])


def _highest(points: Points, _: Settings) -> Floats:
    highest: Floats = points.over_runs(-np.inf).max(axis=1)
    return highest


def _lowest(points: Points, _: Settings) -> Floats:
    lowest: Floats = points.over_runs(np.inf).min(axis=1)
    return lowest


def _median(points: Points, _: Settings) -> Floats:
    table = np.sort(points.over_runs(np.inf), axis=1)
    row = np.arange(len(table))
    lower, upper = table[row, (points.n - 1) // 2], table[row, points.n // 2]
    # halved first: the sum of two large scores may overflow
    return np.where(lower == upper, lower, lower / 2 + upper / 2)


def _by_majority(candidates: Candidates, weights: Floats | None) -> Floats:
    points = candidates.table(_borda(candidates, candidates.score, Settings({})), np.nan)
    points = np.where(np.isnan(points), np.repeat(_borda_absent(candidates), candidates.number, axis=0), points)
    ranks = candidates.table(candidates.rank.astype(np.float64), np.inf)
    return majority_order(candidates, ranks, sum_rows(points if weights is None else points * weights), weights)


# The methods

_HUNDREDTHS = tuple(i / 100 for i in range(1, 101))
_WHOLE_100 = tuple(float(i) for i in range(1, 101))
# examples are the values to search among when a parameter is learned
_K = Parameter(
    "how little the first ranks stand out", 60, low=0, high=1e9, examples=tuple(float(k) for k in range(10, 101, 10))
)
_PHI = Parameter("how far down a list its reader gets", 0.8, low=0.0001, high=0.9999, examples=_HUNDREDTHS[:-1])
_GAMMA = Parameter("how much agreement counts", 1, low=0, high=100, examples=_HUNDREDTHS)
_SIGMA = Parameter("how much a document in one list only counts", 0.01, low=0, high=1, examples=_HUNDREDTHS)
_W = Parameter("ranks on either side that are averaged over", 5, low=0, high=1e6, whole=True, examples=_WHOLE_100)
_SEGMENTS = Parameter("parts that a list is cut into", 10, low=1, high=1e6, whole=True, examples=_WHOLE_100)

_FOX = "Fox & Shaw, TREC-2 1993"
_MOURAO = "Mourão, Martins & Magalhães, CMIG 2015"
_ASLAM = "Aslam & Montague, SIGIR 2001"
_MONTAGUE = "Montague & Aslam, CIKM 2002"
_WU = "Wu & Crestani, CIKM 2002"
_LILLIS = "Lillis et al., SIGIR 2010"
_CHANCES = "its probability of a relevant document at each rank"
_IN_SEGMENTS = "its probability of a relevant document in each segment"


def _comb(name: str, title: str, formula: str, combine: Any, **more: Any) -> FusionMethod:
    """A method that combines scores."""
    return FusionMethod(name, title, "scores", formula, more.pop("reference", _FOX), _score, combine, **more)


def _ranked(
    name: str, title: str, formula: str, reference: str, points: PointsFunction, combine: Any, **more: Any
) -> FusionMethod:
    """A method that uses only ranks."""
    return FusionMethod(name, title, "ranks", formula, reference, points, combine, reads_scores=False, **more)


def _trained(
    name: str, title: str, formula: str, reference: str, points: PointsFunction, learn: str, **more: Any
) -> FusionMethod:
    """A method that learns the value of ranks in each run from judgments."""
    given = {"reads_scores": False} | more
    return FusionMethod(name, title, "training", formula, reference, points, _sum, learn=learn, **given)


FUSION_METHODS: Mapping[str, FusionMethod] = {
    method.name: method
    for method in (
        _comb("sum", "CombSUM: the sum of the scores", "Σs", _sum, absent_is_zero=True),
        _comb("mnz", "CombMNZ: the sum times the number of runs", "n·Σs", _multiplied, absent_is_zero=True),
        _comb("anz", "CombANZ: the mean over the runs that contain it", "Σs/n", _mean),
        _comb("min", "CombMIN: the lowest score", "min s", _lowest),
        _comb("max", "CombMAX: the highest score", "max s", _highest),
        _comb("med", "CombMED: the median score", "median s", _median),
        _comb(
            "gmnz",
            "CombGMNZ: CombMNZ with a power of the number",
            "n^γ·Σs",
            _multiplied_by_power,
            parameters={"gamma": _GAMMA},
            reference="Lee, SIGIR 1997",
            absent_is_zero=True,
        ),
        _comb(
            "wsum",
            "weighted sum of the scores",
            "Σw·s",
            _sum,
            weights="needed",
            reference="Vogt & Cottrell, Information Retrieval 1999",
            absent_is_zero=True,
        ),
        _comb(
            "wmnz",
            "the sum times the weights of the runs",
            "Σs · Σw over the runs that have d",
            _multiplied_by_weights,
            weights="needed",
            reference=_WU,
            absent_is_zero=True,
        ),
        _comb(
            "mixed",
            "weighted sum times the root of the number of runs",
            "√n·Σw·s",
            _multiplied_by_root,
            weights="needed",
            reference=_WU,
            absent_is_zero=True,
        ),
        _ranked(
            "rrf",
            "reciprocal rank fusion",
            "Σ1/(k + i)",
            "Cormack, Clarke & Büttcher, SIGIR 2009",
            _reciprocal,
            _sum,
            parameters={"k": _K},
            weights="optional",
        ),
        _ranked(
            "rbc",
            "rank-biased centroids",
            "Σ(1 − φ)φ^(i − 1)",
            "Bailey et al., SIGIR 2017",
            _rank_biased,
            _sum,
            parameters={"phi": _PHI},
        ),
        _ranked(
            "isr", "inverse square ranks times the number of runs", "n·Σ1/i²", _MOURAO, _inverse_square, _multiplied
        ),
        _ranked(
            "log_isr",
            "ISR with the logarithm of the number; 0 for one run",
            "ln n·Σ1/i²",
            _MOURAO,
            _inverse_square,
            _multiplied_by_log,
        ),
        _ranked(
            "logn_isr",
            "log_isr that also ranks documents of one run",
            "ln(n + σ)·Σ1/i²",
            _MOURAO,
            _inverse_square,
            _multiplied_by_shifted_log,
            parameters={"sigma": _SIGMA},
        ),
        _ranked(
            "bordafuse",
            "Borda count: points for every document below",
            "Σ(c + 1 − i), (c − N + 1)/2 from a run that lacks d",
            _ASLAM,
            _borda,
            _sum,
            absent=_borda_absent,
        ),
        _ranked(
            "w_bordafuse",
            "weighted Borda count",
            "the same, times w",
            _ASLAM,
            _borda,
            _sum,
            absent=_borda_absent,
            weights="needed",
        ),
        _ranked(
            "condorcet",
            "documents that a majority prefers first",
            "c + 1 − rank; x above y if more runs have x above y than y above x",
            _MONTAGUE,
            _nothing,
            _sum,
            order=_by_majority,
        ),
        _ranked(
            "w_condorcet",
            "Condorcet with weighted votes",
            "the same, each run with w votes",
            _MONTAGUE,
            _nothing,
            _sum,
            order=_by_majority,
            weights="needed",
        ),
        _trained("mapfuse", "the AP of a run, divided by rank", "ΣAP/i", _LILLIS, _by_map, "its AP"),
        _trained("posfuse", "probability of relevance at the rank", "ΣP(i)", _LILLIS, _by_rank, _CHANCES),
        _trained(
            "slidefuse",
            "probability at the surrounding ranks",
            "Σ mean of P(i − w) … P(i + w)",
            "Lillis et al., ECIR 2008",
            _by_window,
            _CHANCES,
            parameters={"w": _W},
        ),
        _trained(
            "probfuse",
            "probability in its part of the list",
            "ΣP(k)/k, k the part of ⌈N/segments⌉ ranks",
            "Lillis et al., SIGIR 2006",
            _by_share,
            _IN_SEGMENTS,
            parameters={"segments": _SEGMENTS},
        ),
        _trained(
            "segfuse",
            "probability in growing segments times the score",
            "ΣP(k)·(s + 1), segments ending at ranks 5, 15, 35, 75 …",
            "Shokouhi, ECIR 2007",
            _by_segment,
            _IN_SEGMENTS,
            reads_scores=True,
        ),
        _trained(
            "bayesfuse",
            "log odds of relevance in its segment",
            "Σ ln(P/(1 − P)), ln(.001/.999) from a run that lacks d",
            _ASLAM,
            _by_odds,
            "its log odds of a relevant document in each segment",
            absent=_odds_absent,
        ),
    )
}
ALIASES = {
    **{f"comb{name}": name for name in ("sum", "mnz", "anz", "min", "max", "med", "gmnz")},
    "reciprocalrank": "rrf",
    "reciprocalrankfusion": "rrf",
    "borda": "bordafuse",
    "wborda": "w_bordafuse",
    "weightedborda": "w_bordafuse",
    "weightedbordafuse": "w_bordafuse",
    "condorcetfuse": "condorcet",
    "weightedcondorcet": "w_condorcet",
    "weightedsum": "wsum",
    "median": "med",
    "rankbiasedcentroids": "rbc",
}
