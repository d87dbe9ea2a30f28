"""Active sampling: the chances of the worked example, and what estimates are worth."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from cranfield import evaluate
from cranfield.pooling import PoolingContext, make_pool
from cranfield.pooling.active import ActiveSampling, Round, Sample, rank_probabilities
from tests.pooling.pooled_example import QRELS, RELEVANT, RUNS, T, grade


@pytest.mark.parametrize(
    ("beyond", "chances"),
    [
        (0, [0.4295440420, 0.2633737235, 0.1661703185, 0.0972034050, 0.0437085110, 0]),
        (1, [0.3818347891, 0.2458224929, 0.1662604000, 0.1098101968, 0.0660240174, 0.0302481039]),
    ],
)
def test_ranks_have_the_chances_of_the_reference(beyond: int, chances: list[float]) -> None:
    assert rank_probabilities(6, beyond).tolist() == pytest.approx(chances, abs=1e-10)


def test_a_list_of_one_document_has_a_chance() -> None:
    assert (
        rank_probabilities(1).tolist() == [1.0]
        and rank_probabilities(1, 0).tolist() == [1.0]
        and not len(rank_probabilities(0))
    )


MIXTURE = {
    **dict.fromkeys(("d3", "d7"), 0.1985714535),
    **{"d1": 0.1901519860, "d2": 0.1755824823, "d10": 0.0877912412, "d8": 0.0553901062},
    **dict.fromkeys(("d4", "d11"), 0.0324011350),
    **dict.fromkeys(("d5", "d9"), 0.0145695037),
    **dict.fromkeys(("d6", "d12"), 0.0),
}


def test_the_first_round_has_the_mixture_of_the_reference() -> None:
    selector = ActiveSampling(T, PoolingContext(), draws=3, explore=0.1, beyond=0)
    assert dict(zip(selector.docs, selector.probabilities({}).tolist(), strict=True)) == pytest.approx(
        MIXTURE, abs=1e-10
    )


def test_weights_of_three_draws_are_those_of_the_reference() -> None:
    selector = ActiveSampling(T, PoolingContext(), draws=3, explore=0.1, beyond=0)
    drawn = np.array([selector.docs.index(doc) for doc in ("d1", "d3", "d7")])
    sample = Sample(
        selector.docs, [Round(selector.probabilities({}), drawn)], {doc: grade(doc) for doc in ("d1", "d3", "d7")}
    )
    found = sample.inclusion_probabilities()
    assert found["d3"] == pytest.approx(0.4852522900, abs=1e-10)
    assert found["d1"] == pytest.approx(0.4688580979, abs=1e-10)
    assert sample.horvitz_thompson() == pytest.approx(4.193625161312, abs=1e-10)


def test_systems_with_relevant_documents_are_asked_more_often() -> None:
    selector = ActiveSampling(T, PoolingContext(), draws=3, explore=0.1)
    before = dict(zip(selector.docs, selector.probabilities({}), strict=True))
    after = dict(zip(selector.docs, selector.probabilities({"d10": 1.0}), strict=True))  # which only C has
    assert after["d11"] > before["d11"] and 0 < after["d5"] < before["d5"]
    assert sum(after.values()) == pytest.approx(1)


def test_adaptive_chances_bias_one_estimate_and_not_the_other() -> None:
    """The counter-example of the notes: a is relevant, and what is drawn first is likelier to be drawn again."""
    thompson = hurwitz = 0.0
    for first, second in product((0, 1), repeat=2):
        p_first, p_second = np.array([0.5, 0.5]), np.array([0.9, 0.1]) if first == 0 else np.array([0.1, 0.9])
        sample = Sample(
            ("a", "b"), [Round(p_first, np.array([first])), Round(p_second, np.array([second]))], {"a": 1.0, "b": 0.0}
        )
        rng = p_first[first] * p_second[second]
        thompson += rng * sample.horvitz_thompson()
        hurwitz += rng * sample.hansen_hurwitz()
    assert thompson == pytest.approx(0.6172248804, abs=1e-10)
    assert hurwitz == pytest.approx(1, abs=1e-12)


def test_estimates_are_right_on_average() -> None:
    """One round for Horvitz and Thompson, adapting rounds for Hansen and Hurwitz; within four standard errors."""
    one, many = [], []
    for seed in range(2000):
        selector = ActiveSampling(T, PoolingContext(seed=seed), draws=4, explore=0.2)
        rounds = selector.sample({doc: grade(doc) for doc in T.ranks}).rounds
        grades = {doc: grade(doc) for doc in T.ranks}
        one.append(Sample(selector.docs, rounds[:1], grades).horvitz_thompson())
        many.append(Sample(selector.docs, rounds[:3], grades).hansen_hurwitz())
    for found in (one, many):
        error = np.std(found, ddof=1) / math.sqrt(len(found))
        assert abs(np.mean(found) - len(RELEVANT)) < 4 * error < 0.5


def test_only_whole_rounds_are_counted() -> None:
    selector = ActiveSampling(T, PoolingContext(seed=3), draws=5, explore=0.1)
    first = selector.next({}, 2)
    assert selector.sample({first[0]: 1.0}).draws == 0 and selector.sample({}).hansen_hurwitz() == 0


def test_chances_go_to_a_file_that_statAP_takes() -> None:
    pool = make_pool(RUNS, "active", judged={"T": {doc: QRELS["T"][doc] for doc in T.ranks}}, batch=5)
    assert pool.sample is not None and set(pool.sample.extra) == {"method", "probability"}
    estimate = evaluate(pool.sample, RUNS["A"], ["statAP"]).mean("statAP")
    assert estimate == pytest.approx(evaluate(QRELS, RUNS["A"], ["AP"]).mean("AP"), abs=0.02)


def test_the_sample_never_ends_before_its_share_of_the_pool() -> None:
    selector = ActiveSampling(T, PoolingContext(), draws=10, explore=0.1)
    asked = list(selector.replay(lambda _: 0.0))
    assert len(asked) == len(set(asked)) and set(asked) <= set(T.ranks) and len(asked) >= 10
