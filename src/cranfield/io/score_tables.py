"""Scores of queries that were computed before: tables of run, measure, query and value, and trec_eval's output."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cranfield.base import Record, encode_id, format_id, join_names, pluralize
from cranfield.data import Origin
from cranfield.errors import DuplicateError, FormatError, InputError
from cranfield.io.files import Input, PathLike, display_name
from cranfield.io.parse_values import parse_decimal
from cranfield.io.rows import QUERY_COLUMNS, find_column, normalize_column
from cranfield.io.tabular import read_delimited, read_frame

RUN = ("run", "system", "run_id", "runid", "run_name", "name", "model", "tag")
MEASURE = ("measure", "metric")
VALUE = ("value", "score")
# as tables print what is missing
_ABSENT = {"", "-", "–", "nan", "na", "n/a", "none", "null"}
# the measures for which trec_eval prints a text, which may have blanks
_TEXTS = ("runid", "relstring")

Table = Mapping[str, Mapping[str, Mapping[str, float]]]
Row = tuple[str | None, str, str, str | float]


class ScoreRows(Record, eq=False):
    """Scores by run, measure and query; a run that the file does not name has the name of the file."""

    table: Table
    origin: Origin | None = None
    notes: tuple[str, ...] = ()
    is_named: bool = True  # whether the runs are named in the file


def read_scores(path: PathLike) -> ScoreRows:
    """Scores of queries from a file: what `cranfield eval -q` or `trec_eval -q` print, or a table with a header.

    The header names measure, query and value, in any order, and the run, which otherwise has the name of the file.
    Means (the query `all`) are left out, which the notes say.
    """
    with Input(path) as source:
        layout, why, rows = _rows(source)
        gathered = _Gathered(source.name)
        for line, row in rows:
            gathered.add(line, row)
        origin = Origin(source.name, layout, why, source.sha256)
    return gathered.finished(display_name(path), origin)


def as_scores(given: Any) -> ScoreRows:
    """Scores of queries from memory: {run: {measure: {query: value}}}, or a data frame with these as columns.

    >>> as_scores({"run": ["a"], "measure": ["AP"], "query": ["q1"], "value": [0.5]}).table
    {'a': {'AP': {'q1': 0.5}}}
    """
    nested = isinstance(given, Mapping) and all(isinstance(own, Mapping) for own in given.values())
    records = None if nested else read_frame(given)
    if records is None and not nested:
        raise InputError(
            f"found {type(given).__name__}, expected {{run: {{measure: {{query: value}}}}}} or a frame with the "
            "columns run, measure, query and value."
        )
    gathered = _Gathered(None)
    for line, row in enumerate(_nested_rows(given), 1) if records is None else _record_rows(records):
        gathered.add(line, row)
    return gathered.finished("scores", None)


class _Gathered:
    """Rows put together, and what was left out of them."""

    def __init__(self, file: str | None) -> None:
        self.file = file
        self.table: dict[str | None, dict[str, dict[str, float]]] = {}
        self.means = 0
        self.texts: dict[str, None] = {}
        self.absent = 0

    def add(self, line: int, row: Row) -> None:
        run, measure, query, token = row
        if query == "all" or query.startswith("all:"):
            self.means += 1
        elif measure.startswith(_TEXTS):
            self.texts[measure] = None
        else:
            value = self._value(line, measure, token)
            self._put(line, run, measure, query, value)

    def _value(self, line: int, measure: str, token: str | float) -> float:
        try:
            if not isinstance(token, str):
                value = float(token)
            elif token.strip().lower() in _ABSENT:
                value = math.nan
            else:
                value = parse_decimal(encode_id(token.strip()), f"the value of {measure}")
        except InputError as error:
            raise InputError(error.message, self.file, line) from None
        except (TypeError, ValueError):
            raise InputError(f"the value of {measure} is {token!r:.40}, expected a number.", self.file, line) from None
        if math.isinf(value):
            raise InputError(f"the value of {measure} is infinite.", self.file, line)
        self.absent += math.isnan(value)
        return value

    def _put(self, line: int, run: str | None, measure: str, query: str, value: float) -> None:
        own = self.table.setdefault(run, {}).setdefault(measure, {})
        known = own.setdefault(query, value)
        if known != value and not (math.isnan(known) and math.isnan(value)):
            who = "" if run is None else f" of {run}"
            message = f"{measure}{who} has two values for query {format_id(query)}, {known:g} and {value:g}."
            raise DuplicateError(message, self.file, line)

    def finished(self, name: str, origin: Origin | None) -> ScoreRows:
        if not self.table:
            what = f": only {pluralize(self.means, 'mean')}. Print every query (-q)" if self.means else ""
            raise InputError(f"there are no scores of queries{what}.", self.file)
        table = {name if run is None else run: own for run, own in self.table.items()}
        return ScoreRows(table, origin, tuple(self._notes()), is_named=None not in self.table)

    def _notes(self) -> Iterator[str]:
        where = f"{self.file}: " if self.file else ""
        if self.means:
            yield f"{where}{pluralize(self.means, 'mean')} (query all) left out; means are of the queries compared."
        if self.texts:
            yield f"{where}{', '.join(self.texts)} left out, being no number."
        if self.absent:
            yield f"{where}{pluralize(self.absent, 'value')} missing."


def _rows(source: Input) -> tuple[str, str, Iterable[tuple[int, Row]]]:
    """The layout of a file, how it was told, and its rows."""
    line, first = next(_content(source.head), (1, ""))
    if not first:
        raise InputError("the file is empty.", source.name)
    if first.startswith("{"):
        return "jsonl", "its first line is a JSON object", _json_rows(source)
    for delimiter, name in (("\t", "tsv"), (",", "csv")):
        names = [normalize_column(cell) for cell in next(csv.reader([first], delimiter=delimiter))]
        if find_column(names, MEASURE) and find_column(names, QUERY_COLUMNS) and find_column(names, VALUE):
            return name, f"line {line} names its columns", _record_rows(read_delimited(source, delimiter), source.name)
    if first.count("\t") == 3:
        return "eval", "four columns parted by tabs", _tabbed_rows(source)
    if len(first.split()) == 3 or first.startswith(_TEXTS):
        return "trec_eval", "three columns", _trec_eval_rows(source)
    raise FormatError(
        f"expected a header with run, measure, query and value, the output of 'cranfield eval -q --format tsv' or that "
        f"of 'trec_eval -q', found {first!r:.80}.",
        source.name,
        line,
    )


def _content(head: bytes) -> Iterator[tuple[int, str]]:
    """The first lines that say something."""
    for number, line in enumerate(head.split(b"\n"), 1):
        text = line.decode("utf-8", "surrogateescape").strip("\r")
        if text.strip() and not text.startswith("#"):
            yield number, text


def _lines(source: Input) -> Iterator[tuple[int, str]]:
    for number, line in source.lines():
        text = line.decode("utf-8", "surrogateescape")
        if text.strip() and not text.startswith("#"):
            yield number, text


def _tabbed_rows(source: Input) -> Iterator[tuple[int, Row]]:
    for number, line in _lines(source):
        cells = line.split("\t")
        if len(cells) != 4:
            message = f"expected 4 columns (run, measure, query, value), found {len(cells)}."
            raise InputError(message, source.name, number)
        yield number, (cells[0], cells[1].strip(), cells[2], cells[3])


def _trec_eval_rows(source: Input) -> Iterator[tuple[int, Row]]:
    for number, line in _lines(source):
        cells = line.split(None, 2)
        if len(cells) != 3 or (len(cells[2].split()) > 1 and not cells[0].startswith(_TEXTS)):
            message = f"expected 3 columns (measure, query, value), found {len(line.split())}."
            raise InputError(message, source.name, number)
        if cells[0].isdecimal():
            message = (
                f"expected trec_eval's order (measure, query, value), found the number {format_id(cells[0])} first. "
                "Name the columns in a first line, e.g. query<TAB>measure<TAB>value."
            )
            raise FormatError(message, source.name, number)
        yield number, (None, cells[0], cells[1], cells[2])


def _json_rows(source: Input) -> Iterator[tuple[int, Row]]:
    for number, line in _lines(source):
        try:
            record = json.loads(line)
        except ValueError:
            raise InputError("this line is not valid JSON.", source.name, number) from None
        if not isinstance(record, dict):
            raise InputError(f"expected a JSON object, found {line:.40}.", source.name, number)
        yield number, _row(record, source.name, number)


def _record_rows(
    records: Iterable[tuple[int, Mapping[str, Any]]], file: str | None = None
) -> Iterator[tuple[int, Row]]:
    for number, record in records:
        yield number, _row(record, file, number)


def _row(record: Mapping[str, Any], file: str | None, line: int) -> Row:
    """The run, if it is named, measure, query and value of a record."""
    names = {what: find_column(record, aliases) for what, aliases in _WANTED.items()}
    lacking = [what for what in ("measure", "query", "value") if names[what] is None]
    if lacking:
        found = join_names(map(str, record)) or "nothing"
        raise InputError(f"no {' and no '.join(lacking)}: found {found}.", file, line)
    run, measure, query, value = (None if name is None else record[name] for name in names.values())
    value = math.nan if value is None else value
    return None if run is None else str(run), str(measure).strip(), str(query), value


_WANTED = {"run": RUN, "measure": MEASURE, "query": QUERY_COLUMNS, "value": VALUE}


def _nested_rows(given: Mapping[Any, Mapping[Any, Any]]) -> Iterator[Row]:
    for run, measures in given.items():
        for measure, values in measures.items():
            if not isinstance(values, Mapping):
                raise InputError(
                    f"{run!r}: {measure!r} holds {values!r:.40}, expected {{run: {{measure: {{query: value}}}}}}."
                )
            for query, value in values.items():
                yield str(run), str(measure), str(query), value
