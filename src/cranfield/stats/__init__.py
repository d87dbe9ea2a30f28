"""Statistics of per-query scores: paired tests, several systems, power, correlation, agreement; compare and gate."""

from cranfield.stats.agreement import (
    MISSING,
    OF_ALL,
    RESAMPLES,
    TITLES,
    Figure,
    Ratings,
    as_ratings,
    checked_scale,
    confusion,
    figures,
    values_by_unit,
)
from cranfield.stats.claims import (
    POWER,
    claims,
    needed_topics,
    p_figure,
    p_text,
    shown_difference,
    shown_pairs,
    warnings,
)
from cranfield.stats.compact_letters import names
from cranfield.stats.comparison import CORRECTIONS, TESTS, Comparison, Leaderboard, Standing, compare, rank
from cranfield.stats.correlation import kendall_tau, tau_ap
from cranfield.stats.dawid_skene import DawidSkene, dawid_skene
from cranfield.stats.gate import MEASURE, Decision, Gate, Rule, Side, gate, gate_scores
from cranfield.stats.measure_comparison import CORRECTION_NAMES, Column, Pair, SystemScore
from cranfield.stats.multiple import adjust
from cranfield.stats.paired import METHODS
from cranfield.stats.paired_scores import DIGITS, round_differences
from cranfield.stats.proportions import wilson
from cranfield.stats.ranks import CriticalDifference, nemenyi
from cranfield.stats.resampling import require_draws
from cranfield.stats.score_table import ScoreTable, gathered, is_mean, known_measure
from cranfield.stats.stability import (
    MeasureCorrelation,
    RankingCorrelation,
    measure_correlation,
    system_ranking_correlation,
)

__all__ = [
    "CORRECTIONS",
    "CORRECTION_NAMES",
    "Column",
    "Comparison",
    "CriticalDifference",
    "DIGITS",
    "DawidSkene",
    "Decision",
    "Figure",
    "Gate",
    "Leaderboard",
    "MEASURE",
    "METHODS",
    "MISSING",
    "MeasureCorrelation",
    "OF_ALL",
    "POWER",
    "Pair",
    "RESAMPLES",
    "RankingCorrelation",
    "Ratings",
    "Rule",
    "ScoreTable",
    "Side",
    "Standing",
    "SystemScore",
    "TESTS",
    "TITLES",
    "round_differences",
    "adjust",
    "as_ratings",
    "checked_scale",
    "claims",
    "compare",
    "confusion",
    "dawid_skene",
    "figures",
    "gate",
    "gate_scores",
    "gathered",
    "is_mean",
    "kendall_tau",
    "known_measure",
    "measure_correlation",
    "names",
    "needed_topics",
    "nemenyi",
    "p_figure",
    "p_text",
    "rank",
    "require_draws",
    "shown_difference",
    "shown_pairs",
    "system_ranking_correlation",
    "tau_ap",
    "values_by_unit",
    "warnings",
    "wilson",
]
