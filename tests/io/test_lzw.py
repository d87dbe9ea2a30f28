"""Files packed by compress (.Z)."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from cranfield.errors import InputError
from cranfield.io import read_run, write_run
from cranfield.io.files import Input
from cranfield.io.lzw import decompress_lzw


def packed(data: bytes, most: int = 16, clear_after: int | None = None) -> bytes:
    """What compress makes of data; the table is cleared after so many codes."""
    known = {bytes([i]): i for i in range(256)}
    free, bits, written, groups = 257, 9, 0, [bytes([0x1F, 0x9D, 0x80 | most])]
    codes: list[int] = []

    def flush(whole: bool) -> None:
        number = sum(code << (bits * i) for i, code in enumerate(codes))
        size = bits if whole else (len(codes) * bits + 7) // 8
        groups.append(number.to_bytes(size, "little"))
        codes.clear()

    def put(code: int) -> None:
        codes.append(code)
        if len(codes) == 8:
            flush(True)

    word = b""
    for byte in data:
        longer = word + bytes([byte])
        if longer in known:
            word = longer
            continue
        put(known[word])
        written += 1
        if free < 1 << most:
            known[longer] = free
            free += 1
        # the reader is one entry behind, and changes its width when its table is full
        if free - 1 >= 1 << bits and bits < most:
            if codes:
                flush(True)
            bits += 1
        if clear_after is not None and written % clear_after == 0:
            put(256)
            if codes:
                flush(True)
            known = {bytes([i]): i for i in range(256)}
            free, bits = 257, 9
        word = bytes([byte])
    if word:
        put(known[word])
    if codes:
        flush(False)
    return b"".join(groups)


def samples() -> list[bytes]:
    rng = random.Random(6)
    noise = bytes(rng.randrange(256) for _ in range(9000))
    words = b" ".join(rng.choice([b"lamp", b"bell", b"bicycle", b"wheel"]) for _ in range(9000))
    return [b"a", b"a" * 5000, b"abababababab", noise, words, words + noise + words]


@pytest.mark.parametrize("most", [10, 12, 16])
@pytest.mark.parametrize("clear_after", [None, 700])
def test_what_is_packed_comes_out_again(most: int, clear_after: int | None) -> None:
    for data in samples():
        assert decompress_lzw(packed(data, most, clear_after)) == data


@pytest.mark.skipif(shutil.which("gzip") is None, reason="there is no gzip to compare with")
@pytest.mark.parametrize("clear_after", [None, 700])
def test_gzip_unpacks_the_same(clear_after: int | None) -> None:
    for data in samples():
        file = packed(data, 12, clear_after)
        assert subprocess.run(["gzip", "-dc"], input=file, capture_output=True, check=True).stdout == decompress_lzw(
            file
        )


def test_a_packed_file_is_read_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "fb396001.z").write_bytes(packed(b"one\ntwo\n"))
    with Input(tmp_path / "fb396001.z") as source:
        assert list(source.lines()) == [(1, b"one"), (2, b"two")]


@pytest.mark.parametrize(
    "data, says",
    [
        (b"\x1f\x9d", "cut off"),
        (b"plain text", "not packed by compress"),
        (b"\x1f\x9d\x89aaaa", "codes of up to 9 bits, expected 10 to 16"),
        (b"\x1f\x9d\x90\xff\xff\xff", "no code 511"),
    ],
)
def test_damaged_data_are_told(data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        decompress_lzw(data, "x.Z")


def test_a_run_that_is_packed_is_read_and_none_is_written(tmp_path: Path) -> None:
    file = tmp_path / "bm25.run.Z"
    file.write_bytes(packed(b"1 Q0 d1 1 2.5 bm25\n"))
    run = read_run(file)
    assert (run.name, run.docs.tolist()) == ("bm25.run", ["d1"])
    with pytest.raises(InputError, match="read only: write .gz instead"):
        write_run(run, tmp_path / "again.run.Z")
    assert not (tmp_path / "again.run.Z").exists()
