"""The layouts of NPL, TIME and LISA."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cranfield.errors import InputError
from cranfield.io import glasgow
from cranfield.io.files import Input
from cranfield.io.parse_values import raise_problem

Put = Callable[..., Path]
LISA = """
Document    1
A TITLE OVER
TWO LINES.

TEXT OF THE
FIRST.
********************************************
Document    2
ONLY A TITLE.
********************************************
"""


def items(read: Any, path: Path) -> list[Any]:
    with Input(path) as source:
        return [item for _, item in read(source, raise_problem)]


def pairs(read: Any, path: Path) -> list[tuple[str, str]]:
    with Input(path) as source:
        rows = read(source, raise_problem)
    assert set(rows.grades) <= {1.0}
    return list(zip(rows.queries, rows.docs, strict=True))


def test_npl_ends_records_with_a_slash(put: Put) -> None:
    docs = items(glasgow.read_npl_documents, put("1\nradio waves\nand/or light\n   /\r\n 2\nmore\n   /\n\x1a"))
    assert [(doc.id, doc.text) for doc in docs] == [("1", "radio waves\nand/or light"), ("2", "more")]
    topics = items(glasgow.read_npl_topics, put("1\nMEASUREMENT OF\nWAVES\n/\n"))
    assert [(topic.id, topic.title) for topic in topics] == [("1", "MEASUREMENT OF WAVES")]
    judged = pairs(glasgow.read_npl_qrels, put("1\n 1239  1502\n10484\n   /\n2\n  7\n   /\n"))
    assert judged == [("1", "1239"), ("1", "1502"), ("1", "10484"), ("2", "7")]


def test_time_numbers_documents_by_their_place(put: Put) -> None:
    content = "*TEXT 017 01/04/63 PAGE 020\n\nTHE ALLIES\n\nAFTER\n\n*TEXT 020 01/04/63 PAGE 021\n\nTHE ROAD\n\n*STOP\n"
    first, second = items(glasgow.read_time_documents, put(content))
    assert (first.id, first.text) == ("1", "THE ALLIES\nAFTER") and second.id == "2"
    assert first.fields == {"number": "017", "date": "01/04/63", "page": "020"}
    topics = items(
        glasgow.read_time_topics, put("*FIND      1\n\n KENNEDY AND\n\nSOME .\n\n*FIND     12\n\nX .\n\n*STOP")
    )
    assert [(topic.id, topic.title) for topic in topics] == [("1", "KENNEDY AND SOME ."), ("12", "X .")]
    assert pairs(glasgow.read_time_qrels, put(" 1 268 288\n\n12   2\n\n")) == [("1", "268"), ("1", "288"), ("12", "2")]


def test_lisa_parts_titles_from_texts_with_an_empty_line(put: Put) -> None:
    first, second = items(glasgow.read_lisa_documents, put(LISA.replace("\n", "\r\n")))
    assert (first.id, first.title, first.text) == ("1", "A TITLE OVER TWO LINES.", "TEXT OF THE\nFIRST.")
    assert (second.id, second.title, second.text) == ("2", "ONLY A TITLE.", "")
    topics = items(glasgow.read_lisa_topics, put("1\nI AM INTERESTED\nIN LAMPS. #\n2\n1984 AND\nOTHERS.#\n"))
    assert [topic.title for topic in topics] == ["I AM INTERESTED IN LAMPS.", "1984 AND OTHERS."]


def test_both_forms_of_lisas_judgments_agree(put: Put) -> None:
    expected = [("1", "3392"), ("1", "3396"), ("2", "2623"), ("3", "5")]
    numbers = "           1           2        3392        \n        3396  \n  2  1  2623 3 1 5\n"
    assert pairs(glasgow.read_lisa_numbers, put(numbers)) == expected
    first = "Query 1\n2 Relevant Refs:\n3392\n3396 -1\n \n"
    others = "Query 2\n1 Relevant Refs:\n2623 -1\n\nQuery 3\n1 Relevant Refs:\n5 -1"
    assert pairs(glasgow.read_lisa_qrels, put(first + others)) == expected


def test_a_query_of_lisa_may_have_no_document(put: Put) -> None:
    assert pairs(glasgow.read_lisa_numbers, put("1 0 2 1 7")) == [("2", "7")]


def test_a_count_that_does_not_fit_is_noted(put: Put) -> None:
    with Input(put("Query 1\n3 Relevant Refs:\n1 2 -1\nQuery 2\n1 Relevant Refs:\n1 -1\n")) as source:
        rows = glasgow.read_lisa_qrels(source, raise_problem)
    assert [str(note) for note in rows.notes] == ["line 4: query 1 announces 3 relevant documents and lists 2."]


@pytest.mark.parametrize(
    "read, content, says",
    [
        (glasgow.read_npl_documents, "one\n", "line 1: expected the number of a record, found 'one'"),
        (glasgow.read_npl_documents, "1\ntext\n", "line 1: .*cut off: a slash is missing"),
        (glasgow.read_time_documents, "TEXT 1\n", r"begins with \*TEXT, found 'TEXT 1'"),
        (glasgow.read_lisa_documents, "x\n", "expected 'Document' and a number"),
        (glasgow.read_lisa_documents, "Document 1\nx\nDocument 2\n", "line 1: .*asterisks"),
        (glasgow.read_lisa_documents, "Document 1\nx\n", "asterisks"),
        (glasgow.read_lisa_topics, "1\nx\n", "cut off"),
        (glasgow.read_lisa_topics, "x\n", "expected numbers, found 'x'"),
    ],
)
def test_damage_is_told(put: Put, read: Any, content: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        items(read, put(content))


@pytest.mark.parametrize(
    "read, content, says",
    [
        (glasgow.read_npl_qrels, "1\nx\n/\n", "expected numbers, found 'x'"),
        (glasgow.read_lisa_numbers, "1 2 3", "query 1 are cut off"),
        (glasgow.read_lisa_qrels, "Query 21\n2 Relevant Refs:\n4\n1 Relevant Refs:\n5 -1\n", "query .* is missing"),
    ],
)
def test_damaged_judgments_are_told(put: Put, read: Any, content: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        pairs(read, put(content))
