"""Adaptive pools: a strategy of `pooling` is asked for more documents when those of a topic are judged."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Protocol

from cranfield.annotation.database import Connection
from cranfield.annotation.log import PEOPLE, JudgmentLog
from cranfield.annotation.settings import load_settings
from cranfield.errors import InputError


class Asking(Protocol):
    """What is needed of a strategy, such as `pooling.Asker`: it asks, and is told what was judged."""

    def next(self, judged: Mapping[str, float], n: int = 1) -> list[str]: ...

    def batch(self, judged: int) -> int: ...


def askers_of(
    runs: Any, strategy: str, depth: int = 100, seed: int = 1, rel: float = 1.0, **params: Any
) -> dict[str, Asking]:
    """What a strategy of `cranfield pool` asks for each topic of some runs. It knows ranks, and must stay with us."""
    from cranfield.pooling import STRATEGIES, PoolingContext, as_sorted_runs, collect_ranked_lists, find_strategy

    chosen, setting = find_strategy(strategy), PoolingContext(seed=seed, rel=rel)
    if chosen.needs:
        known = ", ".join(one.name for one in STRATEGIES.values() if one.kind == "adaptive" and not one.needs)
        raise InputError(f"{chosen.name} needs more than runs; while documents are judged, a pool grows by {known}.")
    lists = collect_ranked_lists(as_sorted_runs(runs), depth)
    return {query: chosen.selector(own, setting, params) for query, own in lists.items()}


def feeder(
    log: JudgmentLog, askers: Mapping[str, Asking], budget: int | None = None, batch: int | None = None
) -> Callable[[str], int]:
    """A function that takes up the next batch of a topic once all its documents are judged; for `Desk(feed=…)`.

    `budget` is the number of documents of a topic at most, `batch` how many join at a time: as many as the strategy has
    it, unless told. They join behind the others, in an order by chance.
    """

    def feed(query: str) -> int:
        if query not in askers:
            return 0
        judged, waiting = grades(log, query)
        if waiting:
            return 0
        size = batch or askers[query].batch(len(judged))
        room = size if budget is None else min(size, budget - len(judged))
        return log.add_pairs({query: askers[query].next(judged, room)}) if room > 0 else 0

    return feed


def growing(
    log: JudgmentLog,
    runs: Any,
    strategy: str,
    depth: int = 100,
    budget: int | None = None,
    batch: int | None = None,
    seed: int = 1,
    topics: Container[str] | None = None,
) -> Callable[[str], int]:
    """What a pool of some runs grows by while it is judged, for `Desk(feed=…)`.

    The topics are those of the pool. Where it is empty they are those of the runs, as far as they are among `topics`,
    and begin with what the strategy asks for first.
    """
    askers = askers_of(runs, strategy, depth, seed)
    feed = feeder(log, askers, budget, batch)
    if not log.topics():
        for query in askers:
            if topics is None or query in topics:
                feed(query)
    return feed


def grades(log: JudgmentLog, query: str) -> tuple[dict[str, float], int]:
    """What is known of a topic by now, as a strategy is told it, and how many documents still wait for a judgment.

    A grade is what was adjudicated, else the mean of people's. What nobody could judge counts as the lowest grade, or
    it would be asked for again and again.
    """

    def work(at: Connection) -> tuple[dict[str, float], int]:
        lowest = load_settings(at).scale.values[0]
        own = f"s.pair = p.pair AND s.again = 0 AND s.assessor IN {PEOPLE}"
        rows = at.rows(
            f"""
            SELECT p.doc, p.adjudicated,
                (SELECT AVG(s.grade) FROM states s WHERE {own} AND s.kind = 'judge'),
                (SELECT COUNT(*) FROM states s WHERE {own} AND s.kind = 'cannot')
            FROM pairs p WHERE p.query = ? AND p.gold IS NULL
            """,
            query,
        )
        known: dict[str, float] = {}
        for doc, adjudicated, mean, cannot in rows:
            grade = adjudicated if adjudicated is not None else mean
            if grade is not None or cannot:
                known[doc] = lowest if grade is None else float(grade)
        return known, len(rows) - len(known)

    return log.read(work)
