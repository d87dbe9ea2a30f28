"""Who judges what: topics are dealt to assessors, with as many seats at each as pairs get judgments."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from cranfield.annotation.database import Connection
from cranfield.annotation.events import checked_assessor
from cranfield.annotation.log import JudgmentLog, ensure_assessor, require_topic
from cranfield.annotation.remaining import is_dealt
from cranfield.annotation.settings import load_settings
from cranfield.base import Record, pluralize
from cranfield.errors import InputError


class Assignment(Record):
    """A topic that is given to an assessor.

    In seat 0 every pair of the topic is judged, in seat 1 those that get two judgments or more, and so on. Several
    assessors in the same seat share its pairs: each gets those that the others have not.
    """

    assessor: str
    query: str
    seat: int = 0


def assign(log: JudgmentLog, assignments: Iterable[Assignment]) -> None:
    """Give topics to assessors. As long as nothing is assigned, everybody may judge everything."""
    given = list(assignments)
    log.write(lambda at: _give(at, given))


def _give(at: Connection, given: Iterable[Assignment], anew: bool = False) -> None:
    if anew:
        at.run("DELETE FROM assignments")
    for one in given:
        name = checked_assessor(one.assessor)
        require_topic(at, one.query)
        ensure_assessor(at, name)
        at.run(
            """
            INSERT INTO assignments VALUES (?, ?, ?)
            ON CONFLICT (assessor, query) DO UPDATE SET seat = excluded.seat
            """,
            name,
            one.query,
            one.seat,
        )
        at.run("UPDATE orders SET reach = 0 WHERE assessor = ? AND query = ?", name, one.query)
    _let_go(at)


def _let_go(at: Connection) -> None:
    """Let others have what is held for somebody whose topic it is no longer."""
    if is_dealt(at):
        at.run(
            """
            DELETE FROM holds WHERE NOT EXISTS (
                SELECT 1 FROM pairs p JOIN assignments a ON a.query = p.query
                WHERE p.pair = holds.pair AND a.assessor = holds.assessor
            )
            """
        )


def unassign(log: JudgmentLog, assessor: str, queries: Iterable[str] | None = None) -> None:
    """Take topics, or all of them, from an assessor; what was judged stays, and what is on the desk can still be."""
    wanted = None if queries is None else list(queries)

    def work(at: Connection) -> None:
        if wanted is None:
            at.run("DELETE FROM assignments WHERE assessor = ?", assessor)
        for query in wanted or []:
            at.run("DELETE FROM assignments WHERE assessor = ? AND query = ?", assessor, query)
        _let_go(at)

    log.write(work)


def assignments(log: JudgmentLog) -> list[Assignment]:
    """Who has which topic, in the order of topics."""
    statement = """
        SELECT a.assessor, a.query, a.seat FROM assignments a JOIN topics t ON t.query = a.query
        ORDER BY t.number, a.seat, a.assessor
    """
    return [Assignment(*row) for row in log.read(lambda at: at.rows(statement))]


def deal(log: JudgmentLog, assessors: Sequence[str], anew: bool = False) -> list[Assignment]:
    """Deal all topics to assessors: each topic to as many as its pairs get judgments, all with about as much to do.

    With `anew`, what was given before is taken back, all at once with what is given: if it cannot be done, the plan
    stays as it was.
    """
    names = list(dict.fromkeys(map(checked_assessor, assessors)))
    settings = log.read(load_settings)
    seats = settings.judgments + (settings.overlap > 0)
    if len(names) < seats:
        raise InputError(
            f"some pairs get {pluralize(seats, 'judgment')}, each by somebody else; found "
            f"{pluralize(len(names), 'assessor')}."
        )
    wanted = log.read(lambda at: at.rows("SELECT query, wanted FROM pairs WHERE gold IS NULL"))
    sizes: dict[str, list[int]] = {query: [0] * seats for query in log.topics()}
    for query, n in wanted:
        for seat in range(min(n, seats)):
            sizes[query][seat] += 1
    dealt = deal_topics(sizes, names, random.Random(settings.seed))
    log.write(lambda at: _give(at, dealt, anew))
    return dealt


def deal_topics(
    sizes: Mapping[str, Sequence[int]], assessors: Sequence[str], chance: random.Random
) -> list[Assignment]:
    """Give every seat of every topic to somebody, the largest first, to whoever has least to do by then.

    >>> [(a.assessor, a.query) for a in deal_topics({"1": [9], "2": [5], "3": [4]}, ["ada"], random.Random(1))]
    [('ada', '1'), ('ada', '2'), ('ada', '3')]
    """
    names = list(assessors)
    chance.shuffle(names)
    load = dict.fromkeys(names, 0)
    taken: dict[str, set[str]] = {query: set() for query in sizes}
    seats = [(size, query, seat) for query, seated in sizes.items() for seat, size in enumerate(seated)]
    given = {}
    for size, query, seat in sorted(seats, key=lambda one: -one[0]):
        name = min((name for name in names if name not in taken[query]), key=lambda name: load[name])
        load[name] += size
        taken[query].add(name)
        given[query, seat] = Assignment(name, query, seat)
    return [given[query, seat] for query, seated in sizes.items() for seat in range(len(seated))]
