"""From the results of queries to figures of runs: sums made where the queries are, put together exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.base import Record, sort_naturally
from cranfield.data import Floats
from cranfield.evaluation import GEOMETRIC_FLOOR
from cranfield.spark.evaluate_block import ABOUT_QRELS, EVALUATED, MISSING, PROBLEM, SKIPPED, UNJUDGED
from cranfield.spark.exact_sum import ExactSum

PARTIAL = "run string, payload string"
_EXAMPLES = 5
COUNTS = (
    "evaluated",
    "missing",
    "skipped",
    "only_in_run",
    "tied",
    "float32_tied",
    "shown",
    "seen",
    "repeated_docs",
    "merged",
    "repeated_judgments",
    "problems",
)


@dataclass
class Totals:
    """What is known of one run, over some queries or all."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    sums: list[ExactSum] = field(default_factory=list)  # of the terms asked for, one or more for each measure
    examples: dict[str, list[str]] = field(default_factory=dict)  # of missing queries, and of problems

    def merge(self, other: Totals) -> None:
        for name, number in other.counts.items():
            self.counts[name] += number
        if not self.sums:
            self.sums = [ExactSum() for _ in other.sums]
        for mine, theirs in zip(self.sums, other.sums, strict=True) if other.sums else ():
            mine.merge(theirs)
        for name, some in other.examples.items():
            self.example(name, some)

    def example(self, name: str, some: Iterable[str]) -> None:
        self.examples[name] = sort_naturally({*self.examples.get(name, ()), *some})[:_EXAMPLES]

    def packed(self) -> str:
        sums = [total.packed() for total in self.sums]
        return json.dumps({"counts": self.counts, "sums": sums, "examples": self.examples})

    @classmethod
    def unpacked(cls, text: str) -> Totals:
        content = json.loads(text)
        return cls(content["counts"], [ExactSum.unpacked(one) for one in content["sums"]], content["examples"])


class Terms(Record):
    """What to add for each value of a measure, in order: the value or its logarithm, its weight, its error squared.

    With `means`, the squares of what values stray from the mean of their run, as for an interval.
    """

    how: tuple[str, ...]  # for each measure, how its values are made one number
    weights: Mapping[str, float] | None = None
    means: Mapping[str, Sequence[float]] | None = None

    def of(self, run: str, queries: Sequence[str], table: Floats, errors: Floats | None) -> list[list[float]]:
        given = None if self.weights is None else [self.weights[query] for query in queries]
        columns: list[list[float]] = []
        for i, (row, how) in enumerate(zip(table, self.how, strict=True)):
            values = row.tolist()
            weights = None if how == "sum" else given
            if how == "geometric":
                values = [math.log(max(value, GEOMETRIC_FLOOR)) for value in values]
            if self.means is not None:
                mean = self.means[run][i]
                # as the local engine has it, operation by operation
                if weights is None:
                    columns.append([(value - mean) ** 2 for value in values])
                else:
                    columns.append([(w * (v - mean)) ** 2 for w, v in zip(weights, values, strict=True)])
                continue
            columns.append(values if weights is None else [w * v for w, v in zip(weights, values, strict=True)])
            columns.append([] if errors is None else (errors[i][~np.isnan(errors[i])] ** 2).tolist())
        if given is not None and self.means is None:
            columns += [given, [weight * weight for weight in given]]
        return columns


class Totalling(Record):
    """Makes one row for each run out of the results of a task."""

    terms: Terms

    def __call__(self, results: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        found: dict[str, Totals] = {}
        for batch in results:
            for run, part in _by_run(batch):
                self._add(found.setdefault(run, Totals()), run, part)
        if found:
            packed = [totals.packed() for totals in found.values()]
            yield pa.RecordBatch.from_arrays(
                [pa.array(list(found), pa.string()), pa.array(packed, pa.string())], ["run", "payload"]
            )

    def _add(self, totals: Totals, run: str, part: Any) -> None:
        states = np.asarray(part["state"])
        named = np.asarray(part["query"].is_valid())
        for name, state in (
            ("missing", MISSING),
            ("skipped", SKIPPED),
            ("only_in_run", UNJUDGED),
            ("problems", PROBLEM),
        ):
            totals.counts[name] += int(np.count_nonzero(states == state))
        scored = ((states == EVALUATED) | (states == MISSING)) & named
        totals.counts["evaluated"] += int(np.count_nonzero(scored))
        about = "merged" if (states == ABOUT_QRELS).any() else "tied"
        for column, name in (
            ("tied", about),
            ("float32_tied", "float32_tied"),
            ("shown", "shown"),
            ("seen", "seen"),
            ("repeated", "repeated_judgments" if about == "merged" else "repeated_docs"),
        ):
            totals.counts[name] += int(np.asarray(part[column]).sum())
        lacked = (states == MISSING) | (states == SKIPPED)
        if lacked.any():
            totals.example("missing", _some(part["query"], lacked))
        if (states == PROBLEM).any():
            totals.example("problems", part["problem"].drop_null().to_pylist()[:_EXAMPLES])
        if scored.any():
            self._add_values(totals, run, part, scored)

    def _add_values(self, totals: Totals, run: str, part: Any, scored: Any) -> None:
        import pyarrow as pa

        rows = part.filter(pa.array(scored))
        queries = rows["query"].to_pylist() if self.terms.weights is not None else ()
        columns = self.terms.of(run, queries, _table(rows["values"]), _table_or_none(rows["errors"]))
        if not totals.sums:
            totals.sums = [ExactSum() for _ in columns]
        for total, column in zip(totals.sums, columns, strict=True):
            total.add(column)


def _by_run(batch: Any) -> Iterator[tuple[str, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = batch["run"].unique().to_pylist()
    if len(names) == 1:
        yield names[0] or "", batch
        return
    for name in names:
        where = batch["run"].is_null() if name is None else pc.equal(batch["run"], pa.scalar(name))
        part = batch.filter(pc.fill_null(where, False))
        yield name or "", part


def _some(queries: Any, where: Any) -> list[str]:
    import pyarrow as pa

    return [query for query in queries.filter(pa.array(where)).to_pylist() if query is not None]


def _table(lists: Any) -> Floats:
    """Lists of values, one a query, as a table with a row for each measure."""
    flat = lists.flatten().to_numpy(zero_copy_only=False)
    table: Floats = flat.reshape(len(lists), -1).T
    return table


def _table_or_none(lists: Any) -> Floats | None:
    return None if lists.null_count else _table(lists)


def gathered(partials: Iterable[tuple[str, str]]) -> dict[str, Totals]:
    """The totals of each run, out of those of all tasks; under '' what is about no run."""
    found: dict[str, Totals] = {}
    for run, payload in partials:
        found.setdefault(run, Totals()).merge(Totals.unpacked(payload))
    return found
