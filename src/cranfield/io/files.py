"""Opening files: compression by content, standard input, byte order marks, SHA-256 of what was read."""

from __future__ import annotations

import glob
import io
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import IO, Any, BinaryIO, cast

from cranfield.errors import FormatError, InputError, MissingExtra

BLOCK = 1 << 20
MOST_KEPT = 1 << 28  # how much of a pipe is kept in case it must be read twice
UTF8_BOM = b"\xef\xbb\xbf"
# as long as they are fixed: an id may well begin with 'BZh'
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    "compress": re.compile(rb"\x1f\x9d[\x09-\x10\x89-\x90]"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
}
_LONGEST_MAGIC = 10
# the modules whose errors tell of damaged data; zstd is zstandard before 0.25
_DECOMPRESSORS = ("zlib", "_lzma", "zstandard", "zstd")
_SUFFIX = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".z": "compress"}
PathLike = str | os.PathLike[str]


class Input:
    """A file being read, decompressed on the way; `head` may be looked at before reading.

    A file is read once, from front to back: `blocks`, `lines`, `decode_id` or `read`.
    """

    def __init__(self, path: PathLike, raw: _Raw | None = None) -> None:
        self.path = os.fspath(path)
        self.name = "standard input" if self.path == "-" else self.path
        self.compression: str | None = None
        self._raw = raw or _Raw(self._open_raw(self.path), keep_open=self.path == "-")
        try:
            with self._readable():
                self.compression = _compression(self._raw.peek(_LONGEST_MAGIC))
                self._stream = _decompressed(self._raw, self.compression, self.name)
                self.head = self._without_mark(_full(self._stream, BLOCK))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._raw.close()

    @property
    def sha256(self) -> str | Callable[[], str]:
        """The digest of the file as it is on disk, compressed or not; of a file that stays, how to get it."""
        return self._raw.finish() if self._raw.is_stream else partial(hash_file, self.path, self._raw.signature)

    @property
    def plain_size(self) -> int | None:
        """The size of a file whose bytes can be read anywhere: on disk, and not compressed."""
        at_once = hasattr(os, "preadv")  # not on every system
        return self._raw.signature[0] if at_once and not (self._raw.is_stream or self.compression) else None

    def read_at(self, start: int, size: int) -> bytes:
        """Some bytes of a file that has a plain size; from several threads if need be."""
        with self._readable():
            return self._raw.read_at(start, size)

    def read_into(self, buffer: bytearray, at: int, most: int, start: int) -> int:
        """Fill a buffer from `at` on with bytes of a file that has a plain size, at most so many; how many they are."""
        with self._readable(), memoryview(buffer) as view, view[at : at + most] as place:
            read = self._raw.read_into(place, start)
        if not read:
            raise InputError("the file became shorter while it was read.", self.name)
        return read

    @property
    def mark_size(self) -> int:
        """How many bytes at the beginning of the file are a byte order mark."""
        return len(UTF8_BOM) if self._marked else 0

    def again(self) -> Input:
        """The same, to be read once more from the beginning."""
        if not self._raw.is_stream:
            return Input(self.path)
        self._raw.finish()
        replayed = self._raw.replayed()
        if replayed is None:
            raise InputError(
                "this is no plain TREC run with the lines of each query together, and too long a stream to be read "
                "twice. Save it in a file.",
                self.name,
            )
        return Input(self.path, replayed)

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines in blocks of about a megabyte, each with the number of its first line."""
        number, rest = 1, list[bytes]()
        for chunk in self._chunks():
            cut = chunk.rfind(b"\n") + 1
            if not cut:
                rest.append(chunk)
                continue
            block = b"".join((*rest, chunk[:cut]))
            rest = [chunk[cut:]]
            yield number, block
            number += block.count(b"\n")
        if any(rest):
            yield number, b"".join(rest)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every line with its number, without its line end."""
        for first, block in self.blocks():
            lines = block.split(b"\n")
            if not lines[-1]:
                lines.pop()
            for number, line in enumerate(lines, first):
                yield number, line[:-1] if line.endswith(b"\r") else line

    def read(self) -> bytes:
        """The whole content at once."""
        return b"".join(self._chunks())

    def text(self) -> IO[str]:
        """The content as text, for readers that want a text file; ids survive byte-exact."""
        raw = cast(BinaryIO, io.BufferedReader(_Chunks(self._chunks())))
        return io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="")

    def _chunks(self) -> Iterator[bytes]:
        yield self.head
        with self._readable():
            while chunk := self._stream.read(BLOCK):
                yield chunk

    def _open_raw(self, path: str) -> BinaryIO:
        if path == "-":
            return _standard_input(self.name)
        try:
            return open(path, "rb", buffering=0)
        except OSError as error:
            raise _unreadable(self.name, error) from None
        except ValueError:  # a NUL byte in the name
            raise InputError("this is not a possible file name.", self.name) from None

    def _without_mark(self, head: bytes) -> bytes:
        if _is_utf16(head):
            raise FormatError("the file is UTF-16, expected UTF-8. Convert it, e.g. with iconv.", self.name)
        self._marked = head.startswith(UTF8_BOM)
        return head.removeprefix(UTF8_BOM)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turn what a damaged file makes the decompressors raise into a plain message."""
        try:
            yield
        except EOFError as error:
            raise self._damaged(error) from None
        except OSError as error:
            raise (_unreadable(self.name, error) if error.errno else self._damaged(error)) from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] in _DECOMPRESSORS:
                raise self._damaged(error) from None
            raise

    def _damaged(self, error: Exception) -> InputError:
        return InputError(f"the {self.compression} data are damaged or cut off ({error}).", self.name)


def display_name(path: PathLike) -> str:
    """What a file is called in output: its name less folder and compression suffix.

    >>> display_name("runs/bm25.trec.gz")
    'bm25.trec'
    """
    name = os.path.basename(os.fspath(path))
    stem, suffix = os.path.splitext(name)
    if name == "-":
        return "stdin"
    return stem if suffix.lower() in _SUFFIX and stem else name


def expand_path(path: PathLike) -> list[str]:
    """The files that a file name, a folder or a glob pattern stands for, in order of name."""
    text = os.fspath(path)
    if text == "-" or os.path.isfile(text):
        return [text]
    if os.path.isdir(text):
        from pathlib import Path

        found = (p for p in sorted(Path(text).rglob("*")) if p.is_file())
        files = [str(p) for p in found if not any(part.startswith(".") for part in p.relative_to(text).parts)]
        if not files:
            raise InputError("the folder holds no file.", text)
        return files
    files = [name for name in sorted(glob.glob(text, recursive=True)) if os.path.isfile(name)]
    return files or [text]


@contextmanager
def open_output(path: PathLike) -> Iterator[BinaryIO]:
    """Write a file beside its place and put it there only when complete; `-` is standard output.

    The suffix chooses the compression, since there is no content to look at yet.
    """
    text = os.fspath(path)
    if text == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target, mode = _target(text)
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        with _into_device(text) as out:
            yield out
        return
    import tempfile

    try:
        handle, temporary = tempfile.mkstemp(prefix=".cranfield-", dir=os.path.dirname(target))
    except (OSError, ValueError) as error:
        raise _unwritable(text, error) from None
    try:
        with os.fdopen(handle, "wb") as raw, _compressed(raw, text) as out:
            yield out
        os.chmod(temporary, _new_file_mode() if mode is None else stat.S_IMODE(mode))
        os.replace(temporary, target)
    except OSError as error:
        os.unlink(temporary)
        raise _unwritable(text, error) from None
    except BaseException:
        os.unlink(temporary)
        raise


def strip_compression_suffix(path: PathLike) -> str:
    """The name less a compression suffix, to read the format's own suffix from."""
    text = os.fspath(path)
    stem, suffix = os.path.splitext(text)
    return stem if suffix.lower() in _SUFFIX else text


class _Raw(io.BufferedIOBase):
    """The bytes of a file as they are; those of a pipe, which cannot be read twice, are digested and kept."""

    def __init__(self, file: BinaryIO, keep_open: bool, before: Iterable[bytes] = ()) -> None:
        self._file = file
        self._keep_open = keep_open
        self._before = deque(before)
        self.signature = _signature(file)
        self.is_stream = not self.signature or keep_open
        self._digest = _sha256() if self.is_stream else None
        self._kept: list[bytes] | None = []
        self._kept_size = 0
        self._ahead = b""

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size and (more := self._take(size - len(self._ahead))):
            self._ahead += more
        return self._ahead

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(BLOCK), b""))
        ahead, self._ahead = self._ahead[:size], self._ahead[size:]
        return ahead + self._take(size - len(ahead))

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(BLOCK if size < 0 else size)

    def read_at(self, start: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, start)

    def read_into(self, place: memoryview, start: int) -> int:
        return os.preadv(self._file.fileno(), [place], start)

    def readable(self) -> bool:
        return True

    def finish(self) -> str:
        while not self._file.closed and self._take(BLOCK):
            pass
        return str(self._digest.hexdigest()) if self._digest is not None else ""

    def replayed(self) -> _Raw | None:
        """The same from the beginning: what was kept, then the rest."""
        return None if self._kept is None else _Raw(self._file, self._keep_open, (*self._kept, *self._before))

    def close(self) -> None:
        if not self._keep_open:
            self._file.close()

    def _take(self, size: int) -> bytes:
        if self._before:
            data = self._before.popleft()
            if len(data) > size:
                self._before.appendleft(data[size:])
                data = data[:size]
        else:
            data = self._file.read(size) or b""
        if self._digest is not None:
            self._digest.update(data)
            self._keep(data)
        return data

    def _keep(self, data: bytes) -> None:
        self._kept_size += len(data)
        if self._kept_size > MOST_KEPT:
            self._kept = None
        elif self._kept is not None:
            self._kept.append(data)


def _sha256() -> Any:
    import hashlib

    return hashlib.sha256()


def _signature(file: BinaryIO) -> tuple[int, ...]:
    """What changes when a file on disk changes; nothing for a pipe or a stand-in for a file."""
    try:
        status = os.fstat(file.fileno())
    except (OSError, AttributeError):
        return ()
    return (status.st_size, status.st_mtime_ns, status.st_ino) if stat.S_ISREG(status.st_mode) else ()


def hash_file(path: PathLike, signature: tuple[int, ...] | None = None) -> str:
    """The SHA-256 of a file; with a signature, of one that was read before and has not changed since."""
    import hashlib

    try:
        with open(path, "rb") as file:
            if signature is not None and _signature(file) != signature:
                raise InputError("the file has changed since it was read.", str(path))
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(str(path), error) from None


class _Chunks(io.RawIOBase):
    """A raw stream over an iterator of bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._iterator = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._iterator, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _full(stream: BinaryIO, size: int) -> bytes:
    """Up to `size` bytes, also from a pipe that gives them in small pieces."""
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _is_utf16(head: bytes) -> bool:
    """Whether text is in UTF-16; lines that end otherwise have an id that happens to begin with its mark."""
    line_end = {b"\xff\xfe": b"\n\0", b"\xfe\xff": b"\0\n"}.get(head[:2])
    if line_end is None:
        return False
    return line_end in head if b"\n" in head else b"\0" in head


def _compression(magic: bytes) -> str | None:
    return next((kind for kind, start in _MAGIC.items() if start.match(magic)), None)


def _file_type(kind: str) -> Any:
    """What reads and writes a kind of compressed file; imported only when there is one."""
    if kind == "gzip":
        import gzip

        return gzip.GzipFile
    if kind == "bzip2":
        import bz2

        return bz2.BZ2File
    import lzma

    return lzma.LZMAFile


def _decompressed(raw: _Raw, kind: str | None, name: str) -> BinaryIO:
    source = cast(BinaryIO, raw)
    if kind in ("gzip", "bzip2", "xz"):
        opened = _file_type(kind)
        return cast(BinaryIO, opened(fileobj=source) if kind == "gzip" else opened(source))
    if kind == "compress":
        from cranfield.io.lzw import decompress_lzw

        # as a whole: TREC's files are of some megabytes
        return io.BytesIO(decompress_lzw(b"".join(iter(partial(source.read, BLOCK), b"")), name))
    if kind == "zstd":
        return cast(BinaryIO, io.BufferedReader(_Chunks(_unpacked_frames(source, _zstandard(name)))))
    return source


def _unpacked_frames(source: BinaryIO, zstandard: Any) -> Iterator[bytes]:
    """What zstd frames hold; zstandard's own stream reader takes a cut file for a whole one."""
    engine, frame = zstandard.ZstdDecompressor(), None
    while data := source.read(1 << 14):
        while data:
            frame = frame or engine.decompressobj()
            yield frame.decompress(data)
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("the last frame has no end")


def _compressed(raw: BinaryIO, path: str) -> Any:
    kind = _SUFFIX.get(os.path.splitext(path)[1].lower())
    if kind == "gzip":
        # no name and no time inside, so that the same content gives the same file
        return _file_type(kind)(filename="", mode="wb", fileobj=raw, mtime=0)
    if kind in ("bzip2", "xz"):
        return _file_type(kind)(raw, "wb")
    if kind == "zstd":
        return _zstandard(path).ZstdCompressor().stream_writer(raw, closefd=False)
    if kind == "compress":
        raise InputError("files of compress (.Z) are read only: write .gz instead.", path)
    return nullcontext(raw)


def _standard_input(name: str) -> BinaryIO:
    buffer = getattr(sys.stdin, "buffer", None)  # None without a terminal, or a stand-in for text only
    if buffer is None:
        raise InputError("there is none to read from.", name)
    return cast(BinaryIO, buffer)


def _target(path: str) -> tuple[str, int | None]:
    """The file that is to be written, so that a link stays a link, and its mode if it is there."""
    try:
        target = os.path.realpath(path)
    except ValueError as error:  # a NUL byte in the name
        raise _unwritable(path, error) from None
    try:
        return target, os.stat(target).st_mode
    except OSError:
        return target, None


def _new_file_mode() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


@contextmanager
def _into_device(path: str) -> Iterator[BinaryIO]:
    """Write straight into a pipe or a device such as /dev/null, which must not be replaced by a file."""
    try:
        with open(path, "wb") as raw, _compressed(raw, path) as out:
            yield out
    except OSError as error:
        raise _unwritable(path, error) from None


def _zstandard(name: str) -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra(f"{name}: zstd compression", "zstd") from None
    return zstandard


def _unreadable(name: str, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file.", name)
    if isinstance(error, IsADirectoryError):
        return InputError("this is a folder, expected a file.", name)
    return InputError(f"cannot be read: {error.strerror or error}.", name)


def _unwritable(name: str, error: Exception) -> InputError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    return InputError(f"cannot be written: {why}.", name)
