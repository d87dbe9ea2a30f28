"""All that `cranfield pool` finds out in one go: the pool, how alike its runs are, votes, and strategies replayed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Qrels, Run
from cranfield.evaluation import evaluate
from cranfield.pooling.build import DEPTH, complete_pool, make_pool
from cranfield.pooling.lists import Lists, named_runs, ranked_lists
from cranfield.pooling.pool import Pool
from cranfield.pooling.prior_judgments import Known
from cranfield.pooling.pseudo_qrels import SHARE, SPREAD, Votes, relevant_shares, votes
from cranfield.pooling.replay import Curve, curves
from cranfield.pooling.run_similarity import TOP, Likeness, likeness
from cranfield.stats import kendall_tau


class Survey(Record, eq=False):
    """What was found out about some runs; what was not asked for is None."""

    alike: Likeness | None
    pool: Pool | None = None
    guess: Guess | None = None
    curves: tuple[Curve, ...] = ()

    @property
    def warnings(self) -> list[str]:
        return [] if self.alike is None else list(self.alike.warnings())

    @property
    def notes(self) -> list[str]:
        return [] if self.pool is None else list(self.pool.notes)


class Guess(Record, eq=False):
    """Systems ranked without judgments, beside what judgments say of them, if there are any."""

    votes: Votes
    truth: Floats | None = None  # the mean AP of each system
    tau: float | None = None  # between the two rankings; None if it is not defined


def survey(
    runs: Any,
    strategies: Sequence[str] = ("depth",),
    depth: int = DEPTH,
    seed: int = 1,
    *,
    judged: Qrels | None = None,
    replayed: Qrels | None = None,
    with_votes: bool = False,
    with_pool: bool = True,
    complete: bool = False,
    rel: float = 1.0,
    pooling: dict[str, Any] | None = None,
    **shared: Any,
) -> Survey:
    """Make a pool and compare its runs; rank them by votes, and replay strategies on judgments, if asked to.

    `pooling` are the options of `make_pool` alone, `shared` those of strategies, which a replay has too. With
    `complete` the pool is what is missing to judge the runs to the depth.
    """
    named = named_runs(runs)
    lists = ranked_lists(named, max(depth, TOP))
    own = {"depth": depth, "seed": seed, "rel": rel, **shared}
    make = complete_pool if complete else partial(make_pool, strategy=strategies[0])
    return Survey(
        alike=likeness(lists, depth) if len(named) > 1 else None,
        pool=make(named, judged=judged, **own, **(pooling or {})) if with_pool else None,
        guess=_guess(named, lists, depth, seed, judged, rel) if with_votes else None,
        curves=() if replayed is None else tuple(curves(named, replayed, _with_depth(strategies), **own)),
    )


def _with_depth(strategies: Sequence[str]) -> list[str]:
    """Strategies with the order that others are held against."""
    return list(dict.fromkeys(["depth", *strategies]))


def _guess(
    runs: Sequence[Run], lists: dict[str, Lists], depth: int, seed: int, judged: Qrels | None, rel: float
) -> Guess:
    if judged is None:
        return Guess(votes(lists, depth, seed=seed))
    # how much of a pool is relevant, and how that differs from topic to topic, is all that judgments may tell
    shares = [share for share in relevant_shares(lists, Known.of(judged).grades, rel) if share > 0]
    share = float(np.mean(shares)) if shares else SHARE
    spread = float(np.std(shares)) if len(shares) > 1 else SPREAD
    found = votes(lists, depth, share=share, spread=spread, seed=seed)
    scores = evaluate(judged, list(runs), ["AP"], rel=rel)
    truth = np.array([scores.mean("AP", run.name) for run in runs])
    tau = kendall_tau(truth, found.pseudo)
    return Guess(found, truth, None if math.isnan(tau) else tau)
