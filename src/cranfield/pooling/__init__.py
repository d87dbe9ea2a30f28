"""Pooling: which documents of which runs to judge, in what order, and what a pool is made of."""

from cranfield.pooling.budgets import BudgetCurve, Budgets, Fidelity
from cranfield.pooling.build import COMPLETE, make_pool
from cranfield.pooling.contributions import (
    DEPTHS,
    Contribution,
    PooledRuns,
    TopicPool,
    contributions_of_runs,
    judged_depth,
    topic_pools,
)
from cranfield.pooling.diagnosis import MEASURES, Bound, Diagnosis, diagnose
from cranfield.pooling.groups import read_run_groups
from cranfield.pooling.lists import Lists, named_runs, ranked_lists
from cranfield.pooling.load_runs import read_runs, require_apart
from cranfield.pooling.overview import Guess, Survey, survey
from cranfield.pooling.pool import Pool, provenance_path, read_pool, write_pool
from cranfield.pooling.recall import KINDS, Estimate, Method, Needed, Recall, recall_estimate
from cranfield.pooling.replay import Curve, replay
from cranfield.pooling.reusability import Change, Effect, LeftOut, Reusability, Standing, leave_out
from cranfield.pooling.run_similarity import ALIKE, TOP, Likeness, P
from cranfield.pooling.sampling import sampled_qrels
from cranfield.pooling.strategies import STRATEGIES, Strategy, strategy_of
from cranfield.pooling.strategy import Asker, Setting

__all__ = [
    "ALIKE",
    "Asker",
    "Bound",
    "BudgetCurve",
    "Budgets",
    "COMPLETE",
    "Change",
    "Contribution",
    "Curve",
    "DEPTHS",
    "Diagnosis",
    "Effect",
    "Estimate",
    "Fidelity",
    "Guess",
    "KINDS",
    "LeftOut",
    "Likeness",
    "Lists",
    "MEASURES",
    "Method",
    "Needed",
    "P",
    "Pool",
    "PooledRuns",
    "Recall",
    "Reusability",
    "STRATEGIES",
    "Setting",
    "Standing",
    "Strategy",
    "Survey",
    "TOP",
    "TopicPool",
    "contributions_of_runs",
    "diagnose",
    "judged_depth",
    "leave_out",
    "make_pool",
    "named_runs",
    "provenance_path",
    "ranked_lists",
    "read_pool",
    "read_run_groups",
    "read_runs",
    "recall_estimate",
    "replay",
    "require_apart",
    "sampled_qrels",
    "strategy_of",
    "survey",
    "topic_pools",
    "write_pool",
]
