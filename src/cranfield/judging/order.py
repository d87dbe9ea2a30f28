"""The order in which an assessor sees the documents of a topic: by chance, and kept, so that it never changes.

An order is made when an assessor first comes to a topic. Reload, resume and paging read it; documents that join later
are put behind, in an order by chance of their own.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

from cranfield.ids import id_bytes
from cranfield.judging.database import Connection
from cranfield.judging.settings import Settings

GAP = 20  # documents at least between a document and its repeat, where there are as many


def arranged(pairs: Sequence[int], repeats: Sequence[int], chance: random.Random) -> list[tuple[int, int]]:
    """Pairs in an order by chance, and some of them a second time (1), with others in between.

    >>> arranged([1, 2, 3, 4], [2], random.Random(3))
    [(4, 0), (1, 0), (3, 0), (2, 0), (2, 1)]
    """
    order = [(pair, 0) for pair in pairs]
    chance.shuffle(order)
    gap = min(GAP, len(order) // 2)
    for pair in repeats:
        first = order.index((pair, 0))
        order.insert(chance.randint(min(first + 1 + gap, len(order)), len(order)), (pair, 1))
    return order


def extend_order(at: Connection, settings: Settings, assessor: str, query: str, seat: int) -> int:
    """Give a place to every pair of a topic that has none in an assessor's order; how long the order is.

    Somebody in seat 0 sees every pair, in seat 1 those that get two judgments or more, and so on.
    """
    known = at.row("SELECT reach, length FROM orders WHERE assessor = ? AND query = ?", assessor, query)
    reach, length = (0, 0) if known is None else known
    last = at.value("SELECT MAX(pair) FROM pairs WHERE query = ?", query)
    if last is None or (known is not None and last <= reach):
        return int(length)
    new = at.rows(
        """
        SELECT pair, judged >= wanted, gold IS NOT NULL FROM pairs p
        WHERE query = ? AND pair > ? AND wanted > ?
        AND NOT EXISTS (SELECT 1 FROM places l WHERE l.pair = p.pair AND l.assessor = ? AND l.again = 0)
        ORDER BY pair
        """,
        query,
        reach,
        seat,
        assessor,
    )
    chance = random.Random(_seed(settings.seed, assessor, query, length))
    plain = [pair for pair, is_full, is_gold in new if not is_full and not is_gold]
    repeats = chance.sample(plain, _share(settings.repeats, len(plain), chance)) if len(plain) > 2 else []
    full = {pair for pair, is_full, _ in new if is_full}
    rows = [
        (assessor, query, place, pair, again, "waiting" if again else "full" if pair in full else "open")
        for place, (pair, again) in enumerate(arranged([pair for pair, _, _ in new], repeats, chance), length + 1)
    ]
    at.insert("places", "assessor, query, place, pair, again, status", rows)
    at.run(
        """
        INSERT INTO orders (assessor, query, reach, length) VALUES (?, ?, ?, ?)
        ON CONFLICT (assessor, query) DO UPDATE SET reach = excluded.reach, length = excluded.length
        """,
        assessor,
        query,
        last,
        length + len(rows),
    )
    return int(length) + len(rows)


def add_place(at: Connection, assessor: str, query: str, pair: int) -> int:
    """The place of a pair in an assessor's order; behind all others if it had none."""
    place = at.value("SELECT place FROM places WHERE pair = ? AND assessor = ? AND again = 0", pair, assessor)
    if place is not None:
        return int(place)
    length = int(at.value("SELECT length FROM orders WHERE assessor = ? AND query = ?", assessor, query)) + 1
    at.run(
        "INSERT INTO places (assessor, query, place, pair, again, status) VALUES (?, ?, ?, ?, 0, 'open')",
        assessor,
        query,
        length,
        pair,
    )
    at.run("UPDATE orders SET length = ? WHERE assessor = ? AND query = ?", length, assessor, query)
    return length


def _share(share: float, n: int, chance: random.Random) -> int:
    """A share of n as a whole number; what is left over decides by chance."""
    whole, rest = divmod(share * n, 1)
    return int(whole) + (chance.random() < rest)


def _seed(seed: int, assessor: str, query: str, length: int) -> int:
    parts = (str(seed).encode(), id_bytes(assessor), id_bytes(query), str(length).encode())
    return int.from_bytes(hashlib.sha256(b"\0".join(parts)).digest()[:8], "big")
