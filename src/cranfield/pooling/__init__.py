"""Pooling: which documents of which runs to judge, in which order, and how far the judgments of a pool reach."""

from cranfield.pooling.budgets import BudgetCurve, BudgetCurves, Fidelity
from cranfield.pooling.build import COMPLETE, make_pool
from cranfield.pooling.contributions import (
    JUDGED_DEPTHS,
    Contribution,
    PooledRuns,
    TopicPool,
    count_run_contributions,
    find_judged_depth,
    summarize_topics,
)
from cranfield.pooling.diagnosis import DEFAULT_MEASURES, Diagnosis, ScoreBound, diagnose
from cranfield.pooling.groups import read_run_groups
from cranfield.pooling.load_runs import read_runs, refuse_overwriting_inputs
from cranfield.pooling.overview import JudgmentFreeRanking, PoolOverview, build_overview
from cranfield.pooling.pool import Pool, provenance_path, read_pool, write_pool
from cranfield.pooling.ranked_lists import RankedLists, as_sorted_runs, collect_ranked_lists
from cranfield.pooling.recall import (
    INTERVAL_NAMES,
    MethodResult,
    RecallReport,
    RelevantEstimate,
    SampleSize,
    estimate_recall,
)
from cranfield.pooling.replay import GainCurve, replay
from cranfield.pooling.reusability import (
    LeaveOutEffect,
    LeaveOutResult,
    LeaveOutSummary,
    Reusability,
    ScoreChange,
    leave_out,
)
from cranfield.pooling.run_similarity import RBO_DEPTH, RBO_P, SIMILAR_RBO, RunSimilarity
from cranfield.pooling.sampling import build_sampled_qrels
from cranfield.pooling.selector import PoolingContext, Selector
from cranfield.pooling.strategies import STRATEGIES, find_strategy

__all__ = [
    "COMPLETE",
    "DEFAULT_MEASURES",
    "INTERVAL_NAMES",
    "JUDGED_DEPTHS",
    "RBO_DEPTH",
    "RBO_P",
    "SIMILAR_RBO",
    "STRATEGIES",
    "BudgetCurve",
    "BudgetCurves",
    "Contribution",
    "Diagnosis",
    "Fidelity",
    "GainCurve",
    "JudgmentFreeRanking",
    "LeaveOutEffect",
    "LeaveOutResult",
    "LeaveOutSummary",
    "MethodResult",
    "Pool",
    "PoolOverview",
    "PooledRuns",
    "PoolingContext",
    "RankedLists",
    "RecallReport",
    "RelevantEstimate",
    "Reusability",
    "RunSimilarity",
    "SampleSize",
    "ScoreBound",
    "ScoreChange",
    "Selector",
    "TopicPool",
    "as_sorted_runs",
    "build_overview",
    "build_sampled_qrels",
    "collect_ranked_lists",
    "count_run_contributions",
    "diagnose",
    "estimate_recall",
    "find_judged_depth",
    "find_strategy",
    "leave_out",
    "make_pool",
    "provenance_path",
    "read_pool",
    "read_run_groups",
    "read_runs",
    "refuse_overwriting_inputs",
    "replay",
    "summarize_topics",
    "write_pool",
]
