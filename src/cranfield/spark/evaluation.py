"""An evaluation as Spark does it: frames out of frames, and the small tables that come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

from cranfield.base import Record, sort_naturally
from cranfield.data import Origin
from cranfield.evaluation import Evaluator
from cranfield.spark.aggregates import PARTIAL, Terms, Totalling, Totals, gathered
from cranfield.spark.evaluate_block import MISSING, PROBLEM, RESULTS, SKIPPED, Judging
from cranfield.spark.grouping import SEE, Inputs, by_query, judged_queries
from cranfield.spark.joining import RunJoin

_EXAMPLES = 3
EXPOSED = "run string, measure int, doc string, shown bigint"


class Unjudged(NamedTuple):
    """What a run has for queries without judgments."""

    queries: int = 0
    repeated: int = 0  # documents that occur again; 0 if they were not looked for


@dataclass(eq=False)
class Evaluation:
    """Frames, measures and conventions, ready to be evaluated where the data are."""

    evaluator: Evaluator
    inputs: Inputs
    weights: Mapping[str, float] | None
    broadcast: bool | None
    partitions: int | None
    qrels_origin: Origin | None = None  # where frames were read from, if that is known
    origin_of: Callable[[str], Origin | None] = field(default=lambda run: None, repr=False)  # of a run
    kept: Any = field(default=None, repr=False)  # the results of queries, where they are to be kept

    @cached_property
    def few(self) -> Any:
        """The judged queries, where they are few."""
        return judged_queries(self.inputs, self.broadcast)

    @cached_property
    def judging(self) -> Judging:
        return Judging(self.evaluator, self.inputs.runs, self.inputs.extra)

    @cached_property
    def grouped(self) -> Any:
        return by_query(self.inputs, self.few, self.partitions)

    @cached_property
    def results(self) -> Any:
        """A row for each run and query, with the values of all measures."""
        return self.grouped.mapInArrow(calling(self.judging), RESULTS)

    def rows(self) -> Any:
        """(run, query, measure, value)."""
        from pyspark.sql import functions as F

        labels = F.array(*map(F.lit, self.evaluator.labels))
        stop = F.when(F.col("state") == PROBLEM, F.raise_error(F.concat(F.col("problem"), F.lit(SEE))))
        if self.evaluator.joining.missing == "error":
            lacks = F.concat(F.lit("run '"), F.col("run"), F.lit("' lacks query '"), F.col("query"), F.lit("'" + SEE))
            stop = stop.when(F.col("state").isin(MISSING, SKIPPED), F.raise_error(lacks))
        checked = self.results.filter(F.coalesce(stop.cast("string"), F.lit("")) == "")
        pairs = F.arrays_zip(labels.alias("measure"), F.col("values").alias("value"))
        return checked.filter(F.col("values").isNotNull()).select("run", "query", F.inline(pairs))

    def totals(self, means: Mapping[str, Sequence[float]] | None = None) -> dict[str, Totals]:
        """Counts and exact sums of each run; of squares around the means, if these are given."""
        totalling = Totalling(Terms(self._how, self.weights, means))
        if self.kept is not None:
            frame = self.kept.mapInArrow(calling(totalling), PARTIAL)
        else:
            frame = self.grouped.mapInArrow(calling(self.judging, totalling), PARTIAL)
        return gathered((row["run"], row["payload"]) for row in frame.collect())

    @property
    def _how(self) -> tuple[str, ...]:
        return tuple(self.averaging(i) for i in range(len(self.evaluator.measures)))

    def averaging(self, i: int) -> str:
        """How the values of a measure are made one number."""
        aggregate = self.evaluator.measures[i].aggregate
        return aggregate if aggregate != "mean" else self.evaluator.how

    def unjudged(self) -> dict[str, Unjudged] | None:
        """For each run what it has for queries without judgments, where that was left out early; else None."""
        if self.few is None:
            return None
        from pyspark.sql import functions as F

        rows = self.inputs.retrieved().join(F.broadcast(self.few), "query", "left_anti").filter("query is not null")
        if "code" not in rows.columns:
            rows = rows.withColumn("code", F.lit(0))
        again = F.lit(0)
        if self.broadcast is None:
            rows, again = rows.groupBy("code", "query", "doc").count(), F.col("count") - 1
        queries = rows.groupBy("code", "query").agg(F.sum(again).alias("repeated"))
        table = queries.groupBy("code").agg(F.count(F.lit(1)).alias("queries"), F.sum("repeated").alias("repeated"))
        return {
            self.inputs.runs[row["code"]]: Unjudged(row["queries"], row["repeated"])
            for row in table.filter("code is not null").collect()
        }

    def some_queries(self, run: str) -> list[str]:
        """A few of the queries that a run has."""
        from pyspark.sql import functions as F

        rows = self.inputs.retrieved()
        if "code" in rows.columns:
            rows = rows.filter(F.col("code") == self.inputs.runs.index(run))
        some = rows.select(F.col("query").cast("string").alias("query")).distinct().limit(_EXAMPLES).collect()
        return sort_naturally(row["query"] for row in some)

    def exposure(self) -> dict[tuple[str, int], list[int]]:
        """For each run and measure of the run as a whole, how often each document is shown, the least first."""
        from pyspark.sql import functions as F

        frame = self.grouped.mapInArrow(calling(_Exposing(self.judging)), EXPOSED)
        per_doc = frame.groupBy("run", "measure", "doc").agg(F.sum("shown").alias("shown"))
        found: dict[tuple[str, int], list[int]] = {}
        table = per_doc.groupBy("run", "measure", "shown").count().orderBy("shown")
        for row in table.collect():
            found.setdefault((row["run"], row["measure"]), []).extend([row["shown"]] * row["count"])
        return found

    def values(self, run: str, i: int) -> dict[str, float]:
        """{query: value} of one run and measure, brought here."""
        from pyspark.sql import functions as F

        frame = self.results if self.kept is None else self.kept
        own = frame.filter((F.col("run") == run) & F.col("values").isNotNull() & F.col("query").isNotNull())
        rows = own.select("query", F.col("values")[i].alias("value")).toArrow()
        return dict(zip(rows["query"].to_pylist(), rows["value"].to_pylist(), strict=True))

    def medians(self) -> dict[tuple[str, int], float]:
        """The median of each run and measure: halfway between the two values in the middle."""
        from pyspark.sql import functions as F

        frame = self.results if self.kept is None else self.kept
        own = frame.filter(F.col("values").isNotNull() & F.col("query").isNotNull())
        at = [i for i in range(len(self.evaluator.measures)) if self.averaging(i) == "median"]
        ends = [
            F.expr(f"percentile_disc(0.5) WITHIN GROUP (ORDER BY values[{i}]{order})").alias(f"{side}{i}")
            for i in at
            for side, order in (("low", ""), ("high", " DESC"))
        ]
        found = own.groupBy("run").agg(*ends).collect() if at else []
        return {(row["run"], i): (row[f"low{i}"] + row[f"high{i}"]) / 2 for row in found for i in at}


def calling(*steps: Callable[[Iterable[Any]], Iterator[Any]]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Steps one after the other, as a plain function, which is what Spark takes."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for step in steps:
            batches = step(batches)
        return iter(batches)

    return run


class _Exposing(Record):
    """Counts which documents are shown, for the measures of a run as a whole."""

    judging: Judging

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        from collections import Counter

        import pyarrow as pa

        for block in self.judging.blocks(batches):
            if block.problem is not None:
                continue  # which `totals` reports
            for i, run in enumerate(self.judging.runs):
                for judged in RunJoin(block, i, run).parts():
                    for k, measure in enumerate(self.judging.evaluator.measures):
                        if measure.aggregate != "run":
                            continue
                        tops = cast(Any, measure).tops(judged)
                        shown = Counter(str(doc) for top in tops for doc in top)
                        n = len(shown)
                        yield pa.RecordBatch.from_arrays(
                            [
                                pa.array([run] * n, pa.string()),
                                pa.array([k] * n, pa.int32()),
                                pa.array(list(shown), pa.string()),
                                pa.array(list(shown.values()), pa.int64()),
                            ],
                            ["run", "measure", "doc", "shown"],
                        )
