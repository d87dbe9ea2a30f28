"""Plots of an evaluation, each a function from scores to a `Plot` that holds a Vega-Lite specification.

>>> from cranfield.reporting import plots
>>> from cranfield.evaluation import evaluate
>>> qrels, runs = {"q1": {"a": 1}}, {"bm25": {"q1": {"b": 2.0, "a": 1.0}}, "lm": {"q1": {"a": 1.0}}}
>>> plots.means(evaluate(qrels, runs, ["RR"])).title
'lm has the highest mean RR, 1.0000'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.base import lazy_exports, suggest
from cranfield.errors import CranfieldError

if TYPE_CHECKING:
    from cranfield.reporting.plots.curves import plane, precision_recall
    from cranfield.reporting.plots.depth import cutoffs, gain, weights
    from cranfield.reporting.plots.efficiency import pareto
    from cranfield.reporting.plots.pairs import differences, scatter
    from cranfield.reporting.plots.plot import Plot
    from cranfield.reporting.plots.systems import correlation, critical_difference, means
    from cranfield.reporting.plots.theme import Palette, assign_colours
    from cranfield.reporting.plots.topics import boxes, heatmap

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "curves": "plane precision_recall",
        "depth": "cutoffs gain weights",
        "efficiency": "pareto",
        "pairs": "differences scatter",
        "plot": "Plot",
        "systems": "correlation critical_difference means",
        "theme": "Palette assign_colours",
        "topics": "boxes heatmap",
    },
)

# the kinds of plots, with a description; a kind is drawn by the function of its name
PLOT_KINDS = {
    "precision-recall": "Interpolated precision by recall, mean or one topic.",
    "plane": "Precision against recall, with lines of equal F1.",
    "cutoffs": "nDCG@k, P@k and R@k, or other measures, by k.",
    "weights": "How much each rank weighs in a measure; needs no files.",
    "differences": "Gains and losses against a baseline, by topic.",
    "heatmap": "All topics of all systems, as shades.",
    "boxes": "The spread of topics: quartiles, median, every topic.",
    "scatter": "A system against the baseline, topic by topic.",
    "means": "Means with confidence intervals.",
    "correlation": "How measures agree on the ranking (Kendall's tau).",
    "critical-difference": "Average ranks; bars join systems that do not differ.",
    "pareto": "Effectiveness against latency; needs --costs.",
    "gain": "DCG of one topic, against that of the ideal ranking.",
}


def find_plot(kind: str) -> Any:
    """The function that draws a kind of plot.

    >>> find_plot("critical-difference").__name__
    'critical_difference'
    """
    if kind not in PLOT_KINDS:
        raise CranfieldError(
            f"unknown kind of plot {kind!r}.{suggest(kind, PLOT_KINDS)} Choose from {', '.join(PLOT_KINDS)}."
        )
    return __getattr__(kind.replace("-", "_"))
