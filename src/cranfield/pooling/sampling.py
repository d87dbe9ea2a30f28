"""Samples of a pool, for measures that estimate what judging all of it would give: uniform, or by strata of ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cranfield.base import Record, encode_id, sort_naturally
from cranfield.data import Qrels
from cranfield.pooling.lists import Lists
from cranfield.pooling.strategy import Fixed, Setting, scattered

NOT_JUDGED = -1.0  # in sampled qrels: in the pool, without a judgment


class Stratum(Record):
    """Ranks of which a share is drawn; a document belongs where its best rank is."""

    first: int
    last: int
    rate: float


def as_strata(given: Any) -> tuple[Stratum, ...]:
    """Strata by the last rank and the rate of each.

    >>> as_strata("10:1,50:0.4")
    (Stratum(first=1, last=10, rate=1.0), Stratum(first=11, last=50, rate=0.4))
    """
    if isinstance(given, str):
        given = [part.split(":") for part in given.split(",")]
    strata: list[Stratum] = []
    for part in given:
        if isinstance(part, Stratum):
            strata.append(part)
            continue
        last, rate = _rank_and_rate(part)
        first = strata[-1].last + 1 if strata else 1
        if last < first:
            raise ValueError(f"ranks that rise, but {last} comes after {first - 1}")
        strata.append(Stratum(first, last, rate))
    if not strata:
        raise ValueError("strata, e.g. 10:1,50:0.4,100:0.1")
    return tuple(strata)


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


def drawn_number(size: int, rate: float) -> int:
    """How many of so many are drawn: at least one, as a stratum without a judgment could not be estimated.

    >>> drawn_number(30, 0.1), drawn_number(4, 0.1), drawn_number(0, 0.1)
    (3, 1, 0)
    """
    return math.ceil(rate * size - 1e-9)


class Sampler(Fixed):
    """One that draws by chance."""

    def strata(self) -> dict[str, str]:
        """The stratum of each document of the pool."""
        raise NotImplementedError


def sampled_qrels(strata: Mapping[str, Mapping[str, str]], graded: Mapping[str, Mapping[str, float]]) -> Qrels:
    """Qrels with a stratum for every document of a pool: as graded if it was drawn and judged, else -1.

    This is what xinfAP, infNDCG and iP take; before anything is judged, it is the form to be filled in.
    """
    every = sort_naturally({stratum for own in strata.values() for stratum in own.values()})
    order = {stratum: i for i, stratum in enumerate(every)}
    rows = [
        (query, doc, stratum, graded.get(query, {}).get(doc, NOT_JUDGED))
        for query, own in strata.items()
        for doc, stratum in sorted(own.items(), key=lambda pair: (order[pair[1]], encode_id(pair[0])))
    ]
    queries, docs, names, grades = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Qrels.from_rows(queries, docs, grades, extra={"stratum": names}, name="sample")


class Uniform(Sampler):
    """Every document of the pool has the same chance."""

    def __init__(self, lists: Lists, setting: Setting, rate: float | None) -> None:
        super().__init__(lists, setting)
        self.rate = 1.0 if rate is None else rate

    def order(self) -> Sequence[str]:
        docs = scattered(self.lists.ranks, self.lists.query, self.setting.seed, "sample")
        return docs[: drawn_number(len(docs), self.rate)]

    def strata(self) -> dict[str, str]:
        """The stratum of each document: there is but one."""
        return dict.fromkeys(self.lists.ranks, "1")


class Stratified(Sampler):
    """Strata of ranks, of each of which a share is drawn, each document of it with the same chance."""

    def __init__(self, lists: Lists, setting: Setting, strata: Sequence[Stratum]) -> None:
        super().__init__(lists, setting)
        self.ranks_and_rates = strata

    def order(self) -> Sequence[str]:
        drawn: list[str] = []
        for stratum in self.ranks_and_rates:
            docs = self._docs_of(stratum)
            drawn += docs[: drawn_number(len(docs), stratum.rate)]
        return drawn

    def strata(self) -> dict[str, str]:
        """The stratum of each document that is in one, counted from the top."""
        numbered = enumerate(self.ranks_and_rates, 1)
        return {doc: str(number) for number, stratum in numbered for doc in self._docs_of(stratum)}

    def notes(self) -> Iterator[str]:
        last = self.ranks_and_rates[-1].last
        if max(self.lists.best.values(), default=0) > last:
            yield f"Documents below rank {last:,} are in no stratum, and not in the pool."

    def _docs_of(self, stratum: Stratum) -> list[str]:
        best = self.lists.best
        inside = (doc for doc, rank in best.items() if stratum.first <= rank <= stratum.last)
        return scattered(inside, self.lists.query, self.setting.seed, "sample")
