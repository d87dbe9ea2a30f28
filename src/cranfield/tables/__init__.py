"""Tables as values, and the one renderer that turns them into text, Markdown, LaTeX and HTML; JSON for programs."""

from cranfield.tables import render
from cranfield.tables.json_text import dumped, versions
from cranfield.tables.probabilities import format_p, format_probability, state_p
from cranfield.tables.render import MISSING, Cell, Table, number, terminal

__all__ = [
    "Cell",
    "MISSING",
    "Table",
    "dumped",
    "format_p",
    "format_probability",
    "number",
    "render",
    "state_p",
    "terminal",
    "versions",
]
