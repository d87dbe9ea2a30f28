"""Joining a run in a file chunk by chunk with threads, never holding all of it in memory.

The run must be plain: TREC lines as programs write them, with the lines of each query together. Otherwise `NotPlain` or
`NotContiguous` is raised. Nothing here needs NumPy, so a command can start before NumPy is imported (`read_ahead`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cranfield.base import Record, core, map_in_threads
from cranfield.io import Input
from cranfield.joining.ties import TIE_RULES

CHUNK = 8 << 20  # bytes of a file that one thread joins at a time
PIECE = 1 << 20  # bytes of a chunk, few enough for the processor's cache


class NotPlain(Exception):
    """The lines need the careful reader, which can name what is wrong."""


class NotContiguous(Exception):
    """The lines of a query are not together."""


class Part(Record, eq=False):
    """The join of some queries."""

    queries: list[int]  # their positions in the qrels
    hits: Any  # columns from the core, or Hits
    others: list[str]  # queries without judgments

    @classmethod
    def from_core(cls, result: tuple[Any, ...]) -> Part:
        *columns, others = result
        return cls(memoryview(columns[0]).cast("q").tolist(), columns, others)


# (lines, whether they start with a whole query, whether they end with one) -> the end of the first query, the start of
# the last one, and the join of what is between; None if the lines are not plain
JoinLines = Callable[[Any, bool, bool], "tuple[int, int, Part] | None"]


def core_join(judgments: Any, ties: str, single: bool) -> JoinLines:
    """The join of lines by the compiled core."""
    code = TIE_RULES[ties].core_code

    def join(text: Any, at_start: bool, at_end: bool) -> tuple[int, int, Part] | None:
        result = core.join_lines(judgments, text, len(text), code, single, at_start, at_end)
        return None if result is None else (result[0], result[1], Part.from_core(result[2]))

    return join


def join_parts(join: JoinLines, source: Input, jobs: int) -> Iterator[Part]:
    """Join a file; the parts come in the order of its lines, each query in one of them."""
    return _require_contiguous(_join_whole_queries(join, source, jobs))


def _require_contiguous(parts: Iterable[Part]) -> Iterator[Part]:
    """Pass parts on as long as no query occurs in two of them."""
    judged: set[int] = set()
    others: set[str] = set()
    for part in parts:
        before = len(judged) + len(others)
        judged.update(part.queries)
        others.update(part.others)
        if len(judged) + len(others) < before + len(part.queries) + len(part.others):
            raise NotContiguous
        yield part


class _JoinedChunk(Record, eq=False):
    """The join of a chunk; its first and last query may continue in the chunks around it."""

    parts: list[Part]
    head: bytes
    tail: bytes
    is_one_query: bool  # all of it belongs to one query that may have started before; it is in `head`


def _join_whole_queries(join: JoinLines, source: Input, jobs: int) -> Iterator[Part]:
    """Join the chunks of a file; queries that were cut between chunks are put together."""
    carried: list[bytes] = []
    for chunk in map_in_threads(lambda lines: _join_chunk(join, lines), _chunks(source, jobs), jobs):
        carried.append(chunk.head)
        if chunk.is_one_query:
            continue
        if any(carried):
            yield join_text(join, b"".join(carried))
        yield from chunk.parts
        carried = [chunk.tail]
    if any(carried):
        yield join_text(join, b"".join(carried))


def join_text(join: JoinLines, text: bytes) -> Part:
    """Join a text that holds whole queries."""
    (part,) = _join_chunk(join, TextLines(text, at_start=True, at_end=True)).parts
    return part


def _join_chunk(join: JoinLines, lines: Lines) -> _JoinedChunk:
    """Join the pieces of a chunk; the rest of one is carried over to the next."""
    parts: list[Part] = []
    at_start, head = lines.at_start, b""
    for text in lines:
        result = join(text, at_start, lines.at_end)
        if result is None:
            raise NotPlain
        begin, end, part = result
        if not at_start:
            if begin == len(text):
                lines.carry(0)
                continue
            head, at_start = bytes(text[:begin]), True
        parts.append(part)
        lines.carry(end)
    rest = lines.rest()
    if not at_start:
        return _JoinedChunk([], rest, b"", is_one_query=True)
    return _JoinedChunk(parts, head, rest, is_one_query=False)


class Lines:
    """The lines of a chunk, piece by piece."""

    at_start = False  # whether the chunk begins with a query
    at_end = False  # whether it ends with one

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def carry(self, start: int) -> None:
        """Put the piece from `start` on before the next piece."""

    def rest(self) -> bytes:
        """What was carried over from the last piece."""
        return b""


class TextLines(Lines):
    """Lines that are in memory, in one piece."""

    def __init__(self, text: bytes, at_start: bool, at_end: bool) -> None:
        self.text, self.at_start, self.at_end = text, at_start, at_end
        self.start = len(text)

    def __iter__(self) -> Iterator[bytes]:
        yield self.text

    def carry(self, start: int) -> None:
        self.start = start

    def rest(self) -> bytes:
        return self.text[self.start :]


class FileLines(Lines):
    """The lines that start in a chunk of a file, read into a buffer that fits the processor's cache."""

    def __init__(self, source: Input, start: int, stop: int, size: int) -> None:
        self.source, self.size = source, size
        self.start, self.stop = start, stop
        self.at_start = start == 0
        self.buffer = bytearray()
        self.used = self.carried = 0  # the end of what is in the buffer, and the start of what is carried over

    def __iter__(self) -> Iterator[memoryview]:
        at, stop = self._line_start(self.start), self._line_start(self.stop)
        while at < stop:
            size = self._move_to_front()
            read = self.source.read_into(self.buffer, size, stop - at, at)
            at += read
            self.used, self.carried = size + read, 0
            end = self.used if at == stop else self.buffer.rfind(b"\n", 0, self.used) + 1
            if end:
                yield memoryview(self.buffer)[:end]

    def carry(self, start: int) -> None:
        self.carried = start

    def rest(self) -> bytes:
        return bytes(self.buffer[self.carried : self.used])

    def _move_to_front(self) -> int:
        """Move what is carried over to the front of the buffer, with room for as much again; returns its size."""
        size = self.used - self.carried
        front = self.buffer[self.carried : self.used]
        if 2 * size >= len(self.buffer):
            self.buffer = bytearray(max(PIECE, 4 * size))
        self.buffer[:size] = front
        return size

    def _line_start(self, at: int) -> int:
        """The start of the first line at or after a position."""
        if at == 0:
            return self.source.mark_size
        at -= 1
        while at < self.size:
            some = self.source.read_at(at, min(1 << 14, self.size - at))
            if not some:
                break
            end = some.find(b"\n") + 1
            if end:
                return at + end
            at += len(some)
        return self.size


def _chunks(source: Input, jobs: int) -> Iterator[Lines]:
    """The chunks of a file; a plain file on disk is read by the threads that join it."""
    size = source.plain_size
    if size is None:
        yield from _read_stream(source)
        return
    # shorter chunks of a smaller file, so every thread has work; a small file is not worth a thread
    shared = jobs > 1 and size > 3 * PIECE
    length = min(CHUNK, max(PIECE, size // (4 * jobs)) if shared else max(size, 1))
    for start in range(0, size, length):
        yield FileLines(source, start, min(start + length, size), size)


def _read_stream(source: Input) -> Iterator[Lines]:
    """Stretches of what can only be read from front to back."""
    waiting: list[bytes] = []
    at_start = True
    for _, block in source.blocks():
        waiting.append(block)
        if len(waiting) >= CHUNK // len(block):
            yield TextLines(b"".join(waiting), at_start, at_end=False)
            waiting, at_start = [], False
    yield TextLines(b"".join(waiting), at_start, at_end=False)
