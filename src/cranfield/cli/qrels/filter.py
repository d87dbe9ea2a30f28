"""cranfield qrels filter: keep some topics, grades or documents."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.qrels.common import input_options, make_reader, output_options, protect_inputs, write_derived
from cranfield.errors import CranfieldError
from cranfield.qrels_tools import collect_ids, filter_qrels, parse_ranges


@click.command(name="filter")
@click.argument("qrels", metavar="QRELS")
@click.option("--topic", "topic_ids", metavar="ID", multiple=True, help="A topic; repeatable.")
@click.option("--topics", metavar="FILE", help="A file of topics, one id per line.")
@click.option("--doc", "doc_ids", metavar="ID", multiple=True, help="A document; repeatable.")
@click.option("--docs", metavar="FILE", help="A file of documents, one id per line.")
@click.option("--grades", metavar="GRADES", help="Grades and ranges of grades: 1, or 0,2-3, or 1- for 1 and higher.")
@click.option("--others", is_flag=True, help="Keep what does not match instead.")
@output_options
@input_options
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
    **options: Any,
) -> None:
    """Keep the judgments that match all of the given topics, grades and documents.

    \b
    Example:
      cranfield qrels filter qrels.txt --grades 1- -o relevant.qrels
      cranfield qrels filter qrels.txt --topics train.ids -o train.qrels
      cranfield qrels filter qrels.txt --docs withdrawn.ids --others -o current.qrels
    """
    protect_inputs(output, [topics, docs])
    wanted_topics, wanted_docs = collect_ids(topic_ids, topics), collect_ids(doc_ids, docs)
    if wanted_topics is None and wanted_docs is None and grades is None:
        raise CranfieldError("nothing to filter by: name topics, documents or grades (--topic(s), --doc(s), --grades).")
    ranges = None if grades is None else parse_ranges(grades)
    old = make_reader(**options)(qrels)
    settings: dict[str, Any] = {
        "topics": None if wanted_topics is None else len(wanted_topics),
        "docs": None if wanted_docs is None else len(wanted_docs),
        "grades": grades,
        "others": others,
    }
    new = filter_qrels(old, topics=wanted_topics, docs=wanted_docs, grades=ranges, others=others)
    rule = "all but the topics, grades and documents asked for" if others else "topics, grades and documents asked for"
    write_derived(qrels, old, new, output, "filter", rule, quiet, **settings)
