"""Runs and qrels from files and into files: choosing the format and handing over to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, BinaryIO

from cranfield.base import GRADE_WORDS, QRELS_FORMATS, RUN_FORMATS, OnDuplicate, core, format_id, pluralize
from cranfield.data import LazyQrels, Origin, Qrels, Run
from cranfield.errors import FormatError, InputError
from cranfield.io import trec
from cranfield.io.detect_format import AS_REQUESTED, DetectedFormat, detect_qrels_format, detect_run_format
from cranfield.io.files import Input, PathLike, display_name, open_output, strip_compression_suffix
from cranfield.io.parse_values import OnProblem, raise_problem
from cranfield.io.rows import QrelsRows, RunRows


def _later(family: str, name: str, **options: Any) -> Callable[..., Any]:
    """A reader or writer whose format is imported when it is used: most files are in TREC's."""

    def call(*args: Any) -> Any:
        return getattr(import_module(f"cranfield.io.{family}"), name)(*args, **options)

    return call


RUN_READERS: Mapping[str, Callable[[Input, OnProblem], RunRows]] = {
    "trec": trec.read_trec_run,
    "msmarco": trec.read_msmarco_run,
    "json": _later("json_rows", "read_json_run"),
    "jsonl": _later("json_rows", "read_jsonl_run"),
    "rag": _later("json_rows", "read_rag_run"),
    "csv": _later("tabular", "read_delimited_run", delimiter=","),
    "tsv": _later("tabular", "read_delimited_run", delimiter="\t"),
    "parquet": _later("tabular", "read_parquet_run"),
}
QRELS_READERS: Mapping[str, Callable[[Input, OnProblem, Mapping[str, float]], QrelsRows]] = {
    "trec": partial(trec.read_graded, layout="trec"),
    "diversity": partial(trec.read_graded, layout="trec"),
    "med": partial(trec.read_graded, layout="trec"),
    "sampled": partial(trec.read_graded, layout="sampled"),
    "prefs": partial(trec.read_graded, layout="prefs"),
    "prels": trec.read_prels,
    "pairs": trec.read_pairs,
    "plain": partial(trec.read_graded, layout="plain"),
    "cranfield": trec.read_cranfield_qrels,
    "cacm": trec.read_cacm_qrels,
    "cisi": trec.read_cacm_qrels,
    "letor": _later("letor", "read_letor_qrels"),
    "beir": _later("tabular", "read_delimited_qrels", delimiter="\t"),
    "json": _later("json_rows", "read_json_qrels"),
    "jsonl": _later("json_rows", "read_jsonl_qrels"),
    "rag": _later("json_rows", "read_rag_qrels"),
    "csv": _later("tabular", "read_delimited_qrels", delimiter=","),
    "tsv": _later("tabular", "read_delimited_qrels", delimiter="\t"),
    "parquet": _later("tabular", "read_parquet_qrels"),
}
RUN_WRITERS: Mapping[str, Callable[[Run, BinaryIO], None]] = {
    "trec": trec.write_trec_run,
    "msmarco": trec.write_msmarco_run,
    "json": _later("json_rows", "write_json_run"),
    "jsonl": _later("json_rows", "write_jsonl"),
    "rag": _later("json_rows", "write_rag_run"),
    "csv": _later("tabular", "write_delimited", delimiter=","),
    "tsv": _later("tabular", "write_delimited", delimiter="\t"),
    "parquet": _later("tabular", "write_parquet"),
}
QRELS_WRITERS: Mapping[str, Callable[[Qrels, BinaryIO], None]] = {
    "trec": partial(trec.write_qrels, layout="trec"),
    "diversity": partial(trec.write_qrels, layout="trec"),
    "med": partial(trec.write_qrels, layout="trec"),
    "sampled": partial(trec.write_qrels, layout="sampled"),
    "prefs": partial(trec.write_qrels, layout="prefs"),
    "prels": partial(trec.write_qrels, layout="prels"),
    "pairs": trec.write_pairs,
    "plain": partial(trec.write_qrels, layout="plain"),
    "cranfield": trec.write_cranfield_qrels,
    "cacm": trec.write_cacm_qrels,
    "cisi": trec.write_cacm_qrels,
    "letor": _later("letor", "write_letor_qrels"),
    "beir": _later("tabular", "write_delimited", delimiter="\t"),
    "json": _later("json_rows", "write_json_qrels"),
    "jsonl": _later("json_rows", "write_jsonl"),
    "rag": _later("json_rows", "write_rag_qrels"),
    "csv": _later("tabular", "write_delimited", delimiter=","),
    "tsv": _later("tabular", "write_delimited", delimiter="\t"),
    "parquet": _later("tabular", "write_parquet"),
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
    path: PathLike | Input, format: str | None = None, *, name: str | None = None, on_duplicate: OnDuplicate = "error"
) -> Run:
    """Read a run from a file in any format; `-` is standard input."""
    rows, origin = read_run_rows(path, format)
    return rows.run(name or display_name(path.path if isinstance(path, Input) else path), origin, on_duplicate)


def read_qrels(
    path: PathLike,
    format: str | None = None,
    *,
    grade_words: Mapping[str, float] = GRADE_WORDS,
    on_duplicate: OnDuplicate = "error",
    read_ahead: Callable[[], Any] | None = None,
) -> Qrels:
    """Read judgments from a file in any format; `-` is standard input.

    `read_ahead` returns what the compiled core has read of the file already, or None.
    """
    with Input(path) as source:
        if core is not None and format in (None, "trec") and _looks_plain(source.head):
            judgments = (read_ahead and read_ahead()) or core.read_judgments(source.read())
            if judgments is not None and judgments.columns()[3] in _ITERATIONS:
                chosen = DetectedFormat("trec", AS_REQUESTED if format else "four columns")
                return LazyQrels.from_core(judgments, display_name(path), _origin(source, chosen))
            source = source.again()
        rows, origin = read_qrels_rows(source, format, grade_words)
    return rows.qrels(display_name(path), origin, on_duplicate)


# with one of these all the way down, four columns can be nothing but TREC qrels
_ITERATIONS = ("0", "Q0")


def _looks_plain(head: bytes) -> bool:
    """Whether the second column begins as that of TREC qrels does."""
    if head.lstrip().startswith((b"{", b"[")):  # which would be taken for JSON
        return False
    first = head.split(b"\n", 1)[0].split()
    return len(first) == 4 and first[1].decode("latin-1") in _ITERATIONS


def find_run_format(source: Input, format: str | None) -> DetectedFormat:
    """The format a run is in: the one asked for, or the one it looks like."""
    return _chosen(format, RUN_FORMATS, "--run-format") or detect_run_format(source.head, source.name)


def find_qrels_format(source: Input, format: str | None) -> DetectedFormat:
    """The format judgments are in: the one asked for, or the one they look like."""
    return _chosen(format, QRELS_FORMATS, "--qrels-format") or detect_qrels_format(source.head, source.name)


def _origin(source: Input, chosen: DetectedFormat) -> Origin:
    return Origin(source.name, chosen.format, chosen.why, source.sha256)


def read_run_rows(path: PathLike | Input, format: str | None = None) -> tuple[RunRows, Origin]:
    """The rows of a run as they stand in the file, with the names of what a run has no place for."""
    with _opened(path) as source:
        chosen = find_run_format(source, format)
        with _saying(chosen):
            rows = RUN_READERS[chosen.format](source, raise_problem)
        origin = _origin(source, chosen)
    if not rows.docs and not rows.empty:
        raise InputError(f"no document in this run (read as {chosen.format}: {chosen.why}).", origin.file)
    return rows, origin


def read_qrels_rows(
    path: PathLike | Input, format: str | None = None, grade_words: Mapping[str, float] = GRADE_WORDS
) -> tuple[QrelsRows, Origin]:
    """The rows of judgments as they stand in the file, with the names of what qrels have no place for."""
    with _opened(path) as source:
        chosen = find_qrels_format(source, format)
        words = {word.lower(): grade for word, grade in grade_words.items()}
        with _saying(chosen):
            rows = QRELS_READERS[chosen.format](source, raise_problem, words)
        origin = _origin(source, chosen)
    if not rows.docs and not rows.empty:
        raise InputError(f"no judgment in this file (read as {chosen.format}: {chosen.why}).", origin.file)
    return rows, origin


def write_run(run: Run, path: PathLike, format: str | None = None) -> tuple[str, ...]:
    """Write a run; the format is named or told by the suffix. Says what the format could not hold."""
    chosen = choose_run_format(path, format)
    with open_output(path) as out:
        RUN_WRITERS[chosen](run, out)
    return _run_losses(run, chosen)


def write_qrels(qrels: Qrels, path: PathLike, format: str | None = None) -> tuple[str, ...]:
    """Write judgments; the format is named or told by the suffix. Says what the format could not hold."""
    chosen = choose_qrels_format(qrels, path, format)
    with open_output(path) as out:
        QRELS_WRITERS[chosen](qrels, out)
    return _qrels_losses(qrels, chosen)


def choose_run_format(path: PathLike, format: str | None = None) -> str:
    """The format in which a run is written to a file: the one named, or that of the suffix."""
    return _for_writing(path, format, RUN_WRITERS, "trec")


def choose_qrels_format(qrels: Qrels, path: PathLike, format: str | None = None) -> str:
    """The format in which judgments are written to a file: the one named, or that of the suffix or their columns."""
    default = next((name for name, key in _OWN_COLUMNS.items() if key in qrels.extra), "trec")
    return _for_writing(path, format, QRELS_WRITERS, default)


_OWN_COLUMNS = {"sampled": "stratum", "prefs": "subgroup", "prels": "probability"}


def _run_losses(run: Run, format: str) -> tuple[str, ...]:
    losses = []
    empty = sum(1 for i in range(len(run.queries)) if run.starts[i] == run.starts[i + 1])
    if empty and format not in ("json", "rag"):
        losses.append(_lost(f"{pluralize(empty, 'query')} without any document", format))
    if format in ("msmarco", "rag"):
        losses.append(f"scores became ranks: {format} holds no scores.")
    if run.ranks is not None and format == "json":
        losses.append("the rank column is not in the output: json cannot hold it.")
    if run.tag and format != "trec":
        losses.append(f"the tag {format_id(run.tag)} is not in the output: only trec holds it.")
    return tuple(losses)


def _qrels_losses(qrels: Qrels, format: str) -> tuple[str, ...]:
    losses = []
    empty = sum(1 for i in range(len(qrels.queries)) if qrels.starts[i] == qrels.starts[i + 1])
    if empty and format not in ("json", "rag"):
        losses.append(_lost(f"{pluralize(empty, 'query')} without any judgment", format))
    if format == "pairs" and any(sorted(qrels.grades[group]) != [0, 1] for group in trec.group_preferences(qrels)):
        losses.append("grades became preferences of one document to another: pairs holds nothing else.")
    layout = _LAYOUTS.get(format)
    if layout is None:
        return tuple(losses)
    kept = trec.select_rows(qrels, layout)
    columns = trec.LAYOUTS[layout].split()
    if qrels.has_subtopics and {"subtopic", "iter", "group"}.isdisjoint(columns):
        losses.append(_lost("subtopics", format))
    if len(kept) < len(qrels):
        lost = pluralize(len(qrels) - len(kept), "judgment")
        losses.append(f"{lost} not in the output: a document judged twice keeps the highest grade.")
    if layout == "cacm":
        losses.extend(_lost_but_relevant_pairs(qrels, kept, format))
    extra = [key for key in qrels.extra if key not in columns]
    if extra:
        losses.append(_lost(", ".join(extra), format))
    return tuple(losses)


def _lost_but_relevant_pairs(qrels: Qrels, rows: list[int], format: str) -> Iterator[str]:
    """What becomes of grades and ids in a list of relevant pairs."""
    grades = qrels.grades[rows]
    if irrelevant := int((grades < 1).sum()):
        left_out = pluralize(irrelevant, "judgment")
        yield f"{left_out} below grade 1 not in the output: {format} lists relevant pairs only."
    if higher := int((grades > 1).sum()):
        yield f"{pluralize(higher, 'grade')} above 1 became 1: {format} lists relevant pairs only."
    if any(map(trec.is_padded, (*qrels.queries, *qrels.docs[rows]))):
        yield f"zeros at the beginning of ids will not be read back: {format} pads ids with them."


def _lost(what: str, format: str) -> str:
    return f"{what} not in the output: {format} cannot hold it."


# the formats of fixed columns; JSON and LETOR tell as much apart as the plain one
_LAYOUTS = {name: name for name in ("trec", "sampled", "prefs", "prels", "plain", "cranfield", "cacm")} | {
    "diversity": "trec",
    "med": "trec",
    "cisi": "cacm",
    "letor": "plain",
    "json": "plain",
    "rag": "plain",
}


def _opened(path: PathLike | Input) -> Input:
    return path if isinstance(path, Input) else Input(path)


@contextmanager
def _saying(chosen: DetectedFormat) -> Iterator[None]:
    """Add to an error what the file was taken for: if that was wrong, so is the rest of the message."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{error.message} Read as {chosen.format}: {chosen.why}.", error.file, error.line) from None


def _chosen(format: str | None, formats: Mapping[str, str], option: str) -> DetectedFormat | None:
    if format is None:
        return None
    if format not in formats:
        raise FormatError(f"unknown format {format!r} for {option}: expected one of {', '.join(formats)}.")
    return DetectedFormat(format, AS_REQUESTED)


def _for_writing(path: PathLike, format: str | None, writers: Mapping[str, Any], default: str) -> str:
    if format is not None:
        if format not in writers:
            raise FormatError(f"cannot write the format {format!r}: expected one of {', '.join(writers)}.")
        return format
    return _SUFFIXES.get(os.path.splitext(strip_compression_suffix(path))[1].lower(), default)
