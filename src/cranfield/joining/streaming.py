"""Joining plain input without loading it: TREC files block by block, dicts as they are.

"Plain" is what programs write. Anything else (an error, a repeated document) is left to `read_run` and the join in
memory, which can say what is wrong.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.base import Record, core, replace
from cranfield.data import Qrels, starts_of
from cranfield.errors import InputError
from cranfield.io import Input, raise_problem, read_trec_run
from cranfield.joining.options import Joining
from cranfield.joining.parallel import JoinLines, NotContiguous, NotPlain, Part, core_join, join_parts, join_text
from cranfield.joining.ranking import Hits, find_hits

if TYPE_CHECKING:
    from cranfield.joining.read_ahead import ReadAhead


def stream_hits(
    qrels: Qrels, source: Input | Mapping[Any, Any], joining: Joining, jobs: int, read_ahead: ReadAhead | None
) -> tuple[Hits, int] | None:
    """The hits of a TREC file or of {query: {doc: score}}, and the number of queries without judgments.

    None if the input has to be loaded as a whole, because it is not plain or for an error that then is raised.
    """
    single = joining.score_type == "float32"
    try:
        if isinstance(source, Input):
            parts = _join_file(qrels, source, joining, single, jobs, read_ahead)
        else:
            parts = _join_dict(qrels, source, joining, single)
    except NotPlain:
        return None
    if not parts:
        return None  # an empty file
    hits = _merge(parts)
    if not len(hits.at) or (joining.missing == "error" and len(hits.at) < len(qrels.queries)):
        return None
    return hits, sum(len(part.others) for part in parts)


def _join_dict(qrels: Qrels, run: Mapping[Any, Any], joining: Joining, single: bool) -> list[Part]:
    """A dict has only its judged documents looked up."""
    columns = None if core is None else core.join_dict(qrels.index, run, joining.tie_rule.core_code, single)
    if columns is None:
        raise NotPlain
    return [Part.from_core(columns)]


def _join_file(
    qrels: Qrels, source: Input, joining: Joining, single: bool, jobs: int, read_ahead: ReadAhead | None
) -> list[Part]:
    join: JoinLines = partial(join_lines, qrels, joining)
    if core is not None:
        join = core_join(qrels.index, joining.ties, single)
    try:
        parts = None if read_ahead is None else read_ahead.parts(qrels.index)
        return parts or list(join_parts(join, source, jobs))
    except NotContiguous:
        return [_join_gathered(source.again(), join)]


def _join_gathered(source: Input, join: JoinLines) -> Part:
    """Bring the lines of each query together, for which all must be in memory."""
    _check_memory(source)
    if core is None:
        raise NotPlain
    with source:
        return join_text(join, core.gather_queries(source.read()))


def _arrays(hits: Any) -> Hits:
    """Hits as arrays; those of the core come as buffers."""
    if isinstance(hits, Hits):
        return hits
    at, retrieved, tied, single, starts, rank, grade, doc, first, size = hits
    return Hits(
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


_PER_QUERY = ("at", "retrieved", "tied_docs", "float32_tied_docs")
_PER_HIT = ("rank", "grade", "doc", "tie_first", "tie_size")


def _merge(parts: list[Part]) -> Hits:
    """The hits of all parts, in the order of the queries of the qrels."""
    hits = [_arrays(part.hits) for part in parts]
    if len(hits) == 1:
        joined = hits[0]
    else:
        if any(one.tie_size is not None for one in hits):
            hits = [_with_groups(one) for one in hits]
        columns = {name: _concatenate([getattr(one, name) for one in hits]) for name in _PER_QUERY + _PER_HIT}
        joined = Hits(**columns, starts=starts_of(np.concatenate([np.diff(one.starts) for one in hits])))
    at = joined.at
    if len(at) < 2 or bool((at[1:] > at[:-1]).all()):
        return joined
    order = np.argsort(at)
    sizes = np.diff(joined.starts)[order]
    starts = starts_of(sizes)
    rows = np.repeat(joined.starts[:-1][order] - starts[:-1], sizes) + np.arange(len(joined.rank))
    queries = {name: getattr(joined, name)[order] for name in _PER_QUERY}
    moved: Any = {name: None if (column := getattr(joined, name)) is None else column[rows] for name in _PER_HIT}
    return Hits(**queries, starts=starts, **moved)


def _concatenate(columns: list[Any]) -> Any:
    return None if columns[0] is None else np.concatenate(columns)


def _with_groups(hits: Hits) -> Hits:
    """The same with tie groups; where there are no ties, each document is a group of its own."""
    return hits if hits.tie_size is not None else replace(hits, tie_first=hits.rank, tie_size=np.ones_like(hits.rank))


def _check_memory(source: Input) -> None:
    """Refuse a file that would not fit in memory."""
    size, free = source.plain_size, _free_memory()
    if size is not None and free is not None and 3 * size > free:
        raise InputError(
            f"the lines of some query are not together, so this file of {size:,} bytes would have to be held in "
            f"memory, where {free:,} bytes are free. Sort it by query first, e.g. with sort -s -k1,1.",
            source.name,
        )


def _free_memory() -> int | None:
    """The bytes of memory available, including caches that the system would give up, where it says so."""
    try:
        with open("/proc/meminfo") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def join_lines(qrels: Qrels, joining: Joining, text: Any, at_start: bool, at_end: bool) -> tuple[int, int, Part] | None:
    """The twin of the core's function: the end of the first query, the start of the last one, and what is between."""
    text = bytes(text)
    head, tail = _edges(text, at_start, at_end)
    try:
        rows = read_trec_run(_Lines(text[head:tail]), raise_problem)  # type: ignore[arg-type]
        if rows.notes or rows.ranks is None:
            return None
        run = rows.run("", None, "error")
    except InputError:
        return None
    place = {query: i for i, query in enumerate(qrels.queries)}
    queries = [query for query in run.queries if query in place]
    hits = find_hits(qrels, run, np.array([place[query] for query in queries], dtype=np.int64), joining)
    others = [query for query in run.queries if query not in place]
    return head, tail, Part(hits.at.tolist(), hits, others)


class _Lines(Record):
    """A block of lines with the interface of `Input` that readers use."""

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
