"""Condorcet fusion: an order of candidates in which no neighbours contradict the majority of runs."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats, Ints
from cranfield.fusion.candidates import Candidates

CLOSE = 1e-12  # weights such as .1 + .2 against .3 are a tie


def majority_order(candidates: Candidates, ranks: Floats, tie_break: Floats, weights: Floats | None) -> Floats:
    """For each candidate the number of candidates at its rank or below: c for the first, 1 for the last.

    A merge sort whose comparison is a vote (Montague & Aslam 2002): x goes before y if more runs have x above y than y
    above x. A run that has only one of them puts it above the other; a run with neither does not vote. Where votes
    are even, or majorities form a cycle, candidates stay in the order of `tie_break`, then of ids. All queries are
    merged at the same time.
    """
    order, place = candidates.ranked(tie_break)
    power = np.ones(candidates.runs) if weights is None else weights
    width, longest = 1, int(candidates.number.max(initial=0))
    while width < longest:
        order = _merge(order, _pairs(candidates.starts, width), ranks, power)
        width *= 2
    below = np.empty(len(order))
    below[order] = np.repeat(candidates.number, candidates.number) + 1 - place
    return below


def _pairs(starts: Ints, width: int) -> tuple[Ints, Ints, Ints]:
    """Start, middle and end of every two neighbouring parts of one query, of this many candidates each."""
    parts = -(-np.diff(starts) // (2 * width))
    query = np.repeat(np.arange(len(parts)), parts)
    first_part = np.concatenate(([0], np.cumsum(parts)))[query]
    begin = starts[query] + 2 * width * (np.arange(len(query)) - first_part)
    middle = np.minimum(begin + width, starts[query + 1])
    return begin, middle, np.minimum(begin + 2 * width, starts[query + 1])


def _merge(order: Ints, pairs: tuple[Ints, Ints, Ints], ranks: Floats, power: Floats) -> Ints:
    """Merge neighbouring parts, one step at a time in all of them."""
    merged = order.copy()
    begin, middle, end = pairs
    is_open = middle < end
    left, right, left_end, right_end = begin[is_open], middle[is_open], middle[is_open], end[is_open]
    while len(left):
        x, y = order[left], order[right]
        swap = _margin(ranks[y], ranks[x], power) > CLOSE * power.sum()
        merged[left + right - left_end] = np.where(swap, y, x)
        left, right = left + ~swap, right + swap
        _place_rest(merged, order, left, right, left_end, right_end)
        more = (left < left_end) & (right < right_end)
        if not more.all():
            left, right, left_end, right_end = left[more], right[more], left_end[more], right_end[more]
    return merged


def _place_rest(merged: Ints, order: Ints, left: Ints, right: Ints, left_end: Ints, right_end: Ints) -> None:
    """Append the rest of the left part where the right part is used up; the rest of the right part is in place."""
    for i in np.flatnonzero((right == right_end) & (left < left_end)).tolist():
        rest = int(left_end[i] - left[i])
        merged[int(right_end[i]) - rest : int(right_end[i])] = order[int(left[i]) : int(left_end[i])]


def _margin(above: Floats, below: Floats, power: Floats) -> Floats:
    """The votes for one of two candidates minus those for the other."""
    margin: Floats = (above < below) @ power - (below < above) @ power
    return margin
