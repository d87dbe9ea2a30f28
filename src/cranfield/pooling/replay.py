"""Strategies replayed: what each would have asked for, given judgments that are all there already."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from cranfield.base import Record, replace
from cranfield.data import Document, Ints
from cranfield.errors import CranfieldError
from cranfield.io import as_qrels
from cranfield.pooling.lists import named_runs, ranked_lists
from cranfield.pooling.prior_judgments import Known
from cranfield.pooling.strategies import STRATEGIES, strategy_of
from cranfield.pooling.strategy import Answer, Search, Setting, TieRule

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
    """The documents of each query in the order in which a strategy asks for them, at most `budget` of each.

    A strategy is told the grade of a document when it has asked for it, and no other. Queries are those that runs and
    qrels have in common. Documents without a judgment are left out of the lists, or count as not relevant.

    >>> runs = {"a": {"1": {"x": 3, "y": 2}}, "b": {"1": {"z": 3, "x": 2}}}
    >>> replay(runs, {"1": {"x": 1, "y": 0, "z": 0}})
    {'1': ('x', 'z', 'y')}
    """
    if unjudged not in get_args(Unjudged):
        raise CranfieldError(f"unjudged {unjudged!r}: expected one of {', '.join(get_args(Unjudged))}.")
    require_positive(budget=budget)
    judged = Known.of(qrels).grades
    chosen = strategy_of(strategy)
    setting = Setting(seed, rel, ties, topics, documents, search)
    chosen.require(setting)
    lists = ranked_lists(named_runs(runs), depth)
    chosen.require_texts(setting, lists.values())
    common = [query for query in lists if query in judged]
    if not common:
        raise CranfieldError("runs and qrels have no query in common. See 'cranfield check'.")
    asked: dict[str, tuple[str, ...]] = {}
    for query in common:
        grades = judged[query]
        own = lists[query].among(grades) if unjudged == "skip" else lists[query]
        asker = chosen.asker(own, setting, params)
        asked[query] = tuple(asker.replay(_answer(grades, unjudged), budget))
    return asked


class Curve(Record, eq=False):
    """How many relevant documents a strategy finds with so many judgments of each topic."""

    strategy: str
    judged: Ints  # in all topics, when each has had 0, 1, 2 … judgments or all that there are
    found: Ints  # relevant ones among them
    relevant: int  # all that are to be found

    def share_at(self, judgments: float) -> float:
        """The share of the relevant documents that are found with a number of judgments."""
        if not self.relevant:
            return 0.0
        return float(np.interp(judgments, self.judged, self.found)) / self.relevant

    def mean_share(self, most: int) -> float:
        """The share that is found, on the average over all numbers of judgments up to one: the area below the curve."""
        inside = self.judged <= most
        x, y = np.append(self.judged[inside], most), np.append(self.found[inside], self.share_at(most) * self.relevant)
        return (
            float(np.sum((y[1:] + y[:-1]) * np.diff(x)) / 2 / most / self.relevant) if self.relevant and most else 0.0
        )


def curve(strategy: str, asked: Mapping[str, Sequence[str]], qrels: Any, rel: float = 1.0) -> Curve:
    """The curve of what was asked in a replay.

    >>> found = curve("depth", {"1": ("x", "z", "y")}, {"1": {"x": 1, "y": 1, "z": 0}})
    >>> found.found.tolist(), found.relevant
    ([0, 1, 1, 2], 2)
    """
    judged = Known.of(qrels).grades
    longest = max(map(len, asked.values()), default=0)
    number, found = np.zeros(longest + 1, dtype=np.int64), np.zeros(longest + 1, dtype=np.int64)
    for query, docs in asked.items():
        grades = judged.get(query, {})
        hits = np.array([grades.get(doc, -math.inf) >= rel for doc in docs], dtype=np.int64)  # may be empty
        number[1 : len(docs) + 1] += 1
        found[1 : len(docs) + 1] += hits
    relevant = sum(grade >= rel for query in asked for grade in judged.get(query, {}).values())
    return Curve(strategy, np.cumsum(number), np.cumsum(found), relevant)


def curves(runs: Any, qrels: Any, strategies: Sequence[str], *, rel: float = 1.0, **options: Any) -> list[Curve]:
    """The curves of several strategies; to be found is what some run has to the depth, or what one of them found.

    A parameter goes to those strategies that have it.
    """
    names = [strategy_of(name).name for name in strategies]
    known = [parameter for name in names for parameter in strategy_of(name).parameters]
    every = {parameter for strategy in STRATEGIES.values() for parameter in strategy.parameters}
    unused = [name for name in options if name in every and name not in known]
    if unused:
        raise CranfieldError(f"{unused[0]!r} is a parameter of none of {', '.join(names)}.")
    judged, given = as_qrels(qrels), named_runs(runs)
    reachable = curve("depth", replay(given, judged, "depth", depth=options.get("depth"), rel=rel), judged, rel).found[
        -1
    ]
    found = []
    for name in names:
        own = strategy_of(name).parameters
        taken = {key: value for key, value in options.items() if key not in every or key in own}
        found.append(curve(name, replay(given, judged, name, rel=rel, **taken), judged, rel))
    most = max(int(reachable), *(int(one.found[-1]) for one in found))
    return [replace(one, relevant=most) for one in found]


def _answer(grades: Mapping[str, float], unjudged: Unjudged) -> Answer:
    otherwise = None if unjudged == "skip" else 0.0
    return lambda doc: grades.get(doc, otherwise)


def require_positive(**numbers: int | None) -> None:
    """An error for a number that is there and not a whole one from 1."""
    for name, number in numbers.items():
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise CranfieldError(f"{name} {number!r}: expected a whole number from 1.")
