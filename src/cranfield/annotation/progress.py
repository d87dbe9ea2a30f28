"""Progress, pace and agreement of the assessors, for coordinators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from cranfield.annotation.assignment import Assignment, list_assignments
from cranfield.annotation.database import Connection
from cranfield.annotation.log import HUMAN_ASSESSORS, Judgment, JudgmentLog
from cranfield.annotation.remaining import AssessorTopic, count_remaining, has_assignments
from cranfield.annotation.settings import load_settings
from cranfield.base import Record
from cranfield.stats import as_ratings, compute_agreement

PAUSE_MS = 300_000  # a longer time is a break, not a judgment
MIN_TIMED = 5  # with fewer timed judgments a pace is only a rough estimate


class Pace(Record):
    """The pace of judging: the median of the active times, without breaks.

    >>> Pace.of([12_000, 20_000, 16_000])
    Pace(timed=3, seconds=16.0)
    """

    timed: int = 0  # judgments with a known time
    seconds: float | None = None  # per judgment

    @classmethod
    def of(cls, times: Sequence[int]) -> Pace:
        """The pace of judgments, from their times in milliseconds."""
        return cls(len(times), median(times) / 1000) if times else cls()

    @property
    def per_hour(self) -> float | None:
        return 3600 / self.seconds if self.seconds else None

    def hours_for(self, judgments: int | None) -> float | None:
        """The time for more judgments; None if their number or the pace is unknown."""
        return judgments * self.seconds / 3600 if self.seconds and judgments is not None else None


class TopicProgress(Record):
    """The progress of a topic."""

    query: str
    pairs: int
    judged: int  # with at least one judgment (here and below, by people)
    complete: int  # with all the judgments they need
    disputed: int
    adjudicated: int
    relevant: int  # with any grade above the lowest
    cannot: int  # marked by somebody as impossible to judge
    left: int = 0  # judgments its pairs still need
    timed: int = 0  # judgments by people with a known time; fewer than MIN_TIMED give a rough pace
    seconds: float | None = None  # per judgment, the median
    per_hour: float | None = None
    hours_left: float | None = None  # of work, by anybody


class AssessorProgress(Record):
    """The progress of an assessor."""

    assessor: str
    is_model: bool
    topics: int  # assigned; without assignments, started
    judged: int
    cannot: int
    skipped: int
    left: int | None  # in assigned topics, or in all without assignments; None if there is no work
    timed: int  # judgments with a known time; fewer than MIN_TIMED give a rough pace
    seconds: float | None  # per judgment, the median
    per_hour: float | None
    hours_left: float | None
    gold: tuple[int, int]  # gold pairs judged correctly, and all that were judged
    repeats: tuple[int, int]  # repeats judged as the first time, and all that were judged
    last_at: str | None


class WorkProgress(Record):
    """The progress of an assessor on a topic that is assigned to them or that they started."""

    assessor: str
    is_model: bool
    query: str
    judged: int
    cannot: int
    skipped: int
    left: int
    timed: int
    seconds: float | None
    per_hour: float | None
    hours_left: float | None


class Progress(Record):
    """The progress of a log."""

    topics: tuple[TopicProgress, ...]
    assessors: tuple[AssessorProgress, ...]
    work: tuple[WorkProgress, ...] = ()  # of each assessor on each topic, in the order of topics
    has_assignments: bool = False

    @property
    def hours_left(self) -> float | None:
        """The time to complete everything at this pace; None as long as no pace is known.

        With assignments the slowest assessor decides. Without, all assessors share the remaining documents as far as
        they can: documents that one of them could not judge take none of their time.
        """
        own = [one for one in self.assessors if not one.is_model]
        if self.has_assignments:
            return max((one.hours_left for one in own if one.hours_left is not None), default=None)
        pace = sum(one.per_hour for one in own if one.per_hour is not None)
        return min(self.wanted, sum(one.left or 0 for one in own)) / pace if pace else None

    @property
    def wanted(self) -> int:
        """Judgments still needed, over all topics."""
        return sum(topic.left for topic in self.topics)

    @property
    def pairs(self) -> int:
        return sum(topic.pairs for topic in self.topics)

    @property
    def judged(self) -> int:
        return sum(topic.judged for topic in self.topics)

    @property
    def complete(self) -> int:
        return sum(topic.complete for topic in self.topics)

    @property
    def disputed(self) -> int:
        return sum(topic.disputed - topic.adjudicated for topic in self.topics)


def compute_progress(log: JudgmentLog) -> Progress:
    """The progress of every topic and assessor. Gold pairs and repeats are counted separately."""
    judged, assigned, models = log.judgments(), list_assignments(log), log.models()
    times, remaining, started = log.read(_times), log.read(count_remaining), log.read(_started)
    owners = {(one.assessor, one.query) for one in assigned} | started | {(one.assessor, one.query) for one in judged}
    topics = log.read(lambda db: _topics(db, _combine_paces(times, 1, without=models)))
    number = {topic.query: i for i, topic in enumerate(topics)}
    return Progress(
        topics,
        _assessors(log.assessors(), judged, assigned, models, times, remaining),
        _work(sorted(owners, key=lambda work: (number[work[1]], work[0])), judged, models, times, remaining),
        log.read(has_assignments),
    )


def measure_agreement(log: JudgmentLog, rel: float = 1.0, resamples: int = 0) -> dict[str, Any]:
    """The agreement between people who judged the same pairs, by the name of each statistic in `stats`.

    Empty as long as no pair has two judgments. Models are left out.
    """
    models = log.models()
    judged = [one for one in select_counted(log.judgments()) if one.assessor not in models]
    names = list(dict.fromkeys(one.assessor for one in judged))
    column = {name: i for i, name in enumerate(names)}
    rows: dict[tuple[str, str], list[float | None]] = {}
    for one in judged:
        rows.setdefault((one.query, one.doc), [None] * len(names))[column[one.assessor]] = one.grade
    if not any(sum(grade is not None for grade in row) > 1 for row in rows.values()):
        return {}
    queries = {query: i for i, query in enumerate(dict.fromkeys(query for query, _ in rows))}
    ratings = as_ratings(list(rows.values()), log.settings.scale.values)
    units = np.array([queries[query] for query, _ in rows], dtype=np.int64)
    return dict(compute_agreement(ratings, units, rel=rel, resamples=resamples))


def select_counted(judgments: Sequence[Judgment]) -> list[Judgment]:
    """The judgments that count: grades, without repeats and gold pairs."""
    return [one for one in judgments if one.kind == "judge" and not one.again and one.gold is None]


def _topics(db: Connection, pace: Mapping[str, Pace]) -> tuple[TopicProgress, ...]:
    settings = load_settings(db)
    rows = db.rows(
        """
        SELECT t.query, COUNT(p.pair), SUM(CASE WHEN p.judged > 0 THEN 1 ELSE 0 END),
            SUM(CASE WHEN p.judged >= p.wanted THEN 1 ELSE 0 END),
            SUM(CASE WHEN p.spread > 0 AND p.spread >= ? THEN 1 ELSE 0 END),
            SUM(CASE WHEN p.spread > 0 AND p.spread >= ? AND p.adjudicated IS NOT NULL THEN 1 ELSE 0 END),
            SUM(CASE WHEN p.judged < p.wanted THEN p.wanted - p.judged ELSE 0 END)
        FROM topics t LEFT JOIN pairs p ON p.query = t.query AND p.gold IS NULL
        GROUP BY t.query, t.number ORDER BY t.number
        """,
        settings.dispute,
        settings.dispute,
    )
    relevant = _count_pairs(db, "s.kind = 'judge' AND s.grade > ?", settings.scale.values[0])
    cannot = _count_pairs(db, "s.kind = ?", "cannot")
    return tuple(
        TopicProgress(
            query,
            pairs=int(pairs),
            judged=int(judged or 0),
            complete=int(complete or 0),
            disputed=int(disputed or 0),
            adjudicated=int(adjudicated or 0),
            relevant=relevant.get(query, 0),
            cannot=cannot.get(query, 0),
            left=int(left or 0),
            **_pace_fields(pace.get(query, Pace()), int(left or 0)),
        )
        for query, pairs, judged, complete, disputed, adjudicated, left in rows
    )


def _count_pairs(db: Connection, condition: str, value: object) -> dict[str, int]:
    rows = db.rows(
        f"""
        SELECT p.query, COUNT(DISTINCT p.pair) FROM states s JOIN pairs p ON p.pair = s.pair
        WHERE s.again = 0 AND s.assessor IN {HUMAN_ASSESSORS} AND p.gold IS NULL AND {condition} GROUP BY p.query
        """,
        value,
    )
    return {query: int(n) for query, n in rows}


def _pace_fields(pace: Pace, left: int | None) -> dict[str, Any]:
    """The fields on pace that all three kinds of progress share."""
    return {
        "timed": pace.timed,
        "seconds": pace.seconds,
        "per_hour": pace.per_hour,
        "hours_left": pace.hours_for(left),
    }


def _assessors(
    names: Sequence[str],
    judged: Sequence[Judgment],
    assignments: Sequence[Assignment],
    models: Collection[str],
    times: Mapping[AssessorTopic, Sequence[int]],
    remaining: Mapping[AssessorTopic, int],
) -> tuple[AssessorProgress, ...]:
    own: dict[str, list[Judgment]] = {name: [] for name in names}
    for one in judged:
        own.setdefault(one.assessor, []).append(one)
    assigned: dict[str, set[str]] = {}
    for assignment in assignments:
        assigned.setdefault(assignment.assessor, set()).add(assignment.query)
    sums: dict[str, int] = {}
    for (name, _), n in remaining.items():
        sums[name] = sums.get(name, 0) + n
    pace = _combine_paces(times, 0)
    return tuple(
        _assessor(name, mine, pace.get(name, Pace()), sums.get(name), assigned.get(name), name in models)
        for name, mine in own.items()
    )


def _assessor(
    name: str,
    own: Sequence[Judgment],
    pace: Pace,
    left: int | None,
    assigned: set[str] | None,
    is_model: bool,
) -> AssessorProgress:
    plain = [one for one in own if not one.again and one.gold is None]
    gold = [one for one in own if one.gold is not None and one.kind == "judge" and not one.again]
    first = {(one.query, one.doc): one.grade for one in own if one.kind == "judge" and not one.again}
    again = [one for one in own if one.again and one.kind == "judge" and (one.query, one.doc) in first]
    return AssessorProgress(
        assessor=name,
        is_model=is_model,
        topics=len(assigned if assigned is not None else {one.query for one in own}),
        judged=sum(one.kind == "judge" for one in plain),
        cannot=sum(one.kind == "cannot" for one in plain),
        skipped=sum(one.kind == "skip" for one in plain),
        left=left,
        **_pace_fields(pace, left),
        gold=(sum(one.grade == one.gold for one in gold), len(gold)),
        repeats=(sum(one.grade == first[one.query, one.doc] for one in again), len(again)),
        last_at=max((one.recorded_at for one in own), default=None),
    )


def _work(
    owners: Sequence[AssessorTopic],
    judged: Sequence[Judgment],
    models: Collection[str],
    times: Mapping[AssessorTopic, Sequence[int]],
    remaining: Mapping[AssessorTopic, int],
) -> tuple[WorkProgress, ...]:
    counts: dict[AssessorTopic, Counter[str]] = {owner: Counter() for owner in owners}
    for one in judged:
        if not one.again and one.gold is None:
            counts[one.assessor, one.query][one.kind] += 1
    return tuple(
        WorkProgress(
            assessor=name,
            is_model=name in models,
            query=query,
            judged=kinds["judge"],
            cannot=kinds["cannot"],
            skipped=kinds["skip"],
            left=remaining.get((name, query), 0),
            **_pace_fields(Pace.of(times.get((name, query), ())), remaining.get((name, query), 0)),
        )
        for (name, query), kinds in counts.items()
    )


def _combine_paces(
    times: Mapping[AssessorTopic, Sequence[int]], by: int, without: Collection[str] = frozenset()
) -> dict[str, Pace]:
    """The pace by assessor (0) or by topic (1)."""
    combined: dict[str, list[int]] = {}
    for work, own in times.items():
        if work[0] not in without:
            combined.setdefault(work[by], []).extend(own)
    return {name: Pace.of(own) for name, own in combined.items()}


def _times(db: Connection) -> dict[AssessorTopic, list[int]]:
    """The times of judgments in milliseconds, without breaks."""
    times: dict[AssessorTopic, list[int]] = {}
    for name, query, ms in db.rows(
        """
        SELECT assessor, query, active_ms FROM events
        WHERE kind = 'judge' AND query IS NOT NULL AND active_ms > 0 AND active_ms <= ?
        """,
        PAUSE_MS,
    ):
        times.setdefault((name, query), []).append(ms)
    return times


def _started(db: Connection) -> set[AssessorTopic]:
    return {(name, query) for name, query in db.rows("SELECT assessor, query FROM orders")}
