"""How alike runs are: against the functions for two rankings, and clusters by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.pooling import RankedLists
from cranfield.pooling.run_similarity import RBO_DEPTH, RBO_P, Merge, RunSimilarity, compare_runs
from cranfield.stats.correlation import overlap, rbo

docs = st.lists(st.sampled_from([f"d{i}" for i in range(30)]), unique=True, min_size=1, max_size=28)


def of(*lists: object, query: str = "1") -> RankedLists:
    return RankedLists(query, tuple("abcdefgh"[: len(lists)]), tuple(tuple(own) for own in lists))  # type: ignore[arg-type]


@given(docs, docs, st.integers(1, 30))
def test_pairs_are_as_alike_as_two_rankings_are(one: list[str], other: list[str], depth: int) -> None:
    found = compare_runs({"1": of(one, other)}, depth)
    assert (
        found.rbo[0, 1]
        == found.rbo[1, 0]
        == pytest.approx(rbo(one[:RBO_DEPTH], other[:RBO_DEPTH], RBO_P).ext, abs=1e-9)
    )
    assert found.overlap[0, 1] == pytest.approx(overlap(one, other, depth), abs=1e-9)


def test_means_are_over_the_topics_that_both_have() -> None:
    found = compare_runs({"1": of("xy", "xy", "zu"), "2": of("xy", "", "xy")}, 2)
    assert found.topics.tolist() == [[2, 1, 2], [1, 1, 1], [2, 1, 2]]
    assert found.overlap.tolist() == [[1, 1, 0.5], [1, 1, 0], [0.5, 0, 1]]


def test_the_most_alike_are_put_together_first_and_then_by_their_means() -> None:
    a, b = [f"d{i}" for i in range(20)], [f"d{i}" for i in (1, 0, *range(2, 20))]
    c, d = [f"e{i}" for i in range(20)], [f"d{i}" for i in range(19, -1, -1)]
    found = compare_runs({"1": of(a, b, c, d)}, 20)
    first, second, last = found.merges
    assert (first.left, first.right) == (0, 1) and first.similarity == pytest.approx(found.rbo[0, 1])
    assert (second.left, second.right) == (3, 4)
    assert second.similarity == pytest.approx((found.rbo[0, 3] + found.rbo[1, 3]) / 2)
    assert last == Merge(2, 5, 0.0)
    assert found.clusters() == [[0, 1], [2], [3]] and found.clusters(0) == [[0, 1, 2, 3]]


def test_runs_that_are_alike_are_warned_of_and_others_are_not() -> None:
    a = [f"d{i}" for i in range(20)]
    same = compare_runs({"1": of(a, a, [f"e{i}" for i in range(20)])}, 10)
    (told,) = same.warnings()
    assert told.startswith(
        "a and b are similar (RBO 1.00, 100% of the first 10 documents in common; threshold RBO 0.80)"
    )
    assert list(compare_runs({"1": of(a, a[::-1])}, 10).warnings()) == []
    *_, narrow = compare_runs({"1": of(a, a, a)}, 10).warnings()
    assert "mean RBO 1.00" in narrow and "Add runs of other kinds" in narrow


def test_one_run_and_no_topic_are_like_nothing() -> None:
    assert compare_runs({"1": of("xy")}, 2).merges == () and list(compare_runs({"1": of("xy")}, 2).warnings()) == []
    empty = compare_runs({}, 2)
    assert isinstance(empty, RunSimilarity) and empty.mean_rbo == 0 and empty.clusters() == []


def test_runs_without_a_topic_in_common_are_not_alike() -> None:
    found = compare_runs({"1": of("xy", ""), "2": of("", "xy")}, 2)
    assert found.rbo[0, 1] == 0 and found.merges[0].similarity == 0
