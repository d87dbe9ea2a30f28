"""What commands and pages show: tables, plots, sections and HTML reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    from cranfield.reporting.catalogue import (
        aggregate_of,
        available,
        default_of,
        describe_direction,
        families,
        formula_of,
        measure_of,
        parameters_of,
        range_of,
        record,
        trec_names,
        usual,
        weights_in_words,
        weights_of,
    )
    from cranfield.reporting.costs import (
        Cost,
        Costs,
        how_measured,
        indexing_said,
        machine_facts,
        milliseconds,
        not_told,
        read_costs,
        size,
    )
    from cranfield.reporting.evaluation import remarks
    from cranfield.reporting.judging import (
        after_adjudicating,
        after_sitting,
        exported_conflicts_table,
        exported_text,
        imported_text,
        not_gold_text,
        plan_notes,
        status_json,
        status_text,
    )
    from cranfield.reporting.judgments import clicks_text, conflicts_table, merge_text, size_of
    from cranfield.reporting.mathml import formula
    from cranfield.reporting.page import report, require_plots
    from cranfield.reporting.page.context import Material
    from cranfield.reporting.page.efficiency import front_of, said
    from cranfield.reporting.page.summary import percent
    from cranfield.reporting.pareto import Front, Point, compare_effectiveness, times
    from cranfield.reporting.plots import PLOT_KINDS, find_plot
    from cranfield.reporting.plots.plot import PLOT_FORMATS, plot_format, require_plot_format
    from cranfield.reporting.plots.plot_data import Column, column, names, number, several, shown, signed
    from cranfield.reporting.pool_page import make_pool_page
    from cranfield.reporting.pool_page.data import pool_report_json
    from cranfield.reporting.pool_page.text import pool_report_text
    from cranfield.reporting.pooling import curves_plot, dendrogram_plot

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "catalogue": (
            "aggregate_of available default_of describe_direction families formula_of measure_of parameters_of "
            "range_of record trec_names usual weights_in_words weights_of"
        ),
        "costs": "Cost Costs how_measured indexing_said machine_facts milliseconds not_told read_costs size",
        "evaluation": "remarks",
        "judging": (
            "after_adjudicating after_sitting exported_conflicts_table exported_text imported_text not_gold_text "
            "plan_notes status_json status_text"
        ),
        "judgments": "clicks_text conflicts_table merge_text size_of",
        "mathml": "formula",
        "page": "report require_plots",
        "page.context": "Material",
        "page.efficiency": "front_of said",
        "page.summary": "percent",
        "pareto": "Front Point compare_effectiveness times",
        "plots": "PLOT_KINDS find_plot",
        "plots.plot": "PLOT_FORMATS plot_format require_plot_format",
        "plots.plot_data": "Column column names number several shown signed",
        "pool_page": "make_pool_page",
        "pool_page.data": "pool_report_json",
        "pool_page.text": "pool_report_text",
        "pooling": "curves_plot dendrogram_plot",
    },
    modules=(
        "agreement catalogue comparison conventions efficiency evaluation explanation feedback gate judgments pooling "
        "recall tuning"
    ),
)
