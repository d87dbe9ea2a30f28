"""What is wrong with rows, counted over all of them, with examples: looked up by Spark once something was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from cranfield.base import pluralize
from cranfield.errors import InputError
from cranfield.spark.columns import Columns, quoted
from cranfield.spark.grouping import EXTRA, Inputs

_EXAMPLES = 3


def raise_problems(inputs: Inputs, on_duplicate: str, found: Sequence[str]) -> NoReturn:
    """Raise an error that counts everything that cannot be used; `found` is what was met first."""
    told = [
        *_problems(inputs.run, inputs.run_columns, "score"),
        *_problems(inputs.qrels, inputs.qrels_columns, "grade"),
        *(_repeats(inputs) if on_duplicate == "error" else ()),
    ]
    raise InputError("; ".join(told or found) + ".")


def _problems(frame: Any, columns: Columns, number: str) -> Iterator[str]:
    from pyspark.sql import functions as F

    conditions = list(_conditions(columns, number))
    (counts,) = frame.agg(*(F.count(F.when(wrong, 1)) for _, wrong in conditions)).collect()
    for (what, wrong), number_of in zip(conditions, counts, strict=True):
        if number_of:
            some = frame.filter(wrong).limit(_EXAMPLES).collect()
            yield f"{columns.frame}: {pluralize(number_of, 'row')} {what}, e.g. {', '.join(map(_shown, some))}"


def _conditions(columns: Columns, number: str) -> Iterator[tuple[str, Any]]:
    """What may be wrong with a row, in words, and as a condition."""
    from pyspark.sql import functions as F

    for what in ("query", "doc", "run", "rank"):
        if what in columns:
            name, text = columns.names[what], columns.ids(what, True)
            yield f"without a {what} ({name} is NULL)", text.isNull()
            if what == "rank":
                yield "with a rank that is not a whole number", text.isNotNull() & columns.ranks().isNull()
            elif not columns.is_whole(what):
                yield f"with a {what} that is empty or holds a line break", (text == "") | text.rlike("[\n\r]")
    for what in EXTRA:
        if what in columns and what != "subtopic":
            yield f"without a {what} ({columns.names[what]} is NULL)", columns.ids(what, True).isNull()
    given, value = F.col(quoted(columns.names[number])), columns.numbers(number)
    yield f"without a {number}", given.isNull()
    if columns.is_text(number):
        yield f"with a {number} that is not a decimal number", given.isNotNull() & value.isNull()
    beyond = F.isnan(value) | (F.abs(value) == float("inf"))
    yield f"with a {number} that is not a finite number", value.isNotNull() & beyond


def _repeats(inputs: Inputs) -> Iterator[str]:
    from pyspark.sql import functions as F

    retrieved, judged = inputs.retrieved(), inputs.judged()
    keys = [name for name in ("code", "query", "doc") if name in retrieved.columns]
    within = [name for name in ("query", "doc", "subtopic", "subgroup") if name in judged.columns]
    same = F.count_distinct("grade") > 1
    for frame, by, what, only in (
        (retrieved, keys, "the run: {} retrieved more than once for the same query", None),
        (judged, within, "the qrels: {} judged more than once with different grades", same),
    ):
        usable = frame.filter(F.col("query").isNotNull() & F.col("doc").isNotNull())
        twice = usable.groupBy(*by).agg(
            F.count(F.lit(1)).alias("rows"), (only if only is not None else F.lit(True)).alias("is_one")
        )
        twice = twice.filter((F.col("rows") > 1) & F.col("is_one"))
        number = twice.count()
        if number:
            some = ", ".join(_pair(row, inputs) for row in twice.limit(_EXAMPLES).collect())
            yield f"{what.format(pluralize(number, 'document'))}, e.g. {some} (choose with on_duplicate='max')"


def _pair(row: Any, inputs: Inputs) -> str:
    where = f" in run {inputs.runs[row['code']]!r}" if "code" in row and row["code"] is not None else ""
    return f"document {str(row['doc'])!r} for query {str(row['query'])!r}{where}"


def _shown(row: Any) -> str:
    return "(" + ", ".join(f"{name} {value!r:.60}" for name, value in row.asDict().items()) + ")"
