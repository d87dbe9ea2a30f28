"""The nouns of a test collection: Run, Qrels, Topic, Document. Frozen, checked once when made.

Ids are `str`, see `ids.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, get_args

import numpy as np

from cranfield.base import (
    OnDuplicate,
    Record,
    core,
    field_names,
    format_id,
    join_names,
    pluralize,
    replace,
    sort_judgments,
    sort_naturally,
)
from cranfield.errors import DuplicateError, InputError, MissingExtra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Strings = NDArray[np.object_]
else:  # numpy.typing takes as long to import as a small evaluation
    Bools = Floats = Ints = Strings = np.ndarray
E = TypeVar("E", bound=InputError)
A = TypeVar("A", bound="NDArray[Any] | None")


class Origin(Record):
    """Where a value came from: the file, its digest, and the format it was read as, with the reason."""

    file: str
    format: str
    why: str
    digest: str | Callable[[], str]

    @property
    def sha256(self) -> str:
        """The digest of the file, computed when it is first used."""
        if not isinstance(self.digest, str):
            object.__setattr__(self, "digest", self.digest())
        assert isinstance(self.digest, str)
        return self.digest

    def as_record(self) -> dict[str, str | None]:
        """What the JSON output of a command says about an input."""
        return {"file": self.file, "format": self.format, "why": self.why, "sha256": self.sha256 or None}

    @property
    def has_lines(self) -> bool:
        """Whether its rows have line numbers; those of JSON and Parquet have record numbers."""
        return self.format not in ("json", "parquet")


class _Grouped:
    """Rows grouped by query: those of query i are `starts[i]:starts[i+1]`."""

    name: str
    queries: tuple[str, ...]
    starts: Ints
    docs: Strings
    row_columns: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        for name in ("starts", *self.row_columns):
            object.__setattr__(self, name, _read_only(getattr(self, name)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # pickled arrays come back open to writing
        self.__dict__.update(state)
        self.__post_init__()

    def __len__(self) -> int:
        return int(self.starts[-1])

    def of(self, query: str) -> Self:
        """The part that concerns one query."""
        if query not in self.queries:
            raise InputError(
                f"there is no query {format_id(query)} in {self.name!r}: it has {join_names(self.queries, 3)}."
            )
        rows = self.rows_of(self.queries.index(query))
        parts = {name: getattr(self, name)[rows] for name in self.row_columns if getattr(self, name) is not None}
        if isinstance(self, Qrels):
            parts["extra"] = {name: column[rows] for name, column in self.extra.items()}
        one: Self = replace(self, queries=(query,), starts=np.array([0, rows.stop - rows.start]), **parts)  # type: ignore[type-var]
        return one

    def rows_of(self, i: int) -> slice:
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def row_queries(self) -> list[str]:
        """The query of every row."""
        return [q for q, n in zip(self.queries, np.diff(self.starts).tolist(), strict=True) for _ in range(n)]

    def columns(self) -> dict[str, Any]:
        """The rows as plain columns."""
        raise AssertionError("each kind of rows names its columns")

    def to_arrow(self) -> Any:
        """The rows as a pyarrow Table."""
        return _to_arrow(self.columns())

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return _to_pandas(self.columns())

    def to_polars(self) -> Any:
        """The rows as a polars DataFrame."""
        return _to_polars(self.columns())

    def _repr_html_(self) -> str:
        return _html_table(repr(self), self.columns())


class Run(_Grouped, Record, eq=False):
    """What a system retrieved: for each query the documents with their scores.

    Rows are grouped by query and keep the input's order within it.

    >>> run = Run.from_rows(["q1", "q1", "q2"], ["a", "b", "a"], [2.0, 1.0, 3.0])
    >>> run.to_dict()
    {'q1': {'a': 2.0, 'b': 1.0}, 'q2': {'a': 3.0}}
    """

    name: str
    queries: tuple[str, ...]
    starts: Ints
    docs: Strings
    scores: Floats
    ranks: Ints | None = None  # the rank column, where the input has a usable one
    lines: Ints | None = None  # the line or record each row came from
    tag: str | None = None
    origin: Origin | None = None
    notes: tuple[str, ...] = ()

    row_columns: ClassVar = ("docs", "scores", "ranks", "lines")

    @classmethod
    def from_rows(
        cls,
        queries: Sequence[str] | Strings,
        docs: Sequence[str] | Strings,
        scores: Sequence[float] | Floats,
        *,
        ranks: Ints | None = None,
        lines: Ints | None = None,
        name: str = "run",
        tag: str | None = None,
        origin: Origin | None = None,
        notes: tuple[str, ...] = (),
        empty_queries: Iterable[str] = (),
        on_duplicate: OnDuplicate = "error",
    ) -> Run:
        """Group rows by query and resolve documents that occur twice."""
        _check_lengths(len(queries), docs=docs, scores=scores, ranks=ranks, lines=lines)
        ids, starts, order = _group(queries, empty_queries)
        docs_column = _strings(docs)[order]
        score_column = np.asarray(scores, dtype=np.float64)[order]
        line_column = (np.arange(1, len(order) + 1) if lines is None else lines)[order]
        rows = Rows(ids, starts, docs_column, line_column, origin)
        rows.check_finite(score_column, "score")
        keep, note = rows.resolve_duplicates(score_column, on_duplicate, "retrieved")
        return cls(
            name=name,
            queries=ids,
            starts=_restart(starts, keep),
            docs=docs_column[keep],
            scores=score_column[keep],
            ranks=None if ranks is None else ranks[order][keep],
            lines=line_column[keep],
            tag=tag,
            origin=origin,
            notes=notes + note,
        )

    def __repr__(self) -> str:
        return f"Run({self.name!r}: {pluralize(len(self.queries), 'query')}, {pluralize(len(self), 'document')})"

    @cached_property
    def position(self) -> dict[str, int]:
        """The position of each query in `queries`."""
        return {query: i for i, query in enumerate(self.queries)}

    def renamed(self, name: str) -> Run:
        return replace(self, name=name)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """{query: {doc: score}}"""
        return _nested(self, self.scores)

    def columns(self) -> dict[str, Any]:
        """The rows as plain columns, the rank column only where there is one."""
        table: dict[str, Any] = {
            "query": self.row_queries(),
            "doc": self.docs.tolist(),
            "score": self.scores.tolist(),
        }
        return table if self.ranks is None else table | {"rank": self.ranks.tolist()}


class Qrels(_Grouped, Record, eq=False):
    """Judgments: for each query the judged documents with their grades.

    `subtopics` is the second column of a qrels file (0, a subtopic, or a judgment group); `extra` holds the
    columns that only some formats have. Queries are kept in natural order (2 before 10).

    >>> qrels = Qrels.from_rows(["q1", "q1"], ["a", "b"], [1, 0])
    >>> qrels.to_dict()
    {'q1': {'a': 1.0, 'b': 0.0}}
    """

    queries: tuple[str, ...]
    starts: Ints
    docs: Strings
    grades: Floats
    subtopics: Strings
    lines: Ints
    extra: Mapping[str, Strings] = field(default_factory=dict)  # strata, subgroups, methods, probabilities
    name: str = "qrels"
    origin: Origin | None = None
    notes: tuple[str, ...] = ()

    row_columns: ClassVar = ("docs", "grades", "subtopics", "lines")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "extra", {key: _read_only(column) for key, column in self.extra.items()})

    @classmethod
    def from_rows(
        cls,
        queries: Sequence[str] | Strings,
        docs: Sequence[str] | Strings,
        grades: Sequence[float] | Floats,
        *,
        subtopics: Sequence[str] | Strings | None = None,
        extra: Mapping[str, Sequence[str] | Strings] | None = None,
        lines: Ints | None = None,
        name: str = "qrels",
        origin: Origin | None = None,
        notes: tuple[str, ...] = (),
        empty_queries: Iterable[str] = (),
        on_duplicate: OnDuplicate = "error",
    ) -> Qrels:
        """Group rows by query and resolve documents judged twice for the same query and subtopic."""
        _check_lengths(len(queries), docs=docs, grades=grades, subtopics=subtopics, lines=lines, **(extra or {}))
        ids, starts, order = _group(queries, empty_queries, natural=True)
        docs_column = _strings(docs)[order]
        grade_column = np.asarray(grades, dtype=np.float64)[order]
        line_column = (np.arange(1, len(order) + 1) if lines is None else lines)[order]
        subtopic_column = _strings(["0"] * len(order) if subtopics is None else subtopics)[order]
        extra_columns = {key: _strings(column)[order] for key, column in (extra or {}).items()}
        rows = Rows(ids, starts, docs_column, line_column, origin)
        rows.check_finite(grade_column, "grade")
        within = [subtopic_column, *(extra_columns[key] for key in ("subgroup",) if key in extra_columns)]
        keep, note = rows.resolve_duplicates(grade_column, on_duplicate, "judged", within, same_is_harmless=True)
        return cls(
            queries=ids,
            starts=_restart(starts, keep),
            docs=docs_column[keep],
            grades=grade_column[keep],
            subtopics=subtopic_column[keep],
            lines=line_column[keep],
            extra={key: column[keep] for key, column in extra_columns.items()},
            name=name,
            origin=origin,
            notes=notes + note,
        )

    def __repr__(self) -> str:
        return f"Qrels({self.name!r}: {pluralize(len(self.queries), 'query')}, {pluralize(len(self), 'judgment')})"

    def __getstate__(self) -> dict[str, Any]:
        # without what was derived from the columns: the core's objects cannot be pickled
        return {name: getattr(self, name) for name in field_names(self)}

    @cached_property
    def index(self) -> Any:
        """The judgments as the compiled core has them."""
        return core.Judgments(self.queries, self.judged)

    @cached_property
    def known(self) -> dict[Hashable, Floats]:
        """What measures have computed from the judgments alone, to be used for every run."""
        return {}

    @cached_property
    def everywhere(self) -> Ints:
        """The positions of all queries: 0, 1, 2, …"""
        return _read_only(np.arange(len(self.queries)))

    @cached_property
    def ideal(self) -> Floats:
        """The grades of the judged documents of each query, best first."""
        if "index" in self.__dict__:
            return np.frombuffer(self.index.ideal())
        grades = [grade for judged in self.judged for grade in sorted(judged.values(), reverse=True)]
        return _read_only(np.array(grades, dtype=np.float64))

    @cached_property
    def starts_of_ideal(self) -> Ints:
        """Where the grades of each query start in `ideal`."""
        if "index" in self.__dict__:
            return np.frombuffer(self.index.columns()[0], dtype=np.int64)
        sizes = [len(judged) for judged in self.judged]
        return _read_only(starts_of(sizes))

    @cached_property
    def judged(self) -> tuple[dict[str, float], ...]:
        """For each query, doc -> grade; the highest grade where subtopics or groups differ."""
        docs, grades = self.docs.tolist(), self.grades.tolist()
        return tuple(_highest(docs[start:end], grades[start:end]) for start, end in pairwise(self.starts.tolist()))

    @cached_property
    def has_subtopics(self) -> bool:
        """Whether some query has several subtopics (or judgment groups)."""
        return any(len(set(self.subtopics[self.rows_of(i)])) > 1 for i in self._indices)

    @cached_property
    def merged(self) -> int:
        """The number of (query, doc) pairs with several judgments; the highest grade counts."""
        return sum(sum(1 for n in _counts(self.docs[self.rows_of(i)]).values() if n > 1) for i in self._indices)

    @property
    def _indices(self) -> range:
        return range(len(self.queries))

    def to_dict(self) -> dict[str, dict[str, float]]:
        """{query: {doc: grade}}, the highest grade where subtopics differ."""
        return dict(zip(self.queries, map(dict, self.judged), strict=True))

    def columns(self) -> dict[str, Any]:
        """The rows as plain columns, subtopics only where there are several."""
        table: dict[str, Any] = {
            "query": self.row_queries(),
            "doc": self.docs.tolist(),
            "grade": self.grades.tolist(),
        }
        if self.has_subtopics or any(s not in ("0", "Q0") for s in self.subtopics):
            table["subtopic"] = self.subtopics.tolist()
        return table | {key: column.tolist() for key, column in self.extra.items()}


class LazyQrels(Qrels):
    """Qrels whose `docs`, `subtopics` and `lines` are loaded when one of them is first used.

    Beside the other columns, `known` may hold values of cached properties.
    """

    def __init__(self, load: Callable[[], Mapping[str, Any]] | None = None, **known: Any) -> None:
        if load is None:  # `replace` makes a copy that has all its columns
            super().__init__(**known)
            return
        self.__dict__.update({"extra": {}, "name": "qrels", "origin": None, "notes": (), **known})
        self.__dict__["_load"] = load

    @classmethod
    def from_core(cls, judgments: Any, name: str, origin: Origin | None) -> LazyQrels:
        """Qrels that the compiled core has read; ids become Python strings when they are first used."""
        judgments = sort_judgments(judgments)
        starts, grades, lines, subtopic = judgments.columns()

        def load() -> dict[str, Any]:
            docs = _strings(judgments.docs())
            subtopics = _strings([subtopic] * len(docs))
            return {"docs": docs, "subtopics": subtopics, "lines": np.frombuffer(lines, dtype=np.int64)}

        return cls(
            load,
            queries=tuple(judgments.queries()),
            starts=np.frombuffer(starts, dtype=np.int64),
            grades=np.frombuffer(grades),
            name=name,
            origin=origin,
            index=judgments,
            has_subtopics=False,
            merged=0,
        )

    @cached_property
    def _loaded(self) -> Mapping[str, Any]:
        return {name: _read_only(column) for name, column in self.__dict__["_load"]().items()}

    @cached_property  # type: ignore[misc]
    def docs(self) -> Strings:  # type: ignore[override]
        docs: Strings = self._loaded["docs"]
        return docs

    @cached_property  # type: ignore[misc]
    def subtopics(self) -> Strings:
        subtopics: Strings = self._loaded["subtopics"]
        return subtopics

    @cached_property  # type: ignore[misc]
    def lines(self) -> Ints:
        lines: Ints = self._loaded["lines"]
        return lines


class Subtopic(Record):
    """One aspect or interpretation of a topic."""

    id: str
    text: str
    type: str = ""


class Topic(Record):
    """An information need: what is searched for (`title`), and in more words."""

    id: str
    title: str
    description: str = ""
    narrative: str = ""
    subtopics: tuple[Subtopic, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)  # whatever else the file says of it


class Document(Record):
    """A document of the collection."""

    id: str
    text: str
    title: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)  # author, bibliography, url, …


class Rows(Record):
    """Rows grouped by query, with what is needed to name one of them in a message."""

    queries: tuple[str, ...]
    starts: Ints
    docs: Strings
    lines: Ints
    origin: Origin | None

    def check_finite(self, values: Floats, what: str) -> None:
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise self.error(InputError, int(wrong[0]), f"{what} {values[wrong[0]]} is not a finite number.")

    def repeats(self, within: Sequence[Strings] = ()) -> Iterator[tuple[int, int]]:
        """Pairs (earlier row, later row) of the same query and document, and the same values `within`."""
        for i in range(len(self.queries)):
            first, last = int(self.starts[i]), int(self.starts[i + 1])
            columns = [self.docs[first:last], *(column[first:last] for column in within)]
            keys = columns[0].tolist() if len(columns) == 1 else list(zip(*columns, strict=True))
            if len(set(keys)) == len(keys):
                continue
            seen: dict[Any, int] = {}
            for row, key in enumerate(keys, first):
                if key in seen:
                    yield seen[key], row
                else:
                    seen[key] = row

    def resolve_duplicates(
        self,
        values: Floats,
        rule: OnDuplicate,
        verb: str,
        within: Sequence[Strings] = (),
        same_is_harmless: bool = False,
    ) -> tuple[Bools, tuple[str, ...]]:
        """Which rows to keep, and a note on those that were left out."""
        if rule not in get_args(OnDuplicate):
            raise InputError(f"on_duplicate is {rule!r}, expected one of {', '.join(get_args(OnDuplicate))}.")
        keep = np.ones(len(self.docs), dtype=bool)
        best: dict[int, int] = {}
        for earlier, later in self.repeats(within):
            if rule == "error" and not (same_is_harmless and values[earlier] == values[later]):
                raise self.duplicate(earlier, later, values, verb)
            kept = best.get(earlier, earlier)
            loser = kept if _replaces(rule, values[kept], values[later]) else later
            keep[loser] = False
            best[earlier] = kept if loser == later else later
        dropped = int(np.count_nonzero(~keep))
        if not dropped:
            return keep, ()
        how = "identical" if rule == "error" else f"--on-duplicate {rule}"
        what = "judgment" if verb == "judged" else "document"
        return keep, (f"{pluralize(dropped, f'repeated {what}')} left out ({how}).",)

    def duplicate(self, earlier: int, later: int, values: Floats, verb: str) -> DuplicateError:
        query = self.queries[int(np.searchsorted(self.starts, earlier, side="right")) - 1]
        grades = f" with grades {values[earlier]:g} and {values[later]:g}" if verb == "judged" else ""
        hint = "" if verb == "judged" else _swapped_hint(self.docs)
        return self.error(
            DuplicateError,
            later,
            f"document {format_id(self.docs[later])} is {verb} twice for query {format_id(query)}{grades}, "
            f"first in {self.where(earlier)}.{hint} Remove one, or choose with --on-duplicate first, last or max.",
        )

    def where(self, row: int) -> str:
        """The line of the file, or the record where there are no lines."""
        number = int(self.lines[row])
        return f"line {number}" if self.origin and self.origin.has_lines else f"record {number:,}"

    def error(self, kind: type[E], row: int, message: str) -> E:
        file = self.origin.file if self.origin else None
        if self.origin is None or self.origin.has_lines:
            return kind(message, file, int(self.lines[row]))
        return kind(f"{self.where(row)}: {message}", file)


def _swapped_hint(docs: Strings) -> str:
    """A column of decimal fractions is hardly one of doc ids."""
    some = docs[:100].tolist()
    if all(re.fullmatch(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", doc) for doc in some):
        return " The doc column holds decimal numbers: are the doc and score columns swapped?"
    return ""


def _read_only(column: A) -> A:
    """A read-only view of a column."""
    if column is None:
        return column
    view = column.view()
    view.flags.writeable = False
    return view


def _replaces(rule: OnDuplicate, kept: float, new: float) -> bool:
    return rule == "last" or (rule == "max" and new > kept)


def _check_lengths(rows: int, **columns: Any) -> None:
    for name, values in columns.items():
        if values is not None and len(values) != rows:
            raise InputError(f"{rows:,} queries but {len(values):,} {name}: expected one for every row.")


def _strings(values: Sequence[str] | Strings) -> Strings:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _group(
    queries: Sequence[str] | Strings, empty: Iterable[str], natural: bool = False
) -> tuple[tuple[str, ...], Ints, Ints]:
    """The distinct queries, where the rows of each start, and the order that groups the rows."""
    codes: dict[str, int] = {}
    code = np.fromiter((codes.setdefault(q, len(codes)) for q in queries), dtype=np.int64, count=len(queries))
    for query in empty:
        codes.setdefault(query, len(codes))
    ids = list(codes)
    if natural:
        ids = sort_naturally(ids)
        place_of = {query: i for i, query in enumerate(ids)}
        new = np.fromiter((place_of[q] for q in codes), dtype=np.int64, count=len(codes))
        code = new[code] if len(codes) else code
    order = np.argsort(code, kind="stable")
    return tuple(ids), starts_of(np.bincount(code, minlength=len(ids))), order


def starts_of(sizes: Any) -> Ints:
    """Where each of several consecutive groups starts, and the end of the last, from their sizes.

    >>> starts_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.int64)))).astype(np.int64)


def _restart(starts: Ints, keep: Bools) -> Ints:
    """Where the rows of each query start once some are left out."""
    kept: Ints = np.concatenate(([0], np.cumsum(keep)))[starts].astype(np.int64)
    return kept


def _counts(docs: Strings) -> dict[str, int]:
    counts: dict[str, int] = {}
    for doc in docs:
        counts[doc] = counts.get(doc, 0) + 1
    return counts


def _highest(docs: list[str], grades: list[float]) -> dict[str, float]:
    grade_of = dict(zip(docs, grades, strict=True))
    if len(grade_of) < len(docs):
        for doc, grade in zip(docs, grades, strict=True):
            if grade > grade_of[doc]:
                grade_of[doc] = grade
    return grade_of


def _nested(rows: Run, values: Floats) -> dict[str, dict[str, float]]:
    docs, numbers = rows.docs.tolist(), values.tolist()
    slices = (rows.rows_of(i) for i in range(len(rows.queries)))
    return {
        query: dict(zip(docs[part], numbers[part], strict=True))
        for query, part in zip(rows.queries, slices, strict=True)
    }


def _to_arrow(columns: dict[str, Any]) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("an Arrow table", "arrow") from None
    try:
        return pyarrow.table(columns)
    except UnicodeEncodeError as error:
        raise InputError(f"Arrow holds only UTF-8, and {format_id(str(error.object))} is not.") from None


def _to_pandas(columns: dict[str, Any]) -> Any:
    try:
        import pandas
    except ImportError:
        raise InputError("a pandas frame needs pandas: pip install pandas") from None
    return pandas.DataFrame(columns)


def _to_polars(columns: dict[str, Any]) -> Any:
    try:
        import polars
    except ImportError:
        raise InputError("a polars frame needs polars: pip install polars") from None
    try:
        return polars.DataFrame(columns)
    except UnicodeEncodeError as error:
        raise InputError(f"polars holds only UTF-8, and {format_id(str(error.object))} is not.") from None


def _html_table(caption: str, columns: dict[str, Any], most: int = 10) -> str:
    """The first rows as a small table, for notebooks."""
    import html

    rows = list(zip(*columns.values(), strict=True))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows[:most])
    more = f"<p>… and {len(rows) - most:,} more rows</p>" if len(rows) > most else ""
    return (
        f"<table><caption>{html.escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
    )


def _cell(value: object) -> str:
    import html

    text = f"{value:g}" if isinstance(value, float) else str(value)
    return html.escape(text.encode("utf-8", "backslashreplace").decode())
