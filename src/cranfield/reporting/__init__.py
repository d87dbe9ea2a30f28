"""What commands and pages show: results as text and JSON, plots, and HTML reports.

Each kind of result has a module with `as_text` and `as_json`, or functions that say what they describe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    from cranfield.reporting.costs import Cost, Costs, read_costs
    from cranfield.reporting.evaluation import describe_evaluation
    from cranfield.reporting.mathml import render_formula
    from cranfield.reporting.page import report, require_plots
    from cranfield.reporting.page.context import ReportContext
    from cranfield.reporting.page.efficiency import describe_front, find_pareto_front
    from cranfield.reporting.pareto import ParetoFront, SystemPoint, compare_effectiveness
    from cranfield.reporting.plots import PLOT_KINDS, find_plot
    from cranfield.reporting.plots.plot import PLOT_FORMATS, detect_plot_format, require_plot_format
    from cranfield.reporting.plots.plot_data import (
        MeasureColumn,
        format_label,
        join_systems,
        label_systems,
        measure_column,
    )
    from cranfield.reporting.pool_page import make_pool_page
    from cranfield.reporting.pool_page.data import pool_report_as_json
    from cranfield.reporting.pool_page.text import pool_report_as_text
    from cranfield.reporting.pooling import plot_curves, plot_dendrogram

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "costs": "Cost Costs read_costs",
        "evaluation": "describe_evaluation",
        "mathml": "render_formula",
        "page": "report require_plots",
        "page.context": "ReportContext",
        "page.efficiency": "describe_front find_pareto_front",
        "pareto": "ParetoFront SystemPoint compare_effectiveness",
        "plots": "PLOT_KINDS find_plot",
        "plots.plot": "PLOT_FORMATS detect_plot_format require_plot_format",
        "plots.plot_data": "MeasureColumn format_label join_systems label_systems measure_column",
        "pool_page": "make_pool_page",
        "pool_page.data": "pool_report_as_json",
        "pool_page.text": "pool_report_as_text",
        "pooling": "plot_curves plot_dendrogram",
    },
    modules=(
        "agreement annotation catalogue comparison conventions costs efficiency evaluation explanation feedback gate "
        "plots pooling qrels recall tuning"
    ),
)
