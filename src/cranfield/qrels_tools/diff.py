"""What changed between two sets of judgments: added, removed and changed grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints, Qrels
from cranfield.qrels_tools.assessor_matrix import AssessorMatrix, build_matrix
from cranfield.qrels_tools.assessors import Assessor


class GradeChange(Record):
    """A pair that differs: its grade before and after, None where there was no judgment."""

    query: str
    doc: str
    subtopic: str
    old: float | None
    new: float | None

    @property
    def kind(self) -> str:
        return "added" if self.old is None else "removed" if self.new is None else "changed"


class TopicChanges(Record):
    """How much changed for one topic."""

    query: str
    same: int
    added: int
    removed: int
    changed: int


class QrelsDiff(Record, eq=False):
    """Two sets of judgments, pair by pair."""

    old: str
    new: str
    matrix: AssessorMatrix
    changes: tuple[GradeChange, ...]
    grades: Floats  # those that occur in either
    moves: Ints  # old grade × new grade, for the pairs judged in both
    topics: tuple[TopicChanges, ...]
    topics_added: tuple[str, ...]
    topics_removed: tuple[str, ...]

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many pairs are the same, added, removed and changed."""
        kinds = [change.kind for change in self.changes]
        return {"same": int(np.trace(self.moves)), **{kind: kinds.count(kind) for kind in CHANGE_KINDS}}

    def crossed(self, rel: float) -> tuple[int, int]:
        """How many pairs became relevant, and how many no longer are."""
        relevant = self.grades >= rel
        up, down = self.moves[~relevant][:, relevant], self.moves[relevant][:, ~relevant]
        return int(up.sum()), int(down.sum())


CHANGE_KINDS = ("added", "removed", "changed")


def diff_qrels(old: Qrels, new: Qrels, names: Sequence[str] = ("old", "new")) -> QrelsDiff:
    """What changed from one set of judgments to another.

    >>> from cranfield.io import as_qrels
    >>> found = diff_qrels(as_qrels({"q": {"a": 1, "b": 0}}), as_qrels({"q": {"a": 2, "c": 1}}))
    >>> found.counts
    {'same': 0, 'added': 1, 'removed': 1, 'changed': 1}
    """
    matrix = build_matrix([Assessor(names[0], old), Assessor(names[1], new)])
    before, after = matrix.grades.T
    ratings = matrix.ratings()
    both = matrix.common(0, 1)
    cells = ratings.codes[both, 0] * ratings.grades + ratings.codes[both, 1]
    moves = np.bincount(cells, minlength=ratings.grades**2).reshape(ratings.grades, ratings.grades)
    return QrelsDiff(
        old=names[0],
        new=names[1],
        matrix=matrix,
        changes=tuple(_changes(matrix, before, after)),
        grades=ratings.scale,
        moves=moves,
        topics=tuple(_topics(matrix, before, after)),
        topics_added=tuple(query for query in matrix.queries if query not in set(old.queries)),
        topics_removed=tuple(query for query in matrix.queries if query not in set(new.queries)),
    )


def _changes(matrix: AssessorMatrix, before: Floats, after: Floats) -> Iterator[GradeChange]:
    # NaN differs from everything, also where neither file has a judgment
    for i in np.flatnonzero((before != after) & (matrix.judged > 0)).tolist():
        yield GradeChange(
            matrix.queries[matrix.query[i]], matrix.docs[i], matrix.subtopics[i], _grade(before[i]), _grade(after[i])
        )


def _topics(matrix: AssessorMatrix, before: Floats, after: Floats) -> Iterator[TopicChanges]:
    was, now = ~np.isnan(before), ~np.isnan(after)
    kinds = (was & now & (before == after), ~was & now, was & ~now, was & now & (before != after))
    columns = [np.bincount(matrix.query[kind], minlength=len(matrix.queries)).tolist() for kind in kinds]
    for query, *counts in zip(matrix.queries, *columns, strict=True):
        yield TopicChanges(query, *counts)


def _grade(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
