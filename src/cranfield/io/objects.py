"""Whatever a user has in memory, made into a Run or Qrels: dicts, records, frames, arrays, ir_datasets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.base import GRADE_WORDS, OnDuplicate, format_id
from cranfield.data import Qrels, Run
from cranfield.errors import InputError
from cranfield.io.parse_values import parse_grade, parse_id, parse_number, raise_problem
from cranfield.io.rows import QrelsRows, RunRows
from cranfield.io.runs_qrels import read_qrels, read_run

if TYPE_CHECKING:
    from cranfield.io.json_rows import Records

_EXPECTED = "expected {query: {doc: value}}, a data frame, columns, records, an ir_datasets object or a file name"


def as_run(source: Any, *, name: str | None = None, on_duplicate: OnDuplicate = "error") -> Run:
    """A Run from whatever there is: a dict of dicts, records, a data frame, a file name, a Run.

    >>> as_run({"q1": {"d1": 1.5, "d2": 0.5}})
    Run('run': 1 query, 2 documents)
    """
    if isinstance(source, Run):
        return source if name is None else source.renamed(name)
    if isinstance(source, (str, os.PathLike)):
        return read_run(source, name=name, on_duplicate=on_duplicate)
    if is_nested(source):
        rows = _nested_run(source)
    else:
        records = _records(source, "scoreddocs_iter", ("query", "doc", "score"))
        from cranfield.io.json_rows import drop_note_lines, read_run_records

        rows = drop_note_lines(read_run_records(records, None, raise_problem, "record"))
    return rows.run(name or "run", None, on_duplicate)


def as_qrels(source: Any, *, name: str = "qrels", on_duplicate: OnDuplicate = "error") -> Qrels:
    """Qrels from whatever there is: a dict of dicts, records, a data frame, a file name, Qrels.

    >>> as_qrels([("q1", "d1", 2), ("q1", "d2", 0)])
    Qrels('qrels': 1 query, 2 judgments)
    """
    if isinstance(source, Qrels):
        return source
    if isinstance(source, (str, os.PathLike)):
        return read_qrels(source, on_duplicate=on_duplicate)
    if is_nested(source):
        rows = _nested_qrels(source)
    else:
        records = _records(source, "qrels_iter", ("query", "doc", "grade"))
        from cranfield.io.json_rows import read_qrels_records

        rows = read_qrels_records(records, None, raise_problem, GRADE_WORDS, "record")
    return rows.qrels(name, None, on_duplicate)


def from_arrays(y_true: Any, y_score: Any, *, name: str = "run") -> tuple[Qrels, Run]:
    """Qrels and a run from dense arrays as scikit-learn takes them: one row a query, one column a document.

    A NaN in `y_true` is a document without judgment. Queries and documents are called 0, 1, 2, …

    >>> qrels, run = from_arrays([[1, 0, 0]], [[0.75, 0.5, 1.0]])
    >>> run.to_dict()
    {'0': {'0': 0.75, '1': 0.5, '2': 1.0}}
    """
    truth, scores = _matrix(y_true, "y_true"), _matrix(y_score, "y_score")
    if truth.shape != scores.shape:
        raise InputError(f"y_true has shape {truth.shape}, y_score {scores.shape}: expected the same.")
    if not np.isfinite(scores).all():
        raise InputError("y_score holds a value that is not a finite number.")
    if np.isinf(truth).any():
        raise InputError("y_true holds an infinite grade.")
    queries = [str(i) for i in range(truth.shape[0])]
    docs = [str(j) for j in range(truth.shape[1])]
    row_queries, row_docs = [q for q in queries for _ in docs], docs * len(queries)
    judged = np.flatnonzero(~np.isnan(truth.ravel()))
    qrels = Qrels.from_rows(
        [row_queries[i] for i in judged],
        [row_docs[i] for i in judged],
        truth.ravel()[judged],
        empty_queries=queries,
    )
    return qrels, Run.from_rows(row_queries, row_docs, scores.ravel(), name=name, empty_queries=queries)


def _matrix(values: Any, what: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is not an array of numbers with rows of equal length.") from None
    if matrix.ndim == 1:
        matrix = matrix[np.newaxis]
    if matrix.ndim != 2:
        raise InputError(f"{what} has {matrix.ndim} dimensions, expected queries × documents.")
    return matrix


def is_nested(source: Any) -> bool:
    """Whether something is {query: {doc: value}}."""
    return isinstance(source, Mapping) and all(isinstance(docs, Mapping) for docs in source.values())


def _nested_run(source: Mapping[Any, Mapping[Any, Any]]) -> RunRows:
    rows = RunRows(ranks=None)
    rows.empty.extend(parse_id(query, "query") for query in source)
    for query, doc, score in _pairs(source):
        try:
            rows.add(query, doc, parse_number(score, "score"), len(rows.docs) + 1)
        except InputError as error:
            raise _about(query, doc, error) from None
    return rows


def _nested_qrels(source: Mapping[Any, Mapping[Any, Any]]) -> QrelsRows:
    rows = QrelsRows()
    rows.empty.extend(parse_id(query, "query") for query in source)
    for query, doc, grade in _pairs(source):
        try:
            rows.add(query, doc, parse_grade(grade, GRADE_WORDS), len(rows.docs) + 1)
        except InputError as error:
            raise _about(query, doc, error) from None
    return rows


def _pairs(source: Mapping[Any, Mapping[Any, Any]]) -> Iterator[tuple[str, str, Any]]:
    for key, docs in source.items():
        query = parse_id(key, "query")
        for doc, value in docs.items():
            try:
                yield query, parse_id(doc, "document"), value
            except InputError as error:
                raise InputError(f"query {format_id(query):.80}: {error.message}") from None


def _about(query: str, doc: str, error: InputError) -> InputError:
    from cranfield.io.json_rows import name_pair

    return name_pair(query, doc, error)


def _records(source: Any, iterator: str, names: tuple[str, ...]) -> Records:
    if hasattr(source, iterator):  # an ir_datasets dataset
        source = getattr(source, iterator)()
    from cranfield.io.tabular import read_frame

    framed = read_frame(source)
    if framed is not None:
        return framed
    if isinstance(source, (bytes, Mapping)) or not isinstance(source, Iterable):
        raise InputError(f"cannot use a {type(source).__name__}: {_EXPECTED}.")
    return _each_record(source, names)


def _each_record(source: Iterable[Any], names: tuple[str, ...]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, entry in enumerate(source, 1):
        if isinstance(entry, Mapping):
            yield number, entry
        elif hasattr(entry, "_asdict"):  # named tuples: ir_datasets, ir_measures
            yield number, entry._asdict()
        elif isinstance(entry, tuple | list) and len(entry) == len(names):
            yield number, dict(zip(names, entry, strict=True))
        else:
            raise InputError(f"{entry!r:.80} is no record ({', '.join(names)}); {_EXPECTED}.", None, number)
