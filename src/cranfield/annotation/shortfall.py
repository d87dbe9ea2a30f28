"""What a plan leaves undone: judgments that are wanted, of topics that too few people have."""

from __future__ import annotations

from cranfield.annotation.log import JudgmentLog
from cranfield.base import Record

# who has judged a pair has used the seat; whoever could not judge it had it, which is told elsewhere
_MISSING = """
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


class Shortfall(Record):
    """A topic of which more judgments are wanted than those who have it can make."""

    query: str
    judgments: int


def shortfalls(log: JudgmentLog) -> list[Shortfall]:
    """The topics with judgments that no seat can give; none where everybody may judge everything."""
    if log.read(lambda at: at.value("SELECT 1 FROM assignments LIMIT 1")) is None:
        return []
    return [Shortfall(query, int(n)) for query, n in log.read(lambda at: at.rows(_MISSING))]


def once_gold(log: JudgmentLog) -> list[tuple[str, str]]:
    """The pairs that were gold until a pool asked for them: they are judged and exported like any other."""
    statement = """
        SELECT p.query, p.doc FROM pairs p JOIN topics t ON t.query = p.query
        WHERE p.source = 'once gold' ORDER BY t.number, p.pair
    """
    return [(query, doc) for query, doc in log.read(lambda at: at.rows(statement))]
