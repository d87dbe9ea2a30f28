"""Choosing parameters by cross-validation: a setting is chosen on some topics and scored on the others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Qrels, Run
from cranfield.errors import CranfieldError
from cranfield.evaluation import Evaluator, Interval, interval
from cranfield.fusion import split_folds
from cranfield.measures import Measure, parse_measures

Setting = Mapping[str, float]
Search = Callable[[Setting], Run]


class Fold(Record):
    """The setting that was best on all other topics, and what it scores there and here."""

    topics: tuple[str, ...]
    setting: Setting
    elsewhere: float  # on the topics it was chosen by: optimistic
    here: float


class Tuning(Record, eq=False):
    """What came out: the settings tried, with the score of every topic, and the choice of each fold."""

    measure: str
    topics: tuple[str, ...]
    settings: tuple[Setting, ...]
    values: Floats  # one row a setting, one column a topic
    folds: tuple[Fold, ...]
    seed: int
    more_is_better: bool = True

    @property
    def means(self) -> list[float]:
        """The mean of each setting over all topics."""
        return [math.fsum(row) / len(row) for row in self.values.tolist()]

    @property
    def best(self) -> int:
        """The setting that is best on all topics; the first of equals."""
        return _best(self.values, self.more_is_better)

    @property
    def optimistic(self) -> float:
        """The mean of the best setting on the very topics that it was chosen by."""
        return self.means[self.best]

    @property
    def per_topic(self) -> dict[str, float]:
        """The score of each topic with the setting chosen without it."""
        place = {topic: i for i, topic in enumerate(self.topics)}
        return {
            topic: float(self.values[self.settings.index(fold.setting), place[topic]])
            for fold in self.folds
            for topic in fold.topics
        }

    @property
    def held_out(self) -> float:
        """The mean over topics, each with the setting chosen without it: what to expect of new topics."""
        found = list(self.per_topic.values())
        return math.fsum(found) / len(found)

    @property
    def held_out_interval(self) -> Interval | None:
        return interval(list(self.per_topic.values()))


def grid(values: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    """Every combination of values.

    >>> grid({"k1": [0.9, 1.2], "b": [0.4]})
    [{'k1': 0.9, 'b': 0.4}, {'k1': 1.2, 'b': 0.4}]
    """
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


def random_settings(ranges: Mapping[str, tuple[float, float]], n: int, seed: int = 1) -> list[dict[str, float]]:
    """Settings drawn evenly between two ends each, to four digits."""
    rng = np.random.default_rng(seed)
    return [
        {name: float(f"{low + (high - low) * rng.random():.4g}") for name, (low, high) in ranges.items()}
        for _ in range(n)
    ]


def tune(
    search: Search,
    settings: Sequence[Setting],
    qrels: Qrels,
    measure: str | Measure = "AP",
    folds: int = 5,
    seed: int = 1,
    passing: Callable[[Iterable[Setting]], Iterable[Setting]] = iter,
) -> Tuning:
    """Score every setting on every topic, and choose one for each fold by the topics outside it."""
    if not settings:
        raise CranfieldError("no settings to try.")
    ((label, parsed),) = parse_measures([measure])
    evaluator = Evaluator(qrels, [measure])
    values = np.array([evaluator.evaluate(search(setting)).values(label) for setting in passing(settings)])
    topics = evaluator.qrels.queries
    place = {topic: i for i, topic in enumerate(topics)}
    parts = [[place[topic] for topic in part] for part in split_folds(topics, folds, seed)]
    found = [_fold(topics, settings, values, part, parsed.more_is_better) for part in parts]
    return Tuning(label, topics, tuple(settings), values, tuple(found), seed, parsed.more_is_better)


def chosen_run(tuning: Tuning, search: Search) -> Run:
    """The run in which every topic is searched with the setting chosen without it."""
    queries: list[str] = []
    docs: list[Any] = []
    scores: list[Floats] = []
    for fold in tuning.folds:
        run = search(fold.setting)
        for topic in fold.topics:
            rows = run.rows_of(run.position[topic]) if topic in run.position else slice(0, 0)
            queries.extend([topic] * (rows.stop - rows.start))
            docs.extend(run.docs[rows].tolist())
            scores.append(run.scores[rows])
    return Run.from_rows(queries, docs, np.concatenate(scores or [np.empty(0)]), name="tuned", tag="tuned")


def _fold(topics: Sequence[str], settings: Sequence[Setting], values: Floats, part: list[int], more: bool) -> Fold:
    others = [i for i in range(len(topics)) if i not in set(part)]
    at = _best(values[:, others], more)
    elsewhere, here = (math.fsum(values[at, rows].tolist()) / len(rows) for rows in (others, part))
    return Fold(tuple(topics[i] for i in part), settings[at], elsewhere, here)


def _best(values: Floats, more: bool) -> int:
    # rounded, so that equal means are equal whatever order they were added in
    means = np.round([math.fsum(row) / len(row) for row in values.tolist()], 12)
    return int(np.argmax(means if more else -means))
