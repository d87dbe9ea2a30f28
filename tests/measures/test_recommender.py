"""Recommender staples: worked by hand, and against plain loops."""

import math
import random

import pytest

from cranfield import CranfieldError, as_qrels, as_run, evaluate, join_run
from cranfield.evaluation.explanation import explain
from cranfield.joining import Extras, Joining
from cranfield.measures.recommender import Coverage, Gini, Novelty
from tests.measures.rankings import random_case, ranked

USERS = {"u1": {"a": 1}, "u2": {"b": 1}, "u3": {"c": 1}}
SHOWN = {
    "u1": {"a": 3.0, "b": 2.0, "c": 1.0},
    "u2": {"a": 3.0, "b": 2.0, "d": 1.0},
    "u3": {"a": 3.0, "e": 2.0, "c": 1.0},
}


def test_hit_rate_is_success():
    for pattern in ("..R.", "...", "R", ".....R"):
        scores = evaluate(*ranked(pattern, relevant=2), ["HitRate@3", "HR@3", "Success@3"])
        assert scores.mean("HitRate@3") == scores.mean("HR@3") == scores.mean("Success@3")


@pytest.mark.parametrize("seed", range(4))
def test_map_at_k_is_ap_over_the_smaller_of_r_and_k(seed):
    scores = evaluate(*random_case(seed), ["MAPk@3", "AP(denominator='min(R,k)')@3", "AP@3"])
    assert scores.per_query("MAPk@3") == scores.per_query("AP(denominator='min(R,k)')@3")


def test_k_relevant_items_on_top_are_worth_1_however_many_there_are():
    scores = evaluate(*ranked("RR.", relevant=9), ["MAPk@2", "AP@2"])
    assert (scores.mean("MAPk@2"), scores.mean("AP@2")) == (1, 2 / 9)


def test_coverage_of_a_run_counts_an_item_once():
    scores = evaluate(USERS, SHOWN, ["Coverage@2", "Coverage"], docs=10)
    assert scores.per_query("Coverage@2") == {"u1": 0.2, "u2": 0.2, "u3": 0.2}
    assert scores.mean("Coverage@2") == 0.3  # a, b, e
    assert scores.mean("Coverage") == 0.5
    assert scores.interval("Coverage@2") is None
    assert scores.select(["u1", "u2"]).mean("Coverage@2") == 0.2


def gini(counts):
    """The mean difference between two items, out of the most there could be."""
    n, total = len(counts), sum(counts)
    return sum(abs(a - b) for a in counts for b in counts) / (2 * (n - 1) * total)


def test_gini_is_0_if_all_are_shown_alike_and_1_if_it_is_always_the_same():
    one = {user: {"a": 1.0} for user in USERS}
    each = {user: {doc: 1.0} for user, doc in zip(USERS, "abc", strict=True)}
    assert evaluate(USERS, one, ["Gini@1"], docs=3).mean("Gini@1") == 1
    assert evaluate(USERS, each, ["Gini@1"], docs=3).mean("Gini@1") == 0
    scores = evaluate(USERS, SHOWN, ["Gini@2"], docs=5)
    assert scores.mean("Gini@2") == pytest.approx(gini([3, 2, 1, 0, 0]))
    assert scores.per_query("Gini@2") == {user: pytest.approx(gini([1, 1, 0, 0, 0])) for user in USERS}


@pytest.mark.parametrize("seed", range(5))
def test_exposure_of_a_random_run(seed):
    qrels, run = random_case(seed, queries=12, docs=20)
    tops = [sorted(docs, key=lambda doc: -docs[doc])[:4] for docs in run.values()]
    counts = [sum(f"d{i}" in top for top in tops) for i in range(25)]
    scores = evaluate(qrels, run, ["Gini@4", "Coverage@4"], docs=25)
    assert scores.mean("Gini@4") == pytest.approx(gini(counts))
    assert scores.mean("Coverage@4") == pytest.approx(sum(count > 0 for count in counts) / 25)


def test_a_catalogue_is_as_large_as_what_is_shown_at_least():
    with pytest.raises(CranfieldError, match="Coverage needs the size of the catalogue"):
        evaluate(USERS, SHOWN, ["Coverage@2"])
    with pytest.raises(CranfieldError, match="the run shows 3 documents, more than the 2"):
        evaluate(USERS, SHOWN, ["Coverage@2"], docs=2).mean("Coverage@2")
    one = {"u1": {"a": 1.0}}
    assert evaluate(USERS, one, ["Gini@1", "Coverage@1"], docs=1).summary() == {"run": {"Gini@1": 0, "Coverage@1": 1}}


def test_judged_items_only():
    judged = join_run(as_qrels(USERS), as_run(SHOWN))
    assert Coverage(cutoff=2, docs=10, judged_only=True).run_value(judged) == 0.3  # a for u1, b for u2, c for u3
    assert Gini(cutoff=2, docs=3, judged_only=True).run_value(judged) == 0


def novelty(measure, run, against, expected=False, **options):
    judged = join_run(as_qrels(USERS), as_run(run), Joining(**options), Extras(against=as_run(against)))
    column = measure.expected_values(judged) if expected else measure.values(judged)
    return dict(zip(judged.queries, column.tolist(), strict=True))


TRAINING = {
    "u1": {"a": 1.0, "b": 1.0},
    "u2": {"a": 1.0},
    "u3": {"a": 1.0, "b": 1.0, "c": 1.0},
    "u4": {"a": 1.0},
}


def test_novelty_is_the_mean_surprise_of_what_is_shown():
    # of 4 users 4 have a, 2 have b, 1 has c; d and e are as rare as c
    assert novelty(Novelty(cutoff=2), SHOWN, TRAINING) == {"u1": 0.5, "u2": 0.5, "u3": 1.0}
    assert novelty(Novelty(), SHOWN, TRAINING) == {"u1": 1.0, "u2": 1.0, "u3": pytest.approx(4 / 3)}
    assert novelty(Novelty(cutoff=9), {"u1": {"c": 1.0}}, TRAINING) == {"u1": 2.0, "u2": 0.0, "u3": 0.0}


def test_novelty_may_be_that_within_the_run_itself():
    found = novelty(Novelty(cutoff=1), SHOWN, SHOWN)
    assert found == {"u1": 0.0, "u2": 0.0, "u3": 0.0}  # everyone is shown a


def test_expected_novelty_is_the_mean_over_the_orders_of_ties():
    tied = {"u1": {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}}
    # a, and one of b, c, d with 1, 2 and 2 bits
    found = novelty(Novelty(cutoff=2), tied, TRAINING, expected=True, ties="expected")
    assert found["u1"] == pytest.approx((0 + 5 / 3) / 2)


@pytest.mark.parametrize("seed", range(4))
def test_novelty_of_a_random_run(seed):
    qrels, run = random_case(seed)
    _, training = random_case(seed + 50, queries=9)
    judged = join_run(as_qrels(qrels), as_run(run), extras=Extras(against=as_run(training)))
    users = len(training)
    for query, found in zip(judged.queries, Novelty(cutoff=5).values(judged).tolist(), strict=True):
        top = sorted(run[query], key=lambda doc: -run[query][doc])[:5]
        bits = [-math.log2(max(sum(doc in docs for docs in training.values()), 1) / users) for doc in top]
        assert found == pytest.approx(sum(bits) / len(bits) if bits else 0)


def test_novelty_is_explained_by_popularity():
    explanation = explain("Novelty@2", USERS, SHOWN, "u3", extras=Extras(against=as_run(TRAINING)))
    rows = [(row["doc"], row["popularity"], row["bits"], row["term"]) for row in explanation.rows]
    assert rows == [("a", 1, 0, 0), ("e", 0.25, 2, 2), ("c", 0.25, 2, 0)]
    assert explanation.value == 1


def test_the_order_of_queries_does_not_matter_to_a_run():
    qrels, run = random_case(2, queries=10)
    queries = random.Random(1).sample(sorted(run), len(run))
    mixed = {query: run[query] for query in queries}
    measures = ["Gini@3", "Coverage@3"]
    assert evaluate(qrels, run, measures, docs=50).summary() == evaluate(qrels, mixed, measures, docs=50).summary()
