"""The order in which an assessor sees the documents of a topic: random, and stored, so it never changes.

An order is made when an assessor first opens a topic. Reloading, resuming and paging read it; documents added later
come after the others, in a random order of their own. The order is stored as a whole at once, in `orders.rest`, and
*laid out*, that is turned into rows of `places`, a hundred documents at a time ahead of the assessor.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Sequence

from cranfield.annotation.database import Connection
from cranfield.annotation.settings import Settings
from cranfield.base import encode_id

GAP = 20  # least number of documents between a document and its repeat, if there are as many
_CHUNK = 100  # places laid out at a time: with thousands, other assessors would have to wait
_AGAIN = "r"  # marks repeats in `orders.rest`
_MARKS = "rf"  # earlier versions also marked full pairs
_DONE = ("judge", "cannot")
UPDATE_REPEATS = """
    UPDATE places SET status = ? WHERE again = 1 AND status = ? AND EXISTS (
        SELECT 1 FROM places l
        WHERE l.pair = places.pair AND l.assessor = places.assessor AND l.again = 0 AND l.status = ?
    )
"""
REPEAT_CHANGES = (
    ("full", "waiting", "void"),
    ("open", "void", "waiting"),
)  # (status of the original, old and new status of its repeat)
WAS_SKIPPED = """
    EXISTS (
        SELECT 1 FROM events e WHERE e.pair = p.pair AND e.assessor = ? AND e.again = 0 AND e.kind = 'skip'
        AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.key AND u.assessor = e.assessor)
    )
"""


def find_repeat_status(kind: str, is_full: bool, was_skipped: bool) -> str:
    """The status of a repeat that is not judged yet, depending on its original.

    A skipped original comes after all others, and its repeat would follow right after it: such a repeat is dropped.

    >>> [find_repeat_status("judge", False, was_skipped) for was_skipped in (False, True)]
    ['open', 'void']
    """
    if kind == "judge":
        return "void" if was_skipped else "open"
    return "void" if kind == "cannot" or is_full else "waiting"


def arrange_pairs(
    pairs: Sequence[int], plain: Collection[int], rng: random.Random, repeats: int = 0
) -> list[tuple[int, int]]:
    """Pairs in random order, some of the plain ones a second time (marked 1), with others in between.

    >>> arrange_pairs([1, 2, 3, 4], {1, 2, 3, 4}, random.Random(3), 1)
    [(4, 0), (1, 0), (3, 0), (2, 0), (1, 1)]
    """
    order = [(pair, 0) for pair in pairs]
    rng.shuffle(order)
    gap = min(GAP, len(order) // 2)
    candidates = [i for i, (pair, _) in enumerate(order) if pair in plain] if repeats else []
    # late ones have too few documents after them; they are repeated only if there are not enough others
    early = [i for i in candidates if i + gap < len(order)]
    repeated = sorted(rng.sample(early, min(repeats, len(early)))) + candidates[len(early) : max(repeats, len(early))]
    for pair in [order[i][0] for i in repeated]:
        first = order.index((pair, 0)) + 1 + gap
        order.insert(rng.randint(min(first, len(order)), len(order)), (pair, 1))
    return order


def extend_order(db: Connection, settings: Settings, assessor: str, query: str, seat: int, whole: bool = False) -> None:
    """Add all pairs of a topic that are missing from an assessor's order, and lay out some of it.

    Seat 0 includes every pair, seat 1 those that need two judgments or more, and so on. Each call lays out one chunk of
    the order, or all of it if `whole`.
    """
    stored = db.row("SELECT reach, length, rest FROM orders WHERE assessor = ? AND query = ?", assessor, query)
    reach, length, rest = (0, 0, "") if stored is None else stored
    last = db.value("SELECT MAX(pair) FROM pairs WHERE query = ?", query)
    is_complete = last is None or (stored is not None and last <= reach)
    if rest:
        rest = _lay_out(db, assessor, query, length, rest.split(), whole or not is_complete)
        db.run("UPDATE orders SET rest = ? WHERE assessor = ? AND query = ?", rest, assessor, query)
    if is_complete:
        return
    pairs = "SELECT pair, judged < wanted AND gold IS NULL FROM pairs p WHERE query = ? AND pair > ? AND wanted > ?"
    is_placed = "EXISTS (SELECT 1 FROM places l WHERE l.pair = p.pair AND l.assessor = ? AND l.again = 0)"
    new = (
        db.rows(f"{pairs} ORDER BY pair", query, reach, seat)
        if stored is None  # nothing is placed yet; checking thousands of pairs would be slow
        else db.rows(f"{pairs} AND NOT {is_placed} ORDER BY pair", query, reach, seat, assessor)
    )
    rng = random.Random(_seed(settings.seed, assessor, query, length))
    plain = {pair for pair, is_plain in new if is_plain}
    repeats = _share(settings.repeats, len(plain), rng) if len(plain) > 2 else 0
    order = [
        f"{pair}{_AGAIN if again else ''}"
        for pair, again in arrange_pairs([pair for pair, _ in new], plain, rng, repeats)
    ]
    db.run(
        """
        INSERT INTO orders (assessor, query, reach, length, rest) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (assessor, query) DO UPDATE
        SET reach = excluded.reach, length = excluded.length, rest = excluded.rest
        """,
        assessor,
        query,
        last,
        length + len(order),
        _lay_out(db, assessor, query, length + len(order), order, whole),
    )


def refresh_statuses(db: Connection, assessor: str, query: str) -> bool:
    """Update places that were laid out while others judged their pairs; return whether there were any.

    On PostgreSQL both may happen at once: the judging transaction does not see places that are not committed yet.
    """
    if not db.is_shared:
        return False
    full = "(SELECT pair FROM pairs WHERE query = ? AND judged >= wanted)"
    own = "UPDATE places SET status = ? WHERE assessor = ? AND query = ? AND again = 0 AND status = ?"
    changed = db.run(f"{own} AND pair IN {full}", "full", assessor, query, "open", query)
    changed += db.run(f"{own} AND pair NOT IN {full}", "open", assessor, query, "full", query)
    for original, was, becomes in REPEAT_CHANGES if changed else ():
        db.run(f"{UPDATE_REPEATS} AND assessor = ? AND query = ?", becomes, was, original, assessor, query)
    return changed > 0


def lay_out_order(db: Connection, assessor: str, query: str) -> None:
    """Lay out the whole order, if there is one."""
    stored = db.row("SELECT length, rest FROM orders WHERE assessor = ? AND query = ?", assessor, query)
    if stored is not None and stored[1]:
        _lay_out(db, assessor, query, stored[0], stored[1].split(), whole=True)
        db.run("UPDATE orders SET rest = '' WHERE assessor = ? AND query = ?", assessor, query)


def parse_pairs(rest: str) -> list[int]:
    """The documents in the rest of an order, without repeats.

    >>> parse_pairs("17 4r 12")
    [17, 12]
    """
    return [int(one.rstrip(_MARKS)) for one in rest.split() if not one.endswith(_AGAIN)]


def parse_repeats(rest: str) -> list[int]:
    """The repeats in the rest of an order.

    >>> parse_repeats("17 4r 12")
    [4]
    """
    return [int(one.rstrip(_MARKS)) for one in rest.split() if one.endswith(_AGAIN)]


def _lay_out(db: Connection, assessor: str, query: str, length: int, order: Sequence[str], whole: bool) -> str:
    """Lay out a chunk of an order, or all of it, with the current status of each pair; return the rest."""
    chunk, rest = (order, ()) if whole else (order[:_CHUNK], order[_CHUNK:])
    rows = []
    first = length - len(order) + 1
    for start in range(0, len(chunk), _CHUNK):
        pairs = [(int(one.rstrip(_MARKS)), one.endswith(_AGAIN)) for one in chunk[start : start + _CHUNK]]
        statuses = load_statuses(db, assessor, [pair for pair, _ in pairs])
        for place, (pair, again) in enumerate(pairs, first + start):
            rows.append((assessor, query, place, pair, int(again), *statuses[pair][again]))
    db.insert("places", "assessor, query, place, pair, again, status, later", rows)
    return " ".join(rest)


def load_statuses(
    db: Connection, assessor: str, pairs: Sequence[int]
) -> dict[int, tuple[tuple[str, int], tuple[str, int]]]:
    """The status of some pairs, and of their repeats, for one assessor, each with the time it was skipped.

    This is the status that `log` would have given to places laid out from the beginning.
    """
    rows = db.rows(
        f"""
        SELECT p.pair, p.judged >= p.wanted, COALESCE(s.kind, ''), COALESCE(r.kind, ''),
            (SELECT MAX(seq) FROM events e
                WHERE e.pair = p.pair AND e.assessor = ? AND e.again = 0 AND s.kind = 'skip'),
            (SELECT MAX(seq) FROM events e
                WHERE e.pair = p.pair AND e.assessor = ? AND e.again = 1 AND r.kind = 'skip'),
            s.kind = 'judge' AND {WAS_SKIPPED}
        FROM pairs p
        LEFT JOIN states s ON s.pair = p.pair AND s.assessor = ? AND s.again = 0
        LEFT JOIN states r ON r.pair = p.pair AND r.assessor = ? AND r.again = 1
        WHERE p.pair IN ({", ".join("?" * len(pairs))})
        """,
        *[assessor] * 5,
        *pairs,
    )
    statuses = {}
    for pair, is_full, kind, kind_again, later, later_again, was_skipped in rows:
        own = "done" if kind in _DONE else "full" if is_full else "open"
        becomes = find_repeat_status(kind, is_full, was_skipped)
        repeat = "done" if kind_again in _DONE else becomes
        statuses[pair] = ((own, later or 0), (repeat, later_again or 0))
    return statuses


def add_place(db: Connection, assessor: str, query: str, pair: int) -> int:
    """The place of a pair in an assessor's order; a new one at the end if it had none."""
    place = db.value("SELECT place FROM places WHERE pair = ? AND assessor = ? AND again = 0", pair, assessor)
    if place is not None:
        return int(place)
    length = db.value("SELECT length FROM orders WHERE assessor = ? AND query = ?", assessor, query)
    place = int(length or 0) + 1
    (status, later), _ = load_statuses(db, assessor, [pair])[pair]
    db.insert(
        "places",
        "assessor, query, place, pair, again, status, later",
        [(assessor, query, place, pair, 0, status, later)],
    )
    db.run(
        """
        INSERT INTO orders (assessor, query, reach, length) VALUES (?, ?, 0, ?)
        ON CONFLICT (assessor, query) DO UPDATE SET length = excluded.length
        """,
        assessor,
        query,
        place,
    )
    return place


def _share(share: float, n: int, rng: random.Random) -> int:
    """A share of n as a whole number; rounded up or down at random."""
    whole, rest = divmod(share * n, 1)
    return int(whole) + (rng.random() < rest)


def _seed(seed: int, assessor: str, query: str, length: int) -> int:
    parts = (str(seed).encode(), encode_id(assessor), encode_id(query), str(length).encode())
    return int.from_bytes(hashlib.sha256(b"\0".join(parts)).digest()[:8], "big")
