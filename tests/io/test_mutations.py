"""Whatever bytes a file holds: it is read, or a CranfieldError says why not. Nothing else ever comes out."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cranfield.data.collection import Qrels, Run
from cranfield.errors import CranfieldError
from cranfield.io import read_qrels, read_run
from cranfield.validation import check_file, compare_files
from tests.soak import SOAK

Rows = Run | Qrels
ROUNDS = 200
RUNS = {
    "trec": b"# run\nq1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\n\nq2 Q0 d1 1 -0.5 tag\r\n",
    "msmarco": b"q1\td1\t1\nq1\td2\t2\nq2\td1\t1\n",
    "json": b'{"q1": {"d1": 2.5, "d2": 1},\n "q2": {"d1": 1e-3}}\n',
    "jsonl": b'{"query": "q1", "doc": "d1", "score": 1.5}\n{"query": "q1", "doc": 7, "score": 1, "rank": 2}\n',
    "rag": b'{"query_id": "q1", "retrieved_ids": ["a", {"id": "b"}], "relevant_ids": ["a"]}\n',
    "csv": b'query,doc,score,rank\nq1,"d,1",2.5,1\nq1,d2,1.5,2\n',
    "tsv": b"query\tdoc\trank\nq1\td1\t1\nq1\td2\t2\n",
}
QRELS = {
    "trec": b"# qrels\nq1 0 d1 1\nq1 0 d2 -2\nq2 0 d1 0.5\nq2 0 d2 perfect\n",
    "diversity": b"1 1 d1 1\n1 2 d1 0\n2 1 d2 1\n",
    "sampled": b"1 0 d1 1 1\n1 0 d2 2 -1\n2 0 d1 1 0\n",
    "prefs": b"1 g s d1 1\n1 g s d2 0\n1 g t d1 0\n",
    "prels": b"1 d1 1 1 0.5\n1 d2 0 0 1\n1 d3 0 4 NA\n",
    "pairs": b"q1 d1 d2\nq1 d2 d3\nq2 d1 d2 d2\n",
    "plain": b"q1 d1 1\nq1 d2 0\n",
    "cranfield": b"1 184 2 \n1 29 -1\n2 12 3\n2 13 -1\n",
    "cacm": b"01 1410  0 0\n01 0756  0 0\n02 7 0 0.000\n",
    "letor": b"2 qid:10 1:0.5 2:1 #docid = GX008 inc = 1\n0 qid:10 1:0.25\n",
    "beir": b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n",
    "json": b'{"q1": {"d1": 1, "d2": "good"}, "q2": {}}',
    "jsonl": b'{"query": "q1", "doc": "d1", "grade": 1, "subtopic": 2, "stratum": "1"}\n',
    "rag": b'{"query_id": "q1", "relevant_ids": {"a": 1}}\n{"query_id": "q2", "relevant_ids": ["b"]}\n',
    "csv": b"query,doc,grade\nq1,d1,1\nq1,d2,0\n",
    "tsv": b"query\titer\tdoc\tgrade\nq1\t0\td1\t1\n",
}
TEXTS = [
    b"<top>\n<num> Number: 301\n<title> wings\n<desc> Description:\nof planes\n</top>\n",
    b"<DOC>\n<DOCNO>d1</DOCNO>\n<TEXT>a wing</TEXT>\n</DOC>\n",
    b".I 1\n.T\nwing\n.W\nflow\n.I 2\n.W\nheat\n",
    b'{"_id": "d1", "title": "t", "text": "x"}\n{"_id": "d2", "text": "y"}\n',
    b"q1\ta wing\nq2\theat\n",
    b'id,title,text\nd1,"a, b","two\nlines"\nd2,t,x\n',
]
# what trips parsers more often than chance would try it
NASTY = [
    b"\0",
    b"\n",
    b"\r",
    b" ",
    b"\t",
    b'"',
    b"#",
    b",",
    b"{",
    b"}",
    b"[",
    b"\\u",
    b"\\ud800",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"9" * 30,
    b"9" * 400,
    b"1" * 5000,
    b"e999",
    b"-",
    b"_",
    b"NaN",
    b"Infinity",
    b"null",
    b"true",
    b"0x",
    b"PAR1",
    b"BZh9",
    b"\x1f\x8b",
    b"\xd9\xa3",
]


def flipped(data: bytes, generator: random.Random) -> bytes:
    at = generator.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << generator.randrange(8))]) + data[at + 1 :]


def cut(data: bytes, generator: random.Random) -> bytes:
    start, end = sorted(generator.choices(range(len(data) + 1), k=2))
    return data[:start] + generator.choice([b"", data[end:]])


def inserted(data: bytes, generator: random.Random) -> bytes:
    at = generator.randrange(len(data) + 1)
    return data[:at] + generator.choice([*NASTY, generator.randbytes(3)]) + data[at:]


def doubled(data: bytes, generator: random.Random) -> bytes:
    start, end = sorted(generator.choices(range(len(data) + 1), k=2))
    return data[:end] + data[start:end] * generator.randrange(1, 4) + data[end:]


def mutated(data: bytes, generator: random.Random) -> bytes:
    for _ in range(generator.choice([1, 1, 2, 5])):
        data = generator.choice([flipped, cut, inserted, doubled])(data, generator) or b"x"
    return data


def read_or_refused(read: Callable[..., Rows], path: Path, format: str | None) -> bool:
    """Whether a file was read; anything but a CranfieldError goes through and fails the test."""
    try:
        rows = read(path, format)
    except CranfieldError as error:
        assert str(error).encode("utf-8", "backslashreplace")
        return False
    values = rows.scores if isinstance(rows, Run) else rows.grades
    assert np.isfinite(values).all()
    assert all(rows.queries) and all(rows.docs)
    assert rows.starts[-1] == len(rows.docs) == len(values)
    return True


def attack(read: Callable[..., Rows], format: str | None, data: bytes, folder: Path, rounds: int) -> int:
    """How many of the mutations were read; the original always is."""
    path, generator = folder / "file", random.Random(f"{read.__name__} {format}")
    path.write_bytes(data)
    assert read_or_refused(read, path, format)
    survived = 0
    for _ in range(rounds):
        path.write_bytes(mutated(data, generator))
        survived += read_or_refused(read, path, generator.choice([None, format]))
    return survived


@pytest.mark.soak("mutations")
@pytest.mark.parametrize("format", RUNS)
def test_no_mutation_of_a_run_raises_anything_unforeseen(tmp_path: Path, format: str) -> None:
    assert attack(read_run, format, RUNS[format], tmp_path, ROUNDS) < ROUNDS


@pytest.mark.soak("mutations")
@pytest.mark.parametrize("format", QRELS)
def test_no_mutation_of_qrels_raises_anything_unforeseen(tmp_path: Path, format: str) -> None:
    assert attack(read_qrels, format, QRELS[format], tmp_path, ROUNDS) < ROUNDS


@pytest.mark.parametrize("format", RUNS)
def test_a_file_cut_anywhere_is_read_or_refused(tmp_path: Path, format: str) -> None:
    path = tmp_path / "file"
    for end in range(len(RUNS[format])):
        path.write_bytes(RUNS[format][:end])
        read_or_refused(read_run, path, None)


@pytest.mark.parametrize("format", [*RUNS, "parquet"])
def test_no_file_is_too_odd_for_a_format_named_for_it(tmp_path: Path, format: str) -> None:
    path = tmp_path / "file"
    for content in [*RUNS.values(), *QRELS.values(), *NASTY, b"", b"\n\n", bytes(range(256)), b"PAR1\0\0\0\0PAR1"]:
        path.write_bytes(content)
        read_or_refused(read_run, path, format)


@pytest.mark.parametrize("format", [*QRELS, "parquet"])
def test_no_file_is_too_odd_for_a_qrels_format_named_for_it(tmp_path: Path, format: str) -> None:
    path = tmp_path / "file"
    for content in [*RUNS.values(), *QRELS.values(), *NASTY, b"", b"\n\n", bytes(range(256)), b"PAR1\0\0\0\0PAR1"]:
        path.write_bytes(content)
        read_or_refused(read_qrels, path, format)


@pytest.mark.soak("mutations")
def test_no_mutation_of_any_file_stops_a_check(tmp_path: Path) -> None:
    generator, paths = random.Random(3), (tmp_path / "one", tmp_path / "other")
    for _ in range(3 * ROUNDS):
        for path in paths:
            path.write_bytes(mutated(generator.choice([*RUNS.values(), *QRELS.values(), *TEXTS]), generator))
        checked = [check_file(path) for path in paths]
        assert all(one.usable or one.findings for one in checked)
        assert all(str(finding) for part in (*checked, *compare_files(checked)) for finding in part.findings)


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor(write_checksum=True).compress(data)


@pytest.mark.soak("mutations")
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_no_mutation_of_compressed_data_raises_anything_unforeseen(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    generator = random.Random(2)
    lines = b"".join(b"q%d Q0 %016x 1 %d t\n" % (i // 9, generator.getrandbits(64), i) for i in range(200))
    attack(read_run, "trec", pack(lines), tmp_path, 3_000 if SOAK else 150)


@pytest.mark.soak("mutations")
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_no_mutation_of_parquet_raises_anything_unforeseen(tmp_path: Path, compression: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = range(40)
    table = pyarrow.table(
        {"query": [f"q{i % 4}" for i in rows], "doc": [f"d{i}" for i in rows], "score": [i / 4 for i in rows]}
    )
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression=compression)
    attack(read_run, "parquet", buffer.getvalue(), tmp_path, 3_000 if SOAK else 150)
