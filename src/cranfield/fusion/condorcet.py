"""An order of candidates in which none stands right below one that a majority puts below it."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats, Ints
from cranfield.fusion.candidates import Candidates

CLOSE = 1e-12  # weights such as .1 + .2 against .3 are a tie


def majority_order(found: Candidates, ranks: Floats, tie_break: Floats, weights: Floats | None) -> Floats:
    """For each candidate how many of its query stand at its place or below: c for the first, 1 for the last.

    A merge sort whose comparison is a vote (Montague & Aslam 2002): x goes before y if more runs have x above y than y
    above x. A run that has only one of them puts it above the other, one that has neither does not vote. Where votes
    are even, and where majorities go round in a circle, candidates stay in the order of `tie_break`, then of ids.
    All queries are merged at the same time.
    """
    order, place = found.ranked(tie_break)
    power = np.ones(found.runs) if weights is None else weights
    width, longest = 1, int(found.number.max(initial=0))
    while width < longest:
        order = _merged(order, _pairs(found.starts, width), ranks, power)
        width *= 2
    below = np.empty(len(order))
    below[order] = np.repeat(found.number, found.number) + 1 - place
    return below


def _pairs(starts: Ints, width: int) -> tuple[Ints, Ints, Ints]:
    """Beginning, middle and end of every two neighbouring parts of one query that have so many candidates each."""
    parts = -(-np.diff(starts) // (2 * width))
    query = np.repeat(np.arange(len(parts)), parts)
    first_part = np.concatenate(([0], np.cumsum(parts)))[query]
    begin = starts[query] + 2 * width * (np.arange(len(query)) - first_part)
    middle = np.minimum(begin + width, starts[query + 1])
    return begin, middle, np.minimum(begin + 2 * width, starts[query + 1])


def _merged(order: Ints, pairs: tuple[Ints, Ints, Ints], ranks: Floats, power: Floats) -> Ints:
    """Neighbouring parts made one, step by step in all of them."""
    merged = order.copy()
    begin, middle, end = pairs
    open_ = middle < end
    left, right, left_end, right_end = begin[open_], middle[open_], middle[open_], end[open_]
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
    """Put what is left of the left part behind, where the right one is used up; the right part's rest is in place."""
    for i in np.flatnonzero((right == right_end) & (left < left_end)).tolist():
        rest = int(left_end[i] - left[i])
        merged[int(right_end[i]) - rest : int(right_end[i])] = order[int(left[i]) : int(left_end[i])]


def _margin(above: Floats, below: Floats, power: Floats) -> Floats:
    """The votes for one of two candidates less those for the other."""
    margin: Floats = (above < below) @ power - (below < above) @ power
    return margin
