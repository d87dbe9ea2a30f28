"""Rows on their way from a file or an object to a Run or Qrels, and the names columns go by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield.base import OnDuplicate, Record
from cranfield.data import Ints, Origin, Qrels, Run
from cranfield.errors import InputError

# the most specific name first: a PyTerrier frame has both `qid` and `query`, the latter being the text
QUERY_COLUMNS = ("query_id", "queryid", "qid", "q_id", "topic_id", "topicid", "topic", "query")
# and `docno`, which the judgments name, beside `docid`, a number of its own
DOC_COLUMNS = (
    "docno",
    "doc_no",
    "doc_id",
    "docid",
    "document_id",
    "corpus_id",
    "passage_id",
    "pid",
    "did",
    "doc",
    "document",
)
SCORE_COLUMNS = ("score", "sim", "similarity", "relevance_score", "retrieval_score")
RANK_COLUMNS = ("rank", "position")
GRADE_COLUMNS = ("grade", "relevance", "rel", "relevance_grade", "label", "judgment", "judgement", "score")
STRATUM = ("stratum",)
SUBGROUP = ("subgroup",)
METHOD = ("method",)
PROBABILITY = ("probability", "iprob")
SUBTOPIC = ("subtopic", "subtopic_id", "iteration", "iter", "q0")
RETRIEVED = ("retrieved_ids", "retrieved_doc_ids", "retrieved_docs", "retrieved")
RELEVANT = (
    "relevant_ids",
    "relevant_doc_ids",
    "relevant_docs",
    "relevant",
    "expected_ids",
    "ground_truth_ids",
)


class Note(Record):
    """Something worth saying of what was read, and the line of the first such thing where there is one."""

    message: str
    line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        return add_place(self.message, self.count, None if self.line is None else f"line {self.line}")


def add_place(message: str, count: int, place: str | None) -> str:
    """A message with the place it is about, or that of the first of several.

    >>> add_place("2 lines with words after the tag.", 2, "line 7")
    '2 lines with words after the tag. First in line 7.'
    """
    if place is None:
        return message
    return f"{place}: {message}" if count == 1 else f"{message} First in {place}."


@dataclass
class RunRows:
    """Rows of a run as they come in."""

    queries: list[str] = field(default_factory=list)
    docs: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    ranks: list[int] | None = field(default_factory=list)  # None once a rank was unusable
    lines: list[int] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)  # queries with no document
    tag: str | None = None
    odd_rank: tuple[int, str] | None = None  # where the rank column became unusable, and what stands there
    notes: list[Note] = field(default_factory=list)
    left_out: dict[str, None] = field(default_factory=dict)  # names of values that a run has no place for

    def add(self, query: str, doc: str, score: float, line: int, rank: int | None = None) -> None:
        self.queries.append(query)
        self.docs.append(doc)
        self.scores.append(score)
        self.lines.append(line)
        if rank is None:
            self.ranks = None
        elif self.ranks is not None:
            self.ranks.append(rank)

    def run(self, name: str, origin: Origin | None, on_duplicate: OnDuplicate) -> Run:
        return Run.from_rows(
            self.queries,
            self.docs,
            self.scores,
            ranks=_ints(self.ranks) if self.ranks is not None and len(self.ranks) == len(self.docs) else None,
            lines=_ints(self.lines),
            name=name,
            tag=self.tag,
            origin=origin,
            notes=tuple(map(str, self.notes)),
            empty_queries=self.empty,
            on_duplicate=on_duplicate,
        )


@dataclass
class QrelsRows:
    """Rows of judgments as they come in."""

    queries: list[str] = field(default_factory=list)
    docs: list[str] = field(default_factory=list)
    grades: list[float] = field(default_factory=list)
    subtopics: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    left_out: dict[str, None] = field(default_factory=dict)  # names of values that judgments have no place for

    def add(self, query: str, doc: str, grade: float, line: int, subtopic: str = "0", **extra: str) -> None:
        self.queries.append(query)
        self.docs.append(doc)
        self.grades.append(grade)
        self.subtopics.append(subtopic)
        self.lines.append(line)
        for key, value in extra.items():
            self.extra.setdefault(key, []).append(value)

    def qrels(self, name: str, origin: Origin | None, on_duplicate: OnDuplicate) -> Qrels:
        return Qrels.from_rows(
            self.queries,
            self.docs,
            self.grades,
            subtopics=self.subtopics,
            extra=self.extra,
            lines=_ints(self.lines),
            name=name,
            origin=origin,
            notes=tuple(map(str, self.notes)),
            empty_queries=self.empty,
            on_duplicate=on_duplicate,
        )


def find_column(names: Iterable[str], aliases: Sequence[str]) -> str | None:
    """The name among `names` that stands for an idea, the most specific alias first.

    >>> find_column(["query", "qid", "docno"], QUERY_COLUMNS)
    'qid'
    """
    return _column(tuple(names), tuple(aliases))


@lru_cache(maxsize=1024)  # records of a file share their names
def _column(names: tuple[str, ...], aliases: tuple[str, ...]) -> str | None:
    by_alias = {normalize_column(name): name for name in reversed(names) if isinstance(name, str)}
    return next((by_alias[alias] for alias in aliases if alias in by_alias), None)


def normalize_column(name: str) -> str:
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def get_required(record: Mapping[str, Any], aliases: Sequence[str], what: str) -> Any:
    """The value a record has for an idea, or an error that lists what it has."""
    name = find_column(record, aliases)
    if name is None:
        found = ", ".join(map(str, record)) or "nothing"
        raise InputError(f"no {what} (looked for {', '.join(aliases)}; found {found:.200}).")
    return record[name]


def scores_from_ranks(ranks: Sequence[int]) -> list[float]:
    """Scores that fall as ranks rise, for runs that have ranks only: 1/rank, ranks from 0 moved up by one.

    >>> scores_from_ranks([0, 1, 3])
    [1.0, 0.5, 0.25]
    """
    shift = 1 if any(rank == 0 for rank in ranks) else 0
    return [1 / (rank + shift) for rank in ranks]


def _ints(values: Sequence[int]) -> Ints:
    return np.asarray(values, dtype=np.int64)
