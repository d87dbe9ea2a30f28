"""Statistics of judgments: topics, judged and relevant documents, grades, and topics that contribute little."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from statistics import median

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Qrels
from cranfield.qrels_tools.provenance import Provenance, describe_provenance, is_clicks

MOST_RELEVANT = 1 / 3  # of the judged documents; above it the pool was probably too shallow (Voorhees, CIKM 2018)


class TopicCounts(Record):
    """The judgments of one topic."""

    query: str
    judged: int
    relevant: int
    grades: Mapping[float, int]
    unjudged: int  # pooled, but not judged: negative grades

    @property
    def share(self) -> float | None:
        """The share of judged documents that are relevant; None if nothing was judged."""
        return self.relevant / self.judged if self.judged else None


class CountSummary(Record):
    """The distribution of a count over topics."""

    least: int
    median: float
    mean: float
    most: int


class QrelsCounts(Record, eq=False):
    """The counts of a set of judgments."""

    name: str
    rel: float
    topics: tuple[TopicCounts, ...]
    grades: Mapping[float, int]
    documents: int  # different ones
    unjudged: int
    notes: tuple[str, ...]

    @property
    def judged(self) -> int:
        return sum(self.grades.values())

    @property
    def relevant(self) -> int:
        return sum(topic.relevant for topic in self.topics)

    @property
    def none_relevant(self) -> tuple[str, ...]:
        """Topics without a relevant document."""
        return tuple(topic.query for topic in self.topics if not topic.relevant)

    @property
    def many_relevant(self) -> tuple[str, ...]:
        """Topics with more than a third of the judged documents relevant."""
        return tuple(topic.query for topic in self.topics if topic.share is not None and topic.share > MOST_RELEVANT)

    def spread(self, what: str) -> CountSummary | None:
        """`judged` or `relevant` documents of a topic; None without topics."""
        numbers = [getattr(topic, what) for topic in self.topics]
        if not numbers:
            return None
        return CountSummary(min(numbers), median(numbers), math.fsum(numbers) / len(numbers), max(numbers))


def count_judgments(qrels: Qrels, rel: float = 1, known: Provenance | None = None) -> QrelsCounts:
    """Count judgments. With subtopics, a document counts once, with its highest grade.

    >>> from cranfield.io import as_qrels
    >>> found = count_judgments(as_qrels({"1": {"a": 2, "b": 0}, "2": {"a": 0}}))
    >>> found.judged, found.relevant, found.none_relevant
    (3, 1, ('2',))
    """
    topics = tuple(_topic(query, grades, rel) for query, grades in zip(qrels.queries, qrels.judged, strict=True))
    grades: dict[float, int] = {}
    for topic in topics:
        for grade, number in topic.grades.items():
            grades[grade] = grades.get(grade, 0) + number
    documents = {doc for judged in qrels.judged for doc, grade in judged.items() if grade >= 0}
    unjudged = sum(topic.unjudged for topic in topics)
    return QrelsCounts(
        qrels.name,
        rel,
        topics,
        dict(sorted(grades.items())),
        len(documents),
        unjudged,
        tuple(_notes(qrels, unjudged, known)),
    )


def _topic(query: str, grades: Mapping[str, float], rel: float) -> TopicCounts:
    values = np.fromiter(grades.values(), dtype=np.float64, count=len(grades))
    judged = values[values >= 0]
    found = {float(grade): int(number) for grade, number in zip(*np.unique(judged, return_counts=True), strict=True)}
    return TopicCounts(query, len(judged), int(np.count_nonzero(judged >= rel)), found, len(values) - len(judged))


def _notes(qrels: Qrels, unjudged: int, known: Provenance | None) -> Iterator[str]:
    if known is not None:
        yield describe_provenance(known)
    yield from qrels.notes
    if unjudged:
        yield f"{pluralize(unjudged, 'document')} with a negative grade: pooled but not judged, and not counted."
    if qrels.has_subtopics:
        yield (
            "the second column holds subtopics: a document counts once for a topic, with its highest grade "
            f"({pluralize(qrels.merged, 'document')} with several judgments)."
        )
    if is_clicks(qrels):
        yield "these grades come from clicks; nobody judged."
