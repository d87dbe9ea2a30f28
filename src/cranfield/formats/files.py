"""Runs and qrels from files and into files: choosing the format and handing over to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

from cranfield.collection import OnDuplicate, Origin, Qrels, Run, shown
from cranfield.errors import FormatError, InputError
from cranfield.formats import json_rows, letor, tabular, trec
from cranfield.formats.opening import Input, PathLike, display_name, without_compression, writing
from cranfield.formats.recognise import (
    AS_ASKED,
    QRELS_FORMATS,
    RUN_FORMATS,
    Recognised,
    recognise_qrels,
    recognise_run,
)
from cranfield.formats.rows import QrelsRows, RunRows
from cranfield.formats.values import GRADE_WORDS, OnProblem, stop

RUN_READERS: Mapping[str, Callable[[Input, OnProblem], RunRows]] = {
    "trec": trec.read_trec_run,
    "msmarco": trec.read_msmarco_run,
    "json": json_rows.read_json_run,
    "jsonl": json_rows.read_jsonl_run,
    "rag": json_rows.read_rag_run,
    "csv": partial(tabular.read_delimited_run, delimiter=","),
    "tsv": partial(tabular.read_delimited_run, delimiter="\t"),
    "parquet": tabular.read_parquet_run,
}
QRELS_READERS: Mapping[str, Callable[[Input, OnProblem, Mapping[str, float]], QrelsRows]] = {
    "trec": partial(trec.read_graded, layout="trec"),
    "diversity": partial(trec.read_graded, layout="trec"),
    "med": partial(trec.read_graded, layout="trec"),
    "sampled": partial(trec.read_graded, layout="sampled"),
    "prefs": partial(trec.read_graded, layout="prefs"),
    "prels": trec.read_prels,
    "plain": partial(trec.read_graded, layout="plain"),
    "cranfield": trec.read_cranfield_qrels,
    "cacm": trec.read_cacm_qrels,
    "cisi": trec.read_cacm_qrels,
    "letor": letor.read_letor_qrels,
    "beir": partial(tabular.read_delimited_qrels, delimiter="\t"),
    "json": json_rows.read_json_qrels,
    "jsonl": json_rows.read_jsonl_qrels,
    "rag": json_rows.read_rag_qrels,
    "csv": partial(tabular.read_delimited_qrels, delimiter=","),
    "tsv": partial(tabular.read_delimited_qrels, delimiter="\t"),
    "parquet": tabular.read_parquet_qrels,
}
RUN_WRITERS: Mapping[str, Callable[[Run, BinaryIO], None]] = {
    "trec": trec.write_trec_run,
    "msmarco": trec.write_msmarco_run,
    "json": json_rows.write_json_run,
    "jsonl": json_rows.write_jsonl,
    "rag": json_rows.write_rag_run,
    "csv": partial(tabular.write_delimited, delimiter=","),
    "tsv": partial(tabular.write_delimited, delimiter="\t"),
    "parquet": tabular.write_parquet,
}
QRELS_WRITERS: Mapping[str, Callable[[Qrels, BinaryIO], None]] = {
    "trec": partial(trec.write_qrels, layout="trec"),
    "diversity": partial(trec.write_qrels, layout="trec"),
    "sampled": partial(trec.write_qrels, layout="sampled"),
    "prefs": partial(trec.write_qrels, layout="prefs"),
    "prels": partial(trec.write_qrels, layout="prels"),
    "plain": partial(trec.write_qrels, layout="plain"),
    "beir": partial(tabular.write_delimited, delimiter="\t"),
    "json": json_rows.write_json_qrels,
    "jsonl": json_rows.write_jsonl,
    "csv": partial(tabular.write_delimited, delimiter=","),
    "tsv": partial(tabular.write_delimited, delimiter="\t"),
    "parquet": tabular.write_parquet,
}
_SUFFIXES = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}


def read_run(
    path: PathLike, format: str | None = None, *, name: str | None = None, on_duplicate: OnDuplicate = "error"
) -> Run:
    """Read a run from a file in any format; `-` is standard input."""
    with Input(path) as source:
        chosen = _chosen(format, RUN_FORMATS, "--run-format") or recognise_run(source.head, source.name)
        with _saying(chosen):
            rows = RUN_READERS[chosen.format](source, stop)
        origin = Origin(source.name, chosen.format, chosen.why, source.sha256)
    if not rows.docs and not rows.empty:
        raise InputError(f"no document in this run (read as {chosen.format}: {chosen.why}).", origin.file)
    return rows.run(name or display_name(path), origin, on_duplicate)


def read_qrels(
    path: PathLike,
    format: str | None = None,
    *,
    grade_words: Mapping[str, float] = GRADE_WORDS,
    on_duplicate: OnDuplicate = "error",
) -> Qrels:
    """Read judgments from a file in any format; `-` is standard input."""
    with Input(path) as source:
        chosen = _chosen(format, QRELS_FORMATS, "--qrels-format") or recognise_qrels(source.head, source.name)
        words = {word.lower(): grade for word, grade in grade_words.items()}
        with _saying(chosen):
            rows = QRELS_READERS[chosen.format](source, stop, words)
        origin = Origin(source.name, chosen.format, chosen.why, source.sha256)
    if not rows.docs and not rows.empty:
        raise InputError(f"no judgment in this file (read as {chosen.format}: {chosen.why}).", origin.file)
    return rows.qrels(display_name(path), origin, on_duplicate)


def write_run(run: Run, path: PathLike, format: str | None = None) -> tuple[str, ...]:
    """Write a run; the format is named or told by the suffix. Says what the format could not hold."""
    chosen = _for_writing(path, format, RUN_WRITERS, "trec")
    with writing(path) as out:
        RUN_WRITERS[chosen](run, out)
    return _run_losses(run, chosen)


def write_qrels(qrels: Qrels, path: PathLike, format: str | None = None) -> tuple[str, ...]:
    """Write judgments; the format is named or told by the suffix. Says what the format could not hold."""
    default = next((name for name, key in _OWN_COLUMNS.items() if key in qrels.extra), "trec")
    chosen = _for_writing(path, format, QRELS_WRITERS, default)
    with writing(path) as out:
        QRELS_WRITERS[chosen](qrels, out)
    return _qrels_losses(qrels, chosen)


_OWN_COLUMNS = {"sampled": "stratum", "prefs": "subgroup", "prels": "probability"}


def _run_losses(run: Run, format: str) -> tuple[str, ...]:
    losses = []
    empty = sum(1 for i in range(len(run.queries)) if run.starts[i] == run.starts[i + 1])
    if empty and format not in ("json", "rag"):
        losses.append(f"{empty:,} queries without any document are not in the output: {format} cannot hold them.")
    if format in ("msmarco", "rag"):
        losses.append(f"scores became ranks: {format} holds no scores.")
    if run.ranks is not None and format == "json":
        losses.append("the rank column is not in the output: json cannot hold it.")
    if run.tag and format != "trec":
        losses.append(f"the tag {shown(run.tag)} is not in the output: only trec holds it.")
    return tuple(losses)


def _qrels_losses(qrels: Qrels, format: str) -> tuple[str, ...]:
    losses = []
    empty = sum(1 for i in range(len(qrels.queries)) if qrels.starts[i] == qrels.starts[i + 1])
    if empty and format != "json":
        losses.append(f"{empty:,} queries without any judgment are not in the output: {format} cannot hold them.")
    if qrels.has_subtopics and format in ("json", "plain", "prels"):
        losses.append(f"subtopics are not in the output: {format} cannot hold them.")
    layout = _LAYOUTS.get(format)
    if layout is None:
        return tuple(losses)
    merged = len(qrels) - len(trec.rows_to_write(qrels, layout))
    if merged:
        losses.append(f"{merged:,} judgments are not in the output: a document judged twice keeps the highest grade.")
    lost = [key for key in qrels.extra if format == "json" or key not in trec.LAYOUTS[layout].split()]
    if lost:
        losses.append(f"{', '.join(lost)} not in the output: {format} cannot hold it.")
    return tuple(losses)


# the formats of fixed columns; JSON tells as much apart as the plain one
_LAYOUTS = {name: name for name in ("trec", "sampled", "prefs", "prels", "plain")} | {
    "diversity": "trec",
    "json": "plain",
}


@contextmanager
def _saying(chosen: Recognised) -> Iterator[None]:
    """Add to an error what the file was taken for: if that was wrong, so is the rest of the message."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{error.message} Read as {chosen.format}: {chosen.why}.", error.file, error.line) from None


def _chosen(format: str | None, formats: Mapping[str, str], option: str) -> Recognised | None:
    if format is None:
        return None
    if format not in formats:
        raise FormatError(f"unknown format {format!r} for {option}: expected one of {', '.join(formats)}.")
    return Recognised(format, AS_ASKED)


def _for_writing(path: PathLike, format: str | None, writers: Mapping[str, Any], default: str) -> str:
    if format is not None:
        if format not in writers:
            raise FormatError(f"cannot write the format {format!r}: expected one of {', '.join(writers)}.")
        return format
    return _SUFFIXES.get(os.path.splitext(without_compression(path))[1].lower(), default)
