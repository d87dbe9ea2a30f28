"""cranfield qrels map: change the values of grades."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.qrels.common import input_options, make_reader, output_options, write_derived
from cranfield.qrels_tools import map_grades, parse_mapping


@click.command(name="map", context_settings={"ignore_unknown_options": True})
@click.argument("qrels", metavar="QRELS")
@click.argument("grades", metavar="OLD=NEW,...")
@output_options
@input_options
def command(qrels: str, grades: str, output: str, quiet: bool, **options: Any) -> None:
    """Change the values of grades. Grades that are not named stay as they are; a note lists them.

    \b
    Example:
      cranfield qrels map qrels.txt 1=0,2=1,3=2 -o strict.qrels
      cranfield qrels map web.qrels -2=0 -o web0.qrels
    """
    mapping = parse_mapping(grades)
    old = make_reader(**options)(qrels)
    rule = ", ".join(f"{before:g} became {after:g}" for before, after in mapping.items())
    write_derived(qrels, old, map_grades(old, mapping), output, "map", rule, quiet, grades=grades)
