"""Scores of queries that were computed before, from files and from memory."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from cranfield.errors import DuplicateError, FormatError, InputError
from cranfield.io.score_tables import as_scores, read_scores

ROWS = [("bm25", "AP", "q1", 0.5), ("bm25", "AP", "q2", 0.25), ("lm", "AP", "q1", 1.0), ("lm", "AP", "q2", 0.0)]
TABLE = {"bm25": {"AP": {"q1": 0.5, "q2": 0.25}}, "lm": {"AP": {"q1": 1.0, "q2": 0.0}}}


def written(folder: Path, text: str, name: str = "scores") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_a_header_names_the_columns_in_any_order(tmp_path: Path, delimiter: str, order: tuple[int, ...]) -> None:
    header = ("run", "measure", "query", "value")
    lines = [delimiter.join(str(row[i]) for i in order) for row in (header, *ROWS)]
    assert read_scores(written(tmp_path, "\n".join(lines) + "\n")).table == TABLE


def test_columns_go_by_the_names_of_other_tools(tmp_path: Path) -> None:
    text = "name,qid,metric,score\n" + "".join(f"{r},{q},{m},{v}\n" for r, m, q, v in ROWS)
    assert read_scores(written(tmp_path, text)).table == TABLE


def test_our_own_tsv_has_no_header_and_its_means_are_left_out(tmp_path: Path) -> None:
    text = "".join(
        f"{r}\t{m}\t{q}\t{v}\n" for r, m, q, v in [*ROWS, ("lm", "AP", "all", 0.5), ("lm", "AP", "all:x", 1)]
    )
    found = read_scores(written(tmp_path, text))
    assert found.table == TABLE
    assert found.notes == (f"{tmp_path / 'scores'}: 2 means (query all) left out; means are of the queries compared.",)


def test_json_lines_are_read(tmp_path: Path) -> None:
    text = "".join(f'{{"run": "{r}", "measure": "{m}", "query": "{q}", "value": {v}}}\n' for r, m, q, v in ROWS)
    assert read_scores(written(tmp_path, text)).table == TABLE


def test_trec_eval_names_no_run_so_the_file_does(tmp_path: Path) -> None:
    means = "relstring_10\tall\t'1 0'\nrunid\tall\tbm25\nmap\tall\t0.375\n"
    text = f"map                   \tq1\t0.5000\nmap\tq2\t0.2500\n{means}"
    found = read_scores(written(tmp_path, text, "bm25.eval"))
    assert found.table == {"bm25.eval": {"map": {"q1": 0.5, "q2": 0.25}}}
    assert not found.is_named
    assert "3 means" in found.notes[0]


def test_what_trec_eval_prints_as_text_is_left_out_and_said(tmp_path: Path) -> None:
    found = read_scores(written(tmp_path, "relstring\tq1\t'10 01'\nmap\tq1\t0.5\n"))
    assert found.table == {"scores": {"map": {"q1": 0.5}}}
    assert any("relstring left out" in note for note in found.notes)


@pytest.mark.parametrize("absent", ["", "–", "NaN", "nan", "-"])
def test_a_missing_value_is_said(tmp_path: Path, absent: str) -> None:
    found = read_scores(written(tmp_path, f"run,measure,query,value\na,AP,1,{absent}\na,AP,2,.5\n"))
    assert math.isnan(found.table["a"]["AP"]["1"]) and found.table["a"]["AP"]["2"] == 0.5
    assert any("1 value missing" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", InputError, "empty"),
        ("a b\n", FormatError, "expected a header with run, measure, query and value"),
        ("run,measure,query,value\na,AP,1,x\n", InputError, "line 2: the value of AP 'x' is not a decimal number"),
        ("run,measure,query,value\na,AP,1\n", InputError, "line 2: expected 4 columns"),
        ("run,measure,query,value\na,AP,1,.5\na,AP,1,.6\n", DuplicateError, "line 3: AP of a has two values"),
        ("a\tAP\t1\t.5\na\tAP\t1\n", InputError, "line 2: expected 4 columns"),
        ("map\t1\t.5\nmap\t1\n", InputError, "line 2: expected 3 columns"),
        ("301\tAP\t.5\n", FormatError, "expected trec_eval's order"),
        ("map\tall\t.5\n", InputError, "only 1 mean. Print every query"),
        ('{"run": "a", "measure": "AP", "query": "1"}\n', InputError, "no value"),
        ("{\n", InputError, "not valid JSON"),
    ],
)
def test_errors_say_where_and_what(tmp_path: Path, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("(", r"\(").replace("+", r"\+")):
        read_scores(written(tmp_path, text))


def test_the_same_value_twice_is_no_error(tmp_path: Path) -> None:
    text = "run,measure,query,value\na,AP,1,.5\na,AP,1,.5\n"
    assert read_scores(written(tmp_path, text)).table == {"a": {"AP": {"1": 0.5}}}


def test_scores_in_memory_are_nested_mappings_or_columns() -> None:
    columns = dict(zip(("run", "measure", "query", "value"), map(list, zip(*ROWS, strict=True)), strict=True))
    assert as_scores(TABLE).table == as_scores(columns).table == TABLE


def test_a_data_frame_is_taken() -> None:
    pandas = pytest.importorskip("pandas")
    assert as_scores(pandas.DataFrame(ROWS, columns=["run", "measure", "query", "value"])).table == TABLE


@pytest.mark.parametrize(
    "wrong", [[1, 2], {"a": {"AP": 0.5}}, {"a": {"AP": {"1": "x"}}}, {"a": {"AP": {"1": math.inf}}}]
)
def test_other_things_in_memory_are_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        as_scores(wrong)


def test_the_output_of_trec_eval_is_read(shared_data: Path) -> None:
    found = read_scores(shared_data / "trec_eval" / "out.test.aq")
    (measures,) = found.table.values()
    assert measures["map"]["301"] == 0.0324
    assert len(measures["map"]) == 3
