"""A run in a file, joined stretch by stretch: by threads, and never in memory as a whole.

This is for what is plain: TREC runs as programs write them, with the lines of each query together. For anything else
there are two exceptions. Nothing here needs NumPy, so that it can begin before that is loaded (see `ahead.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cranfield.base import Record, core, map_in_threads
from cranfield.io import Input

STRETCH = 8 << 20  # of a file, for one thread at a time
PIECE = 1 << 20  # of a stretch, small enough for the processor's cache

# what the core calls each rule for ties; it knows nothing of a rank column
TIES = {"trec": 0, "expected": 0, "doc-ascending": 1, "input-order": 2, "best": 3, "worst": 4}


class NotPlain(Exception):
    """Something that only the careful reader can tell about."""


class NotContiguous(Exception):
    """The lines of a query are not together."""


class Part(Record, eq=False):
    """What some queries have come to: their numbers in the qrels, their hits, and the queries without judgments."""

    queries: list[int]
    hits: Any  # columns as the core gives them, or Hits
    others: list[str]

    @classmethod
    def of_core(cls, found: tuple[Any, ...]) -> Part:
        *columns, others = found
        return cls(memoryview(columns[0]).cast("q").tolist(), columns, others)


# lines that begin with a query unless told otherwise: where the first and the last query end and start, and the rest
JoinLines = Callable[[Any, bool, bool], "tuple[int, int, Part] | None"]


def joins(judgments: Any, ties: str, single: bool) -> JoinLines:
    """How the core joins lines with its judgments."""

    def join(text: Any, at_start: bool, at_end: bool) -> tuple[int, int, Part] | None:
        found = core.join_lines(judgments, text, len(text), TIES[ties], single, at_start, at_end)
        return None if found is None else (found[0], found[1], Part.of_core(found[2]))

    return join


def joined_parts(join: JoinLines, source: Input, jobs: int) -> Iterator[Part]:
    """The parts of a run in the order of its lines; every query is in one of them."""
    return _once_each(_in_whole_queries(join, source, jobs))


def _once_each(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts of a run, as long as no query comes back after it was complete."""
    judged: set[int] = set()
    others: set[str] = set()
    for part in parts:
        before = len(judged) + len(others)
        judged.update(part.queries)
        others.update(part.others)
        if len(judged) + len(others) < before + len(part.queries) + len(part.others):
            raise NotContiguous
        yield part


class _Stretch(Record, eq=False):
    """What became of a stretch of lines: the first and the last query may go on in the stretches around it."""

    parts: list[Part]
    head: bytes
    tail: bytes
    whole: bool  # all of it is one query that may have begun before: it is in `head`


def _in_whole_queries(join: JoinLines, source: Input, jobs: int) -> Iterator[Part]:
    """The parts of a file, one after another; what was cut between two stretches is put together."""
    carried: list[bytes] = []
    for stretch in map_in_threads(lambda lines: _joined(join, lines), _stretches(source, jobs), jobs):
        carried.append(stretch.head)
        if stretch.whole:
            continue
        if any(carried):
            yield only_part(join, b"".join(carried))
        yield from stretch.parts
        carried = [stretch.tail]
    if any(carried):
        yield only_part(join, b"".join(carried))


def only_part(join: JoinLines, text: bytes) -> Part:
    """All of a text that holds whole queries."""
    (part,) = _joined(join, TextLines(text, at_start=True, at_end=True)).parts
    return part


def _joined(join: JoinLines, lines: Lines) -> _Stretch:
    """Join one piece of a stretch after the other; what is left of one comes before the next."""
    parts: list[Part] = []
    at_start, head = lines.at_start, b""
    for text in lines:
        found = join(text, at_start, lines.at_end)
        if found is None:
            raise NotPlain
        begin, end, part = found
        if not at_start:
            if begin == len(text):
                lines.keep(0)
                continue
            head, at_start = bytes(text[:begin]), True
        parts.append(part)
        lines.keep(end)
    rest = lines.kept()
    return _Stretch(parts, head, rest, whole=False) if at_start else _Stretch([], rest, b"", whole=True)


class Lines:
    """Whole lines of a stretch of a run, piece by piece; what `keep` is told to stays in front of the next piece."""

    at_start = False  # whether the stretch begins with a query
    at_end = False  # whether it ends with one

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("each kind of lines has its own source")

    def keep(self, start: int) -> None:
        """Keep the piece from there on."""

    def kept(self) -> bytes:
        """What is left at the end."""
        return b""


class TextLines(Lines):
    """Lines that are in memory, in one piece."""

    def __init__(self, text: bytes, at_start: bool, at_end: bool) -> None:
        self.text, self.at_start, self.at_end = text, at_start, at_end
        self.start = len(text)

    def __iter__(self) -> Iterator[bytes]:
        yield self.text

    def keep(self, start: int) -> None:
        self.start = start

    def kept(self) -> bytes:
        return self.text[self.start :]


class FileLines(Lines):
    """The lines that begin in a stretch of a file, read into a buffer that stays in the processor's cache."""

    def __init__(self, source: Input, start: int, stop: int, size: int) -> None:
        self.source, self.size = source, size
        self.start, self.stop = start, stop
        self.at_start = start == 0
        self.buffer = bytearray()
        self.used = self.rest = 0  # bytes read into the buffer, and from where on they are to be kept

    def __iter__(self) -> Iterator[memoryview]:
        at, stop = self._line_start(self.start), self._line_start(self.stop)
        while at < stop:
            kept = self._move_to_front()
            read = self.source.read_into(self.buffer, kept, stop - at, at)
            at += read
            self.used, self.rest = kept + read, 0
            end = self.used if at == stop else self.buffer.rfind(b"\n", 0, self.used) + 1
            if end:
                yield memoryview(self.buffer)[:end]

    def keep(self, start: int) -> None:
        self.rest = start

    def kept(self) -> bytes:
        return bytes(self.buffer[self.rest : self.used])

    def _move_to_front(self) -> int:
        """Make what is kept the beginning of the buffer, with room for as much again; how much it is."""
        kept = self.used - self.rest
        front = self.buffer[self.rest : self.used]
        if 2 * kept >= len(self.buffer):
            self.buffer = bytearray(max(PIECE, 4 * kept))
        self.buffer[:kept] = front
        return kept

    def _line_start(self, at: int) -> int:
        """Where the first line starts that begins there or later."""
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


def _stretches(source: Input, jobs: int) -> Iterator[Lines]:
    """The lines of a file; those of a plain file on disk are read where they are worked on."""
    size = source.plain_size
    if size is None:
        yield from _streamed(source)
        return
    # a smaller file in shorter stretches, so that every thread has its share; a small one is not worth a thread
    shared = jobs > 1 and size > 3 * PIECE
    length = min(STRETCH, max(PIECE, size // (4 * jobs)) if shared else max(size, 1))
    for start in range(0, size, length):
        yield FileLines(source, start, min(start + length, size), size)


def _streamed(source: Input) -> Iterator[Lines]:
    """Stretches of what can only be read from front to back."""
    waiting: list[bytes] = []
    at_start = True
    for _, block in source.blocks():
        waiting.append(block)
        if len(waiting) >= STRETCH // len(block):
            yield TextLines(b"".join(waiting), at_start, at_end=False)
            waiting, at_start = [], False
    yield TextLines(b"".join(waiting), at_start, at_end=False)
