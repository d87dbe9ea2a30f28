"""cranfield explain, as a user calls it."""

from __future__ import annotations

import html.parser
import json
import math
import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield


def test_the_table_of_a_lecture(cranfield: Cranfield, small: Path) -> None:
    outcome = cranfield("explain", "AP", small / "qrels", small / "one.run", "--query", "1")
    assert outcome.code == 0 and outcome.err == ""
    assert outcome.out == (
        "AP of one.run, query 1: 0.5000\n"
        "Average precision: \\frac{1}{R} \\sum_{i=1}^{k} \\mathrm{rel}_i \\cdot P@i\n"
        "\n"
        "                  Relevant\n"
        "Rank  Doc  Grade    so far     P@i     R@i  Term\n"
        "   1  a        2         1  1.0000  0.5000     1\n"
        "   2  b        0         1  0.5000  0.5000     0\n"
        "   3  x        –         1  0.3333  0.5000     0\n"
        "────────────────────────────────────────────────\n"
        "Sum of the terms                               1\n"
        "Normaliser (relevant documents, R)             2\n"
        "AP                                        0.5000\n"
        "\n"
        "AP = 1 / 2 = 0.5\n"
        "\n"
        "Conventions: ties trec, rank by score, score type float64.\n"
    )


def test_the_value_is_that_of_eval(cranfield: Cranfield, example: Path) -> None:
    files = (example / "qrels.txt", example / "bm25.run")
    table = cranfield("eval", *files, "-m", "nDCG@10", "-m", "Bpref", "-q", "--format", "tsv").table
    shown = {(row[1], row[2]): float(row[3]) for row in table}
    for name in ("nDCG@10", "Bpref"):
        for query in ("1", "7", "20"):
            record = json.loads(cranfield("explain", name, *files, "--query", query, "--format", "json").out)
            assert record["value"] == pytest.approx(shown[name, query], abs=1e-15)
            total = math.fsum(row["term"] for row in record["rows"])
            assert total / record["normaliser"] == pytest.approx(record["value"], abs=1e-12)


def test_the_top_is_said_in_every_format(cranfield: Cranfield, example: Path) -> None:
    call = ("explain", "AP", example / "qrels.txt", example / "bm25.run", "--query", "28", "--top", "4")
    hidden = "19 more ranks not shown; they add 2.1825."
    for format_ in ("text", "markdown", "html"):
        out = cranfield(*call, "--format", format_).out
        assert hidden in out and "0.3802" in out and "b028" in out and "b206" not in out
    record = json.loads(cranfield(*call, "--format", "json").out)
    assert record["hidden"] == 19 and len(record["rows"]) == 4
    assert record["value"] == pytest.approx(record["sum"] / record["normaliser"])


def test_the_decimals_of_a_column_do_not_depend_on_what_is_shown_of_it(cranfield: Cranfield, example: Path) -> None:
    call = ("explain", "AP", example / "qrels.txt", example / "bm25.run", "--query", "28")
    whole = {line for line in cranfield(*call).out.splitlines() if re.search(r" b\d{3} ", line)}
    for top in (1, 4, 6):
        shown = [line for line in cranfield(*call, "--top", top).out.splitlines() if re.search(r" b\d{3} ", line)]
        assert len(shown) == top and set(shown) <= whole and shown[0].endswith("  1.0000")
    assert "hidden_rows" not in cranfield(*call, "--top", 4, "--format", "json").out
    mean = ("explain", "AP", *call[2:4])
    assert "\n2      1.0000\n" in cranfield(*mean, "--top", 2).out


def test_json_has_every_rank_also_below_the_cutoff(cranfield: Cranfield, example: Path) -> None:
    call = ("explain", "P@5", example / "qrels.txt", example / "bm25.run", "--query", "28", "--format", "json")
    record = json.loads(cranfield(*call).out)
    assert len(record["rows"]) == 23 and record["hidden"] == 0


def test_a_name_for_several_measures_gives_several_explanations(cranfield: Cranfield, small: Path) -> None:
    call = ("explain", "P.1,2", small / "qrels", small / "one.run", "--query", "1")
    assert [e["measure"] for e in json.loads(cranfield(*call, "--format", "json").out)] == ["P@1", "P@2"]
    assert cranfield(*call).out.count("Sum of the terms") == 2


def test_conventions_change_the_ranking(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 5 t\n1 Q0 b 2 5 t\n")
    call = ("explain", "RR", tmp_path / "qrels", tmp_path / "run", "--query", "1")
    outcome = cranfield(*call)
    assert "query 1: 0.5000" in outcome.out
    assert "2 documents with the score of another: ties trec orders them." in outcome.out
    assert "query 1: 1\n" in cranfield(*call, "--ties", "doc-ascending").out
    assert "query 1: 1\n" in cranfield(*call, "--rank-by", "rank").out
    assert "query 1: 0.7500\n" in cranfield(*call, "--ties", "expected").out
    bpref = cranfield("explain", "Bpref", *call[2:], "--ties", "expected", "--seed", "3")
    assert bpref.code == 0 and "E is the mean over 200 random orders" in bpref.out
    value = cranfield("eval", *call[2:4], "-m", "Bpref", "--ties", "expected", "--seed", "3", "--format", "tsv").table
    record = json.loads(
        cranfield("explain", "Bpref", *call[2:], "--ties", "expected", "--seed", "3", "--format", "json").out
    )
    assert record["value"] == pytest.approx(float(value[0][3]), abs=1e-12)
    # sklearn takes the mean over the orders of ties, unless told otherwise
    as_sklearn = ("explain", "nDCG@1", *call[2:], "--as", "sklearn")
    assert "query 1: 0.5000\n" in cranfield(*as_sklearn).out
    assert "query 1: 1\n" in cranfield(*as_sklearn, "--ties", "doc-ascending").out


def test_without_a_query_the_mean_is_shown(cranfield: Cranfield, small: Path) -> None:
    call = ("explain", "P@2", small / "qrels", small / "one.run")
    outcome = cranfield(*call)
    record = json.loads(cranfield(*call, "--format", "json").out)
    values = [row["term"] for row in record["rows"]]
    assert record["query"] is None and record["normaliser"] == len(values) == 2
    assert record["value"] == pytest.approx(math.fsum(values) / 2)
    assert outcome.out.startswith(f"P@2 of one.run, mean of 2 queries: {record['value']:.4f}\n")
    assert "Query   Value\n" in outcome.out and "Normaliser (queries, |Q|)" in outcome.out
    assert "1 more query not shown" in cranfield(*call, "--top", 1).out
    table = [line for line in cranfield(*call, "--format", "markdown").out.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in table} == {3} and table[1] == "| --- | ---: |"
    page = cranfield(*call, "--format", "html").out
    assert '<table class="queries">' in page and Tags(page)
    assert "geometric mean of 2 queries" in cranfield(*call, "--mean", "geometric").out


def test_terms_that_are_hidden_have_a_column_all_the_same(cranfield: Cranfield, small: Path) -> None:
    (small / "late.run").write_text("1 Q0 x 1 3 t\n1 Q0 b 2 2 t\n1 Q0 a 3 1 t\n")
    call = ("explain", "NumRel", small / "qrels", small / "late.run", "--query", "1", "--top", "2")
    out = cranfield(*call).out
    assert "Term" in out and "1 more rank not shown; it adds 1." in out


def test_relevance_and_collection_size_can_be_given(cranfield: Cranfield, small: Path) -> None:
    files = (small / "qrels", small / "one.run", "--query", "1")
    assert "R(rel=2)@2 = 1 / 1 = 1\n" in cranfield("explain", "R@2", *files, "--rel", 2).out
    assert cranfield("explain", "Fallout", *files, "--docs", 10).code == 0


def test_extras_reach_the_measure(cranfield: Cranfield, small: Path) -> None:
    files = (small / "qrels", small / "one.run", "--query", "1")
    assert "needs another run to compare with" in cranfield("explain", "RBO", *files).err
    assert cranfield("explain", "RBO", *files, "--against", small / "two.run").code == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("AP", "qrels", "one.run", "--query", "77"), "there is no query '77' in 'qrels'"),
        (("Ap", "qrels", "one.run", "--query", "1"), "unknown measure 'Ap'. Did you mean AP?"),
        (("AP", "qrels", "none.run", "--query", "1"), "none.run: there is no such file."),
        (("AP", "-", "-", "--query", "1"), "'-' is given twice"),
        (("YAAP", "qrels", "one.run", "--mean", "geometric"), "'YAAP' may be"),
    ],
)
def test_errors_are_one_sentence(
    cranfield: Cranfield, small: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(small)
    outcome = cranfield("explain", *args)
    assert outcome.code == 2 and outcome.out == ""
    assert says in outcome.err and "Traceback" not in outcome.err


def test_markdown_is_a_table_with_the_formula(cranfield: Cranfield, small: Path) -> None:
    out = cranfield("explain", "nDCG", small / "qrels", small / "one.run", "--query", "1", "--format", "markdown").out
    lines = out.splitlines()
    assert lines[0] == "### nDCG of one.run, query 1: 0.7602"
    table = [line for line in lines if line.startswith("|")]
    assert {line.count("|") for line in table} == {10}
    assert table[-1].startswith("|  | **nDCG** |") and table[-1].endswith("| **0.7602** |")
    assert any(line.startswith("$$") and line.endswith("$$") for line in lines)


class Tags(html.parser.HTMLParser):
    """Checks that elements are closed in order, and keeps what there is."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.open.append(tag)
        assert not {name for name, _ in attrs} & {"src", "href"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_stands_by_itself(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a<b 2\n1 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 a<b 1 5 t\n1 Q0 b 2 4 t\n1 Q0 c 3 3 t\n")
    call = ("explain", "nDCG", tmp_path / "qrels", tmp_path / "run", "--query", "1", "--format", "html")
    out = cranfield(*call).out
    tags = Tags(out)
    assert "script" not in tags.seen and "http" not in out.replace("http://www.w3.org", "") and "url(" not in out
    assert "a&lt;b" in out and "a<b" not in out
    assert '<td class="grade-4">2</td>' in out and '<td class="unjudged">–</td>' in out


def test_the_formula_is_mathml_where_it_can_be(
    cranfield: Cranfield, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ("explain", "P@2", small / "qrels", small / "one.run", "--query", "1", "--format", "html")
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    plain = cranfield(*call).out
    assert r"<code>\frac{1}{k} \sum_{i=1}^{k} \mathrm{rel}_i</code>" in plain and "<math" not in plain
    monkeypatch.undo()
    pytest.importorskip("latex2mathml")
    out = cranfield(*call).out
    assert "<math" in Tags(out).seen or "<math" in out
    assert r"\frac" not in out


def test_wide_tables_fit_the_terminal(example: Path) -> None:
    from cranfield import explain
    from cranfield.reporting.explanation import as_text

    doc = "clueweb09-en0000-00-00000-and-much-more-than-that-which-nobody-reads"
    e = explain("nDCG@3", {"q": {doc: 1, "b": 2}}, {"q": {doc: 2.0, "b": 1.0}}, "q")
    lines = as_text([e], 80, styled=False).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("clueweb" in line and "…" in line for line in lines)
    narrow = as_text([e], 50, styled=False)
    assert narrow.count("Rank") == 2 and max(map(len, narrow.split("Sum of")[0].splitlines()[3:])) <= 50
    assert doc in as_text([e], 10_000, styled=False)
    assert as_text([e], 80, styled=True).startswith("\x1b[1mnDCG@3")


OWN = """
from cranfield import Measure

class Mine(Measure):
    name = "Mine"
    {}

    def terms(self, judged):
        return (judged.grade >= 1) / judged.rank
"""


@pytest.mark.parametrize("format", ["text", "markdown", "html"])
@pytest.mark.parametrize("attribute", ["", 'title = "My own"', 'formula = "x"'])
def test_a_measure_without_title_or_formula_is_explained_without_them(
    cranfield: Cranfield, small: Path, format: str, attribute: str
) -> None:
    (small / "my.py").write_text(OWN.format(attribute))
    command = ("explain", f"{small / 'my.py'}:Mine", small / "qrels", small / "one.run", "--query", "1")
    outcome = cranfield(*command, "--format", format)
    assert outcome.code == 0, outcome.err
    assert not [mark for mark in ("\n:", "$$$$", "<p></p>", "\n\n\n") if mark in outcome.out]
    assert ("My own" in outcome.out) == ("title" in attribute)
