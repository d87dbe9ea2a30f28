"""SVMlight / LETOR files: `grade qid:10 1:0.5 2:0.1 … #docid = GX008`; they hold judgments (and features)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cranfield.collection import shown
from cranfield.errors import InputError
from cranfield.formats.opening import Input
from cranfield.formats.rows import QrelsRows
from cranfield.formats.values import OnProblem, grade, text

_DOC = re.compile(rb"\b(?:docid|doc_id|docno|id)\s*[=:]\s*(\S+)", re.IGNORECASE)


def read_letor_qrels(source: Input, problem: OnProblem, words: Mapping[str, float]) -> QrelsRows:
    """Grades of LETOR lines; a document without an id is called by its number within the query, from 1."""
    rows, seen, unnamed = QrelsRows(), dict[str, int](), 0
    for line, content in source.lines():
        data, _, comment = content.partition(b"#")
        fields = data.split()
        if not fields:
            continue
        if len(fields) < 2 or not fields[1].startswith(b"qid:") or len(fields[1]) == 4:
            found = shown(text(b" ".join(fields[:2])))
            problem(InputError(f"expected 'grade qid:QUERY feature:value …', found {found:.80}.", source.name, line))
            continue
        try:
            value = grade(fields[0], words)
        except InputError as error:
            problem(InputError(error.message, source.name, line))
            continue
        query = text(fields[1][4:])
        seen[query] = seen.get(query, 0) + 1
        named = _DOC.search(comment)
        unnamed += named is None
        rows.add(query, text(named[1]) if named else str(seen[query]), value, line)
    if unnamed:
        rows.notes.append(f"{unnamed:,} lines name no document (#docid = …): called by their number within the query.")
    return rows
