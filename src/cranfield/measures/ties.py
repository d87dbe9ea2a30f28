"""The expected value of a measure over all orders of documents with equal scores, in closed form.

Hits that share a score form a group: it starts at rank `first`, has `size` places, and `relevant` of them hold a
relevant document. Every order of the group is equally likely.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cranfield.base import Record
from cranfield.data import Bools, Floats, Ints
from cranfield.joining import JudgedRun


def mean_weight(judged: JudgedRun, weight: Callable[[Ints], Floats]) -> Floats:
    """For each hit the mean of `weight(rank)` over the places its group takes."""
    alone = weight(judged.rank)
    if not judged.has_ties:
        return alone
    heads = _heads(judged)
    first, size = judged.tie_first[heads], judged.tie_size[heads]
    weights = weight(np.arange(1, int((first + size).max())))
    mean = _stretch_sums(weights, first - 1, first - 1 + size) / size
    return np.where(judged.tie_size > 1, np.repeat(mean, np.diff(np.append(heads, len(alone)))), alone)


class Groups(Record):
    """The groups of equal scores that hold a relevant document, in rank order within each query."""

    query: Ints
    first: Ints
    size: Ints
    relevant: Ints  # how many relevant documents are in the group
    above: Ints  # how many relevant documents are in earlier groups of the query

    def total(self, weights: Floats, n: int) -> Floats:
        """The sum over the groups of each of n queries."""
        return np.asarray(np.bincount(self.query, weights=weights, minlength=n), dtype=np.float64)


def relevant_groups(judged: JudgedRun, relevant: Bools) -> Groups:
    """Gather the relevant hits by group."""
    hits = judged.only(relevant)
    heads = _heads(hits)
    return Groups(
        query=hits.query[heads],
        first=hits.tie_first[heads],
        size=hits.tie_size[heads],
        relevant=np.diff(np.append(heads, len(hits.rank))),
        above=heads - hits.starts[hits.query[heads]],
    )


def precision_sum(groups: Groups, cutoff: int | None) -> Floats:
    """For each group the expected sum of the precisions at its relevant documents (within the cutoff)."""
    before = groups.first - 1
    last = before + groups.size
    if cutoff is not None:
        before, last = np.minimum(before, cutoff), np.minimum(last, cutoff)
    places = last - before
    alone: Floats = (groups.above + 1) / groups.first * (places > 0)
    inverse = _stretch_sums(1 / np.arange(1, int(last.max(initial=0)) + 1), before, last)
    # given a relevant document at a place, each earlier place of the group is relevant with chance (r−1)/(s−1)
    chance = (groups.relevant - 1) / np.maximum(groups.size - 1, 1)
    inside: Floats = (groups.above + 1 - groups.first * chance) * inverse + chance * places
    return np.where(groups.size > 1, inside * groups.relevant / groups.size, alone)


def group_terms(judged: JudgedRun, relevant: Bools, cutoff: int | None) -> Floats:
    """For each relevant hit the precision at the last place of its group; 0 if that is beyond the cutoff."""
    last = judged.tie_first + judged.tie_size - 1
    # relevant documents down to the end of the group: those so far, and those of the group still to come
    so_far = judged.count_running(relevant)
    after = np.zeros(len(so_far))
    after[:-1] = np.where((judged.query[1:] == judged.query[:-1]) & (last[1:] == last[:-1]), 1.0, 0.0)
    ends = np.flatnonzero(after == 0)
    found = so_far[ends[np.searchsorted(ends, np.arange(len(so_far)))]] if len(so_far) else so_far
    inside = relevant if cutoff is None else relevant & (last <= cutoff)
    return np.where(inside, found / last, 0.0)


def first_places(size: int, relevant: int) -> Floats:
    """The chance that the first relevant document of a group is at its 1st, 2nd, … place."""
    j = np.arange(size - relevant + 1)
    # none before (a product), times relevant among what is left
    stay = np.concatenate(([1.0], np.cumprod((size - relevant - j[:-1]) / (size - j[:-1]))))
    chances: Floats = stay * relevant / (size - j)
    return chances


def none_in_top(size: int, relevant: int, places: int) -> float:
    """The chance that none of a group's relevant documents is among its first places."""
    if places > size - relevant:
        return 0.0
    i = np.arange(places)
    return float(np.prod((size - relevant - i) / (size - i)))


def _heads(judged: JudgedRun) -> Ints:
    """Where each group begins among the hits."""
    new = np.ones(len(judged.rank), dtype=bool)
    new[1:] = (judged.query[1:] != judged.query[:-1]) | (judged.tie_first[1:] != judged.tie_first[:-1])
    return np.flatnonzero(new)


def _stretch_sums(weights: Floats, start: Ints, stop: Ints) -> Floats:
    """The sum of weights[start:stop] for each pair."""
    # each by itself: the difference of two running sums has lost digits where the list is long
    if not len(start):
        return np.zeros(0)
    bounds = np.column_stack((start, stop)).ravel()
    sums = np.add.reduceat(np.append(weights, 0.0), bounds)[::2]
    return np.where(stop > start, sums, 0.0)
