"""Halves of the topics, one topic less, other measures: brute force, worked examples, real runs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from cranfield.errors import CranfieldError
from cranfield.evaluation import evaluate
from cranfield.stats import stability
from cranfield.stats.compact_letters import assign_letters
from cranfield.stats.correlation import kendall_tau, rbo, tau_ap
from cranfield.stats.multiple import randomised_tukey, two_way_tukey
from cranfield.stats.stability import by_size, halves, leave_one_out, measure_correlation, system_ranking_correlation
from tests.stats.tables import X3, table


def all_halves(scores, size):
    """The swap rate and the mean tau over all pairs of disjoint samples, by their definitions."""
    n, m = scores.shape
    swaps, taus = [], []
    for one in itertools.combinations(range(n), size):
        for other in itertools.combinations([i for i in range(n) if i not in one], size):
            x, y = (scores[list(part)].mean(axis=0).round(12) for part in (one, other))
            swaps += [(x[i] - x[j]) * (y[i] - y[j]) < 0 for i, j in itertools.combinations(range(m), 2)]
            taus.append(kendall_tau(x, y))
    return np.mean(swaps), np.mean(taus)


@pytest.mark.parametrize("size", [2, 4])
def test_swap_rate_and_tau_are_near_those_of_all_halves(size):
    rate, tau = all_halves(X3, size)
    found = halves(X3, trials=4000, size=size)
    assert found.swap_rate == pytest.approx(rate, abs=0.02) and found.tau == pytest.approx(tau, abs=0.03)
    assert (found.systems, found.n, found.size, found.trials) == (4, 8, size, 4000)


def test_swaps_are_counted_by_pair_and_by_difference():
    found = halves(table(40, 6, seed=1), trials=300)
    i, j = np.triu_indices(6, 1)
    assert found.pair_swaps[i, j].mean() == pytest.approx(found.swap_rate)
    assert (found.pair_swaps == found.pair_swaps.T).all() and (found.pair_swaps.diagonal() == 0).all()
    assert sum(one.comparisons for one in found.bins) == 300 * 15
    assert sum(one.swaps for one in found.bins) == round(found.swap_rate * 300 * 15)
    assert all(one.high == pytest.approx(one.low + 0.01) for one in found.bins)
    low, high = found.tau_range()
    assert low <= found.tau <= high


def test_swaps_become_rarer_the_larger_the_difference_and_the_sample():
    scores = table(100, 8, seed=2) + np.linspace(0, 0.1, 8)
    small, large = by_size(scores, [5, 50], trials=500)
    assert large.swap_rate < small.swap_rate and large.tau > small.tau
    assert small.bins[0].rate > small.bins[8].rate
    assert 0 < large.difference_needed(0.05) < small.difference_needed(0.05)
    assert [one.size for one in by_size(scores, trials=2)] == list(range(5, 51, 5))
    assert [one.size for one in by_size(scores[:6], trials=2)] == [3]


def test_the_difference_needed_is_worked_by_hand():
    bins = tuple(
        stability.SwapBin(low, low + 0.01, comparisons, swaps)
        for low, comparisons, swaps in ((0.0, 100, 40), (0.01, 100, 10), (0.02, 100, 4), (0.03, 50, 0))
    )
    found = halves(X3, trials=1)
    made = stability.Halves(4, 8, 4, 1, 1, 0.1, found.pair_swaps, bins, found.taus)
    assert made.difference_needed(0.05) == 0.02  # 4 of 150; with the bin below 14 of 250
    assert made.difference_needed(0.06) == 0.01
    assert made.difference_needed(0.5) == 0.0
    assert stability.Halves(4, 8, 4, 1, 1, 0.1, found.pair_swaps, bins[:1], found.taus).difference_needed() is None


def test_the_answer_is_the_same_whatever_is_held_at_once(monkeypatch):
    scores = table(30, 5)
    whole = halves(scores, trials=100)
    monkeypatch.setattr(stability, "_CELLS", 1)
    parts = halves(scores, trials=100)
    assert parts.swap_rate == whole.swap_rate and (parts.taus == whole.taus).all() and parts.bins == whole.bins
    assert (leave_one_out(scores).taus == leave_one_out(scores).taus).all()


def test_identical_systems_never_swap_and_agree():
    found = halves(np.tile(table(10, 1), (1, 3)), trials=20)
    assert found.swap_rate == 0 and found.tau == 1
    tied_on_one_half = np.array([[0.5, 0.5], [0.5, 0.6]])
    assert halves(tied_on_one_half, trials=20).swap_rate == 0 and halves(tied_on_one_half, trials=20).tau == 0


def test_what_cannot_be_halved_is_told():
    with pytest.raises(CranfieldError, match="at least 2 topics"):
        halves([[0.1, 0.2]])
    with pytest.raises(CranfieldError, match="expected 1 to 4"):
        halves(X3, size=5)
    with pytest.raises(CranfieldError, match="0 trials"):
        halves(X3, trials=0)


def test_leaving_a_topic_out_is_recomputed_without_it():
    found = leave_one_out(X3)
    for topic in range(8):
        rest = np.delete(X3, topic, axis=0).mean(axis=0)
        assert found.without[topic] == pytest.approx(rest)
        assert found.taus[topic] == pytest.approx(kendall_tau(X3.mean(axis=0).round(12), rest.round(12)))
        changes = [
            abs((rest[i] - rest[j]) - (found.means[i] - found.means[j])) for i, j in itertools.combinations(range(4), 2)
        ]
        assert found.shift[topic] == pytest.approx(max(changes))
        assert found.winners[topic] == rest.argmax() and found.differences(2, 0)[topic] == pytest.approx(
            rest[2] - rest[0]
        )
    assert found.winner == 2 and not found.changes_winner.any()
    assert found.order[0] == int(found.shift.argmax())


def test_a_winner_that_ties_without_a_topic_has_not_lost():
    found = leave_one_out([[0.5, 0.6], [0.4, 0.4], [0.3, 0.3]])
    assert found.winner == 1 and found.winners.tolist() == [1, 1, 1] and found.taus.tolist() == [0, 1, 1]
    alike = leave_one_out([[0.5, 0.5], [0.4, 0.4]])
    assert alike.winner == 0 and alike.taus.tolist() == [1, 1] and alike.shift.tolist() == [0, 0]


def test_rankings_of_systems_are_correlated_as_lists_and_by_name():
    x, y = [0.4, 0.3, 0.2, 0.1], [0.35, 0.4, 0.2, 0.1]
    found = system_ranking_correlation(x, y, p=0.8)
    assert found.tau == pytest.approx(2 / 3)
    assert found.tau_ap == pytest.approx(tau_ap(x, y, variant="b"))
    assert found.pearson == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert found.rbo == rbo([0, 1, 2, 3], [1, 0, 2, 3], p=0.8)
    named = system_ranking_correlation(
        dict(zip("abcd", x, strict=True)), dict(reversed(list(zip("abcd", y, strict=True)))), p=0.8
    )
    assert (named.tau, named.tau_ap, named.rbo) == (found.tau, found.tau_ap, found.rbo)


def test_a_ranking_agrees_with_itself_even_if_it_ties():
    found = system_ranking_correlation([0.3, 0.1 + 0.2, 0.1], [0.3, 0.3, 0.1])
    assert (found.tau, found.tau_ap) == (1, 1) and found.pearson == pytest.approx(1)
    assert found.rbo.ext == pytest.approx(1)


def test_rankings_that_tie_all_systems_are_defined():
    one = system_ranking_correlation([0.3, 0.3, 0.3], [0.1, 0.2, 0.3])
    assert (one.tau, one.tau_ap, one.pearson) == (0, 0, 0) and "first ranking ties all systems" in one.note
    both = system_ranking_correlation([0.3, 0.3], [0.1, 0.1])
    assert (both.tau, both.tau_ap, both.pearson) == (1, 1, 1)


def test_what_are_not_two_rankings_is_told():
    with pytest.raises(CranfieldError, match="at least two systems"):
        system_ranking_correlation([0.1], [0.2])
    with pytest.raises(CranfieldError, match="only one has b"):
        system_ranking_correlation({"a": 1, "b": 2}, {"a": 1})


def test_measures_are_correlated_over_systems():
    means = {"AP": [0.3, 0.2, 0.1, 0.25], "RR": [0.9, 0.7, 0.8, 0.85], "P@10": [0.1, 0.1, 0.1, 0.1]}
    found = measure_correlation(means)
    assert found.measures == ("AP", "RR", "P@10") and found.systems == 4
    assert found.tau[0, 1] == kendall_tau(means["AP"], means["RR"]) == pytest.approx(2 / 3)
    assert found.tau_ap[0, 1] == tau_ap(means["AP"], means["RR"], variant="b")
    assert found.pearson[0, 1] == pytest.approx(np.corrcoef(means["AP"], means["RR"])[0, 1])
    for matrix in (found.tau, found.tau_ap, found.pearson):
        assert (matrix == matrix.T).all() and (matrix.diagonal() == 1).all() and (matrix[2, :2] == 0).all()
    assert "same mean by P@10" in found.note


def test_measures_may_be_tables_or_named_means():
    tables = {"one": X3, "two": 1 - X3}
    found = measure_correlation(tables)
    assert found.tau[0, 1] == -1 and found.pearson[0, 1] == pytest.approx(-1)
    named = measure_correlation({name: dict(enumerate(scores.mean(axis=0))) for name, scores in tables.items()})
    assert (named.tau == found.tau).all() and named.note == ""
    with pytest.raises(CranfieldError, match="at least one measure"):
        measure_correlation({})
    with pytest.raises(CranfieldError, match="one: expected a mean per system"):
        measure_correlation({"one": np.zeros((2, 2, 2))})


def test_the_swap_rate_of_two_topics_is_worked_by_hand():
    # halves are single topics: systems 0 and 1 are always swapped, 2 is always best
    scores = np.array([[0.1, 0.2, 0.9], [0.2, 0.1, 0.9]])
    found = halves(scores, trials=10)
    assert found.swap_rate == float(Fraction(1, 3)) and found.tau == pytest.approx(1 / 3)
    assert found.pair_swaps.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_real_runs_are_compared_in_all_ways(shared_data):
    files = sorted(map(str, (shared_data / "dl19" / "runs").iterdir()))
    dl19 = evaluate(str(shared_data / "dl19" / "qrels.dl19-passage.txt"), files, ["nDCG@10", "AP", "RR"])
    tables = {label: np.stack([run.values[k] for run in dl19.runs], axis=1) for k, label in enumerate(dl19.labels)}
    scores = tables["nDCG@10"]
    assert scores.shape == (43, 12)
    randomised, two_way = randomised_tukey(scores), two_way_tukey(scores)
    # real differences are dealt out too and widen what chance can do, so that the randomised test claims less
    assert (two_way.significant() | ~randomised.significant()).all()
    assert (two_way.significant() != randomised.significant()).mean() < 0.2
    shown = assign_letters(randomised.order, randomised.significant())
    for i, j in itertools.combinations(range(12), 2):
        assert bool(set(shown[i]) & set(shown[j])) == (randomised.pvalues[i, j] > 0.05)
    found = halves(scores, trials=200)
    assert 0 < found.swap_rate < 0.25 and found.tau > 0.5
    assert leave_one_out(scores).taus.min() > 0.8
    correlation = measure_correlation(tables)
    assert 0.3 < correlation.tau[0, 1] <= 1 and all(math.isfinite(v) for v in correlation.tau_ap.ravel())
