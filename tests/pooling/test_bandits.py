"""Bandits, by the traces of the worked example."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cranfield.pooling import PoolingContext
from cranfield.pooling.bandits import UCB, Arms, Bandit
from cranfield.pooling.ranked_lists import RankedLists
from tests.pooling.pooled_example import RELEVANT, T, grade, replayed, selector

MM = "d1 d2 d3 d10 d7 d11 d4 d5 d6 d12 d8 d9"
MM_NS = "d1 d2 d3 d4 d5 d7 d6 d8 d9 d10 d11 d12"


@pytest.mark.parametrize(
    ("strategy", "params", "order"),
    [
        ("mm", {}, MM),
        ("mm-ns", {}, MM_NS),
        ("mm", {"memory": 0}, MM_NS),
        ("mm", {"memory": 0.5}, "d1 d2 d3 d10 d7 d4 d5 d8 d9 d11 d6 d12"),
        ("mm", {"update": "own"}, "d1 d2 d3 d4 d5 d6 d7 d10 d11 d12 d8 d9"),
        ("mm-ns", {"update": "own"}, "d1 d2 d7 d3 d10 d11 d4 d5 d6 d8 d9 d12"),
        ("ucb", {}, "d1 d7 d3 d2 d10 d11 d8 d4 d9 d5 d12 d6"),
    ],
)
def test_the_order_is_that_of_the_trace(strategy: str, params: dict[str, object], order: str) -> None:
    assert replayed(strategy, seed_depth=0, **params) == order.split()


def means_along(order: str, memory: float) -> Iterator[list[float]]:
    """The means of all systems after each document."""
    arms = Arms(3, memory)
    for doc in order.split():
        arms.update(T.ranks[doc], doc in RELEVANT)
        yield arms.mean.tolist()


@pytest.mark.parametrize(
    ("memory", "order", "after", "means"),
    [
        (1, MM, 1, [2 / 3, 2 / 3, 2 / 3]),
        (1, MM, 2, [0.5, 0.5, 2 / 3]),
        (1, MM, 5, [0.6, 0.4, 2 / 3]),
        (1, MM, 7, [0.66666667, 0.5, 0.57142857]),
        (1, MM, 11, [0.5, 0.57142857, 0.5]),
        (0, MM_NS, 5, [1 / 3, 2 / 3, 2 / 3]),
        (0, MM_NS, 8, [1 / 3, 2 / 3, 1 / 3]),
        (0.5, "d1 d2 d3 d10 d7 d4 d5 d8 d9 d11 d6 d12", 5, [0.6, 0.33333333, 0.48387097]),
        (0.5, "d1 d2 d3 d10 d7 d4 d5 d8 d9 d11 d6 d12", 7, [0.46031746, 0.54838710, 0.48387097]),
    ],
)
def test_means_are_those_of_the_trace(memory: float, order: str, after: int, means: list[float]) -> None:
    assert list(means_along(order, memory))[after - 1] == pytest.approx(means, abs=1e-8)


@pytest.mark.parametrize(
    ("pulls", "index"),
    [
        # (relevant, judged) of A, B, C before the pull
        ([(1, 1), (0, 1), (1, 1)], [2.48230381, 1.48230381, 2.48230381]),
        ([(1, 2), (0, 1), (2, 3)], [1.83856620, 1.89301847, 1.75960139]),
    ],
)
def test_upper_bounds_are_those_of_the_trace(pulls: list[tuple[int, int]], index: list[float]) -> None:
    arms = Arms(3, 1.0)
    for system, (relevant, judged) in enumerate(pulls):
        for i in range(judged):
            arms.update([system], i < relevant)
    bounds = UCB(T, PoolingContext(), 1.0, "own", 0).values(arms, np.random.default_rng(1))
    assert bounds.tolist() == pytest.approx(index, abs=1e-8)


def test_the_depth_to_start_with_is_judged_first_and_teaches() -> None:
    order = replayed("mm", seed_depth=2)
    assert order[:5] == "d1 d3 d7 d2 d10".split()
    # after these, of A (d1+ d3+ d2−) 2 of 3, of B (d1+ d7− d2−) 1 of 3, of C (d1+ d3+ d7− d10+) 3 of 4 are relevant
    assert order[5] == "d11"


def test_a_seed_depth_beyond_the_lists_is_the_depth_order() -> None:
    assert replayed("mm", seed_depth=6) == replayed("depth")


def test_thompson_sampling_asks_the_better_system_more_often() -> None:
    good, bad = tuple(f"g{i}" for i in range(60)), tuple(f"b{i}" for i in range(60))
    lists = RankedLists("1", ("bad", "good"), (bad, good))
    for strategy in ("ts", "ts-ns", "mm", "mm-ns", "ucb"):
        found = 0
        for seed in range(20):
            own = selector(strategy, lists, PoolingContext(seed=seed), seed_depth=0)
            found += sum(doc.startswith("g") for doc in own.replay(lambda doc: float(doc.startswith("g")), 30))
        assert found > 0.75 * 20 * 30, strategy


def test_ties_are_broken_by_chance_and_alike_for_a_seed() -> None:
    def order(seed: int) -> list[str]:
        return list(selector("mm-ns", T, PoolingContext(seed=seed), seed_depth=0).replay(grade))

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(10)}) > 3


def test_a_bandit_alone_has_no_hopes() -> None:
    with pytest.raises(NotImplementedError):
        Bandit(T, PoolingContext(), 1.0, "all", 0).values(Arms(3, 1.0), np.random.default_rng(1))
