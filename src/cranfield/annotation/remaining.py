"""How much is left for whom, worked out in one way for all who are told: judges, progress and `judgments status`.

A pair is *full* when as many people have judged it as it is to get judgments: `pairs.judged`, among which models do not
count, has come to `pairs.wanted`. It is *left* for an assessor as long as it is not full, this assessor has neither
judged it nor said that it cannot be judged, and it is theirs: meant for their seat at the topic, or in their order
already. A repeat is left until it is dealt with, if its original is judged or left. Nothing is left of a topic that is
given to others. None of this depends on how far an order is laid out.
"""

from __future__ import annotations

from collections.abc import Mapping

from cranfield.annotation.database import Connection
from cranfield.annotation.presentation_order import pairs_in, repeats_in, standing
from cranfield.base import Record

Work = tuple[str, str]  # of an assessor, on a topic

_TO_DO = ("open", "waiting")
_NOT_SETTLED = """
    NOT EXISTS (
        SELECT 1 FROM states s
        WHERE s.pair = p.pair AND s.assessor = ? AND s.again = 0 AND s.kind IN ('judge', 'cannot')
    )
"""


class Size(Record):
    """How long an assessor's order of a topic is, and how much of it was put off."""

    places: int
    skipped: int = 0


def is_dealt(at: Connection) -> bool:
    """Whether topics are given to people; as long as none is, everybody may judge everything."""
    return at.value("SELECT 1 FROM assignments LIMIT 1") is not None


def seats(at: Connection, assessor: str | None = None, query: str | None = None) -> dict[Work, int]:
    """The seat of an assessor, or of everybody, at each topic, in the order of topics.

    Where nothing is given to anybody, it is the first at every topic, for the one who asks or else for all who have
    begun.
    """
    only, values = _only(assessor, query, "a")
    if is_dealt(at):
        rows = at.rows(
            f"""
            SELECT a.assessor, a.query, a.seat FROM assignments a JOIN topics t ON t.query = a.query
            WHERE 1 = 1 {only} ORDER BY t.number
            """,
            *values,
        )
        return {(name, topic): int(seat) for name, topic, seat in rows}
    names = (
        [assessor] if assessor is not None else [name for (name,) in at.rows("SELECT DISTINCT assessor FROM orders")]
    )
    topics = at.rows("SELECT query FROM topics ORDER BY number")
    return {(name, topic): 0 for (topic,) in topics if query in (None, topic) for name in names}


def left(at: Connection, assessor: str | None = None, query: str | None = None) -> dict[Work, int]:
    """How many documents are left of each topic, for an assessor or for everybody, repeats and gold pairs included."""
    seated = seats(at, assessor, query)
    counts = _for_seats(at, seated, assessor, query)
    for work, n in [*_beyond(at, seated, assessor, query), *_repeats(at, assessor, query)]:
        if work in counts:
            counts[work] += n
    return counts


def sizes(at: Connection, assessor: str) -> dict[str, Size]:
    """The topics of an assessor in their order, and how many documents each has for them."""
    seated = {query: seat for (_, query), seat in seats(at, assessor).items()}
    made = {
        query: (int(length), rest)
        for query, length, rest in at.rows("SELECT query, length, rest FROM orders WHERE assessor = ?", assessor)
    }
    places = {query: made[query][0] if query in made else 0 for query in seated}
    for query, wanted, n in at.rows("SELECT query, wanted, COUNT(*) FROM pairs GROUP BY query, wanted"):
        if query in seated and query not in made and wanted > seated[query]:
            places[query] += n
    rests = {query: set(pairs_in(rest)) for query, (_, rest) in made.items() if rest}
    joining = at.rows(
        """
        SELECT p.query, p.pair, p.wanted FROM orders o JOIN pairs p ON p.query = o.query AND p.pair > o.reach
        WHERE o.assessor = ? AND NOT EXISTS (
            SELECT 1 FROM places l WHERE l.pair = p.pair AND l.assessor = o.assessor AND l.again = 0
        )
        """,
        assessor,
    )
    for query, pair, wanted in joining:
        if query in seated and wanted > seated[query] and pair not in rests.get(query, ()):
            places[query] += 1
    skipped = at.rows(
        "SELECT query, COUNT(*) FROM places WHERE assessor = ? AND status = 'open' AND later > 0 GROUP BY query",
        assessor,
    )
    put_off = {query: int(n) for query, n in skipped}
    return {query: Size(n, put_off.get(query, 0)) for query, n in places.items()}


def _only(assessor: str | None, query: str | None, table: str) -> tuple[str, list[str]]:
    """Conditions for one assessor and one topic, where they are named."""
    named = {"assessor": assessor, "query": query}
    values = {column: value for column, value in named.items() if value is not None}
    return "".join(f" AND {table}.{column} = ?" for column in values), list(values.values())


def _for_seats(at: Connection, seated: Mapping[Work, int], assessor: str | None, query: str | None) -> dict[Work, int]:
    """Pairs that are meant for the seats, not full, and not settled by those who sit there.

    Counted as all that are not full less those that somebody settled: pairs and judgments are gone through once each,
    and not every pair for every assessor.
    """
    one, own = ("", []) if query is None else (" AND p.query = ?", [query])
    not_full: dict[str, list[tuple[int, int]]] = {}
    for topic, wanted, n in at.rows(
        f"SELECT query, wanted, COUNT(*) FROM pairs p WHERE judged < wanted {one} GROUP BY query, wanted", *own
    ):
        not_full.setdefault(topic, []).append((wanted, int(n)))
    counts = {work: sum(n for wanted, n in not_full.get(work[1], ()) if wanted > seat) for work, seat in seated.items()}
    if assessor is not None:
        one, own = f"{one} AND s.assessor = ?", [*own, assessor]
        if query is None:  # there is no index of the states of somebody, but one of events
            one, own = f"{one} AND s.pair IN (SELECT pair FROM events WHERE assessor = ?)", [*own, assessor]
    for name, topic, wanted, n in at.rows(
        f"""
        SELECT s.assessor, p.query, p.wanted, COUNT(*) FROM states s JOIN pairs p ON p.pair = s.pair
        WHERE s.again = 0 AND s.kind IN ('judge', 'cannot') AND p.judged < p.wanted {one}
        GROUP BY s.assessor, p.query, p.wanted
        """,
        *own,
    ):
        if wanted > seated.get((name, topic), wanted):
            counts[name, topic] -= int(n)
    return counts


def _beyond(
    at: Connection, seated: Mapping[Work, int], assessor: str | None, query: str | None
) -> list[tuple[Work, int]]:
    """Pairs that are not meant for a seat but are in the order: found by searching, or from before the plan changed."""
    if not any(seated.values()):
        return []
    only, values = _only(assessor, query, "a")
    laid = at.rows(
        f"""
        SELECT a.assessor, a.query, COUNT(*) FROM assignments a
        JOIN places l ON l.assessor = a.assessor AND l.query = a.query AND l.again = 0 AND l.status = 'open'
        JOIN pairs p ON p.pair = l.pair AND p.wanted <= a.seat AND p.judged < p.wanted
        WHERE a.seat > 0 {only} GROUP BY a.assessor, a.query
        """,
        *values,
    )
    found = [((name, topic), int(n)) for name, topic, n in laid]
    for (name, topic), rest in _rests(at, assessor, query).items():
        if seated.get((name, topic)):
            others = at.rows(
                f"SELECT pair FROM pairs p WHERE query = ? AND wanted <= ? AND judged < wanted AND {_NOT_SETTLED}",
                topic,
                seated[name, topic],
                name,
            )
            found.append(((name, topic), len(set(pairs_in(rest)) & {pair for (pair,) in others})))
    return found


def _repeats(at: Connection, assessor: str | None, query: str | None) -> list[tuple[Work, int]]:
    only, values = _only(assessor, query, "l")
    laid = at.rows(
        f"""
        SELECT assessor, query, COUNT(*) FROM places l WHERE again = 1 AND status IN (?, ?) {only}
        GROUP BY assessor, query
        """,
        *_TO_DO,
        *values,
    )
    found = [((name, topic), int(n)) for name, topic, n in laid]
    for (name, topic), rest in _rests(at, assessor, query).items():
        if repeats := repeats_in(rest):
            known = standing(at, name, repeats)
            found.append(((name, topic), sum(known[pair][1][0] in _TO_DO for pair in repeats)))
    return found


def _rests(at: Connection, assessor: str | None, query: str | None) -> dict[Work, str]:
    """The ends of orders that have no places yet."""
    only, values = _only(assessor, query, "o")
    rows = at.rows(f"SELECT assessor, query, rest FROM orders o WHERE rest <> '' {only}", *values)
    return {(name, topic): rest for name, topic, rest in rows}
