"""Orders are by chance and kept: nothing that happens later changes them."""

from __future__ import annotations

import random
import statistics
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cranfield.annotation import AssessorSession, JudgmentLog, Settings, open_log
from cranfield.annotation.presentation_order import GAP, arrange_pairs
from tests.annotation.conftest import judge_all, with_pairs


def order_of(log: JudgmentLog, assessor: str, query: str = "1") -> list[str]:
    rows = log.read(
        lambda db: db.rows(
            """
            SELECT p.doc FROM places l JOIN pairs p ON p.pair = l.pair
            WHERE l.assessor = ? AND l.query = ? ORDER BY place
            """,
            assessor,
            query,
        )
    )
    return [doc for (doc,) in rows]


def test_an_order_survives_everything(place: str) -> None:
    with open_log(place) as log:
        with_pairs(log, 2, 30)
        session = AssessorSession(log, "ada")
        session.next("1")
        before = order_of(log, "ada")
        for i in range(10):
            item = session.next("1")
            assert item is not None and item.doc == before[i]
            session.save("judge", "1", item.place, 1)
        session.undo()
        session.next("2")
    with open_log(place) as log:
        log.configure(Settings(seed=99))
        session = AssessorSession(log, "ada")
        assert order_of(log, "ada") == before
        item = session.next("1")
        assert item is not None and (item.doc, item.place) == (before[9], 10)
        assert [session.item_at("1", i).doc for i in range(1, 31)] == before


def test_assessors_and_topics_have_orders_of_their_own(small: JudgmentLog) -> None:
    small.add_pairs({"1": [f"x{i}" for i in range(30)], "2": [f"x{i}" for i in range(30)]})
    for name in ("ada", "bob"):
        for query in "12":
            AssessorSession(small, name).next(query)
    orders = {tuple(order_of(small, name, query)) for name in ("ada", "bob") for query in "12"}
    assert len(orders) == 4 and len({frozenset(order) for order in orders}) == 1


def test_the_same_seed_gives_the_same_order(tmp_path: Path) -> None:
    found = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        with open_log(tmp_path / f"{name}.db") as log:
            AssessorSession(with_pairs(log, 1, 20, seed=seed), "ada").next()
            found.append(order_of(log, "ada"))
    assert found[0] == found[1] != found[2]


def test_documents_that_join_later_come_behind_in_an_order_by_chance(log: JudgmentLog) -> None:
    with_pairs(log, 1, 20)
    session = AssessorSession(log, "ada")
    item = session.next()
    before = order_of(log, "ada")
    assert item is not None
    session.save("judge", "1", item.place, 2)
    new = [f"new{i:02}" for i in range(20)]
    assert log.add_pairs({"1": [*new, *before[:3]]}) == 20
    session.next()
    after = order_of(log, "ada")
    assert after[:20] == before and sorted(after[20:]) == new and after[20:] != new


def test_an_order_tells_nothing_of_the_pool(tmp_path: Path) -> None:
    # where a document stands in the pool and where an assessor sees it have nothing in common
    with open_log(tmp_path / "log.db") as log:
        with_pairs(log, 1, 100)
        places = []
        for i in range(30):
            AssessorSession(log, f"judge{i}").next()
            order = order_of(log, f"judge{i}")
            places.append([order.index(f"d1-{j}") for j in range(100)])
    means = [statistics.mean(own[j] for own in places) for j in range(100)]
    assert abs(statistics.correlation(means, range(100))) < 0.35  # 3.5 standard errors


@given(n=st.integers(3, 80), share=st.integers(1, 100), seed=st.integers(0, 1000))
def test_repeats_come_after_their_originals_with_others_in_between(n: int, share: int, seed: int) -> None:
    order = arrange_pairs(range(n), range(n), random.Random(seed), n * share // 100)
    repeats = [pair for pair, again in order if again]
    assert len(repeats) == len(set(repeats)) == n * share // 100
    assert sorted(pair for pair, again in order if not again) == list(range(n))
    for pair in repeats:
        # where more are repeated than come early enough, the last ones have fewer in between
        gap = min(GAP, n // 2) if len(repeats) <= n - min(GAP, n // 2) else 0
        assert order.index((pair, 1)) - order.index((pair, 0)) > gap


def test_a_repeat_is_shown_as_if_it_were_new_and_only_after_the_first_time(log: JudgmentLog) -> None:
    with_pairs(log, 1, 10, repeats=0.5)
    session = AssessorSession(log, "ada")
    seen: list[str] = []
    item = session.next()
    while item is not None:
        assert (item.kind, item.grade, item.note) == ("", None, "")
        if len(seen) < 3:
            saved = session.save("skip", item.query, item.place)  # put off, and so is the repeat
        else:
            saved = session.save("judge", item.query, item.place, len(seen) % 4)
        seen.append(item.doc)
        item = saved.next
        if item is not None and item.kind == "skip":
            break
    assert item is not None
    while item is not None:
        saved = session.save("judge", item.query, item.place, 1)
        item = saved.next
    again = [one.doc for one in log.events() if one.again]
    # behind one that was put off nothing else comes: it would be seen that it is a repeat
    assert 2 <= len(again) < 5 and not set(again) & set(seen[:3])
    for doc in again:
        judged = [one for one in log.events() if one.doc == doc and one.kind == "judge"]
        assert [one.again for one in judged] == [False, True]
    assert session.topics()[0].left == 0


def test_what_cannot_be_judged_is_not_repeated(small: JudgmentLog) -> None:
    small.configure(Settings(repeats=1.0))
    session = AssessorSession(small, "ada")
    item = session.next("1")
    while item is not None:
        item = session.save("cannot", item.query, item.place).next
    assert [one.again for one in small.events()] == [False] * 5 and session.topics()[0].left == 0
    judge_all(session, query="2")
    assert sum(one.again for one in small.events()) == 5
