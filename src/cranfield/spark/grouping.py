"""Runs and qrels brought together by query, by Spark: one row a query, with its documents as arrays.

Each side is one aggregation, which Spark begins to combine before anything is shuffled, and the join of both finds
them where they are. What is collected of a query is in the same order in each of its arrays, as one operator fills
them row by row. As `collect_list` leaves NULLs out, a row that has one is an error before it is collected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.base import Record
from cranfield.spark.columns import Columns

FEW_JUDGMENTS = 50_000  # up to so many, the judged queries are sent to where the run is read
SEE = ". The scores' check() counts all that is wrong."
EXTRA = ("subtopic", "stratum", "subgroup", "method", "probability")


class Inputs(Record, eq=False):
    """The frames of an evaluation, and which columns are which."""

    run: Any
    qrels: Any
    run_columns: Columns
    qrels_columns: Columns
    runs: tuple[str, ...]  # the names of the runs; a single one if no column tells them apart
    in_order: bool = True  # whether the order of judgments is kept

    @property
    def queries_as_text(self) -> bool:
        return not (self.run_columns.is_whole("query") and self.qrels_columns.is_whole("query"))

    @property
    def docs_as_text(self) -> bool:
        return not (self.run_columns.is_whole("doc") and self.qrels_columns.is_whole("doc"))

    @property
    def extra(self) -> tuple[str, ...]:
        return tuple(name for name in EXTRA if name in self.qrels_columns)

    def retrieved(self) -> Any:
        """The rows of the runs as they are: query, doc, score, and code and rank where there are."""
        columns = self.run_columns
        chosen = {
            "query": columns.ids("query", self.queries_as_text),
            "doc": columns.ids("doc", self.docs_as_text),
            "score": columns.numbers("score"),
        }
        if "run" in columns:
            chosen["code"] = _code(columns.ids("run", True), self.runs)
        if "rank" in columns:
            chosen["rank"] = columns.ranks()
        rows = self.run.select(*(column.alias(name) for name, column in chosen.items()))
        # runs that were not asked for
        return rows.filter("code is null or code >= 0") if "code" in chosen else rows

    def judged(self) -> Any:
        """The rows of the qrels as they are: query, doc, grade, what else, and their place where the order matters."""
        from pyspark.sql import functions as F

        columns = self.qrels_columns
        chosen = {
            "query": columns.ids("query", self.queries_as_text),
            "doc": columns.ids("doc", self.docs_as_text),
            "grade": columns.numbers("grade"),
            **({"place": F.monotonically_increasing_id()} if self.in_order else {}),
            **{name: columns.ids(name, True) for name in self.extra},
            **({"subtopic": columns.subtopics()} if "subtopic" in self.extra else {}),
        }
        return self.qrels.select(*(column.alias(name) for name, column in chosen.items()))


def judged_queries(inputs: Inputs, broadcast: bool | None) -> Any | None:
    """The judged queries as a small frame, if the qrels are (or are said to be) small; None if not."""
    queries = complete(inputs.judged().select("query"))
    if broadcast is None:
        from pyspark.sql import functions as F

        broadcast = not queries.select(F.lit(1)).offset(FEW_JUDGMENTS).take(1)
    return queries.distinct() if broadcast else None


def by_query(inputs: Inputs, few: Any | None, partitions: int | None = None) -> Any:
    """One row a query: what was retrieved and what was judged for it, as arrays."""
    from pyspark.sql import functions as F

    retrieved = inputs.retrieved()
    if few is not None:
        retrieved = _of_queries(retrieved, few)
    runs = _grouped(complete(retrieved), "run", partitions)
    qrels = _grouped(complete(inputs.judged()), "qrels", partitions)
    return runs.join(qrels, "query", "full").withColumn("query", F.col("query").cast("string"))


def _grouped(rows: Any, prefix: str, partitions: int | None) -> Any:
    from pyspark.sql import functions as F

    if partitions is not None:
        rows = rows.repartition(partitions, "query")
    names = [name for name in rows.columns if name != "query"]
    lists = (F.collect_list(name).alias(f"{prefix}_{name}") for name in names)
    return rows.groupBy("query").agg(*lists)


def _of_queries(retrieved: Any, few: Any) -> Any:
    """The rows of some queries, told by a small frame, and those that cannot be used, which are to be reported."""
    from pyspark.sql import functions as F

    marked = retrieved.join(F.broadcast(few.withColumn("is_judged", F.lit(True))), "query", "left")
    return marked.filter(F.col("is_judged").isNotNull() | _unusable(retrieved)).drop("is_judged")


def _unusable(rows: Any) -> Any:
    """Whether a row has a NULL, an id that is none, or no finite score."""
    from pyspark.sql import functions as F

    wrong = F.isnan("score") | (F.abs("score") == float("inf"))
    for name, kind in rows.dtypes:
        wrong = wrong | F.col(name).isNull()
        if kind == "string":
            wrong = wrong | (F.col(name) == "") | F.col(name).rlike("[\n\r]")
    return wrong


def complete(rows: Any) -> Any:
    """The same rows, but one with a NULL is an error."""
    from pyspark.sql import functions as F

    def required(name: str) -> Any:
        what = "run" if name == "code" else name
        return F.coalesce(F.col(name), F.raise_error(F.lit(f"a row without a {what}{SEE}"))).alias(name)

    return rows.select(*map(required, rows.columns))


def _code(name: Any, runs: Sequence[str]) -> Any:
    """The number of a run by its name."""
    from pyspark.sql import functions as F

    return F.when(name.isNotNull(), F.array_position(F.array(*map(F.lit, runs)), name).cast("int") - 1)
