"""Sums of differences between systems, made where the scores are, and the draws that tests by chance rest on.

Differences are rounded as everywhere (see stats.pairs) and counted in units of their last digit, so that all sums over
resamples are of whole numbers, and exact. What chance does to a query depends on the seed and the query alone: neither
partitions nor the order of rows change a draw.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats
from cranfield.spark.evaluation import calling
from cranfield.spark.exact_sum import ExactSum
from cranfield.stats import difference_decimals, round_differences

PARTIAL = "measure string, pair int, payload string"
_AT_A_TIME = 256  # queries resampled together: sums of so many differences of 13 digits, taken up to 9 times, are exact
_MOST_DRAWN = 9  # how often a query is drawn at most


def gathered(table: Any, step: Any, kind: Any) -> dict[tuple[str, int], Any]:
    """The sums that a step makes of a table, by measure and pair, out of those of all tasks."""
    found: dict[tuple[str, int], Any] = {}
    for row in table.mapInArrow(calling(step), PARTIAL).collect():
        part = kind.unpacked(row["payload"])
        key = row["measure"], row["pair"]
        if key in found:
            found[key].merge(part)
        else:
            found[key] = part
    return found


@dataclass
class FirstSums:
    """What must be known of the differences before they can be rounded."""

    n: int = 0
    only_a: int = 0
    only_b: int = 0
    largest: float = 0.0  # of the scores
    repeated: int = 0  # rows that are a second one of their system
    total: ExactSum = field(default_factory=ExactSum)

    def merge(self, other: FirstSums) -> None:
        self.n += other.n
        self.only_a += other.only_a
        self.only_b += other.only_b
        self.largest = max(self.largest, other.largest)
        self.repeated += other.repeated
        self.total.merge(other.total)

    def packed(self) -> str:
        return json.dumps([self.n, self.only_a, self.only_b, self.largest.hex(), self.repeated, self.total.packed()])

    @classmethod
    def unpacked(cls, text: str) -> FirstSums:
        n, only_a, only_b, largest, repeated, total = json.loads(text)
        return cls(n, only_a, only_b, float.fromhex(largest), repeated, ExactSum.unpacked(total))


class Settled(Record):
    """What the second look at differences needs of the first."""

    largest: float
    centre: float  # the mean of the differences

    @classmethod
    def of(cls, sums: FirstSums) -> Settled:
        return cls(sums.largest, sums.total.value / sums.n)

    @property
    def unit(self) -> float:
        """How many units of the last digit kept make 1."""
        return 10.0 ** difference_decimals(self.largest)


@dataclass
class SecondSums:
    """What the tests need of the differences."""

    wins: int = 0
    losses: int = 0
    least: float = math.inf
    greatest: float = -math.inf
    squares: ExactSum = field(default_factory=ExactSum)
    total: int = 0  # of differences, in units
    flipped: list[int] = field(default_factory=list)  # for each draw, of the differences whose sign is flipped
    drawn: list[int] = field(default_factory=list)  # for each resample, of the differences drawn
    sizes: list[int] = field(default_factory=list)  # and how many were

    def merge(self, other: SecondSums) -> None:
        self.wins += other.wins
        self.losses += other.losses
        self.least, self.greatest = min(self.least, other.least), max(self.greatest, other.greatest)
        self.squares.merge(other.squares)
        self.total += other.total
        for name in ("flipped", "drawn", "sizes"):
            sums = zip(getattr(self, name), getattr(other, name), strict=True)
            setattr(self, name, [mine + theirs for mine, theirs in sums])

    def packed(self) -> str:
        plain = [self.wins, self.losses, self.least.hex(), self.greatest.hex(), self.squares.packed()]
        return json.dumps([*plain, self.total, self.flipped, self.drawn, self.sizes])

    @classmethod
    def unpacked(cls, text: str) -> SecondSums:
        wins, losses, least, greatest, squares, *rest = json.loads(text)
        ends = float.fromhex(least), float.fromhex(greatest)
        return cls(wins, losses, *ends, ExactSum.unpacked(squares), *rest)


class First(Record):
    """Adds up the differences of a task's queries."""

    pairs: tuple[tuple[int, int], ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        found: dict[tuple[str, int], FirstSums] = {}
        for measure, k, a, b, rows in _columns(batches, self.pairs):
            both = ~(np.isnan(a) | np.isnan(b))
            sums = found.setdefault((measure, k), FirstSums())
            sums.repeated += int(np.asarray(rows["repeated"]).sum())
            sums.only_a += int(np.count_nonzero(~np.isnan(a) & np.isnan(b)))
            sums.only_b += int(np.count_nonzero(np.isnan(a) & ~np.isnan(b)))
            a, b = a[both], b[both]
            if not len(a):
                continue
            sums.n += len(a)
            sums.largest = max(sums.largest, float(np.abs(a).max()), float(np.abs(b).max()))
            sums.total.add(a - b)
        yield from _packed(found)


class Second(Record):
    """Tests the differences of a task's queries."""

    pairs: tuple[tuple[int, int], ...]
    settled: dict[tuple[str, int], Settled]
    resamples: int

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        found: dict[tuple[str, int], SecondSums] = {}
        for measure, k, a, b, rows in _columns(batches, self.pairs):
            both = ~(np.isnan(a) | np.isnan(b))
            if both.any():
                draws = np.asarray(rows["draw"]).view(np.uint64)
                none = [[0] * self.resamples for _ in range(3)]
                sums = found.setdefault((measure, k), SecondSums(flipped=none[0], drawn=none[1], sizes=none[2]))
                self._add(sums, self.settled[measure, k], (a - b)[both], draws[both])
        yield from _packed(found)

    def _add(self, sums: SecondSums, settled: Settled, raw: Floats, draws: Any) -> None:
        rounded = round_differences(raw, settled.largest)
        sums.wins += int(np.count_nonzero(rounded > 0))
        sums.losses += int(np.count_nonzero(rounded < 0))
        sums.least, sums.greatest = min(sums.least, float(rounded.min())), max(sums.greatest, float(rounded.max()))
        sums.squares.add((raw - settled.centre) ** 2)
        units = np.rint(rounded * settled.unit)
        sums.total += sum(map(int, units.tolist()))
        for start in range(0, len(units), _AT_A_TIME):
            part, seeds = units[start : start + _AT_A_TIME], draws[start : start + _AT_A_TIME]
            _add_to(sums.flipped, part @ flips(seeds, self.resamples))
            times = drawn_times(seeds, self.resamples)
            _add_to(sums.drawn, part @ times)
            _add_to(sums.sizes, times.sum(axis=0))


def _add_to(sums: list[int], more: Floats) -> None:
    sums[:] = [mine + int(theirs) for mine, theirs in zip(sums, more.tolist(), strict=True)]


def flips(seeds: Any, number: int) -> Floats:
    """For each query (a row) and each of a number of draws, 1 if its sign is flipped, else 0."""
    words = _random_words(seeds, -(-number // 64))
    bits = np.unpackbits(words.view(np.uint8), axis=1, count=number)
    return bits.astype(np.float64)


def drawn_times(seeds: Any, number: int) -> Floats:
    """For each query (a row) and each of a number of resamples, how often it is drawn: Poisson's, with mean 1."""
    words = _random_words(seeds ^ np.uint64(0x5851F42D4C957F2D), -(-number // 4))
    times: Floats = _POISSON[words.view(np.uint16)[:, :number]]
    return times


def _random_words(seeds: Any, number: int) -> Any:
    """A row of random 64-bit words from each seed, by SplitMix64 (Steele, Lea & Flood, OOPSLA 2014)."""
    steps = np.arange(1, number + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = seeds[:, None] + steps
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.ascontiguousarray(z ^ (z >> np.uint64(31)))


def _poisson_table() -> Floats:
    """The quantiles of Poisson's distribution with mean 1 at 65,536 places: its variance is 0.2 per mille off."""
    chances = [math.exp(-1) / math.factorial(k) for k in range(_MOST_DRAWN)]
    places = (np.arange(65_536) + 0.5) / 65_536
    return np.searchsorted(np.cumsum(chances), places).astype(np.float64)


_POISSON = _poisson_table()


def _columns(
    batches: Iterable[Any], pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, int, Floats, Floats, Any]]:
    """For each measure and pair of a batch, the scores of both (NaN where there is none), and the rows themselves."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in batches:
        for measure in batch["measure"].unique().to_pylist():
            part = batch.filter(pc.equal(batch["measure"], pa.scalar(measure)))
            used = {i for pair in pairs for i in pair}
            values = {i: part[f"v{i}"].to_numpy(zero_copy_only=False) for i in used}
            for k, (a, b) in enumerate(pairs):
                yield measure, k, values[a], values[b], part


def _packed(found: dict[tuple[str, int], Any]) -> Iterator[Any]:
    import pyarrow as pa

    if found:
        measures, pairs = zip(*found, strict=True)
        payloads = [sums.packed() for sums in found.values()]
        columns = [pa.array(measures, pa.string()), pa.array(pairs, pa.int32()), pa.array(payloads, pa.string())]
        yield pa.RecordBatch.from_arrays(columns, ["measure", "pair", "payload"])
