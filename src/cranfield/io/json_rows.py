"""JSON: `{query: {doc: value}}`, arrays or lines of records, and RAG-style lines of id lists."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from typing import Any, BinaryIO, TypeVar

from cranfield.base import encode_id, format_id, replace
from cranfield.data import Qrels, Run
from cranfield.errors import DuplicateError, InputError
from cranfield.io.files import Input
from cranfield.io.parse_values import OnProblem, parse_grade, parse_id, parse_number
from cranfield.io.rows import (
    DOC_COLUMNS,
    GRADE_COLUMNS,
    METHOD,
    PROBABILITY,
    QUERY_COLUMNS,
    RANK_COLUMNS,
    RELEVANT,
    RETRIEVED,
    SCORE_COLUMNS,
    STRATUM,
    SUBGROUP,
    SUBTOPIC,
    Note,
    QrelsRows,
    RunRows,
    find_column,
    get_required,
    normalize_column,
    scores_from_ranks,
)
from cranfield.io.trec import descending_key, format_number

T = TypeVar("T")
Records = Iterator[tuple[int, Mapping[str, Any]]]
_EXTRA = {"stratum": STRATUM, "subgroup": SUBGROUP, "method": METHOD, "probability": PROBABILITY}
_USED_IN_RUNS = (QUERY_COLUMNS, DOC_COLUMNS, SCORE_COLUMNS, RANK_COLUMNS)
_USED_IN_QRELS = (QUERY_COLUMNS, DOC_COLUMNS, GRADE_COLUMNS, SUBTOPIC, *_EXTRA.values())
_MOST = 10**18  # ranks are kept as 64-bit integers


class JsonObject(list[tuple[str, Any]]):
    """A JSON object as it stood in the file, repeated keys included."""

    def record(self) -> dict[str, Any]:
        fields = dict(self)
        if len(fields) < len(self):
            keys = [key for key, _ in self]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"the key {format_id(twice)} occurs twice in one record.")
        return fields


def parse_json(data: bytes | str) -> Any:
    """JSON with objects as Pairs; what is not plain JSON is an InputError that says where."""
    try:
        content = data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data
        return json.loads(content, object_pairs_hook=JsonObject)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}, column {error.colno}.", None, error.lineno) from None
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"not JSON that can be read: {why:.120}.") from None


def read_json_run(source: Input, problem: OnProblem) -> RunRows:
    """`{query: {doc: score}}`, or an array of records."""
    text = source.read().decode("utf-8", "surrogateescape")
    content, keys = _parsed(text, source), _Keys(text)
    rows = RunRows(ranks=None)
    if not isinstance(content, JsonObject):
        return drop_note_lines(
            read_run_records(_array(content, source), source.name, report_by_record(problem), "record")
        )
    for query, docs in _entries(content, source, problem):
        rows.empty.append(query)
        for doc, score in docs:
            read = _attempt(partial(_scored_pair, query, doc, score), source, partial(keys.line, query, doc), problem)
            if read:
                rows.add(query, read[0], read[1], len(rows.docs) + 1)
    return rows


def read_json_qrels(source: Input, problem: OnProblem, words: Mapping[str, float]) -> QrelsRows:
    """`{query: {doc: grade}}`, or an array of records."""
    text = source.read().decode("utf-8", "surrogateescape")
    content, keys = _parsed(text, source), _Keys(text)
    rows = QrelsRows()
    if not isinstance(content, JsonObject):
        return read_qrels_records(_array(content, source), source.name, report_by_record(problem), words, "record")
    for query, docs in _entries(content, source, problem):
        rows.empty.append(query)
        for doc, value in docs:
            graded = partial(_graded_pair, query, doc, value, words)
            read = _attempt(graded, source, partial(keys.line, query, doc), problem)
            if read:
                rows.add(query, read[0], read[1], len(rows.docs) + 1)
    return rows


def read_jsonl_run(source: Input, problem: OnProblem) -> RunRows:
    """One record a line with query, doc and score (or rank)."""
    return read_run_records(_records(source, problem), source.name, problem)


def read_jsonl_qrels(source: Input, problem: OnProblem, words: Mapping[str, float]) -> QrelsRows:
    """One record a line with query, doc and grade."""
    return read_qrels_records(_records(source, problem), source.name, problem, words)


def read_rag_run(source: Input, problem: OnProblem) -> RunRows:
    """One line a query with the ids retrieved, best first; the order becomes a score."""
    return _retrieved_records(_records(source, problem), source.name, problem, "line")


def read_rag_qrels(source: Input, problem: OnProblem, words: Mapping[str, float]) -> QrelsRows:
    """The `relevant_ids` of RAG-style lines: a list (grade 1) or `{doc: grade}`."""
    return _relevant_records(_records(source, problem), source.name, problem, words, "line")


def _retrieved_records(records: Records, file: str | None, problem: OnProblem, unit: str) -> RunRows:
    rows, seen = RunRows(), dict[str, int]()
    for line, record in records:
        read = _once(partial(_retrieved, record), seen, file, line, unit, problem)
        if read is None:
            continue
        query, docs = read
        rows.left_out |= _unused(tuple(record), (QUERY_COLUMNS, RETRIEVED))
        rows.empty.append(query)
        scores = scores_from_ranks(range(1, len(docs) + 1))
        for rank, ((doc, own), score) in enumerate(zip(docs, scores, strict=True), 1):
            rows.add(query, doc, score if own is None else own, line, rank)
    return rows


def _relevant_records(
    records: Records, file: str | None, problem: OnProblem, words: Mapping[str, float], unit: str
) -> QrelsRows:
    rows, seen = QrelsRows(), dict[str, int]()
    for line, record in records:
        read = _once(partial(_relevant, record, words), seen, file, line, unit, problem)
        if read is None:
            continue
        query, docs = read
        rows.left_out |= _unused(tuple(record), (QUERY_COLUMNS, RELEVANT))
        rows.empty.append(query)
        for doc, value in docs:
            rows.add(query, doc, value, line)
    return rows


def _once(
    read: Callable[[], tuple[str, T]],
    seen: dict[str, int],
    file: str | None,
    line: int,
    unit: str,
    problem: OnProblem,
) -> tuple[str, T] | None:
    """What a RAG-style record holds; None after reporting an error, or a query that was there before."""
    try:
        query, docs = read()
        first = seen.setdefault(query, line)
        if first != line:
            raise DuplicateError(f"query {format_id(query):.80} occurs twice, first in {unit} {first}. Merge the two.")
        return query, docs
    except InputError as error:
        problem(type(error)(error.message, file, line))
        return None


def read_run_records(records: Records, file: str | None, problem: OnProblem, unit: str = "line") -> RunRows:
    """Records with query, doc and score; where there is no score, the rank becomes one. Or RAG-style records."""
    first, records = _peeked(records)
    if find_column(first, RETRIEVED) is not None and find_column(first, DOC_COLUMNS) is None:
        return _retrieved_records(records, file, problem, unit)
    rows, ranks = RunRows(), []
    for line, record in records:
        try:
            ranked = find_column(record, SCORE_COLUMNS) is None
            query = parse_id(get_required(record, QUERY_COLUMNS, "query"), "query")
            doc = parse_id(get_required(record, DOC_COLUMNS, "document"), "document")
            rank = _required_rank(record) if ranked else _own_rank(record)
            score = 0.0 if ranked else parse_number(get_required(record, SCORE_COLUMNS, "score"), "score")
        except InputError as error:
            problem(InputError(error.message, file, line))
            continue
        ranks.append(rank if ranked else None)
        rows.left_out |= _unused(tuple(record), _USED_IN_RUNS)
        name = find_column(record, RANK_COLUMNS)
        if rank is None and rows.ranks is not None and name is not None:
            rows.odd_rank = line, str(record[name])
            message = f"the rank column is not used: query {format_id(query)}, document {format_id(doc)} has none."
            rows.notes.append(Note(message, line))
        rows.add(query, doc, score, line, rank)
    by_rank = [rank for rank in ranks if rank is not None]
    if by_rank and len(by_rank) < len(ranks):
        problem(InputError("some records have a score and some only a rank: scores cannot be compared.", file))
    elif by_rank:
        rows.scores = scores_from_ranks(by_rank)
    return rows


def read_qrels_records(
    records: Records,
    file: str | None,
    problem: OnProblem,
    words: Mapping[str, float],
    unit: str = "line",
) -> QrelsRows:
    """Records with query, doc and grade, and a subtopic if they have one. Or RAG-style records."""
    first, records = _peeked(records)
    if find_column(first, RELEVANT) is not None and find_column(first, DOC_COLUMNS) is None:
        return _relevant_records(records, file, problem, words, unit)
    rows = QrelsRows()
    for line, record in records:
        try:
            query = parse_id(get_required(record, QUERY_COLUMNS, "query"), "query")
            doc = parse_id(get_required(record, DOC_COLUMNS, "document"), "document")
            value = parse_grade(_grade(record), words)
            subtopic, extra = find_column(record, SUBTOPIC), _extra(record)
            if rows.docs and extra.keys() != rows.extra.keys():
                raise InputError(f"some records have {', '.join({**extra, **rows.extra})} and some do not.")
            rows.add(query, doc, value, line, "0" if subtopic is None else _subtopic(record[subtopic]), **extra)
            rows.left_out |= _unused(tuple(record), _USED_IN_QRELS)
        except InputError as error:
            problem(InputError(error.message, file, line))
    return rows


def name_pair(query: str, doc: str, error: InputError) -> InputError:
    """The error with query and document named, where there is no line to name."""
    return InputError(f"query {format_id(query):.80}, document {format_id(doc):.80}: {error.message}")


def report_by_record(problem: OnProblem) -> OnProblem:
    """For files without lines: the number of a problem is that of a record."""

    def report(error: InputError) -> None:
        where = "" if error.line is None else f"record {error.line:,}: "
        problem(type(error)(f"{where}{error.message}", error.file))

    return report


def drop_note_lines(rows: RunRows) -> RunRows:
    """The rows, with notes that name no line: what was counted were records."""
    rows.notes = [replace(note, line=None) for note in rows.notes]
    return rows


def write_json_run(run: Run, out: BinaryIO) -> None:
    _write_json(run.to_dict(), out)


def write_json_qrels(qrels: Qrels, out: BinaryIO) -> None:
    plain = {q: {d: _short(g) for d, g in docs.items()} for q, docs in qrels.to_dict().items()}
    _write_json(plain, out)


def write_jsonl(rows: Run | Qrels, out: BinaryIO) -> None:
    columns = rows.columns()
    if "grade" in columns:
        columns["grade"] = [_short(g) for g in columns["grade"]]
    for values in zip(*columns.values(), strict=True):
        _write_json(dict(zip(columns, values, strict=True)), out)


def write_rag_run(run: Run, out: BinaryIO) -> None:
    """One line a query, ids best first."""
    for i, query in enumerate(run.queries):
        rows = run.rows_of(i)
        scores, docs = run.scores[rows].tolist(), run.docs[rows].tolist()
        # ties as trec_eval breaks them, since the order is all that is kept
        order = sorted(range(len(docs)), key=lambda j: (-scores[j], descending_key(docs[j])))
        _write_json({"query_id": query, "retrieved_ids": [docs[j] for j in order]}, out)


def write_rag_qrels(qrels: Qrels, out: BinaryIO) -> None:
    """One line a query, the judged ids with their grades."""
    for query, docs in qrels.to_dict().items():
        _write_json({"query_id": query, "relevant_ids": {doc: _short(grade) for doc, grade in docs.items()}}, out)


def _write_json(value: Any, out: BinaryIO) -> None:
    # bytes that are not UTF-8 are written as they were read, so that ids stay exact
    out.write(encode_id(json.dumps(value, ensure_ascii=False)) + b"\n")


def _short(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _records(source: Input, problem: OnProblem) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, content in source.lines():
        if not content.strip():
            continue
        record = _attempt(partial(_parsed_record, content), source, line, problem)
        if record is not None:
            yield line, record


def _array(content: Any, source: Input) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not isinstance(content, list):
        raise InputError("expected {query: {doc: value}} or an array of records.", source.name)
    for index, entry in enumerate(content, 1):
        try:
            yield index, _record(entry)
        except InputError as error:
            raise InputError(f"record {index:,}: {error.message}", source.name) from None


def _scored_pair(query: str, doc: str, score: Any) -> tuple[str, float]:
    try:
        return parse_id(doc, "document"), parse_number(score, "score")
    except InputError as error:
        raise name_pair(query, doc, error) from None


def _graded_pair(query: str, doc: str, grade: Any, words: Mapping[str, float]) -> tuple[str, float]:
    try:
        return parse_id(doc, "document"), parse_grade(grade, words)
    except InputError as error:
        raise name_pair(query, doc, error) from None


def _parsed_record(content: bytes) -> Mapping[str, Any]:
    return _record(parse_json(content))


def _record(entry: Any) -> Mapping[str, Any]:
    if not isinstance(entry, JsonObject):
        raise InputError(f"expected a JSON object, found {type(entry).__name__}.")
    return entry.record()


def _entries(content: JsonObject, source: Input, problem: OnProblem) -> Iterator[tuple[str, JsonObject]]:
    seen = set[str]()
    for key, docs in content:
        query = _attempt(partial(parse_id, key, "query"), source, None, problem)
        if query is None:
            continue
        if query in seen:
            problem(DuplicateError(f"the key {format_id(query)} occurs twice. Merge the two.", source.name))
            continue
        seen.add(query)
        if isinstance(docs, JsonObject):
            yield query, docs
        else:
            found = type(docs).__name__
            problem(InputError(f"query {format_id(query)}: expected {{doc: value}}, found {found}.", source.name))


def _parsed(text: str, source: Input) -> Any:
    try:
        return parse_json(text)
    except InputError as error:
        raise InputError(error.message, source.name, error.line) from None


class _Keys:
    """Where keys stand in a JSON text. They are asked for in order, so that the text is gone through once."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line, self._query = text, 0, 1, ""

    def line(self, query: str, doc: str) -> int | None:
        """The line of a document's value; None, from then on, if a key is not spelled as one would."""
        if query != self._query and self._found(query, r"\{"):
            self._query = query
        return self._line if query == self._query and self._found(doc, "") else None

    def _found(self, key: str, before: str) -> bool:
        spellings = {json.dumps(key, ensure_ascii=ascii_only) for ascii_only in (True, False)}
        pattern = f"(?:{'|'.join(map(re.escape, spellings))})\\s*:\\s*{before}"
        found = re.compile(pattern).search(self._text, self._at)
        end = found.end() if found else len(self._text)
        self._line += self._text.count("\n", self._at, end)
        self._at = end
        return found is not None


def _attempt(
    read: Callable[[], T], source: Input, line: int | None | Callable[[], int | None], problem: OnProblem
) -> T | None:
    """What `read` gives, or None after reporting its error with file and line, which may be looked for only then."""
    try:
        return read()
    except InputError as error:
        problem(InputError(error.message, source.name, line() if callable(line) else line))
        return None


def _peeked(records: Records) -> tuple[Mapping[str, Any], Records]:
    """The first record, and all of them."""
    first = next(records, None)
    return ({}, records) if first is None else (first[1], chain([first], records))


@lru_cache(maxsize=1024)  # records of a file share their names
def _unused(names: tuple[str, ...], used: tuple[tuple[str, ...], ...]) -> dict[str, None]:
    """The names that stand for nothing that is used."""
    taken = {find_column(names, aliases) for aliases in used}
    return {name: None for name in names if name not in taken}


def _retrieved(record: Mapping[str, Any]) -> tuple[str, list[tuple[str, float | None]]]:
    query = parse_id(get_required(record, QUERY_COLUMNS, "query"), "query")
    entries = _plain(get_required(record, RETRIEVED, "list of retrieved ids"))
    if isinstance(entries, JsonObject):
        return query, [(parse_id(doc, "document"), parse_number(score, "score")) for doc, score in entries]
    if not isinstance(entries, list):
        raise InputError(f"query {format_id(query)}: expected a list of retrieved ids.")
    docs = [_scored(_plain(entry)) for entry in entries]
    if len({score is None for _, score in docs}) > 1:
        raise InputError(f"query {format_id(query)}: some retrieved documents have a score and some have none.")
    return query, docs


def _scored(entry: Any) -> tuple[str, float | None]:
    """A retrieved document: an id, or an object with id and maybe score."""
    if not isinstance(entry, JsonObject):
        return parse_id(entry, "document"), None
    record = entry.record()
    score = find_column(record, SCORE_COLUMNS)
    doc = parse_id(get_required(record, (*DOC_COLUMNS, "id", "_id"), "document"), "document")
    return doc, None if score is None else parse_number(record[score], "score")


def _plain(entries: Any) -> Any:
    """A list or an object as JSON has it, from whatever stands for one in memory."""
    if isinstance(entries, Mapping):
        return JsonObject(entries.items())
    if isinstance(entries, tuple | set):
        return list(entries)
    return entries.tolist() if hasattr(entries, "tolist") else entries


def _relevant(record: Mapping[str, Any], words: Mapping[str, float]) -> tuple[str, list[tuple[str, float]]]:
    query = parse_id(get_required(record, QUERY_COLUMNS, "query"), "query")
    entries = _plain(get_required(record, RELEVANT, "list of relevant ids"))
    if isinstance(entries, JsonObject):
        return query, [(parse_id(doc, "document"), parse_grade(value, words)) for doc, value in entries]
    if not isinstance(entries, list):
        raise InputError(f"query {format_id(query)}: expected a list of relevant ids.")
    return query, [(parse_id(doc, "document"), 1.0) for doc in entries]


def _required_rank(record: Mapping[str, Any]) -> int:
    value = get_required(record, RANK_COLUMNS, "score or rank")
    rank = parse_number(value, "rank")
    if not (rank.is_integer() and 0 <= rank < _MOST):
        raise InputError(f"rank {value!r:.40} is not a whole number from 0.")
    return int(rank)


def _own_rank(record: Mapping[str, Any]) -> int | None:
    """The rank beside a score, used only on request, so that an unusable one is no error."""
    name = find_column(record, RANK_COLUMNS)
    try:
        rank = 0.5 if name is None else parse_number(record[name], "rank")
    except InputError:
        return None
    return int(rank) if rank.is_integer() and abs(rank) < _MOST else None


def _extra(record: Mapping[str, Any]) -> dict[str, str]:
    """The columns that only sampled judgments and preferences have."""
    names = {key: find_column(record, aliases) for key, aliases in _EXTRA.items()}
    if names["probability"] is None:
        names["method"] = None  # by itself it is somebody else's column
    return {key: _value(record[name]) for key, name in names.items() if name is not None}


def _value(value: Any) -> str:
    return value if isinstance(value, str) else format_number(parse_number(value, "value")).decode()


def _grade(record: Mapping[str, Any]) -> Any:
    """BEIR calls the grade a score; beside a rank it is one."""
    name, rank = find_column(record, GRADE_COLUMNS), find_column(record, RANK_COLUMNS)
    if name is not None and normalize_column(name) == "score" and rank is not None:
        raise InputError(f"{name!r} beside {rank!r} looks like a run, expected qrels with a grade.")
    return get_required(record, GRADE_COLUMNS, "grade")


def _subtopic(value: Any) -> str:
    return "0" if value is None or value == "" else parse_id(value, "subtopic")
