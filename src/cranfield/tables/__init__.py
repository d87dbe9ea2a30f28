"""Results for people and programs: number formats, tables rendered as text, Markdown, LaTeX and HTML, and JSON."""

from cranfield.tables.json_text import dump_json, package_versions
from cranfield.tables.numbers import (
    MISSING,
    finite_or_none,
    format_bytes,
    format_interval,
    format_milliseconds,
    format_number,
    format_p,
    format_percent,
    format_probability,
    format_ratio,
    format_signed,
    state_p,
)
from cranfield.tables.render import (
    Cell,
    Table,
    count_columns,
    escape_html,
    render_html,
    render_latex,
    render_markdown,
    render_text,
)
from cranfield.tables.text import replace_controls, wrap_sentences, wrap_text

__all__ = [
    "Cell",
    "MISSING",
    "Table",
    "count_columns",
    "dump_json",
    "escape_html",
    "finite_or_none",
    "format_bytes",
    "format_interval",
    "format_milliseconds",
    "format_number",
    "format_p",
    "format_percent",
    "format_probability",
    "format_ratio",
    "format_signed",
    "package_versions",
    "render_html",
    "render_latex",
    "render_markdown",
    "render_text",
    "replace_controls",
    "state_p",
    "wrap_sentences",
    "wrap_text",
]
