"""Dawid & Skene's model: traces by hand of a reference, planted error rates, and its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import CranfieldError
from cranfield.stats.agreement import as_ratings
from cranfield.stats.dawid_skene import dawid_skene
from tests.soak import examples


def columns(*workers: str) -> Any:
    """A table from a line of grades for each worker, - being none."""
    return as_ratings(
        np.array([[np.nan if grade == "-" else float(grade) for grade in worker] for worker in workers]).T
    )


UNSTABLE = columns("1111000001", "1110000000", "0001111110", "1011010000", "11-1-00100")


def planted() -> Any:
    """24 documents, every third relevant, and six workers with their own errors."""
    truth = [int(i % 3 == 0) for i in range(24)]
    wrong: list[set[int]] = [
        {5},
        {2, 11, 17},
        {0, 7, 13, 20},
        set(range(24)) - {3},
        {i for i in range(24) if truth[i]},
        {0, 1, 9, 14, 21},
    ]
    table = np.array([[truth[i] ^ (i in errors) for errors in wrong] for i in range(24)], dtype=float)
    table[[i for i in range(24) if i % 4 == 3], 5] = np.nan
    return as_ratings(table)


def test_the_first_two_iterations_of_an_unstable_case() -> None:
    one, two = dawid_skene(UNSTABLE, 1), dawid_skene(UNSTABLE, 2)
    first = [0.9802187034, 0.9094270172, 0.9561998181, 0.8163103847, 0.0868955365]
    first += [0.1606088149, 0.0373238253, 0.1776378825, 0.0373238253, 0.2772750610]
    second = [0.9997781444, 0.9982586259, 0.9992236079, 0.8501979864, 0.0061271622]
    second += [0.0095628600, 0.0012267202, 0.0211302746, 0.0012267202, 0.3424072748]
    assert one.posterior[:, 1] == pytest.approx(first, abs=1e-9)
    assert two.posterior[:, 1] == pytest.approx(second, abs=1e-9)
    assert (one.prior[1], two.prior[1]) == pytest.approx((0.4439220869, 0.4229139377), abs=1e-9)


def test_the_likelihood_of_an_unstable_case() -> None:
    found = dawid_skene(UNSTABLE, 100)
    expected = [-28.82685364, -24.91126333, -24.03378007, -23.98138650, -23.96545283]
    assert found.log_likelihoods[:5] == pytest.approx(expected, abs=1e-8)
    assert found.log_likelihoods[-1] == pytest.approx(-23.16429387, abs=1e-7)
    assert found.posterior[9, 1] == pytest.approx(1, abs=1e-6)


def test_planted_errors_after_one_iteration() -> None:
    found = dawid_skene(planted(), 1)
    expected = [0.67717350, 0.14526005, 0.16935023, 0.76855582, 0.05854438, 0.17884697, 0.95174692, 0.22431567]
    expected += [0.05854438, 0.87830426, 0.05854438, 0.21603140, 0.95174692, 0.17624683, 0.14526005, 0.90701857]
    expected += [0.05854438, 0.16935023, 0.95174692, 0.07753300, 0.17624683, 0.87830426, 0.05854438, 0.07753300]
    assert found.posterior[:, 1] == pytest.approx(expected, abs=1e-8)
    assert found.prior[1] == pytest.approx(0.3755538894, abs=1e-9)
    assert found.log_likelihoods[0] == pytest.approx(-67.56269865, abs=1e-8)


def test_planted_errors_when_nothing_changes_any_more() -> None:
    found = dawid_skene(planted(), 10)
    assert found.prior[1] == pytest.approx(0.3315452983, abs=1e-6)
    assert found.log_likelihoods[-1] == pytest.approx(-50.01192095, abs=1e-6)
    assert found.posterior[3, 1] == pytest.approx(0.95708716, abs=1e-5)
    assert found.posterior.argmax(axis=1).tolist() == [int(i % 3 == 0) for i in range(24)]
    expected = [
        [[0.9349923015, 0.0650076985], [0, 1]],
        [[0.8103266613, 0.1896733387], [0, 1]],
        [[0.8103266613, 0.1896733387], [0.1256741292, 0.8743258708]],
        [[0, 1], [0.8797189046, 0.1202810954]],  # says the opposite, which is learned
        [[1, 0], [1, 0]],
        [[0.8333333333, 0.1666666667], [0.5, 0.5]],
    ]
    assert found.errors == pytest.approx(np.array(expected), abs=1e-5)


def test_it_stops_by_itself() -> None:
    found = dawid_skene(planted())
    assert found.has_converged and found.iterations == 8  # the seventh gain is below 1e-8 a judgment
    assert not dawid_skene(planted(), 2).has_converged


def test_three_grades() -> None:
    ratings = columns("000011112222", "000111122222", "010011012212", "222211110000")
    one, limit = dawid_skene(ratings, 1), dawid_skene(ratings, 100)
    assert one.prior == pytest.approx([0.3273105891, 0.3380675185, 0.3346218923], abs=1e-9)
    assert one.posterior[3] == pytest.approx([0.94029288, 0.04593330, 0.01377382], abs=1e-8)
    assert one.posterior[10] == pytest.approx([0.03829762, 0.00712526, 0.95457711], abs=1e-8)
    assert one.log_likelihoods[0] == pytest.approx(-36.34983943, abs=1e-8)
    assert limit.log_likelihoods[-1] == pytest.approx(-24.43005036, abs=1e-6)
    assert "".join(map(str, limit.posterior.argmax(axis=1))) == "000011112222"


def test_planted_error_rates_are_found_again() -> None:
    rng = np.random.default_rng(11)
    prior = np.array([0.6, 0.25, 0.15])
    errors = np.array(
        [
            [[0.95, 0.04, 0.01], [0.05, 0.90, 0.05], [0.02, 0.08, 0.90]],
            [[0.80, 0.15, 0.05], [0.20, 0.70, 0.10], [0.05, 0.25, 0.70]],
            [[0.70, 0.20, 0.10], [0.10, 0.60, 0.30], [0.00, 0.10, 0.90]],  # generous
            [[0.99, 0.01, 0.00], [0.60, 0.35, 0.05], [0.20, 0.50, 0.30]],  # strict
            [[0.34, 0.33, 0.33], [0.33, 0.34, 0.33], [0.33, 0.33, 0.34]],  # guesses
        ]
    )
    truth = rng.choice(3, size=8000, p=prior)
    table = np.array([[rng.choice(3, p=own[grade]) for own in errors] for grade in truth], dtype=float)
    table[rng.random(table.shape) < 0.2] = np.nan
    kept = ~np.isnan(table).all(axis=1)
    found = dawid_skene(as_ratings(table[kept]))
    assert found.errors == pytest.approx(errors, abs=0.05)
    assert found.prior == pytest.approx(prior, abs=0.02)
    right = (found.posterior.argmax(axis=1) == truth[kept]).mean()
    votes = np.array([np.bincount(row[~np.isnan(row)].astype(int), minlength=3).argmax() for row in table[kept]])
    assert right > (votes == truth[kept]).mean() + 0.02
    assert found.accuracy.argmax() == 0 and found.accuracy[4] == pytest.approx(0.34, abs=0.03)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(2, 4))
@examples(30)
def test_the_likelihood_never_falls(seed: int, workers: int, grades: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, grades, (20, workers)).astype(float)
    table[rng.random(table.shape) < 0.2] = np.nan
    table = table[~np.isnan(table).all(axis=1)]
    found = dawid_skene(as_ratings(table), 15)
    assert (np.diff(found.log_likelihoods) > -1e-6).all()
    assert found.posterior.sum(axis=1) == pytest.approx(1)


def test_one_grade_only() -> None:
    found = dawid_skene(as_ratings([[1.0, 1.0], [1.0, 1.0]]))
    assert found.posterior.tolist() == [[1.0], [1.0]]


def test_an_item_without_a_judgment_is_an_error() -> None:
    with pytest.raises(CranfieldError, match="has no judgment"):
        dawid_skene(as_ratings([[1.0, 0.0], [np.nan, np.nan]]))
