"""Columns of a block: NumPy where ids are whole numbers, Arrow where they are text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Bools, Floats, Ints


class Lists(Record, eq=False):
    """Array columns of a block, flat: those of row i are from `starts[i]` to `starts[i + 1]`."""

    starts: Ints
    flat: Any  # NumPy where numbers, Arrow where text

    @classmethod
    def of(cls, column: Any) -> Lists:
        import pyarrow as pa

        offsets = np.asarray(column.offsets, dtype=np.int64)
        flat = column.flatten()
        is_number = pa.types.is_integer(flat.type) or pa.types.is_floating(flat.type)
        return cls(offsets - offsets[0], flat.to_numpy(zero_copy_only=False) if is_number else flat)

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)


def texts(ids: Any) -> list[str]:
    """Ids as Python strings, whole numbers written out."""
    import pyarrow as pa

    if isinstance(ids, np.ndarray):
        ids = pa.array(ids).cast(pa.string())
    try:
        found: list[str] = ids.to_pylist()
    except UnicodeDecodeError:
        # as in files: what is not UTF-8 becomes surrogate escapes
        found = [value.decode("utf-8", "surrogateescape") for value in ids.cast(pa.binary()).to_pylist()]
    return found


def objects(values: list[str]) -> Any:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def taken(values: Any, at: Ints) -> Any:
    if isinstance(values, np.ndarray):
        return values[at]
    import pyarrow as pa

    return values.take(pa.array(at))


def within(starts: Ints, rows: Ints) -> Ints:
    """The places of all that belongs to some rows, one row after the other."""
    sizes = starts[rows + 1] - starts[rows]
    ends = np.cumsum(sizes)
    places: Ints = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts[rows] - (ends - sizes), sizes)
    return places


def numbers_among(ids: Any, known: Any) -> Ints:
    """The place of each id among known ones, -1 if it is not among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    given, wanted = (pa.array(x) if isinstance(x, np.ndarray) else x for x in (ids, known))
    found = pc.index_in(given, value_set=wanted)
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def likely(ids: Any, known: Any) -> Ints:
    """Where ids that may be known stand: of whole numbers most others are told by a glance at a table of bits."""
    if not isinstance(ids, np.ndarray):
        return np.arange(len(ids))
    seen = np.zeros(1 << _GLANCE, dtype=bool)
    seen[_bits(known)] = True
    return np.flatnonzero(seen[_bits(ids)])


_GLANCE = 20


def _bits(ids: Any) -> Any:
    mixed = (ids.astype(np.int64, copy=False) * np.int64(-7046029254386353131)).view(np.uint64)
    return np.right_shift(mixed, np.uint64(64 - _GLANCE), out=mixed)


def rectangles(query: Ints) -> Iterator[tuple[Ints | slice, Bools | None]]:
    """Where the rows of queries stand, side by side: tables of a line a query, and which of their places are real.

    Queries of like size share a table, so that less than half of it is for nothing (None: all places are real); a
    large one is a slice by itself, which takes no room. Short lines are sorted much faster than all rows at once.
    """
    if not len(query):
        return
    starts = np.concatenate(([0], np.flatnonzero(query[1:] != query[:-1]) + 1))
    sizes = np.diff(np.append(starts, len(query)))
    for at in np.flatnonzero(sizes > _LARGE).tolist():
        yield slice(int(starts[at]), int(starts[at] + sizes[at])), None
    like = np.where(sizes > _LARGE, 0, np.frexp(sizes - 0.5)[1])  # the logarithm to base 2, rounded up
    for one in np.unique(like).tolist():
        own = (like == one) & (sizes <= _LARGE)
        if own.any():
            columns = np.arange(int(sizes[own].max()))
            places = starts[own][:, None] + columns
            if (sizes[own] == len(columns)).all():
                yield places, None
            else:
                yield np.minimum(places, len(query) - 1), columns < sizes[own][:, None]


_LARGE = 1 << 16


def repeating(query: Ints, doc: Any) -> Ints:
    """The queries that have a document twice."""
    code = doc if isinstance(doc, np.ndarray) else np.asarray(doc.dictionary_encode().indices)
    found = [np.empty(0, dtype=np.int64)]
    for places, inside in rectangles(query):
        if isinstance(places, slice):
            ids = np.sort(code[places])
            if (ids[1:] == ids[:-1]).any():
                found.append(query[places][:1])
            continue
        ids = code[places]
        if inside is not None:
            ids[~inside] = np.iinfo(code.dtype).max
        ids.sort(axis=1)
        alike = ids[:, 1:] == ids[:, :-1]
        again = (alike if inside is None else alike & inside[:, 1:]).any(axis=1)
        found.append(query[places[again, 0]])
    return np.concatenate(found)


def sorted_within(query: Ints, score: Floats) -> Ints:
    """Where the rows stand in the order of their scores, query after query; equal ones in any order."""
    order = np.empty(len(query), dtype=np.int64)
    for places, inside in rectangles(query):
        if isinstance(places, slice):
            order[places] = np.argsort(-score[places])
            order[places] += places.start
            continue
        negative = -score[places]
        if inside is not None:
            negative[~inside] = np.inf
        best_first = np.take_along_axis(places, np.argsort(negative, axis=1), axis=1)
        if inside is None:
            order[places] = best_first
        else:
            order[places[inside]] = best_first[inside]
    return order


def are_ids(ids: Any) -> bool:
    """Whether ids have a byte at least, and no line break, as everywhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(ids, np.ndarray) or not len(ids):
        return True
    if pc.min(pc.binary_length(ids)).as_py() == 0:
        return False
    plain = pa.concat_arrays([ids]) if ids.offset else ids
    data = plain.buffers()[2]
    if data is None:
        return True
    bytes_ = np.frombuffer(data, dtype=np.uint8)
    if not ((bytes_ == 10) | (bytes_ == 13)).any():
        return True
    return not pc.any(pc.match_substring_regex(ids, "[\n\r]")).as_py()
