"""How far judging is, how fast it goes, and how much judges agree: for coordinators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import Any

from cranfield.annotation.assignment import Assignment, assignments
from cranfield.annotation.database import Connection
from cranfield.annotation.log import PEOPLE, Judgment, JudgmentLog
from cranfield.annotation.remaining import Work, is_dealt, left
from cranfield.annotation.settings import load_settings
from cranfield.base import Record

PAUSE_MS = 300_000  # longer than this is not looking at a document but something else
FEW = 5  # timed judgments, below which a pace is rough


class Pace(Record):
    """How fast judging goes: the median of the active times, pauses left out.

    >>> Pace.of([12_000, 20_000, 16_000])
    Pace(timed=3, seconds=16.0)
    """

    timed: int = 0  # judgments whose time is known
    seconds: float | None = None  # for one judgment

    @classmethod
    def of(cls, times: Sequence[int]) -> Pace:
        """The pace of judgments that took so many milliseconds."""
        return cls(len(times), median(times) / 1000) if times else cls()

    @property
    def per_hour(self) -> float | None:
        return 3600 / self.seconds if self.seconds else None

    def hours_for(self, judgments: int | None) -> float | None:
        """How long some more take; None where that, or the pace, is not known."""
        return judgments * self.seconds / 3600 if self.seconds and judgments is not None else None


class TopicProgress(Record):
    """How far a topic is, and how fast."""

    query: str
    pairs: int
    judged: int  # with at least one judgment; here and below, of people
    complete: int  # with all the judgments they are to get
    disputed: int
    adjudicated: int
    relevant: int  # with some grade above the lowest
    cannot: int  # that somebody could not judge
    left: int = 0  # judgments that its pairs are still to get
    timed: int = 0  # judgments by people whose time is known: of fewer than FEW, the pace is rough
    seconds: float | None = None  # for one judgment, the median
    per_hour: float | None = None
    hours_left: float | None = None  # of work, for whoever does it


class AssessorProgress(Record):
    """How far an assessor is, and how fast."""

    assessor: str
    is_model: bool
    topics: int  # assigned, or begun where nothing is assigned
    judged: int
    cannot: int
    skipped: int
    left: int | None  # in assigned topics, or in all where none is assigned; None for who has nothing to do
    timed: int  # judgments whose time is known: of fewer than FEW, the pace is rough
    seconds: float | None  # for one judgment, the median
    per_hour: float | None
    hours_left: float | None
    gold: tuple[int, int]  # gold pairs judged as known, and all that were judged
    repeats: tuple[int, int]  # repeats judged as the first time, and all that were judged
    last_at: str | None


class WorkProgress(Record):
    """How far an assessor is with a topic that is theirs or that they began, and how fast."""

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
    """How far judging is."""

    topics: tuple[TopicProgress, ...]
    assessors: tuple[AssessorProgress, ...]
    work: tuple[WorkProgress, ...] = ()  # of each assessor on each topic, in the order of topics
    is_dealt: bool = False  # whether topics are given to people

    @property
    def hours_left(self) -> float | None:
        """How long it takes at this pace; None as long as no pace is known.

        Where topics are given to people, the slowest decides; else all who judge share what is left, as far as they
        can: what each of them could not judge takes none of their time.
        """
        own = [one for one in self.assessors if not one.is_model]
        if self.is_dealt:
            return max((one.hours_left for one in own if one.hours_left is not None), default=None)
        pace = sum(one.per_hour for one in own if one.per_hour is not None)
        return min(self.wanted, sum(one.left or 0 for one in own)) / pace if pace else None

    @property
    def wanted(self) -> int:
        """Judgments that are still to be made, over all topics."""
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


def progress(log: JudgmentLog) -> Progress:
    """How far every topic and every assessor is. Gold pairs and repeats are counted apart."""
    judged, given, models = log.judgments(), assignments(log), log.models()
    times, todo, begun = log.read(_times), log.read(left), log.read(_begun)
    owners = {(one.assessor, one.query) for one in given} | begun | {(one.assessor, one.query) for one in judged}
    topics = log.read(lambda at: _topics(at, _together(times, 1, leaving_out=models)))
    number = {topic.query: i for i, topic in enumerate(topics)}
    return Progress(
        topics,
        _assessors(log.assessors(), judged, given, models, times, todo),
        _work(sorted(owners, key=lambda work: (number[work[1]], work[0])), judged, models, times, todo),
        log.read(is_dealt),
    )


def agreement(log: JudgmentLog, rel: float = 1.0, resamples: int = 0) -> dict[str, Any]:
    """How far people agree where several judged the same pair: figures of `stats.agreement` by name.

    Empty as long as no pair has two judgments. Models are left out.
    """
    from cranfield.stats import as_ratings, compute_agreement

    models = log.models()
    judged = [one for one in plain_judgments(log.judgments()) if one.assessor not in models]
    names = list(dict.fromkeys(one.assessor for one in judged))
    column = {name: i for i, name in enumerate(names)}
    rows: dict[tuple[str, str], list[float | None]] = {}
    for one in judged:
        rows.setdefault((one.query, one.doc), [None] * len(names))[column[one.assessor]] = one.grade
    if not any(sum(grade is not None for grade in row) > 1 for row in rows.values()):
        return {}
    import numpy as np

    queries = {query: i for i, query in enumerate(dict.fromkeys(query for query, _ in rows))}
    ratings = as_ratings(list(rows.values()), log.settings.scale.values)
    units = np.array([queries[query] for query, _ in rows], dtype=np.int64)
    return dict(compute_agreement(ratings, units, rel=rel, resamples=resamples))


def plain_judgments(judgments: Sequence[Judgment]) -> list[Judgment]:
    """Those that count: grades, without repeats and gold pairs."""
    return [one for one in judgments if one.kind == "judge" and not one.again and one.gold is None]


def _topics(at: Connection, pace: Mapping[str, Pace]) -> tuple[TopicProgress, ...]:
    settings = load_settings(at)
    rows = at.rows(
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
    relevant = _count_pairs(at, "s.kind = 'judge' AND s.grade > ?", settings.scale.values[0])
    cannot = _count_pairs(at, "s.kind = ?", "cannot")
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
            **_figures(pace.get(query, Pace()), int(left or 0)),
        )
        for query, pairs, judged, complete, disputed, adjudicated, left in rows
    )


def _count_pairs(at: Connection, condition: str, value: object) -> dict[str, int]:
    rows = at.rows(
        f"""
        SELECT p.query, COUNT(DISTINCT p.pair) FROM states s JOIN pairs p ON p.pair = s.pair
        WHERE s.again = 0 AND s.assessor IN {PEOPLE} AND p.gold IS NULL AND {condition} GROUP BY p.query
        """,
        value,
    )
    return {query: int(n) for query, n in rows}


def _figures(pace: Pace, left: int | None) -> dict[str, Any]:
    """A pace, and what is left at it, as all three kinds of progress tell them."""
    return {
        "timed": pace.timed,
        "seconds": pace.seconds,
        "per_hour": pace.per_hour,
        "hours_left": pace.hours_for(left),
    }


def _assessors(
    names: Sequence[str],
    judged: Sequence[Judgment],
    given: Sequence[Assignment],
    models: Collection[str],
    times: Mapping[Work, Sequence[int]],
    left: Mapping[Work, int],
) -> tuple[AssessorProgress, ...]:
    own: dict[str, list[Judgment]] = {name: [] for name in names}
    for one in judged:
        own.setdefault(one.assessor, []).append(one)
    assigned: dict[str, set[str]] = {}
    for one_assignment in given:
        assigned.setdefault(one_assignment.assessor, set()).add(one_assignment.query)
    sums: dict[str, int] = {}
    for (name, _), n in left.items():
        sums[name] = sums.get(name, 0) + n
    pace = _together(times, 0)
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
        **_figures(pace, left),
        gold=(sum(one.grade == one.gold for one in gold), len(gold)),
        repeats=(sum(one.grade == first[one.query, one.doc] for one in again), len(again)),
        last_at=max((one.recorded_at for one in own), default=None),
    )


def _work(
    owners: Sequence[Work],
    judged: Sequence[Judgment],
    models: Collection[str],
    times: Mapping[Work, Sequence[int]],
    left: Mapping[Work, int],
) -> tuple[WorkProgress, ...]:
    counts: dict[Work, Counter[str]] = {owner: Counter() for owner in owners}
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
            left=left.get((name, query), 0),
            **_figures(Pace.of(times.get((name, query), ())), left.get((name, query), 0)),
        )
        for (name, query), kinds in counts.items()
    )


def _together(
    times: Mapping[Work, Sequence[int]], by: int, leaving_out: Collection[str] = frozenset()
) -> dict[str, Pace]:
    """Paces by assessor (0) or by topic (1)."""
    found: dict[str, list[int]] = {}
    for work, own in times.items():
        if work[0] not in leaving_out:
            found.setdefault(work[by], []).extend(own)
    return {name: Pace.of(own) for name, own in found.items()}


def _times(at: Connection) -> dict[Work, list[int]]:
    """How many milliseconds judgments took, pauses left out."""
    times: dict[Work, list[int]] = {}
    for name, query, ms in at.rows(
        """
        SELECT assessor, query, active_ms FROM events
        WHERE kind = 'judge' AND query IS NOT NULL AND active_ms > 0 AND active_ms <= ?
        """,
        PAUSE_MS,
    ):
        times.setdefault((name, query), []).append(ms)
    return times


def _begun(at: Connection) -> set[Work]:
    return {(name, query) for name, query in at.rows("SELECT assessor, query FROM orders")}
