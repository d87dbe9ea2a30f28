"""Systems ranked without judgments: by hand, and against evaluations with the pseudo-qrels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield import evaluate
from cranfield.errors import CranfieldError
from cranfield.pooling import RankedLists
from cranfield.pooling.pseudo_qrels import _RankTable, relevant_shares, score_without_judgments
from tests.pooling.pooled_example import T, as_run

docs = st.lists(st.sampled_from([f"d{i}" for i in range(15)]), unique=True, max_size=12)


def test_a_document_has_the_votes_of_all_others_that_have_it() -> None:
    # of A: d1 in 3 runs, d2 in 2, d3 in 2, d4 in 2, d5 and d6 in one: 2 + 1 + 1 + 1
    assert score_without_judgments({"T": T}, 6).counts.tolist() == [5, 5, 4]
    assert score_without_judgments({"T": T}, 3).counts.tolist() == [2, 2, 2]


@given(st.lists(docs.filter(bool), min_size=1, max_size=4), st.integers(0, 5))
def test_pseudo_ap_is_that_of_an_evaluation(own: list[list[str]], seed: int) -> None:
    lists = RankedLists("1", tuple(map(str, range(len(own)))), tuple(map(tuple, own)))
    table = _RankTable(lists, 20)
    names = list(dict.fromkeys(doc for found in own for doc in found))
    drawn = table.draw_relevant(np.random.default_rng(seed), 0.3, 0.1)
    qrels = {"1": {names[i]: 1 for i in drawn}}
    expected = [evaluate(qrels, as_run({"1": found}), ["AP"]).mean("AP") for found in own]
    assert table.average_precision(drawn).tolist() == pytest.approx(expected)


def test_a_document_that_more_systems_have_is_drawn_more_often() -> None:
    lists = RankedLists("1", ("a", "b", "c"), (("x", "y"), ("x", "z"), ("x",)))
    table, rng = _RankTable(lists, 5), np.random.default_rng(1)
    first = [int(table.draw_relevant(rng, 0.0, 0.0)[0]) for _ in range(2000)]
    # three of five entries are x: 1200 of 2000, with a standard deviation of 22
    assert abs(first.count(0) - 1200) < 4.5 * 22


def test_a_system_that_goes_with_the_others_comes_first_and_a_loner_last() -> None:
    usual = {str(t): [f"u{t}-{i}" for i in range(10)] for t in range(6)}
    lists = {
        t: RankedLists(
            t, ("one", "other", "loner"), (tuple(own), tuple(own[::-1]), tuple(f"x{t}-{i}" for i in range(10)))
        )
        for t, own in usual.items()
    }
    found = score_without_judgments(lists, 10)
    assert found.systems[found.ranking()[-1]] == "loner" and found.counts.tolist() == [10, 10, 0]
    assert (found.error >= 0).all() and min(found.pseudo[:2]) > 1.5 * found.pseudo[2]


def test_votes_are_the_same_for_a_seed() -> None:
    one, again, other = (
        score_without_judgments({"T": T}, 6),
        score_without_judgments({"T": T}, 6),
        score_without_judgments({"T": T}, 6, seed=2),
    )
    assert one.pseudo.tolist() == again.pseudo.tolist() != other.pseudo.tolist()


def test_nothing_to_vote_on_is_worth_nothing() -> None:
    empty = score_without_judgments({"1": RankedLists("1", ("a",), ((),))}, 5, trials=1)
    assert empty.pseudo.tolist() == empty.counts.tolist() == empty.error.tolist() == [0]
    with pytest.raises(CranfieldError, match="expected at least 1 trial"):
        score_without_judgments({"T": T}, 6, trials=0)


def test_earlier_judgments_tell_how_much_is_relevant() -> None:
    assert relevant_shares({"T": T}, {"T": {"d1": 1, "d2": 0, "d3": 0, "d4": 0}, "U": {"x": 1}}, 1) == [0.25]
