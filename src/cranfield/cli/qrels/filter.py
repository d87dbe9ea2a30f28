"""cranfield qrels filter: some topics, grades or documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.cli.qrels.common import keep_inputs, output_options, reader, reading_options, write_part
from cranfield.errors import CranfieldError
from cranfield.qrels_tools import ids_of, keep, parse_ranges


@click.command(name="filter")
@click.argument("qrels", metavar="QRELS")
@click.option("--topic", "topic_ids", metavar="ID", multiple=True, help="A topic; repeatable.")
@click.option("--topics", metavar="FILE", help="A file with topics, an id a line.")
@click.option("--doc", "doc_ids", metavar="ID", multiple=True, help="A document; repeatable.")
@click.option("--docs", metavar="FILE", help="A file with documents, an id a line.")
@click.option("--grades", metavar="GRADES", help="Grades and ranges of them: 1, or 0,2-3, or 1- for 1 and more.")
@click.option("--others", is_flag=True, help="Keep what does not fit instead.")
@output_options
@reading_options
def command(
    qrels: str,
    topic_ids: tuple[str, ...],
    topics: str | None,
    doc_ids: tuple[str, ...],
    docs: str | None,
    grades: str | None,
    others: bool,
    output: str,
    quiet: bool,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    on_duplicate: Any,
) -> None:
    """Keep the judgments of some topics, grades and documents; what is given must fit all at once.

    \b
    Example:
      cranfield qrels filter qrels.txt --grades 1- -o relevant.qrels
      cranfield qrels filter qrels.txt --topics train.ids -o train.qrels
      cranfield qrels filter qrels.txt --docs withdrawn.ids --others -o current.qrels
    """
    keep_inputs(output, [topics, docs])
    wanted_topics, wanted_docs = ids_of(topic_ids, topics), ids_of(doc_ids, docs)
    if wanted_topics is None and wanted_docs is None and grades is None:
        raise CranfieldError("what to keep? Name topics, documents or grades: --topic(s), --doc(s), --grades.")
    fits = None if grades is None else parse_ranges(grades)
    old = reader(qrels_format, grade_words, on_duplicate)(qrels)
    settings: dict[str, Any] = {
        "topics": None if wanted_topics is None else len(wanted_topics),
        "docs": None if wanted_docs is None else len(wanted_docs),
        "grades": grades,
        "others": others,
    }
    made = keep(old, topics=wanted_topics, docs=wanted_docs, grades=fits, others=others)
    rule = "all but the topics, grades and documents asked for" if others else "topics, grades and documents asked for"
    write_part(qrels, old, made, output, "filter", rule, quiet, **settings)
