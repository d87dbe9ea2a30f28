"""The order in which an assessor sees the documents of a topic: by chance, and kept, so that it never changes.

An order is made when an assessor first comes to a topic. Reload, resume and paging read it; documents that join later
are put behind, in an order by chance of their own. It is kept as a whole from the first moment, in `orders.rest`; rows
of `places`, which tell where each document stands, are made of it some hundreds at a time, ahead of the judge.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Sequence

from cranfield.annotation.database import Connection
from cranfield.annotation.settings import Settings
from cranfield.base import encode_id

GAP = 20  # documents at least between a document and its repeat, where there are as many
_TOGETHER = 100  # places that are made at a time: thousands would keep others waiting who judge meanwhile
_AGAIN = "r"  # how the end of an order marks repeats
_MARKS = "rf"  # earlier versions marked pairs that had all their judgments, too
_SETTLED = ("judge", "cannot")
REPEATS = """
    UPDATE places SET status = ? WHERE again = 1 AND status = ? AND EXISTS (
        SELECT 1 FROM places l
        WHERE l.pair = places.pair AND l.assessor = places.assessor AND l.again = 0 AND l.status = ?
    )
"""
FOLLOWING = (("full", "waiting", "void"), ("open", "void", "waiting"))  # status of an original, and of its repeat
PUT_OFF = """
    EXISTS (
        SELECT 1 FROM events e WHERE e.pair = p.pair AND e.assessor = ? AND e.again = 0 AND e.kind = 'skip'
        AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.key AND u.assessor = e.assessor)
    )
"""


def status_of_repeat(kind: str, is_full: bool, was_put_off: bool) -> str:
    """What becomes of a repeat that is not judged when its original is judged, cannot be, or neither.

    An original that was put off comes after all others, and its repeat would come right behind it: it is given up.

    >>> [status_of_repeat("judge", False, put_off) for put_off in (False, True)]
    ['open', 'void']
    """
    if kind == "judge":
        return "void" if was_put_off else "open"
    return "void" if kind == "cannot" or is_full else "waiting"


def arranged(
    pairs: Sequence[int], plain: Collection[int], chance: random.Random, repeats: int = 0
) -> list[tuple[int, int]]:
    """Pairs in an order by chance, and some of the plain ones a second time (1), with others in between.

    >>> arranged([1, 2, 3, 4], {1, 2, 3, 4}, random.Random(3), 1)
    [(4, 0), (1, 0), (3, 0), (2, 0), (1, 1)]
    """
    order = [(pair, 0) for pair in pairs]
    chance.shuffle(order)
    gap = min(GAP, len(order) // 2)
    may = [i for i, (pair, _) in enumerate(order) if pair in plain] if repeats else []
    # behind those that come late there is no room for others; they are repeated only if nothing else is left to be
    early = [i for i in may if i + gap < len(order)]
    some = sorted(chance.sample(early, min(repeats, len(early)))) + may[len(early) : max(repeats, len(early))]
    for pair in [order[i][0] for i in some]:
        first = order.index((pair, 0)) + 1 + gap
        order.insert(chance.randint(min(first, len(order)), len(order)), (pair, 1))
    return order


def extend_order(at: Connection, settings: Settings, assessor: str, query: str, seat: int, whole: bool = False) -> None:
    """Give a place to every pair of a topic that has none in an assessor's order.

    Somebody in seat 0 sees every pair, in seat 1 those that get two judgments or more, and so on. The order is kept as
    a whole at once; its places are laid out as they are come to, some with every call, all of them if told so.
    """
    known = at.row("SELECT reach, length, rest FROM orders WHERE assessor = ? AND query = ?", assessor, query)
    reach, length, rest = (0, 0, "") if known is None else known
    last = at.value("SELECT MAX(pair) FROM pairs WHERE query = ?", query)
    is_complete = last is None or (known is not None and last <= reach)
    if rest:
        rest = _lay_out(at, assessor, query, length, rest.split(), whole or not is_complete)
        at.run("UPDATE orders SET rest = ? WHERE assessor = ? AND query = ?", rest, assessor, query)
    if is_complete:
        return
    pairs = "SELECT pair, judged < wanted AND gold IS NULL FROM pairs p WHERE query = ? AND pair > ? AND wanted > ?"
    known_already = "EXISTS (SELECT 1 FROM places l WHERE l.pair = p.pair AND l.assessor = ? AND l.again = 0)"
    new = (
        at.rows(f"{pairs} ORDER BY pair", query, reach, seat)
        if known is None  # there is no place yet, which for thousands of pairs is better not asked
        else at.rows(f"{pairs} AND NOT {known_already} ORDER BY pair", query, reach, seat, assessor)
    )
    chance = random.Random(_seed(settings.seed, assessor, query, length))
    plain = {pair for pair, is_plain in new if is_plain}
    repeats = _share(settings.repeats, len(plain), chance) if len(plain) > 2 else 0
    order = [
        f"{pair}{_AGAIN if again else ''}"
        for pair, again in arranged([pair for pair, _ in new], plain, chance, repeats)
    ]
    at.run(
        """
        INSERT INTO orders (assessor, query, reach, length, rest) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (assessor, query) DO UPDATE
        SET reach = excluded.reach, length = excluded.length, rest = excluded.rest
        """,
        assessor,
        query,
        last,
        length + len(order),
        _lay_out(at, assessor, query, length + len(order), order, whole),
    )


def recheck(at: Connection, assessor: str, query: str) -> bool:
    """Bring places up to date that were made while others judged their pairs; whether there are any.

    PostgreSQL lets both happen at once: whoever judged did not see the places, which were not committed by then.
    """
    if not at.has_company:
        return False
    full = "(SELECT pair FROM pairs WHERE query = ? AND judged >= wanted)"
    own = "UPDATE places SET status = ? WHERE assessor = ? AND query = ? AND again = 0 AND status = ?"
    changed = at.run(f"{own} AND pair IN {full}", "full", assessor, query, "open", query)
    changed += at.run(f"{own} AND pair NOT IN {full}", "open", assessor, query, "full", query)
    for original, was, becomes in FOLLOWING if changed else ():
        at.run(f"{REPEATS} AND assessor = ? AND query = ?", becomes, was, original, assessor, query)
    return changed > 0


def lay_out_whole(at: Connection, assessor: str, query: str) -> None:
    """Make all places of an order as it is, where there is one."""
    known = at.row("SELECT length, rest FROM orders WHERE assessor = ? AND query = ?", assessor, query)
    if known is not None and known[1]:
        _lay_out(at, assessor, query, known[0], known[1].split(), whole=True)
        at.run("UPDATE orders SET rest = '' WHERE assessor = ? AND query = ?", assessor, query)


def pairs_in(rest: str) -> list[int]:
    """The documents at the end of an order that has no places yet; repeats are told apart.

    >>> pairs_in("17 4r 12")
    [17, 12]
    """
    return [int(one.rstrip(_MARKS)) for one in rest.split() if not one.endswith(_AGAIN)]


def repeats_in(rest: str) -> list[int]:
    """The documents that come a second time at the end of an order that has no places yet.

    >>> repeats_in("17 4r 12")
    [4]
    """
    return [int(one.rstrip(_MARKS)) for one in rest.split() if one.endswith(_AGAIN)]


def _lay_out(at: Connection, assessor: str, query: str, length: int, order: Sequence[str], whole: bool) -> str:
    """Make places of the end of an order, of some of it or of all, as things stand with its pairs; what is left."""
    some, rest = (order, ()) if whole else (order[:_TOGETHER], order[_TOGETHER:])
    rows = []
    first = length - len(order) + 1
    for start in range(0, len(some), _TOGETHER):
        pairs = [(int(one.rstrip(_MARKS)), one.endswith(_AGAIN)) for one in some[start : start + _TOGETHER]]
        known = standing(at, assessor, [pair for pair, _ in pairs])
        for place, (pair, again) in enumerate(pairs, first + start):
            rows.append((assessor, query, place, pair, int(again), *known[pair][again]))
    at.insert("places", "assessor, query, place, pair, again, status, later", rows)
    return " ".join(rest)


def standing(at: Connection, assessor: str, pairs: Sequence[int]) -> dict[int, tuple[tuple[str, int], tuple[str, int]]]:
    """Status of the places of some pairs, and of their repeats, with when they were put off, for one assessor.

    It is what `log` would have made of places that were there from the beginning.
    """
    rows = at.rows(
        f"""
        SELECT p.pair, p.judged >= p.wanted, COALESCE(s.kind, ''), COALESCE(r.kind, ''),
            (SELECT MAX(seq) FROM events e
                WHERE e.pair = p.pair AND e.assessor = ? AND e.again = 0 AND s.kind = 'skip'),
            (SELECT MAX(seq) FROM events e
                WHERE e.pair = p.pair AND e.assessor = ? AND e.again = 1 AND r.kind = 'skip'),
            s.kind = 'judge' AND {PUT_OFF}
        FROM pairs p
        LEFT JOIN states s ON s.pair = p.pair AND s.assessor = ? AND s.again = 0
        LEFT JOIN states r ON r.pair = p.pair AND r.assessor = ? AND r.again = 1
        WHERE p.pair IN ({", ".join("?" * len(pairs))})
        """,
        *[assessor] * 5,
        *pairs,
    )
    found = {}
    for pair, is_full, kind, kind_again, later, later_again, was_put_off in rows:
        own = "done" if kind in _SETTLED else "full" if is_full else "open"
        becomes = status_of_repeat(kind, is_full, was_put_off)
        repeat = "done" if kind_again in _SETTLED else becomes
        found[pair] = ((own, later or 0), (repeat, later_again or 0))
    return found


def add_place(at: Connection, assessor: str, query: str, pair: int) -> int:
    """The place of a pair in an assessor's order; behind all others if it had none."""
    place = at.value("SELECT place FROM places WHERE pair = ? AND assessor = ? AND again = 0", pair, assessor)
    if place is not None:
        return int(place)
    known = at.value("SELECT length FROM orders WHERE assessor = ? AND query = ?", assessor, query)
    place = int(known or 0) + 1
    (status, later), _ = standing(at, assessor, [pair])[pair]
    at.insert(
        "places",
        "assessor, query, place, pair, again, status, later",
        [(assessor, query, place, pair, 0, status, later)],
    )
    at.run(
        """
        INSERT INTO orders (assessor, query, reach, length) VALUES (?, ?, 0, ?)
        ON CONFLICT (assessor, query) DO UPDATE SET length = excluded.length
        """,
        assessor,
        query,
        place,
    )
    return place


def _share(share: float, n: int, chance: random.Random) -> int:
    """A share of n as a whole number; what is left over decides by chance."""
    whole, rest = divmod(share * n, 1)
    return int(whole) + (chance.random() < rest)


def _seed(seed: int, assessor: str, query: str, length: int) -> int:
    parts = (str(seed).encode(), encode_id(assessor), encode_id(query), str(length).encode())
    return int.from_bytes(hashlib.sha256(b"\0".join(parts)).digest()[:8], "big")
