"""How much work remains for whom. Sessions, progress reports and `judgments status` all use these counts.

A pair is *full* when `pairs.judged`, the number of people who judged it, reaches `pairs.wanted`. It *remains* for an
assessor as long as it is not full, this assessor has neither judged it nor marked it as impossible to judge, and it is
theirs: their seat at the topic includes it, or it is in their order already. A repeat remains until it is done, if its
original is judged or remains. Nothing remains of a topic assigned to others only. How much of an order is laid out
makes no difference.
"""

from __future__ import annotations

from collections.abc import Mapping

from cranfield.annotation.database import Connection
from cranfield.annotation.log import JudgmentLog
from cranfield.annotation.presentation_order import load_statuses, parse_pairs, parse_repeats
from cranfield.base import Record

AssessorTopic = tuple[str, str]  # assessor and query

_PENDING = ("open", "waiting")
_NOT_DONE = """
    NOT EXISTS (
        SELECT 1 FROM states s
        WHERE s.pair = p.pair AND s.assessor = ? AND s.again = 0 AND s.kind IN ('judge', 'cannot')
    )
"""


class OrderSize(Record):
    """The length of an assessor's order of a topic, and how many of its documents were skipped."""

    places: int
    skipped: int = 0


def has_assignments(db: Connection) -> bool:
    """Whether any topic is assigned; as long as none is, everybody may judge everything."""
    return db.value("SELECT 1 FROM assignments LIMIT 1") is not None


def load_seats(db: Connection, assessor: str | None = None, query: str | None = None) -> dict[AssessorTopic, int]:
    """The seat of an assessor, or of everybody, at each topic, in the order of topics.

    Without assignments it is seat 0 at every topic, for the given assessor or for all who have started.
    """
    only, values = _only(assessor, query, "a")
    if has_assignments(db):
        rows = db.rows(
            f"""
            SELECT a.assessor, a.query, a.seat FROM assignments a JOIN topics t ON t.query = a.query
            WHERE 1 = 1 {only} ORDER BY t.number
            """,
            *values,
        )
        return {(name, topic): int(seat) for name, topic, seat in rows}
    names = (
        [assessor] if assessor is not None else [name for (name,) in db.rows("SELECT DISTINCT assessor FROM orders")]
    )
    topics = db.rows("SELECT query FROM topics ORDER BY number")
    return {(name, topic): 0 for (topic,) in topics if query in (None, topic) for name in names}


def count_remaining(db: Connection, assessor: str | None = None, query: str | None = None) -> dict[AssessorTopic, int]:
    """How many documents of each topic remain, for an assessor or for everybody, including repeats and gold pairs."""
    seats = load_seats(db, assessor, query)
    counts = _count_for_seats(db, seats, assessor, query)
    for work, n in [*_count_beyond_seat(db, seats, assessor, query), *_count_repeats(db, assessor, query)]:
        if work in counts:
            counts[work] += n
    return counts


def count_places(db: Connection, assessor: str) -> dict[str, OrderSize]:
    """The topics of an assessor in order, and how many documents each has for them."""
    seats = {query: seat for (_, query), seat in load_seats(db, assessor).items()}
    orders = {
        query: (int(length), rest)
        for query, length, rest in db.rows("SELECT query, length, rest FROM orders WHERE assessor = ?", assessor)
    }
    places = {query: orders[query][0] if query in orders else 0 for query in seats}
    for query, wanted, n in db.rows("SELECT query, wanted, COUNT(*) FROM pairs GROUP BY query, wanted"):
        if query in seats and query not in orders and wanted > seats[query]:
            places[query] += n
    rests = {query: set(parse_pairs(rest)) for query, (_, rest) in orders.items() if rest}
    added = db.rows(
        """
        SELECT p.query, p.pair, p.wanted FROM orders o JOIN pairs p ON p.query = o.query AND p.pair > o.reach
        WHERE o.assessor = ? AND NOT EXISTS (
            SELECT 1 FROM places l WHERE l.pair = p.pair AND l.assessor = o.assessor AND l.again = 0
        )
        """,
        assessor,
    )
    for query, pair, wanted in added:
        if query in seats and wanted > seats[query] and pair not in rests.get(query, ()):
            places[query] += 1
    skipped = db.rows(
        "SELECT query, COUNT(*) FROM places WHERE assessor = ? AND status = 'open' AND later > 0 GROUP BY query",
        assessor,
    )
    counts = {query: int(n) for query, n in skipped}
    return {query: OrderSize(n, counts.get(query, 0)) for query, n in places.items()}


def _only(assessor: str | None, query: str | None, table: str) -> tuple[str, list[str]]:
    """SQL conditions for one assessor and one topic, if given."""
    named = {"assessor": assessor, "query": query}
    values = {column: value for column, value in named.items() if value is not None}
    return "".join(f" AND {table}.{column} = ?" for column in values), list(values.values())


def _count_for_seats(
    db: Connection, seats: Mapping[AssessorTopic, int], assessor: str | None, query: str | None
) -> dict[AssessorTopic, int]:
    """Pairs that the seats include, not full, and not done by the assessors in them.

    They are counted as all that are not full minus those that an assessor has done. This reads pairs and judgments
    once, and not every pair for every assessor.
    """
    one, own = ("", []) if query is None else (" AND p.query = ?", [query])
    not_full: dict[str, list[tuple[int, int]]] = {}
    for topic, wanted, n in db.rows(
        f"SELECT query, wanted, COUNT(*) FROM pairs p WHERE judged < wanted {one} GROUP BY query, wanted", *own
    ):
        not_full.setdefault(topic, []).append((wanted, int(n)))
    counts = {work: sum(n for wanted, n in not_full.get(work[1], ()) if wanted > seat) for work, seat in seats.items()}
    if assessor is not None:
        one, own = f"{one} AND s.assessor = ?", [*own, assessor]
        if query is None:  # states have no index by assessor, but events have
            one, own = f"{one} AND s.pair IN (SELECT pair FROM events WHERE assessor = ?)", [*own, assessor]
    for name, topic, wanted, n in db.rows(
        f"""
        SELECT s.assessor, p.query, p.wanted, COUNT(*) FROM states s JOIN pairs p ON p.pair = s.pair
        WHERE s.again = 0 AND s.kind IN ('judge', 'cannot') AND p.judged < p.wanted {one}
        GROUP BY s.assessor, p.query, p.wanted
        """,
        *own,
    ):
        if wanted > seats.get((name, topic), wanted):
            counts[name, topic] -= int(n)
    return counts


def _count_beyond_seat(
    db: Connection, seats: Mapping[AssessorTopic, int], assessor: str | None, query: str | None
) -> list[tuple[AssessorTopic, int]]:
    """Pairs beyond a seat that are in the order anyway: found by searching, or from before the plan changed."""
    if not any(seats.values()):
        return []
    only, values = _only(assessor, query, "a")
    laid_out = db.rows(
        f"""
        SELECT a.assessor, a.query, COUNT(*) FROM assignments a
        JOIN places l ON l.assessor = a.assessor AND l.query = a.query AND l.again = 0 AND l.status = 'open'
        JOIN pairs p ON p.pair = l.pair AND p.wanted <= a.seat AND p.judged < p.wanted
        WHERE a.seat > 0 {only} GROUP BY a.assessor, a.query
        """,
        *values,
    )
    counts = [((name, topic), int(n)) for name, topic, n in laid_out]
    for (name, topic), rest in _rests(db, assessor, query).items():
        if seats.get((name, topic)):
            others = db.rows(
                f"SELECT pair FROM pairs p WHERE query = ? AND wanted <= ? AND judged < wanted AND {_NOT_DONE}",
                topic,
                seats[name, topic],
                name,
            )
            counts.append(((name, topic), len(set(parse_pairs(rest)) & {pair for (pair,) in others})))
    return counts


def _count_repeats(db: Connection, assessor: str | None, query: str | None) -> list[tuple[AssessorTopic, int]]:
    only, values = _only(assessor, query, "l")
    laid_out = db.rows(
        f"""
        SELECT assessor, query, COUNT(*) FROM places l WHERE again = 1 AND status IN (?, ?) {only}
        GROUP BY assessor, query
        """,
        *_PENDING,
        *values,
    )
    counts = [((name, topic), int(n)) for name, topic, n in laid_out]
    for (name, topic), rest in _rests(db, assessor, query).items():
        if repeats := parse_repeats(rest):
            statuses = load_statuses(db, name, repeats)
            counts.append(((name, topic), sum(statuses[pair][1][0] in _PENDING for pair in repeats)))
    return counts


def _rests(db: Connection, assessor: str | None, query: str | None) -> dict[AssessorTopic, str]:
    """The parts of orders that are not laid out yet."""
    only, values = _only(assessor, query, "o")
    rows = db.rows(f"SELECT assessor, query, rest FROM orders o WHERE rest <> '' {only}", *values)
    return {(name, topic): rest for name, topic, rest in rows}


# each assignment whose seat includes a pair can still give a judgment, unless its assessor has judged the pair
_UNCOVERED = """
    SELECT query, SUM(missing) FROM (
        SELECT t.number, p.query, p.wanted - p.judged - (
            SELECT COUNT(*) FROM assignments a
            WHERE a.query = p.query AND a.seat < p.wanted AND NOT EXISTS (
                SELECT 1 FROM states s
                WHERE s.pair = p.pair AND s.assessor = a.assessor AND s.again = 0 AND s.kind = 'judge'
            )
        ) AS missing
        FROM pairs p JOIN topics t ON t.query = p.query
        WHERE p.gold IS NULL AND p.judged < p.wanted
    ) short
    WHERE missing > 0 GROUP BY query, number ORDER BY number
"""


class UncoveredTopic(Record):
    """A topic that needs more judgments than its assessors can give."""

    query: str
    judgments: int


def find_uncovered_topics(log: JudgmentLog) -> list[UncoveredTopic]:
    """The topics with judgments that no assignment covers; none as long as everybody may judge everything."""
    if not log.read(has_assignments):
        return []
    return [UncoveredTopic(query, int(n)) for query, n in log.read(lambda db: db.rows(_UNCOVERED))]


def list_former_gold(log: JudgmentLog) -> list[tuple[str, str]]:
    """The pairs that were gold until a pool contained them: they are judged and exported like any other."""
    statement = """
        SELECT p.query, p.doc FROM pairs p JOIN topics t ON t.query = p.query
        WHERE p.source = 'once gold' ORDER BY t.number, p.pair
    """
    return [(query, doc) for query, doc in log.read(lambda db: db.rows(statement))]
