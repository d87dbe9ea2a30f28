"""Small files of columns parted by tabs."""

import pytest

from cranfield.errors import InputError
from cranfield.io import read_doc_lengths, read_duplicates, read_facts, read_groups


@pytest.fixture
def file(tmp_path):
    """A function that writes text to a file and gives its path."""

    def written(text: str):
        path = tmp_path / "small.tsv"
        path.write_text(text)
        return path

    return written


def test_groups_of_queries_and_of_documents(file):
    path = file("# a comment\nd1\tx\n\nd2\tx y\r\nd1\tx\n")
    assert read_duplicates(path) == read_groups(path) == {"d1": "x", "d2": "x y"}


def test_facts(file):
    path = file("q1\td1\tborn in 1879\nq1\td1\tin Ulm\nq1\td2\tin Ulm\nq2\td1\tx\n")
    assert read_facts(path) == {
        "q1": {"d1": frozenset({"born in 1879", "in Ulm"}), "d2": frozenset({"in Ulm"})},
        "q2": {"d1": frozenset({"x"})},
    }


def test_lengths_of_documents(file):
    assert read_doc_lengths(file("d1\t120\nd2\t3.5e2\n")) == {"d1": 120.0, "d2": 350.0}


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_duplicates, "d1\tx\nd1\ty\n", r"small.tsv, line 2: doc 'd1' is put into two groups, 'x' and 'y'\."),
        (read_duplicates, "d1 x\n", r"small.tsv, line 1: expected 'doc<TAB>group', found 1 columns\."),
        (read_groups, "q1\tx\nq1\ty\n", r"small.tsv, line 2: query 'q1' is put into two groups, 'x' and 'y'\."),
        (read_facts, "q1\td1\n", r"small.tsv, line 1: expected 'query<TAB>doc<TAB>fact', found 2 columns\."),
        (read_facts, "q1\t\tx\n", r"small.tsv, line 1: expected 'query<TAB>doc<TAB>fact', found 3 columns\."),
        (read_doc_lengths, "d1\tlong\n", r"small.tsv, line 1: length 'long' is not a decimal number\."),
        (read_doc_lengths, "\nd1\t-1\n", r"small.tsv, line 2: length -1 is below 0\."),
        (read_doc_lengths, "d1\t1\nd1\t2\n", r"small.tsv, line 2: doc 'd1' has two lengths, 1 and 2\."),
    ],
)
def test_a_wrong_line_is_named(file, read, text, message):
    with pytest.raises(InputError, match=message):
        read(file(text))


@pytest.mark.parametrize("read", [read_groups, read_duplicates, read_facts, read_doc_lengths])
def test_an_empty_file_says_what_was_expected(file, read):
    with pytest.raises(InputError, match=r"small.tsv: the file is empty, expected '.*<TAB>.*' lines\."):
        read(file("# nothing\n"))
