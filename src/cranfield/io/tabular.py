"""Tables with named columns: CSV and TSV files, Parquet, and data frames (none of which we import)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from cranfield.base import encode_id
from cranfield.data import Qrels, Run
from cranfield.errors import InputError, MissingExtra
from cranfield.io.files import Input, PathLike
from cranfield.io.json_rows import Records, drop_note_lines, read_qrels_records, read_run_records, report_by_record
from cranfield.io.parse_values import OnProblem, raise_problem
from cranfield.io.rows import QrelsRows, RunRows
from cranfield.io.trec import format_number


def read_delimited_run(source: Input, problem: OnProblem, delimiter: str) -> RunRows:
    """CSV or TSV with a header that names query, doc and score (or rank)."""
    return read_run_records(read_delimited(source, delimiter, problem), source.name, problem)


def read_delimited_qrels(source: Input, problem: OnProblem, words: Mapping[str, float], delimiter: str) -> QrelsRows:
    """CSV or TSV with a header that names query, doc and grade; BEIR's qrels are one."""
    return read_qrels_records(read_delimited(source, delimiter, problem), source.name, problem, words)


def read_parquet_run(source: Input, problem: OnProblem) -> RunRows:
    """A Parquet file with the columns query, doc and score (or rank)."""
    return drop_note_lines(read_run_records(_parquet(source), source.name, report_by_record(problem), "record"))


def read_parquet_qrels(source: Input, problem: OnProblem, words: Mapping[str, float]) -> QrelsRows:
    """A Parquet file with the columns query, doc and grade."""
    return read_qrels_records(_parquet(source), source.name, report_by_record(problem), words, "record")


def write_delimited(rows: Run | Qrels, out: BinaryIO, delimiter: str) -> None:
    """A header and one line a row."""
    columns = rows.columns()
    for name in ("score", "grade"):
        if name in columns:
            columns[name] = [format_number(value).decode() for value in columns[name]]
    if delimiter == "\t" and "grade" in columns:
        # BEIR's names, so that its loader reads them
        columns = {{"query": "query-id", "doc": "corpus-id", "grade": "score"}.get(k, k): v for k, v in columns.items()}
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(row)
    out.write(encode_id(buffer.getvalue()))


def write_parquet(rows: Run | Qrels, out: BinaryIO) -> None:
    table = rows.to_arrow()
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, out)


def parquet_columns(path: PathLike) -> list[str]:
    """The names of a Parquet file's columns."""
    with Input(path) as source:
        _, first = next(_parquet(source), (0, {}))
        return list(first)


def read_frame(frame: Any) -> Records | None:
    """The rows of a pandas, polars or pyarrow frame or a mapping of columns; None if it is none."""
    columns = _frame_columns(frame)
    return None if columns is None else _zipped(columns)


def _frame_columns(frame: Any) -> dict[str, list[Any]] | None:
    if hasattr(frame, "collect") and hasattr(frame, "collect_schema"):  # a lazy polars frame
        frame = frame.collect()
    names = _column_names(frame)
    if names is not None:
        named = [str(name) for name in names]
        if len(set(named)) < len(named):
            raise InputError(f"two columns have the same name ({', '.join(named)}).")
        return {text: _listed(frame[name], text) for text, name in zip(named, names, strict=True)}
    if isinstance(frame, Mapping) and frame and not any(isinstance(v, Mapping) for v in frame.values()):
        return {str(name): _listed(values, str(name)) for name, values in frame.items()}
    return None


def _column_names(frame: Any) -> list[Any] | None:
    if not hasattr(frame, "__getitem__"):
        return None
    for owner, attribute in ((frame, "column_names"), (frame, "columns"), (getattr(frame, "dtype", None), "names")):
        names = getattr(owner, attribute, None)  # pyarrow; pandas and polars; structured NumPy arrays
        if names is not None:
            return list(names)
    return None


def _listed(values: Any, name: str) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"column {name!r:.80} is a {type(values).__name__}, expected a list or an array.")
    return list(values)


def _zipped(columns: Mapping[str, list[Any]]) -> Records:
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        sizes = ", ".join(f"{name} {len(values)}" for name, values in columns.items())
        raise InputError(f"columns differ in length: {sizes}.")
    for index, values in enumerate(zip(*columns.values(), strict=True), 1):
        yield index, dict(zip(columns, values, strict=True))


def read_delimited(source: Input, delimiter: str, problem: OnProblem = raise_problem) -> Records:
    """Rows below a header as mappings, each with its line."""
    spaced = _is_spaced(source.head, delimiter)
    reader = csv.reader(source.text(), delimiter=delimiter, skipinitialspace=spaced)
    rows = _numbered(reader)
    try:
        top, header = next(((line, row) for line, row in rows if not row[0].startswith("#")), (1, list[str]()))
        header = [name.strip() for name in header]
        if len(set(header)) < len(header):
            raise InputError("the header names a column twice.", source.name, top)
        for line, row in rows:
            if len(row) == len(header):
                yield line, dict(zip(header, row, strict=True))
            elif not row[0].startswith("#"):  # a comment, unless it has the columns of a row
                found = f"expected {len(header)} columns ({', '.join(header)}), found {len(row)}."
                problem(InputError(found, source.name, line))
    except csv.Error as error:
        raise InputError(f"not a table: {error}.", source.name, reader.line_num) from None


def _is_spaced(head: bytes, delimiter: str) -> bool:
    """Whether the header has a space after its commas: then those of the rows belong to no id either."""
    lines = (line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#"))
    return f"{delimiter} ".encode() in next(lines, b"")


def _numbered(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the number of its first line."""
    first = 1
    for row in reader:
        if row:
            yield first, row
        first = reader.line_num + 1


def _parquet(source: Input) -> Records:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(f"{source.name}: Parquet", "arrow") from None
    data = source.read()
    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(data))
        columns = table.to_pydict()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"the Parquet data cannot be read ({first:.160}).", source.name) from None
    return _zipped(columns)
