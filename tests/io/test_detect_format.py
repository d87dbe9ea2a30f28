"""Formats are told by looking, and a wrong guess is never silent."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cranfield.base.options import QRELS_FORMATS, RUN_FORMATS
from cranfield.errors import DuplicateError, FormatError, InputError
from cranfield.io import read_qrels, read_run
from cranfield.io.detect_format import AS_REQUESTED, detect_qrels_format, detect_run_format
from cranfield.io.file_kind import FileKind, detect_kind

Put = Callable[..., Path]
RUNS = {
    "trec": b"1 Q0 d 1 1 t\n",
    "msmarco": b"1\td\t1\n",
    "json": b'{"1": {"d": 1}}',
    "jsonl": b'{"query": "1", "doc": "d", "score": 1}\n',
    "rag": b'{"query_id": "1", "retrieved_ids": ["d"]}\n',
    "csv": b"query,doc,score\n1,d,1\n",
    "tsv": b"query\tdoc\tscore\n1\td\t1\n",
    "parquet": b"PAR1\x15\x00",
}
QRELS = {
    "trec": b"1 0 d 1\n",
    "diversity": b"1 1 d 1\n1 2 d 0\n",
    "sampled": b"1 0 d 1 1\n1 0 e 2 0\n",
    "prefs": b"1 0 0 d 1\n1 0 0 e 0\n",
    "prels": b"1 d 1 1 0.5\n1 e 0 1 0.25\n1 f 0 1 0.5\n",
    "pairs": b"1 d e\n1 e f\n",
    "plain": b"1 d 1\n1 e 0\n",
    "cranfield": b"1 184 2\n1 29 -1\n2 12 3\n2 13 -1\n",
    "cacm": b"01 1410 0 0\n01 1572 0 0\n",
    "letor": b"1 qid:1 1:0.5\n",
    "beir": b"query-id\tcorpus-id\tscore\n1\td\t1\n",
    "json": b'{"1": {"d": 1}}',
    "jsonl": b'{"query": "1", "doc": "d", "grade": 1}\n',
    "rag": b'{"query_id": "1", "relevant_ids": ["d"]}\n',
    "csv": b"query,doc,grade\n1,d,1\n",
    "tsv": b"query\tdoc\tgrade\n1\td\t1\n",
    "parquet": b"PAR1\x15\x00",
}


@pytest.mark.parametrize(("format", "head"), RUNS.items())
def test_runs_are_told_by_looking(format: str, head: bytes) -> None:
    found = detect_run_format(head, "x")
    assert found.format == format
    assert found.why


@pytest.mark.parametrize(("format", "head"), QRELS.items())
def test_qrels_are_told_by_looking(format: str, head: bytes) -> None:
    found = detect_qrels_format(head, "x")
    assert found.format == format
    assert found.why


def test_every_format_has_an_example_here() -> None:
    assert set(RUNS) == set(RUN_FORMATS)
    assert set(QRELS) == set(QRELS_FORMATS) - {"cisi", "med"}  # as cacm and as trec


@pytest.mark.parametrize("head", [QRELS["trec"], QRELS["sampled"], QRELS["plain"] + b"1 f 0\n", QRELS["beir"]])
def test_qrels_in_place_of_a_run_are_an_error(head: bytes) -> None:
    with pytest.raises(FormatError, match="look.* like|BEIR's qrels"):
        detect_run_format(head, "x")


def test_a_run_without_tag_is_called_so() -> None:
    with pytest.raises(FormatError, match="five columns, expected six .* Is the tag missing"):
        detect_run_format(b"1 Q0 d 1 0.5\n1 Q0 e 2 0.25\n", "x")


@pytest.mark.parametrize("second", [b"Q0", b"0"])
@pytest.mark.parametrize("recognise", [detect_run_format, detect_qrels_format])
def test_a_run_without_tag_is_no_sampled_qrels(recognise: Callable[[bytes, str], object], second: bytes) -> None:
    rows = [(b"1", b"a", 1, b"9.5"), (b"1", b"b", 2, b"9.5"), (b"1", b"c", 3, b"-1"), (b"2", b"a", 1, b"7")]
    head = b"".join(b"%b %b %b %d %b\n" % (query, second, doc, rank, score) for query, doc, rank, score in rows)
    with pytest.raises(FormatError, match="tag"):
        recognise(head, "x")


@pytest.mark.parametrize(
    "head",
    [
        b"1 0 a 1 1\n1 0 b 2 0\n",  # two strata are no ranking yet
        b"1 0 a 1 0\n1 0 b 2 0\n1 0 c 3 1\n",  # a last column that rises is none of scores
        b"1 0 a 1 1\n1 0 b 2 0\n1 0 c 2 0\n",
    ],
)
def test_strata_that_count_are_not_ranks_by_themselves(head: bytes) -> None:
    assert detect_qrels_format(head, "x").format == "sampled"


def test_sampled_qrels_with_a_repeated_document_are_not_taken_for_preferences() -> None:
    with pytest.raises(FormatError, match="--qrels-format sampled, prefs or prels"):
        detect_qrels_format(b"q1 0 d1 1 1\nq1 0 d2 1 0\nq1 0 d1 2 1\n", "x")


@pytest.mark.parametrize("third", [b"0", b"Q0"])
def test_iteration_and_doc_swapped_are_called_so(third: bytes) -> None:
    with pytest.raises(FormatError, match="the iteration and doc columns are swapped"):
        detect_qrels_format(b"1 d1 %b 1\n1 d2 %b 0\n" % (third, third), "x")


def test_a_document_called_0_is_no_swapped_column() -> None:
    assert detect_qrels_format(b"1 1 0 1\n", "x").format == "trec"
    assert detect_qrels_format(b"1 0 0 1\n2 0 0 1\n", "x").format == "trec"


def test_three_columns_are_a_run_only_if_ranks_begin_with_0_or_1() -> None:
    assert detect_run_format(b"1 a 3\n1 b 1\n2 a 0\n3 a 7\n", "x").format == "msmarco"
    with pytest.raises(FormatError, match="begins with neither 0 nor 1 in most queries.*--run-format msmarco"):
        detect_run_format(b"1 a 3\n1 b 2\n2 a 5\n3 a 1\n", "x")
    with pytest.raises(FormatError, match="repeats within a query.*--run-format msmarco"):
        detect_run_format(b"1 a 1\n1 b 1\n", "x")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"2 qid:10 1:0.5 2:0.1\n0 qid:10 1:0.5 2:0.1\n", ("qrels", "letor")),
        (b"2 qid:10 #docid = a\n", ("qrels", "letor")),
        (b"1\ta b c\n2\td e f\n3\tg\n", ("topics", "tsv")),
        (b"1\ta b c d e\n2\td e f g h\n", ("topics", "tsv")),
        (b"1\t" + b"many words " * 40 + b"\n2\tone\n", ("documents", "tsv")),
        (b"id,title,text\n1,a wing,of a plane\n", ("documents", "csv")),
        (b"id\ttitle\ttext\n1\ta\tb c d\n2\ta b\tc d\n", ("documents", "tsv")),
        (b"docno,title,body\n1,a,b\n", ("documents", "csv")),
        (b"qid,query\n1,two words here\n2,two words here\n", ("topics", "csv")),
        (b"1 a 1\n1 b 2\n2 a 1\n", ("run", "msmarco")),
        (b"1 a 2\n1 b 1\n1 c 3\n1 d 4\n1 e 5\n1 f 6\n1 g 7\n", ("run", "msmarco")),
        (b"1 a 1\n1 b 0\n", ("qrels", "plain")),
        (b'{"q": {"a": 3, "b": 2, "c": 1}, "p": {"a": 1, "b": 1}}', ("run", "json")),
        (b'{"q": {"a": 1, "b": 1, "c": 0}}', ("qrels", "json")),
        (b'{"q": {"a": 1}}', ("qrels", "json")),
        (b'{"q": {"a": 1, "b": 0.5}}', ("run", "json")),
        (b'[{"query_id": "q", "retrieved_ids": ["a"]}]', ("run", "json")),
        (b'[{"query_id": "q", "relevant_ids": ["a"]}]', ("qrels", "json")),
    ],
)
def test_what_a_file_is_can_be_told_by_looking(content: bytes, expected: tuple[str, str]) -> None:
    found = detect_kind(content, "x")
    assert (found.kind, found.format) == expected


def test_the_reason_is_given_where_whole_numbers_decide() -> None:
    assert "differ within each query, as scores do" in detect_kind(b'{"q": {"a": 3, "b": 2, "c": 1}}', "x").why
    assert "repeat within a query, as of grades" in detect_kind(b'{"q": {"a": 1, "b": 1, "c": 0}}', "x").why


def test_json_longer_than_the_head_is_told_by_what_there_is() -> None:
    grades = {f"q{i}": {f"d{j}": j % 2 for j in range(50)} for i in range(100)}
    head = json.dumps(grades).encode()
    assert {detect_kind(head[:end], "x").kind for end in (200, 20_000, 50_000)} == {"qrels"}


def test_three_columns_that_could_be_either_ask_and_take_the_format_for_an_answer() -> None:
    head = b"1 b003 2\n1 b009 1\n"
    with pytest.raises(FormatError, match="three columns could be qrels .* or an MS MARCO run .*--run-format msmarco"):
        detect_kind(head, "x")
    assert detect_kind(head, "x", formats={"qrels": "plain"}) == FileKind("qrels", "plain", AS_REQUESTED)
    assert detect_kind(head, "x", formats={"run": "msmarco", "qrels": None}) == FileKind("run", "msmarco", AS_REQUESTED)
    assert detect_kind(head, "x", "run").format == "msmarco"


@pytest.mark.parametrize(
    ("head", "format"),
    [
        (b"1\tb073\tb003\n", "pairs"),
        (b"1 clueweb09-en0-1 clueweb09-en12-7\n2 clueweb09-en3-4 clueweb09-en5-6\n", "pairs"),
        (b"1 a b\n2 b c\n", "pairs"),
        (b"".join(b"1 a %b\n" % name for name in b"one two three four five six seven".split()), "pairs"),
        (b"1 b073 good\n", "plain"),
        (b"1 b073 Perfect\n1 b003 bad\n2 b1 3\n", "plain"),
    ],
)
def test_three_columns_without_numbers_are_told(head: bytes, format: str) -> None:
    assert detect_qrels_format(head, "x").format == format
    assert detect_kind(head, "x").format == format


@pytest.mark.parametrize(
    ("head", "asked"),
    [
        (b"1 b073 relevant\n1 b003 partially\n", "with words such as 'partially' .*--qrels-format plain or pairs"),
        (b"1 a b\n", "--qrels-format plain or pairs"),
        (b"1 b073 rel1\n", "--qrels-format plain or pairs"),
        (b"1 b003 2\n1 b009 1\n", "--qrels-format plain or cranfield[.]"),
        (b"1 12 3\n1 4 2\n", "--qrels-format plain, cranfield or pairs"),
    ],
)
def test_three_columns_that_could_be_several_things_ask_for_those_only(head: bytes, asked: str) -> None:
    with pytest.raises(FormatError, match=asked):
        detect_qrels_format(head, "x")


@pytest.mark.parametrize("start", [0, 1])
def test_a_run_in_place_of_qrels_is_an_error(start: int) -> None:
    with pytest.raises(FormatError, match="six columns look like a run, expected qrels"):
        detect_qrels_format(RUNS["trec"], "x")
    with pytest.raises(FormatError, match="look like an MS MARCO run, expected qrels"):
        detect_qrels_format(b"".join(b"1 d%d %d\n" % (i, i + start) for i in range(10)), "x")


def test_a_table_with_scores_and_ranks_is_no_qrels(put: Put) -> None:
    with pytest.raises(InputError, match="line 2: 'score' beside 'rank' looks like a run, expected qrels"):
        read_qrels(put("qid,docno,score,rank\nq,d,1.5,1\n"))


def test_a_table_with_grades_is_no_run(put: Put) -> None:
    with pytest.raises(InputError):
        read_run(put("query,doc,grade\nq,d,1\n"))
    with pytest.raises(InputError, match="line 1: no score or rank"):
        read_run(put('{"query": "q", "doc": "d", "grade": 1}\n'))


def test_one_bad_line_does_not_change_what_a_file_is(put: Put) -> None:
    with pytest.raises(InputError, match=r"line 2: expected 6 columns"):
        read_run(put("1 Q0 a 1 1 t\n1 Q0 b 2 t\n"))
    with pytest.raises(InputError, match=r"line 1: expected 6 columns"):
        read_run(put("1 Q0 b t\n1 Q0 a 1 1 t\n1 Q0 c 1 1 t\n"))
    with pytest.raises(InputError, match=r"line 2: expected 4 columns"):
        read_qrels(put("1 0 a 1\n1 0 b 1 1\n1 0 c 1\n"))


@pytest.mark.parametrize("recognise", [detect_run_format, detect_qrels_format])
@pytest.mark.parametrize("head", [b"a\n", b"a b\n", b"a,b,c\n", b"a b c d e f g h i j k l m\n", b"\xff\x00\x01\n"])
def test_what_cannot_be_told_asks_for_the_format(recognise: Callable[[bytes, str], object], head: bytes) -> None:
    with pytest.raises(FormatError, match=r"^the.file: cannot tell the format of this .*--(run|qrels)-format"):
        recognise(head, "the file")


def test_a_first_json_line_longer_than_the_head_is_still_told(put: Put) -> None:
    text = "x" * (1 << 20)
    rag = [{"query_id": q, "context": text, "retrieved_ids": ["a", "b"]} for q in ("q1", "q2")]
    assert read_run(put("\n".join(map(json.dumps, rag)))).to_dict()["q2"] == {"a": 1.0, "b": 0.5}
    records = [{"query": "q", "doc": doc, "text": text, "score": 1} for doc in "ab"]
    assert read_run(put("\n".join(map(json.dumps, records)))).to_dict() == {"q": {"a": 1.0, "b": 1.0}}
    nested = {"query": {f"document-{i:090}": i for i in range(12_000)}}
    assert len(read_run(put(json.dumps(nested)))) == 12_000


def lines_of(path: Path) -> list[bytes]:
    data = path.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    return [line for line in data.splitlines() if line.strip() and not line.startswith(b"#")]


@pytest.mark.parametrize(
    ("pattern", "format"),
    [
        ("dl19/qrels.dl19-passage.txt", "trec"),
        ("agreement/*.qrels", "trec"),
        ("diversity/*.qrels.gz", "diversity"),
        ("sampled/*.qrels5.gz", "sampled"),
        ("web/*.qrels.gz", "trec"),
        ("trec_eval/qrels*test*", "trec"),
        ("trec_eval/qrels.rel_level", "trec"),
        ("trec_eval/qrels*123", "diversity"),
        ("trec_eval/prefs.test", "prefs"),
        ("trec_eval/prefs.comment.test", "prefs"),
        ("classic/cacm/qrels.text", "cacm"),
        ("classic/cisi/CISI.REL", "cacm"),
        ("classic/med/MED.REL", "trec"),
        ("beir/*/qrels/*.tsv", "beir"),
        ("odd/float_grades.qrels", "trec"),
    ],
)
def test_real_qrels_are_told_and_no_judgment_is_lost(shared_data: Path, pattern: str, format: str) -> None:
    files = sorted(shared_data.glob(pattern))
    assert files
    for path in files:
        qrels = read_qrels(path)
        assert qrels.origin is not None and qrels.origin.format == format, path
        assert len(qrels) == len(lines_of(path)) - (format == "beir"), path


def test_cranfields_own_qrels_are_told(shared_data: Path) -> None:
    qrels = read_qrels(shared_data / "classic/cran/cran.qrels")
    assert qrels.origin is not None and qrels.origin.format == "cranfield"
    assert len(qrels.queries) == 225
    assert len(qrels) == 1837 - 225
    assert set(qrels.grades.tolist()) == {1.0, 2.0, 3.0, 4.0}


def test_cacm_and_cisi_are_all_relevant_with_plain_ids(shared_data: Path) -> None:
    cacm = read_qrels(shared_data / "classic/cacm/qrels.text")
    assert set(cacm.grades.tolist()) == {1.0}
    assert cacm.queries[0] == "1"
    assert not any(doc.startswith("0") for doc in cacm.docs)
    assert set(read_qrels(shared_data / "classic/cisi/CISI.REL").grades.tolist()) == {1.0}


def test_real_grades_are_read(shared_data: Path) -> None:
    dl19 = read_qrels(shared_data / "dl19/qrels.dl19-passage.txt")
    assert len(dl19.queries) == 43
    assert set(dl19.grades.tolist()) == {0.0, 1.0, 2.0, 3.0}
    assert min(read_qrels(shared_data / "web/wt12.qrels.gz").grades) == -2
    sampled = read_qrels(shared_data / "sampled/tv21.qrels5.gz")
    assert len(sampled.queries) == 10
    assert set(sampled.grades.tolist()) == {-1.0, 0.0, 1.0}
    assert len(set(sampled.extra["stratum"])) > 1


@pytest.mark.parametrize("pattern", ["dl19/runs/*", "diversity/*.run.gz", "sampled/*.run.gz", "web/*.run.gz"])
def test_real_runs_are_told_and_no_document_is_lost(shared_data: Path, pattern: str) -> None:
    files = sorted(shared_data.glob(pattern))[:6]
    assert files
    for path in files:
        run = read_run(path)
        lines = lines_of(path)
        assert run.origin is not None and run.origin.format == "trec", path
        assert Counter(run.row_queries()) == Counter(line.split()[0].decode() for line in lines)
        assert run.ranks is not None and run.notes == ()


@pytest.mark.parametrize(
    "name", ["results.test", "results-302.test", "results.comment.test.gz", "prefs.results.test", "results.trunc"]
)
def test_the_runs_of_trec_evals_own_tests_are_read(shared_data: Path, name: str) -> None:
    path = shared_data / "trec_eval" / name
    run = read_run(path)
    assert run.origin is not None and run.origin.format == "trec"
    assert len(run) == len(lines_of(path))


def test_words_after_the_tag_of_a_real_run_are_noted(shared_data: Path) -> None:
    run = read_run(shared_data / "trec_eval/results.trunc")
    assert run.notes == ("5 lines with words after the tag, which are left out. First in line 1.",)
    assert run.tag == "STANDARD"


def test_real_float_grades_evaluate(shared_data: Path) -> None:
    from cranfield import evaluate

    qrels = read_qrels(shared_data / "odd/float_grades.qrels")
    assert evaluate(qrels, qrels.to_dict(), ["nDCG@10"]).mean("nDCG@10") == 1.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("swapped_columns.run", "swapped_columns.run, line 2: document '0.951508999' .* columns swapped"),
        ("duplicate_docs.run", "duplicate_docs.run, line 140: document '20758340' .* query '3', first in line 103"),
    ],
)
def test_real_mistakes_are_errors_with_file_and_line(shared_data: Path, name: str, message: str) -> None:
    with pytest.raises(DuplicateError, match=message):
        read_run(shared_data / "odd" / name)


def test_a_real_list_of_other_things_is_no_run(shared_data: Path) -> None:
    for name in ("prefs.rank20", "qrels.test", "zscores_file"):
        with pytest.raises(FormatError):
            read_run(shared_data / "trec_eval" / name)
    with pytest.raises(FormatError):
        read_qrels(shared_data / "classic/cran/cranqrel.readme")
