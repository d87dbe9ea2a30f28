"""cranfield qrels map: other values for grades."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.cli.qrels.common import output_options, reader, reading_options, write_part
from cranfield.qrels_tools import map_grades, parse_mapping


@click.command(name="map", context_settings={"ignore_unknown_options": True})
@click.argument("qrels", metavar="QRELS")
@click.argument("grades", metavar="OLD=NEW,...")
@output_options
@reading_options
def command(
    qrels: str,
    grades: str,
    output: str,
    quiet: bool,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
) -> None:
    """Give grades other values. Grades that are not named stay as they are, and are told.

    \b
    Example:
      cranfield qrels map qrels.txt 1=0,2=1,3=2 -o strict.qrels
      cranfield qrels map web.qrels -2=0 -o web0.qrels
    """
    new = parse_mapping(grades)
    old = reader(qrels_format, grade_words, on_duplicate)(qrels)
    rule = ", ".join(f"{before:g} became {after:g}" for before, after in new.items())
    write_part(qrels, old, map_grades(old, new), output, "map", rule, quiet, grades=grades)
