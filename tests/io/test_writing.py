"""Writing: every format reads back, says what it loses, and never leaves a half-written file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Qrels, Run
from cranfield.errors import CranfieldError, FormatError, InputError
from cranfield.io import read_qrels, read_run, runs_qrels, write_qrels, write_run
from cranfield.io.files import _compression
from tests.soak import examples

RUN = Run.from_rows(["q1", "q1", "q2"], ["d1", "d2", "d1"], [1.5, 2.5, 0.1], name="bm25")
QRELS = Qrels.from_rows(["q1", "q1", "q2"], ["d1", "d2", "d1"], [1, 0, 2.5])
# prose is for the columns of text, bytes for those that keep them
WHITE = b" \t\n\r\x0b\x0c"
COLUMN = (
    st.binary(min_size=1, max_size=6)
    .filter(lambda b: not set(b) & set(WHITE))
    .map(lambda b: b.decode("utf-8", "surrogateescape"))
)
# a file that begins with such an id is taken for a comment, a mark or a compressed one
QUERY_COLUMN = COLUMN.filter(
    lambda text: not text.startswith(("#", "\ufeff")) and _compression(text.encode("utf-8", "surrogateescape")) is None
)
LINE = (
    st.binary(min_size=1, max_size=6)
    .filter(lambda b: not set(b) & set(b"\n\r"))
    .map(lambda b: b.decode("utf-8", "surrogateescape"))
)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1, max_size=6)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
KINDS = {
    "trec": (QUERY_COLUMN, COLUMN),
    "json": (LINE, LINE),
    "jsonl": (LINE, LINE),
    "csv": (LINE, LINE),
    "tsv": (LINE, LINE),
    "parquet": (TEXT, TEXT),
}
several = examples(60)


@pytest.fixture(autouse=True)
def needs_arrow(request: pytest.FixtureRequest) -> None:
    callspec = getattr(request.node, "callspec", None)
    if callspec and "parquet" in map(str, callspec.params.values()):
        pytest.importorskip("pyarrow")


def run_of(rows: list[tuple[str, str, float]]) -> Run:
    queries, docs, scores = ([row[i] for row in rows] for i in range(3))
    return Run.from_rows(queries, docs, scores)  # type: ignore[arg-type]


def judgments(qrels: Qrels) -> set[tuple[object, ...]]:
    extra = [qrels.extra[key].tolist() for key in sorted(qrels.extra)]
    return set(zip(qrels.row_queries(), qrels.subtopics, qrels.docs, qrels.grades.tolist(), *extra, strict=True))


def there_and_back(value: Any, write: Callable[..., Any], read: Callable[..., Any], format: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write(value, path, format)
        return read(path, format)


@pytest.mark.parametrize("format", KINDS)
@several
@given(data=st.data())
def test_every_run_reads_back_from_every_format(format: str, data: st.DataObject) -> None:
    query, doc = KINDS[format]
    rows = st.lists(st.tuples(query, doc, NUMBER), min_size=1, max_size=8, unique_by=lambda row: row[:2])
    run = run_of(data.draw(rows))
    assert there_and_back(run, write_run, read_run, format).to_dict() == run.to_dict()


@pytest.mark.parametrize("format", [*KINDS, "diversity"])
@several
@given(data=st.data())
def test_all_qrels_read_back_from_every_format(format: str, data: st.DataObject) -> None:
    query, doc = KINDS.get(format, (QUERY_COLUMN, COLUMN))
    subtopic = st.just("0") if format == "json" else st.sampled_from(["0", "1", "a"])
    row = st.tuples(query, doc, subtopic, NUMBER)
    rows = data.draw(st.lists(row, min_size=1, max_size=8, unique_by=lambda row: row[:3]))
    queries, docs, subtopics, grades = ([row[i] for row in rows] for i in range(4))
    qrels = Qrels.from_rows(queries, docs, grades, subtopics=subtopics)  # type: ignore[arg-type]
    assert judgments(there_and_back(qrels, write_qrels, read_qrels, format)) == judgments(qrels)


SPECIAL = {
    "sampled": {"stratum": ["1", "2", "1"]},
    "prefs": {"subgroup": ["s1", "s2", "s1"]},
    "prels": {"method": ["1", "0", "1"], "probability": ["0.5", "1", "NA"]},
}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("format", ["its own", "jsonl", "csv", "tsv", "parquet", "beir"])
def test_the_columns_that_few_formats_have_read_back(kind: str, format: str) -> None:
    qrels = Qrels.from_rows(["q", "q", "q"], ["a", "b", "c"], [1, 0, -1], extra=SPECIAL[kind])
    chosen = kind if format == "its own" else format
    assert judgments(there_and_back(qrels, write_qrels, read_qrels, chosen)) == judgments(qrels)


@pytest.mark.parametrize("kind", SPECIAL)
def test_judgments_go_to_their_own_format_unless_told_otherwise(tmp_path: Path, kind: str) -> None:
    qrels = Qrels.from_rows(["q", "q", "q"], ["a", "b", "c"], [1, 0, -1], extra=SPECIAL[kind])
    assert write_qrels(qrels, tmp_path / "a") == ()
    assert len((tmp_path / "a").read_text().splitlines()[0].split()) == 5
    assert judgments(read_qrels(tmp_path / "a", kind)) == judgments(qrels)


@pytest.mark.parametrize("format", runs_qrels.RUN_WRITERS)
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_what_was_written_is_recognised(tmp_path: Path, format: str, suffix: str) -> None:
    if suffix == ".zst":
        pytest.importorskip("zstandard")
    path = tmp_path / f"file{suffix}"
    write_run(RUN, path, format)
    run = read_run(path)
    assert run.origin is not None and run.origin.format == format
    assert {query: set(docs) for query, docs in run.to_dict().items()} == {"q1": {"d1", "d2"}, "q2": {"d1"}}


@pytest.mark.parametrize(
    "format", sorted(set(runs_qrels.QRELS_WRITERS) - set(SPECIAL) - {"cranfield", "cacm", "cisi", "pairs"})
)
def test_written_qrels_are_recognised(tmp_path: Path, format: str) -> None:
    write_qrels(QRELS, tmp_path / "file", format)
    back = read_qrels(tmp_path / "file")
    same = {"diversity": "trec", "med": "trec", "tsv": "beir"}
    assert back.origin is not None and back.origin.format == same.get(format, format)
    assert back.to_dict() == QRELS.to_dict()


def test_grades_become_pairs_and_pairs_read_back(tmp_path: Path) -> None:
    qrels = Qrels.from_rows(["1", "1", "1", "2"], ["a", "b", "c", "a"], [2, 0, 1, 1])
    assert write_qrels(qrels, tmp_path / "file", "pairs") == (
        "grades became preferences of one document to another: pairs holds nothing else.",
    )
    assert (tmp_path / "file").read_text() == "1 a b\n1 a c\n1 c b\n"
    pairs = read_qrels(tmp_path / "file")
    assert pairs.origin is not None and pairs.origin.format == "pairs"
    assert write_qrels(pairs, tmp_path / "again", "pairs") == ()
    assert (tmp_path / "again").read_text() == (tmp_path / "file").read_text()


def test_cranfield_codes_are_5_less_the_grade(tmp_path: Path) -> None:
    qrels = Qrels.from_rows(["1", "1", "2"], ["a", "b", "c"], [4, 0, 1])
    assert write_qrels(qrels, tmp_path / "file", "cranfield") == ()
    assert (tmp_path / "file").read_text() == "1 a 1\n1 b 5\n2 c 4\n"
    assert read_qrels(tmp_path / "file", "cranfield").to_dict() == qrels.to_dict()


@pytest.mark.parametrize("grade", [-1, 5, 0.5])
def test_a_grade_that_cranfield_has_no_code_for_is_refused(tmp_path: Path, grade: float) -> None:
    qrels = Qrels.from_rows(["1", "2"], ["a", "b"], [1, grade])
    with pytest.raises(InputError, match=f"query '2', document 'b': grade {grade} has no code .* 0 to 4"):
        write_qrels(qrels, tmp_path / "file", "cranfield")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("format", ["cacm", "cisi"])
def test_lists_of_relevant_pairs_hold_only_these_and_say_so(tmp_path: Path, format: str) -> None:
    qrels = Qrels.from_rows(["1", "1", "1", "02"], ["a", "b", "c", "d"], [1, 0, 3, 1])
    assert write_qrels(qrels, tmp_path / "file", format) == (
        f"1 judgment below grade 1 not in the output: {format} lists relevant pairs only.",
        f"1 grade above 1 became 1: {format} lists relevant pairs only.",
        f"zeros at the beginning of ids will not be read back: {format} pads ids with them.",
    )
    assert (tmp_path / "file").read_text() == "1 a 0 0\n1 c 0 0\n02 d 0 0\n"
    assert read_qrels(tmp_path / "file").to_dict() == {"1": {"a": 1.0, "c": 1.0}, "2": {"d": 1.0}}


def test_one_relevant_document_for_all_queries_is_still_a_list_of_pairs(tmp_path: Path) -> None:
    write_qrels(Qrels.from_rows(["1", "2"], ["a", "a"], [1, 1]), tmp_path / "file", "cacm")
    assert read_qrels(tmp_path / "file").to_dict() == {"1": {"a": 1.0}, "2": {"a": 1.0}}


def test_letor_lines_name_the_document_in_a_comment(tmp_path: Path) -> None:
    assert write_qrels(QRELS, tmp_path / "file", "letor") == ()
    assert (tmp_path / "file").read_text().splitlines()[0] == "1 qid:q1 #docid = d1"
    for queries, docs in ((["a b"], ["d"]), (["q"], ["a b"]), (["q#1"], ["d"])):
        with pytest.raises(InputError, match="white space|comment"):
            write_qrels(Qrels.from_rows(queries, docs, [1]), tmp_path / "other", "letor")


def test_rag_lines_hold_grades_and_queries_without_any(tmp_path: Path) -> None:
    qrels = Qrels.from_rows(["q"] * 3, ["a", "a", "b"], [1, 2, 0], subtopics=["1", "2", "1"], empty_queries=["p"])
    assert len(write_qrels(qrels, tmp_path / "file", "rag")) == 2
    assert read_qrels(tmp_path / "file").to_dict() == {"p": {}, "q": {"a": 2.0, "b": 0.0}}


@pytest.mark.parametrize("format", ["msmarco", "rag"])
def test_formats_without_scores_keep_the_order_ties_by_doc_descending(tmp_path: Path, format: str) -> None:
    run = Run.from_rows(["q"] * 4, ["a", "b", "ba", "c"], [1.0, 1.0, 1.0, 2.0])
    assert write_run(run, tmp_path / "file", format) == (f"scores became ranks: {format} holds no scores.",)
    scores = read_run(tmp_path / "file").to_dict()["q"]
    assert sorted(scores, key=lambda doc: -scores[doc]) == ["c", "ba", "b", "a"]


def test_a_trec_run_is_written_best_first_with_ranks(tmp_path: Path) -> None:
    assert write_run(RUN, tmp_path / "file") == ()
    assert (tmp_path / "file").read_text() == "q1 Q0 d2 1 2.5 bm25\nq1 Q0 d1 2 1.5 bm25\nq2 Q0 d1 1 0.1 bm25\n"


def test_ranks_of_its_own_and_a_tag_are_written(tmp_path: Path) -> None:
    run = Run.from_rows(["q", "q"], ["a", "b"], [1, 2], ranks=np.array([0, 7]), tag="mine", name="two words")
    write_run(run, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "q Q0 b 7 2 mine\nq Q0 a 0 1 mine\n"
    for format in ("jsonl", "csv", "tsv"):
        back = there_and_back(run, write_run, read_run, format)
        assert back.ranks.tolist() == [0, 7]


@pytest.mark.parametrize("name", ["two words", "", "\u00a0", "tab\tname"])
def test_a_name_becomes_a_tag_of_one_word(tmp_path: Path, name: str) -> None:
    write_run(RUN.renamed(name), tmp_path / "file")
    assert all(len(line.split()) == 6 for line in (tmp_path / "file").read_bytes().splitlines())


@pytest.mark.parametrize("wrong", ["a b", "a\tb", "a\nb", "", " ", "a\x0bb"])
@pytest.mark.parametrize("format", ["trec", "msmarco"])
def test_ids_with_white_space_are_refused_where_they_are_impossible(tmp_path: Path, wrong: str, format: str) -> None:
    for queries, docs in (([wrong], ["d"]), (["q"], [wrong])):
        with pytest.raises(InputError, match="holds white space and cannot be a column of this format"):
            write_run(Run.from_rows(queries, docs, [1.0]), tmp_path / "file", format)
    with pytest.raises(InputError, match="holds white space"):
        write_qrels(Qrels.from_rows(["q"], [wrong], [1]), tmp_path / "file", "trec")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("query", ["#1", "\ufeffq"])
def test_queries_that_would_not_read_back_are_refused(tmp_path: Path, query: str) -> None:
    for format in ("trec", "msmarco"):
        with pytest.raises(InputError, match="would"):
            write_run(Run.from_rows([query], ["d"], [1.0]), tmp_path / "file", format)
    run = Run.from_rows([query], ["d"], [1.0])
    assert there_and_back(run, write_run, read_run, "csv").to_dict() == {query: {"d": 1.0}}


def test_ids_that_parquet_cannot_hold_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="Arrow holds only UTF-8"):
        write_run(Run.from_rows(["q"], ["d\udcff"], [1.0]), tmp_path / "x.parquet")
    assert os.listdir(tmp_path) == []


def test_what_a_format_cannot_hold_is_said(tmp_path: Path) -> None:
    path = tmp_path / "file"
    run = Run.from_rows(["q"], ["d"], [1.0], ranks=np.array([3]), tag="mine", empty_queries=["p"])
    assert write_run(run, path, "trec") == ("1 query without any document not in the output: trec cannot hold it.",)
    assert write_run(run, path, "json") == (
        "the rank column is not in the output: json cannot hold it.",
        "the tag 'mine' is not in the output: only trec holds it.",
    )
    subtopics = Qrels.from_rows(["q"] * 3, ["a", "a", "b"], [1, 2, 0], subtopics=["1", "2", "1"], empty_queries=["p"])
    assert write_qrels(subtopics, path, "json") == (
        "subtopics not in the output: json cannot hold it.",
        "1 judgment not in the output: a document judged twice keeps the highest grade.",
    )
    assert read_qrels(path).to_dict() == {"p": {}, "q": {"a": 2.0, "b": 0.0}}
    assert len(write_qrels(subtopics, path, "plain")) == 3
    assert read_qrels(path, "plain").to_dict() == {"q": {"a": 2.0, "b": 0.0}}
    assert write_qrels(subtopics, path, "csv") == (
        "1 query without any judgment not in the output: csv cannot hold it.",
    )


def test_preferences_written_as_qrels_can_be_read(tmp_path: Path) -> None:
    extra = {"subgroup": ["s1", "s2", "s1"]}
    prefs = Qrels.from_rows(["q"] * 3, ["a", "a", "b"], [1, 2, 0], extra=extra)
    assert write_qrels(prefs, tmp_path / "file", "trec") == (
        "1 judgment not in the output: a document judged twice keeps the highest grade.",
        "subgroup not in the output: trec cannot hold it.",
    )
    assert read_qrels(tmp_path / "file").to_dict() == {"q": {"a": 2.0, "b": 0.0}}


@pytest.mark.parametrize("kind", SPECIAL)
def test_a_format_whose_columns_are_missing_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match=f"these judgments have no .*: the {kind} format needs it"):
        write_qrels(QRELS, tmp_path / "file", kind)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.json", "json"),
        ("a.jsonl.gz", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.csv.xz", "csv"),
        ("a.TSV", "tsv"),
        ("a.parquet", "parquet"),
        ("a.run", "trec"),
        ("a", "trec"),
    ],
)
def test_the_suffix_names_the_format(tmp_path: Path, name: str, format: str) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    write_run(RUN, tmp_path / name)
    origin = read_run(tmp_path / name).origin
    assert origin is not None and origin.format == format


def test_an_unknown_format_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot write the format 'word': expected one of trec"):
        write_qrels(QRELS, tmp_path / "file", "word")


@pytest.mark.parametrize(
    ("suffix", "unpack"), [(".gz", gzip.decompress), (".bz2", bz2.decompress), (".xz", lzma.decompress)]
)
def test_the_same_content_gives_the_same_bytes(
    tmp_path: Path, suffix: str, unpack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(RUN, tmp_path / f"a{suffix}")
    monkeypatch.setattr("time.time", lambda: 1e9)
    write_run(RUN, tmp_path / f"b{suffix}")
    packed = (tmp_path / f"a{suffix}").read_bytes()
    assert packed == (tmp_path / f"b{suffix}").read_bytes()
    assert unpack(packed).startswith(b"q1 Q0 d2 1 2.5 bm25\n")


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("error", [RuntimeError, OSError, KeyboardInterrupt])
def test_a_failing_writer_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, error: type[BaseException]
) -> None:
    if suffix == ".zst":
        pytest.importorskip("zstandard")

    def fail(run: Run, out: Any) -> None:
        out.write(b"half a line" * 100_000)
        raise error(28, "No space left on device")

    path = tmp_path / f"run{suffix}"
    path.write_bytes(b"old")
    monkeypatch.setattr(runs_qrels, "RUN_WRITERS", {"trec": fail})
    with pytest.raises(InputError if error is OSError else error):
        write_run(RUN, path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


def test_an_id_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(b"old")
    with pytest.raises(InputError):
        write_run(Run.from_rows(["q", "q"], ["fine", "not fine"], [2, 1]), path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["run"]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_run(RUN, tmp_path / "run")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o640


def test_an_old_file_keeps_its_permissions_and_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "run", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o604)
    link.symlink_to(path)
    write_run(RUN, link)
    assert link.is_symlink()
    assert path.read_bytes().startswith(b"q1 Q0")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert sorted(os.listdir(tmp_path)) == ["link", "run"]


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_run(RUN, pipe)
        assert os.read(reader, 5) == b"q1 Q0"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
def test_a_full_device_is_an_error() -> None:
    with pytest.raises(InputError, match="^/dev/full: cannot be written: No space left on device"):
        write_run(RUN, "/dev/full")


@pytest.mark.parametrize("name", ["missing/run", "folder", "a\0b"])
def test_where_no_file_can_be_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_run(RUN, f"{tmp_path}/{name}")
    assert os.listdir(tmp_path) == ["folder"]
    assert os.listdir(tmp_path / "folder") == []


def test_a_dash_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_run(RUN, "-")
    sys.stdout.flush()
    assert capfdbinary.readouterr().out.startswith(b"q1 Q0 d2 1 2.5 bm25\n")


def test_a_relative_name_is_written_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(RUN, "run.csv")
    assert read_run("run.csv").to_dict() == RUN.to_dict()
    assert os.listdir(tmp_path) == ["run.csv"]


def test_nothing_but_our_own_errors_comes_from_odd_ids(tmp_path: Path) -> None:
    for doc in ("\ud800", "\udc41", "a\rb", "x" * 200_000):
        for format in runs_qrels.RUN_WRITERS:
            try:
                write_run(Run.from_rows(["q"], [doc], [1.0]), tmp_path / "file", format)
                read_run(tmp_path / "file", format)
            except CranfieldError:
                continue
