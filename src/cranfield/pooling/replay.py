"""Replaying strategies: what each would have selected, given qrels that exist already."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from cranfield.base import Record, replace
from cranfield.data import Document, Ints
from cranfield.errors import CranfieldError
from cranfield.io import as_qrels
from cranfield.pooling.prior_judgments import PriorJudgments
from cranfield.pooling.ranked_lists import as_sorted_runs, collect_ranked_lists
from cranfield.pooling.selector import GradeLookup, PoolingContext, Search, TieRule
from cranfield.pooling.strategies import STRATEGIES, find_strategy

Unjudged = Literal["skip", "nonrelevant"]


def replay(
    runs: Any,
    qrels: Any,
    strategy: str = "depth",
    budget: int | None = None,
    depth: int | None = None,
    seed: int = 1,
    *,
    rel: float = 1.0,
    unjudged: Unjudged = "skip",
    ties: TieRule = "chance",
    topics: Mapping[str, str] | None = None,
    documents: Iterable[Document] | None = None,
    search: Search | None = None,
    **params: Any,
) -> Mapping[str, tuple[str, ...]]:
    """The documents of each query in the order in which a strategy selects them, at most `budget` for each.

    A strategy sees the grade of a document only after selecting it. The queries are those that runs and qrels have in
    common. Unjudged documents are removed from the lists, or count as not relevant.

    >>> runs = {"a": {"1": {"x": 3, "y": 2}}, "b": {"1": {"z": 3, "x": 2}}}
    >>> replay(runs, {"1": {"x": 1, "y": 0, "z": 0}})
    {'1': ('x', 'z', 'y')}
    """
    if unjudged not in get_args(Unjudged):
        raise CranfieldError(f"unjudged {unjudged!r}: expected one of {', '.join(get_args(Unjudged))}.")
    require_positive(budget=budget)
    judged = PriorJudgments.of(qrels).grades
    chosen = find_strategy(strategy)
    context = PoolingContext(seed, rel, ties, topics, documents, search)
    chosen.require(context)
    lists = collect_ranked_lists(as_sorted_runs(runs), depth)
    chosen.require_texts(context, lists.values())
    common = [query for query in lists if query in judged]
    if not common:
        raise CranfieldError("runs and qrels have no query in common. See 'cranfield check'.")
    selected: dict[str, tuple[str, ...]] = {}
    for query in common:
        grades = judged[query]
        topic_lists = lists[query].restrict_to(grades) if unjudged == "skip" else lists[query]
        selector = chosen.selector(topic_lists, context, params)
        selected[query] = tuple(selector.replay(_grade_lookup(grades, unjudged), budget))
    return selected


class GainCurve(Record, eq=False):
    """How many relevant documents a strategy finds with a number of judgments for each topic."""

    strategy: str
    judged: Ints  # over all topics, when each has had 0, 1, 2 … judgments, or as many as there are
    found: Ints  # relevant documents among them
    relevant: int  # how many there are to find

    def share_at(self, judgments: float) -> float:
        """The share of the relevant documents found with a number of judgments."""
        if not self.relevant:
            return 0.0
        return float(np.interp(judgments, self.judged, self.found)) / self.relevant

    def mean_share(self, most: int) -> float:
        """The area under the curve up to a number of judgments: the mean share of relevant documents found."""
        if not self.relevant or not most:
            return 0.0
        inside = self.judged <= most
        x, y = np.append(self.judged[inside], most), np.append(self.found[inside], self.share_at(most) * self.relevant)
        return float(np.sum((y[1:] + y[:-1]) * np.diff(x)) / 2 / most / self.relevant)


def compute_gain_curve(strategy: str, selected: Mapping[str, Sequence[str]], qrels: Any, rel: float = 1.0) -> GainCurve:
    """The curve of the documents selected in a replay.

    >>> curve = compute_gain_curve("depth", {"1": ("x", "z", "y")}, {"1": {"x": 1, "y": 1, "z": 0}})
    >>> curve.found.tolist(), curve.relevant
    ([0, 1, 1, 2], 2)
    """
    judged = PriorJudgments.of(qrels).grades
    longest = max(map(len, selected.values()), default=0)
    number, found = np.zeros(longest + 1, dtype=np.int64), np.zeros(longest + 1, dtype=np.int64)
    for query, docs in selected.items():
        grades = judged.get(query, {})
        hits = np.array([grades.get(doc, -math.inf) >= rel for doc in docs], dtype=np.int64)  # may be empty
        number[1 : len(docs) + 1] += 1
        found[1 : len(docs) + 1] += hits
    relevant = sum(grade >= rel for query in selected for grade in judged.get(query, {}).values())
    return GainCurve(strategy, np.cumsum(number), np.cumsum(found), relevant)


def compare_strategies(
    runs: Any, qrels: Any, strategies: Sequence[str], *, rel: float = 1.0, **options: Any
) -> list[GainCurve]:
    """The curves of several strategies. To find is what any run has within the depth, or any strategy found.

    A parameter is passed to those strategies that have it.
    """
    names = [find_strategy(name).name for name in strategies]
    every = {parameter for strategy in STRATEGIES.values() for parameter in strategy.parameters}
    known = {parameter for name in names for parameter in STRATEGIES[name].parameters}
    unused = [name for name in options if name in every and name not in known]
    if unused:
        raise CranfieldError(f"none of {', '.join(names)} has a parameter {unused[0]!r}.")
    judged, sorted_runs = as_qrels(qrels), as_sorted_runs(runs)
    by_depth = replay(sorted_runs, judged, "depth", depth=options.get("depth"), rel=rel)
    curves = []
    for name in names:
        own = STRATEGIES[name].parameters
        params = {key: value for key, value in options.items() if key not in every or key in own}
        curves.append(compute_gain_curve(name, replay(sorted_runs, judged, name, rel=rel, **params), judged, rel))
    reachable = [compute_gain_curve("depth", by_depth, judged, rel), *curves]
    most = max(int(curve.found[-1]) for curve in reachable)
    return [replace(curve, relevant=most) for curve in curves]


def _grade_lookup(grades: Mapping[str, float], unjudged: Unjudged) -> GradeLookup:
    default = None if unjudged == "skip" else 0.0
    return lambda doc: grades.get(doc, default)


def require_positive(**numbers: int | None) -> None:
    """Raise an error for a number that is given and not a whole number from 1."""
    for name, number in numbers.items():
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise CranfieldError(f"{name} {number!r}: expected a whole number from 1.")
