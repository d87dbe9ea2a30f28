"""Statistics of per-query scores: paired tests, several systems, power, correlation, agreement; compare and gate."""

from cranfield.stats.agreement import (
    AGREEMENT_RESAMPLES,
    AGREEMENT_TITLES,
    ALL_ASSESSOR_COEFFICIENTS,
    NO_GRADE,
    Estimate,
    Ratings,
    as_ratings,
    check_scale,
    compute_agreement,
    compute_agreement_by_unit,
    confusion_matrix,
)
from cranfield.stats.claims import find_claims
from cranfield.stats.compact_letters import generate_letters
from cranfield.stats.comparison import Comparison, Leaderboard, LeaderboardEntry, compare, rank_systems
from cranfield.stats.comparison_warnings import find_warnings
from cranfield.stats.correlation import kendall_tau, tau_ap
from cranfield.stats.dawid_skene import DawidSkene, dawid_skene
from cranfield.stats.gate import GATE_MEASURE, Gate, GateDecision, GatedRun, GateRule, gate, gate_scores
from cranfield.stats.measure_comparison import TESTS, MeasureComparison, PairComparison, SystemScore
from cranfield.stats.multiple import CORRECTIONS, PVALUE_CORRECTIONS, adjust
from cranfield.stats.paired import PAIRED_TESTS
from cranfield.stats.paired_scores import difference_decimals, round_differences
from cranfield.stats.power import TARGET_POWER
from cranfield.stats.proportions import wilson_interval
from cranfield.stats.ranks import CriticalDifference, nemenyi
from cranfield.stats.resampling import require_draws
from cranfield.stats.score_table import ScoreTable, find_measure, gather_scores, is_mean_over_queries
from cranfield.stats.stability import (
    MeasureCorrelation,
    RankingCorrelation,
    measure_correlation,
    system_ranking_correlation,
)

__all__ = [
    "AGREEMENT_RESAMPLES",
    "AGREEMENT_TITLES",
    "ALL_ASSESSOR_COEFFICIENTS",
    "CORRECTIONS",
    "Comparison",
    "CriticalDifference",
    "DawidSkene",
    "Estimate",
    "GATE_MEASURE",
    "Gate",
    "GateDecision",
    "GateRule",
    "GatedRun",
    "Leaderboard",
    "LeaderboardEntry",
    "MeasureComparison",
    "MeasureCorrelation",
    "NO_GRADE",
    "PAIRED_TESTS",
    "PVALUE_CORRECTIONS",
    "PairComparison",
    "RankingCorrelation",
    "Ratings",
    "ScoreTable",
    "SystemScore",
    "TARGET_POWER",
    "TESTS",
    "adjust",
    "as_ratings",
    "check_scale",
    "compare",
    "compute_agreement",
    "compute_agreement_by_unit",
    "confusion_matrix",
    "dawid_skene",
    "difference_decimals",
    "find_claims",
    "find_measure",
    "find_warnings",
    "gate",
    "gate_scores",
    "gather_scores",
    "generate_letters",
    "is_mean_over_queries",
    "kendall_tau",
    "measure_correlation",
    "nemenyi",
    "rank_systems",
    "require_draws",
    "round_differences",
    "system_ranking_correlation",
    "tau_ap",
    "wilson_interval",
]
