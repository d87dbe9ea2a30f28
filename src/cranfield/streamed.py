"""Joining runs that are never held in memory as a whole: files in blocks of lines, dictionaries as they are.

This is for what is plain: TREC runs as they are written by programs. Whatever is not (an error, a repeated document,
another format) is left to `read_run` and `judge`, which know how to say what is wrong; the answer is None then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from cranfield.collection import Ints, OnDuplicate, Origin, Qrels, Run
from cranfield.core import core
from cranfield.errors import InputError
from cranfield.formats import as_run, read_run
from cranfield.formats.files import run_format_of
from cranfield.formats.opening import Input, PathLike, display_name
from cranfield.formats.trec import read_trec_run
from cranfield.formats.values import stop
from cranfield.judged import Extras, Hits, Joining, JudgedRun, Sources, assemble, find_hits, judge
from cranfield.records import entity, record

STRETCH = 8 << 20  # of a file, for one thread at a time
PIECE = 1 << 20  # of a stretch, small enough for the processor's cache
T = TypeVar("T")
R = TypeVar("R")

# what the core calls each rule for ties; it knows nothing of a rank column
_TIES = {"trec": 0, "expected": 0, "doc-ascending": 1, "input-order": 2, "best": 3, "worst": 4}


class NotPlain(Exception):
    """Something that only the careful reader can tell about."""


class NotContiguous(Exception):
    """The lines of a query are not together."""


@entity
class _Part:
    """The hits of the queries in a block, and the queries without judgments."""

    hits: Hits
    others: list[str]


def is_streamable(joining: Joining) -> bool:
    """Whether a join needs nothing but scores and documents."""
    return joining.rank_by == "score" and joining.ties in _TIES


@entity
class Joined:
    """A run joined with qrels, and what is to be said of the run."""

    judged: JudgedRun
    name: str
    origin: Origin | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, qrels: Qrels, run: Run, joining: Joining, extras: Extras) -> Joined:
        return cls(judge(qrels, run, joining, extras), run.name, run.origin, run.notes)


@entity
class Joiner:
    """Joins runs with qrels wherever they are, without reading them as a whole where that can be avoided."""

    qrels: Qrels
    joining: Joining
    extras: Extras
    on_duplicate: OnDuplicate = "error"

    def file(self, path: PathLike, format: str | None = None, name: str | None = None, jobs: int = 1) -> Joined:
        """A run in a file, joined block by block if it is a plain TREC run with the lines of each query together."""
        name = name or display_name(path)
        with Input(path) as source:
            chosen = run_format_of(source, format)
            if chosen.format == "trec":
                load = partial(read_run, path, format, name=name, on_duplicate=self.on_duplicate)
                judged = self._streamed(source, name, load, jobs)
                if judged is not None:
                    return Joined(judged, name, Origin(source.name, chosen.format, chosen.why, source.sha256))
                source = source.again()
            run = read_run(source, format, name=name, on_duplicate=self.on_duplicate)
        return Joined.of(self.qrels, run, self.joining, self.extras)

    def dict(self, run: Mapping[Any, Any], name: str | None = None) -> Joined:
        """A run as {query: {doc: score}}, of which only the judged documents are looked up."""
        name = name or "run"
        load = partial(as_run, run, name=name, on_duplicate=self.on_duplicate)
        if core is not None and type(run) is dict:
            single = self.joining.score_type == "float32"
            found = core.join_dict(self.qrels.index, run, _TIES[self.joining.ties], single)
            judged = None if found is None else self._assembled([_part(found)], name, load)
            if judged is not None:
                return Joined(judged, name)
        return Joined.of(self.qrels, load(), self.joining, self.extras)

    def _streamed(self, source: Input, name: str, load: Callable[[], Run], jobs: int) -> JudgedRun | None:
        _prepare(self.qrels)
        work = partial(_joined, self.qrels, self.joining)
        try:
            return self._assembled(list(_once_each(_in_whole_queries(work, source, jobs))), name, load)
        except NotContiguous:
            return self._gathered(source.again(), work, name, load)
        except NotPlain:
            return None

    def _gathered(self, source: Input, work: Work, name: str, load: Callable[[], Run]) -> JudgedRun | None:
        """Lines of a query that are apart must be brought together first, for which all must be in memory."""
        _check_memory(source)
        if core is None:
            return None
        with source:
            text = core.gather_queries(source.read())
        try:
            return self._assembled([_only_part(work, text)], name, load)
        except NotPlain:
            return None

    def _assembled(self, parts: list[_Part], name: str, load: Callable[[], Run]) -> JudgedRun | None:
        if not parts:
            return None  # an empty file, of which `read_run` says so
        hits = _in_order(parts)
        if not len(hits.at) or (self.joining.missing == "error" and len(hits.at) < len(self.qrels.queries)):
            return None  # an error, which `judge` words
        others = sum(len(part.others) for part in parts)
        return assemble(hits, self.joining, Sources.on_demand(self.qrels, load, self.extras), name, others)


def _part(found: tuple[Any, ...]) -> _Part:
    """What the core has found, as arrays."""
    *columns, others = found
    at, retrieved, tied, single, starts, rank, grade, doc, first, size = columns
    hits = Hits(
        np.frombuffer(at, np.int64),
        np.frombuffer(retrieved, np.int64),
        np.frombuffer(tied, np.int64),
        np.frombuffer(single, np.int64),
        np.frombuffer(starts, np.int64),
        np.frombuffer(rank, np.int64),
        np.frombuffer(grade),
        np.frombuffer(doc, np.int64),
        None if first is None else np.frombuffer(first, np.int64),
        None if size is None else np.frombuffer(size, np.int64),
    )
    return _Part(hits, others)


_PER_QUERY = ("at", "retrieved", "tied_docs", "float32_tied_docs")
_PER_HIT = ("rank", "grade", "doc", "tie_first", "tie_size")


def _in_order(parts: list[_Part]) -> Hits:
    """All hits in the order of the qrels' queries."""
    if len(parts) == 1:
        joined = parts[0].hits
    else:
        hits = [part.hits for part in parts]
        if any(one.tie_size is not None for one in hits):
            hits = [_with_groups(one) for one in hits]
        columns = {name: _chained([getattr(one, name) for one in hits]) for name in _PER_QUERY + _PER_HIT}
        joined = Hits(**columns, starts=_cumulated(np.concatenate([np.diff(one.starts) for one in hits])))
    at = joined.at
    if len(at) < 2 or bool((at[1:] > at[:-1]).all()):
        return joined
    order = np.argsort(at)
    sizes = np.diff(joined.starts)[order]
    starts = _cumulated(sizes)
    rows = np.repeat(joined.starts[:-1][order] - starts[:-1], sizes) + np.arange(len(joined.rank))
    queries = {name: getattr(joined, name)[order] for name in _PER_QUERY}
    moved: Any = {name: None if (column := getattr(joined, name)) is None else column[rows] for name in _PER_HIT}
    return Hits(**queries, starts=starts, **moved)


def _chained(columns: list[Any]) -> Any:
    return None if columns[0] is None else np.concatenate(columns)


def _with_groups(hits: Hits) -> Hits:
    """The same, each document a group of equal scores by itself where there are no others."""
    return hits if hits.tie_size is not None else replace(hits, tie_first=hits.rank, tie_size=np.ones_like(hits.rank))


def _cumulated(sizes: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def _prepare(qrels: Qrels) -> object:
    """Have the core's index made once, before several threads want it."""
    return None if core is None else qrels.index


def _once_each(parts: Iterable[_Part]) -> Iterator[_Part]:
    """The parts of a run, as long as no query comes back after it was complete."""
    judged: set[int] = set()
    others: set[str] = set()
    for part in parts:
        at = part.hits.at.tolist()
        before = len(judged) + len(others)
        judged.update(at)
        others.update(part.others)
        if len(judged) + len(others) < before + len(at) + len(part.others):
            raise NotContiguous
        yield part


def _check_memory(source: Input) -> None:
    """Refuse what would not fit, rather than have the machine grind to a halt."""
    size, free = source.plain_size, _free_memory()
    if size is not None and free is not None and 3 * size > free:
        raise InputError(
            f"the lines of some query are apart, so that this file of {size:,} bytes would have to be held in memory, "
            f"of which {free:,} bytes are free. Bring them together first, e.g. with sort -s -k1,1.",
            source.name,
        )


def _free_memory() -> int | None:
    """The bytes that could be had: with what the system keeps of files but would give up, where it tells."""
    try:
        with open("/proc/meminfo") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


@entity
class _Stretch:
    """What became of a stretch of lines: the first and the last query may go on in the stretches around it."""

    parts: list[_Part]
    head: bytes
    tail: bytes
    whole: bool  # all of it is one query that may have begun before: it is in `head`


Work = Callable[["Lines"], _Stretch]


def _in_whole_queries(work: Work, source: Input, jobs: int) -> Iterator[_Part]:
    """The parts of a file, one after another; what was cut between two stretches is put together."""
    carried: list[bytes] = []
    for stretch in in_parallel(work, _stretches(source, jobs), jobs):
        carried.append(stretch.head)
        if stretch.whole:
            continue
        if any(carried):
            yield _only_part(work, b"".join(carried))
        yield from stretch.parts
        carried = [stretch.tail]
    if any(carried):
        yield _only_part(work, b"".join(carried))


def _only_part(work: Work, text: bytes) -> _Part:
    (part,) = work(TextLines(text, at_start=True, at_end=True)).parts
    return part


def _joined(qrels: Qrels, joining: Joining, lines: Lines) -> _Stretch:
    """Join one piece of a stretch after the other; what is left of one comes before the next."""
    parts: list[_Part] = []
    at_start, head = lines.at_start, b""
    for text in lines:
        found = _core_lines(qrels, joining, text, at_start, lines.at_end)
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


def _core_lines(
    qrels: Qrels, joining: Joining, text: bytes | memoryview, at_start: bool, at_end: bool
) -> tuple[int, int, _Part] | None:
    if core is None:
        return join_lines(qrels, joining, bytes(text), at_start, at_end)
    single = joining.score_type == "float32"
    found = core.join_lines(qrels.index, text, len(text), _TIES[joining.ties], single, at_start, at_end)
    return None if found is None else (found[0], found[1], _part(found[2]))


def join_lines(
    qrels: Qrels, joining: Joining, text: bytes, at_start: bool, at_end: bool
) -> tuple[int, int, _Part] | None:
    """The twin of the core's function: where the first query ends, where the last one starts, and what is between."""
    head, tail = _edges(text, at_start, at_end)
    try:
        rows = read_trec_run(_Lines(text[head:tail]), stop)  # type: ignore[arg-type]
        if rows.notes or rows.ranks is None:
            return None
        run = rows.run("", None, "error")
    except InputError:
        return None
    place = {query: i for i, query in enumerate(qrels.queries)}
    queries = [query for query in run.queries if query in place]
    hits = find_hits(qrels, run, np.array([place[query] for query in queries], dtype=np.int64), joining)
    return head, tail, _Part(hits, [query for query in run.queries if query not in place])


@record
class _Lines:
    """A block of lines, as the readers of files want them."""

    text: bytes
    name: str = ""

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        yield 1, self.text


def _edges(text: bytes, at_start: bool, at_end: bool) -> tuple[int, int]:
    """Where the lines of the first query end and those of the last one start."""
    head, tail, query = 0, len(text), None
    changes = []
    for line in re.finditer(rb"^[^\S\n]*([^\s#]\S*)", text, re.MULTILINE):
        if line[1] != query:
            query = line[1]
            changes.append(line.start())
    if not at_start:
        head = changes[1] if len(changes) > 1 else len(text)
    if not at_end:
        tail = max(head, changes[-1] if changes else 0)
    return head, tail


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


def in_parallel(work: Callable[[T], R], tasks: Iterable[T], jobs: int) -> Iterator[R]:
    """What work makes of each task, in their order; a few are under way at a time, and none is left running."""
    tasks = iter(tasks)
    first = list(islice(tasks, 2))
    if jobs < 2 or len(first) < 2:
        yield from map(work, chain(first, tasks))
        return
    from collections import deque
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(jobs)
    waiting: Any = deque()
    try:
        for task in chain(first, tasks):
            waiting.append(pool.submit(work, task))
            if len(waiting) > 2 * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
