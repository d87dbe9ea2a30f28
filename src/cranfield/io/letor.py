"""SVMlight / LETOR files: `grade qid:10 1:0.5 2:0.1 … #docid = GX008`; they hold judgments (and features)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import BinaryIO

from cranfield.base import format_id, pluralize
from cranfield.data import Qrels
from cranfield.errors import InputError
from cranfield.io.files import Input
from cranfield.io.parse_values import OnProblem, decode_id, parse_grade_token
from cranfield.io.rows import Note, QrelsRows
from cranfield.io.trec import format_column, format_number, select_rows

_DOC = re.compile(rb"\b(?:docid|doc_id|docno|id)\s*[=:]\s*(\S+)", re.IGNORECASE)


def read_letor_qrels(source: Input, problem: OnProblem, words: Mapping[str, float]) -> QrelsRows:
    """Grades of LETOR lines; a document without an id is called by its number within the query, from 1."""
    rows, seen, unnamed = QrelsRows(), dict[str, int](), list[int]()
    for line, content in source.lines():
        data, _, comment = content.partition(b"#")
        fields = data.split()
        if not fields:
            continue
        if len(fields) < 2 or not fields[1].startswith(b"qid:") or len(fields[1]) == 4:
            found = format_id(decode_id(b" ".join(fields[:2])))
            problem(InputError(f"expected 'grade qid:QUERY feature:value …', found {found:.80}.", source.name, line))
            continue
        try:
            value = parse_grade_token(fields[0], words)
        except InputError as error:
            problem(InputError(error.message, source.name, line))
            continue
        query = decode_id(fields[1][4:])
        seen[query] = seen.get(query, 0) + 1
        named = _DOC.search(comment)
        if named is None:
            unnamed.append(line)
        if len(fields) > 2:
            rows.left_out["features"] = None
        rows.add(query, decode_id(named[1]) if named else str(seen[query]), value, line)
    if unnamed:
        message = (
            f"{pluralize(len(unnamed), 'line')} without a document (#docid = …), called by number within the query."
        )
        rows.notes.append(Note(message, unnamed[0], len(unnamed)))
    return rows


def write_letor_qrels(qrels: Qrels, out: BinaryIO) -> None:
    """`grade qid:query #docid = doc`, without features."""
    queries = qrels.row_queries()
    for i in select_rows(qrels, "plain"):
        query, doc = format_column(queries[i], "query id"), format_column(qrels.docs[i], "document id")
        if b"#" in query:
            raise InputError(f"query id {format_id(queries[i])} holds a '#', which begins a comment in this format.")
        out.write(b"%b qid:%b #docid = %b\n" % (format_number(float(qrels.grades[i])), query, doc))
