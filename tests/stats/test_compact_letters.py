"""Compact letter display: reference cases, and what it promises for any pattern of differences."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import CranfieldError
from cranfield.stats.compact_letters import assign_letters, generate_letters
from cranfield.stats.multiple import two_way_tukey
from tests.soak import examples
from tests.stats.tables import X3


def differing(m, pairs):
    matrix = np.zeros((m, m), dtype=bool)
    for i, j in pairs:
        matrix[i, j] = matrix[j, i] = True
    return matrix


def groups(shown):
    """For each system the set of its letters."""
    spaced = any(" " in one for one in shown)
    return [set(one.split() if spaced else one) for one in shown]


CASES = [
    (3, "", "a a a"),
    (3, "02", "a ab b"),
    (3, "01 02 12", "a b c"),
    (5, "03 04 14", "a ab abc bc c"),
    (5, "02 04 13 24", "ab acd ce bef df"),
    (8, "06 07 16 17 27 34", "ab ab abcd ace bdf abcdef cdef ef"),
]


@pytest.mark.parametrize("m, pairs, expected", CASES)
def test_letters_are_those_of_the_reference_cases(m, pairs, expected):
    matrix = differing(m, [(int(pair[0]), int(pair[1])) for pair in pairs.split()])
    assert assign_letters(range(m), matrix) == expected.split()


def test_the_best_mean_has_the_first_letter():
    pairs = two_way_tukey(X3)
    assert assign_letters(pairs.order, pairs.significant(0.05)) == ["b", "b", "a", "b"]


patterns = st.integers(1, 9).flatmap(
    lambda m: st.tuples(
        st.permutations(range(m)),
        st.lists(st.booleans(), min_size=m * (m - 1) // 2, max_size=m * (m - 1) // 2),
    )
)


@examples(200)
@given(patterns)
def test_two_systems_share_a_letter_if_and_only_if_they_do_not_differ(pattern):
    order, flags = pattern
    m = len(order)
    matrix = differing(m, [pair for pair, flag in zip(itertools.combinations(range(m), 2), flags, strict=True) if flag])
    shown = groups(assign_letters(order, matrix))
    for i, j in itertools.product(range(m), repeat=2):
        assert bool(shown[i] & shown[j]) == (not matrix[i, j])
    # absorption: no letter's systems are all systems of another letter
    used = set().union(*shown)
    members = [frozenset(i for i in range(m) if letter in shown[i]) for letter in used]
    assert not any(one <= other for one, other in itertools.permutations(members, 2))
    assert used == set(generate_letters(len(used)))
    assert "a" in shown[order[0]]


@pytest.mark.parametrize("m, noise", [(60, 0.0), (100, 0.0), (40, 0.3), (100, 0.3)])
def test_many_systems_have_letters_beyond_z(m, noise):
    rng = np.random.default_rng(m)
    means = np.sort(rng.normal(size=m))[::-1] * m / 20
    jitter = rng.normal(size=(m, m)) * noise
    matrix = np.abs(means[:, None] - means) + jitter + jitter.T > 0.5
    np.fill_diagonal(matrix, False)
    written = assign_letters(range(m), matrix)
    shown = groups(written)
    assert len(set().union(*shown)) > 26 and any("aa" in one for one in shown)
    for i, j in itertools.product(range(m), repeat=2):
        assert bool(shown[i] & shown[j]) == (not matrix[i, j])


def test_a_pattern_with_countless_groups_is_told_in_few():
    # twenty pairs that differ, in all else alike, have 2²⁰ largest groups
    matrix = differing(40, [(i, i + 1) for i in range(0, 40, 2)])
    shown = groups(assign_letters(range(40), matrix))
    assert len(set().union(*shown)) < 40
    for i, j in itertools.product(range(40), repeat=2):
        assert bool(shown[i] & shown[j]) == (not matrix[i, j])


def test_names_go_on_after_z():
    shown = list(generate_letters(26 * 27 + 1))
    assert (shown[0], shown[25], shown[26], shown[-2], shown[-1]) == ("a", "z", "aa", "zz", "aaa")
    assert len(set(shown)) == len(shown)


def test_no_systems_have_no_letters_and_one_has_an_a():
    assert assign_letters([], np.zeros((0, 0))) == []
    assert assign_letters([0], [[False]]) == ["a"]


def test_what_is_no_pattern_is_told():
    with pytest.raises(CranfieldError, match="every system from 0 to 1 once"):
        assign_letters([1, 1], differing(2, []))
    with pytest.raises(CranfieldError, match="expected 2 × 2 pairs"):
        assign_letters([0, 1], differing(3, []))
    with pytest.raises(CranfieldError, match="symmetric table"):
        assign_letters([0, 1], [[False, True], [False, False]])
    with pytest.raises(CranfieldError, match="from itself"):
        assign_letters([0], [[True]])
