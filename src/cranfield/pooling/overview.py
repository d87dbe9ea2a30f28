"""All that `cranfield pool` computes: the pool, the similarity of its runs, judgment-free rankings, and replays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Qrels, Run
from cranfield.evaluation import evaluate
from cranfield.pooling.build import DEPTH, complete_pool, make_pool
from cranfield.pooling.pool import Pool
from cranfield.pooling.prior_judgments import PriorJudgments
from cranfield.pooling.pseudo_qrels import (
    SHARE,
    SPREAD,
    JudgmentFreeScores,
    relevant_shares,
    score_without_judgments,
)
from cranfield.pooling.ranked_lists import RankedLists, as_sorted_runs, collect_ranked_lists
from cranfield.pooling.replay import GainCurve, compare_strategies
from cranfield.pooling.run_similarity import RBO_DEPTH, RunSimilarity, compare_runs
from cranfield.stats import kendall_tau


class JudgmentFreeRanking(Record, eq=False):
    """Systems ranked without judgments, and how that compares to their scores with judgments, if there are any."""

    scores: JudgmentFreeScores
    ap: Floats | None = None  # mean AP of each system
    tau: float | None = None  # between the two rankings; None if undefined


class PoolOverview(Record, eq=False):
    """What was computed for some runs; parts that were not requested are None or empty."""

    similarity: RunSimilarity | None
    pool: Pool | None = None
    ranking: JudgmentFreeRanking | None = None
    curves: tuple[GainCurve, ...] = ()

    @property
    def warnings(self) -> list[str]:
        return [] if self.similarity is None else list(self.similarity.warnings())

    @property
    def notes(self) -> list[str]:
        return [] if self.pool is None else list(self.pool.notes)


def build_overview(
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
) -> PoolOverview:
    """Make a pool and compare its runs; optionally rank the runs without judgments, and replay strategies on qrels.

    `pooling` has the options of `make_pool` alone, `shared` those of strategies, which a replay uses as well. With
    `complete` the pool consists of the unjudged documents of the runs down to the depth.
    """
    sorted_runs = as_sorted_runs(runs)
    lists = collect_ranked_lists(sorted_runs, max(depth, RBO_DEPTH))
    options = {"depth": depth, "seed": seed, "rel": rel, **shared}
    make = complete_pool if complete else partial(make_pool, strategy=strategies[0])
    compared = list(dict.fromkeys(["depth", *strategies]))  # depth is the baseline
    return PoolOverview(
        similarity=compare_runs(lists, depth) if len(sorted_runs) > 1 else None,
        pool=make(sorted_runs, judged=judged, **options, **(pooling or {})) if with_pool else None,
        ranking=_rank_without_judgments(sorted_runs, lists, depth, seed, judged, rel) if with_votes else None,
        curves=() if replayed is None else tuple(compare_strategies(sorted_runs, replayed, compared, **options)),
    )


def _rank_without_judgments(
    runs: Sequence[Run], lists: Mapping[str, RankedLists], depth: int, seed: int, judged: Qrels | None, rel: float
) -> JudgmentFreeRanking:
    if judged is None:
        return JudgmentFreeRanking(score_without_judgments(lists, depth, seed=seed))
    # judgments are used only for the share of relevant documents, and how it varies between topics
    shares = [share for share in relevant_shares(lists, PriorJudgments.of(judged).grades, rel) if share > 0]
    share = float(np.mean(shares)) if shares else SHARE
    spread = float(np.std(shares)) if len(shares) > 1 else SPREAD
    scores = score_without_judgments(lists, depth, share=share, spread=spread, seed=seed)
    evaluated = evaluate(judged, list(runs), ["AP"], rel=rel)
    ap = np.array([evaluated.mean("AP", run.name) for run in runs])
    tau = kendall_tau(ap, scores.pseudo)
    return JudgmentFreeRanking(scores, ap, None if math.isnan(tau) else tau)
