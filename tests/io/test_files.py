"""Opening files: compression is told by content, damage is never silent, lines keep their numbers."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cranfield.errors import CranfieldError, FormatError, InputError, MissingExtra
from cranfield.io import read_qrels, read_run, write_run
from cranfield.io.files import BLOCK, Input, display_name, expand_path

Put = Callable[..., Path]
RUN = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\nq2 Q0 d1 1 0.5 tag\n"
CONTENT = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": 0.5}}


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}


class Dripping(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data: bytes, size: int = 7) -> None:
        self._source = io.BytesIO(data)
        self._size = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        return self._source.readinto(memoryview(buffer)[: self._size])


def incompressible(lines: int) -> bytes:
    generator = random.Random(1)
    return b"".join(b"q1 Q0 %032x %d 0.5 tag\n" % (generator.getrandbits(128), i) for i in range(lines))


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("name", ["run.txt", "run.gz", "run.xz", "run"])
def test_compression_is_told_by_content_and_not_by_name(put: Put, kind: str, name: str) -> None:
    assert read_run(put(PACKERS[kind](RUN), name)).to_dict() == CONTENT


@pytest.mark.parametrize("name", ["run.gz", "run.bz2", "run.xz", "run.zst"])
def test_plain_text_under_a_compressed_name_is_read(put: Put, name: str) -> None:
    assert read_run(put(RUN, name)).to_dict() == CONTENT


@pytest.mark.parametrize("kind", PACKERS)
def test_several_compressed_streams_in_one_file_are_one_content(put: Put, kind: str) -> None:
    first, rest = RUN[:19], RUN[19:]
    assert read_run(put(PACKERS[kind](first) + PACKERS[kind](rest))).to_dict() == CONTENT


@pytest.mark.parametrize("kind", PACKERS)
def test_a_cut_compressed_file_is_never_taken_for_a_whole_one(put: Put, kind: str) -> None:
    packed = PACKERS[kind](incompressible(3000))
    for cut in (12, 40, len(packed) // 2, len(packed) - 9, len(packed) - 1):
        with pytest.raises(InputError, match=f"the {kind} data are damaged or cut off") as caught:
            read_run(put(packed[:cut], "cut.run"))
        assert caught.value.file is not None and caught.value.file.endswith("cut.run")


@pytest.mark.parametrize("kind", PACKERS)
def test_a_cut_is_found_behind_the_first_block_too(put: Put, kind: str) -> None:
    packed = PACKERS[kind](incompressible(45_000))
    with pytest.raises(InputError, match="damaged or cut off"):
        read_run(put(packed[:-20]))


@pytest.mark.parametrize("kind", PACKERS)
def test_damaged_compressed_data_are_an_error(put: Put, kind: str) -> None:
    packed = bytearray(PACKERS[kind](incompressible(3000)))
    middle = len(packed) // 2
    packed[middle : middle + 40] = bytes(40)
    with pytest.raises(CranfieldError):
        read_run(put(bytes(packed)))


@pytest.mark.parametrize("query", [b"BZh9", b"BZhang", b"PAR1", b"PAR12", b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff"])
def test_an_id_that_begins_like_a_magic_number_is_an_id(put: Put, query: bytes) -> None:
    run = read_run(put(RUN.replace(b"q1", query)))
    assert run.queries[0] == query.decode("utf-8", "surrogateescape")


def test_the_digest_is_that_of_the_file_on_disk(put: Put) -> None:
    packed = gzip.compress(RUN)
    origin = read_run(put(packed)).origin
    assert origin is not None and origin.sha256 == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize("kind", [None, *PACKERS])
def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, kind: str | None) -> None:
    content = PACKERS[kind](RUN) if kind else RUN
    stdin = io.TextIOWrapper(io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", stdin)
    run = read_run("-")
    assert run.to_dict() == CONTENT
    assert run.name == "stdin"
    assert run.origin is not None and run.origin.file == "standard input"
    assert not stdin.buffer.closed


def test_an_error_in_standard_input_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN + b"q2 Q0 d2 2 nan tag\n")))
    with pytest.raises(InputError, match="^standard input, line 4: "):
        read_run("-")


@pytest.mark.parametrize("stdin", [None, io.StringIO("q1 Q0 d 1 1 t")])
def test_without_a_standard_input_files_are_still_read(
    monkeypatch: pytest.MonkeyPatch, put: Put, stdin: io.StringIO | None
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    assert read_run(put(RUN)).to_dict() == CONTENT
    with pytest.raises(InputError, match="^standard input: there is none"):
        read_run("-")


@pytest.mark.parametrize("kind", [None, *PACKERS])
def test_a_pipe_that_drips_is_read_whole(monkeypatch: pytest.MonkeyPatch, kind: str | None) -> None:
    content = PACKERS[kind](RUN) if kind else RUN

    class Stdin:
        buffer = Dripping(content)

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert read_run("-").to_dict() == CONTENT


def test_a_byte_order_mark_is_no_part_of_the_first_id(put: Put) -> None:
    assert read_run(put(b"\xef\xbb\xbf" + RUN)).to_dict() == CONTENT
    assert read_run(put(gzip.compress(b"\xef\xbb\xbf" + RUN))).to_dict() == CONTENT
    assert read_qrels(put(b"\xef\xbb\xbfquery-id\tcorpus-id\tscore\nq\td\t1\n")).to_dict() == {"q": {"d": 1.0}}
    assert read_run(put(b'\xef\xbb\xbf{"q": {"d": 1}}')).to_dict() == {"q": {"d": 1.0}}


def test_ids_stay_byte_exact_even_when_they_are_not_utf8(put: Put) -> None:
    run = read_run(put(b"q\xff Q0 d\xe9 1 1 t\nq\xff Q0 d\xc3\xa9 2 0.5 t\n"))
    assert run.queries == ("q\udcff",)
    assert run.docs.tolist() == ["d\udce9", "dé"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("read", [read_run, read_qrels])
@pytest.mark.parametrize("content", ["q Q0 d 1 1.5 t\n", "q 0 d 1\n", '{"q": {"d": 1}}', "query,doc,score\nq,d,1\n"])
def test_other_encodings_than_utf8_are_errors(
    put: Put, read: Callable[[Path], object], content: str, encoding: str
) -> None:
    with pytest.raises(InputError):
        read(put(content.encode(encoding)))


def test_utf16_is_called_by_its_name(put: Put) -> None:
    with pytest.raises(FormatError, match="UTF-16, expected UTF-8"):
        read_run(put("q Q0 d 1 1 t\n".encode("utf-16")))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing.run: there is no such file"):
        read_run(tmp_path / "missing.run")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a folder, expected a file"):
        read_run(tmp_path)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Not the superuser, who may read everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_file_without_permission_is_an_error(put: Put) -> None:
    path = put(RUN)
    path.chmod(0)
    with without_privileges(), pytest.raises(InputError, match="cannot be read: Permission denied"):
        read_run(path)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs Linux's /proc/self/mem")
def test_a_file_that_fails_while_being_read_is_an_error() -> None:
    with pytest.raises(InputError, match="^/proc/self/mem: cannot be read"):
        read_run("/proc/self/mem")


def test_an_impossible_name_is_an_error() -> None:
    with pytest.raises(InputError, match="not a possible file name"):
        read_run("a\0b")


@pytest.mark.parametrize("read", [read_run, read_qrels])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n \r\n\n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b"# one\n#two\n\n", "holds only comments"),
        (b"# one", "holds only comments"),
        (bytes(5000), "cannot tell the format"),
        (b"x" * 3 * BLOCK, "cannot tell the format"),
    ],
)
def test_a_file_without_rows_is_an_error_that_says_so(
    put: Put, read: Callable[[Path], object], content: bytes, message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        read(put(content))


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_an_empty_file_may_be_compressed(put: Put, module: Any) -> None:
    with pytest.raises(FormatError, match="the file is empty"):
        read_run(put(module.compress(b"")))


def test_one_enormous_line_is_an_error_with_its_number(put: Put) -> None:
    long = b" ".join(b"word%d" % i for i in range(400_000))
    with pytest.raises(InputError, match=r"line 4: expected 6 columns .* found 400000"):
        read_run(put(RUN + long))


def test_blocks_number_their_first_line(put: Put) -> None:
    content = b"".join(b"%06d %s\n" % (i, b"x" * 90) for i in range(1, 35_001))
    with Input(put(content)) as source:
        blocks = list(source.blocks())
    assert len(blocks) > 2
    assert b"".join(block for _, block in blocks) == content
    assert all(block.startswith(b"%06d" % first) for first, block in blocks)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"", b"last"])
def test_lines_lose_their_ends_and_only_these(put: Put, end: bytes, last: bytes) -> None:
    content = end.join([b"one", b"", b" two\r ", last])
    expected = [(1, b"one"), (2, b""), (3, b" two\r "), (4, b"last")]
    with Input(put(content)) as source:
        assert list(source.lines()) == expected[: 4 if last else 3]


def test_a_line_longer_than_blocks_stays_one_line(put: Put) -> None:
    content = b"a\n" + b"b" * (2 * BLOCK + 17) + b"\nc"
    with Input(put(content)) as source:
        assert [(number, len(line)) for number, line in source.lines()] == [(1, 1), (2, 2 * BLOCK + 17), (3, 1)]


def test_files_are_called_by_name_less_folder_and_compression() -> None:
    assert display_name("runs/bm25.trec.gz") == "bm25.trec"
    assert display_name("runs/.gz") == ".gz"
    assert display_name("runs/bm25.trec") == "bm25.trec"


def test_a_folder_and_a_pattern_stand_for_their_files(tmp_path: Path) -> None:
    for name in ("b.run", "a.run", ".hidden", "c.txt"):
        (tmp_path / name).write_bytes(RUN)
    assert expand_path(tmp_path) == [str(tmp_path / name) for name in ("a.run", "b.run", "c.txt")]
    assert expand_path(tmp_path / "*.run") == [str(tmp_path / name) for name in ("a.run", "b.run")]
    assert expand_path(tmp_path / "nothing*") == [str(tmp_path / "nothing*")]


def test_what_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, put: Put) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        MissingExtra, match=r"input.txt: zstd compression needs an extra: pip install 'cranfield\[zstd\]'"
    ):
        read_run(put(b"\x28\xb5\x2f\xfd rest"))
    with pytest.raises(MissingExtra, match=r"input.txt: Parquet needs an extra: pip install 'cranfield\[arrow\]'"):
        read_run(put(b"PAR1\x15\x00"))
    with pytest.raises(MissingExtra, match="zstd"):
        write_run(read_run(put(RUN)), put(b"old", "run.zst"))
    with pytest.raises(MissingExtra, match="Arrow"):
        write_run(read_run(put(RUN)), put(b"old", "run.parquet"))
    assert (put(b"").parent / "run.zst").read_bytes() == (put(b"").parent / "run.parquet").read_bytes() == b"old"
