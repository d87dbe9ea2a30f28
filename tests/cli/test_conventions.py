"""cranfield conventions, and cranfield eval --as."""

import json

import pytest

from cranfield.evaluation.tools.conventions import TOOLS


def test_values_reasons_and_queries_are_shown(cranfield, small):
    done = cranfield(
        "conventions", "nDCG@2", small / "qrels", small / "one.run", "--tool", "gdeval", "--tool", "ndeval"
    )
    assert done.code == 0
    assert "nDCG(gain='exp')@2" in done.out and "the gain of a grade is 2^grade − 1 (1 query)" in done.out
    assert "Tools differ on 1 of 2 queries." in done.out
    assert "Tools without this measure: ndeval." in done.out


def test_json_has_every_tool_and_every_query(cranfield, small):
    done = cranfield("conventions", "AP", small / "qrels", small / "two.run", "--format", "json")
    record = json.loads(done.out)
    assert [tool["tool"] for tool in record["tools"]] == list(TOOLS)
    by_name = {tool["tool"]: tool for tool in record["tools"]}
    assert by_name["trec_eval-9"]["because"] == [
        {"what": "missing queries", "how": "queries that the run lacks are left out", "queries": 1}
    ]
    assert "lacks 1 of 2" in by_name["ranx"]["stops"]
    assert record["differing"]["2"] == ["trec_eval-9", "sklearn", "spark", "torchmetrics"]


def test_markdown_and_one_query(cranfield, small):
    done = cranfield("conventions", "RR", small / "qrels", small / "one.run", "--query", "2", "--format", "markdown")
    assert done.out.startswith("**RR of one.run**\n\n| Tool | Measure | Value | Differs by |\n")
    assert "| cranfield | RR | 0.5000 |  |" in done.out


def test_a_document_twice_is_told_and_may_be_settled(cranfield, small, tmp_path):
    run = tmp_path / "twice.run"
    run.write_text("1 Q0 b 1 3 x\n1 Q0 a 2 2 x\n1 Q0 b 3 1 x\n")
    done = cranfield("conventions", "RR", small / "qrels", run)
    assert done.code == 0 and "cranfield, trec_eval-9, trec_eval-10, torchmetrics: " in done.out
    assert "of a document that is there twice the last row counts" in done.out
    settled = cranfield("conventions", "RR", small / "qrels", run, "--on-duplicate", "max", "--format", "json")
    assert "duplicates" not in settled.out and json.loads(settled.out)["value"] is not None


def test_eval_as_a_tool_takes_the_last_of_a_document_unless_told(cranfield, small, tmp_path):
    run = tmp_path / "twice.run"
    run.write_text("1 Q0 b 1 3 x\n1 Q0 a 2 2 x\n1 Q0 b 3 1 x\n")
    files = small / "qrels", run
    assert cranfield("eval", *files, "-m", "RR", "--as", "ir_measures").code == 0
    for more in (["--as", "ir_measures", "--on-duplicate", "error"], ["--as", "trec_eval-9"], []):
        assert cranfield("eval", *files, "-m", "RR", *more).code == 2


def test_what_a_measure_needs_can_be_given(cranfield, small):
    done = cranfield("conventions", "Overlap@2", small / "qrels", small / "one.run", "--against", small / "two.run")
    assert done.code == 0 and done.out.startswith("Overlap@2 of one.run")


@pytest.mark.parametrize("args", [["nDGC"], ["AP", "--query", "99"]])
def test_mistakes_are_told(cranfield, small, args):
    done = cranfield("conventions", args[0], small / "qrels", small / "one.run", *args[1:])
    assert done.code == 2 and done.err.startswith("cranfield: ")


def test_eval_as_a_tool(cranfield, small):
    files = small / "qrels", small / "two.run"
    plain = cranfield("eval", *files, "-m", "AP", "--format", "tsv")
    skipped = cranfield("eval", *files, "-m", "AP", "--format", "tsv", "--as", "trec_eval-9")
    assert (plain.table[0][3], skipped.table[0][3]) == ("0.125", "0.25")
    assert "as trec_eval-9" in skipped.err and "queries that the run lacks are left out" in skipped.err


def test_a_flag_overrules_the_tool(cranfield, small):
    files = small / "qrels", small / "two.run"
    assert cranfield("eval", *files, "-m", "AP", "--as", "trec_eval-10").code == 2
    done = cranfield("eval", *files, "-m", "AP", "--as", "trec_eval-10", "--missing", "zero", "--format", "tsv")
    assert done.table == [["two.run", "AP", "all", "0.125"]]


def test_eval_as_a_tool_without_measures_has_those_it_has(cranfield, small):
    done = cranfield("eval", small / "qrels", small / "one.run", "--as", "spark", "--format", "tsv")
    assert [row[1] for row in done.table] == ["nDCG@10", "AP", "P@10", "R@100"]


def test_eval_as_a_tool_that_lacks_the_measure(cranfield, small):
    done = cranfield("eval", small / "qrels", small / "one.run", "--as", "gdeval", "-m", "AP")
    assert done.code == 2 and "gdeval 1.3 has no AP" in done.err


def test_measures_that_need_more_get_it(cranfield, small):
    command = ("conventions", "RBO", small / "qrels", small / "one.run")
    assert "--against RUN" in cranfield(*command).err
    assert cranfield(*command, "--against", small / "two.run").out.startswith("RBO of one.run")
    fallout = cranfield("conventions", "Fallout@2", small / "qrels", small / "one.run", "--docs", "9")
    assert "Fallout(docs='retrieved')@2" in fallout.out and "documents" in fallout.out


def test_counts_have_no_decimals(cranfield, small):
    shown = cranfield("conventions", "NumRel", small / "qrels", small / "two.run", "--tool", "trec_eval-9").out
    assert "3.0000" not in shown and [
        line for line in shown.splitlines() if line.split()[:3] == ["cranfield", "NumRel", "3"]
    ]
