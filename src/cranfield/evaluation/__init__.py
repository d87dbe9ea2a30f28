"""Evaluator and Scores: values per query, means, intervals, bounds, risk, explanations; conventions of other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    from cranfield.evaluation.averages import GEOMETRIC_FLOOR, Interval, average, interval
    from cranfield.evaluation.bounds import Completions, Sampling, possible_grades
    from cranfield.evaluation.evaluator import TIE_SAMPLES, Evaluator, check_weights, evaluate
    from cranfield.evaluation.explanation import Explanation, explain
    from cranfield.evaluation.run_names import distinct_names
    from cranfield.evaluation.scores import JUDGED_DEPTH, RunScores, Scores, drop_zero_fraction, group_queries
    from cranfield.evaluation.tools.comparison import (
        Comparison,
        ToolEvaluator,
        ToolValue,
        compare_tools,
        compare_tools_on,
    )
    from cranfield.evaluation.tools.conventions import TOOLS
    from cranfield.evaluation.tools.trec_eval import trec_eval

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "averages": "GEOMETRIC_FLOOR Interval average interval",
        "bounds": "Completions Sampling possible_grades",
        "explanation": "Explanation explain",
        "evaluator": "Evaluator TIE_SAMPLES check_weights evaluate",
        "run_names": "distinct_names",
        "scores": "JUDGED_DEPTH RunScores Scores drop_zero_fraction group_queries",
        "tools.comparison": "Comparison ToolEvaluator ToolValue compare_tools compare_tools_on",
        "tools.conventions": "TOOLS",
        "tools.trec_eval": "trec_eval",
    },
)
