"""Adaptive pools: when the documents of a topic are judged, a pooling strategy selects more."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from cranfield.annotation.database import Connection
from cranfield.annotation.log import HUMAN_ASSESSORS, JudgmentLog
from cranfield.annotation.settings import load_settings
from cranfield.errors import InputError
from cranfield.pooling import (
    STRATEGIES,
    PoolingContext,
    Selector,
    as_sorted_runs,
    collect_ranked_lists,
    find_strategy,
)


def build_selectors(
    runs: Any, strategy: str, depth: int = 100, seed: int = 1, rel: float = 1.0, **params: Any
) -> dict[str, Selector]:
    """A selector for each topic of some runs. Selectors know ranks, so they must not reach assessors."""
    chosen, context = find_strategy(strategy), PoolingContext(seed=seed, rel=rel)
    if chosen.needs:
        known = ", ".join(one.name for one in STRATEGIES.values() if one.kind == "adaptive" and not one.needs)
        raise InputError(f"{chosen.name} needs more than runs; a pool that grows during judging can use {known}.")
    lists = collect_ranked_lists(as_sorted_runs(runs), depth)
    return {query: chosen.selector(one, context, params) for query, one in lists.items()}


def make_refill(
    log: JudgmentLog, selectors: Mapping[str, Selector], budget: int | None = None, batch: int | None = None
) -> Callable[[str], int]:
    """A function for `AssessorSession(refill=…)` that adds the next batch of a topic once all its documents are judged.

    `budget` is the largest number of documents of a topic, `batch` how many to add at a time; the default is that of
    the strategy. New documents come after the others, in random order.
    """

    def refill(query: str) -> int:
        if query not in selectors:
            return 0
        judged, unjudged = load_grades(log, query)
        if unjudged:
            return 0
        size = batch or selectors[query].batch(len(judged))
        room = size if budget is None else min(size, budget - len(judged))
        return log.add_pairs({query: selectors[query].next(judged, room)}) if room > 0 else 0

    return refill


def start_adaptive_pool(
    log: JudgmentLog,
    runs: Any,
    strategy: str,
    depth: int = 100,
    budget: int | None = None,
    batch: int | None = None,
    seed: int = 1,
    topics: Container[str] | None = None,
) -> Callable[[str], int]:
    """Let a strategy extend the pool while it is judged; return the function for `AssessorSession(refill=…)`.

    The topics are those of the log. If it has none, they are the topics of the runs that are among `topics`, and start
    with the first batch of the strategy.
    """
    selectors = build_selectors(runs, strategy, depth, seed)
    refill = make_refill(log, selectors, budget, batch)
    if not log.topics():
        for query in selectors:
            if topics is None or query in topics:
                refill(query)
    return refill


def load_grades(log: JudgmentLog, query: str) -> tuple[dict[str, float], int]:
    """The grades of a topic for a strategy, and how many of its documents are not judged yet.

    A grade is the adjudicated one, or the mean of people's grades. A document that nobody could judge has the lowest
    grade, or it would be selected again and again.
    """

    def work(db: Connection) -> tuple[dict[str, float], int]:
        lowest = load_settings(db).scale.values[0]
        own = f"s.pair = p.pair AND s.again = 0 AND s.assessor IN {HUMAN_ASSESSORS}"
        rows = db.rows(
            f"""
            SELECT p.doc, p.adjudicated,
                (SELECT AVG(s.grade) FROM states s WHERE {own} AND s.kind = 'judge'),
                (SELECT COUNT(*) FROM states s WHERE {own} AND s.kind = 'cannot')
            FROM pairs p WHERE p.query = ? AND p.gold IS NULL
            """,
            query,
        )
        grades: dict[str, float] = {}
        for doc, adjudicated, mean, cannot in rows:
            grade = adjudicated if adjudicated is not None else mean
            if grade is not None or cannot:
                grades[doc] = lowest if grade is None else float(grade)
        return grades, len(rows) - len(grades)

    return log.read(work)
