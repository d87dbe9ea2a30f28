"""What a user of one system rather than another would notice, in a sentence."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from cranfield.base import pluralize
from cranfield.evaluation import JUDGED_DEPTH
from cranfield.measures import P
from cranfield.stats.score_table import ScoreTable

_NEAR = 0.05  # by how much of itself a rounded rate may be off


def describe_user_impact(table: ScoreTable, system: str, reference: str) -> str:
    """What a user sees in the first ten documents, and in the first."""
    top, first = (_precision_difference(table, k, system, reference) for k in (JUDGED_DEPTH, 1))
    return f"{_describe_documents(top * JUDGED_DEPTH)}, and a relevant first result {_describe_queries(first)}"


def _precision_difference(table: ScoreTable, k: int, system: str, reference: str) -> float:
    measure = P(cutoff=k, rel=table.rel)
    return float(np.nanmean(table.evaluate(measure, system) - table.evaluate(measure, reference)))


def _describe_documents(each: float) -> str:
    """How many more relevant documents a query has in its first ten.

    >>> _describe_documents(0.26)
    'one more relevant document in the top 10 for every 4 queries'
    >>> _describe_documents(-0.66)
    '2 fewer relevant documents in the top 10 for every 3 queries'
    >>> _describe_documents(-0.9)
    '9 fewer relevant documents in the top 10 for every 10 queries'
    """
    size = abs(each)
    more = "more" if each > 0 else "fewer"
    if size < 1e-9:
        return f"as many relevant documents in the top {JUDGED_DEPTH}"
    if size > 1 + _NEAR:
        return (
            f"{_round_half_up(10 * size) / 10:,.1f} {more} relevant documents in the top {JUDGED_DEPTH} for every query"
        )
    rate = _simplest_rate(size)
    number = f"one {more} relevant document" if rate.numerator == 1 else f"{rate.numerator} {more} relevant documents"
    every = "query" if rate.denominator == 1 else pluralize(rate.denominator, "query")
    return f"{number} in the top {JUDGED_DEPTH} for every {every}"


def _describe_queries(rate: float) -> str:
    """For how many more queries the first result is relevant, out of 100, 1,000 and so on.

    >>> _describe_queries(0.025), _describe_queries(-0.01), _describe_queries(0.0004), _describe_queries(0.0)
    ('for 3 more queries in 100', 'for 1 fewer query in 100', 'for 4 more queries in 10,000', 'equally often')
    """
    if abs(rate) < 1e-9:
        return "equally often"
    of = 100
    while not (number := _round_half_up(of * abs(rate))):
        of *= 10
    return f"for {number:,} {'more' if rate > 0 else 'fewer'} {'query' if number == 1 else 'queries'} in {of:,}"


def _simplest_rate(size: float) -> Fraction:
    """The simplest fraction that is near enough: of few queries, one of more, of ten, of a hundred.

    >>> [str(_simplest_rate(size)) for size in (0.98, 0.74, 0.9, 0.17, 0.18, 0.0123)]
    ['1', '3/4', '9/10', '1/6', '9/50', '1/81']
    """
    one_of = Fraction(1, max(1, _round_half_up(1 / size)))
    few, more = ([Fraction(_round_half_up(size * of), of) for of in some] for some in (range(1, 6), (10, 100)))
    near = (rate for rate in (*few, one_of, *more) if abs(rate - size) <= _NEAR * size)
    return next(near, one_of)


def _round_half_up(value: float) -> int:
    """The nearest whole number; 2.5 may be 2.4999999999999996 to a computer."""
    return math.floor(value + 0.5 + 1e-9)
