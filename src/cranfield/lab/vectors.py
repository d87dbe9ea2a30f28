"""Vectors that somebody has, of documents or of queries: NumPy's files and Parquet, checked and read in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.base import format_id, join_names, pluralize
from cranfield.data import Floats, Ints
from cranfield.errors import DuplicateError, InputError, MissingExtra
from cranfield.io import PathLike, find_column

BLOCK = 1 << 22  # numbers that are held at a time
LARGEST = 1e100  # a number beyond would be infinite in a product
KINDS = ("float16", "float32", "float64")
SUFFIXES = (".npy", ".parquet", ".pq")
_MAGIC = b"\x93NUMPY"
_IDS = ("id", "_id", "doc_id", "docid", "docno", "doc", "query_id", "qid", "query", "topic_id", "topic")
_VECTOR = ("vector", "embedding", "vectors", "embeddings", "emb", "vec")


class Vectors:
    """Vectors in rows, with their ids where these are known; they are read when they are needed, some at a time.

    >>> vectors = as_vectors([[1.0, 0.0], [0.6, 0.8]], ids=["a", "b"])
    >>> len(vectors), vectors.dimension, vectors.rows(np.array([1])).tolist()
    (2, 2, [[0.6, 0.8]])
    """

    def __init__(self, name: str, rows: Any, ids: tuple[str, ...] | None = None) -> None:
        self.name = name
        self.ids = ids
        self._array = rows
        if len(self) == 0 or self.dimension == 0:
            raise InputError("there are no vectors in it.", name)
        if ids is not None:
            _check_ids(ids, len(self), name)

    def __len__(self) -> int:
        return int(self._array.shape[0])

    @property
    def dimension(self) -> int:
        return int(self._array.shape[1])

    def blocks(self, size: int) -> Iterator[tuple[int, Floats]]:
        """All rows, at most so many at a time, each block with the number of its first row."""
        for start in range(0, len(self), size):
            yield start, np.asarray(self._array[start : start + size], dtype=np.float64)

    def rows(self, at: Ints) -> Floats:
        """Some rows."""
        return np.asarray(self._array[at], dtype=np.float64)

    def id_of(self, row: int) -> str:
        """A row as messages name it."""
        return f"row {row + 1:,}" if self.ids is None else f"row {row + 1:,} ({format_id(self.ids[row])})"


class ParquetVectors(Vectors):
    """A column of lists in a Parquet file."""

    def __init__(self, name: str, file: Any, column_name: str, dimension: int, ids: tuple[str, ...] | None) -> None:
        self._file, self._column, self._dimension = file, column_name, dimension
        super().__init__(name, None, ids)

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    @property
    def dimension(self) -> int:
        return self._dimension

    def blocks(self, size: int) -> Iterator[tuple[int, Floats]]:
        start = 0
        for batch in self._file.iter_batches(batch_size=size, columns=[self._column], use_threads=False):
            if batch.num_rows:
                yield start, self._numbers(batch.column(0), start)
                start += batch.num_rows

    def rows(self, at: Ints) -> Floats:
        found = np.empty((len(at), self.dimension))
        for start, block in self.blocks(block_size(self.dimension)):
            inside = np.flatnonzero((at >= start) & (at < start + len(block)))
            found[inside] = block[at[inside] - start]
        return found

    def _numbers(self, lists: Any, start: int) -> Floats:
        import pyarrow.compute as pc

        sizes = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(sizes != self.dimension)  # a missing list has no size, which differs too
        if len(wrong):
            row, size = start + int(wrong[0]), sizes[wrong[0]]
            what = "no vector" if np.isnan(size) else f"a vector of {pluralize(int(size), 'number')}"
            raise InputError(f"{self.id_of(row)} has {what}, expected {self.dimension:,} as in the first.", self.name)
        values = lists.flatten()
        if values.null_count:
            row = start + int(np.flatnonzero(np.asarray(values.is_null()))[0]) // self.dimension
            raise InputError(f"{self.id_of(row)} has a number missing in its vector.", self.name)
        flat = values.to_numpy(zero_copy_only=False)
        return np.asarray(flat, dtype=np.float64).reshape(len(lists), self.dimension)


def is_vectors(path: str) -> bool:
    """Whether a name is that of a file of vectors.

    >>> is_vectors("docs.npy"), is_vectors("documents.jsonl")
    (True, False)
    """
    return path.lower().endswith(SUFFIXES) and not os.path.isdir(path)


def read_vectors(path: PathLike) -> Vectors:
    """Vectors out of a `.npy` file, mapped into memory, or out of a Parquet file.

    Ids are a column of the Parquet file, or one a line in `docs.ids.txt` (or `docs.ids`) beside `docs.npy`.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise InputError("there is no such file.", name)
    if name.lower().endswith(SUFFIXES[1:]):
        return _parquet(name)
    return Vectors(name, _mapped(name), _ids_beside(name))


def as_vectors(rows: Any, ids: Iterable[str] | None = None, name: str = "vectors") -> Vectors:
    """Vectors that are in memory: anything that NumPy takes for a table of numbers."""
    array = np.asarray(rows)
    return Vectors(name, _checked_array(array, name), None if ids is None else tuple(ids))


def ids_file(path: str) -> str:
    """Where the ids of a `.npy` file are kept.

    >>> ids_file("vectors/docs.npy")
    'vectors/docs.ids.txt'
    """
    return f"{os.path.splitext(path)[0]}.ids.txt"


def block_size(dimension: int, beside: int = 1) -> int:
    """How many rows fit into a block, and into a table of as many with something `beside`."""
    return max(1, BLOCK // max(1, dimension, beside))


def checked_blocks(vectors: Vectors, size: int, directions: bool = False) -> Iterator[tuple[int, Floats]]:
    """All rows in blocks; an error at the end that counts those that are no vectors.

    These are rows with NaN, infinity or the like and, where only directions count, rows of nothing but zeros.
    """
    infinite: list[int] = []
    zero: list[int] = []
    for start, block in vectors.blocks(size):
        wrong = np.any(~(np.abs(block) < LARGEST), axis=1)
        if wrong.any():
            infinite += (start + np.flatnonzero(wrong)).tolist()
            block = np.where(wrong.reshape(-1, 1), 0.0, block)
        if directions:
            zero += (start + np.flatnonzero(~block.any(axis=1) & ~wrong)).tolist()
        yield start, block
    if infinite:
        raise _wrong_rows(vectors, infinite, f"with NaN, infinity or a number beyond {LARGEST:g} in it")
    if zero:
        raise _wrong_rows(vectors, zero, "of zeros only, which have no direction: --similarity inner takes them")


def places(vectors: Vectors, ids: Sequence[str], noun: str, where: str = "") -> Ints:
    """Which of the documents (or topics) of a collection each vector belongs to, as numbers.

    By id where vectors have ids, by their order where they have none. There must be one for each.
    """
    inside = f" in {where}" if where else ""
    if vectors.ids is None:
        if len(vectors) != len(ids):
            found, expected = pluralize(len(vectors), "vector"), pluralize(len(ids), noun)
            hint = f" Ids, one a line, in {ids_file(vectors.name)} would tell which is which."
            raise InputError(f"{found} for {expected}{inside}.{hint}", vectors.name)
        return np.arange(len(ids))
    number = {one: i for i, one in enumerate(ids)}
    problems = []
    if unknown := [one for one in vectors.ids if one not in number]:
        problems.append(f"{pluralize(len(unknown), 'vector')} of no {noun}{inside}: {join_names(unknown)}")
    known = set(vectors.ids)
    if missing := [one for one in ids if one not in known]:
        problems.append(f"{pluralize(len(missing), noun)}{inside} without a vector: {join_names(missing)}")
    if problems:
        raise InputError("; ".join(problems) + ".", vectors.name)
    return np.array([number[one] for one in vectors.ids], dtype=np.int64)


def _wrong_rows(vectors: Vectors, rows: list[int], what: str) -> InputError:
    some = ", ".join(map(vectors.id_of, rows[:5]))
    more = f" and {len(rows) - 5:,} more" if len(rows) > 5 else ""
    return InputError(f"{pluralize(len(rows), 'vector')} {what}: {some}{more}.", vectors.name)


def _check_ids(ids: Sequence[str], count: int, name: str) -> None:
    if len(ids) != count:
        raise InputError(f"{pluralize(len(ids), 'id')} for {pluralize(count, 'vector')}.", name)
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = [one for one in ids if one in seen or seen.add(one)]  # type: ignore[func-returns-value]
        raise DuplicateError(
            f"{pluralize(len(set(twice)), 'id')} more than once: {join_names(dict.fromkeys(twice))}.", name
        )


def _mapped(name: str) -> Any:
    """The array of a `.npy` file, which stays on disk."""
    try:
        with open(name, "rb") as file:
            is_array = file.read(len(_MAGIC)) == _MAGIC
        if not is_array:
            raise InputError("this is neither a .npy file of NumPy's nor, by its name, a Parquet file.", name)
        array = np.load(name, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        # objects instead of numbers, or a file that ends too early
        raise InputError(f"this .npy file cannot be used: {str(error).rstrip('.')}.", name) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}.", name) from None
    return _checked_array(array, name)


def _checked_array(array: Any, name: str) -> Any:
    if array.ndim != 2:
        raise InputError(f"expected a table with a vector in each row, found an array of shape {array.shape}.", name)
    if array.dtype.name not in KINDS:
        raise InputError(f"it holds {array.dtype.name}, expected {', '.join(KINDS)}.", name)
    return array


def _ids_beside(name: str) -> tuple[str, ...] | None:
    """The ids beside a `.npy` file, one a line."""
    found = [file for file in (ids_file(name), ids_file(name).removesuffix(".txt")) if os.path.isfile(file)]
    if not found:
        return None
    lines = Path(found[0]).read_bytes().decode("utf-8", "surrogateescape").split("\n")
    ids = tuple(line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines))
    blank = next((i for i, one in enumerate(ids, 1) if not one.strip()), None)
    if blank is not None:
        raise InputError("this line is blank, expected an id.", found[0], blank)
    return ids


def _parquet(name: str) -> Vectors:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("Parquet", "arrow") from None
    try:
        file = pq.ParquetFile(name, memory_map=True)  # so that no group of rows is held as a whole
        schema = file.schema_arrow
        lists = [field.name for field in schema if _is_list(field.type)]
        chosen = lists[0] if len(lists) == 1 else find_column(lists, _VECTOR)
        if chosen is None:
            hint = f"none of {', '.join(lists)} is called vector or embedding" if lists else "no column has lists"
            raise InputError(f"where are the vectors? Of {', '.join(schema.names) or 'no columns'}, {hint}.", name)
        kind = schema.field(chosen).type.value_type
        if not pa.types.is_floating(kind):
            raise InputError(f"column {chosen!r} has lists of {kind}, expected {', '.join(KINDS)}.", name)
        return ParquetVectors(name, file, chosen, _dimension(file, chosen), _parquet_ids(file, schema, name))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"this Parquet file cannot be read: {str(error).splitlines()[0].rstrip('.')}.", name) from None


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _dimension(file: Any, name: str) -> int:
    import pyarrow as pa

    kind = file.schema_arrow.field(name).type
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    first = next((batch.column(0)[0].as_py() for batch in file.iter_batches(1, columns=[name])), None)
    return len(first or ())


def _parquet_ids(file: Any, schema: Any, name: str) -> tuple[str, ...] | None:
    """The column of ids: by its name, or because it alone has text or whole numbers."""
    import pyarrow as pa

    def holds_ids(kind: Any) -> bool:
        kinds = pa.types
        return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_integer(kind))

    plain = [field.name for field in schema if holds_ids(field.type)]
    chosen = find_column(plain, _IDS) or (plain[0] if len(plain) == 1 else None)
    if chosen is None:
        return None
    values = file.read(columns=[chosen]).column(0)
    if values.null_count:
        raise InputError(f"column {chosen!r}: {pluralize(values.null_count, 'id')} missing.", name)
    return tuple(map(str, values.to_pylist()))
