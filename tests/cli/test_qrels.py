"""cranfield qrels and its subcommands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield.cli.qrels import SUBCOMMANDS
from cranfield.io import read_qrels
from cranfield.qrels_tools.provenance import read_provenance
from tests.cli.conftest import Cranfield


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("anna.qrels").write_text("1 0 a 2\n1 0 b 0\n2 0 a 1\n")
    Path("ben.qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 1\n")
    Path("gpt.qrels").write_text("1 0 a 1\n1 0 b 1\n")
    Path("log.tsv").write_text("query\tdoc\tclicks\timpressions\n1\ta\t60\t100\n1\tb\t0\t100\n2\ta\t1\t3\n")
    Path("one.run").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n")
    return tmp_path


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_has_an_example(cranfield: Cranfield, name: str) -> None:
    done = cranfield("qrels", name, "--help")
    assert done.code == 0 and f"cranfield qrels {name} " in done.out


def test_the_group_lists_its_subcommands(cranfield: Cranfield) -> None:
    done = cranfield("qrels", "--help")
    assert all(f"  {name} " in done.out for name in SUBCOMMANDS)
    assert cranfield("qrels", "divide").code == 2


def test_merge_writes_qrels_and_where_they_come_from(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("qrels", "merge", "anna.qrels", "ben.qrels", "-o", "m.qrels", "--conflicts", "c.tsv")
    assert done.code == 0 and done.out == ""
    assert Path("m.qrels").read_text() == "1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 1\n"
    assert Path("c.tsv").read_text() == "query\tdoc\tanna\tben\tmerged\ttie\n1\ta\t2\t1\t1\tyes\n"
    assert "3 pairs judged by several, 1 conflict (33.3 %), 1 of them tied." in done.err
    known = read_provenance("m.qrels")
    assert known is not None and [source.name for source in known.sources] == ["anna", "ben"]
    assert not list(judged.glob(".cranfield-*"))


def test_merge_shows_the_first_conflicts_where_no_file_takes_them(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("qrels", "merge", "anna.qrels", "ben.qrels", "--rule", "max")
    assert done.out == "1 0 a 2\n1 0 b 0\n2 0 a 1\n2 0 c 1\n"
    assert "First conflicts" in done.err and "To list all: --conflicts FILE" in done.err
    assert cranfield("qrels", "merge", "anna.qrels", "ben.qrels", "--quiet").err == ""


def test_merge_refuses_models_until_asked(cranfield: Cranfield, judged: Path) -> None:
    arguments = ("qrels", "merge", "anna.qrels", "ben.qrels", "--model", "gpt=gpt.qrels", "-o", "m.qrels")
    done = cranfield(*arguments)
    assert done.code == 2 and "--with-models" in done.err and not Path("m.qrels").exists()
    done = cranfield(*arguments, "--with-models")
    assert done.code == 0 and "These include 1 model: gpt." in done.err
    again = cranfield("qrels", "merge", "m.qrels", "ben.qrels")
    assert again.code == 2 and "m was made by 'cranfield qrels merge' from anna, ben, gpt (model)" in again.err
    # and it stays so in what is made of it
    cranfield("qrels", "binarize", "m.qrels", "-o", "b.qrels")
    assert cranfield("qrels", "merge", "b.qrels", "ben.qrels").code == 2


@pytest.mark.parametrize("rule", ["majority", "median", "mean", "max", "min", "dawid-skene"])
def test_every_rule_can_be_asked_for(cranfield: Cranfield, judged: Path, rule: str) -> None:
    done = cranfield("qrels", "merge", "anna.qrels", "ben.qrels", "gpt.qrels", "--rule", rule, "-o", "m.qrels")
    assert done.code == 0 and len(read_qrels("m.qrels")) == 4


def test_merge_needs_two(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("qrels", "merge", "anna.qrels")
    assert done.code == 2 and "at least 2 assessors" in done.err


def test_merge_of_models_alone_is_done_when_asked_for(cranfield: Cranfield, judged: Path) -> None:
    models = ("qrels", "merge", "--model", "gpt=gpt.qrels", "--model", "other=ben.qrels")
    refused = cranfield(*models)
    assert refused.code == 2 and "are not merged unless you add --with-models" in refused.err
    assert cranfield(*models, "--with-models", "-o", "m.qrels").code == 0 and len(read_qrels("m.qrels")) == 4
    none = cranfield("qrels", "merge")
    assert none.code == 2 and "at least 2 assessors, found 0" in none.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("merge", "a=anna.qrels", "ben.qrels", "-o", "anna.qrels"),
        ("merge", "a=anna.qrels", "ben.qrels", "-o", "m.qrels", "--conflicts", "link.qrels"),
        ("merge", "ben.qrels", "--model", "m=anna.qrels", "--with-models", "-o", "./anna.qrels"),
        ("diff", "ben.qrels", "anna.qrels", "-o", "anna.qrels"),
        ("filter", "anna.qrels", "--topic", "1", "-o", "link.qrels"),
        ("filter", "ben.qrels", "--docs", "anna.qrels", "-o", "anna.qrels"),
        ("binarize", "anna.qrels", "-o", "anna.qrels"),
        ("map", "anna.qrels", "1=0", "-o", "anna.qrels"),
        ("sample", "anna.qrels", "--rate", "0.5", "-o", "anna.qrels"),
        ("clicks", "anna.qrels", "-o", "anna.qrels"),
    ],
)
def test_no_input_is_written_over(cranfield: Cranfield, judged: Path, arguments: tuple[str, ...]) -> None:
    Path("link.qrels").symlink_to("anna.qrels")
    before = {file.name: file.read_bytes() for file in judged.iterdir()}
    done = cranfield("qrels", *arguments)
    assert done.code == 2 and "this is one of the input files" in done.err
    assert {file.name: file.read_bytes() for file in judged.iterdir()} == before


def test_conflicts_and_judgments_go_to_different_files(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("qrels", "merge", "anna.qrels", "ben.qrels", "-o", "m.qrels", "--conflicts", "./m.qrels")
    assert done.code == 2 and "must be different files" in done.err and not Path("m.qrels").exists()


def test_diff_says_what_changed(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("qrels", "diff", "anna.qrels", "ben.qrels", "-o", "changes.csv")
    assert done.code == 0
    assert done.out.startswith("From anna.qrels to ben.qrels: 1 added, 0 removed, 1 changed, 2 unchanged.")
    assert "Grades before (rows) and after (columns)" in done.out
    expected = "query,subtopic,doc,change,old,new\n1,0,a,changed,2,1\n2,0,c,added,,1\n"
    assert Path("changes.csv").read_text() == expected
    found = json.loads(cranfield("qrels", "diff", "anna.qrels", "ben.qrels", "--format", "json").out)
    assert (found["added"], found["changed"], found["moves"]) == (1, 1, [[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    same = cranfield("qrels", "diff", "anna.qrels", "anna.qrels")
    assert "hold the same judgments: 3 pairs." in same.out


def test_stats_count(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("qrels", "stats", "anna.qrels", "--topics")
    assert done.code == 0 and "2 topics with over a third of judged documents relevant: '1', '2'." in done.out
    found = json.loads(cranfield("qrels", "stats", "anna.qrels", "--rel", 2, "--format", "json").out)
    assert (found["topics"], found["judged"], found["relevant"]) == (2, 3, 1)
    assert found["topics_without_relevant"] == ["2"] and found["grades"] == {"0": 1, "1": 1, "2": 1}
    assert found["relevant_per_topic"] == {"least": 0, "median": 0.5, "mean": 0.5, "most": 1}


def test_filter_by_topics_grades_and_lists_of_documents(cranfield: Cranfield, judged: Path) -> None:
    Path("docs.txt").write_text("# these\na\n\nz\n")
    done = cranfield("qrels", "filter", "anna.qrels", "--docs", "docs.txt", "--grades", "2-")
    assert done.out == "1 0 a 2\n" and "1 document not in the judgments: 'z'." in done.err
    assert cranfield("qrels", "filter", "anna.qrels", "--topic", "2").out == "2 0 a 1\n"
    assert cranfield("qrels", "filter", "anna.qrels", "--doc", "a", "--others").out == "1 0 b 0\n"
    nothing = cranfield("qrels", "filter", "anna.qrels")
    assert nothing.code == 2 and "nothing to filter by" in nothing.err
    Path("docs.txt").write_text("a b\n")
    assert "expected one id per line" in cranfield("qrels", "filter", "anna.qrels", "--docs", "docs.txt").err


def test_binarize_and_map(cranfield: Cranfield, judged: Path) -> None:
    assert cranfield("qrels", "binarize", "anna.qrels", "--rel", 2).out == "1 0 a 1\n1 0 b 0\n2 0 a 0\n"
    assert cranfield("qrels", "map", "anna.qrels", "1=0,2=1").out == "1 0 a 1\n1 0 b 0\n2 0 a 0\n"
    Path("web.qrels").write_text("1 0 a -2\n1 0 b 1\n")
    assert cranfield("qrels", "map", "web.qrels", "-2=0").out == "1 0 a 0\n1 0 b 1\n"


def test_a_sample_of_five_columns_is_read_as_such(cranfield: Cranfield, judged: Path) -> None:
    Path("big.qrels").write_text("".join(f"{q} 0 d{i} {int(i < 5)}\n" for q in (1, 2) for i in range(40)))
    arguments = ("qrels", "sample", "big.qrels", "--rate", 0.25, "--by-grade", "--five-column", "-o", "s.qrels")
    done = cranfield(*arguments)
    assert done.code == 0 and "20 judgments of 80 drawn" in done.err
    found = read_qrels("s.qrels")
    assert set(found.extra) == {"stratum"} and int((found.grades >= 0).sum()) == 20
    first = Path("s.qrels").read_bytes()
    cranfield(*arguments)
    assert Path("s.qrels").read_bytes() == first
    assert cranfield("qrels", "sample", "big.qrels").code == 2


def test_clicks_become_qrels_that_every_reader_takes(cranfield: Cranfield, judged: Path) -> None:
    done = cranfield("qrels", "clicks", "log.tsv", "-o", "clicks.qrels")
    assert done.code == 0 and done.err.startswith("Derived from clicks, not judged: 2 judgments of 1 topic")
    assert "Clicks are not judgments" in done.err
    assert Path("clicks.qrels").read_text() == "1 clicks a 2\n1 clicks b 0\n"
    known = read_provenance("clicks.qrels")
    assert known is not None and known.kind == "clicks"
    evaluated = cranfield("eval", "clicks.qrels", "one.run", "-m", "AP", "--format", "tsv")
    assert evaluated.code == 0 and "1.0" in evaluated.out
    trec = cranfield("trec_eval", "-m", "map", "clicks.qrels", "one.run")
    assert trec.code == 0 and "1.0000" in trec.out
    pytrec_eval = pytest.importorskip("pytrec_eval")
    with Path("clicks.qrels").open() as file:
        assert pytrec_eval.parse_qrel(file) == {"1": {"a": 2, "b": 0}}
    assert "come from clicks" in cranfield("qrels", "stats", "clicks.qrels").out


def test_what_was_filtered_from_clicks_is_still_of_clicks(cranfield: Cranfield, judged: Path) -> None:
    cranfield("qrels", "clicks", "log.tsv", "-o", "clicks.qrels")
    cranfield("qrels", "filter", "clicks.qrels", "--grades", "1-", "-o", "some.qrels")
    known = read_provenance("some.qrels")
    assert known is not None and known.kind == "clicks"
    assert Path("some.qrels").read_text() == "1 clicks a 2\n"


def test_grades_in_words_and_other_formats_are_taken(cranfield: Cranfield, judged: Path) -> None:
    Path("w.jsonl").write_text('{"query": "1", "doc": "a", "grade": "good"}\n')
    done = cranfield("qrels", "merge", "anna.qrels", "w.jsonl", "--rule", "max", "-o", "m.json")
    assert done.code == 0 and json.loads(Path("m.json").read_text()) == {"1": {"a": 2, "b": 0}, "2": {"a": 1}}
