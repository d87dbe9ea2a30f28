"""Pictures of an evaluation, each a function from scores to a `Plot` that holds a Vega-Lite specification.

>>> from cranfield.reporting import plots
>>> from cranfield.evaluation import evaluate
>>> qrels, runs = {"q1": {"a": 1}}, {"bm25": {"q1": {"b": 2.0, "a": 1.0}}, "lm": {"q1": {"a": 1.0}}}
>>> plots.means(evaluate(qrels, runs, ["RR"])).title
'lm has the highest mean RR, 1.0000'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield.base import suggest
from cranfield.errors import CranfieldError

if TYPE_CHECKING:
    from cranfield.reporting.plots.curves import plane, precision_recall
    from cranfield.reporting.plots.depth import cutoffs, gain, weights
    from cranfield.reporting.plots.efficiency import pareto
    from cranfield.reporting.plots.pairs import differences, scatter
    from cranfield.reporting.plots.plot import Plot
    from cranfield.reporting.plots.systems import correlation, critical_difference, means
    from cranfield.reporting.plots.theme import Palette, colours
    from cranfield.reporting.plots.topics import boxes, heatmap

__all__ = [
    "PLOT_KINDS",
    "Palette",
    "Plot",
    "boxes",
    "colours",
    "correlation",
    "critical_difference",
    "cutoffs",
    "differences",
    "find_plot",
    "gain",
    "heatmap",
    "means",
    "pareto",
    "plane",
    "precision_recall",
    "scatter",
    "weights",
]

# what there is to draw, a line each; a kind is drawn by the function of its name
PLOT_KINDS = {
    "precision-recall": "Interpolated precision by recall, mean or one topic.",
    "plane": "Precision against recall, with lines of equal F1.",
    "cutoffs": "nDCG@k, P@k and R@k, or other measures, over k.",
    "weights": "How much each rank weighs in a measure; needs no files.",
    "differences": "Gains and losses against a baseline, topics sorted.",
    "heatmap": "All topics of all systems, by shade.",
    "boxes": "How topics spread: quartiles, median, every topic.",
    "scatter": "A system against the baseline, topic by topic.",
    "means": "Means with confidence intervals.",
    "correlation": "How alike measures rank the systems (Kendall's tau).",
    "critical-difference": "Average ranks; bars join what cannot be told apart.",
    "pareto": "Effectiveness against latency; needs --costs.",
    "gain": "DCG of one topic, against that of the best ranking.",
}

# each is imported when it is first used
_HOMES = {
    "curves": ("plane", "precision_recall"),
    "depth": ("cutoffs", "gain", "weights"),
    "plot": ("Plot",),
    "efficiency": ("pareto",),
    "pairs": ("differences", "scatter"),
    "systems": ("correlation", "critical_difference", "means"),
    "theme": ("Palette", "colours"),
    "topics": ("boxes", "heatmap"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def find_plot(kind: str) -> Any:
    """The function that draws a kind of picture.

    >>> find_plot("critical-difference").__name__
    'critical_difference'
    """
    if kind not in PLOT_KINDS:
        raise CranfieldError(
            f"unknown kind of plot {kind!r}.{suggest(kind, PLOT_KINDS)} Choose from {', '.join(PLOT_KINDS)}."
        )
    return __getattr__(kind.replace("-", "_"))


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
