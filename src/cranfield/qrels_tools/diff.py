"""What changed between two sets of judgments: added, removed, and grades that became others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints, Qrels
from cranfield.qrels_tools.assessor_matrix import Panel, side_by_side
from cranfield.qrels_tools.assessors import Assessor


class Change(Record):
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


class Differences(Record, eq=False):
    """Two sets of judgments, pair by pair."""

    old: str
    new: str
    panel: Panel
    changes: tuple[Change, ...]
    grades: Floats  # those that occur in either
    moves: Ints  # old grade × new grade, of the pairs judged in both
    topics: tuple[TopicChanges, ...]
    topics_added: tuple[str, ...]
    topics_removed: tuple[str, ...]

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many pairs are the same, added, removed and changed."""
        kinds = [change.kind for change in self.changes]
        return {"same": int(np.trace(self.moves)), **{kind: kinds.count(kind) for kind in KINDS}}

    def crossed(self, rel: float) -> tuple[int, int]:
        """How many pairs became relevant, and how many ceased to be."""
        relevant = self.grades >= rel
        up, down = self.moves[~relevant][:, relevant], self.moves[relevant][:, ~relevant]
        return int(up.sum()), int(down.sum())


KINDS = ("added", "removed", "changed")


def differences(old: Qrels, new: Qrels, names: Sequence[str] = ("old", "new")) -> Differences:
    """What changed from one set of judgments to another.

    >>> from cranfield.io import as_qrels
    >>> found = differences(as_qrels({"q": {"a": 1, "b": 0}}), as_qrels({"q": {"a": 2, "c": 1}}))
    >>> found.counts
    {'same': 0, 'added': 1, 'removed': 1, 'changed': 1}
    """
    panel = side_by_side([Assessor(names[0], old), Assessor(names[1], new)])
    before, after = panel.grades.T
    ratings = panel.ratings()
    both = panel.common(0, 1)
    cells = ratings.codes[both, 0] * ratings.grades + ratings.codes[both, 1]
    moves = np.bincount(cells, minlength=ratings.grades**2).reshape(ratings.grades, ratings.grades)
    return Differences(
        old=names[0],
        new=names[1],
        panel=panel,
        changes=tuple(_changes(panel, before, after)),
        grades=ratings.scale,
        moves=moves,
        topics=tuple(_topics(panel, before, after)),
        topics_added=tuple(query for query in panel.queries if query not in set(old.queries)),
        topics_removed=tuple(query for query in panel.queries if query not in set(new.queries)),
    )


def _changes(panel: Panel, before: Floats, after: Floats) -> Iterator[Change]:
    # NaN differs from everything, so that pairs judged in neither are told apart by themselves
    for i in np.flatnonzero((before != after) & (panel.judged > 0)).tolist():
        yield Change(
            panel.queries[panel.query[i]], panel.docs[i], panel.subtopics[i], _grade(before[i]), _grade(after[i])
        )


def _topics(panel: Panel, before: Floats, after: Floats) -> Iterator[TopicChanges]:
    was, now = ~np.isnan(before), ~np.isnan(after)
    kinds = (was & now & (before == after), ~was & now, was & ~now, was & now & (before != after))
    columns = [np.bincount(panel.query[kind], minlength=len(panel.queries)).tolist() for kind in kinds]
    for query, *counts in zip(panel.queries, *columns, strict=True):
        yield TopicChanges(query, *counts)


def _grade(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
