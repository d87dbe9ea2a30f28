"""Frames out of paths that Spark can read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from cranfield.errors import CranfieldError, InputError
from cranfield.opening import display_name
from cranfield.scores import distinct_names
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
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".snappy")


def read_runs(session: Any, paths: Sequence[str], format: str | None, with_ranks: bool) -> tuple[Any, list[str] | None]:
    """The runs in some paths as one frame, and their names unless a column of the data has them."""
    frames = [_read(session, path, _format_of(path, format), _run_lines) for path in paths]
    columns = [_in_file(path, run_columns, frame, with_ranks) for path, frame in zip(paths, frames, strict=True)]
    if len(frames) == 1:
        named = "run" in columns[0]
        return frames[0], None if named else [display_name(paths[0])]
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
    return reduce(lambda one, other: one.unionByName(other), parts), given


def _like(columns: Columns, what: str, as_text: bool) -> Any:
    """A column in the type that all files can have."""
    from pyspark.sql import functions as F

    column = F.col(quoted(columns.names[what]))
    if what == "score":
        return column if columns.is_text(what) and not as_text else column.cast("string" if as_text else "double")
    return column.cast("string" if as_text else "bigint")


def read_judgments(session: Any, path: str, format: str | None, grade_words: Mapping[str, float]) -> Any:
    """The qrels in a path as a frame, grades in words put into numbers."""
    from pyspark.sql import functions as F

    frame = _read(session, path, _format_of(path, format), _qrels_lines)
    columns: Columns = _in_file(path, qrels_columns, frame)
    if not columns.is_text("grade") or not grade_words:
        return frame
    grade = F.col(quoted(columns.names["grade"]))
    numbers = F.create_map(*(F.lit(one) for word, number in grade_words.items() for one in (word, repr(number))))
    return frame.withColumn(columns.names["grade"], F.coalesce(numbers[F.lower(F.trim(grade))], grade))


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
        if "://" not in path and not os.path.exists(path):
            raise InputError("there is no such file.", path)


def _format_of(path: str, given: str | None) -> str:
    if given is not None:
        if given not in FORMATS:
            raise CranfieldError(f"--engine spark reads {', '.join(FORMATS)}, not {given}.")
        return given
    stem = path.rstrip("/")
    for suffix in _COMPRESSED:
        stem = stem.removesuffix(suffix)
    known = _SUFFIXES.get(os.path.splitext(stem)[1].lower())
    if known is None and os.path.isdir(path):
        inside = {os.path.splitext(name)[1] for name in os.listdir(path)}
        known = next((kind for suffix, kind in _SUFFIXES.items() if suffix in inside), None)
    return known or "trec"


def _read(session: Any, path: str, format: str, as_columns: Callable[[Any], Any]) -> Any:
    reader = session.read
    if format == "parquet":
        return reader.parquet(path)
    if format == "jsonl":
        return reader.json(path)
    if format in ("csv", "tsv"):
        return reader.csv(path, header=True, sep="," if format == "csv" else "\t")
    return as_columns(reader.text(path))


def _run_lines(lines: Any) -> Any:
    """query Q0 doc rank score tag"""
    return _split(lines, {"query": 0, "doc": 2, "rank": 3, "score": 4}, 6)


def _qrels_lines(lines: Any) -> Any:
    """query subtopic doc grade"""
    return _split(lines, {"query": 0, "subtopic": 1, "doc": 2, "grade": 3}, 4)


def _split(lines: Any, columns: dict[str, int], number: int) -> Any:
    """Lines parted by white space; one that lacks columns has no query, and is shown as what cannot be used."""
    from pyspark.sql import functions as F

    text = F.regexp_replace(F.col("value"), r"^\s+|\s+$", "")
    rows = lines.select(F.col("value").alias("line"), F.split(text, r"\s+").alias("parts")).filter(
        (F.col("line").rlike(r"\S")) & ~F.col("line").rlike(r"^\s*#")
    )
    whole = F.size("parts") >= number
    return rows.select("line", *(F.when(whole, F.col("parts")[at]).alias(name) for name, at in columns.items()))
