"""Reproducibility: how well a run reproduces another in scores, effects over a baseline, and order of documents.

Breuer, Ferro, Fuhr, Maistro, Sakai, Schaer & Soboroff, How to measure the reproducibility of system-oriented IR
experiments, SIGIR 2020; as computed by repro_eval, except where a comment says otherwise.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from numbers import Real
from typing import Any

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Qrels, Run
from cranfield.errors import CranfieldError
from cranfield.evaluation import Scores
from cranfield.io import as_run
from cranfield.joining import DEFAULT_JOINING, Joining, join_run
from cranfield.stats.anova import TOLERANCE
from cranfield.stats.correlation import rbo

DEPTH = 1_000  # documents compared for each topic, as repro_eval does
P = 0.8  # of RBO, as in repro_eval


class Order(Record):
    """The similarity of two rankings of one topic."""

    common: int  # documents that both have
    tau: float | None  # Kendall's tau over these; None where there are fewer than two
    rbo: float  # rank-biased overlap, extrapolated
    ktu: float | None  # Kendall's tau union as defined by Breuer et al. 2020, for comparison


class Effect(Record):
    """The gain of a system over its baseline, in the original and in the reproduction."""

    original: float
    reproduced: float
    original_relative: float | None  # as a share of the baseline's mean; None where that is 0
    reproduced_relative: float | None

    @property
    def ratio(self) -> float | None:
        """ER: the reproduced gain as a share of the original gain; None if there was none."""
        return self.reproduced / self.original if abs(self.original) > TOLERANCE else None

    @property
    def delta_ri(self) -> float | None:
        """ΔRI: the original minus the reproduced relative gain; None if one is undefined."""
        if self.original_relative is None or self.reproduced_relative is None:
            return None
        return self.original_relative - self.reproduced_relative


class Reproduction(Record):
    """How well a run was reproduced. What could not be computed is None, and `notes` say why."""

    topics: int  # compared by score
    original_mean: float | None = None
    reproduced_mean: float | None = None
    rmse: float | None = None  # root mean square difference of the scores, topic by topic
    nrmse: float | None = None  # as a share of the largest possible value; for scores from 0 to 1
    effect: Effect | None = None
    orders: Mapping[str, Order] = field(default_factory=dict)  # topic by topic
    depth: int = DEPTH
    p: float = P
    notes: tuple[str, ...] = ()

    @property
    def effect_ratio(self) -> float | None:
        return None if self.effect is None else self.effect.ratio

    @property
    def delta_ri(self) -> float | None:
        return None if self.effect is None else self.effect.delta_ri

    @property
    def tau(self) -> float | None:
        """Kendall's tau over the documents in common, the mean over topics that have two or more."""
        return _mean(order.tau for order in self.orders.values())

    @property
    def rbo(self) -> float | None:
        """Rank-biased overlap, the mean over topics."""
        return _mean(order.rbo for order in self.orders.values())

    @property
    def ktu(self) -> float | None:
        """Kendall's tau union as defined by Breuer et al. 2020, for comparison; the mean over topics.

        It pairs documents by rank and correlates their alphabetical positions, so a single document inserted at the
        top makes it 0: prefer tau and rbo.
        """
        return _mean(order.ktu for order in self.orders.values())


def reproduce(
    original: Any,
    reproduced: Any,
    baseline: Any = None,
    reproduced_baseline: Any = None,
    *,
    measure: str | None = None,
    depth: int = DEPTH,
    p: float = P,
) -> Reproduction:
    """Measure how well a run reproduces an original, by its scores and by the order of its documents.

    Each is a run (anything `as_run` accepts), to compare orders; {topic: score}, to compare scores; or `Scores` of one
    run, for both. With the baselines of both, the effects over them are compared; topics may differ, as when an
    experiment is repeated on another collection.

    >>> made = reproduce({"1": 0.5, "2": 0.3}, {"1": 0.4, "2": 0.3}, {"1": 0.3, "2": 0.3}, {"1": 0.3, "2": 0.3})
    >>> round(made.rmse, 4), round(made.effect_ratio, 4)
    (0.0707, 0.5)
    >>> reproduce({"1": {"a": 3, "b": 2, "c": 1}}, {"1": {"b": 3, "a": 2, "c": 1}}).tau
    0.3333333333333333
    """
    if depth < 1:
        raise CranfieldError(f"depth {depth} is out of range: expected a whole number of at least 1.")
    one, other = _side(original, measure, "original run"), _side(reproduced, measure, "reproduced run")
    notes: list[str] = []
    values = _closeness(one, other, notes)
    return Reproduction(
        **values,
        effect=_effect(one, other, baseline, reproduced_baseline, measure, notes),
        orders=_orders(one, other, depth, p, notes),
        depth=depth,
        p=p,
        notes=tuple(notes),
    )


class _Side(Record):
    """A run with its scores, its ranking, or both."""

    name: str
    scores: Mapping[str, float] | None
    run: Run | None
    joining: Joining = DEFAULT_JOINING


def _side(source: Any, measure: str | None, name: str) -> _Side:
    if isinstance(source, Scores):
        if len(source.runs) != 1:
            raise CranfieldError(f"{name}: expected the scores of one run, found {pluralize(len(source.runs), 'run')}.")
        if measure is None and len(source.labels) > 1:
            raise CranfieldError(f"{name}: expected the measure to compare, one of {', '.join(source.labels)}.")
        judged = source.runs[0].judged
        scores = source.per_query(source.labels[0] if measure is None else measure)
        return _Side(name, scores, judged.sources.run, judged.joining)
    if isinstance(source, Mapping) and isinstance(next(iter(source.values()), None), Real):
        return _Side(name, _numbers(source, name), None)
    return _Side(name, None, as_run(source))


def _numbers(source: Mapping[Any, Any], name: str) -> dict[str, float]:
    scores = {str(query): float(value) for query, value in source.items()}
    wrong = [query for query, value in scores.items() if not math.isfinite(value)]
    if wrong:
        raise CranfieldError(f"{name}: the score of {join_names(wrong)} is not a finite number.")
    return scores


def _closeness(one: _Side, other: _Side, notes: list[str]) -> dict[str, Any]:
    """RMSE and nRMSE over the topics in common."""
    if one.scores is None or other.scores is None:
        return {"topics": 0}
    queries = _in_common(one, other, one.scores, other.scores, notes)
    if not queries:
        notes.append("original and reproduced run have no topic in common: only their effects are compared.")
        return {"topics": 0}
    x, y = ([side[query] for query in queries] for side in (one.scores, other.scores))
    rmse = _root_mean_square(a - b for a, b in zip(x, y, strict=True))
    bounded = all(-TOLERANCE <= score <= 1 + TOLERANCE for score in x + y)
    if not bounded:
        notes.append("nRMSE is defined for scores from 0 to 1 only.")
    # the largest possible error of each score
    most = _root_mean_square(max(score, 1 - score) for score in x)
    return {
        "topics": len(queries),
        "original_mean": math.fsum(x) / len(x),
        "reproduced_mean": math.fsum(y) / len(y),
        "rmse": rmse,
        "nrmse": rmse / most if bounded else None,
    }


def _effect(
    one: _Side, other: _Side, baseline: Any, reproduced_baseline: Any, measure: str | None, notes: list[str]
) -> Effect | None:
    if baseline is None and reproduced_baseline is None:
        return None
    if baseline is None or reproduced_baseline is None:
        raise CranfieldError("effects need the baselines of both the original and the reproduced run.")
    bases = _side(baseline, measure, "baseline"), _side(reproduced_baseline, measure, "reproduced baseline")
    gains = [_gain(side, base, notes) for side, base in zip((one, other), bases, strict=True)]
    if gains[0] is None or gains[1] is None:
        notes.append("effects need the scores of all four runs.")
        return None
    (original, original_relative), (reproduced, reproduced_relative) = gains[0], gains[1]
    effect = Effect(original, reproduced, original_relative, reproduced_relative)
    if effect.ratio is None:
        notes.append("the original run gains nothing over its baseline: there is no effect ratio.")
    if effect.delta_ri is None:
        notes.append("a baseline's mean is 0: relative gains are not defined.")
    return effect


def _gain(side: _Side, base: _Side, notes: list[str]) -> tuple[float, float | None] | None:
    """The mean gain over a baseline, and its share of the baseline's mean."""
    if side.scores is None or base.scores is None:
        return None
    queries = _in_common(side, base, side.scores, base.scores, notes)
    if not queries:
        raise CranfieldError(f"{side.name} and {base.name} have no topic in common.")
    gain = math.fsum(side.scores[query] - base.scores[query] for query in queries) / len(queries)
    mean = math.fsum(base.scores[query] for query in queries) / len(queries)
    return gain, gain / mean if abs(mean) > TOLERANCE else None


def _in_common(
    one: _Side, other: _Side, first: Mapping[str, Any], second: Mapping[str, Any], notes: list[str]
) -> list[str]:
    """The topics that both have; a note names the others."""
    for side, mine, theirs in ((one, first, second), (other, second, first)):
        only = [query for query in mine if query not in theirs]
        said = f"{pluralize(len(only), 'topic')} left out because only the {side.name} has them: {join_names(only, 3)}."
        if only and said not in notes:
            notes.append(said)
    return [query for query in first if query in second]


def _orders(one: _Side, other: _Side, depth: int, p: float, notes: list[str]) -> dict[str, Order]:
    if one.run is None or other.run is None:
        return {}
    queries = _in_common(one, other, one.run.position, other.run.position, notes)
    pairs = zip(_rankings(one, queries), _rankings(other, queries), strict=True)
    orders = {query: _order(x[:depth], y[:depth], p) for query, (x, y) in zip(queries, pairs, strict=True)}
    few = [query for query, order in orders.items() if order.tau is None]
    if few:
        notes.append(f"tau is not defined for {pluralize(len(few), 'topic')} with fewer than two common documents.")
    return orders


def _rankings(side: _Side, queries: Sequence[str]) -> Iterator[list[str]]:
    """The documents of each query, best first, with ties broken as in an evaluation."""
    assert side.run is not None
    if queries:
        judged = join_run(Qrels.from_rows([], [], [], empty_queries=queries), side.run, side.joining)
        at = {query: i for i, query in enumerate(judged.queries)}
        yield from (judged.ranking(at[query]) for query in queries)


def _order(x: list[str], y: list[str], p: float) -> Order:
    place = {doc: i for i, doc in enumerate(y)}
    return Order(
        common=sum(doc in place for doc in x),
        tau=_tau([place[doc] for doc in x if doc in place]),
        rbo=rbo(x, y, p).ext,
        ktu=_tau_union(x, y),
    )


def _tau_union(x: list[str], y: list[str]) -> float | None:
    """Kendall's tau union, as in repro_eval: positions in the sorted union, correlated rank by rank.

    Lists of different length, which repro_eval does not accept, are cut to the shorter.
    """
    union = {doc: i for i, doc in enumerate(sorted({*x, *y}))}
    paired = sorted((union[a], union[b]) for a, b in zip(x, y, strict=False))
    return _tau([b for _, b in paired])


def _tau(places: Sequence[int]) -> float | None:
    """Kendall's tau between a list of different numbers and its sorted order; None for fewer than two."""
    n = len(places)
    if n < 2:
        return None
    seen: list[int] = []
    inversions = 0
    for i, place in enumerate(places):
        at = bisect.bisect(seen, place)
        inversions += i - at
        seen.insert(at, place)
    pairs = n * (n - 1) // 2
    return (pairs - 2 * inversions) / pairs


def _root_mean_square(values: Iterator[float]) -> float:
    squares = [value * value for value in values]
    return math.sqrt(math.fsum(squares) / len(squares))


def _mean(values: Iterator[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None
