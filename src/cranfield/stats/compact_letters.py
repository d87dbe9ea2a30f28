"""Compact letter display: systems that share a letter are not significantly different."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cranfield.errors import CranfieldError

ALPHABET = 26  # with more groups, only those that are needed to cover all pairs are kept
_MOST_GROUPS = 400  # with more than this, the search stops and groups are found greedily


def assign_letters(order: Sequence[int], significant: Any) -> list[str]:
    """Letters for each system: two share one if and only if they are not significantly different.

    `order` lists the systems, best first; `significant` says for each pair whether it differs. The best system has
    an a; beyond z come aa, ab, …, then with a space between letters. The result is by the number of the system, not
    by the order.

    >>> assign_letters([0, 1, 2], [[False, False, True], [False, False, False], [True, False, False]])
    ['a', 'ab', 'b']
    """
    differs = _check_order(order, significant)
    rows = [sum(1 << j for j in range(len(order)) if not differs[i, j]) for i in range(len(order))]
    groups = _insert_and_absorb(differs, len(order))
    if groups is None or len(groups) > ALPHABET:
        groups = _cover_pairs(rows)
    letters = list(generate_letters(len(groups)))
    ordered = sorted(groups, key=_members)
    marks = {i: [letters[k] for k, group in enumerate(ordered) if group >> i & 1] for i in range(len(order))}
    separator = "" if len(letters) <= ALPHABET else " "  # aa and a, a must not look alike
    by_system = dict(zip(order, (separator.join(marks[i]) for i in range(len(order))), strict=True))
    return [by_system[system] for system in range(len(order))]


def generate_letters(number: int) -> Iterator[str]:
    """a to z, then aa, ab, …, like the columns of a spreadsheet.

    >>> list(generate_letters(28))[-3:]
    ['z', 'aa', 'ab']
    """
    for i in range(1, number + 1):
        name = ""
        while i:
            i, letter = divmod(i - 1, 26)
            name = chr(ord("a") + letter) + name
        yield name


def _check_order(order: Sequence[int], significant: Any) -> Any:
    """Which pairs differ, with the systems in this order."""
    differs = np.asarray(significant, dtype=bool)
    m = len(order)
    if sorted(order) != list(range(m)):
        raise CranfieldError(f"expected every system from 0 to {m - 1} once in the order, found {list(order)}.")
    if differs.shape != (m, m):
        raise CranfieldError(
            f"expected {m} × {m} pairs for as many systems, found {' × '.join(map(str, differs.shape))}."
        )
    if (differs != differs.T).any():
        raise CranfieldError("expected a symmetric table of which systems differ.")
    if differs.diagonal().any():
        raise CranfieldError("a system does not differ from itself.")
    return differs[np.ix_(order, order)]


def _insert_and_absorb(differs: Any, m: int) -> list[int] | None:
    """Groups by insertion and absorption: the largest sets of systems none of which differ, as bits.

    Piepho, An algorithm for a letter-based representation of all-pairwise comparisons, JCGS 13, 2004. None if there
    are too many groups: their number may grow exponentially if differences have little to do with the means.
    """
    groups = [(1 << m) - 1] if m else []
    for i, j in np.argwhere(np.triu(differs)).tolist():
        pair = 1 << i | 1 << j
        split = [group for group in groups if group & pair == pair]
        kept = [group for group in groups if group & pair != pair]
        for part in [group & ~bit for bit in (1 << j, 1 << i) for group in split]:
            if not any(part & other == part for other in kept):
                kept.append(part)
        groups = kept
        if len(groups) > _MOST_GROUPS:
            return None
    return groups


def _cover_pairs(alike: Sequence[int]) -> list[int]:
    """Enough of the largest groups to contain every pair of systems that do not differ; found greedily."""
    todo = list(alike)
    groups = []
    for i in range(len(alike)):
        while todo[i]:
            group = _grow_group(1 << i | todo[i] & -todo[i], alike, todo)
            groups.append(group)
            for member in _members(group):
                todo[member] &= ~group
    return groups


def _grow_group(group: int, alike: Sequence[int], todo: Sequence[int]) -> int:
    """The group with every system that can be added, those not yet grouped with its members first."""
    candidates = (1 << len(alike)) - 1
    for member in _members(group):
        candidates &= alike[member]
    candidates &= ~group
    while candidates:
        added = max(_members(candidates), key=lambda one: ((todo[one] & group).bit_count(), -one))
        group |= 1 << added
        candidates &= alike[added] & ~(1 << added)
    return group


def _members(group: int) -> list[int]:
    return [i for i in range(group.bit_length()) if group >> i & 1]
