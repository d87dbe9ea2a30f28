"""Judgments of several assessors as a matrix: one row for every query and document that someone judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from cranfield.base import Record, format_id, pluralize, sort_naturally
from cranfield.data import Bools, Floats, Ints, Qrels, Strings
from cranfield.errors import InputError
from cranfield.qrels_tools.assessors import Assessor
from cranfield.qrels_tools.provenance import is_clicks
from cranfield.stats import Ratings, check_scale

_OTHER_KINDS = {
    "subgroup": "preferences, which have no grades",
    "probability": "a sample with inclusion probabilities, which belong to that sample",
}


class AssessorMatrix(Record, eq=False):
    """The grades of each pair of query and document by each assessor: pairs × assessors, NaN where not judged.

    A negative grade means pooled but not judged, as in an evaluation, and is no grade here unless it is on the scale.
    """

    assessors: tuple[Assessor, ...]
    queries: tuple[str, ...]
    query: Ints  # of each pair, as an index into `queries`
    docs: Strings
    subtopics: Strings
    grades: Floats
    unjudged: Floats  # the negative grade of pairs that were pooled but judged by nobody; else NaN
    strata: Strings | None  # of sampled judgments, if requested
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.docs)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(assessor.name for assessor in self.assessors)

    @property
    def people(self) -> tuple[int, ...]:
        """The columns of assessors who are not models."""
        return tuple(i for i, assessor in enumerate(self.assessors) if not assessor.is_model)

    @property
    def models(self) -> tuple[int, ...]:
        return tuple(i for i, assessor in enumerate(self.assessors) if assessor.is_model)

    @cached_property
    def judged(self) -> Ints:
        """The number of assessors who judged each pair."""
        number: Ints = np.count_nonzero(~np.isnan(self.grades), axis=1)
        return number

    @cached_property
    def observed(self) -> Floats:
        """The grades that someone gave."""
        found: Floats = np.unique(self.grades[~np.isnan(self.grades)])
        return found

    def ratings(self, scale: Sequence[float] | Floats | None = None) -> Ratings:
        """The grades as positions on a scale; by default, the grades that occur."""
        grades = check_scale(self.observed if scale is None else scale)
        self._require_on_scale(grades)
        there = ~np.isnan(self.grades)
        return Ratings(np.where(there, np.searchsorted(grades, self.grades), -1), grades)

    def common(self, *assessors: int) -> Bools:
        """The pairs that all of these assessors judged."""
        judged: Bools = ~np.isnan(self.grades[:, list(assessors)])
        return np.asarray(judged.all(axis=1), dtype=bool)

    def qrels_of(self, assessor: int, where: Bools) -> Qrels:
        """One assessor's judgments of some of the pairs, as qrels."""
        rows = np.flatnonzero(where & ~np.isnan(self.grades[:, assessor]))
        return self.qrels(rows, self.grades[rows, assessor], self.names[assessor])

    def qrels(self, rows: Ints, grades: Floats, name: str) -> Qrels:
        """Some of the pairs with these grades."""
        return Qrels.from_rows(
            [self.queries[i] for i in self.query[rows].tolist()],
            self.docs[rows],
            grades,
            subtopics=self.subtopics[rows],
            extra=None if self.strata is None else {"stratum": self.strata[rows]},
            name=name,
        )

    def _require_on_scale(self, scale: Floats) -> None:
        odd = ~np.isnan(self.grades) & ~np.isin(self.grades, scale)
        if odd.any():
            row, column = np.argwhere(odd)[0]
            raise InputError(
                f"{self.names[column]} gave {self.grades[row, column]:g} to document {format_id(self.docs[row])} of "
                f"query {format_id(self.queries[self.query[row]])}, which is not on the scale "
                f"{' '.join(f'{grade:g}' for grade in scale)}."
            )


def build_matrix(
    assessors: Sequence[Assessor], with_strata: bool = False, scale: Sequence[float] | None = None
) -> AssessorMatrix:
    """Put the judgments of assessors into a matrix; with `with_strata`, samples must have the same strata.

    A negative grade is a judgment if it is on the `scale`, as TREC's -2 for junk may be.

    >>> one, other = ({"q": {"a": 1, "b": 0}}, {"q": {"b": 2, "c": 1}})
    >>> from cranfield.io import as_qrels
    >>> matrix = build_matrix([Assessor("anna", as_qrels(one)), Assessor("ben", as_qrels(other))])
    >>> matrix.docs.tolist(), matrix.grades.tolist()
    (['a', 'b', 'c'], [[1.0, nan], [0.0, 2.0], [nan, 1.0]])
    """
    for assessor in assessors:
        _require_grades(assessor)
    has_subtopics = _has_subtopics(assessors)
    queries = tuple(sort_naturally({query for assessor in assessors for query in assessor.qrels.queries}))
    row_of: dict[tuple[str, ...], int] = {}
    columns = [_rows(assessor.qrels, has_subtopics, row_of) for assessor in assessors]
    keys = list(row_of)
    grades = np.full((len(keys), len(assessors)), np.nan)
    unjudged = np.full(len(keys), np.nan)
    for j, (assessor, rows) in enumerate(zip(assessors, columns, strict=True)):
        own = assessor.qrels.grades
        is_none = _is_none(own, scale)
        grades[rows, j] = np.where(is_none, np.nan, own)
        unjudged[rows[is_none]] = own[is_none]
    place = {query: i for i, query in enumerate(queries)}
    query = np.fromiter((place[key[0]] for key in keys), dtype=np.int64, count=len(keys))
    order = np.argsort(query, kind="stable")
    return AssessorMatrix(
        assessors=tuple(assessors),
        queries=queries,
        query=query[order],
        docs=_column([key[1] for key in keys])[order],
        subtopics=_column([key[2] for key in keys] if has_subtopics else [_iteration(assessors)] * len(keys))[order],
        grades=grades[order],
        unjudged=np.where(np.isnan(grades).all(axis=1), unjudged, np.nan)[order],
        strata=_strata(assessors, columns, len(keys), order) if with_strata else None,
        notes=tuple(_notes(assessors, scale)),
    )


def _is_none(grades: Floats, scale: Sequence[float] | None) -> Bools:
    """Which grades mean that nobody judged."""
    return np.asarray((grades < 0) & ~np.isin(grades, [] if scale is None else list(scale)))


def _require_grades(assessor: Assessor) -> None:
    for column, what in _OTHER_KINDS.items():
        if column in assessor.qrels.extra:
            raise InputError(f"{assessor.name}: found {what}; expected judgments with grades.")


def _has_subtopics(assessors: Sequence[Assessor]) -> bool:
    telling = [assessor for assessor in assessors if assessor.qrels.has_subtopics]
    if not telling:
        return False
    for assessor in assessors:
        if set(assessor.qrels.subtopics) <= {"0", "Q0"}:
            raise InputError(
                f"{telling[0].name} has subtopics in its second column and {assessor.name} does not: "
                "their judgments cannot be compared."
            )
    return True


def _rows(qrels: Qrels, has_subtopics: bool, row_of: dict[tuple[str, ...], int]) -> Ints:
    """The row of every judgment; a pair that is new gets the next one."""
    columns = [qrels.row_queries(), qrels.docs.tolist()]
    if has_subtopics:
        columns.append(qrels.subtopics.tolist())
    return np.fromiter(
        (row_of.setdefault(key, len(row_of)) for key in zip(*columns, strict=True)), dtype=np.int64, count=len(qrels)
    )


def _iteration(assessors: Sequence[Assessor]) -> str:
    """The second column where it holds no subtopics: that of the files if all have the same."""
    used = {subtopic for assessor in assessors for subtopic in set(assessor.qrels.subtopics)}
    return used.pop() if len(used) == 1 else "0"


def _strata(assessors: Sequence[Assessor], columns: Sequence[Ints], size: int, order: Ints) -> Strings | None:
    """The stratum of each pair, where all files are samples with the same strata."""
    sampled = ["stratum" in assessor.qrels.extra for assessor in assessors]
    if not any(sampled):
        return None
    if not all(sampled):
        one, other = assessors[sampled.index(True)].name, assessors[sampled.index(False)].name
        raise InputError(f"{one} is sampled (five columns) and {other} is not: the strata of the sample would be lost.")
    strata = np.full(size, None, dtype=object)
    for assessor, rows in zip(assessors, columns, strict=True):
        own = assessor.qrels.extra["stratum"]
        differs = [known is not None and known != new for known, new in zip(strata[rows], own, strict=True)]
        if any(differs):
            at = differs.index(True)
            raise InputError(
                f"{assessor.name} has document {format_id(assessor.qrels.docs[at])} of query "
                f"{format_id(assessor.qrels.row_queries()[at])} in stratum {own[at]}, another file in stratum "
                f"{strata[rows[at]]}: strata of different samples cannot be merged."
            )
        strata[rows] = own
    return strata[order]


def _notes(assessors: Sequence[Assessor], scale: Sequence[float] | None) -> Iterator[str]:
    for assessor in assessors:
        yield from (f"{assessor.label}: {note}" for note in assessor.qrels.notes)
        negative = assessor.qrels.grades[_is_none(assessor.qrels.grades, scale)]
        if len(negative):
            found = ", ".join(f"{grade:g}" for grade in np.unique(negative))
            yield (
                f"{assessor.label}: {pluralize(len(negative), 'negative grade')} ({found}) treated as pooled but not "
                "judged. If they are judgments, name them in --scale, or map them first: cranfield qrels map."
            )
        if is_clicks(assessor.qrels):
            yield f"{assessor.label}: these grades come from clicks; nobody judged."
        known = assessor.provenance
        if known is not None and known.is_model:
            models = ", ".join(source.name for source in known.sources if source.is_model)
            yield f"{assessor.label}: counts as a model: made ({known.made_by}) from judgments by {models}."


def _column(values: Sequence[str]) -> Strings:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
