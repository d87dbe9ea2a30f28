"""Runs in every format: what is read, and which line an error names."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cranfield.errors import CranfieldError, DuplicateError, FormatError, InputError
from cranfield.io import read_run
from cranfield.io.files import Input
from cranfield.io.json_rows import read_json_run

Put = Callable[..., Path]
TREC = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\nq2 Q0 d1 1 0.5 bm25\n"
CONTENT = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": 0.5}}
METADATA = "# ir_metadata.start\n# platform:\n#   hardware:\n#     cpu: x\n# ir_metadata.end\n"
ONE_BAD_NUMBER = ["0x10", "nan", "NaN", "inf", "-inf", "Infinity", "1_000", "abc", "1e400", "-1e400", "1,5", "٣", "--1"]
FINE_NUMBERS = {"+1.": 1.0, ".5": 0.5, "1e-400": 0.0, "-0": 0.0, "1E3": 1000.0, "007": 7.0, "-2.5e-1": -0.25}


def parquet(put: Put, name: str = "run.parquet", **columns: list[object]) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    path = put(b"", name)
    writer.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize(
    "content",
    [
        TREC,
        TREC.replace(" ", "\t"),
        TREC.replace(" ", " \t  "),
        TREC.replace("\n", "\r\n"),
        TREC.removesuffix("\n"),
        TREC.replace("\n", "  \n"),
        TREC.replace("q1 Q0", "  q1 Q0"),
        TREC.replace(" Q0 ", " 0 "),
        METADATA + TREC,
        TREC + METADATA.removesuffix("\n"),
        TREC.replace("\n", "\n# a comment in between\n"),
        TREC.replace("\n", "\n   # a comment after spaces\n"),
        "\n\n" + TREC.replace("\n", "\n\n \n"),
        TREC.replace(" ", "\x0b").replace("1.5", "1.5\x0c"),
    ],
)
def test_trec_runs_are_read_however_they_are_laid_out(put: Put, content: str) -> None:
    run = read_run(put(content))
    assert run.to_dict() == CONTENT
    assert run.tag == "bm25"
    assert run.ranks is not None and run.ranks.tolist() == [1, 2, 1]
    assert run.origin is not None and run.origin.format == "trec"


def test_ranks_may_count_from_zero(put: Put) -> None:
    run = read_run(put("q Q0 a 0 2 t\nq Q0 b 1 1 t\n"))
    assert run.ranks is not None and run.ranks.tolist() == [0, 1]


def test_scores_decide_and_the_rank_column_is_only_kept(put: Put) -> None:
    run = read_run(put("q Q0 a 2 9 t\nq Q0 b 1 1 t\n"))
    assert run.to_dict() == {"q": {"a": 9.0, "b": 1.0}}


def test_an_unusable_rank_is_noted_and_no_error(put: Put) -> None:
    run = read_run(put("q Q0 a 1 2 t\nq Q0 b - 1 t\n"))
    assert run.ranks is None
    assert run.notes == ("line 2: the rank column is not used: '-' is no whole number.",)


def test_queries_may_be_scattered(put: Put) -> None:
    run = read_run(put("q1 Q0 a 1 3 t\nq2 Q0 a 1 2 t\nq1 Q0 b 2 1 t\n"))
    assert run.to_dict() == {"q1": {"a": 3.0, "b": 1.0}, "q2": {"a": 2.0}}
    assert run.lines is not None and run.lines.tolist() == [1, 3, 2]


def test_words_after_the_tag_are_left_out_and_noted(put: Put) -> None:
    run = read_run(put(TREC + "q3 Q0 d1 1 1 bm25 with some words\n"))
    assert run.to_dict() == CONTENT | {"q3": {"d1": 1.0}}
    assert run.notes == ("line 4: 1 line with words after the tag, which are left out.",)


def test_a_tag_of_two_words_on_every_line_is_no_riddle(put: Put) -> None:
    run = read_run(put(TREC.replace("bm25", "my bm25")))
    assert run.to_dict() == CONTENT
    assert run.tag == "my"


def test_two_rows_glued_together_are_an_error(put: Put) -> None:
    with pytest.raises(InputError, match=r"line 4: expected 6 columns \(query Q0 doc rank score tag\), found 11"):
        read_run(put(TREC + "q3 Q0 d1 1 1 bm25q3 Q0 d2 2 0.5 bm25\n"))


@pytest.mark.parametrize("separator", ["\t", " "])
def test_ranks_of_an_ms_marco_run_become_scores(put: Put, separator: str) -> None:
    run = read_run(put("q a 3\nq b 1\nq c 2\np a 1\n".replace(" ", separator)))
    assert run.origin is not None and run.origin.format == "msmarco"
    assert run.ranks is not None and run.ranks.tolist() == [3, 1, 2, 1]
    scores = run.to_dict()["q"]
    assert sorted(scores, key=lambda doc: -scores[doc]) == ["b", "c", "a"]


def test_ranks_of_an_ms_marco_run_may_count_from_zero(put: Put) -> None:
    assert read_run(put("q\ta\t0\nq\tb\t1\n")).to_dict() == {"q": {"a": 1.0, "b": 0.5}}


@pytest.mark.parametrize("rank", ["-1", "1.5", "x", "9" * 19])
def test_an_ms_marco_rank_must_be_a_whole_number(put: Put, rank: str) -> None:
    with pytest.raises(InputError, match=f"line 4: rank '{rank}' is not a whole number from 0"):
        read_run(put(f"# a comment\nq a 1\n\nq b {rank}\n"))


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_a_dict_of_dicts(put: Put, indent: int | None) -> None:
    run = read_run(put(json.dumps(CONTENT | {"q3": {}}, indent=indent)))
    assert run.to_dict() == CONTENT | {"q3": {}}
    assert run.origin is not None and run.origin.format == "json"


RECORDS = [{"query": q, "doc": d, "score": s} for q, docs in CONTENT.items() for d, s in docs.items()]


def test_json_may_be_an_array_of_records(put: Put) -> None:
    assert read_run(put(json.dumps(RECORDS))).to_dict() == CONTENT


@pytest.mark.parametrize(
    "names",
    [
        ("query", "doc", "score"),
        ("query_id", "doc_id", "score"),
        ("qid", "docno", "sim"),
        ("Query ID", "DocID", "Score"),
    ],
)
def test_jsonl_has_one_record_a_line(put: Put, names: tuple[str, str, str]) -> None:
    lines = [json.dumps(dict(zip(names, record.values(), strict=True))) for record in RECORDS]
    run = read_run(put("\n".join(["", *lines]) + "\r\n"))
    assert run.to_dict() == CONTENT
    assert run.origin is not None and run.origin.format == "jsonl"


def test_ids_in_json_may_be_whole_numbers(put: Put) -> None:
    assert read_run(put('{"query": 7, "doc": 12, "score": 1}\n')).to_dict() == {"7": {"12": 1.0}}


def test_docno_is_the_document_where_there_is_a_docid_too(put: Put) -> None:
    path = put("qid,docid,docno,score\nq,17,FT911-3,2\n")
    assert read_run(path).to_dict() == {"q": {"FT911-3": 2.0}}
    path = put('{"qid": "q", "doc_id": 17, "docno": "FT911-3", "score": 2}\n')
    assert read_run(path).to_dict() == {"q": {"FT911-3": 2.0}}


def test_records_without_score_are_ranked(put: Put) -> None:
    run = read_run(put("qid,docid,rank\nq,a,2\nq,b,1\n"))
    assert run.to_dict() == {"q": {"a": 0.5, "b": 1.0}}


@pytest.mark.parametrize("rank", ["-1", "0.5", "1e300", "x", ""])
def test_a_rank_that_is_needed_must_be_whole(put: Put, rank: str) -> None:
    with pytest.raises(InputError, match="line 3: rank"):
        read_run(put(f"qid,docid,rank\nq,a,1\nq,b,{rank}\n"))


@pytest.mark.parametrize("rank", ["0.5", "1e300", "x", ""])
def test_a_rank_beside_a_score_may_be_unusable(put: Put, rank: str) -> None:
    run = read_run(put(f"qid,docid,rank,score\nq,a,1,2\nq,b,{rank},1\n"))
    assert run.to_dict() == {"q": {"a": 2.0, "b": 1.0}}
    assert run.ranks is None
    assert run.notes == ("line 3: the rank column is not used: query 'q', document 'b' has none.",)


def test_records_with_scores_and_with_ranks_do_not_mix(put: Put) -> None:
    lines = ['{"query": "q", "doc": "a", "score": 1}', '{"query": "q", "doc": "b", "rank": 1}']
    with pytest.raises(InputError, match="some records have a score and some only a rank"):
        read_run(put("\n".join(lines)))


def test_rag_lines_hold_ids_best_first(put: Put) -> None:
    lines = [
        '{"query_id": "q1", "retrieved_ids": ["b", "a"], "relevant_ids": ["a"]}',
        '{"query_id": "q2", "retrieved_ids": []}',
    ]
    run = read_run(put("\n".join(lines)))
    assert run.origin is not None and run.origin.format == "rag"
    assert run.to_dict() == {"q1": {"b": 1.0, "a": 0.5}, "q2": {}}


def test_a_query_on_two_rag_lines_is_an_error_with_both(put: Put) -> None:
    line = '{"query_id": "q1", "retrieved_ids": ["b", "a"]}'
    with pytest.raises(DuplicateError, match="line 3: query 'q1' occurs twice, first in line 1"):
        read_run(put(f"{line}\n\n{line}\n"))


def test_rag_records_may_be_an_array(put: Put) -> None:
    records = [{"query_id": q, "retrieved_ids": ["b", "a"]} for q in ("q1", "q2")]
    assert read_run(put(json.dumps(records))).to_dict()["q2"] == {"b": 1.0, "a": 0.5}
    with pytest.raises(DuplicateError, match="record 3: query 'q1' occurs twice, first in record 1"):
        read_run(put(json.dumps([*records, records[0]])))


def test_rag_lines_may_hold_scores(put: Put) -> None:
    lines = [
        '{"query_id": "q1", "retrieved_ids": {"a": 3, "b": 4}}',
        '{"query_id": "q2", "retrieved_docs": [{"id": "a", "score": 1.5}]}',
    ]
    assert read_run(put("\n".join(lines))).to_dict() == {"q1": {"a": 3.0, "b": 4.0}, "q2": {"a": 1.5}}


@pytest.mark.parametrize(
    "value", ['"a"', "3", "null", "[null]", "[1.5]", '[{"score": 1}]', '["a", {"id": "b", "score": 1}]', '{"a": "x"}']
)
def test_rag_lines_that_hold_no_ids_are_errors_with_a_line(put: Put, value: str) -> None:
    lines = ['{"query_id": "q1", "retrieved_ids": ["a"]}', f'{{"query_id": "q2", "retrieved_ids": {value}}}']
    with pytest.raises(InputError, match="input.txt, line 2: "):
        read_run(put("\n".join(lines)))


@pytest.mark.parametrize(("format", "separator"), [("csv", ","), ("tsv", "\t")])
def test_tables_with_a_header_are_read(put: Put, format: str, separator: str) -> None:
    rows = [["tag", "Score", "query id", "DOCNO"], *(["t", r["score"], r["query"], r["doc"]] for r in RECORDS)]
    content = "\r\n".join(separator.join(map(str, row)) for row in rows)
    run = read_run(put("# made by hand\r\n\r\n" + content))
    assert run.to_dict() == CONTENT
    assert run.origin is not None and run.origin.format == format


def test_csv_ids_may_be_quoted(put: Put) -> None:
    run = read_run(put('query,doc,score\n"q,1","d ""x""",1\n'))
    assert run.to_dict() == {"q,1": {'d "x"': 1.0}}


def test_a_space_after_every_comma_is_no_part_of_an_id(put: Put) -> None:
    assert read_run(put('query, doc, score\nq, "d, 1", 1\n')).to_dict() == {"q": {"d, 1": 1.0}}
    assert read_run(put("query,doc,score\nq, d,1\n")).to_dict() == {"q": {" d": 1.0}}


def test_a_csv_row_whose_query_begins_with_a_hash_is_a_row(put: Put) -> None:
    run = read_run(put("query,doc,score\n# a comment\n#1,d,1\n"))
    assert run.to_dict() == {"#1": {"d": 1.0}}


def test_an_open_quotation_mark_is_an_error_with_the_line_it_is_in(put: Put) -> None:
    rows = "".join(f"q,d{i},1\n" for i in range(50))
    with pytest.raises(InputError, match="line 52: .*quotation mark|line 52: expected 3 columns"):
        read_run(put(f'query,doc,score\n{rows}"q,d,1\n{rows}'))


def test_a_header_that_names_a_column_twice_is_an_error(put: Put) -> None:
    with pytest.raises(InputError, match="line 1: the header names a column twice"):
        read_run(put("query,doc,score,score\nq,d,1,2\n"))


def test_parquet_is_read(put: Put) -> None:
    path = parquet(put, query=["q1", "q1", "q2"], doc=["d1", "d2", "d1"], score=[2.5, 1.5, 0.5])
    run = read_run(path)
    assert run.to_dict() == CONTENT
    assert run.origin is not None and run.origin.format == "parquet"


def test_parquet_ids_may_be_bytes_or_numbers(put: Put) -> None:
    path = parquet(put, qid=[1, 2], docno=[b"d\xff", b"e"], rank=[1, 1])
    assert read_run(path).to_dict() == {"1": {"d\udcff": 1.0}, "2": {"e": 1.0}}


def test_an_error_in_parquet_or_json_names_the_record_and_no_line(put: Put) -> None:
    twice = parquet(put, query=["q", "q"], doc=["d", "d"], score=[1.0, 2.0])
    with pytest.raises(DuplicateError, match="run.parquet: record 2: document 'd' .* first in record 1") as caught:
        read_run(twice)
    assert caught.value.line is None
    with pytest.raises(InputError, match="run.parquet: record 2: score nan is not a decimal number"):
        read_run(parquet(put, query=["q", "q"], doc=["d", "e"], score=[1.0, float("nan")]))
    with pytest.raises(InputError, match="x.json: record 2: a document id is empty"):
        read_run(put('[{"q_id": "q", "doc": "d", "score": 1},\n{"q_id": "q", "doc": "", "score": 1}]', "x.json"))
    with pytest.raises(DuplicateError, match="x.json: record 2: document 'd' is retrieved twice"):
        read_run(put('{"q":\n{"d": 1,\n"d": 2}}', "x.json"))


@pytest.mark.parametrize("wrong", [None, [], {}, True, "x", "", "0x1", "nan", 10**400])
def test_a_wrong_score_in_json_names_query_and_document(put: Put, wrong: object) -> None:
    with pytest.raises(InputError, match="run.json, line 7: query 'q2', document 'd7': score "):
        read_run(put(json.dumps({"q1": {"d7": 1}, "q2": {"d": 1, "d7": wrong}}, indent=1), "run.json"))


@pytest.mark.parametrize(
    "content",
    [
        '{"q": {"d": NaN}}',
        '{"q": {"d": Infinity}}',
        '{"q": {"d": -1e999}}',
        '{"q": {"d": 1, "d": 2}}',
        '{"q": {"d": 1}, "q": {"e": 2}}',
        '{"q": {"d": 1' + "0" * 5000 + "}}",
        '{"q": {"d": 1' + "0" * 400 + "}}",
        '{"q": {"\\ud800": 1}}',
        '{"\\udc41": {"d": 1}}',
        '{"q": {"": 1}}',
        '{"": {"d": 1}}',
        '{"q": {"a\\nb": 1}}',
        '{"q": 1, "p": {"d": 1}}',
        '{"q": [1, 2]}',
        '{"q": {"d": {"e": 1}}}',
        '{"q": {"d": 1}} trailing',
        '{"q": {"d": 1},}',
        '{"q": {"d": 1}',
        "{'q': {'d': 1}}",
        "{}",
        "[]",
        "[1, 2]",
        '[{"query": "q"}]',
        '[{"query": "q", "query": "p", "doc": "d", "score": 1}]',
        "[" * 100_000,
        '{"q":' * 100_000,
        '{"q": {"d": ' + "[" * 100_000 + "]" * 100_000 + "}}",
    ],
)
def test_json_that_cannot_be_a_run_is_an_error(put: Put, content: str) -> None:
    with pytest.raises(InputError, match="^.*run.json"):
        read_run(put(content, "run.json"))


def test_every_wrong_value_in_json_gets_its_line_in_one_pass(put: Put) -> None:
    values = {f"q{i}": {f"d{j}": None if j % 7 == 0 else 1 for j in range(70)} for i in range(300)}
    problems: list[InputError] = []
    with Input(put(json.dumps(values, indent=0))) as source:
        read_json_run(source, problems.append)
    lines = json.dumps(values, indent=0).split("\n")
    assert len(problems) == 3000
    assert [number for number, line in enumerate(lines, 1) if "null" in line] == [error.line for error in problems]


def test_json_errors_name_the_line(put: Put) -> None:
    with pytest.raises(InputError, match="input.txt, line 3: not JSON"):
        read_run(put('{"q1": {"d": 1},\n"q2":\n {d: 1}}'))


def test_the_same_bytes_are_the_same_id_however_json_spells_them(put: Put) -> None:
    with pytest.raises(DuplicateError):
        read_run(put('{"q": {"d\\u00e9": 1, "d\\udcc3\\udca9": 2}}'))


def test_nan_in_a_field_that_is_not_used_does_no_harm(put: Put) -> None:
    assert read_run(put('{"query": "q", "doc": "d", "score": 1, "other": NaN}\n')).to_dict() == {"q": {"d": 1.0}}


def _trec(score: str) -> str:
    return f"# one\n\n{TREC}\nq9 Q0 d9 1 {score} t\n"


def _jsonl(score: str) -> str:
    good = '{"query": "q", "doc": "d%d", "score": 1}\n'
    return "\n\n" + "".join(good % i for i in range(4)) + f'{{"query": "q", "doc": "x", "score": "{score}"}}\n'


def _csv(score: str) -> str:
    return f'# one\n\nquery,doc,score\nq,d1,1\n\nq,d2,2\nq,d3,"{score}"\n'


@pytest.mark.parametrize("content", [_trec, _jsonl, _csv])
@pytest.mark.parametrize("number", ONE_BAD_NUMBER)
def test_what_is_no_decimal_number_is_an_error_with_file_and_line(
    put: Put, content: Callable[[str], str], number: str
) -> None:
    with pytest.raises(InputError, match="score .* is not a decimal number|score .* does not fit a double") as caught:
        read_run(put(content(number)))
    assert caught.value.line == 7
    assert caught.value.file is not None and caught.value.file.endswith("input.txt")


@pytest.mark.parametrize("content", [_trec, _jsonl, _csv])
@pytest.mark.parametrize(("number", "value"), FINE_NUMBERS.items())
def test_every_decimal_number_is_read(put: Put, content: Callable[[str], str], number: str, value: float) -> None:
    assert read_run(put(content(number))).scores.tolist()[-1] == value


def big_trec(lines: int) -> list[str]:
    return [f"q{i // 1000} Q0 document-{'x' * 60}-{i} {i % 1000} {i}.5 tag" for i in range(lines)]


def big_jsonl(lines: int) -> list[str]:
    return [f'{{"query": "q", "doc": "document-{"x" * 60}-{i}", "score": {i}}}' for i in range(lines)]


def big_csv(lines: int) -> list[str]:
    return ["query,doc,score", *(f"q,document-{'x' * 80}-{i},{i}" for i in range(lines - 1))]


@pytest.mark.parametrize("make", [big_trec, big_jsonl, big_csv])
def test_line_numbers_are_true_in_every_block_of_a_large_file(put: Put, make: Callable[[int], list[str]]) -> None:
    lines = make(30_000)
    assert sum(map(len, lines)) > 2.5e6
    for bad in (2, 9_000, 15_000, 21_000, 30_000):
        broken = lines.copy()
        broken[bad - 1] = broken[bad - 1].rstrip("}") + " x y z a b,"
        with pytest.raises(InputError) as caught:
            read_run(put("\n".join(broken)))
        assert caught.value.line == bad


def test_wrong_scores_are_found_in_every_block_of_a_large_file(put: Put) -> None:
    lines = big_trec(30_000)
    for bad in (1, 14_000, 29_999):
        broken = lines.copy()
        broken[bad - 1] = broken[bad - 1].replace(" tag", "1e999 tag")
        with pytest.raises(InputError, match=f"line {bad}: score .* does not fit a double"):
            read_run(put("\n".join(broken)))


DUPLICATES = {
    "trec": "q Q0 a 1 1 t\nq Q0 b 2 5 t\nq Q0 a 3 3 t\nq Q0 a 4 2 t\np Q0 a 1 9 t\n",
    "jsonl": "".join(
        f'{{"query": "{q}", "doc": "{d}", "score": {s}}}\n'
        for q, d, s in [("q", "a", 1), ("q", "b", 5), ("q", "a", 3), ("q", "a", 2), ("p", "a", 9)]
    ),
}


@pytest.mark.parametrize("format", DUPLICATES)
def test_a_document_retrieved_twice_is_an_error_with_file_and_line(put: Put, format: str) -> None:
    with pytest.raises(DuplicateError, match="input.txt, line 3: document 'a' is retrieved twice for query 'q', .* 1"):
        read_run(put(DUPLICATES[format]))


@pytest.mark.parametrize("format", DUPLICATES)
@pytest.mark.parametrize(("rule", "score"), [("first", 1.0), ("last", 2.0), ("max", 3.0)])
def test_of_duplicates_the_one_asked_for_is_kept_and_noted(put: Put, format: str, rule: str, score: float) -> None:
    run = read_run(put(DUPLICATES[format]), on_duplicate=rule)  # type: ignore[arg-type]
    assert run.to_dict() == {"q": {"a": score, "b": 5.0}, "p": {"a": 9.0}}
    assert run.notes == (f"2 repeated documents left out (--on-duplicate {rule}).",)


def test_an_unknown_rule_for_duplicates_is_an_error(put: Put) -> None:
    with pytest.raises(InputError, match="on_duplicate is 'lst', expected one of error, first, last, max"):
        read_run(put(TREC), on_duplicate="lst")  # type: ignore[arg-type]


def test_a_format_can_be_named(put: Put) -> None:
    path = put("q a 1\nq b 1\n")
    with pytest.raises(FormatError, match="--run-format msmarco"):
        read_run(path)
    assert read_run(path, "msmarco").to_dict() == {"q": {"a": 1.0, "b": 1.0}}
    with pytest.raises(FormatError, match="unknown format 'trek' for --run-format: expected one of trec, msmarco"):
        read_run(path, "trek")


@pytest.mark.parametrize("format", ["trec", "msmarco", "json", "jsonl", "rag", "csv", "tsv", "parquet"])
def test_a_wrongly_named_format_is_an_error(put: Put, format: str) -> None:
    with pytest.raises(CranfieldError):
        read_run(put("\x00some thing else, altogether\n" * 3), format)


@pytest.mark.parametrize(
    ("header", "content"),
    [
        ("", TREC),
        ("", TREC.replace(" Q0", "").replace(" bm25", "").replace(" 2.5", "").replace(" 1.5", "").replace(" 0.5", "")),
        ("", "".join(json.dumps(record) + "\n" for record in RECORDS)),
        ("", '{"query_id": "a", "retrieved_ids": ["x", "y"]}\n{"query_id": "b", "retrieved_ids": ["x"]}\n'),
        ("query,doc,score\n", "".join(",".join(map(str, record.values())) + "\n" for record in RECORDS)),
    ],
)
def test_the_order_of_lines_does_not_matter(put: Put, header: str, content: str) -> None:
    expected = read_run(put(header + content)).to_dict()
    lines = content.splitlines()
    generator = random.Random(7)
    for _ in range(5):
        generator.shuffle(lines)
        assert read_run(put(header + "\n".join(lines))).to_dict() == expected
