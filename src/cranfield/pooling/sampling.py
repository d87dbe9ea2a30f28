"""Random samples of a pool, uniform or stratified by rank, for measures that estimate the scores of the whole pool."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cranfield.base import Record, encode_id, sort_naturally
from cranfield.data import Qrels
from cranfield.pooling.ranked_lists import RankedLists
from cranfield.pooling.selector import PoolingContext, StaticSelector, shuffle_by_hash

NOT_JUDGED = -1.0  # in sampled qrels: in the pool but not judged


class Stratum(Record):
    """A range of ranks and the share of its documents to draw. A document belongs to the stratum of its best rank."""

    first: int
    last: int
    rate: float


def parse_strata(strata: Any) -> tuple[Stratum, ...]:
    """Strata from the last rank and the rate of each.

    >>> parse_strata("10:1,50:0.4")
    (Stratum(first=1, last=10, rate=1.0), Stratum(first=11, last=50, rate=0.4))
    """
    parts = [part.split(":") for part in strata.split(",")] if isinstance(strata, str) else strata
    parsed: list[Stratum] = []
    for part in parts:
        if isinstance(part, Stratum):
            parsed.append(part)
            continue
        last, rate = _rank_and_rate(part)
        first = parsed[-1].last + 1 if parsed else 1
        if last < first:
            raise ValueError(f"increasing ranks, but {last} comes after {first - 1}")
        parsed.append(Stratum(first, last, rate))
    if not parsed:
        raise ValueError("strata, e.g. 10:1,50:0.4,100:0.1")
    return tuple(parsed)


def _rank_and_rate(part: Any) -> tuple[int, float]:
    expected = "strata as last rank and rate, e.g. 10:1,50:0.4,100:0.1"
    try:
        last, rate = part
        last, rate = int(last), float(rate)
    except (TypeError, ValueError):
        raise ValueError(expected) from None
    if last < 1:
        raise ValueError(expected)
    if not 0 < rate <= 1:
        raise ValueError(f"rates above 0 and at most 1, found {rate:g}")
    return last, rate


def count_draws(size: int, rate: float) -> int:
    """How many documents of a stratum to draw; at least one, as nothing can be estimated without a judgment.

    >>> count_draws(30, 0.1), count_draws(4, 0.1), count_draws(0, 0.1)
    (3, 1, 0)
    """
    return math.ceil(rate * size - 1e-9)


class Sampler(StaticSelector):
    """A selector that draws at random."""

    def strata(self) -> dict[str, str]:
        """The stratum of each document of the pool."""
        raise NotImplementedError


def build_sampled_qrels(strata: Mapping[str, Mapping[str, str]], graded: Mapping[str, Mapping[str, float]]) -> Qrels:
    """Qrels with the stratum of every document of a pool. Its grade is -1 unless it was drawn and judged.

    This is the input of xinfAP, infNDCG and iP. Before anything is judged, it is a form to fill in.
    """
    every = sort_naturally({stratum for docs in strata.values() for stratum in docs.values()})
    order = {stratum: i for i, stratum in enumerate(every)}
    rows = [
        (query, doc, stratum, graded.get(query, {}).get(doc, NOT_JUDGED))
        for query, docs in strata.items()
        for doc, stratum in sorted(docs.items(), key=lambda pair: (order[pair[1]], encode_id(pair[0])))
    ]
    queries, docs, names, grades = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Qrels.from_rows(queries, docs, grades, extra={"stratum": names}, name="sample")


class Uniform(Sampler):
    """Every document of the pool has the same probability."""

    def __init__(self, lists: RankedLists, context: PoolingContext, rate: float | None) -> None:
        super().__init__(lists, context)
        self.rate = 1.0 if rate is None else rate

    def order(self) -> Sequence[str]:
        docs = shuffle_by_hash(self.lists.ranks, self.lists.query, self.context.seed, "sample")
        return docs[: count_draws(len(docs), self.rate)]

    def strata(self) -> dict[str, str]:
        """There is a single stratum."""
        return dict.fromkeys(self.lists.ranks, "1")


class Stratified(Sampler):
    """A share of each stratum, every document of a stratum with the same probability."""

    def __init__(self, lists: RankedLists, context: PoolingContext, strata: Sequence[Stratum]) -> None:
        super().__init__(lists, context)
        self.ranks_and_rates = strata

    def order(self) -> Sequence[str]:
        drawn: list[str] = []
        for stratum in self.ranks_and_rates:
            docs = self._docs_of(stratum)
            drawn += docs[: count_draws(len(docs), stratum.rate)]
        return drawn

    def strata(self) -> dict[str, str]:
        """The stratum of each document that is in one, numbered from the top."""
        numbered = enumerate(self.ranks_and_rates, 1)
        return {doc: str(number) for number, stratum in numbered for doc in self._docs_of(stratum)}

    def notes(self) -> Iterator[str]:
        last = self.ranks_and_rates[-1].last
        if max(self.lists.best_rank.values(), default=0) > last:
            yield f"Documents below rank {last:,} belong to no stratum and are not in the pool."

    def _docs_of(self, stratum: Stratum) -> list[str]:
        best = self.lists.best_rank
        inside = (doc for doc, rank in best.items() if stratum.first <= rank <= stratum.last)
        return shuffle_by_hash(inside, self.lists.query, self.context.seed, "sample")
