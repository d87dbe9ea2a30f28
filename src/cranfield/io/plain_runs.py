"""Plain TREC runs as arrays, without a Python object for every line: for whoever needs all of very many runs.

A run is plain if programs wrote it: six columns on every line, decimal numbers, the lines of each query together.
Whatever is not is left to `read_run`, which knows how to say what is wrong; the answer is None then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints
from cranfield.io.files import Input, PathLike
from cranfield.io.runs_qrels import find_run_format

Bytes = Any  # an array of uint8
WIDTH = 6  # query Q0 doc rank score tag

_IN_DECIMALS = np.zeros(256, dtype=bool)
_IN_DECIMALS[list(b"0123456789+-.eE \t\n\v\f\r")] = True


class PlainRun(Record, eq=False):
    """The lines of a run as they stand in the file. The texts of documents stand one behind the other in `docs`."""

    queries: tuple[str, ...]
    starts: Ints  # of each query's lines, and the end of the last one's
    docs: Bytes
    lengths: Ints  # of each document's id
    scores: Floats
    tag: str

    def arranged(self, rows: Ints) -> tuple[Bytes, Ints]:
        """The ids of some lines, one behind the other, and their lengths."""
        lengths = self.lengths[rows]
        return gather_bytes(self.docs, (np.cumsum(self.lengths) - self.lengths)[rows], lengths), lengths


def read_plain_run(path: PathLike, format: str | None = None) -> PlainRun | None:
    """A run in a file, if it is a plain one."""
    with Input(path) as source:
        if find_run_format(source, format).format != "trec":
            return None
        # a megabyte at a time stays in the processor's cache
        return _put_together(_part(block) for _, block in source.blocks())


def parse_plain_run(text: bytes) -> PlainRun | None:
    """A run, if it is a plain one.

    >>> run = parse_plain_run(b"1 Q0 d7 1 0.9 me\\n1 Q0 d12 2 0.8 me\\n2 Q0 d7 1 5 me\\n")
    >>> run.queries, run.starts.tolist(), run.docs.tobytes(), run.scores.tolist()
    (('1', '2'), [0, 2, 3], b'd7d12d7', [0.9, 0.8, 5.0])
    >>> parse_plain_run(b"1 Q0 d7 1 high me\\n") is None
    True
    """
    return _put_together([_part(text)] if text else [])


def _put_together(parts: Iterable[PlainRun | None]) -> PlainRun | None:
    """A run out of stretches of its lines; a query may go on from one to the next."""
    found: list[PlainRun] = []
    queries: list[str] = []
    starts: list[int] = []
    lines = 0
    for part in parts:
        if part is None:
            return None
        goes_on = int(bool(queries) and part.queries[0] == queries[-1])
        queries += part.queries[goes_on:]
        starts += (part.starts[goes_on:-1] + lines).tolist()
        lines += len(part.scores)
        found.append(part)
    if not found or len(set(queries)) < len(queries):
        return None
    docs, lengths, scores = (
        np.concatenate([getattr(part, name) for part in found]) for name in ("docs", "lengths", "scores")
    )
    return PlainRun(tuple(queries), np.array([*starts, lines]), docs, lengths, scores, found[0].tag)


def _part(text: bytes) -> PlainRun | None:
    """Some whole lines."""
    if b"#" in text or b"\0" in text:
        return None
    content = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", dtype=np.uint8)
    columns = _columns(content)
    if columns is None:
        return None
    begin, end = columns
    scores = _decimals(content, begin[:, 4], end[:, 4] - begin[:, 4])
    if scores is None:
        return None
    first = _first_lines(content, begin[:, 0], end[:, 0] - begin[:, 0])
    queries = tuple(_text(content, begin[row, 0], end[row, 0]) for row in first.tolist())
    lengths = end[:, 2] - begin[:, 2]
    docs = gather_bytes(content, begin[:, 2], lengths)
    tag = _text(content, begin[0, 5], end[0, 5])
    return PlainRun(queries, np.append(first, len(scores)), docs, lengths, scores, tag)


def gather_bytes(content: Bytes, begin: Ints, lengths: Ints) -> Bytes:
    """Stretches of some bytes, one behind the other.

    >>> gather_bytes(np.frombuffer(b"abcdef", np.uint8), np.array([4, 0]), np.array([2, 1])).tobytes()
    b'efa'
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return content[np.repeat(begin - (ends - lengths), lengths) + np.arange(total)]


def _columns(content: Bytes) -> tuple[Ints, Ints] | None:
    """Where the words of each line begin and end; None if some line has another number of them."""
    # what bytes.split takes for white space
    is_space = (content == 0x20) | ((content >= 0x09) & (content <= 0x0D))
    edges = np.flatnonzero(is_space[1:] != is_space[:-1]) + 1
    if not is_space[0]:
        edges = np.concatenate(([0], edges))
    begin, end = edges[0::2], edges[1::2]  # the last byte is white space
    lines = np.flatnonzero(content == 0x0A)
    if len(begin) != WIDTH * len(lines):
        return None
    # each line has the right number if so many begin before its end, whatever line it is
    if (begin[WIDTH - 1 :: WIDTH] > lines).any() or (begin[WIDTH::WIDTH] < lines[:-1]).any():
        return None
    return begin.reshape(-1, WIDTH), end.reshape(-1, WIDTH)


def _decimals(content: Bytes, begin: Ints, lengths: Ints) -> Floats | None:
    """Decimal numbers, correctly rounded; None if something else is among them."""
    words = gather_bytes(content, begin, lengths + 1)  # each with the white space behind it
    if not _IN_DECIMALS[words].all():
        return None
    try:
        values = np.array(list(map(float, words.tobytes().split())))
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _first_lines(content: Bytes, begin: Ints, lengths: Ints) -> Ints:
    """The lines whose first word is another one than that of the line before."""
    words = gather_bytes(content, begin, lengths)
    at = np.cumsum(lengths) - lengths
    before = np.concatenate((lengths[:1], lengths[:-1]))
    # where lengths are the same, each letter is compared with the one that stands so many places before
    shifted = np.arange(len(words)) - np.repeat(before, lengths)
    other = words != words[np.maximum(shifted, 0)]
    is_new = np.logical_or.reduceat(other, at) | (lengths != before)
    is_new[0] = True
    return np.flatnonzero(is_new)


def _text(content: Bytes, begin: int, end: int) -> str:
    return str(content[begin:end].tobytes(), "utf-8", "surrogateescape")
