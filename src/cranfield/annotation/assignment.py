"""Assignment of topics to assessors. A topic has as many seats as its pairs need judgments."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from cranfield.annotation.database import Connection
from cranfield.annotation.events import check_assessor_name
from cranfield.annotation.log import JudgmentLog, ensure_assessor, require_topic
from cranfield.annotation.remaining import has_assignments
from cranfield.annotation.settings import load_settings
from cranfield.base import Record, pluralize
from cranfield.errors import InputError


class Assignment(Record):
    """A topic assigned to an assessor.

    Seat 0 includes every pair of the topic, seat 1 those that need two judgments or more, and so on. Several assessors
    in the same seat share its pairs: each gets those that the others have not judged.
    """

    assessor: str
    query: str
    seat: int = 0


def assign(log: JudgmentLog, assignments: Iterable[Assignment]) -> None:
    """Assign topics to assessors. As long as nothing is assigned, everybody may judge everything."""
    added = list(assignments)
    log.write(lambda db: _assign(db, added))


def _assign(db: Connection, assignments: Iterable[Assignment], replace: bool = False) -> None:
    if replace:
        db.run("DELETE FROM assignments")
    for one in assignments:
        name = check_assessor_name(one.assessor)
        require_topic(db, one.query)
        ensure_assessor(db, name)
        db.run(
            """
            INSERT INTO assignments VALUES (?, ?, ?)
            ON CONFLICT (assessor, query) DO UPDATE SET seat = excluded.seat
            """,
            name,
            one.query,
            one.seat,
        )
        db.run("UPDATE orders SET reach = 0 WHERE assessor = ? AND query = ?", name, one.query)
    _release_holds(db)


def _release_holds(db: Connection) -> None:
    """Release what is held for assessors to whom the topic is no longer assigned."""
    if has_assignments(db):
        db.run(
            """
            DELETE FROM holds WHERE NOT EXISTS (
                SELECT 1 FROM pairs p JOIN assignments a ON a.query = p.query
                WHERE p.pair = holds.pair AND a.assessor = holds.assessor
            )
            """
        )


def unassign(log: JudgmentLog, assessor: str, queries: Iterable[str] | None = None) -> None:
    """Remove assignments of an assessor, or all of them. Judgments stay; a document being shown can still be judged."""
    topics = None if queries is None else list(queries)

    def work(db: Connection) -> None:
        if topics is None:
            db.run("DELETE FROM assignments WHERE assessor = ?", assessor)
        for query in topics or []:
            db.run("DELETE FROM assignments WHERE assessor = ? AND query = ?", assessor, query)
        _release_holds(db)

    log.write(work)


def list_assignments(log: JudgmentLog) -> list[Assignment]:
    """All assignments, in the order of topics."""
    statement = """
        SELECT a.assessor, a.query, a.seat FROM assignments a JOIN topics t ON t.query = a.query
        ORDER BY t.number, a.seat, a.assessor
    """
    return [Assignment(*row) for row in log.read(lambda db: db.rows(statement))]


def assign_evenly(log: JudgmentLog, assessors: Sequence[str], replace: bool = False) -> list[Assignment]:
    """Assign all topics evenly: each to as many assessors as its pairs need judgments, with similar work for all.

    With `replace`, earlier assignments are removed in the same transaction: on an error, they stay as they were.
    """
    names = list(dict.fromkeys(map(check_assessor_name, assessors)))
    settings = log.read(load_settings)
    seats = settings.judgments + (settings.overlap > 0)
    if len(names) < seats:
        raise InputError(
            f"some pairs need {pluralize(seats, 'judgment')} by different assessors; found "
            f"{pluralize(len(names), 'assessor')}."
        )
    wanted = log.read(lambda db: db.rows("SELECT query, wanted FROM pairs WHERE gold IS NULL"))
    sizes: dict[str, list[int]] = {query: [0] * seats for query in log.topics()}
    for query, n in wanted:
        for seat in range(min(n, seats)):
            sizes[query][seat] += 1
    assigned = balance_topics(sizes, names, random.Random(settings.seed))
    log.write(lambda db: _assign(db, assigned, replace))
    return assigned


def balance_topics(
    sizes: Mapping[str, Sequence[int]], assessors: Sequence[str], rng: random.Random
) -> list[Assignment]:
    """Assign every seat of every topic, the largest first, to the assessor with the least work so far.

    >>> [(a.assessor, a.query) for a in balance_topics({"1": [9], "2": [5], "3": [4]}, ["ada"], random.Random(1))]
    [('ada', '1'), ('ada', '2'), ('ada', '3')]
    """
    names = list(assessors)
    rng.shuffle(names)
    load = dict.fromkeys(names, 0)
    taken: dict[str, set[str]] = {query: set() for query in sizes}
    seats = [(size, query, seat) for query, by_seat in sizes.items() for seat, size in enumerate(by_seat)]
    assigned = {}
    for size, query, seat in sorted(seats, key=lambda one: -one[0]):
        name = min((name for name in names if name not in taken[query]), key=lambda name: load[name])
        load[name] += size
        taken[query].add(name)
        assigned[query, seat] = Assignment(name, query, seat)
    return [assigned[query, seat] for query, by_seat in sizes.items() for seat in range(len(by_seat))]
