"""Evaluator and Scores: values per query, means, intervals, bounds, risk, explanations; conventions of other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    from cranfield.evaluation.averages import LEAST, Interval, average, interval
    from cranfield.evaluation.bounds import Completions, Sampling, possible_grades
    from cranfield.evaluation.explanation import Explanation, explain
    from cranfield.evaluation.scores import (
        SAMPLES,
        TOP,
        Evaluator,
        RunScores,
        Scores,
        check_weights,
        distinct_names,
        evaluate,
        group_queries,
        whole,
    )
    from cranfield.evaluation.tools.comparison import Comparison, ToolEvaluator, ToolValue, compare_tools_on
    from cranfield.evaluation.tools.conventions import TOOLS
    from cranfield.evaluation.tools.trec_eval import trec_eval

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "averages": "Interval LEAST average interval",
        "bounds": "Completions Sampling possible_grades",
        "explanation": "Explanation explain",
        "scores": "Evaluator RunScores SAMPLES Scores TOP check_weights distinct_names evaluate group_queries whole",
        "tools.comparison": "Comparison ToolEvaluator ToolValue compare_tools_on",
        "tools.conventions": "TOOLS",
        "tools.trec_eval": "trec_eval",
    },
)
