"""Joining runs that are never held in memory as a whole: files in blocks of lines, dictionaries as they are.

This is for what is plain: TREC runs as they are written by programs. Whatever is not (an error, a repeated document,
another format) is left to `read_run` and `judge`, which know how to say what is wrong; the answer is None then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from cranfield.base import OnDuplicate, Record, core, replace
from cranfield.data import Ints, Origin, Qrels, Run
from cranfield.errors import InputError
from cranfield.io import Input, PathLike, as_run, display_name, read_run, read_trec_run, run_format_of, stop
from cranfield.joining import read_ahead
from cranfield.joining.join import Extras, Hits, Joining, JudgedRun, Sources, assemble, find_hits, judge
from cranfield.joining.parallel import TIES, JoinLines, NotContiguous, NotPlain, Part, joined_parts, joins, only_part


def is_streamable(joining: Joining) -> bool:
    """Whether a join needs nothing but scores and documents."""
    return joining.rank_by == "score" and joining.ties in TIES


class Joined(Record, eq=False):
    """A run joined with qrels, and what is to be said of the run."""

    judged: JudgedRun
    name: str
    origin: Origin | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, qrels: Qrels, run: Run, joining: Joining, extras: Extras) -> Joined:
        return cls(judge(qrels, run, joining, extras), run.name, run.origin, run.notes)


class Joiner(Record, eq=False):
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
            found = core.join_dict(self.qrels.index, run, TIES[self.joining.ties], single)
            judged = None if found is None else self._assembled([Part.of_core(found)], name, load)
            if judged is not None:
                return Joined(judged, name)
        return Joined.of(self.qrels, load(), self.joining, self.extras)

    def _streamed(self, source: Input, name: str, load: Callable[[], Run], jobs: int) -> JudgedRun | None:
        joining = self.joining
        single = joining.score_type == "float32"
        join = (
            partial(join_lines, self.qrels, joining) if core is None else joins(self.qrels.index, joining.ties, single)
        )
        try:
            read = None if core is None else read_ahead.parts_of(source.path, self.qrels.index, joining.ties, single)
            return self._assembled(read or list(joined_parts(join, source, jobs)), name, load)
        except NotContiguous:
            return self._gathered(source.again(), join, name, load)
        except NotPlain:
            return None

    def _gathered(self, source: Input, join: JoinLines, name: str, load: Callable[[], Run]) -> JudgedRun | None:
        """Lines of a query that are apart must be brought together first, for which all must be in memory."""
        _check_memory(source)
        if core is None:
            return None
        with source:
            text = core.gather_queries(source.read())
        try:
            return self._assembled([only_part(join, text)], name, load)
        except NotPlain:
            return None

    def _assembled(self, parts: list[Part], name: str, load: Callable[[], Run]) -> JudgedRun | None:
        if not parts:
            return None  # an empty file, of which `read_run` says so
        hits = _in_order(parts)
        if not len(hits.at) or (self.joining.missing == "error" and len(hits.at) < len(self.qrels.queries)):
            return None  # an error, which `judge` words
        others = sum(len(part.others) for part in parts)
        return assemble(hits, self.joining, Sources.on_demand(self.qrels, load, self.extras), name, others)


def _arrays(hits: Any) -> Hits:
    """Hits as arrays, if they are still the columns that the core has found."""
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


def _in_order(parts: list[Part]) -> Hits:
    """All hits in the order of the qrels' queries."""
    hits = [_arrays(part.hits) for part in parts]
    if len(hits) == 1:
        joined = hits[0]
    else:
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


def join_lines(qrels: Qrels, joining: Joining, text: Any, at_start: bool, at_end: bool) -> tuple[int, int, Part] | None:
    """The twin of the core's function: where the first query ends, where the last one starts, and what is between."""
    text = bytes(text)
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
    others = [query for query in run.queries if query not in place]
    return head, tail, Part(hits.at.tolist(), hits, others)


class _Lines(Record):
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
