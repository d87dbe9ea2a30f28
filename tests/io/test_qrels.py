"""Judgments in every format: what is read, and which line an error names."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cranfield.data.collection import Qrels
from cranfield.errors import DuplicateError, FormatError, InputError
from cranfield.io import read_qrels

Put = Callable[..., Path]
TREC = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"
CONTENT = {"q1": {"d1": 1.0, "d2": 0.0}, "q2": {"d1": 2.0}}


def format_of(qrels: Qrels) -> str:
    assert qrels.origin is not None
    return qrels.origin.format


@pytest.mark.parametrize(
    "content",
    [
        TREC,
        TREC.replace(" ", "\t"),
        TREC.replace(" ", "  \t"),
        TREC.replace("\n", "\r\n"),
        TREC.removesuffix("\n"),
        TREC.replace(" 0 d", " Q0 d"),
        TREC.replace("\n", "\n# a comment\n\n"),
        "# ir_metadata.start\n#   actor: x\n" + TREC,
        TREC.replace(" 1\n", " 1.0\n").replace(" 2\n", " 2e0\n"),
    ],
)
def test_trec_qrels_are_read_however_they_are_laid_out(put: Put, content: str) -> None:
    qrels = read_qrels(put(content))
    assert qrels.to_dict() == CONTENT
    assert format_of(qrels) == "trec"
    assert not qrels.has_subtopics


def test_grades_may_be_fractions_and_negative(put: Put) -> None:
    qrels = read_qrels(put("q 0 a 0.25\nq 0 b -2\nq 0 c -.5\nq 0 d +1.\n"))
    assert qrels.to_dict() == {"q": {"a": 0.25, "b": -2.0, "c": -0.5, "d": 1.0}}


def test_grades_may_be_words(put: Put) -> None:
    qrels = read_qrels(put("q 0 a perfect\nq 0 b Excellent\nq 0 c GOOD\nq 0 d fair\nq 0 e bad\n"))
    assert qrels.to_dict() == {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0, "e": 0.0}}


def test_words_for_grades_can_be_given(put: Put) -> None:
    path = put("q 0 a Key\nq 0 b none\nq 0 c 7\n")
    assert read_qrels(path, grade_words={"key": 2, "None": 0}).to_dict() == {"q": {"a": 2.0, "b": 0.0, "c": 7.0}}
    with pytest.raises(
        InputError, match="line 1: grade 'Key' is neither a decimal number nor one of the words perfect"
    ):
        read_qrels(path)


@pytest.mark.parametrize("grade", ["0x1", "nan", "inf", "1_0", "1e400", "x", "1,5", "-", "٣"])
@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("trec", "# one\n\nq 0 a 1\nq 0 b {}\n"),
        ("diversity", "# one\n\nq 1 a 1\nq 2 b {}\n"),
        ("sampled", "# one\n\nq 0 a 1 1\nq 0 b 1 {}\n"),
        ("prefs", "# one\n\nq g s a 1\nq g s b {}\n"),
        ("prels", "# one\n\nq a 1 1 0.5\nq b {} 1 0.5\n"),
        ("plain", "# one\n\nq a 1\nq b {}\n"),
        ("letor", "# one\n\n1 qid:q 1:0.5\n{} qid:q 1:0.5\n"),
        ("csv", "# one\n\nquery,doc,grade\nq,b,{}\n"),
        ("tsv", "# one\n\nquery\tdoc\tgrade\nq\tb\t{}\n"),
        ("jsonl", '\n\n{{"query": "q", "doc": "a", "grade": 1}}\n{{"query": "q", "doc": "b", "grade": "{}"}}\n'),
    ],
)
def test_a_wrong_grade_is_an_error_with_file_and_line(put: Put, format: str, content: str, grade: str) -> None:
    if format == "csv" and "," in grade:
        grade = f'"{grade}"'
    with pytest.raises(InputError, match="grade .* is neither|grade .* does not fit a double") as caught:
        read_qrels(put(content.format(grade)), format)
    assert caught.value.line == 4
    assert caught.value.file is not None and caught.value.file.endswith("input.txt")


def test_the_second_column_may_tell_subtopics_apart(put: Put) -> None:
    qrels = read_qrels(put("1 1 a 1\n1 2 a 0\n1 2 b 2\n2 1 a 0\n"))
    assert format_of(qrels) == "diversity"
    assert qrels.has_subtopics
    assert qrels.subtopics.tolist() == ["1", "2", "2", "1"]
    assert qrels.to_dict() == {"1": {"a": 1.0, "b": 2.0}, "2": {"a": 0.0}}


def test_sampled_judgments_have_strata(put: Put) -> None:
    qrels = read_qrels(put("1 0 shot1 1 1\n1 0 shot2 2 -1\n1 0 shot3 2 0\n2 0 shot1 1 0\n"))
    assert format_of(qrels) == "sampled"
    assert qrels.extra["stratum"].tolist() == ["1", "2", "2", "1"]
    assert qrels.to_dict()["1"] == {"shot1": 1.0, "shot2": -1.0, "shot3": 0.0}


def test_preferences_have_groups_and_subgroups(put: Put) -> None:
    qrels = read_qrels(put("q g1 s1 a 1\nq g1 s1 b 0\nq g1 s2 a 0\nq g1 s2 b 1\n"))
    assert format_of(qrels) == "prefs"
    assert qrels.subtopics.tolist() == ["g1"] * 4
    assert qrels.extra["subgroup"].tolist() == ["s1", "s1", "s2", "s2"]
    assert qrels.grades.tolist() == [1.0, 0.0, 0.0, 1.0]


def test_pairs_are_preferences_of_one_document_to_another(put: Put) -> None:
    qrels = read_qrels(put("# by hand\nq a b\nq a b\nq b c\np x y\n"))
    assert format_of(qrels) == "pairs"
    assert qrels.subtopics.tolist() == ["5", "5", "2", "2", "3", "3", "4", "4"]  # a repeated pair counts again
    assert qrels.docs.tolist() == ["x", "y", "a", "b", "a", "b", "b", "c"]
    assert qrels.grades.tolist() == [1, 0] * 4


def test_pairs_may_name_the_winner_last(put: Put) -> None:
    qrels = read_qrels(put("q a b b\nq a c a\n"))
    assert format_of(qrels) == "pairs"
    assert list(zip(qrels.docs, qrels.grades, strict=True)) == [("b", 1), ("a", 0), ("a", 1), ("c", 0)]
    numbers = read_qrels(put("1 7 8 8\n"), "pairs")
    assert numbers.to_dict() == {"1": {"8": 1, "7": 0}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q a", "expected three columns .* or four .*, found 2 columns"),
        ("q a b c d", "found 5 columns"),
        ("q a a", "document 'a' is preferred to itself"),
        ("q a b c", "winner 'c' is neither 'a' nor 'b'"),
    ],
)
def test_a_wrong_pair_is_an_error_with_file_and_line(put: Put, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_qrels(put(f"q a b\n\n{line}\n"), "pairs")
    assert caught.value.line == 3 and caught.value.file is not None


def test_prels_have_methods_and_probabilities(put: Put) -> None:
    qrels = read_qrels(put("q clueweb-1 1 1 0.25\nq clueweb-2 0 0 1\nq clueweb-3 -1 4 NA\n"))
    assert format_of(qrels) == "prels"
    assert qrels.extra["method"].tolist() == ["1", "0", "4"]
    assert qrels.extra["probability"].tolist() == ["0.25", "1", "NA"]


@pytest.mark.parametrize("chance", ["1.5", "-0.1", "x", "nan", "0x1"])
def test_a_probability_is_between_0_and_1(put: Put, chance: str) -> None:
    with pytest.raises(InputError, match=f"line 2: probability '{chance}' is not in 0–1 or NA"):
        read_qrels(put(f"q a 1 1 0.5\nq b 1 1 {chance}\n"), "prels")


@pytest.mark.parametrize(
    "content",
    [
        "q 1 1 1 1\nq 2 2 2 1\n",
        "q a 1 1 0\nq b 2 1 1\n",
        "q 0 d1 1 x\nq 0 d2 1 y\n",
    ],
)
def test_five_columns_that_do_not_decide_ask_for_the_format(put: Put, content: str) -> None:
    with pytest.raises(FormatError, match="five columns could be .* Say which: --qrels-format sampled, prefs or prels"):
        read_qrels(put(content))


def test_cranfield_codes_are_turned_round(put: Put) -> None:
    qrels = read_qrels(put("1 184 2 \n1 29 1\n1 12 4\n1 13 5\n1 31 -1\n2 5 3\n2 6 -1\n"))
    assert format_of(qrels) == "cranfield"
    assert qrels.to_dict() == {"1": {"184": 3.0, "29": 4.0, "12": 1.0, "13": 0.0}, "2": {"5": 2.0}}
    assert any("2 rows with code -1 left out" in note for note in qrels.notes)


def test_a_code_that_cranfield_does_not_have_is_an_error(put: Put) -> None:
    with pytest.raises(InputError, match="line 2: code '7', expected 1 to 5, or -1"):
        read_qrels(put("1 184 2\n1 29 7\n"), "cranfield")


@pytest.mark.parametrize(
    "content",
    ["01 1410  0 0\n01 0756  0 0\n02 0007 0 0\n", "  1   1410\t0\t0.000000\r\n 1  756 0 0.0\r\n 2 7 0 0.\r\n"],
)
def test_cacm_and_cisi_list_relevant_pairs(put: Put, content: str) -> None:
    qrels = read_qrels(put(content))
    assert format_of(qrels) == "cacm"
    assert "not TREC qrels" in (qrels.origin.why if qrels.origin else "")
    assert qrels.to_dict() == {"1": {"1410": 1.0, "756": 1.0}, "2": {"7": 1.0}}


def test_a_cacm_line_without_its_zeros_is_an_error_and_changes_nothing(put: Put) -> None:
    with pytest.raises(InputError, match="line 3: expected two zeros after query and document, found '0 1'"):
        read_qrels(put("01 1410 0 0\n01 1572 0 0\n01 1605 0 1\n01 2020 0 0\n"))


def test_medlars_is_as_trec(put: Put) -> None:
    path = put("1 0 13 1\r\n1 0 14 1\r\n2 0 80 1\r\n")
    assert read_qrels(path).to_dict() == read_qrels(path, "med").to_dict() == {"1": {"13": 1, "14": 1}, "2": {"80": 1}}


def test_three_columns_with_zeros_are_plain(put: Put) -> None:
    qrels = read_qrels(put("q a 1\nq b 0\n"))
    assert format_of(qrels) == "plain"
    assert qrels.to_dict() == {"q": {"a": 1.0, "b": 0.0}}


def test_three_columns_that_do_not_decide_ask_for_the_format(put: Put) -> None:
    path = put("q a 1\nq b 2\n")
    with pytest.raises(FormatError, match="--qrels-format plain or cranfield"):
        read_qrels(path)
    assert read_qrels(path, "plain").to_dict() == {"q": {"a": 1.0, "b": 2.0}}
    assert read_qrels(path, "cranfield").to_dict() == {"q": {"a": 4.0, "b": 3.0}}


def test_letor_lines_name_documents_in_comments(put: Put) -> None:
    content = (
        "# features\n2 qid:10 1:0.5 2:1 #docid = GX008-86 inc = 1 prob = 0.08\n0 qid:10 1:0 # valid = 3 docid=GX1\n"
    )
    qrels = read_qrels(put(content))
    assert format_of(qrels) == "letor"
    assert qrels.to_dict() == {"10": {"GX008-86": 2.0, "GX1": 0.0}}


def test_letor_documents_without_a_name_are_numbered(put: Put) -> None:
    qrels = read_qrels(put("1 qid:a 1:0.5\n0 qid:b 1:1\n3 qid:a 1:2\n"))
    assert qrels.to_dict() == {"a": {"1": 1.0, "2": 3.0}, "b": {"1": 0.0}}
    assert qrels.notes[0].startswith("3 lines without a document")


@pytest.mark.parametrize("line", ["1", "1 1:0.5", "1 qid: 1:0.5", "qid:1 1"])
def test_a_letor_line_without_query_is_an_error(put: Put, line: str) -> None:
    with pytest.raises(InputError, match="line 2: expected 'grade qid:QUERY feature:value …', found"):
        read_qrels(put(f"1 qid:a 1:0.5\n{line}\n"))


def test_beir_qrels_have_a_header(put: Put) -> None:
    qrels = read_qrels(put("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td1\t2\n"))
    assert format_of(qrels) == "beir"
    assert qrels.to_dict() == CONTENT


RECORDS = [{"query": q, "doc": d, "grade": g} for q, docs in CONTENT.items() for d, g in docs.items()]


@pytest.mark.parametrize("indent", [None, 1])
def test_json_is_a_dict_of_dicts_or_an_array_of_records(put: Put, indent: int | None) -> None:
    assert read_qrels(put(json.dumps(CONTENT | {"q3": {}}, indent=indent))).to_dict() == CONTENT | {"q3": {}}
    assert read_qrels(put(json.dumps(RECORDS, indent=indent))).to_dict() == CONTENT


@pytest.mark.parametrize("names", [("query", "doc", "grade"), ("qid", "docno", "label"), ("topic", "pid", "relevance")])
def test_jsonl_and_csv_go_by_the_names_of_columns(put: Put, names: tuple[str, str, str]) -> None:
    rows = [list(record.values()) for record in RECORDS]
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    assert read_qrels(put("\n".join(lines))).to_dict() == CONTENT
    for separator in ",\t":
        table = "\n".join(separator.join(map(str, row)) for row in [names, *rows])
        assert read_qrels(put(table)).to_dict() == CONTENT


def test_records_may_have_subtopics_and_words(put: Put) -> None:
    qrels = read_qrels(put("qid,iteration,docid,rel\nq,1,a,good\nq,2,a,bad\nq,,a,fair\n"))
    assert qrels.subtopics.tolist() == ["1", "2", "0"]
    assert qrels.grades.tolist() == [2.0, 0.0, 1.0]


def test_records_may_have_the_columns_of_sampled_judgments(put: Put) -> None:
    qrels = read_qrels(put('{"query": "q", "doc": "a", "grade": 1, "method": 1, "iprob": 0.5}\n'))
    assert {key: column.tolist() for key, column in qrels.extra.items()} == {"method": ["1"], "probability": ["0.5"]}
    assert not read_qrels(put('{"query": "q", "doc": "a", "grade": 1, "method": "pooling"}\n')).extra
    lines = ['{"query": "q", "doc": "a", "grade": 1, "stratum": 1}', '{"query": "q", "doc": "b", "grade": 1}']
    with pytest.raises(InputError, match="line 2: some records have stratum and some do not"):
        read_qrels(put("\n".join(lines)))


def test_rag_lines_hold_relevant_ids(put: Put) -> None:
    lines = [
        '{"query_id": "q1", "retrieved_ids": ["x"], "relevant_ids": ["a", 7]}',
        '{"query_id": "q2", "relevant_ids": {"a": 2, "b": 0.5}}',
        '{"query_id": "q3", "relevant_ids": []}',
    ]
    qrels = read_qrels(put("\n".join(lines)))
    assert format_of(qrels) == "rag"
    assert qrels.to_dict() == {"q1": {"a": 1.0, "7": 1.0}, "q2": {"a": 2.0, "b": 0.5}, "q3": {}}


def test_a_query_on_two_rag_lines_is_an_error_with_both(put: Put) -> None:
    line = '{"query_id": "q1", "relevant_ids": ["b", "a"]}'
    with pytest.raises(DuplicateError, match="line 2: query 'q1' occurs twice, first in line 1"):
        read_qrels(put(f"{line}\n{line}\n"))
    with pytest.raises(DuplicateError, match="record 2: query 'q1' occurs twice, first in record 1"):
        read_qrels(put(f"[{line},\n{line}]"))


def test_rag_lines_without_relevant_ids_are_an_error(put: Put) -> None:
    with pytest.raises(InputError, match="line 1: no list of relevant ids"):
        read_qrels(put('{"query_id": "q1", "retrieved_ids": ["x"]}\n'))


def test_parquet_is_read(put: Put) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = put(b"", "qrels.parquet")
    parquet.write_table(
        pyarrow.table({"qid": ["q1", "q1", "q2"], "docno": ["d1", "d2", "d1"], "label": [1, 0, 2]}), path
    )
    assert read_qrels(path).to_dict() == CONTENT


@pytest.mark.parametrize(
    "content",
    ["q 0 a 1\nq 0 b 0\nq 0 a 2\n", "query,doc,grade\nq,a,1\nq,a,2\n", "1 qid:q #docid=a\n\n2 qid:q #docid=a\n"],
)
def test_a_document_with_two_grades_is_an_error_with_file_and_line(put: Put, content: str) -> None:
    with pytest.raises(DuplicateError, match="line 3: document 'a' is judged twice for query 'q' with grades 1 and 2"):
        read_qrels(put(content))


def test_the_same_grade_twice_is_harmless_and_noted(put: Put) -> None:
    qrels = read_qrels(put("q 0 a 1\nq 0 a 1\nq 0 a 1.0\nq 0 b 0\n"))
    assert qrels.to_dict() == {"q": {"a": 1.0, "b": 0.0}}
    assert len(qrels) == 2
    assert qrels.notes == ("2 repeated judgments left out (identical).",)


def test_different_grades_for_different_subtopics_are_fine(put: Put) -> None:
    qrels = read_qrels(put("q 1 a 1\nq 2 a 2\n"))
    assert len(qrels) == 2
    assert qrels.notes == ()
    with pytest.raises(DuplicateError, match="line 3"):
        read_qrels(put("q 1 a 1\nq 2 a 2\nq 1 a 0\n"))


@pytest.mark.parametrize(("rule", "grade"), [("first", 1.0), ("last", 0.0), ("max", 2.0)])
def test_of_two_grades_the_one_asked_for_is_kept(put: Put, rule: str, grade: float) -> None:
    path = put("q 0 a 1\nq 0 a 2\nq 0 a 0\n")
    assert read_qrels(path, on_duplicate=rule).to_dict() == {"q": {"a": grade}}  # type: ignore[arg-type]


def test_a_line_of_another_width_is_an_error(put: Put) -> None:
    with pytest.raises(InputError, match=r"line 3: expected 4 columns \(query subtopic doc grade\), found 3"):
        read_qrels(put("q 0 a 1\nq 0 b 1\nq 0 c\nq 0 d 0\n"))


def test_line_numbers_are_true_in_every_block_of_a_large_file(put: Put) -> None:
    lines = [f"q{i // 500} 0 document-{'x' * 70}-{i} {i % 4}" for i in range(30_000)]
    for bad in (1, 12_000, 20_000, 30_000):
        broken = lines.copy()
        broken[bad - 1] += "x"
        with pytest.raises(InputError, match=f"line {bad}: grade"):
            read_qrels(put("\n".join(broken)))


def test_queries_are_in_natural_order_and_keep_their_bytes(put: Put) -> None:
    qrels = read_qrels(put(b"q10 0 d\xff 1\nq9 0 a 1\n"))
    assert qrels.queries == ("q9", "q10")
    assert qrels.docs.tolist() == ["a", "d\udcff"]


@pytest.mark.parametrize(
    ("format", "header", "content"),
    [
        ("trec", "", TREC),
        ("diversity", "", "1 1 a 1\n1 2 a 0\n1 2 b 2\n2 1 a 0\n"),
        ("sampled", "", "1 0 a 1 1\n1 0 b 2 -1\n2 0 a 2 0\n"),
        ("prefs", "", "q g1 s1 a 1\nq g1 s1 b 0\nq g1 s2 a 0\nq g1 s2 b 0\n"),
        ("cacm", "", "01 1410 0 0\n01 1572 0 0\n02 1605 0 0\n"),
        ("beir", "query-id\tcorpus-id\tscore\n", "q\ta\t1\nq\tb\t0\np\ta\t1\n"),
        ("letor", "", "1 qid:a #docid=x\n0 qid:a #docid=y\n1 qid:b #docid=x\n"),
    ],
)
def test_the_order_of_lines_does_not_matter(put: Put, format: str, header: str, content: str) -> None:
    def rows(qrels: Qrels) -> set[tuple[object, ...]]:
        extra = (column.tolist() for column in qrels.extra.values())
        return set(zip(qrels.row_queries(), qrels.subtopics, qrels.docs, qrels.grades.tolist(), *extra, strict=True))

    expected = rows(read_qrels(put(header + content)))
    lines = content.splitlines()
    generator = random.Random(3)
    for _ in range(5):
        generator.shuffle(lines)
        qrels = read_qrels(put(header + "\n".join(lines)))
        assert format_of(qrels) == format
        assert rows(qrels) == expected
