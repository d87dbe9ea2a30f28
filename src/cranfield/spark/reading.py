"""Frames out of paths that Spark can read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any
from urllib.parse import unquote, urlsplit

from cranfield.base import Record
from cranfield.data import Origin
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation import distinct_names
from cranfield.io import AS_REQUESTED, display_name, hash_file
from cranfield.spark.columns import WHOLE, Columns, qrels_columns, quoted, run_columns

FORMATS = ("trec", "csv", "tsv", "jsonl", "parquet")
_SUFFIXES = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_PARQUET = "PAR1"  # its first bytes
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".snappy")


class ReadRuns(Record):
    """Runs in one frame, and where they come from."""

    frame: Any
    names: list[str] | None  # None if a column of the data has them
    origins: tuple[Origin, ...]  # of each name; without names, of each path

    def origin_of(self, run: str) -> Origin | None:
        if self.names is not None:
            return self.origins[self.names.index(run)]
        return self.origins[0] if len(self.origins) == 1 else None


def read_runs(session: Any, paths: Sequence[str], format: str | None, with_ranks: bool) -> ReadRuns:
    """The runs in some paths as one frame."""
    read = [_read(session, path, format, _run_lines) for path in paths]
    frames, origins = [frame for frame, _ in read], tuple(origin for _, origin in read)
    columns = [_in_file(path, run_columns, frame, with_ranks) for path, frame in zip(paths, frames, strict=True)]
    if len(frames) == 1:
        named = "run" in columns[0]
        return ReadRuns(frames[0], None if named else [display_name(paths[0])], origins)
    from pyspark.sql import functions as F

    names = distinct_names([display_name(path) for path in paths], list(paths))
    kept = ["query", "doc", "score", *(["rank"] if with_ranks else [])]
    as_text = {what for what in kept if any(own.type_of(what) not in WHOLE for own in columns)}
    parts = []
    for frame, own, name in zip(frames, columns, names, strict=True):
        told = F.col(quoted(own.names["run"])).cast("string") if "run" in own else F.lit(name)
        chosen = [_like(own, what, what in as_text).alias(what) for what in kept]
        lines = [F.col("line")] if "line" in frame.columns else [F.lit(None).cast("string").alias("line")]
        parts.append(frame.select(told.alias("run"), *chosen, *lines))
    given = None if any("run" in own for own in columns) else names
    return ReadRuns(reduce(lambda one, other: one.unionByName(other), parts), given, origins)


def _like(columns: Columns, what: str, as_text: bool) -> Any:
    """A column in the type that all files can have."""
    from pyspark.sql import functions as F

    column = F.col(quoted(columns.names[what]))
    if what == "score":
        return column if columns.is_text(what) and not as_text else column.cast("string" if as_text else "double")
    return column.cast("string" if as_text else "bigint")


def read_judgments(session: Any, path: str, format: str | None, grade_words: Mapping[str, float]) -> tuple[Any, Origin]:
    """The qrels in a path as a frame, grades in words put into numbers, and where they come from."""
    from pyspark.sql import functions as F

    frame, origin = _read(session, path, format, _qrels_lines)
    columns: Columns = _in_file(path, qrels_columns, frame)
    if not columns.is_text("grade") or not grade_words:
        return frame, origin
    grade = F.col(quoted(columns.names["grade"]))
    numbers = F.create_map(*(F.lit(one) for word, number in grade_words.items() for one in (word, repr(number))))
    in_numbers = F.coalesce(numbers[F.lower(F.trim(grade))], grade)
    return frame.withColumn(columns.names["grade"], in_numbers), origin


def _in_file(path: str, find: Callable[..., Columns], *arguments: Any) -> Columns:
    """Columns of a file, or an error that names it."""
    try:
        return find(*arguments)
    except InputError as error:
        raise InputError(error.message, path) from None


def require_files(paths: Sequence[str], format: str | None) -> None:
    """Formats must be known, and paths on this machine lead somewhere; of others Spark will say."""
    for path in paths:
        _format_of(path, format)
        if path == "-":
            raise CranfieldError("Spark reads files, not standard input.")
        if (local := _local(path)) is not None and not os.path.exists(local) and not glob.glob(local):
            raise InputError("there is no such file.", path)


def _local(path: str) -> str | None:
    """A path as this machine's own name for it; None if it leads elsewhere."""
    if "://" not in path and not path.startswith("file:"):
        return path
    place = urlsplit(path)
    return unquote(place.path) if place.scheme == "file" and place.netloc in ("", "localhost") else None


def _asked(path: str) -> str:
    """A path as Spark must be asked for it: in the name of a file that is there, `[` and `*` mean themselves."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path) if "://" not in path and os.path.exists(path) else path


def _format_of(path: str, given: str | None) -> tuple[str, str]:
    """The format of what is in a path, and how it is known."""
    if given is not None:
        if given not in FORMATS:
            raise CranfieldError(f"--engine spark reads {', '.join(FORMATS)}, not {given}.")
        return given, AS_REQUESTED
    stem = path.rstrip("/")
    for suffix in _COMPRESSED:
        stem = stem.removesuffix(suffix)
    known = _SUFFIXES.get(os.path.splitext(stem)[1].lower())
    if known is not None:
        return known, "the ending of its name"
    local = _local(path)
    if local is not None and os.path.isdir(local):
        inside = {os.path.splitext(name)[1] for name in os.listdir(local)}
        known = next((kind for suffix, kind in _SUFFIXES.items() if suffix in inside), None)
    return (known, "the ending of the names in it") if known else ("trec", "lines of text")


def _read(session: Any, path: str, given: str | None, as_columns: Callable[[Any], Any]) -> tuple[Any, Origin]:
    """The rows of a path as a frame, and where they come from."""
    reader, asked = session.read, _asked(path)
    format, why = _format_of(path, given)
    if format == "trec" and given is None and _begins_with(reader.text(asked), _PARQUET):
        format, why = "parquet", "Parquet's first four bytes"
    origin = Origin(path, format, why, lambda: _digest(path))
    if format == "parquet":
        return reader.parquet(asked), origin
    if format == "jsonl":
        return reader.json(asked), origin
    if format in ("csv", "tsv"):
        return reader.csv(asked, header=True, sep="," if format == "csv" else "\t", escape='"'), origin
    return as_columns(reader.text(asked)), origin


def _digest(path: str) -> str:
    """SHA-256 of a file on this machine; of others and of folders there is none."""
    local = _local(path)
    return "" if local is None or not os.path.isfile(local) else hash_file(local)


def _begins_with(lines: Any, mark: str) -> bool:
    first = lines.limit(1).collect()
    return bool(first) and first[0]["value"].startswith(mark)


def _run_lines(lines: Any) -> Any:
    """query Q0 doc rank score tag"""
    return _split(lines, {"query": 0, "doc": 2, "rank": 3, "score": 4}, 6)


def _qrels_lines(lines: Any) -> Any:
    """query subtopic doc grade"""
    return _split(lines, {"query": 0, "subtopic": 1, "doc": 2, "grade": 3}, 4)


def _split(lines: Any, columns: dict[str, int], number: int) -> Any:
    """Lines parted by white space; one that lacks columns has no query, and is shown as what cannot be used."""
    from pyspark.sql import functions as F

    def parts(line: Any) -> Any:
        return F.split(F.regexp_replace(line, r"^\s+|\s+$", ""), r"\s+")

    # Spark's expressions put one character for whatever is not UTF-8, so that ids would be mixed up: those lines are
    # taken for Latin-1, in which every byte is a character, and put back byte by byte
    value = F.col("value")
    by_byte = parts(F.decode(value.cast("binary"), "ISO-8859-1"))
    put_back = F.transform(by_byte, lambda part: F.encode(part, "ISO-8859-1").cast("string"))
    own = F.when(F.is_valid_utf8(value), parts(value)).otherwise(put_back)
    rows = lines.select(value.alias("line"), own.alias("parts")).filter(
        (F.col("line").rlike(r"\S")) & ~F.col("line").rlike(r"^\s*#")
    )
    whole = F.size("parts") >= number
    return rows.select("line", *(F.when(whole, F.col("parts")[at]).alias(name) for name, at in columns.items()))
